//! The order in which a body is evaluated.
//!
//! A rule's author may write literals in any order; the planner chooses its own. Tests (`distinct`, `not`, literals
//! without free variables) run as soon as their variables are bound. Among the literals that bind variables, the one
//! with the fewest expected matches goes first. Whenever the literals that are left fall apart into groups that share
//! no free variable, a group that binds nothing the head needs is only asked whether it has a solution, so that
//! unrelated literals never multiply each other.

use rustc_hash::FxHashMap;

use super::table::Pattern;
use super::terms::TermId;
use crate::program::{Term, VarId};
use crate::symbol::SymbolId;

/// A body literal with its relation resolved to a table.
#[derive(Clone, Debug)]
pub(super) enum Goal<'a> {
    Atom {
        table: usize,
        args: &'a [Term],
        /// Its number among the literals of the body that may be read from the newest facts alone.
        occurrence: u32,
    },
    Distinct(&'a Term, &'a Term),
    Not(Vec<Goal<'a>>),
    Or(Vec<Vec<Goal<'a>>>),
}

/// How to get a term while the variables of a rule have values.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Term(TermId),
    Slot(u32),
    Build(SymbolId, Vec<Value>),
}

/// One step of a plan. The steps that follow run once for each way in which a step succeeds.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Looks facts up and binds variables to their parts.
    Scan { table: usize, index: usize, key: Vec<Value>, out: Vec<u32> },
    /// The same for the newest facts of a table.
    ScanNewest { table: usize, patterns: Vec<Pattern>, key: Vec<Value>, out: Vec<u32> },
    /// Tests whether a fact holds.
    Contains { table: usize, args: Vec<Value> },
    /// Asks a procedure for the facts with a given key.
    Call { procedure: usize, key: Vec<Value>, patterns: Vec<Pattern>, parts: Vec<Value>, out: Vec<u32> },
    /// Takes a known term apart: tests its parts and binds variables to others.
    Match { value: Value, pattern: Pattern, key: Vec<Value>, out: Vec<u32> },
    /// Tests whether two terms differ.
    Distinct(Value, Value),
    /// Tests that the steps have no solution.
    Not(Vec<Step>),
    /// Tests that the steps have a solution.
    Exists(Vec<Step>),
    /// Runs each branch.
    Or(Vec<Vec<Step>>),
    /// Never succeeds.
    Fail,
}

/// A set of variables of one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VarSet(Vec<u64>);

impl VarSet {
    pub(super) fn insert(&mut self, var: VarId) {
        let word = var.0 as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (var.0 % 64);
    }

    pub(super) fn contains(&self, var: VarId) -> bool {
        self.0.get(var.0 as usize / 64).is_some_and(|word| word >> (var.0 % 64) & 1 == 1)
    }

    fn extend(&mut self, other: &VarSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn intersect(&mut self, other: &VarSet) {
        for (index, word) in self.0.iter_mut().enumerate() {
            *word &= other.0.get(index).copied().unwrap_or(0);
        }
    }

    fn without(&self, other: &VarSet) -> VarSet {
        let word = |(index, word): (usize, &u64)| word & !other.0.get(index).copied().unwrap_or(0);
        VarSet(self.0.iter().enumerate().map(word).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let bits = |(index, &word): (usize, &u64)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    fn meets(&self, other: &VarSet) -> bool {
        self.0.iter().zip(&other.0).any(|(left, right)| left & right != 0)
    }
}

/// What the planner asks of the database.
pub(super) trait Catalog {
    /// The ground term, made if it is new.
    fn intern(&mut self, name: SymbolId, args: &[TermId]) -> TermId;
    /// The number of the table's index for these patterns.
    fn index(&mut self, table: usize, patterns: &[Pattern]) -> usize;
    /// How many matches to expect of a lookup in this table.
    fn fan_out(&mut self, table: usize, patterns: &[Pattern]) -> f64;
    /// Whether a body with this table is evaluated in the order in which it is written.
    fn is_as_written(&self, table: usize) -> bool;
    /// For a table whose facts are derived on demand: the procedure that finds those with given values in the arguments
    /// that `known` marks.
    fn procedure(&mut self, table: usize, known: &[bool]) -> Option<usize>;
}

/// Plans a rule of a procedure: the values of the known arguments of the head are in the slots from `first_key_slot` on.
pub(super) fn plan_procedure(
    catalog: &mut dyn Catalog,
    goals: Vec<Goal<'_>>,
    head: &[Term],
    known: &[bool],
    first_key_slot: u32,
) -> (Vec<Step>, Vec<Value>) {
    let mut planner = Planner::new(catalog);
    let mut live = VarSet::default();
    head.iter().for_each(|arg| arg.for_each_var(&mut |var| live.insert(var)));
    goals.iter().for_each(|goal| live.extend(&vars(goal)));
    let mut bound = VarSet::default();
    let mut steps = Vec::new();
    for (number, (arg, _)) in head.iter().zip(known).filter(|(_, known)| **known).enumerate() {
        let (mut patterns, key, out) = planner.patterns(std::slice::from_ref(arg), &bound, &live);
        out.iter().for_each(|&slot| bound.insert(VarId(slot)));
        let value = Value::Slot(first_key_slot + number as u32);
        steps.push(Step::Match { value, pattern: patterns.remove(0), key, out });
    }
    let wanted: Vec<&Term> = head.iter().zip(known).filter(|(_, known)| !**known).map(|(arg, _)| arg).collect();
    let mut needed = VarSet::default();
    wanted.iter().for_each(|arg| arg.for_each_var(&mut |var| needed.insert(var)));
    let mut body = Vec::new();
    planner.conjunction(goals, bound.clone(), &needed, &mut body);
    if needed.without(&bound).is_empty() {
        steps.push(Step::Exists(body));
    } else {
        steps.extend(body);
    }
    (steps, wanted.into_iter().map(|arg| planner.value(arg)).collect())
}

/// How many facts a rule of a procedure is expected to find for given values of the known arguments of the head.
pub(super) fn estimate(catalog: &mut dyn Catalog, goals: Vec<Goal<'_>>, head: &[Term], known: &[bool]) -> f64 {
    let mut planner = Planner { dry: true, ..Planner::new(catalog) };
    let (mut bound, mut needed) = (VarSet::default(), VarSet::default());
    for (arg, &known) in head.iter().zip(known) {
        arg.for_each_var(&mut |var| if known { bound.insert(var) } else { needed.insert(var) });
    }
    planner.conjunction(goals, bound, &needed, &mut Vec::new());
    planner.n_matches
}

/// Plans a body. `newest`, if given, names the occurrence that is read from the newest facts, first of all.
/// Variables of `needed` are bound when all steps have succeeded, if the body binds them at all.
pub(super) fn plan(catalog: &mut dyn Catalog, goals: &[Goal<'_>], needed: &VarSet, newest: Option<u32>) -> Vec<Step> {
    let mut planner = Planner::new(catalog);
    let mut goals: Vec<Goal<'_>> = goals.to_vec();
    let mut steps = Vec::new();
    let mut bound = VarSet::default();
    if let Some(wanted) = newest {
        let first = take_occurrence(&mut goals, wanted).expect("the occurrence is in the body");
        let Goal::Atom { table, args, .. } = first else { unreachable!("only atoms are occurrences") };
        let mut live = needed.clone();
        goals.iter().for_each(|goal| live.extend(&vars(goal)));
        let (patterns, key, out) = planner.patterns(args, &bound, &live);
        out.iter().for_each(|&slot| bound.insert(VarId(slot)));
        steps.push(Step::ScanNewest { table, patterns, key, out });
    }
    planner.conjunction(goals, bound, needed, &mut steps);
    steps
}

/// Removes the atom with this number from the goals and returns it. A disjunction that holds it is replaced by the
/// rest of its branch.
fn take_occurrence<'a>(goals: &mut Vec<Goal<'a>>, wanted: u32) -> Option<Goal<'a>> {
    for index in 0..goals.len() {
        match &mut goals[index] {
            Goal::Atom { occurrence, .. } if *occurrence == wanted => return Some(goals.remove(index)),
            Goal::Or(branches) => {
                for branch in branches {
                    if let Some(found) = take_occurrence(branch, wanted) {
                        let rest = std::mem::take(branch);
                        goals.splice(index..=index, rest);
                        return Some(found);
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Every variable of a goal.
pub(super) fn vars(goal: &Goal<'_>) -> VarSet {
    let mut set = VarSet::default();
    match goal {
        Goal::Atom { args, .. } => args.iter().for_each(|arg| arg.for_each_var(&mut |var| set.insert(var))),
        Goal::Distinct(left, right) => {
            left.for_each_var(&mut |var| set.insert(var));
            right.for_each_var(&mut |var| set.insert(var));
        }
        Goal::Not(inner) => inner.iter().for_each(|goal| set.extend(&vars(goal))),
        Goal::Or(branches) => branches.iter().flatten().for_each(|goal| set.extend(&vars(goal))),
    }
    set
}

/// The variables that have a value once the goal has succeeded.
fn binds(goal: &Goal<'_>) -> VarSet {
    match goal {
        Goal::Atom { .. } => vars(goal),
        Goal::Distinct(..) | Goal::Not(_) => VarSet::default(),
        Goal::Or(branches) => {
            let mut common: Option<VarSet> = None;
            for branch in branches {
                let bound = binds_all(branch);
                match &mut common {
                    Some(common) => common.intersect(&bound),
                    None => common = Some(bound),
                }
            }
            common.unwrap_or_default()
        }
    }
}

fn binds_all(goals: &[Goal<'_>]) -> VarSet {
    let mut set = VarSet::default();
    goals.iter().for_each(|goal| set.extend(&binds(goal)));
    set
}

struct Planner<'c> {
    catalog: &'c mut dyn Catalog,
    /// What the catalog has said about fan-outs.
    fan_outs: FxHashMap<(usize, Vec<Pattern>), f64>,
    /// The product of the fan-outs of all literals that bind variables; those of tests are left out.
    n_matches: f64,
    /// Whether only that is wanted, and no plan.
    dry: bool,
}

/// The goals of a conjunction that are still to be planned, each with its variables.
struct Open<'a> {
    goals: Vec<(Goal<'a>, VarSet)>,
    /// The variables that get a value in this conjunction. Others are local to a `not`, or unsafe.
    bindable: VarSet,
}

impl<'a> Open<'a> {
    fn new(goals: Vec<Goal<'a>>, bound: &VarSet) -> Open<'a> {
        let mut bindable = binds_all(&goals);
        bindable.extend(bound);
        let with_vars = |goal| {
            let vars = vars(&goal);
            (goal, vars)
        };
        Open { goals: goals.into_iter().map(with_vars).collect(), bindable }
    }

    /// The variables that occur, and those that occur in more than one goal.
    fn occurring(&self) -> (VarSet, VarSet) {
        let (mut once, mut twice) = (VarSet::default(), VarSet::default());
        for (_, vars) in &self.goals {
            let mut again = vars.clone();
            again.intersect(&once);
            twice.extend(&again);
            once.extend(vars);
        }
        (once, twice)
    }

    /// For each goal, the variables that other goals, or the head, see.
    fn seen_by_others(&self, needed: &VarSet) -> impl Fn(&VarSet) -> VarSet + use<> {
        let (once, mut twice) = self.occurring();
        twice.extend(needed);
        move |vars| {
            let mut seen = once.without(vars);
            seen.extend(&twice);
            seen
        }
    }
}

impl<'c> Planner<'c> {
    fn new(catalog: &'c mut dyn Catalog) -> Planner<'c> {
        Planner { catalog, fan_outs: FxHashMap::default(), n_matches: 1.0, dry: false }
    }

    fn conjunction(&mut self, goals: Vec<Goal<'_>>, mut bound: VarSet, needed: &VarSet, steps: &mut Vec<Step>) {
        let mut open = Open::new(goals, &bound);
        loop {
            // Step 1. Run every test whose variables are bound, the cheapest kind first.
            while let Some(index) = ready_test(&open, &bound, needed) {
                let (goal, _) = open.goals.remove(index);
                self.test(goal, &bound, steps);
            }
            if open.goals.is_empty() {
                return;
            }
            // Step 2. A group of goals that binds nothing needed is a test, too. (If nothing at all is needed, the caller
            // stops at the first solution by itself.)
            let groups = components(&open, &bound);
            let wanted = needed.without(&bound);
            let idle = groups.iter().find(|group| !group.iter().any(|&index| open.goals[index].1.meets(&wanted)));
            if let Some(group) = idle
                && !(groups.len() == 1 && needed.is_empty())
            {
                let inner = take_all(&mut open.goals, group);
                if self.dry {
                    continue;
                }
                let mut inner_steps = Vec::new();
                self.conjunction(inner, bound.clone(), &VarSet::default(), &mut inner_steps);
                steps.push(Step::Exists(inner_steps));
                continue;
            }
            // Step 3. Bind variables by the goal with the fewest expected matches. (There is one that need not wait: see
            // `distribute`.)
            let seen_by_others = open.seen_by_others(needed);
            let as_written = open.goals.iter().any(|(goal, _)| self.is_as_written(goal));
            let mut best: Option<(f64, usize)> = None;
            for (index, (goal, vars)) in open.goals.iter().enumerate() {
                if as_written && best.is_some() {
                    break;
                }
                if let Some(cost) = self.cost(goal, &seen_by_others(vars), &bound, &open.bindable)
                    && best.is_none_or(|(least, _)| cost < least)
                {
                    best = Some((cost, index));
                }
            }
            let (goal, _) = open.goals.remove(best.map_or(0, |(_, index)| index));
            self.n_matches *= best.map_or(1.0, |(cost, _)| cost);
            let (mut live, _) = open.occurring();
            live.extend(needed);
            if self.dry {
                bound.extend(&binds(&goal));
                continue;
            }
            self.generate(goal, &live, &mut bound, steps);
        }
    }

    fn is_as_written(&self, goal: &Goal<'_>) -> bool {
        match goal {
            Goal::Atom { table, .. } => self.catalog.is_as_written(*table),
            Goal::Or(branches) => branches.iter().flatten().any(|goal| self.is_as_written(goal)),
            Goal::Distinct(..) | Goal::Not(_) => false,
        }
    }

    fn test(&mut self, goal: Goal<'_>, bound: &VarSet, steps: &mut Vec<Step>) {
        if self.dry {
            return;
        }
        match goal {
            Goal::Atom { table, args, .. } => {
                let key = args.iter().map(|arg| self.value(arg)).collect();
                steps.push(match self.catalog.procedure(table, &vec![true; args.len()]) {
                    Some(procedure) => {
                        Step::Call { procedure, key, patterns: Vec::new(), parts: Vec::new(), out: Vec::new() }
                    }
                    None => Step::Contains { table, args: key },
                });
            }
            Goal::Distinct(left, right) => {
                // An unbound variable differs from everything but itself.
                let open = !vars(&Goal::Distinct(left, right)).without(bound).is_empty();
                if left == right {
                    steps.push(Step::Fail);
                } else if !open {
                    steps.push(Step::Distinct(self.value(left), self.value(right)));
                }
            }
            Goal::Not(inner) => {
                let mut inner_steps = Vec::new();
                self.conjunction(inner, bound.clone(), &VarSet::default(), &mut inner_steps);
                steps.push(Step::Not(inner_steps));
            }
            Goal::Or(branches) => {
                let branches = self.branches(branches, bound, &VarSet::default());
                steps.push(Step::Exists(vec![Step::Or(branches)]));
            }
        }
    }

    fn branches(&mut self, branches: Vec<Vec<Goal<'_>>>, bound: &VarSet, needed: &VarSet) -> Vec<Vec<Step>> {
        let plan_branch = |goals| {
            let mut steps = Vec::new();
            self.conjunction(goals, bound.clone(), needed, &mut steps);
            steps
        };
        branches.into_iter().map(plan_branch).collect()
    }

    /// The expected number of matches, or `None` if the goal must wait. `live` are the variables that others see.
    fn cost(&mut self, goal: &Goal<'_>, live: &VarSet, bound: &VarSet, bindable: &VarSet) -> Option<f64> {
        match goal {
            Goal::Atom { table, args, .. } => {
                let patterns = patterns_only(args, bound, live);
                let catalog = &mut *self.catalog;
                let fan_out = |key: &(usize, Vec<Pattern>)| catalog.fan_out(key.0, &key.1);
                Some(*self.fan_outs.entry((*table, patterns)).or_insert_with_key(fan_out))
            }
            Goal::Distinct(..) | Goal::Not(_) => None,
            Goal::Or(branches) => {
                // Variables that others share but that this disjunction does not bind must come first.
                let mut waits_for = vars(goal).without(bound).without(&binds(goal));
                waits_for.intersect(live);
                waits_for.intersect(bindable);
                if !waits_for.is_empty() {
                    return None;
                }
                let mut sum = 0.0;
                for branch in branches {
                    let mut least = f64::INFINITY;
                    for goal in branch {
                        let vars = vars(goal);
                        if vars.without(bound).is_empty() {
                            least = f64::min(least, 1.0);
                        } else if let Some(cost) = self.cost(goal, &vars, bound, bindable) {
                            least = f64::min(least, cost);
                        }
                    }
                    sum += if least.is_finite() { least } else { 0.0 };
                }
                Some(sum)
            }
        }
    }

    /// Adds the steps of a goal that binds variables; `live` are those that somebody else sees.
    fn generate(&mut self, goal: Goal<'_>, live: &VarSet, bound: &mut VarSet, steps: &mut Vec<Step>) {
        match goal {
            Goal::Atom { table, args, .. } => {
                let is_known = |arg: &Term| {
                    let mut known = true;
                    arg.for_each_var(&mut |var| known &= bound.contains(var));
                    known
                };
                let known: Vec<bool> = args.iter().map(is_known).collect();
                if let Some(procedure) = self.catalog.procedure(table, &known) {
                    let key = args.iter().filter(|arg| is_known(arg)).map(|arg| self.value(arg)).collect();
                    let open: Vec<Term> = args.iter().filter(|arg| !is_known(arg)).cloned().collect();
                    let (patterns, parts, out) = self.patterns(&open, bound, live);
                    out.iter().for_each(|&slot| bound.insert(VarId(slot)));
                    steps.push(Step::Call { procedure, key, patterns, parts, out });
                    return;
                }
                let (patterns, key, out) = self.patterns(args, bound, live);
                let index = self.catalog.index(table, &patterns);
                out.iter().for_each(|&slot| bound.insert(VarId(slot)));
                steps.push(Step::Scan { table, index, key, out });
            }
            Goal::Or(branches) => {
                let mut wanted = binds(&Goal::Or(branches.clone()));
                let outer = wanted.clone();
                wanted.intersect(live);
                let branches = self.branches(branches, bound, &wanted);
                bound.extend(&outer_bound(&outer, &wanted));
                steps.push(Step::Or(branches));
            }
            test => self.test(test, bound, steps),
        }
    }

    /// The patterns of an atom's arguments, with the values of the key and the variables of the output.
    fn patterns(&mut self, args: &[Term], bound: &VarSet, live: &VarSet) -> (Vec<Pattern>, Vec<Value>, Vec<u32>) {
        let patterns = patterns_only(args, bound, live);
        let (mut key, mut out) = (Vec::new(), Vec::new());
        for (arg, pattern) in args.iter().zip(&patterns) {
            self.collect(arg, pattern, &mut key, &mut out);
        }
        (patterns, key, out)
    }

    fn collect(&mut self, term: &Term, pattern: &Pattern, key: &mut Vec<Value>, out: &mut Vec<u32>) {
        match (pattern, term) {
            (Pattern::Key, term) => key.push(self.value(term)),
            (Pattern::Out, Term::Var(var)) => out.push(var.0),
            (Pattern::Shape(_, parts), Term::Func(_, args)) => {
                args.iter().zip(parts).for_each(|(arg, part)| self.collect(arg, part, key, out));
            }
            _ => {}
        }
    }

    /// How to build a term whose variables are all bound.
    pub(super) fn value(&mut self, term: &Term) -> Value {
        match term {
            Term::Var(var) => Value::Slot(var.0),
            Term::Const(name) => Value::Term(self.catalog.intern(*name, &[])),
            Term::Func(name, args) => {
                let args: Vec<Value> = args.iter().map(|arg| self.value(arg)).collect();
                let ground: Option<Vec<TermId>> =
                    args.iter().map(|arg| if let Value::Term(term) = arg { Some(*term) } else { None }).collect();
                match ground {
                    Some(args) => Value::Term(self.catalog.intern(*name, &args)),
                    None => Value::Build(*name, args),
                }
            }
        }
    }
}

/// How to build the arguments of a head.
pub(super) fn head_values(catalog: &mut dyn Catalog, args: &[Term]) -> Vec<Value> {
    let mut planner = Planner::new(catalog);
    args.iter().map(|arg| planner.value(arg)).collect()
}

/// The variables that stay visible after a disjunction: those it binds in every branch and somebody wants.
fn outer_bound(binds: &VarSet, wanted: &VarSet) -> VarSet {
    let mut visible = binds.clone();
    visible.intersect(wanted);
    visible
}

fn patterns_only(args: &[Term], bound: &VarSet, live: &VarSet) -> Vec<Pattern> {
    fn walk(term: &Term, bound: &VarSet, live: &VarSet, repeated: &VarSet, outs: &mut Vec<VarId>) -> Pattern {
        let mut open = VarSet::default();
        term.for_each_var(&mut |var| {
            if !bound.contains(var) {
                open.insert(var);
            }
        });
        if open.is_empty() {
            return Pattern::Key;
        }
        match term {
            Term::Var(var) => match outs.iter().position(|out| out == var) {
                Some(earlier) => Pattern::Same(earlier as u32),
                None if live.contains(*var) || repeated.contains(*var) => {
                    outs.push(*var);
                    Pattern::Out
                }
                None => Pattern::Any,
            },
            Term::Const(_) => Pattern::Key,
            Term::Func(name, args) => {
                Pattern::Shape(*name, args.iter().map(|arg| walk(arg, bound, live, repeated, outs)).collect())
            }
        }
    }
    let (mut once, mut repeated) = (VarSet::default(), VarSet::default());
    for arg in args {
        arg.for_each_var(&mut |var| if once.contains(var) { repeated.insert(var) } else { once.insert(var) });
    }
    let mut outs = Vec::new();
    args.iter().map(|arg| walk(arg, bound, live, &repeated, &mut outs)).collect()
}

/// A goal that needs no further variable and binds none.
fn ready_test(open: &Open<'_>, bound: &VarSet, needed: &VarSet) -> Option<usize> {
    let mut seen_by_others = None;
    let mut rank = |(goal, vars): &(Goal<'_>, VarSet)| {
        let mut unbound = vars.without(bound);
        match goal {
            Goal::Atom { .. } => unbound.is_empty().then_some(1),
            Goal::Distinct(..) => {
                unbound.intersect(&open.bindable);
                unbound.is_empty().then_some(0)
            }
            Goal::Not(_) => {
                unbound.intersect(&open.bindable);
                unbound.is_empty().then_some(2)
            }
            Goal::Or(_) => {
                let seen = seen_by_others.get_or_insert_with(|| open.seen_by_others(needed));
                unbound.intersect(&seen(vars));
                unbound.is_empty().then_some(3)
            }
        }
    };
    let ranked = open.goals.iter().enumerate().filter_map(|(index, goal)| Some((rank(goal)?, index)));
    ranked.min().map(|(_, index)| index)
}

/// The goals' indices, grouped so that goals of different groups share no unbound variable.
fn components(open: &Open<'_>, bound: &VarSet) -> Vec<Vec<usize>> {
    // Each goal points at an earlier one of its group, or at itself.
    let mut earlier: Vec<usize> = (0..open.goals.len()).collect();
    fn first(earlier: &mut [usize], mut index: usize) -> usize {
        while earlier[index] != index {
            earlier[index] = earlier[earlier[index]];
            index = earlier[index];
        }
        index
    }
    let mut first_with: FxHashMap<usize, usize> = FxHashMap::default();
    for (index, (_, vars)) in open.goals.iter().enumerate() {
        let mut unbound = vars.without(bound);
        unbound.intersect(&open.bindable);
        for var in unbound.iter() {
            let other = *first_with.entry(var).or_insert(index);
            let (here, there) = (first(&mut earlier, index), first(&mut earlier, other));
            earlier[here.max(there)] = here.min(there);
        }
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); open.goals.len()];
    for index in 0..open.goals.len() {
        groups[first(&mut earlier, index)].push(index);
    }
    groups.retain(|members| !members.is_empty());
    groups
}

fn take_all<'a>(goals: &mut Vec<(Goal<'a>, VarSet)>, indices: &[usize]) -> Vec<Goal<'a>> {
    let mut taken: Vec<Goal<'a>> = indices.iter().rev().map(|&index| goals.remove(index).0).collect();
    taken.reverse();
    taken
}
