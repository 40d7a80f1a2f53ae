//! `senet perft`: how many ways there are to play on.

use std::io::Write;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;

use crate::guard;
use crate::rules;
use crate::screen;

/// Counts the joint-move paths of each length from the initial state
///
/// Examples:
///   senet perft chess --depth 3       20, 400, 8902
///   senet perft my-game.kif --depth 5 --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Perft {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// The longest paths to count, in joint moves
    #[arg(long, default_value_t = 3)]
    depth: u32,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Perft) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    let mut machine = rules::reference(&rules, guard::limits())?;
    let counts = machine::perft(&mut machine, arguments.depth).map_err(|e| anyhow!(rules::over_budget(&rules, &e)))?;
    let mut out = screen::out();
    if arguments.json {
        let lines: Vec<_> = counts
            .iter()
            .enumerate()
            .map(|(depth, count)| serde_json::json!({"depth": depth, "paths": count.paths, "terminal": count.terminal}))
            .collect();
        writeln!(out, "{}", serde_json::Value::from(lines))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{:>5} {:>16} {:>16}", "depth", "paths", "terminal")?;
    for (depth, count) in counts.iter().enumerate() {
        writeln!(out, "{depth:>5} {:>16} {:>16}", count.paths, count.terminal)?;
    }
    Ok(ExitCode::SUCCESS)
}
