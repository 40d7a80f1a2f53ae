//! Playing by chance.

use std::sync::Arc;

use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::player::{Answer, Limit, Player};

/// Chooses uniformly among the legal moves.
pub struct Random {
    machine: Scalar,
    random: Pcg64Mcg,
}

impl Random {
    /// A player with a seed of its own.
    pub fn new(compiled: Arc<Compiled>, seed: u64) -> Random {
        Random { machine: Scalar::new(compiled), random: Pcg64Mcg::seed_from_u64(seed) }
    }
}

impl Player for Random {
    fn choose(&mut self, state: &[u64], _: RoleId, _: &Limit) -> Answer {
        self.machine.jump(state);
        let legal = legal_moves(&self.machine);
        let joint = legal.iter().map(|moves| moves[self.random.random_range(0..moves.len())]).collect();
        Answer { joint, ..Answer::default() }
    }
}

/// The legal moves of each role, in ascending order.
pub fn legal_moves(machine: &Scalar) -> Vec<Vec<u32>> {
    let list = |role| {
        let mut moves = Vec::new();
        machine.legal_moves(RoleId(role), &mut moves);
        moves.sort_unstable();
        moves
    };
    (0..machine.network().roles.len() as u32).map(list).collect()
}
