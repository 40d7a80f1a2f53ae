//! Substitutions and unification.

use gdl::program::{Term, VarId};
use rustc_hash::FxHashMap;

use crate::formula::{Atom, Formula};

/// Terms for variables. A term may contain variables that have terms themselves; there are no cycles.
#[derive(Clone, Debug, Default)]
pub struct Substitution {
    bindings: FxHashMap<VarId, Term>,
}

impl Substitution {
    /// Makes two terms the same, if they can be. Of two variables, that with the larger number is replaced, so that new
    /// variables disappear sooner than old ones. After a failure some variables may have terms.
    pub fn unify(&mut self, left: &Term, right: &Term) -> bool {
        let (left, right) = (self.walk(left).clone(), self.walk(right).clone());
        match (&left, &right) {
            (Term::Var(a), Term::Var(b)) if a == b => true,
            (Term::Var(a), Term::Var(b)) if a < b => self.bind(*b, left),
            (Term::Var(a), _) => self.bind(*a, right),
            (_, Term::Var(b)) => self.bind(*b, left),
            (Term::Const(a), Term::Const(b)) => a == b,
            (Term::Func(a, xs), Term::Func(b, ys)) => {
                a == b && xs.len() == ys.len() && xs.iter().zip(ys.iter()).all(|(x, y)| self.unify(x, y))
            }
            _ => false,
        }
    }

    /// Makes the arguments of two atoms of one relation the same, if they can be.
    pub fn unify_atoms(&mut self, left: &Atom, right: &Atom) -> bool {
        left.relation() == right.relation() && left.args.iter().zip(&right.args).all(|(a, b)| self.unify(a, b))
    }

    fn walk<'a>(&'a self, mut term: &'a Term) -> &'a Term {
        while let Term::Var(var) = term {
            match self.bindings.get(var) {
                Some(bound) => term = bound,
                None => break,
            }
        }
        term
    }

    fn bind(&mut self, var: VarId, term: Term) -> bool {
        let mut occurs = false;
        self.term(&term).for_each_var(&mut |inner| occurs |= inner == var);
        if !occurs {
            self.bindings.insert(var, term);
        }
        !occurs
    }

    /// Whether nothing is replaced.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty()
    }

    /// The term with everything replaced.
    pub fn term(&self, term: &Term) -> Term {
        match self.walk(term) {
            Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| self.term(arg)).collect()),
            other => other.clone(),
        }
    }

    /// The formula with everything replaced.
    pub fn formula(&self, formula: &Formula) -> Formula {
        if self.is_empty() { formula.clone() } else { formula.map_terms(&mut |term| self.term(term)) }
    }

    /// The pairs of variable and term, by variable.
    pub fn pairs(&self) -> Vec<(VarId, Term)> {
        let mut pairs: Vec<(VarId, Term)> =
            self.bindings.keys().map(|&var| (var, self.term(&Term::Var(var)))).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Gives a variable a term that does not contain it.
    pub fn set(&mut self, var: VarId, term: Term) {
        self.bindings.insert(var, term);
    }
}

/// Whether two terms can be made the same.
pub fn unifiable(left: &Term, right: &Term) -> bool {
    Substitution::default().unify(left, right)
}

/// The term with its variables numbered from `by` on.
pub fn shift_term(term: &Term, by: u32) -> Term {
    match term {
        Term::Var(var) => Term::Var(VarId(var.0 + by)),
        Term::Const(_) => term.clone(),
        Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| shift_term(arg, by)).collect()),
    }
}

/// The formula with its variables numbered from `by` on.
pub fn shift(formula: &Formula, by: u32) -> Formula {
    formula.map_terms(&mut |term| shift_term(term, by))
}

/// A number that no variable of the formula has, nor any larger one.
pub fn first_free(formula: &Formula) -> u32 {
    let mut next = 0;
    formula.for_each_term(&mut |term| term.for_each_var(&mut |var| next = next.max(var.0 + 1)));
    next
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use gdl::symbol::{SymbolId, Symbols};

    /// The name with a number.
    pub(crate) fn symbol(number: u32) -> SymbolId {
        let mut symbols = Symbols::new();
        (0..=number).map(|number| symbols.intern(&format!("name{number}"))).last().expect("there is one")
    }

    fn var(number: u32) -> Term {
        Term::Var(VarId(number))
    }

    #[test]
    fn terms_unify_or_not() {
        let (f, a, b) = (symbol(50), Term::Const(symbol(51)), Term::Const(symbol(52)));
        let f = |args: &[Term]| Term::Func(f, args.into());
        let mut found = Substitution::default();
        assert!(found.unify(&f(&[var(0), var(1)]), &f(&[var(1), a.clone()])));
        assert_eq!(found.term(&var(0)), a);
        assert!(!unifiable(&a, &b));
        assert!(!unifiable(&f(&[var(0), var(0)]), &f(&[a, b])));
        // No term is a part of itself.
        assert!(!unifiable(&var(0), &f(&[var(0)])));
        // The larger number goes.
        let mut found = Substitution::default();
        assert!(found.unify(&var(7), &var(3)));
        assert_eq!(found.pairs(), [(VarId(7), var(3))]);
    }
}
