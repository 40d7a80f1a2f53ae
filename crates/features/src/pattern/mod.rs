//! Patterns: conjunctions of fluents, where they come from and how they are matched.

pub mod cover;
pub mod forward;
pub mod frequency;
pub mod orbit;
pub mod refit;
pub mod seeds;
pub mod set;
pub mod unfold;
