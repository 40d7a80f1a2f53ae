//! `senet ratings`: how strong players are, by all the matches that are remembered.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use arena::store::PlayedMatch;
use clap::Args;
use serde_json::{Value, json};

use crate::contest::score::{self, Table};
use crate::memory;
use crate::screen;

/// Says how strong players are, by the matches that were played
///
/// Ratings are those under which the results are most likely (Bradley and Terry; Plackett and Luce where more than two play), with
/// the errors of 95 % intervals; 0 is the mean of the players. Matches with different clocks are counted together unless one
/// contest is asked for.
///
/// Examples:
///   senet ratings                        everybody, by all matches
///   senet ratings --game connect-four    in one game
///   senet ratings --contest 3            in one contest
///   senet ratings --contests             lists the contests
///   senet ratings --forget 3             forgets a contest and its matches
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Ratings {
    /// Only matches of this game, by its name
    #[arg(long, value_name = "NAME")]
    game: Option<String>,
    /// Only matches of this contest, by its number
    #[arg(long, value_name = "N")]
    contest: Option<i64>,
    /// Lists the contests instead
    #[arg(long)]
    contests: bool,
    /// Forgets a contest and its matches
    #[arg(long, value_name = "N")]
    forget: Option<i64>,
    /// Prints the table as Markdown
    #[arg(long)]
    markdown: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

pub(crate) fn run(arguments: Ratings) -> anyhow::Result<ExitCode> {
    let mut store = memory::open(arguments.store)?;
    let mut out = screen::out();
    if let Some(number) = arguments.forget {
        if !store.forget_contest(number)? {
            screen::complain(format_args!("there is no contest {number}; `senet ratings --contests` lists them all"));
            return Ok(ExitCode::from(1));
        }
        writeln!(out, "contest {number} is forgotten.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.contests {
        for contest in store.contests()? {
            let about: Value = serde_json::from_str(&contest.about).unwrap_or_default();
            if arguments.json {
                let (id, begun_at, n) = (contest.id, contest.begun_at, contest.n_matches);
                writeln!(out, "{}", json!({ "contest": id, "begun_at": begun_at, "matches": n, "about": about }))?;
                continue;
            }
            let list = |name: &str| {
                let names = about[name].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
                names.collect::<Vec<_>>().join(", ")
            };
            let day = memory::day(contest.begun_at);
            let clock = match about["nodes"].as_u64() {
                Some(nodes) => format!("{nodes} states a move"),
                None => format!("{} s a move", about["play_clock"]),
            };
            let (games, players) = (list("games"), list("players"));
            let run = match contest.run {
                0 => ", by an earlier version".to_owned(),
                1 => String::new(),
                run => format!(", run {run}"),
            };
            let (id, n) = (contest.id, contest.n_matches);
            writeln!(out, "{id:>4}  {day}  {n:>5} matches  {games}: {players} ({clock}{run})")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = |played: &PlayedMatch| arguments.game.as_ref().is_none_or(|game| played.game_name == *game);
    let all = store.matches(arguments.contest)?.into_iter().filter(wanted);
    let (failures, matches): (Vec<PlayedMatch>, Vec<PlayedMatch>) = all.partition(PlayedMatch::is_failure);
    if matches.is_empty() {
        bail!(
            "there are no such matches; `senet match` and `senet tournament` play some, `senet ratings --contests` lists them"
        );
    }
    let players: BTreeSet<String> =
        matches.iter().flat_map(|played| played.seats.iter().map(|seat| seat.player.clone())).collect();
    let table = Table::new(&Vec::from_iter(players), &matches);
    if arguments.json {
        let json = json!({
            "matches": matches.len(), "players": table.standings, "cross": table.cross,
            "failures": score::failures(&failures),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
    } else if arguments.markdown {
        write!(out, "{}", table.markdown())?;
    } else {
        writeln!(out, "{} matches", matches.len())?;
        write!(out, "{}{}", table.text(), score::failures_text(&failures))?;
    }
    Ok(ExitCode::SUCCESS)
}
