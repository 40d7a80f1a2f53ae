use machine::RoleId;
use machine::network::Gate;
use machine::scalar::{self, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::game::Game;

fn network(rules: &[u8]) -> Arc<Network> {
    let reading = gdl::read("test", rules);
    assert!(!reading.has_errors());
    Game::new(reading.program, 1).expect("it has a network").circuit.network
}

fn library(game: &str) -> Arc<Network> {
    let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    network(&std::fs::read(path).expect("the library has the game"))
}

/// The states of a match, and the results of the roles at its end.
type Match = (Vec<Vec<u64>>, Vec<Option<i64>>);

/// Some random matches.
fn matches(network: &Arc<Network>, n: usize) -> Vec<Match> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let compiled = scalar::Compiled::new(network.clone());
    let mut machine = Scalar::new(compiled.clone());
    let roles = || (0..network.roles.len() as u32).map(RoleId);
    let mut matches = Vec::new();
    for _ in 0..n {
        machine.jump(compiled.initial());
        let mut states = vec![machine.bits().to_vec()];
        while !machine.terminal() && states.len() < 200 {
            let joint: Vec<u32> = roles()
                .map(|role| {
                    let mut legal = Vec::new();
                    machine.legal_moves(role, &mut legal);
                    legal[random.random_range(0..legal.len())]
                })
                .collect();
            machine.make(&joint);
            states.push(machine.bits().to_vec());
        }
        let goals = roles().map(|role| if machine.terminal() { machine.goal(role) } else { None }).collect();
        matches.push((states, goals));
    }
    matches
}

/// Whether something may hold and whether it may not, as plain truth values.
type Plain = [bool; 2];

fn plain_twins(network: &Network, fluents: &[Plain], is_made: &dyn Fn(u32) -> bool) -> Vec<Plain> {
    let pass = |legal: Option<&[Plain]>| {
        let mut twins: Vec<Plain> = Vec::new();
        for gate in &network.gates {
            let of = |twins: &[Plain], wire: Wire| {
                let twin = twins[wire.gate() as usize];
                if wire.is_inverted() { [twin[1], twin[0]] } else { twin }
            };
            twins.push(match gate {
                Gate::False => [false, true],
                &Gate::Fluent(fluent) => fluents[fluent as usize],
                &Gate::Move(chosen) => {
                    [is_made(chosen) && legal.is_some_and(|legal| of(legal, network.legal[chosen as usize])[0]), true]
                }
                Gate::Loop(_) => [true, true],
                Gate::And(inputs) => {
                    let inputs: Vec<Plain> = inputs.iter().map(|&wire| of(&twins, wire)).collect();
                    [inputs.iter().all(|twin| twin[0]), inputs.iter().any(|twin| twin[1])]
                }
            });
        }
        twins
    };
    let still = pass(None);
    pass(Some(&still))
}

fn plain_may(twins: &[Plain], wire: Wire) -> bool {
    twins[wire.gate() as usize][usize::from(wire.is_inverted())]
}

fn plain_grow(network: &Network, fluents: &mut [Plain], twins: &[Plain]) {
    for (fluent, &next) in fluents.iter_mut().zip(&network.next) {
        fluent[0] |= plain_may(twins, next);
        fluent[1] |= plain_may(twins, next.inverted());
    }
}

fn plain_state(network: &Network, state: &[u64]) -> Vec<Plain> {
    let holds = |fluent: usize| state[fluent / 64] >> (fluent % 64) & 1 == 1;
    (0..network.fluents.len()).map(|fluent| [holds(fluent), !holds(fluent)]).collect()
}

/// What a number is, by its definition.
fn plain(network: &Network, state: &[u64], number: Number) -> u32 {
    let start = plain_state(network, state);
    match number {
        Number::Steps(role) | Number::Parts(role) => {
            let groups: Vec<Vec<Wire>> = match number {
                Number::Steps(_) => vec![best_goals(network, role)],
                _ => best_goal_parts(network, role).expect("parts").into_iter().map(|part| vec![part]).collect(),
            };
            let ends = matches!(number, Number::Steps(_));
            let steps = |group: &[Wire]| {
                let mut fluents = start.clone();
                for layer in 0..=MAX_LAYERS {
                    let twins = plain_twins(network, &fluents, &|_| true);
                    let may_end = !ends || plain_may(&twins, network.terminal);
                    if may_end && group.iter().any(|&goal| plain_may(&twins, goal)) {
                        return layer;
                    }
                    plain_grow(network, &mut fluents, &twins);
                }
                MAX_LAYERS + 1
            };
            groups.iter().map(|group| steps(group)).sum()
        }
        Number::Gain(role) => {
            let own = || network.goals.iter().filter(|goal| goal.0 == role);
            let now = plain_twins(network, &start, &|_| false);
            let present = own().filter(|goal| plain_may(&now, goal.2)).map(|goal| goal.1).max();
            let mut fluents = start;
            for layer in 0..=MAX_LAYERS {
                let twins = plain_twins(network, &fluents, &|_| true);
                if own().any(|goal| Some(goal.1) > present && plain_may(&twins, goal.2)) {
                    return layer;
                }
                plain_grow(network, &mut fluents, &twins);
            }
            MAX_LAYERS + 1
        }
        Number::Land(role) => {
            let n_roles = network.roles.len();
            let mut alone = start.clone();
            let mut own = vec![start.clone(); n_roles];
            for _ in 0..MAX_LAYERS {
                let twins: Vec<Vec<Plain>> = (0..n_roles)
                    .map(|role| {
                        let there = |fluent: usize| {
                            [0, 1].map(|sense| {
                                let others = (0..n_roles).filter(|&other| other != role);
                                let taken = start[fluent][sense]
                                    && !alone[fluent][1 - sense]
                                    && others.into_iter().any(|other| own[other][fluent][1 - sense]);
                                own[role][fluent][sense] && !taken
                            })
                        };
                        let fluents: Vec<Plain> = (0..start.len()).map(there).collect();
                        plain_twins(network, &fluents, &|chosen| network.moves_of[role].contains(&chosen))
                    })
                    .collect();
                let still = plain_twins(network, &alone, &|_| false);
                plain_grow(network, &mut alone, &still);
                own.iter_mut().zip(&twins).for_each(|(own, twins)| plain_grow(network, own, twins));
            }
            let own = &own[role as usize];
            (0..start.len()).filter(|&fluent| own[fluent][0] && !alone[fluent][0] && !start[fluent][0]).count() as u32
        }
    }
}

/// On the lanes all numbers are what their definition says.
#[test]
fn the_lanes_agree_with_the_definition() {
    for game in ["tic-tac-toe", "tron-6x6", "hallway", "nim-5", "tic-tic-toe", "breakthrough-6x6", "pacman"] {
        let network = library(game);
        let compiled = Arc::new(Compiled::new(&network, &candidates(&network)));
        let all: Vec<Vec<u64>> = matches(&network, 12).into_iter().flat_map(|(states, _)| states).collect();
        let states: Vec<&[u64]> = all.iter().map(Vec::as_slice).collect();
        let mut measured = Vec::new();
        Reach::new(compiled.clone()).measure(&states, &mut measured);
        let n = compiled.numbers().len();
        assert!(n > 0 && measured.len() == n * states.len());
        for (at, state) in states.iter().enumerate().step_by(7) {
            let expected: Vec<u32> = compiled.numbers().iter().map(|&number| plain(&network, state, number)).collect();
            assert_eq!(measured[at * n..(at + 1) * n], expected, "{game}: {:?}", compiled.numbers());
        }
    }
}

/// A goal is never further away than the moves that led to it.
#[test]
fn distances_are_never_too_long() {
    let mut n_seen = 0;
    for game in ["tic-tac-toe", "connect-four-5x4", "breakthrough-6x6", "hallway", "pacman", "hex-5"] {
        let network = library(game);
        let numbers: Vec<Number> = (0..network.roles.len() as u32).map(Number::Steps).collect();
        let mut reach = Reach::new(Arc::new(Compiled::new(&network, &numbers)));
        let best = |role: u32| network.goals.iter().filter(|goal| goal.0 == role).map(|goal| goal.1).max();
        for (states, goals) in matches(&network, 60) {
            let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
            let mut measured = Vec::new();
            reach.measure(&views, &mut measured);
            for (role, _) in
                goals.iter().enumerate().filter(|(role, goal)| goal.is_some() && **goal == best(*role as u32))
            {
                for (at, steps) in measured.iter().skip(role).step_by(numbers.len()).enumerate() {
                    let left = (states.len() - 1 - at) as u32;
                    assert!(*steps <= left || left > MAX_LAYERS, "{game}: {steps} steps, {left} moves");
                    n_seen += 1;
                }
            }
        }
    }
    assert!(n_seen > 1_000, "{n_seen}");
}

/// Two riders on a strip of seven squares, one at its end and one in the middle, who leave walls behind.
const STRIP: &[u8] = b"(role left) (role right)
    (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7)
    (<= (near ?x ?y) (succ ?x ?y)) (<= (near ?y ?x) (succ ?x ?y))
    (init (at left 1)) (init (at right 5))
    (init (free 2)) (init (free 3)) (init (free 4)) (init (free 6)) (init (free 7))
    (<= (legal ?r (go ?y)) (true (at ?r ?x)) (near ?x ?y) (true (free ?y)))
    (<= (legal ?r stay) (role ?r))
    (<= (next (at ?r ?y)) (does ?r (go ?y)))
    (<= (next (at ?r ?x)) (does ?r stay) (true (at ?r ?x)))
    (<= (entered ?y) (does ?r (go ?y)))
    (<= (next (free ?x)) (true (free ?x)) (not (entered ?x)))
    (<= terminal (true (at left 4)))
    (<= (goal left 100) (true (at left 4))) (<= (goal left 0) (not (true (at left 4))))
    (<= (goal right 100) (true (at right 7))) (<= (goal right 0) (not (true (at right 7))))";

/// By hand: the left rider gets to 2 and 3, where it arrives as early as the other; the right one to 6, 7, 4 and 3. The left rider's
/// goal is three squares away.
#[test]
fn land_and_steps_by_hand() {
    let network = network(STRIP);
    let numbers = [Number::Steps(0), Number::Land(0), Number::Land(1)];
    let compiled = Arc::new(Compiled::new(&network, &numbers));
    assert_eq!(compiled.numbers(), numbers);
    let machine = Scalar::new(scalar::Compiled::new(network.clone()));
    let mut measured = Vec::new();
    Reach::new(compiled).measure(&[machine.bits()], &mut measured);
    assert_eq!(measured, [3, 2, 4]);
}

/// The collector is at one end of a path, with things to collect two, three and six steps away; each is worth something.
#[test]
fn the_next_gain_by_hand() {
    let rules = b"(role collector) (role other)
        (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
        (<= (near ?x ?y) (succ ?x ?y)) (<= (near ?y ?x) (succ ?x ?y))
        (init (at 0)) (init (lies 2)) (init (lies 3)) (init (lies 6)) (init (has 0))
        (legal other wait)
        (<= (legal collector (go ?y)) (true (at ?x)) (near ?x ?y))
        (<= (next (at ?y)) (does collector (go ?y)))
        (<= (next (lies ?x)) (true (lies ?x)) (not (does collector (go ?x))))
        (<= finds (does collector (go ?x)) (true (lies ?x)))
        (<= (next (has ?n)) (true (has ?m)) (succ ?m ?n) finds)
        (<= (next (has ?n)) (true (has ?n)) (not finds))
        (<= terminal (true (has 3)))
        (points 0 0) (points 1 30) (points 2 60) (points 3 100)
        (<= (goal collector ?p) (true (has ?n)) (points ?n ?p))
        (<= (goal other 100) (true (has 0))) (<= (goal other 0) (not (true (has 0))))";
    let network = network(rules);
    // The other has two results alone.
    let compiled = Arc::new(Compiled::new(&network, &[Number::Gain(0), Number::Gain(1)]));
    assert_eq!(compiled.numbers(), [Number::Gain(0)]);
    let mut machine = Scalar::new(scalar::Compiled::new(network.clone()));
    let mut reach = Reach::new(compiled);
    let mut measured = Vec::new();
    for step in 0..6 {
        reach.measure(&[machine.bits()], &mut measured);
        let mut legal = Vec::new();
        machine.legal_moves(RoleId(0), &mut legal);
        let ahead = |chosen: &&u32| network.name(network.moves[**chosen as usize]) == format!("(go {})", step + 1);
        let chosen = *legal.iter().find(ahead).expect("the path goes on");
        legal.clear();
        machine.legal_moves(RoleId(1), &mut legal);
        machine.make(&[chosen, legal[0]]);
    }
    assert_eq!(measured, [2, 1, 1, 3, 2, 1]);
}

#[test]
fn where_nothing_changes_there_are_no_numbers() {
    let rules = "(role robot) (init lit) (<= (next lit) (true lit)) (legal robot wait) (legal robot blink)
        (<= terminal (not (true lit))) (<= (goal robot 50) (true lit))";
    let game = Game::new(gdl::read("still", rules.as_bytes()).program, 1).expect("it has a network");
    let network = &game.circuit.network;
    assert!(network.fluents.is_empty());
    let compiled = Arc::new(Compiled::new(network, &candidates(network)));
    assert!(compiled.numbers().is_empty());
    let mut numbers = Vec::new();
    Reach::new(compiled).measure(&[&[], &[]], &mut numbers);
    assert!(numbers.is_empty());
}
