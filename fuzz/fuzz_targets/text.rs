//! Any bytes can be read as rules; what can be read can be printed and read again.
#![no_main]

#[path = "../../crates/gdl/tests/laws/mod.rs"]
mod laws;
#[path = "../../crates/gdl/tests/laws/mutate.rs"]
mod mutate;
mod words;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::text(bytes));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Half of the changes are to bytes.
    let seed = if seed.is_multiple_of(2) { 0 } else { seed };
    words::mutate(data, size, max_size, seed, 0)
});
