//! Moves at the same time: all of them searched, and their matrix solved.

use machine::RoleId;

use super::lines::for_each_joint;
use super::{AlphaBeta, Found, INFINITE, SCALE, SURE, Simultaneous, WIN};
use crate::equilibrium::{self, Equilibrium};
use crate::player::Limit;
use crate::position::Position;

/// What our team can do, and what comes of it.
pub(super) struct Row {
    given: Vec<(usize, u32)>,
    /// How often it is done.
    pub(super) part: f64,
    /// Its mean score.
    pub(super) mean: i32,
}

impl Row {
    /// The move of one of the team.
    pub(super) fn own(&self, role: RoleId) -> u32 {
        let found = self.given.iter().find(|(of, _)| *of == role.0 as usize);
        found.expect("it is of the team").1
    }
}

impl<P: Position> AlphaBeta<P> {
    /// Whether the moves made at the same time are few enough to be looked at together.
    pub(super) fn is_matrix(&self, legal: &[Vec<u32>], ply: usize) -> bool {
        let most = match self.settings.simultaneous {
            Simultaneous::Matrix(most) | Simultaneous::Uniform(most) => most,
            Simultaneous::Root(most) if ply == 0 => most,
            _ => return false,
        };
        let count = |of: &mut dyn Iterator<Item = usize>| of.fold(1, usize::saturating_mul);
        let ours =
            count(&mut legal.iter().zip(&self.allied).filter(|(_, allied)| **allied).map(|(moves, _)| moves.len()));
        let product = count(&mut legal.iter().map(Vec::len));
        ours > 1 && product > ours && product <= most
    }

    /// Searches all joint moves and solves their matrix; the score, and what our team can do. `None` if it was stopped.
    pub(super) fn matrix(
        &mut self,
        legal: &[Vec<u32>],
        depth: u32,
        ply: usize,
        limit: &Limit,
    ) -> Option<(Found, Vec<Row>)> {
        // Step 1. The scores.
        let given = self.team_moves(legal);
        let mut scores: Vec<Vec<i32>> = Vec::new();
        let (mut complete, mut reach) = (true, 0);
        for given in &given {
            let mut row = Vec::new();
            for_each_joint(legal, given, |joint| {
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
        let (least, most) = self.nature.range[self.role.0 as usize];
        let worth = |score: i32| match score {
            _ if score >= SURE => f64::from(most) * f64::from(SCALE) + f64::from(score - WIN) / 100.0,
            _ if score <= -SURE => f64::from(least) * f64::from(SCALE) + f64::from(score + WIN) / 100.0,
            _ => f64::from(score),
        };
        let payoff: Vec<Vec<f64>> = scores.iter().map(|row| row.iter().map(|&score| worth(score)).collect()).collect();
        let by_chance = matches!(self.settings.simultaneous, Simultaneous::Uniform(_));
        let solution = if by_chance { best_in_the_mean(&payoff) } else { equilibrium::solve(&payoff) };
        // Step 3. Where one side has a move that is sure to win, so is the score; against chance, all must be lost.
        let sure = scores.iter().filter_map(|row| row.iter().min()).max().filter(|&&score| score >= SURE);
        let best_in = |column: usize| scores.iter().map(|row| row[column]).max();
        let best = (0..scores[0].len()).filter_map(best_in);
        let lost = if by_chance { best.max() } else { best.min() }.filter(|&score| score <= -SURE);
        let score = sure.copied().or(lost).unwrap_or(solution.value.round() as i32);
        let rows = given.into_iter().zip(&payoff).zip(&solution.rows).map(|((given, payoff), &part)| {
            let mean: f64 = payoff.iter().zip(&solution.columns).map(|(payoff, part)| payoff * part).sum();
            Row { given, part, mean: mean.round() as i32 }
        });
        Some((Found { score, complete, reach }, rows.collect()))
    }
}

/// All columns are played alike; the rows that are best in the mean are, too.
fn best_in_the_mean(payoff: &[Vec<f64>]) -> Equilibrium {
    const SMALL: f64 = 1e-9;
    let n_columns = payoff[0].len();
    let means: Vec<f64> = payoff.iter().map(|row| row.iter().sum::<f64>() / n_columns as f64).collect();
    let value = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let n_best = means.iter().filter(|&&mean| mean >= value - SMALL).count();
    let part = |&mean: &f64| if mean >= value - SMALL { 1.0 / n_best as f64 } else { 0.0 };
    Equilibrium { value, rows: means.iter().map(part).collect(), columns: vec![1.0 / n_columns as f64; n_columns] }
}
