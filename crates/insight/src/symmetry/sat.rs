//! Comparing outputs of the logic by satisfiability: is there a state, are there moves that tell them apart?

use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, lbool};
use gdl::Stop;
use machine::network::Wire;
use rustc_hash::FxHashMap;

use super::logic::Logic;
use crate::solver;

/// An answer about some pairs of wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// They are equal in every state.
    Equal,
    /// They differ in some state.
    Different,
    /// Too hard, or something is in the way that clauses can't say.
    Unknown,
}

/// Gives up after so many conflicts, each of which costs as much as there are gates.
struct Patience {
    left: u64,
    n_gates: u64,
    stop: Stop,
}

impl Callbacks for Patience {
    fn on_new_clause(&mut self, _: &[Lit], kind: ClauseKind) {
        if let ClauseKind::Learnt = kind {
            self.left = self.left.saturating_sub(self.n_gates);
            if self.stop() {
                solver::end();
            }
        }
    }

    fn stop(&self) -> bool {
        self.left == 0 || self.stop.is_raised()
    }
}

/// A logic beside its image.
pub(super) struct Clauses<'a> {
    logic: &'a Logic,
    /// The image of each gate that has one.
    images: &'a [Option<Wire>],
    in_cycle: &'a [bool],
    solver: Solver<Patience>,
    /// The literal of each gate, on the side that is mapped and on the other.
    literals: [FxHashMap<u32, Lit>; 2],
    /// Whether a gate stands for more than its clauses say.
    is_loose: bool,
}

impl<'a> Clauses<'a> {
    pub(super) fn new(
        logic: &'a Logic,
        images: &'a [Option<Wire>],
        in_cycle: &'a [bool],
        conflicts: u64,
        stop: &Stop,
    ) -> Self {
        let patience = Patience { left: conflicts, n_gates: 0, stop: stop.clone() };
        let mut solver = Solver::new(SolverOpts::default(), patience);
        let never = Lit::new(solver.new_var_default(), true);
        solver.add_clause_reuse(&mut vec![!never]);
        let literals = [FxHashMap::from_iter([(0, never)]), FxHashMap::from_iter([(0, never)])];
        Clauses { logic, images, in_cycle, solver, literals, is_loose: false }
    }

    /// Says that each role makes exactly one move, and a legal one; `role_of` gives the role of each move.
    pub(super) fn suppose_legal_moves(&mut self, role_of: &[u32]) {
        let logic = self.logic;
        let first_move = 1 + logic.n_fluents as u32;
        let n_roles = role_of.iter().max().map_or(0, |&role| role as usize + 1);
        let mut of_role: Vec<Vec<Lit>> = vec![Vec::new(); n_roles];
        for chosen in 0..logic.n_moves {
            let made = self.literal(Wire::of(first_move + chosen as u32), 1);
            let legal = self.literal(logic.legal[chosen], 1);
            self.solver.add_clause_reuse(&mut vec![!made, legal]);
            of_role[role_of[chosen] as usize].push(made);
        }
        for mut moves in of_role {
            // At most one: a ladder, since pairs would be too many.
            let mut any = Lit::new(self.solver.new_var_default(), true);
            self.solver.add_clause_reuse(&mut vec![!any]);
            for &made in &moves {
                let next = Lit::new(self.solver.new_var_default(), true);
                self.solver.add_clause_reuse(&mut vec![!any, next]);
                self.solver.add_clause_reuse(&mut vec![!made, next]);
                self.solver.add_clause_reuse(&mut vec![!any, !made]);
                any = next;
            }
            self.solver.add_clause_reuse(&mut moves);
        }
    }

    /// Says that fluents are equal or opposite, on the side that is not mapped.
    pub(super) fn suppose_equal(&mut self, a: Wire, b: Wire) {
        let (a, b) = (self.literal(a, 1), self.literal(b, 1));
        self.solver.add_clause_reuse(&mut vec![!a, b]);
        self.solver.add_clause_reuse(&mut vec![a, !b]);
    }

    /// Whether the image of the first wire of each pair equals the second.
    pub(super) fn compare(&mut self, pairs: &[(Wire, Wire)]) -> Answer {
        for &(here, there) in pairs {
            if self.solver.cb().stop.is_raised() {
                return Answer::Unknown;
            }
            let (here, there) = (self.literal(here, 0), self.literal(there, 1));
            self.solver.cb_mut().n_gates = (self.literals[0].len() + self.literals[1].len()) as u64;
            for assumptions in [[here, !there], [!here, there]] {
                // It is not asked again where that is not known.
                let differs = solver::solve(&mut self.solver, &assumptions).unwrap_or(lbool::UNDEF);
                if differs == lbool::TRUE && !self.is_loose {
                    return Answer::Different;
                } else if differs != lbool::FALSE {
                    return Answer::Unknown;
                }
            }
        }
        Answer::Equal
    }

    fn literal(&mut self, wire: Wire, side: usize) -> Lit {
        // An explicit stack: chains of gates are long.
        let mut stack = vec![(wire.gate(), side, false)];
        while let Some((gate, side, open)) = stack.pop() {
            if self.literals[side].contains_key(&gate) {
                continue;
            }
            if let (0, Some(image)) = (side, self.images[gate as usize]) {
                match self.literals[1].get(&image.gate()) {
                    Some(&literal) => {
                        let literal = if image.is_inverted() { !literal } else { literal };
                        self.literals[0].insert(gate, literal);
                    }
                    None => stack.extend([(gate, 0, false), (image.gate(), 1, false)]),
                }
                continue;
            }
            let inputs = &self.logic.gates[gate as usize];
            let is_leaf = (gate as usize) < self.logic.first_inner();
            if is_leaf || self.in_cycle[gate as usize] || self.logic.paths.contains_key(&gate) {
                self.is_loose |= !is_leaf;
                let literal = Lit::new(self.solver.new_var_default(), true);
                self.literals[side].insert(gate, literal);
                continue;
            }
            if !open {
                stack.push((gate, side, true));
                stack.extend(inputs.iter().map(|wire| (wire.gate(), side, false)));
                continue;
            }
            let literal = Lit::new(self.solver.new_var_default(), true);
            let mut all = vec![literal];
            for wire in inputs {
                let input = self.literals[side][&wire.gate()];
                let input = if wire.is_inverted() { !input } else { input };
                self.solver.add_clause_reuse(&mut vec![!literal, input]);
                all.push(!input);
            }
            self.solver.add_clause_reuse(&mut all);
            self.literals[side].insert(gate, literal);
        }
        let literal = self.literals[side][&wire.gate()];
        if wire.is_inverted() { !literal } else { literal }
    }
}
