//! `senet play` and `senet try` from outside, by what is typed.

mod memory;

use std::io::Write;
use std::process::Stdio;

use memory::Memory;

impl Memory {
    /// What the program prints if these lines are typed, and its exit status.
    fn typed(&self, arguments: &[&str], lines: &[&str]) -> (String, Option<i32>) {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn().expect("the program starts");
        let typed = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        // It may end before it has read everything.
        _ = program.stdin.take().expect("a pipe").write_all(typed.as_bytes());
        let output = program.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (told, output.status.code())
    }

    fn play(&self, game: &str, more: &[&str], lines: &[&str]) -> String {
        let (told, status) = self.typed(&[&["play", game, "--nodes", "300"], more].concat(), lines);
        assert_eq!(status, Some(0), "{told}");
        told
    }
}

#[test]
fn a_match_is_played_by_lines() {
    let memory = Memory::new("lines");
    let told = memory.play(
        "tic-tac-toe",
        &[],
        &["moves", "2,2", "hint", "why", "board", "undo", "undo", "mark 2?", "1", "quit"],
    );
    assert!(told.contains("You are Crosses"), "{told}");
    assert!(told.contains("   9  3,3") && told.contains("2,1, 2,2, 2,3"), "{told}");
    assert!(told.contains("2  · X ·") && told.contains("Noughts plays "), "{told}");
    assert!(
        told.contains("The machine would play") && told.contains("playouts") && told.contains("It expects"),
        "{told}"
    );
    assert!(told.contains("There is nothing to take back."), "{told}");
    assert!(told.contains("1  X · ·"), "{told}");
    // After the first undo the board is empty again.
    let after = told.split("> undo").nth(1).expect("it was typed");
    assert!(after.starts_with("\n\n1  · · ·\n2  · · ·\n3  · · ·"), "{after}");
}

#[test]
fn what_is_not_understood_is_said() {
    let memory = Memory::new("strange");
    let told = memory.play("tic-tac-toe", &[], &["mark 9 9", "mark 1", "99", "why", "new nobody", "help", "zzz?", "é"]);
    assert!(told.contains("`mark 9 9` is no move here") && told.contains("`99` is no move here"), "{told}");
    assert!(told.contains("That could be 1,1, 1,2, 1,3."), "{told}");
    assert!(told.contains("ask for a `hint`") && told.contains("there is no role `nobody`"), "{told}");
    assert!(told.contains("takes your last move back") && told.contains("No move begins like that."), "{told}");
}

#[test]
fn a_match_ends_and_another_seat_is_taken() {
    let memory = Memory::new("seats");
    // Whatever the machine does, nine times the first move ends the match.
    let lines = [&["1"; 5][..], &["moves", "undo", "new noughts", "1", "quit"]].concat();
    let told = memory.play("tic-tac-toe", &["--seat", "1"], &lines);
    assert!(told.contains("The match is over: Crosses"), "{told}");
    assert!(
        told.contains("You have lost.") || told.contains("It is a draw.") || told.contains("You have won."),
        "{told}"
    );
    assert!(told.contains("You are Noughts.") && told.contains("Crosses plays "), "{told}");
    let watched = memory.play("tic-tac-toe", &["--seat", "none"], &[]);
    assert!(
        watched.contains("Crosses plays") && watched.contains("Noughts plays") && watched.contains("is over"),
        "{watched}"
    );
    let (told, status) = memory.typed(&["play", "tic-tac-toe", "--seat", "green"], &[]);
    assert!(status == Some(2) && told.contains("the roles are"), "{told}");
}

/// Without a view there are fluents; one role, and moves at the same time.
#[test]
fn any_game_can_be_played() {
    let memory = Memory::new("any");
    let file = memory.0.join("copy.kif");
    let (scrambled, _) = memory.typed(&["scramble", "tic-tac-toe"], &[]);
    std::fs::write(&file, scrambled).expect("written");
    let told = memory.play(file.to_str().expect("UTF-8"), &[], &["moves", "1", "quit"]);
    assert!(told.contains("\n+ (") && told.contains("\n- (") && told.contains(" plays ("), "{told}");
    let told = memory.play("hanoi", &[], &["hint", "1", "undo", "quit"]);
    assert!(told.contains("The machine would play"), "{told}");
    let told = memory.play("rock-paper-scissors", &[], &["1"]);
    assert!(told.contains(" plays "), "{told}");
}

/// The first command of the README, on a small game and without a terminal; then the model plays and says why.
#[test]
fn a_game_is_tried_and_the_model_explains_itself() {
    let memory = Memory::new("try");
    let (told, status) = memory.typed(&["try", "connect-3-3x3", "--time", "12s"], &[]);
    assert_eq!(status, Some(0), "{told}");
    assert!(told.contains("kept as model 1") && told.contains("to move"), "{told}");
    assert!(told.contains("`senet play connect-3-3x3` plays with you."), "{told}");
    let told = memory.play("connect-3-3x3", &[], &["hint", "why", "quit"]);
    assert!(told.contains("and model 1") && told.contains("compared with the other moves"), "{told}");
}
