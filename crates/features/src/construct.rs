//! From a game and positions to a set of features: what is proposed, what is chosen, and the evidence.

use gdl::{Stop, keyword};
use insight::graph::Fingerprint;
use rustc_hash::FxHashSet;

use crate::columns::{self, Columns};
use crate::compile::{Budget, Grounder};
use crate::feature::Feature;
use crate::formula::{Atom, Formula};
use crate::game::{Game, Views};
use crate::logic::rules::Rules;
use crate::logic::select::Ineligible;
use crate::logic::{best_first, generate, graph, preimage, select as logic_select, transform};
use crate::pattern::atoms::{self, Value};
use crate::pattern::bits;
use crate::pattern::genconf;
use crate::positions::Positions;
use crate::reference::Values;
use crate::select::{self, Candidate, Chosen, Evidence, Labels};
use crate::split::Split;
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
    /// What it costs: how many conjunctions it adds up; in thesis mode, microseconds for a state by the thesis's way.
    pub cost: f64,
    /// What the positions say that it was chosen by.
    pub train: Evidence,
    /// What positions say that nothing was chosen by.
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
    /// Which positions features are chosen by, and which ones the evidence is measured on.
    pub split: Split,
    /// Logical features looked at.
    pub candidates: usize,
    /// Features that are expanded in the thesis's way.
    pub thesis_expanded: usize,
    /// Positions that candidates are measured on.
    pub positions: usize,
    /// Mined configurations that are looked at.
    pub configurations: usize,
    /// How features are chosen.
    pub select: select::Settings,
    /// The threads that work; they change nothing in the result.
    pub threads: usize,
    /// Ends it early: what was found by then is used.
    pub stop: Stop,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::Default,
            seed: 1,
            split: Split::default(),
            candidates: 4_000,
            thesis_expanded: 100_000,
            positions: 6_000,
            configurations: 400,
            select: select::Settings::default(),
            threads: 1,
            stop: Stop::never(),
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
    /// Its place in the abstraction graph.
    node: Option<usize>,
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
    let stop = settings.stop.or(&game.stop);
    let progress = &mut |told: Progress| !stop.is_raised() && progress(told);
    let views = Views::new(game)?;
    // Nothing is fitted here: both other parts are new to what is chosen.
    let [train, mut held_out, report] = settings.split.parts(game, &positions.without_terminal());
    (0..report.len()).for_each(|position| held_out.push_from(&report, position));
    // A bit for each atom and position is kept.
    let n_atoms = views.network.views.len() + game.universe.fluents.len();
    let n_positions = settings.positions.min((MAX_BITS / n_atoms.max(1)).max(64));
    let [train, held_out] = [train, held_out].map(|part| some_of(&part.unique(), n_positions));
    let mut work = Construction {
        game,
        grounder: Grounder::new(game, &views),
        columns: Columns::new(game, &views, &train.views()),
        labels: Labels::new(&train),
        views,
        train,
        settings,
        seen: FxHashSet::default(),
        proposals: Vec::new(),
        set: FeatureSet { mode: settings.mode, ..FeatureSet::default() },
    };
    let chosen = match settings.mode {
        Mode::Default => work.led_by_evidence(progress),
        Mode::Thesis => work.as_in_the_thesis(progress),
    };
    let mut set = work.finish(chosen, &held_out);
    if game.stop.is_raised() {
        set.stopped.push("it was stopped before its time".to_owned());
    }
    Ok(set)
}

/// At most so many of the positions, spread evenly over all of them.
fn some_of(positions: &Positions, n: usize) -> Positions {
    let len = positions.len();
    if len <= n { positions.clone() } else { positions.select((0..n).map(|at| at * len / n)) }
}

/// Bits of the columns of all atoms.
const MAX_BITS: usize = 4 << 30;
/// States that features are generated by, and the sample that variables are trimmed by, in the thesis.
const THESIS_STATES: (usize, usize) = (3_000, 100);
/// The work that trimming one feature's variables may take. A feature that takes more is too expensive for the thesis, too.
const THESIS_WORK: u64 = 50_000;
/// The work that finding a feature's values on all states may take.
const SELECTION_WORK: u64 = 3_000_000;
/// Most features that match too rarely are known by so many states.
const FIRST_STATES: usize = 512;
/// What one step of evaluation took the thesis's program in a state, in microseconds. With this its features of Tic-Tac-Toe cost
/// what it reports.
const MICROSECONDS: f64 = 10.0;
const SELECTION: logic_select::Settings = logic_select::Settings::THESIS;

struct Construction<'a> {
    game: &'a Game,
    grounder: Grounder,
    views: Views,
    columns: Columns,
    labels: Labels,
    train: Positions,
    settings: &'a Settings,
    /// What was seen, by 128 bits of a hash of the values.
    seen: FxHashSet<u128>,
    proposals: Vec<Proposal>,
    set: FeatureSet,
}

impl Construction<'_> {
    /// Structure, logic and mined configurations, chosen by what they add about the results.
    fn led_by_evidence(&mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Vec<Chosen> {
        // Step 1. The structure.
        let structure = structural::propose(self.game, &structural::Budget::default());
        if structure.left_out > 0 {
            self.set.stopped.push(format!("{} structure features were left out", structure.left_out));
        }
        self.set.counts.push(("structure", structure.features.len()));
        for (done, named) in structure.features.iter().enumerate() {
            if !progress(Progress { stage: "structure", done, of: structure.features.len() }) {
                break;
            }
            self.propose(&named.feature, Origin::Structure, Some(&named.sentence), None);
        }
        // Step 2. The logic.
        let materials = best_first::Materials::new(self.game, &self.views);
        let budget = best_first::Budget { evaluated: self.settings.candidates, ..best_first::Budget::default() };
        let labels = &self.labels;
        let outcome = best_first::generate(
            &materials,
            &mut self.columns,
            &mut |values| {
                let evidence = labels.measure(values);
                if evidence.z.abs() < 2.0 { 0.0 } else { evidence.correlation.abs() }
            },
            &budget,
            &mut |done| progress(Progress { stage: "logic", done, of: budget.evaluated }),
        );
        self.set.counts.extend(outcome.counts.iter().copied());
        self.set.n_unique += outcome.n_unique;
        if outcome.stop != best_first::Stop::Exhausted {
            self.set.stopped.push(format!("generation: {}", outcome.stop));
        }
        self.set.graph = abstraction(&outcome.found);
        for (place, found) in outcome.found.iter().enumerate() {
            self.propose(&found.feature, Origin::Logic(found.by), None, Some(place));
        }
        // Step 3. Configurations.
        let mined = configurations(self.game, &self.train, self.settings, &mut self.set.stopped);
        self.set.counts.push(("mined", mined.len()));
        for (done, feature) in mined.iter().enumerate() {
            if !progress(Progress { stage: "configurations", done, of: mined.len() }) {
                break;
            }
            self.propose(feature, Origin::Mined, None, None);
        }
        self.set.n_unique += structure.features.len() + mined.len();
        // Step 4. The best of them. What says little by itself is looked at only where there is little else.
        progress(Progress { stage: "selection", done: 0, of: 0 });
        let tells = |proposal: &Proposal| self.labels.measure(&proposal.values).z.abs() >= MIN_DEVIATIONS;
        let telling: Vec<bool> = self.proposals.iter().map(tells).collect();
        if telling.iter().filter(|&&tells| tells).count() >= self.settings.select.max_features {
            let mut telling = telling.into_iter();
            self.proposals.retain(|_| telling.next() == Some(true));
        }
        let candidates: Vec<Candidate> = self
            .proposals
            .iter()
            .map(|proposal| Candidate {
                values: proposal.values.clone(),
                cost: proposal.cost,
                prior: if proposal.origin == Origin::Mined { MINED_PRIOR } else { 1.0 },
            })
            .collect();
        let stop = self.settings.stop.or(&self.game.stop);
        select::select(&candidates, &self.train, &self.settings.select, &stop)
    }

    /// Generation and selection as in the thesis; positions of random play alone count.
    fn as_in_the_thesis(&mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Vec<Chosen> {
        let random = self.train.select((0..self.train.len()).filter(|&at| self.train.levels[at] == 0));
        let states = some_of(&random, THESIS_STATES.0);
        let first = states.select(0..states.len().min(FIRST_STATES));
        let mut large = InTurn {
            first: Columns::new(self.game, &self.views, &first.views()),
            all: Columns::new(self.game, &self.views, &states.views()),
        };
        large.all.limit = SELECTION_WORK;
        let sample = some_of(&states, THESIS_STATES.1);
        let mut small = Columns::new(self.game, &self.views, &sample.views());
        small.limit = THESIS_WORK;
        let rules = Rules::new(&self.game.program);
        let limits = transform::Limits::THESIS;
        let dynamics = preimage::Dynamics::thesis(&self.game.universe, &self.game.samples);
        let preimages = preimage::Preimages::new(&rules, &limits.simplify, &dynamics);
        let context = transform::Context { rules: &rules, preimages: &preimages, limits: &limits };
        let max_expanded = self.settings.thesis_expanded;
        let settings = generate::Settings { max_expanded, ..generate::Settings::THESIS };
        let generated = generate::generate(&context, &settings, &mut small, &mut |done, of| {
            progress(Progress { stage: "generation", done, of: of.min(max_expanded) })
        });
        if generated.stop != generate::Stop::Exhausted {
            self.set.stopped.push(format!("generation: {}", generated.stop));
        }
        for (n, what) in [(generated.n_uncounted, "were not counted"), (generated.n_without_values, "were left out")] {
            if n > 0 {
                self.set.stopped.push(format!("{n} features {what}: they have too many bindings"));
            }
        }
        let n = sample.len().max(1) as f64;
        let mut cost = |feature: &Feature| match small.values(feature) {
            Some(_) => small.steps as f64 / n * MICROSECONDS,
            None => f64::INFINITY,
        };
        // Who has ended generation wants to have what was found.
        let (of, ended) = (generated.nodes.len(), generated.stop == generate::Stop::Told);
        let mut told = |done| progress(Progress { stage: "selection", done, of }) || ended;
        let selected = logic_select::select(&SELECTION, &generated, &mut large, &mut cost, &mut told);
        let n_unknown = selected.tested.iter().filter(|tested| **tested == Err(Ineligible::NoValue)).count();
        if n_unknown > 0 {
            self.set.stopped.push(format!("{n_unknown} features were not tested"));
        }
        self.set.counts = generated.counts.iter().map(|&(by, count)| (by.name(), count)).collect();
        self.set.n_unique = generated.nodes.len();
        let mut is_chosen = vec![false; generated.nodes.len()];
        selected.features.iter().for_each(|&at| is_chosen[at] = true);
        let nodes = generated.nodes.iter().zip(&selected.levels).zip(&is_chosen);
        self.set.graph = AbstractionGraph {
            nodes: nodes.map(|((node, &level), &chosen)| (node.feature.clone(), level, chosen)).collect(),
            edges: generated.edges.clone(),
        };
        let mut chosen = Vec::new();
        for &at in &selected.features {
            let node = &generated.nodes[at];
            let Some(values) = self.columns.values(&node.feature) else { continue };
            let cost = selected.tested[at].map_or(0.0, |found| found.cost);
            let origin = Origin::Logic(node.by.name());
            chosen.push(Chosen { index: self.proposals.len(), gain: 0.0 });
            let feature = node.feature.clone();
            self.proposals.push(Proposal { feature, origin, sentence: None, node: Some(at), values, cost });
        }
        chosen
    }

    /// Measures a feature and keeps it if it varies, and differs from all others in some position.
    fn propose(&mut self, feature: &Feature, origin: Origin, sentence: Option<&String>, node: Option<usize>) {
        let Some(values) = self.columns.values(feature) else { return };
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return;
        }
        let identity = fingerprint(&values);
        if !self.seen.contains(&identity)
            && let Some(size) = self.grounder.size(feature, &CONDITIONS)
        {
            self.seen.insert(identity);
            let cost = size as f64;
            let (feature, sentence) = (feature.clone(), sentence.cloned());
            self.proposals.push(Proposal { feature, origin, sentence, node, values, cost });
        }
    }

    /// Puts the set together, with the evidence of other matches.
    fn finish(mut self, chosen: Vec<Chosen>, held_out: &Positions) -> FeatureSet {
        let mut set = self.set;
        let mut columns = Columns::new(self.game, &self.views, &held_out.views());
        let labels = Labels::new(held_out);
        for chosen in chosen {
            let proposal = &mut self.proposals[chosen.index];
            let Some(values) = columns.values(&proposal.feature) else { continue };
            let level = proposal.node.map(|node| {
                set.graph.nodes[node].2 = true;
                set.graph.nodes[node].1
            });
            set.features.push(Selected {
                feature: proposal.feature.clone(),
                origin: proposal.origin,
                sentence: proposal.sentence.take(),
                level,
                gain: chosen.gain,
                cost: proposal.cost,
                train: self.labels.measure(&proposal.values),
                held_out: labels.measure(&values),
                significant: false,
                max: proposal.values.iter().map(|value| value.abs()).max().unwrap_or(0),
            });
        }
        let p_values: Vec<f64> = set.features.iter().map(|selected| selected.held_out.p_value()).collect();
        for (selected, significant) in set.features.iter_mut().zip(select::significant(&p_values, 0.05)) {
            selected.significant = significant;
        }
        set.n_generated = set.counts.iter().map(|count| count.1).sum();
        set.n_positions = (self.train.len(), held_out.len());
        set
    }
}

/// What stands for a feature's values: FNV-1a with 128 bits of the values as little-endian bytes. Named and simple, since
/// which features are equal must be the same for every compiler and machine.
fn fingerprint(values: &[i32]) -> u128 {
    values.iter().fold(Fingerprint::EMPTY, |hash, value| hash.with(&value.to_le_bytes())).0
}

/// How far configurations are believed: each is about a few places only, so that what looks good is often chance.
const MINED_PRIOR: f64 = 0.3;

/// What a feature may cost.
const CONDITIONS: Budget = Budget { conditions: 2_000, all_conditions: 2_000, work: 200_000 };

/// How many standard errors from 0 a feature's correlation with the result should be.
const MIN_DEVIATIONS: f64 = 2.5;

/// Values of all states, or of the first ones if these decide that a feature is not eligible.
struct InTurn {
    first: Columns,
    all: Columns,
}

impl Values for InTurn {
    fn values(&mut self, feature: &Feature) -> Option<Vec<i32>> {
        let values = self.first.values(feature)?;
        match logic_select::test_values(&SELECTION, &values) {
            Err(Ineligible::TooSpecial(n) | Ineligible::TooGeneral(n)) if n < values.len() => Some(values),
            _ => self.all.values(feature),
        }
    }
}

/// The abstraction graph of features with their parents.
fn abstraction(found: &[best_first::Found]) -> AbstractionGraph {
    let mut edges = Vec::new();
    for (place, feature) in found.iter().enumerate() {
        let Some(parent) = feature.parent else { continue };
        match feature.by {
            "remove-conjunct" | "split-indep-conjunctions" | "remove-variable" | "generalize" => {
                edges.push((place, parent))
            }
            "expand-predicate" | "unroll" | "specialize" | "split-disjunction" | "with-turn" => {
                edges.push((parent, place))
            }
            _ => {}
        }
    }
    edges.sort_unstable();
    let levels = graph::levels(found.len(), &edges);
    let nodes = found.iter().zip(levels).map(|(found, level)| (found.feature.clone(), level, false)).collect();
    AbstractionGraph { nodes, edges }
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

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_known_by_the_same_number_for_ever() {
        assert_eq!(super::fingerprint(&[1, -2, 300]), 0x5e00_0c3e_7e9e_e04c_f0ed_d730_4f65_6212);
    }
}
