//! What a comparison with a variant needs to know of a game.

use std::collections::BTreeMap;
use std::sync::Arc;

use gdl::datalog::{Limits, Terms};
use gdl::keyword;
use gdl::program::{Formula, Program, Rule, RuleId, Term};
use gdl::symbol::SymbolId;
use gdl::{Database, Relation, TermId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::abstraction::{Abstraction, Chain, Reading, is_fact};
use super::prune::fluents;
use crate::skeleton::{Colors, Name, Plain, Skeleton};
use crate::sorts::Slot;

/// Steps of refinement that say how much alike two names are.
const N_HINTS: usize = 4;

/// One of the two games, with what the comparison needs of it.
pub(crate) struct Side<'a> {
    pub(crate) program: &'a Program,
    pub(crate) abstraction: Abstraction,
    /// The colors of the names of the whole program, step by step.
    hints: Vec<FxHashMap<Name, u64>>,
    /// The initial state, unless it is too large.
    pub(super) initial: Option<Vec<Term>>,
    /// What is listed, other than orders.
    pub(super) facts: Vec<(SymbolId, Vec<Term>)>,
}

impl<'a> Side<'a> {
    pub(crate) fn new(program: &'a Program, reading: Reading) -> Side<'a> {
        Side::of_abstraction(program, Abstraction::new(program, reading))
    }

    /// A side whose abstraction keeps the initial state.
    pub(crate) fn with_initial(program: &'a Program, reading: Reading) -> Side<'a> {
        Side::of_abstraction(program, Abstraction::with_initial(program, reading))
    }

    fn of_abstraction(program: &'a Program, abstraction: Abstraction) -> Side<'a> {
        let naming = Plain { symbols: &program.symbols, sorts: &abstraction.sorts };
        let all = (0..program.rules.len() as u32).map(RuleId);
        let whole = Skeleton::new(program, all, &naming);
        let mut colors = Colors::new(&whole, whole.kinds.clone());
        let mut hints = Vec::new();
        for _ in 0..N_HINTS {
            colors = colors.refined(&whole);
            hints.push(whole.names.iter().copied().zip(colors.names.iter().copied()).collect());
        }
        let is_chain = |relation| abstraction.chains.iter().any(|chain| chain.relation == relation);
        let rules = abstraction.played.iter().map(|id| &program.rules[id.0 as usize]);
        let facts = rules.filter(|rule| is_fact(rule) && !is_chain(rule.head.relation()));
        let facts = facts.map(|rule| (rule.head.name, rule.head.args.clone())).collect();
        Side { initial: initial(program), facts, hints, program, abstraction }
    }

    pub(super) fn chain(&self, relation: Relation) -> Option<&Chain> {
        self.abstraction.chains.iter().find(|chain| chain.relation == relation)
    }

    /// How many steps of refinement two names have in common.
    pub(super) fn likeness(&self, name: u32, other: &Side, image: u32) -> u32 {
        let (name, image) =
            (self.abstraction.skeleton.names[name as usize], other.abstraction.skeleton.names[image as usize]);
        let alike =
            |(own, others): &(&FxHashMap<Name, u64>, &FxHashMap<Name, u64>)| own.get(&name) == others.get(&image);
        self.hints.iter().zip(&other.hints).take_while(alike).count() as u32
    }

    pub(super) fn word(&self, symbol: SymbolId) -> &str {
        self.program.symbols.name(symbol)
    }

    /// The functions of one argument that count the steps of a match, with the order along which they do.
    pub(super) fn counters(&self) -> Vec<(Relation, &Chain)> {
        let next_rules = |functor: Relation| {
            self.program
                .rules
                .iter()
                .filter(move |rule| rule.head.name == keyword::NEXT && rule.head.args[0].functor() == Some(functor))
        };
        let candidates = fluents(self.program).into_iter().filter(|functor| functor.arity == 1);
        let counter = |functor: Relation| {
            let mut rules = next_rules(functor);
            let relation = counted_along(rules.next()?, functor)?;
            rules.next().is_none().then_some((functor, self.chain(relation)?))
        };
        candidates.filter_map(counter).collect()
    }

    /// The constants that rules with conditions compare a counter with.
    pub(super) fn limits(&self, counter: Relation) -> Vec<SymbolId> {
        let mut found = Vec::new();
        for rule in self.program.rules.iter().filter(|rule| rule.head.name != keyword::INIT) {
            rule.for_each_body_atom(|atom, _| {
                if let (keyword::TRUE, [Term::Func(name, args)]) = (atom.name, &atom.args[..])
                    && (*name, args.len()) == (counter.name, 1)
                    && let Term::Const(limit) = args[0]
                    && !found.contains(&limit)
                {
                    found.push(limit);
                }
            });
        }
        found
    }

    /// How many steps a counter takes from the initial state to `limit`.
    pub(super) fn n_steps(&self, counter: Relation, chain: &Chain, limit: SymbolId) -> Option<usize> {
        let first = self.initial.iter().flatten().find_map(|fluent| match fluent {
            Term::Func(name, args) if (*name, args.len()) == (counter.name, 1) => match args[0] {
                Term::Const(first) => Some(first),
                _ => None,
            },
            _ => None,
        })?;
        let place = |object| chain.objects.iter().position(|&other| other == object);
        Some(place(limit)?.abs_diff(place(first)?))
    }

    /// Whether a fact speaks of an object of one of the orders.
    pub(super) fn is_about(&self, fact: &(SymbolId, Vec<Term>), chains: &[&Chain]) -> bool {
        let (name, args) = fact;
        let relation = Relation { name: *name, arity: args.len() as u32 };
        (0..).zip(args).any(|(index, arg)| {
            let sort = self.abstraction.sorts.of(Slot::Relation(relation, index));
            matches!(arg, Term::Const(object) if chains.iter().any(|chain| chain.sort == sort && chain.objects.contains(object)))
        })
    }

    /// Whether an order is one of the dimensions of a board: whether places are told apart by its objects.
    pub(super) fn is_dimension(&self, chain: &Chain) -> bool {
        let sorts = &self.abstraction.sorts;
        let ordered = |functor: Relation, index: u32| {
            let sort = sorts.of(Slot::Function(functor, index));
            self.abstraction.chains.iter().any(|chain| chain.sort == sort)
        };
        fluents(self.program).into_iter().filter(|functor| functor.arity >= 2).any(|functor| {
            let places = (0..functor.arity).filter(|&index| sorts.of(Slot::Function(functor, index)) == chain.sort);
            let n_ordered = (0..functor.arity).filter(|&index| ordered(functor, index)).count();
            places.into_iter().any(|index| n_ordered >= 2 || self.tells_apart(functor, index as usize))
        })
    }

    /// Whether two fluents of the initial state differ in this argument alone.
    fn tells_apart(&self, functor: Relation, index: usize) -> bool {
        let mut seen: FxHashMap<Vec<&Term>, &Term> = FxHashMap::default();
        self.initial.iter().flatten().any(|fluent| {
            let Term::Func(name, args) = fluent else { return false };
            if *name != functor.name || args.len() != functor.arity as usize {
                return false;
            }
            let others = args.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, arg)| arg).collect();
            seen.insert(others, &args[index]).is_some_and(|other| *other != args[index])
        })
    }

    /// What looks like a board in the initial state: fluents of one kind, in which an argument depends on the others.
    pub(super) fn boards(&self) -> BTreeMap<Relation, Board> {
        let functors = fluents(self.program).into_iter().filter(|functor| functor.arity >= 2);
        functors.filter_map(|functor| Some((functor, self.board(functor)?))).collect()
    }

    fn board(&self, functor: Relation) -> Option<Board> {
        let n_args = functor.arity as usize;
        let mut rows: Vec<&[Term]> = Vec::new();
        for fluent in self.initial.iter().flatten() {
            match fluent {
                Term::Func(name, args) if (*name, args.len()) == (functor.name, n_args) => rows.push(args),
                _ => {}
            }
        }
        let is_output = |output: &usize| {
            let places = rows.iter().map(|row| (0..n_args).filter(|arg| arg != output).map(|arg| &row[arg]).collect());
            places.collect::<FxHashSet<Vec<&Term>>>().len() == rows.len()
        };
        let chain = |arg: usize| {
            let sort = self.abstraction.sorts.of(Slot::Function(functor, arg as u32));
            let values = || rows.iter().map(|row| &row[arg]);
            let holds = |chain: &&Chain| {
                values().all(|value| matches!(value, Term::Const(object) if chain.objects.contains(object)))
            };
            self.abstraction.chains.iter().filter(|chain| chain.sort == sort).find(holds)
        };
        // What is counted is no marker.
        let marker =
            (0..n_args).rev().find(is_output).filter(|&marker| rows.len() >= MIN_PLACES && chain(marker).is_none())?;
        let inputs = || (0..n_args).filter(|&arg| arg != marker);
        let n_values = |arg| rows.iter().map(|row| &row[arg]).collect::<FxHashSet<&Term>>().len();
        // There may be nothing in the middle of the board.
        let span = |arg| {
            let objects = &chain(arg)?.objects;
            let is_used = |object: &SymbolId| rows.iter().any(|row| row[arg] == Term::Const(*object));
            Some(objects.iter().rposition(is_used)? - objects.iter().position(is_used)? + 1)
        };
        Some(Board {
            marker,
            size: inputs().map(|arg| span(arg).unwrap_or_else(|| n_values(arg))).collect(),
            is_filled: 2 * rows.len() >= inputs().map(n_values).product(),
        })
    }
}

/// Fluents that hold something at each of many places.
pub(super) struct Board {
    /// The argument that depends on the others.
    pub(super) marker: usize,
    /// How far the values of each of the others reach.
    pub(super) size: Vec<usize>,
    /// Whether at least half of the places are there; the others may be missing on purpose, such as light squares.
    pub(super) is_filled: bool,
}

/// The fewest places of a board.
const MIN_PLACES: usize = 4;

/// The order along which a rule counts: `(<= (next (counter ?y)) (true (counter ?x)) (order ?x ?y))`.
fn counted_along(rule: &Rule, counter: Relation) -> Option<Relation> {
    let value = |term: &Term| match term {
        Term::Func(name, args) if (*name, args.len()) == (counter.name, 1) => Some(args[0].clone()),
        _ => None,
    };
    let [Formula::Atom(one), Formula::Atom(other)] = &rule.body[..] else { return None };
    let (asked, step) = if one.name == keyword::TRUE { (one, other) } else { (other, one) };
    let (after, before) = (value(&rule.head.args[0])?, asked.args.first().and_then(value)?);
    let counts = asked.name == keyword::TRUE && step.args == [before, after] && step.args[0] != step.args[1];
    counts.then(|| step.relation())
}

/// The initial state, in the order in which it is derived.
fn initial(program: &Program) -> Option<Vec<Term>> {
    let limits = Limits { facts: 200_000, bytes: 64 << 20, work: 20_000_000, ..Limits::default() };
    let mut database = Database::new(Arc::new(program.clone()), limits).ok()?;
    let facts = database.facts(Relation { name: keyword::INIT, arity: 1 }).ok()?;
    Some(facts.into_iter().map(|row| written_out(&database.terms, row[0])).collect())
}

fn written_out(terms: &Terms, term: TermId) -> Term {
    match terms.args(term) {
        [] => Term::Const(terms.name(term)),
        args => Term::Func(terms.name(term), args.iter().map(|&arg| written_out(terms, arg)).collect()),
    }
}
