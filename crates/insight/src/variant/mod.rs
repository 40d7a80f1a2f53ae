//! Variants: games that are the same but for particulars, such as the size of the board.

pub(crate) mod abstraction;
pub(crate) mod align;
mod differences;
pub mod generate;
pub(crate) mod keys;
pub(crate) mod prune;
pub(crate) mod side;

use gdl::program::{Program, RuleId};
use gdl::symbol::SymbolId;

pub use keys::Keys;

use crate::mapping::Mapping;
use crate::normal;
use abstraction::Reading;
use align::align;
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
}

/// How `source` becomes `target`, if they are variants of each other; with the fewest differences, where there are several
/// ways. If `roles` are given, the first, of the source, should become the second, of the target.
pub fn find(source: &Program, target: &Program, roles: Option<(SymbolId, SymbolId)>) -> Option<Variant> {
    let (source, target) = (&simplified(source), &simplified(target));
    let (of_source, of_target) = (Keys::of_simple(source), Keys::of_simple(target));
    let own = of_source.whole[0].1;
    let whole = Side::new(source, Reading::Same);
    let mut found: Vec<Variant> = Vec::new();
    let mut add = |variant: Option<Variant>, feature: Option<(Class, String)>| {
        let feature = feature.map(|(class, detail)| Transformation { class, details: vec![detail] });
        found.extend(variant.map(|mut variant| {
            variant.transformations.extend(feature);
            variant
        }));
    };
    for &(values, key) in &of_target.whole {
        let target = Side::new(target, values);
        if key == own {
            add(align(&whole, &target, values, roles), None);
        }
        for reduced in of_source.reduced.iter().filter(|reduced| key == reduced.keys[0].1) {
            let rest = without(source, reduced.functor, reduced.removal).expect("its keys are known");
            let detail = format!("`{}` is left out", source.symbols.name(reduced.functor.name));
            let variant = align(&Side::new(&rest, Reading::Same), &target, values, roles);
            add(variant, Some((Class::MissingFeature, detail)));
        }
    }
    for reduced in &of_target.reduced {
        for &(values, _) in reduced.keys.iter().filter(|(_, key)| *key == own) {
            let rest = without(target, reduced.functor, reduced.removal).expect("its keys are known");
            let detail = format!("`{}` is added", target.symbols.name(reduced.functor.name));
            let variant = align(&whole, &Side::new(&rest, values), values, roles);
            add(variant, Some((Class::AddedFeature, detail)));
        }
    }
    let mut best = found.into_iter().min_by_key(|variant| variant.transformations.len())?;
    if best.transformations.is_empty() {
        best.transformations.push(Transformation { class: Class::UnusedRules, details: Vec::new() });
    }
    Some(best)
}

/// The rules without needless connectives and repeats.
pub(crate) fn simplified(program: &Program) -> Program {
    let rules = normal::rules(&program.symbols, (0..).map(RuleId).zip(&program.rules));
    Program { symbols: program.symbols.clone(), rules: rules.into_iter().map(|(_, rule)| rule).collect() }
}
