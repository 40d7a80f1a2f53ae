//! The kernel of the lane machine: a straight run of two-input gates over vectors of bits.
//!
//! This module and [`super::count`] are the only ones of this crate with unsafe code. It holds the same loop three times,
//! compiled for AVX-512, for AVX2 and for any processor; which one runs is decided once, when the program starts. Two
//! things are unsafe here: calling a function that was compiled for instructions the processor might lack, and leaving out
//! the bounds checks of the loop. Both are safe because of what [`Kernel::detect`] and [`Program::new`] check.

#![allow(unsafe_code)]

/// How many states are evaluated at once.
pub const LANES: usize = 512;

/// One bit for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Vector(pub [u64; LANES / 64]);

impl Vector {
    /// No lane.
    pub const ZERO: Vector = Vector([0; LANES / 64]);
    /// Every lane.
    pub const ONES: Vector = Vector([!0; LANES / 64]);

    /// Whether no lane is set.
    #[inline(always)]
    pub fn is_zero(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// How many lanes are set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether a lane is set.
    pub fn get(&self, lane: usize) -> bool {
        self.0[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// Sets or clears a lane.
    pub fn set(&mut self, lane: usize, value: bool) {
        let bit = 1 << (lane % 64);
        if value { self.0[lane / 64] |= bit } else { self.0[lane / 64] &= !bit }
    }

    /// Applies `combine` word by word.
    #[inline(always)]
    pub fn zip(self, other: Vector, combine: impl Fn(u64, u64) -> u64) -> Vector {
        let mut result = self;
        for (word, &more) in result.0.iter_mut().zip(&other.0) {
            *word = combine(*word, more);
        }
        result
    }

    /// Where `mask` is set, `other`, elsewhere `self`.
    #[inline(always)]
    pub fn blend(self, mask: Vector, other: Vector) -> Vector {
        let mut result = self;
        for (index, word) in result.0.iter_mut().enumerate() {
            *word = *word & !mask.0[index] | other.0[index] & mask.0[index];
        }
        result
    }
}

macro_rules! bit_operators {
    ($($trait:ident $method:ident $operator:tt),*) => {$(
        impl std::ops::$trait for Vector {
            type Output = Vector;
            #[inline(always)]
            fn $method(self, other: Vector) -> Vector {
                self.zip(other, |left, right| left $operator right)
            }
        }
    )*};
}

bit_operators!(BitAnd bitand &, BitOr bitor |, BitXor bitxor ^);

impl std::ops::Not for Vector {
    type Output = Vector;
    #[inline(always)]
    fn not(self) -> Vector {
        self.zip(self, |word, _| !word)
    }
}

/// A conjunction of two values, each possibly inverted: twice the value's slot, plus one if inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The first input.
    pub a: u32,
    /// The second input.
    pub b: u32,
    /// The slot of the result.
    pub to: u32,
}

/// Gates in an order in which they can be evaluated, checked to stay inside their slots.
#[derive(Clone, Debug, Default)]
pub struct Program {
    ops: Vec<Op>,
    n_slots: usize,
}

impl Program {
    /// A program over `n_slots` slots.
    ///
    /// # Panics
    /// If an operation reads or writes outside of them.
    pub fn new(ops: Vec<Op>, n_slots: usize) -> Program {
        let inside = |op: &Op| [op.a >> 1, op.b >> 1, op.to].iter().all(|&slot| (slot as usize) < n_slots);
        assert!(ops.iter().all(inside), "operations stay inside their slots");
        Program { ops, n_slots }
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

/// Adds three values, lane by lane: a number of two bits. All are given by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Add {
    /// The inputs.
    pub inputs: [u32; 3],
    /// The slot of the lower bit.
    pub sum: u32,
    /// The slot of the higher bit.
    pub carry: u32,
}

/// Additions in an order in which they can be made, checked to stay inside their slots.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    adds: Vec<Add>,
    n_slots: usize,
}

impl Additions {
    /// Additions over `n_slots` slots.
    ///
    /// # Panics
    /// If one reads or writes outside of them.
    pub fn new(adds: Vec<Add>, n_slots: usize) -> Additions {
        let slots = |add: &Add| [add.inputs[0], add.inputs[1], add.inputs[2], add.sum, add.carry];
        let inside = |add: &Add| slots(add).iter().all(|&slot| (slot as usize) < n_slots);
        assert!(adds.iter().all(inside), "additions stay inside their slots");
        Additions { adds, n_slots }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.adds.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.adds.is_empty()
    }
}

/// Which version of the loop runs. Values are made here alone, so that each is one that this processor can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Version);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// For any processor.
    Portable,
    /// 256 bits at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The best one for this processor.
    pub fn detect() -> Kernel {
        Kernel::available().pop().expect("the portable kernel is always available")
    }

    /// Every kernel that this processor can run, the best last.
    pub fn available() -> Vec<Kernel> {
        #[allow(unused_mut)]
        let mut kernels = vec![Kernel(Version::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                kernels.push(Kernel(Version::Avx2));
            }
            let avx512 = std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512dq");
            if avx512 {
                kernels.push(Kernel(Version::Avx512));
            }
        }
        kernels
    }

    /// A short name.
    pub fn name(self) -> &'static str {
        match self.0 {
            Version::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Version::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Version::Avx512 => "avx512",
        }
    }

    /// Makes additions.
    ///
    /// # Panics
    /// If there are fewer values than the additions have slots.
    pub fn add(self, additions: &Additions, values: &mut [Vector]) {
        assert!(values.len() >= additions.n_slots, "a value for each slot");
        match self.0 {
            // SAFETY: the additions stay inside their slots, and there is a value for each.
            Version::Portable => unsafe { add(&additions.adds, values) },
            // SAFETY: as above; and this kernel is made by `available` only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Version::Avx2 => unsafe { add_avx2(&additions.adds, values) },
            // SAFETY: as above, with AVX-512.
            #[cfg(target_arch = "x86_64")]
            Version::Avx512 => unsafe { add_avx512(&additions.adds, values) },
        }
    }

    /// Runs a program.
    ///
    /// # Panics
    /// If there are fewer values than the program has slots.
    pub fn run(self, program: &Program, values: &mut [Vector]) {
        assert!(values.len() >= program.n_slots, "a value for each slot");
        match self.0 {
            // SAFETY: the program stays inside its slots, and there is a value for each.
            Version::Portable => unsafe { run(&program.ops, values) },
            // SAFETY: as above; and this kernel is made by `available` only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Version::Avx2 => unsafe { run_avx2(&program.ops, values) },
            // SAFETY: as above, with AVX-512.
            #[cfg(target_arch = "x86_64")]
            Version::Avx512 => unsafe { run_avx512(&program.ops, values) },
        }
    }
}

/// # Safety
/// Every operation reads and writes inside `values`.
#[inline(always)]
unsafe fn run(ops: &[Op], values: &mut [Vector]) {
    for op in ops {
        // SAFETY: promised by the caller.
        let (a, b) = unsafe { (*values.get_unchecked(op.a as usize >> 1), *values.get_unchecked(op.b as usize >> 1)) };
        // All ones to invert, without a branch.
        let (invert_a, invert_b) = (u64::from(op.a & 1).wrapping_neg(), u64::from(op.b & 1).wrapping_neg());
        let result = a.zip(b, |a, b| (a ^ invert_a) & (b ^ invert_b));
        // SAFETY: promised by the caller.
        unsafe { *values.get_unchecked_mut(op.to as usize) = result };
    }
}

/// # Safety
/// As [`run`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn run_avx2(ops: &[Op], values: &mut [Vector]) {
    // SAFETY: promised by the caller.
    unsafe { run(ops, values) }
}

/// # Safety
/// As [`run`], on a processor with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn run_avx512(ops: &[Op], values: &mut [Vector]) {
    // SAFETY: promised by the caller.
    unsafe { run(ops, values) }
}

/// # Safety
/// Every addition reads and writes inside `values`.
#[inline(always)]
unsafe fn add(adds: &[Add], values: &mut [Vector]) {
    for add in adds {
        // SAFETY: promised by the caller.
        let [a, b, c] = add.inputs.map(|slot| unsafe { *values.get_unchecked(slot as usize) });
        let half = a ^ b;
        // SAFETY: promised by the caller.
        unsafe {
            *values.get_unchecked_mut(add.sum as usize) = half ^ c;
            *values.get_unchecked_mut(add.carry as usize) = (a & b) | (half & c);
        }
    }
}

/// # Safety
/// As [`add`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn add_avx2(adds: &[Add], values: &mut [Vector]) {
    // SAFETY: promised by the caller.
    unsafe { add(adds, values) }
}

/// # Safety
/// As [`add`], on a processor with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn add_avx512(adds: &[Add], values: &mut [Vector]) {
    // SAFETY: promised by the caller.
    unsafe { add(adds, values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random program gives the same values by every kernel and by the plain meaning of its operations.
    #[test]
    fn kernels_compute_what_operations_mean() {
        let mut seed = 1;
        let mut random = || crate::scalar::split_mix(&mut seed);
        let n_inputs = 50;
        let ops: Vec<Op> = (n_inputs..1000)
            .map(|to| Op { a: (random() % (2 * to)) as u32, b: (random() % (2 * to)) as u32, to: to as u32 })
            .collect();
        let mut values = vec![Vector::ZERO; 1000];
        values[..n_inputs as usize].iter_mut().flat_map(|value| &mut value.0).for_each(|word| *word = random());
        let mut expected = values.clone();
        for op in &ops {
            let input = |wire: u32| {
                let value = expected[wire as usize / 2];
                if wire % 2 == 1 { !value } else { value }
            };
            expected[op.to as usize] = input(op.a) & input(op.b);
        }
        let program = Program::new(ops, values.len());
        for kernel in Kernel::available() {
            let mut found = values.clone();
            kernel.run(&program, &mut found);
            assert!(found == expected, "{}", kernel.name());
        }
    }

    /// Every kernel adds as numbers are added.
    #[test]
    fn kernels_add() {
        let mut seed = 5;
        let mut random = || crate::scalar::split_mix(&mut seed);
        let adds: Vec<Add> = (0..200)
            .map(|index| {
                let inputs = [(); 3].map(|()| (random() % (10 + 2 * index)) as u32);
                Add { inputs, sum: 10 + 2 * index as u32, carry: 11 + 2 * index as u32 }
            })
            .collect();
        let mut values = vec![Vector::ZERO; 410];
        values[..10].iter_mut().flat_map(|value| &mut value.0).for_each(|word| *word = random());
        let additions = Additions::new(adds.clone(), values.len());
        for kernel in Kernel::available() {
            let mut found = values.clone();
            kernel.add(&additions, &mut found);
            for add in &adds {
                for lane in 0..LANES {
                    let bit = |slot: u32| u32::from(found[slot as usize].get(lane));
                    let total: u32 = add.inputs.iter().map(|&slot| bit(slot)).sum();
                    assert_eq!(bit(add.sum) + 2 * bit(add.carry), total, "{}", kernel.name());
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "additions stay inside their slots")]
    fn additions_outside_are_refused() {
        Additions::new(vec![Add { inputs: [0, 1, 2], sum: 3, carry: 4 }], 4);
    }

    #[test]
    #[should_panic(expected = "operations stay inside their slots")]
    fn operations_outside_are_refused() {
        Program::new(vec![Op { a: 0, b: 20, to: 1 }], 10);
    }

    #[test]
    #[should_panic(expected = "a value for each slot")]
    fn too_few_values_are_refused() {
        let program = Program::new(vec![Op { a: 0, b: 2, to: 5 }], 10);
        Kernel::detect().run(&program, &mut [Vector::ZERO; 9]);
    }
}
