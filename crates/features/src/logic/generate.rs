//! Generation as in the thesis: breadth-first, until nothing new comes or the limit is met.

use rustc_hash::FxHashMap;

use super::canonical::{canonical, thesis_key};
use super::transform::{self, Context, Transformation};
use crate::feature::Feature;
use crate::formula::Formula;
use crate::reference::{Trimmed, Values};

/// How generation goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Generation stops when so many features have been expanded.
    pub max_expanded: usize,
    /// How many regressions there may be in a derivation.
    pub max_regressions: u32,
    /// Whether duplicates are found by the key of the thesis, which depends on the order of conjuncts.
    pub thesis_key: bool,
}

impl Settings {
    /// Those of the thesis, with a key that finds all duplicates.
    pub const THESIS: Settings = Settings { max_expanded: 100_000, max_regressions: 3, thesis_key: false };
}

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There is nothing more.
    Exhausted,
    /// So many features were expanded.
    Expanded(usize),
    /// The caller ended it.
    Told,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Exhausted => write!(f, "there was nothing more"),
            Stop::Expanded(n) => write!(f, "{n} features were expanded"),
            Stop::Told => write!(f, "it was told to stop"),
        }
    }
}

/// A feature with where it comes from.
#[derive(Clone, Debug)]
pub struct Node {
    /// The feature.
    pub feature: Feature,
    /// What it was made from; a root was made from nothing.
    pub parent: Option<usize>,
    /// How it was made first.
    pub by: Transformation,
    /// The least number of regressions in a derivation.
    pub regressions: u32,
    /// Whether its value is above 0 on all states of the sample.
    pub always: bool,
}

/// The features that were generated.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The features, in the order in which they came.
    pub nodes: Vec<Node>,
    /// Pairs of a more abstract or less detailed feature and the other one, each once, sorted.
    pub edges: Vec<(usize, usize)>,
    /// How many features each transformation gave, duplicates included.
    pub counts: Vec<(Transformation, usize)>,
    /// How many features were expanded.
    pub n_expanded: usize,
    /// How many different features had too many bindings to count: they have an empty list.
    pub n_uncounted: usize,
    /// How many had no value even so, duplicates included: they are left out.
    pub n_without_values: usize,
    /// Why generation ended.
    pub stop: Stop,
}

impl Generated {
    /// How many features came, duplicates included.
    pub fn n_generated(&self) -> usize {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// How many features came by a transformation, duplicates included.
    pub fn count(&self, by: Transformation) -> usize {
        self.counts.iter().find(|(own, _)| *own == by).map_or(0, |(_, count)| *count)
    }
}

/// Generates features from the bodies of `goal` and `terminal`. The values are those on the small sample. `progress` is told
/// how many features were expanded and how many there are; it may end the work by returning `false`.
pub fn generate(
    context: &Context,
    settings: &Settings,
    values: &mut dyn Values,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Generated {
    let key = if settings.thesis_key { thesis_key } else { canonical };
    let mut work = Generation {
        key,
        met: FxHashMap::default(),
        table: FxHashMap::default(),
        generated: Generated {
            nodes: Vec::new(),
            edges: Vec::new(),
            counts: Transformation::ALL.iter().map(|&by| (by, 0)).collect(),
            n_expanded: 0,
            n_uncounted: 0,
            n_without_values: 0,
            stop: Stop::Exhausted,
        },
    };
    for body in context.rules.goals_and_ends() {
        if let Some(root) = context.restored(&body) {
            work.add(None, Transformation::Root, root, values);
        }
    }
    // Only different roots count.
    work.generated.counts[0].1 = work.generated.nodes.len();
    let mut at = 0;
    while at < work.generated.nodes.len() {
        if work.generated.n_expanded >= settings.max_expanded {
            work.generated.stop = Stop::Expanded(settings.max_expanded);
            break;
        }
        if !progress(at, work.generated.nodes.len()) {
            work.generated.stop = Stop::Told;
            break;
        }
        work.generated.n_expanded += 1;
        for (by, child) in expand(context, settings, &work.generated.nodes[at], values) {
            work.add(Some(at), by, child, values);
        }
        at += 1;
    }
    work.generated.edges.sort_unstable();
    work.generated.edges.dedup();
    work.generated
}

/// What becomes of a feature: its independent parts if it has some, otherwise what all other transformations give.
pub fn expand(
    context: &Context,
    settings: &Settings,
    node: &Node,
    values: &mut dyn Values,
) -> Vec<(Transformation, Feature)> {
    let feature = &node.feature;
    let mut found = Vec::new();
    let mut add = |by, children: Vec<Feature>| found.extend(children.into_iter().map(|child| (by, child)));
    if feature.formula.components().len() > 1 {
        add(Transformation::SplitIndependent, transform::split_independent(context, feature));
        return found;
    }
    if !node.always {
        add(Transformation::RemoveConjunct, transform::remove_conjunct(context, feature));
        add(Transformation::RemoveVariable, transform::remove_variable(context, feature, values));
        if node.regressions < settings.max_regressions {
            add(Transformation::Regress, transform::regress(context, feature));
        }
    }
    add(Transformation::SplitDisjunction, transform::split_disjunction(context, feature));
    add(Transformation::ExpandToBaseCase, transform::expand_to_base_case(context, feature));
    add(Transformation::ExpandPredicate, transform::expand_predicate(context, feature));
    add(Transformation::RemoveNegation, transform::remove_negation(context, feature));
    found
}

struct Generation {
    key: fn(&Feature) -> Feature,
    /// The features that came, before their lists were trimmed, and what became of them; none if they have no value.
    met: FxHashMap<Feature, Option<usize>>,
    /// The features that are kept.
    table: FxHashMap<Feature, usize>,
    generated: Generated,
}

impl Generation {
    fn add(&mut self, parent: Option<usize>, by: Transformation, feature: Feature, values: &mut dyn Values) {
        let regressions = parent.map_or(0, |parent| self.generated.nodes[parent].regressions)
            + u32::from(by == Transformation::Regress);
        // What was written in the same way before needs no further thought; nor does what means the same.
        let node = match self.met.get(&feature) {
            Some(&known) => known,
            None => {
                let form = (self.key)(&feature);
                let known = self.met.get(&form).copied();
                let node = known.unwrap_or_else(|| self.keep(&form, parent, by, regressions, values));
                self.met.insert(form, node);
                self.met.insert(feature, node);
                node
            }
        };
        let generated = &mut self.generated;
        let Some(node) = node else {
            generated.n_without_values += 1;
            return;
        };
        let place = Transformation::ALL.iter().position(|&other| other == by).expect("all are listed");
        generated.counts[place].1 += 1;
        generated.nodes[node].regressions = generated.nodes[node].regressions.min(regressions);
        if let (Some(parent), Some(child_is_abstract)) = (parent, by.child_is_abstract())
            && parent != node
        {
            generated.edges.push(if child_is_abstract { (node, parent) } else { (parent, node) });
        }
    }

    /// Trims the list of a feature and keeps it, unless what is left is known.
    fn keep(
        &mut self,
        feature: &Feature,
        parent: Option<usize>,
        by: Transformation,
        regressions: u32,
        values: &mut dyn Values,
    ) -> Option<usize> {
        let mut feature = feature.clone();
        let trimmed = values.trim(&feature).or_else(|| {
            // Whether there is a binding is often found where all of them are too many.
            feature.list.clear();
            self.generated.n_uncounted += 1;
            values.trim(&feature)
        });
        let Trimmed { list, always } = trimmed?;
        feature.list = list;
        let next = self.generated.nodes.len();
        let node = *self.table.entry((self.key)(&feature)).or_insert(next);
        if node == next {
            self.generated.nodes.push(Node { feature, parent, by, regressions, always });
        }
        Some(node)
    }
}

/// Whether the formula is a negation.
pub fn is_negation(formula: &Formula) -> bool {
    matches!(formula, Formula::Not(_))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::preimage::Preimages;
    use super::super::preimage::tests::sampled;
    use super::super::transform::Limits;
    use super::*;
    use crate::reference::Reference;

    /// What the thesis's generator finds for Tic-Tac-Toe, and the 3000 states.
    pub(crate) fn tic_tac_toe(seed: u64, settings: &Settings) -> (Generated, Reference, super::super::rules::Rules) {
        let (rules, dynamics, _) = sampled("tic-tac-toe");
        let preimages = Preimages::new(&rules, &Limits::THESIS.simplify, &dynamics);
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let states = Reference::random(&rules.program, 3_000, 10_000, seed);
        let mut few = states.choose(100, seed);
        let generated = generate(&context, settings, &mut few, &mut |_, _| true);
        (generated, states, rules)
    }

    #[test]
    fn tic_tac_toe_gives_the_counts_of_the_thesis() {
        for seed in 1..=3 {
            let (found, ..) = tic_tac_toe(seed, &Settings::THESIS);
            assert_eq!(found.stop, Stop::Exhausted);
            let counts: Vec<(&str, usize)> = found.counts.iter().map(|(by, count)| (by.name(), *count)).collect();
            assert_eq!(found.count(Transformation::Root), 4);
            assert_eq!(found.count(Transformation::SplitIndependent), 187, "{counts:?}");
            assert_eq!(found.count(Transformation::ExpandPredicate), 10, "{counts:?}");
            assert_eq!(found.count(Transformation::RemoveNegation), 3, "{counts:?}");
            assert!((600..=720).contains(&found.n_generated()), "{counts:?}");
            assert!((245..=270).contains(&found.nodes.len()), "{}", found.nodes.len());
        }
    }

    #[test]
    fn the_caller_may_end_it() {
        let (rules, dynamics, _) = sampled("tic-tac-toe");
        let preimages = Preimages::new(&rules, &Limits::THESIS.simplify, &dynamics);
        let context = Context { rules: &rules, preimages: &preimages, limits: &Limits::THESIS };
        let mut states = Reference::random(&rules.program, 20, 100, 1);
        let found = generate(&context, &Settings::THESIS, &mut states, &mut |done, _| done < 7);
        assert_eq!((found.stop, found.n_expanded), (Stop::Told, 7));
        assert!(found.nodes.len() > 7);
    }
}
