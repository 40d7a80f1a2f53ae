//! `senet models`: what was learned, when, and which of it plays.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use arena::Store;
use arena::store::ModelEntry;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::memory;
use crate::ranking::{self, Standing};
use crate::screen;

/// Lists the models that were learned, says which one of a game plays, and pins or removes one
///
/// Of several models of a game the one that is pinned plays; else the one that did best when it was measured against tree search (the
/// one whose 95 % interval begins highest); else, if none was measured, the one that has learned from most matches. A star marks it.
/// `senet measure GAME --model N` measures a model.
///
/// Examples:
///   senet models                      all models, with the game, the day and what they were worth
///   senet models --json               an object for each model, on a line of its own
///   senet models pin 3                model 3 plays, whatever others are worth
///   senet models unpin 3              the best one plays again
///   senet models remove 3             removes model 3 for good
#[derive(Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = false)]
pub(crate) struct Models {
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<PathBuf>,
    /// Prints JSON: an object for each model, on a line of its own
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Clone, Copy, Subcommand)]
enum Action {
    /// Lets a model play whatever others of its game are worth; exit status 1 if there is none with that number
    Pin {
        /// The model's number
        number: i64,
    },
    /// Lets the best model of the game play again
    Unpin {
        /// The model's number
        number: i64,
    },
    /// Removes a model for good, and says so; exit status 1 if there is none with that number
    #[command(visible_alias = "forget")]
    Remove {
        /// The model's number
        number: i64,
    },
}

impl Action {
    /// Does it; what was done, or nothing if there is no such model.
    fn go(self, store: &mut Store) -> anyhow::Result<Result<String, i64>> {
        let (number, is_done, what) = match self {
            Action::Pin { number } => (number, store.pin_model(number, true)?, "is pinned: it plays"),
            Action::Unpin { number } => (number, store.pin_model(number, false)?, "is not pinned"),
            Action::Remove { number } => (number, store.forget_model(number)?, "is forgotten"),
        };
        Ok(if is_done { Ok(format!("model {number} {what}.")) } else { Err(number) })
    }
}

pub(crate) fn run(arguments: Models) -> anyhow::Result<ExitCode> {
    let mut store = memory::open(arguments.store)?;
    let mut out = screen::out();
    if let Some(action) = arguments.action {
        return match action.go(&mut store)? {
            Ok(done) => {
                writeln!(out, "{done}")?;
                Ok(ExitCode::SUCCESS)
            }
            Err(number) => {
                screen::complain(format_args!("there is no model {number}; `senet models` lists them all"));
                Ok(ExitCode::from(1))
            }
        };
    }
    let models = store.models()?;
    if models.is_empty() && !arguments.json {
        writeln!(out, "nothing has been learned yet; `senet learn GAME` does")?;
    }
    if !models.is_empty() && !arguments.json {
        writeln!(
            out,
            "{:>7}  {:<28} {:<10} {:>7} {:>8}  AGAINST TREE SEARCH",
            "MODEL", "GAME", "MADE", "SECONDS", "MATCHES"
        )?;
    }
    for model in &models {
        let about = ranking::about(model);
        let standing = Standing::new(model, &models);
        let state = state(&store, model);
        let plays = plays(&store, &models, model);
        if arguments.json {
            let line = json!({
                "model": model.id, "game": model.game_name, "fingerprint": format!("{:032x}", model.game),
                "made_at": model.made_at, "plays": plays, "pinned": model.is_pinned, "state": state,
                "strength": standing.measured, "matches": standing.matches, "about": about,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let against = standing.measured.map_or(String::new(), |score| {
            format!("{:.1} ({:.1} to {:.1}) in {} matches", score.mean, score.low, score.high, score.matches)
        });
        let marks = [(model.is_pinned, "pinned"), (state != READY, state)];
        let marks: Vec<&str> = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect();
        let line = format!(
            "{:>6}{}  {:<28} {:<10} {:>7.0} {:>8}  {against}{}{}",
            model.id,
            if plays { '*' } else { ' ' },
            model.game_name,
            memory::day(model.made_at),
            about["seconds"].as_f64().unwrap_or(0.0),
            standing.matches,
            if against.is_empty() || marks.is_empty() { "" } else { "; " },
            marks.join(", "),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The state of a model that can be used.
const READY: &str = "ready";

/// Whether a model can be used, as far as its file says.
fn state(store: &Store, model: &ModelEntry) -> &'static str {
    match store.model(model) {
        _ if model.is_outdated => "of another version of the program",
        Ok(Some(_)) => READY,
        Ok(None) => "its file is gone",
        Err(_) => "its file is damaged",
    }
}

/// Whether this is the model of its game that plays.
fn plays(store: &Store, all: &[ModelEntry], model: &ModelEntry) -> bool {
    let mut best = ranking::best_first(all, model.game).into_iter();
    best.find(|other| state(store, other) == READY).is_some_and(|other| other.id == model.id)
}
