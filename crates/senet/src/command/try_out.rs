//! `senet try`: the first thing to do with the program.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser};
use insight::canonical::{self, canonical};

use super::learn::read_duration;
use crate::memory;
use crate::rules;
use crate::screen;

/// Learns a game for a minute, shows what it learned, and plays with you
///
/// It knows nothing of the game but its rules. What it learned is kept, so that the next time it goes on from there. Where there is no
/// terminal, it ends without playing.
///
/// Examples:
///   senet try                          Connect Four
///   senet try breakthrough --time 2m
///   senet try my-game.kif
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Try {
    /// A rule file or the name of a library game
    #[arg(default_value = "connect-four")]
    rules: String,
    /// How long it learns, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = read_duration)]
    time: Duration,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(arguments: Try) -> anyhow::Result<ExitCode> {
    let Try { rules: name, time, store } = arguments;
    let rules = rules::read(&name)?;
    rules::accept(&rules)?;
    let say = |text: &str| writeln!(screen::out(), "{text}");
    let title = match rules.game.map(|game| game.view()).transpose()? {
        Some(view) => format!("{}: {}", view.title, view.summary),
        None => rules.game_name(),
    };
    say(&format!("{title}\n\nAll that the program gets is the rules, such as"))?;
    let lines = rules.source.text().lines().filter(|line| line.starts_with("(<="));
    lines.take(3).try_for_each(|line| say(&format!("  {line} ...")))?;
    say(&format!("\nIt now learns for {:.0} seconds by playing with itself.\n", time.as_secs_f64()))?;
    let with_store = |arguments: &[&str]| {
        let mut all: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        if let Some(store) = &store {
            all.extend(["--store".to_owned(), store.display().to_string()]);
        }
        all
    };
    command(with_store(&["learn", &name, "--time", &format!("{}s", time.as_secs_f64())]))?;
    let fingerprint = canonical(&rules.program, canonical::BUDGET).fingerprint.0;
    let models = memory::open(store.clone())?.models()?;
    if let Some(model) = crate::ranking::best_first(&models, fingerprint).first() {
        say("\nWhat it looks at, and how much that counts:")?;
        command(with_store(&["explain", &model.id.to_string(), "--top", "3"]))?;
    }
    if std::io::stdin().is_terminal() && screen::is_seen()[0] {
        say("\nNow play with it; `help` lists what you can say, `quit` ends it.\n")?;
        return command(with_store(&["play", &name]));
    }
    say(&format!("\n`senet play {name}` plays with you."))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs another command of the program.
fn command(arguments: Vec<String>) -> anyhow::Result<ExitCode> {
    let arguments = crate::Arguments::try_parse_from(["senet".to_owned()].into_iter().chain(arguments))?;
    super::run(arguments.command)
}
