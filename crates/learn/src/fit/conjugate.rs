//! Least squares with a ridge, by conjugate gradients with each column scaled.

use super::design::Design;
use super::pass::Data;
use super::{Fit, Settings, Stop, Watch};

/// Solves (Hᵀ Ω H + Λ) w = Hᵀ Ω r. A pass for each iteration; the scores of all rows are kept, so losses come free.
pub(super) fn run<D: Design>(data: &mut Data<D>, settings: &Settings, mut weights: Vec<f64>, mut watch: Watch) -> Fit {
    let ridge = |column: usize| settings.ridge.of(column);
    let scale: Vec<f64> = data.squares.iter().enumerate().map(|(at, squares)| squares + ridge(at)).collect();
    let precondition = |vector: &[f64]| -> Vec<f64> {
        vector.iter().zip(&scale).map(|(value, scale)| if *scale > 0.0 { value / scale } else { 0.0 }).collect()
    };
    let (losses, mut residual) = data.begin(&weights);
    residual.iter_mut().zip(&weights).enumerate().for_each(|(at, (residual, weight))| *residual -= ridge(at) * weight);
    let mut step = precondition(&residual);
    let mut size = dot(&residual, &step);
    let first = size;
    let mut iteration = 0;
    let mut stop = watch.look(data, 0, &losses, &weights);
    while stop.is_none() {
        if size <= first * settings.tolerance.powi(2) {
            stop = Some(Stop::Converged);
            break;
        }
        let mut image = data.product(&step);
        image.iter_mut().zip(&step).enumerate().for_each(|(at, (image, step))| *image += ridge(at) * step);
        let along = dot(&step, &image);
        if along <= 0.0 || along.is_nan() {
            stop = Some(Stop::NoStep);
            break;
        }
        let length = size / along;
        let losses = data.go(length);
        for at in 0..weights.len() {
            weights[at] += length * step[at];
            residual[at] -= length * image[at];
        }
        let scaled = precondition(&residual);
        let next = dot(&residual, &scaled);
        step.iter_mut().zip(&scaled).for_each(|(step, scaled)| *step = scaled + next / size * *step);
        size = next;
        iteration += 1;
        stop = watch.look(data, iteration, &losses, &weights);
    }
    watch.end(data, iteration, weights, stop.expect("it ended"))
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
