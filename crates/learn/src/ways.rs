//! Tables over how far roles are from their goals and how much lies open to them ([`features::reach`]).

use std::sync::Arc;

use features::reach::{self, Number, Reach};
use machine::network::Network;

/// Tables over numbers of relaxed games, one slot of each in every state.
pub struct Ways {
    compiled: Arc<reach::Compiled>,
    tables: Vec<Table>,
    n_slots: u32,
}

/// What a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// A number.
    One(Number),
    /// The numbers of two roles.
    Two(Number, Number),
    /// What the number of one role is more than that of another.
    More(Number, Number),
}

struct Table {
    about: About,
    /// Which numbers these are.
    places: [usize; 2],
    /// Its first slot.
    first: u32,
}

/// A number counts as at most this.
const MOST: u32 = 63;
/// One of two numbers counts as at most this.
const MOST_OF_TWO: u32 = 25;
/// A difference counts as at most this.
const MOST_MORE: i32 = 64;

impl About {
    fn n_slots(self) -> u32 {
        match self {
            About::One(_) => MOST + 1,
            About::Two(..) => (MOST_OF_TWO + 1) * (MOST_OF_TWO + 1),
            About::More(..) => 2 * MOST_MORE as u32 + 1,
        }
    }

    fn numbers(self) -> (Number, Number) {
        match self {
            About::One(number) => (number, number),
            About::Two(one, other) | About::More(one, other) => (one, other),
        }
    }

    /// Numbers that a slot stands for.
    fn values(self, slot: u32) -> (u32, u32) {
        match self {
            About::One(_) => (slot, slot),
            About::Two(..) => (slot / (MOST_OF_TWO + 1), slot % (MOST_OF_TWO + 1)),
            About::More(..) => (slot, MOST_MORE as u32),
        }
    }

    fn slot(self, one: u32, other: u32) -> u32 {
        match self {
            About::One(_) => one.min(MOST),
            About::Two(..) => one.min(MOST_OF_TWO) * (MOST_OF_TWO + 1) + other.min(MOST_OF_TWO),
            About::More(..) => ((one as i32 - other as i32).clamp(-MOST_MORE, MOST_MORE) + MOST_MORE) as u32,
        }
    }
}

impl Ways {
    /// Prepares tables over numbers, as far as there are such; `None` if there are none.
    pub fn new(network: &Network, numbers: &[Number]) -> Option<Ways> {
        let compiled = reach::Compiled::new(network, numbers);
        let numbers = compiled.numbers();
        let (mut tables, mut n_slots) = (Vec::new(), 0);
        let mut add = |about: About, places: [usize; 2]| {
            tables.push(Table { about, places, first: n_slots });
            n_slots += about.n_slots();
        };
        for (place, &number) in numbers.iter().enumerate() {
            add(About::One(number), [place; 2]);
            for (other_place, &other) in numbers.iter().enumerate().skip(place + 1) {
                match (number, other) {
                    (Number::Steps(_), Number::Steps(_)) => add(About::Two(number, other), [place, other_place]),
                    (Number::Parts(_), Number::Parts(_))
                    | (Number::Land(_), Number::Land(_))
                    | (Number::Gain(_), Number::Gain(_)) => {
                        add(About::More(number, other), [place, other_place]);
                    }
                    _ => {}
                }
            }
        }
        (n_slots > 0).then(|| Ways { tables, n_slots, compiled: Arc::new(compiled) })
    }

    /// The numbers that differ between states, among all that there may be.
    pub(crate) fn choose(network: &Network, states: &[&[u64]]) -> Vec<Number> {
        /// A number that is the same in more than so many of a hundred states says little.
        const SAME: usize = 95;
        let compiled = Arc::new(reach::Compiled::new(network, &reach::candidates(network)));
        let mut measured = Vec::new();
        Reach::new(compiled.clone()).measure(states, &mut measured);
        let n = compiled.numbers().len();
        let varies = |place: usize| {
            let mut values: Vec<u32> = measured.iter().skip(place).step_by(n).copied().collect();
            values.sort_unstable();
            let most = values.chunk_by(|one, other| one == other).map(<[u32]>::len).max().unwrap_or(0);
            100 * most < SAME * values.len()
        };
        (0..n).filter(|&place| varies(place)).map(|place| compiled.numbers()[place]).collect()
    }

    /// The numbers that tables are over.
    pub fn numbers(&self) -> &[Number] {
        self.compiled.numbers()
    }

    /// How many slots there are.
    pub fn n_slots(&self) -> usize {
        self.n_slots as usize
    }

    /// How many of them a state has.
    pub fn n_tables(&self) -> usize {
        self.tables.len()
    }

    fn slot(&self, slot: u32) -> (About, u32) {
        let table = &self.tables[self.tables.partition_point(|table| table.first <= slot) - 1];
        (table.about, slot - table.first)
    }

    /// What a slot says, in words.
    pub fn sentence(&self, slot: u32, role: &dyn Fn(u32) -> String) -> String {
        let (about, place) = self.slot(slot);
        let ((one, other), (value, other_value)) = (about.numbers(), about.values(place));
        let (name, other_name) = (role(one.role()), role(other.role()));
        let or_more =
            |most: u32, value: u32| if value == most { format!("{value} or more") } else { value.to_string() };
        let steps = |value: u32| match value {
            1 => "1 step".to_owned(),
            25.. => "more than 24 steps".to_owned(),
            _ => format!("{value} steps"),
        };
        match about {
            About::One(Number::Steps(_)) => format!("{name} is {} from its goal", steps(value)),
            About::One(Number::Parts(_)) => {
                format!("the parts of {name}'s goal are {} steps away in all", or_more(MOST, value))
            }
            About::One(Number::Gain(_)) => format!("{name} is {} from a better result", steps(value)),
            About::One(Number::Land(_)) => format!("{} things lie open to {name}", or_more(MOST, value)),
            About::Two(..) => {
                format!("{name} is {} from its goal, and {other_name} {}", steps(value), steps(other_value))
            }
            About::More(..) => {
                let more = value as i32 - other_value as i32;
                let how = if more < 0 { "less" } else { "more" };
                let much = or_more(MOST_MORE as u32, more.unsigned_abs());
                let steps = if more.abs() == 1 { "step" } else { "steps" };
                match (one, more) {
                    (Number::Land(_), 0) => format!("as much lies open to {name} as to {other_name}"),
                    (Number::Land(_), _) => format!("{much} {how} lies open to {name} than to {other_name}"),
                    (Number::Gain(_), 0) => format!("{name} and {other_name} are as far from a better result"),
                    (Number::Gain(_), _) => {
                        format!("{name} is {much} {steps} {how} from a better result than {other_name}")
                    }
                    (_, 0) => format!("{name} and {other_name} have as many steps to go in all"),
                    _ => format!("{name} has {much} {steps} {how} to go in all than {other_name}"),
                }
            }
        }
    }

    /// The slot of another game's tables that says the same, if its roles are these.
    pub(crate) fn counterpart(&self, slot: u32, of: &Ways, role: &dyn Fn(u32) -> Option<u32>) -> Option<u32> {
        let (about, place) = self.slot(slot);
        let (one, other) = about.numbers();
        let (one, other) = (one.of(role(one.role())?), other.of(role(other.role())?));
        let (value, other_value) = about.values(place);
        of.tables.iter().find_map(|table| {
            let is_alike = std::mem::discriminant(&table.about) == std::mem::discriminant(&about);
            let slot = match table.about.numbers() {
                numbers if is_alike && numbers == (one, other) => table.about.slot(value, other_value),
                numbers if is_alike && numbers == (other, one) => table.about.slot(other_value, value),
                _ => return None,
            };
            Some(table.first + slot)
        })
    }

    /// A thread's means to look into the tables.
    pub(crate) fn look(&self) -> Look {
        Look { reach: Reach::new(self.compiled.clone()), numbers: Vec::new() }
    }
}

/// A thread's means to look into tables.
pub(crate) struct Look {
    reach: Reach,
    numbers: Vec<u32>,
}

impl Look {
    /// Measures states.
    pub(crate) fn measure(&mut self, states: &[&[u64]]) {
        self.numbers.clear();
        self.reach.measure(states, &mut self.numbers);
    }

    /// The slots of a state that was measured.
    pub(crate) fn slots<'a>(&'a self, ways: &'a Ways, state: usize) -> impl Iterator<Item = u32> + 'a {
        let n = ways.numbers().len();
        let numbers = &self.numbers[state * n..(state + 1) * n];
        ways.tables
            .iter()
            .map(|table| table.first + table.about.slot(numbers[table.places[0]], numbers[table.places[1]]))
    }
}

#[cfg(test)]
mod tests {
    use features::game::Game;

    use super::*;

    fn ways(game: &str) -> Ways {
        let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let rules = std::fs::read(path).expect("the library has the game");
        let network = Game::new(gdl::read(game, &rules).program, 1).expect("it has a network").circuit.network;
        Ways::new(&network, &reach::candidates(&network)).expect("it has ways")
    }

    /// Every slot says something of its own, and what it says is what its numbers look up.
    #[test]
    fn slots_and_sentences() {
        let ways = ways("hallway");
        let role = |role: u32| ["white", "black"][role as usize].to_owned();
        let mut all: Vec<String> = (0..ways.n_slots() as u32).map(|slot| ways.sentence(slot, &role)).collect();
        assert!(all.iter().any(|said| said == "white is 3 steps from its goal, and black 1 step"), "{all:?}");
        assert!(all.iter().any(|said| said == "5 less lies open to white than to black"), "{all:?}");
        for slot in 0..ways.n_slots() as u32 {
            let (about, place) = ways.slot(slot);
            let (one, other) = about.values(place);
            assert_eq!(about.slot(one, other), place, "{about:?}");
        }
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        // Numbers that are too large for one table are told in the same words as in another.
        assert!(n - all.len() < 80, "{} of {n}", all.len());
    }

    /// Of a game with its roles the other way round, a slot has the counterpart that says the same of the other role; and back.
    #[test]
    fn counterparts() {
        let ways = ways("hallway");
        let other = |role: u32| Some(1 - role);
        for slot in 0..ways.n_slots() as u32 {
            assert_eq!(ways.counterpart(slot, &ways, &Some), Some(slot));
            let there = ways.counterpart(slot, &ways, &other).expect("both roles have all numbers");
            assert_eq!(ways.counterpart(there, &ways, &other), Some(slot));
            let swapped = |role: u32| ["black", "white"][role as usize].to_owned();
            let plain = |role: u32| ["white", "black"][role as usize].to_owned();
            let (said, same) = (ways.sentence(slot, &plain), ways.sentence(there, &swapped));
            if !matches!(ways.slot(slot).0, About::One(_)) {
                continue;
            }
            assert_eq!(said, same);
        }
        assert_eq!(ways.counterpart(0, &ways, &|_| None), None);
    }
}
