//! Players: from a position and an evaluation to a move.
//!
//! A [`Position`] is a state that can be moved in and judged. Every search works on any position, whatever judges it: nothing at
//! all, the goals of the rules, or a learned evaluation.

pub mod alpha_beta;
pub mod equilibrium;
pub mod fuzzy;
mod greedy;
pub mod match_play;
pub mod nature;
mod player;
mod position;
mod random;
pub mod statistics;
#[cfg(test)]
mod testing;
pub mod uct;

pub use alpha_beta::AlphaBeta;
pub use fuzzy::Fuzzy;
pub use greedy::Greedy;
pub use nature::Nature;
pub use player::{Answer, Limit, MoveReport, Player, StopReason};
pub use position::Position;
pub use random::Random;
pub use uct::Uct;
