//! Numbers by which variants find each other.

use gdl::program::Program;
use gdl::{Relation, Stop};

use super::abstraction::{Abstraction, Reading};
use super::prune::{Removal, fluents, without};
use crate::skeleton::mix;

/// The most kinds of fluents that are left out on trial, one at a time; of games with very many rules, fewer.
const MAX_FEATURES: usize = 32;
const MAX_FEATURES_BY_RULES: usize = 100_000;

/// The kinds of fluents that are left out on trial.
fn features(program: &Program) -> impl Iterator<Item = Relation> {
    let n_features = MAX_FEATURES.min(MAX_FEATURES_BY_RULES / program.rules.len().max(1));
    fluents(program).into_iter().take(n_features)
}

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
    /// The keys of a game whose rules are in simple form; `None` if stopped.
    pub(crate) fn until(program: &Program, stop: &Stop) -> Option<Keys> {
        let (whole, contracted) = keys(program, stop)?;
        let mut reduced: Vec<Reduced> = Vec::new();
        for functor in features(program) {
            for removal in [Removal::Rule, Removal::Literal] {
                let Some(rest) = without(program, functor, removal, stop) else { continue };
                let (keys, _) = keys(&rest, stop)?;
                if reduced.iter().all(|known| known.keys != keys) {
                    reduced.push(Reduced { functor, removal, keys });
                }
            }
        }
        (!stop.is_raised()).then_some(Keys { whole, contracted, reduced })
    }

    /// As much of the keys as `source` of [`find`](super::find) needs, where these were found to be shared. It takes a
    /// fraction of the time.
    pub(crate) fn of_source(program: &Program, shared: &[u64]) -> Keys {
        let mut same = Abstraction::new(program, Reading::Same);
        let never = &Stop::never();
        let whole = same.key(never);
        let contracted = if same.contract_paths() { same.key(never) } else { whole };
        let mut open: Vec<u64> = shared.iter().copied().filter(|&key| key != whole && key != contracted).collect();
        let mut reduced = Vec::new();
        for functor in features(program) {
            for removal in [Removal::Rule, Removal::Literal] {
                if open.is_empty() {
                    break;
                }
                let Some(rest) = without(program, functor, removal, never) else { continue };
                let key = Abstraction::new(&rest, Reading::Same).key(never);
                if open.contains(&in_part(key)) {
                    open.retain(|&other| other != in_part(key));
                    reduced.push(Reduced { functor, removal, keys: vec![(Reading::Same, key)] });
                }
            }
        }
        let same = |key| vec![(Reading::Same, key)];
        Keys { whole: same(whole), contracted: same(contracted), reduced }
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

/// The keys of a game, as it is and with paths contracted; `None` if stopped.
fn keys(program: &Program, stop: &Stop) -> Option<(ByReading, ByReading)> {
    let same = Abstraction::new(program, Reading::Same);
    let mut all: Vec<(Reading, Abstraction)> = Vec::new();
    for reading in same.readings(program) {
        if stop.is_raised() {
            return None;
        }
        all.push((reading, Abstraction::new(program, reading)));
    }
    all.insert(0, (Reading::Same, same));
    let whole: ByReading = all.iter().map(|(reading, abstraction)| (*reading, abstraction.key(stop))).collect();
    let mut contracted = whole.clone();
    for ((_, key), (_, abstraction)) in contracted.iter_mut().zip(&mut all) {
        if !stop.is_raised() && abstraction.contract_paths() {
            *key = abstraction.key(stop);
        }
    }
    (!stop.is_raised()).then_some((whole, contracted))
}
