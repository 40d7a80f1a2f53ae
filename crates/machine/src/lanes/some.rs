//! Some lanes among others: states brought in and out of single lanes while the rest plays on.

use super::transpose::transpose;
use super::{LANES, Lanes, Vector};

impl Lanes {
    /// Puts some lanes into states, given one bit for each fluent; the others stay where they are.
    pub fn load_some(&mut self, states: &[(usize, &[u64])]) {
        self.visited = None;
        let n_fluents = self.compiled.network.fluents.len();
        let fluents = &mut self.values[1..1 + n_fluents];
        for block in 0..LANES / 64 {
            let mine = || states.iter().filter(|(lane, _)| lane / 64 == block);
            let mask = mine().fold(0u64, |mask, (lane, _)| mask | 1 << (lane % 64));
            if mask == 0 {
                continue;
            }
            for (word, vectors) in fluents.chunks_mut(64).enumerate() {
                let mut square = [0; 64];
                mine().for_each(|(lane, state)| square[lane % 64] = state[word]);
                transpose(&mut square);
                for (vector, &row) in vectors.iter_mut().zip(&square) {
                    vector.0[block] = vector.0[block] & !mask | row;
                }
            }
        }
    }

    /// Writes the states of some lanes, one after another in ascending order of the lanes, behind what is in `states`.
    pub fn store_some(&self, which: Vector, states: &mut Vec<u64>) {
        let n_fluents = self.compiled.network.fluents.len();
        let fluents = &self.values[1..1 + n_fluents];
        let n_words = n_fluents.div_ceil(64);
        for (block, &mask) in which.0.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            let first = states.len();
            states.resize(first + mask.count_ones() as usize * n_words, 0);
            let states = &mut states[first..];
            for (word, vectors) in fluents.chunks(64).enumerate() {
                let mut square = [0; 64];
                square.iter_mut().zip(vectors).for_each(|(row, vector)| *row = vector.0[block]);
                transpose(&mut square);
                let mut left = mask;
                for place in 0..mask.count_ones() as usize {
                    states[place * n_words + word] = square[left.trailing_zeros() as usize];
                    left &= left - 1;
                }
            }
        }
    }

    /// Makes given moves in some lanes instead of those that were set: `moves` has a lane and a move for each role.
    pub fn replace_moves(&mut self, which: Vector, moves: impl Iterator<Item = (usize, u32)>) {
        let first = self.compiled.first_move as usize;
        for value in &mut self.values[first..first + self.compiled.network.moves.len()] {
            *value = *value & !which;
        }
        for (lane, chosen) in moves {
            self.values[first + chosen as usize].set(lane, true);
        }
    }
}

impl Vector {
    /// The lanes that are set, in ascending order.
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = bits;
            std::iter::from_fn(move || {
                let lane = (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize);
                bits &= bits.wrapping_sub(1);
                lane
            })
        })
    }
}
