//! What trees may ask about a position: how many squares of a region are in one of some states.
//!
//! Duminy's attributes tell only whether some square of a region is in a state, one state at a time; so neither numbers
//! of pieces nor groups such as "any own man" can be learned. The extended attributes repair that: states are grouped by
//! what they have in common, and questions are about counts and about who has more.

use features::structural::fuzzy::{Formula, Pattern, Place, Vocabulary};
use features::structural::squares::StateId;

use super::label::Example;
use super::tree::Table;

/// Which attributes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Presence of a single state in a region.
    Thesis,
    /// Counts of groups of states, and differences between own counts and the other side's.
    #[default]
    Extended,
}

/// What is asked of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// It is at least this.
    AtLeast(i32),
    /// Less the same count as the other side sees it, it is at least this.
    Ahead(i32),
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
        let groups = match mode {
            Mode::Thesis => all.iter().map(|&state| vec![state]).collect(),
            Mode::Extended => groups(&vocabulary.states, &all),
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
        Attributes { groups, list, regions, names: vocabulary.states.clone() }
    }

    /// What an attribute says in the feature language: the part of the region that is in one of the states. Against the
    /// other side's view, that also says who has more.
    pub fn literal(&self, attribute: usize, holds: bool) -> Formula {
        let Attribute { group, region, .. } = self.list[attribute];
        let patterns = self.groups[group].iter().map(|state| Pattern::State(self.names[state.0 as usize].clone()));
        let ground = Formula::Fuzzy(patterns.collect(), Place::Region(self.regions[region].clone()));
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

/// Groups of states by what they have in common. A piece's state has letters for its owner and kind, and a digit for what
/// can happen to it: 4 if it can be captured, plus 2 if it can move, plus 1 if it can capture.
fn groups(names: &[String], all: &[StateId]) -> Vec<Vec<StateId>> {
    let split = |state: &StateId| {
        let name = &names[state.0 as usize];
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        (letters.to_owned(), name[letters.len()..].parse::<u32>().unwrap_or(0))
    };
    let mut groups: Vec<Vec<StateId>> = Vec::new();
    let mut add = |wanted: &dyn Fn(&str, u32) -> bool| {
        let fits = |state: &&StateId| {
            let (letters, digit) = split(state);
            wanted(&letters, digit)
        };
        let group: Vec<StateId> = all.iter().filter(fits).copied().collect();
        if !group.is_empty() && !groups.contains(&group) {
            groups.push(group);
        }
    };
    let mut kinds: Vec<String> = all.iter().map(|state| split(state).0).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // Empty squares: who can get there, and who can get there by capturing.
    let reach = |letters: &str, digit: u32| match letters {
        "a" => (digit, 0),
        "p" => (0, digit),
        "b" => ((digit - 1) / 3 + 1, (digit - 1) % 3 + 1),
        _ => (0, 0),
    };
    for way in [3, 2] {
        add(&|letters, digit| reach(letters, digit).0 & way > 0);
        add(&|letters, digit| reach(letters, digit).1 & way > 0);
    }
    // Pieces: of a role, and of a role and kind; all of them, and with each property and without it.
    let of_role = ["o", "x", "w"].map(|role| kinds.iter().filter(move |kind| kind.to_lowercase().starts_with(role)));
    for role in of_role {
        let role: Vec<&String> = role.collect();
        let sets = std::iter::once(role.clone()).chain(role.iter().map(|&kind| vec![kind]));
        for kinds in sets {
            let is = |letters: &str| kinds.iter().any(|kind| *kind == letters);
            add(&|letters, _| is(letters));
            for property in [4, 2, 1] {
                add(&|letters, digit| is(letters) && digit & property > 0);
                add(&|letters, digit| is(letters) && digit & property == 0);
            }
        }
    }
    groups
}
