//! Choosing features by evidence: what they say about the result beyond what the chosen ones say, for what they cost.
//!
//! Greedy forward selection (orthogonal matching pursuit): at each step the feature is taken that explains most of what is
//! left of the results, divided by a price; then the others are made orthogonal to it, so that a copy of a chosen
//! feature, or a sum of several, explains nothing more. Evidence is then measured on matches that selection has not seen.

use gdl::Stop;

use crate::positions::Positions;

/// The values of features must vary at least this much, as a variance, to be looked at.
const MIN_VARIANCE: f64 = 1e-9;
/// A feature is left out if chosen ones leave less than this part of its variance.
const MIN_NEW: f64 = 0.02;
/// Results with a greater correlation than this, or opposite ones, are the same.
const SAME: f64 = 0.999;

/// How features are chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// At most so many.
    pub max_features: usize,
    /// A feature must explain at least this part of the results' variance.
    pub min_gain: f64,
    /// How much cost counts: the gain is divided by `1 + price · cost`.
    pub price: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_features: 150, min_gain: 1e-5, price: 0.005 }
    }
}

/// A candidate: its value in each position, and what it costs to evaluate, in units of the cheapest.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The values.
    pub values: Vec<i32>,
    /// The cost.
    pub cost: f64,
    /// How far its gain is believed beforehand, from 0 to 1.
    pub prior: f64,
}

/// A chosen feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// Its place among the candidates.
    pub index: usize,
    /// The part of the results' variance that it explains beyond those chosen before it, summed over the roles.
    pub gain: f64,
}

/// Chooses among candidates by the results of positions, best first, until it is stopped. Positions without a result count for
/// nothing.
pub fn select(candidates: &[Candidate], positions: &Positions, settings: &Settings, stop: &Stop) -> Vec<Chosen> {
    let n = positions.len();
    // Step 1. What is to be explained: each role's result, centred and scaled.
    let mut left: Vec<Vec<f32>> =
        (0..positions.n_roles).filter_map(|role| standard((0..n).map(|at| result(positions, at, role)))).collect();
    drop_repeats(&mut left);
    // Step 2. The candidates, likewise.
    let mut open: Vec<(usize, Vec<f32>)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(index, candidate)| {
            Some((index, standard(candidate.values.iter().map(|&value| f64::from(value)))?))
        })
        .collect();
    let mut chosen = Vec::new();
    while chosen.len() < settings.max_features && !open.is_empty() && !stop.is_raised() {
        // Step 3. The one that explains most.
        let mut best: Option<(f64, f64, usize)> = None;
        for (place, (index, column)) in open.iter().enumerate() {
            let gain: f64 = left.iter().map(|left| dot(left, column).powi(2)).sum();
            let score = gain * candidates[*index].prior / (1.0 + settings.price * candidates[*index].cost);
            if best.is_none_or(|(most, ..)| score > most) {
                best = Some((score, gain, place));
            }
        }
        let Some((_, gain, place)) = best else { break };
        if gain < settings.min_gain {
            break;
        }
        let (index, column) = open.swap_remove(place);
        chosen.push(Chosen { index, gain });
        // Step 4. Take its part out of everything else.
        left.iter_mut().for_each(|left| _ = orthogonalize(left, &column, false));
        open.retain_mut(|(_, other)| orthogonalize(other, &column, true));
        open.sort_unstable_by_key(|(index, _)| *index);
    }
    chosen
}

/// Whether there is a role whose result is that of another, or its opposite: it explains nothing more.
fn drop_repeats(left: &mut Vec<Vec<f32>>) {
    let mut kept: Vec<Vec<f32>> = Vec::new();
    for column in left.drain(..) {
        if kept.iter().all(|other| dot(other, &column).abs() < SAME) {
            kept.push(column);
        }
    }
    *left = kept;
}

fn result(positions: &Positions, at: usize, role: usize) -> f64 {
    positions.result(at, role).map_or(f64::NAN, f64::from)
}

/// Numbers with their mean taken off, as a unit vector; `None` if they are all the same. Unknown ones become the mean.
fn standard(values: impl Iterator<Item = f64> + Clone) -> Option<Vec<f32>> {
    let (mut n, mut sum) = (0.0, 0.0);
    for value in values.clone().filter(|value| !value.is_nan()) {
        n += 1.0;
        sum += value;
    }
    let mean = sum / f64::max(n, 1.0);
    let centred = values.map(|value| if value.is_nan() { 0.0 } else { value - mean });
    let length: f64 = centred.clone().map(|value| value * value).sum();
    if length < MIN_VARIANCE * f64::max(n, 1.0) {
        return None;
    }
    let scale = 1.0 / length.sqrt();
    Some(centred.map(|value| (value * scale) as f32).collect())
}

fn dot(left: &[f32], right: &[f32]) -> f64 {
    // Sums of short stretches in single precision are accurate and fast; the order is fixed.
    left.chunks(256)
        .zip(right.chunks(256))
        .map(|(left, right)| {
            let mut sums = [0f32; 8];
            for (left, right) in left.chunks(8).zip(right.chunks(8)) {
                for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
                    *sum += left * right;
                }
            }
            f64::from(sums.iter().sum::<f32>())
        })
        .sum()
}

/// Takes the part along a unit vector out of another, and makes it a unit vector again if asked. `false` if too little
/// is left.
fn orthogonalize(column: &mut [f32], along: &[f32], scale: bool) -> bool {
    let part = dot(column, along);
    let rest = 1.0 - part * part;
    if scale && rest < MIN_NEW {
        return false;
    }
    let factor = if scale { (1.0 / rest.sqrt()) as f32 } else { 1.0 };
    let part = part as f32;
    column.iter_mut().zip(along).for_each(|(value, along)| *value = (*value - part * along) * factor);
    true
}

/// What positions say about a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Evidence {
    /// The role whose result it tells most about.
    pub role: usize,
    /// Its correlation with that role's result.
    pub correlation: f64,
    /// The correlation in units of its standard error, which takes all positions of a match as one observation.
    pub z: f64,
    /// Of how many different results of roles this is the one with the greatest `z`.
    pub tried: usize,
    /// The part of the positions in which it is not 0.
    pub matching: f64,
    /// Whether it varies at all.
    pub varies: bool,
}

impl Evidence {
    /// The chance that, without any relation, the greatest `z` of as many as were tried is this large, both sides (Šidák 1967).
    pub fn p_value(&self) -> f64 {
        let one = (2.0 * normal_tail(self.z.abs())).min(1.0);
        -f64::exp_m1(self.tried.max(1) as f64 * f64::ln_1p(-one))
    }
}

/// The results of positions, prepared for measuring features by them.
pub struct Labels {
    /// For each role whose results differ, from position to position and from those of the roles before it: its number, each
    /// position's result less the mean, and their squares' sum.
    roles: Vec<(usize, Vec<f64>, f64)>,
    /// For each position a number that its match has, from 0.
    matches: Vec<u32>,
    n_matches: usize,
}

impl Labels {
    /// Prepares the results of positions. A position without a result counts as one with the mean.
    pub fn new(positions: &Positions) -> Labels {
        let mut number = rustc_hash::FxHashMap::default();
        let mut numbered = |of: &u32| {
            let next = number.len() as u32;
            *number.entry(*of).or_insert(next)
        };
        let matches: Vec<u32> = positions.matches.iter().map(&mut numbered).collect();
        let mut roles = Vec::new();
        for role in 0..positions.n_roles {
            let known = || (0..positions.len()).filter_map(|at| positions.result(at, role)).map(f64::from);
            let n = known().count().max(1) as f64;
            let mean = known().sum::<f64>() / n;
            let centred: Vec<f64> = (0..positions.len())
                .map(|at| positions.result(at, role).map_or(0.0, |result| f64::from(result) - mean))
                .collect();
            let squares: f64 = centred.iter().map(|result| result * result).sum();
            let is_new = |(_, other, of_other): &(usize, Vec<f64>, f64)| {
                let product: f64 = centred.iter().zip(other).map(|(own, other)| own * other).sum();
                product.abs() < SAME * (squares * of_other).sqrt()
            };
            if squares > MIN_VARIANCE * n && roles.iter().all(is_new) {
                roles.push((role, centred, squares));
            }
        }
        Labels { roles, matches, n_matches: number.len() }
    }

    /// Measures a feature by its values in the positions.
    pub fn measure(&self, values: &[i32]) -> Evidence {
        let n = values.len().max(1) as f64;
        let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
        let mean = sum / n;
        let mut best = Evidence {
            matching: values.iter().filter(|&&value| value != 0).count() as f64 / n,
            varies: values.windows(2).any(|pair| pair[0] != pair[1]),
            tried: self.roles.len(),
            ..Evidence::default()
        };
        let squares: f64 = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum();
        if squares <= 0.0 {
            return best;
        }
        let mut by_match = vec![0.0; self.n_matches];
        for (role, results, results_squares) in &self.roles {
            by_match.fill(0.0);
            for ((&value, &result), &of) in values.iter().zip(results).zip(&self.matches) {
                by_match[of as usize] += (f64::from(value) - mean) * result;
            }
            let product: f64 = by_match.iter().sum();
            let spread: f64 = by_match.iter().map(|sum| sum * sum).sum();
            let z = if spread > 0.0 { product / spread.sqrt() } else { 0.0 };
            if z.abs() > best.z.abs() {
                best = Evidence { role: *role, correlation: product / (squares * results_squares).sqrt(), z, ..best };
            }
        }
        best
    }
}

/// The chance that a standard normal number is greater (Abramowitz and Stegun 26.2.17; absolute error below 7.5e-8), with
/// the first term of the asymptotic series far out.
fn normal_tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 5.0 {
        return density / z;
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    density * series.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * t)
}

/// Which of many findings are significant, with at most this part of them expected to be false (Benjamini and Hochberg).
pub fn significant(p_values: &[f64], false_part: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&left, &right| p_values[left].total_cmp(&p_values[right]));
    let n = p_values.len() as f64;
    let last = (0..order.len()).rev().find(|&rank| p_values[order[rank]] <= false_part * (rank + 1) as f64 / n);
    let mut result = vec![false; p_values.len()];
    if let Some(last) = last {
        order[..=last].iter().for_each(|&index| result[index] = true);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Positions of one role, each a match of its own, with these results.
    fn positions(results: &[u8]) -> Positions {
        Positions {
            n_roles: 1,
            results: results.to_vec(),
            matches: (0..results.len() as u32).collect(),
            plies: vec![0; results.len()],
            levels: vec![0; results.len()],
            terminal: vec![false; results.len()],
            ..Positions::default()
        }
    }

    /// Three independent numbers, and results that are 3 times the first plus the second.
    fn planted() -> (Vec<Vec<i32>>, Positions) {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(5);
        let numbers: Vec<Vec<i32>> = (0..3).map(|_| (0..2000).map(|_| random.random_range(0..8)).collect()).collect();
        let results: Vec<u8> = (0..2000).map(|at| (numbers[0][at] * 3 + numbers[1][at]) as u8).collect();
        (numbers, positions(&results))
    }

    #[test]
    fn what_explains_the_results_is_chosen_once() {
        let (numbers, positions) = planted();
        let twice: Vec<i32> = numbers[0].iter().map(|value| 2 * value + 1).collect();
        let sum: Vec<i32> = numbers[0].iter().zip(&numbers[1]).map(|(a, b)| a + b).collect();
        let columns = [numbers[0].clone(), twice, numbers[1].clone(), numbers[2].clone(), sum, vec![4; 2000]];
        // Beside the first number, the sum says what the second says; it costs a little more.
        let costs = [1.0, 1.0, 1.0, 1.0, 1.5, 1.0];
        let candidates: Vec<Candidate> =
            columns.into_iter().zip(costs).map(|(values, cost)| Candidate { values, cost, prior: 1.0 }).collect();
        let settings = Settings { min_gain: 0.001, ..Settings::default() };
        let chosen: Vec<usize> =
            select(&candidates, &positions, &settings, &Stop::never()).iter().map(|chosen| chosen.index).collect();
        assert_eq!(chosen, [0, 2]);
    }

    #[test]
    fn a_dear_feature_gives_way_to_a_cheap_one() {
        let (numbers, positions) = planted();
        let costs = [100.0, 1.0];
        let candidates = costs.map(|cost| Candidate { values: numbers[0].clone(), cost, prior: 1.0 });
        assert_eq!(select(&candidates, &positions, &Settings::default(), &Stop::never())[0].index, 1);
    }

    #[test]
    fn evidence_counts_matches_and_not_positions() {
        let (numbers, mut positions) = planted();
        let strong = Labels::new(&positions).measure(&numbers[0]);
        assert!(strong.z > 20.0 && strong.correlation > 0.9 && strong.p_value() < 1e-9, "{strong:?}");
        let none = Labels::new(&positions).measure(&numbers[2]);
        assert!(none.z.abs() < 3.0 && none.p_value() > 0.002, "{none:?}");
        // The same positions, but from ten matches only.
        positions.matches.iter_mut().for_each(|of| *of %= 10);
        let few = Labels::new(&positions).measure(&numbers[0]);
        assert!(few.z < strong.z && (few.correlation - strong.correlation).abs() < 1e-9, "{few:?}");
    }

    /// Features that say nothing, in a game for four with results of their own: 5 % are found at 5 %, though the best role is taken.
    #[test]
    fn several_roles_are_paid_for() {
        const N: usize = 400;
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(9);
        let mut positions = positions(&[0; N]);
        positions.n_roles = 4;
        positions.results = (0..4 * N).map(|_| 100 * random.random_range(0..2u8)).collect();
        let labels = Labels::new(&positions);
        let mut n_found = [0; 2];
        for _ in 0..1_000 {
            let values: Vec<i32> = (0..N).map(|_| random.random_range(0..2)).collect();
            let evidence = labels.measure(&values);
            assert_eq!(evidence.tried, 4);
            n_found[0] += u32::from(evidence.p_value() < 0.05);
            n_found[1] += u32::from(Evidence { tried: 1, ..evidence }.p_value() < 0.05);
        }
        assert!((20..=70).contains(&n_found[0]) && n_found[1] > 140, "{n_found:?} of 1000");
        // Two who share the points are one.
        let two: Vec<u8> = positions.results.iter().step_by(4).flat_map(|&own| [own, 100 - own]).collect();
        let shared = Positions { n_roles: 2, results: two, ..positions };
        assert_eq!(Labels::new(&shared).measure(&(0..N as i32).collect::<Vec<_>>()).tried, 1);
    }

    #[test]
    fn false_findings_are_held_down() {
        assert_eq!(significant(&[0.001, 0.04, 0.9, 0.012], 0.05), [true, false, false, true]);
        assert!((normal_tail(1.959_964) - 0.025).abs() < 1e-6 && (normal_tail(0.0) - 0.5).abs() < 1e-6);
    }
}
