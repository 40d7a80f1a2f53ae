//! Sorts: which arguments of relations and functions range over the same things.
//!
//! Two arguments have the same sort if a variable stands in both. A name may thus be several things: the `3` that
//! counts steps is no row of the board. (Kuhlmann and others call sorts domains.)

use gdl::program::{Formula, Rule, RuleId, Term, VarId};
use gdl::symbol::SymbolId;
use gdl::{Relation, keyword};
use rustc_hash::FxHashMap;

/// Where a term stands: an argument of a relation or function, or beside a variable that `distinct` compares it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// An argument of a relation.
    Relation(Relation, u32),
    /// An argument of a function.
    Function(Relation, u32),
    /// The same place as a variable of a rule.
    Variable(RuleId, VarId),
    /// Nothing is known.
    Unknown,
}

/// A set of arguments that range over the same things; a number without meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sort(u32);

/// The sorts of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorts {
    numbers: FxHashMap<Slot, u32>,
    /// A forest: every number's parent, a root its own.
    parents: Vec<u32>,
}

impl Sorts {
    /// The sorts that some rules make.
    pub(crate) fn new<'a>(rules: impl Iterator<Item = (RuleId, &'a Rule)>) -> Sorts {
        let mut sorts = Sorts::default();
        for (id, rule) in rules {
            for_each_term(id, rule, &mut |slot, term| match term {
                _ if slot == Slot::Unknown => {}
                Term::Var(var) => sorts.join(slot, Slot::Variable(id, *var)),
                // A place for constants alone is a sort of its own.
                _ => _ = sorts.root(canonical(slot)),
            });
        }
        sorts
    }

    /// The sort of a place.
    pub(crate) fn of(&self, slot: Slot) -> Sort {
        let slot = canonical(slot);
        let Some(&number) = self.numbers.get(&slot) else { return Sort(u32::MAX) };
        let mut root = number;
        while self.parents[root as usize] != root {
            root = self.parents[root as usize];
        }
        Sort(root)
    }

    /// Makes two places one sort.
    pub(crate) fn join(&mut self, one: Slot, other: Slot) {
        let (one, other) = (self.root(canonical(one)), self.root(canonical(other)));
        // The older number is the root, so that sorts are numbered as they come.
        self.parents[one.max(other) as usize] = one.min(other);
    }

    fn root(&mut self, slot: Slot) -> u32 {
        let next = self.parents.len() as u32;
        let mut at = *self.numbers.entry(slot).or_insert(next);
        if at == next {
            self.parents.push(next);
        }
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = parent;
        }
        at
    }
}

/// The keywords that speak of fluents, of roles and of moves share their arguments.
fn canonical(slot: Slot) -> Slot {
    let Slot::Relation(relation, index) = slot else { return slot };
    let of = |name, arity, index| Slot::Relation(Relation { name, arity }, index);
    match (relation.name, index) {
        (keyword::INIT | keyword::NEXT | keyword::BASE, 0) => of(keyword::TRUE, 1, 0),
        (keyword::ROLE | keyword::LEGAL | keyword::INPUT | keyword::GOAL | keyword::SEES, 0) => of(keyword::DOES, 2, 0),
        (keyword::LEGAL | keyword::INPUT, 1) => of(keyword::DOES, 2, 1),
        _ => slot,
    }
}

/// Where roles stand.
pub(crate) const ROLES: Slot = Slot::Relation(Relation { name: keyword::DOES, arity: 2 }, 0);
/// Where moves stand.
pub(crate) const MOVES: Slot = Slot::Relation(Relation { name: keyword::DOES, arity: 2 }, 1);
/// Where goal values stand.
pub(crate) const GOAL_VALUE: Slot = Slot::Relation(Relation { name: keyword::GOAL, arity: 2 }, 1);
/// Where fluents stand.
pub(crate) const FLUENTS: Slot = Slot::Relation(Relation { name: keyword::TRUE, arity: 1 }, 0);

/// Calls `visit` for each term of a rule, outer terms first, with the place where it stands.
pub(crate) fn for_each_term<'a>(id: RuleId, rule: &'a Rule, visit: &mut impl FnMut(Slot, &'a Term)) {
    let relation = rule.head.relation();
    arguments(&rule.head.args, |index| Slot::Relation(relation, index), visit);
    rule.body.iter().for_each(|formula| in_formula(id, formula, visit));
}

fn in_formula<'a>(id: RuleId, formula: &'a Formula, visit: &mut impl FnMut(Slot, &'a Term)) {
    match formula {
        Formula::Atom(atom) => {
            let relation = atom.relation();
            arguments(&atom.args, |index| Slot::Relation(relation, index), visit);
        }
        Formula::Distinct(left, right, _) => {
            let beside = |term: &Term| match term {
                Term::Var(var) => Slot::Variable(id, *var),
                _ => Slot::Unknown,
            };
            in_term(beside(right), left, visit);
            in_term(beside(left), right, visit);
        }
        Formula::Not(inner, _) => in_formula(id, inner, visit),
        Formula::Or(parts, _) | Formula::And(parts, _) => parts.iter().for_each(|part| in_formula(id, part, visit)),
    }
}

fn in_term<'a>(slot: Slot, term: &'a Term, visit: &mut impl FnMut(Slot, &'a Term)) {
    visit(slot, term);
    if let (Term::Func(_, args), Some(function)) = (term, term.functor()) {
        arguments(args, |index| Slot::Function(function, index), visit);
    }
}

fn arguments<'a>(args: &'a [Term], slot: impl Fn(u32) -> Slot, visit: &mut impl FnMut(Slot, &'a Term)) {
    args.iter().enumerate().for_each(|(index, arg)| in_term(slot(index as u32), arg, visit));
}

/// A place among the arguments of a function.
pub(crate) fn function_slot(name: SymbolId, arity: usize, index: usize) -> Slot {
    Slot::Function(Relation { name, arity: arity as u32 }, index as u32)
}
