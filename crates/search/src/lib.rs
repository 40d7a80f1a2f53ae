//! Players: from a position and an evaluation to a move.
//!
//! A [`Position`] is a state that can be moved in and judged. Every search works on any position, whatever judges it: nothing at
//! all, the goals of the rules, or a learned evaluation. A [`Player`] is asked for a move under a [`Limit`]; there is no clock
//! here, and a bound on nodes always gives the same answer.
//!
//! ```
//! use std::sync::Arc;
//! use search::{Limit, Player, Uct, uct};
//!
//! let rules = b"(role me) (init (at 0)) (succ 0 1) (succ 1 2)
//!     (legal me stay) (<= (legal me go) (true (at ?n)) (succ ?n ?m))
//!     (<= (next (at ?m)) (does me go) (true (at ?n)) (succ ?n ?m))
//!     (<= (next over) (does me stay)) (<= (next (at ?n)) (does me stay) (true (at ?n)))
//!     (<= terminal (true over)) (<= terminal (true (at 2)))
//!     (<= (goal me 100) (true (at 2))) (<= (goal me 0) (not (true (at 2))))";
//! let ground = gdl::ground::ground(&gdl::read("walk", rules).program, &Default::default())?;
//! let network = Arc::new(machine::network::build(ground, &gdl::Stop::never()).expect("it is small"));
//! let machine = machine::lanes::Compiled::new(network.clone());
//! let start = machine::lanes::Lanes::new(machine.clone()).store(0);
//! let mut player = Uct::new(machine, uct::Settings::default(), 1);
//! let answer = player.choose(&start, machine::RoleId(0), &Limit::nodes(1_000));
//! assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "go");
//! assert!(answer.proven);
//! # Ok::<(), gdl::ground::Failure>(())
//! ```

pub mod alpha_beta;
pub mod best_first;
pub mod equilibrium;
mod evaluate;
pub mod exploit;
mod fan;
pub mod fuzzy;
mod greedy;
pub mod match_play;
pub mod nature;
mod one_ply;
mod player;
mod position;
pub mod principal;
pub mod proof;
mod random;
pub mod simultaneous;
pub mod solo;
pub mod statistics;
#[cfg(test)]
mod testing;
mod together;
pub mod uct;

pub use alpha_beta::AlphaBeta;
pub use best_first::BestFirst;
pub use evaluate::{Evaluate, Several};
pub use fan::Fan;
pub use fuzzy::Fuzzy;
pub use greedy::Greedy;
pub use nature::Nature;
pub use one_ply::OnePly;
pub use player::{Answer, Limit, MoveReport, Player, StopReason};
pub use position::Position;
pub use principal::Principal;
pub use random::{Random, legal_moves};
pub use solo::Solo;
pub use uct::Uct;
