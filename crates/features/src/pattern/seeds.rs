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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::testing::game;
    use crate::pattern::unfold::{self, proved_groups};

    #[test]
    fn tic_tac_toe_lines_regress_to_lines_that_lack_one() {
        let game = game("tic-tac-toe");
        let ground = game.circuit.ground.as_ref().expect("it is kept");
        let network = &game.circuit.network;
        let groups = proved_groups(&game.structure, &game.circuit);
        let mut unfolder = Unfolder::new(ground, network, groups, unfold::Budget::default());
        let budget = Budget::default();
        let fluent = |name: &str| {
            let wire = network.fluent(name).expect("there is such a fluent");
            Literal::of(wire.gate() - 1).negate_if(wire.is_inverted())
        };
        let conjunction = |names: &[&str]| {
            let mut literals: Vec<Literal> = names.iter().map(|name| fluent(name)).collect();
            literals.sort_unstable();
            literals
        };
        let (n_whole, mut patterns) = conditions(&mut unfolder, ground, &budget);
        let line = conjunction(&["(cell 1 1 x)", "(cell 1 2 x)", "(cell 1 3 x)"]);
        assert!(patterns.find(&line).is_some_and(|index| (index as usize) < n_whole));
        assert!(patterns.find(&line[1..]).is_some(), "with a literal left out");
        assert!(patterns.find(&conjunction(&["(cell 2 2 b)", "(control oplayer)"])).is_some(), "a legal move");
        let almost = conjunction(&["(cell 1 1 x)", "(cell 1 2 x)", "(cell 1 3 b)", "(control xplayer)"]);
        assert!(patterns.find(&almost).is_none());
        assert!(regress(&mut unfolder, &mut patterns, n_whole, &budget));
        assert!(patterns.find(&almost).is_some());
        // Joins share a literal and can hold.
        let n = patterns.len();
        assert!(join(&unfolder, &mut patterns, 0..n_whole, n_whole, &budget));
        let fork = conjunction(&["(cell 1 1 x)", "(cell 1 2 x)", "(cell 1 3 x)", "(cell 2 1 x)", "(cell 3 1 x)"]);
        assert!(patterns.find(&fork).is_some());
        assert!(patterns.len() > n);
        for pattern in patterns.iter().skip(n) {
            assert!(unfolder.settle(&mut pattern.to_vec()), "{pattern:?} can't hold");
        }
        let few = Budget { candidates: patterns.len(), ..budget };
        assert!(!join(&unfolder, &mut patterns, 0..n, n, &few), "the budget is said to be spent");
    }
}
