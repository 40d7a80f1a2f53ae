//! Sums of wires, over all lanes at once.
//!
//! Bits of the same weight are added three at a time, which leaves one bit of that weight and one of twice it, until there is
//! one bit of each weight: the planes of a bit-sliced number. Squares of 64 planes and 64 lanes are transposed to get
//! the numbers out.

use std::collections::VecDeque;

use super::compile::Compiled;
use super::simd::{Add, Additions, Kernel, LANES, Op, Program, Vector};
use super::transpose::transpose;
use crate::network::Wire;

/// Sums of wires, ready to be evaluated on the lanes of one network.
#[derive(Clone, Debug)]
pub struct Adder {
    /// Makes plain values of inverted wires.
    invert: Program,
    additions: Additions,
    n_slots: usize,
    n_sums: usize,
    /// Planes that are transposed together, with the sums that they are of.
    squares: Vec<Square>,
}

#[derive(Clone, Debug)]
struct Square {
    planes: [u32; 64],
    /// Which sums, and where they stand: how far to shift, and what to keep.
    fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    sum: u32,
    shift: u32,
    mask: u64,
}

impl Adder {
    /// Prepares sums, each of wires with their weights. A wire must be one that [`super::Lanes::evaluate`] evaluates.
    ///
    /// # Panics
    /// If the weights of a sum add up to more than 32 bits hold.
    pub fn new(compiled: &Compiled, sums: &[Vec<(Wire, u32)>]) -> Adder {
        let mut maker = Maker { n_slots: compiled.n_slots as u32, adds: Vec::new(), free: Vec::new() };
        // Step 1. Plain values of inverted wires; slot 0 is always false.
        let mut inverted: Vec<u32> = sums.iter().flatten().map(|&(wire, _)| compiled.wire(wire)).collect();
        inverted.retain(|wire| wire & 1 == 1);
        inverted.sort_unstable();
        inverted.dedup();
        let plain = maker.n_slots;
        let invert = inverted.iter().enumerate().map(|(index, &wire)| Op { a: wire, b: 1, to: plain + index as u32 });
        let invert: Vec<Op> = invert.collect();
        maker.n_slots += inverted.len() as u32;
        // Step 2. Add.
        let sums: Vec<Vec<u32>> = sums
            .iter()
            .map(|terms| {
                let total: u64 = terms.iter().map(|&(_, weight)| u64::from(weight)).sum();
                assert!(u32::try_from(total).is_ok(), "a sum fits into 32 bits");
                let terms = terms.iter().map(|&(wire, weight)| {
                    let wire = compiled.wire(wire);
                    match inverted.binary_search(&wire) {
                        Ok(place) => (plain + place as u32, weight),
                        Err(_) => (wire >> 1, weight),
                    }
                });
                maker.add(terms)
            })
            .collect();
        let n_slots = maker.n_slots as usize;
        Adder {
            invert: Program::new(invert, n_slots),
            additions: Additions::new(maker.adds, n_slots),
            n_slots,
            n_sums: sums.len(),
            squares: arrange(&sums),
        }
    }

    /// How many additions of three bits there are.
    pub fn n_additions(&self) -> usize {
        self.additions.len()
    }

    pub(super) fn n_slots(&self) -> usize {
        self.n_slots
    }

    pub(super) fn run(&self, kernel: Kernel, values: &mut [Vector]) {
        kernel.run(&self.invert, values);
        kernel.add(&self.additions, values);
    }

    pub(super) fn read(&self, values: &[Vector], n: usize, sums: &mut Vec<u32>) {
        let first = sums.len();
        sums.resize(first + n * self.n_sums, 0);
        let sums = &mut sums[first..];
        for block in 0..n.min(LANES).div_ceil(64) {
            for square in &self.squares {
                let mut rows = square.planes.map(|plane| values[plane as usize].0[block]);
                transpose(&mut rows);
                for (row, sums) in rows.iter().zip(sums[64 * block * self.n_sums..].chunks_mut(self.n_sums)) {
                    for field in &square.fields {
                        sums[field.sum as usize] = (row >> field.shift & field.mask) as u32;
                    }
                }
            }
        }
    }
}

/// Packs the planes of sums into squares.
fn arrange(sums: &[Vec<u32>]) -> Vec<Square> {
    let mut squares: Vec<(usize, Square)> = Vec::new();
    for (sum, planes) in sums.iter().enumerate().filter(|(_, planes)| !planes.is_empty()) {
        let fits = squares.last().is_some_and(|(used, _)| used + planes.len() <= 64);
        if !fits {
            squares.push((0, Square { planes: [0; 64], fields: Vec::new() }));
        }
        let (used, square) = squares.last_mut().expect("there is one now");
        square.planes[*used..*used + planes.len()].copy_from_slice(planes);
        let mask = (1 << planes.len()) - 1;
        square.fields.push(Field { sum: sum as u32, shift: *used as u32, mask });
        *used += planes.len();
    }
    squares.into_iter().map(|(_, square)| square).collect()
}

struct Maker {
    n_slots: u32,
    adds: Vec<Add>,
    /// Slots whose values are not needed any more.
    free: Vec<u32>,
}

impl Maker {
    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.n_slots += 1;
            self.n_slots - 1
        })
    }

    /// The planes of a sum, lowest first.
    fn add(&mut self, terms: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
        // For each weight, the bits that have it, and whether they are ours to give back.
        let mut bits: Vec<VecDeque<(u32, bool)>> = vec![VecDeque::new(); 33];
        for (slot, weight) in terms {
            (0..32).filter(|bit| weight >> bit & 1 == 1).for_each(|bit| bits[bit].push_back((slot, false)));
        }
        let mut planes = Vec::new();
        for weight in 0..32 {
            while bits[weight].len() > 1 {
                // The newest bits first, as they are still near.
                let mut inputs = [0; 3];
                for input in &mut inputs {
                    if let Some((slot, own)) = bits[weight].pop_back() {
                        *input = slot;
                        // A slot is given back before its result is written, which the addition allows.
                        if own {
                            self.free.push(slot);
                        }
                    }
                }
                let (sum, carry) = (self.slot(), self.slot());
                self.adds.push(Add { inputs, sum, carry });
                bits[weight].push_back((sum, true));
                bits[weight + 1].push_back((carry, true));
            }
            planes.push(bits[weight].pop_back().map_or(0, |(slot, _)| slot));
        }
        // What stands in a plane stays; zeros at the top are left out.
        while planes.last() == Some(&0) {
            planes.pop();
        }
        planes
    }
}
