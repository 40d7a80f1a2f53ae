//! The rules as clauses, and what depends on what.
//!
//! A clause has a head and a list of conjuncts without a disjunction among them: a rule whose body has some becomes several
//! clauses. `role` is an ordinary relation with facts; `init`, `next` and everything that depends on `does` have no place in
//! a feature.

use std::sync::Arc;

use gdl::program::{Program, Relation, Term, VarId};
use gdl::symbol::keyword;
use insight::universe::dynamic_relations;
use rustc_hash::{FxHashMap, FxHashSet};

use super::unify::{Substitution, first_free, shift, shift_term};
use crate::formula::{Atom, Formula};

/// A rule without disjunctions at the top of its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What holds.
    pub head: Atom,
    /// If all of this holds.
    pub body: Vec<Formula>,
    /// Its variables have smaller numbers.
    pub n_variables: u32,
}

impl Clause {
    /// The clause with its variables numbered from `by` on.
    pub fn shifted(&self, by: u32) -> Clause {
        Clause {
            head: Atom { name: self.head.name, args: self.head.args.iter().map(|arg| shift_term(arg, by)).collect() },
            body: self.body.iter().map(|part| shift(part, by)).collect(),
            n_variables: self.n_variables + by,
        }
    }
}

/// Into how many clauses one rule may be split; beyond, its disjunctions stay.
const MAX_SPLIT: usize = 64;

/// The rules as clauses.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The rules as they were.
    pub program: Arc<Program>,
    clauses: FxHashMap<Relation, Vec<Clause>>,
    /// State-dependent relations, with whether they depend on moves, too.
    dynamic: FxHashMap<Relation, bool>,
    /// The component of the dependency graph that each recursive relation is in.
    cycles: FxHashMap<Relation, usize>,
}

impl Rules {
    /// Brings rules into clauses.
    pub fn new(program: &Arc<Program>) -> Rules {
        let mut clauses: FxHashMap<Relation, Vec<Clause>> = FxHashMap::default();
        for rule in &program.rules {
            let head = Atom { name: rule.head.name, args: rule.head.args.clone() };
            let body = Formula::And(rule.body.iter().map(Formula::of_rule).collect());
            let n_variables = rule.variables.len() as u32;
            for body in split(&body) {
                let clause = Clause { head: head.clone(), body, n_variables };
                clauses.entry(head.relation()).or_default().push(clause);
            }
        }
        let dynamic = dynamic_relations(program);
        let cycles = cycles(&clauses);
        Rules { program: program.clone(), clauses, dynamic, cycles }
    }

    /// The clauses of a relation, in the order of the rules.
    pub fn clauses(&self, relation: Relation) -> &[Clause] {
        self.clauses.get(&relation).map_or(&[], Vec::as_slice)
    }

    /// Whether the relation is `true` or depends on it.
    pub fn is_state_dependent(&self, relation: Relation) -> bool {
        self.dynamic.contains_key(&relation)
    }

    /// Whether the relation is `does` or depends on it.
    pub fn is_move_dependent(&self, relation: Relation) -> bool {
        self.dynamic.get(&relation) == Some(&true)
    }

    /// Whether the relation depends on itself.
    pub fn is_recursive(&self, relation: Relation) -> bool {
        self.cycles.contains_key(&relation)
    }

    /// Whether the clause of a recursive relation does not go back to it.
    pub fn is_base_case(&self, clause: &Clause) -> bool {
        let cycle = self.cycles.get(&clause.head.relation());
        let mut base = true;
        for part in &clause.body {
            part.for_each_atom(&mut |atom, _| base &= cycle.is_none() || self.cycles.get(&atom.relation()) != cycle);
        }
        base
    }

    /// Whether the formula may be a feature's: it mentions neither `init` nor `next` nor anything that depends on moves.
    pub fn is_valid(&self, formula: &Formula) -> bool {
        let mut valid = true;
        formula.for_each_atom(&mut |atom, _| {
            valid &= !matches!(atom.name, keyword::INIT | keyword::NEXT) && !self.is_move_dependent(atom.relation());
        });
        valid
    }

    /// How many atoms depend on the state.
    pub fn n_state_atoms(&self, formula: &Formula) -> usize {
        let mut count = 0;
        formula.for_each_atom(&mut |atom, _| count += usize::from(self.is_state_dependent(atom.relation())));
        count
    }

    /// The clauses whose heads unify with an atom, each with its variables renamed apart, at most `limit` of them; the
    /// atom's variables have smaller numbers than `first`.
    pub fn unifying(&self, atom: &Atom, first: u32, limit: usize) -> Vec<(&Clause, Clause, Substitution)> {
        let mut found = Vec::new();
        for clause in self.clauses(atom.relation()) {
            // Most clauses are facts that differ in a constant: these need no renaming.
            if found.len() >= limit {
                break;
            }
            if atom.args.iter().zip(&clause.head.args).any(|(arg, own)| clash(arg, own)) {
                continue;
            }
            let renamed = clause.shifted(first);
            let mut unifier = Substitution::default();
            if unifier.unify_atoms(atom, &renamed.head) {
                found.push((clause, renamed, unifier));
            }
        }
        found
    }

    /// The bodies of `goal` and `terminal` clauses, as formulas, in the order of the rules.
    pub fn goals_and_ends(&self) -> Vec<Formula> {
        let goal = Relation { name: keyword::GOAL, arity: 2 };
        let terminal = Relation { name: keyword::TERMINAL, arity: 0 };
        let all = self.clauses(goal).iter().chain(self.clauses(terminal));
        all.map(|clause| Formula::all(clause.body.iter().cloned())).collect()
    }

    /// The roles.
    pub fn roles(&self) -> Vec<Term> {
        let roles = self.clauses(Relation { name: keyword::ROLE, arity: 1 });
        roles.iter().filter(|clause| clause.body.is_empty()).map(|clause| clause.head.args[0].clone()).collect()
    }
}

/// Whether two terms have different names at their top.
fn clash(left: &Term, right: &Term) -> bool {
    match (left.functor(), right.functor()) {
        (Some(left), Some(right)) => left != right,
        _ => false,
    }
}

/// The alternatives of a body, each a list of conjuncts; the body itself where there are too many.
pub fn split(body: &Formula) -> Vec<Vec<Formula>> {
    fn alternatives(formula: &Formula) -> Option<Vec<Vec<Formula>>> {
        match formula {
            Formula::Or(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(alternatives(part)?);
                    if all.len() > MAX_SPLIT {
                        return None;
                    }
                }
                Some(all)
            }
            Formula::And(parts) => {
                let mut all = vec![Vec::new()];
                for part in parts {
                    let choices = alternatives(part)?;
                    if all.len() * choices.len() > MAX_SPLIT {
                        return None;
                    }
                    let extended = all.iter().flat_map(|before: &Vec<Formula>| {
                        choices.iter().map(|choice| before.iter().chain(choice).cloned().collect())
                    });
                    all = extended.collect();
                }
                Some(all)
            }
            Formula::Not(inner) => match &**inner {
                Formula::Not(inner) => alternatives(inner),
                _ => Some(vec![vec![formula.clone()]]),
            },
            other => Some(vec![vec![other.clone()]]),
        }
    }
    alternatives(body).unwrap_or_else(|| vec![Formula::all(body.conjuncts().iter().cloned()).conjuncts().to_vec()])
}

/// The recursive relations, with the number of the component that each is in.
fn cycles(clauses: &FxHashMap<Relation, Vec<Clause>>) -> FxHashMap<Relation, usize> {
    let mut relations: Vec<Relation> = clauses.keys().copied().collect();
    relations.sort_unstable();
    let index: FxHashMap<Relation, usize> = relations.iter().copied().zip(0..).collect();
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); relations.len()];
    for (relation, list) in clauses {
        let mut reads = FxHashSet::default();
        for part in list.iter().flat_map(|clause| &clause.body) {
            part.for_each_atom(&mut |atom, _| reads.extend(index.get(&atom.relation()).copied()));
        }
        successors[index[relation]] = reads.into_iter().collect();
        successors[index[relation]].sort_unstable();
    }
    let mut cycles = FxHashMap::default();
    for (number, component) in gdl::strongly_connected_components(&successors).into_iter().enumerate() {
        if component.len() > 1 || successors[component[0]].contains(&component[0]) {
            cycles.extend(component.into_iter().map(|at| (relations[at], number)));
        }
    }
    cycles
}

/// The largest number of a variable in a clause body and terms, plus one.
pub(super) fn first_free_of<'a>(formula: &Formula, terms: impl IntoIterator<Item = &'a Term>) -> u32 {
    let mut next = first_free(formula);
    terms.into_iter().for_each(|term| term.for_each_var(&mut |VarId(var)| next = next.max(var + 1)));
    next
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The rules of a game of the library.
    pub(crate) fn library(name: &str) -> Rules {
        let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        Rules::new(&Arc::new(gdl::read(name, &bytes).program))
    }

    /// The rules in a text.
    pub(crate) fn rules(text: &str) -> Rules {
        let reading = gdl::read("text.kif", text.as_bytes());
        Rules::new(&Arc::new(reading.program))
    }

    pub(crate) fn relation(rules: &Rules, name: &str, arity: u32) -> Relation {
        Relation { name: rules.program.symbols.find(name).expect("the rules have the name"), arity }
    }

    /// A formula written as a body. Its names must occur in the rules; `(not (distinct a b))` is an equality.
    pub(crate) fn formula(rules: &Rules, text: &str) -> Formula {
        let program = &rules.program;
        let reading = gdl::read("formula.kif", format!("(<= terminal {text})").as_bytes());
        let from = &reading.program.symbols;
        let rule = &reading.program.rules[0];
        let own = |name| program.symbols.find(from.name(name)).unwrap_or_else(|| panic!("no name {}", from.name(name)));
        fn term(from: &Term, own: &impl Fn(gdl::symbol::SymbolId) -> gdl::symbol::SymbolId) -> Term {
            match from {
                Term::Var(var) => Term::Var(*var),
                Term::Const(name) => Term::Const(own(*name)),
                Term::Func(name, args) => Term::Func(own(*name), args.iter().map(|arg| term(arg, own)).collect()),
            }
        }
        fn each(formula: &Formula, own: &impl Fn(gdl::symbol::SymbolId) -> gdl::symbol::SymbolId) -> Formula {
            match formula {
                Formula::Atom(atom) => {
                    let args: Vec<Term> = atom.args.iter().map(|arg| term(arg, own)).collect();
                    Formula::Atom(Atom { name: own(atom.name), args })
                }
                Formula::Distinct(a, b) => Formula::Distinct(term(a, own), term(b, own)),
                Formula::Not(inner) => match &**inner {
                    Formula::Distinct(a, b) => Formula::Equal(term(a, own), term(b, own)),
                    inner => Formula::Not(Box::new(each(inner, own))),
                },
                Formula::And(parts) => Formula::And(parts.iter().map(|part| each(part, own)).collect()),
                Formula::Or(parts) => Formula::Or(parts.iter().map(|part| each(part, own)).collect()),
                other => other.clone(),
            }
        }
        Formula::all(rule.body.iter().map(|part| each(&Formula::of_rule(part), &own)))
    }

    #[test]
    fn what_depends_on_the_state() {
        let rules = library("tic-tac-toe");
        for (name, arity) in [("line", 1), ("row", 2), ("column", 2), ("diagonal", 1), ("open", 0), ("legal", 2)] {
            assert!(rules.is_state_dependent(relation(&rules, name, arity)), "{name}");
            assert!(!rules.is_move_dependent(relation(&rules, name, arity)), "{name}");
        }
        assert!(rules.is_move_dependent(relation(&rules, "next", 1)));
        let rules = library("connect-four");
        let orders: Vec<Relation> =
            rules.clauses.keys().copied().filter(|&relation| !rules.is_state_dependent(relation)).collect();
        assert!(orders.iter().any(|relation| relation.arity == 2), "an order is static");
    }

    #[test]
    fn recursion_and_base_cases() {
        let rules = rules(
            "(role a) (n 1 2) (<= (path ?x ?y) (true (e ?x ?y))) (<= (path ?x ?z) (true (e ?x ?y)) (path ?y ?z))
             (<= (q ?x) (path ?x ?x)) (<= terminal (q 1)) (<= (next (e ?x ?y)) (does a (m ?x ?y)))",
        );
        let path = relation(&rules, "path", 2);
        assert!(rules.is_recursive(path));
        assert!(!rules.is_recursive(relation(&rules, "q", 1)));
        let bases: Vec<bool> = rules.clauses(path).iter().map(|clause| rules.is_base_case(clause)).collect();
        assert_eq!(bases, [true, false]);
    }

    #[test]
    fn disjunctions_become_clauses() {
        let rules =
            rules("(<= (p ?x) (or (true (a ?x)) (and (true (b ?x)) (or (true c) (true d)))) (not (true (e ?x))))");
        let clauses = rules.clauses(relation(&rules, "p", 1));
        assert_eq!(clauses.iter().map(|clause| clause.body.len()).collect::<Vec<_>>(), [2, 3, 3]);
    }
}
