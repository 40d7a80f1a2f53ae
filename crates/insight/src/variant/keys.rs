//! Numbers by which variants find each other.

use gdl::Relation;
use gdl::program::Program;

use super::abstraction::{Abstraction, Reading};
use super::prune::{Removal, fluents, without};
use super::simplified;
use crate::skeleton::mix;

/// The most kinds of fluents that are left out on trial, one at a time.
const MAX_FEATURES: usize = 32;

/// Numbers that a game shares with its variants, and hardly ever with another game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The keys of the whole game, one for each way to read its goal values.
    pub(crate) whole: Vec<(Reading, u64)>,
    /// The same for the game without one kind of fluent.
    pub(crate) reduced: Vec<(Relation, Removal, Vec<(Reading, u64)>)>,
}

impl Keys {
    /// The keys of a game.
    pub fn new(program: &Program) -> Keys {
        Keys::of_simple(&simplified(program))
    }

    /// The keys of a game whose rules are in simple form.
    pub(crate) fn of_simple(program: &Program) -> Keys {
        let whole = keys(program);
        let mut reduced: Vec<(Relation, Removal, Vec<(Reading, u64)>)> = Vec::new();
        for functor in fluents(program).into_iter().take(MAX_FEATURES) {
            for removal in [Removal::Rule, Removal::Literal] {
                let Some(rest) = without(program, functor, removal) else { continue };
                let keys = keys(&rest);
                if reduced.iter().all(|(_, _, known)| *known != keys) {
                    reduced.push((functor, removal, keys));
                }
            }
        }
        Keys { whole, reduced }
    }

    /// The keys by which a game should be found later, in ascending order.
    pub fn own(&self) -> Vec<u64> {
        let own =
            |keys: &[(Reading, u64)]| keys.iter().find(|(values, _)| *values == Reading::Same).map(|(_, key)| *key);
        let reduced = self.reduced.iter().filter_map(|(_, _, keys)| own(keys).map(in_part));
        let mut all: Vec<u64> = own(&self.whole).into_iter().chain(reduced).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The keys under which variants of a game are found, in ascending order: one of their own keys is among them.
    pub fn wanted(&self) -> Vec<u64> {
        let whole = self.whole.iter().flat_map(|&(_, key)| [key, in_part(key)]);
        let reduced = self.reduced.iter().flat_map(|(_, _, keys)| keys.iter().map(|&(_, key)| key));
        let mut all: Vec<u64> = whole.chain(reduced).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The key of part of a game. Two games that are equal only after something was left out of each are no variants.
fn in_part(key: u64) -> u64 {
    mix(key, 1)
}

fn keys(program: &Program) -> Vec<(Reading, u64)> {
    let same = Abstraction::new(program, Reading::Same);
    let others = same.readings(program).into_iter();
    let others = others.map(|reading| (reading, Abstraction::new(program, reading).key()));
    [(Reading::Same, same.key())].into_iter().chain(others).collect()
}
