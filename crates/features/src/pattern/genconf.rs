//! Mining configurations: conjunctions of relations that hold in enough positions (Buro 1998, GenConf).
//!
//! A relation says that an atom has a value; a configuration is a set of relations of different atoms, and is *valid* if all
//! of them hold in at least `n` positions. Subsets of valid configurations are valid, so longer ones are made of shorter
//! ones by adding relations in a fixed order, rare ones first. Three ways of counting give the same result: level by level
//! without keeping sets of positions; depth first with the prefix's positions (Eclat, Zaki 2000); and depth first with the
//! positions that each step loses (dEclat, Zaki and Gouda 2003). [`mine_closed`] finds only the largest configuration of
//! all those that hold in the same positions (LCM, Uno 2004).
//!
//! The relations that come first in configurations are separate tasks. They are done in batches whose size does not depend
//! on the number of threads, and each task may use its share of what the budget has left; so the result does not depend on
//! the number of threads either, even if the budget ends the search.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{Rng, RngExt};

use crate::pattern::atoms::AtomicFeature;
use crate::pattern::bits::Bits;
use machine::lanes::count::Counter;

/// That an atom has a value, with the positions in which it has.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The atom.
    pub feature: u32,
    /// The value.
    pub value: u32,
    /// The positions.
    pub column: Bits,
}

/// The relations of atoms over positions, given a column for each fluent. Relations that never hold are left out.
pub fn relations(features: &[AtomicFeature], fluents: &[Bits]) -> Vec<Relation> {
    let mut relations = Vec::new();
    for (feature, atom) in features.iter().enumerate() {
        for (value, column) in atom.columns(fluents).into_iter().enumerate() {
            if column.count() > 0 {
                relations.push(Relation { feature: feature as u32, value: value as u32, column });
            }
        }
    }
    relations
}

/// Puts the positions of all columns into the same random order, as the sequential test needs them.
pub fn shuffle(relations: &mut [Relation], rng: &mut impl Rng) {
    let n = relations.first().map_or(0, |relation| relation.column.len());
    let mut order: Vec<usize> = (0..n).collect();
    for at in (1..n).rev() {
        order.swap(at, rng.random_range(0..=at));
    }
    for relation in relations {
        relation.column = Bits::from_fn(n, |at| relation.column.get(order[at]));
    }
}

/// Relations that hold together in some positions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configuration {
    /// The relations, by their numbers, ascending.
    pub relations: Box<[u32]>,
    /// In how many positions all of them hold.
    pub support: u32,
}

/// How positions are counted. All give the same configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Level by level; keeps no positions, and so needs the least memory.
    Ordered,
    /// Depth first, with the positions of the prefix.
    Eclat,
    /// Depth first, with the positions lost at each step.
    Diffsets,
}

/// How much may be done and kept.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Relations in a configuration.
    pub length: usize,
    /// Configurations.
    pub configurations: u64,
    /// Words of bit sets that are read.
    pub words: u64,
    /// Bytes of configurations and of sets of positions.
    pub bytes: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { length: 8, configurations: 1_000_000, words: 20_000_000_000, bytes: 1 << 30 }
    }
}

/// Why mining ended before everything was found. What was found is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StopReason {
    /// There are more configurations than the budget allows.
    Configurations(u64),
    /// More words would have to be read.
    Words(u64),
    /// More bytes would have to be kept.
    Bytes(u64),
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StopReason::Configurations(limit) => write!(f, "there are more than {limit} configurations"),
            StopReason::Words(limit) => write!(f, "counting needs more than {limit} words"),
            StopReason::Bytes(limit) => write!(f, "sets of positions need more than {limit} bytes"),
        }
    }
}

/// A test that decides from part of the positions whether enough of them match; the positions must be in random order.
#[derive(Clone, Copy, Debug)]
pub struct SequentialTest {
    /// Words between two looks.
    pub chunk: usize,
    /// How many standard deviations above the threshold are enough to accept.
    pub accept: f64,
    /// How many standard deviations below the threshold are enough to reject. A wrong rejection loses all that would have
    /// been built on it, a wrong acceptance one weight: so this is the larger one.
    pub reject: f64,
}

impl Default for SequentialTest {
    fn default() -> SequentialTest {
        SequentialTest { chunk: 32, accept: 3.0, reject: 4.0 }
    }
}

impl SequentialTest {
    /// Whether two sets have at least `n` positions in common, as far as the test can tell; adds the words read to `words`.
    pub fn decide(&self, one: &Bits, other: &Bits, n: u32, words: &mut u64) -> bool {
        let counter = Counter::detect();
        let total = one.len() as f64;
        let rate = f64::from(n) / total.max(1.0);
        let (mut matches, mut done) = (0u32, 0usize);
        for (one_chunk, other_chunk) in one.words().chunks(self.chunk).zip(other.words().chunks(self.chunk)) {
            matches += counter.and_count(one_chunk, other_chunk);
            *words += one_chunk.len() as u64;
            done = (done + 64 * one_chunk.len()).min(one.len());
            // Certain.
            if matches >= n {
                return true;
            }
            if matches as usize + (one.len() - done) < n as usize {
                return false;
            }
            // Likely. Positions are drawn without replacement, which makes the deviation smaller.
            let expected = done as f64 * rate;
            let deviation = (expected * (1.0 - rate) * (1.0 - done as f64 / total)).sqrt();
            let above = f64::from(matches) - expected;
            if above >= self.accept * deviation {
                return true;
            }
            if above < -self.reject * deviation {
                return false;
            }
        }
        matches >= n
    }
}

/// How to mine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In how many positions a configuration has to hold.
    pub support: u32,
    /// How positions are counted.
    pub backend: Backend,
    /// Rejects configurations by part of the positions; what is kept is counted in full. Not for closed configurations.
    pub test: Option<SequentialTest>,
    /// How much may be done.
    pub budget: Budget,
    /// How many threads work.
    pub threads: usize,
}

impl Settings {
    /// Depth-first mining on one thread.
    pub fn new(support: u32) -> Settings {
        Settings { support, backend: Backend::Eclat, test: None, budget: Budget::default(), threads: 1 }
    }
}

/// What mining found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mined {
    /// Valid configurations, short ones first, then by their relations.
    pub configurations: Vec<Configuration>,
    /// Why there may be more, besides those that are longer than the budget allows.
    pub stopped: Option<StopReason>,
    /// Words of bit sets that were read.
    pub words: u64,
}

/// All valid configurations of one relation or more.
pub fn mine(relations: &[Relation], settings: &Settings) -> Mined {
    Miner::new(relations, settings).mine(|miner, first, part| match settings.backend {
        Backend::Ordered => miner.level_by_level(first, part),
        Backend::Eclat => {
            let prefix = miner.columns[first as usize].clone();
            let rest: Vec<u32> = (first + 1..miner.columns.len() as u32).collect();
            miner.with_positions(&mut vec![first], &prefix, &rest, part);
        }
        Backend::Diffsets => {
            let lost: Vec<(u32, u32, Bits)> = (first + 1..miner.columns.len() as u32)
                .filter(|&other| miner.features[other as usize] != miner.features[first as usize])
                .map(|other| {
                    let lost = miner.columns[first as usize].and_not(miner.columns[other as usize]);
                    (other, lost.count(), lost)
                })
                .collect();
            let support = miner.columns[first as usize].count();
            if part.read(lost.len() as u64 * miner.n_words) && part.hold(lost.len() as u64 * miner.n_words * 8) {
                miner.with_losses(&mut vec![first], support, lost, part);
            }
        }
    })
}

/// The valid closed configurations: those to which no relation can be added without losing a position. Those that are
/// longer than the budget allows are left out, and so are those that contain them.
pub fn mine_closed(relations: &[Relation], settings: &Settings) -> Mined {
    let miner = Miner::new(relations, settings);
    // Relations that hold everywhere are in every closed configuration.
    let n_positions = relations.first().map_or(0, |relation| relation.column.len()) as u32;
    let everywhere: Vec<u32> =
        (0..miner.columns.len() as u32).filter(|&at| miner.columns[at as usize].count() == n_positions).collect();
    let mut found = miner.mine(|miner, first, part| {
        if everywhere.contains(&first) {
            return;
        }
        miner.closed(&everywhere, first, miner.columns[first as usize], part);
    });
    // Single relations were listed, closed or not.
    found.configurations.retain(|found| {
        found.relations.len() > 1 || {
            let own = &relations[found.relations[0] as usize].column;
            relations.iter().filter(|other| own.is_subset(&other.column)).count() == 1
        }
    });
    if !everywhere.is_empty() {
        let mut closed: Vec<u32> = everywhere.iter().map(|&at| miner.numbers[at as usize]).collect();
        closed.sort_unstable();
        found.configurations.push(Configuration { relations: closed.into(), support: n_positions });
    }
    found.configurations.sort_by(order);
    found.configurations.dedup();
    found
}

/// A shortest set of relations that holds in the same positions as a closed configuration: a shortest one up to three
/// relations, and beyond that one from which nothing can be left out.
pub fn generator(relations: &[Relation], closed: &Configuration) -> Box<[u32]> {
    let column = |at: usize| &relations[closed.relations[at] as usize].column;
    let n = closed.relations.len();
    for one in 0..n {
        if column(one).count() == closed.support {
            return [closed.relations[one]].into();
        }
    }
    let mut best: Option<(u32, usize, usize)> = None;
    for one in 0..n {
        for two in one + 1..n {
            let count = column(one).and_count(column(two));
            if count == closed.support {
                return [closed.relations[one], closed.relations[two]].into();
            }
            if best.is_none_or(|(least, ..)| count < least) {
                best = Some((count, one, two));
            }
        }
    }
    for one in 0..n {
        for two in one + 1..n {
            let both = column(one).and(column(two));
            if let Some(three) = (two + 1..n).find(|&three| both.and_count(column(three)) == closed.support) {
                return [one, two, three].map(|at| closed.relations[at]).into();
            }
        }
    }
    // From the closest pair on, whatever leaves the fewest; then without what has become needless.
    let Some((_, one, two)) = best else { return closed.relations.clone() };
    let mut chosen = vec![one, two];
    let mut common = column(one).and(column(two));
    while common.count() > closed.support {
        let next = (0..n).min_by_key(|&at| common.and_count(column(at))).expect("there are relations");
        common = common.and(column(next));
        chosen.push(next);
    }
    for at in (0..chosen.len()).rev() {
        let others = (0..chosen.len()).filter(|&other| other != at).map(|other| chosen[other]);
        let common = others.fold(Bits::ones(common.len()), |common, other| common.and(column(other)));
        if common.count() == closed.support {
            chosen.remove(at);
        }
    }
    chosen.sort_unstable();
    chosen.iter().map(|&at| closed.relations[at]).collect()
}

fn order(one: &Configuration, other: &Configuration) -> std::cmp::Ordering {
    (one.relations.len(), &one.relations).cmp(&(other.relations.len(), &other.relations))
}

/// How many tasks share what is left of the budget.
const BATCH: usize = 16;

/// Frequent relations in the order of mining: rare ones first, since they have the fewest extensions.
struct Miner<'a> {
    settings: &'a Settings,
    columns: Vec<&'a Bits>,
    features: Vec<u32>,
    /// The number that the caller knows each relation by.
    numbers: Vec<u32>,
    n_words: u64,
}

/// What one task found, and what it may still do.
struct Part {
    found: Vec<Configuration>,
    stopped: Option<StopReason>,
    limits: Limits,
    used: Limits,
    /// The whole budget, for messages.
    budget: Limits,
}

#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    configurations: u64,
    words: u64,
    bytes: u64,
}

impl Part {
    fn stop(&mut self, reason: StopReason) -> bool {
        self.stopped.get_or_insert(reason);
        false
    }

    /// Asks for words to be read.
    fn read(&mut self, words: u64) -> bool {
        if self.used.words + words > self.limits.words {
            return self.stop(StopReason::Words(self.budget.words));
        }
        self.used.words += words;
        true
    }

    /// Asks for bytes to be held.
    fn hold(&mut self, bytes: u64) -> bool {
        if self.used.bytes + bytes > self.limits.bytes {
            return self.stop(StopReason::Bytes(self.budget.bytes));
        }
        self.used.bytes += bytes;
        true
    }

    fn release(&mut self, bytes: u64) {
        self.used.bytes -= bytes;
    }

    fn emit(&mut self, miner: &Miner, prefix: &[u32], last: Option<u32>, support: u32) -> bool {
        if self.used.configurations == self.limits.configurations {
            return self.stop(StopReason::Configurations(self.budget.configurations));
        }
        let mut relations: Box<[u32]> =
            prefix.iter().copied().chain(last).map(|at| miner.numbers[at as usize]).collect();
        relations.sort_unstable();
        if !self.hold(kept_bytes(relations.len())) {
            return false;
        }
        self.used.configurations += 1;
        self.found.push(Configuration { relations, support });
        true
    }
}

fn kept_bytes(length: usize) -> u64 {
    (4 * length + size_of::<Configuration>()) as u64
}

impl<'a> Miner<'a> {
    fn new(relations: &'a [Relation], settings: &'a Settings) -> Miner<'a> {
        let supports = relations.iter().map(|relation| relation.column.count());
        let mut order: Vec<(u32, u32)> =
            supports.zip(0..).filter(|&(support, _)| support >= settings.support.max(1)).collect();
        order.sort_unstable();
        let of = |&(_, number): &(u32, u32)| &relations[number as usize];
        Miner {
            settings,
            columns: order.iter().map(|at| &of(at).column).collect(),
            features: order.iter().map(|at| of(at).feature).collect(),
            numbers: order.iter().map(|&(_, number)| number).collect(),
            n_words: relations.first().map_or(0, |relation| relation.column.words().len() as u64),
        }
    }

    /// Emits single relations, then does the tasks of first relations batch by batch.
    fn mine(&self, task: impl Fn(&Miner, u32, &mut Part) + Sync) -> Mined {
        let budget = &self.settings.budget;
        let mut left = Limits { configurations: budget.configurations, words: budget.words, bytes: budget.bytes };
        let whole = left;
        let part =
            |limits: Limits| Part { found: Vec::new(), stopped: None, limits, used: Limits::default(), budget: whole };
        // Step 1. Single relations, the most frequent first.
        let mut singles = part(left);
        if budget.length > 0 {
            for at in (0..self.columns.len() as u32).rev() {
                if !singles.read(self.n_words) || !singles.emit(self, &[at], None, self.columns[at as usize].count()) {
                    break;
                }
            }
        }
        let mut mined = Mined::default();
        absorb(&mut mined, &mut left, singles);
        // Step 2. What they begin.
        let n_tasks = if budget.length > 1 { self.columns.len() } else { 0 };
        for batch in (0..n_tasks).step_by(BATCH) {
            let size = BATCH.min(n_tasks - batch);
            let remaining = (n_tasks - batch) as u64;
            // Bytes are given back for the most part, so those that run side by side share them.
            let share = Limits {
                configurations: left.configurations / remaining,
                words: left.words / remaining,
                bytes: left.bytes / BATCH as u64,
            };
            let mut parts: Vec<Part> = (0..size).map(|_| part(share)).collect();
            let run = |at: usize, part: &mut Part| task(self, (batch + at) as u32, part);
            run_all(&mut parts, self.settings.threads, &run);
            parts.into_iter().for_each(|part| absorb(&mut mined, &mut left, part));
        }
        mined.configurations.sort_by(order);
        mined
    }

    fn level_by_level(&self, first: u32, part: &mut Part) {
        let mut level: Vec<Vec<u32>> = vec![vec![first]];
        while !level.is_empty() && level[0].len() < self.settings.budget.length {
            let mut next: Vec<Vec<u32>> = Vec::new();
            for configuration in &level {
                if !part.read(configuration.len() as u64 * self.n_words) {
                    return;
                }
                let mut prefix = self.columns[configuration[0] as usize].clone();
                configuration[1..].iter().for_each(|&at| {
                    prefix.keep_common(self.columns[at as usize]);
                });
                let last = *configuration.last().expect("it has a relation");
                for other in last + 1..self.columns.len() as u32 {
                    if configuration.iter().any(|&at| self.features[at as usize] == self.features[other as usize])
                        || !self.may_be_valid(&prefix, other, part)
                    {
                        if part.stopped.is_some() {
                            return;
                        }
                        continue;
                    }
                    if !part.read(self.n_words) {
                        return;
                    }
                    let support = prefix.and_count(self.columns[other as usize]);
                    if support < self.settings.support.max(1) {
                        continue;
                    }
                    if !part.emit(self, configuration, Some(other), support)
                        || !part.hold(kept_bytes(configuration.len() + 1))
                    {
                        return;
                    }
                    next.push(configuration.iter().copied().chain([other]).collect());
                }
            }
            level.iter().filter(|kept| kept.len() > 1).for_each(|kept| part.release(kept_bytes(kept.len())));
            level = next;
        }
        level.iter().filter(|kept| kept.len() > 1).for_each(|kept| part.release(kept_bytes(kept.len())));
    }

    /// Whether the sequential test, if there is one, leaves hope.
    fn may_be_valid(&self, prefix: &Bits, other: u32, part: &mut Part) -> bool {
        let Some(test) = &self.settings.test else { return true };
        let mut words = 0;
        // What is accepted is counted in full anyway.
        let test = SequentialTest { accept: f64::INFINITY, ..*test };
        let valid = test.decide(prefix, self.columns[other as usize], self.settings.support.max(1), &mut words);
        part.read(words) && valid
    }

    fn with_positions(&self, prefix: &mut Vec<u32>, positions: &Bits, rest: &[u32], part: &mut Part) {
        let last = *prefix.last().expect("it has a relation");
        let bytes = 8 * self.n_words + 4 * rest.len() as u64;
        if !part.hold(bytes) {
            return;
        }
        // Step 1. The relations that can be added.
        let mut added: Vec<u32> = Vec::new();
        for &other in rest {
            if self.features[other as usize] == self.features[last as usize] {
                continue;
            }
            if !self.may_be_valid(positions, other, part) {
                if part.stopped.is_some() {
                    return;
                }
                continue;
            }
            if !part.read(self.n_words) {
                return;
            }
            let support = positions.and_count(self.columns[other as usize]);
            if support >= self.settings.support.max(1) {
                if !part.emit(self, prefix, Some(other), support) {
                    return;
                }
                added.push(other);
            }
        }
        // Step 2. On with each of them and those behind it.
        if prefix.len() + 1 < self.settings.budget.length {
            let mut common = Bits::zeros(positions.len());
            for (place, &other) in added.iter().enumerate() {
                if place + 1 == added.len() {
                    break;
                }
                if !part.read(self.n_words) {
                    return;
                }
                common.assign_and(positions, self.columns[other as usize]);
                prefix.push(other);
                self.with_positions(prefix, &common, &added[place + 1..], part);
                prefix.pop();
                if part.stopped.is_some() {
                    return;
                }
            }
        }
        part.release(bytes);
    }

    /// `lost` holds, for each relation that may be added to the prefix, the positions of the prefix that it does not have.
    fn with_losses(&self, prefix: &mut Vec<u32>, support: u32, lost: Vec<(u32, u32, Bits)>, part: &mut Part) {
        let bytes = lost.len() as u64 * self.n_words * 8;
        let least = self.settings.support.max(1);
        for (other, n_lost, _) in lost.iter().filter(|(_, n_lost, _)| support - n_lost >= least) {
            if !part.emit(self, prefix, Some(*other), support - n_lost) {
                return;
            }
        }
        if prefix.len() + 1 < self.settings.budget.length {
            for (place, (other, n_lost, own)) in lost.iter().enumerate() {
                if support - n_lost < least {
                    continue;
                }
                let mut further: Vec<(u32, u32, Bits)> = Vec::new();
                for (next, next_lost, positions) in &lost[place + 1..] {
                    if support - next_lost < least || self.features[*next as usize] == self.features[*other as usize] {
                        continue;
                    }
                    if !part.read(self.n_words) || !part.hold(self.n_words * 8) {
                        return;
                    }
                    let mut lost = Bits::zeros(own.len());
                    let count = lost.assign_and_not(positions, own);
                    further.push((*next, count, lost));
                }
                prefix.push(*other);
                self.with_losses(prefix, support - n_lost, further, part);
                prefix.pop();
                if part.stopped.is_some() {
                    return;
                }
            }
        }
        part.release(bytes);
    }

    /// The closure of a closed set with one more relation, if that adds nothing before the relation; then on from there.
    fn closed(&self, base: &[u32], added: u32, positions: &Bits, part: &mut Part) {
        if !part.hold(8 * self.n_words) || !part.read(self.n_words * self.columns.len() as u64) {
            return;
        }
        let mut closure: Vec<u32> = Vec::new();
        for other in 0..self.columns.len() as u32 {
            if positions.is_subset(self.columns[other as usize]) {
                // Found from another relation.
                if other < added && !base.contains(&other) {
                    part.release(8 * self.n_words);
                    return;
                }
                closure.push(other);
            }
        }
        let support = positions.count();
        if closure.len() > self.settings.budget.length {
            part.release(8 * self.n_words);
            return;
        }
        if closure.len() > 1 && !part.emit(self, &closure, None, support) {
            return;
        }
        let mut common = Bits::zeros(positions.len());
        for next in added + 1..self.columns.len() as u32 {
            if closure.contains(&next) {
                continue;
            }
            if !part.read(self.n_words) {
                return;
            }
            if common.assign_and(positions, self.columns[next as usize]) >= self.settings.support.max(1) {
                self.closed(&closure, next, &common, part);
                if part.stopped.is_some() {
                    return;
                }
            }
        }
        part.release(8 * self.n_words);
    }
}

/// Takes over what a task found.
fn absorb(mined: &mut Mined, left: &mut Limits, part: Part) {
    let kept: u64 = part.found.iter().map(|found| kept_bytes(found.relations.len())).sum();
    left.configurations -= part.used.configurations;
    left.words -= part.used.words;
    left.bytes = left.bytes.saturating_sub(kept);
    mined.words += part.used.words;
    mined.configurations.extend(part.found);
    if mined.stopped.is_none() {
        mined.stopped = part.stopped;
    }
}

/// Does each task once, on so many threads.
fn run_all(parts: &mut [Part], threads: usize, run: &(impl Fn(usize, &mut Part) + Sync)) {
    if threads <= 1 {
        parts.iter_mut().enumerate().for_each(|(at, part)| run(at, part));
        return;
    }
    let next = AtomicUsize::new(0);
    let slots: Vec<std::sync::Mutex<&mut Part>> = parts.iter_mut().map(std::sync::Mutex::new).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(slots.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = slots.get(at) else { break };
                    run(at, &mut slot.lock().expect("no task panics"));
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64;

    use super::*;

    /// Random data: features with up to three values each.
    fn data() -> impl Strategy<Value = Vec<Relation>> {
        (1usize..=4, 1usize..500, any::<u64>(), 1u32..8).prop_map(|(n_features, n, seed, bias)| {
            let mut rng = Pcg64::seed_from_u64(seed);
            let mut relations = Vec::new();
            for feature in 0..n_features as u32 {
                let values: Vec<u32> =
                    (0..n).map(|_| if rng.random_range(0..8) < bias { 0 } else { rng.random_range(0..3) }).collect();
                for value in 0..3 {
                    let column = Bits::from_fn(n, |at| values[at] == value);
                    relations.push(Relation { feature, value, column });
                }
            }
            relations
        })
    }

    /// Every set of relations of different features with its support.
    fn brute_force(relations: &[Relation], support: u32) -> Vec<Configuration> {
        let mut all = Vec::new();
        for set in 1u32..1 << relations.len() {
            let members: Box<[u32]> = (0..relations.len() as u32).filter(|at| set >> at & 1 == 1).collect();
            let mut features: Vec<u32> = members.iter().map(|&at| relations[at as usize].feature).collect();
            features.dedup();
            let common = members
                .iter()
                .fold(Bits::ones(relations[0].column.len()), |common, &at| common.and(&relations[at as usize].column));
            if features.len() == members.len() && common.count() >= support.max(1) {
                all.push(Configuration { relations: members, support: common.count() });
            }
        }
        all.sort_by(order);
        all
    }

    fn unlimited(support: u32, backend: Backend, threads: usize) -> Settings {
        Settings { backend, threads, budget: Budget { length: 99, ..Budget::default() }, ..Settings::new(support) }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn backends_find_what_brute_force_finds(relations in data(), n in 1u32..60, threads in 1usize..4) {
            let expected = brute_force(&relations, n);
            for backend in [Backend::Ordered, Backend::Eclat, Backend::Diffsets] {
                let mined = mine(&relations, &unlimited(n, backend, threads));
                prop_assert_eq!(mined.stopped, None);
                prop_assert_eq!(&mined.configurations, &expected, "{:?}", backend);
            }
        }

        #[test]
        fn closed_configurations_regenerate_all(relations in data(), n in 1u32..40, threads in 1usize..4) {
            let closed = mine_closed(&relations, &unlimited(n, Backend::Eclat, threads));
            prop_assert_eq!(closed.stopped, None);
            let mut all: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
            for found in &closed.configurations {
                // Nothing can be added.
                let common = found.relations.iter().fold(
                    Bits::ones(relations[0].column.len()),
                    |common, &at| common.and(&relations[at as usize].column),
                );
                let full = (0..relations.len() as u32).filter(|&at| common.is_subset(&relations[at as usize].column));
                prop_assert_eq!(full.collect::<Vec<_>>(), found.relations.to_vec());
                let small = generator(&relations, found);
                prop_assert!(small.iter().all(|at| found.relations.contains(at)));
                let of_small = small.iter().fold(
                    Bits::ones(relations[0].column.len()),
                    |common, &at| common.and(&relations[at as usize].column),
                );
                prop_assert_eq!(of_small, common);
                for set in 1u32..1 << found.relations.len() {
                    let members = (0..found.relations.len()).filter(|at| set >> at & 1 == 1);
                    let support = all.entry(members.map(|at| found.relations[at]).collect()).or_default();
                    *support = (*support).max(found.support);
                }
            }
            let expected = brute_force(&relations, n);
            let expected: BTreeMap<Vec<u32>, u32> =
                expected.into_iter().map(|found| (found.relations.to_vec(), found.support)).collect();
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn what_a_budget_leaves_is_right(
            relations in data(),
            n in 1u32..20,
            configurations in 0u64..40,
            words in 0u64..3000,
            bytes in 0u64..30_000,
        ) {
            let expected = brute_force(&relations, n);
            for backend in [Backend::Ordered, Backend::Eclat, Backend::Diffsets] {
                let budget = Budget { length: 99, configurations, words, bytes };
                let settings = |threads| Settings { backend, threads, budget: budget.clone(), ..Settings::new(n) };
                let mined = mine(&relations, &settings(1));
                prop_assert!(mined.configurations.len() as u64 <= configurations && mined.words <= words);
                prop_assert!(mined.configurations.iter().all(|found| expected.contains(found)));
                prop_assert!(mined.configurations.is_sorted_by(|one, other| order(one, other).is_lt()));
                prop_assert!(mined.stopped.is_some() || mined.configurations.len() == expected.len());
                prop_assert_eq!(&mined, &mine(&relations, &settings(3)), "threads don't matter");
            }
        }

        #[test]
        fn patient_tests_are_exact(relations in data(), n in 1u32..60, chunk in 1usize..9) {
            let test = SequentialTest { chunk, accept: f64::INFINITY, reject: f64::INFINITY };
            let expected = mine(&relations, &unlimited(n, Backend::Eclat, 1)).configurations;
            for backend in [Backend::Ordered, Backend::Eclat] {
                let settings = Settings { test: Some(test), ..unlimited(n, backend, 2) };
                prop_assert_eq!(&mine(&relations, &settings).configurations, &expected);
            }
        }
    }

    #[test]
    fn lengths_are_limited_and_every_threshold_ends() {
        let n = 100;
        let relations: Vec<Relation> = (0..6)
            .map(|feature| Relation { feature, value: 0, column: Bits::from_fn(n, |at| at as u32 % 7 != feature) })
            .collect();
        for backend in [Backend::Ordered, Backend::Eclat, Backend::Diffsets] {
            let settings = Settings { budget: Budget { length: 2, ..Budget::default() }, ..unlimited(1, backend, 1) };
            assert_eq!(mine(&relations, &settings).configurations.len(), 6 + 15);
            assert_eq!(mine(&relations, &unlimited(1, backend, 1)).configurations.len(), 63);
            assert_eq!(mine(&relations, &unlimited(n as u32, backend, 1)).configurations.len(), 0);
        }
        assert!(mine(&[], &Settings::new(1)).configurations.is_empty());
    }

    /// Columns with rates around the threshold: the default test rejects few that reach it, and reads less.
    #[test]
    fn sequential_tests_read_less_and_seldom_err() {
        let (n_positions, n_columns) = (40_000, 1_500);
        let mut rng = Pcg64::seed_from_u64(5);
        let everything = Bits::ones(n_positions);
        let n = 2_000;
        let (mut valid, mut false_rejects, mut false_accepts) = (0u32, 0u32, 0u32);
        let (mut words, mut all_words) = (0, 0);
        for column in 0..n_columns {
            // From far below the threshold to far above it.
            let rate = 0.1 * f64::from(column) / f64::from(n_columns);
            let mut bits = Bits::zeros(n_positions);
            (0..n_positions).for_each(|at| bits.set(at, rng.random_bool(rate)));
            let is_valid = bits.count() >= n;
            valid += u32::from(is_valid);
            all_words += bits.words().len() as u64;
            let accepted = SequentialTest::default().decide(&bits, &everything, n, &mut words);
            false_rejects += u32::from(is_valid && !accepted);
            false_accepts += u32::from(!is_valid && accepted);
        }
        assert!(valid > 700, "{valid}");
        assert!(false_rejects * 100 <= valid, "{false_rejects} of {valid}");
        assert!(false_accepts * 20 <= n_columns - valid, "{false_accepts}");
        assert!(words * 2 < all_words, "{words} of {all_words}");
    }
}
