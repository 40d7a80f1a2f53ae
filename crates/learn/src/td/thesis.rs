//! TD(λ) as in the feature construction thesis (Günther 2008): a vector of weights for each role, learned in matches against an
//! opponent that does not learn.
//!
//! The learner looks one move ahead. What others do at the same time is drawn by chance once, and stays while its own moves are
//! compared. A share ε of its moves is made by chance, after which traces begin anew and nothing is learned from the step. It
//! learns at every joint move, also where it has but one legal move; such a move counts as chosen.
//!
//! Where the thesis says nothing: weights begin at 0, once for the whole run; a move that ends the match counts by its reward;
//! equal moves are drawn by chance.
//!
//! The learners of all roles are trained side by side, in generations of some matches each. All chance of a match comes from its
//! number, and traces begin anew with each match; so weights and the number of matches are all that is needed to go on later.

use std::sync::Arc;

use features::evaluate::incremental::Values;
use features::game::Game;
use features::positions::Positions;
use machine::RoleId;
use machine::scalar::{self, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{Limit, Player, legal_moves};

use super::update::{Linear, Next, Rates, reward};
use super::{Actor, Opponents, play};
use crate::course::{CourseError, Stored, pack, unpack};
use crate::model::{Model, Sum, Weights};
use crate::sight::Sight;

/// How training goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// Matches of training, for each role.
    pub matches: u32,
    /// How many of them are a generation.
    pub generation: u32,
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
        Settings {
            seed: 1,
            matches: 2_000,
            generation: 50,
            evaluation: 400,
            rates: Rates::default(),
            epsilon: 0.1,
            plies: 1_000,
        }
    }
}

/// A role's player.
struct Learner {
    sight: Arc<Sight>,
    values: Values,
    role: RoleId,
    /// What each feature is multiplied with, so that it is at most 1 in the sample.
    factors: Vec<f64>,
    linear: Linear,
    random: Pcg64Mcg,
}

impl Learner {
    /// A player whose weights are all 0. `maxima` are the greatest values of the features in a sample, one for each.
    fn new(sight: Arc<Sight>, role: RoleId, maxima: &[i32]) -> Learner {
        assert_eq!(maxima.len(), sight.features.len(), "each feature has a greatest value");
        Learner {
            values: Values::new(sight.compiled.clone()),
            role,
            factors: maxima.iter().map(|&max| 1.0 / f64::from(max.max(1))).collect(),
            linear: Linear::new(maxima.len()),
            random: Pcg64Mcg::seed_from_u64(0),
            sight,
        }
    }

    /// What was learned, for features as they are.
    fn weights(&self) -> Vec<f64> {
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

    /// The best move in a state, as one of the game's own.
    fn best(&mut self, state: &[u64]) -> u32 {
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
        self.sight.views.moves()[found as usize]
    }

    /// Plays a match against opponents and learns from it; its result, where the rules give one. All own chance comes from the
    /// seed.
    fn learn(
        &mut self,
        machine: &mut Scalar,
        opponents: &mut dyn Player,
        settings: &Settings,
        seed: u64,
    ) -> Option<i64> {
        let role = self.role;
        self.random = Pcg64Mcg::seed_from_u64(seed);
        let mut trainee = Trainee { learner: self, settings, seen: Vec::new(), by_chance: false };
        play(machine, role, &mut trainee, opponents, settings.plies)[role.0 as usize]
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
            _ => self.learner.best(machine.bits()),
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

/// Another player that plays a role.
struct Asked<'a> {
    player: &'a mut dyn Player,
    role: RoleId,
}

impl Actor for Asked<'_> {
    fn choose(&mut self, machine: &mut Scalar, legal: &[u32]) -> u32 {
        match legal {
            [only] => *only,
            _ => self.player.choose(machine.bits(), self.role, &Limit::nodes(u64::MAX)).joint[self.role.0 as usize],
        }
    }
}

/// A learner that plays.
struct Frozen<'a>(&'a mut Learner);

impl Actor for Frozen<'_> {
    fn choose(&mut self, machine: &mut Scalar, legal: &[u32]) -> u32 {
        if let [only] = legal { *only } else { self.0.best(machine.bits()) }
    }
}

/// What came of a generation.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Generation {
    /// Matches of each role so far.
    pub n_matches: u32,
    /// The mean result of each role in this generation's matches; nothing where none ended.
    pub results: Vec<Option<f64>>,
}

/// A learner for each role, all of them with the same features, under way.
pub struct Training {
    settings: Settings,
    opponents: Opponents,
    machine: Scalar,
    maxima: Vec<i32>,
    learners: Vec<Learner>,
    history: Vec<Generation>,
}

/// What a role gets in matches in which nothing is learned or tried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Its result in each match that ended.
    pub own: Vec<f64>,
    /// The mean of its opponents' results there; in a game for one, what the opponent gets when it plays alone.
    pub others: Vec<f64>,
}

impl Training {
    /// Begins with weights that are all 0. `maxima` are the greatest values of the sight's features in a sample. It is refused
    /// where there are no opponents.
    pub fn begin(sight: &Arc<Sight>, maxima: Vec<i32>, settings: Settings) -> Result<Training, CourseError> {
        let opponents = Opponents::new(&sight.game).map_err(CourseError::Sight)?;
        let roles = (0..sight.game.universe.roles.len() as u32).map(RoleId);
        Ok(Training {
            learners: roles.map(|role| Learner::new(sight.clone(), role, &maxima)).collect(),
            machine: Scalar::new(scalar::Compiled::new(sight.game.circuit.network.clone())),
            settings,
            opponents,
            maxima,
            history: Vec::new(),
        })
    }

    /// Plays one more generation: some matches of each role. If `stop` says so it ends early, nothing is changed, and the answer
    /// is no, as it is when all matches were played.
    pub fn go_on(&mut self, stop: &dyn Fn() -> bool) -> bool {
        let done = self.history.last().map_or(0, |last| last.n_matches);
        let end = self.settings.matches.min(done.saturating_add(self.settings.generation.max(1)));
        let before: Vec<Linear> = self.learners.iter().map(|learner| learner.linear.clone()).collect();
        let mut means = Vec::new();
        for learner in &mut self.learners {
            let mut known = (0.0, 0u32);
            for number in done..end {
                if stop() {
                    self.learners.iter_mut().zip(before).for_each(|(learner, linear)| learner.linear = linear);
                    return false;
                }
                let seed = seed(&self.settings, learner.role, number);
                let mut opponents = self.opponents.player(!seed);
                if let Some(goal) = learner.learn(&mut self.machine, &mut opponents, &self.settings, seed) {
                    known = (known.0 + goal as f64, known.1 + 1);
                }
            }
            means.push((known.1 > 0).then(|| known.0 / f64::from(known.1)));
        }
        if end > done {
            self.history.push(Generation { n_matches: end, results: means });
        }
        end > done
    }

    /// Plays the evaluation's matches as a role, as many of them as `stop` allows, but at least one.
    pub fn evaluate(&mut self, role: RoleId, stop: &dyn Fn() -> bool) -> Trial {
        let (learner, plies) = (&mut self.learners[role.0 as usize], self.settings.plies);
        let mut trial = Trial::default();
        for number in 0..self.settings.evaluation {
            if number > 0 && stop() {
                break;
            }
            // Other matches than those of training.
            let seed = seed(&self.settings, role, u32::MAX - number);
            learner.random = Pcg64Mcg::seed_from_u64(seed);
            let mut other = self.opponents.player(!seed);
            let results = play(&mut self.machine, role, &mut Frozen(learner), &mut other, plies);
            let known: Option<Vec<i64>> = results.into_iter().collect();
            let Some(mut others) = known else { continue };
            trial.own.push(others.remove(role.0 as usize) as f64);
            if others.is_empty() {
                let mut alone = Asked { player: &mut self.opponents.player(!seed), role };
                let results = play(&mut self.machine, role, &mut alone, &mut other, plies);
                others.extend(results.into_iter().flatten());
            }
            trial.others.push(others.iter().sum::<i64>() as f64 / others.len().max(1) as f64);
        }
        trial
    }

    /// The learners as one model: what it expects is what they do, moved between 0 and 1.
    pub fn model(&self) -> Arc<Model> {
        let sight = &self.learners[0].sight;
        let (n_sets, n_slots) = (sight.stages.n_sets(), sight.n_slots());
        let weights = |learner: &Learner| Weights {
            bias: vec![0.0; n_sets],
            features: vec![learner.weights().iter().map(|&weight| weight as f32).collect(); n_sets],
            slots: vec![vec![0.0; n_slots]; n_sets],
        };
        Arc::new(Model::new(sight.clone(), self.learners.iter().map(weights).collect(), Sum::Free))
    }

    /// What came of each generation.
    pub fn history(&self) -> &[Generation] {
        &self.history
    }

    /// What is needed to go on later.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            model: Stored::new(&self.model(), None),
            maxima: self.maxima.clone(),
            weights: self.learners.iter().map(|learner| learner.linear.weights.clone()).collect(),
            history: self.history.clone(),
        }
    }

    /// Goes on where training was left.
    pub fn resume(game: Arc<Game>, kept: Checkpoint, settings: Settings) -> Result<Training, CourseError> {
        let sight = &kept.model.load(game)?.sight;
        let n_features = sight.features.len();
        let fits = kept.maxima.len() == n_features
            && kept.weights.len() == sight.game.universe.roles.len()
            && kept.weights.iter().all(|weights| weights.len() == n_features)
            && kept.weights.iter().flatten().all(|weight| weight.is_finite());
        if !fits {
            return Err(CourseError::Kept("its weights are damaged".to_owned()));
        }
        let mut training = Training::begin(sight, kept.maxima, settings)?;
        let learners = training.learners.iter_mut();
        learners.zip(kept.weights).for_each(|(learner, weights)| learner.linear.weights = weights);
        training.history = kept.history;
        Ok(training)
    }
}

/// Training as it is kept.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The model that it has come to.
    pub model: Stored,
    /// The greatest values of the features in a sample.
    pub maxima: Vec<i32>,
    /// Each role's weights, for normalised features.
    pub weights: Vec<Vec<f64>>,
    /// What came of each generation.
    pub history: Vec<Generation>,
}

/// What kept bytes begin with: what they are, and the version of the format.
const CHECKPOINT: &[u8; 8] = b"senet-g1";

impl Checkpoint {
    /// As bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        pack(CHECKPOINT, self)
    }

    /// From kept bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Checkpoint, CourseError> {
        unpack(CHECKPOINT, bytes)
    }
}

/// The seed of a role's match.
fn seed(settings: &Settings, role: RoleId, number: u32) -> u64 {
    let at = u64::from(role.0) << 32 | u64::from(number);
    settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at).wrapping_mul(0xd134_2543_de82_ef95)
}

/// The greatest value of each feature in positions of random play.
pub fn maxima(sight: &Sight, positions: &Positions) -> Vec<i32> {
    let sample = (0..positions.len()).filter(|&at| positions.levels[at] == 0 && !positions.terminal[at]);
    let rows = sight.rows(sample.map(|at| positions.state(at)));
    let mut maxima = vec![0; sight.features.len()];
    for values in rows.values.chunks(maxima.len().max(1)) {
        maxima.iter_mut().zip(values).for_each(|(max, value)| *max = value.abs().max(*max));
    }
    maxima
}

/// The learner's part of all that it and its opponents in the mean got; a half where nobody got anything.
pub fn share(own: f64, others: f64) -> f64 {
    if own + others > 0.0 { own / (own + others) } else { 0.5 }
}

#[cfg(test)]
mod tests;
