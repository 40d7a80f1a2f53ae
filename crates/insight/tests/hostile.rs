//! Texts that are made to exhaust an analysis: it ends with an answer or a reason, soon after it is told to.

mod texts;

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gdl::{Program, Stop};
use insight::analysis::{Analysis, Settings, analyze};
use insight::canonical::{BUDGET, canonical, canonical_until};
use insight::scramble::{RoleOrder, scramble};
use rand::SeedableRng;
use texts::{arity, roles, switches, with};

fn read(text: &str) -> Program {
    assert!(text.len() <= 4 << 20, "texts that are read have up to 4 MiB");
    gdl::read("hostile", text.as_bytes()).program
}

/// A recursion over a circle of so many places, from each of which a step leads to the next but one, too: a cycle of gates.
fn circle(n: usize) -> String {
    let mut text = with("(legal robot wait)\n(<= (legal robot (open ?x ?y)) (edge ?x ?y))\n");
    for place in 0..n {
        writeln!(text, "(edge {place} {}) (edge {place} {})", (place + 1) % n, (place + 2) % n).expect("a string");
    }
    text.push_str(
        "(<= (next (is_open ?x ?y)) (does robot (open ?x ?y)))
        (<= (next (is_open ?x ?y)) (true (is_open ?x ?y)))
        (<= (reached 0) (true (step 0)))
        (<= (reached ?y) (reached ?x) (true (is_open ?x ?y)))
        (<= (next (lit ?x)) (reached ?x))\n",
    );
    text
}

/// A long chain of relations, each of which needs the next.
fn chain(n: usize) -> String {
    let mut text = with("(legal robot wait)\n");
    for number in 0..n {
        writeln!(text, "(<= (link{number} ?x) (link{} ?x))", number + 1).expect("a string");
    }
    writeln!(text, "(<= (link{n} ?x) (true (step ?x)))\n(<= (next (seen ?x)) (link0 ?x))").expect("a string");
    text
}

/// Very many facts of one relation, or of as many relations.
fn facts(n: usize, relations: usize) -> String {
    let mut text = with("(legal robot wait)\n");
    for number in 0..n {
        writeln!(text, "(fact{} c{number} c{})", number % relations, number / 2).expect("a string");
    }
    text
}

/// Very many moves that do the same.
fn moves(n: usize) -> String {
    let mut text = with(
        "(<= (legal robot (take ?x)) (true (step 0)) (thing ?x))
        (<= (next (taken ?x)) (does robot (take ?x)))\n",
    );
    for number in 0..n {
        writeln!(text, "(thing t{number})").expect("a string");
    }
    text
}

/// Rules that are alike, each with many variables that only their circle tells apart.
fn alike(n: usize, n_variables: usize) -> String {
    let mut text = with("(legal robot wait) (edge 0 1)\n");
    for number in 0..n {
        write!(text, "(<= (alike ?v{})", number % n_variables).expect("a string");
        for at in 0..n_variables {
            write!(text, " (edge ?v{at} ?v{})", (at + 1 + number % 3) % n_variables).expect("a string");
        }
        text.push_str(")\n");
    }
    text
}

/// A token that is raised from the moment on when it has been asked so often.
fn after(questions: u64) -> Stop {
    let asked = AtomicU64::new(0);
    Stop::when(move || asked.fetch_add(1, Ordering::Relaxed) >= questions)
}

/// The longest that a stage may go on after it was stopped. (The law is 2 s in a release build on a quiet machine.)
const LATE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 4 });

/// Analyses a game that is stopped after a time, and looks whether it ends.
fn ends(name: &str, text: &str, time: Duration) -> Result<Analysis, String> {
    let program = read(text);
    let begin = Instant::now();
    let stop = Stop::when(move || begin.elapsed() > time);
    let found = analyze(&program, &Settings::default().until(&stop));
    let took = begin.elapsed();
    assert!(took < time + LATE, "{name} of {} bytes took {took:?}", text.len());
    if took > time
        && let Ok(found) = &found
    {
        assert!(found.stopped, "{name} says that it was stopped");
    }
    found
}

#[test]
fn recursion_through_many_gates_needs_no_stack() {
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let found = small.spawn(|| analyze(&read(&circle(400)), &Settings::default()));
    let found = found.expect("a thread").join().expect("it does not overflow").expect("it has a network");
    assert!(found.engine.no_network.is_none() && found.engine.no_proofs.is_none());
}

#[test]
fn large_games_end_when_they_are_told_to() {
    let texts = [
        ("switches", switches(2_000)),
        ("roles", roles(300)),
        ("arity", arity(1_000)),
        ("a chain", chain(3_000)),
        ("facts", facts(60_000, 1)),
        ("relations", facts(60_000, 30_000)),
        ("moves", moves(9_000)),
        ("a circle", circle(2_000)),
        ("rules that are alike", alike(300, 60)),
    ];
    for (name, text) in &texts {
        _ = ends(name, text, Duration::from_millis(1_500));
    }
}

#[test]
fn small_games_end_whenever_they_are_stopped() {
    let texts = [("switches", switches(12)), ("roles", roles(4)), ("arity", arity(12)), ("a circle", circle(8))];
    for (name, text) in &texts {
        let program = read(text);
        let whole = analyze(&program, &Settings::default()).expect("a small game");
        assert!(!whole.stopped);
        for questions in (0..40).map(|power| (1.35f64.powi(power)) as u64) {
            match analyze(&program, &Settings::default().until(&after(questions))) {
                Ok(found) => assert!(found.stopped || found == whole, "{name} after {questions} questions"),
                Err(reason) => assert!(reason.contains("stop"), "{name} after {questions} questions: {reason}"),
            }
        }
    }
}

#[test]
fn canonical_and_scrambled_texts_may_be_longer_than_what_is_read() {
    // Short names become longer ones, and 3.9 MB become more than 4 MiB.
    let mut text = with("(legal robot wait)\n");
    let mut number = 0;
    while text.len() < 3_900_000 {
        let name = |mut number: usize| {
            let mut name = String::new();
            for _ in 0..4 {
                name.push(char::from(b'a' + (number % 26) as u8));
                number /= 26;
            }
            name
        };
        writeln!(text, "(p {} {})", name(number), name(number + 1)).expect("a string");
        number += 1;
    }
    let program = read(&text);
    let form = canonical_until(&program, BUDGET, &after(1_000));
    assert!(form.text.len() > 4 << 20 && form.program.rules.len() == program.rules.len());
    let scrambled = scramble(&program, RoleOrder::Kept, &mut rand_pcg::Pcg64::seed_from_u64(1));
    assert!(scrambled.text.len() > 4 << 20 && scrambled.program.rules.len() == program.rules.len());
}

#[test]
fn a_stopped_form_says_the_same_as_the_game() {
    let program = read(&roles(6));
    let exact = canonical(&program, BUDGET);
    let stopped = canonical_until(&program, BUDGET, &after(0));
    assert!(exact.too_hard.is_none() && stopped.too_hard.is_some());
    assert_eq!(canonical(&stopped.program, BUDGET).text, exact.text);
}

#[test]
fn a_game_that_no_move_begins_is_given_up() {
    // Nobody can move at the beginning; and there is no network, since the budget is too small for it.
    let text = with("(n 1) (n 2) (n 3)\n(<= (legal robot (go ?a ?b ?c)) (true (step 1)) (n ?a) (n ?b) (n ?c))");
    let ground = gdl::ground::Budget { literals: 10, ..gdl::ground::Budget::default() };
    let found = analyze(&read(&text), &Settings { ground, ..Settings::default() }).expect("the beginning was seen");
    assert!(found.engine.no_network.is_some() && found.numbers.matches == 0 && found.numbers.given_up > 0);
}
