//! Further ways from one feature to others, beyond the eight: they repair what the thesis found its own generator to miss.
//!
//! Recursion is unrolled a little, long formulas are taken in pieces, constants become variables and variables constants,
//! numbers are read instead of counted, and features are joined with whose turn it is.

use gdl::program::{Term, VarId};
use gdl::symbol::keyword;

use super::domain::Domains;
use super::simplify::bound_variables;
use super::transform::{Context, compact};
use super::unify::{Substitution, first_free};
use crate::feature::{Feature, Weight};
use crate::formula::{Atom, Formula};

/// Clauses of an atom that are looked at, and constants that become variables, at most.
const MAX_VALUES: usize = 8;
/// A variable with more values is not replaced by each of them.
const MAX_SPECIAL: usize = 4;
/// State-dependent atoms of a piece of a long formula.
const PIECE: usize = 3;

/// The clauses of a recursive atom, one step each.
pub fn unroll(context: &Context, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    let first = first_free(&feature.formula);
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Formula::Atom(atom) = part else { continue };
        if !context.rules.is_recursive(atom.relation()) || !context.rules.is_state_dependent(atom.relation()) {
            continue;
        }
        for (_, renamed, unifier) in context.rules.unifying(atom, first, MAX_VALUES) {
            let rest = parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, part)| part.clone());
            let whole = unifier.formula(&Formula::all(renamed.body.iter().cloned().chain(rest)));
            found.extend(whole_or_pieces(context, &whole));
        }
    }
    found
}

/// The bodies of an atom's clauses without the rest of the formula, in pieces where they are long.
pub fn expand_in_pieces(context: &Context, feature: &Feature) -> Vec<Feature> {
    let first = first_free(&feature.formula);
    let mut found = Vec::new();
    for part in feature.formula.conjuncts() {
        let Formula::Atom(atom) = part else { continue };
        if atom.name == keyword::TRUE || !context.rules.is_state_dependent(atom.relation()) {
            continue;
        }
        for (_, renamed, unifier) in context.rules.unifying(atom, first, MAX_VALUES) {
            let body = unifier.formula(&Formula::all(renamed.body.iter().cloned()));
            found.extend(whole_or_pieces(context, &body));
        }
    }
    found
}

/// The formula as a feature or, if it is too long, its pieces.
fn whole_or_pieces(context: &Context, formula: &Formula) -> Vec<Feature> {
    match context.restored(formula) {
        Some(feature) => vec![feature],
        None if context.rules.n_state_atoms(formula) > PIECE => {
            pieces(context, formula).iter().filter_map(|piece| context.restored(piece)).collect()
        }
        None => Vec::new(),
    }
}

/// Short connected parts of a conjunction: each state-dependent conjunct with a few others that it shares variables with,
/// and everything static that these need.
pub fn pieces(context: &Context, formula: &Formula) -> Vec<Formula> {
    let parts = formula.conjuncts();
    let depends = |part: &Formula| context.rules.n_state_atoms(part) > 0;
    let mut found: Vec<Formula> = Vec::new();
    for seed in (0..parts.len()).filter(|&at| depends(&parts[at])) {
        let mut chosen = vec![seed];
        let mut vars = parts[seed].free_variables();
        let mut n_atoms = context.rules.n_state_atoms(&parts[seed]);
        loop {
            let next = (0..parts.len()).find(|&at| {
                let near = !parts[at].variables().is_disjoint(&vars);
                let room = n_atoms + context.rules.n_state_atoms(&parts[at]) <= PIECE;
                !chosen.contains(&at) && near && room
            });
            let Some(next) = next else { break };
            chosen.push(next);
            vars.extend(parts[next].free_variables());
            n_atoms += context.rules.n_state_atoms(&parts[next]);
        }
        chosen.sort_unstable();
        // Negations of what nothing else binds would mean something else.
        let piece = Formula::all(chosen.iter().map(|&at| parts[at].clone()));
        let bound = bound_variables(&piece);
        let kept = piece.conjuncts().iter().filter(|part| {
            matches!(part, Formula::Atom(_) | Formula::Member(..) | Formula::Or(_))
                || part.variables().iter().all(|var| bound.contains(var))
        });
        let piece = Formula::all(kept.cloned());
        if n_atoms > 0 && !found.contains(&piece) {
            found.push(piece);
        }
    }
    found
}

/// One feature for each alternative of a disjunction among the conjuncts.
pub fn split_inner_disjunction(context: &Context, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    let Some(at) = parts.iter().position(|part| matches!(part, Formula::Or(_))) else { return Vec::new() };
    let Formula::Or(ways) = &parts[at] else { return Vec::new() };
    let with = |way: &Formula| {
        Formula::all(parts.iter().enumerate().map(|(other, part)| if other == at { way.clone() } else { part.clone() }))
    };
    ways.iter().filter_map(|way| context.restored(&with(way))).collect()
}

/// What stands under the negations among the conjuncts, each with the rest and alone.
pub fn affirm(context: &Context, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate().filter(|_| parts.len() > 1) {
        let Formula::Not(inner) = part else { continue };
        let rest = parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, part)| part.clone());
        found.extend(context.restored(&Formula::all(rest.chain([(**inner).clone()]))));
        found.extend(context.restored(inner));
    }
    found
}

/// A constant in a fluent becomes a variable that is counted.
pub fn generalize(context: &Context, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    let fresh = first_free(&feature.formula);
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Formula::Atom(atom) = part else { continue };
        let [Term::Func(name, args)] = atom.args.as_slice() else { continue };
        if atom.name != keyword::TRUE {
            continue;
        }
        for place in (0..args.len()).filter(|&place| args[place].is_ground()).take(MAX_VALUES) {
            let mut args = args.clone();
            args[place] = Term::Var(VarId(fresh));
            let general = Formula::Atom(Atom { name: atom.name, args: vec![Term::Func(*name, args)] });
            let mut parts = parts.to_vec();
            parts[at] = general;
            let mut list = feature.list.clone();
            list.push(VarId(fresh));
            found.extend(context.finish(&Formula::all(parts), &list, fresh));
        }
    }
    found
}

/// A variable becomes each of the few values that it can have.
pub fn specialize(domains: &Domains, feature: &Feature) -> Vec<Feature> {
    if feature.weight != Weight::One {
        return Vec::new();
    }
    let mut found = Vec::new();
    for var in bound_variables(&feature.formula) {
        let Some(values) = domains.of_variable(&feature.formula, var) else { continue };
        if !(2..=MAX_SPECIAL).contains(&values.len()) {
            continue;
        }
        for value in values {
            let mut special = Substitution::default();
            special.set(var, value.clone());
            let list: Vec<VarId> = feature.list.iter().copied().filter(|&other| other != var).collect();
            let formula = special.formula(&feature.formula);
            found.push(compact(&Feature::count(list, formula)));
        }
    }
    found
}

/// Sums instead of counts: the places of a variable's values in their order, or one value against another.
pub fn weigh(domains: &Domains, feature: &Feature) -> Vec<Feature> {
    if feature.weight != Weight::One || feature.formula.components().len() > 1 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for var in bound_variables(&feature.formula) {
        let Some(values) = domains.of_variable(&feature.formula, var) else { continue };
        let mut list = feature.list.clone();
        if !list.contains(&var) {
            list.push(var);
            list.sort_unstable();
        }
        if let Some(order) = domains.order(values) {
            found.push(Feature::sum(Weight::Place { var, order }, list.clone(), feature.formula.clone()));
        }
        if values.len() <= 4 {
            for (at, plus) in values.iter().enumerate() {
                for minus in &values[at + 1..] {
                    let weight = Domains::difference(var, plus, minus);
                    found.push(Feature::sum(weight, list.clone(), feature.formula.clone()));
                }
            }
        }
    }
    found
}

/// The feature in the states in which a role is to move.
pub fn with_turn(domains: &Domains, feature: &Feature) -> Vec<Feature> {
    let parts = feature.formula.conjuncts();
    if domains.turns.iter().any(|turn| parts.contains(turn)) {
        return Vec::new();
    }
    domains
        .turns
        .iter()
        .map(|turn| Feature { formula: Formula::all(parts.iter().cloned().chain([turn.clone()])), ..feature.clone() })
        .collect()
}

/// The independent parts of a feature, each also with the conjunct that says whose turn it is.
pub fn parts_with_turn(context: &Context, domains: &Domains, feature: &Feature) -> Vec<Feature> {
    let groups = feature.formula.components();
    let is_turn = |group: &[Formula]| matches!(group, [part] if domains.turns.contains(part));
    let mut found = Vec::new();
    for turn in groups.iter().filter(|group| is_turn(group)) {
        for other in groups.iter().filter(|group| !is_turn(group)) {
            found.extend(context.restored(&Formula::all(other.iter().chain(turn).cloned())));
        }
    }
    found
}
