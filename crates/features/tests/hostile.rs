//! Texts that are made to exhaust the making of features: it ends with an answer or a reason, soon after it is told to.

#[path = "../../insight/tests/texts/mod.rs"]
mod texts;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use features::compile::{Budget, compile};
use features::construct::{self, construct};
use features::evaluate::incremental::Values;
use features::evaluate::{bulk, incremental};
use features::feature;
use features::game::Game;
use features::positions::{self, collect};
use gdl::Stop;
use texts::{arity, roles, switches, with};

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

/// Features as text that would exhaust memory, or whose values are no numbers that can be told, are left out or refused.
#[test]
fn hostile_features_are_left_out() {
    let text = with("(legal robot wait) (pair a b) (held 0)");
    let game = Game::new(gdl::read("hostile", text.as_bytes()).program, 1).expect("it has a network");
    let doubling: String = (1..200).map(|at| format!(" (equal ?{at} (pair ?{} ?{}))", at - 1, at - 1)).collect();
    let alternatives = " (or (held 0) (held 0))".repeat(200);
    let arguments = " 0".repeat(1_000);
    for (text, is_left_out) in [
        ("(sum (table (?0) (2147483647 (0) (1) (2))) (?0) (after ?0 ?1))", true),
        ("(sum (table (?0) (-2147483648 (0) (1))) (?0) (true (step ?0)))", true),
        ("(sum (table (?0) (2147483647 (0))) (?0) (true (step ?0)))", false),
        (&format!("(count () (and (true (step ?0)){doubling} (held ?199)))"), true),
        (&format!("(count () (and{alternatives}))"), true),
        (&format!("(count () (held{arguments}))"), true),
        (&format!("(count (?0) (member (?0{arguments}) (0{arguments})))"), true),
        ("(count () (and))", false),
        ("(count () (or))", false),
        ("(count (?4294967295) (true (step ?4294967295)))", false),
    ] {
        let feature = feature::read(text, &game.program.symbols).expect(text);
        let compiled = compile(&game, &[feature], &Budget::default()).expect(text);
        assert_eq!(compiled.left_out.len(), usize::from(is_left_out), "{text}");
        let mut values = Vec::new();
        let start = machine::scalar::Compiled::new(compiled.views.network.clone()).initial().to_vec();
        bulk::Bulk::new(Arc::new(bulk::Compiled::new(&compiled.sums))).values(&[&start], &mut values);
        assert_eq!(Values::new(incremental::Compiled::new(&compiled.sums)).values(), values, "{text}");
    }
}
