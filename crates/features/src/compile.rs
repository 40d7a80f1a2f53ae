//! From features to wires: each feature becomes a rule, and the rules are grounded together with those of the game.
//!
//! Every binding of a feature's list that may ever count is one wire, and the feature's value is the sum of what its true
//! wires weigh. Grounding evaluates what never changes, networks share what formulas have in common, and recursion is
//! dealt with as everywhere else.

use std::sync::Arc;

use gdl::ground::{self, Budget};
use gdl::program::{self, Program, Relation, Rule, Term, Variable};
use gdl::source::Span;
use machine::network;

use crate::columns::term;
use crate::evaluate::Sums;
use crate::feature::Feature;
use crate::game::{Game, Views};

/// Features as sums of wires of one network.
pub struct Compiled {
    /// The network, with what its states are in that of the game.
    pub views: Views,
    /// The features, in their order; those that are left out are always 0.
    pub sums: Sums,
    /// The features that can't be compiled, with why.
    pub left_out: Vec<(usize, String)>,
}

/// How much the ground rules of all features may take.
pub fn budget() -> Budget {
    Budget { literals: 8_000_000, facts: 2_000_000, work: 100_000_000, ..Budget::default() }
}

/// Compiles features. Those that ground to too much are left out.
pub fn compile(game: &Game, features: &[Feature], budget: &Budget) -> Result<Compiled, String> {
    let mut left_out = Vec::new();
    let all: Vec<usize> = (0..features.len()).collect();
    let kept = affordable(game, features, &all, budget, &mut left_out);
    let views = extend(game, features, &kept, budget)?;
    let mut sums: Vec<Vec<(u32, i32)>> = vec![Vec::new(); features.len()];
    for (formula, (place, args)) in views.network.views.iter().enumerate() {
        let index = kept[*place as usize];
        let feature = &features[index];
        let values: Vec<Term> = args.iter().map(|&arg| term(&views.network.terms, arg)).collect();
        let weight = feature.weight.of(&feature.list, &values);
        if weight != 0 {
            sums[index].push((formula as u32, weight));
        }
    }
    left_out.sort_unstable();
    Ok(Compiled { sums: Sums { network: views.network.clone(), features: sums }, views, left_out })
}

/// The features that can be compiled together. Where all of them are too much, each half is tried.
fn affordable(
    game: &Game,
    features: &[Feature],
    some: &[usize],
    budget: &Budget,
    left_out: &mut Vec<(usize, String)>,
) -> Vec<usize> {
    let Err(why) = extend(game, features, some, budget) else { return some.to_vec() };
    if let [single] = some {
        left_out.push((*single, why));
        return Vec::new();
    }
    let (first, second) = some.split_at(some.len() / 2);
    let mut kept = affordable(game, features, first, budget, left_out);
    let n_first = kept.len();
    kept.extend(affordable(game, features, second, budget, left_out));
    if let Err(why) = extend(game, features, &kept, budget) {
        left_out.extend(kept.drain(n_first..).map(|index| (index, why.clone())));
    }
    kept
}

/// The network of a game with a view for each of some features.
fn extend(game: &Game, features: &[Feature], some: &[usize], budget: &Budget) -> Result<Views, String> {
    let (program, relations) = with_rules(&game.program, some.iter().map(|&index| &features[index]));
    let ground = ground::ground_with(&program, &relations, budget).map_err(|failure| failure.to_string())?;
    let network = network::build(ground).map_err(|failure| failure.to_string())?;
    Views::on(game, network, relations)
}

/// The rules with a rule for each feature, whose head has the feature's list as arguments.
pub fn with_rules<'a>(program: &Program, features: impl IntoIterator<Item = &'a Feature>) -> (Program, Vec<Relation>) {
    let mut program = program.clone();
    let Program { symbols, rules } = &mut program;
    let mut relations = Vec::new();
    let at = Span::default();
    for (number, feature) in features.into_iter().enumerate() {
        let mut facts: Vec<(program::Atom, Arc<Vec<Vec<Term>>>)> = Vec::new();
        let n_variables = feature.formula.variables().last().map_or(0, |var| var.0 + 1);
        // No name of a rule text holds a space.
        let body = feature.formula.to_rule(&mut |rows| {
            let name = symbols.intern(&format!("list {number} {}", facts.len()));
            facts.push((program::Atom { name, args: Vec::new(), span: at }, rows.clone()));
            name
        });
        let body = if let program::Formula::And(parts, _) = body { parts } else { vec![body] };
        let name = symbols.intern(&format!("feature {number}"));
        let args: Vec<Term> = feature.list.iter().map(|&var| Term::Var(var)).collect();
        relations.push(Relation { name, arity: args.len() as u32 });
        let variables =
            (0..n_variables).map(|var| Variable { name: symbols.intern(&format!("?{var}")), span: at }).collect();
        rules.push(Rule { head: program::Atom { name, args, span: at }, body, variables, span: at });
        for (head, rows) in facts {
            rules.extend(rows.iter().map(|row| Rule {
                head: program::Atom { args: row.clone(), ..head.clone() },
                body: Vec::new(),
                variables: Vec::new(),
                span: at,
            }));
        }
    }
    (program, relations)
}
