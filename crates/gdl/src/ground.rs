//! Grounding: from rules with variables to finitely many facts without.
//!
//! First the facts that may ever hold are found by an over-approximation: the rules are evaluated once with all negated
//! literals that depend on the state left out, every fluent that may come next taken as true, and every move that may
//! be legal taken as done. Then the atoms that matter are expanded from the outputs (`legal`, `next`, `goal`,
//! `terminal`) downwards: each atom becomes a disjunction of the rule instances that can derive it. What does not
//! depend on the state is evaluated away on the spot.
//!
//! Atoms may depend on each other in a cycle, always through positive literals; such atoms mean the least solution.

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::approximate::{Relations, approximate};
use crate::datalog::{Database, Exceeded, Limits, Resource, TermId, Terms, Unevaluable};
use crate::normalize::{Literal, Normal, NormalRule, TooManyRules, above, normalize};
use crate::program::{Program, Relation, RuleId, Term, VarId};
use crate::stop::Stop;
use crate::symbol::{Symbols, keyword};

/// How much grounding may do.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Rules in normal form.
    pub rules: usize,
    /// Facts of the over-approximation.
    pub facts: usize,
    /// Literals of all rule instances together.
    pub literals: usize,
    /// Matches tried.
    pub work: u64,
    /// Facts of the over-approximation, beyond which relations that are not asked for as a whole are derived on demand;
    /// likewise beyond 250 times as many matches. The ground rules are the same, and fewer; a little more is done for each.
    pub whole: usize,
    /// Ends grounding before its time.
    pub stop: Stop,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            rules: 20_000,
            facts: 4_000_000,
            literals: 20_000_000,
            work: 1_000_000_000,
            whole: 1_000_000,
            stop: Stop::never(),
        }
    }
}

/// Why a game could not be grounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The rules have no meaning.
    Unevaluable(Unevaluable),
    /// Too many rules in normal form.
    Rules(TooManyRules),
    /// Evaluating the over-approximation ran over a budget.
    Facts(Exceeded),
    /// More literals than the budget allows.
    Literals(usize),
    /// The roles or the initial state depend on a state (GDL0106).
    StateInStatic,
    /// What is legal, a goal or the end depends on the moves that are about to be made (GDL0107).
    MovesInState,
    /// [`Budget::stop`] said so.
    Stopped,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Unevaluable(_) => write!(f, "the rules can't be evaluated"),
            Failure::Rules(too_many) => write!(f, "over the budget of {} rules in normal form", too_many.limit),
            Failure::Facts(exceeded) => write!(f, "{exceeded}"),
            Failure::Literals(limit) => write!(f, "over the budget of {limit} ground literals"),
            Failure::StateInStatic => write!(f, "`role` or `init` depends on a state"),
            Failure::MovesInState => {
                write!(f, "`legal`, `goal` or `terminal` depends on the moves that are about to be made")
            }
            Failure::Stopped => write!(f, "stopped before it was done"),
        }
    }
}

/// What a ground literal refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// A fluent of the current state.
    Fluent(u32),
    /// A move of a role, by its place among all roles' moves.
    Move(u32),
    /// A derived atom.
    Atom(u32),
}

/// A ground literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroundLiteral {
    /// What it refers to.
    pub signal: Signal,
    /// Whether it asks for the opposite.
    pub negated: bool,
}

/// A ground program: the fluents, moves and atoms of a game.
#[derive(Clone, Debug)]
pub struct GroundProgram {
    /// Names, for printing.
    pub symbols: Symbols,
    /// Terms, for printing.
    pub terms: Terms,
    /// The roles.
    pub roles: Vec<TermId>,
    /// Every fluent that may hold.
    pub fluents: Vec<TermId>,
    /// The fluents of the initial state.
    pub initial: Vec<u32>,
    /// Every move that may be legal: the role and the move, grouped by role in the order of the roles.
    pub moves: Vec<(u32, TermId)>,
    /// The atom that makes a move legal, for each move.
    pub legal: Vec<u32>,
    /// The atom that makes a fluent hold next, for each fluent; `None` if nothing does.
    pub next: Vec<Option<u32>>,
    /// The goal atoms: role, value, atom.
    pub goals: Vec<(u32, TermId, u32)>,
    /// The atom that ends the game.
    pub terminal: Option<u32>,
    /// What else was asked for: the relation's place in the question, the arguments, the atom.
    pub views: Vec<(u32, Box<[TermId]>, u32)>,
    /// The instances of each atom, as a range of `instances`.
    pub atoms: Vec<std::ops::Range<u32>>,
    /// The literals of each instance, as a range of `literals`.
    pub instances: Vec<std::ops::Range<u32>>,
    /// All literals.
    pub literals: Vec<GroundLiteral>,
}

impl GroundProgram {
    /// The instances of an atom, each a conjunction.
    pub fn instances(&self, atom: u32) -> impl Iterator<Item = &[GroundLiteral]> {
        let range = self.atoms[atom as usize].clone();
        let literals = |range: &std::ops::Range<u32>| &self.literals[range.start as usize..range.end as usize];
        self.instances[range.start as usize..range.end as usize].iter().map(literals)
    }

    /// Whether something that is asked of a state depends on moves.
    fn reads_moves(&self) -> bool {
        let asked = self.legal.iter().chain(self.goals.iter().map(|(_, _, goal)| goal)).chain(&self.terminal);
        let mut waiting: Vec<u32> = asked.copied().collect();
        let mut met = vec![false; self.atoms.len()];
        while let Some(atom) = waiting.pop() {
            if std::mem::replace(&mut met[atom as usize], true) {
                continue;
            }
            for literal in self.instances(atom).flatten() {
                match literal.signal {
                    Signal::Fluent(_) => {}
                    Signal::Move(_) => return true,
                    Signal::Atom(atom) => waiting.push(atom),
                }
            }
        }
        false
    }
}

/// Grounds a program.
pub fn ground(program: &Program, budget: &Budget) -> Result<GroundProgram, Failure> {
    ground_with(program, &[], budget)
}

/// Grounds a program together with every atom of some further relations that may ever hold: [`GroundProgram::views`].
pub fn ground_with(program: &Program, views: &[Relation], budget: &Budget) -> Result<GroundProgram, Failure> {
    let normal = normalize(program, budget.rules).map_err(Failure::Rules)?;
    let dynamic = dynamic_relations(&normal);
    if dynamic.contains(&ROLE) || dynamic.contains(&INIT) {
        return Err(Failure::StateInStatic);
    }
    // Step 1. As a whole, if that is little.
    let work = (budget.whole as u64).saturating_mul(250).min(budget.work);
    let little = Budget { facts: budget.whole.min(budget.facts), work, ..budget.clone() };
    let whole = attempt(&normal, &dynamic, &Relations::default(), views, &little);
    let Err(Failure::Facts(Exceeded { resource: Resource::Facts | Resource::Work | Resource::Bytes, .. })) = whole
    else {
        return whole;
    };
    // Step 2. Relations that are not asked for as a whole on demand, where that helps.
    let asked_for = |relation: &Relation| Symbols::is_keyword(relation.name) || views.contains(relation);
    let on_demand: Relations = dynamic.iter().copied().filter(|relation| !asked_for(relation)).collect();
    match attempt(&normal, &dynamic, &on_demand, views, budget) {
        Err(Failure::Facts(Exceeded { resource: Resource::Stopped, .. }) | Failure::Stopped) => Err(Failure::Stopped),
        Err(Failure::MovesInState) => Err(Failure::MovesInState),
        Err(_) => attempt(&normal, &dynamic, &Relations::default(), views, budget),
        outcome => outcome,
    }
}

/// Literals of the rules that derive relations on demand. They repeat what stands before each question.
const MAX_LITERALS: usize = 2_000_000;

fn attempt(
    normal: &Normal,
    dynamic: &Relations,
    on_demand: &Relations,
    views: &[Relation],
    budget: &Budget,
) -> Result<GroundProgram, Failure> {
    let too_many = || Failure::Rules(TooManyRules { rule: RuleId(0), limit: budget.rules });
    let max_literals = MAX_LITERALS.max(if on_demand.is_empty() { usize::MAX } else { 0 });
    let approximation = approximate(normal, dynamic, on_demand, max_literals).ok_or_else(too_many)?;
    let limits = Limits {
        facts: budget.facts,
        bytes: MAX_BYTES,
        work: budget.work,
        static_table: budget.facts / 2,
        stop: budget.stop.clone(),
        ..Limits::default()
    };
    let mut database = Database::new(Arc::new(approximation.program), limits).map_err(Failure::Unevaluable)?;
    database.find_on_demand(approximation.instances.iter().map(|&(instance, _)| instance));
    database.want_whole(approximation.whole.iter().chain(views).copied());
    let outputs = [approximation.holds, approximation.may, GOAL, TERMINAL];
    for &relation in outputs.iter().chain(views) {
        database.complete(relation)?;
    }
    let mut grounder = Grounder {
        normal,
        dynamic,
        instances_of: approximation.instances,
        rules_of: FxHashMap::default(),
        database,
        fluents: HashMap::default(),
        moves: FxHashMap::default(),
        atoms: Vec::new(),
        queue: Vec::new(),
        binding: Vec::new(),
        args: Vec::new(),
        ground: GroundProgram {
            symbols: normal.symbols.clone(),
            terms: Terms::default(),
            roles: Vec::new(),
            fluents: Vec::new(),
            initial: Vec::new(),
            moves: Vec::new(),
            legal: Vec::new(),
            next: Vec::new(),
            goals: Vec::new(),
            terminal: None,
            views: Vec::new(),
            atoms: Vec::new(),
            instances: Vec::new(),
            literals: Vec::new(),
        },
        budget,
    };
    for (index, rule) in normal.rules.iter().enumerate() {
        grounder.rules_of.entry(rule.head.relation()).or_default().push(index);
    }
    grounder.run(approximation.holds, approximation.may, views)
}

const ROLE: Relation = Relation { name: keyword::ROLE, arity: 1 };
const INIT: Relation = Relation { name: keyword::INIT, arity: 1 };
const TRUE: Relation = Relation { name: keyword::TRUE, arity: 1 };
const DOES: Relation = Relation { name: keyword::DOES, arity: 2 };
const NEXT: Relation = Relation { name: keyword::NEXT, arity: 1 };
const LEGAL: Relation = Relation { name: keyword::LEGAL, arity: 2 };
const GOAL: Relation = Relation { name: keyword::GOAL, arity: 2 };
const TERMINAL: Relation = Relation { name: keyword::TERMINAL, arity: 0 };

/// Bytes of facts and terms while the over-approximation is evaluated.
const MAX_BYTES: usize = 1 << 30;

/// The relations that depend on the state or on the moves.
fn dynamic_relations(normal: &Normal) -> Relations {
    let reads = normal.rules.iter().flat_map(|rule| {
        rule.body.iter().filter_map(|literal| match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => Some((atom.relation(), rule.head.relation())),
            Literal::Distinct(..) => None,
        })
    });
    above([TRUE, DOES], reads).into_iter().collect()
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Failure {
        Failure::Facts(exceeded)
    }
}

struct Grounder<'a> {
    normal: &'a Normal,
    dynamic: &'a Relations,
    instances_of: Vec<(Relation, Vec<VarId>)>,
    rules_of: FxHashMap<Relation, Vec<usize>>,
    database: Database,
    fluents: HashMap<TermId, u32, FxBuildHasher>,
    moves: FxHashMap<(TermId, TermId), u32>,
    /// The number of each atom, by the term that looks like it.
    atoms: Vec<u32>,
    /// The atoms, in the order of their numbers; those beyond `ground.atoms` are yet to be expanded.
    queue: Vec<TermId>,
    ground: GroundProgram,
    budget: &'a Budget,
    /// Working memory.
    binding: Vec<Option<TermId>>,
    args: Vec<TermId>,
}

const NO_ATOM: u32 = u32::MAX;

impl Grounder<'_> {
    fn run(mut self, holds: Relation, may: Relation, views: &[Relation]) -> Result<GroundProgram, Failure> {
        // Step 1. Number roles, fluents and moves.
        let (mut roles, mut fluents, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        self.database.for_each(ROLE, |row| roles.push(row[0]))?;
        self.database.for_each(holds, |row| fluents.push(row[0]))?;
        self.database.for_each(may, |row| moves.push((row[0], row[1])))?;
        self.fluents = fluents.iter().enumerate().map(|(index, &fluent)| (fluent, index as u32)).collect();
        let role_of = |role| roles.iter().position(|&other| other == role).expect("moves are made by roles") as u32;
        let mut moves: Vec<(u32, TermId)> = moves.into_iter().map(|(role, chosen)| (role_of(role), chosen)).collect();
        moves.sort_by_key(|&(role, _)| role);
        for (index, &(role, chosen)) in moves.iter().enumerate() {
            self.moves.insert((roles[role as usize], chosen), index as u32);
        }
        let initial = &mut self.ground.initial;
        self.database.for_each(INIT, |row| initial.push(self.fluents[&row[0]]))?;
        // Step 2. The outputs.
        self.ground.legal =
            moves.iter().map(|&(role, chosen)| self.atom(LEGAL, &[roles[role as usize], chosen])).collect();
        let mut may_come = hashbrown::HashSet::<TermId, FxBuildHasher>::default();
        self.database.for_each(NEXT, |row| _ = may_come.insert(row[0]))?;
        self.ground.next =
            fluents.iter().map(|&fluent| may_come.contains(&fluent).then(|| self.atom(NEXT, &[fluent]))).collect();
        let mut goals = Vec::new();
        self.database.for_each(GOAL, |row| goals.push((row[0], row[1])))?;
        for (role, value) in goals {
            if let Some(index) = roles.iter().position(|&other| other == role) {
                let atom = self.atom(GOAL, &[role, value]);
                self.ground.goals.push((index as u32, value, atom));
            }
        }
        if self.database.holds_any(TERMINAL)? {
            self.ground.terminal = Some(self.atom(TERMINAL, &[]));
        }
        for (index, &view) in views.iter().enumerate() {
            let mut rows: Vec<Box<[TermId]>> = Vec::new();
            self.database.for_each(view, |row| rows.push(row.into()))?;
            for row in rows {
                let atom = self.atom(view, &row);
                self.ground.views.push((index as u32, row, atom));
            }
        }
        (self.ground.roles, self.ground.fluents, self.ground.moves) = (roles, fluents, moves);
        // Step 3. Expand every atom that an output depends on.
        while self.ground.atoms.len() < self.queue.len() {
            if self.ground.atoms.len().is_multiple_of(256) && self.budget.stop.is_raised() {
                return Err(Failure::Stopped);
            }
            let atom = self.queue[self.ground.atoms.len()];
            let args = self.database.terms.args(atom).to_vec();
            let relation = Relation { name: self.database.terms.name(atom), arity: args.len() as u32 };
            self.expand(relation, &args)?;
        }
        if self.ground.reads_moves() {
            return Err(Failure::MovesInState);
        }
        self.ground.terms = self.database.terms;
        Ok(self.ground)
    }

    fn atom(&mut self, relation: Relation, args: &[TermId]) -> u32 {
        let term = self.database.terms.intern(relation.name, args);
        if self.atoms.len() <= term.0 as usize {
            self.atoms.resize(term.0 as usize + 1, NO_ATOM);
        }
        let number = &mut self.atoms[term.0 as usize];
        if *number == NO_ATOM {
            *number = self.queue.len() as u32;
            self.queue.push(term);
        }
        *number
    }

    fn expand(&mut self, relation: Relation, args: &[TermId]) -> Result<(), Failure> {
        let first_instance = self.ground.instances.len() as u32;
        let mut rows = Vec::new();
        for place in 0..self.rules_of.get(&relation).map_or(0, Vec::len) {
            let index = self.rules_of[&relation][place];
            let normal = self.normal;
            let rule = &normal.rules[index];
            let instance = self.instances_of[index].0;
            let n_open = self.instances_of[index].1.len();
            rows.clear();
            let count = if self.dynamic.contains(&relation) {
                self.database.solve(instance, args, &mut rows)?
            } else {
                // A static atom among the outputs, such as the fact `(goal robot 0)`. It was read off the relation, so
                // it holds.
                1
            };
            for row in 0..count {
                let first_literal = self.ground.literals.len() as u32;
                let values = &rows[row * n_open..(row + 1) * n_open];
                if self.dynamic.contains(&relation) && !self.instance(rule, index, args, values) {
                    self.ground.literals.truncate(first_literal as usize);
                    continue;
                }
                self.ground.instances.push(first_literal..self.ground.literals.len() as u32);
                if self.ground.literals.len() > self.budget.literals {
                    return Err(Failure::Literals(self.budget.literals));
                }
            }
        }
        self.ground.atoms.push(first_instance..self.ground.instances.len() as u32);
        Ok(())
    }

    /// Appends the literals of one instance; `false` if one of them can't hold.
    fn instance(&mut self, rule: &NormalRule, index: usize, args: &[TermId], values: &[TermId]) -> bool {
        let mut binding = std::mem::take(&mut self.binding);
        binding.clear();
        binding.resize(rule.n_variables as usize, None);
        for (pattern, &term) in rule.head.args.iter().zip(args) {
            bind(&self.database.terms, pattern, term, &mut binding);
        }
        for (var, &value) in self.instances_of[index].1.iter().zip(values) {
            binding[var.0 as usize] = Some(value);
        }
        let mut atom_args = std::mem::take(&mut self.args);
        let can_hold = rule.body.iter().all(|literal| {
            let (atom, negated) = match literal {
                Literal::Positive(atom) => (atom, false),
                Literal::Negative(atom) => (atom, true),
                Literal::Distinct(..) => return true,
            };
            let relation = atom.relation();
            if !self.dynamic.contains(&relation) {
                return true;
            }
            atom_args.clear();
            atom_args.extend(atom.args.iter().map(|arg| build(&mut self.database.terms, arg, &binding)));
            let signal = match relation {
                TRUE => self.fluents.get(&atom_args[0]).map(|&fluent| Signal::Fluent(fluent)),
                DOES => self.moves.get(&(atom_args[0], atom_args[1])).map(|&chosen| Signal::Move(chosen)),
                _ => Some(Signal::Atom(self.atom(relation, &atom_args))),
            };
            // What can never hold makes its negation true and everything else false.
            match signal {
                Some(signal) => self.ground.literals.push(GroundLiteral { signal, negated }),
                None => return negated,
            }
            true
        });
        (self.binding, self.args) = (binding, atom_args);
        can_hold
    }
}

fn bind(terms: &Terms, pattern: &Term, term: TermId, binding: &mut [Option<TermId>]) {
    match pattern {
        Term::Var(var) => binding[var.0 as usize] = Some(term),
        Term::Const(_) => {}
        Term::Func(_, parts) => {
            for (part, &arg) in parts.iter().zip(terms.args(term)) {
                bind(terms, part, arg, binding);
            }
        }
    }
}

fn build(terms: &mut Terms, pattern: &Term, binding: &[Option<TermId>]) -> TermId {
    match pattern {
        Term::Var(var) => binding[var.0 as usize].expect("dynamic literals have no other variables"),
        Term::Const(name) => terms.intern(*name, &[]),
        Term::Func(name, parts) => {
            let args: Vec<TermId> = parts.iter().map(|part| build(terms, part, binding)).collect();
            terms.intern(*name, &args)
        }
    }
}
