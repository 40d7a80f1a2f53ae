//! Texts that are made to exhaust the making of features: it ends with an answer or a reason, soon after it is told to.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use features::construct::{self, construct};
use features::game::Game;
use features::positions::{self, collect};
use gdl::Stop;

/// A game for one role that is over after three steps, with more rules.
fn with(rules: &str) -> String {
    let game = "(role robot) (init (step 0)) (after 0 1) (after 1 2) (after 2 3)
        (<= (next (step ?y)) (true (step ?x)) (after ?x ?y)) (<= terminal (true (step 3)))
        (<= (goal robot 100) (true on0)) (<= (goal robot 0) (not (true on0)))\n";
    format!("{game}{rules}")
}

/// Many fluents that have nothing to do with each other, each with a move that turns it on.
fn switches(n: usize) -> String {
    let mut text = with("(legal robot wait)\n");
    for number in 0..n {
        writeln!(
            text,
            "(legal robot flip{number}) (<= (next on{number}) (does robot flip{number}))
            (<= (next on{number}) (true on{number}))"
        )
        .expect("a string");
    }
    text
}

/// Many roles.
fn roles(n: usize) -> String {
    let mut text = String::from("(init (step 0)) (<= (next (step 1)) (true (step 0))) (<= terminal (true (step 1)))\n");
    for number in 0..n {
        writeln!(text, "(role r{number}) (init (held r{number} 0))").expect("a string");
    }
    text.push_str(
        "(value 0) (value 1) (value 2) (value 3)
        (<= (legal ?r (choose ?v)) (role ?r) (value ?v))
        (<= (next (held ?r ?v)) (does ?r (choose ?v)))
        (points 0 0) (points 1 30) (points 2 60) (points 3 100)
        (<= (goal ?r ?p) (true (held ?r ?v)) (points ?v ?p))\n",
    );
    text
}

/// A fluent, a move and a relation with very many arguments.
fn arity(n: usize) -> String {
    let list = |prefix: &str| (0..n).map(|at| format!(" {prefix}{at}")).collect::<String>();
    let (values, variables) = (list("c"), list("?x"));
    with(&format!(
        "(init (wide{values})) (<= (next (wide{variables})) (true (wide{variables})))
        (<= (legal robot (go{variables})) (true (wide{variables}))) (legal robot flip)
        (<= (next on0) (does robot flip)) (<= (same{variables}) (true (wide{variables})) (true on0))
        (<= (goal robot 50) (same{variables}))\n"
    ))
}

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
