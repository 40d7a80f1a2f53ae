//! How strong players are, from the results of their matches, with error bars.
//!
//! A match is a ranking of those who took part. The likelihood of a ranking is Plackett's and Luce's: the first is chosen among all
//! by strength, the second among the others, and so on. With two players that is the model of Bradley and Terry (1952). Players who
//! share a place are ranked in every order, each counting in part; so a draw is half a win and half a loss. The ratings are those
//! under which the results are most likely, found by Newton's method; the likelihood is concave. The error bars follow from how
//! fast the likelihood falls beside its top (Fisher's information).
//!
//! Whoever has won every match would be infinitely strong. So everybody also has some matches with even results against somebody
//! whose rating is 0: the prior. The order of matches does not matter.

use std::f64::consts::LN_10;

/// Points of a difference that makes ten wins of eleven likely.
const SCALE: f64 = 400.0 / LN_10;
/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// The most players who share a place and are ranked in every order; the orders of more are left out.
const MAX_TIED: usize = 6;

/// A player's rating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// In Elo points; 0 is the mean of all players.
    pub elo: f64,
    /// How far the interval of 95 % goes to either side. It is about the difference to the mean of all players.
    pub error: f64,
}

/// Somebody was preferred to others: the first of `among` is the one who was.
#[derive(Clone, Debug)]
struct Choice {
    among: Vec<usize>,
    weight: f64,
}

/// The results of matches between numbered players.
#[derive(Clone, Debug, Default)]
pub struct Results {
    n_players: usize,
    choices: Vec<Choice>,
}

impl Results {
    /// No results yet, of so many players.
    pub fn new(n_players: usize) -> Results {
        Results { n_players, choices: Vec::new() }
    }

    /// Adds a match: players with their scores, the higher the better. Somebody may have several seats.
    pub fn add(&mut self, scores: &[(usize, f64)]) {
        let mut order = scores.to_vec();
        order.sort_by(|one, other| other.1.total_cmp(&one.1));
        let mut rest: Vec<usize> = order.iter().map(|&(player, _)| player).collect();
        for tied in order.chunk_by(|one, other| one.1 == other.1) {
            let group: Vec<usize> = rest[..tied.len()].to_vec();
            let others: Vec<usize> = rest.split_off(tied.len());
            if group.len() <= MAX_TIED {
                self.in_every_order(&group, &others, 1.0);
            }
            rest = others;
        }
    }

    /// The group's players come before the others, in any order among themselves.
    fn in_every_order(&mut self, group: &[usize], others: &[usize], weight: f64) {
        if group.len() + others.len() < 2 {
            return;
        }
        for first in 0..group.len() {
            let mut rest = group.to_vec();
            let chosen = rest.remove(first);
            let among: Vec<usize> = [chosen].iter().chain(&rest).chain(others).copied().collect();
            let weight = weight / group.len() as f64;
            // Nothing is learned from a choice among the seats of one player.
            if among.iter().any(|&player| player != chosen) {
                self.choices.push(Choice { among, weight });
            }
            self.in_every_order(&rest, others, weight);
        }
    }

    /// The most likely ratings, where everybody has had `prior` further matches with even results against somebody rated 0. Without
    /// a prior a player who has won or lost every match has no finite rating: what is given then is where the search stopped.
    pub fn rate(&self, prior: f64) -> Vec<Rating> {
        /// Steps, and the change after which nothing moves any more.
        const STEPS: usize = 200;
        const STILL: f64 = 1e-10;
        let n = self.n_players;
        let mut strengths = vec![0.0f64; n];
        for _ in 0..STEPS {
            let (slope, information) = self.slope(&strengths, prior);
            let step = inverse(with_fixed_mean(information, prior));
            let change: Vec<f64> = step.iter().map(|row| row.iter().zip(&slope).map(|(a, b)| a * b).sum()).collect();
            // Far from the top, Newton's steps are too long.
            let longest = change.iter().fold(0.0f64, |most, part| most.max(part.abs()));
            let shorten = if longest > 1.0 { 1.0 / longest } else { 1.0 };
            strengths.iter_mut().zip(&change).for_each(|(strength, part)| *strength += shorten * part);
            if longest < STILL {
                break;
            }
        }
        // The error of each difference to the mean.
        let (_, information) = self.slope(&strengths, prior);
        let covariance = inverse(with_fixed_mean(information, prior));
        let part = 1.0 / n.max(1) as f64;
        let row_means: Vec<f64> = covariance.iter().map(|row| row.iter().sum::<f64>() * part).collect();
        let all_mean = row_means.iter().sum::<f64>() * part;
        let mean = strengths.iter().sum::<f64>() * part;
        let rating = |player: usize| {
            let variance = covariance[player][player] - 2.0 * row_means[player] + all_mean;
            Rating { elo: SCALE * (strengths[player] - mean), error: Z * SCALE * variance.max(0.0).sqrt() }
        };
        (0..n).map(rating).collect()
    }

    /// The slope of the logarithm of the likelihood, and Fisher's information.
    fn slope(&self, strengths: &[f64], prior: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        let n = self.n_players;
        let (mut slope, mut information) = (vec![0.0; n], vec![vec![0.0; n]; n]);
        for Choice { among, weight } in &self.choices {
            let most = among.iter().fold(f64::NEG_INFINITY, |most, &player| most.max(strengths[player]));
            let odds: Vec<f64> = among.iter().map(|&player| (strengths[player] - most).exp()).collect();
            let sum: f64 = odds.iter().sum();
            slope[among[0]] += weight;
            for (&player, own) in among.iter().zip(&odds) {
                slope[player] -= weight * own / sum;
                information[player][player] += weight * own / sum;
                for (&other, theirs) in among.iter().zip(&odds) {
                    information[player][other] -= weight * own * theirs / (sum * sum);
                }
            }
        }
        for player in 0..n {
            let chance = 1.0 / (1.0 + (-strengths[player]).exp());
            slope[player] += prior * (0.5 - chance);
            information[player][player] += prior * chance * (1.0 - chance);
        }
        (slope, information)
    }

    /// The logarithm of the likelihood of all results.
    pub fn log_likelihood(&self, elo: &[f64]) -> f64 {
        let strength = |player: usize| elo[player] / SCALE;
        let one = |Choice { among, weight }: &Choice| {
            let sum: f64 = among.iter().map(|&player| strength(player).exp()).sum();
            weight * (strength(among[0]) - sum.ln())
        };
        self.choices.iter().map(one).sum()
    }
}

/// Without a prior only differences are known: the mean is held where it is.
fn with_fixed_mean(mut information: Vec<Vec<f64>>, prior: f64) -> Vec<Vec<f64>> {
    /// Where nothing is known of somebody, and no prior either.
    const LEAST: f64 = 1e-9;
    let n = information.len() as f64;
    for (player, row) in information.iter_mut().enumerate() {
        row[player] += LEAST;
        if prior <= 0.0 {
            row.iter_mut().for_each(|cell| *cell += 1.0 / n);
        }
    }
    information
}

/// The inverse of a symmetric positive matrix, by elimination.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut result: Vec<Vec<f64>> =
        (0..n).map(|row| (0..n).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    for column in 0..n {
        let best = (column..n).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()));
        let best = best.expect("rows are left");
        matrix.swap(column, best);
        result.swap(column, best);
        let pivot = matrix[column][column];
        for cell in 0..n {
            matrix[column][cell] /= pivot;
            result[column][cell] /= pivot;
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = matrix[row][column];
            for cell in 0..n {
                matrix[row][cell] -= factor * matrix[column][cell];
                result[row][cell] -= factor * result[column][cell];
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// With two players the answer is known: the logarithm of the ratio of wins.
    #[test]
    fn two_players_by_hand() {
        let mut results = Results::new(2);
        (0..30).for_each(|_| results.add(&[(0, 1.0), (1, 0.0)]));
        (0..10).for_each(|_| results.add(&[(0, 0.0), (1, 1.0)]));
        let ratings = results.rate(0.0);
        let difference = ratings[0].elo - ratings[1].elo;
        assert!((difference - 400.0 * 3f64.log10()).abs() < 1e-6, "{ratings:?}");
        assert!((ratings[0].elo + ratings[1].elo).abs() < 1e-6);
        // The variance of a log ratio is 1/30 + 1/10; each is half of the difference from the mean.
        let error = 0.5 * Z * SCALE * (1.0f64 / 30.0 + 0.1).sqrt();
        assert!((ratings[0].error - error).abs() < 1e-6, "{ratings:?}, {error}");
        // Draws are even, and as many more of them make more certain.
        let mut draws = Results::new(2);
        (0..40).for_each(|_| draws.add(&[(0, 50.0), (1, 50.0)]));
        let even = draws.rate(0.0);
        assert!(even[0].elo.abs() < 1e-9 && even[0].error < ratings[0].error, "{even:?}");
    }

    /// American League baseball of 1987, as in Agresti's textbook, with the strengths given there against Baltimore.
    #[test]
    fn baseball_by_the_book() {
        const WINS: [[u32; 7]; 7] = [
            [0, 7, 9, 7, 7, 9, 11],
            [6, 0, 7, 5, 11, 9, 9],
            [4, 6, 0, 7, 7, 8, 12],
            [6, 8, 6, 0, 6, 7, 10],
            [6, 2, 6, 7, 0, 7, 12],
            [4, 4, 5, 6, 6, 0, 6],
            [2, 4, 1, 3, 1, 7, 0],
        ];
        const STRENGTHS: [f64; 7] = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0];
        let mut results = Results::new(7);
        for (winner, row) in WINS.iter().enumerate() {
            for (loser, &n) in row.iter().enumerate() {
                (0..n).for_each(|_| results.add(&[(winner, 1.0), (loser, 0.0)]));
            }
        }
        let ratings = results.rate(0.0);
        for (team, strength) in STRENGTHS.iter().enumerate() {
            let found = (ratings[team].elo - ratings[6].elo) / SCALE;
            assert!((found - strength).abs() < 0.006, "team {team}: {found} and {strength}");
        }
    }

    /// Who has won everything has a rating that the prior bounds.
    #[test]
    fn the_prior_bounds_ratings() {
        let mut results = Results::new(3);
        (0..10).for_each(|_| results.add(&[(0, 1.0), (1, 0.0)]));
        let ratings = results.rate(1.0);
        assert!(ratings[0].elo > 100.0 && ratings[0].elo < 1000.0, "{ratings:?}");
        assert!(ratings.iter().all(|rating| rating.error.is_finite() && rating.error > 0.0));
        // Nothing is known of the third.
        assert!(ratings[2].error > ratings[0].error, "{ratings:?}");
        assert_eq!(Results::new(0).rate(1.0), []);
    }

    /// Three at a table: rankings drawn from known strengths give these strengths back, and the intervals hold them.
    #[test]
    fn rankings_of_three_are_understood() {
        let truth = [150.0, 40.0, -60.0, -130.0];
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let (mut n_held, mut n_all) = (0, 0);
        for _ in 0..60 {
            let mut results = Results::new(4);
            for _ in 0..200 {
                let absent = random.random_range(0..4);
                let mut left: Vec<usize> = (0..4).filter(|&player| player != absent).collect();
                let mut scores = Vec::new();
                while !left.is_empty() {
                    let sum: f64 = left.iter().map(|&player| (truth[player] / SCALE).exp()).sum();
                    let mut at = random.random::<f64>() * sum;
                    let found = left.iter().position(|&player| {
                        at -= (truth[player] / SCALE).exp();
                        at <= 0.0
                    });
                    scores.push((left.remove(found.unwrap_or(0)), -(scores.len() as f64)));
                }
                results.add(&scores);
            }
            for (player, rating) in results.rate(0.0).iter().enumerate() {
                n_all += 1;
                n_held += u32::from((rating.elo - truth[player]).abs() <= rating.error);
                assert!((rating.elo - truth[player]).abs() < 120.0, "{rating:?}");
            }
        }
        // 95 % of 240 are 228, give or take.
        assert!((212..=238).contains(&n_held), "{n_held} of {n_all}");
    }

    /// A seat more for somebody is no seat for others; a tie of all says nothing but that they are near.
    #[test]
    fn one_player_may_have_several_seats() {
        let mut results = Results::new(2);
        (0..20).for_each(|_| results.add(&[(0, 100.0), (1, 0.0), (1, 0.0)]));
        (0..20).for_each(|_| results.add(&[(0, 0.0), (1, 100.0), (1, 0.0)]));
        (0..20).for_each(|_| results.add(&[(0, 0.0), (1, 0.0), (1, 100.0)]));
        let ratings = results.rate(0.0);
        assert!((ratings[0].elo - ratings[1].elo).abs() < 60.0, "a third of the wins each: {ratings:?}");
        let mut alone = Results::new(1);
        alone.add(&[(0, 1.0), (0, 0.0)]);
        assert!(alone.rate(1.0)[0].elo.abs() < 1e-9);
    }

    proptest! {
        /// Nothing near the ratings is more likely.
        #[test]
        fn the_ratings_are_the_most_likely(
            matches in proptest::collection::vec((0usize..4, 0usize..4, 0usize..4, 0u8..3, 0u8..3, 0u8..3), 1..40),
            nudge in 0usize..4,
            by in prop_oneof![Just(-8.0f64), Just(8.0)],
        ) {
            let mut results = Results::new(4);
            // Everybody has won and lost once, so that all ratings are finite.
            (0..4).for_each(|player| results.add(&[(player, 1.0), ((player + 1) % 4, 0.0)]));
            for &(a, b, c, one, two, three) in &matches {
                results.add(&[(a, one.into()), (b, two.into()), (c, three.into())]);
            }
            let elo: Vec<f64> = results.rate(0.0).iter().map(|rating| rating.elo).collect();
            let mut other = elo.clone();
            other[nudge] += by;
            prop_assert!(results.log_likelihood(&elo) > results.log_likelihood(&other));
        }
    }
}
