//! Player and manager as programs of their own, over real connections.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

fn senet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_senet")).args(arguments).output().expect("the program runs")
}

/// A player in a process of its own.
struct Player {
    process: Child,
    address: String,
    log: BufReader<std::process::ChildStderr>,
}

impl Player {
    fn new(arguments: &[&str]) -> Player {
        let mut process = Command::new(env!("CARGO_BIN_EXE_senet"))
            .args(["player", "--port", "0"])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut line = String::new();
        log.read_line(&mut line).expect("it says where it is");
        let address = line.split_whitespace().find(|word| word.starts_with("http://"));
        let address = address.unwrap_or_else(|| panic!("no address in {line}")).to_owned();
        Player { process, address, log }
    }

    /// Asks it to stop as Ctrl-C does, and gives what it logged.
    fn interrupt(mut self) -> String {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill is there").success());
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("text");
        assert!(self.process.wait().expect("it ends").success());
        log
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_host_and_two_players_play_a_match() {
    let players =
        [Player::new(&["--player", "random", "--name", "A"]), Player::new(&["--player", "legal", "--name", "B"])];
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("host-records");
    let _ = std::fs::remove_dir_all(&folder);
    let output = senet(&[
        "host",
        "tic-tac-toe",
        "--players",
        &players[0].address,
        &players[1].address,
        "--matches",
        "2",
        "--scramble",
        "--start-clock",
        "2",
        "--play-clock",
        "2",
        "--json",
        "--record",
        folder.to_str().expect("a plain path"),
    ]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let errors = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{errors}");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (record, names) in lines.iter().zip([["A", "B"], ["B", "A"]]) {
        assert_eq!(record["isCompleted"], true);
        assert_eq!(record["scrambled"], true);
        assert_eq!(record["playerNamesFromHost"], serde_json::json!(names));
        assert!(
            record["errors"].as_array().expect("rows").iter().all(|row| *row == serde_json::json!(["", ""])),
            "{record}"
        );
        assert!(record["states"][0].as_str().expect("text").contains("( control xplayer )"), "{record}");
        let file = folder.join(format!("{}.json", record["matchId"].as_str().expect("text")));
        let saved: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(file).expect("it was saved")).expect("JSON");
        assert_eq!(saved, *record);
    }
    assert_eq!(lines[2][0]["player"], "A");
    assert_eq!(lines[2][0]["matches"], 2);
    for player in players {
        let log = player.interrupt();
        assert_eq!(log.matches(": done").count(), 2, "{log}");
        assert!(!log.contains("mark"), "the players saw no true names: {log}");
    }
}

#[test]
fn a_host_that_is_interrupted_aborts() {
    let player = Player::new(&["--player", "legal"]);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("host-interrupted");
    let _ = std::fs::remove_dir_all(&folder);
    let mut host = Command::new(env!("CARGO_BIN_EXE_senet"))
        .args(["host", "connect-four", "--players", &player.address, "uct", "--start-clock", "1", "--play-clock", "1"])
        .args(["--record", folder.to_str().expect("a plain path")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert!(Command::new("kill").args(["-INT", &host.id().to_string()]).status().expect("kill is there").success());
    assert_eq!(host.wait().expect("it ends").code(), Some(2));
    let file = std::fs::read_dir(&folder).expect("there is one").flatten().next().expect("a record").path();
    let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).expect("text")).expect("JSON");
    assert_eq!(record["isAborted"], true);
    assert!(player.interrupt().contains(": aborted"));
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let says = |arguments: &[&str], what: &str| {
        let output = senet(arguments);
        let errors = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(what), "{arguments:?}: {errors}");
    };
    says(&["host", "tic-tac-toe", "--players", "uct"], "--players takes 2");
    says(&["host", "tic-tac-toe", "--players", "uct", "uctt"], "http://127.0.0.1:9147");
    says(&["host", "tic-tac-toe", "--players", "uct", "https://x.example"], "http://");
    says(&["host", "tic-tac-toe", "--players", "uct", "uct", "--play-clock=-1"], "--play-clock");
    says(&["host", "tic-tac-toe", "--players", "127.0.0.1:1", "127.0.0.1:1"], "another port");
    says(&["player", "--player", "chess"], "uct, random, legal");
    let taken = Player::new(&["--player", "legal"]);
    let port = taken.address.rsplit(':').next().expect("a port").to_owned();
    says(&["player", "--port", &port], "--port takes another");
    says(&["soak", "--games", "three-player-tic-tac-toe"], "3 roles");
}
