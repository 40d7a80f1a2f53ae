//! A systematic search that dives: states by their depth, and the most promising of each depth first.
//!
//! A cycle goes through the depths from the root down and takes some open states from each, among them those that were found just
//! before (cyclic best-first search; Kao, Sewell and Jacobson 2009). So each cycle is a beam search that reaches the end of matches,
//! nothing is looked at twice, and when no state is open any more all of them have been seen. Each cycle follows one guide
//! ([`super::guide`]), and later cycles take more states.

use std::collections::BinaryHeap;

use machine::lanes::LANES;

use super::expand::{Children, Expander};
use super::guide::{GUIDES, Guide, Guides, Scores};
use super::states::States;
use crate::evaluate::Evaluate;

/// What a move costs that is none of those that are needed; as much as a choice among so many.
const OTHERS: u32 = 16 * 8;
/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    /// The move that led here.
    chosen: u32,
    /// Moves from the first state on.
    depth: u32,
    /// How much choice there was on the way, in sixteenths of a bit.
    choices: u32,
    open: bool,
    /// Of the state, without what does not tell states apart.
    key: u64,
}

/// What the search works with.
pub(super) struct Tools<'a> {
    pub(super) expander: &'a mut Expander,
    pub(super) guides: &'a mut Guides,
    pub(super) evaluate: Option<&'a mut (dyn Evaluate + 'static)>,
}

/// What a step came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// States that were looked at.
    pub(super) n_states: u64,
    /// Those of them that were judged, and the states besides the first whose moves were made.
    pub(super) n_judged: u64,
    pub(super) n_opened: u64,
    /// A better result, and the moves that lead to it.
    pub(super) better: Option<(f32, Vec<u32>)>,
}

/// States that were found from a first one on.
pub(super) struct Tree {
    nodes: Vec<Node>,
    states: States,
    /// Nodes by their keys.
    table: Vec<u32>,
    /// For each depth and guide, open nodes by their scores, and nodes that were open.
    queues: Vec<[BinaryHeap<u64>; GUIDES.len()]>,
    /// The fluents that tell states apart.
    mask: Box<[u64]>,
    /// Whether a state is worth more if it is reached sooner, since moves are counted and the count is masked.
    hurried: bool,
    root: u32,
    /// The cycle, where it is, and how many states it has taken.
    cycle: u32,
    guide: usize,
    /// The last guide whose turn it was.
    last: usize,
    depth: usize,
    n_taken: u64,
    /// Moves that are to be tried, in reverse order.
    steps: Vec<(u32, u32)>,
    /// For each guide, the best result of its last cycle.
    merits: [f32; GUIDES.len()],
    /// For each guide, the least and the greatest score.
    spans: [(u16, u16); GUIDES.len()],
    /// Whether all that follows from closed states is there.
    pub(super) complete: bool,
    /// Whether a match was met that can't go on, or ends where the rules give no single goal value.
    pub(super) unsure: bool,
    pub(super) finished: bool,
    /// States whose moves were listed.
    n_closed: u64,
    /// States looked at, and those of them that were looked at because they come first.
    pub(super) n_states: u64,
    n_broad: u64,
    /// Whether the least deep states are taken just now, and where they may be.
    broad: bool,
    shallow: usize,
    max_depth: u32,
    width: usize,
    chance: u64,
}

impl Tree {
    /// A tree with a first state. `width` is the greatest number of states taken from a depth at once.
    pub(super) fn new(state: &[u64], mask: &[u64], hurried: bool, max_depth: u32, width: usize, seed: u64) -> Tree {
        let mut tree = Tree {
            nodes: Vec::new(),
            states: States::new(state.len()),
            table: vec![NONE; 1 << 10],
            queues: Vec::new(),
            mask: mask.into(),
            hurried,
            root: 0,
            cycle: 0,
            guide: 0,
            last: 0,
            depth: 0,
            n_taken: 0,
            steps: Vec::new(),
            merits: [f32::NEG_INFINITY; GUIDES.len()],
            spans: [(u16::MAX, 0); GUIDES.len()],
            complete: true,
            unsure: false,
            finished: false,
            n_closed: 0,
            n_states: 0,
            n_broad: 0,
            broad: false,
            shallow: 0,
            max_depth,
            width,
            chance: seed,
        };
        let key = tree.key(state);
        tree.add(Node { parent: NONE, chosen: 0, depth: 0, choices: 0, open: true, key }, state);
        tree.open(0, &[0; GUIDES.len()]);
        tree
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + 8 + 8 * GUIDES.len()) + self.states.bytes()
    }

    /// Begins anew from where it is, with other chances.
    pub(super) fn restart(&mut self) {
        let state = self.states.get(self.root);
        self.restart_at(&state);
    }

    /// Begins anew from another state.
    pub(super) fn restart_at(&mut self, state: &[u64]) {
        let chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        *self = Tree::new(state, &self.mask, self.hurried, self.max_depth, self.width, chance);
    }

    /// Makes a state that follows from the root the root; says whether it was found.
    pub(super) fn go_to(&mut self, state: &[u64]) -> bool {
        if self.nodes.is_empty() {
            return false;
        }
        let node = self.find(self.key(state), state);
        if node == NONE || self.states.get(node) != state || !self.is_alive(node) {
            return false;
        }
        if node != self.root {
            self.root = node;
            self.complete = false;
            self.finished = false;
            let steps = std::mem::take(&mut self.steps);
            self.steps = steps.into_iter().filter(|step| self.is_alive(step.0)).collect();
        }
        true
    }

    /// The first move on the way to the most promising state that is open; `None` if there is none.
    pub(super) fn promising(&self) -> Option<u32> {
        let own = GUIDES.iter().position(|&guide| guide == Guide::Need)?;
        let mut best: Option<u64> = None;
        // The least deep of the best.
        for &entry in self.queues.iter().flat_map(|queues| queues[own].iter()) {
            let node = entry as u32;
            if best.is_none_or(|best| entry >> 48 > best >> 48)
                && self.nodes[node as usize].open
                && node != self.root
                && self.is_alive(node)
            {
                best = Some(entry);
            }
        }
        self.line(best? as u32).first().copied()
    }

    /// Looks at up to `max` more states; less where it pays to stop. `least` is the result that is known already.
    pub(super) fn step(&mut self, tools: &mut Tools, max: usize, least: f32) -> Found {
        if self.steps.is_empty() {
            self.broad = 2 * self.n_broad < self.n_states;
            self.take(tools);
        }
        let n = self.n_steps(max);
        let batch: Vec<(u32, u32)> = self.steps.split_off(self.steps.len() - n).into_iter().rev().collect();
        if batch.is_empty() {
            return Found::default();
        }
        let mut parents: Vec<(u32, Vec<u64>)> = Vec::new();
        for &(node, _) in &batch {
            if parents.last().is_none_or(|&(last, _)| last != node) {
                parents.push((node, self.states.get(node)));
            }
        }
        let mut at = 0;
        let mut steps: Vec<(&[u64], u32)> = Vec::with_capacity(n);
        for &(node, chosen) in &batch {
            at += usize::from(parents[at].0 != node);
            steps.push((&parents[at].1, chosen));
        }
        let mut children = Children::default();
        tools.expander.children(&steps, &mut children);
        self.n_states += n as u64;
        self.n_broad += if self.broad { n as u64 } else { 0 };
        let mut found = Found { n_states: n as u64, ..Found::default() };
        found.n_opened = parents.iter().filter(|(node, _)| self.nodes[*node as usize].depth > 0).count() as u64;
        let n_words = parents[0].1.len();
        let mut least = least;
        let mut fresh: Vec<(u32, usize)> = Vec::new();
        for (place, &(parent, chosen)) in batch.iter().enumerate() {
            if children.terminal[place] {
                let value = children.goals[place];
                self.unsure |= value.is_nan();
                if !self.broad {
                    self.merits[self.guide] = self.merits[self.guide].max(value);
                }
                if value > least {
                    let mut line = self.line(parent);
                    line.push(chosen);
                    found.better = Some((value, line));
                    least = value;
                }
            } else if children.n_legal[place] > 0 {
                let state = &children.states[place * n_words..(place + 1) * n_words];
                let choices = match children.n_choices[place] {
                    0 => OTHERS,
                    n => (16.0 * (n as f32).log2()) as u32,
                };
                if let Some(node) = self.meet(parent, chosen, choices, state) {
                    fresh.push((node, place));
                }
            } else {
                self.unsure = true;
            }
        }
        let state = |place: usize| &children.states[place * n_words..(place + 1) * n_words];
        let states: Vec<&[u64]> = fresh.iter().map(|&(_, place)| state(place)).collect();
        found.n_judged = states.len() as u64;
        let distances = tools.guides.distances(&states);
        let mut estimates = Vec::new();
        if let Some(evaluate) = &mut tools.evaluate {
            evaluate.values(&states, &mut estimates);
        }
        for (at, &(node, place)) in fresh.iter().enumerate() {
            let estimate = estimates.get(at).copied().unwrap_or(0.0);
            let choices = self.nodes[node as usize].choices;
            let scores = tools.guides.scores(&children, place, states[at], distances[at], choices, estimate);
            self.open(node, &scores);
        }
        found
    }

    /// How many steps go together: all of a node, as far as that is possible.
    fn n_steps(&self, max: usize) -> usize {
        let all = self.steps.len();
        let n = all.min(max).min(LANES);
        if n == all {
            return n;
        }
        let cut = self.steps[all - n - 1].0;
        let n_cut = self.steps[all - n..].iter().take_while(|step| step.0 == cut).count();
        if n_cut < n { n - n_cut } else { n }
    }

    /// Takes open nodes of the next depth that has some, and lists their moves.
    fn take(&mut self, tools: &mut Tools) {
        let mut taken: Vec<u32> = Vec::new();
        while self.broad && taken.is_empty() && self.shallow < self.queues.len() {
            self.pop(self.shallow, LANES, &mut taken);
            self.shallow += usize::from(taken.len() < LANES);
        }
        while taken.is_empty() {
            if self.depth >= self.queues.len() {
                if self.n_taken == 0 && self.depth > 0 {
                    self.finished = true;
                    return;
                }
                self.next_cycle();
            }
            self.pop(self.depth, self.next_width(), &mut taken);
            self.depth += 1;
            self.n_taken += taken.len() as u64;
        }
        if self.nodes[taken[0] as usize].depth >= self.max_depth {
            self.complete = false;
            return;
        }
        self.n_closed += taken.len() as u64;
        let mut moves = Vec::new();
        for nodes in taken.chunks(LANES) {
            let states: Vec<Vec<u64>> = nodes.iter().map(|&node| self.states.get(node)).collect();
            let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
            moves.clear();
            tools.expander.legal(&views, &mut moves);
            self.steps.extend(moves.iter().map(|&(place, chosen)| (nodes[place as usize], chosen)));
        }
        self.steps.reverse();
    }

    /// How many states a cycle takes from a depth: as many as have a few dozen moves, at first. In wide games a step takes long
    /// whether it is of few states or of many.
    fn next_width(&self) -> usize {
        let moves = if self.mask.len() < super::states::LISTED { 64 } else { LANES as u64 };
        let first = (moves * self.n_closed / self.n_states.max(1)).max(2) as usize;
        let n_rounds = self.cycle / (2 * GUIDES.len() as u32);
        (first << n_rounds.min(20)).min(self.width)
    }

    /// Takes open nodes of a depth, the most promising first.
    fn pop(&mut self, depth: usize, n: usize, taken: &mut Vec<u32>) {
        while taken.len() < n {
            let Some(entry) = self.queues[depth][self.guide].pop() else { break };
            let node = entry as u32;
            if std::mem::replace(&mut self.nodes[node as usize].open, false) && self.is_alive(node) {
                taken.push(node);
            }
        }
    }

    fn next_cycle(&mut self) {
        self.depth = self.nodes[self.root as usize].depth as usize;
        self.n_taken = 0;
        // The guide that did best, by turns with all that tell states apart.
        self.cycle += 1;
        let telling = |guide: &usize| self.spans[*guide].0 < self.spans[*guide].1;
        let round_robin = || (0..GUIDES.len()).map(|step| (self.last + step + 1) % GUIDES.len()).find(telling);
        let by_merit =
            |one: &usize, other: &usize| self.merits[*one].total_cmp(&self.merits[*other]).then(other.cmp(one));
        let best = || (0..GUIDES.len()).filter(telling).max_by(by_merit);
        if self.cycle.is_multiple_of(2) {
            self.guide = best().unwrap_or(0);
        } else {
            self.guide = round_robin().unwrap_or(0);
            self.last = self.guide;
        }
        self.merits[self.guide] = f32::NEG_INFINITY;
    }

    /// Notes a state; its node if it is to be looked at.
    fn meet(&mut self, parent: u32, chosen: u32, choices: u32, state: &[u64]) -> Option<u32> {
        let key = self.key(state);
        let depth = self.nodes[parent as usize].depth + 1;
        let old = self.find(key, state);
        if old != NONE && self.is_alive(old) {
            let node = &mut self.nodes[old as usize];
            if node.depth <= depth {
                return None;
            }
            if !self.hurried {
                // A shorter way to it. Its parent is no descendant: those are deeper.
                (node.parent, node.chosen, node.depth) = (parent, chosen, depth);
                return None;
            }
            node.open = false;
        }
        let choices = self.nodes[parent as usize].choices + choices;
        Some(self.add(Node { parent, chosen, depth, choices, open: true, key }, state))
    }

    fn open(&mut self, node: u32, scores: &Scores) {
        let depth = self.nodes[node as usize].depth as usize;
        if self.queues.len() <= depth {
            self.queues.resize_with(depth + 1, Default::default);
        }
        self.shallow = self.shallow.min(depth);
        self.chance = self.chance.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let tie = self.chance >> 48 << 32;
        for ((queue, span), &score) in self.queues[depth].iter_mut().zip(&mut self.spans).zip(scores) {
            queue.push(u64::from(score) << 48 | tie | u64::from(node));
            if score != 0 {
                *span = (span.0.min(score), span.1.max(score));
            }
        }
    }

    /// The moves from the root to a node.
    fn line(&self, node: u32) -> Vec<u32> {
        let mut line = Vec::new();
        let mut at = node;
        while at != self.root {
            line.push(self.nodes[at as usize].chosen);
            at = self.nodes[at as usize].parent;
        }
        line.reverse();
        line
    }

    /// Whether a node follows from the root.
    fn is_alive(&self, node: u32) -> bool {
        let mut at = node;
        while at != self.root {
            if at == NONE {
                return false;
            }
            at = self.nodes[at as usize].parent;
        }
        true
    }

    fn key(&self, state: &[u64]) -> u64 {
        let mut key = 0x243f_6a88_85a3_08d3u64;
        for (word, mask) in state.iter().zip(&self.mask) {
            let product = u128::from(key ^ (word & mask)) * 0x9e37_79b9_7f4a_7c15u128;
            key = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x1319_8a2e_0370_7345);
        }
        key
    }

    /// The node of a state, or of one that is not told apart from it.
    fn find(&self, key: u64, state: &[u64]) -> u32 {
        self.table[self.place(key, state)]
    }

    /// Where a state with its key is in the table, or where it belongs. Keys only propose: states are compared.
    fn place(&self, key: u64, state: &[u64]) -> usize {
        let mut place = key as usize & (self.table.len() - 1);
        while self.table[place] != NONE {
            let node = self.table[place];
            if self.nodes[node as usize].key == key && self.states.is(node, state, &self.mask) {
                break;
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        place
    }

    /// Adds a node, which takes the place of one that is not told apart from it.
    fn add(&mut self, node: Node, state: &[u64]) -> u32 {
        let number = self.nodes.len() as u32;
        let key = node.key;
        self.nodes.push(node);
        self.states.push(state);
        let place = self.place(key, state);
        self.table[place] = number;
        if 2 * self.nodes.len() > self.table.len() {
            self.table = vec![NONE; 2 * self.table.len()];
            // Later nodes replace earlier ones.
            for number in 0..self.nodes.len() {
                let place = self.place(self.nodes[number].key, &self.states.get(number as u32));
                self.table[place] = number as u32;
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States that have the same key by chance are told apart, also where the table has grown.
    #[test]
    fn keys_only_propose() {
        let mut tree = Tree::new(&[0], &[!0 << 1], false, 100, 8, 1);
        let node = |key| Node { parent: 0, chosen: 0, depth: 1, choices: 0, open: true, key };
        let numbers: Vec<u32> = (1..1_000u64).map(|state| tree.add(node(state % 3), &[2 * state])).collect();
        for (state, number) in (1..1_000).zip(numbers) {
            assert_eq!(tree.find(state % 3, &[2 * state]), number);
            // What is masked tells nothing apart.
            assert_eq!(tree.find(state % 3, &[2 * state + 1]), number);
        }
        assert_eq!(tree.find(1, &[2_000]), NONE);
    }
}
