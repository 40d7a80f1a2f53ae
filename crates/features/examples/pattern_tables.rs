//! Pattern tables of games: how many shapes, orbits and slots there are, that indices follow every move and undo, and how
//! fast they are; how fast configurations are mined; and how the two kinds of sparse tables compare. Times are those of the
//! processor, where the system tells them.
//!
//! `cargo run --release -p features --example pattern_tables -- [--plies N] [--base] [--mine] [--compare] RULES...`
//!
//! With `--base` only lines of four cells and more, edges with inner neighbours and corner blocks are used; with `--mine`
//! configurations are mined from the positions; with `--compare` all kinds of evaluators are timed on the same states.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use features::game::Game;
use features::pattern::atoms::{self, AtomicFeature, Atoms, Value};
use features::pattern::bits::transpose;
use features::pattern::cover::{self, Change, Cover, Matcher, Motion};
use features::pattern::dag::{Dag, Walk};
use features::pattern::genconf::{self, Backend};
use features::pattern::orbit::{self, Orbit};
use features::pattern::set::{Literal, Patterns};
use features::pattern::shapes::{self, Kind};
use features::pattern::sparse::{Displaced, Entry, Hashed};
use features::pattern::table::{Index, Indexer, Indices, Instance, Tables};
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Seconds that this thread has run: of the processor where the system tells, else of the clock since some moment.
fn seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |n| n / 1e9)
}

fn main() {
    let (mut plies, mut base, mut more, mut files) = (100_000, false, More::default(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--plies" => plies = arguments.next().and_then(|n| n.parse().ok()).expect("--plies has a number"),
            "--base" => base = true,
            "--mine" => more.mine = true,
            "--compare" => more.compare = true,
            _ => files.push(argument),
        }
    }
    for file in &files {
        let text = std::fs::read(file).expect("the rules can be read");
        match Game::new(gdl::read(file, &text).program, 1) {
            Ok(game) => report(file, &game, base, plies, more),
            Err(reason) => println!("{file}: {reason}"),
        }
    }
    sparse_tables();
}

/// What else is done with the positions.
#[derive(Clone, Copy, Default)]
struct More {
    mine: bool,
    compare: bool,
}

fn report(file: &str, game: &Game, base: bool, plies: usize, more: More) {
    let atoms = atoms::find(game, &atoms::Settings::default());
    let settings = if base { shapes::Settings::buro() } else { shapes::Settings::default() };
    let mut proposed = Vec::new();
    for layer in &atoms.layers {
        proposed.extend(shapes::propose(&game.structure.boards[layer.board], layer, &settings).shapes);
    }
    proposed.retain(|shape| !base || shape.kind != Kind::Edge);
    let found = game.symmetries(1);
    let keeping = found.map_or(Vec::new(), |found| orbit::keeping_roles(game, &atoms.features, &found));
    let clock = seconds();
    let (orbits, left_out) = orbit::orbits(&atoms.features, &proposed, &keeping, &orbit::Budget::default());
    let instances: Vec<Instance> = orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
    println!(
        "{file}: {} atoms, {} shapes, {} symmetries; {} orbits ({left_out} too large) of {} instances with {} slots, {} \
         canonical; {:.2} s",
        atoms.features.len(),
        proposed.len(),
        keeping.len(),
        orbits.len(),
        instances.len(),
        orbits.iter().map(|orbit| orbit.canonical.len()).sum::<usize>(),
        orbits.iter().map(|orbit| orbit.n_canonical).sum::<usize>(),
        seconds() - clock,
    );
    if instances.is_empty() {
        return;
    }
    let n_fluents = game.circuit.network.fluents.len();
    if let Some(indexer) = Indexer::<u16>::new(&atoms.features, &instances, n_fluents) {
        play(game, &atoms, &orbits, &instances, &indexer, plies, more);
    } else if let Some(indexer) = Indexer::<u32>::new(&atoms.features, &instances, n_fluents) {
        play(game, &atoms, &orbits, &instances, &indexer, plies, more);
    }
}

/// Random matches: every index against its recomputation, then the speed.
fn play<I: Index>(
    game: &Game,
    atoms: &Atoms,
    orbits: &[Orbit],
    instances: &[Instance],
    indexer: &Indexer<I>,
    plies: usize,
    more: More,
) {
    let network = &game.circuit.network;
    let mut rng = Pcg64::seed_from_u64(1);
    let mut position = Scalar::new(Compiled::new(network.clone()));
    let mut at = indexer.start(position.bits());
    let mut kept: Vec<Indices<I>> = Vec::new();
    let (mut moves, mut joint) = (Vec::new(), Vec::new());
    let compare = |position: &Scalar, at: &Indices<I>| {
        for (instance, index) in instances.iter().zip(indexer.indices(at)) {
            assert_eq!(index.place(), instance.index(&atoms.features, position.bits()), "indices follow the state");
        }
    };
    let mut states: Vec<Vec<u64>> = Vec::new();
    let (mut n_made, mut n_undone) = (0usize, 0usize);
    while n_made < plies {
        joint.clear();
        for role in 0..network.moves_of.len() as u32 {
            moves.clear();
            position.legal_moves(RoleId(role), &mut moves);
            if !moves.is_empty() {
                joint.push(moves[rng.random_range(0..moves.len())]);
            }
        }
        let stuck = position.terminal() || joint.len() < network.moves_of.len() || kept.len() > 500;
        if stuck || (!kept.is_empty() && rng.random_bool(0.2)) {
            let n_back = if stuck { kept.len() } else { 1 };
            for _ in 0..n_back {
                position.unmake();
                let before = kept.pop().expect("a move was made");
                indexer.go(&mut at, position.bits());
                assert!(at == before, "the way back leads to the same indices");
                compare(&position, &at);
                n_undone += 1;
            }
            continue;
        }
        kept.push(at.clone());
        position.make(&joint);
        indexer.go(&mut at, position.bits());
        compare(&position, &at);
        n_made += 1;
        if states.len() < 100_000 {
            states.push(position.bits().to_vec());
        }
    }
    println!("  {n_made} moves and {n_undone} steps back: every index equals its recomputation");
    real_pairs(atoms, orbits, &states);
    if more.mine {
        mine(atoms, &states);
    }
    // The states of matches in their order, with steps back now and then.
    let tables: Vec<Vec<i16>> = orbits
        .iter()
        .map(|orbit| {
            let weights: Vec<i16> = (0..orbit.n_canonical).map(|_| rng.random_range(-999..1000)).collect();
            orbit.expand(&weights)
        })
        .collect();
    let tables = Tables::new(&tables, instances);
    if more.compare {
        evaluators(atoms, orbits, instances, indexer, &tables, &states);
    }
    let rounds = (2_000_000 / states.len()).max(1);
    let timed = |name: &str, run: &mut dyn FnMut(&[u64]) -> i64| {
        let (clock, mut sum) = (seconds(), 0);
        for _ in 0..rounds {
            states.iter().for_each(|state| sum += run(state));
        }
        let rate = (rounds * states.len()) as f64 / (seconds() - clock);
        println!("  {name}: {:.2} million plies/s (checksum {sum})", rate / 1e6);
    };
    let mut at = indexer.start(&states[0]);
    timed("indices alone", &mut |state| {
        indexer.go(&mut at, state);
        indexer.indices(&at)[0].place() as i64
    });
    let mut at = indexer.start(&states[0]);
    timed("indices and the sum of weights", &mut |state| {
        indexer.go(&mut at, state);
        i64::from(tables.sum(indexer.indices(&at)))
    });
    let mut at = indexer.start(&states[0]);
    let (mut before, mut sum) = (at.clone(), tables.sum(indexer.indices(&at)));
    timed("indices and a running sum", &mut |state| {
        before.copy_from(&at);
        indexer.go(&mut at, state);
        tables.update(&mut sum, indexer.indices(&before), indexer.indices(&at));
        i64::from(sum)
    });
    timed("indices from scratch", &mut |state| {
        instances.iter().map(|instance| instance.index(&atoms.features, state) as i64).sum()
    });
}

/// Whether two instances have no common atoms.
fn are_apart(one: &Instance, other: &Instance) -> bool {
    one.atoms.iter().all(|atom| !other.atoms.contains(atom))
}

/// The largest orbit that has instances without common atoms.
fn with_pairs(orbits: &[Orbit]) -> Option<&Orbit> {
    let has_pair = |orbit: &&Orbit| orbit.instances.iter().any(|other| are_apart(&orbit.instances[0], other));
    orbits.iter().filter(has_pair).max_by_key(|orbit| orbit.canonical.len().min(6_561))
}

/// The pairs of indices of two instances that were met twice or more.
fn met(atoms: &Atoms, one: &Instance, other: &Instance, states: &[Vec<u64>]) -> Vec<Entry<i16>> {
    let mut counts: std::collections::BTreeMap<(u32, u32), u32> = Default::default();
    for state in states {
        let index = |instance: &Instance| instance.index(&atoms.features, state) as u32;
        *counts.entry((index(one), index(other))).or_default() += 1;
    }
    counts.iter().filter(|(_, count)| **count > 1).map(|(&pair, _)| (pair, 1)).collect()
}

/// A large pattern: the two instances that it is made of, and its table.
type Pair = (usize, usize, Displaced<i16>);

/// Each instance of an orbit with the first later one without common atoms, as large patterns.
fn pairs(atoms: &Atoms, orbits: &[Orbit], instances: &[Instance], states: &[Vec<u64>]) -> Vec<Pair> {
    let Some(orbit) = with_pairs(orbits) else { return Vec::new() };
    let size = orbit.canonical.len() as u32;
    let own: Vec<usize> = (0..instances.len()).filter(|&i| orbit.instances.contains(&instances[i])).collect();
    let mut found = Vec::new();
    for (at, &one) in own.iter().enumerate() {
        if let Some(&other) = own[at + 1..].iter().find(|&&other| are_apart(&instances[one], &instances[other])) {
            let entries = met(atoms, &instances[one], &instances[other], states);
            found.extend(Displaced::new(size, size, &entries, 1 << 24).ok().map(|table| (one, other, table)));
        }
    }
    found
}

/// The literals that say that an atom has a value; nothing for a bucket of a number.
fn literals(atom: &AtomicFeature, value: u32) -> Option<Vec<Literal>> {
    let literal = |value: &Value| match value {
        Value::Is(literal) => Some(Literal::of(literal.fluent).negate_if(!literal.holds)),
        _ => None,
    };
    match &atom.values[value as usize] {
        Value::Otherwise => Some(atom.values.iter().filter_map(literal).map(Literal::negated).collect()),
        value => literal(value).map(|literal| vec![literal]),
    }
}

/// A network of three layers with weights by chance, of 16 bits; the sums of its first layer follow the state.
struct SmallNetwork {
    first: Vec<[i16; WIDTH]>,
    second: Vec<[i16; WIDTH]>,
    last: Vec<i16>,
    sums: [i16; WIDTH],
}

const WIDTH: usize = 64;
const HIDDEN: usize = 32;

impl SmallNetwork {
    fn new(n_fluents: usize, rng: &mut Pcg64) -> SmallNetwork {
        let row = |rng: &mut Pcg64| std::array::from_fn(|_| rng.random_range(-99..100));
        SmallNetwork {
            first: (0..n_fluents).map(|_| row(rng)).collect(),
            second: (0..HIDDEN).map(|_| row(rng)).collect(),
            last: (0..HIDDEN).map(|_| rng.random_range(-99..100)).collect(),
            sums: [0; WIDTH],
        }
    }

    fn go(&mut self, before: &[u64], after: &[u64]) {
        for (word, (old, new)) in before.iter().zip(after).enumerate() {
            let mut flipped = old ^ new;
            while flipped != 0 {
                let bit = flipped.trailing_zeros();
                let row = &self.first[64 * word + bit as usize];
                let sign = if new >> bit & 1 == 1 { 1 } else { -1 };
                self.sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += sign * weight);
                flipped &= flipped - 1;
            }
        }
    }

    fn value(&self) -> i64 {
        let lit = self.sums.map(|sum| sum.clamp(0, 127));
        let unit = |row: &[i16; WIDTH]| row.iter().zip(&lit).map(|(w, x)| i32::from(*w) * i32::from(*x)).sum::<i32>();
        let units = self.second.iter().map(|row| (unit(row) >> 6).clamp(0, 127));
        units.zip(&self.last).map(|(unit, weight)| i64::from(unit) * i64::from(*weight)).sum()
    }
}

/// All kinds of evaluators along the same states.
fn evaluators<I: Index>(
    atoms: &Atoms,
    orbits: &[Orbit],
    instances: &[Instance],
    indexer: &Indexer<I>,
    tables: &Tables<i16>,
    states: &[Vec<u64>],
) {
    /// The most configurations.
    const CONFIGURATIONS: u64 = 20_000;
    let mut rng = Pcg64::seed_from_u64(5);
    let n_rounds = (200_000 / states.len()).max(1);
    let timed = |name: &str, run: &mut dyn FnMut(&[u64], &[u64]) -> i64| {
        let (clock, mut sum) = (seconds(), 0);
        for _ in 0..n_rounds {
            states.windows(2).for_each(|pair| sum += run(&pair[0], &pair[1]));
            run(&states[states.len() - 1], &states[0]);
        }
        println!("  | {name} | {:.0} |", (n_rounds * states.len()) as f64 / (seconds() - clock));
        sum
    };
    println!("  | evaluator | moves/s |\n  |---|---|");
    // Step 1. Tables that are flat, and large sparse ones beside them.
    let mut at = indexer.start(&states[0]);
    timed(&format!("{} flat tables", instances.len()), &mut |_, state| {
        indexer.go(&mut at, state);
        i64::from(tables.sum(indexer.indices(&at)))
    });
    let pairs = pairs(atoms, orbits, instances, states);
    let mut at = indexer.start(&states[0]);
    timed(&format!("the same and {} sparse tables", pairs.len()), &mut |_, state| {
        indexer.go(&mut at, state);
        let indices = indexer.indices(&at);
        let get = |(one, other, table): &Pair| table.get(indices[*one].place() as u32, indices[*other].place() as u32);
        i64::from(tables.sum(indices)) + pairs.iter().filter_map(get).map(i64::from).sum::<i64>()
    });
    // Step 2. Mined configurations: their diagram, walked anew for each state, and cover propagation.
    let flat: Vec<u64> = states.iter().flatten().copied().collect();
    let n_words = states[0].len();
    let mut relations = genconf::relations(&atoms.features, &transpose(&flat, n_words, 64 * n_words));
    relations.retain(|relation| literals(&atoms.features[relation.feature as usize], relation.value).is_some());
    let budget = genconf::Budget { length: 4, configurations: CONFIGURATIONS, ..genconf::Budget::default() };
    let support = states.len() as u32 / 10;
    let settings = genconf::Settings { backend: Backend::Eclat, budget, ..genconf::Settings::new(support) };
    let mined = genconf::mine(&relations, &settings).configurations;
    let said: Vec<Vec<Literal>> = relations
        .iter()
        .filter_map(|relation| literals(&atoms.features[relation.feature as usize], relation.value))
        .collect();
    let (mut patterns, mut kept) = (Patterns::default(), Vec::new());
    for configuration in &mined {
        let mut all: Vec<Literal> =
            configuration.relations.iter().flat_map(|&relation| said[relation as usize].iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        if patterns.insert(&all) {
            kept.push(&configuration.relations[..]);
        }
    }
    let weights: Vec<i32> = kept.iter().map(|_| rng.random_range(-999..1000)).collect();
    let (dag, mut walk) = (Dag::new(&kept), Walk::default());
    let walked = timed(&format!("diagram of {} configurations", kept.len()), &mut |_, state| {
        let holds = |relation: u32| said[relation as usize].iter().all(|literal| literal.holds(state));
        let mut sum = 0;
        dag.walk(holds, &mut walk, |configuration, _| sum += i64::from(weights[configuration as usize]));
        sum
    });
    let moves: Vec<Change> =
        states.windows(2).take(1024).map(|pair| (pair[0][..].into(), pair[1][..].into())).collect();
    let motion = Motion::new(64 * n_words, &moves);
    let cover = Cover::build(&patterns, &weights, Some(&motion), &cover::Settings::ALL);
    let mut matcher = Matcher::new(&cover, &states[0]);
    let covered = timed("cover propagation of the same", &mut |before, state| {
        matcher.update(&cover, before, state);
        matcher.score()
    });
    assert_eq!(walked, covered, "both add up the same configurations");
    // Step 3. A network.
    let mut network = SmallNetwork::new(64 * n_words, &mut rng);
    network.go(&vec![0; n_words], &states[0]);
    timed(&format!("network of {WIDTH} and {HIDDEN} units over fluents"), &mut |before, state| {
        network.go(before, state);
        network.value()
    });
}

/// Mines the positions in each way.
fn mine(atoms: &Atoms, states: &[Vec<u64>]) {
    let flat: Vec<u64> = states.iter().flatten().copied().collect();
    let words = states[0].len();
    let columns = transpose(&flat, words, 64 * words);
    let mut relations = genconf::relations(&atoms.features, &columns);
    genconf::shuffle(&mut relations, &mut Pcg64::seed_from_u64(9));
    let support = states.len() as u32 / 10;
    let budget = genconf::Budget { length: 4, configurations: 10_000_000, ..genconf::Budget::default() };
    let settings =
        |backend, test| genconf::Settings { backend, test, budget: budget.clone(), ..genconf::Settings::new(support) };
    let test = Some(genconf::SequentialTest::default());
    for (name, settings) in [
        ("level by level", settings(Backend::Ordered, None)),
        ("depth first", settings(Backend::Eclat, None)),
        ("depth first by losses", settings(Backend::Diffsets, None)),
        ("depth first with the sequential test", settings(Backend::Eclat, test)),
    ] {
        let clock = seconds();
        let mined = genconf::mine(&relations, &settings);
        let time = seconds() - clock;
        println!(
            "  {} relations in {} positions, support {support}, {name}: {} configurations, {:.2} s, {:.2} billion words, \
             {:.1} GB/s{}",
            relations.len(),
            states.len(),
            mined.configurations.len(),
            time,
            mined.words as f64 / 1e9,
            mined.words as f64 * 16.0 / time / 1e9,
            mined.stopped.map_or(String::new(), |reason| format!("; stopped: {reason}")),
        );
    }
}

/// The pairs of indices that two instances of one orbit have in the positions, as a sparse table.
fn real_pairs(atoms: &Atoms, orbits: &[Orbit], states: &[Vec<u64>]) {
    let Some(orbit) = with_pairs(orbits) else { return };
    let first = &orbit.instances[0];
    let other = orbit.instances.iter().find(|other| are_apart(first, other)).expect("there is one");
    let entries = met(atoms, first, other, states);
    let clock = seconds();
    let size = orbit.canonical.len() as u32;
    match Displaced::new(size, size, &entries, 1 << 24) {
        Ok(table) => println!(
            "  two of {:?}, seen together twice or more: {} pairs of {size} x {size}, {} slots, load {:.3}, built in {:.3} s",
            orbit.kind,
            entries.len(),
            table.n_slots(),
            table.load(),
            seconds() - clock,
        ),
        Err(reason) => println!("  two of {:?}: {reason}", orbit.kind),
    }
}

/// As many pairs as Buro's large patterns have, looked up in a random order; half of the questions have an answer.
fn sparse_tables() {
    let n = 6561u32;
    let mut rng = Pcg64::seed_from_u64(3);
    for (name, power) in [("even", 1), ("skewed", 3)] {
        let index = |rng: &mut Pcg64| {
            let x: f64 = rng.random();
            ((x.powi(power) * f64::from(n)) as u32).min(n - 1)
        };
        let mut pairs = std::collections::BTreeSet::new();
        while pairs.len() < 88_000 {
            pairs.insert((index(&mut rng), index(&mut rng)));
        }
        let entries: Vec<Entry<i16>> = pairs.iter().map(|&pair| (pair, 1)).collect();
        let clock = seconds();
        let displaced = Displaced::new(n, n, &entries, 1 << 24).expect("it fits");
        let (displaced_s, clock) = (seconds() - clock, seconds());
        let hashed = Hashed::new(n, n, &entries, 1 << 24).expect("it fits");
        let hashed_s = seconds() - clock;
        let questions: Vec<(u32, u32)> = (0..1 << 20)
            .map(|_| {
                if rng.random_bool(0.5) {
                    entries[rng.random_range(0..entries.len())].0
                } else {
                    (index(&mut rng), index(&mut rng))
                }
            })
            .collect();
        let rate = |get: &dyn Fn(u32, u32) -> Option<i16>| {
            let (clock, mut sum) = (seconds(), 0i64);
            for _ in 0..16 {
                questions.iter().for_each(|&(first, second)| sum += i64::from(get(first, second).unwrap_or(0)));
            }
            (16.0 * questions.len() as f64 / (seconds() - clock) / 1e6, sum)
        };
        let (displaced_rate, one) = rate(&|first, second| displaced.get(first, second));
        let (hashed_rate, other) = rate(&|first, second| hashed.get(first, second));
        assert_eq!(one, other, "both tables have the same weights");
        println!(
            "88000 pairs, {name}: displaced rows built in {displaced_s:.3} s, {} slots, load {:.3}, {} bytes, \
             {displaced_rate:.0} million look-ups/s; hashed built in {hashed_s:.3} s, load {:.3}, {} bytes, \
             {hashed_rate:.0} million look-ups/s",
            displaced.n_slots(),
            displaced.load(),
            displaced.bytes(),
            hashed.load(),
            hashed.bytes(),
        );
    }
}
