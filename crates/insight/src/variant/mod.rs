//! Variants: games that are the same but for particulars, such as the size of the board.
//!
//! Kuhlmann (2010) stores for each game all variants that he can think of, and compares a new game with each of them. Here
//! the particulars are taken out of both games (`abstraction`): the initial state, the lengths of orders, goal values. Games
//! with equal abstractions are variants of each other, by whatever differences together, and numbers made from abstractions
//! are keys by which a thousand games are searched at once ([`Keys`]). [`find`] then aligns two games (`align`), name by name
//! and along their orders, and says in what they differ (`differences`).
//!
//! ```
//! use insight::variant::{Class, Subject, find};
//!
//! let race = |rest: &str| {
//!     let rules = format!(
//!         "(role a) (role b) (init (at a 1)) (init (at b 1)) (up 1 2) (up 2 3) {rest}
//!          (<= (legal ?r go) (role ?r)) (<= (legal ?r stay) (role ?r))
//!          (<= (next (at ?r ?y)) (does ?r go) (true (at ?r ?x)) (up ?x ?y))
//!          (<= (next (at ?r ?x)) (does ?r stay) (true (at ?r ?x)))
//!          (<= terminal (true (at ?r ?x)) (last ?x))
//!          (<= (goal ?r 100) (true (at ?r ?x)) (last ?x))
//!          (<= (goal ?r 0) (true (at ?r ?x)) (not (last ?x)))"
//!     );
//!     Subject::new(&gdl::read("race.kif", rules.as_bytes()).program)
//! };
//! let (short, long) = (race("(last 3)"), race("(up 3 4) (up 4 5) (last 5)"));
//! let variant = find(&short, &long, None).expect("the same race");
//! assert_eq!(variant.transformations[0].class, Class::Range);
//! assert_eq!(variant.transformations[0].details, ["order `up` lengthened from 3 to 5 objects"]);
//! ```

pub(crate) mod abstraction;
pub(crate) mod align;
mod differences;
pub mod generate;
pub(crate) mod keys;
mod paths;
pub(crate) mod prune;
pub(crate) mod side;

use std::collections::BTreeMap;

use gdl::program::{Program, RuleId};
use gdl::symbol::SymbolId;
use gdl::{Relation, Stop};

pub use keys::Keys;

use crate::mapping::Mapping;
use crate::normal;
use abstraction::Reading;
use align::align;
use keys::Reduced;
use prune::without;
use side::Side;

/// In what two variants differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The players have changed places.
    SwitchedRole,
    /// Pieces stand elsewhere in the beginning.
    PieceConfiguration,
    /// There are more or fewer of some marker in the beginning.
    NumMarkers,
    /// The initial state differs in another way.
    InitialState,
    /// The board has another size.
    BoardSize,
    /// The board is closed along one dimension, or no longer is.
    Cylinder,
    /// The board is closed along all dimensions, or no longer is.
    Torus,
    /// The match ends after another number of steps.
    StepLimit,
    /// A number other than a size or a limit is different.
    Range,
    /// Rules are written out for paths of other lengths: a rook moves farther, or five in a row win instead of four.
    PathLength,
    /// The goal values are other numbers in the same order.
    GoalValues,
    /// What was best is worst.
    InvertedGoal,
    /// Something else that is listed is different.
    Facts,
    /// A kind of fluent is not there any more.
    MissingFeature,
    /// There is one more kind of fluent.
    AddedFeature,
    /// The same game, but for rules that play no part.
    UnusedRules,
}

impl Class {
    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            Class::SwitchedRole => "switched role",
            Class::PieceConfiguration => "piece configuration",
            Class::NumMarkers => "number of markers",
            Class::InitialState => "initial state",
            Class::BoardSize => "board size",
            Class::Cylinder => "cylinder",
            Class::Torus => "torus",
            Class::StepLimit => "step limit",
            Class::Range => "range of numbers",
            Class::PathLength => "path length",
            Class::GoalValues => "goal values",
            Class::InvertedGoal => "inverted goal",
            Class::Facts => "listed facts",
            Class::MissingFeature => "missing feature",
            Class::AddedFeature => "added feature",
            Class::UnusedRules => "unused rules",
        }
    }
}

/// One difference between two variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformation {
    /// What kind of difference it is.
    pub class: Class,
    /// What has changed, in words.
    pub details: Vec<String>,
}

/// How one game becomes another.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The differences.
    pub transformations: Vec<Transformation>,
    /// What the names of the one are in the other.
    pub mapping: Mapping,
    /// The orders that are listed fact by fact in both, whatever their lengths.
    pub orders: Vec<OrderPair>,
}

/// Two orders that correspond to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderPair {
    /// The relations that list them.
    pub relations: (Relation, Relation),
    /// The objects of the first, in order.
    pub source: Vec<SymbolId>,
    /// The objects of the second, in order. A circle begins with what the first object of the other one corresponds to.
    pub target: Vec<SymbolId>,
    /// Whether it is a dimension of a board.
    pub is_dimension: bool,
}

/// A game, ready to be compared with its variants.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The rules in simple form.
    program: Program,
    keys: Keys,
}

impl Subject {
    /// Gets a game ready.
    pub fn new(program: &Program) -> Subject {
        Subject::until(program, &Stop::never()).expect("it is never stopped")
    }

    /// Gets a game ready, unless that is stopped.
    pub fn until(program: &Program, stop: &Stop) -> Option<Subject> {
        let program = simplified(program, stop);
        Some(Subject { keys: Keys::until(&program, stop)?, program })
    }

    /// Gets a game ready to be the source of [`find`], and nothing else. `shared` are its own keys that the target wants.
    pub fn source(program: &Program, shared: &[u64]) -> Subject {
        let program = simplified(program, &Stop::never());
        Subject { keys: Keys::of_source(&program, shared), program }
    }

    /// The numbers by which its variants are found.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }
}

/// How `source` becomes `target`, if they are variants of each other; with the fewest differences, where there are several
/// ways. If `roles` are given, the first, of the source, should become the second, of the target.
pub fn find(source: &Subject, target: &Subject, roles: Option<(SymbolId, SymbolId)>) -> Option<Variant> {
    let mut found = equal_parts(source, target, roles);
    if found.is_empty() {
        found = equal_but_for_paths(source, target, roles);
    }
    let mut best = found.into_iter().min_by_key(|variant| variant.transformations.len())?;
    if best.transformations.is_empty() {
        best.transformations.push(Transformation { class: Class::UnusedRules, details: Vec::new() });
    }
    Some(best)
}

/// The ways in which the games are equal but for particulars, or for one kind of fluent.
fn equal_parts(source: &Subject, target: &Subject, roles: Option<(SymbolId, SymbolId)>) -> Vec<Variant> {
    let own = source.keys.whole[0].1;
    let mut found: Vec<Variant> = Vec::new();
    let mut add = |variant: Option<Variant>, feature: Option<(Class, String)>| {
        let feature = feature.map(|(class, detail)| Transformation { class, details: vec![detail] });
        found.extend(variant.map(|mut variant| {
            variant.transformations.extend(feature);
            variant
        }));
    };
    fn whole(subject: &Subject, reading: Reading) -> Side<'_> {
        Side::new(&subject.program, reading)
    }
    let rest = |subject: &Subject, part: &Reduced| {
        let rest = without(&subject.program, part.functor, part.removal, &Stop::never());
        let rest = rest.expect("its keys are known");
        (rest, subject.program.symbols.name(part.functor.name).to_owned())
    };
    for &(reading, key) in &target.keys.whole {
        if key == own {
            add(align(&whole(source, Reading::Same), &whole(target, reading), reading, roles), None);
        }
        for part in source.keys.reduced.iter().filter(|part| key == part.keys[0].1) {
            let (rest, functor) = rest(source, part);
            let variant = align(&Side::new(&rest, Reading::Same), &whole(target, reading), reading, roles);
            add(variant, Some((Class::MissingFeature, format!("`{functor}` is left out"))));
        }
    }
    for part in &target.keys.reduced {
        for &(reading, _) in part.keys.iter().filter(|(_, key)| *key == own) {
            let (rest, functor) = rest(target, part);
            let variant = align(&whole(source, Reading::Same), &Side::new(&rest, reading), reading, roles);
            add(variant, Some((Class::AddedFeature, format!("`{functor}` is added"))));
        }
    }
    found
}

/// The ways in which the games are equal but for particulars and for the lengths of paths in rules.
fn equal_but_for_paths(source: &Subject, target: &Subject, roles: Option<(SymbolId, SymbolId)>) -> Vec<Variant> {
    let own = source.keys.contracted[0].1;
    let readings = target.keys.contracted.iter().filter(|(_, key)| *key == own);
    let variant = |&(reading, _): &(Reading, u64)| {
        let mut sides = [Side::new(&source.program, Reading::Same), Side::new(&target.program, reading)];
        sides.iter_mut().for_each(|side| _ = side.abstraction.contract_paths());
        let mut variant = align(&sides[0], &sides[1], reading, roles)?;
        let details = path_lengths(&sides[0], &sides[1], &variant.mapping);
        variant.transformations.push(Transformation { class: Class::PathLength, details });
        Some(variant)
    };
    readings.filter_map(variant).collect()
}

/// The relations whose rules are more, or longer.
fn path_lengths(source: &Side, target: &Side, mapping: &Mapping) -> Vec<String> {
    let sizes = |side: &Side| {
        let mut sizes: BTreeMap<Relation, (usize, usize)> = BTreeMap::new();
        for rule in side.program.rules.iter().filter(|rule| !rule.body.is_empty()) {
            let size = sizes.entry(rule.head.relation()).or_default();
            *size = (size.0 + 1, size.1 + rule.body.len());
        }
        sizes
    };
    let after = sizes(target);
    let change = |(relation, (n_rules, n_literals)): (Relation, (usize, usize))| {
        let name = mapping.relation(relation)?;
        let &(n_now, n_literals_now) = after.get(&Relation { name, ..relation })?;
        let word = target.word(name);
        if n_now != n_rules {
            return Some(format!("{n_now} rules for `{word}` instead of {n_rules}"));
        }
        let length = if n_literals_now > n_literals { "longer" } else { "shorter" };
        (n_literals_now != n_literals).then(|| format!("{length} rules for `{word}`"))
    };
    sizes(source).into_iter().filter_map(change).collect()
}

/// The rules without needless connectives and repeats.
pub(crate) fn simplified(program: &Program, stop: &Stop) -> Program {
    let rules = normal::rules(&program.symbols, (0..).map(RuleId).zip(&program.rules), stop);
    Program { symbols: program.symbols.clone(), rules: rules.into_iter().map(|(_, rule)| rule).collect() }
}
