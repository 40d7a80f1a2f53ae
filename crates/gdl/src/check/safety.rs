//! Variables that no positive literal of the body binds: in the head (GDL0201, or GDL0204 for a role), under `not`
//! (GDL0202) and in `distinct` (GDL0203).
//!
//! ```text
//! (<= (legal ?p (mark ?x ?y))           ; GDL0201: `?y` could be anything
//!     (true (cell ?x ?z b))
//!     (true (control ?p)))
//! ```
//!
//! A variable that occurs only once elsewhere in the rule is often the same one with a typo; the nearest such is
//! suggested.

use std::collections::BTreeSet;

use super::near::distance;
use super::{Context, Findings};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Formula, Rule, VarId};
use crate::source::Span;

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    for rule in &context.program.rules {
        let mut bound = rule.bound_by_body();
        let role = rule.implicit_role();
        let mut unbound: Vec<VarId> = Vec::new();
        for arg in &rule.head.args {
            arg.for_each_var(&mut |var| {
                if !bound.contains(&var) && !unbound.contains(&var) {
                    unbound.push(var);
                }
            });
        }
        for var in unbound {
            if role == Some(var) {
                found.report(Code::ImplicitRole, |code| implicit_role(context, rule, var, code));
            } else {
                found.report(Code::UnsafeHead, |code| unsafe_head(context, rule, var, code));
            }
            // One report is enough, wherever else the variable stands.
            bound.insert(var);
        }
        for formula in &rule.body {
            body(context, found, rule, formula, &mut bound);
        }
    }
}

fn unsafe_head(context: &Context<'_>, rule: &Rule, var: VarId, code: Code) -> Diagnostic {
    let name = context.variable_name(rule, var);
    let place = first_occurrence(context, rule, var, rule.head.span);
    if rule.body.is_empty() {
        return Diagnostic::new(code, place, format!("variable `{name}` in a fact"))
            .label("a fact has no body that could bind it")
            .help(format!("write a name instead of `{name}`, or add a body with a positive literal that binds it"));
    }
    let mut finding = Diagnostic::new(code, place, format!("variable `{name}` in the head is not bound by the body"));
    // The places where it does occur explain why it is not bound.
    let (mut elsewhere, mut partial) = (false, false);
    for formula in &rule.body {
        for span in context.occurrences(rule, var, formula.span()) {
            elsewhere = true;
            finding = match formula {
                Formula::Or(..) => {
                    partial = true;
                    finding.also(span, "bound in this branch of the `or`, but not in every branch")
                }
                Formula::Not(..) => finding.also(span, "stands under `not`, which binds nothing"),
                Formula::Distinct(..) => finding.also(span, "`distinct` compares, but binds nothing"),
                _ => finding,
            };
        }
    }
    finding = finding.label(match (elsewhere, partial) {
        (_, true) => format!("`{name}` has no value if another branch holds"),
        (true, _) => format!("no positive literal binds `{name}`"),
        (false, _) => format!("`{name}` does not occur in the body"),
    });
    suggest(context, rule, var, finding, |name| {
        format!("add a positive literal that binds `{name}`, or write a name instead")
    })
}

fn implicit_role(context: &Context<'_>, rule: &Rule, var: VarId, code: Code) -> Diagnostic {
    let name = context.variable_name(rule, var);
    let place = first_occurrence(context, rule, var, rule.head.span);
    Diagnostic::new(code, place, format!("role variable `{name}` is not bound by the body"))
        .label("read as \"every role\"")
        .help(format!("add `(role {name})` to the body"))
}

/// Looks for unbound variables in a part of the body; `bound` are the variables that have a value around it.
fn body(context: &Context<'_>, found: &mut Findings, rule: &Rule, formula: &Formula, bound: &mut BTreeSet<VarId>) {
    match formula {
        Formula::Atom(_) => {}
        Formula::And(parts, _) => {
            let mut inner = with(bound, formula);
            parts.iter().for_each(|part| body(context, found, rule, part, &mut inner));
        }
        Formula::Or(parts, _) => {
            for part in parts {
                body(context, found, rule, part, &mut with(bound, part));
            }
        }
        Formula::Distinct(..) => {
            for var in unbound(formula, bound) {
                found.report(Code::UnsafeDistinct, |code| {
                    let name = context.variable_name(rule, var);
                    let place = first_occurrence(context, rule, var, formula.span());
                    let finding = Diagnostic::new(code, place, format!("variable `{name}` in `distinct` is not bound"))
                        .label("without a value it differs from everything, so the literal always holds");
                    suggest(context, rule, var, finding, |name| format!("bind `{name}` in a positive literal"))
                });
                bound.insert(var);
            }
        }
        Formula::Not(inner, _) => {
            if !matches!(**inner, Formula::Distinct(..)) {
                let mut in_atoms: BTreeSet<VarId> = BTreeSet::new();
                inner.for_each_atom(&mut |atom, _| {
                    atom.args.iter().for_each(|arg| arg.for_each_var(&mut |var| _ = in_atoms.insert(var)));
                });
                for var in unbound(inner, bound).into_iter().filter(|var| in_atoms.contains(var)) {
                    found.report(Code::UnsafeNegation, |code| {
                        let name = context.variable_name(rule, var);
                        let place = first_occurrence(context, rule, var, inner.span());
                        let finding =
                            Diagnostic::new(code, place, format!("variable `{name}` under `not` is not bound"))
                                .label(format!("read as \"there is no `{name}` such that\""));
                        suggest(context, rule, var, finding, |name| {
                            format!("bind `{name}` in a positive literal, or negate a helper relation without it")
                        })
                    });
                    bound.insert(var);
                }
            }
            body(context, found, rule, inner, &mut with(bound, inner));
        }
    }
}

fn with(bound: &BTreeSet<VarId>, formula: &Formula) -> BTreeSet<VarId> {
    bound.union(&formula.binds()).copied().collect()
}

fn unbound(formula: &Formula, bound: &BTreeSet<VarId>) -> Vec<VarId> {
    let mut unbound = Vec::new();
    formula.for_each_var(&mut |var| {
        if !bound.contains(&var) && !unbound.contains(&var) {
            unbound.push(var);
        }
    });
    unbound
}

fn first_occurrence(context: &Context<'_>, rule: &Rule, var: VarId, within: Span) -> Span {
    context.occurrences(rule, var, within).first().copied().unwrap_or(within)
}

/// Adds the variable that was probably meant: one that a positive literal binds, that occurs nowhere else in the rule,
/// and whose name is near. Where there is none, the help is `otherwise`.
fn suggest(
    context: &Context<'_>,
    rule: &Rule,
    var: VarId,
    finding: Diagnostic,
    otherwise: impl Fn(&str) -> String,
) -> Diagnostic {
    let name = context.variable_name(rule, var);
    let mut counts = vec![0; rule.variables.len()];
    rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| counts[var.0 as usize] += 1));
    rule.body.iter().for_each(|formula| formula.for_each_var(&mut |var| counts[var.0 as usize] += 1));
    let letters = |var: VarId| -> Vec<char> {
        context.variable_name(rule, var).trim_start_matches('?').to_ascii_lowercase().chars().collect()
    };
    let wanted = letters(var);
    let candidates = rule.bound_by_body().into_iter().filter(|&other| other != var && counts[other.0 as usize] == 1);
    let candidates = candidates.map(|other| (distance(&wanted, &letters(other)), other));
    let nearest = candidates.filter(|(distance, _)| *distance <= (wanted.len() / 3).max(1)).min();
    match nearest {
        Some((_, other)) => {
            let meant = context.variable_name(rule, other);
            finding
                .also(rule.variables[other.0 as usize].span, format!("`{meant}` is used only here"))
                .help(format!("did you mean the same variable by `{name}` and `{meant}`?"))
        }
        None => finding.help(otherwise(name)),
    }
}
