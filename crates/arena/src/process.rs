//! A contestant in a process of its own.
//!
//! Rules may come from anywhere, and not every stage of a player can promise to end, or to end well. So a match is thought about in
//! a child process, which is killed when the match is over, when nobody waits any more, and when it does not come back: no thread,
//! no memory and no crash of a match outlives it. A process that dies within a match is followed by one with less ambition, which
//! is told what has happened so far.
//!
//! Orders and answers are lines of JSON on the child's standard input and output. A child whose input ends, ends: it does not
//! outlive its parent either.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::contestant::{Clocks, Contestant, Decision, Rules};
use crate::judge::lock;
use crate::seat::what_was_said;

/// How late an answer may be before the process is given up. It has been answered for by then.
const OVERRUN: Duration = Duration::from_secs(2);
/// How often it is looked whether anybody waits.
const OFTEN: Duration = Duration::from_millis(10);
/// The longest answer.
const MAX_LINE: u64 = 1 << 20;

/// Is told what a process reports, and what became of it.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// How processes are started.
#[derive(Clone)]
pub struct Launch {
    /// The program; it calls [`serve`].
    pub program: PathBuf,
    /// Its arguments: those of the first attempt, and of those that follow a process that died in the same match.
    pub attempts: Vec<Vec<OsString>>,
    /// What people call the contestant.
    pub name: String,
    /// Is told what happens.
    pub report: Report,
}

/// A contestant that thinks in a process of its own.
pub struct Process {
    launch: Launch,
    given_up: Arc<AtomicBool>,
    running: Option<Running>,
    playing: Option<Playing>,
}

/// A match that is being played.
struct Playing {
    rules: Rules,
    role: usize,
    clocks: Clocks,
    history: Vec<Vec<String>>,
    /// Which of the attempts is under way.
    attempt: usize,
}

/// The time that is left, and when that was: both clocks are of this machine, but an `Instant` can't be handed over.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Left {
    left: Duration,
    at: Duration,
}

impl Left {
    fn until(deadline: Instant) -> Left {
        Left { left: deadline.saturating_duration_since(Instant::now()), at: since_1970() }
    }

    fn deadline(self) -> Instant {
        Instant::now() + self.left.saturating_sub(since_1970().saturating_sub(self.at))
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What a process is told to do.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    Preview { name: String, text: String, left: Left },
    Start { name: String, text: String, role: usize, clocks: Clocks, history: Vec<Vec<String>>, left: Left },
    Play { last: Option<Vec<String>>, left: Left },
}

/// What a process says.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// Something for the log.
    Report(String),
    /// The answer to the order of this number.
    Answer(u64, Result<Decision, String>),
}

/// What came of waiting for an answer.
enum Outcome {
    Answered(Result<Decision, String>),
    /// The process has ended, and how.
    Died(String),
    /// It does not come back.
    Late,
    /// Nobody waits any more.
    GivenUp,
}

impl Process {
    /// A contestant whose processes are started in this way, one for each match.
    pub fn new(launch: Launch) -> Process {
        Process { launch, given_up: Arc::default(), running: None, playing: None }
    }

    fn spawn(&mut self, attempt: usize) -> Result<(), String> {
        let arguments = self.launch.attempts.get(attempt).ok_or("every attempt to play this match has failed")?;
        self.running = None;
        self.running = Some(Running::spawn(&self.launch, arguments).map_err(|error| format!("no process: {error}"))?);
        Ok(())
    }

    /// Gives an order and waits for the answer; a process that gives none is killed.
    fn ask(&mut self, order: &Order, deadline: Instant) -> Outcome {
        let Some(running) = &mut self.running else { return Outcome::Died("there is none".to_owned()) };
        let outcome = running.ask(order, deadline + OVERRUN, &self.given_up, &self.launch.report);
        if !matches!(outcome, Outcome::Answered(_)) {
            self.running = None;
        }
        outcome
    }

    /// Starts the match anew, or where it stands, in one process after another until one does not die of it.
    fn begin(&mut self, deadline: Instant) -> Result<(), String> {
        loop {
            let playing = self.playing.as_ref().ok_or("no match has begun")?;
            let order = Order::Start {
                name: playing.rules.name.clone(),
                text: playing.rules.text.to_string(),
                role: playing.role,
                clocks: playing.clocks,
                history: playing.history.clone(),
                left: Left::until(deadline),
            };
            self.spawn(playing.attempt)?;
            match self.ask(&order, deadline) {
                Outcome::Answered(said) => return said.map(|_| ()),
                Outcome::Died(how) => self.died(&how),
                Outcome::Late => {
                    self.died("it does not come back");
                    return Err("it does not come back".to_owned());
                }
                Outcome::GivenUp => return Err("nobody waits".to_owned()),
            }
        }
    }

    /// Asks for a move, of one process after another if they die of it.
    fn choose(&mut self, last: &Option<Vec<String>>, deadline: Instant) -> Result<Decision, String> {
        loop {
            if self.running.is_none() {
                // What is left of the clock is for both.
                let left = deadline.saturating_duration_since(Instant::now());
                self.begin(Instant::now() + left / 3)?;
            }
            match self.ask(&Order::Play { last: last.clone(), left: Left::until(deadline) }, deadline) {
                Outcome::Answered(said) => return said,
                Outcome::Died(how) => self.died(&how),
                Outcome::Late => {
                    self.died("it does not come back");
                    return Err("it does not come back".to_owned());
                }
                Outcome::GivenUp => return Err("nobody waits".to_owned()),
            }
        }
    }

    /// A process is gone; the next one has less ambition.
    fn died(&mut self, how: &str) {
        if let Some(playing) = &mut self.playing {
            playing.attempt += 1;
            let next = match self.launch.attempts.get(playing.attempt) {
                Some(_) => "another one takes its place",
                None => "nobody takes its place",
            };
            (self.launch.report)(&format!("the process of this match is gone: {how}; {next}"));
        }
    }
}

impl Contestant for Process {
    fn name(&self) -> String {
        self.launch.name.clone()
    }

    fn preview(&mut self, rules: &Rules, deadline: Instant) {
        self.playing = None;
        let (name, text, left) = (rules.name.clone(), rules.text.to_string(), Left::until(deadline));
        let outcome = self.spawn(0).map(|()| self.ask(&Order::Preview { name, text, left }, deadline));
        match outcome {
            Err(why) => (self.launch.report)(&why),
            Ok(Outcome::Died(how)) => {
                (self.launch.report)(&format!("the process that looked at a game is gone: {how}"))
            }
            Ok(Outcome::Late) => (self.launch.report)("the process that looked at a game does not come back"),
            Ok(Outcome::Answered(_) | Outcome::GivenUp) => {}
        }
        self.running = None;
    }

    fn start(&mut self, rules: &Rules, role: usize, clocks: Clocks, deadline: Instant) -> Result<(), String> {
        self.playing = Some(Playing { rules: rules.clone(), role, clocks, history: Vec::new(), attempt: 0 });
        self.begin(deadline)
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let last = last.map(<[String]>::to_vec);
        let said = self.choose(&last, deadline);
        if let Some(playing) = &mut self.playing {
            playing.history.extend(last);
        }
        said
    }

    fn stop(&mut self, _: Option<&[String]>) {
        self.playing = None;
        self.running = None;
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.given_up = given_up;
    }
}

/// A child, and the threads that talk to it. They end with it.
struct Running {
    child: Child,
    /// Taken when it is to end.
    orders: Option<Sender<Vec<u8>>>,
    said: Receiver<Said>,
    threads: Vec<JoinHandle<()>>,
    n_orders: u64,
}

impl Running {
    fn spawn(launch: &Launch, arguments: &[OsString]) -> std::io::Result<Running> {
        let mut child = Command::new(&launch.program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (mut input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (orders, to_write) = channel::<Vec<u8>>();
        let (tell, said) = channel();
        // Neither of them can be kept from coming to an end: pipes end with the child.
        let writer = std::thread::Builder::new().name("orders".to_owned()).spawn(move || {
            for line in to_write {
                if input.write_all(&line).and_then(|()| input.flush()).is_err() {
                    break;
                }
            }
        });
        let reader = std::thread::Builder::new().name("answers".to_owned()).spawn(move || hear(output, &tell));
        let mut running = Running { child, orders: Some(orders), said, threads: Vec::new(), n_orders: 0 };
        running.threads.push(writer?);
        running.threads.push(reader?);
        Ok(running)
    }

    fn ask(&mut self, order: &Order, until: Instant, given_up: &AtomicBool, report: &Report) -> Outcome {
        self.n_orders += 1;
        let mut line = serde_json::to_vec(&(self.n_orders, order)).expect("orders are plain data");
        line.push(b'\n');
        if let Some(orders) = &self.orders {
            // Where nobody writes any more the child is gone, which is seen below.
            let _ = orders.send(line);
        }
        loop {
            if given_up.load(Ordering::SeqCst) {
                return Outcome::GivenUp;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left.min(OFTEN)) {
                Ok(Said::Answer(number, said)) if number == self.n_orders => return Outcome::Answered(said),
                Ok(Said::Answer(..)) => {}
                Ok(Said::Report(text)) => report(&text),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Outcome::Late,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Outcome::Died(self.end()),
            }
        }
    }

    /// Kills the child, unless it is gone, and sees to it that nothing is left of it. How it ended.
    fn end(&mut self) -> String {
        self.orders = None;
        let _ = self.child.kill();
        let ended = self.child.wait();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        ended.map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Passes on what a child says, until it ends or says what it can't mean.
fn hear(output: ChildStdout, tell: &Sender<Said>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let Ok(said) = serde_json::from_slice(&line) else { return };
        if tell.send(said).is_err() {
            return;
        }
    }
}

/// The other side: does what it is told on `input`, with a contestant that is made for it, and answers on `output`. Ends the
/// process when the input ends or the output can't be written.
pub fn serve(
    make: impl FnOnce(Report) -> Box<dyn Contestant>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> ! {
    let (send, orders) = channel::<(u64, Order)>();
    // Nothing that is thought about keeps the process from its end.
    std::thread::spawn(move || {
        for line in BufReader::new(input).split(b'\n') {
            let order = line.ok().and_then(|line| serde_json::from_slice(&line).ok());
            if order.is_none_or(|order| send.send(order).is_err()) {
                break;
            }
        }
        std::process::exit(0);
    });
    let output = Arc::new(Mutex::new(output));
    let say = move |said: &Said| {
        let mut line = serde_json::to_vec(said).expect("answers are plain data");
        line.push(b'\n');
        let mut output = lock(&output);
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            std::process::exit(0);
        }
    };
    let tell = say.clone();
    let mut contestant = make(Arc::new(move |text: &str| tell(&Said::Report(text.to_owned()))));
    for (number, order) in orders {
        let obeyed = catch_unwind(AssertUnwindSafe(|| obey(&mut *contestant, order)));
        let said = obeyed.unwrap_or_else(|payload| Err(format!("it panicked: {}", what_was_said(&*payload))));
        say(&Said::Answer(number, said));
    }
    std::process::exit(0)
}

fn obey(contestant: &mut dyn Contestant, order: Order) -> Result<Decision, String> {
    match order {
        Order::Preview { name, text, left } => {
            let deadline = left.deadline();
            contestant.preview(&Rules::read(&name, &text), deadline);
            Ok(Decision::default())
        }
        Order::Start { name, text, role, clocks, history, left } => {
            let deadline = left.deadline();
            contestant.start(&Rules::read(&name, &text), role, clocks, deadline)?;
            for joint in &history {
                // What it says to what is past is of no interest.
                let _ = contestant.play(Some(joint), Instant::now());
            }
            Ok(Decision::default())
        }
        Order::Play { last, left } => contestant.play(last.as_deref(), left.deadline()),
    }
}
