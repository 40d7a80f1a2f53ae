//! Fits Buro's pattern tables to millions of positions of Othello and says what that takes:
//! `cargo run --release -p learn --example glem -- [--positions N] [--stages N] [--methods buro,cg,lbfgs,adam,ftrl]
//! [--iterations N] [--ridges N,...] [--seed N] [--threads N] [--games N] [--move-time SECONDS] [--json]`
//!
//! The game is played by itself first at random, then with what was learned from that, and then once more; positions are
//! labelled with the difference of pieces at the end. One match in 20 is held out, without the positions that occur in
//! training, up to symmetry. With `--games N` no methods are compared: Buro's pattern A is added in a sparse table, and an evaluation
//! with it plays N matches against one without, `--move-time SECONDS` a move (0.05). Methods without a ridge end when their error in training is that of Buro's method, if that ran
//! before; those with a ridge when the error of positions held out grows.

#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod large;
mod positions;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Instant;

use features::pattern::table;
use learn::fit::quantize::quantize;
use learn::fit::{self, Design, Fit, Method, Objective, Progress, Ridge, Rows, Rule, Settings, Stage, Staged, Tables};
use positions::{Model, Patterns, Positions};

struct Options {
    rules: String,
    positions: usize,
    stages: usize,
    methods: Vec<String>,
    iterations: usize,
    ridges: Vec<f64>,
    momentum: f64,
    seed: u64,
    threads: usize,
    games: u32,
    move_time: f64,
    json: bool,
}

impl Options {
    fn read() -> Options {
        let mut options = Options {
            rules: concat!(env!("CARGO_MANIFEST_DIR"), "/../../games/othello/rules.kif").into(),
            positions: 11_000_000,
            stages: 13,
            methods: vec!["buro".into(), "cg".into()],
            iterations: 250,
            ridges: vec![0.0, 100.0],
            momentum: 0.0,
            seed: 1,
            threads: 2,
            games: 0,
            move_time: 0.05,
            json: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} has a value"));
            let number = |text: String| text.parse::<f64>().unwrap_or_else(|_| panic!("{text} is a number"));
            match argument.as_str() {
                "--rules" => options.rules = value(),
                "--positions" => options.positions = number(value()) as usize,
                "--stages" => options.stages = number(value()) as usize,
                "--methods" => options.methods = value().split(',').map(String::from).collect(),
                "--iterations" => options.iterations = number(value()) as usize,
                "--ridges" => options.ridges = value().split(',').map(|text| number(text.into())).collect(),
                "--momentum" => options.momentum = number(value()),
                "--seed" => options.seed = number(value()) as u64,
                "--threads" => options.threads = number(value()) as usize,
                "--games" => options.games = number(value()) as u32,
                "--move-time" => options.move_time = number(value()),
                "--json" => options.json = true,
                _ => panic!("{argument} is unknown"),
            }
        }
        options
    }
}

/// Seconds by the clock, and those that all threads have worked.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    cpu: f64,
}

struct Clock(Instant);

impl Clock {
    fn read(&self) -> Time {
        // User and system time, in hundredths of a second, are the 14th and 15th field.
        let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = told.rsplit(") ").next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let cpu = fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0;
        Time { wall: self.0.elapsed().as_secs_f64(), cpu }
    }
}

impl Time {
    fn json(self) -> String {
        format!("{{\"wall\":{:.2},\"cpu\":{:.2}}}", self.wall, self.cpu)
    }
}

impl std::ops::Sub for Time {
    type Output = Time;

    fn sub(self, other: Time) -> Time {
        Time { wall: self.wall - other.wall, cpu: self.cpu - other.cpu }
    }
}

/// The largest memory so far, in MB.
fn peak_memory() -> f64 {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// What was to be fitted, rows in the order of their stages.
struct Table<D = Staged<Tables<u16>>> {
    design: D,
    targets: Vec<f32>,
    weights: Vec<f32>,
    held_out: Vec<bool>,
}

fn main() {
    let options = Options::read();
    let clock = Clock(Instant::now());
    let patterns = Patterns::new(&options.rules).unwrap_or_else(|reason| panic!("{}: {reason}", options.rules));
    let slots: usize = patterns.orbits.iter().map(|orbit| orbit.n_canonical).sum();
    let prepared = clock.read();
    eprintln!(
        "{} instances, {slots} slots, {} weights; prepared in {:.1} s",
        patterns.instances.len(),
        slots * options.stages,
        prepared.wall
    );
    // Step 1. Play, with what was learned from the positions so far.
    let mut positions = Positions::default();
    let mut model = None;
    for (round, part) in [0.05, 0.1, 0.85].into_iter().enumerate() {
        let n = (options.positions as f64 * part) as usize;
        positions.append(patterns.play(model.as_ref(), n, options.seed + round as u64, options.threads));
        if round < 2 {
            let table = table(&patterns, &positions, 4, options.threads);
            let settings = Settings { iterations: 20, ridge: Ridge::Same(10.0), ..least_squares(&options) };
            let fitted = run(&table, &settings, &mut |_| true);
            eprintln!("round {round}: {} positions, {}", positions.len(), errors(&fitted.at));
            model = Some(expand(&patterns, &table, &fitted));
        }
    }
    let played = clock.read() - prepared;
    eprintln!(
        "{} positions of {} matches, played in {:.1} s ({:.1} s of processor time)",
        positions.len(),
        positions.n_matches,
        played.wall,
        played.cpu
    );
    // Step 2. Look up the slots of all positions.
    let start = clock.read();
    let table = table(&patterns, &positions, options.stages, options.threads);
    if options.games > 0 {
        large::compare(&patterns, &positions, table, &options).unwrap_or_else(|reason| panic!("{reason}"));
        return;
    }
    drop(positions);
    let looked_up = clock.read() - start;
    let n_held_out =
        table.held_out.iter().zip(&table.weights).filter(|(held_out, weight)| **held_out && **weight > 0.0);
    let n_held_out = n_held_out.count();
    eprintln!(
        "slots looked up in {:.1} s ({:.1} s); {n_held_out} positions held out; {:.0} MB",
        looked_up.wall,
        looked_up.cpu,
        peak_memory()
    );
    // Step 3. Fit in each way.
    let longest = patterns.instances.len();
    let mut runs = Vec::new();
    for name in &options.methods {
        for &ridge in if name == BURO { &[0.0][..] } else { &options.ridges[..] } {
            runs.push(Run::new(&table, &options, name, ridge, longest, &runs, &clock));
        }
    }
    let report = Report { n_held_out, played, looked_up, runs, peak: peak_memory() };
    if options.json {
        report.tell_json(&table, options.threads);
    } else {
        report.tell_table(&table);
    }
}

/// What came of it all.
struct Report {
    n_held_out: usize,
    played: Time,
    looked_up: Time,
    runs: Vec<Run>,
    /// The largest memory, in MB.
    peak: f64,
}

/// One way of fitting.
struct Run {
    name: String,
    steps: Vec<Step>,
    fit: Fit,
    time: Time,
    /// By which part of itself the loss grows with 16-bit weights.
    rounding: f64,
}

struct Step {
    progress: Progress,
    time: Time,
}

impl Step {
    fn training(&self) -> f64 {
        self.progress.training.sqrt()
    }

    fn held_out(&self) -> f64 {
        self.progress.held_out.unwrap_or(f64::NAN).sqrt()
    }
}

const BURO: &str = "buro";

impl Run {
    fn new(
        table: &Table,
        options: &Options,
        name: &str,
        ridge: f64,
        longest: usize,
        before: &[Run],
        clock: &Clock,
    ) -> Run {
        let (method, iterations) = match name {
            "cg" => (Method::ConjugateGradients, 100),
            "lbfgs" => (Method::Lbfgs { memory: 8 }, 100),
            "adam" => (Method::Online { rule: Rule::Adam, rate: 0.02, batch: 8_192, seed: 1 }, 10),
            "ftrl" => (Method::Online { rule: Rule::Ftrl, rate: 1.0, batch: 8_192, seed: 1 }, 10),
            BURO => (Method::Normalized { rate: None, momentum: options.momentum }, options.iterations),
            _ => panic!("{name} is no method: buro, cg, lbfgs, adam, ftrl"),
        };
        let patience = if ridge > 0.0 { 3 } else { 0 };
        let settings = Settings { method, iterations, patience, ridge: Ridge::Same(ridge), ..least_squares(options) };
        let buro = before.iter().find(|run| run.name == BURO).and_then(|run| run.steps.last());
        let goal = buro.filter(|_| ridge == 0.0).map_or(0.0, |step| step.progress.training);
        let name = if ridge > 0.0 { format!("{name}, ridge {ridge}") } else { name.into() };
        let start = clock.read();
        let mut steps = Vec::new();
        let fit = run(table, &settings, &mut |progress| {
            let time = clock.read() - start;
            if progress.iteration < 10 || progress.iteration % 10 == 0 {
                let Time { wall, cpu } = time;
                eprintln!("{name} {}: {}; {wall:.1} s ({cpu:.1} s)", progress.iteration, errors(progress));
            }
            steps.push(Step { progress: *progress, time });
            progress.training > goal
        });
        let time = clock.read() - start;
        let longest = longest as f64;
        let rounded = quantize(&table.rows(), settings.objective, &fit.weights, longest, options.threads);
        let rounded = rounded.unwrap_or_else(|error| panic!("{error}"));
        assert!(rounded.is_safe(longest), "sums fit into 32 bits");
        let (stop, change) = (fit.stop, 100.0 * rounded.change());
        eprintln!("{name}: {stop}; with 16-bit weights the loss of positions held out changes by {change:.5} %");
        Run { name, steps, fit, time, rounding: rounded.change() }
    }

    /// The least error of positions held out.
    fn best(&self) -> f64 {
        self.steps.iter().map(Step::held_out).fold(f64::INFINITY, f64::min)
    }

    fn json(&self) -> String {
        let step = |step: &Step| {
            let Time { wall, cpu } = step.time;
            format!("[{},{:.5},{:.5},{wall:.2},{cpu:.2}]", step.progress.iteration, step.training(), step.held_out())
        };
        let steps: Vec<String> = self.steps.iter().map(step).collect();
        format!(
            "{{\"method\":\"{}\",\"stop\":\"{}\",\"passes\":{},\"time\":{},\"rounding\":{:.8},\"steps\":[{}]}}",
            self.name,
            self.fit.stop,
            self.fit.passes,
            self.time.json(),
            self.rounding,
            steps.join(",")
        )
    }
}

impl Report {
    fn tell_json(&self, table: &Table, threads: usize) {
        let runs: Vec<String> = self.runs.iter().map(Run::json).collect();
        println!(
            "{{\"positions\":{},\"held_out\":{},\"weights\":{},\"threads\":{threads},\"played\":{},\"looked_up\":{},\
             \"peak_mb\":{:.0},\"runs\":[{}]}}",
            table.targets.len(),
            self.n_held_out,
            table.design.n_columns(),
            self.played.json(),
            self.looked_up.json(),
            self.peak,
            runs.join(",")
        );
    }

    /// Some iterations of each run: the last one, the best one, and the first one as good as the best of Buro's.
    fn tell_table(&self, table: &Table) {
        println!("| method | iteration | error in training | error held out | seconds | processor seconds |");
        println!("|---|---|---|---|---|---|");
        let goal = self.runs.iter().find(|run| run.name == BURO).map_or(0.0, Run::best);
        for run in &self.runs {
            let equal = run.steps.iter().position(|step| step.held_out() <= goal);
            for (at, step) in run.steps.iter().enumerate() {
                let is_shown = [1, 10, 30, 100].contains(&at) && run.name == BURO || at + 1 == run.steps.len();
                if is_shown || Some(at) == equal || step.held_out() == run.best() {
                    let (training, held_out, Time { wall, cpu }) = (step.training(), step.held_out(), step.time);
                    println!("| {} | {at} | {training:.3} | {held_out:.3} | {wall:.1} | {cpu:.1} |", run.name);
                }
            }
        }
        println!(
            "\n{} positions ({} held out), {} weights; played in {:.0} s ({:.0} s of processor time), looked up in {:.0} s \
             ({:.0} s); at most {:.0} MB",
            table.targets.len(),
            self.n_held_out,
            table.design.n_columns(),
            self.played.wall,
            self.played.cpu,
            self.looked_up.wall,
            self.looked_up.cpu,
            self.peak
        );
    }
}

fn least_squares(options: &Options) -> Settings {
    Settings { objective: Objective::LEAST_SQUARES, threads: options.threads, ..Settings::default() }
}

impl<D: Design> Table<D> {
    fn rows(&self) -> Rows<'_, D> {
        Rows { weights: &self.weights, held_out: &self.held_out, ..Rows::new(&self.design, &self.targets) }
    }
}

fn run<D: Design>(table: &Table<D>, settings: &Settings, tell: &mut dyn FnMut(&Progress) -> bool) -> Fit {
    let mut progress =
        |progress: &Progress| if tell(progress) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    fit::fit(table.rows(), settings, &mut progress).unwrap_or_else(|error| panic!("{error}"))
}

fn errors(progress: &Progress) -> String {
    let held_out = progress.held_out.unwrap_or(f64::NAN).sqrt();
    format!("error {:.3} in training, {held_out:.3} held out", progress.training.sqrt())
}

/// The stage of each number of pieces, of 64 at most.
fn stages(n_stages: usize) -> Vec<u16> {
    (0..=64usize).map(|n| (n.saturating_sub(5) * n_stages / 60).min(n_stages - 1) as u16).collect()
}

/// Positions in the order of their stages.
fn order(positions: &Positions, n_stages: usize) -> Vec<u32> {
    let stage_of = stages(n_stages);
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.sort_by_key(|&position| stage_of[usize::from(positions.pieces[position as usize])]);
    order
}

fn table(patterns: &Patterns, positions: &Positions, n_stages: usize, threads: usize) -> Table {
    let stage_of = stages(n_stages);
    let order = order(positions, n_stages);
    let mut tables: Tables<u16> = Tables::new(&patterns.orbits).expect("tables are small");
    tables.fill(order.len(), threads, |rows, give| {
        let mut indices = patterns.indexer.start(&vec![0; positions.words]);
        for &position in &order[rows] {
            patterns.indexer.go(&mut indices, positions.state(position as usize));
            give(patterns.indexer.indices(&indices));
        }
    });
    let held_out: Vec<bool> = order.iter().map(|&at| positions.matches[at as usize].is_multiple_of(20)).collect();
    // The slots of a position and those of its images are the same; so is this sum.
    let key = |row: usize| {
        let mut sum = 0u64;
        tables.visit(row, |slot, _| {
            let mixed = (u64::from(slot) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum = sum.wrapping_add((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9));
        });
        sum
    };
    let mut weights = vec![1.0; order.len()];
    let kept: HashSet<u64> = (0..order.len()).filter(|&row| held_out[row]).map(key).collect();
    let known: HashSet<u64> =
        (0..order.len()).filter(|&row| !held_out[row]).map(key).filter(|key| kept.contains(key)).collect();
    for row in (0..order.len()).filter(|&row| held_out[row]) {
        if known.contains(&key(row)) {
            weights[row] = 0.0;
        }
    }
    let targets = order.iter().map(|&at| f32::from(positions.results[at as usize])).collect();
    let stage = |position: u32| stage_of[usize::from(positions.pieces[position as usize])];
    let rows = order.iter().map(|&position| Stage::at(stage(position))).collect();
    Table { design: Staged::new(tables, n_stages, rows), targets, weights, held_out }
}

fn expand(patterns: &Patterns, table: &Table, fitted: &Fit) -> Model {
    let n_stages = table.design.n_stages;
    let weights: Vec<f32> = fitted.weights.iter().map(|&weight| weight as f32).collect();
    let stage = |own: &[f32]| table::Tables::new(&table.design.design.expand(own), &patterns.instances);
    let tables = weights.chunks(weights.len() / n_stages).map(stage).collect();
    Model { stages: stages(n_stages), tables }
}
