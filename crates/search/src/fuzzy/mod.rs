//! How far a goal is met, by fuzzy logic: the heuristic of Fluxplayer (Schiffel and Thielscher 2007, *Fluxplayer: a successful
//! general game player*).
//!
//! The truth of a formula in a state is a number from 0 to 1. An atom that holds counts `p`, one that doesn't 1 − `p`; a
//! negation is one less the truth; a conjunction is a t-norm of Yager's family,
//!
//! ```text
//! T(a, b) = 1 - S(1 - a, 1 - b)      S(a, b) = min(1, (a^q + b^q)^(1/q))
//! ```
//!
//! raised to at least `t` where all parts exceed 0.5, and a disjunction is its dual. So a conjunction of what holds stays above
//! 0.5, however long it is, and one that is nearly met is worth more than one that is not. A goal value contributes its worth
//! times the truth of "goal and terminal" where the goal holds, and of "goal and not terminal" where it does not, normalised
//! by the sum of the goal values.
//!
//! Where the reading is ours:
//!
//! - The formula is the ground one. What does not depend on the state is evaluated away and counts as plainly true or false,
//!   where an atom would count `p` or 1 − `p`. Rules that grounding splits are nested formulas; the norms are associative, so
//!   this matters only where a variable that occurs in a part of a rule alone is taken into that part.
//! - Norms are taken of all parts at once, and `t` applies if all parts exceed 0.5: so the order of rules and literals does not
//!   matter. Taken pair by pair it would.
//! - Atoms that depend on themselves (paths, chains) count by whether they hold.
//! - The contributions of goal values are added up.
//! - Distances: a fluent that does not hold counts (1 − p)(1 − d), where d is how far off the things are that it is about: for
//!   a number ([`Quantity`](insight::structure::Quantity)) the steps in its order as a part of the order's length, for what
//!   stands on a board of ordered coordinates the steps along all axes as a part of their lengths, in the mean over all cells
//!   that have it; the most there can be if none has.

mod compile;

use std::sync::Arc;

use machine::RoleId;
use machine::scalar::{self, Scalar};

use crate::position::Position;
pub use compile::Compiled;
use compile::Step;

/// The numbers that the logic is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What an atom counts that holds.
    pub p: f64,
    /// The power of the t-norm.
    pub q: i32,
    /// The least truth of a conjunction whose parts all exceed 0.5.
    pub t: f64,
    /// Whether distances count.
    pub distances: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { p: 0.75, q: 25, t: 0.5, distances: true }
    }
}

/// A position judged by how far its goals are met.
pub struct Fuzzy {
    machine: Scalar,
    compiled: Arc<Compiled>,
    logic: Logic,
    /// The hash of the state that was last judged.
    judged: Option<u128>,
    /// For each fluent of the formulas, whether it holds.
    holds: Vec<bool>,
    fluents: Vec<Truth>,
    atoms: Vec<Truth>,
    /// Which steps must be taken again.
    dirty: Vec<bool>,
}

/// The truth of a formula, and of its opposite.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Truth {
    value: f64,
    /// (1 − value)^q and value^q.
    off: f64,
    on: f64,
    /// Whether it holds.
    holds: bool,
}

#[derive(Clone, Copy, Debug)]
struct Logic {
    settings: Settings,
}

impl Logic {
    fn truth(self, value: f64, holds: bool) -> Truth {
        let q = self.settings.q;
        Truth { value, off: (1.0 - value).powi(q), on: value.powi(q), holds }
    }

    /// The truth of a conjunction, given the sum of (1 − part)^q and whether all parts exceed 0.5.
    fn all(self, sum: f64, high: bool) -> f64 {
        let value = 1.0 - sum.powf(1.0 / f64::from(self.settings.q)).min(1.0);
        if high { value.max(self.settings.t) } else { value }
    }

    /// The truth of a disjunction, given the sum of part^q and whether all parts are below 0.5.
    fn any(self, sum: f64, low: bool) -> f64 {
        1.0 - self.all(sum, low)
    }

    fn both(self, one: f64, other: f64) -> f64 {
        let q = self.settings.q;
        self.all((1.0 - one).powi(q) + (1.0 - other).powi(q), one > 0.5 && other > 0.5)
    }
}

impl Fuzzy {
    /// A position at the start of the game. The machine must be of the network that the formulas were compiled with.
    pub fn new(machine: Arc<scalar::Compiled>, compiled: Arc<Compiled>, settings: Settings) -> Fuzzy {
        let logic = Logic { settings };
        let nothing = logic.truth(0.0, false);
        Fuzzy {
            machine: Scalar::new(machine),
            logic,
            judged: None,
            holds: vec![false; compiled.fluents.len()],
            fluents: vec![nothing; compiled.fluents.len()],
            atoms: vec![nothing; compiled.n_atoms],
            dirty: vec![true; compiled.steps.len()],
            compiled,
        }
    }

    /// How far each goal of a role is met: the goal value, the truth of its formula, and whether it holds.
    pub fn goals(&mut self, role: RoleId) -> Vec<(i64, f64, bool)> {
        self.judge();
        let goals = self.compiled.goals.iter().filter(|goal| goal.0 == role.0);
        goals
            .map(|&(_, value, atom)| {
                let truth = self.atoms[atom as usize];
                (value, truth.value, truth.holds)
            })
            .collect()
    }

    /// The truth of "terminal".
    pub fn terminal(&mut self) -> f64 {
        self.judge();
        self.compiled.terminal.map_or(0.0, |atom| self.atoms[atom as usize].value)
    }

    /// Brings the truths up to date with the machine.
    fn judge(&mut self) {
        if self.judged == Some(self.machine.hash()) {
            return;
        }
        let first = self.judged.is_none();
        self.judged = Some(self.machine.hash());
        let compiled = self.compiled.clone();
        // Step 1. Fluents.
        let bits = self.machine.bits();
        for (holds, fluent) in self.holds.iter_mut().zip(&compiled.fluents) {
            *holds = fluent.wire.holds(bits);
        }
        let p = self.logic.settings.p;
        for (at, fluent) in compiled.fluents.iter().enumerate() {
            let holds = self.holds[at];
            let mut value = if holds { p } else { 1.0 - p };
            if !holds && self.logic.settings.distances && !fluent.near.is_empty() {
                let there = fluent.near.iter().filter(|&&(other, _)| self.holds[other as usize]);
                let (n, sum) = there.fold((0u32, 0.0), |(n, sum), &(_, distance)| (n + 1, sum + f64::from(distance)));
                let most = fluent.near.iter().map(|&(_, distance)| distance).fold(0.0, f32::max);
                let distance = if n > 0 { sum / f64::from(n) } else { f64::from(most) };
                value *= 1.0 - distance;
            }
            if first || value != self.fluents[at].value || holds != self.fluents[at].holds {
                self.fluents[at] = self.logic.truth(value, holds);
                fluent.readers.iter().for_each(|&step| self.dirty[step as usize] = true);
            }
        }
        // Step 2. Atoms, each after those that it is made of.
        for (at, step) in compiled.steps.iter().enumerate() {
            if !std::mem::take(&mut self.dirty[at]) {
                continue;
            }
            match step {
                Step::Atom(atom) => {
                    let truth = self.atom(&compiled, *atom);
                    self.set(&compiled, *atom, truth);
                }
                Step::Cycle(atoms) => self.settle(&compiled, atoms),
            }
        }
    }

    fn set(&mut self, compiled: &Compiled, atom: u32, truth: Truth) {
        if self.atoms[atom as usize] != truth {
            self.atoms[atom as usize] = truth;
            compiled.readers[atom as usize].iter().for_each(|&step| self.dirty[step as usize] = true);
        }
    }

    /// The truth of an atom, by its rules.
    fn atom(&self, compiled: &Compiled, atom: u32) -> Truth {
        let (mut sum, mut low, mut holds) = (0.0, true, false);
        for instance in compiled.instances(atom) {
            let (mut off, mut high, mut all) = (0.0, true, true);
            for literal in instance {
                let truth = if literal.is_fluent {
                    &self.fluents[literal.number as usize]
                } else {
                    &self.atoms[literal.number as usize]
                };
                if literal.negated {
                    off += truth.on;
                    high &= truth.value < 0.5;
                    all &= !truth.holds;
                } else {
                    off += truth.off;
                    high &= truth.value > 0.5;
                    all &= truth.holds;
                }
            }
            let value = self.logic.all(off, high);
            sum += value.powi(self.logic.settings.q);
            low &= value < 0.5;
            holds |= all;
        }
        self.logic.truth(self.logic.any(sum, low), holds)
    }

    /// Atoms that depend on each other: the least solution.
    fn settle(&mut self, compiled: &Compiled, atoms: &[u32]) {
        let before: Vec<bool> = atoms.iter().map(|&atom| self.atoms[atom as usize].holds).collect();
        atoms.iter().for_each(|&atom| self.atoms[atom as usize].holds = false);
        loop {
            let mut changed = false;
            for &atom in atoms {
                let holds = compiled.instances(atom).any(|mut instance| {
                    instance.all(|literal| {
                        let truths = if literal.is_fluent { &self.fluents } else { &self.atoms };
                        truths[literal.number as usize].holds != literal.negated
                    })
                });
                changed |= holds && !self.atoms[atom as usize].holds;
                self.atoms[atom as usize].holds |= holds;
            }
            if !changed {
                break;
            }
        }
        let p = self.logic.settings.p;
        for (&atom, before) in atoms.iter().zip(before) {
            let holds = self.atoms[atom as usize].holds;
            self.atoms[atom as usize].holds = before;
            self.set(compiled, atom, self.logic.truth(if holds { p } else { 1.0 - p }, holds));
        }
    }
}

impl Position for Fuzzy {
    fn machine(&self) -> &Scalar {
        &self.machine
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.machine.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.machine.make(joint);
    }

    fn unmake(&mut self) {
        self.machine.unmake();
    }

    fn jump(&mut self, state: &[u64]) {
        self.machine.jump(state);
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        let terminal = self.terminal();
        let (mut sum, mut worth) = (0.0, 0.0);
        for (value, truth, holds) in self.goals(role) {
            let value = value as f64;
            sum += value;
            worth += value * self.logic.both(truth, if holds { terminal } else { 1.0 - terminal });
        }
        if sum > 0.0 { (worth / sum) as f32 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
