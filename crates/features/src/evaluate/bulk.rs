//! All features in many states: 512 at once on the lane machine.
//!
//! The conditions are gates over bits, and each feature adds up those that hold with bit-sliced adders; numbers come out
//! by transposing.

use std::sync::Arc;

use machine::lanes::{self, Adder, LANES, Lanes};
use machine::network::{Network, Wire};

use super::Sums;

/// Features prepared for many states; shared between threads.
pub struct Compiled {
    machine: Arc<lanes::Compiled>,
    adder: Adder,
    n_features: usize,
    /// What each feature always adds.
    constants: Vec<i32>,
    /// The features of the adder's sums, those with positive weights first; each may have one of both kinds.
    positive: Vec<u32>,
    negative: Vec<u32>,
}

/// Wires with what each adds.
type Terms = Vec<(Wire, u32)>;

impl Compiled {
    /// Prepares features.
    pub fn new(sums: &Sums) -> Compiled {
        let network = Arc::new(formulas_alone(&sums.network));
        let machine = lanes::Compiled::new(network.clone());
        let mut constants = vec![0; sums.features.len()];
        let mut parts: [Vec<(u32, Terms)>; 2] = Default::default();
        for (feature, terms) in sums.features.iter().enumerate() {
            let mut own: [Terms; 2] = Default::default();
            for &(formula, weight) in terms {
                match network.formulas[formula as usize] {
                    Wire::TRUE => constants[feature] += weight,
                    wire if wire != Wire::FALSE && weight != 0 => {
                        own[usize::from(weight < 0)].push((wire, weight.unsigned_abs()));
                    }
                    _ => {}
                }
            }
            for (part, own) in parts.iter_mut().zip(own).filter(|(_, own)| !own.is_empty()) {
                part.push((feature as u32, own));
            }
        }
        let [positive, negative] = &parts;
        let all: Vec<Terms> = positive.iter().chain(negative).map(|(_, terms)| terms.clone()).collect();
        let features = |part: &[(u32, Terms)]| part.iter().map(|&(feature, _)| feature).collect();
        Compiled {
            adder: Adder::new(&machine, &all),
            n_features: sums.features.len(),
            constants,
            positive: features(positive),
            negative: features(negative),
            machine,
        }
    }

    /// How many features there are.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// How many gates of two inputs and how many additions of three bits are evaluated for 512 states.
    pub fn size(&self) -> (usize, usize) {
        (self.machine.n_ops()[0], self.adder.n_additions())
    }
}

/// The network with nothing but its formulas to evaluate.
fn formulas_alone(network: &Network) -> Network {
    let mut network = network.clone();
    network.legal.fill(Wire::FALSE);
    network.next.fill(Wire::FALSE);
    network.goals.clear();
    network.terminal = Wire::FALSE;
    network
}

/// A thread's means to evaluate features in many states.
pub struct Bulk {
    compiled: Arc<Compiled>,
    lanes: Lanes,
    sums: Vec<u32>,
    values: Vec<i32>,
}

impl Bulk {
    /// Working memory for one thread.
    pub fn new(compiled: Arc<Compiled>) -> Bulk {
        Bulk { lanes: Lanes::new(compiled.machine.clone()), compiled, sums: Vec::new(), values: Vec::new() }
    }

    /// Appends the values of all features in each state, those of one state after those of another. States are those of the
    /// features' network.
    pub fn values(&mut self, states: &[&[u64]], values: &mut Vec<i32>) {
        let n_features = self.compiled.n_features;
        values.reserve(states.len() * n_features);
        for batch in states.chunks(LANES) {
            self.run(batch);
            let first = values.len();
            let n_sums = self.compiled.positive.len() + self.compiled.negative.len();
            for lane in 0..batch.len() {
                values.extend_from_slice(&self.compiled.constants);
                let values = &mut values[first + lane * n_features..];
                let (positive, negative) =
                    self.sums[lane * n_sums..(lane + 1) * n_sums].split_at(self.compiled.positive.len());
                for (&feature, &sum) in self.compiled.positive.iter().zip(positive) {
                    values[feature as usize] += sum as i32;
                }
                for (&feature, &sum) in self.compiled.negative.iter().zip(negative) {
                    values[feature as usize] -= sum as i32;
                }
            }
        }
    }

    /// Appends each state's score: the sum of the features' values times their weights.
    pub fn scores(&mut self, states: &[&[u64]], weights: &[f32], scores: &mut Vec<f32>) {
        let mut values = std::mem::take(&mut self.values);
        for batch in states.chunks(LANES) {
            values.clear();
            self.values(batch, &mut values);
            for values in values.chunks(self.compiled.n_features.max(1)) {
                scores.push(values.iter().zip(weights).map(|(&value, weight)| value as f32 * weight).sum());
            }
        }
        self.values = values;
    }

    fn run(&mut self, batch: &[&[u64]]) {
        self.lanes.load_all(batch);
        self.lanes.evaluate();
        self.sums.clear();
        self.lanes.add_up(&self.compiled.adder, batch.len(), &mut self.sums);
    }
}
