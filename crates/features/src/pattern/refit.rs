//! Weights for many sparse columns at once: least squares with a ridge, by conjugate gradients.

use super::frequency::Incidence;

/// How weights are fitted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Added to the squared error for each squared weight; larger is smoother.
    pub ridge: f64,
    /// The most passes over the data.
    pub iterations: usize,
    /// Stops when the gradient has shrunk by this factor.
    pub tolerance: f64,
    /// Whether something may be added always; not so if the labels are antisymmetric.
    pub intercept: bool,
    /// Threads; they don't change the result.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { ridge: 10.0, iterations: 100, tolerance: 1e-4, intercept: true, threads: 1 }
    }
}

/// A linear function of sparse columns.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The weight of each column.
    pub weights: Vec<f64>,
    /// What is added always.
    pub intercept: f64,
    /// The passes over the data that it took.
    pub iterations: usize,
    /// By which factor the gradient has shrunk.
    pub gradient: f64,
}

impl Fit {
    /// The value for a row.
    pub fn predict(&self, rows: &Incidence, row: usize) -> f64 {
        product(rows, row, &self.weights, self.intercept)
    }

    /// The root of the mean squared error.
    pub fn rmse(&self, rows: &Incidence, labels: &[f64]) -> f64 {
        let error = |(row, label): (usize, &f64)| (self.predict(rows, row) - label).powi(2);
        (labels.iter().enumerate().map(error).sum::<f64>() / labels.len().max(1) as f64).sqrt()
    }
}

/// The data is cut into so many parts, whatever the number of threads, so that sums are always made in one order.
const SHARDS: usize = 16;

/// Fits weights to labels, one for each row.
pub fn ridge(rows: &Incidence, labels: &[f64], settings: &Settings) -> Fit {
    // The last entry of each vector belongs to the intercept, which has no ridge.
    let n = rows.n_columns() + 1;
    let mut scale: Vec<f64> = rows.sums().iter().map(|&(_, squares)| squares as f64 + settings.ridge).collect();
    scale.push(if settings.intercept { labels.len().max(1) as f64 } else { 0.0 });
    let mut weights = vec![0.0; n];
    let mut gradient = transpose_times(rows, labels, settings.threads);
    let precondition = |vector: &[f64]| -> Vec<f64> {
        vector.iter().zip(&scale).map(|(value, scale)| if *scale > 0.0 { value / scale } else { 0.0 }).collect()
    };
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    let mut step = precondition(&gradient);
    let mut size = dot(&gradient, &step);
    let first = size;
    let mut iterations = 0;
    while iterations < settings.iterations && size > first * settings.tolerance.powi(2) && size > 0.0 {
        let values = times(rows, &step, settings.threads);
        let mut image = transpose_times(rows, &values, settings.threads);
        image[..n - 1].iter_mut().zip(&step).for_each(|(image, step)| *image += settings.ridge * step);
        let length = size / dot(&step, &image);
        for index in 0..n {
            weights[index] += length * step[index];
            gradient[index] -= length * image[index];
        }
        let scaled = precondition(&gradient);
        let next = dot(&gradient, &scaled);
        step.iter_mut().zip(&scaled).for_each(|(step, scaled)| *step = scaled + next / size * *step);
        size = next;
        iterations += 1;
    }
    let intercept = weights.pop().expect("the intercept is there");
    let gradient = if first > 0.0 { (size / first).max(0.0).sqrt() } else { 0.0 };
    Fit { weights, intercept, iterations, gradient }
}

/// The rows of each part.
fn shards(n_rows: usize) -> Vec<std::ops::Range<usize>> {
    (0..SHARDS).map(|shard| n_rows * shard / SHARDS..n_rows * (shard + 1) / SHARDS).collect()
}

/// Runs `work` on each part, on several threads, and returns the results in the order of the parts.
fn for_shards<T: Send>(n_rows: usize, threads: usize, work: impl Fn(std::ops::Range<usize>) -> T + Sync) -> Vec<T> {
    let shards = shards(n_rows);
    let per_thread = SHARDS.div_ceil(threads.clamp(1, SHARDS));
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = shards
            .chunks(per_thread)
            .map(|own| scope.spawn(move || own.iter().map(|shard| work(shard.clone())).collect::<Vec<T>>()))
            .collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    })
}

fn times(rows: &Incidence, vector: &[f64], threads: usize) -> Vec<f64> {
    let (&intercept, weights) = vector.split_last().expect("the intercept is there");
    let value = |row| product(rows, row, weights, intercept);
    for_shards(rows.n_rows(), threads, |shard| shard.map(value).collect::<Vec<f64>>()).concat()
}

fn product(rows: &Incidence, row: usize, weights: &[f64], mut sum: f64) -> f64 {
    rows.for_each(row, |column, value| sum += f64::from(value) * weights[column as usize]);
    sum
}

fn transpose_times(rows: &Incidence, values: &[f64], threads: usize) -> Vec<f64> {
    let parts = for_shards(rows.n_rows(), threads, |shard| {
        let mut sums = vec![0.0; rows.n_columns() + 1];
        for row in shard {
            rows.for_each(row, |column, value| sums[column as usize] += f64::from(value) * values[row]);
            sums[rows.n_columns()] += values[row];
        }
        sums
    });
    let mut total = vec![0.0; rows.n_columns() + 1];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Solves a system by elimination.
    fn solve(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
        let n = matrix.len();
        for column in 0..n {
            let pivot = (column..n)
                .max_by(|&one, &other| matrix[one][column].abs().total_cmp(&matrix[other][column].abs()))
                .expect("there are rows left");
            matrix.swap(column, pivot);
            for row in 0..n {
                if row != column {
                    let factor = matrix[row][column] / matrix[column][column];
                    let pivot = matrix[column].clone();
                    matrix[row].iter_mut().zip(pivot).for_each(|(value, pivot)| *value -= factor * pivot);
                }
            }
        }
        (0..n).map(|row| matrix[row][n] / matrix[row][row]).collect()
    }

    #[test]
    fn equals_a_direct_solution_whatever_the_number_of_threads() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let (n_rows, n_columns, ridge_of) = (300, 25, 2.5);
        let set: Vec<Vec<bool>> =
            (0..n_rows).map(|_| (0..n_columns).map(|_| rng.random_range(0..4) == 0).collect()).collect();
        let labels: Vec<f64> = (0..n_rows).map(|_| f64::from(rng.random_range(-50..50))).collect();
        let rows = Incidence::from_columns(n_rows, n_columns, 1, |column, rows| {
            rows.extend((0..n_rows as u32).filter(|&row| set[row as usize][column as usize]).map(|row| (row, 1)));
        });
        let value = |row: usize, column: usize| f64::from(u8::from(column == n_columns || set[row][column]));
        let matrix: Vec<Vec<f64>> = (0..=n_columns)
            .map(|one| {
                let product = |other: usize| (0..n_rows).map(|row| value(row, one) * value(row, other)).sum::<f64>();
                let mut line: Vec<f64> = (0..=n_columns).map(product).collect();
                line[one] += if one < n_columns { ridge_of } else { 0.0 };
                line.push((0..n_rows).map(|row| value(row, one) * labels[row]).sum());
                line
            })
            .collect();
        let exact = solve(matrix);
        let settings = Settings { ridge: ridge_of, iterations: 500, tolerance: 1e-12, ..Settings::default() };
        let fit = ridge(&rows, &labels, &settings);
        for (found, exact) in fit.weights.iter().chain([&fit.intercept]).zip(&exact) {
            assert!((found - exact).abs() < 1e-6, "{found} {exact}");
        }
        let again = ridge(&rows, &labels, &Settings { threads: 3, ..settings });
        assert_eq!(fit.weights, again.weights);
    }
}
