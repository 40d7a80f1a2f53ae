//! `senet host`: a game manager.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use arena::protocol::MatchName;
use arena::{Clocks, Judge, Record, Seat, referee};
use clap::Args;
use search::statistics;
use serde::Serialize;

use crate::contestants::{KINDS, Participant};
use crate::evidence::Bar;
use crate::rules;
use crate::screen;

/// Lets players meet, here or anywhere: a game manager
///
/// A player is `portfolio`, `uct`, `random` or `legal`, or the address of any player that speaks the protocol of
/// general game playing. The manager keeps the clocks. Who gives no legal move in time gets one by
/// chance, and the record says so: `TO` for no answer in time, `CE` for no connection, `IL` for an
/// illegal move. From match to match, the players change seats.
///
/// Records are JSON as viewers and archives of general game playing read it; with `--record` there
/// is one file for each match, complete after every move.
///
/// Examples:
///   senet host tic-tac-toe --players uct random --matches 10
///   senet host connect-four --players http://127.0.0.1:9147 uct --play-clock 5
///   senet host my-game.kif --players 10.0.0.5:9147 10.0.0.6:9147 --scramble --record matches
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Host {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// Who plays, one for each role: `portfolio`, `uct`, `random`, `legal` or an address
    #[arg(long, num_args = 1.., required = true, value_name = "PLAYER")]
    players: Vec<String>,
    /// Seconds to prepare; players elsewhere want whole seconds
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
    start_clock: f64,
    /// Seconds for each move; players elsewhere want whole seconds
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    play_clock: f64,
    /// Seconds that an answer may be late, since it may have been under way
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    grace: f64,
    /// How many matches to play
    #[arg(long, default_value_t = 1, value_name = "N")]
    matches: u32,
    /// Keeps everybody in the seat that `--players` gives it
    #[arg(long)]
    fixed_seats: bool,
    /// Sends each player the rules under meaningless names and in another order
    #[arg(long)]
    scramble: bool,
    /// A folder for the records
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Where the game's description is on the web, for the records
    #[arg(long, value_name = "URL")]
    meta_url: Option<String>,
    /// The longest match, in joint moves; longer ones are given up
    #[arg(long, default_value_t = 1000)]
    cap: usize,
    /// Chooses the moves of those who don't, and new names
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prints one JSON object for each match, and one for the results
    #[arg(long)]
    json: bool,
}

/// What a player reached in all matches.
#[derive(Serialize)]
struct Standing {
    player: String,
    matches: usize,
    /// Mean points, and the 95 % interval of it; no mean of no matches.
    mean: Option<f64>,
    low: f64,
    high: f64,
    wins: usize,
    losses: usize,
    errors: usize,
    /// The longest that a move took.
    slowest_seconds: f64,
}

pub(crate) fn run(arguments: Host) -> anyhow::Result<ExitCode> {
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let game = arena::Rules::read(&rules.game_name(), rules.source.text());
    let judge = Judge::new(&game, None).map_err(|error| anyhow!(error))?;
    let roles = judge.roles().to_vec();
    if arguments.players.len() != roles.len() {
        bail!(
            "{} has the roles {}, so --players takes {} of them; there are {} (each {} or an address)",
            game.name,
            roles.join(", "),
            roles.len(),
            arguments.players.len(),
            KINDS.join(", ")
        );
    }
    for (number, text) in arguments.players.iter().enumerate() {
        if !KINDS.contains(&text.as_str()) && arguments.players[..number].contains(text) {
            bail!("{text} can't have two seats: a player plays one role at a time; start another one at another port");
        }
    }
    let seconds = |name, seconds| Duration::try_from_secs_f64(seconds).with_context(|| format!("--{name} {seconds}"));
    let clocks = Clocks {
        start: seconds("start-clock", arguments.start_clock)?,
        play: seconds("play-clock", arguments.play_clock)?,
    };
    let grace = seconds("grace", arguments.grace)?;
    if let Some(folder) = &arguments.record {
        std::fs::create_dir_all(folder).with_context(|| format!("can't make the folder `{}`", folder.display()))?;
    }
    let match_name = MatchName::default();
    let mut participants = Vec::new();
    for (number, text) in arguments.players.iter().enumerate() {
        let seed = arguments.seed.wrapping_add(number as u64);
        let participant = Participant::find(text, seed, grace, &match_name)?;
        participants.push(if arguments.scramble { participant.scrambled(seed) } else { participant });
    }
    let mut seats: Vec<Seat> = participants.iter().map(|participant| Seat::new(participant.factory.clone())).collect();
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    // The match is given up and everybody hears of it; whoever can't wait presses again.
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(handler).context("can't wait for Ctrl-C")?;
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let n = participants.len();
    let mut order: Vec<usize> = (0..n).collect();
    let mut played: Vec<(Vec<usize>, Record)> = Vec::new();
    let bar = Bar::new();
    for number in 0..arguments.matches {
        // Step 1. Everybody takes a seat.
        if number > 0 && !arguments.fixed_seats {
            seats.rotate_left(1);
            order.rotate_left(1);
        }
        let id = format!("senet.{}.{begun}.{number}", game.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        *match_name.lock().expect("nobody panics with it") = id.clone();
        let settings = referee::Settings {
            id,
            clocks,
            grace,
            cap: arguments.cap,
            seed: arguments.seed.wrapping_add(u64::from(number)),
            names: order.iter().map(|&index| participants[index].name.clone()).collect(),
            scrambled: arguments.scramble,
            meta_url: arguments.meta_url.clone(),
        };
        // Step 2. The match.
        let mut failed = None;
        let mut see = |record: &Record| {
            let what = format!("matches, {} moves", record.moves.len());
            bar.show(&what, number as usize, arguments.matches as usize);
            if let Some(folder) = &arguments.record
                && let Err(error) = record.save(folder)
            {
                failed = Some(anyhow!(error).context(format!("can't write a record to `{}`", folder.display())));
            }
            failed.is_none() && !interrupted.load(Ordering::SeqCst)
        };
        let record = referee::referee(&game, &mut seats, &settings, &mut see).map_err(|error| anyhow!(error))?;
        if let Some(error) = failed {
            return Err(error);
        }
        // Step 3. Tell.
        bar.clear();
        let mut out = screen::out();
        if arguments.json {
            writeln!(out, "{}", record.json())?;
        } else {
            writeln!(out, "{}", line(&record))?;
        }
        out.flush()?;
        played.push((order.clone(), record));
        if interrupted.load(Ordering::SeqCst) {
            break;
        }
    }
    bar.clear();
    let results: Vec<Standing> = (0..n).map(|index| standing(&participants[index].name, index, &played)).collect();
    report(&results, played.len(), arguments.json)?;
    Ok(if interrupted.load(Ordering::SeqCst) { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// A match in a line.
fn line(record: &Record) -> String {
    let one = |(role, name): (usize, &String)| {
        let points = record.goal_values.get(role).map_or("-".to_owned(), i64::to_string);
        let errors = record.n_errors(role);
        let errors = if errors == 0 { String::new() } else { format!(" ({errors} errors)") };
        format!("{name} {points}{errors}")
    };
    let players: Vec<String> = record.player_names_from_host.iter().enumerate().map(one).collect();
    let end = if record.is_aborted { ", given up" } else { "" };
    format!("{}: {} after {} moves{end}", record.match_id, players.join(", "), record.moves.len())
}

fn standing(name: &str, index: usize, played: &[(Vec<usize>, Record)]) -> Standing {
    let (mut points, mut wins, mut losses, mut errors) = (Vec::new(), 0, 0, 0);
    let mut slowest = Duration::ZERO;
    for (order, record) in played {
        let role = order.iter().position(|&other| other == index).expect("everybody has a seat");
        errors += record.n_errors(role);
        slowest = slowest.max(record.slowest[role]);
        if !record.is_completed {
            continue;
        }
        let own = record.goal_values[role];
        points.push(own as f64);
        let others: Vec<i64> =
            (0..order.len()).filter(|&other| other != role).map(|other| record.goal_values[other]).collect();
        wins += usize::from(!others.is_empty() && others.iter().all(|&other| own > other));
        losses += usize::from(others.iter().any(|&other| own < other));
    }
    let interval = statistics::wilson(points.iter().sum::<f64>() / 100.0, points.len() as u64);
    let mean = (!points.is_empty()).then(|| points.iter().sum::<f64>() / points.len() as f64);
    Standing {
        player: name.to_owned(),
        matches: points.len(),
        mean,
        low: 100.0 * interval.low,
        high: 100.0 * interval.high,
        wins,
        losses,
        errors,
        slowest_seconds: slowest.as_secs_f64(),
    }
}

fn report(results: &[Standing], n_played: usize, json: bool) -> anyhow::Result<()> {
    let mut out = screen::out();
    if json {
        writeln!(out, "{}", serde_json::to_string(&results)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<24} {:>7} {:>6} {:>13} {:>5} {:>7} {:>7} {:>10}",
        "player", "matches", "points", "95 %", "wins", "losses", "errors", "slowest s"
    )?;
    for one in results {
        let interval = format!("{:.0} to {:.0}", one.low, one.high);
        let points = one.mean.map_or("-".to_owned(), |mean| format!("{mean:.1}"));
        writeln!(
            out,
            "{:<24} {:>7} {points:>6} {interval:>13} {:>5} {:>7} {:>7} {:>10.2}",
            one.player, one.matches, one.wins, one.losses, one.errors, one.slowest_seconds
        )?;
    }
    if results.iter().any(|one| one.matches < n_played) {
        writeln!(out, "Matches that were given up don't count.")?;
    }
    Ok(())
}
