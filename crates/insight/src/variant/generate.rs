//! Making variants of a game: to practise on a smaller board, say, or to test that variants are recognised.
//!
//! Each function changes the rules in one way and nothing else, and gives `None` where the game has nothing to change. What
//! comes out has the rules of a game; whether it is a good one is another matter. A rook whose rules spell out the moves of
//! one, two and three squares moves no farther on a larger board.

use std::ops::Range;

use gdl::program::{Atom, Formula, Program, Rule, RuleId, Term};
use gdl::symbol::SymbolId;
use gdl::{Relation, keyword};

use super::abstraction::{Abstraction, Chain, Reading, is_fact};
use super::prune::{Removal, without};
use super::side::Side;
use crate::skeleton::Name;
use crate::sorts::{Slot, Sorts};

/// The orders that are listed fact by fact, each with its number of objects and whether it is a dimension of a board.
pub fn orders(program: &Program) -> Vec<(Relation, usize, bool)> {
    let side = Side::new(program, Reading::Same);
    let order = |chain: &Chain| (chain.relation, chain.objects.len(), side.is_dimension(chain));
    side.abstraction.chains.iter().map(order).collect()
}

/// What was best is worst: goal values change places.
pub fn inverted_goal(program: &Program) -> Option<Program> {
    let values = Abstraction::new(program, Reading::Same).values;
    let mut changed = program.clone();
    let mut n_changed = 0;
    for rule in changed.rules.iter_mut().filter(|rule| rule.head.name == keyword::GOAL) {
        let Some(Term::Const(value)) = rule.head.args.get_mut(1) else { return None };
        let rank = program.symbols.name(*value).parse().ok().and_then(|value| values.binary_search(&value).ok())?;
        let inverted = values[values.len() - 1 - rank];
        n_changed += usize::from(inverted != values[rank]);
        *value = changed.symbols.intern(&inverted.to_string());
    }
    (n_changed > 0).then_some(changed)
}

/// The game without one kind of fluent, and without what only it needs.
pub fn without_fluent(program: &Program, functor: Relation) -> Option<Program> {
    let rest = without(program, functor, Removal::Rule, &gdl::Stop::never())?;
    let kept = super::prune::needed(&rest);
    let rules = kept.into_iter().map(|id| rest.rules[id.0 as usize].clone()).collect();
    Some(Program { rules, ..rest })
}

/// The last object of an order is followed by the first.
pub fn closed(program: &Program, order: Relation) -> Option<Program> {
    let abstraction = Abstraction::new(program, Reading::Same);
    let chain = abstraction.chains.iter().find(|chain| chain.relation == order && !chain.cyclic)?;
    let mut changed = program.clone();
    let (first, last) = (*chain.objects.first()?, *chain.objects.last()?);
    changed.rules.push(fact(program, order.name, vec![Term::Const(last), Term::Const(first)]));
    Some(changed)
}

/// An order has another number of objects. What is listed about its objects is listed for new ones in the middle, too.
pub fn resized(program: &Program, order: Relation, n_objects: usize) -> Option<Program> {
    let mut changed = program.clone();
    loop {
        let abstraction = Abstraction::new(&changed, Reading::Same);
        let chain = abstraction.chains.iter().find(|chain| chain.relation == order)?;
        changed = match chain.objects.len().cmp(&n_objects) {
            std::cmp::Ordering::Equal => return Some(changed),
            std::cmp::Ordering::Less => one_more(&changed, &abstraction, chain)?,
            std::cmp::Ordering::Greater => one_less(&changed, &abstraction, chain)?,
        };
    }
}

/// A match takes `n_more` steps more before the counter ends it.
pub fn later_limit(program: &Program, n_more: usize) -> Option<Program> {
    let side = Side::new(program, Reading::Same);
    let (counter, chain, limit) = side
        .counters()
        .into_iter()
        .find_map(|(counter, chain)| Some((counter, chain, *side.limits(counter).first()?)))?;
    let mut changed = program.clone();
    // Step 1. An order that is long enough.
    let mut objects = chain.objects.clone();
    let place = objects.iter().position(|&object| object == limit)? + n_more;
    while objects.len() <= place {
        let next = new_object(&mut changed, *objects.last()?);
        changed.rules.push(fact(program, chain.relation.name, vec![Term::Const(*objects.last()?), Term::Const(next)]));
        objects.push(next);
    }
    // Step 2. The new limit wherever the old one was compared with the counter.
    for rule in &mut changed.rules {
        for formula in &mut rule.body {
            for_each_atom(formula, &mut |atom| {
                if let (keyword::TRUE, [Term::Func(name, args)]) = (atom.name, &mut atom.args[..])
                    && (*name, args.len()) == (counter.name, 1)
                    && args[0] == Term::Const(limit)
                {
                    args[0] = Term::Const(objects[place]);
                }
            });
        }
    }
    Some(changed)
}

/// Two markers on a board have changed places in the beginning.
pub fn moved_piece(program: &Program) -> Option<Program> {
    let (mut initial, marker, one, other) = two_markers(program)?;
    let (first, second) = (argument(&initial[one], marker)?, argument(&initial[other], marker)?);
    set_argument(&mut initial[one], marker, second);
    set_argument(&mut initial[other], marker, first);
    Some(with_initial(program, initial))
}

/// There is one marker less of some kind in the beginning, and one more of another kind.
pub fn other_marker(program: &Program) -> Option<Program> {
    let (mut initial, marker, one, other) = two_markers(program)?;
    let first = argument(&initial[one], marker)?;
    set_argument(&mut initial[other], marker, first);
    Some(with_initial(program, initial))
}

/// The initial state, which argument on a board is the marker, and two fluents with different ones.
fn two_markers(program: &Program) -> Option<(Vec<Term>, usize, usize, usize)> {
    let side = Side::new(program, Reading::Same);
    let initial = side.initial.clone()?;
    side.boards().into_iter().find_map(|(functor, board)| {
        let on_board = |index: &usize| initial[*index].functor() == Some(functor);
        let places: Vec<usize> = (0..initial.len()).filter(on_board).collect();
        let marker = |&place: &usize| argument(&initial[place], board.marker);
        let one = *places.first()?;
        let other = *places.iter().find(|other| marker(other) != marker(&one))?;
        Some((initial.clone(), board.marker, one, other))
    })
}

/// The game with another initial state.
pub fn with_initial(program: &Program, fluents: Vec<Term>) -> Program {
    let mut rules: Vec<Rule> = program.rules.iter().filter(|rule| rule.head.name != keyword::INIT).cloned().collect();
    rules.extend(fluents.into_iter().map(|fluent| fact(program, keyword::INIT, vec![fluent])));
    Program { symbols: program.symbols.clone(), rules }
}

fn argument(term: &Term, index: usize) -> Option<Term> {
    match term {
        Term::Func(_, args) => args.get(index).cloned(),
        _ => None,
    }
}

fn set_argument(term: &mut Term, index: usize, value: Term) {
    if let Term::Func(_, args) = term {
        args[index] = value;
    }
}

/// A new object, called after another one.
fn new_object(program: &mut Program, like: SymbolId) -> SymbolId {
    let like = program.symbols.name(like).to_owned();
    let free = (1..).map(|number| format!("{like}-{number}")).find(|name| program.symbols.find(name).is_none());
    program.symbols.intern(&free.expect("there is always a free number"))
}

fn fact(program: &Program, name: SymbolId, args: Vec<Term>) -> Rule {
    let span = program.rules[0].span;
    Rule { head: Atom { name, args, span }, body: Vec::new(), variables: Vec::new(), span }
}

/// The sorts of all rules, those of the initial state included.
fn all_sorts(program: &Program, chains: &[Chain]) -> Sorts {
    let mut sorts = Sorts::new((0..).map(RuleId).zip(&program.rules));
    for chain in chains {
        sorts.join(Slot::Relation(chain.relation, 0), Slot::Relation(chain.relation, 1));
    }
    sorts
}

/// Puts a new object into the middle of an order, and of those that share its objects.
fn one_more(program: &Program, abstraction: &Abstraction, chain: &Chain) -> Option<Program> {
    let mut changed = program.clone();
    let place = unnamed_place(abstraction, chain, 0..chain.objects.len() - 1);
    let before = chain.objects[place.unwrap_or((chain.objects.len() - 1) / 2)];
    let new = new_object(&mut changed, before);
    let family: Vec<&Chain> = abstraction.chains.iter().filter(|other| other.class == chain.class).collect();
    let sorts = all_sorts(program, &abstraction.chains);
    let sort = sorts.of(Slot::Relation(chain.relation, 0));
    let mut rules = Vec::new();
    for rule in &program.rules {
        let relation = rule.head.relation();
        if family.iter().any(|other| other.relation == relation) {
            // From the object before the new one to the new one, and on to what came next.
            if rule.head.args[0] == Term::Const(before) {
                rules.push(fact(program, relation.name, vec![Term::Const(before), Term::Const(new)]));
                rules.push(fact(program, relation.name, vec![Term::Const(new), rule.head.args[1].clone()]));
            } else {
                rules.push(rule.clone());
            }
            continue;
        }
        rules.push(rule.clone());
        if is_fact(rule) {
            let copies = copies(&rule.head.args, &|index| Slot::Relation(relation, index), &|term, slot| {
                (*term == Term::Const(before) && sorts.of(slot) == sort).then_some(Term::Const(new))
            });
            rules.extend(copies.into_iter().skip(1).map(|args| fact(program, relation.name, args)));
        }
    }
    changed.rules = rules;
    Some(changed)
}

/// The arguments as they are, followed by all ways to replace some terms in them.
fn copies(args: &[Term], slot: &dyn Fn(u32) -> Slot, replace: &dyn Fn(&Term, Slot) -> Option<Term>) -> Vec<Vec<Term>> {
    let mut all = vec![Vec::new()];
    for (index, arg) in (0..).zip(args) {
        let choices: Vec<Term> = match arg {
            Term::Func(name, inner) => {
                let function = Relation { name: *name, arity: inner.len() as u32 };
                let inner = copies(inner, &|index| Slot::Function(function, index), replace);
                inner.into_iter().map(|inner| Term::Func(*name, inner.into())).collect()
            }
            _ => [arg.clone()].into_iter().chain(replace(arg, slot(index))).collect(),
        };
        let longer = |begun: Vec<Term>| {
            choices.iter().map(move |choice| [&begun[..], std::slice::from_ref(choice)].concat()).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    // Choices of later arguments vary first, so that the unchanged arguments come first.
    all
}

/// The place nearest to the middle of an order whose object no rule with conditions names.
fn unnamed_place(abstraction: &Abstraction, chain: &Chain, places: Range<usize>) -> Option<usize> {
    let is_named = |place: usize| abstraction.skeleton.number(Name::Object(chain.objects[place], chain.sort)).is_some();
    places.filter(|&place| !is_named(place)).min_by_key(|place| place.abs_diff(chain.objects.len() / 2))
}

/// Takes an object out of the middle of an order, and of those that share its objects.
fn one_less(program: &Program, abstraction: &Abstraction, chain: &Chain) -> Option<Program> {
    let sorts = all_sorts(program, &abstraction.chains);
    let sort = sorts.of(Slot::Relation(chain.relation, 0));
    let gone = chain.objects[unnamed_place(abstraction, chain, 1..chain.objects.len() - 1)?];
    let family: Vec<&Chain> = abstraction.chains.iter().filter(|other| other.class == chain.class).collect();
    let mut rules = Vec::new();
    for rule in &program.rules {
        let relation = rule.head.relation();
        if family.iter().any(|other| other.relation == relation) {
            if rule.head.args[0] == Term::Const(gone) {
                continue;
            }
            if rule.head.args[1] == Term::Const(gone) {
                let after = family.iter().find(|other| other.relation == relation)?;
                let place = after.objects.iter().position(|&object| object == gone)?;
                let next = after.objects.get(place + 1);
                rules.extend(
                    next.map(|&next| fact(program, relation.name, vec![rule.head.args[0].clone(), Term::Const(next)])),
                );
                continue;
            }
        }
        let mentions = copies(&rule.head.args, &|index| Slot::Relation(relation, index), &|term, slot| {
            (*term == Term::Const(gone) && sorts.of(slot) == sort).then_some(term.clone())
        });
        if !is_fact(rule) || mentions.len() == 1 {
            rules.push(rule.clone());
        }
    }
    Some(Program { symbols: program.symbols.clone(), rules })
}

fn for_each_atom(formula: &mut Formula, visit: &mut impl FnMut(&mut Atom)) {
    match formula {
        Formula::Atom(atom) => visit(atom),
        Formula::Distinct(..) => {}
        Formula::Not(inner, _) => for_each_atom(inner, visit),
        Formula::Or(parts, _) | Formula::And(parts, _) => parts.iter_mut().for_each(|part| for_each_atom(part, visit)),
    }
}
