//! Boards: families of fluents whose arguments are places, and what stands there.
//!
//! A family is read as a board by choosing which of its arguments are coordinates and which one, if any, is what stands on
//! a cell. That must make sense: a cell holds one thing at a time (`(cell x y content)`), or a thing is in one cell at a time
//! (`(location piece x y)`), or a cell is on or off (`(lit x y)`). Of several readings the one is taken whose coordinates are
//! ordered, and that has two of them.
//!
//! Families that talk about the same cells are layers of one board. Coordinates that no order connects may be connected by a
//! relation between cells: hexagonal boards, irregular ones, graphs.

use gdl::program::{Formula, Term, VarId};
use gdl::symbol::keyword;
use gdl::{Relation, Stop, TermId};
use machine::lanes::{LANES, Vector};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::family::{Family, Shape};
use crate::order::Order;
use crate::sample::Samples;
use crate::structure::exclusion::Exclusion;
use crate::structure::turn::{self, Turns};
use crate::universe::Universe;

/// Families with more coordinates are no boards that anybody would want to see.
const MAX_COORDINATES: usize = 4;

/// Families with more arguments that vary are not looked at: a coordinate or a marker is one of few.
const MAX_ARGUMENTS: usize = 64;

/// A family read as part of a board.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The family.
    pub family: usize,
    /// The arguments that are coordinates.
    pub coordinates: Vec<usize>,
    /// The arguments that say what stands there; none where cells are on or off.
    pub marker: Vec<usize>,
    /// Whether a cell holds at most one marker.
    pub one_per_cell: bool,
    /// Whether every cell always holds one.
    pub always_one: bool,
    /// Whether a marker is in at most one cell.
    pub one_cell_each: bool,
}

/// A coordinate of a board.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its values, in order if there is one.
    pub values: Vec<TermId>,
    /// The order, as a number among all orders.
    pub order: Option<usize>,
    /// Whether the order closes to a circle.
    pub cyclic: bool,
}

/// A relation between cells that says which ones are neighbours.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// The relation.
    pub relation: Relation,
    /// The pairs of cells, by their numbers, each once with the lower one first.
    pub pairs: Vec<(u32, u32)>,
    /// Whether the relation holds both ways.
    pub symmetric: bool,
    /// The most neighbours that a cell has.
    pub max_degree: usize,
    /// How many cells have that many.
    pub n_full: usize,
}

/// What may stand on a cell.
#[derive(Clone, Debug)]
pub struct Marker {
    /// Its layer's place on the board.
    pub layer: usize,
    /// Its name as a term, or the family that stands for it.
    pub name: MarkerName,
    /// Its fluents, with the number of the cell.
    pub fluents: Vec<(u32, u32)>,
    /// Whether it was never in two cells at once: it is a piece.
    pub is_piece: bool,
    /// The role whose moves alone put it somewhere.
    pub owner: Option<u32>,
    /// The mean number of cells that hold it.
    pub mean_count: f64,
    /// Whether it ever came to a cell or left one.
    pub changes: bool,
}

/// What a marker is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkerName {
    /// One or more arguments.
    Terms(Vec<TermId>),
    /// A family of its own.
    Family(usize),
}

/// A board.
#[derive(Clone, Debug)]
pub struct Board {
    /// The families that it is made of; the one with the most cells first.
    pub layers: Vec<Layer>,
    /// The coordinates.
    pub axes: Vec<Axis>,
    /// The cells: a value for each coordinate.
    pub cells: Vec<Vec<TermId>>,
    /// The relation between neighbouring cells, where there is one.
    pub neighbours: Option<Neighbours>,
    /// What may stand on it.
    pub markers: Vec<Marker>,
    /// The marker that means that nothing is there, as a place in `markers`.
    pub blank: Option<usize>,
}

impl Board {
    /// Whether every coordinate has an order.
    pub fn is_ordered(&self) -> bool {
        self.axes.iter().all(|axis| axis.order.is_some())
    }

    /// Whether some combination of coordinates is no cell.
    pub fn is_irregular(&self) -> bool {
        self.cells.len() < self.axes.iter().map(|axis| axis.values.len()).product()
    }
}

/// Finds the boards; stopped, perhaps none. Families in `used` are other things already.
#[allow(clippy::too_many_arguments)]
pub(super) fn find(
    universe: &Universe,
    families: &[Family],
    exclusions: &[Exclusion],
    orders: &[Order],
    turns: &Turns,
    samples: &Samples,
    used: &[bool],
    stop: &Stop,
) -> Vec<Board> {
    // Step 1. The best reading of each family.
    let mut own_exclusions: Vec<Vec<&Exclusion>> = vec![Vec::new(); families.len()];
    for found in exclusions {
        if let [family] = found.families[..] {
            own_exclusions[family].push(found);
        }
    }
    let mut layers: Vec<Layer> = (0..families.len())
        .take_while(|_| !stop.is_raised())
        .filter(|&index| !used[index])
        .filter_map(|index| reading(universe, families, index, &own_exclusions[index], orders))
        .collect();
    layers.sort_by_cached_key(|layer| {
        let n_cells = cells(&families[layer.family], &layer.coordinates).len();
        (!layer.always_one, layer.marker.is_empty(), std::cmp::Reverse(n_cells), layer.family)
    });
    // Step 2. Layers over the same cells make one board.
    let mut boards: Vec<Board> = Vec::new();
    for layer in layers {
        if stop.is_raised() {
            return Vec::new();
        }
        let own = cells(&families[layer.family], &layer.coordinates);
        let board = boards.iter_mut().find(|board| {
            let known: FxHashSet<&Vec<TermId>> = board.cells.iter().collect();
            let common = own.iter().filter(|cell| known.contains(cell)).count();
            // Two layers that are complete are two boards.
            let complete = layer.always_one && board.layers[0].always_one;
            board.axes.len() == layer.coordinates.len() && common * 10 >= own.len() * 9 && !complete
        });
        match board {
            Some(board) => board.layers.push(layer),
            None => {
                let axes = axes(universe, &families[layer.family], &layer.coordinates, orders);
                let mut cells = own;
                let places: Vec<FxHashMap<TermId, usize>> =
                    axes.iter().map(|axis| axis.values.iter().copied().zip(0..).collect()).collect();
                cells.sort_by_cached_key(|cell| {
                    places.iter().zip(cell).map(|(places, value)| places.get(value).copied()).collect::<Vec<_>>()
                });
                boards.push(Board { layers: vec![layer], axes, cells, neighbours: None, markers: vec![], blank: None });
            }
        }
    }
    // Step 3. Neighbours, markers, pieces, owners.
    for board in &mut boards {
        if stop.is_raised() {
            return Vec::new();
        }
        board.neighbours = neighbours(universe, board);
        board.markers = markers(universe, families, turns, board, samples, stop);
        board.blank = blank(universe, board, samples);
    }
    // A set of things without any connection between them is no board, unless each always has one of several marks.
    boards.retain(|board| {
        let on_or_off = board.layers.iter().all(|layer| layer.marker.is_empty());
        let family = |layer: &Layer| layer.family;
        let marked = board.layers.len() > 1
            && exclusions.iter().any(|found| {
                found.exactly && board.layers.iter().map(family).all(|family| found.families.contains(&family))
            });
        let connected = board.is_ordered() || board.neighbours.is_some();
        let placed =
            board.layers.iter().all(|layer| !layer.one_per_cell) && board.axes.len() == 1 && !board.is_ordered();
        let both_ways = board.neighbours.as_ref().is_some_and(|neighbours| neighbours.symmetric);
        board.cells.len() >= if board.is_ordered() { 2 } else { 3 }
            && (!on_or_off || marked || connected && board.cells.len() >= 4)
            && (on_or_off || !placed || both_ways)
    });
    boards
}

fn cells(family: &Family, coordinates: &[usize]) -> Vec<Vec<TermId>> {
    let mut cells: Vec<Vec<TermId>> = family
        .arguments
        .iter()
        .map(|arguments| coordinates.iter().map(|&position| arguments[position]).collect())
        .collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

fn reading(
    universe: &Universe,
    families: &[Family],
    index: usize,
    exclusions: &[&Exclusion],
    orders: &[Order],
) -> Option<Layer> {
    let family = &families[index];
    let varying: Vec<usize> = (0..family.arity()).filter(|&position| family.domains[position].len() > 1).collect();
    let own = || exclusions.iter();
    let keys: Vec<&Vec<usize>> = own().map(|found| &found.key).collect();
    // If one member holds at most, it is a thing in a place, or no board at all.
    let alone = keys.iter().any(|key| key.is_empty());
    // A value for each of some things is a function, not a set of pairs.
    let function = own().any(|found| found.exactly && !found.is_trivial() && !found.key.is_empty());
    if varying.is_empty() || varying.len() > MAX_ARGUMENTS {
        return None;
    }
    let roles: FxHashSet<TermId> = universe.roles.iter().copied().collect();
    let is_role = |position: &usize| family.domains[*position].iter().all(|value| roles.contains(value));
    let best_orders: FxHashMap<usize, Option<usize>> =
        varying.iter().map(|&position| (position, best_order(universe, family, position, orders))).collect();
    let ordered = |position: &usize| best_orders[position].is_some();
    // One thing somewhere in a row may be a number as well; in a circle it is in a place.
    let in_circle = varying.len() == 1 && best_orders[&varying[0]].is_some_and(|order| orders[order].cyclic);
    // What may be the marker: one argument, all that a key determines, or nothing. Of equal readings the first is taken.
    let mut markers: Vec<Vec<usize>> = varying.iter().rev().map(|&position| vec![position]).collect();
    markers.extend(keys.iter().map(|key| varying.iter().copied().filter(|position| !key.contains(position)).collect()));
    markers.push(Vec::new());
    let mut best = None;
    for marker in markers {
        let (thing, coordinates): (Vec<usize>, Vec<usize>) =
            varying.iter().copied().partition(|position| marker.contains(position));
        if alone && (!thing.is_empty() || varying.len() < 2 && !in_circle) || thing.is_empty() && function {
            continue;
        }
        if !(1..=MAX_COORDINATES).contains(&coordinates.len()) || coordinates.iter().all(is_role) {
            continue;
        }
        let within = |key: &[usize], all: &[usize]| key.iter().all(|position| all.contains(position));
        let one_per_cell = !thing.is_empty() && keys.iter().any(|key| within(key, &coordinates));
        let always_one = one_per_cell && own().any(|found| found.exactly && found.key == coordinates);
        let one_cell_each = alone || !thing.is_empty() && keys.iter().any(|key| within(key, &thing));
        let all_ordered = coordinates.iter().all(ordered);
        let things_ordered = !thing.is_empty() && thing.iter().all(ordered);
        // Where several things may share a cell, coordinates must tell that it is one.
        let shared = coordinates.len() > 1 && all_ordered && !things_ordered && thing.len() == 1;
        if !thing.is_empty() && !one_per_cell && !one_cell_each && !shared {
            continue;
        }
        if let ([coordinate], [thing]) = (&coordinates[..], &thing[..])
            && are_alike(family, *coordinate, *thing)
        {
            continue;
        }
        // A number for each of some things that have no places is a quantity.
        let number = coordinates.len() == 1 && one_cell_each && !one_per_cell && all_ordered && !in_circle;
        if things_ordered && !all_ordered || number {
            continue;
        }
        let sizes = || coordinates.iter().map(|&position| family.domains[position].len());
        let uneven = coordinates.len() > 2 && sizes().max() > sizes().min().map(|least| 4 * least);
        if thing.is_empty() && coordinates.len() > 1 && (!all_ordered || uneven) {
            continue;
        }
        let score = (
            all_ordered,
            !coordinates.iter().any(is_role),
            coordinates.len() == 2,
            one_per_cell || one_cell_each,
            !things_ordered,
            !thing.is_empty(),
            one_per_cell,
        );
        let layer = Layer { family: index, coordinates, marker: thing, one_per_cell, always_one, one_cell_each };
        if best.as_ref().is_none_or(|(least, _)| score > *least) {
            best = Some((score, layer));
        }
    }
    // An argument that is always the same names the thing.
    best.map(|(_, mut layer)| {
        if layer.marker.is_empty() {
            layer.marker = (0..family.arity()).filter(|&position| family.domains[position].len() == 1).collect();
        }
        layer
    })
}

/// Whether two arguments hold the same things, but never the same one at once: things on things, say, which are no board.
pub(super) fn are_alike(family: &Family, one: usize, other: usize) -> bool {
    let common = family.domains[one].iter().filter(|value| family.domains[other].binary_search(value).is_ok()).count();
    let never_same = family.arguments.iter().all(|arguments| arguments[one] != arguments[other]);
    common * 2 > family.domains[one].len() && never_same
}

/// The order that fits an argument best: it holds all values and as little else as possible; of equal ones, that which the
/// rules use most with this argument. A circle of two only says that there are two, and roles are no places.
pub(super) fn best_order(universe: &Universe, family: &Family, position: usize, orders: &[Order]) -> Option<usize> {
    let domain = &family.domains[position];
    if domain.iter().all(|value| universe.roles.contains(value)) {
        return None;
    }
    let fits = |order: &Order| {
        (!order.cyclic || order.objects.len() > 2)
            && order.objects.len() >= domain.len()
            && order.objects.iter().filter(|object| domain.binary_search(object).is_ok()).count() == domain.len()
    };
    let candidates: Vec<usize> = (0..orders.len()).filter(|&index| fits(&orders[index])).collect();
    let least = candidates.iter().map(|&index| orders[index].objects.len()).min()?;
    let tied = candidates.into_iter().filter(|&index| orders[index].objects.len() == least);
    tied.min_by_key(|&index| {
        let (order, uses) = (&orders[index], shared_variables(universe, family, position, &orders[index]));
        (std::cmp::Reverse(uses), order.cyclic, order.selector.is_some(), order.same_as.is_some(), index)
    })
}

/// How often rules use a variable both in an argument of the family and in the relation of an order.
fn shared_variables(universe: &Universe, family: &Family, position: usize, order: &Order) -> usize {
    let mut count = 0;
    for rule in &universe.program.rules {
        let (mut places, mut related): (Vec<VarId>, Vec<VarId>) = (Vec::new(), Vec::new());
        let mut look = |name, args: &[Term]| {
            if let (keyword::TRUE | keyword::NEXT | keyword::INIT, [fluent]) = (name, args) {
                let mut holes = Vec::new();
                if matches(&family.shape, fluent, &mut holes)
                    && let Some(Term::Var(var)) = holes.get(position)
                {
                    places.push(*var);
                }
            } else if (Relation { name, arity: args.len() as u32 }) == order.relation {
                args.iter().for_each(|arg| arg.for_each_var(&mut |var| related.push(var)));
            }
        };
        look(rule.head.name, &rule.head.args);
        rule.body
            .iter()
            .for_each(|formula: &Formula| formula.for_each_atom(&mut |atom, _| look(atom.name, &atom.args)));
        count += usize::from(places.iter().any(|var| related.contains(var)));
    }
    count
}

/// Whether a term of the rules has a shape, and what stands in its holes.
fn matches(shape: &Shape, term: &Term, holes: &mut Vec<Term>) -> bool {
    match (shape, term) {
        (Shape::Hole, Term::Var(_) | Term::Const(_)) => {
            holes.push(term.clone());
            true
        }
        (Shape::Of(name, parts), Term::Const(other)) => parts.is_empty() && name == other,
        (Shape::Of(name, parts), Term::Func(other, args)) => {
            name == other
                && parts.len() == args.len()
                && parts.iter().zip(args.iter()).all(|(part, arg)| matches(part, arg, holes))
        }
        _ => false,
    }
}

fn axes(universe: &Universe, family: &Family, coordinates: &[usize], orders: &[Order]) -> Vec<Axis> {
    let axis = |&position: &usize| {
        let order = best_order(universe, family, position, orders);
        let mut values = family.domains[position].clone();
        if let Some(order) = order {
            let places: FxHashMap<TermId, usize> = orders[order].objects.iter().copied().zip(0..).collect();
            values.sort_by_key(|value| places.get(value).copied());
        }
        Axis { values, order, cyclic: order.is_some_and(|order| orders[order].cyclic) }
    };
    coordinates.iter().map(axis).collect()
}

/// The relation that connects most cells, among those that never change and hold two cells in each row: the coordinates of
/// one, then those of the other, or in turn, with at most one further argument (a direction).
fn neighbours(universe: &Universe, board: &Board) -> Option<Neighbours> {
    let n = board.axes.len();
    let number: FxHashMap<&Vec<TermId>, u32> = board.cells.iter().zip(0..).collect();
    let mut best: Option<Neighbours> = None;
    for fixed in &universe.statics {
        let arity = fixed.relation.arity as usize;
        if arity < 2 * n || arity > 2 * n + 1 || n == 0 || fixed.rows.len() < board.cells.len() / 2 {
            continue;
        }
        let extra: Vec<Option<usize>> = if arity == 2 * n { vec![None] } else { (0..arity).map(Some).collect() };
        for extra in extra {
            let positions: Vec<usize> = (0..arity).filter(|&position| Some(position) != extra).collect();
            let blocks = (positions[..n].to_vec(), positions[n..].to_vec());
            let turns = (
                positions.iter().copied().step_by(2).collect::<Vec<_>>(),
                positions.iter().copied().skip(1).step_by(2).collect::<Vec<_>>(),
            );
            let splits = if n == 1 { vec![blocks] } else { vec![blocks, turns] };
            for (from, to) in splits {
                let cell = |row: &Vec<TermId>, at: &[usize]| {
                    number.get(&at.iter().map(|&position| row[position]).collect::<Vec<_>>()).copied()
                };
                let ends: Option<Vec<(u32, u32)>> =
                    fixed.rows.iter().map(|row| Some((cell(row, &from)?, cell(row, &to)?))).collect();
                let Some(ends) = ends else { continue };
                if let Some(found) = graph(fixed.relation, &ends, board.cells.len())
                    && (!board.is_ordered() || found.max_degree > 2)
                    && best.as_ref().is_none_or(|best| better(&found, best))
                {
                    best = Some(found);
                }
            }
        }
    }
    best
}

/// Of two relations between cells the one whose cells have fewer neighbours tells more about the shape of the board.
fn better(one: &Neighbours, other: &Neighbours) -> bool {
    (other.max_degree, one.pairs.len()) > (one.max_degree, other.pairs.len())
}

fn graph(relation: Relation, ends: &[(u32, u32)], n_cells: usize) -> Option<Neighbours> {
    let arrows: FxHashSet<(u32, u32)> = ends.iter().copied().collect();
    let symmetric = arrows.iter().all(|&(from, to)| arrows.contains(&(to, from)));
    let mut pairs: Vec<(u32, u32)> =
        arrows.iter().filter(|(from, to)| from != to).map(|&(from, to)| (from.min(to), from.max(to))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut degrees = vec![0usize; n_cells];
    pairs.iter().for_each(|&(one, other)| {
        degrees[one as usize] += 1;
        degrees[other as usize] += 1;
    });
    // Most cells have a neighbour, and no cell is the neighbour of nearly all.
    let connected = degrees.iter().filter(|&&degree| degree > 0).count();
    let max_degree = *degrees.iter().max()?;
    if connected * 10 < n_cells * 9 || max_degree == 0 || n_cells > 4 && max_degree * 3 > n_cells * 2 {
        return None;
    }
    let n_full = degrees.iter().filter(|&&degree| degree == max_degree).count();
    Some(Neighbours { relation, pairs, symmetric, max_degree, n_full })
}

fn markers(
    universe: &Universe,
    families: &[Family],
    turns: &Turns,
    board: &Board,
    samples: &Samples,
    stop: &Stop,
) -> Vec<Marker> {
    let number: FxHashMap<&Vec<TermId>, u32> = board.cells.iter().zip(0..).collect();
    let mut by_name: std::collections::BTreeMap<(usize, MarkerName), Vec<(u32, u32)>> = Default::default();
    for (index, layer) in board.layers.iter().enumerate() {
        let family = &families[layer.family];
        for (&fluent, arguments) in family.members.iter().zip(&family.arguments) {
            let cell: Vec<TermId> = layer.coordinates.iter().map(|&position| arguments[position]).collect();
            let Some(&cell) = number.get(&cell) else { continue };
            let name = if layer.marker.is_empty() {
                MarkerName::Family(layer.family)
            } else {
                MarkerName::Terms(layer.marker.iter().map(|&position| arguments[position]).collect())
            };
            by_name.entry((index, name)).or_default().push((fluent, cell));
        }
    }
    let marker = |((layer, name), fluents): ((usize, MarkerName), Vec<(u32, u32)>)| {
        let members: Vec<u32> = fluents.iter().map(|&(fluent, _)| fluent).collect();
        let is_piece = members.len() > 1 && super::exclusion::test(samples, &members).is_some();
        let held: u64 = members.iter().map(|&fluent| samples.held[fluent as usize]).sum();
        let changes = samples.batches.iter().any(|batch| {
            let on = batch.live & !batch.terminal;
            members.iter().any(|&fluent| {
                let (before, after) = (batch.fluents[fluent as usize], batch.next[fluent as usize]);
                (before ^ after) & on != Vector::ZERO
            })
        });
        Marker {
            layer,
            name,
            owner: if stop.is_raised() { None } else { owner(universe, turns, samples, &members) },
            fluents,
            is_piece,
            mean_count: held as f64 / samples.n_states.max(1) as f64,
            changes,
        }
    };
    by_name.into_iter().map(marker).collect()
}

/// The role whose moves make these fluents hold: another move of it would have prevented it, they don't come to hold when it
/// has nothing to do, and another role's move hardly matters. (Where roles move at the same time, one may get into another's
/// way: one case in four is allowed.) If that is nobody, the role that alone makes them more.
fn owner(universe: &Universe, turns: &Turns, samples: &Samples, fluents: &[u32]) -> Option<u32> {
    if universe.roles.len() < 2 {
        return None;
    }
    let causes: Vec<u64> = (0..universe.roles.len())
        .map(|role| fluents.iter().map(|&fluent| samples.caused[role][fluent as usize]).sum())
        .collect();
    let total: u64 = causes.iter().sum();
    let (role, &most) = causes.iter().enumerate().max_by_key(|(_, count)| **count)?;
    if total < 10 || most * 4 < total * 3 {
        return increaser(universe, turns, samples, fluents);
    }
    let range = turn::ranges(universe)[role].clone();
    let (mut appearances, mut by_others) = (0u64, 0u64);
    for batch in &samples.batches {
        let on = batch.live & !batch.terminal;
        let busy = turn::to_move(batch, range.clone(), &turns.idle[role]);
        for &fluent in fluents {
            let appears = batch.next[fluent as usize] & !batch.fluents[fluent as usize] & on;
            appearances += u64::from(appears.count());
            by_others += u64::from((appears & !busy).count());
        }
    }
    (by_others * 100 <= appearances).then_some(role as u32)
}

/// The role that alone is to move whenever more of these fluents come to hold. (In some games a role's move takes the others'
/// pieces from place to place.)
fn increaser(universe: &Universe, turns: &Turns, samples: &Samples, fluents: &[u32]) -> Option<u32> {
    let ranges = turn::ranges(universe);
    let (mut increases, mut by_role) = (0u64, vec![0u64; ranges.len()]);
    for batch in &samples.batches {
        let mut change = [0i32; LANES];
        for &fluent in fluents {
            let (before, after) = (batch.fluents[fluent as usize], batch.next[fluent as usize]);
            for lane in (0..LANES).filter(|&lane| before.get(lane) != after.get(lane)) {
                change[lane] += if after.get(lane) { 1 } else { -1 };
            }
        }
        let busy: Vec<Vector> =
            ranges.iter().zip(&turns.idle).map(|(range, idle)| turn::to_move(batch, range.clone(), idle)).collect();
        let on = batch.live & !batch.terminal;
        for lane in (0..LANES).filter(|&lane| change[lane] > 0 && on.get(lane)) {
            increases += 1;
            let movers: Vec<usize> = (0..busy.len()).filter(|&role| busy[role].get(lane)).collect();
            if let [mover] = movers[..] {
                by_role[mover] += 1;
            }
        }
    }
    by_role.iter().position(|&count| count >= 10 && count == increases).map(|role| role as u32)
}

/// The marker for an empty cell: nobody owns it, and of all cells that change it was in the most before. With one role there
/// is no owner to tell by: then every change must be from it or to it, and it must be the only such marker.
fn blank(universe: &Universe, board: &Board, samples: &Samples) -> Option<usize> {
    if !board.layers[0].always_one {
        return None;
    }
    let n = board.markers.len();
    let (mut before, mut parts, mut changes) = (vec![0u64; n], vec![0u64; n], 0u64);
    let mut by_cell: Vec<Vec<(usize, u32)>> = vec![Vec::new(); board.cells.len()];
    for (index, marker) in board.markers.iter().enumerate() {
        marker.fluents.iter().for_each(|&(fluent, cell)| by_cell[cell as usize].push((index, fluent)));
    }
    for batch in &samples.batches {
        let on = batch.live & !batch.terminal;
        for fluents in &by_cell {
            let mut any = Vector::ZERO;
            for &(index, fluent) in fluents {
                let change = (batch.fluents[fluent as usize] ^ batch.next[fluent as usize]) & on;
                before[index] += u64::from((change & batch.fluents[fluent as usize]).count());
                parts[index] += u64::from(change.count());
                any = any | change;
            }
            changes += u64::from(any.count());
        }
    }
    let all_pieces = board.markers.iter().all(|marker| marker.is_piece);
    let candidate = |index: &usize| {
        let marker = &board.markers[*index];
        let fits = marker.fluents.len() * 2 > board.cells.len() && (!marker.is_piece || all_pieces);
        marker.layer == 0 && marker.owner.is_none() && fits
    };
    let single = universe.roles.len() == 1;
    let best = (0..n).filter(candidate).max_by_key(|&index| if single { parts[index] } else { before[index] })?;
    let alone = parts.iter().filter(|&&count| count == parts[best]).count() == 1;
    (if single { parts[best] == changes && alone } else { before[best] > 0 }).then_some(best)
}
