//! Literals that can never hold, because nobody makes what they ask for: a relation without rules (GDL0501), a fluent
//! that no `init` or `next` makes (GDL0503), a move that is never legal (GDL0504), or an argument that never occurs in
//! its place (GDL0507).
//!
//! ```text
//! (<= open (true (cel ?x ?y b)))        ; GDL0503: did you mean `cell`?
//! (<= won (true (cell 1 1 cross)))      ; GDL0507: cells hold `x`, `o` or `b`
//! ```

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::domain::Domains;
use super::near::nearest;
use super::{Context, Findings, alternatives, arguments, times};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Formula, Relation, Rule, Term, VarId};
use crate::symbol::{SymbolId, Symbols, keyword};

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    if !context.complete {
        return;
    }
    undefined_relations(context, found);
    let fluents = [(keyword::INIT, 1), (keyword::NEXT, 1)];
    unmade_terms(context, found, Code::FluentNeverHolds, (keyword::TRUE, 1), &fluents);
    unmade_terms(context, found, Code::MoveNeverLegal, (keyword::DOES, 2), &[(keyword::LEGAL, 2)]);
    arguments_that_never_match(context, found);
}

fn undefined_relations(context: &Context<'_>, found: &mut Findings) {
    let defined_names: FxHashSet<SymbolId> = context.definitions.keys().map(|defined| defined.name).collect();
    for (&relation, uses) in &context.uses {
        let given = Symbols::is_keyword(relation.name) && !matches!(relation.name, keyword::BASE | keyword::INPUT);
        // Another arity of the same name is reported as such.
        if given || defined_names.contains(&relation.name) {
            continue;
        }
        if !found.has_room(Code::UndefinedRelation) {
            break;
        }
        let name = context.name(relation.name);
        let same_arity = context.definitions.keys().filter(|defined| defined.arity == relation.arity);
        let defined = same_arity.chain(context.definitions.keys().filter(|defined| defined.arity != relation.arity));
        let defined =
            defined.filter(|defined| !Symbols::is_keyword(defined.name)).map(|defined| context.name(defined.name));
        let in_bodies = ["true", "does", "role", "legal", "goal", "terminal", "distinct", "not", "or"];
        let meant = nearest(name, in_bodies.into_iter().chain(defined));
        if let Some(meant) = meant {
            let explained = context.definitions.keys().filter(|defined| context.name(defined.name) == meant);
            found.explained.extend(explained);
        }
        found.report(Code::UndefinedRelation, |code| {
            let mut finding =
                Diagnostic::new(code, context.name_span(uses[0]), format!("relation `{name}` is not defined"))
                    .label("no rule or fact is about it, so this never holds");
            if uses.len() > 1 {
                finding = finding.note(format!("`{name}` is used {} in these rules", times(uses.len())));
            }
            match meant {
                Some(meant) => finding.help(format!("did you mean `{meant}`?")),
                None => finding.help(format!("add a rule or fact for `{name}`, or remove the literal")),
            }
        });
    }
}

/// Reports terms that `reader` asks for (its last argument) and that no head of `makers` makes.
fn unmade_terms(
    context: &Context<'_>,
    found: &mut Findings,
    code: Code,
    reader: (SymbolId, u32),
    makers: &[(SymbolId, u32)],
) {
    let mut made: IndexSet<Relation, FxBuildHasher> = IndexSet::default();
    for rule in makers.iter().flat_map(|&(name, arity)| context.keyword(name, arity)) {
        match rule.head.args.last().and_then(Term::functor) {
            Some(functor) => _ = made.insert(functor),
            None if keeps(rule) => {}
            None => return,
        }
    }
    // A missing keyword is reported as such.
    if made.is_empty() {
        return;
    }
    let mut unmade: IndexMap<Relation, Vec<&Atom>, FxBuildHasher> = IndexMap::default();
    for atom in context.uses.get(&Relation { name: reader.0, arity: reader.1 }).into_iter().flatten() {
        if let Some(functor) = atom.args.last().and_then(Term::functor).filter(|functor| !made.contains(functor)) {
            unmade.entry(functor).or_default().push(atom);
        }
    }
    for (functor, uses) in unmade {
        let name = context.name(functor.name);
        let place = context.argument(uses[0], reader.1 as usize - 1);
        let (kind, never, makers) = match code {
            Code::FluentNeverHolds => ("fluent", "can never hold", "`init` or `next`"),
            _ => ("move", "is never legal", "`legal`"),
        };
        let other_arity = made.iter().find(|made| made.name == functor.name);
        found.report(code, |code| {
            let mut finding = Diagnostic::new(code, place, format!("{kind} `{name}` {never}"));
            finding = match other_arity {
                Some(other) => finding.label(format!(
                    "{} here, but {} in the rules for {makers}",
                    arguments(functor.arity),
                    other.arity
                )),
                None => finding.label(format!("no rule for {makers} makes it")),
            };
            if uses.len() > 1 {
                finding = finding.note(format!("`{name}` is asked for {} in these rules", times(uses.len())));
            }
            let names = made.iter().map(|made| context.name(made.name));
            match (other_arity, nearest(name, names)) {
                (Some(other), _) => finding.help(format!("give `{name}` {}", arguments(other.arity))),
                (_, Some(meant)) => finding.help(format!("did you mean `{meant}`?")),
                _ => finding.help(format!("add a rule for {makers}, or remove the literal")),
            }
        });
    }
}

/// Whether a rule `(<= (next ?f) (true ?f) ...)` only keeps fluents that hold already.
fn keeps(rule: &Rule) -> bool {
    let kept = |wanted: &VarId| {
        let mut kept = false;
        rule.body.iter().for_each(|formula| {
            kept |= matches!(formula, Formula::Atom(atom) if atom.name == keyword::TRUE && atom.args == [Term::Var(*wanted)]);
        });
        kept
    };
    rule.head.name == keyword::NEXT && matches!(&rule.head.args[..], [Term::Var(var)] if kept(var))
}

fn arguments_that_never_match(context: &Context<'_>, found: &mut Findings) {
    let Some(domains) = Domains::new(context.program) else { return };
    let mut reported: FxHashSet<(SymbolId, Relation, u32)> = FxHashSet::default();
    for rule in &context.program.rules {
        rule.for_each_body_atom(|atom, _| {
            let Some(mismatch) = domains.mismatch(atom) else { return };
            if !reported.insert((mismatch.name, mismatch.of, mismatch.position)) {
                return;
            }
            let Some(place) = context.at_path(atom, &mismatch.path) else { return };
            found.report(Code::NeverMatches, |code| {
                let (name, of) = (context.name(mismatch.name), context.name(mismatch.of.name));
                let others: Vec<&str> = domains.known(&mismatch).into_iter().map(|name| context.name(name)).collect();
                let finding = Diagnostic::new(code, place, format!("`{name}` never occurs here"))
                    .label(format!("argument {} of `{of}` is never `{name}`", mismatch.position + 1))
                    .note(match others.len() {
                        1..=6 => format!("it is {}", alternatives(&others)),
                        n => format!("it is one of {n} others, such as {}", alternatives(&others[..3])),
                    });
                match nearest(name, others.iter().copied()) {
                    Some(meant) => finding.help(format!("did you mean `{meant}`?")),
                    None => finding.help("correct the argument, or remove what can never happen"),
                }
            });
        });
    }
}
