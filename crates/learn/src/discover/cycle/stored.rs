//! Runs as they are kept between stages.

use features::structural::fuzzy::{Function, Vocabulary, text};
use features::structural::squares::StateId;
use serde::{Deserialize, Serialize};

use super::{Run, Stage};
use crate::discover::label::{Example, N_CLASSES, Tally};
use crate::discover::swarm::Found;

/// What kept bytes begin with: what they are, and the version of the format.
const MARK: &[u8; 8] = b"senet-d2";

#[derive(Serialize, Deserialize)]
struct KeptRun {
    n_cycles: u32,
    stage: KeptStage,
    /// Functions as text.
    champions: Vec<String>,
    found: Vec<KeptFound>,
    past: Vec<KeptExample>,
}

#[derive(Serialize, Deserialize)]
enum KeptStage {
    Play,
    Discover(Vec<KeptExample>),
    Optimise(String, Vec<KeptExample>),
    Evaluate(String),
}

#[derive(Serialize, Deserialize)]
struct KeptExample {
    states: Vec<u16>,
    phase: u32,
    counts: [u32; N_CLASSES],
}

#[derive(Serialize, Deserialize)]
struct KeptFound {
    weights: Vec<f64>,
    is_start: bool,
    points: u32,
    n_guard: u32,
    n_matches: u64,
    n_epochs: u64,
    n_replaced: u64,
}

impl Run {
    /// As bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let examples = |examples: &[Example]| -> Vec<KeptExample> {
            let kept = |example: &Example| KeptExample {
                states: example.states.iter().map(|state| state.0).collect(),
                phase: example.phase,
                counts: example.tally.counts,
            };
            examples.iter().map(kept).collect()
        };
        let found = |found: &Found| KeptFound {
            weights: found.weights.clone(),
            is_start: found.is_start,
            points: found.points,
            n_guard: found.n_guard,
            n_matches: found.n_matches,
            n_epochs: found.n_epochs,
            n_replaced: found.n_replaced,
        };
        let kept = KeptRun {
            n_cycles: self.n_cycles,
            stage: match &self.stage {
                Stage::Play => KeptStage::Play,
                Stage::Discover(found) => KeptStage::Discover(examples(found)),
                Stage::Optimise(function, found) => KeptStage::Optimise(function.to_string(), examples(found)),
                Stage::Evaluate(function) => KeptStage::Evaluate(function.to_string()),
            },
            champions: self.champions.iter().map(Function::to_string).collect(),
            found: self.found.iter().map(found).collect(),
            past: examples(&self.past),
        };
        postcard::to_extend(&kept, MARK.to_vec()).expect("what is kept has a size")
    }

    /// From kept bytes, of a game with this vocabulary.
    ///
    /// # Errors
    /// Why they are of no use.
    pub fn from_bytes(bytes: &[u8], vocabulary: &Vocabulary) -> Result<Run, String> {
        let bytes = bytes.strip_prefix(MARK).ok_or("another version of the program wrote it")?;
        let kept: KeptRun = postcard::from_bytes(bytes).map_err(|why| format!("it is damaged: {why}"))?;
        let (n_squares, n_states) = (vocabulary.squares.len(), vocabulary.states.len());
        let example = |kept: KeptExample| {
            if kept.states.len() != n_squares || kept.states.iter().any(|&state| usize::from(state) >= n_states) {
                return Err("it is of another board".to_owned());
            }
            let states = kept.states.into_iter().map(StateId).collect();
            Ok(Example { states, phase: kept.phase, tally: Tally { counts: kept.counts } })
        };
        let examples = |kept: Vec<KeptExample>| kept.into_iter().map(example).collect::<Result<Vec<_>, String>>();
        let function = |text: &String| {
            let function = text::function(text)?;
            let terms = function.phases.iter().flat_map(|(_, terms)| terms);
            terms.map(|(_, formula)| vocabulary.resolve(formula)).collect::<Result<Vec<_>, _>>()?;
            Ok::<Function, String>(function)
        };
        let found = |kept: KeptFound| Found {
            weights: kept.weights,
            is_start: kept.is_start,
            points: kept.points,
            n_guard: kept.n_guard,
            n_matches: kept.n_matches,
            n_epochs: kept.n_epochs,
            n_replaced: kept.n_replaced,
        };
        Ok(Run {
            n_cycles: kept.n_cycles,
            stage: match kept.stage {
                KeptStage::Play => Stage::Play,
                KeptStage::Discover(kept) => Stage::Discover(examples(kept)?),
                KeptStage::Optimise(text, kept) => Stage::Optimise(function(&text)?, examples(kept)?),
                KeptStage::Evaluate(text) => Stage::Evaluate(function(&text)?),
            },
            champions: kept.champions.iter().map(function).collect::<Result<Vec<_>, _>>()?,
            found: kept.found.into_iter().map(found).collect(),
            past: examples(kept.past)?,
        })
    }
}
