//! The four stages round and round: play, discover, optimise, evaluate.
//!
//! Each stage turns a value into the next one, so that a run can be kept between stages and taken up again.

use features::structural::fuzzy::compile::End;
use features::structural::fuzzy::{Formula, Function, Output};
use search::match_play::on_threads;
use search::statistics::{Interval, wilson};

use super::attribute::{Attributes, Mode};
use super::deduce::{Granularity, Strategy, deduce};
use super::field::{Arena, Brain, Field, Fixture, Opening, TRIAL_OPENING, seed_of};
use super::label::{self, Example, Line};
use super::swarm::{self, Found, Outcome};
use super::{tree, weigh};

mod stored;

/// How weights of terms are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Weights {
    /// Not at all: they stay as they were discovered.
    Uniform,
    /// By a swarm.
    Swarm,
    /// By regression on results, unless the weights as discovered do as well in matches.
    #[default]
    Regression,
    /// By regression, and then by a swarm that begins there.
    Both,
}

/// Whom champions play against, to be learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Opponents {
    /// Chance.
    Chance,
    /// Themselves: matches begin with some moves by chance, and one move in ten is left to chance.
    Themselves,
    /// Both, by turns.
    #[default]
    Both,
}

/// How a run goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// Matches that the first champions play; one number each. In the first cycle chance plays them all against itself; where
    /// there are fewer champions, the last one plays for those that are missing.
    pub lines: Vec<u32>,
    /// Whom they play against.
    pub opponents: Opponents,
    /// Whether the matches of earlier cycles are learned from again, together with the new ones.
    pub remember: bool,
    /// What trees may ask.
    pub mode: Mode,
    /// How trees grow.
    pub tree: tree::Settings,
    /// A leaf has at least the part of all examples that is one of so many, besides what trees ask for; so functions don't grow with
    /// the number of matches, but become surer. With 0 it may be any part.
    pub leaves: usize,
    /// How many trees grow in each phase; each of them holds out another third of the examples.
    pub trees: u32,
    /// Whether each question of a tree gives two terms of its own as well, one for each answer. That is for weights by regression,
    /// which leaves out what says nothing.
    pub questions: bool,
    /// How many phases around its own an example belongs to.
    pub overlap: u32,
    /// How trees are simplified.
    pub strategy: Strategy,
    /// Which paths share a term; what suits the strategy if nothing is said.
    pub granularity: Option<Granularity>,
    /// How weights are found.
    pub weights: Weights,
    /// How regression finds them.
    pub weigh: weigh::Settings,
    /// Matches in which weights from regression have to do better than those that were discovered. With 0, they are taken
    /// whatever they are worth.
    pub guard: u32,
    /// How a swarm finds them.
    pub swarm: swarm::Settings,
    /// How many positions players open for a move, in all matches; nothing if they look one move ahead.
    pub span: Option<u64>,
    /// How many champions are kept.
    pub champions: usize,
    /// Matches from openings by chance in which a newcomer has to do better than a champion to be put before it. With 0 it is one
    /// match from the beginning.
    pub bouts: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            lines: vec![30_000],
            opponents: Opponents::default(),
            remember: true,
            mode: Mode::default(),
            tree: tree::Settings::default(),
            leaves: 2_300,
            trees: 1,
            questions: true,
            overlap: 0,
            strategy: Strategy::DS,
            granularity: None,
            weights: Weights::default(),
            weigh: weigh::Settings::default(),
            guard: 200,
            swarm: swarm::Settings::default(),
            span: None,
            champions: 20,
            bouts: 100,
        }
    }
}

impl Settings {
    /// As Duminy's thesis has it: matches against chance, presence of states, one tree in each phase, and weights by a swarm that
    /// nobody guards.
    pub fn thesis() -> Settings {
        Settings {
            lines: vec![4_500],
            opponents: Opponents::Chance,
            remember: false,
            mode: Mode::Thesis,
            leaves: 0,
            questions: false,
            weights: Weights::Swarm,
            bouts: 0,
            swarm: swarm::Settings { guard: 0, ..swarm::Settings::default() },
            ..Settings::default()
        }
    }

    /// A function as it plays here.
    ///
    /// # Errors
    /// What it says that means nothing.
    pub fn brain(&self, field: &Field, function: &Function) -> Result<Brain, String> {
        Ok(Brain::new(function, &field.vocabulary)?.searching(self.span))
    }
}

/// What the next stage begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Nothing: champions have to play.
    Play,
    /// Examples: a function has to be discovered in them.
    Discover(Vec<Example>),
    /// A function, and the examples that it was discovered in if they are needed: weights have to be found for it.
    Optimise(Function, Vec<Example>),
    /// A function with weights: its place among the champions has to be found.
    Evaluate(Function),
}

/// A run between two stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Cycles that are done.
    pub n_cycles: u32,
    /// What comes next.
    pub stage: Stage,
    /// The champions, best first.
    pub champions: Vec<Function>,
    /// How weights were found in each cycle.
    pub found: Vec<Found>,
    /// The examples of earlier cycles, if they are remembered.
    pub past: Vec<Example>,
}

impl Default for Run {
    fn default() -> Run {
        Run { n_cycles: 0, stage: Stage::Play, champions: Vec::new(), found: Vec::new(), past: Vec::new() }
    }
}

impl Run {
    /// Goes through one stage.
    ///
    /// # Errors
    /// What is wrong with the settings, or with a function that was put into the run.
    pub fn step(&mut self, field: &Field, settings: &Settings) -> Result<(), String> {
        let seed = seed_of(settings.seed, self.n_cycles as usize);
        self.stage = match std::mem::replace(&mut self.stage, Stage::Play) {
            Stage::Play => {
                let champions = self.champions.iter().take(settings.lines.len());
                let champions =
                    champions.map(|champion| settings.brain(field, champion)).collect::<Result<Vec<_>, _>>()?;
                let lines = play(field, &champions, &settings.lines, settings.opponents, seed_of(seed, 1));
                let mut past = std::mem::take(&mut self.past);
                past.drain(..past.len().saturating_sub(REMEMBERED));
                Stage::Discover(label::add(&field.vocabulary, &lines, past))
            }
            Stage::Discover(examples) => {
                let function = discover(field, &examples, settings, seed_of(seed, 2));
                let is_needed = settings.remember || matches!(settings.weights, Weights::Regression | Weights::Both);
                Stage::Optimise(function, if is_needed { examples } else { Vec::new() })
            }
            Stage::Optimise(function, examples) => {
                let (function, found) = optimise(field, function, &examples, settings, seed_of(seed, 3))?;
                self.found.push(found);
                if settings.remember {
                    self.past = examples;
                }
                Stage::Evaluate(function)
            }
            Stage::Evaluate(function) => {
                let newcomer = settings.brain(field, &function)?;
                let champions = self.champions.iter().map(|champion| settings.brain(field, champion));
                let champions = champions.collect::<Result<Vec<_>, _>>()?;
                let beats = |place: usize| {
                    let (n, opening) = if settings.bouts == 0 { (1, 0) } else { (settings.bouts, TRIAL_OPENING) };
                    let pairs = vec![[&newcomer, &champions[place]]; n as usize];
                    let outcomes = field.matches(&pairs, opening, seed_of(seed, 4 + place));
                    outcomes.into_iter().map(Outcome::points).sum::<u32>() > 2 * n
                };
                insert(&mut self.champions, function, settings.champions, beats);
                self.n_cycles += 1;
                Stage::Play
            }
        };
        Ok(())
    }

    /// Goes through stages until a cycle is done.
    ///
    /// # Errors
    /// As [`Run::step`].
    pub fn cycle(&mut self, field: &Field, settings: &Settings) -> Result<(), String> {
        let n_cycles = self.n_cycles;
        while self.n_cycles == n_cycles {
            self.step(field, settings)?;
        }
        Ok(())
    }
}

/// Puts a newcomer before the first champion that it beats, or last. Returns its place.
pub fn insert<T>(champions: &mut Vec<T>, newcomer: T, most: usize, beats: impl FnMut(usize) -> bool) -> usize {
    let place = (0..champions.len()).position(beats).unwrap_or(champions.len());
    champions.insert(place, newcomer);
    champions.truncate(most.max(1));
    place
}

/// How many examples of earlier cycles are remembered: the latest that were seen for the first time.
const REMEMBERED: usize = 1_500_000;

/// The longest opening by chance of matches that champions play against themselves, and the part of moves that they leave to
/// chance.
const OPENING: usize = 12;
const STRAY: f64 = 0.1;

/// Who plays each match of a cycle: champions by their places, in turns as first and second role; or chance alone.
fn fixtures<'a>(champions: &'a [Brain], lines: &[u32], opponents: Opponents, seed: u64) -> Vec<Fixture<'a>> {
    let by = |(place, &n): (usize, &u32)| {
        let champion = champions.get(place.min(champions.len().saturating_sub(1)));
        (0..n).map(move |number| (number, champion))
    };
    let fixture = |(place, (number, champion)): (usize, (u32, Option<&'a Brain>))| {
        let is_itself = match opponents {
            Opponents::Chance => false,
            Opponents::Themselves => true,
            Opponents::Both => number / 2 % 2 == 1,
        };
        let other = if is_itself { champion } else { None };
        let players = if number % 2 == 0 { [champion, other] } else { [other, champion] };
        let plies = if is_itself { (place % (OPENING + 1)) as u32 } else { 0 };
        let opening = Opening { plies, seed: seed_of(seed ^ 0x09e4, place) };
        Fixture { players, seed: seed_of(seed, place), opening, stray: if is_itself { STRAY } else { 0.0 } }
    };
    lines.iter().enumerate().flat_map(by).enumerate().map(fixture).collect()
}

/// Matches that champions play, to be learned from.
fn play(field: &Field, champions: &[Brain], lines: &[u32], opponents: Opponents, seed: u64) -> Vec<Line> {
    field.play(&fixtures(champions, lines, opponents, seed), true)
}

/// The positions of matches that chance plays against itself.
pub fn by_chance(field: &Field, lines: &[u32], seed: u64) -> Vec<Example> {
    label::add(&field.vocabulary, &play(field, &[], lines, Opponents::Chance, seed), Vec::new())
}

/// The function that trees find in examples; all weights are as the terms come.
pub fn discover(field: &Field, examples: &[Example], settings: &Settings, seed: u64) -> Function {
    let attributes = Attributes::new(&field.vocabulary, settings.mode);
    let granularity = settings.granularity.unwrap_or_else(|| settings.strategy.granularity());
    let n_phases = examples.iter().map(|example| example.phase + 1).max().unwrap_or(0);
    let part = examples.len().checked_div(settings.leaves).unwrap_or(0) as u32;
    let least = settings.tree.least.max(part);
    let phases = label::by_phase(examples, n_phases, settings.overlap);
    let of_phase = |(): &mut (), number: u32| {
        let (phase, places) = &phases[number as usize];
        let examples: Vec<&Example> = places.iter().map(|&place| &examples[place]).collect();
        let table = attributes.table(&field.vocabulary, &examples);
        let literal = |attribute: usize, holds: bool| attributes.literal(attribute, holds);
        let mut terms: Vec<(f64, Formula)> = Vec::new();
        for number in 0..settings.trees.max(1) {
            let seed = seed_of(seed_of(seed, *phase as usize), number as usize);
            let tree = tree::grow(&table, &tree::Settings { seed, least });
            let mut new = deduce(&tree, settings.strategy, granularity, &literal);
            if settings.questions {
                let asked = tree.nodes.iter().filter_map(|node| node.split);
                new.extend(asked.flat_map(|split| [true, false].map(|holds| (1.0, literal(split.attribute, holds)))));
            }
            for (weight, formula) in new {
                if terms.iter().all(|(_, other)| *other != formula) {
                    terms.push((weight, formula));
                }
            }
        }
        Some((*phase, terms))
    };
    let mut found = on_threads(0..phases.len() as u32, field.threads, || (), of_phase);
    found.retain(|(_, terms)| !terms.is_empty());
    Function { game: "discovered".to_owned(), output: Output::Share, phases: found }
}

/// Finds weights of a function's terms.
///
/// # Errors
/// What is wrong with the settings, or with the function.
pub fn optimise(
    field: &Field,
    function: Function,
    examples: &[Example],
    settings: &Settings,
    seed: u64,
) -> Result<(Function, Found), String> {
    match settings.weights {
        Weights::Uniform => {
            let found = as_found(&function, true, 0, 0);
            Ok((function, found))
        }
        Weights::Swarm => by_swarm(field, function, None, settings, seed),
        Weights::Regression => by_regression(field, function, examples, settings, seed),
        Weights::Both => {
            // A swarm moves in a space in which only shares count.
            let weigh = weigh::Settings { output: Output::Share, ..settings.weigh.clone() };
            let settings = Settings { weigh, ..settings.clone() };
            let (function, first) = by_regression(field, function, examples, &settings, seed)?;
            let [least, most] = settings.swarm.range;
            let largest = first.weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let start = first.weights.iter().map(|weight| (weight / largest * most).max(least)).collect();
            let (function, found) = by_swarm(field, function, Some(start), &settings, seed_of(seed, 1))?;
            Ok((function, Found { n_matches: first.n_matches + found.n_matches, ..found }))
        }
    }
}

fn as_found(function: &Function, is_start: bool, points: u32, n_guard: u32) -> Found {
    let weights = function.phases.iter().flat_map(|(_, terms)| terms).map(|(weight, _)| *weight).collect();
    Found { weights, is_start, points, n_guard, n_matches: u64::from(n_guard), n_epochs: 0, n_replaced: 0 }
}

fn by_regression(
    field: &Field,
    function: Function,
    examples: &[Example],
    settings: &Settings,
    seed: u64,
) -> Result<(Function, Found), String> {
    let weighed = weigh::weigh(field, &function, examples, &settings.weigh)?;
    let (one, other) = (settings.brain(field, &weighed)?, settings.brain(field, &function)?);
    let guard = vec![[&one, &other]; settings.guard as usize];
    let points: u32 = field.matches(&guard, TRIAL_OPENING, seed).into_iter().map(Outcome::points).sum();
    let is_start = settings.guard > 0 && points <= 2 * settings.guard;
    let function = if is_start { function } else { weighed };
    let found = as_found(&function, is_start, points, settings.guard);
    Ok((function, found))
}

fn by_swarm(
    field: &Field,
    mut function: Function,
    start: Option<Vec<f64>>,
    settings: &Settings,
    seed: u64,
) -> Result<(Function, Found), String> {
    let brain = settings.brain(field, &function)?;
    let mut arena = Arena { field, brain: &brain, seed };
    let swarm = swarm::Settings { seed, start, ..settings.swarm.clone() };
    let found = swarm::search(brain.n_terms(), &swarm, &mut arena)?;
    let terms = function.phases.iter_mut().flat_map(|(_, terms)| terms);
    terms.zip(&found.weights).for_each(|((weight, _), found)| *weight = *found);
    Ok((function, found))
}

/// How a player did against chance, half of the matches in each role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Measure {
    pub won: u64,
    pub drawn: u64,
    pub lost: u64,
}

impl Measure {
    /// Matches.
    pub fn n(&self) -> u64 {
        self.won + self.drawn + self.lost
    }

    /// The F-measure (Franken and Engelbrecht): 100 for wins alone, 50 for draws or as many losses, 0 for losses alone.
    pub fn value(&self) -> f64 {
        let n = self.n().max(1) as f64;
        100.0 * (n + self.won as f64 - self.lost as f64) / (2.0 * n)
    }

    /// The same with an interval of 95 %.
    pub fn interval(&self) -> Interval {
        let interval = wilson(self.won as f64 + self.drawn as f64 / 2.0, self.n());
        Interval { mean: 100.0 * interval.mean, low: 100.0 * interval.low, high: 100.0 * interval.high }
    }
}

/// Measures a player in at least `n` matches against chance.
pub fn measure(field: &Field, brain: &Brain, n: u32, seed: u64) -> Measure {
    let champions = std::slice::from_ref(brain);
    let fixtures = fixtures(champions, &[n.next_multiple_of(2)], Opponents::Chance, seed);
    let lines = field.play(&fixtures, false);
    let mut measure = Measure::default();
    for (number, line) in lines.iter().enumerate() {
        *match line.ends[number % 2] {
            End::Won => &mut measure.won,
            End::Drawn => &mut measure.drawn,
            End::Lost => &mut measure.lost,
        } += 1;
    }
    measure
}

#[cfg(test)]
mod tests;
