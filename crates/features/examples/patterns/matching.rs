//! How fast patterns are matched along random play from late positions, with each of the ways to save edges.

use std::time::Instant;

use features::pattern::cover::{Change, Cover, Matcher, Motion, Settings};
use features::pattern::set::Patterns;
use rand::RngExt;

use crate::contest::{self, Contest, in_parallel};
use crate::cpu_seconds;

/// How often each match is timed.
const REPEATS: u64 = 24;

/// States along one random match.
type Line = Vec<Box<[u64]>>;

/// Random matches from positions with three quarters of the markers.
fn lines(contest: &Contest, n: usize, seed: u64, threads: usize) -> Vec<Line> {
    let values = contest::crude_values(contest, seed, threads);
    let starts = contest::states(contest, &values, n, contest.n_cells * 49 / 64, seed ^ 0x11, threads);
    in_parallel(contest, starts.len(), threads, |player, number| {
        let mut rng = contest::generator(seed ^ 0x77, number);
        player.scalar.jump(&starts[number]);
        let mut line = vec![starts[number].clone()];
        let mut joints = Vec::new();
        while !player.scalar.terminal() {
            joints.clear();
            player.joints(&mut joints);
            player.scalar.make(&joints[rng.random_range(0..joints.len())]);
            line.push(player.scalar.bits().into());
        }
        line
    })
}

/// Prints edges and speed.
pub(crate) fn measure(contest: &Contest, patterns: &Patterns, weights: &[f64], seed: u64, threads: usize) {
    let weights: Vec<i32> = weights.iter().map(|weight| (weight * 1000.0).round() as i32).collect();
    let lines = lines(contest, 400, seed, threads);
    // Half of the matches tell how often things flip, the other half is timed.
    let (seen, timed) = lines.split_at(lines.len() / 2);
    let moves: Vec<Change> =
        seen.iter().flat_map(|line| line.windows(2).map(|pair| (pair[0].clone(), pair[1].clone()))).collect();
    let n_fluents = contest.game.circuit.network.fluents.len();
    let motion = Motion::new(n_fluents, &moves[..moves.len().min(1024)]);
    let plain = Settings::PLAIN;
    let covers = Settings { covers: true, ..plain };
    let eliminated = Settings { eliminate: true, ..covers };
    let variants = [
        ("literals only", plain, None),
        ("covers", covers, None),
        ("covers, redundant edges eliminated", eliminated, None),
        ("cubes extracted", Settings { extract: true, ..plain }, None),
        ("covers, elimination, cubes", Settings::ALL, None),
        ("covers, elimination, by flips", eliminated, Some(&motion)),
        ("cubes, by flips", Settings { extract: true, ..plain }, Some(&motion)),
        ("covers, elimination, cubes, by flips", Settings::ALL, Some(&motion)),
    ];
    println!("| {} patterns | nodes | edges | edges walked/move | moves/s | build s |", patterns.len());
    println!("|---|---|---|---|---|---|");
    let mut scores: Option<i64> = None;
    for (name, settings, motion) in variants {
        let start = cpu_seconds();
        let cover = Cover::build(patterns, &weights, motion, &settings);
        let build = cpu_seconds() - start;
        let (mut n_moves, mut walked, mut seconds, mut sum) = (0u64, 0, 0.0, 0);
        for line in timed {
            let mut matcher = Matcher::new(&cover, &line[0]);
            let mut best = f64::INFINITY;
            // The least of several times is the one that nobody disturbed.
            for _ in 0..REPEATS {
                let (start, mut own) = (Instant::now(), 0);
                for pair in line.windows(2) {
                    matcher.update(&cover, &pair[0], &pair[1]);
                    own += matcher.score();
                }
                for pair in line.windows(2).rev() {
                    matcher.update(&cover, &pair[1], &pair[0]);
                    own += matcher.score();
                }
                best = best.min(start.elapsed().as_secs_f64());
                sum += own;
            }
            seconds += best;
            n_moves += 2 * (line.len() as u64 - 1);
            walked += matcher.walked() / REPEATS;
        }
        assert!(scores.is_none_or(|scores| scores == sum), "every way gives the same scores");
        scores = Some(sum);
        println!(
            "| {name} | {} | {} | {:.0} | {:.0} | {build:.1} |",
            cover.n_nodes(),
            cover.n_edges(),
            walked as f64 / n_moves as f64,
            n_moves as f64 / seconds
        );
    }
}
