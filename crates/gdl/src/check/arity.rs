//! Names used with different numbers of arguments: relations (GDL0102) and functions (GDL0103).
//!
//! ```text
//! (init (cell 1 1 b))
//! (<= open (true (cell ?x b)))          ; never holds: this `cell` has two arguments
//! ```

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::{Context, Findings, arguments, for_each_node, times};
use crate::ast::Kind;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::symbol::{SymbolId, Symbols};

/// The arities of each name: how often it is used with each of them, and where first.
type Arities = IndexMap<SymbolId, Vec<Arity>, FxBuildHasher>;

struct Arity {
    arity: u32,
    n_uses: usize,
    first: Span,
}

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    let (mut relations, mut functions) = (Arities::default(), Arities::default());
    for atom in context.sentences() {
        if !Symbols::is_keyword(atom.name) {
            count(&mut relations, atom.name, atom.args.len() as u32, atom.span);
        }
        let Some(node) = context.tree.find(atom.span) else { continue };
        for &argument in context.tree.children(node).get(1..).unwrap_or(&[]) {
            for_each_node(context.tree, argument, &mut |node| {
                let arity = context.tree.children(node).len().saturating_sub(1) as u32;
                if let (Kind::List, Some(name), 1..) = (context.tree.kind(node), context.tree.head(node), arity) {
                    count(&mut functions, name, arity, context.tree.span(node));
                }
            });
        }
    }
    report(context, found, Code::ArityClash, "relation", &relations);
    report(context, found, Code::FunctionArityClash, "function", &functions);
}

fn count(arities: &mut Arities, name: SymbolId, arity: u32, span: Span) {
    let known = arities.entry(name).or_default();
    match known.iter_mut().find(|known| known.arity == arity) {
        Some(known) => known.n_uses += 1,
        None => known.push(Arity { arity, n_uses: 1, first: span }),
    }
}

fn report(context: &Context<'_>, found: &mut Findings, code: Code, kind: &str, arities: &Arities) {
    for (&name, known) in arities.iter().filter(|(_, known)| known.len() > 1) {
        // The rarest is the likeliest mistake; among equals, the one that comes last.
        let odd = known.iter().rev().min_by_key(|known| known.n_uses).expect("there are two arities");
        let usual = known.iter().filter(|known| known.arity != odd.arity).max_by_key(|known| known.n_uses);
        let usual = usual.expect("there are two arities");
        // A literal that never holds for this reason has been reported already.
        if found.list.iter().any(|found| found.primary.span == odd.first) {
            continue;
        }
        found.report(code, |code| {
            let (name, odd_count, usual_count) = (context.name(name), arguments(odd.arity), arguments(usual.arity));
            Diagnostic::new(code, odd.first, format!("{kind} `{name}` is used with {odd_count} and with {usual_count}"))
                .label(format!("{odd_count} here"))
                .also(usual.first, format!("{usual_count} here, {} in all", times(usual.n_uses)))
                .help(format!("give `{name}` the same number of arguments everywhere, or use two names"))
        });
    }
}
