//! Learning while playing, from the difference between what was expected and what came next (Sutton 1988).
//!
//! [`update`] is the rule itself, on plain vectors. [`thesis`] is the feature construction thesis's way (Günther 2008): a vector
//! of weights for each role, learned against a fixed opponent. [`improved`] is our own: self-play against former selves, with the
//! leaves of searches for positions. [`sarsa`] learns a table without any features, and
//! [`transfer`] takes such a table over to a variant of the game (Kuhlmann 2010). [`start`] and [`wary`] are what his experiments need
//! besides: starts by chance, and an opponent that sees what is near.

pub mod improved;
pub mod sarsa;
pub mod start;
pub mod thesis;
pub mod transfer;
pub mod update;
pub mod wary;

use std::sync::Arc;

use features::game::Game;
use machine::RoleId;
use machine::scalar::{self, Scalar};
use search::{Fuzzy, Greedy, Limit, Player, fuzzy, legal_moves};

/// Takes part in matches as one role and sees what comes of its moves.
pub trait Actor {
    /// A match begins; the machine is at its start. Moves made on the machine, here or below, must be taken back.
    fn begin(&mut self, _: &mut Scalar) {}

    /// Chooses among the legal moves, which are ascending. It is asked where there is but one, too.
    fn choose(&mut self, machine: &mut Scalar, legal: &[u32]) -> u32;

    /// All have moved; the machine is in the next state, in which the match may be over.
    fn after(&mut self, _: &mut Scalar) {}
}

/// Plays a match, of at most so many joint moves, in which `own` chooses for one role and `others` for all others. Each role's
/// result, where the rules give one.
pub fn play(
    machine: &mut Scalar,
    role: RoleId,
    own: &mut dyn Actor,
    others: &mut dyn Player,
    plies: u32,
) -> Vec<Option<i64>> {
    let initial = machine.compiled().initial().to_vec();
    machine.jump(&initial);
    play_on(machine, role, own, others, plies)
}

/// The same from the machine's state on.
pub fn play_on(
    machine: &mut Scalar,
    role: RoleId,
    own: &mut dyn Actor,
    others: &mut dyn Player,
    plies: u32,
) -> Vec<Option<i64>> {
    let n_roles = machine.network().roles.len();
    others.begin();
    own.begin(machine);
    let mut joint = Vec::new();
    for _ in 0..plies {
        if machine.terminal() {
            break;
        }
        let legal = legal_moves(machine);
        if legal.iter().any(Vec::is_empty) {
            break;
        }
        joint.clear();
        for (other, moves) in (0..).map(RoleId).zip(&legal) {
            joint.push(match moves[..] {
                _ if other == role => own.choose(machine, moves),
                [only] => only,
                _ => others.choose(machine.bits(), other, &Limit::nodes(u64::MAX)).joint[other.0 as usize],
            });
        }
        machine.make(&joint);
        own.after(machine);
    }
    let ended = machine.terminal();
    (0..n_roles as u32).map(|role| if ended { machine.goal(RoleId(role)) } else { None }).collect()
}

/// The opponent of the thesis, ready to be seated: it looks one move ahead by the fuzzy goal heuristic.
pub struct Opponents {
    machine: Arc<scalar::Compiled>,
    goals: Arc<fuzzy::Compiled>,
}

impl Opponents {
    /// Prepares a game's goals. Not for games whose ground rules are too many to be kept.
    pub fn new(game: &Game) -> Result<Opponents, String> {
        let ground =
            game.circuit.ground.as_ref().ok_or("the game has too many ground rules for the fuzzy heuristic")?;
        let goals = fuzzy::Compiled::new(ground, &game.universe, &game.circuit, Some(&game.structure));
        let machine = scalar::Compiled::new(game.circuit.network.clone());
        Ok(Opponents { machine, goals: Arc::new(goals) })
    }

    /// One of them; equal seeds play alike.
    pub fn player(&self, seed: u64) -> Greedy<Fuzzy> {
        Greedy::new(Fuzzy::new(self.machine.clone(), self.goals.clone(), fuzzy::Settings::default()), seed)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A library game.
    pub(crate) fn game(name: &str) -> Arc<Game> {
        let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let rules = std::fs::read(&path).expect("the library has the game");
        Arc::new(Game::new(gdl::read(name, &rules).program, 1).expect("it has a network"))
    }

    /// The mean of results that are all known.
    pub(crate) fn mean(results: &[Option<i64>]) -> f64 {
        results.iter().map(|goal| goal.expect("the match ended") as f64).sum::<f64>() / results.len() as f64
    }
}
