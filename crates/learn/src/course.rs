//! A course: playing and fitting by turns, from the first positions to a model.
//!
//! Every generation plays matches with the model that it has and fits it again to all that was played. Nothing here knows a clock:
//! whoever has one asks for generations until time is up. The same game, settings and number of generations give the same
//! model, whatever the number of threads.

use std::collections::BTreeSet;
use std::sync::Arc;

use features::feature::{self, Feature};
use features::game::Game;
use features::positions::{self, Positions};
use features::reach::Number;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::alone;
use crate::example::Examples;
use crate::fit::FitError;
use crate::model::{Model, Sum, Weights};
use crate::player::Search;
use crate::self_play;
use crate::sight::{PatternSettings, Sight};
use crate::stage::Stages;
use crate::stream::Stream;
use crate::teach::{self, teach};
use crate::ways::Ways;

/// How a course goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// The most stages of a match that have weights of their own.
    pub stages: usize,
    /// The tables of patterns, if there are to be any.
    pub patterns: Option<PatternSettings>,
    /// Whether there are to be tables over ways to goals.
    pub ways: bool,
    /// How fast weights follow what is played.
    pub rate: f32,
    /// Positions that a generation plays, about.
    pub positions: usize,
    /// How each generation plays; the seed and the number of matches are the course's.
    pub play: self_play::Settings,
    /// How weights are fitted.
    pub teach: teach::Settings,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            stages: 4,
            patterns: Some(PatternSettings::default()),
            ways: true,
            rate: 1.5,
            positions: 30_000,
            play: self_play::Settings::default(),
            teach: teach::Settings::default(),
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
    /// Positions met in them.
    pub n_new: usize,
    /// States judged for that.
    pub n_judged: u64,
    /// For each role with weights, how well these positions were predicted before they were learned from: the mean loss, in nats.
    pub losses: Vec<f64>,
    /// In some generations: the part of the points that the model gets against the one that the course began with, both one move
    /// ahead.
    pub strength: Option<f32>,
}

/// States that a generation judges at most, about.
const JUDGED: u64 = 1_500_000;
/// How often strength is measured, in generations, and in how many matches.
const STRENGTH_EVERY: u64 = 8;
const STRENGTH_MATCHES: u32 = 256;

/// A course that is under way.
pub struct Course {
    settings: Settings,
    stream: Stream,
    model: Arc<Model>,
    /// The model that it began with.
    first: Arc<Model>,
    history: Vec<Generation>,
    /// For a game with one role: whether no line is better than the one that is known.
    solved: bool,
}

/// Why there is no course.
#[derive(Debug)]
pub enum CourseError {
    /// The features can't be compiled.
    Sight(String),
    /// The weights can't be fitted.
    Fit(FitError),
    /// What was kept can't be used.
    Kept(String),
}

impl std::fmt::Display for CourseError {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            CourseError::Sight(why) => write!(to, "the features can't be compiled: {why}"),
            CourseError::Fit(why) => write!(to, "the weights can't be fitted: {why}"),
            CourseError::Kept(why) => write!(to, "what was kept can't be used: {why}"),
        }
    }
}

impl std::error::Error for CourseError {}

impl Course {
    /// Begins with positions that were played by simpler means, and features chosen by them.
    pub fn begin(
        game: Arc<Game>,
        positions: &Positions,
        features: Vec<Feature>,
        settings: Settings,
    ) -> Result<Course, CourseError> {
        let stages = Stages::find(&game, positions, settings.stages);
        let shared = game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2;
        let sum = if shared { Sum::Shared } else { Sum::Free };
        let sight =
            Sight::new(game.clone(), features, settings.patterns.as_ref(), &stages).map_err(CourseError::Sight)?;
        let examples = Examples::of(positions);
        let sight = if settings.ways { with_ways(sight, &examples, sum, &settings.teach)? } else { Arc::new(sight) };
        let (model, losses) = teach(&sight, &examples, sum, None, &settings.teach).map_err(CourseError::Fit)?;
        let losses = losses.iter().map(|losses| losses.held_out).collect();
        let stream = Stream::new(&model, &sight.rows(examples.views()));
        Ok(Course::new(Arc::new(model), stream, &examples, losses, settings))
    }

    fn new(model: Arc<Model>, stream: Stream, examples: &Examples, losses: Vec<f64>, settings: Settings) -> Course {
        let n_ended = examples.matches.iter().collect::<BTreeSet<_>>().len() as u32;
        let begin =
            Generation { n_matches: 0, n_ended, n_new: examples.len(), n_judged: 0, losses, strength: Some(0.5) };
        Course { settings, stream, first: model.clone(), model, history: vec![begin], solved: false }
    }

    /// Begins with a model that was learned before: of this game, or taken over from another one.
    pub fn from_model(model: Arc<Model>, positions: &Positions, settings: Settings) -> Course {
        let examples = Examples::of(positions);
        let rows = model.sight.rows(examples.views());
        let stream = Stream::new(&model, &rows);
        // With no rate nothing is learned, and the losses are those of the model as it is.
        let order: Vec<u32> = (0..examples.len() as u32).collect();
        let losses = stream.clone().learn(&rows, &examples.targets, &order, 0.0);
        Course::new(model, stream, &examples, losses, settings)
    }

    /// Plays one more generation and fits the model again. If `stop` says so, playing ends early, nothing is changed but the line
    /// that is known of a game with one role, and the answer is no.
    pub fn go_on(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool, CourseError> {
        let generation = self.history.len() as u64;
        let seed = self.settings.seed.wrapping_mul(1_000_003).wrapping_add(generation);
        if !self.solved
            && let Some((better, solved)) = alone::look(&self.model, generation, seed, stop)
        {
            (self.model, self.solved) = (better, solved);
        }
        let play = self.next_play(seed);
        let played = self_play::play(&self.model, &play, stop);
        if stop() {
            return Ok(false);
        }
        let (n_new, n_ended, n_judged) = (played.rows.sets.len(), played.n_ended, played.n_judged);
        let mut order: Vec<u32> = (0..n_new as u32).collect();
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        let losses = self.stream.learn(&played.rows, &played.targets, &order, self.settings.rate);
        let model = self.stream.model(&self.model.sight, self.model.sum);
        self.model = Arc::new(model.knowing(self.model.line.clone()));
        let n_matches = self.history.last().map_or(0, |last| last.n_matches) + n_ended;
        let strength = if generation.is_multiple_of(STRENGTH_EVERY) && self.model.sight.game.universe.roles.len() > 1 {
            let play = self_play::Settings { matches: STRENGTH_MATCHES, ..play };
            self_play::contest(&self.model, &self.first, &play)
        } else {
            None
        };
        self.history.push(Generation { n_matches, n_ended, n_new, n_judged, losses, strength });
        Ok(true)
    }

    /// How the next generation plays: so many matches that it meets about as many positions as are wanted, and openings that are
    /// not longer than a quarter of a match.
    fn next_play(&self, seed: u64) -> self_play::Settings {
        let last = self.history.last().expect("a course has a beginning");
        let length = (last.n_new as f64 / f64::from(last.n_ended.max(1))).max(1.0);
        // Where a position has many successors, generations are shorter.
        let each = (last.n_judged as f64 / last.n_new.max(1) as f64).max(1.0);
        let most = if last.n_judged == 0 { self.settings.positions / 8 } else { self.settings.positions };
        let positions = (most as f64).min(JUDGED as f64 / each);
        let matches = (positions / length).clamp(16.0, 1e6) as u32;
        let opening = self.settings.play.opening.min((length / 4.0).ceil() as u32);
        self_play::Settings { seed, matches, opening, ..self.settings.play.clone() }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// What came of each generation; the first is that of the positions to begin with.
    pub fn history(&self) -> &[Generation] {
        &self.history
    }

    /// The part of the points that the model got when it last played against the one that the course began with.
    pub fn strength(&self) -> Option<f32> {
        self.history.iter().rev().find_map(|generation| generation.strength)
    }

    /// What is needed to go on later.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            model: Stored::new(&self.model, self.settings.patterns.clone()),
            first: Stored::new(&self.first, self.settings.patterns.clone()),
            stream: self.stream.clone(),
            history: self.history.clone(),
        }
    }

    /// Goes on where a course was left.
    pub fn resume(game: Arc<Game>, kept: Checkpoint, settings: Settings) -> Result<Course, CourseError> {
        let model = kept.model.load(game.clone())?;
        if kept.history.is_empty() || !kept.stream.fits(&model) {
            return Err(CourseError::Kept("its weights are damaged".to_owned()));
        }
        let fits = Model::fitting(model.sight.clone(), kept.first.weights, model.sum);
        let first = Arc::new(fits.map_err(CourseError::Kept)?);
        Ok(Course { settings, stream: kept.stream, model, first, history: kept.history, solved: false })
    }
}

/// A sight with tables over those numbers of relaxed games that make predictions better.
fn with_ways(
    sight: Sight,
    examples: &Examples,
    sum: Sum,
    settings: &teach::Settings,
) -> Result<Arc<Sight>, CourseError> {
    /// States to see which numbers vary.
    const STATES: usize = 2_048;
    /// Passes over the examples to see which help.
    const ITERATIONS: usize = 20;
    /// How much smaller the loss must get, as a part of it: a state takes longer to judge then.
    const BETTER: f64 = 0.004;
    /// With fewer examples than this it must get smaller by more, because it is known less well.
    const ENOUGH: f64 = 10_000.0;
    let better = BETTER * (ENOUGH / examples.len().max(1) as f64).sqrt().max(1.0);
    // Step 1. What varies.
    let step = examples.len().div_ceil(STATES).max(1);
    let states: Vec<Vec<u64>> = examples.views().step_by(step).map(|state| sight.views.state(state)).collect();
    let numbers = Ways::choose(&sight.views.network, &states.iter().map(Vec::as_slice).collect::<Vec<_>>());
    // Step 2. What helps, one kind after another.
    let settings = teach::Settings { iterations: ITERATIONS, ..settings.clone() };
    let loss = |sight: &Arc<Sight>| -> Result<f64, CourseError> {
        let (_, losses) = teach(sight, examples, sum, None, &settings).map_err(CourseError::Fit)?;
        Ok(losses.iter().map(|losses| losses.held_out).sum())
    };
    let mut sight = Arc::new(sight);
    if numbers.is_empty() {
        return Ok(sight);
    }
    let mut least = loss(&sight)?;
    for kind in numbers.chunk_by(|one, other| one.kind() == other.kind()) {
        let before = sight.ways.as_ref().map_or(Vec::new(), |ways| ways.numbers().to_vec());
        let own = Arc::into_inner(sight).expect("nobody else has it");
        let more = Arc::new(own.with_ways(&[&before[..], kind].concat()));
        let now = loss(&more)?;
        sight = more;
        // What a gain tells is less how a match will end than where to go, and it costs next to nothing beside other numbers.
        let is_cheap = matches!(kind[0], Number::Gain(_)) && !before.is_empty();
        if now < (1.0 - if is_cheap { 0.0 } else { better }) * least {
            least = now;
        } else {
            let own = Arc::into_inner(sight).expect("nobody else has it");
            sight = Arc::new(own.with_ways(&before));
        }
    }
    Ok(sight)
}

/// A course as it is kept.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The model.
    pub model: Stored,
    /// The model that it began with.
    pub first: Stored,
    /// The weights as they are being learned.
    pub stream: Stream,
    /// What came of each generation.
    pub history: Vec<Generation>,
}

/// A model as it is kept. Names are those of the game's canonical form.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stored {
    /// Of which fluents it is, in which order.
    pub fingerprint: u64,
    /// The features as text.
    pub features: Vec<String>,
    /// How patterns were proposed, if there are any.
    pub patterns: Option<PatternSettings>,
    /// The numbers that tables over ways are about.
    pub ways: Vec<Number>,
    /// Which set of weights counts where, for states of the game's own network.
    pub stages: Stages,
    /// How the roles hang together.
    pub sum: Sum,
    /// The weights of each role.
    pub weights: Vec<Weights>,
    /// The search that it plays best with, as far as is known.
    pub search: Search,
    /// For a game with one role, the best line that is known, as moves of the game's own network.
    pub line: Vec<u32>,
}

/// What kept bytes begin with: what they are, and the version of the format.
const CHECKPOINT: &[u8; 8] = b"senet-c7";
const MODEL: &[u8; 8] = b"senet-m6";

pub(crate) fn pack<T: serde::Serialize>(mark: &[u8; 8], value: &T) -> Vec<u8> {
    postcard::to_extend(value, mark.to_vec()).expect("what is kept has a size")
}

pub(crate) fn unpack<T: serde::de::DeserializeOwned>(mark: &[u8; 8], bytes: &[u8]) -> Result<T, CourseError> {
    let kept = |why: &str| CourseError::Kept(why.to_owned());
    let bytes = bytes.strip_prefix(mark).ok_or_else(|| kept("another version of the program wrote it"))?;
    postcard::from_bytes(bytes).map_err(|why| kept(&format!("it is damaged: {why}")))
}

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

impl Stored {
    /// As bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        pack(MODEL, self)
    }

    /// From kept bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Stored, CourseError> {
        unpack(MODEL, bytes)
    }

    /// A model whose patterns were proposed in this way, to keep.
    pub fn new(model: &Model, patterns: Option<PatternSettings>) -> Stored {
        let sight = &model.sight;
        let symbols = &sight.game.program.symbols.unspelled();
        Stored {
            fingerprint: positions::fingerprint(&sight.game.circuit.network),
            features: sight.features.iter().map(|feature| feature.display(symbols).to_string()).collect(),
            patterns,
            ways: sight.ways.as_ref().map_or(Vec::new(), |ways| ways.numbers().to_vec()),
            stages: sight.game_stages.clone(),
            sum: model.sum,
            weights: model.weights.clone(),
            search: Search::fitting(sight)[0],
            line: model.line.clone(),
        }
    }

    /// Prepares the model for the game that it was learned on.
    pub fn load(&self, game: Arc<Game>) -> Result<Arc<Model>, CourseError> {
        let kept = |why: String| CourseError::Kept(why);
        if self.fingerprint != positions::fingerprint(&game.circuit.network) {
            return Err(kept("it is of another game, or of another version of the program".to_owned()));
        }
        let symbols = game.program.symbols.unspelled();
        let read = |text: &String| feature::read(text, &symbols);
        let features: Vec<Feature> = self.features.iter().map(read).collect::<Result<_, _>>().map_err(kept)?;
        let sight =
            Sight::new(game.clone(), features, self.patterns.as_ref(), &self.stages).map_err(CourseError::Sight)?;
        let model =
            Model::fitting(Arc::new(sight.with_ways(&self.ways)), self.weights.clone(), self.sum).map_err(kept)?;
        Ok(Arc::new(model.knowing(self.line.clone())))
    }
}
