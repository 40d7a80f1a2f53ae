//! What reaches a terminal, and what happens where nobody reads.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("printing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    folder
}

fn senet(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_senet"));
    command.args(arguments).env("SENET_STORE", folder().join("memory.db")).stdin(Stdio::null());
    command
}

/// Rules with what terminals obey: colours, a cleared screen, another title, a turned direction. Names can't have all of it, so there are
/// errors, and they show it.
const RUDE: &str = "(role \u{1b}[31mred) (role b\u{9b}2J) (init (\u{1b}]0;gotcha\u{7} 1))
    (<= (legal ?r \u{1b}[2J\u{202e}go) (role ?r)) (<= (legal ?r stay) (role ?r))
    (<= (next (\u{1b}]0;gotcha\u{7} 2)) (true (\u{1b}]0;gotcha\u{7} 1))) (<= terminal (true (\u{1b}]0;gotcha\u{7} 2)))
    (<= (goal ?r 100) (role ?r)) (<= (never\u{1b}[5m ?x) (role ?x))";

/// A game that can be played, with what names can have of it: what turns the direction of writing, or is not seen.
const PLAYED: &str = "(role r\u{202e}ed) (role b\u{200b}lue) (init (got\u{2066}cha 1))
    (<= (legal ?r g\u{202e}o) (role ?r)) (<= (legal ?r stay) (role ?r))
    (<= (next (got\u{2066}cha 2)) (true (got\u{2066}cha 1))) (<= terminal (true (got\u{2066}cha 2)))
    (<= (goal ?r 100) (role ?r)) (<= (ne\u{2028}ver ?x) (role ?x))";

/// What a terminal would obey in a text.
fn obeyed(text: &str) -> Option<char> {
    let is_obeyed = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || ['\u{202e}', '\u{200b}', '\u{2066}', '\u{2028}'].contains(&letter)
    };
    text.chars().find(|&letter| is_obeyed(letter))
}

#[test]
fn names_reach_a_terminal_escaped() {
    let place = folder().join("\u{1b}[7mrude.kif");
    std::fs::write(&place, RUDE).expect("there is room");
    let file = place.to_str().expect("text");
    // What can't be read, has errors and is played, as text and as JSON.
    let broken = folder().join("\u{1b}[7mbroken.kif");
    std::fs::write(&broken, format!("{RUDE} (<= (\u{1b}[6mp ?y) (not (q\u{1b}[6m ?y)))")).expect("there is room");
    let broken = broken.to_str().expect("text");
    let played = folder().join("played.kif");
    std::fs::write(&played, PLAYED).expect("there is room");
    let played = played.to_str().expect("text");
    assert!(!gdl::read("played", PLAYED.as_bytes()).has_errors());
    for arguments in [
        &["check", played][..],
        &["show", played],
        &["analyze", played],
        &["analyze", played, "--json"],
        &["watch", played],
        &["trace", played],
        &["host", played, "--players", "legal", "random", "--start-clock", "1", "--play-clock", "1"],
        &["match", played, "--players", "legal,random", "--matches", "2", "--nodes", "9"],
        &["check", file],
        &["check", file, "--json"],
        &["check", broken],
        &["check", "\u{1b}[7mno-such-game"],
        &["show", file],
        &["analyze", file],
        &["analyze", file, "--json"],
        &["watch", file],
        &["trace", file],
        &["scramble", file],
        &["host", file, "--players", "legal", "random", "--start-clock", "1", "--play-clock", "1"],
        &["host", file, "--players", "legal", "\u{1b}[7m.example"],
        &["recognize", file],
        &["memory"],
        &["match", file, "--players", "legal,random", "--matches", "2", "--nodes", "9"],
        &["ratings"],
    ] {
        let output = senet(arguments).output().expect("the program runs");
        for (stream, text) in [("output", output.stdout), ("errors", output.stderr)] {
            let text = String::from_utf8(text).expect("UTF-8");
            assert_eq!(obeyed(&text), None, "{arguments:?}, {stream}: {text:?}");
            assert!(!text.contains("panicked"), "{arguments:?}: {text}");
        }
    }
}

#[test]
fn a_person_at_the_board_sees_names_escaped() {
    let place = folder().join("rude-board.kif");
    std::fs::write(&place, PLAYED).expect("there is room");
    let mut child = senet(&["play", place.to_str().expect("text"), "--time", "0.2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let typed = "help\nmoves\n\u{1b}[2Jgo\ng\u{202e}o\nquit\n";
    // It may say all that it has to say before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(typed.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    assert!(texts[0].contains("g\\u202eo"), "{texts:?}");
    assert!(texts.iter().all(|text| obeyed(text).is_none()), "{texts:?}");
}

/// A player elsewhere says what it is called and what it plays; neither reaches a terminal as it is.
#[test]
fn what_others_say_is_escaped() {
    use std::io::Read;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it listens");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = vec![0; 100_000];
            let n = stream.read(&mut request).unwrap_or(0);
            let is_info = String::from_utf8_lossy(&request[..n]).contains("INFO");
            let reply =
                if is_info { "((name \u{1b}[31mE\u{202e}vil) (status available))" } else { "\u{1b}[2Jfl\u{202e}y" };
            let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{reply}", reply.len());
        }
    });
    let records = folder().join("records");
    for more in [&[][..], &["--json"]] {
        let output = senet(&["host", "buttons-and-lights", "--players", &address.to_string()])
            .args(["--start-clock", "1", "--play-clock", "1", "--record"])
            .arg(&records)
            .args(more)
            .output()
            .expect("the program runs");
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).expect("UTF-8");
            assert_eq!(obeyed(&text), None, "{text:?}");
            assert!(
                more.is_empty() || text.lines().all(|line| line.is_empty() || line.starts_with(['{', '['])),
                "{text}"
            );
        }
    }
    for record in std::fs::read_dir(&records).expect("there are records").flatten() {
        assert!(!std::fs::read_to_string(record.path()).expect("text").contains('\u{1b}'));
    }
}

#[test]
fn a_reader_that_is_gone_is_no_panic() {
    let rejected = folder().join("rejected.kif");
    std::fs::write(&rejected, "(role a) (<= p (not p))").expect("there is room");
    let rejected = rejected.to_str().expect("text");
    for (arguments, status) in [
        (&["check", "tic-tac-toe"][..], 0),
        (&["check", rejected], 1),
        (&["check", rejected, "--json"], 1),
        (&["check", "no-such-game"], 2),
        (&["check", "--explain", "all"], 0),
        (&["games"], 0),
        (&["show", "tic-tac-toe"], 0),
        (&["trace", "tic-tac-toe"], 0),
        (&["perft", "tic-tac-toe", "--depth", "2"], 0),
        (&["host", "tic-tac-toe", "--players", "legal", "legal", "--start-clock", "1", "--play-clock", "1"], 0),
    ] {
        // Both ends are gone before the program says anything.
        let [mut child] = [senet(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")];
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().expect("it ends").code(), Some(status), "{arguments:?}");
    }
}
