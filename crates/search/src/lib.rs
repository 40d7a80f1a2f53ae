//! Players: from a position and an evaluation to a move.
//!
//! A [`Position`] is a state that can be moved in and judged. Every search works on any position, whatever judges it: nothing at
//! all, the goals of the rules, or a learned evaluation.

mod position;

pub use position::Position;
