//! `senet match` and `senet tournament`: players meet, and what comes of it is kept.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use arena::{Clocks, Store};
use clap::Args;
use search::statistics::Sprt;
use serde_json::json;

use super::learn::read_duration;
use crate::contest::kit::Kit;
use crate::contest::pairing::Format;
use crate::contest::players::{Name, PLAYERS};
use crate::contest::score::{self, Table};
use crate::contest::{Contest, Played};
use crate::evidence::Bar;
use crate::memory;
use crate::rules;
use crate::screen;

/// Lets players play matches of a game against each other
///
/// With two players, each has every seat in turn with every opening; with as many players as the game has roles, all sit at one
/// table and change their seats. A game with one role is played by each alone. Openings are moves by chance, so that matches
/// differ; the first match has none.
///
/// Every match is kept at once. The same command goes on where it was stopped, and when all matches are there it only prints
/// the table. Given twice at the same time, both share the work. With --fresh it begins anew, and without it goes on with what was
/// begun last. A match in which a player never answers does not count; the same command tries it again. Ratings are in Elo points, 0 is the mean of the players, and the errors are those of 95 % intervals.
///
/// Examples:
///   senet match connect-four --players portfolio,uct
///   senet match breakthrough --players best-first,uct --matches 100 --time 0.5
///   senet match tic-tac-toe --players uct,random --nodes 1000     always the same matches
///   senet match othello --players uct,http://127.0.0.1:9147       against a player elsewhere
///   senet match connect-four --players best-first,uct --matches 400 --sprt 0,50
///                        stops as soon as it is clear whether the first is no better, or 50 points better
#[derive(Args)]
#[command(verbatim_doc_comment, after_help = players_help())]
pub(crate) struct Match {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    #[command(flatten)]
    contest: Settings,
}

/// Lets many players meet in several games: everybody everybody, one all others, or in Swiss rounds
///
/// Every match is kept at once. The same command goes on where it was stopped or killed, and when all matches are there it only
/// prints the table. Given twice at the same time, both share the work. With --fresh it begins anew, and without it goes on with what
/// was begun last. A match in which a player never answers does not count; the same command tries it again. Ratings are in Elo points, 0 is the mean of the players, and the errors are those of 95 % intervals.
///
/// Examples:
///   senet tournament tic-tac-toe connect-four --players uct,fuzzy,random
///   senet tournament breakthrough --players portfolio,uct,best-first,alpha-beta --format gauntlet
///   senet tournament hex-5 --players uct,fuzzy,random,legal --format swiss --rounds 3
#[derive(Args)]
#[command(verbatim_doc_comment, after_help = players_help())]
pub(crate) struct Tournament {
    /// Rule files or names of library games
    #[arg(required = true)]
    games: Vec<String>,
    /// Who meets whom
    #[arg(long, value_enum, default_value_t = Format::RoundRobin)]
    format: Format,
    /// The rounds of a Swiss tournament [default: as many as find one best player]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Prints the table as Markdown
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    contest: Settings,
}

/// What both commands have in common.
#[derive(Args)]
struct Settings {
    /// The players, two or more; see below
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true, value_parser = Name::read)]
    players: Vec<Name>,
    /// Matches of each pair in each game; as many more as it takes for everybody to have every seat
    #[arg(long, value_name = "N", default_value_t = 10)]
    matches: usize,
    /// Seconds for a move
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    time: f64,
    /// Time before a match, in which some players learn, such as 30s or 1m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = read_duration)]
    start: Duration,
    /// Ends a search after so many states, whatever the time; matches are then always the same
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// The most joint moves by chance at the beginning of a match
    #[arg(long, value_name = "N", default_value_t = 4)]
    opening: u32,
    /// Ends the matches of a pair when it is clear whether the first of them is A or B Elo points better
    #[arg(long, value_name = "A,B", value_parser = read_test)]
    sprt: Option<Sprt>,
    /// The seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Matches that are played at once [default: one for each core; one, where a player uses several cores]
    #[arg(long, value_name = "N")]
    parallel: Option<usize>,
    /// Begins anew, whatever has been played; the same command without it goes on with that
    #[arg(long)]
    fresh: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

fn players_help() -> String {
    let lines = PLAYERS.iter().map(|(name, what)| format!("  {name:<12}{what}\n"));
    format!("Players:\n{}  http://...  a player elsewhere that speaks the GGP protocol", lines.collect::<String>())
}

fn read_test(text: &str) -> Result<Sprt, String> {
    let wrong = || format!("`{text}` is no test; write two differences in Elo points, such as 0,50");
    let (one, other) = text.split_once(',').ok_or_else(wrong)?;
    let [one, other] = [one, other].map(|part| part.trim().parse::<f64>().ok().filter(|elo| elo.is_finite()));
    match (one, other) {
        (Some(one), Some(other)) if one < other => Ok(Sprt::between_elo(one, other)),
        (Some(_), Some(_)) => Err(format!("`{text}` is no test; the first number must be the lower one")),
        _ => Err(wrong()),
    }
}

pub(crate) fn run_match(arguments: Match) -> anyhow::Result<ExitCode> {
    let format = if arguments.contest.players.len() == 2 { Format::RoundRobin } else { Format::Table };
    let is_json = arguments.contest.json;
    let (contest, mut store) = prepare(&[arguments.rules], format, None, arguments.contest)?;
    let played = play(&contest, &mut store)?;
    report(&contest, &played, is_json, false)
}

pub(crate) fn run_tournament(arguments: Tournament) -> anyhow::Result<ExitCode> {
    let Tournament { games, format, rounds, markdown, contest } = arguments;
    let is_json = contest.json;
    let (contest, mut store) = prepare(&games, format, rounds, contest)?;
    let played = play(&contest, &mut store)?;
    report(&contest, &played, is_json, markdown)
}

fn prepare(
    games: &[String],
    format: Format,
    rounds: Option<usize>,
    settings: Settings,
) -> anyhow::Result<(Contest, Store)> {
    let Settings { players, matches, time, start, nodes, opening, sprt, seed, parallel, fresh, store, .. } = settings;
    if players.len() < 2 {
        bail!("one player has nobody to meet; name two or more, such as --players portfolio,uct");
    }
    if let Some(place) = (1..players.len()).find(|&place| players[..place].contains(&players[place])) {
        bail!("`{}` is named twice; what both get would be added up", players[place].text());
    }
    let uses_several = |name: &Name| matches!(name, Name::Portfolio | Name::Remote(_));
    if let (Some(_), Some(name)) = (nodes, players.iter().find(|name| uses_several(name))) {
        bail!("`{}` knows time alone, and not --nodes; say --time instead", name.text());
    }
    let path = match store {
        Some(path) => path,
        None => Store::default_path()?,
    };
    let mut store = memory::open(Some(path.clone()))?;
    let mut kits = Vec::new();
    for game in games {
        let rules = rules::read(game)?;
        let kit = Kit::new(&rules, path.clone())?;
        let met = arena::meet((*rules.program).clone());
        arena::remember(&mut store, &met, &kit.name, rules.source.text(), memory::now())?;
        kits.push(Arc::new(kit));
    }
    let cores = crate::n_cores();
    let parallel = parallel.unwrap_or(if players.iter().any(uses_several) { 1 } else { cores }).max(1);
    let rounds = rounds.unwrap_or(players.len().next_power_of_two().trailing_zeros() as usize).max(1);
    let clocks = Clocks { start, play: Duration::from_secs_f64(time.clamp(0.001, 3600.0)) };
    // With a bound on states, time must not matter.
    let clocks = if nodes.is_some() { Clocks { play: Duration::from_secs(3600), ..clocks } } else { clocks };
    let contest = Contest {
        games: kits,
        players,
        format,
        matches: matches.max(1),
        rounds,
        clocks,
        nodes,
        opening,
        seed,
        test: sprt,
        parallel,
        fresh,
    };
    contest.check()?;
    Ok((contest, store))
}

fn play(contest: &Contest, store: &mut Store) -> anyhow::Result<Played> {
    for number in contest.earlier(store)? {
        screen::complain(format_args!(
            "note: contest {number} was played by an earlier version and is not gone on with; `senet ratings --contest {number}` shows it"
        ));
    }
    let bar = Bar::new();
    bar.show("preparing", 0, 0);
    let played = contest.play(store, &bar);
    bar.clear();
    played
}

fn report(contest: &Contest, played: &Played, is_json: bool, is_markdown: bool) -> anyhow::Result<ExitCode> {
    let table = Table::new(&contest.names(), &played.matches);
    let mut out = screen::out();
    if is_json {
        let json = json!({
            "contest": played.id, "matches": played.matches.len(), "played_before": played.n_before,
            "played_here": played.n_own,
            "spared": played.n_spared, "players": table.standings, "cross": table.cross, "complaints": played.complaints,
            "failures": score::failures(&played.failures),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if is_markdown {
        write!(out, "{}", table.markdown())?;
        return Ok(ExitCode::SUCCESS);
    }
    let n = played.matches.len();
    // What failed is not in the table.
    writeln!(out, "contest {}: {n} matches, {} of them played before", played.id, played.n_before.min(n))?;
    writeln!(out, "{}", table.text().trim_end())?;
    if let Some(test) = &contest.test {
        let names = contest.names();
        for (place, one) in names.iter().enumerate() {
            for (next, other) in (place + 1..).zip(&names[place + 1..]) {
                let duel = score::duel(&played.matches, one, other);
                let [low, high] = [test.p0, test.p1].map(search::statistics::elo);
                match score::decided(test, &played.planned, (&played.matches, &played.failures), &names, [place, next])
                {
                    Some(true) => writeln!(out, "{one} is better than {other}: {high:.0} points sooner than {low:.0}")?,
                    Some(false) => writeln!(out, "{one} is not {high:.0} points better than {other}: {low:.0} sooner")?,
                    None if duel.n > 0 => writeln!(out, "{one} and {other}: not decided after {} matches", duel.n)?,
                    None => {}
                }
            }
        }
        if played.n_spared > 0 {
            writeln!(out, "{} matches were not needed", played.n_spared)?;
        }
    }
    write!(out, "{}", score::failures_text(&played.failures))?;
    for (complaint, n) in &played.complaints {
        writeln!(out, "in {n} matches: {complaint}")?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::read_test;

    #[test]
    fn tests_are_two_numbers() {
        let test = read_test("0, 50").expect("it is one");
        assert!(test.p0 == 0.5 && test.p1 > 0.57 && test.p1 < 0.58);
        for wrong in ["", "50", "50,0", "a,b", "0,nan", "0,0"] {
            assert!(read_test(wrong).is_err(), "{wrong}");
        }
    }
}
