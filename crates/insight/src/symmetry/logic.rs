//! The logic of a ground program in a form that shows little of how the rules were written.
//!
//! Atoms and rule instances become conjunctions with inverted edges, as in [`machine::network`]; a disjunction is a
//! conjunction with everything inverted. What never changes is put in; conjunctions with one input vanish; one that only
//! another conjunction uses becomes part of it; and those that mean the same by their structure become one. Where
//! conjunctions depend on themselves (the least solution is meant), they are one if no number of steps down tells them
//! apart: such atoms hold at the same stage of every derivation.
//!
//! Everything done here is done alike to whatever looks alike, so that no symmetry is lost. That is why the networks that
//! machines evaluate don't serve: they are factored, and ties are broken by number.

use std::ops::Range;

use gdl::ground::{GroundLiteral, GroundProgram, Signal};
use gdl::{Stop, TermId};
use machine::network::{Network, Wire};
use rustc_hash::{FxHashMap, FxHashSet};

use super::path::Path;

/// What is taken as known of the states of play.
pub(super) struct Known {
    /// The value of each fluent that never changes.
    pub(super) constants: Vec<Option<bool>>,
    /// Which moves may ever be legal.
    pub(super) live: Vec<bool>,
}

impl Known {
    /// What a network leaves out; nothing without a network.
    pub(super) fn new(ground: &GroundProgram, network: Option<&Network>) -> Known {
        let (n_fluents, n_moves) = (ground.fluents.len(), ground.moves.len());
        let mut known = Known { constants: vec![None; n_fluents], live: vec![true; n_moves] };
        let Some(network) = network else { return known };
        let equal = network.equal_fluents.iter().map(|(term, ..)| term);
        let changing: FxHashSet<&TermId> = network.fluents.iter().chain(equal).collect();
        let always: FxHashSet<&TermId> = network.constant_fluents.iter().collect();
        let constant = |fluent| (!changing.contains(fluent)).then(|| always.contains(fluent));
        known.constants = ground.fluents.iter().map(constant).collect();
        let mut live: FxHashSet<(u32, TermId)> = FxHashSet::default();
        for (role, range) in network.moves_of.iter().enumerate() {
            live.extend(range.clone().map(|chosen| (role as u32, network.moves[chosen as usize])));
        }
        known.live = ground.moves.iter().map(|chosen| live.contains(chosen)).collect();
        known
    }
}

impl Known {
    /// Lets a permutation leave alone what never changes; `false` if it takes such a thing to one that does.
    pub(super) fn pin(&self, points: &mut [u32]) -> bool {
        let n_fluents = self.constants.len();
        let never = |point: usize| match point.checked_sub(n_fluents) {
            None => self.constants[point].is_some(),
            Some(chosen) => self.live.get(chosen) == Some(&false),
        };
        if !points.iter().enumerate().all(|(point, &to)| never(point) == never(to as usize)) {
            return false;
        }
        (0..points.len()).filter(|&point| never(point)).for_each(|point| points[point] = point as u32);
        true
    }
}

/// Which outputs are looked at, besides legal moves and next fluents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outputs {
    pub(super) terminal: bool,
    pub(super) goals: bool,
}

impl Outputs {
    pub(super) const ALL: Outputs = Outputs { terminal: true, goals: true };
}

/// The conjunctions of a ground program. Gate 0 is false, then come the fluents and the moves, by their numbers in the
/// ground program; others are conjunctions.
pub(super) struct Logic {
    pub(super) n_fluents: usize,
    pub(super) n_moves: usize,
    /// The inputs of each gate, ascending; none for inputs of the network.
    pub(super) gates: Vec<Vec<Wire>>,
    /// What makes each fluent hold next.
    pub(super) next: Vec<Wire>,
    /// What makes each move legal.
    pub(super) legal: Vec<Wire>,
    /// What makes each goal hold: role, value, wire.
    pub(super) goals: Vec<(u32, i64, Wire)>,
    /// What ends the game.
    pub(super) terminal: Wire,
    /// The gates that stand for the opposites of atoms; others stand for bodies of rules.
    pub(super) atoms: Range<usize>,
    /// The gates that say that a way leads from one place to another, which are no conjunctions: their inputs are all
    /// conditions on the way.
    pub(super) paths: FxHashMap<u32, Path>,
}

impl Logic {
    /// The logic of the outputs that can change; `None` if stopped.
    pub(super) fn new(ground: &GroundProgram, known: &Known, stop: &Stop) -> Option<Logic> {
        let (n_fluents, n_moves) = (ground.fluents.len(), ground.moves.len());
        let first_atom = 1 + n_fluents + n_moves;
        let first_instance = first_atom + ground.atoms.len();
        // An atom holds unless none of its instances does: it is the opposite of its gate.
        let atom = |atom: u32| Wire::of((first_atom as u32) + atom).inverted();
        let wire = |literal: &GroundLiteral| {
            let wire = match literal.signal {
                Signal::Fluent(fluent) => match known.constants[fluent as usize] {
                    Some(value) => Wire::FALSE.invert_if(value),
                    None => Wire::of(1 + fluent),
                },
                Signal::Move(chosen) if known.live[chosen as usize] => Wire::of((1 + n_fluents) as u32 + chosen),
                Signal::Move(_) => Wire::FALSE,
                Signal::Atom(number) => atom(number),
            };
            wire.invert_if(literal.negated)
        };
        let mut gates = vec![Vec::new(); first_instance];
        for number in 0..ground.atoms.len() as u32 {
            for instance in ground.instances(number) {
                let inputs = instance.iter().map(wire).collect();
                let gate = gates.len() as u32;
                gates[first_atom + number as usize].push(Wire::of(gate).inverted());
                gates.push(inputs);
            }
        }
        let value = |term| ground.terms.display(&ground.symbols, term).to_string().parse().ok();
        let next = |fluent: usize| match known.constants[fluent] {
            Some(_) => Wire::FALSE,
            None => ground.next[fluent].map_or(Wire::FALSE, atom),
        };
        let legal = |chosen: usize| if known.live[chosen] { atom(ground.legal[chosen]) } else { Wire::FALSE };
        let goals = ground.goals.iter().filter_map(|&(role, goal, number)| Some((role, value(goal)?, atom(number))));
        let mut logic = Logic {
            n_fluents,
            n_moves,
            gates,
            next: (0..n_fluents).map(next).collect(),
            legal: (0..n_moves).map(legal).collect(),
            goals: goals.collect(),
            terminal: ground.terminal.map_or(Wire::FALSE, atom),
            atoms: first_atom..first_instance,
            paths: FxHashMap::default(),
        };
        while logic.merge(stop) | logic.flatten() {
            if stop.is_raised() {
                return None;
            }
        }
        (!stop.is_raised()).then_some(logic)
    }

    /// Whether a wire asks for what its gate stands for, an atom or the body of a rule, and not for the opposite.
    pub(super) fn asks_for(&self, wire: Wire) -> bool {
        wire.is_inverted() == self.atoms.contains(&(wire.gate() as usize))
    }

    /// The first gate that is a conjunction.
    pub(super) fn first_inner(&self) -> usize {
        1 + self.n_fluents + self.n_moves
    }

    /// Every output wire.
    pub(super) fn outputs(&self, which: Outputs) -> impl Iterator<Item = Wire> + '_ {
        let goals = self.goals.iter().map(|&(_, _, wire)| wire).filter(move |_| which.goals);
        self.next.iter().chain(&self.legal).copied().chain(goals).chain(which.terminal.then_some(self.terminal))
    }

    pub(super) fn replace_outputs(&mut self, mut by: impl FnMut(Wire) -> Wire) {
        let goals = self.goals.iter_mut().map(|(_, _, wire)| wire);
        for wire in self.next.iter_mut().chain(&mut self.legal).chain(goals).chain([&mut self.terminal]) {
            *wire = by(*wire);
        }
    }

    /// Which gates the outputs depend on.
    pub(super) fn needed(&self, which: Outputs) -> Vec<bool> {
        let mut needed = vec![false; self.gates.len()];
        let mut stack: Vec<u32> = self.outputs(which).map(Wire::gate).collect();
        while let Some(gate) = stack.pop() {
            if !std::mem::replace(&mut needed[gate as usize], true) {
                stack.extend(self.gates[gate as usize].iter().map(|wire| wire.gate()));
            }
        }
        needed
    }

    /// The groups of gates that depend on each other, each after all that it depends on, and whether it is a cycle.
    pub(super) fn components(&self) -> Vec<(Vec<usize>, bool)> {
        let inputs = |inputs: &Vec<Wire>| inputs.iter().map(|wire| wire.gate() as usize).collect();
        let successors: Vec<Vec<usize>> = self.gates.iter().map(inputs).collect();
        let components = gdl::strongly_connected_components(&successors).into_iter();
        let is_cycle = |members: &Vec<usize>| members.len() > 1 || successors[members[0]].contains(&members[0]);
        components.map(|members| (is_cycle(&members), members)).map(|(cycle, members)| (members, cycle)).collect()
    }

    /// Makes gates that mean the same by their structure one, and drops what is constant. Returns whether that changed
    /// anything. Stopped, it is left half done.
    fn merge(&mut self, stop: &Stop) -> bool {
        let needed = self.needed(Outputs::ALL);
        // What each gate is replaced by.
        let mut by: Vec<Wire> = (0..self.gates.len() as u32).map(Wire::of).collect();
        let mut known: FxHashMap<Vec<Wire>, u32> = FxHashMap::default();
        let mut changed = false;
        for (members, is_cycle) in self.components() {
            if members[0] < self.first_inner() || !needed[members[0]] {
                continue;
            }
            if is_cycle {
                self.settle(&members, &mut by, stop);
                self.merge_cycle(&members, &mut by, stop);
            } else {
                let gate = members[0];
                by[gate] = match self.reduce(gate, &by) {
                    Some(wire) => wire,
                    None => Wire::of(*known.entry(self.gates[gate].clone()).or_insert(gate as u32)),
                };
            }
            changed |= members.iter().any(|&gate| by[gate] != Wire::of(gate as u32));
        }
        self.replace_outputs(|wire| by[wire.gate() as usize].invert_if(wire.is_inverted()));
        changed
    }

    /// Replaces the inputs of a gate by what they have been found to be; returns the wire that the gate is if that is a
    /// constant or another's output.
    fn reduce(&mut self, gate: usize, by: &[Wire]) -> Option<Wire> {
        let inputs = &mut self.gates[gate];
        inputs.iter_mut().for_each(|wire| *wire = by[wire.gate() as usize].invert_if(wire.is_inverted()));
        inputs.retain(|&wire| wire != Wire::TRUE);
        inputs.sort_unstable();
        inputs.dedup();
        let contradicts = |pair: &[Wire]| pair[0].gate() == pair[1].gate();
        if inputs.first() == Some(&Wire::FALSE) || inputs.windows(2).any(contradicts) {
            return Some(Wire::FALSE);
        }
        match inputs[..] {
            [] => Some(Wire::TRUE),
            [wire] => Some(wire),
            _ => None,
        }
    }

    /// Reduces the gates of a cycle until nothing changes.
    fn settle(&mut self, members: &[usize], by: &mut [Wire], stop: &Stop) {
        loop {
            let mut changed = false;
            for &gate in members {
                if stop.is_raised() {
                    return;
                }
                if by[gate] != Wire::of(gate as u32) {
                    continue;
                }
                let mut reduced = self.reduce(gate, by);
                if self.gates[gate].contains(&Wire::of(gate as u32)) {
                    // A body that needs itself never holds; an atom that has itself among its alternatives does not need
                    // that one.
                    let itself = if self.atoms.contains(&gate) { Wire::TRUE } else { Wire::FALSE };
                    let own = |wire: &mut Wire| {
                        if wire.gate() as usize == gate {
                            *wire = itself;
                        }
                    };
                    self.gates[gate].iter_mut().for_each(own);
                    reduced = self.reduce(gate, by);
                }
                let Some(wire) = reduced else { continue };
                by[gate] = wire;
                for &other in members.iter().filter(|&&other| other != gate) {
                    if by[other].gate() as usize == gate {
                        by[other] = wire.invert_if(by[other].is_inverted());
                    }
                }
                changed = true;
            }
            if !changed {
                return;
            }
        }
    }

    /// Finds the gates of a cycle that nothing tells apart: all are taken as one class, which is split by what the inputs
    /// are until it no longer is.
    fn merge_cycle(&mut self, members: &[usize], by: &mut [Wire], stop: &Stop) {
        let members: Vec<usize> = members.iter().copied().filter(|&gate| by[gate] == Wire::of(gate as u32)).collect();
        let mut class: FxHashMap<u32, u32> = members.iter().map(|&gate| (gate as u32, 0)).collect();
        let mut n_classes = 1;
        loop {
            if stop.is_raised() {
                return;
            }
            let mut known: FxHashMap<(u32, Vec<(bool, u32)>), u32> = FxHashMap::default();
            let mut finer = Vec::with_capacity(members.len());
            for &gate in &members {
                let mut inputs: Vec<(bool, u32)> = self.gates[gate]
                    .iter()
                    .map(|wire| match class.get(&wire.gate()) {
                        Some(class) => (true, class << 1 | u32::from(wire.is_inverted())),
                        None => (false, wire.0),
                    })
                    .collect();
                inputs.sort_unstable();
                inputs.dedup();
                let next = known.len() as u32;
                finer.push(*known.entry((class[&(gate as u32)], inputs)).or_insert(next));
            }
            let n_finer = known.len();
            members.iter().zip(finer).for_each(|(&gate, finer)| _ = class.insert(gate as u32, finer));
            if n_finer == n_classes {
                break;
            }
            n_classes = n_finer;
        }
        let mut first = vec![None; n_classes];
        for &gate in &members {
            let class = class[&(gate as u32)] as usize;
            by[gate] = Wire::of(*first[class].get_or_insert(gate as u32));
        }
        for &gate in &members {
            // Cycles are reduced once more in the next round, if anything became one.
            self.gates[gate].iter_mut().for_each(|wire| *wire = by[wire.gate() as usize].invert_if(wire.is_inverted()));
            self.gates[gate].sort_unstable();
            self.gates[gate].dedup();
        }
    }

    /// Makes a conjunction that only one other conjunction uses part of that one. Returns whether there was any.
    fn flatten(&mut self) -> bool {
        let needed = self.needed(Outputs::ALL);
        let mut n_users = vec![0u32; self.gates.len()];
        self.outputs(Outputs::ALL).for_each(|wire| n_users[wire.gate() as usize] += 1);
        for gate in (0..self.gates.len()).filter(|&gate| needed[gate]) {
            self.gates[gate].iter().for_each(|wire| n_users[wire.gate() as usize] += 1);
        }
        let mut changed = false;
        let first_inner = self.first_inner();
        for gate in (first_inner..self.gates.len()).filter(|&gate| needed[gate]) {
            let mut at = 0;
            while let Some(&wire) = self.gates[gate].get(at) {
                let inner = wire.gate() as usize;
                if wire.is_inverted() || inner < first_inner || inner == gate || n_users[inner] != 1 {
                    at += 1;
                    continue;
                }
                let inputs = std::mem::take(&mut self.gates[inner]);
                self.gates[gate].swap_remove(at);
                self.gates[gate].extend(inputs);
                changed = true;
            }
        }
        changed
    }
}
