//! `senet match`, `senet tournament` and `senet ratings` from outside.

mod memory;

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use memory::Memory;

impl Memory {
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.senet(&[arguments, &["--json"]].concat())).expect("JSON")
    }

    /// What the program says if it refuses.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).expect("output is UTF-8")
    }
}

#[test]
fn matches_are_the_same_again_and_not_played_twice() {
    let (memory, other) = (Memory::new("again"), Memory::new("other"));
    let arguments = ["match", "tic-tac-toe", "--players", "uct,random", "--nodes", "200", "--matches", "12"];
    let first = memory.json(&arguments);
    assert_eq!((&first["matches"], &first["played_before"]), (&12.into(), &0.into()));
    assert_eq!(first["players"][0]["player"], "uct");
    assert_eq!(first["players"][0]["faults"], 0);
    let again = memory.json(&arguments);
    assert_eq!(again["played_before"], 12);
    assert_eq!(first["players"], again["players"]);
    let elsewhere = other.json(&[&arguments[..], &["--parallel", "1"]].concat());
    assert_eq!(first["players"], elsewhere["players"], "another machine, other threads");
    let otherwise = other.json(&[&arguments[..], &["--seed", "2"]].concat());
    assert_eq!(otherwise["played_before"], 0);
    // The table, and all of it from the memory.
    let table = memory.senet(&arguments);
    assert!(table.contains("contest 1: 12 matches, 12 of them played before") && table.contains("PLAYER"), "{table}");
    let ratings = memory.json(&["ratings"]);
    assert_eq!(ratings["players"], first["players"]);
    assert!(memory.senet(&["ratings", "--contests"]).contains("tic-tac-toe: uct, random (200 states a move)"));
    assert!(memory.senet(&["ratings", "--markdown"]).starts_with("| | player | Elo |"));
    assert!(memory.refusal(&["ratings", "--game", "othello"]).contains("there are no such matches"));
    assert!(memory.senet(&["ratings", "--forget", "1"]).contains("is forgotten"));
    assert!(memory.refusal(&["ratings"]).contains("there are no such matches"));
}

#[test]
fn a_killed_tournament_goes_on() {
    let memory = Memory::new("killed");
    let arguments = ["tournament", "tic-tac-toe", "connect-3-3x3", "--players", "uct,random,legal", "--nodes", "1000"];
    let arguments = [&arguments[..], &["--matches", "30", "--json"]].concat();
    let n_played = || {
        let contests = memory.senet(&["ratings", "--contests", "--json"]);
        contests.lines().next().map_or(0, |line| {
            let contest: Value = serde_json::from_str(line).expect("JSON");
            contest["matches"].as_u64().expect("a number")
        })
    };
    let mut killed = memory.command(&arguments).stdout(Stdio::null()).spawn().expect("the program starts");
    let begun = Instant::now();
    while n_played() < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no matches are played");
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    let before = n_played();
    assert!((5..180).contains(&before), "{before}");
    let told: Value = serde_json::from_str(&memory.senet(&arguments)).expect("JSON");
    assert_eq!((&told["matches"], &told["played_before"]), (&180.into(), &before.into()));
    let standings = told["players"].as_array().expect("a list");
    assert_eq!(standings[0]["player"], "uct");
    assert!(standings.iter().all(|standing| standing["matches"] == 120), "{standings:?}");
}

#[test]
fn a_test_ends_matches_early() {
    let memory = Memory::new("sprt");
    let arguments =
        ["match", "tic-tac-toe", "--players", "uct,random", "--nodes", "300", "--matches", "300", "--sprt", "0,100"];
    let told = memory.senet(&arguments);
    assert!(told.contains("uct is better than random") && told.contains("matches were not needed"), "{told}");
    let told = memory.json(&arguments);
    assert!(told["matches"].as_u64() < Some(100), "{told}");
}

#[test]
fn games_for_any_number_of_roles_and_all_formats() {
    let memory = Memory::new("formats");
    let alone = memory.json(&["match", "hanoi", "--players", "solo,random", "--nodes", "20000", "--matches", "2"]);
    assert_eq!((&alone["players"][0]["player"], &alone["players"][0]["mean_result"]), (&"solo".into(), &100.0.into()));
    let three = memory.json(&["match", "three-player-tic-tac-toe", "--players", "uct,random,legal", "--nodes", "50"]);
    assert_eq!(three["matches"], 12, "ten, and two more for all to have every seat");
    let players = "uct,fuzzy,random,legal";
    let swiss = memory.json(&["tournament", "tic-tac-toe", "--players", players, "--nodes", "50", "--format", "swiss"]);
    assert_eq!(swiss["matches"], 2 * 2 * 10, "two rounds of two pairs");
    let gauntlet =
        memory.json(&["tournament", "tic-tac-toe", "--players", players, "--nodes", "50", "--format", "gauntlet"]);
    assert_eq!(gauntlet["matches"], 30);
    assert_eq!(gauntlet["cross"].as_array().expect("a list").len(), 4);
}

#[test]
fn what_is_missing_is_said() {
    let memory = Memory::new("missing");
    let refusal = |more: &[&str]| memory.refusal(&[&["match", "tic-tac-toe"], more].concat());
    assert!(refusal(&["--players", "uct,nobody"]).contains("there is no player `nobody`; choose from random"));
    assert!(refusal(&["--players", "uct"]).contains("--players portfolio,uct"));
    assert!(refusal(&["--players", "uct,uct"]).contains("named twice"));
    assert!(refusal(&["--players", "greedy,uct"]).contains("`senet learn tic-tac-toe` makes one"));
    assert!(refusal(&["--players", "uct,random,legal"]).contains("has 2 roles, and there are 3 players"));
    assert!(refusal(&["--players", "solo,random"]).contains("several roles"));
    assert!(refusal(&["--players", "uct,portfolio", "--nodes", "50"]).contains("say --time instead"));
    assert!(refusal(&["--players", "uct,random", "--sprt", "50"]).contains("such as 0,50"));
}
