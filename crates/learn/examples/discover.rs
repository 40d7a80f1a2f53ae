//! Discovers evaluation functions in play-lines and says what they are worth against chance. See `--help`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;

use features::game::Game;
use features::structural::fuzzy::{Function, text};
use learn::discover::attribute::Mode;
use learn::discover::cycle::{self, Opponents, Run, Stage, Weights};
use learn::discover::deduce::Strategy;
use learn::discover::field::{self, Brain, Field, seed_of};
use learn::discover::hand_made;

const HELP: &str = "\
Discovers evaluation functions in play-lines and says what they are worth against chance.

    cargo run --release -p learn --example discover -- GAME [EXPERIMENT] [OPTIONS]

Experiments:
  cycles       plays, discovers, finds weights and ranks champions, round and round (what is done if none is named)
  references   what is worth how much without learning: nothing, pieces, and in Checkers the hand-made functions
  strategies   the nine ways to simplify trees: the F-measure with equal weights, and the size of the text
  cut-off      trees whose leaves have at least 32, 64 and 144 examples

Options:
  --thesis         as in Duminy's thesis: presence of states, weights by a swarm that nobody guards
  --mode M         what trees ask: thesis or extended
  --weights W      uniform, swarm, regression or both
  --output O       how regression wants its function to be read: logistic or share
  --ridge R        what large weights cost it (4)
  --span N         players search, opening N positions for a move, in all matches and for measuring
  --spans N,...    spans to measure with, besides one move ahead
  --cycles N       (1)        --lines N,...   matches of each champion (30000; with --thesis 4500)
  --matches N      of the swarm (10000)        --particles N   (49)
  --swarm M        its tournaments: one of the fourteen (DSK), or `competitive`, as before Duminy
  --guard N        matches that weights have to win (200)
  --opponents O    whom champions play against: chance, themselves or both
  --remember 0|1   whether matches of earlier cycles are learned from again (1; with --thesis 0)
  --bouts N        matches against a champion, to be put before it (100; with --thesis one match of two games)
  --trees N        trees in each phase (1)
  --questions 0|1  whether questions of trees are terms, too (1; with --thesis 0)
  --least N        examples in a leaf (64)     --leaves N      and one in so many of all (2300; with --thesis any)
  --strategy S     (DS)                        --overlap N     of phases (0)
  --measure N      matches for each F-measure (15000)
  --runs N         runs, with seeds one after another (1; strategies and cut-off: sets of play-lines)
  --seed N         (1)        --threads N     (1)
  --print          prints functions
";

struct Options(Vec<String>);

impl Options {
    fn has(&self, wanted: &str) -> bool {
        self.0.iter().any(|argument| argument == wanted)
    }

    fn text(&self, wanted: &str) -> Option<&str> {
        let place = self.0.iter().position(|argument| argument == wanted)?;
        self.0.get(place + 1).map(String::as_str)
    }

    fn numbers(&self, wanted: &str) -> Result<Option<Vec<u64>>, String> {
        let number = |part: &str| part.parse().map_err(|_| format!("`{wanted}`: `{part}` is no number"));
        self.text(wanted).map(|text| text.split(',').map(number).collect()).transpose()
    }

    fn number(&self, wanted: &str, default: u64) -> Result<u64, String> {
        Ok(self.numbers(wanted)?.map_or(default, |numbers| numbers[0]))
    }

    fn settings(&self) -> Result<cycle::Settings, String> {
        let mut settings = if self.has("--thesis") { cycle::Settings::thesis() } else { cycle::Settings::default() };
        match self.text("--mode") {
            Some("thesis") => settings.mode = Mode::Thesis,
            Some("extended") => settings.mode = Mode::Extended,
            Some(other) => return Err(format!("`{other}` is no mode; there are thesis and extended")),
            None => {}
        }
        match self.text("--weights") {
            Some("uniform") => settings.weights = Weights::Uniform,
            Some("swarm") => settings.weights = Weights::Swarm,
            Some("regression") => settings.weights = Weights::Regression,
            Some("both") => settings.weights = Weights::Both,
            Some(other) => return Err(format!("`{other}`: weights are uniform, swarm, regression or both")),
            None => {}
        }
        match self.text("--output") {
            Some("share") => settings.weigh.output = features::structural::fuzzy::Output::Share,
            Some("logistic") => settings.weigh.output = features::structural::fuzzy::Output::Logistic,
            Some(other) => return Err(format!("`{other}`: an output is share or logistic")),
            None => {}
        }
        match self.text("--opponents") {
            Some("chance") => settings.opponents = Opponents::Chance,
            Some("themselves") => settings.opponents = Opponents::Themselves,
            Some("both") => settings.opponents = Opponents::Both,
            Some(other) => return Err(format!("`{other}`: opponents are chance, themselves or both")),
            None => {}
        }
        settings.remember = self.number("--remember", u64::from(settings.remember))? > 0;
        settings.bouts = self.number("--bouts", u64::from(settings.bouts))? as u32;
        if let Some(ridge) = self.text("--ridge") {
            settings.weigh.ridge = ridge.parse().map_err(|_| "`--ridge` needs a number".to_owned())?;
        }
        settings.seed = self.number("--seed", settings.seed)?;
        if let Some(lines) = self.numbers("--lines")? {
            settings.lines = lines.into_iter().map(|n| n as u32).collect();
        }
        settings.tree.least = self.number("--least", u64::from(settings.tree.least))? as u32;
        settings.leaves = self.number("--leaves", settings.leaves as u64)? as usize;
        settings.trees = self.number("--trees", u64::from(settings.trees))? as u32;
        settings.questions = self.number("--questions", u64::from(settings.questions))? > 0;
        settings.overlap = self.number("--overlap", 0)? as u32;
        settings.swarm.matches = self.number("--matches", settings.swarm.matches)?;
        settings.swarm.particles = self.number("--particles", settings.swarm.particles as u64)? as usize;
        match self.text("--swarm") {
            Some("competitive") => settings.swarm.competitive = true,
            Some(method) => settings.swarm.method = method.parse()?,
            None => {}
        }
        settings.guard = self.number("--guard", u64::from(settings.guard))? as u32;
        settings.span = self.numbers("--span")?.map(|numbers| numbers[0]);
        settings.strategy = self.text("--strategy").map_or(Ok(settings.strategy), str::parse)?;
        Ok(settings)
    }
}

/// Where experiments are made, and how results are measured.
struct Bench {
    field: Field,
    n_measured: u32,
    /// Spans that are measured with; nothing for one move ahead.
    spans: Vec<Option<u64>>,
}

impl Bench {
    fn values(&self, brain: &Brain, seed: u64) -> Vec<f64> {
        let measure = |&span: &Option<u64>| {
            cycle::measure(&self.field, &brain.clone().searching(span), self.n_measured, seed + 99).interval()
        };
        self.spans.iter().map(|span| measure(span).mean).collect()
    }

    fn report(&self, what: &str, brain: &Brain, seed: u64) -> Vec<f64> {
        let report = |&span: &Option<u64>| {
            let brain = brain.clone().searching(span);
            let interval = cycle::measure(&self.field, &brain, self.n_measured, seed + 99).interval();
            println!(
                "{what}, {}: F-measure {:.2} [{:.2}, {:.2}]",
                how(span),
                interval.mean,
                interval.low,
                interval.high
            );
            interval.mean
        };
        self.spans.iter().map(report).collect()
    }

    fn brain(&self, function: &Function) -> Result<Brain, String> {
        Brain::new(function, &self.field.vocabulary)
    }
}

fn how(span: Option<u64>) -> String {
    span.map_or("one move ahead".to_owned(), |span| format!("BFSS, span {span}"))
}

/// A mean and half of its 95 % interval over runs.
fn mean(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    format!("{mean:.2} ± {:.2}", 1.96 * (variance / n).sqrt())
}

fn main() -> Result<(), String> {
    let options = Options(std::env::args().skip(1).collect());
    if options.has("--help") || options.0.is_empty() {
        print!("{HELP}");
        return Ok(());
    }
    let name = &options.0[0];
    let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).map_err(|problem| format!("{path}: {problem}"))?;
    let game = Arc::new(Game::new(gdl::read(name, &text).program, 1)?);
    let threads = options.number("--threads", 1)? as usize;
    let field = Field::new(game, &field::Settings { threads, ..field::Settings::default() })?;
    let settings = options.settings()?;
    let spans = match (options.numbers("--spans")?, settings.span) {
        (Some(spans), _) => std::iter::once(None).chain(spans.into_iter().map(Some)).collect(),
        (None, Some(span)) => vec![Some(span)],
        (None, None) => vec![None],
    };
    let bench = Bench { field, n_measured: options.number("--measure", 15_000)? as u32, spans };
    let n_runs = options.number("--runs", 1)?;
    match options.0.get(1).map(String::as_str) {
        Some("references") => references(&bench, settings.seed),
        Some("strategies") => strategies(&bench, &settings, n_runs),
        Some("cut-off") => cut_off(&bench, &settings, n_runs),
        _ => {
            let mut all: Vec<[Vec<f64>; 2]> = Vec::new();
            for run in 0..n_runs {
                let settings = cycle::Settings { seed: settings.seed + run, ..settings.clone() };
                all.push(cycles(&bench, &settings, options.number("--cycles", 1)?, options.has("--print"))?);
            }
            for (place, &span) in bench.spans.iter().enumerate().filter(|_| n_runs > 1) {
                let of = |which: usize| all.iter().map(|values| values[which][place]).collect::<Vec<f64>>();
                let (last, first) = (of(1), of(0));
                let gained: Vec<f64> = last.iter().zip(&first).map(|(last, first)| last - first).collect();
                println!(
                    "{n_runs} runs, {}: F-measure {}; as first discovered {}; gained {}",
                    how(span),
                    mean(&last),
                    mean(&first),
                    mean(&gained)
                );
            }
            Ok(())
        }
    }
}

/// What the first function was worth as it was discovered, and what the best one is worth in the end.
fn cycles(bench: &Bench, settings: &cycle::Settings, n_cycles: u64, print: bool) -> Result<[Vec<f64>; 2], String> {
    let mut run = Run::default();
    let mut first = None;
    let mut measured: Vec<(Function, Vec<f64>)> = Vec::new();
    for _ in 0..n_cycles {
        loop {
            run.step(&bench.field, settings)?;
            let cycle = run.n_cycles + 1;
            match &run.stage {
                Stage::Discover(examples) => println!("cycle {cycle}: {} positions", examples.len()),
                Stage::Optimise(function, _) => {
                    let brain = bench.brain(function)?;
                    let (n, size) = (brain.n_terms(), function.to_string().len());
                    println!("cycle {cycle}: {n} terms in {} phases, {size} bytes", function.phases.len());
                    let values = bench.report(&format!("cycle {cycle}, weights as discovered"), &brain, settings.seed);
                    first.get_or_insert(values);
                    if print {
                        println!("{function}");
                    }
                }
                Stage::Evaluate(function) => {
                    let found = run.found.last().expect("weights were looked for");
                    println!(
                        "cycle {cycle}: {} matches, {} epochs, {} best places replaced; {} of {} points against the weights \
                         before, which were kept: {}",
                        found.n_matches,
                        found.n_epochs,
                        found.n_replaced,
                        found.points,
                        4 * found.n_guard,
                        found.is_start
                    );
                    let what = format!("cycle {cycle}, weights found");
                    measured.push((function.clone(), bench.report(&what, &bench.brain(function)?, settings.seed)));
                    if print {
                        println!("{function}");
                    }
                }
                Stage::Play => break,
            }
        }
    }
    let place = measured.iter().position(|(function, _)| *function == run.champions[0]).expect("all were measured");
    println!("after {} cycles, that of cycle {} is the best", run.n_cycles, place + 1);
    Ok([first.expect("there is a first one"), measured.swap_remove(place).1])
}

fn references(bench: &Bench, seed: u64) -> Result<(), String> {
    let other = |terms: &str| bench.brain(&text::function(&format!("game reference phase 0 {{ {terms} }}"))?);
    bench.report("nothing", &other("")?, seed);
    let own: Vec<&str> = bench.field.vocabulary.states.iter().map(String::as_str).collect();
    let own: Vec<&str> = own.into_iter().filter(|name| name.starts_with(['o', 'O'])).collect();
    bench.report("pieces", &other(&format!("1 * ({{{}}}@all)", own.join(",")))?, seed);
    if let (Ok(uniform), Ok(weighted)) = (hand_made::uniform(&bench.field), hand_made::weighted(&bench.field)) {
        bench.report("hand-made, equal weights (F_b)", &uniform, seed);
        bench.report("hand-made (F_a)", &weighted, seed);
    }
    Ok(())
}

/// Functions with weights as discovered, from the same sets of play-lines for each of several settings.
fn compare(bench: &Bench, settings: &[(String, cycle::Settings)], n_sets: u64) -> Result<(), String> {
    let mut rows: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); settings.len()];
    for set in 0..n_sets {
        let seed = settings[0].1.seed + set;
        let examples = cycle::by_chance(&bench.field, &settings[0].1.lines, seed_of(seed, 1));
        for ((_, settings), (values, sizes)) in settings.iter().zip(&mut rows) {
            let function = cycle::discover(&bench.field, &examples, settings, seed_of(seed, 2));
            values.push(bench.values(&bench.brain(&function)?, seed)[0]);
            sizes.push(function.to_string().len() as f64 / 1_000.0);
        }
    }
    for ((name, _), (values, sizes)) in settings.iter().zip(&rows) {
        println!("{name}: F-measure {}; text {} kB; {n_sets} sets", mean(values), mean(sizes));
    }
    Ok(())
}

fn strategies(bench: &Bench, settings: &cycle::Settings, n_sets: u64) -> Result<(), String> {
    let of = |strategy: Strategy| (strategy.to_string(), cycle::Settings { strategy, ..settings.clone() });
    compare(bench, &Strategy::all().into_iter().map(of).collect::<Vec<_>>(), n_sets)
}

fn cut_off(bench: &Bench, settings: &cycle::Settings, n_sets: u64) -> Result<(), String> {
    let of = |least: u32| {
        let mut settings = settings.clone();
        settings.tree.least = least;
        (format!("m = {least}"), settings)
    };
    compare(bench, &[32, 64, 144].map(of), n_sets)
}
