//! Sets of positions, one bit each.
//!
//! Long loops over words go through [`Counter`], which uses the widest vectors that the processor has. The bits behind the
//! last position are always zero.

use machine::lanes::count::Counter;

/// A set of positions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits {
    words: Box<[u64]>,
    len: usize,
}

/// Words between two looks at whether a count can still reach its threshold.
const BLOCK: usize = 64;

impl Bits {
    /// No position out of `len`.
    pub fn zeros(len: usize) -> Bits {
        Bits { words: vec![0; len.div_ceil(64)].into(), len }
    }

    /// Every position of `len`.
    pub fn ones(len: usize) -> Bits {
        Bits::from_words(vec![!0; len.div_ceil(64)], len)
    }

    /// The positions for which a test holds.
    pub fn from_fn(len: usize, test: impl Fn(usize) -> bool) -> Bits {
        let mut bits = Bits::zeros(len);
        (0..len).filter(|&at| test(at)).for_each(|at| bits.words[at / 64] |= 1 << (at % 64));
        bits
    }

    /// Bits given as words, the first position lowest; what stands behind the last position is cleared.
    ///
    /// # Panics
    /// If there are too few or too many words.
    pub fn from_words(words: Vec<u64>, len: usize) -> Bits {
        assert_eq!(words.len(), len.div_ceil(64), "words for each position");
        let mut bits = Bits { words: words.into(), len };
        if let (true, Some(last)) = (!len.is_multiple_of(64), bits.words.last_mut()) {
            *last &= (1 << (len % 64)) - 1;
        }
        bits
    }

    /// How many positions there are, in the set or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no positions at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bits as words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether a position is in the set.
    pub fn get(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Puts a position into the set, or takes it out.
    pub fn set(&mut self, at: usize, value: bool) {
        assert!(at < self.len, "a position of the set");
        let bit = 1 << (at % 64);
        if value { self.words[at / 64] |= bit } else { self.words[at / 64] &= !bit }
    }

    /// How many positions are in the set.
    pub fn count(&self) -> u32 {
        Counter::detect().count(&self.words)
    }

    /// How many positions are in both sets.
    pub fn and_count(&self, other: &Bits) -> u32 {
        Counter::detect().and_count(&self.words, &other.words)
    }

    /// How many positions are in this set and not in the other.
    pub fn and_not_count(&self, other: &Bits) -> u32 {
        Counter::detect().and_not_count(&self.words, &other.words)
    }

    /// Whether at least `n` positions are in both sets; stops as soon as that is certain or impossible.
    pub fn and_reaches(&self, other: &Bits, n: u32) -> bool {
        let counter = Counter::detect();
        let (mut count, mut left) = (0, 64 * self.words.len());
        for (one, other) in self.words.chunks(BLOCK).zip(other.words.chunks(BLOCK)) {
            if count >= n || count as usize + left < n as usize {
                break;
            }
            count += counter.and_count(one, other);
            left -= 64 * one.len();
        }
        count >= n
    }

    /// What both sets have.
    pub fn and(&self, other: &Bits) -> Bits {
        self.zip(other, |one, other| one & other)
    }

    /// What this set has and the other has not.
    pub fn and_not(&self, other: &Bits) -> Bits {
        self.zip(other, |one, other| one & !other)
    }

    /// What at least one of the sets has.
    pub fn or(&self, other: &Bits) -> Bits {
        self.zip(other, |one, other| one | other)
    }

    /// The positions that are not in the set.
    pub fn not(&self) -> Bits {
        Bits::from_words(self.words.iter().map(|word| !word).collect(), self.len)
    }

    /// Keeps what the other set has, too, and counts it.
    pub fn keep_common(&mut self, other: &Bits) -> u32 {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
        self.count()
    }

    /// Writes what two sets have in common into this one, and counts it.
    pub fn assign_and(&mut self, one: &Bits, other: &Bits) -> u32 {
        Counter::detect().and_into(&one.words, &other.words, &mut self.words)
    }

    /// Writes what one set has and the other has not into this one, and counts it.
    pub fn assign_and_not(&mut self, one: &Bits, other: &Bits) -> u32 {
        Counter::detect().and_not_into(&one.words, &other.words, &mut self.words)
    }

    /// Whether the other set has everything that this one has.
    pub fn is_subset(&self, other: &Bits) -> bool {
        self.words.iter().zip(&other.words).all(|(one, other)| one & !other == 0)
    }

    /// The positions of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let at = (word != 0).then(|| 64 * index + word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(at)
            })
        })
    }

    fn zip(&self, other: &Bits, combine: impl Fn(u64, u64) -> u64) -> Bits {
        let words = self.words.iter().zip(&other.words).map(|(&one, &other)| combine(one, other)).collect();
        Bits { words, len: self.len }
    }
}

/// A column for each of the first `n_bits` bits of states that stand one after another, `words` words each.
///
/// # Panics
/// If the states don't fill their words, or have fewer bits.
pub fn transpose(states: &[u64], words: usize, n_bits: usize) -> Vec<Bits> {
    if n_bits == 0 {
        return Vec::new();
    }
    assert!(states.len().is_multiple_of(words) && n_bits <= 64 * words, "whole states");
    let len = states.len() / words;
    let mut columns: Vec<Bits> = (0..n_bits).map(|_| Bits::zeros(len)).collect();
    for (row, block) in states.chunks(64 * words).enumerate() {
        for word in 0..words.min(n_bits.div_ceil(64)) {
            let mut square = [0; 64];
            block.chunks(words).zip(&mut square).for_each(|(state, line)| *line = state[word]);
            transpose_square(&mut square);
            let wanted = columns[64 * word..n_bits.min(64 * word + 64)].iter_mut();
            wanted.zip(&square).for_each(|(column, &line)| column.words[row] = line);
        }
    }
    columns
}

/// Exchanges the rows and columns of a square of bits, by exchanging ever smaller blocks.
fn transpose_square(square: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = !0u64 >> 32;
    while width != 0 {
        let mut at = 0;
        while at < 64 {
            let swapped = (square[at] >> width ^ square[at + width]) & mask;
            square[at] ^= swapped << width;
            square[at + width] ^= swapped;
            at = (at + width + 1) & !width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn operations_are_those_of_sets(
            pairs in prop::collection::vec(any::<(bool, bool)>(), 0..9000),
            n in 0u32..3000,
        ) {
            let one = Bits::from_fn(pairs.len(), |at| pairs[at].0);
            let other = Bits::from_fn(pairs.len(), |at| pairs[at].1);
            let many = |test: fn(&(bool, bool)) -> bool| pairs.iter().filter(|pair| test(pair)).count() as u32;
            prop_assert_eq!(one.count(), many(|pair| pair.0));
            prop_assert_eq!(one.and_count(&other), many(|pair| pair.0 && pair.1));
            prop_assert_eq!(one.and_not_count(&other), many(|pair| pair.0 && !pair.1));
            prop_assert_eq!(one.or(&other).count(), many(|pair| pair.0 || pair.1));
            prop_assert_eq!(one.not().count(), many(|pair| !pair.0));
            prop_assert_eq!(one.and_reaches(&other, n), one.and_count(&other) >= n);
            prop_assert!(one.and(&other).is_subset(&one));
            prop_assert_eq!(one.iter().collect::<Vec<_>>(), (0..pairs.len()).filter(|&at| pairs[at].0).collect::<Vec<_>>());
        }

        #[test]
        fn columns_hold_the_bits_of_states(
            states in prop::collection::vec(any::<[u64; 3]>(), 0..200),
            n_bits in 0usize..=192,
        ) {
            let flat: Vec<u64> = states.iter().flatten().copied().collect();
            let columns = transpose(&flat, 3, n_bits);
            prop_assert_eq!(columns.len(), n_bits);
            for (bit, column) in columns.iter().enumerate() {
                prop_assert_eq!(column, &Bits::from_fn(states.len(), |at| states[at][bit / 64] >> (bit % 64) & 1 == 1));
            }
        }
    }
}
