//! The lane machine: 512 states at once, one bit each.
//!
//! The network is cut into two-input gates and evaluated over vectors of bits, lane by lane a different game. Random
//! playouts run without any loop over single states: legal moves are counted in bit-sliced numbers, a uniform index is
//! drawn by bit-sliced rejection sampling, and one pass over the moves finds the chosen one in every lane. A lane whose
//! game is over starts the next one at once.

mod adder;
mod compile;
pub mod count;
mod select;
pub mod simd;
mod some;
mod transpose;

use std::sync::Arc;

pub use adder::Adder;
pub use compile::Compiled;
pub use select::Random;
pub use simd::{Kernel, LANES, Vector};
pub use transpose::transpose;

use crate::network::{Network, Wire};
use crate::{Exceeded, Machine, RoleId};
use compile::{Part, Segment};
use select::Selector;

/// 512 positions of one game, and what a thread needs to step them.
pub struct Lanes {
    compiled: Arc<Compiled>,
    kernel: Kernel,
    values: Vec<Vector>,
    next: Vec<Vector>,
    selector: Selector,
    /// The state that [`Machine`] methods were last asked about, as long as it is evaluated, and its lane.
    visited: Option<(Box<[u64]>, usize)>,
}

/// What random playouts found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Matches that ended in a terminal state.
    pub n_playouts: u64,
    /// Matches that were given up: too long, or a role without a legal move.
    pub n_given_up: u64,
    /// Joint moves made in matches that ended.
    pub n_plies: u64,
    /// Joint moves made in all.
    pub n_states: u64,
    /// How many ended matches had each length; the last entry counts all that were at least as long.
    pub lengths: Vec<u64>,
    /// How often each goal of [`Network::goals`] held at the end of a match.
    pub goals: Vec<u64>,
}

impl Lanes {
    /// A machine with every lane in the initial state.
    pub fn new(compiled: Arc<Compiled>) -> Lanes {
        Lanes::with_kernel(compiled, Kernel::detect())
    }

    /// The same with a given kernel.
    pub fn with_kernel(compiled: Arc<Compiled>, kernel: Kernel) -> Lanes {
        let mut lanes = Lanes {
            kernel,
            values: vec![Vector::ZERO; compiled.n_slots],
            next: vec![Vector::ZERO; compiled.network.fluents.len()],
            selector: Selector::default(),
            visited: None,
            compiled,
        };
        lanes.reset(Vector::ONES);
        lanes
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.compiled.network
    }

    /// What it shares with other machines for the game.
    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// Puts some lanes into the initial state.
    pub fn reset(&mut self, which: Vector) {
        self.visited = None;
        for (fluent, &holds) in self.compiled.network.initial.iter().enumerate() {
            let value = if holds { which } else { Vector::ZERO };
            self.values[1 + fluent] = self.values[1 + fluent].blend(which, value);
        }
    }

    /// Puts a lane into a state, given one bit for each fluent.
    pub fn load(&mut self, lane: usize, bits: &[u64]) {
        self.visited = None;
        for fluent in 0..self.compiled.network.fluents.len() {
            self.values[1 + fluent].set(lane, bits[fluent / 64] >> (fluent % 64) & 1 == 1);
        }
    }

    /// The state of a lane, one bit for each fluent.
    pub fn store(&self, lane: usize) -> Box<[u64]> {
        let n_fluents = self.compiled.network.fluents.len();
        let mut bits = vec![0; n_fluents.div_ceil(64)].into_boxed_slice();
        for fluent in (0..n_fluents).filter(|fluent| self.values[1 + fluent].get(lane)) {
            bits[fluent / 64] |= 1 << (fluent % 64);
        }
        bits
    }

    /// Puts the lanes into these states, at most 512, given one bit for each fluent. In the lanes beyond them no fluent holds.
    pub fn load_all(&mut self, states: &[&[u64]]) {
        self.load_first(self.compiled.network.fluents.len(), states);
    }

    /// The same for the first fluents only; the others stay as they are.
    pub fn load_first(&mut self, n_fluents: usize, states: &[&[u64]]) {
        self.visited = None;
        transpose::spread(states, &mut self.values[1..1 + n_fluents]);
    }

    /// Appends the states of the first `n` lanes to `states`, one after another, one bit for each fluent.
    pub fn store_all(&self, n: usize, states: &mut Vec<u64>) {
        let n_fluents = self.compiled.network.fluents.len();
        transpose::gather(&self.values[1..1 + n_fluents], n, states);
    }

    /// The lanes in which a fluent holds.
    pub fn fluent(&self, fluent: u32) -> Vector {
        self.values[1 + fluent as usize]
    }

    /// Sets the lanes in which a fluent holds.
    pub fn set_fluent(&mut self, fluent: u32, which: Vector) {
        self.visited = None;
        self.values[1 + fluent as usize] = which;
    }

    /// Evaluates legality and the end of the game in every lane's current state.
    pub fn evaluate(&mut self) {
        let compiled = self.compiled.clone();
        self.run(&compiled.state);
    }

    /// Evaluates the goals; after [`Lanes::evaluate`].
    pub fn evaluate_goals(&mut self) {
        let compiled = self.compiled.clone();
        self.run(&compiled.goal);
    }

    /// The lanes in which a wire of the network is true, among those evaluated: legal moves and the end of the game after
    /// [`Lanes::evaluate`], goals after [`Lanes::evaluate_goals`].
    pub fn lanes_where(&self, wire: Wire) -> Vector {
        self.wire(self.compiled.wire(wire))
    }

    fn wire(&self, wire: u32) -> Vector {
        let value = self.values[wire as usize >> 1];
        if wire & 1 == 1 { !value } else { value }
    }

    /// Sets the lanes in which a move is made.
    pub fn set_move(&mut self, chosen: u32, which: Vector) {
        let slot = self.compiled.move_slot(chosen);
        self.values[slot] = which;
    }

    /// The lanes in which a move is set.
    pub fn is_made(&self, chosen: u32) -> Vector {
        self.values[self.compiled.move_slot(chosen)]
    }

    /// Chooses uniformly among the legal moves of a role in every lane, and sets the choice; after [`Lanes::evaluate`].
    /// Returns the lanes in which there is none.
    pub fn choose(&mut self, random: &mut Random, role: RoleId) -> Vector {
        let moves = self.compiled.network.moves_of[role.0 as usize].clone();
        let legal = &self.compiled.legal[moves.start as usize..moves.end as usize];
        self.selector.choose(random, legal, &mut self.values, self.compiled.first_move + moves.start)
    }

    /// The lanes in which each fluent holds next, by the moves that are set; after [`Lanes::evaluate`].
    pub fn peek(&mut self) -> &[Vector] {
        let compiled = self.compiled.clone();
        self.run(&compiled.step);
        for (fluent, &wire) in compiled.next.iter().enumerate() {
            self.next[fluent] = self.wire(wire);
        }
        &self.next
    }

    /// Goes to the next state in every lane, by the moves that are set; after [`Lanes::evaluate`].
    pub fn advance(&mut self) {
        self.visited = None;
        self.peek();
        self.values[1..1 + self.next.len()].copy_from_slice(&self.next);
    }

    /// The same; returns the lanes in which a fluent holds then that did not hold before.
    pub fn grow(&mut self) -> Vector {
        self.visited = None;
        self.peek();
        let mut grown = Vector::ZERO;
        for (value, &next) in self.values[1..].iter_mut().zip(&self.next) {
            grown = grown | (next & !*value);
            *value = next;
        }
        grown
    }

    /// The states that follow from each state by its joint move, 512 at a time.
    pub fn successors(&mut self, steps: &[(&[u64], &[u32])]) -> Vec<Box<[u64]>> {
        let mut following = Vec::with_capacity(steps.len());
        for batch in steps.chunks(LANES) {
            for chosen in 0..self.compiled.network.moves.len() as u32 {
                self.set_move(chosen, Vector::ZERO);
            }
            let states: Vec<&[u64]> = batch.iter().map(|&(state, _)| state).collect();
            self.load_all(&states);
            for (lane, (_, joint)) in batch.iter().enumerate() {
                for &chosen in *joint {
                    let slot = self.compiled.move_slot(chosen);
                    self.values[slot].set(lane, true);
                }
            }
            self.evaluate();
            self.advance();
            let mut next = Vec::new();
            self.store_all(batch.len(), &mut next);
            let n_words = next.len() / batch.len();
            following.extend((0..batch.len()).map(|lane| next[lane * n_words..(lane + 1) * n_words].into()));
        }
        following
    }

    /// Evaluates the network's formulas in many states, 512 at a time: for each formula, one bit for each state.
    pub fn evaluate_formulas(&mut self, states: &[&[u64]]) -> Vec<Vec<u64>> {
        let compiled = self.compiled.clone();
        let wires: Vec<u32> = compiled.network.formulas.iter().map(|&wire| compiled.wire(wire)).collect();
        let mut columns = vec![vec![0; states.len().div_ceil(64)]; wires.len()];
        for (number, batch) in states.chunks(LANES).enumerate() {
            self.load_all(batch);
            self.evaluate();
            for (column, &wire) in columns.iter_mut().zip(&wires) {
                let first = number * LANES / 64;
                let words = &mut column[first..(first + LANES / 64).min(states.len().div_ceil(64))];
                words.copy_from_slice(&self.wire(wire).0[..words.len()]);
                if let (true, Some(last)) = (batch.len() % 64 != 0, words.last_mut()) {
                    *last &= (1 << (batch.len() % 64)) - 1;
                }
            }
        }
        columns
    }

    /// Adds up wires, after [`Lanes::evaluate`]: appends the sums of the first `n` lanes, those of one lane after those of
    /// another. The adder must have been made for this network.
    pub fn add_up(&mut self, adder: &Adder, n: usize, sums: &mut Vec<u32>) {
        if self.values.len() < adder.n_slots() {
            self.values.resize(adder.n_slots(), Vector::ZERO);
        }
        adder.run(self.kernel, &mut self.values);
        adder.read(&self.values, n, sums);
    }

    fn run(&mut self, segment: &Segment) {
        for part in &segment.parts {
            match part {
                Part::Straight(program) => self.kernel.run(program, &mut self.values),
                Part::Block { program, loops } => {
                    loops.iter().for_each(|&(slot, _)| self.values[slot as usize] = Vector::ZERO);
                    loop {
                        self.kernel.run(program, &mut self.values);
                        let mut changed = false;
                        for &(slot, wire) in loops {
                            let value = self.wire(wire);
                            changed |= self.values[slot as usize] != value;
                            self.values[slot as usize] = value;
                        }
                        if !changed {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Plays random matches in all lanes until `n_states` joint moves have been made in all, each role choosing
    /// uniformly among its legal moves; a match longer than `cap` is given up. Lanes go on where the last call left them.
    /// Ends at once if there is nothing to play: the initial state is terminal, or a role has no legal move in it.
    pub fn playouts(&mut self, random: &mut Random, plies: &mut [u32; LANES], cap: u32, n_states: u64) -> Tally {
        let compiled = self.compiled.clone();
        let network = &compiled.network;
        let mut tally =
            Tally { lengths: vec![0; cap as usize + 1], goals: vec![0; network.goals.len()], ..Tally::default() };
        while tally.n_states < n_states {
            self.evaluate();
            // Step 1. Score the lanes whose match is over.
            let over = self.wire(compiled.terminal);
            if !over.is_zero() {
                self.evaluate_goals();
                for (count, &wire) in tally.goals.iter_mut().zip(&compiled.goals) {
                    *count += u64::from((self.wire(wire) & over).count());
                }
                tally.n_playouts += u64::from(over.count());
            }
            // Step 2. Choose a move for each role.
            let mut stuck = Vector::ZERO;
            for role in 0..network.moves_of.len() as u32 {
                stuck = stuck | self.choose(random, RoleId(role));
            }
            // Step 3. Go on; lanes whose match is over begin the next one instead.
            self.advance();
            let mut fresh = over | stuck;
            if fresh.count() as usize == LANES && plies.iter().all(|&ply| ply == 0) {
                // Nothing can be played from the initial state, now or later.
                break;
            }
            tally.n_given_up += u64::from((stuck & !over).count());
            tally.n_states += LANES as u64 - u64::from(fresh.count());
            for (lane, ply) in plies.iter_mut().enumerate() {
                if fresh.get(lane) {
                    if over.get(lane) {
                        tally.n_plies += u64::from(*ply);
                        tally.lengths[(*ply).min(cap) as usize] += 1;
                    }
                    *ply = 0;
                } else {
                    *ply += 1;
                    if *ply > cap {
                        *ply = 0;
                        fresh.set(lane, true);
                        tally.n_given_up += 1;
                    }
                }
            }
            if !fresh.is_zero() {
                self.reset(fresh);
            }
        }
        tally
    }
}

/// A generator for lane playouts.
pub fn random(seed: u64) -> Random {
    Random::new(seed)
}

impl Machine for Lanes {
    type State = Box<[u64]>;
    type Move = u32;

    fn roles(&self) -> &[String] {
        &self.compiled.network.roles
    }

    fn initial(&mut self) -> Result<Self::State, Exceeded> {
        self.reset(Vector::ONES);
        Ok(self.store(0))
    }

    fn legal(&mut self, state: &Self::State, role: RoleId, moves: &mut Vec<u32>) -> Result<(), Exceeded> {
        let lane = self.visit(state);
        let compiled = self.compiled.clone();
        let range = compiled.network.moves_of[role.0 as usize].clone();
        moves.extend(range.filter(|&chosen| self.wire(compiled.legal[chosen as usize]).get(lane)));
        Ok(())
    }

    fn next(&mut self, state: &Self::State, joint: &[u32]) -> Result<Self::State, Exceeded> {
        let lane = self.visit(state);
        for chosen in 0..self.compiled.network.moves.len() as u32 {
            let mut which = Vector::ZERO;
            which.set(lane, joint.contains(&chosen));
            self.set_move(chosen, which);
        }
        self.advance();
        Ok(self.store(lane))
    }

    fn is_terminal(&mut self, state: &Self::State) -> Result<bool, Exceeded> {
        let lane = self.visit(state);
        Ok(self.wire(self.compiled.terminal).get(lane))
    }

    fn goals(&mut self, state: &Self::State, role: RoleId) -> Result<Vec<i64>, Exceeded> {
        let lane = self.visit(state);
        self.evaluate_goals();
        let compiled = self.compiled.clone();
        let goals = compiled.network.goals.iter().zip(&compiled.goals);
        let mut values: Vec<i64> = goals
            .filter(|(goal, wire)| goal.0 == role.0 && self.wire(**wire).get(lane))
            .map(|(goal, _)| goal.1)
            .collect();
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    fn fluents(&self, state: &Self::State) -> Vec<String> {
        self.compiled.network.fluent_names(state)
    }

    fn move_name(&self, chosen: u32) -> String {
        self.compiled.network.name(self.compiled.network.moves[chosen as usize])
    }
}

impl Lanes {
    /// Evaluates one state, in a lane that depends on the state, so that every lane has its turn.
    fn visit(&mut self, state: &[u64]) -> usize {
        if let Some((visited, lane)) = &self.visited
            && **visited == *state
        {
            return *lane;
        }
        let mixed = state.iter().fold(0u64, |mixed, &word| (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let lane = (mixed >> 40) as usize % LANES;
        self.load(lane, state);
        self.evaluate();
        self.visited = Some((state.into(), lane));
        lane
    }
}
