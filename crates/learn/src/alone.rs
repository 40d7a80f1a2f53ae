//! Games with one role: a line with the best result is looked for while learning, and played.

use std::sync::Arc;

use features::game::Game;
use machine::lanes;
use search::{Evaluate, Limit, Solo, solo};

use crate::model::{Model, Opinion};
use crate::sight::Sight;

/// A player for a game with one role, on the game's own network: the model is one of the guides of its search, and the line
/// that it knows is played.
///
/// # Panics
/// If the game has several roles.
pub fn player(model: &Arc<Model>, bytes: usize, seed: u64) -> Solo {
    let settings = solo::Settings { bytes, ..solo::Settings::default() };
    let opinion = Abroad { opinion: model.opinion(), sight: model.sight.clone() };
    let (compiled, initial) = start(&model.sight.game);
    Solo::new(&compiled, settings, seed).guided(Box::new(opinion)).knowing(&initial, &model.line)
}

/// In some of the generations of a game with one role, looks for a better line than the one that a model knows, each time twice as
/// long: the model with the best line that is known then, and whether none is better. Nothing where it is not looked for.
pub(crate) fn look(
    model: &Arc<Model>,
    generation: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Option<(Arc<Model>, bool)> {
    /// States looked at in the first generation.
    const NODES: u64 = 2_000_000;
    let Model { sight, weights, sum, line, .. } = &**model;
    if sight.game.universe.roles.len() > 1 || !generation.is_power_of_two() {
        return None;
    }
    let (better, solved) = solve(&sight.game, line, NODES * generation, seed, stop);
    let same = better == *line;
    let with = |line| Arc::new(Model::new(sight.clone(), weights.clone(), *sum).knowing(line));
    Some((if same { model.clone() } else { with(better) }, solved))
}

/// Looks for a line with the best result in a game with one role: the line, if there is one that ends, and whether none is better.
fn solve(game: &Game, known: &[u32], nodes: u64, seed: u64, stop: &dyn Fn() -> bool) -> (Vec<u32>, bool) {
    let (compiled, initial) = start(game);
    let mut solver = Solo::new(&compiled, solo::Settings::default(), seed).knowing(&initial, known);
    let answer = solver.search(&initial, &Limit { nodes, stop });
    if answer.values[0].is_finite() { (answer.line.concat(), answer.proven) } else { (Vec::new(), answer.proven) }
}

fn start(game: &Game) -> (Arc<lanes::Compiled>, Box<[u64]>) {
    let compiled = lanes::Compiled::new(game.circuit.network.clone());
    let initial = lanes::Lanes::new(compiled.clone()).store(0);
    (compiled, initial)
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
