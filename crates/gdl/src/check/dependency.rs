//! Which relations depend on which.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::program::{Atom, Formula, Program, Relation, Rule};

/// The dependency graph of a program: an edge leads from a relation to each one that a rule for it reads.
pub(super) struct Graph {
    relations: IndexMap<Relation, usize, FxBuildHasher>,
    edges: Vec<Vec<usize>>,
    component: Vec<usize>,
    /// The components with a negation between their members.
    negative_components: FxHashSet<usize>,
}

impl Graph {
    pub(super) fn new(program: &Program) -> Graph {
        let mut graph = Graph {
            relations: IndexMap::default(),
            edges: Vec::new(),
            component: Vec::new(),
            negative_components: FxHashSet::default(),
        };
        let mut negative = Vec::new();
        for rule in &program.rules {
            let head = graph.node(rule.head.relation());
            for_each_read(rule, |atom, under_not| {
                let read = graph.node(atom.relation());
                graph.edges[head].push(read);
                if under_not {
                    negative.push((head, read));
                }
            });
        }
        for edges in &mut graph.edges {
            edges.sort_unstable();
            edges.dedup();
        }
        graph.component = vec![0; graph.edges.len()];
        for (number, members) in crate::graph::components(&graph.edges).into_iter().enumerate() {
            members.iter().for_each(|&member| graph.component[member] = number);
        }
        for (from, to) in negative {
            if graph.component[from] == graph.component[to] {
                graph.negative_components.insert(graph.component[from]);
            }
        }
        graph
    }

    fn node(&mut self, relation: Relation) -> usize {
        let next = self.edges.len();
        let node = *self.relations.entry(relation).or_insert(next);
        if node == next {
            self.edges.push(Vec::new());
        }
        node
    }

    /// Whether each of the two depends on the other.
    pub(super) fn in_a_cycle(&self, left: Relation, right: Relation) -> bool {
        let (left, right) = (self.relations[&left], self.relations[&right]);
        self.component[left] == self.component[right] && (left != right || self.edges[left].contains(&right))
    }

    /// Whether the relation depends on itself through a negation, or on others that do and that depend on it.
    pub(super) fn has_negative_cycle(&self, relation: Relation) -> bool {
        self.negative_components.contains(&self.component(relation))
    }

    /// The group of relations that depend on each other to which this one belongs.
    pub(super) fn component(&self, relation: Relation) -> usize {
        self.component[self.relations[&relation]]
    }

    /// The relations that rules for this one read.
    pub(super) fn read_by(&self, relation: Relation) -> impl Iterator<Item = Relation> {
        let edges = &self.edges[self.relations[&relation]];
        edges.iter().map(|&node| *self.relations.get_index(node).expect("nodes are numbered as they are added").0)
    }

    /// Everything that these relations depend on, themselves included.
    pub(super) fn needed_by(&self, relations: impl IntoIterator<Item = Relation>) -> FxHashSet<Relation> {
        let mut pending: Vec<usize> =
            relations.into_iter().filter_map(|relation| self.relations.get(&relation).copied()).collect();
        let mut seen = vec![false; self.edges.len()];
        pending.iter().for_each(|&node| seen[node] = true);
        let mut needed = FxHashSet::default();
        while let Some(node) = pending.pop() {
            needed.insert(*self.relations.get_index(node).expect("nodes are numbered as they are added").0);
            for &next in &self.edges[node] {
                if !std::mem::replace(&mut seen[next], true) {
                    pending.push(next);
                }
            }
        }
        needed
    }
}

/// Calls `visit` for each atom of a body with whether it stands under any `not`, however many.
pub(super) fn for_each_read<'r>(rule: &'r Rule, mut visit: impl FnMut(&'r Atom, bool)) {
    fn walk<'r>(formula: &'r Formula, under_not: bool, visit: &mut impl FnMut(&'r Atom, bool)) {
        match formula {
            Formula::Atom(atom) => visit(atom, under_not),
            Formula::Distinct(..) => {}
            Formula::Not(inner, _) => walk(inner, true, visit),
            Formula::Or(parts, _) | Formula::And(parts, _) => {
                parts.iter().for_each(|part| walk(part, under_not, visit));
            }
        }
    }
    rule.body.iter().for_each(|formula| walk(formula, false, &mut visit));
}
