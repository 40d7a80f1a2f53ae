//! How far goals are met: a graded reading of the rules' goals, for play that has no results to learn from yet.
//!
//! A fluent is met or not. A conjunction is met as far as its parts are on average, weighted by how many conditions
//! they stand for; of alternatives, the best counts. So a goal that holds has grade 1 and any other less.
//!
//! Where always exactly one fluent of a name holds, such as the order of a whole stack, a wanted one is met in part if the one
//! that holds has some of its arguments.

use gdl::TermId;
use machine::lanes::Vector;
use machine::network::{Gate, Network, Wire};
use rustc_hash::FxHashMap;

use crate::game::Game;

/// How many states are graded together.
const BLOCK: usize = 64;
/// Goals that are made of more than this are not graded.
const MAX_EDGES: usize = 20_000;

/// The goals of every role, ready to be graded.
pub(super) struct Grades {
    nodes: Vec<Node>,
    /// For each role, the nodes of its goals with their weights.
    goals: Vec<Vec<(u32, f32)>>,
    n_edges: usize,
    values: Vec<[f32; BLOCK]>,
    records: Vec<Record>,
}

/// Fluents of one name, of which always exactly one holds.
struct Record {
    /// For each word of a state, which of its fluents belong here.
    mask: Vec<u64>,
    /// The arguments of each fluent.
    arguments: FxHashMap<u32, Vec<TermId>>,
    /// Which fluent holds in each state of a block.
    holding: [u32; BLOCK],
}

/// What being nearly met counts for, at most.
const NEARLY: f32 = 0.9;

enum Node {
    Zero,
    One,
    Fluent { fluent: u32, inverted: bool },
    Member { record: u32, wanted: Vec<TermId> },
    Mean(Vec<(u32, f32)>),
    Best(Vec<u32>),
}

impl Grades {
    pub(super) fn new(game: &Game) -> Grades {
        let network = &*game.circuit.network;
        let records = records(game);
        let mut maker = Maker {
            network,
            records: &records,
            nodes: Vec::new(),
            sizes: Vec::new(),
            known: FxHashMap::default(),
            n_edges: 0,
        };
        let mut goals = vec![Vec::new(); network.roles.len()];
        for (role, goals) in goals.iter_mut().enumerate() {
            // The square lets the best goals lead.
            let own = network.goals.iter().filter(|&&(of, value, _)| of == role as u32 && value > 0);
            let own: Vec<(i64, Wire)> = own.map(|&(_, value, wire)| (value, wire)).collect();
            let total: f32 = own.iter().map(|&(value, _)| (value * value) as f32).sum();
            for (value, wire) in own {
                let node = maker.node(wire);
                goals.push((node, (value * value) as f32 / total));
            }
        }
        let (mut nodes, n_edges) = (maker.nodes, maker.n_edges);
        if n_edges > MAX_EDGES {
            nodes.clear();
            goals.iter_mut().for_each(Vec::clear);
        }
        Grades {
            values: vec![[0.0; BLOCK]; nodes.len()],
            n_edges: if nodes.is_empty() { 0 } else { n_edges },
            nodes,
            goals,
            records,
        }
    }

    /// What grading 512 states costs, in gates.
    pub(super) fn price(&self) -> u64 {
        64 * self.n_edges as u64
    }

    /// Tells the grade of each state for each role; nothing for roles without graded goals.
    pub(super) fn measure(&mut self, states: &[u64], n_words: usize, mut tell: impl FnMut(usize, usize, f32)) {
        if self.nodes.is_empty() || n_words == 0 {
            return;
        }
        for (number, block) in states.chunks(BLOCK * n_words).enumerate() {
            self.run(block, n_words);
            for (role, goals) in self.goals.iter().enumerate() {
                for offset in 0..block.len() / n_words {
                    let grade = goals.iter().map(|&(node, weight)| weight * self.values[node as usize][offset]).sum();
                    tell(number * BLOCK + offset, role, grade);
                }
            }
        }
    }

    fn run(&mut self, block: &[u64], n_words: usize) {
        for record in &mut self.records {
            for (holding, state) in record.holding.iter_mut().zip(block.chunks(n_words)) {
                let held = state.iter().zip(&record.mask).map(|(word, mask)| word & mask);
                let found = (0..).zip(held).find(|(_, held)| *held != 0);
                *holding = found.map_or(u32::MAX, |(word, held)| 64 * word + held.trailing_zeros());
            }
        }
        for (number, node) in self.nodes.iter().enumerate() {
            let (before, rest) = self.values.split_at_mut(number);
            let value = &mut rest[0];
            match node {
                Node::Zero => *value = [0.0; BLOCK],
                Node::One => *value = [1.0; BLOCK],
                Node::Fluent { fluent, inverted } => {
                    for (value, state) in value.iter_mut().zip(block.chunks(n_words)) {
                        let holds = state[*fluent as usize / 64] >> (fluent % 64) & 1 == 1;
                        *value = f32::from(u8::from(holds != *inverted));
                    }
                }
                Node::Member { record, wanted } => {
                    let record = &self.records[*record as usize];
                    for (value, holding) in value.iter_mut().zip(&record.holding) {
                        let found = record.arguments.get(holding).map_or(&[][..], Vec::as_slice);
                        let n_same = found.iter().zip(wanted).filter(|(found, wanted)| found == wanted).count();
                        *value = match n_same {
                            n if n == wanted.len() => 1.0,
                            n => NEARLY * n as f32 / wanted.len() as f32,
                        };
                    }
                }
                Node::Mean(parts) => {
                    *value = [0.0; BLOCK];
                    for &(part, weight) in parts {
                        let part = &before[part as usize];
                        value.iter_mut().zip(part).for_each(|(value, part)| *value += weight * part);
                    }
                }
                Node::Best(parts) => {
                    *value = [0.0; BLOCK];
                    for &part in parts {
                        let part = &before[part as usize];
                        value
                            .iter_mut()
                            .zip(part)
                            .for_each(|(value, &part)| *value = if part > *value { part } else { *value });
                    }
                }
            }
        }
    }
}

/// The names of which always exactly one fluent with several arguments holds, as far as random play shows.
fn records(game: &Game) -> Vec<Record> {
    let network = &game.circuit.network;
    let mut named: FxHashMap<(gdl::symbol::SymbolId, usize), Vec<usize>> = FxHashMap::default();
    for (place, &fluent) in game.universe.fluents.iter().enumerate() {
        let arity = game.universe.terms.args(fluent).len();
        if arity > 1 {
            named.entry((game.universe.terms.name(fluent), arity)).or_default().push(place);
        }
    }
    let mut named: Vec<Vec<usize>> = named.into_values().collect();
    named.sort_unstable();
    named.retain(|members| {
        game.samples.batches.iter().all(|batch| {
            let (mut any, mut several) = (Vector::ZERO, Vector::ZERO);
            for &member in members {
                several = several | any & batch.fluents[member];
                any = any | batch.fluents[member];
            }
            (several & batch.live).is_zero() && (any & batch.live) == batch.live
        })
    });
    let record = |members: Vec<usize>| {
        let mut mask = vec![0; network.fluents.len().div_ceil(64)];
        let mut arguments = FxHashMap::default();
        for member in members {
            let wire = game.circuit.fluents[member];
            if wire.gate() > 0 && !wire.is_inverted() {
                let fluent = wire.gate() - 1;
                mask[fluent as usize / 64] |= 1 << (fluent % 64);
                let terms = game.universe.terms.args(game.universe.fluents[member]);
                arguments.insert(fluent, terms.to_vec());
            }
        }
        Record { mask, arguments, holding: [u32::MAX; BLOCK] }
    };
    named.into_iter().map(record).collect()
}

struct Maker<'a> {
    network: &'a Network,
    records: &'a [Record],
    nodes: Vec<Node>,
    /// How many conditions a node stands for.
    sizes: Vec<f32>,
    known: FxHashMap<Wire, u32>,
    n_edges: usize,
}

impl Maker<'_> {
    /// The node of a wire; those that it needs are made first.
    fn node(&mut self, wire: Wire) -> u32 {
        let mut stack = vec![wire];
        while let Some(&top) = stack.last() {
            if self.known.contains_key(&top) {
                stack.pop();
                continue;
            }
            let inputs: &[Wire] = match &self.network.gates[top.gate() as usize] {
                Gate::And(inputs) => inputs,
                _ => &[],
            };
            let wanted: Vec<Wire> = inputs.iter().map(|input| input.invert_if(top.is_inverted())).collect();
            let missing = wanted.iter().filter(|input| !self.known.contains_key(input));
            // A loop in the network leads to gates above it, but its node needs none.
            let n_before = stack.len();
            stack.extend(missing);
            if stack.len() == n_before {
                self.make(top, &wanted);
                stack.pop();
            }
        }
        self.known[&wire]
    }

    fn make(&mut self, wire: Wire, inputs: &[Wire]) {
        let inputs: Vec<u32> = inputs.iter().map(|input| self.known[input]).collect();
        self.n_edges += inputs.len();
        let sizes = inputs.iter().map(|&input| self.sizes[input as usize]);
        let (node, size) = match &self.network.gates[wire.gate() as usize] {
            Gate::And(_) if wire.is_inverted() => {
                let size = sizes.fold(1.0, f32::max);
                (Node::Best(inputs), size)
            }
            Gate::And(_) => {
                let total: f32 = sizes.sum();
                let parts = inputs.iter().map(|&input| (input, self.sizes[input as usize] / total));
                (Node::Mean(parts.collect()), total.min(1_000.0))
            }
            Gate::Fluent(fluent) => {
                let mut records = (0u32..).zip(self.records);
                let node = match records.find_map(|(record, of)| Some((record, of.arguments.get(fluent)?.clone()))) {
                    Some((record, wanted)) if !wire.is_inverted() => Node::Member { record, wanted },
                    _ => Node::Fluent { fluent: *fluent, inverted: wire.is_inverted() },
                };
                (node, 1.0)
            }
            // What a cycle may add is left out, and goals read no moves.
            _ if wire == Wire::TRUE => (Node::One, 1.0),
            _ => (Node::Zero, 1.0),
        };
        self.known.insert(wire, self.nodes.len() as u32);
        self.nodes.push(node);
        self.sizes.push(size);
    }
}
