//! `senet solve` from outside, on rules that tempt it to claim too much.

use std::io::Write;
use std::process::{Command, Stdio};

/// What it prints for these rules, and its exit status.
fn solve(rules: &str, more: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_senet"));
    command.args(["solve", "-"]).args(more).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = command.spawn().expect("the program starts");
    program.stdin.take().expect("a pipe").write_all(rules.as_bytes()).expect("it reads all");
    let output = program.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (told, output.status.code())
}

/// Four lights that go out after four steps and are to be lit at once, three times. A light that is on again may still be going out,
/// so it can have several ages, and none, at the same time.
fn lights(lost: &str) -> String {
    format!(
        "(role me) (light a) (light b) (light c) (light d) (init (round 1))
        (init (age a 0)) (init (age b 0)) (init (age c 0)) (init (age d 0))
        (older 4 3) (older 3 2) (older 2 1) (older 1 0) (after 1 2) (after 2 3) (after 3 4)
        (<= (legal me (press ?l)) (light ?l))
        (<= (next (age ?l 4)) (does me (press ?l)))
        (<= (next (age ?l ?m)) (true (age ?l ?n)) (older ?n ?m))
        (<= (next (age ?l 0)) (true (age ?l 0)))
        (<= (on ?l) (true (age ?l ?n)) (distinct ?n 0))
        (<= all (on a) (on b) (on c) (on d))
        (<= (next (round ?m)) (true (round ?n)) (after ?n ?m) all)
        (<= (next (round ?n)) (true (round ?n)) (not all))
        (<= terminal (true (round 4))) (<= (goal me 100) (true (round 4))) (<= (goal me 0) {lost})"
    )
}

#[test]
fn lights_are_solved() {
    let (told, status) = solve(&lights("(not (true (round 4)))"), &["--json"]);
    assert!(told.contains(r#""exact":true"#) && told.contains(r#""lower":100"#), "{told}");
    assert_eq!(status, Some(0));
}

/// Where a match ends with two goal values at once, nobody knows what it is worth: it is not 0.
#[test]
fn what_has_two_values_proves_nothing() {
    let (told, status) = solve(&lights("(true (age ?l 0))"), &["--json"]);
    assert!(told.contains(r#""exact":false"#) && told.contains(r#""upper":100"#), "{told}");
    assert!(told.contains("matches without a result"), "{told}");
    assert_eq!(status, Some(1));
}

/// A game that never ends is worth nothing that could be claimed.
#[test]
fn what_never_ends_proves_nothing() {
    let (told, status) = solve(&lights("(not (true (round 4)))").replace("(older 4 3)", ""), &[]);
    assert!(told.contains("me gets 0 to 100; not solved: there are matches without a result"), "{told}");
    assert_eq!(status, Some(1));
}

#[test]
fn there_must_be_something_to_solve() {
    let over = "(role me) (init here) (legal me go) (<= (next here) (does me go)) (<= terminal (true here))";
    let cases = [
        (over.to_owned() + "(goal me 70)", "me gets 70", 0),
        (over.to_owned() + "(goal me 70) (goal me 20)", "no single goal value", 2),
        (over.replace("(legal me go)", "(<= (legal me go) (true there))") + "(goal me 70)", "me gets 70", 0),
        (
            "(role me) (init here) (<= (legal me go) (true there)) (<= (next there) (does me go)) \
             (<= terminal (true there)) (goal me 1)"
                .to_owned(),
            "`me` has no legal move at the start",
            2,
        ),
        (
            "(role me) (role you) (init here) (legal me go) (legal me stay) (legal you wait) \
             (<= (next there) (does me go)) (<= (next here) (does me stay)) \
             (<= terminal (true there)) (<= (goal you 100) (true there))"
                .to_owned(),
            "no goal value for `me`",
            2,
        ),
    ];
    for (rules, expected, status) in cases {
        let (told, found) = solve(&rules, &[]);
        assert!(told.contains(expected) && found == Some(status), "{expected}: {found:?}\n{told}");
    }
}

/// Roles that a rule derives are roles.
#[test]
fn derived_roles_play() {
    let (told, status) = solve(
        "(player one) (player two) (<= (role ?p) (player ?p)) (init (left 3)) (init (turn one))
        (less 3 2) (less 2 1) (less 1 0) (two 3 1) (two 2 0) (other one two) (other two one)
        (<= (legal ?p (take 1)) (true (turn ?p)) (true (left ?n)) (less ?n ?m))
        (<= (legal ?p (take 2)) (true (turn ?p)) (true (left ?n)) (two ?n ?m))
        (<= (legal ?p wait) (role ?p) (not (true (turn ?p))))
        (<= (next (left ?m)) (does ?p (take 1)) (true (left ?n)) (less ?n ?m))
        (<= (next (left ?m)) (does ?p (take 2)) (true (left ?n)) (two ?n ?m))
        (<= (next (turn ?q)) (true (turn ?p)) (other ?p ?q))
        (<= terminal (true (left 0)))
        (<= (goal ?p 0) (true (turn ?p))) (<= (goal ?p 100) (role ?p) (not (true (turn ?p))))",
        &["--by", "proof-number"],
    );
    assert!(told.contains("one gets 0\n"), "{told}");
    assert_eq!(status, Some(0));
}
