//! From a network to straight runs of two-input gates.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::simd::{Op, Program};
use crate::network::{Gate, Network, Wire, cone};

/// A part of an evaluation.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Gates, one after another.
    Straight(Program),
    /// Gates that are evaluated until the loops agree with their wires.
    Block { program: Program, loops: Vec<(u32, u32)> },
}

/// Gates that are evaluated together.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    pub(super) parts: Vec<Part>,
}

/// A network prepared for bit-parallel evaluation; shared between threads. Wires are given by slot here.
pub struct Compiled {
    pub(super) network: Arc<Network>,
    pub(super) n_slots: usize,
    /// What legality and the end of the game need.
    pub(super) state: Segment,
    /// What only goals need.
    pub(super) goal: Segment,
    /// What the next state needs besides.
    pub(super) step: Segment,
    pub(super) legal: Vec<u32>,
    pub(super) next: Vec<u32>,
    pub(super) goals: Vec<u32>,
    pub(super) terminal: u32,
    pub(super) first_move: u32,
    /// The wire of each gate.
    wires: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    State,
    Goal,
    Step,
}

impl Compiled {
    /// Prepares a network.
    pub fn new(network: Arc<Network>) -> Arc<Compiled> {
        let phases = phases(&network);
        let first_inner = 1 + network.fluents.len() + network.moves.len();
        let mut compiler = Compiler {
            wires: vec![0; network.gates.len()],
            n_slots: first_inner as u32,
            segments: [(); 3].map(|()| Vec::new()),
            open: [(); 3].map(|()| Vec::new()),
            known: [(); 3].map(|()| FxHashMap::default()),
        };
        (0..first_inner).for_each(|gate| compiler.wires[gate] = (gate as u32) << 1);
        let mut number = first_inner;
        let mut blocks = network.blocks.iter().peekable();
        while number < network.gates.len() {
            let Some(block) = blocks.next_if(|block| block.gates.start as usize == number) else {
                compiler.gate(&network, number, phases[number]);
                number += 1;
                continue;
            };
            let phase = phases[number];
            compiler.close(phase);
            for gate in block.gates.clone() {
                if let Gate::Loop(_) = network.gates[gate as usize] {
                    compiler.wires[gate as usize] = compiler.n_slots << 1;
                    compiler.n_slots += 1;
                } else {
                    compiler.gate(&network, gate as usize, phase);
                }
            }
            let loops =
                block.loops.iter().map(|&(gate, wire)| (compiler.wires[gate as usize] >> 1, compiler.wire(wire)));
            let loops = loops.collect();
            let ops = std::mem::take(&mut compiler.open[phase as usize]);
            compiler.segments[phase as usize].push((ops, Some(loops)));
            // Gates of a block that look like later ones must not stand for them: they belong to the block.
            compiler.known[phase as usize].clear();
            number = block.gates.end as usize;
        }
        for phase in [Phase::State, Phase::Goal, Phase::Step] {
            compiler.close(phase);
        }
        let n_slots = compiler.n_slots as usize;
        let [state, goal, step] = std::mem::take(&mut compiler.segments).map(|parts| Segment {
            parts: parts
                .into_iter()
                .map(|(ops, loops)| {
                    let program = Program::new(ops, n_slots);
                    match loops {
                        None => Part::Straight(program),
                        Some(loops) => Part::Block { program, loops },
                    }
                })
                .collect(),
        });
        let wires = |wires: &[Wire]| wires.iter().map(|&wire| compiler.wire(wire)).collect();
        Arc::new(Compiled {
            legal: wires(&network.legal),
            next: wires(&network.next),
            goals: network.goals.iter().map(|&(_, _, wire)| compiler.wire(wire)).collect(),
            terminal: compiler.wire(network.terminal),
            first_move: 1 + network.fluents.len() as u32,
            wires: compiler.wires.clone(),
            n_slots,
            state,
            goal,
            step,
            network,
        })
    }

    /// The slot of a move.
    pub(super) fn move_slot(&self, chosen: u32) -> usize {
        (self.first_move + chosen) as usize
    }

    /// Where the value of a wire of the network is found.
    pub(super) fn wire(&self, wire: Wire) -> u32 {
        self.wires[wire.gate() as usize] ^ u32::from(wire.is_inverted())
    }

    /// How many two-input gates are evaluated: for legality and the end, for goals, for the next state.
    pub fn n_ops(&self) -> [usize; 3] {
        let count = |segment: &Segment| {
            let parts = segment.parts.iter();
            parts
                .map(|part| match part {
                    Part::Straight(program) | Part::Block { program, .. } => program.len(),
                })
                .sum()
        };
        [count(&self.state), count(&self.goal), count(&self.step)]
    }
}

/// When each gate is needed.
fn phases(network: &Network) -> Vec<Phase> {
    let cone = |outputs: &mut dyn Iterator<Item = Wire>| cone(&network.gates, &network.blocks, outputs);
    let state = cone(&mut network.legal.iter().chain(&network.formulas).copied().chain([network.terminal]));
    let goal = cone(&mut network.goals.iter().map(|&(_, _, wire)| wire));
    let step = cone(&mut network.next.iter().copied());
    let phase = |gate: usize| match (state[gate], goal[gate], step[gate]) {
        (true, ..) => Phase::State,
        // Goals are evaluated now and then only, so what the next state needs, too, is not left to them.
        (false, true, true) => Phase::State,
        (false, true, false) => Phase::Goal,
        (false, false, _) => Phase::Step,
    };
    (0..network.gates.len()).map(phase).collect()
}

type Ops = Vec<Op>;
/// Operations, with the loops of the block that they make up, if they do.
type OpenPart = (Ops, Option<Vec<(u32, u32)>>);

struct Compiler {
    wires: Vec<u32>,
    n_slots: u32,
    segments: [Vec<OpenPart>; 3],
    open: [Ops; 3],
    /// The slots of pairs that have been joined, for each phase.
    known: [FxHashMap<(u32, u32), u32>; 3],
}

impl Compiler {
    fn wire(&self, wire: Wire) -> u32 {
        self.wires[wire.gate() as usize] ^ u32::from(wire.is_inverted())
    }

    fn gate(&mut self, network: &Network, number: usize, phase: Phase) {
        let Gate::And(inputs) = &network.gates[number] else { return };
        // Inputs in ascending order: what gates have in common is at the front, and shared.
        let mut inputs: Vec<u32> = inputs.iter().map(|&wire| self.wire(wire)).collect();
        inputs.sort_unstable();
        let mut wire = inputs[0];
        for &input in &inputs[1..] {
            wire = self.and(wire, input, phase);
        }
        self.wires[number] = wire;
    }

    fn and(&mut self, a: u32, b: u32, phase: Phase) -> u32 {
        let pair = (a.min(b), a.max(b));
        // What the state phase has computed is there in the others, too.
        if let Some(&slot) =
            self.known[Phase::State as usize].get(&pair).or_else(|| self.known[phase as usize].get(&pair))
        {
            return slot << 1;
        }
        let slot = self.n_slots;
        self.n_slots += 1;
        self.known[phase as usize].insert(pair, slot);
        self.open[phase as usize].push(Op { a: pair.0, b: pair.1, to: slot });
        slot << 1
    }

    fn close(&mut self, phase: Phase) {
        let ops = std::mem::take(&mut self.open[phase as usize]);
        if !ops.is_empty() {
            self.segments[phase as usize].push((ops, None));
        }
    }
}
