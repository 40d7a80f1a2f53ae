//! A large pattern in a sparse table: Buro's pattern A, the two outer rows of each side, 16 cells. An evaluation with it plays
//! against one without, with the same time for each move.

use std::time::{Duration, Instant};

use features::pattern::sparse::{Displaced, Entry};
use features::pattern::table::{Indexer, Indices, Instance, Tables};
use learn::fit::{Fit, Join, Ridge, Settings, Sparse, Staged};
use machine::scalar::{self, Scalar};
use machine::{RoleId, lanes};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use rustc_hash::FxHashMap;
use search::alpha_beta::{self, AlphaBeta};
use search::match_play::{self, Work};
use search::statistics::wilson;
use search::{Limit, Nature, Player, Position};

use super::positions::{Patterns, Positions};
use super::{Options, Table};

/// How often a configuration must have been met to have a weight.
const LEAST: u32 = 75;
/// The most slots of a sparse table.
const MAX_SLOTS: usize = 1 << 24;
/// Moves by chance at the start of a match.
const OPENING: u32 = 10;

/// The two outer rows of each side.
struct Large {
    /// All indices: those of the patterns, and then the outer and the second row of each side.
    indexer: Indexer<u16>,
    n_small: usize,
    /// How many indices a row has.
    n_indices: usize,
    /// The column of each configuration that is frequent, by the smaller of its pair of indices and that of its mirror image.
    columns: FxHashMap<(u16, u16), u32>,
}

impl Large {
    fn new(patterns: &Patterns, positions: &Positions) -> Result<Large, String> {
        let mut instances = patterns.instances.clone();
        for [outer, second] in patterns.sides()? {
            instances.extend([outer, second].map(|atoms| Instance::new(0, atoms)));
        }
        let indexer = Indexer::new(&patterns.atoms.features, &instances, patterns.n_fluents());
        let (_, n_indices) = instances[instances.len() - 1].strides(&patterns.atoms.features);
        let indexer = indexer.ok_or("tables are too large")?;
        let mut large = Large { indexer, n_small: patterns.instances.len(), n_indices, columns: FxHashMap::default() };
        let mut counts: FxHashMap<(u16, u16), u32> = FxHashMap::default();
        let mut at = large.indexer.start(&vec![0; positions.words]);
        for position in 0..positions.len() {
            large.indexer.go(&mut at, positions.state(position));
            large.pairs(&at).for_each(|pair| *counts.entry(canonical(pair)).or_default() += 1);
        }
        let mut frequent: Vec<(u16, u16)> =
            counts.into_iter().filter(|(_, n)| *n >= LEAST).map(|(pair, _)| pair).collect();
        frequent.sort_unstable();
        large.columns = frequent.into_iter().zip(0..).collect();
        Ok(large)
    }

    fn pairs<'a>(&self, at: &'a Indices<u16>) -> impl Iterator<Item = (u16, u16)> + use<'a> {
        self.indexer.indices(at)[self.n_small..].chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// The configurations of positions, in an order.
    fn design(&self, positions: &Positions, order: &[u32]) -> Sparse {
        let mut design = Sparse::new(self.columns.len());
        let mut at = self.indexer.start(&vec![0; positions.words]);
        for &position in order {
            self.indexer.go(&mut at, positions.state(position as usize));
            design.push_columns(self.pairs(&at).filter_map(|pair| self.columns.get(&canonical(pair)).copied()));
        }
        design
    }

    /// The sparse table of weights, or the one for a role that has the other kind of piece.
    fn table(&self, weights: &[f32], exchanged: bool) -> Result<Displaced<f32>, String> {
        let n = self.n_indices as u32;
        let side = |index: u16| if exchanged { exchange(usize::from(index), n as usize) as u32 } else { index.into() };
        let mut entries: Vec<Entry<f32>> = Vec::new();
        for (&pair, &column) in &self.columns {
            let mut images = vec![pair, mirror(pair)];
            images.dedup();
            entries.extend(images.into_iter().map(|(one, two)| ((side(one), side(two)), weights[column as usize])));
        }
        Displaced::new(n, n, &entries, MAX_SLOTS).map_err(|refused| refused.to_string())
    }
}

/// A pair of indices of eight cells in the opposite order.
fn mirror((one, other): (u16, u16)) -> (u16, u16) {
    let reverse = |index: u16| (0..8).fold((0, index), |(back, rest), _| (3 * back + rest % 3, rest / 3)).0;
    (reverse(one), reverse(other))
}

fn canonical(pair: (u16, u16)) -> (u16, u16) {
    pair.min(mirror(pair))
}

/// The index in a table of `size` slots if the two kinds of pieces change places: the digits 1 and 2.
fn exchange(index: usize, size: usize) -> usize {
    let (mut rest, mut stride, mut exchanged) = (index, 1, 0);
    while stride < size {
        exchanged += [0, 2, 1][rest % 3] * stride;
        rest /= 3;
        stride *= 3;
    }
    exchanged
}

/// The weights of a stage for a role to move: tables, and a sparse one if there is a large pattern.
struct Set {
    flat: Tables<f32>,
    sparse: Option<Displaced<f32>>,
}

/// What a player knows.
struct Knowledge<'a> {
    patterns: &'a Patterns,
    /// For each number of pieces the stage.
    stages: Vec<u16>,
    /// For each stage, weights for each role to move.
    sets: Vec<[Set; 2]>,
    large: Option<&'a Large>,
}

impl<'a> Knowledge<'a> {
    /// From the weights of each stage: those of flat tables first.
    fn new(
        patterns: &'a Patterns,
        (stages, n_stages): (Vec<u16>, usize),
        design: &learn::fit::Tables<u16>,
        fitted: &Fit,
        large: Option<&'a Large>,
    ) -> Result<Knowledge<'a>, String> {
        let weights: Vec<f32> = fitted.weights.iter().map(|&weight| weight as f32).collect();
        let mut sets = Vec::new();
        for own in weights.chunks(weights.len() / n_stages) {
            let flat = design.expand(own);
            let n_flat: usize = patterns.orbits.iter().map(|orbit| orbit.n_canonical).sum();
            let turned: Vec<Vec<f32>> = (flat.iter())
                .map(|table| (0..table.len()).map(|index| table[exchange(index, table.len())]).collect())
                .collect();
            let set = |tables: &[Vec<f32>], exchanged: bool| {
                let sparse = large.map(|large| large.table(&own[n_flat..], exchanged)).transpose()?;
                Ok::<_, String>(Set { flat: Tables::new(tables, &patterns.instances), sparse })
            };
            sets.push([set(&flat, false)?, set(&turned, true)?]);
        }
        Ok(Knowledge { patterns, stages, sets, large })
    }

    fn indexer(&self) -> &Indexer<u16> {
        self.large.map_or(&self.patterns.indexer, |large| &large.indexer)
    }

    /// The difference of pieces that it expects at the end, as the role to move sees it.
    fn value(&self, at: &mut Indices<u16>, state: &[u64]) -> f32 {
        let indexer = self.indexer();
        indexer.go(at, state);
        let stage = self.stages[self.patterns.n_pieces(state)];
        let set = &self.sets[usize::from(stage)][usize::from(!self.patterns.first_moves(state))];
        let sum = set.flat.sum(&indexer.indices(at)[..self.patterns.instances.len()]);
        let (Some(large), Some(sparse)) = (self.large, &set.sparse) else { return sum };
        sum + large.pairs(at).filter_map(|(one, other)| sparse.get(one.into(), other.into())).sum::<f32>()
    }
}

/// A place in a match that is judged by what a player knows.
struct Judged<'a> {
    knowledge: &'a Knowledge<'a>,
    machine: Scalar,
    at: Indices<u16>,
}

impl Position for Judged<'_> {
    fn machine(&self) -> &Scalar {
        &self.machine
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.machine.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.machine.make(joint);
    }

    fn unmake(&mut self) {
        self.machine.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.machine.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        let state = self.machine.bits();
        let value = self.knowledge.value(&mut self.at, state);
        let is_mover = self.knowledge.patterns.first_moves(state) == (role.0 == 0);
        0.5 + (if is_mover { value } else { -value } / 130.0).clamp(-0.49, 0.49)
    }
}

/// Fits weights with and without the large pattern, and lets the one play against the other.
pub(crate) fn compare(
    patterns: &Patterns,
    positions: &Positions,
    table: Table<Staged<learn::fit::Tables<u16>>>,
    options: &Options,
) -> Result<(), String> {
    let ridge = options.ridges.last().copied().unwrap_or(0.0);
    let settings =
        Settings { iterations: 100, patience: 3, ridge: Ridge::Same(ridge), ..super::least_squares(options) };
    let small = super::run(&table, &settings, &mut |_| true);
    eprintln!("without: {}", super::errors(&small.at));
    let large = Large::new(patterns, positions)?;
    let order = super::order(positions, options.stages);
    let Table { design: Staged { design: flat, stages: rows, .. }, targets, weights, held_out } = table;
    let sparse = large.design(positions, &order);
    let table = Table { design: Staged::new(Join(flat, sparse), options.stages, rows), targets, weights, held_out };
    let with = super::run(&table, &settings, &mut |_| true);
    eprintln!("with: {}; {} configurations", super::errors(&with.at), large.columns.len());
    let flat = &table.design.design.0;
    let stages = || (super::stages(options.stages), options.stages);
    let knowledge = [
        Knowledge::new(patterns, stages(), flat, &with, Some(&large))?,
        Knowledge::new(patterns, stages(), flat, &small, None)?,
    ];
    let load = |[set, _]: &[Set; 2]| set.sparse.as_ref().map_or(0.0, Displaced::load);
    let load = knowledge[0].sets.iter().map(load).sum::<f64>() / options.stages as f64;
    // Matches: each opening twice, with roles exchanged.
    let network = &patterns.game.circuit.network;
    let compiled = scalar::Compiled::new(network.clone());
    let nature = std::sync::Arc::new(Nature::new(&lanes::Compiled::new(network.clone()), 1));
    let time = Duration::from_secs_f64(options.move_time);
    let start = || {
        let player = |knowledge| {
            let machine = Scalar::new(compiled.clone());
            let at = Knowledge::indexer(knowledge).start(machine.bits());
            let settings = alpha_beta::Settings::default();
            AlphaBeta::new(Judged { knowledge, machine, at }, nature.clone(), settings, 1)
        };
        (Scalar::new(compiled.clone()), knowledge.each_ref().map(player))
    };
    let one = |(machine, players): &mut (Scalar, [AlphaBeta<Judged>; 2]), number: u32| {
        let mut random = Pcg64::seed_from_u64(options.seed ^ u64::from(number / 2) << 20);
        let opening = match_play::opening(machine, OPENING, &mut random);
        let first = (number % 2) as usize;
        let [with, without] = players;
        let mut players: [&mut dyn Player; 2] = [with, without];
        if first == 1 {
            players.swap(0, 1);
        }
        let played = match_play::play(machine, &mut players, &opening, 200, &mut |_, choose| {
            let end = Instant::now() + time;
            choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
        });
        Some((played.goals[first].unwrap_or(50), [played.work[first], played.work[1 - first]]))
    };
    let played = match_play::on_threads(0..options.games, options.threads, start, one);
    let count = |goal: i64| played.iter().filter(|(own, _)| *own == goal).count();
    let points = played.iter().map(|(own, _)| *own as f64 / 100.0).sum::<f64>();
    let score = wilson(points, played.len() as u64);
    let per_move = |side: usize| {
        let sum = |part: fn(&Work) -> u64| played.iter().map(|(_, work)| part(&work[side])).sum::<u64>() as f64;
        sum(|work| work.nodes) / sum(|work| work.n_searches).max(1.0)
    };
    println!(
        "with pattern A against without, {} matches, {} s a move: {} won, {} drawn, {} lost; {:.1} % ({:.1} to {:.1}); \
         {:.2} of the nodes; {} configurations, tables {:.0} % full",
        played.len(),
        options.move_time,
        count(100),
        count(50),
        count(0),
        100.0 * score.mean,
        100.0 * score.low,
        100.0 * score.high,
        per_move(0) / per_move(1),
        large.columns.len(),
        100.0 * load
    );
    Ok(())
}
