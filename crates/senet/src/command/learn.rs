//! `senet learn`: an evaluation of positions from self-play, and what it is worth.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use arena::Store;
use arena::store::Key;
use clap::Args;
use features::construct::{self, construct};
use features::game::Game;
use features::positions;
use insight::canonical::{self, canonical};
use learn::course::{self, Checkpoint, Course, Generation};
use learn::model::Model;
use serde::Serialize;

use crate::evidence::{self, Bar, remember};
use crate::measure::{self, Score};
use crate::memory;
use crate::rules;

/// Learns to judge positions of a game by playing it
///
/// Builds features and tables of patterns from the rules, plays with itself, and fits their weights to what became of the
/// positions, by turns, until time is up. Then it plays against simple players and says what the result is worth, with 95 %
/// intervals. The model is kept in the memory, with how it was made; a scrambled copy of the game has the same model.
///
/// A course that was stopped or killed goes on where it was with --resume. The same seed and number of generations give the
/// same model.
///
/// Examples:
///   senet learn connect-four
///   senet learn my-game.kif --time 30m
///   senet learn connect-four --generations 20 --seed 7         always the same model
///   senet learn othello --resume
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Learn {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// How long it may take in all, such as 90s, 5m or 2h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    time: Duration,
    /// Ends after so many generations of playing and fitting, whatever the time
    #[arg(long, value_name = "N")]
    generations: Option<usize>,
    /// The seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The threads that work; they change nothing in the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Goes on with a course that was stopped
    #[arg(long)]
    resume: bool,
    /// Does not play against other players at the end
    #[arg(long)]
    no_measure: bool,
    /// Seconds for a move where both sides search
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    move_time: f64,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Reads a time such as `90s`, `5m` or `2h`; a number alone means seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write 90s, 5m or 2h");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
    let seconds = match unit.trim() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

/// The part of the time that is left for playing against others.
const MEASURING: f64 = 0.2;
/// How often a course is kept, at least.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// How a model was made and what it is worth.
#[derive(Serialize)]
struct Report {
    game: String,
    /// What the game's scrambled forms have in common.
    fingerprint: String,
    /// The number of the model in the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<i64>,
    #[serde(flatten)]
    about: About,
}

#[derive(Serialize)]
struct About {
    seed: u64,
    version: &'static str,
    seconds: f64,
    generations: usize,
    matches: u32,
    examples: usize,
    features: usize,
    slots: usize,
    stages: usize,
    curve: Vec<Generation>,
    scores: Vec<Score>,
}

pub(crate) fn run(arguments: Learn) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let threads = arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let name = rules.game_name();
    let bar = Bar::new();
    bar.show("analysing the rules", 0, 0);
    let form = canonical(&rules.program, canonical::BUDGET);
    let game = Game::new(form.respelled(&rules.program), arguments.seed)
        .map_err(|reason| anyhow!("`{}` can't be grounded, so it can't be learned: {reason}", rules.source.name()))?;
    let game = Arc::new(game);
    let mut memory = remember(&rules, arguments.store.clone())?;
    let settings = course::Settings { seed: arguments.seed, ..course::Settings::default() };
    let key = Key {
        game: form.fingerprint.0,
        seed: arguments.seed,
        settings: evidence::hash(&format!("{} {settings:?}", positions::PLAY_VERSION)),
    };
    let settings = with_threads(settings, threads);
    // Step 1. A course that was left, or a new one.
    let kept = if arguments.resume { memory.course(key)? } else { None };
    let mut course = match kept {
        Some(kept) => Course::resume(game.clone(), Checkpoint::from_bytes(&kept)?, settings)?,
        None => begin(&game, key.game, &mut memory, settings, threads, &bar)?,
    };
    // Step 2. Generations until time is up. A kill loses no more than the one that is being played.
    let until = arguments.time.mul_f64(if arguments.no_measure { 1.0 } else { 1.0 - MEASURING });
    let is_over = || start.elapsed() >= until;
    let mut kept_at = Instant::now();
    while arguments.generations.map_or(!is_over(), |n| course.history().len() <= n) {
        let last = course.history().last().expect("a course has a beginning");
        let loss = last.losses.iter().map(|losses| losses.held_out).sum::<f64>() / last.losses.len().max(1) as f64;
        let rate = f64::from(last.n_matches) / start.elapsed().as_secs_f64();
        let stage = format!("playing with itself: {} matches, {rate:.0}/s, loss {loss:.4}", last.n_matches);
        let (done, of) = match arguments.generations {
            Some(n) => (course.history().len() - 1, n),
            None => (start.elapsed().as_secs() as usize, until.as_secs() as usize),
        };
        bar.show(&stage, done, of);
        let timed = arguments.generations.is_none();
        if !course.go_on(&|| timed && is_over())? {
            break;
        }
        if kept_at.elapsed() >= KEEP_EVERY {
            keep(&mut memory, key, &course)?;
            kept_at = Instant::now();
        }
    }
    keep(&mut memory, key, &course)?;
    // Step 3. What it is worth.
    let model = course.model().clone();
    let scores = if arguments.no_measure {
        Vec::new()
    } else {
        let left = arguments.time.saturating_sub(start.elapsed()).max(arguments.time.mul_f64(MEASURING / 2.0));
        let contest = measure::Contest {
            move_time: Duration::from_secs_f64(arguments.move_time.clamp(0.001, 3600.0)),
            time: left,
            threads,
            seed: arguments.seed,
        };
        measure::measure(&game, &model, &contest, &mut |stage| bar.show(stage, 0, 0))
    };
    bar.clear();
    let mut report = Report {
        game: name,
        fingerprint: form.fingerprint.to_string(),
        model: None,
        about: about(&arguments, &course, &model, scores, start.elapsed()),
    };
    let text = serde_json::to_string(&report.about)?;
    report.model = memory.keep_model(key.game, &text, &course.checkpoint().model.to_bytes(), memory::now())?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn keep(memory: &mut Store, key: Key, course: &Course) -> anyhow::Result<()> {
    let kept = course.checkpoint();
    Ok(memory.keep_course(key, kept.examples.len() as u64, &kept.to_bytes(), memory::now())?)
}

fn with_threads(settings: course::Settings, threads: usize) -> course::Settings {
    course::Settings {
        play: learn::self_play::Settings { threads, ..settings.play },
        teach: learn::teach::Settings { threads, ..settings.teach },
        ..settings
    }
}

/// The first positions and the features.
fn begin(
    game: &Arc<Game>,
    fingerprint: u128,
    memory: &mut Store,
    settings: course::Settings,
    threads: usize,
    bar: &Bar,
) -> anyhow::Result<Course> {
    let play = positions::Settings { seed: settings.seed, ..positions::Settings::default() };
    let played = evidence::positions(game, fingerprint, &play, None, Some(memory), bar)?;
    let construct_settings = construct::Settings { seed: settings.seed, threads, ..construct::Settings::default() };
    let set = construct(game, &played.positions, &construct_settings, &mut |progress: construct::Progress| {
        bar.show(progress.stage, progress.done, progress.of);
        true
    })
    .map_err(|reason| anyhow!(reason))?;
    bar.show("fitting the first weights", 0, 0);
    let features = set.features.into_iter().map(|selected| selected.feature).collect();
    Ok(Course::begin(game.clone(), &played.positions, features, settings)?)
}

fn about(arguments: &Learn, course: &Course, model: &Model, scores: Vec<Score>, time: Duration) -> About {
    let last = course.history().last().expect("a course has a beginning");
    About {
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        seconds: time.as_secs_f64(),
        generations: course.history().len() - 1,
        matches: last.n_matches,
        examples: last.n_examples,
        features: model.sight.features.len(),
        slots: model.sight.patterns.as_ref().map_or(0, |patterns| patterns.n_slots()),
        stages: model.sight.stages.cuts.len() + 1,
        curve: course.history().to_vec(),
        scores,
    }
}

fn print(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let about = &report.about;
    writeln!(
        out,
        "{}: {} features, {} pattern slots and {} stages; {} matches in {} generations, {:.0} s",
        report.game, about.features, about.slots, about.stages, about.matches, about.generations, about.seconds
    )?;
    let loss = |generation: &Generation| {
        let sum: f64 = generation.losses.iter().map(|losses| losses.held_out).sum();
        sum / generation.losses.len().max(1) as f64
    };
    if let (Some(first), Some(last)) = (about.curve.first(), about.curve.last()) {
        writeln!(out, "loss on matches held out: {:.4} at first, {:.4} at last", loss(first), loss(last))?;
    }
    if !about.scores.is_empty() {
        writeln!(out, "\n{:<44} {:>6} {:>16} {:>7}", "LEARNED AGAINST", "SCORE", "95 %", "MATCHES")?;
    }
    for score in &about.scores {
        let interval = format!("{:.1} to {:.1}", score.low, score.high);
        writeln!(out, "{:<44} {:>6.1} {interval:>16} {:>7}", score.against, score.mean, score.matches)?;
    }
    if let Some(id) = report.model {
        writeln!(out, "\nkept as model {id}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1.5m"), Ok(90.0));
        assert_eq!(seconds("2 h"), Ok(7200.0));
        assert_eq!(seconds("7"), Ok(7.0));
        for wrong in ["", "m", "5 days", "-1s", "nan"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
