//! The proved symmetries of a game as what they do to its states.

use insight::symmetry::{Action, Evidence, Translation, canonical_state};

use crate::game::Game;

/// All proved symmetries of a game but the identity; none where there are too many.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// What each of them does.
    pub actions: Vec<Action>,
}

impl Images {
    /// The most symmetries that are used.
    pub const MAX_SYMMETRIES: usize = 4_096;

    /// The symmetries of a game, those that exchange roles among them.
    pub fn of(game: &Game) -> Images {
        let (Some(ground), Some(found)) = (&game.circuit.ground, game.symmetries(1)) else { return Images::default() };
        let elements = found.group.and_then(|group| group.elements(Images::MAX_SYMMETRIES)).unwrap_or_default();
        let translation = Translation::new(ground, &game.circuit.network);
        let is_proved = elements.iter().all(|element| !matches!(element.evidence, Evidence::Seen { .. }));
        let n_fluents = game.circuit.network.fluents.len() as u32;
        let moves = |action: &Action| (0..n_fluents).any(|fluent| action.fluent(fluent) != (fluent, false));
        // Without some of them the rest would be no group, and the least image not the same for all images.
        let actions: Option<Vec<Action>> = elements.iter().map(|element| translation.action(element)).collect();
        let actions = actions.filter(|_| is_proved).unwrap_or_default();
        Images { actions: actions.into_iter().filter(moves).collect() }
    }

    /// The same state for all images of a state, and the number of the symmetry that leads there, if one has to.
    pub fn canonical(&self, state: &[u64]) -> (Box<[u64]>, Option<usize>) {
        canonical_state(&self.actions, state)
    }

    /// For each role after a symmetry which one that was before.
    pub fn roles(&self, symmetry: Option<usize>, n_roles: usize) -> Vec<usize> {
        let mut roles: Vec<usize> = (0..n_roles).collect();
        if let Some(number) = symmetry {
            let images = self.actions[number].roles.iter();
            images.enumerate().for_each(|(role, &image)| roles[image as usize] = role);
        }
        roles
    }

    /// A symmetry that takes each of two roles for the other, if there is one.
    pub fn exchange(&self) -> Option<&Action> {
        self.actions.iter().find(|action| action.roles == [1, 0])
    }
}
