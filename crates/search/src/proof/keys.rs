//! Keys of states that are the same for states which a symmetry takes to each other.

use std::sync::Arc;

use gdl::ground::GroundProgram;
use insight::symmetry::{self, Evidence, Translation};
use machine::network::Network;
use machine::scalar::{Compiled, Scalar};

/// How states get their keys.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    images: Vec<Image>,
}

/// What a symmetry does to the hash of a state.
#[derive(Clone, Debug)]
struct Image {
    /// The hash of the image of the state in which no fluent holds.
    base: u128,
    /// What a fluent that holds adds to it.
    keys: Vec<u128>,
}

impl Keys {
    /// The most symmetries that are used.
    pub const MAX_SYMMETRIES: usize = 16;

    /// Keys that know the proved symmetries of a game which keep the roles and the initial state. Where these are too many,
    /// none are used.
    pub fn symmetric(ground: &GroundProgram, network: &Arc<Network>, compiled: &Compiled, seed: u64) -> Keys {
        let found = symmetry::find(ground, Some(network), &symmetry::Budget::default(), seed);
        let elements = found.group.and_then(|group| group.elements(Keys::MAX_SYMMETRIES)).unwrap_or_default();
        let translation = Translation::new(ground, network);
        let n_fluents = network.fluents.len() as u32;
        let mut images = Vec::new();
        for element in &elements {
            let keeps_roles = element.roles.iter().enumerate().all(|(role, &to)| role as u32 == to);
            let is_proved = !matches!(element.evidence, Evidence::Seen { .. });
            if !keeps_roles || !is_proved || !element.fixes_initial {
                continue;
            }
            let Some(action) = translation.action(element) else { continue };
            let places: Vec<(u32, bool)> = (0..n_fluents).map(|fluent| action.fluent(fluent)).collect();
            if places.iter().enumerate().all(|(fluent, &place)| place == (fluent as u32, false)) {
                continue;
            }
            let flipped = places.iter().filter(|place| place.1);
            let base = flipped.fold(0, |base, &(to, _)| base ^ compiled.key(to));
            images.push(Image { base, keys: places.iter().map(|&(to, _)| compiled.key(to)).collect() });
        }
        Keys { images }
    }

    /// How many symmetries are used, the identity not counted.
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// Whether no symmetry is used.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The key of the machine's state: the least hash of all its images.
    pub(super) fn key(&self, machine: &Scalar) -> u128 {
        let mut least = machine.hash();
        for image in &self.images {
            let mut hash = image.base;
            for (word, &bits) in machine.bits().iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    hash ^= image.keys[64 * word + bits.trailing_zeros() as usize];
                    bits &= bits - 1;
                }
            }
            least = least.min(hash);
        }
        least
    }
}
