use std::cell::{Cell, RefCell};

use proptest::prelude::*;

use super::tournament::Contest;
use super::*;

/// The greater first weight wins both games.
fn greater(one: &[f64], other: &[f64]) -> Outcome {
    let result = one[0].total_cmp(&other[0]) as i8;
    Outcome([result, result])
}

fn players(n: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..n).map(|_| vec![random.random::<f64>()]).collect()
}

#[test]
fn constriction_by_hand() {
    assert!((constriction(4.2).expect("a factor") - 0.641_742).abs() < 1e-6);
    assert!(constriction(4.0).is_err() && constriction(3.0).is_err());
}

#[test]
fn neighbors_on_a_torus() {
    let near = Topology::VonNeumann.neighbors(25, false);
    assert_eq!(near[0], [1, 4, 5, 20]);
    for (own, others) in near.iter().enumerate() {
        assert_eq!(others.len(), 4);
        assert!(others.iter().all(|&other| other != own && near[other].contains(&own)));
    }
    assert_eq!(Topology::VonNeumann.neighbors(25, true)[0], [0, 1, 4, 5, 20]);
    assert_eq!(Topology::Ring(1).neighbors(5, false)[0], [1, 4]);
    assert_eq!(Topology::Global.neighbors(3, false), [vec![1, 2], vec![0, 2], vec![0, 1]]);
}

#[test]
fn only_two_wins_replace_a_best_place() {
    for (outcome, expected) in [([1, 1], 1), ([1, 0], 0), ([1, -1], 0), ([0, 1], 0), ([-1, -1], 0)] {
        let mut referee = |_: &[f64], _: &[f64]| Outcome(outcome);
        let mut contest = Contest::new(players(2, 1), 1, 10, 1, &mut referee);
        let mut locations = contest.bests.clone();
        locations[1] = vec![7.0];
        assert_eq!(contest.challenge(&locations), Ok(expected));
        assert_eq!(contest.bests[1] == [7.0], expected == 1);
        assert_eq!(contest.n_played, 1);
    }
}

#[test]
fn tournaments_have_as_many_matches_as_they_should() {
    for n in [2usize, 3, 7, 16, 25, 49] {
        for method in Method::all() {
            let mut referee = greater;
            let mut contest = Contest::new(players(n, 3), 5, u64::MAX, 1, &mut referee);
            contest.rank(method).expect("no bound");
            let expected = match method.kind {
                Kind::Knockout { .. } => n - 1,
                Kind::Double { .. } => 2 * n - 2,
                Kind::RoundRobin => n * (n - 1) / 2,
                Kind::RandomSubset | Kind::FixedSubset => n * 5.min(n - 1),
            } as u64;
            match method.kind {
                // Those with equal points meet once more.
                Kind::RandomSubset | Kind::FixedSubset => {
                    assert!((expected..expected + n as u64).contains(&contest.n_meetings), "{method} {n}");
                }
                _ => assert_eq!(contest.n_meetings, expected, "{method} {n}"),
            }
            // Nobody plays twice against the same.
            assert!(contest.n_played <= contest.n_meetings);
            assert_eq!(contest.n_played, contest.n_known() as u64);
            if matches!(method.kind, Kind::Knockout { .. } | Kind::RoundRobin) {
                assert_eq!(contest.n_played, expected, "{method} {n}");
            }
            // Where nothing has changed, nothing is played.
            contest.rank(method).expect("no bound");
            assert_eq!(contest.n_played, contest.n_known() as u64);
        }
    }
}

#[test]
fn who_is_replaced_has_to_play_again() {
    let mut referee = greater;
    let mut contest = Contest::new(players(7, 3), 5, u64::MAX, 1, &mut referee);
    let method: Method = "RRK".parse().expect("a method");
    contest.rank(method).expect("no bound");
    assert_eq!((contest.n_played, contest.n_known()), (21, 21));
    contest.replace(4, vec![2.0]);
    assert_eq!(contest.n_known(), 15);
    contest.rank(method).expect("no bound");
    assert_eq!((contest.n_played, contest.n_known(), contest.winner()), (27, 21, 4));
}

/// The best of all wins, and nobody leaves a double knockout after one loss but in the final.
#[test]
fn the_best_wins() {
    for n in [2usize, 5, 16, 25] {
        for method in Method::all() {
            let all = players(n, n as u64);
            let losses = RefCell::new(vec![0u64; n]);
            let mut referee = |one: &[f64], other: &[f64]| {
                let loser = if one[0] < other[0] { one } else { other };
                let loser = all.iter().position(|player| player == loser).expect("a player");
                losses.borrow_mut()[loser] += 1;
                greater(one, other)
            };
            let mut contest = Contest::new(all.clone(), 5, u64::MAX, 9, &mut referee);
            contest.rank(method).expect("no bound");
            let (winner, ranks) = (contest.winner(), contest.ranks.clone());
            let (n_meetings, n_played) = (contest.n_meetings, contest.n_played);
            let best = (0..n).max_by(|&one, &other| all[one][0].total_cmp(&all[other][0])).expect("a player");
            if !matches!(method.kind, Kind::RandomSubset | Kind::FixedSubset) {
                assert_eq!((winner, ranks[best]), (best, 0), "{method} {n}");
            }
            assert_eq!(ranks.iter().filter(|&&rank| rank == 0).count(), 1);
            if let Kind::Double { .. } = method.kind {
                // Losses against somebody who was met before are not played again.
                let n_known = n_meetings - n_played;
                let missing: u64 = (0..n).filter(|&own| own != best).map(|own| 2 - losses.borrow()[own]).sum();
                assert_eq!((missing, losses.borrow()[best]), (n_known, 0), "{method} {n}: {losses:?}");
            }
        }
    }
}

/// With seeds, the two best meet last.
#[test]
fn seeds_keep_the_best_apart() {
    for n in [4usize, 7, 16, 25] {
        let met = RefCell::new(Vec::new());
        let mut referee = |one: &[f64], other: &[f64]| {
            met.borrow_mut().push([one[0], other[0]]);
            greater(one, other)
        };
        let mut contest = Contest::new(players(n, 5), 5, u64::MAX, 1, &mut referee);
        contest.rank("RRR".parse().expect("a method")).expect("no bound");
        // All play again, with the ranks that they have.
        for own in 0..n {
            contest.replace(own, contest.bests[own].clone());
        }
        let (before, ranks) = (contest.n_played as usize, contest.ranks.clone());
        let bests = contest.bests.clone();
        contest.rank("KSR".parse().expect("a method")).expect("no bound");
        let of_rank = |rank: usize| bests[ranks.iter().position(|&other| other == rank).expect("a rank")][0];
        let pair = [of_rank(0), of_rank(1)];
        let met = &met.borrow()[before..];
        let final_match = met.iter().position(|[one, other]| pair.contains(one) && pair.contains(other));
        assert_eq!(final_match, Some(met.len() - 1), "{n}");
    }
}

/// How far weights are from 20, 40 and 60.
fn distance(weights: &[f64]) -> f64 {
    weights.iter().zip([20.0, 40.0, 60.0]).map(|(weight, wanted)| (weight - wanted).abs()).sum()
}

fn nearer(one: &[f64], other: &[f64]) -> Outcome {
    let result = distance(other).total_cmp(&distance(one)) as i8;
    Outcome([result, result])
}

/// Each of twice as many as there are particles meets some others; a location that has more points than a best place replaces it.
#[test]
fn everybody_competes() {
    for seed in 0..10 {
        let mut referee = greater;
        let bests = vec![vec![0.0], vec![5.0], vec![3.0]];
        let mut contest = Contest::new(bests, 2, 12, seed, &mut referee);
        // The greatest of all never loses, and the least never wins.
        let replaced = contest.compete(&[vec![9.0], vec![4.0], vec![2.0]]).expect("it may play so many");
        assert!(replaced >= 1 && contest.bests[0] == [9.0]);
        assert_eq!(contest.n_played, 2 * 3 * 2);
        assert_eq!(contest.ranks[contest.winner()], 0);
        assert_eq!(contest.compete(&[vec![9.0], vec![4.0], vec![2.0]]), Err(tournament::Exhausted));
    }
    for seed in 0..10 {
        let settings =
            Settings { particles: 25, competitive: true, matches: 12_000, guard: 1, seed, ..Settings::default() };
        let mut referee = nearer;
        let found = search(3, &settings, &mut referee).expect("sound settings");
        // 250 matches an epoch.
        assert_eq!((found.n_epochs, found.n_matches), (47, 47 * 250 + 1));
        assert!(distance(&found.weights) < 15.0, "{:?}", found.weights);
    }
}

#[test]
fn fourteen_methods_keep_to_their_budgets() {
    assert_eq!(Method::all().len(), 14);
    for method in Method::all() {
        assert_eq!(method.to_string().parse(), Ok(method));
        let played = Cell::new(0u64);
        let mut referee = |one: &[f64], other: &[f64]| {
            played.set(played.get() + 1);
            assert!(one.iter().chain(other).all(|weight| (1.0..=99.0).contains(weight)));
            nearer(one, other)
        };
        let settings = Settings { particles: 25, method, matches: 3_000, guard: 1, ..Settings::default() };
        let found = search(3, &settings, &mut referee).expect("sound settings");
        assert_eq!(found.n_matches, played.get(), "{method}");
        assert!(found.n_matches <= 3_000 && found.n_matches > 2_500, "{method}: {}", found.n_matches);
        assert!(!found.is_start);
        assert!(distance(&found.weights) < 10.0, "{method}: {:?}", found.weights);
    }
    assert!("DSX".parse::<Method>().is_err());
}

#[test]
fn the_same_seed_finds_the_same() {
    let settings = Settings { particles: 9, matches: 500, guard: 0, ..Settings::default() };
    let find = || search(4, &settings, &mut greater).expect("sound settings");
    assert_eq!(find(), find());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With a guard, the result is never worse than equal weights; without, it may be.
    #[test]
    fn results_are_not_worse_than_equal_weights(seed in 0..1_000u64) {
        // Nothing beats equal weights.
        let spread = |weights: &[f64]| weights.iter().map(|weight| (weight - weights[0]).abs()).sum::<f64>();
        let mut referee = |one: &[f64], other: &[f64]| {
            let result = spread(other).total_cmp(&spread(one)) as i8;
            Outcome([result, -result.min(0)])
        };
        let settings = Settings { seed, particles: 4, matches: 40, guard: 4, ..Settings::default() };
        let found = search(3, &settings, &mut referee).expect("sound settings");
        prop_assert!(found.is_start && found.weights == [50.0; 3]);
        prop_assert!(found.n_matches <= 40);
        let free = search(3, &Settings { guard: 0, ..settings }, &mut referee).expect("sound settings");
        prop_assert!(!free.is_start);
    }
}
