//! The eight transformations.
//!
//! Each takes a feature and gives others: simplified, with their lists of counted variables, not yet trimmed. They act on
//! the conjuncts of the formula, never inside of negations or disjunctions.

use gdl::program::{Term, VarId};
use gdl::symbol::keyword;

use super::preimage::Preimages;
use super::rules::Rules;
use super::simplify::{self, bound_variables, simplify};
use super::unify::{Substitution, first_free};
use crate::feature::{Feature, Weight};
use crate::formula::{Atom, Formula};
use crate::reference::Values;

/// How features come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transformation {
    /// It is where generation starts.
    Root,
    /// A state-dependent conjunct was removed.
    RemoveConjunct,
    /// It is a part that has no variable in common with the rest.
    SplitIndependent,
    /// An atom was replaced by the body of one of its clauses.
    ExpandPredicate,
    /// A fluent was replaced by what makes it come to hold.
    Regress,
    /// A recursive atom was replaced by a base case.
    ExpandToBaseCase,
    /// A variable is no longer counted.
    RemoveVariable,
    /// A negation was removed.
    RemoveNegation,
    /// It is one of several alternatives.
    SplitDisjunction,
}

impl Transformation {
    /// All of them, roots first, in the order of the thesis's table.
    pub const ALL: [Transformation; 9] = [
        Transformation::Root,
        Transformation::RemoveConjunct,
        Transformation::SplitIndependent,
        Transformation::ExpandPredicate,
        Transformation::Regress,
        Transformation::ExpandToBaseCase,
        Transformation::RemoveVariable,
        Transformation::RemoveNegation,
        Transformation::SplitDisjunction,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Transformation::Root => "root",
            Transformation::RemoveConjunct => "remove-conjunct",
            Transformation::SplitIndependent => "split-indep-conjunctions",
            Transformation::ExpandPredicate => "expand-predicate",
            Transformation::Regress => "regress-formula",
            Transformation::ExpandToBaseCase => "expand-to-base-case",
            Transformation::RemoveVariable => "remove-variable",
            Transformation::RemoveNegation => "remove-negation",
            Transformation::SplitDisjunction => "split-disjunction",
        }
    }

    /// Which way the edge between a feature and what becomes of it goes: `Some(true)` if the new one is more abstract or less
    /// detailed, `Some(false)` if the old one is, `None` if they have nothing to do with each other.
    pub fn child_is_abstract(self) -> Option<bool> {
        match self {
            Transformation::RemoveConjunct | Transformation::SplitIndependent | Transformation::RemoveVariable => {
                Some(true)
            }
            Transformation::SplitDisjunction | Transformation::ExpandToBaseCase | Transformation::ExpandPredicate => {
                Some(false)
            }
            Transformation::RemoveNegation | Transformation::Regress | Transformation::Root => None,
        }
    }
}

/// The limits of the transformations.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How formulas are simplified.
    pub simplify: simplify::Settings,
    /// State-dependent atoms of a formula; one with more is dropped, unless it falls into independent parts.
    pub max_atoms: usize,
    /// A list with more variables loses all of them at once.
    pub max_list: usize,
    /// Formulas with fewer state-dependent atoms are regressed.
    pub regress_below: usize,
    /// Atoms with more unifying clauses are not expanded.
    pub max_clauses: usize,
    /// Whether an expanded feature counts all of its variables, or those of its parent and new ones.
    pub restore_expanded: bool,
}

impl Limits {
    /// Those of the thesis.
    pub const THESIS: Limits = Limits {
        simplify: simplify::Settings::THESIS,
        max_atoms: 8,
        max_list: 5,
        regress_below: 4,
        max_clauses: 4,
        restore_expanded: false,
    };
}

/// What transformations need.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The rules.
    pub rules: &'a Rules,
    /// What makes fluents come to hold.
    pub preimages: &'a Preimages,
    /// The limits.
    pub limits: &'a Limits,
}

impl Context<'_> {
    /// A feature by a formula and a list, simplified; `None` if it is not worth having. Free variables that are not older
    /// than `first_new` join the list.
    pub fn finish(&self, formula: &Formula, list: &[VarId], first_new: u32) -> Option<Feature> {
        // The list follows the variables of its own, so that those that others stand for are kept apart from new ones.
        let draft = Feature { weight: Weight::One, list: list.to_vec(), formula: formula.clone() };
        let mut feature = simplify(self.rules, &self.limits.simplify, &draft)?;
        for var in bound_variables(&feature.formula) {
            if var.0 >= first_new && !feature.list.contains(&var) {
                feature.list.push(var);
            }
        }
        let long = self.rules.n_state_atoms(&feature.formula) > self.limits.max_atoms;
        let fits = self.rules.is_valid(&feature.formula) && !(long && feature.formula.components().len() < 2);
        fits.then(|| compact(&feature))
    }

    /// A feature that counts all that its formula binds.
    pub fn restored(&self, formula: &Formula) -> Option<Feature> {
        self.finish(formula, &[], 0)
    }
}

/// The feature with its variables numbered by their first occurrence, and the list in that order.
pub fn compact(feature: &Feature) -> Feature {
    let mut order: Vec<VarId> = Vec::new();
    feature.formula.for_each_term(&mut |term| {
        term.for_each_var(&mut |var| {
            if !order.contains(&var) {
                order.push(var);
            }
        });
    });
    let place = |var: VarId| order.iter().position(|&other| other == var).map(|at| VarId(at as u32));
    fn rename(term: &Term, place: &impl Fn(VarId) -> Option<VarId>) -> Term {
        match term {
            Term::Var(var) => Term::Var(place(*var).expect("it was listed")),
            Term::Const(_) => term.clone(),
            Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| rename(arg, place)).collect()),
        }
    }
    let formula = feature.formula.map_terms(&mut |term| rename(term, &place));
    let mut list: Vec<VarId> = feature.list.iter().filter_map(|&var| place(var)).collect();
    list.sort_unstable();
    list.dedup();
    Feature { weight: feature.weight.map_variables(&mut |var| place(var).expect("it was listed")), list, formula }
}

/// Splits a conjunction whose parts have no variable in common.
pub fn split_independent(context: &Context, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.components();
    if parts.len() < 2 {
        return Vec::new();
    }
    parts.into_iter().filter_map(|part| context.restored(&Formula::all(part))).collect()
}

/// Removes one state-dependent conjunct; what does not depend on the state is the skeleton that stays.
pub fn remove_conjunct(context: &Context, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    if parts.len() < 2 {
        return Vec::new();
    }
    let free = feature.formula.free_variables();
    let mut found = Vec::new();
    for removed in (0..parts.len()).filter(|&at| context.rules.n_state_atoms(&parts[at]) > 0) {
        let rest = parts.iter().enumerate().filter(|(at, _)| *at != removed).map(|(_, part)| part.clone());
        let rest = Formula::all(rest);
        // A variable that only negations or comparisons are left of would change its meaning.
        let bound = bound_variables(&rest);
        let mut loose = false;
        for part in rest.conjuncts() {
            if matches!(part, Formula::Not(_) | Formula::Distinct(..) | Formula::Equal(..)) {
                loose |= part.variables().iter().any(|var| free.contains(var) && !bound.contains(var));
            }
        }
        if !loose {
            found.extend(context.restored(&rest));
        }
    }
    found
}

/// Leaves one variable out of the list, or all if there are many. Of features with the same values one is enough.
pub fn remove_variable(context: &Context, feature: &Feature, values: &mut dyn Values) -> Vec<Feature> {
    if feature.list.is_empty() {
        return Vec::new();
    }
    if feature.list.len() > context.limits.max_list {
        return vec![Feature { list: Vec::new(), ..feature.clone() }];
    }
    let mut found: Vec<(Feature, Option<Vec<i32>>)> = Vec::new();
    for (removed, own) in values.without_each(feature).into_iter().enumerate() {
        let mut child = feature.clone();
        child.list.remove(removed);
        if own.is_none() || !found.iter().any(|(_, other)| *other == own) {
            found.push((child, own));
        }
    }
    found.into_iter().map(|(child, _)| child).collect()
}

/// One feature for each alternative of a disjunction.
pub fn split_disjunction(context: &Context, feature: &Feature) -> Vec<Feature> {
    let Formula::Or(parts) = &feature.formula else { return Vec::new() };
    parts.iter().filter_map(|part| context.finish(part, &feature.list, first_free(&feature.formula))).collect()
}

/// Replaces a recursive atom by each of its base cases.
pub fn expand_to_base_case(context: &Context, feature: &Feature) -> Vec<Feature> {
    let rules = context.rules;
    expand(context, feature, |atom| rules.is_recursive(atom.relation()), true, usize::MAX)
}

/// Replaces an atom by the body of each of its clauses, if they are few.
pub fn expand_predicate(context: &Context, feature: &Feature) -> Vec<Feature> {
    let rules = context.rules;
    let expands = |atom: &Atom| atom.name != keyword::TRUE && !rules.is_recursive(atom.relation());
    expand(context, feature, expands, false, context.limits.max_clauses)
}

fn expand(
    context: &Context,
    feature: &Feature,
    wanted: impl Fn(&Atom) -> bool,
    bases: bool,
    max_clauses: usize,
) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    let first = first_free(&feature.formula);
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Formula::Atom(atom) = part else { continue };
        if !context.rules.is_state_dependent(atom.relation()) || !wanted(atom) {
            continue;
        }
        let ways = context.rules.unifying(atom, first, max_clauses.saturating_add(1));
        if ways.len() > max_clauses {
            continue;
        }
        for (clause, renamed, unifier) in ways {
            if bases && !context.rules.is_base_case(clause) {
                continue;
            }
            let formula = with_conjunct(parts, at, &Formula::all(renamed.body.iter().cloned()), &unifier);
            let list = follow(&feature.list, &unifier);
            let first_new = if context.limits.restore_expanded { 0 } else { first };
            found.extend(context.finish(&formula, &list, first_new));
        }
    }
    found
}

/// The conjunction with another formula in the place of a conjunct, and a unifier applied.
fn with_conjunct(parts: &[Formula], at: usize, other: &Formula, unifier: &Substitution) -> Formula {
    let parts = parts.iter().enumerate().map(|(index, part)| if index == at { other } else { part });
    Formula::all(parts.map(|part| unifier.formula(part)))
}

/// The variables of a list after a substitution.
fn follow(list: &[VarId], unifier: &Substitution) -> Vec<VarId> {
    let mut after = Vec::new();
    for &var in list {
        unifier.term(&Term::Var(var)).for_each_var(&mut |var| {
            if !after.contains(&var) {
                after.push(var);
            }
        });
    }
    after
}

/// The formula under a negation.
pub fn remove_negation(context: &Context, feature: &Feature) -> Vec<Feature> {
    let Formula::Not(inner) = &feature.formula else { return Vec::new() };
    context.restored(inner).into_iter().collect()
}

/// Replaces one fluent by what makes it come to hold.
pub fn regress(context: &Context, feature: &Feature) -> Vec<Feature> {
    if context.rules.n_state_atoms(&feature.formula) >= context.limits.regress_below {
        return Vec::new();
    }
    let parts = feature.formula.conjuncts();
    let first = first_free(&feature.formula);
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Formula::Atom(atom) = part else { continue };
        if atom.name != keyword::TRUE {
            continue;
        }
        for (body, unifier) in context.preimages.unifying(&atom.args[0], first) {
            found.extend(context.restored(&with_conjunct(parts, at, &body, &unifier)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::canonical::canonical;
    use super::super::preimage::tests::sampled;
    use super::super::rules::tests::{formula, library, rules};
    use super::*;
    use crate::reference::Reference;

    fn vars(numbers: &[u32]) -> Vec<VarId> {
        numbers.iter().map(|&var| VarId(var)).collect()
    }

    /// Features as text in canonical form.
    fn shown(rules: &Rules, features: &[Feature]) -> Vec<String> {
        let show = |feature: &Feature| {
            let feature = canonical(feature);
            let list: Vec<String> = feature.list.iter().map(|var| format!("?{}", var.0)).collect();
            format!("[{}] {}", list.join(" "), feature.formula.display(&rules.program.symbols))
        };
        features.iter().map(show).collect()
    }

    const LETTERS: &str = "(<= (p ?x ?y) (true (p ?x ?y))) (<= (p ?x ?y) (true (p2 ?x ?y)))
        (<= (q ?x ?y) (true (q ?x ?y))) (<= (q ?x ?y) (true (q2 ?x ?y))) (<= (r ?x) (true (r ?x))) (<= (r ?x) (true (r2 ?x)))
        (<= (s ?x) (true (s ?x))) (<= (s ?x) (true (s2 ?x))) (<= (t ?x) (true (t ?x))) (<= (t ?x) (true (t2 ?x))) (name u)";

    #[test]
    fn independent_parts_are_split() {
        let rules = rules(LETTERS);
        let preimages = Preimages::default();
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let whole = formula(&rules, "(p ?w ?x) (q ?x ?y) (r ?y) (s ?z) (t u)");
        let found = split_independent(&context, &Feature::count(vars(&[1, 3]), whole));
        let expected = ["(p ?w ?x) (q ?x ?y) (r ?y)", "(s ?z)", "(t u)"]
            .map(|text| context.restored(&formula(&rules, text)).expect("it may hold"));
        assert_eq!(shown(&rules, &found), shown(&rules, &expected));
        assert!(split_independent(&context, &found[0]).is_empty());
    }

    #[test]
    fn connect_four_keeps_its_skeleton() {
        // Four in a row: four fluents, three steps.
        let rules = rules(
            "(role w) (role r) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7)
             (<= (legal w (drop ?x)) (true (cell ?x 6 b))) (<= (legal r (drop ?x)) (true (cell ?x 6 b)))
             (<= (next (cell ?x ?y w)) (does w (drop ?x)) (true (cell ?x ?y b))) (<= terminal (true (cell 1 1 w)))",
        );
        let preimages = Preimages::new(&rules, &Limits::THESIS.simplify, &Default::default());
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let text = "(true (cell ?x1 ?y w)) (succ ?x1 ?x2) (true (cell ?x2 ?y w)) (succ ?x2 ?x3) (true (cell ?x3 ?y w))
             (succ ?x3 ?x4) (true (cell ?x4 ?y w))";
        let row = context.restored(&formula(&rules, text)).expect("it may hold");
        let found = remove_conjunct(&context, &row);
        assert_eq!(found.len(), 4);
        for child in &found {
            let steps = child.formula.conjuncts().iter().filter(|part| rules.n_state_atoms(part) == 0).count();
            assert_eq!((steps, child.formula.conjuncts().len()), (3, 6));
            assert!(!regress(&context, child).is_empty());
        }
        assert!(regress(&context, &row).is_empty());
    }

    #[test]
    fn long_formulas_are_dropped_unless_they_split() {
        let rules = library("eight-puzzle");
        let preimages = Preimages::default();
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let roots: Vec<Feature> = rules.goals_and_ends().iter().filter_map(|goal| context.restored(goal)).collect();
        let root =
            roots.into_iter().find(|root| root.formula.components().len() == 9).expect("the goal names nine cells");
        let parts = split_independent(&context, &root);
        assert_eq!(parts.len(), 9);
        assert!(parts.iter().all(|part| part.formula.conjuncts().len() == 1));
        let chain: Vec<String> = (0..9).map(|at| format!("(true (f ?v{at} ?v{}))", at + 1)).collect();
        let rules = super::super::rules::tests::rules("(<= (next (f ?x ?y)) (does ?x ?y)) (role r)");
        let context = Context { rules: &rules, ..context };
        assert_eq!(context.restored(&formula(&rules, &chain.join(" "))), None);
        assert!(context.restored(&formula(&rules, &chain[..8].join(" "))).is_some());
    }

    #[test]
    fn lines_of_tic_tac_toe() {
        let (rules, dynamics, _) = sampled("tic-tac-toe");
        let preimages = Preimages::new(&rules, &Limits::THESIS.simplify, &dynamics);
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let mut states = Reference::random(&rules.program, 100, 1_000, 1);
        let line = context.restored(&formula(&rules, "(line x)")).expect("it may hold");
        let found = expand_predicate(&context, &line);
        assert_eq!(found.len(), 3);
        // The row counts its number, until it is seen that it never matches.
        let row = context.restored(&formula(&rules, "(row ?m x)")).expect("it may hold");
        assert_eq!(canonical(&found[0]), canonical(&row));
        assert_eq!(row.list.len(), 1);
        let trimmed = states.trim(&row).expect("it has values");
        assert!(trimmed.list.is_empty());
        let row = Feature { list: trimmed.list, ..row };
        // Its third atom one move back: a threat and the turn, which are split at once.
        let threats = regress(&context, &row);
        assert_eq!(threats.len(), 3);
        let text = "(true (cell ?r 1 x)) (true (cell ?r 2 x)) (true (cell ?r 3 b)) (true (control xplayer))";
        let threat = context.restored(&formula(&rules, text)).expect("it may hold");
        assert_eq!(canonical(&threats[2]), canonical(&threat));
        let parts = split_independent(&context, &threats[2]);
        let lists: Vec<usize> = parts.iter().map(|part| part.list.len()).collect();
        assert_eq!(lists, [1, 0]);
        // What is under a negation can be counted without it.
        let full = context.restored(&formula(&rules, "(not open)")).expect("it may hold");
        assert!(full.list.is_empty());
        let blanks = remove_negation(&context, &full);
        let expected = Feature::count(vars(&[0, 1]), formula(&rules, "(true (cell ?m ?n b))"));
        assert_eq!(shown(&rules, &blanks), shown(&rules, &[expected]));
    }

    #[test]
    fn long_lists_lose_all_variables_at_once() {
        let rules = library("tic-tac-toe");
        let preimages = Preimages::default();
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let mut states = Reference::random(&rules.program, 50, 1_000, 1);
        let chain = "(true (cell ?a ?b ?m)) (true (cell ?b ?c ?m)) (true (cell ?c ?d ?m))";
        let five = context.restored(&formula(&rules, chain)).expect("it may hold");
        assert_eq!(five.list.len(), 5);
        let found = remove_variable(&context, &five, &mut states);
        assert!(found.len() <= 5 && found.iter().all(|child| child.list.len() == 4));
        let values: Vec<_> = found.iter().map(|child| states.values(child)).collect();
        assert!((0..values.len()).all(|at| !values[..at].contains(&values[at])));
        let longer = format!("{chain} (true (cell ?d ?e ?m))");
        let six = context.restored(&formula(&rules, &longer)).expect("it may hold");
        assert_eq!(six.list.len(), 6);
        let found = remove_variable(&context, &six, &mut states);
        assert_eq!(found.len(), 1);
        assert!(found[0].list.is_empty());
    }
}
