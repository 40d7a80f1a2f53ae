//! Weights as 16-bit numbers, for play.

use super::design::Design;
use super::{FitError, Objective, Rows, evaluate};

/// Weights rounded to whole numbers of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantized {
    /// How many units each weight is.
    pub weights: Vec<i16>,
    /// The unit: a score is a sum of whole numbers times this.
    pub unit: f64,
    /// The mean loss of the rows held out, or of those in training where there are no others, before and after.
    pub losses: (f64, f64),
}

impl Quantized {
    /// The weights that the numbers stand for.
    pub fn values(&self) -> Vec<f64> {
        self.weights.iter().map(|&weight| f64::from(weight) * self.unit).collect()
    }

    /// By which part of itself the loss has grown.
    pub fn change(&self) -> f64 {
        (self.losses.1 - self.losses.0) / self.losses.0
    }

    /// Whether no sum over a row whose absolute values add up to at most this can leave the 32-bit numbers, in any order.
    pub fn is_safe(&self, longest: f64) -> bool {
        let largest = self.weights.iter().map(|weight| weight.unsigned_abs()).max().unwrap_or(0);
        f64::from(largest) * longest <= f64::from(i32::MAX)
    }
}

/// Rounds weights. `longest` is the most that the absolute values of any row can add up to, in play as well as here: for
/// patterns the number of instances. The unit is as small as this and 16 bits allow.
pub fn quantize<D: Design>(
    rows: &Rows<D>,
    objective: Objective,
    weights: &[f64],
    longest: f64,
    threads: usize,
) -> Result<Quantized, FitError> {
    let largest = weights.iter().fold(0.0, |largest: f64, weight| largest.max(weight.abs()));
    let units = f64::from(i16::MAX).min((f64::from(i32::MAX) / longest.max(1.0)).floor());
    let unit = if largest > 0.0 { largest / units } else { 1.0 };
    let rounded = weights.iter().map(|weight| (weight / unit).round() as i16).collect();
    let mut quantized = Quantized { weights: rounded, unit, losses: (0.0, 0.0) };
    let loss = |weights: &[f64]| {
        let (training, held_out) = evaluate(rows, objective, weights, threads)?;
        Ok(held_out.unwrap_or(training))
    };
    quantized.losses = (loss(weights)?, loss(&quantized.values())?);
    Ok(quantized)
}
