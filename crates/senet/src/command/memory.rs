//! `senet memory`: the games that are remembered.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use arena::Store;
use arena::store::salvage;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::memory;
use crate::screen;

/// Lists the games that are remembered, or forgets one with all that is kept of it
///
/// Examples:
///   senet memory                      all games, with the day on which they were first met, and kept positions
///   senet memory --json               an object for each game, on a line of its own
///   senet memory courses              courses of learning, which `senet learn --resume` goes on with
///   senet memory forget my-game       forgets a game
///   senet memory salvage              saves what is not damaged of a damaged memory
///
/// The memory is the file $SENET_STORE, or else senet/memory.db in the user's data folder, together with the folder beside it whose
/// name ends with -files: copy both. Opening it with another version of the program removes nothing; a copy is kept before it is
/// brought up to date.
#[derive(Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = false)]
pub(crate) struct Memory {
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<PathBuf>,
    /// Prints JSON: an object for each game, on a line of its own
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Lists the courses of learning that are kept
    Courses,
    /// Saves what is not damaged of a memory that can't be opened any more; the damaged file is kept
    Salvage,
    /// Forgets a game, and says so; exit status 1 if there is none of that name
    Forget {
        /// The game's name, or its fingerprint where several games have that name
        name: String,
    },
}

pub(crate) fn run(arguments: Memory) -> anyhow::Result<ExitCode> {
    if let Some(Action::Salvage) = arguments.action {
        let path = arguments.store.map_or_else(Store::default_path, Ok)?;
        if Store::open(&path).is_ok() {
            screen::say(format_args!("`{}` is not damaged", path.display()));
            return Ok(ExitCode::SUCCESS);
        }
        let saved = salvage(&path)?;
        screen::say(format_args!(
            "{} rows were saved, {} were damaged; the damaged file is kept as `{}`",
            saved.n_saved,
            saved.n_lost,
            saved.damaged.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let mut store = memory::open(arguments.store)?;
    let games = store.games()?;
    let mut out = screen::out();
    if let Some(Action::Courses) = arguments.action {
        for (course, model) in store.courses()? {
            let game = games.iter().find(|game| game.fingerprint == course.key.game).map_or("", |game| &game.name);
            let (seed, n, day) = (course.key.seed, course.n_positions, memory::day(course.kept_at));
            if arguments.json {
                let line = json!({ "game": game, "seed": seed, "positions": n, "kept": day, "model": model });
                writeln!(out, "{line}")?;
            } else {
                let state = model.map_or("not finished".to_owned(), |model| format!("came to model {model}"));
                writeln!(out, "{game}  {day}  seed {seed}, {n} positions, {state}")?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(Action::Forget { name }) = arguments.action {
        let is_meant = |game: &&arena::store::Entry| game.name == name || format!("{:032x}", game.fingerprint) == name;
        let meant: Vec<_> = games.iter().filter(is_meant).collect();
        let code = match meant[..] {
            [] => {
                screen::complain(format_args!("no game is called `{name}`; `senet memory` lists them all"));
                ExitCode::from(1)
            }
            [game] => {
                store.forget(game.fingerprint)?;
                writeln!(out, "`{}` is forgotten.", game.name)?;
                ExitCode::SUCCESS
            }
            _ => {
                screen::complain(format_args!("several games are called `{name}`; say which one:"));
                meant.iter().for_each(|game| {
                    screen::complain(format_args!("  {:032x}  {}", game.fingerprint, memory::day(game.met_at)))
                });
                ExitCode::from(2)
            }
        };
        return Ok(code);
    }
    let kept = store.kept()?;
    let n_positions = |game: &arena::store::Entry| {
        kept.iter().filter(|kept| kept.key.game == game.fingerprint).map(|kept| kept.n_positions).sum::<u64>()
    };
    let width = games.iter().map(|game| game.name.chars().count()).max().unwrap_or(0);
    for game in &games {
        let (fingerprint, day) = (format!("{:032x}", game.fingerprint), memory::day(game.met_at));
        if arguments.json {
            let line =
                json!({ "name": game.name, "fingerprint": fingerprint, "met": day, "positions": n_positions(game) });
            writeln!(out, "{line}")?;
        } else {
            let positions = match n_positions(game) {
                0 => String::new(),
                n => format!("  {n} positions"),
            };
            writeln!(out, "{:width$}  {day}  {fingerprint}{positions}", game.name)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
