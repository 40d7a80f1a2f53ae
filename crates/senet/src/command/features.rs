//! `senet features`: numbers that say how good a position is, built from the rules.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use features::bindings::Bindings;
use features::columns::Columns;
use features::construct::{self, FeatureSet, Mode, Origin, Selected, construct};
use features::english::English;
use features::feature::{self, Feature};
use features::game::{Game, Views};
use features::positions::{self, Positions};
use features::select::{Evidence, Labels};
use gdl::keyword;
use gdl::program::Term;
use gdl::symbol::Symbols;
use insight::canonical::{self, canonical_until};
use serde::Serialize;

use super::learn::read_duration;
use crate::evidence::{self, Bar, Played, remember};
use crate::guard;
use crate::picture::page::{Entry, Page};
use crate::picture::sheet::Sheet;
use crate::picture::{graph, shorten};
use crate::rules::{self, Rules};
use crate::screen;

/// Builds features from the rules: numbers that say how good a position is
///
/// Candidates come from the rules by transformation, from the structure of the game, and from played positions. Those are
/// chosen that tell most about the results of matches beyond what the chosen ones tell; the table shows their correlation
/// with a role's result in matches that had no part in the choice, with a star where it is significant.
///
/// Names mean nothing: a scrambled copy of a game has the same features. Matches are played with increasing strength and
/// kept in the memory, so that a second run is faster.
///
/// Examples:
///   senet features connect-four
///   senet features my-game.kif --explain                       each feature as logic, in English, with its evidence
///   senet features tic-tac-toe --explain '(count (?x ?y) (true (cell ?x ?y x)))'
///   senet features othello --page othello.html                 pictures of the features on the board
///   senet features tic-tac-toe --mode thesis --graph abstraction.svg
///   senet features breakthrough --json | jq '.features[0]'
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Features {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// How features are made: by evidence, or as the feature construction thesis (Günther 2008) has it
    #[arg(long, value_enum, default_value_t)]
    mode: ModeName,
    /// How many candidates are looked at; more take longer
    #[arg(long, value_name = "N", default_value_t = 4_000)]
    budget: usize,
    /// At most so many features are chosen
    #[arg(long, value_name = "N", default_value_t = 150)]
    at_most: usize,
    /// Positions that are played at each level of strength
    #[arg(long, value_name = "N", default_value_t = 12_000)]
    play: usize,
    /// The seed of the matches and of everything else that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The threads that work; they change nothing in the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How long it may take, such as 90s, 5m or 2h; then it says how far it came
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = read_duration)]
    time: Duration,
    /// Prints each chosen feature as logic and in English with its evidence; or one of them by its number; or a feature of your own, with its value in the first position and its correlation
    #[arg(long, value_name = "FEATURE|NUMBER", num_args = 0..=1)]
    explain: Option<Option<String>>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Draws the abstraction graph of the logical features: FILE.svg or FILE.dot
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
    /// Writes a page with pictures of the features on the board
    #[arg(long, value_name = "FILE.html")]
    page: Option<PathBuf>,
    /// Takes positions from this file; where there is none, they are played and written to it
    #[arg(long, value_name = "FILE")]
    positions: Option<PathBuf>,
    /// Does not remember the game and its positions
    #[arg(long)]
    no_remember: bool,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ModeName {
    #[default]
    Default,
    Thesis,
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Mode {
        match name {
            ModeName::Default => Mode::Default,
            ModeName::Thesis => Mode::Thesis,
        }
    }
}

pub(crate) fn run(arguments: Features) -> anyhow::Result<ExitCode> {
    let picture = arguments.graph.as_deref().map(picture_kind).transpose()?;
    let _time = guard::within(arguments.time);
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let start = Instant::now();
    let bar = Bar::new();
    // Step 1. The game, in its canonical form and in its own words.
    bar.show("analysing the rules", 0, 0);
    let stop = guard::stop();
    let form = canonical_until(&rules.program, canonical::BUDGET, &stop);
    let game = Game::until(form.respelled(&rules.program), arguments.seed, &stop)
        .map_err(|reason| anyhow!("`{}` can't be grounded, so it has no features: {reason}", rules.source.name()))?;
    let own = match &arguments.explain {
        Some(Some(text)) if text.trim().parse::<usize>().is_err() => Some(read_feature(text, &game.program.symbols)?),
        _ => None,
    };
    let seconds_game = start.elapsed().as_secs_f64();
    // Step 2. Positions.
    let start = Instant::now();
    let mut memory = if arguments.no_remember { None } else { Some(remember(&rules, arguments.store.clone())?) };
    let settings =
        positions::Settings { seed: arguments.seed, positions: arguments.play, ..positions::Settings::default() };
    let file = arguments.positions.as_deref();
    let played = evidence::positions(&game, form.fingerprint.0, &settings, file, memory.as_mut(), &bar)?;
    let seconds_positions = start.elapsed().as_secs_f64();
    let mut out = screen::out();
    if let Some(feature) = own {
        bar.clear();
        write!(out, "{}", explain_own(&game, &feature, &played.positions)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Step 3. Features.
    let start = Instant::now();
    let settings = construct::Settings {
        mode: arguments.mode.into(),
        seed: arguments.seed,
        candidates: arguments.budget,
        configurations: arguments.budget.div_ceil(10),
        select: features::select::Settings { max_features: arguments.at_most, ..Default::default() },
        threads: arguments.threads.unwrap_or_else(crate::n_cores),
        ..construct::Settings::default()
    };
    let set = construct(&game, &played.positions, &settings, &mut |progress: construct::Progress| {
        bar.show(progress.stage, progress.done, progress.of);
        true
    })
    .map_err(|reason| anyhow!("`{}`: {reason}", rules.source.name()))?;
    let seconds_features = start.elapsed().as_secs_f64();
    bar.clear();
    // Step 4. What was found.
    let name = rules.game_name();
    let report = Report::new(&name, &form.fingerprint.to_string(), &game, &set, &played, &arguments).timed(
        seconds_game,
        seconds_positions,
        seconds_features,
    );
    if let (Some(kind), Some(file)) = (picture, &arguments.graph) {
        let title = format!("{name}: abstraction graph");
        let text = |node: usize| set.graph.nodes[node].0.display(&game.program.symbols).to_string();
        let drawn = match kind {
            Picture::Svg => graph::svg(&set.graph, &title, &text),
            Picture::Dot => graph::dot(&set.graph, &title, &text),
        };
        write_file(file, &drawn)?;
    }
    if let Some(file) = &arguments.page {
        write_file(file, &page(&rules, &game, &set, &report, &played.positions))?;
    }
    match (&arguments.explain, arguments.json) {
        (Some(Some(number)), _) => {
            let number: usize = number.trim().parse().expect("texts were dealt with above");
            let Some(feature) = number.checked_sub(1).and_then(|index| report.features.get(index)) else {
                bail!("there is no feature {number}; {} were chosen, from 1", report.features.len());
            };
            write!(out, "{}", feature.explanation())?;
        }
        (_, true) => writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?,
        (Some(None), _) => {
            for feature in &report.features {
                writeln!(out, "{}", feature.explanation())?;
            }
        }
        (None, false) => write!(out, "{}", report.table())?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

enum Picture {
    Svg,
    Dot,
}

fn picture_kind(file: &Path) -> anyhow::Result<Picture> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(Picture::Svg),
        Some("dot" | "gv") => Ok(Picture::Dot),
        _ => bail!("`{}`: a graph is drawn as .svg or .dot; name the file so", file.display()),
    }
}

fn write_file(file: &Path, text: &str) -> anyhow::Result<()> {
    arena::store::write_whole(file, text.as_ref()).with_context(|| format!("can't write `{}`", file.display()))
}

/// Reads a feature that somebody typed.
fn read_feature(text: &str, symbols: &Symbols) -> anyhow::Result<Feature> {
    let mut feature =
        feature::read(text, symbols).map_err(|problem| anyhow!("the feature can't be read: {problem}"))?;
    // A number may be a name of the rules and a goal value, which are two symbols of one spelling here.
    let twin = |symbol, is_value: bool| {
        let name = symbols.name(symbol);
        let mut same = symbols.ids().filter(|&other| symbols.name(other).eq_ignore_ascii_case(name));
        same.find(|&other| (symbols.lower(other) == name.to_ascii_lowercase()) == is_value).unwrap_or(symbol)
    };
    fn respell(term: &Term, twin: &dyn Fn(gdl::symbol::SymbolId) -> gdl::symbol::SymbolId) -> Term {
        match term {
            Term::Var(_) => term.clone(),
            Term::Const(name) => Term::Const(twin(*name)),
            Term::Func(name, args) => Term::Func(*name, args.iter().map(|arg| respell(arg, twin)).collect()),
        }
    }
    fn walk(
        formula: &mut features::formula::Formula,
        twin: &dyn Fn(gdl::symbol::SymbolId, bool) -> gdl::symbol::SymbolId,
    ) {
        use features::formula::Formula;
        match formula {
            Formula::Atom(atom) => {
                let is_goal = atom.name == keyword::GOAL;
                for (at, arg) in atom.args.iter_mut().enumerate() {
                    *arg = respell(arg, &|name| {
                        if Symbols::is_keyword(name) { name } else { twin(name, is_goal && at == 1) }
                    });
                }
            }
            Formula::Not(inner) => walk(inner, twin),
            Formula::And(parts) | Formula::Or(parts) => parts.iter_mut().for_each(|part| walk(part, twin)),
            _ => {}
        }
    }
    walk(&mut feature.formula, &twin);
    Ok(feature)
}

/// What the command prints, as data.
#[derive(Serialize)]
struct Report {
    game: String,
    /// What the game's scrambled forms have in common.
    fingerprint: String,
    mode: Mode,
    seed: u64,
    budget: usize,
    positions: PositionsReport,
    generated: usize,
    unique: usize,
    /// How many features were generated in which way.
    counts: Vec<(&'static str, usize)>,
    selected: usize,
    significant: usize,
    /// The budgets that were met.
    stopped: Vec<String>,
    seconds: Seconds,
    features: Vec<FeatureReport>,
}

#[derive(Serialize)]
struct PositionsReport {
    played: usize,
    reused: bool,
    chosen_by: usize,
    held_out: usize,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Seconds {
    game: f64,
    positions: f64,
    features: f64,
}

#[derive(Serialize)]
struct FeatureReport {
    number: usize,
    feature: String,
    sentence: String,
    origin: &'static str,
    /// The transformation that made it, if it comes from the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    transformation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u32>,
    held_out: EvidenceReport,
    chosen_by: EvidenceReport,
    significant: bool,
    /// The part of the results' variance that it explains beyond those before it.
    gain: f64,
    cost: f64,
    /// Its greatest value, without its sign.
    max: i32,
}

/// What positions say about a feature.
#[derive(Serialize)]
struct EvidenceReport {
    /// The role whose result it says most about.
    role: String,
    correlation: f64,
    z: f64,
    /// The part of the positions in which it is not 0.
    matching: f64,
}

impl EvidenceReport {
    fn new(game: &Game, evidence: &Evidence) -> EvidenceReport {
        let role = game.universe.roles.get(evidence.role).map(|&role| game.universe.name(role)).unwrap_or_default();
        EvidenceReport { role, correlation: evidence.correlation, z: evidence.z, matching: evidence.matching }
    }
}

impl FeatureReport {
    fn new(game: &Game, english: &English, number: usize, selected: &Selected) -> FeatureReport {
        let (origin, transformation) = match selected.origin {
            Origin::Logic(transformation) => ("rules", Some(transformation)),
            Origin::Structure => ("structure", None),
            Origin::Mined => ("positions", None),
        };
        FeatureReport {
            number,
            feature: selected.feature.display(&game.program.symbols).to_string(),
            sentence: selected.sentence.clone().unwrap_or_else(|| english.sentence(&selected.feature)),
            origin,
            transformation,
            level: selected.level,
            held_out: EvidenceReport::new(game, &selected.held_out),
            chosen_by: EvidenceReport::new(game, &selected.train),
            significant: selected.significant,
            gain: selected.gain,
            cost: selected.cost,
            max: selected.max,
        }
    }

    /// Where it comes from, in words.
    fn origin(&self) -> String {
        let mut text = format!("from {}", self.origin);
        if let Some(transformation) = self.transformation {
            let _ = write!(text, " by {transformation}");
        }
        if let Some(level) = self.level {
            let _ = write!(text, ", level {level}");
        }
        text
    }

    fn explanation(&self) -> String {
        let evidence = |evidence: &EvidenceReport| {
            format!(
                "correlation {:+.3} with {}'s result (z {:+.1}); not 0 in {:.1} % of the positions",
                evidence.correlation,
                evidence.role,
                evidence.z,
                evidence.matching * 100.0
            )
        };
        let star = if self.significant { ", significant" } else { ", not significant" };
        format!(
            "{}. {}\n   {}\n   {}; costs {:.1}; at most {} in the sample\n   held out:  {}{star}\n   chosen by: {}; explains {:.2} % more of the results\n",
            self.number,
            capital(&self.sentence),
            self.feature,
            self.origin(),
            self.cost,
            self.max,
            evidence(&self.held_out),
            evidence(&self.chosen_by),
            self.gain * 100.0,
        )
    }
}

fn capital(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

impl Report {
    fn new(
        name: &str,
        fingerprint: &str,
        game: &Game,
        set: &FeatureSet,
        played: &Played,
        arguments: &Features,
    ) -> Report {
        let english = English::new(game);
        let features = set.features.iter().enumerate();
        let features: Vec<FeatureReport> =
            features.map(|(index, selected)| FeatureReport::new(game, &english, index + 1, selected)).collect();
        Report {
            game: name.to_owned(),
            fingerprint: fingerprint.to_owned(),
            mode: arguments.mode.into(),
            seed: arguments.seed,
            budget: arguments.budget,
            positions: PositionsReport {
                played: played.positions.len(),
                reused: played.reused,
                chosen_by: set.n_positions.0,
                held_out: set.n_positions.1,
            },
            generated: set.n_generated,
            unique: set.n_unique,
            counts: set.counts.clone(),
            selected: features.len(),
            significant: features.iter().filter(|feature| feature.significant).count(),
            stopped: played.stopped.iter().chain(&set.stopped).cloned().collect(),
            seconds: Seconds::default(),
            features,
        }
    }

    fn timed(self, game: f64, positions: f64, features: f64) -> Report {
        Report { seconds: Seconds { game, positions, features }, ..self }
    }

    /// How the features were found, in a sentence or two.
    fn summary(&self) -> String {
        let mode = if self.mode == Mode::Thesis { "in thesis mode" } else { "by evidence" };
        format!(
            "{} features chosen {mode} from {} generated, {} of them different; {} are significant. Chosen by {} positions, \
             measured on {} others, of {} played with seed {}.",
            self.selected,
            self.generated,
            self.unique,
            self.significant,
            self.positions.chosen_by,
            self.positions.held_out,
            self.positions.played,
            self.seed,
        )
    }

    fn table(&self) -> String {
        let mut text = format!("{}: {} features\n\n", self.game, self.selected);
        let role = self.features.iter().map(|feature| feature.held_out.role.chars().count()).max().unwrap_or(0).max(4);
        let _ = writeln!(text, "  nr  correlation  {:<role$}  matches  from       level  meaning", "with");
        for feature in &self.features {
            let _ = writeln!(
                text,
                "{:>4}  {:+.3} {}     {:<role$}  {:>5.1} %  {:<9}  {:>5}  {}",
                feature.number,
                feature.held_out.correlation,
                if feature.significant { '*' } else { ' ' },
                feature.held_out.role,
                feature.held_out.matching * 100.0,
                feature.origin,
                feature.level.map_or("-".to_owned(), |level| level.to_string()),
                shorten(&feature.sentence, 160),
            );
        }
        let Seconds { game, positions, features } = self.seconds;
        let _ = writeln!(text, "\n{}", self.summary());
        let ways: Vec<String> = self.counts.iter().map(|(way, n)| format!("{n} {way}")).collect();
        let _ = writeln!(text, "Generated by: {}.", ways.join(", "));
        self.stopped.iter().for_each(|reason| _ = writeln!(text, "Budget met: {reason}."));
        let from = if self.positions.reused { "read" } else { "played" };
        let _ = writeln!(
            text,
            "Rules analysed in {game:.1} s, positions {from} in {positions:.1} s, features made in {features:.1} s."
        );
        text
    }
}

/// The state in which a match begins.
fn initial(game: &Game) -> Vec<u64> {
    let network = &game.circuit.network;
    let mut state = vec![0u64; network.fluents.len().div_ceil(64)];
    network.initial.iter().enumerate().for_each(|(bit, &holds)| state[bit / 64] |= u64::from(holds) << (bit % 64));
    state
}

/// A feature that the user wrote: what it means, its value, and what positions say.
fn explain_own(game: &Game, feature: &Feature, positions: &Positions) -> anyhow::Result<String> {
    let views = Views::new(game).map_err(|reason| anyhow!(reason))?;
    let positions = positions.without_terminal();
    let refused = "the feature can't be evaluated: a variable is bound by nothing but negations, a relation depends on the moves, \
                   or it takes too much work";
    let first = Columns::new(game, &views, &[&initial(game)]).values(feature).context(refused)?;
    let values = Columns::new(game, &views, &positions.views()).values(feature).context(refused)?;
    let evidence = Labels::new(&positions).measure(&values);
    let told = EvidenceReport::new(game, &evidence);
    let (least, most) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let mut text = format!(
        "{}\n{}\nin the first position: {}\nin {} positions of play: from {least} to {most}, not 0 in {:.1} %\n",
        capital(&English::new(game).sentence(feature)),
        feature.display(&game.program.symbols),
        first[0],
        positions.len(),
        evidence.matching * 100.0
    );
    if evidence.varies {
        let _ = writeln!(text, "correlation {:+.3} with {}'s result (z {:+.1})", told.correlation, told.role, told.z);
    } else {
        let _ = writeln!(text, "it never varies, so it says nothing about the result");
    }
    Ok(text)
}

/// How many positions are looked through for a sample of each feature.
const SAMPLES: usize = 3_000;
/// How many features a page shows.
const MAX_SHOWN: usize = 200;

fn page(rules: &Rules, game: &Game, set: &FeatureSet, report: &Report, positions: &Positions) -> String {
    let view = rules.game.and_then(|game| game.view().ok());
    let sheet = Sheet::new(game, view.as_ref());
    let features: Vec<Feature> = set.features.iter().take(MAX_SHOWN).map(|selected| selected.feature.clone()).collect();
    let bindings = Bindings::new(game, &features).ok();
    // A sample for each: the first of the positions with the greatest value.
    let positions = positions.without_terminal();
    let len = positions.len();
    let some = if len <= SAMPLES { positions } else { positions.select((0..SAMPLES).map(|at| at * len / SAMPLES)) };
    let mut columns = Views::new(game).ok().map(|views| Columns::new(game, &views, &some.views()));
    let mut sample = |feature: &Feature| {
        let values = columns.as_mut()?.values(feature)?;
        let most = *values.iter().max()?;
        let at = if most > 0 {
            values.iter().position(|&value| value == most)?
        } else {
            let least = *values.iter().min()?;
            values.iter().position(|&value| value == least)?
        };
        Some((some.state(at).to_vec(), values[at]))
    };
    let entries: Vec<Entry> = report
        .features
        .iter()
        .zip(&features)
        .map(|(told, feature)| Entry {
            sentence: capital(&told.sentence),
            logic: told.feature.clone(),
            role: told.held_out.role.clone(),
            correlation: told.held_out.correlation,
            significant: told.significant,
            matching: told.held_out.matching,
            origin: told.origin(),
            sample: sample(feature),
        })
        .collect();
    let title = view.as_ref().map_or(report.game.clone(), |view| view.title.clone());
    let mut summary = report.summary();
    if set.features.len() > MAX_SHOWN {
        let _ = write!(summary, " The first {MAX_SHOWN} are shown.");
    }
    Page { title: &title, summary: &summary, game, sheet: &sheet, entries: &entries, bindings: bindings.as_ref() }
        .html()
}
