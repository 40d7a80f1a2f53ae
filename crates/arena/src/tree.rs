//! A contestant that knows nothing but the rules: tree search with playouts.
//!
//! In the start clock a thread grounds the rules. As long as it is not ready, or if the game is too large for it, moves are
//! chosen by random matches on the reference engine; so there is an answer at every moment.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use gdl::Stop;
use machine::scalar::{self, Scalar};
use machine::{Machine, RoleId, lanes};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{Limit, Player, Uct, uct};

use crate::contestant::{Clocks, Contestant, Decision, Rules};
use crate::judge::Judge;
use crate::term;

/// Kept of every clock: a search comes back a little after it was told to.
const MARGIN: Duration = Duration::from_millis(5);
/// What following the rules may take where the deadline has passed.
const LEAST: Duration = Duration::from_millis(50);
/// How often it is looked whether anybody waits.
const OFTEN: Duration = Duration::from_millis(20);
/// Joint moves in a random match.
const CAP: u32 = 1_000;

/// UCT on the lane machine.
pub struct Tree {
    seed: u64,
    threads: usize,
    n_matches: u64,
    seat: Option<Seat>,
    given_up: Arc<AtomicBool>,
}

struct Seat {
    role: usize,
    /// Follows the match until the network does, and how many joint moves it has followed.
    judge: Option<Judge>,
    n_followed: usize,
    coming: Option<Receiver<Option<Compiled>>>,
    fast: Option<Fast>,
    /// The joint moves that were made.
    history: Vec<Vec<String>>,
    random: Pcg64Mcg,
    seed: u64,
    threads: usize,
    /// Ends what is still being made ready.
    _over: Over,
}

/// Raises a stop when it is dropped.
#[derive(Default)]
struct Over(Arc<AtomicBool>);

impl Over {
    fn stop(&self) -> Stop {
        raised(&self.0)
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A stop by a flag.
pub(crate) fn raised(flag: &Arc<AtomicBool>) -> Stop {
    let flag = flag.clone();
    Stop::when(move || flag.load(Ordering::Relaxed))
}

/// A game made ready for fast engines.
struct Compiled {
    scalar: Arc<scalar::Compiled>,
    lanes: Arc<lanes::Compiled>,
}

/// The match on fast engines.
struct Fast {
    machine: Scalar,
    player: Uct,
    /// Each role's moves by their form.
    moves: Vec<HashMap<String, u32>>,
    /// Joint moves followed.
    n_made: usize,
}

impl Tree {
    /// A contestant with a seed of its own.
    pub fn new(seed: u64) -> Tree {
        Tree { seed, threads: 1, n_matches: 0, seat: None, given_up: Arc::default() }
    }

    /// The same, searching on so many threads.
    pub fn on_threads(self, threads: usize) -> Tree {
        Tree { threads, ..self }
    }
}

impl Contestant for Tree {
    fn name(&self) -> String {
        "uct".to_owned()
    }

    fn start(&mut self, rules: &Rules, role: usize, _: Clocks, deadline: Instant) -> Result<(), String> {
        self.n_matches += 1;
        let seed = self.seed ^ self.n_matches.rotate_left(32);
        self.seat = None;
        let (send, coming) = channel();
        let given = rules.clone();
        // The thread ends with the match, if not before; nobody waits for it.
        let over = Over::default();
        let stop = over.stop().or(&raised(&self.given_up));
        std::thread::spawn(move || {
            let compiled = catch_unwind(AssertUnwindSafe(|| compile(&given, &stop))).unwrap_or(None);
            // Nobody may be left to hear of it.
            let _ = send.send(compiled);
        });
        let now = Instant::now();
        let half = now + deadline.saturating_duration_since(now) / 2;
        let mut judge = Judge::heeding(rules, Some(half), raised(&self.given_up));
        if let Ok(judge) = &mut judge {
            // What the first move needs; kept if there is time for it now.
            let _ = judge.legal(role);
        }
        let random = Pcg64Mcg::seed_from_u64(seed);
        let mut seat = Seat {
            role,
            judge: None,
            n_followed: 0,
            coming: Some(coming),
            fast: None,
            history: Vec::new(),
            random,
            seed,
            threads: self.threads,
            _over: over,
        };
        while seat.coming.is_some() && Instant::now() + MARGIN < deadline && !self.given_up.load(Ordering::SeqCst) {
            seat.wait(deadline.min(Instant::now() + OFTEN));
        }
        if let Some(fast) = &mut seat.fast {
            fast.think(role, deadline, &self.given_up);
        }
        match judge {
            _ if seat.fast.is_some() => {}
            Ok(judge) => seat.judge = Some(judge),
            Err(_) if seat.coming.is_some() => {}
            Err(error) => return Err(error),
        }
        self.seat = Some(seat);
        Ok(())
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let seat = self.seat.as_mut().ok_or("no match has begun")?;
        if let Some(last) = last {
            seat.history.push(last.to_vec());
        }
        seat.wait(Instant::now());
        if seat.fast.is_none() {
            seat.follow(deadline)?;
        }
        if let Some(fast) = &mut seat.fast {
            fast.catch_up(&seat.history)?;
            return fast.choose(seat.role, deadline, &self.given_up);
        }
        seat.by_chance(deadline, &self.given_up)
    }

    fn stop(&mut self, _: Option<&[String]>) {
        self.seat = None;
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.given_up = given_up;
    }
}

fn compile(rules: &Rules, stop: &Stop) -> Option<Compiled> {
    if rules.reading.has_errors() {
        return None;
    }
    let budget = gdl::ground::Budget { stop: stop.clone(), ..gdl::ground::Budget::default() };
    let ground = gdl::ground::ground(&rules.reading.program, &budget).ok()?;
    let network = Arc::new(machine::network::build(ground, stop).ok()?);
    Some(Compiled { scalar: scalar::Compiled::new(network.clone()), lanes: lanes::Compiled::new(network) })
}

impl Seat {
    /// Takes the fast engines over as soon as they are there, and waits for them until then.
    fn wait(&mut self, until: Instant) {
        let Some(coming) = &self.coming else { return };
        let arrived = match coming.recv_timeout(until.saturating_duration_since(Instant::now() + MARGIN)) {
            Ok(arrived) => arrived,
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => None,
        };
        self.coming = None;
        let Some(compiled) = arrived else { return };
        let mut fast = Fast::new(compiled, self.threads, self.seed);
        if fast.catch_up(&self.history).is_ok() {
            self.fast = Some(fast);
            self.judge = None;
        }
    }

    /// Brings the judge to where the match is.
    fn follow(&mut self, deadline: Instant) -> Result<(), String> {
        let judge = self.judge.as_mut().ok_or("the rules take too long to evaluate")?;
        judge.set_deadline(Some(deadline.max(Instant::now() + LEAST)));
        while let Some(made) = self.history.get(self.n_followed) {
            judge.make(made)?;
            self.n_followed += 1;
        }
        Ok(())
    }

    /// Random matches from each legal move by turns, until the time is over.
    fn by_chance(&mut self, deadline: Instant, given_up: &AtomicBool) -> Result<Decision, String> {
        let judge = self.judge.as_mut().ok_or("the rules take too long to evaluate")?;
        let legal = judge.legal(self.role)?;
        if legal.is_empty() {
            return Err("there is no legal move".to_owned());
        }
        let mut sums = vec![(0.0, 0u32); legal.len()];
        let end = deadline.checked_sub(4 * MARGIN).unwrap_or(deadline);
        judge.set_deadline(Some(end));
        let mut n_matches = 0;
        'playing: while legal.len() > 1 && Instant::now() < end && !given_up.load(Ordering::SeqCst) {
            for (index, sum) in sums.iter_mut().enumerate() {
                match random_match(judge, self.role, index, &mut self.random) {
                    Some(goal) => *sum = (sum.0 + goal, sum.1 + 1),
                    None => break 'playing,
                }
                n_matches += 1;
            }
        }
        judge.set_deadline(None);
        let mean = |&(sum, n): &(f64, u32)| if n == 0 { f64::NEG_INFINITY } else { sum / f64::from(n) };
        let best = sums.iter().map(mean).fold(f64::NEG_INFINITY, f64::max);
        let candidates: Vec<usize> = (0..legal.len()).filter(|&index| mean(&sums[index]) >= best).collect();
        let chosen = candidates[self.random.random_range(0..candidates.len())];
        let why = (n_matches > 0).then(|| format!("{n_matches} random matches, mean {best:.0}"));
        Ok(Decision { chosen: legal[chosen].clone(), why })
    }
}

/// One random match from the judge's state on, beginning with a move of a role; what the role gets.
fn random_match(judge: &mut Judge, role: usize, first: usize, random: &mut impl Rng) -> Option<f64> {
    let (machine, mut state) = judge.parts().ok()?;
    for ply in 0..CAP {
        if ply > 0 && machine.is_terminal(&state).ok()? {
            break;
        }
        let mut joint = Vec::new();
        for other in 0..machine.roles().len() {
            let mut moves = Vec::new();
            machine.legal(&state, RoleId(other as u32), &mut moves).ok()?;
            let index = if ply == 0 && other == role { first } else { random.random_range(0..moves.len().max(1)) };
            joint.push(*moves.get(index)?);
        }
        state = machine.next(&state, &joint).ok()?;
    }
    let goals = machine.goals(&state, RoleId(role as u32)).ok()?;
    Some(goals.first().map_or(0.0, |&goal| goal as f64))
}

impl Fast {
    fn new(compiled: Compiled, threads: usize, seed: u64) -> Fast {
        let machine = Scalar::new(compiled.scalar);
        let network = machine.network();
        let form = |chosen: u32| term::canonical(&network.name(network.moves[chosen as usize])).unwrap_or_default();
        let moves = network.moves_of.iter().map(|range| range.clone().map(|chosen| (form(chosen), chosen)).collect());
        let moves = moves.collect();
        let player = Uct::new(compiled.lanes, uct::Settings::strongest(), seed).on_threads(threads);
        Fast { machine, player, moves, n_made: 0 }
    }

    fn catch_up(&mut self, history: &[Vec<String>]) -> Result<(), String> {
        while self.n_made < history.len() {
            let made = &history[self.n_made];
            let find = |(role, chosen): (usize, &String)| {
                let form = term::canonical(chosen).unwrap_or_default();
                let found = self.moves.get(role).and_then(|moves| moves.get(&form)).copied();
                let found = found.filter(|&found| self.legal(role).contains(&found));
                found.ok_or_else(|| format!("`{chosen}` is not legal"))
            };
            let joint: Vec<u32> = made.iter().enumerate().map(find).collect::<Result<_, _>>()?;
            if joint.len() != self.moves.len() {
                return Err(format!("{} moves for {} roles", joint.len(), self.moves.len()));
            }
            self.machine.make(&joint);
            self.n_made += 1;
        }
        Ok(())
    }

    fn legal(&self, role: usize) -> Vec<u32> {
        let mut legal = Vec::new();
        self.machine.legal_moves(RoleId(role as u32), &mut legal);
        legal.sort_unstable();
        legal
    }

    /// Whether each role has a move, and the match is not over.
    fn goes_on(&self) -> bool {
        !self.machine.terminal() && (0..self.moves.len()).all(|role| !self.legal(role).is_empty())
    }

    /// Searches in time that is free.
    fn think(&mut self, role: usize, deadline: Instant, given_up: &AtomicBool) {
        if self.goes_on() {
            let stop = || Instant::now() + MARGIN >= deadline || given_up.load(Ordering::Relaxed);
            let limit = Limit { nodes: u64::MAX, stop: &stop };
            self.player.choose(self.machine.bits(), RoleId(role as u32), &limit);
        }
    }

    fn choose(&mut self, role: usize, deadline: Instant, given_up: &AtomicBool) -> Result<Decision, String> {
        let legal = self.legal(role);
        let network = self.machine.network();
        let name = |chosen: u32| network.name(network.moves[chosen as usize]);
        match legal[..] {
            [] => return Err("there is no legal move".to_owned()),
            [only] => return Ok(Decision { chosen: name(only), why: None }),
            [first, ..] if !self.goes_on() => return Ok(Decision { chosen: name(first), why: None }),
            _ => {}
        }
        let stop = || Instant::now() + MARGIN >= deadline || given_up.load(Ordering::Relaxed);
        let limit = Limit { nodes: u64::MAX, stop: &stop };
        let answer = self.player.choose(self.machine.bits(), RoleId(role as u32), &limit);
        let chosen = answer.joint.get(role).copied().filter(|chosen| legal.contains(chosen)).unwrap_or(legal[0]);
        let value = 100.0 * answer.values.get(role).copied().unwrap_or(0.0);
        let proven = if answer.proven { ", proven" } else { "" };
        let why = format!("{} playouts, {} moves ahead, {value:.0} points{proven}", answer.playouts, answer.depth);
        Ok(Decision { chosen: name(chosen), why: Some(why) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One chooses a number, and that is what one gets; a value of more than 100 keeps the rules from the fast engines.
    const CHOICE: &str = "(role a) (value 0) (value 40) (value 90) (<= (legal a (take ?n)) (value ?n))
        (<= (next (got ?n)) (does a (take ?n))) (<= terminal (true (got ?n))) (<= (goal a ?n) (true (got ?n)))
        (<= (goal a 150) (true never)) (init begun)";

    #[test]
    fn games_without_a_network_are_played_by_chance() {
        let rules = Rules::read("choice", CHOICE);
        assert!(compile(&rules, &Stop::never()).is_none());
        let mut contestant = Tree::new(1);
        let clocks = Clocks { start: Duration::from_millis(200), play: Duration::from_millis(200) };
        contestant.start(&rules, 0, clocks, Instant::now() + clocks.start).expect("the reference engine follows it");
        let asked = Instant::now();
        let decision = contestant.play(None, asked + clocks.play).expect("there is time");
        assert_eq!(decision.chosen, "(take 90)");
        assert!(asked.elapsed() <= clocks.play, "{:?}", asked.elapsed());
        // Without any time there is a legal move all the same.
        contestant.start(&rules, 0, clocks, Instant::now()).expect("the reference engine follows it");
        let decision = contestant.play(None, Instant::now()).expect("it answers at once");
        assert!(decision.chosen.starts_with("(take "), "{decision:?}");
    }

    #[test]
    fn late_engines_catch_up() {
        let rules = Rules::read("choice", &CHOICE.replace("(<= (goal a 150) (true never))", ""));
        let compiled = compile(&rules, &Stop::never()).expect("it is small");
        let (send, coming) = channel();
        let seat = Seat {
            role: 0,
            judge: Judge::new(&rules, None).ok(),
            n_followed: 0,
            coming: Some(coming),
            fast: None,
            history: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(1),
            seed: 1,
            threads: 1,
            _over: Over::default(),
        };
        let mut contestant = Tree { seat: Some(seat), ..Tree::new(1) };
        let later = || Instant::now() + Duration::from_millis(50);
        assert_eq!(contestant.play(None, later()).expect("by chance").chosen, "(take 90)");
        assert!(contestant.seat.as_ref().is_some_and(|seat| seat.fast.is_none()));
        send.send(Some(compiled)).expect("it waits");
        let made = ["(take 40)".to_owned()];
        contestant.play(Some(&made), later()).expect("a terminal state has legal moves, too");
        let seat = contestant.seat.as_ref().expect("the match goes on");
        assert!(seat.judge.is_none() && seat.fast.as_ref().is_some_and(|fast| fast.n_made == 1));
        assert!(contestant.play(Some(&["(take 7)".to_owned()]), later()).is_err());
    }
}
