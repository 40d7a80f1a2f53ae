//! How fast the searches are.
//!
//! Each search is made from states of random matches, one after another, until its time is over. Searches that judge states are
//! given a number drawn from the state's own bits, so that trees look as they do in play and an evaluation costs nothing: what is
//! measured is the search. Rates are for a second on the processor, so other work on the machine hardly changes them; what threads
//! add is told by the time that goes by, and wants an idle machine.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use gdl::ground::GroundProgram;
use machine::RoleId;
use machine::lanes;
use machine::network::Network;
use machine::scalar::{self, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::principal::recursive::Recursive;
use search::proof::{self, Keys, Solver};
use search::{
    AlphaBeta, BestFirst, Evaluate, Limit, Nature, Player, Position, Principal, Uct, alpha_beta, best_first,
    legal_moves, principal, uct,
};
use serde::Serialize;

use crate::guard;
use crate::rules::{self, Rules};

/// The searches, as they are called in tables.
const SEARCHES: [&str; 7] = ["tree", "alpha-beta", "best-first", "bfss", "rbfms", "solver", "proof-number"];

/// Those that several threads can do together. In best-first search it is judging that has threads, and here that costs nothing.
const SHARED: [&str; 2] = ["tree", "alpha-beta"];

/// How many states searches begin in.
const N_STATES: usize = 32;

/// What one search does.
#[derive(Serialize)]
pub(super) struct Row {
    game: String,
    search: &'static str,
    /// Why the search can't be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    nodes_per_second: f64,
    /// For searches with playouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    playouts_per_second: Option<f64>,
    searches: u64,
    /// On the processor.
    seconds: f64,
    /// How many times as much one search does on several threads, in the same time. For searches that can use them.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling: Option<f64>,
    threads: usize,
}

pub(super) fn print_head(out: &mut impl Write, threads: usize) -> std::io::Result<()> {
    write!(out, "{:<22} {:<13} {:>12} {:>12}", "game", "search", "nodes/s", "playouts/s")?;
    if threads > 1 {
        write!(out, " {:>12}", format!("{threads} threads"))?;
    }
    writeln!(out, "  (for a second on the processor)")
}

impl Row {
    pub(super) fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, "{:<22} {:<13}", self.game, self.search)?;
        if let Some(failure) = &self.failure {
            return writeln!(out, " {failure}");
        }
        let playouts = self.playouts_per_second.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        write!(out, " {:>12.0} {playouts:>12}", self.nodes_per_second)?;
        match self.scaling {
            Some(scaling) => writeln!(out, " {:>12}", format!("x {scaling:.2}")),
            None => writeln!(out),
        }
    }
}

/// Measures all searches on a game, and tells each row.
pub(super) fn measure(
    rules: &Rules,
    seconds: f64,
    threads: usize,
    seed: u64,
    tell: &mut dyn FnMut(&Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    rules::accept(rules)?;
    let name = rules.source.name();
    let ground = gdl::ground::ground(&rules.program, &guard::ground_budget())
        .map_err(|failure| anyhow!("`{name}` can't be grounded: {failure}"))?;
    let network = machine::network::build(ground.clone(), &guard::stop())
        .map_err(|failure| anyhow!("`{name}` makes no useful network: {failure}"))?;
    let bench = Bench::new(&ground, Arc::new(network), seed);
    for search in SEARCHES {
        let alone = bench.run(search, seconds, 1);
        let together = (threads > 1 && SHARED.contains(&search)).then(|| bench.run(search, seconds, threads));
        let pace = |tally: &Tally| tally.nodes as f64 / tally.whole.max(1e-9);
        tell(&Row {
            game: rules.game_name(),
            search,
            nodes_per_second: alone.nodes as f64 / alone.seconds.max(1e-9),
            playouts_per_second: (alone.playouts > 0).then(|| alone.playouts as f64 / alone.seconds.max(1e-9)),
            searches: alone.searches,
            seconds: alone.seconds,
            scaling: together.map(|together| pace(&together) / pace(&alone).max(1e-9)),
            threads,
            failure: alone.failure,
        })?;
    }
    Ok(())
}

/// A game ready to be searched.
struct Bench {
    network: Arc<Network>,
    lanes: Arc<lanes::Compiled>,
    scalar: Arc<scalar::Compiled>,
    nature: Arc<Nature>,
    keys: Keys,
    /// States with a choice, each with a role that has it.
    states: Vec<(Box<[u64]>, RoleId)>,
    seed: u64,
}

/// What was done.
#[derive(Default)]
struct Tally {
    nodes: u64,
    playouts: u64,
    searches: u64,
    /// On the processor, of the first thread.
    seconds: f64,
    /// That went by.
    whole: f64,
    failure: Option<String>,
}

/// One search from a state: nodes, playouts, or why it is impossible.
type Search = Box<dyn FnMut(&[u64], RoleId, &Limit) -> Result<(u64, u64), String>>;

impl Bench {
    fn new(ground: &GroundProgram, network: Arc<Network>, seed: u64) -> Bench {
        let scalar = scalar::Compiled::new(network.clone());
        let lanes = lanes::Compiled::new(network.clone());
        let nature = Arc::new(Nature::new(&lanes, seed));
        let keys = Keys::symmetric(ground, &network, &scalar, seed);
        let states = states(&mut Scalar::new(scalar.clone()), seed);
        Bench { network, lanes, scalar, nature, keys, states, seed }
    }

    fn search(&self, name: &str, threads: usize) -> Search {
        let seed = self.seed;
        let dice = || Dice(Scalar::new(self.scalar.clone()));
        let player = |mut player: Box<dyn Player>| -> Search {
            Box::new(move |state, role, limit| {
                let answer = player.choose(state, role, limit);
                Ok((answer.nodes, answer.playouts))
            })
        };
        let solver = |method| -> Search {
            let settings = proof::Settings { method, bytes: 64 << 20 };
            let mut solver = Solver::new(Scalar::new(self.scalar.clone()), self.keys.clone(), RoleId(0), &settings);
            Box::new(move |state, _, limit| {
                let solution = solver.solve(state, limit);
                match solution.stop {
                    Some(stop @ (proof::StopReason::Simultaneous | proof::StopReason::NoGoal)) => Err(stop.to_string()),
                    _ => Ok((solution.nodes, 0)),
                }
            })
        };
        match name {
            "tree" => {
                let search = Uct::new(self.lanes.clone(), uct::Settings::default(), seed);
                player(Box::new(search.on_threads(threads)))
            }
            "alpha-beta" => {
                let settings = alpha_beta::Settings::default();
                let search = AlphaBeta::new(dice(), self.nature.clone(), settings, seed);
                player(Box::new((1..threads).fold(search, |search, _| search.helped_by(dice()))))
            }
            "best-first" => {
                let faces = Box::new(Faces(self.network.roles.len()));
                player(Box::new(BestFirst::new(self.lanes.clone(), faces, best_first::Settings::default(), seed)))
            }
            "bfss" => {
                let settings = principal::Settings { span: u64::MAX - 1, ..principal::Settings::default() };
                player(Box::new(Principal::new(dice(), settings)))
            }
            "rbfms" => player(Box::new(Recursive::new(dice(), u64::MAX - 1))),
            "solver" => solver(proof::Method::DepthFirst),
            _ => solver(proof::Method::ProofNumber),
        }
    }

    /// Searches from one state after another; none takes more than a quarter of the time.
    fn run(&self, name: &str, seconds: f64, threads: usize) -> Tally {
        let mut search = self.search(name, threads);
        let mut tally = Tally::default();
        let whole = Instant::now();
        let begin = Processor::now();
        for (state, role) in self.states.iter().cycle() {
            if tally.searches > 0 && whole.elapsed().as_secs_f64() >= seconds {
                break;
            }
            let end = Instant::now() + Duration::from_secs_f64(seconds / 4.0);
            match search(state, *role, &Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end }) {
                Ok((nodes, playouts)) => {
                    tally.nodes += nodes;
                    tally.playouts += playouts;
                    tally.searches += 1;
                }
                Err(why) => {
                    tally.failure = Some(why);
                    break;
                }
            }
        }
        (tally.seconds, tally.whole) = (begin.elapsed(), whole.elapsed().as_secs_f64());
        tally
    }
}

/// The initial state and states of random matches, one of each.
fn states(machine: &mut Scalar, seed: u64) -> Vec<(Box<[u64]>, RoleId)> {
    /// Joint moves of a match.
    const CAP: usize = 1_000;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let initial = machine.compiled().initial().to_vec();
    let mut states: Vec<(Box<[u64]>, RoleId)> = Vec::new();
    for number in 0..N_STATES {
        let mut met: Vec<(Box<[u64]>, RoleId)> = Vec::new();
        machine.jump(&initial);
        for _ in 0..CAP {
            let legal = legal_moves(machine);
            if machine.terminal() || legal.iter().any(Vec::is_empty) {
                break;
            }
            if let Some(role) = legal.iter().position(|moves| moves.len() > 1) {
                met.push((machine.bits().into(), RoleId(role as u32)));
            }
            let joint: Vec<u32> = legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
            machine.make(&joint);
        }
        if !met.is_empty() {
            let place = if number == 0 { 0 } else { random.random_range(0..met.len()) };
            states.push(met.swap_remove(place));
        }
    }
    states
}

/// The time that a thread has been on a processor, where Linux tells it; else the time that has gone by.
struct Processor {
    begin: Instant,
    before: Option<u64>,
}

impl Processor {
    fn now() -> Processor {
        Processor { begin: Instant::now(), before: Processor::nanoseconds() }
    }

    fn nanoseconds() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    fn elapsed(&self) -> f64 {
        match self.before.zip(Processor::nanoseconds()) {
            Some((before, now)) => (now - before) as f64 / 1e9,
            None => self.begin.elapsed().as_secs_f64(),
        }
    }
}

/// What a role may expect in a state: a number drawn from its bits.
fn draw(state: &[u64], role: u64) -> f32 {
    let mixed = state.iter().fold(role + 1, |mixed, &word| {
        (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    });
    0.1 + 0.8 * ((mixed >> 40) as f32 / (1 << 24) as f32)
}

/// A position that is judged by drawing.
struct Dice(Scalar);

impl Position for Dice {
    fn machine(&self) -> &Scalar {
        &self.0
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.0.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.0.make(joint);
    }

    fn unmake(&mut self) {
        self.0.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.0.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        let value = draw(self.0.bits(), 0);
        if role.0 == 0 { value } else { 1.0 - value }
    }
}

/// The same for many states, of a game with so many roles.
struct Faces(usize);

impl Evaluate for Faces {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        for state in states {
            let value = draw(state, 0);
            values.extend((0..self.0).map(|role| if role == 0 { value } else { 1.0 - value }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every search does something on a game with turns; solvers say why they can't where roles choose at once.
    #[test]
    fn searches_are_measured() {
        for (game, is_simultaneous) in [("tic-tac-toe", false), ("tron-6x6", true)] {
            let rules = rules::read(game).expect("a game of the library");
            let mut rows = 0;
            let mut tell = |row: &Row| {
                rows += 1;
                let solves = ["solver", "proof-number"].contains(&row.search);
                assert_eq!(row.failure.is_some(), solves && is_simultaneous, "{game}: {}", row.search);
                if row.failure.is_none() {
                    assert!(row.nodes_per_second > 0.0 && row.searches > 0, "{game}: {}", row.search);
                    let is_shared = SHARED.contains(&row.search);
                    assert_eq!(row.scaling.is_some_and(|scaling| scaling > 0.0 && scaling.is_finite()), is_shared);
                }
                assert_eq!(row.playouts_per_second.is_some(), row.search == "tree");
                Ok(())
            };
            measure(&rules, 0.05, 2, 1, &mut tell).expect("it has a network");
            assert_eq!(rows, SEARCHES.len());
        }
    }
}
