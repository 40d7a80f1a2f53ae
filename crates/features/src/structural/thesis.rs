//! The first feature generator of Kuhlmann 2010 and the heuristics that go with it, as they were.

use insight::structure::board::Board;

use super::{Budget, Builder, Named};
use crate::feature::Metric;
use crate::game::Game;

/// The thesis's features: on an ordered board with pieces the coordinates of each piece and the Manhattan distance of each
/// pair of pieces; on any board without pieces the number of cells with each marker; and each quantity.
pub fn features(game: &Game) -> Vec<Named> {
    let budget = Budget::default();
    let builder = Builder { game, budget: &budget };
    let mut found = Vec::new();
    for board in &game.structure.boards {
        let pieces: Vec<usize> = (0..board.markers.len()).filter(|&index| board.markers[index].is_piece).collect();
        if pieces.is_empty() {
            builder.counts(board, &mut found);
            // The differences between roles came later.
            found.retain(|named| named.feature.weight == crate::feature::Weight::One);
        } else if board.is_ordered() {
            on_pieces(&builder, board, &pieces, &mut found);
        }
    }
    let mut quantities = Vec::new();
    builder.quantities(&mut quantities);
    quantities.retain(|named| named.feature.list.len() == 1);
    found.extend(quantities);
    found
}

fn on_pieces(builder: &Builder<'_>, board: &Board, pieces: &[usize], found: &mut Vec<Named>) {
    for &piece in pieces {
        found.extend(builder.coordinates(board, &board.markers[piece]));
    }
    for (index, &one) in pieces.iter().enumerate() {
        for &other in &pieces[index + 1..] {
            found.push(builder.distance(board, &board.markers[one], &board.markers[other], Metric::Manhattan));
        }
    }
}

/// A feature as an estimate of a role's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heuristic {
    /// The feature.
    pub named: Named,
    /// Whether more is better.
    pub maximize: bool,
}

impl Heuristic {
    /// The estimate for a role whose results lie between `lowest` and `highest`, where the feature has this value. It lies
    /// at least one point inside of them, so that a sure result is always worse or better than an estimate.
    pub fn estimate(&self, value: i32, lowest: f64, highest: f64) -> f64 {
        let scaled = (f64::from(value) / f64::from(self.named.bound.max(1))).clamp(0.0, 1.0);
        let scaled = if self.maximize { scaled } else { 1.0 - scaled };
        1.0 + lowest + (highest - lowest - 2.0) * scaled
    }
}

/// Two heuristics for each feature: more is better, and less is better.
pub fn heuristics(features: &[Named]) -> Vec<Heuristic> {
    let both = |named: &Named| [true, false].map(|maximize| Heuristic { named: named.clone(), maximize });
    features.iter().flat_map(both).collect()
}
