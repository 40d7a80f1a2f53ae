//! Rules in normal form: each body a plain list of literals.
//!
//! Disjunctions are multiplied out into several rules, equalities are substituted, and what stands under `not` becomes
//! one atom without variables of its own, if need be of a helper relation. The meaning stays the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::datalog::distribute::distribute;
use crate::program::{Atom, Formula, Program, Relation, Rule, RuleId, Term, VarId};
use crate::source::Span;
use crate::symbol::{SymbolId, Symbols, keyword};

/// A literal of a rule in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// The atom holds.
    Positive(Atom),
    /// The atom does not hold; its variables occur in positive literals, too.
    Negative(Atom),
    /// The terms differ.
    Distinct(Term, Term),
}

impl Literal {
    pub(crate) fn variables(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        let mut visit = |term: &Term| term.for_each_var(&mut |var| _ = vars.insert(var));
        match self {
            Literal::Positive(atom) | Literal::Negative(atom) => atom.args.iter().for_each(visit),
            Literal::Distinct(left, right) => {
                visit(left);
                visit(right);
            }
        }
        vars
    }
}

/// A rule in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalRule {
    /// What holds.
    pub head: Atom,
    /// If all of this holds.
    pub body: Vec<Literal>,
    /// How many variables it has.
    pub n_variables: u32,
    /// The rule it comes from.
    pub origin: RuleId,
}

/// A program in normal form.
#[derive(Clone, Debug)]
pub struct Normal {
    /// The names, those of helper relations included.
    pub symbols: Symbols,
    /// The rules; those of one original rule stand together.
    pub rules: Vec<NormalRule>,
}

/// Why there is no normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRules {
    /// The rule whose disjunctions make too many.
    pub rule: RuleId,
    /// How many rules there may be.
    pub limit: usize,
}

/// How many names and variables all bodies may have together while disjunctions are multiplied out.
const MAX_NAMES: usize = 20_000_000;

/// Brings a program into normal form, unless that makes more than `limit` rules.
pub fn normalize(program: &Program, limit: usize) -> Result<Normal, TooManyRules> {
    let mut normalizer = Normalizer {
        symbols: program.symbols.clone(),
        rules: Vec::new(),
        n_helpers: 0,
        limit,
        names_left: MAX_NAMES,
        dynamic: dynamic_relations(program),
        projections: HashMap::new(),
    };
    for (index, rule) in program.rules.iter().enumerate() {
        normalizer.rule(rule, RuleId(index as u32))?;
    }
    Ok(Normal { symbols: normalizer.symbols, rules: normalizer.rules })
}

fn dynamic_relations(program: &Program) -> HashSet<Relation> {
    let mut reads = Vec::new();
    for rule in &program.rules {
        rule.for_each_body_atom(|atom, _| reads.push((atom.relation(), rule.head.relation())));
    }
    let state = [Relation { name: keyword::TRUE, arity: 1 }, Relation { name: keyword::DOES, arity: 2 }];
    above(state, reads).into_iter().collect()
}

/// These relations and all that read them, directly or not: `reads` has a relation and one that reads it.
pub(crate) fn above(
    relations: impl IntoIterator<Item = Relation>,
    reads: impl IntoIterator<Item = (Relation, Relation)>,
) -> BTreeSet<Relation> {
    let mut readers: HashMap<Relation, Vec<Relation>> = HashMap::new();
    reads.into_iter().for_each(|(relation, reader)| readers.entry(relation).or_default().push(reader));
    let mut waiting: Vec<Relation> = relations.into_iter().collect();
    let mut above = BTreeSet::new();
    while let Some(relation) = waiting.pop() {
        if above.insert(relation) {
            waiting.extend(readers.remove(&relation).unwrap_or_default());
        }
    }
    above
}

struct Normalizer {
    symbols: Symbols,
    rules: Vec<NormalRule>,
    n_helpers: usize,
    limit: usize,
    /// How many names bodies may still be made of.
    names_left: usize,
    /// The relations that depend on the state or on the moves.
    dynamic: HashSet<Relation>,
    projections: HashMap<(SymbolId, Vec<Term>, usize), SymbolId>,
}

/// A literal, or an equality that has yet to be substituted.
#[derive(Clone)]
enum Part {
    Literal(Literal),
    Equal(Term, Term),
}

impl Part {
    fn n_names(&self) -> usize {
        match self {
            Part::Literal(Literal::Positive(atom) | Literal::Negative(atom)) => {
                1 + atom.args.iter().map(Term::size).sum::<usize>()
            }
            Part::Literal(Literal::Distinct(left, right)) | Part::Equal(left, right) => 1 + left.size() + right.size(),
        }
    }
}

fn n_names(bodies: &[Vec<Part>]) -> usize {
    bodies.iter().flatten().map(Part::n_names).sum()
}

impl Normalizer {
    fn rule(&mut self, rule: &Rule, origin: RuleId) -> Result<(), TooManyRules> {
        let mut bound = rule.bound_by_body();
        let mut role_goal = None;
        if let Some(var) = rule.implicit_role() {
            bound.insert(var);
            role_goal =
                Some(Literal::Positive(Atom { name: keyword::ROLE, args: vec![Term::Var(var)], span: rule.head.span }));
        }
        let n_variables = rule.variables.len() as u32;
        let distributed = distribute(&rule.body).map_err(|_| TooManyRules { rule: origin, limit: self.limit })?;
        let body = distributed.as_deref().unwrap_or(&rule.body);
        let mut bodies = self.conjunction(body, false, &bound, n_variables, origin)?;
        if let Some(goal) = role_goal {
            bodies.iter_mut().for_each(|body| body.push(Part::Literal(goal.clone())));
        }
        for body in bodies {
            self.push(rule.head.clone(), body, n_variables, origin)?;
        }
        Ok(())
    }

    /// Substitutes the equalities of a body and keeps the rule, unless they contradict each other.
    fn push(
        &mut self,
        mut head: Atom,
        mut body: Vec<Part>,
        n_variables: u32,
        origin: RuleId,
    ) -> Result<(), TooManyRules> {
        while let Some(at) = body.iter().position(|part| matches!(part, Part::Equal(..))) {
            let Part::Equal(left, right) = body.swap_remove(at) else { unreachable!("found above") };
            match (left, right) {
                (left, right) if left == right => {}
                (Term::Var(var), term) | (term, Term::Var(var)) => {
                    let mut occurs = false;
                    term.for_each_var(&mut |other| occurs |= other == var);
                    if occurs {
                        return Ok(());
                    }
                    head.args.iter_mut().for_each(|arg| *arg = substitute(arg, var, &term));
                    body.iter_mut().for_each(|part| substitute_part(part, var, &term));
                }
                (Term::Func(left, left_args), Term::Func(right, right_args))
                    if left == right && left_args.len() == right_args.len() =>
                {
                    body.extend(left_args.iter().zip(&right_args).map(|(l, r)| Part::Equal(l.clone(), r.clone())));
                }
                _ => return Ok(()),
            }
        }
        if self.rules.len() >= self.limit {
            return Err(TooManyRules { rule: origin, limit: self.limit });
        }
        let literal = |part| match part {
            Part::Literal(literal) => literal,
            Part::Equal(..) => unreachable!("substituted above"),
        };
        let body = body.into_iter().map(literal).collect();
        let rule = NormalRule { head, body, n_variables, origin };
        self.split(rule);
        Ok(())
    }

    /// Replaces each literal that depends on the state and has variables of its own by a projection without them:
    /// `p(X) if does(R, move(X, Y)) and q(X)` becomes `p(X) if h(X) and q(X)`. Equal projections share a helper.
    fn project(&mut self, rule: &mut NormalRule) {
        if rule.body.len() < 2 {
            return;
        }
        let mut uses = vec![0u32; rule.n_variables as usize];
        rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| uses[var.0 as usize] += 2));
        for literal in &rule.body {
            literal.variables().iter().for_each(|var| uses[var.0 as usize] += 1);
        }
        for literal in &mut rule.body {
            let Literal::Positive(atom) = &*literal else { continue };
            let vars = literal.variables();
            let shared: Vec<VarId> = vars.iter().copied().filter(|var| uses[var.0 as usize] > 1).collect();
            if self.dynamic.contains(&atom.relation()) && shared.len() < vars.len() && !shared.is_empty() {
                *literal = Literal::Positive(self.projection(atom, &shared, rule.origin));
            }
        }
    }

    /// A helper that holds for the values that some variables of an atom can have. The same atom up to the names of its
    /// variables has the same helper.
    fn projection(&mut self, atom: &Atom, kept: &[VarId], origin: RuleId) -> Atom {
        let mut order: HashMap<VarId, u32> = (0..).zip(kept).map(|(place, &var)| (var, place)).collect();
        atom.args.iter().for_each(|arg| {
            arg.for_each_var(&mut |var| {
                let next = order.len() as u32;
                order.entry(var).or_insert(next);
            });
        });
        // The variables that are kept are numbered first.
        let args: Vec<Term> = atom.args.iter().map(|arg| rename(arg, &order)).collect();
        let key = (atom.name, args.clone(), kept.len());
        let name = match self.projections.get(&key) {
            Some(&name) => name,
            None => {
                let head = self.helper_head(&(0..kept.len() as u32).map(VarId).collect(), atom.span);
                let name = head.name;
                self.projections.insert(key, name);
                let body = vec![Literal::Positive(Atom { name: atom.name, args, span: atom.span })];
                self.rules.push(NormalRule { head, body, n_variables: order.len() as u32, origin });
                name
            }
        };
        Atom { name, args: kept.iter().map(|&var| Term::Var(var)).collect(), span: atom.span }
    }

    /// Keeps a rule, with groups of literals that share variables among themselves but little with the head moved to a
    /// helper relation: `p(X, Y) if q(X, Y) and r(X, Z) and s(Z)` becomes `p(X, Y) if q(X, Y) and h(X)`. A rule says as
    /// much about `X` once instead of once for every `Y`.
    fn split(&mut self, mut rule: NormalRule) {
        self.project(&mut rule);
        let mut in_head = BTreeSet::new();
        rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| _ = in_head.insert(var)));
        // Step 1. Group the literals by shared variables that the head does not have.
        let mut groups: Vec<(BTreeSet<VarId>, Vec<usize>)> = Vec::new();
        for (index, literal) in rule.body.iter().enumerate() {
            let mut merged: (BTreeSet<VarId>, Vec<usize>) = (literal.variables(), vec![index]);
            groups.retain(|(vars, members)| {
                let joined = vars.iter().any(|var| merged.0.contains(var) && !in_head.contains(var));
                if joined {
                    merged.0.extend(vars);
                    merged.1.extend(members);
                }
                !joined
            });
            groups.push(merged);
        }
        // Step 2. Move the groups for which it pays.
        let mut moved = Vec::new();
        for (vars, members) in &groups {
            let shared: BTreeSet<VarId> = vars.intersection(&in_head).copied().collect();
            let mut bound = BTreeSet::new();
            for &member in members {
                if let Literal::Positive(_) = rule.body[member] {
                    bound.extend(rule.body[member].variables());
                }
            }
            let pays =
                groups.len() > 1 && vars.len() > shared.len() && shared.len() < in_head.len() && members.len() > 1;
            if pays && let Some(domains) = self.domains(&rule, members, &shared, bound) {
                let head = self.helper_head(&shared, rule.head.span);
                let body = members.iter().map(|&member| rule.body[member].clone()).chain(domains).collect();
                self.rules.push(NormalRule {
                    head: head.clone(),
                    body,
                    n_variables: rule.n_variables,
                    origin: rule.origin,
                });
                moved.extend_from_slice(members);
                rule.body.push(Literal::Positive(head));
            }
        }
        moved.sort_unstable();
        let mut index = 0;
        rule.body.retain(|_| {
            index += 1;
            moved.binary_search(&(index - 1)).is_err()
        });
        self.rules.push(rule);
    }

    /// Literals that bind the shared variables that a group of literals only tests: projections of literals outside of the
    /// group, which hold whenever the rule applies. `None` if there are none.
    fn domains(
        &mut self,
        rule: &NormalRule,
        members: &[usize],
        shared: &BTreeSet<VarId>,
        mut bound: BTreeSet<VarId>,
    ) -> Option<Vec<Literal>> {
        let mut domains = Vec::new();
        while let Some(missing) = shared.iter().find(|var| !bound.contains(var)) {
            // A literal that does not depend on the state costs nothing later.
            let outside = rule.body.iter().enumerate().filter(|(index, _)| !members.contains(index));
            let positive = outside
                .filter_map(|(_, literal)| if let Literal::Positive(atom) = literal { Some(atom) } else { None });
            let atom = positive
                .filter(|atom| Literal::Positive((*atom).clone()).variables().contains(missing))
                .min_by_key(|atom| self.dynamic.contains(&atom.relation()))?
                .clone();
            let vars = Literal::Positive(atom.clone()).variables();
            let kept: Vec<VarId> =
                vars.iter().copied().filter(|var| shared.contains(var) && !bound.contains(var)).collect();
            domains.push(Literal::Positive(self.projection(&atom, &kept, rule.origin)));
            bound.extend(kept);
        }
        Some(domains)
    }

    fn helper_head(&mut self, shared: &BTreeSet<VarId>, span: Span) -> Atom {
        self.n_helpers += 1;
        // No name of a rule text holds a space.
        let name = self.symbols.intern(&format!("helper {}", self.n_helpers));
        Atom { name, args: shared.iter().map(|&var| Term::Var(var)).collect(), span }
    }

    /// The bodies that together mean "all of these hold", or "not all of these hold".
    fn conjunction(
        &mut self,
        formulas: &[Formula],
        negated: bool,
        bound: &BTreeSet<VarId>,
        n_variables: u32,
        origin: RuleId,
    ) -> Result<Vec<Vec<Part>>, TooManyRules> {
        let mut bodies: Vec<Vec<Part>> = if negated { Vec::new() } else { vec![Vec::new()] };
        for formula in formulas {
            let parts = self.formula(formula, negated, bound, n_variables, origin)?;
            if negated {
                bodies.extend(parts);
            } else {
                bodies = self.product(&bodies, &parts, origin)?;
            }
        }
        Ok(bodies)
    }

    /// Each of the bodies with each of some others behind it.
    fn product(
        &mut self,
        bodies: &[Vec<Part>],
        more: &[Vec<Part>],
        origin: RuleId,
    ) -> Result<Vec<Vec<Part>>, TooManyRules> {
        let too_many = TooManyRules { rule: origin, limit: self.limit };
        if bodies.len().saturating_mul(more.len()) > self.limit {
            return Err(too_many);
        }
        let size = more.len() * n_names(bodies) + bodies.len() * n_names(more);
        // A single body that grows is the rule as it stands.
        if bodies.len() * more.len() > 1 {
            self.names_left = self.names_left.checked_sub(size).ok_or(too_many)?;
        }
        let joined = |body: &Vec<Part>| -> Vec<Vec<Part>> {
            more.iter().map(|part| body.iter().chain(part).cloned().collect()).collect()
        };
        Ok(bodies.iter().flat_map(joined).collect())
    }

    fn formula(
        &mut self,
        formula: &Formula,
        negated: bool,
        bound: &BTreeSet<VarId>,
        n_variables: u32,
        origin: RuleId,
    ) -> Result<Vec<Vec<Part>>, TooManyRules> {
        let one = |part| vec![vec![part]];
        Ok(match (formula, negated) {
            (Formula::Atom(atom), false) => one(Part::Literal(Literal::Positive(atom.clone()))),
            (Formula::Distinct(left, right, _), _) => {
                let mut open = false;
                formula.for_each_var(&mut |var| open |= !bound.contains(&var));
                match (left == right, open) {
                    // An unbound variable differs from everything but itself.
                    (same, unbound) if same || unbound => {
                        let holds = same == negated;
                        if holds { vec![Vec::new()] } else { Vec::new() }
                    }
                    _ if negated => one(Part::Equal(left.clone(), right.clone())),
                    _ => one(Part::Literal(Literal::Distinct(left.clone(), right.clone()))),
                }
            }
            (Formula::Not(inner, _), true) => {
                // "There is a solution": its own variables have nothing to do with others of the same name.
                let mut shared = BTreeSet::new();
                let mut has_local = false;
                inner.for_each_var(&mut |var| {
                    if bound.contains(&var) { _ = shared.insert(var) } else { has_local = true }
                });
                if has_local {
                    one(Part::Literal(Literal::Positive(self.helper(inner, &shared, n_variables, origin)?)))
                } else {
                    self.formula(inner, false, bound, n_variables, origin)?
                }
            }
            (Formula::Not(inner, _), false) => self.formula(inner, true, bound, n_variables, origin)?,
            (Formula::And(parts, _), false) => self.conjunction(parts, false, bound, n_variables, origin)?,
            // Not one of them holds: the negation of a conjunction, with both signs turned round.
            (Formula::Or(parts, _), true) => {
                let mut bodies = vec![Vec::new()];
                for part in parts {
                    let more = self.formula(part, true, bound, n_variables, origin)?;
                    bodies = self.product(&bodies, &more, origin)?;
                }
                bodies
            }
            // Branches that each bind the same variables and test nothing else become a relation, not several rules.
            (Formula::Or(parts, span), false)
                if parts.len() > 1 && parts.iter().all(|part| same_variables(part, &parts[0])) =>
            {
                let head = self.helper_head(&parts[0].binds(), *span);
                for part in parts {
                    for body in self.formula(part, false, &part.binds(), n_variables, origin)? {
                        self.push(head.clone(), body, n_variables, origin)?;
                    }
                }
                one(Part::Literal(Literal::Positive(head)))
            }
            (Formula::Or(parts, _), false) => {
                let mut bodies = Vec::new();
                for part in parts {
                    // A variable that only this branch binds is local to it.
                    let mut inside = bound.clone();
                    inside.extend(part.binds());
                    bodies.extend(self.formula(part, false, &inside, n_variables, origin)?);
                }
                bodies
            }
            (Formula::Atom(_) | Formula::And(..), true) => {
                let mut shared = BTreeSet::new();
                let mut has_local = false;
                formula.for_each_var(&mut |var| {
                    if bound.contains(&var) { _ = shared.insert(var) } else { has_local = true }
                });
                match formula {
                    Formula::Atom(atom) if !has_local => one(Part::Literal(Literal::Negative(atom.clone()))),
                    Formula::And(parts, _) if !has_local => {
                        self.conjunction(parts, true, bound, n_variables, origin)?
                    }
                    _ => one(Part::Literal(Literal::Negative(self.helper(formula, &shared, n_variables, origin)?))),
                }
            }
        })
    }

    /// A new relation over the shared variables that holds whenever the formula has a solution.
    fn helper(
        &mut self,
        formula: &Formula,
        shared: &BTreeSet<VarId>,
        n_variables: u32,
        origin: RuleId,
    ) -> Result<Atom, TooManyRules> {
        let head = self.helper_head(shared, formula.span());
        let mut bound = formula.binds();
        let unbound: Vec<VarId> = shared.iter().copied().filter(|var| !bound.contains(var)).collect();
        if !unbound.is_empty() {
            // A shared variable that the formula only tests can't be enumerated by the helper.
            return Err(TooManyRules { rule: origin, limit: self.limit });
        }
        bound.extend(shared);
        let bodies = self.formula(formula, false, &bound, n_variables, origin)?;
        for body in bodies {
            self.push(head.clone(), body, n_variables, origin)?;
        }
        Ok(head)
    }
}

/// Whether a formula binds just the variables that another binds, and has no others.
fn same_variables(formula: &Formula, other: &Formula) -> bool {
    let bound = formula.binds();
    let mut only_bound = true;
    formula.for_each_var(&mut |var| only_bound &= bound.contains(&var));
    only_bound && !bound.is_empty() && bound == other.binds()
}

/// The term with each variable replaced by its place in `order`.
fn rename(term: &Term, order: &HashMap<VarId, u32>) -> Term {
    match term {
        Term::Var(var) => Term::Var(VarId(order[var])),
        Term::Const(_) => term.clone(),
        Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| rename(arg, order)).collect()),
    }
}

fn substitute(term: &Term, var: VarId, value: &Term) -> Term {
    match term {
        Term::Var(other) if *other == var => value.clone(),
        Term::Var(_) | Term::Const(_) => term.clone(),
        Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| substitute(arg, var, value)).collect()),
    }
}

fn substitute_part(part: &mut Part, var: VarId, value: &Term) {
    match part {
        Part::Literal(Literal::Positive(atom) | Literal::Negative(atom)) => {
            atom.args.iter_mut().for_each(|arg| *arg = substitute(arg, var, value));
        }
        Part::Literal(Literal::Distinct(left, right)) | Part::Equal(left, right) => {
            (*left, *right) = (substitute(left, var, value), substitute(right, var, value));
        }
    }
}

impl Normal {
    /// The rules whose head is this relation, by position.
    pub fn rules_of(&self, relation: Relation) -> impl Iterator<Item = usize> + '_ {
        (0..self.rules.len()).filter(move |&rule| self.rules[rule].head.relation() == relation)
    }
}

/// An atom that stands nowhere in the text.
pub(crate) fn made_up(name: SymbolId, args: Vec<Term>) -> Atom {
    Atom { name, args, span: Span::default() }
}
