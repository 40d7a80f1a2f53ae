use std::sync::Arc;

use machine::lanes;
use machine::network::Network;
use machine::scalar::{Compiled, Scalar};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;

use super::*;
use crate::alpha_beta::{self, AlphaBeta};
use crate::best_first::{self, BestFirst};
use crate::nature::Nature;
use crate::random::legal_moves;
use crate::testing::{of_rules, program};

const METHODS: [Method; 2] = [Method::DepthFirst, Method::ProofNumber];

/// A solver of a library game, with its symmetries.
fn solver(game: &str, role: u32, method: Method) -> Solver {
    let ground = gdl::ground::ground(&program(game), &Default::default()).expect("it can be grounded");
    let network = Arc::new(machine::network::build(ground.clone(), &gdl::Stop::never()).expect("it has a network"));
    let compiled = Compiled::new(network.clone());
    let keys = Keys::symmetric(&ground, &network, &compiled, 1);
    Solver::new(Scalar::new(compiled), keys, RoleId(role), &Settings { method, bytes: 4 << 20 })
}

fn of_network(network: Arc<Network>, role: u32, method: Method) -> Solver {
    let machine = Scalar::new(Compiled::new(network));
    Solver::new(machine, Keys::default(), RoleId(role), &Settings { method, bytes: 1 << 16 })
}

/// What a role can be sure of, by looking at everything.
fn brute_force(machine: &mut Scalar, role: RoleId, known: &mut FxHashMap<u128, i64>) -> i64 {
    if let Some(&value) = known.get(&machine.hash()) {
        return value;
    }
    let value = if machine.terminal() {
        machine.goal(role).expect("the rules give one")
    } else {
        let legal = legal_moves(machine);
        let chooser = legal.iter().position(|moves| moves.len() > 1).unwrap_or(0);
        let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
        let mut values = Vec::new();
        for &chosen in &legal[chooser] {
            joint[chooser] = chosen;
            machine.make(&joint);
            values.push(brute_force(machine, role, known));
            machine.unmake();
        }
        let values = values.into_iter();
        let best = if chooser == role.0 as usize { values.max() } else { values.min() };
        best.expect("there is a move")
    };
    known.insert(machine.hash(), value);
    value
}

/// States after a few random moves, from which the match goes on.
fn states(machine: &mut Scalar, n: usize, plies: std::ops::Range<usize>, seed: u64) -> Vec<Vec<u64>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let compiled = machine.compiled().clone();
    let mut states = Vec::new();
    while states.len() < n {
        machine.jump(compiled.initial());
        for _ in 0..random.random_range(plies.clone()) {
            if !machine.terminal() {
                let joint = |moves: &Vec<u32>| moves[random.random_range(0..moves.len())];
                let joint: Vec<u32> = legal_moves(machine).iter().map(joint).collect();
                machine.make(&joint);
            }
        }
        if !machine.terminal() {
            states.push(machine.bits().to_vec());
        }
    }
    states
}

/// Both methods find what looking at everything finds, for both roles, and the line they give leads to that result.
fn agrees(game: &str, n: usize, plies: std::ops::Range<usize>) {
    for (role, method) in [(0, METHODS[0]), (0, METHODS[1]), (1, METHODS[0]), (1, METHODS[1])] {
        let mut solver = solver(game, role, method);
        let mut machine = Scalar::new(solver.machine.compiled().clone());
        let mut known = FxHashMap::default();
        for state in states(&mut machine, n, plies.clone(), 5) {
            machine.jump(&state);
            let expected = brute_force(&mut machine, RoleId(role), &mut known);
            let solution = solver.solve(&state, &Limit::nodes(5_000_000));
            assert_eq!(solution.value(), Some(expected), "{game}, {method:?}: {solution:?}");
            machine.jump(&state);
            solution.line.iter().for_each(|joint| machine.make(joint));
            assert!(machine.terminal(), "{game}: {:?}", solution.line);
            assert_eq!(machine.goal(RoleId(role)), Some(expected), "{game}");
        }
    }
}

#[test]
fn equals_brute_force() {
    agrees("tic-tac-toe", 30, 0..7);
    agrees("tic-tac-toe-inverted", 20, 0..7);
    agrees("nim-5", 10, 0..3);
    agrees("connect-3-3x3", 20, 0..6);
    agrees("connect-3-4x4", 10, 5..10);
    agrees("minichess-3x3", 10, 0..6);
    agrees("minichess", 5, 0..4);
    agrees("capture-go-3x3", 10, 2..6);
    agrees("connect-four-5x4", 10, 11..16);
}

/// Three against one.
#[test]
fn equals_brute_force_with_three_roles() {
    agrees("three-player-tic-tac-toe", 10, 8..12);
}

/// Exactly what theory says, within so many nodes.
#[test]
fn known_results() {
    let games: [(&str, i64, u64, u64); 5] = [
        ("tic-tac-toe", 50, 2_000, 5_000),
        ("nim-5", 100, 100, 100),
        ("minichess", 100, 1_000, 1_000),
        ("minichess-3x3", 100, 100, 100),
        ("connect-3-4x4", 100, 3_000, 3_000),
    ];
    for (game, value, depth_first, proof_number) in games {
        for (method, nodes) in [(Method::DepthFirst, depth_first), (Method::ProofNumber, proof_number)] {
            let mut solver = solver(game, 0, method);
            let state = solver.machine.bits().to_vec();
            let solution = solver.solve(&state, &Limit::nodes(nodes));
            assert_eq!(solution.value(), Some(value), "{game}, {method:?}: {solution:?}");
        }
    }
    for (game, nodes) in [("connect-four-5x4", 200_000), ("connect-four-5x5", 1_500_000)] {
        let mut solver = solver(game, 0, Method::DepthFirst);
        let state = solver.machine.bits().to_vec();
        assert_eq!(solver.solve(&state, &Limit::nodes(nodes)).value(), Some(50), "{game}");
    }
}

/// Whoever plays by the values never does worse than they say, whatever the other does.
#[test]
fn tic_tac_toe_is_never_lost() {
    for role in [0, 1] {
        let mut solver = solver("tic-tac-toe", role, Method::DepthFirst);
        let mut waiting = vec![solver.machine.bits().to_vec()];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(state) = waiting.pop() {
            let mut machine = Scalar::new(solver.machine.compiled().clone());
            machine.jump(&state);
            if machine.terminal() {
                assert!(machine.goal(RoleId(role)) >= Some(50));
                continue;
            }
            let legal = legal_moves(&machine);
            let joints: Vec<Vec<u32>> = if legal[role as usize].len() > 1 {
                vec![solver.solve(&state, &Limit::nodes(100_000)).line[0].clone()]
            } else {
                let other = 1 - role as usize;
                let joint = |&chosen: &u32| {
                    let mut joint = vec![legal[role as usize][0]; 2];
                    joint[other] = chosen;
                    joint
                };
                legal[other].iter().map(joint).collect()
            };
            for joint in joints {
                machine.make(&joint);
                if seen.insert(machine.bits().to_vec()) {
                    waiting.push(machine.bits().to_vec());
                }
                machine.unmake();
            }
        }
        assert!(seen.len() > 50, "{}", seen.len());
    }
}

/// Knows nothing.
struct Even;

impl crate::Evaluate for Even {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        values.resize(values.len() + states.len() * 2, 0.5);
    }
}

/// All searches that prove values prove the same.
#[test]
fn alpha_beta_and_best_first_agree() {
    for (game, plies) in [("tic-tac-toe", 2..7), ("connect-3-4x4", 6..10), ("connect-four-5x4", 13..17)] {
        let mut solver = solver(game, 0, Method::DepthFirst);
        let compiled = solver.machine.compiled().clone();
        let lanes = lanes::Compiled::new(crate::testing::network(game));
        let nature = Arc::new(Nature::new(&lanes, 1));
        let settings = alpha_beta::Settings { bytes: 1 << 20, ..Default::default() };
        let mut alpha_beta = AlphaBeta::new(Scalar::new(compiled.clone()), nature, settings, 1);
        let mut best_first = BestFirst::new(lanes, Box::new(Even), best_first::Settings::default(), 1);
        let mut machine = Scalar::new(compiled);
        let mut n_compared = [0; 2];
        for state in states(&mut machine, 15, plies, 7) {
            let value = solver.solve(&state, &Limit::nodes(1_000_000)).value().expect("it is small");
            let limit = Limit::nodes(300_000);
            let players: [&mut dyn crate::Player; 2] = [&mut alpha_beta, &mut best_first];
            for (player, n) in players.into_iter().zip(&mut n_compared) {
                let answer = player.choose(&state, RoleId(0), &limit);
                if answer.proven {
                    assert_eq!((answer.values[0] * 100.0).round() as i64, value, "{game}: {answer:?}");
                    *n += 1;
                }
            }
        }
        assert!(n_compared.iter().all(|&n| n >= 3), "{game}: {n_compared:?}");
    }
}

/// A walk on a graph: the roles take turns along its edges, and it ends where there are none, with a result for the first
/// role. Nodes that have edges go on for ever if nobody ends it.
#[derive(Clone, Debug)]
struct Walk {
    /// For each node, where its edges lead.
    edges: Vec<Vec<usize>>,
    /// The result at each node.
    goals: Vec<i64>,
}

impl Walk {
    fn network(&self) -> Arc<Network> {
        let mut rules = String::from(
            "(role a) (role b) (init (at 0)) (init (turn a)) (other a b) (other b a)
            (<= (legal ?r (go ?y)) (true (turn ?r)) (true (at ?x)) (edge ?x ?y))
            (<= (legal ?r wait) (other ?q ?r) (true (turn ?q)))
            (<= (next (at ?y)) (does ?r (go ?y))) (<= (next (turn ?r)) (true (turn ?q)) (other ?q ?r))
            (<= terminal (true (at ?x)) (end ?x ?v))
            (<= (goal a ?v) (true (at ?x)) (end ?x ?v)) (<= (goal b ?w) (true (at ?x)) (end ?x ?v) (opposite ?v ?w))
            (opposite 0 100) (opposite 50 50) (opposite 100 0)\n",
        );
        for (node, targets) in self.edges.iter().enumerate() {
            targets.iter().for_each(|to| rules += &format!("(edge {node} {to}) "));
            if targets.is_empty() {
                rules += &format!("(end {node} {}) ", self.goals[node]);
            }
        }
        of_rules(rules.as_bytes())
    }

    /// What the first role gets from the first node, if a match without an end is worth so much to it.
    fn value(&self, endless: i64) -> i64 {
        let mut values = vec![[endless; 2]; self.edges.len()];
        // A value that repetition does not decide is found after as many rounds as there are states.
        for _ in 0..=2 * self.edges.len() {
            values = (0..self.edges.len())
                .map(|node| {
                    let after =
                        |turn: usize| self.edges[node].iter().map(|&to| values[to][1 - turn]).collect::<Vec<_>>();
                    let end = self.goals[node];
                    [after(0).into_iter().max().unwrap_or(end), after(1).into_iter().min().unwrap_or(end)]
                })
                .collect();
        }
        values[0][0]
    }
}

fn walks(forward_only: bool) -> impl Strategy<Value = Walk> {
    (3usize..9).prop_flat_map(move |n| {
        let edges = (0..n).map(|node| {
            let from = if forward_only { (node + 1).min(n - 1) } else { 0 };
            let most = if node + 1 == n || (node > 0 && node % 3 == 0) { 0 } else { 3 };
            let least = usize::from(most > 0);
            proptest::collection::btree_set(from..n, least..=most.min(n - from).max(least))
                .prop_map(move |set| if most == 0 { Vec::new() } else { set.into_iter().collect() })
        });
        let goals = proptest::collection::vec(prop_oneof![Just(0i64), Just(50), Just(100)], n);
        (edges.collect::<Vec<_>>(), goals).prop_map(|(edges, goals)| Walk { edges, goals })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Where every match ends, both methods find the value.
    #[test]
    fn equals_brute_force_on_random_games(walk in walks(true)) {
        let network = walk.network();
        for method in METHODS {
            let mut solver = of_network(network.clone(), 0, method);
            let state = solver.machine.bits().to_vec();
            let solution = solver.solve(&state, &Limit::nodes(1_000_000));
            prop_assert_eq!(solution.value(), Some(walk.value(0)), "{:?}: {:?}", method, solution);
        }
    }

    /// Where matches may go on for ever, the bounds are those of the two ways to see that; nothing wrong is ever claimed.
    #[test]
    fn repetitions_are_sound(walk in walks(false)) {
        let network = walk.network();
        let (least, most) = (walk.value(0), walk.value(100));
        for method in METHODS {
            let mut solver = of_network(network.clone(), 0, method);
            let state = solver.machine.bits().to_vec();
            let mut solution = solver.solve(&state, &Limit::nodes(20_000));
            // The network knows only the results that can be reached.
            if let (Some(&low), Some(&high)) = (solver.goals.first(), solver.goals.last()) {
                let (least, most) = (least.clamp(low, high), most.clamp(low, high));
                prop_assert!(solution.lower <= least && most <= solution.upper, "{:?}: {:?}", method, solution);
                if method == Method::DepthFirst {
                    prop_assert_eq!((solution.lower, solution.upper), (least, most), "{:?}", solution);
                }
            }
            // The same again from what is remembered.
            solution.line.clear();
            let mut again = solver.solve(&state, &Limit::nodes(20_000));
            again.line.clear();
            prop_assert!(again.lower <= most.max(solution.lower) && again.upper >= least.min(solution.upper));
        }
    }
}

#[test]
fn it_says_why_it_stops() {
    let mut solver = solver("connect-four", 0, Method::DepthFirst);
    let state = solver.machine.bits().to_vec();
    let solution = solver.solve(&state, &Limit::nodes(1_000));
    assert_eq!((solution.value(), solution.stop), (None, Some(StopReason::Nodes)));
    assert_eq!((solution.lower, solution.upper), (0, 100));
    let solution = solver.solve(&state, &Limit { nodes: u64::MAX, stop: &|| true });
    assert_eq!((solution.value(), solution.stop), (None, Some(StopReason::Stopped)));
    let mut solver = of_network(crate::testing::network("rock-paper-scissors"), 0, Method::ProofNumber);
    let state = solver.machine.bits().to_vec();
    let solution = solver.solve(&state, &Limit::nodes(1_000));
    assert_eq!((solution.value(), solution.stop), (None, Some(StopReason::Simultaneous)));
}

/// With symmetries, fewer states are looked at.
#[test]
fn symmetries_help() {
    let mut with = solver("tic-tac-toe", 0, Method::DepthFirst);
    assert_eq!(with.keys.len(), 7);
    let mut without = of_network(crate::testing::network("tic-tac-toe"), 0, Method::DepthFirst);
    let state = with.machine.bits().to_vec();
    let nodes = [&mut with, &mut without].map(|solver| solver.solve(&state, &Limit::nodes(100_000)).nodes);
    assert!(nodes[0] < nodes[1], "{nodes:?}");
}
