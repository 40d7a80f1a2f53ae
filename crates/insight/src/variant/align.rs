//! What two variants have in common, name by name, and in what they differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use gdl::datalog::{Limits, Terms};
use gdl::keyword;
use gdl::program::{Formula, Program, Rule, Term};
use gdl::symbol::SymbolId;
use gdl::{Database, Relation, TermId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::abstraction::{Abstraction, Chain, Values, is_fact};
use super::prune::fluents;
use super::{Class, Transformation, Variant};
use crate::isomorphism;
use crate::mapping::Mapping;
use crate::skeleton::{Colors, Name, Plain, Skeleton};
use crate::sorts::Slot;

/// The most rotations of a circle that are compared.
const MAX_ROTATIONS: usize = 64;

/// Steps of refinement that say how much alike two names are.
const N_HINTS: usize = 4;

/// One of the two games, with what the comparison needs of it.
pub(super) struct Side<'a> {
    program: &'a Program,
    abstraction: Abstraction,
    /// The colors of the names of the whole program, step by step.
    hints: Vec<FxHashMap<Name, u64>>,
    /// The initial state, unless it is too large.
    initial: Option<Vec<Term>>,
    /// What is listed, other than orders.
    facts: Vec<(SymbolId, Vec<Term>)>,
}

impl<'a> Side<'a> {
    pub(super) fn new(program: &'a Program, values: Values) -> Side<'a> {
        let abstraction = Abstraction::new(program, values);
        let naming = Plain { symbols: &program.symbols, sorts: &abstraction.sorts };
        let all = (0..program.rules.len() as u32).map(gdl::program::RuleId);
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

    fn chain(&self, relation: Relation) -> Option<&Chain> {
        self.abstraction.chains.iter().find(|chain| chain.relation == relation)
    }

    /// How many steps of refinement two names have in common.
    fn likeness(&self, name: u32, other: &Side, image: u32) -> u32 {
        let (name, image) =
            (self.abstraction.skeleton.names[name as usize], other.abstraction.skeleton.names[image as usize]);
        let alike =
            |(own, others): &(&FxHashMap<Name, u64>, &FxHashMap<Name, u64>)| own.get(&name) == others.get(&image);
        self.hints.iter().zip(&other.hints).take_while(alike).count() as u32
    }

    fn word(&self, symbol: SymbolId) -> &str {
        self.program.symbols.name(symbol)
    }

    /// The functions of one argument that count the steps of a match, with the order along which they do, and whether it
    /// is used for nothing else.
    fn counters(&self) -> Vec<(Relation, &Chain)> {
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
    fn limits(&self, counter: Relation) -> Vec<SymbolId> {
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

    /// The number of the step at which a counter begins, and at which it has the value `limit`.
    fn steps(&self, counter: Relation, chain: &Chain, limit: SymbolId) -> Option<(usize, usize)> {
        let first = self.initial.iter().flatten().find_map(|fluent| match fluent {
            Term::Func(name, args) if (*name, args.len()) == (counter.name, 1) => match args[0] {
                Term::Const(first) => Some(first),
                _ => None,
            },
            _ => None,
        })?;
        let place = |object| chain.objects.iter().position(|&other| other == object);
        Some((place(first)?, place(limit)?))
    }

    /// Whether an order is one of the dimensions of a board: whether places are told apart by its objects.
    fn is_dimension(&self, chain: &Chain) -> bool {
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

    /// The size of each board: of each kind of fluent whose initial fluents have one value for every combination of the
    /// other arguments.
    fn boards(&self) -> BTreeMap<Relation, Vec<usize>> {
        let mut boards = BTreeMap::new();
        for functor in fluents(self.program).into_iter().filter(|functor| functor.arity >= 2) {
            let rows: Vec<&[Term]> = self
                .initial
                .iter()
                .flatten()
                .filter_map(|fluent| match fluent {
                    Term::Func(name, args) if (*name, args.len()) == (functor.name, functor.arity as usize) => {
                        Some(&**args)
                    }
                    _ => None,
                })
                .collect();
            let size = |inputs: &[usize]| {
                let values = |input: usize| rows.iter().map(|row| &row[input]).collect::<FxHashSet<_>>().len();
                let sizes: Vec<usize> = inputs.iter().map(|&input| values(input)).collect();
                let keys: FxHashSet<Vec<&Term>> =
                    rows.iter().map(|row| inputs.iter().map(|&input| &row[input]).collect()).collect();
                let is_full = keys.len() == rows.len() && sizes.iter().product::<usize>() == rows.len();
                (is_full && sizes.iter().filter(|&&size| size > 1).count() >= 1).then_some(sizes)
            };
            let n = functor.arity as usize;
            let inputs = (0..n).rev().map(|output| (0..n).filter(|&input| input != output).collect::<Vec<_>>());
            if rows.len() >= 4
                && let Some(sizes) = inputs.into_iter().find_map(|inputs| size(&inputs))
            {
                boards.insert(functor, sizes);
            }
        }
        boards
    }
}

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

/// Two orders that correspond to each other.
struct Pair<'a> {
    source: &'a Chain,
    target: &'a Chain,
    is_dimension: bool,
    /// Where the target's order begins: more than 0 only in circles.
    rotation: usize,
}

impl Pair<'_> {
    /// The objects that correspond to each other. Places on a board are counted from the nearer end, others from the
    /// beginning.
    fn objects(&self) -> Vec<(SymbolId, SymbolId)> {
        let (n, m) = (self.source.objects.len(), self.target.objects.len());
        let target = |index: usize| self.target.objects[(index + self.rotation) % m];
        let shorter = n.min(m);
        (0..shorter)
            .map(|index| {
                if self.is_dimension && index >= shorter.div_ceil(2) {
                    (self.source.objects[n - shorter + index], target(m - shorter + index))
                } else {
                    (self.source.objects[index], target(index))
                }
            })
            .collect()
    }
}

/// Compares two games with equal abstractions. `values` says how the target's goal values were read.
pub(super) fn align(source: &Side, target: &Side, values: Values) -> Option<Variant> {
    let likeness = |name, image| source.likeness(name, target, image);
    let (from, to) = (&source.abstraction, &target.abstraction);
    let image = isomorphism::find(&from.skeleton, &to.skeleton, likeness, isomorphism::BUDGET)?;
    // Step 1. The names that the abstractions share.
    let mut names: BTreeMap<Name, SymbolId> = BTreeMap::new();
    for (name, &image) in from.skeleton.names.iter().zip(&image) {
        if let (Name::Relation(_) | Name::Function(_) | Name::Object(..), Some(image)) =
            (name, to.skeleton.names[image as usize].symbol())
        {
            names.insert(*name, image);
        }
    }
    let n_values = from.values.len();
    let goal_values: Vec<(i64, i64)> = (0..n_values)
        .filter_map(|rank| Some((from.values[rank], *to.values.get(values.rank(rank, n_values))?)))
        .collect();
    // Step 2. The objects along the orders.
    let relation_image = |relation: Relation| {
        let name = *names.get(&Name::Relation(relation))?;
        Some(Relation { name, ..relation })
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for chain in &from.chains {
        if let Some(other) = relation_image(chain.relation).and_then(|relation| target.chain(relation)) {
            let is_dimension = source.is_dimension(chain) || target.is_dimension(other);
            pairs.push(Pair { source: chain, target: other, is_dimension, rotation: 0 });
        }
    }
    let with_objects = |pairs: &[Pair]| {
        let mut all = names.clone();
        let mut taken: FxHashSet<(u32, SymbolId)> = FxHashSet::default();
        for pair in pairs {
            let known =
                pair.source.objects.iter().filter_map(|&object| names.get(&Name::Object(object, pair.source.sort)));
            taken.extend(known.map(|&image| (pair.target.class, image)));
        }
        for pair in pairs {
            for (object, image) in pair.objects() {
                let name = Name::Object(object, pair.source.sort);
                if !all.contains_key(&name) && taken.insert((pair.target.class, image)) {
                    all.insert(name, image);
                }
            }
        }
        Mapping::new(all, goal_values.clone(), from.sorts.clone())
    };
    let initial: FxHashSet<&Term> = target.initial.iter().flatten().collect();
    let facts: FxHashSet<&(SymbolId, Vec<Term>)> = target.facts.iter().collect();
    let n_common = |mapping: &Mapping| {
        let fluents = source.initial.iter().flatten().filter_map(|fluent| mapping.fluent(fluent));
        let n_fluents = fluents.filter(|fluent| initial.contains(fluent)).count();
        let listed = source
            .facts
            .iter()
            .filter_map(|(name, args)| mapping.fact(Relation { name: *name, arity: args.len() as u32 }, args));
        n_fluents + listed.filter(|fact| facts.contains(fact)).count()
    };
    for index in 0..pairs.len() {
        if !pairs[index].source.cyclic && !pairs[index].target.cyclic {
            continue;
        }
        let n_rotations = pairs[index].target.objects.len().min(MAX_ROTATIONS);
        let mut scored = Vec::new();
        for rotation in 0..n_rotations {
            pairs[index].rotation = rotation;
            scored.push((n_common(&with_objects(&pairs)), std::cmp::Reverse(rotation)));
        }
        pairs[index].rotation = scored.into_iter().max().map_or(0, |(_, rotation)| rotation.0);
    }
    let mapping = with_objects(&pairs);
    let transformations = Differences { source, target, pairs: &pairs, mapping: &mapping }.all(values);
    Some(Variant { transformations, mapping })
}

/// The comparison, once names are known.
struct Differences<'a> {
    source: &'a Side<'a>,
    target: &'a Side<'a>,
    pairs: &'a [Pair<'a>],
    mapping: &'a Mapping,
}

impl Differences<'_> {
    fn all(&self, values: Values) -> Vec<Transformation> {
        let mut found = Vec::new();
        let mut add = |class, details: Vec<String>| {
            if !details.is_empty() {
                found.push(Transformation { class, details });
            }
        };
        let (lengths, steps) = self.lengths();
        let is_resized = !lengths.is_empty();
        let n_dimensions = self.pairs.iter().filter(|pair| pair.is_dimension).count();
        let (closed, is_torus) = self.closings();
        let ranges = self.ranges();
        if is_resized {
            add(Class::BoardSize, lengths.into_iter().chain(ranges).collect());
        } else {
            add(Class::Range, ranges);
        }
        add(if is_torus { Class::Torus } else { Class::Cylinder }, closed);
        add(Class::StepLimit, steps);
        let inverted = self.mapping.values().iter().filter(|(from, to)| from != to);
        let inverted = inverted.map(|(from, to)| format!("{from} becomes {to}")).collect();
        add(if values == Values::Same { Class::GoalValues } else { Class::InvertedGoal }, inverted);
        if !is_resized {
            let (class, details) = self.initial_state();
            add(class, details);
            add(Class::Facts, self.facts());
        }
        let _ = n_dimensions;
        found
    }

    /// Boards, orders of boards and constants on them that differ; and limits of counters that do.
    fn lengths(&self) -> (Vec<String>, Vec<String>) {
        let mut sizes = Vec::new();
        let boards = self.target.boards();
        for (functor, size) in self.source.boards() {
            let Some(name) = self.mapping.function(functor) else { continue };
            if let Some(other) = boards.get(&Relation { name, ..functor }).filter(|other| **other != size) {
                let text = |size: &[usize]| size.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
                sizes.push(format!("`{}` is {} instead of {}", self.target.word(name), text(other), text(&size)));
            }
        }
        let longer = |pair: &&Pair| pair.source.objects.len() != pair.target.objects.len();
        sizes.extend(self.pairs.iter().filter(|pair| pair.is_dimension).filter(longer).map(|pair| self.length(pair)));
        let mut steps = Vec::new();
        for (counter, chain) in self.source.counters() {
            let Some(name) = self.mapping.function(counter) else { continue };
            let image = Relation { name, ..counter };
            let Some((_, other)) = self.target.counters().into_iter().find(|(other, _)| *other == image) else {
                continue;
            };
            for limit in self.source.limits(counter) {
                let Some(to) = self.mapping.object(limit, Slot::Function(counter, 0)) else { continue };
                let (before, after) = (self.source.steps(counter, chain, limit), self.target.steps(image, other, to));
                let n_steps = |steps: (usize, usize)| steps.1.abs_diff(steps.0);
                if before.map(n_steps) != after.map(n_steps) {
                    steps.push(format!(
                        "`({} {})` instead of `({} {})`",
                        self.target.word(name),
                        self.target.word(to),
                        self.source.word(counter.name),
                        self.source.word(limit)
                    ));
                }
            }
        }
        (sizes, steps)
    }

    /// The counters' orders may be longer or shorter for the sake of the limit.
    fn is_counters(&self, pair: &Pair) -> bool {
        self.source.counters().iter().any(|(_, chain)| chain.relation == pair.source.relation)
    }

    fn length(&self, pair: &Pair) -> String {
        let (n, m) = (pair.source.objects.len(), pair.target.objects.len());
        let word = self.target.word(pair.target.relation.name);
        let change = if n < m { "lengthened" } else { "shortened" };
        format!("order `{word}` is {change} from {n} to {m} objects")
    }

    /// Orders that are no dimensions and differ in length, and constants of orders that stand elsewhere.
    fn ranges(&self) -> Vec<String> {
        let mut found = Vec::new();
        let counters = self.source.counters();
        for pair in self.pairs {
            let (n, m) = (pair.source.objects.len(), pair.target.objects.len());
            let is_counter = self.is_counters(pair);
            if n != m && !pair.is_dimension && !is_counter {
                found.push(self.length(pair));
            }
            let limits: Vec<SymbolId> = counters.iter().flat_map(|(counter, _)| self.source.limits(*counter)).collect();
            for (place, &object) in pair.source.objects.iter().enumerate() {
                if is_counter && limits.contains(&object) || pair.source.cyclic || pair.target.cyclic {
                    continue;
                }
                let name = Slot::Relation(pair.source.relation, 0);
                let Some(to) = self.mapping.object(object, name) else { continue };
                let Some(other) = pair.target.objects.iter().position(|&other| other == to) else { continue };
                if place != other && n - place != m - other {
                    found.push(format!("`{}` instead of `{}`", self.target.word(to), self.source.word(object)));
                }
            }
        }
        found
    }

    /// The orders that run in a circle in one game alone, and whether no dimension is left that does not.
    fn closings(&self) -> (Vec<String>, bool) {
        let changed = self.pairs.iter().filter(|pair| pair.source.cyclic != pair.target.cyclic);
        let text = |pair: &Pair| {
            let word = self.target.word(pair.target.relation.name);
            let change = if pair.target.cyclic { "runs in a circle" } else { "no longer runs in a circle" };
            format!("order `{word}` {change}")
        };
        let details = changed.map(text).collect();
        let mut dimensions = self.pairs.iter().filter(|pair| pair.is_dimension);
        let is_torus =
            dimensions.clone().count() > 0 && dimensions.all(|pair| pair.source.cyclic || pair.target.cyclic);
        (details, is_torus)
    }

    fn initial_state(&self) -> (Class, Vec<String>) {
        let (Some(before), Some(after)) = (&self.source.initial, &self.target.initial) else {
            return (Class::InitialState, Vec::new());
        };
        let translated: Vec<Option<Term>> = before.iter().map(|fluent| self.mapping.fluent(fluent)).collect();
        let known: FxHashSet<&Term> = translated.iter().flatten().collect();
        let wanted: FxHashSet<&Term> = after.iter().collect();
        let is_gone = |fluent: &Option<Term>| fluent.as_ref().is_none_or(|fluent| !wanted.contains(fluent));
        let gone: Vec<&Term> =
            before.iter().zip(&translated).filter(|(_, to)| is_gone(to)).map(|(from, _)| from).collect();
        let new: Vec<&Term> = after.iter().filter(|fluent| !known.contains(fluent)).collect();
        if gone.is_empty() && new.is_empty() {
            return (Class::InitialState, Vec::new());
        }
        let details = vec![format!(
            "{} of {} initial fluents instead of {} of {}",
            new.len(),
            after.len(),
            gone.len(),
            before.len()
        )];
        // How often each marker is on the board.
        let boards = self.source.boards();
        let on_board =
            |fluent: &Term, is_board: &dyn Fn(Relation) -> bool| fluent.functor().filter(|f| is_board(*f)).is_some();
        let target_boards: Vec<Relation> = boards
            .keys()
            .filter_map(|functor| Some(Relation { name: self.mapping.function(*functor)?, ..*functor }))
            .collect();
        let all_on_board = gone.iter().all(|fluent| on_board(fluent, &|functor| boards.contains_key(&functor)))
            && new.iter().all(|fluent| on_board(fluent, &|functor| target_boards.contains(&functor)));
        if !all_on_board {
            return (Class::InitialState, details);
        }
        // Markers are counted by the last argument: what places are told apart by is the same in both states.
        let marker = |fluent: &Term| match fluent {
            Term::Func(name, args) => args.last().map(|marker| (*name, marker.clone())),
            _ => None,
        };
        let mut counts: FxHashMap<(SymbolId, Term), i64> = FxHashMap::default();
        translated.iter().flatten().filter_map(marker).for_each(|marker| *counts.entry(marker).or_default() -= 1);
        after.iter().filter_map(marker).for_each(|marker| *counts.entry(marker).or_default() += 1);
        let is_balanced = translated.iter().all(Option::is_some) && counts.values().all(|&count| count == 0);
        (if is_balanced { Class::PieceConfiguration } else { Class::NumMarkers }, details)
    }

    /// Facts that are listed in one game alone. Those about orders of other lengths say nothing new.
    fn facts(&self) -> Vec<String> {
        let resized: FxHashSet<SymbolId> = self
            .pairs
            .iter()
            .filter(|pair| pair.source.objects.len() != pair.target.objects.len())
            .flat_map(|pair| pair.target.objects.iter().chain(&pair.source.objects).copied())
            .collect();
        let _ = resized;
        let known: FxHashSet<(SymbolId, Vec<Term>)> = self
            .source
            .facts
            .iter()
            .filter_map(|(name, args)| self.mapping.fact(Relation { name: *name, arity: args.len() as u32 }, args))
            .collect();
        let wanted: FxHashSet<&(SymbolId, Vec<Term>)> = self.target.facts.iter().collect();
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for fact in self.target.facts.iter().filter(|fact| !known.contains(fact)) {
            counts.entry(self.target.word(fact.0)).or_default().1 += 1;
        }
        for (name, args) in &self.source.facts {
            let relation = Relation { name: *name, arity: args.len() as u32 };
            let image = self.mapping.fact(relation, args);
            if image.is_none_or(|image| !wanted.contains(&image)) {
                let word = self.mapping.relation(relation).map_or("?", |name| self.target.word(name));
                counts.entry(word).or_default().0 += 1;
            }
        }
        let text = |(word, (gone, new)): (&str, (usize, usize))| format!("`{word}`: {new} facts instead of {gone}");
        counts.into_iter().map(text).collect()
    }
}
