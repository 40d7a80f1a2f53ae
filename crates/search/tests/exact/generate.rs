//! Small games by chance, as text: one, two or three roles, in turn or at the same time, with cycles, counters, dead ends, cells with
//! several values at once, and goals of all kinds. The same seed gives the same game.

use std::fmt::Write as _;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::families;

/// A game by chance.
pub(crate) struct Generated {
    /// What kind of game it is.
    pub(crate) family: &'static str,
    /// Its rules.
    pub(crate) rules: String,
}

/// The game of a seed.
pub(crate) fn game(seed: u64) -> Generated {
    let mut maker = Maker { random: Pcg64Mcg::seed_from_u64(seed), text: String::new(), n_roles: 1 };
    maker.n_roles = 1 + maker.below(3);
    let families: [Family; 6] = [
        ("table", families::table),
        ("circuit", families::circuit),
        ("lights", families::lights),
        ("marks", families::marks),
        ("heaps", families::heaps),
        ("chase", families::chase),
    ];
    // The first two are the most varied.
    let (family, make) = families[[0, 0, 1, 1, 2, 3, 4, 5][maker.below(8)]];
    make(&mut maker);
    Generated { family, rules: maker.text }
}

/// A kind of game by its name, and what writes its rules.
type Family = (&'static str, fn(&mut Maker));

/// Writes rules.
pub(super) struct Maker {
    pub(super) random: Pcg64Mcg,
    pub(super) text: String,
    pub(super) n_roles: usize,
}

impl Maker {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n)
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn line(&mut self, rule: impl AsRef<str>) {
        self.text.push_str(rule.as_ref());
        self.text.push('\n');
    }

    /// The roles, as facts or by a rule.
    pub(super) fn roles(&mut self) {
        let relation = if self.chance(20) { "player" } else { "role" };
        for role in 0..self.n_roles {
            self.line(format!("({relation} r{role})"));
        }
        if relation == "player" {
            self.line("(<= (role ?r) (player ?r))");
        }
    }

    /// A counter of moves that ends the match after so many.
    pub(super) fn counter(&mut self, n: usize) {
        self.line("(init (step 0))");
        (0..n).for_each(|step| self.line(format!("(after {step} {})", step + 1)));
        self.line("(<= (next (step ?m)) (true (step ?n)) (after ?n ?m))");
        self.line(format!("(<= terminal (true (step {n})))"));
    }

    /// One of the ways in which results are shared out in a game.
    pub(super) fn payment(&mut self) -> Payment {
        match self.below(6) {
            0 | 1 => Payment::Opposed(if self.chance(50) { &[0, 100] } else { &[0, 50, 100] }),
            2 => Payment::Opposed(&[0, 20, 35, 57, 100]),
            3 => Payment::Same,
            _ => Payment::Free,
        }
    }

    /// What each role gets at some end: mostly one value each, seldom none or two where `odd`.
    pub(super) fn goals(&mut self, payment: Payment, odd: bool) -> Vec<Vec<i64>> {
        const VALUES: [i64; 6] = [0, 0, 25, 50, 100, 100];
        let first = match payment {
            Payment::Opposed(values) => values[self.below(values.len())],
            _ => VALUES[self.below(VALUES.len())],
        };
        let mut goals: Vec<Vec<i64>> = Vec::new();
        for role in 0..self.n_roles {
            goals.push(vec![match payment {
                _ if role == 0 => first,
                Payment::Opposed(_) if role == 1 => 100 - first,
                Payment::Opposed(_) => 50,
                Payment::Same => first,
                Payment::Free => VALUES[self.below(VALUES.len())],
            }]);
        }
        if odd && self.chance(15) {
            let role = self.below(self.n_roles);
            if self.chance(50) { goals[role].clear() } else { goals[role].push(77) }
        }
        goals
    }

    /// Goals where a condition holds.
    pub(super) fn pay(&mut self, goals: &[Vec<i64>], condition: &str) {
        for (role, values) in goals.iter().enumerate() {
            for value in values {
                self.line(format!("(<= (goal r{role} {value}) {condition})"));
            }
        }
    }

    /// The joint move of variables `?m0`, `?m1`, ….
    pub(super) fn does(&self) -> String {
        let mut text = String::new();
        for role in 0..self.n_roles {
            write!(text, "(does r{role} ?m{role}) ").expect("a string takes all");
        }
        text
    }

    /// Control that goes round: `(control r0)` holds first.
    pub(super) fn turns(&mut self) {
        self.line("(init (control r0))");
        for role in 0..self.n_roles {
            let next = (role + 1) % self.n_roles;
            self.line(format!("(<= (next (control r{next})) (true (control r{role})))"));
        }
        if self.n_roles > 1 {
            self.line("(<= (legal ?r idle) (role ?r) (not (true (control ?r))))");
        }
    }
}

/// How results are shared out.
#[derive(Clone, Copy)]
pub(super) enum Payment {
    /// What the first role gets of these, the second loses.
    Opposed(&'static [i64]),
    /// All get the same.
    Same,
    /// Anything.
    Free,
}
