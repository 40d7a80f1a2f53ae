use std::sync::Arc;

use machine::RoleId;
use machine::lanes::{Compiled, Lanes};

use super::*;
use crate::testing::{network, of_rules};

/// Knows nothing.
struct Even(usize);

impl Evaluate for Even {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        values.resize(values.len() + states.len() * self.0, 0.5);
    }
}

fn player(name: &str, seed: u64) -> (BestFirst, Box<[u64]>) {
    let network = network(name);
    let compiled = Compiled::new(network.clone());
    let state = Lanes::new(compiled.clone()).store(0);
    let even = Box::new(Even(network.roles.len()));
    (BestFirst::new(compiled, even, Settings::default(), seed), state)
}

#[test]
fn small_games_are_solved() {
    for (name, value) in [("tic-tac-toe", 0.5), ("connect-3-3x3", 0.5), ("nim-5", 1.0)] {
        let (mut player, state) = player(name, 1);
        let answer = player.search(&state, RoleId(0), &Limit::nodes(5_000_000));
        assert_eq!(answer.stop, StopReason::Solved, "{name}");
        assert!(answer.proven && answer.values[0] == value, "{name}: {:?}", answer.values);
    }
}

/// The same seed and limit give the same answer, a tiny limit gives a legal move, and limits are kept to within what one
/// state leads to.
#[test]
fn answers_repeat_and_limits_are_kept() {
    for (name, nodes) in [("connect-four", 1), ("connect-four", 700), ("breakthrough-6x6", 300), ("tron-6x6", 500)] {
        let (mut one, state) = player(name, 7);
        let (mut other, _) = player(name, 7);
        let answer = one.search(&state, RoleId(0), &Limit::nodes(nodes));
        assert_eq!(answer, other.search(&state, RoleId(0), &Limit::nodes(nodes)), "{name}");
        assert!(answer.nodes < nodes + 200, "{name}: {}", answer.nodes);
        assert!(answer.judged > 0 && answer.judged <= answer.nodes, "{name}: {answer:?}");
        assert!(answer.opened < answer.judged && (nodes == 1) == (answer.opened == 0), "{name}: {answer:?}");
        let network = network(name);
        let mut fan = Fan::new(Compiled::new(Arc::clone(&network)));
        fan.look(&[&state], &mut Vec::new());
        assert!(fan.legal(0)[0].contains(&answer.joint[0]), "{name}");
    }
}

/// What follows from a state is taken over: nothing is judged twice.
#[test]
fn the_tree_is_kept() {
    let (mut player, state) = player("connect-four", 3);
    let first = player.search(&state, RoleId(0), &Limit::nodes(2_000));
    let mut next = Vec::new();
    player.fan.follow([(&state[..], &first.joint[..])], &mut next, &mut Vec::new());
    let visits = first.moves[0][0].visits;
    player.search(&next, RoleId(1), &Limit::nodes(0));
    assert_eq!(u64::from(player.tree.nodes[0].n), visits);
    assert!(visits > 10, "{visits}");
}

/// Even without time there is a move.
#[test]
fn there_is_always_a_move() {
    let (mut player, state) = player("connect-four", 3);
    let answer = player.search(&state, RoleId(0), &Limit { nodes: 0, stop: &|| true });
    assert_eq!((answer.joint.len(), answer.stop), (2, StopReason::Nodes));
}

/// Each side can make sure of half in a game of guessing, by mixing.
#[test]
fn guesses_are_mixed() {
    let (mut player, state) = player("matching-pennies", 1);
    let answers: Vec<u32> = (0..40).map(|_| player.search(&state, RoleId(0), &Limit::nodes(20)).joint[0]).collect();
    let n_first = answers.iter().filter(|&&chosen| chosen == answers[0]).count();
    assert!((5..36).contains(&n_first), "{n_first} of 40");
}

/// Both moves come to a draw if the other answers well; after the second one there are more ways to answer badly.
#[test]
fn draws_are_played_for_mistakes() {
    let rules = b"(role me) (role you) (init (at start))
        (reply 1) (reply 2) (reply 3) (good plain 1) (good plain 2) (good plain 3) (good trap 2)
        (<= (legal me plain) (true (at start))) (<= (legal me trap) (true (at start)))
        (<= (legal you wait) (true (at start)))
        (<= (legal me wait) (true (at ?x)) (distinct ?x start))
        (<= (legal you (reply ?n)) (true (at ?x)) (distinct ?x start) (reply ?n))
        (<= (next (at ?x)) (does me ?x) (true (at start)))
        (<= (next (over ?x ?n)) (true (at ?x)) (does you (reply ?n)))
        (<= done (true (over ?x ?n))) (<= terminal done)
        (<= even (true (over ?x ?n)) (good ?x ?n))
        (<= (goal me 50) even) (<= (goal you 50) even)
        (<= (goal me 100) done (not even)) (<= (goal you 0) done (not even))";
    let network = of_rules(rules);
    let compiled = Compiled::new(network.clone());
    let state = Lanes::new(compiled.clone()).store(0);
    for seed in 0..8 {
        let even = Box::new(Even(2));
        let mut player = BestFirst::new(compiled.clone(), even, Settings::default(), seed);
        let answer = player.search(&state, RoleId(0), &Limit::nodes(1_000));
        assert!(answer.proven && answer.values == [0.5, 0.5], "{answer:?}");
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "trap");
    }
}
