//! Formulas over the rules' relations, with variables.
//!
//! They are wider than rule bodies: equality is admitted, a negation may stand before any formula, and [`Formula::Member`]
//! tests membership in a list of tuples. Variables are numbered within a formula; those that occur under one negation
//! only are local to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::program::{self, Relation, Term, VarId};
use gdl::source::Span;
use gdl::symbol::{SymbolId, Symbols};

/// A relation applied to terms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom {
    /// The relation's name; `true`, `legal`, `goal` and `terminal` are relations like others.
    pub name: SymbolId,
    /// Its arguments.
    pub args: Vec<Term>,
}

impl Atom {
    /// The relation.
    pub fn relation(&self) -> Relation {
        Relation { name: self.name, arity: self.args.len() as u32 }
    }
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Formula {
    /// The atom holds.
    Atom(Atom),
    /// Two terms are the same.
    Equal(Term, Term),
    /// Two terms differ.
    Distinct(Term, Term),
    /// The terms are one of these tuples of ground terms.
    Member(Vec<Term>, Arc<Vec<Vec<Term>>>),
    /// The formula does not hold, whatever the values of its local variables.
    Not(Box<Formula>),
    /// All hold; true if there are none.
    And(Vec<Formula>),
    /// At least one holds; false if there are none.
    Or(Vec<Formula>),
}

impl Formula {
    /// True.
    pub fn truth() -> Formula {
        Formula::And(Vec::new())
    }

    /// False.
    pub fn falsehood() -> Formula {
        Formula::Or(Vec::new())
    }

    /// All of the formulas; a single one stays as it is, and conjunctions are flattened.
    pub fn all(formulas: impl IntoIterator<Item = Formula>) -> Formula {
        let mut parts = Vec::new();
        for formula in formulas {
            match formula {
                Formula::And(inner) => parts.extend(inner),
                other => parts.push(other),
            }
        }
        if parts.len() == 1 { parts.remove(0) } else { Formula::And(parts) }
    }

    /// The top-level conjuncts; the formula itself if it is no conjunction.
    pub fn conjuncts(&self) -> &[Formula] {
        match self {
            Formula::And(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    /// The conjuncts in groups that have no variable in common, in the order of their first members. A variable under negations
    /// joins conjuncts only if it is free in one of them.
    pub fn components(&self) -> Vec<Vec<Formula>> {
        let (conjuncts, free) = (self.conjuncts(), self.free_variables());
        let mut groups: Vec<(BTreeSet<VarId>, Vec<usize>)> = Vec::new();
        for (at, conjunct) in conjuncts.iter().enumerate() {
            let mut vars: BTreeSet<VarId> = conjunct.variables().intersection(&free).copied().collect();
            let mut members = Vec::new();
            groups.retain_mut(|(other, own)| {
                let apart = other.is_disjoint(&vars);
                if !apart {
                    vars.append(other);
                    members.append(own);
                }
                apart
            });
            members.push(at);
            members.sort_unstable();
            groups.push((vars, members));
        }
        groups.sort_by_key(|(_, members)| members[0]);
        groups.iter().map(|(_, members)| members.iter().map(|&at| conjuncts[at].clone()).collect()).collect()
    }

    /// Calls `visit` for each atom and whether it stands under an odd number of negations.
    pub fn for_each_atom<'a>(&'a self, visit: &mut impl FnMut(&'a Atom, bool)) {
        self.walk_atoms(false, visit);
    }

    fn walk_atoms<'a>(&'a self, negated: bool, visit: &mut impl FnMut(&'a Atom, bool)) {
        match self {
            Formula::Atom(atom) => visit(atom, negated),
            Formula::Equal(..) | Formula::Distinct(..) | Formula::Member(..) => {}
            Formula::Not(inner) => inner.walk_atoms(!negated, visit),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| part.walk_atoms(negated, visit)),
        }
    }

    /// Calls `visit` for each term that is an argument, left to right.
    pub fn for_each_term<'a>(&'a self, visit: &mut impl FnMut(&'a Term)) {
        match self {
            Formula::Atom(atom) => atom.args.iter().for_each(visit),
            Formula::Equal(left, right) | Formula::Distinct(left, right) => {
                visit(left);
                visit(right);
            }
            Formula::Member(terms, _) => terms.iter().for_each(visit),
            Formula::Not(inner) => inner.for_each_term(visit),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| part.for_each_term(visit)),
        }
    }

    /// The formula with other terms in the place of its own.
    pub fn map_terms(&self, map: &mut impl FnMut(&Term) -> Term) -> Formula {
        let mut each = |terms: &[Term]| terms.iter().map(&mut *map).collect::<Vec<Term>>();
        match self {
            Formula::Atom(atom) => Formula::Atom(Atom { name: atom.name, args: each(&atom.args) }),
            Formula::Equal(left, right) => Formula::Equal(map(left), map(right)),
            Formula::Distinct(left, right) => Formula::Distinct(map(left), map(right)),
            Formula::Member(terms, rows) => Formula::Member(each(terms), rows.clone()),
            Formula::Not(inner) => Formula::Not(Box::new(inner.map_terms(map))),
            Formula::And(parts) => Formula::And(parts.iter().map(|part| part.map_terms(map)).collect()),
            Formula::Or(parts) => Formula::Or(parts.iter().map(|part| part.map_terms(map)).collect()),
        }
    }

    /// Every variable that occurs, local ones included.
    pub fn variables(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        self.for_each_term(&mut |term| term.for_each_var(&mut |var| _ = vars.insert(var)));
        vars
    }

    /// The variables that occur outside of negations.
    pub fn free_variables(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        self.walk_free(&mut vars);
        vars
    }

    fn walk_free(&self, vars: &mut BTreeSet<VarId>) {
        match self {
            Formula::Not(_) => {}
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| part.walk_free(vars)),
            other => other.for_each_term(&mut |term| term.for_each_var(&mut |var| _ = vars.insert(var))),
        }
    }

    /// A body's literal as a formula.
    pub fn of_rule(formula: &program::Formula) -> Formula {
        let each = |parts: &[program::Formula]| parts.iter().map(Formula::of_rule).collect::<Vec<Formula>>();
        match formula {
            program::Formula::Atom(atom) => Formula::Atom(Atom { name: atom.name, args: atom.args.clone() }),
            program::Formula::Distinct(left, right, _) => Formula::Distinct(left.clone(), right.clone()),
            program::Formula::Not(inner, _) => Formula::Not(Box::new(Formula::of_rule(inner))),
            program::Formula::Or(parts, _) => Formula::Or(each(parts)),
            program::Formula::And(parts, _) => Formula::And(each(parts)),
        }
    }

    /// The formula as it may stand in a body. Lists of tuples become relations: `list` names one for each.
    pub fn to_rule(&self, list: &mut impl FnMut(&Arc<Vec<Vec<Term>>>) -> SymbolId) -> program::Formula {
        let at = Span::default();
        match self {
            Formula::Atom(atom) => {
                program::Formula::Atom(program::Atom { name: atom.name, args: atom.args.clone(), span: at })
            }
            Formula::Equal(left, right) => {
                program::Formula::Not(Box::new(program::Formula::Distinct(left.clone(), right.clone(), at)), at)
            }
            Formula::Distinct(left, right) => program::Formula::Distinct(left.clone(), right.clone(), at),
            Formula::Member(terms, rows) => {
                program::Formula::Atom(program::Atom { name: list(rows), args: terms.clone(), span: at })
            }
            Formula::Not(inner) => program::Formula::Not(Box::new(inner.to_rule(list)), at),
            Formula::And(parts) => program::Formula::And(parts.iter().map(|part| part.to_rule(list)).collect(), at),
            Formula::Or(parts) => program::Formula::Or(parts.iter().map(|part| part.to_rule(list)).collect(), at),
        }
    }

    /// The formula as text, which [`crate::feature::read`] reads back.
    pub fn display<'a>(&'a self, symbols: &'a Symbols) -> impl std::fmt::Display + 'a {
        Shown(self, symbols)
    }
}

/// What stands before the name of a relation that means something else at the head of a list.
pub(crate) const ESCAPE: &str = "holds";

/// Whether a word at the head of a list, in lower case, is no relation of the rules; keywords aside.
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(word, "equal" | "member" | ESCAPE)
}

struct Shown<'a>(&'a Formula, &'a Symbols);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shown(formula, symbols) = *self;
        let list = |f: &mut std::fmt::Formatter<'_>, name: &str, parts: &[Formula]| {
            write!(f, "({name}")?;
            parts.iter().try_for_each(|part| write!(f, " {}", Shown(part, symbols)))?;
            write!(f, ")")
        };
        match formula {
            Formula::Atom(atom) if atom.args.is_empty() => write!(f, "{}", symbols.name(atom.name)),
            Formula::Atom(atom) => {
                let name = symbols.name(atom.name);
                let escape = if is_reserved(&name.to_lowercase()) { ESCAPE } else { "" };
                write!(f, "({escape}{}{name}", if escape.is_empty() { "" } else { " " })?;
                atom.args.iter().try_for_each(|arg| write!(f, " {}", ShownTerm(arg, symbols)))?;
                write!(f, ")")
            }
            Formula::Equal(left, right) => {
                write!(f, "(equal {} {})", ShownTerm(left, symbols), ShownTerm(right, symbols))
            }
            Formula::Distinct(left, right) => {
                write!(f, "(distinct {} {})", ShownTerm(left, symbols), ShownTerm(right, symbols))
            }
            Formula::Member(terms, rows) => {
                write!(f, "(member {}", ShownRow(terms, symbols))?;
                rows.iter().try_for_each(|row| write!(f, " {}", ShownRow(row, symbols)))?;
                write!(f, ")")
            }
            Formula::Not(inner) => write!(f, "(not {})", Shown(inner, symbols)),
            Formula::And(parts) => list(f, "and", parts),
            Formula::Or(parts) => list(f, "or", parts),
        }
    }
}

/// Terms in parentheses.
pub(crate) struct ShownRow<'a>(pub(crate) &'a [Term], pub(crate) &'a Symbols);

impl std::fmt::Display for ShownRow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "(")?;
        for (index, term) in self.0.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { " " }, ShownTerm(term, self.1))?;
        }
        write!(f, ")")
    }
}

/// A term as text; variables are `?0`, `?1` and so on.
pub(crate) struct ShownTerm<'a>(pub(crate) &'a Term, pub(crate) &'a Symbols);

impl std::fmt::Display for ShownTerm<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Term::Var(var) => write!(f, "?{}", var.0),
            Term::Const(name) => write!(f, "{}", self.1.name(*name)),
            Term::Func(name, args) => {
                write!(f, "({}", self.1.name(*name))?;
                args.iter().try_for_each(|arg| write!(f, " {}", ShownTerm(arg, self.1)))?;
                write!(f, ")")
            }
        }
    }
}
