//! Which names can occur where: for each argument of each relation and function, an upper bound on what the rules can
//! put there.
//!
//! The bound is the least one that respects all rules: an argument of a head can be whatever its variable can be in all
//! positive literals of the body at once. Only the top of a term is looked at; the arguments of a function are bounded
//! together, wherever the function stands. `true` is bounded by `init` and `next`, and `does` by `legal`.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::program::{Atom, Formula, Program, Relation, Rule, Term, VarId};
use crate::symbol::{SymbolId, keyword};

/// How many words of bits are touched before the analysis gives up.
const MAX_WORK: usize = 100_000_000;
/// How many words of bits all domains together may have.
const MAX_WORDS: usize = 4_000_000;

/// An argument of a relation or of a function.
type Place = (Kind, Relation, u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Relation,
    Function,
}

/// A set of names with arities, as bits.
type Set = Vec<u64>;

/// For each argument of each relation and function, the names that can stand there: an upper bound.
pub struct Domains {
    functors: IndexMap<Relation, usize, FxBuildHasher>,
    by_name: FxHashMap<SymbolId, Vec<Relation>>,
    places: FxHashMap<Place, usize>,
    sets: Vec<Set>,
    /// The relations and functions of which some rule is wrong, or can never be used. What such a rule would make if
    /// it were right is unknown, so nothing is said about them.
    doubtful: FxHashSet<(Kind, Relation)>,
    work: usize,
}

/// An argument of a literal that no fact can have.
pub(super) struct Mismatch {
    /// The name that never occurs.
    pub(super) name: SymbolId,
    /// The relation or function that it is an argument of.
    pub(super) of: Relation,
    /// Which argument, from 0.
    pub(super) position: u32,
    /// How to get there: the argument of the literal, the argument of that argument, and so on.
    pub(super) path: Vec<usize>,
    place: usize,
}

const TRUE: Relation = Relation { name: keyword::TRUE, arity: 1 };
const DOES: Relation = Relation { name: keyword::DOES, arity: 2 };
const ROLE: Relation = Relation { name: keyword::ROLE, arity: 1 };

impl Domains {
    /// Analyses the rules; `None` if that takes too long.
    pub fn new(program: &Program) -> Option<Domains> {
        let mut domains = Domains {
            functors: IndexMap::default(),
            by_name: FxHashMap::default(),
            places: FxHashMap::default(),
            sets: Vec::new(),
            doubtful: FxHashSet::default(),
            work: 0,
        };
        // Step 1. Number the names and the places.
        for rule in &program.rules {
            domains.enter(&rule.head);
            rule.for_each_body_atom(|atom, _| domains.enter(atom));
        }
        for functor in domains.functors.keys() {
            domains.by_name.entry(functor.name).or_default().push(*functor);
        }
        domains.enter_places(Kind::Relation, ROLE);
        let links = [
            (TRUE, 0, Relation { name: keyword::INIT, arity: 1 }, 0),
            (TRUE, 0, Relation { name: keyword::NEXT, arity: 1 }, 0),
            (DOES, 0, Relation { name: keyword::LEGAL, arity: 2 }, 0),
            (DOES, 1, Relation { name: keyword::LEGAL, arity: 2 }, 1),
        ];
        for (to, _, from, _) in links {
            domains.enter_places(Kind::Relation, to);
            domains.enter_places(Kind::Relation, from);
        }
        let n_words = domains.functors.len().div_ceil(64);
        if n_words * domains.places.len() > MAX_WORDS {
            return None;
        }
        domains.sets = vec![vec![0; n_words]; domains.places.len()];
        // Step 2. Apply all rules until nothing is new.
        loop {
            let mut changed = false;
            for rule in &program.rules {
                changed |= domains.apply(rule).unwrap_or(false);
                if domains.work > MAX_WORK {
                    return None;
                }
            }
            for (to, to_position, from, from_position) in links {
                let set = domains.sets[domains.places[&(Kind::Relation, from, from_position)]].clone();
                let to = domains.places[&(Kind::Relation, to, to_position)];
                changed |= include(&mut domains.sets[to], &set);
            }
            if !changed {
                break;
            }
        }
        // Step 3. Find what depends on rules that can never be used.
        for rule in &program.rules {
            if domains.apply(rule).is_none() {
                domains.doubtful.insert((Kind::Relation, rule.head.relation()));
                if let Some(functor) = rule.head.args.last().and_then(Term::functor) {
                    domains.doubtful.insert((Kind::Function, functor));
                }
            }
        }
        Some(domains)
    }

    /// The names, each with a number of arguments, that can stand in an argument of a relation, in the order in which the
    /// rules first mention them. Empty if the rules don't have the relation.
    pub fn of_relation(&self, relation: Relation, position: u32) -> Vec<Relation> {
        self.members((Kind::Relation, relation, position))
    }

    /// The same for a function.
    pub fn of_function(&self, function: Relation, position: u32) -> Vec<Relation> {
        self.members((Kind::Function, function, position))
    }

    fn members(&self, place: Place) -> Vec<Relation> {
        let Some(&place) = self.places.get(&place) else { return Vec::new() };
        self.functors.keys().copied().filter(|&member| self.contains(&self.sets[place], member)).collect()
    }

    fn enter(&mut self, atom: &Atom) {
        self.enter_places(Kind::Relation, atom.relation());
        atom.args.iter().for_each(|arg| self.enter_term(arg));
    }

    fn enter_term(&mut self, term: &Term) {
        let Some(functor) = term.functor() else { return };
        let next = self.functors.len();
        self.functors.entry(functor).or_insert(next);
        if let Term::Func(_, args) = term {
            self.enter_places(Kind::Function, functor);
            args.iter().for_each(|arg| self.enter_term(arg));
        }
    }

    fn enter_places(&mut self, kind: Kind, of: Relation) {
        for position in 0..of.arity {
            let next = self.places.len();
            self.places.entry((kind, of, position)).or_insert(next);
        }
    }

    fn set(&self, kind: Kind, of: Relation, position: usize) -> &Set {
        &self.sets[self.places[&(kind, of, position as u32)]]
    }

    fn contains(&self, set: &Set, functor: Relation) -> bool {
        let index = self.functors[&functor];
        set[index / 64] >> (index % 64) & 1 == 1
    }

    /// Adds what a rule can derive. Whether that was new; `None` if the rule can't be used.
    fn apply(&mut self, rule: &Rule) -> Option<bool> {
        let mut variables: FxHashMap<VarId, Set> = FxHashMap::default();
        // Finding the places costs about as much as touching this many words.
        self.work += 50;
        for formula in &rule.body {
            self.restrict(formula, &mut variables)?;
        }
        if variables.values().any(|set| set.iter().all(|&word| word == 0)) {
            return None;
        }
        if let Some(role) = rule.implicit_role() {
            variables.insert(role, self.set(Kind::Relation, ROLE, 0).clone());
        }
        let head = rule.head.relation();
        let mut changed = false;
        for (position, arg) in rule.head.args.iter().enumerate() {
            changed |= self.derive(Kind::Relation, head, position, arg, &variables);
        }
        Some(changed)
    }

    fn derive(
        &mut self,
        kind: Kind,
        of: Relation,
        position: usize,
        term: &Term,
        variables: &FxHashMap<VarId, Set>,
    ) -> bool {
        let place = self.places[&(kind, of, position as u32)];
        let mut changed = false;
        match term {
            Term::Var(var) => {
                match variables.get(var) {
                    Some(set) => {
                        self.work += set.len();
                        changed = include(&mut self.sets[place], set);
                    }
                    // The variable is unbound, which is an error of its own.
                    None => _ = self.doubtful.insert((kind, of)),
                }
            }
            Term::Const(_) | Term::Func(..) => {
                let functor = term.functor().expect("it is no variable");
                let index = self.functors[&functor];
                let word = &mut self.sets[place][index / 64];
                changed |= *word >> (index % 64) & 1 == 0;
                *word |= 1 << (index % 64);
                self.work += 1;
                if let Term::Func(_, args) = term {
                    for (position, arg) in args.iter().enumerate() {
                        changed |= self.derive(Kind::Function, functor, position, arg, variables);
                    }
                }
            }
        }
        changed
    }

    /// Restricts the variables of a part of a body to what they can be there; `None` if it can't hold.
    fn restrict(&mut self, formula: &Formula, variables: &mut FxHashMap<VarId, Set>) -> Option<()> {
        match formula {
            Formula::Atom(atom) => {
                for (position, arg) in atom.args.iter().enumerate() {
                    self.restrict_term(Kind::Relation, atom.relation(), position, arg, variables)?;
                }
            }
            Formula::Distinct(..) | Formula::Not(..) => {}
            Formula::And(parts, _) => {
                for part in parts {
                    self.restrict(part, variables)?;
                }
            }
            Formula::Or(parts, _) => {
                // What a variable can be in any branch, if all branches restrict it.
                let mut union: Option<FxHashMap<VarId, Set>> = None;
                for part in parts {
                    let mut branch = FxHashMap::default();
                    if self.restrict(part, &mut branch).is_none() {
                        continue;
                    }
                    union = Some(match union {
                        None => branch,
                        Some(mut union) => {
                            union.retain(|var, set| branch.get(var).map(|other| include(set, other)).is_some());
                            union
                        }
                    });
                }
                for (var, set) in union? {
                    intersect(variables, var, &set);
                }
            }
        }
        Some(())
    }

    fn restrict_term(
        &mut self,
        kind: Kind,
        of: Relation,
        position: usize,
        term: &Term,
        variables: &mut FxHashMap<VarId, Set>,
    ) -> Option<()> {
        let set = &self.sets[self.places[&(kind, of, position as u32)]];
        self.work += set.len();
        match term {
            Term::Var(var) => intersect(variables, *var, set),
            Term::Const(_) | Term::Func(..) => {
                let functor = term.functor().expect("it is no variable");
                if !self.contains(set, functor) {
                    return None;
                }
                if let Term::Func(_, args) = term {
                    for (position, arg) in args.iter().enumerate() {
                        self.restrict_term(Kind::Function, functor, position, arg, variables)?;
                    }
                }
            }
        }
        Some(())
    }

    /// The first argument of a literal that can't match any fact, unless something else is the reason.
    pub(super) fn mismatch(&self, atom: &Atom) -> Option<Mismatch> {
        let mut path = Vec::new();
        atom.args.iter().enumerate().find_map(|(position, arg)| {
            // Roles, fluents and moves as such have checks of their own.
            let own_check =
                matches!(atom.name, keyword::TRUE | keyword::DOES | keyword::LEGAL | keyword::GOAL | keyword::INPUT)
                    && (position == 0 || atom.name == keyword::DOES);
            self.mismatch_in(Kind::Relation, atom.relation(), position, arg, own_check, &mut path)
        })
    }

    /// The names that do occur in the place of a mismatch.
    pub(super) fn known(&self, mismatch: &Mismatch) -> Vec<SymbolId> {
        let set = &self.sets[mismatch.place];
        self.functors.keys().filter(|&&member| self.contains(set, member)).map(|member| member.name).collect()
    }

    fn mismatch_in(
        &self,
        kind: Kind,
        of: Relation,
        position: usize,
        term: &Term,
        skip_top: bool,
        path: &mut Vec<usize>,
    ) -> Option<Mismatch> {
        let functor = term.functor()?;
        let set = self.set(kind, of, position);
        path.push(position);
        if !skip_top && !self.contains(set, functor) {
            let is_empty = set.iter().all(|&word| word == 0);
            // A name that differs in the number of its arguments alone is reported as such.
            let same_name = self.by_name[&functor.name].iter().any(|&other| self.contains(set, other));
            if is_empty || same_name || self.doubtful.contains(&(kind, of)) {
                return None;
            }
            let place = self.places[&(kind, of, position as u32)];
            return Some(Mismatch { name: functor.name, of, position: position as u32, path: path.clone(), place });
        }
        if let Term::Func(_, args) = term {
            for (position, arg) in args.iter().enumerate() {
                let found = self.mismatch_in(Kind::Function, functor, position, arg, false, path);
                if found.is_some() {
                    return found;
                }
            }
        }
        path.pop();
        None
    }
}

/// Adds the members of `from` to `into`; whether one of them was new.
fn include(into: &mut Set, from: &Set) -> bool {
    let mut changed = false;
    for (word, &more) in into.iter_mut().zip(from) {
        changed |= more & !*word != 0;
        *word |= more;
    }
    changed
}

fn intersect(variables: &mut FxHashMap<VarId, Set>, var: VarId, set: &Set) {
    match variables.get_mut(&var) {
        Some(known) => known.iter_mut().zip(set).for_each(|(word, &other)| *word &= other),
        None => _ = variables.insert(var, set.clone()),
    }
}
