//! HTTP as general game playing uses it: one message in a request, one reply in the response, and the connection is closed.
//!
//! Written by hand on plain sockets, since managers and players of twenty years are to be understood and a library refuses some of
//! them. Accepted besides what the standard says:
//! - lines that end with a line feed alone, and empty lines before the first;
//! - any header or none; of all headers only `Content-Length`, `Transfer-Encoding: chunked`, `Expect: 100-continue`, and for
//!   [`Door`](super::door::Door) `Host` and `Origin` matter;
//! - a `POST` without a length: its message ends where its parentheses are closed, or with the connection;
//! - a length that counts letters where it should count bytes;
//! - a `GET` with the message in its address;
//! - any version, and none at all.
//!
//! Whatever is read has a bound in bytes and a moment at which it is given up.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::term::Balance;

/// The most bytes before the message.
const MAX_HEAD: usize = 64 << 10;
/// The most bytes of a reply.
const MAX_REPLY: usize = 1 << 20;
/// Bytes read at once.
const PIECE: usize = 16 << 10;

/// Why nothing came through.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The other side said nothing at all.
    Silent,
    /// It took too long.
    Slow,
    /// It is more than was allowed: so many bytes.
    TooLarge(usize),
    /// It is not HTTP.
    Malformed(&'static str),
    /// The other side answered with an error status.
    Refused(u16),
    /// The connection failed.
    Broken(io::Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Silent => write!(f, "the connection was closed without a word"),
            Problem::Slow => write!(f, "it took too long"),
            Problem::TooLarge(bound) => write!(f, "more than {bound} bytes"),
            Problem::Malformed(what) => write!(f, "{what}"),
            Problem::Refused(status) => write!(f, "it answered with status {status}"),
            Problem::Broken(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Problem::Slow,
            _ => Problem::Broken(error),
        }
    }
}

/// A socket that gives up at a moment.
pub(crate) struct Timed<'a> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A request, and where it says that it comes from and wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// What it asks for.
    pub request: Request,
    /// Its `Host`: what the sender calls this place.
    pub host: Option<String>,
    /// Its `Origin`: the web page that sent it. Nobody but browsers says so, and they always do where it matters.
    pub origin: Option<String>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A message.
    Message(String),
    /// A message in the address of a `GET`. Such a request may come from a link or an image, so it must not change anything.
    Question(String),
    /// A look at the place, as a browser takes it.
    Look,
    /// What a page of another origin may send.
    Options,
    /// Something else.
    Other(String),
}

/// Reads a request. Before more bytes of a message are kept, `grow` is asked whether there is room for them.
pub fn read_request<S: Read + Write>(
    stream: &mut S,
    max_body: usize,
    grow: &mut dyn FnMut(usize) -> bool,
) -> Result<Received, Problem> {
    let (head, rest) = read_head(stream)?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    let mut words = line.split_ascii_whitespace();
    let method = words.next().unwrap_or_default().to_ascii_uppercase();
    let mut headers = Headers::read(&head)?;
    let (host, origin) = (headers.host.take(), headers.origin.take());
    let request = match method.as_str() {
        "POST" | "PUT" => {
            if headers.expects {
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let end = if headers.length.is_none() { End::Balanced } else { End::Closed };
            let body = read_body(stream, &headers, rest, max_body, end, grow)?;
            Request::Message(String::from_utf8_lossy(&body).into_owned())
        }
        "GET" => {
            // The message may have blanks in it.
            let target = line.split_once(' ').map_or("", |(_, rest)| rest).trim();
            let target = match target.rsplit_once(' ') {
                Some((target, version)) if version.to_ascii_uppercase().starts_with("HTTP") => target,
                _ => target,
            };
            let message = decode(target.strip_prefix('/').unwrap_or(target));
            if message.contains('(') { Request::Question(message) } else { Request::Look }
        }
        "HEAD" => Request::Look,
        "OPTIONS" => Request::Options,
        _ if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            return Err(Problem::Malformed("the request does not begin with a method"));
        }
        _ => Request::Other(method),
    };
    Ok(Received { request, host, origin })
}

/// Writes the response to a request. A web page may read it if it is of the given origin, and no other.
pub fn write_response(stream: &mut impl Write, status: &str, origin: Option<&str>, body: &str) -> io::Result<()> {
    let pages = origin.filter(|origin| is_one_line(origin)).map_or(String::new(), |origin| {
        format!(
            "Access-Control-Allow-Origin: {origin}\r\nVary: Origin\r\nAccess-Control-Allow-Methods: POST, GET, OPTIONS\r\n\
             Access-Control-Allow-Headers: Content-Type, Sender, Receiver, Accept\r\nAccess-Control-Max-Age: 600\r\n\
             Access-Control-Allow-Private-Network: true\r\n"
        )
    });
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/acl\r\nContent-Length: {}\r\nConnection: close\r\n\
         X-Content-Type-Options: nosniff\r\n{pages}\r\n",
        body.len()
    );
    // One write: some clients read only once.
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    stream.flush()
}

/// Closes a connection so that what was written arrives: what the other side still sends is read for a moment, since a
/// socket that is closed with something unread takes the response back.
pub(crate) fn close(stream: &TcpStream) {
    let until = Instant::now() + Duration::from_millis(500);
    let _ = stream.shutdown(Shutdown::Write);
    let mut timed = Timed { stream, until };
    let mut sink = [0; 4096];
    for _ in 0..256 {
        if !matches!(timed.read(&mut sink), Ok(1..)) {
            break;
        }
    }
}

/// Where a player is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What was given.
    pub text: String,
    host: String,
    path: String,
    sockets: Vec<SocketAddr>,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}

impl Address {
    /// Reads `http://HOST:PORT/`, `HOST:PORT` or `HOST`, and finds the host. The usual port is 9147.
    pub fn find(text: &str) -> Result<Address, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(format!("`{text}`: players are reached by http://, not {scheme}://"));
        }
        let (host, path) = rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, path.to_owned()));
        // Whatever stands here goes into the head of a request: nothing in it may begin another line.
        if host.is_empty() || !is_one_word(host) || !is_one_word(&path) {
            return Err(format!("{text:?} is no address of a player; it looks like http://127.0.0.1:9147"));
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:9147") };
        let sockets: Vec<SocketAddr> =
            host.to_socket_addrs().map_err(|error| format!("can't find the host of `{text}`: {error}"))?.collect();
        if sockets.is_empty() {
            return Err(format!("can't find the host of `{text}`"));
        }
        Ok(Address { text: text.to_owned(), host, path: format!("/{path}"), sockets })
    }
}

/// Whether a text can stand in the head of a message between blanks.
fn is_one_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_one_line(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// Sends a message and gives the reply, unless it takes until a moment.
pub fn exchange(address: &Address, receiver: &str, message: &str, until: Instant) -> Result<String, Problem> {
    let mut failure = Problem::Slow;
    let mut connected = None;
    for socket in &address.sockets {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(socket, left) {
            Ok(stream) => {
                connected = Some(stream);
                break;
            }
            Err(error) => failure = error.into(),
        }
    }
    let Some(stream) = connected else { return Err(failure) };
    let _ = stream.set_nodelay(true);
    let mut timed = Timed { stream: &stream, until };
    let receiver: String = receiver.chars().filter(char::is_ascii_graphic).take(80).collect();
    let head = format!(
        "POST {} HTTP/1.0\r\nAccept: text/delim\r\nHost: {}\r\nSender: GAMESERVER\r\nReceiver: {receiver}\r\n\
         Content-Type: text/acl\r\nContent-Length: {}\r\n\r\n",
        address.path,
        address.host,
        message.len()
    );
    timed.write_all(&[head.as_bytes(), message.as_bytes()].concat())?;
    timed.flush()?;
    let reply = read_response(&mut timed);
    let _ = stream.shutdown(Shutdown::Both);
    reply
}

/// Reads a response and gives what it says.
pub fn read_response<S: Read>(stream: &mut S) -> Result<String, Problem> {
    let (head, rest) = read_head(stream)?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    if !line.to_ascii_uppercase().starts_with("HTTP/") {
        return Err(Problem::Malformed("the reply is not HTTP"));
    }
    let status = line.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    if !(200..300).contains(&status) {
        return Err(Problem::Refused(status));
    }
    let headers = Headers::read(&head)?;
    let body = read_body(stream, &headers, rest, MAX_REPLY, End::Closed, &mut |_| true)?;
    Ok(String::from_utf8_lossy(&body).trim().to_owned())
}

/// What matters of the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Headers {
    length: Option<usize>,
    chunked: bool,
    expects: bool,
    host: Option<String>,
    origin: Option<String>,
}

impl Headers {
    fn read(head: &str) -> Result<Headers, Problem> {
        let mut headers = Headers::default();
        for line in head.lines().skip(1) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim().to_ascii_lowercase();
            match name.trim().to_ascii_lowercase().as_str() {
                "content-length" => {
                    let length = value.parse().map_err(|_| Problem::Malformed("Content-Length is no number"))?;
                    if headers.length.is_some_and(|other| other != length) {
                        return Err(Problem::Malformed("there are two values of Content-Length"));
                    }
                    headers.length = Some(length);
                }
                "transfer-encoding" => headers.chunked = value.contains("chunked"),
                "expect" => headers.expects = value.contains("100-continue"),
                // Of two, each has to be let in.
                "host" if headers.host.is_some() => return Err(Problem::Malformed("there are two values of Host")),
                "host" => headers.host = Some(value),
                "origin" if headers.origin.is_some() => {
                    return Err(Problem::Malformed("there are two values of Origin"));
                }
                "origin" => headers.origin = Some(value),
                _ => {}
            }
        }
        Ok(headers)
    }
}

/// Reads up to the empty line behind the headers; what was read beyond it comes along.
fn read_head(stream: &mut impl Read) -> Result<(Vec<u8>, Vec<u8>), Problem> {
    let mut bytes = Vec::new();
    let mut begin = 0;
    let mut seen = 0;
    loop {
        // Empty lines before the first line don't count.
        while seen == begin && bytes.get(begin).is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            begin += 1;
            seen += 1;
        }
        while seen < bytes.len() {
            let rest = &bytes[seen..];
            let end = if rest.starts_with(b"\n\n") {
                2
            } else if rest.starts_with(b"\n\r\n") {
                3
            } else {
                seen += 1;
                continue;
            };
            let body = bytes.split_off(seen + end);
            bytes.truncate(seen);
            return Ok((bytes.split_off(begin), body));
        }
        // The empty line may lie across two pieces.
        seen = bytes.len().saturating_sub(2).max(begin);
        if bytes.len() >= MAX_HEAD {
            return Err(Problem::TooLarge(MAX_HEAD));
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) if bytes.is_empty() => return Err(Problem::Silent),
            // Some close without the empty line; what they said is a head without a body.
            Ok(0) if bytes.contains(&b'\n') => return Ok((bytes.split_off(begin), Vec::new())),
            Ok(0) => return Err(Problem::Malformed("the connection was closed within the first line")),
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where a body of unknown length ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Where its parentheses are closed, or with the connection.
    Balanced,
    /// With the connection.
    Closed,
}

/// Reads a body. `rest` is what has been read of it.
fn read_body(
    stream: &mut impl Read,
    headers: &Headers,
    rest: Vec<u8>,
    max: usize,
    end: End,
    grow: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<u8>, Problem> {
    let mut body = Body { stream, bytes: Vec::new(), max, grow };
    if headers.chunked {
        return read_chunks(body, rest);
    }
    if headers.length.is_some_and(|length| length > max) {
        return Err(Problem::TooLarge(max));
    }
    body.take(&rest)?;
    let Some(length) = headers.length else {
        let mut balance = Balance::default();
        balance.add(&body.bytes);
        while !(end == End::Balanced && balance.is_complete()) {
            let n = body.more(PIECE)?;
            if n == 0 {
                break;
            }
            balance.add(&body.bytes[body.bytes.len() - n..]);
        }
        return Ok(body.bytes);
    };
    while body.bytes.len() < length {
        if body.more(length - body.bytes.len())? == 0 {
            return Err(Problem::Malformed("the connection was closed within the message"));
        }
    }
    let mut balance = Balance::default();
    balance.add(&body.bytes[..length]);
    if body.bytes[..length].is_ascii() || balance.is_complete() {
        body.bytes.truncate(length);
        return Ok(body.bytes);
    }
    // Some count letters instead of bytes.
    balance.add(&body.bytes[length..]);
    while !balance.is_complete() {
        let n = body.more(PIECE)?;
        if n == 0 {
            break;
        }
        balance.add(&body.bytes[body.bytes.len() - n..]);
    }
    Ok(body.bytes)
}

/// A body that comes in.
struct Body<'a, S> {
    stream: &'a mut S,
    bytes: Vec<u8>,
    max: usize,
    grow: &'a mut dyn FnMut(usize) -> bool,
}

impl<S: Read> Body<'_, S> {
    fn take(&mut self, piece: &[u8]) -> Result<(), Problem> {
        if self.bytes.len() + piece.len() > self.max || !(self.grow)(piece.len()) {
            return Err(Problem::TooLarge(self.max));
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Reads some bytes, at most so many; none at the end.
    fn more(&mut self, most: usize) -> Result<usize, Problem> {
        let mut piece = [0; PIECE];
        let most = most.min(PIECE);
        loop {
            match self.stream.read(&mut piece[..most]) {
                Ok(n) => {
                    self.take(&piece[..n])?;
                    return Ok(n);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn read_chunks<S: Read>(mut body: Body<'_, S>, rest: Vec<u8>) -> Result<Vec<u8>, Problem> {
    const BROKEN: Problem = Problem::Malformed("the chunks are broken");
    body.take(&rest)?;
    // What has come in lies behind `at`; what is in front of it is the message so far.
    let (mut at, mut from) = (0, 0);
    loop {
        // Step 1. The line with the size.
        let line = loop {
            if let Some(length) = body.bytes[from..].iter().position(|&byte| byte == b'\n') {
                break length;
            }
            if body.bytes.len() - from > 100 || body.more(PIECE)? == 0 {
                return Err(BROKEN);
            }
        };
        let text = String::from_utf8_lossy(&body.bytes[from..from + line]).into_owned();
        let text = text.trim().split(';').next().unwrap_or_default().trim();
        from += line + 1;
        if text.is_empty() && at > 0 {
            // The end of the line behind a chunk.
            continue;
        }
        let size = usize::from_str_radix(text, 16).map_err(|_| BROKEN)?;
        if size == 0 {
            body.bytes.truncate(at);
            return Ok(body.bytes);
        }
        if size > body.max {
            return Err(Problem::TooLarge(body.max));
        }
        // Step 2. The chunk.
        while body.bytes.len() - from < size {
            if body.more(PIECE)? == 0 {
                return Err(BROKEN);
            }
        }
        body.bytes.copy_within(from..from + size, at);
        at += size;
        from += size;
    }
}

/// A part of an address, decoded.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut result = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |place: usize| bytes.get(place).and_then(|&byte| (byte as char).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                result.push((high * 16 + low) as u8);
                at += 3;
            }
            (b'+', ..) => {
                result.push(b' ');
                at += 1;
            }
            (byte, ..) => {
                result.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&result).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A connection on which bytes arrive in pieces of a size.
    struct Wire {
        bytes: Vec<u8>,
        at: usize,
        piece: usize,
        written: Vec<u8>,
    }

    impl Read for Wire {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.piece.min(buffer.len()).min(self.bytes.len() - self.at);
            buffer[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
            self.at += n;
            Ok(n)
        }
    }

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn wire(bytes: &[u8], piece: usize) -> Wire {
        Wire { bytes: bytes.to_vec(), at: 0, piece, written: Vec::new() }
    }

    fn request(text: &str) -> Result<Request, Problem> {
        received(text).map(|received| received.request)
    }

    fn received(text: &str) -> Result<Received, Problem> {
        let whole = read_request(&mut wire(text.as_bytes(), usize::MAX), 1 << 16, &mut |_| true);
        for piece in [1, 2, 3, 7] {
            let split = read_request(&mut wire(text.as_bytes(), piece), 1 << 16, &mut |_| true);
            assert_eq!(format!("{split:?}"), format!("{whole:?}"), "in pieces of {piece}");
        }
        whole
    }

    fn message(text: &str) -> String {
        match request(text) {
            Ok(Request::Message(message) | Request::Question(message)) => message,
            other => panic!("{text:?} is {other:?}"),
        }
    }

    #[test]
    fn requests_in_all_forms_are_read() {
        // ggp-base's manager.
        let base = "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: 127.0.0.1\r\nSender: GAMESERVER\r\nReceiver: Senet\r\n\
                    Content-Type: text/acl\r\nContent-Length: 8\r\n\r\n( INFO )";
        assert_eq!(message(base), "( INFO )");
        // ... and its messages by GET, with two empty lines.
        let get = "GET /%28+PLAY+Base.1+%28noop+%28mark+1+1%29%29+%29 HTTP/1.0\r\nAccept: text/delim\r\n\r\n\r\n";
        assert_eq!(message(get), "( PLAY Base.1 (noop (mark 1 1)) )");
        assert_eq!(request(get).ok(), Some(Request::Question("( PLAY Base.1 (noop (mark 1 1)) )".to_owned())));
        assert_eq!(message("get /(info)\n\n"), "(info)");
        // Browsers and curl.
        let browser = "POST / HTTP/1.1\r\nhost: localhost:9147\r\nconnection: keep-alive\r\ncontent-length: 6\r\n\
                       origin: http://gamemaster.example\r\ncontent-type: text/plain;charset=UTF-8\r\n\r\n(info)";
        assert_eq!(message(browser), "(info)");
        let from = received(browser).expect("it is one");
        assert_eq!(from.host.as_deref(), Some("localhost:9147"));
        assert_eq!(from.origin.as_deref(), Some("http://gamemaster.example"));
        // Line feeds alone; no headers; no length; nothing but a length; empty lines first.
        assert_eq!(message("POST / HTTP/1.0\nContent-Length: 6\n\n(info)"), "(info)");
        assert_eq!(message("POST / HTTP/1.0\r\n\r\n( INFO )"), "( INFO )");
        assert_eq!(message("\r\n\r\nPOST / HTTP/1.1\r\nCONTENT-LENGTH:6\r\n\r\n(info)and more"), "(info)");
        assert_eq!(message("POST\r\n\r\n(info)"), "(info)");
        // Chunks.
        let chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n(in\r\n3;x=y\r\nfo)\r\n0\r\n\r\n";
        assert_eq!(message(chunks), "(info)");
        // A length in letters.
        assert_eq!(message("POST / HTTP/1.0\r\nContent-Length: 7\r\n\r\n(inf\u{f6}1)"), "(inf\u{f6}1)");
        assert_eq!(request("OPTIONS / HTTP/1.1\r\nOrigin: null\r\n\r\n").ok(), Some(Request::Options));
        assert_eq!(request("GET / HTTP/1.1\r\n\r\n").ok(), Some(Request::Look));
        assert_eq!(request("DELETE / HTTP/1.1\r\n\r\n").ok(), Some(Request::Other("DELETE".to_owned())));
    }

    #[test]
    fn a_sender_that_waits_is_told_to_go_on() {
        let mut wire = wire(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n(info)", 9);
        assert!(read_request(&mut wire, 100, &mut |_| true).is_ok());
        assert_eq!(wire.written, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    #[test]
    fn what_is_too_large_or_broken_is_refused() {
        let refused = |text: &str| request(text).expect_err(text);
        assert!(matches!(refused("POST / HTTP/1.0\r\nContent-Length: 99999999\r\n\r\n("), Problem::TooLarge(_)));
        assert!(matches!(refused(&format!("POST / HTTP/1.0\r\n\r\n{}", "(".repeat(70_000))), Problem::TooLarge(_)));
        assert!(matches!(refused(&"a".repeat(70_000)), Problem::TooLarge(_)));
        let chunks = format!("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n{}", "1\r\n(\r\n".repeat(20_000));
        assert!(matches!(refused(&chunks), Problem::TooLarge(_)));
        assert!(matches!(refused("POST / HTTP/1.0\r\nContent-Length: 9\r\n\r\n(info)"), Problem::Malformed(_)));
        assert!(matches!(refused("POST / HTTP/1.0\r\nContent-Length: x\r\n\r\n(info)"), Problem::Malformed(_)));
        assert!(matches!(
            refused("POST / HTTP/1.0\r\nContent-Length: 6\r\nContent-Length: 7\r\n\r\n(info)"),
            Problem::Malformed(_)
        ));
        assert!(matches!(refused(""), Problem::Silent));
        assert!(matches!(refused("\u{16}\u{3}\u{1}\r\n\r\n"), Problem::Malformed(_)));
        let mut wire = wire(b"POST / HTTP/1.0\r\nContent-Length: 6\r\n\r\n(info)", 100);
        assert!(matches!(read_request(&mut wire, 100, &mut |_| false), Err(Problem::TooLarge(_))));
    }

    #[test]
    fn responses_are_read_back() {
        let mut written = wire(b"", 1);
        write_response(&mut written, "200 OK", None, "( mark 1 1 )").expect("memory");
        let text = String::from_utf8(written.written.clone()).expect("ASCII");
        assert!(!text.contains("Access-Control"), "{text}");
        assert_eq!(read_response(&mut wire(&written.written, 5)).ok().as_deref(), Some("( mark 1 1 )"));
        let bare = b"HTTP/1.0 200 OK\n\n ready \n";
        assert_eq!(read_response(&mut wire(bare, 4)).ok().as_deref(), Some("ready"));
        assert!(matches!(read_response(&mut wire(b"HTTP/1.1 500 No\r\n\r\n", 4)), Err(Problem::Refused(500))));
        assert!(matches!(read_response(&mut wire(b"ready", 4)), Err(Problem::Malformed(_))));
    }

    #[test]
    fn addresses_are_read() {
        let address = Address::find("http://127.0.0.1:9148/").expect("it is one");
        assert_eq!((address.host.as_str(), address.path.as_str()), ("127.0.0.1:9148", "/"));
        assert_eq!(Address::find("127.0.0.1").expect("it is one").host, "127.0.0.1:9147");
        assert!(Address::find("https://127.0.0.1").expect_err("not reached so").contains("http://"));
        assert!(Address::find("http://").is_err());
        // Nothing in an address may become a header.
        for broken in ["127.0.0.1:1\r\nX: y", "http://127.0.0.1:1/\r\nX: y", "127.0.0.1:1/a b", "127.0.0.1:1/\u{a0}"] {
            let refused = Address::find(broken).expect_err(broken);
            assert!(!refused.contains(['\r', '\n']), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_arrives_does_harm(
            begin in "(POST|GET|OPTIONS|post|\\PC{0,5}) /?\\PC{0,10}( HTTP/1.[01])?\r?\n",
            headers in "((Content-Length: ?[0-9]{0,3}|Transfer-Encoding: chunked|Expect: 100-continue|\\PC{0,9}:\\PC{0,9})\r?\n){0,3}",
            body in "\r?\n[()a-f0-9\r\n;% é]{0,40}",
            piece in 1usize..50,
        ) {
            let text = format!("{begin}{headers}{body}");
            let _ = read_request(&mut wire(text.as_bytes(), piece), 100, &mut |_| true);
            let _ = read_response(&mut wire(text.replacen("POST", "HTTP/1.0 200", 1).as_bytes(), piece));
        }

        #[test]
        fn no_bytes_do_harm(bytes: Vec<u8>, piece in 1usize..50) {
            let _ = read_request(&mut wire(&bytes, piece), 100, &mut |_| true);
            let _ = read_response(&mut wire(&bytes, piece));
        }
    }
}
