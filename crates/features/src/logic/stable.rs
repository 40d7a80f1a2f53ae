//! A hash that is the same for every compiler, library and machine: SipHash-1-3 with zero as its key (J.-P. Aumasson and
//! D. Bernstein, "SipHash: a fast short-input PRF", 2012), of bytes that are written out here.
//!
//! What the standard library hashes with may change from version to version, and so may what a derived `Hash` hands to it. The
//! canonical form of a feature depends on these hashes: they are not kept themselves, but the texts of features in that form are, in
//! models and in the memory. So this must stay as it is, and tests have values. If it has to change, so have they and the version
//! of kept features (`FEATURES_VERSION` in `senet`), under which others are found then.

use std::sync::Arc;

use gdl::program::{Term, VarId};
use gdl::symbol::SymbolId;

use crate::feature::{Axis, Metric, Weight};

/// The hash of a value.
pub(super) fn hash(value: &impl Encode) -> u64 {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    siphash(&bytes)
}

/// What a value is made of, as bytes: numbers are little-endian, lists begin with their length and enums with the place of their
/// variant, both with 64 bits, and a text ends with 255.
pub(super) trait Encode {
    fn encode(&self, bytes: &mut Vec<u8>);
}

impl Encode for u64 {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Encode for u32 {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Encode for i32 {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Encode for bool {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }
}

impl Encode for str {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.as_bytes());
        bytes.push(255);
    }
}

impl Encode for SymbolId {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.number().encode(bytes);
    }
}

impl Encode for VarId {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.0.encode(bytes);
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, bytes: &mut Vec<u8>) {
        (**self).encode(bytes);
    }
}

impl<T: Encode> Encode for Arc<T> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        (**self).encode(bytes);
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, bytes: &mut Vec<u8>) {
        (self.len() as u64).encode(bytes);
        self.iter().for_each(|part| part.encode(bytes));
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self[..].encode(bytes);
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.0.encode(bytes);
        self.1.encode(bytes);
    }
}

impl<A: Encode, B: Encode, C: Encode> Encode for (A, B, C) {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.0.encode(bytes);
        self.1.encode(bytes);
        self.2.encode(bytes);
    }
}

impl Encode for Term {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Term::Var(var) => (0u64, var).encode(bytes),
            Term::Const(name) => (1u64, name).encode(bytes),
            Term::Func(name, args) => (2u64, name, &args[..]).encode(bytes),
        }
    }
}

impl Encode for Weight {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Weight::One => 0u64.encode(bytes),
            Weight::Place { var, order } => (1u64, var, order).encode(bytes),
            Weight::Distance { metric, axes } => (2u64, metric, axes).encode(bytes),
            Weight::Table { vars, rows } => (3u64, vars, rows).encode(bytes),
        }
    }
}

impl Encode for Metric {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let place: u64 = match self {
            Metric::Manhattan => 0,
            Metric::Chebyshev => 1,
            Metric::Difference => 2,
        };
        place.encode(bytes);
    }
}

impl Encode for Axis {
    fn encode(&self, bytes: &mut Vec<u8>) {
        (self.from, self.to, &self.order).encode(bytes);
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
    use gdl::keyword;

    #[test]
    fn hashes_stay_as_they_are() {
        assert_eq!(siphash(&[]), 0xd1fb_a762_150c_532c);
        assert_eq!(hash(&1u64), 0x1e9f_7341_61d6_2dd9);
        assert_eq!(hash(&(7u32, "first", vec![1u64, 2])), 0xb9bf_972c_fa0d_da4c);
    }

    /// Weights and tuples count in the hashes of variables.
    #[test]
    fn hashes_of_weights_stay_as_they_are() {
        let [a, b] = [keyword::ROLE, keyword::TRUE].map(Term::Const);
        let order = Arc::new(vec![a.clone(), Term::Func(keyword::GOAL, [b.clone(), a.clone()].into())]);
        let axis = Axis { from: VarId(0), to: VarId(1), order: order.clone() };
        let distance = |metric| Weight::Distance { metric, axes: vec![axis.clone()] };
        let table = Weight::table(vec![VarId(1)], [(vec![a.clone()], -3), (vec![b.clone()], 5), (vec![b.clone()], 7)]);
        let place = Weight::Place { var: VarId(1), order: order.clone() };
        let weights = [
            Weight::One,
            place,
            distance(Metric::Manhattan),
            distance(Metric::Chebyshev),
            distance(Metric::Difference),
            table,
        ];
        assert_eq!(
            weights.map(|weight| hash(&(true, weight))),
            [
                0xdc58_fdc2_e5c5_babe,
                0x3069_e7f9_b4cf_a91b,
                0x1aa5_d972_b263_5756,
                0x8cbe_6b55_a84e_13bd,
                0x456d_fc82_350f_8cb6,
                0x8e30_ad44_43a1_7b82
            ]
        );
        let rows = Arc::new(vec![vec![a.clone(), b.clone()], vec![b, a]]);
        assert_eq!(
            [hash(&(3, vec![1u64, 2], &rows)), hash(&(0, keyword::LEGAL, vec![9u64]))],
            [0x2c3a_6872_19e5_d617, 0x80c4_e021_9a03_e586]
        );
    }
}
