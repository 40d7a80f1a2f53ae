//! Playing by the rules: engines that step a game, and what can be done with any of them.

pub mod lanes;
pub mod network;
mod perft;
mod playout;
mod reference;
pub mod relax;
pub mod scalar;
pub mod verify;

pub use perft::{Perft, perft};
pub use playout::{Playout, Step, StopReason, playout};
pub use reference::{Reference, Setup};
pub use verify::verify;

use std::hash::Hash;

pub use gdl::datalog::{Exceeded, Limits};

/// A role of the game, such as `white`; an index into [`Machine::roles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleId(pub u32);

/// The rules of one game, ready to be played by one thread.
///
/// Every engine answers the same questions in the same way; the [`Reference`] engine is the one that is right by
/// definition. An engine may run over a budget at any call: see [`Limits`].
pub trait Machine {
    /// The fluents that hold at one moment.
    type State: Clone + Eq + Hash;
    /// What one role can do.
    type Move: Copy + Eq + Ord + Hash;

    /// The names of the roles, in the order in which the rules list them.
    fn roles(&self) -> &[String];

    /// The state in which the game starts.
    fn initial(&mut self) -> Result<Self::State, Exceeded>;

    /// Appends the legal moves of `role` to `moves`, each once, in an order that depends on the rules alone. A terminal
    /// state may have legal moves, too.
    fn legal(&mut self, state: &Self::State, role: RoleId, moves: &mut Vec<Self::Move>) -> Result<(), Exceeded>;

    /// The state after each role has made its move; `joint` holds one move for each role, in the order of the roles.
    fn next(&mut self, state: &Self::State, joint: &[Self::Move]) -> Result<Self::State, Exceeded>;

    /// Whether the game is over.
    fn is_terminal(&mut self, state: &Self::State) -> Result<bool, Exceeded>;

    /// Every integer that the rules give `role` as a goal value in this state, ascending: one in a well-made terminal
    /// state, possibly none or several elsewhere.
    fn goals(&mut self, state: &Self::State, role: RoleId) -> Result<Vec<i64>, Exceeded>;

    /// The fluents of a state as text, sorted.
    fn fluents(&self, state: &Self::State) -> Vec<String>;

    /// A move as text.
    fn move_name(&self, chosen: Self::Move) -> String;
}
