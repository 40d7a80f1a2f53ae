//! Patterns: conjunctions of fluents, proposed by the rules, by the board and by played positions.

pub mod atoms;
pub mod bits;
pub mod cover;
pub mod dag;
pub mod forward;
pub mod frequency;
pub mod genconf;
pub mod refit;
pub mod set;
pub mod table;
pub mod unfold;
