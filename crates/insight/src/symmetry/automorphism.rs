//! Symmetries as automorphisms of a graph: the ground logic with its inputs and outputs.

use gdl::ground::GroundProgram;
use gdl::keyword;
use machine::network::Wire;
use rustc_hash::FxHashMap;

use super::group::Permutation;
use super::logic::{Known, Logic, Outputs};
use super::path::Path;
use super::refine::refine;
use super::{Budget, StopReason};
use crate::graph::{Graph, Moves, TooHard};

/// What nodes of the graph stand for. Goals have the colours after these, one for each value.
#[derive(Clone, Copy)]
enum Color {
    Fluent,
    Move,
    Role,
    /// The role that plays by chance.
    Random,
    False,
    Terminal,
    And,
    Not,
    /// A way, its ends, its nodes, its edges, and where an edge that leads one way only begins and ends.
    Path,
    PathEnd,
    PathNode,
    PathEdge,
    PathPort,
    FirstGoal,
}

/// Permutations of fluents, moves and roles (numbered in this order) that generate the automorphisms of the graph.
pub(super) fn generators(
    ground: &GroundProgram,
    logic: &Logic,
    known: &Known,
    outputs: Outputs,
    budget: &Budget,
) -> Result<Vec<Permutation>, StopReason> {
    let (graph, points) = draw(ground, logic, known, outputs);
    if budget.stop.is_raised() {
        return Err(StopReason::Stopped);
    }
    let size = graph.colors.len() + graph.edges.len();
    if size > budget.graph {
        return Err(StopReason::Graph { size, limit: budget.graph });
    }
    let mut point_of: FxHashMap<u32, u32> = FxHashMap::default();
    for (point, &node) in points.iter().enumerate() {
        point_of.extend(node.map(|node| (node, point as u32)));
    }
    let automorphisms = automorphisms(&graph, budget)?;
    let restrict = |moves: Moves| -> Moves {
        let point = |node: u32| point_of.get(&node).copied();
        moves.into_iter().filter_map(|(from, to)| Some((point(from)?, point(to)?))).collect()
    };
    let mut generators: Vec<Moves> = automorphisms.into_iter().map(restrict).collect();
    generators.retain(|moves| !moves.is_empty());
    let images = generators.len() * points.len();
    if images > budget.images {
        return Err(StopReason::Images { count: images, limit: budget.images });
    }
    let complete = |moves: Moves| {
        let mut image: Permutation = (0..points.len() as u32).collect();
        moves.into_iter().for_each(|(from, to)| image[from as usize] = to);
        image
    };
    Ok(generators.into_iter().map(complete).collect())
}

/// Draws the graph; with it the node of each fluent, move and role, none for what never changes. Edges lead from a
/// conjunction to its inputs, from a fluent to what makes it hold next, from a move to its role and to what makes it legal,
/// from a goal to its role and to what makes it hold.
fn draw(ground: &GroundProgram, logic: &Logic, known: &Known, outputs: Outputs) -> (Graph, Vec<Option<u32>>) {
    let mut graph = Graph::default();
    let mut points: Vec<Option<u32>> = Vec::new();
    // Step 1. Fluents, moves and roles.
    for constant in &known.constants {
        points.push(constant.is_none().then(|| graph.node(Color::Fluent as u32)));
    }
    for &live in &known.live {
        points.push(live.then(|| graph.node(Color::Move as u32)));
    }
    for &role in &ground.roles {
        let is_random = ground.terms.name(role) == keyword::RANDOM && ground.terms.args(role).is_empty();
        points.push(Some(graph.node(if is_random { Color::Random } else { Color::Role } as u32)));
    }
    let role_node = |role: u32| points[logic.n_fluents + logic.n_moves + role as usize].expect("roles have nodes");
    // Step 2. The gates.
    let mut nodes = vec![u32::MAX; logic.gates.len()];
    nodes[0] = graph.node(Color::False as u32);
    points[..logic.n_fluents + logic.n_moves]
        .iter()
        .enumerate()
        .for_each(|(point, node)| nodes[1 + point] = node.unwrap_or(u32::MAX));
    let needed = logic.needed(outputs);
    let inner = || (logic.first_inner()..logic.gates.len()).filter(|&gate| needed[gate]);
    for gate in inner() {
        let is_path = logic.paths.contains_key(&(gate as u32));
        nodes[gate] = graph.node(if is_path { Color::Path } else { Color::And } as u32);
    }
    let mut inverted: FxHashMap<u32, u32> = FxHashMap::default();
    let mut join = |graph: &mut Graph, from: u32, wire: Wire| {
        let node = nodes[wire.gate() as usize];
        let to = if wire.is_inverted() {
            *inverted.entry(node).or_insert_with(|| {
                let not = graph.node(Color::Not as u32);
                graph.edge(not, node);
                not
            })
        } else {
            node
        };
        graph.edge(from, to);
    };
    for gate in inner() {
        match logic.paths.get(&(gate as u32)) {
            Some(path) => draw_path(&mut graph, nodes[gate], path, &mut join),
            None => logic.gates[gate].iter().for_each(|&wire| join(&mut graph, nodes[gate], wire)),
        }
    }
    // Step 3. The outputs.
    for (node, &wire) in points.iter().zip(logic.next.iter().chain(&logic.legal)) {
        node.iter().for_each(|&node| join(&mut graph, node, wire));
    }
    for (node, &(role, _)) in points[logic.n_fluents..].iter().zip(&ground.moves) {
        node.iter().for_each(|&node| graph.edge(node, role_node(role)));
    }
    if outputs.terminal {
        let terminal = graph.node(Color::Terminal as u32);
        join(&mut graph, terminal, logic.terminal);
    }
    if outputs.goals {
        let mut values: Vec<i64> = logic.goals.iter().map(|&(_, value, _)| value).collect();
        values.sort_unstable();
        values.dedup();
        for &(role, value, wire) in logic.goals.iter().filter(|goal| goal.2 != Wire::FALSE) {
            let place = values.binary_search(&value).expect("every value is listed") as u32;
            let node = graph.node(Color::FirstGoal as u32 + place);
            join(&mut graph, node, wire);
            graph.edge(node, role_node(role));
        }
    }
    (graph, points)
}

/// Draws a way so that its beginning and its end look alike, as long as all edges are turned round with them.
fn draw_path(graph: &mut Graph, gate: u32, path: &Path, join: &mut impl FnMut(&mut Graph, u32, Wire)) {
    let mut nodes = Vec::with_capacity(path.nodes.len());
    for conditions in &path.nodes {
        let is_end = nodes.len() < 2;
        let node = graph.node(if is_end { Color::PathEnd } else { Color::PathNode } as u32);
        if is_end {
            graph.edge(gate, node);
        }
        conditions.iter().for_each(|&wire| join(graph, node, wire));
        nodes.push(node);
    }
    for (from, to, conditions) in &path.edges {
        // No way needs to come back to its beginning, or to go on from its end, so those edges need no direction.
        let at_end = *from == 0 || *to == 1;
        let both_ways = path.edges.binary_search(&(*to, *from, conditions.clone())).is_ok();
        if both_ways && from > to {
            continue;
        }
        let edge = graph.node(Color::PathEdge as u32);
        conditions.iter().for_each(|&wire| join(graph, edge, wire));
        for (node, end) in [(*from, 0), (*to, 1)] {
            if at_end || both_ways {
                graph.edge(edge, nodes[node as usize]);
            } else {
                let port = graph.node(Color::PathPort as u32);
                graph.edge(edge, port);
                graph.edge(port, nodes[node as usize]);
                graph.edge(port, nodes[end]);
            }
        }
    }
}

/// Generators of the automorphisms.
fn automorphisms(graph: &Graph, budget: &Budget) -> Result<Vec<Moves>, StopReason> {
    // Step 1. Nodes with a colour of their own stay where they are, and their edges are the same for all nodes of a colour.
    let n = graph.colors.len();
    let colors = refine(graph, &budget.stop).ok_or(StopReason::Stopped)?;
    let mut sizes = vec![0u32; n + 1];
    colors.iter().for_each(|&color| sizes[color as usize] += 1);
    let moves = |node: u32| sizes[colors[node as usize] as usize] > 1;
    let mut beside = vec![Vec::new(); n];
    for &(from, to) in graph.edges.iter().filter(|&&(from, to)| moves(from) && moves(to)) {
        beside[from as usize].push(to << 1);
        beside[to as usize].push(from << 1 | 1);
    }
    // Step 2. Of nodes that have the same neighbours one is enough: they can be exchanged at will.
    let mut generators: Vec<Moves> = Vec::new();
    let mut twins: FxHashMap<(u32, Vec<u32>), Vec<u32>> = FxHashMap::default();
    for node in (0..n as u32).filter(|&node| moves(node)) {
        let mut neighbors = std::mem::take(&mut beside[node as usize]);
        neighbors.sort_unstable();
        twins.entry((colors[node as usize], neighbors)).or_default().push(node);
    }
    let mut classes: Vec<Vec<u32>> = twins.into_values().collect();
    classes.sort_unstable();
    for class in classes.iter().filter(|class| class.len() > 1) {
        generators.push(vec![(class[0], class[1]), (class[1], class[0])]);
        if class.len() > 2 {
            generators.push(class.iter().copied().zip(class.iter().copied().cycle().skip(1)).collect());
        }
    }
    // Step 3. Search among the rest.
    let mut rest = Graph::default();
    let mut number = vec![u32::MAX; n];
    let mut kinds: FxHashMap<(u32, usize), u32> = FxHashMap::default();
    for class in &classes {
        let next = kinds.len() as u32;
        let kind = *kinds.entry((colors[class[0] as usize], class.len())).or_insert(next);
        number[class[0] as usize] = rest.node(kind);
    }
    let ends = graph.edges.iter().map(|&(from, to)| (number[from as usize], number[to as usize]));
    rest.edges.extend(ends.filter(|&(from, to)| from != u32::MAX && to != u32::MAX));
    let size = (rest.colors.len() + rest.edges.len()).max(1);
    let nodes = (budget.search / size as u64).max(1);
    let labelling = rest.label(nodes, &budget.stop).map_err(|why| match why {
        TooHard::Nodes(_) => StopReason::Search { nodes },
        TooHard::Moves(limit) => StopReason::Images { count: limit + 1, limit },
        TooHard::Stopped => StopReason::Stopped,
    })?;
    for generator in labelling.generators {
        let pairs =
            |(from, to): (u32, u32)| classes[from as usize].iter().copied().zip(classes[to as usize].iter().copied());
        generators.push(generator.into_iter().flat_map(pairs).collect());
    }
    // Step 4. Refined colours rest on hashes, so look whether every edge of a node that moves arrives at an edge; as many
    // arrive as there are, so that all edges are met.
    let mut ends: Vec<(u32, u32)> =
        graph.edges.iter().flat_map(|&(from, to)| [(from, to << 1), (to, from << 1 | 1)]).collect();
    ends.sort_unstable();
    let beside = |node: u32| {
        let first = ends.partition_point(|end| end.0 < node);
        ends[first..].iter().take_while(move |end| end.0 == node).map(|end| end.1)
    };
    let mut image: Vec<u32> = (0..n as u32).collect();
    let mut is_stopped = false;
    generators.retain(|moves| {
        is_stopped |= budget.stop.is_raised();
        if is_stopped {
            return false;
        }
        moves.iter().for_each(|&(from, to)| image[from as usize] = to);
        let keeps = |&(from, to): &(u32, u32)| {
            let mut images: Vec<u32> = beside(from).map(|end| image[end as usize >> 1] << 1 | end & 1).collect();
            images.sort_unstable();
            graph.colors[from as usize] == graph.colors[to as usize] && images.iter().copied().eq(beside(to))
        };
        let is_automorphism = moves.iter().all(keeps);
        moves.iter().for_each(|&(from, _)| image[from as usize] = from);
        is_automorphism
    });
    if is_stopped { Err(StopReason::Stopped) } else { Ok(generators) }
}
