//! Which model of a game plays: the one that is pinned; else the one that did best when it was measured; else the one that has learned
//! from most matches.
//!
//! A measure is a score where the model searches, against tree search or alone, over at least one match. Of two models that were
//! measured, the one whose 95 % interval begins higher is better, so that a few lucky matches do not count for more than many. One that
//! was never measured does not displace one that was. Matches that a model has learned from include those of the model that it began
//! with. Of equals the newest plays.

use std::cmp::Ordering;

use arena::store::ModelEntry;
use serde_json::Value;

use crate::measure::{Kind, Score};

/// What a model is ranked by.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// How it did when it was measured.
    pub(crate) measured: Option<Score>,
    /// Matches that it has learned from.
    pub(crate) matches: u64,
    is_pinned: bool,
    id: i64,
}

impl Standing {
    /// Where a model stands; `all` has the models that it may have begun with.
    pub(crate) fn new(entry: &ModelEntry, all: &[ModelEntry]) -> Standing {
        let about = about(entry);
        let scores = scores(&about).into_iter().filter(|score| {
            matches!(score.kind, Kind::SearchUct | Kind::SearchAlone) && score.matches > 0 && score.low.is_finite()
        });
        Standing {
            measured: scores.max_by_key(|score| score.matches),
            matches: matches(entry, all),
            is_pinned: entry.is_pinned,
            id: entry.id,
        }
    }

    /// Greater is better.
    fn compare(&self, other: &Standing) -> Ordering {
        let low = |standing: &Standing| standing.measured.as_ref().map_or(-1.0, |score| score.low);
        (self.is_pinned.cmp(&other.is_pinned))
            .then(low(self).total_cmp(&low(other)))
            .then(self.matches.cmp(&other.matches))
            .then(self.id.cmp(&other.id))
    }
}

/// The models of a game that are told in today's names, the one that plays first.
pub(crate) fn best_first(all: &[ModelEntry], game: u128) -> Vec<&ModelEntry> {
    let mut found: Vec<(Standing, &ModelEntry)> = all
        .iter()
        .filter(|entry| entry.game == game && !entry.is_outdated)
        .map(|entry| (Standing::new(entry, all), entry))
        .collect();
    found.sort_by(|(one, _), (other, _)| other.compare(one));
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// What is said of a model.
pub(crate) fn about(entry: &ModelEntry) -> Value {
    serde_json::from_str(&entry.about).unwrap_or_default()
}

/// The scores in what is said of a model.
pub(crate) fn scores(about: &Value) -> Vec<Score> {
    let scores = about["scores"].as_array().cloned().unwrap_or_default();
    scores.into_iter().filter_map(|score| serde_json::from_value(score).ok()).collect()
}

/// What is said of a model, with scores added to it; of two of a kind the one with more matches stays.
pub(crate) fn with_scores(entry: &ModelEntry, new: Vec<Score>) -> String {
    let mut about = about(entry);
    let mut all = scores(&about);
    for score in new {
        match all.iter_mut().find(|old| (old.kind, old.move_time) == (score.kind, score.move_time)) {
            Some(old) if old.matches > score.matches => {}
            Some(old) => *old = score,
            None => all.push(score),
        }
    }
    about["scores"] = serde_json::to_value(all).unwrap_or_default();
    about.to_string()
}

/// The matches that a model has learned from, with those of the one of the same game that it began with.
fn matches(entry: &ModelEntry, all: &[ModelEntry]) -> u64 {
    let mut sum = 0;
    let mut next = Some(entry);
    // What a model began with is older, so this ends.
    while let Some(entry) = next {
        let about = about(entry);
        sum += about["matches"].as_u64().unwrap_or(0);
        let origin = about["origin"]["model"].as_i64().filter(|&id| id < entry.id);
        next = origin.and_then(|id| all.iter().find(|other| other.id == id && other.game == entry.game));
    }
    sum
}

#[cfg(test)]
mod tests {
    use arena::Store;
    use serde_json::json;

    use super::*;

    fn score(low: f64, matches: usize) -> Value {
        json!([{ "kind": "search-uct", "mean": low + 5.0, "low": low, "high": low + 10.0, "result": 50.0, "others": 50.0,
                 "best": 100, "matches": matches, "wins": 0, "losses": 0, "given_up": 0 }])
    }

    /// The order of models that are kept one after the other, as numbers from 0.
    fn order(abouts: &[Value], pinned: Option<usize>) -> Vec<usize> {
        let folder = std::env::temp_dir().join(format!("senet-ranking-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        let mut store = Store::open(&folder.join("memory.db")).expect("made");
        let met =
            arena::meet(gdl::read("game", b"(role r) (init a) (legal r go) (goal r 1) (<= terminal (true a))").program);
        arena::remember(&mut store, &met, "game", "(role r)", 1).expect("written");
        for (place, about) in abouts.iter().enumerate() {
            let id = store.keep_model(met.fingerprint(), &about.to_string(), &[place as u8], 1).expect("written");
            if pinned == Some(place) {
                store.pin_model(id.expect("kept"), true).expect("written");
            }
        }
        let all = store.models().expect("read");
        let found = best_first(&all, met.fingerprint()).into_iter().map(|entry| entry.id as usize - 1).collect();
        drop(store);
        std::fs::remove_dir_all(folder).expect("removed");
        found
    }

    #[test]
    fn the_best_measured_model_plays() {
        let long = json!({ "matches": 65_000 });
        let nothing = json!({ "matches": 0 });
        assert_eq!(order(&[long.clone(), nothing.clone()], None), [0, 1], "a run of no matches displaces nothing");
        let [weak, strong] = [40.0, 60.0].map(|low| json!({ "matches": 100, "scores": score(low, 200) }));
        assert_eq!(order(&[strong.clone(), weak.clone(), long.clone(), nothing], None), [0, 1, 2, 3]);
        assert_eq!(order(&[strong.clone(), weak.clone(), long.clone()], Some(1)), [1, 0, 2]);
        // No match is no measure.
        assert_eq!(order(&[json!({ "matches": 9, "scores": score(90.0, 0) }), long.clone()], None), [1, 0]);
        // What a model began with counts; of equals the newest plays.
        let further = json!({ "matches": 1, "origin": { "model": 1, "game": "game" } });
        assert_eq!(order(&[long.clone(), further, json!({ "matches": 10 })], None), [1, 0, 2]);
        assert_eq!(order(&[long.clone(), long], None), [1, 0]);
    }
}
