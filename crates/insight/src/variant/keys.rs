//! Numbers by which variants find each other.

use gdl::Relation;
use gdl::program::Program;

use super::abstraction::{Abstraction, Reading};
use super::prune::{Removal, fluents, without};
use crate::skeleton::mix;

/// The most kinds of fluents that are left out on trial, one at a time.
const MAX_FEATURES: usize = 32;

/// Numbers that a game shares with its variants, and hardly ever with another game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The keys of the whole game.
    pub(crate) whole: ByReading,
    /// The keys of the whole game with paths contracted.
    pub(crate) contracted: ByReading,
    /// The keys of the game without one kind of fluent.
    pub(crate) reduced: Vec<Reduced>,
}

/// A key for each way to read a game's goals, the usual one first.
pub(crate) type ByReading = Vec<(Reading, u64)>;

/// The keys of part of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reduced {
    /// What is left out.
    pub(crate) functor: Relation,
    /// What goes with it.
    pub(crate) removal: Removal,
    /// The keys.
    pub(crate) keys: ByReading,
}

impl Keys {
    /// The keys of a game whose rules are in simple form.
    pub(crate) fn new(program: &Program) -> Keys {
        let (whole, contracted) = keys(program);
        let mut reduced: Vec<Reduced> = Vec::new();
        for functor in fluents(program).into_iter().take(MAX_FEATURES) {
            for removal in [Removal::Rule, Removal::Literal] {
                let Some(rest) = without(program, functor, removal) else { continue };
                let (keys, _) = keys(&rest);
                if reduced.iter().all(|known| known.keys != keys) {
                    reduced.push(Reduced { functor, removal, keys });
                }
            }
        }
        Keys { whole, contracted, reduced }
    }

    /// The keys by which a game should be found later, in ascending order.
    pub fn own(&self) -> Vec<u64> {
        let reduced = self.reduced.iter().map(|reduced| in_part(reduced.keys[0].1));
        ascending([self.whole[0].1, self.contracted[0].1].into_iter().chain(reduced))
    }

    /// The keys under which variants of a game are found, in ascending order: one of their own keys is among them.
    pub fn wanted(&self) -> Vec<u64> {
        let whole = self.whole.iter().flat_map(|&(_, key)| [key, in_part(key)]);
        let reduced = self.reduced.iter().flat_map(|reduced| reduced.keys.iter().map(|&(_, key)| key));
        ascending(whole.chain(self.contracted.iter().map(|&(_, key)| key)).chain(reduced))
    }
}

fn ascending(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The key of part of a game. Two games that are equal only after something was left out of each are no variants.
fn in_part(key: u64) -> u64 {
    mix(key, 1)
}

/// The keys of a game, as it is and with paths contracted.
fn keys(program: &Program) -> (ByReading, ByReading) {
    let same = Abstraction::new(program, Reading::Same);
    let others = same.readings(program).into_iter().map(|reading| (reading, Abstraction::new(program, reading)));
    let mut all: Vec<(Reading, Abstraction)> = others.collect();
    all.insert(0, (Reading::Same, same));
    let whole: ByReading = all.iter().map(|(reading, abstraction)| (*reading, abstraction.key())).collect();
    let mut contracted = whole.clone();
    for ((_, key), (_, abstraction)) in contracted.iter_mut().zip(&mut all) {
        if abstraction.contract_paths() {
            *key = abstraction.key();
        }
    }
    (whole, contracted)
}
