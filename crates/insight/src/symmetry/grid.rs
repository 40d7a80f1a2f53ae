//! Boards as far as symmetries are concerned: cells with coordinates, and maps that turn, reflect or shift them.

use gdl::TermId;
use gdl::datalog::Terms;
use gdl::ground::GroundProgram;
use gdl::symbol::SymbolId;
use machine::network::Network;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Symmetry;
use super::group::inverse;
use crate::structure::board::{self, Board};
use crate::universe::Universe;

/// A board: which fluents say what is on which cell.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The coordinates; the first goes from left to right, the second from bottom to top.
    pub axes: Vec<Axis>,
    /// What may be on a cell, by name.
    pub contents: Vec<String>,
    /// The fluents.
    pub squares: Vec<Square>,
}

/// A coordinate.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its values, in order if there is one.
    pub values: Vec<TermId>,
    /// Whether the rules put them in this order.
    pub ordered: bool,
    /// Whether the last is followed by the first.
    pub cyclic: bool,
}

/// A fluent that says what is on a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Square {
    /// The fluent, as numbered by the ground program.
    pub fluent: u32,
    /// The cell: a place along each axis.
    pub place: Vec<u32>,
    /// What is there, as a place in [`Grid::contents`].
    pub content: u32,
}

/// A map of cells: each new coordinate is a sum of old ones, times 1, 0 or -1, and a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Map {
    /// For each new coordinate, what each old one counts.
    pub(super) matrix: Vec<Vec<i32>>,
    /// For each new coordinate, what is added.
    pub(super) shift: Vec<i32>,
}

impl Map {
    /// Where a cell goes, before it is brought back to a cyclic board.
    fn apply(&self, place: &[u32]) -> Vec<i32> {
        let sum = |row: &Vec<i32>| row.iter().zip(place).map(|(&times, &at)| times * at as i32).sum::<i32>();
        self.matrix.iter().zip(&self.shift).map(|(row, &shift)| sum(row) + shift).collect()
    }
}

/// Cells with their images.
pub(super) type Cells = FxHashMap<Vec<u32>, Vec<u32>>;

/// What a symmetry does to a coordinate: the axis that it becomes, and for each place along it the place there, as far as
/// that is known.
type AxisImage = (usize, Vec<Option<u32>>);

impl Grid {
    /// A board that was found, in the numbers of the ground program; fluents that never change are left out.
    pub fn of_board(board: &Board, universe: &Universe, ground: &GroundProgram, network: &Network) -> Grid {
        let number: FxHashMap<TermId, u32> =
            ground.fluents.iter().zip(0..).map(|(&term, number)| (term, number)).collect();
        let axis = |axis: &board::Axis| Axis {
            values: axis.values.clone(),
            ordered: axis.order.is_some(),
            cyclic: axis.cyclic,
        };
        let axes: Vec<Axis> = board.axes.iter().map(axis).collect();
        let places: Vec<FxHashMap<TermId, u32>> =
            axes.iter().map(|axis| axis.values.iter().copied().zip(0..).collect()).collect();
        let at = |(places, value): (&FxHashMap<TermId, u32>, &TermId)| places.get(value).copied().unwrap_or(0);
        let place = |cell: u32| places.iter().zip(&board.cells[cell as usize]).map(at).collect();
        let constant: FxHashSet<TermId> = network.constant_fluents.iter().copied().collect();
        let mut squares = Vec::new();
        for (content, marker) in board.markers.iter().enumerate() {
            for &(fluent, cell) in &marker.fluents {
                let fluent = universe.fluents[fluent as usize];
                if constant.contains(&fluent) {
                    continue;
                }
                squares.extend(number.get(&fluent).map(|&fluent| Square {
                    fluent,
                    place: place(cell),
                    content: content as u32,
                }));
            }
        }
        let name = |marker: &board::Marker| match &marker.name {
            board::MarkerName::Terms(terms) => {
                terms.iter().map(|&term| universe.name(term)).collect::<Vec<_>>().join(" ")
            }
            board::MarkerName::Family(_) => String::new(),
        };
        let contents = board.markers.iter().map(name).collect();
        Grid { axes, contents, squares }
    }

    /// Puts the values of axes that have no order into one that fits the symmetries: if all that they ever do to them is one
    /// exchange of pairs, that is turning the axis round.
    pub fn arrange(&mut self, symmetries: &[Symmetry]) {
        let images: Vec<Vec<AxisImage>> =
            symmetries.iter().filter_map(|symmetry| self.axis_images(&self.cell_images(symmetry, |_| true)?)).collect();
        let mut orders: Vec<Option<Vec<u32>>> = vec![None; self.axes.len()];
        for axis in (0..self.axes.len()).filter(|&axis| !self.axes[axis].ordered) {
            let mut turns: Vec<Vec<u32>> = Vec::new();
            for (to, places) in images.iter().map(|images| &images[axis]) {
                let places: Option<Vec<u32>> = places.iter().copied().collect();
                let Some(places) = places.filter(|_| *to == axis) else { continue };
                let moves = places.iter().zip(0..).any(|(&to, at)| to != at);
                if moves && !turns.contains(&places) {
                    turns.push(places);
                }
            }
            let [turn] = &turns[..] else { continue };
            let (mut first, mut middle, mut last) = (Vec::new(), Vec::new(), Vec::new());
            for (at, &to) in turn.iter().enumerate() {
                match (to as usize).cmp(&at) {
                    std::cmp::Ordering::Greater => {
                        first.push(at as u32);
                        last.push(to);
                    }
                    std::cmp::Ordering::Equal => middle.push(to),
                    std::cmp::Ordering::Less => {}
                }
            }
            last.reverse();
            let order = [first, middle, last].concat();
            if order.len() == turn.len() && order.iter().rev().all(|&at| turn[turn[at as usize] as usize] == at) {
                orders[axis] = Some(order);
            }
        }
        // Axes that change places get the same order.
        for (axis, (to, places)) in images.iter().flat_map(|images| images.iter().enumerate()) {
            let places: Option<Vec<u32>> = places.iter().copied().collect();
            if let (Some(order), Some(places)) = (orders[axis].clone(), places)
                && axis < *to
                && !self.axes[*to].ordered
            {
                orders[*to] = Some(order.iter().map(|&at| places[at as usize]).collect());
            }
        }
        for (axis, order) in orders.into_iter().enumerate() {
            let Some(order) = order else { continue };
            self.axes[axis].values = order.iter().map(|&at| self.axes[axis].values[at as usize]).collect();
            let place = inverse(&order);
            self.squares.iter_mut().for_each(|square| square.place[axis] = place[square.place[axis] as usize]);
        }
    }

    /// Where a symmetry takes each cell, as far as some things on it tell; `None` if it does not move them as a whole within
    /// this board.
    pub(super) fn cell_images(&self, symmetry: &Symmetry, of: impl Fn(u32) -> bool) -> Option<Cells> {
        let by_fluent: FxHashMap<u32, &Square> = self.squares.iter().map(|square| (square.fluent, square)).collect();
        let mut images = Cells::default();
        for square in self.squares.iter().filter(|square| of(square.content)) {
            let image = &by_fluent.get(&symmetry.fluents[square.fluent as usize])?.place;
            if images.entry(square.place.clone()).or_insert_with(|| image.clone()) != image {
                return None;
            }
        }
        Some(images)
    }

    /// What a map of cells does to each axis, if it takes lines of cells to lines.
    pub(super) fn axis_images(&self, cells: &Cells) -> Option<Vec<AxisImage>> {
        (0..self.axes.len())
            .map(|axis| {
                (0..self.axes.len()).find_map(|to| {
                    let mut places = vec![None; self.axes[axis].values.len()];
                    let mut taken = vec![None; self.axes[to].values.len()];
                    let fits = cells.iter().all(|(cell, image)| {
                        let (at, there) = (cell[axis], image[to]);
                        *places[at as usize].get_or_insert(there) == there
                            && *taken[there as usize].get_or_insert(at) == at
                    });
                    fits.then_some((to, places))
                })
            })
            .collect()
    }

    /// Where a map takes a cell; `None` if off the board.
    pub(super) fn image(&self, map: &Map, place: &[u32]) -> Option<Vec<u32>> {
        let back = |(at, axis): (i32, &Axis)| {
            let size = axis.values.len() as i32;
            let at = if axis.cyclic { at.rem_euclid(size) } else { at };
            (0..size).contains(&at).then_some(at as u32)
        };
        map.apply(place).into_iter().zip(&self.axes).map(back).collect()
    }

    /// The maps that keep coordinates coordinates: axes of the same length may change places, and each may be turned round.
    /// The identity comes first, then maps that move fewer axes.
    pub(super) fn turns(&self) -> Vec<Map> {
        let size = |axis: usize| self.axes[axis].values.len();
        let alike = |a: usize, b: usize| size(a) == size(b) && self.axes[a].cyclic == self.axes[b].cyclic;
        let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
        for axis in 0..self.axes.len() {
            let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
                let free = (0..self.axes.len()).filter(|other| !order.contains(other) && alike(axis, *other));
                free.map(|other| order.iter().copied().chain([other]).collect()).collect()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        let mut maps = Vec::new();
        for order in &orders {
            for reversed in 0u32..1 << self.axes.len() {
                let is_reversed = |axis: usize| reversed >> axis & 1 == 1;
                let row = |axis: usize| {
                    let sign = if is_reversed(axis) { -1 } else { 1 };
                    (0..self.axes.len()).map(|other| if other == order[axis] { sign } else { 0 }).collect()
                };
                let shift = |axis: usize| if is_reversed(axis) { size(axis) as i32 - 1 } else { 0 };
                maps.push(Map {
                    matrix: (0..self.axes.len()).map(row).collect(),
                    shift: (0..self.axes.len()).map(shift).collect(),
                });
            }
        }
        maps.sort_by_key(|map| {
            let moved = (0..self.axes.len()).filter(|&axis| map.matrix[axis][axis] != 1).count();
            let swapped = (0..self.axes.len()).filter(|&axis| map.matrix[axis][axis] == 0).count();
            (swapped, moved)
        });
        maps
    }

    /// What a map that keeps coordinates coordinates does to all fluents and moves (numbered in this order, then roles):
    /// every permutation that makes sense. An argument is taken for a coordinate if all its values are coordinates; where
    /// it could be one of several, each is tried.
    pub(super) fn permutations(&self, ground: &GroundProgram, map: &Map, limit: usize) -> Vec<Vec<u32>> {
        let n_fluents = ground.fluents.len() as u32;
        let first_role = n_fluents + ground.moves.len() as u32;
        // Step 1. The board's own fluents.
        let known: FxHashMap<(&[u32], u32), u32> =
            self.squares.iter().map(|square| ((&square.place[..], square.content), square.fluent)).collect();
        let mut base: Vec<u32> = (0..first_role + ground.roles.len() as u32).collect();
        let mut own = vec![false; base.len()];
        for square in &self.squares {
            let to = self.image(map, &square.place);
            let Some(&to) = to.and_then(|to| known.get(&(&to[..], square.content)).copied()).as_ref() else {
                return Vec::new();
            };
            base[square.fluent as usize] = to;
            own[square.fluent as usize] = true;
        }
        // Step 2. For each family of other terms, what the map may do to it.
        let moves = ground.moves.iter().map(|&(role, term)| (Some(role), term));
        let terms: Vec<(Option<u32>, TermId)> = ground.fluents.iter().map(|&term| (None, term)).chain(moves).collect();
        let mut families: FxHashMap<(Option<u32>, Shape), Vec<u32>> = FxHashMap::default();
        for (point, &(role, term)) in terms.iter().enumerate().filter(|(point, _)| !own[*point]) {
            families.entry((role, shape(&ground.terms, term))).or_default().push(point as u32);
        }
        let mut families: Vec<Vec<u32>> = families.into_values().collect();
        families.sort_unstable();
        let place = |axis: &Axis| axis.values.iter().zip(0..).map(|(&value, at)| (value, at)).collect();
        let places: Vec<FxHashMap<TermId, u32>> = self.axes.iter().map(place).collect();
        let mut permutations = vec![base];
        for family in families {
            let options = self.options(&ground.terms, &places, &terms, &family, map);
            let mut longer = Vec::new();
            for permutation in &permutations {
                for option in &options {
                    let mut permutation = permutation.clone();
                    family.iter().zip(option).for_each(|(&point, &to)| permutation[point as usize] = to);
                    longer.push(permutation);
                }
            }
            longer.truncate(limit);
            permutations = longer;
        }
        permutations
    }

    /// The ways in which a map may permute terms of one shape; if there is none, they stay where they are.
    fn options(
        &self,
        terms: &Terms,
        places: &[FxHashMap<TermId, u32>],
        all: &[(Option<u32>, TermId)],
        family: &[u32],
        map: &Map,
    ) -> Vec<Vec<u32>> {
        let arguments: Vec<Vec<TermId>> = family.iter().map(|&point| leaves(terms, all[point as usize].1)).collect();
        let by_arguments: FxHashMap<&[TermId], u32> =
            arguments.iter().zip(family).map(|(arguments, &point)| (&arguments[..], point)).collect();
        let n_axes = self.axes.len();
        let fits = |position: usize, axis: usize| {
            arguments.iter().all(|arguments| places[axis].contains_key(&arguments[position]))
        };
        let varies = |&position: &usize| arguments.iter().any(|other| other[position] != arguments[0][position]);
        let fitting = (0..arguments[0].len()).filter(varies);
        let fitting: Vec<usize> = fitting.filter(|&position| (0..n_axes).any(|axis| fits(position, axis))).collect();
        // Coordinates stand together in their order; or all arguments that could be coordinates are of one axis.
        let mut groups: Vec<Vec<Vec<Option<usize>>>> = Vec::new();
        if n_axes > 1 && fitting.len().is_multiple_of(n_axes) {
            groups.push(fitting.chunks(n_axes).map(|chunk| chunk.iter().copied().map(Some).collect()).collect());
        }
        for axis in 0..n_axes {
            let alone = |&position: &usize| (0..n_axes).map(|other| (other == axis).then_some(position)).collect();
            groups.push(fitting.iter().map(alone).collect());
        }
        let mut options: Vec<Vec<u32>> = Vec::new();
        for cells in groups {
            let image = |own: &Vec<TermId>| {
                let mut image = own.clone();
                cells.iter().try_for_each(|cell| self.map_cell(places, map, cell, own, &mut image))?;
                by_arguments.get(&image[..]).copied()
            };
            if let Some(option) = arguments.iter().map(image).collect::<Option<Vec<u32>>>()
                && !options.contains(&option)
            {
                options.push(option);
            }
        }
        if options.is_empty() {
            options.push(family.to_vec());
        }
        options
    }

    /// Maps the coordinates at some positions of a list of arguments; a coordinate without a position must not be needed.
    fn map_cell(
        &self,
        places: &[FxHashMap<TermId, u32>],
        map: &Map,
        cell: &[Option<usize>],
        own: &[TermId],
        image: &mut [TermId],
    ) -> Option<()> {
        for (axis, &position) in cell.iter().enumerate() {
            let Some(position) = position else { continue };
            let source = map.matrix[axis].iter().position(|&times| times != 0)?;
            let at = *places[source].get(&own[cell[source]?])? as i32;
            let at = map.matrix[axis][source] * at + map.shift[axis];
            let size = self.axes[axis].values.len() as i32;
            let at = if self.axes[axis].cyclic { at.rem_euclid(size) } else { at };
            image[position] = *self.axes[axis].values.get(usize::try_from(at).ok()?)?;
        }
        Some(())
    }
}

/// The constants of a term, from left to right.
pub(super) fn leaves(terms: &Terms, term: TermId) -> Vec<TermId> {
    let mut leaves = Vec::new();
    let mut stack: Vec<TermId> = terms.args(term).iter().rev().copied().collect();
    while let Some(term) = stack.pop() {
        match terms.args(term) {
            [] => leaves.push(term),
            args => stack.extend(args.iter().rev()),
        }
    }
    leaves
}

/// A term without its constants: from left to right, each function with its number of arguments, and nothing for a constant.
type Shape = Vec<Option<(SymbolId, usize)>>;

pub(super) fn shape(terms: &Terms, term: TermId) -> Shape {
    let function = |term: TermId| Some((terms.name(term), terms.args(term).len()));
    let mut shape = vec![function(term)];
    let mut stack: Vec<TermId> = terms.args(term).iter().rev().copied().collect();
    while let Some(term) = stack.pop() {
        let args = terms.args(term);
        shape.push(function(term).filter(|_| !args.is_empty()));
        stack.extend(args.iter().rev());
    }
    shape
}
