//! The values of features by the rules themselves: slow, and right by definition.
//!
//! A formula becomes the body of a new rule, and its value is the number of facts of that rule. Every faster way is tested
//! against this one.

use std::sync::Arc;

use gdl::datalog::{Limits, Terms};
use gdl::program::{self, Program, Relation, Rule, Term, VarId, Variable};
use gdl::source::Span;
use gdl::symbol::{SymbolId, keyword};
use gdl::{Database, TermId};
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashSet;

use crate::columns::term;
use crate::feature::{Feature, Weight};

/// Something that knows the values of features on some states.
pub trait Values {
    /// The value on each state, always in the same order; `None` if it can't be found.
    fn values(&mut self, feature: &Feature) -> Option<Vec<i32>>;

    /// Drops variables from the list of a count, one after the other, as long as that changes no value. `None` if the value
    /// can't be found.
    fn trim(&mut self, feature: &Feature) -> Option<Trimmed> {
        let own = self.values(feature)?;
        let mut list = feature.list.clone();
        if own.iter().all(|&value| value == 0) {
            list.clear();
        }
        // What can't be dropped now can't be dropped later, either, so that once through the list is enough.
        let mut at = 0;
        while at < list.len() {
            let mut fewer = Feature { list: list.clone(), ..feature.clone() };
            fewer.list.remove(at);
            if self.values(&fewer).as_ref() == Some(&own) {
                list = fewer.list;
            } else {
                at += 1;
            }
        }
        Some(Trimmed { list, always: own.iter().all(|&value| value > 0) })
    }

    /// The values of a count with each of its listed variables left out, one at a time.
    fn without_each(&mut self, feature: &Feature) -> Vec<Option<Vec<i32>>> {
        let without = |var: VarId| {
            let list = feature.list.iter().copied().filter(|&other| other != var).collect();
            Feature { list, ..feature.clone() }
        };
        feature.list.iter().map(|&var| self.values(&without(var))).collect()
    }
}

/// What is left of the list of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// The variables that make a difference.
    pub list: Vec<VarId>,
    /// Whether the value is above 0 in all states.
    pub always: bool,
}

/// States of a game, and the rules that say what a feature is worth in them.
#[derive(Clone)]
pub struct Reference {
    program: Arc<Program>,
    states: Vec<Vec<Term>>,
}

impl Reference {
    /// The given states: lists of fluents.
    pub fn new(program: &Arc<Program>, states: Vec<Vec<Term>>) -> Reference {
        Reference { program: program.clone(), states }
    }

    /// States met in random matches, each once, without those in which the match is over: as many as are wanted, or fewer if
    /// `max_matches` matches don't show them.
    pub fn random(program: &Arc<Program>, n_states: usize, max_matches: usize, seed: u64) -> Reference {
        let mut database = Database::new(program.clone(), Limits::default()).expect("the rules can be evaluated");
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let relation = |name, arity| Relation { name, arity };
        let facts = |database: &mut Database, name, arity| {
            database.facts(relation(name, arity)).expect("the budget is large enough")
        };
        let column = |rows: Vec<Vec<TermId>>| rows.into_iter().map(|row| row[0]).collect::<Vec<TermId>>();
        let roles = column(facts(&mut database, keyword::ROLE, 1));
        let initial = column(facts(&mut database, keyword::INIT, 1));
        let mut seen: FxHashSet<Vec<TermId>> = FxHashSet::default();
        let mut states: Vec<Vec<TermId>> = Vec::new();
        for _ in 0..max_matches {
            let mut state = initial.clone();
            loop {
                state.sort_unstable();
                database.set_state(&state);
                if database.holds_any(relation(keyword::TERMINAL, 0)).expect("the budget is large enough") {
                    break;
                }
                if seen.insert(state.clone()) {
                    states.push(state.clone());
                }
                let legal = facts(&mut database, keyword::LEGAL, 2);
                let mut joint = Vec::new();
                for &role in &roles {
                    let own: Vec<TermId> = legal.iter().filter(|row| row[0] == role).map(|row| row[1]).collect();
                    if !own.is_empty() {
                        joint.push((role, own[random.random_range(0..own.len())]));
                    }
                }
                if joint.len() < roles.len() || states.len() >= n_states {
                    break;
                }
                database.set_moves(&joint);
                state = column(facts(&mut database, keyword::NEXT, 1));
            }
            if states.len() >= n_states {
                break;
            }
        }
        let own = |state: &Vec<TermId>| state.iter().map(|&fluent| term(&database.terms, fluent)).collect();
        Reference::new(program, states.iter().map(own).collect())
    }

    /// So many of the states, chosen at random.
    pub fn choose(&self, n_states: usize, seed: u64) -> Reference {
        use rand::seq::SliceRandom;
        let mut states = self.states.clone();
        states.shuffle(&mut rand_pcg::Pcg64::seed_from_u64(seed));
        states.truncate(n_states);
        Reference::new(&self.program, states)
    }

    /// The states.
    pub fn states(&self) -> &[Vec<Term>] {
        &self.states
    }

    /// The program with a rule for the feature, and the rule's relation.
    fn with_rule(&self, feature: &Feature) -> (Program, Relation) {
        let mut program = Program { symbols: self.program.symbols.clone(), rules: Vec::new() };
        let mut fresh = 0;
        let mut name = |symbols: &mut gdl::symbol::Symbols| -> SymbolId {
            loop {
                let text = format!("feature-{fresh}");
                fresh += 1;
                if symbols.find(&text).is_none() {
                    return symbols.intern(&text);
                }
            }
        };
        let head = name(&mut program.symbols);
        let mut facts: Vec<Rule> = Vec::new();
        let body = feature.formula.to_rule(&mut |rows| {
            let list = name(&mut program.symbols);
            for row in rows.iter() {
                let head = program::Atom { name: list, args: row.clone(), span: Span::default() };
                facts.push(Rule { head, body: Vec::new(), variables: Vec::new(), span: Span::default() });
            }
            list
        });
        let n_variables = feature.formula.variables().last().map_or(0, |var| var.0 + 1);
        let args: Vec<Term> = feature.list.iter().map(|&var| Term::Var(var)).collect();
        let relation = Relation { name: head, arity: args.len() as u32 };
        let rule = Rule {
            head: program::Atom { name: head, args, span: Span::default() },
            body: vec![body],
            variables: vec![Variable { name: head, span: Span::default() }; n_variables as usize],
            span: Span::default(),
        };
        // Rules that the feature does not need would only cost time.
        let mut needed: FxHashSet<Relation> = FxHashSet::default();
        rule.for_each_body_atom(|atom, _| _ = needed.insert(atom.relation()));
        loop {
            let before = needed.len();
            for own in self.program.rules.iter().filter(|own| needed.contains(&own.head.relation())).collect::<Vec<_>>()
            {
                own.for_each_body_atom(|atom, _| _ = needed.insert(atom.relation()));
            }
            if needed.len() == before {
                break;
            }
        }
        // Roles bind what the rules leave open.
        needed.insert(Relation { name: keyword::ROLE, arity: 1 });
        program.rules =
            self.program.rules.iter().filter(|own| needed.contains(&own.head.relation())).cloned().collect();
        program.rules.extend(facts);
        program.rules.push(rule);
        (program, relation)
    }
}

impl Values for Reference {
    fn values(&mut self, feature: &Feature) -> Option<Vec<i32>> {
        let (program, relation) = self.with_rule(feature);
        let mut database = Database::new(Arc::new(program), Limits { work: 50_000_000, ..Limits::default() }).ok()?;
        let mut values = Vec::with_capacity(self.states.len());
        for state in &self.states {
            let fluents: Vec<TermId> = state.iter().map(|fluent| intern(&mut database.terms, fluent)).collect();
            database.set_state(&fluents);
            let mut value = 0;
            for row in database.facts(relation).ok()? {
                value += match &feature.weight {
                    Weight::One => 1,
                    weight => {
                        let row: Vec<Term> = row.iter().map(|&arg| term(&database.terms, arg)).collect();
                        weight.of(&feature.list, &row)
                    }
                };
            }
            values.push(value);
        }
        Some(values)
    }
}

/// A ground term in a table.
pub fn intern(terms: &mut Terms, term: &Term) -> TermId {
    match term {
        Term::Var(VarId(var)) => panic!("the term is ground, but has the variable {var}"),
        Term::Const(name) => terms.intern(*name, &[]),
        Term::Func(name, args) => {
            let args: Vec<TermId> = args.iter().map(|arg| intern(terms, arg)).collect();
            terms.intern(*name, &args)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::rules::tests::{formula, library};

    #[test]
    fn the_variable_lists_of_the_fixture() {
        let rules = library("tic-tac-toe");
        let symbols = |text: &str| rules.program.symbols.find(text).expect("the rules have it");
        let mut state = Vec::new();
        let marks = [("1", "1", "x"), ("2", "1", "x"), ("1", "3", "x"), ("3", "1", "o"), ("3", "3", "o")];
        for (column, row, mark) in marks {
            let args = [column, row, mark].map(|text| Term::Const(symbols(text)));
            state.push(Term::Func(symbols("cell"), args.into()));
        }
        let mut reference = Reference::new(&rules.program, vec![state]);
        // Variables: M1 = 0, N = 1, M2 = 2.
        let formula = formula(&rules, "(true (cell ?m1 ?n x)) (true (cell ?m2 ?n o))");
        let cases: [(&[u32], i32); 8] =
            [(&[], 1), (&[1], 2), (&[0], 2), (&[0, 2], 2), (&[0, 2, 1], 3), (&[2], 1), (&[0, 1], 3), (&[2, 1], 2)];
        for (list, value) in cases {
            let feature = Feature::count(list.iter().map(|&var| VarId(var)).collect(), formula.clone());
            assert_eq!(reference.values(&feature), Some(vec![value]), "{list:?}");
        }
    }

    #[test]
    fn random_states_are_different_and_not_over() {
        let rules = library("tic-tac-toe");
        let reference = Reference::random(&rules.program, 300, 1_000, 1);
        assert_eq!(reference.states().len(), 300);
        let unique: FxHashSet<&Vec<Term>> = reference.states().iter().collect();
        assert_eq!(unique.len(), 300);
        let over = Feature::count(vec![], formula(&rules, "terminal"));
        assert_eq!(reference.clone().values(&over), Some(vec![0; 300]));
    }
}
