//! Shorter formulas with the same value.
//!
//! An atom that one clause alone can make true is replaced by the clause's body, equalities are solved, what is known to be
//! true or false disappears. This is repeated until nothing changes.
//!
//! Variables that occur under a negation and nowhere outside of it are local to it: each negation gets its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::program::{Term, VarId};
use gdl::symbol::keyword;

use rustc_hash::FxHashMap;

use super::rules::{Rules, first_free_of};
use super::unify::{Substitution, unifiable};
use crate::feature::Feature;
use crate::formula::{Atom, Formula};

/// How formulas are read, and how far they are inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What `S ≠ T` means where the variable S occurs nowhere else: false, as for a Prolog that finds S unbound, or true,
    /// since there is some S that differs from T.
    pub unbound_differs: bool,
    /// An atom is not inlined if that would give a formula with more state-dependent atoms than this.
    pub max_atoms: Option<usize>,
}

impl Settings {
    /// As in the thesis.
    pub const THESIS: Settings = Settings { unbound_differs: false, max_atoms: None };
    /// Logically, and without letting formulas grow long.
    pub const LOGICAL: Settings = Settings { unbound_differs: true, max_atoms: Some(8) };
}

/// Rounds of simplification, and atoms inlined in one formula; each round makes progress, so these are never met by
/// formulas that people write.
const MAX_ROUNDS: usize = 50;
const MAX_INLINED: usize = 200;
/// A formula with more literals is not worked on any further.
const MAX_SIZE: usize = 400;

/// The simplified feature; `None` if its formula can't hold, does not depend on the state or is unsafe: has a variable that
/// nothing binds. Variables that disappear leave the list, those that others stand for are replaced.
pub fn simplify(rules: &Rules, settings: &Settings, feature: &Feature) -> Option<Feature> {
    let terms: Vec<Term> = feature.list.iter().map(|&var| Term::Var(var)).collect();
    let (formula, terms) = simplify_with(rules, settings, &feature.formula, terms)?;
    if rules.n_state_atoms(&formula) == 0 || !is_safe(&formula) {
        return None;
    }
    let bound = bound_variables(&formula);
    let mut list = Vec::new();
    for term in &terms {
        term.for_each_var(&mut |var| {
            if !list.contains(&var) && bound.contains(&var) {
                list.push(var);
            }
        });
    }
    Some(Feature { weight: feature.weight.clone(), list, formula })
}

/// Simplifies a formula; the terms follow what happens to its variables. `None` if it can't hold.
pub fn simplify_with(
    rules: &Rules,
    settings: &Settings,
    formula: &Formula,
    terms: Vec<Term>,
) -> Option<(Formula, Vec<Term>)> {
    let fresh = first_free_of(formula, &terms);
    let mut work = Simplifier { rules, settings, fresh, inlined: 0 };
    let (mut formula, mut terms) = (formula.clone(), terms);
    for _ in 0..MAX_ROUNDS {
        let before = formula.clone();
        formula = work.separate(&formula);
        let budget = settings.max_atoms.map(|max| max.saturating_sub(rules.n_state_atoms(&formula)));
        formula = work.inline(&formula, &mut budget.unwrap_or(usize::MAX));
        (formula, terms) = work.solve(formula, terms)?;
        if formula == before || n_literals(&formula) > MAX_SIZE {
            break;
        }
    }
    (formula != Formula::falsehood()).then_some((formula, terms))
}

struct Simplifier<'a> {
    rules: &'a Rules,
    settings: &'a Settings,
    fresh: u32,
    inlined: usize,
}

impl Simplifier<'_> {
    /// Gives each negation its own local variables.
    fn separate(&mut self, formula: &Formula) -> Formula {
        // What is free is shared by all; a formula without two negations has nothing to separate.
        let free = formula.free_variables();
        let mut seen = free.clone();
        self.separate_in(formula, &free, &mut seen)
    }

    fn separate_in(&mut self, formula: &Formula, free: &BTreeSet<VarId>, seen: &mut BTreeSet<VarId>) -> Formula {
        match formula {
            Formula::Not(inner) => {
                let mut renaming = Substitution::default();
                for var in inner.variables().into_iter().filter(|var| !free.contains(var)) {
                    if !seen.insert(var) {
                        renaming.set(var, Term::Var(VarId(self.fresh)));
                        seen.insert(VarId(self.fresh));
                        self.fresh += 1;
                    }
                }
                let inner = renaming.formula(inner);
                // Inside, what is free there is shared by the negations within.
                let mut free = free.clone();
                free.extend(inner.free_variables());
                let mut within = free.clone();
                Formula::Not(Box::new(self.separate_in(&inner, &free, &mut within)))
            }
            Formula::And(parts) => Formula::And(parts.iter().map(|part| self.separate_in(part, free, seen)).collect()),
            Formula::Or(parts) => Formula::Or(parts.iter().map(|part| self.separate_in(part, free, seen)).collect()),
            other => other.clone(),
        }
    }

    /// Replaces atoms that no clause or one clause makes true. `room` says by how many state-dependent atoms the formula may
    /// grow.
    fn inline(&mut self, formula: &Formula, room: &mut usize) -> Formula {
        match formula {
            Formula::Atom(atom) => self.inline_atom(atom, room),
            Formula::Not(inner) => Formula::Not(Box::new(self.inline(inner, room))),
            Formula::And(parts) => Formula::And(parts.iter().map(|part| self.inline(part, room)).collect()),
            Formula::Or(parts) => Formula::Or(parts.iter().map(|part| self.inline(part, room)).collect()),
            other => other.clone(),
        }
    }

    fn inline_atom(&mut self, atom: &Atom, room: &mut usize) -> Formula {
        if matches!(atom.name, keyword::TRUE | keyword::DOES) {
            return Formula::Atom(atom.clone());
        }
        if atom.name == keyword::ROLE {
            let rows = self.rules.roles().into_iter().map(|role| vec![role]).collect();
            return Formula::Member(atom.args.clone(), Arc::new(rows));
        }
        let found = self.rules.unifying(atom, self.fresh, 2);
        match found.as_slice() {
            [] => Formula::falsehood(),
            // A recursion is followed no further than to its base.
            [(clause, renamed, _)]
                if self.inlined < MAX_INLINED
                    && (!self.rules.is_recursive(atom.relation()) || self.rules.is_base_case(clause)) =>
            {
                let own = usize::from(self.rules.is_state_dependent(atom.relation()));
                let atoms: usize = clause.body.iter().map(|part| self.rules.n_state_atoms(part)).sum();
                if atoms > own && atoms - own > *room {
                    return Formula::Atom(atom.clone());
                }
                *room = (*room).saturating_add(own).saturating_sub(atoms);
                self.inlined += 1;
                self.fresh = self.fresh.max(renamed.n_variables);
                let same = atom.args.iter().zip(&renamed.head.args);
                let same = same.map(|(arg, own)| Formula::Equal(arg.clone(), own.clone()));
                Formula::all(same.chain(renamed.body.iter().cloned()))
            }
            _ => Formula::Atom(atom.clone()),
        }
    }

    /// Solves equalities and cleans up. `None` if the formula can't hold.
    fn solve(&self, formula: Formula, mut terms: Vec<Term>) -> Option<(Formula, Vec<Term>)> {
        let mut formula = formula;
        for _ in 0..MAX_ROUNDS {
            // Step 1. The equalities of the outermost conjunction, for all of the formula and the terms.
            let mut unifier = Substitution::default();
            let mut rest = Vec::new();
            for part in Formula::all([formula.clone()]).conjuncts() {
                match part {
                    Formula::Equal(left, right) if !unifier.unify(left, right) => return None,
                    Formula::Equal(..) => {}
                    other => rest.push(other.clone()),
                }
            }
            let solved = unifier.formula(&Formula::all(rest));
            terms = terms.iter().map(|term| unifier.term(term)).collect();
            // Step 2. The rest, from the inside; the counted variables are not to be touched there.
            let mut kept = BTreeSet::new();
            terms.iter().for_each(|term| term.for_each_var(&mut |var| _ = kept.insert(var)));
            let tidy = self.tidy(&solved, &kept, true);
            if tidy == Formula::falsehood() {
                return None;
            }
            if tidy == formula {
                break;
            }
            formula = tidy;
        }
        Some((formula, terms))
    }

    /// Cleans up a formula. `outer` are the variables that occur outside of it and must keep their meaning.
    fn tidy(&self, formula: &Formula, outer: &BTreeSet<VarId>, top: bool) -> Formula {
        match formula {
            Formula::Atom(_) => formula.clone(),
            Formula::Equal(left, right) if left == right => Formula::truth(),
            Formula::Equal(left, right) if !unifiable(left, right) => Formula::falsehood(),
            Formula::Distinct(left, right) if left == right => Formula::falsehood(),
            Formula::Distinct(left, right) if !unifiable(left, right) => Formula::truth(),
            Formula::Equal(..) | Formula::Distinct(..) => self.tidy_all(std::slice::from_ref(formula), outer, top),
            Formula::Member(terms, rows) if terms.iter().all(Term::is_ground) => {
                if rows.contains(terms) {
                    Formula::truth()
                } else {
                    Formula::falsehood()
                }
            }
            Formula::Member(..) => formula.clone(),
            Formula::Not(inner) => match self.tidy(inner, outer, false) {
                Formula::And(parts) if parts.is_empty() => Formula::falsehood(),
                Formula::Or(parts) if parts.is_empty() => Formula::truth(),
                Formula::Or(parts) => Formula::all(parts.into_iter().map(|part| Formula::Not(Box::new(part)))),
                Formula::Not(inner) => *inner,
                Formula::Distinct(a, b) if known(&a, &b, outer) => Formula::Equal(a, b),
                Formula::Equal(a, b) if known(&a, &b, outer) => Formula::Distinct(a, b),
                inner => Formula::Not(Box::new(inner)),
            },
            Formula::And(parts) => self.tidy_all(parts, outer, top),
            Formula::Or(parts) => {
                let mut kept: Vec<Formula> = Vec::new();
                for part in parts {
                    match self.tidy(part, outer, false) {
                        Formula::And(inner) if inner.is_empty() => return Formula::truth(),
                        Formula::Or(inner) => kept.extend(inner),
                        other => kept.push(other),
                    }
                }
                let mut unique: Vec<Formula> = Vec::new();
                kept.into_iter().for_each(|part| push_new(&mut unique, part));
                if unique.len() == 1 { unique.remove(0) } else { Formula::Or(unique) }
            }
        }
    }

    fn tidy_all(&self, parts: &[Formula], outer: &BTreeSet<VarId>, top: bool) -> Formula {
        let mut counts: FxHashMap<VarId, usize> = FxHashMap::default();
        for part in parts {
            part.for_each_term(&mut |term| term.for_each_var(&mut |var| *counts.entry(var).or_default() += 1));
        }
        // A variable is alone here if it occurs once, and nowhere outside.
        let alone = |term: &Term| matches!(term, Term::Var(var) if counts[var] == 1 && !outer.contains(var));
        let mut kept: Vec<Formula> = Vec::new();
        let mut unifier = Substitution::default();
        for part in parts {
            let mut around = outer.clone();
            for other in parts.iter().filter(|other| !std::ptr::eq(*other, part)) {
                around.extend(other.variables());
            }
            let part = match part {
                Formula::Equal(..) | Formula::Distinct(..) if parts.len() == 1 => part.clone(),
                part => self.tidy(part, &around, false),
            };
            match part {
                Formula::Or(inner) if inner.is_empty() => return Formula::falsehood(),
                Formula::Distinct(left, right) if alone(&left) || alone(&right) => {
                    if !self.settings.unbound_differs {
                        return Formula::falsehood();
                    }
                }
                // At the top, equalities are solved with the list.
                Formula::Equal(left, right) if !top => {
                    let mut local = Substitution::default();
                    if !local.unify(&unifier.term(&left), &unifier.term(&right)) {
                        return Formula::falsehood();
                    }
                    for (var, term) in local.pairs() {
                        match (outer.contains(&var), &term) {
                            (false, _) => unifier.set(var, term),
                            (true, Term::Var(other)) if !outer.contains(other) => unifier.set(*other, Term::Var(var)),
                            _ => push_new(&mut kept, Formula::Equal(Term::Var(var), term)),
                        }
                    }
                }
                Formula::And(inner) => inner.into_iter().for_each(|part| push_new(&mut kept, part)),
                other => push_new(&mut kept, other),
            }
        }
        let mut unique = Vec::new();
        kept.iter().for_each(|part| push_new(&mut unique, unifier.formula(part)));
        Formula::all(unique)
    }
}

fn push_new(parts: &mut Vec<Formula>, part: Formula) {
    if !parts.contains(&part) {
        parts.push(part);
    }
}

/// Whether both terms have only such variables.
fn known(left: &Term, right: &Term, outer: &BTreeSet<VarId>) -> bool {
    let mut known = true;
    [left, right].into_iter().for_each(|term| term.for_each_var(&mut |var| known &= outer.contains(&var)));
    known
}

fn n_literals(formula: &Formula) -> usize {
    match formula {
        Formula::Not(inner) => n_literals(inner),
        Formula::And(parts) | Formula::Or(parts) => parts.iter().map(n_literals).sum(),
        _ => 1,
    }
}

/// The variables that have a value whenever the formula holds.
pub fn bound_variables(formula: &Formula) -> BTreeSet<VarId> {
    let mut bound = BTreeSet::new();
    match formula {
        Formula::Atom(_) | Formula::Member(..) => bound = formula.variables(),
        Formula::Distinct(..) | Formula::Not(_) | Formula::Equal(..) => {}
        Formula::Or(parts) => {
            let mut branches = parts.iter().map(bound_variables);
            bound = branches.next().unwrap_or_default();
            branches.for_each(|branch| bound.retain(|var| branch.contains(var)));
        }
        Formula::And(parts) => {
            parts.iter().for_each(|part| bound.extend(bound_variables(part)));
            // What is equal to something with a value has one, too.
            loop {
                let before = bound.len();
                for part in parts {
                    if let Formula::Equal(left, right) = part {
                        for (one, other) in [(left, right), (right, left)] {
                            let mut ready = true;
                            one.for_each_var(&mut |var| ready &= bound.contains(&var));
                            if ready {
                                other.for_each_var(&mut |var| _ = bound.insert(var));
                            }
                        }
                    }
                }
                if bound.len() == before {
                    break;
                }
            }
        }
    }
    bound
}

/// Whether every variable that is compared has a value by the formula itself, or by what stands around it.
pub fn is_safe(formula: &Formula) -> bool {
    fn check(formula: &Formula, around: &BTreeSet<VarId>) -> bool {
        match formula {
            Formula::Atom(_) | Formula::Member(..) => true,
            Formula::Equal(..) | Formula::Distinct(..) => formula.variables().is_subset(around),
            Formula::Not(inner) => {
                let mut around = around.clone();
                around.extend(bound_variables(inner));
                check(inner, &around)
            }
            Formula::And(parts) => {
                let mut around = around.clone();
                around.extend(bound_variables(formula));
                parts.iter().all(|part| check(part, &around))
            }
            Formula::Or(parts) => parts.iter().all(|part| {
                let mut around = around.clone();
                around.extend(bound_variables(part));
                check(part, &around)
            }),
        }
    }
    check(formula, &BTreeSet::new())
}

#[cfg(test)]
mod tests {
    use super::super::rules::tests::{formula, rules};
    use super::*;

    const TEXT: &str = "(role a) (role b) (succ 1 2) (succ 2 3) (fact a) (fact b) (two a b)
        (<= (p ?x) (true (p0 ?x))) (<= (p ?x) (true (p1 ?x)))
        (<= (q ?x) (true (q0 ?x))) (<= (q ?x) (true (q1 ?x)))
        (<= (one ?x) (true (f ?x ?y)) (succ ?x ?y))
        (<= (next (f ?x ?y)) (does ?x ?y)) (<= terminal (true c))";

    fn shown(text: &str, list: &[u32], settings: &Settings) -> String {
        let rules = rules(TEXT);
        let list = list.iter().map(|&var| VarId(var)).collect();
        match simplify(&rules, settings, &Feature::count(list, formula(&rules, text))) {
            Some(found) => format!("{:?} {}", found.list.iter().map(|var| var.0).collect::<Vec<_>>(), {
                found.formula.display(&rules.program.symbols)
            }),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn equalities_are_solved() {
        let both = [Settings::THESIS, Settings::LOGICAL];
        for settings in &both {
            let text = "(p ?x) (not (distinct ?x a)) (q ?y) (not (distinct ?y ?y2))";
            assert_eq!(shown(text, &[0, 1, 2], settings), "[1] (and (p a) (q ?1))");
            assert_eq!(shown("(p ?x) (not (distinct a b))", &[], settings), "none");
            assert_eq!(shown("(succ ?x ?y)", &[0], settings), "none");
            // One fact alone fits; one clause alone fits.
            assert_eq!(shown("(p ?x) (succ 1 ?x)", &[0], settings), "[] (p 2)");
            assert_eq!(shown("(one ?z)", &[0], settings), "[0] (and (true (f ?0 ?2)) (succ ?0 ?2))");
            // Under a negation, too.
            assert_eq!(shown("(p ?z) (not (two ?z ?y))", &[0], settings), "[0] (and (p ?0) (distinct ?0 a))");
            assert_eq!(shown("(p ?z) (p ?z) (or (q 1) (q 1))", &[0], settings), "[0] (and (p ?0) (q 1))");
            assert_eq!(shown("(not (or (p 1) (q 2)))", &[], settings), "[] (and (not (p 1)) (not (q 2)))");
            assert_eq!(shown("(p ?x) (or (and (succ 3 1) (q ?x)) (q 2))", &[0], settings), "[0] (and (p ?0) (q 2))");
        }
    }

    #[test]
    fn a_variable_that_is_alone_differs_from_all_or_from_none() {
        let text = "(p ?x) (distinct ?s ?x)";
        assert_eq!(shown(text, &[0], &Settings::THESIS), "none");
        assert_eq!(shown(text, &[0], &Settings::LOGICAL), "[0] (p ?0)");
    }

    #[test]
    fn unsafe_formulas_are_refused() {
        assert_eq!(shown("(p ?x) (distinct ?y ?z) (distinct ?y ?u) (distinct ?z ?u)", &[], &Settings::LOGICAL), "none");
    }

    #[test]
    fn long_bodies_are_not_inlined() {
        let rules = rules("(<= (l ?x) (true (f ?x 1)) (true (f ?x 2)) (true (f ?x 3))) (<= terminal (l ?x) (l ?y))");
        let feature = Feature::count(vec![], formula(&rules, "(l ?x) (l ?y)"));
        let settings = Settings { max_atoms: Some(4), ..Settings::LOGICAL };
        let found = simplify(&rules, &settings, &feature).expect("it may hold");
        assert_eq!(rules.n_state_atoms(&found.formula), 4);
        let found = simplify(&rules, &Settings::THESIS, &feature).expect("it may hold");
        assert_eq!(rules.n_state_atoms(&found.formula), 6);
    }

    /// A random formula over Tic-Tac-Toe.
    fn random_formula(rules: &Rules, random: &mut rand_pcg::Pcg64, depth: u32) -> Formula {
        use rand::RngExt;
        let mut pick = |of: &[&str]| -> Term {
            let at = random.random_range(0..of.len() + 4);
            match of.get(at) {
                Some(text) => Term::Const(rules.program.symbols.find(text).expect("the rules have it")),
                None => Term::Var(VarId((at - of.len()) as u32)),
            }
        };
        let (lines, marks, players) = (["1", "2", "3"], ["x", "o", "b"], ["xplayer", "oplayer"]);
        let name = |text: &str| rules.program.symbols.find(text).expect("the rules have it");
        let cell = Term::Func(name("cell"), Box::new([pick(&lines), pick(&lines), pick(&marks)]));
        let control = Term::Func(name("control"), Box::new([pick(&players)]));
        let (mark, line, other) = (pick(&marks), pick(&lines), pick(&lines));
        let atom = |name, args: Vec<Term>| Formula::Atom(Atom { name, args });
        let kind = random.random_range(0..if depth == 0 { 8 } else { 12 });
        let parts = |random: &mut rand_pcg::Pcg64| {
            let n = random.random_range(1..4);
            (0..n).map(|_| random_formula(rules, random, depth - 1)).collect::<Vec<_>>()
        };
        match kind {
            0 => atom(name("line"), vec![mark]),
            1 => atom(name("row"), vec![line, mark]),
            2 => atom(name("open"), vec![]),
            3 => atom(keyword::TRUE, vec![control]),
            4 => Formula::Equal(line, other),
            5 => Formula::Distinct(line, other),
            6 | 7 => atom(keyword::TRUE, vec![cell]),
            8 | 9 => Formula::And(parts(random)),
            10 => Formula::Or(parts(random)),
            _ => Formula::Not(Box::new(random_formula(rules, random, depth - 1))),
        }
    }

    #[test]
    fn simplifying_twice_changes_nothing_and_values_stay() {
        use super::super::rules::tests::library;
        use crate::reference::{Reference, Values};
        use rand::SeedableRng;
        let rules = library("tic-tac-toe");
        let mut states = Reference::random(&rules.program, 20, 100, 1);
        let (mut n_simplified, mut n_compared) = (0, 0);
        for seed in 0..10_000 {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let formula = Formula::all((0..3).map(|_| random_formula(&rules, &mut random, 2)));
            for settings in [Settings::THESIS, Settings::LOGICAL] {
                let bound = bound_variables(&formula);
                let feature = Feature::count(bound.iter().copied().collect(), formula.clone());
                let shown = formula.display(&rules.program.symbols).to_string();
                let simple = simplify(&rules, &settings, &feature);
                if let Some(simple) = &simple {
                    n_simplified += 1;
                    assert_eq!(simplify(&rules, &settings, simple).as_ref(), Some(simple), "{shown}");
                }
                // Where every variable has a value, the meaning is clear; equalities alone give none to the oracle.
                let clear = is_safe(&formula)
                    && formula.variables().iter().all(|var| bound.contains(var))
                    && rules.n_state_atoms(&formula) > 0;
                if settings == Settings::LOGICAL && clear && seed % 8 == 0 {
                    let Some(before) = states.values(&feature) else { continue };
                    match &simple {
                        Some(simple) => {
                            let after = states.values(simple);
                            n_compared += 1;
                            assert_eq!(after.as_ref(), Some(&before), "{shown}\n{}", {
                                simple.formula.display(&rules.program.symbols)
                            });
                        }
                        None => {
                            // It can't hold, or nothing in it depends on the state any more.
                            let same = before.iter().all(|value| *value == before[0]);
                            assert!(same, "{shown}");
                        }
                    }
                }
            }
        }
        assert!(n_simplified > 3_000 && n_compared > 100, "{n_simplified} {n_compared}");
    }
}
