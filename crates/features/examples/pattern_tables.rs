//! Pattern tables of games: how many shapes, orbits and slots there are, that indices follow every move and undo, and how
//! fast they are; and how the two kinds of sparse tables compare.
//!
//! `cargo run --release -p features --example pattern_tables -- [--plies N] [--base] RULES...`
//!
//! With `--base` only lines of four cells and more, edges with inner neighbours and corner blocks are used.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use features::game::Game;
use features::pattern::atoms::{self, Atoms};
use features::pattern::orbit::{self, Orbit};
use features::pattern::shapes::{self, Kind};
use features::pattern::sparse::{Displaced, Entry, Hashed};
use features::pattern::table::{Index, Indexer, Indices, Instance, Tables};
use insight::symmetry::{self, Grid};
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn main() {
    let (mut plies, mut base, mut files) = (100_000, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--plies" => plies = arguments.next().and_then(|n| n.parse().ok()).expect("--plies has a number"),
            "--base" => base = true,
            _ => files.push(argument),
        }
    }
    for file in &files {
        let text = std::fs::read(file).expect("the rules can be read");
        match Game::new(gdl::read(file, &text).program, 1) {
            Ok(game) => report(file, &game, base, plies),
            Err(reason) => println!("{file}: {reason}"),
        }
    }
    sparse_tables();
}

fn report(file: &str, game: &Game, base: bool, plies: usize) {
    let atoms = atoms::find(game, &atoms::Settings::default());
    let mut settings = shapes::Settings::default();
    if base {
        settings = shapes::Settings {
            min_line: 4,
            straight: vec![],
            blocks: vec![],
            corners: vec![(3, 3), (2, 5)],
            ..settings
        };
    }
    let mut proposed = Vec::new();
    for layer in &atoms.layers {
        proposed.extend(shapes::propose(&game.structure.boards[layer.board], layer, &settings).shapes);
    }
    proposed.retain(|shape| !base || shape.kind != Kind::Edge);
    let keeping = symmetries(game, &atoms);
    let clock = Instant::now();
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
        clock.elapsed().as_secs_f64(),
    );
    if instances.is_empty() {
        return;
    }
    let n_fluents = game.circuit.network.fluents.len();
    if let Some(indexer) = Indexer::<u16>::new(&atoms.features, &instances, n_fluents) {
        play(game, &atoms, &orbits, &instances, &indexer, plies);
    } else if let Some(indexer) = Indexer::<u32>::new(&atoms.features, &instances, n_fluents) {
        play(game, &atoms, &orbits, &instances, &indexer, plies);
    }
}

fn symmetries(game: &Game, atoms: &Atoms) -> Vec<orbit::AtomSymmetry> {
    let Some(ground) = &game.circuit.ground else { return Vec::new() };
    let network = &game.circuit.network;
    let boards = game.structure.boards.iter();
    let grids: Vec<Grid> = boards.map(|board| Grid::of_board(board, &game.universe, ground, network)).collect();
    let found = symmetry::find_on_boards(ground, Some(network), &grids, &symmetry::Budget::default(), 1);
    orbit::keeping_roles(game, &atoms.features, &found)
}

/// Random matches: every index against its recomputation, then the speed.
fn play<I: Index>(
    game: &Game,
    atoms: &Atoms,
    orbits: &[Orbit],
    instances: &[Instance],
    indexer: &Indexer<I>,
    plies: usize,
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
    // The states of matches in their order, with steps back now and then.
    let tables: Vec<Vec<i16>> = orbits
        .iter()
        .map(|orbit| {
            let weights: Vec<i16> = (0..orbit.n_canonical).map(|_| rng.random_range(-999..1000)).collect();
            orbit.expand(&weights)
        })
        .collect();
    let tables = Tables::new(&tables, instances);
    let rounds = (2_000_000 / states.len()).max(1);
    let timed = |name: &str, run: &mut dyn FnMut(&[u64]) -> i64| {
        let (clock, mut sum) = (Instant::now(), 0);
        for _ in 0..rounds {
            states.iter().for_each(|state| sum += run(state));
        }
        let rate = (rounds * states.len()) as f64 / clock.elapsed().as_secs_f64();
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
        let clock = Instant::now();
        let displaced = Displaced::new(n, n, &entries, 1 << 24).expect("it fits");
        let (displaced_s, clock) = (clock.elapsed().as_secs_f64(), Instant::now());
        let hashed = Hashed::new(n, n, &entries, 1 << 24).expect("it fits");
        let hashed_s = clock.elapsed().as_secs_f64();
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
            let (clock, mut sum) = (Instant::now(), 0i64);
            for _ in 0..16 {
                questions.iter().for_each(|&(first, second)| sum += i64::from(get(first, second).unwrap_or(0)));
            }
            (16.0 * questions.len() as f64 / clock.elapsed().as_secs_f64() / 1e6, sum)
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
