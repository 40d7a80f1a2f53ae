//! Matches of increasing strength.
//!
//! Level 0 plays by chance. Each further level fits a linear evaluation to the positions of all levels below it
//! (`guide`), and makes the move after which that evaluation is best; from level 2 on, after the best reply. Fewer and
//! fewer moves are left to chance. Half of a level's matches are between players of that level, the others against the
//! level below, so that a better player meets a worse one.
//!
//! Where chance alone hardly ever changes a role's result, and in games for one role, a search (`search`) finds matches
//! that end otherwise. Half of a level's matches then begin on such a match, the more often the nearer to its end. For one
//! role, what was found is played at the level, too.

use std::collections::BTreeMap;

use gdl::Stop;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::engine::Engine;
use super::guide::Guide;
use super::play::{self, Bounds, Outcome, Plan, Player};
use super::search::{self, Aim, Line};
use super::{Positions, UNKNOWN};
use crate::game::Game;
use machine::lanes::LANES;

/// Changes with how matches are played, so that those played otherwise are not taken for the same.
pub const PLAY_VERSION: u32 = 2;

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
    /// Of these, how many are compared by what follows them, from level 2 on.
    pub finalists: usize,
    /// Ends it early; matches under way are given up.
    pub stop: Stop,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            levels: 4,
            positions: 12_000,
            matches: (512, 4096),
            plies: 400,
            gates: 4_000_000_000,
            bytes: 64 << 20,
            candidates: 32,
            finalists: 6,
            stop: Stop::never(),
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
    /// The budget of gates, or a level's part of it, was spent.
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
    let stop = settings.stop.or(&game.stop);
    let mut engine = Engine::new(game, settings.gates, stop.clone());
    let mut all = Positions::new(&network);
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut players = vec![Player { guide: None, chance: 1.0, replies: false }];
    let mut levels: Vec<Level> = Vec::new();
    let mut n_matches = 0;
    let mut stopped = StopReason::Complete;
    let counts = counting_fluents(game);
    let mut flat = Vec::new();
    let length = game.samples.length.value().clamp(1.0, f64::from(settings.plies));
    let choices = game.samples.branching.value().clamp(1.0, settings.candidates as f64);
    let most = settings.bytes / (8 * all.n_words.max(1) * usize::from(settings.levels.max(1)));
    let target = settings.positions.min(most.max(512));
    for level in 0..settings.levels {
        let told = Progress {
            level: (level, settings.levels),
            n_matches,
            n_positions: all.len(),
            spent: 1.0 - engine.gates_left as f64 / settings.gates.max(1) as f64,
        };
        if !progress(told) || stop.is_raised() {
            stopped = StopReason::Cancelled;
            break;
        }
        if engine.gates_left < settings.gates / 20 {
            stopped = StopReason::Gates;
            break;
        }
        let share = engine.gates_left / u64::from(settings.levels - level);
        let go_on_above = engine.gates_left - share;
        let mut own = all.select([]);
        let mut lines = Vec::new();
        if level > 0 {
            // Step 1. Look for results that chance does not come upon.
            let roles: Vec<usize> = (0..engine.n_roles()).filter(|&role| engine.n_roles() == 1 || flat[role]).collect();
            for &role in &roles {
                let part = if engine.n_roles() == 1 { 2 } else { 4 };
                let gates = share / (part * roles.len() as u64);
                let plies = (2.0 * length) as u16 + 10;
                // As wide as the work for matches of the usual length allows.
                let layer = length * choices.min(16.0) * engine.price() as f64 / LANES as f64;
                let width = gates as f64 / layer;
                // One search that is wide enough finds more than several that are not.
                let n_searches = if width < 3.0 * LANES as f64 { 1 } else { 3 };
                let widest = if n_searches == 1 { 8192 } else { 128 << (2 * level).min(6) };
                let width = (width / n_searches as f64) as usize;
                // What is found for a role that is alone counts as played; later searches begin at many places, so that it
                // differs.
                let (islands, opening) = match engine.n_roles() {
                    1 if level > 1 => (32, (length / 5.0).clamp(1.0, 4.0) as u16),
                    _ => (1, 0),
                };
                let aim = Aim { width: width.clamp(64, widest), islands, opening, plies, ..Aim::new(role) };
                lines.extend(lines_for(&mut engine, aim, n_searches, gates, &counts, &mut random));
            }
            if engine.n_roles() == 1 {
                for line in &lines {
                    add_line(&mut own, line, n_matches as u32, level);
                    n_matches += 1;
                }
            }
            // Step 2. Learn from all that was played so far.
            let mut known = all.clone();
            (0..own.len()).for_each(|position| known.push_from(&own, position));
            let guide = Guide::fit(&mut engine, &known);
            players.push(Player { guide: Some(guide), chance: 0.5 / f64::from(1u32 << level), replies: level > 1 });
        }
        // Step 3. As many matches as the positions need and the work allows, by their usual length.
        let wanted = (2.0 * target as f64 / length) as u32;
        let n = wanted.clamp(settings.matches.0, settings.matches.1.max(settings.matches.0));
        let looks = match level {
            0 => 0.0,
            1 => choices,
            _ => choices * (1 + settings.finalists) as f64,
        };
        let each = length * (1.0 + looks) * engine.price() as f64 / LANES as f64;
        let affordable = engine.gates_left.saturating_sub(go_on_above) as f64 * 0.7 / each;
        let n = n.min(affordable as u32).max(32);
        let mut plans = Vec::new();
        for number in 0..n {
            let (mut start, mut ply, mut opening) = (engine.initial(), 0, 0);
            if level > 0 {
                opening = random.random_range(0..=(length / 6.0).min(6.0) as u16);
            }
            if !lines.is_empty() && number % 4 >= 2 {
                let line: &Line = &lines[random.random_range(0..lines.len())];
                let before = (line.states.len() - 1) as f64 * random.random::<f64>().powi(2);
                let at = (line.states.len() - 1).saturating_sub(1 + before as usize);
                (start, ply, opening) = (line.states[at].clone(), at as u16, 0);
            }
            let players = seats(level, number, engine.n_roles());
            plans.push(Plan { number: n_matches as u32 + number, players, start, ply, opening, level });
        }
        let bounds = Bounds {
            plies: settings.plies,
            kept: (2 * target / n as usize).max(4),
            candidates: settings.candidates,
            finalists: settings.finalists,
            begin_above: go_on_above + engine.gates_left.saturating_sub(go_on_above) / 5,
            go_on_above,
        };
        // Step 4. Play, and keep as many positions as are wanted.
        let outcomes = play::play(&mut engine, &players, plans, &bounds, &mut random, &mut own);
        n_matches += n as usize;
        if engine.gates_left <= go_on_above {
            stopped = if stop.is_raised() { StopReason::Cancelled } else { StopReason::Gates };
        }
        let own = thin(own, target, &mut random);
        if level == 0 {
            flat = (0..engine.n_roles()).map(|role| is_flat(&outcomes, role)).collect();
        }
        levels.push(summary(level, &outcomes, own.len(), engine.n_roles()));
        (0..own.len()).for_each(|position| all.push_from(&own, position));
    }
    Collected { positions: all, levels, stopped }
}

/// The matches that searches find, those that are best for the role and others.
fn lines_for(
    engine: &mut Engine,
    aim: Aim,
    n_searches: usize,
    gates: u64,
    counts: &[u64],
    random: &mut impl Rng,
) -> Vec<Line> {
    /// How much meeting goals, new fluents, and chance lead a search.
    const WEIGHTS: [[f32; 3]; 3] = [[1.0, 0.2, 0.05], [0.2, 1.0, 0.1], [1.0, 0.0, 0.3]];
    let mut lines = Vec::new();
    for weights in WEIGHTS.into_iter().take(n_searches) {
        let go_on_above = engine.gates_left.saturating_sub(gates / n_searches as u64);
        let aim = Aim { weights, go_on_above, ..aim };
        lines.extend(search::search(engine, &aim, counts, random));
    }
    lines
}

/// Adds every state of a match.
fn add_line(positions: &mut Positions, line: &Line, number: u32, level: u8) {
    for (ply, state) in line.states.iter().enumerate() {
        positions.states.extend_from_slice(state);
        positions.results.extend_from_slice(&line.results);
        positions.matches.push(number);
        positions.plies.push(ply as u16);
        positions.levels.push(level);
        positions.terminal.push(ply + 1 == line.states.len());
    }
}

/// A mask of the fluents that only count moves.
fn counting_fluents(game: &Game) -> Vec<u64> {
    let mut mask = vec![0; game.circuit.network.fluents.len().div_ceil(64)];
    for value in game.structure.counters.iter().flat_map(|(counter, ..)| &counter.values) {
        let wire = game.circuit.fluents[*value as usize];
        if wire.gate() > 0 {
            let fluent = wire.gate() as usize - 1;
            mask[fluent / 64] |= 1 << (fluent % 64);
        }
    }
    mask
}

/// Whether a role's result is nearly always the same.
fn is_flat(outcomes: &[Outcome], role: usize) -> bool {
    let mut counts = [0; 256];
    outcomes.iter().filter(|outcome| outcome.ended).for_each(|outcome| counts[outcome.results[role] as usize] += 1);
    let (n, most): (usize, usize) = (counts.iter().sum(), counts.iter().copied().max().unwrap_or(0));
    most * 50 >= n * 49
}

/// Who plays which role: in every other match all are of the level; in the rest one role is, by turns, and the others are
/// of the level below.
fn seats(level: u8, number: u32, n_roles: usize) -> Vec<u8> {
    let mut players = vec![level; n_roles];
    if level > 0 && number % 2 == 1 {
        let ahead = number as usize / 4 % n_roles;
        (0..n_roles).filter(|&role| role != ahead).for_each(|role| players[role] = level - 1);
    }
    players
}

/// About `n` of the positions. Half of the places are shared out evenly between the outcomes, so that the rare ones stay; all
/// positions that are left are as likely as any other to get one of the rest.
fn thin(positions: Positions, n: usize, random: &mut impl Rng) -> Positions {
    if positions.len() <= n {
        return positions;
    }
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.shuffle(random);
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    order.iter().for_each(|&position| *counts.entry(positions.results_of(position)).or_default() += 1);
    let share = (n / 2).div_ceil(counts.len());
    counts.values_mut().for_each(|count| *count = (*count).min(share));
    // Those that have a place of their outcome come first.
    order.sort_by_cached_key(|&position| {
        let left = counts.get_mut(positions.results_of(position)).expect("each outcome is counted");
        let placed = *left > 0;
        *left -= usize::from(placed);
        !placed
    });
    order.truncate(n);
    order.sort_unstable();
    positions.select(order)
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

    /// Chance alone never solves this puzzle.
    #[test]
    fn rare_results_are_searched_for() {
        let settings = Settings { gates: 1_000_000_000, ..few() };
        let collected = collect(&game("incredible"), &settings, &mut |_| true);
        let results = collected.positions.distinct_results(0);
        assert!(results.iter().filter(|(_, n)| *n > 100).count() >= 3, "{results:?}");
    }

    #[test]
    fn thinning_keeps_rare_outcomes() {
        let mut positions = Positions { n_words: 1, n_roles: 1, ..Positions::default() };
        for number in 0..1_000 {
            let line = Line { states: vec![vec![u64::from(number)]], results: vec![if number < 20 { 100 } else { 0 }] };
            add_line(&mut positions, &line, number, 0);
        }
        let thinned = thin(positions, 100, &mut Pcg64Mcg::seed_from_u64(1));
        assert_eq!(thinned.len(), 100);
        let results = thinned.distinct_results(0);
        assert!((20..=25).contains(&results[1].1), "{results:?}");
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
        assert_eq!(collected.stopped, StopReason::Gates);
        let n_matches: usize = collected.levels.iter().map(|level| level.n_matches).sum();
        assert!(n_matches < 500, "{:?}", collected.levels);
        let mut asked = 0;
        let collected = collect(&game, &few(), &mut |_| {
            asked += 1;
            asked < 2
        });
        assert_eq!((collected.levels.len(), collected.stopped), (1, StopReason::Cancelled));
        // A stop is looked at in the midst of a level.
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let stop = Stop::when(move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 40);
        let collected = collect(&game, &Settings { stop, ..few() }, &mut |_| true);
        assert_eq!((collected.levels.len(), collected.stopped), (1, StopReason::Cancelled));
        assert!(collected.levels[0].n_given_up > 0, "{:?}", collected.levels);
    }
}
