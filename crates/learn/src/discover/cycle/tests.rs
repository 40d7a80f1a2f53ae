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
    let examples = play(checkers(), &[], &[4], 9).expect("no champions");
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
                if mode == Mode::Thesis {
                    assert_eq!(expected, meaning.value(&example.states) > 0.0);
                }
            }
        }
    }
}

#[test]
fn positions_of_random_matches() {
    let field = checkers();
    let examples = play(field, &[], &[1_000], 5).expect("no champions");
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
    assert_eq!(players(&fixtures(&[], &[1, 2], 1)), [[false; 2]; 3]);
    let field = checkers();
    let function = |text: &str| features::structural::fuzzy::text::function(text).expect("a function");
    let brain = |text: &str| Brain::new(&function(text), &field.vocabulary).expect("it means something");
    let brains = [brain("game a phase 0 { 1 * ({o*}@all) }"), brain("game a phase 0 { 1 * ({O*}@all) 1 * ({o*}@r1) }")];
    let by = fixtures(&brains, &[2, 3, 1], 1);
    let n_terms = |fixture: &Fixture| fixture.players.iter().flatten().map(|brain| brain.n_terms()).collect::<Vec<_>>();
    assert_eq!(by.iter().map(n_terms).collect::<Vec<_>>(), [[1], [1], [2], [2], [2], [2]]);
    assert_eq!(players(&by[..2]), [[true, false], [false, true]]);
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

/// A run is the same whether it goes on or is taken up again, and whatever the number of threads.
#[test]
fn runs_can_be_taken_up_again() {
    let swarm = swarm::Settings { particles: 4, matches: 20, guard: 2, ..swarm::Settings::default() };
    let settings = Settings { lines: vec![60, 40], mode: Mode::Thesis, swarm, ..Settings::default() };
    let mut run = Run::default();
    run.cycle(checkers(), &settings).expect("sound settings");
    assert_eq!((run.n_cycles, run.champions.len(), &run.stage), (1, 1, &Stage::Play));
    run.step(checkers(), &settings).expect("sound settings");
    let mut kept = run.clone();
    let other = field(1);
    for _ in 0..3 {
        run.step(checkers(), &settings).expect("sound settings");
        kept.step(&other, &settings).expect("sound settings");
        assert!(run == kept);
    }
    assert_eq!((run.n_cycles, run.champions.len()), (2, 2));
}
