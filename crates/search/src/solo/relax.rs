//! What could come about if nothing that once held, or once did not hold, were ever lost.
//!
//! Each fluent becomes two: that it may hold, and that it may not hold. Both only grow, layer by layer, by all legal moves at
//! once; this is the relaxation by which planners measure distances (Bonet and Geffner 2001, *Planning as Heuristic Search*), with
//! fluents that must not hold treated like those that must. Where the best goal does not come about in the last layer, it can't be
//! reached; else the layers say how far away it is. The relaxed game is a network like any other and runs on the lane machine,
//! 512 states at once.

use std::sync::Arc;

use machine::lanes::{Adder, Compiled, LANES, Lanes, Vector};
use machine::network::{Gate, Network, Wire};

use super::expand::parts;

/// Measures states by the relaxed game.
pub(super) struct Relaxed {
    lanes: Lanes,
    adder: Adder,
}

/// How far away the best goal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Distance {
    /// The layers in which the parts of the goal come about, added up.
    pub(super) sum: u32,
    /// Whether the goal can't be reached.
    pub(super) dead: bool,
}

impl Relaxed {
    /// Prepares the relaxed game for the goals of the best value. Fluents outside of `lasting` may hold or not at any time.
    /// `None` if there is no such goal or the network is large.
    pub(super) fn new(network: &Network, best: i64, lasting: &[u64]) -> Option<Relaxed> {
        /// Inputs of all gates.
        const MAX_EDGES: usize = 200_000;
        let goals: Vec<Wire> =
            network.goals.iter().filter(|goal| goal.0 == 0 && goal.1 == best).map(|goal| goal.2).collect();
        if goals.is_empty() || network.n_edges() > MAX_EDGES {
            return None;
        }
        let n_words = network.fluents.len().div_ceil(64);
        let mut twins = Twins::new(network, n_words, lasting);
        twins.work_out(network);
        let goal_parts = match goals[..] {
            [goal] => parts(network, goal),
            _ => Vec::new(),
        };
        let holds: Vec<Wire> = goals.iter().map(|&goal| twins.may(goal)).collect();
        let any = twins.relaxed.any_of(&holds);
        let terminal = twins.may(network.terminal);
        let reached = twins.relaxed.all_of(&[any, terminal]);
        let mut formulas: Vec<Wire> = goal_parts.into_iter().map(|part| twins.may(part).inverted()).collect();
        formulas.push(reached.inverted());
        for fluent in 0..network.fluents.len() {
            let next = network.next[fluent];
            for (own, wire) in [(fluent, next), (64 * n_words + fluent, next.inverted())] {
                let may = twins.may(wire);
                twins.relaxed.next[own] = twins.relaxed.any_of(&[Wire::of(1 + own as u32), may]);
            }
        }
        let mut relaxed = twins.relaxed;
        relaxed.terminal = reached;
        relaxed.formulas = formulas;
        let terms = relaxed.formulas.iter().map(|&wire| (wire, 1)).collect();
        let compiled = Compiled::new(Arc::new(relaxed));
        Some(Relaxed { adder: Adder::new(&compiled, &[terms]), lanes: Lanes::new(compiled) })
    }

    /// How far away the goal is from at most 512 states.
    pub(super) fn distances(&mut self, states: &[&[u64]]) -> Vec<Distance> {
        /// Layers; what takes more counts as reached in the last one.
        const MAX_LAYERS: usize = 40;
        assert!(states.len() <= LANES, "there are as many lanes as states");
        let twins: Vec<Vec<u64>> = states
            .iter()
            .map(|state| state.iter().copied().chain(state.iter().map(|word| !word)).collect())
            .collect();
        let views: Vec<&[u64]> = twins.iter().map(Vec::as_slice).collect();
        self.lanes.load_all(&views);
        let mut distances = vec![Distance::default(); states.len()];
        let mut open = Vector::ZERO;
        (0..states.len()).for_each(|lane| open.set(lane, true));
        let mut sums = Vec::new();
        for _ in 0..MAX_LAYERS {
            self.lanes.evaluate();
            sums.clear();
            self.lanes.add_up(&self.adder, states.len(), &mut sums);
            open.lanes().for_each(|lane| distances[lane].sum += sums[lane]);
            open = open & !self.lanes.lanes_where(self.lanes.network().terminal);
            let next = self.lanes.peek().to_vec();
            let mut changed = Vector::ZERO;
            for (fluent, &next) in (0..).zip(&next) {
                changed = changed | (next & !self.lanes.fluent(fluent));
                self.lanes.set_fluent(fluent, next);
            }
            (open & !changed).lanes().for_each(|lane| distances[lane].dead = true);
            open = open & changed;
            if open.is_zero() {
                break;
            }
        }
        distances
    }
}

/// The relaxed network as it grows, with what stands in it for each gate.
struct Twins {
    relaxed: Network,
    /// For each gate of the game: that it may be true, and that it may be false.
    of: Vec<Option<[Wire; 2]>>,
}

impl Twins {
    /// Fluents come first: that each may hold, then from the next word on that each may not.
    fn new(network: &Network, n_words: usize, lasting: &[u64]) -> Twins {
        let n = 2 * 64 * n_words;
        let mut gates = vec![Gate::False];
        gates.extend((0..n as u32).map(Gate::Fluent));
        let mut of = vec![None; network.gates.len()];
        of[0] = Some([Wire::FALSE, Wire::TRUE]);
        for fluent in 0..network.fluents.len() {
            let lasts = lasting[fluent / 64] >> (fluent % 64) & 1 == 1;
            let twins = [Wire::of(1 + fluent as u32), Wire::of((1 + 64 * n_words + fluent) as u32)];
            of[1 + fluent] = Some(if lasts { twins } else { [Wire::TRUE; 2] });
        }
        let name = network.fluents.first().copied();
        let relaxed = Network {
            gates,
            blocks: Vec::new(),
            fluents: name.into_iter().cycle().take(n).collect(),
            constant_fluents: Vec::new(),
            equal_fluents: Vec::new(),
            initial: vec![false; n],
            next: vec![Wire::FALSE; n],
            roles: network.roles.clone(),
            moves: Vec::new(),
            moves_of: vec![0..0],
            legal: Vec::new(),
            goals: Vec::new(),
            terminal: Wire::FALSE,
            formulas: Vec::new(),
            views: Vec::new(),
            symbols: network.symbols.clone(),
            terms: network.terms.clone(),
        };
        Twins { relaxed, of }
    }

    /// Finds what stands for each gate: first without moves, then a move may be made where it may be legal, and may always be
    /// left.
    fn work_out(&mut self, network: &Network) {
        for with_moves in [false, true] {
            for (number, gate) in network.gates.iter().enumerate() {
                if self.of[number].is_some() {
                    continue;
                }
                self.of[number] = match gate {
                    Gate::Move(chosen) if with_moves => {
                        Some([self.may(network.legal[*chosen as usize]), Wire::TRUE])
                    }
                    // Over-estimated: nothing is lost but sharpness.
                    Gate::Loop(_) => Some([Wire::TRUE; 2]),
                    Gate::And(inputs) if inputs.iter().all(|wire| self.of[wire.gate() as usize].is_some()) => {
                        let hold: Vec<Wire> = inputs.iter().map(|&wire| self.may(wire)).collect();
                        let fail: Vec<Wire> = inputs.iter().map(|&wire| self.may(wire.inverted())).collect();
                        Some([self.relaxed.all_of(&hold), self.relaxed.any_of(&fail)])
                    }
                    _ => None,
                };
            }
        }
    }

    /// That a wire of the game may be true.
    fn may(&self, wire: Wire) -> Wire {
        self.of[wire.gate() as usize].expect("gates come after their inputs")[usize::from(wire.is_inverted())]
    }
}
