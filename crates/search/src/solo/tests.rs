use machine::lanes::Compiled;
use machine::scalar::{self, Scalar};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

use super::*;
use crate::random::legal_moves;
use crate::testing::{network, of_rules};

fn player(game: &str, settings: Settings) -> (Solo, Scalar) {
    of_network(network(game), settings, 1)
}

fn of_network(network: Arc<machine::network::Network>, settings: Settings, seed: u64) -> (Solo, Scalar) {
    let player = Solo::new(&Compiled::new(network.clone()), settings, seed);
    (player, Scalar::new(scalar::Compiled::new(network)))
}

/// Plays a match with so many nodes for a move: the result, the moves, and the nodes in all.
fn play(player: &mut Solo, machine: &mut Scalar, nodes: u64) -> (Option<i64>, usize, u64) {
    let initial = machine.compiled().initial().to_vec();
    machine.jump(&initial);
    player.begin();
    let (mut n_moves, mut n_nodes) = (0, 0);
    while !machine.terminal() && n_moves < 500 {
        let legal = legal_moves(machine);
        if legal[0].is_empty() {
            break;
        }
        let answer = player.choose(machine.bits(), RoleId(0), &Limit::nodes(nodes));
        assert!(answer.nodes <= nodes && legal[0].contains(&answer.joint[0]));
        machine.make(&answer.joint);
        n_moves += 1;
        n_nodes += answer.nodes;
    }
    (machine.goal(RoleId(0)), n_moves, n_nodes)
}

/// Each game with a bound on the nodes.
const SOLVED: [(&str, u64); 18] = [
    ("asteroids", 100_000),
    ("blocks-world", 5_000),
    ("buttons-and-lights", 1_000),
    ("circle-solitaire", 5_000),
    ("eight-puzzle", 150_000),
    ("hamilton", 10_000),
    ("hanoi", 10_000),
    ("incredible", 50_000),
    ("knightmove", 200_000),
    ("knights-swap", 10_000),
    ("knights-tour-5x5", 50_000),
    ("lights-out-5x5", 2_000_000),
    ("maze", 10_000),
    ("peg", 800_000),
    ("queens-8", 100_000),
    ("sokoban-mini", 10_000),
    ("sudoku-4x4", 20_000),
    ("water-jugs", 1_000),
];

#[test]
fn library_games_are_solved() {
    for (game, nodes) in SOLVED {
        let (mut player, machine) = player(game, Settings::default());
        let answer = player.search(machine.bits(), &Limit::nodes(nodes));
        assert_eq!((answer.values[0], answer.proven), (1.0, true), "{game}: {} nodes", answer.nodes);
        // The line is legal and ends as it is said to.
        let mut machine = machine;
        for joint in &answer.line {
            assert!(!machine.terminal() && legal_moves(&machine)[0].contains(&joint[0]), "{game}");
            machine.make(joint);
        }
        assert_eq!((machine.terminal(), machine.goal(RoleId(0))), (true, Some(100)), "{game}");
    }
}

/// A line that was found is played without another thought.
#[test]
fn a_plan_is_kept() {
    let (mut player, mut machine) = player("hanoi", Settings::default());
    let (result, n_moves, n_nodes) = play(&mut player, &mut machine, 100_000);
    assert_eq!(result, Some(100));
    let first = {
        let initial = machine.compiled().initial().to_vec();
        machine.jump(&initial);
        player.begin();
        player.choose(machine.bits(), RoleId(0), &Limit::nodes(100_000))
    };
    assert_eq!((first.nodes, first.line.len()), (n_nodes, n_moves));
}

/// What is found for one move is of use for the next: many small searches find what one large one would.
#[test]
fn searches_go_on_between_moves() {
    for (game, nodes) in [("eight-puzzle", 2_000), ("asteroids", 2_000), ("sokoban-mini", 300), ("maze", 100)] {
        let (mut player, mut machine) = player(game, Settings::default());
        assert_eq!(play(&mut player, &mut machine, nodes).0, Some(100), "{game}");
    }
}

/// A line that is known from elsewhere is played in every match; one that can't be played is not.
#[test]
fn known_lines_are_played() {
    let (mut solver, mut machine) = player("peg", Settings::default());
    let initial = machine.bits().to_vec();
    let line: Vec<u32> = solver.search(&initial, &Limit::nodes(800_000)).line.concat();
    let mut knowing = player("peg", Settings::default()).0.knowing(&initial, &line);
    for _ in 0..2 {
        assert_eq!(play(&mut knowing, &mut machine, 0), (Some(100), line.len(), 0));
    }
    assert!(player("peg", Settings::default()).0.knowing(&initial, &line[1..]).known.is_none());
}

/// With hardly any time, moves are legal and the match goes on.
#[test]
fn tiny_limits_give_legal_moves() {
    for game in ["peg", "eight-puzzle", "queens-8", "hanoi", "lights-out-5x5"] {
        for nodes in [0, 1, 7] {
            let (mut player, mut machine) = player(game, Settings::default());
            let (_, n_moves, _) = play(&mut player, &mut machine, nodes);
            assert!(n_moves > 0);
        }
        let (mut player, machine) = player(game, Settings::default());
        let answer = player.search(machine.bits(), &Limit { nodes: u64::MAX, stop: &|| true });
        assert_eq!((answer.stop, answer.nodes), (StopReason::Stopped, 0));
        assert!(legal_moves(&machine)[0].contains(&answer.joint[0]));
    }
}

/// The same seed and the same nodes give the same answer.
#[test]
fn answers_are_repeatable() {
    let answer = || {
        let (mut player, machine) = player("peg", Settings::default());
        player.search(machine.bits(), &Limit::nodes(20_000))
    };
    assert_eq!(answer(), answer());
}

/// A light can be switched at will and nothing comes of it: 2^40 states, in circles. Memory stays within its bounds.
#[test]
fn memory_is_bounded() {
    let lights: String = (0..40).map(|light| format!("(light {light})")).collect();
    let rules = format!(
        "(role me) {lights} (<= (legal me (switch ?x)) (light ?x))
        (<= (next (on ?x)) (true (on ?x)) (not (does me (switch ?x))))
        (<= (next (on ?x)) (does me (switch ?x)) (not (true (on ?x))))
        (<= (init (on ?x)) (light ?x))
        (<= dark (light ?x) (not (true (on ?x))))
        (<= lit (light ?x) (true (on ?x)))
        (<= terminal (not lit)) (<= (goal me 0) dark) (<= (goal me 100) (not dark))"
    );
    let settings = Settings { bytes: 1 << 20, ..Settings::default() };
    let (mut player, machine) = of_network(of_rules(rules.as_bytes()), settings, 1);
    let mut state = machine.bits().to_vec();
    for _ in 0..3 {
        let answer = player.search(&state, &Limit::nodes(60_000));
        assert!(!answer.proven && answer.nodes == 60_000);
        assert!(
            answer.judged > 0 && answer.judged <= answer.nodes && answer.opened > 0 && answer.opened <= answer.nodes
        );
        // One batch of states may come on top.
        let bytes: usize = player.trees.iter().map(Tree::bytes).sum();
        assert!(bytes < 2 << 20, "{bytes}");
        let mut machine = Scalar::new(machine.compiled().clone());
        machine.jump(&state);
        machine.make(&answer.joint);
        state = machine.bits().to_vec();
    }
}

/// The best result from a state, by looking at every line; states are not repeated on a line.
fn brute_force(machine: &mut Scalar, known: &mut FxHashMap<u128, Option<i64>>) -> Option<i64> {
    if let Some(&value) = known.get(&machine.hash()) {
        return value;
    }
    if machine.terminal() {
        return machine.goal(RoleId(0));
    }
    // All states that can be reached are looked at once; so the answer is right for the first one alone.
    known.insert(machine.hash(), None);
    let mut best = None;
    for chosen in legal_moves(machine).remove(0) {
        machine.make(&[chosen]);
        best = best.max(brute_force(machine, known));
        machine.unmake();
    }
    best
}

/// A walk on a graph. Places may be ends with results; there may be a clock that ends the match, and then the place counts, if
/// the time is right.
fn walk(edges: &[(u8, u8, u8)], goals: &[u8], ends: &[bool], clock: Option<u8>) -> String {
    let mut rules = "(role me) (init (at 0)) (<= (legal me ?m) (true (at ?x)) (edge ?x ?m ?y))
        (<= (next (at ?y)) (does me ?m) (true (at ?x)) (edge ?x ?m ?y))
        (<= terminal (true (at ?x)) (end ?x))"
        .to_owned();
    let mut seen = std::collections::BTreeSet::new();
    for (place, &goal) in goals.iter().enumerate() {
        rules += &format!("(<= (goal me {goal}) (true (at {place})))");
        rules += &if ends[place] { format!("(end {place})") } else { String::new() };
        // No place is without a move.
        rules += &format!("(edge {place} stay {place})");
    }
    for &(from, chosen, to) in edges {
        let (from, to) = (usize::from(from) % goals.len(), usize::from(to) % goals.len());
        if seen.insert((from, chosen)) {
            rules += &format!("(edge {from} m{chosen} {to})");
        }
    }
    if let Some(last) = clock {
        rules += "(init (step 0)) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))";
        rules += &(0..last).map(|step| format!("(succ {step} {})", step + 1)).collect::<String>();
        rules += &format!("(<= terminal (true (step {last})))");
    }
    rules
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Small games are searched to their ends, and what is said to be the best result is.
    #[test]
    fn agrees_with_brute_force(
        edges in prop::collection::vec((0u8..10, 0u8..3, 0u8..10), 4..30),
        places in prop::collection::vec((0u8..=100, prop::bool::weighted(0.3)), 3..10),
        clock in prop::option::of(1u8..12),
        seed in 0u64..100,
    ) {
        let (goals, mut ends): (Vec<u8>, Vec<bool>) = places.into_iter().unzip();
        ends[0] = false;
        let network = of_rules(walk(&edges, &goals, &ends, clock).as_bytes());
        prop_assume!(network.goals.len() > 1);
        let (mut player, mut machine) = of_network(network, Settings::default(), seed);
        prop_assume!(!machine.terminal());
        let expected = brute_force(&mut machine, &mut FxHashMap::default());
        let answer = player.search(machine.bits(), &Limit::nodes(100_000));
        prop_assert_eq!(answer.proven, expected.is_some());
        match expected {
            Some(expected) => prop_assert_eq!((answer.values[0] * 100.0).round() as i64, expected),
            None => prop_assert!(player.best.is_none()),
        }
    }

    /// Plays of such games end with what was promised, also where thinking is cut up between the moves.
    #[test]
    fn matches_end_as_promised(
        edges in prop::collection::vec((0u8..10, 0u8..3, 0u8..10), 4..30),
        goals in prop::collection::vec(0u8..=100, 3..10),
        last in 2u8..12,
        nodes in 1u64..2_000,
    ) {
        let ends = vec![false; goals.len()];
        let network = of_rules(walk(&edges, &goals, &ends, Some(last)).as_bytes());
        prop_assume!(network.goals.len() > 1);
        let (mut player, mut machine) = of_network(network, Settings::default(), 1);
        prop_assume!(!machine.terminal());
        let expected = brute_force(&mut machine, &mut FxHashMap::default());
        let (found, n_moves, _) = play(&mut player, &mut machine, nodes);
        prop_assert_eq!(n_moves, usize::from(last));
        prop_assert!(found <= expected);
        prop_assert!(nodes < 1_000 || found == expected, "{:?} of {:?}", found, expected);
    }
}
