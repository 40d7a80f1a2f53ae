//! A member of the portfolio: one way to choose moves, in a thread of its own.
//!
//! Whatever happens inside stays inside: a panic is caught and told, and one that does not come back is left behind. A member is
//! asked about positions, and may say several things about each, the better the later.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// Joint moves since the start of a match, as the rules write them; one move for each role in the order of the rules.
pub(crate) type History = Arc<Vec<Vec<String>>>;

/// Whom to believe: higher ranks more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// A legal move, and no more.
    Legal,
    /// Chances by playing on by the rules as they stand.
    Rules,
    /// Searches with simple heuristics.
    Heuristics,
    /// A search without knowledge of the game.
    Search,
    /// A search with what was learned.
    Learned,
    /// What is certain; whoever has this rank says nothing else.
    Exact,
}

impl Rank {
    /// Whether one of this rank always finds more than the rules as they stand can tell.
    pub(crate) fn is_search(self) -> bool {
        matches!(self, Rank::Search | Rank::Learned)
    }
}

/// What a member thinks of a position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Opinion {
    pub(crate) rank: Rank,
    /// The move, as the rules write it.
    pub(crate) chosen: String,
    /// What the role may expect of it, as a part of 100 points.
    pub(crate) value: Option<f32>,
    /// Whether that is certain.
    pub(crate) proven: bool,
    /// How it was found, in words.
    pub(crate) why: String,
    /// The moves that are expected, its own first; moves of those who have no choice are left out.
    pub(crate) line: Vec<String>,
    /// How often moves were tried, and what they were worth.
    pub(crate) tried: Vec<(String, u64, f32)>,
}

impl Opinion {
    /// Whether it is certain that the match is won.
    pub(crate) fn is_won(&self) -> bool {
        /// What is certain to come to as much is won.
        const WON: f32 = 0.995;
        self.proven && self.value.is_some_and(|value| value >= WON)
    }
}

/// One way to choose moves in one match, for one role.
pub(crate) trait Member {
    /// Thinks about the position after some moves until `stop` says so, or until there is nothing more to find.
    fn think(
        &mut self,
        history: &[Vec<String>],
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Opinion),
    ) -> Result<(), String>;

    /// Thinks on about the position after some moves, for which nobody waits, until `stop` says so. One whose thoughts are of no use
    /// later does nothing.
    fn ponder(&mut self, _history: &[Vec<String>], _stop: &dyn Fn() -> bool) -> Result<(), String> {
        Ok(())
    }
}

/// Makes a member, in the thread that it will work in.
pub(crate) type Make = Box<dyn FnOnce() -> Result<Box<dyn Member>, String> + Send>;

/// What the thread of a member tells the portfolio.
pub(crate) enum Word {
    /// It can be asked.
    Ready,
    /// It has an opinion on the position of this question.
    Thinks(u64, Opinion),
    /// It has nothing to add to that.
    Done(u64),
    /// It can't go on, for this reason.
    Failed(String),
}

struct Question {
    number: u64,
    history: History,
    until: Instant,
    /// Whether an answer is waited for.
    is_urgent: bool,
}

/// The thread of a member, as the portfolio sees it.
pub(crate) struct Worker {
    questions: Sender<Question>,
    /// The last question that nobody waits for any more.
    past: Arc<AtomicU64>,
}

impl Worker {
    /// Starts a thread that makes a member and asks it what it is asked.
    pub(crate) fn start(name: &str, make: Make, tell: impl Fn(Word) + Send + 'static) -> Result<Worker, String> {
        let (questions, asked) = channel();
        let past = Arc::new(AtomicU64::new(0));
        let over = past.clone();
        let work = move || {
            let worked = catch_unwind(AssertUnwindSafe(|| work(make, &asked, &over, &tell)));
            match worked {
                Ok(Ok(())) => {}
                Ok(Err(why)) => tell(Word::Failed(why)),
                Err(panic) => tell(Word::Failed(format!("it panicked: {}", text_of(&*panic)))),
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        thread.map_err(|error| format!("no thread could be started: {error}"))?;
        Ok(Worker { questions, past })
    }

    /// Asks about a position; whether anybody listens.
    pub(crate) fn ask(&self, number: u64, history: History, until: Instant) -> bool {
        self.questions.send(Question { number, history, until, is_urgent: true }).is_ok()
    }

    /// Lets the member think on about a position without an answer.
    pub(crate) fn ponder(&self, number: u64, history: History, until: Instant) {
        _ = self.questions.send(Question { number, history, until, is_urgent: false });
    }

    /// Nobody waits for the answers to this question and those before it.
    pub(crate) fn leave(&self, number: u64) {
        self.past.fetch_max(number, Ordering::Relaxed);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.leave(u64::MAX);
    }
}

fn work(make: Make, asked: &Receiver<Question>, past: &AtomicU64, tell: &dyn Fn(Word)) -> Result<(), String> {
    let mut member = make()?;
    tell(Word::Ready);
    while let Ok(question) = asked.recv() {
        // What was asked while it was thinking for too long is of no interest but for the last.
        let question = asked.try_iter().last().unwrap_or(question);
        let Question { number, history, until, is_urgent } = question;
        let stop = || Instant::now() >= until || past.load(Ordering::Relaxed) >= number;
        if is_urgent {
            member.think(&history, &stop, &mut |opinion| tell(Word::Thinks(number, opinion)))?;
        } else {
            member.ponder(&history, &stop)?;
        }
        tell(Word::Done(number));
    }
    Ok(())
}

/// What a panic says.
pub(crate) fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say why")
}

/// A move in the form in which moves are compared.
pub(crate) fn plain(term: &str) -> String {
    arena::term::canonical(term).unwrap_or_else(|| term.to_owned())
}
