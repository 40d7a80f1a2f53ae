//! Features in search: from state to state, only what changes is added or taken away.
//!
//! The scalar machine says which conditions have become true or false; conditions that are the same gate are one. Taking
//! a move back is a change like any other, so nothing has to be remembered for it.

use std::sync::Arc;

use machine::network::Wire;
use machine::scalar::{self, Scalar};
use rustc_hash::FxHashMap;

use super::Sums;

/// Features prepared for search; shared between threads.
pub struct Compiled {
    machine: Arc<scalar::Compiled>,
    n_features: usize,
    /// For each condition, where its terms begin.
    starts: Vec<u32>,
    /// Features, with what a condition adds to each.
    terms: Vec<(u32, i32)>,
    /// The values in the initial state.
    initial: Vec<i32>,
}

impl Compiled {
    /// Prepares features.
    pub fn new(sums: &Sums) -> Arc<Compiled> {
        // Step 1. One condition for each gate; where a formula is its opposite, it adds 1 less what the gate adds.
        let mut initial = vec![0; sums.features.len()];
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        let mut gates: Vec<u32> = Vec::new();
        let mut lists: Vec<Vec<(u32, i32)>> = Vec::new();
        for (feature, terms) in sums.features.iter().enumerate() {
            for &(formula, weight) in terms {
                let wire = sums.network.formulas[formula as usize];
                initial[feature] += if wire.is_inverted() { weight } else { 0 };
                if wire.gate() == 0 {
                    continue;
                }
                let place = *places.entry(wire.gate()).or_insert(gates.len());
                if place == gates.len() {
                    gates.push(wire.gate());
                    lists.push(Vec::new());
                }
                let weight = if wire.is_inverted() { -weight } else { weight };
                match lists[place].last_mut() {
                    Some((last, sum)) if *last == feature as u32 => *sum += weight,
                    _ => lists[place].push((feature as u32, weight)),
                }
            }
        }
        lists.iter_mut().for_each(|list| list.retain(|&(_, weight)| weight != 0));
        // Step 2. A machine that keeps up with these conditions.
        let mut network = (*sums.network).clone();
        network.formulas = gates.into_iter().map(Wire::of).collect();
        let machine = scalar::Compiled::with_formulas(Arc::new(network));
        let scalar = Scalar::new(machine.clone());
        let mut starts = vec![0];
        let mut terms = Vec::new();
        for (condition, list) in lists.iter().enumerate() {
            if scalar.formula(condition as u32) {
                list.iter().for_each(|&(feature, weight)| initial[feature as usize] += weight);
            }
            terms.extend_from_slice(list);
            starts.push(terms.len() as u32);
        }
        Arc::new(Compiled { machine, n_features: sums.features.len(), starts, terms, initial })
    }

    /// How many different conditions there are.
    pub fn n_conditions(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many terms all features have together.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }

    fn terms(&self, condition: u32) -> &[(u32, i32)] {
        &self.terms[self.starts[condition as usize] as usize..self.starts[condition as usize + 1] as usize]
    }
}

/// A thread's position in a game, with the values of all features.
pub struct Values {
    compiled: Arc<Compiled>,
    machine: Scalar,
    values: Vec<i32>,
}

impl Values {
    /// A position at the start of the game.
    pub fn new(compiled: Arc<Compiled>) -> Values {
        Values { machine: Scalar::new(compiled.machine.clone()), values: compiled.initial.clone(), compiled }
    }

    /// The machine; its state is the current one.
    pub fn machine(&self) -> &Scalar {
        &self.machine
    }

    /// The values in the current state.
    pub fn values(&self) -> &[i32] {
        &self.values
    }

    /// Makes a joint move.
    pub fn make(&mut self, joint: &[u32]) {
        self.machine.make(joint);
        self.update();
    }

    /// Takes back the last joint move.
    pub fn unmake(&mut self) {
        self.machine.unmake();
        self.update();
    }

    /// Goes to any state, forgetting the moves made.
    pub fn jump(&mut self, state: &[u64]) {
        self.machine.jump(state);
        self.update();
    }

    fn update(&mut self) {
        let Values { compiled, machine, values } = self;
        machine.take_flips(|condition, now| {
            for &(feature, weight) in compiled.terms(condition) {
                values[feature as usize] += if now { weight } else { -weight };
            }
        });
    }
}

/// A thread's position in a game, with the weighted sum of all features and not their values.
///
/// Weights are whole numbers, so that the sum is the same however a state is reached.
pub struct Score {
    machine: Scalar,
    /// What each condition adds.
    weights: Vec<i64>,
    score: i64,
}

impl Score {
    /// A position at the start of the game, with a weight for each feature.
    pub fn new(compiled: &Compiled, weights: &[i32]) -> Score {
        assert_eq!(weights.len(), compiled.n_features, "a weight for each feature");
        let weigh = |(feature, weight): (u32, i32)| i64::from(weights[feature as usize]) * i64::from(weight);
        let score = (0..).zip(&compiled.initial).map(|(feature, &value)| weigh((feature, value))).sum();
        let condition = |condition| compiled.terms(condition).iter().map(|&term| weigh(term)).sum();
        let weights = (0..compiled.n_conditions() as u32).map(condition).collect();
        Score { machine: Scalar::new(compiled.machine.clone()), weights, score }
    }

    /// The machine; its state is the current one.
    pub fn machine(&self) -> &Scalar {
        &self.machine
    }

    /// Whose goals are wanted can be asked of the machine.
    pub fn machine_mut(&mut self) -> &mut Scalar {
        &mut self.machine
    }

    /// The score of the current state.
    pub fn score(&self) -> i64 {
        self.score
    }

    /// Makes a joint move.
    pub fn make(&mut self, joint: &[u32]) {
        self.machine.make(joint);
        self.update();
    }

    /// Takes back the last joint move.
    pub fn unmake(&mut self) {
        self.machine.unmake();
        self.update();
    }

    /// Goes to any state, forgetting the moves made.
    pub fn jump(&mut self, state: &[u64]) {
        self.machine.jump(state);
        self.update();
    }

    fn update(&mut self) {
        let Score { machine, weights, score } = self;
        machine.take_flips(|condition, now| {
            let weight = weights[condition as usize];
            *score += if now { weight } else { -weight };
        });
    }
}
