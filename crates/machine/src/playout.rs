//! Playing one match by uniformly random moves.

use rand::{Rng, RngExt};

use crate::{Exceeded, Machine, RoleId};

/// Why a playout ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The game was over.
    Terminal,
    /// The bound on joint moves was reached.
    Cap,
    /// A role had no legal move.
    Stuck(RoleId),
}

/// A step of a playout, as its observer sees it.
pub struct Step<'a, M: Machine> {
    /// The joint moves made so far.
    pub ply: u32,
    /// The state.
    pub state: &'a M::State,
    /// The legal moves of each role.
    pub legal: &'a [Vec<M::Move>],
    /// Whether the game is over here.
    pub terminal: bool,
    /// What the roles do next; `None` in the last state.
    pub joint: Option<&'a [M::Move]>,
}

/// How a playout went.
#[derive(Clone, Debug)]
pub struct Playout<S> {
    /// Why it ended.
    pub stop: StopReason,
    /// The joint moves made.
    pub n_plies: u32,
    /// The last state.
    pub last: S,
}

/// Plays from the initial state, each role choosing uniformly among its legal moves, for at most `cap` joint moves.
/// `observe` sees every state, the last included.
pub fn playout<M: Machine>(
    machine: &mut M,
    rng: &mut impl Rng,
    cap: u32,
    mut observe: impl FnMut(&mut M, Step<'_, M>) -> Result<(), Exceeded>,
) -> Result<Playout<M::State>, Exceeded> {
    let n_roles = machine.roles().len();
    let mut legal: Vec<Vec<M::Move>> = vec![Vec::new(); n_roles];
    let mut state = machine.initial()?;
    let mut joint = Vec::with_capacity(n_roles);
    for ply in 0.. {
        let terminal = machine.is_terminal(&state)?;
        for (role, moves) in legal.iter_mut().enumerate() {
            moves.clear();
            machine.legal(&state, RoleId(role as u32), moves)?;
        }
        let stuck = legal.iter().position(Vec::is_empty).map(|role| RoleId(role as u32));
        let stop = match stuck {
            _ if terminal => Some(StopReason::Terminal),
            Some(role) => Some(StopReason::Stuck(role)),
            None if ply >= cap => Some(StopReason::Cap),
            None => None,
        };
        joint.clear();
        if stop.is_none() {
            joint.extend(legal.iter().map(|moves| moves[rng.random_range(0..moves.len())]));
        }
        let chosen = stop.is_none().then_some(&joint[..]);
        observe(machine, Step { ply, state: &state, legal: &legal, terminal, joint: chosen })?;
        if let Some(stop) = stop {
            return Ok(Playout { stop, n_plies: ply, last: state });
        }
        state = machine.next(&state, &joint)?;
    }
    unreachable!("the loop ends at the cap")
}
