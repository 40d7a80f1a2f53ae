//! `senet scramble`: the same game under meaningless names.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use insight::scramble::{RoleOrder, scramble};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::rules;
use crate::screen;

/// Writes the same game under meaningless names and in another order
///
/// Competitions send rules like this, so that nobody recognises a game by its words. Names and
/// variables are replaced; rules, literals and the arguments of `or`, `and` and `distinct` are
/// shuffled. Goal values stay, and so do the roles' places in a joint move. The meaning does not
/// change: every command says the same of a scrambled game, in other words.
///
/// Examples:
///   senet scramble tic-tac-toe                       one of many forms
///   senet scramble tic-tac-toe --seed 2              another one
///   senet scramble chess | senet perft - --depth 2   20, 400 as ever
///   senet scramble my-game.kif -o scrambled.kif --map names.json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Scramble {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// The seed that names and order are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shuffles the roles, too
    #[arg(long)]
    shuffle_roles: bool,
    /// Where to write the rules, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to write which name became which, as a JSON object
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
}

pub(crate) fn run(arguments: Scramble) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let roles = if arguments.shuffle_roles { RoleOrder::Shuffled } else { RoleOrder::Kept };
    let scrambled = scramble(&rules.program, roles, &mut Pcg64Mcg::seed_from_u64(arguments.seed));
    if let Some(file) = &arguments.map {
        let name = |(old, new): &(_, String)| (rules.program.symbols.name(*old).to_owned(), new.as_str().into());
        let map: serde_json::Map<String, serde_json::Value> = scrambled.names.iter().map(name).collect();
        let json = serde_json::to_string_pretty(&map)? + "\n";
        arena::store::write_whole(file, json.as_bytes())
            .with_context(|| format!("can't write `{}`", file.display()))?;
    }
    match &arguments.output {
        Some(file) => {
            arena::store::write_whole(file, scrambled.text.as_bytes())
                .with_context(|| format!("can't write `{}`", file.display()))?;
        }
        None => {
            let mut out = screen::out();
            out.write_all(scrambled.text.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
