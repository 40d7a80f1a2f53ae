//! Bytes that were kept as positions, records, models or training runs are read or refused, whatever they are.
#![no_main]

#[path = "../../crates/learn/tests/laws/mod.rs"]
mod laws;

use std::sync::LazyLock;

static KEPT: LazyLock<laws::Kept> = LazyLock::new(laws::Kept::new);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    KEPT.read(bytes);
});
