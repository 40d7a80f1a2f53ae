//! Changes rule texts word by word and list by list, since few changes of single bytes leave rules that can be played.

use crate::mutate::{Random, mutate as mutate_text};

/// Changes the bytes from `prefix` on and returns the new size; leaves it to libFuzzer now and then, and where the bytes
/// are no text.
pub(crate) fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32, prefix: usize) -> usize {
    let text = data[..size].get(prefix..).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let Some(text) = text.filter(|text| !text.is_empty() && !seed.is_multiple_of(8)) else {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    };
    let changed = mutate_text(text, &mut Random::new(u64::from(seed)));
    let new_size = (prefix + changed.len()).min(max_size);
    data[prefix..new_size].copy_from_slice(&changed.as_bytes()[..new_size - prefix]);
    // The choices of moves change less often.
    if seed.is_multiple_of(3) {
        data[..prefix].iter_mut().zip(seed.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    }
    new_size
}
