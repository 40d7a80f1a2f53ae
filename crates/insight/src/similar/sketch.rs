//! A few numbers for each rule of a game, by which similar games are found among many.

use gdl::Stop;
use gdl::program::Program;

use super::weight;
use crate::skeleton::{Colors, Shape, mix};
use crate::variant::abstraction::{Abstraction, Reading};
use crate::variant::simplified;

/// Colors of rules: after no refinement, where every name is like any other of its kind, and after one and two steps.
const N_STEPS: usize = 3;

/// The low bits of a number, which hold a rule's weight.
const WEIGHT: u64 = 0xff;

/// What the rules of a game look like, whatever the names are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Vec<u64>);

impl Sketch {
    /// The sketch of a game.
    pub fn new(program: &Program) -> Sketch {
        Sketch::until(program, &Stop::never())
    }

    /// The sketch of a game; stopped, it has fewer numbers.
    pub fn until(program: &Program, stop: &Stop) -> Sketch {
        let skeleton = Abstraction::with_initial(&simplified(program, stop), Reading::Same).skeleton;
        let mut colors = Colors::new(&skeleton, skeleton.kinds.clone());
        let mut numbers = Vec::new();
        for step in 0..N_STEPS as u64 {
            let number =
                |(&color, rule): (&u64, &Shape)| mix(color, step) & !WEIGHT | u64::from(weight(rule)).min(WEIGHT);
            numbers.extend(colors.rules.iter().zip(&skeleton.rules).map(number));
            if stop.is_raised() {
                break;
            }
            colors = colors.refined(&skeleton);
        }
        numbers.sort_unstable();
        Sketch(numbers)
    }

    /// The numbers of the sketch, ascending.
    pub fn numbers(&self) -> &[u64] {
        &self.0
    }

    /// A guess at how similar two games are, from 0 to 1, given the numbers of another sketch in ascending order. For equal
    /// games it is 1.
    pub fn likeness(&self, other: &[u64]) -> f64 {
        let sum = |numbers: &[u64]| numbers.iter().map(|number| number & WEIGHT).sum::<u64>();
        let (mut common, mut left, mut right) = (0, self.0.iter().peekable(), other.iter().peekable());
        while let (Some(&&one), Some(&&two)) = (left.peek(), right.peek()) {
            if one == two {
                common += one & WEIGHT;
            }
            if one <= two {
                left.next();
            }
            if two <= one {
                right.next();
            }
        }
        2.0 * common as f64 / (sum(&self.0) + sum(other)).max(1) as f64
    }
}
