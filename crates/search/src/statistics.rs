//! What results of matches tell: means with intervals, and when enough has been seen.

use rand::{Rng, RngExt};

/// The 97.5 % point of the normal distribution: for intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// An estimate with its interval of 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Wilson's interval for a mean of `n` results from 0 to 1 (Wilson 1927). It is exact in its kind for wins and losses, and
/// somewhat wide where there are results between.
pub fn wilson(points: f64, n: u64) -> Interval {
    if n == 0 {
        return Interval { mean: 0.5, low: 0.0, high: 1.0 };
    }
    let (count, mean) = (n as f64, points / n as f64);
    let squared = Z * Z / count;
    let center = (mean + squared / 2.0) / (1.0 + squared);
    let half = Z * ((mean * (1.0 - mean) + squared / 4.0) / count).max(0.0).sqrt() / (1.0 + squared);
    Interval { mean, low: (center - half).max(0.0), high: (center + half).min(1.0) }
}

/// An interval for a mean of independent results from 0 to 1 that is right however often one looks, and whenever one stops for what
/// one sees: it holds the mean at all times at once in at least 95 % of the cases. It is made of the means that a mixture of all
/// others is not 20 times as likely as (Robbins 1970); for a number of results that was fixed beforehand [`wilson`] is narrower.
pub fn anytime(points: f64, n: u64) -> Interval {
    const RATIO: f64 = 20.0;
    if n == 0 {
        return Interval { mean: 0.5, low: 0.0, high: 1.0 };
    }
    let (rest, mean) = (n as f64 - points, points / n as f64);
    let mixture = ln_gamma(points + 1.0) + ln_gamma(rest + 1.0) - ln_gamma(n as f64 + 2.0);
    let log = |count: f64, part: f64| if count > 0.0 { count * part.ln() } else { 0.0 };
    let is_left = |at: f64| mixture - log(points, at) - log(rest, 1.0 - at) >= RATIO.ln();
    // From the mean, which is never left out, to an end.
    let end = |mut outside: f64| {
        let mut inside = mean;
        if !is_left(outside) {
            return outside;
        }
        while (inside - outside).abs() > 1e-9 {
            let middle = (inside + outside) / 2.0;
            if is_left(middle) { outside = middle } else { inside = middle }
        }
        outside
    };
    Interval { mean, low: end(0.0), high: end(1.0) }
}

/// The logarithm of the gamma function of a number from 1 on, by Stirling's series.
fn ln_gamma(mut of: f64) -> f64 {
    let mut less = 0.0;
    while of < 10.0 {
        less += of.ln();
        of += 1.0;
    }
    let series = 1.0 / (12.0 * of) - 1.0 / (360.0 * of.powi(3)) + 1.0 / (1260.0 * of.powi(5));
    (of - 0.5) * of.ln() - of + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - less
}

/// How likely at least so many wins are, of wins and losses alone, if both are as likely: the sign test with one tail. It is exact.
pub fn sign_test(wins: u64, losses: u64) -> f64 {
    let n = (wins + losses) as f64;
    let ways = |won: u64| ln_gamma(n + 1.0) - ln_gamma(won as f64 + 1.0) - ln_gamma(n - won as f64 + 1.0);
    (wins..=wins + losses).map(|won| (ways(won) - n * std::f64::consts::LN_2).exp()).sum::<f64>().min(1.0)
}

/// The interval of a mean by drawing anew from the results, `n_draws` times (Efron 1979).
pub fn bootstrap(results: &[f64], n_draws: usize, random: &mut impl Rng) -> Interval {
    if results.is_empty() {
        return Interval { mean: 0.5, low: 0.0, high: 1.0 };
    }
    let n = results.len();
    let mean = results.iter().sum::<f64>() / n as f64;
    let mut draw = || (0..n).map(|_| results[random.random_range(0..n)]).sum::<f64>() / n as f64;
    let mut means: Vec<f64> = (0..n_draws.max(40)).map(|_| draw()).collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = means.len() / 40;
    Interval { mean, low: means[tail], high: means[means.len() - 1 - tail] }
}

/// The part of all points that the first of two sides has, given the points of both in independent trials: 0.5 is even, whatever
/// they add up to. The interval follows from the part's linear approximation; where trials hardly differ it is too narrow.
pub fn share(trials: &[(f64, f64)]) -> Interval {
    let (own, others) = trials.iter().fold((0.0, 0.0), |sum, trial| (sum.0 + trial.0, sum.1 + trial.1));
    let n = trials.len() as f64;
    if trials.len() < 2 || own + others <= 0.0 {
        let mean = if own + others > 0.0 { own / (own + others) } else { 0.5 };
        return Interval { mean, low: 0.0, high: 1.0 };
    }
    let mean = own / (own + others);
    let squares: f64 = trials.iter().map(|trial| (trial.0 * (1.0 - mean) - trial.1 * mean).powi(2)).sum();
    let half = Z * (squares * n / (n - 1.0)).sqrt() / (own + others);
    Interval { mean, low: (mean - half).max(0.0), high: (mean + half).min(1.0) }
}

/// The interval of a mean of independent results that are about normally distributed, by Student's distribution.
pub fn student(results: &[f64]) -> Interval {
    let (mean, variance) = moments(results);
    if results.len() < 2 {
        return Interval { mean, low: f64::NEG_INFINITY, high: f64::INFINITY };
    }
    let freedom = results.len() as f64 - 1.0;
    // The 97.5 % point, by halving.
    let (mut low, mut high) = (0.0, 13.0);
    while high - low > 1e-9 {
        let middle = (low + high) / 2.0;
        if student_tail(middle, freedom) > 0.025 { low = middle } else { high = middle }
    }
    let half = low * (variance / results.len() as f64).sqrt();
    Interval { mean, low: mean - half, high: mean + half }
}

/// How likely it is that the first mean exceeds the second by as much as it does, or more, if both kinds of results have the same
/// mean: a test with one tail and unequal variances (Welch 1947). Where no result differs from another of its kind it is 0, 0.5 or 1.
pub fn welch(one: &[f64], other: &[f64]) -> f64 {
    let ((mean, variance), (other_mean, other_variance)) = (moments(one), moments(other));
    let (n, m) = (one.len() as f64, other.len() as f64);
    let (part, other_part) = (variance / n, other_variance / m);
    let difference = mean - other_mean;
    if one.len() < 2 || other.len() < 2 || difference == 0.0 {
        return 0.5;
    }
    if part + other_part <= 0.0 {
        return if difference > 0.0 { 0.0 } else { 1.0 };
    }
    let freedom = (part + other_part).powi(2) / (part.powi(2) / (n - 1.0) + other_part.powi(2) / (m - 1.0));
    student_tail(difference / (part + other_part).sqrt(), freedom)
}

/// The mean, and the variance of what the results were drawn from.
fn moments(results: &[f64]) -> (f64, f64) {
    let n = results.len() as f64;
    let mean = results.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = results.iter().map(|result| (result - mean).powi(2)).sum();
    (mean, squares / (n - 1.0).max(1.0))
}

/// How likely Student's distribution is to exceed a value. With `t = sqrt(freedom) tan(angle)` its density is a power of a cosine, which
/// Simpson's rule adds up.
fn student_tail(value: f64, freedom: f64) -> f64 {
    const STEPS: u32 = 2_000;
    let area = |from: f64| {
        let step = (std::f64::consts::FRAC_PI_2 - from) / f64::from(STEPS);
        let at = |place: u32| (from + step * f64::from(place)).cos().max(0.0).powf(freedom - 1.0);
        let weight = |place: u32| if place.is_multiple_of(2) { 2.0 } else { 4.0 };
        let inner: f64 = (1..STEPS).map(|place| weight(place) * at(place)).sum();
        step / 3.0 * (at(0) + inner + at(STEPS))
    };
    let all = 2.0 * area(0.0);
    if value >= 0.0 { area((value / freedom.sqrt()).atan()) / all } else { 1.0 - student_tail(-value, freedom) }
}

/// What a difference in Elo points means as an expected result.
pub fn expected_result(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The difference in Elo points that an expected result means.
pub fn elo(result: f64) -> f64 {
    400.0 * (result / (1.0 - result)).log10()
}

/// A sequential test between two expected results (Wald 1945).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    /// The result that is to be told from `p1`; lower than it.
    pub p0: f64,
    /// The result that is hoped for.
    pub p1: f64,
    /// How often `p1` is believed where `p0` is true.
    pub alpha: f64,
    /// How often `p0` is believed where `p1` is true.
    pub beta: f64,
}

impl Sprt {
    /// A test between two differences in Elo points, with errors of 5 % each.
    pub fn between_elo(elo0: f64, elo1: f64) -> Sprt {
        Sprt { p0: expected_result(elo0), p1: expected_result(elo1), alpha: 0.05, beta: 0.05 }
    }

    /// By how much the results favour `p1`, as the logarithm of a ratio of likelihoods. A draw counts as half a win and half a
    /// loss, which makes the test cautious.
    pub fn log_likelihood_ratio(&self, points: f64, n: u64) -> f64 {
        points * (self.p1 / self.p0).ln() + (n as f64 - points) * ((1.0 - self.p1) / (1.0 - self.p0)).ln()
    }

    /// Which of the two is believed after results with this sum: `Some(true)` for `p1`; `None` if more matches are needed.
    pub fn decide(&self, points: f64, n: u64) -> Option<bool> {
        let ratio = self.log_likelihood_ratio(points, n);
        if ratio >= ((1.0 - self.beta) / self.alpha).ln() {
            Some(true)
        } else if ratio <= (self.beta / (1.0 - self.alpha)).ln() {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Figures of Wilson's interval as tables give them.
    #[test]
    fn wilson_by_the_book() {
        let interval = wilson(8.0, 10);
        assert!((interval.low - 0.4902).abs() < 1e-4 && (interval.high - 0.9433).abs() < 1e-4, "{interval:?}");
        let interval = wilson(0.0, 20);
        assert!(interval.low == 0.0 && (interval.high - 0.1611).abs() < 1e-4, "{interval:?}");
        assert_eq!(wilson(0.0, 0), Interval { mean: 0.5, low: 0.0, high: 1.0 });
    }

    /// Points of Student's distribution and a test as tables and a statistics program give them.
    #[test]
    fn student_by_the_book() {
        for (value, freedom, tail) in
            [(1.699, 29.0, 0.05), (2.045, 29.0, 0.025), (6.314, 1.0, 0.05), (2.132, 4.0, 0.05)]
        {
            assert!((student_tail(value, freedom) - tail).abs() < 1e-4, "{value} with {freedom}");
            assert!((student_tail(-value, freedom) + tail - 1.0).abs() < 1e-4);
        }
        // The mean of 1 to 5 is 3, and 2.776 standard errors of sqrt(0.5) are 1.963.
        let interval = student(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((interval.mean - 3.0).abs() < 1e-12 && (interval.high - 4.963).abs() < 1e-3, "{interval:?}");
        // t = 2 / sqrt(0.5 + 0.5) with 8 degrees of freedom.
        let (one, other) = ([3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((welch(&one, &other) - 0.0403).abs() < 1e-4, "{}", welch(&one, &other));
        assert!((welch(&one, &other) + welch(&other, &one) - 1.0).abs() < 1e-9);
        assert_eq!((welch(&[1.0; 3], &[0.0; 3]), welch(&one, &one), welch(&[0.0; 3], &[1.0; 3])), (0.0, 0.5, 1.0));
    }

    #[test]
    fn signs_by_the_book() {
        assert!((sign_test(8, 2) - 56.0 / 1024.0).abs() < 1e-9, "{}", sign_test(8, 2));
        assert!((sign_test(0, 5) - 1.0).abs() < 1e-9 && (sign_test(5, 0) - 1.0 / 32.0).abs() < 1e-9);
        assert!((sign_test(0, 0) - 1.0).abs() < 1e-9);
        assert!((ln_gamma(6.0) - 120f64.ln()).abs() < 1e-9 && ln_gamma(1.0).abs() < 1e-9);
        assert!((ln_gamma(1.5) - (std::f64::consts::PI.sqrt() / 2.0).ln()).abs() < 1e-9);
    }

    /// Who looks after every match and stops when an interval leaves out the truth finds that Wilson's often does; the other does not.
    #[test]
    fn looking_again_and_again_is_paid_for() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut n_wrong = [0; 2];
        for _ in 0..400 {
            let (mut points, mut wrong) = (0.0, [false; 2]);
            for n in 1..=300u64 {
                // A third of the matches are draws.
                points += [0.0, 0.5, 1.0][random.random_range(0..3)];
                for (wrong, interval) in wrong.iter_mut().zip([wilson(points, n), anytime(points, n)]) {
                    assert!(interval.low <= interval.mean + 1e-9 && interval.mean <= interval.high + 1e-9);
                    *wrong |= n >= 10 && (interval.low > 0.5 || interval.high < 0.5);
                }
            }
            n_wrong.iter_mut().zip(wrong).for_each(|(n, wrong)| *n += u32::from(wrong));
        }
        assert!(n_wrong[0] > 40, "Wilson's was wrong in {} of 400", n_wrong[0]);
        assert!(n_wrong[1] <= 20, "wrong in {} of 400", n_wrong[1]);
        let (sure, fixed) = (anytime(60.0, 100), wilson(60.0, 100));
        assert!(sure.low < fixed.low && sure.low > 0.42 && sure.high > fixed.high && sure.high < 0.78, "{sure:?}");
        assert_eq!((anytime(0.0, 10).low, anytime(10.0, 10).high, anytime(0.0, 0).high), (0.0, 1.0, 1.0));
    }

    /// For many wins and losses, drawing anew gives about what Wilson gives.
    #[test]
    fn bootstrap_is_near_wilson() {
        let results: Vec<f64> = (0..400).map(|index| f64::from(u8::from(index % 10 < 3))).collect();
        let drawn = bootstrap(&results, 2_000, &mut Pcg64Mcg::seed_from_u64(1));
        let wilson = wilson(120.0, 400);
        assert_eq!(drawn.mean, 0.3);
        assert!((drawn.low - wilson.low).abs() < 0.01 && (drawn.high - wilson.high).abs() < 0.01, "{drawn:?}");
    }

    /// Where two sides share what there is, a share is a mean, with the interval of a mean; where they don't, even is even.
    #[test]
    fn shares_are_means_where_points_add_up() {
        let shared: Vec<(f64, f64)> =
            (0..400).map(|index| if index % 10 < 3 { (1.0, 0.0) } else { (0.0, 1.0) }).collect();
        let (found, wilson) = (share(&shared), wilson(120.0, 400));
        assert!((found.mean - 0.3).abs() < 1e-12);
        assert!((found.low - wilson.low).abs() < 0.01 && (found.high - wilson.high).abs() < 0.01, "{found:?}");
        // One of three wins, each as often; the other two have half a point on average then.
        let third: Vec<(f64, f64)> =
            (0..300).map(|index| if index % 3 == 0 { (1.0, 0.0) } else { (0.0, 0.5) }).collect();
        let found = share(&third);
        assert!((found.mean - 0.5).abs() < 1e-12 && found.low > 0.4 && found.high < 0.6, "{found:?}");
        assert_eq!(share(&[]), Interval { mean: 0.5, low: 0.0, high: 1.0 });
        assert_eq!(share(&[(0.0, 0.0); 5]), Interval { mean: 0.5, low: 0.0, high: 1.0 });
    }

    #[test]
    fn elo_and_results() {
        assert_eq!(expected_result(0.0), 0.5);
        assert!((expected_result(200.0) - 0.7597).abs() < 1e-4);
        assert!((elo(expected_result(73.0)) - 73.0).abs() < 1e-9);
    }

    /// Each hypothesis is rejected where it is true about as seldom as it should be.
    #[test]
    fn sequential_tests_err_seldom() {
        let test = Sprt { p0: 0.5, p1: 0.6, alpha: 0.05, beta: 0.05 };
        let mut random = Pcg64Mcg::seed_from_u64(7);
        for (truth, expected) in [(0.5, false), (0.6, true)] {
            let mut n_wrong = 0;
            for _ in 0..1_000 {
                let (mut points, mut n) = (0.0, 0);
                let decision = loop {
                    points += f64::from(u8::from(random.random_bool(truth)));
                    n += 1;
                    if let Some(decision) = test.decide(points, n) {
                        break decision;
                    }
                };
                n_wrong += u32::from(decision != expected);
            }
            assert!((10..75).contains(&n_wrong), "{n_wrong} of 1000 wrong");
        }
    }
}
