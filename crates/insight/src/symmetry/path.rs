//! Chains of rules as ways through a graph.
//!
//! "The left edge is joined to the right edge" is written as a recursion from one side: a stone is joined if it lies at the
//! left edge, or beside a joined stone. That it could as well be written from the other side is not to be seen in the
//! rules. So a recursion in which each step needs one thing derived before is turned into what it means: that a way leads
//! from a beginning to an end, along edges that are open where their conditions hold, through nodes whose conditions hold.
//! Which end is the beginning does not matter as long as all edges are turned round.

use gdl::Stop;
use machine::network::Wire;
use rustc_hash::{FxHashMap, FxHashSet};

use super::logic::{Logic, Outputs};

/// Whether a way leads from the beginning to the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// What must hold at each node; nodes 0 and 1 are the beginning and the end.
    pub(super) nodes: Vec<Vec<Wire>>,
    /// Edges from node to node, with what must hold along them; none twice.
    pub(super) edges: Vec<(u32, u32, Vec<Wire>)>,
}

const BEGINNING: u32 = 0;
const END: u32 = 1;

/// How many places outside of a recursion may use it.
const MAX_USERS: usize = 4;
/// How many conditions edges may get from bodies that lie on the way.
const MAX_CONDITIONS: usize = 4_000_000;

/// Replaces recursions by ways, as far as it is not stopped.
pub(super) fn find_paths(logic: &mut Logic, stop: &Stop) {
    let needed = logic.needed(Outputs::ALL);
    let components = logic.components();
    let cycles = components.into_iter().filter(|(members, is_cycle)| *is_cycle && needed[members[0]]);
    for (members, _) in cycles.collect::<Vec<_>>() {
        if stop.is_raised() {
            return;
        }
        if let Some(steps) = steps(logic, &members) {
            replace(logic, &members, &steps);
        }
    }
}

/// A step of a recursion: from a gate, or from nothing where it begins, to a gate, if some conditions hold.
type Step = (Option<u32>, u32, Vec<Wire>);

/// The steps of a recursion. `None` unless each of them needs exactly one thing derived before.
fn steps(logic: &Logic, members: &[usize]) -> Option<Vec<Step>> {
    let inside: FxHashSet<u32> = members.iter().map(|&gate| gate as u32).collect();
    let mut edges = Vec::new();
    for &gate in members {
        let is_atom = logic.atoms.contains(&gate);
        let own: Vec<Wire> = logic.gates[gate].iter().copied().filter(|wire| inside.contains(&wire.gate())).collect();
        if is_atom {
            if own.iter().any(|&wire| logic.asks_for(wire)) {
                return None;
            }
            edges.extend(own.iter().map(|wire| (Some(wire.gate()), gate as u32, Vec::new())));
            let others = logic.gates[gate].iter().filter(|wire| !inside.contains(&wire.gate()));
            edges.extend(others.map(|wire| (None, gate as u32, conditions(logic, wire.inverted()))));
        } else {
            let [wire] = own[..] else { return None };
            if !logic.asks_for(wire) {
                return None;
            }
            let others = logic.gates[gate].iter().copied().filter(|other| *other != wire);
            edges.push((Some(wire.gate()), gate as u32, others.collect()));
        }
    }
    Some(edges)
}

/// What a wire being true says: its gate's inputs, or itself.
fn conditions(logic: &Logic, wire: Wire) -> Vec<Wire> {
    let inputs = &logic.gates[wire.gate() as usize];
    if wire.is_inverted() || inputs.is_empty() || logic.paths.contains_key(&wire.gate()) {
        return vec![wire];
    }
    inputs.clone()
}

/// Puts ways in the place of a recursion wherever it is used.
fn replace(logic: &mut Logic, members: &[usize], steps: &[Step]) {
    let inside: FxHashSet<u32> = members.iter().map(|&gate| gate as u32).collect();
    let needed = logic.needed(Outputs::ALL);
    // Step 1. Who uses it: conjunctions that exclude several atoms, that is, ask for any of them; and all others.
    let mut users: Vec<(Option<usize>, Vec<u32>)> = Vec::new();
    let mut single: FxHashSet<u32> = FxHashSet::default();
    for gate in
        (logic.first_inner()..logic.gates.len()).filter(|&gate| needed[gate] && !inside.contains(&(gate as u32)))
    {
        let mut any = Vec::new();
        for wire in logic.gates[gate].iter().filter(|wire| inside.contains(&wire.gate())) {
            if logic.asks_for(*wire) { _ = single.insert(wire.gate()) } else { any.push(wire.gate()) }
        }
        match any[..] {
            [] => {}
            [gate] => _ = single.insert(gate),
            _ => users.push((Some(gate), any)),
        }
    }
    single.extend(logic.outputs(Outputs::ALL).map(Wire::gate).filter(|gate| inside.contains(gate)));
    let mut single: Vec<u32> = single.into_iter().collect();
    single.sort_unstable();
    users.extend(single.into_iter().map(|gate| (None, vec![gate])));
    if users.len() > MAX_USERS {
        return;
    }
    // Step 2. A way for each.
    for (user, ends) in users {
        let Some(path) = draw(logic, members, steps, &ends) else { return };
        let gate = logic.gates.len() as u32;
        let all = path.nodes.iter().chain(path.edges.iter().map(|(_, _, conditions)| conditions));
        let mut inputs: Vec<Wire> = all.flatten().copied().collect();
        inputs.sort_unstable();
        inputs.dedup();
        logic.gates.push(inputs);
        logic.paths.insert(gate, path);
        match user {
            Some(user) => {
                logic.gates[user].retain(|wire| !ends.contains(&wire.gate()));
                logic.gates[user].push(Wire::of(gate).inverted());
            }
            None => {
                let invert = logic.atoms.contains(&(ends[0] as usize));
                let by = |wire: Wire| match wire.gate() == ends[0] {
                    true => Wire::of(gate).invert_if(wire.is_inverted() != invert),
                    false => wire,
                };
                let outside = (logic.first_inner()..gate as usize).filter(|gate| !inside.contains(&(*gate as u32)));
                outside.for_each(|gate| logic.gates[gate].iter_mut().for_each(|wire| *wire = by(*wire)));
                logic.replace_outputs(by);
            }
        }
    }
}

/// The ways to some gates of a recursion; `None` if there is too much to say about them.
fn draw(logic: &Logic, members: &[usize], steps: &[Step], ends: &[u32]) -> Option<Path> {
    // Step 1. Nodes are the atoms. A rule's body, which comes after one atom, becomes edges from that atom on.
    let mut node_of: FxHashMap<u32, u32> = FxHashMap::default();
    let mut is_body = vec![false; 2];
    for &gate in members {
        node_of.insert(gate as u32, is_body.len() as u32);
        is_body.push(!logic.atoms.contains(&gate));
    }
    let number = |gate: &Option<u32>| gate.map_or(BEGINNING, |gate| node_of[&gate]);
    let mut edges: Vec<(u32, u32, Vec<Wire>)> =
        steps.iter().map(|(from, to, open)| (number(from), node_of[to], open.clone())).collect();
    edges.extend(ends.iter().map(|gate| (node_of[gate], END, Vec::new())));
    let (mut into, mut onwards) = (vec![None; is_body.len()], vec![Vec::new(); is_body.len()]);
    for (at, &(from, to, _)) in edges.iter().enumerate() {
        into[to as usize].get_or_insert(at);
        onwards[from as usize].push(at);
    }
    let mut is_gone = vec![false; edges.len()];
    let mut n_conditions = 0;
    for body in (2..is_body.len()).filter(|&node| is_body[node]) {
        let Some(at) = into[body] else { continue };
        is_gone[at] = true;
        let (from, open) = (edges[at].0, edges[at].2.clone());
        for edge in std::mem::take(&mut onwards[body]) {
            edges[edge].0 = from;
            edges[edge].2.extend_from_slice(&open);
            onwards[from as usize].push(edge);
            n_conditions += open.len();
            if n_conditions > MAX_CONDITIONS {
                return None;
            }
        }
    }
    let mut is_gone = is_gone.into_iter();
    edges.retain(|_| is_gone.next() == Some(false));
    // Step 2. Only nodes on the way count.
    let after = reachable(&edges, is_body.len(), BEGINNING, |&(from, to, _)| (from, to));
    let before = reachable(&edges, is_body.len(), END, |&(from, to, _)| (to, from));
    edges.retain(|&(from, to, _)| from != to && after[from as usize] && before[to as usize]);
    // Step 3. What all edges to a node, or all from it, need, the node needs.
    let tidy = |wires: &mut Vec<Wire>| {
        wires.sort_unstable();
        wires.dedup();
    };
    edges.iter_mut().for_each(|(_, _, open)| tidy(open));
    let mut nodes: Vec<Vec<Wire>> = vec![Vec::new(); is_body.len()];
    for ends in [|&(_, to, _): &(u32, u32, Vec<Wire>)| to, |&(from, _, _): &(u32, u32, Vec<Wire>)| from] {
        let mut common: Vec<Option<Vec<Wire>>> = vec![None; nodes.len()];
        for edge in &edges {
            match &mut common[ends(edge) as usize] {
                Some(common) => common.retain(|wire| edge.2.contains(wire)),
                unset => *unset = Some(edge.2.clone()),
            }
        }
        nodes.iter_mut().zip(common).for_each(|(node, common)| node.extend(common.into_iter().flatten()));
    }
    nodes[BEGINNING as usize].clear();
    nodes[END as usize].clear();
    nodes.iter_mut().for_each(tidy);
    for (from, to, open) in &mut edges {
        open.retain(|wire| !nodes[*from as usize].contains(wire) && !nodes[*to as usize].contains(wire));
    }
    edges.sort_unstable();
    edges.dedup();
    // Step 4. Number the nodes that are left.
    let mut number = vec![u32::MAX; nodes.len()];
    let mut kept = vec![Vec::new(); 2];
    (number[BEGINNING as usize], number[END as usize]) = (BEGINNING, END);
    for node in edges.iter_mut().flat_map(|(from, to, _)| [from, to]) {
        if number[*node as usize] == u32::MAX {
            number[*node as usize] = kept.len() as u32;
            kept.push(std::mem::take(&mut nodes[*node as usize]));
        }
        *node = number[*node as usize];
    }
    edges.sort_unstable();
    Some(Path { nodes: kept, edges })
}

fn reachable<T>(edges: &[T], n_nodes: usize, from: u32, ends: impl Fn(&T) -> (u32, u32)) -> Vec<bool> {
    let mut following = vec![Vec::new(); n_nodes];
    edges.iter().map(ends).for_each(|(from, to)| following[from as usize].push(to));
    let mut reached = vec![false; n_nodes];
    let mut stack = vec![from];
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            stack.extend_from_slice(&following[node as usize]);
        }
    }
    reached
}
