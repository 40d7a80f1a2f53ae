use machine::lanes;
use machine::scalar::{self, Scalar};
use rand::RngExt;
use rustc_hash::FxHashMap;

use super::lines::for_each_joint;
use super::*;
use crate::equilibrium;
use crate::testing::{network, of_rules};

fn player(game: &str) -> AlphaBeta<Scalar> {
    of_network(network(game))
}

fn of_network(network: Arc<machine::network::Network>) -> AlphaBeta<Scalar> {
    let nature = Arc::new(Nature::new(&lanes::Compiled::new(network.clone()), 1));
    let machine = Scalar::new(scalar::Compiled::new(network));
    let settings = Settings { bytes: 1 << 20, simultaneous: Simultaneous::Seen, ..Settings::default() };
    AlphaBeta::new(machine, nature, settings, 1)
}

/// The value of a state for a role, by looking at everything: the others minimise it, and see our move.
fn minimax(machine: &mut Scalar, role: RoleId, known: &mut FxHashMap<u128, i64>) -> i64 {
    if let Some(&value) = known.get(&machine.hash()) {
        return value;
    }
    let legal = legal_moves(machine);
    let value = if machine.terminal() || legal.iter().any(Vec::is_empty) {
        machine.goal(role).unwrap_or(50)
    } else {
        let mut best = i64::MIN;
        for &chosen in &legal[role.0 as usize] {
            let mut worst = i64::MAX;
            for_each_joint(&legal, &[(role.0 as usize, chosen)], |joint| {
                machine.make(joint);
                worst = worst.min(minimax(machine, role, known));
                machine.unmake();
                true
            });
            best = best.max(worst);
        }
        best
    };
    known.insert(machine.hash(), value);
    value
}

/// In states after a few random moves, the search finds the value that looking at everything finds.
fn agrees(game: &str, n_states: usize, plies: std::ops::Range<usize>, nodes: u64) {
    agrees_on(game, player(game), n_states, plies, nodes);
}

fn agrees_on(game: &str, player: AlphaBeta<Scalar>, n_states: usize, plies: std::ops::Range<usize>, nodes: u64) {
    let mut player = player;
    let mut machine = Scalar::new(player.position.compiled().clone());
    let n_roles = player.nature.range.len() as u32;
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let mut known: Vec<FxHashMap<u128, i64>> = vec![FxHashMap::default(); n_roles as usize];
    let mut n_compared = 0;
    while n_compared < n_states {
        let compiled = machine.compiled().clone();
        machine.jump(compiled.initial());
        for _ in 0..random.random_range(plies.clone()) {
            if !machine.terminal() {
                let joint = |moves: &Vec<u32>| moves[random.random_range(0..moves.len())];
                let joint: Vec<u32> = legal_moves(&machine).iter().map(joint).collect();
                machine.make(&joint);
            }
        }
        if machine.terminal() {
            continue;
        }
        let state = machine.bits().to_vec();
        machine.jump(&state);
        for role in (0..n_roles).map(RoleId) {
            let answer = player.search(&state, role, &Limit::nodes(nodes));
            if answer.stop == StopReason::Forced {
                continue;
            }
            assert!(answer.proven, "{game}: {:?} after {} nodes", answer.stop, answer.nodes);
            let expected = minimax(&mut machine, role, &mut known[role.0 as usize]);
            assert_eq!((answer.values[role.0 as usize] * 100.0).round() as i64, expected, "{game}");
            n_compared += 1;
        }
    }
}

#[test]
fn equals_minimax_on_tic_tac_toe() {
    agrees("tic-tac-toe", 60, 1..7, 100_000);
    agrees("tic-tac-toe-inverted", 40, 2..7, 100_000);
}

#[test]
fn equals_minimax_on_small_games() {
    agrees("nim-5", 20, 2..6, 1_000_000);
    agrees("connect-3-3x3", 40, 0..6, 1_000_000);
    agrees("connect-3-4x4", 10, 5..10, 1_000_000);
    agrees("minichess-3x3", 10, 0..6, 2_000_000);
    agrees("minichess", 5, 0..4, 2_000_000);
}

/// One role chases the other along a path and loses when the time is up. The search leaves the counter out of its keys while it
/// can't matter, and is right about the last moves all the same.
#[test]
fn equals_minimax_where_steps_are_counted() {
    for (limit, length) in [(4, 6), (9, 6), (24, 5), (40, 7), (60, 4)] {
        let count = |name: &str, n: usize| -> String { (1..=n).map(|i| format!("({name} {} {i})", i - 1)).collect() };
        let rules = format!(
            "(role hunter) (role prey) {} {} (init (step 0)) (init (turn hunter)) (init (at hunter 0))
            (init (at prey {})) (<= (other hunter prey)) (<= (other prey hunter))
            (<= (near ?x ?y) (path ?x ?y)) (<= (near ?x ?y) (path ?y ?x))
            (<= (legal ?r (go ?y)) (true (turn ?r)) (true (at ?r ?x)) (near ?x ?y))
            (<= (legal hunter stay) (true (turn hunter)))
            (<= (legal ?r wait) (true (turn ?q)) (other ?q ?r))
            (<= (next (at ?r ?y)) (does ?r (go ?y)))
            (<= (next (at ?r ?x)) (true (at ?r ?x)) (does ?r wait))
            (<= (next (at ?r ?x)) (true (at ?r ?x)) (does ?r stay))
            (<= (next (turn ?r)) (true (turn ?q)) (other ?q ?r))
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
            (<= caught (true (at hunter ?x)) (true (at prey ?x)))
            (<= terminal caught) (<= terminal (true (step {limit})))
            (<= (goal hunter 100) caught) (<= (goal hunter 0) (not caught))
            (<= (goal prey 0) caught) (<= (goal prey 100) (not caught))",
            count("succ", limit),
            count("path", length - 1),
            length - 1
        );
        let player = of_network(of_rules(rules.as_bytes()));
        assert_eq!(player.nature.counters.fluents.len(), limit + 1, "step {limit}");
        agrees_on("hunt", player, 30, 0..limit.min(30), 1_000_000);
    }
}

/// Three roles, all of them against one; and moves at the same time.
#[test]
fn equals_minimax_with_several_opponents_and_at_the_same_time() {
    agrees("three-player-tic-tac-toe", 20, 6..10, 2_000_000);
    agrees("tic-tic-toe", 20, 1..4, 2_000_000);
}

/// Whatever is chosen, the values of small games of moves at the same time are those that solving all matrices gives.
#[test]
fn equals_solved_matrices_at_the_same_time() {
    fn value(machine: &mut Scalar, known: &mut FxHashMap<u128, f64>) -> f64 {
        if let Some(&value) = known.get(&machine.hash()) {
            return value;
        }
        let legal = legal_moves(machine);
        let value = if machine.terminal() {
            machine.goal(RoleId(0)).unwrap_or(50) as f64 / 100.0
        } else {
            let mut payoff = Vec::new();
            for &chosen in &legal[0] {
                let mut row = Vec::new();
                for_each_joint(&legal, &[(0, chosen)], |joint| {
                    machine.make(joint);
                    row.push(value(machine, known));
                    machine.unmake();
                    true
                });
                payoff.push(row);
            }
            equilibrium::solve(&payoff).value
        };
        known.insert(machine.hash(), value);
        value
    }
    for game in ["matching-pennies", "rock-paper-scissors"] {
        let mut player = player(game);
        player.settings.simultaneous = Simultaneous::Matrix(64);
        player.settings.opponents = Opponents::Paranoid;
        let state = player.position.bits().to_vec();
        let answer = player.search(&state, RoleId(0), &Limit::nodes(1_000_000));
        let mut machine = Scalar::new(player.position.compiled().clone());
        let expected = value(&mut machine, &mut FxHashMap::default());
        assert!(answer.proven, "{game}");
        assert!((f64::from(answer.values[0]) - expected).abs() < 1e-3, "{game}: {} {expected}", answer.values[0]);
    }
}

/// Where interests are not opposed, each takes what is best for itself: whatever was, both defect to the end.
#[test]
fn each_for_itself() {
    let mut player = player("prisoners-dilemma");
    assert!(player.is_max_n());
    let network = player.position.network().clone();
    let named = |&chosen: &u32, name: &str| network.name(network.moves[chosen as usize]) == name;
    for _ in 0..5 {
        let friendly = |moves: &Vec<u32>| moves.iter().copied().find(|chosen| named(chosen, "cooperate"));
        let joint: Option<Vec<u32>> = legal_moves(&player.position).iter().map(friendly).collect();
        player.position.make(&joint.expect("it is legal"));
    }
    let state = player.position.bits().to_vec();
    for role in 0..2 {
        let answer = player.search(&state, RoleId(role), &Limit::nodes(100_000));
        // Five rounds of three points each, and five of one, counted twice.
        assert_eq!((answer.values.clone(), answer.proven), (vec![0.4, 0.4], true), "{answer:?}");
        assert_eq!(answer.line.len(), 5);
        assert!(answer.line.iter().flatten().all(|chosen| named(chosen, "defect")), "{answer:?}");
        assert!(answer.opened > 0 && answer.opened < answer.nodes);
    }
}

#[test]
fn known_results_within_so_many_nodes() {
    let mut results = Vec::new();
    for game in ["tic-tac-toe", "nim-5", "connect-3-4x4", "minichess-3x3"] {
        let mut player = player(game);
        let state = player.position.bits().to_vec();
        let answer = player.search(&state, RoleId(0), &Limit::nodes(3_000_000));
        results.push((game, answer.values[0], answer.proven, answer.nodes));
    }
    assert!(results.iter().all(|result| result.2), "{results:?}");
    assert_eq!(results[0].1, 0.5);
    assert!(results[0].3 < 20_000, "{results:?}");
}

/// A win is taken at once, although there are other ways to win.
#[test]
fn wins_come_soon() {
    let rules = b"(role a) (role b) (init (left 9)) (init (turn a))
        (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9)
        (<= (legal ?r (take 1)) (true (turn ?r)) (true (left ?n)) (succ ?m ?n))
        (<= (legal ?r (take 2)) (true (turn ?r)) (true (left ?n)) (succ ?m ?n) (succ ?k ?m))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (next (left ?m)) (does ?r (take 1)) (true (left ?n)) (succ ?m ?n))
        (<= (next (left ?k)) (does ?r (take 2)) (true (left ?n)) (succ ?m ?n) (succ ?k ?m))
        (<= (next (turn a)) (true (turn b))) (<= (next (turn b)) (true (turn a)))
        (<= terminal (true (left 0)))
        (<= (goal ?r 100) (role ?r) (not (true (turn ?r)))) (<= (goal ?r 0) (true (turn ?r)))";
    let mut player = of_network(of_rules(rules));
    let state = player.position.bits().to_vec();
    let answer = player.search(&state, RoleId(0), &Limit::nodes(100_000));
    // Nine stones: a multiple of three is lost for the one to move.
    assert_eq!((answer.values.clone(), answer.proven), (vec![0.0, 1.0], true));
    // It holds out as long as possible: one stone a move of its own, and the winner needs six moves in all.
    assert_eq!(answer.line.len(), 6, "{:?}", answer.line);
}

/// The search stops soon after it is told to, and its move is legal.
#[test]
fn it_stops_when_told() {
    let mut player = player("connect-four");
    let state = player.position.bits().to_vec();
    let calls = std::cell::Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        calls.get() > 10
    };
    let answer = player.search(&state, RoleId(0), &Limit { nodes: u64::MAX, stop: &stop });
    assert_eq!(answer.stop, StopReason::Stopped);
    assert!(answer.nodes < 1_000);
    assert!(legal_moves(&player.position)[0].contains(&answer.joint[0]));
}

/// Threads that share a table find what looking at everything finds, and stop when told.
#[test]
fn threads_share_a_table() {
    let helped = |game: &str| {
        let player = player(game);
        let (one, other) =
            (Scalar::new(player.position.compiled().clone()), Scalar::new(player.position.compiled().clone()));
        player.helped_by(one).helped_by(other)
    };
    agrees_on("tic-tac-toe", helped("tic-tac-toe"), 20, 0..7, 2_000_000);
    agrees_on("connect-3-4x4", helped("connect-3-4x4"), 10, 5..12, 2_000_000);
    let mut player = helped("connect-four");
    let state = player.position.bits().to_vec();
    let calls = std::cell::Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        calls.get() > 1_000
    };
    let answer = player.search(&state, RoleId(0), &Limit { nodes: u64::MAX, stop: &stop });
    assert_eq!(answer.stop, StopReason::Stopped);
    assert!(answer.depth > 2 && legal_moves(&player.position)[0].contains(&answer.joint[0]));
}

/// Knows the rules, and judges by chance, always the same of the same state: most states are even, and few seem to be won by the first role.
struct Noise(Scalar);

impl Position for Noise {
    fn machine(&self) -> &Scalar {
        &self.0
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.0.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.0.make(joint);
    }

    fn unmake(&mut self) {
        self.0.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.0.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        let chance = (self.0.hash() % 1_200) as f32;
        let first = if chance < 100.0 { 0.9 + chance / 2_000.0 } else { 0.45 + chance / 24_000.0 };
        if role.0 == 0 { first } else { 1.0 - first }
    }
}

/// Such estimates are not to be trusted where they have just changed by much, and that is learned; lines go further then, and what is
/// proved is what looking at everything finds.
#[test]
fn doubts_are_learned_and_change_no_result() {
    let network = network("connect-3-4x4");
    let nature = Arc::new(Nature::new(&lanes::Compiled::new(network.clone()), 1));
    let compiled = scalar::Compiled::new(network);
    let settings = |doubts| Settings { bytes: 1 << 20, doubts, ..Settings::default() };
    let player = |doubts| AlphaBeta::new(Noise(Scalar::new(compiled.clone())), nature.clone(), settings(doubts), 1);
    let (mut doubting, mut sure) = (player(true), player(false));
    for _ in 0..8 {
        doubting.search(compiled.initial(), RoleId(0), &Limit::nodes(20_000));
    }
    let doubts = |player: &AlphaBeta<Noise>, change: i32| player.doubt.is_due(change) || player.doubt.is_due(-change);
    assert!(doubts(&doubting, SCALE) && !doubts(&doubting, 0) && !doubts(&sure, SCALE));
    let opened = |player: &mut AlphaBeta<Noise>| {
        player.table.clear();
        player.settings.depth = 5;
        let answer = player.search(compiled.initial(), RoleId(0), &Limit::nodes(u64::MAX));
        player.settings.depth = 100;
        answer.opened
    };
    assert!(opened(&mut doubting) > opened(&mut sure));
    let mut machine = Scalar::new(compiled.clone());
    let mut known = FxHashMap::default();
    let mut random = Pcg64Mcg::seed_from_u64(5);
    for _ in 0..10 {
        machine.jump(compiled.initial());
        while machine.bits() == compiled.initial() || random.random_range(0..8) > 0 && !machine.terminal() {
            let joint: Vec<u32> =
                legal_moves(&machine).iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
            machine.make(&joint);
        }
        let state = machine.bits().to_vec();
        machine.jump(&state);
        if machine.terminal() || legal_moves(&machine)[0].len() == 1 {
            continue;
        }
        let answer = doubting.search(&state, RoleId(0), &Limit::nodes(2_000_000));
        assert!(answer.proven);
        assert_eq!((answer.values[0] * 100.0).round() as i64, minimax(&mut machine, RoleId(0), &mut known));
    }
    // A new match begins without doubts, and few nodes are not spent on them.
    doubting.begin();
    assert!(!doubts(&doubting, SCALE));
    let answer = doubting.search(compiled.initial(), RoleId(0), &Limit::nodes(300));
    assert!(answer.depth >= 1 && answer.nodes <= 300, "{} nodes", answer.nodes);
}

/// A token on a path with a time limit: one role pushes it to the far end, the other holds it back, each by steps that are drawn for
/// each place.
fn race(length: usize, limit: usize, random: &mut Pcg64Mcg) -> String {
    let mut rules = String::from(
        "(role a) (role b) (init (step 0)) (init (turn a)) (init (at 0)) (other a b) (other b a)
        (<= (legal ?r (go ?y)) (true (turn ?r)) (true (at ?x)) (way ?r ?x ?y))
        (<= (legal ?r wait) (true (turn ?q)) (other ?q ?r))
        (<= (next (at ?y)) (does ?r (go ?y)))
        (<= (next (turn ?r)) (true (turn ?q)) (other ?q ?r))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
        (<= terminal there)
        (<= (goal a 100) there) (<= (goal a 0) (not there)) (<= (goal b 0) there) (<= (goal b 100) (not there))",
    );
    rules += &format!("(<= terminal (true (step {limit}))) (<= there (true (at {length})))");
    (0..limit).for_each(|step| rules += &format!("(succ {step} {})", step + 1));
    for place in 0..length {
        for (role, steps) in [("a", [0, 1, 1, 2]), ("b", [-1, -1, 0, 1])] {
            let mut ways: Vec<usize> = Vec::new();
            for _ in 0..random.random_range(1..=3) {
                let step: i32 = steps[random.random_range(0..steps.len())];
                ways.push((place as i32 + step).clamp(0, length as i32) as usize);
            }
            ways.sort_unstable();
            ways.dedup();
            ways.iter().for_each(|to| rules += &format!("(way {role} {place} {to})"));
        }
    }
    rules
}

/// With a time limit, one table is kept through searches of many states of several matches, some deep and some not: what is said to be
/// proven is what looking at everything finds, however near the end.
#[test]
fn what_is_remembered_holds_near_the_end_of_time() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let mut n_proven = [0, 0];
    for _ in 0..16 {
        let (length, limit) = (random.random_range(6..16), random.random_range(40..60));
        let network = of_rules(race(length, limit, &mut random).as_bytes());
        let mut player = of_network(network.clone());
        assert!(!player.nature.counters.fluents.is_empty());
        let mut machine = Scalar::new(scalar::Compiled::new(network));
        let mut known = [FxHashMap::default(), FxHashMap::default()];
        let mut states: Vec<Vec<u64>> = Vec::new();
        for _ in 0..6 {
            let initial = machine.compiled().initial().to_vec();
            machine.jump(&initial);
            while !machine.terminal() {
                states.push(machine.bits().to_vec());
                let pick = |moves: &Vec<u32>| moves[random.random_range(0..moves.len())];
                let joint: Vec<u32> = legal_moves(&machine).iter().map(pick).collect();
                machine.make(&joint);
            }
        }
        for _ in 0..150 {
            let state = &states[random.random_range(0..states.len())];
            machine.jump(state);
            let legal = legal_moves(&machine);
            let Some(role) = (0..2).find(|&role| legal[role].len() > 1) else { continue };
            player.settings.depth =
                if random.random() { random.random_range(1..4) } else { random.random_range(8..40) };
            let answer = player.search(state, RoleId(role as u32), &Limit::nodes(20_000));
            let best = &answer.moves[role][0];
            if best.proven {
                let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
                joint[role] = best.chosen;
                machine.make(&joint);
                let expected = minimax(&mut machine, RoleId(role as u32), &mut known[role]);
                assert_eq!((best.value * 100.0).round() as i64, expected, "{answer:?}");
                n_proven[usize::from(expected == 100)] += 1;
            }
        }
    }
    assert!(n_proven.iter().all(|&n| n > 100), "{n_proven:?}");
}

/// A state whose value rests on a remembered one, which was found by looking far ahead, has been looked at as far: it is not believed
/// where time ends before.
#[test]
fn what_rests_on_memory_reaches_as_far() {
    const LENGTH: usize = 16;
    const LIMIT: usize = 80;
    let mut rules = String::from(
        "(role a) (role b) (init (step 0)) (init (turn a)) (init (at 0))
        (<= (legal a (go ?y)) (true (turn a)) (true (at ?x)) (way ?x ?y)) (<= (legal a give_up) (true (turn a)))
        (<= (legal b wait) (true (turn a))) (<= (legal a wait) (true (turn b)))
        (<= (legal b left) (true (turn b))) (<= (legal b right) (true (turn b)))
        (<= (next (at ?y)) (does a (go ?y))) (<= (next (at ?x)) (true (at ?x)) (does a wait))
        (<= (next (turn a)) (true (turn b))) (<= (next (turn b)) (true (turn a)))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next lost) (does a give_up))
        (<= terminal there) (<= terminal (true lost))
        (<= (goal a 100) there) (<= (goal a 0) (not there)) (<= (goal b 0) there) (<= (goal b 100) (not there))",
    );
    rules += &format!("(<= terminal (true (step {LIMIT}))) (<= there (true (at {LENGTH})))");
    (0..LIMIT).for_each(|step| rules += &format!("(succ {step} {})", step + 1));
    (0..LENGTH).for_each(|place| rules += &format!("(way {place} {})", place + 1));
    let network = of_rules(rules.as_bytes());
    let mut machine = Scalar::new(scalar::Compiled::new(network.clone()));
    let n_words = machine.bits().len();
    let state = |place: usize, step: usize| {
        let holding = [format!("(at {place})"), format!("(step {step})"), "(turn a)".to_owned()];
        let mut bits = vec![0u64; n_words];
        for (number, &fluent) in network.fluents.iter().enumerate() {
            bits[number / 64] |= u64::from(holding.contains(&network.name(fluent))) << (number % 64);
        }
        bits
    };
    let (near, far) = (state(2, 2), state(1, 2));
    let mut player = of_network(network.clone());
    for step in 40..LIMIT {
        player.begin();
        let mut search = |state: &[u64], depth: u32| {
            player.settings.depth = depth;
            player.search(state, RoleId(0), &Limit::nodes(1_000_000))
        };
        assert!(search(&near, 40).proven);
        assert!(search(&far, 4).proven);
        let late = state(1, step);
        let answer = search(&late, 100);
        machine.jump(&late);
        let expected = minimax(&mut machine, RoleId(0), &mut FxHashMap::default());
        assert!(answer.proven);
        assert_eq!((answer.values[0] * 100.0).round() as i64, expected, "with {} moves left", LIMIT - step);
    }
}

/// The state of a game in which just these fluents hold.
fn state_of(network: &machine::network::Network, holding: &[&str]) -> Vec<u64> {
    let mut bits = vec![0u64; network.fluents.len().div_ceil(64)];
    let mut n_found = 0;
    for (number, &fluent) in network.fluents.iter().enumerate() {
        if holding.contains(&network.name(fluent).as_str()) {
            bits[number / 64] |= 1 << (number % 64);
            n_found += 1;
        }
    }
    assert_eq!(n_found, holding.len());
    bits
}

/// Nim is won by the one move that wins.
#[test]
fn the_only_winning_move_is_made() {
    let mut player = player("nim-5");
    let state = player.position.bits().to_vec();
    let answer = player.search(&state, RoleId(0), &Limit::nodes(10_000));
    let network = player.position.network();
    assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "(remove n2)");
    assert_eq!((answer.values, answer.proven), (vec![1.0, 0.0], true));
}

/// Kuhlmann's three moves from another start end in mate, and the search mates as soon.
#[test]
fn minichess_ends_in_mate() {
    let mut player = player("minichess");
    let network = player.position.network().clone();
    let pieces = ["(cell a 1 bk)", "(cell d 3 wk)", "(cell d 4 wr)"].map(str::to_owned);
    let taken =
        |column: char, row: u32| pieces.iter().any(|piece| piece.starts_with(&format!("(cell {column} {row} ")));
    let squares = ['a', 'b', 'c', 'd'].into_iter().flat_map(|column| (1..=4).map(move |row| (column, row)));
    let blank = squares.filter(|&(column, row)| !taken(column, row));
    let blank = blank.map(|(column, row)| format!("(cell {column} {row} b)"));
    let holding: Vec<String> =
        pieces.iter().cloned().chain(blank).chain(["(control white)".to_owned(), "(step 1)".to_owned()]).collect();
    let start = state_of(&network, &holding.iter().map(String::as_str).collect::<Vec<_>>());
    player.position.jump(&start);
    let machine = &mut player.position;
    let mut play = |role: usize, name: &str| {
        let mut joint: Vec<u32> = legal_moves(machine).iter().map(|moves| moves[0]).collect();
        let named = |&chosen: &u32| network.name(network.moves[chosen as usize]) == name;
        joint[role] = legal_moves(machine)[role].iter().copied().find(named).expect("it is legal");
        assert!(!machine.terminal());
        machine.make(&joint);
    };
    play(0, "(move wk d 3 c 2)");
    play(1, "(move bk a 1 a 2)");
    play(0, "(move wr d 4 a 4)");
    assert!(machine.terminal());
    assert_eq!([0, 1].map(|role| machine.goal(RoleId(role))), [Some(100), Some(0)]);
    let answer = player.search(&start, RoleId(0), &Limit::nodes(1_000_000));
    assert!(answer.proven && answer.values[0] == 1.0 && answer.line.len() <= 5, "{answer:?}");
}

/// A win now and a win after two more moves: the first is taken, by every search.
#[test]
fn the_nearest_win_is_taken() {
    let rules = b"(role a) (role b) (init (at 0)) (next_to 0 1) (next_to 1 2) (next_to 2 3)
        (<= (legal a slow) (true (at 0))) (<= (legal a now) (true (at 0))) (<= (legal a (late 1)) (true (at 2)))
        (<= (legal a (late 2)) (true (at 2))) (<= (legal a wait) (true (at 1)))
        (<= (legal b (go 1)) (true (at 1))) (<= (legal b (go 2)) (true (at 1))) (<= (legal b wait) (not (true (at 1))))
        (<= (next won) (does a now)) (<= (next won) (does a (late ?k)))
        (<= (next (at ?y)) (true (at ?x)) (next_to ?x ?y) (not (does a now)))
        (<= terminal (true won)) (<= terminal (true (at 3)))
        (<= (goal a 100) (true won)) (<= (goal a 0) (not (true won)))
        (<= (goal b 0) (true won)) (<= (goal b 100) (not (true won)))";
    let network = of_rules(rules);
    let lanes = lanes::Compiled::new(network.clone());
    let nature = Arc::new(Nature::new(&lanes, 1));
    let scalar = scalar::Compiled::new(network.clone());
    for seed in 0..8 {
        let machine = || Scalar::new(scalar.clone());
        let alpha_beta = |opponents| {
            let settings = Settings { bytes: 1 << 12, opponents, ..Settings::default() };
            AlphaBeta::new(machine(), nature.clone(), settings, seed)
        };
        let bfss = crate::principal::Settings { span: 20, ..Default::default() };
        let bfds = crate::principal::Settings { tie: crate::principal::Tie::Deep, ..bfss.clone() };
        let even = Box::new(Even(2));
        let mut players: Vec<Box<dyn Player>> = vec![
            Box::new(alpha_beta(Opponents::Paranoid)),
            Box::new(alpha_beta(Opponents::MaxN)),
            Box::new(crate::Principal::new(machine(), bfss)),
            Box::new(crate::Principal::new(machine(), bfds)),
            Box::new(crate::principal::recursive::Recursive::new(machine(), 20)),
            Box::new(crate::BestFirst::new(lanes.clone(), even, crate::best_first::Settings::default(), seed)),
        ];
        for (number, player) in players.iter_mut().enumerate() {
            let answer = player.choose(scalar.initial(), RoleId(0), &Limit::nodes(1_000));
            let chosen = network.name(network.moves[answer.joint[0] as usize]);
            assert_eq!((chosen.as_str(), answer.values[0]), ("now", 1.0), "player {number}");
        }
    }
}

/// Knows nothing of so many roles.
struct Even(usize);

impl crate::Evaluate for Even {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        values.resize(values.len() + states.len() * self.0, 0.5);
    }
}

/// White has a way to win until the hundredth step; from then on it goes nowhere, for what nothing else in the state shows. What one table
/// remembers of the time before says nothing about the time after.
#[test]
fn what_is_remembered_of_another_time_says_nothing() {
    let steps: String = (1..=300).map(|step| format!("(succ {} {step})", step - 1)).collect();
    let rules = format!(
        "(role white) (role black) {steps} (init (step 0)) (init (turn white)) (init (at 0)) (other white black) (other black white)
        (<= (legal ?r go) (true (turn ?r)) (true ready)) (<= (legal ?r stay) (true (turn ?r)) (true ready))
        (<= (legal ?r left) (true (turn ?r)) (not (true ready))) (<= (legal ?r right) (true (turn ?r)) (not (true ready)))
        (<= (next ready) (does ?r left)) (<= (next ready) (does ?r right)) (<= (next ready) (true ready))
        (<= (legal ?r wait) (true (turn ?q)) (other ?q ?r))
        (<= (next (turn ?r)) (true (turn ?q)) (other ?q ?r))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
        (<= (next late) (true (step 100))) (<= (next late) (true late))
        (<= goes (does white go) (not (true late)))
        (<= (next (at ?y)) (true (at ?x)) goes (succ ?x ?y)) (<= (next (at ?x)) (true (at ?x)) (not goes))
        (<= terminal (true (at 3))) (<= terminal (true (step 300)))
        (<= (goal white 100) (true (at 3))) (<= (goal white 0) (not (true (at 3))))
        (<= (goal black 0) (true (at 3))) (<= (goal black 100) (not (true (at 3))))"
    );
    let network = of_rules(rules.as_bytes());
    let state = |step: usize| {
        let mut holding = vec!["(at 0)".to_owned(), format!("(step {step})"), "(turn white)".to_owned()];
        holding.extend((step > 100).then(|| "late".to_owned()));
        let mut bits = vec![0u64; network.fluents.len().div_ceil(64)];
        for (number, &fluent) in network.fluents.iter().enumerate() {
            bits[number / 64] |= u64::from(holding.contains(&network.name(fluent))) << (number % 64);
        }
        bits
    };
    let mut player = of_network(network.clone());
    player.settings.depth = 12;
    let mut white = |step: usize| {
        let answer = player.search(&state(step), RoleId(0), &Limit::nodes(200_000));
        (answer.proven, answer.values[0] == 1.0)
    };
    assert_eq!([0, 150].map(&mut white), [(true, true), (false, false)]);
}
