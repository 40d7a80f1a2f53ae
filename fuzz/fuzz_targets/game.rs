//! All engines say the same of a short match of any game. The first four bytes choose the moves, the others are the rules.
#![no_main]

#[path = "../../crates/machine/tests/laws/mod.rs"]
mod laws;
#[path = "../../crates/gdl/tests/laws/mutate.rs"]
mod mutate;
mod words;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((choices, rules)) = bytes.split_first_chunk::<4>()
        && let Ok(text) = std::str::from_utf8(rules)
    {
        laws::game(text, choices);
    }
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    words::mutate(data, size, max_size, seed, 4)
});
