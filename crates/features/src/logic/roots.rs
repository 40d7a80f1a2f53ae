//! Where best-first generation starts: goals and ends, moves, fluents, and what the rules define about a state.

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
    // Step 1. Goals and ends, in pieces where they are long.
    for body in context.rules.goals_and_ends() {
        match context.restored(&body) {
            Some(root) => add(root, About::Goal),
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
