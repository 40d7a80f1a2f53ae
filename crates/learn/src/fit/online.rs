//! Learning from one batch of rows after another: for positions that come in a stream, or more of them than passes can be made over.
//!
//! A batch changes the columns that occur in it and no others, so its cost is that of its entries. With Adam (Kingma and Ba 2015)
//! what a column's averages would have lost since it last occurred is made up for then. FTRL-Proximal (McMahan and others 2013) goes by
//! the sum of all slopes so far, and leaves a weight at zero until that is more than the lasso: it selects while it fits.

use std::sync::Mutex;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::design::Design;
use super::objective::Objective;
use super::pass::Data;
use super::{Fit, Rows, Settings, Watch};

/// How much of the averages of slopes, and of their squares, stays from batch to batch.
const STAYS: (f64, f64) = (0.9, 0.999);
/// Keeps steps finite where slopes are zero.
const TINY: f64 = 1e-8;
/// Batches are cut into parts of this many rows for the threads.
const PART: usize = 256;

/// How a batch changes weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By averages of slopes and of their squares.
    Adam,
    /// By the sum of slopes, each step shorter than those before; with a lasso.
    Ftrl,
}

/// A model that learns from one batch of rows after another.
#[derive(Clone, Debug)]
pub struct Online {
    /// The weights, one for each column.
    pub weights: Vec<f64>,
    /// How far a weight goes in a step at first, about.
    pub rate: f64,
    rule: Rule,
    objective: Objective,
    past: Vec<Past>,
    step: u32,
    /// For each column the slope and the number of entries in this batch.
    slopes: Vec<(f64, f64)>,
    touched: Vec<u32>,
}

/// What is remembered of a column.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    /// The average slope, or the sum of slopes less what the weights of their time stand for.
    slope: f64,
    /// The average of squared slopes, or their sum.
    square: f64,
    /// The step in which it occurred last.
    last: u32,
    /// How often it has occurred.
    n: f64,
}

impl Online {
    /// Begins with these weights.
    pub fn new(rule: Rule, weights: Vec<f64>, objective: Objective, rate: f64) -> Online {
        let past = |weight: &f64| match rule {
            Rule::Adam => Past::default(),
            Rule::Ftrl => Past { slope: -weight / rate, ..Past::default() },
        };
        Online {
            past: weights.iter().map(past).collect(),
            slopes: vec![(0.0, 0.0); weights.len()],
            weights,
            rate,
            rule,
            objective,
            step: 0,
            touched: Vec::new(),
        }
    }

    /// Learns from some rows, whether held out or not; their mean loss before. `penalty` gives for each column what is added to the
    /// loss each time that it occurs: for its squared weight, and for its size, which Adam does not look at.
    pub fn learn<D: Design>(
        &mut self,
        rows: &Rows<D>,
        batch: &[u32],
        penalty: impl Fn(usize) -> [f64; 2],
        threads: usize,
    ) -> f64 {
        let (loss, slopes) = self.score(rows, batch, threads);
        for (&row, &slope) in batch.iter().zip(&slopes) {
            rows.design.visit(row as usize, |column, value| {
                let sum = &mut self.slopes[column as usize];
                if value == 0.0 {
                    return;
                }
                if sum.1 == 0.0 {
                    self.touched.push(column);
                }
                sum.0 += f64::from(value) * slope;
                sum.1 += f64::from(value.abs());
            });
        }
        self.step += 1;
        for column in self.touched.drain(..) {
            let column = column as usize;
            let (slope, n) = std::mem::take(&mut self.slopes[column]);
            let ([ridge, lasso], weight) = (penalty(column), &mut self.weights[column]);
            let past = &mut self.past[column];
            match self.rule {
                Rule::Adam => {
                    let slope = slope + 2.0 * n * ridge * *weight;
                    let gap = (self.step - past.last) as i32;
                    past.slope = STAYS.0.powi(gap) * past.slope + (1.0 - STAYS.0) * slope;
                    past.square = STAYS.1.powi(gap) * past.square + (1.0 - STAYS.1) * slope * slope;
                    let steps = self.step as i32;
                    let mean = past.slope / (1.0 - STAYS.0.powi(steps));
                    let square = past.square / (1.0 - STAYS.1.powi(steps));
                    *weight -= self.rate * mean / (square.sqrt() + TINY);
                }
                Rule::Ftrl => {
                    let before = past.square.sqrt();
                    past.square += slope * slope;
                    let after = past.square.sqrt();
                    past.slope += slope - (after - before) / self.rate * *weight;
                    let [ridge, lasso] = [ridge, lasso].map(|penalty| (past.n + n) * penalty);
                    let beyond = (past.slope.abs() - lasso).max(0.0);
                    *weight = -past.slope.signum() * beyond / ((1.0 + after) / self.rate + 2.0 * ridge);
                }
            }
            past.last = self.step;
            past.n += n;
        }
        loss
    }

    /// The mean loss of some rows, and for each of them the slope by its score.
    fn score<D: Design>(&self, rows: &Rows<D>, batch: &[u32], threads: usize) -> (f64, Vec<f64>) {
        let mut slopes = vec![0.0; batch.len()];
        let n_parts = batch.len().div_ceil(PART);
        let mut losses = vec![0.0; n_parts];
        let parts = batch.chunks(PART).zip(slopes.chunks_mut(PART)).zip(&mut losses);
        let work = |((batch, slopes), loss): ((&[u32], &mut [f64]), &mut f64)| {
            for (&row, to) in batch.iter().zip(slopes) {
                let row = row as usize;
                let score = rows.design.dot(row, &self.weights);
                let (own, slope) = self.objective.at(score, f64::from(rows.targets[row]));
                *loss += rows.weight(row) * own;
                *to = rows.weight(row) * slope;
            }
        };
        if threads.min(n_parts) <= 1 {
            parts.for_each(work);
        } else {
            let waiting = Mutex::new(parts);
            std::thread::scope(|scope| {
                for _ in 0..threads.min(n_parts) {
                    scope.spawn(|| {
                        let next = || waiting.lock().expect("no thread panics").next();
                        while let Some(part) = next() {
                            work(part);
                        }
                    });
                }
            });
        }
        (losses.iter().sum::<f64>() / batch.len().max(1) as f64, slopes)
    }
}

/// Goes over the rows again and again, each time in another order. Adam's steps become shorter.
pub(super) fn run<D: Design>(
    data: &mut Data<D>,
    settings: &Settings,
    rule: Rule,
    (rate, batch, seed): (f64, usize, u64),
    weights: Vec<f64>,
    mut watch: Watch,
) -> Fit {
    let rows = &data.rows;
    let counts = |row: &usize| !rows.is_held_out(*row) && rows.weight(*row) > 0.0;
    let mut order: Vec<u32> = (0..rows.design.n_rows()).filter(counts).map(|row| row as u32).collect();
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut model = Online::new(rule, weights, data.objective, rate);
    let mut iteration = 0;
    let stop = loop {
        let losses = data.evaluate(&model.weights);
        if let Some(stop) = watch.look(data, iteration, &losses, &model.weights) {
            break stop;
        }
        for last in (1..order.len()).rev() {
            order.swap(last, rng.random_range(0..=last));
        }
        if rule == Rule::Adam {
            model.rate = rate * (1.0 - 0.95 * iteration as f64 / settings.iterations.max(1) as f64);
        }
        for batch in order.chunks(batch.max(1)) {
            let penalties = |column: usize| [&settings.ridge, &settings.lasso].map(|penalty| penalty.of(column));
            let penalty = |column: usize| penalties(column).map(|penalty| penalty / data.occurrences[column]);
            model.learn(&data.rows, batch, penalty, settings.threads);
        }
        data.passes += 1;
        iteration += 1;
    };
    watch.end(data, iteration, model.weights, stop)
}
