//! Where best-first generation starts: goals and ends, moves, fluents, and what the rules define about a state.

use std::sync::Arc;

use gdl::program::{Relation, Term, VarId};
use gdl::symbol::{SymbolId, keyword};

use super::domain::Domains;
use super::transform::Context;
use super::vary;
use crate::feature::{Feature, Weight};
use crate::formula::{Atom, Formula};

/// A first feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// The feature.
    pub feature: Feature,
    /// What it is about.
    pub about: About,
}

/// What a root is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum About {
    /// A goal, or the end.
    Goal,
    /// What a role may do.
    Moves,
    /// What holds.
    Fluents,
    /// What the rules derive from that.
    Relations,
}

/// An argument is fixed to each of its values if there are at most so many.
const MAX_FIXED: usize = 16;

/// The roots, most promising first, each once.
pub fn roots(context: &Context, domains: &Domains) -> Vec<Root> {
    let mut found: Vec<Root> = Vec::new();
    let mut add = |feature: Feature, about: About| {
        if !found.iter().any(|root| root.feature == feature) {
            found.push(Root { feature, about });
        }
    };
    // Step 1. Goals and ends, in pieces where they are long, and how much of them is reached.
    for body in context.rules.goals_and_ends() {
        match context.restored(&body) {
            Some(root) => {
                agreement(&root.formula).into_iter().for_each(|feature| add(feature, About::Goal));
                add(root, About::Goal);
            }
            None => {
                let pieces = vary::pieces(context, &body);
                pieces.iter().filter_map(|piece| context.restored(piece)).for_each(|root| add(root, About::Goal));
            }
        }
    }
    // Step 2. Moves: how many a role has, and how many of each kind.
    for (role, name) in domains.roles.iter().enumerate() {
        let of_role = |chosen: Term, n: u32| {
            let atom = Atom { name: keyword::LEGAL, args: vec![name.clone(), chosen] };
            Feature::count((0..n).map(VarId).collect(), Formula::Atom(atom))
        };
        add(of_role(Term::Var(VarId(0)), 1), About::Moves);
        for &(of, functor) in domains.moves.keys() {
            if of == role {
                add(of_role(open(functor.name, functor.arity), functor.arity), About::Moves);
            }
        }
    }
    // Step 3. Fluents: how many of each kind, and how many with a certain argument.
    for (&functor, arguments) in &domains.fluents {
        let atom = |fluent: Term| Atom { name: keyword::TRUE, args: vec![fluent] };
        let build = |args: Vec<Term>| {
            if args.is_empty() { Term::Const(functor.name) } else { Term::Func(functor.name, args.into()) }
        };
        for feature in counts(functor, arguments, &|args| atom(build(args))) {
            vary::weigh(domains, &feature).into_iter().for_each(|sum| add(sum, About::Fluents));
            add(feature, About::Fluents);
        }
    }
    // Step 4. What is defined.
    for (&relation, arguments) in &domains.relations {
        for feature in counts(relation, arguments, &|args| Atom { name: relation.name, args }) {
            vary::weigh(domains, &feature).into_iter().for_each(|sum| add(sum, About::Relations));
            add(feature, About::Relations);
        }
    }
    found.sort_by_key(|root| (root.about, root.feature.weight != Weight::One));
    found
}

/// How many of the fluents that a formula names hold; if it names one alone, how many of its arguments are right.
fn agreement(formula: &Formula) -> Option<Feature> {
    let fluent = |part: &Formula| match part {
        Formula::Atom(atom) if atom.name == keyword::TRUE && atom.args[0].is_ground() => Some(atom.args[0].clone()),
        _ => None,
    };
    let truth = |fluent: Term| Formula::Atom(Atom { name: keyword::TRUE, args: vec![fluent] });
    let listed = |values: Vec<Term>| {
        let rows = values.into_iter().map(|value| vec![value]).collect();
        Formula::Member(vec![Term::Var(VarId(0))], Arc::new(rows))
    };
    let mut fluents: Vec<Term> = formula.conjuncts().iter().filter_map(fluent).collect();
    fluents.sort_unstable();
    match fluents.as_slice() {
        [Term::Func(name, args)] if args.len() > 2 && formula.conjuncts().len() == 1 => {
            let mut values = args.to_vec();
            values.sort_unstable();
            values.dedup();
            // The value tells the places apart, so that it must not be in two of them.
            if values.len() < args.len() {
                return None;
            }
            let mut ways = Vec::new();
            for (place, value) in args.iter().enumerate() {
                let vars = (0..args.len()).map(|at| Term::Var(VarId((1 + place * args.len() + at) as u32)));
                let mut args: Box<[Term]> = vars.collect();
                args[place] = value.clone();
                ways.push(Formula::And(vec![listed(vec![value.clone()]), truth(Term::Func(*name, args))]));
            }
            Some(Feature::count(vec![VarId(0)], Formula::Or(ways)))
        }
        [_, _, ..] => {
            let parts = vec![truth(Term::Var(VarId(0))), listed(fluents)];
            Some(Feature::count(vec![VarId(0)], Formula::And(parts)))
        }
        _ => None,
    }
}

fn open(name: SymbolId, arity: u32) -> Term {
    if arity == 0 { Term::Const(name) } else { Term::Func(name, (0..arity).map(|var| Term::Var(VarId(var))).collect()) }
}

/// Counts of atoms: of all, and of those with one argument fixed.
fn counts(functor: Relation, arguments: &[Vec<Term>], atom: &dyn Fn(Vec<Term>) -> Atom) -> Vec<Feature> {
    let n = functor.arity;
    let vars = || (0..n).map(|var| Term::Var(VarId(var))).collect::<Vec<Term>>();
    let mut found = vec![Feature::count((0..n).map(VarId).collect(), Formula::Atom(atom(vars())))];
    for (place, values) in arguments.iter().enumerate() {
        if (2..=MAX_FIXED).contains(&values.len()) {
            for value in values {
                let mut args = vars();
                args[place] = value.clone();
                let list = (0..n).map(VarId).filter(|var| var.0 as usize != place).collect();
                found.push(Feature::count(list, Formula::Atom(atom(args))));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::preimage::Preimages;
    use super::super::rules::tests::{formula, rules};
    use super::super::transform::Limits;
    use super::*;
    use crate::reference::{Reference, Values};

    #[test]
    fn how_much_of_a_goal_is_reached() {
        let rules = rules(
            "(role r) (<= (goal r 100) (true (at a 1)) (true (at b 2)) (true (at c 3))) (<= terminal (true (order a b c)))
             (<= (next (at ?x ?y)) (does r (put ?x ?y))) (<= (next (order ?x ?y ?z)) (does r (sort ?x ?y ?z)))",
        );
        let preimages = Preimages::default();
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let counts: Vec<Feature> = roots(&context, &Domains::default())
            .into_iter()
            .map(|root| root.feature)
            .filter(|root| !root.list.is_empty())
            .collect();
        let fluents = |texts: &[&str]| {
            let fluent = |text: &&str| match formula(&rules, &format!("(true {text})")) {
                Formula::Atom(atom) => atom.args[0].clone(),
                _ => unreachable!("it is an atom"),
            };
            texts.iter().map(fluent).collect::<Vec<Term>>()
        };
        let states = vec![
            fluents(&["(at a 1)", "(at b 3)", "(at c 3)", "(order a b c)"]),
            fluents(&["(at a 2)", "(order a c b)"]),
        ];
        let mut reference = Reference::new(&rules.program, states);
        let values: Vec<_> = counts.iter().filter_map(|feature| reference.values(feature)).collect();
        assert_eq!(values, [[2, 0], [3, 1]]);
    }
}
