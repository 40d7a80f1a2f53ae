//! How far goals are met: a graded reading of the rules' goals, for play that has no results to learn from yet.
//!
//! A fluent is met or not. A conjunction is met as far as its parts are on average, weighted by how many conditions
//! they stand for; of alternatives, the best counts. So a goal that holds has grade 1 and any other less.

use machine::network::{Gate, Network, Wire};
use rustc_hash::FxHashMap;

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
}

enum Node {
    Zero,
    One,
    Fluent { fluent: u32, inverted: bool },
    Mean(Vec<(u32, f32)>),
    Best(Vec<u32>),
}

impl Grades {
    pub(super) fn new(network: &Network) -> Grades {
        let mut maker =
            Maker { network, nodes: Vec::new(), sizes: Vec::new(), known: FxHashMap::default(), n_edges: 0 };
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

struct Maker<'a> {
    network: &'a Network,
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
            Gate::Fluent(fluent) => (Node::Fluent { fluent: *fluent, inverted: wire.is_inverted() }, 1.0),
            // What a cycle may add is left out, and goals read no moves.
            _ if wire == Wire::TRUE => (Node::One, 1.0),
            _ => (Node::Zero, 1.0),
        };
        self.known.insert(wire, self.nodes.len() as u32);
        self.nodes.push(node);
        self.sizes.push(size);
    }
}
