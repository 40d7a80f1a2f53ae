//! One form for all features that differ in the names of variables and the order of conjuncts alone.
//!
//! Variables are coloured by where they occur, until that tells no more of them apart (colour refinement); if several have
//! the same colour, each of them is tried first, and the smallest result is the canonical form. Variables that can be
//! exchanged without a change need one trial only, and of trials that lead to different colourings only those with the
//! least are followed. Trials that look alike nearly always are alike, so that the search ends after a few; only where they
//! differ after all might the form depend on the order.

use gdl::program::{Term, VarId};
use rustc_hash::FxHashMap;

use super::stable::hash;
use crate::feature::{Feature, Weight};
use crate::formula::Formula;

/// Complete colourings that are compared.
const MAX_LEAVES: usize = 24;
/// The most variables that are told apart. Features that anybody would want have a few; with more, the form depends on the
/// order of conjuncts.
const MAX_VARIABLES: usize = 64;

/// The feature with its variables numbered and its conjuncts and disjuncts sorted in a way that depends on its meaning
/// alone. Repeats in conjunctions and disjunctions are dropped, and nested ones are flattened.
pub fn canonical(feature: &Feature) -> Feature {
    let mut formula = sorted(&flatten(&feature.formula));
    loop {
        let again = sorted(&flatten(&formula));
        if again == formula {
            break;
        }
        formula = again;
    }
    let flat = Feature { formula, ..feature.clone() };
    let vars: Vec<VarId> = flat.formula.variables().into_iter().collect();
    if vars.len() > MAX_VARIABLES {
        return thesis_key(&flat);
    }
    let mut colours: FxHashMap<VarId, u64> = FxHashMap::default();
    for &var in &vars {
        colours.insert(var, hash(&(flat.list.contains(&var), weighs(&flat.weight, var))));
    }
    let mut search = Search { feature: &flat, vars: &vars, best: None, leaves: 0 };
    search.descend(colours);
    search.best.expect("at least one colouring is complete")
}

/// The key of the thesis: variables numbered by their first occurrence from left to right, then everything sorted. Formulas
/// that differ in the order of conjuncts may have different keys.
pub fn thesis_key(feature: &Feature) -> Feature {
    let mut number: FxHashMap<VarId, u32> = FxHashMap::default();
    feature.formula.for_each_term(&mut |term| {
        term.for_each_var(&mut |var| {
            let next = number.len() as u32;
            number.entry(var).or_insert(next);
        });
    });
    renumbered(feature, &number)
}

/// The weight with this variable told apart from all others.
fn weighs(weight: &Weight, var: VarId) -> Weight {
    weight.map_variables(&mut |other| VarId(u32::from(other == var)))
}

fn renumbered(feature: &Feature, number: &FxHashMap<VarId, u32>) -> Feature {
    let formula = sorted(&feature.formula.map_terms(&mut |term| rename(term, number)));
    let mut list: Vec<VarId> = feature.list.iter().filter_map(|var| number.get(var).map(|&to| VarId(to))).collect();
    list.sort_unstable();
    Feature { weight: feature.weight.map_variables(&mut |var| VarId(number[&var])), list, formula }
}

fn rename(term: &Term, number: &FxHashMap<VarId, u32>) -> Term {
    match term {
        Term::Var(var) => Term::Var(VarId(number[var])),
        Term::Const(_) => term.clone(),
        Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| rename(arg, number)).collect()),
    }
}

fn flatten(formula: &Formula) -> Formula {
    match formula {
        Formula::And(parts) => Formula::all(parts.iter().map(flatten)),
        Formula::Or(parts) => {
            let mut flat = Vec::new();
            for part in parts.iter().map(flatten) {
                match part {
                    Formula::Or(inner) => flat.extend(inner),
                    other => flat.push(other),
                }
            }
            if flat.len() == 1 { flat.remove(0) } else { Formula::Or(flat) }
        }
        Formula::Not(inner) => Formula::Not(Box::new(flatten(inner))),
        other => other.clone(),
    }
}

fn sorted(formula: &Formula) -> Formula {
    let each = |parts: &[Formula]| {
        let mut parts: Vec<Formula> = parts.iter().map(sorted).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    };
    match formula {
        Formula::And(parts) => Formula::all(each(parts)),
        Formula::Or(parts) => {
            let mut parts = each(parts);
            if parts.len() == 1 { parts.remove(0) } else { Formula::Or(parts) }
        }
        Formula::Not(inner) => Formula::Not(Box::new(sorted(inner))),
        Formula::Member(terms, rows) if !rows.is_sorted() => {
            let mut rows = rows.to_vec();
            rows.sort_unstable();
            Formula::Member(terms.clone(), rows.into())
        }
        Formula::Equal(a, b) if b < a => Formula::Equal(b.clone(), a.clone()),
        Formula::Distinct(a, b) if b < a => Formula::Distinct(b.clone(), a.clone()),
        other => other.clone(),
    }
}

struct Search<'a> {
    feature: &'a Feature,
    vars: &'a [VarId],
    best: Option<Feature>,
    leaves: usize,
}

impl Search<'_> {
    fn descend(&mut self, mut colours: FxHashMap<VarId, u64>) {
        if self.leaves >= MAX_LEAVES {
            return;
        }
        self.refine(&mut colours);
        let mut classes: Vec<(u64, Vec<VarId>)> = Vec::new();
        let mut order: Vec<VarId> = self.vars.to_vec();
        order.sort_by_key(|var| colours[var]);
        for var in order {
            match classes.last_mut() {
                Some((colour, members)) if *colour == colours[&var] => members.push(var),
                _ => classes.push((colours[&var], vec![var])),
            }
        }
        let Some((colour, members)) = classes.iter().find(|(_, members)| members.len() > 1) else {
            self.leaves += 1;
            let number = classes.iter().map(|(_, members)| members[0]).zip(0..).collect();
            let leaf = renumbered(self.feature, &number);
            if self.best.as_ref().is_none_or(|best| leaf < *best) {
                self.best = Some(leaf);
            }
            return;
        };
        let mut tried: Vec<(Vec<u64>, VarId, FxHashMap<VarId, u64>)> = Vec::new();
        for &var in members {
            if tried.iter().any(|(_, other, _)| self.exchangeable(var, *other)) {
                continue;
            }
            let mut next = colours.clone();
            next.insert(var, hash(&(colour, "first")));
            self.refine(&mut next);
            let mut trace: Vec<u64> = next.values().copied().collect();
            trace.sort_unstable();
            tried.push((trace, var, next));
        }
        let least = tried.iter().map(|(trace, ..)| trace).min().cloned();
        for (_, _, next) in tried.into_iter().filter(|(trace, ..)| Some(trace) == least.as_ref()) {
            self.descend(next);
        }
    }

    /// Whether exchanging two variables gives the same feature.
    fn exchangeable(&self, a: VarId, b: VarId) -> bool {
        let number = |var: &VarId| match *var {
            var if var == a => b.0,
            var if var == b => a.0,
            var => var.0,
        };
        let swap: FxHashMap<VarId, u32> = self.vars.iter().map(|var| (*var, number(var))).collect();
        let keep: FxHashMap<VarId, u32> = self.vars.iter().map(|var| (*var, var.0)).collect();
        renumbered(self.feature, &swap) == renumbered(self.feature, &keep)
    }

    fn refine(&self, colours: &mut FxHashMap<VarId, u64>) {
        let mut n_colours = 0;
        loop {
            let mut seen: Vec<u64> = colours.values().copied().collect();
            seen.sort_unstable();
            seen.dedup();
            if seen.len() == self.vars.len() || seen.len() == n_colours {
                return;
            }
            n_colours = seen.len();
            let mut occurrences: FxHashMap<VarId, Vec<u64>> = FxHashMap::default();
            context(&self.feature.formula, 0, colours, &mut occurrences);
            for (var, list) in &mut occurrences {
                list.sort_unstable();
                let colour = hash(&(colours[var], &*list));
                colours.insert(*var, colour);
            }
        }
    }
}

/// Notes for each variable where it occurs: the hash of the literal, the place in it, and the hashes of what is around.
fn context(formula: &Formula, around: u64, colours: &FxHashMap<VarId, u64>, found: &mut FxHashMap<VarId, Vec<u64>>) {
    let own = hash(&(around, formula_hash(formula, colours)));
    match formula {
        Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| context(part, own, colours, found)),
        Formula::Not(inner) => context(inner, own, colours, found),
        literal => {
            let symmetric = matches!(literal, Formula::Equal(..) | Formula::Distinct(..));
            let mut place = 0u32;
            let mut side = 0u32;
            literal.for_each_term(&mut |term| {
                side += 1;
                let start = if symmetric { 0 } else { side << 16 };
                place = start;
                term.for_each_var(&mut |var| {
                    place += 1;
                    found.entry(var).or_default().push(hash(&(own, place)));
                });
            });
        }
    }
}

fn formula_hash(formula: &Formula, colours: &FxHashMap<VarId, u64>) -> u64 {
    let term = |term: &Term| term_hash(term, colours);
    let sorted = |mut hashes: Vec<u64>| {
        hashes.sort_unstable();
        hashes
    };
    match formula {
        Formula::Atom(atom) => hash(&(0, atom.name, atom.args.iter().map(term).collect::<Vec<u64>>())),
        Formula::Equal(a, b) => hash(&(1, sorted(vec![term(a), term(b)]))),
        Formula::Distinct(a, b) => hash(&(2, sorted(vec![term(a), term(b)]))),
        Formula::Member(terms, rows) => hash(&(3, terms.iter().map(term).collect::<Vec<u64>>(), rows)),
        Formula::Not(inner) => hash(&(4, formula_hash(inner, colours))),
        Formula::And(parts) => hash(&(5, sorted(parts.iter().map(|part| formula_hash(part, colours)).collect()))),
        Formula::Or(parts) => hash(&(6, sorted(parts.iter().map(|part| formula_hash(part, colours)).collect()))),
    }
}

fn term_hash(term: &Term, colours: &FxHashMap<VarId, u64>) -> u64 {
    match term {
        Term::Var(var) => hash(&(0, colours[var])),
        Term::Const(name) => hash(&(1, name)),
        Term::Func(name, args) => {
            hash(&(2, name, args.iter().map(|arg| term_hash(arg, colours)).collect::<Vec<u64>>()))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::formula::Atom;
    use crate::logic::unify::tests::symbol;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::seq::SliceRandom;

    fn atom(name: u32, args: &[u32]) -> Formula {
        // Arguments below 10 are variables, the others constants.
        let args = args.iter().map(|&arg| if arg < 10 { Term::Var(VarId(arg)) } else { Term::Const(symbol(arg)) });
        Formula::Atom(Atom { name: symbol(name), args: args.collect() })
    }

    #[test]
    fn the_key_of_the_thesis_depends_on_the_order() {
        let one = Feature::count(vec![], Formula::And(vec![atom(60, &[0]), atom(61, &[1])]));
        let other = Feature::count(vec![], Formula::And(vec![atom(61, &[1]), atom(60, &[0])]));
        assert_ne!(thesis_key(&one), thesis_key(&other));
        assert_eq!(canonical(&one), canonical(&other));
    }

    #[test]
    fn symmetric_formulas_are_no_trouble() {
        // Nine variables that could be exchanged at will.
        let parts: Vec<Formula> = (0..9).map(|var| atom(60, &[var, 20])).collect();
        let one = Feature::count((0..9).map(VarId).collect(), Formula::And(parts.clone()));
        let other = Feature::count((0..9).map(VarId).collect(), Formula::And(parts.into_iter().rev().collect()));
        assert_eq!(canonical(&one), canonical(&other));
        // A cycle of six is not two cycles of three, though refinement can't tell them apart.
        let cycle = |pairs: &[(u32, u32)]| {
            Feature::count(vec![], Formula::And(pairs.iter().map(|&(a, b)| atom(60, &[a, b])).collect()))
        };
        let six = cycle(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]);
        let again = cycle(&[(3, 0), (0, 5), (5, 1), (1, 4), (4, 2), (2, 3)]);
        let threes = cycle(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]);
        assert_eq!(canonical(&six), canonical(&again));
        assert_ne!(canonical(&six), canonical(&threes));
    }

    pub(crate) fn any_formula() -> impl Strategy<Value = Formula> {
        let arg = prop_oneof![0u32..6, 20u32..23];
        let literal = prop_oneof![
            4 => (60u32..63, prop::collection::vec(arg.clone(), 1..4)).prop_map(|(name, args)| atom(name, &args)),
            1 => (0u32..6, 0u32..6).prop_map(|(a, b)| Formula::Distinct(Term::Var(VarId(a)), Term::Var(VarId(b)))),
        ];
        literal.prop_recursive(2, 10, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(Formula::And),
                prop::collection::vec(inner.clone(), 2..3).prop_map(Formula::Or),
                inner.prop_map(|inner| Formula::Not(Box::new(inner))),
            ]
        })
    }

    fn shuffled(formula: &Formula, random: &mut rand_pcg::Pcg64) -> Formula {
        let mut each = |parts: &[Formula]| {
            let mut parts: Vec<Formula> = parts.iter().map(|part| shuffled(part, random)).collect();
            parts.shuffle(random);
            parts
        };
        match formula {
            Formula::And(parts) => Formula::And(each(parts)),
            Formula::Or(parts) => Formula::Or(each(parts)),
            Formula::Not(inner) => Formula::Not(Box::new(shuffled(inner, random))),
            Formula::Distinct(a, b) => Formula::Distinct(b.clone(), a.clone()),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn renaming_and_permuting_make_no_new_feature(
            parts in prop::collection::vec(any_formula(), 1..6),
            list in prop::collection::btree_set(0u32..6, 0..4),
            seed in 0u64..1_000_000,
        ) {
            let formula = Formula::all(parts);
            let list: Vec<VarId> = list.into_iter().map(VarId).filter(|var| formula.variables().contains(var)).collect();
            let feature = Feature::count(list, formula);
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let mut names: Vec<u32> = (0..9).collect();
            names.shuffle(&mut random);
            let number: FxHashMap<VarId, u32> = (0..9).map(|var| (VarId(var), names[var as usize])).collect();
            let mut list: Vec<VarId> = feature.list.iter().map(|var| VarId(number[var])).collect();
            list.shuffle(&mut random);
            let formula = shuffled(&feature.formula.map_terms(&mut |term| rename(term, &number)), &mut random);
            let other = Feature::count(list, formula);
            prop_assert_eq!(canonical(&feature), canonical(&other));
            // The form is its own.
            prop_assert_eq!(canonical(&canonical(&feature)), canonical(&feature));
        }
    }
}
