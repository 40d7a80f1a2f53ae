//! Weights that follow a stream of positions: each is seen once, and each weight finds its own pace.
//!
//! The step of a position is `rate * error / (sum of squares of what is seen)` for every weight, so that it changes the expected
//! result by the same part of the error however much is seen. A weight whose corrections mostly agree takes it in full; one
//! whose corrections cancel out takes little of it (*temporal coherence*, Beal and Smith 1999).
//!
//! What counts in a stage is the sum of a weight that all stages share and one of its own, both learned: the first soon knows
//! what holds throughout, the second what is different here.

use std::sync::Arc;

use crate::model::{Model, Sum, Weights};
use crate::sight::{Rows, Sight};

/// Weights that are being learned, for each role that has any.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stream {
    /// What each feature's value is divided by.
    scales: Vec<f32>,
    roles: Vec<Role>,
}

/// The weights of one role: for each set a bias, the features' and the slots', in this order; and then the same for each turn,
/// shared by its stages.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Role {
    n_sets: usize,
    n_stages: usize,
    weights: Vec<f32>,
    /// All corrections of each weight added up, and their sizes added up.
    net: Vec<f32>,
    size: Vec<f32>,
}

impl Role {
    fn n_columns(&self) -> usize {
        self.weights.len() / (self.n_sets + self.n_sets / self.n_stages)
    }

    /// Where the weights begin that count in a row: those of its set, and those that stages share. With one stage there is nothing to
    /// share.
    fn both(&self, rows: &Rows, row: usize) -> impl ExactSizeIterator<Item = usize> + use<> {
        let (set, n_columns) = (usize::from(rows.sets[row]), self.n_columns());
        let shared = (self.n_sets + set / self.n_stages) * n_columns;
        [set * n_columns, shared].into_iter().take(if self.n_stages > 1 { 2 } else { 1 })
    }
}

/// Rows with what they are to be looked at by.
struct All<'a> {
    rows: &'a Rows,
    scales: &'a [f32],
    n_instances: usize,
    n_roles: usize,
}

impl<'a> All<'a> {
    fn new(rows: &'a Rows, targets: &[f32], scales: &'a [f32]) -> All<'a> {
        let n_rows = rows.sets.len().max(1);
        All { rows, scales, n_instances: rows.slots.len() / n_rows, n_roles: targets.len() / n_rows }
    }

    /// The columns of the slots that are seen in a row.
    fn slots(&self, row: usize) -> impl Iterator<Item = usize> + use<'a> {
        let (slots, before) = (&self.rows.slots[row * self.n_instances..][..self.n_instances], 1 + self.scales.len());
        slots.iter().filter(|&&slot| slot != u32::MAX).map(move |&slot| slot as usize + before)
    }

    /// What is seen in the other columns of a row.
    fn look(&self, row: usize, seen: &mut [f32]) {
        let values = &self.rows.values[row * self.scales.len()..][..self.scales.len()];
        seen[0] = 1.0;
        for ((seen, &value), scale) in seen[1..].iter_mut().zip(values).zip(self.scales) {
            *seen = value as f32 / scale;
        }
    }

    /// What is expected of a row.
    fn expected(&self, row: usize, seen: &[f32], role: &Role) -> f32 {
        let mut sum = 0.0;
        for first in role.both(self.rows, row) {
            let weights = &role.weights[first..first + role.n_columns()];
            sum += seen.iter().zip(weights).map(|(seen, weight)| seen * weight).sum::<f32>();
            sum += self.slots(row).map(|slot| weights[slot]).sum::<f32>();
        }
        1.0 / (1.0 + (-sum).exp())
    }
}

impl Stream {
    /// Begins with the weights of a model. The rows say how much features vary.
    pub fn new(model: &Model, rows: &Rows) -> Stream {
        let n_features = model.sight.features.len();
        let mut squares = vec![0.0f64; n_features];
        let n_rows = rows.sets.len().max(1);
        for values in rows.values.chunks(n_features.max(1)) {
            squares.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
        }
        // A feature counts about as much as a slot that is seen in one state of ten.
        let scales: Vec<f32> =
            squares.iter().map(|sum| ((10.0 * sum / n_rows as f64).sqrt() as f32).max(1.0)).collect();
        let role = |own: &Weights| {
            let mut weights = Vec::new();
            for ((bias, features), slots) in own.bias.iter().zip(&own.features).zip(&own.slots) {
                weights.push(*bias);
                weights.extend(features.iter().zip(&scales).map(|(weight, scale)| weight * scale));
                weights.extend_from_slice(slots);
            }
            let (n_sets, n_stages) = (own.bias.len(), model.sight.stages.n_stages());
            weights.resize(weights.len() / n_sets * (n_sets + n_sets / n_stages), 0.0);
            Role { n_sets, n_stages, net: vec![0.0; weights.len()], size: vec![0.0; weights.len()], weights }
        };
        Stream { roles: model.weights.iter().map(role).collect(), scales }
    }

    /// Whether it has as many weights as a model, and all are numbers to add up.
    pub fn fits(&self, model: &Model) -> bool {
        let n_stages = model.sight.stages.n_stages();
        let n_weights = |own: &Weights| {
            let n_sets = own.bias.len();
            (n_sets + n_sets / n_stages) * (1 + self.scales.len() + own.slots.first().map_or(0, Vec::len))
        };
        let fits = |(role, own): (&Role, &Weights)| {
            (role.n_sets, role.n_stages) == (own.bias.len(), n_stages)
                && [role.weights.len(), role.net.len(), role.size.len()] == [n_weights(own); 3]
                && [&role.weights, &role.net, &role.size].into_iter().flatten().all(|number| number.is_finite())
        };
        self.scales.iter().all(|scale| scale.is_finite() && *scale >= 1.0)
            && self.scales.len() == model.sight.features.len()
            && self.roles.len() == model.weights.len()
            && self.roles.iter().zip(&model.weights).all(fits)
    }

    /// The mean loss of some positions for each role with weights, in nats; no number if there are none.
    pub fn losses(&self, rows: &Rows, targets: &[f32], of: &[u32]) -> Vec<f64> {
        let all = All::new(rows, targets, &self.scales);
        let loss = |(number, role): (usize, &Role)| {
            let mut seen = vec![0.0; 1 + self.scales.len()];
            let mut sum = 0.0;
            for &row in of {
                all.look(row as usize, &mut seen);
                let expected = all.expected(row as usize, &seen, role).clamp(1e-6, 1.0 - 1e-6);
                let target = targets[row as usize * all.n_roles + number];
                sum -= f64::from(target * expected.ln() + (1.0 - target) * (1.0 - expected).ln());
            }
            sum / of.len() as f64
        };
        self.roles.iter().enumerate().map(loss).collect()
    }

    /// Learns from positions in the order that is given; each has a target for each role of the game.
    pub fn learn(&mut self, rows: &Rows, targets: &[f32], order: &[u32], rate: f32) {
        let all = &All::new(rows, targets, &self.scales);
        let learn_role = &|number: usize, role: &mut Role| {
            let n_columns = role.n_columns();
            let mut seen = vec![0.0; 1 + all.scales.len()];
            for &row in order {
                let row = row as usize;
                let both = role.both(rows, row);
                all.look(row, &mut seen);
                let seen_squares: f32 = seen.iter().map(|seen| seen * seen).sum();
                let squares = (seen_squares + all.slots(row).count() as f32) * both.len() as f32;
                let error = targets[row * all.n_roles + number] - all.expected(row, &seen, role);
                let step = rate * error / squares;
                for first in both {
                    let weights = &mut role.weights[first..first + n_columns];
                    let net = &mut role.net[first..first + n_columns];
                    let size = &mut role.size[first..first + n_columns];
                    for (column, seen) in seen.iter().enumerate() {
                        let by = error * seen;
                        let pace = if size[column] > 0.0 { net[column].abs() / size[column] } else { 1.0 };
                        weights[column] += step * seen * pace;
                        net[column] += by;
                        size[column] += by.abs();
                    }
                    for column in all.slots(row) {
                        let pace = if size[column] > 0.0 { net[column].abs() / size[column] } else { 1.0 };
                        weights[column] += step * pace;
                        net[column] += error;
                        size[column] += error.abs();
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for (number, role) in self.roles.iter_mut().enumerate() {
                scope.spawn(move || learn_role(number, role));
            }
        });
    }

    /// The weights as a model.
    pub fn model(&self, sight: &Arc<Sight>, sum: Sum) -> Model {
        let n_features = self.scales.len();
        let weights = |role: &Role| {
            let mut own = Weights::default();
            let n_columns = role.n_columns();
            let (sets, shared) = role.weights.split_at(role.n_sets * n_columns);
            for (number, set) in sets.chunks(n_columns).enumerate() {
                let shared = &shared[number / role.n_stages * n_columns..][..n_columns];
                let set: Vec<f32> = set.iter().zip(shared).map(|(own, shared)| own + shared).collect();
                own.bias.push(set[0]);
                let features = set[1..=n_features].iter().zip(&self.scales);
                own.features.push(features.map(|(weight, scale)| weight / scale).collect());
                own.slots.push(set[1 + n_features..].to_vec());
            }
            own
        };
        Model::new(sight.clone(), self.roles.iter().map(weights).collect(), sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(n_features: usize, n_slots: usize, n_sets: usize) -> Stream {
        let n = 2 * n_sets * (1 + n_features + n_slots);
        let role = Role { n_sets, n_stages: 1, weights: vec![0.0; n], net: vec![0.0; n], size: vec![0.0; n] };
        Stream { scales: vec![1.0; n_features], roles: vec![role] }
    }

    /// One position: half of the error is taken, shared by what is seen as its square says; and the next step is as coherent as
    /// the corrections were.
    #[test]
    fn a_step_by_hand() {
        let rows = Rows { values: vec![2], slots: vec![1, u32::MAX], sets: vec![1] };
        let mut stream = stream(1, 3, 2);
        let loss = stream.losses(&rows, &[1.0], &[0]);
        stream.learn(&rows, &[1.0], &[0], 0.5);
        assert!((loss[0] - std::f64::consts::LN_2).abs() < 1e-6);
        // Seen: 1 (bias), 2 and a slot; the squares are 1 + 4 + 1. The error is 0.5.
        let step = 0.5 * 0.5 / 6.0;
        let own = [0.0, 0.0, 0.0, 0.0, 0.0, step, 2.0 * step, 0.0, step, 0.0];
        let expected: Vec<f32> = own.into_iter().chain([0.0; 10]).collect();
        let near = |one: &[f32], other: &[f32]| one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-6);
        assert!(near(&stream.roles[0].weights, &expected), "{:?}", stream.roles[0].weights);
        // A correction the other way: the weights now take only what their corrections have in common.
        stream.learn(&rows, &[0.0], &[0], 0.5);
        let before: Vec<f32> = stream.roles[0].weights.clone();
        let (net, size) = (stream.roles[0].net[5], stream.roles[0].size[5]);
        assert!(net < 0.0 && size > 1.0 && net.abs() / size < 0.1, "{net} {size}");
        stream.learn(&rows, &[0.0], &[0], 0.5);
        let moved = before[5] - stream.roles[0].weights[5];
        assert!(moved > 0.0 && moved < 0.1 * step, "{moved}");
    }

    #[test]
    fn what_decides_is_found() {
        // Slot 0 wins, slot 1 loses, slot 2 says nothing.
        let slots: Vec<u32> = (0..400).flat_map(|row| [row % 2, 2]).collect();
        let targets: Vec<f32> = (0..400).map(|row| if row % 2 == 0 { 1.0 } else { 0.0 }).collect();
        let rows = Rows { values: Vec::new(), slots, sets: vec![0; 400] };
        let mut stream = stream(0, 3, 1);
        let order: Vec<u32> = (0..400).collect();
        let first = stream.losses(&rows, &targets, &order)[0];
        (0..6).for_each(|_| stream.learn(&rows, &targets, &order, 0.5));
        let last = stream.losses(&rows, &targets, &order)[0];
        assert!(last < first / 4.0, "{first} {last}");
        let weights = &stream.roles[0].weights;
        assert!(weights[1] > 1.0 && weights[2] < -1.0 && weights[3].abs() < 0.3, "{weights:?}");
    }
}
