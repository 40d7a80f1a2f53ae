//! The law for what is kept, on damaged bytes: a short and repeatable version of what the fuzzer does.

mod laws;

use features::reach::Number;
use learn::course::{Checkpoint, Stored};
use learn::model::Sum;
use learn::sight::PatternSettings;
use learn::td::improved;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[test]
fn damaged_bytes_are_read_or_refused() {
    let kept = laws::Kept::new();
    assert!(kept.samples.iter().all(|sample| kept.read(sample)));
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut n_read = 0;
    for sample in &kept.samples {
        for _ in 0..500 {
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

/// Counts that can't be gone on with stay as they are.
#[test]
fn training_goes_on_at_the_end_of_its_counts() {
    let kept = laws::Kept::new();
    for sample in &kept.samples {
        if let Ok(mut course) = Checkpoint::from_bytes(sample) {
            course.history.iter_mut().for_each(|generation| generation.n_matches = u32::MAX);
            assert!(kept.read(&course.to_bytes()));
        }
        if let Ok(mut training) = improved::Checkpoint::from_bytes(sample) {
            training.n_played = u32::MAX - 1;
            training.history.iter_mut().for_each(|generation| generation.n_matches = u32::MAX);
            assert!(kept.read(&training.to_bytes()));
        }
    }
}

/// What the game has not, and what would take all memory, is refused before it is made use of.
#[test]
fn damaged_models_are_refused() {
    let kept = laws::Kept::new();
    type Damage = fn(&mut Stored);
    let damages: [(&str, Damage); 9] = [
        ("a role that is not there", |model| model.ways = vec![Number::Land(7)]),
        ("a number again and again", |model| model.ways = vec![Number::Steps(0); 5_000]),
        ("a turn for a role that is not there", |model| model.stages.control = vec![(0, true); 3]),
        ("stages in another order", |model| model.stages.cuts = vec![2, 1]),
        ("a fluent that is not there", |model| model.stages.control = vec![(999, true)]),
        ("a move that is not there", |model| model.line = vec![999]),
        ("very large tables", |model| {
            model.patterns = Some(PatternSettings { slots: usize::MAX, ..PatternSettings::default() });
        }),
        ("no number", |model| model.weights[0].bias[0] = f32::NAN),
        ("points for two", |model| {
            model.sum = if model.weights.len() == 1 && model.sum == Sum::Free { Sum::Shared } else { Sum::Free };
        }),
    ];
    let mut n_models = 0;
    for stored in kept.samples.iter().filter_map(|sample| Stored::from_bytes(sample).ok()) {
        let game = |stored: &Stored| kept.games.iter().find_map(|game| stored.load(game.clone()).ok());
        assert!(game(&stored).is_some());
        n_models += 1;
        for (what, damage) in damages {
            let mut damaged = stored.clone();
            damage(&mut damaged);
            assert!(game(&damaged).is_none(), "{what}");
        }
    }
    assert_eq!(n_models, 6);
}
