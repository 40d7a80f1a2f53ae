//! Patterns: conjunctions of fluents, proposed by the rules, by the board and by played positions.

pub mod bits;
pub mod cover;
pub mod forward;
pub mod frequency;
pub mod refit;
pub mod set;
pub mod unfold;
