//! Monte Carlo tree search that knows nothing but the rules: UCT (Kocsis and Szepesvári 2006) on the lane machine.
//!
//! Up to 512 playouts are under way at once, one in each lane. A lane whose playout ends is given the next place in the tree at
//! once: it gets the state of the last node on the way down, makes the joint move that leads out of the tree, tells what the new
//! state is like, and plays on by chance. So tree and playouts need no other machine. Playouts under way count as tries when
//! moves are chosen, but say nothing about a move's worth (Liu et al. 2020, *Watch the Unobserved*); and a small tree has few of
//! them, so that the first playouts are not spent blindly.
//!
//! Each role maximises its own result, whatever the number of roles. What is exact is kept apart ([`tree`]). The part of the
//! tree that is still of use is kept from move to move. For one role alone, the best match that was ever met is kept and played
//! on unless a better one comes.
//!
//! Several threads can work on one tree ([`Uct::on_threads`]), each with lanes of its own. One at a time is in the tree; the
//! playouts go on side by side.

mod flight;
mod tree;

use std::sync::Arc;

use machine::RoleId;
use machine::lanes::{Compiled, LANES, Lanes, Random};

use crate::evaluate::Evaluate;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::together::{Turns, together};
use flight::Flight;
use tree::{NONE, Rave, Rule, Tree};

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much moves that were tried seldom are preferred, for results from 0 to 1; 0.4 is CadiaPlayer's.
    pub exploration: f32,
    /// What a move that was never tried is worth: the mean of its state and so much of the bonus that a move gets which was
    /// tried once. Infinite: all moves are tried before any is tried again.
    pub first: f32,
    /// Joint moves in a playout; a longer one is given up and counts by what its last state is worth, or as a draw.
    pub cap: u32,
    /// Playouts under way while the tree is small, and at most. Where playouts take long there are more from the start.
    pub width: (usize, usize),
    /// One playout may be under way for so many that have come back, within `width`.
    pub share: usize,
    /// Bytes that the tree may take; then it grows no more.
    pub bytes: usize,
    /// Whether the tree is kept between moves.
    pub reuse: bool,
    /// Whether it counts how moves did that were made later in playouts: the mean square by which these hints are wrong however many
    /// there are, where that of a single playout is 1. `None`: they are not looked at.
    pub rave: Option<f32>,
    /// Where there is an evaluation: how much a playout counts beside it. If that is nothing, none is played.
    pub playout: f32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            exploration: 0.4,
            first: f32::INFINITY,
            cap: 1000,
            width: (16, LANES),
            share: 2,
            bytes: 1 << 29,
            reuse: true,
            rave: None,
            playout: 0.0,
        }
    }
}

impl Settings {
    /// What plays best without an evaluation: hints from moves that were made later.
    pub fn strongest() -> Settings {
        Settings { first: 1.0, rave: Some(0.01), ..Settings::default() }
    }
}

/// A player by UCT.
pub struct Uct {
    hands: Vec<Hand>,
    plan: Plan,
    found: Found,
}

/// What one thread works with.
struct Hand {
    lanes: Lanes,
    random: Random,
    /// What says what a new state is worth, instead of a playout.
    evaluation: Option<Box<dyn Evaluate>>,
}

/// What stays as it is.
struct Plan {
    settings: Settings,
    least_width: usize,
    rule: Rule,
}

/// What was found, by all threads together.
struct Found {
    tree: Tree,
    /// Decides between equals.
    turn: u64,
    /// For one role alone: the best match met from the current state on.
    best: Option<Best>,
    /// Of the last search: playouts that have come back, those under way, and states.
    n_playouts: u64,
    n_under_way: usize,
    n_states: u64,
}

/// A way to play on, for one role.
#[derive(Clone, Debug)]
struct Best {
    value: f32,
    /// The moves, from `state` on.
    line: Vec<u32>,
    state: Box<[u64]>,
}

impl Uct {
    /// A player with a seed of its own.
    pub fn new(compiled: Arc<Compiled>, settings: Settings, seed: u64) -> Uct {
        let mut lanes = Lanes::new(compiled);
        let least_width = least_width(&mut lanes, seed).clamp(settings.width.0, settings.width.1);
        let network = lanes.network();
        let n_roles = network.roles.len();
        let range = crate::nature::ranges(network);
        let width = |&(least, most): &(f32, f32)| if most > least { most - least } else { 1.0 };
        let exploration = range.iter().map(|range| settings.exploration * width(range)).collect();
        let tree = Tree::new(n_roles, network.fluents.len().div_ceil(64));
        let rule = Rule { exploration, range, first: settings.first, rave: settings.rave.map(|bias| Rave { bias }) };
        Uct {
            hands: vec![Hand { lanes, random: Random::new(seed), evaluation: None }],
            found: Found { tree, turn: seed, best: None, n_playouts: 0, n_under_way: 0, n_states: 0 },
            plan: Plan { settings, least_width, rule },
        }
    }

    /// The same player, but what a new state is worth is what this says, instead of what a playout comes to or beside it.
    pub fn judging_by(mut self, evaluation: Box<dyn Evaluate>) -> Uct {
        self.hands[0].evaluation = Some(evaluation);
        if self.plan.settings.playout == 0.0 {
            self.plan.least_width = self.plan.settings.width.0;
        }
        self
    }

    /// The same player with so many threads for playouts. With more than one, what is found depends on how fast they are.
    pub fn on_threads(mut self, threads: usize) -> Uct {
        assert!(self.hands[0].evaluation.is_none(), "an evaluation has threads of its own");
        for number in 1..threads as u64 {
            let lanes = Lanes::new(self.hands[0].lanes.compiled().clone());
            let random = Random::new(self.found.turn.wrapping_add(0x9e37_79b9 * number));
            self.hands.push(Hand { lanes, random, evaluation: None });
        }
        self
    }

    /// Searches from a state and says what it found. What is known of the state from earlier searches is used.
    pub fn search(&mut self, state: &[u64], limit: &Limit) -> Answer {
        self.go_to(state);
        let mut answer = Answer::default();
        let n_roles = self.plan.rule.range.len();
        let n_moves = |role| self.found.tree.arms_of(0, role).len();
        if (0..n_roles).all(|role| n_moves(role) == 1) {
            answer.stop = StopReason::Forced;
        } else if let Some(best) = &self.found.best
            && best.value >= self.plan.rule.range[0].1
        {
            answer.stop = StopReason::Solved;
        } else {
            let Uct { hands, plan, found } = self;
            (found.n_playouts, found.n_under_way, found.n_states) = (0, 0, 0);
            let n_hands = hands.len();
            let shared = Turns::new(&mut *found);
            answer.stop = together(hands, limit, |hand, limit| Flight::new(hand, plan, n_hands).run(&shared, limit));
            (answer.playouts, answer.nodes) = (found.n_playouts, found.n_states);
        }
        self.report(&mut answer);
        answer
    }

    /// Makes a state the root of the tree.
    fn go_to(&mut self, state: &[u64]) {
        /// How many joint moves may have been made since the last search.
        const MAX_STEPS: usize = 4;
        if let Some(best) = &mut self.found.best
            && *best.state != *state
        {
            // The best match is still of use if the state is the next one on its way.
            let next = self.hands[0].lanes.successors(&[(&best.state, &best.line[..1])]).remove(0);
            if *next == *state && best.line.len() > 1 {
                best.line.remove(0);
                best.state = next;
            } else {
                self.found.best = None;
            }
        }
        let node = if self.plan.settings.reuse && !self.found.tree.nodes.is_empty() {
            self.found.tree.find(state, MAX_STEPS)
        } else {
            None
        };
        match node {
            Some(0) => {}
            Some(node) => self.found.tree = self.found.tree.below(node),
            None => {
                self.found.tree = Tree::new(self.plan.rule.range.len(), state.len());
                self.found.tree.add_node(state);
                self.hands[0].lanes.load_some(&[(0, state)]);
                self.hands[0].lanes.evaluate();
                for role in 0..self.plan.rule.range.len() {
                    for chosen in self.hands[0].lanes.network().moves_of[role].clone() {
                        if self.hands[0].lanes.lanes_where(self.hands[0].lanes.network().legal[chosen as usize]).get(0)
                        {
                            self.found.tree.add_arm(role, chosen);
                        }
                    }
                }
            }
        }
    }

    fn report(&self, answer: &mut Answer) {
        let n_roles = self.plan.rule.range.len();
        let exact = self.found.tree.exact(0);
        let is_sure = !self.found.tree.unsure;
        answer.proven = is_sure && exact.is_some();
        answer.values =
            (0..n_roles).map(|role| exact.map_or(self.found.tree.mean(0, role), |exact| exact[role])).collect();
        // Step 1. The moves of each role.
        for role in 0..n_roles {
            let arms = self.found.tree.arms_of(0, role);
            let mut order: Vec<usize> = arms.clone().collect();
            let best = self.found.tree.best_arm(0, role, &self.plan.rule);
            order.sort_by_key(|&arm| (arm != best, std::cmp::Reverse(self.found.tree.arms[arm].n)));
            let report = |arm: usize| {
                let arm = &self.found.tree.arms[arm];
                let mean = if arm.n == 0 { self.found.tree.mean(0, role) } else { arm.sum / arm.n as f32 };
                let known = !arm.known.is_nan();
                let value = if known { arm.known } else { mean };
                MoveReport { chosen: arm.chosen, visits: u64::from(arm.n), value, proven: known && is_sure }
            };
            answer.moves.push(order.into_iter().map(report).collect());
        }
        // Step 2. The line that is expected.
        let mut node = 0;
        loop {
            if self.found.tree.nodes[node as usize].n == 0
                || (0..n_roles).any(|role| self.found.tree.arms_of(node, role).is_empty())
            {
                break;
            }
            let arms: Vec<usize> =
                (0..n_roles).map(|role| self.found.tree.best_arm(node, role, &self.plan.rule)).collect();
            answer.line.push(arms.iter().map(|&arm| self.found.tree.arms[arm].chosen).collect());
            node = self.found.tree.child(node, &arms);
            if node == NONE {
                break;
            }
        }
        let is_best = |best: &&Best| exact.is_none_or(|exact| best.value >= exact[0]);
        if let Some(best) = self.found.best.as_ref().filter(is_best) {
            answer.line = best.line.iter().map(|&chosen| vec![chosen]).collect();
            answer.values = vec![best.value];
            answer.proven |= best.value >= self.plan.rule.range[0].1;
            let moves = &mut answer.moves[0];
            let place = moves.iter().position(|report| report.chosen == best.line[0]).expect("its first move is legal");
            moves[..=place].rotate_right(1);
        }
        if answer.stop == StopReason::Solved && !answer.proven {
            answer.stop = StopReason::NoResult;
        }
        answer.depth = answer.line.len() as u32;
        answer.joint = answer.moves.iter().map(|moves| moves[0].chosen).collect();
    }
}

/// How many playouts should be under way while the tree is small. A few, as long as there is time for many rounds of them: in a
/// tenth of a second, a gate for 512 lanes taking about 6 ns (one core of 2023).
fn least_width(lanes: &mut Lanes, seed: u64) -> usize {
    const GATES: f64 = 0.1 / 6e-9;
    const ROUNDS: f64 = 8.0;
    const STEPS: u64 = 64;
    let n_gates = lanes.compiled().n_ops().iter().sum::<usize>() + 4 * lanes.network().moves.len();
    let tally = lanes.playouts(&mut Random::new(seed), &mut [0; LANES], 1_000, STEPS * LANES as u64);
    let length = tally.n_states as f64 / (tally.n_playouts as f64 + 0.1 * LANES as f64);
    let n_rounds = GATES / (n_gates as f64 * length.max(1.0));
    (LANES as f64 * ROUNDS / n_rounds) as usize
}

impl Player for Uct {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.go_to(state);
        if self.found.tree.arms_of(0, role.0 as usize).len() == 1 {
            let mut answer = Answer::default();
            self.report(&mut answer);
            return answer;
        }
        self.search(state, limit)
    }

    fn goes_on(&self) -> bool {
        self.plan.settings.reuse
    }

    fn ponder(&mut self, state: &[u64], _: RoleId, stop: &dyn Fn() -> bool) {
        if self.plan.settings.reuse {
            self.search(state, &Limit { nodes: u64::MAX, stop });
        }
    }

    fn begin(&mut self) {
        self.found.best = None;
        self.found.tree =
            Tree::new(self.plan.rule.range.len(), self.hands[0].lanes.network().fluents.len().div_ceil(64));
    }
}

#[cfg(test)]
mod tests;
