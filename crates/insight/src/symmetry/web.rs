//! Small labelled graphs and whether they are the same: cycles of the logic, and ways.

use rustc_hash::{FxHashMap, FxHashSet};

/// A directed graph whose nodes and edges have labels. Labels are numbers that stand for the same in all graphs.
#[derive(Clone, Debug, Default)]
pub(super) struct Web {
    /// The label of each node.
    nodes: Vec<u32>,
    /// The edges with their labels, ascending, none twice.
    edges: Vec<(u32, u32, u32)>,
    /// What each node looks like; equal for nodes that are alike.
    colors: Vec<u64>,
    /// What all of it looks like.
    key: u64,
}

impl Web {
    pub(super) fn new(nodes: Vec<u32>, mut edges: Vec<(u32, u32, u32)>) -> Web {
        edges.sort_unstable();
        edges.dedup();
        let mut colors: Vec<u64> = nodes.iter().map(|&label| mix(u64::from(label))).collect();
        let distinct = |colors: &[u64]| colors.iter().collect::<FxHashSet<_>>().len();
        let mut n_colors = distinct(&colors);
        loop {
            // Sums don't depend on the order of the edges.
            let mut next: Vec<u64> = colors.iter().map(|&color| mix(color)).collect();
            for &(from, to, label) in &edges {
                let (from, to) = (from as usize, to as usize);
                next[from] = next[from].wrapping_add(mix(colors[to] ^ mix(u64::from(label) << 1)));
                next[to] = next[to].wrapping_add(mix(colors[from] ^ mix(u64::from(label) << 1 | 1)));
            }
            colors = next;
            let n_next = distinct(&colors);
            if n_next <= n_colors {
                break;
            }
            n_colors = n_next;
        }
        let key = colors.iter().fold(0u64, |key, &color| key.wrapping_add(mix(color)));
        Web { nodes, edges, colors, key }
    }

    /// A number that is the same for graphs that are the same.
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// The node of the other graph that each node corresponds to, if the graphs are seen to be the same. Nodes that look
    /// alike are paired in their order, which may be wrong; then nothing is seen.
    pub(super) fn matches(&self, other: &Web) -> Option<Vec<u32>> {
        if self.key != other.key || self.nodes.len() != other.nodes.len() || self.edges.len() != other.edges.len() {
            return None;
        }
        let by_color = |web: &Web| {
            let mut order: Vec<u32> = (0..web.nodes.len() as u32).collect();
            order.sort_by_key(|&node| web.colors[node as usize]);
            order
        };
        let mut image = vec![0; self.nodes.len()];
        by_color(self).into_iter().zip(by_color(other)).for_each(|(node, to)| image[node as usize] = to);
        // Colours are hashes, so look.
        let same_label = |(node, &to): (usize, &u32)| self.nodes[node] == other.nodes[to as usize];
        let mut edges: Vec<(u32, u32, u32)> =
            self.edges.iter().map(|&(from, to, label)| (image[from as usize], image[to as usize], label)).collect();
        edges.sort_unstable();
        (image.iter().enumerate().all(same_label) && edges == other.edges).then_some(image)
    }
}

fn mix(word: u64) -> u64 {
    let word = (word ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 32
}

/// Graphs by what they look like.
#[derive(Default)]
pub(super) struct Webs<T> {
    by_key: FxHashMap<u64, Vec<(Web, T)>>,
}

impl<T> Webs<T> {
    pub(super) fn insert(&mut self, web: Web, value: T) {
        self.by_key.entry(web.key()).or_default().push((web, value));
    }

    /// What was inserted with a graph that is the same, and how the nodes correspond.
    pub(super) fn find(&self, web: &Web) -> Option<(&T, Vec<u32>)> {
        let alike = self.by_key.get(&web.key())?;
        alike.iter().find_map(|(other, value)| web.matches(other).map(|image| (value, image)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renumbered_graphs_are_the_same() {
        let web = Web::new(vec![5, 5, 6, 7], vec![(0, 1, 9), (1, 2, 9), (2, 3, 8), (3, 0, 9)]);
        // Node `n` becomes `3 - n`.
        let turned = Web::new(vec![7, 6, 5, 5], vec![(3, 2, 9), (2, 1, 9), (1, 0, 8), (0, 3, 9)]);
        assert_eq!(web.matches(&turned), Some(vec![3, 2, 1, 0]));
        let reversed = Web::new(vec![7, 6, 5, 5], vec![(2, 3, 9), (1, 2, 9), (0, 1, 8), (3, 0, 9)]);
        assert_eq!(web.matches(&reversed), None);
        let relabelled = Web::new(vec![7, 6, 5, 5], vec![(3, 2, 9), (2, 1, 9), (1, 0, 9), (0, 3, 9)]);
        assert_eq!(web.matches(&relabelled), None);
    }
}
