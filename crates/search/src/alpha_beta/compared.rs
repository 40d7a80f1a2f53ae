//! Searches compared with looking at everything, on trees and small games with results and estimates drawn by chance.

use std::fmt::Write;

use machine::lanes;
use machine::scalar::{self, Scalar};
use rand::RngExt;

use super::lines::for_each_joint;
use super::*;
use crate::greedy::likely;
use crate::testing::{network, of_rules};

/// How trees are drawn.
struct Shape {
    n_roles: usize,
    /// Layers below the root, and states of a layer.
    layers: usize,
    width: usize,
    /// Whether states are reached in several ways. Then somebody has a choice everywhere: it matters for the depth that is left.
    meeting: bool,
    /// Whether several roles may choose at the same time.
    together: bool,
}

/// The rules of a game of layers: in each state each role has some moves, and joint moves lead to states of the next layer, some of
/// which are ends. Results are left to the position.
fn layered(shape: &Shape, random: &mut Pcg64Mcg) -> String {
    let roles: Vec<String> = (0..shape.n_roles).map(|role| format!("r{role}")).collect();
    let mut rules = String::from("(init (at 0)) (<= terminal (true (at ?x)) (end ?x))");
    roles.iter().for_each(|role| write!(rules, "(role {role}) (goal {role} 50)").expect("a string takes it"));
    rules += "(<= (legal ?r (m ?k)) (true (at ?x)) (has ?x ?r ?k)) (<= (next (at ?y)) (true (at ?x)) ";
    roles.iter().for_each(|role| write!(rules, "(does {role} (m ?{role}))").expect("a string takes it"));
    writeln!(rules, "(to ?x ?{} ?y))", roles.join(" ?")).expect("a string takes it");
    let (mut layer, mut n) = (vec![0], 1);
    for depth in 0..shape.layers {
        let next: Vec<usize> = (0..shape.width).map(|place| n + place).collect();
        n += shape.width;
        // Where states are met once only, each is given away.
        let mut free = next.clone();
        let mut met = Vec::new();
        for &state in &layer {
            let chooser = random.random_range(0..shape.n_roles);
            let least = if shape.meeting { 2 } else { 1 };
            let mut counts: Vec<u32> = (0..shape.n_roles)
                .map(|role| match role {
                    _ if role == chooser => random.random_range(least..4),
                    _ if shape.together && random.random_range(0..3) == 0 => 2,
                    _ => 1,
                })
                .collect();
            let n_joint = counts.iter().product::<u32>() as usize;
            if !shape.meeting && n_joint > free.len() {
                counts.fill(1);
            }
            if !shape.meeting && free.is_empty() || depth > 0 && random.random_range(0..8) == 0 {
                writeln!(rules, "(end {state})").expect("a string takes it");
                continue;
            }
            let legal: Vec<Vec<u32>> = counts.iter().map(|&count| (0..count).collect()).collect();
            for (role, moves) in legal.iter().enumerate() {
                moves.iter().for_each(|k| write!(rules, "(has {state} r{role} {k})").expect("a string takes it"));
            }
            for_each_joint(&legal, &[], |joint| {
                let to = if shape.meeting {
                    next[random.random_range(0..next.len())]
                } else {
                    free.swap_remove(random.random_range(0..free.len()))
                };
                met.push(to);
                let joint: Vec<String> = joint.iter().map(u32::to_string).collect();
                writeln!(rules, "(to {state} {} {to})", joint.join(" ")).expect("a string takes it");
                true
            });
        }
        met.sort_unstable();
        met.dedup();
        layer = met;
    }
    layer.iter().for_each(|state| writeln!(rules, "(end {state})").expect("a string takes it"));
    rules
}

/// Knows the rules; results and estimates are drawn, always the same for the same state and team.
struct Drawn {
    machine: Scalar,
    seed: u64,
    teams: Vec<u32>,
    /// Whether the first two teams have opposite interests.
    opposed: bool,
    /// Whether results are the rules'.
    real: bool,
}

impl Drawn {
    /// Another at the start of the game, which draws the same.
    fn again(&self) -> Drawn {
        let machine = Scalar::new(self.machine.compiled().clone());
        Drawn { machine, teams: self.teams.clone(), ..*self }
    }

    fn draw(&self, role: RoleId, salt: u64) -> u64 {
        let team = self.teams[role.0 as usize];
        let asked = if self.opposed { 0 } else { team };
        let mut word = self.machine.hash() as u64 ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt << 32;
        word = (word ^ u64::from(asked) << 7).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 32
    }

    /// What one gains the other loses.
    fn turned(&self, role: RoleId, value: i64, sum: i64) -> i64 {
        if self.opposed && self.teams[role.0 as usize] != 0 { sum - value } else { value }
    }
}

impl Position for Drawn {
    fn machine(&self) -> &Scalar {
        &self.machine
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        if self.real {
            return self.machine.goal(role);
        }
        let goal = [0, 100, 0, 100, 50, 30, 70][self.draw(role, 1) as usize % 7];
        Some(self.turned(role, goal, 100))
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
        // Few values, so that many are equal.
        self.turned(role, (self.draw(role, 2) % 33) as i64, 32) as f32 / 32.0
    }
}

/// The nature of a game whose results are drawn.
fn nature_of(compiled: &Arc<scalar::Compiled>, teams: &[u32], opposed: bool) -> Arc<Nature> {
    let network = Arc::new(Scalar::new(compiled.clone()).network().clone());
    let found = Nature::new(&lanes::Compiled::new(network), 1);
    Arc::new(Nature { range: vec![(0.0, 1.0); teams.len()], constant_sum: opposed, teams: teams.to_vec(), ..found })
}

/// What a role gets: plain minimax to a depth, moves without a choice for free. The team maximises; the others see its moves.
fn plain(position: &mut Drawn, role: RoleId, depth: u32, ply: i32) -> i32 {
    let legal = legal_moves(position.machine());
    if position.machine().terminal() {
        return match position.goal(role).unwrap_or(50) {
            100 => WIN - ply,
            0 => ply - WIN,
            goal => (goal as f32 / 100.0 * SCALE as f32) as i32,
        };
    }
    let is_forced = legal.iter().all(|moves| moves.len() == 1);
    if depth == 0 && !is_forced {
        return (position.estimate(role) * SCALE as f32) as i32;
    }
    best_of(position, role, &legal, if is_forced { depth } else { depth - 1 }, ply).0
}

/// The best score that a role's team can be sure of, and the role's moves that lead there.
fn best_of(position: &mut Drawn, role: RoleId, legal: &[Vec<u32>], below: u32, ply: i32) -> (i32, Vec<u32>) {
    let of = |other: usize| position.teams[other] == position.teams[role.0 as usize];
    let allied: Vec<bool> = (0..legal.len()).map(of).collect();
    let narrowed = |ours: bool, to: &[u32]| -> Vec<Vec<u32>> {
        let moves = |other: usize| if allied[other] == ours { legal[other].clone() } else { vec![to[other]] };
        (0..legal.len()).map(moves).collect()
    };
    let first: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
    let (mut best, mut moves) = (-INFINITE, Vec::new());
    for_each_joint(&narrowed(true, &first), &[], |ours| {
        let mut worst = INFINITE;
        for_each_joint(&narrowed(false, ours), &[], |joint| {
            position.make(joint);
            worst = worst.min(plain(position, role, below, ply + 1));
            position.unmake();
            true
        });
        if worst > best {
            (best, moves) = (worst, Vec::new());
        }
        if worst == best {
            moves.push(ours[role.0 as usize]);
        }
        true
    });
    (best, moves)
}

fn value(score: i32) -> f32 {
    match score {
        _ if score >= SURE => 1.0,
        _ if score <= -SURE => 0.0,
        _ => score as f32 / SCALE as f32,
    }
}

/// Compares a search to a depth with plain minimax: the value, the move, and how soon a sure result comes.
fn agrees(player: &mut AlphaBeta<Drawn>, state: &[u64], role: RoleId) {
    let mut position = player.position.again();
    position.jump(state);
    let legal = legal_moves(position.machine());
    if legal[role.0 as usize].len() == 1 {
        return;
    }
    let answer = player.search(state, role, &Limit::nodes(u64::MAX));
    let settings = &player.settings;
    let (expected, moves) = best_of(&mut position, role, &legal, answer.depth - 1, 0);
    assert_eq!(answer.values[role.0 as usize], value(expected), "depth {}, {settings:?}", answer.depth);
    assert!(moves.contains(&answer.joint[role.0 as usize]), "depth {}, {settings:?}", answer.depth);
    assert_eq!(answer.stop == StopReason::Depth, !answer.proven);
    if expected.abs() >= SURE {
        assert!(answer.proven, "{answer:?}");
        // What is remembered need not be told as a line.
        let soon = (WIN - expected.abs()) as usize;
        assert!(answer.line.len() == soon || settings.bytes > 0 && answer.line.len() < soon, "{answer:?}, {soon}");
    }
}

/// All four ways to have a table and an order of moves, one after another.
fn settings(number: u32, depth: u32) -> Settings {
    Settings {
        depth,
        bytes: if number.is_multiple_of(2) { 1 << 14 } else { 0 },
        ordering: (number / 2).is_multiple_of(2),
        opponents: Opponents::Paranoid,
        simultaneous: Simultaneous::Seen,
        ..Settings::default()
    }
}

fn compare(shape: &Shape, teams: &[u32], n_rules: u64, n_each: u32, seed: u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for _ in 0..n_rules {
        let compiled = scalar::Compiled::new(of_rules(layered(shape, &mut random).as_bytes()));
        let opposed = teams.iter().all(|&team| team < 2);
        let nature = nature_of(&compiled, teams, opposed);
        for number in 0..n_each {
            let seed = random.random();
            let machine = Scalar::new(compiled.clone());
            let position = Drawn { machine, seed, teams: teams.to_vec(), opposed, real: false };
            let settings = settings(number, random.random_range(1..=shape.layers as u32 + 1));
            let mut player = AlphaBeta::new(position, nature.clone(), settings, seed);
            agrees(&mut player, compiled.initial(), RoleId(number / 4 % teams.len() as u32));
        }
    }
}

/// Trees without and with several ways to a state: ten thousand in all.
#[test]
fn equals_minimax_on_random_trees() {
    let shape = Shape { n_roles: 2, layers: 5, width: 24, meeting: false, together: false };
    compare(&shape, &[0, 1], 25, 200, 1);
    let shape = Shape { width: 6, meeting: true, ..shape };
    compare(&shape, &[0, 1], 25, 200, 2);
}

/// Several opponents, teams, and moves at the same time.
#[test]
fn equals_minimax_with_teams_and_at_the_same_time() {
    let shape = Shape { n_roles: 3, layers: 4, width: 6, meeting: true, together: false };
    compare(&shape, &[0, 1, 2], 8, 60, 3);
    compare(&shape, &[0, 1, 0], 8, 60, 4);
    let shape = Shape { together: true, ..shape };
    compare(&shape, &[0, 1, 0], 8, 60, 5);
    compare(&shape, &[0, 0, 1], 8, 60, 6);
    compare(&Shape { n_roles: 2, ..shape }, &[0, 1], 8, 60, 7);
}

/// A thousand states of each of some small games, with estimates drawn by chance. A table knows more of states that were met nearer to
/// the root than plain minimax does, so it is left out where that happens.
#[test]
fn equals_minimax_to_a_depth_on_small_games() {
    for (game, depth, table) in [
        ("tic-tac-toe", 4, true),
        ("tic-tac-toe-inverted", 4, true),
        ("connect-3-3x3", 5, false),
        ("nim-5", 5, false),
        ("minichess-3x3", 3, false),
        ("minichess", 2, false),
    ] {
        let compiled = scalar::Compiled::new(network(game));
        let nature = nature_of(&compiled, &[0, 1], true);
        let mut random = Pcg64Mcg::seed_from_u64(8);
        let mut n = 0;
        while n < 1_000 {
            let mut machine = Scalar::new(compiled.clone());
            crate::match_play::opening(&mut machine, random.random_range(0..7), &mut random);
            let legal = legal_moves(&machine);
            let Some(role) = legal.iter().position(|moves| moves.len() > 1) else { continue };
            let state = machine.bits().to_vec();
            let position = Drawn { machine, seed: random.random(), teams: vec![0, 1], opposed: true, real: true };
            let number = if table { n } else { 2 * n + 1 };
            let mut player = AlphaBeta::new(position, nature.clone(), settings(number, 1 + n % depth), 1);
            agrees(&mut player, &state, RoleId(role as u32));
            n += 1;
        }
    }
}

/// Each role for itself, by looking at everything: what each gets. The roles choose one after another, the searching one first, and of
/// equal moves each other role gets the least.
fn each_its_best(position: &mut Drawn, own: usize, depth: u32) -> Vec<f32> {
    let n_roles = position.teams.len();
    let legal = legal_moves(position.machine());
    let is_over = position.machine().terminal();
    let is_forced = legal.iter().all(|moves| moves.len() == 1);
    if is_over || depth == 0 && !is_forced {
        let worth = |role: u32| match is_over {
            true => position.goal(RoleId(role)).unwrap_or(50) as f32 / 100.0,
            false => likely(position.estimate(RoleId(role))),
        };
        return (0..n_roles as u32).map(worth).collect();
    }
    let order: Vec<usize> = std::iter::once(own).chain((0..n_roles).filter(|&role| role != own)).collect();
    let below = if is_forced { depth } else { depth - 1 };
    one_after_another(position, &legal, &order, &mut vec![u32::MAX; n_roles], own, below)
}

fn one_after_another(
    position: &mut Drawn,
    legal: &[Vec<u32>],
    order: &[usize],
    joint: &mut Vec<u32>,
    own: usize,
    below: u32,
) -> Vec<f32> {
    let Some((&role, rest)) = order.split_first() else {
        position.make(joint);
        let values = each_its_best(position, own, below);
        position.unmake();
        return values;
    };
    let mut best: Option<Vec<f32>> = None;
    for &chosen in &legal[role] {
        joint[role] = chosen;
        let values = one_after_another(position, legal, rest, joint, own, below);
        best = Some(match best {
            Some(best) if best[role] > values[role] => best,
            Some(best) if best[role] == values[role] => {
                best.iter().zip(&values).map(|(one, other)| one.min(*other)).collect()
            }
            _ => values,
        });
    }
    best.expect("each role has a move")
}

#[test]
fn each_for_itself_equals_looking_at_everything() {
    let mut random = Pcg64Mcg::seed_from_u64(6);
    for number in 0..24u32 {
        let n_roles = 2 + number as usize % 2;
        let teams: Vec<u32> = (0..n_roles as u32).collect();
        let shape = Shape { n_roles, layers: 4, width: 7, meeting: true, together: number % 4 > 1 };
        let compiled = scalar::Compiled::new(of_rules(layered(&shape, &mut random).as_bytes()));
        let nature = nature_of(&compiled, &teams, false);
        for own in (0..40).map(|turn| turn % n_roles) {
            let machine = Scalar::new(compiled.clone());
            let legal = legal_moves(&machine);
            if legal[own].len() == 1 {
                continue;
            }
            let position = Drawn { machine, seed: random.random(), teams: teams.clone(), opposed: false, real: false };
            let mut expected = position.again();
            let settings = Settings {
                depth: random.random_range(1..6),
                opponents: Opponents::MaxN,
                bytes: 0,
                ..Settings::default()
            };
            let mut player = AlphaBeta::new(position, nature.clone(), settings, 1);
            let answer = player.search(compiled.initial(), RoleId(own as u32), &Limit::nodes(u64::MAX));
            let values = each_its_best(&mut expected, own, answer.depth);
            assert_eq!(answer.values[own], values[own], "depth {}", answer.depth);
            let reported = answer.moves[own].iter().find(|report| report.chosen == answer.joint[own]);
            assert_eq!(reported.map(|report| report.value), Some(values[own]));
            assert!(answer.judged > 0 || answer.proven);
            assert!(answer.opened > 0 || answer.depth == 1);
        }
    }
}

/// What a role's team gets in the mean if the others choose by chance where they choose at the same time, and do their worst elsewhere.
fn in_the_mean(position: &mut Drawn, role: RoleId) -> f64 {
    if position.machine().terminal() {
        return position.goal(role).unwrap_or(50) as f64 / 100.0;
    }
    let legal = legal_moves(position.machine());
    means(position, role, &legal).into_iter().fold(f64::NEG_INFINITY, |best, (_, mean)| best.max(mean))
}

/// For each of the team's joint moves, the role's own part and the mean.
fn means(position: &mut Drawn, role: RoleId, legal: &[Vec<u32>]) -> Vec<(u32, f64)> {
    let allied: Vec<bool> =
        (0..legal.len()).map(|other| position.teams[other] == position.teams[role.0 as usize]).collect();
    let mut found: Vec<(Vec<u32>, Vec<f64>)> = Vec::new();
    for_each_joint(legal, &[], |joint| {
        position.make(joint);
        let value = in_the_mean(position, role);
        position.unmake();
        let ours: Vec<u32> = joint.iter().zip(&allied).filter(|(_, own)| **own).map(|(chosen, _)| *chosen).collect();
        match found.iter_mut().find(|(known, _)| *known == ours) {
            Some((_, values)) => values.push(value),
            None => found.push((ours, vec![value])),
        }
        true
    });
    let we_choose = found.len() > 1;
    let place = allied[..role.0 as usize].iter().filter(|&&own| own).count();
    let mean = |(ours, values): (Vec<u32>, Vec<f64>)| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (ours[place], if we_choose { mean } else { least })
    };
    found.into_iter().map(mean).collect()
}

/// Against others who choose by chance at the same time, the move that is best in the mean is made.
#[test]
fn the_best_move_in_the_mean_is_made() {
    let mut random = Pcg64Mcg::seed_from_u64(16);
    let mut n_compared = 0;
    for (number, teams) in [vec![0, 1], vec![0, 1, 0], vec![0, 1, 1]].iter().cycle().take(24).enumerate() {
        let shape = Shape { n_roles: teams.len(), layers: 3, width: 7, meeting: true, together: true };
        let compiled = scalar::Compiled::new(of_rules(layered(&shape, &mut random).as_bytes()));
        let nature = nature_of(&compiled, teams, true);
        let role = RoleId((number % teams.len()) as u32);
        let legal = legal_moves(&Scalar::new(compiled.clone()));
        if legal[role.0 as usize].len() == 1 {
            continue;
        }
        for _ in 0..40 {
            let machine = Scalar::new(compiled.clone());
            let position = Drawn { machine, seed: random.random(), teams: teams.clone(), opposed: true, real: false };
            let means = means(&mut position.again(), role, &legal);
            let best = means.iter().map(|mean| mean.1).fold(f64::NEG_INFINITY, f64::max);
            let settings = Settings {
                simultaneous: Simultaneous::Uniform(64),
                opponents: Opponents::Paranoid,
                bytes: 1 << 14,
                ..Settings::default()
            };
            let mut player = AlphaBeta::new(position, nature.clone(), settings, random.random());
            let answer = player.search(compiled.initial(), role, &Limit::nodes(u64::MAX));
            assert!(answer.proven);
            assert!((f64::from(answer.values[role.0 as usize]) - best).abs() < 2e-3, "{answer:?} {means:?}");
            let chosen = answer.joint[role.0 as usize];
            let own = means.iter().filter(|mean| mean.0 == chosen).map(|mean| mean.1).fold(0.0, f64::max);
            assert!(own > best - 2e-3, "{answer:?} {means:?}");
            n_compared += 1;
        }
    }
    assert!(n_compared > 200, "{n_compared}");
}
