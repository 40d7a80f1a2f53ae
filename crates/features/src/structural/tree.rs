//! Feature trees (Kuhlmann 2010): select some of the fluents that hold, then turn the selection into a number.
//!
//! A tree has a qualifier on every edge and aggregators on its nodes. All fluents of a state are at the root; those that pass
//! an edge's qualifier go on to its child. Since a qualifier looks at nothing but the fluent itself, each node has a fixed
//! set of fluents that may ever get there, and everything can be kept up to date fluent by fluent ([`Tally`]).

use std::collections::BTreeMap;

use gdl::TermId;
use gdl::program::Relation;
use insight::structure::board::Layer;
use rustc_hash::FxHashMap;

use crate::game::Game;

/// What passes an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qualifier {
    /// `F:a`: fluents of this name and arity.
    Functor(Relation),
    /// `T[i]:a`: fluents with this argument at this place.
    Argument(usize, TermId),
    /// `~Q`: what does not pass the other.
    Not(Box<Qualifier>),
    /// `C[i]`: on a board whose marker is argument `i`, all coordinates are the first or the last of their order.
    Corner(usize),
    /// `E[i]`: the same for any coordinate.
    Edge(usize),
}

/// How several places become one number; 0 if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Fold {
    Sum,
    Least,
    Greatest,
    Mean,
}

/// What becomes of the fluents at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aggregator {
    /// `#`: how many there are.
    Count,
    /// `O[i]`: the place of argument `i` in its order, from 0; 0 if it has none.
    Place(usize, Fold),
}

/// A node, and the edge that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The parent's number and what passes from there; nothing at the root.
    pub from: Option<(usize, Qualifier)>,
    /// The numbers that are computed here.
    pub aggregators: Vec<Aggregator>,
}

/// A feature tree. Parents stand before their children; values come in the order of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The nodes, the root first.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// A tree with a root alone.
    pub fn new(aggregators: Vec<Aggregator>) -> Tree {
        Tree { nodes: vec![Node { from: None, aggregators }] }
    }

    /// Adds a node and returns its number.
    ///
    /// # Panics
    /// If there is no such parent.
    pub fn add(&mut self, parent: usize, qualifier: Qualifier, aggregators: Vec<Aggregator>) -> usize {
        assert!(parent < self.nodes.len(), "a parent stands before its children");
        self.nodes.push(Node { from: Some((parent, qualifier)), aggregators });
        self.nodes.len() - 1
    }

    /// How many values there are.
    pub fn n_values(&self) -> usize {
        self.nodes.iter().map(|node| node.aggregators.len()).sum()
    }

    /// The values in a state, given its fluents, as the definition says.
    pub fn evaluate(&self, literals: &Literals, state: &[u32]) -> Vec<f64> {
        let mut at: Vec<Vec<u32>> = Vec::with_capacity(self.nodes.len());
        let mut values = Vec::new();
        for node in &self.nodes {
            let here: Vec<u32> = match &node.from {
                None => state.to_vec(),
                Some((parent, qualifier)) => {
                    at[*parent].iter().copied().filter(|&fluent| literals.passes(fluent, qualifier)).collect()
                }
            };
            for &aggregator in &node.aggregators {
                values.push(match aggregator {
                    Aggregator::Count => here.len() as f64,
                    Aggregator::Place(argument, fold) => {
                        let mut histogram = BTreeMap::new();
                        for &fluent in &here {
                            *histogram.entry(literals.place(fluent, argument)).or_default() += 1;
                        }
                        fold.value(&histogram)
                    }
                });
            }
            at.push(here);
        }
        values
    }
}

impl Fold {
    /// Of places with how often each occurs.
    fn value(self, histogram: &BTreeMap<u32, u32>) -> f64 {
        let sum = || histogram.iter().map(|(&place, &times)| f64::from(place) * f64::from(times)).sum::<f64>();
        let first = |least: Option<(&u32, &u32)>| least.map_or(0.0, |(&place, _)| f64::from(place));
        match self {
            Fold::Sum => sum(),
            Fold::Least => first(histogram.first_key_value()),
            Fold::Greatest => first(histogram.last_key_value()),
            Fold::Mean => sum() / f64::from(histogram.values().sum::<u32>().max(1)),
        }
    }
}

/// The fluents of a game as qualifiers see them.
#[derive(Clone, Debug)]
pub struct Literals {
    functors: Vec<Relation>,
    arguments: Vec<Vec<TermId>>,
    /// The places of objects in the order of an argument, for each functor and argument that has one.
    orders: FxHashMap<(Relation, usize), FxHashMap<TermId, u32>>,
    /// The functors that are completely ordered boards.
    boards: FxHashMap<Relation, Ends>,
}

/// Where a board ends.
#[derive(Clone, Debug)]
struct Ends {
    /// The argument that is the marker.
    marker: usize,
    /// For each other argument, the first and the last object.
    of: Vec<Option<(TermId, TermId)>>,
}

impl Literals {
    /// The fluents of a game.
    pub fn new(game: &Game) -> Literals {
        let terms = &game.universe.terms;
        let arguments: Vec<Vec<TermId>> =
            game.universe.fluents.iter().map(|&fluent| terms.args(fluent).to_vec()).collect();
        let functors: Vec<Relation> = game
            .universe
            .fluents
            .iter()
            .zip(&arguments)
            .map(|(&fluent, arguments)| Relation { name: terms.name(fluent), arity: arguments.len() as u32 })
            .collect();
        let mut literals = Literals { functors, arguments, orders: Default::default(), boards: Default::default() };
        for (index, family) in game.structure.families.iter().enumerate() {
            // Where functions are nested, arguments of the family are not arguments of the fluent.
            let first = family.members[0] as usize;
            let functor = literals.functors[first];
            if family.arguments[0] != literals.arguments[first] {
                continue;
            }
            let structure = &game.structure;
            let boards = structure.boards.iter().flat_map(|board| board.layers.iter().map(move |layer| (board, layer)));
            let layer: Option<(_, &Layer)> = boards.into_iter().find(|(_, layer)| layer.family == index);
            for argument in 0..family.arity() {
                let axis = layer.and_then(|(board, layer)| {
                    let axis = layer.coordinates.iter().position(|&coordinate| coordinate == argument)?;
                    Some(&board.axes[axis]).filter(|axis| axis.order.is_some()).map(|axis| &axis.values)
                });
                let quantity = structure.quantities.iter().find(|quantity| quantity.family == index);
                let number = quantity.filter(|quantity| quantity.value == argument).map(|quantity| quantity.order);
                // Any row that holds all values, the shortest first; what is on a board is no number.
                let holds = |&order: &usize| {
                    let order = &structure.orders[order];
                    !order.cyclic && family.domains[argument].iter().all(|value| order.objects.contains(value))
                };
                let any = || {
                    (0..structure.orders.len()).filter(holds).min_by_key(|&order| structure.orders[order].objects.len())
                };
                let found = number.or_else(|| layer.is_none().then(any).flatten());
                let objects = axis.or_else(|| found.map(|order| &structure.orders[order].objects));
                if let Some(objects) = objects.filter(|_| family.domains[argument].len() > 1) {
                    literals.orders.insert((functor, argument), objects.iter().copied().zip(0..).collect());
                }
            }
            if let Some((board, Layer { coordinates, marker, .. })) = layer
                && let ([marker], true) = (&marker[..], board.is_ordered())
                && coordinates.len() + 1 == family.arity()
            {
                let mut ends = vec![None; family.arity()];
                for (axis, &coordinate) in board.axes.iter().zip(coordinates) {
                    ends[coordinate] = axis.values.first().copied().zip(axis.values.last().copied());
                }
                literals.boards.insert(functor, Ends { marker: *marker, of: ends });
            }
        }
        literals
    }

    /// Whether a fluent passes.
    pub fn passes(&self, fluent: u32, qualifier: &Qualifier) -> bool {
        let (functor, arguments) = (self.functors[fluent as usize], &self.arguments[fluent as usize]);
        // Whether each coordinate is at an end; nothing for what is on no board with this marker.
        let ends = |marker: usize| {
            let ends = self.boards.get(&functor).filter(|ends| ends.marker == marker)?;
            let ends = ends
                .of
                .iter()
                .zip(arguments)
                .filter_map(|(ends, argument)| Some((*ends)?).map(|ends| (ends, argument)));
            Some(ends.map(|((first, last), argument)| *argument == first || *argument == last).collect::<Vec<bool>>())
        };
        match qualifier {
            Qualifier::Functor(relation) => functor == *relation,
            Qualifier::Argument(at, value) => arguments.get(*at) == Some(value),
            Qualifier::Not(inner) => !self.passes(fluent, inner),
            Qualifier::Corner(marker) => ends(*marker).is_some_and(|ends| ends.iter().all(|&end| end)),
            Qualifier::Edge(marker) => ends(*marker).is_some_and(|ends| ends.iter().any(|&end| end)),
        }
    }

    fn place(&self, fluent: u32, argument: usize) -> u32 {
        let Some(&value) = self.arguments[fluent as usize].get(argument) else { return 0 };
        let order = self.orders.get(&(self.functors[fluent as usize], argument));
        order.and_then(|order| order.get(&value)).copied().unwrap_or(0)
    }

    /// The candidate tree: every functor, below it every choice of values for its arguments in ascending order, and on
    /// ordered boards below each of these corners, edges and what is in no corner; nothing that no fluent passes. Each node
    /// counts and, where an argument that is still open has an order, adds up its places.
    ///
    /// At most `max_nodes` nodes; whether that left any out.
    pub fn candidates(&self, max_nodes: usize) -> (Tree, bool) {
        let mut tree = Tree::new(vec![Aggregator::Count]);
        let mut functors: Vec<Relation> = Vec::new();
        for &functor in &self.functors {
            if !functors.contains(&functor) {
                functors.push(functor);
            }
        }
        // Nodes to be given children: their number, their fluents, and the first argument that is still open.
        let mut open: std::collections::VecDeque<(usize, Vec<u32>, Relation, usize)> = Default::default();
        let all: Vec<u32> = (0..self.functors.len() as u32).collect();
        let aggregators = |functor: Relation, fluents: &[u32]| {
            let open = |argument: usize| {
                let value = |&fluent: &u32| self.arguments[fluent as usize][argument];
                fluents.iter().any(|fluent| value(fluent) != value(&fluents[0]))
            };
            let ordered = (0..functor.arity as usize)
                .filter(|&argument| self.orders.contains_key(&(functor, argument)) && open(argument));
            let places = ordered.map(|argument| Aggregator::Place(argument, Fold::Sum));
            std::iter::once(Aggregator::Count).chain(places).collect::<Vec<_>>()
        };
        let mut cut = false;
        let mut add = |tree: &mut Tree, parent: usize, among: &[u32], functor: Relation, qualifier: Qualifier| {
            let passing: Vec<u32> = among.iter().copied().filter(|&fluent| self.passes(fluent, &qualifier)).collect();
            cut |= !passing.is_empty() && tree.nodes.len() >= max_nodes;
            if passing.is_empty() || tree.nodes.len() >= max_nodes {
                return None;
            }
            let aggregators = aggregators(functor, &passing);
            Some((tree.add(parent, qualifier, aggregators), passing))
        };
        for functor in functors {
            if let Some((node, passing)) = add(&mut tree, 0, &all, functor, Qualifier::Functor(functor)) {
                open.push_back((node, passing, functor, 0));
            }
        }
        while let Some((parent, fluents, functor, from)) = open.pop_front() {
            for argument in from..functor.arity as usize {
                let mut values: Vec<TermId> =
                    fluents.iter().map(|&fluent| self.arguments[fluent as usize][argument]).collect();
                values.sort_unstable();
                values.dedup();
                for value in values {
                    let qualifier = Qualifier::Argument(argument, value);
                    if let Some((node, passing)) = add(&mut tree, parent, &fluents, functor, qualifier) {
                        open.push_back((node, passing, functor, argument + 1));
                    }
                }
            }
            if let Some(&Ends { marker, .. }) = self.boards.get(&functor) {
                let corner = Qualifier::Corner(marker);
                for qualifier in [corner.clone(), Qualifier::Edge(marker), Qualifier::Not(Box::new(corner))] {
                    _ = add(&mut tree, parent, &fluents, functor, qualifier);
                }
            }
        }
        (tree, cut)
    }
}

/// The values of a tree, kept up to date as fluents come and go.
#[derive(Clone, Debug)]
pub struct Tally {
    /// For each fluent, the values it counts for, each with its place.
    uses: Vec<Vec<(u32, u32)>>,
    aggregators: Vec<Aggregator>,
    counts: Vec<u32>,
    sums: Vec<u64>,
    /// How often each place occurs, for values that need to know.
    histograms: Vec<BTreeMap<u32, u32>>,
}

impl Tally {
    /// The values where no fluent holds.
    pub fn new(tree: &Tree, literals: &Literals) -> Tally {
        let n_fluents = literals.functors.len();
        let mut uses = vec![Vec::new(); n_fluents];
        let mut reached: Vec<Vec<u32>> = Vec::new();
        let mut aggregators = Vec::new();
        for node in &tree.nodes {
            let fluents: Vec<u32> = match &node.from {
                None => (0..n_fluents as u32).collect(),
                Some((parent, qualifier)) => {
                    reached[*parent].iter().copied().filter(|&fluent| literals.passes(fluent, qualifier)).collect()
                }
            };
            for &aggregator in &node.aggregators {
                let place = |fluent: u32| match aggregator {
                    Aggregator::Count => 0,
                    Aggregator::Place(argument, _) => literals.place(fluent, argument),
                };
                let value = aggregators.len() as u32;
                fluents.iter().for_each(|&fluent| uses[fluent as usize].push((value, place(fluent))));
                aggregators.push(aggregator);
            }
            reached.push(fluents);
        }
        let n = aggregators.len();
        Tally { uses, aggregators, counts: vec![0; n], sums: vec![0; n], histograms: vec![BTreeMap::new(); n] }
    }

    /// A fluent comes to hold, or ceases to.
    pub fn set(&mut self, fluent: u32, holds: bool) {
        for &(value, place) in &self.uses[fluent as usize] {
            let value = value as usize;
            let ranked = matches!(self.aggregators[value], Aggregator::Place(_, Fold::Least | Fold::Greatest));
            if holds {
                self.counts[value] += 1;
                self.sums[value] += u64::from(place);
                if ranked {
                    *self.histograms[value].entry(place).or_default() += 1;
                }
            } else {
                self.counts[value] -= 1;
                self.sums[value] -= u64::from(place);
                if ranked && let Some(times) = self.histograms[value].get_mut(&place) {
                    *times -= 1;
                    if *times == 0 {
                        self.histograms[value].remove(&place);
                    }
                }
            }
        }
    }

    /// The values.
    pub fn values(&self) -> Vec<f64> {
        let value = |(index, aggregator): (usize, &Aggregator)| match aggregator {
            Aggregator::Count => f64::from(self.counts[index]),
            Aggregator::Place(_, Fold::Sum) => self.sums[index] as f64,
            Aggregator::Place(_, Fold::Mean) => self.sums[index] as f64 / f64::from(self.counts[index].max(1)),
            Aggregator::Place(_, fold) => fold.value(&self.histograms[index]),
        };
        self.aggregators.iter().enumerate().map(value).collect()
    }
}

/// Leaves out values that never change, for as long as they don't.
#[derive(Clone, Debug, Default)]
pub struct ConstantFilter {
    histograms: Vec<BTreeMap<u64, u64>>,
    removed: Vec<bool>,
}

impl ConstantFilter {
    /// Takes note of the values of a state. A value that was removed comes back if it is another one now.
    pub fn observe(&mut self, values: &[f64]) {
        self.histograms.resize(values.len(), BTreeMap::new());
        self.removed.resize(values.len(), false);
        for (index, (histogram, value)) in self.histograms.iter_mut().zip(values).enumerate() {
            *histogram.entry(value.to_bits()).or_default() += 1;
            self.removed[index] &= histogram.len() == 1;
        }
    }

    /// Removes what has had one value so far. How many are left.
    pub fn prune(&mut self) -> usize {
        for (removed, histogram) in self.removed.iter_mut().zip(&self.histograms) {
            *removed = histogram.len() == 1;
        }
        self.removed.iter().filter(|removed| !**removed).count()
    }

    /// Whether a value is in use.
    pub fn is_used(&self, value: usize) -> bool {
        !self.removed[value]
    }
}

#[cfg(test)]
mod tests;
