//! `senet models`: what was learned, and when.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::measure::{Kind, Score};
use crate::memory;

/// Lists the models that were learned, or forgets one
///
/// Examples:
///   senet models                      all models, with the game, the day and what they were worth
///   senet models --json               an object for each model, on a line of its own
///   senet models forget 3             forgets model 3
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

#[derive(Subcommand)]
enum Action {
    /// Forgets a model, and says so; exit status 1 if there is none with that number
    Forget {
        /// The model's number
        number: i64,
    },
}

pub(crate) fn run(arguments: Models) -> anyhow::Result<ExitCode> {
    let mut store = memory::open(arguments.store)?;
    let mut out = std::io::stdout().lock();
    if let Some(Action::Forget { number }) = arguments.action {
        if !store.forget_model(number)? {
            eprintln!("there is no model {number}; `senet models` lists them all");
            return Ok(ExitCode::from(1));
        }
        writeln!(out, "model {number} is forgotten.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let models = store.models()?;
    if models.is_empty() && !arguments.json {
        writeln!(out, "nothing has been learned yet; `senet learn GAME` does")?;
    }
    if !models.is_empty() && !arguments.json {
        writeln!(
            out,
            "{:>6}  {:<28} {:<10} {:>7} {:>8}  AGAINST TREE SEARCH",
            "MODEL", "GAME", "MADE", "SECONDS", "MATCHES"
        )?;
    }
    for model in models {
        let about: Value = serde_json::from_str(&model.about).unwrap_or_default();
        if arguments.json {
            let line = json!({
                "model": model.id, "game": model.game_name, "fingerprint": format!("{:032x}", model.game),
                "made_at": model.made_at, "about": about,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let number = |name: &str| about[name].as_f64().unwrap_or(0.0);
        let scores = about["scores"].as_array().cloned().unwrap_or_default();
        let scores = scores.into_iter().filter_map(|score| serde_json::from_value::<Score>(score).ok());
        let against = scores.into_iter().find(|score| score.kind == Kind::SearchUct);
        let against =
            against.map_or(String::new(), |score| format!("{:.1} ({:.1} to {:.1})", score.mean, score.low, score.high));
        writeln!(
            out,
            "{:>6}  {:<28} {:<10} {:>7.0} {:>8}  {against}",
            model.id,
            model.game_name,
            memory::day(model.made_at),
            number("seconds"),
            number("matches"),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
