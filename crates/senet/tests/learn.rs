//! `senet learn`, `senet models` and `senet explain` from outside.

mod memory;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use memory::Memory;

impl Memory {
    fn learn(&self, rules: &str, more: &[&str]) -> Value {
        let told = self.senet(&[&["learn", rules, "--no-measure", "--json", "--fresh"], more].concat());
        let mut told: Value = serde_json::from_str(&told).expect("JSON");
        let about = told.as_object_mut().expect("an object");
        about.remove("seconds");
        about.remove("model");
        about.remove("threads");
        told
    }
}

#[test]
fn a_game_is_learned_and_explained() {
    let memory = Memory::new("explained");
    let told = memory.senet(&["learn", "tic-tac-toe", "--time", "6s", "--generations", "1", "--move-time", "0.005"]);
    assert!(told.starts_with("tic-tac-toe: ") && told.contains("LEARNED AGAINST"), "{told}");
    assert!(told.contains("random play, one move ahead") && told.contains("kept as model 1"), "{told}");
    let models = memory.senet(&["models"]);
    assert!(models.contains("tic-tac-toe") && models.contains(" to "), "the score against tree search: {models}");
    let explained = memory.senet(&["explain", "tic-tac-toe", "--top", "3"]);
    assert!(explained.starts_with("model 1 of tic-tac-toe") && explained.contains("to move"), "{explained}");
    assert!(explained.contains("features"), "{explained}");
    let picture = memory.0.join("curve.svg");
    memory.senet(&["explain", "1", "--top", "1", "--curve", picture.to_str().expect("plain")]);
    let picture = std::fs::read_to_string(picture).expect("drawn");
    assert!(picture.starts_with("<svg ") && picture.matches("<polyline").count() == 1, "{picture}");
    assert!(picture.contains("against tree search") && picture.contains("matches with itself"), "{picture}");
    let parts: Value = serde_json::from_str(&memory.senet(&["explain", "1", "--json"])).expect("JSON");
    assert!(parts.as_array().expect("a list").len() >= 2);
    assert!(memory.senet(&["models", "forget", "1"]).contains("forgotten"));
    let output = memory.command(&["explain", "tic-tac-toe"]).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("senet learn tic-tac-toe"), "{error}");
}

/// A scrambled copy of a game that was learned has its model at once, and is learned further; `--fresh` begins anew.
#[test]
fn a_scrambled_copy_goes_on_with_the_model() {
    let memory = Memory::new("goes-on");
    memory.learn("tic-tac-toe", &["--generations", "1"]);
    let file = memory.0.join("scrambled.kif");
    std::fs::write(&file, memory.senet(&["scramble", "tic-tac-toe", "--seed", "5"])).expect("written");
    let file = file.to_str().expect("plain");
    let measure = |rules: &str| -> Value {
        let told = memory.senet(&["measure", rules, "--time", "2s", "--move-time", "0.005", "--json"]);
        serde_json::from_str(&told).expect("JSON")
    };
    let (one, other) = (measure("tic-tac-toe"), measure(file));
    assert_eq!((&one["model"], &one["fingerprint"]), (&other["model"], &other["fingerprint"]));
    let score = |told: &Value| told["scores"][0]["mean"].as_f64().expect("a score");
    assert!(score(&one) > 80.0 && score(&other) > 80.0, "{one} {other}");
    let told = memory.senet(&["learn", file, "--generations", "1", "--no-measure"]);
    assert!(told.contains("began with model 1 of the same game, `tic-tac-toe`"), "{told}");
    let told = memory.senet(&["learn", file, "--generations", "0", "--no-measure", "--fresh"]);
    assert!(!told.contains("began with"), "{told}");
    let output = memory.command(&["measure", "nim-5"]).output().expect("the program starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("senet learn nim-5"));
}

/// A variant of a game that was learned begins with what was learned there, where a quick test says that it helps; under any names.
#[test]
fn a_variant_begins_with_what_was_learned() {
    let memory = Memory::new("variant");
    memory.learn("hex-5", &["--generations", "3"]);
    let file = memory.0.join("scrambled.kif");
    std::fs::write(&file, memory.senet(&["scramble", "hex-7", "--seed", "3"])).expect("written");
    let larger = ["learn", file.to_str().expect("plain"), "--generations", "0", "--no-measure", "--json"];
    let told: Value = serde_json::from_str(&memory.senet(&larger)).expect("JSON");
    let (origin, taken) = (&told["origin"], &told["origin"]["taken_over"]);
    assert_eq!((&origin["game"], &origin["model"]), (&"hex-5".into(), &1.into()), "{origin}");
    assert_eq!(taken["differences"][0], "board size", "{taken}");
    assert!(taken["slots"].as_u64().is_some_and(|n| n > 100), "{taken}");
    assert!(taken["low"].as_f64().is_some_and(|low| low > 50.0), "{taken}");
}

/// The files of one kind that a memory keeps.
fn files(memory: &Memory, kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(memory.0.join("memory.db-files"));
    let paths = entries.map(|entries| entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>());
    paths.unwrap_or_default().into_iter().filter(|path| path.extension().is_some_and(|end| end == kind)).collect()
}

/// Starts to learn Tic-Tac-Toe for ever, and kills that as soon as something of a kind has been kept so many times.
fn kill_when_kept(memory: &Memory, kind: &str, times: usize) {
    let mut child = memory
        .command(&["learn", "tic-tac-toe", "--generations", "100000", "--no-measure"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let start = Instant::now();
    let mut seen = BTreeSet::new();
    while seen.len() < times {
        seen.extend(files(memory, kind));
        assert!(start.elapsed() < Duration::from_secs(300), "nothing is kept");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("dead");
}

/// What was done before the first generation is not done again, also by another course with the same settings.
#[test]
fn a_kill_before_the_first_generation_costs_little() {
    let whole = Memory::new("whole").learn("tic-tac-toe", &["--generations", "1"]);
    let memory = Memory::new("first");
    for kind in ["positions", "features"] {
        kill_when_kept(&memory, kind, 1);
    }
    assert_eq!(memory.learn("tic-tac-toe", &["--resume", "--generations", "1"]), whole);
    // A file that is not what was written is made again, and said to be.
    let [file] = &files(&memory, "features")[..] else { panic!("there is one set of features") };
    let kept = std::fs::read_to_string(file).expect("read");
    std::fs::write(file, kept.replacen('1', "2", 1)).expect("written");
    let output = memory.command(&["learn", "tic-tac-toe", "--no-measure", "--fresh", "--generations", "0"]).output();
    let said = String::from_utf8_lossy(&output.expect("the program starts").stderr).into_owned();
    assert!(said.contains("is damaged") && said.contains("features are made again"), "{said}");
    assert_eq!(files(&memory, "features").len(), 1);
    assert_eq!(memory.learn("tic-tac-toe", &["--generations", "0"])["features"], whole["features"]);
}

/// The same seed gives the same curve on any number of threads, also for a scrambled copy, and after a kill.
#[test]
fn kills_threads_and_names_change_nothing() {
    let memory = Memory::new("killed");
    let whole = memory.learn("tic-tac-toe", &["--generations", "2", "--threads", "1"]);
    assert_eq!(memory.learn("tic-tac-toe", &["--generations", "2", "--threads", "2"]), whole);
    // A course that is killed after some generations were kept.
    let killed = Memory::new("resumed");
    // When the third is seen the second is certainly there, and that has some generations.
    kill_when_kept(&killed, "course", 3);
    let resumed = killed.learn("tic-tac-toe", &["--resume", "--generations", "1"]);
    let (long, short) = (&resumed["curve"], &whole["curve"]);
    let long = long.as_array().expect("a list");
    assert!(long.len() > 2, "what was kept is gone on with: {long:?}");
    for (one, other) in long.iter().zip(short.as_array().expect("a list")) {
        assert_eq!(one, other);
    }
    // A scrambled copy is the same game.
    let scrambled = memory.senet(&["scramble", "tic-tac-toe", "--seed", "5"]);
    let file = memory.0.join("scrambled.kif");
    std::fs::write(&file, scrambled).expect("written");
    let other = memory.learn(file.to_str().expect("plain"), &["--generations", "2"]);
    assert_eq!(other["curve"], whole["curve"]);
    assert_eq!(other["fingerprint"], whole["fingerprint"]);
}

/// The other ways to learn give models like any other, the same for the same seed, also after an interruption.
#[test]
fn temporal_differences_give_models() {
    let memory = Memory::new("td-whole");
    for (method, matches, features) in [("td-thesis", 200, 100), ("td", 64, 20)] {
        let whole = memory.learn("tic-tac-toe", &["--method", method, "--generations", "2"]);
        assert_eq!((&whole["method"], &whole["matches"]), (&Value::from(method), &Value::from(matches)));
        assert!(whole["features"].as_u64().is_some_and(|n| n >= features), "{whole}");
        let other = Memory::new(method);
        other.learn("tic-tac-toe", &["--method", method, "--generations", "1", "--threads", "1"]);
        let resumed = other.learn("tic-tac-toe", &["--method", method, "--generations", "2", "--resume"]);
        assert_eq!(resumed, whole);
        // What was learned is what is kept.
        let [one, two] = [&memory, &other].map(|memory| {
            let last = files(memory, "model")
                .into_iter()
                .max_by_key(|file| file.metadata().expect("there").modified().expect("known"));
            std::fs::read(last.expect("a model")).expect("read")
        });
        assert_eq!(one, two);
    }
    // A course begins with models of courses alone.
    let told = memory.senet(&["learn", "tic-tac-toe", "--generations", "0", "--no-measure"]);
    assert!(!told.contains("began with"), "{told}");
    assert_eq!(memory.senet(&["models"]).lines().count(), 4);
    let explained = memory.senet(&["explain", "1", "--top", "3"]);
    assert!(explained.starts_with("model 1 of tic-tac-toe") && explained.contains("features"), "{explained}");
    let picture = memory.0.join("curve.svg");
    memory.senet(&["explain", "1", "--top", "1", "--curve", picture.to_str().expect("plain")]);
    let picture = std::fs::read_to_string(picture).expect("drawn");
    assert!(picture.matches("<polyline").count() == 2 && picture.contains("mean result"), "{picture}");
}

/// Models of temporal differences are measured as others are, and in the thesis's way.
#[test]
fn temporal_differences_are_measured() {
    let memory = Memory::new("td-measured");
    let few = ["--generations", "2", "--time", "6s", "--move-time", "0.005"];
    let told = memory.senet(&[&["learn", "tic-tac-toe", "--method", "td-thesis"], &few[..]].concat());
    for expected in ["AGAINST FUZZY GOALS", "xplayer ", "oplayer ", " 400\n", "LEARNED AGAINST", "tree search, both"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let measured = memory.senet(&["measure", "tic-tac-toe", "--time", "2s", "--move-time", "0.005", "--json"]);
    let measured: Value = serde_json::from_str(&measured).expect("JSON");
    assert!(measured["scores"][0]["mean"].as_f64().is_some_and(|mean| mean > 50.0), "{measured}");
}

/// What one course plays another one can study, of a scrambled copy, too; and how a model was made is kept with it.
#[test]
fn played_positions_are_recorded_and_studied() {
    let memory = Memory::new("recorded");
    let file = memory.0.join("played");
    let file = file.to_str().expect("plain");
    let learn =
        |rules: &str, more: &[&str]| memory.senet(&[&["learn", rules, "--no-measure", "--fresh"], more].concat());
    learn("tic-tac-toe", &["--generations", "2", "--threads", "2", "--record", file]);
    let models = memory.senet(&["models", "--json"]);
    let about = &serde_json::from_str::<Value>(models.lines().next().expect("a model")).expect("JSON")["about"];
    assert_eq!((&about["threads"], &about["limit"]["generations"]), (&2.into(), &2.into()), "{about}");
    assert_eq!(about["settings"]["play"]["opening"], 8, "{about}");
    assert!(memory.senet(&["explain", "1"]).contains("seed 1, 2 generations, threads: 2"));
    let output = memory.command(&["learn", "tic-tac-toe", "--record", file]).output().expect("the program starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't write"), "a file is not written over");
    let copy = memory.0.join("scrambled.kif");
    std::fs::write(&copy, memory.senet(&["scramble", "tic-tac-toe", "--seed", "5"])).expect("written");
    let copy = copy.to_str().expect("plain");
    let told = learn(copy, &["--generations", "0", "--study", file, "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let n = |told: &Value, at: usize| told["curve"][at]["n_new"].as_u64().expect("a number");
    let studied: u64 = (1..told["curve"].as_array().expect("a list").len()).map(|at| n(&told, at)).sum();
    assert_eq!(studied, n(about, 1) + n(about, 2), "{told}");
    let output = memory.command(&["learn", "nim-5", "--fresh", "--generations", "0", "--study", file]).output();
    let error = String::from_utf8_lossy(&output.expect("the program starts").stderr).into_owned();
    assert!(error.contains("of another game"), "{error}");
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

/// Whatever there is time for, it ends with a model or a reason, and says what it left out. (How well it keeps its time is measured by
/// `scripts/learn-in-time`: the bound here is wide.)
#[test]
fn time_is_kept_and_what_was_left_out_is_said() {
    for (game, time) in [("tic-tac-toe", "1s"), ("othello", "1s"), ("eight-puzzle", "1s"), ("chess", "200ms")] {
        let memory = Memory::new(&format!("in-time-{game}"));
        let begun = Instant::now();
        let output = memory.command(&["learn", game, "--time", time, "--json"]).output().expect("the program starts");
        assert!(begun.elapsed() < Duration::from_secs(30), "{game}: {:?}", begun.elapsed());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => {
                let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let left_out = told["left_out"].to_string();
                assert_eq!(told["generations"] == 0, left_out.contains("matches with itself"), "{game}: {told}");
                let is_measured = told["scores"].as_array().is_some_and(|scores| !scores.is_empty());
                assert_ne!(is_measured, left_out.contains("measure"), "{game}: {told}");
            }
            code => assert!(code == Some(2) && error.contains("error: "), "{game}: {code:?} {error}"),
        }
    }
}
