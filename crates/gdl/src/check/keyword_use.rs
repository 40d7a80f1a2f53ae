//! Keywords in places where they don't belong: `init` and `next` in bodies (GDL0105), and keywords as ordinary names
//! (GDL0114).
//!
//! ```text
//! (<= terminal (next (step 10)))        ; GDL0105: the step to come
//! (init (goal 3))                       ; GDL0114: a fluent called `goal`
//! ```
//!
//! Keywords that a rule can't define at all (`true`, `does`, `distinct`) and keywords with the wrong number of arguments
//! are found when the rules are resolved.

use rustc_hash::FxHashSet;

use super::{Context, Findings, for_each_node, times};
use crate::ast::Kind;
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Formula, Relation};
use crate::source::Span;
use crate::symbol::{SymbolId, Symbols, keyword};

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    for name in [keyword::INIT, keyword::NEXT] {
        let Some(uses) = context.uses.get(&Relation { name, arity: 1 }) else { continue };
        // What makes a rule depend on the moves is an error of its own.
        let reported = |atom: &&&Atom| found.list.iter().any(|found| found.primary.span == atom.span);
        let Some(first) = uses.iter().find(|atom| !reported(atom)) else { continue };
        let keyword = keyword::ALL[name.0 as usize];
        found.report(Code::NextInBody, |code| {
            let finding = Diagnostic::new(code, first.span, format!("`{keyword}` is used in a body"))
                .label(format!("the specification allows `{keyword}` in heads only"));
            let finding = match uses.len() {
                1 => finding,
                n => finding.note(format!("`{keyword}` is used in bodies {}", times(n))),
            };
            match name {
                keyword::NEXT => {
                    finding.help("read the current state with `true`, or give what both rules need a name of its own")
                }
                _ => finding.help("read the current state with `true`, or define both by a helper relation"),
            }
        });
    }
    keywords_as_terms(context, found);
}

fn keywords_as_terms(context: &Context<'_>, found: &mut Findings) {
    let mut reported: FxHashSet<SymbolId> = FxHashSet::default();
    let mut look_into = |sentence: Span| {
        let Some(sentence) = context.tree.find(sentence) else { return };
        for &argument in context.tree.children(sentence).get(1..).unwrap_or(&[]) {
            for_each_node(context.tree, argument, &mut |node| {
                let Kind::Name(name) = context.tree.kind(node) else { return };
                // `random` is an ordinary name wherever GDL-II does not make it a role.
                if !Symbols::is_keyword(name) || name == keyword::RANDOM || !reported.insert(name) {
                    return;
                }
                found.report(Code::KeywordAsTerm, |code| {
                    let message = format!("keyword `{}` is used as an ordinary name", context.name(name));
                    Diagnostic::new(code, context.tree.span(node), message)
                        .label("stands where an object or a function is expected")
                        .help("choose another name, or check the parentheses")
                });
            });
        }
    };
    for rule in &context.program.rules {
        look_into(rule.head.span);
        rule.body.iter().for_each(|formula| for_each_sentence(formula, &mut look_into));
    }
}

fn for_each_sentence(formula: &Formula, visit: &mut impl FnMut(Span)) {
    match formula {
        Formula::Atom(_) | Formula::Distinct(..) => visit(formula.span()),
        Formula::Not(inner, _) => for_each_sentence(inner, visit),
        Formula::Or(parts, _) | Formula::And(parts, _) => parts.iter().for_each(|part| for_each_sentence(part, visit)),
    }
}
