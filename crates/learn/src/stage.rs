//! Stages: which weights count where.
//!
//! What is good early in a match may mean nothing late in it, and what is good on one's own turn is less so on another's. So
//! an evaluation has a set of weights for each role that may be to move, and for each stage of the match. The stage is a
//! number that the state shows and that only grows, or only falls, while a match goes on: pieces or empty cells on a board,
//! fluents of one kind that hold, or a counter.

use features::game::Game;
use features::positions::Positions;
use machine::network::Wire;

/// Of which part of a match a state is, and on whose turn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stages {
    /// The number that grows or falls.
    pub key: Key,
    /// The greatest number of each stage but the last.
    pub cuts: Vec<u32>,
    /// For each role, the fluent that says that it is to move, by holding or by not holding; empty if there are none.
    pub control: Vec<(u32, bool)>,
}

/// A number that a state shows.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Key {
    /// Always 0.
    #[default]
    Constant,
    /// How many of these fluents hold, given as a mask of a state.
    Count(Vec<u64>),
    /// The place of the fluent that holds in this list.
    Place(Vec<u32>),
}

impl Key {
    /// The number in a state.
    pub fn of(&self, state: &[u64]) -> u32 {
        match self {
            Key::Constant => 0,
            Key::Count(mask) => state.iter().zip(mask).map(|(word, mask)| (word & mask).count_ones()).sum(),
            Key::Place(fluents) => {
                let holds = |&fluent: &u32| state[fluent as usize / 64] >> (fluent % 64) & 1 == 1;
                fluents.iter().rposition(holds).unwrap_or(0) as u32
            }
        }
    }
}

/// Of the steps of matches, the part that must not go the wrong way.
const ONE_WAY: f64 = 0.98;
/// The least correlation with how far a match is.
const WITH_TIME: f64 = 0.7;

impl Stages {
    /// At most `n` stages that hold about as many of the positions each, and the turns.
    pub fn find(game: &Game, positions: &Positions, n: usize) -> Stages {
        let control = control(game);
        let mut order: Vec<usize> = (0..positions.len()).collect();
        order.sort_by_key(|&position| (positions.matches[position], positions.plies[position]));
        let mut keys: Vec<(f64, Key)> = candidates(game)
            .into_iter()
            .filter_map(|(key, worth)| Some((with_time(&key, positions, &order)? * worth, key)))
            .collect();
        keys.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some((_, key)) = keys.into_iter().next().filter(|_| n > 1) else {
            return Stages { key: Key::Constant, cuts: Vec::new(), control };
        };
        let mut numbers: Vec<u32> = (0..positions.len()).map(|position| key.of(positions.state(position))).collect();
        numbers.sort_unstable();
        let mut cuts: Vec<u32> = (1..n).map(|cut| numbers[cut * numbers.len() / n]).collect();
        cuts.dedup();
        cuts.retain(|&cut| Some(&cut) != numbers.last());
        Stages { key, cuts, control }
    }

    /// How many stages there are.
    pub fn n_stages(&self) -> usize {
        self.cuts.len() + 1
    }

    /// How many sets of weights there are: for each role that may be to move, one for each stage.
    pub fn n_sets(&self) -> usize {
        self.n_stages() * self.control.len().max(1)
    }

    /// The set that counts in a state.
    pub fn set(&self, state: &[u64]) -> usize {
        let number = self.key.of(state);
        let stage = self.cuts.partition_point(|&cut| cut < number);
        let to_move = |&(fluent, holds): &(u32, bool)| (state[fluent as usize / 64] >> (fluent % 64) & 1 == 1) == holds;
        let role = self.control.iter().position(to_move).unwrap_or(0);
        role * self.n_stages() + stage
    }

    /// Whether it is about states of so many fluents, and about so many roles.
    pub(crate) fn fits(&self, n_fluents: usize, n_roles: usize) -> bool {
        let is_one = |&fluent: &u32| (fluent as usize) < n_fluents;
        let is_key = match &self.key {
            Key::Constant => true,
            Key::Count(mask) => mask.len() == n_fluents.div_ceil(64),
            Key::Place(fluents) => fluents.iter().all(is_one),
        };
        let is_control = self.control.is_empty() || self.control.len() == n_roles;
        is_key && is_control && self.control.iter().all(|(fluent, _)| is_one(fluent)) && self.cuts.is_sorted()
    }

    /// The same for states that have their fluents at other places.
    pub fn moved(&self, places: &[u32]) -> Stages {
        let place = |fluent: &u32| places[*fluent as usize];
        let key = match &self.key {
            Key::Constant => Key::Constant,
            Key::Place(fluents) => Key::Place(fluents.iter().map(place).collect()),
            Key::Count(mask) => {
                let held = (0..places.len()).filter(|fluent| mask[fluent / 64] >> (fluent % 64) & 1 == 1);
                Key::Count(mask_of(held.map(|fluent| places[fluent]), places.len()))
            }
        };
        let control = self.control.iter().map(|(fluent, holds)| (place(fluent), *holds)).collect();
        Stages { key, cuts: self.cuts.clone(), control }
    }
}

fn mask_of(fluents: impl IntoIterator<Item = u32>, n_fluents: usize) -> Vec<u64> {
    let mut mask = vec![0; n_fluents.div_ceil(64)];
    fluents.into_iter().for_each(|fluent| mask[fluent as usize / 64] |= 1 << (fluent % 64));
    mask
}

/// The fluent of a network that a fluent of the universe is, if it is one as it stands.
fn place(game: &Game, fluent: u32) -> Option<u32> {
    let wire: Wire = game.circuit.fluents[fluent as usize];
    (wire.gate() > 0 && !wire.is_inverted()).then(|| wire.gate() - 1)
}

/// For each role what says that it is to move, if that is known of all.
fn control(game: &Game) -> Vec<(u32, bool)> {
    let wire = |&fluent: &u32| Some(game.circuit.fluents[fluent as usize]).filter(|wire| wire.gate() > 0);
    let wires = game.structure.turns.control.iter().filter_map(|fluents| fluents.iter().find_map(wire));
    let found: Vec<(u32, bool)> = wires.map(|wire| (wire.gate() - 1, !wire.is_inverted())).collect();
    if found.len() == game.universe.roles.len() && found.len() > 1 { found } else { Vec::new() }
}

/// Numbers that may tell the stage, and how much each is worth.
fn candidates(game: &Game) -> Vec<(Key, f64)> {
    let n_fluents = game.circuit.network.fluents.len();
    let count = |fluents: &mut dyn Iterator<Item = u32>| {
        Key::Count(mask_of(fluents.filter_map(|fluent| place(game, fluent)), n_fluents))
    };
    let mut keys = Vec::new();
    for board in &game.structure.boards {
        for marker in &board.markers {
            keys.push((count(&mut marker.fluents.iter().map(|&(fluent, _)| fluent)), 1.0));
        }
    }
    for family in &game.structure.families {
        keys.push((count(&mut family.members.iter().copied()), 0.9));
    }
    for (counter, ..) in game.structure.counters.iter().filter(|(counter, ..)| !counter.cyclic) {
        let places: Option<Vec<u32>> = counter.values.iter().map(|&fluent| place(game, fluent)).collect();
        // Time itself says less than what has become of the pieces.
        keys.extend(places.map(|places| (Key::Place(places), 0.8)));
    }
    keys
}

/// How a number goes with time within matches, given the positions match by match; `None` unless it goes one way.
fn with_time(key: &Key, positions: &Positions, order: &[usize]) -> Option<f64> {
    let numbers: Vec<f64> = order.iter().map(|&position| f64::from(key.of(positions.state(position)))).collect();
    let plies: Vec<f64> = order.iter().map(|&position| f64::from(positions.plies[position])).collect();
    let (mut up, mut down) = (0, 0);
    for (pair, numbers) in order.windows(2).zip(numbers.windows(2)) {
        if positions.matches[pair[0]] == positions.matches[pair[1]] {
            up += usize::from(numbers[1] > numbers[0]);
            down += usize::from(numbers[1] < numbers[0]);
        }
    }
    let one_way = up.max(down) as f64 / (up + down).max(1) as f64;
    let correlation = correlation(&numbers, &plies).abs();
    (up + down > 0 && one_way >= ONE_WAY && correlation >= WITH_TIME).then_some(correlation)
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sums = a.iter().zip(b).fold((0.0, 0.0, 0.0), |(ab, aa, bb), (a, b)| {
        let (a, b) = (a - mean_a, b - mean_b);
        (ab + a * b, aa + a * a, bb + b * b)
    });
    if sums.1 * sums.2 > 0.0 { sums.0 / (sums.1 * sums.2).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use features::positions::{Settings, collect};

    fn stages(name: &str) -> (Game, Stages) {
        let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        let game = Game::new(gdl::read(name, &text).program, 1).expect("it has a network");
        let settings = Settings { levels: 1, positions: 2_000, matches: (100, 100), ..Settings::default() };
        let positions = collect(&game, &settings, &mut |_| true).positions;
        let stages = Stages::find(&game, &positions, 4);
        let sets: std::collections::BTreeSet<usize> =
            (0..positions.len()).map(|position| stages.set(positions.state(position))).collect();
        assert_eq!(sets.len(), stages.n_sets(), "{name}: every set is met");
        (game, stages)
    }

    /// Discs only come to the board of Othello; pieces of Checkers only leave it.
    #[test]
    fn stages_follow_the_pieces() {
        for (name, n_sets) in [("othello-6x6", 8), ("checkers-ggp", 8), ("connect-four", 8)] {
            let (_, stages) = stages(name);
            assert!(matches!(stages.key, Key::Count(_)), "{name}: {:?}", stages.key);
            assert_eq!(stages.n_sets(), n_sets, "{name}");
        }
    }

    #[test]
    fn a_counter_serves_where_nothing_else_does() {
        let (_, stages) = stages("eight-puzzle");
        assert!(matches!(stages.key, Key::Place(_)), "{:?}", stages.key);
        assert!(stages.control.is_empty());
    }

    #[test]
    fn moved_stages_see_the_same() {
        let (game, stages) = stages("othello-6x6");
        let n = game.circuit.network.fluents.len() as u32;
        let places: Vec<u32> = (0..n).rev().collect();
        let moved = stages.moved(&places);
        let initial = &game.circuit.network.initial;
        let held = || (0..n).filter(|&fluent| initial[fluent as usize]);
        let state = mask_of(held(), n as usize);
        let other = mask_of(held().map(|fluent| places[fluent as usize]), n as usize);
        assert_eq!(moved.key.of(&other), stages.key.of(&state));
        assert_eq!(moved.set(&other), stages.set(&state));
    }
}
