//! Learned evaluations: weights for what a sight shows.

use std::sync::Arc;

use features::evaluate::bulk::Bulk;
use features::evaluate::incremental::Values;
use features::pattern::table::{Indices, Tables};
use machine::RoleId;
use machine::scalar::Scalar;
use search::{Evaluate, Position};

use crate::sight::Sight;
use crate::ways::{Look, Ways};

/// The weights of one role's evaluation: for each set of weights a number, one for each feature and one for each slot.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    /// What is always added.
    pub bias: Vec<f32>,
    /// For each set, a weight for each feature.
    pub features: Vec<Vec<f32>>,
    /// For each set, a weight for each canonical slot.
    pub slots: Vec<Vec<f32>>,
}

impl Weights {
    /// Whether all of them are numbers to add up.
    pub(crate) fn are_finite(&self) -> bool {
        let sets = self.features.iter().chain(&self.slots);
        sets.chain([&self.bias]).flatten().all(|weight| weight.is_finite())
    }
}

/// How what is expected of a role follows from the others' expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Sum {
    /// Each role has weights of its own.
    Free,
    /// Two roles share 100 points: the second gets what the first leaves, and has no weights.
    Shared,
}

/// Weights that a sight needs, ready for search; shared between threads.
pub struct Model {
    /// What it looks at.
    pub sight: Arc<Sight>,
    /// The weights of each role.
    pub weights: Vec<Weights>,
    /// How the roles hang together.
    pub sum: Sum,
    /// For a game with one role, the best line that is known: moves of the game's own network from the start on.
    pub line: Vec<u32>,
    /// For each role and set, its tables.
    tables: Vec<Vec<Tables<f32>>>,
}

impl Model {
    /// Prepares weights.
    ///
    /// # Panics
    /// If there are not as many weights as the sight has sets, features and slots.
    pub fn new(sight: Arc<Sight>, weights: Vec<Weights>, sum: Sum) -> Model {
        Model::fitting(sight, weights, sum).expect("weights fit the sight")
    }

    /// Prepares weights that come from elsewhere, if they fit the sight.
    pub fn fitting(sight: Arc<Sight>, weights: Vec<Weights>, sum: Sum) -> Result<Model, String> {
        let n_slots = sight.n_slots();
        let n_roles = match (sum, sight.game.universe.roles.len()) {
            (Sum::Shared, 2) => 1,
            (Sum::Shared, _) => return Err("only two roles share points".to_owned()),
            (Sum::Free, n_roles) => n_roles,
        };
        let n_sets = sight.stages.n_sets();
        let fits = |weights: &Weights| {
            [weights.bias.len(), weights.features.len(), weights.slots.len()] == [n_sets; 3]
                && weights.features.iter().all(|set| set.len() == sight.features.len())
                && weights.slots.iter().all(|set| set.len() == n_slots)
        };
        if weights.len() != n_roles || !weights.iter().all(fits) {
            return Err("there are not as many weights as features, slots and stages".to_owned());
        }
        let tables = |weights: &Weights| weights.slots.iter().map(|slots| expand(&sight, slots)).collect();
        let tables = weights.iter().map(tables).collect();
        Ok(Model { sight, weights, sum, line: Vec::new(), tables })
    }

    /// The same model with a line that is known, for a game with one role.
    pub fn knowing(self, line: Vec<u32>) -> Model {
        Model { line, ..self }
    }

    /// A place at the start of a match, judged by this model.
    pub fn judge(self: &Arc<Model>) -> Judge {
        let values = Values::new(self.sight.compiled.clone());
        let indices = self.sight.patterns.as_ref().map(|patterns| patterns.indexer.start(values.machine().bits()));
        Judge { model: self.clone(), values, indices, look: self.sight.ways.as_ref().map(Ways::look) }
    }

    /// What it expects in many states at once.
    pub fn opinion(self: &Arc<Model>) -> Opinion {
        let bulk = Bulk::new(self.sight.bulk.clone());
        let start = vec![0; self.sight.views.network.fluents.len().div_ceil(64)];
        let indices = self.sight.patterns.as_ref().map(|patterns| patterns.indexer.start(&start));
        let look = self.sight.ways.as_ref().map(Ways::look);
        Opinion { model: self.clone(), bulk, indices, look, values: Vec::new() }
    }
}

/// What a model expects in many states at once; they are those of the sight's network.
pub struct Opinion {
    model: Arc<Model>,
    bulk: Bulk,
    indices: Option<Indices<u32>>,
    look: Option<Look>,
    values: Vec<i32>,
}

impl Evaluate for Opinion {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        let model = &*self.model;
        let n_roles = model.sight.game.universe.roles.len();
        let n_features = model.sight.features.len();
        self.values.clear();
        self.bulk.values(states, &mut self.values);
        if let Some(look) = &mut self.look {
            look.measure(states);
        }
        for (at, state) in states.iter().enumerate() {
            let set = model.sight.stages.set(state);
            let own = &self.values[at * n_features..(at + 1) * n_features];
            if let (Some(patterns), Some(indices)) = (&model.sight.patterns, &mut self.indices) {
                patterns.indexer.go(indices, state);
            }
            for (weights, tables) in model.weights.iter().zip(&model.tables) {
                let mut sum = weights.bias[set] + dot(own, &weights.features[set]);
                if let (Some(patterns), Some(indices)) = (&model.sight.patterns, &self.indices) {
                    sum += tables[set].sum(patterns.indexer.indices(indices));
                }
                if let Some(look) = &self.look {
                    sum += model.sight.weigh_ways(look, at, &weights.slots[set]);
                }
                values.push(squeeze(sum));
            }
            if model.sum == Sum::Shared && n_roles == 2 {
                values.push(1.0 - values[values.len() - 1]);
            }
        }
    }
}

fn squeeze(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum).exp())
}

/// Values times weights, added up in eight parts so that it takes few instructions.
fn dot(values: &[i32], weights: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (chunks, rest) = (values.chunks_exact(8), values.chunks_exact(8).remainder());
    let (more, last) = (weights.chunks_exact(8), weights.chunks_exact(8).remainder());
    for (values, weights) in chunks.zip(more) {
        for lane in 0..8 {
            sums[lane] += values[lane] as f32 * weights[lane];
        }
    }
    let rest: f32 = rest.iter().zip(last).map(|(&value, weight)| value as f32 * weight).sum();
    sums.iter().sum::<f32>() + rest
}

/// The flat tables of canonical weights.
fn expand(sight: &Sight, slots: &[f32]) -> Tables<f32> {
    let Some(patterns) = &sight.patterns else { return Tables::new(&[], &[]) };
    let tables: Vec<Vec<f32>> = (patterns.orbits.iter().zip(patterns.first.windows(2)))
        .map(|(orbit, span)| orbit.expand(&slots[span[0] as usize..span[1] as usize]))
        .collect();
    let instances: Vec<_> = patterns.orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
    Tables::new(&tables, &instances)
}

/// A place in a match with what a model expects there.
pub struct Judge {
    model: Arc<Model>,
    values: Values,
    indices: Option<Indices<u32>>,
    look: Option<Look>,
}

impl Judge {
    /// The sum behind a role's expectation, before it is squeezed between 0 and 1.
    pub fn sum(&mut self, role: RoleId) -> f32 {
        let model = &*self.model;
        let state = self.values.machine().bits();
        let set = model.sight.stages.set(state);
        let weights = &model.weights[role.0 as usize];
        let sum = dot(self.values.values(), &weights.features[set]);
        let looked_up = match (&model.sight.patterns, &mut self.indices) {
            (Some(patterns), Some(indices)) => {
                patterns.indexer.go(indices, state);
                model.tables[role.0 as usize][set].sum(patterns.indexer.indices(indices))
            }
            _ => 0.0,
        };
        let ways = self.look.as_mut().map_or(0.0, |look| {
            look.measure(&[state]);
            model.sight.weigh_ways(look, 0, &weights.slots[set])
        });
        weights.bias[set] + sum + looked_up + ways
    }
}

impl Position for Judge {
    fn machine(&self) -> &Scalar {
        self.values.machine()
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.values.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.values.make(joint);
    }

    fn unmake(&mut self) {
        self.values.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.values.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        match self.model.sum {
            Sum::Shared if role.0 == 1 => 1.0 - squeeze(self.sum(RoleId(0))),
            _ => squeeze(self.sum(role)),
        }
    }
}
