//! `senet games`: the library.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::library::{self, Game};
use crate::screen;
use crate::view::View;

/// Lists the games that come with the program
///
/// Examples:
///   senet games                   all of them
///   senet games simultaneous      those with this word in their description
///   senet games capture 8x8       those with both words
///   senet games --json
///
/// Every name can be given wherever a command expects RULES. Exit status: 1 if no game is found.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Games {
    /// Lists only games with all of these words in name, title, summary, kind, family or roles
    words: Vec<String>,
    /// Prints JSON: an object for each game, on a line of its own
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Games) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    for game in library::GAMES {
        let view = game.view()?;
        let text = description(game, &view).to_lowercase();
        if arguments.words.iter().all(|word| text.contains(&word.to_lowercase())) {
            found.push((game, view));
        }
    }
    let mut out = std::io::BufWriter::new(screen::out());
    if arguments.json {
        for (game, view) in &found {
            let View { title, summary, kind, family, roles, .. } = view;
            let line = json!({
                "name": game.name, "title": title, "summary": summary, "kind": kind, "family": family, "roles": roles,
            });
            writeln!(out, "{line}")?;
        }
    } else if !found.is_empty() {
        let row = |game: &Game, view: &View| {
            let roles: Vec<&str> = view.roles.keys().map(String::as_str).collect();
            [game.name, &view.title, view.kind.name(), &view.family, &roles.join(", ")].map(str::to_owned)
        };
        let head = ["NAME", "TITLE", "KIND", "FAMILY", "ROLES"].map(str::to_owned);
        let rows: Vec<_> = [head].into_iter().chain(found.iter().map(|(game, view)| row(game, view))).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..5).map(width).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
    }
    out.flush()?;
    if found.is_empty() {
        screen::complain(format_args!("no game with {}", arguments.words.join(" and ")));
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything that a word may be found in.
fn description(game: &Game, view: &View) -> String {
    let roles = view.roles.iter().flat_map(|(role, label)| [role.as_str(), label]);
    let parts = [game.name, &view.title, &view.summary, view.kind.name(), &view.family];
    parts.into_iter().chain(roles).collect::<Vec<_>>().join("\n")
}
