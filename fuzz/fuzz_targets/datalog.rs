//! The evaluator says what a naive one says, with complete tables and on demand, of programs that are made of the bytes.
#![no_main]

mod chunks;
#[path = "../../crates/gdl/tests/oracle/mod.rs"]
mod oracle;

use oracle::{generate, law};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Every chunk but the last two is a rule or a fact; those are states.
    let mut chunks = chunks::split(bytes, 26);
    let states = chunks.split_off(chunks.len().saturating_sub(2));
    let states: Vec<_> = states.iter().map(|bytes| generate::state(bytes)).collect();
    law::check(&generate::program(&chunks), &states);
});
