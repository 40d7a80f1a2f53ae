//! Patterns at scale, after Kaneko, Yamaguchi and Kawai: labelled positions late in a game that is decided by counting
//! markers, millions of candidate patterns from the rules, selection by frequency and by covariance, the joint fit, and
//! matching while the game goes on. Prints what each stage gives and takes.
//!
//! ```text
//! cargo run --release -p features --example patterns -- games/othello/rules.kif --markers 60 --json
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod contest;

use std::time::Instant;

use contest::{Contest, Labelled};
use features::pattern::frequency::{self, Incidence, Positions};
use features::pattern::set::Patterns;
use features::pattern::unfold::{self, Unfolder};
use features::pattern::{forward, refit, seeds};

struct Arguments {
    rules: String,
    /// How many markers positions have.
    markers: usize,
    /// Training positions before symmetry.
    positions: usize,
    /// Test positions before symmetry.
    test: usize,
    candidates: usize,
    /// Conjunctions that regressing a condition may give.
    regressions: usize,
    thresholds: Vec<f64>,
    limit: usize,
    threads: usize,
    seed: u64,
    /// Where labelled positions are kept.
    stored: Option<String>,
    json: bool,
}

fn arguments() -> Arguments {
    let mut arguments = Arguments {
        rules: String::new(),
        markers: 60,
        positions: 50_000,
        test: 6_000,
        candidates: 8_600_000,
        regressions: 40,
        thresholds: vec![0.01, 5e-3, 2.5e-3, 1.25e-3, 5e-4, 1.25e-4],
        limit: usize::MAX,
        threads: 2,
        seed: 1,
        stored: None,
        json: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        let number = |text: String| text.parse::<usize>().unwrap_or_else(|_| panic!("{text} is no number"));
        match argument.as_str() {
            "--markers" => arguments.markers = number(value()),
            "--positions" => arguments.positions = number(value()),
            "--test" => arguments.test = number(value()),
            "--candidates" => arguments.candidates = number(value()),
            "--regressions" => arguments.regressions = number(value()),
            "--thresholds" => {
                arguments.thresholds = value().split(',').map(|text| text.parse().expect("a number")).collect();
            }
            "--limit" => arguments.limit = number(value()),
            "--threads" => arguments.threads = number(value()),
            "--seed" => arguments.seed = number(value()) as u64,
            "--stored" => arguments.stored = Some(value()),
            "--json" => arguments.json = true,
            _ => arguments.rules = argument,
        }
    }
    arguments
}

/// Wall-clock time, processor time and memory, stage by stage.
struct Stages {
    start: Instant,
    cpu: f64,
    done: Vec<(String, f64, f64, f64)>,
}

impl Stages {
    fn new() -> Stages {
        Stages { start: Instant::now(), cpu: cpu_seconds(), done: Vec::new() }
    }

    fn end(&mut self, name: &str) {
        let (wall, cpu, peak) = (self.start.elapsed().as_secs_f64(), cpu_seconds() - self.cpu, peak_gib());
        eprintln!("{name}: {wall:.1} s, {cpu:.1} s of processor time, {peak:.2} GiB at most so far");
        self.done.push((name.to_owned(), wall, cpu, peak));
        (self.start, self.cpu) = (Instant::now(), cpu_seconds());
    }
}

/// Processor time of this process, where the system tells.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The most memory that this process has held, where the system tells.
fn peak_gib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0 / 1024.0
}

fn positions(contest: &Contest, arguments: &Arguments, stages: &mut Stages) -> Vec<Labelled> {
    if let Some(positions) = arguments.stored.as_ref().and_then(|path| contest::read(path)) {
        stages.end("positions read");
        return positions;
    }
    let values = contest::crude_values(contest, arguments.seed, arguments.threads);
    stages.end("crude values");
    let wanted = arguments.positions + arguments.test;
    let states = contest::states(contest, &values, wanted, arguments.markers, arguments.seed, arguments.threads);
    stages.end("self-play");
    let (positions, nodes) = contest::label(contest, states, arguments.threads);
    eprintln!("{} positions, {nodes} nodes searched", positions.len());
    stages.end("labels");
    if let Some(path) = &arguments.stored {
        contest::write(path, &positions).unwrap_or_else(|problem| eprintln!("{path}: {problem}"));
    }
    positions
}

fn candidates(contest: &Contest, arguments: &Arguments, stages: &mut Stages) -> Patterns {
    let ground = contest.game.circuit.ground.as_ref().expect("the ground rules are kept");
    let groups = unfold::proved_groups(&contest.game.structure, &contest.game.circuit);
    let budget = unfold::Budget { work: 500_000_000, ..unfold::Budget::default() };
    let mut unfolder = Unfolder::new(ground, &contest.game.circuit.network, groups, budget);
    let budget = seeds::Budget {
        candidates: arguments.candidates,
        regressions: arguments.regressions,
        ..seeds::Budget::default()
    };
    let say = |patterns: &Patterns, what: &str, all: bool| {
        eprintln!("{} {what}{}", patterns.len(), if all { "" } else { ", cut short" });
    };
    let (n_whole, mut patterns) = seeds::conditions(&mut unfolder, ground, &budget);
    eprintln!("{n_whole} conditions, {} with parts", patterns.len());
    let n = patterns.len();
    let all = seeds::join(&unfolder, &mut patterns, n_whole, &budget);
    say(&patterns, "with joins of whole conditions", all);
    let all = seeds::regress(&mut unfolder, &mut patterns, n_whole, &budget);
    say(&patterns, "with regressions", all);
    let all = seeds::join(&unfolder, &mut patterns, n, &budget);
    say(&patterns, "with joins of parts", all);
    stages.end("candidates");
    patterns
}

fn main() {
    let arguments = arguments();
    let mut stages = Stages::new();
    let contest = Contest::new(&arguments.rules, arguments.seed);
    eprintln!("{} symmetries, {} cells", contest.actions.len(), contest.n_cells);
    stages.end("analysis");
    // Step 1. Positions.
    let positions = positions(&contest, &arguments, &mut stages);
    if arguments.candidates == 0 {
        return;
    }
    let (test, train) = positions.split_at(arguments.test.min(positions.len() / 2));
    let train = &train[..arguments.positions.min(train.len())];
    let (states, labels) = contest.expand(train);
    let (test_states, test_labels) = contest.expand(test);
    let spread = |labels: &[f64]| (labels.iter().map(|label| label * label).sum::<f64>() / labels.len() as f64).sqrt();
    eprintln!("{} training positions, {} for tests", states.len(), test_states.len());
    eprintln!("labels spread {:.2} and {:.2}", spread(&labels), spread(&test_labels));
    let n_fluents = contest.game.circuit.network.fluents.len();
    let columns = Positions::new(n_fluents, states.iter().map(|state| &state[..]));
    let test_columns = Positions::new(n_fluents, test_states.iter().map(|state| &state[..]));
    drop(states);
    stages.end("expansion");
    // Step 2. Candidates.
    let patterns = candidates(&contest, &arguments, &mut stages);
    // Step 3. Selection.
    let frequent = frequency::select(&patterns, &columns, &frequency::USUAL, arguments.threads);
    let chosen: Patterns = frequent.patterns.iter().map(|&pattern| patterns.get(pattern)).collect();
    eprintln!("{} of {} candidates have the right frequency", chosen.len(), patterns.len());
    drop(patterns);
    let all: Vec<u32> = (0..chosen.len() as u32).collect();
    stages.end("frequency selection");
    let rows = Incidence::of(&chosen, &all, &columns);
    eprintln!("{:.1} of them match in a position", rows.n_set() as f64 / rows.n_rows() as f64);
    stages.end("incidence");
    let column = |candidate: u32, into: &mut Vec<u32>| columns.matching(chosen.get(candidate), into);
    let settings = forward::Settings {
        threshold: arguments.thresholds.iter().copied().fold(f64::INFINITY, f64::min),
        limit: arguments.limit,
        threads: arguments.threads,
        ..forward::Settings::default()
    };
    let picks = forward::pursue(&rows, column, &labels, &settings);
    stages.end(&format!("forward selection of {}", picks.len()));
    // Step 4. Fits.
    println!("| threshold | patterns | mean length | active/position | train RMSE | test RMSE | passes |");
    println!("|---|---|---|---|---|---|---|");
    for &threshold in &arguments.thresholds {
        let n = picks.iter().position(|pick| pick.priority < threshold).unwrap_or(picks.len());
        let kept: Vec<u32> = picks[..n].iter().map(|pick| pick.candidate).collect();
        let (train, test) = (rows.keep(&kept), Incidence::of(&chosen, &kept, &test_columns));
        let settings = refit::Settings { threads: arguments.threads, iterations: 60, ..refit::Settings::default() };
        let fit = refit::ridge(&train, &labels, &settings);
        let length: usize = kept.iter().map(|&candidate| chosen.get(candidate).len()).sum();
        println!(
            "| {threshold:.2e} | {n} | {:.2} | {:.1} | {:.2} | {:.2} | {} |",
            length as f64 / n.max(1) as f64,
            train.n_set() as f64 / train.n_rows() as f64,
            fit.rmse(&train, &labels),
            fit.rmse(&test, &test_labels),
            fit.iterations
        );
        stages.end(&format!("fit of {n}"));
    }
    if arguments.json {
        let stage = |(name, wall, cpu, peak): &(String, f64, f64, f64)| {
            format!("{{\"stage\":\"{name}\",\"wall_s\":{wall:.2},\"cpu_s\":{cpu:.2},\"peak_gib\":{peak:.3}}}")
        };
        println!("[{}]", stages.done.iter().map(stage).collect::<Vec<_>>().join(","));
    }
}
