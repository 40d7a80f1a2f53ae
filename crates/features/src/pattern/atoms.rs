//! Atomic features: what a game's fluents say, as numbers with a small range.
//!
//! Fluents that exclude each other are the values of one atom: the cell of a board, whose turn it is, a small counter. A
//! fluent that excludes nothing is an atom of its own, with the values 0 and 1. Numbers with many values and the number of
//! markers on a board are cut into few buckets.
//!
//! The cells of a board number their contents alike, the empty cell first: so the same index means the same everywhere on
//! the board, even where some content can never stand.
//!
//! An exclusion that was seen and not proved may fail. Then an atom's value is a sum that means nothing and may lie outside
//! of its range: readers clamp it, or look up nothing.

use machine::network::Wire;

use crate::game::Game;
use crate::pattern::bits::Bits;

/// A fluent of a network, or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    /// The fluent, as a place in the network's fluents.
    pub fluent: u32,
    /// Whether it is to hold, or not to hold.
    pub holds: bool,
}

impl Literal {
    /// Whether it is true in a state, given one bit for each fluent.
    pub fn is_true(self, state: &[u64]) -> bool {
        (state[self.fluent as usize / 64] >> (self.fluent % 64) & 1 == 1) == self.holds
    }
}

/// When an atom has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The literal is true.
    Is(Literal),
    /// None of the other values' literals is true; the first value of an atom alone can be this.
    Otherwise,
    /// Never: the value stands here because other cells of the board have it.
    Never,
    /// The number lies between these bounds, both included.
    Between(i32, i32),
}

/// What an atom is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A cell of a board; atoms of one layer have the same values.
    Cell {
        /// The board's place in the structure.
        board: u32,
        /// The layer, as a place in [`Atoms::layers`].
        layer: u32,
        /// The cell's place on the board.
        cell: u32,
    },
    /// Fluents that exclude each other, no cell.
    Group,
    /// A fluent on its own.
    Fluent,
    /// A number that the game keeps, cut into buckets.
    Number,
    /// How many cells of a board hold a marker, cut into buckets.
    Count {
        /// The board's place in the structure.
        board: u32,
        /// The marker's place on the board.
        marker: u32,
    },
}

/// A function of states with a small range.
#[derive(Clone, Debug)]
pub struct AtomicFeature {
    /// When it has which value.
    pub values: Vec<Value>,
    /// What it is about.
    pub origin: Origin,
    /// The number that buckets cut: what is added for each literal that is true. Empty without buckets.
    pub terms: Vec<(Literal, i32)>,
}

impl AtomicFeature {
    /// How many values there are.
    pub fn range(&self) -> usize {
        self.values.len()
    }

    /// Whether the value is a bucket of a number.
    pub fn is_bucketed(&self) -> bool {
        !self.terms.is_empty()
    }

    /// The bucket of a number; numbers outside are put into the first or last.
    pub fn bucket(&self, number: i32) -> usize {
        let below = |value: &Value| matches!(value, Value::Between(_, last) if *last < number);
        self.values.partition_point(below).min(self.values.len() - 1)
    }

    /// The value in a state. If an exclusion that was never proved fails, the last of the values that are true.
    pub fn value(&self, state: &[u64]) -> usize {
        if self.is_bucketed() {
            let added = self.terms.iter().filter(|(literal, _)| literal.is_true(state)).map(|(_, more)| more);
            return self.bucket(added.sum());
        }
        let is_true = |value: &Value| matches!(value, Value::Is(literal) if literal.is_true(state));
        self.values.iter().rposition(is_true).unwrap_or(0)
    }

    /// A sum over the state's fluents that gives `number(value)` wherever the atom has that value: a constant, and what each
    /// fluent that holds adds. Not for buckets.
    pub fn linear(&self, number: impl Fn(usize) -> i32) -> (i32, Vec<(u32, i32)>) {
        let first = number(0);
        let (mut constant, mut added) = (first, Vec::new());
        for (value, condition) in self.values.iter().enumerate().skip(1) {
            let (Value::Is(literal), more) = (condition, number(value) - first) else { continue };
            if literal.holds {
                added.push((literal.fluent, more));
            } else {
                constant += more;
                added.push((literal.fluent, -more));
            }
        }
        // A fluent may stand for two values, as itself and as its opposite.
        added.sort_unstable();
        added.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        added.retain(|&(_, more)| more != 0);
        (constant, added)
    }

    /// For each value the positions that have it, given a column for each fluent of the network.
    pub fn columns(&self, fluents: &[Bits]) -> Vec<Bits> {
        let len = fluents.first().map_or(0, Bits::len);
        let column = |literal: &Literal| {
            let column = &fluents[literal.fluent as usize];
            if literal.holds { column.clone() } else { column.not() }
        };
        if self.is_bucketed() {
            let mut numbers = vec![0; len];
            for (literal, more) in &self.terms {
                column(literal).iter().for_each(|at| numbers[at] += more);
            }
            let mut columns = vec![Bits::zeros(len); self.range()];
            numbers.iter().enumerate().for_each(|(at, &number)| columns[self.bucket(number)].set(at, true));
            return columns;
        }
        // The last value that is true counts, and the first if none is.
        let mut free = Bits::ones(len);
        let mut columns: Vec<Bits> = Vec::new();
        for (value, condition) in self.values.iter().enumerate().rev() {
            let own = match condition {
                _ if value == 0 => free.clone(),
                Value::Is(literal) => column(literal).and(&free),
                _ => Bits::zeros(len),
            };
            free = free.and_not(&own);
            columns.push(own);
        }
        columns.reverse();
        columns
    }
}

/// Cells of a board with one content each.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The board's place in the structure.
    pub board: usize,
    /// For each cell its atom, if what stands there ever changes.
    pub cells: Vec<Option<u32>>,
    /// How many values each of its atoms has.
    pub range: usize,
}

/// The atoms of a game.
#[derive(Clone, Debug, Default)]
pub struct Atoms {
    /// The atoms.
    pub features: Vec<AtomicFeature>,
    /// What stands on the boards; of each board the layer with the most cells and values first.
    pub layers: Vec<Layer>,
}

/// What becomes an atom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most values of an atom; larger groups are cut into buckets if they have an order, and else are fluents.
    pub max_range: usize,
    /// The most buckets of a number.
    pub buckets: usize,
    /// Whether the markers on boards are counted.
    pub counts: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_range: 32, buckets: 16, counts: true }
    }
}

/// Where a fluent stands on a board.
#[derive(Clone, Copy)]
struct Place {
    board: usize,
    cell: u32,
    marker: usize,
}

/// The atoms of a game.
pub fn find(game: &Game, settings: &Settings) -> Atoms {
    let (n_fluents, n_bits) = (game.universe.fluents.len(), game.circuit.network.fluents.len());
    Finder { game, settings, places: places(game), taken: vec![false; n_fluents], read: vec![false; n_bits] }.find()
}

fn places(game: &Game) -> Vec<Option<Place>> {
    let mut places = vec![None; game.universe.fluents.len()];
    for (board, found) in game.structure.boards.iter().enumerate() {
        for (marker, contents) in found.markers.iter().enumerate() {
            for &(fluent, cell) in &contents.fluents {
                places[fluent as usize].get_or_insert(Place { board, cell, marker });
            }
        }
    }
    places
}

struct Finder<'a> {
    game: &'a Game,
    settings: &'a Settings,
    places: Vec<Option<Place>>,
    /// The fluents of the universe that are in an atom.
    taken: Vec<bool>,
    /// The fluents of the network that an atom reads.
    read: Vec<bool>,
}

impl Finder<'_> {
    fn find(mut self) -> Atoms {
        let mut atoms = Atoms::default();
        // Step 1. Groups, those first that say most: as many bits as they spare.
        let structure = &self.game.structure;
        let groups = structure.exclusions.iter().filter(|(found, ..)| !found.is_trivial());
        let mut groups: Vec<(f64, &[Vec<u32>], bool)> = groups
            .map(|(found, _, exactly)| {
                let spared = |group: &Vec<u32>| {
                    let n = group.len() as f64;
                    n - (n + f64::from(exactly.is_none())).log2()
                };
                (found.groups.iter().map(spared).sum(), &found.groups[..], exactly.is_some())
            })
            .collect();
        groups.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (_, groups, exactly) in groups {
            if groups.iter().flatten().any(|&fluent| self.taken[fluent as usize]) {
                continue;
            }
            if groups.iter().any(|group| group.len() + usize::from(!exactly) > self.settings.max_range) {
                self.numbers(groups, &mut atoms);
            } else {
                self.group(groups, exactly, &mut atoms);
            }
        }
        // Step 2. What is left stands for itself: the cells of boards by marker, then the rest.
        for board in 0..structure.boards.len() {
            for marker in 0..structure.boards[board].markers.len() {
                let fluents = &structure.boards[board].markers[marker].fluents;
                let free: Vec<Vec<u32>> = fluents
                    .iter()
                    .filter(|(fluent, _)| !self.taken[*fluent as usize])
                    .map(|pair| vec![pair.0])
                    .collect();
                self.group(&free, false, &mut atoms);
            }
        }
        for fluent in 0..self.taken.len() as u32 {
            if !self.taken[fluent as usize] {
                self.group(&[vec![fluent]], false, &mut atoms);
            }
        }
        if self.settings.counts {
            self.counts(&mut atoms);
        }
        atoms
            .layers
            .sort_by_key(|layer| (layer.board, std::cmp::Reverse(layer.cells.iter().flatten().count() * layer.range)));
        for (number, layer) in (0..).zip(&atoms.layers) {
            for &atom in layer.cells.iter().flatten() {
                if let Origin::Cell { layer, .. } = &mut atoms.features[atom as usize].origin {
                    *layer = number;
                }
            }
        }
        atoms
    }

    /// What a fluent of the universe is in the network: a literal, or a constant.
    fn literal(&self, fluent: u32) -> Result<Literal, bool> {
        let wire = self.game.circuit.fluents[fluent as usize];
        match wire {
            Wire::FALSE => Err(false),
            Wire::TRUE => Err(true),
            _ => Ok(Literal { fluent: wire.gate() - 1, holds: !wire.is_inverted() }),
        }
    }

    /// An atom for each group.
    fn group(&mut self, groups: &[Vec<u32>], exactly: bool, atoms: &mut Atoms) {
        groups.iter().flatten().for_each(|&fluent| self.taken[fluent as usize] = true);
        // Step 1. Groups that are cells have the board's contents as values, the empty cell first.
        let place = |fluent: &u32| self.places[*fluent as usize];
        let cell_of = |group: &Vec<u32>| {
            let first = place(group.first()?)?;
            let same = |fluent| place(fluent).is_some_and(|own| (own.board, own.cell) == (first.board, first.cell));
            group.iter().all(same).then_some(first)
        };
        let cells: Option<Vec<Place>> = groups.iter().map(cell_of).collect();
        let cells = cells.filter(|cells| cells.windows(2).all(|pair| pair[0].board == pair[1].board));
        let board = cells.as_ref().and_then(|cells| cells.first()).map(|place| place.board);
        let mut contents: Vec<usize> = groups.iter().flatten().filter_map(place).map(|place| place.marker).collect();
        contents.sort_unstable();
        contents.dedup();
        if let Some(board) = board {
            let blank = self.game.structure.boards[board].blank;
            contents.sort_by_key(|&marker| (Some(marker) != blank, marker));
        }
        let layer = atoms.layers.len() as u32;
        let n_cells = board.map_or(0, |board| self.game.structure.boards[board].cells.len());
        let mut layer_cells = vec![None; n_cells];
        let mut read: Vec<u32> = Vec::new();
        // Step 2. The values.
        for (number, group) in groups.iter().enumerate() {
            let mut values = vec![Value::Otherwise; usize::from(!exactly)];
            let condition = |fluent: u32| match self.literal(fluent) {
                Ok(literal) => Value::Is(literal),
                Err(_) => Value::Never,
            };
            if board.is_some() {
                values.extend(contents.iter().map(|&marker| {
                    let own = group.iter().find(|fluent| place(fluent).is_some_and(|place| place.marker == marker));
                    own.map_or(Value::Never, |&fluent| condition(fluent))
                }));
            } else {
                values.extend(group.iter().map(|&fluent| condition(fluent)));
            }
            let literals =
                values.iter().filter_map(|value| if let Value::Is(own) = value { Some(own.fluent) } else { None });
            let literals: Vec<u32> = literals.collect();
            // Other atoms may say the same, since networks leave out fluents that equal others.
            let known = literals.iter().all(|&fluent| self.read[fluent as usize]);
            if literals.is_empty() || board.is_none() && known {
                continue;
            }
            read.extend(literals);
            let origin = match (&cells, board) {
                (Some(cells), Some(board)) => {
                    layer_cells[cells[number].cell as usize] = Some(atoms.features.len() as u32);
                    Origin::Cell { board: board as u32, layer, cell: cells[number].cell }
                }
                _ if group.len() == 1 => Origin::Fluent,
                _ => Origin::Group,
            };
            atoms.features.push(AtomicFeature { values, origin, terms: Vec::new() });
        }
        read.into_iter().for_each(|fluent| self.read[fluent as usize] = true);
        if let Some(board) = board {
            let range = contents.len() + usize::from(!exactly);
            atoms.layers.push(Layer { board, cells: layer_cells, range });
        }
    }

    /// Groups with many values: buckets along an order, if there is one.
    fn numbers(&mut self, groups: &[Vec<u32>], atoms: &mut Atoms) {
        let structure = &self.game.structure;
        for group in groups {
            let Some(&first) = group.first() else { continue };
            let Some(family) =
                structure.families.iter().position(|family| family.members.binary_search(&first).is_ok())
            else {
                continue;
            };
            let members = &structure.families[family];
            let place = |fluent: u32| -> Option<i32> {
                if let Some((counter, ..)) = structure.counters.iter().find(|(counter, ..)| counter.family == family) {
                    return counter.values.iter().position(|&value| value == fluent).map(|place| place as i32);
                }
                let quantity = structure.quantities.iter().find(|quantity| quantity.family == family)?;
                let member = members.members.binary_search(&fluent).ok()?;
                let order = &structure.orders[quantity.order];
                order.index(members.arguments[member][quantity.value]).map(|place| place as i32)
            };
            let terms: Option<Vec<(Literal, i32)>> =
                group.iter().map(|&fluent| Some((self.literal(fluent).ok()?, place(fluent)?))).collect();
            // Members without a place are rare: values that a counter never reaches.
            let Some(terms) = terms else { continue };
            let most = terms.iter().map(|&(_, place)| place).max().unwrap_or(0);
            group.iter().for_each(|&fluent| self.taken[fluent as usize] = true);
            terms.iter().for_each(|(literal, _)| self.read[literal.fluent as usize] = true);
            atoms.features.push(self.bucketed(terms, most, Origin::Number));
        }
    }

    fn counts(&self, atoms: &mut Atoms) {
        for (board, found) in self.game.structure.boards.iter().enumerate() {
            for (marker, contents) in found.markers.iter().enumerate() {
                let terms: Vec<(Literal, i32)> =
                    contents.fluents.iter().filter_map(|&(fluent, _)| Some((self.literal(fluent).ok()?, 1))).collect();
                if terms.len() > 1 && !contents.is_piece && contents.changes {
                    let origin = Origin::Count { board: board as u32, marker: marker as u32 };
                    let most = terms.len() as i32;
                    atoms.features.push(self.bucketed(terms, most, origin));
                }
            }
        }
    }

    /// Buckets of equal width for the numbers from 0 to `most`.
    fn bucketed(&self, terms: Vec<(Literal, i32)>, most: i32, origin: Origin) -> AtomicFeature {
        let width = (most + 1 + self.settings.buckets as i32 - 1) / self.settings.buckets as i32;
        let values =
            (0..=most).step_by(width as usize).map(|from| Value::Between(from, (from + width - 1).min(most))).collect();
        AtomicFeature { values, origin, terms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::bits::transpose;
    use crate::pattern::testing::{game, random_states};

    /// Cells are found, and hold one thing in all of many states; columns say what states say.
    fn check_cells(name: &str, n_cells: usize, range: usize, n_states: usize) {
        let game = game(name);
        let atoms = find(&game, &Settings::default());
        let layer = &atoms.layers[0];
        assert_eq!((layer.cells.iter().flatten().count(), layer.range), (n_cells, range), "{name}");
        let (states, words) = random_states(&game, n_states, 7);
        let columns = transpose(&states, words, game.circuit.network.fluents.len());
        for (number, atom) in atoms.features.iter().enumerate() {
            let own = atom.columns(&columns);
            let n: u32 = own.iter().map(Bits::count).sum();
            assert_eq!(n as usize, states.len() / words, "{name}: values exclude each other");
            for (at, state) in states.chunks(words).enumerate().step_by(97) {
                assert!(own[atom.value(state)].get(at), "{name}: atom {number}");
                if !atom.is_bucketed() {
                    let (constant, added) = atom.linear(|value| 10 * value as i32 + 3);
                    let holds = |fluent: u32| state[fluent as usize / 64] >> (fluent % 64) & 1 == 1;
                    let sum: i32 = added.iter().filter(|(fluent, _)| holds(*fluent)).map(|(_, more)| more).sum();
                    assert_eq!(constant + sum, 10 * atom.value(state) as i32 + 3);
                }
            }
            // No state has two values, and one where there has to be one.
            let literals = atom.values.iter().filter_map(|value| match value {
                Value::Is(Literal { fluent, holds: true }) => Some(columns[*fluent as usize].clone()),
                Value::Is(Literal { fluent, holds: false }) => Some(columns[*fluent as usize].not()),
                _ => None,
            });
            let literals: Vec<Bits> = literals.collect();
            let total: u32 = literals.iter().map(Bits::count).sum();
            let any = literals.iter().fold(Bits::zeros(columns[0].len()), |any, column| any.or(column)).count();
            assert_eq!(total, any, "{name}: the group of atom {number} is violated");
            if !atom.is_bucketed() && atom.values[0] != Value::Otherwise {
                assert_eq!(any as usize, columns[0].len(), "{name}: atom {number} always has a value");
            }
        }
    }

    #[test]
    fn tic_tac_toe_has_nine_cells() {
        check_cells("tic-tac-toe", 9, 3, 100_000);
    }

    #[test]
    fn connect_four_has_cells() {
        check_cells("connect-four", 42, 3, 100_000);
    }

    #[test]
    fn othello_has_cells_with_the_same_values() {
        check_cells("othello", 64, 3, 100_000);
    }

    #[test]
    fn chess_has_cells() {
        check_cells("chess", 64, 13, 100_000);
    }

    #[test]
    fn every_fluent_is_read_by_an_atom() {
        for name in ["tic-tac-toe", "checkers", "hex-5", "nim-4-heaps", "hanoi", "lights-out-5x5"] {
            let game = game(name);
            let atoms = find(&game, &Settings::default());
            let mut read = vec![false; game.circuit.network.fluents.len()];
            for atom in &atoms.features {
                for value in &atom.values {
                    if let Value::Is(literal) = value {
                        read[literal.fluent as usize] = true;
                    }
                }
                atom.terms.iter().for_each(|(literal, _)| read[literal.fluent as usize] = true);
            }
            assert!(read.iter().all(|&read| read), "{name}");
        }
    }
}
