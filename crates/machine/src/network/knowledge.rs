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

    /// Finds constant fluents and dead moves, given a circuit that was built with what is known already. Suppose that
    /// every fluent keeps its initial value; evaluate with that supposition, everything else unknown; drop the fluents
    /// whose next value is then not certain to be the same; repeat. What is left is constant. `None` if it is stopped.
    pub(super) fn find_constants(&mut self, ground: &GroundProgram, circuit: &Circuit, stop: &Stop) -> Option<()> {
        let mut constants: Vec<Option<bool>> = vec![Some(false); ground.fluents.len()];
        ground.initial.iter().for_each(|&fluent| constants[fluent as usize] = Some(true));
        let mut dead_moves = vec![true; ground.moves.len()];
        // What is known becomes unknown from round to round, never the other way, so what is unknown is not looked at again.
        let mut values: Vec<Option<bool>> = vec![Some(false); circuit.gates.len()];
        loop {
            if stop.is_raised() {
                return None;
            }
            evaluate(circuit, &constants, &dead_moves, &mut values);
            let value = |wire: Wire| values[wire.gate() as usize].map(|value| value != wire.is_inverted());
            let mut changed = false;
            for (fluent, constant) in constants.iter_mut().enumerate() {
                let next = ground.next[fluent].map_or(Some(false), |atom| value(circuit.atoms[atom as usize]));
                if self.constants[fluent].is_none() && constant.is_some() && next != *constant {
                    *constant = None;
                    changed = true;
                }
            }
            for (chosen, dead) in dead_moves.iter_mut().enumerate() {
                let legal = value(circuit.atoms[ground.legal[chosen] as usize]);
                if !self.dead_moves[chosen] && *dead && legal != Some(false) {
                    *dead = false;
                    changed = true;
                }
            }
            if !changed {
                (self.constants, self.dead_moves) = (constants, dead_moves);
                return Some(());
            }
        }
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
        for chosen in 0..ground.moves.len() {
            let Some(condition) = literal(legal(chosen)) else { continue };
            let opposite = FluentLiteral { inverted: !condition.inverted, ..condition };
            let mut others = (0..ground.moves.len())
                .filter(|&other| other != chosen && ground.moves[other].0 == ground.moves[chosen].0)
                .filter(|&other| !self.dead_moves[other]);
            if others.all(|other| self.guards[other].contains(&opposite)) {
                self.forced[chosen] = Some(condition);
            }
        }
    }
}

fn evaluate(circuit: &Circuit, constants: &[Option<bool>], dead_moves: &[bool], values: &mut [Option<bool>]) {
    for (number, gate) in circuit.gates.iter().enumerate() {
        if values[number].is_none() {
            continue;
        }
        values[number] = match gate {
            Gate::False => Some(false),
            Gate::Fluent(fluent) => constants[*fluent as usize],
            Gate::Move(chosen) => dead_moves[*chosen as usize].then_some(false),
            Gate::Loop(_) => None,
            Gate::And(inputs) => {
                let mut all = Some(true);
                for wire in inputs {
                    match values[wire.gate() as usize].map(|value| value != wire.is_inverted()) {
                        Some(true) => {}
                        Some(false) => {
                            all = Some(false);
                            break;
                        }
                        None => all = None,
                    }
                }
                all
            }
        };
    }
}
