//! What the rules tell us: rule graphs and their canonical forms, structure, symmetry.

pub mod analysis;
pub mod family;
pub mod graph;
pub mod order;
pub mod prove;
pub mod sample;
pub mod structure;
pub mod universe;
