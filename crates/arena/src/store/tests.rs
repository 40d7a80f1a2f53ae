use std::fs;
use std::path::{Path, PathBuf};
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
    // Forgetting a game takes its files, too.
    assert!(store.forget(example(1).fingerprint).expect("written"));
    assert_eq!((store.positions(key(1, 6)).expect("read"), files(&path).len()), (None, 1));
    // They go along with a new fingerprint, and are of no use in the names of another canonical form.
    store.replace(example(2).fingerprint, &Game { fingerprint: 99, ..example(2) }).expect("written");
    let of = |game: u128| Key { game, ..key(2, 5) };
    assert_eq!(store.positions(of(99)).expect("read").as_deref(), Some(b"fg".as_slice()));
    store.replace(99, &Game { fingerprint: 99, canonical: "(role b)".to_owned(), ..example(2) }).expect("written");
    assert_eq!((store.positions(of(99)).expect("read"), files(&path).len()), (None, 1));
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
    // What a killed process left goes after a day, unless it is worth more than the room that it takes.
    let day_before = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    let new = ["0-0.positions", "0-0.positions-1.unfinished"];
    let old = ["0-1.positions", "0-1.features-1.unfinished", "0-1.model", "0-1.course", "letter.txt"];
    for name in new.into_iter().chain(old) {
        fs::write(place.join(name), "x").expect("written");
        if old.contains(&name) {
            let file = fs::File::options().write(true).open(place.join(name)).expect("opened");
            file.set_modified(day_before).expect("changed");
        }
    }
    store.keep_positions(key(1, 5), 3, b"abc", 7).expect("written");
    let left = files(&path);
    let gone = ["0-1.positions", "0-1.features-1.unfinished"];
    assert_eq!(left.len(), new.len() + old.len() + 1 - gone.len(), "{left:?}");
    assert!(gone.iter().all(|name| !left.contains(&(*name).to_owned())), "{left:?}");
    // A memory without a file keeps none.
    let mut passing = Store::in_memory().expect("memory is enough");
    passing.remember(&example(1)).expect("written");
    passing.keep_positions(key(1, 5), 3, b"abc", 7).expect("nothing is written");
    assert_eq!(passing.positions(key(1, 5)).expect("read"), None);
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
    let second = store.keep_model(game, "{\"seed\":1}", b"other", 8).expect("written").expect("the game is known");
    assert!(second > first);
    // The same content is the same model, of which something else is said.
    assert_eq!(store.keep_model(game, "{\"seed\":2}", b"other", 9).expect("written"), Some(second));
    assert_eq!(store.keep_model(example(3).fingerprint, "{}", b"x", 9).expect("nothing to write"), None);
    drop(store);
    let mut store = Store::open(&path).expect("still there");
    let models = store.models().expect("read");
    assert_eq!(models.iter().map(|model| (model.id, model.made_at)).collect::<Vec<_>>(), [(first, 7), (second, 8)]);
    assert_eq!(models[1].about, "{\"seed\":2}");
    // One of a game is pinned at most.
    for id in [first, second] {
        assert!(store.pin_model(id, true).expect("written"));
        let pinned = store.models().expect("read").into_iter().filter(|model| model.is_pinned).map(|model| model.id);
        assert_eq!(pinned.collect::<Vec<_>>(), [id]);
    }
    assert!(store.pin_model(second, false).expect("written") && !store.pin_model(99, true).expect("nothing to write"));
    assert!(store.models().expect("read").iter().all(|model| !model.is_pinned));
    assert!(store.forget_model(first).expect("written"));
    assert!(!store.forget_model(first).expect("nothing to write"));
    assert_eq!(store.model(&models[1]).expect("read").as_deref(), Some(b"other".as_slice()));
    assert_eq!(files(&path).len(), 3);
    // A course that is over says what it came to, until it goes on.
    assert_eq!(store.finished_course(key).expect("read"), None);
    store.finish_course(key, second).expect("written");
    assert_eq!(store.finished_course(key).expect("read"), Some(second));
    store.keep_course(key, 3, b"even more", 9).expect("written");
    assert_eq!(store.finished_course(key).expect("read"), None);
    assert!(store.forget(game).expect("written"));
    assert_eq!((store.models().expect("read").len(), files(&path).len()), (0, 0));
}

#[test]
fn matches_are_kept_once_and_go_with_their_contest() {
    let mut store = Store::in_memory().expect("memory is enough");
    let seat = |player: &str, goal| PlayedSeat { player: player.to_owned(), goal, faults: 1, failed: false };
    let played = |name: &str, goal| PlayedMatch {
        name: name.to_owned(),
        game: 5 << 100,
        game_name: "game".to_owned(),
        moves: "[]".to_owned(),
        played_at: 3,
        seats: vec![seat("one", Some(goal)), seat("other", None)],
    };
    let first = store.contest("a key", "{}", 1, false).expect("written");
    let second = store.contest("another", "{}", 2, false).expect("written");
    assert_eq!(store.contest("a key", "changed", 9, false).expect("read"), first);
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

/// A contest that is begun anew is the one that goes on afterwards, and a failure is played again.
#[test]
fn contests_are_begun_anew_and_failures_are_played_again() {
    let mut store = Store::in_memory().expect("memory is enough");
    let first = store.contest("a key", "{}", 1, false).expect("written");
    let second = store.contest("a key", "{}", 2, true).expect("written");
    assert!(second != first && store.contest("a key", "{}", 3, false).expect("read") == second);
    let runs: Vec<u32> = store.contests().expect("read").iter().map(|entry| entry.run).collect();
    assert_eq!(runs, [1, 2]);
    let played = |failed| PlayedMatch {
        name: "1".to_owned(),
        game: 5,
        game_name: "game".to_owned(),
        moves: "[]".to_owned(),
        played_at: 3,
        seats: vec![PlayedSeat { player: "one".to_owned(), goal: None, faults: 1, failed }],
    };
    let owner = store.owner().expect("it can claim");
    assert_eq!(store.claim(second, "1", &owner).expect("read"), Claim::Granted);
    store.keep_match(second, &played(true)).expect("written");
    assert!(store.matches(Some(second)).expect("read")[0].is_failure());
    assert_eq!(store.claim(second, "1", &owner).expect("read"), Claim::Played, "once is enough for one owner");
    let owner = store.owner().expect("it can claim");
    assert_eq!(store.claim(second, "1", &owner).expect("read"), Claim::Granted);
    store.keep_match(second, &played(false)).expect("written");
    store.keep_match(second, &played(true)).expect("nothing to write");
    assert_eq!(store.matches(Some(second)).expect("read"), [played(false)]);
}

/// What one claims another does not get, until the first is gone.
#[test]
fn claims_last_as_long_as_their_owners() {
    let folder = Folder::new("claims");
    let path = folder.0.join("memory.db");
    let [mut one, mut two] = [0; 2].map(|_| Store::open(&path).expect("opened"));
    let contest = one.contest("a key", "{}", 1, false).expect("written");
    let [first, second] = [&one, &two].map(|store| store.owner().expect("it can claim"));
    assert_eq!(one.claim(contest, "1", &first).expect("read"), Claim::Granted);
    assert_eq!(one.claim(contest, "1", &first).expect("read"), Claim::Granted, "it is still its own");
    assert_eq!(two.claim(contest, "1", &second).expect("read"), Claim::Taken);
    assert_eq!(two.claim(contest, "2", &second).expect("read"), Claim::Granted);
    drop(first);
    assert_eq!(two.claim(contest, "1", &second).expect("read"), Claim::Granted);
    drop(second);
    assert_eq!(files(&path), Vec::<String>::new());
}

/// A copy of the memory that the version before this one has written, with two models, two courses and a contest in it.
fn written_before(folder: &Folder) -> PathBuf {
    let from = Path::new("tests/stores/format-5");
    let path = folder.0.join("memory.db");
    fs::create_dir_all(files::folder(&path)).expect("made");
    fs::copy(from.join("memory.db"), &path).expect("copied");
    for entry in fs::read_dir(from.join("memory.db-files")).expect("there").flatten() {
        fs::copy(entry.path(), files::folder(&path).join(entry.file_name())).expect("copied");
    }
    path
}

/// All that a user made is there after a memory of an earlier format was opened, and a copy of the file is kept.
#[test]
fn a_memory_of_an_earlier_format_keeps_all_that_is_in_it() {
    let newer = [
        "",
        "DROP TABLE seats; DROP TABLE matches; DROP TABLE contests; DROP TABLE players; ",
        "DROP TABLE features; ",
        "DROP TABLE courses; DROP TABLE models; ",
        "DROP TABLE positions; ",
    ];
    for version in 1..=5 {
        let folder = Folder::new(&format!("format-{version}"));
        let path = written_before(&folder);
        if version < 5 {
            // Each format has the tables of the one before it, and some more.
            let older = Connection::open(&path).expect("opened");
            let change = format!("{}PRAGMA user_version = {version}", newer[..=5 - version].concat());
            older.execute_batch(&change).expect("changed");
        }
        let before = Connection::open(&path).expect("opened");
        let count = |connection: &Connection, table: &str| -> Option<i64> {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).ok()
        };
        let counts = check::TABLES.each_ref().map(|table| count(&before, table.name));
        drop(before);
        let mut store = Store::open(&path).expect("brought up to date");
        let kept = files::beside(&path, &format!("-format-{version}"));
        assert!(store.notices().iter().any(|notice| notice.contains("a copy of it is kept")), "{:?}", store.notices());
        for (table, n) in check::TABLES.iter().zip(counts) {
            assert_eq!(count(&store.connection, table.name), n.or(Some(0)), "{} of format {version}", table.name);
            assert_eq!(count(&Connection::open(&kept).expect("a copy"), table.name), n, "{}", table.name);
        }
        let models = store.models().expect("read");
        assert_eq!(models.len(), if version < 3 { 0 } else { 2 });
        assert!(models.iter().all(|model| !model.is_outdated && store.model(model).expect("read").is_some()));
        assert_eq!(store.matches(None).expect("read").len(), if version < 5 { 0 } else { 4 });
        // It is used like any other, and opened again without another copy.
        store.remember(&example(1)).expect("written");
        store.keep_positions(key(1, 1), 1, b"a", 7).expect("written");
        store.keep_features(key(1, 1), 1, b"c", 7).expect("written");
        store.keep_course(key(1, 1), 1, b"b", 7).expect("written");
        drop(store);
        let store = Store::open(&path).expect("opened again");
        assert_eq!((store.notices(), store.games().expect("read").len()), (&[][..], 2));
    }
}

/// A later format is refused, and nothing of the file changes.
#[test]
fn a_memory_of_a_later_format_stays_as_it_is() {
    let folder = Folder::new("later");
    let path = written_before(&folder);
    drop(Store::open(&path).expect("brought up to date"));
    let later = Connection::open(&path).expect("opened");
    later.execute_batch("ALTER TABLE models ADD COLUMN colour TEXT; PRAGMA user_version = 7").expect("changed");
    later.close().expect("closed");
    let before = (fs::read(&path).expect("read"), files(&path));
    let error = Store::open(&path).err().expect("refused").to_string();
    assert!(error.contains("written by a newer version: its format is 7"), "{error}");
    assert!(before == (fs::read(&path).expect("read"), files(&path)));
}

/// A memory whose files can't be written can be read, its log included, and nothing is written.
#[test]
fn a_memory_that_cannot_be_written_is_read() {
    let folder = Folder::new("read-only");
    let path = written_before(&folder);
    drop(Store::open(&path).expect("brought up to date"));
    // What is only in the log is read, too.
    let writer = Connection::open(&path).expect("opened");
    check::add_row_sum(&writer).expect("added");
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE notes SET value = 'new'").expect("written");
    check::named("notes").seal(&writer, "").expect("written");
    let store = Store::open_to_read(&path).expect("it can be read");
    assert_eq!(store.note("library").expect("read").as_deref(), Some("new"));
    drop((store, writer));
    // Nobody can make this file, whatever rights he has.
    fs::create_dir(files::beside(&path, "-wal")).expect("made");
    let before = fs::read(&path).expect("read");
    let mut store = Store::open(&path).expect("it can be read");
    assert!(store.is_read_only() && store.notices()[0].contains("only read"), "{:?}", store.notices());
    let models = store.models().expect("read");
    assert!(models.len() == 2 && store.model(&models[0]).expect("read").is_some());
    assert!(matches!(store.remember(&example(1)), Err(StoreError::ReadOnly(_))));
    assert!(matches!(store.forget_model(1), Err(StoreError::ReadOnly(_))));
    assert!(matches!(store.forget_contest(1), Err(StoreError::ReadOnly(_))));
    let copy = PathBuf::from(store.connection.path().expect("a copy"));
    assert!(copy.exists() && copy != path);
    drop(store);
    assert!(!copy.exists() && fs::read(&path).expect("read") == before);
}

/// The database without its folder is noticed, and so is a file that is gone or damaged.
#[test]
fn missing_and_damaged_files_are_noticed() {
    let folder = Folder::new("noticed");
    let path = written_before(&folder);
    let store = Store::open(&path).expect("brought up to date");
    let models = store.models().expect("read");
    let file = files::folder(&path).join(&models[0].file);
    let content = fs::read(&file).expect("read");
    for bit in (0..8 * content.len()).step_by(7) {
        let mut damaged = content.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, damaged).expect("written");
        assert!(matches!(store.model(&models[0]), Err(StoreError::DamagedFile(_))), "bit {bit}");
    }
    fs::remove_file(&file).expect("removed");
    assert_eq!(store.model(&models[0]).expect("read"), None);
    drop(store);
    let notice = |path: &Path| Store::open(path).expect("opened").notices().join("\n");
    assert!(notice(&path).contains("1 of 5 files of the memory are gone"), "{}", notice(&path));
    fs::rename(files::folder(&path), folder.0.join("elsewhere")).expect("moved");
    let told = notice(&path);
    assert!(told.contains("5 of 5 files") && told.contains("memory.db-files` is missing"), "{told}");
}

/// Whatever byte of the database is changed, what is read is as it was, or an error says that it is damaged.
#[test]
fn damage_of_the_database_is_noticed() {
    let folder = Folder::new("damage");
    let path = written_before(&folder);
    let read = |path: &Path| -> Result<_, StoreError> {
        let store = Store::open(path)?;
        let games: Vec<_> = store.games()?.iter().map(|game| store.find(game.fingerprint)).collect::<Result<_, _>>()?;
        let models = store.models()?;
        let contents = models.iter().map(|model| store.model(model)).collect::<Result<Vec<_>, _>>()?;
        Ok((games, models, contents, store.kept()?, store.contests()?, store.matches(None)?, store.note("library")?))
    };
    let right = read(&path).expect("brought up to date");
    Connection::open(&path).and_then(|db| db.execute_batch("PRAGMA journal_mode = delete")).expect("one file");
    let content = fs::read(&path).expect("read");
    let (mut n_right, mut n_noticed) = (0, 0);
    for place in (0..content.len()).step_by(401) {
        let mut damaged = content.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(&path, damaged).expect("written");
        match read(&path) {
            Ok(found) if found == right => n_right += 1,
            Ok(_) => panic!("a changed byte at {place} changes what is read"),
            Err(_) => n_noticed += 1,
        }
        for end in ["-wal", "-shm"] {
            _ = fs::remove_file(files::beside(&path, end));
        }
    }
    assert!(n_right > 10 && n_noticed > 10, "{n_right} {n_noticed}");
}

/// Threads that keep the same content at the same time do not get into each other's way.
#[test]
fn threads_keep_the_same_content_at_the_same_time() {
    let folder = Folder::new("threads");
    let path = folder.0.join("memory.db");
    Store::open(&path).expect("made").remember(&example(1)).expect("written");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut store = Store::open(&path).expect("opened");
                for n in 0..5 {
                    store.keep_course(key(1, 1), 1, &vec![n; 100_000], 7).expect("written");
                    let kept = store.course(key(1, 1)).expect("whole").expect("there");
                    assert!(kept.len() == 100_000 && kept.iter().all(|byte| *byte == kept[0]));
                }
            });
        }
    });
    assert_eq!(files(&path).len(), 1);
}

/// Of a damaged memory all is saved but the rows that are damaged, and the damaged file is kept.
#[test]
fn what_is_not_damaged_is_saved() {
    let folder = Folder::new("salvage");
    let path = written_before(&folder);
    let store = Store::open(&path).expect("brought up to date");
    store.connection.execute_batch("UPDATE models SET made_at = 7 WHERE id = 1").expect("changed");
    drop(store);
    let error = Store::open(&path).err().expect("damaged");
    assert!(error.is_damage() && error.to_string().contains("1 of the models are not what was written"), "{error}");
    let saved = salvage(&path).expect("saved");
    assert_eq!((saved.n_lost, saved.damaged.exists()), (1, true));
    let store = Store::open(&path).expect("a memory again");
    let models = store.models().expect("read");
    assert_eq!(models.iter().map(|model| model.id).collect::<Vec<_>>(), [2]);
    assert!(store.model(&models[0]).expect("read").is_some());
    assert_eq!((store.matches(None).expect("read").len(), store.courses().expect("read").len()), (4, 2));
}
