//! What symmetries are called: "left-right reflection", "colour swap with role swap".
//!
//! A symmetry is looked at on the boards of a game. If it moves cells alike, whatever stands on them, the map of the cells
//! is fitted by a matrix; if it exchanges what stands there alike on all cells, it permutes colours or pieces.

use gdl::TermId;
use gdl::ground::GroundProgram;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Symmetry;
use super::grid::{Cells, Grid, Map, leaves};

/// What a symmetry does to the cells of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Turn {
    /// Nothing.
    Identity,
    /// Turns one axis round.
    Reflection {
        /// The axis.
        axis: usize,
    },
    /// Turns a plane board by so many degrees, counted from the first axis towards the second.
    Rotation {
        /// 60, 90, 120, 180, 240, 270 or 300.
        degrees: u32,
    },
    /// Exchanges the two axes of a plane board.
    Transposition {
        /// Whether both are turned round, too: a reflection in the other diagonal.
        anti: bool,
    },
    /// Another reflection of a hexagonal board.
    HexagonalReflection,
    /// Moves all cells alike on a board that is cyclic.
    Translation {
        /// How far along each axis.
        by: Vec<i32>,
    },
    /// Permutes and turns round the axes of a board with more dimensions, or shifts a cyclic board besides.
    Axes {
        /// The image of each axis, and whether it is turned round.
        to: Vec<(usize, bool)>,
        /// Whether a mirror would be needed for it.
        mirrored: bool,
    },
    /// Permutes rows, and columns, in some other way.
    Lines,
    /// Moves cells in some other way.
    Permutation,
}

impl std::fmt::Display for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Turn::Identity => write!(f, "identity"),
            Turn::Reflection { axis: 0 } => write!(f, "left-right reflection"),
            Turn::Reflection { axis: 1 } => write!(f, "top-bottom reflection"),
            Turn::Reflection { axis } => write!(f, "reflection in axis {}", axis + 1),
            Turn::Rotation { degrees } => write!(f, "rotation by {degrees} degrees"),
            Turn::Transposition { anti: false } => write!(f, "reflection in the diagonal"),
            Turn::Transposition { anti: true } => write!(f, "reflection in the other diagonal"),
            Turn::HexagonalReflection => write!(f, "reflection of the hexagonal board"),
            Turn::Translation { by } => {
                let by: Vec<String> = by.iter().map(i32::to_string).collect();
                write!(f, "shift by ({})", by.join(", "))
            }
            Turn::Axes { mirrored: false, .. } => write!(f, "rotation of the axes"),
            Turn::Axes { mirrored: true, .. } => write!(f, "reflection of the axes"),
            Turn::Lines => write!(f, "permutation of rows and columns"),
            Turn::Permutation => write!(f, "permutation of the cells"),
        }
    }
}

/// What a symmetry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it does to the cells of each board.
    pub turns: Vec<Turn>,
    /// Whether boards change places.
    pub moves_boards: bool,
    /// What stands on cells, with what it becomes; the same for all cells, and nothing that stays itself.
    pub contents: Vec<(String, String)>,
    /// The roles that are moved, with their images.
    pub roles: Vec<(u32, u32)>,
    /// Other names that are moved, with their images: `a` and `b` where `(heap a 3)` becomes `(heap b 3)`.
    pub names: Vec<(String, String)>,
    /// Whether it permutes moves alone, so that these do the same.
    pub only_moves: bool,
    /// How many fluents and moves it moves.
    pub n_moved: (usize, usize),
}

/// Describes a symmetry of a game, given its boards.
pub fn describe(ground: &GroundProgram, grids: &[Grid], symmetry: &Symmetry) -> Description {
    let moved = |images: &[u32]| images.iter().enumerate().filter(|&(at, &to)| at as u32 != to).count();
    let n_moved = (moved(&symmetry.fluents), moved(&symmetry.moves));
    let roles: Vec<(u32, u32)> = (0u32..).zip(symmetry.roles.iter().copied()).filter(|(role, to)| role != to).collect();
    let mut description = Description {
        turns: Vec::new(),
        moves_boards: false,
        contents: Vec::new(),
        roles,
        names: Vec::new(),
        only_moves: n_moved.0 == 0 && n_moved.1 > 0,
        n_moved,
    };
    // Step 1. The boards.
    let mut place: FxHashMap<u32, (usize, usize)> = FxHashMap::default();
    for (number, grid) in grids.iter().enumerate() {
        place.extend(grid.squares.iter().enumerate().map(|(at, square)| (square.fluent, (number, at))));
    }
    for (number, grid) in grids.iter().enumerate() {
        let mut contents: FxHashMap<u32, u32> = FxHashMap::default();
        let mut alike = true;
        for square in &grid.squares {
            let to = symmetry.fluents[square.fluent as usize];
            let there = place.get(&to).filter(|_| to != square.fluent);
            description.moves_boards |= there.is_some_and(|&(there, _)| there != number);
            if let Some(&(_, at)) = there.filter(|(there, _)| *there == number) {
                let content = grid.squares[at].content;
                alike &= *contents.entry(square.content).or_insert(content) == content;
            }
        }
        description.turns.push(turn_of(grid, symmetry));
        let mut contents: Vec<(u32, u32)> = contents.into_iter().filter(|(content, to)| content != to).collect();
        contents.sort_unstable();
        let name = |content: u32| grid.contents.get(content as usize).cloned().unwrap_or_default();
        if alike {
            description.contents.extend(contents.into_iter().map(|(content, to)| (name(content), name(to))));
        } else {
            description.turns[number] = Turn::Permutation;
        }
    }
    description.contents.sort();
    description.contents.dedup();
    // Step 2. Names outside of boards.
    description.names = names(ground, grids, symmetry);
    description
}

/// The names that a symmetry moves, if it does so alike wherever they stand; the roles and what is on a board are left out.
fn names(ground: &GroundProgram, grids: &[Grid], symmetry: &Symmetry) -> Vec<(String, String)> {
    let on_board: FxHashSet<u32> =
        grids.iter().flat_map(|grid| grid.squares.iter().map(|square| square.fluent)).collect();
    let mut images: FxHashMap<TermId, TermId> = FxHashMap::default();
    for (role, &to) in ground.roles.iter().zip(&symmetry.roles) {
        images.insert(*role, ground.roles[to as usize]);
    }
    let roles: FxHashSet<TermId> = ground.roles.iter().copied().collect();
    let fluents = (0u32..).zip(&symmetry.fluents).filter(|(fluent, to)| fluent != *to && !on_board.contains(fluent));
    let mut pairs: Vec<(TermId, TermId)> =
        fluents.map(|(fluent, &to)| (ground.fluents[fluent as usize], ground.fluents[to as usize])).collect();
    if pairs.is_empty() && grids.is_empty() {
        let moves = (0u32..).zip(&symmetry.moves).filter(|(chosen, to)| chosen != *to);
        pairs.extend(moves.map(|(chosen, &to)| (ground.moves[chosen as usize].1, ground.moves[to as usize].1)));
    }
    let mut names = Vec::new();
    for (term, to) in pairs {
        let (own, there) = (leaves(&ground.terms, term), leaves(&ground.terms, to));
        if own.len() != there.len() || ground.terms.name(term) != ground.terms.name(to) {
            return Vec::new();
        }
        for (name, image) in own.into_iter().zip(there) {
            if *images.entry(name).or_insert(image) != image {
                return Vec::new();
            }
        }
    }
    let is_coordinate =
        |name: TermId| grids.iter().any(|grid| grid.axes.iter().any(|axis| axis.values.contains(&name)));
    for (name, image) in images {
        if name != image && !roles.contains(&name) && !is_coordinate(name) {
            let text = |term| ground.terms.display(&ground.symbols, term).to_string();
            names.push((text(name), text(image)));
        }
    }
    names.sort();
    names
}

/// What a symmetry does to the cells of a board.
fn turn_of(grid: &Grid, symmetry: &Symmetry) -> Turn {
    if let Some(cells) = grid.cell_images(symmetry, |_| true) {
        return fit(grid, &cells);
    }
    // Walls between cells may be numbered otherwise than cells, and a reflection be centred elsewhere for them.
    let mut turns = (0..grid.contents.len() as u32)
        .map(|content| grid.cell_images(symmetry, |other| other == content).map(|cells| fit(grid, &cells)));
    let first = turns.next().flatten();
    match first {
        Some(first) if turns.all(|turn| turn.as_ref() == Some(&first)) => first,
        _ => Turn::Permutation,
    }
}

/// The map that takes cells to their images; cells that are not listed may go anywhere.
fn fit(grid: &Grid, cells: &Cells) -> Turn {
    let Some((some, there)) = cells.iter().min() else { return Turn::Identity };
    let mut maps = grid.turns();
    maps.extend(hexagonal(grid));
    for mut map in maps {
        // One cell tells the shift; on a board that is not cyclic it leaves no choice.
        let image = grid_sum(&map, some);
        map.shift = there.iter().zip(image).map(|(&there, image)| there as i32 - image).collect();
        for (axis, shift) in map.shift.iter_mut().enumerate().filter(|(axis, _)| grid.axes[*axis].cyclic) {
            *shift = shift.rem_euclid(grid.axes[axis].values.len() as i32);
        }
        if cells.iter().all(|(cell, to)| grid.image(&map, cell).as_ref() == Some(to)) {
            return turn(grid, &map);
        }
    }
    if grid.axes.len() > 1 && grid.axis_images(cells).is_some() { Turn::Lines } else { Turn::Permutation }
}

fn grid_sum(map: &Map, place: &[u32]) -> Vec<i32> {
    map.matrix.iter().map(|row| row.iter().zip(place).map(|(&times, &at)| times * at as i32).sum()).collect()
}

/// The maps of a plane board whose third direction runs along one of the diagonals.
fn hexagonal(grid: &Grid) -> Vec<Map> {
    if grid.axes.len() != 2 {
        return Vec::new();
    }
    let mut maps = Vec::new();
    for sixth in [[[0, -1], [1, 1]], [[0, 1], [-1, 1]]] {
        let mut matrix = [[1, 0], [0, 1]];
        for _ in 0..6 {
            matrix = times(sixth, matrix);
            let mirrored = times(matrix, [[0, 1], [1, 0]]);
            maps.extend(
                [matrix, mirrored].map(|matrix| Map { matrix: matrix.map(Vec::from).into(), shift: vec![0; 2] }),
            );
        }
    }
    maps
}

fn times(a: [[i32; 2]; 2], b: [[i32; 2]; 2]) -> [[i32; 2]; 2] {
    [0, 1].map(|row| [0, 1].map(|column| a[row][0] * b[0][column] + a[row][1] * b[1][column]))
}

/// What a map is called.
pub(super) fn turn(grid: &Grid, map: &Map) -> Turn {
    let n = grid.axes.len();
    let image = |axis: usize| {
        let row = (0..n).find(|&row| map.matrix[row][axis] != 0).unwrap_or(axis);
        (row, map.matrix[row][axis] < 0)
    };
    let to: Vec<(usize, bool)> = (0..n).map(image).collect();
    let keeps_axes = (0..n).all(|axis| to[axis].0 == axis);
    let reversed: Vec<usize> = (0..n).filter(|&axis| to[axis].1).collect();
    let is_monomial = map.matrix.iter().all(|row| row.iter().filter(|&&times| times != 0).count() == 1);
    // A reversed axis is shifted by its length, which is no shift; on a circle, by anything.
    let is_shifted = (0..n).any(|axis| {
        let (row, is_reversed) = to[axis];
        let usual = if is_reversed { grid.axes[row].values.len() as i32 - 1 } else { 0 };
        grid.axes[row].cyclic && map.shift[row] != usual
    });
    match (is_monomial, keeps_axes, &reversed[..]) {
        (true, true, []) if is_shifted => Turn::Translation { by: map.shift.clone() },
        (true, true, []) => Turn::Identity,
        (true, true, [axis]) => Turn::Reflection { axis: *axis },
        (true, true, [0, 1]) if n == 2 => Turn::Rotation { degrees: 180 },
        (true, false, []) if n == 2 => Turn::Transposition { anti: false },
        (true, false, [0, 1]) if n == 2 => Turn::Transposition { anti: true },
        // The first axis goes where the second was.
        (true, false, [1]) if n == 2 => Turn::Rotation { degrees: 90 },
        (true, false, [0]) if n == 2 => Turn::Rotation { degrees: 270 },
        (true, ..) => {
            let swaps =
                (0..n).map(|axis| (axis + 1..n).filter(|&other| to[other].0 < to[axis].0).count()).sum::<usize>();
            Turn::Axes { to, mirrored: (swaps + reversed.len()) % 2 == 1 }
        }
        (false, ..) => {
            let matrix = [[map.matrix[0][0], map.matrix[0][1]], [map.matrix[1][0], map.matrix[1][1]]];
            if matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0] < 0 {
                return Turn::HexagonalReflection;
            }
            let sixths = [[[0, -1], [1, 1]], [[0, 1], [-1, 1]]].into_iter().find_map(|sixth| {
                let mut power = [[1, 0], [0, 1]];
                (1..6).find(|_| {
                    power = times(sixth, power);
                    power == matrix
                })
            });
            sixths.map_or(Turn::Permutation, |sixths| Turn::Rotation { degrees: 60 * sixths })
        }
    }
}

impl std::fmt::Display for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let mut turns: Vec<String> =
            self.turns.iter().filter(|turn| **turn != Turn::Identity).map(Turn::to_string).collect();
        turns.dedup();
        parts.extend(turns);
        if self.moves_boards {
            parts.push("exchange of boards".to_owned());
        }
        match &self.contents[..] {
            [] => {}
            [(a, b), (c, d)] if a == d && b == c => parts.push("colour swap".to_owned()),
            pairs => parts.push(format!("permutation of {} markers", pairs.len())),
        }
        match &self.roles[..] {
            [] => {}
            [_, _] => parts.push("role swap".to_owned()),
            roles => parts.push(format!("permutation of {} roles", roles.len())),
        }
        match &self.names[..] {
            [] => {}
            [(a, b), (c, d)] if a == d && b == c => parts.push(format!("swap of {a} and {b}")),
            names if names.len() <= 8 => {
                let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
                parts.push(format!("permutation of {}", names.join(", ")));
            }
            names => parts.push(format!("permutation of {} names", names.len())),
        }
        match (&parts[..], self.only_moves, self.n_moved) {
            (_, true, (_, n_moves)) => write!(f, "permutation of {n_moves} moves that do the same"),
            ([], _, (0, 0)) => write!(f, "identity"),
            ([], _, (n_fluents, n_moves)) => write!(f, "permutation of {n_fluents} fluents and {n_moves} moves"),
            ([only], ..) => write!(f, "{only}"),
            ([first, rest @ ..], ..) => write!(f, "{first} with {}", rest.join(" and ")),
        }
    }
}
