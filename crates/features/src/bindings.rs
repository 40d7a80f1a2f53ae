//! What features look at: the ways in which their formulas may hold, each with the fluents and moves that it is about.
//!
//! This is for people who want to see a feature on the board; evaluation has no use for it.

use gdl::keyword;
use gdl::program::{Term, VarId};
use insight::universe;
use machine::lanes::{self, Lanes};
use rustc_hash::FxHashMap;

use crate::columns::term;
use crate::compile::{self, Budget, Compiled};
use crate::feature::Feature;
use crate::formula::Formula;
use crate::game::Game;
use crate::structural;

/// A way in which a feature's formula may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its formula in the network.
    formula: u32,
    /// What it adds to the feature's value.
    pub weight: i32,
    /// The fluents that it is about, by their numbers in the universe, and whether each must hold.
    pub fluents: Vec<(u32, bool)>,
    /// The moves that must be legal, by their numbers in the universe.
    pub moves: Vec<u32>,
    /// The arguments of other atoms that depend on the state.
    pub others: Vec<Vec<Term>>,
}

/// The ways in which features may hold.
pub struct Bindings {
    compiled: Compiled,
    /// For each feature, its bindings.
    pub features: Vec<Vec<Binding>>,
}

/// How many bindings are looked at.
fn budget() -> Budget {
    Budget { conditions: 5_000, all_conditions: 300_000, ..Budget::default() }
}

impl Bindings {
    /// Finds the bindings. Of a feature for which they are too many, only the values of its counted variables are told
    /// apart; if that is too much, too, it has none.
    pub fn new(game: &Game, features: &[Feature]) -> Result<Bindings, String> {
        // Step 1. All variables are listed, so that a binding says everything.
        let extended = |feature: &Feature| {
            let mut list = feature.list.clone();
            list.extend(feature.formula.free_variables().into_iter().filter(|var| !feature.list.contains(var)));
            Feature { list, ..feature.clone() }
        };
        let mut listed: Vec<Feature> = features.iter().map(extended).collect();
        let mut compiled = compile::compile(game, &listed, &budget())?;
        if !compiled.left_out.is_empty() {
            compiled.left_out.iter().for_each(|&(index, _)| listed[index] = features[index].clone());
            compiled = compile::compile(game, &listed, &budget())?;
        }
        // Step 2. What each one is about.
        let universe = &game.universe;
        let dynamic = universe::dynamic_relations(&game.program);
        let fluents: FxHashMap<Term, u32> =
            (0..).zip(&universe.fluents).map(|(number, &id)| (structural::term(universe, id), number)).collect();
        let moves: FxHashMap<(Term, Term), u32> = (0..)
            .zip(&universe.moves)
            .map(|(number, &(role, id))| {
                let role = structural::term(universe, universe.roles[role as usize]);
                ((role, structural::term(universe, id)), number)
            })
            .collect();
        let network = &compiled.views.network;
        let mut found: Vec<Vec<Binding>> = Vec::new();
        for (feature, sum) in listed.iter().zip(&compiled.sums.features) {
            let mut bindings = Vec::new();
            for &(formula, weight) in sum {
                let args = &network.views[formula as usize].1;
                let values: FxHashMap<VarId, Term> =
                    feature.list.iter().copied().zip(args.iter().map(|&arg| term(&network.terms, arg))).collect();
                let mut binding =
                    Binding { formula, weight, fluents: Vec::new(), moves: Vec::new(), others: Vec::new() };
                ground(&feature.formula, &values).for_each_atom(
                    &mut |atom, negated| match (atom.name, &atom.args[..]) {
                        (keyword::TRUE, [fluent]) => {
                            binding.fluents.extend(fluents.get(fluent).map(|&id| (id, !negated)))
                        }
                        (keyword::LEGAL, [role, chosen]) if !negated => {
                            binding.moves.extend(moves.get(&(role.clone(), chosen.clone())));
                        }
                        _ if dynamic.contains_key(&atom.relation()) => binding.others.push(atom.args.clone()),
                        _ => {}
                    },
                );
                bindings.push(binding);
            }
            found.push(bindings);
        }
        Ok(Bindings { compiled, features: found })
    }

    /// For each state, the numbers of the bindings of each feature that hold in it.
    pub fn holding(&self, states: &[&[u64]]) -> Vec<Vec<Vec<usize>>> {
        let own: Vec<Vec<u64>> = states.iter().map(|state| self.compiled.views.state(state)).collect();
        let own: Vec<&[u64]> = own.iter().map(|state| &state[..]).collect();
        let mut lanes = Lanes::new(lanes::Compiled::new(self.compiled.views.network.clone()));
        let bits = lanes.evaluate_formulas(&own);
        let holds = |formula: u32, state: usize| bits[formula as usize][state / 64] >> (state % 64) & 1 == 1;
        let of_state = |state: usize| {
            let of_feature = |bindings: &Vec<Binding>| {
                (0..bindings.len()).filter(|&number| holds(bindings[number].formula, state)).collect()
            };
            self.features.iter().map(of_feature).collect()
        };
        (0..states.len()).map(of_state).collect()
    }
}

/// The formula with values in the place of variables.
fn ground(formula: &Formula, values: &FxHashMap<VarId, Term>) -> Formula {
    fn replace(term: &Term, values: &FxHashMap<VarId, Term>) -> Term {
        match term {
            Term::Var(var) => values.get(var).cloned().unwrap_or_else(|| term.clone()),
            Term::Const(_) => term.clone(),
            Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| replace(arg, values)).collect()),
        }
    }
    formula.map_terms(&mut |term| replace(term, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::read;

    #[test]
    fn a_line_is_about_its_cells() {
        let path = format!("{}/../../games/tic-tac-toe/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let rules = std::fs::read(path).expect("a library game");
        let game = Game::new(gdl::read("tic-tac-toe", &rules).program, 1).expect("a network");
        let feature = |text: &str| read(text, &game.program.symbols).expect("a feature");
        let features = [
            feature("(count () (and (true (cell ?0 1 x)) (true (cell ?0 2 b)) (not (true (cell ?0 3 o)))))"),
            feature("(count (?0) (legal xplayer ?0))"),
        ];
        let bindings = Bindings::new(&game, &features).expect("they can be grounded");
        let name = |fluent: u32| game.universe.name(game.universe.fluents[fluent as usize]);
        let told: Vec<Vec<String>> = bindings.features[0]
            .iter()
            .map(|binding| {
                let sign = |holds: bool| if holds { "" } else { "not " };
                binding.fluents.iter().map(|&(fluent, holds)| format!("{}{}", sign(holds), name(fluent))).collect()
            })
            .collect();
        assert_eq!(told.len(), 3);
        assert!(told.contains(&["(cell 2 1 x)", "(cell 2 2 b)", "not (cell 2 3 o)"].map(str::to_owned).to_vec()));
        // In the first position no line has an x, and every cell can be marked.
        let network = &game.circuit.network;
        let mut state = vec![0u64; network.fluents.len().div_ceil(64)];
        network.initial.iter().enumerate().for_each(|(bit, &holds)| state[bit / 64] |= u64::from(holds) << (bit % 64));
        let holding = bindings.holding(&[&state]);
        assert_eq!((holding[0][0].len(), holding[0][1].len()), (0, 9));
        assert!(holding[0][1].iter().all(|&number| bindings.features[1][number].moves.len() == 1));
    }
}
