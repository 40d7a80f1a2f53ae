//! Fuzzy formulas about square states: the feature language of Duminy 2006.
//!
//! A ground feature says which part of a set of squares is in one of a set of states, as a number between 0 and 1; negation
//! is one less the number, conjunction the least and disjunction the greatest of several. An evaluation function is a
//! weighted sum of formulas, set against the same sum from the other side's view. Beyond Duminy's language, ground features may
//! ask whether a count reaches a number, or is so far ahead of the other side's; and a function may say that it is to be read as
//! a chance to win ([`Output`]).
//!
//! ```text
//! game checkers
//! phase 0 {
//!   0.75 * ({o*,O*}@r1)
//!   0.25 * ((~({o4,o6}@all)) & (x2@(3,5)))
//! }
//! ```
//!
//! [`text`] reads and writes them, [`Vocabulary`] says what their names mean on a board, and [`compile`] makes programs over
//! bit masks of them.

pub mod compile;
pub mod text;

use insight::structure::board::Board;

use super::squares::{Squares, StateId};
use crate::game::Game;
pub use compile::{Compiled, Output};

/// A formula as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// `state@square`: 1 if the square is in the state, else 0.
    Atomic(String, Vec<u32>),
    /// `{states}@squares`: how many of the squares are in one of the states, as a part of how many could be.
    Fuzzy(Vec<Pattern>, Place),
    /// `{states}@squares>=5`, `{states}@squares+>=2`: 1 if the test of how many of the squares are in one of the states holds,
    /// else 0.
    Count(Vec<Pattern>, Place, Test),
    /// One less the value.
    Not(Box<Formula>),
    /// The least value; at least two.
    And(Vec<Formula>),
    /// The greatest value; at least two.
    Or(Vec<Formula>),
}

/// What is asked of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// It is at least this.
    AtLeast(i32),
    /// Less the same count as the other side sees it, it is at least this.
    Ahead(i32),
}

/// One state, or all with the same letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `x3`
    State(String),
    /// `x*`
    Letters(String),
}

/// Some squares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A region by its name.
    Region(String),
    /// Squares by their coordinates, from 1; `None` stands for all values.
    Squares(Vec<Vec<Option<u32>>>),
}

/// A weighted sum of formulas for each phase of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The game's name.
    pub game: String,
    /// How its two sums are read.
    pub output: Output,
    /// Phases, ascending, each with its terms.
    pub phases: Vec<(u32, Vec<(f64, Formula)>)>,
}

/// What can be counted at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cardinalities {
    /// For each state, the most squares that are in it.
    pub states: Vec<u32>,
    /// Sets of states that compete for pieces or squares, each with the most squares that are in one of them. Each state is in
    /// one set.
    pub sets: Vec<(Vec<StateId>, u32)>,
}

impl Cardinalities {
    /// No bounds but the number of squares; the sets are the empty squares, others' pieces, own pieces, and pieces of nobody.
    pub fn unbounded(squares: &Squares) -> Cardinalities {
        let n = squares.n_squares as u32;
        let sets = squares.classes().into_iter().map(|set| (set, n)).collect();
        Cardinalities { states: vec![n; squares.names.len()], sets }
    }

    /// Lowers nothing and raises what was exceeded. To be called with all positions that are known, beginning with zeros
    /// ([`Cardinalities::none`]).
    pub fn include(&mut self, states: &[StateId]) {
        let counts = self.counts(states);
        for (bound, &count) in self.states.iter_mut().zip(&counts) {
            *bound = (*bound).max(count);
        }
        for (set, bound) in &mut self.sets {
            *bound = (*bound).max(set.iter().map(|state| counts[state.0 as usize]).sum());
        }
    }

    /// Bounds that nothing keeps to.
    pub fn none(squares: &Squares) -> Cardinalities {
        let mut none = Cardinalities::unbounded(squares);
        none.states.fill(0);
        none.sets.iter_mut().for_each(|(_, bound)| *bound = 0);
        none
    }

    fn counts(&self, states: &[StateId]) -> Vec<u32> {
        let mut counts = vec![0; self.states.len()];
        states.iter().for_each(|state| counts[state.0 as usize] += 1);
        counts
    }

    /// The states of which a position has more than their bounds allow.
    pub fn exceeded(&self, states: &[StateId]) -> Vec<StateId> {
        let counts = self.counts(states);
        let over = (0..counts.len()).filter(|&state| counts[state] > self.states[state]);
        over.map(|state| StateId(state as u16)).collect()
    }

    /// The most squares that are in one of these states, as far as the bounds tell.
    pub fn limit(&self, states: &[StateId]) -> u32 {
        let of_set = |(set, bound): &(Vec<StateId>, u32)| {
            let own = states.iter().filter(|state| set.contains(state));
            own.map(|state| self.states[state.0 as usize]).sum::<u32>().min(*bound)
        };
        self.sets.iter().map(of_set).sum()
    }
}

/// What names mean on a board.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The names of the states.
    pub states: Vec<String>,
    /// Each state as the other side sees it.
    pub flipped_states: Vec<StateId>,
    /// The coordinates of each square, from 1.
    pub squares: Vec<Vec<u32>>,
    /// The square that has each square's place for the other side.
    pub flipped_squares: Vec<usize>,
    /// Regions: a name and squares.
    pub regions: Vec<(String, Vec<usize>)>,
    /// What can be counted at most.
    pub cardinalities: Cardinalities,
    /// How many pieces there are at first.
    pub n_pieces: u32,
    /// Which states have a piece.
    pieces: Vec<bool>,
}

impl Vocabulary {
    /// The vocabulary of a board of a game.
    pub fn new(game: &Game, squares: &Squares, cardinalities: Cardinalities) -> Vocabulary {
        let board = &game.structure.boards[squares.board];
        let n_states = squares.names.len() as u16;
        let mut first = Vec::new();
        squares.observer().look_at(&game.universe.initial).states(0, 0, &mut first);
        let pieces: Vec<bool> = (0..n_states).map(|state| squares.is_piece(StateId(state))).collect();
        Vocabulary {
            states: squares.names.clone(),
            flipped_states: (0..n_states).map(|state| squares.flip(StateId(state))).collect(),
            squares: coordinates(board),
            flipped_squares: (0..squares.n_squares).map(|square| squares.flip_square(square)).collect(),
            regions: regions(board),
            cardinalities,
            n_pieces: first.iter().filter(|state| pieces[state.0 as usize]).count() as u32,
            pieces,
        }
    }

    /// How many pieces have left the board, or come to it where there were none at first.
    pub fn phase(&self, states: &[StateId]) -> u32 {
        let now = states.iter().filter(|state| self.pieces[state.0 as usize]).count() as u32;
        self.n_pieces.abs_diff(now)
    }

    /// How many phases there are: both sides have a piece until the end.
    pub fn n_phases(&self) -> u32 {
        if self.n_pieces > 2 { self.n_pieces - 1 } else { self.squares.len() as u32 + 1 }
    }

    /// What a formula means here.
    ///
    /// # Errors
    /// A name that means nothing, or a ground feature without states or squares.
    pub fn resolve(&self, formula: &Formula) -> Result<Meaning, String> {
        let each = |parts: &[Formula]| parts.iter().map(|part| self.resolve(part)).collect::<Result<Vec<_>, _>>();
        Ok(match formula {
            Formula::Atomic(state, square) => {
                let wanted: Vec<Option<u32>> = square.iter().copied().map(Some).collect();
                Meaning::Ground(Ground {
                    states: self.matching(&Pattern::State(state.clone()))?,
                    squares: self.fitting(&wanted)?,
                    scale: Scale::Part(1),
                })
            }
            Formula::Fuzzy(patterns, place) => {
                let (states, squares) = self.counted(patterns, place)?;
                let limit = self.cardinalities.limit(&states).min(squares.len() as u32).max(1);
                Meaning::Ground(Ground { states, squares, scale: Scale::Part(limit) })
            }
            Formula::Count(patterns, place, test) => {
                let (states, squares) = self.counted(patterns, place)?;
                let scale = match *test {
                    Test::AtLeast(least) => Scale::AtLeast(least),
                    Test::Ahead(least) => {
                        let (states, squares) = self.turned(&states, &squares);
                        Scale::Ahead { least, states, squares }
                    }
                };
                Meaning::Ground(Ground { states, squares, scale })
            }
            Formula::Not(inner) => Meaning::Not(Box::new(self.resolve(inner)?)),
            Formula::And(parts) => Meaning::And(each(parts)?),
            Formula::Or(parts) => Meaning::Or(each(parts)?),
        })
    }

    /// The states and squares of a ground feature, ascending.
    fn counted(&self, patterns: &[Pattern], place: &Place) -> Result<(Vec<StateId>, Vec<usize>), String> {
        let mut states: Vec<StateId> = Vec::new();
        for pattern in patterns {
            states.extend(self.matching(pattern)?);
        }
        states.sort_unstable();
        states.dedup();
        let mut squares = match place {
            Place::Region(name) => {
                let region = self.regions.iter().find(|(other, _)| other == name);
                region.ok_or_else(|| format!("there is no region `{name}`"))?.1.clone()
            }
            Place::Squares(wanted) => {
                let each = wanted.iter().map(|wanted| self.fitting(wanted)).collect::<Result<Vec<_>, _>>()?;
                each.concat()
            }
        };
        squares.sort_unstable();
        squares.dedup();
        if states.is_empty() || squares.is_empty() {
            return Err("a ground feature needs at least one state and one square".to_owned());
        }
        Ok((states, squares))
    }

    /// States and squares as the other side sees them, ascending.
    fn turned(&self, states: &[StateId], squares: &[usize]) -> (Vec<StateId>, Vec<usize>) {
        let mut states: Vec<StateId> = states.iter().map(|state| self.flipped_states[state.0 as usize]).collect();
        let mut squares: Vec<usize> = squares.iter().map(|&square| self.flipped_squares[square]).collect();
        states.sort_unstable();
        squares.sort_unstable();
        (states, squares)
    }

    fn matching(&self, pattern: &Pattern) -> Result<Vec<StateId>, String> {
        let letters = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let fits = |name: &str| match pattern {
            Pattern::State(state) => name == state,
            Pattern::Letters(wanted) => letters(name) == *wanted,
        };
        let all = self.states.iter().zip(0..).filter(|(name, _)| fits(name)).map(|(_, state)| StateId(state));
        let found: Vec<StateId> = all.collect();
        if found.is_empty() { Err(format!("there is no state `{}`", text::pattern(pattern))) } else { Ok(found) }
    }

    fn fitting(&self, wanted: &[Option<u32>]) -> Result<Vec<usize>, String> {
        let fits = |square: &Vec<u32>| {
            square.len() == wanted.len()
                && square.iter().zip(wanted).all(|(at, wanted)| wanted.is_none_or(|wanted| wanted == *at))
        };
        let found: Vec<usize> = (0..self.squares.len()).filter(|&square| fits(&self.squares[square])).collect();
        if found.is_empty() { Err(format!("there is no square {}", text::square(wanted))) } else { Ok(found) }
    }

    /// A formula's meaning as the other side would say it.
    pub fn flip(&self, meaning: &Meaning) -> Meaning {
        let each = |parts: &[Meaning]| parts.iter().map(|part| self.flip(part)).collect();
        match meaning {
            Meaning::Ground(ground) => {
                let (states, squares) = self.turned(&ground.states, &ground.squares);
                let scale = match &ground.scale {
                    Scale::Ahead { least, .. } => {
                        Scale::Ahead { least: *least, states: ground.states.clone(), squares: ground.squares.clone() }
                    }
                    other => other.clone(),
                };
                Meaning::Ground(Ground { states, squares, scale })
            }
            Meaning::Not(inner) => Meaning::Not(Box::new(self.flip(inner))),
            Meaning::And(parts) => Meaning::And(each(parts)),
            Meaning::Or(parts) => Meaning::Or(each(parts)),
        }
    }

    /// A position as the other side sees it.
    pub fn flip_position(&self, states: &[StateId]) -> Vec<StateId> {
        let mut flipped = vec![StateId(0); states.len()];
        for (square, state) in states.iter().enumerate() {
            flipped[self.flipped_squares[square]] = self.flipped_states[state.0 as usize];
        }
        flipped
    }
}

/// A ground feature on a board.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ground {
    /// The states, ascending.
    pub states: Vec<StateId>,
    /// The squares, ascending.
    pub squares: Vec<usize>,
    /// What becomes of the count.
    pub scale: Scale,
}

/// What becomes of a count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scale {
    /// A part of the most squares that count; at least 1.
    Part(u32),
    /// 1 from this number on, else 0.
    AtLeast(i32),
    /// 1 if it is at least so much more than the number of other squares in other states, else 0: what the other side counts.
    Ahead {
        /// How much more.
        least: i32,
        /// The other states, ascending.
        states: Vec<StateId>,
        /// The other squares, ascending.
        squares: Vec<usize>,
    },
}

/// A formula on a board.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Meaning {
    Ground(Ground),
    Not(Box<Meaning>),
    And(Vec<Meaning>),
    Or(Vec<Meaning>),
}

impl Meaning {
    /// The value in a position, as the definition says.
    pub fn value(&self, states: &[StateId]) -> f64 {
        match self {
            Meaning::Ground(ground) => {
                let count = |wanted: &[StateId], squares: &[usize]| {
                    squares.iter().filter(|&&square| wanted.contains(&states[square])).count() as i32
                };
                let own = count(&ground.states, &ground.squares);
                let truth = |holds: bool| f64::from(u8::from(holds));
                match &ground.scale {
                    Scale::Part(limit) => (f64::from(own) / f64::from(*limit)).min(1.0),
                    Scale::AtLeast(least) => truth(own >= *least),
                    Scale::Ahead { least, states, squares } => truth(own - count(states, squares) >= *least),
                }
            }
            Meaning::Not(inner) => 1.0 - inner.value(states),
            Meaning::And(parts) => parts.iter().map(|part| part.value(states)).fold(1.0, f64::min),
            Meaning::Or(parts) => parts.iter().map(|part| part.value(states)).fold(0.0, f64::max),
        }
    }
}

/// The coordinates of each cell as places on the axes, from 1.
fn coordinates(board: &Board) -> Vec<Vec<u32>> {
    let place = |axis: usize, value| {
        let at = board.axes[axis].values.iter().position(|other| other == value);
        at.expect("a cell has values of the axes") as u32 + 1
    };
    board.cells.iter().map(|cell| cell.iter().enumerate().map(|(axis, value)| place(axis, value)).collect()).collect()
}

/// The regions of a board: `all`; on a board of two ordered coordinates ranks `r`, files `f`, falling diagonals `bd`, rising
/// ones `fd` from the upper left on, rings `cc` from the centre on; on others lines `l` by coordinate and place.
pub fn regions(board: &Board) -> Vec<(String, Vec<usize>)> {
    let squares = coordinates(board);
    let mut regions = vec![("all".to_owned(), (0..squares.len()).collect::<Vec<usize>>())];
    let mut add = |name: &str, key: &dyn Fn(&[u32]) -> i64| {
        let mut keys: Vec<i64> = squares.iter().map(|square| key(square)).collect();
        keys.sort_unstable();
        keys.dedup();
        for (index, wanted) in keys.iter().enumerate() {
            let cells = (0..squares.len()).filter(|&square| key(&squares[square]) == *wanted).collect();
            regions.push((format!("{name}{}", index + 1), cells));
        }
    };
    if board.axes.len() == 2 && board.is_ordered() {
        let n: Vec<i64> = board.axes.iter().map(|axis| axis.values.len() as i64).collect();
        let at = |square: &[u32], axis: usize| i64::from(square[axis]);
        add("r", &|square| at(square, 1));
        add("f", &|square| at(square, 0));
        add("bd", &|square| at(square, 0) + at(square, 1));
        add("fd", &|square| at(square, 0) - at(square, 1));
        let border = |square: &[u32], axis: usize| (at(square, axis) - 1).min(n[axis] - at(square, axis));
        add("cc", &|square| -border(square, 0).min(border(square, 1)));
    } else {
        for axis in 0..board.axes.len() {
            add(&format!("l{}x", axis + 1), &move |square: &[u32]| i64::from(square[axis]));
        }
    }
    regions
}

#[cfg(test)]
mod tests;
