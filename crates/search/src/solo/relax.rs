//! How far away the best goal is in the relaxed game ([`machine::relax`]), where all legal moves are made at once and nothing is
//! ever lost.
//!
//! Where the best goal does not come about in the last layer, it can't be reached; else the layers say how far away it is. What
//! follows is worked out move by move, so that what needs two different moves at once does not count.

use std::sync::Arc;

use machine::lanes::{Adder, Compiled, LANES, Lanes, Vector};
use machine::network::{Gate, Network, Wire};
use machine::relax::{Builder, Twin, flip};
use rustc_hash::FxHashMap;

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
        /// Inputs of all gates. Beyond, a state would take longer to measure than many others to look at.
        const MAX_EDGES: usize = 40_000;
        /// Pairs of a fluent and a move: each is looked at.
        const MAX_PAIRS: usize = 20_000_000;
        let goals: Vec<Wire> =
            network.goals.iter().filter(|goal| goal.0 == 0 && goal.1 == best).map(|goal| goal.2).collect();
        let pairs = network.fluents.len().saturating_mul(network.moves.len());
        if goals.is_empty() || network.n_edges() > MAX_EDGES || pairs > MAX_PAIRS {
            return None;
        }
        let n_words = network.fluents.len().div_ceil(64);
        let mut twins = Twins::new(network, n_words);
        twins.work_out(network, n_words, lasting)?;
        let goal_parts = match goals[..] {
            [goal] => network.parts(goal),
            _ => Vec::new(),
        };
        let holds: Vec<Wire> = goals.iter().map(|&goal| twins.may(goal)).collect();
        let any = twins.relaxed.any_of(holds);
        let terminal = twins.may(network.terminal);
        let reached = twins.relaxed.all_of(vec![any, terminal]);
        let mut formulas: Vec<Wire> = goal_parts.into_iter().map(|part| twins.may(part).inverted()).collect();
        formulas.push(reached.inverted());
        for fluent in 0..network.fluents.len() {
            let next = network.next[fluent];
            for (own, wire) in [(fluent, next), (64 * n_words + fluent, next.inverted())] {
                let may = twins.may_by_moves(network, wire);
                let held = twins.relaxed.fluent(own);
                let next = twins.relaxed.any_of([held, may]);
                twins.relaxed.set_next(own, next);
            }
        }
        let (relaxed, _) = twins.relaxed.finish(reached, formulas, 2 * 64 * n_words);
        let terms = relaxed.formulas.iter().map(|&wire| (wire, 1)).collect();
        let compiled = Compiled::new(Arc::new(relaxed));
        Some(Relaxed { adder: Adder::new(&compiled, &[terms]), lanes: Lanes::new(compiled) })
    }

    /// How far away the goal is from at most 512 states.
    pub(super) fn distances(&mut self, states: &[&[u64]]) -> Vec<Distance> {
        /// Layers; what takes more counts as reached in the last one.
        const MAX_LAYERS: usize = 40;
        assert!(states.len() <= LANES, "there are as many lanes as states");
        let twins: Vec<Vec<u64>> =
            states.iter().map(|state| state.iter().copied().chain(state.iter().map(|word| !word)).collect()).collect();
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
            let changed = self.lanes.grow();
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
    relaxed: Builder,
    /// For each gate of the game.
    of: Vec<Cases>,
}

/// What stands for a gate, by the move that is made.
#[derive(Clone, Debug)]
struct Cases {
    /// For most moves.
    usual: Twin,
    /// For some moves, ascending.
    at: Vec<(u32, Twin)>,
}

impl Cases {
    fn get(&self, chosen: u32) -> Twin {
        self.at.binary_search_by_key(&chosen, |case| case.0).map_or(self.usual, |place| self.at[place].1)
    }
}

impl Twins {
    /// Fluents come first: that each may hold, then from the next word on that each may not.
    fn new(network: &Network, n_words: usize) -> Twins {
        Twins { relaxed: Builder::new(network, 2 * 64 * n_words), of: Vec::with_capacity(network.gates.len()) }
    }

    /// Finds what stands for each gate; `None` if that is too much.
    fn work_out(&mut self, network: &Network, n_words: usize, lasting: &[u64]) -> Option<()> {
        /// Cases of all gates.
        const MAX_CASES: usize = 1_000_000;
        let mut n_cases = 0;
        for gate in &network.gates {
            let cases = match gate {
                Gate::False => Cases { usual: [Wire::FALSE, Wire::TRUE], at: Vec::new() },
                &Gate::Fluent(fluent) => {
                    let lasts = lasting[fluent as usize / 64] >> (fluent % 64) & 1 == 1;
                    let twin = [Wire::of(1 + fluent), Wire::of(1 + 64 * n_words as u32 + fluent)];
                    Cases { usual: if lasts { twin } else { [Wire::TRUE; 2] }, at: Vec::new() }
                }
                &Gate::Move(chosen) => {
                    Cases { usual: [Wire::FALSE, Wire::TRUE], at: vec![(chosen, [Wire::TRUE, Wire::FALSE])] }
                }
                // Over-estimated: nothing is lost but sharpness.
                Gate::Loop(_) => Cases { usual: [Wire::TRUE; 2], at: Vec::new() },
                Gate::And(inputs) => self.all(inputs, network.moves.len()),
            };
            n_cases += cases.at.len();
            if n_cases > MAX_CASES {
                return None;
            }
            self.of.push(cases);
        }
        Some(())
    }

    /// What stands for a conjunction.
    fn all(&mut self, inputs: &[Wire], n_moves: usize) -> Cases {
        // Step 1. The moves that matter, and for each the inputs for which it does.
        let mut at: Vec<(u32, Wire)> = Vec::new();
        for &wire in inputs {
            at.extend(self.of[wire.gate() as usize].at.iter().map(|case| (case.0, wire)));
        }
        at.sort_unstable();
        let usual_of = |twins: &Twins, wire: Wire| flip(twins.of[wire.gate() as usize].usual, wire);
        let mut usual: Vec<(Wire, Twin)> = inputs.iter().map(|&wire| (wire, usual_of(self, wire))).collect();
        // What always holds says nothing.
        usual.retain(|(_, twin)| *twin != [Wire::TRUE, Wire::FALSE]);
        // Step 2. Each case.
        let mut cases = Cases {
            usual: self.relaxed.join(&usual.iter().map(|&(_, twin)| twin).collect::<Vec<_>>()),
            at: Vec::new(),
        };
        for some in at.chunk_by(|one, other| one.0 == other.0) {
            let chosen = some[0].0;
            let matters = |wire: Wire| some.binary_search(&(chosen, wire)).is_ok();
            let rest = usual.iter().filter(|(wire, _)| !matters(*wire)).map(|&(_, twin)| twin);
            let own = some.iter().map(|&(_, wire)| flip(self.of[wire.gate() as usize].get(chosen), wire));
            let twins: Vec<Twin> = own.chain(rest).collect();
            cases.at.push((chosen, self.relaxed.join(&twins)));
        }
        // Step 3. The most frequent case is the usual one.
        let mut counts: FxHashMap<Twin, usize> = FxHashMap::default();
        cases.at.iter().for_each(|case| *counts.entry(case.1).or_default() += 1);
        *counts.entry(cases.usual).or_default() += n_moves - cases.at.len();
        let (_, most) = counts.into_iter().map(|(twin, count)| (count, twin)).max().expect("there is a usual case");
        if most != cases.usual {
            let all = (0..n_moves as u32).map(|chosen| (chosen, cases.get(chosen))).collect();
            cases = Cases { usual: most, at: all };
        }
        cases.at.retain(|case| case.1 != most);
        cases
    }

    /// That a wire that depends on no move may be true.
    fn may(&self, wire: Wire) -> Wire {
        flip(self.of[wire.gate() as usize].usual, wire)[0]
    }

    /// That a wire may be true after some legal move.
    fn may_by_moves(&mut self, network: &Network, wire: Wire) -> Wire {
        /// Of more moves that come to the same, one is taken to be legal.
        const MAX_ALIKE: usize = 16;
        let cases = self.of[wire.gate() as usize].clone();
        let mut all: Vec<(Twin, u32)> =
            (0..network.moves.len() as u32).map(|chosen| (flip(cases.get(chosen), wire), chosen)).collect();
        all.sort_unstable();
        let mut ways = Vec::new();
        for alike in all.chunk_by(|one, other| one.0 == other.0) {
            let mut way = vec![alike[0].0[0]];
            if alike.len() <= MAX_ALIKE {
                let barred = alike.iter().map(|&(_, chosen)| self.may(network.legal[chosen as usize]).inverted());
                let barred = barred.collect();
                way.push(self.relaxed.all_of(barred).inverted());
            }
            ways.push(self.relaxed.all_of(way).inverted());
        }
        self.relaxed.all_of(ways).inverted()
    }
}

#[cfg(test)]
mod tests {
    use machine::scalar::{self, Scalar};

    use super::*;
    use crate::player::Limit;
    use crate::solo::{Settings, Solo};
    use crate::testing::{network, of_rules};

    /// On the way to a solution the goal is always within reach, and at its end it is there.
    #[test]
    fn what_can_be_reached_is_not_dead() {
        for game in ["peg", "eight-puzzle", "sokoban-mini", "hanoi", "sudoku-4x4", "knights-tour-5x5", "incredible"] {
            let network = network(game);
            let lasting = vec![!0u64; network.fluents.len().div_ceil(64)];
            let mut relaxed = Relaxed::new(&network, 100, &lasting).expect("it is small");
            let mut machine = Scalar::new(scalar::Compiled::new(network.clone()));
            let line = Solo::new(&Compiled::new(network), Settings::default(), 1)
                .search(machine.bits(), &Limit::nodes(1_000_000))
                .line;
            let mut states = vec![machine.bits().to_vec()];
            for joint in &line {
                machine.make(joint);
                states.push(machine.bits().to_vec());
            }
            let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
            let distances = relaxed.distances(&views);
            assert!(distances.iter().all(|distance| !distance.dead), "{game}");
            assert_eq!(distances[line.len()].sum, 0, "{game}");
            assert!(distances[0].sum > 0, "{game}");
        }
    }

    /// A key on one side of a door that locks behind the walker: once past it, the goal is out of reach. The distance is the
    /// number of moves.
    #[test]
    fn distances_and_dead_ends() {
        let rules = b"(role me) (init (at 2)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
            (<= (legal me down) (true (at ?x)) (succ ?y ?x) (not (true locked)))
            (<= (legal me up) (true (at ?x)) (succ ?x ?y))
            (<= (next (at ?y)) (does me down) (true (at ?x)) (succ ?y ?x))
            (<= (next (at ?y)) (does me up) (true (at ?x)) (succ ?x ?y))
            (<= (next locked) (true locked)) (<= (next locked) (does me up) (true (at 3)))
            (<= (next key) (true key)) (<= (next key) (does me down) (true (at 1)))
            (<= terminal (true (at 5)))
            (<= (goal me 100) (true key)) (<= (goal me 0) (not (true key)))";
        let network = of_rules(rules);
        let lasting = vec![!0u64; network.fluents.len().div_ceil(64)];
        let mut relaxed = Relaxed::new(&network, 100, &lasting).expect("it is small");
        let mut machine = Scalar::new(scalar::Compiled::new(network.clone()));
        let chosen = |name: &str| {
            (0..2u32).find(|&chosen| network.name(network.moves[chosen as usize]) == name).expect("it is a move")
        };
        let first = relaxed.distances(&[machine.bits()])[0];
        assert!(!first.dead && first.sum > 0, "{first:?}");
        machine.make(&[chosen("down")]);
        let nearer = relaxed.distances(&[machine.bits()])[0];
        assert!(!nearer.dead, "{nearer:?}");
        machine.unmake();
        machine.make(&[chosen("up")]);
        machine.make(&[chosen("up")]);
        assert!(relaxed.distances(&[machine.bits()])[0].dead);
    }
}
