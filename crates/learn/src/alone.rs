//! Playing games with one role by a model.

use std::sync::Arc;

use machine::lanes;
use search::{Evaluate, Solo, solo};

use crate::model::{Model, Opinion};
use crate::sight::Sight;

/// A player for a game with one role, on the game's own network: the model is one of the guides of its search.
///
/// # Panics
/// If the game has several roles.
pub fn player(model: &Arc<Model>, compiled: &Arc<lanes::Compiled>, bytes: usize, seed: u64) -> Solo {
    let settings = solo::Settings { bytes, ..solo::Settings::default() };
    let opinion = Abroad { opinion: model.opinion(), sight: model.sight.clone() };
    Solo::new(compiled, settings, seed).guided(Box::new(opinion))
}

/// A model's opinion on states of the game's own network.
struct Abroad {
    opinion: Opinion,
    sight: Arc<Sight>,
}

impl Evaluate for Abroad {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        let states: Vec<Vec<u64>> = states.iter().map(|state| self.sight.views.state(state)).collect();
        let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
        self.opinion.values(&views, values);
    }
}
