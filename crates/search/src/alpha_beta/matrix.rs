//! Moves at the same time: all of them searched, and their matrix solved.

use super::lines::for_each_joint;
use super::{AlphaBeta, Found, INFINITE, SCALE, SURE, Simultaneous, WIN};
use crate::equilibrium::{self, Equilibrium};
use crate::player::Limit;
use crate::position::Position;

impl<P: Position> AlphaBeta<P> {
    /// Whether the moves made at the same time are few enough to be looked at together.
    pub(super) fn is_matrix(&self, legal: &[Vec<u32>], ply: usize) -> bool {
        let most = match self.settings.simultaneous {
            Simultaneous::Matrix(most) => most,
            Simultaneous::Root(most) if ply == 0 => most,
            _ => return false,
        };
        let own = self.role.0 as usize;
        let product = legal.iter().map(Vec::len).fold(1, usize::saturating_mul);
        legal[own].len() > 1 && product > legal[own].len() && product <= most
    }

    /// Searches all joint moves and solves their matrix; the score, the solution, and the mean score of each of our moves
    /// against it. `None` if it was stopped.
    pub(super) fn matrix(
        &mut self,
        legal: &[Vec<u32>],
        depth: u32,
        ply: usize,
        limit: &Limit,
    ) -> Option<(Found, Equilibrium, Vec<i32>)> {
        let own = self.role.0 as usize;
        // Step 1. The scores.
        let mut scores: Vec<Vec<i32>> = Vec::new();
        let (mut complete, mut reach) = (true, 0);
        for &chosen in &legal[own] {
            let mut row = Vec::new();
            for_each_joint(legal, Some((own, chosen)), |joint| {
                self.position.make(joint);
                let found = self.visit(depth - 1, -INFINITE, INFINITE, ply + 1, limit);
                self.position.unmake();
                complete &= found.complete;
                reach = reach.max(found.reach + 1);
                row.push(found.score);
                self.stopped.is_none()
            });
            if self.stopped.is_some() {
                return None;
            }
            scores.push(row);
        }
        self.lines[ply].clear();
        // Step 2. The solution. Results count as what they are worth, a win a little more the sooner it comes.
        let (least, most) = self.nature.range[own];
        let worth = |score: i32| match score {
            _ if score >= SURE => f64::from(most) * f64::from(SCALE) + f64::from(score - WIN) / 100.0,
            _ if score <= -SURE => f64::from(least) * f64::from(SCALE) + f64::from(score + WIN) / 100.0,
            _ => f64::from(score),
        };
        let payoff: Vec<Vec<f64>> = scores.iter().map(|row| row.iter().map(|&score| worth(score)).collect()).collect();
        let equilibrium = equilibrium::solve(&payoff);
        // Step 3. Where one side has a move that is sure to win, so is the score.
        let sure = scores.iter().filter_map(|row| row.iter().min()).max().filter(|&&score| score >= SURE);
        let n_columns = scores[0].len();
        let worst = (0..n_columns).filter_map(|column| scores.iter().map(|row| row[column]).max()).min();
        let lost = worst.filter(|&score| score <= -SURE);
        let score = sure.copied().or(lost).unwrap_or(equilibrium.value.round() as i32);
        let means = payoff.iter().map(|row| {
            let mean: f64 = row.iter().zip(&equilibrium.columns).map(|(payoff, part)| payoff * part).sum();
            mean.round() as i32
        });
        let means = means.collect();
        Some((Found { score, complete, reach }, equilibrium, means))
    }
}
