//! Patterns as conjunctions of literals, and large sets of them.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// A fact that holds, or that does not: twice the fact's number, plus one if it does not. Facts are the fluents of a network by
/// their places, and beyond them what [`super::unfold`] leaves standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(pub u32);

impl Literal {
    /// The fact holds.
    pub fn of(fact: u32) -> Literal {
        Literal(fact << 1)
    }

    /// The fact.
    pub fn fact(self) -> u32 {
        self.0 >> 1
    }

    /// Whether the literal asks that the fact does not hold.
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// The opposite.
    pub fn negated(self) -> Literal {
        Literal(self.0 ^ 1)
    }

    /// The opposite, if `negate`.
    pub fn negate_if(self, negate: bool) -> Literal {
        Literal(self.0 ^ u32::from(negate))
    }

    /// Whether it holds in a state of one bit for each fluent.
    #[inline]
    pub fn holds(self, bits: &[u64]) -> bool {
        let fact = self.fact() as usize;
        (bits[fact / 64] >> (fact % 64) & 1 == 1) != self.is_negated()
    }
}

/// Whether all literals hold in a state.
pub fn matches(pattern: &[Literal], bits: &[u64]) -> bool {
    pattern.iter().all(|literal| literal.holds(bits))
}

/// Whether every literal of `small` is in `large`; both ascend.
pub fn is_subset(small: &[Literal], large: &[Literal]) -> bool {
    let mut rest = large.iter();
    small.len() <= large.len() && small.iter().all(|literal| rest.any(|other| other == literal))
}

/// A set of patterns, each an ascending list of literals, numbered in the order in which they came. Made for tens of
/// millions of them: all literals lie in one array.
#[derive(Clone, Debug)]
pub struct Patterns {
    starts: Vec<u32>,
    literals: Vec<Literal>,
    /// Open addressing; places hold numbers of patterns.
    places: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Default for Patterns {
    fn default() -> Patterns {
        Patterns { starts: vec![0], literals: Vec::new(), places: vec![FREE; 16] }
    }
}

impl Patterns {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A pattern, by its number.
    #[inline]
    pub fn get(&self, index: u32) -> &[Literal] {
        &self.literals[self.starts[index as usize] as usize..self.starts[index as usize + 1] as usize]
    }

    /// All patterns in order.
    pub fn iter(&self) -> impl Iterator<Item = &[Literal]> {
        (0..self.len() as u32).map(|index| self.get(index))
    }

    /// How many literals they have together.
    pub fn n_literals(&self) -> usize {
        self.literals.len()
    }

    /// Adds a pattern, an ascending list, unless it is there; says whether it was new.
    ///
    /// # Panics
    /// If the patterns have more than four billion literals together.
    pub fn insert(&mut self, pattern: &[Literal]) -> bool {
        debug_assert!(pattern.is_sorted_by(|one, other| one < other), "patterns ascend");
        let place = self.place(pattern);
        if self.places[place] != FREE {
            return false;
        }
        self.places[place] = self.len() as u32;
        self.literals.extend_from_slice(pattern);
        self.starts.push(u32::try_from(self.literals.len()).expect("fewer than four billion literals"));
        if self.len() * 4 > self.places.len() * 3 {
            self.grow();
        }
        true
    }

    /// The number of a pattern.
    pub fn find(&self, pattern: &[Literal]) -> Option<u32> {
        Some(self.places[self.place(pattern)]).filter(|&index| index != FREE)
    }

    /// Where a pattern is, or where it would go.
    fn place(&self, pattern: &[Literal]) -> usize {
        let mask = self.places.len() - 1;
        let mut place = hash(pattern) as usize & mask;
        while self.places[place] != FREE && self.get(self.places[place]) != pattern {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let mask = self.places.len() * 2 - 1;
        let mut places = vec![FREE; mask + 1];
        for index in 0..self.len() as u32 {
            let mut place = hash(self.get(index)) as usize & mask;
            while places[place] != FREE {
                place = (place + 1) & mask;
            }
            places[place] = index;
        }
        self.places = places;
    }
}

impl<P: AsRef<[Literal]>> FromIterator<P> for Patterns {
    fn from_iter<I: IntoIterator<Item = P>>(patterns: I) -> Patterns {
        let mut set = Patterns::default();
        patterns.into_iter().for_each(|pattern| _ = set.insert(pattern.as_ref()));
        set
    }
}

fn hash(pattern: &[Literal]) -> u64 {
    let mut hasher = FxHasher::default();
    pattern.hash(&mut hasher);
    // The low bits of this hash are its weakest.
    hasher.finish().rotate_left(26)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_each_pattern_once_and_finds_it_again() {
        let mut set = Patterns::default();
        let pattern = |seed: u32| -> Vec<Literal> {
            (0..16).filter(|bit| seed >> bit & 1 == 1).map(|bit| Literal(3 * bit)).collect()
        };
        (0..5000).for_each(|seed| assert!(set.insert(&pattern(seed))));
        (0..5000).for_each(|seed| assert!(!set.insert(&pattern(seed))));
        assert_eq!(set.len(), 5000);
        assert!((0..5000).all(|seed| set.find(&pattern(seed)) == Some(seed) && set.get(seed) == pattern(seed)));
        assert_eq!(set.find(&pattern(5000)), None);
    }
}
