//! Exclusion: fluents of which at most one holds at a time, or exactly one.
//!
//! A *key* of a family is a set of arguments that determines the others: in `(cell x y content)`, the arguments `x` and `y`.
//! Every minimal key is found by refutation: a set of arguments is a key as long as no sampled state has two members that
//! agree in it. Kuhlmann's modes, with one output argument, are the keys with all arguments but one.
//!
//! Fluents of several families may exclude each other, too: `(white x y)` and `(black x y)` never hold of one square.

use gdl::{Stop, TermId};
use machine::lanes::Vector;
use rustc_hash::FxHashMap;

use crate::family::Family;
use crate::sample::Samples;

/// Families with more arguments are not looked at.
const MAX_ARITY: usize = 6;

/// Groups of fluents that exclude each other.
#[derive(Clone, Debug)]
pub struct Exclusion {
    /// The families that the fluents are in.
    pub families: Vec<usize>,
    /// The arguments that are equal within a group.
    pub key: Vec<usize>,
    /// The groups: fluents of the universe.
    pub groups: Vec<Vec<u32>>,
    /// Whether some member of each group held in every sampled state.
    pub exactly: bool,
}

impl Exclusion {
    /// Whether every group has one member: the key determines the rest by the rules alone.
    pub fn is_trivial(&self) -> bool {
        self.groups.iter().all(|group| group.len() == 1)
    }
}

/// What at most one of these holding means in the samples: `None` if two held at once, else whether one always held.
pub(super) fn test(samples: &Samples, group: &[u32]) -> Option<bool> {
    let mut always = true;
    for batch in &samples.batches {
        let mut seen = Vector::ZERO;
        for &member in group {
            let holds = batch.fluents[member as usize] & batch.live;
            if !(seen & holds).is_zero() {
                return None;
            }
            seen = seen | holds;
        }
        always &= seen == batch.live;
    }
    Some(always)
}

fn test_all(samples: &Samples, groups: &[Vec<u32>]) -> Option<bool> {
    let mut always = true;
    for group in groups {
        always &= test(samples, group)?;
    }
    Some(always)
}

/// All minimal keys of all families, as far as the samples go; stopped, of some of them.
pub(super) fn find(families: &[Family], samples: &Samples, stop: &Stop) -> Vec<Exclusion> {
    let mut found = Vec::new();
    for (index, family) in families.iter().enumerate() {
        let arity = family.arity();
        if !(1..=MAX_ARITY).contains(&arity) || family.members.len() < 2 {
            continue;
        }
        let mut keys: Vec<u32> = Vec::new();
        let mut sets: Vec<u32> = (0..(1 << arity) - 1).collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        for set in sets {
            if stop.is_raised() {
                return found;
            }
            let within = |&key: &u32| set & key == key;
            if keys.iter().any(within) {
                continue;
            }
            let key: Vec<usize> = (0..arity).filter(|position| set >> position & 1 == 1).collect();
            // An argument that is always the same adds nothing to a key.
            if key.iter().any(|&position| family.domains[position].len() == 1) {
                continue;
            }
            let groups: Vec<Vec<u32>> = family.groups(&key).into_iter().map(|(_, members)| members).collect();
            if let Some(exactly) = test_all(samples, &groups) {
                keys.push(set);
                found.push(Exclusion { families: vec![index], key, groups, exactly });
            }
        }
    }
    found.extend(across(families, samples, stop));
    found
}

/// Families with the same arguments that exclude each other.
fn across(families: &[Family], samples: &Samples, stop: &Stop) -> Vec<Exclusion> {
    let mut found = Vec::new();
    let mut taken = vec![false; families.len()];
    let mut order: Vec<usize> = (0..families.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(families[index].members.len()));
    for (place, &first) in order.iter().enumerate() {
        if taken[first] {
            continue;
        }
        let arity = families[first].arity();
        let mut members = vec![first];
        let mut groups = tuples(&families[first]);
        for &other in &order[place + 1..] {
            if stop.is_raised() {
                return found;
            }
            if taken[other] || families[other].arity() != arity {
                continue;
            }
            let own = tuples(&families[other]);
            let common = own.keys().filter(|tuple| groups.contains_key(*tuple)).count();
            if common * 2 < own.len() {
                continue;
            }
            let mut union = groups.clone();
            own.into_iter().for_each(|(tuple, fluents)| union.entry(tuple).or_default().extend(fluents));
            if union.values().all(|group| test(samples, group).is_some()) {
                groups = union;
                members.push(other);
            }
        }
        if members.len() < 2 {
            continue;
        }
        let mut groups: Vec<(Vec<TermId>, Vec<u32>)> = groups.into_iter().collect();
        groups.sort_unstable();
        let groups: Vec<Vec<u32>> = groups.into_iter().map(|(_, group)| group).collect();
        let exactly = test_all(samples, &groups) == Some(true);
        // Propositions that merely never met say little.
        if arity == 0 && !exactly {
            continue;
        }
        members.iter().for_each(|&member| taken[member] = true);
        members.sort_unstable();
        found.push(Exclusion { families: members, key: (0..arity).collect(), groups, exactly });
    }
    found
}

fn tuples(family: &Family) -> FxHashMap<Vec<TermId>, Vec<u32>> {
    family.arguments.iter().cloned().zip(family.members.iter().map(|&member| vec![member])).collect()
}
