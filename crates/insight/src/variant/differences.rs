//! In what two variants differ.

use std::collections::BTreeMap;

use gdl::Relation;
use gdl::program::Term;
use gdl::symbol::SymbolId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::abstraction::{Chain, Reading};
use super::align::Pair;
use super::side::{Board, Side};
use super::{Class, Transformation};
use crate::mapping::Mapping;
use crate::sorts::Slot;

/// The comparison, once names are known.
pub(super) struct Differences<'a> {
    pub(super) source: &'a Side<'a>,
    pub(super) target: &'a Side<'a>,
    pub(super) pairs: &'a [Pair<'a>],
    pub(super) mapping: &'a Mapping,
}

impl Differences<'_> {
    /// All differences; `values` says how the target's goal values were read.
    pub(super) fn all(&self, values: Reading) -> Vec<Transformation> {
        let mut found = Vec::new();
        let mut add = |class, details: Vec<String>| {
            if !details.is_empty() {
                found.push(Transformation { class, details });
            }
        };
        // Step 1. What the orders say. A board that grows takes other numbers with it.
        let mut steps = self.step_limits();
        let mut sizes = self.board_sizes();
        let mut ranges = self.moved_constants();
        for pair in self.pairs.iter().filter(|pair| pair.is_resized()) {
            let is_counter = self.source.counters().iter().any(|(_, chain)| chain.relation == pair.source.relation);
            let details = match (is_counter, pair.is_dimension) {
                (true, false) => &mut steps,
                (true, true) if !steps.is_empty() => &mut steps,
                (_, true) => &mut sizes,
                (false, false) => &mut ranges,
            };
            details.push(self.length(pair));
        }
        let is_board_resized = !sizes.is_empty();
        if is_board_resized {
            sizes.append(&mut ranges);
        }
        add(Class::BoardSize, sizes);
        add(Class::StepLimit, steps);
        add(Class::Range, ranges);
        let (closed, is_torus) = self.closings();
        add(if is_torus { Class::Torus } else { Class::Cylinder }, closed);
        // Step 2. What the players want.
        let changed = self.mapping.values().iter().filter(|(from, to)| from != to);
        let mut changed: Vec<String> = changed.map(|(from, to)| format!("{to} instead of {from}")).collect();
        if values == Reading::Exchanged {
            let roles: Vec<&str> = self.target.abstraction.roles.iter().map(|&role| self.target.word(role)).collect();
            changed.push(format!("`{}` have exchanged their goals", roles.join("` and `")));
        }
        add(if values == Reading::Same { Class::GoalValues } else { Class::InvertedGoal }, changed);
        // Step 3. What is listed. On a board of another size all of it is different.
        if !is_board_resized {
            let (class, details) = self.initial_state();
            add(class, details);
            add(Class::Facts, self.facts());
        }
        found
    }

    fn board_sizes(&self) -> Vec<String> {
        let boards = self.target.boards();
        let mut found = Vec::new();
        for (functor, board) in self.source.boards() {
            let Some(name) = self.mapping.function(functor) else { continue };
            let Some(other) = boards.get(&Relation { name, ..functor }) else { continue };
            let is_known = board.is_filled && other.is_filled && board.marker == other.marker;
            // A circle has no ends from which a board's size could be told.
            let is_closed = |(index, _): &(usize, _)| {
                let arg = (index + usize::from(*index >= board.marker)) as u32;
                let sort = self.source.abstraction.sorts.of(Slot::Function(functor, arg));
                let pairs = self.pairs.iter().filter(|pair| pair.source.sort == sort && !pair.is_resized());
                pairs.into_iter().any(|pair| pair.source.cyclic || pair.target.cyclic)
            };
            let mut sizes = board.size.iter().zip(&other.size).enumerate().filter(|size| !is_closed(size));
            if is_known && sizes.any(|(_, (size, other))| size != other) {
                let text = |board: &Board| board.size.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
                found.push(format!("`{}` is {} instead of {}", self.target.word(name), text(other), text(&board)));
            }
        }
        found
    }

    fn step_limits(&self) -> Vec<String> {
        let mut found = Vec::new();
        let counters = self.target.counters();
        for (counter, chain) in self.source.counters() {
            let Some(name) = self.mapping.function(counter) else { continue };
            let image = Relation { name, ..counter };
            let Some((_, other)) = counters.iter().find(|(other, _)| *other == image) else { continue };
            for limit in self.source.limits(counter) {
                let Some(to) = self.mapping.object(limit, Slot::Function(counter, 0)) else { continue };
                if self.source.n_steps(counter, chain, limit) != self.target.n_steps(image, other, to) {
                    found.push(format!(
                        "`({} {})` instead of `({} {})`",
                        self.target.word(name),
                        self.target.word(to),
                        self.source.word(counter.name),
                        self.source.word(limit)
                    ));
                }
            }
        }
        found
    }

    /// Constants in rules that stand elsewhere in their order, limits of counters aside.
    fn moved_constants(&self) -> Vec<String> {
        let counters = self.source.counters();
        let is_limit = |chain: &Chain, object: SymbolId| {
            let own = counters.iter().filter(|(_, other)| other.relation == chain.relation);
            own.into_iter().any(|(counter, _)| self.source.limits(*counter).contains(&object))
        };
        let mut found = Vec::new();
        for pair in self.pairs.iter().filter(|pair| !pair.source.cyclic && !pair.target.cyclic) {
            let (n, m) = (pair.source.objects.len(), pair.target.objects.len());
            for (place, &object) in pair.source.objects.iter().enumerate() {
                let Some(to) = self.mapping.object(object, Slot::Relation(pair.source.relation, 0)) else { continue };
                let Some(other) = pair.target.objects.iter().position(|&other| other == to) else { continue };
                if place != other && n - place != m - other && !is_limit(pair.source, object) {
                    found.push(format!("`{}` instead of `{}`", self.target.word(to), self.source.word(object)));
                }
            }
        }
        found.dedup();
        found
    }

    fn length(&self, pair: &Pair) -> String {
        let (n, m) = (pair.source.objects.len(), pair.target.objects.len());
        let word = self.target.word(pair.target.relation.name);
        format!("order `{word}` {} from {n} to {m} objects", if n < m { "lengthened" } else { "shortened" })
    }

    /// The orders that run in a circle in one game alone, and whether all dimensions of the board now do so.
    fn closings(&self) -> (Vec<String>, bool) {
        let changed = self.pairs.iter().filter(|pair| pair.source.cyclic != pair.target.cyclic);
        let text = |pair: &Pair| {
            let word = self.target.word(pair.target.relation.name);
            let change = if pair.target.cyclic { "runs in a circle" } else { "no longer runs in a circle" };
            format!("order `{word}` {change}")
        };
        let mut dimensions = self.pairs.iter().filter(|pair| pair.is_dimension);
        let is_torus = dimensions.all(|pair| pair.source.cyclic || pair.target.cyclic);
        (changed.map(text).collect(), is_torus)
    }

    fn initial_state(&self) -> (Class, Vec<String>) {
        let (Some(before), Some(after)) = (&self.source.initial, &self.target.initial) else {
            return (Class::InitialState, Vec::new());
        };
        let translated: Vec<Option<Term>> = before.iter().map(|fluent| self.mapping.fluent(fluent)).collect();
        let known: FxHashSet<&Term> = translated.iter().flatten().collect();
        let wanted: FxHashSet<&Term> = after.iter().collect();
        let is_gone = |fluent: &Option<Term>| fluent.as_ref().is_none_or(|fluent| !wanted.contains(fluent));
        let pairs = before.iter().zip(&translated);
        let gone: Vec<&Term> = pairs.filter(|(_, to)| is_gone(to)).map(|(from, _)| from).collect();
        let new: Vec<&Term> = after.iter().filter(|fluent| !known.contains(fluent)).collect();
        if gone.is_empty() && new.is_empty() {
            return (Class::InitialState, Vec::new());
        }
        let details = vec![format!("{} initial fluents instead of {}", new.len(), gone.len())];
        // What stands on boards is counted: as many of each marker, and the pieces have only moved.
        let boards = self.source.boards();
        let others: BTreeMap<Relation, usize> = boards
            .iter()
            .filter_map(|(functor, board)| {
                Some((Relation { name: self.mapping.function(*functor)?, ..*functor }, board.marker))
            })
            .collect();
        let is_on_board = |fluent: &Term| fluent.functor().is_some_and(|functor| boards.contains_key(&functor));
        let marker = |fluent: &Term| match (fluent, fluent.functor().and_then(|functor| others.get(&functor))) {
            (Term::Func(name, args), Some(&marker)) => Some((*name, args[marker].clone())),
            _ => None,
        };
        if !gone.iter().all(|fluent| is_on_board(fluent)) || !new.iter().all(|fluent| marker(fluent).is_some()) {
            return (Class::InitialState, details);
        }
        let mut counts: FxHashMap<(SymbolId, Term), i64> = FxHashMap::default();
        translated.iter().flatten().filter_map(marker).for_each(|marker| *counts.entry(marker).or_default() -= 1);
        after.iter().filter_map(marker).for_each(|marker| *counts.entry(marker).or_default() += 1);
        let is_balanced = translated.iter().all(Option::is_some) && counts.values().all(|&count| count == 0);
        (if is_balanced { Class::PieceConfiguration } else { Class::NumMarkers }, details)
    }

    /// Facts that are listed in one game alone. Those about orders of other lengths say nothing new.
    fn facts(&self) -> Vec<String> {
        let resized = || self.pairs.iter().filter(|pair| pair.is_resized());
        let source_resized: Vec<&Chain> = resized().map(|pair| pair.source).collect();
        let target_resized: Vec<&Chain> = resized().map(|pair| pair.target).collect();
        let before = self.source.facts.iter().filter(|fact| !self.source.is_about(fact, &source_resized));
        let after: Vec<_> =
            self.target.facts.iter().filter(|fact| !self.target.is_about(fact, &target_resized)).collect();
        let wanted: FxHashSet<&(SymbolId, Vec<Term>)> = after.iter().copied().collect();
        let mut known: FxHashSet<(SymbolId, Vec<Term>)> = FxHashSet::default();
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (name, args) in before {
            let relation = Relation { name: *name, arity: args.len() as u32 };
            match self.mapping.fact(relation, args).filter(|image| wanted.contains(image)) {
                Some(image) => _ = known.insert(image),
                None => {
                    let word = self.mapping.relation(relation).map_or("", |name| self.target.word(name));
                    counts.entry(word).or_default().0 += 1;
                }
            }
        }
        for (name, _) in after.into_iter().filter(|fact| !known.contains(fact)) {
            counts.entry(self.target.word(*name)).or_default().1 += 1;
        }
        let text = |(word, (gone, new)): (&str, (usize, usize))| format!("{new} facts of `{word}` instead of {gone}");
        counts.into_iter().map(text).collect()
    }
}
