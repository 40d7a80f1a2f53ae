//! Which values an argument can have, which orders they lie in, and whose turn it is: what the analysis adds to the rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::program::{Relation, Term, VarId};
use gdl::symbol::keyword;
use indexmap::IndexMap;
use insight::structure::turn::Kind;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::rules::Rules;
use crate::columns::term;
use crate::feature::Weight;
use crate::formula::{Atom, Formula};
use crate::game::{Game, Views};

type Arguments = Vec<Vec<Term>>;

/// The values of the arguments of fluents, moves and relations.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    /// For each functor of fluents, the values of its arguments, each list sorted.
    pub fluents: IndexMap<Relation, Arguments, FxBuildHasher>,
    /// The same for the moves of each role that are not for waiting.
    pub moves: IndexMap<(usize, Relation), Arguments, FxBuildHasher>,
    /// The same for the relations that depend on the state, keywords aside.
    pub relations: IndexMap<Relation, Arguments, FxBuildHasher>,
    /// The roles.
    pub roles: Vec<Term>,
    /// For each role, what says that it is to move; nothing unless roles take turns.
    pub turns: Vec<Formula>,
    orders: Vec<(Arc<Vec<Term>>, FxHashSet<Term>)>,
    /// The facts that never change.
    statics: IndexMap<Relation, Vec<Vec<Term>>, FxBuildHasher>,
}

/// Longer lists of values are not kept.
const MAX_VALUES: usize = 400;
/// Longer lists of facts are not kept, and not so many combinations of arguments looked up.
const MAX_ROWS: usize = 2_000;

impl Domains {
    /// The values that occur in a game.
    pub fn new(game: &Game, views: &Views) -> Domains {
        let universe = &game.universe;
        let roles = universe.roles.iter().map(|&role| term(&universe.terms, role)).collect();
        let mut domains = Domains { roles, ..Domains::default() };
        for &fluent in &universe.fluents {
            note(&mut domains.fluents, |functor| functor, &term(&universe.terms, fluent));
        }
        for (index, &(role, chosen)) in universe.moves.iter().enumerate() {
            if !game.structure.turns.idle[role as usize].contains(&(index as u32)) {
                note(&mut domains.moves, |functor| (role as usize, functor), &term(&universe.terms, chosen));
            }
        }
        for (relation, args) in &views.network.views {
            let relation = views.relations[*relation as usize];
            if !gdl::symbol::Symbols::is_keyword(relation.name) {
                let values = domains.relations.entry(relation).or_insert_with(|| vec![Vec::new(); args.len()]);
                for (values, &arg) in values.iter_mut().zip(args) {
                    values.push(term(&views.network.terms, arg));
                }
            }
        }
        for arguments in
            domains.fluents.values_mut().chain(domains.moves.values_mut()).chain(domains.relations.values_mut())
        {
            for values in arguments {
                values.sort_unstable();
                values.dedup();
                if values.len() > MAX_VALUES {
                    values.clear();
                }
            }
        }
        for order in game.structure.orders.iter().filter(|order| !order.cyclic && order.same_as.is_none()) {
            let objects: Vec<Term> = order.objects.iter().map(|&object| term(&universe.terms, object)).collect();
            let set = objects.iter().cloned().collect();
            domains.orders.push((Arc::new(objects), set));
        }
        for facts in universe.statics.iter().filter(|facts| facts.rows.len() <= MAX_ROWS) {
            let row = |row: &Vec<gdl::TermId>| row.iter().map(|&arg| term(&universe.terms, arg)).collect();
            domains.statics.insert(facts.relation, facts.rows.iter().map(row).collect());
        }
        // Short orders first: the shortest that has all values is the one that is meant.
        domains.orders.sort_by_key(|(order, _)| order.len());
        let turns = &game.structure.turns;
        if turns.kind == Kind::TurnTaking && turns.control.iter().all(|fluents| !fluents.is_empty()) {
            domains.turns = turns
                .control
                .iter()
                .map(|fluents| {
                    let fluent = term(&universe.terms, universe.fluents[fluents[0] as usize]);
                    Formula::Atom(Atom { name: keyword::TRUE, args: vec![fluent] })
                })
                .collect();
        }
        domains
    }

    /// The values of an atom's arguments: for `true`, those of the fluent's.
    pub fn of_atom<'a>(&self, atom: &'a Atom) -> Option<(&'a [Term], &Arguments)> {
        match (atom.name, atom.args.as_slice()) {
            (keyword::TRUE, [fluent]) => Some((arguments(fluent), self.fluents.get(&fluent.functor()?)?)),
            (keyword::LEGAL, [role, chosen]) => {
                let role = self.roles.iter().position(|other| other == role)?;
                Some((arguments(chosen), self.moves.get(&(role, chosen.functor()?))?))
            }
            _ => Some((&atom.args, self.relations.get(&atom.relation())?)),
        }
    }

    /// The values that a variable of a formula can have, by the first conjunct that has it as an argument.
    pub fn of_variable(&self, formula: &Formula, var: VarId) -> Option<&[Term]> {
        formula.conjuncts().iter().find_map(|part| {
            let Formula::Atom(atom) = part else { return None };
            let (args, values) = self.of_atom(atom)?;
            let at = args.iter().position(|arg| *arg == Term::Var(var))?;
            (!values[at].is_empty()).then_some(values[at].as_slice())
        })
    }

    /// The shortest order that has all of these values.
    pub fn order(&self, values: &[Term]) -> Option<Arc<Vec<Term>>> {
        if values.len() < 3 {
            return None;
        }
        let has_all = |set: &FxHashSet<Term>| values.iter().all(|value| set.contains(value));
        self.orders.iter().find(|(_, set)| has_all(set)).map(|(order, _)| order.clone())
    }

    /// The formula without static conjuncts that say nothing: those that share no variable with what depends on the state, and
    /// those with a variable that occurs nowhere else, if they have a fact whatever the other arguments are.
    pub fn prune(&self, rules: &Rules, formula: &Formula) -> Formula {
        let mut parts: Vec<Formula> = Vec::new();
        for group in formula.components() {
            if group.iter().any(|part| rules.n_state_atoms(part) > 0) {
                parts.extend(group);
            }
        }
        loop {
            let useless = (0..parts.len()).find(|&at| {
                let Formula::Atom(atom) = &parts[at] else { return false };
                let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
                let elsewhere: BTreeSet<VarId> = others.flat_map(|(_, part)| part.variables()).collect();
                !rules.is_state_dependent(atom.relation()) && self.says_nothing(atom, &elsewhere, &parts)
            });
            let Some(useless) = useless else { break };
            parts.remove(useless);
        }
        Formula::all(parts)
    }

    fn says_nothing(&self, atom: &Atom, elsewhere: &BTreeSet<VarId>, parts: &[Formula]) -> bool {
        let is_loose = |arg: &Term| matches!(arg, Term::Var(var) if !elsewhere.contains(var));
        let Some(rows) = self.statics.get(&atom.relation()) else { return false };
        if !atom.args.iter().any(is_loose) {
            return false;
        }
        // The combinations of the other arguments' values; a variable that occurs twice is more than this looks at.
        let whole = Formula::And(parts.to_vec());
        let mut combinations: Vec<Vec<Term>> = vec![Vec::new()];
        let mut seen = Vec::new();
        for arg in atom.args.iter().filter(|arg| !is_loose(arg)) {
            let values = match arg {
                Term::Var(var) if seen.contains(var) => return false,
                Term::Var(var) => {
                    seen.push(*var);
                    match self.of_variable(&whole, *var) {
                        Some(values) => values.to_vec(),
                        None => return false,
                    }
                }
                ground if ground.is_ground() => vec![ground.clone()],
                _ => return false,
            };
            if combinations.len() * values.len() > MAX_ROWS {
                return false;
            }
            combinations = combinations
                .iter()
                .flat_map(|before| values.iter().map(|value| before.iter().chain([value]).cloned().collect()))
                .collect();
        }
        let known: FxHashSet<Vec<Term>> = rows
            .iter()
            .map(|row| {
                row.iter().zip(&atom.args).filter(|(_, arg)| !is_loose(arg)).map(|(own, _)| own.clone()).collect()
            })
            .collect();
        combinations.iter().all(|combination| known.contains(combination))
    }

    /// A weight that is 1 for one value and -1 for another.
    pub fn difference(var: VarId, plus: &Term, minus: &Term) -> Weight {
        Weight::table(vec![var], [(vec![plus.clone()], 1), (vec![minus.clone()], -1)])
    }
}

/// The arguments of a term; none if it is a name.
pub fn arguments(term: &Term) -> &[Term] {
    match term {
        Term::Func(_, args) => args,
        _ => &[],
    }
}

fn note<K: std::hash::Hash + Eq>(
    into: &mut IndexMap<K, Arguments, FxBuildHasher>,
    key: impl Fn(Relation) -> K,
    term: &Term,
) {
    let Some(functor) = term.functor() else { return };
    let values = into.entry(key(functor)).or_insert_with(|| vec![Vec::new(); functor.arity as usize]);
    for (values, arg) in values.iter_mut().zip(arguments(term)) {
        values.push(arg.clone());
    }
}
