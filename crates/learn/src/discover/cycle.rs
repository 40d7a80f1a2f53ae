//! The four stages round and round: play, discover, optimise, evaluate.
//!
//! Each stage turns a value into the next one, so that a run can be kept between stages and taken up again.

use features::structural::fuzzy::Function;
use features::structural::fuzzy::compile::End;
use search::statistics::{Interval, wilson};

use super::attribute::{Attributes, Mode};
use super::deduce::{Granularity, Strategy, deduce};
use super::field::{Arena, Brain, Field, Fixture, seed_of};
use super::label::{self, Example};
use super::{swarm, tree};

/// How a run goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// Matches that the first champions play against chance; one number each. In the first cycle chance plays them all
    /// against itself; where there are fewer champions, the last one plays for those that are missing.
    pub lines: Vec<u32>,
    /// What trees may ask.
    pub mode: Mode,
    /// How trees grow.
    pub tree: tree::Settings,
    /// How many phases around its own an example belongs to.
    pub overlap: u32,
    /// How trees are simplified.
    pub strategy: Strategy,
    /// Which paths share a term; what suits the strategy if nothing is said.
    pub granularity: Option<Granularity>,
    /// How weights are looked for.
    pub swarm: swarm::Settings,
    /// How many champions are kept.
    pub champions: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            lines: vec![4_500],
            mode: Mode::default(),
            tree: tree::Settings::default(),
            overlap: 0,
            strategy: Strategy::DS,
            granularity: None,
            swarm: swarm::Settings::default(),
            champions: 20,
        }
    }
}

/// What the next stage begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Nothing: champions have to play.
    Play,
    /// Examples: a function has to be discovered in them.
    Discover(Vec<Example>),
    /// A function: weights have to be found for it.
    Optimise(Function),
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
    /// What the swarm found in each cycle.
    pub found: Vec<swarm::Found>,
}

impl Default for Run {
    fn default() -> Run {
        Run { n_cycles: 0, stage: Stage::Play, champions: Vec::new(), found: Vec::new() }
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
            Stage::Play => Stage::Discover(play(field, &self.champions, &settings.lines, seed_of(seed, 1))?),
            Stage::Discover(examples) => Stage::Optimise(discover(field, &examples, settings, seed_of(seed, 2))),
            Stage::Optimise(function) => {
                let (function, found) = optimise(field, function, &settings.swarm, seed_of(seed, 3))?;
                self.found.push(found);
                Stage::Evaluate(function)
            }
            Stage::Evaluate(function) => {
                let brain = |function: &Function| Brain::new(function, &field.vocabulary);
                let newcomer = brain(&function)?;
                let champions = self.champions.iter().map(brain).collect::<Result<Vec<_>, _>>()?;
                let beats = |place: usize| {
                    let outcome = field.matches(&[[&newcomer, &champions[place]]], seed_of(seed, 4 + place));
                    outcome[0].points() > 2
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

/// Who plays each match of a cycle: champions by their places, in turns as first and second role, against chance; or
/// chance alone.
fn fixtures<'a>(champions: &'a [Brain], lines: &[u32], seed: u64) -> Vec<Fixture<'a>> {
    let by = |(place, &n): (usize, &u32)| {
        let champion = champions.get(place.min(champions.len().saturating_sub(1)));
        (0..n).map(move |number| if number % 2 == 0 { [champion, None] } else { [None, champion] }).collect::<Vec<_>>()
    };
    let players = lines.iter().enumerate().flat_map(by);
    players.enumerate().map(|(number, players)| Fixture { players, seed: seed_of(seed, number) }).collect()
}

/// The positions of matches by champions against chance.
///
/// # Errors
/// What a champion says that means nothing.
pub fn play(field: &Field, champions: &[Function], lines: &[u32], seed: u64) -> Result<Vec<Example>, String> {
    let brains = champions.iter().take(lines.len()).map(|champion| Brain::new(champion, &field.vocabulary));
    let brains = brains.collect::<Result<Vec<_>, _>>()?;
    Ok(label::examples(&field.vocabulary, &field.play(&fixtures(&brains, lines, seed), true)))
}

/// The function that trees find in examples; all weights are as the terms come.
pub fn discover(field: &Field, examples: &[Example], settings: &Settings, seed: u64) -> Function {
    let attributes = Attributes::new(&field.vocabulary, settings.mode);
    let granularity = settings.granularity.unwrap_or_else(|| settings.strategy.granularity());
    let n_phases = examples.iter().map(|example| example.phase + 1).max().unwrap_or(0);
    let of_phase = |(phase, places): (u32, Vec<usize>)| {
        let examples: Vec<&Example> = places.iter().map(|&place| &examples[place]).collect();
        let table = attributes.table(&field.vocabulary, &examples);
        let seed = seed_of(seed, phase as usize);
        let tree = tree::grow(&table, &tree::Settings { seed, ..settings.tree });
        (phase, deduce(&tree, settings.strategy, granularity, &|attribute, holds| attributes.literal(attribute, holds)))
    };
    let phases = label::by_phase(examples, n_phases, settings.overlap).into_iter().map(of_phase);
    Function { game: "discovered".to_owned(), phases: phases.filter(|(_, terms)| !terms.is_empty()).collect() }
}

/// Looks for weights of a function's terms.
///
/// # Errors
/// What is wrong with the settings, or with the function.
pub fn optimise(
    field: &Field,
    mut function: Function,
    settings: &swarm::Settings,
    seed: u64,
) -> Result<(Function, swarm::Found), String> {
    let brain = Brain::new(&function, &field.vocabulary)?;
    let mut arena = Arena { field, brain: &brain, seed };
    let found = swarm::search(brain.n_terms(), &swarm::Settings { seed, ..settings.clone() }, &mut arena)?;
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
    let lines = field.play(&fixtures(champions, &[n.next_multiple_of(2)], seed), false);
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
