//! Compares best-first and alpha-beta search by the same evaluation, as Duminy (2006) did, and like for like. See `--help`.

#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod contest;

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use contest::{Agent, Effort, Fixture, Ground, Method, Played};
use features::game::Game;
use learn::discover::field::{self, Field, seed_of};
use search::principal::Tie;

const HELP: &str = "\
Compares searches that judge Checkers by the same evaluation function.

    cargo run --release -p learn --example duel -- EXPERIMENT [OPTIONS]

Experiments of Duminy's thesis:
  levels   alpha-beta 1, 2 and 3 moves deep against random play: what it does for a move
  spans    best-first search with spans from 2 to 70 against alpha-beta 3 deep: one match of two games each
  ties     BFSS and BFDS against random play, by span and function: matches of ten games, points of 20
Like for like:
  equal    best-first searches against alpha-beta at as many evaluations, from openings by chance
  rivals   BFSS against BFDS at as many states, from openings by chance
  match ONE OTHER   any two players

A player is written METHOD:SPAN:FUNCTION, or METHOD@STATES:FUNCTION for a number of states met instead of states opened, or
`random`. Methods: alpha-beta (its span is a depth), bfss and bfds (best-first minimax; of equal leaves the nearest or the
farthest is opened), rbfms (in little memory). Functions: a (good knowledge: 13 terms with weights), b (the same without
weights), count (pieces), none.

Options (each experiment uses those that make sense there):
  --matches N      matches for each figure (100)
  --spans N,...    spans or numbers of states (ties: 2,5,8,10,15,20,22,25; rivals: 60,120)
  --depths N,...   depths of alpha-beta (levels: 1,2,3; equal: 2,3)
  --functions F,.. functions (ties, rivals: a,b; levels, spans, equal: a)
  --against F      alpha-beta's function, if it is another one (equal)
  --load NAME=FILE a further function, as `senet learn checkers --method discover --out FILE` writes it
  --opening N      moves by chance at first, the same in both games of a pair (equal, rivals: 6)
  --seed N         all chance (1)
  --threads N      threads; they change no result (1)
  --json           one JSON object for each contest instead of tables

Examples:
  duel ties --functions b --spans 10 --matches 1000 --threads 2
  duel match bfss:20:a alpha-beta:3:a --opening 6 --matches 200
";

struct Options {
    words: Vec<String>,
    named: Vec<(String, String)>,
    json: bool,
}

impl Options {
    fn read() -> Result<Options, String> {
        const NAMES: [&str; 9] = [
            "--matches",
            "--spans",
            "--depths",
            "--functions",
            "--opening",
            "--seed",
            "--threads",
            "--against",
            "--load",
        ];
        let mut options = Options { words: Vec::new(), named: Vec::new(), json: false };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => options.json = true,
                "--help" | "-h" => {
                    print!("{HELP}");
                    std::process::exit(0);
                }
                name if NAMES.contains(&name) => {
                    let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
                    options.named.push((argument, value));
                }
                name if name.starts_with('-') => return Err(format!("there is no option `{name}`; see --help")),
                _ => options.words.push(argument),
            }
        }
        Ok(options)
    }

    fn text<'a>(&'a self, wanted: &str, default: &'a str) -> &'a str {
        self.named.iter().rev().find(|(name, _)| name == wanted).map_or(default, |(_, value)| value)
    }

    fn numbers(&self, wanted: &str, default: &str) -> Result<Vec<u64>, String> {
        let number = |part: &str| part.parse().map_err(|_| format!("`{wanted}`: `{part}` is no number"));
        self.text(wanted, default).split(',').map(number).collect()
    }

    fn number(&self, wanted: &str, default: &str) -> Result<u64, String> {
        Ok(self.numbers(wanted, default)?[0])
    }

    fn functions<'a>(&'a self, default: &'a str) -> Vec<&'a str> {
        self.text("--functions", default).split(',').collect()
    }
}

fn main() {
    if let Err(problem) = run() {
        eprintln!("{problem}");
        std::process::exit(2);
    }
}

fn run() -> Result<(), String> {
    let options = Options::read()?;
    let Some(experiment) = options.words.first() else { return Err(HELP.to_owned()) };
    if !["levels", "spans", "ties", "equal", "rivals", "match"].contains(&experiment.as_str()) {
        return Err(format!("there is no experiment `{experiment}`; see --help"));
    }
    let path = format!("{}/../../games/checkers/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).map_err(|problem| format!("{path}: {problem}"))?;
    let game = Arc::new(Game::new(gdl::read("checkers", &text).program, 1)?);
    let threads = options.number("--threads", "1")? as usize;
    let field = Field::new(game, &field::Settings { threads, ..field::Settings::default() })?;
    let seed = options.number("--seed", "1")?;
    let loaded = options.named.iter().filter(|(name, _)| name == "--load");
    let files = loaded.map(|(_, value)| value.split_once('=').ok_or("`--load` needs NAME=FILE"));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let stage = Stage { ground: Ground::new(field, threads, &files)?, seed, json: options.json };
    match experiment.as_str() {
        "levels" => levels(&stage, &options),
        "spans" => spans(&stage, &options),
        "ties" => ties(&stage, &options),
        "equal" => equal(&stage, &options),
        "rivals" => rivals(&stage, &options),
        _ => {
            let [_, one, other] = &options.words[..] else { return Err("which two players?".to_owned()) };
            let (opening, matches) = (options.number("--opening", "0")?, options.number("--matches", "100")?);
            let contest = Contest { agents: [one.parse()?, other.parse()?], games: 2, matches, opening };
            let found = stage.contest(&contest)?;
            stage.print(|| println!("{}", found.line()));
            Ok(())
        }
    }
}

/// Where experiments are made.
struct Stage {
    ground: Ground,
    seed: u64,
    json: bool,
}

/// So many matches of so many games each; sides change after each game.
struct Contest {
    agents: [Agent; 2],
    games: u64,
    matches: u64,
    /// Moves by chance that each two games begin with.
    opening: u64,
}

/// What came out.
struct Found {
    contest: Contest,
    played: Vec<Played>,
    /// The first side's points in each match.
    points: Vec<f64>,
    seconds: f64,
}

/// A mean, its standard error, and what it is the mean of.
#[derive(Clone, Copy)]
struct Mean {
    mean: f64,
    variance: f64,
    error: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Mean {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Mean { mean, variance, error: (variance / n).sqrt() }
    }

    /// Half of the interval of 95 %.
    fn half(&self) -> f64 {
        1.96 * self.error
    }
}

impl Found {
    /// What a side did for a move that it had a choice in: states visited, judged, opened.
    fn work(&self, side: usize) -> [f64; 3] {
        let sum = |part: &dyn Fn(&Played) -> u64| self.played.iter().map(part).sum::<u64>() as f64;
        let n = sum(&|game| game.work[side].n_searches).max(1.0);
        let all = [
            sum(&|game| game.work[side].nodes),
            sum(&|game| game.work[side].judged),
            sum(&|game| game.work[side].opened),
        ];
        all.map(|sum| sum / n)
    }

    /// Games that the first side lost, drew and won.
    fn games(&self) -> [usize; 3] {
        [0, 1, 2].map(|points| self.played.iter().filter(|game| game.points == points).count())
    }

    fn line(&self) -> String {
        let (points, most) = (Mean::of(&self.points), 2.0 * self.contest.games as f64);
        let [one, other] = &self.contest.agents;
        let [lost, drawn, won] = self.games();
        format!(
            "{:>16} - {:16} {:6.2} ± {:.2} of {most:.0} ({:.1} % ± {:.1}) in {} matches; +{won} ={drawn} -{lost}; judged for a \
             move: {:.1}, {:.1}",
            one.to_string(),
            other.to_string(),
            points.mean,
            points.half(),
            100.0 * points.mean / most,
            100.0 * points.half() / most,
            self.points.len(),
            self.work(0)[1],
            self.work(1)[1]
        )
    }

    fn json(&self) -> String {
        let points = Mean::of(&self.points);
        let [one, other] = &self.contest.agents;
        let work = |side: usize| {
            let [nodes, judged, opened] = self.work(side);
            format!("{{\"visited\":{nodes:.3},\"judged\":{judged:.3},\"opened\":{opened:.3}}}")
        };
        let [lost, drawn, won] = self.games();
        format!(
            "{{\"one\":\"{one}\",\"other\":\"{other}\",\"opening\":{},\"matches\":{},\"games\":{},\"points\":{:.4},\
             \"of\":{},\"half\":{:.4},\"variance\":{:.4},\"won\":{won},\"drawn\":{drawn},\"lost\":{lost},\
             \"per_move\":[{},{}],\"processor_seconds\":{:.1}}}",
            self.contest.opening,
            self.points.len(),
            self.contest.games,
            points.mean,
            2 * self.contest.games,
            points.half(),
            points.variance,
            work(0),
            work(1),
            self.seconds
        )
    }
}

impl Stage {
    fn print(&self, table: impl FnOnce()) {
        if !self.json {
            table();
        }
    }

    /// Plays a contest, says how far it is, and prints it where JSON is wanted.
    fn contest(&self, contest: &Contest) -> Result<Found, String> {
        let found = self.quietly(contest)?;
        if self.json {
            println!("{}", found.json());
        }
        Ok(found)
    }

    fn quietly(&self, contest: &Contest) -> Result<Found, String> {
        let [one, other] = &contest.agents;
        let n = contest.games * contest.matches;
        let fixture = |number: u64| Fixture {
            agents: contest.agents.clone(),
            first: (number % 2) as usize,
            opening: (contest.opening as u32, seed_of(self.seed, number as usize / 2)),
            seed: seed_of(self.seed ^ 0x5eed, number as usize),
        };
        let fixtures: Vec<Fixture> = (0..n).map(fixture).collect();
        let begin = (Instant::now(), on_processors());
        let told = Mutex::new(Instant::now());
        let tell = |n_over: usize| {
            let mut told = told.lock().expect("nobody panics");
            if told.elapsed() > Duration::from_secs(5) {
                *told = Instant::now();
                eprintln!("{one} - {other}: {n_over} of {n} games");
            }
        };
        let played = self.ground.play(&fixtures, tell)?;
        let seconds = match begin.1.zip(on_processors()) {
            Some((before, after)) => after - before,
            None => begin.0.elapsed().as_secs_f64(),
        };
        let points = played
            .chunks(contest.games as usize)
            .map(|games| games.iter().map(|game| f64::from(game.points)).sum())
            .collect();
        let contest = Contest { agents: contest.agents.clone(), ..*contest };
        Ok(Found { contest, played, points, seconds })
    }
}

/// Seconds that all threads of this process have been on processors, where Linux tells it.
fn on_processors() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn levels(stage: &Stage, options: &Options) -> Result<(), String> {
    let matches = options.number("--matches", "100")?;
    for function in options.functions("a") {
        stage.print(|| {
            println!("States visited for a move with a choice, against random play; means of matches of 10 games");
            println!("depth  visited (95 %)  variance    min    max  judged  opened  points of 20");
        });
        for depth in options.numbers("--depths", "1,2,3")? {
            let agents = [Agent::new(Method::AlphaBeta, Effort::Span(depth), function), Agent::chance()];
            let found = stage.contest(&Contest { agents, games: 10, matches, opening: 0 })?;
            let visited = |games: &[Played]| {
                let sum = |part: &dyn Fn(&Played) -> u64| games.iter().map(part).sum::<u64>() as f64;
                sum(&|game| game.work[0].nodes) / sum(&|game| game.work[0].n_searches).max(1.0)
            };
            let means: Vec<f64> = found.played.chunks(10).map(visited).collect();
            let (mean, points) = (Mean::of(&means), Mean::of(&found.points));
            let (least, most) = (means.iter().copied().reduce(f64::min), means.iter().copied().reduce(f64::max));
            let [_, judged, opened] = found.work(0);
            stage.print(|| {
                println!(
                    "{depth:5}  {:7.2} ± {:5.2} {:9.3} {:6.2} {:6.2} {judged:7.1} {opened:7.1}  {:.2} ± {:.2}",
                    mean.mean,
                    mean.half(),
                    mean.variance,
                    least.unwrap_or(0.0),
                    most.unwrap_or(0.0),
                    points.mean,
                    points.half()
                );
            });
        }
    }
    Ok(())
}

const TIES: [Tie; 2] = [Tie::Shallow, Tie::Deep];

fn spans(stage: &Stage, options: &Options) -> Result<(), String> {
    let bands = [(2, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60), (61, 70)];
    let matches = options.number("--matches", "1")?;
    let opening = options.number("--opening", "0")?;
    for function in options.functions("a") {
        for tie in TIES {
            let (mut total, mut row) = (0.0, String::new());
            for (first, last) in bands {
                let (mut points, mut judged) = (Vec::new(), 0.0);
                for span in first..=last {
                    let agents = [
                        Agent::new(Method::Best(tie), Effort::Span(span), function),
                        Agent::new(Method::AlphaBeta, Effort::Span(3), function),
                    ];
                    let found = stage.contest(&Contest { agents, games: 2, matches, opening })?;
                    judged += found.work(0)[1] / found.work(1)[1] / (last - first + 1) as f64;
                    points.push(Mean::of(&found.points).mean);
                }
                total += points.iter().sum::<f64>();
                let mean = Mean::of(&points);
                row += &format!("  {first}-{last}: {:.2} ± {:.2} (x {judged:.1})", mean.mean, mean.half());
            }
            stage.print(|| {
                println!("{tie:?} {function}: points of 4 (x evaluations)\n{row}\n  total {total:.1} of 276")
            });
        }
    }
    Ok(())
}

fn ties(stage: &Stage, options: &Options) -> Result<(), String> {
    let matches = options.number("--matches", "100")?;
    stage.print(|| println!("function span      BFSS          BFDS        BFSS-BFDS (99 %)    judged for a move"));
    for function in options.functions("a,b") {
        for span in options.numbers("--spans", "2,5,8,10,15,20,22,25")? {
            let agents = |tie| [Agent::new(Method::Best(tie), Effort::Span(span), function), Agent::chance()];
            let contest = |tie| stage.contest(&Contest { agents: agents(tie), games: 10, matches, opening: 0 });
            let (shallow, deep) = (contest(Tie::Shallow)?, contest(Tie::Deep)?);
            let (one, other) = (Mean::of(&shallow.points), Mean::of(&deep.points));
            let (gap, error) = (one.mean - other.mean, one.error.hypot(other.error));
            stage.print(|| {
                println!(
                    "{function:8} {span:4} {:6.2} ± {:.2} {:6.2} ± {:.2} {gap:+6.2} [{:+.2}, {:+.2}] {:6.1} {:6.1}",
                    one.mean,
                    one.half(),
                    other.mean,
                    other.half(),
                    gap - 2.576 * error,
                    gap + 2.576 * error,
                    shallow.work(0)[1],
                    deep.work(0)[1]
                );
            });
        }
    }
    Ok(())
}

fn equal(stage: &Stage, options: &Options) -> Result<(), String> {
    let (matches, opening) = (options.number("--matches", "100")?, options.number("--opening", "6")?);
    for function in options.functions("a") {
        for depth in options.numbers("--depths", "2,3")? {
            for method in [Method::Best(Tie::Shallow), Method::Best(Tie::Deep), Method::Recursive] {
                let contest = |states: u64, matches: u64| Contest {
                    agents: [
                        Agent::new(method, Effort::States(states), function),
                        Agent::new(Method::AlphaBeta, Effort::Span(depth), options.text("--against", function)),
                    ],
                    games: 2,
                    matches,
                    opening,
                };
                // How many states it may meet so that both judge as many for a move.
                let mut states = 10u64.pow(depth.min(4) as u32) / 5 + 5;
                for _ in 0..4 {
                    let trial = stage.quietly(&contest(states, 40))?;
                    let factor = trial.work(1)[1] / trial.work(0)[1];
                    states = ((states as f64 * factor).round() as u64).max(2);
                }
                let found = stage.contest(&contest(states, matches))?;
                stage.print(|| println!("{}", found.line()));
            }
        }
    }
    Ok(())
}

fn rivals(stage: &Stage, options: &Options) -> Result<(), String> {
    let (matches, opening) = (options.number("--matches", "100")?, options.number("--opening", "6")?);
    for function in options.functions("a,b") {
        for states in options.numbers("--spans", "60,120")? {
            let agents = TIES.map(|tie| Agent::new(Method::Best(tie), Effort::States(states), function));
            let found = stage.contest(&Contest { agents, games: 2, matches, opening })?;
            stage.print(|| println!("{}", found.line()));
        }
    }
    Ok(())
}
