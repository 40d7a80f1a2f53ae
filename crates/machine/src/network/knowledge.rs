//! What is true of every state of play, and so need not be computed: fluents that never change, moves that are never
//! legal, fluents that always equal another or its opposite, and what a move being legal says about the state.
//!
//! Everything here is proved by induction over the states of play, never merely observed: random play only proposes
//! which fluents might be equal.

use gdl::Stop;
use gdl::ground::GroundProgram;
use rustc_hash::FxHashMap;

use super::build::Circuit;
use super::{Gate, Network, Wire};
use crate::lanes::{self, LANES, Lanes};

/// A fluent or its opposite, by its number in the ground program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FluentLiteral {
    pub(super) fluent: u32,
    pub(super) inverted: bool,
}

/// What is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// The value of fluents that never change.
    pub(super) constants: Vec<Option<bool>>,
    /// Moves that are never legal.
    pub(super) dead_moves: Vec<bool>,
    /// What a fluent always equals.
    pub(super) equals: Vec<Option<FluentLiteral>>,
    /// What holds whenever a move is legal.
    pub(super) guards: Vec<Vec<FluentLiteral>>,
    /// For a move that is made whenever it is legal, since its role then has no other: what makes it legal.
    pub(super) forced: Vec<Option<FluentLiteral>>,
}

impl Knowledge {
    pub(super) fn none(ground: &GroundProgram) -> Knowledge {
        let (n_fluents, n_moves) = (ground.fluents.len(), ground.moves.len());
        Knowledge {
            constants: vec![None; n_fluents],
            dead_moves: vec![false; n_moves],
            equals: vec![None; n_fluents],
            guards: vec![Vec::new(); n_moves],
            forced: vec![None; n_moves],
        }
    }

    /// Finds constant fluents and dead moves. Suppose that every fluent keeps its initial value and no move is legal;
    /// evaluate with that supposition, loops unknown; a fluent whose next value is then not certain to be the same
    /// becomes unknown, and so does what depends on it. What is left is constant. `None` if it is stopped.
    pub(super) fn find_constants(&mut self, ground: &GroundProgram, circuit: &Circuit, stop: &Stop) -> Option<()> {
        // Step 1. Evaluate every gate. A conjunction is false while it has a false input, then unknown while it has an
        // unknown one. Inputs become unknown, never known again, so counting both is enough.
        let mut certain = Certain::new(ground, circuit);
        // Step 2. What the outputs of each gate decide.
        let mut outputs: Vec<(u32, Output)> = Vec::new();
        for (fluent, next) in ground.next.iter().enumerate() {
            let wire = next.map_or(Wire::FALSE, |atom| circuit.atoms[atom as usize]);
            outputs.push((wire.gate(), Output::Next(fluent as u32, wire)));
        }
        for (chosen, &atom) in ground.legal.iter().enumerate() {
            let wire = circuit.atoms[atom as usize];
            outputs.push((wire.gate(), Output::Legal(chosen as u32, wire)));
        }
        outputs.sort_unstable_by_key(|&(gate, _)| gate);
        // Step 3. Let go of what is not certain, until nothing changes.
        let first_move = 1 + ground.fluents.len() as u32;
        let mut lost: Vec<u32> = Vec::new();
        let look = |output: Output, certain: &Certain, lost: &mut Vec<u32>| {
            let (input, wire, expected) = match output {
                Output::Next(fluent, wire) => (1 + fluent, wire, certain.values[1 + fluent as usize]),
                Output::Legal(chosen, wire) => (first_move + chosen, wire, Some(false)),
            };
            if certain.values[input as usize].is_some() && certain.value(wire) != expected {
                lost.push(input);
            }
        };
        outputs.iter().for_each(|&(_, output)| look(output, &certain, &mut lost));
        let mut n_lost = 0u32;
        while let Some(gate) = lost.pop() {
            n_lost += 1;
            if n_lost.is_multiple_of(4096) && stop.is_raised() {
                return None;
            }
            for unknown in certain.lose(gate) {
                let from = outputs.partition_point(|&(other, _)| other < unknown);
                let decided = outputs[from..].iter().take_while(|&&(other, _)| other == unknown);
                decided.for_each(|&(_, output)| look(output, &certain, &mut lost));
            }
        }
        self.constants = certain.values[1..first_move as usize].to_vec();
        let moves = &certain.values[first_move as usize..][..ground.moves.len()];
        self.dead_moves = moves.iter().map(Option::is_some).collect();
        Some(())
    }

    /// Supposes that fluents which had equal or opposite values throughout some random play always have. Returns whether
    /// there is any such pair.
    pub(super) fn suppose_equalities(&mut self, ground: &GroundProgram, network: Network) -> bool {
        const N_STEPS: usize = 64;
        let fluents: Vec<u32> =
            (0..ground.fluents.len() as u32).filter(|&fluent| self.constants[fluent as usize].is_none()).collect();
        let mut lanes = Lanes::new(lanes::Compiled::new(network.into()));
        let (mut random, mut plies) = (lanes::random(1), [0; LANES]);
        // Each fluent's values, with the opposite taken if the first is true, are summed up in a hash.
        let mut hashes = vec![0u64; fluents.len()];
        let mut inverted = vec![false; fluents.len()];
        for step in 0..N_STEPS {
            for (index, hash) in hashes.iter_mut().enumerate() {
                let value = lanes.fluent(index as u32);
                if step == 0 {
                    inverted[index] = value.get(0);
                }
                let flip = if inverted[index] { !0 } else { 0 };
                for word in value.0 {
                    *hash = (*hash ^ (word ^ flip)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
                }
            }
            lanes.playouts(&mut random, &mut plies, 1000, 1);
        }
        let mut first: FxHashMap<u64, usize> = FxHashMap::default();
        let mut any = false;
        for (index, &fluent) in fluents.iter().enumerate() {
            let other = *first.entry(hashes[index]).or_insert(index);
            if other != index {
                let inverted = inverted[index] != inverted[other];
                self.equals[fluent as usize] = Some(FluentLiteral { fluent: fluents[other], inverted });
                any = true;
            }
        }
        any
    }

    /// Drops the equalities that do not follow for the next state, in a circuit that was built with all of them. Returns
    /// whether all of them did.
    pub(super) fn keep_proved_equalities(&mut self, ground: &GroundProgram, circuit: &Circuit) -> bool {
        let next = |fluent: u32| ground.next[fluent as usize].map_or(Wire::FALSE, |atom| circuit.atoms[atom as usize]);
        let mut all = true;
        for fluent in 0..self.equals.len() as u32 {
            if let Some(other) = self.equals[fluent as usize]
                && next(fluent) != next(other.fluent).invert_if(other.inverted)
            {
                self.equals[fluent as usize] = None;
                all = false;
            }
        }
        all
    }

    /// Reads off the gates of the legal moves what holds when they are legal.
    pub(super) fn find_guards(&mut self, ground: &GroundProgram, circuit: &Circuit) {
        let literal = |wire: Wire| match circuit.gates[wire.gate() as usize] {
            Gate::Fluent(fluent) => Some(FluentLiteral { fluent, inverted: wire.is_inverted() }),
            _ => None,
        };
        let legal = |chosen: usize| circuit.atoms[ground.legal[chosen] as usize];
        for chosen in 0..ground.moves.len() {
            let wire = legal(chosen);
            self.guards[chosen] = match &circuit.gates[wire.gate() as usize] {
                Gate::And(inputs) if !wire.is_inverted() => inputs.iter().filter_map(|&wire| literal(wire)).collect(),
                _ => literal(wire).into_iter().collect(),
            };
        }
        // How many moves of each role may ever be legal, and how many of them need a literal.
        let mut n_moves: FxHashMap<u32, usize> = FxHashMap::default();
        let mut n_guarded: FxHashMap<(u32, FluentLiteral), usize> = FxHashMap::default();
        for (chosen, &(role, _)) in ground.moves.iter().enumerate().filter(|(chosen, _)| !self.dead_moves[*chosen]) {
            *n_moves.entry(role).or_default() += 1;
            self.guards[chosen].iter().for_each(|&guard| *n_guarded.entry((role, guard)).or_default() += 1);
        }
        for (chosen, &(role, _)) in ground.moves.iter().enumerate() {
            let Some(condition) = literal(legal(chosen)) else { continue };
            let opposite = FluentLiteral { inverted: !condition.inverted, ..condition };
            let n_others = n_moves.get(&role).map_or(0, |n| n - usize::from(!self.dead_moves[chosen]));
            if n_guarded.get(&(role, opposite)).copied().unwrap_or(0) == n_others {
                self.forced[chosen] = Some(condition);
            }
        }
    }
}

/// What a gate decides.
#[derive(Clone, Copy)]
enum Output {
    Next(u32, Wire),
    Legal(u32, Wire),
}

/// The values of gates that are certain, while inputs become uncertain one by one.
struct Certain {
    values: Vec<Option<bool>>,
    /// How many inputs of a conjunction are certainly false.
    n_false: Vec<u32>,
    /// The conjunctions that read each gate, one after another, and where those of a gate begin.
    readers: Vec<Wire>,
    starts: Vec<u32>,
}

impl Certain {
    /// Every fluent as it is initially, no move made, loops uncertain.
    fn new(ground: &GroundProgram, circuit: &Circuit) -> Certain {
        let n = circuit.gates.len();
        let mut starts = vec![0u32; n + 1];
        circuit.gates.iter().flat_map(inputs).for_each(|wire| starts[wire.gate() as usize + 1] += 1);
        (0..n).for_each(|gate| starts[gate + 1] += starts[gate]);
        let (mut fill, mut readers) = (starts.clone(), vec![Wire::FALSE; starts[n] as usize]);
        for (number, gate) in circuit.gates.iter().enumerate() {
            for wire in inputs(gate) {
                let place = &mut fill[wire.gate() as usize];
                readers[*place as usize] = Wire::of(number as u32).invert_if(wire.is_inverted());
                *place += 1;
            }
        }
        let mut certain = Certain { values: vec![Some(false); n], n_false: vec![0; n], readers, starts };
        ground.initial.iter().for_each(|&fluent| certain.values[1 + fluent as usize] = Some(true));
        for (number, gate) in circuit.gates.iter().enumerate() {
            match gate {
                Gate::False | Gate::Fluent(_) | Gate::Move(_) => {}
                Gate::Loop(_) => certain.values[number] = None,
                Gate::And(inputs) => {
                    let values = inputs.iter().map(|&wire| certain.value(wire));
                    let n_unknown = values.clone().filter(Option::is_none).count();
                    let n_false = values.filter(|&value| value == Some(false)).count();
                    certain.n_false[number] = n_false as u32;
                    certain.values[number] = if n_false > 0 { Some(false) } else { (n_unknown == 0).then_some(true) };
                }
            }
        }
        certain
    }

    fn value(&self, wire: Wire) -> Option<bool> {
        self.values[wire.gate() as usize].map(|value| value != wire.is_inverted())
    }

    /// Makes a gate uncertain; returns all gates that become so by that.
    fn lose(&mut self, gate: u32) -> Vec<u32> {
        let (mut waiting, mut lost) = (vec![gate], Vec::new());
        while let Some(gate) = waiting.pop() {
            let Some(value) = self.values[gate as usize].take() else { continue };
            lost.push(gate);
            for place in self.starts[gate as usize]..self.starts[gate as usize + 1] {
                let reader = self.readers[place as usize];
                let number = reader.gate() as usize;
                if value == reader.is_inverted() {
                    self.n_false[number] -= 1;
                }
                if self.n_false[number] == 0 && self.values[number].is_some() {
                    waiting.push(reader.gate());
                }
            }
        }
        lost
    }
}

/// The inputs of a conjunction.
pub(super) fn inputs(gate: &Gate) -> &[Wire] {
    if let Gate::And(inputs) = gate { inputs } else { &[] }
}
