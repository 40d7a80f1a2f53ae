//! Stratified Datalog with function terms: the meaning of the rules.
//!
//! A [`Database`] holds the rules, compiled for bottom-up evaluation, and the facts they derive. Relations are
//! evaluated when they are asked for, in groups of mutually dependent rules, lower strata first ([`strata`]); recursion is semi-naive: each round
//! joins the newest facts of one literal with everything else. Facts that depend on neither `true` nor `does` are
//! derived once and kept; the others are derived anew for each state.
//!
//! A relation that grows too large for a table, or takes too much work, is turned into a procedure, which derives only the
//! facts that somebody asks for: see [`tabling`].
//!
//! This is the oracle of the project: it favours plain code, and its answers depend neither on the order of rules nor
//! on the order of literals.

mod code;
pub(crate) mod distribute;
mod eval;
mod plan;
mod strata;
mod table;
mod tabling;
mod terms;

use std::fmt;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

pub use terms::{TermId, Terms};

use crate::program::{Formula, Program, Relation, Rule, RuleId, Term};
use crate::stop::Stop;
use crate::symbol::{Symbols, keyword};
use code::Code;
use eval::{Bounds, Broken, Evaluation, Frame, Sink, Spent, fact_bytes};
use plan::{Catalog, Goal, Step, Value, VarSet};
use table::{Pattern, Rows, Table};
use tabling::{Agenda, Clause, Memo, Procedure};

/// How much work one evaluation may do. The defaults are generous: no known game comes near them.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Facts held at one time.
    pub facts: usize,
    /// Bytes of facts and terms, estimated.
    pub bytes: usize,
    /// Matches tried since the last [`Database::set_state`] or [`Database::set_moves`].
    pub work: u64,
    /// How deep a term may be nested.
    pub term_depth: u32,
    /// How many names may be in a term, repeats included.
    pub term_size: u32,
    /// Facts of one relation that depends on the state, beyond which it is no longer derived completely in each state:
    /// it becomes a procedure that derives the facts that are asked for; likewise beyond [`WORK_PER_FACT`] times as
    /// many matches. Answers are the same; large tables cost time and memory, procedures cost more for each fact. This
    /// and `static_table` are no budgets: nothing is exceeded.
    pub table: usize,
    /// The same for relations that do not depend on the state, and are derived once: facts of all of them together,
    /// but for each at least `table`.
    pub static_table: usize,
    /// Ends an evaluation before its time.
    pub stop: Stop,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            facts: 20_000_000,
            bytes: 4 << 30,
            work: 20_000_000_000,
            term_depth: 256,
            term_size: 10_000,
            table: 20_000,
            static_table: 300_000,
            stop: Stop::never(),
        }
    }
}

/// Matches tried for each fact that a table may have, beyond which its relation is evaluated on demand.
pub const WORK_PER_FACT: u64 = 50;

/// The part of [`Limits::work`] after which rules with relations on demand are evaluated in the order in which their
/// author wrote the literals: estimates may be wrong, and an author who had a prover at hand has tried that order.
const PATIENCE: u64 = 100;

/// Which budget ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// [`Limits::facts`].
    Facts,
    /// [`Limits::bytes`].
    Bytes,
    /// [`Limits::work`].
    Work,
    /// [`Limits::term_depth`].
    TermDepth,
    /// [`Limits::term_size`].
    TermSize,
    /// The caller's own: [`Limits::stop`].
    Stopped,
}

/// An evaluation that ran over a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The budget.
    pub resource: Resource,
    /// Its size.
    pub limit: u64,
    /// The rule that was being evaluated.
    pub rule: RuleId,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource {
            Resource::Facts => write!(f, "over the budget of {} facts", self.limit),
            Resource::Bytes => write!(f, "over the memory budget of {} MiB", self.limit >> 20),
            Resource::Work => write!(f, "over the work budget of {} matches", self.limit),
            Resource::TermDepth => write!(f, "a term is nested more than {} deep", self.limit),
            Resource::TermSize => write!(f, "a term has more than {} names in it", self.limit),
            Resource::Stopped => write!(f, "stopped before it was done"),
        }
    }
}

impl std::error::Error for Exceeded {}

/// Why a program can't be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unevaluable {
    /// A rule's head has a variable that its body does not bind.
    UnsafeHead(RuleId),
    /// A relation depends on its own negation, through this rule.
    Unstratified(RuleId),
    /// A rule has too many literals, or too many combinations of disjunctions that share variables.
    TooComplex(RuleId),
}

const TRUE: Relation = Relation { name: keyword::TRUE, arity: 1 };
const DOES: Relation = Relation { name: keyword::DOES, arity: 2 };
const ROLE: Relation = Relation { name: keyword::ROLE, arity: 1 };

/// What facts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Static,
    State,
    Moves,
}

/// Rules that depend on each other, evaluated together.
#[derive(Clone, Debug)]
struct Group {
    rules: Vec<usize>,
    /// The tables that the rules add to.
    tables: Vec<usize>,
    level: Level,
    recursive: bool,
    done: bool,
    /// The groups that the rules read from, itself excluded. All have smaller numbers.
    below: Vec<usize>,
    /// Sizes of the tables that the rules read, when the plans were made.
    planned_at: Vec<(usize, usize)>,
    n_plannings: u32,
    /// In a recursion, for each of the tables the rules that read it, and the number of the literal.
    readers: Vec<Vec<(usize, usize)>>,
}

impl Group {
    fn new(rules: Vec<usize>, tables: Vec<usize>, level: Level, recursive: bool, below: Vec<usize>) -> Group {
        let (planned_at, readers) = (Vec::new(), Vec::new());
        Group { rules, tables, level, recursive, done: false, below, planned_at, n_plannings: 0, readers }
    }
}

#[derive(Clone, Debug)]
struct Planned {
    rule: RuleId,
    table: usize,
    /// The body, where it is not the one that the program has: see [`distribute`].
    body: Option<std::sync::Arc<[Formula]>>,
    head: Vec<Value>,
    /// The plan over all facts, then one for each occurrence of a relation of the same group.
    full: Code,
    by_newest: Vec<Code>,
    /// Whether a plan calls a procedure.
    calls: bool,
}

impl Planned {
    /// A rule that waits for its plans.
    fn new(rule: RuleId, table: usize) -> Planned {
        let (head, full, by_newest) = (Vec::new(), Code::default(), Vec::new());
        Planned { rule, table, body: None, head, full, by_newest, calls: false }
    }
}

/// Rules and the facts that they derive.
#[derive(Clone)]
pub struct Database {
    program: std::sync::Arc<Program>,
    /// Every ground term met so far.
    pub terms: Terms,
    limits: Limits,
    relations: IndexMap<Relation, usize, FxBuildHasher>,
    tables: Vec<Table>,
    levels: Vec<Level>,
    /// The ground facts of each table.
    facts: Vec<Rows>,
    groups: Vec<Group>,
    /// The groups whose rules add to each table.
    groups_of: Vec<Vec<usize>>,
    /// The group after which each table is complete; `None` if it has no rules.
    last_group_of: Vec<Option<usize>>,
    /// For each table that was asked for, that group and all below it, in order.
    needs: Vec<Option<std::sync::Arc<[usize]>>>,
    /// The tables whose rules read each table.
    readers_of: Vec<Vec<usize>>,
    rules: Vec<Planned>,
    /// The rules of each table.
    rules_of: Vec<Vec<usize>>,
    /// How each table's facts are found.
    modes: Vec<Mode>,
    procedures: Vec<Procedure>,
    /// Their numbers, by table and known arguments.
    procedures_by_key: rustc_hash::FxHashMap<(usize, Vec<bool>), usize>,
    /// Those that have no plan, or one that is out of date.
    unplanned: Vec<usize>,
    memos: Vec<Memo>,
    /// What calls of on-demand relations are expected to find, by table and known arguments.
    estimates: rustc_hash::FxHashMap<(usize, Vec<bool>), f64>,
    /// How many estimates are being made, one for another.
    estimating: u32,
    /// Whether rules with relations on demand are evaluated in the order in which they are written.
    as_written: bool,
    /// Whether a table may have changed since the procedures' indices were brought up to date.
    procedures_stale: bool,
    spent: Spent,
    /// Facts of relations that don't depend on the state.
    n_static: usize,
    /// What may be used up before the group that is evaluated is better evaluated on demand.
    group_bounds: Spent,
}

/// How the facts of a table are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// All at once; on demand, if that turns out too large.
    Complete,
    /// All at once, whatever the size: calls were nested too deeply, or the engine asks for the whole table.
    AlwaysComplete,
    /// By procedures.
    OnDemand,
}

impl Database {
    /// Compiles a program. Rules of relations that nothing asks for cost nothing.
    pub fn new(program: std::sync::Arc<Program>, limits: Limits) -> Result<Database, Unevaluable> {
        let mut database = Database {
            terms: Terms::default(),
            limits,
            relations: IndexMap::default(),
            tables: Vec::new(),
            levels: Vec::new(),
            facts: Vec::new(),
            groups: Vec::new(),
            groups_of: Vec::new(),
            last_group_of: Vec::new(),
            needs: Vec::new(),
            readers_of: Vec::new(),
            rules: Vec::new(),
            rules_of: Vec::new(),
            modes: Vec::new(),
            procedures: Vec::new(),
            procedures_by_key: rustc_hash::FxHashMap::default(),
            unplanned: Vec::new(),
            memos: Vec::new(),
            estimates: rustc_hash::FxHashMap::default(),
            estimating: 0,
            as_written: false,
            procedures_stale: false,
            spent: Spent::default(),
            n_static: 0,
            group_bounds: Spent::default(),
            program: program.clone(),
        };
        for relation in [TRUE, DOES, ROLE] {
            database.table(relation);
        }
        for (index, rule) in program.rules.iter().enumerate() {
            let table = database.table(rule.head.relation());
            rule.for_each_body_atom(|atom, _| _ = database.table(atom.relation()));
            if rule.body.is_empty() && rule.head.args.iter().all(Term::is_ground) {
                let row: Vec<TermId> = rule.head.args.iter().map(|arg| database.ground(arg)).collect();
                database.facts[table].insert(&row);
                continue;
            }
            let bound = rule.bound_by_body();
            let implicit_role = rule.implicit_role();
            let mut safe = true;
            for arg in &rule.head.args {
                arg.for_each_var(&mut |var| safe &= bound.contains(&var) || implicit_role == Some(var));
            }
            let rule = RuleId(index as u32);
            if !safe {
                return Err(Unevaluable::UnsafeHead(rule));
            }
            let body = distributed_body(&program.rules[index]).map_err(|_| Unevaluable::TooComplex(rule))?;
            database.rules.push(Planned { body: body.map(Into::into), ..Planned::new(rule, table) });
        }
        database.rules_of = vec![Vec::new(); database.tables.len()];
        for (index, planned) in database.rules.iter().enumerate() {
            database.rules_of[planned.table].push(index);
        }
        database.stratify()?;
        database.forget(Level::Static);
        Ok(database)
    }

    fn ground(&mut self, term: &Term) -> TermId {
        match term {
            Term::Var(_) => unreachable!("the term is ground"),
            Term::Const(name) => self.terms.intern(*name, &[]),
            Term::Func(name, args) => {
                let args: Vec<TermId> = args.iter().map(|arg| self.ground(arg)).collect();
                self.terms.intern(*name, &args)
            }
        }
    }

    /// The program it was made from.
    pub fn program(&self) -> &Program {
        &self.program
    }

    fn table(&mut self, relation: Relation) -> usize {
        let next = self.tables.len();
        let table = *self.relations.entry(relation).or_insert(next);
        if table == next {
            self.tables.push(Table::new(relation.arity as usize));
            self.facts.push(Rows::new(relation.arity as usize));
            self.modes.push(if Symbols::is_keyword(relation.name) { Mode::AlwaysComplete } else { Mode::Complete });
        }
        table
    }

    /// Makes the fluents of a state true, and everything that was derived from another state unknown.
    pub fn set_state(&mut self, fluents: &[TermId]) {
        self.forget(Level::State);
        let table = self.relations[&TRUE];
        for &fluent in fluents {
            self.spent.facts += usize::from(self.tables[table].rows.insert(&[fluent]));
        }
    }

    /// Sets what each role does in the current state.
    pub fn set_moves(&mut self, moves: &[(TermId, TermId)]) {
        self.forget(Level::Moves);
        let table = self.relations[&DOES];
        for &(role, chosen) in moves {
            self.spent.facts += usize::from(self.tables[table].rows.insert(&[role, chosen]));
        }
    }

    /// Drops the facts that depend on what is about to change.
    fn forget(&mut self, level: Level) {
        self.procedures_stale = true;
        for table in 0..self.tables.len() {
            if self.levels[table] >= level {
                self.reset_table(table);
            }
        }
        self.groups.iter_mut().filter(|group| group.level >= level).for_each(|group| group.done = false);
        for (procedure, memo) in self.procedures.iter().zip(&mut self.memos) {
            if self.levels[procedure.table] >= level {
                memo.clear();
            }
        }
        let rows = self.tables.iter().map(|table| &table.rows);
        self.spent = Spent {
            work: 0,
            facts: rows.clone().map(Rows::len).chain(self.memos.iter().map(|memo| memo.n_answers)).sum(),
            bytes: rows.map(Rows::bytes).chain(self.memos.iter().map(|memo| memo.bytes)).sum(),
        };
    }

    /// All facts of a relation in the current state, one after another in a flat slice of `arity` terms each, in the
    /// order in which they were derived. Empty for a relation that the rules don't have.
    pub fn facts(&mut self, relation: Relation) -> Result<Vec<Vec<TermId>>, Exceeded> {
        let Some(table) = self.evaluate(relation)? else { return Ok(Vec::new()) };
        let rows = &self.tables[table].rows;
        Ok((0..rows.len()).map(|index| rows.row(index).to_vec()).collect())
    }

    /// Whether the relation has any fact in the current state.
    pub fn holds_any(&mut self, relation: Relation) -> Result<bool, Exceeded> {
        Ok(self.evaluate(relation)?.is_some_and(|table| self.tables[table].rows.len() > 0))
    }

    /// Calls `visit` with each fact of a relation in the current state.
    pub fn for_each(&mut self, relation: Relation, mut visit: impl FnMut(&[TermId])) -> Result<(), Exceeded> {
        if let Some(table) = self.evaluate(relation)? {
            let rows = &self.tables[table].rows;
            (0..rows.len()).for_each(|index| visit(rows.row(index)));
        }
        Ok(())
    }

    /// Finds the facts of these relations on demand from now on, as [`Database::solve`] does; for relations that nobody
    /// asks for as a whole.
    pub fn find_on_demand(&mut self, relations: impl IntoIterator<Item = Relation>) {
        for relation in relations {
            if let Some(&table) = self.relations.get(&relation) {
                self.change_mode(table, Mode::OnDemand);
            }
        }
    }

    /// Derives these relations as tables from now on, however large.
    pub fn want_whole(&mut self, relations: impl IntoIterator<Item = Relation>) {
        for relation in relations {
            if let Some(&table) = self.relations.get(&relation) {
                self.want_all(table);
            }
        }
    }

    /// Derives the whole relation.
    pub fn complete(&mut self, relation: Relation) -> Result<(), Exceeded> {
        self.evaluate(relation).map(|_| ())
    }

    /// Appends to `rows` the facts of a relation that is found on demand and whose first arguments are `key`: for each
    /// fact its remaining arguments, one after another. Returns their number.
    pub fn solve(&mut self, relation: Relation, key: &[TermId], rows: &mut Vec<TermId>) -> Result<usize, Exceeded> {
        let Some(&table) = self.relations.get(&relation) else { return Ok(0) };
        let known: Vec<bool> = (0..relation.arity as usize).map(|index| index < key.len()).collect();
        loop {
            self.evaluate_below(table)?;
            let procedure = self.procedure(table, &known).expect("the relation is found on demand");
            let outcome = self.answer(procedure, key, rows);
            // Nobody else calls this procedure, so what it found need not be remembered.
            self.clear_memo(procedure);
            match outcome {
                Ok(count) => return Ok(count),
                Err(broken) => self.recover(broken)?,
            }
        }
    }

    fn answer(&mut self, procedure: usize, key: &[TermId], rows: &mut Vec<TermId>) -> Result<usize, Broken> {
        self.plan_procedures()?;
        self.catch_up_procedures();
        let bounds = self.bounds(None);
        Evaluation {
            tables: &self.tables,
            terms: &mut self.terms,
            procedures: &self.procedures,
            memos: &mut self.memos,
            newest: &|_| 0..0,
            rule: RuleId(0),
            sink: Sink::Table { table: self.procedures[procedure].table, head: &[] },
            fresh: &mut Rows::new(0),
            fresh_limit: usize::MAX,
            bounds,
            limits: &self.limits,
            spent: &mut self.spent,
            frame: Frame::default(),
            agenda: Agenda::default(),
            depth: 0,
        }
        .answer(procedure, key, rows)
    }

    /// How many facts are held.
    pub fn n_facts(&self) -> usize {
        self.spent.facts
    }

    /// Derives all facts of a relation and returns its table.
    fn evaluate(&mut self, relation: Relation) -> Result<Option<usize>, Exceeded> {
        let Some(&table) = self.relations.get(&relation) else { return Ok(None) };
        self.want_all(table);
        self.evaluate_below(table)?;
        Ok(Some(table))
    }

    /// Makes sure that the table will be a complete one.
    fn want_all(&mut self, table: usize) {
        match self.modes[table] {
            Mode::OnDemand => self.change_mode(table, Mode::AlwaysComplete),
            Mode::Complete => self.set_mode(table, Mode::AlwaysComplete),
            Mode::AlwaysComplete => {}
        }
    }

    /// Evaluates all groups that a table needs, those of its own rules included.
    fn evaluate_below(&mut self, table: usize) -> Result<(), Exceeded> {
        let needs = self.needs(table);
        let mut index = 0;
        while let Some(&needed) = needs.get(index) {
            index += 1;
            if !self.groups[needed].done {
                match self.evaluate_group(needed) {
                    Ok(()) => self.groups[needed].done = true,
                    Err(broken) => {
                        self.recover(broken)?;
                        index = 0;
                    }
                }
            }
        }
        Ok(())
    }

    /// After an evaluation that broke off: finds the facts of the table that was the reason in another way, if there is
    /// one. The evaluation must be started again.
    fn recover(&mut self, broken: Broken) -> Result<(), Exceeded> {
        match broken {
            Broken::Exceeded(resource, limit, rule) => {
                // Calls that were under way must not be taken for answered ones.
                self.clear_memos();
                return Err(Exceeded { resource, limit, rule });
            }
            Broken::TooLarge { table } => self.change_mode(table, Mode::OnDemand),
            Broken::TooSlow => {
                self.as_written = true;
                self.clear_memos();
                self.groups.iter_mut().for_each(|group| group.n_plannings = 0);
                self.unplanned = (0..self.procedures.len()).collect();
            }
            Broken::TooDeep { table } => self.change_mode(table, Mode::AlwaysComplete),
        }
        Ok(())
    }

    /// Changes how the facts of a table, and of all tables in a recursion with it, are found. What was derived from them
    /// stays true; plans that read them are out of date.
    fn change_mode(&mut self, table: usize, mode: Mode) {
        self.set_mode(table, mode);
        let Some(&group) = self.groups_of[table].first() else { return };
        self.groups[group].done = false;
        self.clear_memos();
        self.estimates.clear();
        let mut readers = Vec::new();
        for index in 0..self.groups[group].tables.len() {
            let table = self.groups[group].tables[index];
            self.reset_table(table);
            readers.extend_from_slice(&self.readers_of[table]);
        }
        readers.sort_unstable();
        readers.dedup();
        for reader in readers.iter().flat_map(|&reader| &self.groups_of[reader]) {
            self.groups[*reader].n_plannings = 0;
        }
        let stale = |number: &usize| readers.binary_search(&self.procedures[*number].table).is_ok();
        self.unplanned.extend((0..self.procedures.len()).filter(stale));
    }

    fn clear_memos(&mut self) {
        (0..self.memos.len()).for_each(|procedure| self.clear_memo(procedure));
    }

    fn clear_memo(&mut self, procedure: usize) {
        let memo = &mut self.memos[procedure];
        self.spent.facts -= memo.n_answers;
        self.spent.bytes -= memo.bytes;
        memo.clear();
    }

    fn set_mode(&mut self, table: usize, mode: Mode) {
        self.modes[table] = mode;
        if let [group] = self.groups_of[table][..] {
            self.groups[group].tables.iter().for_each(|&table| self.modes[table] = mode);
        }
    }

    /// Drops the facts that rules have derived.
    fn reset_table(&mut self, table: usize) {
        self.procedures_stale = true;
        let (rows, facts) = (&mut self.tables[table], &self.facts[table]);
        let (dropped, arity) = (rows.rows.len().saturating_sub(facts.len()), rows.rows.arity);
        self.spent.facts = self.spent.facts.saturating_sub(dropped);
        self.spent.bytes = self.spent.bytes.saturating_sub(dropped * fact_bytes(arity));
        if self.levels[table] == Level::Static {
            self.n_static = self.n_static.saturating_sub(dropped);
        }
        rows.clear();
        (0..facts.len()).for_each(|index| _ = rows.rows.insert(facts.row(index)));
    }

    /// Counts work that is no match: planning, and runs that may find nothing to do.
    fn spend(&mut self, work: usize, rule: RuleId) -> Result<(), Broken> {
        let before = self.spent.work;
        self.spent.work += work as u64;
        if self.spent.work > self.limits.work {
            return Err(Broken::Exceeded(Resource::Work, self.limits.work, rule));
        }
        if before / 4096 != self.spent.work / 4096 && self.limits.stop.is_raised() {
            return Err(Broken::Exceeded(Resource::Stopped, 0, rule));
        }
        Ok(())
    }

    fn evaluate_group(&mut self, number: usize) -> Result<(), Broken> {
        // The tables of a group have the same mode.
        if self.groups[number].tables.iter().any(|&table| self.modes[table] == Mode::OnDemand) {
            return Ok(());
        }
        self.plan_group(number)?;
        let allowed = self.groups[number].tables.first().map_or(usize::MAX, |&table| self.table_limit(table));
        let work =
            (allowed as u64).saturating_mul(WORK_PER_FACT).saturating_add(self.groups[number].rules.len() as u64);
        self.group_bounds = Spent {
            work: self.spent.work.saturating_add(work),
            // The answers of procedures that its rules call are counted, too.
            facts: self.spent.facts.saturating_add(allowed.saturating_mul(2)),
            bytes: 0,
        };
        let rules = std::mem::take(&mut self.groups[number].rules);
        let result = self.run_rules(number, &rules);
        self.groups[number].rules = rules;
        result
    }

    /// How many facts a table may have before it is better evaluated on demand.
    fn table_limit(&self, table: usize) -> usize {
        match (self.modes[table], self.levels[table]) {
            (Mode::AlwaysComplete, _) => usize::MAX,
            (_, Level::Static) => {
                let own = self.tables[table].rows.len() - self.facts[table].len();
                let others = self.n_static.saturating_sub(own);
                self.limits.table.max(self.limits.static_table.saturating_sub(others))
            }
            _ => self.limits.table,
        }
    }

    /// How much an evaluation may use up: `table` is what it derives facts of.
    fn bounds(&self, table: Option<usize>) -> Bounds {
        let Limits { work, facts, .. } = self.limits;
        let exceeded = |resource, limit| Broken::Exceeded(resource, limit, RuleId(0));
        let mut bounds = Bounds {
            work: (work, exceeded(Resource::Work, work)),
            facts: (facts, exceeded(Resource::Facts, facts as u64)),
        };
        if !self.as_written && !self.procedures.is_empty() {
            bounds.work = (work / PATIENCE, Broken::TooSlow);
        }
        if let Some(table) = table.filter(|&table| self.modes[table] == Mode::Complete) {
            let too_large = Broken::TooLarge { table };
            if self.group_bounds.work < bounds.work.0 {
                bounds.work = (self.group_bounds.work, too_large);
            }
            if self.group_bounds.facts < facts {
                bounds.facts = (self.group_bounds.facts, too_large);
            }
        }
        bounds
    }

    fn run_rules(&mut self, number: usize, rules: &[usize]) -> Result<(), Broken> {
        if !self.groups[number].recursive {
            return rules.iter().try_for_each(|&rule| self.run(rule, None, &|_| 0..0));
        }
        let (tables, readers) = (self.groups[number].tables.clone(), std::mem::take(&mut self.groups[number].readers));
        let outcome = self.run_rounds(rules, &tables, &readers);
        self.groups[number].readers = readers;
        outcome
    }

    /// Semi-naive evaluation of rules that depend on each other. `readers` are, for each of the tables, the rules that read
    /// it and the number of the literal.
    fn run_rounds(&mut self, rules: &[usize], tables: &[usize], readers: &[Vec<(usize, usize)>]) -> Result<(), Broken> {
        let position = |table| tables.binary_search(&table).expect("a table of the group");
        // Step 1. Each rule once, over all facts.
        let mut newest: Vec<_> = tables.iter().map(|&table| self.tables[table].rows.len()..0).collect();
        rules.iter().try_for_each(|&rule| self.run(rule, None, &|_| 0..0))?;
        newest.iter_mut().zip(tables).for_each(|(newest, &table)| newest.end = self.tables[table].rows.len());
        // Step 2. Rounds, until no rule finds a new fact. What a round adds is the next round's newest.
        let mut changed: Vec<usize> = (0..tables.len()).filter(|&table| !newest[table].is_empty()).collect();
        while !changed.is_empty() {
            let mut to_run: Vec<(usize, usize)> = changed.iter().flat_map(|&table| &readers[table]).copied().collect();
            to_run.sort_unstable();
            for &(rule, literal) in &to_run {
                self.run(rule, Some(literal), &|table| newest[position(table)].clone())?;
            }
            changed.extend(to_run.iter().map(|&(rule, _)| position(self.rules[rule].table)));
            changed.sort_unstable();
            changed.dedup();
            for &table in &changed {
                newest[table] = newest[table].end..self.tables[tables[table]].rows.len();
            }
            changed.retain(|&table| !newest[table].is_empty());
        }
        Ok(())
    }

    fn run(
        &mut self,
        rule: usize,
        occurrence: Option<usize>,
        newest: &dyn Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<(), Broken> {
        self.spend(1, self.rules[rule].rule)?;
        if self.rules[rule].calls {
            self.plan_procedures()?;
            let n_procedures = if self.procedures_stale { self.procedures.len() } else { 0 };
            self.spend(n_procedures, self.rules[rule].rule)?;
            self.catch_up_procedures();
        }
        let planned = std::mem::replace(&mut self.rules[rule], Planned::new(RuleId(0), 0));
        let code = occurrence.map_or(&planned.full, |index| &planned.by_newest[index]);
        self.catch_up(code);
        let table = planned.table;
        let mut fresh = Rows::new(self.tables[table].rows.arity);
        let (fresh_limit, bounds) = (self.table_limit(table), self.bounds(Some(table)));
        let outcome = Evaluation {
            tables: &self.tables,
            terms: &mut self.terms,
            procedures: &self.procedures,
            memos: &mut self.memos,
            newest,
            rule: planned.rule,
            sink: Sink::Table { table, head: &planned.head },
            fresh: &mut fresh,
            fresh_limit,
            bounds,
            limits: &self.limits,
            spent: &mut self.spent,
            frame: Frame::default(),
            agenda: Agenda::default(),
            depth: 0,
        }
        .run(code, self.program.rules[planned.rule.0 as usize].variables.len());
        self.rules[rule] = planned;
        if self.levels[table] == Level::Static {
            self.n_static += fresh.len();
        }
        self.procedures_stale |= fresh.len() > 0;
        self.tables[table].rows.absorb(&mut fresh);
        outcome
    }

    fn catch_up(&mut self, code: &Code) {
        for step in code.steps() {
            if let Step::Scan { table, index, .. } = step {
                self.tables[*table].catch_up(*index, &self.terms);
            }
        }
    }

    /// Brings the indices that procedures read up to date.
    fn catch_up_procedures(&mut self) {
        if !std::mem::take(&mut self.procedures_stale) {
            return;
        }
        let procedures = std::mem::take(&mut self.procedures);
        for clause in procedures.iter().flat_map(|procedure| &procedure.clauses) {
            self.catch_up(&clause.code);
        }
        self.procedures = procedures;
    }

    /// Plans the rules of a group for the sizes that the tables have now, unless the plans at hand were made for
    /// similar sizes.
    fn plan_group(&mut self, number: usize) -> Result<(), Broken> {
        let group = &self.groups[number];
        let stale = group.planned_at.iter().any(|&(table, size)| {
            let now = self.tables[table].rows.len();
            now > 32 && (now > 4 * size || now < size / 16)
        });
        if group.n_plannings > 0 && !(stale && group.n_plannings < 6) {
            return Ok(());
        }
        let program = self.program.clone();
        let mut read: Vec<usize> = Vec::new();
        let mut readers = vec![Vec::new(); self.groups[number].tables.len()];
        for index in 0..self.groups[number].rules.len() {
            let rule = self.groups[number].rules[index];
            let ast = &program.rules[self.rules[rule].rule.0 as usize];
            ast.for_each_body_atom(|atom, _| read.push(self.relations[&atom.relation()]));
            let occurrences = self.plan_rule(number, rule, ast)?;
            for (literal, table) in occurrences.into_iter().enumerate() {
                let position = self.groups[number].tables.binary_search(&table).expect("a table of the group");
                readers[position].push((rule, literal));
            }
        }
        read.sort_unstable();
        read.dedup();
        let group = &mut self.groups[number];
        group.planned_at = read
            .into_iter()
            .filter(|table| group.tables.binary_search(table).is_err())
            .map(|table| (table, self.tables[table].rows.len()))
            .collect();
        group.n_plannings += 1;
        group.readers = readers;
        Ok(())
    }

    /// Plans a rule; returns the tables of the literals that are read from the newest facts.
    fn plan_rule(&mut self, group: usize, number: usize, rule: &Rule) -> Result<Vec<usize>, Broken> {
        let mut occurrences = Vec::new();
        let body = self.rules[number].body.clone();
        let body = body.as_deref().unwrap_or(&rule.body);
        let mut goals = self.goals(body, Some(group), &mut occurrences);
        self.spend((1 + goals.len()) * (1 + occurrences.len()), self.rules[number].rule)?;
        let role_variable = rule.implicit_role().map(|var| [Term::Var(var)]);
        self.add_role_goal(&role_variable, &mut goals);
        let mut needed = VarSet::default();
        rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| needed.insert(var)));
        let mut plan = |newest| {
            let steps = plan::plan(self, &goals, &needed, newest);
            // A head without variables is derived at most once.
            let steps = if needed.is_empty() && !goals.is_empty() { vec![Step::Exists(steps)] } else { steps };
            Code::new(steps, &|_| false)
        };
        let full = plan(None);
        let by_newest: Vec<_> = (0..occurrences.len()).map(|occurrence| plan(Some(occurrence as u32))).collect();
        let calls = full.calls() || by_newest.iter().any(Code::calls);
        let head = plan::head_values(self, &rule.head.args);
        let planned = &mut self.rules[number];
        *planned = Planned { head, full, by_newest, calls, body: planned.body.take(), ..*planned };
        Ok(occurrences)
    }

    /// Plans the procedures that plans have asked for, and those that their plans ask for.
    fn plan_procedures(&mut self) -> Result<(), Broken> {
        let program = self.program.clone();
        while let Some(number) = self.unplanned.pop() {
            let Procedure { table, ref known, recursion, .. } = self.procedures[number];
            let known = known.clone();
            let mut clauses = Vec::new();
            if self.facts[table].len() > 0 {
                clauses.push(self.clause_of_facts(table, &known));
            }
            for position in 0..self.rules_of[table].len() {
                let index = self.rules_of[table][position];
                let id = self.rules[index].rule;
                let rule = &program.rules[id.0 as usize];
                let body = self.rules[index].body.clone();
                let mut goals = self.goals(body.as_deref().unwrap_or(&rule.body), None, &mut Vec::new());
                self.spend(1 + goals.len(), id)?;
                let role_variable = rule.implicit_role().map(|var| [Term::Var(var)]);
                self.add_role_goal(&role_variable, &mut goals);
                let first_key_slot = rule.variables.len();
                let (steps, head) = plan::plan_procedure(self, goals, &rule.head.args, &known, first_key_slot as u32);
                let n_slots = first_key_slot + known.iter().filter(|known| **known).count();
                let waits = |other: usize| recursion.is_some() && self.procedures[other].recursion == recursion;
                let code = Code::new(steps, &waits);
                clauses.push(Clause { rule: id, n_slots, first_key_slot, code, head });
            }
            self.procedures[number].clauses = clauses;
            self.procedures_stale = true;
        }
        Ok(())
    }

    /// How many facts a call of a relation on demand is expected to find.
    fn estimate(&mut self, table: usize, known: Vec<bool>) -> f64 {
        /// How many estimates may wait for each other, which a chain of relations could go on with.
        const MAX_DEPTH: u32 = 3;
        let n_open = known.iter().filter(|known| !**known).count();
        let guess = 1000f64.powf(n_open as f64 / known.len().max(1) as f64);
        let key = (table, known);
        if let Some(&estimate) = self.estimates.get(&key) {
            return estimate;
        }
        if self.estimating >= MAX_DEPTH {
            return guess;
        }
        // What a recursion asks of itself is guessed.
        self.estimates.insert(key.clone(), guess);
        self.estimating += 1;
        let program = self.program.clone();
        let mut sum = self.facts[table].len() as f64;
        for position in 0..self.rules_of[table].len() {
            let index = self.rules_of[table][position];
            let rule = &program.rules[self.rules[index].rule.0 as usize];
            let body = self.rules[index].body.clone();
            let mut goals = self.goals(body.as_deref().unwrap_or(&rule.body), None, &mut Vec::new());
            let role_variable = rule.implicit_role().map(|var| [Term::Var(var)]);
            self.add_role_goal(&role_variable, &mut goals);
            self.spent.work += 1 + goals.len() as u64;
            sum += plan::estimate(self, goals, &rule.head.args, &key.1);
        }
        self.estimating -= 1;
        self.estimates.insert(key, sum);
        sum
    }

    /// A clause that answers with the facts of a relation. The table of a procedure holds nothing else.
    fn clause_of_facts(&mut self, table: usize, known: &[bool]) -> Clause {
        let patterns: Vec<Pattern> =
            known.iter().map(|&known| if known { Pattern::Key } else { Pattern::Out }).collect();
        let n_slots = known.len() as u32;
        let n_known = known.iter().filter(|known| **known).count() as u32;
        let key = (0..n_known).map(Value::Slot).collect();
        let out: Vec<u32> = (n_known..n_slots).collect();
        let head = out.iter().copied().map(Value::Slot).collect();
        let steps = vec![Step::Scan { table, index: self.tables[table].index_for(&patterns), key, out }];
        let code = Code::new(steps, &|_| false);
        Clause { rule: RuleId(0), n_slots: n_slots as usize, first_key_slot: 0, code, head }
    }

    fn add_role_goal<'a>(&self, role_variable: &'a Option<[Term; 1]>, goals: &mut Vec<Goal<'a>>) {
        if let Some(args) = role_variable {
            goals.push(Goal::Atom { table: self.relations[&ROLE], args, occurrence: u32::MAX });
        }
    }

    /// The goals of a body. Positive literals of the relations of `group` are numbered; their tables are appended to
    /// `occurrences`.
    fn goals<'a>(&self, body: &'a [Formula], group: Option<usize>, occurrences: &mut Vec<usize>) -> Vec<Goal<'a>> {
        let mut goals = Vec::new();
        for formula in body {
            match formula {
                Formula::Atom(atom) => {
                    let table = self.relations[&atom.relation()];
                    let mut occurrence = u32::MAX;
                    if group.is_some_and(|group| self.groups[group].tables.binary_search(&table).is_ok()) {
                        occurrence = occurrences.len() as u32;
                        occurrences.push(table);
                    }
                    goals.push(Goal::Atom { table, args: &atom.args, occurrence });
                }
                Formula::Distinct(left, right, _) => goals.push(Goal::Distinct(left, right)),
                Formula::Not(inner, _) => {
                    goals.push(Goal::Not(self.goals(std::slice::from_ref(inner), None, occurrences)));
                }
                Formula::And(parts, _) => goals.extend(self.goals(parts, group, occurrences)),
                Formula::Or(parts, _) => {
                    let branch = |part| self.goals(std::slice::from_ref(part), group, occurrences);
                    goals.push(Goal::Or(parts.iter().map(branch).collect()));
                }
            }
        }
        goals
    }
}

/// How many literals and connectives a rule may have: planning takes time that grows with their cube. The largest
/// known rule has 203.
pub(crate) const MAX_LITERALS: usize = 500;
/// How many names and variables.
pub(crate) const MAX_NAMES: usize = 10_000;

/// What a rule has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Literals(usize),
    Names(usize),
    Combinations,
}

/// The body as it is evaluated, or why it can't be: see [`distribute`].
pub(crate) fn distributed_body(rule: &Rule) -> Result<Option<Vec<Formula>>, Excess> {
    let Rule { head, body, .. } = rule;
    let n_names = head.args.iter().map(Term::size).chain(body.iter().map(Formula::n_names)).sum::<usize>();
    if n_names > MAX_NAMES {
        return Err(Excess::Names(n_names));
    }
    let n_literals = body.iter().map(distribute::size).sum::<usize>();
    if n_literals > MAX_LITERALS {
        return Err(Excess::Literals(n_literals));
    }
    distribute::distribute(body).map_err(|_| Excess::Combinations)
}

impl Catalog for Database {
    fn intern(&mut self, name: crate::symbol::SymbolId, args: &[TermId]) -> TermId {
        self.terms.intern(name, args)
    }

    fn index(&mut self, table: usize, patterns: &[Pattern]) -> usize {
        self.tables[table].index_for(patterns)
    }

    fn fan_out(&mut self, table: usize, patterns: &[Pattern]) -> f64 {
        if self.modes[table] == Mode::OnDemand {
            let known: Vec<bool> = patterns.iter().map(|pattern| *pattern == Pattern::Key).collect();
            return self.estimate(table, known);
        }
        let (mut known, mut open) = (0.0, 0.0);
        for pattern in patterns {
            pattern.count(&mut known, &mut open);
        }
        let guess = |size: f64| size.powf(open / f64::max(known + open, 1.0));
        // What a table holds now says little of later states, unless it is the same in all of them. The more of a
        // literal is known, the better.
        let now = self.tables[table].fan_out(patterns, &self.terms);
        match (self.levels[table], now) {
            (Level::Static, Some(now)) => now,
            (_, Some(now)) => now.max(0.25 * guess(100.0)),
            _ => guess(100.0),
        }
    }

    fn is_as_written(&self, table: usize) -> bool {
        self.as_written && self.modes[table] == Mode::OnDemand
    }

    fn procedure(&mut self, table: usize, known: &[bool]) -> Option<usize> {
        if self.modes[table] != Mode::OnDemand {
            return None;
        }
        let next = self.procedures.len();
        let number = *self.procedures_by_key.entry((table, known.to_vec())).or_insert(next);
        if number == next {
            let recursion = self.groups_of[table].first().copied().filter(|&group| self.groups[group].recursive);
            self.procedures.push(Procedure { table, known: known.to_vec(), clauses: Vec::new(), recursion });
            let n_known = known.iter().filter(|known| **known).count();
            self.memos.push(Memo::new(n_known, known.len() - n_known));
            self.unplanned.push(number);
        }
        Some(number)
    }
}
