//! Why a model likes a move: what is different after it, in words.

use std::sync::Arc;

use features::english::English;
use learn::model::{Model, Sum};
use machine::scalar::{self, Scalar};

use crate::portfolio::searcher::Words;

/// How many reasons are given.
const REASONS: usize = 4;

/// What distinguishes the state after a move from those after the role's other moves, the strongest first. `role` is its number in the
/// rules; the others make the moves of `joint`.
pub(super) fn reasons(
    model: &Arc<Model>,
    roles: &[String],
    history: &[Vec<String>],
    joint: &[String],
    role: usize,
) -> Result<Vec<String>, String> {
    let (sight, game) = (&model.sight, &model.sight.game);
    let network = game.circuit.network.clone();
    let words = Words::new(network.clone(), roles)?;
    let mut machine = Scalar::new(scalar::Compiled::new(network));
    for joint in history {
        machine.make(&words.joint(joint)?);
    }
    // Step 1. The states after all of the role's moves.
    let own = words.role(role);
    let chosen = words.joint(joint)?;
    let mut legal = Vec::new();
    machine.legal_moves(own, &mut legal);
    legal.sort_unstable();
    let Some(place) = legal.iter().position(|&legal| legal == chosen[own.0 as usize]) else { return Ok(Vec::new()) };
    let mut states: Vec<Vec<u64>> = Vec::new();
    for &candidate in &legal {
        let mut joint = chosen.clone();
        joint[own.0 as usize] = candidate;
        machine.make(&joint);
        states.push(machine.bits().to_vec());
        machine.unmake();
    }
    // Step 2. What each feature adds there, and on the average of the other moves.
    let rows = sight.rows(states.iter().map(Vec::as_slice));
    let (weights, sign) = match model.sum {
        Sum::Shared => (&model.weights[0], if own.0 == 0 { 1.0 } else { -1.0 }),
        Sum::Free => (&model.weights[own.0 as usize], 1.0),
    };
    let n_features = sight.features.len();
    let n_others = (legal.len().max(2) - 1) as f32;
    let compare = |add: &dyn Fn(usize) -> f32| {
        let others: f32 = (0..legal.len()).filter(|&other| other != place).map(add).sum();
        sign * (add(place) - others / n_others)
    };
    let english = English::new(game);
    let mut told: Vec<(f32, String)> = (0..n_features)
        .map(|feature| {
            let value = |state: usize| rows.values[state * n_features + feature] as f32;
            let add = |state: usize| weights.features[usize::from(rows.sets[state])][feature] * value(state);
            let others: f32 = (0..legal.len()).filter(|&other| other != place).map(value).sum();
            let text = english.sentence(&sight.features[feature]);
            (compare(&add), format!("{text} ({:.0}, else {:.1})", value(place), others / n_others))
        })
        .collect();
    let n_patterns = sight.patterns.as_ref().map_or(0, |patterns| patterns.n_slots() as u32);
    let n_met = sight.n_met();
    for (slots, text) in [
        (0..n_patterns, "patterns on the board"),
        (n_patterns..sight.n_slots() as u32, "ways to the goals, and what lies open"),
    ] {
        let add = |state: usize| {
            let own = rows.slots[state * n_met..(state + 1) * n_met].iter().filter(|slot| slots.contains(slot));
            own.map(|&slot| weights.slots[usize::from(rows.sets[state])][slot as usize]).sum()
        };
        told.push((compare(&add), text.to_owned()));
    }
    // Step 3. The strongest.
    told.retain(|(effect, _)| effect.abs() >= 0.01);
    told.sort_by(|one, other| other.0.abs().total_cmp(&one.0.abs()));
    Ok(told.into_iter().take(REASONS).map(|(effect, text)| format!("{effect:+.2}  {text}")).collect())
}
