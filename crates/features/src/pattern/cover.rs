//! Matching many patterns while states change: cover propagation (after Kaneko, Yamaguchi and Kawai).
//!
//! Literals and patterns are nodes of a graph. A node is true when all of its sources are, and it counts how many of them are
//! still missing. When a fluent flips, only the counters behind nodes that flip are touched; the sum of the weights of all
//! true patterns is kept up on the way. Taking a move back is the same update the other way round.
//!
//! The fewer edges behind nodes that flip often, the faster. Sources of a pattern may be the largest patterns contained in it
//! instead of its literals ([`Settings::covers`]); of these, so few suffice that their literals together are the pattern's
//! ([`Settings::eliminate`]); and sources that many patterns have in common get a node of their own that stands for all of
//! them ([`Settings::extract`]), which is cube extraction in logic synthesis. Edges are weighed by how often their source was
//! seen to flip in played moves ([`Motion`]).

use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::frequency::Positions;
use super::set::{Literal, Patterns};

/// Which of the three ways to save edges are used.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Patterns have patterns as sources, not only literals.
    pub covers: bool,
    /// Only as many of them as are needed.
    pub eliminate: bool,
    /// Common sources are drawn together.
    pub extract: bool,
    /// The most nodes that may be added for that.
    pub extra_nodes: usize,
    /// The most patterns that are looked at to find those contained in one.
    pub subsets: usize,
}

impl Settings {
    /// All three.
    pub const ALL: Settings =
        Settings { covers: true, eliminate: true, extract: true, extra_nodes: 1_000_000, subsets: 20_000 };
    /// None of them: every pattern counts its literals.
    pub const PLAIN: Settings = Settings { covers: false, eliminate: false, extract: false, ..Settings::ALL };
}

/// A state before a move and the one after it.
pub type Change = (Box<[u64]>, Box<[u64]>);

/// States before and after moves, which tell how often a conjunction flips.
#[derive(Clone, Debug)]
pub struct Motion {
    before: Positions,
    after: Positions,
}

impl Motion {
    /// From moves that were made.
    pub fn new(n_fluents: usize, moves: &[Change]) -> Motion {
        Motion {
            before: Positions::new(n_fluents, moves.iter().map(|(before, _)| &before[..])),
            after: Positions::new(n_fluents, moves.iter().map(|(_, after)| &after[..])),
        }
    }
}

/// Patterns with weights, compiled for matching; shared between threads.
#[derive(Clone, Debug)]
pub struct Cover {
    /// The node of each literal that occurs, by the literal's number.
    literals: Vec<u32>,
    /// The node of each pattern.
    patterns: Vec<u32>,
    /// How many sources each node has; 1 for literals.
    n_sources: Vec<u8>,
    weights: Vec<i32>,
    /// What is added always: the weight of the empty pattern.
    constant: i64,
    /// The nodes below this number are read by others.
    n_read: u32,
    /// The nodes behind each node, as a range of `targets`.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Cover {
    /// Compiles patterns with their weights. Without motion every source is taken to flip equally often.
    ///
    /// # Panics
    /// If a pattern has more than 255 literals.
    pub fn build(patterns: &Patterns, weights: &[i32], motion: Option<&Motion>, settings: &Settings) -> Cover {
        let mut builder = Builder::new(patterns, motion);
        if settings.covers {
            builder.find_covers(patterns, settings);
        }
        if settings.extract {
            builder.extract(settings);
            builder.dissolve();
        }
        if settings.eliminate {
            builder.eliminate();
        }
        builder.compile(patterns, weights)
    }

    /// How many nodes there are, literals included.
    pub fn n_nodes(&self) -> usize {
        self.n_sources.len()
    }

    /// How many edges there are.
    pub fn n_edges(&self) -> usize {
        self.targets.len()
    }

    /// How many edges lead into a pattern.
    pub fn n_sources(&self, pattern: u32) -> usize {
        usize::from(self.n_sources[self.patterns[pattern as usize] as usize])
    }
}

struct Node {
    literals: Box<[Literal]>,
    sources: Vec<u32>,
    /// How often it flipped, plus one.
    rate: u64,
    /// Where it held before each move, then where after.
    truth: Box<[u64]>,
}

struct Builder {
    nodes: Vec<Node>,
    n_literals: usize,
    /// The node of each literal that occurs, by the literal's number.
    of_literal: Vec<u32>,
    /// The node of each pattern.
    of_pattern: Vec<u32>,
}

impl Builder {
    fn new(patterns: &Patterns, motion: Option<&Motion>) -> Builder {
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
        let mut builder = Builder { n_literals: nodes.len(), nodes, of_literal, of_pattern: Vec::new() };
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
    fn find_covers(&mut self, patterns: &Patterns, settings: &Settings) {
        let trie = Trie::new(patterns);
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
                maximal = self.choose(maximal, all);
            }
            let node = self.of_pattern[number] as usize;
            self.nodes[node].sources = maximal.into_iter().map(|(_, node)| node).collect();
            self.nodes[node].sources.sort_unstable();
        }
    }

    /// A greedy set cover: what covers most literals for its rate comes first; what the others cover goes again.
    fn choose(&self, mut candidates: Vec<(u64, u32)>, all: u64) -> Vec<(u64, u32)> {
        let rate = |node: u32| self.nodes[node as usize].rate;
        let (mut left, mut chosen) = (all, Vec::new());
        while left != 0 {
            let best = (0..candidates.len())
                .max_by(|&one, &other| {
                    let ((one, first), (other, second)) = (candidates[one], candidates[other]);
                    let gain = |mask: u64, node: u32| u64::from((mask & left).count_ones()) * rate(node);
                    // One covers more for its rate than the other, written without division.
                    gain(one, second).cmp(&gain(other, first)).then(second.cmp(&first))
                })
                .expect("the literals themselves cover everything");
            let best = candidates.swap_remove(best);
            left &= !best.0;
            chosen.push(best);
        }
        prune(&mut chosen, rate, all);
        chosen
    }

    /// Draws sources together that several nodes have in common, as long as that saves something.
    fn extract(&mut self, settings: &Settings) {
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
        (n as i64 - 1) * (left.rate + right.rate) as i64 - n as i64 * flips
    }

    /// The same for more than two sources.
    fn gain_of_all(&self, sources: &[u32], n: usize) -> i64 {
        let rates: u64 = sources.iter().map(|&source| self.nodes[source as usize].rate).sum();
        (n as i64 - 1) * rates as i64 - n as i64 * rate(&self.truth(sources)) as i64
    }

    /// Takes away added nodes that only one node reads.
    fn dissolve(&mut self) {
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

    /// Takes away sources whose literals the other sources have, too.
    fn eliminate(&mut self) {
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

    fn compile(self, patterns: &Patterns, weights: &[i32]) -> Cover {
        // Nodes that others read come first. Of the rest, only patterns and literals are needed.
        let mut is_read = vec![false; self.nodes.len()];
        self.nodes.iter().flat_map(|node| &node.sources).for_each(|&source| is_read[source as usize] = true);
        let mut place = vec![NONE; self.nodes.len()];
        let mut n = 0;
        let is_pattern: FxHashSet<u32> = self.of_pattern.iter().copied().collect();
        let is_needed = |index: usize| index < self.n_literals || is_pattern.contains(&(index as u32));
        for index in (0..self.nodes.len()).filter(|&index| is_read[index]) {
            place[index] = n;
            n += 1;
        }
        let n_read = n;
        for index in (0..self.nodes.len()).filter(|&index| !is_read[index] && is_needed(index)) {
            place[index] = n;
            n += 1;
        }
        let mut n_sources = vec![1u8; n as usize];
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|&(index, _)| place[index] != NONE) {
            if index >= self.n_literals {
                n_sources[place[index] as usize] = node.sources.len() as u8;
                edges.extend(node.sources.iter().map(|&source| (place[source as usize], place[index])));
            }
        }
        edges.sort_unstable();
        let mut starts = vec![0u32; n as usize + 1];
        edges.iter().for_each(|&(source, _)| starts[source as usize + 1] += 1);
        (0..n as usize).for_each(|node| starts[node + 1] += starts[node]);
        let mut cover = Cover {
            literals: self
                .of_literal
                .iter()
                .map(|&node| if node == NONE { NONE } else { place[node as usize] })
                .collect(),
            patterns: Vec::new(),
            n_sources,
            weights: vec![0; n as usize],
            constant: 0,
            n_read,
            starts,
            targets: edges.into_iter().map(|(_, target)| target).collect(),
        };
        for (number, &weight) in (0..patterns.len()).zip(weights) {
            let node = self.of_pattern[number];
            if node == NONE {
                cover.constant += i64::from(weight);
                cover.patterns.push(NONE);
            } else {
                cover.weights[place[node as usize] as usize] = weight;
                cover.patterns.push(place[node as usize]);
            }
        }
        cover
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

/// Notes that a node has each pair of sources; with `others`, each pair of one from each list.
fn note_pairs(users: &mut FxHashMap<(u32, u32), Vec<u32>>, sources: &[u32], others: &[u32], node: u32) {
    for (index, &one) in sources.iter().enumerate() {
        let rest = if others.is_empty() { &sources[index + 1..] } else { others };
        for &other in rest {
            users.entry((one.min(other), one.max(other))).or_default().push(node);
        }
    }
}

/// Patterns as a tree of prefixes.
struct Trie {
    children: FxHashMap<(u32, Literal), u32>,
    /// The pattern that ends at each node.
    ends: Vec<u32>,
}

impl Trie {
    fn new(patterns: &Patterns) -> Trie {
        let mut trie = Trie { children: FxHashMap::default(), ends: vec![NONE] };
        for (number, pattern) in patterns.iter().enumerate() {
            let mut node = 0;
            for &literal in pattern {
                node = *trie.children.entry((node, literal)).or_insert_with(|| {
                    trie.ends.push(NONE);
                    trie.ends.len() as u32 - 1
                });
            }
            trie.ends[node as usize] = number as u32;
        }
        trie
    }

    /// The patterns contained in one, as masks over its literals; gives up after so many steps.
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

/// Which patterns of a cover match in a state, and the sum of their weights.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// How many sources of each node are not true.
    missing: Vec<u8>,
    score: i64,
    /// Edges walked so far.
    walked: u64,
    open: Vec<u32>,
}

impl Matcher {
    /// A matcher in a state of one bit for each fluent.
    pub fn new(cover: &Cover, bits: &[u64]) -> Matcher {
        let mut matcher =
            Matcher { missing: cover.n_sources.clone(), score: cover.constant, walked: 0, open: Vec::new() };
        for (literal, &node) in (0..).map(Literal).zip(&cover.literals) {
            if node != NONE && literal.holds(bits) {
                matcher.raise(cover, node);
            }
        }
        matcher.walked = 0;
        matcher
    }

    /// The sum of the weights of the patterns that match.
    pub fn score(&self) -> i64 {
        self.score
    }

    /// Whether a pattern matches.
    pub fn matches(&self, cover: &Cover, pattern: u32) -> bool {
        let node = cover.patterns[pattern as usize];
        node == NONE || self.missing[node as usize] == 0
    }

    /// How many edges were walked since it was made.
    pub fn walked(&self) -> u64 {
        self.walked
    }

    /// Goes from one state to another. What ceases to hold goes first, so that nothing matches in between that matches in
    /// neither state.
    pub fn update(&mut self, cover: &Cover, before: &[u64], after: &[u64]) {
        for rising in [false, true] {
            for (index, (&before, &after)) in before.iter().zip(after).enumerate() {
                let mut changed = before ^ after;
                while changed != 0 {
                    let bit = changed.trailing_zeros();
                    let literal = Literal::of(64 * index as u32 + bit).negate_if((after >> bit & 1 == 1) != rising);
                    if let Some(&node) = cover.literals.get(literal.0 as usize)
                        && node != NONE
                    {
                        if rising {
                            self.raise(cover, node);
                        } else {
                            self.lower(cover, node);
                        }
                    }
                    changed &= changed - 1;
                }
            }
        }
    }

    /// A literal has become true.
    fn raise(&mut self, cover: &Cover, literal: u32) {
        self.missing[literal as usize] = 0;
        self.score += i64::from(cover.weights[literal as usize]);
        self.open.push(literal);
        while let Some(node) = self.open.pop() {
            let targets =
                &cover.targets[cover.starts[node as usize] as usize..cover.starts[node as usize + 1] as usize];
            self.walked += targets.len() as u64;
            for &target in targets {
                let missing = &mut self.missing[target as usize];
                *missing -= 1;
                if *missing == 0 {
                    self.score += i64::from(cover.weights[target as usize]);
                    if target < cover.n_read {
                        self.open.push(target);
                    }
                }
            }
        }
    }

    /// A literal has become false.
    fn lower(&mut self, cover: &Cover, literal: u32) {
        self.missing[literal as usize] = 1;
        self.score -= i64::from(cover.weights[literal as usize]);
        self.open.push(literal);
        while let Some(node) = self.open.pop() {
            let targets =
                &cover.targets[cover.starts[node as usize] as usize..cover.starts[node as usize + 1] as usize];
            self.walked += targets.len() as u64;
            for &target in targets {
                let missing = &mut self.missing[target as usize];
                if *missing == 0 {
                    self.score -= i64::from(cover.weights[target as usize]);
                    if target < cover.n_read {
                        self.open.push(target);
                    }
                }
                *missing += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::scalar::{Compiled, Scalar};
    use machine::{Machine, RoleId};
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::pattern::set::matches;
    use crate::pattern::testing::game;
    use crate::pattern::{seeds, unfold};

    fn patterns(texts: &[&str]) -> Patterns {
        texts
            .iter()
            .map(|text| text.bytes().map(|byte| Literal::of(u32::from(byte - b'a'))).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn two_of_three_pairs_suffice() {
        let set = patterns(&["abc", "ab", "bc", "ac"]);
        let covers = Settings { eliminate: false, extract: false, ..Settings::ALL };
        assert_eq!(Cover::build(&set, &[1; 4], None, &covers).n_sources(0), 3);
        let eliminated = Settings { eliminate: true, ..covers };
        assert_eq!(Cover::build(&set, &[1; 4], None, &eliminated).n_sources(0), 2);
        assert_eq!(Cover::build(&set, &[1; 4], None, &Settings::PLAIN).n_sources(0), 3);
        let chain = patterns(&["abc", "ab", "bc"]);
        assert_eq!(Cover::build(&chain, &[1; 3], None, &covers).n_sources(0), 2);
    }

    #[test]
    fn a_common_cube_saves_an_edge() {
        let set = patterns(&["abcd", "bcde"]);
        assert_eq!(Cover::build(&set, &[1; 2], None, &Settings::PLAIN).n_edges(), 8);
        assert_eq!(Cover::build(&set, &[1; 2], None, &Settings::ALL).n_edges(), 7);
        let plain = Settings { extract: true, ..Settings::PLAIN };
        assert_eq!(Cover::build(&set, &[1; 2], None, &plain).n_edges(), 7);
    }

    /// Random patterns over a few fluents, some of which contain others.
    fn random_patterns(rng: &mut Pcg64Mcg, n: usize, n_fluents: u32) -> Patterns {
        let mut set = Patterns::default();
        for _ in 0..n {
            let mut pattern: Vec<Literal> = match set.len() {
                len if len > 0 && rng.random_range(0..2) == 0 => set.get(rng.random_range(0..len as u32)).to_vec(),
                _ => Vec::new(),
            };
            for _ in 0..rng.random_range(0..4) {
                pattern.push(Literal::of(rng.random_range(0..n_fluents)).negate_if(rng.random_range(0..4) == 0));
            }
            pattern.sort_unstable();
            pattern.dedup_by_key(|literal| literal.fact());
            set.insert(&pattern);
        }
        set
    }

    /// Patterns of Othello, and states along random matches.
    #[test]
    fn sharing_saves_most_of_the_work_in_othello() {
        let game = game("othello");
        let ground = game.circuit.ground.as_ref().expect("it is kept");
        let groups = unfold::proved_groups(&game.structure, &game.circuit);
        let mut unfolder = unfold::Unfolder::new(
            ground,
            &game.circuit.network,
            groups,
            unfold::Budget { work: 2_000_000, ..Default::default() },
        );
        let budget = seeds::Budget { conjunctions: 32, candidates: 400_000, ..seeds::Budget::default() };
        let (n, mut all) = seeds::conditions(&mut unfolder, ground, &budget);
        seeds::join(&unfolder, &mut all, 0..n, n, &budget);
        let set: Patterns = all.iter().step_by(all.len() / 12_000).collect();
        assert!(set.len() >= 10_000);
        let mut scalar = Scalar::new(Compiled::new(game.circuit.network.clone()));
        let mut rng = Pcg64Mcg::seed_from_u64(4);
        let mut state = scalar.initial().expect("no limits");
        let mut moves = Vec::new();
        while moves.len() < 1000 {
            scalar.jump(&state);
            let joint: Vec<u32> = (0..2)
                .map(|role| {
                    let mut own = Vec::new();
                    scalar.legal_moves(RoleId(role), &mut own);
                    own[rng.random_range(0..own.len())]
                })
                .collect();
            let next = if scalar.terminal() { scalar.initial() } else { scalar.next(&state, &joint) };
            let next = next.expect("no limits");
            moves.push((state, next.clone()));
            state = next;
        }
        let motion = Motion::new(game.circuit.network.fluents.len(), &moves[..500]);
        let weights: Vec<i32> = (0..set.len()).map(|_| rng.random_range(-100..100)).collect();
        let run = |settings: &Settings, motion: Option<&Motion>| {
            let cover = Cover::build(&set, &weights, motion, settings);
            let mut matcher = Matcher::new(&cover, &moves[0].0);
            moves.iter().for_each(|(before, after)| matcher.update(&cover, before, after));
            (cover.n_edges(), matcher.walked(), matcher.score())
        };
        let (edges, walked, score) = run(&Settings::PLAIN, None);
        let (fewer, less, same) = run(&Settings::ALL, Some(&motion));
        assert_eq!(score, same);
        assert!(5 * fewer < 3 * edges, "{fewer} of {edges} edges");
        assert!(3 * less < walked, "{less} of {walked} edges walked");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn equals_plain_matching_after_every_flip(seed in 0u64..1_000_000) {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let n_fluents = rng.random_range(4..70);
            let set = random_patterns(&mut rng, 120, n_fluents);
            let weights: Vec<i32> = (0..set.len()).map(|_| rng.random_range(-1000..1000)).collect();
            let mut state = vec![0u64; 2].into_boxed_slice();
            let mut moves = Vec::new();
            for _ in 0..130 {
                let before = state.clone();
                for _ in 0..rng.random_range(1..6) {
                    let fluent = rng.random_range(0..n_fluents) as usize;
                    state[fluent / 64] ^= 1 << (fluent % 64);
                }
                moves.push((before, state.clone()));
            }
            let motion = Motion::new(n_fluents as usize, &moves);
            for bits in 0..8 {
                let (covers, eliminate, extract) = (bits & 1 == 1, bits & 2 == 2, bits & 4 == 4);
                for motion in [None, Some(&motion)] {
                    let cover = Cover::build(&set, &weights, motion, &Settings { covers, eliminate, extract, ..Settings::ALL });
                    let mut matcher = Matcher::new(&cover, &moves[0].0);
                    let check = |matcher: &Matcher, state: &[u64]| {
                        let mut score = 0;
                        for (number, pattern) in (0..).zip(set.iter()) {
                            let holds = matches(pattern, state);
                            prop_assert_eq!(matcher.matches(&cover, number), holds);
                            score += if holds { i64::from(weights[number as usize]) } else { 0 };
                        }
                        prop_assert_eq!(matcher.score(), score);
                        Ok(())
                    };
                    check(&matcher, &moves[0].0)?;
                    for (before, after) in &moves {
                        matcher.update(&cover, before, after);
                        check(&matcher, after)?;
                    }
                    let fresh = Matcher::new(&cover, &moves[0].0);
                    for (before, after) in moves.iter().rev() {
                        matcher.update(&cover, after, before);
                    }
                    prop_assert_eq!(matcher.score(), fresh.score());
                    prop_assert_eq!(&matcher.missing, &fresh.missing);
                }
            }
        }
    }
}
