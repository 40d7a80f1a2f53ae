//! What the rules tell us: rule graphs and their canonical forms, structure, symmetry.

pub mod graph;
pub mod symmetry;
