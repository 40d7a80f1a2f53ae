//! Parts of boards, and distances on them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gdl::program::{self, Relation, Term};
use gdl::symbol::keyword;
use insight::family::Shape;
use insight::structure::board::{Board, Marker};
use machine::lanes::Vector;
use machine::network::{Gate, Network, Wire};

use super::effects::Effects;
use crate::game::Game;

/// Some cells of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it is, as the end of a phrase: `in a corner`.
    pub name: String,
    /// A short name.
    pub key: String,
    /// The numbers of its cells, ascending.
    pub cells: Vec<u32>,
}

/// The place of each cell on each axis.
fn places(board: &Board) -> Vec<Vec<i32>> {
    let place = |(axis, value): (&insight::structure::board::Axis, _)| {
        axis.values.iter().position(|other| other == value).expect("a cell has values of the axes") as i32
    };
    board.cells.iter().map(|cell| board.axes.iter().zip(cell).map(place).collect()).collect()
}

/// The regions of a board: on ordered boards corners, edges, rings, lines and diagonals, each with at least one cell and
/// fewer than all; on others the cells with so many neighbours.
pub fn regions(board: &Board) -> Vec<Region> {
    let mut by_key: BTreeMap<(usize, i32), (String, String, Vec<u32>)> = BTreeMap::new();
    let mut add = |kind: usize, number: i32, key: String, name: String, cell: usize| {
        by_key.entry((kind, number)).or_insert_with(|| (key, name, Vec::new())).2.push(cell as u32);
    };
    let places = places(board);
    let n_axes = board.axes.len();
    let linear = board.axes.iter().all(|axis| axis.order.is_some() && !axis.cyclic);
    if linear {
        let last: Vec<i32> = board.axes.iter().map(|axis| axis.values.len() as i32 - 1).collect();
        for (cell, place) in places.iter().enumerate() {
            let border = |axis: usize| place[axis].min(last[axis] - place[axis]);
            let ring = (0..n_axes).map(border).min().unwrap_or(0);
            let outermost = (0..n_axes).filter(|&axis| border(axis) == 0).count();
            if outermost == n_axes {
                add(0, 0, "corner".into(), "in a corner".into(), cell);
            } else if outermost > 0 {
                add(1, 0, "edge".into(), "on an edge but in no corner".into(), cell);
            }
            if n_axes > 1 {
                add(2, ring, format!("ring{}", ring + 1), format!("in ring {} from the edge", ring + 1), cell);
            }
            if let [first, second] = place[..] {
                let (rising, falling) = (second - first, second + first);
                let name = |kind: &str, number: i32| format!("on the {kind} diagonal {number}");
                add(3, rising, format!("rising{rising}"), name("rising", rising), cell);
                add(4, falling, format!("falling{falling}"), name("falling", falling), cell);
            }
        }
    } else if let Some(neighbours) = &board.neighbours {
        let mut degree = vec![0; board.cells.len()];
        for &(one, other) in &neighbours.pairs {
            degree[one as usize] += 1;
            degree[other as usize] += 1;
        }
        for (cell, &degree) in degree.iter().enumerate() {
            add(5, degree, format!("degree{degree}"), format!("that have {degree} neighbours"), cell);
        }
    }
    if n_axes > 1 || linear {
        for (cell, place) in places.iter().enumerate() {
            for (axis, &at) in place.iter().enumerate() {
                let name = format!("where coordinate {} is number {}", axis + 1, at + 1);
                add(10 + axis, at, format!("line{}-{}", axis + 1, at + 1), name, cell);
            }
        }
    }
    let all = board.cells.len();
    let region = |(_, (key, name, cells)): (_, (String, String, Vec<u32>))| Region { name, key, cells };
    by_key.into_iter().map(region).filter(|region| region.cells.len() < all).collect()
}

/// The pairs of neighbouring cells, each once: those of the board's own relation, or cells that are next to each other in
/// one coordinate and the same in all others.
pub fn neighbours(board: &Board) -> Vec<(u32, u32)> {
    if let Some(neighbours) = &board.neighbours {
        return neighbours.pairs.clone();
    }
    if !board.is_ordered() {
        return Vec::new();
    }
    let places = places(board);
    let number: BTreeMap<&Vec<i32>, u32> = places.iter().zip(0..).collect();
    let mut pairs = BTreeSet::new();
    for (cell, place) in places.iter().enumerate() {
        for (axis, of) in board.axes.iter().enumerate() {
            let n = of.values.len() as i32;
            let mut next = place.clone();
            next[axis] = if of.cyclic { (next[axis] + 1) % n } else { next[axis] + 1 };
            if let Some(&other) = number.get(&next).filter(|&&other| other != cell as u32) {
                pairs.insert((other.min(cell as u32), other.max(cell as u32)));
            }
        }
    }
    pairs.into_iter().collect()
}

/// How far each cell is from the nearest of some cells: by coordinates where the board is ordered, else from neighbour to
/// neighbour.
pub fn distances(board: &Board, from: &[u32]) -> Vec<Option<u32>> {
    if board.axes.iter().all(|axis| axis.order.is_some() && !axis.cyclic) {
        let places = places(board);
        let apart = |one: &[i32], other: &[i32]| one.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
        return places
            .iter()
            .map(|place| from.iter().map(|&cell| apart(place, &places[cell as usize])).min())
            .collect();
    }
    let mut steps = vec![Vec::new(); board.cells.len()];
    for (one, other) in neighbours(board) {
        steps[one as usize].push(other);
        steps[other as usize].push(one);
    }
    walk(&steps, from)
}

/// How many steps it takes to each cell from the nearest of some cells; `None` where no way leads.
pub fn walk(steps: &[Vec<u32>], from: &[u32]) -> Vec<Option<u32>> {
    let mut distance = vec![None; steps.len()];
    let mut queue = VecDeque::new();
    for &cell in from {
        distance[cell as usize] = Some(0);
        queue.push_back(cell);
    }
    while let Some(cell) = queue.pop_front() {
        let next = distance[cell as usize].map(|so_far: u32| so_far + 1);
        for &other in &steps[cell as usize] {
            if distance[other as usize].is_none() {
                distance[other as usize] = next;
                queue.push_back(other);
            }
        }
    }
    distance
}

/// Where a marker goes from each cell in one step: it leaves the cell and comes to another. By what moves would do, where that
/// is known, and by what was seen in samples.
pub fn steps(game: &Game, board: &Board, marker: &Marker, effects: Option<&Effects>) -> Vec<Vec<u32>> {
    let mut steps = vec![BTreeSet::new(); board.cells.len()];
    // Step 1. Moves that need the marker on a cell, from which they take it away.
    let cell_of: BTreeMap<u32, u32> = marker.fluents.iter().copied().collect();
    for (effects, chosen) in
        effects.iter().flat_map(|effects| effects.moves.iter().map(move |chosen| (effects, chosen)))
    {
        let on_cells = || chosen.changes.iter().filter_map(|change| Some((change, *cell_of.get(&change.fluent)?)));
        let needed = |fluent: u32| implies(&effects.network, chosen.could, effects.fluents[fluent as usize]);
        let left = on_cells().filter(|(change, _)| change.next == Wire::FALSE && needed(change.fluent));
        for (_, from) in left {
            let came = on_cells().filter(|&(change, to)| change.next != Wire::FALSE && to != from);
            steps[from as usize].extend(came.map(|(_, to)| to));
        }
    }
    // Step 2. Samples.
    for batch in &game.samples.batches {
        let on = batch.live & !batch.terminal;
        let change = |&(fluent, cell): &(u32, u32)| {
            let (before, after) = (batch.fluents[fluent as usize], batch.next[fluent as usize]);
            (cell, before & !after & on, after & !before & on)
        };
        let changes: Vec<(u32, Vector, Vector)> = marker.fluents.iter().map(change).collect();
        for (from, left, _) in changes.iter().filter(|(_, left, _)| !left.is_zero()) {
            let came = changes.iter().filter(|(_, _, came)| !(*left & *came).is_zero());
            steps[*from as usize].extend(came.map(|&(to, ..)| to));
        }
    }
    steps.into_iter().map(|cells| cells.into_iter().collect()).collect()
}

/// Whether a wire is a conjunction with another among its parts.
fn implies(network: &Network, wire: Wire, part: Wire) -> bool {
    let parts = match &network.gates[wire.gate() as usize] {
        Gate::And(inputs) if !wire.is_inverted() => &inputs[..],
        _ => &[],
    };
    wire == part || parts.contains(&part)
}

/// The cells that rules for goals and for the end of the game name: for each of their conditions on the board that has a
/// constant coordinate, the cells that fit, unless they are all cells or hundreds of such conditions exist.
pub fn targets(game: &Game, board: &Board) -> Vec<Region> {
    // Step 1. The relations that goals and the end depend on.
    let mut reached: BTreeSet<Relation> = BTreeSet::new();
    let mut open = vec![Relation { name: keyword::GOAL, arity: 2 }, Relation { name: keyword::TERMINAL, arity: 0 }];
    let mut conditions: BTreeSet<Vec<u32>> = BTreeSet::new();
    while let Some(relation) = open.pop() {
        if !reached.insert(relation) {
            continue;
        }
        for rule in game.program.rules.iter().filter(|rule| rule.head.relation() == relation) {
            rule.for_each_body_atom(|atom, _| match (atom.name, &atom.args[..]) {
                (keyword::TRUE, [fluent]) => conditions.extend(fitting_cells(game, board, fluent)),
                _ => open.push(atom.relation()),
            });
        }
    }
    // Step 2. Their cells.
    const MAX_TARGETS: usize = 24;
    let region = |cells: Vec<u32>| {
        let shown = |&cell: &u32| {
            let names: Vec<String> =
                board.cells[cell as usize].iter().map(|&value| game.universe.name(value)).collect();
            names.join(" ")
        };
        let mut text: Vec<String> = cells.iter().take(3).map(shown).collect();
        if cells.len() > 3 {
            text.push("...".to_owned());
        }
        let name = format!("the goal cells {}", text.join(", "));
        Region { key: name.clone(), name, cells }
    };
    if conditions.len() > MAX_TARGETS { Vec::new() } else { conditions.into_iter().map(region).collect() }
}

/// The cells that a condition with a constant coordinate speaks of; `None` if it is no such condition.
fn fitting_cells(game: &Game, board: &Board, fluent: &Term) -> Option<Vec<u32>> {
    for layer in &board.layers {
        let mut holes = Vec::new();
        if !matches(&game.structure.families[layer.family].shape, fluent, &mut holes) {
            continue;
        }
        let wanted: Vec<&Term> = layer.coordinates.iter().map(|&position| holes[position]).collect();
        let fits = |cell: &Vec<gdl::TermId>| {
            wanted.iter().zip(cell).all(|(wanted, &value)| {
                matches!(wanted, Term::Var(_)) || **wanted == super::term(&game.universe, value)
            })
        };
        let cells: Vec<u32> = (0..board.cells.len() as u32).filter(|&cell| fits(&board.cells[cell as usize])).collect();
        return (!cells.is_empty() && cells.len() < board.cells.len()).then_some(cells);
    }
    None
}

/// Whether a term has a shape, with what stands in its holes.
fn matches<'a>(shape: &Shape, term: &'a program::Term, holes: &mut Vec<&'a Term>) -> bool {
    match (shape, term) {
        (Shape::Hole, _) => {
            holes.push(term);
            true
        }
        (Shape::Of(name, parts), Term::Const(other)) => parts.is_empty() && name == other,
        (Shape::Of(name, parts), Term::Func(other, args)) => {
            name == other
                && parts.len() == args.len()
                && parts.iter().zip(args).all(|(part, arg)| matches(part, arg, holes))
        }
        (Shape::Of(..), Term::Var(_)) => false,
    }
}
