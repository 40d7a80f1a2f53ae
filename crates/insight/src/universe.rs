//! What a game is made of: roles, fluents, moves and goals, and the facts that never change.
//!
//! A game that can be grounded has a [`Network`], and its fluents and moves are all that may ever occur. For any other
//! they are those that were met in sampled matches ([`crate::sample`]).

use std::sync::Arc;

use gdl::datalog::{Limits, Terms};
use gdl::ground::{self, GroundProgram};
use gdl::program::Program;
use gdl::symbol::{Symbols, keyword};
use gdl::{Database, Relation, Stop, TermId};
use machine::network::{self, Network, Wire};
use rustc_hash::{FxHashMap, FxHashSet};

/// The facts of a relation that depends on neither the state nor the moves.
#[derive(Clone, Debug)]
pub struct Static {
    /// The relation.
    pub relation: Relation,
    /// Its facts, sorted.
    pub rows: Vec<Vec<TermId>>,
}

/// The things that a game is made of.
#[derive(Clone, Debug)]
pub struct Universe {
    /// The rules.
    pub program: Arc<Program>,
    /// Names.
    pub symbols: Symbols,
    /// Terms.
    pub terms: Terms,
    /// The roles.
    pub roles: Vec<TermId>,
    /// The fluents.
    pub fluents: Vec<TermId>,
    /// Which fluents hold initially.
    pub initial: Vec<bool>,
    /// The moves, each with its role, grouped by role.
    pub moves: Vec<(u32, TermId)>,
    /// The goal values: role and value.
    pub goals: Vec<(u32, i64)>,
    /// The facts that never change, of each relation that has few enough.
    pub statics: Vec<Static>,
    /// The relations that never change and have too many facts to be listed.
    pub too_large: Vec<Relation>,
}

/// A game as a circuit, with what each fluent of a [`Universe`] is in it.
#[derive(Clone, Debug)]
pub struct Circuit {
    /// The ground rules that it was made from, unless they are very many.
    pub ground: Option<Arc<GroundProgram>>,
    /// The network.
    pub network: Arc<Network>,
    /// For each fluent of the universe, its wire.
    pub fluents: Vec<Wire>,
    /// For each fluent of the universe, the wire that makes it hold next.
    pub next: Vec<Wire>,
}

/// How many facts of a relation are listed.
const MAX_ROWS: usize = 50_000;
/// Up to how many literals ground rules are kept beside their network.
const MAX_KEPT_LITERALS: usize = 2_000_000;

/// Grounds a game and lists what it is made of. Without a network there is a reason instead.
pub fn survey(program: &Arc<Program>, budget: &ground::Budget) -> Result<(Universe, Circuit), String> {
    let ground = ground::ground(program, budget).map_err(|failure| failure.to_string())?;
    let roles = ground.roles.clone();
    let kept = (ground.literals.len() <= MAX_KEPT_LITERALS).then(|| Arc::new(ground.clone()));
    let network = Arc::new(network::build(ground, &budget.stop).map_err(|failure| failure.to_string())?);
    let mut universe = Universe {
        program: program.clone(),
        symbols: network.symbols.clone(),
        terms: network.terms.clone(),
        roles,
        fluents: Vec::new(),
        initial: Vec::new(),
        moves: Vec::new(),
        goals: network.goals.iter().map(|&(role, value, _)| (role, value)).collect(),
        statics: Vec::new(),
        too_large: Vec::new(),
    };
    // The network keeps the terms of the ground program, so their ids agree.
    let mut fluents: Vec<(TermId, Wire, Wire, bool)> = Vec::new();
    for (index, &fluent) in network.fluents.iter().enumerate() {
        fluents.push((fluent, Wire::of(1 + index as u32), network.next[index], network.initial[index]));
    }
    for &(fluent, other, inverted) in &network.equal_fluents {
        let (now, next) = (Wire::of(1 + other), network.next[other as usize]);
        let initial = network.initial[other as usize] != inverted;
        fluents.push((fluent, now.invert_if(inverted), next.invert_if(inverted), initial));
    }
    fluents.extend(network.constant_fluents.iter().map(|&fluent| (fluent, Wire::TRUE, Wire::TRUE, true)));
    // Numbering by the order of terms, which is the order in which grounding met them.
    fluents.sort_unstable_by_key(|&(fluent, ..)| fluent);
    for (role, range) in network.moves_of.iter().enumerate() {
        let moves = &network.moves[range.start as usize..range.end as usize];
        universe.moves.extend(moves.iter().map(|&chosen| (role as u32, chosen)));
    }
    let mut circuit = Circuit { ground: kept, network, fluents: Vec::new(), next: Vec::new() };
    for (fluent, now, next, initial) in fluents {
        universe.fluents.push(fluent);
        universe.initial.push(initial);
        circuit.fluents.push(now);
        circuit.next.push(next);
    }
    if let Ok(mut database) = Database::new(program.clone(), static_limits(&budget.stop)) {
        universe.list_statics(&mut database);
    }
    Ok((universe, circuit))
}

fn static_limits(stop: &Stop) -> Limits {
    Limits { facts: 2_000_000, work: 20_000_000, static_table: 200_000, stop: stop.clone(), ..Limits::default() }
}

impl Universe {
    /// A term as text.
    pub fn name(&self, term: TermId) -> String {
        self.terms.display(&self.symbols, term).to_string()
    }

    /// The number that a term is, if it is one; names mean nothing else.
    pub fn number(&self, term: TermId) -> Option<i64> {
        if self.terms.args(term).is_empty() { self.symbols.lower(self.terms.name(term)).parse().ok() } else { None }
    }

    /// Lists the facts that never change.
    pub(crate) fn list_statics(&mut self, database: &mut Database) {
        let program = self.program.clone();
        let mut known = FxHashMap::default();
        for relation in static_relations(&program) {
            match database.facts(relation) {
                Ok(rows) if rows.len() <= MAX_ROWS => {
                    let mut own = |term: TermId| translate(database, &mut self.terms, &mut known, term);
                    let mut rows: Vec<Vec<TermId>> =
                        rows.iter().map(|row| row.iter().map(|&term| own(term)).collect()).collect();
                    rows.sort_unstable();
                    self.statics.push(Static { relation, rows });
                }
                _ => self.too_large.push(relation),
            }
        }
    }
}

/// The id of another table's term in this one.
fn translate(from: &Database, into: &mut Terms, known: &mut FxHashMap<TermId, TermId>, term: TermId) -> TermId {
    if let Some(&own) = known.get(&term) {
        return own;
    }
    let args: Vec<TermId> = from.terms.args(term).iter().map(|&arg| translate(from, into, known, arg)).collect();
    let own = into.intern(from.terms.name(term), &args);
    known.insert(term, own);
    own
}

/// The relations that depend on neither the state nor the moves, keywords aside, in the order of the rules.
pub fn static_relations(program: &Program) -> Vec<Relation> {
    let dynamic = dynamic_relations(program);
    let mut seen = FxHashSet::default();
    let heads = program.rules.iter().map(|rule| rule.head.relation());
    heads
        .filter(|relation| !Symbols::is_keyword(relation.name) && !dynamic.contains_key(relation))
        .filter(|relation| seen.insert(*relation))
        .collect()
}

/// The relations that depend on the state (`false`), or on the moves, too (`true`).
pub fn dynamic_relations(program: &Program) -> FxHashMap<Relation, bool> {
    // What each relation's rules read, the other way round.
    let mut readers: FxHashMap<Relation, Vec<Relation>> = FxHashMap::default();
    for rule in &program.rules {
        rule.for_each_body_atom(|atom, _| readers.entry(atom.relation()).or_default().push(rule.head.relation()));
    }
    let mut dynamic = FxHashMap::default();
    // What depends on the moves first, so that each relation is met once.
    for (name, arity, on_moves) in [(keyword::DOES, 2, true), (keyword::TRUE, 1, false)] {
        let mut waiting = vec![Relation { name, arity }];
        while let Some(relation) = waiting.pop() {
            if let std::collections::hash_map::Entry::Vacant(place) = dynamic.entry(relation) {
                place.insert(on_moves);
                waiting.extend(readers.get(&relation).into_iter().flatten());
            }
        }
    }
    dynamic
}
