//! Coloured directed graphs: their canonical order and their automorphisms, by nauty.
//!
//! Two graphs are isomorphic exactly if their edges, written with the places of the nodes in the canonical order, are
//! equal and so are the colours in that order.

mod nauty;

use std::hash::{Hash, Hasher};

/// A directed graph whose nodes have colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The colour of each node.
    pub colors: Vec<u32>,
    /// The edges; none twice.
    pub edges: Vec<(u32, u32)>,
}

/// What the search for automorphisms found.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelling {
    /// The nodes in canonical order; nodes of a lower colour come first.
    pub order: Vec<u32>,
    /// Permutations of the nodes that generate all automorphisms: `generator[node]` is the image of a node.
    pub generators: Vec<Vec<u32>>,
    /// For each node, the least node that an automorphism takes it to.
    pub orbits: Vec<u32>,
    /// How many automorphisms there are, as mantissa and power of ten.
    pub group_size: (f64, i32),
}

/// The search ran over its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooHard {
    /// The budget, in nodes of the search tree.
    pub budget: u64,
}

impl std::fmt::Display for TooHard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the graph's automorphisms need more than {} search nodes", self.budget)
    }
}

impl std::error::Error for TooHard {}

impl Graph {
    /// Adds a node.
    pub fn node(&mut self, color: u32) -> u32 {
        self.colors.push(color);
        self.colors.len() as u32 - 1
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    /// The canonical order and the automorphisms. The search looks at no more than `budget` nodes of its tree.
    pub fn label(&self, budget: u64) -> Result<Labelling, TooHard> {
        nauty::label(self, budget)
    }

    /// A number that is equal for isomorphic graphs, given a canonical order, and almost surely different for others.
    pub fn fingerprint(&self, labelling: &Labelling) -> u128 {
        let mut place = vec![0; self.colors.len()];
        labelling.order.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
        let mut edges: Vec<(u32, u32)> =
            self.edges.iter().map(|&(from, to)| (place[from as usize], place[to as usize])).collect();
        edges.sort_unstable();
        let colors = labelling.order.iter().map(|&node| self.colors[node as usize]);
        let mut hash = Fingerprint::default();
        colors.for_each(|color| color.hash(&mut hash));
        edges.hash(&mut hash);
        hash.0
    }
}

/// FNV-1a with 128 bits: named and simple, since fingerprints are stored.
struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    fn finish(&self) -> u64 {
        self.0 as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(n: u32, from: u32) -> Graph {
        let edges = (0..n).map(|node| ((node * from) % n, (node + 1) * from % n)).collect();
        Graph { colors: vec![0; n as usize], edges }
    }

    #[test]
    fn a_directed_cycle_has_its_rotations() {
        let labelling = cycle(5, 1).label(1000).expect("easy");
        assert_eq!(labelling.group_size, (5.0, 0));
        assert_eq!(labelling.orbits, [0; 5]);
        for generator in &labelling.generators {
            assert!(cycle(5, 1).edges.iter().all(|&(from, to)| {
                let image = (generator[from as usize], generator[to as usize]);
                cycle(5, 1).edges.contains(&image)
            }));
        }
    }

    #[test]
    fn fingerprints_ignore_the_numbering_alone() {
        let fingerprint = |graph: &Graph| graph.fingerprint(&graph.label(1000).expect("easy"));
        let one = fingerprint(&cycle(7, 1));
        assert_eq!(one, fingerprint(&cycle(7, 3)));
        let mut colored = cycle(7, 1);
        colored.colors[4] = 1;
        assert_ne!(one, fingerprint(&colored));
        let mut turned = cycle(7, 1);
        turned.edges[2] = (turned.edges[2].1, turned.edges[2].0);
        assert_ne!(one, fingerprint(&turned));
    }

    #[test]
    fn the_budget_holds() {
        // Many disjoint triangles: every level of the search tree has a choice.
        let edges = (0..60u32).flat_map(|t| [(3 * t, 3 * t + 1), (3 * t + 1, 3 * t + 2), (3 * t + 2, 3 * t)]);
        let graph = Graph { colors: vec![0; 180], edges: edges.collect() };
        assert_eq!(graph.label(10), Err(TooHard { budget: 10 }));
        assert!(graph.label(100_000).is_ok());
    }

    #[test]
    fn the_empty_graph_is_fine() {
        let labelling = Graph::default().label(1).expect("nothing to do");
        assert!(labelling.order.is_empty() && labelling.generators.is_empty());
    }
}
