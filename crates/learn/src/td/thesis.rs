//! TD(λ) as in the feature construction thesis (Günther 2008): a vector of weights for each role, learned in matches against an
//! opponent that does not learn.
//!
//! The learner looks one move ahead. What others do at the same time is drawn by chance once, and stays while its own moves are
//! compared. A share ε of its moves is made by chance, after which traces begin anew and nothing is learned from the step. It
//! learns at every joint move, also where it has but one legal move; such a move counts as chosen.
//!
//! Where the thesis says nothing: weights begin at 0, once for the whole run; a move that ends the match counts by its reward;
//! equal moves are drawn by chance.

use std::sync::Arc;

use features::evaluate::incremental::Values;
use machine::RoleId;
use machine::scalar::{self, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{Answer, Limit, Player, legal_moves};

use super::update::{Linear, Next, Rates, reward};
use super::{Actor, play};
use crate::model::{Model, Sum, Weights};
use crate::sight::Sight;

/// How training goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// Matches of training.
    pub matches: u32,
    /// Matches of the evaluation, in which nothing is learned or tried out.
    pub evaluation: u32,
    /// The numbers of the rule.
    pub rates: Rates,
    /// The share of the learner's moves that are made by chance: ε.
    pub epsilon: f64,
    /// Joint moves in a match; longer ones are given up.
    pub plies: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { seed: 1, matches: 2_000, evaluation: 400, rates: Rates::default(), epsilon: 0.1, plies: 1_000 }
    }
}

/// A role's player that learns. As a [`Player`], it neither learns nor tries anything out.
pub struct Learner {
    sight: Arc<Sight>,
    values: Values,
    role: RoleId,
    /// What each feature is multiplied with, so that it is at most 1 in the sample.
    factors: Vec<f64>,
    linear: Linear,
    random: Pcg64Mcg,
}

impl Learner {
    /// A player whose weights are all 0. `maxima` are the greatest values of the features in a sample.
    ///
    /// # Panics
    /// If there are not as many as features.
    pub fn new(sight: Arc<Sight>, role: RoleId, maxima: &[i32], seed: u64) -> Learner {
        assert_eq!(maxima.len(), sight.features.len(), "each feature has a greatest value");
        Learner {
            values: Values::new(sight.compiled.clone()),
            role,
            factors: maxima.iter().map(|&max| 1.0 / f64::from(max.max(1))).collect(),
            linear: Linear::new(maxima.len()),
            random: Pcg64Mcg::seed_from_u64(seed),
            sight,
        }
    }

    /// What was learned, for features as they are.
    pub fn weights(&self) -> Vec<f64> {
        self.linear.weights.iter().zip(&self.factors).map(|(weight, factor)| weight * factor).collect()
    }

    /// The features of a state of the game's own network, normalised.
    fn look(&mut self, state: &[u64]) -> Vec<f64> {
        self.values.jump(&self.sight.views.state(state));
        self.features().collect()
    }

    fn features(&self) -> impl Iterator<Item = f64> {
        self.values.values().iter().zip(&self.factors).map(|(&value, factor)| f64::from(value) * factor)
    }

    /// What the current state is worth.
    fn worth(&mut self) -> f64 {
        if self.values.machine().terminal() {
            return self.values.goal(self.role).map_or(0.0, reward);
        }
        let features: Vec<f64> = self.features().collect();
        self.linear.value(&features)
    }

    /// The best move in a state, as one of the game's own, and what it is worth.
    fn best(&mut self, state: &[u64]) -> (u32, f64) {
        self.values.jump(&self.sight.views.state(state));
        let legal = legal_moves(self.values.machine());
        let own = self.role.0 as usize;
        let mut joint: Vec<u32> = legal.iter().map(|moves| moves[self.random.random_range(0..moves.len())]).collect();
        let (mut best, mut n_best, mut found) = (f64::NEG_INFINITY, 0u32, legal[own][0]);
        for &chosen in &legal[own] {
            joint[own] = chosen;
            self.values.make(&joint);
            let worth = self.worth();
            self.values.unmake();
            if worth > best {
                (best, n_best) = (worth, 0);
            }
            if worth == best {
                n_best += 1;
                if self.random.random_range(0..n_best) == 0 {
                    found = chosen;
                }
            }
        }
        (self.sight.views.moves()[found as usize], best)
    }

    /// Plays matches against opponents and learns; returns the result of each, where the rules give one. `progress` is told the
    /// results so far after each match, and may end training by returning `false`.
    pub fn train(
        &mut self,
        opponents: &mut dyn Player,
        settings: &Settings,
        progress: &mut dyn FnMut(&[Option<i64>]) -> bool,
    ) -> Vec<Option<i64>> {
        let role = self.role;
        let mut machine = Scalar::new(scalar::Compiled::new(self.sight.game.circuit.network.clone()));
        let mut trainee = Trainee { learner: self, settings, seen: Vec::new(), by_chance: false };
        let mut results = Vec::new();
        for _ in 0..settings.matches {
            results.push(play(&mut machine, role, &mut trainee, opponents, settings.plies)[role.0 as usize]);
            if !progress(&results) {
                break;
            }
        }
        results
    }

    /// Plays matches without learning; returns the results of all roles in each.
    pub fn evaluate(&mut self, opponents: &mut dyn Player, settings: &Settings) -> Vec<Vec<Option<i64>>> {
        let role = self.role;
        let mut machine = Scalar::new(scalar::Compiled::new(self.sight.game.circuit.network.clone()));
        let mut one = |_| play(&mut machine, role, &mut Frozen(self), opponents, settings.plies);
        (0..settings.evaluation).map(&mut one).collect()
    }
}

impl Player for Learner {
    /// Chooses for its own role, whatever it is asked for.
    fn choose(&mut self, state: &[u64], role: RoleId, _: &Limit) -> Answer {
        debug_assert_eq!(role, self.role, "weights are of one role");
        let (chosen, worth) = self.best(state);
        let n_roles = self.sight.game.universe.roles.len();
        let mut answer =
            Answer { joint: vec![0; n_roles], values: vec![f32::NAN; n_roles], depth: 1, ..Answer::default() };
        answer.joint[role.0 as usize] = chosen;
        answer.values[role.0 as usize] = (worth + 0.5) as f32;
        answer
    }
}

/// A learner that learns.
struct Trainee<'a> {
    learner: &'a mut Learner,
    settings: &'a Settings,
    /// The features of the current state.
    seen: Vec<f64>,
    /// Whether the last move was made by chance.
    by_chance: bool,
}

impl Actor for Trainee<'_> {
    fn begin(&mut self, machine: &mut Scalar) {
        self.learner.linear.forget();
        self.seen = self.learner.look(machine.bits());
    }

    fn choose(&mut self, machine: &mut Scalar, legal: &[u32]) -> u32 {
        let random = &mut self.learner.random;
        self.by_chance = legal.len() > 1 && random.random_bool(self.settings.epsilon);
        match legal {
            [only] => *only,
            _ if self.by_chance => legal[random.random_range(0..legal.len())],
            _ => self.learner.best(machine.bits()).0,
        }
    }

    fn after(&mut self, machine: &mut Scalar) {
        let learner = &mut *self.learner;
        let next = if machine.terminal() { None } else { Some(learner.look(machine.bits())) };
        if self.by_chance {
            learner.linear.forget();
        } else {
            let to = match &next {
                Some(features) => Next::State(features),
                None => Next::End(machine.goal(learner.role).map_or(0.0, reward)),
            };
            learner.linear.step(&self.settings.rates, &self.seen, to);
        }
        self.seen = next.unwrap_or_default();
    }
}

/// A learner that plays.
struct Frozen<'a>(&'a mut Learner);

impl Actor for Frozen<'_> {
    fn choose(&mut self, machine: &mut Scalar, legal: &[u32]) -> u32 {
        if let [only] = legal { *only } else { self.0.best(machine.bits()).0 }
    }
}

/// A learner for each role, as one model for search: what it expects is what they do, moved between 0 and 1.
pub fn model(learners: &[Learner]) -> Option<Model> {
    let sight = learners.first()?.sight.clone();
    let n_sets = sight.stages.n_sets();
    let n_slots = sight.n_slots();
    let weights = |learner: &Learner| Weights {
        bias: vec![0.0; n_sets],
        features: vec![learner.weights().iter().map(|&weight| weight as f32).collect(); n_sets],
        slots: vec![vec![0.0; n_slots]; n_sets],
    };
    Model::fitting(sight, learners.iter().map(weights).collect(), Sum::Free).ok()
}

/// The learner's part of all that it and its opponents in the mean got; a half where nobody got anything.
pub fn share(own: f64, others: f64) -> f64 {
    if own + others > 0.0 { own / (own + others) } else { 0.5 }
}

#[cfg(test)]
mod tests;
