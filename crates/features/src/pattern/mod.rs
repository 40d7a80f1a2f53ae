//! Patterns: conjunctions of facts about a position, found by mining, drawn from boards, or unfolded from logic.

pub mod atoms;
pub mod bits;
pub mod cover;
pub mod dag;
pub mod forward;
pub mod frequency;
pub mod genconf;
pub mod orbit;
pub mod refit;
pub mod seeds;
pub mod set;
pub mod shapes;
pub mod sparse;
pub mod symmetric;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;
pub mod unfold;
