//! A match of the portfolio: who takes part, what they say, and whom to believe.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use arena::contestant::Decision;
use gdl::Stop;

use super::member::{History, Make, Opinion, Rank, Word, Worker, plain, text_of};

/// A member that was late for so many moves in a row is not waited for any more.
const PATIENCE: u32 = 3;
/// How long it goes on thinking while others think, at most.
const PONDERING: Duration = Duration::from_secs(600);
/// The part of the time for one that may be certain, as long as it has not been.
const DOUBTFUL: u32 = 4;

/// Is told what went wrong, and what was done.
pub(crate) type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// A member as it takes part in a match.
struct Seat {
    name: String,
    rank: Rank,
    worker: Worker,
    /// Whether it can be asked.
    is_ready: bool,
    /// The last question that it has answered to the end.
    done: u64,
    /// The last question before which it could be asked.
    since: u64,
    /// For how many moves in a row it was late.
    n_late: u32,
    /// Whether it was certain of something in this match.
    was_certain: bool,
    /// Whether it takes no part any more.
    failed: bool,
}

/// What comes in from the threads of a match.
enum News {
    /// A member said something.
    Said(usize, Word),
    /// Someone can take part.
    Joins(String, Rank, Make),
    /// A preparation is over.
    Prepared(&'static str, Result<(), String>),
    /// Something to report.
    Note(String),
}

/// What a preparation can do: bring members in, and report.
pub(super) struct Door {
    sender: Sender<News>,
}

impl Door {
    pub(super) fn join(&self, name: &str, rank: Rank, make: Make) {
        _ = self.sender.send(News::Joins(name.to_owned(), rank, make));
    }

    pub(super) fn note(&self, text: &str) {
        _ = self.sender.send(News::Note(text.to_owned()));
    }
}

/// A match.
pub(super) struct Playing {
    news: Receiver<News>,
    sender: Sender<News>,
    seats: Vec<Seat>,
    pub(super) history: Vec<Vec<String>>,
    n_roles: usize,
    /// The number of the last question, and until when it may be thought about.
    question: (u64, Option<Instant>),
    /// What was said to it, with the seats of those who did.
    opinions: Vec<(usize, Opinion)>,
    n_preparing: usize,
    /// Whether the match has not begun.
    is_starting: bool,
    /// Whether the match is over.
    over: Arc<AtomicBool>,
    /// Ends what is prepared, before the match is over.
    stop: Stop,
    /// Whether there is nobody but the member that follows the rules.
    pub(super) is_thorough: Arc<AtomicBool>,
    threads: usize,
    report: Report,
}

impl Playing {
    pub(super) fn new(n_roles: usize, threads: usize, report: Report, stop: Stop) -> Playing {
        let (sender, news) = channel();
        Playing {
            news,
            sender,
            seats: Vec::new(),
            history: Vec::new(),
            n_roles,
            question: (0, None),
            opinions: Vec::new(),
            n_preparing: 0,
            is_starting: true,
            over: Arc::new(AtomicBool::new(false)),
            stop,
            is_thorough: Arc::new(AtomicBool::new(true)),
            threads,
            report,
        }
    }

    /// Is raised when the match is over.
    pub(super) fn is_over(&self) -> Stop {
        let over = self.over.clone();
        Stop::when(move || over.load(Ordering::Relaxed))
    }

    /// Does something on a thread of its own that may bring members in. It is told to stop when the match is over.
    pub(super) fn prepare(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&Door, &Stop) -> Result<(), String> + Send + 'static,
    ) {
        let (door, stop) = (Door { sender: self.sender.clone() }, self.stop.or(&self.is_over()));
        let guarded = move || {
            let worked = catch_unwind(AssertUnwindSafe(|| work(&door, &stop)));
            let worked = worked.unwrap_or_else(|panic| Err(format!("it panicked: {}", text_of(&*panic))));
            _ = door.sender.send(News::Prepared(what, worked));
        };
        match std::thread::Builder::new().name(what.to_owned()).spawn(guarded) {
            Ok(_) => self.n_preparing += 1,
            Err(error) => (self.report)(&format!("{what}: no thread could be started: {error}")),
        }
    }

    /// Gives a member a seat.
    pub(super) fn seat(&mut self, name: &str, rank: Rank, make: Make) {
        let (place, sender) = (self.seats.len(), self.sender.clone());
        let tell = move |word| _ = sender.send(News::Said(place, word));
        match Worker::start(name, make, tell) {
            Ok(worker) => {
                let name = name.to_owned();
                self.seats.push(Seat {
                    name,
                    rank,
                    worker,
                    is_ready: false,
                    done: 0,
                    since: 0,
                    n_late: 0,
                    was_certain: false,
                    failed: false,
                });
            }
            Err(why) => (self.report)(&format!("{name}: {why}")),
        }
        let has_search = self.seats.iter().any(|seat| !seat.failed && seat.is_ready && seat.rank.is_search());
        self.is_thorough.store(!has_search, Ordering::Relaxed);
    }

    /// Asks all members about the position, the best of them until the given time: first the one of the highest rank that always has
    /// an opinion, and then the one that may be certain.
    pub(super) fn ask(&mut self, until: Instant) {
        self.question = (self.question.0 + 1, Some(until));
        self.opinions.clear();
        let mut order: Vec<usize> = (0..self.seats.len()).filter(|&seat| !self.seats[seat].failed).collect();
        let top = self.top();
        order.sort_by_key(|&seat| {
            let rank = self.seats[seat].rank;
            std::cmp::Reverse((Some(rank) == top, rank))
        });
        order.into_iter().enumerate().for_each(|(place, seat)| self.ask_one(seat, until, place < self.threads));
    }

    fn ask_one(&self, seat: usize, until: Instant, at_length: bool) {
        let (now, own) = (Instant::now(), &self.seats[seat]);
        let left = until.saturating_duration_since(now);
        let time = match own.rank {
            // Before a match it is enough that somebody knows a legal move.
            Rank::Rules if self.is_starting => Duration::ZERO,
            _ if !at_length => left / 10,
            Rank::Exact if !own.was_certain => left / DOUBTFUL,
            _ => left,
        };
        own.worker.ask(self.question.0, Arc::new(self.history.clone()), now + time);
    }

    /// Lets those who search think on about the position while others think; until the next question.
    pub(super) fn ponder(&mut self) {
        self.question = (self.question.0 + 1, None);
        self.opinions.clear();
        let (top, until) = (self.top(), Instant::now() + PONDERING);
        let history: History = Arc::new(self.history.clone());
        for seat in self.seats.iter().filter(|seat| !seat.failed && seat.is_ready && Some(seat.rank) == top) {
            seat.worker.ponder(self.question.0, history.clone(), until);
        }
    }

    /// Waits for one piece of news; no if there was none until then.
    pub(super) fn hear(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(news) = self.news.recv_timeout(left) else { return false };
        self.take_in(news);
        !left.is_zero()
    }

    /// Takes in all that came since nobody listened, for a move that is to be made now.
    pub(super) fn catch_up(&mut self) {
        self.is_starting = false;
        while let Ok(news) = self.news.try_recv() {
            self.take_in(news);
        }
    }

    fn take_in(&mut self, news: News) {
        match news {
            News::Said(place, Word::Ready) => {
                (self.seats[place].is_ready, self.seats[place].since) = (true, self.question.0);
                if self.seats[place].rank.is_search() {
                    self.is_thorough.store(false, Ordering::Relaxed);
                }
            }
            News::Said(place, Word::Thinks(question, opinion)) => {
                self.seats[place].was_certain |= opinion.rank == Rank::Exact;
                if question == self.question.0 {
                    self.opinions.retain(|(seat, known)| (*seat, known.rank) != (place, opinion.rank));
                    self.opinions.push((place, opinion));
                }
            }
            News::Said(place, Word::Done(question)) => self.seats[place].done = question,
            News::Said(place, Word::Failed(why)) => self.fail(place, &why),
            News::Joins(name, rank, make) => {
                self.seat(&name, rank, make);
                // Before a match the time is for learning, unless one plays alone and can as well begin.
                let may_think = self.n_roles == 1 || !self.is_starting;
                if let Some(until) = self.question.1.filter(|_| may_think) {
                    self.ask_one(self.seats.len() - 1, until, true);
                }
            }
            News::Prepared(what, result) => {
                self.n_preparing -= 1;
                if let Err(why) = result {
                    (self.report)(&format!("{what}: {why}"));
                }
            }
            News::Note(text) => (self.report)(&text),
        }
    }

    fn fail(&mut self, place: usize, why: &str) {
        self.seats[place].failed = true;
        self.seats[place].worker.leave(u64::MAX);
        (self.report)(&format!("{} takes no part any more: {why}", self.seats[place].name));
        let has_search = self.seats.iter().any(|seat| !seat.failed && seat.is_ready && seat.rank.is_search());
        self.is_thorough.store(!has_search, Ordering::Relaxed);
    }

    /// The highest rank of those who can answer and always do.
    fn top(&self) -> Option<Rank> {
        let able = self.seats.iter().filter(|seat| !seat.failed && seat.is_ready && seat.rank < Rank::Exact);
        able.map(|seat| seat.rank).max()
    }

    /// Whether those of the highest rank have said all that they have to say, or somebody is certain, and it is known what is legal.
    pub(super) fn is_answered(&self) -> bool {
        let top = self.top();
        let is_checked = self.opinions.iter().any(|(_, opinion)| opinion.rank == Rank::Legal);
        let mut best = self.seats.iter().filter(|seat| !seat.failed && seat.is_ready && Some(seat.rank) == top);
        is_checked && (self.is_won() || best.all(|seat| seat.done >= self.question.0))
    }

    /// Whether somebody is certain to win.
    fn is_won(&self) -> bool {
        self.opinions.iter().any(|(_, opinion)| opinion.is_won())
    }

    /// Whether everything is prepared. One who plays alone goes on thinking about the start.
    pub(super) fn is_prepared(&self) -> bool {
        let is_settled = |seat: &Seat| {
            let thinks = self.n_roles == 1 && seat.rank > Rank::Rules && seat.done < self.question.0;
            seat.failed || (seat.is_ready && !thinks)
        };
        self.n_preparing == 0 && self.seats.iter().all(is_settled)
    }

    /// Whether nobody can play.
    pub(super) fn is_lost(&self) -> bool {
        self.n_preparing == 0 && self.seats.iter().all(|seat| seat.failed)
    }

    /// Nobody waits for answers any more.
    pub(super) fn dismiss(&mut self) {
        self.seats.iter().for_each(|seat| seat.worker.leave(self.question.0));
        self.question.1 = None;
    }

    /// Nobody waits for answers any more; those who should have answered and said nothing are late.
    pub(super) fn close(&mut self) {
        let (question, top, is_won) = (self.question.0, self.top(), self.is_won());
        for place in 0..self.seats.len() {
            let seat = &mut self.seats[place];
            let has_spoken =
                seat.done >= question || self.opinions.iter().any(|(by, said)| (*by, said.rank) == (place, seat.rank));
            // Who is not asked, or not to the end, is not late.
            if seat.failed || has_spoken || seat.since >= question || is_won {
                seat.n_late = 0;
            } else if seat.is_ready && Some(seat.rank) == top {
                seat.n_late += 1;
                if seat.n_late >= PATIENCE {
                    self.fail(place, "it does not come back");
                } else {
                    let text = format!("{} was late", seat.name);
                    (self.report)(&text);
                }
            }
        }
        self.dismiss();
    }

    /// The move to make, if any is known.
    pub(super) fn decide(&self) -> Option<Decision> {
        // Step 1. What is legal, by the rules as they stand if they were heard.
        let mut lists = self.opinions.iter().filter(|(_, opinion)| opinion.rank == Rank::Legal).collect::<Vec<_>>();
        lists.sort_by_key(|(seat, _)| *seat);
        let legal = lists.first().map(|(_, opinion)| opinion.tried.iter().map(|(name, ..)| plain(name)));
        let legal: Option<Vec<String>> = legal.map(Iterator::collect);
        let is_legal = |opinion: &Opinion| legal.as_ref().is_none_or(|legal| legal.contains(&plain(&opinion.chosen)));
        let sound: Vec<&Opinion> = self.opinions.iter().map(|(_, opinion)| opinion).filter(|o| is_legal(o)).collect();
        if sound.len() < self.opinions.len() {
            (self.report)("a move that is not legal was proposed, and left aside");
        }
        // Step 2. The best of the opinions: a certain win, or that of the highest rank.
        let best = sound.iter().max_by_key(|opinion| (opinion.is_won(), opinion.rank))?;
        let other = sound.iter().filter(|opinion| opinion.rank.is_search()).max_by_key(|opinion| opinion.rank);
        if let (Rank::Exact, false, Some(other)) = (best.rank, best.is_won(), other) {
            // Among the moves that give nothing away, others know what is hardest to answer.
            let kept: Vec<String> = best.tried.iter().map(|(name, ..)| plain(name)).collect();
            let mut liked = std::iter::once(&other.chosen).chain(other.tried.iter().map(|(name, ..)| name));
            if let Some(liked) = liked.find(|name| kept.contains(&plain(name))) {
                let sure = 100.0 * best.value.unwrap_or(0.0);
                let why = format!("{}; {sure:.0} % are certain with {} moves", other.why, kept.len());
                return Some(Decision { chosen: liked.clone(), why: Some(why) });
            }
        }
        let line = if best.line.len() > 1 { format!("; expects {}", best.line.join(", ")) } else { String::new() };
        Some(Decision { chosen: best.chosen.clone(), why: Some(format!("{}{line}", best.why)) })
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
