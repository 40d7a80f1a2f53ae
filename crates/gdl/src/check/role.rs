//! Roles: they should be facts (GDL0108), and what stands in the place of a role should be one (GDL0506).
//!
//! ```text
//! (role white)
//! (legal wihte noop)        ; GDL0506: `wihte` is not a role
//! ```

use rustc_hash::FxHashSet;

use super::near::nearest;
use super::{Context, Findings};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::Term;
use crate::symbol::{SymbolId, keyword};

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    let roles: FxHashSet<SymbolId> = context.role_facts().map(|(role, _)| role).collect();
    let definitions = context.keyword(keyword::ROLE, 1);
    for rule in definitions.iter().filter(|rule| !rule.body.is_empty()) {
        found.report(Code::RoleByRule, |code| {
            Diagnostic::new(code, rule.head.span, "a role is defined by a rule")
                .label("derived, so its place among the roles is not plain to see")
                .help("write a fact `(role name)` for each role")
        });
    }
    // Roles that rules derive can't be enumerated here.
    if !context.complete || roles.is_empty() || definitions.iter().any(|rule| !rule.body.is_empty()) {
        return;
    }
    let names: Vec<&str> = context.role_facts().map(|(role, _)| context.name(role)).collect();
    let mut reported: FxHashSet<SymbolId> = FxHashSet::default();
    for atom in context.sentences() {
        let (keyword::LEGAL | keyword::DOES | keyword::GOAL | keyword::INPUT, Some(Term::Const(name))) =
            (atom.name, atom.args.first())
        else {
            continue;
        };
        if roles.contains(name) || !reported.insert(*name) {
            continue;
        }
        found.report(Code::UnknownRole, |code| {
            let (name, relation) = (context.name(*name), context.name(atom.name));
            let finding = Diagnostic::new(code, context.argument(atom, 0), format!("`{name}` is not a role"))
                .label(format!("the first argument of `{relation}` is a role"));
            match nearest(name, names.iter().copied()) {
                Some(role) => finding.help(format!("did you mean `{role}`?")),
                None => finding.help(format!("use one of the roles, or add a fact `(role {name})`")),
            }
        });
    }
}
