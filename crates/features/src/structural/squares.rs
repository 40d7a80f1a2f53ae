//! Observable square states: what can be seen of a cell by looking at the board and knowing how pieces go.
//!
//! Duminy 2006 lists 44 states of a square of Checkers by hand: an empty square by who can move there and who can capture
//! on arriving there, a piece by whether it can be captured, can move and can capture. Here the same is derived from the
//! rules of any game with a board, by what moves *would* do ([`super::effects`]). States are seen from a role: its own pieces
//! are `o`, the others' `x`; what it can reach is `p`, what the others can reach is `a`. (In the thesis the role that looks
//! is the one that has just moved, the passive one.)
//!
//! | state | means |
//! |---|---|
//! | `n` | empty, nobody can get there |
//! | `a1 a2 a3` | empty; others can get there without capturing (1), by capturing (2), both ways (3) |
//! | `p1 p2 p3` | the same for the role that looks |
//! | `b1` to `b9` | empty; both can get there: three times (the others' number less one), plus the own number |
//! | `x0` to `x7` | a piece of others: 4 if it can be captured, plus 2 if it can move, plus 1 if it can capture |
//! | `o0` to `o7` | the same for an own piece; `w0` to `w7` for a piece of nobody |
//!
//! Further kinds of pieces have the letters `X`, `xc`, `xd` and so on.

use std::sync::Arc;

use insight::structure::board::Board;
use insight::symmetry;
use machine::lanes::{self, Lanes, Vector};
use machine::network::Wire;
use rustc_hash::FxHashMap;

use super::effects::{self, Change, Effects};
use crate::game::Game;

/// A square state: an index into [`Squares::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(pub u16);

/// The board seen from the other side: a symmetry that swaps two roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The image of each marker of the board.
    pub markers: Vec<usize>,
    /// The image of each cell.
    pub cells: Vec<u32>,
}

/// What can be seen of the squares of a board.
pub struct Squares {
    /// The board, by its place in the structure.
    pub board: usize,
    /// The names of all states, whether they can occur or not.
    pub names: Vec<String>,
    /// How many squares there are.
    pub n_squares: usize,
    /// How the second of two roles sees the board as the first does.
    pub mirror: Option<Mirror>,
    n_roles: usize,
    n_kinds: usize,
    /// For each square, the fluents of what may stand there with its owner and its kind.
    contents: Vec<Vec<(u32, Option<u32>, usize)>>,
    compiled: Arc<lanes::Compiled>,
    /// The wire of each fluent of the universe.
    fluents: Vec<Wire>,
    /// For each square: reach without and with a capture of each role, then whether what stands there can be captured, can
    /// move, can capture.
    wires: Vec<Vec<Wire>>,
}

/// The states of empty squares come first.
const N_EMPTY: usize = 16;

/// Whether a marker's owner is another role, the role that looks, or nobody.
const CLASSES: [(&str, &str); 3] = [("x", "X"), ("o", "O"), ("w", "W")];

fn letters(class: usize, kind: usize) -> String {
    let (first, second) = CLASSES[class];
    match kind {
        0 => first.to_owned(),
        1 => second.to_owned(),
        _ => format!("{first}{}", letter(kind)),
    }
}

fn letter(kind: usize) -> String {
    let mut text = String::new();
    let mut rest = kind;
    loop {
        text.insert(0, char::from(b'a' + (rest % 26) as u8));
        if rest < 26 {
            return text;
        }
        rest = rest / 26 - 1;
    }
}

fn empty_name(others: usize, own: usize) -> String {
    match (others, own) {
        (0, 0) => "n".to_owned(),
        (others, 0) => format!("a{others}"),
        (0, own) => format!("p{own}"),
        (others, own) => format!("b{}", 3 * (others - 1) + own),
    }
}

/// The board of a game for two roles as the second sees it: a proved symmetry that swaps the roles and takes cells to
/// cells and markers to markers. Of several, one that keeps the first position and moves few cells.
pub fn mirror(game: &Game, board: usize, seed: u64) -> Option<Mirror> {
    let ground = game.circuit.ground.as_ref().filter(|_| game.universe.roles.len() == 2)?;
    let found = symmetry::find(ground, Some(&game.circuit.network), &symmetry::Budget::default(), seed);
    let all = found.group.as_ref().and_then(|group| group.elements(1_024));
    let board = &game.structure.boards[board];
    let number: FxHashMap<gdl::TermId, u32> = game.universe.fluents.iter().copied().zip(0..).collect();
    let own: Vec<Option<u32>> = ground.fluents.iter().map(|fluent| number.get(fluent).copied()).collect();
    let mut mirrors = Vec::new();
    for symmetry in all.iter().flatten().chain(&found.generators).filter(|symmetry| symmetry.roles == [1, 0]) {
        let mut image = vec![None; game.universe.fluents.len()];
        for (fluent, &to) in symmetry.fluents.iter().enumerate() {
            if let (Some(from), Some(to)) = (own[fluent], own[to as usize]) {
                image[from as usize] = Some(to);
            }
        }
        let Some(mirror) = on_board(board, &image) else { continue };
        let moved = mirror.cells.iter().enumerate().filter(|&(cell, &to)| cell as u32 != to).count();
        mirrors.push((!symmetry.fixes_initial, moved, mirror));
    }
    let least =
        mirrors.into_iter().min_by(|one, other| (one.0, one.1, &one.2.cells).cmp(&(other.0, other.1, &other.2.cells)));
    least.map(|(.., mirror)| mirror)
}

/// What a permutation of fluents does to markers and cells; `None` if it does not permute them.
fn on_board(board: &Board, image: &[Option<u32>]) -> Option<Mirror> {
    let mut place: FxHashMap<u32, (usize, u32)> = FxHashMap::default();
    for (index, marker) in board.markers.iter().enumerate() {
        place.extend(marker.fluents.iter().map(|&(fluent, cell)| (fluent, (index, cell))));
    }
    let (mut markers, mut cells) = (vec![None; board.markers.len()], vec![None; board.cells.len()]);
    for (&fluent, &(marker, cell)) in &place {
        let &(to_marker, to_cell) = place.get(&image[fluent as usize]?)?;
        if *markers[marker].get_or_insert(to_marker) != to_marker
            || *cells[cell as usize].get_or_insert(to_cell) != to_cell
        {
            return None;
        }
    }
    Some(Mirror {
        markers: markers.into_iter().collect::<Option<_>>()?,
        cells: cells.into_iter().collect::<Option<_>>()?,
    })
}

/// Finds what can be seen of the squares of a board. With a [`mirror`], the same states mean the same to both roles.
///
/// # Errors
/// Why what moves do could not be found out.
pub fn find(game: &Game, board: usize, mirror: Option<Mirror>, budget: &effects::Budget) -> Result<Squares, String> {
    let index = board;
    let board = &game.structure.boards[board];
    // Step 1. What stands on squares: the markers of the main layer, or of all if that has but one.
    let main = board.markers.iter().any(|marker| marker.layer == 0 && board.layers[0].one_per_cell);
    let stands = |marker: usize| (!main || board.markers[marker].layer == 0) && board.blank != Some(marker);
    let kinds = kinds(game, board, mirror.as_ref(), &stands);
    let mut contents = vec![Vec::new(); board.cells.len()];
    for (marker, kind) in kinds.iter().enumerate() {
        if let Some(kind) = *kind {
            let of = &board.markers[marker];
            of.fluents.iter().for_each(|&(fluent, cell)| contents[cell as usize].push((fluent, of.owner, kind)));
        }
    }
    // Step 2. What moves would do to them.
    let mut watched = vec![false; game.universe.fluents.len()];
    contents.iter().flatten().for_each(|&(fluent, ..)| watched[fluent as usize] = true);
    let mut effects = effects::find(game, &watched, budget)?;
    let wires = properties(game, &contents, &mut effects);
    // Step 3. Names.
    let n_kinds = kinds.iter().flatten().max().map_or(0, |most| most + 1);
    let mut names: Vec<String> = (0..N_EMPTY).map(|state| empty_name(state / 4, state % 4)).collect();
    for class in 0..CLASSES.len() {
        for kind in 0..n_kinds {
            names.extend((0..8).map(|digit| format!("{}{digit}", letters(class, kind))));
        }
    }
    let mut network = effects.network;
    network.views.clear();
    network.formulas = wires.iter().flatten().copied().collect();
    Ok(Squares {
        board: index,
        names,
        n_squares: board.cells.len(),
        mirror,
        n_roles: game.universe.roles.len(),
        n_kinds,
        contents,
        compiled: lanes::Compiled::new(Arc::new(network)),
        fluents: effects.fluents,
        wires,
    })
}

/// The kind of each marker that stands on squares. A role's kinds are numbered by how many there are at first and on
/// average; an image in the mirror has the number of what it is the image of.
fn kinds(game: &Game, board: &Board, mirror: Option<&Mirror>, stands: &impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut kinds = vec![None; board.markers.len()];
    let owners = (0..game.universe.roles.len() as u32).map(Some).chain([None]);
    for owner in owners {
        let of_owner = |&marker: &usize| board.markers[marker].owner == owner && stands(marker);
        let mut own: Vec<usize> = (0..board.markers.len()).filter(of_owner).collect();
        let at_first = |marker: usize| {
            let fluents = board.markers[marker].fluents.iter();
            fluents.filter(|&&(fluent, _)| game.universe.initial[fluent as usize]).count()
        };
        own.sort_by(|&one, &other| {
            let mean = |marker: usize| board.markers[marker].mean_count;
            (at_first(other).cmp(&at_first(one))).then(mean(other).total_cmp(&mean(one))).then(one.cmp(&other))
        });
        let mirrored = |marker: usize| mirror.and_then(|mirror| kinds[mirror.markers[marker]]);
        let known: Vec<Option<usize>> = own.iter().map(|&marker| mirrored(marker)).collect();
        let mut free = (0..).filter(|kind| !known.contains(&Some(*kind)));
        let numbers: Vec<usize> =
            known.iter().map(|known| known.unwrap_or_else(|| free.next().expect("there are many numbers"))).collect();
        own.iter().zip(numbers).for_each(|(&marker, kind)| kinds[marker] = Some(kind));
    }
    kinds
}

/// The wires of each square's properties.
fn properties(game: &Game, contents: &[Vec<(u32, Option<u32>, usize)>], effects: &mut Effects) -> Vec<Vec<Wire>> {
    let n_roles = game.universe.roles.len();
    let mut at: FxHashMap<u32, (usize, Option<u32>)> = FxHashMap::default();
    for (square, contents) in contents.iter().enumerate() {
        at.extend(contents.iter().map(|&(fluent, owner, _)| (fluent, (square, owner))));
    }
    let mut ways: Vec<Vec<Vec<Wire>>> = vec![vec![Vec::new(); 2 * n_roles + 3]; contents.len()];
    let network = &mut effects.network;
    for chosen in &effects.moves {
        let role = chosen.role;
        let (mut filled, mut vacated, mut captured) = (Vec::new(), Vec::new(), Vec::new());
        for &Change { fluent, next, named } in &chosen.changes {
            let (square, owner) = at[&fluent];
            let now = effects.fluents[fluent as usize];
            let of_another = owner.is_some_and(|owner| owner != role);
            // Where all roles move at once, it may be the owner's own move that matters.
            let idle = |owner: u32| !game.structure.turns.idle[owner as usize].is_empty();
            if of_another && !named && !owner.is_some_and(idle) {
                continue;
            }
            let goes = network.all_of(&[chosen.could, now, next.inverted()]);
            if of_another {
                captured.push((square, goes));
            } else {
                vacated.push((square, goes));
                filled.push((square, network.all_of(&[chosen.could, now.inverted(), next])));
            }
        }
        let captures = network.any_of(&captured.iter().map(|&(_, wire)| wire).collect::<Vec<_>>());
        let mut add = |square: usize, way: usize, wires: &[Wire]| {
            let wire = network.all_of(wires);
            if wire != Wire::FALSE {
                ways[square][way].push(wire);
            }
        };
        for (square, wire) in filled {
            add(square, 2 * role as usize, &[wire, captures.inverted()]);
            add(square, 2 * role as usize + 1, &[wire, captures]);
        }
        for (square, wire) in captured {
            add(square, 2 * n_roles, &[wire]);
        }
        for (square, wire) in vacated {
            add(square, 2 * n_roles + 1, &[wire, captures.inverted()]);
            add(square, 2 * n_roles + 2, &[wire, captures]);
        }
    }
    ways.into_iter().map(|ways| ways.iter().map(|wires| network.any_of(wires)).collect()).collect()
}

impl Squares {
    /// The state with a name.
    pub fn state(&self, name: &str) -> Option<StateId> {
        self.names.iter().position(|other| other == name).map(|state| StateId(state as u16))
    }

    /// The state that is this one seen from the other side.
    pub fn flip(&self, state: StateId) -> StateId {
        let state = state.0 as usize;
        let flipped = if state < N_EMPTY {
            state % 4 * 4 + state / 4
        } else {
            let (class, rest) = ((state - N_EMPTY) / (8 * self.n_kinds), (state - N_EMPTY) % (8 * self.n_kinds));
            N_EMPTY + [1, 0, 2][class] * 8 * self.n_kinds + rest
        };
        StateId(flipped as u16)
    }

    /// Whether a square in this state holds a piece.
    pub fn is_piece(&self, state: StateId) -> bool {
        state.0 as usize >= N_EMPTY
    }

    /// The states, sorted by what they are: empty, with pieces of others, with own pieces, with pieces of nobody.
    pub fn classes(&self) -> Vec<Vec<StateId>> {
        let class = |state: usize| if state < N_EMPTY { 0 } else { 1 + (state - N_EMPTY) / (8 * self.n_kinds) };
        let of_class = |wanted: usize| {
            (0..self.names.len()).filter(|&state| class(state) == wanted).map(|state| StateId(state as u16)).collect()
        };
        (0..=CLASSES.len()).map(of_class).collect()
    }

    /// The square that has the place of this one for the other side.
    pub fn flip_square(&self, square: usize) -> usize {
        self.mirror.as_ref().map_or(square, |mirror| mirror.cells[square] as usize)
    }

    /// Somebody who looks at boards.
    pub fn observer(&self) -> Observer<'_> {
        Observer { squares: self, lanes: Lanes::new(self.compiled.clone()) }
    }
}

/// Looks at boards, up to 512 at a time.
pub struct Observer<'a> {
    squares: &'a Squares,
    lanes: Lanes,
}

/// What was seen of up to 512 boards.
pub struct Sight<'a> {
    squares: &'a Squares,
    /// For each square, where each of its contents is.
    contents: Vec<Vec<Vector>>,
    /// For each square, where each of its properties holds.
    properties: Vec<Vec<Vector>>,
}

impl<'a> Observer<'a> {
    /// Looks at boards, given where each fluent of the universe holds.
    pub fn look(&mut self, fluents: &[Vector]) -> Sight<'a> {
        for (&wire, &value) in self.squares.fluents.iter().zip(fluents) {
            if wire.gate() > 0 {
                self.lanes.set_fluent(wire.gate() - 1, if wire.is_inverted() { !value } else { value });
            }
        }
        self.lanes.evaluate();
        let where_held = |(fluent, ..): &(u32, Option<u32>, usize)| fluents[*fluent as usize];
        let contents = self.squares.contents.iter().map(|all| all.iter().map(where_held).collect()).collect();
        let value = |&wire: &Wire| self.lanes.lanes_where(wire);
        let properties = self.squares.wires.iter().map(|wires| wires.iter().map(value).collect()).collect();
        Sight { squares: self.squares, contents, properties }
    }

    /// Looks at one board, given which fluents of the universe hold.
    pub fn look_at(&mut self, holds: &[bool]) -> Sight<'a> {
        let everywhere = |&holds: &bool| if holds { Vector::ONES } else { Vector::ZERO };
        self.look(&holds.iter().map(everywhere).collect::<Vec<_>>())
    }
}

impl Sight<'_> {
    /// Appends the states of all squares of the board in a lane, as a role sees them.
    pub fn states(&self, lane: usize, role: u32, states: &mut Vec<StateId>) {
        let first = states.len();
        states.resize(first + self.squares.n_squares, StateId(0));
        for square in 0..self.squares.n_squares {
            // The second of two roles sees a square where the first sees its image.
            let seen_at = if role == 1 { self.squares.flip_square(square) } else { square };
            states[first + seen_at] = self.state(lane, square, role);
        }
    }

    /// The state of a square as a role sees it; squares are not turned round.
    fn state(&self, lane: usize, square: usize, role: u32) -> StateId {
        let n_roles = self.squares.n_roles;
        let property = |index: usize| usize::from(self.properties[square][index].get(lane));
        let standing = self.contents[square].iter().position(|held| held.get(lane));
        let state = match standing {
            None => {
                let reach = |role: usize| property(2 * role) + 2 * property(2 * role + 1);
                let others =
                    (0..n_roles).filter(|&other| other != role as usize).fold(0, |all, other| all | reach(other));
                4 * others + reach(role as usize)
            }
            Some(index) => {
                let (_, owner, kind) = self.squares.contents[square][index];
                let class = owner.map_or(2, |owner| usize::from(owner == role));
                let digit = 4 * property(2 * n_roles) + 2 * property(2 * n_roles + 1) + property(2 * n_roles + 2);
                N_EMPTY + (class * self.squares.n_kinds + kind) * 8 + digit
            }
        };
        StateId(state as u16)
    }
}

#[cfg(test)]
pub(super) mod tests;
