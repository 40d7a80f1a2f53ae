//! The thesis's way to symmetries of a board: reflections and rotations are tried on every state of a small game
//! (G. Kuhlmann, "Automated domain analysis and transfer learning in general game playing", 2010, section 6.2).
//!
//! A map of the board is a symmetry if the image of a terminal state is terminal with the same outcome, and if the image of
//! a move leads from the image of a state to the image of the next state. This is right for all that can be reached, and
//! feasible only for small games; here it is a witness for what the rules prove.

use std::sync::Arc;

use gdl::ground::GroundProgram;
use machine::network::Network;
use machine::scalar::{self, Scalar};
use machine::{Machine, RoleId};
use rustc_hash::FxHashSet;

use super::grid::Grid;
use super::name::{Turn, turn};
use super::{Action, Evidence, Shape, Translation};

/// What was found about a map of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The map.
    pub turn: Turn,
    /// Whether it held in every state.
    pub holds: bool,
}

/// All reflections and rotations of a board, tried on every state.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// The maps, without the identity.
    pub trials: Vec<Trial>,
    /// How many states were looked at.
    pub n_states: usize,
    /// Whether these were all: if not, maps that held may still fail.
    pub complete: bool,
}

/// Tries all reflections and rotations of a board on the states of a game, up to `limit` states. How moves are mapped is
/// not said by the thesis; each argument whose values are coordinates is mapped.
pub fn enumerate(ground: &GroundProgram, network: &Arc<Network>, grid: &Grid, limit: usize) -> Enumeration {
    // Step 1. The maps, each with what it may do to moves.
    let translation = Translation::new(ground, network);
    let shape = Shape::new(ground);
    let mut candidates: Vec<(Turn, Vec<Action>)> = Vec::new();
    for map in grid.turns().iter().skip(1) {
        let symmetries = grid.permutations(ground, map, 16);
        let symmetries = symmetries.iter().map(|points| shape.symmetry(points, Evidence::Seen { states: 0 }));
        candidates.push((turn(grid, map), symmetries.filter_map(|symmetry| translation.action(&symmetry)).collect()));
    }
    // Step 2. Every state.
    let mut machine = Scalar::new(scalar::Compiled::new(network.clone()));
    let mut other = Scalar::new(scalar::Compiled::new(network.clone()));
    let initial = machine.initial().expect("networks have no budget");
    let mut seen: FxHashSet<Box<[u64]>> = [initial.clone()].into_iter().collect();
    let mut queue = vec![initial];
    let mut n_states = 0;
    let mut complete = true;
    while let Some(state) = queue.pop() {
        if n_states == limit {
            complete = false;
            break;
        }
        n_states += 1;
        let view = View::new(&mut machine, &state);
        for (_, actions) in &mut candidates {
            actions.retain(|action| view.commutes(action, &mut other));
        }
        for (_, next) in view.next {
            if seen.insert(next.clone()) {
                queue.push(next);
            }
        }
    }
    let trials = candidates.into_iter().map(|(turn, actions)| Trial { turn, holds: !actions.is_empty() }).collect();
    Enumeration { trials, n_states, complete }
}

/// All that matters about a state.
struct View {
    state: Box<[u64]>,
    /// The goals of each role, if the state is terminal.
    goals: Option<Vec<Vec<i64>>>,
    /// Every joint move with the state that it leads to, unless the state is terminal.
    next: Vec<(Vec<u32>, Box<[u64]>)>,
}

impl View {
    #[allow(clippy::borrowed_box)] // The state type of the machine.
    fn new(machine: &mut Scalar, state: &Box<[u64]>) -> View {
        let n_roles = machine.network().moves_of.len() as u32;
        let roles = || (0..n_roles).map(RoleId);
        if machine.is_terminal(state).expect("networks have no budget") {
            let goals = roles().map(|role| machine.goals(state, role).expect("networks have no budget")).collect();
            return View { state: state.clone(), goals: Some(goals), next: Vec::new() };
        }
        let mut joints: Vec<Vec<u32>> = vec![Vec::new()];
        for role in roles() {
            let mut moves = Vec::new();
            machine.legal(state, role, &mut moves).expect("networks have no budget");
            let with = |joint: &Vec<u32>| -> Vec<Vec<u32>> {
                moves.iter().map(|&chosen| joint.iter().copied().chain([chosen]).collect()).collect()
            };
            joints = joints.iter().flat_map(with).collect();
        }
        let mut step = |joint: Vec<u32>| {
            let next = machine.next(state, &joint).expect("networks have no budget");
            (joint, next)
        };
        let next = joints.into_iter().map(&mut step).collect();
        View { state: state.clone(), goals: None, next }
    }

    /// Whether all of it is true of the image of the state.
    fn commutes(&self, action: &Action, machine: &mut Scalar) -> bool {
        let image = View::new(machine, &action.state(&self.state));
        let goals = match (&self.goals, &image.goals) {
            (Some(goals), Some(there)) => {
                goals.iter().zip(&action.roles).all(|(goals, &role)| there[role as usize] == *goals)
            }
            (None, None) => true,
            _ => false,
        };
        let leads = |(joint, next): &(Vec<u32>, Box<[u64]>)| {
            let (joint, next) = (action.joint(joint), action.state(next));
            image.next.iter().any(|(other, to)| other[..] == joint[..] && *to == next)
        };
        goals && self.next.len() == image.next.len() && self.next.iter().all(leads)
    }
}
