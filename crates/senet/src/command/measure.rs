//! `senet measure`: what a model is worth, without learning.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use features::game::Game;
use insight::canonical::{self, canonical};
use serde_json::json;

use super::learn::{print_scores, read_duration};
use crate::evidence::{self, Bar, Known};
use crate::measure;
use crate::memory;
use crate::ranking;
use crate::rules;
use crate::screen;

/// Measures a model of a game against simple players, without learning
///
/// The model that plays is taken from the memory (`senet models` says which one), whatever names the rules have: a scrambled copy of a
/// game that was learned plays as well as the game itself, from its first move. What comes of it is kept with the model, and counts
/// when the model that plays is chosen.
///
/// Examples:
///   senet measure connect-four
///   senet scramble connect-four | senet measure -         the same model, and as strong
///   senet measure connect-four --model 3 --time 5m
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Measure {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// This model, instead of the one that plays
    #[arg(long, value_name = "NUMBER")]
    model: Option<i64>,
    /// How long it may take, such as 90s, 5m or 2h
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = read_duration)]
    time: Duration,
    /// Seconds for a move where both sides search
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    move_time: f64,
    /// The seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Matches that are played at once [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(arguments: Measure) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let bar = Bar::new();
    bar.show("analysing the rules", 0, 0);
    let mut memory = memory::open(arguments.store)?;
    let form = canonical(&rules.program, canonical::BUDGET);
    let (name, of) = (rules.game_name(), form.fingerprint.0);
    let game = Game::new(form.respelled(&rules.program), 1)
        .map_err(|reason| anyhow!("`{name}` can't be grounded, so it has no model: {reason}"))?;
    let game = Arc::new(game);
    let known = match arguments.model {
        None => evidence::best_model(&memory, of, &game, &evidence::warn)?,
        Some(number) => {
            let Some(entry) = memory.models()?.into_iter().find(|entry| entry.id == number) else {
                bail!("there is no model {number}; `senet models` lists them");
            };
            if entry.game != of {
                bail!("model {number} is of another game, `{}`", entry.game_name);
            }
            Some(evidence::load(&memory, &entry, &game)?)
        }
    };
    let Some(Known { entry, stored, model }) = known else {
        bail!("there is no model of `{name}`; `senet learn {}` learns one", arguments.rules);
    };
    let contest = measure::Contest {
        move_time: Duration::from_secs_f64(arguments.move_time.clamp(0.001, 3600.0)),
        time: arguments.time,
        threads: arguments.threads.unwrap_or_else(crate::n_cores),
        seed: arguments.seed,
    };
    let scores = measure::measure(&game, &model, stored.search, &contest, &mut |stage| bar.show(stage, 0, 0));
    bar.clear();
    if !memory.is_read_only() {
        memory.describe_model(entry.id, &ranking::with_scores(&entry, scores.clone()))?;
    }
    let mut out = screen::out();
    if arguments.json {
        let told = json!({
            "game": name, "fingerprint": form.fingerprint.to_string(), "model": entry.id, "of": entry.game_name,
            "search": stored.search, "scores": scores,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&told)?)?;
    } else {
        let day = memory::day(entry.made_at);
        writeln!(
            out,
            "{name}: model {} of {}, made on {day}; plays by {}",
            entry.id,
            entry.game_name,
            stored.search.name()
        )?;
        print_scores(&scores, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}
