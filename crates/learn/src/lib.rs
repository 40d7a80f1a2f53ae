//! Evaluation functions from self-play: weights for features, fitted to the results of positions.

pub mod fit;
