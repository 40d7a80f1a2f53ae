//! From a game and positions to a set of features: what is proposed, what is chosen, and the evidence.

use std::hash::{DefaultHasher, Hash, Hasher};

use gdl::keyword;
use rustc_hash::FxHashSet;

use crate::columns::{self, Columns};
use crate::feature::Feature;
use crate::formula::{Atom, Formula};
use crate::game::{Game, Views};
use crate::pattern::atoms::{self, Value};
use crate::pattern::bits;
use crate::pattern::genconf;
use crate::positions::Positions;
use crate::select::{self, Candidate, Evidence};
use crate::structural;

/// How features are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Led by evidence, from logic, structure and mined configurations.
    #[default]
    Default,
    /// As the feature construction thesis has it (Günther 2008).
    Thesis,
}

/// Where a feature comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The rules, by transformations; the last one.
    Logic(&'static str),
    /// The structure of the game.
    Structure,
    /// Played positions, by mining.
    Mined,
}

/// A chosen feature.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The feature.
    pub feature: Feature,
    /// Where it comes from.
    pub origin: Origin,
    /// What it means, where its maker says so.
    pub sentence: Option<String>,
    /// Its abstraction level, from 1; logical features alone have one.
    pub level: Option<u32>,
    /// The part of the results' variance that it explains beyond those chosen before it.
    pub gain: f64,
    /// What it costs: how many conditions on the state it adds up, or the work of evaluating it.
    pub cost: f64,
    /// What the positions say that it was chosen by.
    pub train: Evidence,
    /// What positions of other matches say.
    pub held_out: Evidence,
    /// Whether the held-out correlation is significant, among all chosen features.
    pub significant: bool,
    /// The greatest value in the sample, without its sign.
    pub max: i32,
}

/// The abstraction graph: what was generated, and what is more abstract than what.
#[derive(Clone, Debug, Default)]
pub struct AbstractionGraph {
    /// Features with their levels, and whether each was chosen.
    pub nodes: Vec<(Feature, u32, bool)>,
    /// Pairs of a more abstract feature and a special one, by their places.
    pub edges: Vec<(usize, usize)>,
}

/// A set of features of a game.
#[derive(Clone, Debug, Default)]
pub struct FeatureSet {
    /// How it was made.
    pub mode: Mode,
    /// The chosen features, best first.
    pub features: Vec<Selected>,
    /// How many features were generated, and how many of them were different.
    pub n_generated: usize,
    /// How many of them were different.
    pub n_unique: usize,
    /// How many were generated in which way.
    pub counts: Vec<(&'static str, usize)>,
    /// The logical features and how they hang together.
    pub graph: AbstractionGraph,
    /// How many positions they were chosen by, and on how many others the evidence was measured.
    pub n_positions: (usize, usize),
    /// The budgets that were met, in words.
    pub stopped: Vec<String>,
}

/// How much is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How features are made.
    pub mode: Mode,
    /// All chance comes from this.
    pub seed: u64,
    /// Logical features looked at.
    pub candidates: usize,
    /// Positions that candidates are measured on.
    pub positions: usize,
    /// Mined configurations that are looked at.
    pub configurations: usize,
    /// How features are chosen.
    pub select: select::Settings,
    /// The threads that work; they change nothing in the result.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::Default,
            seed: 1,
            candidates: 4_000,
            positions: 6_000,
            configurations: 400,
            select: select::Settings::default(),
            threads: 1,
        }
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done.
    pub stage: &'static str,
    /// How much of it.
    pub done: usize,
    /// Of how much; 0 if that is not known.
    pub of: usize,
}

/// A feature that may be chosen.
struct Proposal {
    feature: Feature,
    origin: Origin,
    sentence: Option<String>,
    values: Vec<i32>,
    cost: f64,
}

/// Makes features for a game and chooses among them by positions. `progress` may end the work by returning `false`: what was
/// found by then is used.
pub fn construct(
    game: &Game,
    positions: &Positions,
    settings: &Settings,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<FeatureSet, String> {
    let views = Views::new(game)?;
    let (train, held_out) = positions.without_terminal().split_by_match(0.3, settings.seed);
    let train = some_of(&train, settings.positions, settings.seed);
    let held_out = some_of(&held_out, settings.positions, settings.seed);
    let mut columns = Columns::new(game, &views, &train.views());
    let mut set = FeatureSet { n_positions: (train.len(), held_out.len()), ..FeatureSet::default() };
    // Step 1. Proposals, and what the positions say about them.
    let mut proposals = Proposals { seen: FxHashSet::default(), list: Vec::new(), n_different: 0 };
    let structure = structural::propose(game, &structural::Budget::default());
    if structure.left_out > 0 {
        set.stopped.push(format!("{} structure features were left out", structure.left_out));
    }
    for (done, named) in structure.features.iter().enumerate() {
        if !progress(Progress { stage: "structure", done, of: structure.features.len() }) {
            break;
        }
        proposals.add(&mut columns, &named.feature, Origin::Structure, Some(&named.sentence));
    }
    set.counts.push(("structure", structure.features.len()));
    let mined = configurations(game, &train, settings, &mut set.stopped);
    for (done, feature) in mined.iter().enumerate() {
        if !progress(Progress { stage: "configurations", done, of: mined.len() }) {
            break;
        }
        proposals.add(&mut columns, feature, Origin::Mined, None);
    }
    set.counts.push(("mined", mined.len()));
    set.n_generated = set.counts.iter().map(|count| count.1).sum();
    set.n_unique = proposals.n_different;
    // Step 2. The best of them.
    progress(Progress { stage: "selection", done: 0, of: 0 });
    let candidates: Vec<Candidate> = proposals
        .list
        .iter()
        .map(|proposal| Candidate { values: proposal.values.clone(), cost: proposal.cost })
        .collect();
    let chosen = select::select(&candidates, &train, &settings.select);
    // Step 3. Evidence from other matches.
    let mut columns = Columns::new(game, &views, &held_out.views());
    for chosen in chosen {
        let proposal = &proposals.list[chosen.index];
        let Some(values) = columns.values(&proposal.feature) else { continue };
        set.features.push(Selected {
            feature: proposal.feature.clone(),
            origin: proposal.origin,
            sentence: proposal.sentence.clone(),
            level: None,
            gain: chosen.gain,
            cost: proposal.cost,
            train: Evidence::measure(&proposal.values, &train),
            held_out: Evidence::measure(&values, &held_out),
            significant: false,
            max: proposal.values.iter().map(|value| value.abs()).max().unwrap_or(0),
        });
    }
    let p_values: Vec<f64> = set.features.iter().map(|selected| selected.held_out.p_value()).collect();
    for (selected, significant) in set.features.iter_mut().zip(select::significant(&p_values, 0.05)) {
        selected.significant = significant;
    }
    Ok(set)
}

/// At most so many of the positions, spread evenly over all of them.
fn some_of(positions: &Positions, n: usize, _seed: u64) -> Positions {
    let len = positions.len();
    if len <= n { positions.clone() } else { positions.select((0..n).map(|at| at * len / n)) }
}

struct Proposals {
    seen: FxHashSet<u64>,
    list: Vec<Proposal>,
    n_different: usize,
}

impl Proposals {
    /// Measures a feature and keeps it if it varies, and differs from all others in some position.
    fn add(&mut self, columns: &mut Columns, feature: &Feature, origin: Origin, sentence: Option<&String>) {
        let Some(values) = columns.values(feature) else { return };
        let cost = 1.0 + columns.work as f64 / (64.0 * columns.len().max(1) as f64);
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return;
        }
        let mut hasher = DefaultHasher::new();
        values.hash(&mut hasher);
        if self.seen.insert(hasher.finish()) {
            self.n_different += 1;
            let (feature, sentence) = (feature.clone(), sentence.cloned());
            self.list.push(Proposal { feature, origin, sentence, values, cost });
        }
    }
}

/// Configurations of fluents that tell most about the results.
fn configurations(game: &Game, train: &Positions, settings: &Settings, stopped: &mut Vec<String>) -> Vec<Feature> {
    let atoms = atoms::find(game, &atoms::Settings::default());
    let n_fluents = game.circuit.network.fluents.len();
    let fluents = bits::transpose(&train.states, train.n_words, n_fluents);
    let mut relations = genconf::relations(&atoms.features, &fluents);
    relations.retain(|relation| {
        matches!(atoms.features[relation.feature as usize].values[relation.value as usize], Value::Is(_))
    });
    let support = (train.len() as u32 / 100).max(20);
    let budget = genconf::Budget { length: 3, configurations: 60_000, words: 200_000_000, bytes: 256 << 20 };
    let mine = genconf::Settings { budget, threads: settings.threads, ..genconf::Settings::new(support) };
    let mined = genconf::mine(&relations, &mine);
    if let Some(reason) = mined.stopped {
        stopped.push(format!("mining: {reason}"));
    }
    // The difference that a configuration makes to a role's mean result, in standard errors of positions.
    let results: Vec<Vec<f64>> = (0..train.n_roles)
        .map(|role| {
            let known: Vec<Option<f64>> = (0..train.len()).map(|at| train.result(at, role).map(f64::from)).collect();
            let (mut n, mut sum) = (0.0, 0.0);
            known.iter().flatten().for_each(|result| (n, sum) = (n + 1.0, sum + result));
            known.iter().map(|result| result.map_or(0.0, |result| result - sum / f64::max(n, 1.0))).collect()
        })
        .collect();
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (index, found) in mined.configurations.iter().enumerate() {
        let mut column = relations[found.relations[0] as usize].column.clone();
        found.relations[1..].iter().for_each(|&more| _ = column.keep_common(&relations[more as usize].column));
        let score = results.iter().map(|results| {
            let sum: f64 = column.iter().map(|at| results[at]).sum();
            sum.abs() / f64::from(found.support.max(1)).sqrt()
        });
        scored.push((score.fold(0.0, f64::max), index));
    }
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    scored.truncate(settings.configurations);
    scored.sort_unstable_by_key(|&(_, index)| index);
    let network = &game.circuit.network;
    let literal = |relation: u32| {
        let relation = &relations[relation as usize];
        let Value::Is(literal) = atoms.features[relation.feature as usize].values[relation.value as usize] else {
            unreachable!("other relations were left out")
        };
        let fluent = columns::term(&network.terms, network.fluents[literal.fluent as usize]);
        let holds = Formula::Atom(Atom { name: keyword::TRUE, args: vec![fluent] });
        if literal.holds { holds } else { Formula::Not(Box::new(holds)) }
    };
    let configuration = |index: usize| {
        let relations = &mined.configurations[index].relations;
        Feature::count(Vec::new(), Formula::all(relations.iter().map(|&relation| literal(relation))))
    };
    scored.into_iter().map(|(_, index)| configuration(index)).collect()
}
