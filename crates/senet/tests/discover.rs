//! `senet learn --method discover` from outside.

mod memory;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use memory::Memory;

const SMALL: [&str; 6] = ["learn", "tic-tac-toe", "--method", "discover", "--lines", "2000"];

fn learn(memory: &Memory, more: &[&str]) -> Value {
    let told = memory.senet(&[&SMALL[..], &["--json"], more].concat());
    let mut told: Value = serde_json::from_str(&told).expect("JSON");
    told.as_object_mut().expect("an object").remove("seconds");
    told
}

#[test]
fn readable_terms_are_learned() {
    let memory = Memory::new("readable");
    let file = memory.0.join("function.txt");
    let file = file.to_str().expect("plain");
    let more = ["--generations", "1", "--measure-matches", "200", "--out", file];
    let told = memory.senet(&[&SMALL[..], &more].concat());
    assert!(told.starts_with("tic-tac-toe: ") && told.contains("best-first search, span 20"), "{told}");
    assert!(told.contains("own pieces") && (told.contains("on the board") || told.contains("on line")), "{told}");
    let function = std::fs::read_to_string(file).expect("written");
    assert!(function.starts_with("game discovered") && function.contains("phase "), "{function}");
    // The same on any number of threads; and better than chance, more so with search.
    let again = learn(&memory, &["--generations", "1", "--measure-matches", "200", "--threads", "2"]);
    assert_eq!(again["function"], function);
    let score = |place: usize| again["scores"][place]["low"].as_f64().expect("a number");
    assert!(score(0) > 55.0 && score(1) > 70.0, "{again}");
}

#[test]
fn the_way_of_the_thesis_is_there() {
    let memory = Memory::new("thesis");
    let arguments = ["learn", "tic-tac-toe", "--method", "discover-thesis", "--lines", "1000", "--generations", "1"];
    let told = memory.senet(&[&arguments[..], &["--no-measure", "--json"]].concat());
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["method"], &told["scores"]), (&Value::from("discover-thesis"), &Value::Array(Vec::new())));
    assert!(told["weights"][0]["matches"].as_u64() > Some(100), "{told}");
    assert!(!told["function"].as_str().expect("text").contains(">="), "presence alone");
}

/// A run that was killed between stages goes on to what it would have come to.
#[test]
fn a_kill_changes_nothing() {
    let whole = learn(&Memory::new("whole"), &["--generations", "2", "--no-measure"]);
    let memory = Memory::new("killed");
    let mut child = memory
        .command(&[&SMALL[..], &["--generations", "100000", "--no-measure"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let (start, mut seen) = (Instant::now(), BTreeSet::new());
    while seen.len() < 3 {
        let entries = std::fs::read_dir(memory.0.join("memory.db-files")).into_iter().flatten().flatten();
        seen.extend(
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "course")),
        );
        assert!(start.elapsed() < Duration::from_secs(120), "nothing is kept");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("dead");
    let resumed = learn(&memory, &["--generations", "2", "--no-measure", "--resume"]);
    // It may have been quicker than the one who kills.
    if resumed["cycles"] == 2 {
        assert_eq!(resumed, whole);
    }
    let weights = |told: &Value| told["weights"].as_array().expect("a list")[..2].to_vec();
    assert_eq!(weights(&resumed), weights(&whole));
    // A new run with the same settings does not look at what was kept.
    assert_eq!(learn(&memory, &["--generations", "2", "--no-measure"]), whole);
}

#[test]
fn what_cannot_be_learned_is_told() {
    let memory = Memory::new("told");
    for (arguments, expected) in [
        (&["learn", "hamilton", "--method", "discover"][..], "can't be learned in this way"),
        (&["learn", "tic-tac-toe", "--method", "discover", "--time", "1ms"], "--resume goes on"),
    ] {
        let output = memory.command(arguments).output().expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(expected), "{arguments:?}: {error}");
    }
}
