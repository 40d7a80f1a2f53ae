//! From examples to a model.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use features::split::{Part, Split};
use gdl::Stop;

use crate::example::Examples;
use crate::fit::stages::{Merged, Plan, Rules, count};
use crate::fit::{self, Constant, Dense, Design, Join, Ridge, Sparse, Stage, Staged};
use crate::model::{Model, Sum, Weights};
use crate::sight::Sight;
use crate::stage::Stages;

/// How weights are fitted.
#[derive(Clone, serde::Serialize)]
pub struct Settings {
    /// What large weights of features cost, in positions.
    pub ridge: f64,
    /// The same for weights of pattern slots.
    pub slot_ridge: f64,
    /// Passes over the examples, about.
    pub iterations: usize,
    /// Threads; they change nothing in the result.
    #[serde(skip)]
    pub threads: usize,
    /// Ends fitting early, with the weights that were found by then.
    #[serde(skip)]
    pub stop: Stop,
    /// Which examples are fitted to, which say when to stop, and which say how good the fit is.
    #[serde(skip)]
    pub split: Split,
    /// Which examples count.
    pub distinct: Distinct,
    /// What stages have in common.
    pub sharing: Sharing,
    /// Whether examples are learned with the roles exchanged, too, where the game allows that. Where features and patterns have their
    /// images, what is then expected of a role is what the other one expects in the image.
    pub mirror: bool,
}

/// Which examples count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distinct {
    /// All, as they were met.
    #[default]
    All,
    /// Examples that symmetries take to each other count as one, with the mean of their results.
    Unique,
}

/// What the weights of stages have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Nothing.
    #[default]
    Own,
    /// Stages in which something is rare take its weight together, by these rules.
    Merged(Rules),
    /// Only so many stages have weights of their own, and weights go evenly from one of those to the next. With many stages,
    /// what is expected does not jump where one ends.
    Lines(usize),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            ridge: 2.0,
            slot_ridge: 4.0,
            iterations: 60,
            threads: 1,
            stop: Stop::never(),
            split: Split::default(),
            distinct: Distinct::All,
            sharing: Sharing::Own,
            mirror: false,
        }
    }
}

/// Courses are kept under what this says of their settings, so what is as usual in the later fields is left out.
impl fmt::Debug for Settings {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        // The split goes by the course's seed.
        let Settings { ridge, slot_ridge, iterations, threads, stop: _, split: _, distinct, sharing, mirror } = self;
        let mut all = to.debug_struct("Settings");
        all.field("ridge", ridge).field("slot_ridge", slot_ridge);
        all.field("iterations", iterations).field("threads", threads);
        if *distinct != Distinct::default() {
            all.field("distinct", distinct);
        }
        if *sharing != Sharing::default() {
            all.field("sharing", sharing);
        }
        if *mirror {
            all.field("mirror", mirror);
        }
        all.finish()
    }
}

/// How well a role's results are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// The mean loss of the examples that were learned from, in nats.
    pub training: f64,
    /// The mean loss of those that said when to stop; fits are compared by it. No number if there are none.
    pub choosing: f64,
    /// The mean loss of those that nothing was learned or chosen from: how well new positions are predicted. No number if there are none.
    pub held_out: f64,
}

/// Fewer examples than this don't say when to stop, and are learned from.
const LEAST: usize = 30;
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
    let (examples, parts) = &chosen(sight, examples, settings);
    let (n, n_features) = (examples.len(), sight.features.len());
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
    let said = |role: usize, row: usize| {
        let Some(Model { weights, .. }) = believed else { return 0.0 };
        let (weights, set) = (&weights[role], usize::from(rows.sets[row]));
        let values = rows.values[row * n_features..(row + 1) * n_features].iter().zip(&weights.features[set]);
        let slots = rows.slots[row * n_instances..(row + 1) * n_instances].iter().filter(|&&slot| slot != u32::MAX);
        weights.bias[set]
            + values.map(|(&value, weight)| value as f32 * weight).sum::<f32>()
            + slots.map(|&slot| weights.slots[set][slot as usize]).sum::<f32>()
    };
    let columns = Join(dense, slots);
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
        let design = Join(Constant { n_rows: n }, Join(said, &columns));
        let data = Data { sets: &rows.sets, stages: &sight.stages, targets: &targets, parts, ridge: &set };
        let (found, own) = data.fit(design, settings)?;
        losses.push(own);
        let mut own = Weights::default();
        for (number, set) in found.chunks(n_columns).enumerate() {
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

/// The examples that count, and what each is for.
fn chosen(sight: &Sight, examples: &Examples, settings: &Settings) -> (Examples, Vec<Part>) {
    let images = sight.game.images();
    let parts = settings.split.divide(images, examples.views(), &examples.matches);
    let mut chosen = examples.select((0..examples.len()).filter(|&example| parts[example].is_some()));
    if settings.distinct == Distinct::Unique {
        chosen = chosen.unique(images);
    }
    if settings.mirror {
        chosen = chosen.mirrored(images);
    }
    let parts = chosen.matches.iter().map(|&number| settings.split.of_match(number)).collect();
    (chosen, parts)
}

/// What the weights of one role are fitted to, but for the design of one set.
struct Data<'a> {
    /// For each row its set: that of a stage on somebody's turn.
    sets: &'a [u16],
    stages: &'a Stages,
    targets: &'a [f32],
    /// What each row is for.
    parts: &'a [Part],
    /// What weights of one set cost.
    ridge: &'a [f64],
}

impl Data<'_> {
    /// The weights of all sets, one after another.
    fn fit<D: Design>(&self, design: D, settings: &Settings) -> Result<(Vec<f64>, Losses), fit::FitError> {
        let (n_stages, n_sets, n_columns) = (self.stages.n_stages(), self.stages.n_sets(), design.n_columns());
        match settings.sharing {
            Sharing::Own => {
                let stages = self.sets.iter().map(|&set| Stage::at(set)).collect();
                self.run(&Staged::new(design, n_sets, stages), self.ridge.repeat(n_sets), settings)
            }
            Sharing::Merged(rules) => {
                // The rules are about stages, so the turns of one stand together, as if they were one set with more columns.
                let n_turns = n_sets / n_stages;
                let place = |set: usize| set % n_stages * n_turns + set / n_stages;
                let stages = self.sets.iter().map(|&set| Stage::at(place(usize::from(set)) as u16)).collect();
                let design = Staged::new(design, n_sets, stages);
                let plan = Plan::new(n_stages, &count(&design, &self.rows(|part| part != Part::Fit)), &rules);
                let ridge = plan.collapse(&self.ridge.repeat(n_sets));
                let (found, at) = self.run(&Merged { design: &design, plan: &plan }, ridge, settings)?;
                let found = plan.expand(&found);
                let set = |set: usize| &found[place(set) * n_columns..(place(set) + 1) * n_columns];
                Ok(((0..n_sets).flat_map(set).copied().collect(), at))
            }
            Sharing::Lines(n_knots) => {
                let n_knots = n_knots.clamp(1, n_stages);
                let knots = self.knots(n_knots);
                let of = |set: usize| {
                    let Stage { stage, onward } = Stage::between(knots[set % n_stages], n_knots as u16);
                    Stage { stage: (set / n_stages * n_knots) as u16 + stage, onward }
                };
                let stages = self.sets.iter().map(|&set| of(usize::from(set))).collect();
                let n_own = n_sets / n_stages * n_knots;
                let design = Staged::new(design, n_own, stages);
                let (found, at) = self.run(&design, self.ridge.repeat(n_own), settings)?;
                let weight = |set: usize, column: usize| {
                    let Stage { stage, onward } = of(set);
                    let (own, onward) = (usize::from(stage) * n_columns + column, f64::from(onward));
                    if onward > 0.0 {
                        (1.0 - onward) * found[own] + onward * found[own + n_columns]
                    } else {
                        found[own]
                    }
                };
                let set = |set: usize| (0..n_columns).map(move |column| (set, column));
                Ok(((0..n_sets).flat_map(set).map(|(set, column)| weight(set, column)).collect(), at))
            }
        }
    }

    /// For each stage its place among the knots, which lie in the middle of parts with about as many rows each.
    fn knots(&self, n_knots: usize) -> Vec<f32> {
        let n_stages = self.stages.n_stages();
        let mut all: Vec<usize> = self.sets.iter().map(|&set| usize::from(set) % n_stages).collect();
        all.sort_unstable();
        let part = |knot: usize| &all[knot * all.len() / n_knots..(knot + 1) * all.len() / n_knots];
        let middle = |part: &[usize]| part.iter().sum::<usize>() as f32 / part.len().max(1) as f32;
        let middles: Vec<f32> = (0..n_knots).map(|knot| middle(part(knot))).collect();
        let place = |stage: usize| {
            let stage = stage as f32;
            let next = middles.partition_point(|&middle| middle <= stage);
            match (next.checked_sub(1), middles.get(next)) {
                (None, _) => 0.0,
                (Some(last), None) => last as f32,
                (Some(last), Some(next)) => last as f32 + (stage - middles[last]) / (next - middles[last]),
            }
        };
        (0..n_stages).map(place).collect()
    }

    /// Which rows are for something.
    fn rows(&self, is_it: impl Fn(Part) -> bool) -> Vec<bool> {
        self.parts.iter().map(|&part| is_it(part)).collect()
    }

    fn run<D: Design>(
        &self,
        design: &D,
        ridge: Vec<f64>,
        settings: &Settings,
    ) -> Result<(Vec<f64>, Losses), fit::FitError> {
        let stop = &settings.stop;
        let settings = fit::Settings {
            ridge: Ridge::Each(ridge),
            iterations: settings.iterations,
            threads: settings.threads,
            ..fit::Settings::default()
        };
        let (mut choosing, reporting) =
            (self.rows(|part| part == Part::Choose), self.rows(|part| part == Part::Report));
        if choosing.iter().filter(|&&is_it| is_it).count() < LEAST {
            choosing.fill(false);
        }
        let weights: Vec<f32> = reporting.iter().map(|&is_apart| if is_apart { 0.0 } else { 1.0 }).collect();
        let rows = fit::Rows { weights: &weights, ..fit::Rows::new(design, self.targets).holding_out(&choosing) };
        let found = fit::fit(rows, &settings, &mut |_| {
            if stop.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let rows = fit::Rows::new(design, self.targets).holding_out(&reporting);
        let (_, held_out) = fit::evaluate(&rows, settings.objective, &found.weights, settings.threads)?;
        let [choosing, held_out] = [found.at.held_out, held_out].map(|loss| loss.unwrap_or(f64::NAN));
        Ok((found.weights, Losses { training: found.at.training, choosing, held_out }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kept courses and measured results hang on this text.
    #[test]
    fn usual_settings_are_named_as_ever() {
        let text = "Settings { ridge: 2.0, slot_ridge: 4.0, iterations: 60, threads: 1 }";
        assert_eq!(format!("{:?}", Settings::default()), text);
        let other = Settings { mirror: true, distinct: Distinct::Unique, ..Settings::default() };
        assert_eq!(format!("{other:?}"), text.replace(" }", ", distinct: Unique, mirror: true }"));
    }
}
