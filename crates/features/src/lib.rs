//! Numbers that say how good a position is, built from nothing but the rules.
//!
//! A feature is written in one language ([`feature::Feature`]): a formula over the rules' relations with a list of counted
//! variables, a number read from a structure of the game, or a pattern of fluents. Features come from the rules by
//! transformation (`logic`), from the analysis (`structural`) and from positions by mining (`pattern`), are selected
//! by evidence from played positions (`positions`, `select`), and are compiled to run.

pub mod bindings;
pub mod columns;
pub mod compile;
pub mod construct;
pub mod english;
pub mod evaluate;
pub mod feature;
pub mod formula;
pub mod game;
pub mod image;
pub mod images;
pub mod logic;
pub mod pattern;
pub mod positions;
pub mod reach;
pub mod reference;
pub mod select;
pub mod split;
pub mod structural;
