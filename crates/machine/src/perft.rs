//! Counting joint-move paths: the standard test of move generators.

use rustc_hash::FxHashMap;

use crate::{Exceeded, Machine, RoleId};

/// Paths of one length from the initial state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Perft {
    /// Sequences of joint moves of this length. A game that is over is not continued.
    pub paths: u64,
    /// Those among them that end in a terminal state.
    pub terminal: u64,
}

/// Counts the paths of each length from 0 to `depth`. States that different paths reach at the same length are
/// expanded once, so the cost is that of the distinct states.
pub fn perft<M: Machine>(machine: &mut M, depth: u32) -> Result<Vec<Perft>, Exceeded> {
    let n_roles = machine.roles().len();
    // In insertion order, so that the machine meets the states in an order that depends on the rules alone.
    let mut frontier: Vec<(M::State, u64)> = vec![(machine.initial()?, 1)];
    let mut counts = Vec::new();
    for length in 0..=depth {
        let mut count = Perft::default();
        let mut following: Vec<(M::State, u64)> = Vec::new();
        let mut place: FxHashMap<M::State, usize> = FxHashMap::default();
        for (state, paths) in &frontier {
            count.paths += paths;
            if machine.is_terminal(state)? {
                count.terminal += paths;
                continue;
            }
            if length == depth {
                continue;
            }
            let mut legal: Vec<Vec<M::Move>> = vec![Vec::new(); n_roles];
            for (role, moves) in legal.iter_mut().enumerate() {
                machine.legal(state, RoleId(role as u32), moves)?;
            }
            for_each_joint(&legal, |joint| {
                let next = machine.next(state, joint)?;
                let index = *place.entry(next).or_insert_with_key(|next| {
                    following.push((next.clone(), 0));
                    following.len() - 1
                });
                following[index].1 += paths;
                Ok(())
            })?;
        }
        counts.push(count);
        frontier = following;
    }
    Ok(counts)
}

/// Calls `visit` with every way to choose one element of each list; never, if a list is empty.
fn for_each_joint<T: Copy>(lists: &[Vec<T>], mut visit: impl FnMut(&[T]) -> Result<(), Exceeded>) -> Result<(), Exceeded> {
    if lists.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut indices = vec![0; lists.len()];
    loop {
        let joint: Vec<T> = lists.iter().zip(&indices).map(|(list, &index)| list[index]).collect();
        visit(&joint)?;
        let Some(wheel) = (0..lists.len()).rev().find(|&wheel| indices[wheel] + 1 < lists[wheel].len()) else {
            return Ok(());
        };
        indices[wheel] += 1;
        indices[wheel + 1..].fill(0);
    }
}
