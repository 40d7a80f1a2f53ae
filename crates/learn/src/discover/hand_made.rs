//! The evaluation functions for Checkers that Duminy (2006) wrote by hand, to compare searches and learned functions with.

use features::structural::fuzzy::{Cardinalities, Function, Output, Vocabulary, text};

use super::field::{Brain, Field};

/// What is good, and how good: kings, men, few of them in danger, men near the far side and at home, others' in danger.
const TERMS: [(f64, &str); 13] = [
    (30.0, "({O*}@all)"),
    (20.0, "({o*}@all)"),
    (20.0, "(~({O4,O6}@all))"),
    (10.0, "(~({o4,o6}@all))"),
    (7.0, "({o*}@r7)"),
    (6.0, "({o*}@r6)"),
    (5.0, "({o*}@r5)"),
    (4.0, "({o*}@r4)"),
    (3.0, "({o*}@r3)"),
    (2.0, "({o*}@r2)"),
    (8.0, "({o*}@r1)"),
    (1.0, "({X4,X6}@all)"),
    (1.0, "({x4,x6}@all)"),
];

/// Good knowledge (`F_a`): the terms with the weights that he gave them.
///
/// # Errors
/// That the game's squares can't be spoken of in this way: it is not Checkers.
pub fn weighted(field: &Field) -> Result<Brain, String> {
    brain(field, |weight| weight)
}

/// Weak knowledge (`F_b`): the same terms, all with the same weight.
///
/// # Errors
/// As [`weighted`].
pub fn uniform(field: &Field) -> Result<Brain, String> {
    brain(field, |_| 1.0)
}

fn brain(field: &Field, weigh: impl Fn(f64) -> f64) -> Result<Brain, String> {
    let term = |(weight, formula): (f64, &str)| Ok((weigh(weight), text::formula(formula)?));
    let terms = TERMS.into_iter().map(term).collect::<Result<Vec<_>, String>>()?;
    let function = Function { game: "checkers".to_owned(), output: Output::Share, phases: vec![(0, terms)] };
    Brain::new(&function, &counted_by_hand(field))
}

/// With the bounds of the thesis instead of those that were seen in random matches: a side has at most the pieces that it has
/// at first, in any state.
fn counted_by_hand(field: &Field) -> Vocabulary {
    let mut vocabulary = field.vocabulary.clone();
    let each = vocabulary.n_pieces / 2;
    vocabulary.cardinalities = Cardinalities::unbounded(&field.squares);
    vocabulary.cardinalities.sets.iter_mut().skip(1).take(2).for_each(|(_, bound)| *bound = each);
    vocabulary
}
