//! The command blocks of the manual, run as they stand.
//!
//! A block ```` ```kif file=NAME ```` is a file, ```` ```kif append=NAME ```` adds to it. In a block ```` ```console ```` a line that begins with
//! `$ senet` is a command, and what follows is what it prints, to standard error and standard output. There, a line `...`
//! stands for any lines, and `[..]` for anything within a line.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_readme_says_what_happens() {
    run_page("README.md");
}

#[test]
fn the_tutorial_says_what_happens() {
    run_page("docs/tutorial.md");
}

#[test]
fn the_page_on_the_protocol_says_what_happens() {
    run_page("docs/protocol.md");
}

fn run_page(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).expect("the page is there");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(page.replace(['/', '.'], "-"));
    std::fs::create_dir_all(&folder).expect("the test folder can be written");
    let mut n_commands = 0;
    for (info, body) in blocks(&text) {
        if let Some(name) = info.strip_prefix("kif file=") {
            std::fs::write(folder.join(name), body).expect("the test folder can be written");
        } else if let Some(name) = info.strip_prefix("kif append=") {
            let path = folder.join(name);
            let before = std::fs::read_to_string(&path).expect("the file was made by an earlier block");
            std::fs::write(path, format!("{before}\n{body}")).expect("the test folder can be written");
        } else if info == "console" {
            for (command, expected) in commands(&body) {
                n_commands += 1;
                let found = run(&command, &folder);
                let (wanted, printed): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
                assert!(
                    lines_match(&wanted, &printed),
                    "{page}: `{command}` prints\n{found}\nand should print\n{expected}"
                );
            }
        }
    }
    assert!(n_commands > 0, "no commands in {page}");
}

/// The fenced blocks of a page: what stands behind the fence, and what is inside.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The commands of a block, each with what it prints.
fn commands(body: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in body.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.to_owned(), String::new())),
            None => {
                let (_, expected) = commands.last_mut().expect("a block begins with a command");
                expected.push_str(line);
                expected.push('\n');
            }
        }
    }
    commands
}

fn run(command: &str, folder: &Path) -> String {
    let arguments = command.strip_prefix("senet ").expect("the manual runs nothing else");
    let output = Command::new(env!("CARGO_BIN_EXE_senet"))
        .args(words(arguments))
        .current_dir(folder)
        .output()
        .expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    text(output.stderr) + &text(output.stdout)
}

/// The words of a command line; what stands between single quotes is one.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

fn lines_match(expected: &[&str], found: &[&str]) -> bool {
    match expected {
        [] => found.is_empty(),
        ["...", rest @ ..] => (0..=found.len()).any(|skipped| lines_match(rest, &found[skipped..])),
        [line, rest @ ..] => {
            found.split_first().is_some_and(|(first, found)| line_matches(line, first) && lines_match(rest, found))
        }
    }
}

fn line_matches(expected: &str, found: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected.trim_end() == found.trim_end(),
        Some((before, after)) => found.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
    }
}
