use std::sync::Arc;

use insight::sample;
use insight::structure;
use insight::universe::survey;

use super::*;
use crate::random::legal_moves;
use crate::testing::program;

fn fuzzy(game: &str, settings: Settings) -> Fuzzy {
    let program = Arc::new(program(game));
    let (universe, circuit) = survey(&program, &gdl::ground::Budget::default()).expect("it has a network");
    let budget = sample::Budget { rounds: 1, ..sample::Budget::default() };
    let samples = sample::play(&universe, &circuit, &budget, 1);
    let structure = structure::find(&universe, Some(&circuit), &samples, &insight::prove::Budget::default());
    let ground = circuit.ground.clone().expect("it is small");
    let compiled = Compiled::new(&ground, &universe, &circuit, Some(&structure));
    Fuzzy::new(scalar::Compiled::new(circuit.network.clone()), Arc::new(compiled), settings)
}

fn play(position: &mut Fuzzy, moves: &[&str]) {
    for name in moves {
        let network = position.machine.network();
        let legal = legal_moves(&position.machine);
        let named = |moves: &Vec<u32>| {
            let found = moves.iter().find(|&&chosen| network.name(network.moves[chosen as usize]) == *name);
            *found.unwrap_or(&moves[0])
        };
        let joint: Vec<u32> = legal.iter().map(named).collect();
        position.make(&joint);
    }
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

/// Values worked out by hand from the formulas: a row without a mark is 1 − 0.75 · 3^(1/25) = 0.21628, and the eight of them
/// together are 0.21628 · 8^(1/25) = 0.23507.
#[test]
fn tic_tac_toe_at_the_start() {
    let mut position = fuzzy("tic-tac-toe", Settings::default());
    let goals = position.goals(RoleId(0));
    let truth = |value| goals.iter().find(|goal| goal.0 == value).expect("it has the goal").1;
    near(truth(100), 0.235_068_071_708);
    near(truth(0), 0.235_068_071_708);
    near(truth(50), 0.181_099_825_290);
    near(position.terminal(), 0.241_683_850_484);
    near(f64::from(position.estimate(RoleId(0))), 0.217_078_66);
    assert_eq!(position.estimate(RoleId(0)), position.estimate(RoleId(1)));
}

/// Two marks in a column; the other side's two have the centre and more open lines. Then a finished row.
#[test]
fn tic_tac_toe_later() {
    let mut position = fuzzy("tic-tac-toe", Settings::default());
    play(&mut position, &["(mark 1 1)", "(mark 1 2)", "(mark 2 1)", "(mark 2 2)"]);
    near(position.goals(RoleId(0)).iter().find(|goal| goal.0 == 100).expect("a goal").1, 0.253_664_063_711);
    near(position.goals(RoleId(1)).iter().find(|goal| goal.0 == 100).expect("a goal").1, 0.254_238_389_691);
    near(f64::from(position.estimate(RoleId(0))), 0.235_818_97);
    let mut position = fuzzy("tic-tac-toe", Settings::default());
    play(&mut position, &["(mark 1 1)", "(mark 2 1)", "(mark 1 2)", "(mark 2 2)", "(mark 1 3)"]);
    let goal = position.goals(RoleId(0)).into_iter().find(|goal| goal.0 == 100).expect("a goal");
    near(goal.1, 0.738_768_912_214);
    assert!(goal.2);
    near(f64::from(position.estimate(RoleId(0))), 0.553_560_51);
}

/// What is kept up to date step by step is what is found anew; and a goal is said to hold exactly where it does.
#[test]
fn updates_agree_with_a_new_start() {
    let mut seed = 5u64;
    for game in ["tic-tac-toe", "breakthrough-6x6", "hallway", "hex-5", "eight-puzzle"] {
        let (mut one, mut other) = (fuzzy(game, Settings::default()), fuzzy(game, Settings::default()));
        for _ in 0..12 {
            if one.machine.terminal() {
                break;
            }
            let joint: Vec<u32> = legal_moves(&one.machine)
                .iter()
                .map(|moves| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                    moves[(seed >> 33) as usize % moves.len()]
                })
                .collect();
            one.make(&joint);
            let state = one.machine.bits().to_vec();
            other.machine.jump(&state);
            other.judged = None;
            other.dirty.fill(true);
            for role in (0..one.machine.network().roles.len() as u32).map(RoleId) {
                assert_eq!(one.estimate(role), other.estimate(role), "{game}");
                assert!((0.0..=1.0).contains(&one.estimate(role)));
                let held: Vec<i64> = one.goals(role).into_iter().filter(|goal| goal.2).map(|goal| goal.0).collect();
                let expected = one.machine.goal(role);
                assert_eq!(held.first().copied().filter(|_| held.len() == 1), expected, "{game}");
            }
        }
    }
}

/// Where pieces are ordered, one that comes nearer to its goal is worth more; without distances it is not.
#[test]
fn distances_show_the_way() {
    let mut gained = 0;
    for distances in [true, false] {
        let mut position = fuzzy("breakthrough-6x6", Settings { distances, ..Settings::default() });
        let before = position.estimate(RoleId(0));
        let joint: Vec<u32> = legal_moves(&position.machine).iter().map(|moves| moves[0]).collect();
        position.make(&joint);
        gained += i32::from(position.estimate(RoleId(0)) > before);
    }
    assert_eq!(gained, 1);
}
