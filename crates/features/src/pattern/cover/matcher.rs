//! Keeping up with a state that changes.

use super::{Cover, NONE, PAIRED};
use crate::pattern::set::Literal;

/// Which patterns of a cover match in a state, and the sum of their weights.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// How many sources of each node are not true.
    pub(super) missing: Vec<u8>,
    /// 1 for each node that is true and has been passed on as such, otherwise 0; for possible sources of pairs.
    on: Box<[u8; PAIRED]>,
    score: i64,
    /// Edges walked so far.
    walked: u64,
    /// Nodes that have flipped and are to be passed on, in an array with room for all of them.
    open: Vec<u32>,
}

impl Matcher {
    /// A matcher in a state of one bit for each fluent.
    pub fn new(cover: &Cover, bits: &[u64]) -> Matcher {
        let mut matcher = Matcher {
            missing: cover.n_sources.clone(),
            on: Box::new([0; PAIRED]),
            score: cover.constant,
            walked: 0,
            open: vec![0; cover.n_sources.len() + 1],
        };
        let mut n_open = 0;
        for (literal, &node) in (0..).map(Literal).zip(&cover.literals) {
            if node != NONE && literal.holds(bits) {
                matcher.flip::<true>(cover, node, &mut n_open);
            }
        }
        matcher.pass_on::<true>(cover, n_open);
        matcher.walked = 0;
        matcher
    }

    /// The sum of the weights of the patterns that match.
    pub fn score(&self) -> i64 {
        self.score
    }

    /// Whether a pattern matches.
    pub fn matches(&self, cover: &Cover, pattern: u32) -> bool {
        let (one, other) = cover.patterns[pattern as usize];
        one == NONE || self.missing[one as usize] == 0 && self.missing[other as usize] == 0
    }

    /// How many edges were walked since it was made.
    pub fn walked(&self) -> u64 {
        self.walked
    }

    /// Goes from one state to another. What ceases to hold goes first, so that nothing matches in between that matches in
    /// neither state: no node flips twice.
    pub fn update(&mut self, cover: &Cover, before: &[u64], after: &[u64]) {
        self.update_some::<false>(cover, before, after);
        self.update_some::<true>(cover, before, after);
    }

    /// The literals that become true, or those that become false.
    fn update_some<const RISING: bool>(&mut self, cover: &Cover, before: &[u64], after: &[u64]) {
        let mut n_open = 0;
        for (index, (&before, &after)) in before.iter().zip(after).enumerate() {
            let mut changed = before ^ after;
            while changed != 0 {
                let bit = changed.trailing_zeros();
                let literal = Literal::of(64 * index as u32 + bit).negate_if((after >> bit & 1 == 1) != RISING);
                if let Some(&node) = cover.literals.get(literal.0 as usize)
                    && node != NONE
                {
                    self.flip::<RISING>(cover, node, &mut n_open);
                }
                changed &= changed - 1;
            }
        }
        self.pass_on::<RISING>(cover, n_open);
    }

    /// A literal has become true, or false.
    fn flip<const RISING: bool>(&mut self, cover: &Cover, literal: u32, n_open: &mut usize) {
        self.missing[literal as usize] = u8::from(!RISING);
        if literal < cover.n_read {
            self.open[*n_open] = literal;
            *n_open += 1;
        } else {
            let weight = i64::from(cover.weights[literal as usize]);
            self.score += if RISING { weight } else { -weight };
        }
    }

    /// Passes on the flips of the first open nodes, and of those that flip because of them.
    fn pass_on<const RISING: bool>(&mut self, cover: &Cover, mut n_open: usize) {
        let (mut sum, mut walked, mut next) = (0i64, 0, 0);
        while next < n_open {
            let node = self.open[next] as usize;
            next += 1;
            sum += i64::from(cover.weights[node]);
            let (from, to) = (cover.starts[node], cover.starts[node + 1]);
            let inner = &cover.inner[from.inner as usize..to.inner as usize];
            let last = &cover.last[from.last as usize..to.last as usize];
            let pairs = &cover.pairs[from.pairs as usize..to.pairs as usize];
            walked += inner.len() + last.len() + pairs.len();
            // Whether one of these flips can't be foreseen, so it is always noted and counted only if it does. Those below flip
            // so seldom, among many, that a branch is faster.
            for &target in inner {
                self.open[n_open] = target;
                n_open += usize::from(count::<RISING>(&mut self.missing[target as usize]));
            }
            for &target in last {
                if count::<RISING>(&mut self.missing[target as usize]) {
                    sum += i64::from(cover.weights[target as usize]);
                }
            }
            // The second source of a pair to be passed on finds the first one on.
            for &(other, weight) in pairs {
                sum += i64::from(weight & -i16::from(self.on[other as usize]));
            }
            if let Some(on) = self.on.get_mut(node) {
                *on = u8::from(RISING);
            }
        }
        self.score += if RISING { sum } else { -sum };
        self.walked += walked as u64;
    }
}

/// A source of a node has become true, or false; says whether the node has.
#[inline]
fn count<const RISING: bool>(missing: &mut u8) -> bool {
    if RISING {
        *missing -= 1;
        *missing == 0
    } else {
        *missing += 1;
        *missing == 1
    }
}
