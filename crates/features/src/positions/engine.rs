//! States by the batch: what holds in them, what can be done, and what follows.

use std::sync::Arc;

use gdl::Stop;
use machine::lanes::{Compiled, LANES, Lanes, Vector};
use machine::network::Network;

use super::UNKNOWN;
use super::grade::Grades;
use crate::game::Game;

/// Evaluates states, up to 512 at a time, and keeps account of the work.
pub(super) struct Engine {
    pub(super) network: Arc<Network>,
    lanes: Lanes,
    grades: Grades,
    /// Gates left to evaluate, 512 lanes counting as one.
    pub(super) gates_left: u64,
    /// When this is raised, no gates are left.
    stop: Stop,
    n_ops: [u64; 3],
}

/// What is known of some states.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The states, one after another.
    pub(super) states: Vec<u64>,
    pub(super) terminal: Vec<bool>,
    /// For each state and role, the result where the match is over, else [`UNKNOWN`].
    pub(super) results: Vec<u8>,
    /// For each state, [`Engine::n_extras`] numbers: each role's number of legal moves, then how far its goals are met.
    pub(super) extras: Vec<f32>,
}

impl Seen {
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.terminal.clear();
        self.results.clear();
        self.extras.clear();
    }
}

impl Engine {
    pub(super) fn new(game: &Game, gates: u64, stop: Stop) -> Engine {
        let network = game.circuit.network.clone();
        let compiled = Compiled::new(network.clone());
        let n_ops = compiled.n_ops().map(|n| n as u64);
        // Gates cost more where their values don't stay in a cache of the processor, by about half for each 2 MiB.
        let n_values = n_ops.iter().sum::<u64>() + (network.fluents.len() + network.moves.len()) as u64;
        let n_ops = n_ops.map(|n| n + n * n_values * size_of::<Vector>() as u64 / (4 << 20));
        Engine { lanes: Lanes::new(compiled), grades: Grades::new(game), gates_left: gates, stop, n_ops, network }
    }

    pub(super) fn n_words(&self) -> usize {
        self.network.fluents.len().div_ceil(64)
    }

    pub(super) fn n_roles(&self) -> usize {
        self.network.roles.len()
    }

    pub(super) fn n_extras(&self) -> usize {
        2 * self.n_roles()
    }

    pub(super) fn initial(&self) -> Vec<u64> {
        let mut state = vec![0; self.n_words()];
        for (fluent, _) in self.network.initial.iter().enumerate().filter(|(_, holds)| **holds) {
            state[fluent / 64] |= 1 << (fluent % 64);
        }
        state
    }

    /// Takes work from the budget; if the game is to be stopped, all of it.
    pub(super) fn pay(&mut self, gates: u64) {
        self.gates_left = if self.stop.is_raised() { 0 } else { self.gates_left.saturating_sub(gates) };
    }

    /// What bringing states in and out costs, in gates: about 100 for each square of 64 states and 64 fluents.
    fn freight(&self) -> u64 {
        (LANES / 64 * self.n_words()) as u64 * 100 + 2 * self.network.moves.len() as u64
    }

    /// What looking at 512 successors costs, in gates.
    pub(super) fn price(&self) -> u64 {
        let [state, goal, step] = self.n_ops;
        2 * state + goal + step + 2 * self.freight() + 6 * self.network.moves.len() as u64 + self.grades.price()
    }

    /// Evaluates at most 512 states: which are terminal, and the results of those.
    pub(super) fn visit(&mut self, states: &[&[u64]], seen: &mut Seen) {
        self.lanes.load_all(states);
        self.pay(self.n_ops[0] + self.freight());
        self.lanes.evaluate();
        self.judge(states.len(), seen);
    }

    /// The legal moves of a role in each of the states that were visited last.
    pub(super) fn legal(&self, role: usize, n: usize, moves: &mut Vec<Vec<u32>>) {
        moves.resize(n.max(moves.len()), Vec::new());
        moves.iter_mut().for_each(Vec::clear);
        for chosen in self.network.moves_of[role].clone() {
            let legal = self.lanes.lanes_where(self.network.legal[chosen as usize]);
            for (word, &bits) in legal.0.iter().enumerate().take(n.div_ceil(64)) {
                let mut bits = bits;
                while bits != 0 {
                    let lane = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if lane < n {
                        moves[lane].push(chosen);
                    }
                }
            }
        }
    }

    /// Appends to `states` what follows from at most 512 states by joint moves.
    pub(super) fn step(&mut self, states: &[&[u64]], joints: &[&[u32]], following: &mut Vec<u64>) {
        self.advance(states, joints);
        self.lanes.store_all(states.len(), following);
    }

    /// Appends to `seen` what follows from at most 512 states by joint moves, and what is known of it.
    pub(super) fn look(&mut self, states: &[&[u64]], joints: &[&[u32]], seen: &mut Seen) {
        self.advance(states, joints);
        self.lanes.store_all(states.len(), &mut seen.states);
        self.describe(states.len(), seen);
    }

    /// Appends to `seen` what is known of at most 512 states.
    pub(super) fn know(&mut self, states: &[&[u64]], seen: &mut Seen) {
        self.lanes.load_all(states);
        states.iter().for_each(|state| seen.states.extend_from_slice(state));
        self.describe(states.len(), seen);
    }

    fn advance(&mut self, states: &[&[u64]], joints: &[&[u32]]) {
        self.lanes.load_all(states);
        let mut made = vec![Vector::ZERO; self.network.moves.len()];
        for (lane, joint) in joints.iter().enumerate() {
            joint.iter().for_each(|&chosen| made[chosen as usize].set(lane, true));
        }
        made.iter().enumerate().for_each(|(chosen, &which)| self.lanes.set_move(chosen as u32, which));
        self.pay(self.n_ops[0] + self.n_ops[2] + 2 * self.freight());
        self.lanes.evaluate();
        self.lanes.advance();
    }

    fn describe(&mut self, n: usize, seen: &mut Seen) {
        self.pay(self.n_ops[0] + self.network.moves.len() as u64 * 6 + self.grades.price());
        self.lanes.evaluate();
        self.judge(n, seen);
        let (n_roles, n_extras, n_words) = (self.n_roles(), self.n_extras(), self.n_words());
        let first = seen.extras.len();
        seen.extras.resize(first + n * n_extras, 0.0);
        for role in 0..n_roles {
            let wires = &self.network.legal[self.network.moves_of[role].start as usize..];
            let wires = &wires[..self.network.moves_of[role].len()];
            let counts = count(wires.iter().map(|&wire| self.lanes.lanes_where(wire)));
            for (lane, &count) in counts.iter().take(n).enumerate() {
                seen.extras[first + lane * n_extras + role] = f32::from(count);
            }
        }
        let states = &seen.states[seen.states.len() - n * n_words..];
        self.grades.measure(states, n_words, |lane, role, grade| {
            seen.extras[first + lane * n_extras + n_roles + role] = grade;
        });
    }

    /// Appends which lanes are terminal, and their results.
    fn judge(&mut self, n: usize, seen: &mut Seen) {
        let terminal = self.lanes.lanes_where(self.network.terminal);
        let (n_roles, first) = (self.n_roles(), seen.results.len());
        seen.terminal.extend((0..n).map(|lane| terminal.get(lane)));
        seen.results.resize(first + n * n_roles, UNKNOWN);
        if (0..n).all(|lane| !terminal.get(lane)) {
            return;
        }
        self.pay(self.n_ops[1]);
        self.lanes.evaluate_goals();
        let mut ambiguous = vec![false; n * n_roles];
        for &(role, value, wire) in &self.network.goals {
            let Ok(value) = u8::try_from(value) else { continue };
            let holds = self.lanes.lanes_where(wire) & terminal;
            if value > 100 || holds.is_zero() {
                continue;
            }
            for lane in (0..n).filter(|&lane| holds.get(lane)) {
                let at = lane * n_roles + role as usize;
                let result = &mut seen.results[first + at];
                ambiguous[at] |= *result != UNKNOWN && *result != value;
                *result = value;
            }
        }
        for (result, _) in seen.results[first..].iter_mut().zip(&ambiguous).filter(|(_, ambiguous)| **ambiguous) {
            *result = UNKNOWN;
        }
    }
}

/// In how many of the vectors each lane is set.
fn count(vectors: impl Iterator<Item = Vector>) -> Vec<u16> {
    // Numbers are bit-sliced: plane `k` holds bit `k` of each lane's.
    let mut planes: Vec<Vector> = Vec::new();
    for vector in vectors {
        let mut carry = vector;
        for plane in &mut planes {
            let sum = *plane;
            *plane = sum ^ carry;
            carry = sum & carry;
            if carry.is_zero() {
                break;
            }
        }
        if !carry.is_zero() {
            planes.push(carry);
        }
    }
    let number = |lane| planes.iter().enumerate().map(|(bit, plane)| u16::from(plane.get(lane)) << bit).sum();
    (0..LANES).map(number).collect()
}
