//! What trees may ask about a position: how many squares of a region are in one of some states.
//!
//! Duminy's attributes tell only whether some square of a region is in a state, one state at a time; so neither numbers
//! of pieces nor groups such as "any own man" can be learned. The extended attributes repair that: states are grouped by
//! what they have in common, and questions are about counts and about who has more.

pub use features::structural::fuzzy::Test;
use features::structural::fuzzy::{Formula, Pattern, Place, Vocabulary};
use features::structural::squares::StateId;

use super::label::Example;
use super::tree::Table;
use super::words;

/// Which attributes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Presence of a single state in a region.
    Thesis,
    /// Counts of groups of states, and differences between own counts and the other side's.
    #[default]
    Extended,
}

/// A question about a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The states, by their place among the groups.
    pub group: usize,
    /// The region, by its place in the vocabulary.
    pub region: usize,
    /// What is asked.
    pub test: Test,
}

/// All questions that trees may ask.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// Sets of states.
    pub groups: Vec<Vec<StateId>>,
    /// The questions.
    pub list: Vec<Attribute>,
    mode: Mode,
    regions: Vec<String>,
    names: Vec<String>,
}

/// The greatest count that is asked for, and the greatest difference.
const MAX_COUNT: i32 = 12;
const MAX_AHEAD: i32 = 3;

impl Attributes {
    /// The questions about a board, for the states that can occur.
    pub fn new(vocabulary: &Vocabulary, mode: Mode) -> Attributes {
        let occurs = |state: &StateId| vocabulary.cardinalities.states[state.0 as usize] > 0;
        let all = (0..vocabulary.states.len() as u16).map(StateId).filter(occurs).collect::<Vec<_>>();
        let groups: Vec<Vec<StateId>> = match mode {
            Mode::Thesis => all.iter().map(|&state| vec![state]).collect(),
            Mode::Extended => words::common(vocabulary, &all).into_iter().map(|(_, group)| group).collect(),
        };
        let mut list = Vec::new();
        for (group, states) in groups.iter().enumerate() {
            let flipped = flip(vocabulary, states);
            for (region, (_, squares)) in vocabulary.regions.iter().enumerate() {
                let mut add = |test| list.push(Attribute { group, region, test });
                if mode == Mode::Thesis {
                    add(Test::AtLeast(1));
                    continue;
                }
                let most = vocabulary.cardinalities.limit(states).min(squares.len() as u32) as i32;
                (1..=most.min(MAX_COUNT)).for_each(|count| add(Test::AtLeast(count)));
                // The difference of what is flipped is the same with the other sign.
                if *states > flipped {
                    (1 - most.min(MAX_AHEAD)..=most.min(MAX_AHEAD)).for_each(|count| add(Test::Ahead(count)));
                }
            }
        }
        let regions = vocabulary.regions.iter().map(|(name, _)| name.clone()).collect();
        Attributes { groups, list, mode, regions, names: vocabulary.states.clone() }
    }

    /// What an attribute says in the feature language. Of presence that is the part of the region that is in one of the states,
    /// as the thesis has it; of counts, the question itself.
    pub fn literal(&self, attribute: usize, holds: bool) -> Formula {
        let Attribute { group, region, test } = self.list[attribute];
        let patterns = self.groups[group].iter().map(|state| Pattern::State(self.names[state.0 as usize].clone()));
        let (patterns, place) = (patterns.collect(), Place::Region(self.regions[region].clone()));
        let ground = match self.mode {
            Mode::Thesis => Formula::Fuzzy(patterns, place),
            Mode::Extended => Formula::Count(patterns, place, test),
        };
        if holds { ground } else { Formula::Not(Box::new(ground)) }
    }

    /// The answers for some examples.
    pub fn table(&self, vocabulary: &Vocabulary, examples: &[&Example]) -> Table {
        let mut table = Table::new(examples.iter().map(|example| example.tally.class()).collect());
        let n_words = vocabulary.squares.len().div_ceil(64);
        let masks = |squares: &mut dyn Iterator<Item = usize>| {
            squares.fold(vec![0u64; n_words], |mut mask, square| {
                mask[square / 64] |= 1 << (square % 64);
                mask
            })
        };
        for (group, states) in self.groups.iter().enumerate() {
            let flipped = flip(vocabulary, states);
            let of = |example: &Example, states: &[StateId]| {
                masks(&mut (0..example.states.len()).filter(|&square| states.contains(&example.states[square])))
            };
            let own: Vec<Vec<u64>> = examples.iter().map(|example| of(example, states)).collect();
            let others: Vec<Vec<u64>> = examples.iter().map(|example| of(example, &flipped)).collect();
            let mut at = None;
            let mut counts: [Vec<i32>; 2] = Default::default();
            for attribute in self.list.iter().filter(|attribute| attribute.group == group) {
                if at != Some(attribute.region) {
                    at = Some(attribute.region);
                    let squares = &vocabulary.regions[attribute.region].1;
                    let here = masks(&mut squares.iter().copied());
                    let there = masks(&mut squares.iter().map(|&square| vocabulary.flipped_squares[square]));
                    let count = |held: &[Vec<u64>], wanted: &[u64]| -> Vec<i32> {
                        let common = |held: &Vec<u64>| -> u32 {
                            held.iter().zip(wanted).map(|(held, wanted)| (held & wanted).count_ones()).sum()
                        };
                        held.iter().map(|held| common(held) as i32).collect()
                    };
                    counts = [count(&own, &here), count(&others, &there)];
                }
                let [own, others] = &counts;
                match attribute.test {
                    Test::AtLeast(least) => table.push(own.iter().map(|&count| count >= least)),
                    Test::Ahead(least) => table.push(own.iter().zip(others).map(|(own, other)| own - other >= least)),
                }
            }
        }
        table
    }
}

/// The states as the other side sees them, ascending.
fn flip(vocabulary: &Vocabulary, states: &[StateId]) -> Vec<StateId> {
    let mut flipped: Vec<StateId> = states.iter().map(|state| vocabulary.flipped_states[state.0 as usize]).collect();
    flipped.sort_unstable();
    flipped
}
