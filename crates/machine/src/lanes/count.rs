//! Counting bits of long bit sets: conjunctions, differences and how many bits they have.
//!
//! Plain loops over words, compiled three times: for AVX-512 with its vector population count, for AVX2, and for any
//! processor. As in [`super::simd`], the one unsafe thing is calling a function that was compiled for instructions which
//! the processor might lack, and [`Counter`] values are made only where it has them.

#![allow(unsafe_code)]

use std::sync::OnceLock;

/// Which version of the loops runs. Values are made here alone, so that each is one that this processor can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(Version);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// For any processor.
    Portable,
    /// 256 bits at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits at a time, counted by one instruction.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Counter {
    /// The best one for this processor.
    pub fn detect() -> Counter {
        static BEST: OnceLock<Counter> = OnceLock::new();
        *BEST.get_or_init(|| Counter::available().pop().expect("the portable counter is always available"))
    }

    /// Every counter that this processor can run, the best last.
    pub fn available() -> Vec<Counter> {
        #[allow(unused_mut)]
        let mut counters = vec![Counter(Version::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            let popcnt = std::arch::is_x86_feature_detected!("popcnt");
            if popcnt && std::arch::is_x86_feature_detected!("avx2") {
                counters.push(Counter(Version::Avx2));
            }
            let avx512 = popcnt
                && std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512vpopcntdq");
            if avx512 {
                counters.push(Counter(Version::Avx512));
            }
        }
        counters
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
}

/// The same loop for each version, and the method that chooses.
macro_rules! kernels {
    ($($(#[$doc:meta])* $method:ident, $avx2:ident, $avx512:ident, ($($name:ident: $type:ty),*), $plain:ident;)*) => {
        impl Counter {$(
            $(#[$doc])*
            #[inline]
            pub fn $method(self, $($name: $type),*) -> u32 {
                match self.0 {
                    Version::Portable => $plain($($name),*),
                    // SAFETY: this counter is made by `available` only where the processor has AVX2.
                    #[cfg(target_arch = "x86_64")]
                    Version::Avx2 => unsafe { $avx2($($name),*) },
                    // SAFETY: as above, with AVX-512 and its population count.
                    #[cfg(target_arch = "x86_64")]
                    Version::Avx512 => unsafe { $avx512($($name),*) },
                }
            }
        )*}
        $(
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "popcnt,avx2")]
            fn $avx2($($name: $type),*) -> u32 {
                $plain($($name),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "popcnt,avx512f,avx512vl,avx512bw,avx512dq,avx512vpopcntdq")]
            fn $avx512($($name: $type),*) -> u32 {
                $plain($($name),*)
            }
        )*
    };
}

kernels! {
    /// How many bits a set has.
    count, count_avx2, count_avx512, (set: &[u64]), count_plain;
    /// How many bits two sets have in common.
    and_count, and_count_avx2, and_count_avx512, (one: &[u64], other: &[u64]), and_count_plain;
    /// How many bits one set has and the other has not.
    and_not_count, and_not_count_avx2, and_not_count_avx512, (one: &[u64], other: &[u64]), and_not_count_plain;
    /// Writes what two sets have in common, and counts it.
    and_into, and_into_avx2, and_into_avx512, (one: &[u64], other: &[u64], into: &mut [u64]), and_into_plain;
    /// Writes what one set has and the other has not, and counts it.
    and_not_into, and_not_into_avx2, and_not_into_avx512, (one: &[u64], other: &[u64], into: &mut [u64]),
        and_not_into_plain;
}

/// How many bits two sets have in common.
pub fn and_count(one: &[u64], other: &[u64]) -> u32 {
    Counter::detect().and_count(one, other)
}

#[inline(always)]
fn count_plain(set: &[u64]) -> u32 {
    set.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() as u32
}

#[inline(always)]
fn and_count_plain(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u64::from((one & other).count_ones())).sum::<u64>() as u32
}

#[inline(always)]
fn and_not_count_plain(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u64::from((one & !other).count_ones())).sum::<u64>() as u32
}

#[inline(always)]
fn and_into_plain(one: &[u64], other: &[u64], into: &mut [u64]) -> u32 {
    let mut count = 0u64;
    for ((one, other), into) in one.iter().zip(other).zip(into) {
        *into = one & other;
        count += u64::from(into.count_ones());
    }
    count as u32
}

#[inline(always)]
fn and_not_into_plain(one: &[u64], other: &[u64], into: &mut [u64]) -> u32 {
    let mut count = 0u64;
    for ((one, other), into) in one.iter().zip(other).zip(into) {
        *into = one & !other;
        count += u64::from(into.count_ones());
    }
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every counter gives what counting bit by bit gives, for lengths around the widths of vectors.
    #[test]
    fn counters_agree_with_bit_by_bit() {
        let mut seed = 1;
        let mut random = || crate::scalar::split_mix(&mut seed);
        for length in [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 100, 257] {
            let one: Vec<u64> = (0..length).map(|_| random() & random()).collect();
            let other: Vec<u64> = (0..length).map(|_| random()).collect();
            let bit = |set: &[u64], at: usize| set[at / 64] >> (at % 64) & 1 == 1;
            let many = |test: &dyn Fn(usize) -> bool| (0..64 * length).filter(|&at| test(at)).count() as u32;
            let (all, both, first) = (
                many(&|at| bit(&one, at)),
                many(&|at| bit(&one, at) && bit(&other, at)),
                many(&|at| bit(&one, at) && !bit(&other, at)),
            );
            for counter in Counter::available() {
                assert_eq!(counter.count(&one), all, "{}", counter.name());
                assert_eq!(counter.and_count(&one, &other), both, "{}", counter.name());
                assert_eq!(counter.and_not_count(&one, &other), first, "{}", counter.name());
                let mut into = vec![0; length];
                assert_eq!(counter.and_into(&one, &other, &mut into), both);
                assert_eq!(counter.count(&into), both);
                assert_eq!(counter.and_not_into(&one, &other, &mut into), first);
                assert_eq!((counter.count(&into), counter.and_count(&into, &other)), (first, 0));
            }
            assert_eq!(and_count(&one, &other), both);
        }
    }
}
