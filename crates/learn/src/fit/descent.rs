//! The normalised gradient of Buro (1998), with momentum.
//!
//! Each weight's slope is divided by how often its column occurs, not by the number of rows: so what is rare but matters
//! comes to its level in time.

use super::design::Design;
use super::pass::Data;
use super::{Fit, FitError, Settings, Watch};

/// Steps of this part of the bound, unless told otherwise.
const PART: f64 = 0.95;

pub(super) fn run<D: Design>(
    data: &mut Data<D>,
    settings: &Settings,
    rate: Option<f64>,
    momentum: f64,
    mut weights: Vec<f64>,
    mut watch: Watch,
) -> Result<Fit, FitError> {
    // The curvature's rows, divided by a column's occurrences, add up to at most that of the loss times the longest row; so
    // that much is its largest eigenvalue at most, and twice its inverse the length at which steps grow.
    let curvature = data.objective.curvature();
    let bound = 2.0 / (curvature * data.longest.max(if settings.ridge.is_any() { 1.0 } else { 0.0 }));
    let rate = rate.unwrap_or(PART * bound);
    if !(rate > 0.0 && rate < bound) {
        return Err(FitError::Rate { rate, bound });
    }
    if !(0.0..1.0).contains(&momentum) {
        return Err(FitError::Momentum(momentum));
    }
    let ridge = |column: usize| settings.ridge.of(column);
    let rates: Vec<f64> = data
        .occurrences
        .iter()
        .enumerate()
        .map(|(at, n)| n + 2.0 * ridge(at) / curvature)
        .map(|n| if n > 0.0 { rate / n } else { 0.0 })
        .collect();
    let mut step = vec![0.0; weights.len()];
    let mut iteration = 0;
    let stop = loop {
        let (losses, gradient) = data.gradient(&weights);
        if let Some(stop) = watch.look(data, iteration, &losses, &weights) {
            break stop;
        }
        for at in 0..weights.len() {
            let slope = gradient[at] + 2.0 * ridge(at) * weights[at];
            step[at] = momentum * step[at] - rates[at] * slope;
            weights[at] += step[at];
        }
        iteration += 1;
    };
    Ok(watch.end(data, iteration, weights, stop))
}
