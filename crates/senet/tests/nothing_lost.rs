//! What a user made stays: memories of earlier versions, models that are better than newer ones, courses and contests that were killed,
//! disks that are full.

mod memory;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use memory::Memory;

/// A small game, of which the memory of the earlier version has two models.
const GAME: &str = "../arena/tests/stores/tiny.kif";

impl Memory {
    /// The models, each with whether it plays.
    fn models(&self) -> Vec<(i64, bool)> {
        let models = self.senet(&["models", "--json"]);
        let models = models.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        models.map(|model| (model["model"].as_i64().expect("a number"), model["plays"] == true)).collect()
    }

    /// What the program says on standard error.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Starts a command, and kills it as soon as `is_time` says so.
    fn kill(&self, arguments: &[&str], is_time: &dyn Fn() -> bool) {
        let mut child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let start = Instant::now();
        while !is_time() {
            assert!(start.elapsed() < Duration::from_secs(300), "{arguments:?} does not come so far");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("killed");
        child.wait().expect("dead");
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.0.join("memory.db-files"));
        entries.map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
    }

    fn contests(&self) -> Vec<Value> {
        let contests = self.senet(&["ratings", "--contests", "--json"]);
        contests.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

#[test]
fn a_memory_of_an_earlier_version_is_used_as_it_is() {
    let memory = Memory::of_an_earlier_version("earlier");
    let first = memory.said(&["models"]);
    assert!(first.contains("a copy of it is kept as"), "{first}");
    assert!(memory.0.join("memory.db-format-5").exists());
    assert_eq!(memory.models(), [(1, false), (2, true)]);
    assert!(memory.senet(&["explain", "1", "--top", "1"]).starts_with("model 1 of tiny"));
    assert_eq!(memory.contests()[0]["matches"], 4);
    // Its contest and its courses are kept, and it is said that they are not gone on with.
    let again = ["match", GAME, "--players", "uct,random", "--nodes", "50", "--matches", "4"];
    let said = memory.said(&again);
    assert!(said.contains("contest 1 was played by an earlier version and is not gone on with"), "{said}");
    assert!(memory.senet(&again).starts_with("contest 2: 4 matches, 4 of them played before"));
    let resumed = memory.said(&["learn", GAME, "--resume", "--fresh", "--generations", "0", "--no-measure"]);
    assert!(resumed.contains("2 other courses of this game are kept"), "{resumed}");
    assert_eq!(memory.contests().len(), 2);
}

#[test]
fn the_best_measured_model_plays_until_another_is_pinned() {
    let memory = Memory::of_an_earlier_version("plays");
    memory.senet(&["learn", GAME, "--fresh", "--generations", "0", "--no-measure", "--seed", "9"]);
    assert_eq!(memory.models(), [(1, false), (2, true), (3, false)], "a run of no matches displaces nothing");
    let shown = memory.senet(&["models"]);
    let line = |number: &str| shown.lines().find(|line| line.trim_start().starts_with(number)).expect("listed");
    assert!(line("2*").contains("50.0 (43.1 to 56.9) in 200 matches") && line("3").contains(" 0"), "{shown}");
    memory.senet(&["models", "pin", "3"]);
    assert_eq!(memory.models(), [(1, false), (2, false), (3, true)]);
    assert!(memory.senet(&["models"]).contains("pinned"));
    let measured = |arguments: &[&str]| -> Value {
        let told = [&["measure", GAME, "--time", "1s", "--move-time", "0.005", "--json"], arguments].concat();
        serde_json::from_str(&memory.senet(&told)).expect("JSON")
    };
    assert_eq!(measured(&[])["model"], 3);
    memory.senet(&["models", "unpin", "3"]);
    assert_eq!(measured(&[])["model"].as_i64(), memory.models().iter().find(|(_, plays)| *plays).map(|(id, _)| *id));
    // What a model is measured to be worth is kept with it.
    measured(&["--model", "1"]);
    let models = memory.senet(&["models", "--json"]);
    let first: Value = serde_json::from_str(models.lines().next().expect("a model")).expect("JSON");
    assert!(first["strength"]["matches"].as_u64().is_some_and(|n| n > 0), "{first}");
    memory.senet(&["models", "remove", "1"]);
    assert_eq!(memory.models().len(), 2);
    for action in ["pin", "unpin", "remove", "forget"] {
        assert!(memory.said(&["models", action, "1"]).contains("there is no model 1"));
    }
}

#[test]
fn a_memory_is_read_where_it_cannot_be_written_and_missed_files_are_told() {
    let memory = Memory::of_an_earlier_version("read-only");
    memory.senet(&["models"]);
    // SQLite can't make its log here, as in a folder that nobody may write to.
    std::fs::create_dir(memory.0.join("memory.db-wal")).expect("made");
    assert_eq!(memory.models(), [(1, false), (2, true)]);
    assert!(memory.said(&["models"]).contains("only read"));
    assert!(memory.said(&["models", "remove", "1"]).contains("can only be read"));
    std::fs::remove_dir(memory.0.join("memory.db-wal")).expect("removed");
    // A damaged model is not used, and the next one is.
    let models =
        |end: &str| memory.files().into_iter().filter(|file| file.extension().is_some_and(|e| e == end)).collect();
    let files: Vec<PathBuf> = models("model");
    let before = files.iter().map(|file| std::fs::read(file).expect("read")).collect::<Vec<_>>();
    let measure = ["measure", GAME, "--time", "1s", "--move-time", "0.005", "--json"];
    for damaged in &files {
        let mut bytes = std::fs::read(damaged).expect("read");
        bytes[200] ^= 4;
        std::fs::write(damaged, bytes).expect("written");
    }
    assert!(memory.said(&measure).contains("is damaged"), "{}", memory.said(&measure));
    assert!(memory.senet(&["models"]).contains("its file is damaged"));
    std::fs::write(&files[0], &before[0]).expect("written");
    assert!(memory.models().iter().any(|(_, plays)| *plays));
    // The database alone.
    std::fs::rename(memory.0.join("memory.db-files"), memory.0.join("elsewhere")).expect("moved");
    let said = memory.said(&["models"]);
    assert!(said.contains("memory.db-files` is missing") && said.contains("copied together with it"), "{said}");
    assert!(memory.senet(&["models"]).contains("its file is gone"));
}

/// A course that is over is not learned or kept again; one that was not is kept as a model when a new one begins.
#[test]
fn courses_leave_one_model_each() {
    let memory = Memory::of_an_earlier_version("courses");
    let course = ["learn", GAME, "--fresh", "--no-measure", "--seed", "3"];
    let with = |more: &[&'static str]| [&course[..], more].concat();
    memory.senet(&with(&["--generations", "1"]));
    for _ in 0..2 {
        let told = memory.senet(&with(&["--generations", "1", "--resume"]));
        assert!(told.contains("this course is over") && told.contains("kept as model 3"), "{told}");
    }
    assert_eq!(memory.models().len(), 3);
    memory.senet(&with(&["--generations", "2", "--resume"]));
    assert_eq!(memory.models().len(), 4, "what goes on comes to another model");
    // A course that is killed, and another one in its place.
    let kept = || memory.files().iter().filter(|file| file.extension().is_some_and(|end| end == "course")).count();
    let before = memory.files();
    let is_new = |file: &PathBuf| !before.contains(file) && file.extension().is_some_and(|end| end == "course");
    // When the third is seen the second is certainly there, and that has some generations.
    let seen = std::cell::RefCell::new(std::collections::BTreeSet::new());
    memory.kill(&["learn", GAME, "--fresh", "--no-measure", "--seed", "5", "--generations", "100000"], &|| {
        seen.borrow_mut().extend(memory.files().into_iter().filter(is_new));
        seen.borrow().len() >= 3
    });
    assert!(kept() >= 3);
    let said = memory.said(&["learn", GAME, "--fresh", "--no-measure", "--seed", "5", "--generations", "0"]);
    assert!(said.contains("was not finished; it is kept as model 5"), "{said}");
    assert_eq!(memory.models().len(), 6);
}

/// On a disk that is full nothing is left behind, and nothing is lost.
#[test]
fn a_full_disk_leaves_nothing_half() {
    let memory = Memory::of_an_earlier_version("full");
    memory.senet(&["models"]);
    let before = memory.files();
    // No file may grow beyond 256 KiB; positions take more.
    let full = format!("trap '' XFSZ; ulimit -f 256; exec '{}' learn {GAME} --fresh --seed 4", memory::program());
    let output = Command::new("bash")
        .args(["-c", &full])
        .env("SENET_STORE", memory.0.join("memory.db"))
        .output()
        .expect("a shell starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("can't use the file"), "{said}");
    let mut after = memory.files();
    after.retain(|file| !before.contains(file));
    assert_eq!(after, Vec::<PathBuf>::new(), "{said}");
    assert_eq!(memory.models(), [(1, false), (2, true)]);
}

/// A contest that was begun anew and killed goes on; how many matches are played at once matters where time does.
#[test]
fn contests_that_were_begun_anew_go_on() {
    let memory = Memory::of_an_earlier_version("anew");
    let contest = ["tournament", GAME, "--players", "uct,random,legal", "--nodes", "2000", "--matches", "60", "--json"];
    let with = |more: &[&'static str]| [&contest[..], more].concat();
    let told = |more: &[&'static str]| -> Value { serde_json::from_str(&memory.senet(&with(more))).expect("JSON") };
    let first = told(&[]);
    assert_eq!((&first["contest"], &first["matches"]), (&2.into(), &180.into()));
    let n_played = || memory.contests().get(2).map_or(0, |contest| contest["matches"].as_u64().expect("a number"));
    memory.kill(&with(&["--fresh"]), &|| n_played() >= 5);
    let before = n_played();
    let second = told(&[]);
    assert_eq!(
        (&second["contest"], &second["matches"], &second["played_before"]),
        (&3.into(), &180.into(), &before.into())
    );
    assert_eq!(second["players"], first["players"], "the same matches again");
    let timed = ["match", GAME, "--players", "uct,random", "--time", "0.01", "--matches", "2", "--json"];
    let contest = |parallel: &'static str| -> Value {
        let told = memory.senet(&[&timed[..], &["--parallel", parallel]].concat());
        serde_json::from_str::<Value>(&told).expect("JSON")["contest"].clone()
    };
    assert!(contest("1") != contest("2") && contest("1") == contest("1"));
}

/// Two processes with the same contest do it once.
#[test]
fn two_processes_share_a_contest() {
    let memory = Memory::of_an_earlier_version("shared");
    memory.senet(&["models"]);
    let contest =
        ["match", GAME, "--players", "uct,random", "--time", "0.05", "--matches", "40", "--parallel", "1", "--json"];
    let run = || memory.command(&contest).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let both = [run(), run()].map(|child| child.wait_with_output().expect("it ends"));
    let [one, other] = both.map(|output| serde_json::from_slice::<Value>(&output.stdout).expect("JSON"));
    assert_eq!((&one["matches"], &one["players"]), (&40.into(), &other["players"]), "both tell all of it");
    let played = memory.contests();
    assert_eq!((played.len(), &played[1]["matches"]), (2, &40.into()));
    let [own, theirs] = [&one, &other].map(|told| told["played_here"].as_u64().expect("a number"));
    assert!(own + theirs == 40 && own > 0 && theirs > 0, "{own} {theirs}");
}

/// A player that never answers has played nothing; when it is there, the same command plays.
#[test]
fn a_player_that_never_answers_has_not_played() {
    let memory = Memory::of_an_earlier_version("silent");
    let nobody = "http://127.0.0.1:1";
    let players = format!("random,{nobody}");
    let contest = ["match", GAME, "--players", &players, "--matches", "4", "--time", "0.1", "--json"];
    let told: Value = serde_json::from_str(&memory.senet(&contest)).expect("JSON");
    assert_eq!((&told["matches"], &told["failures"][nobody]), (&0.into(), &4.into()), "{told}");
    let again: Value = serde_json::from_str(&memory.senet(&contest)).expect("JSON");
    assert_eq!((&again["played_before"], &again["failures"][nobody]), (&0.into(), &4.into()), "{again}");
    assert!(memory.said(&["ratings", "--contest", "2"]).contains("there are no such matches"));
    let text = memory.senet(&contest[..contest.len() - 1]);
    assert!(text.contains("never answered in 4 matches, which do not count"), "{text}");
}
