//! A simple evaluation for better than random play: linear in the fluents and a few counts.

use super::Positions;
use super::engine::{Engine, Seen};
use machine::lanes::LANES;

/// Expected results of every role, linear in the fluents and in the extras of [`Seen`].
#[derive(Clone, Debug)]
pub(super) struct Guide {
    roles: Vec<Linear>,
}

#[derive(Clone, Debug)]
struct Linear {
    bias: f32,
    fluents: Vec<f32>,
    extras: Vec<f32>,
    /// Estimates stay strictly between these, so that a certain result is told from an expected one.
    range: (f32, f32),
}

/// Steps of the fit, each a pass over the positions.
const N_STEPS: usize = 40;
/// Positions that are fitted; of more, some are left out.
const MAX_ROWS: usize = 20_000;
/// How much a weight must explain to be worth having, in positions.
const RIDGE: f64 = 8.0;

impl Guide {
    /// The expected result of a role.
    pub(super) fn estimate(&self, role: usize, state: &[u64], extras: &[f32]) -> f32 {
        let linear = &self.roles[role];
        let mut sum = linear.bias;
        for (word, &bits) in state.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                sum += linear.fluents[word * 64 + bits.trailing_zeros() as usize];
                bits &= bits - 1;
            }
        }
        sum += linear.extras.iter().zip(extras).map(|(weight, value)| weight * value).sum::<f32>();
        sum.clamp(linear.range.0 + 0.01, (linear.range.1 - 0.01).max(linear.range.0 + 0.01))
    }

    /// Fits the results of positions. A role whose results don't vary is led by how far its goals are met.
    pub(super) fn fit(engine: &mut Engine, positions: &Positions) -> Guide {
        let every = positions.len().div_ceil(MAX_ROWS).max(1);
        let positions = &positions.select((0..positions.len()).step_by(every));
        let mut seen = Seen::default();
        let views = positions.views();
        views.chunks(LANES).for_each(|batch| engine.know(batch, &mut seen));
        let n_extras = engine.n_extras();
        let n_fluents = engine.network.fluents.len();
        // An entry of the matrix, looked at twice in each step, costs about as much as a gate.
        let n_entries: u32 = positions.states.iter().map(|word| word.count_ones()).sum();
        engine.pay(u64::from(n_entries) * 2 * (N_STEPS * engine.n_roles()) as u64);
        let scales: Vec<f32> = (0..n_extras)
            .map(|extra| {
                let column = seen.extras.iter().skip(extra).step_by(n_extras);
                let squares: f32 = column.clone().map(|value| value * value).sum();
                (squares / positions.len().max(1) as f32).sqrt().max(1e-6)
            })
            .collect();
        let roles = (0..engine.n_roles()).map(|role| {
            let known = |position: &usize| positions.result(*position, role).is_some();
            let rows: Vec<usize> = (0..positions.len()).filter(known).collect();
            let result = |&row: &usize| f64::from(positions.result(row, role).unwrap_or(0));
            let results: Vec<f64> = rows.iter().map(result).collect();
            let (least, most) = results.iter().fold((100.0f64, 0.0f64), |(a, b), &y| (a.min(y), b.max(y)));
            if results.is_empty() || least == most {
                let mut extras = vec![0.0; n_extras];
                extras[engine.n_roles() + role] = 100.0;
                return Linear { bias: 0.0, fluents: vec![0.0; n_fluents], extras, range: (0.0, 100.0) };
            }
            let design = Design { positions, rows: &rows, seen: &seen, scales: &scales, n_fluents };
            let weights = design.solve(&results);
            let extras = weights[n_fluents..n_fluents + n_extras].iter().zip(&scales);
            Linear {
                bias: weights[n_fluents + n_extras] as f32,
                fluents: weights[..n_fluents].iter().map(|&weight| weight as f32).collect(),
                extras: extras.map(|(&weight, scale)| weight as f32 / scale).collect(),
                range: (least as f32, most as f32),
            }
        });
        Guide { roles: roles.collect() }
    }
}

/// Positions as rows of a matrix: the fluents, the scaled extras, and one.
struct Design<'a> {
    positions: &'a Positions,
    rows: &'a [usize],
    seen: &'a Seen,
    scales: &'a [f32],
    n_fluents: usize,
}

impl Design<'_> {
    fn for_each_entry(&self, row: usize, mut entry: impl FnMut(usize, f64)) {
        let position = self.rows[row];
        for (word, &bits) in self.positions.state(position).iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                entry(word * 64 + bits.trailing_zeros() as usize, 1.0);
                bits &= bits - 1;
            }
        }
        let n_extras = self.scales.len();
        let extras = &self.seen.extras[position * n_extras..(position + 1) * n_extras];
        for (extra, (value, scale)) in extras.iter().zip(self.scales).enumerate() {
            entry(self.n_fluents + extra, f64::from(value / scale));
        }
        entry(self.n_fluents + n_extras, 1.0);
    }

    /// The weights with the least squared error plus the ridge's penalty, by conjugate gradients.
    fn solve(&self, results: &[f64]) -> Vec<f64> {
        let n = self.n_fluents + self.scales.len() + 1;
        let ridge = |weights: &[f64], into: &mut [f64]| {
            // The constant goes free.
            into.iter_mut().zip(weights).take(n - 1).for_each(|(into, weight)| *into += RIDGE * weight);
        };
        let mut residual = vec![0.0; n];
        for (row, &result) in results.iter().enumerate() {
            self.for_each_entry(row, |column, value| residual[column] += value * result);
        }
        let mut weights = vec![0.0; n];
        let mut direction = residual.clone();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut norm = dot(&residual, &residual);
        let small = 1e-9 * norm;
        for _ in 0..N_STEPS {
            if norm <= small {
                break;
            }
            let mut image = vec![0.0; n];
            for row in 0..self.rows.len() {
                let mut sum = 0.0;
                self.for_each_entry(row, |column, value| sum += value * direction[column]);
                self.for_each_entry(row, |column, value| image[column] += value * sum);
            }
            ridge(&direction, &mut image);
            let step = norm / dot(&direction, &image).max(f64::MIN_POSITIVE);
            for index in 0..n {
                weights[index] += step * direction[index];
                residual[index] -= step * image[index];
            }
            let next = dot(&residual, &residual);
            for index in 0..n {
                direction[index] = residual[index] + next / norm * direction[index];
            }
            norm = next;
        }
        weights
    }
}
