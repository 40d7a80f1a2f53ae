//! Evaluation functions from self-play: weights for features, fitted to the results of positions.

pub mod alone;
pub mod course;
pub mod discover;
pub mod example;
pub mod fit;
pub mod label;
pub mod model;
pub mod player;
pub mod record;
pub mod seat;
pub mod self_play;
pub mod sight;
pub mod stage;
pub mod stream;
pub mod td;
pub mod teach;
pub mod transfer;
pub mod ways;
