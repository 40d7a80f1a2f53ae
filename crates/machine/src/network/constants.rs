//! Fluents that never change and moves that are never legal, by induction over the states of play.
//!
//! Suppose that every fluent keeps its initial value. Evaluate the network with that supposition, everything else
//! unknown; drop the fluents whose next value is then not certain to be the same; repeat. What is left is constant.

use gdl::ground::GroundProgram;

use super::build::Circuit;
use super::{Gate, Wire};

/// What is known to be constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    pub(super) fluents: Vec<Option<bool>>,
    pub(super) dead_moves: Vec<bool>,
}

impl Constants {
    pub(super) fn none(ground: &GroundProgram) -> Constants {
        Constants { fluents: vec![None; ground.fluents.len()], dead_moves: vec![false; ground.moves.len()] }
    }
}

/// Finds all constants; `built_in` are those that the circuit has been built with.
pub(super) fn find_constants(ground: &GroundProgram, circuit: &Circuit, built_in: &Constants) -> Constants {
    let mut fluents: Vec<Option<bool>> = vec![Some(false); ground.fluents.len()];
    ground.initial.iter().for_each(|&fluent| fluents[fluent as usize] = Some(true));
    let mut dead_moves = vec![true; ground.moves.len()];
    let mut values: Vec<Option<bool>> = vec![None; circuit.gates.len()];
    loop {
        evaluate(circuit, &fluents, &dead_moves, &mut values);
        let value = |wire: Wire| values[wire.gate() as usize].map(|value| value != wire.is_inverted());
        let mut changed = false;
        for (fluent, constant) in fluents.iter_mut().enumerate() {
            let next = ground.next[fluent].map_or(Some(false), |atom| value(circuit.atoms[atom as usize]));
            if built_in.fluents[fluent].is_none() && constant.is_some() && next != *constant {
                *constant = None;
                changed = true;
            }
        }
        for (chosen, dead) in dead_moves.iter_mut().enumerate() {
            let legal = value(circuit.atoms[ground.legal[chosen] as usize]);
            if !built_in.dead_moves[chosen] && *dead && legal != Some(false) {
                *dead = false;
                changed = true;
            }
        }
        if !changed {
            return Constants { fluents, dead_moves };
        }
    }
}

fn evaluate(circuit: &Circuit, fluents: &[Option<bool>], dead_moves: &[bool], values: &mut [Option<bool>]) {
    for (number, gate) in circuit.gates.iter().enumerate() {
        values[number] = match gate {
            Gate::False => Some(false),
            Gate::Fluent(fluent) => fluents[*fluent as usize],
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
