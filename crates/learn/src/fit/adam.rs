//! Adam (Kingma and Ba 2015) for positions that come in a stream, or more of them than passes can be made over.
//!
//! A batch changes the columns that occur in it and no others: what a column's averages would have lost since it last occurred
//! is made up for then. So the cost of a batch is that of its entries.

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

/// A model that learns from one batch of rows after another.
#[derive(Clone, Debug)]
pub struct Adam {
    /// The weights, one for each column.
    pub weights: Vec<f64>,
    /// How far a weight goes in a step, about.
    pub rate: f64,
    objective: Objective,
    /// For each column the average slope, that of its square, and the step in which it occurred last.
    averages: Vec<(f64, f64, u32)>,
    step: u32,
    /// For each column the slope and the number of entries in this batch.
    slopes: Vec<(f64, f64)>,
    touched: Vec<u32>,
}

impl Adam {
    /// Begins with these weights.
    pub fn new(weights: Vec<f64>, objective: Objective, rate: f64) -> Adam {
        let n = weights.len();
        Adam {
            weights,
            rate,
            objective,
            averages: vec![(0.0, 0.0, 0); n],
            step: 0,
            slopes: vec![(0.0, 0.0); n],
            touched: Vec::new(),
        }
    }

    /// Learns from some rows, whether held out or not; their mean loss before. `ridge` gives for each column what is added to
    /// the loss for its squared weight each time that it occurs.
    pub fn learn<D: Design>(
        &mut self,
        rows: &Rows<D>,
        batch: &[u32],
        ridge: impl Fn(usize) -> f64,
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
            let slope = slope + 2.0 * n * ridge(column) * self.weights[column];
            let (mean, square, last) = &mut self.averages[column];
            let gap = (self.step - *last) as i32;
            *mean = STAYS.0.powi(gap) * *mean + (1.0 - STAYS.0) * slope;
            *square = STAYS.1.powi(gap) * *square + (1.0 - STAYS.1) * slope * slope;
            *last = self.step;
            let steps = self.step as i32;
            let (mean, square) = (*mean / (1.0 - STAYS.0.powi(steps)), *square / (1.0 - STAYS.1.powi(steps)));
            self.weights[column] -= self.rate * mean / (square.sqrt() + TINY);
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

/// Goes over the rows again and again, each time in another order, with steps that become shorter.
pub(super) fn run<D: Design>(
    data: &mut Data<D>,
    settings: &Settings,
    (rate, batch, seed): (f64, usize, u64),
    weights: Vec<f64>,
    mut watch: Watch,
) -> Fit {
    let mut order: Vec<u32> =
        (0..data.rows.design.n_rows()).filter(|&row| !data.rows.is_held_out(row)).map(|row| row as u32).collect();
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut adam = Adam::new(weights, data.objective, rate);
    let mut iteration = 0;
    let stop = loop {
        let losses = data.evaluate(&adam.weights);
        if let Some(stop) = watch.look(data, iteration, &losses, &adam.weights) {
            break stop;
        }
        for last in (1..order.len()).rev() {
            order.swap(last, rng.random_range(0..=last));
        }
        adam.rate = rate * (1.0 - 0.95 * iteration as f64 / settings.iterations.max(1) as f64);
        for batch in order.chunks(batch.max(1)) {
            let ridge = |column: usize| settings.ridge.of(column) / data.occurrences[column];
            adam.learn(&data.rows, batch, ridge, settings.threads);
        }
        data.passes += 1;
        iteration += 1;
    };
    watch.end(data, iteration, adam.weights, stop)
}
