//! Weights by regression: what the terms of a function are worth, from how matches went on.
//!
//! A position counts as often as it occurred; what is predicted is the mean result of the one who moved into it, by the logistic
//! function of the sum of each term's value less its value for the other side. Weights are not negative, so that a term says what
//! it was discovered to say: terms whose weights would be negative are left out, one round after another. A constant stands for
//! the advantage of having moved; it is not part of the function, which is as good for one side as for the other.

use std::ops::ControlFlow;

use features::structural::fuzzy::compile::End;
use features::structural::fuzzy::{Function, Output, Vocabulary};
use search::match_play::on_threads;

use super::field::{Brain, Field};
use super::label::{Example, number};
use crate::fit::{self, Constant, Dense, Join, Ridge, Rows};

/// How weights are fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What a large weight costs: as much as so many positions with the wrong prediction. More is smoother.
    pub ridge: f64,
    /// How the function is to be read afterwards.
    pub output: Output,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { ridge: 4.0, output: Output::Logistic }
    }
}

/// Fits the weights of each phase's terms to the examples for which they count, and leaves out what has none. A phase with no
/// examples, or whose terms would all be left out, stays as it is.
///
/// # Errors
/// What the function says that means nothing.
pub fn weigh(
    field: &Field,
    function: &Function,
    examples: &[Example],
    settings: &Settings,
) -> Result<Function, String> {
    let brain = Brain::new(function, &field.vocabulary)?;
    let mut weighed = Function { output: settings.output, ..function.clone() };
    let terms = weighed.phases.iter_mut().flat_map(|(_, terms)| terms);
    let mut weights: Vec<&mut f64> = terms.map(|(weight, _)| weight).collect();
    let mut phases: Vec<(std::ops::Range<usize>, Vec<&Example>)> = Vec::new();
    for example in examples {
        let Some(terms) = brain.terms_at(example.phase) else { continue };
        match phases.iter_mut().find(|(other, _)| *other == terms) {
            Some((_, own)) => own.push(example),
            None => phases.push((terms, vec![example])),
        }
    }
    let fitted = on_threads(
        0..phases.len() as u32,
        field.threads,
        || (),
        |(), place| {
            let (terms, examples) = &phases[place as usize];
            Some(of_phase(&field.vocabulary, &brain, terms.len(), examples, settings.ridge))
        },
    );
    for ((terms, _), fitted) in phases.into_iter().zip(fitted) {
        let fitted = fitted.into_iter().flatten();
        weights[terms].iter_mut().zip(fitted).for_each(|(weight, fitted)| **weight = fitted);
    }
    weighed.phases.iter_mut().for_each(|(_, terms)| terms.retain(|(weight, _)| *weight > 0.0));
    Ok(weighed)
}

/// The weights of a phase's terms; nothing if none is above 0.
fn of_phase(
    vocabulary: &Vocabulary,
    brain: &Brain,
    n_terms: usize,
    examples: &[&Example],
    ridge: f64,
) -> Option<Vec<f64>> {
    let mut values: Vec<f32> = Vec::with_capacity(examples.len() * n_terms);
    for example in examples {
        let [own, others] = brain.terms(vocabulary, &example.states);
        values.extend(own.iter().zip(others).map(|(own, others)| (own - others) as f32));
    }
    let count = |example: &Example| example.tally.counts.iter().sum::<u32>() as f32;
    let result = |example: &&Example| {
        let [won, drawn] = [End::Won, End::Drawn].map(|end| example.tally.counts[number(end)] as f32);
        (won + drawn / 2.0) / count(example)
    };
    let targets: Vec<f32> = examples.iter().map(result).collect();
    let counts: Vec<f32> = examples.iter().map(|example| count(example)).collect();
    let mut kept: Vec<usize> = (0..n_terms).collect();
    while !kept.is_empty() {
        let columns = values.chunks(n_terms).flat_map(|row| kept.iter().map(|&term| row[term])).collect();
        let design = Join(Dense::new(kept.len(), columns), Constant { n_rows: examples.len() });
        let ridge = (0..=kept.len()).map(|column| if column < kept.len() { ridge } else { 0.0 }).collect();
        let rows = Rows { weights: &counts, ..Rows::new(&design, &targets) };
        let settings = fit::Settings { ridge: Ridge::Each(ridge), patience: 0, ..fit::Settings::default() };
        let fit = fit::fit(rows, &settings, &mut |_| ControlFlow::Continue(())).ok()?;
        let before = kept.len();
        let found: Vec<(usize, f64)> =
            kept.iter().copied().zip(fit.weights).filter(|(_, weight)| *weight > 0.0).collect();
        if found.len() == before {
            let mut weights = vec![0.0; n_terms];
            found.into_iter().for_each(|(term, weight)| weights[term] = weight);
            return Some(weights);
        }
        kept = found.into_iter().map(|(term, _)| term).collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use features::game::Game;
    use features::structural::fuzzy::{Formula, text};

    use super::*;
    use crate::discover::field::{self, Field};
    use crate::discover::{cycle, label};

    fn field() -> Field {
        let text = std::fs::read("../../games/tic-tac-toe/rules.kif").expect("a game of the library");
        let game = Arc::new(Game::new(gdl::read("tic-tac-toe", &text).program, 1).expect("it has a network"));
        let settings = field::Settings { matches: 256, ..field::Settings::default() };
        Field::new(game, &settings).expect("a game for two with a board")
    }

    /// Results that are made by known weights give these back; a term that speaks against its own side gets none.
    #[test]
    fn known_weights_are_found_again() {
        let field = field();
        let vocabulary = &field.vocabulary;
        let text = "game g phase 0 { 1 * ({o*}@l1x2>=1) 1 * ({o*}@l2x1+>=1) 1 * ({x*}@l2x3>=1) }";
        let function = text::function(text).expect("it can be read");
        let brain = Brain::new(&function, vocabulary).expect("it means something");
        let mut examples = cycle::by_chance(&field, &[200], 3);
        assert!(examples.len() > 300);
        let wanted = [1.5, 0.8, -0.7];
        for example in &mut examples {
            let [own, others] = brain.terms(vocabulary, &example.states);
            let sum: f64 =
                wanted.iter().zip(own.iter().zip(others)).map(|(weight, (own, other))| weight * (own - other)).sum();
            let won = (1_000.0 / (1.0 + (-sum).exp())).round() as u32;
            example.tally = label::Tally { counts: [won, 1_000 - won, 0] };
        }
        let settings = Settings { ridge: 0.0, ..Settings::default() };
        let found = weigh(&field, &function, &examples, &settings).expect("it means something");
        let kept: Vec<&Formula> = found.phases[0].1.iter().map(|(_, formula)| formula).collect();
        assert_eq!(kept, function.phases[0].1[..2].iter().map(|(_, formula)| formula).collect::<Vec<_>>());
        assert_eq!(found.output, Output::Logistic);
        let free = text::function("game g phase 0 { 1 * ({o*}@l1x2>=1) 1 * ({o*}@l2x1+>=1) 1 * (~({x*}@l2x3>=1)) }");
        let found = weigh(&field, &free.expect("it can be read"), &examples, &settings).expect("it means something");
        for ((weight, _), wanted) in found.phases[0].1.iter().zip([1.5, 0.8, 0.7]) {
            assert!((weight - wanted).abs() < 0.02, "{weight} instead of {wanted}");
        }
    }
}
