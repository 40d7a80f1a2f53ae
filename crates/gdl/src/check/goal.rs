//! Goal values that are not integers from 0 to 100 (GDL0401). Values that rules compute are looked at in play.
//!
//! ```text
//! (<= (goal white win) (line x))        ; `win` is no number
//! ```

use super::{Context, Findings};
use crate::diagnostic::{Code, Diagnostic};
use crate::program::Term;
use crate::symbol::keyword;

pub(super) fn check(context: &Context<'_>, found: &mut Findings) {
    for rule in context.keyword(keyword::GOAL, 2) {
        let message = match &rule.head.args[1] {
            Term::Var(_) => continue,
            Term::Const(name) => {
                let name = context.name(*name);
                match name.parse::<i64>() {
                    Ok(0..=100) => continue,
                    Ok(_) => format!("goal value {name} is not between 0 and 100"),
                    Err(_) => format!("goal value `{name}` is not a number"),
                }
            }
            Term::Func(..) => "a goal value can't be a term with arguments".to_owned(),
        };
        found.report(Code::GoalValue, |code| {
            Diagnostic::new(code, context.argument(&rule.head, 1), message)
                .label("expected an integer from 0 to 100")
                .help("use 100 for a win, 50 for a draw, 0 for a loss, or anything between")
        });
    }
}
