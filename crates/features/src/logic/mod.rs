//! Logical features: built from the rules by transformation (Fawcett 1993, Günther 2008).
//!
//! What a goal or the end asks for is the first feature; eight transformations take it apart, generalise it, specialise it
//! and look one move ahead. [`rules`] brings the rules into clauses and says what depends on what, [`simplify`] keeps
//! formulas short, [`canonical`] recognises those that are the same, [`preimage`] says what makes a fluent come to hold,
//! and [`transform`] holds the eight. [`generate`] applies them breadth-first, as the thesis does; [`graph`] and [`select`]
//! order the result by abstraction and choose from it. [`best_first`] is our own way through a larger space ([`roots`],
//! [`vary`]): never exhaustive, led by evidence.

pub mod best_first;
pub mod canonical;
pub mod domain;
pub mod generate;
pub mod graph;
pub mod preimage;
pub mod roots;
pub mod rules;
pub mod select;
pub mod simplify;
mod stable;
pub mod transform;
pub mod unify;
pub mod vary;
