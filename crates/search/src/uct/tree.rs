//! The tree of a Monte Carlo search: states, the moves of each role in them, and what became of them.
//!
//! Each role that has a choice keeps statistics of its own moves alone (*decoupled* UCT), so simultaneous moves need nothing
//! special: the next state is found by all choices together. A result that is exact is kept apart from means and passed up as
//! far as it decides (Winands, Björnsson and Saito 2008, *Monte-Carlo Tree Search Solver*); only where at most one role has a
//! choice. A role that chooses takes what is best for itself; among equal moves, each other role is taken to get the least that one
//! of them gives it.

use rustc_hash::FxHashMap;

/// No node, or nothing known.
pub(super) const NONE: u32 = u32::MAX;

/// A legal move of one role in one state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arm {
    pub(super) chosen: u32,
    /// The node that follows, if it has been met and nobody else had a choice.
    pub(super) child: u32,
    /// Playouts that have come back.
    pub(super) n: u32,
    /// Playouts under way.
    pub(super) pending: u32,
    /// The role's results, added up.
    pub(super) sum: f32,
    /// The role's exact result, if it is known; else NaN.
    pub(super) known: f32,
    /// Playouts in which the role made the move later, but not here, and its results, added up; if somebody asks.
    later: (f32, f32),
}

/// A state that has been met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) first_arm: u32,
    pub(super) n: u32,
    pub(super) pending: u32,
    /// Where its exact results stand, if they are known.
    pub(super) exact: u32,
}

/// How moves are chosen in the tree.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// For each role, how much is added for a move that was tried seldom.
    pub(super) exploration: Vec<f32>,
    /// The bonus of a move that was never tried, beside that of a move that was tried once.
    pub(super) first: f32,
    /// For each role, its least and greatest result.
    pub(super) range: Vec<(f32, f32)>,
    /// How moves that were made later in playouts are looked at; `None` if they aren't.
    pub(super) rave: Option<Rave>,
}

/// How a move did that was made later in playouts, as a hint at what it is worth now (*rapid action value estimation*, Gelly and Silver
/// 2007). It counts as much as makes the expected square of the error least (Silver 2009, *Reinforcement learning and
/// simulation-based search*): many hints outweigh few tries, and none outweigh many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rave {
    /// The mean square by which hints are wrong however many there are, where that of a single playout is 1.
    pub(super) bias: f32,
}

impl Rave {
    /// What a move is worth that came to `mean` in `n` tries; its results where it was made later were so many, and add up to so much.
    fn value(self, mean: f32, n: f32, (n_later, sum): (f32, f32)) -> f32 {
        /// So many hints count half where there is nothing else.
        const FEW: f32 = 4.0;
        if n_later == 0.0 {
            return mean;
        }
        let part = n_later / (n_later + n + n * n_later * self.bias + FEW);
        mean + part * (sum / n_later - mean)
    }
}

/// The tree. Node 0 is its root.
#[derive(Debug)]
pub(super) struct Tree {
    n_roles: usize,
    n_words: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) arms: Vec<Arm>,
    /// For each node and role, the number of its arms; those of one role after those of another.
    counts: Vec<u32>,
    /// For each node, its state.
    states: Vec<u64>,
    /// For each node and role, the results, added up.
    sums: Vec<f32>,
    /// Exact results, one for each role.
    exact: Vec<f32>,
    /// What follows from a node where several roles have a choice.
    joint_children: FxHashMap<(u32, u64), u32>,
    /// Whether a match without a result was met. It counts as a draw, and what rests on that is not proven.
    pub(super) unsure: bool,
}

/// A way from the root to a place that a playout starts from.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) nodes: Vec<u32>,
    /// The arms chosen where there was a choice, each with its role.
    pub(super) arms: Vec<(u32, u32)>,
    /// The moves of these arms.
    pub(super) made: Vec<u32>,
    /// The last joint move.
    pub(super) joint: Vec<u32>,
    /// How many joint moves it has.
    pub(super) length: usize,
    /// Where a role would have taken a move whose result is exact.
    cuts: Vec<Cut>,
}

/// A place on a path where an exact move was best, and another was tried for what it may yet show. What comes of it counts
/// below; above counts the exact result.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// How many nodes of the path come before, its own included; and how many arms, its own not included.
    nodes: usize,
    arms: usize,
    /// The arm that was best.
    best: u32,
}

/// Where a way down the tree ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the last node's joint move, whose next state has not been met.
    New,
    /// At a node whose results are exact.
    Exact(u32),
}

impl Tree {
    pub(super) fn new(n_roles: usize, n_words: usize) -> Tree {
        Tree {
            n_roles,
            n_words,
            nodes: Vec::new(),
            arms: Vec::new(),
            counts: Vec::new(),
            states: Vec::new(),
            sums: Vec::new(),
            exact: Vec::new(),
            joint_children: FxHashMap::default(),
            unsure: false,
        }
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let node = size_of::<Node>() + 8 * (self.n_words + self.n_roles);
        self.nodes.len() * node + self.arms.len() * size_of::<Arm>() + self.joint_children.len() * 32
    }

    pub(super) fn state(&self, node: u32) -> &[u64] {
        &self.states[node as usize * self.n_words..(node as usize + 1) * self.n_words]
    }

    /// The arms of a role.
    pub(super) fn arms_of(&self, node: u32, role: usize) -> std::ops::Range<usize> {
        let counts = &self.counts[node as usize * self.n_roles..];
        let before: usize = counts[..role].iter().map(|&count| count as usize).sum();
        let first = self.nodes[node as usize].first_arm as usize + before;
        first..first + counts[role] as usize
    }

    /// A role's mean result.
    pub(super) fn mean(&self, node: u32, role: usize) -> f32 {
        let n = self.nodes[node as usize].n;
        if n == 0 { 0.5 } else { self.sums[node as usize * self.n_roles + role] / n as f32 }
    }

    /// The exact results of a node, if they are known.
    pub(super) fn exact(&self, node: u32) -> Option<&[f32]> {
        let first = self.nodes[node as usize].exact;
        (first != NONE).then(|| &self.exact[first as usize..first as usize + self.n_roles])
    }

    /// Adds a node without arms.
    pub(super) fn add_node(&mut self, state: &[u64]) -> u32 {
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { first_arm: self.arms.len() as u32, n: 0, pending: 0, exact: NONE });
        self.counts.resize(self.counts.len() + self.n_roles, 0);
        self.sums.resize(self.sums.len() + self.n_roles, 0.0);
        self.states.extend_from_slice(state);
        node
    }

    /// Adds an arm to the last node; roles in ascending order.
    pub(super) fn add_arm(&mut self, role: usize, chosen: u32) {
        let last = self.counts.len() - self.n_roles;
        self.counts[last + role] += 1;
        self.arms.push(Arm { chosen, child: NONE, n: 0, pending: 0, sum: 0.0, known: f32::NAN, later: (0.0, 0.0) });
    }

    /// Goes down from the root, choosing by upper confidence bounds, and notes that a playout is under way. `turn` decides
    /// between equals.
    pub(super) fn descend(&mut self, rule: &Rule, turn: &mut u64, path: &mut Path) -> End {
        path.nodes.clear();
        path.arms.clear();
        path.made.clear();
        path.cuts.clear();
        let mut node = 0;
        loop {
            path.nodes.push(node);
            if self.nodes[node as usize].exact != NONE {
                return End::Exact(node);
            }
            path.joint.clear();
            let (mut n_choosers, mut key, mut place) = (0, NONE, 0u64);
            let first_arm = self.nodes[node as usize].first_arm as usize;
            let mut from = first_arm;
            for role in 0..self.n_roles {
                let count = self.counts[node as usize * self.n_roles + role] as usize;
                let mut at = from;
                if count > 1 {
                    let best;
                    (at, best) = self.choose(node, role, from..from + count, rule, turn);
                    if let Some(best) = best {
                        let (nodes, arms) = (path.nodes.len(), path.arms.len());
                        path.cuts.push(Cut { nodes, arms, best: best as u32 });
                    }
                    n_choosers += 1;
                    key = at as u32;
                    place = place.wrapping_mul(count as u64).wrapping_add((at - from) as u64);
                    self.arms[at].pending += 1;
                    path.arms.push((at as u32, role as u32));
                    path.made.push(self.arms[at].chosen);
                }
                path.joint.push(self.arms[at].chosen);
                from += count;
            }
            self.nodes[node as usize].pending += 1;
            let child = match n_choosers {
                0 => self.arms[first_arm].child,
                1 => self.arms[key as usize].child,
                _ => self.joint_children.get(&(node, place)).copied().unwrap_or(NONE),
            };
            if child == NONE {
                path.length = path.nodes.len();
                return End::New;
            }
            node = child;
        }
    }

    /// A role's choice among moves whose result is not exact: one that was never tried, else the one with the greatest bound.
    /// And an exact move, if that is still better.
    fn choose(
        &self,
        node: u32,
        role: usize,
        arms: std::ops::Range<usize>,
        rule: &Rule,
        turn: &mut u64,
    ) -> (usize, Option<usize>) {
        let parent = &self.nodes[node as usize];
        let total = (parent.n + parent.pending).max(1) as f32;
        let bonus = rule.exploration[role] * total.ln().max(0.0).sqrt();
        let mean = self.mean(node, role);
        *turn = turn.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let offset = (((*turn >> 33) * arms.len() as u64) >> 31) as usize;
        let at = |place: usize| arms.start + (place + offset) % arms.len();
        let (before, after) = self.arms[arms.clone()].split_at(offset);
        let (mut best, mut best_at) = (f32::NEG_INFINITY, 0);
        let (mut exact, mut exact_at) = (f32::NEG_INFINITY, 0);
        for (place, arm) in after.iter().chain(before).enumerate() {
            let tried = arm.n + arm.pending;
            if !arm.known.is_nan() {
                if arm.known > exact {
                    (exact, exact_at) = (arm.known, place);
                }
                continue;
            }
            if tried == 0 && rule.first.is_infinite() {
                (best, best_at) = (f32::INFINITY, place);
                break;
            }
            // Playouts under way make a move less uncertain; they say nothing about its worth.
            let mut value = if arm.n == 0 { mean } else { arm.sum / arm.n as f32 };
            if let Some(rave) = rule.rave {
                value = rave.value(value, arm.n as f32, arm.later);
            }
            let factor = if tried == 0 { rule.first } else { 1.0 / (tried as f32).sqrt() };
            let score = value + bonus * factor;
            if score > best {
                (best, best_at) = (score, place);
            }
        }
        (at(best_at), (exact > best).then(|| at(exact_at)))
    }

    /// The node that a path's last joint move leads to; `NONE` if it has not been met.
    pub(super) fn after(&self, path: &Path) -> u32 {
        let node = *path.nodes.last().expect("a path begins at the root");
        match self.key(node, path) {
            Key::Arm(arm) => self.arms[arm as usize].child,
            Key::Joint(place) => self.joint_children.get(&(node, place)).copied().unwrap_or(NONE),
        }
    }

    /// Hangs a node behind a path's last joint move.
    pub(super) fn link(&mut self, path: &Path, child: u32) {
        let node = *path.nodes.last().expect("a path begins at the root");
        match self.key(node, path) {
            Key::Arm(arm) => self.arms[arm as usize].child = child,
            Key::Joint(place) => {
                self.joint_children.insert((node, place), child);
            }
        }
    }

    /// Where the child by a path's last joint move is noted.
    fn key(&self, node: u32, path: &Path) -> Key {
        let counts = &self.counts[node as usize * self.n_roles..(node as usize + 1) * self.n_roles];
        let n_choosers = counts.iter().filter(|&&count| count > 1).count();
        let mut from = self.nodes[node as usize].first_arm;
        match n_choosers {
            0 => Key::Arm(from),
            1 => Key::Arm(path.arms.last().expect("a choice was made").0),
            _ => {
                let mut chosen = path.arms[path.arms.len() - n_choosers..].iter();
                let mut place = 0u64;
                for &count in counts {
                    if count > 1 {
                        let &(arm, _) = chosen.next().expect("each chooser has chosen");
                        place = place.wrapping_mul(u64::from(count)).wrapping_add(u64::from(arm - from));
                    }
                    from += count;
                }
                Key::Joint(place)
            }
        }
    }

    /// A playout has come back: its results go to all that led to it.
    pub(super) fn learn(&mut self, path: &Path, results: &[f32]) {
        let mut results = results.to_vec();
        let (mut nodes, mut arms) = (path.nodes.len(), path.arms.len());
        for cut in path.cuts.iter().rev() {
            self.learn_part(&path.nodes[cut.nodes..nodes], &path.arms[cut.arms..arms], &results);
            (nodes, arms) = (cut.nodes, cut.arms);
            let best = &mut self.arms[cut.best as usize];
            best.n += 1;
            best.sum += best.known;
            let child = best.child;
            results.copy_from_slice(self.exact(child).expect("its result is exact"));
        }
        self.learn_part(&path.nodes[..nodes], &path.arms[..arms], &results);
    }

    /// Notes the result of a playout for the moves that were made in it later than they could have been made on the way to it.
    pub(super) fn learn_later(&mut self, path: &Path, results: &[f32], is_made: impl Fn(u32) -> bool) {
        let mut own = path.arms.iter();
        for &node in &path.nodes {
            for (role, &result) in results.iter().enumerate() {
                let arms = self.arms_of(node, role);
                if arms.len() < 2 {
                    continue;
                }
                let own = own.next().map_or(usize::MAX, |&(arm, _)| arm as usize);
                for (at, arm) in arms.clone().zip(&mut self.arms[arms]) {
                    if at != own && is_made(arm.chosen) {
                        arm.later = (arm.later.0 + 1.0, arm.later.1 + result);
                    }
                }
            }
        }
    }

    fn learn_part(&mut self, nodes: &[u32], arms: &[(u32, u32)], results: &[f32]) {
        for &node in nodes {
            let sums = &mut self.sums[node as usize * self.n_roles..];
            sums.iter_mut().zip(results).for_each(|(sum, result)| *sum += result);
            let node = &mut self.nodes[node as usize];
            node.n += 1;
            node.pending = node.pending.saturating_sub(1);
        }
        for &(arm, role) in arms {
            let arm = &mut self.arms[arm as usize];
            arm.n += 1;
            arm.pending -= 1;
            arm.sum += results[role as usize];
        }
    }

    /// A playout will not come back.
    pub(super) fn forget(&mut self, path: &Path) {
        for &node in &path.nodes {
            let node = &mut self.nodes[node as usize];
            node.pending = node.pending.saturating_sub(1);
        }
        path.arms.iter().for_each(|&(arm, _)| self.arms[arm as usize].pending -= 1);
    }

    /// Notes exact results of a node.
    pub(super) fn set_exact(&mut self, node: u32, results: &[f32]) {
        if self.nodes[node as usize].exact == NONE {
            self.nodes[node as usize].exact = self.exact.len() as u32;
            self.exact.extend_from_slice(results);
        }
    }

    /// Passes exact results of the node `child` behind a path up as far as they decide. Returns how many nodes of the path are
    /// left above those that are decided.
    pub(super) fn prove(&mut self, path: &Path, child: u32, rule: &Rule) -> usize {
        let mut child = child;
        let mut n_arms = path.arms.len();
        for (level, &node) in path.nodes.iter().enumerate().rev() {
            if node == child {
                continue;
            }
            let counts = &self.counts[node as usize * self.n_roles..(node as usize + 1) * self.n_roles];
            let mut choosers = (0..self.n_roles).filter(|&role| counts[role] > 1);
            let results: Vec<f32> = self.exact(child).expect("it is exact").to_vec();
            match (choosers.next(), choosers.next()) {
                (None, _) => self.set_exact(node, &results),
                (Some(role), None) => {
                    n_arms -= 1;
                    self.arms[path.arms[n_arms].0 as usize].known = results[role];
                    let Some(results) = self.decided(node, role, rule) else { return level + 1 };
                    self.set_exact(node, &results);
                }
                _ => return level + 1,
            }
            child = node;
        }
        0
    }

    /// The results of a node where one role chooses, if they are known: all its moves are, or one is that nothing can change, since it
    /// is the best for the role and the worst for the others. Among equal moves, the others get the least of what these give.
    fn decided(&self, node: u32, role: usize, rule: &Rule) -> Option<Vec<f32>> {
        let mut best: Option<Vec<f32>> = None;
        let mut all = true;
        for arm in &self.arms[self.arms_of(node, role)] {
            if arm.known.is_nan() {
                all = false;
                continue;
            }
            let results = self.exact(arm.child).expect("its child is exact");
            match &mut best {
                Some(best) if best[role] == results[role] => {
                    best.iter_mut().zip(results).for_each(|(best, &result)| *best = best.min(result));
                }
                Some(best) if best[role] > results[role] => {}
                _ => best = Some(results.to_vec()),
            }
        }
        let is_last = |(other, (&result, &(least, most))): (usize, (&f32, &(f32, f32)))| match other == role {
            true => result >= most,
            false => result <= least,
        };
        best.filter(|best| all || best.iter().zip(&rule.range).enumerate().all(is_last))
    }

    /// The most promising arm of a role: a proven one if it is best, else the one that was tried most.
    pub(super) fn best_arm(&self, node: u32, role: usize, rule: &Rule) -> usize {
        let (least, most) = rule.range[role];
        let rank = |arm: &Arm| {
            let mean = if arm.n == 0 { f32::NEG_INFINITY } else { arm.sum / arm.n as f32 };
            match arm.known {
                known if known >= most => (2, 0, known),
                known if known <= least => (0, arm.n, known),
                known if !known.is_nan() => (1, arm.n, known),
                _ => (1, arm.n, mean),
            }
        };
        let arms = self.arms_of(node, role);
        // A proven result stands against means that may yet fall: it is taken if no move that was tried often has more.
        let best = arms.clone().max_by(|&one, &other| {
            let (one, other) = (rank(&self.arms[one]), rank(&self.arms[other]));
            one.0.cmp(&other.0).then(one.1.cmp(&other.1)).then(one.2.total_cmp(&other.2))
        });
        best.expect("the role has a legal move")
    }

    /// The moves on a path, for one role alone; its last joint move included.
    pub(super) fn moves(&self, path: &Path) -> Vec<u32> {
        let mut chosen = path.arms.iter();
        let mut moves = Vec::new();
        for &node in &path.nodes[..path.length] {
            match self.arms_of(node, 0).len() {
                1 => moves.push(self.arms[self.nodes[node as usize].first_arm as usize].chosen),
                _ => moves.extend(chosen.next().map(|&(arm, _)| self.arms[arm as usize].chosen)),
            }
        }
        moves
    }

    /// What follows from a node by an arm of each role.
    pub(super) fn child(&self, node: u32, arms: &[usize]) -> u32 {
        let path = Path {
            nodes: vec![node],
            arms: (0..self.n_roles)
                .filter(|&role| self.counts[node as usize * self.n_roles + role] > 1)
                .map(|role| (arms[role] as u32, role as u32))
                .collect(),
            made: Vec::new(),
            joint: Vec::new(),
            length: 1,
            cuts: Vec::new(),
        };
        self.after(&path)
    }

    /// The node of a state at most `depth` joint moves below the root.
    pub(super) fn find(&self, state: &[u64], depth: usize) -> Option<u32> {
        let joint = self.joint_list();
        let mut level = vec![0];
        for _ in 0..=depth {
            if let Some(&node) = level.iter().find(|&&node| self.state(node) == state) {
                return Some(node);
            }
            level = level.iter().flat_map(|&node| self.children(node, &joint)).map(|(child, _)| child).collect();
        }
        None
    }

    /// What follows from nodes where several roles have a choice, in order.
    fn joint_list(&self) -> Vec<(u32, u64, u32)> {
        let mut list: Vec<_> =
            self.joint_children.iter().map(|(&(node, place), &child)| (node, place, child)).collect();
        list.sort_unstable();
        list
    }

    /// What follows from a node, and where that is noted.
    fn children(&self, node: u32, joint: &[(u32, u64, u32)]) -> Vec<(u32, Key)> {
        let counts = &self.counts[node as usize * self.n_roles..(node as usize + 1) * self.n_roles];
        let n_arms: u32 = counts.iter().sum();
        let first = self.nodes[node as usize].first_arm;
        let arms = (first..first + n_arms).map(|arm| (self.arms[arm as usize].child, Key::Arm(arm)));
        let own = &joint[joint.partition_point(|entry| entry.0 < node)..joint.partition_point(|entry| entry.0 <= node)];
        let own = own.iter().map(|&(_, place, child)| (child, Key::Joint(place)));
        arms.filter(|&(child, _)| child != NONE).chain(own).collect()
    }

    /// The part of the tree below a node, as a tree of its own.
    pub(super) fn below(&self, root: u32) -> Tree {
        let mut tree = Tree { unsure: self.unsure, ..Tree::new(self.n_roles, self.n_words) };
        let joint = self.joint_list();
        let mut waiting = vec![(root, NONE, Key::Arm(NONE))];
        let mut next = 0;
        while next < waiting.len() {
            let (node, parent, key) = waiting[next];
            let copy = tree.add_node(self.state(node));
            let old = &self.nodes[node as usize];
            let roles = node as usize * self.n_roles..(node as usize + 1) * self.n_roles;
            let n_arms: usize = self.counts[roles.clone()].iter().map(|&count| count as usize).sum();
            let (first, own) = (old.first_arm as usize, tree.arms.len() as u32);
            let arms = self.arms[first..first + n_arms].iter();
            tree.arms.extend(arms.map(|&arm| Arm { pending: 0, child: NONE, ..arm }));
            let last = tree.counts.len() - self.n_roles;
            tree.counts[last..].copy_from_slice(&self.counts[roles.clone()]);
            tree.sums[last..].copy_from_slice(&self.sums[roles]);
            tree.nodes[copy as usize].n = old.n;
            if let Some(results) = self.exact(node) {
                tree.set_exact(copy, results);
            }
            match key {
                _ if parent == NONE => {}
                Key::Arm(arm) => tree.arms[arm as usize].child = copy,
                Key::Joint(place) => {
                    tree.joint_children.insert((parent, place), copy);
                }
            }
            for (child, key) in self.children(node, &joint) {
                let key = match key {
                    Key::Arm(arm) => Key::Arm(arm - old.first_arm + own),
                    joint => joint,
                };
                waiting.push((child, copy, key));
            }
            next += 1;
        }
        tree
    }
}

/// Where a child is noted.
#[derive(Clone, Copy, Debug)]
enum Key {
    Arm(u32),
    Joint(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_count_less_the_more_is_known() {
        let rave = Rave { bias: 0.01 };
        assert_eq!(rave.value(0.5, 10.0, (0.0, 0.0)), 0.5);
        // 96 / (96 + 0 + 0 + 4) of the way.
        assert!((rave.value(0.5, 0.0, (96.0, 96.0)) - 0.98).abs() < 1e-6);
        // 96 / (96 + 100 + 96 + 4) of it.
        assert!((rave.value(0.5, 100.0, (96.0, 96.0)) - (0.5 + 0.5 * 96.0 / 296.0)).abs() < 1e-6);
        assert!(rave.value(0.5, 1e6, (1e6, 1e6)) < 0.501);
    }

    /// One role with the moves 0, 1, 2 in two states, one after another.
    #[test]
    fn moves_are_noted_where_they_could_have_been_made_before() {
        let rule = Rule {
            exploration: vec![0.4],
            first: f32::INFINITY,
            range: vec![(0.0, 1.0)],
            rave: Some(Rave { bias: 0.0 }),
        };
        let mut tree = Tree::new(1, 1);
        let add = |tree: &mut Tree| {
            let node = tree.add_node(&[0]);
            (0..3).for_each(|chosen| tree.add_arm(0, chosen));
            node
        };
        add(&mut tree);
        let (mut path, mut turn) = (Path::default(), 1);
        assert_eq!(tree.descend(&rule, &mut turn, &mut path), End::New);
        let first = path.joint[0] as usize;
        let child = add(&mut tree);
        tree.link(&path, child);
        path.nodes.push(child);
        // From the second state on, moves 1 and 2 were made, whatever the first move was.
        tree.learn_later(&path, &[1.0], |chosen| chosen == first as u32 || chosen != 0);
        for chosen in 0..3 {
            let expected = if chosen != 0 && chosen != first { (1.0, 1.0) } else { (0.0, 0.0) };
            assert_eq!(tree.arms[chosen].later, expected, "move {chosen} in the first state");
            let expected = if chosen != 0 || first == 0 { (1.0, 1.0) } else { (0.0, 0.0) };
            assert_eq!(tree.arms[3 + chosen].later, expected, "move {chosen} in the second state");
        }
    }
}
