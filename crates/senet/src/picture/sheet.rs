//! Where the fluents of a game are drawn: on its boards, or, where there is none, in tables of fluents.

use std::collections::{BTreeMap, BTreeSet};

use features::game::Game;
use features::structural::term;
use gdl::TermId;
use gdl::program::Term;
use insight::structure::board::{Board, MarkerName};

use super::{escape, number, put, shorten};
use crate::view::{Shape, View};

/// The side of a cell in a drawing.
const SIDE: f64 = 10.0;
/// Tables with more fluents are not drawn.
const MAX_TABLE: usize = 600;

/// A part of the drawing.
struct Panel {
    /// Its cells: to the right and down, in cells.
    cells: Vec<(f64, f64)>,
    /// Texts at its borders.
    labels: Vec<(f64, f64, String)>,
    /// Lines between cells.
    lines: Vec<(usize, usize)>,
    /// Whether cells are drawn as circles.
    round: bool,
}

/// What a fluent is in the drawing.
#[derive(Clone, Debug)]
struct Spot {
    panel: usize,
    cell: usize,
    /// What is drawn if it holds; nothing for an empty cell.
    glyph: Option<String>,
    /// The role that it belongs to.
    owner: Option<u32>,
}

/// Where everything is drawn.
pub(crate) struct Sheet {
    panels: Vec<Panel>,
    /// By the fluent's number in the universe.
    spots: BTreeMap<u32, Spot>,
    /// The cells of boards, by their coordinates.
    places: BTreeMap<Vec<Term>, (usize, usize)>,
    /// The cells that a move names, by its number.
    moves: Vec<Vec<(usize, usize)>>,
}

/// What is drawn on a sheet.
#[derive(Default)]
pub(crate) struct Drawing {
    /// How strongly cells are shaded, from 0 to 1; less than 0 for what counts against the value.
    pub(crate) heat: BTreeMap<(usize, usize), f64>,
    /// Fluents that hold.
    pub(crate) fluents: Vec<u32>,
    /// Fluents that must not hold; they are crossed out.
    pub(crate) absent: Vec<u32>,
    /// Cells with a frame.
    pub(crate) framed: BTreeSet<(usize, usize)>,
}

impl Sheet {
    /// Lays out a game; `view` says how people want to see it.
    pub(crate) fn new(game: &Game, view: Option<&View>) -> Sheet {
        let mut sheet =
            Sheet { panels: Vec::new(), spots: BTreeMap::new(), places: BTreeMap::new(), moves: Vec::new() };
        match view.filter(|view| !view.board.is_empty()) {
            Some(view) => sheet.by_view(game, view),
            None if !game.structure.boards.is_empty() => sheet.by_structure(game),
            None => sheet.tables(game),
        }
        sheet.find_moves(game);
        sheet
    }

    /// Whether there is nothing to draw on.
    pub(crate) fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    /// The cell of a fluent.
    pub(crate) fn cell(&self, fluent: u32) -> Option<(usize, usize)> {
        self.spots.get(&fluent).map(|spot| (spot.panel, spot.cell))
    }

    /// The cells that a move names.
    pub(crate) fn cells_of_move(&self, chosen: u32) -> &[(usize, usize)] {
        self.moves.get(chosen as usize).map_or(&[], |cells| cells)
    }

    fn by_view(&mut self, game: &Game, view: &View) {
        let owners = owners(game);
        let mut cells: Vec<Vec<(f64, f64)>> = vec![Vec::new(); view.board.len()];
        for (number, &fluent) in (0u32..).zip(&game.universe.fluents) {
            let Some(place) = view.place(&game.universe.name(fluent)) else { continue };
            let own = &mut cells[place.board];
            let cell = own.iter().position(|&at| at == place.at).unwrap_or_else(|| {
                own.push(place.at);
                own.len() - 1
            });
            let owner = owners.get(&number).copied();
            self.spots.insert(number, Spot { panel: place.board, cell, glyph: place.glyph, owner });
        }
        for (board, cells) in view.board.iter().zip(cells) {
            let bottom = cells.iter().map(|cell| cell.1).fold(0.0, f64::max) + 0.85;
            let mut labels = Vec::new();
            if board.shape != Shape::Graph {
                let columns = board.columns.iter().enumerate();
                labels.extend(columns.map(|(x, name)| (x as f64, bottom, name.clone())));
                let hex = board.shape == Shape::Hex;
                let step = if hex { 0.87 } else { 1.0 };
                let n = board.rows.len() as f64 - 1.0;
                labels.extend(board.rows.iter().enumerate().map(|(y, name)| {
                    let left = if hex { y as f64 / 2.0 } else { 0.0 };
                    (left - 0.85, (n - y as f64) * step, name.clone())
                }));
            }
            self.panels.push(Panel { cells, labels, lines: Vec::new(), round: board.shape != Shape::Grid });
        }
        self.neighbour_lines(game);
    }

    /// Lines between neighbours, where cells lie anywhere.
    fn neighbour_lines(&mut self, game: &Game) {
        for board in &game.structure.boards {
            let Some(neighbours) = &board.neighbours else { continue };
            let at = |cell: u32| {
                let fluents = board.markers.iter().flat_map(|marker| &marker.fluents);
                fluents.filter(|(_, other)| *other == cell).find_map(|(fluent, _)| self.cell(*fluent))
            };
            let pairs: Vec<_> = neighbours.pairs.iter().filter_map(|&(a, b)| Some((at(a)?, at(b)?))).collect();
            for ((panel, a), (other, b)) in pairs {
                if panel == other && self.panels[panel].labels.is_empty() {
                    self.panels[panel].lines.push((a, b));
                }
            }
        }
    }

    fn by_structure(&mut self, game: &Game) {
        for board in &game.structure.boards {
            let panel = self.panels.len();
            let drawn = Layout::new(game, board);
            self.panels.push(drawn.panel);
            for (number, marker) in board.markers.iter().enumerate() {
                let glyph = (board.blank != Some(number)).then(|| marker_glyph(game, &marker.name));
                for &(fluent, cell) in &marker.fluents {
                    let spot = Spot { panel, cell: cell as usize, glyph: glyph.clone(), owner: marker.owner };
                    self.spots.insert(fluent, spot);
                }
            }
        }
    }

    /// A table for each family of fluents: first argument down, the others to the right.
    fn tables(&mut self, game: &Game) {
        let structure = &game.structure;
        let counters: Vec<usize> = structure.counters.iter().map(|(counter, ..)| counter.family).collect();
        let control: Vec<u32> = structure.turns.control.iter().flatten().copied().collect();
        for (index, family) in structure.families.iter().enumerate() {
            let turns = family.members.iter().all(|member| control.contains(member));
            if counters.contains(&index) || turns || family.members.len() > MAX_TABLE {
                continue;
            }
            let (mut rows, mut columns): (Vec<TermId>, Vec<Vec<TermId>>) = (Vec::new(), Vec::new());
            for arguments in &family.arguments {
                let (first, rest) =
                    arguments.split_first().map_or((None, &[][..]), |(first, rest)| (Some(*first), rest));
                rows.extend(first.filter(|first| !rows.contains(first)));
                if !columns.iter().any(|column| column == rest) {
                    columns.push(rest.to_vec());
                }
            }
            let name = |terms: &[TermId]| {
                terms.iter().map(|&term| game.universe.name(term)).collect::<Vec<String>>().join(" ")
            };
            rows.sort_by_key(|&row| (name(&[row]).len(), name(&[row])));
            columns.sort_by_key(|column| (name(column).len(), name(column)));
            // Names are wider than cells, so columns are set apart and their names stand in two heights.
            let gap = 1.6;
            let mut panel = Panel { cells: Vec::new(), labels: Vec::new(), lines: Vec::new(), round: true };
            for (&member, arguments) in family.members.iter().zip(&family.arguments) {
                let row = arguments.first().and_then(|first| rows.iter().position(|row| row == first)).unwrap_or(0);
                let rest = arguments.get(1..).unwrap_or(&[]);
                let column = columns.iter().position(|column| column == rest).unwrap_or(0);
                let spot = Spot {
                    panel: self.panels.len(),
                    cell: panel.cells.len(),
                    glyph: Some("●".to_owned()),
                    owner: None,
                };
                self.spots.insert(member, spot);
                panel.cells.push((column as f64 * gap, row as f64));
            }
            let shape = family.display(&game.universe);
            panel.labels.push(((columns.len() as f64 - 1.0) * gap / 2.0, -1.7, shape));
            panel.labels.extend(rows.iter().enumerate().map(|(y, &row)| (-1.6, y as f64, name(&[row]))));
            panel.labels.extend(columns.iter().enumerate().filter(|(_, column)| !column.is_empty()).map(
                |(x, column)| {
                    let height = if x % 2 == 0 { -0.8 } else { -1.1 };
                    (x as f64 * gap, height, name(column))
                },
            ));
            self.panels.push(panel);
        }
    }

    /// Cells, and what moves name of them.
    fn find_moves(&mut self, game: &Game) {
        let universe = &game.universe;
        for board in &game.structure.boards {
            for marker in &board.markers {
                for &(fluent, cell) in &marker.fluents {
                    if let Some(at) = self.cell(fluent) {
                        let cell = board.cells[cell as usize].iter().map(|&value| term(universe, value)).collect();
                        self.places.entry(cell).or_insert(at);
                    }
                }
            }
        }
        let cells = |&(_, chosen): &(u32, TermId)| match term(universe, chosen) {
            Term::Func(_, args) => self.cells_among(&args),
            _ => Vec::new(),
        };
        self.moves = universe.moves.iter().map(cells).collect();
    }

    /// The cells whose coordinates follow each other among terms.
    pub(crate) fn cells_among(&self, terms: &[Term]) -> Vec<(usize, usize)> {
        let lengths: BTreeSet<usize> = self.places.keys().map(Vec::len).collect();
        let mut cells = Vec::new();
        for length in lengths {
            let mut at = 0;
            while at + length <= terms.len() {
                match self.places.get(&terms[at..at + length]) {
                    Some(&cell) => {
                        cells.push(cell);
                        at += length;
                    }
                    None => at += 1,
                }
            }
        }
        cells
    }

    /// The board that all drawings share, to be referred to as `#board`.
    pub(crate) fn base(&self) -> String {
        let mut text = String::new();
        for (offset, panel) in self.offsets().iter().zip(&self.panels) {
            let at = |cell: usize| (panel.cells[cell].0 * SIDE + offset.0, panel.cells[cell].1 * SIDE + offset.1);
            for &(a, b) in &panel.lines {
                let ((x1, y1), (x2, y2)) = (at(a), at(b));
                let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
                put(&mut text, format_args!(r#"<line class="l" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
            }
            for cell in 0..panel.cells.len() {
                text.push_str(&shape(at(cell), panel.round, "c", None));
            }
            for (x, y, label) in &panel.labels {
                let (x, y) = (x * SIDE + offset.0, y * SIDE + offset.1);
                let label = escape(&shorten(label, 14));
                put(&mut text, format_args!(r#"<text class="t" x="{}" y="{}">{label}</text>"#, number(x), number(y)));
            }
        }
        text
    }

    /// The part of the plane that is drawn: left, top, width and height.
    pub(crate) fn frame(&self) -> [f64; 4] {
        let mut frame = [f64::MAX, f64::MAX, f64::MIN, f64::MIN];
        let mut include = |x: f64, y: f64, margin: f64| {
            frame = [
                frame[0].min(x - margin),
                frame[1].min(y - margin),
                frame[2].max(x + margin),
                frame[3].max(y + margin),
            ];
        };
        for (offset, panel) in self.offsets().iter().zip(&self.panels) {
            panel.cells.iter().for_each(|&(x, y)| include(x * SIDE + offset.0, y * SIDE + offset.1, SIDE * 0.6));
            for (x, y, label) in &panel.labels {
                let width = shorten(label, 14).chars().count() as f64;
                include(x * SIDE + offset.0, y * SIDE + offset.1, (width * 1.1).max(3.0));
            }
        }
        if frame[0] > frame[2] {
            [0.0, 0.0, 1.0, 1.0]
        } else {
            [frame[0], frame[1], frame[2] - frame[0], frame[3] - frame[1]]
        }
    }

    /// Where panels begin: beside each other, in rows of up to three.
    fn offsets(&self) -> Vec<(f64, f64)> {
        let (mut x, mut y, mut tallest) = (0.0, 0.0, 0f64);
        let mut offsets = Vec::new();
        for (index, panel) in self.panels.iter().enumerate() {
            let all = || panel.cells.iter().copied().chain(panel.labels.iter().map(|label| (label.0, label.1)));
            let size = |axis: fn(&(f64, f64)) -> f64| {
                let (low, high) = all().fold((0f64, 0f64), |(low, high), at| (low.min(axis(&at)), high.max(axis(&at))));
                (high - low + 1.8, low)
            };
            let ((width, left), (height, top)) = (size(|at| at.0), size(|at| at.1));
            if index > 0 && index % 3 == 0 {
                (x, y, tallest) = (0.0, y + tallest, 0.0);
            }
            offsets.push(((x - left) * SIDE, (y - top) * SIDE));
            x += width + 1.0;
            tallest = tallest.max(height + 1.0);
        }
        offsets
    }

    /// A drawing as SVG; `#board` must be on the page.
    pub(crate) fn draw(&self, drawing: &Drawing, label: &str) -> String {
        let frame = self.frame().map(number).join(" ");
        let label = escape(label);
        let mut text = format!(r##"<svg viewBox="{frame}" role="img" aria-label="{label}"><title>{label}</title>"##);
        text.push_str(r##"<use href="#board"/>"##);
        let offsets = self.offsets();
        let at = |(panel, cell): (usize, usize)| {
            let (x, y) = self.panels[panel].cells[cell];
            (x * SIDE + offsets[panel].0, y * SIDE + offsets[panel].1)
        };
        for (&cell, &heat) in &drawing.heat {
            let class = if heat < 0.0 { "n" } else { "h" };
            text.push_str(&shape(at(cell), self.panels[cell.0].round, class, Some(heat.abs())));
        }
        for &cell in &drawing.framed {
            text.push_str(&shape(at(cell), self.panels[cell.0].round, "f", None));
        }
        let absent = drawing.absent.iter().map(|fluent| (fluent, true));
        for (fluent, crossed) in drawing.fluents.iter().map(|fluent| (fluent, false)).chain(absent) {
            let Some(spot) = self.spots.get(fluent) else { continue };
            let (x, y) = at((spot.panel, spot.cell));
            let owner = spot.owner.map_or(String::new(), |owner| format!(" r{}", owner % 4));
            let (left, top) = (number(x), number(y));
            match &spot.glyph {
                Some(glyph) => {
                    let long = if glyph.chars().count() > 1 { " s" } else { "" };
                    let glyph = escape(glyph);
                    put(&mut text, format_args!(r#"<text class="g{long}{owner}" x="{left}" y="{top}">{glyph}</text>"#));
                }
                None if drawing.framed.contains(&(spot.panel, spot.cell)) => {
                    put(&mut text, format_args!(r#"<circle class="e" cx="{left}" cy="{top}" r="1.4"/>"#));
                }
                None => {}
            }
            if crossed {
                let [x1, y1, x2, y2] = [x - 3.2, y + 3.2, x + 3.2, y - 3.2].map(number);
                put(&mut text, format_args!(r#"<line class="x" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
            }
        }
        text + "</svg>"
    }
}

fn shape((x, y): (f64, f64), round: bool, class: &str, opacity: Option<f64>) -> String {
    let opacity = opacity.map_or(String::new(), |opacity| format!(r#" fill-opacity="{}""#, number(opacity)));
    let half = SIDE / 2.0;
    if round {
        let radius = number(half * 0.92);
        return format!(r#"<circle class="{class}"{opacity} cx="{}" cy="{}" r="{radius}"/>"#, number(x), number(y));
    }
    // A frame lies within its cell, so that those of neighbours don't cover each other.
    let half = if class == "f" { half - 0.5 } else { half };
    let [left, top, side] = [x - half, y - half, 2.0 * half].map(number);
    format!(r#"<rect class="{class}"{opacity} x="{left}" y="{top}" width="{side}" height="{side}"/>"#)
}

/// The role that each fluent of a board belongs to.
fn owners(game: &Game) -> BTreeMap<u32, u32> {
    let markers = game.structure.boards.iter().flat_map(|board| &board.markers);
    markers.flat_map(|marker| marker.fluents.iter().filter_map(|&(fluent, _)| Some((fluent, marker.owner?)))).collect()
}

fn marker_glyph(game: &Game, name: &MarkerName) -> String {
    match name {
        MarkerName::Terms(terms) => {
            let words: Vec<String> = terms.iter().map(|&term| game.universe.name(term)).collect();
            words.join(" ").chars().take(2).collect()
        }
        MarkerName::Family(_) => "●".to_owned(),
    }
}

/// A board laid out by its coordinates and neighbours.
struct Layout {
    panel: Panel,
}

impl Layout {
    fn new(game: &Game, board: &Board) -> Layout {
        let name = |term: TermId| game.universe.name(term);
        // Values without an order are sorted as people would.
        let axes: Vec<Vec<TermId>> = board
            .axes
            .iter()
            .map(|axis| {
                let mut values = axis.values.clone();
                if axis.order.is_none() {
                    values.sort_by_key(|&value| (name(value).len(), name(value)));
                }
                values
            })
            .collect();
        let degree = board.neighbours.as_ref().map(|neighbours| neighbours.max_degree);
        let place =
            |axis: usize, cell: &[TermId]| axes[axis].iter().position(|&value| value == cell[axis]).unwrap_or(0) as f64;
        let size = |axis: usize| axes[axis].len() as f64;
        let hex = axes.len() == 2 && board.is_ordered() && degree == Some(6);
        let mut panel = Panel { cells: Vec::new(), labels: Vec::new(), lines: Vec::new(), round: hex };
        match axes.len() {
            1 if board.axes[0].order.is_none() && board.neighbours.is_some() => {
                let neighbours = board.neighbours.as_ref().expect("there are some");
                panel.cells = spread(board.cells.len(), &neighbours.pairs);
                panel.lines = neighbours.pairs.iter().map(|&(a, b)| (a as usize, b as usize)).collect();
                panel.round = true;
            }
            1 => {
                let width = if axes[0].len() > 16 { (size(0).sqrt() * 1.5).ceil() } else { size(0) };
                panel.cells =
                    board.cells.iter().map(|cell| (place(0, cell) % width, (place(0, cell) / width).floor())).collect();
                if width == size(0) {
                    panel.labels =
                        axes[0].iter().enumerate().map(|(x, &value)| (x as f64, 0.85, name(value))).collect();
                }
            }
            _ => {
                for cell in &board.cells {
                    let (mut x, mut y) = (place(0, cell), size(1) - 1.0 - place(1, cell));
                    if hex {
                        (x, y) = (x + place(1, cell) / 2.0, y * 0.87);
                    }
                    if axes.len() > 2 {
                        x += (size(0) + 1.0) * place(2, cell);
                    }
                    if axes.len() > 3 {
                        y += (size(1) + 1.0) * (size(3) - 1.0 - place(3, cell));
                    }
                    panel.cells.push((x, y));
                }
                if axes.len() == 2 {
                    let step = if hex { 0.87 } else { 1.0 };
                    let bottom = (size(1) - 1.0) * step + 0.85;
                    let columns = axes[0].iter().enumerate().map(|(x, &value)| (x as f64, bottom, name(value)));
                    let rows = axes[1].iter().enumerate().map(|(y, &value)| {
                        let left = if hex { y as f64 / 2.0 } else { 0.0 };
                        (left - 0.85, (size(1) - 1.0 - y as f64) * step, name(value))
                    });
                    panel.labels = columns.chain(rows).collect();
                }
            }
        }
        Layout { panel }
    }
}

/// Places for the nodes of a graph: neighbours near each other, others apart (Fruchterman and Reingold 1991, from a circle).
fn spread(n: usize, pairs: &[(u32, u32)]) -> Vec<(f64, f64)> {
    let radius = (n as f64).sqrt();
    let turn = std::f64::consts::TAU / n.max(1) as f64;
    let mut at: Vec<(f64, f64)> =
        (0..n).map(|node| (radius * (node as f64 * turn).cos(), radius * (node as f64 * turn).sin())).collect();
    const STEPS: usize = 200;
    for step in 0..STEPS {
        let mut push = vec![(0.0, 0.0); n];
        for a in 0..n {
            for b in 0..n {
                let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
                let square = (dx * dx + dy * dy).max(0.01);
                push[a] = (push[a].0 + dx / square * 2.0, push[a].1 + dy / square * 2.0);
            }
        }
        for &(a, b) in pairs {
            let (a, b) = (a as usize, b as usize);
            let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
            let length = (dx * dx + dy * dy).sqrt();
            let (fx, fy) = (dx * length / 2.0, dy * length / 2.0);
            push[a] = (push[a].0 - fx, push[a].1 - fy);
            push[b] = (push[b].0 + fx, push[b].1 + fy);
        }
        let most = radius * (1.0 - step as f64 / STEPS as f64) / 4.0;
        for (node, push) in at.iter_mut().zip(&push) {
            let length = (push.0 * push.0 + push.1 * push.1).sqrt().max(1e-9);
            let scale = length.min(most) / length;
            *node = (node.0 + push.0 * scale, node.1 + push.1 * scale);
        }
    }
    at
}
