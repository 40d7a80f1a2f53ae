//! Lasso: proximal steps, accelerated (Beck and Teboulle 2009, FISTA), with each column scaled.
//!
//! Each step goes along the gradient and then moves every weight towards zero, at most to it; so columns that say little end
//! up with no weight at all.

use super::design::Design;
use super::pass::Data;
use super::{Fit, Settings, Stop, Watch};

pub(super) fn run<D: Design>(data: &mut Data<D>, settings: &Settings, mut weights: Vec<f64>, mut watch: Watch) -> Fit {
    // A column's occurrences times the longest row bound the curvature; see `descent`.
    let curvature = data.objective.curvature() * data.longest;
    let scale = |(at, n): (usize, &f64)| curvature * n + 2.0 * settings.ridge.of(at);
    let scale: Vec<f64> = data.occurrences.iter().enumerate().map(scale).collect();
    // The point that momentum has carried to, and the losses there.
    let mut ahead = weights.clone();
    let mut momentum = 1.0f64;
    let mut first = None;
    let mut iteration = 0;
    let stop = loop {
        let (losses, gradient) = data.gradient(&ahead);
        if let Some(stop) = watch.look(data, iteration, &losses, &ahead) {
            weights = ahead;
            break stop;
        }
        let next: Vec<f64> = (0..weights.len())
            .map(|at| {
                if scale[at] == 0.0 {
                    return weights[at];
                }
                let plain = ahead[at] - (gradient[at] + 2.0 * settings.ridge.of(at) * ahead[at]) / scale[at];
                let less = plain.abs() - settings.lasso.of(at) / scale[at];
                plain.signum() * less.max(0.0)
            })
            .collect();
        // Where the last step points uphill, momentum has gone too far.
        let uphill: f64 = (0..next.len()).map(|at| scale[at] * (ahead[at] - next[at]) * (next[at] - weights[at])).sum();
        let size = (0..next.len()).map(|at| scale[at] * (next[at] - ahead[at]).powi(2)).sum::<f64>().sqrt();
        iteration += 1;
        if size <= *first.get_or_insert(size) * settings.tolerance {
            weights = next;
            break Stop::Converged;
        }
        let after = if uphill > 0.0 { 1.0 } else { (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) / 2.0 };
        let carry = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / after };
        ahead = next.iter().zip(&weights).map(|(next, last)| next + carry * (next - last)).collect();
        momentum = after;
        weights = next;
    };
    watch.end(data, iteration, weights, stop)
}
