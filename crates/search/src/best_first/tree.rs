//! The tree of a best-first search: states with what is expected of them.

use crate::simultaneous::mix;

/// No node, or no role.
pub(super) const NONE: u32 = u32::MAX;
/// More than one role.
pub(super) const SEVERAL: u32 = u32::MAX - 1;
/// Rounds of regret matching where several roles choose.
const ROUNDS: usize = 16;

/// A state that has been judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) parent: u32,
    /// The states that follow, one for each move; they stand together. None until the state is opened.
    pub(super) first: u32,
    pub(super) n_children: u32,
    /// The role that chooses here, if one does, or `SEVERAL`; known once the state is opened.
    pub(super) chooser: u32,
    /// States opened here and below.
    pub(super) n: u32,
    /// States that are being opened here and below.
    pub(super) pending: u32,
    /// Whether what is expected is exact.
    pub(super) exact: bool,
    /// Whether all joint moves are among the children.
    pub(super) whole: bool,
    /// How often its joint move is made, where several roles choose.
    pub(super) part: f32,
}

/// The tree. Node 0 is its root.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) n_roles: usize,
    pub(super) n_words: usize,
    pub(super) nodes: Vec<Node>,
    states: Vec<u64>,
    /// For each node and role: what is expected if all play on as well as is known.
    values: Vec<f32>,
    /// The same for the mean of all that was judged below.
    sums: Vec<f32>,
    /// For each node, the joint move that leads there.
    joints: Vec<u32>,
    /// Whether a match without a result was met. It counts for something, and what rests on that is not proven.
    pub(super) unsure: bool,
}

/// How moves are chosen in the tree.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// For each role, how much is added for what was looked at seldom.
    pub(super) doubt: Vec<f32>,
    /// How much less a move is held to promise if all that was looked at below is being opened.
    pub(super) held: f32,
    /// How much the best line counts, against the mean of all lines.
    pub(super) best: f32,
    /// For each role, its least and greatest result.
    pub(super) range: Vec<(f32, f32)>,
}

impl Tree {
    pub(super) fn new(n_roles: usize, n_words: usize) -> Tree {
        Tree { n_roles, n_words, ..Tree::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + 8 * self.n_words + 12 * self.n_roles)
    }

    pub(super) fn state(&self, node: u32) -> &[u64] {
        &self.states[node as usize * self.n_words..(node as usize + 1) * self.n_words]
    }

    pub(super) fn values(&self, node: u32) -> &[f32] {
        &self.values[node as usize * self.n_roles..(node as usize + 1) * self.n_roles]
    }

    pub(super) fn joint(&self, node: u32) -> &[u32] {
        &self.joints[node as usize * self.n_roles..(node as usize + 1) * self.n_roles]
    }

    pub(super) fn mean(&self, node: u32, role: usize) -> f32 {
        self.sums[node as usize * self.n_roles + role] / (self.nodes[node as usize].n + 1) as f32
    }

    pub(super) fn children(&self, node: u32) -> std::ops::Range<u32> {
        let node = &self.nodes[node as usize];
        node.first..node.first + node.n_children
    }

    pub(super) fn add(&mut self, parent: u32, state: &[u64], joint: &[u32], values: &[f32], exact: bool) -> u32 {
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            first: NONE,
            n_children: 0,
            chooser: NONE,
            n: 0,
            pending: 0,
            exact,
            whole: true,
            part: 0.0,
        });
        self.states.extend_from_slice(state);
        self.joints.extend_from_slice(joint);
        self.values.extend_from_slice(values);
        self.sums.extend_from_slice(values);
        node
    }

    /// A state to open: from the root, always on by the move that promises most. Counts it as being opened all the way. `None` if that
    /// state is being opened already.
    pub(super) fn descend(&mut self, rule: &Rule, turn: &mut u64) -> Option<u32> {
        let mut node = 0;
        while self.nodes[node as usize].n_children > 0 {
            node = self.choose(node, rule, turn);
        }
        if self.nodes[node as usize].pending > 0 {
            return None;
        }
        let mut up = node;
        while up != NONE {
            self.nodes[up as usize].pending += 1;
            up = self.nodes[up as usize].parent;
        }
        Some(node)
    }

    /// The child to look at next.
    fn choose(&self, node: u32, rule: &Rule, turn: &mut u64) -> u32 {
        let parent = &self.nodes[node as usize];
        if parent.n_children == 1 {
            return parent.first;
        }
        if parent.chooser == SEVERAL {
            return self.choose_joint(node);
        }
        let role = parent.chooser as usize;
        let bonus = rule.doubt[role] * ((parent.n + parent.pending + 1) as f32).ln().sqrt();
        *turn = turn.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let offset = ((*turn >> 33) * u64::from(parent.n_children)) >> 31;
        let (mut best, mut best_score) = (NONE, f32::NEG_INFINITY);
        for place in 0..parent.n_children {
            let child = parent.first + (place + offset as u32) % parent.n_children;
            let entry = &self.nodes[child as usize];
            if entry.exact {
                continue;
            }
            let tried = (entry.n + entry.pending + 1) as f32;
            let value = rule.best * self.values(child)[role] + (1.0 - rule.best) * self.mean(child, role);
            // What is being opened is held to promise less, so that others are opened beside it.
            let score = value + bonus / tried.sqrt() - rule.held * entry.pending as f32 / tried;
            if score > best_score {
                (best, best_score) = (child, score);
            }
        }
        // Where everything is exact, so is the state itself, and nobody comes here.
        if best == NONE { parent.first } else { best }
    }

    /// The joint move to look at next: each as often as it is made, and all of them now and then.
    fn choose_joint(&self, node: u32) -> u32 {
        const EVEN: f32 = 0.2;
        let even = EVEN / self.nodes[node as usize].n_children as f32;
        let rank = |child: u32| {
            let entry = &self.nodes[child as usize];
            let wanted = if entry.exact { 0.0 } else { (1.0 - EVEN) * entry.part + even };
            wanted / (1 + entry.n + entry.pending) as f32
        };
        self.children(node).max_by(|&one, &other| rank(one).total_cmp(&rank(other))).expect("it has children")
    }

    /// Takes what was found out about a node's children up to the root.
    pub(super) fn back_up(&mut self, node: u32, rule: &Rule) {
        let mut at = node;
        while at != NONE {
            if !self.nodes[at as usize].exact {
                self.settle(at, rule);
            }
            for role in 0..self.n_roles {
                self.sums[at as usize * self.n_roles + role] += self.values[node as usize * self.n_roles + role];
            }
            let entry = &mut self.nodes[at as usize];
            entry.n += 1;
            entry.pending = entry.pending.saturating_sub(1);
            at = entry.parent;
        }
    }

    /// What is expected of a node by its children: what the best of them promises to the role that chooses. Exact if all are, or if
    /// nothing can change it: the best for the role and the worst for the others. Then the others get the least that equal moves give.
    fn settle(&mut self, node: u32, rule: &Rule) {
        if self.nodes[node as usize].chooser == SEVERAL {
            return self.settle_joint(node);
        }
        let Some((best, all)) = self.best_child(node) else { return };
        let exact = self.nodes[best as usize].exact;
        let chooser = self.nodes[node as usize].chooser;
        let is_last = |(role, (&value, &(least, most))): (usize, (&f32, &(f32, f32)))| match role == chooser as usize {
            true => value >= most,
            false => value <= least,
        };
        let is_last = self.values(best).iter().zip(&rule.range).enumerate().all(is_last);
        let mut values = self.values(best).to_vec();
        if all && chooser != NONE {
            let own = values[chooser as usize];
            for child in self.children(node).filter(|&child| self.values(child)[chooser as usize] == own) {
                values.iter_mut().zip(self.values(child)).for_each(|(value, other)| *value = value.min(*other));
            }
        }
        let to = node as usize * self.n_roles;
        self.values[to..to + self.n_roles].copy_from_slice(&values);
        self.nodes[node as usize].exact = exact && (all || is_last);
    }

    /// The same where several roles choose: they mix their moves.
    fn settle_joint(&mut self, node: u32) {
        let children = self.children(node);
        let span = children.start as usize * self.n_roles..children.end as usize * self.n_roles;
        let mixed = mix(&self.joints[span.clone()], &self.values[span.clone()], self.n_roles, ROUNDS);
        self.nodes[children.start as usize..children.end as usize]
            .iter_mut()
            .zip(&mixed.parts)
            .for_each(|(child, &part)| child.part = part);
        let to = node as usize * self.n_roles;
        self.values[to..to + self.n_roles].copy_from_slice(&mixed.values);
        // Mixtures are found by approximation: exact is only what nobody can change.
        let same = self.values[span].chunks(self.n_roles).all(|values| values == &mixed.values[..]);
        let same = same && self.nodes[node as usize].whole;
        self.nodes[node as usize].exact = same && children.clone().all(|child| self.nodes[child as usize].exact);
    }

    /// The child that promises most to the role that chooses, and whether all are exact.
    fn best_child(&self, node: u32) -> Option<(u32, bool)> {
        let entry = &self.nodes[node as usize];
        if entry.chooser == SEVERAL {
            let part = |child: u32| self.nodes[child as usize].part;
            let made = self.children(node).max_by(|&one, &other| part(one).total_cmp(&part(other)));
            return made.map(|child| (child, false));
        }
        let mut children = self.children(node);
        let first = children.next()?;
        if entry.chooser == NONE {
            return Some((first, self.nodes[first as usize].exact));
        }
        let role = entry.chooser as usize;
        let (mut best, mut all) = (first, self.nodes[first as usize].exact);
        for child in children {
            let exact = self.nodes[child as usize].exact;
            all &= exact;
            let (one, other) = (self.values(child)[role], self.values(best)[role]);
            if one > other || one == other && exact && !self.nodes[best as usize].exact {
                best = child;
            }
        }
        Some((best, all))
    }

    /// How good a child is as an answer: proven wins first, proven losses last, else the one that was looked at most.
    pub(super) fn rank(&self, child: u32, role: usize, rule: &Rule) -> (u8, u32, f32) {
        let entry = &self.nodes[child as usize];
        let value = self.values(child)[role];
        let (least, most) = rule.range[role];
        match entry.exact {
            true if value >= most => (2, u32::MAX - entry.n, value),
            true if value <= least => (0, entry.n, value),
            _ => (1, entry.n, value),
        }
    }

    /// What a role may hope for at a node if it plays as well as is known and the others move by chance, so many joint moves on.
    pub(super) fn hope(&self, node: u32, role: usize, depth: u32) -> f32 {
        let entry = &self.nodes[node as usize];
        if depth == 0 || entry.n_children == 0 || entry.chooser == SEVERAL {
            return self.values(node)[role];
        }
        let hopes = self.children(node).map(|child| self.hope(child, role, depth - 1));
        if entry.chooser == role as u32 {
            hopes.fold(f32::NEG_INFINITY, f32::max)
        } else {
            hopes.sum::<f32>() / entry.n_children as f32
        }
    }

    /// The child of the root's line.
    pub(super) fn expected_child(&self, node: u32) -> Option<u32> {
        self.best_child(node).map(|(child, _)| child)
    }

    /// The node of a state at most `depth` joint moves below the root.
    pub(super) fn find(&self, state: &[u64], depth: usize) -> Option<u32> {
        let mut level = if self.nodes.is_empty() { vec![] } else { vec![0] };
        for _ in 0..=depth {
            if let Some(&node) = level.iter().find(|&&node| self.state(node) == state) {
                return Some(node);
            }
            level = level.iter().flat_map(|&node| self.children(node)).collect();
        }
        None
    }

    /// The part of the tree below a node, as a tree of its own.
    pub(super) fn below(&self, root: u32) -> Tree {
        let mut tree = Tree { unsure: self.unsure, ..Tree::new(self.n_roles, self.n_words) };
        let mut waiting = vec![root];
        let roles = |node: u32| node as usize * self.n_roles..(node as usize + 1) * self.n_roles;
        tree.add(NONE, self.state(root), self.joint(root), self.values(root), false);
        let mut next = 0;
        while next < waiting.len() {
            let old = waiting[next];
            let entry = self.nodes[old as usize];
            let copy = next as u32;
            let first = tree.nodes.len() as u32;
            for child in self.children(old) {
                tree.add(copy, self.state(child), self.joint(child), self.values(child), false);
                waiting.push(child);
            }
            let first = if entry.n_children > 0 { first } else { NONE };
            let parent = tree.nodes[copy as usize].parent;
            tree.nodes[copy as usize] = Node { parent, first, pending: 0, ..entry };
            tree.sums[copy as usize * self.n_roles..(copy as usize + 1) * self.n_roles]
                .copy_from_slice(&self.sums[roles(old)]);
            next += 1;
        }
        tree
    }
}
