//! Colours as fine as neighbours can tell: the coarsest partition in which nodes of one colour have equally many edges of
//! each kind to every colour.
//!
//! Automorphisms keep such colours, so that a node whose colour no other has can't move. Most games are rigid for the most
//! part (counters, edges, corners), and finding that out here is far cheaper than in a search.

use gdl::Stop;
use rustc_hash::FxHashMap;

use crate::graph::Graph;

/// The refined colours, numbered from 0. Neighbours are compared by a 64-bit hash, so that colours could, against all odds,
/// be too coarse; they are never too fine. `None` if stopped.
pub(super) fn refine(graph: &Graph, stop: &Stop) -> Option<Vec<u32>> {
    let n = graph.colors.len();
    // Step 1. Lists of neighbours, the direction in the lowest bit.
    let mut first = vec![0u32; n + 1];
    for &(from, to) in &graph.edges {
        first[from as usize] += 1;
        first[to as usize] += 1;
    }
    let mut sum = 0;
    for entry in &mut first {
        sum += std::mem::replace(entry, sum);
    }
    let mut place = first.clone();
    let mut neighbors = vec![0u32; 2 * graph.edges.len()];
    for &(from, to) in &graph.edges {
        for (node, entry) in [(from, to << 1), (to, from << 1 | 1)] {
            neighbors[place[node as usize] as usize] = entry;
            place[node as usize] += 1;
        }
    }
    // Step 2. Nodes whose colour is new tell their neighbours. Of the parts of a colour the largest keeps its number, so
    // that every edge is looked at a logarithmic number of times.
    let mut colors: Vec<u32> = vec![0; n];
    let mut sizes: Vec<u32> = Vec::new();
    // The nodes of each colour, and some that have left it.
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    for (node, &color) in graph.colors.iter().enumerate() {
        let next = members.len() as u32;
        let number = *numbers.entry(color).or_insert(next);
        if number == next {
            members.push(Vec::new());
            sizes.push(0);
        }
        colors[node] = number;
        sizes[number as usize] += 1;
        members[number as usize].push(node as u32);
    }
    let mut news: Vec<u32> = (0..n as u32).collect();
    let mut heard = vec![0u64; n];
    while !news.is_empty() {
        if stop.is_raised() {
            return None;
        }
        let mut told = Vec::new();
        for &node in &news {
            let word = mix(u64::from(colors[node as usize]));
            for &entry in &neighbors[first[node as usize] as usize..first[node as usize + 1] as usize] {
                let (other, direction) = ((entry >> 1) as usize, u64::from(entry & 1));
                if heard[other] == 0 {
                    told.push(other as u32);
                }
                // Never zero once told, whatever the sum.
                heard[other] = heard[other].wrapping_add(mix(word ^ direction)) | 1 << 63;
            }
        }
        // Step 3. Who heard different things parts ways.
        told.sort_unstable_by_key(|&node| (colors[node as usize], heard[node as usize], node));
        let mut fresh: Vec<Vec<u32>> = Vec::new();
        for cell in told.chunk_by(|&a, &b| colors[a as usize] == colors[b as usize]) {
            let color = colors[cell[0] as usize] as usize;
            let parts = || cell.chunk_by(|&a, &b| heard[a as usize] == heard[b as usize]);
            let n_silent = sizes[color] as usize - cell.len();
            let largest = parts().map(<[u32]>::len).max().unwrap_or(0);
            let mut keeps = n_silent < largest;
            if keeps && n_silent > 0 {
                members[color].retain(|&node| colors[node as usize] as usize == color);
                let silent = members[color].iter().copied().filter(|&node| heard[node as usize] == 0);
                fresh.push(silent.collect());
            }
            for part in parts() {
                if keeps && part.len() == largest {
                    keeps = false;
                } else {
                    fresh.push(part.to_vec());
                }
            }
        }
        told.iter().for_each(|&node| heard[node as usize] = 0);
        news.clear();
        for part in fresh {
            let color = sizes.len() as u32;
            sizes.push(part.len() as u32);
            sizes[colors[part[0] as usize] as usize] -= part.len() as u32;
            part.iter().for_each(|&node| colors[node as usize] = color);
            news.extend_from_slice(&part);
            members.push(part);
        }
    }
    Some(colors)
}

fn mix(word: u64) -> u64 {
    let word = (word ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_its_ends() {
        let edges: Vec<(u32, u32)> = (0..9).map(|node| (node, node + 1)).collect();
        let directed = Graph { colors: vec![0; 10], edges: edges.clone() };
        let mut colors = refine(&directed, &Stop::never()).expect("not stopped");
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), 10);
        // Both ways: only the reflection is left.
        let both = edges.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).collect();
        let both = Graph { colors: vec![0; 10], edges: both };
        let colors = refine(&both, &Stop::never()).expect("not stopped");
        assert!((0..5).all(|node| colors[node] == colors[9 - node]));
        assert!((1..5).all(|node| colors[node] != colors[0]));
    }

    #[test]
    fn regular_graphs_stay_whole() {
        let cycle = |from: u32, n: u32| (0..n).map(move |node| (from + node, from + (node + 1) % n));
        let graph = Graph { colors: vec![7; 9], edges: cycle(0, 3).chain(cycle(3, 6)).collect() };
        assert_eq!(refine(&graph, &Stop::never()), Some(vec![0; 9]));
    }
}
