//! A player that any manager can talk to.
//!
//! Each connection has a thread, which reads one message, hands it to the [`Session`] and writes one reply.
//!
//! Nothing that arrives is trusted. [`Door`] says who is let in. Connections, bytes kept, messages read at once and the time to
//! send one are bounded. When there are too many connections, the oldest of those that nobody works for is closed: one that is still
//! sending, or has its reply. The session lets only a few wait for a reply, so there is always one, and a manager gets through.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::contestant::Factory;
use crate::judge::lock;
use crate::protocol::door::Door;
use crate::protocol::http::{self, Problem, Received, Request, Timed};
use crate::protocol::message::Message;
use crate::protocol::session::Session;

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the player calls itself.
    pub name: String,
    /// How long before the end of a clock the reply is sent; by default a tenth of the clock, but at least 30 milliseconds and at
    /// most a second. More is safer on slow networks, less leaves more time to think.
    pub margin: Option<Duration>,
    /// A match of which nothing was heard for its clocks and this time makes room for another.
    pub patience: Duration,
    /// The longest clock; longer ones are cut, since a match keeps others out.
    pub max_clock: Duration,
    /// Who is let in.
    pub door: Door,
    /// The most bytes of a message.
    pub max_message: usize,
    /// The most bytes of all messages that are being read or acted on.
    pub max_memory: usize,
    /// The most connections.
    pub max_connections: usize,
    /// How long a manager may take to send a message.
    pub sending_time: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            name: "Senet".to_owned(),
            margin: None,
            patience: Duration::from_secs(60),
            max_clock: Duration::from_secs(600),
            door: Door::default(),
            max_message: 8 << 20,
            max_memory: 64 << 20,
            max_connections: 128,
            sending_time: Duration::from_secs(10),
        }
    }
}

/// Hears what happens, one line for each event.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A player that listens.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// Stops a player.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    settings: Settings,
    session: Session,
    log: Log,
    stopping: AtomicBool,
    n_connections: AtomicUsize,
    n_bytes: AtomicUsize,
    /// The connections that nobody works for, by age: their message has not arrived, or their reply has been written.
    idle: Mutex<BTreeMap<u64, TcpStream>>,
    /// Held while a large message is taken apart: one at a time.
    taking_apart: Mutex<()>,
    next_connection: AtomicU64,
}

impl Server {
    /// Begins to listen.
    pub fn bind(address: impl ToSocketAddrs, factory: Factory, settings: Settings, log: Log) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let shared = Shared {
            session: Session::new(factory, settings.clone(), log.clone()),
            settings,
            log,
            stopping: AtomicBool::new(false),
            n_connections: AtomicUsize::new(0),
            n_bytes: AtomicUsize::new(0),
            idle: Mutex::default(),
            taking_apart: Mutex::default(),
            next_connection: AtomicU64::new(0),
        };
        Ok(Server { listener, shared: Arc::new(shared) })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What stops it.
    pub fn handle(&self) -> io::Result<Handle> {
        Ok(Handle { shared: self.shared.clone(), address: self.address()? })
    }

    /// Plays until it is stopped.
    pub fn run(self) {
        for stream in self.listener.incoming() {
            if self.shared.stopping.load(Ordering::SeqCst) {
                break;
            }
            match stream {
                Ok(stream) => self.shared.receive(stream),
                Err(error) => {
                    (self.shared.log)(&format!("a connection failed: {error}"));
                    // Too many open files go away only with time.
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
        self.shared.session.leave();
    }

    /// Plays in a thread of its own.
    pub fn spawn(self) -> io::Result<(Handle, JoinHandle<()>)> {
        let handle = self.handle()?;
        Ok((handle, std::thread::spawn(move || self.run())))
    }
}

impl Handle {
    /// Where the player listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the player. Replies that are being written are not waited for.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // It hears of it with the next connection. One that listens everywhere is reached on this machine.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    }
}

/// Bytes that are kept for a connection; given back with it.
struct Share<'a> {
    of: &'a AtomicUsize,
    n: usize,
}

impl Share<'_> {
    fn grow(&mut self, n: usize, most: usize) -> bool {
        self.n += n;
        self.of.fetch_add(n, Ordering::SeqCst) + n <= most
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.fetch_sub(self.n, Ordering::SeqCst);
    }
}

impl Shared {
    /// Gives a connection a thread.
    fn receive(self: &Arc<Shared>, stream: TcpStream) {
        /// Those whose connection was closed take a moment to go. More than this at once are refused.
        const LEAVING: usize = 64;
        let arrived = Instant::now();
        let n_connections = self.n_connections.load(Ordering::SeqCst);
        if n_connections >= self.settings.max_connections {
            let oldest = lock(&self.idle).pop_first();
            if let Some((_, oldest)) = &oldest {
                let _ = oldest.shutdown(Shutdown::Both);
            }
            if n_connections >= self.settings.max_connections + LEAVING {
                return (self.log)("a connection was refused: there are too many");
            }
        }
        self.n_connections.fetch_add(1, Ordering::SeqCst);
        let number = self.next_connection.fetch_add(1, Ordering::SeqCst);
        self.set_idle(number, &stream);
        let shared = self.clone();
        let spawned = std::thread::Builder::new().spawn(move || {
            shared.serve(&stream, number, arrived);
            lock(&shared.idle).remove(&number);
            shared.n_connections.fetch_sub(1, Ordering::SeqCst);
        });
        if let Err(error) = spawned {
            lock(&self.idle).remove(&number);
            self.n_connections.fetch_sub(1, Ordering::SeqCst);
            (self.log)(&format!("a connection was refused: {error}"));
        }
    }

    fn set_idle(&self, number: u64, stream: &TcpStream) {
        if let Ok(copy) = stream.try_clone() {
            lock(&self.idle).insert(number, copy);
        }
    }

    /// Reads a message, acts on it and replies.
    fn serve(&self, stream: &TcpStream, number: u64, arrived: Instant) {
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr().map_or("somebody".to_owned(), |peer| peer.to_string());
        let mut timed = Timed { stream, until: arrived + self.settings.sending_time };
        // What it takes is given back when the reply is there: what is made of a message is larger than the message.
        let mut share = Share { of: &self.n_bytes, n: 0 };
        let mut grow = |n| share.grow(n, self.settings.max_memory);
        let received = http::read_request(&mut timed, self.settings.max_message, &mut grow);
        lock(&self.idle).remove(&number);
        let mut page = None;
        let (status, reply) = match received {
            Ok(received) => match self.settings.door.refuses(&received, stream.local_addr().ok().map(|at| at.ip())) {
                Some(why) => {
                    (self.log)(&format!("{peer}: not let in: {}", show(&why)));
                    ("403 Forbidden", format!("{why}\n"))
                }
                None => {
                    page = received.origin.clone();
                    self.answer(received, &peer, arrived)
                }
            },
            Err(Problem::Silent) => return,
            Err(problem) => {
                (self.log)(&format!("{peer}: not read: {problem}"));
                let status = match problem {
                    Problem::TooLarge(_) => "413 Content Too Large",
                    Problem::Slow => "408 Request Timeout",
                    _ => "400 Bad Request",
                };
                (status, format!("{problem}\n"))
            }
        };
        drop(share);
        let mut timed = Timed { stream, until: Instant::now() + Duration::from_secs(2) };
        match http::write_response(&mut timed, status, page.as_deref(), &reply) {
            Ok(()) => {
                self.set_idle(number, stream);
                http::close(stream);
            }
            Err(error) => (self.log)(&format!("{peer}: the reply could not be sent: {error}")),
        }
    }

    /// What is replied to a request that was let in.
    fn answer(&self, received: Received, peer: &str, arrived: Instant) -> (&'static str, String) {
        let (text, is_question) = match received.request {
            Request::Message(text) => (text, false),
            Request::Question(text) => (text, true),
            Request::Look => {
                let name = &self.settings.name;
                return ("200 OK", format!("{name} plays games. Managers send it messages such as (INFO) by POST.\n"));
            }
            Request::Options => return ("200 OK", String::new()),
            Request::Other(method) => {
                (self.log)(&format!("{peer}: {} is none of POST, GET and OPTIONS", show(&method)));
                return ("405 Method Not Allowed", String::new());
            }
        };
        let message = {
            /// Those that are shorter need no room to speak of.
            const LARGE: usize = 64 << 10;
            let _alone = (text.len() > LARGE).then(|| lock(&self.taking_apart));
            Message::read(&text)
        };
        drop(text);
        match message {
            Ok(message) if is_question && message != Message::Info => {
                (self.log)(&format!("{peer}: a message by GET, which changes nothing here"));
                ("405 Method Not Allowed", "by GET there is (INFO) alone; send this by POST\n".to_owned())
            }
            Ok(message) => {
                let acted =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.session.act(message, arrived)));
                ("200 OK", acted.unwrap_or_else(|_| "nil".to_owned()))
            }
            Err(problem) => {
                (self.log)(&format!("{peer}: not understood: {problem}"));
                ("400 Bad Request", format!("{problem}\n"))
            }
        }
    }
}

/// What others sent, fit for a line of a log.
pub(super) fn show(text: &str) -> String {
    let mut shown: String = text.chars().take(60).flat_map(char::escape_default).collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}
