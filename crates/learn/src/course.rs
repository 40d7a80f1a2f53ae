//! A course: playing and fitting by turns, from the first positions to a model.
//!
//! Every generation plays matches with the model that it has and fits it again to all that was played. Nothing here knows a clock:
//! whoever has one asks for generations until time is up. The same game, settings and number of generations give the same
//! model, whatever the number of threads.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use features::columns::Columns;
use features::feature::{self, Feature};
use features::game::{Game, Views};
use features::image;
use features::positions::{self, Positions};
use features::reach::Number;
use features::split::Part;
use gdl::Stop;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::alone;
use crate::example::Examples;
use crate::fit::FitError;
use crate::label::{self, teach_backwards};
use crate::model::{Model, Sum, Weights};
use crate::player::Search;
use crate::record::{Record, RecordError};
use crate::self_play::{self, Played};
use crate::sight::{PatternSettings, Rows, Sight};
use crate::stage::Stages;
use crate::stream::Stream;
use crate::teach::{self, teach};
use crate::ways::Ways;

/// How a course goes.
#[derive(Clone, serde::Serialize)]
pub struct Settings {
    /// All chance comes from this.
    #[serde(skip)]
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
    /// How the first positions are labelled by search, if they are to be: see [`label`].
    pub label: Option<label::Settings>,
}

/// Courses are kept under what this says of their settings, so what is as usual in the last field is left out.
impl fmt::Debug for Settings {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let Settings { seed, stages, patterns, ways, rate, positions, play, teach, label } = self;
        let mut all = to.debug_struct("Settings");
        all.field("seed", seed).field("stages", stages).field("patterns", patterns).field("ways", ways);
        all.field("rate", rate).field("positions", positions).field("play", play).field("teach", teach);
        if label.is_some() {
            all.field("label", label);
        }
        all.finish()
    }
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
            label: None,
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
    /// For each role with weights, how well these positions were predicted before any of them was learned from: the mean loss, in nats. At
    /// the beginning it is that of the positions that nothing was learned or chosen from, and no number if there are none.
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

impl fmt::Display for CourseError {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            CourseError::Sight(why) => write!(to, "the features can't be compiled: {why}"),
            CourseError::Fit(FitError::NoRows) => {
                write!(to, "there is nothing to learn from: no match came to an end in which each role has a goal")
            }
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
        let features = if settings.teach.mirror { with_mirrored(&game, positions, features) } else { features };
        let shared = game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2;
        let sum = if shared { Sum::Shared } else { Sum::Free };
        let sight =
            Sight::new(game.clone(), features, settings.patterns.as_ref(), &stages).map_err(CourseError::Sight)?;
        let examples = Examples::of(positions);
        let sight = if settings.ways { with_ways(sight, &examples, sum, &settings.teach)? } else { Arc::new(sight) };
        let (model, mut losses) = teach(&sight, &examples, sum, None, &settings.teach).map_err(CourseError::Fit)?;
        let mut model = Arc::new(model);
        if let Some(label) = &settings.label {
            let again = teach_backwards(model, &examples, label, &settings.teach, &mut |_| ());
            (model, losses) = again.map_err(CourseError::Fit)?;
        }
        let losses = losses.iter().map(|losses| losses.held_out).collect();
        let stream = Stream::new(&model, &sight.rows(examples.views()));
        Ok(Course::new(model, stream, &examples, losses, settings))
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
        let parts = settings.teach.split.divide(model.sight.game.images(), examples.views(), &examples.matches);
        let reporting: Vec<u32> =
            (0..examples.len() as u32).filter(|&at| parts[at as usize] == Some(Part::Report)).collect();
        let losses = stream.losses(&rows, &examples.targets, &reporting);
        Course::new(model, stream, &examples, losses, settings)
    }

    /// Plays one more generation and fits the model again. If `stop` says so, playing ends early, nothing is changed but the line
    /// that is known of a game with one role, and the answer is no.
    pub fn go_on(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool, CourseError> {
        self.go_on_telling(stop, &mut |_, _| ())
    }

    /// The same, and tells what was played, and with which model, before it is learned from.
    pub fn go_on_telling(
        &mut self,
        stop: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&Model, &Played),
    ) -> Result<bool, CourseError> {
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
        tell(&self.model, &played);
        let (n_new, n_ended, n_judged) = (played.rows.sets.len(), played.n_ended, played.n_judged);
        let losses = self.learn(&played.rows, &played.targets, seed);
        let n_matches = self.history.last().map_or(0, |last| last.n_matches).saturating_add(n_ended);
        let strength = if generation.is_multiple_of(STRENGTH_EVERY) && self.model.sight.game.universe.roles.len() > 1 {
            // In other matches than those that were just learned from.
            let play = self_play::Settings { seed: !play.seed, matches: STRENGTH_MATCHES, ..play };
            self_play::contest(&self.model, &self.first, &play, stop)
        } else {
            None
        };
        self.history.push(Generation { n_matches, n_ended, n_new, n_judged, losses, strength });
        Ok(true)
    }

    /// Learns from positions once, in an order by chance; the losses before all of that.
    fn learn(&mut self, rows: &Rows, targets: &[f32], seed: u64) -> Vec<f64> {
        let mut order: Vec<u32> = (0..rows.sets.len() as u32).collect();
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        let losses = self.stream.losses(rows, targets, &order);
        self.stream.learn(rows, targets, &order, self.settings.rate);
        let model = self.stream.model(&self.model.sight, self.model.sum);
        self.model = Arc::new(model.knowing(self.model.line.clone()));
        losses
    }

    /// Learns from recorded positions of this game, each once and in the order in which they come, as many at a time as a generation
    /// has; so they need not fit into memory. Each such part is a generation. Those with nothing to predict are passed over. It ends
    /// early if it is stopped. The answer is how many there were.
    pub fn study(
        &mut self,
        records: impl IntoIterator<Item = Result<Record, RecordError>>,
        stop: &Stop,
    ) -> Result<u64, RecordError> {
        let mut records = records.into_iter();
        let game = &self.model.sight.game;
        let n_words = game.circuit.network.fluents.len().div_ceil(64);
        let n_roles = game.universe.roles.len();
        let mut n_all = 0;
        loop {
            let mut examples = Examples::new(n_words, n_roles);
            while examples.len() < self.settings.positions.max(1) {
                let Some(record) = records.next().transpose()? else { break };
                let targets: Option<Vec<f32>> = record.targets.iter().copied().collect();
                match targets {
                    Some(targets) if (record.state.len(), targets.len()) == (n_words, n_roles) => {
                        examples.push(&record.state, &targets, record.number);
                    }
                    Some(_) => return Err(RecordError::Damaged),
                    None => {}
                }
            }
            if examples.is_empty() || stop.is_raised() {
                return Ok(n_all);
            }
            n_all += examples.len() as u64;
            let generation = self.history.len() as u64;
            let seed = self.settings.seed.wrapping_mul(1_000_003).wrapping_add(generation);
            let rows = self.model.sight.rows(examples.views());
            let losses = self.learn(&rows, &examples.targets, seed);
            let n_ended = examples.matches.iter().collect::<BTreeSet<_>>().len() as u32;
            let n_matches = self.history.last().map_or(0, |last| last.n_matches).saturating_add(n_ended);
            let n_new = examples.len();
            self.history.push(Generation { n_matches, n_ended, n_new, n_judged: 0, losses, strength: None });
        }
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
        let is_finite = kept.first.weights.iter().all(Weights::are_finite);
        if kept.history.is_empty() || !kept.stream.fits(&model) || !is_finite {
            return Err(CourseError::Kept("its weights are damaged".to_owned()));
        }
        let fits = Model::fitting(model.sight.clone(), kept.first.weights, model.sum);
        let first = Arc::new(fits.map_err(CourseError::Kept)?);
        Ok(Course { settings, stream: kept.stream, model, first, history: kept.history, solved: false })
    }
}

/// Features, and after them those of their images under an exchange of the roles that are not among them. Images are checked on some
/// positions.
fn with_mirrored(game: &Game, positions: &Positions, mut features: Vec<Feature>) -> Vec<Feature> {
    /// Positions on which images are checked.
    const CHECKED: usize = 500;
    let Some(images) = image::find(game, 1).into_iter().find(|images| images.roles == [1, 0]) else { return features };
    let Ok(views) = Views::new(game) else { return features };
    let step = positions.len().div_ceil(CHECKED).max(1);
    let states: Vec<&[u64]> = positions.views().into_iter().step_by(step).collect();
    let (mut here, mut there) = (Columns::new(game, &views, &states), images.columns(game, &views, &states));
    let mirrored: Vec<Feature> =
        features.iter().filter_map(|feature| images.of_checked(feature, &mut here, &mut there)).collect();
    // A feature may be its own image in other words.
    let mut known: Vec<Vec<i32>> = features.iter().filter_map(|feature| here.values(feature)).collect();
    for image in mirrored {
        if let Some(values) = here.values(&image)
            && !known.contains(&values)
        {
            known.push(values);
            features.push(image);
        }
    }
    features
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
        Ok(losses.iter().map(|losses| losses.choosing).sum())
    };
    let mut sight = Arc::new(sight);
    if numbers.is_empty() {
        return Ok(sight);
    }
    let mut least = loss(&sight)?;
    // What is not known by the time it is stopped does not help.
    let late = || settings.stop.is_raised();
    for kind in numbers.chunk_by(|one, other| one.kind() == other.kind()).take_while(|_| !late()) {
        let before = sight.ways.as_ref().map_or(Vec::new(), |ways| ways.numbers().to_vec());
        let own = Arc::into_inner(sight).expect("nobody else has it");
        let more = Arc::new(own.with_ways(&[&before[..], kind].concat()));
        let now = loss(&more)?;
        sight = more;
        // What a gain tells is less how a match will end than where to go, and it costs next to nothing beside other numbers.
        let is_cheap = matches!(kind[0], Number::Gain(_)) && !before.is_empty();
        if !late() && now < (1.0 - if is_cheap { 0.0 } else { better }) * least {
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
        let network = &game.circuit.network;
        let is_move = |&chosen: &u32| (chosen as usize) < network.moves.len();
        let is_number = |number: &Number| (number.role() as usize) < network.roles.len();
        let is_known = self.stages.fits(network.fluents.len(), network.roles.len())
            && self.line.iter().all(is_move)
            && self.ways.iter().all(is_number);
        if !is_known {
            return Err(kept("it is damaged: it has fluents, moves or roles that the game has not".to_owned()));
        }
        // Tables take memory for each pair of numbers, and for each slot.
        let is_moderate = self.ways.is_sorted_by(|one, other| one < other)
            && self.patterns.as_ref().is_none_or(PatternSettings::is_moderate);
        if !is_moderate || !self.weights.iter().all(Weights::are_finite) {
            return Err(kept("it is damaged: its tables or weights are out of their range".to_owned()));
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
