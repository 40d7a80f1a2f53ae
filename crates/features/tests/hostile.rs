//! Texts that are made to exhaust the making of features: it ends with an answer or a reason, soon after it is told to.

#[path = "../../insight/tests/texts/mod.rs"]
mod texts;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use features::construct::{self, construct};
use features::game::Game;
use features::positions::{self, collect};
use gdl::Stop;
use texts::{arity, roles, switches};

/// Goes all the way to features.
fn make(text: &str, stop: &Stop) -> Result<construct::FeatureSet, String> {
    let game = Game::until(gdl::read("hostile", text.as_bytes()).program, 1, stop)?;
    let settings = positions::Settings { positions: 500, ..positions::Settings::default() };
    let collected = collect(&game, &settings, &mut |_| true);
    let settings = construct::Settings { candidates: 500, positions: 500, ..construct::Settings::default() };
    construct(&game, &collected.positions, &settings, &mut |_| true)
}

/// The longest that a stage may go on after it was stopped. (The law is 2 s in a release build on a quiet machine.)
const LATE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 4 });

#[test]
fn large_games_end_when_they_are_told_to() {
    for (name, text) in [("switches", switches(2_000)), ("roles", roles(300)), ("arity", arity(1_000))] {
        for time in [Duration::from_millis(300), Duration::from_secs(3)] {
            let begin = Instant::now();
            let found = make(&text, &Stop::when(move || begin.elapsed() > time));
            let took = begin.elapsed();
            assert!(took < time + LATE, "{name} of {} bytes took {took:?}", text.len());
            if took > time
                && let Ok(found) = found
            {
                assert!(!found.stopped.is_empty(), "{name} says that it was stopped");
            }
        }
    }
}

#[test]
fn small_games_end_whenever_they_are_stopped() {
    for (name, text) in [("switches", switches(4)), ("roles", roles(3)), ("arity", arity(40))] {
        for power in (0..16).map(|power| 3 * power) {
            let (asked, questions) = (AtomicU64::new(0), 1.35f64.powi(power) as u64);
            let stop = Stop::when(move || asked.fetch_add(1, Ordering::Relaxed) >= questions);
            match make(&text, &stop) {
                Ok(found) => assert!(
                    !stop.is_raised() || found.stopped.iter().any(|reason| reason.contains("stop")),
                    "{name} after {questions} questions"
                ),
                Err(reason) => assert!(reason.contains("stop"), "{name} after {questions} questions: {reason}"),
            }
        }
    }
}
