//! What a game's commands work on: the canonical form, a memory, positions of played matches and features chosen by them.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use arena::Store;
use arena::store::{Key, ModelEntry};
use features::construct::{self, construct};
use features::feature::{self, Feature};
use features::game::Game;
use features::positions::{self, Positions, StopReason, collect};
use indicatif::{ProgressBar, ProgressStyle};
use learn::course::Stored;
use learn::model::Model;
use serde::{Deserialize, Serialize};

use crate::memory;
use crate::rules::Rules;

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
        self.0.set_message(stage.to_owned());
    }

    /// Prints a line to standard error that stays.
    pub(crate) fn above(&self, line: &str) {
        self.0.suspend(|| eprintln!("{line}"));
    }

    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Keeps the game, and gives the open memory.
pub(crate) fn remember(rules: &Rules, store: Option<PathBuf>) -> anyhow::Result<Store> {
    let mut store = memory::open(store)?;
    let met = arena::meet((*rules.program).clone());
    arena::remember(&mut store, &met, &rules.game_name(), rules.source.text(), memory::now())?;
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
    let key = Key {
        game: of,
        seed: settings.seed,
        settings: hash(format!("{} {} {settings:?}", positions::VERSION, positions::PLAY_VERSION)),
    };
    if let Some(bytes) = memory.as_ref().map(|memory| memory.positions(key)).transpose()?.flatten() {
        match usable(&bytes) {
            Ok(positions) => return Ok(Played { positions, reused: true, stopped: None }),
            Err(reason) => {
                bar.clear();
                eprintln!("warning: the positions in the memory can't be used, so they are played again: {reason}");
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
    if let Some(file) = file {
        std::fs::write(file, positions.to_bytes()).with_context(|| format!("can't write `{}`", file.display()))?;
    }
    if let Some(memory) = memory {
        memory.keep_positions(key, positions.len() as u64, &positions.to_bytes(), memory::now())?;
    }
    Ok(Played { positions, reused: false, stopped })
}

/// Raised when features are chosen in another way, so that kept ones are not used any more.
const FEATURES_VERSION: u32 = 1;

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
    let alike = construct::Settings { threads: 1, ..settings.clone() };
    let key = Key {
        game: of,
        seed: settings.seed,
        settings: hash(format!("{FEATURES_VERSION} {} {play:?} {alike:?}", positions::PLAY_VERSION)),
    };
    let symbols = game.program.symbols.unspelled();
    let usable = |bytes: &[u8]| -> Result<(Vec<Feature>, f64), String> {
        let kept: KeptFeatures = serde_json::from_slice(bytes).map_err(|why| why.to_string())?;
        let read = kept.features.iter().map(|text| feature::read(text, &symbols));
        Ok((read.collect::<Result<_, _>>()?, kept.seconds))
    };
    if let Some(bytes) = memory.features(key)? {
        match usable(&bytes) {
            Ok(kept) => return Ok(kept),
            Err(reason) => {
                bar.clear();
                eprintln!("warning: the features in the memory can't be used, so they are made again: {reason}");
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
    let features: Vec<Feature> = set.features.into_iter().map(|selected| selected.feature).collect();
    let kept = KeptFeatures {
        seconds: seconds(),
        features: features.iter().map(|feature| feature.display(&symbols).to_string()).collect(),
    };
    if !complete {
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

/// The newest model of a game with this fingerprint that can be used.
pub(crate) fn newest_model(memory: &Store, of: u128, game: &Arc<Game>) -> anyhow::Result<Option<Known>> {
    newest(memory, of, game, &|_| true)
}

/// The newest of them that a course has come to: models that were learned in other ways look at something else.
pub(crate) fn newest_model_of_a_course(memory: &Store, of: u128, game: &Arc<Game>) -> anyhow::Result<Option<Known>> {
    newest(memory, of, game, &|entry| {
        let about: serde_json::Value = serde_json::from_str(&entry.about).unwrap_or_default();
        about["method"].is_null()
    })
}

fn newest(
    memory: &Store,
    of: u128,
    game: &Arc<Game>,
    wanted: &dyn Fn(&ModelEntry) -> bool,
) -> anyhow::Result<Option<Known>> {
    for entry in memory.models()?.into_iter().rev().filter(|entry| entry.game == of && wanted(entry)) {
        if let Some(bytes) = memory.model(&entry)?
            && let Ok(stored) = Stored::from_bytes(&bytes)
            && let Ok(model) = stored.load(game.clone())
        {
            return Ok(Some(Known { entry, stored, model }));
        }
    }
    Ok(None)
}

/// A number for everything that something kept depends on: the 64-bit FNV-1a hash of some bytes.
pub(crate) fn hash(bytes: impl AsRef<[u8]>) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.as_ref().iter().fold(0xcbf2_9ce4_8422_2325, step)
}
