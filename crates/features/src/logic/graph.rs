//! The abstraction graph: its cycles, its shortest form and its levels.
//!
//! An edge goes from a more abstract or less detailed feature to the other one. Cycles are features that say the same; they
//! count as one.

use std::collections::BTreeSet;

/// A graph whose nodes are components of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condensed {
    /// For each node, its component. Edges go from smaller to larger numbers.
    pub component: Vec<usize>,
    /// How many components there are.
    pub n_components: usize,
    /// The edges between components, each once, sorted.
    pub edges: Vec<(usize, usize)>,
}

/// Makes one node of the nodes of each cycle.
pub fn condense(n: usize, edges: &[(usize, usize)]) -> Condensed {
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); n];
    edges.iter().for_each(|&(from, to)| successors[from].push(to));
    let components = gdl::strongly_connected_components(&successors);
    let n_components = components.len();
    let mut component = vec![0; n];
    // Components come after those that they have edges to.
    for (number, members) in components.iter().enumerate() {
        members.iter().for_each(|&node| component[node] = n_components - 1 - number);
    }
    let edges: BTreeSet<(usize, usize)> =
        edges.iter().map(|&(from, to)| (component[from], component[to])).filter(|(from, to)| from != to).collect();
    Condensed { component, n_components, edges: edges.into_iter().collect() }
}

/// The fewest edges that connect the same nodes of a graph without cycles, whose edges go from smaller to larger numbers.
pub fn reduce(n: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); n];
    edges.iter().for_each(|&(from, to)| successors[from].push(to));
    let mut kept = Vec::new();
    let mut seen = vec![usize::MAX; n];
    for from in 0..n {
        let mut next = successors[from].clone();
        next.sort_unstable();
        next.dedup();
        let Some(&last) = next.last() else { continue };
        // A successor that another one leads to has been seen when its turn comes: numbers grow along edges.
        for to in next {
            if seen[to] == from {
                continue;
            }
            kept.push((from, to));
            let mut stack = vec![to];
            while let Some(node) = stack.pop() {
                if seen[node] != from {
                    seen[node] = from;
                    stack.extend(successors[node].iter().filter(|&&node| node <= last && seen[node] != from));
                }
            }
        }
    }
    kept
}

/// The level of each node, from 1 for the most abstract: as far down as its descendants allow. Nodes of a cycle share one.
pub fn levels(n: usize, edges: &[(usize, usize)]) -> Vec<u32> {
    let graph = condense(n, edges);
    let mut forward = vec![1u32; graph.n_components];
    // Edges are sorted by where they start, and go to larger numbers.
    for &(from, to) in &graph.edges {
        forward[to] = forward[to].max(forward[from] + 1);
    }
    let mut least = vec![u32::MAX; graph.n_components];
    let mut level = forward.clone();
    for &(from, to) in graph.edges.iter().rev() {
        least[from] = least[from].min(level[to]);
        level[from] = least[from] - 1;
    }
    graph.component.iter().map(|&component| level[component]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_chains_are_pulled_down() {
        // A to F in a row, G and H beside it.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7), (7, 5)];
        assert_eq!(levels(9, &edges), [1, 2, 3, 4, 5, 6, 4, 5, 1]);
    }

    #[test]
    fn shortcuts_are_dropped() {
        assert_eq!(reduce(3, &[(0, 1), (1, 2), (0, 2)]), [(0, 1), (1, 2)]);
        assert_eq!(reduce(4, &[(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)]), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn cycles_are_one_node() {
        let graph = condense(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        assert_eq!((graph.n_components, graph.edges.len()), (3, 2));
        assert_eq!(graph.component[1], graph.component[2]);
        assert_eq!(levels(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]), [1, 2, 2, 3]);
    }

    fn reaches(n: usize, edges: &[(usize, usize)]) -> Vec<Vec<bool>> {
        let mut reach = vec![vec![false; n]; n];
        for from in (0..n).rev() {
            for &(_, to) in edges.iter().filter(|edge| edge.0 == from) {
                reach[from][to] = true;
                (0..n).for_each(|node| reach[from][node] |= reach[to][node]);
            }
        }
        reach
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn edges_go_down_and_reductions_connect_the_same(
            pairs in prop::collection::btree_set((0usize..12, 0usize..12), 0..30),
        ) {
            let edges: Vec<(usize, usize)> = pairs.into_iter().filter(|(from, to)| from < to).collect();
            let levels = levels(12, &edges);
            prop_assert!(edges.iter().all(|&(from, to)| levels[from] < levels[to]));
            let reduced = reduce(12, &edges);
            prop_assert_eq!(reaches(12, &reduced), reaches(12, &edges));
            for at in 0..reduced.len() {
                let mut fewer = reduced.clone();
                fewer.remove(at);
                prop_assert_ne!(reaches(12, &fewer), reaches(12, &edges));
            }
        }
    }
}
