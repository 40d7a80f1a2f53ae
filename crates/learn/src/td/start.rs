//! Starts by chance, for games of pieces on a board.
//!
//! Matches that all begin in the same state say little where that state is decided, and a learner meets little of the game in them.
//! So Kuhlmann (2010) begins matches of Minichess anywhere: each piece stands on any cell, and the step counter may have gone on.

use std::collections::BTreeSet;

use features::game::Game;
use machine::network::Wire;
use machine::scalar::{Compiled, Scalar};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::legal_moves;

/// States to begin matches in: every piece on any cell, and beside the board whatever was there at some time of a match by chance (a
/// step counter with the turn that belongs to it, say). In all of them the match goes on and each role has a legal move.
pub struct Starts {
    machine: Scalar,
    /// For each cell the fluent that says that it is blank, if there is one, and for each piece the fluents that put it there.
    blank: Vec<Option<Wire>>,
    pieces: Vec<Vec<Wire>>,
    /// What may be beside the board; nothing is on it.
    beside: Vec<Vec<u64>>,
}

/// Matches by chance that are looked at, and the most joint moves of each.
const MATCHES: usize = 200;
const PLIES: usize = 200;
/// The most that may be there beside the board.
const MOST: usize = 1_000;

impl Starts {
    /// The starts of a game whose one board holds nothing but pieces, each of them at any time. `None` for other games, or where too
    /// much else changes.
    pub fn new(game: &Game) -> Option<Starts> {
        let [board] = &game.structure.boards[..] else { return None };
        // Step 1. Where pieces may stand.
        let wire = |fluent: u32| game.circuit.fluents[fluent as usize];
        let by_cell = |marker: usize| {
            let mut wires = vec![None; board.cells.len()];
            board.markers[marker].fluents.iter().for_each(|&(fluent, cell)| wires[cell as usize] = Some(wire(fluent)));
            wires
        };
        let blank = board.blank.map_or_else(|| vec![None; board.cells.len()], by_cell);
        let mut pieces = Vec::new();
        for marker in (0..board.markers.len()).filter(|&marker| board.blank != Some(marker)) {
            let wires: Vec<Wire> = by_cell(marker).into_iter().collect::<Option<_>>()?;
            let is_always_there = board.markers[marker].is_piece && board.markers[marker].mean_count == 1.0;
            // A fluent that never changes is no place to go to.
            if !is_always_there || wires.iter().any(|wire| wire.gate() == 0) {
                return None;
            }
            pieces.push(wires);
        }
        if pieces.is_empty() || pieces.len() > board.cells.len() {
            return None;
        }
        // Step 2. What else there is, at any time of a match.
        let machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
        let mut starts = Starts { machine, blank, pieces, beside: Vec::new() };
        starts.beside = starts.all_beside()?;
        Some(starts)
    }

    fn all_beside(&mut self) -> Option<Vec<Vec<u64>>> {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut found: BTreeSet<Vec<u64>> = BTreeSet::new();
        let initial = self.machine.compiled().initial().to_vec();
        for _ in 0..MATCHES {
            self.machine.jump(&initial);
            for _ in 0..PLIES {
                let mut state = self.machine.bits().to_vec();
                let wires = self.pieces.iter().flatten().chain(self.blank.iter().flatten());
                wires.for_each(|&wire| set(&mut state, wire, false));
                found.insert(state);
                let legal = legal_moves(&self.machine);
                if self.machine.terminal() || legal.iter().any(Vec::is_empty) {
                    break;
                }
                let joint: Vec<u32> = legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
                self.machine.make(&joint);
            }
        }
        (found.len() <= MOST).then(|| found.into_iter().collect())
    }

    /// The state with pieces on these cells, if matches may begin there.
    fn state(&mut self, cells: &[usize], beside: usize) -> Option<Box<[u64]>> {
        let mut state = self.beside[beside].clone();
        self.blank.iter().flatten().for_each(|&wire| set(&mut state, wire, true));
        for (wires, &cell) in self.pieces.iter().zip(cells) {
            if let Some(wire) = self.blank[cell] {
                set(&mut state, wire, false);
            }
            set(&mut state, wires[cell], true);
        }
        self.machine.jump(&state);
        let goes_on = !self.machine.terminal() && legal_moves(&self.machine).iter().all(|moves| !moves.is_empty());
        goes_on.then(|| state.into())
    }

    /// A start, each as likely as any other. `None` if there are hardly any.
    pub fn draw(&mut self, random: &mut impl Rng) -> Option<Box<[u64]>> {
        /// How often it is tried.
        const TRIES: usize = 10_000;
        for _ in 0..TRIES {
            let mut cells: Vec<usize> = Vec::new();
            while cells.len() < self.pieces.len() {
                let cell = random.random_range(0..self.blank.len());
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
            let beside = random.random_range(0..self.beside.len());
            if let Some(state) = self.state(&cells, beside) {
                return Some(state);
            }
        }
        None
    }

    /// All starts.
    pub fn all(&mut self) -> Vec<Box<[u64]>> {
        let mut placed: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..self.pieces.len() {
            let free = |cells: &Vec<usize>| {
                let cells = cells.clone();
                let next = (0..self.blank.len()).filter(move |cell| !cells.contains(cell));
                next.collect::<Vec<_>>()
            };
            placed = (placed.iter())
                .flat_map(|cells| free(cells).into_iter().map(|cell| cells.iter().copied().chain([cell]).collect()))
                .collect();
        }
        let mut states = Vec::new();
        for cells in &placed {
            states.extend((0..self.beside.len()).filter_map(|beside| self.state(cells, beside)));
        }
        states
    }
}

/// Makes a fluent hold in a state, or not. What never changes stays as it is.
fn set(state: &mut [u64], wire: Wire, holds: bool) {
    if let Some(fluent) = wire.gate().checked_sub(1) {
        let (word, bit) = (fluent as usize / 64, fluent % 64);
        state[word] = state[word] & !(1 << bit) | u64::from(holds != wire.is_inverted()) << bit;
    }
}

#[cfg(test)]
mod tests {
    use machine::RoleId;
    use rustc_hash::{FxHashMap, FxHashSet};

    use super::*;
    use crate::td::testing::game;

    /// Whether White can force a win: by one of his moves, and after all of Black's.
    fn is_won(machine: &mut Scalar, known: &mut FxHashMap<u128, bool>) -> bool {
        if machine.terminal() {
            return machine.goal(RoleId(0)) == Some(100);
        }
        let key = machine.hash();
        if let Some(&is_known) = known.get(&key) {
            return is_known;
        }
        let legal = legal_moves(machine);
        let joints = legal[0].iter().flat_map(|&white| legal[1].iter().map(move |&black| [white, black]));
        let mut after = joints.map(|joint| {
            machine.make(&joint);
            let after = is_won(machine, known);
            machine.unmake();
            after
        });
        let found = if legal[1].len() == 1 { after.any(|won| won) } else { after.all(|won| won) };
        drop(after);
        known.insert(key, found);
        found
    }

    /// Three pieces stand on any of 16 cells and nine steps may have been made; in 2,704 of 3,360 placements Black can move. White can force
    /// a win in 48.4 % of these states (recomputed elsewhere from the rules).
    #[test]
    fn half_of_the_starts_of_minichess_are_won() {
        let game = game("minichess");
        let mut starts = Starts::new(&game).expect("pieces on a board");
        let all = starts.all();
        assert_eq!(all.len(), 24_336);
        let known: FxHashSet<&[u64]> = all.iter().map(|state| &**state).collect();
        assert_eq!(known.len(), all.len());
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let drawn: Vec<_> = (0..100).map(|_| starts.draw(&mut random).expect("there are starts")).collect();
        assert!(drawn.iter().all(|state| known.contains(&**state)));
        assert!(drawn.iter().collect::<FxHashSet<_>>().len() > 90);
        let mut machine = Scalar::new(Compiled::new(game.circuit.network.clone()));
        let mut known = FxHashMap::default();
        let mut n_won = 0;
        for state in &all {
            machine.jump(state);
            n_won += usize::from(is_won(&mut machine, &mut known));
        }
        let share = n_won as f64 / all.len() as f64;
        assert!((share - 0.484).abs() < 0.0005, "{n_won} are won, {share}");
    }

    /// Where markers stand in many cells, or pieces leave the board, there are no such starts.
    #[test]
    fn other_games_have_none() {
        for name in ["tic-tac-toe", "checkers-5x5-4", "nim-5"] {
            assert!(Starts::new(&game(name)).is_none(), "{name}");
        }
    }
}
