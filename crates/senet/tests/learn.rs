//! `senet learn`, `senet models` and `senet explain` from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A memory of one test's own, which goes when the test ends.
struct Memory(PathBuf);

impl Memory {
    fn new(name: &str) -> Memory {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("learn-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("made");
        Memory(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_senet"));
        command.args(arguments).env("SENET_STORE", self.0.join("memory.db")).stdin(Stdio::null());
        command
    }

    /// What the program prints.
    fn senet(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("output is UTF-8")
    }

    fn learn(&self, rules: &str, more: &[&str]) -> Value {
        let told = self.senet(&[&["learn", rules, "--no-measure", "--json"], more].concat());
        let mut told: Value = serde_json::from_str(&told).expect("JSON");
        let about = told.as_object_mut().expect("an object");
        about.remove("seconds");
        about.remove("model");
        told
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_game_is_learned_and_explained() {
    let memory = Memory::new("explained");
    let told = memory.senet(&["learn", "tic-tac-toe", "--time", "6s", "--generations", "1", "--move-time", "0.005"]);
    assert!(told.starts_with("tic-tac-toe: ") && told.contains("LEARNED AGAINST"), "{told}");
    assert!(told.contains("random play, one move ahead") && told.contains("kept as model 1"), "{told}");
    let models = memory.senet(&["models"]);
    assert!(models.contains("tic-tac-toe"), "{models}");
    let explained = memory.senet(&["explain", "tic-tac-toe", "--top", "3"]);
    assert!(explained.starts_with("model 1 of tic-tac-toe") && explained.contains("to move"), "{explained}");
    assert!(explained.contains("features"), "{explained}");
    let parts: Value = serde_json::from_str(&memory.senet(&["explain", "1", "--json"])).expect("JSON");
    assert!(parts.as_array().expect("a list").len() >= 2);
    assert!(memory.senet(&["models", "forget", "1"]).contains("forgotten"));
    let output = memory.command(&["explain", "tic-tac-toe"]).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("senet learn tic-tac-toe"), "{error}");
}

/// The same seed gives the same curve on any number of threads, also for a scrambled copy, and after a kill.
#[test]
fn kills_threads_and_names_change_nothing() {
    let memory = Memory::new("killed");
    let whole = memory.learn("tic-tac-toe", &["--generations", "3", "--threads", "1"]);
    assert_eq!(memory.learn("tic-tac-toe", &["--generations", "3", "--threads", "2"]), whole);
    // A course that is killed once something of it was kept.
    let killed = Memory::new("resumed");
    let mut child = killed
        .command(&["learn", "tic-tac-toe", "--generations", "100000", "--no-measure"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let folder = killed.0.join("memory.db-files");
    let start = Instant::now();
    let is_kept = || {
        let entries = std::fs::read_dir(&folder).map(|entries| entries.flatten().collect::<Vec<_>>());
        entries.unwrap_or_default().iter().any(|entry| entry.path().extension().is_some_and(|end| end == "course"))
    };
    while !is_kept() {
        assert!(start.elapsed() < Duration::from_secs(300), "nothing is kept");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("killed");
    child.wait().expect("dead");
    let resumed = killed.learn("tic-tac-toe", &["--resume", "--generations", "1"]);
    let (long, short) = (&resumed["curve"], &whole["curve"]);
    let long = long.as_array().expect("a list");
    assert!(long.len() >= 2, "what was kept is gone on with: {long:?}");
    for (one, other) in long.iter().zip(short.as_array().expect("a list")) {
        assert_eq!(one, other);
    }
    // A scrambled copy is the same game.
    let scrambled = memory.senet(&["scramble", "tic-tac-toe", "--seed", "5"]);
    let file = memory.0.join("scrambled.kif");
    std::fs::write(&file, scrambled).expect("written");
    let other = memory.learn(file.to_str().expect("plain"), &["--generations", "3"]);
    assert_eq!(other["curve"], whole["curve"]);
    assert_eq!(other["fingerprint"], whole["fingerprint"]);
}

#[test]
fn mistakes_are_told() {
    let memory = Memory::new("mistakes");
    for (arguments, expected) in [
        (&["learn", "tic-tac-toe", "--time", "soon"][..], "write 90s, 5m or 2h"),
        (&["learn", "no-such-game"], "no-such-game"),
        (&["explain", "7"], "senet models"),
        (&["models", "forget", "7"], "there is no model 7"),
    ] {
        let output = memory.command(arguments).output().expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(expected), "{arguments:?}: {error}");
    }
}
