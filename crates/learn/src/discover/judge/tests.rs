use features::game::Game;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::Position;

use super::*;
use crate::discover::{field, hand_made};

fn field() -> Field {
    let text = std::fs::read("../../games/checkers/rules.kif").expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read("checkers", &text).program, 1).expect("it has a network"));
    let settings = field::Settings { matches: 64, ..field::Settings::default() };
    Field::new(game, &settings).expect("a game for two with a board")
}

/// Values worked out by hand. At first each side has all men, on its first three ranks, none in danger: 20 + 20 + 10 + 2 + 3 + 8
/// with weights, 6 without.
#[test]
fn hand_made_functions_have_the_values_worked_out_by_hand() {
    let field = field();
    let compiled = scalar::Compiled::new(field.game.circuit.network.clone());
    let (weighted, uniform) = (hand_made::weighted(&field).unwrap(), hand_made::uniform(&field).unwrap());
    let mut judges = [&weighted, &uniform].map(|brain| Judge::new(&field, compiled.clone(), brain));
    let network = field.game.circuit.network.clone();
    let role = |name: &str| network.roles.iter().position(|role| role == name).unwrap();
    let (red, white) = (role("red"), role("white"));
    let chosen = |role: usize, name: &str| {
        let named = |&chosen: &u32| network.name(network.moves[chosen as usize]) == name;
        network.moves_of[role].clone().find(named).unwrap_or_else(|| panic!("no move {name}"))
    };
    let mut check = |made: Option<(usize, &str)>, own: [f64; 2], others: [f64; 2]| {
        for (judge, (own, others)) in judges.iter_mut().zip(own.into_iter().zip(others)) {
            if let Some((mover, name)) = made {
                let mut joint = [0, 1].map(|role| chosen(role, "noop"));
                joint[mover] = chosen(mover, name);
                judge.make(&joint);
            }
            let [one, other] = [red, white].map(|role| judge.estimate(RoleId(role as u32)));
            assert_eq!(one + other, 1.0);
            let expected = 0.01 + 0.98 * own / (own + others);
            assert!((f64::from(one) - expected).abs() < 1e-6, "{made:?}: {one} instead of {expected}");
        }
    };
    check(None, [63.0, 6.0], [63.0, 6.0]);
    // A man of red's third rank is on its fourth.
    check(Some((red, "(move 3 3 2 4)")), [63.25, 6.0], [63.0, 6.0]);
    // Now one of white's, too; it can be jumped and can't jump.
    let part = 1.0 / 12.0;
    check(Some((white, "(move 4 6 3 5)")), [63.25 + part, 6.0 + part], [63.25 - 10.0 * part, 6.0 - part]);
    // It was jumped: white has a man less, and red's man, now on its sixth rank, can be jumped.
    let red_sums = [20.0 + 20.0 + 110.0 * part + 8.0 + 2.0 + 2.25 + 1.5, 5.0 + 11.0 * part];
    let white_sums = [220.0 * part + 20.0 + 10.0 + 8.0 + 2.0 + 2.25 + part, 5.75];
    check(Some((red, "(jump 2 4 4 6)")), red_sums, white_sums);
}

/// What is said of a state does not depend on what it was looked at with.
#[test]
fn opinions_do_not_depend_on_siblings() {
    let field = field();
    let compiled = scalar::Compiled::new(field.game.circuit.network.clone());
    let brain = hand_made::weighted(&field).unwrap();
    let (mut walker, mut jumper) =
        (Judge::new(&field, compiled.clone(), &brain), Judge::new(&field, compiled.clone(), &brain));
    let mut random = Pcg64Mcg::seed_from_u64(4);
    let mut n_different = 0;
    for _ in 0..10 {
        walker.jump(compiled.initial());
        while !walker.machine().terminal() {
            let legal = legal_moves(walker.machine());
            let joint: Vec<u32> = legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
            walker.make(&joint);
            jumper.jump(walker.machine().bits());
            let said = walker.estimate(RoleId(0));
            assert_eq!(said, jumper.estimate(RoleId(0)));
            assert_eq!(1.0 - said, walker.estimate(RoleId(1)));
            n_different += u32::from(said != 0.5);
        }
    }
    assert!(n_different > 300, "{n_different}");
}
