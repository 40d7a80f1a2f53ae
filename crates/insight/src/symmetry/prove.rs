//! Proving that a permutation is a symmetry: the logic with all inputs replaced by their images says of each output what the
//! logic says of the image of the output.
//!
//! Most of that is seen from the structure: a gate goes to the gate that has the images of its inputs. Where the rules are
//! written from one end to the other (a count that goes from cell to cell), there is no such gate at first. Then gates
//! are compared by their meaning, as decision diagrams over gates that do have images; a gate that means the same as the
//! image of another becomes its image, and structure may lead on from there.

use std::collections::VecDeque;

use gdl::ground::GroundProgram;
use gdl::{Stop, TermId};
use machine::network::{Network, Wire};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Budget;
use super::bdd::{Diagram, Diagrams};
use super::logic::{Logic, Outputs};
use super::sat::{Answer, Clauses};
use super::web::{Web, Webs};

/// What is known about the gates of a game, for any number of proofs.
pub(super) struct Prover<'a> {
    logic: &'a Logic,
    /// Gates that depend on each other, after those that they depend on.
    components: Vec<(Vec<usize>, bool)>,
    /// The conjunctions by their inputs; those of cycles are not among them.
    known: FxHashMap<&'a [Wire], u32>,
    /// Cycles with their gates, and ways with the one gate that asks for them.
    webs: Webs<Vec<u32>>,
    /// Numbers for what nodes and edges of webs are labelled with.
    labels: FxHashMap<(Kind, Vec<Wire>), u32>,
    in_cycle: Vec<bool>,
    /// Nodes that decision diagrams may still have in all proofs to come.
    nodes_left: usize,
    /// The role of each move.
    role_of: Vec<u32>,
    /// Fluents that are always equal, or opposite.
    equal: Vec<(Wire, Wire)>,
}

/// What is labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Atom,
    Body,
    Wire(bool),
    Beginning,
    End,
    PathNode,
    PathEdge,
}

/// How a proof went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every output has its image by structure.
    Structure,
    /// Outputs without an image of the same structure have the same meaning.
    Meaning,
    /// It is no symmetry: some state and moves show that, if perhaps none that can be reached.
    Refuted,
    /// Neither was found.
    Open,
}

/// The image of each gate, as far as it is known.
type Images = Vec<Option<Wire>>;

fn image_of(images: &Images, wire: Wire) -> Option<Wire> {
    images[wire.gate() as usize].map(|image| image.invert_if(wire.is_inverted()))
}

impl<'a> Prover<'a> {
    pub(super) fn new(ground: &GroundProgram, network: &Network, logic: &'a Logic, budget: &Budget) -> Prover<'a> {
        let needed = logic.needed(Outputs::ALL);
        let mut components = logic.components();
        components.retain(|(members, _)| members[0] >= logic.first_inner() && needed[members[0]]);
        let mut in_cycle = vec![false; logic.gates.len()];
        let cycles = components.iter().filter(|(_, is_cycle)| *is_cycle);
        cycles.flat_map(|(members, _)| members).for_each(|&gate| in_cycle[gate] = true);
        let numbers: FxHashMap<TermId, u32> =
            ground.fluents.iter().zip(0..).map(|(&term, number)| (term, number)).collect();
        let wire = |term: TermId| Wire::of(1 + numbers[&term]);
        let equal = network.equal_fluents.iter();
        let mut prover = Prover {
            logic,
            components: Vec::new(),
            known: FxHashMap::default(),
            webs: Webs::default(),
            labels: FxHashMap::default(),
            in_cycle,
            nodes_left: budget.diagrams,
            role_of: ground.moves.iter().map(|&(role, _)| role).collect(),
            equal: equal
                .map(|&(term, other, inverted)| (wire(term), wire(network.fluents[other as usize]).invert_if(inverted)))
                .collect(),
        };
        for (members, is_cycle) in &components {
            if *is_cycle {
                let web = prover.cycle(members, Some).expect("every wire has itself");
                prover.webs.insert(web, members.iter().map(|&gate| gate as u32).collect());
            } else if logic.paths.contains_key(&(members[0] as u32)) {
                for reversed in [false, true] {
                    let web = prover.path(members[0] as u32, reversed, Some).expect("every wire has itself");
                    prover.webs.insert(web, vec![members[0] as u32]);
                }
            } else {
                prover.known.insert(&logic.gates[members[0]], members[0] as u32);
            }
        }
        prover.components = components;
        prover
    }

    /// Tries to prove that a permutation of fluents, moves and roles (numbered in this order) is a symmetry, given that it
    /// respects what is known of fluents and moves.
    pub(super) fn prove(&mut self, points: &[u32], budget: &Budget) -> Verdict {
        // Step 1. The outputs and what they should become: those of a state, and those of a state and moves.
        let logic = self.logic;
        let [mut now, mut next] = self.pairs(points);
        // Step 2. Structure and meaning by turns.
        let mut images: Images = vec![None; logic.gates.len()];
        images[0] = Some(Wire::FALSE);
        (0..logic.n_fluents + logic.n_moves).for_each(|point| images[1 + point] = Some(Wire::of(1 + points[point])));
        self.spread(&mut images);
        let keep_open = |images: &Images, pairs: &mut Vec<(Wire, Wire)>| {
            pairs.retain(|&(here, there)| image_of(images, here) != Some(there));
        };
        keep_open(&images, &mut now);
        keep_open(&images, &mut next);
        if now.is_empty() && next.is_empty() {
            return Verdict::Structure;
        }
        // What is wrong is often seen at once.
        let verdict = self.solve(&images, &now, &next, budget.conflicts / 16, &budget.stop);
        if verdict != Verdict::Open {
            return verdict;
        }
        while !now.is_empty() || !next.is_empty() {
            if budget.stop.is_raised() {
                return Verdict::Open;
            }
            let open: Vec<(Wire, Wire)> = now.iter().chain(&next).copied().collect();
            let mut comparison = Comparison::new(logic, &images, self.nodes_left.min(NODES_PER_SWEEP));
            let found = comparison.sweep(&open);
            self.nodes_left -= comparison.diagrams.len();
            if found.is_empty() {
                return self.solve(&images, &now, &next, budget.conflicts, &budget.stop);
            }
            found.into_iter().for_each(|(gate, image)| images[gate as usize] = Some(image));
            self.spread(&mut images);
            keep_open(&images, &mut now);
            keep_open(&images, &mut next);
        }
        Verdict::Meaning
    }

    /// Lets a solver look for a state, and moves, that tell outputs from what they should become.
    fn solve(
        &self,
        images: &Images,
        now: &[(Wire, Wire)],
        next: &[(Wire, Wire)],
        conflicts: u64,
        stop: &Stop,
    ) -> Verdict {
        let mut clauses = Clauses::new(self.logic, images, &self.in_cycle, conflicts, stop);
        self.equal.iter().for_each(|&(a, b)| clauses.suppose_equal(a, b));
        let mut answer = clauses.compare(now);
        if answer == Answer::Equal && !next.is_empty() {
            clauses.suppose_legal_moves(&self.role_of);
            answer = clauses.compare(next);
        }
        match answer {
            Answer::Equal => Verdict::Meaning,
            Answer::Different => Verdict::Refuted,
            Answer::Unknown => Verdict::Open,
        }
    }

    /// Each output with the output that it should become: the end, goals and legal moves; then next fluents. The end and the
    /// goals come first: they are few, and what is no symmetry often shows there.
    fn pairs(&self, points: &[u32]) -> [Vec<(Wire, Wire)>; 2] {
        let logic = self.logic;
        let first_role = logic.n_fluents + logic.n_moves;
        let to = |first: usize, index: usize| points[first + index] as usize - first;
        let mut now = vec![(logic.terminal, logic.terminal)];
        let goals: FxHashMap<(u32, i64), Wire> =
            logic.goals.iter().rev().map(|&(role, value, wire)| ((role, value), wire)).collect();
        for &(role, value, wire) in &logic.goals {
            let role = to(first_role, role as usize) as u32;
            now.push((wire, goals.get(&(role, value)).copied().unwrap_or(Wire::FALSE)));
        }
        now.extend((0..logic.n_moves).map(|chosen| (logic.legal[chosen], logic.legal[to(logic.n_fluents, chosen)])));
        let next = (0..logic.n_fluents).map(|fluent| (logic.next[fluent], logic.next[to(0, fluent)])).collect();
        [now, next].map(|pairs: Vec<(Wire, Wire)>| {
            let mut seen = FxHashSet::default();
            pairs.into_iter().filter(|&pair| seen.insert(pair)).collect()
        })
    }

    /// Finds images by structure.
    fn spread(&mut self, images: &mut Images) {
        let logic = self.logic;
        let components = std::mem::take(&mut self.components);
        for (members, is_cycle) in &components {
            let gate = members[0] as u32;
            if images[members[0]].is_some() {
                continue;
            }
            let name = |wire: Wire| image_of(images, wire);
            if *is_cycle {
                let Some(web) = self.cycle(members, name) else { continue };
                let Some((others, image)) = self.webs.find(&web) else { continue };
                members.iter().zip(image).for_each(|(&gate, to)| images[gate] = Some(Wire::of(others[to as usize])));
            } else if logic.paths.contains_key(&gate) {
                let Some(web) = self.path(gate, false, name) else { continue };
                let Some((other, _)) = self.webs.find(&web) else { continue };
                images[members[0]] = Some(Wire::of(other[0]));
            } else {
                let inputs: Option<Vec<Wire>> = logic.gates[members[0]].iter().map(|&wire| name(wire)).collect();
                let Some(mut inputs) = inputs else { continue };
                inputs.sort_unstable();
                images[members[0]] = self.known.get(&inputs[..]).map(|&gate| Wire::of(gate));
            }
        }
        self.components = components;
    }

    fn label(&mut self, kind: Kind, mut wires: Vec<Wire>) -> u32 {
        wires.sort_unstable();
        let next = self.labels.len() as u32;
        *self.labels.entry((kind, wires)).or_insert(next)
    }

    /// A cycle as a web, given what its inputs from outside are called; `None` if one has no name.
    fn cycle(&mut self, members: &[usize], name: impl Fn(Wire) -> Option<Wire>) -> Option<Web> {
        let logic = self.logic;
        let place: FxHashMap<u32, u32> =
            members.iter().enumerate().map(|(place, &gate)| (gate as u32, place as u32)).collect();
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (from, &gate) in members.iter().enumerate() {
            let mut outside = Vec::new();
            for &wire in &logic.gates[gate] {
                match place.get(&wire.gate()) {
                    Some(&to) => edges.push((from as u32, to, self.label(Kind::Wire(wire.is_inverted()), Vec::new()))),
                    None => outside.push(name(wire)?),
                }
            }
            let kind = if logic.atoms.contains(&gate) { Kind::Atom } else { Kind::Body };
            nodes.push(self.label(kind, outside));
        }
        Some(Web::new(nodes, edges))
    }

    /// A way as a web, perhaps with all directions turned round.
    fn path(&mut self, gate: u32, reversed: bool, name: impl Fn(Wire) -> Option<Wire>) -> Option<Web> {
        let path = &self.logic.paths[&gate];
        let names = |wires: &[Wire]| wires.iter().map(|&wire| name(wire)).collect::<Option<Vec<Wire>>>();
        let mut nodes = Vec::with_capacity(path.nodes.len());
        for (node, conditions) in path.nodes.iter().enumerate() {
            let kind = match (node, reversed) {
                (0, false) | (1, true) => Kind::Beginning,
                (0, true) | (1, false) => Kind::End,
                _ => Kind::PathNode,
            };
            nodes.push(self.label(kind, names(conditions)?));
        }
        let mut edges = Vec::with_capacity(path.edges.len());
        for (from, to, conditions) in &path.edges {
            let label = self.label(Kind::PathEdge, names(conditions)?);
            edges.push(if reversed { (*to, *from, label) } else { (*from, *to, label) });
        }
        Some(Web::new(nodes, edges))
    }
}

/// Diagrams are joined by recursion, at most as deep as there are variables.
const MAX_VARIABLES: usize = 5000;

/// Compares the meaning of gates without an image with that of others.
struct Comparison<'a> {
    logic: &'a Logic,
    images: &'a Images,
    /// The gates that are images: the variables of the functions.
    is_image: Vec<bool>,
    diagrams: Diagrams,
    /// The variable of each gate that has one.
    variables: FxHashMap<u32, u32>,
    /// The functions of gates, on the side that is mapped and on the other; `None` if too large, or in a cycle.
    functions: [FxHashMap<u32, Option<Diagram>>; 2],
}

impl<'a> Comparison<'a> {
    fn new(logic: &'a Logic, images: &'a Images, limit: usize) -> Comparison<'a> {
        let mut is_image = vec![false; logic.gates.len()];
        images.iter().flatten().for_each(|image| is_image[image.gate() as usize] = true);
        Comparison {
            logic,
            images,
            is_image,
            diagrams: Diagrams::new(limit),
            variables: FxHashMap::default(),
            functions: [FxHashMap::default(), FxHashMap::default()],
        }
    }

    /// New images: gates on the mapped side that mean the same as some gate on the other, below these outputs.
    fn sweep(&mut self, pairs: &[(Wire, Wire)]) -> Vec<(u32, Wire)> {
        // Step 1. Number variables in the order in which a walk in breadth meets them, so that those that count together
        // stay together.
        let mut queue: VecDeque<u32> = pairs.iter().map(|(_, there)| there.gate()).collect();
        let mut seen: FxHashSet<u32> = queue.iter().copied().collect();
        while let Some(gate) = queue.pop_front() {
            if self.is_image[gate as usize] {
                let next = self.variables.len() as u32;
                self.variables.entry(gate).or_insert(next);
                continue;
            }
            let inputs = self.logic.gates[gate as usize].iter().map(|wire| wire.gate());
            queue.extend(inputs.filter(|&gate| seen.insert(gate)));
        }
        // Step 2. The functions.
        for &(here, there) in pairs {
            self.explore(here.gate(), 0);
            self.explore(there.gate(), 1);
        }
        // Step 3. Equal ones. Gates that mean the same on one side are paired with those on the other in their order: where
        // there are as many, structure is likely to agree.
        let [mut here, there] = [0, 1].map(|side| {
            let mut by_function: FxHashMap<Diagram, Vec<Wire>> = FxHashMap::default();
            let is_open = |gate: u32| match side {
                0 => self.images[gate as usize].is_none(),
                _ => !self.is_image[gate as usize],
            };
            for (&gate, &function) in self.functions[side].iter().filter(|(gate, _)| is_open(**gate)) {
                if let Some(function) = function {
                    let invert = function.is_inverted();
                    by_function.entry(function.invert_if(invert)).or_default().push(Wire::of(gate).invert_if(invert));
                }
            }
            by_function.values_mut().for_each(|wires| wires.sort_unstable());
            by_function
        });
        let mut found = Vec::new();
        for (function, wires) in here.drain() {
            let Some(others) = there.get(&function) else { continue };
            for (place, &wire) in wires.iter().enumerate() {
                let other = if wires.len() == others.len() { others[place] } else { others[0] };
                found.push((wire.gate(), other.invert_if(wire.is_inverted())));
            }
        }
        found.sort_unstable();
        found
    }

    /// Finds the functions of a gate and of those below it.
    fn explore(&mut self, gate: u32, side: usize) {
        // An explicit stack: chains of gates are long.
        let mut stack = vec![(gate, false)];
        let mut opened: FxHashSet<u32> = FxHashSet::default();
        while let Some((gate, open)) = stack.pop() {
            if self.functions[side].contains_key(&gate) {
                continue;
            }
            if let Some(function) = self.variable(gate, side) {
                self.functions[side].insert(gate, function);
                continue;
            }
            let inputs = &self.logic.gates[gate as usize];
            if !open {
                if opened.insert(gate) {
                    stack.push((gate, true));
                    stack.extend(inputs.iter().map(|wire| (wire.gate(), false)));
                }
                continue;
            }
            let function = self.conjunction(inputs, side).filter(|_| !self.logic.paths.contains_key(&gate));
            self.functions[side].insert(gate, function);
        }
    }

    /// The function of a gate that is a variable or constant.
    fn variable(&mut self, gate: u32, side: usize) -> Option<Option<Diagram>> {
        if gate == 0 {
            return Some(Some(Diagram::FALSE));
        }
        let image = if side == 0 { self.images[gate as usize] } else { Some(Wire::of(gate)) };
        let image = image.filter(|image| self.is_image[image.gate() as usize])?;
        // A variable that only this side has comes last.
        let next = self.variables.len() as u32;
        let variable = *self.variables.entry(image.gate()).or_insert(next);
        if variable as usize >= MAX_VARIABLES {
            return Some(None);
        }
        Some(self.diagrams.variable(variable).map(|function| function.invert_if(image.is_inverted())))
    }

    /// A conjunction, unless it takes too many nodes. An input without a function yet is one that needs this gate.
    fn conjunction(&mut self, inputs: &[Wire], side: usize) -> Option<Diagram> {
        let mut function = Diagram::TRUE;
        self.diagrams.allow(NODES_PER_GATE);
        for input in inputs {
            let part = self.functions[side].get(&input.gate()).copied().flatten()?.invert_if(input.is_inverted());
            function = self.diagrams.and(function, part)?;
        }
        Some(function)
    }
}

/// Nodes of decision diagrams for one look at all gates.
const NODES_PER_SWEEP: usize = 500_000;
/// Nodes of decision diagrams that one gate may add. What needs more is left to structure.
const NODES_PER_GATE: usize = 5000;
