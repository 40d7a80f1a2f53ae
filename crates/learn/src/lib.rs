//! Evaluation functions from self-play: weights for features, fitted to the results of positions.

pub mod fit;
pub mod model;
pub mod sight;
pub mod stage;
