use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;

fn example(number: u64) -> Game {
    Game {
        fingerprint: (u128::from(number) << 64) | 7,
        name: format!("game {number}"),
        rules: "(role r) ; as met".to_owned(),
        canonical: "(role a)".to_owned(),
        met_at: 1_700_000_000,
        structures: Some("{}".to_owned()),
        symmetries: None,
        index: Index { keys: vec![number, u64::MAX], sketch: vec![1, 2, number], version: 1 },
    }
}

/// A folder of one test's own, which goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = env::temp_dir().join(format!("senet-store-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_remembered_is_found() {
    let mut store = Store::in_memory().expect("memory is enough");
    assert_eq!(store.remember(&example(1)).expect("written"), Remembered::New);
    assert_eq!(store.remember(&example(2)).expect("written"), Remembered::New);
    let again = Game { name: "another name".to_owned(), ..example(1) };
    assert_eq!(store.remember(&again).expect("written"), Remembered::Known);
    assert_eq!(store.find(example(1).fingerprint).expect("read"), Some(example(1)));
    assert_eq!(store.find(12).expect("read"), None);
    let names: Vec<_> = store.games().expect("read").into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["game 1", "game 2"]);
    let sketches = store.sketches().expect("read");
    assert_eq!(sketches, [1, 2].map(|n| (example(n).fingerprint, example(n).index.sketch)));
}

#[test]
fn keys_lead_to_candidates_until_the_game_is_forgotten() {
    let mut store = Store::in_memory().expect("memory is enough");
    store.remember_all(&[example(3), example(1)]).expect("written");
    let found = |store: &Store, keys: &[u64]| -> Vec<(String, Vec<u64>)> {
        store.candidates(keys).expect("read").into_iter().map(|(entry, keys)| (entry.name, keys)).collect()
    };
    assert_eq!(found(&store, &[3, 8]), [("game 3".to_owned(), vec![3])]);
    let both = [("game 1".to_owned(), vec![u64::MAX]), ("game 3".to_owned(), vec![u64::MAX, 3])];
    assert_eq!(found(&store, &[u64::MAX, 3]), both);
    assert!(store.forget(example(3).fingerprint).expect("written"));
    assert!(!store.forget(example(3).fingerprint).expect("written"));
    assert_eq!(found(&store, &[3]), []);
}

#[test]
fn an_outdated_index_is_replaced() {
    let mut store = Store::in_memory().expect("memory is enough");
    store.remember_all(&[example(1), example(2)]).expect("written");
    assert_eq!(store.outdated(1).expect("read"), []);
    assert_eq!(store.outdated(2).expect("read"), [example(1).fingerprint, example(2).fingerprint]);
    let index = Index { keys: vec![5, 9], sketch: vec![3], version: 2 };
    let new = Game { fingerprint: 99, index, ..example(1) };
    store.replace(example(1).fingerprint, &new).expect("written");
    assert_eq!(store.find(99).expect("read"), Some(new.clone()));
    assert_eq!(store.find(example(1).fingerprint).expect("read"), None);
    // The second game turns out to be the first one.
    store.replace(example(2).fingerprint, &new).expect("written");
    assert_eq!((store.games().expect("read").len(), store.find(99).expect("read")), (1, Some(new)));
}

#[test]
fn notes_are_kept_until_they_are_replaced() {
    let mut store = Store::in_memory().expect("memory is enough");
    assert_eq!(store.note("a").expect("read"), None);
    store.set_note("a", "1").expect("written");
    store.set_note("a", "2").expect("written");
    assert_eq!(store.note("a").expect("read").as_deref(), Some("2"));
}

#[test]
fn the_file_outlives_the_store_and_is_shared() {
    let folder = Folder::new("shared");
    let path = folder.0.join("deep/memory.db");
    let mut one = Store::open(&path).expect("folders are made");
    let mut two = Store::open(&path).expect("two at a time");
    one.remember(&example(1)).expect("written");
    two.remember(&example(2)).expect("written");
    assert_eq!(one.games().expect("read").len(), 2);
    drop((one, two));
    assert_eq!(Store::open(&path).expect("still there").games().expect("read").len(), 2);
}

#[test]
fn strange_files_are_refused_unchanged() {
    let folder = Folder::new("strange");
    let text = folder.0.join("notes.txt");
    fs::write(&text, "these are notes, and long enough to be no empty database ".repeat(20)).expect("written");
    let error = Store::open(&text).err().expect("no database").to_string();
    assert!(error.contains("notes.txt` is no memory file: it is no database"), "{error}");
    assert!(fs::read_to_string(&text).expect("read").starts_with("these are notes"));

    let other = folder.0.join("other.db");
    Connection::open(&other).and_then(|db| db.execute_batch("CREATE TABLE songs (name TEXT)")).expect("made");
    let before = fs::read(&other).expect("read");
    assert!(matches!(Store::open(&other), Err(StoreError::Foreign(_))));
    assert_eq!(fs::read(&other).expect("read"), before);

    let newer = folder.0.join("newer.db");
    drop(Store::open(&newer).expect("made"));
    Connection::open(&newer).and_then(|db| db.pragma_update(None, "user_version", 1000)).expect("changed");
    let error = Store::open(&newer).err().expect("too new").to_string();
    assert!(error.contains("written by a newer version: its format is 1000"), "{error}");
    assert!(matches!(Store::open(Path::new("/dev/null/x.db")), Err(StoreError::Folder(..))));
}

/// Not a test of its own: the process that the next test kills. It remembers one game after another and says so.
#[test]
fn remembers_until_it_is_killed() {
    let Some(path) = env::var_os("STORE_TO_FILL") else { return };
    let mut store = Store::open(Path::new(&path)).expect("opened");
    for number in 0.. {
        store.remember(&example(number)).expect("written");
        fs::write(Path::new(&path).with_extension("count"), format!("{number:08}")).expect("written");
    }
}

#[test]
fn a_kill_loses_nothing_that_was_said_to_be_written() {
    let folder = Folder::new("killed");
    let path = folder.0.join("memory.db");
    let mut store = Store::open(&path).expect("made");
    for _ in 0..3 {
        let _ = fs::remove_file(path.with_extension("count"));
        store.games().expect("read").iter().for_each(|entry| _ = store.forget(entry.fingerprint));
        let mut child = Command::new(env::current_exe().expect("a test program"))
            .args(["--exact", "store::tests::remembers_until_it_is_killed"])
            .env("STORE_TO_FILL", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let written = loop {
            let count = fs::read_to_string(path.with_extension("count")).unwrap_or_default();
            match count.parse::<usize>() {
                Ok(count) if count >= 20 => break count,
                _ => assert_eq!(child.try_wait().expect("known"), None, "it ends by being killed"),
            }
        };
        child.kill().expect("killed");
        child.wait().expect("dead");
        let mut store = Store::open(&path).expect("still a memory");
        assert!(store.games().expect("read").len() > written);
        assert_eq!(store.remember(&example(u64::MAX)).expect("written"), Remembered::New);
    }
}

fn key(game: u64, seed: u64) -> Key {
    Key { game: example(game).fingerprint, seed, settings: 0xffff_0000_ffff_0000 }
}

/// The names of the files with positions beside a memory.
fn files(memory: &Path) -> Vec<String> {
    let entries = fs::read_dir(files::folder(memory)).map(|entries| entries.flatten().collect::<Vec<_>>());
    let mut names: Vec<String> =
        entries.unwrap_or_default().iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn positions_are_kept_and_go_with_their_game() {
    let folder = Folder::new("positions");
    let path = folder.0.join("memory.db");
    let mut store = Store::open(&path).expect("made");
    store.remember_all(&[example(1), example(2)]).expect("written");
    assert_eq!(store.positions(key(1, 5)).expect("read"), None);
    store.keep_positions(key(1, 5), 3, b"abc", 7).expect("written");
    store.keep_positions(key(1, 6), 2, b"de", 8).expect("written");
    store.keep_positions(key(2, 5), 2, b"fg", 9).expect("written");
    // A game that nobody remembers has none.
    store.keep_positions(key(3, 5), 1, b"x", 9).expect("nothing to write");
    assert_eq!((store.positions(key(3, 5)).expect("read"), files(&path).len()), (None, 3));
    drop(store);
    let mut store = Store::open(&path).expect("still there");
    assert_eq!(store.positions(key(1, 5)).expect("read").as_deref(), Some(b"abc".as_slice()));
    assert_eq!(store.positions(Key { settings: 1, ..key(1, 5) }).expect("read"), None);
    let kept: Vec<(u64, u64)> =
        store.kept().expect("read").iter().map(|kept| (kept.key.seed, kept.n_positions)).collect();
    assert_eq!(kept, [(5, 3), (6, 2), (5, 2)]);
    // New ones take the place of old ones, and the old file goes.
    store.keep_positions(key(1, 5), 4, b"abcd", 10).expect("written");
    assert_eq!(store.positions(key(1, 5)).expect("read").as_deref(), Some(b"abcd".as_slice()));
    assert_eq!(files(&path).len(), 3);
    // Forgetting a game takes its files, too, and another version of the canonical form makes them worthless.
    assert!(store.forget(example(1).fingerprint).expect("written"));
    assert_eq!((store.positions(key(1, 6)).expect("read"), files(&path).len()), (None, 1));
    store.replace(example(2).fingerprint, &Game { fingerprint: 99, ..example(2) }).expect("written");
    assert_eq!(store.kept().expect("read"), []);
}

#[test]
fn lost_and_abandoned_files_do_no_harm() {
    let folder = Folder::new("lost");
    let path = folder.0.join("memory.db");
    let mut store = Store::open(&path).expect("made");
    store.remember(&example(1)).expect("written");
    store.keep_positions(key(1, 5), 3, b"abc", 7).expect("written");
    let place = files::folder(&path);
    files(&path).iter().for_each(|name| fs::remove_file(place.join(name)).expect("removed"));
    assert_eq!(store.positions(key(1, 5)).expect("no error"), None);
    // What a killed process left: a complete file without a row goes, one that may still be written stays.
    fs::write(place.join("0-0.positions"), "x").expect("written");
    fs::write(place.join("0-0.positions-1.unfinished"), "x").expect("written");
    fs::write(place.join("letter.txt"), "x").expect("written");
    store.keep_positions(key(1, 5), 3, b"abc", 7).expect("written");
    let left = files(&path);
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(!left.contains(&"0-0.positions".to_owned()) && left.contains(&"letter.txt".to_owned()), "{left:?}");
    // A memory without a file keeps none.
    let mut passing = Store::in_memory().expect("memory is enough");
    passing.remember(&example(1)).expect("written");
    passing.keep_positions(key(1, 5), 3, b"abc", 7).expect("nothing is written");
    assert_eq!(passing.positions(key(1, 5)).expect("read"), None);
}

#[test]
fn a_memory_of_an_older_version_gets_its_new_tables() {
    for (version, newer) in [
        (1, "DROP TABLE positions; DROP TABLE courses; DROP TABLE models; DROP TABLE features; "),
        (2, "DROP TABLE courses; DROP TABLE models; DROP TABLE features; "),
        (3, "DROP TABLE features; "),
        (4, ""),
    ] {
        let folder = Folder::new(&format!("older-{version}"));
        let path = folder.0.join("memory.db");
        drop(Store::open(&path).expect("made"));
        let older = Connection::open(&path).expect("opened");
        let contests = "DROP TABLE seats; DROP TABLE matches; DROP TABLE contests; DROP TABLE players; ";
        let change = format!("{newer}{contests}PRAGMA user_version = {version}");
        older.execute_batch(&change).expect("changed");
        drop(older);
        let mut store = Store::open(&path).expect("brought up to date");
        store.remember(&example(1)).expect("written");
        store.keep_positions(key(1, 1), 1, b"a", 7).expect("written");
        store.keep_features(key(1, 1), 1, b"c", 7).expect("written");
        store.keep_course(key(1, 1), 1, b"b", 7).expect("written");
        assert_eq!((store.kept().expect("read").len(), store.models().expect("read").len()), (1, 0));
        store.matches(None).expect("the tables of contests are there");
    }
}

#[test]
fn features_courses_and_models_are_kept() {
    let folder = Folder::new("models");
    let path = folder.0.join("memory.db");
    let mut store = Store::open(&path).expect("made");
    store.remember_all(&[example(1), example(2)]).expect("written");
    let game = example(1).fingerprint;
    let key = Key { game, seed: 1, settings: 2 };
    assert_eq!(store.course(key).expect("read"), None);
    store.keep_course(key, 1, b"half", 5).expect("written");
    store.keep_course(key, 2, b"more", 6).expect("written");
    assert_eq!(store.course(key).expect("read").as_deref(), Some(b"more".as_slice()));
    assert_eq!(files(&path).len(), 1, "what was kept before is gone");
    assert_eq!(store.features(key).expect("read"), None);
    store.keep_features(key, 1, b"features", 6).expect("written");
    assert_eq!(store.features(key).expect("read").as_deref(), Some(b"features".as_slice()));
    let first = store.keep_model(game, "{}", b"model", 7).expect("written").expect("the game is known");
    let second = store.keep_model(game, "{\"seed\":1}", b"model", 8).expect("written").expect("the game is known");
    assert!(second > first);
    assert_eq!(store.keep_model(example(3).fingerprint, "{}", b"x", 9).expect("nothing to write"), None);
    drop(store);
    let mut store = Store::open(&path).expect("still there");
    let models = store.models().expect("read");
    assert_eq!(models.iter().map(|model| (model.id, model.made_at)).collect::<Vec<_>>(), [(first, 7), (second, 8)]);
    assert_eq!(models[1].about, "{\"seed\":1}");
    // Two models may have the same content; it stays as long as one of them does.
    assert!(store.forget_model(first).expect("written"));
    assert!(!store.forget_model(first).expect("nothing to write"));
    assert_eq!(store.model(&models[1]).expect("read").as_deref(), Some(b"model".as_slice()));
    assert_eq!(files(&path).len(), 3);
    assert!(store.forget(game).expect("written"));
    assert_eq!((store.models().expect("read").len(), files(&path).len()), (0, 0));
}

#[test]
fn matches_are_kept_once_and_go_with_their_contest() {
    let mut store = Store::in_memory().expect("memory is enough");
    let seat = |player: &str, goal| PlayedSeat { player: player.to_owned(), goal, faults: 1 };
    let played = |name: &str, goal| PlayedMatch {
        name: name.to_owned(),
        game: 5 << 100,
        game_name: "game".to_owned(),
        moves: "[]".to_owned(),
        played_at: 3,
        seats: vec![seat("one", Some(goal)), seat("other", None)],
    };
    let first = store.contest("a key", "{}", 1).expect("written");
    let second = store.contest("another", "{}", 2).expect("written");
    assert_eq!(store.contest("a key", "changed", 9).expect("read"), first);
    for (contest, name, goal) in [(first, "1", 100), (first, "2", 0), (first, "1", 50), (second, "1", 30)] {
        store.keep_match(contest, &played(name, goal)).expect("written");
    }
    assert_eq!(store.matches(Some(first)).expect("read"), [played("1", 100), played("2", 0)]);
    assert_eq!(store.matches(None).expect("read").len(), 3);
    let counts: Vec<(i64, u64)> =
        store.contests().expect("read").iter().map(|entry| (entry.id, entry.n_matches)).collect();
    assert_eq!(counts, [(first, 2), (second, 1)]);
    assert!(store.forget_contest(first).expect("written"));
    assert_eq!(store.matches(None).expect("read"), [played("1", 30)]);
    assert!(!store.forget_contest(first).expect("written"));
}
