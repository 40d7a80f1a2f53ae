//! Rules that are too large to be evaluated (GDL0010): the time that planning takes grows with the cube of their size.

use super::Findings;
use crate::datalog::{Excess, MAX_LITERALS, MAX_NAMES, distributed_body};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Program, Term};

pub(super) fn check(program: &Program, found: &mut Findings) {
    for rule in &program.rules {
        if rule.body.is_empty() && rule.head.args.iter().all(Term::is_ground) {
            continue;
        }
        let Err(excess) = distributed_body(rule) else { continue };
        let (message, label) = match excess {
            Excess::Literals(n) => (
                format!("a rule with {n} literals and connectives is too large"),
                format!("the limit is {MAX_LITERALS} literals and connectives"),
            ),
            Excess::Names(n) => (
                format!("a rule with {n} names and variables is too large"),
                format!("the limit is {MAX_NAMES} names and variables"),
            ),
            Excess::Combinations => (
                "the disjunctions of this rule have too many combinations".to_owned(),
                "a variable outside of an `or` is bound in some of its branches only".to_owned(),
            ),
        };
        found.report(Code::RuleTooLarge, |code| {
            Diagnostic::new(code, rule.head.span, message).label(label).help("split the rule with helper relations")
        });
    }
}
