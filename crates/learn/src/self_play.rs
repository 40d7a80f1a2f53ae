//! Matches of a player with itself, to learn from.

use std::sync::atomic::{AtomicU32, Ordering};

use features::game::Game;
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{Limit, Player};

use crate::example::Examples;

/// How matches are played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// Matches.
    pub matches: u32,
    /// The most joint moves of an opening by chance; its length is drawn for each match.
    pub opening: u32,
    /// How often a role makes a move by chance later on.
    pub chance: f64,
    /// States visited for a move.
    pub nodes: u64,
    /// Joint moves in a match; longer ones are given up.
    pub plies: u32,
    /// How much the result counts in what is to be learned; the rest is what the search expected.
    pub result: f32,
    /// Threads; they change nothing in the result.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { seed: 1, matches: 200, opening: 8, chance: 0.05, nodes: 500, plies: 400, result: 0.7, threads: 1 }
    }
}

/// What came of matches.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The positions after the openings.
    pub examples: Examples,
    /// Each role's results, summed up.
    pub results: Vec<f64>,
    /// Matches played to their end.
    pub n_ended: u32,
    /// Joint moves made.
    pub n_plies: u64,
    /// States visited.
    pub nodes: u64,
}

/// Plays matches. Each thread makes its player with `player`, given a seed for each match; `stop` ends all early, and then matches
/// that were not begun are missing.
pub fn play<P: Player>(
    game: &Game,
    settings: &Settings,
    player: &(dyn Fn(u64) -> P + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Played {
    let compiled = Compiled::new(game.circuit.network.clone());
    let next = AtomicU32::new(0);
    let mut all: Vec<(u32, Record)> = std::thread::scope(|scope| {
        let work = || {
            let mut machine = Scalar::new(compiled.clone());
            let mut records = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= settings.matches || stop() {
                    return records;
                }
                let seed = settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(number));
                records.push((number, one(&mut machine, &mut player(seed), settings, seed, stop)));
            }
        };
        let threads: Vec<_> = (0..settings.threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a match does not panic")).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    let n_roles = game.universe.roles.len();
    let mut played = Played {
        examples: Examples::new(game.circuit.network.fluents.len().div_ceil(64), n_roles),
        results: vec![0.0; n_roles],
        ..Played::default()
    };
    for (number, record) in all {
        played.nodes += record.nodes;
        played.n_plies += record.states.len() as u64;
        let Some(results) = record.results else { continue };
        played.n_ended += 1;
        played.results.iter_mut().zip(&results).for_each(|(sum, result)| *sum += f64::from(*result));
        for (state, expected) in &record.states {
            let target = |role: usize| match expected.get(role) {
                Some(expected) if expected.is_finite() => {
                    settings.result * results[role] + (1.0 - settings.result) * expected
                }
                _ => results[role],
            };
            let targets: Vec<f32> = (0..n_roles).map(target).collect();
            played.examples.push(state, &targets, 1.0, number);
        }
    }
    played
}

struct Record {
    /// States after the opening, with what the search expected of each.
    states: Vec<(Vec<u64>, Vec<f32>)>,
    results: Option<Vec<f32>>,
    nodes: u64,
}

fn one(
    machine: &mut Scalar,
    player: &mut impl Player,
    settings: &Settings,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Record {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let initial = machine::Machine::initial(machine).expect("a network has no budget");
    machine.jump(&initial);
    player.begin();
    let opening = random.random_range(0..=settings.opening);
    let mut record = Record { states: Vec::new(), results: None, nodes: 0 };
    let n_roles = machine.network().roles.len();
    let (mut legal, mut joint) = (Vec::new(), Vec::new());
    let limit = Limit { nodes: settings.nodes, stop };
    for ply in 0..settings.plies {
        if machine.terminal() || stop() {
            break;
        }
        joint.clear();
        let mut expected = Vec::new();
        for role in (0..n_roles as u32).map(RoleId) {
            legal.clear();
            machine.legal_moves(role, &mut legal);
            // Their order depends on how the machine came here.
            legal.sort_unstable();
            let by_chance = ply < opening || random.random::<f64>() < settings.chance;
            joint.push(match &legal[..] {
                [] => return record,
                [only] => *only,
                several if by_chance => several[random.random_range(0..several.len())],
                _ => {
                    let answer = player.choose(machine.bits(), role, &limit);
                    record.nodes += answer.nodes;
                    // Where several roles choose, each knows best what to expect itself.
                    expected.resize(n_roles, f32::NAN);
                    for (own, (expected, value)) in expected.iter_mut().zip(&answer.values).enumerate() {
                        if expected.is_nan() || own == role.0 as usize {
                            *expected = *value;
                        }
                    }
                    answer.joint[role.0 as usize]
                }
            });
        }
        if ply >= opening {
            record.states.push((machine.bits().to_vec(), expected));
        }
        machine.make(&joint);
    }
    if machine.terminal() {
        let goal = |role: u32| machine.goal(RoleId(role)).map(|goal| goal as f32 / 100.0);
        record.results = (0..n_roles as u32).map(goal).collect();
    }
    record
}
