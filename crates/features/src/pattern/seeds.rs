//! Candidate patterns from the rules alone.
//!
//! The seeds are what unfolding makes of the rules' own conditions: of each move's legality, of goals and of the end, and of
//! every condition that these are made of; whole, and with any one literal left out. Regression adds what must hold one
//! move earlier. Joining two seeds that share a literal gives their conjunction, as conjoining two features that share a
//! variable does.

use gdl::ground::GroundProgram;

use super::set::{Literal, Patterns};
use super::unfold::{Unfolder, without_one};

/// How many candidates may be made.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Disjunctions with more conjunctions are no seeds.
    pub conjunctions: usize,
    /// Conjunctions that regressing one seed may give.
    pub regressions: usize,
    /// Literals of one pattern.
    pub literals: usize,
    /// Candidates in all.
    pub candidates: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { conjunctions: 64, regressions: 40, literals: 16, candidates: 1_000_000 }
    }
}

/// The unfolded conditions of the rules, in the order of the ground program; after them their versions that lack one literal.
/// The first number says how many whole ones there are.
pub fn conditions(unfolder: &mut Unfolder<'_>, ground: &GroundProgram, budget: &Budget) -> (usize, Patterns) {
    let outputs = ground.legal.iter().copied().chain(ground.goals.iter().map(|goal| goal.2)).chain(ground.terminal);
    outputs.for_each(|atom| _ = unfolder.unfold(atom));
    let mut patterns = Patterns::default();
    for (_, dnf) in unfolder.unfolded() {
        if !dnf.complete || dnf.conjunctions.len() > budget.conjunctions {
            continue;
        }
        for conjunction in dnf.conjunctions.iter().filter(|conjunction| unfolder.is_pattern(conjunction)) {
            if !conjunction.is_empty() && conjunction.len() <= budget.literals {
                patterns.insert(conjunction);
            }
        }
    }
    let n_whole = patterns.len();
    for index in 0..n_whole as u32 {
        let whole = patterns.get(index).to_vec();
        without_one(&whole).filter(|part| !part.is_empty()).for_each(|part| _ = patterns.insert(&part));
    }
    (n_whole, patterns)
}

/// Adds what may hold one move before each of the first `n` patterns; returns whether the budget sufficed.
pub fn regress(unfolder: &mut Unfolder<'_>, patterns: &mut Patterns, n: usize, budget: &Budget) -> bool {
    for index in 0..n.min(patterns.len()) as u32 {
        let pattern = patterns.get(index).to_vec();
        for cause in unfolder.regress(&pattern, budget.regressions) {
            if patterns.len() >= budget.candidates {
                return false;
            }
            if unfolder.is_pattern(&cause) && !cause.is_empty() && cause.len() <= budget.literals {
                patterns.insert(&cause);
            }
        }
    }
    true
}

/// Adds the conjunctions of a pattern of the range and one of the first `n` that share a literal and may hold together. Returns
/// whether the budget sufficed.
pub fn join(
    unfolder: &Unfolder<'_>,
    patterns: &mut Patterns,
    range: std::ops::Range<usize>,
    n: usize,
    budget: &Budget,
) -> bool {
    let mut with: Vec<Vec<u32>> = Vec::new();
    for index in 0..n.min(patterns.len()) as u32 {
        for literal in patterns.get(index) {
            if with.len() <= literal.0 as usize {
                with.resize(literal.0 as usize + 1, Vec::new());
            }
            with[literal.0 as usize].push(index);
        }
    }
    let mut partners: Vec<u32> = Vec::new();
    let mut joined: Vec<Literal> = Vec::new();
    for index in range.start as u32..range.end.min(patterns.len()) as u32 {
        let pattern = patterns.get(index).to_vec();
        partners.clear();
        for literal in &pattern {
            partners.extend(with.get(literal.0 as usize).into_iter().flatten());
        }
        partners.sort_unstable();
        partners.dedup();
        // Within the first, each pair is met once.
        for &partner in partners.iter().filter(|&&partner| partner < index) {
            joined.clear();
            joined.extend(pattern.iter().chain(patterns.get(partner)));
            if unfolder.settle(&mut joined) && joined.len() <= budget.literals {
                if patterns.len() >= budget.candidates {
                    return false;
                }
                patterns.insert(&joined);
            }
        }
    }
    true
}
