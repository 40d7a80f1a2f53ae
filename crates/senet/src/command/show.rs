//! `senet show`: the rules of a game.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use machine::Machine;

use crate::guard;
use crate::rules::{self, Rules};
use crate::screen;

/// Prints the rules of a game
///
/// Examples:
///   senet show tic-tac-toe                 as their author wrote them
///   senet show tic-tac-toe --form infix    in infix notation
///   senet show my-game.txt --form kif      in prefix notation, neatly laid out
///   senet show chess --board               the initial state of a library game
///
/// A notation that is asked for is printed anew, without comments. Exit status: 1 if the rules
/// can't be printed because of errors.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Show {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// The notation to print
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Draws the boards of the initial state instead
    #[arg(long, conflicts_with = "form")]
    board: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Prefix: (<= (p ?x) (q ?x))
    Kif,
    /// Infix: p(X) :- q(X)
    Infix,
}

pub(crate) fn run(arguments: Show) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    let text = match arguments.form {
        _ if arguments.board => board(&rules)?,
        None => rules.source.text().to_owned(),
        Some(form) => {
            rules::accept(&rules)?;
            gdl::print(&rules.tree, if matches!(form, Form::Kif) { gdl::Form::Kif } else { gdl::Form::Infix })
        }
    };
    let mut out = screen::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn board(rules: &Rules) -> anyhow::Result<String> {
    let Some(game) = rules.game else {
        bail!("`{}` is no library game, so nothing is known of its boards", rules.source.name());
    };
    let view = game.view()?;
    let mut machine = rules::reference(rules, guard::limits())?;
    let state = machine.initial().map_err(|exceeded| anyhow!(rules::over_budget(rules, &exceeded)))?;
    let drawn = view.draw(&machine.fluents(&state));
    Ok(if drawn.is_empty() { format!("{} has no board.\n", view.title) } else { drawn })
}
