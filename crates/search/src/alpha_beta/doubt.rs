//! Which estimates are not to be trusted, learned by looking: after some changes of an estimate, one more move shows it to be wrong
//! more than after others. In games of exchanges, say, that is so where somebody has just won something that the reply may win back.
//!
//! From time to time short lines are played by chance from the state that is searched. At the end of each, three things are compared:
//! what was estimated before the last move, what is estimated now, and what is estimated if everybody looks one move ahead.
//! Changes for the better and for the worse of those who moved last are told apart.

use std::collections::VecDeque;

use rand::RngExt;

use super::lines::for_each_joint;
use super::{AlphaBeta, SCALE};
use crate::player::Limit;
use crate::position::Position;
use crate::random::legal_moves;

/// What was seen at the ends of lines, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// By how much the estimate changed for those who moved, and by how much it was then wrong; the last ones that were seen.
    seen: VecDeque<(i32, i32)>,
    /// Estimates are doubted after changes of at least the second, and of at most the first.
    bounds: Option<(i32, i32)>,
}

/// Lines that are kept, that are played before each search, and that it takes to doubt anything.
const KEPT: usize = 512;
const LINES: usize = 24;
const ENOUGH: usize = 96;
/// Of the nodes of a search, one in so many may go into lines.
const SHARE: u64 = 16;
/// The longest line.
const LENGTH: u32 = 6;
/// The most joint moves that are looked at after a line.
const WIDEST: usize = 128;

impl Doubt {
    /// No doubts about anything.
    pub(super) fn clear(&mut self) {
        *self = Doubt::default();
    }

    /// Whether an estimate is doubted that has changed by so much for those who moved.
    pub(super) fn is_due(&self, change: i32) -> bool {
        self.bounds.is_some_and(|(low, high)| change <= low || change >= high)
    }

    /// Adds a line: by how much the estimate changed for those who moved last, and by how much it was then wrong.
    fn add(&mut self, change: i32, error: i32) {
        if self.seen.len() == KEPT {
            self.seen.pop_front();
        }
        self.seen.push_back((change, error));
    }

    /// Finds the changes after which estimates are wrong by much.
    fn conclude(&mut self) {
        /// An estimate is doubted if it is wrong by so many times as much as usual.
        const TIMES: i64 = 2;
        /// A doubt rests on at least one in so many lines, and is about at most one in so many: what is searched further at
        /// many places is searched less deep at all of them.
        const LEAST: usize = 32;
        const MOST: usize = 16;
        let mut seen: Vec<(i32, i32)> = self.seen.iter().copied().collect();
        let usual: i64 = seen.iter().map(|&(_, error)| i64::from(error)).sum();
        let n = seen.len();
        // The last of the first few, as many as possible, that are wrong by much together.
        let doubtful = |sorted: &[(i32, i32)]| {
            let (mut sum, mut last) = (0, None);
            for (at, &(change, error)) in sorted.iter().enumerate().take(n / MOST) {
                sum += i64::from(error);
                let many = at as i64 + 1;
                let next_differs = sorted.get(at + 1).is_none_or(|next| next.0 != change);
                if many as usize >= n.div_ceil(LEAST) && next_differs && sum * n as i64 >= TIMES * usual * many {
                    last = Some(change);
                }
            }
            last
        };
        seen.sort_unstable();
        let low = doubtful(&seen).filter(|&change| change < 0);
        seen.reverse();
        let high = doubtful(&seen).filter(|&change| change > 0);
        let is_known = n >= ENOUGH && usual > 0;
        self.bounds = (is_known && (low.is_some() || high.is_some()))
            .then(|| (low.unwrap_or(i32::MIN), high.unwrap_or(i32::MAX)));
    }
}

impl<P: Position> AlphaBeta<P> {
    /// Plays some lines by chance from the current state, which is the current one again afterwards, and learns from them which
    /// estimates to doubt.
    pub(super) fn learn_to_doubt(&mut self, limit: &Limit) {
        for _ in 0..LINES {
            if self.nodes > limit.nodes / SHARE || (limit.stop)() {
                break;
            }
            let mut before = None;
            let mut made = 0;
            for _ in 0..self.random.random_range(1..=LENGTH) {
                let legal = legal_moves(self.position.machine());
                if self.position.machine().terminal() || legal.iter().any(Vec::is_empty) {
                    break;
                }
                before =
                    self.has_choice(&legal).then(|| (self.fresh_estimate(), legal[self.role.0 as usize].len() > 1));
                let joint: Vec<u32> =
                    legal.iter().map(|moves| moves[self.random.random_range(0..moves.len())]).collect();
                self.position.make(&joint);
                made += 1;
            }
            if let (Some((before, own)), Some(ahead)) = (before, self.one_ahead()) {
                let now = self.fresh_estimate();
                let change = if own { now - before } else { before - now };
                self.doubt.add(change, (ahead - now).abs());
            }
            (0..made).for_each(|_| self.position.unmake());
        }
        self.doubt.conclude();
    }

    fn has_choice(&self, legal: &[Vec<u32>]) -> bool {
        legal.iter().any(|moves| moves.len() > 1)
    }

    /// What is estimated one move ahead. Nothing at the end, without a choice, and where there are too many joint moves.
    fn one_ahead(&mut self) -> Option<i32> {
        let legal = legal_moves(self.position.machine());
        let n_joint = legal.iter().fold(1usize, |product, moves| product.saturating_mul(moves.len()));
        if self.position.machine().terminal() || !(2..=WIDEST).contains(&n_joint) {
            return None;
        }
        let mut best = i32::MIN;
        for given in self.team_moves(&legal) {
            let mut worst = i32::MAX;
            for_each_joint(&legal, &given, |joint| {
                self.position.make(joint);
                self.nodes += 1;
                worst = worst.min(self.fresh_estimate());
                self.position.unmake();
                true
            });
            best = best.max(worst);
        }
        Some(best)
    }

    /// The estimate of the current state, or its result, from 0 to [`SCALE`].
    fn fresh_estimate(&mut self) -> i32 {
        let value = if self.position.machine().terminal() {
            self.position.goal(self.role).map_or(0.5, |goal| goal as f32 / 100.0)
        } else {
            self.judged += 1;
            self.position.estimate(self.role)
        };
        (value.clamp(0.0, 1.0) * SCALE as f32) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: impl IntoIterator<Item = (i32, i32)>) -> Doubt {
        let mut doubt = Doubt::default();
        lines.into_iter().for_each(|(change, error)| doubt.add(change, error));
        doubt.conclude();
        doubt
    }

    #[test]
    fn doubts_changes_after_which_estimates_were_wrong() {
        // After a gain of at least 900 the estimate is wrong by 500, else by 50.
        let doubt = of((0..200).map(|k| (k * 10 - 1000, if k * 10 - 1000 >= 900 { 500 } else { 50 })));
        assert_eq!(doubt.bounds.expect("there is a doubt").0, i32::MIN);
        assert!(doubt.is_due(900) && doubt.is_due(5_000));
        assert!(!doubt.is_due(0) && !doubt.is_due(-900) && !doubt.is_due(300));
    }

    #[test]
    fn doubts_nothing_where_changes_say_nothing() {
        let same = of((0..200).map(|k| (k - 100, 80)));
        assert!((-200..200).all(|change| !same.is_due(change)));
        let right = of((0..200).map(|k| (k - 100, 0)));
        assert!((-200..200).all(|change| !right.is_due(change)));
        let few = (0..20).map(|k| (k - 10, if k > 17 { 900 } else { 10 }));
        assert!(!of(few).is_due(10));
        assert!(!of([]).is_due(10_000));
        // Equal changes can't be told apart, however they are ordered.
        let equal = of((0..200).map(|k| (0, if k < 20 { 1_000 } else { 0 })));
        assert!(!equal.is_due(0));
    }

    #[test]
    fn forgets_what_was_seen_long_ago() {
        let mut doubt = of((0..200).map(|k| (k - 100, if k > 180 { 900 } else { 10 })));
        assert!(doubt.is_due(95));
        (0..KEPT as i32).for_each(|k| doubt.add(k % 200 - 100, 10));
        doubt.conclude();
        assert!(!doubt.is_due(95));
    }
}
