//! Many states, kept small.

/// States one after another: as they are, or as lists of the fluents that hold where there are many fluents.
#[derive(Debug)]
pub(super) struct States {
    n_words: usize,
    words: Vec<u64>,
    /// For lists: the fluents, and where each state's begin; one more at the end.
    fluents: Vec<u32>,
    first: Vec<usize>,
}

/// From so many words on, lists are kept: most fluents do not hold.
pub(super) const LISTED: usize = 32;

impl States {
    pub(super) fn new(n_words: usize) -> States {
        States { n_words, words: Vec::new(), fluents: Vec::new(), first: vec![0] }
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.words.len() + 4 * self.fluents.len() + 8 * self.first.len()
    }

    pub(super) fn push(&mut self, state: &[u64]) {
        if self.n_words < LISTED {
            self.words.extend_from_slice(state);
            return;
        }
        for (word, &bits) in state.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                self.fluents.push(64 * word as u32 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        self.first.push(self.fluents.len());
    }

    pub(super) fn get(&self, number: u32) -> Vec<u64> {
        let number = number as usize;
        if self.n_words < LISTED {
            return self.words[number * self.n_words..(number + 1) * self.n_words].to_vec();
        }
        let mut state = vec![0; self.n_words];
        for &fluent in &self.fluents[self.first[number]..self.first[number + 1]] {
            state[fluent as usize / 64] |= 1 << (fluent % 64);
        }
        state
    }

    /// Whether a state is the same as another, where a mask has a one.
    pub(super) fn is(&self, number: u32, state: &[u64], mask: &[u64]) -> bool {
        let same = |own: &[u64]| own.iter().zip(state).zip(mask).all(|((own, other), mask)| (own ^ other) & mask == 0);
        if self.n_words < LISTED {
            let first = number as usize * self.n_words;
            return same(&self.words[first..first + self.n_words]);
        }
        same(&self.get(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back() {
        for n_words in [1, 3, LISTED, 50] {
            let states: Vec<Vec<u64>> = (0..9)
                .map(|row| (0..n_words as u64).map(|word| (row * 7 + word * 13) << (word % 60)).collect())
                .collect();
            let mut kept = States::new(n_words);
            states.iter().for_each(|state| kept.push(state));
            assert!((0..9).all(|row| kept.get(row as u32) == states[row]));
            let all = vec![!0; n_words];
            assert!((0..81).all(|at| kept.is(at % 9, &states[at as usize / 9], &all) == (at % 9 == at / 9)));
            assert!((0..81).all(|at| kept.is(at % 9, &states[at as usize / 9], &vec![0; n_words])));
        }
    }
}
