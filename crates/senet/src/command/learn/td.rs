//! `senet learn --method td` and `--method td-thesis`: learning while playing, from the difference between what was expected and
//! what came next.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use arena::store::Key;
use features::construct;
use features::positions;
use learn::course::Stored;
use learn::model::Model;
use learn::player::Search;
use learn::sight::Sight;
use learn::stage::Stages;
use learn::td::{improved, thesis};
use machine::RoleId;
use search::statistics;
use serde::Serialize;
use serde_json::json;

use super::{KEEP_EVERY, Learn, Left, MEASURING, Method, Pupil, print_scores};
use crate::evidence::{self, Bar};
use crate::measure::{self, Score};
use crate::memory;
use crate::screen;

/// Raised when the same settings give another model.
const VERSION: u32 = 1;
/// The parts of the time after which no more features are generated in the thesis's way, and no more matches of training begin.
const GENERATING: f64 = 0.4;
const TRAINING: f64 = 1.0 - 2.0 * MEASURING;

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

/// How a model was made and what it is worth.
#[derive(Serialize)]
struct About {
    method: &'static str,
    seed: u64,
    version: &'static str,
    seconds: f64,
    generations: usize,
    matches: u32,
    search: Search,
    features: usize,
    slots: usize,
    stages: usize,
    curve: serde_json::Value,
    /// What each role gets against the opponents that it was trained with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trials: Vec<Trial>,
    scores: Vec<Score>,
}

/// A role's mean result with frozen weights, one move ahead against fuzzy goals.
#[derive(Serialize)]
struct Trial {
    role: String,
    result: f64,
    /// Its 95 % interval.
    low: f64,
    high: f64,
    /// The opponents' mean result; in a game for one, what fuzzy goals get alone.
    others: f64,
    matches: usize,
}

enum Training {
    Improved(improved::Training),
    Thesis(thesis::Training),
}

impl Training {
    fn go_on(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> bool {
        match self {
            Training::Improved(training) => training.go_on(stop),
            Training::Thesis(training) => training.go_on(stop),
        }
    }

    fn n_generations(&self) -> usize {
        match self {
            Training::Improved(training) => training.history().len() - 1,
            Training::Thesis(training) => training.history().len(),
        }
    }

    fn n_matches(&self) -> u32 {
        match self {
            Training::Improved(training) => training.history().last().map_or(0, |last| last.n_matches),
            Training::Thesis(training) => {
                training.history().last().map_or(0, |last| last.n_matches * last.results.len() as u32)
            }
        }
    }

    fn model(&self) -> Arc<Model> {
        match self {
            Training::Improved(training) => training.model().clone(),
            Training::Thesis(training) => training.model(),
        }
    }

    fn curve(&self) -> serde_json::Result<serde_json::Value> {
        match self {
            Training::Improved(training) => serde_json::to_value(training.history()),
            Training::Thesis(training) => serde_json::to_value(training.history()),
        }
    }

    /// The model as it is kept, and all that is needed to go on.
    fn kept(&self) -> (Stored, Vec<u8>) {
        match self {
            Training::Improved(training) => {
                let kept = training.checkpoint();
                let bytes = kept.to_bytes();
                (kept.model, bytes)
            }
            Training::Thesis(training) => {
                let kept = training.checkpoint();
                let bytes = kept.to_bytes();
                (kept.model, bytes)
            }
        }
    }

    /// How the last generation went, in words.
    fn stage(&self) -> String {
        let in_points = |results: &mut dyn Iterator<Item = f64>| {
            results.map(|result| format!("{result:.0}")).collect::<Vec<_>>().join(" ")
        };
        match self {
            Training::Improved(training) => {
                let Some(last) = training.history().last().filter(|last| last.n_matches > 0) else {
                    return "playing with itself".to_owned();
                };
                let loss = last.losses.iter().sum::<f64>() / last.losses.len().max(1) as f64;
                format!("playing with itself: {} matches, loss {loss:.4}", last.n_matches)
            }
            Training::Thesis(training) => match training.history().last() {
                None => "playing against fuzzy goals".to_owned(),
                Some(last) => {
                    let results = in_points(&mut last.results.iter().flatten().copied());
                    format!("playing against fuzzy goals: {} matches of each role, results {results}", last.n_matches)
                }
            },
        }
    }
}

/// How training goes.
struct Plan {
    method: Method,
    seed: u64,
    threads: usize,
    /// Ends after so many generations, whatever the time.
    generations: Option<usize>,
    time: Duration,
    resume: bool,
}

impl Plan {
    fn improved(&self) -> improved::Settings {
        improved::Settings { seed: self.seed, ..improved::Settings::default() }
    }

    fn thesis(&self) -> thesis::Settings {
        thesis::Settings { seed: self.seed, ..thesis::Settings::default() }
    }

    /// What training is kept under: all that it depends on but time.
    fn key(&self, game: u128) -> Key {
        // All else is as usual, which the version stands for.
        let all = json!({
            "kind": self.name(), "version": VERSION, "play_version": positions::PLAY_VERSION, "seed": self.seed,
        });
        Key { game, seed: self.seed, settings: evidence::hash(all.to_string()) }
    }

    fn name(&self) -> &'static str {
        if self.method == Method::TdThesis { "td-thesis" } else { "td" }
    }

    /// The settings with what changes nothing but when it ends.
    fn improved_now(&self) -> improved::Settings {
        improved::Settings { threads: self.threads, ..self.improved() }
    }

    fn thesis_now(&self) -> thesis::Settings {
        let usual = self.thesis();
        let matches = self.generations.map_or(usual.matches, |n| (n as u32).saturating_mul(usual.generation));
        thesis::Settings { matches, ..usual }
    }

    /// How many generations there are at most.
    fn most(&self) -> usize {
        let usual = self.thesis();
        let all = match self.method {
            Method::TdThesis => usual.matches.div_ceil(usual.generation) as usize,
            _ => usize::MAX,
        };
        self.generations.unwrap_or(all)
    }

    fn resume(&self, pupil: &Pupil, bytes: &[u8]) -> anyhow::Result<(Training, f64)> {
        let (seconds, kept) = bytes.split_first_chunk::<8>().ok_or_else(|| anyhow!("it is damaged"))?;
        let game = pupil.game.clone();
        let training = match self.method {
            Method::TdThesis => {
                let kept = thesis::Checkpoint::from_bytes(kept)?;
                Training::Thesis(thesis::Training::resume(game, kept, self.thesis_now())?)
            }
            _ => {
                let kept = improved::Checkpoint::from_bytes(kept)?;
                Training::Improved(improved::Training::resume(game, kept, self.improved_now())?)
            }
        };
        Ok((training, f64::from_le_bytes(*seconds)))
    }

    fn begin(&self, pupil: &mut Pupil, start: Instant, bar: &Bar) -> anyhow::Result<Training> {
        let (game, of) = (pupil.game.clone(), pupil.fingerprint.0);
        let play = positions::Settings { seed: self.seed, ..positions::Settings::default() };
        let played = evidence::positions(&game, of, &play, None, Some(&mut pupil.memory), bar)?.positions;
        let mode = if self.method == Method::TdThesis { construct::Mode::Thesis } else { construct::Mode::Default };
        let construct = construct::Settings { mode, seed: self.seed, threads: self.threads, ..Default::default() };
        // With a given number of generations nothing depends on time; our own way to features takes seconds.
        let timed = self.generations.is_none() && self.method == Method::TdThesis;
        let go_on = || !timed || start.elapsed() < self.time.mul_f64(GENERATING);
        let seconds = || start.elapsed().as_secs_f64();
        let evidence = (&played, &play);
        let (features, _) =
            evidence::features_while(&game, of, evidence, &construct, &mut pupil.memory, bar, &seconds, &go_on)?;
        bar.show("preparing the features", 0, 0);
        Ok(match self.method {
            Method::TdThesis => {
                let sight = Sight::new(game, features, None, &Stages::default()).map_err(|why| anyhow!(why))?;
                let maxima = thesis::maxima(&sight, &played);
                Training::Thesis(thesis::Training::begin(&Arc::new(sight), maxima, self.thesis_now())?)
            }
            _ => Training::Improved(improved::Training::begin(game, &played, features, self.improved_now())?),
        })
    }
}

/// Trains until all matches are played or time is up, from `start` on; also how long it took, former runs included. A kill loses
/// no more than what is being done.
fn train(pupil: &mut Pupil, plan: &Plan, start: Instant, bar: &Bar) -> anyhow::Result<(Training, f64)> {
    let key = plan.key(pupil.fingerprint.0);
    let left = |bytes: &[u8]| {
        let (seconds, kept) = bytes.split_first_chunk::<8>()?;
        let (model, generations, matches) = match plan.method {
            Method::TdThesis => {
                let kept = thesis::Checkpoint::from_bytes(kept).ok()?;
                let n = kept.history.last().map_or(0, |last| u64::from(last.n_matches) * last.results.len() as u64);
                (kept.model, kept.history.len(), n)
            }
            _ => {
                let kept = improved::Checkpoint::from_bytes(kept).ok()?;
                let n = kept.history.last().map_or(0, |last| u64::from(last.n_matches));
                (kept.model, kept.history.len().saturating_sub(1), n)
            }
        };
        Some(Left::new(model, Some(plan.name()), plan.seed, (f64::from_le_bytes(*seconds), generations, matches)))
    };
    let kept = pupil.kept(key, plan.resume, &left, bar)?;
    let resumed = kept.and_then(|kept| {
        plan.resume(pupil, &kept)
            .inspect_err(|why| {
                bar.clear();
                screen::complain(format_args!(
                    "warning: the training in the memory can't be gone on with, so it begins anew: {why}"
                ));
            })
            .ok()
    });
    let (mut training, before) = match resumed {
        Some(resumed) => resumed,
        None => (plan.begin(pupil, start, bar)?, 0.0),
    };
    let seconds = || before + start.elapsed().as_secs_f64();
    let mut keep = |training: &Training| {
        let bytes = [&seconds().to_le_bytes()[..], &training.kept().1].concat();
        pupil.memory.keep_course(key, u64::from(training.n_matches()), &bytes, memory::now())
    };
    let until = plan.time.mul_f64(TRAINING);
    let is_over = || plan.generations.is_none() && start.elapsed() >= until;
    let mut kept_at = Instant::now();
    while training.n_generations() < plan.most() && !is_over() {
        let (done, of) = match plan.most() {
            usize::MAX => (start.elapsed().as_secs() as usize, until.as_secs() as usize),
            most => (training.n_generations(), most),
        };
        bar.show(&training.stage(), done, of);
        if !training.go_on(&is_over) {
            break;
        }
        if kept_at.elapsed() >= KEEP_EVERY {
            keep(&training)?;
            kept_at = Instant::now();
        }
    }
    keep(&training)?;
    Ok((training, seconds()))
}

/// What each role gets with frozen weights, all together in about that time.
fn trials(training: &mut thesis::Training, pupil: &Pupil, time: Duration, bar: &Bar) -> Vec<Trial> {
    let universe = &pupil.game.universe;
    let n_roles = universe.roles.len();
    let begun = Instant::now();
    let one = |role: usize| {
        bar.show("playing against fuzzy goals, with nothing tried out", role, n_roles);
        let stop = || begun.elapsed() >= time.mul_f64((role + 1) as f64 / n_roles as f64);
        let found = training.evaluate(RoleId(role as u32), &stop);
        let sum = |results: &[f64]| results.iter().sum::<f64>();
        let n = found.own.len();
        let own = statistics::wilson(sum(&found.own) / 100.0, n as u64);
        Trial {
            role: universe.name(universe.roles[role]),
            result: 100.0 * own.mean,
            low: 100.0 * own.low,
            high: 100.0 * own.high,
            others: sum(&found.others) / n.max(1) as f64,
            matches: n,
        }
    };
    (0..n_roles).map(one).collect()
}

pub(super) fn run(arguments: Learn) -> anyhow::Result<ExitCode> {
    let (start, bar) = (Instant::now(), Bar::new());
    let (rules, mut pupil) = arguments.pupil(&bar)?;
    let plan = Plan {
        method: arguments.method,
        seed: arguments.seed,
        threads: arguments.threads(),
        generations: arguments.generations,
        time: arguments.time,
        resume: arguments.resume,
    };
    let (mut training, mut seconds) = train(&mut pupil, &plan, start, &bar)?;
    let model = training.model();
    let search = Search::fitting(&model.sight)[0];
    let (mut scores, mut found) = (Vec::new(), Vec::new());
    if !arguments.no_measure {
        let before = Instant::now();
        let part = arguments.time.mul_f64(MEASURING);
        if let Training::Thesis(training) = &mut training {
            let left = arguments.time.saturating_sub(start.elapsed() + part);
            found = trials(training, &pupil, left.max(part), &bar);
        }
        let contest = arguments.contest(arguments.time.saturating_sub(start.elapsed()).clamp(part / 2, 2 * part));
        scores = measure::measure(&pupil.game, &model, search, &contest, &mut |stage| bar.show(stage, 0, 0));
        seconds += before.elapsed().as_secs_f64();
    }
    bar.clear();
    let about = About {
        method: plan.name(),
        seed: plan.seed,
        version: env!("CARGO_PKG_VERSION"),
        seconds,
        generations: training.n_generations(),
        matches: training.n_matches(),
        search,
        features: model.sight.features.len(),
        slots: model.sight.n_slots(),
        stages: model.sight.stages.n_stages(),
        curve: training.curve()?,
        trials: found,
        scores,
    };
    let bytes = Stored { search, ..training.kept().0 }.to_bytes();
    let text = serde_json::to_string(&about)?;
    let model = pupil.keep_bytes(plan.key(pupil.fingerprint.0), &text, &bytes)?;
    let report = Report { game: rules.game_name(), fingerprint: pupil.fingerprint.to_string(), model, about };
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let about = &report.about;
    writeln!(
        out,
        "{}: {} features, {} pattern slots and {} stages; {} matches in {} generations, {:.0} s",
        report.game, about.features, about.slots, about.stages, about.matches, about.generations, about.seconds
    )?;
    if !about.trials.is_empty() {
        writeln!(
            out,
            "\n{:<27} {:>16} {:>6} {:>16} {:>7}",
            "AGAINST FUZZY GOALS", "FUZZY", "RESULT", "95 %", "MATCHES"
        )?;
    }
    for Trial { role, result, low, high, others, matches } in &about.trials {
        let interval = format!("{low:.1} to {high:.1}");
        writeln!(out, "{role:<27} {others:>16.1} {result:>6.1} {interval:>16} {matches:>7}")?;
    }
    if !about.trials.is_empty() {
        let shares = about.trials.iter().map(|trial| thesis::share(trial.result, trial.others));
        let share = 100.0 * shares.sum::<f64>() / about.trials.len() as f64;
        writeln!(out, "one move ahead, {share:.1} % of the points against fuzzy goals")?;
    }
    writeln!(out, "plays by {}", about.search.name())?;
    print_scores(&about.scores, out)?;
    if let Some(id) = report.model {
        writeln!(out, "\nkept as model {id}")?;
    }
    Ok(())
}
