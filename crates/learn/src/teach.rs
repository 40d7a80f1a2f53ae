//! From examples to a model.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::example::Examples;
use crate::fit::{self, Constant, Dense, Join, Ridge, Sparse, Stage, Staged};
use crate::model::{Model, Sum, Weights};
use crate::sight::Sight;

/// How weights are fitted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What large weights of features cost, in positions.
    pub ridge: f64,
    /// The same for weights of pattern slots.
    pub slot_ridge: f64,
    /// Passes over the examples, about.
    pub iterations: usize,
    /// Threads; they change nothing in the result.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { ridge: 2.0, slot_ridge: 4.0, iterations: 60, threads: 1 }
    }
}

/// How well a role's results are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// The mean loss of the examples that were learned from, in nats.
    pub training: f64,
    /// The mean loss of examples from other matches.
    pub held_out: f64,
}

/// One match in so many is held out.
const HELD_OUT: u32 = 8;
/// Results of 0 and 1 are learned as these, so that weights stay finite.
const SURE: (f32, f32) = (0.02, 0.98);

/// Fits a model to examples. A model that is believed, of the same sight, is what weights are drawn to: how far it counts in each set
/// of weights is fitted, and the penalty is on what is added to it.
pub fn teach(
    sight: &Arc<Sight>,
    examples: &Examples,
    sum: Sum,
    believed: Option<&Model>,
    settings: &Settings,
) -> Result<(Model, Vec<Losses>), fit::FitError> {
    let (n, n_features, n_sets) = (examples.len(), sight.features.len(), sight.stages.n_sets());
    let rows = sight.rows(examples.views());
    let (n_slots, n_instances) = (sight.n_slots(), sight.n_met());
    let mut slots = Sparse::new(n_slots);
    for row in 0..n {
        let own = &rows.slots[row * n_instances..(row + 1) * n_instances];
        slots.push_columns(own.iter().copied().filter(|&slot| slot != u32::MAX));
    }
    let values = rows.values.iter().map(|&value| value as f32).collect();
    let dense = Dense::new(n_features, values).scaled();
    let factors = dense.factors().to_vec();
    let stages: Vec<Stage> = rows.sets.iter().map(|&set| Stage::at(set)).collect();
    let said = |role: usize, row: usize| {
        let Some(Model { weights, .. }) = believed else { return 0.0 };
        let (weights, set) = (&weights[role], usize::from(rows.sets[row]));
        let values = rows.values[row * n_features..(row + 1) * n_features].iter().zip(&weights.features[set]);
        let slots = rows.slots[row * n_instances..(row + 1) * n_instances].iter().filter(|&&slot| slot != u32::MAX);
        weights.bias[set]
            + values.map(|(&value, weight)| value as f32 * weight).sum::<f32>()
            + slots.map(|&slot| weights.slots[set][slot as usize]).sum::<f32>()
    };
    let parts = Join(dense, slots);
    let held_out: Vec<bool> = examples.matches.iter().map(|number| number % HELD_OUT == HELD_OUT - 1).collect();
    let set: Vec<f64> = [0.1, 0.1]
        .into_iter()
        .chain(std::iter::repeat_n(settings.ridge, n_features))
        .chain(std::iter::repeat_n(settings.slot_ridge, n_slots))
        .collect();
    let n_columns = set.len();
    let n_taught = if sum == Sum::Shared { 1 } else { examples.n_roles };
    let (mut weights, mut losses) = (Vec::new(), Vec::new());
    for role in 0..n_taught {
        let target = |row: usize| examples.targets[row * examples.n_roles + role].clamp(SURE.0, SURE.1);
        let targets: Vec<f32> = (0..n).map(target).collect();
        let said = Dense::new(1, (0..n).map(|row| said(role, row)).collect());
        let design = Join(Constant { n_rows: n }, Join(said, &parts));
        let design = Staged::new(design, n_sets, stages.clone());
        let fit_settings = fit::Settings {
            ridge: Ridge::Each(set.repeat(n_sets)),
            iterations: settings.iterations,
            threads: settings.threads,
            ..fit::Settings::default()
        };
        let rows = fit::Rows::new(&design, &targets).holding_out(&held_out);
        let found = fit::fit(rows, &fit_settings, &mut |_| ControlFlow::Continue(()))?;
        losses.push(Losses { training: found.at.training, held_out: found.at.held_out.unwrap_or(f64::NAN) });
        let mut own = Weights::default();
        for (number, set) in found.weights.chunks(n_columns).enumerate() {
            let unscaled = set[2..2 + n_features].iter().zip(&factors);
            own.bias.push(set[0] as f32);
            own.features.push(unscaled.map(|(&weight, &factor)| weight as f32 * factor).collect());
            own.slots.push(set[2 + n_features..].iter().map(|&weight| weight as f32).collect());
            if let Some(believed) = believed.map(|model| &model.weights[role]) {
                let more = |own: &mut f32, weight: &f32| *own += set[1] as f32 * weight;
                more(&mut own.bias[number], &believed.bias[number]);
                own.features[number].iter_mut().zip(&believed.features[number]).for_each(|(own, old)| more(own, old));
                own.slots[number].iter_mut().zip(&believed.slots[number]).for_each(|(own, old)| more(own, old));
            }
        }
        weights.push(own);
    }
    Ok((Model::new(sight.clone(), weights, sum), losses))
}
