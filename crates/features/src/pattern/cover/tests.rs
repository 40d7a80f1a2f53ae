use machine::scalar::{Compiled, Scalar};
use machine::{Machine, RoleId};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::pattern::set::{Literal, matches};
use crate::pattern::testing::game;
use crate::pattern::{seeds, unfold};

fn patterns(texts: &[&str]) -> Patterns {
    texts.iter().map(|text| text.bytes().map(|byte| Literal::of(u32::from(byte - b'a'))).collect::<Vec<_>>()).collect()
}

#[test]
fn two_of_three_pairs_suffice() {
    let set = patterns(&["abc", "ab", "bc", "ac"]);
    let covers = Settings { eliminate: false, extract: false, ..Settings::ALL };
    assert_eq!(Cover::build(&set, &[1; 4], None, &covers).n_sources(0), 3);
    let eliminated = Settings { eliminate: true, ..covers };
    assert_eq!(Cover::build(&set, &[1; 4], None, &eliminated).n_sources(0), 2);
    assert_eq!(Cover::build(&set, &[1; 4], None, &Settings::PLAIN).n_sources(0), 3);
    let chain = patterns(&["abc", "ab", "bc"]);
    assert_eq!(Cover::build(&chain, &[1; 3], None, &covers).n_sources(0), 2);
}

#[test]
fn a_common_cube_saves_an_edge() {
    let set = patterns(&["abcd", "bcde"]);
    assert_eq!(Cover::build(&set, &[1; 2], None, &Settings::PLAIN).n_edges(), 8);
    assert_eq!(Cover::build(&set, &[1; 2], None, &Settings::ALL).n_edges(), 7);
    let plain = Settings { extract: true, ..Settings::PLAIN };
    assert_eq!(Cover::build(&set, &[1; 2], None, &plain).n_edges(), 7);
}

#[test]
fn there_may_be_more_sources_than_pairs_can_name() {
    let n = 70_000;
    let literal = |fluent: u32| Literal::of(fluent % n);
    let neighbours = |fluent: u32| if fluent + 1 < n { [fluent, fluent + 1] } else { [0, fluent] };
    let set: Patterns = (0..n).map(|fluent| neighbours(fluent).map(literal)).collect();
    let cover = Cover::build(&set, &vec![1; set.len()], None, &Settings::PLAIN);
    let nothing = vec![0u64; n as usize / 64 + 1];
    let everything = vec![u64::MAX; nothing.len()];
    let mut matcher = Matcher::new(&cover, &nothing);
    for _ in 0..2 {
        matcher.update(&cover, &nothing, &everything);
        assert_eq!(matcher.score(), i64::from(n));
        matcher.update(&cover, &everything, &nothing);
        assert_eq!(matcher.score(), 0);
    }
}

/// Random patterns over a few fluents, some of which contain others.
fn random_patterns(rng: &mut Pcg64Mcg, n: usize, n_fluents: u32) -> Patterns {
    let mut set = Patterns::default();
    for _ in 0..n {
        let mut pattern: Vec<Literal> = match set.len() {
            len if len > 0 && rng.random_range(0..2) == 0 => set.get(rng.random_range(0..len as u32)).to_vec(),
            _ => Vec::new(),
        };
        for _ in 0..rng.random_range(0..4) {
            pattern.push(Literal::of(rng.random_range(0..n_fluents)).negate_if(rng.random_range(0..4) == 0));
        }
        pattern.sort_unstable();
        pattern.dedup_by_key(|literal| literal.fact());
        set.insert(&pattern);
    }
    set
}

/// Patterns of Othello, and states along random matches.
#[test]
fn sharing_saves_most_of_the_work_in_othello() {
    let game = game("othello");
    let ground = game.circuit.ground.as_ref().expect("it is kept");
    let groups = unfold::proved_groups(&game.structure, &game.circuit);
    let mut unfolder = unfold::Unfolder::new(
        ground,
        &game.circuit.network,
        groups,
        unfold::Budget { work: 2_000_000, ..Default::default() },
    );
    let budget = seeds::Budget { conjunctions: 32, candidates: 400_000, ..seeds::Budget::default() };
    let (n, mut all) = seeds::conditions(&mut unfolder, ground, &budget);
    seeds::join(&unfolder, &mut all, 0..n, n, &budget);
    let set: Patterns = all.iter().step_by(all.len() / 12_000).collect();
    assert!(set.len() >= 10_000);
    let mut scalar = Scalar::new(Compiled::new(game.circuit.network.clone()));
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let mut state = scalar.initial().expect("no limits");
    let mut moves = Vec::new();
    while moves.len() < 1000 {
        scalar.jump(&state);
        let joint: Vec<u32> = (0..2)
            .map(|role| {
                let mut own = Vec::new();
                scalar.legal_moves(RoleId(role), &mut own);
                own[rng.random_range(0..own.len())]
            })
            .collect();
        let next = if scalar.terminal() { scalar.initial() } else { scalar.next(&state, &joint) };
        let next = next.expect("no limits");
        moves.push((state, next.clone()));
        state = next;
    }
    let motion = Motion::new(game.circuit.network.fluents.len(), &moves[..500]);
    let weights: Vec<i32> = (0..set.len()).map(|_| rng.random_range(-100..100)).collect();
    let run = |settings: &Settings, motion: Option<&Motion>| {
        let cover = Cover::build(&set, &weights, motion, settings);
        let mut matcher = Matcher::new(&cover, &moves[0].0);
        moves.iter().for_each(|(before, after)| matcher.update(&cover, before, after));
        (cover.n_edges(), matcher.walked(), matcher.score())
    };
    let (edges, walked, score) = run(&Settings::PLAIN, None);
    let (fewer, less, same) = run(&Settings::ALL, Some(&motion));
    assert_eq!(score, same);
    assert!(2 * fewer < edges, "{fewer} of {edges} edges");
    assert!(4 * less < walked, "{less} of {walked} edges walked");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn equals_plain_matching_after_every_flip(seed in 0u64..1_000_000) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let n_fluents = rng.random_range(4..70);
        let set = random_patterns(&mut rng, 120, n_fluents);
        let weights: Vec<i32> = (0..set.len()).map(|_| rng.random_range(-40_000..40_000)).collect();
        let mut state = vec![0u64; 2].into_boxed_slice();
        let mut moves = Vec::new();
        for _ in 0..130 {
            let before = state.clone();
            for _ in 0..rng.random_range(1..6) {
                let fluent = rng.random_range(0..n_fluents) as usize;
                state[fluent / 64] ^= 1 << (fluent % 64);
            }
            moves.push((before, state.clone()));
        }
        let motion = Motion::new(n_fluents as usize, &moves);
        for bits in 0..8 {
            let (covers, eliminate, extract) = (bits & 1 == 1, bits & 2 == 2, bits & 4 == 4);
            for motion in [None, Some(&motion)] {
                let cover = Cover::build(&set, &weights, motion, &Settings { covers, eliminate, extract, ..Settings::ALL });
                let mut matcher = Matcher::new(&cover, &moves[0].0);
                let check = |matcher: &Matcher, state: &[u64]| {
                    let mut score = 0;
                    for (number, pattern) in (0..).zip(set.iter()) {
                        let holds = matches(pattern, state);
                        prop_assert_eq!(matcher.matches(&cover, number), holds);
                        score += if holds { i64::from(weights[number as usize]) } else { 0 };
                    }
                    prop_assert_eq!(matcher.score(), score);
                    Ok(())
                };
                check(&matcher, &moves[0].0)?;
                for (before, after) in &moves {
                    matcher.update(&cover, before, after);
                    check(&matcher, after)?;
                }
                let fresh = Matcher::new(&cover, &moves[0].0);
                for (before, after) in moves.iter().rev() {
                    matcher.update(&cover, after, before);
                }
                prop_assert_eq!(matcher.score(), fresh.score());
                prop_assert_eq!(&matcher.missing, &fresh.missing);
            }
        }
    }
}
