//! The program from outside: finding, listing and showing rules.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn senet(arguments: &[&str]) -> Output {
    with_input(arguments, "")
}

fn with_input(arguments: &[&str], input: &str) -> Output {
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

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("the output is UTF-8")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("the output is UTF-8")
}

#[test]
fn rules_come_from_the_library_a_file_or_standard_input() {
    let library = senet(&["show", "tic-tac-toe"]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../games/tic-tac-toe/rules.kif");
    let text = std::fs::read_to_string(path).expect("the library is there");
    assert_eq!(stdout(&library), text);
    assert_eq!(stdout(&senet(&["show", path])), text);
    assert_eq!(stdout(&with_input(&["show", "-"], &text)), text);
    let perft = stdout(&senet(&["perft", "tic-tac-toe", "--depth", "2", "--json"])).to_owned();
    assert!(perft.contains(r#""paths":72"#), "{perft}");
    assert_eq!(stdout(&with_input(&["perft", "-", "--depth", "2", "--json"], &text)), perft);
}

#[test]
fn unknown_names_have_suggestions() {
    let output = senet(&["show", "tictactoe"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `tic-tac-toe`"), "{}", stderr(&output));
    let output = senet(&["show", "zzzz"]);
    assert!(stderr(&output).contains("`senet games` lists the library"), "{}", stderr(&output));
}

#[test]
fn notations_can_be_turned_into_each_other() {
    let infix = senet(&["show", "breakthrough", "--form", "infix"]);
    let kif = senet(&["show", "breakthrough", "--form", "kif"]);
    assert!(stdout(&infix).contains("\nterminal :- "), "{}", stdout(&infix));
    let back = with_input(&["show", "-", "--form", "kif"], stdout(&infix));
    let read = |text: &str| gdl::parse(&gdl::Source::new("test", text)).0;
    assert!(read(stdout(&kif)).same_as(&read(stdout(&back))));
}

#[test]
fn rules_with_errors_are_shown_as_they_are_but_not_printed() {
    let broken = "(role x) (legal";
    assert_eq!(stdout(&with_input(&["show", "-"], broken)), broken);
    let output = with_input(&["show", "-", "--form", "infix"], broken);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    assert!(stderr(&output).contains("GDL0003"), "{}", stderr(&output));
}

#[test]
fn games_are_listed_and_filtered() {
    let all = senet(&["games"]);
    let n_games = stdout(&all).lines().count() - 1;
    assert!(n_games >= 90, "{}", stdout(&all));
    let some = senet(&["games", "chess", "turn-taking"]);
    assert!(stdout(&some).lines().any(|line| line.starts_with("minichess ")), "{}", stdout(&some));
    assert!(stdout(&some).lines().count() < n_games);
    let json = senet(&["games", "--json"]);
    for line in stdout(&json).lines() {
        let game: serde_json::Value = serde_json::from_str(line).expect("each line is JSON");
        assert!(game["name"].is_string() && game["roles"].is_object(), "{game}");
    }
    assert_eq!(stdout(&json).lines().count(), n_games);
    assert_eq!(senet(&["games", "no such word"]).status.code(), Some(1));
}

#[test]
fn matches_can_be_watched() {
    let drawn = senet(&["watch", "tic-tac-toe", "--seed", "3"]);
    assert!(stdout(&drawn).starts_with("Tic-Tac-Toe, a random match with seed 3\n\n1  · · ·\n"), "{}", stdout(&drawn));
    assert!(stdout(&drawn).contains("The game is over after "));
    let plain = with_input(&["watch", "-"], stdout(&senet(&["show", "tic-tac-toe"])));
    assert!(stdout(&plain).contains("+ (cell 1 1 b)"), "{}", stdout(&plain));
    assert!(stdout(&senet(&["show", "breakthrough", "--board"])).contains("8  ♟ ♟"), "black stands at the top");
    assert_eq!(with_input(&["show", "-", "--board"], "(role x)").status.code(), Some(2));
}

#[test]
fn scrambled_games_are_the_same_in_other_words() {
    let text = stdout(&senet(&["scramble", "tic-tac-toe", "--seed", "5"])).to_owned();
    assert_eq!(stdout(&senet(&["scramble", "tic-tac-toe", "--seed", "5"])), text);
    assert_ne!(stdout(&senet(&["scramble", "tic-tac-toe", "--seed", "6"])), text);
    assert!(!text.contains("cell") && !text.contains("xplayer"), "{text}");
    assert!(stdout(&with_input(&["perft", "-", "--depth", "2", "--json"], &text)).contains(r#""paths":72"#));
    // The map leads back to the rules.
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (rules, map) = (folder.join("scrambled.kif"), folder.join("names.json"));
    let [rules_path, map_path] = [&rules, &map].map(|path| path.to_str().expect("plain names"));
    let quiet = senet(&["scramble", "tic-tac-toe", "--seed", "5", "-o", rules_path, "--map", map_path]);
    assert_eq!((quiet.status.code(), stdout(&quiet)), (Some(0), ""));
    assert_eq!(std::fs::read_to_string(&rules).expect("it was written"), text);
    let names: std::collections::BTreeMap<String, String> =
        serde_json::from_str(&std::fs::read_to_string(&map).expect("it was written")).expect("JSON");
    let read = |text: &str| gdl::read("test", text.as_bytes()).program;
    let old_name =
        |word: &str| names.iter().find(|(_, new)| *new == word).map_or(word.to_owned(), |(old, _)| old.clone());
    let words = text.replace('(', " ( ").replace(')', " ) ");
    let translated: Vec<String> = words.split_whitespace().map(old_name).collect();
    let original = read(stdout(&senet(&["show", "tic-tac-toe"])));
    assert!(insight::same_rules(&read(&translated.join(" ")), &original), "{translated:?}");
    assert!(!insight::same_rules(&read(&text), &original));
}

#[test]
fn solve_proves_values() {
    let found = stdout(&senet(&["solve", "tic-tac-toe", "--json"])).to_owned();
    assert!(found.contains(r#""exact":true"#) && found.contains(r#""lower":50"#), "{found}");
    let cut = senet(&["solve", "connect-four", "--nodes", "1000"]);
    assert_eq!(cut.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&cut.stdout).contains("0 to 100; not solved"), "{cut:?}");
}
