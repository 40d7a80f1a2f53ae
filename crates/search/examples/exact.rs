//! Exact searchers against enumeration: `cargo run --release -p search --example exact -- --games 10000`
//!
//! Makes games by chance, from the seed `--seed` on, finds all their states, and compares with what every searcher claims to be exact.
//! `--show SEED` prints the rules of a game and what is wrong there.

#![allow(clippy::print_stdout)]

#[path = "../tests/exact/mod.rs"]
mod exact;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() -> ExitCode {
    let (mut games, mut seed, mut threads) = (10_000u64, 1u64, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().and_then(|value| value.parse().ok()).expect("a number after each option");
        match &arg[..] {
            "--games" => games = value,
            "--seed" => seed = value,
            "--threads" => threads = value,
            "--show" => {
                println!("{}{}", exact::rules(value), exact::check(value).tally.wrong.join("\n"));
                return ExitCode::SUCCESS;
            }
            _ => panic!("no such option: {arg}"),
        }
    }
    let (next, found) = (AtomicU64::new(0), Mutex::new((exact::Tally::default(), BTreeMap::new())));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= games {
                        break;
                    }
                    let checked = exact::check(seed + number);
                    checked.tally.wrong.iter().for_each(|wrong| println!("{wrong}"));
                    let (tally, families) = &mut *found.lock().expect("nobody panicked");
                    tally.add(checked.tally);
                    let family: &mut (u64, u64, usize) = families.entry(checked.family).or_default();
                    family.0 += 1;
                    family.1 += u64::from(checked.n_states.is_some());
                    family.2 += checked.n_states.unwrap_or(0);
                }
            });
        }
    });
    let (tally, families) = found.into_inner().expect("nobody panicked");
    println!("{:34} {:>9} {:>10} {:>10}", "games", "made", "enumerated", "states");
    for (family, (made, enumerated, states)) in families {
        println!("{family:34} {made:>9} {enumerated:>10} {states:>10}");
    }
    println!("{:34} {:>9} {:>10} {:>10}", "searcher", "asked", "claims", "wrong");
    for (name, count) in &tally.counts {
        println!("{name:34} {:>9} {:>10} {:>10}", count.asked, count.claimed, count.wrong);
    }
    if tally.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
