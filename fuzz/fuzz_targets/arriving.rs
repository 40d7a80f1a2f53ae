//! Requests, responses and messages are read or refused, whatever bytes arrive.
#![no_main]

#[path = "../../crates/arena/tests/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::arriving(bytes);
});
