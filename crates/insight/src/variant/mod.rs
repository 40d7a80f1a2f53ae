//! Variants: games that are the same but for particulars, such as the size of the board.

pub(crate) mod abstraction;
mod align;
pub(crate) mod keys;
pub(crate) mod prune;

use gdl::program::Program;

pub use keys::Keys;

use crate::mapping::Mapping;
use abstraction::Values;
use align::{Side, align};
use prune::without;

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
/// ways. `keys` are those of the target.
pub fn find(source: &Program, target: &Program) -> Option<Variant> {
    let (of_source, of_target) = (Keys::new(source), Keys::new(target));
    let own = |keys: &[(Values, u64)]| keys[0].1;
    let mut found: Vec<Variant> = Vec::new();
    let same = Side::new(source, Values::Same);
    for &(values, key) in &of_target.whole {
        if key == own(&of_source.whole) {
            found.extend(align(&same, &Side::new(target, values), values));
        }
        for (functor, removal, keys) in &of_source.reduced {
            if key == own(keys)
                && let Some(rest) = without(source, *functor, *removal)
                && let Some(mut variant) = align(&Side::new(&rest, Values::Same), &Side::new(target, values), values)
            {
                let details = vec![format!("`{}` is left out", source.symbols.name(functor.name))];
                variant.transformations.push(Transformation { class: Class::MissingFeature, details });
                found.push(variant);
            }
        }
    }
    for (functor, removal, keys) in &of_target.reduced {
        for &(values, key) in keys {
            if key == own(&of_source.whole)
                && let Some(rest) = without(target, *functor, *removal)
                && let Some(mut variant) = align(&same, &Side::new(&rest, values), values)
            {
                let details = vec![format!("`{}` is added", target.symbols.name(functor.name))];
                variant.transformations.push(Transformation { class: Class::AddedFeature, details });
                found.push(variant);
            }
        }
    }
    let mut best = found.into_iter().min_by_key(|variant| variant.transformations.len())?;
    if best.transformations.is_empty() {
        best.transformations.push(Transformation { class: Class::UnusedRules, details: Vec::new() });
    }
    Some(best)
}
