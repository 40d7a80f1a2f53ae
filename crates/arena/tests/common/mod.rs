//! What the tests of matches and of the protocol have in common.

#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arena::protocol::{Handle, Log, Server, Settings};
use arena::{Clocks, Contestant, Decision, Factory, Legal, Rules};

/// A game of the library.
pub(crate) fn game(name: &str) -> Rules {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games").join(name).join("rules.kif");
    Rules::read(name, &std::fs::read_to_string(path).expect("the game is there"))
}

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A contestant that does what a function says; it follows the match by its first legal moves.
pub(crate) struct Scripted<F> {
    pub(crate) legal: Legal,
    pub(crate) act: F,
}

/// What a scripted contestant does when it is asked for a move: it is given the first legal one and the deadline.
pub(crate) fn scripted<F>(act: F) -> Factory
where
    F: FnMut(Decision, Instant) -> Result<Decision, String> + Clone + Send + Sync + 'static,
{
    Arc::new(move || Box::new(Scripted { legal: Legal::new(), act: act.clone() }))
}

impl<F: FnMut(Decision, Instant) -> Result<Decision, String> + Send> Contestant for Scripted<F> {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    fn start(&mut self, rules: &Rules, role: usize, clocks: Clocks, deadline: Instant) -> Result<(), String> {
        self.legal.start(rules, role, clocks, deadline)
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let decision = self.legal.play(last, deadline)?;
        (self.act)(decision, deadline)
    }

    fn stop(&mut self, last: Option<&[String]>) {
        self.legal.stop(last);
    }
}

/// A player that listens, and what it logged.
pub(crate) struct Listening {
    pub(crate) handle: Handle,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.stop();
    }
}

pub(crate) fn listen(factory: Factory, settings: Settings) -> Listening {
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = log.clone();
    let hear: Log = Arc::new(move |line: &str| lines.lock().expect("nobody panics with it").push(line.to_owned()));
    let server = Server::bind("127.0.0.1:0", factory, settings, hear).expect("loopback has free ports");
    let (handle, _) = server.spawn().expect("threads start");
    Listening { handle, log }
}

impl Listening {
    pub(crate) fn address(&self) -> SocketAddr {
        self.handle.address()
    }

    pub(crate) fn logged(&self, what: &str) -> bool {
        self.log.lock().expect("nobody panics with it").iter().any(|line| line.contains(what))
    }

    /// Sends bytes as they are, and gives all that comes back.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(seconds(20.0))).expect("a timeout");
        stream.write_all(bytes).expect("it reads");
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// Sends a message as ggp-base's manager does, and gives the reply.
    pub(crate) fn say(&self, message: &str) -> String {
        let request = format!(
            "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: localhost\r\nSender: GAMESERVER\r\nReceiver: Senet\r\n\
             Content-Type: text/acl\r\nContent-Length: {}\r\n\r\n{message}",
            message.len()
        );
        let response = self.raw(request.as_bytes());
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply to {message}"));
        assert!(head.starts_with("HTTP/1."), "{head}");
        body.to_owned()
    }

    /// Begins a match of tic-tac-toe.
    pub(crate) fn start(&self, id: &str, role: &str, start: f64, play: f64) -> String {
        let rules = game("tic-tac-toe").one_line();
        self.say(&format!("( START {id} {role} ({rules} ) {start} {play})"))
    }
}
