//! The meaning of rules, computed as plainly as possible: no plans, no indices, no strata.
//!
//! [`facts`] derives facts from facts until nothing is new, while literals under `not` are judged by a guess of the
//! final facts; what comes out is the next guess. With every round one more stratum is right, so for a stratified
//! program the guesses settle on its meaning.

use std::collections::BTreeSet;

use gdl::program::{Atom, Formula, Program, Rule, Term};
use gdl::symbol::SymbolId;
use gdl::{Relation, keyword};

/// A ground fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    pub(crate) relation: Relation,
    pub(crate) args: Vec<Ground>,
}

/// A ground term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ground {
    pub(crate) name: SymbolId,
    pub(crate) args: Vec<Ground>,
}

pub(crate) type Facts = BTreeSet<Fact>;

/// All facts of a program, with `given` (`true` and `does`) among them. `None` if that takes more than `budget` trials,
/// or if the guesses don't settle.
pub(crate) fn facts(program: &Program, given: &Facts, mut budget: u64) -> Option<Facts> {
    let mut guess = Facts::new();
    for _ in 0..program.rules.len() + 2 {
        let next = derive(program, given, &guess, &mut budget)?;
        if next == guess {
            return Some(guess);
        }
        guess = next;
    }
    None
}

/// The facts that follow if `guess` decides what holds under `not`.
fn derive(program: &Program, given: &Facts, guess: &Facts, budget: &mut u64) -> Option<Facts> {
    let mut known = given.clone();
    loop {
        let mut new = Vec::new();
        for rule in &program.rules {
            let mut body = rule.body.clone();
            if let Some(var) = rule.implicit_role() {
                let span = rule.span;
                body.push(Formula::Atom(Atom { name: keyword::ROLE, args: vec![Term::Var(var)], span }));
            }
            for branch in branches(&body) {
                let mut search = Search { known: &known, guess, budget: &mut *budget, enough: false };
                let values = vec![None; rule.variables.len()];
                search.solve(&branch, &values, &mut |values| {
                    new.push(head(rule, values));
                    false
                })?;
            }
        }
        let before = known.len();
        known.extend(new);
        if known.len() == before {
            return Some(known);
        }
    }
}

fn head(rule: &Rule, values: &[Option<Ground>]) -> Fact {
    let args = rule.head.args.iter().map(|arg| ground(arg, values).expect("heads are safe")).collect();
    Fact { relation: rule.head.relation(), args }
}

/// The disjunctive normal form of a conjunction; what stands under `not` stays as it is.
fn branches(body: &[Formula]) -> Vec<Vec<Formula>> {
    let mut all = vec![Vec::new()];
    for formula in body {
        let choices: Vec<Vec<Formula>> = match formula {
            Formula::And(parts, _) => branches(parts),
            Formula::Or(parts, _) => parts.iter().flat_map(|part| branches(std::slice::from_ref(part))).collect(),
            literal => vec![vec![literal.clone()]],
        };
        all = all.iter().flat_map(|left| choices.iter().map(move |right| [&left[..], right].concat())).collect();
    }
    all
}

struct Search<'a> {
    known: &'a Facts,
    guess: &'a Facts,
    budget: &'a mut u64,
    enough: bool,
}

impl Search<'_> {
    /// Calls `found` for each way to make all literals hold, until it says that it has seen enough. Positive literals
    /// come first; tests see what they have bound.
    fn solve(
        &mut self,
        literals: &[Formula],
        values: &[Option<Ground>],
        found: &mut dyn FnMut(&[Option<Ground>]) -> bool,
    ) -> Option<()> {
        *self.budget = self.budget.checked_sub(1)?;
        if let Some(index) = literals.iter().position(|literal| matches!(literal, Formula::Atom(_))) {
            let mut rest = literals.to_vec();
            let Formula::Atom(atom) = rest.remove(index) else { unreachable!("it was an atom") };
            for fact in self.known.iter().filter(|fact| fact.relation == atom.relation()) {
                *self.budget = self.budget.checked_sub(1)?;
                let mut extended = values.to_vec();
                if atom.args.iter().zip(&fact.args).all(|(pattern, term)| matches(pattern, term, &mut extended)) {
                    self.solve(&rest, &extended, found)?;
                    if self.enough {
                        return Some(());
                    }
                }
            }
            return Some(());
        }
        for literal in literals {
            let holds = match literal {
                Formula::Distinct(left, right, _) => match (ground(left, values), ground(right, values)) {
                    (Some(left), Some(right)) => left != right,
                    _ => left != right,
                },
                Formula::Not(inner, _) => !self.holds_by_guess(inner, values)?,
                _ => unreachable!("branches hold literals only, and atoms came first"),
            };
            if !holds {
                return Some(());
            }
        }
        self.enough = found(values);
        Some(())
    }

    fn holds_by_guess(&mut self, formula: &Formula, values: &[Option<Ground>]) -> Option<bool> {
        for branch in branches(std::slice::from_ref(formula)) {
            let mut inner = Search { known: self.guess, guess: self.guess, budget: &mut *self.budget, enough: false };
            inner.solve(&branch, values, &mut |_| true)?;
            if inner.enough {
                return Some(true);
            }
        }
        Some(false)
    }
}

fn matches(pattern: &Term, term: &Ground, values: &mut [Option<Ground>]) -> bool {
    match pattern {
        Term::Var(var) => values[var.0 as usize].get_or_insert_with(|| term.clone()) == term,
        Term::Const(name) => term.name == *name && term.args.is_empty(),
        Term::Func(name, args) => {
            term.name == *name
                && term.args.len() == args.len()
                && args.iter().zip(&term.args).all(|(pattern, term)| matches(pattern, term, values))
        }
    }
}

/// The term with its variables replaced; `None` if one has no value.
pub(crate) fn ground(term: &Term, values: &[Option<Ground>]) -> Option<Ground> {
    match term {
        Term::Var(var) => values[var.0 as usize].clone(),
        Term::Const(name) => Some(Ground { name: *name, args: Vec::new() }),
        Term::Func(name, args) => {
            let args = args.iter().map(|arg| ground(arg, values)).collect::<Option<_>>()?;
            Some(Ground { name: *name, args })
        }
    }
}
