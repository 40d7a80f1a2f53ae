//! Many states at once: what may be done in them, and what follows.

use std::sync::Arc;

use machine::lanes::{Compiled, LANES, Lanes, Vector};
use machine::network::Network;

/// The lane machine as a means to look at many unrelated states.
pub struct Fan {
    lanes: Lanes,
    /// For each state that was looked at and each role, its legal moves; none where the match is over.
    legal: Vec<Vec<u32>>,
    /// Whether the rules gave each role a result wherever a match was over, in the last call.
    has_results: bool,
}

impl Fan {
    /// Working memory for one thread.
    pub fn new(compiled: Arc<Compiled>) -> Fan {
        Fan { lanes: Lanes::new(compiled), legal: Vec::new(), has_results: true }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        self.lanes.network()
    }

    /// How many words a state has.
    pub fn n_words(&self) -> usize {
        self.lanes.network().fluents.len().div_ceil(64)
    }

    /// How many roles there are.
    pub fn n_roles(&self) -> usize {
        self.lanes.network().roles.len()
    }

    /// Looks at states: appends each role's result as a part of 100 points, NaN where the match goes on.
    pub fn look(&mut self, states: &[&[u64]], results: &mut Vec<f32>) {
        self.has_results = true;
        let n_roles = self.n_roles();
        self.legal.resize(self.legal.len().max(states.len() * n_roles), Vec::new());
        self.legal.iter_mut().for_each(Vec::clear);
        for (batch, states) in states.chunks(LANES).enumerate() {
            self.lanes.load_all(states);
            self.lanes.evaluate();
            let open = !self.results(states.len(), results);
            let network = self.lanes.network();
            for (role, moves) in network.moves_of.iter().enumerate() {
                for chosen in moves.clone() {
                    let lanes = self.lanes.lanes_where(network.legal[chosen as usize]) & open;
                    for lane in lanes.lanes().take_while(|&lane| lane < states.len()) {
                        self.legal[(batch * LANES + lane) * n_roles + role].push(chosen);
                    }
                }
            }
        }
    }

    /// The legal moves of each role in a state that was looked at last, by its number.
    pub fn legal(&self, state: usize) -> &[Vec<u32>] {
        let n_roles = self.n_roles();
        &self.legal[state * n_roles..(state + 1) * n_roles]
    }

    /// Makes a joint move in each state: appends the states that follow, one after another, and the results as
    /// [`Fan::look`] does.
    pub fn follow<'a>(
        &mut self,
        steps: impl IntoIterator<Item = (&'a [u64], &'a [u32])>,
        states: &mut Vec<u64>,
        results: &mut Vec<f32>,
    ) {
        self.has_results = true;
        let mut steps = steps.into_iter();
        let mut before = Vec::with_capacity(LANES);
        let mut joints = Vec::with_capacity(LANES);
        loop {
            before.clear();
            joints.clear();
            for (state, joint) in steps.by_ref().take(LANES) {
                before.push(state);
                joints.push(joint);
            }
            if before.is_empty() {
                return;
            }
            self.lanes.load_all(&before);
            self.lanes.evaluate();
            let moves =
                joints.iter().enumerate().flat_map(|(lane, joint)| joint.iter().map(move |&chosen| (lane, chosen)));
            self.lanes.replace_moves(Vector::ONES, moves);
            self.lanes.advance();
            self.lanes.evaluate();
            self.results(before.len(), results);
            self.lanes.store_all(before.len(), states);
        }
    }

    /// Whether all matches that were over in what was looked at or followed last have a result for each role. Those that have none count
    /// as a half.
    pub fn has_results(&self) -> bool {
        self.has_results
    }

    /// The results of the first lanes; returns the lanes in which the match is over.
    fn results(&mut self, n: usize, results: &mut Vec<f32>) -> Vector {
        let n_roles = self.n_roles();
        let first = results.len();
        results.resize(first + n * n_roles, f32::NAN);
        let over = self.lanes.lanes_where(self.lanes.network().terminal);
        if over.lanes().next().is_none_or(|lane| lane >= n) {
            return over;
        }
        self.lanes.evaluate_goals();
        for &(role, value, wire) in &self.lanes.network().goals {
            let lanes = self.lanes.lanes_where(wire) & over;
            for lane in lanes.lanes().take_while(|&lane| lane < n) {
                let result = &mut results[first + lane * n_roles + role as usize];
                // Where the rules give several values, none counts.
                *result = if result.is_nan() { value as f32 / 100.0 } else { f32::INFINITY };
            }
        }
        for lane in over.lanes().take_while(|&lane| lane < n) {
            for result in &mut results[first + lane * n_roles..first + (lane + 1) * n_roles] {
                if !result.is_finite() {
                    self.has_results = false;
                    *result = 0.5;
                }
            }
        }
        over
    }
}
