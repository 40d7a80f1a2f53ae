//! The law for what is kept, on damaged bytes: a short and repeatable version of what the fuzzer does.

mod laws;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[test]
fn damaged_bytes_are_read_or_refused() {
    let kept = laws::Kept::new();
    assert!(kept.samples.iter().all(|sample| kept.read(sample)));
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut n_read = 0;
    for sample in &kept.samples {
        for _ in 0..2_000 {
            let mut bytes = sample.clone();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len().max(1));
                match random.random_range(0..4) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at.min(bytes.len()), random.random()),
                    // Lengths are written in bytes such as these.
                    2 => bytes.splice(at..bytes.len().min(at + 1), [0xff; 5]).for_each(drop),
                    _ if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
                    _ => {}
                }
            }
            n_read += usize::from(kept.read(&bytes));
        }
    }
    // Weights are only numbers, so most changes to a model leave one: that nothing was changed, checksums of files say.
    assert!(n_read >= 100, "only {n_read} were read");
}
