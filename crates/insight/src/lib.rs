//! What the rules tell us: rule graphs and their canonical forms, structure, symmetry.

pub mod family;
pub mod graph;
mod isomorphism;
pub mod mapping;
pub mod order;
pub mod sample;
mod skeleton;
mod sorts;
pub mod universe;
pub mod variant;
