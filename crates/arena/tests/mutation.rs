//! The law for what arrives, on damaged messages: a short and repeatable version of what the fuzzer does.

mod laws;
#[path = "../../gdl/tests/laws/mutate.rs"]
mod mutate;

use mutate::{Random, mutate};

/// Requests as managers send them.
const REQUESTS: [&str; 5] = [
    "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: GAMESERVER\r\nContent-Type: text/acl\r\nContent-Length: 118\r\n\r\n( START m.1 xplayer (( role xplayer ) ( role oplayer ) ( <= terminal ( true ( f 1 ) ) ) ( goal ?p 100 ) ) 30 15)",
    "(PLAY m.1 ((mark 1 1) noop))",
    "(STOP \"m 1\" NIL)",
    "GET /(INFO) HTTP/1.1\r\nHost: localhost:9147\r\nOrigin: null\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nready\r\n0\r\n\r\n",
];

#[test]
fn damaged_messages_are_read_or_refused() {
    let mut random = Random::new(1);
    let mut n_understood = 0;
    for request in REQUESTS {
        for _ in 0..2_000 {
            let mut text = request.to_owned();
            for _ in 0..=random.below(3) {
                text = mutate(&text, &mut random);
            }
            let mut bytes = text.into_bytes();
            if random.below(4) == 0 && !bytes.is_empty() {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            n_understood += usize::from(laws::arriving(&bytes));
        }
    }
    assert!(n_understood >= 500, "only {n_understood} damaged messages were understood");
}
