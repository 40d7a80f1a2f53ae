//! Positions with what is expected of them, to learn from.

use features::images::Images;
use features::positions::Positions;
use rustc_hash::FxHashMap;

/// Positions with what is expected of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examples {
    /// How many words a state has, and how many roles there are.
    pub n_words: usize,
    /// How many roles there are.
    pub n_roles: usize,
    /// The states of the game's own network, one after another.
    pub states: Vec<u64>,
    /// For each state and role what is to be predicted, from 0 to 1.
    pub targets: Vec<f32>,
    /// The match that each state is from.
    pub matches: Vec<u32>,
}

impl Examples {
    /// No examples yet.
    pub fn new(n_words: usize, n_roles: usize) -> Examples {
        Examples { n_words, n_roles, ..Examples::default() }
    }

    /// The positions in which the match goes on and all results are known.
    pub fn of(positions: &Positions) -> Examples {
        let mut examples = Examples::new(positions.n_words, positions.n_roles);
        for position in (0..positions.len()).filter(|&position| !positions.terminal[position]) {
            let results: Option<Vec<f32>> = (0..positions.n_roles)
                .map(|role| positions.result(position, role).map(|result| f32::from(result) / 100.0))
                .collect();
            if let Some(results) = results {
                examples.push(positions.state(position), &results, positions.matches[position]);
            }
        }
        examples
    }

    /// Adds a state.
    pub fn push(&mut self, state: &[u64], targets: &[f32], number: u32) {
        self.states.extend_from_slice(state);
        self.targets.extend_from_slice(targets);
        self.matches.push(number);
    }

    /// How many examples there are.
    pub fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// The states.
    pub fn views(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.len()).map(|example| self.state(example))
    }

    /// A state.
    pub fn state(&self, example: usize) -> &[u64] {
        &self.states[example * self.n_words..(example + 1) * self.n_words]
    }

    /// What is to be predicted of a state, for each role.
    pub fn targets_of(&self, example: usize) -> &[f32] {
        &self.targets[example * self.n_roles..(example + 1) * self.n_roles]
    }

    /// Some of the examples, in this order.
    pub fn select(&self, which: impl IntoIterator<Item = usize>) -> Examples {
        let mut some = Examples::new(self.n_words, self.n_roles);
        which
            .into_iter()
            .for_each(|example| some.push(self.state(example), self.targets_of(example), self.matches[example]));
        some
    }

    /// Each state and its images once, as the first of them that was met, with the means of what is to be predicted. Images
    /// must not be in several parts of a [`Split`](features::split::Split).
    #[must_use]
    pub fn unique(&self, images: &Images) -> Examples {
        let mut place: FxHashMap<Box<[u64]>, usize> = FxHashMap::default();
        // For each kept one its number here, the roles of its least image, and the sum of targets and their number there.
        let mut kept: Vec<(usize, Vec<usize>, Vec<f64>, f64)> = Vec::new();
        for example in 0..self.len() {
            let (key, symmetry) = images.canonical(self.state(example));
            let roles = images.roles(symmetry, self.n_roles);
            let targets: Vec<f64> = roles.iter().map(|&role| f64::from(self.targets_of(example)[role])).collect();
            let at = *place.entry(key).or_insert(kept.len());
            if at == kept.len() {
                kept.push((example, roles, targets, 1.0));
            } else {
                let (_, _, sums, n) = &mut kept[at];
                sums.iter_mut().zip(&targets).for_each(|(sum, target)| *sum += target);
                *n += 1.0;
            }
        }
        let mut unique = self.select(kept.iter().map(|&(example, ..)| example));
        for (at, (_, roles, sums, n)) in kept.iter().enumerate() {
            for (&role, sum) in roles.iter().zip(sums) {
                unique.targets[at * self.n_roles + role] = (sum / n) as f32;
            }
        }
        unique
    }

    /// With every example, right after it, the one in which the roles have changed places, if the game allows that.
    #[must_use]
    pub fn mirrored(&self, images: &Images) -> Examples {
        let Some(exchange) = images.exchange() else { return self.clone() };
        let mut both = Examples::new(self.n_words, self.n_roles);
        for example in 0..self.len() {
            let (targets, number) = (self.targets_of(example), self.matches[example]);
            both.push(self.state(example), targets, number);
            both.push(&exchange.state(self.state(example)), &[targets[1], targets[0]], number);
        }
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use features::game::Game;
    use features::positions::{Settings, collect};

    fn examples(name: &str) -> (Images, Examples) {
        let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        let game = Game::new(gdl::read(name, &text).program, 1).expect("it has a network");
        let settings = Settings { levels: 1, positions: 3_000, matches: (300, 300), ..Settings::default() };
        let positions = collect(&game, &settings, &mut |_| true).positions;
        (Images::of(&game), Examples::of(&positions))
    }

    /// In Tic-Tac-Toe an opening has eight images, and results are means over all of them.
    #[test]
    fn images_are_one_example() {
        let (images, examples) = examples("tic-tac-toe");
        let unique = examples.unique(&images);
        let key = |examples: &Examples, at: usize| {
            let (key, symmetry) = images.canonical(examples.state(at));
            (key, images.roles(symmetry, 2))
        };
        for at in (0..unique.len()).step_by(7) {
            let (own, roles) = key(&unique, at);
            let mut sum = (0.0, 0.0);
            for other in 0..examples.len() {
                let (key, there) = key(&examples, other);
                if key == own {
                    let role = there[roles.iter().position(|&role| role == 0).expect("a role")];
                    sum = (sum.0 + f64::from(examples.targets_of(other)[role]), sum.1 + 1.0);
                }
            }
            assert!((f64::from(unique.targets_of(at)[0]) - sum.0 / sum.1).abs() < 1e-6, "{at}");
        }
        assert!(unique.len() * 2 < examples.len());
        // There are three first moves that differ.
        let n_held = |at: usize| unique.state(at).iter().map(|word| word.count_ones()).sum::<u32>();
        assert!((0..unique.len()).all(|at| n_held(at) > 0));
    }
}
