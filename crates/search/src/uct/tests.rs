use machine::scalar::{self, Scalar};
use machine::{Machine, lanes};

use super::*;
use crate::match_play::{Match, play};
use crate::testing::network;
use crate::{Player, Random as ByChance};

fn uct(game: &str, seed: u64) -> Uct {
    Uct::new(lanes::Compiled::new(network(game)), Settings::default(), seed)
}

fn start(uct: &Uct) -> Box<[u64]> {
    Lanes::new(uct.hands[0].lanes.compiled().clone()).store(0)
}

fn contest(game: &str, players: &mut [&mut dyn Player], playouts: u64) -> Match {
    let mut machine = Scalar::new(scalar::Compiled::new(network(game)));
    play(&mut machine, players, &[], 500, &mut |_, choose| choose(&Limit::nodes(playouts)))
}

#[test]
fn tic_tac_toe_is_never_lost() {
    let (mut one, mut other) = (uct("tic-tac-toe", 1), uct("tic-tac-toe", 2));
    for _ in 0..4 {
        let played = contest("tic-tac-toe", &mut [&mut one, &mut other], 5_000);
        assert_eq!(played.goals, [Some(50), Some(50)]);
    }
    let mut chance = ByChance::new(scalar::Compiled::new(network("tic-tac-toe")), 3);
    for _ in 0..20 {
        assert!(contest("tic-tac-toe", &mut [&mut one, &mut chance], 2_000).goals[0] >= Some(50));
        assert!(contest("tic-tac-toe", &mut [&mut chance, &mut one], 2_000).goals[1] >= Some(50));
    }
}

/// The first move that theory asks for.
#[test]
fn connect_four_is_opened_in_the_centre() {
    for seed in 1..4 {
        let mut player = uct("connect-four", seed);
        let answer = player.choose(&start(&player), machine::RoleId(0), &Limit::nodes(20_000));
        let network = network("connect-four");
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "(drop 4)", "seed {seed}");
    }
}

/// With enough playouts the whole game is in the tree, and its value is exact.
#[test]
fn tic_tac_toe_is_a_draw() {
    let mut player = uct("tic-tac-toe", 5);
    let answer = player.search(&start(&player), &Limit::nodes(1_000_000));
    assert!(answer.proven, "{answer:?}");
    assert_eq!(answer.values, [0.5, 0.5]);
    assert_eq!(answer.stop, StopReason::Solved);
}

/// What is proven in the tree is what alpha-beta finds, wherever one looks.
#[test]
fn proven_values_are_right() {
    for (game, plies) in [("tic-tac-toe", 3), ("connect-3-4x4", 7), ("tic-tac-toe-inverted", 4)] {
        let network = network(game);
        let compiled = lanes::Compiled::new(network.clone());
        let nature = Arc::new(crate::Nature::new(&compiled, 1));
        let position = Scalar::new(scalar::Compiled::new(network));
        let settings = crate::alpha_beta::Settings { bytes: 1 << 20, ..Default::default() };
        let mut exact = crate::AlphaBeta::new(position, nature, settings, 1);
        let mut chance = Lanes::new(compiled.clone());
        let mut random = Random::new(11);
        for _ in 0..plies {
            chance.evaluate();
            (0..2).for_each(|role| {
                chance.choose(&mut random, RoleId(role));
            });
            chance.advance();
        }
        let mut player = Uct::new(compiled.clone(), Settings::default(), 3);
        let mut n_compared = 0;
        for lane in 0..40 {
            let state = chance.store(lane);
            if chance.is_terminal(&state).expect("there is no budget") {
                continue;
            }
            let found = player.search(&state, &Limit::nodes(100_000));
            let role = found.moves.iter().position(|moves| moves.len() > 1);
            let Some(role) = role else { continue };
            let expected = exact.search(&state, RoleId(role as u32), &Limit::nodes(1_000_000));
            assert!(found.proven && expected.proven, "{game}");
            assert_eq!(found.values[role], expected.values[role], "{game}");
            n_compared += 1;
        }
        assert!(n_compared > 10, "{game}: {n_compared}");
    }
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let search = |seed| {
        let mut player = uct("connect-four", seed);
        player.search(&start(&player), &Limit::nodes(3_000))
    };
    assert_eq!(search(1), search(1));
    assert_ne!(search(1), search(2));
}

#[test]
fn nim_is_won() {
    let mut player = uct("nim-5", 1);
    let mut chance = ByChance::new(scalar::Compiled::new(network("nim-5")), 3);
    let answer = player.search(&start(&player), &Limit::nodes(1_000_000));
    assert!(answer.proven, "{:?}", answer.values);
    let winner = answer.values.iter().position(|&value| value == 1.0).expect("somebody wins");
    for _ in 0..5 {
        let mut players: [&mut dyn Player; 2] = [&mut player, &mut chance];
        players.rotate_right(winner);
        assert_eq!(contest("nim-5", &mut players, 20_000).goals[winner], Some(100));
    }
}

/// What it plays for one role alone is at least as good as the best match that it met.
#[test]
fn a_single_role_keeps_the_best_match() {
    for (game, least) in [("buttons-and-lights", 100), ("water-jugs", 100), ("peg", 1), ("hamilton", 50)] {
        let mut player = uct(game, 1);
        let found = player.search(&start(&player), &Limit::nodes(3_000)).values[0];
        player.begin();
        let played = contest(game, &mut [&mut player], 3_000);
        let goal = played.goals[0].expect("it has a result");
        assert!(goal >= least, "{game}: {goal}, searched {found}");
    }
}

/// In a game of simultaneous moves where one move is better whatever the other does, both find it.
#[test]
fn dominant_moves_are_found_at_the_same_time() {
    let mut player = uct("prisoners-dilemma", 1);
    let answer = player.search(&start(&player), &Limit::nodes(20_000));
    assert_eq!(answer.joint.len(), 2);
    assert_eq!(answer.moves[0].len(), 2);
}

/// The tree that is kept says about the new state what it said about it before.
#[test]
fn the_tree_is_kept() {
    let mut player = uct("tic-tac-toe", 1);
    let answer = player.search(&start(&player), &Limit::nodes(2_000));
    let first = answer.moves[0][0].clone();
    let state = start(&player);
    let next = player.hands[0].lanes.successors(&[(&state, &answer.joint)]).remove(0);
    player.go_to(&next);
    // The node was made by the first playout through the move, and met by all others.
    assert_eq!(u64::from(player.found.tree.nodes[0].n), first.visits);
    let again = player.search(&next, &Limit::nodes(1));
    assert!(again.moves[1].iter().map(|report| report.visits).sum::<u64>() >= first.visits - 1);
}

/// Threads that share a tree lose nothing and leave nothing behind, and find what one finds.
#[test]
fn threads_share_a_tree() {
    let helped = |game: &str, seed| uct(game, seed).on_threads(3);
    for seed in 1..4 {
        let mut player = helped("connect-four", seed);
        let answer = player.choose(&start(&player), machine::RoleId(0), &Limit::nodes(20_000));
        let network = network("connect-four");
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "(drop 4)", "seed {seed}");
        // Ways that end at an exact result may come on top.
        assert!((20_000..20_500).contains(&answer.playouts) && answer.stop == StopReason::Nodes, "{}", answer.playouts);
        let tree = &player.found.tree;
        assert_eq!(u64::from(tree.nodes[0].n), answer.playouts);
        assert_eq!(answer.moves[0].iter().map(|report| report.visits).sum::<u64>(), answer.playouts);
        assert!(tree.nodes.iter().all(|node| node.pending == 0) && tree.arms.iter().all(|arm| arm.pending == 0));
    }
    let mut player = helped("tic-tac-toe", 5);
    let answer = player.search(&start(&player), &Limit::nodes(20_000_000));
    assert_eq!((answer.values.as_slice(), answer.stop), (&[0.5, 0.5][..], StopReason::Solved));
    // Alone, the best match counts, whichever thread meets it.
    let mut player = helped("eight-puzzle", 5);
    let answer = player.search(&start(&player), &Limit::nodes(20_000));
    let mut machine = Scalar::new(scalar::Compiled::new(network("eight-puzzle")));
    answer.line.iter().for_each(|joint| machine.make(joint));
    assert!(machine.terminal());
    assert_eq!(machine.goal(machine::RoleId(0)).map(|goal| goal as f32 / 100.0), Some(answer.values[0]));
}

/// Hints from moves that were made later make up for few playouts where it matters more what is done than when.
#[test]
fn hints_win_matches() {
    let mut points = 0;
    for number in 0..4 {
        let mut hinted = Uct::new(lanes::Compiled::new(network("gomoku")), Settings::strongest(), number);
        let mut plain = uct("gomoku", number);
        let mut players: [&mut dyn Player; 2] = [&mut hinted, &mut plain];
        let seat = number as usize % 2;
        players.rotate_left(seat);
        points += contest("gomoku", &mut players, 1_500).goals[seat].expect("it ends");
    }
    assert!(points >= 300, "{points} of 400");
}
