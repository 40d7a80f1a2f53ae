//! `senet learn`: an evaluation of positions from self-play, and what it is worth.

mod discover;
mod td;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use arena::Store;
use arena::store::Key;
use clap::{Args, ValueEnum};
use features::construct;
use features::game::Game;
use features::positions;
use features::split::Split;
use gdl::Stop;
use insight::canonical::{self, canonical_until};
use insight::graph::Fingerprint;
use learn::course::{self, Checkpoint, Course, Generation, Stored};
use learn::model::Model;
use learn::player::Search;
use learn::record::{Kind, RecordError, Recorder, Records};
use learn::self_play::Played;
use learn::teach;
use serde::Serialize;
use serde_json::json;

use crate::evidence::{self, Bar, remember, stop_at};
use crate::guard;
use crate::kin::{self, Origin};
use crate::measure::{self, Score};
use crate::memory;
use crate::ranking;
use crate::rules::{self, Rules};
use crate::screen;

/// Learns to judge positions of a game by playing it
///
/// Builds features and tables of patterns from the rules, plays with itself, and fits their weights to what became of the
/// positions, by turns, until time is up. Then it plays against simple players and says what the result is worth, with 95 %
/// intervals. The model is kept in the memory, with how it was made; a scrambled copy of the game has the same model.
///
/// A game that has a model in the memory is learned further, whatever its names; and one that is a variant of a game with a model
/// begins with what that one learned, where a quick test says that it helps. With --fresh it begins from nothing.
///
/// A course that was stopped or killed goes on where it was with --resume; one that is over adds nothing. Without --resume what was
/// learned in a course that was not finished is kept as a model of its own. The same beginning, seed and number of generations give
/// the same model.
///
/// Examples:
///   senet learn connect-four
///   senet learn my-game.kif --time 30m
///   senet learn connect-four --generations 20 --seed 7 --fresh     always the same model
///   senet learn othello --resume
///   senet learn tic-tac-toe --method td-thesis                     another way to learn
///   senet learn checkers --method discover --out checkers.txt      readable terms
///   senet learn othello --record othello.positions --time 1h
///   senet learn othello --study othello.positions --fresh
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Learn {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// How it is learned
    #[arg(long, value_enum, value_name = "METHOD", default_value_t)]
    method: Method,
    /// How long it may take in all, such as 90s, 5m or 2h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = read_duration)]
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
    /// Begins from nothing, whatever is known of this game or others
    #[arg(long)]
    fresh: bool,
    /// Does not play against other players at the end
    #[arg(long)]
    no_measure: bool,
    /// Seconds for a move where both sides search
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    move_time: f64,
    /// Writes the positions that it plays to a new file, with what was to be learned of them
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Learns from such a file before it plays itself
    #[arg(long, value_name = "FILE")]
    study: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    discover: discover::Options,
}

impl Learn {
    /// The rules, and the game that is to be learned.
    fn pupil(&self, bar: &Bar) -> anyhow::Result<(Rules, Pupil)> {
        let rules = rules::read(&self.rules)?;
        rules::accept(&rules)?;
        bar.show("analysing the rules", 0, 0);
        let pupil = Pupil::new(&rules, self.seed, self.store.clone())?;
        Ok((rules, pupil))
    }

    fn threads(&self) -> usize {
        self.threads.unwrap_or_else(crate::n_cores)
    }

    /// Matches against others in a given time.
    fn contest(&self, time: Duration) -> measure::Contest {
        let move_time = Duration::from_secs_f64(self.move_time.clamp(0.001, 3600.0));
        measure::Contest { move_time, time, threads: self.threads(), seed: self.seed }
    }
}

/// How a game is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Features and patterns, fitted to what becomes of positions in self-play
    #[default]
    Course,
    /// TD(λ) from the leaves of searches, in matches with itself and former selves; 32 matches are a generation
    Td,
    /// TD(λ) as in Günther's thesis: 2000 matches of each role against fuzzy goals, one move ahead; 50 are a generation
    TdThesis,
    /// Readable terms from decision trees over play-lines, weighed by regression; --generations counts cycles
    Discover,
    /// The same as Duminy's thesis has it: weighed by a swarm of players
    DiscoverThesis,
}

/// Reads a time such as `90s`, `5m` or `2h`; a number alone means seconds.
/// A time such as 90s, 5m or 2h.
pub(super) fn read_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write 90s, 5m or 2h");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

/// The part of the time that is left for playing against others.
const MEASURING: f64 = 0.1;
/// The part of the time in which searches are tried.
pub(super) const CHOOSING: f64 = 0.15;
/// The parts of the time for learning after which the first positions are played, features found, the first weights fitted, and models
/// of variants tried; the rest is self-play. Where a stage takes less, the next ones begin earlier.
const PLAYED_BY: f64 = 0.25;
const BUILT_BY: f64 = 0.5;
const FITTED_BY: f64 = 0.7;
const TAKEN_BY: f64 = 0.8;
/// The part of the time that nothing is planned for: what ends a stage is looked at now and then only, and the model has to be kept.
const SPARE: f64 = 0.02;
/// The part of the time by which it may be over, before the process is ended.
const OVER: f64 = 0.1;
/// With less time than this nothing is measured.
const LEAST_MEASURED: Duration = Duration::from_millis(50);
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
pub(super) struct About {
    seed: u64,
    version: &'static str,
    threads: usize,
    /// What ended it: the seconds that it had for learning, or a number of generations.
    limit: Ending,
    /// All else that the weights depend on.
    settings: course::Settings,
    seconds: f64,
    pub(super) generations: usize,
    pub(super) matches: u32,
    positions: usize,
    search: Search,
    /// How the best of the model's searches did against tree search without knowledge, if that was tested; by it the search was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<Score>,
    pub(super) features: usize,
    pub(super) slots: usize,
    stages: usize,
    /// What it began with, if not from nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    curve: Vec<Generation>,
    scores: Vec<Score>,
    /// What there was no time for, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<&'static str>,
}

/// When learning is to end.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Ending {
    Seconds(f64),
    Generations(usize),
}

/// A game that is to be learned, and the memory that keeps what comes of it.
pub(super) struct Pupil {
    pub(super) fingerprint: Fingerprint,
    pub(super) game: Arc<Game>,
    pub(super) memory: Store,
    /// Where to write what it plays.
    recording: Option<Recording>,
    /// What it studies before it plays.
    study: Option<PathBuf>,
}

/// A file of positions that is being written.
struct Recording {
    recorder: Recorder<BufWriter<File>>,
    n_matches: u32,
}

impl Recording {
    /// Begins a file that is not there yet.
    fn new(file: &Path, game: &Game) -> anyhow::Result<Recording> {
        let told = || format!("can't write `{}`", file.display());
        let recorder = Recorder::new(BufWriter::new(File::create_new(file).with_context(told)?), kind(game));
        Ok(Recording { recorder: recorder.with_context(told)?, n_matches: 0 })
    }

    /// Adds what was played, so that a kill later on costs none of it.
    fn add(&mut self, model: &Model, played: &Played) -> Result<(), RecordError> {
        for record in played.records(&model.sight, self.n_matches) {
            self.recorder.push(&record)?;
        }
        self.n_matches += played.met.iter().map(|met| met.number + 1).max().unwrap_or(0);
        self.recorder.flush()
    }
}

/// What records of a game are known by.
fn kind(game: &Game) -> Kind {
    let network = &game.circuit.network;
    let (n_words, n_roles) = (network.fluents.len().div_ceil(64), network.roles.len());
    Kind { fingerprint: positions::fingerprint(network), n_words, n_roles }
}

/// Learns from the positions in a file.
fn study(course: &mut Course, file: &Path, game: &Game, stop: &Stop) -> anyhow::Result<()> {
    let told = || format!("can't study `{}`", file.display());
    let records = Records::new(BufReader::new(File::open(file).with_context(told)?)).with_context(told)?;
    if records.kind != kind(game) {
        return Err(anyhow!("its positions are of another game, or of another version of the program"))
            .with_context(told);
    }
    let mut records = records;
    course.study(&mut records, stop).with_context(told)?;
    if records.is_torn {
        screen::complain(format_args!(
            "warning: the end of `{}` is cut off or damaged; what stands before it was studied",
            file.display()
        ));
    }
    Ok(())
}

impl Pupil {
    pub(super) fn new(rules: &Rules, seed: u64, store: Option<PathBuf>) -> anyhow::Result<Pupil> {
        let form = canonical_until(&rules.program, canonical::BUDGET, &guard::stop());
        let game = Game::until(form.respelled(&rules.program), seed, &guard::stop()).map_err(|reason| {
            anyhow!("`{}` can't be grounded, so it can't be learned: {reason}", rules.source.name())
        })?;
        let memory = remember(rules, store)?;
        Ok(Pupil { fingerprint: form.fingerprint, game: Arc::new(game), memory, recording: None, study: None })
    }

    /// Keeps the model that a course came to, with how it was made; its number.
    pub(super) fn keep(&mut self, learned: &Learned, about: &About) -> anyhow::Result<Option<i64>> {
        let bytes = Stored { search: learned.search, ..learned.course.checkpoint().model }.to_bytes();
        self.keep_bytes(learned.key, &serde_json::to_string(about)?, &bytes)
    }

    /// Keeps the bytes of the model that a course came to.
    fn keep_bytes(&mut self, key: Key, about: &str, bytes: &[u8]) -> anyhow::Result<Option<i64>> {
        let id = self.memory.keep_model(key.game, about, bytes, memory::now())?;
        if let Some(id) = id {
            self.memory.finish_course(key, id)?;
        }
        Ok(id)
    }

    /// What is kept of a course that is to be gone on with, if anything; nothing if a new one begins. Then a course that was not finished
    /// is kept as a model, so that nothing of it is lost: `model` finds that in its bytes.
    fn kept(
        &mut self,
        key: Key,
        resume: bool,
        model: &dyn Fn(&[u8]) -> Option<Left>,
        bar: &Bar,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let kept = evidence::undamaged(self.memory.course(key), bar, "a new course begins")?;
        if resume {
            let n = self.memory.n_other_courses(key)?;
            if kept.is_none() && n > 0 {
                bar.above(&format!(
                    "note: {n} other courses of this game are kept, with other settings or by another version; none is this one"
                ));
            }
            return Ok(kept);
        }
        if self.memory.finished_course(key)?.is_none()
            && let Some(left) = kept.and_then(|bytes| model(&bytes)).filter(|left| left.matches > 0)
        {
            let about = serde_json::to_string(&left)?;
            let id = self.memory.keep_model(key.game, &about, &left.model.to_bytes(), memory::now())?;
            let id = id.map_or(String::new(), |id| format!(" {id}"));
            bar.above(&format!(
                "note: a course of {} matches was not finished; it is kept as model{id}, and --resume would have gone on with it",
                left.matches
            ));
        }
        Ok(None)
    }
}

/// A course that was left before it came to a model, as that is kept.
#[derive(Serialize)]
struct Left {
    #[serde(skip)]
    model: Stored,
    method: Option<&'static str>,
    seed: u64,
    version: &'static str,
    seconds: f64,
    generations: usize,
    matches: u64,
    learned: &'static str,
}

impl Left {
    fn new(
        model: Stored,
        method: Option<&'static str>,
        seed: u64,
        (seconds, generations, matches): (f64, usize, u64),
    ) -> Left {
        let (version, learned) = (env!("CARGO_PKG_VERSION"), "in a course that was not finished");
        Left { model, method, seed, version, seconds, generations, matches, learned }
    }
}

/// How a game is learned.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) threads: usize,
    /// How long learning may take.
    pub(super) time: Duration,
    /// Ends after so many generations, whatever the time.
    pub(super) generations: Option<usize>,
    /// Whether to go on with a course that is kept.
    pub(super) resume: bool,
    /// Whether to begin from nothing, whatever is known.
    pub(super) fresh: bool,
    /// Sets courses apart that have the same settings.
    pub(super) purpose: String,
    /// Whether the time counts that former runs spent on what is used again.
    pub(super) all_time_counts: bool,
}

/// What came of a course.
pub(super) struct Learned {
    pub(super) course: Course,
    /// How long it took, former runs included.
    pub(super) seconds: f64,
    /// The search that it plays best with, as far as is known.
    pub(super) search: Search,
    /// How the best of the model's searches did against tree search without knowledge, if that was tested.
    pub(super) chosen: Option<Score>,
    /// What it began with, if not from nothing.
    origin: Option<Origin>,
    /// What the course is kept under.
    key: Key,
    /// The model that it had come to before, if nothing was added to that.
    finished: Option<i64>,
}

/// Raised when the same settings give another model, so that a course is not gone on with in another way.
pub(super) const VERSION: u32 = 5;

impl Plan {
    fn settings(&self) -> course::Settings {
        let usual = course::Settings::default();
        let teach = teach::Settings { split: self.split(), ..usual.teach };
        course::Settings { seed: self.seed, teach, ..usual }
    }

    /// What positions are for, in all of the run.
    fn split(&self) -> Split {
        Split::new(self.seed)
    }

    /// Ends a stage after a part of the time; with a given number of generations nothing depends on time.
    fn stop(&self, start: Instant, part: f64) -> Stop {
        match self.generations {
            Some(_) => guard::stop(),
            None => stop_at(start + self.time.mul_f64(part)).or(&guard::stop()),
        }
    }

    /// All that a course depends on but the game, the time and the seed, as a number.
    pub(super) fn hash(&self) -> u64 {
        let key = json!({
            "kind": "course", "version": VERSION, "play_version": positions::PLAY_VERSION, "purpose": self.purpose,
            "settings": self.settings(),
        });
        evidence::hash(key.to_string())
    }
}

/// Plays and fits by turns until time is up, from `start` on. A kill loses no more than what is being done.
pub(super) fn learn(pupil: &mut Pupil, plan: &Plan, start: Instant, bar: &Bar) -> anyhow::Result<Learned> {
    let key = Key { game: pupil.fingerprint.0, seed: plan.seed, settings: plan.hash() };
    let settings = with_threads(plan.settings(), plan.threads);
    // Step 1. A course that was left, or a new one.
    let left = |bytes: &[u8]| {
        let (seconds, _, kept) = parts(bytes).ok()?;
        let Checkpoint { model, history, .. } = Checkpoint::from_bytes(kept).ok()?;
        let n_matches = history.last().map_or(0, |last| u64::from(last.n_matches));
        Some(Left::new(model, None, plan.seed, (seconds, history.len().saturating_sub(1), n_matches)))
    };
    let kept = pupil.kept(key, plan.resume, &left, bar)?;
    let finished = if kept.is_some() { pupil.memory.finished_course(key)? } else { None };
    let resumed = kept.and_then(|kept| {
        resume(pupil, &kept, settings.clone())
            .inspect_err(|why| {
                bar.clear();
                screen::complain(format_args!(
                    "warning: the course in the memory can't be gone on with, so a new one begins: {why}"
                ));
            })
            .ok()
    });
    let is_resumed = resumed.is_some();
    let Begun { mut course, seconds: before, origin } = match resumed {
        Some(resumed) => resumed,
        None => begin(pupil, plan, settings, start, bar)?,
    };
    if let Some(file) = pupil.study.as_ref().filter(|_| !is_resumed) {
        bar.show("studying positions", 0, 0);
        study(&mut course, file, &pupil.game, &plan.stop(start, 1.0))?;
    }
    let seconds = || before + start.elapsed().as_secs_f64();
    let n_before = course.history().len();
    if !is_resumed {
        keep(&mut pupil.memory, key, &course, seconds(), origin.as_ref())?;
    }
    // Step 2. Generations until time is up.
    let until = plan.time.as_secs_f64();
    let spent = || if plan.all_time_counts { seconds() } else { start.elapsed().as_secs_f64() };
    let is_over = || spent() >= until;
    let mut kept_at = Instant::now();
    while plan.generations.map_or(!is_over(), |n| course.history().len() <= n) {
        let last = course.history().last().expect("a course has a beginning");
        let rate = f64::from(last.n_matches) / seconds();
        let loss = mean_loss(last);
        let mut stage = format!("playing with itself: {} matches, {rate:.0}/s, loss {loss:.4}", last.n_matches);
        if let Some(strength) = course.strength().filter(|_| course.history().len() > 1) {
            stage += &format!(", {:.0} % against its beginning", 100.0 * strength);
        }
        let (done, of) = match plan.generations {
            Some(n) => (course.history().len() - 1, n),
            None => (spent() as usize, until as usize),
        };
        bar.show(&stage, done, of);
        let timed = plan.generations.is_none();
        let mut written = Ok(());
        let tell = &mut |model: &Model, played: &Played| {
            written = pupil.recording.as_mut().map_or(Ok(()), |recording| recording.add(model, played));
        };
        if !course.go_on_telling(&|| timed && is_over(), tell)? {
            break;
        }
        written.context("what was played can't be recorded")?;
        if kept_at.elapsed() >= KEEP_EVERY {
            keep(&mut pupil.memory, key, &course, seconds(), origin.as_ref())?;
            kept_at = Instant::now();
        }
    }
    let is_same = is_resumed && course.history().len() == n_before;
    if !is_same {
        keep(&mut pupil.memory, key, &course, seconds(), origin.as_ref())?;
    }
    if let Some(recording) = pupil.recording.take() {
        recording.recorder.finish().context("what was played can't be recorded")?;
    }
    let search = Search::fitting(&course.model().sight)[0];
    Ok(Learned {
        seconds: seconds(),
        course,
        search,
        chosen: None,
        origin,
        key,
        finished: finished.filter(|_| is_same),
    })
}

pub(crate) fn run(arguments: Learn) -> anyhow::Result<ExitCode> {
    let _within = arguments.generations.is_none().then(|| guard::about(arguments.time, OVER));
    match arguments.method {
        Method::Course => by_course(arguments),
        Method::Td | Method::TdThesis => td::run(arguments),
        Method::Discover | Method::DiscoverThesis => discover::run(arguments),
    }
}

fn by_course(arguments: Learn) -> anyhow::Result<ExitCode> {
    let (start, bar) = (Instant::now(), Bar::new());
    let (rules, mut pupil) = arguments.pupil(&bar)?;
    pupil.recording = arguments.record.as_deref().map(|file| Recording::new(file, &pupil.game)).transpose()?;
    let measuring = if arguments.no_measure { 0.0 } else { MEASURING };
    // With a given number of generations nothing depends on time, so the search is the usual one.
    let choosing = if arguments.generations.is_some() { 0.0 } else { CHOOSING };
    let plan = Plan {
        seed: arguments.seed,
        threads: arguments.threads(),
        time: arguments.time.mul_f64(1.0 - measuring - choosing),
        generations: arguments.generations,
        resume: arguments.resume,
        fresh: arguments.fresh,
        purpose: arguments.study.as_ref().map_or(String::new(), |file| format!("study {}", file.display())),
        all_time_counts: false,
    };
    pupil.study = arguments.study.clone();
    let mut learned = learn(&mut pupil, &plan, start, &bar)?;
    if let Some(model) = learned.finished {
        bar.clear();
        return told_before(&pupil.memory, model, &rules.game_name(), arguments.json);
    }
    if choosing > 0.0 {
        let until = arguments.time.mul_f64(1.0 - measuring - SPARE);
        choose_search(&pupil, &mut learned, &plan, until.saturating_sub(start.elapsed()), &bar);
    }
    let (mut scores, mut left_out) = (Vec::new(), Vec::new());
    if learned.course.history().len() == 1 {
        left_out.push(NO_SELF_PLAY);
    }
    if !arguments.no_measure {
        let before = Instant::now();
        // With a given number of generations there is always time for this.
        let least = arguments.generations.map_or(Duration::ZERO, |_| arguments.time.mul_f64(MEASURING));
        let left = arguments.time.mul_f64(1.0 - SPARE).saturating_sub(start.elapsed()).max(least);
        let (contest, model) = (arguments.contest(left), learned.course.model());
        if left >= LEAST_MEASURED {
            scores = measure::measure(&pupil.game, model, learned.search, &contest, &mut |stage| bar.show(stage, 0, 0));
        }
        if scores.is_empty() {
            left_out.push(NOT_MEASURED);
        }
        learned.seconds += before.elapsed().as_secs_f64();
    }
    bar.clear();
    let about = About { left_out, ..about(&plan, &learned, scores) };
    let model = pupil.keep(&learned, &about)?;
    let report = Report { game: rules.game_name(), fingerprint: pupil.fingerprint.to_string(), model, about };
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

const NO_SELF_PLAY: &str =
    "time was up before the first generation of matches with itself: the model is a fit to positions of simple play";
const NOT_MEASURED: &str = "no time was left to measure it";

/// Says what is known of the model of a course that was over before.
fn told_before(memory: &Store, model: i64, game: &str, is_json: bool) -> anyhow::Result<ExitCode> {
    let entry = memory.models()?.into_iter().find(|entry| entry.id == model);
    let entry = entry.with_context(|| format!("model {model} is gone"))?;
    let mut out = screen::out();
    if is_json {
        let mut about = ranking::about(&entry);
        about["game"] = game.into();
        about["fingerprint"] = Fingerprint(entry.game).to_string().into();
        about["model"] = model.into();
        writeln!(out, "{}", serde_json::to_string_pretty(&about)?)?;
    } else {
        writeln!(out, "{game}: this course is over, and nothing was added to it")?;
        print_scores(&ranking::scores(&ranking::about(&entry)), &mut out)?;
        writeln!(out, "\nkept as model {model}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the search that a model plays best with. Where there is no time for a test, the model is not used.
pub(super) fn choose_search(pupil: &Pupil, learned: &mut Learned, plan: &Plan, time: Duration, bar: &Bar) {
    let start = Instant::now();
    let model = learned.course.model();
    (learned.search, learned.chosen) = match measure::quick_move(&learned.course, time, plan.threads) {
        Some(move_time) => {
            let contest = measure::Contest { move_time, time, threads: plan.threads, seed: plan.seed };
            measure::choose(&pupil.game, model, &contest, &mut |stage| bar.show(stage, 0, 0))
        }
        None => (measure::untested(model), None),
    };
    learned.seconds += start.elapsed().as_secs_f64();
}

/// A course that begins or goes on.
struct Begun {
    course: Course,
    /// What former runs spent on what is used again.
    seconds: f64,
    origin: Option<Origin>,
}

/// What stands before an origin among a course's kept bytes.
const ORIGIN: &[u8; 8] = b"senet-o1";

/// Keeps how far a course is, after the seconds that it took.
fn keep(memory: &mut Store, key: Key, course: &Course, seconds: f64, origin: Option<&Origin>) -> anyhow::Result<()> {
    let kept = course.checkpoint();
    let mut bytes = seconds.to_le_bytes().to_vec();
    if let Some(origin) = origin {
        let origin = serde_json::to_vec(origin)?;
        bytes.extend([&ORIGIN[..], &(origin.len() as u32).to_le_bytes(), &origin].concat());
    }
    bytes.extend(kept.to_bytes());
    Ok(memory.keep_course(
        key,
        kept.history.iter().map(|generation| generation.n_new as u64).sum(),
        &bytes,
        memory::now(),
    )?)
}

/// What a course is kept as: the seconds that it took, what it began with, and a checkpoint.
fn parts(bytes: &[u8]) -> anyhow::Result<(f64, Option<Origin>, &[u8])> {
    let damaged = || anyhow!("it is damaged");
    let (seconds, mut kept) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
    let mut origin = None;
    if let Some(rest) = kept.strip_prefix(ORIGIN) {
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        (origin, kept) = (Some(serde_json::from_slice(text)?), rest);
    }
    Ok((f64::from_le_bytes(*seconds), origin, kept))
}

/// A course that was kept.
fn resume(pupil: &Pupil, bytes: &[u8], settings: course::Settings) -> anyhow::Result<Begun> {
    let (seconds, origin, kept) = parts(bytes)?;
    let checkpoint = Checkpoint::from_bytes(kept)?;
    let settings = course::Settings { patterns: checkpoint.model.patterns.clone(), ..settings };
    let course = Course::resume(pupil.game.clone(), checkpoint, settings)?;
    Ok(Begun { course, seconds, origin })
}

fn with_threads(settings: course::Settings, threads: usize) -> course::Settings {
    course::Settings {
        play: learn::self_play::Settings { threads, ..settings.play },
        teach: teach::Settings { threads, ..settings.teach },
        ..settings
    }
}

/// The first positions, and a model to begin with: the best of this game, or else the features and the first weights, unless
/// those of a variant are better.
fn begin(
    pupil: &mut Pupil,
    plan: &Plan,
    settings: course::Settings,
    start: Instant,
    bar: &Bar,
) -> anyhow::Result<Begun> {
    let (game, fingerprint) = (pupil.game.clone(), pupil.fingerprint.0);
    let stop = plan.stop(start, PLAYED_BY);
    let play = positions::Settings { seed: plan.seed, stop, ..positions::Settings::default() };
    let played = evidence::positions(&game, fingerprint, &play, None, Some(&mut pupil.memory), bar)?.positions;
    if plan.stop(start, 1.0).is_raised() {
        return Err(anyhow!("nothing was learned: time was up after {} positions had been played", played.len()));
    }
    if !plan.fresh
        && let Some(known) = evidence::best_model_of_a_course(&pupil.memory, fingerprint, &game, &evidence::warn)?
    {
        let origin = Origin { model: known.entry.id, game: known.entry.game_name, taken_over: None };
        let settings = course::Settings { patterns: known.stored.patterns, ..settings };
        let course = Course::from_model(known.model, &played, settings);
        return Ok(Begun { course, seconds: 0.0, origin: Some(origin) });
    }
    let construct = construct::Settings {
        seed: plan.seed,
        split: plan.split(),
        threads: plan.threads,
        stop: plan.stop(start, BUILT_BY),
        ..construct::Settings::default()
    };
    let seconds = || start.elapsed().as_secs_f64();
    let (features, took) =
        evidence::features(&game, fingerprint, (&played, &play), &construct, &mut pupil.memory, bar, &seconds)?;
    let before = (took - seconds()).max(0.0);
    bar.show("fitting the first weights", 0, 0);
    let until = |part: f64| {
        let teach = teach::Settings { stop: plan.stop(start, part), ..settings.teach.clone() };
        course::Settings { teach, ..settings.clone() }
    };
    let fresh = Course::begin(game, &played, features, until(FITTED_BY))?;
    if !plan.fresh {
        bar.show("looking for variants that were learned", 0, 0);
        let stop = plan.stop(start, TAKEN_BY);
        let taken =
            kin::take_over(&pupil.memory, fingerprint, fresh.model(), &played, &until(TAKEN_BY), &|| stop.is_raised())?;
        if let Some((model, origin)) = taken {
            let course = Course::from_model(model, &played, settings);
            return Ok(Begun { course, seconds: before, origin: Some(origin) });
        }
    }
    Ok(Begun { course: fresh, seconds: before, origin: None })
}

pub(super) fn about(plan: &Plan, learned: &Learned, scores: Vec<Score>) -> About {
    let course = &learned.course;
    let last = course.history().last().expect("a course has a beginning");
    let sight = &course.model().sight;
    About {
        seed: plan.seed,
        version: env!("CARGO_PKG_VERSION"),
        threads: plan.threads,
        limit: plan.generations.map_or(Ending::Seconds(plan.time.as_secs_f64()), Ending::Generations),
        settings: plan.settings(),
        seconds: learned.seconds,
        generations: course.history().len() - 1,
        matches: last.n_matches,
        positions: course.history().iter().map(|generation| generation.n_new).sum(),
        features: sight.features.len(),
        slots: sight.n_slots(),
        stages: sight.stages.cuts.len() + 1,
        search: learned.search,
        chosen: learned.chosen.clone(),
        origin: learned.origin.clone(),
        curve: course.history().to_vec(),
        scores,
        left_out: Vec::new(),
    }
}

/// The mean of the roles' losses on matches that were new then.
fn mean_loss(generation: &Generation) -> f64 {
    let sum: f64 = generation.losses.iter().sum();
    sum / generation.losses.len().max(1) as f64
}

fn print(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let about = &report.about;
    writeln!(
        out,
        "{}: {} features, {} pattern slots and {} stages; {} matches in {} generations, {:.0} s",
        report.game, about.features, about.slots, about.stages, about.matches, about.generations, about.seconds
    )?;
    if let Some(origin) = &about.origin {
        writeln!(out, "{}", origin.sentence())?;
    }
    about.left_out.iter().try_for_each(|what| writeln!(out, "{what}"))?;
    if let (Some(first), Some(last)) = (about.curve.first(), about.curve.last()) {
        let told = |generation: &Generation| match mean_loss(generation) {
            loss if loss.is_nan() => "not known".to_owned(),
            loss => format!("{loss:.4}"),
        };
        write!(out, "loss on first positions that were held out: {}", told(first))?;
        if about.curve.len() > 1 {
            write!(out, "; on matches of the last generation, before it learned from them: {}", told(last))?;
        }
        writeln!(out)?;
    }
    if let Some(strength) = about.curve.iter().rev().find_map(|generation| generation.strength) {
        writeln!(out, "one move ahead, {:.0} % of the points against its beginning", 100.0 * strength)?;
    }
    writeln!(out, "plays by {}{}", about.search.name(), reason(about.chosen.as_ref()))?;
    print_scores(&about.scores, out)?;
    if let Some(id) = report.model {
        writeln!(out, "\nkept as model {id}")?;
    }
    Ok(())
}

/// What a search was chosen by, to be put behind its name.
fn reason(chosen: Option<&Score>) -> String {
    chosen.map_or(String::new(), |Score { mean, low, high, matches, .. }| {
        format!(
            "; the model's best had {mean:.1} ({low:.1} to {high:.1}) against that without a model in {matches} matches"
        )
    })
}

/// A line for each score.
pub(super) fn print_scores(scores: &[Score], out: &mut impl Write) -> std::io::Result<()> {
    if !scores.is_empty() {
        writeln!(out, "\n{:<44} {:>6} {:>16} {:>7}", "LEARNED AGAINST", "SCORE", "95 %", "MATCHES")?;
    }
    for score in scores {
        let interval = format!("{:.1} to {:.1}", score.low, score.high);
        writeln!(out, "{:<44} {:>6.1} {interval:>16} {:>7}", score.against(), score.mean, score.matches)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text| read_duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1.5m"), Ok(90.0));
        assert_eq!(seconds("2 h"), Ok(7200.0));
        assert_eq!(seconds("50ms"), Ok(0.05));
        assert_eq!(seconds("7"), Ok(7.0));
        for wrong in ["", "m", "5 days", "-1s", "nan"] {
            assert!(read_duration(wrong).is_err(), "{wrong}");
        }
    }
}
