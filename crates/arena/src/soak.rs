//! Many matches over real connections, with everything going wrong on the way that can.
//!
//! Our manager and our player meet through two others who are no good:
//!
//! ```text
//! referee ── Remote ──▶ clumsy manager ──▶ Server (ours)
//!    └────── Remote ──▶ faulty player  ──▶ Server (random moves)
//! ```
//!
//! The clumsy manager hands every message on, but says it twice, breaks off in the middle, closes before the reply, dribbles bytes
//! or sends rubbish first. The faulty player hands every reply on, but late, never, cut short, as rubbish, without end, as an
//! illegal move or as an error. A pest knocks at our player's door all the time: with garbage, half a request, messages for matches
//! that don't exist, and matches of its own while one is being played.
//!
//! If there are hostile texts, a [`Stranger`] comes between matches, too.
//!
//! Where all is well, our player never misses a move, and nobody waits longer than the clock and the grace.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::contestant::{Clocks, Factory, Rules};
use crate::hostile::{Stranger, Usage, Watch};
use crate::judge::lock;
use crate::protocol::http::{self, Address, Request, Timed, exchange};
use crate::protocol::message::Message;
use crate::protocol::{Log, MatchName, Remote, Server, Settings};
use crate::record::Record;
use crate::referee::{self, referee};
use crate::seat::Seat;
use crate::simple::Random;

/// What is to be tried.
#[derive(Clone)]
pub struct Plan {
    /// The games, by turns; one or two roles.
    pub games: Vec<Rules>,
    /// How many matches.
    pub matches: u32,
    /// The clocks.
    pub clocks: Clocks,
    /// How late an answer may be.
    pub grace: Duration,
    /// How many of a hundred messages go wrong, on each side.
    pub faults: u32,
    /// Decides what goes wrong.
    pub seed: u64,
    /// What a stranger sends after every tenth match.
    pub hostile: Option<Texts>,
}

/// Hostile rules by their numbers: a name and a text.
pub type Texts = Arc<dyn Fn(u64) -> (String, String) + Send + Sync>;

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Matches that were played to their end.
    pub completed: u32,
    /// Matches that were not.
    pub lost: Vec<String>,
    /// Moves and starts of our player that the referee had to replace.
    pub our_errors: Vec<String>,
    /// Moves of the others that it had to replace.
    pub their_errors: u32,
    /// Joint moves.
    pub n_moves: u64,
    /// The longest that a move of our player took on its way there and back.
    pub our_slowest: Duration,
    /// The longest that a joint move took.
    pub slowest_step: Duration,
    /// How often each thing went wrong.
    pub faults: BTreeMap<&'static str, u64>,
    /// Lines that our player logged.
    pub n_lines: u64,
    /// What it logged of moves that it did not choose by thinking.
    pub troubles: Vec<String>,
    /// Bytes of memory of this process, after a tenth of the matches and at the end; nothing where that can't be found out.
    pub memory: Option<(u64, u64)>,
    /// The longest that an answer to a stranger took beyond its clock.
    pub slowest_for_strangers: Duration,
    /// What a stranger saw that should not be.
    pub strangers: Vec<String>,
    /// The most bytes of memory of this process and all that it started; 0 where that can't be found out.
    pub most_memory: u64,
    /// What is left at the end that was not there at the beginning.
    pub left_behind: Option<String>,
    /// How long it took.
    pub time: Duration,
}

impl Findings {
    /// What should not have happened.
    pub fn complaints(&self, plan: &Plan) -> Vec<String> {
        /// What counting and printing may add to a joint move on a busy machine.
        const SLACK: Duration = Duration::from_millis(100);
        /// What the allocator may keep back.
        const ROOM: u64 = 32 << 20;
        /// ... where strangers sent megabytes of rules.
        const MORE_ROOM: u64 = 128 << 20;
        /// What all processes may take together.
        const MEMORY: u64 = 4 << 30;
        let mut complaints = self.lost.clone();
        if self.completed != plan.matches {
            complaints.push(format!("{} of {} matches were played to their end", self.completed, plan.matches));
        }
        complaints.extend(self.our_errors.iter().map(|error| format!("our player: {error}")));
        complaints.extend(self.troubles.iter().map(|line| format!("our player logged: {line}")));
        let longest = plan.clocks.play + plan.grace;
        if self.our_slowest > longest {
            complaints.push(format!("a move of ours took {:?}, more than {longest:?}", self.our_slowest));
        }
        if self.slowest_step > longest + SLACK {
            complaints.push(format!("a joint move took {:?}, more than {longest:?}", self.slowest_step));
        }
        if let Some((before, after)) = self.memory
            && after > before + if plan.hostile.is_some() { MORE_ROOM } else { ROOM }
        {
            complaints.push(format!("memory grew from {before} to {after} bytes"));
        }
        complaints.extend(self.strangers.iter().map(|what| format!("a stranger: {what}")));
        if self.most_memory > MEMORY {
            complaints.push(format!("all processes together took {} MiB", self.most_memory >> 20));
        }
        complaints.extend(self.left_behind.iter().map(|what| format!("left behind: {what}")));
        complaints
    }
}

/// What the parts share.
#[derive(Default)]
struct Chaos {
    faults: Mutex<BTreeMap<&'static str, u64>>,
    /// The match that is under way; while this is locked, it does not end.
    playing: Mutex<Option<String>>,
    stop: AtomicBool,
}

impl Chaos {
    fn happened(&self, what: &'static str) {
        *lock(&self.faults).entry(what).or_default() += 1;
    }
}

/// How the names of matches begin that are not a stranger's.
const OURS: &str = "soak.";
/// What a player's log says where it did not think for itself.
const TROUBLES: [&str; 4] = ["can't follow", "(instead of", "not prepared", "(a legal move"];

/// Plays the matches; `see` hears after each how many there were. The error says why it could not begin.
pub fn soak(plan: &Plan, ours: Factory, see: &mut dyn FnMut(u32)) -> Result<Findings, String> {
    let begun = Instant::now();
    let before = Usage::of(std::process::id());
    let watch = Watch::new(std::process::id());
    let chaos = Arc::new(Chaos::default());
    let heard = Arc::new(Mutex::new((0u64, Vec::new())));
    let lines = heard.clone();
    let hear: Log = Arc::new(move |line: &str| {
        let mut heard = lock(&lines);
        heard.0 += 1;
        // A stranger's rules may be too hard to follow.
        let is_ours = line.starts_with(OURS);
        if is_ours && TROUBLES.iter().any(|trouble| line.contains(trouble)) {
            heard.1.push(line.to_owned());
        }
    });
    // Step 1. Everybody takes a place.
    let text = |error: std::io::Error| error.to_string();
    let settings = Settings { sending_time: Duration::from_secs(1), max_connections: 48, ..Settings::default() };
    let player = Server::bind("127.0.0.1:0", ours, settings.clone(), hear).map_err(text)?;
    let seed = plan.seed;
    let other: Factory = Arc::new(move || Box::new(Random::new(seed)));
    let opponent = Server::bind("127.0.0.1:0", other, settings, Arc::new(|_| {})).map_err(text)?;
    let (player, player_thread) = player.spawn().map_err(text)?;
    let (opponent, opponent_thread) = opponent.spawn().map_err(text)?;
    let clumsy = between(player.address(), plan, &chaos, Side::Manager)?;
    let faulty = between(opponent.address(), plan, &chaos, Side::Player)?;
    let pest = {
        let (chaos, plan, address) = (chaos.clone(), plan.clone(), player.address());
        std::thread::spawn(move || pester(address, &plan, &chaos))
    };
    // Step 2. The matches.
    let mut findings = Findings::default();
    let name = MatchName::default();
    let mut stranger = Stranger::new(player.address());
    let mut seats = [clumsy.0, faulty.0].map(|address| remote(address, plan.grace, &name)).map(Some);
    for number in 0..plan.matches {
        let rules = &plan.games[number as usize % plan.games.len()];
        play_one(plan, rules, number, &mut seats, &name, &chaos, &mut findings)?;
        if number == plan.matches / 10 {
            findings.memory = memory().map(|bytes| (bytes, bytes));
        }
        if let Some(texts) = plan.hostile.as_ref().filter(|_| number % 10 == 9) {
            let number = u64::from(number / 10);
            let (name, text) = texts(number);
            harm(&mut stranger, number, &name, &text);
        }
        see(number + 1);
    }
    if let (Some((_, after)), Some(bytes)) = (&mut findings.memory, memory()) {
        *after = bytes;
    }
    // Step 3. Everybody goes home.
    chaos.stop.store(true, Ordering::SeqCst);
    player.stop();
    opponent.stop();
    for (address, thread) in [clumsy, faulty] {
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        let _ = thread.join();
    }
    let _ = (player_thread.join(), opponent_thread.join(), pest.join());
    findings.faults = lock(&chaos.faults).clone();
    findings.faults.append(&mut stranger.done);
    findings.slowest_for_strangers = stranger.slowest;
    findings.strangers = stranger.complaints;
    findings.most_memory = watch.most();
    drop((watch, seats));
    findings.left_behind = before.and_then(left_behind);
    (findings.n_lines, findings.troubles) = std::mem::take(&mut *lock(&heard));
    findings.time = begun.elapsed();
    Ok(findings)
}

/// What a stranger does with a text, by turns.
fn harm(stranger: &mut Stranger, number: u64, name: &str, text: &str) {
    let clock = Duration::from_secs(2);
    match number % 10 {
        0 => stranger.crowd(45, 3_900_000, clock),
        // Long enough for it to learn.
        1 => stranger.play(name, text, 3 * clock),
        2 | 5 => stranger.preview(name, text, clock),
        3 | 6 | 8 => stranger.play(name, text, clock),
        turn => (0..6).for_each(|n| stranger.give_up(name, text, Duration::from_millis(40 * turn * n))),
    }
}

/// What there is besides what was there before, once everybody has had time to go.
fn left_behind(before: Usage) -> Option<String> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let now = Usage::of(std::process::id())?;
        if now.processes <= before.processes && now.threads <= before.threads {
            return None;
        }
        if Instant::now() >= until {
            let (processes, threads) = (before.processes, before.threads);
            return Some(format!("{now:?}; there were {processes} processes and {threads} threads"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn remote(address: SocketAddr, grace: Duration, name: &MatchName) -> Seat {
    let name = name.clone();
    Seat::new(Arc::new(move || {
        let address = Address::find(&address.to_string()).expect("it is an address");
        Box::new(Remote::new(address, grace, name.clone()))
    }))
}

/// Plays a match. Our player has each seat in turn.
fn play_one(
    plan: &Plan,
    rules: &Rules,
    number: u32,
    seats: &mut [Option<Seat>; 2],
    name: &MatchName,
    chaos: &Chaos,
    findings: &mut Findings,
) -> Result<(), String> {
    let id = format!("{OURS}{number}");
    *lock(name) = id.clone();
    let alone = crate::judge::Judge::new(rules, None)?.roles().len() == 1;
    let (ours, theirs) = seats.split_at_mut(1);
    let swapped = number % 2 == 1 && !alone;
    let mut table: Vec<Seat> = ours[0].take().into_iter().collect();
    if !alone {
        table.extend(theirs[0].take());
    }
    if swapped {
        table.reverse();
    }
    let role = usize::from(swapped);
    let settings = referee::Settings {
        id: id.clone(),
        clocks: plan.clocks,
        grace: plan.grace,
        cap: 500,
        seed: plan.seed ^ u64::from(number),
        names: (0..table.len()).map(|other| if other == role { "ours" } else { "theirs" }.to_owned()).collect(),
        scrambled: false,
        meta_url: None,
    };
    let mut step = Instant::now();
    let mut see = |record: &Record| {
        if !record.moves.is_empty() {
            findings.slowest_step = findings.slowest_step.max(step.elapsed());
        }
        *lock(&chaos.playing) = (!record.is_completed && !record.is_aborted).then(|| id.clone());
        step = Instant::now();
        true
    };
    match referee(rules, &mut table, &settings, &mut see) {
        Ok(record) if record.is_completed => {
            findings.completed += 1;
            findings.n_moves += record.moves.len() as u64;
            findings.our_slowest = findings.our_slowest.max(record.slowest[role]);
            for (ply, row) in record.errors.iter().enumerate() {
                for (other, error) in row.iter().enumerate().filter(|(_, error)| !error.is_empty()) {
                    if other == role {
                        findings.our_errors.push(format!("match {number} of {}, row {ply}: {error}", rules.name));
                    } else {
                        findings.their_errors += 1;
                    }
                }
            }
        }
        Ok(_) => findings.lost.push(format!("match {number} was given up")),
        Err(error) => findings.lost.push(format!("match {number}: {error}")),
    }
    *lock(&chaos.playing) = None;
    if swapped {
        table.reverse();
    }
    let mut table = table.into_iter();
    seats[0] = table.next();
    if !alone {
        seats[1] = table.next();
    }
    Ok(())
}

/// On which side things go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Manager,
    Player,
}

type Place = (SocketAddr, std::thread::JoinHandle<()>);

/// Stands between a manager and a player.
fn between(to: SocketAddr, plan: &Plan, chaos: &Arc<Chaos>, side: Side) -> Result<Place, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let (plan, chaos) = (plan.clone(), chaos.clone());
    let thread = std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            if chaos.stop.load(Ordering::SeqCst) {
                break;
            }
            let Ok(stream) = stream else { continue };
            let (plan, chaos) = (plan.clone(), chaos.clone());
            std::thread::spawn(move || {
                let mut random = Pcg64Mcg::seed_from_u64(plan.seed ^ (number as u64) << 8 ^ side as u64);
                let until = Instant::now() + Duration::from_secs(5);
                let mut timed = Timed { stream: &stream, until };
                let received = http::read_request(&mut timed, 8 << 20, &mut |_| true);
                let Ok(Request::Message(message)) = received.map(|received| received.request) else { return };
                let wrong = random.random_range(0..100) < plan.faults;
                match side {
                    Side::Manager => clumsy(&stream, to, &message, wrong, &chaos, &mut random),
                    Side::Player => faulty(&stream, to, &message, wrong, &plan, &chaos, &mut random),
                }
            });
        }
    });
    Ok((address, thread))
}

/// Writes bytes, and leaves.
fn poke(to: SocketAddr, bytes: &[u8], stay: Duration) {
    if let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(1)) {
        let _ = stream.write_all(bytes);
        std::thread::sleep(stay);
    }
}

fn as_request(message: &str) -> Vec<u8> {
    format!("POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{message}", message.len()).into_bytes()
}

/// Hands a message on to our player and the reply back, in a clumsy way if something is to go wrong.
fn clumsy(back: &TcpStream, to: SocketAddr, message: &str, wrong: bool, chaos: &Chaos, random: &mut Pcg64Mcg) {
    const WAYS: [&str; 7] = [
        "manager: half a request, then anew",
        "manager: closed before the reply, then anew",
        "manager: the same twice at once",
        "manager: byte by byte",
        "manager: rubbish first",
        "manager: without a length",
        "manager: lower case, other spaces",
    ];
    let until = Instant::now() + Duration::from_secs(5);
    let request = as_request(message);
    let way = WAYS.choose(random).copied().filter(|_| wrong);
    if let Some(way) = way {
        chaos.happened(way);
    }
    let address = Address::find(&to.to_string()).expect("it is an address");
    let reply = match WAYS.iter().position(|other| Some(*other) == way) {
        Some(0) => {
            poke(to, &request[..random.random_range(1..request.len())], Duration::ZERO);
            exchange(&address, "x", message, until)
        }
        Some(1) => {
            poke(to, &request, Duration::ZERO);
            exchange(&address, "x", message, until)
        }
        Some(2) => {
            let twin = (address.clone(), message.to_owned());
            let twin = std::thread::spawn(move || exchange(&twin.0, "x", &twin.1, until));
            let reply = exchange(&address, "x", message, until);
            let _ = twin.join();
            reply
        }
        Some(3) => by_pieces(to, &request, until),
        Some(4) => {
            poke(to, &random.random::<[u8; 16]>(), Duration::ZERO);
            exchange(&address, "x", message, until)
        }
        Some(5) => by_pieces(to, format!("POST / HTTP/1.0\n\n{message}").as_bytes(), until),
        Some(_) => {
            let other = message.to_lowercase().replace(' ', "\r\n\t ");
            exchange(&address, "x", &other, until)
        }
        None => exchange(&address, "x", message, until),
    };
    if let Ok(reply) = reply {
        let mut timed = Timed { stream: back, until };
        let _ = http::write_response(&mut timed, "200 OK", None, &reply);
        http::close(back);
    }
}

/// Sends a request in pieces and reads the reply.
fn by_pieces(to: SocketAddr, request: &[u8], until: Instant) -> Result<String, http::Problem> {
    let stream = TcpStream::connect_timeout(&to, Duration::from_secs(1)).map_err(http::Problem::Broken)?;
    let _ = stream.set_nodelay(true);
    let mut timed = Timed { stream: &stream, until };
    for piece in request.chunks(request.len() / 8 + 1) {
        timed.write_all(piece).map_err(http::Problem::Broken)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    http::read_response(&mut timed)
}

/// Asks the other player and hands its reply on, or does something else if something is to go wrong.
fn faulty(
    back: &TcpStream,
    to: SocketAddr,
    message: &str,
    wrong: bool,
    plan: &Plan,
    chaos: &Chaos,
    random: &mut Pcg64Mcg,
) {
    const WAYS: [&str; 9] = [
        "player: too late",
        "player: no reply at all",
        "player: closed at once",
        "player: an illegal move",
        "player: rubbish",
        "player: half a reply",
        "player: a reply without end",
        "player: an error status",
        "player: byte by byte",
    ];
    let address = Address::find(&to.to_string()).expect("it is an address");
    let until = Instant::now() + Duration::from_secs(5);
    let Ok(reply) = exchange(&address, "x", message, until) else { return };
    let response = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{reply}", reply.len());
    let mut timed = Timed { stream: back, until };
    let way = WAYS.choose(random).copied().filter(|_| wrong);
    if let Some(way) = way {
        chaos.happened(way);
    }
    let late = plan.clocks.play.max(plan.clocks.start) + plan.grace + Duration::from_millis(20);
    let _ = match WAYS.iter().position(|other| Some(*other) == way) {
        Some(0) => {
            std::thread::sleep(late);
            timed.write_all(response.as_bytes())
        }
        Some(1) => {
            std::thread::sleep(late);
            Ok(())
        }
        Some(2) => return,
        Some(3) => http::write_response(&mut timed, "200 OK", None, "( fly to the moon )"),
        Some(4) => timed.write_all(&random.random::<[u8; 32]>()),
        Some(5) => timed.write_all(&response.as_bytes()[..response.len() - 1]),
        Some(6) => {
            let mut written = timed.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
            while written.is_ok() && Instant::now() < until {
                written = timed.write_all(&[b'('; 4096]);
            }
            written
        }
        Some(7) => http::write_response(&mut timed, "500 Internal Server Error", None, "no"),
        Some(_) => response.as_bytes().iter().try_for_each(|byte| timed.write_all(&[*byte])),
        None => timed.write_all(response.as_bytes()),
    };
    http::close(back);
}

/// Knocks at the player's door until it is told to stop.
fn pester(to: SocketAddr, plan: &Plan, chaos: &Chaos) {
    let mut random = Pcg64Mcg::seed_from_u64(plan.seed ^ 0x9e37);
    let address = Address::find(&to.to_string()).expect("it is an address");
    let mut held: Vec<TcpStream> = Vec::new();
    while !chaos.stop.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(random.random_range(0..40)));
        let until = Instant::now() + Duration::from_millis(500);
        match random.random_range(0..8) {
            0 => {
                chaos.happened("pest: garbage");
                let garbage: Vec<u8> = (0..random.random_range(1..2000)).map(|_| random.random()).collect();
                poke(to, &garbage, Duration::ZERO);
            }
            1 => {
                chaos.happened("pest: a connection that says nothing");
                held.extend(TcpStream::connect_timeout(&to, Duration::from_secs(1)));
                if held.len() > 20 {
                    held.clear();
                }
            }
            2 => {
                chaos.happened("pest: half a request");
                if let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(1)) {
                    let _ = stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 4000000\r\n\r\n(START x");
                    held.push(stream);
                }
            }
            3 => {
                chaos.happened("pest: no such match");
                let id = "somebody.elses".to_owned();
                let message = match random.random_range(0..3) {
                    0 => Message::Play { id, last: None },
                    1 => Message::Stop { id, last: None },
                    _ => Message::Abort { id },
                };
                let _ = exchange(&address, "x", &message.to_string(), until);
            }
            4 => {
                // Between two matches this would be a match like any other.
                let playing = lock(&chaos.playing);
                if playing.is_some() {
                    chaos.happened("pest: another match");
                    let rules = plan.games[0].one_line();
                    let message = format!("(START pest.1 x ({rules}) 1 1)");
                    let _ = exchange(&address, "x", &message, until);
                }
            }
            5 => {
                chaos.happened("pest: too large");
                poke(to, b"POST / HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\n", Duration::from_millis(5));
            }
            6 => {
                chaos.happened("pest: a message nobody knows");
                let _ = exchange(&address, "x", "(PLAY (((", until);
            }
            _ => {
                chaos.happened("pest: closed before the reply");
                poke(to, &as_request("( INFO )"), Duration::ZERO);
            }
        }
    }
}

/// Bytes of memory that this process has, where the system says so.
fn memory() -> Option<u64> {
    let mut text = String::new();
    std::fs::File::open("/proc/self/status").ok()?.read_to_string(&mut text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}
