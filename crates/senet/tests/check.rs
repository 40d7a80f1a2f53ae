//! `senet check` as its users meet it: output, exit status, and the same refusal by other commands.

use std::path::PathBuf;
use std::process::{Command, Output};

const GAME: &str = "\
(role robot)
(init (at 1))
(legal robot go)
(<= (next (at 2)) (does robot go))
(<= terminal (true (at 2)))
(goal robot 100)
";

/// Writes a rule file and returns its path.
fn file(name: &str, text: impl AsRef<[u8]>) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the test folder can be written");
    path.to_string_lossy().into_owned()
}

fn senet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_senet")).args(arguments).output().expect("senet runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

#[test]
fn a_playable_game_is_summed_up() {
    let rules = file("fine.kif", GAME);
    let output = senet(&["check", &rules, "--time", "100"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "fine: 1 role, playable; 2000 states in 1000 matches; 0 errors, 0 warnings\n");
    assert_eq!(text(&output.stderr), "");
    let output = senet(&["check", "--no-simulation", &rules, &rules]);
    assert_eq!(text(&output.stdout), "fine: 1 role, playable; 0 errors, 0 warnings\n".repeat(2));
}

#[test]
fn a_warning_does_not_reject() {
    let rules = file("doubtful.kif", format!("{GAME}(wall 3)\n"));
    let output = senet(&["check", "--no-simulation", &rules]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).starts_with("warning[GDL0502]: relation `wall` is never used\n"));
    assert_eq!(text(&output.stdout), "doubtful: 1 role, playable; 0 errors, 1 warning\n");
}

#[test]
fn an_error_rejects_for_every_command() {
    let rules =
        file("wrong.kif", format!("{GAME}(<= terminal (true (at ?x))\n(<= (goal robot ?x) (not (true (at ?x))))\n"));
    let output = senet(&["check", &rules]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "wrong: rejected; 2 errors, 0 warnings\n");
    for command in ["trace", "perft"] {
        let output = senet(&[command, &rules]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert_eq!(text(&output.stdout), "", "{command}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains("error[GDL0003]") && stderr.contains("error[GDL0201]"), "{command}: {stderr}");
    }
}

#[test]
fn what_play_finds_rejects_as_well() {
    let rules = file("stuck.kif", gdl::Code::NoLegalMove.example());
    let output = senet(&["check", &rules]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error[GDL0701]"));
    assert!(text(&output.stdout).starts_with("stuck: rejected; "));
}

#[test]
fn strange_files_get_a_diagnostic() {
    let deep = "(".repeat(100_000);
    let huge = "(succ 1 2)\n".repeat(1_000_000);
    for (name, bytes, code) in [
        ("latin1.kif", &b"(role caf\xe9)"[..], "GDL0001"),
        ("huge.kif", huge.as_bytes(), "GDL0002"),
        ("deep.kif", deep.as_bytes(), "GDL0003"),
        ("empty.kif", b"", "GDL0109"),
        ("nul.kif", b"\0\0", "GDL0109"),
    ] {
        let output = senet(&["check", &file(name, bytes)]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(text(&output.stderr).starts_with(&format!("error[{code}]")), "{name}: {}", text(&output.stderr));
    }
}

#[test]
fn what_cannot_be_done_exits_with_2() {
    let fine = file("also-fine.kif", GAME);
    let output = senet(&["check", "no-such-file.kif", &fine, "--no-simulation"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: can't read `no-such-file.kif`"));
    assert_eq!(text(&output.stdout), "also-fine: 1 role, playable; 0 errors, 0 warnings\n");
    assert_eq!(senet(&["check"]).status.code(), Some(2));
    assert_eq!(senet(&["check", "--explain", "GDL9999"]).status.code(), Some(2));
    assert_eq!(senet(&["check", &fine, "--time", "soon"]).status.code(), Some(2));
}

#[test]
fn json_has_the_same_facts() {
    let rules = file("typo.kif", format!("{GAME}(<= terminal\n    (true (at ?x)) (opne ?x))\n(open 2)\n"));
    let output = senet(&["check", "--json", &rules, "--seed", "7", "--time", "100"]);
    assert_eq!(text(&output.stderr), "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(json["game"], "typo");
    assert_eq!(json["playable"], true);
    assert_eq!(json["roles"], serde_json::json!(["robot"]));
    assert_eq!((&json["errors"], &json["warnings"]), (&0.into(), &1.into()));
    let sample =
        serde_json::json!({"seed": 7, "matches": 1000, "finished": 1000, "states": 2000, "ending": "complete"});
    assert_eq!(json["sample"], sample);
    let finding = serde_json::json!({
        "code": "GDL0501",
        "severity": "warning",
        "message": "relation `opne` is not defined",
        "line": 8,
        "column": 21,
        "end": {"line": 8, "column": 25},
        "label": "no rule or fact is about it, so this never holds",
        "labels": [],
        "notes": [],
        "help": "did you mean `open`?",
    });
    assert_eq!(json["findings"], serde_json::json!([finding]));
}

#[test]
fn a_code_is_explained_with_an_example() {
    let output = senet(&["check", "--explain", "gdl0503"]);
    assert_eq!(output.status.code(), Some(0));
    let page = text(&output.stdout);
    assert!(page.starts_with("## GDL0503\n\nwarning: **fluent that can never hold**\n"), "{page}");
    assert!(page.contains("(<= terminal (true (setp 2)))") && page.contains("did you mean `step`?"), "{page}");
}
