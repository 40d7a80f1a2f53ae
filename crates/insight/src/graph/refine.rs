//! Colour refinement: tells nodes apart by how many neighbours of each colour they have, until that tells no more apart.
//!
//! The cells of the partition are ordered, and their order depends on the graph alone, not on the numbers of its nodes.

use std::collections::VecDeque;

use gdl::Stop;

use super::Graph;

/// How many nodes are looked at before the stop is asked again.
const ASK_AFTER: usize = 1 << 14;

/// The nodes in groups that look alike.
pub(super) struct Partition {
    /// The nodes, cell after cell.
    pub(super) elements: Vec<u32>,
    /// The place of each node in `elements`.
    place: Vec<u32>,
    /// For each node where its cell begins.
    cell: Vec<u32>,
    /// How many nodes a cell has, by its beginning.
    len: Vec<u32>,
    /// Whether a cell, by its beginning, is going to split others.
    is_waiting: Vec<bool>,
    /// Working memory: for each node zero.
    count: Vec<u32>,
}

/// Lists of neighbours, forwards and backwards.
pub(super) struct Neighbours {
    first: [Vec<u32>; 2],
    nodes: [Vec<u32>; 2],
}

impl Neighbours {
    pub(super) fn new(graph: &Graph) -> Neighbours {
        let one_way = |edges: &mut dyn Iterator<Item = (u32, u32)>| {
            let edges: Vec<(u32, u32)> = edges.collect();
            let mut first = vec![0; graph.colors.len() + 1];
            edges.iter().for_each(|&(from, _)| first[from as usize + 1] += 1);
            (1..first.len()).for_each(|node| first[node] += first[node - 1]);
            let (mut next, mut nodes) = (first.clone(), vec![0; edges.len()]);
            for (from, to) in edges {
                nodes[next[from as usize] as usize] = to;
                next[from as usize] += 1;
            }
            (first, nodes)
        };
        let (after, successors) = one_way(&mut graph.edges.iter().copied());
        let (before, predecessors) = one_way(&mut graph.edges.iter().map(|&(from, to)| (to, from)));
        Neighbours { first: [after, before], nodes: [successors, predecessors] }
    }

    fn of(&self, direction: usize, node: u32) -> &[u32] {
        let first = &self.first[direction];
        &self.nodes[direction][first[node as usize] as usize..first[node as usize + 1] as usize]
    }
}

impl Partition {
    /// The coarsest partition by colours that refinement can't split; stopped, it is coarser.
    pub(super) fn new(graph: &Graph, neighbours: &Neighbours, stop: &Stop) -> Partition {
        let n = graph.colors.len();
        let mut elements: Vec<u32> = (0..n as u32).collect();
        elements.sort_by_key(|&node| graph.colors[node as usize]);
        let mut partition = Partition {
            elements,
            place: vec![0; n],
            cell: vec![0; n],
            len: vec![0; n],
            is_waiting: vec![false; n],
            count: vec![0; n],
        };
        let mut cells = Vec::new();
        for at in 0..n {
            let node = partition.elements[at] as usize;
            if at == 0 || graph.colors[partition.elements[at - 1] as usize] != graph.colors[node] {
                cells.push(at as u32);
            }
            let cell = *cells.last().expect("the first node begins a cell");
            partition.place[node] = at as u32;
            partition.cell[node] = cell;
            partition.len[cell as usize] += 1;
        }
        partition.refine(neighbours, cells, stop);
        partition
    }

    /// Where the node's cell begins.
    pub(super) fn cell(&self, node: u32) -> u32 {
        self.cell[node as usize]
    }

    /// Whether the node looks like no other.
    pub(super) fn is_single(&self, node: u32) -> bool {
        self.len[self.cell(node) as usize] == 1
    }

    /// Tells all nodes apart: wherever refinement stops, one node of the first cell goes to its end. Stopped, it leaves the
    /// others in the order that they have.
    pub(super) fn force(&mut self, neighbours: &Neighbours, stop: &Stop) {
        for at in 0..self.elements.len() as u32 {
            while self.len[at as usize] > 1 {
                if stop.is_raised() {
                    return;
                }
                let last = at + self.len[at as usize] - 1;
                self.split(at, last);
                self.refine(neighbours, vec![last], stop);
            }
        }
    }

    fn swap(&mut self, one: u32, other: u32) {
        self.elements.swap(one as usize, other as usize);
        for at in [one, other] {
            self.place[self.elements[at as usize] as usize] = at;
        }
    }

    /// Makes the part of a cell from `at` a cell of its own.
    fn split(&mut self, cell: u32, at: u32) {
        let end = cell + self.len[cell as usize];
        self.len[cell as usize] = at - cell;
        self.len[at as usize] = end - at;
        for place in at..end {
            self.cell[self.elements[place as usize] as usize] = at;
        }
    }

    /// Splits cells by the neighbours that their nodes have in the waiting cells, and in those that split.
    fn refine(&mut self, neighbours: &Neighbours, waiting: Vec<u32>, stop: &Stop) {
        waiting.iter().for_each(|&cell| self.is_waiting[cell as usize] = true);
        let mut waiting = VecDeque::from(waiting);
        let (mut touched, mut cells) = (Vec::new(), Vec::new());
        let mut work = ASK_AFTER;
        while let Some(splitter) = waiting.pop_front() {
            if work >= ASK_AFTER {
                work = 0;
                if stop.is_raised() {
                    return;
                }
            }
            self.is_waiting[splitter as usize] = false;
            let members = self.elements[splitter as usize..][..self.len[splitter as usize] as usize].to_vec();
            work += 1 + members.len();
            for direction in [0, 1] {
                // Step 1. Count the edges from the splitter (or to it) at each node.
                for &member in &members {
                    for &node in neighbours.of(direction, member) {
                        if self.count[node as usize] == 0 {
                            touched.push(node);
                            cells.push(self.cell[node as usize]);
                        }
                        self.count[node as usize] += 1;
                    }
                }
                cells.sort_unstable();
                cells.dedup();
                work += touched.len();
                // Step 2. Sort the touched nodes to the ends of their cells, by count.
                touched.sort_unstable_by_key(|&node| (self.cell[node as usize], self.count[node as usize]));
                let mut rest = &touched[..];
                for &cell in &cells {
                    let n_touched = rest.iter().take_while(|&&node| self.cell[node as usize] == cell).count();
                    let (nodes, others) = rest.split_at(n_touched);
                    rest = others;
                    let (first, end) = (cell, cell + self.len[cell as usize]);
                    for (&node, at) in nodes.iter().rev().zip((first..end).rev()) {
                        self.swap(self.place[node as usize], at);
                    }
                    // Step 3. Split where the count changes.
                    let untouched = end - n_touched as u32;
                    let mut cuts: Vec<u32> = Vec::new();
                    if untouched > first {
                        cuts.push(untouched);
                    }
                    let changes = nodes.windows(2).zip(untouched + 1..);
                    let changed =
                        changes.filter(|(pair, _)| self.count[pair[0] as usize] != self.count[pair[1] as usize]);
                    cuts.extend(changed.map(|(_, at)| at));
                    if cuts.is_empty() {
                        continue;
                    }
                    cuts.iter().rev().for_each(|&cut| self.split(cell, cut));
                    // Step 4. All parts wait, but the largest one if the cell did not.
                    let parts = std::iter::once(cell).chain(cuts.iter().copied());
                    let largest = if self.is_waiting[cell as usize] {
                        cell
                    } else {
                        parts
                            .clone()
                            .max_by_key(|&part| (self.len[part as usize], std::cmp::Reverse(part)))
                            .expect("not empty")
                    };
                    for part in parts.filter(|&part| part != largest) {
                        self.is_waiting[part as usize] = true;
                        waiting.push_back(part);
                    }
                }
                touched.iter().for_each(|&node| self.count[node as usize] = 0);
                touched.clear();
                cells.clear();
            }
        }
    }
}
