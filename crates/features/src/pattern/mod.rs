//! Patterns: conjunctions of facts about a position, found by mining, drawn from boards, or unfolded from logic.

pub mod atoms;
pub mod bits;
pub mod dag;
pub mod genconf;
pub mod orbit;
pub mod shapes;
pub mod sparse;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;
