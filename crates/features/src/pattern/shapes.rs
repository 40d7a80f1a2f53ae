//! Shapes: sets of cells that are worth a table, proposed from the geometry of boards.
//!
//! Along ordered axes there are lines in all directions, straight pieces of lines, blocks, blocks in corners, edges, and
//! edges with the inner neighbours of their corners. Along an axis without order there are lines of all its cells. Where
//! cells have neighbours and no coordinates there are paths and stars. Sets of cells that were found elsewhere, such as the cells of unfolded conjunctions, can be added.
//!
//! A set of cells is proposed once; what symmetries make of it is the business of [`crate::pattern::orbit`].

use std::collections::{BTreeMap, BTreeSet};

use insight::structure::board::Board;
use rustc_hash::FxHashMap;

use crate::pattern::atoms::Layer;

/// What a shape is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An edge: a line along an axis with nothing beside it on one side.
    Edge,
    /// An edge with the inner neighbours of its corners.
    EdgeWithInner,
    /// A whole line; along how many axes it runs.
    Line {
        /// Along how many axes it runs: 1 for rows, 2 for diagonals.
        axes: u8,
    },
    /// A block in a corner.
    Corner(u8, u8),
    /// A piece of a line.
    Straight(u8),
    /// A block anywhere.
    Block(u8, u8),
    /// Cells that are neighbours one after another.
    Path(u8),
    /// A cell with all of its neighbours.
    Star,
    /// Given from outside.
    Given,
}

/// Atoms that are worth a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What it is.
    pub kind: Kind,
    /// The atoms, in the order of the index's digits.
    pub atoms: Vec<u32>,
    /// Where the cells lie, seen from the first: shapes of the same form are the same thing at other places of the board. Empty
    /// where there are no coordinates.
    pub form: Vec<i32>,
}

/// What is proposed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most slots of a table; longer lines are cut into pieces that fit, other shapes are left out.
    pub slots: usize,
    /// The shortest lines.
    pub min_line: usize,
    /// The lengths of straight pieces of lines.
    pub straight: Vec<usize>,
    /// The sizes of blocks anywhere.
    pub blocks: Vec<(usize, usize)>,
    /// The sizes of blocks in corners.
    pub corners: Vec<(usize, usize)>,
    /// The lengths of paths, where there are no coordinates.
    pub paths: Vec<usize>,
    /// The most shapes of one board.
    pub shapes: usize,
}

impl Settings {
    /// The shapes of Buro's Othello program, edges without inner neighbours left aside: lines of four cells and more, edges, and
    /// blocks in corners.
    pub fn buro() -> Settings {
        Settings { min_line: 4, straight: vec![], blocks: vec![], corners: vec![(3, 3), (2, 5)], ..Settings::default() }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            slots: 1 << 16,
            min_line: 3,
            straight: vec![2, 3, 4],
            blocks: vec![(2, 2), (2, 3), (3, 3)],
            corners: vec![(3, 3), (2, 5), (2, 4)],
            paths: vec![2, 3, 4],
            shapes: 20_000,
        }
    }
}

/// What was proposed for a board.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    /// The shapes, no set of atoms twice.
    pub shapes: Vec<Shape>,
    /// Whether there would have been more than the settings allow.
    pub cut_short: bool,
}

/// Proposes shapes for what stands on a board.
pub fn propose(board: &Board, layer: &Layer, settings: &Settings) -> Proposal {
    let mut proposer = Proposer {
        geometry: Geometry::new(board),
        layer,
        settings,
        known: BTreeSet::new(),
        proposal: Proposal::default(),
    };
    proposer.without_order();
    if proposer.geometry.directions.is_empty() {
        proposer.graph(board);
    } else {
        proposer.edges();
        proposer.lines();
        proposer.corners();
        proposer.straight();
        proposer.blocks();
    }
    proposer.proposal
}

/// Shapes from sets of atoms that were found elsewhere: as they are, without what is too large or there already.
pub fn given(sets: &[Vec<u32>], ranges: impl Fn(u32) -> usize, slots: usize, proposal: &mut Proposal) {
    let key = |atoms: &[u32]| {
        let mut key = atoms.to_vec();
        key.sort_unstable();
        key.dedup();
        key
    };
    let mut known: BTreeSet<Vec<u32>> = proposal.shapes.iter().map(|shape| key(&shape.atoms)).collect();
    for set in sets {
        let atoms = key(set);
        let size = atoms.iter().try_fold(1usize, |size, &atom| size.checked_mul(ranges(atom)));
        if !atoms.is_empty() && size.is_some_and(|size| size <= slots) && known.insert(atoms.clone()) {
            proposal.shapes.push(Shape { kind: Kind::Given, atoms, form: Vec::new() });
        }
    }
}

/// Cells with coordinates along the ordered axes.
struct Geometry {
    places: Vec<Vec<i32>>,
    cells: FxHashMap<Vec<i32>, u32>,
    /// For each axis its length, if it closes to a circle.
    circle: Vec<Option<i32>>,
    /// The ordered axes.
    ordered: Vec<usize>,
    /// One of each pair of opposite directions.
    directions: Vec<Vec<i32>>,
}

impl Geometry {
    fn new(board: &Board) -> Geometry {
        let place = |cell: &Vec<gdl::TermId>| -> Vec<i32> {
            let at = |(axis, value): (&insight::structure::board::Axis, &gdl::TermId)| {
                axis.values.iter().position(|other| other == value).map_or(-1, |at| at as i32)
            };
            board.axes.iter().zip(cell).map(at).collect()
        };
        let places: Vec<Vec<i32>> = board.cells.iter().map(place).collect();
        let n = board.axes.len();
        let ordered: Vec<usize> =
            (0..n).filter(|&axis| board.axes[axis].order.is_some() && board.axes[axis].values.len() > 1).collect();
        let mut directions = Vec::new();
        for code in 1..3i32.pow(ordered.len() as u32) {
            let mut direction = vec![0; n];
            let mut rest = code;
            for &axis in &ordered {
                direction[axis] = [0, 1, -1][(rest % 3) as usize];
                rest /= 3;
            }
            // The last axis that it runs along is run upwards.
            if direction.iter().rev().find(|&&step| step != 0) == Some(&1) {
                directions.push(direction);
            }
        }
        Geometry {
            cells: places.iter().cloned().zip(0..).collect(),
            places,
            circle: board.axes.iter().map(|axis| axis.cyclic.then_some(axis.values.len() as i32)).collect(),
            ordered,
            directions,
        }
    }

    /// The cell that lies in a direction, so many steps away.
    fn step(&self, cell: u32, direction: &[i32], times: i32) -> Option<u32> {
        let place = self.places[cell as usize].iter().zip(direction).zip(&self.circle);
        let place: Vec<i32> = place
            .map(|((&at, &step), circle)| circle.map_or(at + times * step, |n| (at + times * step).rem_euclid(n)))
            .collect();
        self.cells.get(&place).copied()
    }

    /// Where cells lie, seen from the first: steps along ordered axes, and the places themselves along others.
    fn form(&self, cells: &[u32]) -> Vec<i32> {
        if self.ordered.is_empty() {
            return Vec::new();
        }
        let first = &self.places[cells[0] as usize];
        let seen = |cell: &u32| {
            let from_first = |(axis, &at): (usize, &i32)| match self.circle[axis] {
                _ if !self.ordered.contains(&axis) => at,
                Some(n) => (at - first[axis]).rem_euclid(n),
                None => at - first[axis],
            };
            self.places[*cell as usize].iter().enumerate().map(from_first).collect::<Vec<i32>>()
        };
        cells.iter().flat_map(seen).collect()
    }

    /// The lines in a direction.
    fn lines(&self, direction: &[i32]) -> Vec<Vec<u32>> {
        let n = self.places.len() as u32;
        let mut seen = vec![false; n as usize];
        let mut lines = Vec::new();
        // Lines with a beginning, then circles.
        let begins = (0..n).filter(|&cell| self.step(cell, direction, -1).is_none());
        for first in begins.chain(0..n).collect::<Vec<_>>() {
            let mut line = Vec::new();
            let mut cell = Some(first).filter(|&cell| !seen[cell as usize]);
            while let Some(at) = cell {
                seen[at as usize] = true;
                line.push(at);
                cell = self.step(at, direction, 1).filter(|&next| !seen[next as usize]);
            }
            if line.len() > 1 {
                lines.push(line);
            }
        }
        lines
    }

    fn along(&self, axis: usize) -> Vec<i32> {
        (0..self.circle.len()).map(|other| i32::from(other == axis)).collect()
    }

    /// Pairs of different ordered axes, both ways round.
    fn planes(&self) -> Vec<(Vec<i32>, Vec<i32>)> {
        let pairs = self.ordered.iter().flat_map(|&one| self.ordered.iter().map(move |&other| (one, other)));
        pairs.filter(|(one, other)| one != other).map(|(one, other)| (self.along(one), self.along(other))).collect()
    }

    /// The cells of a block, row by row, if all are there.
    fn block(&self, from: u32, (down, across): (&[i32], &[i32]), (rows, columns): (usize, usize)) -> Option<Vec<u32>> {
        let mut cells = Vec::new();
        for row in 0..rows as i32 {
            let first = self.step(from, down, row)?;
            for column in 0..columns as i32 {
                cells.push(self.step(first, across, column)?);
            }
        }
        Some(cells)
    }
}

struct Proposer<'a> {
    geometry: Geometry,
    layer: &'a Layer,
    settings: &'a Settings,
    known: BTreeSet<Vec<u32>>,
    proposal: Proposal,
}

impl Proposer<'_> {
    /// Proposes cells, without those that never change. Whether they fit into a table.
    fn add(&mut self, kind: Kind, cells: &[u32]) -> bool {
        let cells: Vec<u32> = cells.iter().copied().filter(|&cell| self.layer.cells[cell as usize].is_some()).collect();
        let atoms: Vec<u32> = cells.iter().filter_map(|&cell| self.layer.cells[cell as usize]).collect();
        let fits = u32::try_from(atoms.len()).ok().and_then(|n| self.layer.range.checked_pow(n));
        if fits.is_none_or(|size| size > self.settings.slots) {
            return false;
        }
        let mut key = atoms.clone();
        key.sort_unstable();
        let twice = key.windows(2).any(|two| two[0] == two[1]);
        if atoms.len() < 2 || twice || self.known.contains(&key) {
            return true;
        }
        if self.proposal.shapes.len() == self.settings.shapes {
            self.proposal.cut_short = true;
            return true;
        }
        self.known.insert(key);
        self.proposal.shapes.push(Shape { kind, atoms, form: self.geometry.form(&cells) });
        true
    }

    /// Cells that differ in one coordinate, where that has no order: all of them, if they fit.
    fn without_order(&mut self) {
        let ordered = self.geometry.ordered.clone();
        for axis in (0..self.geometry.circle.len()).filter(|axis| !ordered.contains(axis)) {
            let mut lines: BTreeMap<Vec<i32>, Vec<u32>> = BTreeMap::new();
            for (cell, place) in (0..).zip(&self.geometry.places) {
                let mut place = place.clone();
                place[axis] = 0;
                lines.entry(place).or_default().push(cell);
            }
            lines.into_values().for_each(|line| {
                self.add(Kind::Line { axes: 1 }, &line);
            });
        }
    }

    fn edges(&mut self) {
        for (along, beside) in self.geometry.planes() {
            for line in self.geometry.lines(&along) {
                for side in [1, -1] {
                    let outside = |&cell: &u32| self.geometry.step(cell, &beside, side).is_none();
                    if line.len() < 3 || !line.iter().all(outside) {
                        continue;
                    }
                    let inner = |end: u32, inwards: i32| {
                        let next = self.geometry.step(end, &along, inwards)?;
                        self.geometry.step(next, &beside, -side)
                    };
                    let ends = (inner(line[0], 1), inner(line[line.len() - 1], -1));
                    if let (Some(first), Some(last)) = ends {
                        let cells: Vec<u32> = [first].into_iter().chain(line.iter().copied()).chain([last]).collect();
                        self.add(Kind::EdgeWithInner, &cells);
                    }
                    self.add(Kind::Edge, &line);
                }
            }
        }
    }

    fn lines(&mut self) {
        let min_line = self.settings.min_line;
        for direction in self.geometry.directions.clone() {
            let axes = direction.iter().filter(|&&step| step != 0).count() as u8;
            for line in self.geometry.lines(&direction).into_iter().filter(|line| line.len() >= min_line) {
                // The longest pieces that fit.
                for length in (2..=line.len()).rev() {
                    let kind = if length == line.len() { Kind::Line { axes } } else { Kind::Straight(length as u8) };
                    let mut fits = true;
                    line.windows(length).for_each(|piece| fits &= self.add(kind, piece));
                    if fits {
                        break;
                    }
                }
            }
        }
    }

    fn straight(&mut self) {
        for direction in self.geometry.directions.clone() {
            for line in self.geometry.lines(&direction) {
                for &length in &self.settings.straight {
                    for piece in line.windows(length.max(1)) {
                        self.add(Kind::Straight(length as u8), piece);
                    }
                }
            }
        }
    }

    fn corners(&mut self) {
        for (down, across) in self.geometry.planes() {
            let turned = |direction: &[i32], sign: i32| direction.iter().map(|step| sign * step).collect::<Vec<_>>();
            for cell in 0..self.geometry.places.len() as u32 {
                for (one, other) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
                    let (down, across) = (turned(&down, one), turned(&across, other));
                    // In a corner nothing lies behind.
                    let behind = |direction: &[i32]| self.geometry.step(cell, direction, -1).is_some();
                    if behind(&down) || behind(&across) {
                        continue;
                    }
                    for &size in &self.settings.corners {
                        if let Some(cells) = self.geometry.block(cell, (&down, &across), size) {
                            self.add(Kind::Corner(size.0 as u8, size.1 as u8), &cells);
                        }
                    }
                }
            }
        }
    }

    fn blocks(&mut self) {
        for (down, across) in self.geometry.planes() {
            for cell in 0..self.geometry.places.len() as u32 {
                for &size in &self.settings.blocks {
                    if let Some(cells) = self.geometry.block(cell, (&down, &across), size) {
                        self.add(Kind::Block(size.0 as u8, size.1 as u8), &cells);
                    }
                }
            }
        }
    }

    /// Paths and stars of the relation between neighbours.
    fn graph(&mut self, board: &Board) {
        let Some(relation) = &board.neighbours else { return };
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); board.cells.len()];
        for &(one, other) in &relation.pairs {
            neighbours[one as usize].push(other);
            neighbours[other as usize].push(one);
        }
        for (cell, others) in (0..).zip(&neighbours) {
            let star: Vec<u32> = [cell].into_iter().chain(others.iter().copied()).collect();
            self.add(Kind::Star, &star);
        }
        for &length in &self.settings.paths {
            for cell in 0..board.cells.len() as u32 {
                self.paths(&neighbours, &mut vec![cell], length);
            }
        }
    }

    fn paths(&mut self, neighbours: &[Vec<u32>], path: &mut Vec<u32>, length: usize) {
        if self.proposal.cut_short {
            return;
        }
        let (first, last) = (path[0], path[path.len() - 1]);
        if path.len() == length {
            // Each path once, from its lower end.
            if first < last {
                self.add(Kind::Path(length as u8), path);
            }
            return;
        }
        for &next in &neighbours[last as usize] {
            if !path.contains(&next) {
                path.push(next);
                self.paths(neighbours, path, length);
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use insight::scramble::RoleOrder;
    use insight::symmetry::{Symmetries, Translation};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::game::Game;
    use crate::pattern::atoms::{self, Atoms};
    use crate::pattern::orbit::{self, Orbit};
    use crate::pattern::table::{Indexer, Instance, Tables};
    use crate::pattern::testing::{game, random_states};

    fn orbits(game: &Game, settings: &Settings) -> (Atoms, Symmetries, Vec<Orbit>) {
        let atoms = atoms::find(game, &atoms::Settings::default());
        let layer = &atoms.layers[0];
        let proposal = propose(&game.structure.boards[layer.board], layer, settings);
        let symmetries = game.symmetries(1).expect("small rules");
        let keeping = orbit::keeping_roles(game, &atoms.features, &symmetries);
        let (orbits, _) = orbit::orbits(&atoms.features, &proposal.shapes, &keeping, &orbit::Budget::default());
        (atoms, symmetries, orbits)
    }

    /// In a state and its images, all instances together have the same canonical slots.
    fn check_images(game: &Game, atoms: &Atoms, symmetries: &Symmetries, orbits: &[Orbit]) {
        let mut rng = Pcg64::seed_from_u64(2);
        let instances: Vec<Instance> = orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
        let tables: Vec<Vec<i16>> = orbits
            .iter()
            .map(|orbit| {
                let weights: Vec<i16> = (0..orbit.n_canonical).map(|_| rng.random_range(-999..1000)).collect();
                orbit.expand(&weights)
            })
            .collect();
        let tables = Tables::new(&tables, &instances);
        let network = &game.circuit.network;
        let indexer: Indexer<u32> =
            Indexer::new(&atoms.features, &instances, network.fluents.len()).expect("small tables");
        let translation = Translation::new(game.circuit.ground.as_ref().expect("small rules"), network);
        let elements = symmetries.group.as_ref().expect("a small group").elements(5_000).expect("a small group");
        let keeps = |roles: &[u32]| roles.iter().enumerate().all(|(at, &to)| at as u32 == to);
        let actions: Vec<_> = elements
            .iter()
            .filter(|symmetry| keeps(&symmetry.roles))
            .filter_map(|symmetry| translation.action(symmetry))
            .collect();
        assert!(actions.len() > 1);
        let (states, words) = random_states(game, 3_000, 4);
        for state in states.chunks(words).step_by(11) {
            let value = tables.sum(indexer.indices(&indexer.start(state)));
            for action in &actions {
                let image = action.state(state);
                assert_eq!(tables.sum(indexer.indices(&indexer.start(&image))), value);
            }
        }
    }

    #[test]
    fn othello_has_the_patterns_of_logistello() {
        let game = game("othello");
        let (atoms, symmetries, orbits) = orbits(&game, &Settings::default());
        let of = |kind: Kind, length: usize| -> Vec<&Orbit> {
            orbits.iter().filter(|orbit| orbit.kind == kind && orbit.instances[0].atoms.len() == length).collect()
        };
        let mut base: Vec<&Orbit> = (4..=8).flat_map(|length| of(Kind::Line { axes: 2 }, length)).collect();
        let diagonals: Vec<usize> = base.iter().map(|orbit| orbit.n_canonical).collect();
        assert_eq!(diagonals, [45, 135, 378, 1134, 3321]);
        // Rows 2, 3 and 4; the first row is an edge.
        let rows = of(Kind::Line { axes: 1 }, 8);
        assert_eq!(rows.iter().map(|orbit| orbit.n_canonical).collect::<Vec<_>>(), [3321, 3321, 3321]);
        base.extend(rows);
        for (kind, length, slots) in
            [(Kind::Corner(3, 3), 9, 10_206), (Kind::EdgeWithInner, 10, 29_646), (Kind::Corner(2, 5), 10, 59_049)]
        {
            let found = of(kind, length);
            assert_eq!(found.iter().map(|orbit| orbit.n_canonical).collect::<Vec<_>>(), [slots], "{kind:?}");
            base.extend(found);
        }
        assert_eq!(base.iter().map(|orbit| orbit.instances.len()).sum::<usize>(), 46);
        assert_eq!(base.iter().map(|orbit| orbit.canonical.len()).sum::<usize>(), 167_265);
        assert_eq!(base.iter().map(|orbit| orbit.n_canonical).sum::<usize>(), 113_877);
        let mut base: Vec<Orbit> = base.into_iter().cloned().collect();
        for (table, orbit) in base.iter_mut().enumerate() {
            orbit.instances.iter_mut().for_each(|instance| instance.table = table as u32);
        }
        check_images(&game, &atoms, &symmetries, &base);
        check_exchange(&game, &atoms, &symmetries, &base);
    }

    /// A board whose third row shows what stands in the first one: the network has one fluent for both, and the atoms of
    /// both cells read it.
    const MIRRORED: &str = "
        (role white) (role black) (init (control white))
        (col 1) (col 2) (col 3) (row 1) (row 2) (row 3) (playable 1) (playable 2)
        (succ 1 2) (succ 2 3)
        (<= (init (cell ?x ?y blank)) (col ?x) (row ?y))
        (<= (legal ?r (mark ?x ?y)) (true (control ?r)) (playable ?y) (true (cell ?x ?y blank)))
        (<= (legal white wait) (true (control black)))
        (<= (legal black wait) (true (control white)))
        (<= (marked ?r ?x ?y) (does ?r (mark ?x ?y)))
        (<= (marked ?r ?x 3) (does ?r (mark ?x 1)))
        (<= (touched ?x ?y) (marked ?r ?x ?y))
        (<= (next (cell ?x ?y ?r)) (marked ?r ?x ?y))
        (<= (next (cell ?x ?y ?c)) (true (cell ?x ?y ?c)) (not (touched ?x ?y)))
        (<= (next (control white)) (true (control black)))
        (<= (next (control black)) (true (control white)))
        (<= (line ?r) (role ?r) (row ?y) (true (cell 1 ?y ?r)) (true (cell 2 ?y ?r)) (true (cell 3 ?y ?r)))
        (<= (line ?r) (role ?r) (col ?x) (true (cell ?x 1 ?r)) (true (cell ?x 2 ?r)) (true (cell ?x 3 ?r)))
        (<= open (true (cell ?x ?y blank)))
        (<= terminal (line ?r))
        (<= terminal (not open))
        (<= (goal ?r 100) (line ?r))
        (<= (goal ?r 0) (role ?r) (not (line ?r)))";

    #[test]
    fn cells_that_are_always_equal_have_images_of_their_own() {
        let game = Game::new(gdl::read("mirrored", MIRRORED.as_bytes()).program, 1).expect("the game has a network");
        let (atoms, symmetries, orbits) = orbits(&game, &Settings::default());
        assert_eq!(atoms.layers[0].cells.iter().flatten().count(), 9);
        assert!(!game.circuit.network.equal_fluents.is_empty());
        let of_atoms = orbit::of_game(&game, &atoms.features, &symmetries);
        assert!(of_atoms.len() > 1);
        for symmetry in of_atoms {
            let mut images = symmetry.atoms.clone();
            images.sort_unstable();
            assert_eq!(images, (0..atoms.features.len() as u32).collect::<Vec<_>>(), "a permutation");
        }
        check_images(&game, &atoms, &symmetries, &orbits);
    }

    /// With weights that change their sign when the roles change places, so does the value.
    fn check_exchange(game: &Game, atoms: &Atoms, symmetries: &Symmetries, orbits: &[Orbit]) {
        let network = &game.circuit.network;
        let translation = Translation::new(game.circuit.ground.as_ref().expect("small rules"), network);
        let elements = symmetries.group.as_ref().expect("a small group").elements(5_000).expect("a small group");
        let swaps = elements.iter().filter(|symmetry| symmetry.roles == [1, 0]);
        let mut rng = Pcg64::seed_from_u64(6);
        let mut n_swaps = 0;
        for swap in swaps.filter_map(|symmetry| translation.action(symmetry)) {
            let of_atoms = orbit::of_game(game, &atoms.features, symmetries);
            let known = of_atoms.iter().find(|known| {
                known.roles == [1, 0]
                    && atoms.features.iter().zip(&known.atoms).all(|(feature, &to)| {
                        feature.values.iter().all(|value| match value {
                            atoms::Value::Is(literal) => {
                                let (fluent, _) = swap.fluent(literal.fluent);
                                atoms.features[to as usize]
                                    .values
                                    .iter()
                                    .any(|value| matches!(value, atoms::Value::Is(image) if image.fluent == fluent))
                            }
                            _ => true,
                        })
                    })
            });
            let exchange = orbit::exchange(&atoms.features, orbits, known.expect("the same symmetry"));
            let exchange = exchange.expect("whole orbits");
            let mut weights: Vec<Vec<i16>> = orbits
                .iter()
                .map(|orbit| (0..orbit.n_canonical).map(|_| rng.random_range(-999..1000)).collect())
                .collect();
            for (number, exchange) in exchange.iter().enumerate() {
                assert_eq!(exchange.orbit, number);
                for (slot, &to) in exchange.slots.iter().enumerate() {
                    let own = weights[number][slot];
                    weights[number][to as usize] = if to as usize == slot { 0 } else { -own };
                }
            }
            let instances: Vec<Instance> = orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
            let tables: Vec<Vec<i16>> = orbits.iter().zip(&weights).map(|(orbit, own)| orbit.expand(own)).collect();
            let tables = Tables::new(&tables, &instances);
            let indexer: Indexer<u16> =
                Indexer::new(&atoms.features, &instances, network.fluents.len()).expect("small tables");
            let (states, words) = random_states(game, 1_000, 4);
            for state in states.chunks(words).step_by(7) {
                let value = |state: &[u64]| tables.sum(indexer.indices(&indexer.start(state)));
                assert_eq!(value(&swap.state(state)), -value(state));
            }
            n_swaps += 1;
        }
        assert_eq!(n_swaps, 8);
    }

    #[test]
    fn symmetric_states_are_worth_the_same() {
        for name in ["tic-tac-toe", "connect-four", "hex-5", "pentago"] {
            let game = game(name);
            let (atoms, symmetries, orbits) = orbits(&game, &Settings::default());
            assert!(!orbits.is_empty(), "{name}");
            check_images(&game, &atoms, &symmetries, &orbits);
        }
    }

    /// Four in a row on a board of seven by six: across, upwards, and in both slanting directions, which mirror each other.
    #[test]
    fn tied_shapes_share_a_table_wherever_they_lie() {
        let game = game("connect-four");
        let atoms = atoms::find(&game, &atoms::Settings::default());
        let settings = Settings { straight: vec![4], min_line: usize::MAX, blocks: vec![], ..Settings::default() };
        let layer = &atoms.layers[0];
        let shapes = propose(&game.structure.boards[layer.board], layer, &settings).shapes;
        let symmetries = game.symmetries(1).expect("small rules");
        let keeping = orbit::keeping_roles(&game, &atoms.features, &symmetries);
        let orbits = orbit::tied(&atoms.features, &shapes, &keeping, &orbit::Budget::default());
        let fours = orbits.iter().filter(|orbit| orbit.kind == Kind::Straight(4));
        let mut sizes: Vec<(usize, usize)> = fours.map(|orbit| (orbit.instances.len(), orbit.n_canonical)).collect();
        sizes.sort_unstable();
        // What lies across reads the same from both ends.
        assert_eq!(sizes, [(21, 81), (24, 45), (24, 81)]);
        check_images(&game, &atoms, &symmetries, &orbits);
        let few = orbit::Budget { instances: 23, ..orbit::Budget::default() };
        let few = orbit::tied(&atoms.features, &shapes, &keeping, &few);
        assert!(few.iter().all(|orbit| orbit.instances.len() <= 23) && few.len() < orbits.len());
    }

    #[test]
    fn lines_need_no_order_and_come_from_outside() {
        let game = game("tic-tac-toe");
        let atoms = atoms::find(&game, &atoms::Settings::default());
        let layer = &atoms.layers[0];
        let board = &game.structure.boards[layer.board];
        let mut proposal = propose(board, layer, &Settings::default());
        // The diagonals: cells with equal coordinates, or with coordinates that add up.
        let place = |cell: usize, axis: usize| {
            board.axes[axis].values.iter().position(|&value| value == board.cells[cell][axis]).expect("a place")
        };
        let atom = |cell: usize| layer.cells[cell].expect("all cells change");
        let name = |cell: usize, axis: usize| game.universe.number(board.cells[cell][axis]).expect("a number");
        let falling: Vec<u32> = (0..9).filter(|&cell| place(cell, 0) == place(cell, 1)).map(atom).collect();
        let rising: Vec<u32> = (0..9).filter(|&cell| name(cell, 0) + name(cell, 1) == 4).map(atom).collect();
        given(&[falling, rising], |_| 3, 100, &mut proposal);
        let keeping = orbit::keeping_roles(&game, &atoms.features, &game.symmetries(1).expect("small rules"));
        let (orbits, left_out) = orbit::orbits(&atoms.features, &proposal.shapes, &keeping, &orbit::Budget::default());
        assert_eq!((keeping.len(), left_out), (8, 0));
        let mut lines: Vec<(usize, usize)> =
            orbits.iter().map(|orbit| (orbit.instances.len(), orbit.n_canonical)).collect();
        lines.sort_unstable();
        // Two middle lines, two diagonals, four edges; each reads the same from both ends.
        assert_eq!(lines, [(2, 18), (2, 18), (4, 18)]);
    }

    #[test]
    fn names_and_order_do_not_matter() {
        let sizes = |game: &Game| {
            let (atoms, _, orbits) = orbits(game, &Settings::default());
            let mut sizes: Vec<(Kind, usize, usize)> =
                orbits.iter().map(|orbit| (orbit.kind, orbit.instances.len(), orbit.n_canonical)).collect();
            sizes.sort_unstable();
            let mut ranges: Vec<usize> = atoms.features.iter().map(atoms::AtomicFeature::range).collect();
            ranges.sort_unstable();
            (ranges, sizes)
        };
        for name in ["connect-four-5x4", "othello-6x6"] {
            let plain = game(name);
            let mut rng = Pcg64::seed_from_u64(8);
            let scrambled = insight::scramble::scramble(&plain.program, RoleOrder::Kept, &mut rng);
            let scrambled = Game::new(scrambled.program, 1).expect("the same game");
            assert_eq!(sizes(&plain), sizes(&scrambled), "{name}");
        }
    }

    #[test]
    fn boards_without_coordinates_have_paths() {
        let game = game("merrills");
        let atoms = atoms::find(&game, &atoms::Settings::default());
        let shapes: Vec<Shape> = atoms
            .layers
            .iter()
            .flat_map(|layer| propose(&game.structure.boards[layer.board], layer, &Settings::default()).shapes)
            .collect();
        assert!(shapes.iter().any(|shape| matches!(shape.kind, Kind::Path(_) | Kind::Line { .. } | Kind::Edge)));
    }

    #[test]
    fn tables_and_numbers_are_limited() {
        let game = game("othello");
        let atoms = atoms::find(&game, &atoms::Settings::default());
        let board = &game.structure.boards[0];
        let small = propose(board, &atoms.layers[0], &Settings { slots: 243, ..Settings::default() });
        assert!(small.shapes.iter().all(|shape| shape.atoms.len() <= 5));
        assert!(small.shapes.iter().any(|shape| shape.kind == Kind::Straight(5)));
        let few = propose(board, &atoms.layers[0], &Settings { shapes: 10, ..Settings::default() });
        assert_eq!((few.shapes.len(), few.cut_short), (10, true));
        let mut proposal = Proposal::default();
        given(&[vec![3, 1], vec![1, 3], vec![0, 1, 2, 3, 4, 5]], |_| 3, 243, &mut proposal);
        assert_eq!(proposal.shapes, [Shape { kind: Kind::Given, atoms: vec![1, 3], form: vec![] }]);
    }
}
