//! Choosing a legal move in every lane at once.
//!
//! Numbers are bit-sliced: plane `k` holds bit `k` of one number for each lane.

use super::simd::{LANES, Vector};
use crate::scalar::split_mix;

/// A generator of random bits for all lanes: xoshiro256++ (Blackman and Vigna 2019) in each of eight 64-bit columns.
#[derive(Clone, Debug)]
pub struct Random {
    state: [[u64; LANES / 64]; 4],
}

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        let mut seed = seed;
        let mut state = [[0; LANES / 64]; 4];
        state.iter_mut().flatten().for_each(|word| *word = split_mix(&mut seed));
        Random { state }
    }

    /// One random bit for each lane.
    #[inline]
    fn bits(&mut self) -> Vector {
        let mut result = Vector::ZERO;
        let [s0, s1, s2, s3] = &mut self.state;
        for column in 0..LANES / 64 {
            let (a, b, c, d) = (s0[column], s1[column], s2[column], s3[column]);
            result.0[column] = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
            let (c2, d2) = (c ^ a, d ^ b);
            s1[column] = b ^ c2;
            s0[column] = a ^ d2;
            s2[column] = c2 ^ (b << 17);
            s3[column] = d2.rotate_left(45);
        }
        result
    }
}

/// Working memory for choices.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    /// The number of legal moves, then one less.
    count: Vec<Vector>,
    /// A number on its way into each plane.
    waiting: Vec<Option<Vector>>,
    index: Vec<Vector>,
}

impl Selector {
    /// Chooses uniformly among the moves whose legality the wires give, and writes the lanes of each move into the slots
    /// from `first_slot` on. Returns the lanes that have no legal move.
    pub(super) fn choose(&mut self, random: &mut Random, legal: &[u32], values: &mut [Vector], first_slot: u32) -> Vector {
        let wire = |values: &[Vector], wire: u32| {
            let value = values[wire as usize >> 1];
            if wire & 1 == 1 { !value } else { value }
        };
        // Step 1. Count.
        self.count.clear();
        self.waiting.clear();
        for &move_wire in legal {
            self.add(wire(values, move_wire));
        }
        self.settle();
        // Step 2. One less than the count is the largest index. A lane without moves gets a borrow out of the top.
        let mut borrow = Vector::ONES;
        for plane in &mut self.count {
            let before = *plane;
            *plane = before ^ borrow;
            borrow = borrow & !before;
        }
        let none = borrow;
        // Step 3. Draw as many bits as the largest index has, again where the number is too large.
        self.index.clear();
        self.index.resize(self.count.len(), Vector::ZERO);
        let mut open = !none;
        while !open.is_zero() {
            let (mut above, mut greater, mut equal) = (Vector::ZERO, Vector::ZERO, Vector::ONES);
            for plane in (0..self.count.len()).rev() {
                let largest = self.count[plane];
                above = above | largest;
                if above.is_zero() {
                    continue;
                }
                let drawn = random.bits() & above;
                greater = greater | (equal & drawn & !largest);
                equal = equal & !(drawn ^ largest);
                self.index[plane] = self.index[plane].blend(open, drawn);
            }
            open = open & greater;
        }
        // Step 4. Count the index down over the legal moves; the move at which it is zero is chosen.
        let mut live = !none;
        for (offset, &move_wire) in legal.iter().enumerate() {
            let may = wire(values, move_wire) & live;
            let mut nonzero = Vector::ZERO;
            let mut borrow = may;
            for plane in &mut self.index {
                nonzero = nonzero | *plane;
                let after = *plane ^ borrow;
                borrow = borrow & after;
                *plane = after;
            }
            let hit = may & !nonzero;
            live = live & !hit;
            values[first_slot as usize + offset] = hit;
        }
        none
    }

    /// Adds one bit in every lane: pairs are added up plane by plane, a full adder for every second bit.
    #[inline]
    fn add(&mut self, bit: Vector) {
        let mut carry = bit;
        for plane in 0.. {
            if plane == self.count.len() {
                self.count.push(carry);
                self.waiting.push(None);
                return;
            }
            let Some(other) = self.waiting[plane].take() else {
                self.waiting[plane] = Some(carry);
                return;
            };
            let sum = self.count[plane];
            let half = other ^ carry;
            self.count[plane] = sum ^ half;
            carry = (other & carry) | (sum & half);
        }
    }

    /// Adds up what is still waiting.
    fn settle(&mut self) {
        let mut carries: Vec<Vector> = Vec::new();
        let mut plane = 0;
        while plane < self.count.len() || !carries.is_empty() {
            if plane == self.count.len() {
                self.count.push(Vector::ZERO);
                self.waiting.push(None);
            }
            carries.extend(self.waiting[plane].take());
            let mut onward = Vec::new();
            for bit in carries.drain(..) {
                let sum = self.count[plane];
                self.count[plane] = sum ^ bit;
                let carry = sum & bit;
                if !carry.is_zero() {
                    onward.push(carry);
                }
            }
            carries = onward;
            plane += 1;
        }
    }
}
