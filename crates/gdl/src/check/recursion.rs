//! The recursion restriction of GDL (GDL0302): recursion must not be able to build ever new arguments.
//!
//! Love, Hinrichs, Haley, Schkufza and Genesereth (2008), *General Game Playing: Game Description Language
//! Specification*: if a rule for `p` has a literal `q(v1 ... vk)` in its body and `q` is in a cycle with `p`, then each
//! `vi` is ground, or is an argument of the head, or is an argument of a body literal that is in no cycle with `p`. A
//! term inside an argument of such a literal will do, too: there are finitely many of those.
//!
//! ```text
//! (<= (reaches ?x ?z) (reaches ?x ?y) (reaches ?y ?z))      ; `?y` is bound by the recursion alone
//! (<= (reaches ?x ?z) (step ?x ?y) (reaches ?y ?z))         ; fine
//! ```

use super::{Context, Findings};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Term};

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    for rule in &context.program.rules {
        let head = rule.head.relation();
        let (mut recursive, mut others): (Vec<&Atom>, Vec<&Atom>) = (Vec::new(), Vec::new());
        rule.for_each_body_atom(|atom, negated| {
            if context.graph.in_a_cycle(head, atom.relation()) {
                recursive.push(atom);
            } else if !negated {
                others.push(atom);
            }
        });
        let allowed = |term: &Term| {
            term.is_ground()
                || rule.head.args.contains(term)
                || others.iter().any(|other| other.args.iter().any(|arg| occurs(term, arg)))
        };
        let culprit = recursive.iter().find_map(|literal| {
            let argument = literal.args.iter().position(|arg| !allowed(arg))?;
            Some((literal, argument))
        });
        let Some((literal, argument)) = culprit else { continue };
        found.report(Code::RecursionRestriction, |code| {
            let (name, read) = (context.name(rule.head.name), context.name(literal.name));
            let message = match literal.relation() == head {
                true => format!("recursion of `{name}` is not restricted"),
                false => format!("recursion of `{name}` through `{read}` is not restricted"),
            };
            let finding = Diagnostic::new(code, context.argument(literal, argument), message)
                .label("bound by nothing outside the recursion")
                .also(rule.head.span, "the recursion starts here");
            let builds = rule.head.args.iter().any(|arg| matches!(arg, Term::Func(..)) && !arg.is_ground());
            let finding = match builds {
                true => finding.note("the head builds a term, so the recursion may go on for ever"),
                false => finding.note("the recursion may still end, but other players may reject the game"),
            };
            match &literal.args[argument] {
                Term::Var(var) => {
                    let var = context.variable_name(rule, *var);
                    finding.help(format!("bind `{var}` in a literal that does not depend on `{name}`"))
                }
                _ => finding.help(format!("bind the term in a literal that does not depend on `{name}`")),
            }
        });
    }
}

fn occurs(wanted: &Term, term: &Term) -> bool {
    wanted == term || matches!(term, Term::Func(_, args) if args.iter().any(|arg| occurs(wanted, arg)))
}
