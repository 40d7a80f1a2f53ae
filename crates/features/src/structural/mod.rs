//! Features read from a game's structure: where pieces are, how far apart, how many of them where, numbers, mobility.
//!
//! All are written in the language of [`crate::feature`]: sums over what holds in a state or is legal in it. A coordinate
//! is the sum of the places of the cells where the piece is (one at most), a distance the sum over the pairs of cells where
//! both are, a quantity the sum of the places of the values that it has. Each comes with a sentence in English.

pub mod effects;
pub mod fuzzy;
pub mod region;
pub mod squares;
pub mod thesis;
pub mod tree;

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::TermId;
use gdl::program::{Term, VarId};
use gdl::symbol::keyword;
use insight::family::{Family, Shape};
use insight::structure::board::{Board, Marker, MarkerName};
use insight::universe::Universe;
use rustc_hash::FxHashSet;

use crate::columns;
use crate::feature::{Axis, Feature, Metric, Weight};
use crate::formula::{Atom, Formula};
use crate::game::Game;
use region::Region;

/// A feature with what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The feature.
    pub feature: Feature,
    /// What it means, in English.
    pub sentence: String,
    /// The greatest value without its sign that its form admits.
    pub bound: i32,
}

/// How much is proposed.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Features in all.
    pub features: usize,
    /// Pieces of a board of which pairs are looked at.
    pub paired_pieces: usize,
    /// Cells of a board whose pairs are listed.
    pub paired_cells: usize,
    /// Moves of a game of which it is found out what they would do.
    pub moves: usize,
    /// For finding that out.
    pub effects: effects::Budget,
}

impl Default for Budget {
    fn default() -> Budget {
        let effects = effects::Budget { instances: 5_000_000, ..effects::Budget::default() };
        Budget { features: 4_000, paired_pieces: 12, paired_cells: 128, moves: 2_000, effects }
    }
}

/// What is proposed, and how much more there would have been.
#[derive(Clone, Debug)]
pub struct Proposals {
    /// The features, each once; general ones come first.
    pub features: Vec<Named>,
    /// How many the budget left out.
    pub left_out: usize,
}

/// Proposes features of a game's structure. Many of them may be constant; that is for samples to say.
pub fn propose(game: &Game, budget: &Budget) -> Proposals {
    let builder = Builder { game, budget };
    let mut found = Vec::new();
    builder.mobility(&mut found);
    builder.quantities(&mut found);
    builder.counters(&mut found);
    for board in &game.structure.boards {
        builder.counts(board, &mut found);
        builder.pieces(board, &mut found);
        builder.advances(board, &mut found);
        builder.contacts(board, &mut found);
    }
    for board in &game.structure.boards {
        builder.move_graphs(board, &mut found);
        builder.targets(board, &mut found);
        builder.regions(board, &mut found);
    }
    let mut seen = FxHashSet::default();
    found.retain(|named| seen.insert(named.feature.clone()));
    let left_out = found.len().saturating_sub(budget.features);
    found.truncate(budget.features);
    Proposals { features: found, left_out }
}

/// A term of a universe as a term of the rules.
pub fn term(universe: &Universe, id: TermId) -> Term {
    columns::term(&universe.terms, id)
}

/// The term of a family with these arguments.
fn apply(family: &Family, mut argument: impl FnMut(usize) -> Term) -> Term {
    fn fill(shape: &Shape, next: &mut impl FnMut() -> Term) -> Term {
        match shape {
            Shape::Hole => next(),
            Shape::Of(name, parts) if parts.is_empty() => Term::Const(*name),
            Shape::Of(name, parts) => Term::Func(*name, parts.iter().map(|part| fill(part, next)).collect()),
        }
    }
    let mut position = 0;
    fill(&family.shape, &mut || {
        position += 1;
        argument(position - 1)
    })
}

fn holds(fluent: Term) -> Formula {
    Formula::Atom(Atom { name: keyword::TRUE, args: vec![fluent] })
}

fn vars(range: std::ops::Range<u32>) -> Vec<VarId> {
    range.map(VarId).collect()
}

/// One or more markers that are counted together.
#[derive(Clone, Debug)]
struct Group {
    /// Their places among the board's markers.
    markers: Vec<usize>,
    /// What they are called: `cells with white`, `cells of white`.
    name: String,
}

struct Builder<'a> {
    game: &'a Game,
    budget: &'a Budget,
}

impl Builder<'_> {
    fn term(&self, id: TermId) -> Term {
        term(&self.game.universe, id)
    }

    fn role(&self, role: usize) -> String {
        self.game.universe.name(self.game.universe.roles[role])
    }

    fn order(&self, values: &[TermId]) -> Arc<Vec<Term>> {
        Arc::new(values.iter().map(|&value| self.term(value)).collect())
    }

    fn marker_name(&self, marker: &Marker) -> String {
        match &marker.name {
            MarkerName::Terms(terms) => {
                terms.iter().map(|&term| self.game.universe.name(term)).collect::<Vec<_>>().join(" ")
            }
            MarkerName::Family(family) => match &self.game.structure.families[*family].shape {
                Shape::Of(name, _) => self.game.universe.symbols.name(*name).to_owned(),
                Shape::Hole => String::new(),
            },
        }
    }

    /// That a marker is on the cell with these coordinates.
    fn stands(&self, board: &Board, marker: &Marker, cell: &[Term]) -> Formula {
        let layer = &board.layers[marker.layer];
        let family = &self.game.structure.families[layer.family];
        holds(apply(family, |position| {
            if let Some(axis) = layer.coordinates.iter().position(|&coordinate| coordinate == position) {
                return cell[axis].clone();
            }
            let of_marker = layer.marker.iter().position(|&part| part == position);
            match (&marker.name, of_marker) {
                (MarkerName::Terms(terms), Some(part)) => self.term(terms[part]),
                _ => self.term(family.domains[position][0]),
            }
        }))
    }

    /// That one of the markers is on the cell with these coordinates.
    fn one_stands(&self, board: &Board, group: &Group, cell: &[Term]) -> Formula {
        let each: Vec<Formula> =
            group.markers.iter().map(|&marker| self.stands(board, &board.markers[marker], cell)).collect();
        if each.len() == 1 { each.into_iter().next().expect("there is one") } else { Formula::Or(each) }
    }

    fn cell_vars(board: &Board, from: u32) -> (Vec<VarId>, Vec<Term>) {
        let list = vars(from..from + board.axes.len() as u32);
        let terms = list.iter().map(|&var| Term::Var(var)).collect();
        (list, terms)
    }

    /// Each marker, and all markers of a role that has several.
    fn groups(&self, board: &Board) -> Vec<Group> {
        let each = board.markers.iter().enumerate();
        let mut groups: Vec<Group> = each
            .map(|(index, marker)| Group {
                markers: vec![index],
                name: format!("cells with {}", self.marker_name(marker)),
            })
            .collect();
        for role in 0..self.game.universe.roles.len() {
            let own = (0..board.markers.len()).filter(|&index| board.markers[index].owner == Some(role as u32));
            let markers: Vec<usize> = own.collect();
            if markers.len() > 1 {
                groups.push(Group { markers, name: format!("cells with anything of {}", self.role(role)) });
            }
        }
        groups
    }

    /// The groups that are worth a look at where they are.
    fn changing_groups(&self, board: &Board) -> Vec<Group> {
        let mut groups = self.groups(board);
        groups.retain(|group| {
            group.markers.iter().any(|&index| board.markers[index].changes && board.blank != Some(index))
        });
        groups
    }

    fn counts(&self, board: &Board, found: &mut Vec<Named>) {
        let (list, cell) = Self::cell_vars(board, 0);
        let n_cells = board.cells.len() as i32;
        for group in self.groups(board) {
            found.push(Named {
                feature: Feature::count(list.clone(), self.one_stands(board, &group, &cell)),
                sentence: format!("the number of {}", group.name),
                bound: n_cells,
            });
        }
        // One role's less another's.
        let roles = self.game.universe.roles.len();
        for (one, other) in (0..roles).flat_map(|one| (one + 1..roles).map(move |other| (one, other))) {
            let (mut rows, mut name) = (Vec::new(), None);
            for marker in &board.markers {
                let sign = if marker.owner == Some(one as u32) { 1 } else { -1 };
                let MarkerName::Terms(terms) = &marker.name else { continue };
                if [Some(one as u32), Some(other as u32)].contains(&marker.owner)
                    && *name.get_or_insert(marker.layer) == marker.layer
                {
                    rows.push((terms.iter().map(|&part| self.term(part)).collect::<Vec<Term>>(), sign));
                }
            }
            let Some(layer) = name.map(|layer| &board.layers[layer]) else { continue };
            if !rows.iter().any(|row| row.1 == 1) || !rows.iter().any(|row| row.1 == -1) {
                continue;
            }
            let n = list.len() as u32;
            let parts = vars(n..n + layer.marker.len() as u32);
            let family = &self.game.structure.families[layer.family];
            let fluent = apply(family, |position| {
                let axis = layer.coordinates.iter().position(|&coordinate| coordinate == position);
                let part = layer.marker.iter().position(|&part| part == position);
                match (axis, part) {
                    (Some(axis), _) => cell[axis].clone(),
                    (_, Some(part)) => Term::Var(parts[part]),
                    _ => self.term(family.domains[position][0]),
                }
            });
            found.push(Named {
                feature: Feature::sum(
                    Weight::table(parts.clone(), rows),
                    [list.clone(), parts].concat(),
                    holds(fluent),
                ),
                sentence: format!("what {} has on the board, less what {} has", self.role(one), self.role(other)),
                bound: n_cells,
            });
        }
    }

    /// The axes along which things can be said to be further or nearer.
    fn ordered_axes<'b>(&self, board: &'b Board) -> Vec<(usize, &'b [TermId])> {
        let axes = board.axes.iter().enumerate();
        axes.filter(|(_, axis)| axis.order.is_some()).map(|(index, axis)| (index, &axis.values[..])).collect()
    }

    fn pieces(&self, board: &Board, found: &mut Vec<Named>) {
        let pieces: Vec<&Marker> = board.markers.iter().filter(|marker| marker.is_piece).collect();
        for piece in &pieces {
            let (_, cell) = Self::cell_vars(board, 0);
            found.push(Named {
                feature: Feature::count(Vec::new(), self.stands(board, piece, &cell)),
                sentence: format!("whether {} is on the board", self.marker_name(piece)),
                bound: 1,
            });
            found.extend(self.coordinates(board, piece));
        }
        if pieces.len() > self.budget.paired_pieces || !board.is_ordered() {
            return;
        }
        for (index, one) in pieces.iter().enumerate() {
            for other in &pieces[index + 1..] {
                found.push(self.distance(board, one, other, Metric::Manhattan));
                if board.axes.len() > 1 {
                    found.push(self.distance(board, one, other, Metric::Chebyshev));
                }
            }
        }
    }

    /// The coordinates of a piece; 0 where it is not on the board.
    fn coordinates(&self, board: &Board, piece: &Marker) -> Vec<Named> {
        let (list, cell) = Self::cell_vars(board, 0);
        let coordinate = |(index, values): (usize, &[TermId])| Named {
            feature: Feature::sum(
                Weight::Place { var: list[index], order: self.order(values) },
                list.clone(),
                self.stands(board, piece, &cell),
            ),
            sentence: format!("coordinate {} of {}", index + 1, self.marker_name(piece)),
            bound: values.len() as i32 - 1,
        };
        self.ordered_axes(board).into_iter().map(coordinate).collect()
    }

    /// The distance of two pieces; 0 where one is not on the board.
    fn distance(&self, board: &Board, one: &Marker, other: &Marker, metric: Metric) -> Named {
        let n = board.axes.len();
        let ((from, first), (to, second)) = (Self::cell_vars(board, 0), Self::cell_vars(board, n as u32));
        let axes =
            (0..n).map(|index| Axis { from: from[index], to: to[index], order: self.order(&board.axes[index].values) });
        let lengths = board.axes.iter().map(|axis| axis.values.len() as i32 - 1);
        let (kind, bound) = match metric {
            Metric::Chebyshev => ("greatest coordinate difference", lengths.max().unwrap_or(0)),
            _ => ("distance", lengths.sum()),
        };
        Named {
            feature: Feature::sum(
                Weight::Distance { metric, axes: axes.collect() },
                [from, to].concat(),
                Formula::all([self.stands(board, one, &first), self.stands(board, other, &second)]),
            ),
            sentence: format!("{kind} of {} and {}", self.marker_name(one), self.marker_name(other)),
            bound,
        }
    }

    /// How far markers have come, in all.
    fn advances(&self, board: &Board, found: &mut Vec<Named>) {
        let (list, cell) = Self::cell_vars(board, 0);
        for group in self.changing_groups(board) {
            if group.markers.iter().all(|&index| board.markers[index].is_piece) && group.markers.len() == 1 {
                continue;
            }
            for (index, values) in self.ordered_axes(board) {
                found.push(Named {
                    feature: Feature::sum(
                        Weight::Place { var: list[index], order: self.order(values) },
                        list.clone(),
                        self.one_stands(board, &group, &cell),
                    ),
                    sentence: format!("the sum of coordinate {} over all {}", index + 1, group.name),
                    bound: (values.len() as i32 - 1) * board.cells.len() as i32,
                });
            }
        }
    }

    /// Pairs of neighbouring cells that hold the same, or that hold things of different roles.
    fn contacts(&self, board: &Board, found: &mut Vec<Named>) {
        let pairs = region::neighbours(board);
        if pairs.is_empty() || board.cells.len() > self.budget.paired_cells {
            return;
        }
        let n = board.axes.len() as u32;
        let ((from, first), (to, second)) = (Self::cell_vars(board, 0), Self::cell_vars(board, n));
        let terms = |cell: u32| board.cells[cell as usize].iter().map(|&value| self.term(value));
        let row = |&(one, other): &(u32, u32)| terms(one).chain(terms(other)).collect::<Vec<Term>>();
        let both_ways: Vec<Vec<Term>> = pairs.iter().flat_map(|&(a, b)| [row(&(a, b)), row(&(b, a))]).collect();
        let once = Arc::new(pairs.iter().map(row).collect::<Vec<_>>());
        let both_ways = Arc::new(both_ways);
        let mut groups = self.groups(board);
        groups.retain(|group| group.markers.iter().all(|&marker| board.markers[marker].owner.is_some()));
        let owner = |group: &Group| board.markers[group.markers[0]].owner;
        let list = [from, to].concat();
        let cells: Vec<Term> = list.iter().map(|&var| Term::Var(var)).collect();
        for (index, one) in groups.iter().enumerate() {
            for other in &groups[index..] {
                let same = one.markers == other.markers;
                let alone = |group: &Group| group.markers.len() == 1 && board.markers[group.markers[0]].is_piece;
                if same && alone(one) || !same && owner(one) == owner(other) {
                    continue;
                }
                let rows = if same { once.clone() } else { both_ways.clone() };
                let parts = [
                    self.one_stands(board, one, &first),
                    self.one_stands(board, other, &second),
                    Formula::Member(cells.clone(), rows),
                ];
                found.push(Named {
                    feature: Feature::count(list.clone(), Formula::all(parts)),
                    sentence: if same {
                        format!("the number of pairs of neighbouring {}", one.name)
                    } else {
                        format!(
                            "the number of pairs of neighbours, one of the {} and one of the {}",
                            one.name, other.name
                        )
                    },
                    bound: pairs.len() as i32,
                });
            }
        }
    }

    fn regions(&self, board: &Board, found: &mut Vec<Named>) {
        let regions = region::regions(board);
        let (list, cell) = Self::cell_vars(board, 0);
        for group in self.changing_groups(board) {
            for region in &regions {
                found.push(Named {
                    feature: Feature::count(
                        list.clone(),
                        Formula::all([
                            self.one_stands(board, &group, &cell),
                            Formula::Member(cell.clone(), self.cell_rows(board, region)),
                        ]),
                    ),
                    sentence: format!("the number of {} {}", group.name, region.name),
                    bound: region.cells.len() as i32,
                });
            }
        }
    }

    fn cell_rows(&self, board: &Board, region: &Region) -> Arc<Vec<Vec<Term>>> {
        let row = |&cell: &u32| board.cells[cell as usize].iter().map(|&value| self.term(value)).collect();
        Arc::new(region.cells.iter().map(row).collect())
    }

    /// How far pieces and markers are from the cells that the rules of the end and of the goals name.
    fn targets(&self, board: &Board, found: &mut Vec<Named>) {
        let (list, cell) = Self::cell_vars(board, 0);
        for target in region::targets(self.game, board) {
            let distances = region::distances(board, &target.cells);
            let bound = distances.iter().flatten().copied().max().unwrap_or(0) as i32;
            if bound == 0 {
                continue;
            }
            let rows = distances.iter().enumerate().filter_map(|(index, distance)| {
                let row = board.cells[index].iter().map(|&value| self.term(value)).collect::<Vec<Term>>();
                Some((row, distance.map(|distance| distance as i32)?))
            });
            let weight = Weight::table(list.clone(), rows);
            for group in self.changing_groups(board) {
                found.push(Named {
                    feature: Feature::sum(weight.clone(), list.clone(), self.one_stands(board, &group, &cell)),
                    sentence: format!("the sum of the distances of {} from {}", group.name, target.name),
                    bound: bound * board.cells.len() as i32,
                });
            }
        }
    }

    /// Distances of pairs of pieces by the steps that one of them makes.
    fn move_graphs(&self, board: &Board, found: &mut Vec<Named>) {
        let pieces: Vec<&Marker> = board.markers.iter().filter(|marker| marker.is_piece).collect();
        if pieces.len() > self.budget.paired_pieces || board.cells.len() > self.budget.paired_cells {
            return;
        }
        let n = board.axes.len() as u32;
        let ((from, first), (to, second)) = (Self::cell_vars(board, 0), Self::cell_vars(board, n));
        let list = [from, to].concat();
        let mut watched = vec![false; self.game.universe.fluents.len()];
        pieces.iter().flat_map(|piece| &piece.fluents).for_each(|&(fluent, _)| watched[fluent as usize] = true);
        let few = pieces.len() > 1 && self.game.universe.moves.len() <= self.budget.moves;
        let effects = few.then(|| effects::find(self.game, &watched, &self.budget.effects).ok()).flatten();
        for one in &pieces {
            let steps = region::steps(self.game, board, one, effects.as_ref());
            if steps.iter().all(Vec::is_empty) {
                continue;
            }
            let mut rows = Vec::new();
            let mut bound = 0;
            for start in 0..board.cells.len() {
                for (end, distance) in region::walk(&steps, &[start as u32]).into_iter().enumerate() {
                    let cells = board.cells[start].iter().chain(&board.cells[end]);
                    if let Some(distance) = distance {
                        bound = bound.max(distance as i32);
                        rows.push((cells.map(|&value| self.term(value)).collect::<Vec<Term>>(), distance as i32));
                    }
                }
            }
            let weight = Weight::table(list.clone(), rows);
            for other in pieces.iter().filter(|other| other.fluents != one.fluents) {
                found.push(Named {
                    feature: Feature::sum(
                        weight.clone(),
                        list.clone(),
                        Formula::all([self.stands(board, one, &first), self.stands(board, other, &second)]),
                    ),
                    sentence: format!("how many steps {} is from {}", self.marker_name(one), self.marker_name(other)),
                    bound,
                });
            }
        }
    }

    fn quantities(&self, found: &mut Vec<Named>) {
        let universe = &self.game.universe;
        for quantity in &self.game.structure.quantities {
            let family = &self.game.structure.families[quantity.family];
            let order = self.order(&self.game.structure.orders[quantity.order].objects);
            let keys: BTreeSet<Vec<TermId>> = family
                .arguments
                .iter()
                .map(|arguments| quantity.key.iter().map(|&position| arguments[position]).collect())
                .collect();
            let fluent = |key: &[TermId], var: VarId| {
                holds(apply(family, |position| {
                    let of_key = quantity.key.iter().position(|&part| part == position);
                    match of_key {
                        Some(part) => self.term(key[part]),
                        None if position == quantity.value => Term::Var(var),
                        None => self.term(family.domains[position][0]),
                    }
                }))
            };
            let name = |key: &[TermId]| {
                let arguments = (0..family.arity()).map(|position| {
                    let part = quantity.key.iter().position(|&part| part == position);
                    part.map_or("_".to_owned(), |part| universe.name(key[part]))
                });
                family.with_arguments(universe, arguments)
            };
            let bound = order.len() as i32 - 1;
            for key in &keys {
                found.push(Named {
                    feature: Feature::sum(
                        Weight::Place { var: VarId(0), order: order.clone() },
                        vec![VarId(0)],
                        fluent(key, VarId(0)),
                    ),
                    sentence: format!("the number in {}", name(key)),
                    bound,
                });
            }
            // The same number of two roles.
            let is_role = |value: &TermId| universe.roles.contains(value);
            for (one, other) in
                keys.iter().flat_map(|one| keys.range(one.clone()..).skip(1).map(move |other| (one, other)))
            {
                let mut differing = one.iter().zip(other).filter(|(a, b)| a != b);
                let (Some((a, b)), None) = (differing.next(), differing.next()) else { continue };
                if !is_role(a) || !is_role(b) {
                    continue;
                }
                let axis = Axis { from: VarId(1), to: VarId(0), order: order.clone() };
                found.push(Named {
                    feature: Feature::sum(
                        Weight::Distance { metric: Metric::Difference, axes: vec![axis] },
                        vars(0..2),
                        Formula::all([fluent(one, VarId(0)), fluent(other, VarId(1))]),
                    ),
                    sentence: format!("the number in {}, less that in {}", name(one), name(other)),
                    bound,
                });
            }
        }
    }

    /// How far counters have run.
    fn counters(&self, found: &mut Vec<Named>) {
        for (counter, ..) in &self.game.structure.counters {
            let family = &self.game.structure.families[counter.family];
            let varying: Vec<usize> = (0..family.arity()).filter(|&at| family.domains[at].len() > 1).collect();
            let [varying] = varying[..] else { continue };
            if counter.cyclic {
                continue;
            }
            let argument = |value: &u32| {
                let member = family.members.iter().position(|member| member == value).expect("it is a member");
                family.arguments[member][varying]
            };
            let values: Vec<TermId> = counter.values.iter().map(argument).collect();
            let fluent = apply(family, |position| {
                if position == varying { Term::Var(VarId(0)) } else { self.term(family.domains[position][0]) }
            });
            found.push(Named {
                feature: Feature::sum(
                    Weight::Place { var: VarId(0), order: self.order(&values) },
                    vec![VarId(0)],
                    holds(fluent),
                ),
                sentence: format!("how far {} has run", family.display(&self.game.universe)),
                bound: values.len() as i32 - 1,
            });
        }
    }

    /// How many legal moves the roles have, of each shape and in all.
    fn mobility(&self, found: &mut Vec<Named>) {
        let universe = &self.game.universe;
        let legal = |role: Term, chosen: Term| Formula::Atom(Atom { name: keyword::LEGAL, args: vec![role, chosen] });
        let n_roles = universe.roles.len();
        for role in 0..n_roles {
            let own = self.term(universe.roles[role]);
            let n_moves = universe.moves.iter().filter(|&&(of, _)| of as usize == role).count() as i32;
            found.push(Named {
                feature: Feature::count(vec![VarId(0)], legal(own.clone(), Term::Var(VarId(0)))),
                sentence: format!("the number of legal moves of {}", self.role(role)),
                bound: n_moves,
            });
            for other in role + 1..n_roles {
                let rows = [(vec![own.clone()], 1), (vec![self.term(universe.roles[other])], -1)];
                found.push(Named {
                    feature: Feature::sum(
                        Weight::table(vec![VarId(0)], rows),
                        vars(0..2),
                        legal(Term::Var(VarId(0)), Term::Var(VarId(1))),
                    ),
                    sentence: format!("the legal moves of {}, less those of {}", self.role(role), self.role(other)),
                    bound: universe.moves.len() as i32,
                });
            }
        }
        let marker_terms: FxHashSet<TermId> = self
            .game
            .structure
            .boards
            .iter()
            .flat_map(|board| &board.markers)
            .flat_map(|marker| if let MarkerName::Terms(terms) = &marker.name { terms.clone() } else { Vec::new() })
            .collect();
        for family in &self.game.structure.move_families {
            let varying: Vec<usize> = (0..family.arity()).filter(|&at| family.domains[at].len() > 1).collect();
            // An argument that names what moves tells moves apart.
            let split = varying.iter().copied().find(|&at| {
                family.domains[at].len() <= 16 && family.domains[at].iter().all(|value| marker_terms.contains(value))
            });
            let values = split.map_or(vec![None], |at| {
                std::iter::once(None).chain(family.domains[at].iter().map(|&value| Some((at, value)))).collect()
            });
            for role in 0..n_roles {
                for value in &values {
                    let mut list = Vec::new();
                    let mut text = Vec::new();
                    let mut bound = 0;
                    for (&member, arguments) in family.members.iter().zip(&family.arguments) {
                        let fits = value.is_none_or(|(at, value)| arguments[at] == value);
                        bound += i32::from(universe.moves[member as usize].0 as usize == role && fits);
                    }
                    let chosen = apply(family, |position| {
                        let fixed = match value {
                            Some((at, value)) if *at == position => Some(*value),
                            _ if family.domains[position].len() == 1 => Some(family.domains[position][0]),
                            _ => None,
                        };
                        text.push(fixed.map_or("_".to_owned(), |fixed| universe.name(fixed)));
                        match fixed {
                            Some(fixed) => self.term(fixed),
                            None => {
                                list.push(VarId(list.len() as u32));
                                Term::Var(*list.last().expect("it was pushed"))
                            }
                        }
                    });
                    if bound > 0 {
                        let shape = family.with_arguments(universe, text.into_iter());
                        found.push(Named {
                            feature: Feature::count(list, legal(self.term(universe.roles[role]), chosen)),
                            sentence: if varying.is_empty() {
                                format!("whether {} may do {shape}", self.role(role))
                            } else {
                                format!("the number of moves {shape} of {}", self.role(role))
                            },
                            bound,
                        });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
