//! Positions of played matches, with what became of them.
//!
//! Features are selected by evidence, and the evidence is here: states of matches of increasing strength, each with the
//! result of its match. [`collect`] plays such matches; [`Positions::to_bytes`] makes of them what can be stored.

mod bytes;
mod collect;
mod engine;
mod grade;
mod guide;
mod play;
mod search;

use machine::network::Network;
use rustc_hash::FxHashMap;

pub use bytes::{Damaged, VERSION};
pub use collect::{Collected, Level, PLAY_VERSION, Progress, Settings, StopReason, collect};

/// The result where the rules give none.
pub const UNKNOWN: u8 = 255;

/// Positions of played matches. Those of one match need not stand together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// What the names of the game's fluents hash to; see [`fingerprint`].
    pub fingerprint: u64,
    /// How many words a state has.
    pub n_words: usize,
    /// How many roles there are.
    pub n_roles: usize,
    /// The states, one after another: one bit for each fluent of the network.
    pub states: Vec<u64>,
    /// For each position and role, the result of the match, from 0 to 100, or [`UNKNOWN`].
    pub results: Vec<u8>,
    /// The match that each position is from.
    pub matches: Vec<u32>,
    /// How many joint moves were made before it.
    pub plies: Vec<u16>,
    /// How well it was played: 0 by chance, more is better.
    pub levels: Vec<u8>,
    /// Whether the match was over.
    pub terminal: Vec<bool>,
}

impl Positions {
    /// No positions yet, of this game.
    pub fn new(network: &Network) -> Positions {
        Positions {
            fingerprint: fingerprint(network),
            n_words: network.fluents.len().div_ceil(64),
            n_roles: network.roles.len(),
            ..Positions::default()
        }
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// A state, one bit for each fluent of the network.
    pub fn state(&self, position: usize) -> &[u64] {
        &self.states[position * self.n_words..(position + 1) * self.n_words]
    }

    /// Every state.
    pub fn views(&self) -> Vec<&[u64]> {
        (0..self.len()).map(|position| self.state(position)).collect()
    }

    /// A role's result, where it is known.
    pub fn result(&self, position: usize, role: usize) -> Option<u8> {
        Some(self.results[position * self.n_roles + role]).filter(|&result| result != UNKNOWN)
    }

    /// The results of all roles.
    pub fn results_of(&self, position: usize) -> &[u8] {
        &self.results[position * self.n_roles..(position + 1) * self.n_roles]
    }

    /// The different results of a role, ascending, each with the number of positions that have it.
    pub fn distinct_results(&self, role: usize) -> Vec<(u8, usize)> {
        let mut counts = [0; 256];
        (0..self.len())
            .filter_map(|position| self.result(position, role))
            .for_each(|result| counts[result as usize] += 1);
        (0..=100)
            .filter(|&result| counts[result as usize] > 0)
            .map(|result| (result, counts[result as usize]))
            .collect()
    }

    /// Adds a position of a match that another set of positions has.
    pub fn push_from(&mut self, other: &Positions, position: usize) {
        self.states.extend_from_slice(other.state(position));
        self.results.extend_from_slice(other.results_of(position));
        self.matches.push(other.matches[position]);
        self.plies.push(other.plies[position]);
        self.levels.push(other.levels[position]);
        self.terminal.push(other.terminal[position]);
    }

    /// Some of the positions, in this order.
    pub fn select(&self, which: impl IntoIterator<Item = usize>) -> Positions {
        let mut some = Positions {
            fingerprint: self.fingerprint,
            n_words: self.n_words,
            n_roles: self.n_roles,
            ..Positions::default()
        };
        which.into_iter().for_each(|position| some.push_from(self, position));
        some
    }

    /// The positions in which the match goes on.
    pub fn without_terminal(&self) -> Positions {
        self.select((0..self.len()).filter(|&position| !self.terminal[position]))
    }

    /// Each state once, where it was met first. Its results are the means over all positions that have it.
    pub fn unique(&self) -> Positions {
        let mut place: FxHashMap<&[u64], usize> = FxHashMap::default();
        let mut first = Vec::new();
        let mut sums: Vec<(u32, u32)> = Vec::new();
        for position in 0..self.len() {
            let at = *place.entry(self.state(position)).or_insert(first.len());
            if at == first.len() {
                first.push(position);
                sums.resize(sums.len() + self.n_roles, (0, 0));
            }
            for role in 0..self.n_roles {
                if let Some(result) = self.result(position, role) {
                    let (sum, n) = &mut sums[at * self.n_roles + role];
                    (*sum, *n) = (*sum + u32::from(result), *n + 1);
                }
            }
        }
        let mut unique = self.select(first);
        let mean = |&(sum, n): &(u32, u32)| (sum + n / 2).checked_div(n).map_or(UNKNOWN, |mean| mean as u8);
        unique.results = sums.iter().map(mean).collect();
        unique
    }
}

/// A hash of the game's fluents under the names by which they are compared, and of the number of roles; by it stored
/// positions are known to be of this game's network. How names are shown does not matter.
pub fn fingerprint(network: &Network) -> u64 {
    fn write(network: &Network, term: gdl::TermId, text: &mut String) {
        text.push_str(network.symbols.lower(network.terms.name(term)));
        for &arg in network.terms.args(term) {
            text.push('(');
            write(network, arg, text);
        }
        text.push(')');
    }
    let mut text = format!("{} roles", network.roles.len());
    network.fluents.iter().for_each(|&fluent| write(network, fluent, &mut text));
    bytes::hash(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any small set of positions.
    pub(super) fn any_positions() -> impl Strategy<Value = Positions> {
        (1usize..4, 1usize..4).prop_flat_map(|(n_words, n_roles)| {
            let result = prop_oneof![0u8..=100, Just(UNKNOWN)];
            let state = proptest::collection::vec(0u64..3, n_words);
            let results = proptest::collection::vec(result, n_roles);
            let position = (state, results, 0u32..6, any::<u16>(), 0u8..4, any::<bool>());
            (proptest::collection::vec(position, 0..40), any::<u64>()).prop_map(move |(rows, fingerprint)| {
                let mut positions = Positions { fingerprint, n_words, n_roles, ..Positions::default() };
                for (state, results, number, ply, level, terminal) in rows {
                    positions.states.extend(state);
                    positions.results.extend(results);
                    positions.matches.push(number);
                    positions.plies.push(ply);
                    positions.levels.push(level);
                    positions.terminal.push(terminal);
                }
                positions
            })
        })
    }

    proptest! {
        #[test]
        fn unique_positions_have_mean_results(positions in any_positions()) {
            let unique = positions.unique();
            for position in 0..positions.len() {
                let same: Vec<usize> =
                    (0..unique.len()).filter(|&other| unique.state(other) == positions.state(position)).collect();
                prop_assert_eq!(same.len(), 1);
                let all = (0..positions.len()).filter(|&other| positions.state(other) == positions.state(position));
                let known: Vec<f64> = all.filter_map(|other| positions.result(other, 0)).map(f64::from).collect();
                match unique.result(same[0], 0) {
                    None => prop_assert!(known.is_empty()),
                    Some(mean) => {
                        let expected = known.iter().sum::<f64>() / known.len() as f64;
                        prop_assert!((f64::from(mean) - expected).abs() <= 0.5);
                    }
                }
            }
        }
    }
}
