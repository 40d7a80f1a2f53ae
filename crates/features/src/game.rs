//! A game prepared for features: its rules, its network and its structure.

use std::sync::Arc;

use gdl::ground;
use gdl::program::Program;
use insight::sample::{self, Samples};
use insight::structure::{self, Structure};
use insight::universe::{self, Circuit, Universe};

/// A game prepared for features.
pub struct Game {
    /// The rules.
    pub program: Arc<Program>,
    /// What it is made of.
    pub universe: Universe,
    /// Its network.
    pub circuit: Circuit,
    /// Random matches.
    pub samples: Samples,
    /// Boards, orders, pieces, quantities, turns.
    pub structure: Structure,
}

impl Game {
    /// Grounds and analyses a game; without a network there is a reason instead.
    pub fn new(program: Program, seed: u64) -> Result<Game, String> {
        let program = Arc::new(program);
        let (universe, circuit) = universe::survey(&program, &ground::Budget::default())?;
        let samples = sample::play(&universe, &circuit, &sample::Budget::default(), seed);
        let structure = structure::find(&universe, Some(&circuit), &samples, &insight::prove::Budget::default());
        Ok(Game { program, universe, circuit, samples, structure })
    }
}
