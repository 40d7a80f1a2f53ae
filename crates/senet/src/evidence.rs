//! What a game's commands work on: the canonical form, a memory, positions of played matches and features chosen by them.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};
use arena::store::{Key, ModelEntry, write_whole};
use arena::{Store, StoreError};
use features::construct::{self, construct};
use features::feature::{self, Feature};
use features::game::Game;
use features::positions::{self, Positions, StopReason, collect};
use gdl::Stop;
use indicatif::{ProgressBar, ProgressStyle};
use learn::course::Stored;
use learn::model::Model;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::guard;
use crate::memory;
use crate::ranking;
use crate::rules::Rules;
use crate::screen;

/// A line that says how far the work is, on a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Bar {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{elapsed:>4} {bar:24} {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar(bar)
    }

    /// Shows a stage; `of` is 0 if nobody knows how much there is.
    pub(crate) fn show(&self, stage: &str, done: usize, of: usize) {
        self.0.set_length(of.max(1) as u64);
        self.0.set_position(done.min(of.max(1)) as u64);
        self.0.set_message(gdl::printable(stage).into_owned());
    }

    /// Prints a line to standard error that stays.
    pub(crate) fn above(&self, line: &str) {
        self.0.suspend(|| screen::complain(line));
    }

    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Ends work at a given time.
pub(crate) fn stop_at(end: Instant) -> Stop {
    Stop::when(move || Instant::now() >= end)
}

/// Keeps the game, and gives the open memory.
pub(crate) fn remember(rules: &Rules, store: Option<PathBuf>) -> anyhow::Result<Store> {
    let mut store = memory::open(store)?;
    // A game that is too hard to describe in time is not remembered.
    if let Some(met) = arena::meet_until((*rules.program).clone(), &guard::stop()) {
        arena::remember(&mut store, &met, &rules.game_name(), rules.source.text(), memory::now())?;
    }
    Ok(store)
}

/// Positions, and where they come from.
pub(crate) struct Played {
    pub(crate) positions: Positions,
    /// Whether they were there already.
    pub(crate) reused: bool,
    /// Why there are not more.
    pub(crate) stopped: Option<String>,
}

/// Positions of a game with this fingerprint: from the file or the memory, else played and kept there.
pub(crate) fn positions(
    game: &Game,
    of: u128,
    settings: &positions::Settings,
    file: Option<&Path>,
    memory: Option<&mut Store>,
    bar: &Bar,
) -> anyhow::Result<Played> {
    let network = &game.circuit.network;
    let usable = |bytes: &[u8]| {
        let read = Positions::from_bytes(bytes).map_err(|damaged| damaged.to_string())?;
        let same = read.fingerprint == positions::fingerprint(network);
        if same { Ok(read) } else { Err("they are of another game, or of another version of the program".to_owned()) }
    };
    // Step 1. A file that was named, or the memory.
    if let Some(file) = file.filter(|file| file.exists()) {
        let bytes = std::fs::read(file).with_context(|| format!("can't read `{}`", file.display()))?;
        let positions = usable(&bytes).map_err(|reason| {
            anyhow!("`{}` has no positions of this game: {reason}; remove it to have them played", file.display())
        })?;
        return Ok(Played { positions, reused: true, stopped: None });
    }
    let key = Key { game: of, seed: settings.seed, settings: positions_hash(settings) };
    let kept = memory.as_ref().map_or(Ok(None), |memory| memory.positions(key));
    if let Some(bytes) = undamaged(kept, bar, "positions are played again")? {
        match usable(&bytes) {
            Ok(positions) => return Ok(Played { positions, reused: true, stopped: None }),
            Err(reason) => {
                bar.clear();
                screen::complain(format_args!(
                    "warning: the positions in the memory can't be used, so they are played again: {reason}"
                ));
            }
        }
    }
    // Step 2. Play them.
    let collected = collect(game, settings, &mut |progress: positions::Progress| {
        let (level, levels) = progress.level;
        let stage = format!("playing, level {} of {levels}: {} positions so far", level + 1, progress.n_positions);
        bar.show(&stage, usize::from(level), usize::from(levels));
        true
    });
    let stopped = match collected.stopped {
        StopReason::Complete => None,
        StopReason::Gates => Some("playing: the budget of gates was spent".to_owned()),
        StopReason::Cancelled => Some("playing was stopped".to_owned()),
    };
    let positions = collected.positions;
    // Positions of play that was stopped are used, but not kept: there should be more.
    if collected.stopped == StopReason::Cancelled {
        return Ok(Played { positions, reused: false, stopped });
    }
    if let Some(file) = file {
        write_whole(file, &positions.to_bytes()).with_context(|| format!("can't write `{}`", file.display()))?;
    }
    // What was cut short is not what this key stands for.
    if let Some(memory) = memory.filter(|_| collected.stopped != StopReason::Cancelled) {
        memory.keep_positions(key, positions.len() as u64, &positions.to_bytes(), memory::now())?;
    }
    Ok(Played { positions, reused: false, stopped })
}

/// Raised when features are chosen in another way, so that kept ones are not used any more.
const FEATURES_VERSION: u32 = 2;

/// Features as they are kept, in the names of the canonical form.
#[derive(Serialize, Deserialize)]
struct KeptFeatures {
    /// How long it took to find them.
    seconds: f64,
    features: Vec<String>,
}

/// The features of a game with this fingerprint that positions choose: from the memory, else constructed and kept there. `seconds`
/// says how long this is going on, positions included; the answer's number says how long it took when they were constructed.
pub(crate) fn features(
    game: &Game,
    of: u128,
    (played, play): (&Positions, &positions::Settings),
    settings: &construct::Settings,
    memory: &mut Store,
    bar: &Bar,
    seconds: &dyn Fn() -> f64,
) -> anyhow::Result<(Vec<Feature>, f64)> {
    features_while(game, of, (played, play), settings, memory, bar, seconds, &|| true)
}

/// The same, but what is found by the time `go_on` says no is used, and not kept.
#[expect(clippy::too_many_arguments, reason = "one more than the usual way has")]
pub(crate) fn features_while(
    game: &Game,
    of: u128,
    (played, play): (&Positions, &positions::Settings),
    settings: &construct::Settings,
    memory: &mut Store,
    bar: &Bar,
    seconds: &dyn Fn() -> f64,
    go_on: &dyn Fn() -> bool,
) -> anyhow::Result<(Vec<Feature>, f64)> {
    let key = Key { game: of, seed: settings.seed, settings: features_hash(settings, play) };
    let symbols = game.program.symbols.unspelled();
    let usable = |bytes: &[u8]| -> Result<(Vec<Feature>, f64), String> {
        let kept: KeptFeatures = serde_json::from_slice(bytes).map_err(|why| why.to_string())?;
        let read = kept.features.iter().map(|text| feature::read(text, &symbols));
        Ok((read.collect::<Result<_, _>>()?, kept.seconds))
    };
    if let Some(bytes) = undamaged(memory.features(key), bar, "features are made again")? {
        match usable(&bytes) {
            Ok(kept) => return Ok(kept),
            Err(reason) => {
                bar.clear();
                screen::complain(format_args!(
                    "warning: the features in the memory can't be used, so they are made again: {reason}"
                ));
            }
        }
    }
    let mut complete = true;
    let set = construct(game, played, settings, &mut |progress: construct::Progress| {
        bar.show(progress.stage, progress.done, progress.of);
        complete &= go_on();
        complete
    })
    .map_err(|reason| anyhow!(reason))?;
    complete &= !settings.stop.is_raised();
    let features: Vec<Feature> = set.features.into_iter().map(|selected| selected.feature).collect();
    let kept = KeptFeatures {
        seconds: seconds(),
        features: features.iter().map(|feature| feature.display(&symbols).to_string()).collect(),
    };
    if !complete || game.stop.is_raised() {
        return Ok((features, kept.seconds));
    }
    memory.keep_features(key, played.len() as u64, &serde_json::to_vec(&kept)?, memory::now())?;
    Ok((features, kept.seconds))
}

/// A model from the memory.
pub(crate) struct Known {
    pub(crate) entry: ModelEntry,
    pub(crate) stored: Stored,
    pub(crate) model: Arc<Model>,
}

/// The model of a game with this fingerprint that plays: the best that can be used (see [`ranking`]). `warn` hears why better ones can't;
/// if there are some and none can be used, that is an error.
pub(crate) fn best_model(
    memory: &Store,
    of: u128,
    game: &Arc<Game>,
    warn: &dyn Fn(&str),
) -> anyhow::Result<Option<Known>> {
    best(memory, of, game, warn, &|_| true)
}

/// The best of them that a course has come to: models that were learned in other ways look at something else.
pub(crate) fn best_model_of_a_course(
    memory: &Store,
    of: u128,
    game: &Arc<Game>,
    warn: &dyn Fn(&str),
) -> anyhow::Result<Option<Known>> {
    best(memory, of, game, warn, &|entry| ranking::about(entry)["method"].is_null())
}

/// Says a warning on standard error.
pub(crate) fn warn(text: &str) {
    screen::complain(format_args!("warning: {text}"));
}

fn best(
    memory: &Store,
    of: u128,
    game: &Arc<Game>,
    warn: &dyn Fn(&str),
    wanted: &dyn Fn(&ModelEntry) -> bool,
) -> anyhow::Result<Option<Known>> {
    let all = memory.models()?;
    let mut problem = None;
    for entry in ranking::best_first(&all, of).into_iter().filter(|entry| wanted(entry)) {
        match load(memory, entry, game) {
            Ok(known) => {
                problem.iter().for_each(|why: &anyhow::Error| warn(&format!("{why:#}; model {} plays", entry.id)));
                return Ok(Some(known));
            }
            Err(why) => _ = problem.get_or_insert(why),
        }
    }
    if let Some(why) = problem {
        return Err(why);
    }
    if let Some(entry) = all.iter().rfind(|entry| entry.game == of && entry.is_outdated && wanted(entry)) {
        warn(&format!("model {} was made by another version of the program and can't be used by this one", entry.id));
    }
    Ok(None)
}

/// A model from the memory.
pub(crate) fn load(memory: &Store, entry: &ModelEntry, game: &Arc<Game>) -> anyhow::Result<Known> {
    let told = || format!("model {} of `{}` can't be used", entry.id, entry.game_name);
    let bytes = memory.model(entry).with_context(told)?;
    let bytes = bytes.ok_or_else(|| anyhow!("its file is gone")).with_context(told)?;
    let stored = Stored::from_bytes(&bytes).with_context(told)?;
    let model = stored.load(game.clone()).with_context(told)?;
    Ok(Known { entry: entry.clone(), stored, model })
}

/// What positions are kept under.
fn positions_hash(settings: &positions::Settings) -> u64 {
    hash(format!("positions {} {}", positions::VERSION, play_key(settings)))
}

/// What features are kept under.
fn features_hash(settings: &construct::Settings, play: &positions::Settings) -> u64 {
    hash(format!("features {FEATURES_VERSION} {} {}", play_key(play), construct_key(settings)))
}

/// All that positions depend on but the game, for keys: what is not named here must not change them.
fn play_key(settings: &positions::Settings) -> Value {
    json!({
        "version": positions::PLAY_VERSION, "seed": settings.seed, "levels": settings.levels,
        "positions": settings.positions, "matches": settings.matches, "plies": settings.plies, "gates": settings.gates,
        "bytes": settings.bytes, "candidates": settings.candidates, "finalists": settings.finalists,
    })
}

/// The same of how features are chosen by positions. Threads change nothing.
fn construct_key(settings: &construct::Settings) -> Value {
    let select = &settings.select;
    json!({
        "mode": settings.mode, "seed": settings.seed, "candidates": settings.candidates,
        "thesis_expanded": settings.thesis_expanded, "positions": settings.positions,
        "configurations": settings.configurations,
        "select": { "max_features": select.max_features, "min_gain": select.min_gain, "price": select.price },
    })
}

/// A number for everything that something kept depends on.
pub(crate) fn hash(bytes: impl AsRef<[u8]>) -> u64 {
    arena::store::hash(bytes.as_ref())
}

/// What is kept under a key; `None` if it is damaged, and the warning says what is done instead.
pub(crate) fn undamaged<T>(
    found: Result<Option<T>, StoreError>,
    bar: &Bar,
    instead: &str,
) -> anyhow::Result<Option<T>> {
    match found {
        Err(damaged @ StoreError::DamagedFile(_)) => {
            bar.above(&format!("warning: {damaged}; {instead}"));
            Ok(None)
        }
        found => Ok(found?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What memories have is found again. Where positions or features are made in another way, a version has to change, and these
    /// numbers with it.
    #[test]
    fn keys_stay_as_they_are() {
        let play = positions::Settings {
            seed: 1,
            levels: 2,
            positions: 3,
            matches: (4, 5),
            plies: 6,
            gates: 7,
            bytes: 8,
            candidates: 9,
            finalists: 10,
            ..positions::Settings::default()
        };
        let construct = construct::Settings {
            mode: construct::Mode::Default,
            seed: 1,
            candidates: 2,
            thesis_expanded: 3,
            positions: 4,
            configurations: 5,
            select: features::select::Settings { max_features: 6, min_gain: 0.5, price: 0.25 },
            ..construct::Settings::default()
        };
        assert_eq!((positions::VERSION, positions::PLAY_VERSION, FEATURES_VERSION), (1, 2, 2));
        assert_eq!(
            [positions_hash(&play), features_hash(&construct, &play)],
            [0x423c_b28a_87e7_66dc, 0x8aa3_6137_665b_19ec]
        );
    }
}
