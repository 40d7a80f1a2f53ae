use std::sync::{Arc, OnceLock};

use features::game::Game;

use super::*;
use crate::discover::attribute::Test;
use crate::discover::field;

fn field(threads: usize) -> Field {
    let text = std::fs::read("../../games/checkers/rules.kif").expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read("checkers", &text).program, 1).expect("it has a network"));
    Field::new(game, &field::Settings { threads, ..field::Settings::default() }).expect("a game for two with a board")
}

fn checkers() -> &'static Field {
    static FIELD: OnceLock<Field> = OnceLock::new();
    FIELD.get_or_init(|| field(2))
}

#[test]
fn attributes_of_checkers() {
    let vocabulary = &checkers().vocabulary;
    assert_eq!(Attributes::new(vocabulary, Mode::Thesis).list.len(), 44 * 36);
    let extended = Attributes::new(vocabulary, Mode::Extended);
    // Who has more pieces: own pieces on the whole board, ahead of the other side's.
    let own = |name: &String| name.starts_with(['o', 'O']);
    let is_own = |group: &Vec<_>| {
        let names = |group: &Vec<features::structural::squares::StateId>| {
            group.iter().map(|state| &vocabulary.states[state.0 as usize]).collect::<Vec<_>>()
        };
        names(group).iter().all(|name| own(name)) && group.len() == 14
    };
    let group = extended.groups.iter().position(is_own).expect("a group of own pieces");
    let wanted = |test| {
        let is_it = |a: &&crate::discover::attribute::Attribute| (a.group, a.region, a.test) == (group, 0, test);
        extended.list.iter().any(|attribute| is_it(&attribute))
    };
    assert!(wanted(Test::Ahead(1)) && wanted(Test::Ahead(0)) && wanted(Test::AtLeast(12)));
}

/// The answers of tables are what the questions mean.
#[test]
fn answers_are_as_defined() {
    let vocabulary = &checkers().vocabulary;
    let examples = by_chance(checkers(), &[4], 9);
    let rows: Vec<&Example> = examples.iter().collect();
    for mode in [Mode::Thesis, Mode::Extended] {
        let attributes = Attributes::new(vocabulary, mode);
        let table = attributes.table(vocabulary, &rows);
        for (number, attribute) in attributes.list.iter().enumerate().step_by(7) {
            let group = &attributes.groups[attribute.group];
            let meaning = vocabulary.resolve(&attributes.literal(number, true)).expect("it means something");
            for (row, example) in rows.iter().enumerate() {
                let count = |states: &[_]| {
                    let squares = vocabulary.regions[attribute.region].1.iter();
                    squares.filter(|&&square| group.contains(&states[square])).count() as i32
                };
                let own = count(&example.states);
                let expected = match attribute.test {
                    Test::AtLeast(least) => own >= least,
                    Test::Ahead(least) => own - count(&vocabulary.flip_position(&example.states)) >= least,
                };
                assert_eq!(table.holds(row, number), expected);
                // In play, presence is a part; everything else is what was asked.
                match mode {
                    Mode::Thesis => assert_eq!(expected, meaning.value(&example.states) > 0.0),
                    Mode::Extended => assert_eq!(f64::from(u8::from(expected)), meaning.value(&example.states)),
                }
            }
        }
    }
}

#[test]
fn positions_of_random_matches() {
    let field = checkers();
    let examples = by_chance(field, &[1_000], 5);
    // Where a multiple jump is one move, a thousand lines have 58 to 60 thousand positions; here its steps are moves. About
    // two fifths of the positions are won.
    assert!((57_000..65_000).contains(&examples.len()), "{}", examples.len());
    let won = examples.iter().filter(|example| example.tally.class() == End::Won).count();
    assert!((0.35..0.45).contains(&(won as f64 / examples.len() as f64)), "{won}");
    assert!(examples.iter().all(|example| example.phase < 23));
}

#[test]
fn the_measure_of_results() {
    let measure = |won, drawn, lost| Measure { won, drawn, lost }.value();
    assert_eq!((measure(10, 0, 0), measure(0, 0, 10), measure(0, 10, 0)), (100.0, 0.0, 50.0));
    assert_eq!(measure(6, 2, 2), 70.0);
    assert_eq!(Measure { won: 6, drawn: 2, lost: 2 }.interval().mean, 70.0);
}

#[test]
fn champions_are_inserted_before_whom_they_beat() {
    let mut champions = vec![5, 9, 3];
    let list = champions.clone();
    assert_eq!(insert(&mut champions, 6, 10, |place| 6 > list[place]), 0);
    let list = champions.clone();
    assert_eq!(insert(&mut champions, 4, 10, |place| 4 > list[place]), 3);
    let list = champions.clone();
    assert_eq!((list.clone(), insert(&mut champions, 1, 10, |place| 1 > list[place])), (vec![6, 5, 9, 4, 3], 5));
    assert_eq!(insert(&mut champions, 0, 6, |_| false), 6);
    assert_eq!(champions, [6, 5, 9, 4, 3, 1]);
}

#[test]
fn champions_play_as_many_lines_as_they_should() {
    let players = |fixtures: &[Fixture]| -> Vec<[bool; 2]> {
        fixtures.iter().map(|fixture| fixture.players.map(|player| player.is_some())).collect()
    };
    assert_eq!(players(&fixtures(&[], &[1, 2], Opponents::Chance, 1)), [[false; 2]; 3]);
    let field = checkers();
    let function = |text: &str| features::structural::fuzzy::text::function(text).expect("a function");
    let brain = |text: &str| Brain::new(&function(text), &field.vocabulary).expect("it means something");
    let brains = [brain("game a phase 0 { 1 * ({o*}@all) }"), brain("game a phase 0 { 1 * ({O*}@all) 1 * ({o*}@r1) }")];
    let by = fixtures(&brains, &[2, 3, 1], Opponents::Chance, 1);
    let n_terms = |fixture: &Fixture| fixture.players.iter().flatten().map(|brain| brain.n_terms()).collect::<Vec<_>>();
    assert_eq!(by.iter().map(n_terms).collect::<Vec<_>>(), [[1], [1], [2], [2], [2], [2]]);
    assert_eq!(players(&by[..2]), [[true, false], [false, true]]);
    assert!(by.iter().all(|fixture| fixture.opening.plies == 0 && fixture.stray == 0.0));
    // Against themselves, from openings of all lengths.
    let by = fixtures(&brains, &[OPENING as u32 + 1], Opponents::Themselves, 1);
    assert_eq!(players(&by), [[true; 2]; OPENING + 1]);
    assert_eq!(by.iter().map(|fixture| fixture.opening.plies as usize).max(), Some(OPENING));
    assert!(by.iter().all(|fixture| fixture.stray == STRAY));
}

/// What was learned from before is learned from again, if it is remembered; and functions don't grow with the number of matches.
#[test]
fn matches_are_remembered() {
    let field = checkers();
    let [new, all] = [false, true].map(|remember| {
        let settings = Settings { lines: vec![40], guard: 1, bouts: 1, remember, ..Settings::default() };
        let mut run = Run::default();
        run.cycle(field, &settings).expect("sound settings");
        assert_eq!(!run.past.is_empty(), remember);
        run.step(field, &settings).expect("sound settings");
        let Stage::Discover(examples) = run.stage else { panic!("matches were played") };
        examples
    });
    assert!(all.len() > new.len() && new.iter().all(|example| all.iter().any(|other| other.states == example.states)));
    let examples = by_chance(field, &[300], 7);
    let n_terms = |leaves: usize| -> usize {
        let function = discover(field, &examples, &Settings { leaves, ..Settings::default() }, 1);
        function.phases.iter().map(|(_, terms)| terms.len()).sum()
    };
    assert!(n_terms(50) < n_terms(0) && n_terms(100_000) == n_terms(0));
}

/// Players who leave all moves to chance play as chance does, and those who leave some play other matches than those who leave none.
#[test]
fn players_leave_moves_to_chance() {
    let field = checkers();
    let brain = crate::discover::hand_made::weighted(field).expect("it is Checkers");
    let score = |stray: f64| {
        let fixture = |number: usize| {
            let (seed, opening) = (seed_of(3, number), Opening::default());
            Fixture { players: [Some(&brain), None], seed, opening, stray }
        };
        let lines = field.play(&(0..200).map(fixture).collect::<Vec<_>>(), false);
        lines.iter().map(|line| line.ends[0].value()).sum::<f64>() / 200.0
    };
    let [none, some, all] = [0.0, 0.3, 1.0].map(score);
    assert!(none > some && some > all && (0.35..0.65).contains(&all), "{none} {some} {all}");
}

/// The functions that Duminy wrote by hand play about as well as measured with another program: 89 with equal weights.
#[test]
fn hand_made_knowledge_beats_chance() {
    let field = checkers();
    let ranks: String = (1..=7).map(|rank| format!("1 * ({{o*}}@r{rank})\n")).collect();
    let text = format!(
        "game checkers phase 0 {{ 1 * ({{O*}}@all) 1 * ({{o*}}@all) 1 * (~({{O6}}@all)) 1 * (~({{o4,o6}}@all)) \
         {ranks} 1 * ({{X6}}@all) 1 * ({{x4,x6}}@all) }}"
    );
    let function = features::structural::fuzzy::text::function(&text).expect("a function");
    let brain = Brain::new(&function, &field.vocabulary).expect("it means something");
    let measure = measure(field, &brain, 400, 3);
    assert!((82.0..96.0).contains(&measure.value()), "{measure:?}");
}

/// A run is the same whether it goes on or is kept as bytes and taken up again after any stage, and whatever the number of
/// threads.
#[test]
fn runs_can_be_taken_up_again() {
    let swarm = swarm::Settings { particles: 4, matches: 20, guard: 2, ..swarm::Settings::default() };
    let common = Settings { lines: vec![60, 40], guard: 4, swarm, ..Settings::default() };
    let thesis = Settings { mode: Mode::Thesis, weights: Weights::Swarm, ..common.clone() };
    let other = field(1);
    for settings in [thesis, Settings { weights: Weights::Both, span: Some(1), ..common }] {
        let mut run = Run::default();
        run.cycle(checkers(), &settings).expect("sound settings");
        assert_eq!((run.n_cycles, run.champions.len(), &run.stage), (1, 1, &Stage::Play));
        let mut kept = run.clone();
        for _ in 0..4 {
            run.step(checkers(), &settings).expect("sound settings");
            kept = Run::from_bytes(&kept.to_bytes(), &other.vocabulary).expect("bytes that were just written");
            kept.step(&other, &settings).expect("sound settings");
            assert!(run == kept);
        }
        assert_eq!((run.n_cycles, run.champions.len(), run.found.len()), (2, 2, 2));
    }
}

#[test]
fn damaged_runs_are_refused() {
    let vocabulary = &checkers().vocabulary;
    let mut run = Run { stage: Stage::Discover(by_chance(checkers(), &[2], 1)), ..Run::default() };
    let bytes = run.to_bytes();
    assert_eq!(Run::from_bytes(&bytes, vocabulary), Ok(run.clone()));
    let problem = |bytes: &[u8]| Run::from_bytes(bytes, vocabulary).expect_err("damaged");
    assert!(problem(&bytes[..bytes.len() / 2]).contains("damaged"));
    assert!(problem(&bytes[1..]).contains("version"));
    let Stage::Discover(examples) = &mut run.stage else { unreachable!("it was just made") };
    examples[0].states[3].0 = 999;
    assert!(problem(&run.to_bytes()).contains("board"));
    let function =
        features::structural::fuzzy::text::function("game g phase 0 { 1 * ({nonsense}@all) }").expect("readable");
    assert!(problem(&Run { champions: vec![function], ..Run::default() }.to_bytes()).contains("nonsense"));
}

/// A player who searches chooses as the search of one position after another does.
#[test]
fn searches_side_by_side_choose_the_same() {
    use machine::RoleId;
    use machine::scalar::{Compiled, Scalar};
    use search::principal::{self, Principal};
    use search::{Limit, Player};

    use crate::discover::{hand_made, judge::Judge};

    let field = checkers();
    let brain = hand_made::weighted(field).expect("it is Checkers");
    let searching = brain.clone().searching(Some(7));
    let compiled = Compiled::new(field.game.circuit.network.clone());
    let mut player = Principal::new(
        Judge::new(field, compiled.clone(), &brain),
        principal::Settings { span: 7, ..principal::Settings::default() },
    );
    let lines = field.play(
        &[Fixture { players: [Some(&searching); 2], seed: 1, opening: Opening { plies: 3, seed: 5 }, stray: 0.0 }],
        true,
    );
    // The same match once more: chance in the opening, then the search.
    let mut machine = Scalar::new(compiled);
    let mut lanes = machine::lanes::Lanes::new(field.compiled.clone());
    let (mut observer, mut seen) = (field.squares.observer(), Vec::new());
    let mut random = <rand_pcg::Pcg64Mcg as rand::SeedableRng>::seed_from_u64(5);
    let mut n_chosen = 0;
    for ply in 0.. {
        let legal = search::legal_moves(&machine);
        if machine.terminal() || ply == lines[0].seen.len() + 1 {
            break;
        }
        let mover = usize::from(legal[0].len() == 1 && field.game.structure.turns.idle[0].contains(&legal[0][0]));
        let mut joint = [legal[0][0], legal[1][0]];
        if ply < 3 {
            joint[mover] = legal[mover][rand::RngExt::random_range(&mut random, 0..legal[mover].len())];
        } else if legal[mover].len() > 1 {
            let answer = player.choose(machine.bits(), RoleId(mover as u32), &Limit::nodes(u64::MAX));
            joint.copy_from_slice(&answer.joint);
            n_chosen += 1;
        }
        machine.make(&joint);
        if !machine.terminal() {
            lanes.load_all(&[machine.bits()]);
            field::look(field, &lanes, &mut observer).states(0, mover as u32, &mut seen);
            assert_eq!(seen, lines[0].seen[ply].1, "ply {ply}");
            seen.clear();
        }
    }
    assert!(n_chosen > 15, "{n_chosen}");
}

/// Search makes a player better, and so do weights from regression; both with what was discovered in few matches.
#[test]
fn what_is_discovered_plays_better_with_weights_and_search() {
    let field = checkers();
    let settings = Settings { lines: vec![300], guard: 20, trees: 3, ..Settings::default() };
    let mut run = Run::default();
    run.step(field, &settings).expect("sound settings");
    run.step(field, &settings).expect("sound settings");
    let Stage::Optimise(uniform, _) = run.stage.clone() else { panic!("a function was discovered") };
    run.step(field, &settings).expect("sound settings");
    let Stage::Evaluate(weighed) = run.stage.clone() else { panic!("it has weights") };
    let found = run.found.last().expect("weights were looked for");
    assert!(found.n_guard == 20 && found.is_start == (found.points <= 40));
    let measure = |function: &Function, span| {
        let brain = Brain::new(function, &field.vocabulary).expect("it means something").searching(span);
        measure(field, &brain, 200, 3).value()
    };
    let (uniform, weighed, searched) = (measure(&uniform, None), measure(&weighed, None), measure(&weighed, Some(5)));
    assert!(uniform > 60.0 && weighed > uniform + 3.0 && searched > uniform + 6.0, "{uniform} {weighed} {searched}");
}
