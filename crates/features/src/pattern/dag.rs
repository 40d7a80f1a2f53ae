//! The diagram of configurations: which ones are active in a position, and which of those are the most specific.
//!
//! Nodes are configurations, below them those that have more relations; an arc leads from a configuration to the next larger
//! ones that are there. A configuration is active if all of its relations hold, and then so are all above it: a walk from
//! the root that turns back at inactive nodes meets all active ones. Buro uses only active nodes without active ones below.
//!
//! Weights of all levels can instead be folded into a flat table over all assignments of the atoms ([`fold`]): then one
//! look-up gives what all of them add up to, and rare assignments borrow from more general ones.

use rustc_hash::{FxHashMap, FxHashSet};

/// A diagram of configurations.
#[derive(Clone, Debug)]
pub struct Dag {
    /// For each node, the root first, where its arcs begin; one more at the end.
    first_arc: Vec<u32>,
    /// Where each arc leads.
    arcs: Vec<u32>,
    /// For each arc, where its relations begin; one more at the end.
    first_relation: Vec<u32>,
    /// The relations that the lower end of an arc has and the upper end has not.
    relations: Vec<u32>,
}

/// Working memory for walks.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    visited: Vec<u32>,
    round: u32,
    stack: Vec<u32>,
}

/// Configurations with more relations are refused.
pub const MAX_LENGTH: usize = 16;

impl Dag {
    /// The diagram of configurations, each an ascending list of relations, none twice. Node `i + 1` is configuration `i`,
    /// node 0 the root.
    ///
    /// # Panics
    /// If a configuration is empty or longer than [`MAX_LENGTH`].
    pub fn new(configurations: &[&[u32]]) -> Dag {
        let nodes: FxHashMap<&[u32], u32> = configurations.iter().copied().zip(1..).collect();
        let mut arcs: Vec<(u32, u32, Vec<u32>)> = Vec::new();
        for (&configuration, node) in configurations.iter().zip(1..) {
            let n = configuration.len();
            assert!((1..=MAX_LENGTH).contains(&n), "configurations have 1 to {MAX_LENGTH} relations");
            // The largest subsets that are there; whatever lies in a subset that was found is no cover. Most often all
            // subsets with one relation less are there, and nothing else need be looked at.
            let mut covers: Vec<u32> = Vec::new();
            let full = (1u32 << n) - 1;
            let mut level: Vec<u32> = vec![full];
            let mut seen: FxHashSet<u32> = FxHashSet::default();
            while !level.is_empty() {
                let mut next = Vec::new();
                for set in level {
                    let smaller = (0..n).filter(|at| set >> at & 1 == 1).map(|at| set & !(1 << at));
                    for set in smaller {
                        if !seen.insert(set) || covers.iter().any(|cover| set & !cover == 0) {
                            continue;
                        }
                        let subset: Vec<u32> =
                            (0..n).filter(|at| set >> at & 1 == 1).map(|at| configuration[at]).collect();
                        match nodes.get(&subset[..]) {
                            Some(&parent) => {
                                covers.push(set);
                                arcs.push((parent, node, without(configuration, &subset)));
                            }
                            None => next.push(set),
                        }
                    }
                }
                // A set of this level may be covered by one that was found later on it, but is on a lower level then.
                next.retain(|set| !covers.iter().any(|cover| set & !cover == 0));
                level = next;
            }
            if covers.is_empty() {
                arcs.push((0, node, configuration.to_vec()));
            }
        }
        arcs.sort_unstable();
        let mut dag = Dag {
            first_arc: Vec::with_capacity(configurations.len() + 2),
            arcs: Vec::with_capacity(arcs.len()),
            first_relation: vec![0],
            relations: Vec::new(),
        };
        for (from, to, more) in arcs {
            while dag.first_arc.len() <= from as usize {
                dag.first_arc.push(dag.arcs.len() as u32);
            }
            dag.arcs.push(to);
            dag.relations.extend(more);
            dag.first_relation.push(dag.relations.len() as u32);
        }
        dag.first_arc.resize(configurations.len() + 2, dag.arcs.len() as u32);
        dag
    }

    /// How many nodes there are, the root included.
    pub fn n_nodes(&self) -> usize {
        self.first_arc.len() - 1
    }

    /// How many arcs there are.
    pub fn n_arcs(&self) -> usize {
        self.arcs.len()
    }

    /// Calls `visit` for each active configuration, and says whether it is most specific: without an active one below. The
    /// root is not told of.
    pub fn walk(&self, holds: impl Fn(u32) -> bool, walk: &mut Walk, mut visit: impl FnMut(u32, bool)) {
        walk.visited.resize(self.n_nodes(), 0);
        walk.round = walk.round.wrapping_add(1);
        if walk.round == 0 {
            walk.visited.fill(0);
            walk.round = 1;
        }
        walk.stack.clear();
        walk.stack.push(0);
        while let Some(node) = walk.stack.pop() {
            let mut specific = true;
            for arc in self.first_arc[node as usize] as usize..self.first_arc[node as usize + 1] as usize {
                let more = self.first_relation[arc] as usize..self.first_relation[arc + 1] as usize;
                let below = self.arcs[arc];
                // What was visited is active.
                let known = walk.visited[below as usize] == walk.round;
                if known || self.relations[more].iter().all(|&relation| holds(relation)) {
                    specific = false;
                    if !known {
                        walk.visited[below as usize] = walk.round;
                        walk.stack.push(below);
                    }
                }
            }
            if node > 0 {
                visit(node - 1, specific);
            }
        }
    }

    /// The most specific active configurations, ascending.
    pub fn most_specific(&self, holds: impl Fn(u32) -> bool, walk: &mut Walk) -> Vec<u32> {
        let mut found = Vec::new();
        self.walk(holds, walk, |configuration, specific| found.extend(specific.then_some(configuration)));
        found.sort_unstable();
        found
    }
}

fn without(all: &[u32], some: &[u32]) -> Vec<u32> {
    all.iter().copied().filter(|relation| !some.contains(relation)).collect()
}

/// A flat table over all assignments of atoms with these ranges, the last atom's value lowest in the index: each slot gets
/// the sum of the weights of all partial assignments (place of the atom, value) that it extends.
///
/// # Panics
/// If a partial assignment names a place or a value that is not there.
pub fn fold<'a>(ranges: &[usize], weights: impl IntoIterator<Item = (&'a [(usize, usize)], f32)>) -> Vec<f32> {
    let mut strides = vec![1; ranges.len()];
    for at in (1..ranges.len()).rev() {
        strides[at - 1] = strides[at] * ranges[at];
    }
    let mut table = vec![0.0; ranges.iter().product()];
    let mut slots: Vec<usize> = Vec::new();
    for (assignment, weight) in weights {
        slots.clear();
        slots.push(0);
        for &(at, value) in assignment {
            assert!(value < ranges[at], "a value of the atom");
            slots[0] += strides[at] * value;
        }
        for at in (0..ranges.len()).filter(|at| assignment.iter().all(|(assigned, _)| assigned != at)) {
            let n = slots.len();
            for value in 1..ranges[at] {
                slots.extend_from_within(..n);
                slots[n * value..].iter_mut().for_each(|slot| *slot += value * strides[at]);
            }
        }
        slots.iter().for_each(|&slot| table[slot] += weight);
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All configurations over features with these ranges; relations are numbered feature by feature.
    fn complete(ranges: &[usize]) -> Vec<Vec<(usize, usize)>> {
        let mut all: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
        for (feature, &range) in ranges.iter().enumerate() {
            let longer = all.iter().flat_map(|assignment| {
                (0..range).map(move |value| assignment.iter().copied().chain([(feature, value)]).collect())
            });
            let longer: Vec<Vec<(usize, usize)>> = longer.collect();
            all.extend(longer);
        }
        all.remove(0);
        all
    }

    fn relation(ranges: &[usize], (feature, value): (usize, usize)) -> u32 {
        (ranges[..feature].iter().sum::<usize>() + value) as u32
    }

    #[test]
    fn two_features_make_the_known_diagram() {
        let ranges = [2, 3];
        let all: Vec<Vec<u32>> = complete(&ranges)
            .iter()
            .map(|assignment| assignment.iter().map(|&pair| relation(&ranges, pair)).collect())
            .collect();
        let dag = Dag::new(&all.iter().map(|configuration| &configuration[..]).collect::<Vec<_>>());
        assert_eq!(dag.n_nodes(), 12);
        let mut walk = Walk::default();
        for one in 0..2 {
            for other in 0..3 {
                let holds = |at| at == one || at == 2 + other;
                let mut active = 1; // the root
                dag.walk(holds, &mut walk, |_, _| active += 1);
                assert_eq!(active, 4);
                let specific = dag.most_specific(holds, &mut walk);
                assert_eq!(specific.len(), 1);
                assert_eq!(all[specific[0] as usize], [one, 2 + other]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn most_specific_are_the_maximal_active_ones(
            sets in prop::collection::btree_set(1u32..1 << 9, 1..60),
            states in prop::collection::vec(0u32..1 << 9, 1..20),
        ) {
            let configurations: Vec<Vec<u32>> =
                sets.iter().map(|set| (0..9).filter(|at| set >> at & 1 == 1).collect()).collect();
            let dag = Dag::new(&configurations.iter().map(|members| &members[..]).collect::<Vec<_>>());
            let sets: Vec<u32> = sets.into_iter().collect();
            let mut walk = Walk::default();
            for state in states {
                let active: Vec<usize> = (0..sets.len()).filter(|&at| sets[at] & !state == 0).collect();
                let maximal = active.iter().filter(|&&at| {
                    !active.iter().any(|&other| other != at && sets[at] & !sets[other] == 0)
                });
                let maximal: Vec<u32> = maximal.map(|&at| at as u32).collect();
                let mut visited = Vec::new();
                dag.walk(|at| state >> at & 1 == 1, &mut walk, |configuration, _| visited.push(configuration as usize));
                visited.sort_unstable();
                prop_assert_eq!(visited, active);
                prop_assert_eq!(dag.most_specific(|at| state >> at & 1 == 1, &mut walk), maximal);
            }
        }

        #[test]
        fn folded_tables_give_the_sum_of_all_levels(
            ranges in prop::collection::vec(1usize..5, 1..6),
            seed in any::<u64>(),
        ) {
            let mut state = seed;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state >> 33
            };
            let levels: Vec<(Vec<(usize, usize)>, f32)> = complete(&ranges)
                .into_iter()
                .map(|assignment| (assignment, (random() % 2001) as f32 / 1000.0 - 1.0))
                .collect();
            let folded = fold(&ranges, levels.iter().map(|(assignment, weight)| (&assignment[..], *weight)));
            for _ in 0..500 {
                let digits: Vec<usize> = ranges.iter().map(|&range| random() as usize % range).collect();
                let slot = digits.iter().zip(&ranges).fold(0, |slot, (digit, range)| slot * range + digit);
                let agrees = |assignment: &[(usize, usize)]| assignment.iter().all(|&(at, value)| digits[at] == value);
                let sum: f64 =
                    levels.iter().filter(|level| agrees(&level.0)).map(|level| f64::from(level.1)).sum();
                prop_assert!((f64::from(folded[slot]) - sum).abs() < 1e-4);
            }
        }
    }
}
