//! Positions with what is expected of them, to learn from.

use features::positions::Positions;

/// Positions with what is expected of them.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// How many words a state has, and how many roles there are.
    pub n_words: usize,
    /// How many roles there are.
    pub n_roles: usize,
    /// The states of the game's own network, one after another.
    pub states: Vec<u64>,
    /// For each state and role what is to be predicted, from 0 to 1.
    pub targets: Vec<f32>,
    /// The match that each state is from.
    pub matches: Vec<u32>,
}

impl Examples {
    /// No examples yet.
    pub fn new(n_words: usize, n_roles: usize) -> Examples {
        Examples { n_words, n_roles, ..Examples::default() }
    }

    /// The positions in which the match goes on and all results are known.
    pub fn of(positions: &Positions) -> Examples {
        let mut examples = Examples::new(positions.n_words, positions.n_roles);
        for position in (0..positions.len()).filter(|&position| !positions.terminal[position]) {
            let results: Option<Vec<f32>> = (0..positions.n_roles)
                .map(|role| positions.result(position, role).map(|result| f32::from(result) / 100.0))
                .collect();
            if let Some(results) = results {
                examples.push(positions.state(position), &results, positions.matches[position]);
            }
        }
        examples
    }

    /// Adds a state.
    pub fn push(&mut self, state: &[u64], targets: &[f32], number: u32) {
        self.states.extend_from_slice(state);
        self.targets.extend_from_slice(targets);
        self.matches.push(number);
    }

    /// How many examples there are.
    pub fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// The states.
    pub fn views(&self) -> impl Iterator<Item = &[u64]> {
        self.states.chunks(self.n_words.max(1))
    }
}
