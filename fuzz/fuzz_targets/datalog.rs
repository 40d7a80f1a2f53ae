//! The evaluator says what a naive one says, with complete tables and on demand, of programs that are made of the bytes.
#![no_main]

#[path = "../../crates/gdl/tests/oracle/mod.rs"]
mod oracle;

use oracle::{generate, law};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Every chunk but the last two is a rule or a fact; those are states. A chunk begins with its length.
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while let Some((&length, after)) = rest.split_first() {
        let (chunk, after) = after.split_at(usize::from(length % 48).min(after.len()));
        chunks.push(chunk.to_vec());
        rest = after;
    }
    let states = chunks.split_off(chunks.len().saturating_sub(2));
    chunks.truncate(24);
    let states: Vec<_> = states.iter().map(|bytes| generate::state(bytes)).collect();
    law::check(&generate::program(&chunks), &states);
});
