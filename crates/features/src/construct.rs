//! From a game and positions to a set of features: what is proposed, what is chosen, and the evidence.

use crate::feature::Feature;
use crate::select::Evidence;

/// How features are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Led by evidence, from logic, structure and mined configurations.
    #[default]
    Default,
    /// As the feature construction thesis has it (Günther 2008).
    Thesis,
}

/// Where a feature comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The rules, by transformations; the last one.
    Logic(&'static str),
    /// The structure of the game.
    Structure,
    /// Played positions, by mining.
    Mined,
}

/// A chosen feature.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The feature.
    pub feature: Feature,
    /// Where it comes from.
    pub origin: Origin,
    /// What it means, where its maker says so.
    pub sentence: Option<String>,
    /// Its abstraction level, from 1; logical features alone have one.
    pub level: Option<u32>,
    /// The part of the results' variance that it explains beyond those chosen before it.
    pub gain: f64,
    /// What it costs: how many conditions on the state it adds up, or the work of evaluating it.
    pub cost: f64,
    /// What the positions say that it was chosen by.
    pub train: Evidence,
    /// What positions of other matches say.
    pub held_out: Evidence,
    /// Whether the held-out correlation is significant, among all chosen features.
    pub significant: bool,
    /// The greatest value in the sample, without its sign.
    pub max: i32,
}

/// The abstraction graph: what was generated, and what is more abstract than what.
#[derive(Clone, Debug, Default)]
pub struct AbstractionGraph {
    /// Features with their levels, and whether each was chosen.
    pub nodes: Vec<(Feature, u32, bool)>,
    /// Pairs of a more abstract feature and a special one, by their places.
    pub edges: Vec<(usize, usize)>,
}

/// A set of features of a game.
#[derive(Clone, Debug, Default)]
pub struct FeatureSet {
    /// How it was made.
    pub mode: Mode,
    /// The chosen features, best first.
    pub features: Vec<Selected>,
    /// How many features were generated, and how many of them were different.
    pub n_generated: usize,
    /// How many of them were different.
    pub n_unique: usize,
    /// How many were generated in which way.
    pub counts: Vec<(&'static str, usize)>,
    /// The logical features and how they hang together.
    pub graph: AbstractionGraph,
    /// How many positions they were chosen by, and on how many others the evidence was measured.
    pub n_positions: (usize, usize),
    /// The budgets that were met, in words.
    pub stopped: Vec<String>,
}
