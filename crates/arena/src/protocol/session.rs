//! What a player says to a manager: one match at a time, whatever comes in whatever order.
//!
//! A second match is told `busy`, unless nothing was heard of the first for long. The contestant thinks in its own [`Seat`],
//! while the thread that received the message follows the match by the rules: so there is always a legal move to say when
//! time runs out, and what the contestant says is looked at before it is said.
//!
//! Whoever ends a match is answered at once: whatever is at work on it, here or in the seat, sees the flag and lets go. Rules are
//! read one at a time, and only where there is room for a match or a preview.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use gdl::Stop;

use crate::contestant::{Clocks, Decision, Factory, Rules};
use crate::judge::{Judge, lock};
use crate::protocol::message::{Info, Message};
use crate::protocol::server::{Log, Settings, show};
use crate::seat::{Order, Seat};
use crate::term;

/// Contestants that may be thinking: one about the match, the others about matches that are over. They let go at the end of their
/// clocks.
const MAX_THINKING: usize = 6;
/// Messages that may wait while another one about the same match is acted on. Managers repeat themselves, but not for ever.
const MAX_WAITING: usize = 8;
/// How long the end of a match waits for those who are at work on it.
const FAREWELL: Duration = Duration::from_millis(300);

/// The player's part of all conversations.
pub(super) struct Session {
    settings: Settings,
    factory: Factory,
    log: Log,
    /// Held by each thread in which a contestant thinks.
    thinking: Arc<()>,
    state: Mutex<State>,
    /// Held while rules are read for a match.
    reading: Mutex<()>,
    /// Held by the preview that is under way.
    previewing: Mutex<()>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Match>>,
    /// The match before.
    finished: Option<String>,
    /// A game is being looked at before a match; raised if that is to end.
    preview: Option<Arc<AtomicBool>>,
}

struct Match {
    id: String,
    /// The name of the player's role.
    role: String,
    clocks: Clocks,
    cancelled: Arc<AtomicBool>,
    heard: Mutex<Instant>,
    turn: Mutex<Turn>,
    n_waiting: AtomicUsize,
}

/// What the last `PLAY` said, and what was replied.
struct Said {
    last: Option<Vec<String>>,
    reply: String,
    arrived: Instant,
    replied: Instant,
}

/// Where a match stands.
#[derive(Default)]
struct Turn {
    role: usize,
    seat: Option<Seat>,
    judge: Option<Judge>,
    /// Whether the judge is no longer where the match is.
    lost: bool,
    said: Option<Said>,
    n_moves: usize,
    /// How long before the end of the clock it replies at least, since it was late before.
    margin: Duration,
}

impl Turn {
    /// It was late: from now on replies come sooner, up to a quarter of the clock.
    fn hurry(&mut self, margin: Duration, clock: Duration) {
        self.margin = margin.min(clock / 4).max(self.margin);
    }
}

impl Settings {
    fn margin(&self, clock: Duration) -> Duration {
        let usual = (clock / 10).clamp(Duration::from_millis(30), Duration::from_secs(1));
        self.margin.unwrap_or(usual).min(clock / 2)
    }
}

impl Session {
    pub(super) fn new(factory: Factory, settings: Settings, log: Log) -> Session {
        let (reading, previewing) = (Mutex::default(), Mutex::default());
        Session { settings, factory, log, thinking: Arc::default(), state: Mutex::default(), reading, previewing }
    }

    /// Leaves the match that is being played, and the game that is being looked at.
    pub(super) fn leave(&self) {
        let mut state = lock(&self.state);
        state.end_preview();
        if let Some(left) = state.current.take() {
            left.cancelled.store(true, Ordering::SeqCst);
            (self.log)(&format!("{}: left, since the player stops", show(&left.id)));
        }
    }

    /// Acts on a message that arrived at a moment, and gives the reply.
    pub(super) fn act(&self, message: Message, arrived: Instant) -> String {
        match message {
            Message::Info => {
                let status = if lock(&self.state).occupied(self).is_some() { "busy" } else { "available" };
                Info { name: Some(self.settings.name.clone()), status: Some(status.to_owned()) }.to_string()
            }
            Message::Preview { rules, clock } => {
                let clock = self.bounded("PREVIEW", clock);
                self.preview(&rules, clock, arrived).to_owned()
            }
            Message::Start { id, role, rules, start, play } => {
                let [start, play] = [start, play].map(|clock| self.bounded(&show(&id), clock));
                self.start(id, &role, &rules, Clocks { start, play }, arrived)
            }
            Message::Play { id, last } => match self.find(&id) {
                Some(found) => self.play(&found, last, arrived),
                None => {
                    (self.log)(&format!("{}: PLAY, but there is no such match", show(&id)));
                    "busy".to_owned()
                }
            },
            Message::Stop { id, last } => self.end(&id, Some(last), "done"),
            Message::Abort { id } => self.end(&id, None, "aborted"),
        }
    }

    /// A clock, but none that keeps others out for long.
    fn bounded(&self, what: &str, clock: Duration) -> Duration {
        let most = self.settings.max_clock;
        if clock > most {
            let (clock, most) = (clock.as_secs_f64(), most.as_secs_f64());
            (self.log)(&format!("{what}: a clock of {clock} s is cut to {most} s (--max-clock)"));
        }
        clock.min(most)
    }

    fn find(&self, id: &str) -> Option<Arc<Match>> {
        let found = lock(&self.state).current.clone().filter(|found| found.id.eq_ignore_ascii_case(id))?;
        *lock(&found.heard) = Instant::now();
        Some(found)
    }

    /// Lets a contestant look at a game before a match. If one begins meanwhile, that goes first.
    fn preview(&self, rules: &str, clock: Duration, arrived: Instant) -> &'static str {
        // Step 1. See whether there is room for it. Of several, the last one counts.
        let over = Arc::new(AtomicBool::new(false));
        {
            let mut state = lock(&self.state);
            if state.occupied(self).is_some() || Arc::strong_count(&self.thinking) > MAX_THINKING {
                return "busy";
            }
            state.end_preview();
            state.preview = Some(over.clone());
        }
        let _alone = lock(&self.previewing);
        let is_over = || over.load(Ordering::SeqCst) || Instant::now() >= arrived + clock;
        if is_over() {
            return "ready";
        }
        let rules = Rules::read("previewed game", rules);
        if rules.reading.has_errors() {
            (self.log)("PREVIEW: there is something wrong with the rules");
            return "ready";
        }
        if is_over() {
            return "ready";
        }
        // Step 2. Prepare.
        let mut seat = Seat::among(self.factory.clone(), &self.thinking);
        let margin = self.settings.margin(clock);
        let order = seat.order(Order::Preview { rules, deadline: arrived + clock - margin });
        let answer = self.await_answer(&mut seat, order, &over, arrived + clock - margin / 2);
        if let Some(Err(error)) = &answer {
            (self.log)(&format!("PREVIEW: {error}"));
        }
        "ready"
    }

    fn start(&self, id: String, role: &str, rules: &str, clocks: Clocks, arrived: Instant) -> String {
        // Step 1. Take the place, or see that it is taken.
        let begun = Arc::new(Match {
            id,
            role: role.to_owned(),
            clocks,
            cancelled: Arc::default(),
            heard: Mutex::new(arrived),
            turn: Mutex::default(),
            n_waiting: AtomicUsize::new(0),
        });
        let mut turn = lock(&begun.turn);
        {
            let mut state = lock(&self.state);
            if let Some(other) = state.occupied(self) {
                drop(state);
                if other.id.eq_ignore_ascii_case(&begun.id) && other.role == begun.role {
                    // Said twice: it is ready when the first is.
                    return if other.take_turn().is_some() { "ready" } else { "busy" }.to_owned();
                }
                (self.log)(&format!("{}: refused, since {} is being played", show(&begun.id), show(&other.id)));
                return "busy".to_owned();
            }
            // Contestants of old matches that don't come back are left behind, but not without end.
            if Arc::strong_count(&self.thinking) > MAX_THINKING {
                (self.log)(&format!("{}: refused, since old matches are still being thought about", show(&begun.id)));
                return "busy".to_owned();
            }
            state.end_preview();
            state.current = Some(begun.clone());
        }
        let mut place = Place { session: self, of: &begun, is_kept: false };
        // Step 2. Read the rules.
        let deadline = arrived + clocks.start - self.settings.margin(clocks.start);
        let read = || {
            let _alone = lock(&self.reading);
            if begun.cancelled.load(Ordering::SeqCst) {
                return Err("the match is over".to_owned());
            }
            let rules = Rules::read(&begun.id, rules);
            let judge = Judge::heeding(&rules, Some(deadline), begun.is_cancelled())?;
            match judge.role(role) {
                Some(role) => Ok((rules, judge, role)),
                None => Err(format!("there is no role {}; there is {}", show(role), show(&judge.roles().join(", ")))),
            }
        };
        let (rules, judge, role_number) = match read() {
            Ok(found) => found,
            Err(error) => {
                (self.log)(&format!("{}: refused: {error}", show(&begun.id)));
                return "busy".to_owned();
            }
        };
        (self.log)(&format!(
            "{}: started as {} of {} ({} rules), {} s to prepare and {} s a move",
            show(&begun.id),
            show(role),
            judge.roles().len(),
            rules.reading.program.rules.len(),
            clocks.start.as_secs_f64(),
            clocks.play.as_secs_f64()
        ));
        turn.role = role_number;
        turn.judge = Some(judge);
        // Step 3. Prepare.
        let mut seat = Seat::among(self.factory.clone(), &self.thinking);
        let order = seat.order(Order::Start { rules, role: role_number, clocks, deadline });
        if let Some(judge) = &mut turn.judge {
            // What the first move needs; kept if there is time for it now.
            let _ = judge.legal(role_number);
        }
        let last_moment = arrived + clocks.start - self.settings.margin(clocks.start) / 2;
        match self.await_answer(&mut seat, order, &begun.cancelled, last_moment) {
            Some(Ok(_)) => {}
            Some(Err(error)) => (self.log)(&format!("{}: not prepared: {error}", show(&begun.id))),
            None => (self.log)(&format!("{}: still preparing when the time is over", show(&begun.id))),
        }
        turn.seat = Some(seat);
        place.is_kept = true;
        "ready".to_owned()
    }

    /// Waits for an answer until a moment, or until nobody needs it.
    fn await_answer(
        &self,
        seat: &mut Seat,
        order: u64,
        cancelled: &AtomicBool,
        until: Instant,
    ) -> Option<Result<Decision, String>> {
        const OFTEN: Duration = Duration::from_millis(20);
        loop {
            if let Some(answer) = seat.wait(order, until.min(Instant::now() + OFTEN)) {
                return Some(answer.said);
            }
            if cancelled.load(Ordering::SeqCst) {
                seat.give_up();
                return None;
            }
            if Instant::now() >= until {
                return None;
            }
        }
    }

    fn play(&self, of: &Match, last: Option<Vec<String>>, arrived: Instant) -> String {
        let Some(mut turn) = of.take_turn() else { return "busy".to_owned() };
        let turn = &mut *turn;
        // Step 1. See whether this was said before.
        let made = last.as_ref().and_then(|joint| joint.get(turn.role));
        if let Some(said) = &turn.said
            && said.last == last
        {
            // Within the clock nobody has made another move instead.
            let is_other = made.is_some_and(|made| term::canonical(&said.reply) != term::canonical(made));
            let is_early = arrived < said.arrived + of.clocks.play;
            let possible = match (&mut turn.judge, &last) {
                (Some(judge), Some(joint)) => judge.allows(joint).unwrap_or(true),
                (_, None) => false,
                (None, _) => true,
            };
            if !possible || arrived <= said.replied || (is_other && is_early) {
                (self.log)(&format!("{}: PLAY was said again", show(&of.id)));
                return said.reply.clone();
            }
        }
        // Step 2. Let the contestant think, and find out what is legal meanwhile.
        let clock = of.clocks.play;
        let margin = self.settings.margin(clock).max(turn.margin);
        if let (Some(Said { reply, .. }), Some(made)) = (&turn.said, made)
            && term::canonical(reply) != term::canonical(made)
        {
            (self.log)(&format!("{}: {} was made instead of {reply}, which came too late", show(&of.id), show(made)));
            turn.hurry(2 * margin, clock);
        }
        let margin = margin.max(turn.margin);
        let deadline = arrived + clock - margin;
        let Some(seat) = &mut turn.seat else { return "busy".to_owned() };
        let order = seat.order(Order::Play { last: last.clone(), deadline });
        let mut legal = Vec::new();
        if let Some(judge) = &mut turn.judge {
            judge.set_deadline(Some(deadline));
            if let Some(joint) = &last
                && let Err(error) = judge.make(joint)
            {
                (self.log)(&format!("{}: can't follow: {error}", show(&of.id)));
                turn.lost = true;
            }
            legal = judge.legal(turn.role).unwrap_or_default();
        }
        // Step 3. Say what the contestant says, if it is in time and legal.
        let answer = self.await_answer(seat, order, &of.cancelled, arrived + clock - margin / 2);
        let late = Instant::now().saturating_duration_since(deadline + margin / 4);
        if !late.is_zero() {
            turn.hurry(margin + 2 * late, clock);
        }
        let form = |text: &str| term::canonical(text);
        let (reply, why) = match answer {
            Some(Ok(decision)) if legal.is_empty() || turn.lost => (decision.chosen, decision.why),
            Some(Ok(decision)) => match legal.iter().find(|chosen| form(chosen) == form(&decision.chosen)) {
                Some(chosen) => (chosen.clone(), decision.why),
                None => (legal[0].clone(), Some(format!("instead of {}, which is illegal", show(&decision.chosen)))),
            },
            Some(Err(error)) => (fallback(&legal), Some(format!("instead of thinking: {}", show(&error)))),
            None => (fallback(&legal), Some("since the time is over".to_owned())),
        };
        turn.n_moves += 1;
        turn.said = Some(Said { last, reply: reply.clone(), arrived, replied: Instant::now() });
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        let seconds = arrived.elapsed().as_secs_f64();
        (self.log)(&format!("{}: move {} is {reply} after {seconds:.2} s{why}", show(&of.id), turn.n_moves));
        reply
    }

    /// Ends a match.
    fn end(&self, id: &str, last: Option<Option<Vec<String>>>, reply: &str) -> String {
        let Some(found) = self.find(id) else {
            if lock(&self.state).finished.as_ref().is_some_and(|finished| finished.eq_ignore_ascii_case(id)) {
                return reply.to_owned();
            }
            (self.log)(&format!("{}: it should end, but there is no such match", show(id)));
            return "busy".to_owned();
        };
        found.cancelled.store(true, Ordering::SeqCst);
        self.free(&found);
        let Some(mut turn) = found.farewell() else {
            // Whoever is at work on it takes everything along.
            (self.log)(&format!("{}: {reply}, in the middle of something", show(id)));
            return reply.to_owned();
        };
        let mut result = String::new();
        if let (Some(judge), Some(Some(last))) = (&mut turn.judge, &last) {
            judge.set_stop(Stop::never());
            judge.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
            if judge.make(last).is_ok()
                && let Ok(goals) = judge.goals()
                && let Some(goal) = goals[turn.role]
            {
                result = format!(", {goal} points");
            }
        }
        // With the seat goes all that it took.
        if let Some(mut seat) = turn.seat.take() {
            seat.order(Order::Stop { last: last.flatten() });
        }
        drop(turn);
        (self.log)(&format!("{}: {reply}{result}", show(id)));
        reply.to_owned()
    }

    /// Makes room for another match.
    fn free(&self, of: &Arc<Match>) {
        let mut state = lock(&self.state);
        if state.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, of)) {
            state.current = None;
            state.finished = Some(of.id.clone());
        }
    }
}

impl Match {
    /// Is raised when the match is over.
    fn is_cancelled(&self) -> Stop {
        let cancelled = self.cancelled.clone();
        Stop::when(move || cancelled.load(Ordering::SeqCst))
    }

    /// Waits until nobody else acts on the match, unless it is over or too many wait.
    fn take_turn(&self) -> Option<MutexGuard<'_, Turn>> {
        let n_waiting = self.n_waiting.fetch_add(1, Ordering::SeqCst);
        let turn = (n_waiting < MAX_WAITING).then(|| lock(&self.turn));
        self.n_waiting.fetch_sub(1, Ordering::SeqCst);
        turn.filter(|_| !self.cancelled.load(Ordering::SeqCst))
    }

    /// The same at the end of a match, but not for long.
    fn farewell(&self) -> Option<MutexGuard<'_, Turn>> {
        let until = Instant::now() + FAREWELL;
        loop {
            match self.turn.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

/// The place of a match that begins: free again unless it comes to be played, whatever happens.
struct Place<'a> {
    session: &'a Session,
    of: &'a Arc<Match>,
    is_kept: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.of.cancelled.store(true, Ordering::SeqCst);
            self.session.free(self.of);
        }
    }
}

impl State {
    /// Nobody needs to look at a game any more.
    fn end_preview(&mut self) {
        if let Some(over) = self.preview.take() {
            over.store(true, Ordering::SeqCst);
        }
    }

    /// The match that is being played, unless nothing was heard of it for too long.
    fn occupied(&mut self, of: &Session) -> Option<Arc<Match>> {
        let current = self.current.clone()?;
        let clocks = current.clocks;
        let silence = lock(&current.heard).elapsed();
        if silence > clocks.start + clocks.play + of.settings.patience {
            (of.log)(&format!("{}: given up, since nothing was heard for {silence:.0?}", show(&current.id)));
            current.cancelled.store(true, Ordering::SeqCst);
            self.current = None;
            return None;
        }
        Some(current)
    }
}

/// What is said where nobody has chosen. Without a legal move, anything is as good.
fn fallback(legal: &[String]) -> String {
    legal.first().cloned().unwrap_or_else(|| "nil".to_owned())
}
