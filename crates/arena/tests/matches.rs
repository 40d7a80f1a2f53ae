//! Matches between contestants: good ones, bad ones, and those at the other end of a connection.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arena::protocol::http::Address;
use arena::protocol::{MatchName, Remote, Settings};
use arena::referee::{self, referee};
use arena::{Clocks, Contestant, Decision, Factory, Judge, Legal, Random, Record, Rules, Scrambled, Seat, Tree};
use common::{game, listen, scripted, seconds};

fn settings(play: f64, grace: f64) -> referee::Settings {
    referee::Settings {
        id: "test.1".to_owned(),
        clocks: Clocks { start: seconds(2.0), play: seconds(play) },
        grace: seconds(grace),
        cap: 200,
        seed: 1,
        names: vec!["a".to_owned(), "b".to_owned()],
        scrambled: false,
        meta_url: None,
    }
}

fn random(seed: u64) -> Factory {
    Arc::new(move || Box::new(Random::new(seed)))
}

fn uct() -> Factory {
    Arc::new(|| Box::new(Tree::new(1)))
}

fn meet(rules: &Rules, factories: &[Factory], settings: &referee::Settings) -> Record {
    let mut seats: Vec<Seat> = factories.iter().cloned().map(Seat::new).collect();
    let record = referee(rules, &mut seats, settings, &mut |_| true).expect("there can be a match");
    check(rules, &record);
    record
}

/// A record must be what the rules say about its moves.
fn check(rules: &Rules, record: &Record) {
    let mut judge = Judge::new(rules, None).expect("it has a meaning");
    let n = record.moves.len();
    assert_eq!((record.states.len(), record.state_times.len(), record.errors.len()), (n + 1, n + 1, n + 1));
    assert!(record.state_times.is_sorted());
    for joint in &record.moves {
        judge.make(joint).expect("only legal moves are made");
    }
    assert_eq!(judge.is_terminal(), Ok(record.is_completed));
    let goals: Vec<i64> = judge.goals().expect("small").into_iter().flatten().collect();
    if record.is_completed {
        assert_eq!(record.goal_values, goals);
    }
    for fluent in judge.fluents().expect("small") {
        assert!(record.states[n].contains(&arena::term::spaced(&fluent)), "{fluent} in {}", record.states[n]);
    }
}

#[test]
fn a_match_is_played_by_the_rules() {
    let rules = game("tic-tac-toe");
    let record = meet(&rules, &[random(1), random(2)], &settings(2.0, 1.0));
    assert!(record.is_completed && !record.is_aborted);
    assert_eq!((record.n_errors(0), record.n_errors(1)), (0, 0));
    assert_eq!(record.states[0].matches("( cell").count(), 9);
    let again = meet(&rules, &[random(1), random(2)], &settings(2.0, 1.0));
    assert_eq!(again.moves, record.moves, "the same seeds, the same match");
}

#[test]
fn bad_players_get_moves_by_chance_and_the_record_says_why() {
    let rules = game("tic-tac-toe");
    let late = scripted(|decision, deadline: Instant| {
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(400));
        Ok(decision)
    });
    let panics = scripted(|_, _| panic!("on purpose"));
    let fails = scripted(|_, _| Err("no".to_owned()));
    let lies = scripted(|_, _| Ok(Decision { chosen: "(mark\u{7} 9 9)".to_owned(), why: None }));
    for (factory, error) in [(late, "TO"), (panics, "CE"), (fails, "CE"), (lies, "IL ( mark")] {
        let short = error == "TO";
        let settings = if short { settings(0.1, 0.05) } else { settings(2.0, 1.0) };
        let record = meet(&rules, &[factory, random(1)], &settings);
        assert!(record.is_completed, "{error}");
        assert_eq!(record.n_errors(1), 0, "{error}");
        // The first row is about the start, which goes well.
        assert_eq!(record.errors[0], ["", ""]);
        let wrong = record.errors[1..].iter().filter(|row| row[0].starts_with(error)).count();
        assert_eq!(wrong, record.moves.len(), "{error}: {:?}", record.errors);
        // Nobody was waited for longer than the clock and the grace.
        for times in record.state_times.windows(2) {
            assert!(!short || times[1] - times[0] < 150 + 100, "{:?}", record.state_times);
        }
    }
}

#[test]
fn what_is_late_by_less_than_the_grace_counts() {
    let late = scripted(|decision, deadline: Instant| {
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(20));
        Ok(decision)
    });
    let record = meet(&game("tic-tac-toe"), &[late, random(1)], &settings(0.05, 1.0));
    assert_eq!(record.n_errors(0), 0, "{:?}", record.errors);
    assert!(record.slowest[0] >= seconds(0.07));
}

#[test]
fn tree_search_answers_in_time_and_does_not_lose() {
    let rules = game("tic-tac-toe");
    for (role, seats) in [[uct(), random(3)], [random(3), uct()]].into_iter().enumerate() {
        let record = meet(&rules, &seats, &settings(0.2, 0.3));
        assert_eq!((record.n_errors(0), record.n_errors(1)), (0, 0), "{:?}", record.errors);
        assert!(record.goal_values[role] >= 50, "{:?}", record.moves);
    }
}

#[test]
fn scrambled_rules_make_no_difference() {
    let rules = game("tic-tac-toe");
    let scramble = |factory: Factory, seed| -> Factory { Arc::new(move || Box::new(Scrambled::new(factory(), seed))) };
    let spied = scripted(|decision, _| {
        assert!(!decision.chosen.contains("mark"), "{} is no meaningless name", decision.chosen);
        Ok(decision)
    });
    let record = meet(&rules, &[scramble(spied, 1), scramble(random(1), 2)], &settings(2.0, 1.0));
    assert!(record.is_completed);
    assert_eq!((record.n_errors(0), record.n_errors(1)), (0, 0), "{:?}", record.errors);
    assert!(record.moves.iter().flatten().any(|chosen| chosen.starts_with("( mark ")));
}

#[test]
fn a_record_is_complete_after_every_step() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("records");
    std::fs::create_dir_all(&folder).expect("the test folder can be written");
    let rules = game("tic-tac-toe");
    let mut seats: Vec<Seat> = [random(1), random(2)].into_iter().map(Seat::new).collect();
    let mut seen = 0;
    let record = referee(&rules, &mut seats, &settings(2.0, 1.0), &mut |record| {
        let path = record.save(&folder).expect("the folder can be written");
        let read = Record::read(&std::fs::read_to_string(path).expect("it was written")).expect("it is one");
        assert_eq!(read.moves, record.moves);
        check(&rules, &read);
        seen += 1;
        seen < 4
    })
    .expect("there can be a match");
    // It was given up in the middle, and says so.
    assert!(record.is_aborted && !record.is_completed && record.moves.len() == 3);
    let saved = std::fs::read_to_string(folder.join("test.1.json")).expect("it was written");
    assert!(Record::read(&saved).expect("it is one").is_aborted);
}

#[test]
fn players_elsewhere_play_like_those_here() {
    let rules = game("tic-tac-toe");
    let players = [listen(random(1), Settings::default()), listen(random(2), Settings::default())];
    let name = MatchName::default();
    let remote = |index: usize| -> Factory {
        let address = Address::find(&format!("http://{}/", players[index].address())).expect("loopback");
        let name = name.clone();
        Arc::new(move || Box::new(Remote::new(address.clone(), seconds(0.5), name.clone())))
    };
    let here = meet(&rules, &[random(1), random(2)], &settings(1.0, 0.5));
    for number in 0..3 {
        *name.lock().expect("nobody panics with it") = format!("net.{number}");
        let record = meet(&rules, &[remote(0), remote(1)], &settings(1.0, 0.5));
        assert_eq!((record.n_errors(0), record.n_errors(1)), (0, 0), "{:?}", record.errors);
        if number == 0 {
            assert_eq!(record.moves, here.moves);
        }
        assert!(players[0].logged(&format!("net.{number}: done")), "everybody hears of the end");
    }
    // Nobody is there.
    drop(players);
    std::thread::sleep(seconds(0.2));
    let gone: Factory = {
        let name = name.clone();
        Arc::new(move || {
            let address = Address::find("http://127.0.0.1:1").expect("loopback");
            Box::new(Remote::new(address, seconds(0.1), name.clone())) as Box<dyn Contestant>
        })
    };
    let record = meet(&rules, &[gone, Arc::new(|| Box::new(Legal::new()))], &settings(0.2, 0.1));
    assert!(record.is_completed);
    assert_eq!(record.n_errors(0), record.moves.len() + 1);
    assert!(record.errors.iter().all(|row| row[0] == "CE"), "{:?}", record.errors);
}

#[test]
fn matches_that_cannot_be_are_refused() {
    let mut seats = vec![Seat::new(random(1))];
    let refused = referee(&game("tic-tac-toe"), &mut seats, &settings(1.0, 1.0), &mut |_| true);
    assert!(refused.expect_err("one player is missing").contains("1 players for 2 roles"));
    let nonsense = Rules::read("nonsense", "(role a) (<= p (not p))");
    assert!(referee(&nonsense, &mut seats, &settings(1.0, 1.0), &mut |_| true).is_err());
}
