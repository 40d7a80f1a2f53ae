//! Limited-memory BFGS (Liu and Nocedal 1989), for any link and loss.
//!
//! The first guess of the inverse curvature is a diagonal: columns that occur often take small steps. Lengths of steps are found
//! by bisection for the weak conditions of Wolfe, and 1 is nearly always right.

use std::collections::VecDeque;

use super::design::Design;
use super::pass::{Data, Losses};
use super::{Fit, Settings, Stop, Watch};

/// A step that was made.
struct Step {
    /// How the weights changed.
    weights: Vec<f64>,
    /// How the gradient changed.
    gradient: Vec<f64>,
    /// Their product.
    product: f64,
}

/// Where the search stands.
struct Point {
    weights: Vec<f64>,
    losses: Losses,
    /// The loss with penalties, and its derivatives.
    total: f64,
    gradient: Vec<f64>,
}

/// A step must save this part of what the slope promises.
const DECREASE: f64 = 1e-4;
/// The slope must become flatter by this factor.
const FLATTER: f64 = 0.9;
/// The most lengths tried for a step.
const LENGTHS: usize = 30;

pub(super) fn run<D: Design>(
    data: &mut Data<D>,
    settings: &Settings,
    memory: usize,
    weights: Vec<f64>,
    mut watch: Watch,
) -> Fit {
    let curvature = data.objective.curvature();
    let scale: Vec<f64> = data
        .squares
        .iter()
        .enumerate()
        .map(|(at, squares)| curvature * squares + 2.0 * settings.ridge.of(at))
        .map(|curvature| if curvature > 0.0 { 1.0 / curvature } else { 0.0 })
        .collect();
    let mut at = evaluate(data, settings, weights);
    let mut steps: VecDeque<Step> = VecDeque::new();
    let first = size(&at.gradient, &scale);
    let mut iteration = 0;
    let mut stop = watch.look(data, 0, &at.losses, &at.weights);
    while stop.is_none() {
        if size(&at.gradient, &scale) <= first * settings.tolerance {
            stop = Some(Stop::Converged);
            break;
        }
        // Columns of one row push together, so the first step is shorter by their number.
        let direction = direction(&at.gradient, &steps, &scale, 1.0 / data.longest.max(1.0));
        let Some(next) = search(data, settings, &at, &direction) else {
            if steps.is_empty() {
                stop = Some(Stop::NoStep);
            }
            // What is remembered may mislead: once more from the gradient alone.
            steps.clear();
            continue;
        };
        let step = Step {
            weights: difference(&next.weights, &at.weights),
            gradient: difference(&next.gradient, &at.gradient),
            product: 0.0,
        };
        let product = dot(&step.weights, &step.gradient);
        if product > 0.0 {
            if steps.len() == memory {
                steps.pop_front();
            }
            steps.push_back(Step { product, ..step });
        }
        at = next;
        iteration += 1;
        stop = watch.look(data, iteration, &at.losses, &at.weights);
    }
    watch.end(data, iteration, at.weights, stop.expect("it ended"))
}

fn evaluate<D: Design>(data: &mut Data<D>, settings: &Settings, weights: Vec<f64>) -> Point {
    let (losses, mut gradient) = data.gradient(&weights);
    let mut total = losses.training;
    for (at, (slope, weight)) in gradient.iter_mut().zip(&weights).enumerate() {
        let ridge = settings.ridge.of(at);
        total += ridge * weight * weight;
        *slope += 2.0 * ridge * weight;
    }
    Point { weights, losses, total, gradient }
}

/// The gradient times the inverse curvature, as far as it is known; downhill.
fn direction(gradient: &[f64], steps: &VecDeque<Step>, scale: &[f64], shorter: f64) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
    let mut shares = Vec::with_capacity(steps.len());
    for step in steps.iter().rev() {
        let share = dot(&step.weights, &direction) / step.product;
        direction.iter_mut().zip(&step.gradient).for_each(|(value, change)| *value -= share * change);
        shares.push(share);
    }
    let factor = steps.back().map_or(shorter, |step| {
        let squares: f64 = step.gradient.iter().zip(scale).map(|(change, scale)| change * change * scale).sum();
        step.product / squares
    });
    direction.iter_mut().zip(scale).for_each(|(value, scale)| *value *= factor * scale);
    for (step, share) in steps.iter().zip(shares.iter().rev()) {
        let more = share - dot(&step.gradient, &direction) / step.product;
        direction.iter_mut().zip(&step.weights).for_each(|(value, change)| *value += more * change);
    }
    direction
}

/// A point along a direction at which the loss is smaller by enough and the slope flatter.
fn search<D: Design>(data: &mut Data<D>, settings: &Settings, from: &Point, direction: &[f64]) -> Option<Point> {
    let slope = dot(&from.gradient, direction);
    if slope >= 0.0 || slope.is_nan() {
        return None;
    }
    let (mut low, mut high, mut length) = (0.0, f64::INFINITY, 1.0);
    let mut best: Option<Point> = None;
    for _ in 0..LENGTHS {
        let weights = from.weights.iter().zip(direction).map(|(weight, step)| weight + length * step).collect();
        let point = evaluate(data, settings, weights);
        let saves = point.total <= from.total + DECREASE * length * slope;
        if !saves {
            high = length;
        } else if dot(&point.gradient, direction) < FLATTER * slope {
            low = length;
            best = Some(point);
        } else {
            return Some(point);
        }
        length = if high.is_finite() { (low + high) / 2.0 } else { 2.0 * low };
    }
    best
}

/// The length of a gradient with columns scaled.
fn size(gradient: &[f64], scale: &[f64]) -> f64 {
    gradient.iter().zip(scale).map(|(slope, scale)| slope * slope * scale).sum::<f64>().sqrt()
}

fn difference(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one - other).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
