//! The values of features on many positions at once.
//!
//! Each ground atom of a relation has a column: one bit for each position of a sample, set where the atom holds. A formula is
//! joined over the tables of its relations, each partial binding carrying the positions at which it holds; a
//! conjunction intersects columns, a projection unites them, a negation takes the complement. So one pass over the bindings gives
//! the value in every position. Relations that never change have no columns and only narrow the bindings.
//!
//! Atoms that hold nowhere in the sample are left out, and a binding that holds nowhere is not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use gdl::datalog::Terms;
use gdl::program::{Relation, Term, VarId};
use gdl::symbol::SymbolId;
use gdl::{Database, TermId};
use machine::lanes::{self, Lanes};
use machine::network::Wire;
use rustc_hash::{FxHashMap, FxHasher};

use crate::feature::{Feature, Weight};
use crate::formula::{Atom, Formula};
use crate::game::{Game, Views};
use crate::reference::{Trimmed, Values};

/// How much work one feature may take, in rows visited times words of a column.
pub const WORK: u64 = 20_000_000;
/// Words of a column in a small sample.
const SMALL: usize = 2;
/// The alternatives that the disjunctions of a formula may multiply out to.
const MAX_BRANCHES: usize = 64;
/// The size of a term that takes the place of a variable.
const MAX_TERM: usize = 256;

/// A list of tuples, and the parts of them that are asked for.
type Listed = (Arc<Vec<Vec<Term>>>, Vec<Part>);

/// Positions as columns.
pub struct Columns {
    n: usize,
    words: usize,
    /// All ones, up to the last position.
    all: Vec<u64>,
    pub(crate) terms: Terms,
    facts: FxHashMap<Relation, Facts>,
    pub(crate) tables: Vec<Table>,
    by_shape: FxHashMap<(Relation, Vec<Part>), usize>,
    by_list: FxHashMap<Listed, usize>,
    /// How much work the last feature took, also if that was too much.
    pub work: u64,
    /// How often a conjunct was found to hold, once for each position: the work of going through positions one by one. It is
    /// noted for small samples only.
    pub steps: u64,
    /// How much work one feature may take: [`WORK`], unless somebody wants less.
    pub limit: u64,
}

/// The atoms of a relation.
#[derive(Default)]
pub(crate) struct Facts {
    rows: Vec<Vec<TermId>>,
    /// A column for each row; none if the relation never changes.
    bits: Option<Vec<u64>>,
}

/// What the arguments of an atom look like: a place for a value, or a function around such places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Value,
    Function(SymbolId, u32),
}

/// The atoms of one shape, a column for each of its values.
pub(crate) struct Table {
    pub(crate) arity: usize,
    pub(crate) n_rows: usize,
    pub(crate) rows: Vec<TermId>,
    pub(crate) bits: Option<Vec<u64>>,
    pub(crate) n_distinct: Vec<usize>,
    /// For a set of known values, the rows that have them.
    pub(crate) indices: FxHashMap<u32, FxHashMap<Box<[TermId]>, Vec<u32>>>,
}

/// A value in an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Known(TermId),
    Var(VarId),
}

pub(crate) enum Step {
    /// Go through the rows that have the known values.
    Join { table: usize, mask: u32, key: Vec<Value>, bind: Vec<(usize, VarId)>, same: Vec<(usize, usize)> },
    /// A variable has a known value.
    Set { var: VarId, value: Value },
    /// Two terms are equal, or differ.
    Compare { left: Term, right: Term, equal: bool },
    /// None of the plans succeeds.
    Not(Vec<Plan>),
}

pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// After this many steps, all listed variables are known.
    listed: usize,
}

const UNBOUND: TermId = TermId(u32::MAX);

impl Columns {
    /// The columns of states, each given as the bits of the game's fluents.
    pub fn new(game: &Game, views: &Views, states: &[&[u64]]) -> Columns {
        let network = &views.network;
        let mut columns = Columns::empty(states.len());
        let mut known = FxHashMap::default();
        // Step 1. The views.
        let own: Vec<Vec<u64>> = states.iter().map(|state| views.state(state)).collect();
        let own: Vec<&[u64]> = own.iter().map(|state| &state[..]).collect();
        let mut lanes = Lanes::new(lanes::Compiled::new(network.clone()));
        let bits = lanes.evaluate_formulas(&own);
        for ((relation, args), column) in network.views.iter().zip(&bits) {
            let row = args.iter().map(|&arg| columns.own(&network.terms, &mut known, arg)).collect();
            columns.add(views.relations[*relation as usize], row, column);
        }
        for &relation in &views.relations {
            columns.facts.entry(relation).or_default().bits.get_or_insert_default();
        }
        // Step 2. The fluents.
        let universe = &game.universe;
        let mut known = FxHashMap::default();
        let mut column = vec![0; columns.words];
        for (&fluent, &wire) in universe.fluents.iter().zip(&game.circuit.fluents) {
            for (word, bits) in column.iter_mut().enumerate() {
                let states = &states[64 * word..states.len().min(64 * word + 64)];
                *bits = states.iter().enumerate().fold(0, |bits, (bit, state)| {
                    let gate = wire.gate() as usize;
                    let holds = gate > 0 && state[(gate - 1) / 64] >> ((gate - 1) % 64) & 1 == 1;
                    bits | u64::from(holds != wire.is_inverted()) << bit
                });
            }
            let fluent = columns.own(&universe.terms, &mut known, fluent);
            columns.add(TRUE, vec![fluent], &column);
        }
        // Step 3. What never changes.
        columns.add_statics(game);
        columns
    }

    /// Every atom that may hold; in the place of its column is the number of its wire plus one.
    pub(crate) fn of_wires(game: &Game, views: &Views) -> Columns {
        let network = &views.network;
        let mut columns = Columns::empty(64);
        let mut known = FxHashMap::default();
        for ((relation, args), wire) in network.views.iter().zip(&network.formulas) {
            let row = args.iter().map(|&arg| columns.own(&network.terms, &mut known, arg)).collect();
            if *wire != Wire::FALSE {
                columns.add(views.relations[*relation as usize], row, &[u64::from(wire.0) + 1]);
            }
        }
        for &relation in &views.relations {
            columns.facts.entry(relation).or_default().bits.get_or_insert_default();
        }
        for (fluent, wire) in views.fluents(game) {
            if wire != Wire::FALSE {
                let fluent = columns.own(&game.universe.terms, &mut FxHashMap::default(), fluent);
                columns.add(TRUE, vec![fluent], &[u64::from(wire.0) + 1]);
            }
        }
        columns.add_statics(game);
        columns
    }

    fn add_statics(&mut self, game: &Game) {
        let universe = &game.universe;
        let mut known = FxHashMap::default();
        let roles = universe.roles.iter().map(|&role| vec![self.own(&universe.terms, &mut known, role)]).collect();
        self.facts.insert(ROLE, Facts { rows: roles, bits: None });
        for facts in &universe.statics {
            let own = |row: &Vec<TermId>| row.iter().map(|&term| self.own(&universe.terms, &mut known, term)).collect();
            let rows: Vec<Vec<TermId>> = facts.rows.iter().map(own).collect();
            self.facts.insert(facts.relation, Facts { rows, bits: None });
        }
    }

    /// The columns of states given as the fluents that hold, by evaluating the rules in each: slow, and always right.
    pub fn by_rules(
        database: &mut Database,
        relations: &[Relation],
        states: &[Vec<TermId>],
    ) -> Result<Columns, gdl::datalog::Exceeded> {
        let mut columns = Columns::empty(states.len());
        let mut known = FxHashMap::default();
        let mut found: FxHashMap<(Relation, Vec<TermId>), Vec<u64>> = FxHashMap::default();
        let mut order = Vec::new();
        let n_words = columns.words;
        for (index, state) in states.iter().enumerate() {
            database.set_state(state);
            for &relation in relations {
                for row in database.facts(relation)? {
                    let row: Vec<TermId> =
                        row.iter().map(|&term| columns.own(&database.terms, &mut known, term)).collect();
                    let column = found.entry((relation, row)).or_insert_with_key(|key| {
                        order.push(key.clone());
                        vec![0; n_words]
                    });
                    column[index / 64] |= 1 << (index % 64);
                }
            }
        }
        for key in order {
            columns.add(key.0, key.1.clone(), &found[&key]);
        }
        Ok(columns)
    }

    fn empty(n: usize) -> Columns {
        let words = n.div_ceil(64).max(1);
        let mut all = vec![u64::MAX; words];
        if !n.is_multiple_of(64) || n == 0 {
            all[words - 1] = (1 << (n % 64)) - 1;
        }
        Columns {
            n,
            words,
            all,
            terms: Terms::default(),
            facts: FxHashMap::default(),
            tables: Vec::new(),
            by_shape: FxHashMap::default(),
            by_list: FxHashMap::default(),
            work: 0,
            steps: 0,
            limit: WORK,
        }
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Whether the facts of a relation are known.
    pub fn knows(&self, relation: Relation) -> bool {
        self.facts.contains_key(&relation)
    }

    fn own(&mut self, from: &Terms, known: &mut FxHashMap<TermId, TermId>, term: TermId) -> TermId {
        own_term(from, &mut self.terms, known, term)
    }

    fn add(&mut self, relation: Relation, row: Vec<TermId>, column: &[u64]) {
        let facts = self.facts.entry(relation).or_default();
        let bits = facts.bits.get_or_insert_default();
        if column.iter().any(|&word| word != 0) {
            facts.rows.push(row);
            bits.extend_from_slice(column);
        }
    }

    /// The value of a feature in each position; `None` if it can't be evaluated: a variable is bound by nothing, a relation
    /// is not known, or it takes too much work.
    pub fn values(&mut self, feature: &Feature) -> Option<Vec<i32>> {
        (self.work, self.steps) = (0, 0);
        let list: BTreeSet<VarId> = feature.list.iter().copied().collect();
        let mut components = feature.formula.components();
        if feature.weight != Weight::One {
            // The weight may need variables of several components.
            let (mut counted, mut others) = (Vec::new(), Vec::new());
            for component in components {
                let is_counted = component.iter().any(|part| !part.free_variables().is_disjoint(&list));
                if is_counted { counted.extend(component) } else { others.push(component) }
            }
            components = others.into_iter().chain((!counted.is_empty()).then_some(counted)).collect();
        }
        let mut values = vec![1i32; self.n];
        for component in components {
            let listed = listed_in(&component, &feature.list);
            let counts = self.component(&component, &listed, (!listed.is_empty()).then_some(feature))?;
            values.iter_mut().zip(&counts).for_each(|(value, &count)| *value = value.saturating_mul(count));
        }
        Some(values)
    }

    /// Whether a formula holds in each position, one bit each.
    pub fn holds(&mut self, formula: &Formula) -> Option<Vec<u64>> {
        self.work = 0;
        let mut bits = self.all.clone();
        for component in formula.components() {
            let plans = self.plans(&component, &[], &BTreeSet::new())?;
            let mut search = Search::new(self);
            let mut united = vec![0; self.words];
            let outcome = search.run_all(&plans, &bits, &mut |_, found| unite(&mut united, found));
            self.work += search.work;
            outcome?;
            bits = united;
        }
        Some(bits)
    }

    /// Counts the bindings of the listed variables of conjuncts that share their variables with no others.
    fn component(&mut self, conjuncts: &[Formula], listed: &[VarId], weigh: Option<&Feature>) -> Option<Vec<i32>> {
        let mut sums: BTreeMap<i32, Sum> = BTreeMap::new();
        let weigh = weigh.map(|feature| &feature.weight).filter(|weight| **weight != Weight::One);
        self.each_binding(conjuncts, listed, &mut |columns, binding, bits| {
            let weight = weigh.map_or(1, |weight| {
                let values: Vec<Term> = binding.iter().map(|&value| term(&columns.terms, value)).collect();
                weight.of(listed, &values)
            });
            if weight != 0 {
                sums.entry(weight).or_insert_with(|| Sum::new(columns.words)).add(bits);
            }
        })?;
        let mut values = vec![0i32; self.n];
        sums.iter().for_each(|(&weight, sum)| sum.add_to(&mut values, weight));
        Some(values)
    }

    /// The bindings of the listed variables that make all conjuncts hold somewhere.
    fn bindings(&mut self, conjuncts: &[Formula], listed: &[VarId]) -> Option<Bindings> {
        let mut found = Bindings::new(listed.to_vec(), self.words);
        self.each_binding(conjuncts, listed, &mut |_, binding, bits| found.push(binding.iter().copied(), bits))?;
        Some(found)
    }

    /// Calls `emit` with each binding of the listed variables and all positions at which the conjuncts hold.
    fn each_binding(&mut self, conjuncts: &[Formula], listed: &[VarId], emit: &mut Take<'_>) -> Option<()> {
        let plans = self.plans(conjuncts, listed, &BTreeSet::new())?;
        let free: BTreeSet<VarId> = conjuncts.iter().flat_map(|part| part.free_variables()).collect();
        let each_once = plans.len() == 1 && free.len() == listed.len();
        let mut search = Search::new(self);
        let mut found = Bindings::new(listed.to_vec(), self.words);
        let mut row = Vec::new();
        let outcome = search.run_all(&plans, &self.all, &mut |binding, bits| {
            let values = listed.iter().map(|var| binding[var.0 as usize]);
            if each_once {
                row.clear();
                row.extend(values);
                emit(self, &row, bits);
            } else if let Some(known) = found.unite(values, bits) {
                unite(known, bits);
            }
        });
        let (work, steps) = (search.work, search.steps);
        found.iter().for_each(|(binding, bits)| emit(self, binding, bits));
        self.work += work;
        self.steps += steps;
        outcome
    }

    /// Plans for a conjunction, one for each alternative that its disjunctions leave.
    pub(crate) fn plans(
        &mut self,
        conjuncts: &[Formula],
        listed: &[VarId],
        bound: &BTreeSet<VarId>,
    ) -> Option<Vec<Plan>> {
        let branches = branches(conjuncts)?;
        branches.into_iter().map(|branch| self.plan(branch, listed, bound)).collect()
    }

    fn plan(&mut self, mut literals: Vec<Formula>, listed: &[VarId], bound: &BTreeSet<VarId>) -> Option<Plan> {
        let mut bound = bound.clone();
        let outer: BTreeSet<VarId> = literals.iter().flat_map(|literal| literal.free_variables()).collect();
        let mut steps = Vec::new();
        let is_listed = |bound: &BTreeSet<VarId>| listed.iter().all(|var| bound.contains(var));
        let mut n_listed = is_listed(&bound).then_some(0);
        while !literals.is_empty() {
            // Tests come as soon as they can be made; of the joins, the one with the fewest matches.
            let ready = literals.iter().position(|literal| match literal {
                Formula::Equal(..) | Formula::Distinct(..) => literal.variables().is_subset(&bound),
                Formula::Not(inner) => inner.variables().intersection(&outer).all(|var| bound.contains(var)),
                _ => false,
            });
            if let Some(place) = ready {
                steps.push(match literals.remove(place) {
                    Formula::Equal(left, right) => Step::Compare { left, right, equal: true },
                    Formula::Distinct(left, right) => Step::Compare { left, right, equal: false },
                    Formula::Not(inner) => Step::Not(self.plans(inner.conjuncts(), &[], &bound)?),
                    _ => unreachable!("only tests are ready"),
                });
                continue;
            }
            // An equality binds a variable.
            if let Some(place) = literals.iter().position(|literal| binds(literal, &bound)) {
                let Formula::Equal(left, right) = literals.remove(place) else { unreachable!("it binds") };
                let (var, term) = match (left, right) {
                    (Term::Var(var), term) if !bound.contains(&var) => (var, term),
                    (term, Term::Var(var)) => (var, term),
                    _ => unreachable!("it binds"),
                };
                match self.value(&term) {
                    Some(value) => {
                        steps.push(Step::Set { var, value });
                        bound.insert(var);
                    }
                    // Terms that are put into each other grow fast.
                    None if listed.contains(&var) || term.size() > MAX_TERM => return None,
                    None => literals.iter_mut().for_each(|literal| *literal = substitute(literal, var, &term)),
                }
                continue;
            }
            if n_listed.is_none() && is_listed(&bound) {
                n_listed = Some(steps.len());
            }
            let mut best: Option<(f64, usize)> = None;
            for (place, literal) in literals.iter().enumerate() {
                let Some((table, values)) = self.table(literal)? else { continue };
                let table = &self.tables[table];
                let known = values.iter().zip(&table.n_distinct).filter(|(value, _)| is_known(value, &bound));
                let keys = known.fold(1.0, |keys, (_, &n)| keys * n.max(1) as f64);
                let estimate = table.n_rows as f64 / keys.min(table.n_rows.max(1) as f64);
                if best.is_none_or(|(least, _)| estimate < least) {
                    best = Some((estimate, place));
                }
            }
            let literal = literals.remove(best?.1);
            let (table, values) = self.table(&literal)??;
            // Known values are told by the bits of a word.
            if values.len() > u32::BITS as usize {
                return None;
            }
            let mut mask = 0;
            let (mut key, mut bind, mut same) = (Vec::new(), Vec::<(usize, VarId)>::new(), Vec::new());
            for (column, &value) in values.iter().enumerate() {
                match value {
                    _ if is_known(&value, &bound) => {
                        mask |= 1 << column;
                        key.push(value);
                    }
                    Value::Var(var) => match bind.iter().find(|(_, other)| *other == var) {
                        Some(&(first, _)) => same.push((first, column)),
                        None => bind.push((column, var)),
                    },
                    Value::Known(_) => unreachable!("it is known"),
                }
            }
            bound.extend(bind.iter().map(|&(_, var)| var));
            self.tables[table].index(mask);
            steps.push(Step::Join { table, mask, key, bind, same });
        }
        let n_listed = n_listed.or_else(|| is_listed(&bound).then_some(steps.len()));
        Some(Plan { steps, listed: n_listed? })
    }

    /// The table of a literal and the values in it; `Some(None)` if it is a test.
    #[expect(clippy::option_option)]
    fn table(&mut self, literal: &Formula) -> Option<Option<(usize, Vec<Value>)>> {
        match literal {
            Formula::Atom(atom) => self.atom_table(atom).map(Some),
            Formula::Member(terms, rows) => {
                let (mut shape, mut values) = (Vec::new(), Vec::new());
                terms.iter().for_each(|term| self.shape(term, &mut shape, &mut values));
                let key = (rows.clone(), shape);
                if let Some(&table) = self.by_list.get(&key) {
                    return Some(Some((table, values)));
                }
                let rows: Vec<Vec<TermId>> =
                    rows.iter().map(|row| row.iter().map(|term| self.ground(term)).collect()).collect::<Option<_>>()?;
                let facts = Facts { rows, bits: None };
                self.tables.push(shaped(&self.terms, &facts, &key.1, values.len(), self.words));
                self.by_list.insert(key, self.tables.len() - 1);
                Some(Some((self.tables.len() - 1, values)))
            }
            _ => Some(None),
        }
    }

    fn atom_table(&mut self, atom: &Atom) -> Option<(usize, Vec<Value>)> {
        let (mut shape, mut values) = (Vec::new(), Vec::new());
        for arg in &atom.args {
            self.shape(arg, &mut shape, &mut values);
        }
        if values.len() > 32 {
            return None;
        }
        let relation = atom.relation();
        if let Some(&table) = self.by_shape.get(&(relation, shape.clone())) {
            return Some((table, values));
        }
        let facts = self.facts.get(&relation)?;
        let table = shaped(&self.terms, facts, &shape, values.len(), self.words);
        self.tables.push(table);
        self.by_shape.insert((relation, shape), self.tables.len() - 1);
        Some((self.tables.len() - 1, values))
    }

    fn shape(&mut self, term: &Term, shape: &mut Vec<Part>, values: &mut Vec<Value>) {
        if let Some(value) = self.value(term) {
            shape.push(Part::Value);
            values.push(value);
        } else if let Term::Func(name, args) = term {
            shape.push(Part::Function(*name, args.len() as u32));
            args.iter().for_each(|arg| self.shape(arg, shape, values));
        }
    }

    fn value(&mut self, term: &Term) -> Option<Value> {
        if let Term::Var(var) = term { Some(Value::Var(*var)) } else { self.ground(term).map(Value::Known) }
    }

    fn ground(&mut self, term: &Term) -> Option<TermId> {
        match term {
            Term::Var(_) => None,
            Term::Const(name) => Some(self.terms.intern(*name, &[])),
            Term::Func(name, args) => {
                let args: Option<Vec<TermId>> = args.iter().map(|arg| self.ground(arg)).collect();
                Some(self.terms.intern(*name, &args?))
            }
        }
    }
}

impl Values for Columns {
    fn values(&mut self, feature: &Feature) -> Option<Vec<i32>> {
        Columns::values(self, feature)
    }

    fn trim(&mut self, feature: &Feature) -> Option<Trimmed> {
        self.work = 0;
        let mut groups: Vec<Bindings> = Vec::new();
        let mut holds = self.all.clone();
        for component in feature.formula.components() {
            let group = self.bindings(&component, &listed_in(&component, &feature.list))?;
            let mut some = vec![0; self.words];
            group.iter().for_each(|(_, bits)| unite(&mut some, bits));
            holds.iter_mut().zip(&some).for_each(|(holds, some)| *holds &= some);
            groups.push(group);
        }
        let mut list = feature.list.clone();
        if holds.iter().all(|&word| word == 0) {
            list.clear();
        }
        list.retain(|var| {
            !groups.iter_mut().any(|group| {
                let place = group.vars.iter().position(|other| other == var);
                let fewer = place.and_then(|place| group.without(place, Some(&holds)));
                fewer.map(|fewer| *group = fewer).is_some()
            })
        });
        Some(Trimmed { list, always: holds == self.all })
    }

    fn without_each(&mut self, feature: &Feature) -> Vec<Option<Vec<i32>>> {
        self.work = 0;
        let all = self.bindings(feature.formula.conjuncts(), &feature.list);
        let without = |place: usize| {
            let mut sum = Sum::new(self.words);
            all.as_ref()?.without(place, None)?.iter().for_each(|(_, bits)| sum.add(bits));
            let mut values = vec![0; self.n];
            sum.add_to(&mut values, 1);
            Some(values)
        };
        (0..feature.list.len()).map(without).collect()
    }
}

/// A term as it may stand in a formula.
pub(crate) fn term(terms: &Terms, id: TermId) -> Term {
    let args: Box<[Term]> = terms.args(id).iter().map(|&arg| term(terms, arg)).collect();
    if args.is_empty() { Term::Const(terms.name(id)) } else { Term::Func(terms.name(id), args) }
}

/// The id of another table's term in a table; `known` are those that were met before.
pub(crate) fn own_term(from: &Terms, into: &mut Terms, known: &mut FxHashMap<TermId, TermId>, term: TermId) -> TermId {
    if let Some(&own) = known.get(&term) {
        return own;
    }
    let args: Vec<TermId> = from.args(term).iter().map(|&arg| own_term(from, into, known, arg)).collect();
    let own = into.intern(from.name(term), &args);
    known.insert(term, own);
    own
}

/// The table of the facts that have a shape.
fn shaped(terms: &Terms, facts: &Facts, shape: &[Part], arity: usize, words: usize) -> Table {
    let mut rows: Vec<TermId> = Vec::new();
    let mut bits = facts.bits.as_ref().map(|_| Vec::new());
    let mut n_rows = 0;
    for (index, row) in facts.rows.iter().enumerate() {
        let before = rows.len();
        let mut parts = shape.iter();
        if row.iter().all(|&term| flatten(terms, term, &mut parts, &mut rows)) {
            n_rows += 1;
            if let (Some(bits), Some(all)) = (&mut bits, &facts.bits) {
                bits.extend_from_slice(&all[index * words..(index + 1) * words]);
            }
        } else {
            rows.truncate(before);
        }
    }
    Table::new(rows, arity, n_rows, bits)
}

const ROLE: Relation = Relation { name: gdl::keyword::ROLE, arity: 1 };
const TRUE: Relation = Relation { name: gdl::keyword::TRUE, arity: 1 };

impl Table {
    fn new(rows: Vec<TermId>, arity: usize, n_rows: usize, bits: Option<Vec<u64>>) -> Table {
        let distinct = |column| {
            let mut values: Vec<TermId> = (0..n_rows).map(|row| rows[row * arity + column]).collect();
            values.sort_unstable();
            values.dedup();
            values.len()
        };
        let n_distinct = (0..arity).map(distinct).collect();
        Table { arity, n_rows, n_distinct, rows, bits, indices: FxHashMap::default() }
    }

    fn index(&mut self, mask: u32) {
        if self.indices.contains_key(&mask) {
            return;
        }
        let mut index: FxHashMap<Box<[TermId]>, Vec<u32>> = FxHashMap::default();
        for row in 0..self.n_rows {
            let values = &self.rows[row * self.arity..(row + 1) * self.arity];
            let known = values.iter().enumerate().filter(|(column, _)| mask >> column & 1 == 1);
            index.entry(known.map(|(_, &value)| value).collect()).or_default().push(row as u32);
        }
        self.indices.insert(mask, index);
    }
}

fn is_known(value: &Value, bound: &BTreeSet<VarId>) -> bool {
    match value {
        Value::Known(_) => true,
        Value::Var(var) => bound.contains(var),
    }
}

/// Whether a literal gives a variable the value of a known term.
fn binds(literal: &Formula, bound: &BTreeSet<VarId>) -> bool {
    let known = |term: &Term| {
        let mut known = true;
        term.for_each_var(&mut |var| known &= bound.contains(&var));
        known
    };
    match literal {
        Formula::Equal(Term::Var(_), term) if known(term) => true,
        Formula::Equal(term, Term::Var(_)) => known(term),
        _ => false,
    }
}

fn substitute(formula: &Formula, var: VarId, by: &Term) -> Formula {
    fn replace(term: &Term, var: VarId, by: &Term) -> Term {
        match term {
            Term::Var(other) if *other == var => by.clone(),
            Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| replace(arg, var, by)).collect()),
            other => other.clone(),
        }
    }
    formula.map_terms(&mut |term| replace(term, var, by))
}

fn flatten<'a>(terms: &Terms, term: TermId, shape: &mut impl Iterator<Item = &'a Part>, row: &mut Vec<TermId>) -> bool {
    match shape.next() {
        Some(Part::Value) => {
            row.push(term);
            true
        }
        Some(&Part::Function(name, arity)) => {
            terms.name(term) == name
                && terms.args(term).len() == arity as usize
                && terms.args(term).iter().all(|&arg| flatten(terms, arg, shape, row))
        }
        None => false,
    }
}

/// A number for each position, in binary, one plane of bits for each digit: adding a column is a few operations on words.
struct Sum {
    words: usize,
    planes: Vec<u64>,
}

impl Sum {
    fn new(words: usize) -> Sum {
        Sum { words, planes: Vec::new() }
    }

    /// Adds one at each of these positions.
    fn add(&mut self, bits: &[u64]) {
        for (word, &bits) in bits.iter().enumerate() {
            let (mut carry, mut at) = (bits, word);
            while carry != 0 {
                if at >= self.planes.len() {
                    self.planes.resize(self.planes.len() + self.words, 0);
                }
                let plane = &mut self.planes[at];
                (*plane, carry) = (*plane ^ carry, *plane & carry);
                at += self.words;
            }
        }
    }

    /// Adds the numbers, times a weight.
    fn add_to(&self, values: &mut [i32], weight: i32) {
        for (digit, plane) in self.planes.chunks(self.words).enumerate() {
            let weight = weight.saturating_mul(1i32.checked_shl(digit as u32).unwrap_or(i32::MAX));
            for (word, &bits) in plane.iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    let value = &mut values[64 * word + bits.trailing_zeros() as usize];
                    *value = value.saturating_add(weight);
                    bits &= bits - 1;
                }
            }
        }
    }
}

fn unite(sum: &mut [u64], bits: &[u64]) {
    sum.iter_mut().zip(bits).for_each(|(sum, bits)| *sum |= bits);
}

/// Those of the variables that the conjuncts have outside of negations.
fn listed_in(conjuncts: &[Formula], list: &[VarId]) -> Vec<VarId> {
    let vars: BTreeSet<VarId> = conjuncts.iter().flat_map(|part| part.free_variables()).collect();
    list.iter().copied().filter(|var| vars.contains(var)).collect()
}

/// What is done with the values of listed variables and the positions at which they make a formula hold.
type Take<'e> = dyn FnMut(&Columns, &[TermId], &[u64]) + 'e;

/// Bindings of some variables, each once, with the positions at which it makes a formula hold.
struct Bindings {
    vars: Vec<VarId>,
    words: usize,
    n: usize,
    values: Vec<TermId>,
    bits: Vec<u64>,
    /// The number of each binding, by the hash of its values or, where that is taken, the next number that is free.
    numbers: FxHashMap<u64, u32>,
}

impl Bindings {
    fn new(vars: Vec<VarId>, words: usize) -> Bindings {
        Bindings { vars, words, n: 0, values: Vec::new(), bits: Vec::new(), numbers: FxHashMap::default() }
    }

    fn iter(&self) -> impl Iterator<Item = (&[TermId], &[u64])> {
        let arity = self.vars.len();
        (0..self.n).map(move |at| (&self.values[at * arity..][..arity], &self.bits[at * self.words..][..self.words]))
    }

    /// Adds a binding that is known to be new, and will not be looked for.
    fn push(&mut self, values: impl Iterator<Item = TermId>, bits: &[u64]) {
        self.values.extend(values);
        self.bits.extend_from_slice(bits);
        self.n += 1;
    }

    /// Adds positions to a binding. Returns those that it had before, if it is not new.
    fn unite(&mut self, values: impl Iterator<Item = TermId> + Clone, bits: &[u64]) -> Option<&mut [u64]> {
        let arity = self.vars.len();
        let mut hasher = FxHasher::default();
        values.clone().for_each(|value| value.hash(&mut hasher));
        let mut key = hasher.finish();
        while let Some(&at) = self.numbers.get(&key) {
            let at = at as usize;
            if self.values[at * arity..][..arity].iter().copied().eq(values.clone()) {
                return Some(&mut self.bits[at * self.words..][..self.words]);
            }
            key = key.wrapping_add(1);
        }
        self.numbers.insert(key, self.n as u32);
        self.push(values, bits);
        None
    }

    /// The bindings of all variables but one. `None` if, in one of the positions, the others don't tell its value.
    fn without(&self, place: usize, positions: Option<&[u64]>) -> Option<Bindings> {
        let mut vars = self.vars.clone();
        vars.remove(place);
        let mut fewer = Bindings::new(vars, self.words);
        for (values, bits) in self.iter() {
            let others = values[..place].iter().chain(&values[place + 1..]).copied();
            let Some(known) = fewer.unite(others, bits) else { continue };
            let twice = |positions: &[u64]| known.iter().zip(bits).zip(positions).any(|((a, b), at)| a & b & at != 0);
            if positions.is_some_and(twice) {
                return None;
            }
            unite(known, bits);
        }
        Some(fewer)
    }
}

/// The alternatives that the disjunctions of a conjunction leave, each a list of other literals.
fn branches(conjuncts: &[Formula]) -> Option<Vec<Vec<Formula>>> {
    let mut branches: Vec<Vec<Formula>> = vec![Vec::new()];
    for conjunct in conjuncts {
        let alternatives = match conjunct {
            Formula::And(parts) => self::branches(parts)?,
            Formula::Or(parts) => {
                let each: Option<Vec<_>> = parts.iter().map(|part| self::branches(part.conjuncts())).collect();
                each?.into_iter().flatten().collect()
            }
            Formula::Not(inner) if matches!(**inner, Formula::Equal(..) | Formula::Distinct(..)) => {
                let opposite = match (**inner).clone() {
                    Formula::Equal(left, right) => Formula::Distinct(left, right),
                    Formula::Distinct(left, right) => Formula::Equal(left, right),
                    _ => unreachable!("it is a comparison"),
                };
                vec![vec![opposite]]
            }
            other => vec![vec![other.clone()]],
        };
        if branches.len() * alternatives.len() > MAX_BRANCHES {
            return None;
        }
        branches = branches
            .iter()
            .flat_map(|branch| alternatives.iter().map(|more| branch.iter().chain(more).cloned().collect()))
            .collect();
    }
    Some(branches)
}

/// Walks the bindings of plans.
pub(crate) struct Search<'a> {
    pub(crate) columns: &'a Columns,
    pub(crate) binding: Vec<TermId>,
    pub(crate) work: u64,
    steps: u64,
}

/// What is done with a binding and the positions at which it holds.
type Emit<'e> = dyn FnMut(&[TermId], &[u64]) + 'e;

impl<'a> Search<'a> {
    pub(crate) fn new(columns: &'a Columns) -> Search<'a> {
        Search { columns, binding: Vec::new(), work: 0, steps: 0 }
    }

    fn run_all(&mut self, plans: &[Plan], bits: &[u64], emit: &mut Emit<'_>) -> Option<()> {
        plans.iter().try_for_each(|plan| self.each(plan, 0, bits, emit))
    }

    /// Goes through the bindings that a plan finds from one of its steps on.
    fn each(&mut self, plan: &Plan, at: usize, bits: &[u64], emit: &mut Emit<'_>) -> Option<()> {
        if at >= plan.listed {
            let mut found = vec![0; bits.len()];
            self.exists(plan, at, bits, &mut found)?;
            if found.iter().any(|&word| word != 0) {
                emit(&self.binding, &found);
            }
            return Some(());
        }
        match &plan.steps[at] {
            Step::Join { table, mask, key, bind, same } => {
                let table = &self.columns.tables[*table];
                let key: Box<[TermId]> = key.iter().map(|value| self.known(*value)).collect();
                let Some(rows) = table.indices[mask].get(&key) else { return Some(()) };
                let mut narrowed = vec![0; bits.len()];
                for &row in rows {
                    if self.enter(table, row, bind, same, bits, None, &mut narrowed)? {
                        self.each(plan, at + 1, &narrowed, emit)?;
                    }
                }
                Some(())
            }
            Step::Set { var, value } => {
                self.bind(*var, self.known(*value));
                self.each(plan, at + 1, bits, emit)
            }
            test => match self.test(test, bits)? {
                Some(left) => self.each(plan, at + 1, &left, emit),
                None => Some(()),
            },
        }
    }

    /// Adds to `found` the positions at which the rest of a plan has a binding; those that are there already are not
    /// looked at again.
    fn exists(&mut self, plan: &Plan, at: usize, bits: &[u64], found: &mut [u64]) -> Option<()> {
        match plan.steps.get(at) {
            None => {
                found.iter_mut().zip(bits).for_each(|(found, bits)| *found |= bits);
                Some(())
            }
            Some(Step::Join { table, mask, key, bind, same }) => {
                let table = &self.columns.tables[*table];
                let key: Box<[TermId]> = key.iter().map(|value| self.known(*value)).collect();
                let Some(rows) = table.indices[mask].get(&key) else { return Some(()) };
                let mut narrowed = vec![0; bits.len()];
                for &row in rows {
                    if self.enter(table, row, bind, same, bits, Some(found), &mut narrowed)? {
                        self.exists(plan, at + 1, &narrowed, found)?;
                        if bits.iter().zip(&*found).all(|(bits, found)| bits & !found == 0) {
                            break;
                        }
                    }
                }
                Some(())
            }
            Some(Step::Set { var, value }) => {
                self.bind(*var, self.known(*value));
                self.exists(plan, at + 1, bits, found)
            }
            Some(test) => match self.test(test, bits)? {
                Some(left) => self.exists(plan, at + 1, &left, found),
                None => Some(()),
            },
        }
    }

    /// Binds the values of a row and narrows the positions to those at which it holds; whether there are any.
    #[expect(clippy::too_many_arguments)]
    fn enter(
        &mut self,
        table: &Table,
        row: u32,
        bind: &[(usize, VarId)],
        same: &[(usize, usize)],
        bits: &[u64],
        found: Option<&[u64]>,
        narrowed: &mut [u64],
    ) -> Option<bool> {
        let words = bits.len();
        self.work += 1 + words as u64 / 4;
        if self.work > self.columns.limit {
            return None;
        }
        let values = &table.rows[row as usize * table.arity..][..table.arity];
        if same.iter().any(|&(first, other)| values[first] != values[other]) {
            return Some(false);
        }
        match &table.bits {
            None => narrowed.copy_from_slice(bits),
            Some(all) => {
                let column = &all[row as usize * words..][..words];
                narrowed.iter_mut().zip(bits.iter().zip(column)).for_each(|(to, (bits, column))| *to = bits & column);
            }
        }
        if let Some(found) = found {
            narrowed.iter_mut().zip(found).for_each(|(to, found)| *to &= !found);
        }
        if words <= SMALL {
            self.steps += narrowed.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        bind.iter().for_each(|&(column, var)| self.bind(var, values[column]));
        Some(narrowed.iter().any(|&word| word != 0))
    }

    /// The positions at which a test succeeds; `None` if there is none.
    #[expect(clippy::option_option)]
    fn test(&mut self, step: &Step, bits: &[u64]) -> Option<Option<Vec<u64>>> {
        match step {
            Step::Compare { left, right, equal } => Some((self.same(left, right) == *equal).then(|| bits.to_vec())),
            Step::Not(plans) => {
                let mut held = vec![0; bits.len()];
                for plan in plans {
                    self.exists(plan, 0, bits, &mut held)?;
                }
                let left: Vec<u64> = bits.iter().zip(&held).map(|(bits, held)| bits & !held).collect();
                Some(left.iter().any(|&word| word != 0).then_some(left))
            }
            Step::Join { .. } | Step::Set { .. } => unreachable!("it is no test"),
        }
    }

    pub(crate) fn bind(&mut self, var: VarId, value: TermId) {
        if self.binding.len() <= var.0 as usize {
            self.binding.resize(var.0 as usize + 1, UNBOUND);
        }
        self.binding[var.0 as usize] = value;
    }

    pub(crate) fn known(&self, value: Value) -> TermId {
        match value {
            Value::Known(term) => term,
            Value::Var(var) => self.binding[var.0 as usize],
        }
    }

    /// Whether two terms have the same value.
    pub(crate) fn same(&self, left: &Term, right: &Term) -> bool {
        let terms = &self.columns.terms;
        match (left, right) {
            (Term::Var(left), Term::Var(right)) => self.binding[left.0 as usize] == self.binding[right.0 as usize],
            (Term::Var(var), term) | (term, Term::Var(var)) => self.is(terms, term, self.binding[var.0 as usize]),
            (Term::Const(left), Term::Const(right)) => left == right,
            (Term::Func(left, first), Term::Func(right, second)) => {
                left == right
                    && first.len() == second.len()
                    && first.iter().zip(second).all(|(left, right)| self.same(left, right))
            }
            _ => false,
        }
    }

    fn is(&self, terms: &Terms, pattern: &Term, term: TermId) -> bool {
        match pattern {
            Term::Var(var) => self.binding[var.0 as usize] == term,
            Term::Const(name) => terms.name(term) == *name && terms.args(term).is_empty(),
            Term::Func(name, args) => {
                let own = terms.args(term);
                terms.name(term) == *name
                    && own.len() == args.len()
                    && args.iter().zip(own).all(|(arg, &own)| self.is(terms, arg, own))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gdl::program::Program;

    /// A database of rules without moves, and a state of it.
    fn board(text: &str) -> (Program, Columns) {
        let program = gdl::read("test.kif", text.as_bytes()).program;
        let mut database = Database::new(Arc::new(program.clone()), gdl::datalog::Limits::default()).expect("rules");
        let init = Relation { name: gdl::keyword::INIT, arity: 1 };
        let state: Vec<TermId> =
            database.facts(init).expect("within the budget").into_iter().map(|row| row[0]).collect();
        let columns = Columns::by_rules(&mut database, &[TRUE], &[state]).expect("within the budget");
        (program, columns)
    }

    /// The table of variable lists of the feature construction thesis: x on (1,1), (2,1), (1,3), o on (3,1), (3,3).
    #[test]
    fn the_list_decides_what_is_counted() {
        let (program, mut columns) = board(
            "(role p) (init (cell 1 1 x)) (init (cell 2 1 x)) (init (cell 1 3 x)) (init (cell 3 1 o)) (init (cell 3 3 o))",
        );
        let name = |text: &str| program.symbols.find(text).expect("a name");
        let var = |number| Term::Var(VarId(number));
        let cell = |column: u32, mark: &str| {
            let args = [var(column), var(2), Term::Const(name(mark))];
            Formula::Atom(Atom { name: gdl::keyword::TRUE, args: vec![Term::Func(name("cell"), args.into())] })
        };
        // M1, M2, N are 0, 1, 2.
        let formula = Formula::And(vec![cell(0, "x"), cell(1, "o")]);
        let mut value = |list: &[u32]| {
            let feature = Feature::count(list.iter().map(|&number| VarId(number)).collect(), formula.clone());
            columns.values(&feature).expect("it can be evaluated")[0]
        };
        let lists: [&[u32]; 8] = [&[], &[2], &[0], &[0, 1], &[0, 1, 2], &[1], &[0, 2], &[1, 2]];
        assert_eq!(lists.map(&mut value), [1, 2, 2, 2, 3, 1, 3, 2]);
    }
    /// A value may come from an equality, and lists of tuples may be looked up by the arguments of a function.
    #[test]
    fn equalities_and_lists_bind() {
        let (program, mut columns) = board(
            "(role p) (init (cell 1 1 x)) (init (cell 2 1 x)) (init (cell 1 3 x)) (init (cell 3 1 o)) (init (cell 3 3 o))",
        );
        let name = |text: &str| Term::Const(program.symbols.find(text).expect("a name"));
        let var = |number| Term::Var(VarId(number));
        let place = |column: Term, row: Term, mark: &str| {
            let functor = program.symbols.find("cell").expect("a name");
            Term::Func(functor, [column, row, name(mark)].into())
        };
        let cell = |column: Term, row: Term, mark: &str| {
            Formula::Atom(Atom { name: gdl::keyword::TRUE, args: vec![place(column, row, mark)] })
        };
        let mut value = |list: &[u32], formula: Formula| {
            let feature = Feature::count(list.iter().map(|&number| VarId(number)).collect(), formula);
            columns.values(&feature).map(|values| values[0])
        };
        // The kinds of marks in column 3, where only an equality tells the kind: one.
        let way = |kind: &str, mark: &str| {
            Formula::And(vec![Formula::Equal(var(0), name(kind)), cell(name("3"), var(1), mark)])
        };
        assert_eq!(value(&[0], Formula::Or(vec![way("1", "x"), way("2", "o")])), Some(1));
        assert_eq!(value(&[0, 1], Formula::Or(vec![way("1", "x"), way("2", "o")])), Some(2));
        // The cells with an x among those that are listed.
        let rows = [("1", "1", "x"), ("2", "3", "x"), ("3", "1", "o")];
        let rows = rows.map(|(column, row, mark)| vec![place(name(column), name(row), mark)]).to_vec();
        let listed = Formula::Member(vec![place(var(0), var(1), "x")], Arc::new(rows));
        assert_eq!(value(&[0, 1], Formula::And(vec![cell(var(0), var(1), "x"), listed])), Some(1));
    }
}
