//! Features: numbers of a position.

use gdl::TermId;
use gdl::datalog::Terms;
use gdl::program::VarId;

use crate::formula::Formula;

/// What each binding of the listed variables adds to a feature's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// One: the value is the number of bindings.
    One,
}

impl Weight {
    /// Whether each binding adds one.
    pub fn is_one(&self) -> bool {
        *self == Weight::One
    }

    /// What a binding adds, given the value of each variable that the weight may read.
    pub fn of(&self, _terms: &Terms, _value: impl Fn(VarId) -> Option<TermId>) -> i32 {
        match self {
            Weight::One => 1,
        }
    }
}

/// A formula with a list of counted variables: its value is the number of distinct bindings of the list for which the
/// formula holds, whatever the other variables; with an empty list, 1 if the formula holds and else 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// What a binding adds.
    pub weight: Weight,
    /// The counted variables, each once; they occur in the formula outside of negations.
    pub list: Vec<VarId>,
    /// What must hold.
    pub formula: Formula,
}

impl Feature {
    /// A feature that counts.
    pub fn count(list: Vec<VarId>, formula: Formula) -> Feature {
        Feature { weight: Weight::One, list, formula }
    }
}
