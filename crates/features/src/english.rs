//! Features in English.
//!
//! A sentence is made from a feature's form and from the structure of the game: a fluent of a board is something that is on
//! a cell, one that holds exactly when a role is to move is a turn, a relation that says what comes next is an order.
//! Everything else is quoted in the words of the rules. Variables that matter become letters; those that occur once
//! become "something".

use std::collections::{BTreeMap, BTreeSet};

use gdl::keyword;
use gdl::program::{Relation, Term, VarId};
use gdl::symbol::Symbols;
use insight::family::{Family, Shape};
use insight::order::Operation;
use insight::structure::board::{Board, Layer};

use crate::feature::{Feature, Metric, Weight};
use crate::formula::{Atom, Formula, ShownTerm};
use crate::game::Game;
use crate::structural;

/// Lists of up to so many values are spelled out.
const SPELLED_OUT: usize = 4;

/// Says the features of a game in English.
pub struct English<'a> {
    game: &'a Game,
    symbols: &'a Symbols,
    /// The fluents that hold exactly when a role is to move.
    turns: BTreeMap<Term, usize>,
}

/// Where a fluent stands on a board.
pub struct OnBoard<'t> {
    /// The board's number.
    pub board: usize,
    /// A coordinate for each axis.
    pub cell: Vec<&'t Term>,
    /// The terms that say what is there; none where the fluent's name does.
    pub marker: Vec<&'t Term>,
    /// The layer's number.
    pub layer: usize,
}

impl<'a> English<'a> {
    /// Prepares a game.
    pub fn new(game: &'a Game) -> English<'a> {
        let mut turns = BTreeMap::new();
        for (role, fluents) in game.structure.turns.control.iter().enumerate() {
            let fluent = |&id: &u32| structural::term(&game.universe, game.universe.fluents[id as usize]);
            turns.extend(fluents.iter().map(|id| (fluent(id), role)));
        }
        English { game, symbols: &game.program.symbols, turns }
    }

    /// A feature as one sentence, without a capital letter and a full stop.
    pub fn sentence(&self, feature: &Feature) -> String {
        let names = Names::new(feature, self.symbols);
        let speaker = Speaker { english: self, names: &names };
        if let Some(short) = speaker.short(feature) {
            return short;
        }
        let conditions = speaker.such_that(feature);
        // A number for one value less that for another.
        if let Weight::Table { vars, rows } = &feature.weight
            && let ([var], [(-1, less), (1, more)]) = (&vars[..], &rows[..])
            && let ([less], [more]) = (&less[..], &more[..])
        {
            let others = Feature {
                list: feature.list.iter().copied().filter(|other| other != var).collect(),
                ..feature.clone()
            };
            let [more, less] = [more, less].map(|tuple| speaker.tuple(tuple));
            let letter = &names.letters[var];
            let counted = speaker
                .listed(&others)
                .map_or("whether".to_owned(), |all| format!("how many {all} there are such that"));
            return format!("{counted} {conditions}, for {letter} = {more} less for {letter} = {less}");
        }
        let listed = speaker.listed(feature);
        let Some(listed) = listed else { return format!("whether {conditions}") };
        match &feature.weight {
            Weight::One => format!("how many {listed} there are such that {conditions}"),
            weight => format!("{}, summed over all {listed} such that {conditions}", speaker.weight(weight)),
        }
    }

    /// Where a fluent stands on a board, if it is one of a board's.
    pub fn on_board<'t>(&self, fluent: &'t Term) -> Option<OnBoard<'t>> {
        let structure = &self.game.structure;
        for (index, board) in structure.boards.iter().enumerate() {
            for (number, layer) in board.layers.iter().enumerate() {
                let Some(arguments) = arguments(&structure.families[layer.family], fluent) else { continue };
                let pick = |places: &[usize]| places.iter().map(|&place| arguments[place]).collect::<Vec<_>>();
                return Some(OnBoard {
                    board: index,
                    cell: pick(&layer.coordinates),
                    marker: pick(&layer.marker),
                    layer: number,
                });
            }
        }
        None
    }

    fn role(&self, role: usize) -> String {
        self.game.universe.name(self.game.universe.roles[role])
    }

    /// Whether a marker means that nothing is there.
    fn is_blank(&self, board: &Board, on: &OnBoard) -> bool {
        use insight::structure::board::MarkerName;
        board.blank.map(|blank| &board.markers[blank]).is_some_and(|blank| match &blank.name {
            MarkerName::Terms(terms) => {
                blank.layer == on.layer
                    && terms.len() == on.marker.len()
                    && terms
                        .iter()
                        .zip(&on.marker)
                        .all(|(&own, &term)| structural::term(&self.game.universe, own) == *term)
            }
            MarkerName::Family(_) => false,
        })
    }

    fn layer(&self, on: &OnBoard) -> (&'a Board, &'a Layer) {
        let board = &self.game.structure.boards[on.board];
        (board, &board.layers[on.layer])
    }

    /// The name of a family's fluents.
    fn family_name(&self, family: &Family) -> String {
        match &family.shape {
            Shape::Of(name, _) => self.symbols.name(*name).to_owned(),
            Shape::Hole => String::new(),
        }
    }
}

/// The arguments that make a family's shape the term.
fn arguments<'t>(family: &Family, term: &'t Term) -> Option<Vec<&'t Term>> {
    fn walk<'t>(shape: &Shape, term: &'t Term, found: &mut Vec<&'t Term>) -> bool {
        match (shape, term) {
            (Shape::Hole, Term::Func(..)) => false,
            (Shape::Hole, term) => {
                found.push(term);
                true
            }
            (Shape::Of(name, parts), Term::Const(other)) => parts.is_empty() && name == other,
            (Shape::Of(name, parts), Term::Func(other, args)) => {
                name == other
                    && parts.len() == args.len()
                    && parts.iter().zip(args.iter()).all(|(part, arg)| walk(part, arg, found))
            }
            (Shape::Of(..), Term::Var(_)) => false,
        }
    }
    let mut found = Vec::new();
    walk(&family.shape, term, &mut found).then_some(found)
}

/// What variables are called.
struct Names {
    letters: BTreeMap<VarId, String>,
    /// The variables that occur outside of negations.
    free: BTreeSet<VarId>,
}

impl Names {
    /// Letters for the listed variables and for those that occur more than once.
    fn new(feature: &Feature, symbols: &Symbols) -> Names {
        let mut occurrences: Vec<VarId> = feature.list.clone();
        feature.formula.for_each_term(&mut |term| term.for_each_var(&mut |var| occurrences.push(var)));
        let mut free =
            ('A'..='Z').map(String::from).filter(|letter| symbols.ids().all(|id| symbols.name(id) != letter));
        let mut letters = BTreeMap::new();
        for (at, &var) in occurrences.iter().enumerate() {
            let listed = feature.list.contains(&var);
            let again = occurrences.iter().skip(at + 1).any(|&other| other == var);
            if (listed || again) && !letters.contains_key(&var) {
                letters.insert(var, free.next().unwrap_or_else(|| format!("V{}", var.0)));
            }
        }
        Names { letters, free: feature.formula.free_variables() }
    }
}

/// A condition, such that several of a kind can be said together.
#[derive(Clone, Debug, PartialEq)]
enum Clause {
    /// Words of the rules that hold.
    Holds(String),
    /// Something is on a cell.
    On(String, String),
    /// A cell is empty.
    Empty(String),
    /// In the order of a relation, the second comes right after the first.
    After(Relation, String, String),
    /// Anything else, as a clause.
    Said(String),
}

struct Speaker<'a> {
    english: &'a English<'a>,
    names: &'a Names,
}

/// `a, b and c`.
fn list(parts: &[String], last: &str) -> String {
    match parts {
        [] => String::new(),
        [single] => single.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Clauses said one after another; those of a kind are said together, where the first of them stands.
fn together(clauses: Vec<Clause>) -> String {
    let same = |one: &Clause, other: &Clause| match (one, other) {
        (Clause::Holds(_), Clause::Holds(_)) | (Clause::Empty(_), Clause::Empty(_)) => true,
        (Clause::On(what, _), Clause::On(other, _)) => what == other,
        _ => false,
    };
    let mut groups: Vec<(Clause, Vec<String>)> = Vec::new();
    let mut steps: Vec<(Relation, Vec<String>)> = Vec::new();
    for clause in clauses {
        let text = match &clause {
            Clause::Holds(text) | Clause::On(_, text) | Clause::Empty(text) | Clause::Said(text) => text.clone(),
            Clause::After(relation, before, after) => {
                steps.push((*relation, vec![before.clone(), after.clone()]));
                continue;
            }
        };
        match groups.iter_mut().find(|(first, _)| same(first, &clause)) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((clause, vec![text])),
        }
    }
    let say = |(clause, texts): &(Clause, Vec<String>)| {
        let (several, all) = (texts.len() > 1, list(texts, "and"));
        match clause {
            Clause::Holds(_) => format!("{all} hold{}", if several { "" } else { "s" }),
            Clause::On(what, _) => format!("{what} is on {all}"),
            Clause::Empty(_) => format!("{all} {} empty", if several { "are" } else { "is" }),
            Clause::Said(text) | Clause::After(_, text, _) => text.clone(),
        }
    };
    let mut said: Vec<String> = groups.iter().map(say).collect();
    said.extend(chains(steps).iter().map(|chain| match &chain[..] {
        [before, after] => format!("{after} comes right after {before}"),
        chain => format!("{} follow each other", list(chain, "and")),
    }));
    // Clauses that have commas or an `and` of their own are set apart more clearly.
    let nested = said.iter().any(|text| text.contains(" and ") || text.contains(" or "));
    match (&said[..], nested) {
        ([first @ .., end], true) if !first.is_empty() => format!("{}, and {end}", first.join(", ")),
        _ => list(&said, "and"),
    }
}

/// Steps of orders, put together as far as one goes on where another ends.
fn chains(mut steps: Vec<(Relation, Vec<String>)>) -> Vec<Vec<String>> {
    loop {
        let joins = |one: usize, other: usize| {
            one != other && steps[one].0 == steps[other].0 && steps[one].1.last() == steps[other].1.first()
        };
        let all = 0..steps.len();
        let Some((one, other)) = all
            .clone()
            .flat_map(|one| all.clone().map(move |other| (one, other)))
            .find(|&(one, other)| joins(one, other))
        else {
            return steps.into_iter().map(|(_, chain)| chain).collect();
        };
        let next = std::mem::take(&mut steps[other].1);
        steps[one].1.extend(next.into_iter().skip(1));
        steps.remove(other);
    }
}

impl Speaker<'_> {
    /// Sentences for what is counted most often.
    fn short(&self, feature: &Feature) -> Option<String> {
        let Formula::Atom(atom) = &feature.formula else { return None };
        let listed_once = |terms: &[&Term]| {
            let mut vars: Vec<VarId> = terms
                .iter()
                .map(|term| if let Term::Var(var) = term { Some(*var) } else { None })
                .collect::<Option<_>>()?;
            vars.sort();
            let mut list = feature.list.clone();
            list.sort();
            (vars == list).then_some(())
        };
        if feature.weight != Weight::One {
            return None;
        }
        match (atom.name, &atom.args[..]) {
            (keyword::TRUE, [fluent]) => {
                let on = self.english.on_board(fluent)?;
                let (board, layer) = self.english.layer(&on);
                if feature.list.is_empty() && on.cell.iter().all(|term| self.is_any(term)) {
                    return Some(format!("whether {} is anywhere", self.marker(&on, layer)));
                }
                listed_once(&on.cell)?;
                Some(if self.english.is_blank(board, &on) {
                    "the number of empty cells".to_owned()
                } else {
                    format!("the number of cells with {}", self.marker(&on, layer))
                })
            }
            (keyword::LEGAL, [role, Term::Var(_)]) if feature.list.len() == 1 && role.is_ground() => {
                listed_once(&[&atom.args[1]])?;
                Some(format!("the number of legal moves of {}", self.term(role)))
            }
            (keyword::LEGAL, [role, Term::Func(name, args)]) if role.is_ground() && !feature.list.is_empty() => {
                let vars: Vec<&Term> = args.iter().filter(|arg| matches!(arg, Term::Var(_))).collect();
                listed_once(&vars)?;
                let shown: Vec<String> =
                    args.iter().map(|arg| if arg.is_ground() { self.term(arg) } else { "_".to_owned() }).collect();
                let name = self.english.symbols.name(*name);
                Some(format!("the number of moves ({name} {}) of {}", shown.join(" "), self.term(role)))
            }
            _ => None,
        }
    }

    /// What is counted; `None` if nothing is.
    fn listed(&self, feature: &Feature) -> Option<String> {
        let letters: Vec<String> = feature.list.iter().map(|var| self.names.letters[var].clone()).collect();
        // The coordinates of one cell are counted as cells.
        let mut cell = None;
        feature.formula.for_each_atom(&mut |atom, _| {
            if let (keyword::TRUE, [fluent]) = (atom.name, &atom.args[..])
                && let Some(on) = self.english.on_board(fluent)
            {
                let own: Vec<Term> = on.cell.iter().map(|&term| term.clone()).collect();
                let listed: Vec<Term> = feature.list.iter().map(|&var| Term::Var(var)).collect();
                if own.len() > 1 && own.len() == listed.len() && own.iter().all(|term| listed.contains(term)) {
                    cell.get_or_insert(format!("cells {}", self.cell(&on.cell)));
                }
            }
        });
        match &letters[..] {
            [] => None,
            _ if cell.is_some() => cell,
            [single] => Some(format!("values of {single}")),
            [_, _] => Some(format!("pairs of {}", list(&letters, "and"))),
            _ => Some(format!("combinations of {}", list(&letters, "and"))),
        }
    }

    /// The conditions, with the variables that are not listed introduced.
    fn such_that(&self, feature: &Feature) -> String {
        let free = feature.formula.free_variables();
        let mut some: Vec<String> = free
            .iter()
            .filter(|var| !feature.list.contains(var))
            .filter_map(|var| self.names.letters.get(var).cloned())
            .collect();
        some.sort();
        let conditions = self.formula(&feature.formula);
        match (&some[..], feature.list.is_empty()) {
            ([], _) => conditions,
            ([single], true) => format!("there is a value of {single} such that {conditions}"),
            (several, true) => format!("there are values of {} such that {conditions}", list(several, "and")),
            (several, false) => format!("for some {}, {conditions}", list(several, "and")),
        }
    }

    fn weight(&self, weight: &Weight) -> String {
        let letter = |var: &VarId| self.names.letters[var].clone();
        match weight {
            Weight::One => "one".to_owned(),
            Weight::Place { var, order } => {
                format!("the place of {} in the order {}", letter(var), self.order(order))
            }
            Weight::Distance { metric, axes } => {
                let point = |of: &dyn Fn(&crate::feature::Axis) -> VarId| {
                    let letters: Vec<String> = axes.iter().map(|axis| letter(&of(axis))).collect();
                    if letters.len() == 1 { letters[0].clone() } else { format!("({})", letters.join(", ")) }
                };
                let (from, to) = (point(&|axis| axis.from), point(&|axis| axis.to));
                match metric {
                    Metric::Manhattan if axes.len() == 1 => format!("the distance from {from} to {to}"),
                    Metric::Manhattan => format!("the distance from {from} to {to} in straight steps"),
                    Metric::Chebyshev => format!("the distance from {from} to {to} in straight or diagonal steps"),
                    Metric::Difference => format!("how much further {to} is than {from}"),
                }
            }
            Weight::Table { vars, rows } => {
                let n: usize = rows.iter().map(|row| row.1.len()).sum();
                let letters: Vec<String> = vars.iter().map(letter).collect();
                let of = &if letters.len() == 1 { letters[0].clone() } else { format!("({})", letters.join(", ")) };
                if n <= SPELLED_OUT {
                    let each = rows.iter().flat_map(|(number, tuples)| {
                        tuples.iter().map(move |tuple| format!("{number} where {of} is {}", self.tuple(tuple)))
                    });
                    list(&each.collect::<Vec<String>>(), "and")
                } else {
                    let (low, high) = (rows.first().map_or(0, |row| row.0), rows.last().map_or(0, |row| row.0));
                    if low == high {
                        format!("{low} where {of} is one of {n} listed")
                    } else {
                        format!("a number from {low} to {high} that a table of {n} has for {of}")
                    }
                }
            }
        }
    }

    fn order(&self, order: &[Term]) -> String {
        let shown: Vec<String> = order.iter().map(|term| self.term(term)).collect();
        match &shown[..] {
            [first, second, .., last] if shown.len() > SPELLED_OUT + 1 => {
                format!("{first}, {second}, … {last} (from 0)")
            }
            _ => format!("{} (from 0)", shown.join(", ")),
        }
    }

    /// A formula as one or more clauses.
    fn formula(&self, formula: &Formula) -> String {
        match formula {
            Formula::And(parts) if parts.is_empty() => "nothing else is needed".to_owned(),
            _ => together(formula.conjuncts().iter().map(|part| self.clause(part, true)).collect()),
        }
    }

    fn clause(&self, formula: &Formula, positive: bool) -> Clause {
        let is = if positive { "is" } else { "is not" };
        match formula {
            Formula::Atom(atom) => self.atom(atom, positive),
            Formula::Equal(left, right) => Clause::Said(format!("{} {is} {}", self.term(left), self.term(right))),
            Formula::Distinct(left, right) => {
                let is = if positive { "is not" } else { "is" };
                Clause::Said(format!("{} {is} {}", self.term(left), self.term(right)))
            }
            Formula::Member(terms, rows) => {
                let what = self.tuple(terms);
                let one_of = match rows.len() {
                    0 => "one of none".to_owned(),
                    1 => self.tuple(&rows[0]),
                    n if n <= SPELLED_OUT => {
                        let spelled: Vec<String> = rows.iter().map(|row| self.tuple(row)).collect();
                        list(&spelled, "or")
                    }
                    n if terms.len() > 2 => format!("one of {n} combinations"),
                    n if terms.len() == 1 => format!("one of {n} values"),
                    n => format!("one of {n} places"),
                };
                Clause::Said(format!("{what} {is} {one_of}"))
            }
            Formula::Not(inner) => self.negation(inner, positive),
            Formula::And(parts) if positive => {
                let text = together(parts.iter().map(|part| self.clause(part, true)).collect());
                Clause::Said(if parts.is_empty() { "nothing else is needed".to_owned() } else { text })
            }
            Formula::Or(parts) if positive => {
                let each: Vec<String> = parts.iter().map(|part| self.alternative(part, true)).collect();
                Clause::Said(if parts.is_empty() {
                    "nothing can make it so".to_owned()
                } else {
                    format!("either {}", list(&each, "or"))
                })
            }
            Formula::Or(parts) => Clause::Said(together(parts.iter().map(|part| self.clause(part, false)).collect())),
            Formula::And(parts) => {
                let each: Vec<String> = parts.iter().map(|part| self.alternative(part, false)).collect();
                Clause::Said(format!("either {}", list(&each, "or")))
            }
        }
    }

    /// One of several alternatives; what it needs together is said to be so.
    fn alternative(&self, formula: &Formula, positive: bool) -> String {
        let several = match formula {
            Formula::And(parts) => positive && parts.len() > 1,
            Formula::Or(parts) => !positive && parts.len() > 1,
            _ => false,
        };
        let text = together(vec![self.clause(formula, positive)]);
        if several { format!("together {text}") } else { text }
    }

    /// What is under a negation, with its own variables introduced.
    fn negation(&self, inner: &Formula, positive: bool) -> Clause {
        let local: Vec<String> = inner
            .free_variables()
            .iter()
            .filter(|var| !self.names.free.contains(var))
            .filter_map(|var| self.names.letters.get(var).cloned())
            .collect();
        if local.is_empty() {
            return self.clause(inner, !positive);
        }
        let there = if positive { "there is no" } else { "there is a" };
        let what = if local.len() == 1 {
            format!("value of {}", local[0])
        } else {
            format!("values of {}", list(&local, "and"))
        };
        Clause::Said(format!("{there} {what} such that {}", self.formula(inner)))
    }

    fn atom(&self, atom: &Atom, positive: bool) -> Clause {
        let said = |text: String| Clause::Said(text);
        let not = if positive { "" } else { " not" };
        match (atom.name, &atom.args[..]) {
            (keyword::TRUE, [fluent]) => self.fluent(fluent, positive),
            (keyword::TERMINAL, []) => said(format!("the game is{not} over")),
            (keyword::LEGAL, [role, chosen]) => {
                let can = if positive { "can" } else { "can't" };
                let does =
                    if self.is_any(chosen) { "do something".to_owned() } else { format!("do {}", self.term(chosen)) };
                said(format!("{} {can} {does}", self.someone(role)))
            }
            (keyword::GOAL, [role, value]) => {
                said(format!("the position is{not} worth {} to {}", self.term(value), self.someone(role)))
            }
            (keyword::ROLE, [role]) => said(format!("{} is{not} a role", self.term(role))),
            _ => self.relation(atom, positive),
        }
    }

    /// A relation of the rules: an order, a comparison, or its own words.
    fn relation(&self, atom: &Atom, positive: bool) -> Clause {
        let structure = &self.english.game.structure;
        let relation = Relation { name: atom.name, arity: atom.args.len() as u32 };
        let not = if positive { "" } else { " not" };
        let term = |at: usize| self.term(&atom.args[at]);
        let order = structure.orders.iter().find(|order| order.relation == relation && order.selector.is_none());
        if let Some((before, after)) = order.map(|order| order.positions).filter(|_| atom.args.len() == 2) {
            if positive {
                return Clause::After(relation, term(before), term(after));
            }
            return Clause::Said(format!("{} does not come right after {}", term(after), term(before)));
        }
        if let Some(found) = structure.arithmetic.iter().find(|found| found.relation == relation) {
            let compared = match found.operation {
                Operation::Less => Some("before"),
                Operation::LessOrEqual => Some("not after"),
                Operation::Greater => Some("after"),
                Operation::GreaterOrEqual => Some("not before"),
                _ => None,
            };
            if let Some(compared) = compared.filter(|_| positive && atom.args.len() == 2) {
                return Clause::Said(format!("{} is {compared} {}", term(0), term(1)));
            }
            if let (Operation::Sum { sum }, true, 3) = (found.operation, positive, atom.args.len()) {
                let parts: Vec<String> = (0..3).filter(|&at| at != sum).map(term).collect();
                return Clause::Said(format!("{} is the sum of {}", term(sum), list(&parts, "and")));
            }
        }
        let name = self.english.symbols.name(atom.name);
        let is_static = self.english.game.universe.statics.iter().any(|facts| facts.relation == relation);
        if let ([single], true) = (&atom.args[..], is_static) {
            let article = if name.to_lowercase().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            return Clause::Said(format!("{} is{not} {article} {name}", self.term(single)));
        }
        if atom.args.is_empty() {
            return self.quoted(name.to_owned(), false, positive);
        }
        self.quoted(
            format!("({name} {})", self.words(&atom.args)),
            atom.args.iter().any(|arg| self.has_any(arg)),
            positive,
        )
    }

    /// Words of the rules that hold or don't, perhaps for some values of `_`.
    fn quoted(&self, text: String, any: bool, positive: bool) -> Clause {
        match (positive, any) {
            (true, false) => Clause::Holds(text),
            (true, true) => Clause::Holds(format!("some {text}")),
            (false, false) => Clause::Said(format!("{text} does not hold")),
            (false, true) => Clause::Said(format!("no {text} holds")),
        }
    }

    /// Terms within quoted words, with `_` for those that don't matter.
    fn words(&self, terms: &[Term]) -> String {
        let word = |term: &Term| if self.is_any(term) { "_".to_owned() } else { self.term(term) };
        terms.iter().map(word).collect::<Vec<String>>().join(" ")
    }

    fn has_any(&self, term: &Term) -> bool {
        let mut found = false;
        term.for_each_var(&mut |var| found |= !self.names.letters.contains_key(&var));
        found
    }

    fn fluent(&self, fluent: &Term, positive: bool) -> Clause {
        let english = self.english;
        let not = if positive { "" } else { " not" };
        if let Some(&role) = english.turns.get(fluent) {
            return Clause::Said(format!("it is{not} {}'s turn", english.role(role)));
        }
        if let Some(role) = self.turn_of(fluent) {
            return Clause::Said(format!("it is{not} {}'s turn", self.someone(role)));
        }
        if let Some(on) = english.on_board(fluent) {
            let (board, layer) = english.layer(&on);
            let cell = self.cell_of(&on);
            if english.is_blank(board, &on) {
                return if positive { Clause::Empty(cell) } else { Clause::Said(format!("{cell} is not empty")) };
            }
            let marker = self.marker(&on, layer);
            return match (positive, on.cell.iter().all(|term| self.is_any(term))) {
                (true, false) => Clause::On(marker, cell),
                (false, false) if on.cell.iter().any(|term| self.is_any(term)) => {
                    Clause::Said(format!("{marker} is nowhere on {cell}"))
                }
                (false, false) => Clause::Said(format!("{marker} is not on {cell}")),
                (true, true) => Clause::Said(format!("{marker} is anywhere")),
                (false, true) => Clause::Said(format!("{marker} is nowhere")),
            };
        }
        for quantity in &english.game.structure.quantities {
            let family = &english.game.structure.families[quantity.family];
            let Some(arguments) = arguments(family, fluent) else { continue };
            let keys: Vec<String> = quantity.key.iter().map(|&at| self.term(arguments[at])).collect();
            let name = [vec![english.family_name(family)], keys].concat().join(" ");
            return Clause::Said(format!("{name} is{not} {}", self.term(arguments[quantity.value])));
        }
        for (counter, ..) in &english.game.structure.counters {
            let family = &english.game.structure.families[counter.family];
            if let Some([value]) = arguments(family, fluent).as_deref() {
                return Clause::Said(format!("{} is{not} at {}", english.family_name(family), self.term(value)));
            }
        }
        self.quoted(self.term(fluent), self.has_any(fluent), positive)
    }

    /// The argument of a fluent that names the role that is to move.
    fn turn_of<'t>(&self, fluent: &'t Term) -> Option<&'t Term> {
        let english = self.english;
        let structure = &english.game.structure;
        for family in &structure.families {
            let Some(found) = arguments(family, fluent) else { continue };
            let names_role = |at: usize| {
                family.members.iter().zip(&family.arguments).all(|(member, arguments)| {
                    let role = english.game.universe.roles.iter().position(|role| *role == arguments[at]);
                    role.is_some_and(|role| structure.turns.control[role].contains(member))
                })
            };
            return (0..family.arity()).find(|&at| names_role(at)).map(|at| found[at]);
        }
        None
    }

    fn marker(&self, on: &OnBoard, layer: &Layer) -> String {
        if on.marker.is_empty() {
            return self.english.family_name(&self.english.game.structure.families[layer.family]);
        }
        let words: Vec<String> = on.marker.iter().map(|term| self.term(term)).collect();
        words.join(" ")
    }

    fn cell_of(&self, on: &OnBoard) -> String {
        let cell = self.cell(&on.cell);
        if self.english.game.structure.boards.len() < 2 {
            return cell;
        }
        let (_, layer) = self.english.layer(on);
        format!("{cell} of {}", self.english.family_name(&self.english.game.structure.families[layer.family]))
    }

    fn cell(&self, terms: &[&Term]) -> String {
        let words: Vec<String> =
            terms.iter().map(|term| if self.is_any(term) { "any".to_owned() } else { self.term(term) }).collect();
        if words.len() == 1 { words[0].clone() } else { format!("({})", words.join(", ")) }
    }

    fn tuple(&self, terms: &[Term]) -> String {
        self.cell(&terms.iter().collect::<Vec<&Term>>())
    }

    /// Whether a term is a variable that matters nowhere else.
    fn is_any(&self, term: &Term) -> bool {
        matches!(term, Term::Var(var) if !self.names.letters.contains_key(var))
    }

    fn someone(&self, role: &Term) -> String {
        if self.is_any(role) { "someone".to_owned() } else { self.term(role) }
    }

    fn term(&self, term: &Term) -> String {
        match term {
            Term::Var(var) => self.names.letters.get(var).cloned().unwrap_or_else(|| "something".to_owned()),
            Term::Const(_) => ShownTerm(term, self.english.symbols).to_string(),
            Term::Func(name, args) => format!("({} {})", self.english.symbols.name(*name), self.words(args)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::read;

    /// What features mean, a line for each.
    fn told(game: &str, features: &[&str]) -> String {
        let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let rules = std::fs::read(path).expect("a library game");
        let game = Game::new(gdl::read(game, &rules).program, 1).expect("a network");
        let english = English::new(&game);
        let sentence = |text: &&str| english.sentence(&read(text, &game.program.symbols).expect("a feature"));
        features.iter().map(sentence).collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn lines_of_tic_tac_toe() {
        let features = [
            "(count (?0) (and (true (cell ?0 1 x)) (true (cell ?0 2 x)) (true (cell ?0 3 b))))",
            "(count (?0 ?1) (true (cell ?0 ?1 o)))",
            "(count (?0 ?1) (true (cell ?0 ?1 b)))",
            "(count () (and (true (cell 2 2 x)) (true (control oplayer)) (not (true (cell 1 1 o)))))",
            "(count (?0 ?1) (and (true (cell ?0 ?1 x)) (member (?0 ?1) (1 1) (1 3) (3 1) (3 3))))",
            "(count () (true (cell ?0 ?1 x)))",
            "(count (?0) (and (true (cell ?0 ?1 x)) (true (cell ?0 ?2 x)) (distinct ?1 ?2)))",
            "(count (?0) (and (true (cell ?0 ?1 x)) (not (true (cell ?0 ?2 o)))))",
            "(count () (or (line x) (and (not open) (true (control xplayer)))))",
            "(count (?0) (legal xplayer ?0))",
            "(count (?0 ?1) (legal xplayer (mark ?0 ?1)))",
            "(count () (and (goal ?0 100) (not terminal)))",
            "(count () (true (control ?0)))",
            "(count (?0 ?1) (and (true (control ?0)) (legal ?0 (mark ?1 1))))",
        ];
        insta::assert_snapshot!(told("tic-tac-toe", &features), @r"
        how many values of A there are such that x is on (A, 1) and (A, 2), and (A, 3) is empty
        the number of cells with o
        the number of empty cells
        whether x is on (2, 2), it is oplayer's turn and o is not on (1, 1)
        how many cells (A, B) there are such that x is on (A, B), and (A, B) is (1, 1), (1, 3), (3, 1) or (3, 3)
        whether x is anywhere
        how many values of A there are such that for some B and C, x is on (A, B) and (A, C), and B is not C
        how many values of A there are such that x is on (A, any) and o is nowhere on (A, any)
        whether either (line x) holds or together open does not hold and it is xplayer's turn
        the number of legal moves of xplayer
        the number of moves (mark _ _) of xplayer
        whether the position is worth 100 to someone and the game is not over
        whether it is someone's turn
        how many pairs of A and B there are such that it is A's turn and A can do (mark B 1)
        ");
    }

    #[test]
    fn orders_numbers_and_sums() {
        let features = [
            "(count (?0 ?1) (and (true (cell ?0 ?1 white)) (not (and (true (cell ?0 ?2 black)) (up ?1 ?2)))))",
            "(sum (place ?1 (1 2 3 4 5 6 7 8)) (?0 ?1) (true (cell ?0 ?1 white)))",
            "(sum (table (?2) (-1 (black)) (1 (white))) (?0 ?1 ?2) (true (cell ?0 ?1 ?2)))",
            "(count (?0 ?1 ?2 ?3) (and (legal white (move ?0 ?1 ?2 ?3)) (true (cell ?2 ?3 black))))",
            "(count (?0 ?1 ?2) (and (true (cell ?0 ?1 white)) (up ?1 ?2) (not (true (cell ?0 ?2 black)))))",
            "(count (?0) (and (up ?2 ?3) (true (cell ?0 ?1 white)) (true (cell ?0 ?2 white)) (true (cell ?0 ?3 white)) (up ?1 ?2)))",
        ];
        insta::assert_snapshot!(told("breakthrough", &features), @r"
        how many cells (A, B) there are such that white is on (A, B), and there is no value of C such that black is on (A, C) and C comes right after B
        the place of B in the order 1, 2, … 8 (from 0), summed over all cells (A, B) such that white is on (A, B)
        how many cells (A, B) there are such that C is on (A, B), for C = white less for C = black
        how many combinations of A, B, C and D there are such that white can do (move A B C D) and black is on (C, D)
        how many combinations of A, B and C there are such that white is on (A, B), black is not on (A, C) and C comes right after B
        how many values of A there are such that for some B, C and D, white is on (A, D), (A, B) and (A, C), and D, B and C follow each other
        ");
        let features = [
            "(sum (manhattan (?0 ?2 (a b c d)) (?1 ?3 (1 2 3 4))) (?0 ?1 ?2 ?3)
                (and (true (cell ?0 ?1 bk)) (true (cell ?2 ?3 wk))))",
            "(sum (chebyshev (?0 ?2 (a b c d)) (?1 ?3 (1 2 3 4))) (?0 ?1 ?2 ?3)
                (and (true (cell ?0 ?1 bk)) (true (cell ?2 ?3 wk))))",
        ];
        insta::assert_snapshot!(told("minichess", &features), @r"
        the distance from (A, B) to (C, D) in straight steps, summed over all combinations of A, B, C and D such that bk is on (A, B) and wk is on (C, D)
        the distance from (A, B) to (C, D) in straight or diagonal steps, summed over all combinations of A, B, C and D such that bk is on (A, B) and wk is on (C, D)
        ");
    }

    #[test]
    fn fluents_without_a_board() {
        let features = [
            "(count () (and (true (on disc1 pillar3)) (not (true (on ?0 disc2)))))",
            "(count (?0) (true (on ?0 ?1)))",
            "(sum (place ?0 (0 1 2 3 4 5)) (?0) (true (step ?0)))",
        ];
        insta::assert_snapshot!(told("hanoi", &features), @r"
        whether (on disc1 pillar3) holds and no (on _ disc2) holds
        how many values of A there are such that some (on A _) holds
        the place of A in the order 0, 1, … 5 (from 0), summed over all values of A such that step is at A
        ");
    }
}
