//! Features in search: from state to state, only what changes is added or taken away.
//!
//! The scalar machine says which conditions have become true or false; conditions that are the same gate are one. Taking
//! a move back is a change like any other, so nothing has to be remembered for it.
//!
//! A fluent that many conditions have in common, such as whose turn it is, is taken out of them: the conditions form a class
//! whose sums are kept up without it and count while it holds. So passing the turn costs a little for each feature, not
//! for each condition.

use std::sync::Arc;

use machine::network::{Gate, Network, Wire};
use machine::scalar::{self, Scalar};
use rustc_hash::FxHashMap;

use super::Sums;

/// The least number of conditions that make a class, and the least part of all of them. Not tuned.
const MIN_CLASS: (usize, usize) = (16, 12);
/// Inputs that a condition may come to have when the gates that it is made of are opened up.
const MAX_INPUTS: usize = 24;

/// Features prepared for search; shared between threads.
pub struct Compiled {
    machine: Arc<scalar::Compiled>,
    n_features: usize,
    /// For each condition, where its terms begin.
    starts: Vec<u32>,
    /// Sums, with what a condition adds to each.
    terms: Vec<(u32, i32)>,
    /// For each sum, its class and its feature.
    sums: Vec<(u32, u32)>,
    /// For each class, its range of sums. The first class always counts; the others while their formulas hold, which stand
    /// after the conditions.
    classes: Vec<std::ops::Range<u32>>,
    /// The sums in the initial state, and the values without any sum.
    initial: Vec<i32>,
    constants: Vec<i32>,
}

impl Compiled {
    /// Prepares features.
    pub fn new(sums: &Sums) -> Arc<Compiled> {
        let mut network = (*sums.network).clone();
        let mut classifier = Classifier::new(&mut network, sums);
        // Step 1. A condition for each gate, and what it adds to which feature in which class. Where a formula is the
        // opposite of a gate, it adds 1 less what the gate adds.
        let mut constants = vec![0; sums.features.len()];
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        let mut gates: Vec<u32> = Vec::new();
        let mut lists: Vec<Vec<((u32, u32), i32)>> = Vec::new();
        // What a class adds to a feature, whatever its conditions.
        let mut always: Vec<((u32, u32), i32)> = Vec::new();
        for (feature, terms) in (0u32..).zip(&sums.features) {
            for &(formula, weight) in terms {
                let (class, wire) = classifier.split(sums.network.formulas[formula as usize]);
                if wire.is_inverted() && class == 0 {
                    constants[feature as usize] += weight;
                } else if wire.is_inverted() {
                    always.push(((class, feature), weight));
                }
                if wire.gate() == 0 {
                    continue;
                }
                let place = *places.entry(wire.gate()).or_insert(gates.len());
                if place == gates.len() {
                    gates.push(wire.gate());
                    lists.push(Vec::new());
                }
                lists[place].push(((class, feature), if wire.is_inverted() { -weight } else { weight }));
            }
        }
        let opens = classifier.opens;
        // Step 2. Number the sums, class by class.
        let mut pairs: Vec<(u32, u32)> = lists.iter().flatten().chain(&always).map(|&(pair, _)| pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let number = |pair: &(u32, u32)| pairs.binary_search(pair).expect("every pair is listed");
        let class = |class: u32| {
            let from = pairs.partition_point(|&(of, _)| of < class) as u32;
            from..pairs.partition_point(|&(of, _)| of <= class) as u32
        };
        let classes = (0..=opens.len() as u32).map(class).collect();
        // Step 3. A machine that keeps up with these conditions.
        network.formulas = gates.into_iter().map(Wire::of).chain(opens).collect();
        let machine = scalar::Compiled::with_formulas(Arc::new(network));
        let scalar = Scalar::new(machine.clone());
        let mut initial = vec![0; pairs.len()];
        always.iter().for_each(|(pair, weight)| initial[number(pair)] += weight);
        let mut starts = vec![0];
        let mut terms: Vec<(u32, i32)> = Vec::new();
        for (condition, list) in (0..).zip(&mut lists) {
            list.sort_unstable();
            let first = terms.len();
            for (pair, weight) in list {
                if scalar.formula(condition) {
                    initial[number(pair)] += *weight;
                }
                match terms[first..].last_mut() {
                    Some((last, sum)) if *last == number(pair) as u32 => *sum += *weight,
                    _ => terms.push((number(pair) as u32, *weight)),
                }
            }
            starts.push(terms.len() as u32);
        }
        let n_features = sums.features.len();
        Arc::new(Compiled { machine, n_features, starts, terms, sums: pairs, classes, initial, constants })
    }

    /// How many different conditions there are.
    pub fn n_conditions(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many terms all conditions have together.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }

    /// How many fluents were taken out of conditions.
    pub fn n_classes(&self) -> usize {
        self.classes.len() - 1
    }

    fn terms(&self, condition: u32) -> &[(u32, i32)] {
        &self.terms[self.starts[condition as usize] as usize..self.starts[condition as usize + 1] as usize]
    }

    /// Which classes count at first.
    fn open(&self, machine: &Scalar) -> Vec<bool> {
        let formula = |class: usize| class == 0 || machine.formula((self.n_conditions() + class - 1) as u32);
        (0..self.classes.len()).map(formula).collect()
    }
}

/// Takes common fluents out of conditions.
struct Classifier<'a> {
    network: &'a mut Network,
    in_block: Vec<bool>,
    opens: Vec<Wire>,
    /// What is left of conditions, by their inputs.
    known: FxHashMap<Vec<Wire>, Wire>,
}

impl<'a> Classifier<'a> {
    fn new(network: &'a mut Network, sums: &Sums) -> Classifier<'a> {
        let mut in_block = vec![false; network.gates.len()];
        for block in &network.blocks {
            block.gates.clone().for_each(|gate| in_block[gate as usize] = true);
        }
        let mut classifier = Classifier { network, in_block, opens: Vec::new(), known: FxHashMap::default() };
        let mut wires: Vec<Wire> =
            sums.features.iter().flatten().map(|&(formula, _)| sums.network.formulas[formula as usize]).collect();
        wires.sort_unstable();
        wires.dedup();
        let mut rest: Vec<Vec<Wire>> = wires.iter().map(|&wire| classifier.inputs(wire)).collect();
        let least = MIN_CLASS.0.max(wires.len() / MIN_CLASS.1);
        loop {
            let mut counts: FxHashMap<Wire, usize> = FxHashMap::default();
            rest.iter().flatten().for_each(|&wire| *counts.entry(wire).or_default() += 1);
            let fluents = counts
                .into_iter()
                .filter(|(wire, _)| matches!(classifier.network.gates[wire.gate() as usize], Gate::Fluent(_)));
            let most = fluents.map(|(wire, count)| (count, std::cmp::Reverse(wire))).max();
            let Some((_, std::cmp::Reverse(wire))) = most.filter(|&(count, _)| count >= least) else {
                return classifier;
            };
            classifier.opens.push(wire);
            rest.retain(|inputs| !inputs.contains(&wire));
        }
    }

    /// What must all be true for a wire to be, sorted; nothing for a wire that is no conjunction.
    fn inputs(&self, wire: Wire) -> Vec<Wire> {
        let open = |wire: Wire| match &self.network.gates[wire.gate() as usize] {
            Gate::And(inputs) if !wire.is_inverted() && !self.in_block[wire.gate() as usize] => Some(inputs),
            _ => None,
        };
        let Some(inputs) = open(wire) else { return Vec::new() };
        let mut all = Vec::new();
        let mut waiting = inputs.to_vec();
        while let Some(wire) = waiting.pop() {
            match open(wire) {
                Some(inputs) if all.len() + waiting.len() + inputs.len() <= MAX_INPUTS => waiting.extend(inputs.iter()),
                _ => all.push(wire),
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The class of a condition, and what else it needs.
    fn split(&mut self, wire: Wire) -> (u32, Wire) {
        let inputs = self.inputs(wire);
        let Some(class) = self.opens.iter().position(|open| inputs.contains(open)) else { return (0, wire) };
        let rest: Vec<Wire> = inputs.into_iter().filter(|&input| input != self.opens[class]).collect();
        let network = &mut *self.network;
        let wire = *self.known.entry(rest).or_insert_with_key(|rest| network.all_of(rest));
        (class as u32 + 1, wire)
    }
}

/// A thread's position in a game, with the values of all features.
pub struct Values {
    compiled: Arc<Compiled>,
    machine: Scalar,
    sums: Vec<i32>,
    open: Vec<bool>,
    values: Vec<i32>,
}

impl Values {
    /// A position at the start of the game.
    pub fn new(compiled: Arc<Compiled>) -> Values {
        let machine = Scalar::new(compiled.machine.clone());
        let open = compiled.open(&machine);
        let mut values = compiled.constants.clone();
        for (&(class, feature), sum) in compiled.sums.iter().zip(&compiled.initial) {
            values[feature as usize] += if open[class as usize] { *sum } else { 0 };
        }
        Values { machine, sums: compiled.initial.clone(), open, values, compiled }
    }

    /// The values in the current state.
    pub fn values(&self) -> &[i32] {
        &self.values
    }

    fn update(&mut self) {
        let Values { compiled, machine, sums, open, values } = self;
        let n_conditions = compiled.n_conditions() as u32;
        machine.take_flips(|formula, now| {
            if formula < n_conditions {
                for &(sum, weight) in compiled.terms(formula) {
                    let weight = if now { weight } else { -weight };
                    let (class, feature) = compiled.sums[sum as usize];
                    sums[sum as usize] += weight;
                    values[feature as usize] += if open[class as usize] { weight } else { 0 };
                }
            } else {
                let class = (formula - n_conditions) as usize + 1;
                open[class] = now;
                let range = compiled.classes[class].start as usize..compiled.classes[class].end as usize;
                for (&(_, feature), &sum) in compiled.sums[range.clone()].iter().zip(&sums[range]) {
                    values[feature as usize] += if now { sum } else { -sum };
                }
            }
        });
    }
}

/// A thread's position in a game, with the weighted sum of all features and not their values.
///
/// Weights are whole numbers, so that the sum is the same however a state is reached.
pub struct Score {
    compiled: Arc<Compiled>,
    machine: Scalar,
    /// For each term, its class and what it adds; terms of one condition and class are one.
    starts: Vec<u32>,
    terms: Vec<(u32, i64)>,
    /// For each class, what it adds while it counts.
    sums: Vec<i64>,
    open: Vec<bool>,
    score: i64,
}

impl Score {
    /// A position at the start of the game, with a weight for each feature.
    ///
    /// # Panics
    /// If there are more or fewer weights than features.
    pub fn new(compiled: Arc<Compiled>, weights: &[i32]) -> Score {
        assert_eq!(weights.len(), compiled.n_features, "a weight for each feature");
        let weigh = |feature: u32, value: i32| i64::from(weights[feature as usize]) * i64::from(value);
        let machine = Scalar::new(compiled.machine.clone());
        let open = compiled.open(&machine);
        let mut sums = vec![0; compiled.classes.len()];
        for (&(class, feature), &sum) in compiled.sums.iter().zip(&compiled.initial) {
            sums[class as usize] += weigh(feature, sum);
        }
        let constant: i64 = (0..).zip(&compiled.constants).map(|(feature, &value)| weigh(feature, value)).sum();
        let counting = sums.iter().zip(&open).filter(|(_, open)| **open);
        let score = constant + counting.map(|(sum, _)| sum).sum::<i64>();
        let (mut starts, mut terms): (Vec<u32>, Vec<(u32, i64)>) = (vec![0], Vec::new());
        for condition in 0..compiled.n_conditions() as u32 {
            let first = terms.len();
            // Sums are numbered class by class.
            for &(sum, weight) in compiled.terms(condition) {
                let (class, feature) = compiled.sums[sum as usize];
                match terms[first..].last_mut() {
                    Some((last, total)) if *last == class => *total += weigh(feature, weight),
                    _ => terms.push((class, weigh(feature, weight))),
                }
            }
            starts.push(terms.len() as u32);
        }
        Score { machine, starts, terms, sums, open, score, compiled }
    }

    /// The score of the current state.
    pub fn score(&self) -> i64 {
        self.score
    }

    fn update(&mut self) {
        let Score { compiled, machine, starts, terms, sums, open, score } = self;
        let n_conditions = compiled.n_conditions() as u32;
        machine.take_flips(|formula, now| {
            if formula < n_conditions {
                let range = starts[formula as usize] as usize..starts[formula as usize + 1] as usize;
                for &(class, weight) in &terms[range] {
                    let weight = if now { weight } else { -weight };
                    sums[class as usize] += weight;
                    *score += if open[class as usize] { weight } else { 0 };
                }
            } else {
                let class = (formula - n_conditions) as usize + 1;
                open[class] = now;
                *score += if now { sums[class] } else { -sums[class] };
            }
        });
    }
}

macro_rules! walks {
    ($($evaluator:ty),*) => {$(
        impl $evaluator {
            /// The machine; its state is the current one.
            pub fn machine(&self) -> &Scalar {
                &self.machine
            }

            /// A role's goal value in the current state; `None` unless there is exactly one.
            pub fn goal(&mut self, role: machine::RoleId) -> Option<i64> {
                self.machine.goal(role)
            }

            /// Makes a joint move: one legal move for each role.
            pub fn make(&mut self, joint: &[u32]) {
                self.machine.make(joint);
                self.update();
            }

            /// Takes back the last joint move that was made.
            ///
            /// # Panics
            /// If no move has been made since the last jump to another state.
            pub fn unmake(&mut self) {
                self.machine.unmake();
                self.update();
            }

            /// Goes to any state, forgetting the moves made.
            pub fn jump(&mut self, state: &[u64]) {
                self.machine.jump(state);
                self.update();
            }
        }
    )*};
}

walks!(Values, Score);
