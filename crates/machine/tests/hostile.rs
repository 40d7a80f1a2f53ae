//! Short rules that are made to exhaust the building of a network: all end soon, and right.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gdl::Stop;
use machine::Machine;
use machine::lanes::{self, Lanes};
use machine::network::{BuildError, Network, build};
use machine::scalar::{self, Scalar};

/// Generous, since tests run on busy machines: the point is minutes or days.
const SOON: Duration = Duration::from_secs(120);

fn network(text: &str) -> Network {
    let reading = gdl::read("hostile", text.as_bytes());
    assert!(!reading.has_errors(), "{text}");
    let start = Instant::now();
    let ground = gdl::ground::ground(&reading.program, &gdl::ground::Budget::default()).expect("it grounds");
    let network = Arc::new(build(ground, &Stop::never()).expect("there is a network"));
    scalar::Compiled::new(network.clone());
    lanes::Compiled::new(network.clone());
    let took = start.elapsed();
    assert!(took < SOON, "took {took:?}");
    Arc::into_inner(network).expect("nobody else has it")
}

/// A counter with three digits of any base: as many fluents as it has states, each the reason of the next.
fn counter(base: usize) -> String {
    let digits = (0..base).fold(String::new(), |mut text, i| {
        write!(text, "(digit {i}) (after {i} {})", (i + 1) % base).expect("writing to a string");
        text
    });
    format!(
        "(role r) {digits} (init (c 0 0 0)) (legal r go)
         (<= (next (c ?x ?y ?w)) (true (c ?x ?y ?z)) (after ?z ?w) (distinct ?w 0))
         (<= (next (c ?x ?w 0)) (true (c ?x ?y {last})) (after ?y ?w) (distinct ?w 0))
         (<= (next (c ?w 0 0)) (true (c ?x {last} {last})) (after ?x ?w))
         (<= terminal (true (c {last} {last} {last}))) (goal r 100)",
        last = base - 1
    )
}

#[test]
fn fluents_that_change_one_after_another() {
    let network = network(&counter(50));
    assert_eq!((network.fluents.len(), network.constant_fluents.len()), (125_000, 0));
}

#[test]
fn moves_in_many_small_classes() {
    let numbers = (0..15_000).fold(String::new(), |mut text, i| {
        write!(text, "(n {i}) ").expect("writing to a string");
        text
    });
    let text = format!(
        "(role r) {numbers} (kind 1) (kind 2) (kind 3) (<= (init (free ?x)) (n ?x)) (legal r stay)
         (<= (legal r (take ?x ?k)) (n ?x) (kind ?k) (true (free ?x)) (true (lit ?k))) (<= (init (lit ?k)) (kind ?k))
         (<= (next (free ?x)) (true (free ?x)) (not (taken ?x))) (<= (taken ?x) (does r (take ?x ?k)))
         (<= (next (lit ?k)) (true (lit ?k)) (does r stay)) (<= terminal (not (true (lit 1)))) (goal r 100)"
    );
    let network = Arc::new(network(&text));
    let mut machine = Scalar::new(scalar::Compiled::new(network));
    let state = machine.initial().expect("no budget");
    let mut moves = Vec::new();
    machine.legal(&state, machine::RoleId(0), &mut moves).expect("no budget");
    assert_eq!(moves.len(), 45_001);
}

#[test]
fn many_roles() {
    let roles = (0..2000).fold(String::new(), |mut text, i| {
        write!(text, "(role r{i}) ").expect("writing to a string");
        text
    });
    let text = format!(
        "{roles} (<= (legal ?r a) (role ?r)) (<= (legal ?r b) (role ?r)) (init p)
         (<= (next p) (not some-a)) (<= some-a (does ?r a)) (<= (next q) (does ?r b) (true p))
         (<= terminal (true q)) (<= (goal ?r 0) (role ?r))"
    );
    assert_eq!(network(&text).roles.len(), 2000);
}

#[test]
fn paths_through_a_large_ring() {
    // Everything depends on everything else, once round the ring.
    let n = 3000;
    let ring = (0..n).fold(String::new(), |mut text, i| {
        write!(text, "(edge {i} {}) ", (i + 1) % n).expect("writing to a string");
        text
    });
    let text = format!(
        "(role r) {ring} (init (on 0)) (<= (legal r (light ?x)) (edge ?x ?y)) 
         (<= (next (on ?x)) (true (on ?x))) (<= (next (on ?x)) (does r (light ?x)))
         (<= (reach 0) (true (on 0))) (<= (reach ?y) (reach ?x) (edge ?x ?y) (true (on ?x)))
         (<= terminal (reach {last})) (<= (goal r 100) (reach {last})) (<= (goal r 0) (not (reach {last})))",
        last = n - 1
    );
    let network = Arc::new(network(&text));
    let mut lanes = Lanes::new(lanes::Compiled::new(network));
    lanes.playouts(&mut lanes::random(1), &mut [0; lanes::LANES], 10, 5);
}

#[test]
fn a_stop_ends_every_stage() {
    let reading = gdl::read("hostile", counter(20).as_bytes());
    let ground = |stop| gdl::ground::ground(&reading.program, &gdl::ground::Budget { stop, ..Default::default() });
    assert!(ground(Stop::when(|| true)).is_err());
    let program = ground(Stop::never()).expect("it grounds");
    assert_eq!(build(program, &Stop::when(|| true)).err(), Some(BuildError::Stopped));
}
