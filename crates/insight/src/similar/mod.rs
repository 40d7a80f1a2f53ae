//! Near matches: games that share many of their rules.
//!
//! Two games are compared with the lengths of orders taken out ([`crate::variant`]), rule by rule: the names of one game are
//! assigned to names of the other so that as many of its rules as possible become rules of the other. A rule counts by its
//! literals. Finding the best assignment is hard in general; this is a greedy one, improved step by step. It begins with
//! rules that look alike in their wide surroundings and follows the names in them.
//!
//! Assignments are made between canonical forms, so that scores don't depend on what anything is called.

mod assign;
mod sketch;

use gdl::program::{Program, RuleId};

pub use sketch::Sketch;

use crate::canonical::Canonical;
use crate::mapping::Mapping;
use crate::skeleton::{Name, Node, Shape, Skeleton};
use crate::variant::abstraction::{Abstraction, Reading};
use crate::variant::align::along_orders;
use crate::variant::side::Side;
use crate::variant::simplified;
use assign::{assign, literal_looks};

/// How much two games have in common.
#[derive(Clone, Debug)]
pub struct Similarity {
    /// The share of rules that both have, from 0 to 1: twice the weight of common rules by the weight of all.
    pub score: f64,
    /// Whether what is best in the one is worst in the other.
    pub is_inverted: bool,
    /// What the names of the one are in the other.
    pub mapping: Mapping,
    /// Rules that are equal under the mapping, but for particulars.
    pub matched: Vec<(RuleId, RuleId)>,
    /// Rules that are alike but not equal.
    pub changed: Vec<(RuleId, RuleId)>,
    /// Rules that only the first game has.
    pub missing: Vec<RuleId>,
    /// Rules that only the second game has.
    pub added: Vec<RuleId>,
    /// Whether the search ended before it had tried all that it wanted to.
    pub is_cut_short: bool,
}

/// A game and its canonical form.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// The game.
    pub program: &'a Program,
    /// Its canonical form.
    pub canonical: &'a Canonical,
}

/// How much a rule counts. Lists of facts are long and much alike.
pub(crate) fn weight(rule: &Shape) -> u32 {
    if rule.body.is_empty() { 1 } else { 4 + 4 * rule.body.len() as u32 }
}

/// Compares two games, and the first one with the second one turned around, where what is best is worst. `budget` limits the
/// attempts to match two rules; see [`BUDGET`].
pub fn compare(source: Form, target: Form, budget: u32) -> Similarity {
    let program = &target.canonical.program;
    let readings = Abstraction::new(program, Reading::Same).readings(program);
    let mut best = compare_as(source, target, Reading::Same, budget);
    if best.score < MIN_TURNED {
        return best;
    }
    for reading in readings {
        let turned = compare_as(source, target, reading, budget);
        if turned.score > best.score {
            best = turned;
        }
    }
    best
}

/// Compares two games with the goals of the second one read in this way.
fn compare_as(source: Form, target: Form, reading: Reading, budget: u32) -> Similarity {
    let sides = [(source, Reading::Same), (target, reading)];
    let sides = sides.map(|(form, reading)| Side::with_initial(&form.canonical.program, reading));
    let [from, to] = [&sides[0], &sides[1]].map(|side| &side.abstraction.skeleton);
    let assignment = assign(from, to, budget);
    // Step 1. What the names become.
    let image = |(name, image): (&Name, &Option<u32>)| match name {
        Name::Relation(_) | Name::Function(_) | Name::Object(..) => {
            Some((*name, to.names[(*image)? as usize].symbol()?))
        }
        _ => None,
    };
    let names = from.names.iter().zip(&assignment.image).filter_map(image).collect();
    let sorts = Abstraction::with_initial(&simplified(source.program, &gdl::Stop::never()), Reading::Same).sorts;
    let mapping =
        along_orders(&sides[0], &sides[1], names, reading).between_originals(source.canonical, sorts, target.canonical);
    // Step 2. What the rules become.
    let mut is_taken = vec![false; to.rules.len()];
    assignment.rules.iter().flatten().for_each(|&rule| is_taken[rule] = true);
    let mut changed: Vec<Option<usize>> = vec![None; from.rules.len()];
    let ours = literal_looks(from, |name| assignment.image[name as usize]);
    let theirs = literal_looks(to, Some);
    let has_body = |rule: &Shape| !rule.body.is_empty();
    let is_open = |&one: &usize| assignment.rules[one].is_none() && has_body(&from.rules[one]);
    for one in (0..from.rules.len()).filter(is_open) {
        let likeness = |other: usize| {
            let n_common = n_common(&ours[one], &theirs[other]);
            let is_alike = 3 * n_common >= ours[one].len().max(theirs[other].len());
            (is_alike && same_head(&from.rules[one], &to.rules[other], &assignment.image)).then_some(n_common)
        };
        let free = (0..to.rules.len()).filter(|&other| !is_taken[other] && has_body(&to.rules[other]));
        let best = free.filter_map(|other| Some((likeness(other)?, std::cmp::Reverse(other)))).max();
        if let Some((_, std::cmp::Reverse(other))) = best {
            is_taken[other] = true;
            changed[one] = Some(other);
        }
    }
    // Step 3. The report, in terms of the games themselves.
    let own = |form: Form, skeleton: &Skeleton, rule: usize| form.canonical.rules[skeleton.origins[rule].0 as usize];
    let pairs = |images: &[Option<usize>]| {
        let mut pairs: Vec<(RuleId, RuleId)> = images
            .iter()
            .enumerate()
            .filter_map(|(rule, image)| Some((own(source, from, rule), own(target, to, (*image)?))))
            .collect();
        pairs.sort_unstable();
        pairs
    };
    let sorted = |mut rules: Vec<RuleId>| {
        rules.sort_unstable();
        rules
    };
    let is_missing = |&rule: &usize| assignment.rules[rule].is_none() && changed[rule].is_none();
    let missing = (0..from.rules.len()).filter(is_missing).map(|rule| own(source, from, rule));
    let added = (0..to.rules.len()).filter(|&rule| !is_taken[rule]).map(|rule| own(target, to, rule));
    let all = |skeleton: &Skeleton| skeleton.rules.iter().map(weight).sum::<u32>();
    let is_matched = |(rule, image): (&Shape, &Option<usize>)| if image.is_some() { weight(rule) } else { 0 };
    let common: u32 = from.rules.iter().zip(&assignment.rules).map(is_matched).sum();
    Similarity {
        score: f64::from(2 * common) / f64::from((all(from) + all(to)).max(1)),
        is_inverted: reading != Reading::Same,
        mapping,
        matched: pairs(&assignment.rules),
        changed: pairs(&changed),
        missing: sorted(missing.collect()),
        added: sorted(added.collect()),
        is_cut_short: assignment.is_cut_short,
    }
}

/// Games that share less are not compared with their goals turned around.
const MIN_TURNED: f64 = 0.4;

/// Enough for most games, in attempts to match two rules.
pub const BUDGET: u32 = 20_000;

/// How many numbers two ascending lists have in common.
fn n_common(one: &[u64], other: &[u64]) -> usize {
    let (mut left, mut right, mut n_common) = (one, other, 0);
    while let ([first, ..], [second, ..]) = (left, right) {
        n_common += usize::from(first == second);
        (left, right) = (&left[usize::from(first <= second)..], &right[usize::from(second <= first)..]);
    }
    n_common
}

/// Whether two rules say something about the same relation, or the same kind of fluents or moves.
fn same_head(one: &Shape, other: &Shape, image: &[Option<u32>]) -> bool {
    let (Node::Applied(one, args), Node::Applied(other, others)) = (&one.head, &other.head) else { return false };
    let same = |one: u32, other: u32| image[one as usize] == Some(other);
    let inner = args.iter().zip(others).all(|pair| match pair {
        (Node::Applied(one, args), Node::Applied(other, _)) if !args.is_empty() => same(*one, *other),
        _ => true,
    });
    same(*one, *other) && inner
}
