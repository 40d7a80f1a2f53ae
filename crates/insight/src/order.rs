//! Orders: relations that put objects in a row or in a circle, and arithmetic over them.
//!
//! A relation of two arguments is an order if it says what comes next: each object has at most one successor and at most
//! one predecessor, and one walk visits all of them (Kuhlmann 2010, whose test looks at ground facts alone; here it looks
//! at every relation that never changes, whether its facts are listed or derived). A relation with a further argument
//! may hold several orders, one for each value of that argument.

use std::hash::Hash;

use gdl::{Relation, Stop, TermId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::universe::{Static, Universe};

/// Objects in a row or in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The relation that says what comes next.
    pub relation: Relation,
    /// The arguments that hold an object and its successor.
    pub positions: (usize, usize),
    /// The other argument's position and value, where the relation holds several orders.
    pub selector: Option<(usize, TermId)>,
    /// The objects, from first to last; a circle begins at its least object.
    pub objects: Vec<TermId>,
    /// Whether the last is followed by the first.
    pub cyclic: bool,
    /// The number of an earlier order with the same objects the other way round or the same way round.
    pub same_as: Option<(usize, bool)>,
}

impl Order {
    /// The place of an object.
    pub fn index(&self, object: TermId) -> Option<usize> {
        self.objects.iter().position(|&other| other == object)
    }
}

/// What a relation computes with the places of objects in orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Holds if the first comes before the second.
    Less,
    /// Holds if the first comes before the second or they are equal.
    LessOrEqual,
    /// Holds if the first comes after the second.
    Greater,
    /// Holds if the first comes after the second or they are equal.
    GreaterOrEqual,
    /// The place of one argument is the sum of the others' places, up to a constant: `sum` is its position.
    Sum {
        /// The argument that is the sum.
        sum: usize,
    },
    /// The place of one argument is the distance between the others' places.
    Distance {
        /// The argument that is the distance.
        distance: usize,
    },
    /// Takes the objects of an order to those of another, or to numbers, and keeps their order (or turns it round).
    Scale {
        /// Whether greater objects have greater images.
        increasing: bool,
    },
}

/// A relation that computes with orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// The relation.
    pub relation: Relation,
    /// The order of each argument; `None` where the argument is a number as such.
    pub orders: Vec<Option<usize>>,
    /// What it computes.
    pub operation: Operation,
}

/// All orders of a game, in the order of the rules; stopped, some of them.
pub fn find_orders(universe: &Universe, stop: &Stop) -> Vec<Order> {
    let mut orders: Vec<Order> = Vec::new();
    for fixed in universe.statics.iter().take_while(|_| !stop.is_raised()) {
        let found = match fixed.relation.arity {
            2 => successor(fixed.rows.iter().map(|row| (row[0], row[1])))
                .map(|(objects, cyclic)| {
                    vec![Order {
                        relation: fixed.relation,
                        positions: (0, 1),
                        selector: None,
                        objects,
                        cyclic,
                        same_as: None,
                    }]
                })
                .unwrap_or_default(),
            3 => (0..3).map(|position| selected(fixed, position)).find(|found| !found.is_empty()).unwrap_or_default(),
            _ => Vec::new(),
        };
        for mut order in found {
            order.same_as = orders
                .iter()
                .enumerate()
                .filter(|(_, other)| other.same_as.is_none())
                .find_map(|(index, other)| same_row(&order, other).map(|reversed| (index, reversed)));
            orders.push(order);
        }
    }
    // A circle begins where a row that holds all its objects begins.
    let rows: Vec<Vec<TermId>> =
        orders.iter().filter(|order| !order.cyclic).map(|order| order.objects.clone()).collect();
    let sets: Vec<FxHashSet<TermId>> = rows.iter().map(|row| row.iter().copied().collect()).collect();
    for order in orders.iter_mut().filter(|order| order.cyclic).take_while(|_| !stop.is_raised()) {
        let holds = |set: &FxHashSet<TermId>| order.objects.iter().all(|object| set.contains(object));
        let holding = sets.iter().position(holds).map(|place| &rows[place]);
        let first = holding.and_then(|row| row.iter().find_map(|&object| order.index(object)));
        order.objects.rotate_left(first.unwrap_or(0));
    }
    orders
}

/// Whether two orders have the same row of objects, and if so whether one runs the other way.
fn same_row(order: &Order, other: &Order) -> Option<bool> {
    if order.cyclic != other.cyclic || order.objects.len() != other.objects.len() {
        return None;
    }
    let n = order.objects.len();
    let start = if order.cyclic { order.index(other.objects[0])? } else { 0 };
    let at = |index: usize| order.objects[(start + index) % n];
    if (0..n).all(|index| at(index) == other.objects[index]) {
        return Some(false);
    }
    let back = |index: usize| {
        if order.cyclic { order.objects[(start + n - index) % n] } else { order.objects[n - 1 - index] }
    };
    (0..n).all(|index| back(index) == other.objects[index]).then_some(true)
}

/// The orders of a relation of three arguments, one for each value of the argument at `position`.
fn selected(fixed: &Static, position: usize) -> Vec<Order> {
    let others: Vec<usize> = (0..3).filter(|&other| other != position).collect();
    let mut values: Vec<TermId> = fixed.rows.iter().map(|row| row[position]).collect();
    values.sort_unstable();
    values.dedup();
    // As many values as rows: any relation would do.
    if values.len() > 16 || values.len() * 2 > fixed.rows.len() {
        return Vec::new();
    }
    let order = |&value: &TermId| {
        let pairs = fixed.rows.iter().filter(|row| row[position] == value).map(|row| (row[others[0]], row[others[1]]));
        // Pairs that only swap two objects are no order, whatever they are.
        let (objects, cyclic) = successor(pairs).filter(|(objects, cyclic)| !cyclic || objects.len() > 2)?;
        let positions = (others[0], others[1]);
        Some(Order {
            relation: fixed.relation,
            positions,
            selector: Some((position, value)),
            objects,
            cyclic,
            same_as: None,
        })
    };
    values.iter().map(order).collect::<Option<Vec<Order>>>().unwrap_or_default()
}

/// The row or circle that a successor relation makes of its objects; `None` if it is no such relation.
pub(crate) fn successor<T: Copy + Ord + Hash>(pairs: impl Iterator<Item = (T, T)>) -> Option<(Vec<T>, bool)> {
    let (mut next, mut previous) = (FxHashMap::default(), FxHashMap::default());
    for (one, other) in pairs {
        if one == other || next.insert(one, other).is_some() || previous.insert(other, one).is_some() {
            return None;
        }
    }
    let mut heads = next.keys().filter(|object| !previous.contains_key(object));
    let (first, cyclic) = match (heads.next(), heads.next()) {
        (Some(&head), None) => (head, false),
        (None, _) => (next.keys().copied().min()?, true),
        _ => return None,
    };
    let mut objects = vec![first];
    let mut at = first;
    while let Some(&following) = next.get(&at) {
        if following == first {
            break;
        }
        objects.push(following);
        at = following;
    }
    (objects.len() == next.len() + usize::from(!cyclic)).then_some((objects, cyclic))
}

/// The relations that compute with orders; stopped, some of them.
pub fn find_arithmetic(universe: &Universe, orders: &[Order], stop: &Stop) -> Vec<Arithmetic> {
    let taken: FxHashSet<Relation> = orders.iter().map(|order| order.relation).collect();
    let linear: Vec<(usize, FxHashMap<TermId, i64>)> = orders
        .iter()
        .enumerate()
        .filter(|(_, order)| !order.cyclic && order.same_as.is_none())
        .map(|(index, order)| (index, order.objects.iter().copied().zip(0..).collect()))
        .collect();
    let fixed = universe.statics.iter().filter(|fixed| !taken.contains(&fixed.relation) && fixed.rows.len() >= 3);
    fixed.take_while(|_| !stop.is_raised()).filter_map(|fixed| arithmetic(universe, fixed, &linear)).collect()
}

fn arithmetic(universe: &Universe, fixed: &Static, orders: &[(usize, FxHashMap<TermId, i64>)]) -> Option<Arithmetic> {
    if !matches!(fixed.relation.arity, 2 | 3) {
        return None;
    }
    // Step 1. The shortest order that holds all values of an argument, or the numbers that they are.
    let mut columns: Vec<(Option<usize>, Vec<i64>)> = Vec::new();
    for position in 0..fixed.relation.arity as usize {
        let within = |(_, places): &&(usize, FxHashMap<TermId, i64>)| {
            fixed.rows.iter().all(|row| places.contains_key(&row[position]))
        };
        let order = orders.iter().filter(within).min_by_key(|(index, places)| (places.len(), *index));
        columns.push(match order {
            Some((index, places)) => (Some(*index), fixed.rows.iter().map(|row| places[&row[position]]).collect()),
            None => {
                let number = |row: &Vec<TermId>| universe.number(row[position]);
                (None, fixed.rows.iter().map(number).collect::<Option<Vec<i64>>>()?)
            }
        });
    }
    let orders: Vec<Option<usize>> = columns.iter().map(|(order, _)| *order).collect();
    if orders.iter().all(Option::is_none) {
        return None;
    }
    let values: Vec<&Vec<i64>> = columns.iter().map(|(_, values)| values).collect();
    // Step 2. What holds for all rows.
    let operation = if let [left, right] = values[..] {
        comparison(left, right, orders[0] == orders[1]).or_else(|| scale(left, right))
    } else {
        // A sum is a distance seen from another argument, so sums come first.
        let others = |result: usize| -> Vec<&Vec<i64>> {
            (0..3).filter(|&other| other != result).map(|other| values[other]).collect()
        };
        let found = |test: fn(&[i64], &[i64], &[i64]) -> bool| {
            (0..3).find(|&result| test(others(result)[0], others(result)[1], values[result]))
        };
        let sum = found(is_sum).map(|sum| Operation::Sum { sum });
        sum.or_else(|| found(is_distance).map(|distance| Operation::Distance { distance }))
    }?;
    Some(Arithmetic { relation: fixed.relation, orders, operation })
}

/// Whether the pairs are all those of their range that compare in one way.
fn comparison(left: &[i64], right: &[i64], same_order: bool) -> Option<Operation> {
    if !same_order {
        return None;
    }
    let pairs: FxHashSet<(i64, i64)> = left.iter().copied().zip(right.iter().copied()).collect();
    let (low, high) = (*left.iter().chain(right).min()?, *left.iter().chain(right).max()?);
    type Comparison = (Operation, fn(i64, i64) -> bool);
    let kinds: [Comparison; 4] = [
        (Operation::Less, |a, b| a < b),
        (Operation::LessOrEqual, |a, b| a <= b),
        (Operation::Greater, |a, b| a > b),
        (Operation::GreaterOrEqual, |a, b| a >= b),
    ];
    let n = (high - low + 1) as usize;
    kinds
        .into_iter()
        .find(|(_, holds)| {
            let expected = if holds(0, 0) { n * (n + 1) / 2 } else { n * (n - 1) / 2 };
            pairs.len() == expected && pairs.iter().all(|&(a, b)| holds(a, b))
        })
        .map(|(operation, _)| operation)
}

/// Whether greater left values have greater right ones, or smaller ones, or equal ones here and there.
fn scale(left: &[i64], right: &[i64]) -> Option<Operation> {
    let mut pairs: Vec<(i64, i64)> = left.iter().copied().zip(right.iter().copied()).collect();
    pairs.sort_unstable();
    if pairs.windows(2).any(|pair| pair[0].0 == pair[1].0) || pairs.first()?.1 == pairs.last()?.1 {
        return None;
    }
    if pairs.windows(2).all(|pair| pair[0].1 <= pair[1].1) {
        return Some(Operation::Scale { increasing: true });
    }
    pairs.windows(2).all(|pair| pair[0].1 >= pair[1].1).then_some(Operation::Scale { increasing: false })
}

/// Whether one column is the sum of the others, up to a constant.
fn is_sum(left: &[i64], right: &[i64], result: &[i64]) -> bool {
    let constant = result[0] - left[0] - right[0];
    let mut rows = left.iter().zip(right).zip(result);
    varies(left) && varies(right) && varies(result) && rows.all(|((a, b), sum)| sum - a - b == constant)
}

/// Whether one column is the distance of the others.
fn is_distance(left: &[i64], right: &[i64], result: &[i64]) -> bool {
    let mut rows = left.iter().zip(right).zip(result);
    varies(left) && varies(right) && varies(result) && rows.all(|((a, b), distance)| (a - b).abs() == *distance)
}

fn varies(column: &[i64]) -> bool {
    column.iter().any(|&value| value != column[0])
}
