//! `senet learn --method discover`: an evaluation in readable terms, found in play-lines.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, anyhow};
use arena::store::Key;
use clap::Args;
use features::structural::fuzzy::Function;
use learn::discover::cycle::{self, Run, Stage};
use learn::discover::field::{self, Field};
use learn::discover::words;
use serde::Serialize;
use serde_json::json;

use super::{Learn, MEASURING, Method};
use crate::evidence::{self, Bar};
use crate::memory;
use crate::screen;

#[derive(Args)]
#[command(next_help_heading = "With --method discover")]
pub(super) struct Options {
    /// Writes the best function to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Players search, opening so many positions for a move, instead of looking one move ahead
    #[arg(long, value_name = "N")]
    span: Option<u64>,
    /// Matches that functions are discovered in, in each cycle [default: 30000; in the thesis's way 4500]
    #[arg(long, value_name = "N")]
    lines: Option<u32>,
    /// Matches against random play in which a function is measured, in each way
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    measure_matches: u32,
}

/// Raised when the same settings give another function, so that a run is not gone on with in another way.
const VERSION: u32 = 1;
/// The span that functions are measured with, besides one move ahead.
const SPAN: u64 = 20;
/// How many terms are said in words.
const SAID: usize = 10;

#[derive(Serialize)]
struct Report {
    game: String,
    fingerprint: String,
    seed: u64,
    method: &'static str,
    seconds: f64,
    cycles: u32,
    champions: usize,
    terms: usize,
    phases: usize,
    /// How weights were found in each cycle.
    weights: Vec<Weighed>,
    scores: Vec<Score>,
    /// The best function, as text that can be read again.
    function: String,
    /// Its weightiest terms in words.
    words: Vec<Said>,
}

#[derive(Serialize)]
struct Weighed {
    /// The share of the points against the weights before, in per cent, with its 95 % interval; nothing if they did not meet.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<[f64; 3]>,
    /// Whether the new weights were kept.
    kept: bool,
    matches: u64,
}

/// The F-measure against random play.
#[derive(Serialize)]
struct Score {
    /// How many positions were opened for a move; nothing one move ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<u64>,
    mean: f64,
    low: f64,
    high: f64,
    matches: u64,
}

#[derive(Serialize)]
struct Said {
    phase: u32,
    /// The part of the phase's weights that this term has.
    share: f64,
    words: String,
}

pub(super) fn run(arguments: Learn) -> anyhow::Result<ExitCode> {
    let (start, bar) = (Instant::now(), Bar::new());
    let options = &arguments.discover;
    let is_thesis = arguments.method == Method::DiscoverThesis;
    let (rules, mut pupil) = arguments.pupil(&bar)?;
    let field = field::Settings { seed: arguments.seed, threads: arguments.threads(), ..field::Settings::default() };
    let field = Field::new(pupil.game.clone(), &field)
        .map_err(|why| anyhow!("`{}` can't be learned in this way: {why}", rules.source.name()))?;
    let common = if is_thesis { cycle::Settings::thesis() } else { cycle::Settings::default() };
    let lines = options.lines.map_or(common.lines.clone(), |n| vec![n.max(1)]);
    let settings = cycle::Settings { seed: arguments.seed, lines, span: options.span, ..common };
    // Step 1. A run that was left, or a new one.
    // All else is as usual, which the version stands for.
    let hash = json!({
        "kind": if is_thesis { "discover-thesis" } else { "discover" }, "version": VERSION, "seed": settings.seed,
        "lines": settings.lines, "span": settings.span,
    });
    let hash = evidence::hash(hash.to_string());
    let key = Key { game: pupil.fingerprint.0, seed: arguments.seed, settings: hash };
    let kept = pupil.kept(key, arguments.resume, &|_| None, &bar)?;
    let (mut run, before) = match kept {
        Some(bytes) => resume(&bytes, &field).unwrap_or_else(|why| {
            bar.above(&format!("warning: the run in the memory can't be gone on with, so a new one begins: {why}"));
            Default::default()
        }),
        None => Default::default(),
    };
    // Step 2. Stages until time is up. A cycle is begun if there is time for one like the last.
    let measuring = if arguments.no_measure { 0.0 } else { MEASURING };
    let until = arguments.time.mul_f64(1.0 - measuring);
    let seconds = || before + start.elapsed().as_secs_f64();
    let mut begun = start.elapsed();
    let mut last_cycle = None;
    loop {
        let is_over = match (arguments.generations, &run.stage) {
            (Some(n), Stage::Play) => run.n_cycles as usize >= n,
            (Some(_), _) => false,
            (None, Stage::Play) => start.elapsed() + last_cycle.unwrap_or_default() >= until,
            (None, _) => start.elapsed() >= until,
        };
        if is_over {
            break;
        }
        let doing = match &run.stage {
            Stage::Play => "playing".to_owned(),
            Stage::Discover(examples) => format!("discovering terms in {} positions", examples.len()),
            Stage::Optimise(function, _) => format!("finding weights of {} terms", n_terms(function)),
            Stage::Evaluate(_) => "meeting the champions".to_owned(),
        };
        let (done, of) = match arguments.generations {
            Some(n) => (run.n_cycles as usize, n),
            None => (start.elapsed().as_secs() as usize, until.as_secs() as usize),
        };
        bar.show(&format!("cycle {}: {doing}", run.n_cycles + 1), done, of);
        run.step(&field, &settings).map_err(|why| anyhow!(why))?;
        if run.stage == Stage::Play {
            last_cycle = Some(start.elapsed() - begun);
            begun = start.elapsed();
        }
        let bytes = [&seconds().to_le_bytes()[..], &run.to_bytes()].concat();
        let n_positions = match &run.stage {
            Stage::Discover(examples) | Stage::Optimise(_, examples) => examples.len() as u64,
            _ => 0,
        };
        pupil.memory.keep_course(key, n_positions, &bytes, memory::now())?;
    }
    let Some(best) = run.champions.first() else {
        bar.clear();
        return Err(anyhow!("time was up before the first function was found; --resume goes on from here"));
    };
    // Step 3. What it is worth.
    let mut scores = Vec::new();
    let spans = if arguments.no_measure { vec![] } else { vec![None, Some(options.span.unwrap_or(SPAN))] };
    for span in spans {
        bar.show("playing against random play", scores.len(), 2);
        let brain = settings.brain(&field, best).map_err(|why| anyhow!(why))?.searching(span);
        let measure = cycle::measure(&field, &brain, options.measure_matches.max(2), arguments.seed);
        let interval = measure.interval();
        let (mean, low, high) = (interval.mean, interval.low, interval.high);
        scores.push(Score { span, mean, low, high, matches: measure.n() });
    }
    bar.clear();
    let report = Report {
        game: rules.game_name(),
        fingerprint: pupil.fingerprint.to_string(),
        seed: arguments.seed,
        method: if is_thesis { "discover-thesis" } else { "discover" },
        seconds: seconds(),
        cycles: run.n_cycles,
        champions: run.champions.len(),
        terms: n_terms(best),
        phases: best.phases.len(),
        weights: run.found.iter().map(weighed).collect(),
        scores,
        function: best.to_string(),
        words: said(best, &field)?,
    };
    if let Some(file) = &options.out {
        arena::store::write_whole(file, report.function.as_bytes())
            .with_context(|| format!("{} can't be written", file.display()))?;
    }
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, options, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A run that was kept, and the seconds that it took.
fn resume(bytes: &[u8], field: &Field) -> Result<(Run, f64), String> {
    let (seconds, bytes) = bytes.split_first_chunk::<8>().ok_or("it is damaged")?;
    Ok((Run::from_bytes(bytes, &field.vocabulary)?, f64::from_le_bytes(*seconds)))
}

fn n_terms(function: &Function) -> usize {
    function.phases.iter().map(|(_, terms)| terms.len()).sum()
}

fn weighed(found: &learn::discover::swarm::Found) -> Weighed {
    let score = (found.n_guard > 0).then(|| {
        let n = 2 * u64::from(found.n_guard);
        let interval = search::statistics::wilson(f64::from(found.points) / 2.0, n);
        [interval.mean, interval.low, interval.high].map(|part| 100.0 * part)
    });
    Weighed { score, kept: !found.is_start, matches: found.n_matches }
}

/// The weightiest terms, each as a part of its phase's weights; one for each phase before a second one.
fn said(function: &Function, field: &Field) -> anyhow::Result<Vec<Said>> {
    let mut all: Vec<(usize, Said)> = Vec::new();
    for (phase, terms) in &function.phases {
        let total: f64 = terms.iter().map(|(weight, _)| weight).sum();
        let mut order: Vec<_> = terms.iter().filter(|(weight, _)| *weight > 0.0).collect();
        order.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (place, (weight, formula)) in order.into_iter().take(SAID).enumerate() {
            let words = words::sentence(formula, &field.vocabulary).map_err(|why| anyhow!(why))?;
            all.push((place, Said { phase: *phase, share: weight / total, words }));
        }
    }
    all.sort_by_key(|(place, _)| *place);
    let mut chosen: Vec<Said> = all.into_iter().take(SAID).map(|(_, said)| said).collect();
    chosen.sort_by_key(|said| said.phase);
    Ok(chosen)
}

fn print(report: &Report, options: &Options, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{}: {} terms in {} phases, the best of {} functions; {} cycles, {:.0} s, seed {}",
        report.game, report.terms, report.phases, report.champions, report.cycles, report.seconds, report.seed
    )?;
    for (cycle, weighed) in report.weights.iter().enumerate() {
        if let Some([mean, low, high]) = weighed.score {
            let kept = if weighed.kept { "taken" } else { "not taken" };
            let cycle = cycle + 1;
            writeln!(out, "cycle {cycle}: weights {kept}; {mean:.0} % ({low:.0} to {high:.0}) against those before")?;
        }
    }
    if !report.scores.is_empty() {
        writeln!(out, "\n{:<44} {:>6} {:>16} {:>7}", "AGAINST RANDOM PLAY", "F", "95 %", "MATCHES")?;
    }
    for score in &report.scores {
        let interval = format!("{:.1} to {:.1}", score.low, score.high);
        let how = score.span.map_or("one move ahead".to_owned(), |span| format!("best-first search, span {span}"));
        writeln!(out, "{how:<44} {:>6.1} {interval:>16} {:>7}", score.mean, score.matches)?;
    }
    writeln!(out, "\nSome of what it likes to see after its move (part of the weight in that phase)")?;
    for said in &report.words {
        writeln!(out, "  phase {:>2} {:>4.0} %  {}", said.phase, 100.0 * said.share, said.words)?;
    }
    match &options.out {
        Some(file) => writeln!(out, "\nwritten to {}", file.display()),
        None => writeln!(out, "\n--out FILE writes all of it"),
    }
}
