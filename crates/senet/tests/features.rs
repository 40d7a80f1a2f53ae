//! `senet features` from outside.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Few positions, so that tests are short.
const SHORT: [&str; 4] = ["--play", "1500", "--budget", "300"];

fn senet_with(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_senet"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the program reads its input");
    child.wait_with_output().expect("the program ends")
}

/// What `senet features` prints about a game that it does not remember.
fn features(rules: &str, more: &[&str], input: &str) -> String {
    let arguments = [&["features", rules, "--no-remember"], &SHORT[..], more].concat();
    let output = senet_with(&arguments, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn text(output: Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn json(text: &str) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    value.as_object_mut().expect("an object").remove("seconds");
    value
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

#[test]
fn features_are_told_and_the_same_for_the_same_seed() {
    let table = features("tic-tac-toe", &[], "");
    assert!(table.starts_with("tic-tac-toe: "), "{table}");
    assert!(table.contains("\n  nr  correlation  with     matches  from       level  meaning\n"), "{table}");
    assert!(table.contains("are significant. Chosen by "), "{table}");
    // In a game so small nearly all positions that were met are chosen by, so little is left to judge by.
    assert!(features("connect-four", &[], "").contains(" * "));
    // The same as data.
    let page = file("features.html");
    let told = json(&features("tic-tac-toe", &["--json", "--page", page.to_str().expect("plain")], ""));
    let chosen = told["features"].as_array().expect("a list");
    assert!(chosen.len() >= 5 && told["selected"] == chosen.len(), "{told}");
    assert!(chosen.iter().all(|feature| feature["held_out"]["correlation"].is_f64() && feature["sentence"] != ""));
    assert_eq!(json(&features("tic-tac-toe", &["--json", "--threads", "1"], "")), told);
    // Every feature reads back, and is explained by its number or by its text.
    let first = chosen[0]["feature"].as_str().expect("text");
    let sentence = chosen[0]["sentence"].as_str().expect("text").to_lowercase();
    let by_number = features("tic-tac-toe", &["--explain", "1"], "");
    assert!(by_number.to_lowercase().contains(&sentence) && by_number.contains(first), "{by_number}");
    assert!(by_number.contains("held out:  correlation "), "{by_number}");
    let all = features("tic-tac-toe", &["--explain"], "");
    assert!(chosen.iter().all(|feature| all.contains(feature["feature"].as_str().expect("text"))), "{all}");
    let by_text = features("tic-tac-toe", &["--explain", first], "");
    assert!(by_text.contains(first) && by_text.contains("in the first position: "), "{by_text}");
    // The page stands alone and shows each of them.
    let html = std::fs::read_to_string(&page).expect("it was written");
    _ = std::fs::remove_file(&page);
    assert_eq!(html.matches("<article").count(), chosen.len());
    assert!(html.contains("prefers-color-scheme:dark") && html.contains("viewport"), "no styles");
    assert!(!html.contains("http") && !html.contains("<script"), "it refers to something else");
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
}

#[test]
fn a_scrambled_copy_has_the_same_features() {
    let output = senet_with(&["scramble", "connect-four-5x4", "--seed", "8"], "");
    let scrambled = String::from_utf8(output.stdout).expect("UTF-8");
    let [own, other] = [features("connect-four-5x4", &["--json"], ""), features("-", &["--json"], &scrambled)];
    let [own, other] = [json(&own), json(&other)];
    assert_eq!(own["fingerprint"], other["fingerprint"]);
    let numbers = |told: &serde_json::Value| -> Vec<String> {
        let list = told["features"].as_array().expect("a list");
        list.iter()
            .map(|feature| format!("{} {} {}", feature["held_out"]["correlation"], feature["gain"], feature["max"]))
            .collect()
    };
    assert_eq!(numbers(&own), numbers(&other));
    assert_ne!(own["features"][0]["feature"], other["features"][0]["feature"]);
}

#[test]
fn own_features_are_valued_and_mistakes_pointed_at() {
    let explained = features("tic-tac-toe", &["--explain", "(count (?row) (true (cell ?row ?c b)))"], "");
    assert!(explained.contains("\n(count (?0) (true (cell ?0 ?1 b)))\nin the first position: 3\n"), "{explained}");
    let worth = features("tic-tac-toe", &["--explain", "(count () (goal xplayer 50))"], "");
    assert!(worth.starts_with("Whether the position is worth 50 to xplayer\n"), "{worth}");
    let refused = |more: &[&str]| {
        text(senet_with(&[&["features", "tic-tac-toe", "--no-remember"], &SHORT[..], more].concat(), ""))
    };
    let (code, error) = refused(&["--explain", "(count (?x) (true (cell ?x 1 y)))"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("the feature can't be read: line 1, column 30: the rules don't use the name `y`"),
        "{error}"
    );
    let (code, error) = refused(&["--explain", "(count (?x) (true (cell ?x"]);
    assert!(code == Some(2) && error.contains("this parenthesis is never closed"), "{error}");
    let (code, error) = refused(&["--explain", "9999"]);
    assert!(code == Some(2) && error.contains("there is no feature 9999"), "{error}");
    let (code, error) = refused(&["--graph", "picture.png"]);
    assert!(code == Some(2) && error.contains("a graph is drawn as .svg or .dot"), "{error}");
    let (code, error) = refused(&["--mode", "guess"]);
    assert!(code == Some(2) && error.contains("possible values: default, thesis"), "{error}");
    let (code, error) = text(senet_with(&["features", "tic-tac-tow"], ""));
    assert!(code == Some(2) && error.contains("did you mean"), "{error}");
}

#[test]
fn graphs_are_drawn() {
    let [svg, dot] = ["graph.svg", "graph.dot"].map(file);
    for picture in [&svg, &dot] {
        features("tic-tac-toe", &["--graph", picture.to_str().expect("plain")], "");
    }
    let read = |path: &Path| std::fs::read_to_string(path).expect("it was written");
    assert!(read(&svg).starts_with("<svg xmlns=") && read(&svg).ends_with("</svg>\n"));
    assert!(read(&dot).starts_with("digraph features {"));
    [svg, dot].iter().for_each(|path| _ = std::fs::remove_file(path));
}

#[test]
fn positions_are_kept_for_scrambled_copies_and_played_again_if_damaged() {
    let store = file("positions.db");
    let folder = PathBuf::from(format!("{}-files", store.display()));
    let run = |rules: &str, input: &str| {
        let arguments =
            [&["features", rules, "--json", "--store", store.to_str().expect("plain")], &SHORT[..]].concat();
        let output = senet_with(&arguments, input);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        (json(&String::from_utf8(output.stdout).expect("UTF-8")), warned)
    };
    let reused = |told: &serde_json::Value| told["positions"]["reused"].as_bool().expect("a truth value");
    let (first, _) = run("tic-tac-toe", "");
    assert!(!reused(&first));
    let scrambled = String::from_utf8(senet_with(&["scramble", "tic-tac-toe"], "").stdout).expect("UTF-8");
    let (second, warned) = run("-", &scrambled);
    assert!(reused(&second) && warned.is_empty(), "{warned}");
    assert_eq!(first["features"][0]["held_out"]["correlation"], second["features"][0]["held_out"]["correlation"]);
    // A damaged file is told, and replaced.
    let kept = std::fs::read_dir(&folder).expect("a folder").flatten().next().expect("a file").path();
    let mut bytes = std::fs::read(&kept).expect("read");
    bytes[100] ^= 1;
    std::fs::write(&kept, bytes).expect("written");
    let (third, warned) = run("tic-tac-toe", "");
    assert!(
        !reused(&third) && warned.contains("is damaged") && warned.contains("positions are played again"),
        "{warned}"
    );
    assert_eq!(third["features"], first["features"]);
    assert!(reused(&run("tic-tac-toe", "").0));
    // The memory lists them, and forgets them with the game.
    let memory = |more: &[&str]| {
        let arguments = [&["memory", "--store", store.to_str().expect("plain")], more].concat();
        String::from_utf8(senet_with(&arguments, "").stdout).expect("UTF-8")
    };
    let listed = memory(&[]);
    assert!(listed.lines().any(|line| line.starts_with("tic-tac-toe ") && line.ends_with(" positions")), "{listed}");
    memory(&["forget", "tic-tac-toe"]);
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
    _ = std::fs::remove_dir_all(folder);
    ["", "-wal", "-shm"].iter().for_each(|end| _ = std::fs::remove_file(format!("{}{end}", store.display())));
}
