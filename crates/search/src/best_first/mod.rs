//! Best-first search with an evaluation: always on where most is promised, with some doubt about what was looked at seldom.
//!
//! A state is *opened* by judging all that follows from it, and what the best move leads to is taken up to the root (best-first
//! minimax, Korf and Chickering 1996; for any number of roles each role that chooses takes what is best for itself). Which state is
//! opened next is decided from the root on by what the moves promise, the best line and the mean of all lines together, and by
//! a bonus for those that were looked at seldom (upper confidence bounds). Several states are opened at once: what they lead
//! to is judged together on the lane machine, which is many times as fast as one after another. Results that are exact are
//! passed up as far as they decide. The part of the tree that is still of use is kept from move to move.
//!
//! Where several roles choose at once, they mix their moves by regret matching on what the joint moves promise, and the move that is
//! made is drawn from that mixture.
//!
//! Several threads can work on one tree ([`BestFirst::helped_by`]): one at a time chooses what to open and puts in what was
//! found; judging, which takes most of the time, goes on side by side.

mod tree;

use std::sync::{Arc, Mutex};

use machine::RoleId;
use machine::lanes::{Compiled, LANES};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::evaluate::Evaluate;
use crate::fan::Fan;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::simultaneous::joint_moves;
use crate::together::{lock, together};
use tree::{NONE, Rule, SEVERAL, Tree};

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much moves that were looked at seldom are preferred, for results from 0 to 1.
    pub doubt: f32,
    /// How much the best line counts in what a move promises, against the mean of all lines; from 0 to 1.
    pub best: f32,
    /// How much less a move is held to promise while states below are being opened.
    pub held: f32,
    /// The most states that are opened at once.
    pub width: usize,
    /// One more state is opened at once for so many that have been opened.
    pub share: usize,
    /// Where several roles choose, so many joint moves are looked at, about.
    pub joint: usize,
    /// Bytes that the tree may take; then it grows no more.
    pub bytes: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { doubt: 0.1, best: 0.5, held: 0.1, width: 64, share: 4, joint: 128, bytes: 1 << 29 }
    }
}

/// A player by best-first search.
pub struct BestFirst {
    hands: Vec<Hand>,
    settings: Settings,
    rule: Rule,
    least: Vec<f32>,
    found: Found,
}

/// What one thread works with.
struct Hand {
    fan: Fan,
    evaluation: Box<dyn Evaluate>,
    random: Pcg64Mcg,
}

/// What was found, by all threads together.
struct Found {
    tree: Tree,
    /// Decides between equals.
    turn: u64,
    /// States judged in the last search.
    n_judged: u64,
}

impl BestFirst {
    /// A player that judges by an evaluation. The seed decides between equal moves.
    pub fn new(compiled: Arc<Compiled>, evaluation: Box<dyn Evaluate>, settings: Settings, seed: u64) -> BestFirst {
        let fan = Fan::new(compiled);
        let range = crate::nature::ranges(fan.network());
        let width = |&(least, most): &(f32, f32)| if most > least { most - least } else { 1.0 };
        let rule = Rule {
            doubt: range.iter().map(|range| settings.doubt * width(range)).collect(),
            held: settings.held,
            best: settings.best,
            most: range.iter().map(|range| range.1).collect(),
        };
        let least = range.iter().map(|range| range.0).collect();
        let found = Found { tree: Tree::new(fan.n_roles(), fan.n_words()), turn: seed, n_judged: 0 };
        let hands = vec![Hand { fan, evaluation, random: Pcg64Mcg::seed_from_u64(seed) }];
        BestFirst { hands, settings, rule, least, found }
    }

    /// The same player with one more thread, which needs its own copy of the evaluation. What is found then depends on how fast the
    /// threads are.
    pub fn helped_by(mut self, evaluation: Box<dyn Evaluate>) -> BestFirst {
        let fan = Fan::new(self.hands[0].fan.compiled().clone());
        let seed = self.found.turn.wrapping_add(0x9e37_79b9 * self.hands.len() as u64);
        self.hands.push(Hand { fan, evaluation, random: Pcg64Mcg::seed_from_u64(seed) });
        self
    }

    fn empty(&self) -> Tree {
        let fan = &self.hands[0].fan;
        Tree::new(fan.n_roles(), fan.n_words())
    }

    /// Searches from a state and says what it found.
    pub fn search(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        /// How many joint moves may have been made since the last search.
        const MAX_STEPS: usize = 4;
        match self.found.tree.find(state, MAX_STEPS) {
            Some(0) => {}
            Some(node) => self.found.tree = self.found.tree.below(node),
            None => {
                self.found.tree = self.empty();
                let n_roles = self.least.len();
                self.found.tree.add(NONE, state, &vec![0; n_roles], &vec![0.5; n_roles], false);
            }
        }
        let BestFirst { hands, settings, rule, found, .. } = self;
        found.n_judged = 0;
        let (n_hands, is_new) = (hands.len(), found.tree.nodes[0].n_children == 0);
        let shared = Mutex::new(&mut *found);
        // However little time there is, the moves are looked at once.
        if is_new {
            hands[0].open_some(&shared, settings, rule, 1, limit.nodes.max(1));
        }
        let stop = together(hands, limit, |hand, limit| {
            loop {
                let found = lock(&shared);
                if found.tree.nodes[0].exact {
                    break StopReason::Solved;
                }
                if found.n_judged >= limit.nodes || found.tree.bytes() >= settings.bytes {
                    break StopReason::Nodes;
                }
                let n_most = limit.nodes - found.n_judged;
                drop(found);
                if (limit.stop)() {
                    break StopReason::Stopped;
                }
                hand.open_some(&shared, settings, rule, n_hands, n_most);
            }
        });
        let mut answer = Answer { stop, nodes: found.n_judged, ..Answer::default() };
        self.report(role, &mut answer);
        answer
    }

    fn report(&mut self, role: RoleId, answer: &mut Answer) {
        if self.found.tree.nodes[0].chooser == SEVERAL {
            return self.report_mixed(role, answer);
        }
        let tree = &self.found.tree;
        let n_roles = self.least.len();
        answer.values = tree.values(0).to_vec();
        answer.proven = tree.nodes[0].exact;
        answer.moves = vec![Vec::new(); n_roles];
        let own = role.0 as usize;
        let mut order: Vec<u32> = tree.children(0).collect();
        let rank = |&child: &u32| tree.rank(child, own, &self.rule, self.least[own]);
        order.sort_by(|one, other| {
            let (one, other) = (rank(one), rank(other));
            other.0.cmp(&one.0).then(other.1.cmp(&one.1)).then(other.2.total_cmp(&one.2))
        });
        let report = |&child: &u32| MoveReport {
            chosen: tree.joint(child)[own],
            visits: u64::from(tree.nodes[child as usize].n),
            value: tree.values(child)[own],
            proven: tree.nodes[child as usize].exact,
        };
        answer.moves[own] = order.iter().map(report).collect();
        let Some(&best) = order.first() else { return };
        answer.joint = tree.joint(best).to_vec();
        let mut node = Some(best);
        while let Some(at) = node {
            answer.line.push(tree.joint(at).to_vec());
            node = tree.expected_child(at);
        }
        answer.depth = answer.line.len() as u32;
    }

    /// What was found where several roles choose: a move drawn from the mixture comes first.
    fn report_mixed(&mut self, role: RoleId, answer: &mut Answer) {
        /// Moves that are made less often than this are not drawn: they are there because the mixture is not quite found.
        const SELDOM: f32 = 0.05;
        let tree = &self.found.tree;
        let (own, n_roles) = (role.0 as usize, self.least.len());
        answer.values = tree.values(0).to_vec();
        answer.proven = tree.nodes[0].exact;
        answer.moves = vec![Vec::new(); n_roles];
        let mut moves: Vec<(MoveReport, f32)> = Vec::new();
        for child in tree.children(0) {
            let (entry, chosen) = (&tree.nodes[child as usize], tree.joint(child)[own]);
            let place = moves.iter().position(|(report, _)| report.chosen == chosen).unwrap_or_else(|| {
                moves.push((MoveReport { chosen, visits: 0, value: 0.0, proven: false }, 0.0));
                moves.len() - 1
            });
            let (report, part) = &mut moves[place];
            report.visits += u64::from(entry.n);
            report.value += entry.part * tree.values(child)[own];
            *part += entry.part;
        }
        moves.sort_by(|one, other| other.1.total_cmp(&one.1));
        let often: f32 = moves.iter().map(|(_, part)| *part).filter(|&part| part >= SELDOM).sum();
        let mut left = self.hands[0].random.random::<f32>() * often;
        let drawn = moves.iter().position(|&(_, part)| {
            left -= if part >= SELDOM { part } else { 0.0 };
            left < 0.0
        });
        moves[..=drawn.unwrap_or(0)].rotate_right(1);
        answer.joint = tree.expected_child(0).map_or(Vec::new(), |child| tree.joint(child).to_vec());
        answer.joint[own] = moves[0].0.chosen;
        answer.line = vec![answer.joint.clone()];
        answer.depth = 1;
        let report = |(report, part): (MoveReport, f32)| MoveReport { value: report.value / part.max(1e-6), ..report };
        answer.moves[own] = moves.into_iter().map(report).collect();
    }
}

impl Hand {
    /// Opens some states at once.
    fn open_some(&mut self, shared: &Mutex<&mut Found>, settings: &Settings, rule: &Rule, n_hands: usize, n_most: u64) {
        let (n_roles, n_words) = (self.fan.n_roles(), self.fan.n_words());
        // Step 1. Which.
        let (mut leaves, mut states): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut found = lock(shared);
        let n_open = found.tree.nodes[0].n as usize;
        let each = (found.tree.nodes.len() / (n_open + 1)).max(1);
        let room = (LANES / each).max(1).min((n_most as usize).div_ceil(each));
        let width = (1 + n_open / (settings.share * n_hands)).min(settings.width).min(room);
        let mut n_met = 0;
        while leaves.len() < width && n_met < 4 {
            let Found { tree, turn, .. } = &mut **found;
            match tree.descend(rule, turn) {
                Some(leaf) => {
                    leaves.push(leaf);
                    states.extend_from_slice(tree.state(leaf));
                }
                None => n_met += 1,
            }
        }
        drop(found);
        if leaves.is_empty() {
            // The other threads have all that there is to do.
            std::thread::yield_now();
            return;
        }
        // Step 2. What follows from them.
        let states: Vec<&[u64]> = states.chunks(n_words).collect();
        let mut results = Vec::new();
        self.fan.look(&states, &mut results);
        let (mut parents, mut joints, mut choosers) = (Vec::new(), Vec::new(), Vec::new());
        for (place, _) in leaves.iter().enumerate() {
            let legal = self.fan.legal(place);
            let mut roles = (0..n_roles).filter(|&role| legal[role].len() > 1);
            let chooser = match (roles.next(), roles.next()) {
                (None, _) => NONE,
                (Some(role), None) => role as u32,
                _ => SEVERAL,
            };
            if legal.iter().all(|moves| !moves.is_empty()) {
                joint_moves(legal, settings.joint, &mut self.random, &mut joints);
                parents.resize(joints.len() / n_roles, place);
            }
            choosers.push(chooser);
        }
        let (mut next, mut values) = (Vec::new(), Vec::new());
        let steps = parents.iter().zip(joints.chunks(n_roles)).map(|(&place, joint)| (states[place], joint));
        self.fan.follow(steps, &mut next, &mut values);
        // Step 3. What that is worth.
        let open: Vec<usize> = (0..parents.len()).filter(|&at| values[at * n_roles].is_nan()).collect();
        let states: Vec<&[u64]> = open.iter().map(|&at| &next[at * n_words..(at + 1) * n_words]).collect();
        let mut judged = Vec::new();
        self.evaluation.values(&states, &mut judged);
        let mut is_open = vec![false; parents.len()];
        for (&at, judged) in open.iter().zip(judged.chunks(n_roles)) {
            is_open[at] = true;
            // Certainty is for results.
            for (value, judged) in values[at * n_roles..].iter_mut().zip(judged) {
                *value = judged.clamp(0.001, 0.999);
            }
        }
        // Step 4. Into the tree.
        let mut found = lock(shared);
        let mut at = 0;
        for (place, &leaf) in leaves.iter().enumerate() {
            let tree = &mut found.tree;
            let first = tree.nodes.len() as u32;
            let from = at;
            while at < parents.len() && parents[at] == place {
                tree.add(
                    leaf,
                    &next[at * n_words..(at + 1) * n_words],
                    &joints[at * n_roles..(at + 1) * n_roles],
                    &values[at * n_roles..(at + 1) * n_roles],
                    !is_open[at],
                );
                at += 1;
            }
            let node = &mut tree.nodes[leaf as usize];
            if at > from {
                (node.first, node.n_children, node.chooser) = (first, (at - from) as u32, choosers[place]);
            } else {
                // Nobody can move: nothing more comes of it.
                node.exact = true;
            }
            tree.back_up(leaf, rule);
        }
        found.n_judged += parents.len().max(1) as u64;
    }
}

impl Player for BestFirst {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.search(state, role, limit)
    }

    fn begin(&mut self) {
        self.found.tree = self.empty();
    }
}

#[cfg(test)]
mod tests;
