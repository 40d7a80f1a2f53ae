//! The memory from outside: `senet recognize` and `senet memory`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A memory file of one test's own.
struct Memory(PathBuf);

impl Memory {
    fn new(test: &str) -> Memory {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}.db", std::process::id()));
        Memory(file)
    }

    fn senet(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_senet"))
            .args(arguments)
            .env("SENET_STORE", &self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the program reads its input");
        child.wait_with_output().expect("the program ends")
    }

    fn text(&self, arguments: &[&str], input: &str) -> String {
        String::from_utf8(self.senet(arguments, input).stdout).expect("the output is UTF-8")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let mut name = self.0.clone().into_os_string();
            name.push(end);
            _ = std::fs::remove_file(name);
        }
    }
}

#[test]
fn games_are_recognised_and_remembered() {
    let memory = Memory::new("recognised");
    // The library is known from the start, under any names.
    let scrambled = memory.text(&["scramble", "minichess", "--seed", "5"], "");
    let known = memory.text(&["recognize", "-"], &scrambled);
    assert!(known.starts_with("`<stdin>` is `minichess`, known since "), "{known}");
    assert!(known.contains("\n  relations  adjacent     "), "{known}");
    // Variants are called by their differences.
    let inverted = scrambled.replace(" 100)", " one)").replace(" 0)", " 100)").replace(" one)", " 0)");
    let variant = memory.text(&["recognize", "-", "--name", "mine"], &inverted);
    let expected = "`mine` is a variant of `minichess`: inverted goal.\n  inverted goal: 100 instead of 0\n";
    assert!(variant.starts_with(expected), "{variant}");
    assert!(variant.ends_with("\n`mine` is remembered from now on.\n"), "{variant}");
    // What was met once is known, until it is forgotten.
    let again = memory.text(&["recognize", "-", "--json"], &inverted);
    let again: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!((again["answer"].as_str(), again["matches"][0]["of"]["name"].as_str()), (Some("same"), Some("mine")));
    assert!(memory.text(&["memory"], "").lines().any(|line| line.starts_with("mine ")));
    assert_eq!(memory.text(&["memory", "forget", "mine"], ""), "`mine` is forgotten.\n");
    assert_eq!(memory.senet(&["memory", "forget", "mine"], "").status.code(), Some(1));
    let asked = memory.text(&["recognize", "-", "--no-remember", "--json"], &inverted);
    let asked: serde_json::Value = serde_json::from_str(&asked).expect("JSON");
    assert_eq!((asked["answer"].as_str(), asked["remembered"].as_bool()), (Some("variant"), Some(false)));
    assert_eq!(asked["matches"][0]["differences"][0]["class"], "inverted goal");
    assert!(memory.text(&["memory", "--json"], "").lines().all(|line| !line.contains("\"mine\"")));
}

#[test]
fn strangers_and_bad_files_are_told() {
    let memory = Memory::new("strangers");
    let game = "(role r) (init (p a)) (<= (legal r (q ?x)) (true (p ?x))) (<= (next (z ?x)) (does r (q ?x)))
        (<= terminal (true (z ?x))) (<= (goal r 100) (true (z ?x))) (<= (goal r 0) (not (true (z a))))";
    let output = memory.senet(&["recognize", "-", "--no-remember"], game);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Nothing like `<stdin>` is known.\n");
    std::fs::write(&memory.0, "no database at all, but a text of some length ".repeat(30)).expect("written");
    let output = memory.senet(&["recognize", "-"], game);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("is no memory file: it is no database"), "{error}");
}
