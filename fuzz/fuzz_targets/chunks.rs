//! Bytes as a list of chunks, each of which begins with its length.

/// The chunks, at most `most` of them.
pub(crate) fn split(bytes: &[u8], most: usize) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while let Some((&length, after)) = rest.split_first()
        && chunks.len() < most
    {
        let (chunk, after) = after.split_at(usize::from(length % 48).min(after.len()));
        chunks.push(chunk.to_vec());
        rest = after;
    }
    chunks
}
