//! Giving variables one meaning in all of a body.
//!
//! A disjunction stands for several rules, one for each branch. So in `(or (p ?y) q) (not (r ?y))` the `?y` under `not`
//! is the one of `(p ?y)` in the first rule and "any `?y`" in the second. Where a variable that only some branches bind
//! also occurs outside, the disjunction is therefore drawn around the rest of the body, and likewise where disjunctions
//! would have to wait for each other's variables. Everywhere else it stays as its author wrote it.
//!
//! After this, a variable that literals share has a value either always or never, and there is an order in which every
//! test comes after the literals that bind its variables.

use std::collections::BTreeSet;

use crate::program::{Formula, VarId};
use crate::source::Span;

type Vars = BTreeSet<VarId>;

/// How many literals the disjunctions of one rule may be copied to. Real rules need no copy at all.
const MAX_COPIES: usize = 500;

/// The body with disjunctions drawn around other literals where necessary: `Ok(None)` if it can stay as it is. An error if it
/// would grow too large.
pub(crate) fn distribute(body: &[Formula]) -> Result<Option<Vec<Formula>>, TooLarge> {
    if is_settled(body, &Vars::new()) {
        return Ok(None);
    }
    conjunction(body, &Vars::new(), &mut MAX_COPIES.clone()).map(Some)
}

/// The body has too many combinations of disjunctions.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// Whether nothing in the conjunction has to change, given the variables that have values anyway.
fn is_settled(body: &[Formula], bound: &Vars) -> bool {
    let body = flatten(body);
    let surely = surely_bound(&body, bound);
    split_disjunction(&body, bound, &surely).is_none()
        && body.iter().all(|formula| match formula {
            Formula::Not(inner, _) => is_settled(std::slice::from_ref(inner), &surely),
            Formula::Or(parts, _) => parts.iter().all(|part| is_settled(std::slice::from_ref(part), &surely)),
            _ => true,
        })
}

fn conjunction(body: &[Formula], bound: &Vars, copies_left: &mut usize) -> Result<Vec<Formula>, TooLarge> {
    let mut body = flatten(body);
    let surely = surely_bound(&body, bound);
    if let Some((index, branches, span)) = split_disjunction(&body, bound, &surely) {
        body.remove(index);
        let mut parts = Vec::new();
        for branch in branches {
            let size: usize = body.iter().map(|formula| size(formula)).sum();
            *copies_left = copies_left.checked_sub(size).ok_or(TooLarge)?;
            let branch: Vec<Formula> = [branch].into_iter().chain(body.iter().copied()).cloned().collect();
            parts.push(Formula::And(conjunction(&branch, bound, copies_left)?, span));
        }
        return Ok(vec![Formula::Or(parts, span)]);
    }
    let mut settle = |formula: &Formula, span| {
        Ok(Formula::And(conjunction(std::slice::from_ref(formula), &surely, copies_left)?, span))
    };
    body.into_iter()
        .map(|formula| match formula {
            Formula::Not(inner, span) => Ok(Formula::Not(Box::new(settle(inner, *span)?), *span)),
            Formula::Or(branches, span) => {
                let parts = branches.iter().map(|branch| settle(branch, *span)).collect::<Result<_, _>>()?;
                Ok(Formula::Or(parts, *span))
            }
            literal => Ok(literal.clone()),
        })
        .collect()
}

/// The conjunction without conjunctions in it.
fn flatten(body: &[Formula]) -> Vec<&Formula> {
    let mut flat = Vec::new();
    for formula in body {
        match formula {
            Formula::And(parts, _) => flat.extend(flatten(parts)),
            formula => flat.push(formula),
        }
    }
    flat
}

fn surely_bound(body: &[&Formula], bound: &Vars) -> Vars {
    body.iter().flat_map(|formula| formula.binds()).chain(bound.iter().copied()).collect()
}

/// A disjunction that has to be drawn around the rest of the conjunction: its place, its branches and its span.
fn split_disjunction<'a>(body: &[&'a Formula], bound: &Vars, surely: &Vars) -> Option<(usize, &'a [Formula], Span)> {
    let index = binds_sometimes(body, surely).or_else(|| waits_for_itself(body, bound, surely))?;
    let Formula::Or(branches, span) = body[index] else { unreachable!("it is a disjunction") };
    Some((index, branches, *span))
}

/// A disjunction that binds a variable in some of its branches only, while the variable occurs outside of it, too.
fn binds_sometimes(body: &[&Formula], surely: &Vars) -> Option<usize> {
    (0..body.len()).find(|&index| {
        let Formula::Or(..) = body[index] else { return false };
        let mut maybe = Vars::new();
        body[index].for_each_atom(&mut |atom, negated| {
            if !negated {
                atom.args.iter().for_each(|arg| arg.for_each_var(&mut |var| _ = maybe.insert(var)));
            }
        });
        maybe.retain(|var| !surely.contains(var));
        let shares = |other: usize| {
            let mut shares = false;
            body[other].for_each_var(&mut |var| shares |= maybe.contains(&var));
            shares
        };
        !maybe.is_empty() && (0..body.len()).any(|other| other != index && shares(other))
    })
}

/// A disjunction with tests that look at what other disjunctions bind, whose tests look at what this one binds.
fn waits_for_itself(body: &[&Formula], bound: &Vars, surely: &Vars) -> Option<usize> {
    let is_or = |&index: &usize| matches!(body[index], Formula::Or(..));
    let atoms = body.iter().filter(|formula| !matches!(formula, Formula::Or(..)));
    let mut ready: Vars = atoms.flat_map(|formula| formula.binds()).chain(bound.iter().copied()).collect();
    let mut waiting: Vec<usize> = (0..body.len()).filter(is_or).collect();
    loop {
        let can_run = |&index: &usize| {
            let (own, mut waits) = (body[index].binds(), false);
            body[index].for_each_var(&mut |var| {
                waits |= surely.contains(&var) && !ready.contains(&var) && !own.contains(&var);
            });
            !waits
        };
        let (runs, waits): (Vec<usize>, Vec<usize>) = waiting.iter().partition(|index| can_run(index));
        if runs.is_empty() {
            return waits.first().copied();
        }
        ready.extend(runs.iter().flat_map(|&index| body[index].binds()));
        waiting = waits;
    }
}

/// The number of literals and connectives.
pub(super) fn size(formula: &Formula) -> usize {
    match formula {
        Formula::Atom(_) | Formula::Distinct(..) => 1,
        Formula::Not(inner, _) => 1 + size(inner),
        Formula::Or(parts, _) | Formula::And(parts, _) => 1 + parts.iter().map(size).sum::<usize>(),
    }
}
