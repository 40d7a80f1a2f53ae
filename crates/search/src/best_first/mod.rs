//! Best-first search with an evaluation: always on where most is promised, with some doubt about what was looked at seldom.
//!
//! A state is *opened* by judging all that follows from it, and what the best move leads to is taken up to the root (best-first
//! minimax, Korf and Chickering 1996; for any number of roles each role that chooses takes what is best for itself). Which state is
//! opened next is decided from the root on by what the moves promise, the best line and the mean of all lines together, and by
//! a bonus for those that were looked at seldom (upper confidence bounds). Several states are opened at once: what they lead
//! to is judged together on the lane machine, which is many times as fast as one after another. Results that are exact are
//! passed up as far as they decide; where moves are equal for the role that chooses, each other role is then taken to get the least
//! that one of them gives it. The part of the tree that is still of use is kept from move to move.
//!
//! Where several roles choose at once, they mix their moves by regret matching on what the joint moves promise, and the move that is
//! made is drawn from that mixture.

mod tree;

use std::sync::Arc;

use machine::RoleId;
use machine::lanes::{Compiled, LANES};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::evaluate::Evaluate;
use crate::fan::Fan;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::simultaneous::joint_moves;
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
    fan: Fan,
    evaluation: Box<dyn Evaluate>,
    settings: Settings,
    rule: Rule,
    turn: u64,
    random: Pcg64Mcg,
    tree: Tree,
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
            range,
        };
        let tree = Tree::new(fan.n_roles(), fan.n_words());
        BestFirst { fan, evaluation, settings, rule, turn: seed, random: Pcg64Mcg::seed_from_u64(seed), tree }
    }

    /// Searches from a state and says what it found.
    pub fn search(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        /// How many joint moves may have been made since the last search.
        const MAX_STEPS: usize = 4;
        match self.tree.find(state, MAX_STEPS) {
            Some(0) => {}
            Some(node) => self.tree = self.tree.below(node),
            None => {
                self.tree = Tree::new(self.fan.n_roles(), self.fan.n_words());
                let unknown = vec![0.5; self.fan.n_roles()];
                self.tree.add(NONE, state, &vec![0; self.fan.n_roles()], &unknown, false);
            }
        }
        let mut answer = Answer::default();
        // However little time there is, the moves are looked at once.
        if self.tree.nodes[0].n_children == 0 {
            self.open_some(limit.nodes.max(1), &mut answer);
            // The first state is not counted among those opened.
            answer.opened = answer.opened.saturating_sub(1);
        }
        answer.stop = loop {
            if self.tree.nodes[0].exact {
                break if self.tree.unsure { StopReason::NoResult } else { StopReason::Solved };
            }
            if answer.nodes >= limit.nodes || self.tree.bytes() >= self.settings.bytes {
                break StopReason::Nodes;
            }
            if (limit.stop)() {
                break StopReason::Stopped;
            }
            self.open_some(limit.nodes - answer.nodes, &mut answer);
        };
        self.report(role, &mut answer);
        answer
    }

    /// Opens some states at once, and adds to the answer how many states were met, judged and opened.
    fn open_some(&mut self, n_most: u64, answer: &mut Answer) {
        let n_roles = self.fan.n_roles();
        // Step 1. Which.
        let n_open = self.tree.nodes[0].n as usize;
        let each = (self.tree.nodes.len() / (n_open + 1)).max(1);
        let room = (LANES / each).max(1).min((n_most as usize).div_ceil(each));
        let width = (1 + n_open / self.settings.share).min(self.settings.width).min(room);
        let mut leaves: Vec<u32> = Vec::new();
        let mut n_met = 0;
        while leaves.len() < width && n_met < 4 {
            match self.tree.descend(&self.rule, &mut self.turn) {
                Some(leaf) => leaves.push(leaf),
                None => n_met += 1,
            }
        }
        // Step 2. What follows from them.
        let states: Vec<&[u64]> = leaves.iter().map(|&leaf| self.tree.state(leaf)).collect();
        let mut results = Vec::new();
        self.fan.look(&states, &mut results);
        let (mut parents, mut joints, mut choosers) = (Vec::new(), Vec::new(), Vec::new());
        let mut whole = Vec::new();
        for (place, _) in leaves.iter().enumerate() {
            let legal = self.fan.legal(place);
            let mut roles = (0..n_roles).filter(|&role| legal[role].len() > 1);
            let chooser = match (roles.next(), roles.next()) {
                (None, _) => NONE,
                (Some(role), None) => role as u32,
                _ => SEVERAL,
            };
            whole.push(true);
            if legal.iter().all(|moves| !moves.is_empty()) {
                whole[place] = joint_moves(legal, self.settings.joint, &mut self.random, &mut joints);
                parents.resize(joints.len() / n_roles, place);
            }
            choosers.push(chooser);
        }
        let (mut next, mut values) = (Vec::new(), Vec::new());
        let steps = parents.iter().zip(joints.chunks(n_roles)).map(|(&place, joint)| (states[place], joint));
        self.fan.follow(steps, &mut next, &mut values);
        self.tree.unsure |= !self.fan.has_results();
        // Step 3. What that is worth.
        let n_words = self.fan.n_words();
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
        let mut at = 0;
        for (place, &leaf) in leaves.iter().enumerate() {
            let first = self.tree.nodes.len() as u32;
            let from = at;
            while at < parents.len() && parents[at] == place {
                self.tree.add(
                    leaf,
                    &next[at * n_words..(at + 1) * n_words],
                    &joints[at * n_roles..(at + 1) * n_roles],
                    &values[at * n_roles..(at + 1) * n_roles],
                    !is_open[at],
                );
                at += 1;
            }
            let node = &mut self.tree.nodes[leaf as usize];
            if at > from {
                (node.first, node.n_children, node.chooser) = (first, (at - from) as u32, choosers[place]);
                node.whole = whole[place];
            } else {
                // Somebody can't move: nothing more comes of it, and no result either.
                node.exact = true;
                self.tree.unsure = true;
            }
            self.tree.back_up(leaf, &self.rule);
        }
        answer.nodes += parents.len().max(1) as u64;
        answer.judged += open.len() as u64;
        answer.opened += leaves.len() as u64;
    }

    fn report(&mut self, role: RoleId, answer: &mut Answer) {
        /// Joint moves after each of its own in which it hopes for mistakes.
        const HOPING: u32 = 3;
        if self.tree.nodes[0].chooser == SEVERAL {
            return self.report_mixed(role, answer);
        }
        let tree = &self.tree;
        let n_roles = self.fan.n_roles();
        answer.values = tree.values(0).to_vec();
        answer.proven = tree.nodes[0].exact && !tree.unsure;
        answer.moves = vec![Vec::new(); n_roles];
        let own = role.0 as usize;
        let mut order: Vec<u32> = tree.children(0).collect();
        if tree.nodes[0].exact && answer.values[own] < self.rule.range[own].1 {
            // No more is certain, but others may make mistakes.
            let hope = |child: u32| (tree.values(child)[own], tree.hope(child, own, HOPING));
            let mut hopes: Vec<((f32, f32), u32)> = order.iter().map(|&child| (hope(child), child)).collect();
            hopes.sort_by(|(one, _), (other, _)| other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1)));
            order = hopes.into_iter().map(|(_, child)| child).collect();
        } else {
            let rank = |&child: &u32| tree.rank(child, own, &self.rule);
            order.sort_by(|one, other| {
                let (one, other) = (rank(one), rank(other));
                other.0.cmp(&one.0).then(other.1.cmp(&one.1)).then(other.2.total_cmp(&one.2))
            });
        }
        let report = |&child: &u32| MoveReport {
            chosen: tree.joint(child)[own],
            visits: u64::from(tree.nodes[child as usize].n),
            value: tree.values(child)[own],
            proven: tree.nodes[child as usize].exact && !tree.unsure,
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
        let tree = &self.tree;
        let (own, n_roles) = (role.0 as usize, self.fan.n_roles());
        answer.values = tree.values(0).to_vec();
        answer.proven = tree.nodes[0].exact && !tree.unsure;
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
        let mut left = self.random.random::<f32>() * often;
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

impl Player for BestFirst {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.search(state, role, limit)
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn ponder(&mut self, state: &[u64], role: RoleId, stop: &dyn Fn() -> bool) {
        self.search(state, role, &Limit { nodes: u64::MAX, stop });
    }

    fn begin(&mut self) {
        self.tree = Tree::new(self.fan.n_roles(), self.fan.n_words());
    }
}

#[cfg(test)]
mod tests;
