//! Matches of a player with itself, to learn from.

use features::game::Game;
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::match_play::on_threads;
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
    /// Matches played to their end.
    pub n_ended: u32,
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
    let records = on_threads(
        0..settings.matches,
        settings.threads,
        || Scalar::new(compiled.clone()),
        |machine, number| {
            let seed = settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(number));
            (!stop()).then(|| one(machine, &mut player(seed), settings, seed, stop))
        },
    );
    let n_roles = game.universe.roles.len();
    let n_words = game.circuit.network.fluents.len().div_ceil(64);
    let mut played = Played { examples: Examples::new(n_words, n_roles), n_ended: 0 };
    for (number, record) in (0..).zip(records) {
        let Some(results) = record.results else { continue };
        played.n_ended += 1;
        for (state, expected) in &record.states {
            let target = |role: usize| match expected.get(role) {
                Some(expected) if expected.is_finite() => {
                    settings.result * results[role] + (1.0 - settings.result) * expected
                }
                _ => results[role],
            };
            let targets: Vec<f32> = (0..n_roles).map(target).collect();
            played.examples.push(state, &targets, number);
        }
    }
    played
}

struct Record {
    /// States after the opening, with what the search expected of each.
    states: Vec<(Vec<u64>, Vec<f32>)>,
    results: Option<Vec<f32>>,
}

fn one(
    machine: &mut Scalar,
    player: &mut impl Player,
    settings: &Settings,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Record {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let initial = machine.compiled().initial().to_vec();
    machine.jump(&initial);
    player.begin();
    let opening = random.random_range(0..=settings.opening);
    let mut record = Record { states: Vec::new(), results: None };
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
