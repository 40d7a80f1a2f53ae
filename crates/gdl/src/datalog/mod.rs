//! Stratified Datalog with function terms: the meaning of the rules.
//!
//! A [`Database`] holds the rules, compiled for bottom-up evaluation, and the facts they derive. Relations are
//! evaluated on demand, in groups of mutually dependent rules, lower strata first; recursion is semi-naive: each round
//! joins the newest facts of one literal with everything else. Facts that depend on neither `true` nor `does` are
//! derived once and kept; the others are derived anew for each state.
//!
//! A relation that grows too large for a table is turned into a procedure, which derives only the facts that somebody
//! asks for: see [`eval`].
//!
//! A rule depends on the rules whose heads unify with its literals. That is finer than a dependency between relations:
//! `(<= (goal ?r 100) (not (goal ?r 0)))`, which real games have, is stratified in this sense.
//!
//! This is the oracle of the project: it favours plain code, and its answers depend neither on the order of rules nor
//! on the order of literals.

mod eval;
mod plan;
mod table;
mod terms;

use std::fmt;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

pub use terms::{TermId, Terms};

use crate::program::{Atom, Formula, Program, Relation, Rule, RuleId, Term};
use crate::symbol::{Symbols, keyword};
use eval::{Broken, Clause, Evaluation, Frame, Memo, Procedure, Sink, Tabling};
use plan::{Catalog, Goal, Step, Value, VarSet};
use table::{Pattern, Rows, Table};

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
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { facts: 20_000_000, bytes: 4 << 30, work: 20_000_000_000, term_depth: 256 }
    }
}

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
    /// The caller's own: see [`Database::set_interrupt`].
    Interrupted,
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
            Resource::Interrupted => write!(f, "over the time budget"),
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
    /// The groups that must be done before this one, in order, and this one itself.
    needs: Vec<usize>,
    /// Sizes of the tables that the rules read, when the plans were made.
    planned_at: Vec<(usize, usize)>,
    n_plannings: u32,
}

#[derive(Clone, Debug)]
struct Planned {
    rule: RuleId,
    table: usize,
    head: Vec<Value>,
    /// The plan over all facts, then one for each occurrence of a relation of the same group.
    full: Vec<Step>,
    by_newest: Vec<Vec<Step>>,
}

/// Rules and the facts that they derive.
#[derive(Clone)]
pub struct Database {
    program: std::sync::Arc<Program>,
    /// Every ground term met so far.
    pub terms: Terms,
    limits: Limits,
    interrupt: Option<Interrupt>,
    relations: IndexMap<Relation, usize, FxBuildHasher>,
    tables: Vec<Table>,
    levels: Vec<Level>,
    /// The ground facts of each table.
    facts: Vec<Rows>,
    /// The groups whose rules add to each table, with all they need, in order.
    needs: Vec<Vec<usize>>,
    groups: Vec<Group>,
    rules: Vec<Planned>,
    /// How each table's facts are found.
    modes: Vec<Mode>,
    procedures: Vec<Procedure>,
    memos: Vec<Memo>,
    tabling: Tabling,
    work: u64,
    n_facts: usize,
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

/// The number of facts beyond which a table that is derived anew for each state is better evaluated on demand.
const LARGE_TABLE: usize = 20_000;
/// The same for a table that is derived once.
const LARGE_STATIC_TABLE: usize = 2_000_000;

type Interrupt = std::sync::Arc<dyn Fn() -> bool + Send + Sync>;

impl Database {
    /// Compiles a program. Rules of relations that nothing asks for cost nothing.
    pub fn new(program: std::sync::Arc<Program>, limits: Limits) -> Result<Database, Unevaluable> {
        let mut database = Database {
            terms: Terms::default(),
            limits,
            interrupt: None,
            relations: IndexMap::default(),
            tables: Vec::new(),
            levels: Vec::new(),
            facts: Vec::new(),
            needs: Vec::new(),
            groups: Vec::new(),
            rules: Vec::new(),
            modes: Vec::new(),
            procedures: Vec::new(),
            memos: Vec::new(),
            tabling: Tabling::default(),
            work: 0,
            n_facts: 0,
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
            let mut safe = true;
            for arg in &rule.head.args {
                arg.for_each_var(&mut |var| safe &= bound.contains(&var) || rule.implicit_role() == Some(var));
            }
            let rule = RuleId(index as u32);
            if !safe {
                return Err(Unevaluable::UnsafeHead(rule));
            }
            database.rules.push(Planned { rule, table, head: Vec::new(), full: Vec::new(), by_newest: Vec::new() });
        }
        database.find_levels();
        let dependencies = Dependencies::new(&program, &database.rules);
        database.stratify(&dependencies)?;
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

    /// Sets a function that is asked now and then whether to give up.
    pub fn set_interrupt(&mut self, interrupt: impl Fn() -> bool + Send + Sync + 'static) {
        self.interrupt = Some(std::sync::Arc::new(interrupt));
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

    /// Finds what the facts of each table depend on.
    fn find_levels(&mut self) {
        self.levels = vec![Level::Static; self.tables.len()];
        self.levels[self.relations[&TRUE]] = Level::State;
        self.levels[self.relations[&DOES]] = Level::Moves;
        let program = self.program.clone();
        loop {
            let mut changed = false;
            for planned in &self.rules {
                let mut level = self.levels[planned.table];
                program.rules[planned.rule.0 as usize]
                    .for_each_body_atom(|atom, _| level = level.max(self.levels[self.relations[&atom.relation()]]));
                changed |= level != self.levels[planned.table];
                self.levels[planned.table] = level;
            }
            if !changed {
                return;
            }
        }
    }

    /// Finds the groups of mutually dependent rules and the order in which to evaluate them.
    fn stratify(&mut self, dependencies: &Dependencies) -> Result<(), Unevaluable> {
        let components = crate::graph::components(&dependencies.edges);
        let mut group_of = vec![0; self.rules.len()];
        for (number, rules) in components.iter().enumerate() {
            rules.iter().for_each(|&rule| group_of[rule] = number);
        }
        if let Some(&(rule, _)) = dependencies.negative.iter().find(|(from, to)| group_of[*from] == group_of[*to]) {
            return Err(Unevaluable::Unstratified(self.rules[rule].rule));
        }
        for (number, rules) in components.into_iter().enumerate() {
            let mut needs = Vec::new();
            let mut recursive = false;
            for below in rules.iter().flat_map(|&rule| &dependencies.edges[rule]) {
                let group = group_of[*below];
                if group == number {
                    recursive = true;
                } else {
                    needs.extend_from_slice(&self.groups[group].needs);
                }
            }
            // Groups are numbered lower strata first, so ascending order is evaluation order.
            needs.sort_unstable();
            needs.dedup();
            needs.push(number);
            let mut tables: Vec<usize> = rules.iter().map(|&rule| self.rules[rule].table).collect();
            tables.sort_unstable();
            tables.dedup();
            let level = tables.iter().map(|&table| self.levels[table]).max().expect("a group has rules");
            self.groups.push(Group {
                rules,
                tables,
                level,
                recursive,
                done: false,
                needs,
                planned_at: Vec::new(),
                n_plannings: 0,
            });
        }
        self.needs = vec![Vec::new(); self.tables.len()];
        for group in &self.groups {
            for &table in &group.tables {
                self.needs[table].extend_from_slice(&group.needs);
            }
        }
        for needs in &mut self.needs {
            needs.sort_unstable();
            needs.dedup();
        }
        Ok(())
    }

    /// Makes the fluents of a state true, and everything that was derived from another state unknown.
    pub fn set_state(&mut self, fluents: &[TermId]) {
        self.forget(Level::State);
        let table = self.relations[&TRUE];
        for &fluent in fluents {
            self.tables[table].rows.insert(&[fluent]);
        }
    }

    /// Sets what each role does in the current state.
    pub fn set_moves(&mut self, moves: &[(TermId, TermId)]) {
        self.forget(Level::Moves);
        let table = self.relations[&DOES];
        for &(role, chosen) in moves {
            self.tables[table].rows.insert(&[role, chosen]);
        }
    }

    /// Drops the facts that depend on what is about to change.
    fn forget(&mut self, level: Level) {
        self.work = 0;
        for (table, facts) in self.facts.iter().enumerate().filter(|(table, _)| self.levels[*table] >= level) {
            self.tables[table].clear();
            (0..facts.len()).for_each(|index| _ = self.tables[table].rows.insert(facts.row(index)));
        }
        self.groups.iter_mut().filter(|group| group.level >= level).for_each(|group| group.done = false);
        for (procedure, memo) in self.procedures.iter().zip(&mut self.memos) {
            if self.levels[procedure.table] >= level {
                memo.clear();
            }
        }
        self.n_facts = self.tables.iter().map(|table| table.rows.len()).sum();
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

    /// How many facts are held.
    pub fn n_facts(&self) -> usize {
        self.n_facts
    }

    /// Derives all facts of a relation and returns its table.
    fn evaluate(&mut self, relation: Relation) -> Result<Option<usize>, Exceeded> {
        let Some(&table) = self.relations.get(&relation) else { return Ok(None) };
        let mut index = 0;
        while let Some(&needed) = self.needs[table].get(index) {
            if !self.groups[needed].done {
                match self.evaluate_group(needed) {
                    Ok(()) => self.groups[needed].done = true,
                    Err(Broken::Exceeded(resource, limit, rule)) => {
                        // Calls that were under way must not be taken for answered ones.
                        self.memos.iter_mut().for_each(Memo::clear);
                        self.tabling = Tabling::default();
                        return Err(Exceeded { resource, limit, rule });
                    }
                    Err(Broken::TooLarge { table }) => {
                        self.change_mode(table, Mode::OnDemand);
                        index = 0;
                        continue;
                    }
                    Err(Broken::TooDeep { table }) => {
                        self.change_mode(table, Mode::AlwaysComplete);
                        index = 0;
                        continue;
                    }
                }
            }
            index += 1;
        }
        Ok(Some(table))
    }

    /// Changes how the facts of a table, and of all tables in a recursion with it, are found, and forgets what was
    /// derived from them.
    fn change_mode(&mut self, table: usize, mode: Mode) {
        let mut tables = vec![table];
        for group in self.groups.iter().filter(|group| group.recursive && group.tables.contains(&table)) {
            tables.extend_from_slice(&group.tables);
        }
        let fixed = tables.iter().any(|&table| self.modes[table] == Mode::AlwaysComplete);
        for table in tables {
            self.modes[table] = if fixed { Mode::AlwaysComplete } else { mode };
        }
        self.procedures.clear();
        self.memos.clear();
        self.tabling = Tabling::default();
        self.groups.iter_mut().for_each(|group| group.n_plannings = 0);
        let (fluents, moves) =
            (self.tables[self.relations[&TRUE]].rows.clone(), self.tables[self.relations[&DOES]].rows.clone());
        self.forget(Level::Static);
        self.tables[self.relations[&TRUE]].rows = fluents;
        self.tables[self.relations[&DOES]].rows = moves;
    }

    fn evaluate_group(&mut self, number: usize) -> Result<(), Broken> {
        if self.groups[number].tables.iter().all(|&table| self.modes[table] == Mode::OnDemand) {
            return Ok(());
        }
        self.plan_group(number);
        let rules = std::mem::take(&mut self.groups[number].rules);
        let result = self.run_rules(number, &rules);
        self.groups[number].rules = rules;
        result
    }

    fn run_rules(&mut self, number: usize, rules: &[usize]) -> Result<(), Broken> {
        let tables = self.groups[number].tables.clone();
        let recursive = self.groups[number].recursive;
        let mut newest = vec![0..0; if recursive { self.tables.len() } else { 0 }];
        if recursive {
            tables.iter().for_each(|&table| newest[table].start = self.tables[table].rows.len());
        }
        // Step 1. Each rule once, over all facts.
        for &rule in rules {
            self.run(rule, None, &|_| 0..0)?;
        }
        if !recursive {
            return Ok(());
        }
        // Step 2. Rounds, until no rule finds a new fact. What a round adds is the next round's newest.
        tables.iter().for_each(|&table| newest[table].end = self.tables[table].rows.len());
        while tables.iter().any(|&table| !newest[table].is_empty()) {
            for &rule in rules {
                for occurrence in 0..self.rules[rule].by_newest.len() {
                    self.run(rule, Some(occurrence), &|table| newest[table].clone())?;
                }
            }
            for &table in &tables {
                newest[table] = newest[table].end..self.tables[table].rows.len();
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        rule: usize,
        occurrence: Option<usize>,
        newest: &dyn Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<(), Broken> {
        let planned = std::mem::replace(
            &mut self.rules[rule],
            Planned { rule: RuleId(0), table: 0, head: Vec::new(), full: Vec::new(), by_newest: Vec::new() },
        );
        let steps = occurrence.map_or(&planned.full, |index| &planned.by_newest[index]);
        self.catch_up(steps);
        if !self.procedures.is_empty() {
            self.catch_up_procedures();
        }
        let table = planned.table;
        let mut fresh = Rows::new(self.tables[table].rows.arity);
        let fresh_limit = match (self.modes[table], self.levels[table]) {
            (Mode::AlwaysComplete, _) => usize::MAX,
            (_, Level::Static) => LARGE_STATIC_TABLE,
            _ => LARGE_TABLE,
        };
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
            limits: &self.limits,
            interrupt: self.interrupt.as_deref(),
            n_facts: self.n_facts,
            work: &mut self.work,
            frame: Frame::default(),
            tabling: &mut self.tabling,
        }
        .run(steps, self.program.rules[planned.rule.0 as usize].variables.len());
        self.rules[rule] = planned;
        self.n_facts += fresh.len();
        self.tables[table].rows.absorb(&mut fresh);
        outcome
    }

    fn catch_up(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Scan { table, index, .. } => self.tables[*table].catch_up(*index, &self.terms),
                Step::Not(inner) | Step::Exists(inner) => self.catch_up(inner),
                Step::Or(branches) => branches.iter().for_each(|branch| self.catch_up(branch)),
                _ => {}
            }
        }
    }

    /// Brings the indices that procedures read up to date. What procedures read is complete before they are called,
    /// so this is needed only after a table has changed.
    fn catch_up_procedures(&mut self) {
        let procedures = std::mem::take(&mut self.procedures);
        for clause in procedures.iter().flat_map(|procedure| &procedure.clauses) {
            self.catch_up(&clause.steps);
        }
        self.procedures = procedures;
    }

    /// Plans the rules of a group for the sizes that the tables have now, unless the plans at hand were made for
    /// similar sizes.
    fn plan_group(&mut self, number: usize) {
        let group = &self.groups[number];
        let stale = group.planned_at.iter().any(|&(table, size)| {
            let now = self.tables[table].rows.len();
            now > 32 && (now > 4 * size || now < size / 16)
        });
        if group.n_plannings > 0 && !(stale && group.n_plannings < 6) {
            return;
        }
        let program = self.program.clone();
        let mut read: Vec<usize> = Vec::new();
        for index in 0..self.groups[number].rules.len() {
            let number_of_rule = self.groups[number].rules[index];
            let rule = &program.rules[self.rules[number_of_rule].rule.0 as usize];
            rule.for_each_body_atom(|atom, _| read.push(self.relations[&atom.relation()]));
            self.plan_rule(number, number_of_rule, rule);
        }
        read.sort_unstable();
        read.dedup();
        let group = &mut self.groups[number];
        group.planned_at = read
            .into_iter()
            .filter(|table| !group.tables.contains(table))
            .map(|table| (table, self.tables[table].rows.len()))
            .collect();
        group.n_plannings += 1;
    }

    fn plan_rule(&mut self, group: usize, number: usize, rule: &Rule) {
        let mut n_occurrences = 0;
        let mut goals = self.goals(&rule.body, Some(group), &mut n_occurrences);
        let role_variable = rule.implicit_role().map(|var| [Term::Var(var)]);
        self.add_role_goal(&role_variable, &mut goals);
        let mut needed = VarSet::default();
        rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| needed.insert(var)));
        let mut plan = |newest| {
            let steps = plan::plan(self, &goals, &needed, newest);
            // A head without variables is derived at most once.
            if needed.is_empty() && !goals.is_empty() { vec![Step::Exists(steps)] } else { steps }
        };
        let full = plan(None);
        let by_newest = (0..n_occurrences).map(|occurrence| plan(Some(occurrence))).collect();
        let head = plan::head_values(self, &rule.head.args);
        let planned = &mut self.rules[number];
        (planned.full, planned.by_newest, planned.head) = (full, by_newest, head);
        self.plan_procedures();
    }

    /// Plans the procedures that plans have asked for, and those that their plans ask for.
    fn plan_procedures(&mut self) {
        let program = self.program.clone();
        while let Some(number) = (0..self.procedures.len()).find(|&number| self.memos.len() <= number) {
            let Procedure { table, known, .. } = self.procedures[number].clone();
            let mut clauses = Vec::new();
            for facts in 0..self.facts[table].len() {
                let head = self.facts[table].row(facts).to_vec();
                clauses.push(Clause::fact(RuleId(0), &head, &known));
            }
            for index in 0..self.rules.len() {
                if self.rules[index].table != table {
                    continue;
                }
                let id = self.rules[index].rule;
                let rule = &program.rules[id.0 as usize];
                let mut goals = self.goals(&rule.body, None, &mut 0);
                let role_variable = rule.implicit_role().map(|var| [Term::Var(var)]);
                self.add_role_goal(&role_variable, &mut goals);
                let first_key_slot = rule.variables.len();
                let (steps, head) = plan::plan_procedure(self, goals, &rule.head.args, &known, first_key_slot as u32);
                let n_slots = first_key_slot + known.iter().filter(|known| **known).count();
                clauses.push(Clause { rule: id, n_slots, first_key_slot, steps, head });
            }
            self.procedures[number].clauses = clauses;
            self.memos.push(Memo::new(known.iter().filter(|known| **known).count()));
        }
    }

    fn add_role_goal<'a>(&self, role_variable: &'a Option<[Term; 1]>, goals: &mut Vec<Goal<'a>>) {
        if let Some(args) = role_variable {
            goals.push(Goal::Atom { table: self.relations[&ROLE], args, occurrence: u32::MAX });
        }
    }

    /// The goals of a body. Positive literals of the relations of `group` are numbered.
    fn goals<'a>(&self, body: &'a [Formula], group: Option<usize>, n_occurrences: &mut u32) -> Vec<Goal<'a>> {
        let mut goals = Vec::new();
        for formula in body {
            match formula {
                Formula::Atom(atom) => {
                    let table = self.relations[&atom.relation()];
                    let mut occurrence = u32::MAX;
                    if group.is_some_and(|group| self.groups[group].tables.contains(&table)) {
                        occurrence = *n_occurrences;
                        *n_occurrences += 1;
                    }
                    goals.push(Goal::Atom { table, args: &atom.args, occurrence });
                }
                Formula::Distinct(left, right, _) => goals.push(Goal::Distinct(left, right)),
                Formula::Not(inner, _) => {
                    goals.push(Goal::Not(self.goals(std::slice::from_ref(inner), None, n_occurrences)));
                }
                Formula::And(parts, _) => goals.extend(self.goals(parts, group, n_occurrences)),
                Formula::Or(parts, _) => {
                    let branch = |part| self.goals(std::slice::from_ref(part), group, n_occurrences);
                    goals.push(Goal::Or(parts.iter().map(branch).collect()));
                }
            }
        }
        goals
    }
}

/// Which rules a rule reads from, by their positions among the planned rules.
struct Dependencies {
    edges: Vec<Vec<usize>>,
    /// Pairs of a rule and one that it must see completed.
    negative: Vec<(usize, usize)>,
}

impl Dependencies {
    fn new(program: &Program, rules: &[Planned]) -> Dependencies {
        let mut by_head: rustc_hash::FxHashMap<Relation, Vec<usize>> = rustc_hash::FxHashMap::default();
        let head = |index: usize| &program.rules[rules[index].rule.0 as usize].head;
        for index in 0..rules.len() {
            by_head.entry(head(index).relation()).or_default().push(index);
        }
        let mut edges = vec![Vec::new(); rules.len()];
        let mut negative = Vec::new();
        for (index, planned) in rules.iter().enumerate() {
            let rule = &program.rules[planned.rule.0 as usize];
            let mut visit = |atom: &Atom, complete: bool| {
                let sources = by_head.get(&atom.relation()).map_or(&[][..], Vec::as_slice);
                for &source in sources {
                    if atom.args.iter().zip(&head(source).args).all(|(left, right)| may_unify(left, right)) {
                        edges[index].push(source);
                        if complete {
                            negative.push((index, source));
                        }
                    }
                }
            };
            rule.body.iter().for_each(|formula| for_each_read(formula, false, &mut visit));
            if rule.implicit_role().is_some() {
                edges[index].extend(by_head.get(&ROLE).into_iter().flatten());
            }
            edges[index].sort_unstable();
            edges[index].dedup();
        }
        Dependencies { edges, negative }
    }
}

/// Calls `visit` for each atom with whether it stands under any `not`, however many.
fn for_each_read<'a>(formula: &'a Formula, under_not: bool, visit: &mut impl FnMut(&'a Atom, bool)) {
    match formula {
        Formula::Atom(atom) => visit(atom, under_not),
        Formula::Distinct(..) => {}
        Formula::Not(inner, _) => for_each_read(inner, true, visit),
        Formula::Or(parts, _) | Formula::And(parts, _) => {
            parts.iter().for_each(|part| for_each_read(part, under_not, visit));
        }
    }
}

/// Whether two terms of different rules can stand for the same ground term; may say yes where repeated variables
/// forbid it.
fn may_unify(left: &Term, right: &Term) -> bool {
    match (left, right) {
        (Term::Var(_), _) | (_, Term::Var(_)) => true,
        (Term::Const(left), Term::Const(right)) => left == right,
        (Term::Func(left, left_args), Term::Func(right, right_args)) => {
            left == right
                && left_args.len() == right_args.len()
                && left_args.iter().zip(right_args).all(|(left, right)| may_unify(left, right))
        }
        _ => false,
    }
}

impl Catalog for Database {
    fn intern(&mut self, name: crate::symbol::SymbolId, args: &[TermId]) -> TermId {
        self.terms.intern(name, args)
    }

    fn index(&mut self, table: usize, patterns: &[Pattern]) -> usize {
        self.tables[table].index_for(patterns)
    }

    fn fan_out(&self, table: usize, patterns: &[Pattern]) -> f64 {
        let (mut known, mut open) = (0.0, 0.0);
        for pattern in patterns {
            pattern.count(&mut known, &mut open);
        }
        let guess = |size: f64| size.powf(open / f64::max(known + open, 1.0));
        // What a table holds now says little of later states, unless it is the same in all of them. The more of a
        // literal is known, the better.
        let now = self.tables[table].fan_out(patterns, &self.terms);
        match (self.modes[table], self.levels[table], now) {
            (Mode::OnDemand, ..) => guess(1000.0),
            (_, Level::Static, Some(now)) => now,
            (_, _, Some(now)) => now.max(0.25 * guess(100.0)),
            _ => guess(100.0),
        }
    }

    fn procedure(&mut self, table: usize, known: &[bool]) -> Option<usize> {
        if self.modes[table] != Mode::OnDemand {
            return None;
        }
        let same = |procedure: &Procedure| procedure.table == table && procedure.known == known;
        Some(self.procedures.iter().position(same).unwrap_or_else(|| {
            self.procedures.push(Procedure { table, known: known.to_vec(), clauses: Vec::new() });
            self.procedures.len() - 1
        }))
    }
}
