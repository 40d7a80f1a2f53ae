//! TD(λ) by self-play, with search: the same idea as in [`super::thesis`], without what held it back.
//!
//! - *Afterstates and leaves* (TD-leaf, Baxter, Tridgell and Weaver 1998): what is judged is the end of the line that a shallow
//!   search expects. At depth 1 that is the state after the best move, so nothing depends on what is about to happen next.
//! - *Former selves*: part of the matches is played against frozen copies of the model, drawn from a pool, so that what was once
//!   learned to beat is not forgotten.
//! - *Errors in nats*: weights move along the gradient of the log-loss, which does not vanish where the model is sure and wrong.
//! - *A step size of its own for each weight* (AdaGrad, Duchi, Hazan and Singer 2011), so that rare patterns learn as fast as
//!   features that are always there; features are measured by their greatest value so far, and a step is shared by all weights
//!   that count in a state, so that no more features mean no larger steps. All steps grow smaller in time.
//!
//! - *A beginning*: the first weights are fitted to the positions of played matches that features were chosen by, so that there is
//!   something to be learned also where play by chance never gets anything.
//! - *A line to follow* in games for one, where chance seldom gets anything: the best that search finds from the start is played
//!   once in each generation, and learned from.
//!
//! Matches are played in batches, during which weights do not change: so the number of threads changes nothing in the result.
//! A move by chance ends a chain of expectations: what came of it says nothing about the line that was expected. Some batches
//! are a generation, after which training can be kept, and gone on with later.

use std::sync::Arc;

use features::feature::Feature;
use features::game::Game;
use features::positions::Positions;
use machine::RoleId;
use machine::scalar::{self, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::match_play::on_threads;
use search::{AlphaBeta, Answer, Limit, Player, alpha_beta, legal_moves};

use crate::alone;
use crate::course::{CourseError, Stored, pack, unpack};
use crate::example::Examples;
use crate::model::{Judge, Model, Sum, Weights};
use crate::seat::Seat;
use crate::self_play;
use crate::sight::{PatternSettings, Rows, Sight};
use crate::stage::Stages;
use crate::teach::{self, teach};

/// How training goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// The most features.
    pub features: usize,
    /// The most stages of a match that have weights of their own.
    pub stages: usize,
    /// The tables of patterns, if there are to be any.
    pub patterns: Option<PatternSettings>,
    /// How the first weights are fitted to played positions; else they are 0.
    pub teach: Option<teach::Settings>,
    /// Matches of a generation.
    pub generation: u32,
    /// Matches that are played with the same weights.
    pub batch: u32,
    /// How much the sum behind an expectation changes by the first steps, about.
    pub alpha: f64,
    /// After so many matches, steps are half as large as they would be.
    pub half_life: f64,
    /// How far back a surprise reaches: λ.
    pub lambda: f64,
    /// The share of moves that are made by chance.
    pub epsilon: f64,
    /// The most joint moves of an opening by chance; its length is drawn for each match.
    pub opening: u32,
    /// How deep searches go, and how many states they visit at most.
    pub depth: u32,
    /// How many states they visit at most.
    pub nodes: u64,
    /// The share of matches in which one role alone is played by the model, and the others by a former self.
    pub frozen: f64,
    /// Former selves in the pool; the oldest but the first are forgotten.
    pub pool: usize,
    /// Matches between two former selves.
    pub refresh: u32,
    /// Joint moves in a match; longer ones are given up.
    pub plies: u32,
    /// Threads; they change nothing in the result.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            features: 60,
            stages: 4,
            patterns: Some(PatternSettings::default()),
            teach: Some(teach::Settings::default()),
            generation: 32,
            batch: 8,
            alpha: 0.5,
            half_life: 1_000.0,
            lambda: 0.7,
            epsilon: 0.05,
            opening: 4,
            depth: 2,
            nodes: 400,
            frozen: 0.3,
            pool: 8,
            refresh: 96,
            plies: 400,
            threads: 1,
        }
    }
}

/// What came of a generation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Generation {
    /// Matches played to their end in all generations so far.
    pub n_matches: u32,
    /// Matches that this generation played to their end.
    pub n_ended: u32,
    /// Positions that were learned from; each counts for every role with weights.
    pub n_new: usize,
    /// For each role with weights the mean loss in nats of what was expected, against what should have been.
    pub losses: Vec<f64>,
    /// Of the matches against former selves, the model's results summed up as parts of 100 points, and how many they were.
    pub against_former: (f64, u32),
    /// Each role's mean result, as a part of 100 points.
    pub results: Vec<f64>,
    /// If it was measured, the part of the points that the model gets against the one that training began with, both one move
    /// ahead.
    pub strength: Option<f32>,
}

/// How often strength is measured, in generations, and in how many matches.
const STRENGTH_EVERY: u32 = 8;
const STRENGTH_MATCHES: u32 = 128;

/// A model that expects a half everywhere.
pub fn zeros(sight: &Arc<Sight>, sum: Sum) -> Model {
    let n_sets = sight.stages.n_sets();
    let n_slots = sight.n_slots();
    let none = Weights {
        bias: vec![0.0; n_sets],
        features: vec![vec![0.0; sight.features.len()]; n_sets],
        slots: vec![vec![0.0; n_slots]; n_sets],
    };
    let n_roles = if sum == Sum::Shared { 1 } else { sight.game.universe.roles.len() };
    Model::new(sight.clone(), vec![none; n_roles], sum)
}

/// A model that is trained.
pub struct Training {
    settings: Settings,
    /// What changes from one generation to the next.
    state: State,
    /// The model that it began with.
    first: Arc<Model>,
    /// For a game with one role: whether no line is better than the one that is known.
    solved: bool,
    history: Vec<Generation>,
}

#[derive(Clone)]
struct State {
    model: Arc<Model>,
    /// Former selves.
    pool: Vec<Arc<Model>>,
    /// For each weight, its squared slopes so far.
    squares: Vec<Weights>,
    /// For each feature, its greatest value so far.
    largest: Vec<f64>,
    /// Matches so far, also those that did not end.
    n_played: u32,
}

impl Training {
    /// Begins with the first of some features, which are the best, and patterns.
    pub fn begin(
        game: Arc<Game>,
        positions: &Positions,
        features: Vec<Feature>,
        settings: Settings,
    ) -> Result<Training, CourseError> {
        let shared = game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2;
        let sum = if shared { Sum::Shared } else { Sum::Free };
        let stages = Stages::find(&game, positions, settings.stages);
        let features = features.into_iter().take(settings.features).collect();
        let sight = Sight::new(game, features, settings.patterns.as_ref(), &stages).map_err(CourseError::Sight)?;
        let sight = Arc::new(sight);
        let model = match &settings.teach {
            Some(how) => teach(&sight, &Examples::of(positions), sum, None, how).map_err(CourseError::Fit)?.0,
            None => zeros(&sight, sum),
        };
        Ok(Training::from_model(Arc::new(model), settings))
    }

    /// Begins with a model, whose patterns were proposed as the settings say.
    pub fn from_model(model: Arc<Model>, settings: Settings) -> Training {
        let state = State {
            pool: vec![model.clone()],
            squares: zeros(&model.sight, model.sum).weights,
            largest: vec![1.0; model.sight.features.len()],
            n_played: 0,
            model: model.clone(),
        };
        let begin = Generation { strength: Some(0.5), ..Generation::default() };
        Training { settings, state, first: model, solved: false, history: vec![begin] }
    }

    /// Plays one more generation. If `stop` says so it ends early, nothing is changed but the line that is known of a game with
    /// one role, and the answer is no.
    pub fn go_on(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> bool {
        let number = self.history.len() as u64;
        let seed = self.settings.seed.wrapping_mul(1_000_003).wrapping_add(number);
        if !self.solved
            && let Some((better, solved)) = alone::look(&self.state.model, number, seed, stop)
        {
            (self.state.model, self.solved) = (better, solved);
        }
        let before = self.state.clone();
        let mut generation = Generation {
            losses: vec![0.0; before.model.weights.len()],
            results: vec![0.0; before.model.sight.game.universe.roles.len()],
            ..Generation::default()
        };
        let end = before.n_played.saturating_add(self.settings.generation.max(1));
        while self.state.n_played < end {
            self.batch(end, &mut generation);
            if stop() {
                self.state = before;
                return false;
            }
        }
        let n_new = generation.n_new.max(1) as f64;
        generation.losses.iter_mut().for_each(|loss| *loss /= n_new);
        let n_ended = f64::from(generation.n_ended.max(1));
        generation.results.iter_mut().for_each(|result| *result /= n_ended);
        let n_before = self.history.last().map_or(0, |last| last.n_matches);
        generation.n_matches = n_before.saturating_add(generation.n_ended);
        let n_roles = generation.results.len();
        if number.is_multiple_of(u64::from(STRENGTH_EVERY)) && n_roles > 1 {
            let play = self_play::Settings {
                // Other matches than those that were just learned from.
                seed: !seed,
                matches: STRENGTH_MATCHES,
                opening: self.settings.opening,
                plies: self.settings.plies,
                threads: self.settings.threads,
                ..self_play::Settings::default()
            };
            generation.strength = self_play::contest(&self.state.model, &self.first, &play, stop);
        }
        self.history.push(generation);
        true
    }

    /// Plays some matches with the same weights, up to the one numbered `end`, and learns from them.
    fn batch(&mut self, end: u32, generation: &mut Generation) {
        let Training { settings, state, .. } = self;
        let State { model, pool, squares, largest, n_played } = state;
        let numbers = *n_played..end.min(n_played.saturating_add(settings.batch.max(1)));
        let mut records = play_batch(model, pool, settings, numbers.clone());
        if numbers.start.saturating_add(settings.generation.max(1)) == end && !model.line.is_empty() {
            records[0] = follow(model);
        }
        let mut weights = model.weights.clone();
        for (number, record) in numbers.clone().zip(&records) {
            let Some(results) = &record.results else { continue };
            generation.n_ended += 1;
            generation.results.iter_mut().zip(results).for_each(|(sum, result)| *sum += result);
            if let Some(role) = record.alone {
                generation.against_former.0 += results[role.0 as usize];
                generation.against_former.1 += 1;
            }
            let alpha = settings.alpha / (1.0 + f64::from(number) / settings.half_life);
            let rows = model.sight.rows(record.leaves.iter().map(|leaf| leaf.state.as_slice()));
            for values in rows.values.chunks(largest.len().max(1)) {
                largest.iter_mut().zip(values).for_each(|(max, &value)| *max = f64::max(*max, f64::from(value).abs()));
            }
            let steps = Steps { sight: &model.sight, rows: &rows, largest, alpha };
            for role in 0..weights.len() {
                let chain = expectations(model, &steps, &record.leaves, role);
                let targets = targets(&chain, results[role], settings.lambda);
                for (at, (link, target)) in chain.iter().zip(targets).enumerate() {
                    let (Some(target), false) = (target, link.exact) else { continue };
                    generation.n_new += usize::from(role == 0);
                    generation.losses[role] += loss(link.value, target);
                    steps.step(at, target - link.value, &mut weights[role], &mut squares[role]);
                }
            }
        }
        *model = Arc::new(Model::new(model.sight.clone(), weights, model.sum).knowing(model.line.clone()));
        if numbers.end / settings.refresh.max(1) > numbers.start / settings.refresh.max(1) {
            pool.push(model.clone());
            if pool.len() > settings.pool.max(1) {
                pool.remove(1.min(pool.len() - 1));
            }
        }
        *n_played = numbers.end;
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.state.model
    }

    /// What came of each generation; the first is the beginning.
    pub fn history(&self) -> &[Generation] {
        &self.history
    }

    /// What is needed to go on later.
    pub fn checkpoint(&self) -> Checkpoint {
        let State { model, pool, squares, largest, n_played } = &self.state;
        Checkpoint {
            model: Stored::new(model, self.settings.patterns.clone()),
            first: self.first.weights.clone(),
            pool: pool.iter().map(|former| former.weights.clone()).collect(),
            squares: squares.clone(),
            largest: largest.clone(),
            n_played: *n_played,
            solved: self.solved,
            history: self.history.clone(),
        }
    }

    /// Goes on where training was left.
    pub fn resume(game: Arc<Game>, kept: Checkpoint, settings: Settings) -> Result<Training, CourseError> {
        let model = kept.model.load(game)?;
        let again = |weights: Vec<Weights>| {
            Model::fitting(model.sight.clone(), weights, model.sum).map(Arc::new).map_err(CourseError::Kept)
        };
        let sound = !kept.history.is_empty()
            && !kept.pool.is_empty()
            && kept.largest.len() == model.sight.features.len()
            && kept.largest.iter().all(|largest| largest.is_finite() && *largest >= 1.0)
            && kept.pool.iter().chain([&kept.first, &kept.squares]).flatten().all(Weights::are_finite)
            && again(kept.squares.clone()).is_ok();
        if !sound {
            return Err(CourseError::Kept("its weights are damaged".to_owned()));
        }
        Ok(Training {
            settings: Settings { patterns: kept.model.patterns.clone(), ..settings },
            first: again(kept.first)?,
            state: State {
                pool: kept.pool.into_iter().map(again).collect::<Result<_, _>>()?,
                squares: kept.squares,
                largest: kept.largest,
                n_played: kept.n_played,
                model,
            },
            solved: kept.solved,
            history: kept.history,
        })
    }
}

/// Training as it is kept.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The model.
    pub model: Stored,
    /// The weights of the model that it began with.
    pub first: Vec<Weights>,
    /// The weights of former selves.
    pub pool: Vec<Vec<Weights>>,
    /// For each weight, its squared slopes so far.
    pub squares: Vec<Weights>,
    /// For each feature, its greatest value so far.
    pub largest: Vec<f64>,
    /// Matches so far, also those that did not end.
    pub n_played: u32,
    /// For a game with one role: whether no line is better than the one that is known.
    pub solved: bool,
    /// What came of each generation.
    pub history: Vec<Generation>,
}

/// What kept bytes begin with: what they are, and the version of the format.
const CHECKPOINT: &[u8; 8] = b"senet-i1";

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

/// The match of a game with one role in which the line that is known is played.
fn follow(model: &Model) -> Record {
    let mut machine = Scalar::new(scalar::Compiled::new(model.sight.game.circuit.network.clone()));
    let mut record = Record { leaves: Vec::new(), results: None, alone: None };
    for &chosen in &model.line {
        machine.make(&[chosen]);
        record.leaves.push(leaf(&mut machine, &[], false));
    }
    record.results = results(&mut machine);
    record
}

/// The loss of an expectation where something else should have been expected, in nats.
fn loss(expected: f64, target: f64) -> f64 {
    let expected = expected.clamp(1e-9, 1.0 - 1e-9);
    -target * expected.ln() - (1.0 - target) * (1.0 - expected).ln()
}

/// A state that is judged.
struct Leaf {
    /// As the game's own network has it.
    state: Vec<u64>,
    /// Each role's result, if the match is over there.
    results: Option<Vec<f64>>,
    /// Whether the move that followed was made by chance.
    by_chance: bool,
}

struct Record {
    leaves: Vec<Leaf>,
    /// Each role's result as a part of 100 points.
    results: Option<Vec<f64>>,
    /// The role that the model played, if the others were played by a former self.
    alone: Option<RoleId>,
}

fn play_batch(
    model: &Arc<Model>,
    pool: &[Arc<Model>],
    settings: &Settings,
    numbers: std::ops::Range<u32>,
) -> Vec<Record> {
    let compiled = scalar::Compiled::new(model.sight.game.circuit.network.clone());
    on_threads(
        numbers,
        settings.threads,
        || Scalar::new(compiled.clone()),
        |machine, number| {
            let seed = settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(number));
            Some(one(machine, model, pool, settings, seed))
        },
    )
}

fn player(model: &Arc<Model>, settings: &Settings, seed: u64) -> Seat<AlphaBeta<Judge>> {
    let settings = alpha_beta::Settings { depth: settings.depth.max(1), bytes: 1 << 16, ..Default::default() };
    Seat::new(AlphaBeta::new(model.judge(), model.sight.nature.clone(), settings, seed), model.sight.clone())
}

fn one(machine: &mut Scalar, model: &Arc<Model>, pool: &[Arc<Model>], settings: &Settings, seed: u64) -> Record {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let n_roles = machine.network().roles.len() as u32;
    let against_former = n_roles > 1 && random.random_bool(settings.frozen);
    let alone = against_former.then(|| RoleId(random.random_range(0..n_roles)));
    let mut own = player(model, settings, seed);
    let mut former = alone.map(|_| player(&pool[random.random_range(0..pool.len())], settings, seed + 1));
    let opening = random.random_range(0..=settings.opening);
    let initial = machine.compiled().initial().to_vec();
    machine.jump(&initial);
    let mut record = Record { leaves: Vec::new(), results: None, alone };
    let limit = Limit::nodes(settings.nodes);
    for ply in 0..settings.plies {
        let legal = legal_moves(machine);
        if machine.terminal() || legal.iter().any(Vec::is_empty) {
            break;
        }
        let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
        let n_choosing = legal.iter().filter(|moves| moves.len() > 1).count();
        let (mut expected, mut by_chance): (Option<Answer>, bool) = (None, false);
        for (at, moves) in legal.iter().enumerate().filter(|(_, moves)| moves.len() > 1) {
            let role = RoleId(at as u32);
            let tries = ply < opening || random.random_bool(settings.epsilon);
            if tries {
                by_chance = true;
                joint[at] = moves[random.random_range(0..moves.len())];
            }
            // Where one role has the choice, the model says what it expects, whoever plays.
            let is_former = alone.is_some_and(|alone| alone != role);
            if ply >= opening && (n_choosing == 1 || !is_former) {
                expected = Some(own.choose(machine.bits(), role, &limit));
            }
            if !tries {
                let answer = match &mut former {
                    Some(former) if is_former => Some(former.choose(machine.bits(), role, &limit)),
                    _ => expected.clone(),
                };
                joint[at] = answer.map_or(moves[0], |answer| answer.joint[at]);
            }
        }
        if n_choosing == 1 && ply >= opening {
            let line = expected.map(|answer| if answer.line.is_empty() { vec![joint.clone()] } else { answer.line });
            record.leaves.push(leaf(machine, &line.unwrap_or_default(), by_chance));
        }
        machine.make(&joint);
        if n_choosing > 1 && ply >= opening {
            if let Some(last) = record.leaves.last_mut() {
                last.by_chance |= by_chance;
            }
            record.leaves.push(leaf(machine, &[], false));
        }
    }
    record.results = results(machine);
    record
}

/// The state at the end of a line.
fn leaf(machine: &mut Scalar, line: &[Vec<u32>], by_chance: bool) -> Leaf {
    let mut made = 0;
    for joint in line {
        let legal = legal_moves(machine);
        if machine.terminal() || !legal.iter().zip(joint).all(|(moves, chosen)| moves.contains(chosen)) {
            break;
        }
        machine.make(joint);
        made += 1;
    }
    let leaf = Leaf { state: machine.bits().to_vec(), results: results(machine), by_chance };
    (0..made).for_each(|_| machine.unmake());
    leaf
}

/// Each role's result, if the match is over.
fn results(machine: &mut Scalar) -> Option<Vec<f64>> {
    if !machine.terminal() {
        return None;
    }
    let n_roles = machine.network().roles.len() as u32;
    (0..n_roles).map(|role| machine.goal(RoleId(role)).map(|goal| goal as f64 / 100.0)).collect()
}

/// What is expected at a leaf.
#[derive(Clone, Copy, Debug)]
struct Link {
    value: f64,
    /// Whether it is no expectation but a result.
    exact: bool,
    by_chance: bool,
}

fn expectations(model: &Model, steps: &Steps, leaves: &[Leaf], role: usize) -> Vec<Link> {
    let link = |(at, leaf): (usize, &Leaf)| match &leaf.results {
        Some(results) => Link { value: results[role], exact: true, by_chance: leaf.by_chance },
        None => Link { value: steps.value(at, &model.weights[role]), exact: false, by_chance: leaf.by_chance },
    };
    leaves.iter().enumerate().map(link).collect()
}

/// What should have been expected at each leaf: a mixture of what was expected later, up to the next move by chance, and the
/// result. Nothing where the move that followed was made by chance.
fn targets(chain: &[Link], result: f64, lambda: f64) -> Vec<Option<f64>> {
    let mut targets = vec![None; chain.len()];
    let (mut next, mut reach) = (result, result);
    for (at, link) in chain.iter().enumerate().rev() {
        if link.by_chance {
            reach = link.value;
        } else {
            let target = (1.0 - lambda) * next + lambda * reach;
            targets[at] = Some(target);
            reach = target;
        }
        next = link.value;
        if link.exact {
            reach = link.value;
        }
    }
    targets
}

/// Steps of the weights from the leaves of a match.
struct Steps<'a> {
    sight: &'a Sight,
    rows: &'a Rows,
    /// The greatest value of each feature so far.
    largest: &'a [f64],
    alpha: f64,
}

/// What squared slopes begin with, so that small surprises make small steps from the beginning.
const FIRST_SQUARE: f64 = 0.1;

impl Steps<'_> {
    /// The values of features and the slots at a leaf.
    fn seen(&self, at: usize) -> (&[i32], &[u32]) {
        let n_features = self.sight.features.len();
        let n_instances = self.sight.n_met();
        let values = &self.rows.values[at * n_features..(at + 1) * n_features];
        (values, &self.rows.slots[at * n_instances..(at + 1) * n_instances])
    }

    fn value(&self, at: usize, weights: &Weights) -> f64 {
        let (values, slots) = self.seen(at);
        let set = usize::from(self.rows.sets[at]);
        let features =
            values.iter().zip(&weights.features[set]).map(|(&value, &weight)| f64::from(value) * f64::from(weight));
        let looked_up =
            slots.iter().filter_map(|&slot| weights.slots[set].get(slot as usize)).map(|&weight| f64::from(weight));
        let sum = f64::from(weights.bias[set]) + features.sum::<f64>() + looked_up.sum::<f64>();
        1.0 / (1.0 + (-sum).exp())
    }

    /// Moves the weights that count at a leaf, so that more is expected there if the surprise is positive.
    fn step(&self, at: usize, surprise: f64, weights: &mut Weights, squares: &mut Weights) {
        let (values, slots) = self.seen(at);
        let set = usize::from(self.rows.sets[at]);
        let slots = || slots.iter().filter(|&&slot| slot != u32::MAX).map(|&slot| slot as usize);
        let parts = values.iter().zip(self.largest).map(|(&value, largest)| f64::from(value) / largest);
        let alpha = self.alpha / (1.0 + parts.clone().map(f64::abs).sum::<f64>() + slots().count() as f64);
        let go = |weight: &mut f32, square: &mut f32, part: f64, largest: f64| {
            if part != 0.0 {
                let slope = surprise * part;
                *square += (slope * slope) as f32;
                *weight += (alpha * slope / (FIRST_SQUARE + f64::from(*square)).sqrt() / largest) as f32;
            }
        };
        go(&mut weights.bias[set], &mut squares.bias[set], 1.0, 1.0);
        let features = weights.features[set].iter_mut().zip(&mut squares.features[set]);
        for ((weight, square), (part, largest)) in features.zip(parts.zip(self.largest)) {
            go(weight, square, part, *largest);
        }
        for slot in slots() {
            go(&mut weights.slots[set][slot], &mut squares.slots[set][slot], 1.0, 1.0);
        }
    }
}

#[cfg(test)]
mod tests;
