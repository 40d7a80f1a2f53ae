//! Which rules depend on which, and the order in which to evaluate them.
//!
//! Relations that depend on each other are evaluated together, unless one of them reads the negation of another. Then a
//! rule depends only on the rules whose heads unify with its literals, which is finer than a dependency between
//! relations: `(<= (goal ?r 100) (not (goal ?r 0)))`, which real games have, is stratified in this sense. The facts of
//! such relations become known part by part, so they are never derived on demand: a procedure runs all rules of its
//! relation.

use rustc_hash::FxHashMap;

use super::{DOES, Database, Group, Level, Mode, ROLE, TRUE, Unevaluable};
use crate::program::{Atom, Formula, Relation, Term};

/// How many pairs of a literal and a head are compared before rules that read their own negation are given up.
const MAX_RULE_PAIRS: usize = 1 << 22;

impl Database {
    /// Finds the groups of mutually dependent rules, the order in which to evaluate them, and what the facts of each
    /// table depend on.
    pub(super) fn stratify(&mut self) -> Result<(), Unevaluable> {
        let program = self.program.clone();
        let n_tables = self.tables.len();
        // Step 1. Which tables are read for which, and by which rules under `not`.
        let mut reads = vec![Vec::new(); n_tables];
        let mut negative = Vec::new();
        for (index, planned) in self.rules.iter().enumerate() {
            let rule = &program.rules[planned.rule.0 as usize];
            let reads = &mut reads[planned.table];
            let mut visit = |atom: &Atom, under_not: bool| {
                let table = self.relations[&atom.relation()];
                reads.push(table);
                if under_not {
                    negative.push((index, table));
                }
            };
            rule.body.iter().for_each(|formula| for_each_read(formula, false, &mut visit));
            if rule.implicit_role().is_some() {
                reads.push(self.relations[&ROLE]);
            }
        }
        for reads in &mut reads {
            reads.sort_unstable();
            reads.dedup();
        }
        let components = crate::graph::components(&reads);
        let mut component_of = vec![0; n_tables];
        for (number, tables) in components.iter().enumerate() {
            tables.iter().for_each(|&table| component_of[table] = number);
        }
        // Step 2. Levels, lower components first.
        self.levels = vec![Level::Static; n_tables];
        self.levels[self.relations[&TRUE]] = Level::State;
        self.levels[self.relations[&DOES]] = Level::Moves;
        for tables in &components {
            let below = tables.iter().flat_map(|&table| reads[table].iter().chain([&tables[0]]));
            let level = below.map(|&table| self.levels[table]).max().unwrap_or(Level::Static);
            tables.iter().for_each(|&table| self.levels[table] = level);
        }
        // Step 3. Groups: all rules of a component, unless the component reads itself under `not`. Then its rules may still
        // be stratified one by one. Its tables are completed part by part, so they can't be asked on demand.
        let mut reads_own_negation = vec![None; components.len()];
        for &(rule, table) in &negative {
            let component = component_of[self.rules[rule].table];
            if component == component_of[table] {
                reads_own_negation[component].get_or_insert(rule);
            }
        }
        self.readers_of = vec![Vec::new(); n_tables];
        for (reader, reads) in reads.iter().enumerate() {
            reads.iter().for_each(|&table| self.readers_of[table].push(reader));
        }
        self.groups_of = vec![Vec::new(); n_tables];
        self.last_group_of = vec![None; n_tables];
        self.needs = vec![None; n_tables];
        for (tables, culprit) in components.iter().zip(reads_own_negation) {
            if tables.iter().any(|&table| self.modes[table] == Mode::AlwaysComplete) {
                tables.iter().for_each(|&table| self.modes[table] = Mode::AlwaysComplete);
            }
            let mut rules: Vec<usize> = tables.iter().flat_map(|&table| &self.rules_of[table]).copied().collect();
            rules.sort_unstable();
            if let Some(culprit) = culprit {
                tables.iter().for_each(|&table| self.modes[table] = Mode::AlwaysComplete);
                self.stratify_rules(&rules, culprit, tables, &reads)?;
            } else if !rules.is_empty() {
                let reads_itself = |&table: &usize| reads[table].iter().any(|read| tables.binary_search(read).is_ok());
                self.add_group(rules, tables.iter().any(reads_itself), Vec::new(), tables, &reads);
            }
        }
        Ok(())
    }

    /// Groups the rules of a component by which rules can really use which others' conclusions.
    fn stratify_rules(
        &mut self,
        rules: &[usize],
        culprit: usize,
        component: &[usize],
        reads: &[Vec<usize>],
    ) -> Result<(), Unevaluable> {
        let program = self.program.clone();
        let head = |rule: usize| &program.rules[self.rules[rule].rule.0 as usize].head;
        let mut by_head: FxHashMap<Relation, Vec<usize>> = FxHashMap::default();
        for (index, &rule) in rules.iter().enumerate() {
            by_head.entry(head(rule).relation()).or_default().push(index);
        }
        let mut edges = vec![Vec::new(); rules.len()];
        let mut negative = Vec::new();
        let mut n_pairs = 0;
        for (index, &rule) in rules.iter().enumerate() {
            let mut visit = |atom: &Atom, under_not: bool| {
                let sources = by_head.get(&atom.relation()).map_or(&[][..], Vec::as_slice);
                n_pairs += sources.len();
                if n_pairs > MAX_RULE_PAIRS {
                    return;
                }
                for &source in sources {
                    if atom.args.iter().zip(&head(rules[source]).args).all(|(left, right)| may_unify(left, right)) {
                        edges[index].push(source);
                        if under_not {
                            negative.push((index, source));
                        }
                    }
                }
            };
            let body = &program.rules[self.rules[rule].rule.0 as usize].body;
            body.iter().for_each(|formula| for_each_read(formula, false, &mut visit));
        }
        if n_pairs > MAX_RULE_PAIRS {
            return Err(Unevaluable::TooComplex(self.rules[culprit].rule));
        }
        let components = crate::graph::components(&edges);
        let mut component_of = vec![0; rules.len()];
        for (number, members) in components.iter().enumerate() {
            members.iter().for_each(|&member| component_of[member] = number);
        }
        if let Some(&(index, _)) = negative.iter().find(|(from, to)| component_of[*from] == component_of[*to]) {
            return Err(Unevaluable::Unstratified(self.rules[rules[index]].rule));
        }
        let first_group = self.groups.len();
        for (number, members) in components.iter().enumerate() {
            let below: Vec<usize> =
                members.iter().flat_map(|&member| &edges[member]).map(|&index| component_of[index]).collect();
            let recursive = below.contains(&number);
            let below: Vec<usize> = below.into_iter().map(|component| first_group + component).collect();
            let members = members.iter().map(|&member| rules[member]).collect();
            self.add_group(members, recursive, below, component, reads);
        }
        // Others wait for all of them together.
        let (all, level) = ((first_group..self.groups.len()).collect(), self.levels[component[0]]);
        component.iter().for_each(|&table| self.last_group_of[table] = Some(self.groups.len()));
        self.groups.push(Group::new(Vec::new(), Vec::new(), level, false, all));
        Ok(())
    }

    /// Adds a group of rules of a component, above the groups `below` and those of the other tables that are read.
    fn add_group(
        &mut self,
        rules: Vec<usize>,
        recursive: bool,
        mut below: Vec<usize>,
        component: &[usize],
        reads: &[Vec<usize>],
    ) {
        let number = self.groups.len();
        let mut tables: Vec<usize> = rules.iter().map(|&rule| self.rules[rule].table).collect();
        tables.sort_unstable();
        tables.dedup();
        let others =
            tables.iter().flat_map(|&table| &reads[table]).filter(|read| component.binary_search(read).is_err());
        below.extend(others.filter_map(|&table| self.last_group_of[table]));
        below.sort_unstable();
        below.dedup();
        below.retain(|&group| group != number);
        let level = tables.iter().map(|&table| self.levels[table]).max().expect("a group has rules");
        for &table in &tables {
            self.groups_of[table].push(number);
            self.last_group_of[table] = Some(number);
        }
        self.groups.push(Group::new(rules, tables, level, recursive, below));
    }

    /// The groups to evaluate, in order, until all facts of a table are known.
    pub(super) fn needs(&mut self, table: usize) -> std::sync::Arc<[usize]> {
        if let Some(needs) = &self.needs[table] {
            return needs.clone();
        }
        let mut needed = vec![false; self.groups.len()];
        let mut stack: Vec<usize> = self.last_group_of[table].into_iter().collect();
        while let Some(group) = stack.pop() {
            if !std::mem::replace(&mut needed[group], true) {
                stack.extend_from_slice(&self.groups[group].below);
            }
        }
        // Groups are numbered lower strata first, so ascending order is evaluation order.
        let needs: std::sync::Arc<[usize]> = (0..needed.len()).filter(|&group| needed[group]).collect();
        self.needs[table] = Some(needs.clone());
        needs
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
