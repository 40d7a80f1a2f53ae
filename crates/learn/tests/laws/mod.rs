//! What holds for any bytes that are read as something kept. Fuzzers and tests share this.

use std::sync::Arc;

use features::feature::{self, Feature};
use features::game::Game;
use features::positions::{self, Positions, collect};
use features::reach;
use learn::course::{Checkpoint, Course, Settings, Stored};
use learn::record::{Kind, Record, Recorder, Records};
use learn::sight::Sight;
use learn::stage::Stages;
use learn::td::{improved, thesis};
use learn::{self_play, teach};
use search::Evaluate;

/// Two roles take one or two of seven matches by turns, and who takes the last one wins.
const TAKE: &str = "(role a) (role b) (init (left 7)) (init (turn a)) (other a b) (other b a)
    (one 7 6) (one 6 5) (one 5 4) (one 4 3) (one 3 2) (one 2 1) (one 1 0)
    (<= (fewer ?x 1 ?y) (one ?x ?y)) (<= (fewer ?x 2 ?z) (one ?x ?y) (one ?y ?z))
    (<= (legal ?r (take ?n)) (true (turn ?r)) (true (left ?x)) (fewer ?x ?n ?y))
    (<= (legal ?r wait) (other ?r ?s) (true (turn ?s)))
    (<= (next (left ?y)) (does ?r (take ?n)) (true (left ?x)) (fewer ?x ?n ?y))
    (<= (next (turn ?s)) (true (turn ?r)) (other ?r ?s))
    (<= terminal (true (left 0)))
    (<= (goal ?r 100) (true (left 0)) (other ?r ?s) (true (turn ?s)))
    (<= (goal ?r 0) (true (turn ?r)))";

/// Two roles mark the cells of a row by turns, and who first has two side by side wins: there are patterns.
const ROW: &str = "(role a) (role b) (other a b) (other b a) (init (turn a)) (succ 1 2) (succ 2 3) (succ 3 4)
    (init (cell 1 1 e)) (init (cell 2 1 e)) (init (cell 3 1 e)) (init (cell 4 1 e))
    (<= (legal ?r (put ?x ?y)) (true (turn ?r)) (true (cell ?x ?y e)))
    (<= (legal ?r wait) (other ?r ?s) (true (turn ?s)))
    (<= (next (cell ?x ?y ?r)) (does ?r (put ?x ?y)))
    (<= (next (cell ?x ?y ?m)) (true (cell ?x ?y ?m)) (distinct ?m e))
    (<= (next (cell ?x ?y e)) (true (cell ?x ?y e)) (does ?r (put ?u ?v)) (distinct ?x ?u))
    (<= (next (turn ?s)) (true (turn ?r)) (other ?r ?s))
    (<= (line ?r) (role ?r) (true (cell ?x ?y ?r)) (succ ?x ?u) (true (cell ?u ?y ?r)))
    (<= open (true (cell ?x ?y e)))
    (<= terminal (line ?r)) (<= terminal (not open))
    (<= (goal ?r 100) (line ?r)) (<= (goal ?r 0) (other ?r ?s) (line ?s))
    (<= (goal ?r 50) (role ?r) (not (line a)) (not (line b)))";

/// One role goes up or down for four steps and should be at the top then: there is a line to follow.
const CLIMB: &str = "(role a) (init (at 2)) (init (step 0)) (up 0 1) (up 1 2) (up 2 3) (up 3 4)
    (<= (legal a up) (true (at ?x)) (up ?x ?y)) (<= (legal a down) (true (at ?x)) (up ?y ?x))
    (<= (next (at ?y)) (does a up) (true (at ?x)) (up ?x ?y))
    (<= (next (at ?y)) (does a down) (true (at ?x)) (up ?y ?x))
    (<= (next (step ?n)) (true (step ?m)) (up ?m ?n))
    (<= terminal (true (step 4)))
    (<= (goal a 100) (true (at 4))) (<= (goal a 60) (true (at 2))) (<= (goal a 20) (true (at 0)))
    (<= (goal a 0) (true (at 1))) (<= (goal a 0) (true (at 3)))";

/// The games, and features of them.
const GAMES: [(&str, &[&str]); 3] = [
    (TAKE, &["(count (?0) (and (true (left ?1)) (fewer ?1 ?0 ?2)))"]),
    (
        ROW,
        &[
            "(count (?0) (true (cell ?0 1 a)))",
            "(sum (place ?0 (1 2 3 4)) (?0) (and (true (cell ?0 1 b)) (not (true (cell ?0 2 a)))))",
        ],
    ),
    (CLIMB, &["(sum (table (?0) (-2 (0)) (3 (2) (4))) (?0) (or (true (at ?0)) (true (step ?0))))"]),
];

/// Games, and bytes of each kind that are kept of them.
pub(crate) struct Kept {
    pub(crate) games: Vec<Arc<Game>>,
    /// All of them can be read.
    #[allow(dead_code, reason = "the fuzzer begins with them, and the tests")]
    pub(crate) samples: Vec<Vec<u8>>,
}

fn settings() -> Settings {
    Settings {
        stages: 1,
        positions: 20,
        play: self_play::Settings { threads: 1, ..self_play::Settings::default() },
        teach: teach::Settings { iterations: 5, threads: 1, ..teach::Settings::default() },
        ..Settings::default()
    }
}

fn thesis_settings() -> thesis::Settings {
    thesis::Settings { matches: 4, generation: 2, plies: 20, ..thesis::Settings::default() }
}

fn improved_settings() -> improved::Settings {
    improved::Settings { generation: 2, batch: 2, depth: 1, nodes: 20, plies: 20, ..improved::Settings::default() }
}

/// Bytes of each kind that are kept of a game.
fn samples(game: &Arc<Game>, features: &[&str]) -> Vec<Vec<u8>> {
    let read = |text: &&str| feature::read(text, &game.program.symbols).expect("a feature");
    let features: Vec<Feature> = features.iter().map(read).collect();
    let play = positions::Settings { levels: 1, positions: 60, matches: (50, 50), ..Default::default() };
    let positions = collect(game, &play, &mut |_| true).positions;
    let mut course = Course::begin(game.clone(), &positions, features, settings()).expect("a course begins");
    course.go_on(&|| false).expect("it goes on");
    let checkpoint = course.checkpoint();
    // Numbers of relaxed games are also kept where they don't help.
    let sight = Sight::new(game.clone(), Vec::new(), None, &Stages::default()).expect("nothing to compile");
    let sight = Arc::new(sight.with_ways(&reach::candidates(&game.circuit.network)));
    let ways = Stored::new(&improved::zeros(&sight, course.model().sum), None);
    let sight = &course.model().sight;
    let mut plain = thesis::Training::begin(sight, thesis::maxima(sight, &positions), thesis_settings())
        .expect("there are opponents");
    plain.go_on(&|| false);
    let mut better = improved::Training::from_model(course.model().clone(), improved_settings());
    better.go_on(&|| false);
    let kind =
        Kind { n_words: positions.n_words, n_roles: positions.n_roles, fingerprint: checkpoint.model.fingerprint };
    let mut recorder = Recorder::new(Vec::new(), kind).expect("a vector takes all");
    for at in 0..20.min(positions.len()) {
        let mut targets = vec![None; kind.n_roles];
        targets[0] = Some(0.5);
        let state = positions.state(at).to_vec();
        let record = Record { state, mover: Some(0), targets, number: at as u32 / 5, step: at as u32 % 5 };
        recorder.push(&record).expect("a vector takes all");
    }
    let records = recorder.finish().expect("a vector takes all");
    vec![
        positions.to_bytes(),
        ways.to_bytes(),
        checkpoint.model.to_bytes(),
        checkpoint.to_bytes(),
        plain.checkpoint().to_bytes(),
        better.checkpoint().to_bytes(),
        records,
    ]
}

impl Kept {
    pub(crate) fn new() -> Kept {
        let game = |rules: &str| Game::new(gdl::read("game", rules.as_bytes()).program, 1).expect("it has a network");
        let games: Vec<Arc<Game>> = GAMES.iter().map(|(rules, _)| Arc::new(game(rules))).collect();
        let samples = games.iter().zip(GAMES).flat_map(|(game, (_, features))| samples(game, features)).collect();
        Kept { games, samples }
    }

    /// Bytes are read or refused. What was read can be used, and written and read again. Returns whether anything was read.
    pub(crate) fn read(&self, bytes: &[u8]) -> bool {
        let mut any = false;
        if let Ok(positions) = Positions::from_bytes(bytes) {
            any = true;
            assert_eq!(Positions::from_bytes(&positions.to_bytes()), Ok(positions));
        }
        if let Ok(records) = Records::new(bytes) {
            let n_roles = records.kind.n_roles;
            for record in records.take_while(Result::is_ok).flatten() {
                any = true;
                assert!(record.mover.is_none_or(|role| usize::from(role) < n_roles));
                assert!(record.targets.iter().flatten().all(|target| (0.0..=1.0).contains(target)));
            }
        }
        if let Ok(stored) = Stored::from_bytes(bytes) {
            any = true;
            let again = stored.to_bytes();
            assert_eq!(Stored::from_bytes(&again).expect("it was just written").to_bytes(), again);
            for model in self.games.iter().filter_map(|game| stored.load(game.clone()).ok()) {
                let initial = machine::scalar::Compiled::new(model.sight.views.network.clone()).initial().to_vec();
                let mut values = Vec::new();
                model.opinion().values(&[&initial], &mut values);
                assert_eq!(values.len(), model.sight.game.universe.roles.len());
            }
        }
        any | self.go_on(bytes)
    }

    /// Training that can be read goes on. Returns whether any was read.
    fn go_on(&self, bytes: &[u8]) -> bool {
        let (course, plain) = (Checkpoint::from_bytes(bytes), thesis::Checkpoint::from_bytes(bytes));
        let better = improved::Checkpoint::from_bytes(bytes);
        for game in &self.games {
            if let Ok(kept) = &course
                && let Ok(mut course) = Course::resume(game.clone(), kept.clone(), settings())
            {
                course.go_on(&|| false).expect("it goes on");
            }
            if let Ok(kept) = &plain
                && let Ok(mut training) = thesis::Training::resume(game.clone(), kept.clone(), thesis_settings())
            {
                training.go_on(&|| false);
            }
            if let Ok(kept) = &better
                && let Ok(mut training) = improved::Training::resume(game.clone(), kept.clone(), improved_settings())
            {
                training.go_on(&|| false);
            }
        }
        course.is_ok() | plain.is_ok() | better.is_ok()
    }
}
