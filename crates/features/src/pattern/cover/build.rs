//! Which nodes there are, and which sources each of them has.

use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Motion, NONE, Settings};
use crate::pattern::set::{Literal, Patterns};

/// What the flip of a node costs beside its edges, in edges. Measured on Othello: 10 to 30 are about equally good, 0 is a third
/// slower.
const PER_FLIP: i64 = 16;

pub(super) struct Node {
    literals: Box<[Literal]>,
    pub(super) sources: Vec<u32>,
    /// How often it flipped, plus one.
    pub(super) rate: u64,
    /// Where it held before each move, then where after.
    truth: Box<[u64]>,
}

pub(super) struct Builder {
    /// Literals come first, then patterns, then what was added.
    pub(super) nodes: Vec<Node>,
    pub(super) n_literals: usize,
    /// The node of each literal that occurs, by the literal's number.
    pub(super) of_literal: Vec<u32>,
    /// The node of each pattern; none for the empty one.
    pub(super) of_pattern: Vec<u32>,
    /// [`PER_FLIP`], or 0 where flips are not known and edges are all that is counted.
    per_flip: i64,
}

impl Builder {
    pub(super) fn new(patterns: &Patterns, motion: Option<&Motion>) -> Builder {
        let mut used: Vec<Literal> = patterns.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let mut of_literal = vec![NONE; used.last().map_or(0, |last| last.0 as usize + 1)];
        let mut nodes = Vec::new();
        for &literal in &used {
            of_literal[literal.0 as usize] = nodes.len() as u32;
            let truth: Box<[u64]> = match motion {
                Some(motion) => motion.before.words(literal).chain(motion.after.words(literal)).collect(),
                None => Box::default(),
            };
            nodes.push(Node { literals: [literal].into(), sources: Vec::new(), rate: rate(&truth), truth });
        }
        let per_flip = if motion.is_some() { PER_FLIP } else { 0 };
        let mut builder = Builder { n_literals: nodes.len(), nodes, of_literal, of_pattern: Vec::new(), per_flip };
        for pattern in patterns.iter() {
            let node = match pattern {
                [] => NONE,
                [literal] => builder.of_literal[literal.0 as usize],
                _ => {
                    assert!(pattern.len() <= usize::from(u8::MAX), "a pattern has at most 255 literals");
                    let sources = pattern.iter().map(|literal| builder.of_literal[literal.0 as usize]).collect();
                    builder.add(sources)
                }
            };
            builder.of_pattern.push(node);
        }
        builder
    }

    /// A new node that is true where all of the sources are.
    fn add(&mut self, sources: Vec<u32>) -> u32 {
        let nodes = || sources.iter().map(|&source| &self.nodes[source as usize]);
        let mut literals: Vec<Literal> = nodes().flat_map(|node| &node.literals).copied().collect();
        literals.sort_unstable();
        literals.dedup();
        let truth = self.truth(&sources);
        self.nodes.push(Node { literals: literals.into(), sources, rate: rate(&truth), truth });
        self.nodes.len() as u32 - 1
    }

    fn truth(&self, sources: &[u32]) -> Box<[u64]> {
        let mut truth = self.nodes[sources[0] as usize].truth.clone();
        for &source in &sources[1..] {
            truth.iter_mut().zip(&self.nodes[source as usize].truth).for_each(|(word, other)| *word &= other);
        }
        truth
    }

    /// Makes the largest patterns contained in a pattern its sources, and literals only where no pattern has them.
    pub(super) fn find_covers(&mut self, patterns: &Patterns, settings: &Settings) {
        let trie = Trie::new((0..).zip(patterns.iter()));
        let mut found = Vec::new();
        for (number, pattern) in patterns.iter().enumerate() {
            if pattern.len() < 2 || pattern.len() > 64 {
                continue;
            }
            // Step 1. What it contains, as masks over its literals.
            found.clear();
            trie.subsets(pattern, settings.subsets, &mut found);
            let all = u64::MAX >> (64 - pattern.len());
            let mut candidates: Vec<(u64, u32)> = found
                .iter()
                .filter(|&&(mask, other)| mask != all && other as usize != number && mask.count_ones() > 1)
                .map(|&(mask, other)| (mask, self.of_pattern[other as usize]))
                .collect();
            candidates.sort_unstable_by_key(|&(mask, node)| (std::cmp::Reverse(mask.count_ones()), node));
            // Step 2. The maximal ones, and literals that are in none.
            let mut maximal: Vec<(u64, u32)> = Vec::new();
            for (mask, node) in candidates {
                if !maximal.iter().any(|(other, _)| mask & !other == 0) {
                    maximal.push((mask, node));
                }
            }
            let covered = maximal.iter().fold(0, |covered, (mask, _)| covered | mask);
            let literal_node = |place: usize| self.of_literal[pattern[place].0 as usize];
            let single = |place: usize| (1u64 << place, literal_node(place));
            maximal.extend((0..pattern.len()).filter(|place| covered >> place & 1 == 0).map(single));
            // Step 3. As few as possible, the quiet ones first.
            if settings.eliminate {
                maximal.extend((0..pattern.len()).filter(|place| covered >> place & 1 == 1).map(single));
                maximal = choose(maximal, all, |node| self.nodes[node as usize].rate);
            }
            let node = self.of_pattern[number] as usize;
            self.nodes[node].sources = maximal.into_iter().map(|(_, node)| node).collect();
            self.nodes[node].sources.sort_unstable();
        }
    }

    /// Draws sources together that several nodes have in common, as long as that saves something.
    pub(super) fn extract(&mut self, settings: &Settings) {
        let limit = self.nodes.len() + settings.extra_nodes;
        let mut users: FxHashMap<(u32, u32), Vec<u32>> = FxHashMap::default();
        for node in self.n_literals..self.nodes.len() {
            note_pairs(&mut users, &self.nodes[node].sources, &[], node as u32);
        }
        let mut heap: BinaryHeap<(i64, std::cmp::Reverse<(u32, u32)>)> = BinaryHeap::new();
        for (&pair, targets) in &users {
            let gain = self.gain(pair, targets.len());
            if gain >= 0 && targets.len() > 1 {
                heap.push((gain, std::cmp::Reverse(pair)));
            }
        }
        while let Some((gain, std::cmp::Reverse(pair))) = heap.pop() {
            if self.nodes.len() >= limit {
                break;
            }
            // Step 1. Who still has both: the heap may be behind.
            let Some(targets) = users.get_mut(&pair) else { continue };
            let has = |node: u32, source: u32| self.nodes[node as usize].sources.binary_search(&source).is_ok();
            targets.retain(|&target| has(target, pair.0) && has(target, pair.1));
            let targets = targets.clone();
            let now = self.gain(pair, targets.len());
            if now < gain {
                if now >= 0 && targets.len() > 1 {
                    heap.push((now, std::cmp::Reverse(pair)));
                }
                continue;
            }
            // Step 2. Everything that they have in common.
            let mut common = self.nodes[targets[0] as usize].sources.clone();
            common.retain(|&source| targets.iter().all(|&target| has(target, source)));
            // A pair that saves nothing may be part of more that does.
            if now == 0 && self.gain_of_all(&common, targets.len()) <= 0 {
                continue;
            }
            // A node that is just that can serve the others.
            let same =
                targets.iter().copied().find(|&target| self.nodes[target as usize].sources.len() == common.len());
            let shared = same.unwrap_or_else(|| self.add(common.clone()));
            let mut touched = Vec::new();
            if same.is_none() {
                note_pairs(&mut users, &common, &[], shared);
                touched.push(shared);
            }
            for &target in targets.iter().filter(|&&target| target != shared) {
                let sources = &mut self.nodes[target as usize].sources;
                sources.retain(|source| common.binary_search(source).is_err());
                let others = sources.clone();
                let place = sources.partition_point(|&source| source < shared);
                sources.insert(place, shared);
                note_pairs(&mut users, &[shared], &others, target);
                touched.push(target);
            }
            // Step 3. The pairs that came into being.
            let mut fresh: FxHashSet<(u32, u32)> = FxHashSet::default();
            for &node in &touched {
                for &source in &self.nodes[node as usize].sources {
                    if node == shared {
                        let others = self.nodes[node as usize].sources.iter();
                        fresh.extend(others.filter(|&&other| other > source).map(|&other| (source, other)));
                    } else if source != shared {
                        fresh.insert((source.min(shared), source.max(shared)));
                    }
                }
            }
            for pair in fresh {
                let n_users = users.get(&pair).map_or(0, Vec::len);
                let gain = self.gain(pair, n_users);
                if gain >= 0 && n_users > 1 {
                    heap.push((gain, std::cmp::Reverse(pair)));
                }
            }
        }
    }

    /// What is saved if `n` nodes read a shared node instead of both sources, in flips times edges.
    fn gain(&self, (one, other): (u32, u32), n: usize) -> i64 {
        let (left, right) = (&self.nodes[one as usize], &self.nodes[other as usize]);
        let words = left.truth.len() / 2;
        let mut flips = 1;
        for word in 0..words {
            let before = left.truth[word] & right.truth[word];
            let after = left.truth[words + word] & right.truth[words + word];
            flips += i64::from((before ^ after).count_ones());
        }
        (n as i64 - 1) * (left.rate + right.rate) as i64 - (n as i64 + self.per_flip) * flips
    }

    /// The same for more than two sources.
    fn gain_of_all(&self, sources: &[u32], n: usize) -> i64 {
        let rates: u64 = sources.iter().map(|&source| self.nodes[source as usize].rate).sum();
        (n as i64 - 1) * rates as i64 - (n as i64 + self.per_flip) * rate(&self.truth(sources)) as i64
    }

    /// Takes away added nodes that only one node reads.
    pub(super) fn dissolve(&mut self) {
        let is_pattern: FxHashSet<u32> = self.of_pattern.iter().copied().collect();
        let mut n_users = vec![0u32; self.nodes.len()];
        let sources = self.nodes.iter().flat_map(|node| &node.sources);
        sources.for_each(|&source| n_users[source as usize] += 1);
        for node in self.n_literals..self.nodes.len() {
            loop {
                let sources = &self.nodes[node].sources;
                let lone = |&source: &u32| {
                    source as usize >= self.n_literals && n_users[source as usize] == 1 && !is_pattern.contains(&source)
                };
                let Some(lone) = sources.iter().copied().find(lone) else { break };
                n_users[lone as usize] = 0;
                let inner = std::mem::take(&mut self.nodes[lone as usize].sources);
                let sources = &mut self.nodes[node].sources;
                sources.retain(|&source| source != lone);
                for source in inner {
                    match sources.binary_search(&source) {
                        Ok(_) => n_users[source as usize] -= 1,
                        Err(place) => sources.insert(place, source),
                    }
                }
            }
        }
    }

    /// Where nodes that are read anyway can stand for sources that flip more often, they do.
    pub(super) fn substitute(&mut self, settings: &Settings) {
        let mut is_read = vec![false; self.nodes.len()];
        self.nodes.iter().flat_map(|node| &node.sources).for_each(|&source| is_read[source as usize] = true);
        let read = || (0..).zip(&self.nodes).filter(|(node, _)| is_read[*node as usize]);
        let trie = Trie::new(read().map(|(node, own)| (node, &own.literals[..])));
        let (mut found, mut changes) = (Vec::new(), Vec::new());
        for (index, node) in self.nodes.iter().enumerate() {
            if node.sources.len() < 2 || node.literals.len() > 64 {
                continue;
            }
            found.clear();
            trie.subsets(&node.literals, settings.subsets, &mut found);
            let all = u64::MAX >> (64 - node.literals.len());
            found.retain(|&(mask, _)| mask != all);
            found.sort_unstable();
            // The edge itself counts, too: two sources make a pair.
            let cost = |source: u32| 1 + self.nodes[source as usize].rate;
            let chosen = choose(std::mem::take(&mut found), all, cost);
            let before: u64 = node.sources.iter().map(|&source| cost(source)).sum();
            if chosen.iter().map(|&(_, source)| cost(source)).sum::<u64>() < before {
                let mut sources: Vec<u32> = chosen.into_iter().map(|(_, source)| source).collect();
                sources.sort_unstable();
                changes.push((index, sources));
            }
        }
        changes.into_iter().for_each(|(node, sources)| self.nodes[node].sources = sources);
    }

    /// Takes away sources whose literals the other sources have, too.
    pub(super) fn eliminate(&mut self) {
        for index in self.n_literals..self.nodes.len() {
            let node = &self.nodes[index];
            if node.literals.len() > 64 || node.sources.is_empty() {
                continue;
            }
            let mask = |&source: &u32| {
                let place =
                    |literal| node.literals.binary_search(literal).expect("a source is contained in its target");
                let literals = self.nodes[source as usize].literals.iter();
                (literals.fold(0u64, |mask, literal| mask | 1 << place(literal)), source)
            };
            let mut sources: Vec<(u64, u32)> = node.sources.iter().map(mask).collect();
            let all = u64::MAX >> (64 - node.literals.len());
            prune(&mut sources, |source| self.nodes[source as usize].rate, all);
            sources.sort_unstable_by_key(|&(_, source)| source);
            self.nodes[index].sources = sources.into_iter().map(|(_, source)| source).collect();
        }
    }
}

/// How often a truth changes from before to after, plus one.
fn rate(truth: &[u64]) -> u64 {
    let (before, after) = truth.split_at(truth.len() / 2);
    1 + before.iter().zip(after).map(|(before, after)| u64::from((before ^ after).count_ones())).sum::<u64>()
}

/// Takes away what is not needed to cover everything, the most restless first.
fn prune(sources: &mut Vec<(u64, u32)>, rate: impl Fn(u32) -> u64, all: u64) {
    sources.sort_unstable_by_key(|&(_, node)| (std::cmp::Reverse(rate(node)), node));
    let mut index = 0;
    while index < sources.len() {
        let others = sources.iter().enumerate().filter(|&(other, _)| other != index);
        if others.fold(0, |covered, (_, (mask, _))| covered | mask) == all {
            sources.remove(index);
        } else {
            index += 1;
        }
    }
}

/// A greedy set cover: what covers most literals for its cost comes first; what the others cover goes again.
fn choose(mut candidates: Vec<(u64, u32)>, all: u64, cost: impl Fn(u32) -> u64) -> Vec<(u64, u32)> {
    let (mut left, mut chosen) = (all, Vec::new());
    while left != 0 {
        let best = (0..candidates.len())
            .max_by(|&one, &other| {
                let ((one, first), (other, second)) = (candidates[one], candidates[other]);
                let gain = |mask: u64, node: u32| u64::from((mask & left).count_ones()) * cost(node);
                // One covers more for its cost than the other, written without division.
                gain(one, second).cmp(&gain(other, first)).then(second.cmp(&first))
            })
            .expect("the literals themselves cover everything");
        let best = candidates.swap_remove(best);
        left &= !best.0;
        chosen.push(best);
    }
    prune(&mut chosen, cost, all);
    chosen
}

/// Notes that a node has each pair of sources; with `others`, each pair of one from each list.
fn note_pairs(users: &mut FxHashMap<(u32, u32), Vec<u32>>, sources: &[u32], others: &[u32], node: u32) {
    for (index, &one) in sources.iter().enumerate() {
        let rest = if others.is_empty() { &sources[index + 1..] } else { others };
        for &other in rest {
            users.entry((one.min(other), one.max(other))).or_default().push(node);
        }
    }
}

/// Patterns with numbers, as a tree of prefixes.
struct Trie {
    children: FxHashMap<(u32, Literal), u32>,
    /// The pattern that ends at each node.
    ends: Vec<u32>,
}

impl Trie {
    fn new<'a>(patterns: impl Iterator<Item = (u32, &'a [Literal])>) -> Trie {
        let mut trie = Trie { children: FxHashMap::default(), ends: vec![NONE] };
        for (number, pattern) in patterns {
            let mut node = 0;
            for &literal in pattern {
                node = *trie.children.entry((node, literal)).or_insert_with(|| {
                    trie.ends.push(NONE);
                    trie.ends.len() as u32 - 1
                });
            }
            trie.ends[node as usize] = number;
        }
        trie
    }

    /// What is contained in a pattern, as masks over its literals; gives up after so many steps.
    fn subsets(&self, pattern: &[Literal], mut steps: usize, found: &mut Vec<(u64, u32)>) {
        let mut open = vec![(0u32, 0usize, 0u64)];
        while let Some((node, from, mask)) = open.pop() {
            if self.ends[node as usize] != NONE {
                found.push((mask, self.ends[node as usize]));
            }
            for (place, &literal) in pattern.iter().enumerate().skip(from) {
                if steps == 0 {
                    return;
                }
                steps -= 1;
                if let Some(&child) = self.children.get(&(node, literal)) {
                    open.push((child, place + 1, mask | 1 << place));
                }
            }
        }
    }
}
