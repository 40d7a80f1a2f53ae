//! Counters: state variables that run through their values by themselves.
//!
//! Kuhlmann's template finds a rule of one form. Here the transitions themselves are looked at: a family of which exactly one
//! member holds at a time is a counter if each of its values is always followed by the same one. Where values come round
//! again it is a *cycle* (whose turn it is, often); otherwise it counts steps.

use gdl::Stop;
use machine::lanes::Vector;
use machine::network::Wire;
use rustc_hash::FxHashMap;

use crate::family::Family;
use crate::sample::Samples;
use crate::structure::exclusion::Exclusion;
use crate::universe::Circuit;

/// A state variable that changes by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The family.
    pub family: usize,
    /// Its members in the order in which they follow each other; from the initial one.
    pub values: Vec<u32>,
    /// Whether the last is followed by the first.
    pub cyclic: bool,
    /// The value with which the game is always over, if there is one.
    pub limit: Option<u32>,
}

/// Finds all counters and cycles.
pub(super) fn find(
    families: &[Family],
    exclusions: &[Exclusion],
    initial: &[bool],
    circuit: Option<&Circuit>,
    samples: &Samples,
    stop: &Stop,
) -> Vec<Counter> {
    let variables =
        exclusions.iter().filter(|found| found.key.is_empty() && found.exactly && found.families.len() == 1);
    variables
        .take_while(|_| !stop.is_raised())
        .filter_map(|found| counter(found.families[0], &families[found.families[0]], initial, circuit, samples))
        .collect()
}

fn counter(
    index: usize,
    family: &Family,
    initial: &[bool],
    circuit: Option<&Circuit>,
    samples: &Samples,
) -> Option<Counter> {
    let members = &family.members;
    // Step 1. What follows each value.
    let mut next: Vec<Option<u32>> = vec![None; members.len()];
    for batch in &samples.batches {
        let on = batch.live & !batch.terminal;
        for (place, &member) in members.iter().enumerate() {
            let holds = batch.fluents[member as usize] & on;
            if holds.is_zero() {
                continue;
            }
            let following = match next[place] {
                Some(following) => following,
                None => *members.iter().find(|&&other| !(batch.next[other as usize] & holds).is_zero())?,
            };
            next[place] = Some(following);
            if !(holds & !batch.next[following as usize]).is_zero() {
                return None;
            }
        }
    }
    // Where a value was not met, the network may say what follows it.
    let leads_to: FxHashMap<Wire, u32> = circuit.map_or_else(FxHashMap::default, |circuit| {
        members.iter().rev().map(|&member| (circuit.next[member as usize], member)).collect()
    });
    let place_of: FxHashMap<u32, usize> = members.iter().copied().zip(0..).collect();
    for (place, following) in next.iter_mut().enumerate().filter(|(_, following)| following.is_none()) {
        let holds = circuit.map(|circuit| circuit.fluents[members[place] as usize]);
        *following = holds.and_then(|holds| leads_to.get(&holds).copied());
    }
    // Step 2. Walk from the initial value.
    let first = *members.iter().find(|&&member| initial[member as usize])?;
    let mut values = vec![first];
    let mut is_value = vec![false; members.len()];
    is_value[place_of[&first]] = true;
    let mut cyclic = false;
    loop {
        let at = *values.last().expect("it has a first value");
        match next[place_of[&at]] {
            Some(following) if following == first && values.len() > 1 => {
                cyclic = true;
                break;
            }
            // The last value may stay.
            Some(following) if following == at && values.len() > 2 => break,
            // A value that leads back into the middle makes no counter.
            Some(following) if std::mem::replace(&mut is_value[place_of[&following]], true) => return None,
            Some(following) => values.push(following),
            None => break,
        }
    }
    if values.len() < 2 || (!cyclic && values.len() < 3) {
        return None;
    }
    // Step 3. The value that ends the game.
    let limit = values.iter().copied().find(|&value| {
        let mut ever = false;
        let over = samples.batches.iter().all(|batch| {
            let holds = batch.fluents[value as usize] & batch.live;
            ever |= holds != Vector::ZERO;
            (holds & !batch.terminal).is_zero()
        });
        ever && over
    });
    Some(Counter { family: index, values, cyclic, limit: if cyclic { None } else { limit } })
}
