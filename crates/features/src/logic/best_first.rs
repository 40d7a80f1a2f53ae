//! Generation led by evidence: what says most about the result for its cost is developed first.
//!
//! The space is that of the thesis and more ([`super::vary`]); it is never exhausted. Every feature is evaluated on labelled
//! positions when it is made. If its values are those of an earlier feature, or a multiple of them, it is a duplicate, whatever
//! its formula; if they are always the same it is no feature, but may become one: a goal that no position reaches is where everything starts. The next
//! feature to be developed is mostly the one that promises most, now and then the oldest of each kind of root, so that no
//! part of the rules is forgotten.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use gdl::program::Term;
use gdl::symbol::keyword;
use insight::graph::Fingerprint;
use rustc_hash::FxHashMap;

use super::canonical::canonical;
use super::domain::Domains;
use super::preimage::{Dynamics, Preimages};
use super::roots::{About, roots};
use super::rules::Rules;
use super::simplify;
use super::transform::{self, Context, Limits};
use super::vary;
use crate::columns::Columns;
use crate::feature::{Feature, Weight};
use crate::formula::Formula;
use crate::game::{Game, Views};

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Features whose values are found.
    pub evaluated: usize,
    /// The work of finding values, as [`Columns`] counts it.
    pub work: u64,
    /// The work that one feature may take.
    pub work_each: u64,
    /// Features that are kept.
    pub kept: usize,
    /// What becomes of one feature, at most.
    pub children: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { evaluated: 6_000, work: 1_200_000_000, work_each: 4_000_000, kept: 3_000, children: 60 }
    }
}

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There is nothing more.
    Exhausted,
    /// So many features were evaluated.
    Evaluated(usize),
    /// So much work was done.
    Work(u64),
    /// So many features were kept.
    Kept(usize),
    /// The caller ended it.
    Told,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Exhausted => write!(f, "there was nothing more"),
            Stop::Evaluated(n) => write!(f, "{n} features were evaluated"),
            Stop::Work(n) => write!(f, "the work of evaluating features reached {n}"),
            Stop::Kept(n) => write!(f, "{n} features were kept"),
            Stop::Told => write!(f, "it was told to stop"),
        }
    }
}

/// A feature that varies and is like no other on the positions.
#[derive(Clone, Debug)]
pub struct Found {
    /// The feature.
    pub feature: Feature,
    /// How it was made.
    pub by: &'static str,
    /// Its parent among the kept features, if that was kept.
    pub parent: Option<usize>,
    /// What the caller says for it.
    pub evidence: f64,
    /// The work of finding its values.
    pub work: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The features, in the order in which they were found.
    pub found: Vec<Found>,
    /// How many features each way gave, duplicates included, sorted by name.
    pub counts: Vec<(&'static str, usize)>,
    /// How many features had different formulas.
    pub n_unique: usize,
    /// How many were evaluated.
    pub n_evaluated: usize,
    /// How many were developed.
    pub n_expanded: usize,
    /// How many had no value: a relation is unknown, or it took too much work.
    pub n_without_values: usize,
    /// The work of finding values.
    pub work: u64,
    /// Why generation ended.
    pub stop: Stop,
}

/// The rules as generation needs them.
pub struct Materials {
    rules: Rules,
    preimages: Preimages,
    domains: Domains,
    limits: Limits,
}

impl Materials {
    /// Prepares a game.
    pub fn new(game: &Game, views: &Views) -> Materials {
        let rules = Rules::new(&game.program);
        let limits = Limits { simplify: simplify::Settings::LOGICAL, max_clauses: 8, ..Limits::THESIS };
        let dynamics = Dynamics::of_structure(&game.universe, &game.samples, &game.structure);
        let preimages = Preimages::new(&rules, &limits.simplify, &dynamics);
        let domains = Domains::new(game, views);
        Materials { rules, preimages, domains, limits }
    }

    fn context(&self) -> Context<'_> {
        Context { rules: &self.rules, preimages: &self.preimages, limits: &self.limits }
    }
}

/// How often a derivation may unroll a recursion or go a move back.
const MAX_UNROLLED: u32 = 2;
const MAX_REGRESSIONS: u32 = 3;
/// How much of a feature's promise goes on to what becomes of it, and how much each step away from a root takes.
const INHERITED: f64 = 0.7;
const PER_STEP: f64 = 0.9;
/// Every so many turns an old feature is developed instead of a promising one.
const OLD_EVERY: usize = 4;

/// Generates features. `evidence` says how much the values of a feature tell, from 0 to 1. `progress` is told how many were
/// evaluated; it may end the work by returning `false`.
pub fn generate(
    materials: &Materials,
    columns: &mut Columns,
    evidence: &mut dyn FnMut(&[i32]) -> f64,
    budget: &Budget,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Outcome {
    let context = materials.context();
    let limit = std::mem::replace(&mut columns.limit, budget.work_each);
    let mut work = Generation {
        materials,
        columns,
        evidence,
        progress,
        budget,
        formulas: FxHashMap::default(),
        by_values: FxHashMap::default(),
        nodes: Vec::new(),
        best: BinaryHeap::new(),
        oldest: Default::default(),
        counts: FxHashMap::default(),
        outcome: Outcome {
            found: Vec::new(),
            counts: Vec::new(),
            n_unique: 0,
            n_evaluated: 0,
            n_expanded: 0,
            n_without_values: 0,
            work: 0,
            stop: Stop::Exhausted,
        },
    };
    for root in roots(&context, &materials.domains) {
        if work.is_over() {
            break;
        }
        work.add(&root.feature, "root", None, root.about);
    }
    for turn in 1.. {
        if work.is_over() {
            break;
        }
        let Some(node) = work.next(turn) else { break };
        work.outcome.n_expanded += 1;
        let mut n_children = 0;
        for (by, child) in expand(materials, &work.nodes[node]) {
            if n_children >= budget.children || work.is_over() {
                break;
            }
            n_children += usize::from(work.add(&child, by, Some(node), work.nodes[node].about));
        }
    }
    work.columns.limit = limit;
    let mut outcome = work.outcome;
    outcome.counts = work.counts.into_iter().collect();
    outcome.counts.sort_unstable();
    outcome
}

/// A feature that may be developed.
struct Node {
    feature: Feature,
    about: About,
    depth: u32,
    regressions: u32,
    unrolled: u32,
    promise: f64,
    /// Its value if that is always the same.
    constant: Option<i32>,
    /// Its place among the kept features.
    found: Option<usize>,
    expanded: bool,
}

/// What becomes of a feature.
fn expand(materials: &Materials, node: &Node) -> Vec<(&'static str, Feature)> {
    let (context, domains, feature) = (&materials.context(), &materials.domains, &node.feature);
    let mut found: Vec<(&'static str, Feature)> = Vec::new();
    let mut add =
        |by: &'static str, children: Vec<Feature>| found.extend(children.into_iter().map(|child| (by, child)));
    if feature.weight != Weight::One {
        add("with-turn", vary::with_turn(domains, feature));
        return found;
    }
    if feature.formula.components().len() > 1 {
        add("split-with-turn", vary::parts_with_turn(context, domains, feature));
        add("split-indep-conjunctions", transform::split_independent(context, feature));
        return found;
    }
    add("expand-predicate", transform::expand_predicate(context, feature));
    if node.unrolled < MAX_UNROLLED {
        add("unroll", vary::unroll(context, feature));
    }
    add("remove-negation", transform::remove_negation(context, feature));
    add("split-disjunction", vary::split_inner_disjunction(context, feature));
    add("expand-in-pieces", vary::expand_in_pieces(context, feature));
    if node.constant.is_none_or(|value| value == 0) {
        add("remove-conjunct", transform::remove_conjunct(context, feature));
        add("affirm", vary::affirm(context, feature));
        add("generalize", vary::generalize(context, feature));
        if node.regressions < MAX_REGRESSIONS && !names_any_fluent(feature) {
            add("regress-formula", transform::regress(context, feature));
        }
    }
    if node.constant != Some(0) {
        add("weigh", vary::weigh(domains, feature));
        add("remove-variable", fewer_variables(context, feature));
        add("specialize", vary::specialize(domains, feature));
    }
    if node.constant.is_none() {
        add("with-turn", vary::with_turn(domains, feature));
    }
    found
}

/// Whether a conjunct is about a fluent of whatever kind. One move back it would be about each kind in turn, and the list that
/// says which fluents count would be no list of its variables any more.
fn names_any_fluent(feature: &Feature) -> bool {
    feature.formula.conjuncts().iter().any(|part| match part {
        Formula::Atom(atom) => atom.name == keyword::TRUE && matches!(atom.args[..], [Term::Var(_)]),
        _ => false,
    })
}

/// Each counted variable left out, and all of them.
fn fewer_variables(context: &Context, feature: &Feature) -> Vec<Feature> {
    let with = |list: Vec<_>| Feature { list, ..feature.clone() };
    let mut found = Vec::new();
    if feature.list.len() <= context.limits.max_list {
        for &var in &feature.list {
            found.push(with(feature.list.iter().copied().filter(|&other| other != var).collect()));
        }
    }
    if feature.list.len() > 1 {
        found.push(with(Vec::new()));
    }
    found
}

struct Generation<'a> {
    materials: &'a Materials,
    columns: &'a mut Columns,
    evidence: &'a mut dyn FnMut(&[i32]) -> f64,
    progress: &'a mut dyn FnMut(usize) -> bool,
    budget: &'a Budget,
    /// The canonical features that were met.
    formulas: FxHashMap<Feature, ()>,
    /// Kept features by the hash of their values.
    by_values: FxHashMap<u128, usize>,
    nodes: Vec<Node>,
    best: BinaryHeap<Item>,
    /// The nodes about each thing, oldest first.
    oldest: [VecDeque<usize>; 4],
    counts: FxHashMap<&'static str, usize>,
    outcome: Outcome,
}

impl Generation<'_> {
    fn is_over(&mut self) -> bool {
        let (outcome, budget) = (&mut self.outcome, self.budget);
        if outcome.stop != Stop::Exhausted {
            return true;
        }
        if outcome.n_evaluated >= budget.evaluated {
            outcome.stop = Stop::Evaluated(budget.evaluated);
        } else if outcome.work >= budget.work {
            outcome.stop = Stop::Work(budget.work);
        } else if outcome.found.len() >= budget.kept {
            outcome.stop = Stop::Kept(budget.kept);
        } else if !(self.progress)(outcome.n_evaluated) {
            outcome.stop = Stop::Told;
        }
        outcome.stop != Stop::Exhausted
    }

    /// The node to be developed next.
    fn next(&mut self, turn: usize) -> Option<usize> {
        if turn.is_multiple_of(OLD_EVERY) {
            let queue = &mut self.oldest[turn / OLD_EVERY % 4];
            while let Some(node) = queue.pop_front() {
                if !self.nodes[node].expanded {
                    self.nodes[node].expanded = true;
                    return Some(node);
                }
            }
        }
        while let Some(Item { node, .. }) = self.best.pop() {
            if !self.nodes[node].expanded {
                self.nodes[node].expanded = true;
                return Some(node);
            }
        }
        None
    }

    /// The feature without conjuncts that say nothing.
    fn pruned(&self, feature: &Feature) -> Feature {
        let formula = self.materials.domains.prune(&self.materials.rules, &feature.formula);
        let bound = simplify::bound_variables(&formula);
        // What a sum adds up must stay.
        if formula == feature.formula || feature.weight.variables().iter().any(|var| !bound.contains(var)) {
            return feature.clone();
        }
        let list = feature.list.iter().copied().filter(|var| bound.contains(var)).collect();
        Feature { weight: feature.weight.clone(), list, formula }
    }

    /// Takes up a feature; whether its formula is new.
    fn add(&mut self, feature: &Feature, by: &'static str, parent: Option<usize>, about: About) -> bool {
        *self.counts.entry(by).or_default() += 1;
        let feature = canonical(&self.pruned(feature));
        if self.formulas.insert(feature.clone(), ()).is_some() {
            return false;
        }
        self.outcome.n_unique += 1;
        self.outcome.n_evaluated += 1;
        let values = self.columns.values(&feature);
        let own_work = self.columns.work;
        self.outcome.work += own_work;
        let base = match about {
            About::Goal => 0.5,
            About::Moves | About::Fluents => 0.2,
            About::Relations => 0.3,
        };
        let inherited = parent.map_or(base, |parent| INHERITED * self.nodes[parent].promise);
        let mut node = Node {
            about,
            depth: parent.map_or(0, |parent| self.nodes[parent].depth + 1),
            regressions: parent.map_or(0, |parent| self.nodes[parent].regressions) + u32::from(by == "regress-formula"),
            unrolled: parent.map_or(0, |parent| self.nodes[parent].unrolled) + u32::from(by == "unroll"),
            promise: inherited,
            constant: None,
            found: None,
            expanded: false,
            feature,
        };
        // Whether there is a binding is often found where all of them are too many.
        let mut fewer = None;
        match values {
            None => {
                self.outcome.n_without_values += 1;
                if !node.feature.list.is_empty() && node.feature.weight == Weight::One {
                    fewer = Some(Feature { list: Vec::new(), ..node.feature.clone() });
                }
            }
            Some(values) => {
                let first = values.first().copied();
                if values.iter().all(|value| Some(*value) == first) {
                    node.constant = first;
                } else {
                    let essence = essence(&values);
                    if let Some(&same) = self.by_values.get(&essence) {
                        let same = &mut self.outcome.found[same];
                        if price(&node.feature, own_work) < price(&same.feature, same.work) {
                            (same.feature, same.work) = (node.feature, own_work);
                        }
                        return true;
                    }
                    let evidence = (self.evidence)(&values);
                    node.promise = node.promise.max(evidence);
                    let place = self.outcome.found.len();
                    self.by_values.insert(essence, place);
                    node.found = Some(place);
                    self.outcome.found.push(Found {
                        feature: node.feature.clone(),
                        by,
                        parent: parent.and_then(|parent| self.nodes[parent].found),
                        evidence,
                        work: own_work,
                    });
                }
            }
        }
        let cost = 1.0 + own_work as f64 / 2e6;
        let priority = node.promise * PER_STEP.powi(node.depth as i32) / cost.sqrt();
        let at = self.nodes.len();
        self.best.push(Item { priority, node: at });
        self.oldest[about as usize].push_back(at);
        self.nodes.push(node);
        if let Some(fewer) = fewer {
            self.add(&fewer, "remove-variable", Some(at), about);
        }
        true
    }
}

/// A hash that values have in common with their multiples and with what differs from them by a constant: a linear evaluation
/// can't tell these apart.
fn essence(values: &[i32]) -> u128 {
    let base = i64::from(values.first().copied().unwrap_or(0));
    let differences = || values.iter().map(|&value| i64::from(value) - base);
    let divisor = differences().fold(0, |divisor, difference| gcd(divisor, difference.abs()));
    let sign = differences().find(|&difference| difference != 0).map_or(1, i64::signum);
    let essential = differences().map(|difference| sign * difference / divisor.max(1));
    essential.fold(Fingerprint::EMPTY, |hash, number| hash.with(&number.to_le_bytes())).0
}

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Of features with the same values, the one with the least price stands for all.
fn price(feature: &Feature, work: u64) -> (usize, usize, u64) {
    let mut n_atoms = 0;
    feature.formula.for_each_atom(&mut |_, _| n_atoms += 1);
    (n_atoms, feature.list.len(), work)
}

struct Item {
    priority: f64,
    node: usize,
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Item) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Item) -> Ordering {
        // Of equals, the older one comes first.
        self.priority.total_cmp(&other.priority).then(other.node.cmp(&self.node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::positions::{self, collect};

    /// Features of a game of the library, by a few hundred random positions and the correlation with the first role's result.
    fn found(name: &str, budget: &Budget) -> (Outcome, Game) {
        found_until(name, budget, &mut |_| true)
    }

    fn found_until(name: &str, budget: &Budget, progress: &mut dyn FnMut(usize) -> bool) -> (Outcome, Game) {
        let path = format!("{}/../../games/{name}/rules.kif", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let game = Game::new(gdl::read(name, &text).program, 1).expect("it grounds");
        let views = Views::new(&game).expect("it grounds");
        let settings = positions::Settings { levels: 1, positions: 600, ..Default::default() };
        let positions = collect(&game, &settings, &mut |_| true).positions;
        let mut columns = Columns::new(&game, &views, &positions.views());
        let results: Vec<f64> =
            (0..positions.len()).map(|at| f64::from(positions.result(at, 0).unwrap_or(50))).collect();
        let mut evidence = |values: &[i32]| {
            let n = values.len() as f64;
            let mean = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>() / n;
            let (x, y) = (mean(&mut values.iter().map(|&v| f64::from(v))), mean(&mut results.iter().copied()));
            let pairs = || values.iter().zip(&results).map(|(&v, r)| (f64::from(v) - x, r - y));
            let (xx, yy) = (pairs().map(|(a, _)| a * a).sum::<f64>(), pairs().map(|(_, b)| b * b).sum::<f64>());
            if xx * yy > 0.0 { (pairs().map(|(a, b)| a * b).sum::<f64>() / (xx * yy).sqrt()).abs() } else { 0.0 }
        };
        let materials = Materials::new(&game, &views);
        let outcome = generate(&materials, &mut columns, &mut evidence, budget, progress);
        (outcome, game)
    }

    const SMALL: Budget = Budget { evaluated: 600, work: 200_000_000, work_each: 4_000_000, kept: 400, children: 60 };

    #[test]
    fn what_failed_in_the_thesis_gives_features() {
        for name in ["hanoi", "knightmove", "quarto"] {
            let (outcome, _) = found(name, &SMALL);
            assert!(outcome.found.len() > 20, "{name}: {}", outcome.found.len());
        }
    }

    #[test]
    fn blocks_caught_are_a_number() {
        let (outcome, game) = found("beatmania", &SMALL);
        let symbols = &game.program.symbols;
        let reads = |found: &&Found| matches!(found.feature.weight, Weight::Place { .. });
        let places: Vec<String> =
            outcome.found.iter().filter(reads).map(|found| found.feature.display(symbols).to_string()).collect();
        assert!(places.iter().any(|text| text.contains("caught")), "{places:?}");
    }

    #[test]
    fn generation_is_the_same_every_time_and_keeps_its_budget() {
        let texts = || {
            let (outcome, game) = found("tic-tac-toe", &SMALL);
            assert!(outcome.n_evaluated <= SMALL.evaluated && outcome.found.len() <= SMALL.kept);
            assert_ne!(outcome.stop, Stop::Exhausted);
            let text = |found: &Found| found.feature.display(&game.program.symbols).to_string();
            outcome.found.iter().map(text).collect::<Vec<String>>()
        };
        assert_eq!(texts(), texts());
    }

    #[test]
    fn the_caller_may_end_it() {
        let (outcome, _) = found_until("tic-tac-toe", &SMALL, &mut |done| done < 50);
        assert_eq!((outcome.stop, outcome.n_evaluated), (Stop::Told, 50));
        assert!(!outcome.found.is_empty());
    }

    #[test]
    fn threats_keep_the_turn() {
        let (outcome, game) = found("tic-tac-toe", &Budget { evaluated: 3_000, kept: 3_000, ..SMALL });
        let control = game.program.symbols.find("control").expect("it has turns");
        let joined = outcome.found.iter().filter(|found| {
            let text = found.feature.display(&game.program.symbols).to_string();
            text.contains(game.program.symbols.name(control)) && text.matches("cell").count() >= 3
        });
        assert!(joined.count() > 0);
    }

    #[test]
    fn multiples_are_the_same() {
        assert_eq!(essence(&[1, 2, 4]), essence(&[5, 3, -1]));
        assert_ne!(essence(&[1, 2, 4]), essence(&[1, 2, 3]));
    }
}
