//! A hash that is the same for every compiler, library and machine: SipHash-1-3 with zero as its key (J.-P. Aumasson and
//! D. Bernstein, "SipHash: a fast short-input PRF", 2012), of numbers as little-endian bytes.
//!
//! What the standard library hashes with may change from version to version, and the canonical form of a feature depends on
//! its hashes. So this must stay as it is; a test has some values.

use std::hash::{Hash, Hasher};

/// The hash of a value.
pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut bytes = Bytes(Vec::new());
    value.hash(&mut bytes);
    bytes.finish()
}

/// What a value is made of.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn write_u16(&mut self, number: u16) {
        self.write(&number.to_le_bytes());
    }

    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        siphash(&self.0)
    }
}

fn siphash(bytes: &[u8]) -> u64 {
    let mut state: [u64; 4] =
        [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        mix(&mut state, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    last[7] = bytes.len() as u8;
    mix(&mut state, u64::from_le_bytes(last));
    state[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn mix(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::Feature;
    use crate::formula::{Atom, Formula};
    use gdl::keyword;
    use gdl::program::{Term, VarId};

    #[test]
    fn hashes_stay_as_they_are() {
        assert_eq!(hash(&()), 0xd1fb_a762_150c_532c);
        assert_eq!(hash(&1u64), 0x1e9f_7341_61d6_2dd9);
        assert_eq!(hash(&(7u32, "first", vec![1u64, 2])), 0xb9bf_972c_fa0d_da4c);
        let atom = Atom { name: keyword::TRUE, args: vec![Term::Var(VarId(3)), Term::Const(keyword::ROLE)] };
        let formula = Formula::Not(Box::new(Formula::Atom(atom)));
        assert_eq!(hash(&Feature::count(vec![VarId(3)], formula)), 0xdb68_7d90_6237_d463);
    }
}
