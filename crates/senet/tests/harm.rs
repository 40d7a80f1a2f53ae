//! Random harm to the files of a memory, and kills at random moments. A few of each run with the other tests; `scripts/harm` does a
//! thousand of each.

#![allow(clippy::print_stderr, reason = "a test says what it saw")]

mod memory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

use memory::Memory;

const GAME: &str = "../arena/tests/stores/tiny.kif";

/// How many times, unless the environment says otherwise.
fn times(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

fn seed() -> u64 {
    times("SENET_HARM_SEED", 1) as u64
}

/// All files below a folder, with what they hold.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), std::fs::read(path).expect("read"));
        }
    }
    found
}

/// Makes a folder what it was.
fn restore(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in contents(folder).into_keys().filter(|path| !files.contains_key(path)) {
        std::fs::remove_file(path).expect("removed");
    }
    for (path, content) in files {
        if std::fs::read(path).ok().as_ref() != Some(content) {
            std::fs::write(path, content).expect("written");
        }
    }
}

/// Does something to a file, and says what.
fn harm(content: &mut Vec<u8>, random: &mut Pcg64Mcg) -> String {
    let place = random.random_range(0..content.len());
    match random.random_range(0..10) {
        0 => {
            content.truncate(place);
            format!("cut off at {place}")
        }
        1 => {
            let end = (place + random.random_range(1..=512)).min(content.len());
            content[place..end].fill(0);
            format!("zeros from {place} to {end}")
        }
        2 => {
            let bits: Vec<usize> = (0..8).map(|_| random.random_range(0..8 * content.len())).collect();
            bits.iter().for_each(|bit| content[bit / 8] ^= 1 << (bit % 8));
            format!("bits {bits:?} flipped")
        }
        _ => {
            let bit = random.random_range(0..8);
            content[place] ^= 1 << bit;
            format!("bit {bit} of byte {place} flipped")
        }
    }
}

/// A memory with models, positions, features, courses, a contest and a ladder in it, and a file of recorded positions.
fn furnished(name: &str) -> Memory {
    let memory = Memory::of_an_earlier_version(name);
    let record = memory.0.join("played");
    let record = record.to_str().expect("plain");
    memory.senet(&["learn", GAME, "--fresh", "--generations", "1", "--no-measure", "--record", record]);
    memory.senet(&["match", GAME, "--players", "uct,random", "--nodes", "20", "--matches", "6"]);
    memory.senet(&LADDER);
    std::fs::remove_file(memory.0.join("memory.db-format-5")).expect("a copy");
    memory
}

const LADDER: [&str; 10] =
    ["ladder", GAME, "--generations", "1", "--matches", "4", "--search-matches", "2", "--move-time", "0.001"];

/// What a command said: itself, its exit status, and what it printed and complained of.
type Reading = (Vec<String>, Option<i32>, String, String);

/// What commands that read a file say, or all that read any, without what time changes.
fn readings(memory: &Memory, record: &str, harmed: Option<&Path>) -> Vec<Reading> {
    let course = ["learn", GAME, "--fresh", "--generations", "1", "--no-measure", "--json"];
    let study = [&course[..], &["--study", record, "--seed", "2"]].concat();
    let (ladder, resume) =
        ([&LADDER[..], &["--report-only", "--json"]].concat(), [&course[..], &["--resume"]].concat());
    let all: [&[&str]; 9] = [
        &["models", "--json"],
        &["memory", "--json"],
        &["explain", "2", "--json"],
        &["explain", "tiny", "--json"],
        &["ratings", "--json"],
        &["ratings", "--contests", "--json"],
        &resume,
        &ladder,
        &study,
    ];
    let end = |end: &str| harmed.is_some_and(|path| path.to_string_lossy().ends_with(end));
    let commands = match () {
        () if harmed.is_none() => &all[..],
        () if end("played") => &all[8..],
        () if end(".jsonl") => &all[7..8],
        () => &all[..8],
    };
    let one = |arguments: &&[&str]| {
        let output = memory.command(arguments).output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told =
            text(&output.stdout).lines().filter(|line| !line.contains("\"seconds\"")).collect::<Vec<_>>().join("\n");
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        (arguments, output.status.code(), told, text(&output.stderr))
    };
    commands.iter().map(one).collect()
}

/// Whatever is done to a file, every command that reads it says what it said before, or that something is wrong.
#[test]
fn harm_is_noticed() {
    let memory = furnished("harm");
    let record = memory.0.join("played");
    let record = record.to_str().expect("plain");
    readings(&memory, record, None);
    let whole = contents(&memory.0);
    let right = readings(&memory, record, None);
    restore(&memory.0, &whole);
    assert!(right.iter().all(|(_, code, ..)| *code == Some(0)), "{right:?}");
    let mut random = Pcg64Mcg::seed_from_u64(seed());
    let names: Vec<&PathBuf> = whole.iter().filter(|(_, content)| !content.is_empty()).map(|(path, _)| path).collect();
    let (mut n_right, mut n_said) = (0, 0);
    for number in 0..times("SENET_HARMS", 8) {
        // Half of them in the database.
        let path = match random.random_range(0..2) {
            0 => memory.0.join("memory.db"),
            _ => names[random.random_range(0..names.len())].clone(),
        };
        let mut content = whole[&path].clone();
        let what = harm(&mut content, &mut random);
        std::fs::write(&path, content).expect("written");
        for (arguments, code, told, said) in readings(&memory, record, Some(&path)) {
            let (_, _, expected, _) = right.iter().find(|(same, ..)| *same == arguments).expect("it was asked before");
            let case = format!("{number}: {}: {what}: {arguments:?}: {code:?} {said}", path.display());
            assert!(matches!(code, Some(0..=2)) && !said.contains("panicked"), "{case}");
            let is_said = ["damaged", "warning:", "error:", "are gone"].iter().any(|word| said.contains(word));
            // A list says itself which file is damaged or gone.
            let is_shown = told.contains("its file is");
            assert!(told == *expected || is_said || is_shown, "{case}\n{told}\ninstead of\n{expected}");
            assert!(code == Some(0) || is_said, "{case}");
            if told == *expected { n_right += 1 } else { n_said += 1 }
        }
        restore(&memory.0, &whole);
        if (number + 1) % 100 == 0 {
            eprintln!("{} times: {n_right} answers were right, {n_said} were refused or warned of", number + 1);
        }
    }
    eprintln!("{n_right} answers were right, {n_said} times something was said to be wrong");
}

/// Starts a command and kills it after some time; whether it was still at work.
fn killed_after(mut command: Command, time: Duration) -> bool {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let start = Instant::now();
    while start.elapsed() < time {
        if child.try_wait().expect("known").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("dead");
    true
}

/// Killed at any moment, `learn`, `tournament` and `ladder` leave a memory that opens, with all that was in it, and go on where they
/// were.
#[test]
fn kills_cost_nothing_but_seconds() {
    let memory = furnished("kills");
    let n_models = || memory.senet(&["models", "--json"]).lines().count();
    let contests = || -> BTreeMap<i64, u64> {
        let told = memory.senet(&["ratings", "--contests", "--json"]);
        let contests = told.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        contests
            .map(|contest| {
                (contest["contest"].as_i64().expect("a number"), contest["matches"].as_u64().expect("a number"))
            })
            .collect()
    };
    let n_lines = || -> usize {
        let text = std::fs::read_to_string(memory.0.join("memory.db-ladder.jsonl")).unwrap_or_default();
        text.lines().filter(|line| line.ends_with("\"}")).count()
    };
    // How many generations the course has come to: what is kept of it never gets less.
    let n_generations = || -> u64 {
        let told = memory.senet(&["memory", "courses", "--json"]);
        let courses = told.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        courses.map(|course| course["positions"].as_u64().expect("a number")).sum()
    };
    let state = || (n_models(), contests(), n_lines(), n_generations());
    let mut random = Pcg64Mcg::seed_from_u64(seed());
    let (mut n_killed, mut n_ended, mut n_useful) = ([0; 3], [0; 3], [0; 3]);
    // Half of the times that are drawn are shorter than this; it is longer where nothing gets done.
    let mut usual = [1_000.0; 3];
    let mut before = state();
    let kills = times("SENET_KILLS", 9);
    for number in 0.. {
        // Each run has more to do than it gets done. The seed changes now and then, so that beginnings are killed, too, and whenever a
        // run has come to its end.
        let kind = number % 3;
        let seed = (100 + number / 60 + n_ended[kind]).to_string();
        let arguments: Vec<&str> = match kind {
            0 => vec!["learn", GAME, "--no-measure", "--generations", "100000", "--resume", "--seed", &seed],
            1 => {
                let players = ["tournament", GAME, "--players", "uct,random,legal", "--nodes", "2000"];
                [&players[..], &["--matches", "1000", "--seed", &seed]].concat()
            }
            _ => {
                let much = ["--matches", "1000", "--search-matches", "1000", "--move-time", "0.005", "--seed", &seed];
                [&["ladder", GAME, "--generations", "3"][..], &much].concat()
            }
        };
        let time = Duration::from_millis(random.random_range(0.0..2.0 * usual[kind]) as u64);
        let is_killed = killed_after(memory.command(&arguments), time);
        n_killed[kind] += usize::from(is_killed);
        n_ended[kind] += usize::from(!is_killed);
        let after = state();
        let case = format!("{number}: {arguments:?} after {time:?}: {before:?}, then {after:?}");
        assert!(after.0 >= before.0 && after.2 >= before.2 && after.3 >= before.3, "{case}");
        assert!(before.1.iter().all(|(contest, n)| after.1.get(contest).is_some_and(|now| now >= n)), "{case}");
        n_useful[kind] += usize::from(after != before);
        usual[kind] *= if after == before { 1.2 } else { 0.9 };
        before = after;
        if (number + 1) % 100 == 0 {
            let (models, contests, lines, positions) = &before;
            let matches: u64 = contests.values().sum();
            eprintln!(
                "{n_killed:?} were killed, {n_ended:?} ended before, {n_useful:?} got something done; \
                 {models} models, {matches} matches, {lines} lines, {positions} positions"
            );
        }
        if n_killed.iter().sum::<usize>() >= kills {
            break;
        }
        assert!(number < 3 * kills + 20, "most runs end before they are killed: {n_killed:?}, {n_ended:?}");
    }
    let left = contents(&memory.0.join("memory.db-files")).into_keys();
    let n_unfinished = left.filter(|path| path.to_string_lossy().ends_with(".unfinished")).count();
    eprintln!("{n_unfinished} unfinished files are left, which go after a day");
    // Everything goes on, and comes to its end.
    let told =
        memory.senet(&["learn", GAME, "--no-measure", "--generations", "1", "--resume", "--seed", "100", "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert!(told["model"].as_i64().is_some(), "{told}");
    memory.senet(&LADDER);
    eprintln!("of learn, tournament and ladder {n_killed:?} were killed, {n_ended:?} ended before");
}
