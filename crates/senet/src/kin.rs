//! What is known of a game's kin: models of the same game or of variants, for a course to begin with.

use std::collections::BTreeSet;
use std::sync::Arc;

use arena::Store;
use features::game::Game;
use features::positions::Positions;
use insight::canonical::{self, canonical};
use learn::course;
use learn::model::Model;
use learn::transfer;
use serde::{Deserialize, Serialize};

use crate::evidence;

/// A model that a course began with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// Its number in the memory.
    pub(crate) model: i64,
    /// The game that it is of.
    pub(crate) game: String,
    /// How it was taken over, if that game is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_over: Option<TakenOver>,
}

/// How a model of one game was taken over to a variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TakenOver {
    /// In what the games differ.
    differences: Vec<String>,
    /// Features and slots of patterns whose weights were taken over.
    features: usize,
    slots: usize,
    /// Whether these were fitted to positions of the new game.
    fitted: bool,
    /// The score against a fresh start in per cent, one move ahead, and its 95 % interval.
    score: f64,
    low: f64,
    high: f64,
    matches: usize,
    /// Whether these matches began in positions met in play.
    #[serde(default)]
    from_met: bool,
}

impl Origin {
    pub(crate) fn sentence(&self) -> String {
        let Origin { model, game, taken_over } = self;
        match taken_over {
            None => format!("began with model {model} of the same game, `{game}`"),
            Some(TakenOver { differences, score, low, high, .. }) => format!(
                "began with what model {model} of `{game}` learned ({}): {score:.0} % ({low:.0} to {high:.0}) against a fresh start",
                differences.join(" + ")
            ),
        }
    }
}

/// A model made from one of a variant in the memory that is shown to be better than a fresh one. `of` is the game's fingerprint.
pub(crate) fn take_over(
    memory: &Store,
    of: u128,
    fresh: &Arc<Model>,
    played: &Positions,
    settings: &course::Settings,
    stop: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Option<(Arc<Model>, Origin)>> {
    /// The most variants that are tried, and the matches that test the best of them.
    const TRIED: usize = 3;
    const MATCHES: u32 = 300;
    let game = &fresh.sight.game;
    if game.universe.roles.len() == 1 {
        return Ok(None);
    }
    let learned: BTreeSet<u128> = memory.models()?.into_iter().map(|entry| entry.game).collect();
    let met = arena::meet((*game.program).clone());
    let mut related = arena::variants(memory, &met)?;
    related.retain(|known| known.of.fingerprint != of && learned.contains(&known.of.fingerprint));
    let (mut came, mut origins) = (Vec::new(), Vec::new());
    for known in related.into_iter().take(TRIED) {
        if stop() {
            break;
        }
        let program = &known.program;
        let Ok(source) = Game::new(canonical(program, canonical::BUDGET).respelled(program), 1) else { continue };
        let source = Arc::new(source);
        // A variant that can't be used is passed over.
        let known = evidence::best_model_of_a_course(memory, known.of.fingerprint, &source, &|_| {});
        let Some(known) = known.ok().flatten() else { continue };
        let Some(variant) = transfer::relate(&source, game) else { continue };
        let (sight, patterns) = (&fresh.sight, settings.patterns.as_ref());
        if let Ok(taken) =
            transfer::transfer(&known.model, &variant, game, &sight.features, patterns, &sight.game_stages)
        {
            let differences = variant.transformations.iter().map(|change| change.class.name().to_owned()).collect();
            came.push(taken);
            origins.push((known.entry, differences));
        }
    }
    let test = transfer::Test { seed: settings.seed, matches: MATCHES, teach: settings.teach.clone() };
    let Some(better) = transfer::better(&came, fresh, played, &test, stop)? else { return Ok(None) };
    let (entry, differences) = origins.swap_remove(better.number);
    let taken_over = TakenOver {
        differences,
        features: came[better.number].n_features,
        slots: came[better.number].n_slots,
        score: 100.0 * better.score.mean,
        low: 100.0 * better.score.low,
        high: 100.0 * better.score.high,
        matches: better.matches,
        from_met: better.from_met,
        fitted: better.is_fitted,
    };
    let origin = Origin { model: entry.id, game: entry.game_name, taken_over: Some(taken_over) };
    Ok(Some((better.model, origin)))
}
