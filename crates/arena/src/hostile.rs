//! Strangers who mean harm: matches and previews of rules that are made to exhaust a player, given up at any moment, in crowds.
//!
//! The law: whatever is sent is answered within its clock and two seconds, the player with all its processes stays within its memory,
//! and is free again afterwards, with no process and no thread more than before.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::protocol::http::{Address, Problem, exchange};

/// What an answer may take beyond its clock.
pub const OVER: Duration = Duration::from_secs(2);

/// Somebody who sends a player what it should not be sent.
pub struct Stranger {
    address: Address,
    n_sent: u64,
    /// What an answer may take beyond its clock.
    pub patience: Duration,
    /// How often each thing was done.
    pub done: BTreeMap<&'static str, u64>,
    /// The longest that an answer took beyond its clock.
    pub slowest: Duration,
    /// What broke the law.
    pub complaints: Vec<String>,
}

impl Stranger {
    /// One who knows where a player is.
    pub fn new(player: SocketAddr) -> Stranger {
        let address = Address::find(&player.to_string()).expect("it is an address");
        let (done, complaints) = (BTreeMap::new(), Vec::new());
        Stranger { address, n_sent: 0, patience: OVER, done, slowest: Duration::ZERO, complaints }
    }

    /// Begins a match, asks for a move and gives the match up.
    pub fn play(&mut self, name: &str, rules: &str, clock: Duration) {
        *self.done.entry("stranger: a match").or_default() += 1;
        let id = self.id();
        let reply = self.say(name, &start(&id, rules, clock), clock);
        if reply.is_some_and(|reply| reply == "ready") {
            self.say(name, &format!("(PLAY {id} NIL)"), clock);
            self.say(name, &format!("(ABORT {id})"), Duration::ZERO);
        }
        self.is_free(name);
    }

    /// Begins a match with a long clock and gives it up at some moment.
    pub fn give_up(&mut self, name: &str, rules: &str, after: Duration) {
        *self.done.entry("stranger: a match given up").or_default() += 1;
        let id = self.id();
        let message = start(&id, rules, Duration::from_secs(60));
        let (address, begun) = (self.address.clone(), Instant::now());
        let begins = std::thread::spawn(move || ask(&address, &message, Duration::from_secs(60)));
        std::thread::sleep(after);
        // It may come before the match does.
        let abort = format!("(ABORT {id})");
        while !begins.is_finished() {
            self.say(name, &abort, Duration::ZERO);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.say(name, &abort, Duration::ZERO);
        self.lasted(name, "START that was given up", begun.elapsed(), after);
        self.is_free(name);
    }

    /// Lets it look at a game.
    pub fn preview(&mut self, name: &str, rules: &str, clock: Duration) {
        *self.done.entry("stranger: a preview").or_default() += 1;
        self.say(name, &format!("(PREVIEW ({rules}) {})", clock.as_secs_f64()), clock);
        self.is_free(name);
    }

    /// Sends many previews of large rules at the same time.
    pub fn crowd(&mut self, n: usize, bytes: usize, clock: Duration) {
        *self.done.entry("stranger: a crowd of previews").or_default() += 1;
        let rules: String = (0..bytes / 20).map(|n| format!("(fact {n:>6} {n:>6})")).collect();
        let message: Arc<str> = format!("(PREVIEW ((role a) {rules}) {})", clock.as_secs_f64()).into();
        let sent: Vec<_> = (0..n)
            .map(|_| {
                let (address, message) = (self.address.clone(), message.clone());
                std::thread::spawn(move || {
                    let begun = Instant::now();
                    // To be refused is an answer.
                    let _ = ask(&address, &message, clock);
                    begun.elapsed()
                })
            })
            .collect();
        for one in sent {
            if let Ok(time) = one.join() {
                self.lasted("a crowd", "PREVIEW", time, clock);
            }
        }
        self.is_free("a crowd");
    }

    fn id(&mut self) -> String {
        self.n_sent += 1;
        format!("stranger.{}", self.n_sent)
    }

    fn say(&mut self, name: &str, message: &str, clock: Duration) -> Option<String> {
        let begun = Instant::now();
        let reply = ask(&self.address, message, clock);
        let what = message.trim_start_matches('(').split(' ').next().unwrap_or_default().to_owned();
        self.lasted(name, &what, begun.elapsed(), clock);
        match reply {
            Ok(reply) => Some(reply),
            // To be refused is an answer.
            Err(Problem::Refused(_)) => None,
            Err(problem) => {
                self.complaints.push(format!("{name}: no answer to {what}: {problem}"));
                None
            }
        }
    }

    fn lasted(&mut self, name: &str, what: &str, time: Duration, clock: Duration) {
        let over = time.saturating_sub(clock);
        self.slowest = self.slowest.max(over);
        if over > self.patience {
            self.complaints.push(format!("{name}: {what} took {time:.1?} with a clock of {clock:.1?}"));
        }
    }

    /// A player that was left alone is free.
    fn is_free(&mut self, name: &str) {
        if let Some(reply) = self.say(name, "(INFO)", Duration::ZERO)
            && !reply.contains("available")
        {
            self.complaints.push(format!("{name}: the player is not free afterwards: {reply}"));
        }
    }
}

fn ask(address: &Address, message: &str, clock: Duration) -> Result<String, Problem> {
    exchange(address, "x", message, Instant::now() + clock + Duration::from_secs(60))
}

fn start(id: &str, rules: &str, clock: Duration) -> String {
    // The first role that a fact names; where none does, any word.
    let role = rules.split("(role ").nth(1).and_then(|rest| rest.split([')', ' ']).next()).unwrap_or("r");
    let clock = clock.as_secs_f64();
    format!("(START {id} {role} ({rules}) {clock} {clock})")
}

/// What a process and all that it started take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processes, itself included.
    pub processes: usize,
    /// Their threads.
    pub threads: usize,
    /// Their bytes of memory.
    pub bytes: u64,
}

impl Usage {
    /// What a process takes now, where the system says so.
    pub fn of(root: u32) -> Option<Usage> {
        let mut parents: Vec<(u32, u32)> = Vec::new();
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            if let Some(parent) = number(&status, "PPid:") {
                parents.push((process, parent as u32));
            }
        }
        let (mut usage, mut open) = (Usage::default(), vec![root]);
        while let Some(process) = open.pop() {
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            usage.processes += 1;
            usage.threads += number(&status, "Threads:").unwrap_or(0) as usize;
            usage.bytes += number(&status, "VmRSS:").unwrap_or(0) << 10;
            open.extend(parents.iter().filter(|(_, parent)| *parent == process).map(|(child, _)| child));
        }
        Some(usage)
    }
}

fn number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Looks again and again at what a process takes.
pub struct Watch {
    most: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches a process and all that it starts.
    pub fn new(root: u32) -> Watch {
        let (most, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (most.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                let bytes = Usage::of(root).map_or(0, |usage| usage.bytes);
                seen.fetch_max(bytes, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Watch { most, stop, thread: Some(thread) }
    }

    /// The most bytes that were seen.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
