//! What holds for any bytes that arrive. Fuzzers and tests share this.

use std::io::{self, Read, Write};

use arena::protocol::http::{Address, Received, Request, read_request, read_response};
use arena::protocol::message::{Info, Message};

/// The most bytes of a message here.
const MAX_BODY: usize = 4096;

/// A connection that hands its bytes out in pieces.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.size.min(into.len()).min(self.bytes.len());
        into[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Requests, responses, messages and addresses are read or refused, whatever they are, however they arrive; and a message that was
/// understood means the same when it is written and read again. Returns whether there was a message.
pub(crate) fn arriving(bytes: &[u8]) -> bool {
    let size = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) * 4);
    let mut n_kept = 0;
    let mut grow = |n: usize| {
        n_kept += n;
        n_kept <= 2 * MAX_BODY
    };
    let received = read_request(&mut Pieces { bytes, size }, MAX_BODY, &mut grow);
    let _ = read_response(&mut Pieces { bytes, size });
    let text = String::from_utf8_lossy(bytes);
    let _ = (Info::read(&text), Address::find(&text));
    let sent = match received {
        Ok(Received { request: Request::Message(text), .. }) => {
            // What is no text takes up to three times its bytes as text.
            assert!(text.len() <= 3 * MAX_BODY, "{} bytes of a message", text.len());
            means_the_same(&text)
        }
        Ok(Received { request: Request::Question(text), .. }) => means_the_same(&text),
        _ => false,
    };
    means_the_same(&text) || sent
}

fn means_the_same(text: &str) -> bool {
    let Ok(message) = Message::read(text) else { return false };
    let written = message.to_string();
    assert_eq!(Message::read(&written).as_ref(), Ok(&message), "written as {written:?}, first read from {text:?}");
    true
}
