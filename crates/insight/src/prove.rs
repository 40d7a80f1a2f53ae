//! Proof by induction: what holds initially, and in every state that follows from a state in which it holds.
//!
//! Random play proposes, a SAT solver decides. All claims are assumed at once for a state that is not terminal, with one
//! legal move for each role, and each is asked for the next state. A claim that does not follow is dropped, and the others
//! are asked again without it, until all that is left follows from itself (Flanagan and Leino 2001, "Houdini"). What is
//! dropped need not be wrong: it only can't be proved in one step.
//!
//! Recursion over cycles is cut where the network cuts it. The solver may choose any solution of the equations, so that what
//! it proves holds for the least one, too.

use std::cell::Cell;

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, clause, lbool};
use gdl::Stop;
use machine::network::{Gate, Wire};
use rustc_hash::FxHashMap;

use crate::solver;
use crate::universe::Circuit;

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Edges of a network that is looked at.
    pub edges: usize,
    /// Literals that the solver may derive before it is asked the last question.
    pub propagations: u64,
    /// Literals of the clauses that it is given.
    pub literals: u64,
    /// Ends all proofs before their time; what is not proved then, is not.
    pub stop: Stop,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { edges: 400_000, propagations: 40_000_000, literals: 40_000_000, stop: Stop::never() }
    }
}

/// Fluents of which at most one holds in every state, or exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The fluents, as numbers of the universe.
    pub members: Vec<u32>,
    /// Whether one of them always holds.
    pub exactly: bool,
}

/// What is known about a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// At most one member holds.
    pub at_most: bool,
    /// At least one member holds.
    pub at_least: bool,
}

/// Decisions for one question, apart from one for each fluent and move.
const DECISIONS: u64 = 5_000;
/// Literals that the solver may derive for one question.
const PROPAGATIONS: u64 = 1_500_000;
/// Literals of the clauses that it may learn for one question: long clauses slow down all that follows.
const LEARNED: u64 = 100_000;
/// ... and as many times that, where it learns one after another without a decision, end it for good.
const FAR_TOO_MANY: u64 = 10;

/// What is left for a question.
struct Meter {
    decisions_left: Cell<u64>,
    learned_left: Cell<u64>,
    /// Literals learned beyond that.
    learned_more: u64,
    stop: Stop,
}

impl Callbacks for Meter {
    fn on_new_clause(&mut self, clause: &[Lit], kind: clause::Kind) {
        if matches!(kind, clause::Kind::Learnt) {
            let (left, len) = (self.learned_left.get(), clause.len() as u64);
            self.learned_left.set(left.saturating_sub(len));
            self.learned_more += len.saturating_sub(left);
            if self.learned_more > FAR_TOO_MANY * LEARNED || self.stop.is_raised() {
                solver::end();
            }
        }
    }

    fn stop(&self) -> bool {
        self.decisions_left.set(self.decisions_left.get().saturating_sub(1));
        self.decisions_left.get() == 0 || self.learned_left.get() == 0 || self.stop.is_raised()
    }
}

/// A game's circuit in a solver, with what was proved about it.
pub struct Prover<'a> {
    circuit: &'a Circuit,
    solver: Solver<Meter>,
    /// The literal of each gate, as far as it was needed.
    gates: Vec<Option<Lit>>,
    /// The wire that each loop equals.
    loops: FxHashMap<u32, Wire>,
    truth: Lit,
    propagations: u64,
    literals_left: u64,
    /// Whether the solver was ended, and is not to be touched.
    ended: bool,
    stop: Stop,
    /// What may be assumed of the current state.
    known: Lit,
    /// Holds if every role makes one legal move, and the game is not over.
    playing: Lit,
}

/// Nothing was proved: the network is too large, or there was no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Its edges.
    pub edges: usize,
    /// The budget.
    pub limit: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a network of {} edges is above the limit of {} for proofs", self.edges, self.limit)
    }
}

impl<'a> Prover<'a> {
    /// Puts a circuit into a solver.
    pub fn new(circuit: &'a Circuit, budget: &Budget) -> Result<Prover<'a>, TooLarge> {
        let network = &circuit.network;
        let edges = network.n_edges();
        if edges > budget.edges {
            return Err(TooLarge { edges, limit: budget.edges });
        }
        let meter = Meter {
            decisions_left: Cell::new(0),
            learned_left: Cell::new(0),
            learned_more: 0,
            stop: budget.stop.clone(),
        };
        let mut solver = Solver::new(SolverOpts::default(), meter);
        let truth = Lit::new(solver.new_var_default(), true);
        solver.add_clause_reuse(&mut vec![truth]);
        let mut gates = vec![None; network.gates.len()];
        gates[0] = Some(!truth);
        let playing = Lit::new(solver.new_var(lbool::TRUE, false), true);
        let loops = network.blocks.iter().flat_map(|block| block.loops.iter().copied()).collect();
        let mut prover = Prover {
            circuit,
            solver,
            gates,
            loops,
            truth,
            propagations: budget.propagations,
            literals_left: budget.literals,
            ended: false,
            stop: budget.stop.clone(),
            known: truth,
            playing,
        };
        for range in &network.moves_of {
            let mut moves = Vec::new();
            for chosen in range.clone() {
                let legal = prover.literal(network.legal[chosen as usize]);
                let made = prover.made(chosen);
                prover.clause(&[!playing, !made, legal]);
                moves.push(made);
            }
            prover.at_most_one(playing, &moves);
            moves.push(!playing);
            prover.clause(&moves);
        }
        let terminal = prover.literal(network.terminal);
        prover.clause(&[!playing, !terminal]);
        Ok(prover)
    }

    /// Which of the groups are proved. They are assumed from now on.
    pub fn prove_groups(&mut self, groups: &[Group]) -> Vec<Proof> {
        // Step 1. For each group two claims: at most one, at least one. Each has a literal that assumes it now, and one
        // that says that it is violated next.
        struct Claim {
            group: usize,
            at_most: bool,
            assumed: Lit,
            violated: Lit,
        }
        let mut claims = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            if self.is_over() {
                break;
            }
            let now: Vec<Lit> = group.members.iter().map(|&member| self.now(member)).collect();
            let next: Vec<Lit> = group.members.iter().map(|&member| self.next(member)).collect();
            let assumed = self.free(false);
            self.at_most_one(assumed, &now);
            let (several, any) = self.count(&next);
            claims.push(Claim { group: index, at_most: true, assumed, violated: several });
            if group.exactly {
                let assumed = self.free(false);
                let mut clause = now;
                clause.push(!assumed);
                self.clause(&clause);
                claims.push(Claim { group: index, at_most: false, assumed, violated: !any });
            }
        }
        // Step 2. Drop what does not follow, until all that is left does. (Asking for all claims at once takes the solver
        // far longer than asking for each.)
        // One literal stands for all assumptions: the solver takes up each of those it is given anew for every question.
        let mut assumed = self.all_assumed(claims.iter().map(|claim| claim.assumed));
        loop {
            let n_before = claims.len();
            let mut index = 0;
            while index < claims.len() {
                let answer = self.solve_within(&[assumed, self.playing, claims[index].violated]);
                if answer == lbool::FALSE {
                    index += 1;
                    continue;
                }
                if self.is_over() {
                    claims.clear();
                    assumed = self.all_assumed(std::iter::empty());
                    break;
                }
                claims.remove(index);
                if answer == lbool::TRUE {
                    // The counterexample may violate others, too. (Those before this one are asked again.)
                    let n_kept = claims.len();
                    claims.retain(|claim| self.solver.value_lit(claim.violated) != lbool::TRUE);
                    if claims.len() < n_kept {
                        index = 0;
                    }
                }
                assumed = self.all_assumed(claims.iter().map(|claim| claim.assumed));
            }
            if claims.len() == n_before {
                break;
            }
        }
        let mut proofs = vec![Proof { at_most: false, at_least: false }; groups.len()];
        self.known = assumed;
        for claim in &claims {
            let proof = &mut proofs[claim.group];
            if claim.at_most { proof.at_most = true } else { proof.at_least = true }
        }
        proofs
    }

    /// Whether no state can make a wire of each list true: `Some(true)` if that is proved, `Some(false)` if the solver has
    /// a state (which need not be reachable), `None` if it gave up. With `playing`, only states are meant in which the
    /// game goes on, with one legal move made by each role; without, moves must not be asked about.
    pub fn impossible(&mut self, lists: &[&[Wire]], playing: bool) -> Option<bool> {
        if self.is_over() {
            return None;
        }
        let literals: Vec<Lit> = lists.iter().map(|list| self.any_of(list, &[])).collect();
        self.excludes(&literals, playing)
    }

    /// The same of literals.
    pub(crate) fn excludes(&mut self, literals: &[Lit], playing: bool) -> Option<bool> {
        let mut assumptions = vec![self.known, if playing { self.playing } else { !self.playing }];
        assumptions.extend(literals);
        let answer = self.solve_within(&assumptions);
        (answer != lbool::UNDEF).then_some(answer == lbool::FALSE)
    }

    /// A literal that holds only if one of these wires or literals does.
    pub(crate) fn any_of(&mut self, wires: &[Wire], more: &[Lit]) -> Lit {
        let mut literals: Vec<Lit> = wires.iter().map(|&wire| self.literal(wire)).collect();
        literals.extend(more);
        if let [only] = literals[..] {
            return only;
        }
        let any = self.free(false);
        literals.push(!any);
        self.clause(&literals);
        any
    }

    /// A literal that holds exactly if several of these wires do.
    pub(crate) fn several_of(&mut self, wires: &[Wire]) -> Lit {
        let literals: Vec<Lit> = wires.iter().map(|&wire| self.literal(wire)).collect();
        self.count(&literals).0
    }

    /// Asks one question, in slices of the solver's work: it can be stopped by what it does, but not by what that costs.
    fn solve_within(&mut self, assumptions: &[Lit]) -> lbool {
        // A slice must be enough for a state as a whole, or the solver never gets to a contradiction.
        let network = &self.circuit.network;
        let slice = (network.fluents.len() + network.moves.len()) as u64 + 250;
        if self.is_over() {
            return lbool::UNDEF;
        }
        let before = self.solver.num_propagations();
        self.solver.cb_mut().learned_left.set(LEARNED);
        self.solver.cb_mut().learned_more = 0;
        for _ in 0..1 + DECISIONS / slice {
            let spent = self.solver.num_propagations();
            if spent > self.propagations || spent - before > PROPAGATIONS || self.solver.cb().learned_left.get() == 0 {
                break;
            }
            self.solver.cb_mut().decisions_left.set(slice);
            let answer = solver::solve(&mut self.solver, assumptions);
            self.ended = answer.is_none();
            match answer {
                Some(answer) if answer == lbool::UNDEF => {}
                Some(answer) => return answer,
                None => break,
            }
        }
        lbool::UNDEF
    }

    /// A literal that implies all of these.
    fn all_assumed(&mut self, assumed: impl Iterator<Item = Lit>) -> Lit {
        let all = self.free(false);
        assumed.for_each(|one| self.clause(&[!all, one]));
        all
    }

    /// A new literal. One that follows from others need not be decided.
    fn free(&mut self, decide: bool) -> Lit {
        if self.ended {
            return self.truth;
        }
        Lit::new(self.solver.new_var(lbool::FALSE, decide), true)
    }

    /// Whether nothing more is tried.
    pub fn is_over(&self) -> bool {
        self.literals_left == 0 || self.ended || self.stop.is_raised()
    }

    fn clause(&mut self, literals: &[Lit]) {
        if self.ended {
            return;
        }
        self.literals_left = self.literals_left.saturating_sub(literals.len() as u64);
        self.solver.add_clause_reuse(&mut literals.to_vec());
    }

    fn made(&mut self, chosen: u32) -> Lit {
        let gate = 1 + self.circuit.network.fluents.len() as u32 + chosen;
        debug_assert_eq!(self.circuit.network.gates[gate as usize], Gate::Move(chosen));
        self.literal(Wire::of(gate))
    }

    fn now(&mut self, fluent: u32) -> Lit {
        self.literal(self.circuit.fluents[fluent as usize])
    }

    fn next(&mut self, fluent: u32) -> Lit {
        self.literal(self.circuit.next[fluent as usize])
    }

    /// The literal of a wire, with the clauses for all gates that it depends on.
    fn literal(&mut self, wire: Wire) -> Lit {
        // Loops that have a literal, but don't equal their wire yet: that depends on the loop itself.
        let mut open: Vec<(Lit, Wire)> = Vec::new();
        self.build(wire.gate(), &mut open);
        while let Some((literal, equal)) = open.pop() {
            self.build(equal.gate(), &mut open);
            let equal = self.value(equal);
            self.clause(&[!literal, equal]);
            self.clause(&[literal, !equal]);
        }
        self.value(wire)
    }

    /// Gives a gate and all that it depends on their literals.
    fn build(&mut self, gate: u32, open: &mut Vec<(Lit, Wire)>) {
        let mut stack = vec![gate];
        while let Some(&gate) = stack.last() {
            let at = gate as usize;
            if self.gates[at].is_some() {
                stack.pop();
                continue;
            }
            match &self.circuit.network.gates[at] {
                Gate::False => unreachable!("it has a literal from the start"),
                Gate::Fluent(_) | Gate::Move(_) => self.gates[at] = Some(self.free(true)),
                Gate::Loop(_) => {
                    let literal = self.free(true);
                    self.gates[at] = Some(literal);
                    open.extend(self.loops.get(&gate).map(|&equal| (literal, equal)));
                }
                Gate::And(inputs) => {
                    let missing = inputs.iter().map(|input| input.gate());
                    let missing: Vec<u32> = missing.filter(|&input| self.gates[input as usize].is_none()).collect();
                    if !missing.is_empty() {
                        stack.extend(missing);
                        continue;
                    }
                    let inputs: Vec<Lit> = inputs.iter().map(|&input| self.value(input)).collect();
                    let output = self.free(false);
                    inputs.iter().for_each(|&input| self.clause(&[!output, input]));
                    let mut clause: Vec<Lit> = inputs.iter().map(|&input| !input).collect();
                    clause.push(output);
                    self.clause(&clause);
                    self.gates[at] = Some(output);
                }
            }
        }
    }

    fn value(&self, wire: Wire) -> Lit {
        let literal = self.gates[wire.gate() as usize].expect("it was made before");
        if wire.is_inverted() { !literal } else { literal }
    }

    /// If `when`, at most one of the literals holds.
    fn at_most_one(&mut self, when: Lit, literals: &[Lit]) {
        if literals.len() <= 5 {
            for (index, &one) in literals.iter().enumerate() {
                literals[index + 1..].iter().for_each(|&other| self.clause(&[!when, !one, !other]));
            }
            return;
        }
        let mut seen = literals[0];
        for &literal in &literals[1..] {
            self.clause(&[!when, !seen, !literal]);
            let more = self.free(false);
            self.clause(&[!seen, more]);
            self.clause(&[!literal, more]);
            seen = more;
        }
    }

    /// Literals that say whether several of these hold, and whether any does.
    fn count(&mut self, literals: &[Lit]) -> (Lit, Lit) {
        let (mut any, mut several) = (!self.truth, !self.truth);
        for &literal in literals {
            let both = self.all(&[any, literal]);
            several = !self.all(&[!several, !both]);
            any = !self.all(&[!any, !literal]);
        }
        (several, any)
    }

    /// A literal that is equal to the conjunction.
    fn all(&mut self, literals: &[Lit]) -> Lit {
        let output = self.free(false);
        literals.iter().for_each(|&literal| self.clause(&[!output, literal]));
        let mut clause: Vec<Lit> = literals.iter().map(|&literal| !literal).collect();
        clause.push(output);
        self.clause(&clause);
        output
    }
}
