//! Between states as words of bits and vectors with one bit for each lane.

use super::simd::{LANES, Vector};

/// Exchanges rows and columns of a square of bits; bit `j` of row `i` becomes bit `i` of row `j`.
///
/// Squares are halved again and again, and their upper right and lower left quarters exchanged.
pub fn transpose(square: &mut [u64; 64]) {
    let (mut width, mut mask) = (32, 0x0000_0000_ffff_ffff_u64);
    while width != 0 {
        let mut row = 0;
        while row < 64 {
            let different = ((square[row] >> width) ^ square[row + width]) & mask;
            square[row] ^= different << width;
            square[row + width] ^= different;
            row = (row + width + 1) & !width;
        }
        width >>= 1;
        mask ^= mask << width;
    }
}

/// Spreads states over the lanes: vector `i` gets bit `i` of each. Lanes without a state get zeros.
pub(super) fn spread(states: &[&[u64]], vectors: &mut [Vector]) {
    for (word, vectors) in vectors.chunks_mut(64).enumerate() {
        for block in 0..LANES / 64 {
            let mut square = [0; 64];
            let some = states.iter().skip(64 * block);
            square.iter_mut().zip(some).for_each(|(row, state)| *row = state[word]);
            transpose(&mut square);
            vectors.iter_mut().zip(&square).for_each(|(vector, &row)| vector.0[block] = row);
        }
    }
}

/// Appends the first `n` lanes' states, one after another.
pub(super) fn gather(vectors: &[Vector], n: usize, states: &mut Vec<u64>) {
    let n_words = vectors.len().div_ceil(64);
    let first = states.len();
    states.resize(first + n * n_words, 0);
    let states = &mut states[first..];
    for (word, vectors) in vectors.chunks(64).enumerate() {
        for block in 0..n.div_ceil(64) {
            let mut square = [0; 64];
            square.iter_mut().zip(vectors).for_each(|(row, vector)| *row = vector.0[block]);
            transpose(&mut square);
            for (offset, &row) in square.iter().take(n - 64 * block).enumerate() {
                states[(64 * block + offset) * n_words + word] = row;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let mut seed = 7;
        let mut square = [0; 64];
        square.iter_mut().for_each(|row| *row = crate::scalar::split_mix(&mut seed));
        let before = square;
        transpose(&mut square);
        for (i, row) in before.iter().enumerate() {
            for (j, column) in square.iter().enumerate() {
                assert_eq!(row >> j & 1, column >> i & 1);
            }
        }
    }

    /// What is spread has each bit in its place, and is gathered again as it was.
    #[test]
    fn states_go_out_and_come_back() {
        let mut seed = 3;
        for (n, n_bits) in [(1, 1), (63, 64), (64, 65), (100, 200), (512, 130)] {
            let n_words = usize::div_ceil(n_bits, 64);
            let mask = |word: usize| if word + 1 < n_words || n_bits % 64 == 0 { !0 } else { (1 << (n_bits % 64)) - 1 };
            let states: Vec<Vec<u64>> = (0..n)
                .map(|_| (0..n_words).map(|word| crate::scalar::split_mix(&mut seed) & mask(word)).collect())
                .collect();
            let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
            let mut vectors = vec![Vector::ONES; n_bits];
            spread(&views, &mut vectors);
            for (bit, vector) in vectors.iter().enumerate() {
                for lane in 0..LANES {
                    let expected = states.get(lane).is_some_and(|state| state[bit / 64] >> (bit % 64) & 1 == 1);
                    assert_eq!(vector.get(lane), expected);
                }
            }
            let mut found = vec![9];
            gather(&vectors, n, &mut found);
            assert_eq!(found[0], 9);
            assert_eq!(found[1..], states.concat());
        }
    }
}
