//! Patterns at scale, after Kaneko, Yamaguchi and Kawai: labelled positions late in a game that is decided by counting
//! markers, millions of candidate patterns from the rules, selection by frequency and by covariance, the joint fit, and
//! matching while the game goes on. Prints what each stage gives and takes.
//!
//! ```text
//! cargo run --release -p features --example patterns -- games/othello/rules.kif --markers 60 --json
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod contest;
mod matching;

use std::time::Instant;

use contest::{Contest, Labelled};
use features::pattern::frequency::{self, Incidence, Positions};

use features::pattern::set::Patterns;
use features::pattern::symmetric::{self, Image, Orbit};
use features::pattern::unfold::{self, Unfolder};
use features::pattern::{forward, refit, seeds};
use insight::symmetry::Action;

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
    /// How many patterns are selected and fitted.
    sizes: Vec<usize>,
    threads: usize,
    seed: u64,
    /// Where labelled positions are kept.
    stored: Option<String>,
    /// With how many patterns matching is measured.
    matched: usize,
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
        sizes: vec![4_000, 8_000, 16_000, 32_000, 64_000, 126_000],
        threads: 2,
        seed: 1,
        stored: None,
        matched: 100_000,
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
            "--sizes" => arguments.sizes = value().split(',').map(|text| number(text.to_owned())).collect(),
            "--threads" => arguments.threads = number(value()),
            "--seed" => arguments.seed = number(value()) as u64,
            "--stored" => arguments.stored = Some(value()),
            "--matched" => arguments.matched = number(value()),
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
pub(crate) fn cpu_seconds() -> f64 {
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
    let all = seeds::join(&unfolder, &mut patterns, 0..n_whole, n_whole, &budget);
    say(&patterns, "with joins of conditions", all);
    let from = patterns.len();
    let all = seeds::regress(&mut unfolder, &mut patterns, n_whole, &budget);
    say(&patterns, "with regressions", all);
    let to = patterns.len();
    let all = seeds::join(&unfolder, &mut patterns, from..to, n_whole, &budget);
    say(&patterns, "with joins of both", all);
    stages.end("candidates");
    patterns
}

/// What is selected from: columns of a matrix, each an orbit of patterns.
struct Candidates {
    orbits: Vec<Orbit>,
    /// In which share of the positions a member of each orbit matches.
    frequencies: Vec<f64>,
    rows: Incidence,
}

impl Candidates {
    fn n_patterns(&self, chosen: &[u32]) -> usize {
        chosen.iter().map(|&column| self.orbits[column as usize].len()).sum()
    }
}

fn main() {
    let arguments = arguments();
    let threads = arguments.threads;
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
    let n_fluents = contest.game.circuit.network.fluents.len();
    let states = contest.images(train);
    let labels: Vec<f64> = train.iter().map(|(_, label)| f64::from(*label)).collect();
    let spread = (labels.iter().map(|label| label * label).sum::<f64>() / labels.len() as f64).sqrt();
    eprintln!("{} training positions, {} for tests before symmetry", states.len(), test.len());
    eprintln!("labels spread {spread:.2}");
    let columns = Positions::new(n_fluents, states.iter().map(|state| &state[..]));
    drop(states);
    stages.end("expansion");
    // Step 2. Candidates.
    let patterns = candidates(&contest, &arguments, &mut stages);
    let n_candidates = patterns.len();
    let image = |(action, swaps): &(Action, bool)| Image::new(action, n_fluents, *swaps);
    let group: Vec<Image> = contest.actions.iter().map(image).collect();
    // Step 3. Selection, of orbits of patterns: how often they match is counted on all images of the positions, and from there on
    // one image of each position says as much as all.
    let patterns = symmetric::representatives(&patterns, &group);
    let frequent = frequency::select(&patterns, &columns, &frequency::USUAL, threads);
    let n = columns.len() as f64;
    let (mut orbits, mut frequencies) = (Vec::new(), Vec::new());
    for (&pattern, &support) in frequent.patterns.iter().zip(&frequent.supports) {
        let members = symmetric::orbit(patterns.get(pattern), &group);
        if !members.is_empty() {
            orbits.push(members);
            frequencies.push(f64::from(support) / n);
        }
    }
    drop(patterns);
    let n_frequent: usize = orbits.iter().map(Vec::len).sum();
    eprintln!("{n_frequent} of {n_candidates} candidates in {} columns have the right frequency", orbits.len());
    stages.end("frequency selection");
    let columns = Positions::new(n_fluents, train.iter().map(|(state, _)| &state[..]));
    let rows = symmetric::incidence(&orbits, &columns, threads);
    let active: f64 = orbits.iter().zip(&frequencies).map(|(orbit, frequency)| orbit.len() as f64 * frequency).sum();
    eprintln!("{active:.1} of them match in a position; {} entries", rows.n_set());
    stages.end("incidence");
    let candidates = Candidates { orbits, frequencies, rows };
    let column = |candidate: u32, into: &mut Vec<(u32, i8)>| {
        symmetric::entries(&candidates.orbits[candidate as usize], &columns, into);
    };
    // The covariance of an orbit is that of each member times their number.
    let scale: Vec<f64> = candidates.orbits.iter().map(|orbit| 1.0 / orbit.len() as f64).collect();
    let settings = forward::Settings {
        threshold: 0.0,
        // Nearly every orbit is as large as the group.
        limit: arguments.sizes.iter().copied().max().unwrap_or(0) / group.len().max(1) * 21 / 20,
        scale: Some(&scale),
        centered: group.iter().all(|image| image.sign > 0),
        threads,
    };
    let picks = forward::pursue(&candidates.rows, column, &labels, &settings);
    let all: Vec<u32> = picks.iter().map(|pick| pick.candidate).collect();
    eprintln!("{} patterns in {} picks", candidates.n_patterns(&all), picks.len());
    stages.end("forward selection");
    // Step 4. Fits.
    let test_columns = Positions::new(n_fluents, test.iter().map(|(state, _)| &state[..]));
    let test_labels: Vec<f64> = test.iter().map(|(_, label)| f64::from(*label)).collect();
    println!("| priority | patterns | mean length | active/position | train RMSE | test RMSE | passes |");
    println!("|---|---|---|---|---|---|---|");
    let mut best: Option<(usize, Patterns, Vec<f64>)> = None;
    for &size in &arguments.sizes {
        let (mut n, mut n_patterns) = (0, 0);
        while n < picks.len() && n_patterns < size {
            n_patterns += candidates.n_patterns(&all[n..n + 1]);
            n += 1;
        }
        let priority = picks[..n].last().map_or(0.0, |pick| pick.priority);
        let kept = &all[..n];
        let train = candidates.rows.keep(kept);
        let chosen: Vec<_> = kept.iter().map(|&column| candidates.orbits[column as usize].clone()).collect();
        let test = symmetric::incidence(&chosen, &test_columns, threads);
        let settings =
            refit::Settings { threads, iterations: 60, intercept: settings.centered, ..refit::Settings::default() };
        let fit = refit::ridge(&train, &labels, &settings);
        let length: usize = chosen.iter().map(|orbit| orbit.len() * orbit[0].0.len()).sum();
        let active: f64 = kept
            .iter()
            .map(|&column| candidates.frequencies[column as usize] * candidates.orbits[column as usize].len() as f64)
            .sum();
        println!(
            "| {priority:.2e} | {n_patterns} | {:.2} | {active:.1} | {:.2} | {:.2} | {} |",
            length as f64 / n_patterns.max(1) as f64,
            fit.rmse(&train, &labels),
            fit.rmse(&test, &test_labels),
            fit.iterations
        );
        stages.end(&format!("fit of {n_patterns}"));
        // The smallest set of enough patterns is the one to match with.
        let enough = |n: usize| n >= arguments.matched;
        if best.as_ref().is_none_or(|(n, ..)| !enough(*n)) {
            let members = || chosen.iter().zip(&fit.weights);
            let weights =
                members().flat_map(|(orbit, weight)| orbit.iter().map(move |(_, sign)| f64::from(*sign) * weight));
            let weights = weights.collect();
            best = Some((n_patterns, chosen.iter().flatten().map(|(pattern, _)| pattern).collect(), weights));
        }
    }
    // Step 5. Matching while the game goes on.
    drop(candidates);
    if let Some((_, patterns, weights)) = best.filter(|_| arguments.matched > 0) {
        let limited: Patterns = patterns.iter().take(arguments.matched).collect();
        matching::measure(&contest, &limited, &weights[..limited.len()], arguments.seed, threads);
        stages.end("matching");
    }
    if arguments.json {
        let stage = |(name, wall, cpu, peak): &(String, f64, f64, f64)| {
            format!("{{\"stage\":\"{name}\",\"wall_s\":{wall:.2},\"cpu_s\":{cpu:.2},\"peak_gib\":{peak:.3}}}")
        };
        println!("[{}]", stages.done.iter().map(stage).collect::<Vec<_>>().join(","));
    }
}
