//! What a portfolio finds out about a game before a match: whether it is known, and what it can learn in the time there is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arena::Store;
use arena::store::Quota;
use features::construct::{self, construct};
use features::feature::Feature;
use features::game::Game;
use features::positions::{self, Positions, collect};
use features::split::Split;
use gdl::{Program, Stop};
use insight::canonical::{self, canonical_until};
use learn::course::{self, Course, Stored};
use learn::model::Model;
use learn::player::Search;
use serde_json::json;

use crate::evidence::{self, stop_at};
use crate::kin;
use crate::measure;
use crate::memory;

/// With less time than this nothing is learned.
const LEAST: Duration = Duration::from_secs(4);
/// A model is learned further if the time for that is more than this part of what it took.
const WORTH_WHILE: f64 = 0.25;
/// With less time than this, in seconds of a core, no features are looked for: tables of patterns and more matches come to more.
const BRIEF: f64 = 120.0;

/// A game that is studied.
pub(crate) struct Study {
    /// What to call it.
    pub(crate) name: String,
    /// The rules.
    pub(crate) text: Arc<str>,
    pub(crate) program: Arc<Program>,
    /// Where models are; without it nothing is known, and nothing kept.
    pub(crate) memory: Option<PathBuf>,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    /// Whether to learn.
    pub(crate) learn: bool,
    /// Where what was learned is kept, if anywhere; what was kept there before is known, too.
    pub(crate) keep: Option<Keep>,
    /// By then it should be over.
    pub(crate) until: Instant,
}

/// Where what was learned is kept.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    pub(crate) path: PathBuf,
    /// How much of it there may be; for games that strangers send.
    pub(crate) quota: Option<Quota>,
}

impl Keep {
    /// Without a bound.
    pub(crate) fn all(path: PathBuf) -> Keep {
        Keep { path, quota: None }
    }
}

/// What a study comes to.
#[derive(Default)]
pub(crate) struct Found {
    /// The game as models know it, if there was time to look at it.
    pub(crate) game: Option<Arc<Game>>,
    /// What is known.
    pub(crate) knowledge: Option<Knowledge>,
}

/// What is known of a game.
pub(crate) struct Knowledge {
    pub(crate) model: Arc<Model>,
    /// The search that the model plays best with.
    pub(crate) search: Search,
    /// Where it comes from, in words.
    pub(crate) origin: String,
}

impl Study {
    /// Looks the game up in the memory, whatever its names, and learns if there is time.
    pub(crate) fn go(&self, stop: &Stop, note: &dyn Fn(&str)) -> Result<Found, String> {
        let left = || self.until.saturating_duration_since(Instant::now());
        // Step 1. Is it known?
        let form = canonical_until(&self.program, canonical::BUDGET, stop);
        let fingerprint = form.fingerprint.0;
        let own = self.keep.as_ref().map(|keep| &keep.path);
        let paths = self.memory.iter().chain(own.filter(|&own| self.memory.as_ref() != Some(own)));
        let open = |path: &PathBuf| {
            let opened = Store::open(path).and_then(|store| {
                let is_known = store.models()?.iter().any(|entry| entry.game == fingerprint);
                Ok((store, is_known))
            });
            // A memory that can't be used is like none; nothing is to keep a player from playing.
            opened.map_err(|error| note(&format!("plays without a memory: {error}"))).ok()
        };
        let stores: Vec<(Store, bool)> = paths.filter_map(open).collect();
        stores.iter().flat_map(|(store, _)| store.notices()).for_each(|notice| note(notice));
        let store = stores.iter().find(|(_, is_known)| *is_known).map(|(store, _)| store);
        let is_known = store.is_some();
        let may_learn = self.learn && left() >= LEAST;
        if (!is_known && !may_learn) || stop.is_raised() {
            return Ok(Found::default());
        }
        // Step 2. Its model.
        let game = Game::until(form.respelled(&self.program), self.seed, stop)
            .map_err(|why| format!("it can't be grounded: {why}"))?;
        let game = Arc::new(game);
        let look = |store| evidence::best_model_of_a_course(store, fingerprint, &game, note);
        let known = store.map_or(Ok(None), look).unwrap_or_else(|error| {
            note(&format!("{error:#}"));
            None
        });
        let seconds = known.as_ref().map_or(0.0, |known| seconds(&known.entry.about));
        let origin = known.as_ref().map(|known| json!({ "model": known.entry.id, "game": known.entry.game_name }));
        let of_old = known.as_ref().map(|known| Knowledge {
            model: known.model.clone(),
            search: known.stored.search,
            origin: format!("model {} of `{}`", known.entry.id, known.entry.game_name),
        });
        if let Some(keep) = self.keep.as_ref().filter(|keep| keep.quota.is_some() && of_old.is_some()) {
            // What was of use stays longest.
            let used = Store::open(&keep.path).and_then(|mut store| store.set_used(fingerprint, memory::now()));
            used.unwrap_or_else(|error| note(&format!("the memory can't be used: {error}")));
        }
        let is_alone = game.universe.roles.len() == 1;
        let worth_while = left().as_secs_f64() > WORTH_WHILE * seconds;
        if is_alone || !may_learn || left() < LEAST || !worth_while {
            return Ok(Found { game: Some(game), knowledge: of_old });
        }
        // Step 3. More of it.
        let kin = store.or(stores.first().map(|(store, _)| store)).map(|store| (store, fingerprint));
        let lesson = Lesson { game: &game, kin, seed: self.seed, threads: self.threads, until: self.until };
        let Some(learned) = lesson.learn(known.map(|known| (known.model, known.stored)), stop, note)? else {
            return Ok(Found { game: Some(game), knowledge: of_old });
        };
        if let Some(keep) = &self.keep
            && let Err(error) = self.keep(keep, fingerprint, &learned, seconds, origin)
        {
            note(&format!("what was learned can't be kept: {error}"));
        }
        let knowledge = Some(learned.knowledge());
        Ok(Found { game: Some(game), knowledge })
    }

    fn keep(
        &self,
        keep: &Keep,
        fingerprint: u128,
        learned: &Learned,
        before: f64,
        origin: Option<serde_json::Value>,
    ) -> anyhow::Result<()> {
        let mut store = Store::open(&keep.path)?;
        let met = arena::meet((*self.program).clone());
        arena::remember(&mut store, &met, &self.name, &self.text, memory::now())?;
        let about = json!({
            "seed": self.seed, "version": env!("CARGO_PKG_VERSION"), "seconds": before + learned.seconds,
            "generations": learned.course.history().len() - 1,
            "matches": learned.course.history().last().map_or(0, |last| last.n_matches),
            "search": learned.search, "chosen": learned.chosen, "curve": learned.course.history(), "learned": "before a match",
            "origin": origin,
        });
        let bytes = Stored { search: learned.search, ..learned.course.checkpoint().model }.to_bytes();
        store.keep_model(fingerprint, &about.to_string(), &bytes, memory::now())?;
        if let Some(quota) = keep.quota {
            store.keep_within(quota, fingerprint)?;
        }
        Ok(())
    }
}

/// How long it took to learn a model.
fn seconds(about: &str) -> f64 {
    serde_json::from_str::<serde_json::Value>(about).ok().and_then(|about| about["seconds"].as_f64()).unwrap_or(0.0)
}

/// Learning in a given time.
pub(crate) struct Lesson<'a> {
    pub(crate) game: &'a Arc<Game>,
    /// A memory in which variants may be found, and the game's fingerprint.
    pub(crate) kin: Option<(&'a Store, u128)>,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) until: Instant,
}

/// What came of a lesson.
pub(crate) struct Learned {
    pub(crate) course: Course,
    pub(crate) search: Search,
    /// What the search was chosen by, if it was tested.
    pub(crate) chosen: Option<measure::Score>,
    pub(crate) seconds: f64,
}

impl Learned {
    fn knowledge(&self) -> Knowledge {
        let n = self.course.history().last().map_or(0, |last| last.n_matches);
        let origin = format!("learned in {:.0} s from {n} matches with itself", self.seconds);
        Knowledge { model: self.course.model().clone(), search: self.search, origin }
    }
}

impl Lesson<'_> {
    /// Plays and fits by turns, from nothing or from a model on. `None` if time was up before anything was learned.
    pub(crate) fn learn(
        &self,
        known: Option<(Arc<Model>, Stored)>,
        stop: &Stop,
        note: &dyn Fn(&str),
    ) -> Result<Option<Learned>, String> {
        /// The parts of the time after which positions are played, features found, variants tried, and matches with itself end.
        const PARTS: [f64; 4] = [0.1, 0.3, 0.4, 0.8];
        const BRIEF_PARTS: [f64; 4] = [0.1, 0.3, 0.3, 0.75];
        let begun = Instant::now();
        let time = self.until.saturating_duration_since(begun);
        let (game, threads) = (self.game, self.threads);
        let is_brief = time.as_secs_f64() * (threads as f64) < BRIEF;
        let parts = if is_brief { BRIEF_PARTS } else { PARTS };
        let [played_by, built_by, taken_by, learned_by] = parts.map(|part| begun + time.mul_f64(part));
        let before = |end: Instant| Instant::now() < end && !stop.is_raised();
        let split = Split::new(self.seed);
        // Step 1. Positions; the fewer, the less time there is to look at them.
        let n_positions = (time.as_secs_f64() * 100.0).clamp(500.0, 12_000.0) as usize;
        let play = positions::Settings {
            seed: self.seed,
            levels: if is_brief { 3 } else { 4 },
            positions: n_positions,
            matches: ((n_positions as u32 / 12).clamp(64, 512), 4_096),
            stop: stop_at(played_by).or(stop),
            ..positions::Settings::default()
        };
        let played = collect(game, &play, &mut |_| before(played_by)).positions;
        if played.is_empty() || stop.is_raised() {
            return Ok(None);
        }
        // Step 2. A course.
        let settings = course::Settings { seed: self.seed, ..course::Settings::default() };
        let settings = course::Settings {
            play: learn::self_play::Settings { threads, ..settings.play },
            teach: learn::teach::Settings { threads, split, stop: stop_at(learned_by).or(stop), ..settings.teach },
            ..settings
        };
        let usual = known.as_ref().map(|(_, stored)| stored.search);
        let mut course = match known {
            Some((model, stored)) => {
                let settings = course::Settings { patterns: stored.patterns, ..settings };
                Course::from_model(model, &played, settings)
            }
            None => {
                let fresh = self.begin(&played, &settings, is_brief, built_by)?;
                let late = || !before(taken_by);
                let taken =
                    self.kin.map(|(store, of)| kin::take_over(store, of, fresh.model(), &played, &settings, &late));
                match taken.transpose().map_err(|error| error.to_string())?.flatten() {
                    Some((model, origin)) => {
                        note(&origin.sentence());
                        Course::from_model(model, &played, settings)
                    }
                    None => fresh,
                }
            }
        };
        let ready = begun.elapsed();
        let go_on = |course: &mut Course, end: Instant| -> Result<(), String> {
            while before(end) && course.go_on(&|| !before(end)).map_err(|why| why.to_string())? {}
            Ok(())
        };
        go_on(&mut course, learned_by)?;
        let left = || self.until.saturating_duration_since(Instant::now()).mul_f64(0.9);
        let quick_move = measure::quick_move(&course, left(), threads);
        if quick_move.is_none() {
            go_on(&mut course, self.until)?;
        }
        if course.history().len() < 2 || stop.is_raised() {
            note(&format!("nothing was learned: {:.0} s were gone before the first generation", ready.as_secs_f64()));
            return Ok(None);
        }
        // Step 3. The search: by matches that are short enough for some of them, or the one that is known. A model that was not shown to
        // be better than search without knowledge is kept, but does not play.
        let (search, chosen) = match (quick_move, usual) {
            (Some(move_time), _) => {
                let contest = measure::Contest { move_time, time: left(), threads, seed: self.seed };
                measure::choose(game, course.model(), &contest, &mut |_| {})
            }
            (None, Some(usual)) => (usual, None),
            (None, None) => (measure::untested(course.model()), None),
        };
        Ok(Some(Learned { course, search, chosen, seconds: begun.elapsed().as_secs_f64() }))
    }

    /// A course from nothing. A brief one has no features, unless there are no tables of patterns either.
    fn begin(
        &self,
        played: &Positions,
        settings: &course::Settings,
        is_brief: bool,
        built_by: Instant,
    ) -> Result<Course, String> {
        let (game, seed, threads) = (self.game, self.seed, self.threads);
        let begin = |features: Vec<Feature>, settings: course::Settings| {
            Course::begin(game.clone(), played, features, settings).map_err(|why| why.to_string())
        };
        if is_brief {
            let bare = begin(Vec::new(), course::Settings { ways: false, ..settings.clone() })?;
            if bare.model().sight.n_slots() > 0 {
                return Ok(bare);
            }
        }
        let (split, stop) = (settings.teach.split, stop_at(built_by).or(&settings.teach.stop));
        let construct = construct::Settings { seed, split, threads, stop, ..construct::Settings::default() };
        let set = self::construct(game, played, &construct, &mut |_| true)?;
        begin(set.features.into_iter().map(|selected| selected.feature).collect(), settings.clone())
    }
}
