//! Rules that are written twice, up to the names of their variables (GDL0505).
//!
//! ```text
//! (<= (legal ?p noop) (role ?p))
//! (<= (legal ?r noop) (role ?r))
//! ```

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::{Context, Findings, times};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Formula, Rule, Term};

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    let mut same: IndexMap<Vec<u32>, Vec<&Rule>, FxBuildHasher> = IndexMap::default();
    for rule in &context.program.rules {
        same.entry(shape(rule)).or_default().push(rule);
    }
    for rules in same.values() {
        let [first, second, ..] = rules[..] else { continue };
        found.report(Code::DuplicateRule, |code| {
            let what = if first.body.is_empty() { "fact" } else { "rule" };
            Diagnostic::new(code, second.head.span, format!("this {what} is written {}", times(rules.len())))
                .label("again here")
                .also(first.head.span, "first here")
                .help("keep one of them, or correct those that should differ")
        });
    }
}

/// Everything about a rule but where it stands and what its variables are called: those are numbered in the order in
/// which they occur.
fn shape(rule: &Rule) -> Vec<u32> {
    let mut shape = Vec::new();
    add_atom(&rule.head, &mut shape);
    add_formulas(&rule.body, &mut shape);
    shape
}

fn add_formulas(formulas: &[Formula], shape: &mut Vec<u32>) {
    shape.push(formulas.len() as u32);
    for formula in formulas {
        match formula {
            Formula::Atom(atom) => {
                shape.push(0);
                add_atom(atom, shape);
            }
            Formula::Distinct(left, right, _) => {
                shape.push(1);
                add_term(left, shape);
                add_term(right, shape);
            }
            Formula::Not(inner, _) => {
                shape.push(2);
                add_formulas(std::slice::from_ref(inner), shape);
            }
            Formula::Or(parts, _) => {
                shape.push(3);
                add_formulas(parts, shape);
            }
            Formula::And(parts, _) => {
                shape.push(4);
                add_formulas(parts, shape);
            }
        }
    }
}

fn add_atom(atom: &Atom, shape: &mut Vec<u32>) {
    shape.extend([atom.name.0, atom.args.len() as u32]);
    atom.args.iter().for_each(|arg| add_term(arg, shape));
}

fn add_term(term: &Term, shape: &mut Vec<u32>) {
    match term {
        Term::Var(var) => shape.extend([0, var.0]),
        Term::Const(name) => shape.extend([1, name.0]),
        Term::Func(name, args) => {
            shape.extend([2, name.0, args.len() as u32]);
            args.iter().for_each(|arg| add_term(arg, shape));
        }
    }
}
