//! Patterns: conjunctions of facts about a position, found by mining, drawn from boards, or unfolded from logic.

pub mod atoms;
pub mod bits;
#[cfg(test)]
pub(crate) mod testing;
