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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Compiled, Random};
    use crate::{Machine, RoleId};

    fn lanes() -> Lanes {
        let text = std::fs::read(format!("{}/../../games/breakthrough/rules.kif", env!("CARGO_MANIFEST_DIR")));
        let program = gdl::read("breakthrough", &text.expect("the library has the game")).program;
        let ground = gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("it can be grounded");
        let network = crate::network::build(ground, &gdl::Stop::never()).expect("it has a network");
        Lanes::new(Compiled::new(std::sync::Arc::new(network)))
    }

    /// Plays some random moves in every lane.
    fn play(lanes: &mut Lanes, seed: u64) {
        let mut random = Random::new(seed);
        for _ in 0..6 {
            lanes.evaluate();
            (0..2).for_each(|role| {
                lanes.choose(&mut random, RoleId(role));
            });
            lanes.advance();
        }
    }

    /// States brought into some lanes are there, and the other lanes stay as they were.
    #[test]
    fn some_lanes_change_and_others_stay() {
        let (mut from, mut to) = (lanes(), lanes());
        play(&mut from, 1);
        play(&mut to, 2);
        let mut which = Vector::ZERO;
        [0, 1, 5, 63, 64, 200, 511].into_iter().for_each(|lane| which.set(lane, true));
        let before: Vec<Box<[u64]>> = (0..LANES).map(|lane| to.store(lane)).collect();
        let states: Vec<(usize, Box<[u64]>)> = which.lanes().map(|lane| (lane, from.store(lane))).collect();
        let views: Vec<(usize, &[u64])> = states.iter().map(|(lane, state)| (*lane, &state[..])).collect();
        to.load_some(&views);
        for (lane, before) in before.into_iter().enumerate() {
            let expected = if which.get(lane) { from.store(lane) } else { before };
            assert_eq!(to.store(lane), expected);
        }
        let mut stored = vec![7];
        to.store_some(which, &mut stored);
        let expected: Vec<u64> = states.iter().flat_map(|(_, state)| state.iter().copied()).collect();
        assert_eq!(stored[1..], expected);
    }

    /// A move given to a lane is made there instead of the one drawn, and nowhere else.
    #[test]
    fn given_moves_are_made() {
        let mut lanes = lanes();
        play(&mut lanes, 3);
        let states: Vec<Box<[u64]>> = (0..LANES).map(|lane| lanes.store(lane)).collect();
        let mut random = Random::new(4);
        lanes.evaluate();
        (0..2).for_each(|role| {
            lanes.choose(&mut random, RoleId(role));
        });
        let mut other = self::lanes();
        let mut given = Vec::new();
        for lane in [3, 100, 300] {
            for role in 0..2 {
                let mut legal = Vec::new();
                other.legal(&states[lane], RoleId(role), &mut legal).expect("there is no budget");
                given.push((lane, legal[legal.len() / 2]));
            }
        }
        let drawn: Vec<Vector> = (0..lanes.network().moves.len() as u32).map(|chosen| lanes.is_made(chosen)).collect();
        let mut which = Vector::ZERO;
        given.iter().for_each(|&(lane, _)| which.set(lane, true));
        lanes.replace_moves(which, given.iter().copied());
        for (chosen, drawn) in drawn.iter().enumerate() {
            assert_eq!(lanes.is_made(chosen as u32) & !which, *drawn & !which);
        }
        lanes.advance();
        for pair in given.chunks(2) {
            let joint = [pair[0].1, pair[1].1];
            assert_eq!(lanes.store(pair[0].0), other.next(&states[pair[0].0], &joint).expect("there is no budget"));
        }
    }
}
