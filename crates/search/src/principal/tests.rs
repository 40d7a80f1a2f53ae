use machine::scalar::{Compiled, Scalar};

use super::plain::Plain;
use super::recursive::Recursive;
use super::*;
use crate::alpha_beta::{self, AlphaBeta};
use crate::nature::Nature;
use crate::testing;

/// Two roles in turn append one of three letters to a line; after eight letters it is over.
const LINE: &[u8] = b"(role white) (role black) (init (step 0)) (init (control white))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8)
    (letter a) (letter b) (letter c)
    (<= (legal ?r (put ?l)) (letter ?l) (true (control ?r)))
    (<= (legal white noop) (true (control black))) (<= (legal black noop) (true (control white)))
    (<= (next (has ?n ?l)) (does ?r (put ?l)) (true (step ?n)))
    (<= (next (has ?n ?l)) (true (has ?n ?l)))
    (<= (next (step ?m)) (true (step ?n)) (succ ?n ?m))
    (<= (next (control white)) (true (control black))) (<= (next (control black)) (true (control white)))
    (<= terminal (true (step 8)))
    (<= (goal white 50) (role white)) (<= (goal black 50) (role black))";

/// A position whose values are drawn by chance, or all the same.
struct Drawn {
    machine: Scalar,
    seed: u64,
    constant: bool,
}

impl Drawn {
    fn new(machine: Scalar, seed: u64) -> Drawn {
        Drawn { machine, seed, constant: false }
    }
}

impl Position for Drawn {
    fn machine(&self) -> &Scalar {
        &self.machine
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.machine.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.machine.make(joint);
    }

    fn unmake(&mut self) {
        self.machine.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.machine.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        if self.constant {
            return 0.5;
        }
        let mixed = self.machine.bits().iter().fold(self.seed, |mixed, &word| {
            (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        });
        let value = 0.1 + 0.8 * ((mixed >> 40) as f32 / (1 << 24) as f32);
        if role.0 == 0 { value } else { 1.0 - value }
    }
}

fn of_rules(rules: &[u8]) -> Scalar {
    Scalar::new(Compiled::new(testing::of_rules(rules)))
}

fn of_game(game: &str) -> Scalar {
    Scalar::new(Compiled::new(testing::network(game)))
}

fn settings(tie: Tie, span: u64) -> Settings {
    Settings { tie, span, ..Settings::default() }
}

impl<P: Position> Principal<P> {
    fn path(&self, mut node: u32) -> Vec<Vec<u32>> {
        let mut path = Vec::new();
        while node != 0 {
            path.insert(0, self.tree.nodes[node as usize].joint.clone());
            node = self.tree.nodes[node as usize].parent;
        }
        path
    }

    fn paths(&self) -> Vec<Vec<Vec<u32>>> {
        self.tree.opened.iter().map(|&node| self.path(node)).collect()
    }
}

/// Without equal values there is one principal leaf: all three searches open the same states in the same order, and the root has
/// the minimax value of what was opened.
#[test]
fn without_ties_all_forms_agree() {
    let machine = of_rules(LINE);
    let start = machine.bits().to_vec();
    let mut n_compared = 0;
    for seed in 0..40 {
        let drawn = || Drawn::new(of_rules(LINE), seed);
        let limit = Limit::nodes(u64::MAX);
        let mut shallow = Principal::new(drawn(), settings(Tie::Shallow, 40));
        let mut deep = Principal::new(drawn(), settings(Tie::Deep, 40));
        let mut recursive = Recursive::new(drawn(), 100_000);
        let role = RoleId((seed % 2) as u32);
        let (one, other) = (shallow.search(&start, role, &limit), deep.search(&start, role, &limit));
        assert_eq!((one.joint, one.values[role.0 as usize]), (other.joint, other.values[role.0 as usize]));
        let opened = shallow.paths();
        assert_eq!(opened, deep.paths());
        recursive.choose(&start, role, &limit);
        let again = recursive.first_opened();
        let common = opened.len().min(again.len());
        assert_eq!(opened[..common], again[..common], "seed {seed}");
        n_compared += common;
    }
    assert!(n_compared > 1_000, "{n_compared}");
}

/// The value of the current state to a depth, by definition, for the first role.
fn minimax(position: &mut Drawn, depth: u32) -> f32 {
    if depth == 0 || position.machine.terminal() {
        return worth(position, RoleId(0));
    }
    let legal = legal_moves(position.machine());
    let mut values = Vec::new();
    for joint in all(&legal) {
        position.make(&joint);
        values.push(minimax(position, depth - 1));
        position.unmake();
    }
    let better = if legal[0].len() > 1 { f32::max } else { f32::min };
    values.into_iter().reduce(better).expect("somebody has a move")
}

/// Pruning leaves the value as it is, and counts are right: all that is visited was judged, opened or an end.
#[test]
fn plain_search_finds_the_minimax_value() {
    let start = of_rules(LINE).bits().to_vec();
    let (mut n_visited, mut n_all) = (0, 0);
    for seed in 0..20 {
        for depth in 1..=4 {
            let drawn = || Drawn::new(of_rules(LINE), seed);
            let answer = Plain::new(drawn(), depth).choose(&start, RoleId(0), &Limit::nodes(u64::MAX));
            let value = minimax(&mut drawn(), depth);
            assert_eq!(answer.values[0], value);
            let mut position = drawn();
            position.make(&answer.joint);
            assert_eq!(minimax(&mut position, depth - 1), value);
            assert_eq!(answer.nodes, answer.judged + answer.opened);
            n_visited += answer.nodes;
            n_all += (1..=depth).map(|ply| 3u64.pow(ply)).sum::<u64>();
        }
    }
    assert!(n_visited < n_all * 3 / 4, "{n_visited} of {n_all}");
}

/// Whoever knows nothing opens what is nearest first, or farthest.
#[test]
fn ties_are_broken_by_distance() {
    let machine = of_rules(LINE);
    let start = machine.bits().to_vec();
    let plies = |tie| {
        let drawn = Drawn { machine: of_rules(LINE), seed: 1, constant: true };
        let mut search = Principal::new(drawn, settings(tie, 30));
        search.search(&start, RoleId(0), &Limit::nodes(u64::MAX));
        search.tree.opened.iter().map(|&node| search.tree.nodes[node as usize].ply).collect::<Vec<_>>()
    };
    let (shallow, deep) = (plies(Tie::Shallow), plies(Tie::Deep));
    assert!(shallow.is_sorted() && shallow.len() == 31, "{shallow:?}");
    assert!(!deep.is_sorted() && deep[..8] == [0, 1, 2, 3, 4, 5, 6, 7], "{deep:?}");
}

#[test]
fn the_span_is_kept() {
    let machine = of_game("connect-four-5x4");
    let start = machine.bits().to_vec();
    for span in [0, 1, 7, 50] {
        let mut search = Principal::new(Drawn::new(of_game("connect-four-5x4"), 3), settings(Tie::Shallow, span));
        let answer = search.search(&start, RoleId(0), &Limit::nodes(u64::MAX));
        assert_eq!((search.tree.opened.len() as u64, answer.opened, answer.judged), (span + 1, span, answer.nodes));
        assert!(answer.nodes >= 5 && !answer.joint.is_empty());
        let mut few = Principal::new(Drawn::new(of_game("connect-four-5x4"), 3), settings(Tie::Shallow, 1_000));
        few.search(&start, RoleId(0), &Limit::nodes(20));
        assert!(few.tree.nodes.len() < 30);
    }
}

/// A win at once is taken, and a draw that is one of several principal leaves does not end the search.
#[test]
fn ends_are_known() {
    let mut machine = of_game("tic-tac-toe");
    let network = machine.network().clone();
    let chosen = |role: usize, name: &str| {
        network.moves_of[role]
            .clone()
            .find(|&chosen| network.name(network.moves[chosen as usize]) == name)
            .unwrap_or_else(|| panic!("no move {name}"))
    };
    for (one, other) in [("(mark 1 1)", "noop"), ("noop", "(mark 3 1)"), ("(mark 1 2)", "noop"), ("noop", "(mark 3 2)")]
    {
        let joint = [chosen(0, one), chosen(1, other)];
        machine.make(&joint);
    }
    let state = machine.bits().to_vec();
    for tie in [Tie::Shallow, Tie::Deep] {
        let drawn = Drawn { machine: of_game("tic-tac-toe"), seed: 1, constant: true };
        let mut search = Principal::new(drawn, settings(tie, 100));
        let answer = search.search(&state, RoleId(0), &Limit::nodes(u64::MAX));
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "(mark 1 3)");
        assert_eq!((answer.stop, answer.values[0], search.tree.opened.len()), (StopReason::Solved, 1.0, 1));
    }
    // From the start: a drawn end has the value of everything else, and the search goes on to its span.
    let start = of_game("tic-tac-toe").bits().to_vec();
    let drawn = Drawn { machine: of_game("tic-tac-toe"), seed: 1, constant: true };
    let mut search = Principal::new(drawn, settings(Tie::Deep, 300));
    search.search(&start, RoleId(0), &Limit::nodes(u64::MAX));
    assert!(search.tree.nodes.iter().any(|node| node.is_end && node.value == 0.5));
    assert_eq!(search.tree.opened.len(), 301);
}

/// Opened to the end, the value is the one that alpha-beta search finds.
#[test]
fn solved_games_have_their_value() {
    let machine = of_game("connect-3-3x3");
    let start = machine.bits().to_vec();
    let compiled = machine::lanes::Compiled::new(testing::network("connect-3-3x3"));
    let nature = std::sync::Arc::new(Nature::new(&compiled, 1));
    let mut exact = AlphaBeta::new(of_game("connect-3-3x3"), nature, alpha_beta::Settings::default(), 1);
    let exact = exact.choose(&start, RoleId(0), &Limit::nodes(u64::MAX));
    assert!(exact.proven);
    let settings = Settings { beyond_ends: true, ..settings(Tie::Shallow, 1_000_000) };
    let mut search = Principal::new(Drawn::new(of_game("connect-3-3x3"), 5), settings);
    let answer = search.search(&start, RoleId(0), &Limit::nodes(u64::MAX));
    assert!(answer.proven, "{:?}", answer.stop);
    assert_eq!(answer.values[0], exact.values[0]);
}
