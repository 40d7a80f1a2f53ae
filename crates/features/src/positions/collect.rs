//! Matches of increasing strength.
//!
//! Level 0 plays by chance. Each further level fits a linear evaluation to the positions of all levels below it
//! ([`super::guide`]), and makes the move after which that evaluation is best, with fewer and fewer chance moves among
//! them. Half of a level's matches are between players of that level, the others against the level below, so that a
//! better player meets a worse one.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::engine::Engine;
use super::guide::Guide;
use super::play::{self, Bounds, Outcome, Plan, Player};
use super::{Positions, UNKNOWN};
use crate::game::Game;

/// How much is played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this: the same seed gives the same positions.
    pub seed: u64,
    /// How many levels there are, random play included.
    pub levels: u8,
    /// Positions of a level; it plays as many matches as these need.
    pub positions: usize,
    /// The least and the most matches of a level.
    pub matches: (u32, u32),
    /// Joint moves in a match; longer ones are given up.
    pub plies: u16,
    /// Gates evaluated in all, 512 lanes counting as one: what bounds the time.
    pub gates: u64,
    /// Bytes of states kept.
    pub bytes: usize,
    /// Moves compared by a player; of more, some are drawn.
    pub candidates: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            levels: 4,
            positions: 12_000,
            matches: (512, 4096),
            plies: 400,
            gates: 3_000_000_000,
            bytes: 64 << 20,
            candidates: 32,
        }
    }
}

/// How far the work is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The level being played, and how many there are.
    pub level: (u8, u8),
    /// Matches played in all.
    pub n_matches: usize,
    /// Positions so far.
    pub n_positions: usize,
    /// The part of the budget of gates that is spent, from 0 to 1.
    pub spent: f64,
}

/// What a level's play was like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// Matches played to their end.
    pub n_matches: usize,
    /// Matches given up.
    pub n_given_up: usize,
    /// Positions kept.
    pub n_positions: usize,
    /// Each role's mean result where all play at this level.
    pub results: Vec<f64>,
    /// Each role's mean result where it plays at this level and all others at the level below.
    pub ahead: Vec<f64>,
}

/// Why no more was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every level was played.
    Complete,
    /// The budget of gates was spent.
    Gates,
    /// The caller wanted no more.
    Cancelled,
}

/// Positions of matches, and how they were come by.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The positions, level by level.
    pub positions: Positions,
    /// The levels.
    pub levels: Vec<Level>,
    /// Why no more was collected.
    pub stopped: StopReason,
}

/// Plays matches of increasing strength. `progress` is told how far it is, and whether to go on is what it returns.
pub fn collect(game: &Game, settings: &Settings, progress: &mut dyn FnMut(Progress) -> bool) -> Collected {
    let network = game.circuit.network.clone();
    let mut engine = Engine::new(network.clone(), settings.gates);
    let mut all = Positions::new(&network);
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut players = vec![Player { guide: None, chance: 1.0 }];
    let mut levels: Vec<Level> = Vec::new();
    let mut n_matches = 0;
    let mut stopped = StopReason::Complete;
    let most = settings.bytes / (8 * all.n_words.max(1) * usize::from(settings.levels.max(1)));
    let target = settings.positions.min(most.max(512));
    for level in 0..settings.levels {
        let told = Progress {
            level: (level, settings.levels),
            n_matches,
            n_positions: all.len(),
            spent: 1.0 - engine.gates_left as f64 / settings.gates.max(1) as f64,
        };
        if !progress(told) {
            stopped = StopReason::Cancelled;
            break;
        }
        if engine.gates_left < settings.gates / 20 {
            stopped = StopReason::Gates;
            break;
        }
        if level > 0 {
            // Fewer moves are left to chance from level to level.
            let guide = Guide::fit(&mut engine, &all);
            players.push(Player { guide: Some(guide), chance: 0.4 / f64::from(1u32 << level) });
        }
        // Step 1. As many matches as the positions need, by their usual length.
        let length = game.samples.length.value().clamp(1.0, f64::from(settings.plies));
        let wanted = (2.0 * target as f64 / length) as u32;
        let n = wanted.clamp(settings.matches.0, settings.matches.1.max(settings.matches.0));
        let plans = (0..n).map(|number| Plan {
            number: n_matches as u32 + number,
            players: seats(level, number, engine.n_roles()),
            start: engine.initial(),
            ply: 0,
            level,
        });
        let plans: Vec<Plan> = plans.collect();
        let share = engine.gates_left / u64::from(settings.levels - level);
        let bounds = Bounds {
            plies: settings.plies,
            kept: (2 * target / n as usize).max(4),
            candidates: settings.candidates,
            begin_above: engine.gates_left - share / 10 * 8,
            go_on_above: engine.gates_left - share,
        };
        // Step 2. Play, and keep as many positions as are wanted.
        let mut own = all.select([]);
        let outcomes = play::play(&mut engine, &players, plans, &bounds, &mut random, &mut own);
        n_matches += n as usize;
        let own = thin(own, target, &mut random);
        levels.push(summary(level, &outcomes, own.len(), engine.n_roles()));
        (0..own.len()).for_each(|position| all.push_from(&own, position));
    }
    Collected { positions: all, levels, stopped }
}

/// Who plays which role: in every other match all are of the level; in the rest one role is, by turns, and the others are
/// of the level below.
fn seats(level: u8, number: u32, n_roles: usize) -> Vec<u8> {
    let mut players = vec![level; n_roles];
    if level > 0 && number % 2 == 1 {
        let ahead = number as usize / 2 % n_roles;
        (0..n_roles).filter(|&role| role != ahead).for_each(|role| players[role] = level - 1);
    }
    players
}

/// At most `n` of the positions, each as likely to stay as any other.
fn thin(positions: Positions, n: usize, random: &mut impl Rng) -> Positions {
    if positions.len() <= n {
        return positions;
    }
    let (mut open, mut left) = (n, positions.len());
    let stays: Vec<bool> = (0..positions.len())
        .map(|_| {
            let stays = random.random_range(0..left) < open;
            (open, left) = (open - usize::from(stays), left - 1);
            stays
        })
        .collect();
    positions.select((0..positions.len()).filter(|&position| stays[position]))
}

fn summary(level: u8, outcomes: &[Outcome], n_positions: usize, n_roles: usize) -> Level {
    let mean = |role: usize, counts: &dyn Fn(&Outcome) -> bool| {
        let results = outcomes.iter().filter(|outcome| outcome.results[role] != UNKNOWN && counts(outcome));
        let (n, sum) = results.fold((0, 0.0), |(n, sum), outcome| (n + 1, sum + f64::from(outcome.results[role])));
        sum / f64::from(n)
    };
    let equal = |outcome: &Outcome| outcome.players.iter().all(|&player| player == level);
    let ahead = |role: usize| {
        mean(role, &|outcome| {
            let mut others = (0..n_roles).filter(|&other| other != role);
            outcome.players[role] == level && others.all(|other| outcome.players[other] + 1 == level)
        })
    };
    Level {
        n_matches: outcomes.iter().filter(|outcome| outcome.ended).count(),
        n_given_up: outcomes.iter().filter(|outcome| !outcome.ended).count(),
        n_positions,
        results: (0..n_roles).map(|role| mean(role, &equal)).collect(),
        ahead: if n_roles > 1 && level > 0 { (0..n_roles).map(ahead).collect() } else { Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(name: &str) -> Game {
        let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        Game::new(gdl::read(name, &text).program, 1).expect("it has a network")
    }

    fn few() -> Settings {
        Settings { levels: 3, positions: 2_000, matches: (200, 200), ..Settings::default() }
    }

    #[test]
    fn better_play_wins_more() {
        for name in ["tic-tac-toe", "connect-four", "breakthrough-6x6"] {
            let collected = collect(&game(name), &few(), &mut |_| true);
            assert_eq!(collected.stopped, StopReason::Complete);
            let ahead = &collected.levels[1].ahead;
            assert!(ahead.iter().sum::<f64>() / ahead.len() as f64 > 65.0, "{name}: {ahead:?}");
        }
    }

    #[test]
    fn the_seed_decides() {
        let game = game("tic-tac-toe");
        let collected = collect(&game, &few(), &mut |_| true);
        assert_eq!(collect(&game, &few(), &mut |_| true).positions, collected.positions);
        let other = Settings { seed: 2, ..few() };
        assert_ne!(collect(&game, &other, &mut |_| true).positions, collected.positions);
    }

    /// The positions of a match are states that follow from one another, and its results are those of the last.
    #[test]
    fn positions_are_of_matches() {
        let game = game("tic-tac-toe");
        let positions = collect(&game, &few(), &mut |_| true).positions;
        let mut scalar = machine::scalar::Scalar::new(machine::scalar::Compiled::new(game.circuit.network.clone()));
        for position in 0..positions.len() {
            scalar.jump(positions.state(position));
            assert_eq!(scalar.terminal(), positions.terminal[position]);
            if scalar.terminal() {
                let goals = [0, 1].map(|role| scalar.goal(machine::RoleId(role)));
                let results = positions.results_of(position).iter().map(|&result| Some(i64::from(result)));
                assert!(results.eq(goals));
            }
            let stones: u32 = positions.state(position).iter().map(|word| word.count_ones()).sum();
            assert!(stones > 0);
        }
    }

    #[test]
    fn work_is_bounded_and_can_be_stopped() {
        let game = game("breakthrough");
        let collected = collect(&game, &Settings { gates: 200_000, ..few() }, &mut |_| true);
        let levels = &collected.levels;
        assert!(levels.iter().any(|level| level.n_given_up > 0), "{levels:?}");
        assert!(levels.iter().map(|level| level.n_matches).sum::<usize>() < 600, "{levels:?}");
        let mut asked = 0;
        let collected = collect(&game, &few(), &mut |_| {
            asked += 1;
            asked < 2
        });
        assert_eq!((collected.levels.len(), collected.stopped), (1, StopReason::Cancelled));
    }
}
