//! `senet ladder` from outside: a short one, one that is killed, and its page.

mod memory;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use memory::Memory;

impl Memory {
    fn begin(&self, arguments: &[&str]) -> Command {
        self.command(&[&["ladder"], arguments].concat())
    }

    /// What a ladder prints to standard output and to standard error.
    fn ladder(&self, arguments: &[&str]) -> (String, String) {
        let output = self.begin(arguments).output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    }

    fn state(&self) -> PathBuf {
        self.0.join("memory.db-ladder.jsonl")
    }

    /// The lines of what is kept.
    fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

const SHORT: [&str; 12] = [
    "--generations",
    "1",
    "--matches",
    "4",
    "--search-matches",
    "2",
    "--move-time",
    "0.005",
    "--long",
    "tic-tac-toe",
    "--long-time",
    "0.01",
];

#[test]
fn a_ladder_is_climbed_and_told() {
    let memory = Memory::new("told");
    let page = memory.0.join("strength.md");
    let names = ["tic-tac-toe", "buttons-and-lights"];
    let parts = |more: &[&'static str]| [&names[..], &SHORT, more].concat();
    // Learning alone; then the matches; then nothing is left to do.
    let (learned, _) = memory.ladder(&parts(&["--only", "learn", "--json"]));
    let learned: Value = serde_json::from_str(&learned).expect("JSON");
    assert_eq!(learned["games"][0]["learned"]["roles"], 2);
    assert_eq!(learned["games"][0]["cells"].as_array().map(Vec::len), Some(0));
    assert_eq!(memory.records().len(), 2);
    let file = page.to_str().expect("plain").to_owned();
    let output = memory.begin(&parts(&["--json"])).args(["--out", &file]).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["games"][0]["learned"], learned["games"][0]["learned"], "it is not learned again");
    let cells = told["games"][0]["cells"].as_array().expect("a list");
    let matches: Vec<(&str, u64)> = cells
        .iter()
        .map(|cell| (cell["kind"].as_str().expect("a name"), cell["matches"].as_u64().expect("a number")))
        .collect();
    let expected =
        [("one-ply-random", 4), ("one-ply-fuzzy", 4), ("search-random", 2), ("search-uct", 2), ("search-uct", 2)];
    assert_eq!(matches, expected);
    assert!(cells.iter().all(|cell| cell["done"] == true));
    let alone = told["games"][1]["cells"].as_array().expect("a list");
    assert_eq!(alone.iter().map(|cell| cell["matches"].as_u64()).collect::<Vec<_>>(), [Some(2), Some(2)]);
    let text = std::fs::read_to_string(&page).expect("written");
    assert!(text.contains("| tic-tac-toe | ") && text.contains("| buttons-and-lights | "), "{text}");
    assert!(text.contains("A short run"), "{text}");
    let before = memory.records();
    let (again, _) = memory.ladder(&parts(&[]));
    assert_eq!(again, text);
    assert_eq!(memory.ladder(&parts(&["--report-only"])).0, text);
    assert_eq!(memory.ladder(&parts(&["tic-tac-toe", "--report-only"])).0, text, "a game is told once");
    assert_eq!(memory.records(), before, "nothing was left to do");
}

/// Killed again and again, a ladder plays each match once, and learns once.
#[test]
fn a_killed_ladder_goes_on() {
    let memory = Memory::new("killed");
    let arguments =
        ["tic-tac-toe", "--generations", "1", "--matches", "40", "--search-matches", "40", "--move-time", "0.01"];
    for wanted in [1, 30, 95] {
        let mut child =
            memory.begin(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        let start = Instant::now();
        while memory.records().len() < wanted {
            assert!(start.elapsed() < Duration::from_secs(300), "it does not go on: {}", memory.records().len());
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("killed");
        child.wait().expect("dead");
        // As if the kill had come in the middle of a line.
        let kept = std::fs::read(memory.state()).expect("kept");
        std::fs::write(memory.state(), [&kept[..], b"{\"record\":\"mat"].concat()).expect("written");
    }
    let (page, said) = memory.ladder(&arguments);
    assert!(said.contains("are cut short or damaged, and are passed over"), "{said}");
    assert!(page.contains("), 40 |"), "{page}");
    let records = memory.records();
    let learned = records.iter().filter(|record| record["record"] == "learned").count();
    let mut matches: Vec<String> = records
        .iter()
        .filter(|record| record["record"] == "match")
        .map(|record| format!("{} {}", record["cell"], record["number"]))
        .collect();
    let n_matches = matches.len();
    matches.sort();
    matches.dedup();
    assert_eq!((learned, matches.len()), (1, n_matches));
    assert!((40 + 40 + 40 + 30..=160).contains(&n_matches), "{n_matches}");
}

#[test]
fn mistakes_are_told() {
    let memory = Memory::new("mistakes");
    for (arguments, expected) in [
        (&["tic-tac-toe", "--move-time", "0"][..], "no time for a move"),
        (&["no-such-game"], "no-such-game"),
        (&["tic-tac-toe", "--time", "soon"], "write 90s, 5m or 2h"),
    ] {
        let output = memory.begin(arguments).output().expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(expected), "{arguments:?}: {error}");
    }
    let (page, said) = memory.ladder(&["tic-tac-toe", "--only", "play"]);
    assert!(page.ends_with("Nothing has been played yet.\n") && said.contains("not learned yet"), "{said}");
}
