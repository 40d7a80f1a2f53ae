//! The rule of TD(λ) for a squeezed sum of weighted features, with eligibility traces.
//!
//! ```text
//! V(z) = σ(Σ w·f(z)) - 1/2        σ(x) = 1 / (1 + exp(-x))
//! δ = R(z') + γ V(z') - V(z)      nothing is expected of a state in which the match is over
//! e ← γ λ e + ∇V(z)               w ← w + α δ e
//! ```

/// The numbers that a step goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The step size α.
    pub alpha: f64,
    /// How far back a surprise reaches: λ.
    pub lambda: f64,
    /// What is expected of the future counts so much: γ.
    pub gamma: f64,
}

impl Default for Rates {
    fn default() -> Rates {
        Rates { alpha: 0.15, lambda: 0.7, gamma: 0.9 }
    }
}

/// What came after a state.
#[derive(Clone, Copy, Debug)]
pub enum Next<'a> {
    /// A state with these features, and no reward.
    State(&'a [f64]),
    /// The end, with this reward.
    End(f64),
}

/// Weights that learn.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// A weight for each feature.
    pub weights: Vec<f64>,
    /// How much each weight has to do with the states so far.
    pub traces: Vec<f64>,
}

impl Linear {
    /// All weights are 0.
    pub fn new(n_features: usize) -> Linear {
        Linear { weights: vec![0.0; n_features], traces: vec![0.0; n_features] }
    }

    /// What is expected in a state, between -1/2 and 1/2.
    pub fn value(&self, features: &[f64]) -> f64 {
        squeeze(self.sum(features)) - 0.5
    }

    /// By how much each weight changes what is expected.
    pub fn gradient<'a>(&self, features: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
        let value = squeeze(self.sum(features));
        features.iter().map(move |feature| value * (1.0 - value) * feature)
    }

    fn sum(&self, features: &[f64]) -> f64 {
        self.weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum()
    }

    /// What was before has nothing to do with what comes.
    pub fn forget(&mut self) {
        self.traces.fill(0.0);
    }

    /// Learns from a step between two states; returns the surprise δ.
    pub fn step(&mut self, rates: &Rates, from: &[f64], to: Next) -> f64 {
        let target = match to {
            Next::State(features) => rates.gamma * self.value(features),
            Next::End(reward) => reward,
        };
        let surprise = target - self.value(from);
        let gradient = self.gradient(from);
        for ((weight, trace), slope) in self.weights.iter_mut().zip(&mut self.traces).zip(gradient) {
            *trace = rates.gamma * rates.lambda * *trace + slope;
            *weight += rates.alpha * surprise * *trace;
        }
        surprise
    }
}

fn squeeze(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// The reward of a result: somewhat less than what can be expected at most, so that weights stay finite.
pub fn reward(goal: i64) -> f64 {
    0.0096 * (goal - 50) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-6;
        assert!(found.iter().zip(expected).all(near), "{found:?} is not {expected:?}");
    }

    /// Two steps, computed by hand.
    #[test]
    fn two_steps_by_hand() {
        let rates = Rates::default();
        let mut linear = Linear { weights: vec![0.1, -0.2], traces: vec![0.0; 2] };
        let (first, second) = ([1.0, 0.5], [0.5, 1.0]);
        assert_near(&[linear.value(&first), linear.value(&second)], &[0.0, -0.0374298]);
        let surprise = linear.step(&rates, &first, Next::State(&second));
        assert_near(&[surprise], &[-0.0336869]);
        assert_near(&linear.traces, &[0.25, 0.125]);
        assert_near(&linear.weights, &[0.0987367, -0.2006316]);
        assert_near(&[linear.value(&second)], &[-0.0377439]);
        let surprise = linear.step(&rates, &second, Next::End(reward(100)));
        assert_near(&[surprise], &[0.5177439]);
        assert_near(&linear.traces, &[0.2817877, 0.3273254]);
        assert_near(&linear.weights, &[0.1206208, -0.1752110]);
    }

    #[test]
    fn rewards_by_the_book() {
        assert_near(&[0, 25, 50, 75, 100].map(reward), &[-0.48, -0.24, 0.0, 0.24, 0.48]);
    }

    proptest! {
        /// The gradient is what small changes of the weights show.
        #[test]
        fn gradients_are_slopes(rows in prop::collection::vec((-2.0..2.0f64, -3.0..3.0f64), 1..6)) {
            let (weights, features): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
            let linear = Linear { traces: vec![0.0; weights.len()], weights };
            for (at, slope) in linear.gradient(&features).enumerate() {
                let moved = |by: f64| {
                    let mut moved = linear.clone();
                    moved.weights[at] += by;
                    moved.value(&features)
                };
                let measured = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                prop_assert!((slope - measured).abs() < 1e-8, "{slope} is not {measured}");
            }
        }

        /// With λ = 1 and γ = 1, small steps through a match move the weights as one step from each state to the result does.
        #[test]
        fn traces_telescope(features in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 3), 1..6), goal in 0i64..=100) {
            let rates = Rates { alpha: 1e-6, lambda: 1.0, gamma: 1.0 };
            let start = Linear { weights: vec![0.3, -0.4, 0.1], traces: vec![0.0; 3] };
            let mut linear = start.clone();
            for at in 0..features.len() {
                let next = features.get(at + 1).map_or(Next::End(reward(goal)), |next| Next::State(next));
                linear.step(&rates, &features[at], next);
            }
            let mut expected = [0.0; 3];
            for state in &features {
                let surprise = reward(goal) - start.value(state);
                expected.iter_mut().zip(start.gradient(state)).for_each(|(sum, slope)| *sum += surprise * slope);
            }
            for ((weight, before), expected) in linear.weights.iter().zip(&start.weights).zip(expected) {
                let moved = (weight - before) / rates.alpha;
                prop_assert!((moved - expected).abs() < 1e-4, "{moved} is not {expected}");
            }
        }
    }
}
