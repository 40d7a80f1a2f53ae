//! Features are found or not, also when the work is ended in the middle. The first byte says when, the others are the rules.
#![no_main]

#[path = "../../crates/features/tests/laws/mod.rs"]
#[allow(dead_code, reason = "there is a target for each law")]
mod laws;
#[path = "../../crates/gdl/tests/laws/mutate.rs"]
mod mutate;
mod words;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rules)) = bytes.split_first()
        && let Ok(text) = std::str::from_utf8(rules)
    {
        laws::features(text, u64::from(*first));
    }
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    words::mutate(data, size, max_size, seed, 1)
});
