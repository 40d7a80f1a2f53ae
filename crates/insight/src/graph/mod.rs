//! Coloured directed graphs: their canonical order and their automorphisms.
//!
//! Two graphs are isomorphic exactly if their edges, written with the places of the nodes in the canonical order, are
//! equal and so are the colours in that order.
//!
//! Colour refinement goes first, since it tells most nodes of most graphs apart. Those that look like no other are settled;
//! the rest falls apart into components, which nauty orders one by one.

mod components;
mod nauty;
mod refine;

use std::fmt;

use gdl::Stop;
use refine::{Neighbours, Partition};

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
    /// Permutations of the nodes that generate all automorphisms: the nodes that each moves, with their images.
    pub generators: Vec<Moves>,
    /// For each node, the least node that an automorphism takes it to.
    pub orbits: Vec<u32>,
    /// How many automorphisms there are: the first number times ten to the power of the second.
    pub group_size: (f64, i32),
}

/// The nodes that a permutation moves, with their images. Most generators of large graphs move few.
pub type Moves = Vec<(u32, u32)>;

/// The most nodes that all generators of a graph move together: what is kept takes memory.
const MAX_MOVES: usize = 16 << 20;

/// Why a graph was not labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooHard {
    /// The search tree has more nodes than this.
    Nodes(u64),
    /// The automorphisms move more nodes than this, all generators together.
    Moves(usize),
    /// It was stopped.
    Stopped,
}

impl fmt::Display for TooHard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooHard::Nodes(budget) => write!(f, "the graph's automorphisms need more than {budget} search nodes"),
            TooHard::Moves(limit) => write!(f, "the graph's automorphisms take more than {limit} images to be written"),
            TooHard::Stopped => write!(f, "the search for the graph's automorphisms was stopped"),
        }
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
    pub fn label(&self, budget: u64, stop: &Stop) -> Result<Labelling, TooHard> {
        components::label(self, budget, stop)
    }

    /// An order that isomorphic graphs usually share, for when [`Graph::label`] is too hard: by refinement, and by the
    /// numbers of the nodes where several look alike. If nodes that look alike really are alike, it is canonical; stopped, it is
    /// some order by colours.
    pub fn rough_order(&self, stop: &Stop) -> Vec<u32> {
        let neighbours = Neighbours::new(self);
        let mut partition = Partition::new(self, &neighbours, stop);
        partition.force(&neighbours, stop);
        partition.elements
    }

    /// A number that is equal for isomorphic graphs, given their canonical orders, and almost surely different for others.
    pub fn fingerprint(&self, order: &[u32]) -> Fingerprint {
        let place = inverse(order);
        let mut edges: Vec<(u32, u32)> =
            self.edges.iter().map(|&(from, to)| (place[from as usize], place[to as usize])).collect();
        edges.sort_unstable();
        let colors = order.iter().map(|&node| self.colors[node as usize]);
        let numbers = [order.len() as u32].into_iter().chain(colors).chain(edges.into_iter().flat_map(|(a, b)| [a, b]));
        numbers.fold(Fingerprint::EMPTY, |fingerprint, number| fingerprint.with(&number.to_le_bytes()))
    }
}

/// The place of each node in an order.
pub(crate) fn inverse(order: &[u32]) -> Vec<u32> {
    let mut place = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
    place
}

/// A number that stands for a graph: FNV-1a with 128 bits, named and simple, since fingerprints are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// The fingerprint of nothing.
    pub const EMPTY: Fingerprint = Fingerprint(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);

    /// The fingerprint of what was read so far and some more.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Fingerprint {
        let prime = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        Fingerprint(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(prime)))
    }
}

impl fmt::Display for Fingerprint {
    /// Writes 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Fingerprint, Self::Err> {
        u128::from_str_radix(text, 16).map(Fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn cycle(n: u32, from: u32) -> Graph {
        let edges = (0..n).map(|node| ((node * from) % n, (node + 1) * from % n)).collect();
        Graph { colors: vec![0; n as usize], edges }
    }

    /// The images of all nodes.
    fn images(n: usize, generators: &[Moves]) -> Vec<Vec<u32>> {
        let all = |moves: &Moves| {
            let mut images: Vec<u32> = (0..n as u32).collect();
            moves.iter().for_each(|&(from, to)| images[from as usize] = to);
            images
        };
        generators.iter().map(all).collect()
    }

    #[test]
    fn a_directed_cycle_has_its_rotations() {
        let labelling = cycle(5, 1).label(1000, &Stop::never()).expect("easy");
        assert_eq!(labelling.group_size, (5.0, 0));
        assert_eq!(labelling.orbits, [0; 5]);
        for generator in images(5, &labelling.generators) {
            assert!(cycle(5, 1).edges.iter().all(|&(from, to)| {
                let image = (generator[from as usize], generator[to as usize]);
                cycle(5, 1).edges.contains(&image)
            }));
        }
    }

    #[test]
    fn fingerprints_ignore_the_numbering_alone() {
        let fingerprint = |graph: &Graph| graph.fingerprint(&graph.label(1000, &Stop::never()).expect("easy").order);
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
        // The edges of a complete graph are nodes, too.
        let mut graph = Graph { colors: vec![0; 20], edges: vec![] };
        for (from, to) in (0..20).flat_map(|from| (0..from).map(move |to| (from, to))) {
            let edge = graph.node(1);
            graph.edge(edge, from);
            graph.edge(edge, to);
        }
        assert_eq!(graph.label(10, &Stop::never()), Err(TooHard::Nodes(10)));
        let labelling = graph.label(100_000, &Stop::never()).expect("enough");
        let (mantissa, exponent) = labelling.group_size;
        let factorial: f64 = (1..=20).map(f64::from).product();
        assert!((mantissa * 10f64.powi(exponent) / factorial - 1.0).abs() < 1e-9);
    }

    #[test]
    fn equal_components_are_exchanged() {
        // Three directed triangles, another one with a colour, and a directed path that one of its nodes leads to.
        let triangle = |t: u32| [(3 * t, 3 * t + 1), (3 * t + 1, 3 * t + 2), (3 * t + 2, 3 * t)];
        let mut edges: Vec<(u32, u32)> = (0..4).flat_map(triangle).collect();
        edges.extend([(11, 12), (12, 13)]);
        let graph = Graph { colors: [vec![0; 9], vec![1; 3], vec![0; 2]].concat(), edges };
        let labelling = graph.label(1000, &Stop::never()).expect("easy");
        assert_eq!(labelling.group_size, (27.0 * 6.0, 0));
        assert_eq!(labelling.orbits, [0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 11, 12, 13]);
        assert_eq!(group(&images(14, &labelling.generators)).len(), 27 * 6);
        for generator in images(14, &labelling.generators) {
            let image = |&(from, to): &(u32, u32)| (generator[from as usize], generator[to as usize]);
            assert!(graph.edges.iter().all(|edge| graph.edges.contains(&image(edge))));
        }
    }

    /// All elements of a small group.
    fn group(generators: &[Vec<u32>]) -> BTreeSet<Vec<u32>> {
        let mut waiting = vec![(0..generators[0].len() as u32).collect::<Vec<u32>>()];
        let mut group = BTreeSet::from([waiting[0].clone()]);
        while let Some(element) = waiting.pop() {
            for generator in generators {
                let next: Vec<u32> = element.iter().map(|&node| generator[node as usize]).collect();
                if group.insert(next.clone()) {
                    waiting.push(next);
                }
            }
        }
        group
    }

    /// All orders of `n` nodes.
    fn orders(n: u32) -> Vec<Vec<u32>> {
        let Some(last) = n.checked_sub(1) else { return vec![vec![]] };
        let insert = |order: Vec<u32>| {
            (0..=order.len()).map(move |at| [&order[..at], &[last], &order[at..]].concat()).collect::<Vec<_>>()
        };
        orders(last).into_iter().flat_map(insert).collect()
    }

    /// The graph with its nodes renumbered, edges sorted.
    fn renumbered(graph: &Graph, number: &[u32]) -> Graph {
        let mut colors = vec![0; number.len()];
        graph.colors.iter().zip(number).for_each(|(&color, &at)| colors[at as usize] = color);
        let image = |&(from, to): &(u32, u32)| (number[from as usize], number[to as usize]);
        let mut edges: Vec<(u32, u32)> = graph.edges.iter().map(image).collect();
        edges.sort_unstable();
        Graph { colors, edges }
    }

    fn graphs() -> impl Strategy<Value = Graph> {
        (1..6u32).prop_flat_map(|n| {
            let edges: Vec<(u32, u32)> =
                (0..n).flat_map(|from| (0..n).map(move |to| (from, to))).filter(|(from, to)| from != to).collect();
            let n_edges = edges.len();
            let colors = proptest::collection::vec(0..2u32, n as usize);
            (colors, proptest::sample::subsequence(edges, 0..=n_edges))
                .prop_map(|(colors, edges)| Graph { colors, edges })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn labels_agree_with_trying_all_orders(graph in graphs(), twin in graphs()) {
            let form = |graph: &Graph| {
                let order = graph.label(10_000, &Stop::never()).expect("small").order;
                let rough = graph.rough_order(&Stop::never());
                prop_assert_eq!(renumbered(graph, &inverse(&order)).colors.is_sorted(), true);
                prop_assert_eq!(renumbered(graph, &inverse(&rough)).colors.is_sorted(), true);
                Ok(renumbered(graph, &inverse(&order)))
            };
            let all = orders(graph.colors.len() as u32);
            let identity: Vec<u32> = (0..graph.colors.len() as u32).collect();
            let sorted = renumbered(&graph, &identity);
            let labelling = graph.label(10_000, &Stop::never()).expect("small");
            let automorphisms: BTreeSet<&Vec<u32>> =
                all.iter().filter(|number| renumbered(&graph, number) == sorted).collect();
            prop_assert_eq!(labelling.group_size, (automorphisms.len() as f64, 0));
            let found = images(graph.colors.len(), &labelling.generators);
            prop_assert!(found.iter().all(|generator| automorphisms.contains(generator)));
            for node in 0..graph.colors.len() {
                let least = automorphisms.iter().map(|image| image[node]).min();
                prop_assert_eq!(Some(labelling.orbits[node]), least);
            }
            let canonical = form(&graph)?;
            for number in all.iter().step_by(7) {
                prop_assert_eq!(&form(&renumbered(&graph, number))?, &canonical);
            }
            let other = orders(twin.colors.len() as u32).iter().any(|number| renumbered(&twin, number) == sorted);
            prop_assert_eq!(form(&twin)? == canonical, other);
        }
    }

    #[test]
    fn the_empty_graph_is_fine() {
        let labelling = Graph::default().label(1, &Stop::never()).expect("nothing to do");
        assert!(labelling.order.is_empty() && labelling.generators.is_empty());
    }
}
