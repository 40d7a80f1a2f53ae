//! A scrambled copy of a game has the same analysis, up to names: on every library game that takes no longer than a moment.

use std::path::{Path, PathBuf};

use insight::analysis::{Settings, analyze_canonical};
use insight::canonical::{BUDGET, canonical};
use insight::scramble::{RoleOrder, scramble};
use libtest_mimic::{Arguments, Failed, Trial};
use rand_pcg::Pcg64Mcg;

/// Their networks are large. What makes the rest invariant makes them so, too: canonical forms are equal.
const SLOW: [&str; 6] = ["amazons", "amazons-10x10", "chess", "pancakes", "skirmish", "go-7x7"];

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let mut games: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the library is there").map(|entry| entry.expect("an entry").path()).collect();
    games.sort();
    let name = |game: &PathBuf| game.file_name().expect("a name").to_string_lossy().into_owned();
    let quick = games.into_iter().filter(|game| !SLOW.contains(&name(game).as_str()));
    let trials = quick.map(|game| Trial::test(name(&game), move || same_analysis(&game))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn same_analysis(game: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(game.join("rules.kif"))?;
    let program = gdl::read("rules.kif", text.as_bytes()).program;
    let seed = text.len() as u128;
    let scrambled = scramble(&program, RoleOrder::Shuffled, &mut Pcg64Mcg::new(seed)).program;
    // A few hundred matches are enough here: what is compared must be equal, not precise.
    let mut settings = Settings::default();
    settings.sample.rounds = 1;
    let analysis = |program| analyze_canonical(&canonical(program, BUDGET), &settings);
    let (own, other) = (analysis(&program)?, analysis(&scrambled)?);
    if own == other { Ok(()) } else { Err(format!("{own:#?}\n\nscrambled:\n{other:#?}").into()) }
}
