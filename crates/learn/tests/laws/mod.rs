//! What holds for any bytes that are read as something kept. Fuzzers and tests share this.

use std::sync::Arc;

use features::game::Game;
use features::positions::{self, Positions, collect};
use learn::course::{Checkpoint, Course, Settings, Stored};
use learn::record::{Kind, Record, Recorder, Records};
use learn::td::{improved, thesis};
use learn::{self_play, teach};
use search::Evaluate;

/// A small game for two roles: they take one or two of seven matches by turns, and who takes the last one wins.
const RULES: &str = "(role a) (role b) (init (left 7)) (init (turn a)) (other a b) (other b a)
    (one 7 6) (one 6 5) (one 5 4) (one 4 3) (one 3 2) (one 2 1) (one 1 0)
    (<= (fewer ?x 1 ?y) (one ?x ?y)) (<= (fewer ?x 2 ?z) (one ?x ?y) (one ?y ?z))
    (<= (legal ?r (take ?n)) (true (turn ?r)) (true (left ?x)) (fewer ?x ?n ?y))
    (<= (legal ?r wait) (other ?r ?s) (true (turn ?s)))
    (<= (next (left ?y)) (does ?r (take ?n)) (true (left ?x)) (fewer ?x ?n ?y))
    (<= (next (turn ?s)) (true (turn ?r)) (other ?r ?s))
    (<= terminal (true (left 0)))
    (<= (goal ?r 100) (true (left 0)) (other ?r ?s) (true (turn ?s)))
    (<= (goal ?r 0) (true (turn ?r)))";

/// A game, and bytes of each kind that are kept of it.
pub(crate) struct Kept {
    game: Arc<Game>,
    /// All of them can be read.
    #[allow(dead_code, reason = "the fuzzer begins with them, and the tests")]
    pub(crate) samples: Vec<Vec<u8>>,
}

fn settings() -> Settings {
    Settings {
        stages: 1,
        positions: 200,
        play: self_play::Settings { threads: 1, ..self_play::Settings::default() },
        teach: teach::Settings { iterations: 5, threads: 1, ..teach::Settings::default() },
        ..Settings::default()
    }
}

impl Kept {
    pub(crate) fn new() -> Kept {
        let game = Arc::new(Game::new(gdl::read("take", RULES.as_bytes()).program, 1).expect("it has a network"));
        let play = positions::Settings { levels: 1, positions: 200, matches: (50, 50), ..Default::default() };
        let positions = collect(&game, &play, &mut |_| true).positions;
        let mut course = Course::begin(game.clone(), &positions, Vec::new(), settings()).expect("a course begins");
        course.go_on(&|| false).expect("it goes on");
        let checkpoint = course.checkpoint();
        let n_words = positions.state(0).len();
        let kind = Kind { n_words, n_roles: 2, fingerprint: checkpoint.model.fingerprint };
        let mut recorder = Recorder::new(Vec::new(), kind).expect("a vector takes all");
        for at in 0..20.min(positions.len()) {
            let (state, targets) = (positions.state(at).to_vec(), vec![Some(0.5), None]);
            let record = Record { state, mover: Some(0), targets, number: at as u32 / 5, step: at as u32 % 5 };
            recorder.push(&record).expect("a vector takes all");
        }
        let records = recorder.finish().expect("a vector takes all");
        let samples = vec![positions.to_bytes(), checkpoint.model.to_bytes(), checkpoint.to_bytes(), records];
        Kept { game, samples }
    }

    /// Bytes are read or refused. What was read can be used, and written and read again. Returns whether anything was read.
    pub(crate) fn read(&self, bytes: &[u8]) -> bool {
        let mut any = false;
        if let Ok(positions) = Positions::from_bytes(bytes) {
            any = true;
            assert_eq!(Positions::from_bytes(&positions.to_bytes()), Ok(positions));
        }
        if let Ok(records) = Records::new(bytes) {
            any |= records.take_while(Result::is_ok).count() > 0;
        }
        if let Ok(stored) = Stored::from_bytes(bytes) {
            any = true;
            let again = stored.to_bytes();
            assert_eq!(Stored::from_bytes(&again).expect("it was just written").to_bytes(), again);
            if let Ok(model) = stored.load(self.game.clone()) {
                let initial = machine::scalar::Compiled::new(model.sight.views.network.clone()).initial().to_vec();
                let mut values = Vec::new();
                model.opinion().values(&[&initial], &mut values);
                assert_eq!(values.len(), 2);
            }
        }
        if let Ok(checkpoint) = Checkpoint::from_bytes(bytes) {
            any = true;
            let _ = Course::resume(self.game.clone(), checkpoint, settings());
        }
        any | thesis::Checkpoint::from_bytes(bytes).is_ok() | improved::Checkpoint::from_bytes(bytes).is_ok()
    }
}
