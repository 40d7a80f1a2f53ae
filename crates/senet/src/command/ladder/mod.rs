//! `senet ladder`: how strong the learned players are, game by game.

mod report;
mod state;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::learn::course::Stored;
use anyhow::{Context, bail};
use arena::Store;
use arena::store::write_whole;
use clap::{Args, ValueEnum};
use gdl::Stop;
use insight::canonical::{self, canonical};
use serde_json::json;

use self::report::{Report, Row};
use self::state::{Played, State};
use super::learn::{self, Plan, Pupil};
use crate::evidence::{self, Bar};
use crate::measure::{self, Comparison, Kind, Pace, Players, Tally};
use crate::memory;
use crate::portfolio;
use crate::ranking;
use crate::rules::{self, Rules};
use crate::screen;

/// Learns games and measures what the learned players are worth, with intervals
///
/// For each game it learns, then plays matches: one move ahead against random play and against fuzzy goals, and searching
/// against random play and against tree search with the same time for a move; games for one are played alone. The result is a
/// page of Markdown.
///
/// Everything that is done is kept at once, each match by itself. A ladder that was stopped or killed goes on where it was when
/// the same command is given again; when everything is done, it only prints the page.
///
/// Examples:
///   senet ladder --out docs/strength.md                  the usual games; takes hours
///   senet ladder connect-four my-game.kif --time 1m      these games
///   senet ladder --only learn                            learns, and leaves the matches for later
///   senet ladder --report-only                           the page, of what has been done so far
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Ladder {
    /// Rule files or names of library games [default: the games of docs/strength.md]
    games: Vec<String>,
    /// How long each game is learned, such as 90s, 5m or 2h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = learn::read_duration)]
    time: Duration,
    /// Learns for so many generations of playing and fitting, whatever the time
    #[arg(long, value_name = "N")]
    generations: Option<usize>,
    /// Seconds for a move against tree search; against random play it is a fifth of that
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    move_time: f64,
    /// Games that also play against tree search with more time, with commas between them
    #[arg(long, value_name = "GAMES", value_delimiter = ',', default_values = LONG)]
    long: Vec<String>,
    /// Seconds for a move then
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    long_time: f64,
    /// A score against random play that nobody can surpass in a game, if it is known from elsewhere, as in `pacman=97.97`
    #[arg(long, value_name = "GAME=SCORE", value_delimiter = ',', value_parser = read_bound)]
    bound: Vec<(String, f64)>,
    /// A file of Markdown that is put below the settings: what else there is to say
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Matches one move ahead
    #[arg(long, value_name = "N", default_value_t = 200)]
    matches: u32,
    /// Matches with search; against tree search fewer, if a sequential test decides
    #[arg(long, value_name = "N", default_value_t = 100)]
    search_matches: u32,
    /// The seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that learn, and matches that are played at once [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Does a part of the work
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Does nothing but the report
    #[arg(long)]
    report_only: bool,
    /// Where what was done is kept [default: beside the memory]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Writes the page to a file, instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Reads a game and a score, as in `pacman=97.97`.
fn read_bound(text: &str) -> Result<(String, f64), String> {
    let (game, score) = text.split_once('=').ok_or("write GAME=SCORE")?;
    match score.parse::<f64>() {
        Ok(score) if (0.0..=100.0).contains(&score) => Ok((game.to_owned(), score)),
        _ => Err(format!("`{score}` is no score from 0 to 100")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Learn,
    Play,
}

/// The games of the page.
const GAMES: [&str; 24] = [
    "tic-tac-toe",
    "connect-four",
    "breakthrough-6x6",
    "breakthrough",
    "othello-6x6",
    "othello",
    "checkers",
    "race-checkers",
    "hex-7",
    "gomoku",
    "merrills",
    "chinese-checkers",
    "nothello",
    "hallway",
    "farmers",
    "tron",
    "pacman",
    "bomberman",
    "tic-tic-toe",
    "blocker",
    "eight-puzzle",
    "peg",
    "asteroids",
    "pancakes",
];
/// Those of them that also play with more time. Checkers and Chinese Checkers would each take most of an hour: matches are long, and a
/// sequential test does not end them.
const LONG: [&str; 8] =
    ["connect-four", "breakthrough", "othello", "race-checkers", "hex-7", "gomoku", "tron", "hallway"];
/// Matches in games for one: one move ahead, and searching.
const ALONE: (u32, u32) = (10, 5);

pub(crate) fn run(arguments: Ladder) -> anyhow::Result<ExitCode> {
    for seconds in [arguments.move_time, arguments.long_time] {
        if !(0.001..=3600.0).contains(&seconds) {
            bail!("{seconds} s is no time for a move; it is from 0.001 to 3600");
        }
    }
    let state = match (&arguments.state, &arguments.store) {
        (Some(file), _) => file.clone(),
        (None, Some(store)) => beside(store),
        (None, None) => beside(&Store::default_path()?),
    };
    let ladder = Climb {
        threads: arguments.threads.unwrap_or_else(crate::n_cores),
        state: Mutex::new(if arguments.report_only { State::read(&state)? } else { State::open(&state)? }),
        bar: Bar::new(),
        arguments,
    };
    ladder.go(&state)
}

/// The file that keeps what was done, beside a memory.
fn beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-ladder.jsonl");
    PathBuf::from(name)
}

/// A game, and how it is to be learned.
struct Task {
    name: String,
    is_alone: bool,
    rules: Rules,
    plan: Plan,
    /// What learning it is kept under.
    key: String,
}

/// A ladder that is being climbed.
struct Climb {
    arguments: Ladder,
    threads: usize,
    state: Mutex<State>,
    bar: Bar,
}

impl Climb {
    fn go(&self, file: &Path) -> anyhow::Result<ExitCode> {
        let arguments = &self.arguments;
        let mut names: Vec<&str> = match &arguments.games[..] {
            [] => GAMES.to_vec(),
            named => named.iter().map(String::as_str).collect(),
        };
        let mut seen = BTreeSet::new();
        names.retain(|&name| seen.insert(name));
        let tasks = names.iter().map(|name| self.task(name)).collect::<anyhow::Result<Vec<Task>>>()?;
        let n_damaged = self.state().n_damaged;
        if n_damaged > 0 {
            self.say(&format!(
                "warning: {n_damaged} lines of `{}` are cut short or damaged, and are passed over",
                file.display()
            ));
        }
        let of_tasks = |part: fn(&Task) -> &str| tasks.iter().map(part).collect::<BTreeSet<&str>>();
        let n_others = self.state().n_others(&of_tasks(|task| &task.key), &of_tasks(|task| &task.name));
        if n_others > 0 {
            self.say(&format!(
                "note: in `{}` these games were also learned {n_others} times with other settings or by another version; \
                 that and its matches stay there, and are not used",
                file.display()
            ));
        }
        if !arguments.report_only {
            self.say(&format!("what is done is kept in `{}`", file.display()));
            let n_new = tasks.iter().filter(|task| self.state().learned(&task.key).is_none()).count();
            let time = if arguments.generations.is_some() {
                String::new()
            } else {
                format!(" for {} in all", spoken(arguments.time * n_new as u32))
            };
            self.say(&format!("{} games, {n_new} of them are to be learned{time}; then come matches", tasks.len()));
        }
        let (mut rows, mut failures) = (Vec::new(), 0);
        for (place, task) in tasks.iter().enumerate() {
            let place = format!("[{}/{}] {}", place + 1, tasks.len(), task.name);
            let row = self.game(task, &place).unwrap_or_else(|error| {
                failures += 1;
                self.say(&format!("{place}: {error:#}"));
                Row::new(&task.name, task.is_alone, None, |_| Vec::new())
            });
            rows.push(row);
        }
        self.bar.clear();
        for (game, score) in &arguments.bound {
            rows.iter_mut().for_each(|row| row.bound(game, *score));
        }
        let notes = arguments
            .notes
            .as_ref()
            .map(|file| std::fs::read_to_string(file).with_context(|| format!("can't read `{}`", file.display())));
        let report = Report::new(arguments, self.threads, rows, notes.transpose()?);
        let mut out = screen::out();
        if let Some(file) = &arguments.out {
            // The page is there as a whole, or as it was.
            write_whole(file, report.page().as_bytes()).with_context(|| format!("can't write `{}`", file.display()))?;
        }
        if arguments.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        } else if arguments.out.is_none() {
            write!(out, "{}", report.page())?;
        }
        Ok(if failures > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }

    /// What is to be done about a game.
    fn task(&self, name: &str) -> anyhow::Result<Task> {
        let arguments = &self.arguments;
        let rules = rules::read(name)?;
        rules::accept(&rules)?;
        let plan = Plan {
            seed: arguments.seed,
            threads: self.threads,
            time: arguments.time,
            generations: arguments.generations,
            resume: true,
            fresh: true,
            purpose: purpose(arguments.time, arguments.generations),
            all_time_counts: true,
        };
        let fingerprint = canonical(&rules.program, canonical::BUDGET).fingerprint;
        let key = hash(&json!({
            "program": env!("CARGO_PKG_VERSION"), "game": fingerprint.to_string(), "seed": plan.seed,
            "course": format!("{:016x}", plan.hash()),
        }));
        let is_alone = portfolio::roles(&rules.program, &Stop::never()).is_ok_and(|roles| roles.len() == 1);
        Ok(Task { name: rules.game_name(), is_alone, key, rules, plan })
    }

    /// Does what is missing of a game.
    fn game(&self, task: &Task, place: &str) -> anyhow::Result<Row> {
        let arguments = &self.arguments;
        let start = Instant::now();
        let row = |learned: Option<&state::Learned>| {
            Row::new(&task.name, task.is_alone, learned, |learned| self.tallies(learned))
        };
        let known = self.state().learned(&task.key).cloned();
        if arguments.report_only {
            return Ok(row(known.as_ref()));
        }
        // Step 1. Learning, unless a model is there.
        let mut model = known.as_ref().map_or(Ok(None), |known| self.model(known))?;
        let mut pupil = None;
        let learned = match known.filter(|_| model.is_some()) {
            Some(known) => known,
            None if arguments.only == Some(Part::Play) => {
                self.say(&format!("{place}: not learned yet"));
                return Ok(row(None));
            }
            None => {
                let how_long = match arguments.generations {
                    Some(n) => format!("{n} generations"),
                    None => spoken(arguments.time),
                };
                self.say(&format!("{place}: learning, {how_long}"));
                self.bar.show("analysing the rules", 0, 0);
                let fresh = pupil.insert(self.pupil(task)?);
                let learned = self.learn(task, fresh, start)?;
                model = self.model(&learned)?;
                learned
            }
        };
        let Some(model) = model else { bail!("the memory does not keep its model") };
        let pending: Vec<Tally> = self.tallies(&learned).into_iter().filter(|tally| !tally.is_done()).collect();
        if pending.is_empty() || arguments.only == Some(Part::Learn) {
            return Ok(row(Some(&learned)));
        }
        // Step 2. Matches.
        self.bar.show("preparing the players", 0, 0);
        let pupil = match pupil {
            Some(pupil) => pupil,
            None => self.pupil(task)?,
        };
        let stored = Stored::from_bytes(&model)?;
        let players = Players::new(&pupil.game, stored.load(pupil.game.clone())?, stored.search);
        for (done, tally) in pending.iter().enumerate() {
            let left = pending.len() - done - 1;
            let against = tally.comparison().kind.against(tally.comparison().move_time.as_secs_f64());
            let has = if tally.len() > 0 { format!(", {} are there", tally.len()) } else { String::new() };
            self.say(&format!("{place}: {} matches against {against}{has}", tally.most()));
            let stage = format!("{}: against {against}", task.name);
            let played = self.play(&learned, &players, tally.clone(), &stage)?;
            if let Some(score) = played.score() {
                let (mean, low, high, n) = (score.mean, score.low, score.high, score.matches);
                let left = if left > 0 { format!("; {left} more to come") } else { String::new() };
                self.say(&format!("{place}: {mean:.1} ({low:.1} to {high:.1}) in {n} matches{left}"));
            }
        }
        self.keep_scores(&learned)?;
        Ok(row(Some(&learned)))
    }

    fn pupil(&self, task: &Task) -> anyhow::Result<Pupil> {
        Pupil::new(&task.rules, self.arguments.seed, self.arguments.store.clone())
    }

    fn learn(&self, task: &Task, pupil: &mut Pupil, start: Instant) -> anyhow::Result<state::Learned> {
        let plan = &task.plan;
        let choosing = if plan.generations.is_some() { Duration::ZERO } else { plan.time.mul_f64(learn::CHOOSING) };
        let mut came = learn::learn(pupil, &Plan { time: plan.time - choosing, ..plan.clone() }, start, &self.bar)?;
        if !choosing.is_zero() {
            learn::choose_search(pupil, &mut came, plan, choosing, &self.bar);
        }
        let about = learn::about(plan, &came, Vec::new());
        let Some(id) = pupil.keep(&came, &about)? else { bail!("the memory does not keep its model") };
        let content = pupil.memory.models()?.into_iter().find(|entry| entry.id == id);
        let content = content.map_or(Ok(None), |entry| pupil.memory.model(&entry))?.unwrap_or_default();
        let game = &pupil.game;
        let learned = state::Learned {
            key: task.key.clone(),
            game: task.name.clone(),
            fingerprint: pupil.fingerprint.to_string(),
            model: id,
            content: content_hash(&content),
            roles: game.universe.roles.len(),
            shared: measure::is_shared(game),
            possible: measure::possible_against_random(game),
            fuzzy: measure::is_possible(Kind::OnePlyFuzzy, game),
            seconds: came.seconds,
            search: came.search.name().to_owned(),
            threads: self.threads,
            generations: about.generations,
            matches: about.matches,
            features: about.features,
            slots: about.slots,
            made_at: memory::now(),
        };
        self.state().add_learned(learned.clone())?;
        Ok(learned)
    }

    /// Plays what is missing of a comparison, and keeps each match.
    fn play(&self, learned: &state::Learned, players: &Players, tally: Tally, stage: &str) -> anyhow::Result<Tally> {
        let comparison = *tally.comparison();
        let cell = self.cell(learned, &comparison);
        let pace = Pace { threads: self.threads, seed: self.arguments.seed, until: None, end: None };
        let failure = Mutex::new(None);
        self.bar.show(stage, tally.len(), tally.most() as usize);
        let tally = measure::play(players, tally, &pace, &|outcome, tally| {
            self.bar.show(stage, tally.len(), tally.most() as usize);
            let played = Played {
                cell: cell.clone(),
                game: learned.game.clone(),
                kind: comparison.kind,
                move_time: comparison.move_time.as_secs_f64(),
                outcome: outcome.clone(),
            };
            let kept = self.state().add_match(played);
            kept.map_err(|error| *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error)).is_ok()
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(tally),
        }
    }

    /// Keeps what a model was measured to be worth with it, so that it counts when the model that plays is chosen.
    fn keep_scores(&self, learned: &state::Learned) -> anyhow::Result<()> {
        let mut store = memory::open(self.arguments.store.clone())?;
        let scores: Vec<_> = self.tallies(learned).iter().filter_map(Tally::score).collect();
        if let Some(entry) = store.models()?.into_iter().find(|entry| entry.id == learned.model) {
            store.describe_model(entry.id, &ranking::with_scores(&entry, scores))?;
        }
        Ok(())
    }

    /// A model's bytes, if the memory has it still.
    fn model(&self, learned: &state::Learned) -> anyhow::Result<Option<Vec<u8>>> {
        let store = memory::open(self.arguments.store.clone())?;
        let Some(entry) = store.models()?.into_iter().find(|entry| entry.id == learned.model) else { return Ok(None) };
        let bytes = evidence::undamaged(store.model(&entry), &self.bar, "the game is learned again")?;
        Ok(bytes.filter(|bytes| content_hash(bytes) == learned.content))
    }

    /// The comparisons of a game, with the matches that are kept.
    fn tallies(&self, learned: &state::Learned) -> Vec<Tally> {
        let state = self.state();
        let tally = |comparison: Comparison| {
            let mut tally = Tally::new(comparison, learned.roles, learned.shared);
            let kept = state.matches(&self.cell(learned, &comparison));
            kept.iter().for_each(|outcome| tally.add(outcome.clone()));
            tally
        };
        self.comparisons(learned).into_iter().map(tally).collect()
    }

    fn comparisons(&self, learned: &state::Learned) -> Vec<Comparison> {
        let arguments = &self.arguments;
        let of = |kind, seconds, matches| Comparison {
            kind,
            move_time: Duration::from_secs_f64(seconds),
            matches,
            sequential: kind == Kind::SearchUct,
        };
        let (time, searched) = (arguments.move_time, arguments.search_matches);
        if learned.roles == 1 {
            let n = |most: u32| most.min(searched);
            return vec![of(Kind::OnePlyAlone, time, n(ALONE.0)), of(Kind::SearchAlone, time, n(ALONE.1))];
        }
        let mut all = vec![of(Kind::OnePlyRandom, time, arguments.matches)];
        if learned.fuzzy {
            all.push(of(Kind::OnePlyFuzzy, time, arguments.matches));
        }
        all.push(of(Kind::SearchRandom, time / 5.0, searched));
        all.push(of(Kind::SearchUct, time, searched));
        if arguments.long.contains(&learned.game) {
            all.push(of(Kind::SearchUct, arguments.long_time, searched));
        }
        all
    }

    /// What the matches of a comparison are kept under.
    fn cell(&self, learned: &state::Learned, comparison: &Comparison) -> String {
        hash(&cell_key((&learned.fingerprint, &learned.content), comparison, self.arguments.seed))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line that says what goes on.
    fn say(&self, line: &str) {
        self.bar.above(line);
    }
}

fn content_hash(bytes: &[u8]) -> String {
    format!("{:016x}", evidence::hash(bytes))
}

/// What courses of a ladder are for; part of what they are kept under.
fn purpose(time: Duration, generations: Option<usize>) -> String {
    json!({ "ladder": time.as_secs_f64(), "generations": generations }).to_string()
}

/// All that the matches of a comparison depend on.
fn cell_key((game, model): (&str, &str), comparison: &Comparison, seed: u64) -> serde_json::Value {
    let time = if comparison.kind.is_timed() { comparison.move_time } else { Duration::ZERO };
    json!({
        "program": env!("CARGO_PKG_VERSION"), "version": measure::VERSION, "game": game, "model": model,
        "kind": comparison.kind, "move_time": time.as_secs_f64(), "seed": seed,
    })
}

/// What something is kept under that depends on all this.
fn hash(all: &serde_json::Value) -> String {
    content_hash(all.to_string().as_bytes())
}

/// A time as people say it.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds < 120.0 => format!("{} s", (seconds * 10.0).round() / 10.0),
        _ if seconds < 7200.0 => format!("{} min", (seconds / 6.0).round() / 10.0),
        _ => format!("{} h", (seconds / 360.0).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a ladder has done is found again by what it depends on, named and in a form of our own.
    #[test]
    fn keys_stay_as_they_are() {
        assert_eq!(purpose(Duration::from_millis(1_500), Some(3)), r#"{"generations":3,"ladder":1.5}"#);
        let comparison =
            |kind| Comparison { kind, move_time: Duration::from_millis(200), matches: 10, sequential: true };
        let of = |kind| cell_key(("f", "m"), &comparison(kind), 7);
        assert_eq!(
            (of(Kind::SearchUct)["kind"].as_str(), of(Kind::SearchUct)["move_time"].as_f64()),
            (Some("search-uct"), Some(0.2))
        );
        assert_eq!(of(Kind::OnePlyRandom)["move_time"], 0.0, "it takes no time");
        let key = json!({
            "program": "1", "version": 4, "game": "f", "model": "m", "kind": Kind::SearchUct, "move_time": 0.2, "seed": 7,
        });
        assert_eq!(hash(&key), "f3965e3063f12bb6");
    }
}
