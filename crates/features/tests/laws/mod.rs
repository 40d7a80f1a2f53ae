//! What holds for the analysis and the features of any rules. Fuzzers and tests share this.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use features::construct::{self, construct};
use features::game::Game;
use features::positions::{self, collect};
use gdl::{Program, Stop};
use insight::analysis::{Settings, analyze, analyze_canonical};
use insight::canonical::canonical;
use insight::scramble::{RoleOrder, scramble};
use insight::{prove, sample, symmetry};
use machine::Limits;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// Nodes of the search for a canonical form.
const NODES: u64 = 200;

fn read(text: &str) -> Option<Program> {
    let reading = gdl::read("game", text.as_bytes());
    (!reading.has_errors()).then_some(reading.program)
}

fn small() -> Settings {
    Settings {
        graph: NODES,
        ground: gdl::ground::Budget {
            rules: 2000,
            facts: 20_000,
            literals: 50_000,
            work: 200_000,
            ..Default::default()
        },
        sample: sample::Budget { rounds: 1, plies: 30, gates: 1_000_000, states: 50, ..Default::default() },
        prove: prove::Budget { edges: 20_000, propagations: 100_000, ..Default::default() },
        symmetry: symmetry::Budget { literals: 50_000, graph: 50_000, search: 2_000_000, ..Default::default() },
        limits: Limits { facts: 20_000, work: 200_000, bytes: 64 << 20, ..Limits::default() },
        ..Settings::default()
    }
}

/// An analysis ends with an answer or a reason, and a scrambled copy has the same canonical form and the same analysis. Returns
/// whether there was an answer.
pub(crate) fn analysis(text: &str, seed: u64) -> bool {
    let Some(program) = read(text) else { return false };
    let scrambled = scramble(&program, RoleOrder::Kept, &mut Pcg64Mcg::seed_from_u64(seed));
    let other = gdl::read("scrambled", scrambled.text.as_bytes());
    assert!(!other.has_errors(), "a scrambled copy has errors: {}", scrambled.text);
    let (own, other) = (canonical(&program, NODES), canonical(&other.program, NODES));
    if own.too_hard.is_some() || other.too_hard.is_some() {
        return analyze(&program, &small()).is_ok();
    }
    assert_eq!(own.fingerprint, other.fingerprint, "of\n{text}\nand\n{}", scrambled.text);
    let (own, other) = (analyze_canonical(&own, &small()), analyze_canonical(&other, &small()));
    assert_eq!(own, other, "of\n{text}\nand\n{}", scrambled.text);
    own.is_ok()
}

/// Features are made and chosen, or there is a reason why not, also when the work is ended in the middle. Returns whether any were
/// chosen.
pub(crate) fn features(text: &str, patience: u64) -> bool {
    let Some(program) = read(text) else { return false };
    let asked = Arc::new(AtomicU64::new(0));
    let most = 1 + patience * 40;
    let stop = Stop::when(move || asked.fetch_add(1, Ordering::Relaxed) >= most);
    let Ok(game) = Game::until(program, 1, &stop) else { return false };
    let play = positions::Settings { levels: 1, positions: 200, matches: (20, 50), ..Default::default() };
    let played = collect(&game, &play, &mut |_| !stop.is_raised()).positions;
    if played.is_empty() {
        return false;
    }
    let few = construct::Settings { candidates: 60, configurations: 10, positions: 200, ..Default::default() };
    let set = construct(&game, &played, &few, &mut |_| !stop.is_raised());
    set.is_ok_and(|set| !set.features.is_empty())
}
