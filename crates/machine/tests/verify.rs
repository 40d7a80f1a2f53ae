//! What a random simulation finds, as people see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gdl::Code;
use machine::verify::{Ending, Settings, Verification, verify};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

fn play(bytes: &[u8], settings: &Settings) -> (gdl::Source, Verification) {
    let gdl::Reading { source, program, .. } = gdl::read("game.kif", bytes);
    let verification = verify(&Arc::new(program), settings, &mut Pcg64Mcg::seed_from_u64(1));
    for found in &verification.diagnostics {
        assert!(!found.help.is_empty() && !found.primary.text.is_empty() && !found.notes.is_empty(), "{found:?}");
    }
    (source, verification)
}

fn rendered(bytes: &[u8]) -> String {
    let (source, verification) = play(bytes, &Settings { n_matches: 200, ..Settings::default() });
    let renderings: Vec<String> = verification.diagnostics.iter().map(|found| found.render(&source, false)).collect();
    renderings.join("\n\n")
}

#[test]
fn each_code_has_an_example_with_that_finding_alone() {
    for &code in Code::ALL.iter().filter(|code| code.id() >= "GDL0700") {
        let (_, verification) = play(code.example(), &Settings { n_matches: 200, ..Settings::default() });
        let codes: Vec<_> = verification.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, [code]);
        insta::assert_snapshot!(code.id(), rendered(code.example()));
    }
}

/// A game for two that goes wrong in the way that its last rules say.
const GAME: &str = "\
(role left) (role right)
(init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7)
(<= (legal left ?m) (push ?m))
(push hard) (push soft)
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
";

#[test]
fn evidence_is_short() {
    for (name, rules) in [
        (
            "stuck later",
            "(<= (legal right noop) (true (step ?n)) (distinct ?n 3)) (<= terminal (true (step 7))) (goal left 50) (goal right 50)",
        ),
        (
            "stuck at once",
            "(<= (legal right noop) (true (step 1))) (<= terminal (true (step 7))) (goal left 50) (goal right 50)",
        ),
        (
            "no goal after many moves",
            "(legal right noop) (<= terminal (true (step 7))) (goal left 50) (<= (goal right 0) (true (step 1)))",
        ),
        (
            "goals computed twice",
            "(legal right noop) (<= terminal (true (step 2))) (goal left 50) (<= (goal right ?n) (succ ?n ?m) (true (step ?s)))",
        ),
        ("endless", "(legal right noop) (<= terminal (true (step 8))) (goal left 50) (goal right 50)"),
        (
            "some goals for both",
            "(legal right noop) (<= terminal (true (step 2))) (<= (goal ?r 50) (role ?r)) (<= (goal ?r 100) (role ?r) (true (step 4))) (<= (goal left 0) (true (step 5)))",
        ),
    ] {
        insta::assert_snapshot!(name.replace(' ', "-"), rendered(format!("{GAME}{rules}\n").as_bytes()));
    }
}

#[test]
fn budgets_are_named_with_the_rule_that_ran_over() {
    let square = "(role r) (n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8) (n 9)
(<= (init (f ?a ?b ?c ?d ?e)) (n ?a) (n ?b) (n ?c) (n ?d) (n ?e))
(legal r go) (<= terminal (true (f 1 1 1 1 1))) (goal r 0)
";
    let default = machine::Limits::default;
    for (name, limits) in [
        ("facts", machine::Limits { facts: 200, ..default() }),
        ("bytes", machine::Limits { bytes: 1 << 20, ..default() }),
        ("work", machine::Limits { work: 300, ..default() }),
    ] {
        let (source, verification) = play(square.as_bytes(), &Settings { limits, ..Settings::default() });
        assert_eq!(verification.ending, Ending::Failed);
        let [found] = &verification.diagnostics[..] else { panic!("{:?}", verification.diagnostics) };
        insta::assert_snapshot!(format!("over-{name}"), found.render(&source, false));
    }
}

#[test]
fn a_stop_leaves_a_smaller_sample() {
    let rules = format!("{GAME}(legal right noop) (<= terminal (true (step 7))) (goal left 50) (goal right 50)");
    let program = Arc::new(gdl::read("game.kif", rules.as_bytes()).program);
    let asked = AtomicU32::new(0);
    let stop = gdl::Stop::when(move || asked.fetch_add(1, Ordering::Relaxed) >= 20);
    let settings = Settings { limits: machine::Limits { stop, ..machine::Limits::default() }, ..Settings::default() };
    let verification = verify(&program, &settings, &mut Pcg64Mcg::seed_from_u64(1));
    assert_eq!(verification.ending, Ending::Stopped);
    assert_eq!(verification.diagnostics, []);
    assert!((1..=20).contains(&verification.n_states), "{}", verification.n_states);
    let (_, all) = play(rules.as_bytes(), &Settings { n_matches: 5, ..Settings::default() });
    assert_eq!((all.ending, all.n_matches, all.n_finished, all.n_states), (Ending::Complete, 5, 5, 40));
    assert_eq!(all.roles, ["left", "right"]);
}

/// Roles that are derived by an expensive rule: everything that asks for them listens, from the first question on.
#[test]
fn a_stop_reaches_the_derivation_of_roles() {
    let digits: String = (0..40).map(|n| format!("(d {n})")).collect();
    let rules = format!("{digits} (<= (all ?a ?b ?c ?e) (d ?a) (d ?b) (d ?c) (d ?e)) (<= (role ?a) (all ?a ?b ?c ?e))");
    let program = Arc::new(gdl::read("game.kif", rules.as_bytes()).program);
    let asked = Arc::new(AtomicU32::new(0));
    let own = asked.clone();
    let stop = gdl::Stop::when(move || own.fetch_add(1, Ordering::Relaxed) >= 3);
    let made = machine::Reference::new(program.clone(), machine::Limits { stop: stop.clone(), ..Default::default() });
    let Err(machine::Setup::Exceeded(exceeded)) = made else { panic!("it was not stopped") };
    assert_eq!(exceeded.resource, gdl::datalog::Resource::Stopped);
    let ground = gdl::ground::ground(&program, &gdl::ground::Budget { stop, ..Default::default() });
    assert!(ground.is_err() && asked.load(Ordering::Relaxed) < 10);
}
