//! Every game of the library: its rules are sound, its matches end, its numbers are right, and it plays as recorded.
//!
//! `games/NAME/playthrough.txt` holds one recorded match. After a change of the rules, `UPDATE_PLAYTHROUGHS=1` with this
//! test writes the files anew; read the difference before you commit it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use machine::scalar::{self, Scalar};
use machine::{Limits, Machine, Reference, RoleId, StopReason, perft, playout};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The most paths that are counted here; `perft.txt` may go further.
const MAX_PATHS: u64 = 100_000;
/// The same for the reference engine.
const MAX_REFERENCE_PATHS: u64 = 2_000;
/// The most joint moves of a recorded match that are written down.
const MAX_RECORDED: u32 = 60;

/// A test of the game in a folder.
type Test = fn(&Path) -> Result<(), Failed>;

fn main() {
    let arguments = Arguments::from_args();
    let games = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let entries = std::fs::read_dir(games).expect("the library is in the repository");
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("readable").path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let mut trials = Vec::new();
    for folder in folders {
        let name = folder.file_name().expect("a game has a folder").to_string_lossy().into_owned();
        let tests: [(&str, Test); 4] =
            [("rules", rules), ("ends", ends), ("perft", paths), ("playthrough", playthrough)];
        for (test, run) in tests {
            let folder = folder.clone();
            trials.push(Trial::test(format!("{test}::{name}"), move || run(&folder)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn read(folder: &Path) -> Result<gdl::Reading, Failed> {
    let path = folder.join("rules.kif");
    Ok(gdl::read(&path.to_string_lossy(), &std::fs::read(&path)?))
}

fn reference(folder: &Path) -> Result<Reference, Failed> {
    let program = Arc::new(read(folder)?.program);
    Reference::new(program, Limits::default()).map_err(|why| format!("{why:?}").into())
}

fn scalar(folder: &Path) -> Result<Scalar, Failed> {
    let ground = gdl::ground::ground(&read(folder)?.program, &gdl::ground::Budget::default())?;
    let network = machine::network::build(ground, &gdl::Stop::never())?;
    Ok(Scalar::new(scalar::Compiled::new(Arc::new(network))))
}

/// Games that are written in a way that is forgiven, and how.
const FORGIVEN: &[(&str, gdl::Code)] = &[("nim-5", gdl::Code::ImplicitRole)];

/// Reading the rules finds nothing to complain about.
fn rules(folder: &Path) -> Result<(), Failed> {
    let reading = read(folder)?;
    let forgiven = |code: gdl::Code| FORGIVEN.iter().any(|&(name, known)| folder.ends_with(name) && code == known);
    let problems = reading.diagnostics.iter().filter(|found| !forgiven(found.code));
    let rendered: Vec<String> = problems.map(|found| found.render(&reading.source, false)).collect();
    if rendered.is_empty() { Ok(()) } else { Err(rendered.join("\n").into()) }
}

/// Random matches end, and each role gets exactly one goal value.
fn ends(folder: &Path) -> Result<(), Failed> {
    let mut machine = scalar(folder)?;
    for seed in 0..4 {
        let result = playout(&mut machine, &mut Pcg64Mcg::seed_from_u64(seed), 5_000, |_, _| Ok(()))?;
        if result.stop != StopReason::Terminal {
            return Err(format!("seed {seed}: {:?} after {} joint moves", result.stop, result.n_plies).into());
        }
        for role in 0..machine.roles().len() as u32 {
            let goals = machine.goals(&result.last, RoleId(role))?;
            if !matches!(goals[..], [0..=100]) {
                return Err(format!("seed {seed}: goals {goals:?} for {}", machine.roles()[role as usize]).into());
            }
        }
    }
    Ok(())
}

/// The numbers of `perft.txt` are met.
fn paths(folder: &Path) -> Result<(), Failed> {
    let Ok(text) = std::fs::read_to_string(folder.join("perft.txt")) else { return Ok(()) };
    let mut expected: Vec<(u32, u64)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (depth, paths) = line.split_once(char::is_whitespace).ok_or("expected `depth count`")?;
        expected.push((depth.parse()?, paths.trim().parse()?));
    }
    check_paths(&mut scalar(folder)?, &expected, MAX_PATHS)?;
    check_paths(&mut reference(folder)?, &expected, MAX_REFERENCE_PATHS)
}

fn check_paths<M: Machine>(machine: &mut M, expected: &[(u32, u64)], most: u64) -> Result<(), Failed> {
    let within: Vec<_> = expected.iter().take_while(|(_, paths)| *paths <= most).collect();
    let Some(deepest) = within.last().map(|(depth, _)| *depth) else { return Ok(()) };
    let counts = perft(machine, deepest)?;
    for &&(depth, paths) in &within {
        let found = counts[depth as usize].paths;
        if found != paths {
            return Err(format!("depth {depth}: {found} paths, expected {paths}").into());
        }
    }
    Ok(())
}

/// The recorded match is still the match that is played.
fn playthrough(folder: &Path) -> Result<(), Failed> {
    let path = folder.join("playthrough.txt");
    let now = record(&mut reference(folder)?)?;
    if std::env::var_os("UPDATE_PLAYTHROUGHS").is_some() {
        return Ok(std::fs::write(path, now)?);
    }
    let before =
        std::fs::read_to_string(&path).map_err(|error| format!("{error}; UPDATE_PLAYTHROUGHS=1 records the match"))?;
    match before.lines().zip(now.lines()).find(|(before, now)| before != now) {
        Some((before, now)) => Err(format!("recorded: {before}\nplayed:   {now}").into()),
        None if before.len() != now.len() => Err("the recorded match has another length".into()),
        None => Ok(()),
    }
}

/// A random match as text. Moves are chosen among sorted names, so the order in which an engine finds them is no matter.
fn record<M: Machine>(machine: &mut M) -> Result<String, Failed> {
    let mut text =
        String::from("# A random match: number, joint move, legal moves of each role, hash of the state before.\n");
    writeln!(text, "roles {}", machine.roles().join(" "))?;
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut state = machine.initial()?;
    let start = machine.fluents(&state);
    writeln!(text, "start {}", start.join(" "))?;
    let n_roles = machine.roles().len() as u32;
    for ply in 0.. {
        if machine.is_terminal(&state)? || ply == MAX_RECORDED {
            let what = if ply == MAX_RECORDED { "recorded" } else { "terminal" };
            let last = machine.fluents(&state);
            let gone = start.iter().filter(|fluent| !last.contains(fluent)).map(|fluent| format!(" -{fluent}"));
            let new = last.iter().filter(|fluent| !start.contains(fluent)).map(|fluent| format!(" +{fluent}"));
            writeln!(text, "{what} after {ply}{}", gone.chain(new).collect::<String>())?;
            for role in 0..n_roles {
                let goals = machine.goals(&state, RoleId(role))?;
                writeln!(text, "goals of {}: {goals:?}", machine.roles()[role as usize])?;
            }
            return Ok(text);
        }
        let (mut joint, mut names, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for role in 0..n_roles {
            let mut moves = Vec::new();
            machine.legal(&state, RoleId(role), &mut moves)?;
            let mut named: Vec<_> = moves.into_iter().map(|chosen| (machine.move_name(chosen), chosen)).collect();
            named.sort_by(|left, right| left.0.cmp(&right.0));
            let (name, chosen) = named[rng.random_range(0..named.len())].clone();
            counts.push(named.len().to_string());
            names.push(name);
            joint.push(chosen);
        }
        let hash = hash(&machine.fluents(&state));
        writeln!(text, "{ply:3} {} | {} | {hash:016x}", names.join(" "), counts.join(" "))?;
        state = machine.next(&state, &joint)?;
    }
    unreachable!("the loop ends at the last recorded move")
}

/// FNV-1a, 64 bits, over the terms, each followed by a newline; `senet trace` prints the same.
fn hash(terms: &[String]) -> u64 {
    let bytes = terms.iter().flat_map(|term| term.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
