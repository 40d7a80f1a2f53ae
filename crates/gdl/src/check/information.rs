//! Games with imperfect information (GDL0601) and with chance (GDL0602), which are written in GDL-II.

use super::{Context, Findings, times};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Atom, Program};
use crate::symbol::keyword;

/// A finding if the rules use `sees`.
pub(super) fn sees(program: &Program) -> Option<Diagnostic> {
    let mut uses: Vec<&Atom> = Vec::new();
    for rule in &program.rules {
        uses.push(&rule.head);
        rule.for_each_body_atom(|atom, _| uses.push(atom));
    }
    uses.retain(|atom| atom.name == keyword::SEES);
    let first = uses.first()?;
    let message = "imperfect information is not supported yet";
    let finding = Diagnostic::new(Code::ImperfectInformation, first.span, message)
        .label("`sees` tells the roles different things")
        .help("without `sees`, the game can be played with everybody seeing everything");
    Some(match uses.len() {
        1 => finding,
        n => finding.note(format!("`sees` is used {} in these rules", times(n))),
    })
}

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    if let Some((_, fact)) = context.role_facts().find(|(role, _)| *role == keyword::RANDOM) {
        found.report(Code::RandomRole, |code| {
            Diagnostic::new(code, fact.head.span, "role `random` is played like any other")
                .label("stands for chance in GDL-II")
                .note("the game has no `sees`, so it is read as a game without chance or hidden information")
                .help("give the role another name, unless its moves are meant to be random")
        });
    }
}
