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

use crate::datalog::{Database, Exceeded, Limits, TermId, Terms, Unevaluable};
use crate::normalize::{Literal, Normal, NormalRule, TooManyRules, made_up, normalize};
use crate::program::{Atom, Formula, Program, Relation, Rule, Term, VarId, Variable};
use crate::source::Span;
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
    /// Ends grounding before its time.
    pub stop: Stop,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { rules: 20_000, facts: 4_000_000, literals: 20_000_000, work: 200_000_000, stop: Stop::never() }
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
}

/// Grounds a program.
pub fn ground(program: &Program, budget: &Budget) -> Result<GroundProgram, Failure> {
    ground_with(program, &[], budget)
}

/// Grounds a program together with every atom of some further relations that may ever hold: [`GroundProgram::views`].
pub fn ground_with(program: &Program, views: &[Relation], budget: &Budget) -> Result<GroundProgram, Failure> {
    let normal = normalize(program, budget.rules).map_err(Failure::Rules)?;
    let dynamic = dynamic_relations(&normal);
    let approximation = approximate(&normal, &dynamic);
    let limits = Limits {
        facts: budget.facts,
        work: budget.work,
        static_table: 2_000_000,
        stop: budget.stop.clone(),
        ..Limits::default()
    };
    let mut database = Database::new(Arc::new(approximation.program), limits).map_err(Failure::Unevaluable)?;
    database.find_on_demand(approximation.instances.iter().map(|&(instance, _)| instance));
    for &relation in [approximation.holds, approximation.may, GOAL, TERMINAL].iter().chain(views) {
        database.complete(relation)?;
    }
    let mut grounder = Grounder {
        normal: &normal,
        dynamic: &dynamic,
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

type Relations = hashbrown::HashSet<Relation, FxBuildHasher>;

/// The relations that depend on the state or on the moves.
fn dynamic_relations(normal: &Normal) -> Relations {
    let mut dynamic: Relations = [TRUE, DOES].into_iter().collect();
    loop {
        let before = dynamic.len();
        for rule in &normal.rules {
            let depends = rule.body.iter().any(|literal| match literal {
                Literal::Positive(atom) | Literal::Negative(atom) => dynamic.contains(&atom.relation()),
                Literal::Distinct(..) => false,
            });
            if depends {
                dynamic.insert(rule.head.relation());
            }
        }
        if dynamic.len() == before {
            return dynamic;
        }
    }
}

struct Approximation {
    program: Program,
    /// The fluents that may hold.
    holds: Relation,
    /// The moves that may be made.
    may: Relation,
    /// For each rule of a dynamic relation, a relation over the head's arguments and the other variables of its
    /// dynamic literals, with those variables. Others have an unused entry.
    instances: Vec<(Relation, Vec<VarId>)>,
}

fn approximate(normal: &Normal, dynamic: &Relations) -> Approximation {
    let mut symbols = normal.symbols.clone();
    // No name of a rule text holds a space.
    let holds = symbols.intern("may hold");
    let may = symbols.intern("may do");
    let mut rules = Vec::new();
    let mut instances = Vec::new();
    let read = |atom: &Atom| {
        let name = match atom.relation() {
            TRUE => holds,
            DOES => may,
            relation => relation.name,
        };
        Atom { name, ..atom.clone() }
    };
    for (index, rule) in normal.rules.iter().enumerate() {
        let mut body = Vec::new();
        for literal in &rule.body {
            match literal {
                Literal::Positive(atom) => body.push(Formula::Atom(read(atom))),
                Literal::Negative(atom) if dynamic.contains(&atom.relation()) => {}
                Literal::Negative(atom) => {
                    body.push(Formula::Not(Box::new(Formula::Atom(atom.clone())), Span::default()));
                }
                Literal::Distinct(left, right) => {
                    body.push(Formula::Distinct(left.clone(), right.clone(), Span::default()));
                }
            }
        }
        let mut open = Vec::new();
        let instance = symbols.intern(&format!("instance {index}"));
        if dynamic.contains(&rule.head.relation()) {
            let mut in_head = Vec::new();
            rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| in_head.push(var)));
            for literal in &rule.body {
                let (Literal::Positive(atom) | Literal::Negative(atom)) = literal else { continue };
                if dynamic.contains(&atom.relation()) {
                    atom.args.iter().for_each(|arg| {
                        arg.for_each_var(&mut |var| {
                            if !in_head.contains(&var) && !open.contains(&var) {
                                open.push(var);
                            }
                        });
                    });
                }
            }
            let args = rule.head.args.iter().cloned().chain(open.iter().map(|&var| Term::Var(var))).collect();
            rules.push(made_up_rule(made_up(instance, args), body.clone(), rule.n_variables));
        }
        let arity = (rule.head.args.len() + open.len()) as u32;
        instances.push((Relation { name: instance, arity }, open));
        rules.push(made_up_rule(rule.head.clone(), body, rule.n_variables));
    }
    let var = |index| Term::Var(VarId(index));
    for source in [keyword::INIT, keyword::NEXT] {
        let body = vec![Formula::Atom(made_up(source, vec![var(0)]))];
        rules.push(made_up_rule(made_up(holds, vec![var(0)]), body, 1));
    }
    let body = vec![
        Formula::Atom(made_up(keyword::ROLE, vec![var(0)])),
        Formula::Atom(made_up(keyword::LEGAL, vec![var(0), var(1)])),
    ];
    rules.push(made_up_rule(made_up(may, vec![var(0), var(1)]), body, 2));
    Approximation {
        program: Program { symbols, rules },
        holds: Relation { name: holds, arity: 1 },
        may: Relation { name: may, arity: 2 },
        instances,
    }
}

fn made_up_rule(head: Atom, body: Vec<Formula>, n_variables: u32) -> Rule {
    let variable = Variable { name: keyword::TRUE, span: Span::default() };
    Rule { head, body, variables: vec![variable; n_variables as usize], span: Span::default() }
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
