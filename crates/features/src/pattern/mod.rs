//! Patterns: conjunctions of facts about a position, found by mining, drawn from boards, or unfolded from logic.

pub mod bits;
