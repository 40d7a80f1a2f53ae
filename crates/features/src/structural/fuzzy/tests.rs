use std::sync::OnceLock;

use proptest::prelude::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::compile::{End, MARGIN, Position, simplify};
use super::*;
use crate::pattern::testing::sized;
use crate::structural::squares::tests::{squares, watch};
use crate::structural::tests::game;

struct Checkers {
    vocabulary: Vocabulary,
    /// Positions that are no ends, as the passive and as the active side sees them.
    positions: Vec<(Vec<StateId>, Vec<StateId>)>,
    first: Vec<StateId>,
}

/// The bounds of the thesis, but for `n`.
fn bounds(squares: &Squares, n: u32) -> Cardinalities {
    let mut bounds = Cardinalities::unbounded(squares);
    for (bound, name) in bounds.states.iter_mut().zip(&squares.names) {
        *bound = match name.as_str() {
            "n" => n,
            "a1" | "p1" => 26,
            "a2" | "p2" => 17,
            "a3" | "p3" => 14,
            "b1" => 12,
            "b2" | "b4" | "b9" => 8,
            name if name.starts_with('b') => 7,
            name if name.ends_with(['3', '5']) => 8,
            name if name.ends_with('7') => 7,
            _ => 12,
        };
    }
    bounds.sets.iter_mut().zip([30, 12, 12, 0]).for_each(|(set, bound)| set.1 = bound);
    bounds
}

fn checkers() -> &'static Checkers {
    static CHECKERS: OnceLock<Checkers> = OnceLock::new();
    CHECKERS.get_or_init(|| {
        let game = game("checkers");
        let squares = squares(&game);
        let mut positions = Vec::new();
        watch(&game, &squares, 4, 11, |sight, lane, passive| {
            let mut seen = (Vec::new(), Vec::new());
            sight.states(lane, passive, &mut seen.0);
            sight.states(lane, 1 - passive, &mut seen.1);
            positions.push(seen);
        });
        let mut first = Vec::new();
        squares.observer().look_at(&game.universe.initial).states(0, 0, &mut first);
        Checkers { vocabulary: Vocabulary::new(&game, &squares, bounds(&squares, 29)), positions, first }
    })
}

fn meaning(text: &str) -> Meaning {
    let formula = text::formula(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
    checkers().vocabulary.resolve(&formula).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn limit(text: &str) -> u32 {
    let Meaning::Ground(ground) = meaning(text) else { panic!("{text} is a ground feature") };
    checkers().vocabulary.cardinalities.limit(&ground.states)
}

#[test]
fn sets_of_states_are_bounded() {
    assert_eq!(limit("({a3,b1,x3,X7}@all)"), 38);
    assert_eq!(limit("({o*,O*}@all)"), 12);
}

#[test]
fn own_pieces_on_the_home_rank_are_counted() {
    let checkers = checkers();
    let (home, men) = (meaning("({o*,O*}@r1)"), meaning("({o*}@all)"));
    // The side with the low ranks looks from there; the other sees the board turned round.
    let mut states = checkers.first.clone();
    assert_eq!((home.value(&states), men.value(&states)), (1.0, 1.0));
    for (missing, file) in [1, 3, 5, 7].into_iter().enumerate() {
        let square = checkers.vocabulary.squares.iter().position(|square| *square == [file, 1]).expect("a square");
        states[square] = StateId(0);
        assert_eq!(home.value(&states), 1.0 - 0.25 * (missing as f64 + 1.0));
    }
    assert_eq!(meaning("(o0@(1,1))").value(&checkers.first), 1.0);
    assert_eq!(meaning("(o1@(1,1))").value(&checkers.first), 0.0);
}

#[test]
fn there_are_36_regions() {
    let regions = &checkers().vocabulary.regions;
    assert_eq!(regions.len(), 36);
    let size = |name: &str| regions.iter().find(|region| region.0 == name).map(|region| region.1.len());
    let sizes = ["all", "r1", "f8", "bd1", "bd4", "fd1", "fd4", "fd7", "cc1", "cc2", "cc3", "cc4", "bd8"].map(size);
    assert_eq!(sizes.map(Option::unwrap), [32, 4, 4, 1, 7, 2, 8, 2, 2, 6, 10, 14, 1]);
    let ring = &regions.iter().find(|region| region.0 == "cc3").expect("a ring").1;
    assert!(ring.iter().any(|&square| checkers().vocabulary.squares[square] == [3, 7]));
}

#[test]
fn bounds_of_the_thesis_hold_but_for_one() {
    let checkers = checkers();
    let bounds = &checkers.vocabulary.cardinalities;
    for (states, _) in &checkers.positions {
        assert_eq!(bounds.exceeded(states), []);
    }
    // Three pieces in corners, where nobody can get to more than three squares.
    let n = StateId(checkers.vocabulary.states.iter().position(|name| name == "n").expect("a state") as u16);
    let mut states = vec![n; 32];
    (0..3).for_each(|square| states[square] = checkers.first[square]);
    assert_eq!(bounds.exceeded(&states), []);
    let mut of_the_thesis = bounds.clone();
    of_the_thesis.states[n.0 as usize] = 28;
    assert_eq!(of_the_thesis.exceeded(&states), [n]);
}

fn formula() -> impl Strategy<Value = Formula> {
    let names = || prop::sample::select(checkers().vocabulary.states.clone());
    let letters = prop::sample::select(vec!["a", "p", "b", "x", "X", "o", "O", "n"]);
    let pattern = prop_oneof![
        names().prop_map(Pattern::State),
        letters.prop_map(|letters| Pattern::Letters(letters.to_owned())),
    ];
    let regions: Vec<String> = checkers().vocabulary.regions.iter().map(|region| region.0.clone()).collect();
    let squares = checkers().vocabulary.squares.clone();
    let square = prop::sample::select(squares);
    let wild = (square.clone(), 0..4u8).prop_map(|(square, wild)| {
        square.iter().enumerate().map(|(axis, &at)| (wild != axis as u8).then_some(at)).collect::<Vec<_>>()
    });
    let place = prop_oneof![
        prop::sample::select(regions).prop_map(Place::Region),
        prop::collection::vec(wild, 1..3).prop_map(Place::Squares),
    ];
    let patterns = prop::collection::vec(pattern, 1..4);
    let test = prop_oneof![(0..13).prop_map(Test::AtLeast), (-4..5).prop_map(Test::Ahead)];
    let leaf = prop_oneof![
        1 => (names(), square).prop_map(|(state, square)| Formula::Atomic(state, square)),
        3 => (patterns.clone(), place.clone()).prop_map(|(patterns, place)| Formula::Fuzzy(patterns, place)),
        2 => (patterns, place, test).prop_map(|(patterns, place, test)| Formula::Count(patterns, place, test)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let parts = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            inner.prop_map(|inner| Formula::Not(Box::new(inner))),
            parts.clone().prop_map(Formula::And),
            parts.prop_map(Formula::Or),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn reading_what_was_printed_gives_the_formula(formula in formula()) {
        let text = formula.to_string();
        prop_assert_eq!(text::formula(&text), Ok(formula), "{}", text);
    }

    #[test]
    fn values_keep_the_laws(one in formula(), other in formula(), seed: u64) {
        let checkers = checkers();
        let (one, other) = (checkers.vocabulary.resolve(&one).unwrap(), checkers.vocabulary.resolve(&other).unwrap());
        let not = |inner: &Meaning| Meaning::Not(Box::new(inner.clone()));
        let and = |parts: [&Meaning; 2]| Meaning::And(parts.map(Clone::clone).to_vec());
        let or = |parts: [&Meaning; 2]| Meaning::Or(parts.map(Clone::clone).to_vec());
        let (passive, active) = &checkers.positions[seed as usize % checkers.positions.len()];
        let value = |meaning: &Meaning| meaning.value(passive);
        let same = |left: &Meaning, right: &Meaning| (value(left) - value(right)).abs() < 1e-12;
        prop_assert!((0.0..=1.0).contains(&value(&one)));
        prop_assert!(same(&not(&and([&one, &other])), &or([&not(&one), &not(&other)])));
        prop_assert!(same(&not(&or([&one, &other])), &and([&not(&one), &not(&other)])));
        prop_assert!(same(&not(&not(&one)), &one));
        prop_assert!(same(&and([&one, &or([&one, &other])]), &one));
        prop_assert!(same(&or([&one, &and([&one, &other])]), &one));
        for whole in [one.clone(), not(&and([&one, &or([&one, &other])])), or([&one, &not(&one)]), or([&one, &and([&other, &one])])] {
            prop_assert!(same(&simplify(whole.clone()), &whole));
        }
        // Turning round twice changes nothing; turning a formula round is turning the position round.
        let flipped = checkers.vocabulary.flip(&one);
        prop_assert_eq!(checkers.vocabulary.flip(&flipped), one.clone());
        prop_assert_eq!(flipped.value(passive), one.value(active));
    }
}

#[test]
fn the_other_side_sees_the_flipped_position() {
    let checkers = checkers();
    for (passive, active) in &checkers.positions {
        assert_eq!(&checkers.vocabulary.flip_position(passive), active);
    }
}

/// A test of a count is what it says; and `+>=` is about what the other side counts, whose view turns it round.
#[test]
fn counts_are_tested() {
    let checkers = checkers();
    let value = |text: &str, states: &[StateId]| meaning(text).value(states);
    for (states, others) in checkers.positions.iter().step_by(37) {
        let n = |states: &[StateId], letter: char| {
            states.iter().filter(|state| checkers.vocabulary.states[state.0 as usize].starts_with(letter)).count()
                as i32
        };
        let (own, ahead) = (n(states, 'o'), n(states, 'o') - n(others, 'o'));
        for least in 0..=12 {
            assert_eq!(value(&format!("({{o*}}@all>={least})"), states), f64::from(u8::from(own >= least)));
        }
        for least in -3..=3 {
            let said = value(&format!("({{o*}}@all+>={least})"), states);
            assert_eq!(said, f64::from(u8::from(ahead >= least)));
            let denied = value(&format!("(~({{o*}}@all+>={}))", 1 - least), others);
            assert_eq!(said, denied, "who is ahead by {least} is not behind");
        }
    }
    assert!(text::formula("({o*}@all>=-1)").is_err() && text::formula("({o*}@all>=9999999999)").is_err());
}

/// A function that is read as a chance to win depends on how large weights are, and sides still share what there is.
#[test]
fn chances_to_win_depend_on_the_size_of_weights() {
    let checkers = checkers();
    let vocabulary = &checkers.vocabulary;
    let function = |weight: f64| {
        let text = format!("game g\noutput logistic\nphase 0 {{\n  {weight} * ({{o*,O*}}@all+>=1)\n}}\n");
        let function = text::function(&text).expect("it can be read");
        assert_eq!(function.to_string(), text);
        Compiled::new(&function, vocabulary).expect("its names mean something")
    };
    let (small, large) = (function(1.0), function(3.0));
    let mut n_ahead = 0;
    for (passive, active) in checkers.positions.iter().step_by(11) {
        let [own, others] = [passive, active].map(|states| Position::new(vocabulary, states));
        let value = small.evaluate(&own, 0, None);
        assert!((value + small.evaluate(&others, 0, None) - 1.0).abs() < 1e-12);
        if value > 0.5 {
            n_ahead += 1;
            assert!((value - (MARGIN + (1.0 - 2.0 * MARGIN) / (1.0 + (-1f64).exp()))).abs() < 1e-12);
            assert!(large.evaluate(&own, 0, None) > value);
        }
    }
    assert!(n_ahead > 10, "{n_ahead}");
}

#[test]
fn absorption_is_used_and_the_excluded_middle_is_not() {
    let is_or = |meaning: &Meaning| matches!(meaning, Meaning::Or(_));
    assert!(is_or(&simplify(meaning("(({o*}@r1) | (~({o*}@r1)))"))));
    assert_eq!(simplify(meaning("(({o*}@r1) | (({o*}@r1) & ({x*}@r2)))")), meaning("({o*}@r1)"));
    assert_eq!(simplify(meaning("(~(~({o*}@r1)))")), meaning("({o*}@r1)"));
}

#[test]
fn problems_have_a_place() {
    let check = |text: &str, expected: &str| {
        let problem = text::formula(text).expect_err(text);
        assert!(problem.starts_with(expected), "{text}: {problem}");
    };
    check("(({x*}@r1) & ({o*}@r1) | ({n}@r1))", "line 1, column 24: `&` and `|` need parentheses");
    check("({x*}@r1) & ({o*}@r1)", "line 1, column 11: the formula has ended");
    check("({}@r1)", "line 1, column 3: expected a state");
    check("(x1@(1,*))", "line 1, column 5: expected one square");
    assert!(text::function("game g phase 2 { -1 * ({x*}@r1) }").is_err());
    let unknown = text::formula("({y1}@r1)").expect("it can be read");
    assert_eq!(checkers().vocabulary.resolve(&unknown), Err("there is no state `y1`".to_owned()));
}

const HAND_MADE: &str = "game checkers
phase 0 {
  30 * ({O*}@all)
  20 * ({o*}@all)
  20 * (~({O4,O6}@all))
  10 * (~({o4,o6}@all))
  7 * ({o*}@r7)
  6 * ({o*}@r6)
  5 * ({o*}@r5)
  4 * ({o*}@r4)
  3 * ({o*}@r3)
  2 * ({o*}@r2)
  8 * ({o*}@r1)
  1 * ({X4,X6}@all)
  1 * ({x4,x6}@all)
}
phase 12 {
  1 * ((({o*,O*}@all) & (~({x*,X*}@all))) | (o2@(4,4)))
}
phase 20 {
}
";

#[test]
fn functions_weigh_both_views() {
    let checkers = checkers();
    let vocabulary = &checkers.vocabulary;
    let function = text::function(HAND_MADE).expect("it can be read");
    assert_eq!(text::function(&function.to_string()), Ok(function.clone()));
    let compiled = Compiled::new(&function, vocabulary).expect("its names mean something");
    let mut scaled = function.clone();
    scaled.phases.iter_mut().flat_map(|phase| &mut phase.1).for_each(|term| term.0 *= 7.5);
    let scaled = Compiled::new(&scaled, vocabulary).expect("its names mean something");
    let mut random = Pcg64Mcg::new(1);
    for _ in 0..5_000 {
        let (passive, active) = &checkers.positions[random.random_range(0..checkers.positions.len())];
        let phase = vocabulary.phase(passive);
        assert!(phase < vocabulary.n_phases());
        let (one, other) = (Position::new(vocabulary, passive), Position::new(vocabulary, active));
        let value = compiled.evaluate(&one, phase, None);
        assert!((value + compiled.evaluate(&other, phase, None) - 1.0).abs() < 1e-12);
        assert!((MARGIN..=1.0 - MARGIN).contains(&value));
        assert!((scaled.evaluate(&one, phase, None) - value).abs() < 1e-12);
    }
    let first = Position::new(vocabulary, &checkers.first);
    assert_eq!([End::Lost, End::Drawn, End::Won].map(|end| compiled.evaluate(&first, 0, Some(end))), [0.0, 0.5, 1.0]);
    let nothing = text::function("game g phase 0 { 1 * ({X7,O7}@all) }").expect("it can be read");
    assert_eq!(Compiled::new(&nothing, vocabulary).unwrap().evaluate(&first, 0, None), 0.5);
    // Phases without terms use the nearest ones: 20 uses 12; 6 is as near to 0 as to 12.
    assert_eq!(vocabulary.n_phases(), 23);
    assert_eq!(vocabulary.phase(&checkers.first), 0);
    for (phase, same) in [(20, 12), (22, 12), (6, 0), (7, 12), (5, 0)] {
        assert_eq!(compiled.terms(&first, phase, false), compiled.terms(&first, same, false), "{phase}");
    }
    assert_eq!(compiled.terms(&first, 0, false).len(), 13);
    assert_eq!(Compiled::new(&text::function("game g").unwrap(), vocabulary).unwrap().evaluate(&first, 0, None), 0.5);
}

#[test]
fn compiled_functions_have_the_values_of_the_definition() {
    let checkers = checkers();
    let vocabulary = &checkers.vocabulary;
    let function = text::function(HAND_MADE).expect("it can be read");
    let compiled = Compiled::new(&function, vocabulary).expect("its names mean something");
    for (states, flipped) in checkers.positions.iter().step_by(checkers.positions.len() / sized(20_000, 100_000)) {
        let position = Position::new(vocabulary, states);
        for (phase, terms) in function.phases.iter().filter(|phase| !phase.1.is_empty()) {
            let meanings = || terms.iter().map(|(_, formula)| vocabulary.resolve(formula).expect("it has a meaning"));
            let same = |values: Vec<f64>, states: &[StateId]| {
                values.iter().zip(meanings()).all(|(value, meaning)| (value - meaning.value(states)).abs() < 1e-12)
            };
            assert!(same(compiled.terms(&position, *phase, false), states));
            assert!(same(compiled.terms(&position, *phase, true), flipped));
        }
    }
}

#[test]
fn values_and_bounds_hold_in_many_positions() {
    let game = game("checkers");
    let squares = squares(&game);
    let vocabulary = &checkers().vocabulary;
    let compiled = Compiled::new(&text::function(HAND_MADE).expect("it can be read"), vocabulary);
    let compiled = compiled.expect("its names mean something");
    let (n_wanted, mut n_seen, mut states) = (sized(100_000, 1_000_000), 0, Vec::new());
    for seed in 0.. {
        if n_seen >= n_wanted {
            break;
        }
        watch(&game, &squares, 1, seed, |sight, lane, passive| {
            states.clear();
            sight.states(lane, passive, &mut states);
            assert_eq!(vocabulary.cardinalities.exceeded(&states), []);
            let position = Position::new(vocabulary, &states);
            for (phase, flipped) in [(0, false), (0, true), (12, false), (12, true)] {
                assert!(compiled.terms(&position, phase, flipped).iter().all(|value| (0.0..=1.0).contains(value)));
            }
            n_seen += 1;
        });
    }
}

#[test]
fn bounds_can_be_learned() {
    let checkers = checkers();
    let mut learned = Cardinalities {
        states: vec![0; checkers.vocabulary.states.len()],
        ..checkers.vocabulary.cardinalities.clone()
    };
    learned.sets.iter_mut().for_each(|set| set.1 = 0);
    checkers.positions.iter().for_each(|(states, _)| learned.include(states));
    assert!(checkers.positions.iter().all(|(states, _)| learned.exceeded(states).is_empty()));
    // Twelve pieces of each side, and at most 30 empty squares; the bounds of the thesis are wider.
    assert_eq!(learned.sets.iter().map(|set| set.1).collect::<Vec<_>>(), [30, 12, 12, 0]);
    assert!(
        learned.states.iter().zip(&checkers.vocabulary.cardinalities.states).all(|(learned, bound)| learned <= bound)
    );
}
