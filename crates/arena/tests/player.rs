//! The player as managers meet it: what they say, word for word, and what goes wrong on the way.

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arena::protocol::{Door, Settings};
use arena::{Clocks, Contestant, Decision, Factory, Legal, Rules, Tree, term};
use common::{game, listen, scripted, seconds};

fn legal() -> Factory {
    Arc::new(|| Box::new(Legal::new()))
}

/// The first legal move at the beginning.
fn first_move(rules: &Rules) -> String {
    let mut contestant = Legal::new();
    let until = Instant::now() + seconds(10.0);
    let clocks = arena::Clocks { start: seconds(1.0), play: seconds(1.0) };
    contestant.start(rules, 0, clocks, until).expect("it has a meaning");
    contestant.play(None, until).expect("there are moves").chosen
}

#[test]
fn a_match_goes_as_managers_expect() {
    let player = listen(legal(), Settings::default());
    assert_eq!(player.say("( INFO )"), "( ( name Senet ) ( status available ) ( species alien ) )");
    assert_eq!(player.say("( PREVIEW ((role a) ) 1 )"), "ready");
    assert_eq!(player.start("Base.tic.1", "xplayer", 2.0, 2.0), "ready");
    assert_eq!(player.say("(info)"), "( ( name Senet ) ( status busy ) ( species alien ) )");
    assert_eq!(player.say("( PREVIEW ((role a) ) 1 )"), "busy");
    // Another match has to wait; the same one is not begun again.
    assert_eq!(player.start("Base.tic.2", "xplayer", 2.0, 2.0), "busy");
    assert_eq!(player.start("Base.tic.1", "xplayer", 2.0, 2.0), "ready");
    assert_eq!(player.start("Base.tic.1", "oplayer", 2.0, 2.0), "busy", "nobody plays against itself");
    let first = player.say("( PLAY Base.tic.1 NIL )");
    assert_eq!(first, first_move(&game("tic-tac-toe")));
    // Asked again, whatever the reason, it says the same.
    assert_eq!(player.say("( PLAY Base.tic.1 NIL )"), first);
    assert_eq!(player.say(&format!("( PLAY BASE.TIC.1 ({} NOOP ) )", term::spaced(&first))), "noop");
    assert_eq!(player.say(&format!("( PLAY BASE.TIC.1 ({first} noop ) )")), "noop");
    assert!(player.logged("PLAY was said again"));
    // Other matches are none of its business.
    assert_eq!(player.say("( PLAY Base.tic.2 NIL )"), "busy");
    assert_eq!(player.say("( STOP Base.tic.2 NIL )"), "busy");
    assert_eq!(player.say("( ABORT Base.tic.2 )"), "busy");
    assert_eq!(player.say("( STOP Base.tic.1 (noop ( mark 2 2 ) ) )"), "done");
    assert_eq!(player.say("( STOP Base.tic.1 (noop ( mark 2 2 ) ) )"), "done", "even if it is said twice");
    assert_eq!(player.start("Base.tic.2", "oplayer", 2.0, 2.0), "ready");
    assert_eq!(player.say("( PLAY Base.tic.2 NIL )"), "noop");
    assert_eq!(player.say("( ABORT Base.tic.2 )"), "aborted");
    assert!(player.say("( INFO )").contains("available"));
}

/// The same move may be made twice in a row; but who says within the clock that another one was made than ours repeats itself.
#[test]
fn the_same_again_is_not_another_move() {
    let player = listen(legal(), Settings::default());
    let rules = game("buttons-and-lights").one_line();
    assert_eq!(player.say(&format!("( START lights robot ({rules} ) 2 20 )")), "ready");
    let first = player.say("( PLAY lights NIL )");
    assert_eq!(player.say(&format!("( PLAY lights ({first} ) )")), first);
    assert_eq!(player.say(&format!("( PLAY lights ({first} ) )")), first);
    assert!(!player.logged("PLAY was said again") && player.logged("move 3 is"));
    let other = "( press c )";
    assert_ne!(term::canonical(&first), term::canonical(other));
    assert_eq!(player.say(&format!("( PLAY lights ({other} ) )")), first);
    assert_eq!(player.say(&format!("( PLAY lights ({other} ) )")), first);
    assert!(player.logged("PLAY was said again") && !player.logged("move 5 is"));
}

/// Looks at games until the deadline, unless nobody waits any more.
struct Looks {
    legal: Legal,
    given_up: Arc<AtomicBool>,
    n_seen: Arc<AtomicUsize>,
}

impl Contestant for Looks {
    fn name(&self) -> String {
        "looks".to_owned()
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.given_up = given_up;
    }

    fn preview(&mut self, rules: &Rules, deadline: Instant) {
        assert!(!rules.reading.program.rules.is_empty());
        self.n_seen.fetch_add(1, Ordering::SeqCst);
        while Instant::now() < deadline && !self.given_up.load(Ordering::SeqCst) {
            std::thread::sleep(seconds(0.01));
        }
        self.n_seen.fetch_add(100, Ordering::SeqCst);
    }

    fn start(&mut self, rules: &Rules, role: usize, clocks: Clocks, deadline: Instant) -> Result<(), String> {
        self.legal.start(rules, role, clocks, deadline)
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        self.legal.play(last, deadline)
    }

    fn stop(&mut self, last: Option<&[String]>) {
        self.legal.stop(last);
    }
}

/// A preview is answered when its time is over, and gives way to a match.
#[test]
fn previews_are_time_to_prepare() {
    let n_seen = Arc::new(AtomicUsize::new(0));
    let seen = n_seen.clone();
    let made = move || {
        let looks = Looks { legal: Legal::new(), given_up: Arc::default(), n_seen: seen.clone() };
        Box::new(looks) as Box<dyn Contestant>
    };
    let player = listen(Arc::new(made), Settings::default());
    let rules = game("tic-tac-toe").one_line();
    let begun = Instant::now();
    assert_eq!(player.say(&format!("( PREVIEW ({rules} ) 1 )")), "ready");
    assert!((seconds(0.5)..seconds(1.5)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(n_seen.load(Ordering::SeqCst), 101);
    // What can't be read is not looked at.
    assert_eq!(player.say("( PREVIEW ((<= (goal ?x) ?y) ) 1 )"), "ready");
    assert_eq!(n_seen.load(Ordering::SeqCst), 101);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let long = scope.spawn(|| player.say(&format!("( PREVIEW ({rules} ) 60 )")));
        while n_seen.load(Ordering::SeqCst) < 102 {
            std::thread::sleep(seconds(0.01));
        }
        assert_eq!(player.start("Base.tic.1", "xplayer", 2.0, 2.0), "ready");
        assert_eq!(player.say("( PLAY Base.tic.1 NIL )"), first_move(&game("tic-tac-toe")));
        assert_eq!(long.join().expect("it is answered"), "ready");
    });
    assert!(begun.elapsed() < seconds(10.0), "{:?}", begun.elapsed());
    while n_seen.load(Ordering::SeqCst) < 202 {
        assert!(begun.elapsed() < seconds(20.0), "nobody told it");
        std::thread::sleep(seconds(0.01));
    }
}

#[test]
fn requests_of_all_managers_are_answered() {
    let player = listen(legal(), Settings::default());
    for request in [
        "POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )",
        "POST / HTTP/1.1\r\nhost: localhost:9147\r\ncontent-type: text/plain\r\nconnection: keep-alive\r\ncontent-length: 6\r\n\r\n(info)",
        "POST / HTTP/1.0\nSender: a\n\n(INFO)",
        "GET /%28INFO%29 HTTP/1.0\r\nReceiver: x\r\n\r\n\r\n",
        "POST / HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n(INFO)\r\n0\r\n\r\n",
    ] {
        let reply = player.raw(request.as_bytes());
        assert!(
            reply.contains(" 200 OK\r\n") && reply.ends_with("( status available ) ( species alien ) )"),
            "{request}: {reply}"
        );
    }
    assert!(player.raw(b"GET / HTTP/1.1\r\n\r\n").contains("200 OK"));
    assert!(player.raw(b"BREW / HTTP/1.1\r\n\r\n").contains(" 405 "));
    assert!(player.raw(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").contains(" 400 "));
}

/// Web pages, names that others let point here, and links and images change nothing.
#[test]
fn only_those_are_let_in_who_may() {
    let player = listen(legal(), Settings::default());
    let rules = game("tic-tac-toe").one_line();
    let start = format!("( START m xplayer ({rules} ) 2 2 )");
    let post = |headers: &str| {
        player.raw(format!("POST / HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{start}", start.len()).as_bytes())
    };
    for headers in [
        "Host: 127.0.0.1:9147\r\nOrigin: http://evil.example\r\n",
        "Host: localhost\r\nOrigin: null\r\n",
        "Host: evil.example:9147\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
    ] {
        let reply = post(headers);
        assert!(reply.starts_with("HTTP/1.1 40") && !reply.contains("Access-Control"), "{headers}: {reply}");
    }
    let asked = player.raw(b"OPTIONS / HTTP/1.1\r\nOrigin: http://evil.example\r\n\r\n");
    assert!(asked.contains(" 403 ") && !asked.contains("Access-Control"), "{asked}");
    let link = start.replace(' ', "+").replace(['\r', '\n'], "");
    assert!(player.raw(format!("GET /{link} HTTP/1.0\r\n\r\n").as_bytes()).contains(" 405 "));
    assert!(player.say("(INFO)").contains("available"));
    // Whoever is allowed may.
    let origins = vec!["https://manager.example".to_owned()];
    let door = Door { hosts: vec!["box".to_owned()], origins };
    let player = listen(legal(), Settings { door, ..Settings::default() });
    let asked = "OPTIONS / HTTP/1.1\r\nHost: box:9147\r\nOrigin: https://manager.example\r\n\r\n";
    let reply = player.raw(asked.as_bytes());
    for header in [
        "200 OK",
        "Access-Control-Allow-Origin: https://manager.example\r\n",
        "Access-Control-Allow-Methods: POST",
        "Content-Length: 0",
    ] {
        assert!(reply.contains(header), "{header} is not in {reply}");
    }
}

/// Whoever asks for a day gets what is allowed, and others get their turn.
#[test]
fn clocks_are_cut() {
    let settings = Settings { max_clock: seconds(0.4), patience: seconds(0.1), ..Settings::default() };
    let waits = scripted(|decision, deadline| {
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        Ok(decision)
    });
    let player = listen(waits, settings);
    assert_eq!(player.start("m", "xplayer", 86_400.0, 86_400.0), "ready");
    assert!(player.logged("is cut to 0.4 s"));
    let asked = Instant::now();
    player.say("(PLAY m NIL)");
    assert!(asked.elapsed() < seconds(5.0), "{:?}", asked.elapsed());
    std::thread::sleep(seconds(1.2));
    assert_eq!(player.start("n", "xplayer", 1.0, 1.0), "ready");
}

/// Roles that take for ever to derive: what makes the judge slow is ended by the clock, and whoever asks meanwhile is answered.
#[test]
fn roles_that_take_long_to_derive_hold_nobody_up() {
    let player = listen(legal(), Settings::default());
    let numbers: String = (0..400).map(|n| format!("(n {n})")).collect();
    let text = format!(
        "{numbers} (<= (f ?x ?y) (n ?x) (n ?y)) (role a)
         (<= (role b) (f ?x ?v) (f ?w ?y) (distinct ?v ?w) (not (f ?x ?y)))"
    );
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| player.say(&format!("(START m a ({text}) 2 2)")));
        std::thread::sleep(seconds(0.3));
        let asked = Instant::now();
        assert!(player.say("(INFO)").contains("name Senet"));
        assert!(asked.elapsed() < seconds(0.5), "{:?}", asked.elapsed());
        starting.join().expect("there is a reply");
        assert!(begun.elapsed() < seconds(3.0), "{:?}", begun.elapsed());
        // ... and whoever ends it is answered at once.
        let starting = scope.spawn(|| player.say(&format!("(START n a ({text}) 60 60)")));
        std::thread::sleep(seconds(0.5));
        let asked = Instant::now();
        assert!(["aborted", "busy"].contains(&player.say("(ABORT n)").as_str()));
        assert!(asked.elapsed() < seconds(1.0), "{:?}", asked.elapsed());
        starting.join().expect("there is a reply");
        assert!(asked.elapsed() < seconds(2.0), "{:?}", asked.elapsed());
    });
    assert_eq!(player.start("o", "xplayer", 1.0, 1.0), "ready");
}

/// Many more connections than there is room for, all of them waiting for a reply.
#[test]
fn control_messages_get_through() {
    let settings = Settings { max_connections: 16, ..Settings::default() };
    let sleeps = scripted(|decision, deadline| {
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        Ok(decision)
    });
    let player = listen(sleeps, settings);
    assert_eq!(player.start("m", "xplayer", 1.0, 30.0), "ready");
    let rules = game("tic-tac-toe").one_line();
    let messages =
        ["(PLAY m NIL)".to_owned(), format!("(START m xplayer ({rules}) 30 30)"), format!("(PREVIEW ({rules}) 30)")];
    let held: Vec<TcpStream> = (0..60)
        .map(|number| {
            let mut stream = TcpStream::connect(player.address()).expect("it listens");
            let message = &messages[number % messages.len()];
            let request = format!("POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{message}", message.len());
            let _ = stream.write_all(request.as_bytes());
            std::thread::sleep(seconds(0.01));
            stream
        })
        .collect();
    for (message, reply) in [("(INFO)", "busy"), ("(ABORT m)", "aborted"), ("(INFO)", "available")] {
        let asked = Instant::now();
        let said = player.say(message);
        assert!(said.contains(reply), "{message}: {said}");
        assert!(asked.elapsed() < seconds(1.5), "{message}: {:?}", asked.elapsed());
    }
    drop(held);
}

#[test]
fn strange_starts_are_refused() {
    let player = listen(legal(), Settings::default());
    assert_eq!(player.start("m", "zplayer", 1.0, 1.0), "busy");
    assert!(player.logged("there is no role zplayer"));
    assert_eq!(player.say("(START m a ((role a) (<= p (not p))) 1 1)"), "busy");
    assert_eq!(player.say("(START m a () 1 1)"), "busy");
    // None of them holds the place.
    assert_eq!(player.start("m", "xplayer", 1.0, 1.0), "ready");
}

#[test]
fn a_reply_comes_in_time_and_is_legal_whatever_the_contestant_does() {
    let sleeps = scripted(|decision, _| {
        std::thread::sleep(Duration::from_secs(2));
        Ok(decision)
    });
    let panics = scripted(|_, _| panic!("on purpose"));
    let lies = scripted(|_, _| Ok(Decision { chosen: "(mark 9 9)".to_owned(), why: None }));
    let fails = scripted(|_, _| Err("no idea".to_owned()));
    let first = first_move(&game("tic-tac-toe"));
    // To print where a panic came from takes its time.
    for (factory, logged, clock) in [
        (sleeps, "time is over", 0.5),
        (panics, "on purpose", 5.0),
        (lies, "which is illegal", 0.5),
        (fails, "no idea", 0.5),
    ] {
        let player = listen(factory, Settings::default());
        for id in ["a", "b"] {
            assert_eq!(player.start(id, "xplayer", 1.0, clock), "ready");
            let asked = Instant::now();
            assert_eq!(player.say(&format!("(PLAY {id} NIL)")), first, "{logged}");
            assert!(asked.elapsed() < seconds(clock), "{logged}: {:?}", asked.elapsed());
            assert!(player.logged(logged), "{logged}");
            let asked = Instant::now();
            assert_eq!(player.say(&format!("(PLAY {id} ({first} noop))")), "noop");
            assert!(asked.elapsed() < seconds(clock), "{logged}: {:?}", asked.elapsed());
            assert_eq!(player.say(&format!("(STOP {id} NIL)")), "done");
        }
    }
}

/// Where another move was made than the one that was said, the reply came too late; the next ones come sooner.
#[test]
fn replies_come_sooner_after_one_that_was_late() {
    let given = Arc::new(std::sync::Mutex::new(Vec::new()));
    let times = given.clone();
    let asked = scripted(move |decision, deadline| {
        times.lock().expect("nobody panics").push(deadline.saturating_duration_since(Instant::now()));
        Ok(decision)
    });
    let player = listen(asked, Settings::default());
    assert_eq!(player.start("m", "xplayer", 1.0, 4.0), "ready");
    assert_eq!(player.say("(PLAY m NIL)"), first_move(&game("tic-tac-toe")));
    assert_eq!(player.say("(PLAY m ((mark 2 2) noop))"), "noop");
    assert!(player.logged("(mark 2 2) was made instead of"));
    player.say("(PLAY m (noop (mark 1 1)))");
    let given = given.lock().expect("nobody panics").clone();
    assert!(given[0] > seconds(3.4) && given[1] < seconds(3.3) && given[2] < seconds(3.3), "{given:?}");
    assert!(given[2] > seconds(2.8), "{given:?}");
}

#[test]
fn an_end_interrupts_thinking() {
    let player = listen(
        scripted(|decision, deadline| {
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            Ok(decision)
        }),
        Settings::default(),
    );
    assert_eq!(player.start("m", "xplayer", 1.0, 10.0), "ready");
    std::thread::scope(|scope| {
        let asked = Instant::now();
        let thinking = scope.spawn(|| player.say("(PLAY m NIL)"));
        std::thread::sleep(seconds(0.1));
        assert_eq!(player.say("(ABORT m)"), "aborted");
        assert!(player.say("(INFO)").contains("available"));
        // The contestant still thinks of the old match; the next one does not wait for it.
        assert_eq!(player.start("n", "oplayer", 1.0, 2.0), "ready");
        assert_eq!(player.say("(PLAY n NIL)"), "noop");
        thinking.join().expect("there was a reply");
        assert!(asked.elapsed() < seconds(5.0), "{:?}", asked.elapsed());
    });
}

#[test]
fn a_match_that_nobody_goes_on_with_makes_room() {
    let player = listen(legal(), Settings { patience: seconds(0.1), ..Settings::default() });
    assert_eq!(player.start("m", "xplayer", 0.2, 0.2), "ready");
    assert_eq!(player.start("n", "xplayer", 0.2, 0.2), "busy");
    std::thread::sleep(seconds(0.6));
    assert_eq!(player.start("n", "xplayer", 0.2, 0.2), "ready");
    assert!(player.logged("m: given up"));
}

#[test]
fn hostile_connections_do_no_harm() {
    let settings = Settings {
        max_connections: 8,
        sending_time: seconds(0.5),
        max_message: 100_000,
        max_memory: 150_000,
        ..Settings::default()
    };
    let player = listen(legal(), settings);
    assert_eq!(player.start("m", "xplayer", 2.0, 2.0), "ready");
    // Senders that never come to an end, many more than there is room for.
    let silent: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut stream = TcpStream::connect(player.address()).expect("it listens");
            let part: &[u8] =
                if number % 2 == 0 { b"" } else { b"POST / HTTP/1.0\r\nContent-Length: 90000\r\n\r\n(PLAY" };
            let _ = stream.write_all(part);
            stream
        })
        .collect();
    assert_eq!(player.say("(PLAY m NIL)"), first_move(&game("tic-tac-toe")));
    drop(silent);
    // Too large, in every way.
    assert!(player.raw(b"POST / HTTP/1.0\r\nContent-Length: 200000\r\n\r\n").contains(" 413 "));
    let endless = [b"POST / HTTP/1.0\r\n\r\n".as_slice(), &b"(".repeat(120_000)].concat();
    assert!(!player.raw(&endless).contains(" 200 "));
    // Slow.
    let begun = Instant::now();
    assert!(player.raw(b"POST / HTTP/1.0\r\nContent-Le").contains(" 408 "));
    assert!(begun.elapsed() < seconds(2.0));
    // Garbage, and connections that break off.
    for garbage in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"\0\0\0\0\r\n\r\n", b"(INFO)\r\n\r\n", b"\r\n", b"GET"]
    {
        let mut stream = TcpStream::connect(player.address()).expect("it listens");
        let _ = stream.write_all(garbage);
    }
    let nested = format!("(PLAY m ({}noop{}))", "(f ".repeat(20_000), ")".repeat(20_000));
    assert!(!player.say(&nested).is_empty());
    let deep = format!("(START n a ({}{}) 1 1)", "(".repeat(40_000), ")".repeat(40_000));
    assert_eq!(player.say(&deep), "busy");
    assert!(player.say("(INFO)").contains("busy"));
    assert_eq!(player.say("(STOP m NIL)"), "done");
}

#[test]
fn thinking_about_matches_that_are_over_is_bounded() {
    // Tree search lets go when nobody waits for it: its clock is an hour.
    let player = listen(Arc::new(|| Box::new(Tree::new(1))), Settings::default());
    let rules = game("connect-four").one_line();
    for number in 0..20 {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let starting = scope.spawn(|| player.say(&format!("(START m{number} red ({rules}) 3600 3600)")));
            while !player.logged(&format!("m{number}: started")) {
                std::thread::sleep(seconds(0.01));
            }
            assert_eq!(player.say(&format!("(ABORT m{number})")), "aborted");
            assert_eq!(starting.join().expect("there was a reply"), "ready");
        });
        assert!(begun.elapsed() < seconds(5.0), "match {number}");
    }
    // Others don't, and there may be only so many of them.
    let stubborn = listen(
        scripted(|decision, _| {
            std::thread::sleep(seconds(3.0));
            Ok(decision)
        }),
        Settings::default(),
    );
    let mut refused = 0;
    for number in 0..10 {
        if stubborn.start(&format!("m{number}"), "xplayer", 1.0, 30.0) == "busy" {
            refused += 1;
            continue;
        }
        std::thread::scope(|scope| {
            scope.spawn(|| stubborn.say(&format!("(PLAY m{number} NIL)")));
            std::thread::sleep(seconds(0.05));
            assert_eq!(stubborn.say(&format!("(ABORT m{number})")), "aborted");
        });
    }
    assert!(refused > 0 && stubborn.logged("old matches"));
    std::thread::sleep(seconds(3.2));
    assert_eq!(stubborn.start("last", "xplayer", 1.0, 1.0), "ready", "they have come back");
}
