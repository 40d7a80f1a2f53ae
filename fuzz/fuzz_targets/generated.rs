//! All engines say the same of a short match of a game that is made of the bytes.
#![no_main]

mod chunks;
#[path = "../../crates/gdl/tests/oracle/generate.rs"]
mod generate;
#[path = "../../crates/machine/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut chunks = chunks::split(bytes, 25);
    let choices = chunks.pop().unwrap_or_default();
    laws::game(&generate::game(&chunks), &choices);
});
