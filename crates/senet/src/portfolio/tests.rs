use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::member::{self, Opinion, plain};
use super::*;

/// What was reported.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}

fn portfolio(memory: Option<PathBuf>) -> (Portfolio, Log) {
    let log = Log::default();
    let kept = log.clone();
    let report =
        Arc::new(move |text: &str| kept.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned()));
    let (keep, stop) = (memory.clone().map(Keep::all), Stop::never());
    (Portfolio::new(Settings { seed: 1, threads: 2, memory, learn: true, keep, stop, ponder: true, report }), log)
}

fn game(name: &str) -> Rules {
    let text = std::fs::read_to_string(format!("../../games/{name}/rules.kif")).expect("a game of the library");
    Rules::read(name, &text)
}

/// The legal moves of a match, by the rules as they stand.
struct Referee {
    machine: machine::Reference,
    state: <machine::Reference as machine::Machine>::State,
}

impl Referee {
    fn new(rules: &Rules) -> Referee {
        let mut machine =
            machine::Reference::new(rules.program(), machine::Limits::default()).expect("it has a meaning");
        let state = machine::Machine::initial(&mut machine).expect("it is small");
        Referee { machine, state }
    }

    fn legal(&mut self, role: usize) -> Vec<String> {
        use machine::Machine;
        let mut moves = Vec::new();
        self.machine.legal(&self.state, machine::RoleId(role as u32), &mut moves).expect("it is small");
        moves.into_iter().map(|chosen| self.machine.move_name(chosen)).collect()
    }

    fn make(&mut self, joint: &[String]) {
        use machine::Machine;
        let mut chosen = Vec::new();
        for (role, name) in joint.iter().enumerate() {
            let mut moves = Vec::new();
            self.machine.legal(&self.state, machine::RoleId(role as u32), &mut moves).expect("it is small");
            chosen.extend(moves.into_iter().find(|&chosen| self.machine.move_name(chosen) == *name));
        }
        self.state = self.machine.next(&self.state, &chosen).expect("it is small");
    }

    fn is_over(&mut self) -> bool {
        machine::Machine::is_terminal(&mut self.machine, &self.state).expect("it is small")
    }
}

/// Plays a role against chance; every answer must be legal and in time. What the role gets, and the reasons of its moves.
fn play(
    portfolio: &mut Portfolio,
    rules: &Rules,
    role: usize,
    start: u64,
    play: u64,
    most: usize,
) -> (Option<i64>, Vec<String>) {
    /// How much later than asked for a busy machine may answer.
    const GRACE: Duration = Duration::from_millis(400);
    let clocks = Clocks { start: Duration::from_millis(start), play: Duration::from_millis(play) };
    let deadline = Instant::now() + clocks.start;
    portfolio.start(rules, role, clocks, deadline).expect("it can be played");
    assert!(Instant::now() < deadline + GRACE, "the start was late");
    let mut referee = Referee::new(rules);
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let (mut last, mut reasons): (Option<Vec<String>>, Vec<String>) = (None, Vec::new());
    while !referee.is_over() && reasons.len() < most {
        let deadline = Instant::now() + clocks.play;
        let decision = portfolio.play(last.as_deref(), deadline).expect("there is an answer");
        assert!(Instant::now() < deadline + GRACE, "a move was late: {:?}", decision.why);
        assert!(referee.legal(role).contains(&decision.chosen), "{decision:?} is not legal");
        let n_roles = roles(&rules.program(), &Stop::never()).expect("it has a meaning").len();
        let joint: Vec<String> = (0..n_roles)
            .map(|other| {
                let legal = referee.legal(other);
                if other == role { decision.chosen.clone() } else { legal[random.random_range(0..legal.len())].clone() }
            })
            .collect();
        referee.make(&joint);
        reasons.extend(decision.why);
        last = Some(joint);
    }
    portfolio.stop(last.as_deref());
    let over = referee.is_over();
    let goals = machine::Machine::goals(&mut referee.machine, &referee.state, machine::RoleId(role as u32));
    (over.then(|| goals.expect("it is small")[0]), reasons)
}

#[test]
fn it_plays_games_of_every_kind() {
    let (mut portfolio, log) = portfolio(None);
    let (won, reasons) = play(&mut portfolio, &game("tic-tac-toe"), 0, 1_000, 150, 20);
    assert!(won >= Some(50), "{reasons:?}");
    assert!(reasons.iter().any(|why| why.contains("tree search")), "{reasons:?}");
    assert!(reasons.iter().any(|why| why.contains("are certain with") || why.contains("exact solving")), "{reasons:?}");
    // One role; moves at the same time; three roles.
    assert_eq!(play(&mut portfolio, &game("hanoi"), 0, 3_000, 100, 100).0, Some(100));
    assert!(play(&mut portfolio, &game("rock-paper-scissors"), 1, 500, 100, 100).0.is_some());
    assert!(play(&mut portfolio, &game("three-player-tic-tac-toe"), 2, 500, 100, 100).0.is_some());
    assert!(!log.text().contains("takes no part"), "{}", log.text());
}

#[test]
fn it_answers_without_time_to_prepare() {
    let (mut portfolio, _) = portfolio(None);
    for start in [0, 50] {
        play(&mut portfolio, &game("connect-four"), 1, start, 60, 6);
        play(&mut portfolio, &game("peg"), 0, start, 60, 4);
    }
}

struct Panics(u32);

impl Member for Panics {
    fn think(&mut self, _: &[Vec<String>], _: &dyn Fn() -> bool, _: &mut dyn FnMut(Opinion)) -> Result<(), String> {
        self.0 += 1;
        match self.0 {
            1 => Ok(()),
            // As a panic, but nothing is printed.
            _ => std::panic::resume_unwind(Box::new("I have thought too much")),
        }
    }
}

struct Sleeps;

impl Member for Sleeps {
    fn think(&mut self, _: &[Vec<String>], _: &dyn Fn() -> bool, _: &mut dyn FnMut(Opinion)) -> Result<(), String> {
        loop {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A move that no game has.
fn lie(proven: bool) -> Opinion {
    Opinion {
        rank: Rank::Learned,
        chosen: "(mark 7 7)".to_owned(),
        value: Some(1.0),
        proven,
        why: "a lie".into(),
        line: Vec::new(),
        tried: Vec::new(),
    }
}

struct Lies;

impl Member for Lies {
    fn think(&mut self, _: &[Vec<String>], _: &dyn Fn() -> bool, tell: &mut dyn FnMut(Opinion)) -> Result<(), String> {
        tell(lie(true));
        Ok(())
    }
}

/// Says at once what it thinks, and then does not hear that time is up.
struct Dawdles;

impl Member for Dawdles {
    fn think(
        &mut self,
        _: &[Vec<String>],
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Opinion),
    ) -> Result<(), String> {
        tell(lie(false));
        while !stop() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(60));
        Ok(())
    }
}

#[test]
fn a_member_that_panics_is_reported_and_left_out() {
    let (mut portfolio, log) = portfolio(None);
    portfolio.further.push(("the nervous one", Rank::Learned, || Box::new(Panics(0))));
    assert!(play(&mut portfolio, &game("tic-tac-toe"), 0, 500, 150, 20).0 >= Some(50));
    assert!(
        log.text().contains("the nervous one takes no part any more: it panicked: I have thought"),
        "{}",
        log.text()
    );
}

#[test]
fn a_member_that_never_comes_back_is_left_behind() {
    let (mut portfolio, log) = portfolio(None);
    portfolio.further.push(("the sleeper", Rank::Learned, || Box::new(Sleeps)));
    // Nothing is certain so soon after the start of this game, so that every move waits for the sleeper while it takes part.
    play(&mut portfolio, &game("breakthrough"), 0, 500, 200, 6);
    assert!(log.text().contains("the sleeper was late"), "{}", log.text());
    assert!(log.text().contains("the sleeper takes no part any more"), "{}", log.text());
}

#[test]
fn a_member_that_has_spoken_is_not_late() {
    let (mut portfolio, log) = portfolio(None);
    portfolio.further.push(("the dawdler", Rank::Learned, || Box::new(Dawdles)));
    play(&mut portfolio, &game("breakthrough"), 0, 500, 300, 6);
    assert!(log.text().contains("was proposed, and left aside"), "{}", log.text());
    assert!(!log.text().contains("the dawdler"), "{}", log.text());
}

#[test]
fn a_move_that_is_not_legal_is_left_aside() {
    let (mut portfolio, log) = portfolio(None);
    portfolio.further.push(("the liar", Rank::Learned, || Box::new(Lies)));
    let (_, reasons) = play(&mut portfolio, &game("tic-tac-toe"), 1, 500, 100, 20);
    assert!(!reasons.iter().any(|why| why == "a lie"));
    assert!(log.text().contains("not legal"), "{}", log.text());
}

/// One fluent with eight digits has more values than grounding lists, and each state is a single fact.
#[test]
fn a_game_that_cannot_be_grounded_is_played_by_its_rules() {
    let digits = |at: usize, new: &str| {
        (0..8).map(|place| if place == at { format!(" {new}") } else { format!(" ?x{place}") }).collect::<String>()
    };
    let turn = |place: usize| {
        let (old, new) = (digits(place, "?old"), digits(place, "?new"));
        format!(
            "(legal me (turn {place})) (<= (next (at{new})) (does me (turn {place})) (true (at{old})) (plus ?old ?new))\n"
        )
    };
    let plus: String = (0..10).map(|digit| format!("(plus {digit} {})", (digit + 1) % 10)).collect();
    let goals: String = [(0, 0), (1, 30), (2, 60), (3, 100)]
        .map(|(digit, goal)| format!("(<= (goal me {goal}) (true (at{})))\n", digits(0, &digit.to_string())))
        .concat();
    let rules = format!(
        "(role me) (init (at 0 0 0 0 0 0 0 0)) (init (step 0)) {plus} {} {goals}
        (<= (next (step ?m)) (true (step ?n)) (plus ?n ?m)) (<= terminal (true (step 3)))",
        (0..8).map(turn).collect::<String>()
    );
    let rules = Rules::read("lock", &rules);
    assert!(!rules.reading.has_errors(), "{:?}", rules.reading.diagnostics);
    let (mut portfolio, _) = portfolio(None);
    let (result, reasons) = play(&mut portfolio, &rules, 0, 300, 300, 10);
    assert_eq!(result, Some(100), "{reasons:?}");
    assert!(reasons.iter().all(|why| why.contains("random matches")), "{reasons:?}");
}

/// Whether a memory has a model.
fn is_kept(memory: &Option<PathBuf>) -> bool {
    let store = arena::Store::open(memory.as_ref().expect("there is one")).expect("it can be opened");
    !store.models().expect("it can be read").is_empty()
}

/// What was learned before a match is there when it begins, and nothing is learned when nobody waits.
#[test]
fn a_preview_is_time_to_learn() {
    let folder = std::env::temp_dir().join(format!("senet-preview-{}", std::process::id()));
    let memory = Some(folder.join("memory.db"));
    let rules = game("connect-3-4x4");
    let (mut portfolio, log) = portfolio(memory.clone());
    let given_up = Arc::new(AtomicBool::new(true));
    portfolio.heed(given_up.clone());
    let begun = Instant::now();
    portfolio.preview(&rules, begun + Duration::from_secs(60));
    assert!(begun.elapsed() < Duration::from_secs(30) && !is_kept(&memory), "{}", log.text());
    given_up.store(false, Ordering::Relaxed);
    // On a busy machine the first time may be too short.
    for seconds in [10, 20, 40] {
        portfolio.preview(&rules, Instant::now() + Duration::from_secs(seconds));
        if is_kept(&memory) {
            break;
        }
    }
    let (_, reasons) = play(&mut portfolio, &rules, 0, 2_000, 150, 20);
    assert!(log.text().contains("model 1 of `connect-3-4x4`"), "{reasons:?}\n{}", log.text());
    std::fs::remove_dir_all(folder).expect("the folder is there");
}

/// Roles may be derived by rules.
#[test]
fn derived_roles_are_roles() {
    let text = "(player a) (player b) (<= (role ?p) (player ?p)) (init (left 3)) (less 3 2) (less 2 1) (less 1 0)
        (<= (legal ?p take) (role ?p)) (<= (legal ?p pass) (role ?p))
        (<= (next (left ?m)) (true (left ?n)) (less ?n ?m)) (<= terminal (true (left 0)))
        (<= (next (has ?p)) (does ?p take)) (<= (goal ?p 100) (true (has ?p))) (<= (goal ?p 0) (role ?p) (not (true (has ?p))))";
    let rules = Rules::read("derived", text);
    assert_eq!(roles(&rules.program(), &Stop::never()), Ok(vec!["a".to_owned(), "b".to_owned()]));
    let (mut player, log) = portfolio(None);
    let (points, _) = play(&mut player, &rules, 1, 1_000, 300, 10);
    assert_eq!(points, Some(100), "{}", log.text());
    assert!(!log.text().contains("panicked") && !log.text().contains("takes no part"), "{}", log.text());
}

/// A memory that can't be used does not keep it from learning.
#[test]
fn it_learns_without_a_memory_that_cannot_be_opened() {
    let folder = std::env::temp_dir().join(format!("senet-portfolio-strange-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    let file = folder.join("notes.txt");
    std::fs::write(&file, "these are notes, and no memory ".repeat(40)).expect("written");
    let rules = game("connect-3-3x3");
    let notes = std::sync::Mutex::new(Vec::new());
    let mut found = None;
    // On a busy machine the first time may be too short.
    for seconds in [8, 20, 40] {
        let study = Study {
            name: "copy".to_owned(),
            text: rules.text.clone(),
            program: rules.program(),
            memory: Some(file.clone()),
            seed: 1,
            threads: 2,
            learn: true,
            keep: Some(Keep::all(file.clone())),
            until: Instant::now() + Duration::from_secs(seconds),
        };
        let note = |text: &str| notes.lock().expect("no panic").push(text.to_owned());
        found = study.go(&Stop::never(), &note).expect("it can be grounded").knowledge;
        if found.is_some() {
            break;
        }
    }
    assert!(found.is_some_and(|knowledge| knowledge.origin.starts_with("learned in")));
    assert!(notes.into_inner().expect("no panic")[0].contains("plays without a memory"));
    assert!(std::fs::read_to_string(&file).expect("still there").starts_with("these are notes"));
    std::fs::remove_dir_all(folder).expect("removed");
}

/// A model that was learned is found again whatever the names, and used.
#[test]
fn a_scrambled_copy_of_a_learned_game_is_known() {
    let folder = std::env::temp_dir().join(format!("senet-portfolio-{}", std::process::id()));
    let rules = game("connect-3-4x4");
    let memory = Some(folder.join("memory.db"));
    // On a busy machine the first time may be too short.
    let (mut first, log) = portfolio(memory.clone());
    for start in [10_000, 20_000, 40_000] {
        play(&mut first, &rules, 0, start, 150, 20);
        if is_kept(&memory) {
            break;
        }
    }
    assert!(is_kept(&memory), "{}", log.text());
    let order = insight::scramble::RoleOrder::Shuffled;
    let scrambled = insight::scramble::scramble(&rules.reading.program, order, &mut Pcg64Mcg::seed_from_u64(5));
    let text = scrambled.text;
    let copy = Rules::read("copy", &text);
    let study = Study {
        name: "copy".to_owned(),
        text: copy.text.clone(),
        program: copy.program(),
        memory: memory.clone(),
        seed: 1,
        threads: 2,
        learn: false,
        keep: None,
        until: Instant::now(),
    };
    let knowledge = study.go(&Stop::never(), &|_| {}).expect("it can be grounded").knowledge.expect("it is known");
    assert_eq!(knowledge.origin, "model 1 of `connect-3-4x4`");
    let sight = &knowledge.model.sight;
    assert!(sight.features.is_empty() && sight.n_slots() > 0, "a brief lesson is about patterns alone");
    let (mut second, log) = portfolio(memory);
    second.settings.learn = false;
    let (won, reasons) = play(&mut second, &copy, 1, 20_000, 300, 20);
    assert!(won.is_some());
    // If search without knowledge did better with so little learning, it is right not to use the model.
    if knowledge.search != Search::Plain {
        assert!(log.text().contains("model 1 of `connect-3-4x4`"), "{}", log.text());
        assert!(reasons.iter().any(|why| why.contains("model 1")), "{reasons:?}");
    }
    std::fs::remove_dir_all(folder).expect("it was there");
}

/// A search that always wants the same move, comes back when it is told to only the first time, and notes whether it was left to think.
struct Held {
    chosen: u32,
    n_asked: u32,
    pondered: Arc<AtomicBool>,
}

impl Player for Held {
    fn choose(&mut self, _: &[u64], _: machine::RoleId, limit: &search::Limit) -> search::Answer {
        self.n_asked += 1;
        while !(limit.stop)() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.n_asked > 1 {
            std::thread::sleep(Duration::from_millis(300));
        }
        let stop = search::StopReason::Stopped;
        search::Answer { joint: vec![self.chosen; 2], stop, ..search::Answer::default() }
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn ponder(&mut self, _: &[u64], _: machine::RoleId, stop: &dyn Fn() -> bool) {
        self.pondered.store(true, Ordering::Relaxed);
        while !stop() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A searcher for the first role of Tic-Tac-Toe that wants to mark a corner.
fn held(pondered: &Arc<AtomicBool>) -> Searcher {
    let ground = gdl::ground::ground(&game("tic-tac-toe").program(), &gdl::ground::Budget::default());
    let network =
        Arc::new(machine::network::build(ground.expect("it is small"), &gdl::Stop::never()).expect("it is small"));
    let named = |&chosen: &u32| plain(&network.name(network.moves[chosen as usize])) == "(mark 3 3)";
    let chosen = network.moves_of[0].clone().find(named).expect("there is a corner");
    let words = Words::new(network.clone(), &["xplayer", "oplayer"].map(str::to_owned)).expect("these are the roles");
    let player = Box::new(Held { chosen, n_asked: 0, pondered: pondered.clone() });
    Searcher::new(scalar::Compiled::new(network), words, 0, player, Rank::Search, "held".to_owned())
}

/// What a search thinks is heard before its time is up, so that it counts even if the search is held up at the end.
#[test]
fn searches_say_early_what_they_think() {
    let begun = Instant::now();
    let mut heard = Vec::new();
    let stop = || begun.elapsed() >= Duration::from_millis(150);
    held(&Arc::default()).think(&[], &stop, &mut |opinion| heard.push((begun.elapsed(), opinion))).expect("it thinks");
    let (when, first) = heard.iter().find(|(_, opinion)| opinion.rank == Rank::Search).expect("it was heard");
    assert!(*when < Duration::from_millis(140) && first.chosen == "(mark 3 3)", "{when:?} {first:?}");
    assert!(begun.elapsed() >= Duration::from_millis(300), "the last answer comes late");
}

/// While others think, a search goes on; and comes back for the next question.
#[test]
fn members_think_while_others_do() {
    let pondered = Arc::new(AtomicBool::new(false));
    let own = pondered.clone();
    let (sender, heard) = std::sync::mpsc::channel();
    let make: Make = Box::new(move || Ok(Box::new(held(&own)) as Box<dyn Member>));
    let worker = member::Worker::start("held", make, move |word| _ = sender.send(word)).expect("a thread");
    let far = Instant::now() + Duration::from_secs(60);
    worker.ponder(1, Arc::default(), far);
    while !pondered.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
    worker.leave(1);
    worker.ask(2, Arc::default(), Instant::now() + Duration::from_millis(100));
    let wait = Duration::from_secs(20);
    let done = std::iter::from_fn(|| heard.recv_timeout(wait).ok()).any(|word| matches!(word, member::Word::Done(2)));
    assert!(done, "it came back, and answered");
}
