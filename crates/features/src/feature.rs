//! Features: numbers of a position.
//!
//! As text a feature is a list: `(count (?0 ?1) (true (cell ?0 ?1 x)))` counts the cells that hold an `x`, and
//! `(sum (place ?0 (a b c d)) (?0 ?1) (true (cell ?0 ?1 rook)))` is the number of the rook's file, from 0. [`read`] reads
//! back what [`Feature::display`] writes.

mod read;

use std::fmt;
use std::sync::Arc;

use gdl::program::{Term, VarId};
use gdl::symbol::Symbols;

use crate::formula::{Formula, ShownRow, ShownTerm};

pub use read::read;

/// What each binding of the listed variables adds to a feature's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// One: the value is the number of bindings.
    One,
    /// The place of a variable's value in an order, from 0; nothing for a value that is not in it.
    Place {
        /// The variable.
        var: VarId,
        /// Ground terms, from first to last.
        order: Arc<Vec<Term>>,
    },
    /// How far two points are apart whose coordinates are variables; nothing for coordinates outside of their orders.
    Distance {
        /// How the differences of the coordinates are put together.
        metric: Metric,
        /// The coordinates; at least one.
        axes: Vec<Axis>,
    },
    /// A number for each tuple of values that is listed, and nothing for any other.
    Table {
        /// The variables whose values are looked up.
        vars: Vec<VarId>,
        /// Numbers, each with its tuples of ground terms; both ascending, and no tuple twice.
        rows: Arc<Vec<(i32, Vec<Vec<Term>>)>>,
    },
}

/// How differences of coordinates are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// The sum of the differences without their signs: the steps of a rook that goes one cell at a time.
    Manhattan,
    /// The greatest difference without its sign: the steps of a king.
    Chebyshev,
    /// The sum of the differences, second point less first.
    Difference,
}

impl Metric {
    const ALL: [Metric; 3] = [Metric::Manhattan, Metric::Chebyshev, Metric::Difference];

    /// Its name in the text of a feature.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Manhattan => "manhattan",
            Metric::Chebyshev => "chebyshev",
            Metric::Difference => "difference",
        }
    }
}

/// A coordinate of two points.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Axis {
    /// That of the first point.
    pub from: VarId,
    /// That of the second point.
    pub to: VarId,
    /// The values that it may have: ground terms, from first to last.
    pub order: Arc<Vec<Term>>,
}

impl Weight {
    /// A table from pairs of a tuple and its number; tuples with the number 0 are left out.
    pub fn table(vars: Vec<VarId>, pairs: impl IntoIterator<Item = (Vec<Term>, i32)>) -> Weight {
        let mut by_number = std::collections::BTreeMap::<i32, Vec<Vec<Term>>>::new();
        for (tuple, number) in pairs.into_iter().filter(|pair| pair.1 != 0) {
            by_number.entry(number).or_default().push(tuple);
        }
        let sorted = by_number.into_iter().map(|(number, mut tuples)| {
            tuples.sort();
            tuples.dedup();
            (number, tuples)
        });
        Weight::Table { vars, rows: Arc::new(sorted.collect()) }
    }

    /// The variables that it depends on.
    pub fn variables(&self) -> Vec<VarId> {
        match self {
            Weight::One => Vec::new(),
            Weight::Place { var, .. } => vec![*var],
            Weight::Distance { axes, .. } => axes.iter().flat_map(|axis| [axis.from, axis.to]).collect(),
            Weight::Table { vars, .. } => vars.clone(),
        }
    }

    /// What the binding adds that gives these ground terms to the variables of `list`.
    ///
    /// # Panics
    /// If a variable of the weight is not in `list`.
    pub fn of(&self, list: &[VarId], values: &[Term]) -> i32 {
        let value = |var: VarId| {
            let at = list.iter().position(|&listed| listed == var).expect("the variables of a weight are listed");
            &values[at]
        };
        let place = |var: VarId, order: &[Term]| order.iter().position(|term| term == value(var)).map(|at| at as i32);
        match self {
            Weight::One => 1,
            Weight::Place { var, order } => place(*var, order).unwrap_or(0),
            Weight::Distance { metric, axes } => {
                let difference = |axis: &Axis| Some(place(axis.to, &axis.order)? - place(axis.from, &axis.order)?);
                let Some(differences) = axes.iter().map(difference).collect::<Option<Vec<i32>>>() else { return 0 };
                match metric {
                    Metric::Manhattan => differences.iter().map(|difference| difference.abs()).sum(),
                    Metric::Chebyshev => differences.iter().map(|difference| difference.abs()).max().unwrap_or(0),
                    Metric::Difference => differences.iter().sum(),
                }
            }
            Weight::Table { vars, rows } => {
                let tuple: Vec<Term> = vars.iter().map(|&var| value(var).clone()).collect();
                rows.iter().find(|(_, tuples)| tuples.binary_search(&tuple).is_ok()).map_or(0, |row| row.0)
            }
        }
    }

    /// The weight with other variables in the place of its own.
    pub fn map_variables(&self, map: &mut impl FnMut(VarId) -> VarId) -> Weight {
        match self {
            Weight::One => Weight::One,
            Weight::Place { var, order } => Weight::Place { var: map(*var), order: order.clone() },
            Weight::Distance { metric, axes } => {
                let axis = |axis: &Axis| Axis { from: map(axis.from), to: map(axis.to), order: axis.order.clone() };
                Weight::Distance { metric: *metric, axes: axes.iter().map(axis).collect() }
            }
            Weight::Table { vars, rows } => {
                Weight::Table { vars: vars.iter().map(|&var| map(var)).collect(), rows: rows.clone() }
            }
        }
    }
}

/// A formula with a list of counted variables: its value is the sum of the weights of the distinct bindings of the list for
/// which the formula holds, whatever the other variables; with the weight 1 that is their number. With an empty list there
/// is one binding, so the value is 1 if the formula holds and else 0.
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

    /// A feature that adds up.
    pub fn sum(weight: Weight, list: Vec<VarId>, formula: Formula) -> Feature {
        Feature { weight, list, formula }
    }

    /// The feature as text, which [`read`] reads back.
    pub fn display<'a>(&'a self, symbols: &'a Symbols) -> impl fmt::Display + 'a {
        Shown(self, symbols)
    }
}

struct Shown<'a>(&'a Feature, &'a Symbols);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(feature, symbols) = *self;
        let row = |terms: &[Term]| ShownRow(terms, symbols).to_string();
        let vars = |vars: &[VarId]| row(&vars.iter().map(|&var| Term::Var(var)).collect::<Vec<Term>>());
        match &feature.weight {
            Weight::One => write!(f, "(count ")?,
            Weight::Place { var, order } => {
                write!(f, "(sum (place {} {}) ", ShownTerm(&Term::Var(*var), symbols), row(order))?;
            }
            Weight::Distance { metric, axes } => {
                write!(f, "(sum ({}", metric.name())?;
                for Axis { from, to, order } in axes {
                    write!(f, " (?{} ?{} {})", from.0, to.0, row(order))?;
                }
                write!(f, ") ")?;
            }
            Weight::Table { vars: looked_up, rows } => {
                write!(f, "(sum (table {}", vars(looked_up))?;
                for (number, tuples) in rows.iter() {
                    write!(f, " ({number}")?;
                    tuples.iter().try_for_each(|tuple| write!(f, " {}", row(tuple)))?;
                    write!(f, ")")?;
                }
                write!(f, ") ")?;
            }
        }
        write!(f, "{} {})", vars(&feature.list), feature.formula.display(symbols))
    }
}
