//! What positions are for: weights are fitted to some, others say when to stop and what to choose, and others what came of it.
//!
//! A figure that was used to choose something flatters it, so there are three parts. The division is by match, since the positions of a
//! match have one result: a hash of the number decides, so that no part has more of one seat's, level's or opening's matches than
//! another, all of which go by the number. A position that was met in several matches, as it is or as its image under a proved
//! symmetry, may still belong to several parts. It stays in one of them, which a hash of the position decides, and is left out of
//! the others. So what is in one part is new to whatever came of another, and common positions are in all parts alike.

use rustc_hash::FxHashMap;

use crate::game::Game;
use crate::images::Images;
use crate::positions::Positions;

/// What a position is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// To fit weights to, and to propose and choose features by.
    Fit,
    /// To say when to stop fitting, and which of several fits to take.
    Choose,
    /// To say how good the result is; nothing is chosen by it.
    Report,
}

/// How positions are divided in all of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Split {
    seed: u64,
}

impl Default for Split {
    fn default() -> Split {
        Split::new(1)
    }
}

/// Hashes of positions begin with this.
const KEYS: u64 = 0x706f_7369_7469_6f6e;
/// One match in so many chooses, and another one reports.
const PARTS: u64 = 8;
/// The most images that are looked at; with more, positions are only compared as they are.
const MOST_IMAGES: usize = 4_000_000;

impl Split {
    /// The division that belongs to a run's seed.
    pub fn new(seed: u64) -> Split {
        Split { seed }
    }

    /// What the positions of a match are for.
    pub fn of_match(&self, number: u32) -> Part {
        self.of_hash(u64::from(number))
    }

    /// The part that a number belongs to.
    fn of_hash(&self, number: u64) -> Part {
        match mixed(self.seed ^ mixed(number)) % PARTS {
            0 => Part::Report,
            1 => Part::Choose,
            _ => Part::Fit,
        }
    }

    /// The positions of a game that are to fit, to choose and to report.
    pub fn parts(&self, game: &Game, positions: &Positions) -> [Positions; 3] {
        let parts = self.divide(game.images(), positions.views(), &positions.matches);
        let of = |part: Part| positions.select((0..positions.len()).filter(|&position| parts[position] == Some(part)));
        [Part::Fit, Part::Choose, Part::Report].map(of)
    }

    /// What each position is for, given its state and the number of its match; nothing for one that belongs to another part, as it is or
    /// as an image.
    pub fn divide<'a>(
        &self,
        images: &Images,
        states: impl IntoIterator<Item = &'a [u64]>,
        matches: &[u32],
    ) -> Vec<Option<Part>> {
        let is_too_much = images.actions.len().saturating_mul(matches.len()) > MOST_IMAGES;
        let keys: Vec<Box<[u64]>> = states
            .into_iter()
            .map(|state| if is_too_much { state.into() } else { images.canonical(state).0 })
            .collect();
        let mut present: FxHashMap<&[u64], [bool; 3]> = FxHashMap::default();
        for (key, &number) in keys.iter().zip(matches) {
            present.entry(key).or_default()[self.of_match(number) as usize] = true;
        }
        // The part that its hash says, if it was met there, else the first in which it was met.
        let home = |key: &[u64]| {
            let (parts, wanted) = (present[key], self.of_hash(key.iter().fold(KEYS, |hash, &word| mixed(hash ^ word))));
            let met = |part: &Part| parts[*part as usize];
            [wanted, Part::Fit, Part::Choose, Part::Report].into_iter().find(met).expect("it was met somewhere")
        };
        let own = |key: &[u64], number: u32| Some(self.of_match(number)).filter(|part| *part == home(key));
        keys.iter().zip(matches).map(|(key, &number)| own(key, number)).collect()
    }
}

/// The finalizer of SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::positions::{Settings, collect};

    fn positions(name: &str) -> (Game, Positions) {
        let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        let game = Game::new(gdl::read(name, &text).program, 1).expect("it has a network");
        let settings = Settings { levels: 2, positions: 2_000, matches: (300, 300), ..Settings::default() };
        let positions = collect(&game, &settings, &mut |_| true).positions;
        (game, positions)
    }

    /// No match, and no position in any of its images, is in two parts; without care it would be.
    #[test]
    fn nothing_is_in_two_parts() {
        for (name, n_symmetries) in [("othello-6x6", 7), ("connect-four", 1), ("tic-tac-toe", 7)] {
            let (game, positions) = positions(name);
            let images = game.images();
            assert!(images.actions.len() >= n_symmetries, "{name}: {} symmetries", images.actions.len());
            let split = Split::new(1);
            let parts = split.divide(images, positions.views(), &positions.matches);
            let mut of_match: BTreeMap<u32, BTreeSet<Part>> = BTreeMap::new();
            let mut of_state: BTreeMap<Box<[u64]>, BTreeSet<Part>> = BTreeMap::new();
            let mut careless: BTreeMap<Box<[u64]>, BTreeSet<Part>> = BTreeMap::new();
            let mut n = BTreeMap::new();
            for (at, part) in parts.iter().enumerate() {
                let (state, number) = (positions.state(at), positions.matches[at]);
                careless.entry(images.canonical(state).0).or_default().insert(split.of_match(number));
                let Some(part) = *part else { continue };
                *n.entry(part).or_insert(0) += 1;
                of_match.entry(number).or_default().insert(part);
                // Whichever image one takes.
                let mut all: Vec<Box<[u64]>> = images.actions.iter().map(|action| action.state(state)).collect();
                all.push(state.into());
                all.into_iter().for_each(|image| _ = of_state.entry(image).or_default().insert(part));
            }
            assert!(careless.values().any(|parts| parts.len() > 1), "{name}: there is nothing to do");
            assert!(of_match.values().all(|parts| parts.len() == 1), "{name}");
            assert!(of_state.values().all(|parts| parts.len() == 1), "{name}");
            assert!(n[&Part::Fit] > positions.len() * 2 / 5, "{name}: {n:?} of {}", positions.len());
            // Even where nearly all positions were met in many matches.
            assert!(n[&Part::Choose] > 20 && n[&Part::Report] > 20, "{name}: {n:?}");
        }
    }

    /// Whatever goes by the number of a match, a seat, a level or an opening, is in all parts alike.
    #[test]
    fn parts_have_all_kinds_of_matches_alike() {
        const N: u32 = 80_000;
        for seed in [1, 2, 77] {
            let split = Split::new(seed);
            for every in [2, 3, 4, 8, 12, 16] {
                for rest in 0..every {
                    let own: Vec<Part> =
                        (rest..N).step_by(every as usize).map(|number| split.of_match(number)).collect();
                    for part in [Part::Choose, Part::Report] {
                        let found = own.iter().filter(|other| **other == part).count() as f64;
                        let expected = own.len() as f64 / PARTS as f64;
                        assert!(
                            (found - expected).abs() < 5.0 * expected.sqrt(),
                            "{part:?} {rest} of {every}: {found}"
                        );
                    }
                }
            }
        }
        assert_ne!(
            (0..64).map(|number| Split::new(1).of_match(number)).collect::<Vec<_>>(),
            (0..64).map(|number| Split::new(2).of_match(number)).collect::<Vec<_>>()
        );
    }
}
