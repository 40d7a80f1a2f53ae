//! What makes a fluent come to hold: the preimages of fluents, one move back.
//!
//! For a joint move with variables in it and a rule for `next` that does not merely keep the fluent, the preimage says: the
//! moves are legal, and the rule's body holds with these moves in the place of `does`. Fluents that change in every step
//! have none: they would say nothing but that a step was made.

use std::collections::BTreeSet;

use gdl::program::{Relation, Term};
use gdl::symbol::keyword;
use insight::sample::Samples;
use insight::structure::Structure;
use insight::structure::turn::Kind;
use insight::universe::Universe;
use machine::lanes::Vector;

use super::canonical::canonical;
use super::rules::Rules;
use super::simplify::{Settings, simplify_with};
use super::unify::{Substitution, first_free, shift_term};
use crate::columns::term;
use crate::feature::Feature;
use crate::formula::{Atom, Formula};

/// What random matches say about moves and fluents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dynamics {
    /// For each role, the moves that it makes while another one acts; in no joint move do two roles make others. Without any,
    /// all roles act at once.
    pub idle: Vec<(Term, Vec<Term>)>,
    /// The functors of fluents that never hold in two states one after the other.
    pub changing: BTreeSet<Relation>,
}

impl Dynamics {
    /// By the thesis: the one constant that all roles but one always play, and what was seen to change in each step.
    pub fn thesis(universe: &Universe, samples: &Samples) -> Dynamics {
        let n_roles = universe.roles.len() as u32;
        let mut names: Vec<gdl::TermId> = universe.moves.iter().map(|&(_, chosen)| chosen).collect();
        names.retain(|&chosen| universe.terms.args(chosen).is_empty());
        names.sort_unstable();
        names.dedup();
        let noop = names.into_iter().find(|&name| {
            samples.batches.iter().all(|batch| {
                let (mut any, mut several) = (Vector::ZERO, Vector::ZERO);
                for role in 0..n_roles {
                    let others = universe.moves.iter().zip(&batch.legal);
                    let others = others.filter(|((of, chosen), _)| *of == role && *chosen != name);
                    let acts = others.fold(Vector::ZERO, |acts, (_, &legal)| acts | legal);
                    several = several | any & acts;
                    any = any | acts;
                }
                (several & batch.live & !batch.terminal).is_zero()
            })
        });
        let idle = noop.map_or(Vec::new(), |name| {
            let name = term(&universe.terms, name);
            universe.roles.iter().map(|&role| (term(&universe.terms, role), vec![name.clone()])).collect()
        });
        Dynamics { idle, changing: changing(universe, samples) }
    }

    /// By the analysis: moves that mean waiting may have arguments and differ between the roles.
    pub fn of_structure(universe: &Universe, samples: &Samples, structure: &Structure) -> Dynamics {
        let idle = match structure.turns.kind {
            Kind::TurnTaking => universe
                .roles
                .iter()
                .zip(&structure.turns.idle)
                .map(|(&role, idle)| {
                    let idle = idle.iter().map(|&chosen| term(&universe.terms, universe.moves[chosen as usize].1));
                    (term(&universe.terms, role), idle.collect())
                })
                .collect(),
            _ => Vec::new(),
        };
        Dynamics { idle, changing: changing(universe, samples) }
    }
}

/// The functors of which some fluents were seen, and none in two states one after the other.
fn changing(universe: &Universe, samples: &Samples) -> BTreeSet<Relation> {
    let functor = |fluent: gdl::TermId| Relation {
        name: universe.terms.name(fluent),
        arity: universe.terms.args(fluent).len() as u32,
    };
    let (mut seen, mut stays) = (BTreeSet::new(), BTreeSet::new());
    for (index, &fluent) in universe.fluents.iter().enumerate() {
        for batch in &samples.batches {
            let on = batch.fluents[index] & batch.live & !batch.terminal;
            if !on.is_zero() {
                seen.insert(functor(fluent));
            }
            if !(on & batch.next[index]).is_zero() {
                stays.insert(functor(fluent));
            }
        }
    }
    seen.difference(&stays).copied().collect()
}

/// A way for a fluent to come to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Preimage {
    /// The fluent.
    pub fluent: Term,
    /// What holds before.
    pub body: Formula,
    /// Their variables have smaller numbers.
    pub n_variables: u32,
}

/// The preimages of all fluents.
#[derive(Clone, Debug, Default)]
pub struct Preimages {
    /// All of them, in the order of the rules.
    pub all: Vec<Preimage>,
    /// Whether there are more than these: the number of joint moves or of preimages ran over its limit.
    pub cut_short: bool,
}

/// Joint moves, preimages, and the size of an expanded body.
const MAX_JOINT: usize = 2_000;
const MAX_PREIMAGES: usize = 5_000;
const MAX_ALTERNATIVES: usize = 64;
const MAX_DEPTH: usize = 6;

impl Preimages {
    /// Finds all preimages.
    pub fn new(rules: &Rules, settings: &Settings, dynamics: &Dynamics) -> Preimages {
        let (joint, mut cut_short) = joint_moves(rules, dynamics);
        let mut all: Vec<Preimage> = Vec::new();
        let mut seen: BTreeSet<Feature> = BTreeSet::new();
        for clause in rules.clauses(Relation { name: keyword::NEXT, arity: 1 }) {
            let fluent = &clause.head.args[0];
            let keeps = Formula::Atom(Atom { name: keyword::TRUE, args: vec![fluent.clone()] });
            if fluent.functor().is_some_and(|functor| dynamics.changing.contains(&functor))
                || clause.body.contains(&keeps)
            {
                continue;
            }
            let mut fresh = clause.n_variables;
            let body = Formula::And(clause.body.clone());
            let Some(body) = expand_moves(rules, &body, &mut fresh, MAX_DEPTH) else { continue };
            for moves in &joint {
                if all.len() >= MAX_PREIMAGES {
                    cut_short = true;
                    break;
                }
                // The moves' variables are apart from the clause's and from each other.
                let mut first = fresh;
                let moves: Vec<(Term, Term)> = moves
                    .iter()
                    .map(|(role, action)| {
                        let renamed = shift_term(action, first);
                        renamed.for_each_var(&mut |var| first = first.max(var.0 + 1));
                        (role.clone(), renamed)
                    })
                    .collect();
                let legal = moves.iter().map(|(role, action)| {
                    Formula::Atom(Atom { name: keyword::LEGAL, args: vec![role.clone(), action.clone()] })
                });
                let body = Formula::all(legal.chain([with_moves(&body, &moves)]));
                let Some((body, terms)) = simplify_with(rules, settings, &body, vec![fluent.clone()]) else { continue };
                let fluent = terms[0].clone();
                let holds = Formula::Atom(Atom { name: keyword::TRUE, args: vec![fluent.clone()] });
                if body.conjuncts().contains(&holds) || !rules.is_valid(&body) {
                    continue;
                }
                let head = Formula::Atom(Atom { name: keyword::NEXT, args: vec![fluent.clone()] });
                let key = canonical(&Feature::count(Vec::new(), Formula::all([head.clone(), body.clone()])));
                if seen.insert(key) {
                    let n_variables = first_free(&Formula::And(vec![head, body.clone()]));
                    all.push(Preimage { fluent, body, n_variables });
                }
            }
        }
        Preimages { all, cut_short }
    }

    /// The preimages whose fluents unify with a term, each renamed apart and with the unifier; the term's variables have
    /// smaller numbers than `first`.
    pub fn unifying(&self, fluent: &Term, first: u32) -> Vec<(Formula, Substitution)> {
        let mut found = Vec::new();
        for preimage in &self.all {
            let mut unifier = Substitution::default();
            if unifier.unify(fluent, &shift_term(&preimage.fluent, first)) {
                found.push((super::unify::shift(&preimage.body, first), unifier));
            }
        }
        found
    }
}

/// The joint moves: for each role a term with variables of its own, and whether some are missing.
fn joint_moves(rules: &Rules, dynamics: &Dynamics) -> (Vec<Vec<(Term, Term)>>, bool) {
    let roles = rules.roles();
    let mut joint: Vec<(Vec<(Term, Term)>, usize)> = vec![(Vec::new(), 0)];
    let mut cut_short = false;
    for role in &roles {
        let mut actions: Vec<Term> = Vec::new();
        for clause in rules.clauses(Relation { name: keyword::LEGAL, arity: 2 }) {
            let mut unifier = Substitution::default();
            if unifier.unify(&clause.head.args[0], role) {
                let action = compact(&unifier.term(&clause.head.args[1]));
                if !actions.contains(&action) {
                    actions.push(action);
                }
            }
        }
        let idle = dynamics.idle.iter().find(|(of, _)| of == role).map_or(&[][..], |(_, idle)| idle.as_slice());
        let mut longer = Vec::new();
        for (moves, n_acting) in &joint {
            for action in &actions {
                let acting = n_acting + usize::from(!idle.contains(action));
                if dynamics.idle.is_empty() || acting <= 1 {
                    let mut moves = moves.clone();
                    moves.push((role.clone(), action.clone()));
                    longer.push((moves, acting));
                }
            }
        }
        cut_short |= longer.len() > MAX_JOINT;
        longer.truncate(MAX_JOINT);
        joint = longer;
    }
    (joint.into_iter().map(|(moves, _)| moves).collect(), cut_short)
}

/// The term with its variables numbered from 0 in the order in which they occur.
fn compact(term: &Term) -> Term {
    let mut order = Vec::new();
    term.for_each_var(&mut |var| {
        if !order.contains(&var) {
            order.push(var);
        }
    });
    fn rename(term: &Term, order: &[gdl::program::VarId]) -> Term {
        match term {
            Term::Var(var) => {
                let at = order.iter().position(|other| other == var).expect("it was listed");
                Term::Var(gdl::program::VarId(at as u32))
            }
            Term::Const(_) => term.clone(),
            Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| rename(arg, order)).collect()),
        }
    }
    rename(term, &order)
}

/// Replaces relations that depend on moves by their clauses, down to `does`; `None` if they are recursive or too large.
fn expand_moves(rules: &Rules, formula: &Formula, fresh: &mut u32, depth: usize) -> Option<Formula> {
    let mut each = |parts: &[Formula]| -> Option<Vec<Formula>> {
        parts.iter().map(|part| expand_moves(rules, part, fresh, depth)).collect()
    };
    Some(match formula {
        Formula::And(parts) => Formula::And(each(parts)?),
        Formula::Or(parts) => Formula::Or(each(parts)?),
        Formula::Not(inner) => Formula::Not(Box::new(expand_moves(rules, inner, fresh, depth)?)),
        Formula::Atom(atom) if atom.name != keyword::DOES && rules.is_move_dependent(atom.relation()) => {
            if depth == 0 || rules.is_recursive(atom.relation()) {
                return None;
            }
            let found = rules.unifying(atom, *fresh, MAX_ALTERNATIVES + 1);
            if found.len() > MAX_ALTERNATIVES {
                return None;
            }
            let mut alternatives = Vec::new();
            for (clause, ..) in found {
                // Alternatives have no variables in common.
                let clause = clause.shifted(*fresh);
                *fresh = (*fresh).max(clause.n_variables);
                let same = atom.args.iter().zip(&clause.head.args);
                let same = same.map(|(arg, own)| Formula::Equal(arg.clone(), own.clone()));
                let body = Formula::all(same.chain(clause.body.iter().cloned()));
                alternatives.push(expand_moves(rules, &body, fresh, depth - 1)?);
            }
            if alternatives.len() == 1 { alternatives.remove(0) } else { Formula::Or(alternatives) }
        }
        other => other.clone(),
    })
}

/// The formula with a joint move in the place of `does`.
fn with_moves(formula: &Formula, moves: &[(Term, Term)]) -> Formula {
    match formula {
        Formula::And(parts) => Formula::And(parts.iter().map(|part| with_moves(part, moves)).collect()),
        Formula::Or(parts) => Formula::Or(parts.iter().map(|part| with_moves(part, moves)).collect()),
        Formula::Not(inner) => Formula::Not(Box::new(with_moves(inner, moves))),
        Formula::Atom(atom) if atom.name == keyword::DOES => {
            let mut ways: Vec<Formula> = Vec::new();
            for (role, action) in moves {
                let mut unifier = Substitution::default();
                if unifier.unify(&atom.args[0], role) && unifier.unify(&atom.args[1], action) {
                    ways.push(Formula::And(vec![
                        Formula::Equal(atom.args[0].clone(), role.clone()),
                        Formula::Equal(atom.args[1].clone(), action.clone()),
                    ]));
                }
            }
            if ways.len() == 1 { ways.remove(0) } else { Formula::Or(ways) }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::rules::tests::{formula, library};
    use super::super::simplify::simplify;
    use super::*;
    use gdl::program::VarId;
    use insight::sample;
    use std::sync::Arc;

    /// A game of the library with what random matches say about it.
    pub(crate) fn sampled(name: &str) -> (Rules, Dynamics, Dynamics) {
        let rules = library(name);
        let program = Arc::new((*rules.program).clone());
        let (universe, circuit) =
            insight::universe::survey(&program, &gdl::ground::Budget::default()).expect("it grounds");
        let budget = sample::Budget { rounds: 1, ..sample::Budget::default() };
        let samples = sample::play(&universe, &circuit, &budget, 1);
        let structure =
            insight::structure::find(&universe, Some(&circuit), &samples, &insight::prove::Budget::default());
        let thesis = Dynamics::thesis(&universe, &samples);
        (rules, thesis, Dynamics::of_structure(&universe, &samples, &structure))
    }

    fn named(rules: &Rules, name: &str) -> gdl::symbol::SymbolId {
        rules.program.symbols.find(name).expect("the rules have it")
    }

    #[test]
    fn tic_tac_toe_has_a_noop_and_a_fluent_that_changes() {
        let (rules, thesis, ours) = sampled("tic-tac-toe");
        let noop = Term::Const(named(&rules, "noop"));
        assert_eq!(thesis.idle.len(), 2);
        assert!(thesis.idle.iter().all(|(_, idle)| *idle == [noop.clone()]));
        let control = Relation { name: named(&rules, "control"), arity: 1 };
        assert_eq!(thesis.changing.iter().copied().collect::<Vec<_>>(), [control]);
        assert_eq!(thesis, ours);
    }

    #[test]
    fn tic_tac_toe_has_two_preimages() {
        let (rules, dynamics, _) = sampled("tic-tac-toe");
        let found = Preimages::new(&rules, &Settings::THESIS, &dynamics);
        assert!(!found.cut_short);
        let found: Vec<Feature> = found
            .all
            .iter()
            .map(|preimage| {
                let head = Formula::Atom(Atom { name: keyword::NEXT, args: vec![preimage.fluent.clone()] });
                canonical(&Feature::count(vec![], Formula::all([head, preimage.body.clone()])))
            })
            .collect();
        let expected = ["x", "o"].map(|mark| {
            let text = format!("(next (cell ?m ?n {mark})) (true (cell ?m ?n b)) (true (control {mark}player))");
            canonical(&Feature::count(vec![], formula(&rules, &text)))
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn pacman_keeps_a_disjunction_until_the_role_is_known() {
        let (rules, dynamics, _) = sampled("pacman");
        assert!(dynamics.idle.is_empty());
        let found = Preimages::new(&rules, &Settings::THESIS, &dynamics);
        let of = |name: &str, arity| {
            let functor = Relation { name: named(&rules, name), arity };
            found.all.iter().filter(move |preimage| preimage.fluent.functor() == Some(functor)).collect::<Vec<_>>()
        };
        let widths = |formula: &Formula| -> Vec<usize> {
            let parts = formula.conjuncts().iter();
            parts.filter_map(|part| if let Formula::Or(ways) = part { Some(ways.len()) } else { None }).collect()
        };
        let location = of("location", 3);
        assert_eq!(location.len(), 1);
        assert_eq!(widths(&location[0].body), [3]);
        let collected = of("collected", 1);
        assert_eq!(collected.len(), 1);
        assert_eq!(widths(&collected[0].body), Vec::<usize>::new());
        // The way is clear once the player is.
        let pacman = Term::Func(
            named(&rules, "location"),
            Box::new([Term::Const(named(&rules, "pacman")), Term::Var(VarId(0)), Term::Var(VarId(1))]),
        );
        let (body, unifier) = found.unifying(&pacman, 2).remove(0);
        let feature = Feature::count(vec![], unifier.formula(&body));
        let bound = simplify(&rules, &Settings::THESIS, &feature).expect("it may hold");
        assert_eq!(widths(&bound.formula), Vec::<usize>::new());
    }
}
