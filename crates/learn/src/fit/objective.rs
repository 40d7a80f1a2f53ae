//! What a score stands for, and what it costs to be wrong.

/// From a score, which may be any number, to a prediction; increasing, so that search may compare scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// The score itself, such as a difference of pieces at the end.
    Identity,
    /// From 0 to 1: the chance of winning.
    Logistic,
    /// From −C to C: 2C / (1 + e^−x) − C.
    Symmetric(f64),
}

/// What a wrong prediction costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The square of the difference, as Buro's GLEM has it.
    Squared,
    /// The logarithm of the chance that was given to what happened; for the logistic link. Convex, and it doesn't stall where
    /// the prediction is sure and wrong.
    CrossEntropy,
}

impl Link {
    /// The prediction.
    #[inline(always)]
    pub fn value(self, score: f64) -> f64 {
        match self {
            Link::Identity => score,
            Link::Logistic => logistic(score),
            Link::Symmetric(bound) => bound * (2.0 * logistic(score) - 1.0),
        }
    }

    /// The derivative of the prediction.
    #[inline(always)]
    pub fn slope(self, score: f64) -> f64 {
        let bell = |score| logistic(score) * logistic(-score);
        match self {
            Link::Identity => 1.0,
            Link::Logistic => bell(score),
            Link::Symmetric(bound) => 2.0 * bound * bell(score),
        }
    }

    /// The largest derivative.
    pub fn steepest(self) -> f64 {
        self.slope(0.0)
    }
}

/// At this score the logistic link is 6 millionths from its end.
const SATURATED: f64 = 12.0;

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// The target for a goal value from 0 to 100: between 0.1 and 0.9, since predictions of 0 and 1 take infinite scores.
pub fn target_of_goal(goal: u8) -> f32 {
    0.1 + 0.008 * f32::from(goal)
}

/// A link with a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// From scores to predictions.
    pub link: Link,
    /// What they cost.
    pub loss: Loss,
}

impl Objective {
    /// Least squares of the score itself.
    pub const LEAST_SQUARES: Objective = Objective { link: Link::Identity, loss: Loss::Squared };
    /// Logistic regression.
    pub const LOGISTIC: Objective = Objective { link: Link::Logistic, loss: Loss::CrossEntropy };

    /// The loss at a score, and its derivative there.
    #[inline(always)]
    pub fn at(self, score: f64, target: f64) -> (f64, f64) {
        match self.loss {
            Loss::Squared => {
                let error = self.link.value(score) - target;
                (error * error, 2.0 * error * self.link.slope(score))
            }
            Loss::CrossEntropy => {
                // One exponential serves both: e^−|x|, which doesn't overflow.
                let small = (-score.abs()).exp();
                let prediction = if score >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
                (score.max(0.0) + small.ln_1p() - target * score, prediction - target)
            }
        }
    }

    /// Whether a score is as good as infinite and the target lies at the end of the scale, so that nothing holds the score back.
    #[inline(always)]
    pub fn is_saturated(self, score: f64, target: f64) -> bool {
        let (low, high) = match self.link {
            Link::Identity => return false,
            Link::Logistic => (0.0, 1.0),
            Link::Symmetric(bound) => (-bound, bound),
        };
        (score > SATURATED && target >= high) || (score < -SATURATED && target <= low)
    }

    /// How much the derivative can change with the score, away from what the error itself adds (Gauss and Newton's
    /// approximation): 2 for least squares.
    pub fn curvature(self) -> f64 {
        match self.loss {
            Loss::Squared => 2.0 * self.link.steepest().powi(2),
            Loss::CrossEntropy => 0.25,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_match_finite_differences() {
        let objectives = [
            Objective::LEAST_SQUARES,
            Objective::LOGISTIC,
            Objective { link: Link::Logistic, loss: Loss::Squared },
            Objective { link: Link::Symmetric(64.0), loss: Loss::Squared },
        ];
        for objective in objectives {
            for (score, target) in [(0.0, 0.3), (1.5, 0.9), (-2.5, 0.5), (4.0, 0.0), (-7.0, 1.0)] {
                let h = 1e-5;
                let numeric = (objective.at(score + h, target).0 - objective.at(score - h, target).0) / (2.0 * h);
                let (_, derivative) = objective.at(score, target);
                assert!((numeric - derivative).abs() <= 1e-6 * (1.0 + derivative.abs()), "{objective:?} at {score}");
            }
        }
    }

    #[test]
    fn goals_become_targets() {
        for (goal, target) in [(100, 0.9), (50, 0.5), (0, 0.1)] {
            assert!((target_of_goal(goal) - target).abs() < 1e-6);
        }
    }

    #[test]
    fn large_scores_stay_finite() {
        for score in [-1e4, -800.0, 800.0, 1e4] {
            let (loss, derivative) = Objective::LOGISTIC.at(score, 0.5);
            assert!(loss.is_finite() && derivative.abs() <= 1.0);
            assert!(Link::Symmetric(64.0).value(score).abs() <= 64.0);
        }
    }
}
