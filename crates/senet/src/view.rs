//! How people want to see a game: titles, boards and labels. Engines never look at this.

use std::collections::BTreeMap;
use std::fmt::Write;

use gdl::Source;
use gdl::ast::{Kind, NodeId, Tree};
use serde::{Deserialize, Serialize};

/// The content of a game's `view.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    /// The game's name.
    pub(crate) title: String,
    /// What it is about, in one line.
    pub(crate) summary: String,
    /// Who moves when.
    pub(crate) kind: GameKind,
    /// What kind of game it is, in one word.
    pub(crate) family: String,
    /// A label for each role.
    pub(crate) roles: BTreeMap<String, String>,
    /// The boards; none for a game without one.
    #[serde(default)]
    pub(crate) board: Vec<Board>,
    /// How moves are printed: the move's functor, and a template with `{1}`, `{2}` … for its arguments.
    #[serde(default)]
    pub(crate) moves: BTreeMap<String, String>,
    /// Other fluents worth showing: a label, and a pattern with the variable `?value`.
    #[serde(default)]
    pub(crate) counters: BTreeMap<String, String>,
}

/// Who moves when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GameKind {
    /// One role after another.
    TurnTaking,
    /// Several roles at once.
    Simultaneous,
    /// There is one role only.
    SinglePlayer,
}

impl GameKind {
    /// The word for it in `view.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            GameKind::TurnTaking => "turn-taking",
            GameKind::Simultaneous => "simultaneous",
            GameKind::SinglePlayer => "single-player",
        }
    }
}

/// A board: what stands where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Board {
    pub(crate) shape: Shape,
    /// The fluents that it shows, with the variables `?col` and `?row`, or `?node`, and `?piece`.
    pub(crate) fluent: String,
    /// The constants for columns, left to right; empty for a graph.
    #[serde(default)]
    pub(crate) columns: Vec<String>,
    /// The constants for rows, bottom to top; empty for a graph.
    #[serde(default)]
    pub(crate) rows: Vec<String>,
    /// The nodes of a graph and where they are drawn, in a unit square with the origin at the bottom left.
    #[serde(default)]
    pub(crate) nodes: BTreeMap<String, [f64; 2]>,
    /// The constant for an empty place, where there is one.
    pub(crate) blank: Option<String>,
    /// One or two characters for each constant.
    #[serde(default)]
    pub(crate) glyphs: BTreeMap<String, String>,
}

/// How the places of a board lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// Squares in rows and columns.
    Grid,
    /// Hexagons: each row is shifted by half a hexagon against the one below.
    Hex,
    /// Places anywhere.
    Graph,
}

impl View {
    /// The label of a role.
    pub(crate) fn role<'a>(&'a self, role: &'a str) -> &'a str {
        let known = self.roles.iter().find(|(name, _)| name.eq_ignore_ascii_case(role));
        known.map_or(role, |(_, label)| label)
    }

    /// A move as people write it.
    pub(crate) fn move_text(&self, chosen: &str) -> String {
        let tree = term(chosen);
        let Some((&root, functor)) = tree.roots.first().zip(tree.roots.first().and_then(|&root| tree.head(root)))
        else {
            return chosen.to_owned();
        };
        let functor = tree.symbols.name(functor);
        let Some((_, template)) = self.moves.iter().find(|(name, _)| name.eq_ignore_ascii_case(functor)) else {
            return chosen.to_owned();
        };
        let args = tree.children(root).iter().enumerate().skip(1);
        args.fold(template.clone(), |text, (number, &arg)| text.replace(&format!("{{{number}}}"), &text_of(&tree, arg)))
    }

    /// Where a fluent is drawn, if it is one of a board's.
    pub(crate) fn place(&self, fluent: &str) -> Option<Place> {
        let boards = self.board.iter().enumerate();
        boards.filter_map(|(index, board)| Some(Place { board: index, ..board.place(fluent)? })).next()
    }

    /// All boards and counters of a state as text.
    pub(crate) fn draw(&self, fluents: &[String]) -> String {
        let mut text = String::new();
        for board in &self.board {
            if !text.is_empty() {
                text.push('\n');
            }
            if self.board.len() > 1 {
                writeln!(text, "{}", board.fluent).expect("writing to a string");
            }
            text.push_str(&board.draw(fluents));
        }
        let mut counters = String::new();
        for (label, pattern) in &self.counters {
            let pattern = Pattern::new(pattern);
            let values: Vec<String> =
                fluents.iter().filter_map(|fluent| pattern.matches(fluent)?.remove("?value")).collect();
            if !values.is_empty() {
                writeln!(counters, "{label}: {}", values.join(", ")).expect("writing to a string");
            }
        }
        if !text.is_empty() && !counters.is_empty() {
            text.push('\n');
        }
        text + &counters
    }
}

/// Where a fluent is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The board's number.
    pub(crate) board: usize,
    /// To the right and down, in units of a cell.
    pub(crate) at: (f64, f64),
    /// What people call the place: its column and row.
    pub(crate) column_and_row: (String, String),
    /// What is drawn there; nothing for an empty place.
    pub(crate) glyph: Option<String>,
}

impl Board {
    fn place(&self, fluent: &str) -> Option<Place> {
        let mut found = Pattern::new(&self.fluent).matches(fluent)?;
        let piece = found.remove("?piece").unwrap_or_default();
        let glyph = (Some(&piece) != self.blank.as_ref()).then(|| self.glyph(&piece));
        let index = |names: &[String], name: &str| names.iter().position(|other| other == name);
        let (at, column_and_row) = match self.shape {
            Shape::Graph => {
                let node = found.remove("?node")?;
                let [x, y] = *self.nodes.get(&node)?;
                // A unit square is drawn as wide as its nodes need.
                let side = (2.0 * (self.nodes.len() as f64).sqrt()).max(3.0);
                ((x * side, (1.0 - y) * side), (node, String::new()))
            }
            Shape::Grid | Shape::Hex => {
                let (column, row) = (found.remove("?col")?, found.remove("?row")?);
                let (x, y) = (index(&self.columns, &column)? as f64, index(&self.rows, &row)? as f64);
                let down = self.rows.len() as f64 - 1.0 - y;
                let at = if self.shape == Shape::Hex { (x + y / 2.0, down * 0.87) } else { (x, down) };
                (at, (column, row))
            }
        };
        Some(Place { board: 0, at, column_and_row, glyph })
    }

    /// The board as lines of text, with the names of columns and rows.
    fn draw(&self, fluents: &[String]) -> String {
        let pattern = Pattern::new(&self.fluent);
        let mut pieces: BTreeMap<(String, String), String> = BTreeMap::new();
        for mut found in fluents.iter().filter_map(|fluent| pattern.matches(fluent)) {
            let piece = found.remove("?piece").unwrap_or_default();
            let place = match self.shape {
                Shape::Graph => (found.remove("?node").unwrap_or_default(), String::new()),
                _ => (found.remove("?col").unwrap_or_default(), found.remove("?row").unwrap_or_default()),
            };
            // Of several pieces in one place, one that is drawn is worth more than a blank.
            if Some(&piece) != self.blank.as_ref() {
                pieces.insert(place, self.glyph(&piece));
            }
        }
        match self.shape {
            Shape::Graph => self.draw_graph(&pieces),
            Shape::Grid | Shape::Hex => self.draw_rows(&pieces),
        }
    }

    fn glyph(&self, piece: &str) -> String {
        let known = self.glyphs.iter().find(|(name, _)| name.eq_ignore_ascii_case(piece));
        known.map_or_else(|| piece.chars().take(2).collect(), |(_, glyph)| glyph.clone())
    }

    fn draw_rows(&self, pieces: &BTreeMap<(String, String), String>) -> String {
        let width = |text: &str| text.chars().count();
        let label = self.rows.iter().map(|row| width(row)).max().unwrap_or(0);
        let cell = self.columns.iter().map(|column| width(column)).chain(pieces.values().map(|glyph| width(glyph)));
        let cell = cell.max().unwrap_or(1);
        let shift = |row: usize| {
            if self.shape == Shape::Hex { " ".repeat(row * cell.div_ceil(2).max(1)) } else { String::new() }
        };
        let mut text = String::new();
        let mut line = |label_text: &str, row: usize, cells: Vec<&str>| {
            let mut line = format!("{label_text:>label$} {}", shift(row));
            cells.iter().for_each(|glyph| _ = write!(line, " {glyph:>cell$}"));
            text.push_str(line.trim_end());
            text.push('\n');
        };
        for (index, row) in self.rows.iter().enumerate().rev() {
            let glyph = |column: &String| pieces.get(&(column.clone(), row.clone())).map_or("·", String::as_str);
            line(row, index, self.columns.iter().map(glyph).collect());
        }
        line("", 0, self.columns.iter().map(String::as_str).collect());
        text
    }

    fn draw_graph(&self, pieces: &BTreeMap<(String, String), String>) -> String {
        const WIDTH: f64 = 60.0;
        const HEIGHT: f64 = 20.0;
        let mut canvas = vec![vec![' '; WIDTH as usize + 4]; HEIGHT as usize + 1];
        // Positions are meant to lie in the unit square; the drawing is fitted to where they really lie.
        let range = |axis: usize| {
            let values = self.nodes.values().map(|place| place[axis]);
            let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
            move |value: f64| if high > low { (value - low) / (high - low) } else { 0.0 }
        };
        let (across, up) = (range(0), range(1));
        for (node, place) in &self.nodes {
            let glyph = pieces.get(&(node.clone(), String::new())).map_or("·", String::as_str);
            let row = ((1.0 - up(place[1])) * HEIGHT).round() as usize;
            let column = (across(place[0]) * WIDTH).round() as usize;
            glyph.chars().take(4).enumerate().for_each(|(offset, c)| canvas[row][column + offset] = c);
        }
        let lines = canvas.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n");
        lines.collect::<String>().trim_start_matches('\n').trim_end().to_owned() + "\n"
    }
}

/// A term with variables, to be compared with fluents.
struct Pattern {
    tree: Tree,
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        Pattern { tree: term(text) }
    }

    /// What the variables stand for, if the fluent is of this shape.
    fn matches(&self, fluent: &str) -> Option<BTreeMap<String, String>> {
        let (fluent, mut found) = (term(fluent), BTreeMap::new());
        let (&left, &right) = (self.tree.roots.first()?, fluent.roots.first()?);
        self.walk(left, &fluent, right, &mut found).then_some(found)
    }

    fn walk(&self, left: NodeId, fluent: &Tree, right: NodeId, found: &mut BTreeMap<String, String>) -> bool {
        match (self.tree.kind(left), fluent.kind(right)) {
            (Kind::Variable(name), _) => {
                let value = text_of(fluent, right);
                *found.entry(self.tree.symbols.name(name).to_owned()).or_insert_with(|| value.clone()) == value
            }
            (Kind::Name(left), Kind::Name(right)) => self.tree.symbols.lower(left) == fluent.symbols.lower(right),
            (Kind::List, Kind::List) => {
                let (left, right) = (self.tree.children(left), fluent.children(right));
                left.len() == right.len()
                    && left.iter().zip(right).all(|(&left, &right)| self.walk(left, fluent, right, found))
            }
            _ => false,
        }
    }
}

/// A term; a name alone gets the parentheses that a text needs.
fn term(text: &str) -> Tree {
    let text = if text.starts_with('(') { text.to_owned() } else { format!("({text})") };
    gdl::parse(&Source::new("fluent", text)).0
}

fn text_of(tree: &Tree, node: NodeId) -> String {
    match tree.kind(node) {
        Kind::Name(name) | Kind::Variable(name) => tree.symbols.name(name).to_owned(),
        Kind::List => {
            let parts: Vec<String> = tree.children(node).iter().map(|&part| text_of(tree, part)).collect();
            format!("({})", parts.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use machine::{Limits, Machine, Reference};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::{GameKind, Pattern, Shape, View};
    use crate::library::{GAMES, find};

    fn view(name: &str) -> View {
        find(name).expect("a library game").view().expect("a valid view")
    }

    /// Everything that is wrong with the view of a game.
    fn problems(game: &crate::library::Game) -> Vec<String> {
        let view = match game.view() {
            Ok(view) => view,
            Err(error) => return vec![error.to_string()],
        };
        let program = Arc::new(gdl::read(game.name, game.rules.as_bytes()).program);
        let mut machine = Reference::new(program.clone(), Limits::default()).expect("library games can be played");
        let mut problems = Vec::new();
        let mut expect = |holds: bool, problem: String| {
            if !holds {
                problems.push(problem);
            }
        };
        // Step 1. What the rules say of roles and names.
        let labelled: BTreeSet<String> = view.roles.keys().map(|role| role.to_ascii_lowercase()).collect();
        let roles: BTreeSet<String> = machine.roles().iter().map(|role| role.to_ascii_lowercase()).collect();
        expect(labelled == roles, format!("labels for {labelled:?}, but the roles are {roles:?}"));
        expect(
            (view.kind == GameKind::SinglePlayer) == (roles.len() == 1),
            format!("{} roles: {:?}", roles.len(), view.kind),
        );
        expect(view.summary.chars().count() <= 90, "a summary of more than 90 characters".to_owned());
        let names = view.board.iter().flat_map(|board| {
            board.glyphs.keys().chain(&board.blank).chain(&board.columns).chain(&board.rows).chain(board.nodes.keys())
        });
        for name in names.chain(view.moves.keys()) {
            expect(program.symbols.find(name).is_some(), format!("`{name}` does not occur in the rules"));
        }
        // Step 2. What fluents a few random matches reach.
        let mut fluents = BTreeSet::new();
        for seed in 0..3 {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let result = machine::playout(&mut machine, &mut rng, 40, |machine, step| {
                fluents.extend(machine.fluents(step.state));
                Ok(())
            });
            result.expect("within limits");
        }
        let matches = |pattern: &str| {
            let pattern = Pattern::new(pattern);
            fluents.iter().filter_map(|fluent| pattern.matches(fluent)).collect::<Vec<_>>()
        };
        for board in &view.board {
            let found = matches(&board.fluent);
            expect(!found.is_empty(), format!("no fluent like {} was seen", board.fluent));
            let wanted: &[&str] = if board.shape == Shape::Graph { &["?node"] } else { &["?col", "?row"] };
            for variable in wanted.iter().chain(&["?piece"]) {
                expect(board.fluent.contains(variable), format!("no {variable} in {}", board.fluent));
            }
            for values in &found {
                let on_board = match board.shape {
                    Shape::Graph => values.get("?node").is_some_and(|node| board.nodes.contains_key(node)),
                    _ => {
                        values.get("?col").is_some_and(|column| board.columns.contains(column))
                            && values.get("?row").is_some_and(|row| board.rows.contains(row))
                    }
                };
                expect(on_board, format!("{values:?} is not on the board of {}", board.fluent));
            }
            let sizes = [board.columns.is_empty(), board.rows.is_empty(), !board.nodes.is_empty()];
            expect(sizes == [board.shape == Shape::Graph; 3], format!("{:?} with the wrong places", board.shape));
        }
        // A counter may be rare, so its names are all that is asked for.
        for pattern in view.counters.values() {
            expect(pattern.contains("?value"), format!("no ?value in {pattern}"));
            let words = pattern.split(['(', ')', ' ']).filter(|word| !word.is_empty() && !word.starts_with('?'));
            for word in words {
                expect(program.symbols.find(word).is_some(), format!("`{word}` does not occur in the rules"));
            }
        }
        problems
    }

    #[test]
    fn views_fit_their_games() {
        let problems: Vec<String> = GAMES
            .iter()
            .flat_map(|game| problems(game).into_iter().map(move |problem| format!("{}: {problem}", game.name)))
            .collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn boards_are_drawn() {
        let fluents: Vec<String> = ["(cell 1 1 x)", "(cell 2 3 o)", "(cell 3 3 b)"].map(str::to_owned).into();
        assert_eq!(view("tic-tac-toe").board[0].draw(&fluents), "1  X · ·\n2  · · O\n3  · · ·\n   1 2 3\n");
        let fluents: Vec<String> = ["(cell 1 1 red)", "(cell 5 5 blue)"].map(str::to_owned).into();
        assert_eq!(
            view("hex-5").draw(&fluents),
            "5      · · · · ○\n4     · · · · ·\n3    · · · · ·\n2   · · · · ·\n1  ● · · · ·\n   1 2 3 4 5\n"
        );
    }

    #[test]
    fn moves_are_written_for_people() {
        let view = view("breakthrough");
        assert_eq!(view.move_text("(move a 2 b 3)"), "a2-b3");
        assert_eq!(view.move_text("noop"), "pass");
        assert_eq!(view.move_text("(unheard of)"), "(unheard of)");
        assert_eq!(view.role("white"), "White");
    }
}
