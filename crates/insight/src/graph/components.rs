//! Labels a graph part by part: what refinement settles, and the components of the rest.
//!
//! A node that looks like no other is fixed by every automorphism, and its neighbours can be seen from their cells. Without
//! these nodes the graph falls apart. An automorphism permutes equal components and does as it likes within each, so that
//! a thousand interchangeable objects cost no more than each of them alone.

use std::collections::BTreeMap;

use gdl::Stop;

use super::refine::{Neighbours, Partition};
use super::{Graph, Labelling, MAX_MOVES, Moves, TooHard, inverse, nauty};

/// A component of what refinement leaves open.
struct Component {
    /// Its nodes in canonical order.
    order: Vec<u32>,
    /// Generators of its automorphisms, by place in that order.
    generators: Vec<Moves>,
    group_size: (f64, i32),
    /// The cells of its nodes and its edges, in canonical order: equal for equal components.
    form: (Vec<u32>, Vec<(u32, u32)>),
}

pub(super) fn label(graph: &Graph, budget: u64, stop: &Stop) -> Result<Labelling, TooHard> {
    let n = graph.colors.len() as u32;
    let partition = Partition::new(graph, &Neighbours::new(graph), stop);
    if stop.is_raised() {
        return Err(TooHard::Stopped);
    }
    // Step 1. Label each component; equal ones form a class.
    let mut classes: BTreeMap<_, Vec<Component>> = BTreeMap::new();
    let mut left = nauty::Left { nodes: budget, moves: MAX_MOVES, stop: stop.clone() };
    for (part, nodes) in components(graph, &partition) {
        let component = Component::new(&part, &nodes, &mut left).map_err(|why| match why {
            TooHard::Nodes(_) => TooHard::Nodes(budget),
            other => other,
        })?;
        classes.entry(component.form.clone()).or_default().push(component);
    }
    // Step 2. The order: cell by cell, and within a cell class by class and component by component.
    let open = classes.values().flatten().flat_map(|component| &component.order);
    let mut order: Vec<u32> = open.copied().chain((0..n).filter(|&node| partition.is_single(node))).collect();
    order.sort_by_key(|&node| partition.cell(node));
    // Step 3. The automorphisms: those of one component of each class, and all exchanges of equal components, which a
    // swap and a rotation generate.
    let (mut generators, mut orbits, mut group_size) = (Vec::new(), Sets::new(graph.colors.len()), (1.0, 0));
    for class in classes.values() {
        let mut add = |moves: &mut dyn Iterator<Item = (u32, u32)>| generators.push(moves.collect::<Moves>());
        let [first, others @ ..] = &class[..] else { unreachable!("a class has a component") };
        for generator in &first.generators {
            add(&mut generator.iter().map(|&(from, to)| (first.order[from as usize], first.order[to as usize])));
        }
        let onto = |from: &Component, to: &Component| {
            from.order.iter().copied().zip(to.order.iter().copied()).collect::<Vec<_>>()
        };
        if let [second, ..] = others {
            add(&mut onto(first, second).into_iter().chain(onto(second, first)));
        }
        if let [.., last] = others
            && others.len() > 1
        {
            let rotation = class.windows(2).flat_map(|pair| onto(&pair[0], &pair[1]));
            add(&mut rotation.chain(onto(last, first)));
        }
        for (number, component) in (1..).zip(class) {
            onto(first, component).into_iter().for_each(|(node, image)| orbits.join(node, image));
            multiply(&mut group_size, component.group_size);
            multiply(&mut group_size, (f64::from(number), 0));
        }
    }
    for generator in &generators {
        generator.iter().for_each(|&(node, image)| orbits.join(node, image));
    }
    let orbits = (0..n).map(|node| orbits.least(node)).collect();
    Ok(Labelling { order, generators, orbits, group_size })
}

impl Component {
    /// Orders the nodes of a component, which the graph numbers in this order.
    fn new(graph: &Graph, nodes: &[u32], left: &mut nauty::Left) -> Result<Component, TooHard> {
        let labelling = nauty::label(graph, left)?;
        let place = inverse(&labelling.order);
        let by_place = |generator: &Moves| {
            generator.iter().map(|&(from, to)| (place[from as usize], place[to as usize])).collect()
        };
        let mut edges: Vec<(u32, u32)> =
            graph.edges.iter().map(|&(from, to)| (place[from as usize], place[to as usize])).collect();
        edges.sort_unstable();
        Ok(Component {
            order: labelling.order.iter().map(|&node| nodes[node as usize]).collect(),
            generators: labelling.generators.iter().map(by_place).collect(),
            group_size: labelling.group_size,
            form: (labelling.order.iter().map(|&node| graph.colors[node as usize]).collect(), edges),
        })
    }
}

/// The components of what refinement leaves open, coloured by cells, and for each its nodes in the whole graph.
fn components(graph: &Graph, partition: &Partition) -> Vec<(Graph, Vec<u32>)> {
    let is_open = |node: u32| !partition.is_single(node);
    let open_edges = || graph.edges.iter().copied().filter(|&(from, to)| is_open(from) && is_open(to));
    let mut joined = Sets::new(graph.colors.len());
    open_edges().for_each(|(from, to)| joined.join(from, to));
    // The least node of a component comes first, and gets a number for it.
    let mut components: Vec<(Graph, Vec<u32>)> = Vec::new();
    let mut numbers = vec![(0, 0); graph.colors.len()];
    for node in (0..graph.colors.len() as u32).filter(|&node| is_open(node)) {
        let least = joined.least(node);
        let component = if least == node { components.len() } else { numbers[least as usize].0 };
        if least == node {
            components.push((Graph::default(), Vec::new()));
        }
        let (part, nodes) = &mut components[component];
        numbers[node as usize] = (component, part.node(partition.cell(node)));
        nodes.push(node);
    }
    for (from, to) in open_edges() {
        let ((component, from), (_, to)) = (numbers[from as usize], numbers[to as usize]);
        components[component].0.edge(from, to);
    }
    components
}

/// Disjoint sets of nodes; each knows its least node.
struct Sets(Vec<u32>);

impl Sets {
    /// Each node alone.
    fn new(n: usize) -> Sets {
        Sets((0..n as u32).collect())
    }

    fn least(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            let parent = self.0[node as usize];
            self.0[node as usize] = self.0[parent as usize];
            node = parent;
        }
        node
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.least(one), self.least(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

/// Multiplies numbers with powers of ten.
fn multiply(product: &mut (f64, i32), factor: (f64, i32)) {
    *product = (product.0 * factor.0, product.1 + factor.1);
    while product.0 >= 1e10 {
        *product = (product.0 / 1e10, product.1 + 10);
    }
}
