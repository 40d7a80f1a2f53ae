//! Random playouts of the engines, from the initial state to the end. Each benchmark checks what it times.
//!
//! `cargo bench -p machine`. Times on a busy machine are noise: `scripts/count-instructions` counts instead.

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::lanes::{self, LANES, Lanes};
use machine::scalar::{self, Scalar};
use machine::{Limits, Reference};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

const GAMES: [&str; 5] = ["tic-tac-toe", "connect-four", "breakthrough", "othello", "chess"];
const CAP: u32 = 1000;

fn program(game: &str) -> gdl::Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games").join(game).join("rules.kif");
    let text = std::fs::read_to_string(path).expect("the library is in the repository");
    gdl::resolve(&gdl::parse(&gdl::Source::new(game, text)).0).0
}

fn playouts(criterion: &mut Criterion) {
    for game in GAMES {
        let program = program(game);
        let ground = || gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("library games ground");
        let network =
            Arc::new(machine::network::build(ground(), &gdl::Stop::never()).expect("library games make networks"));
        let mut group = criterion.benchmark_group(game);
        group.sample_size(10);
        group.bench_function("compile", |bencher| {
            bencher.iter(|| {
                let built =
                    machine::network::build(ground(), &gdl::Stop::never()).expect("library games make networks");
                assert_eq!(built.n_gates(), network.n_gates());
            });
        });

        group.throughput(Throughput::Elements(1));
        let mut scalar = Scalar::new(scalar::Compiled::new(network.clone()));
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        group.bench_function("scalar", |bencher| {
            bencher.iter(|| {
                let (plies, ended) = scalar.random_match(&mut rng, CAP);
                assert!(ended && plies > 0);
                plies
            });
        });

        let mut lanes = Lanes::new(lanes::Compiled::new(network));
        let (mut random, mut plies) = (lanes::random(1), [0; LANES]);
        group.throughput(Throughput::Elements(5_000));
        group.bench_function("lanes, 5000 states", |bencher| {
            bencher.iter(|| {
                let tally = lanes.playouts(&mut random, &mut plies, CAP, 5_000);
                assert!(tally.n_states >= 5_000 && tally.n_given_up == 0);
                tally.n_playouts
            });
        });

        if game != "chess" {
            let mut reference =
                Reference::new(Arc::new(program.clone()), Limits::default()).expect("library rules have a meaning");
            group.throughput(Throughput::Elements(1));
            group.bench_function("reference", |bencher| {
                bencher.iter(|| {
                    let end =
                        machine::playout(&mut reference, &mut rng, CAP, |_, _| Ok(())).expect("within the budget");
                    assert_eq!(end.stop, machine::StopReason::Terminal);
                    end.n_plies
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, playouts);
criterion_main!(benches);
