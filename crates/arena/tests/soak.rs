//! Matches over real connections with faults on both sides; `senet soak` plays a thousand.

mod common;

use std::sync::Arc;

use arena::soak::{Plan, soak};
use arena::{Clocks, Factory, Tree};
use common::{game, seconds};

#[test]
fn no_match_is_lost_whatever_goes_wrong() {
    let plan = Plan {
        games: ["tic-tac-toe", "nim-5", "rock-paper-scissors", "buttons-and-lights"].map(game).to_vec(),
        matches: 40,
        clocks: Clocks { start: seconds(0.3), play: seconds(0.15) },
        grace: seconds(0.35),
        faults: 20,
        seed: 1,
        hostile: None,
    };
    let factory: Factory = Arc::new(|| Box::new(Tree::new(1)));
    let findings = soak(&plan, factory, &mut |_| {}).expect("loopback is there");
    assert_eq!(findings.complaints(&plan), Vec::<String>::new(), "{findings:#?}");
    // Things did go wrong.
    assert!(findings.their_errors > 0);
    for what in ["manager:", "player:", "pest:"] {
        assert!(findings.faults.keys().filter(|fault| fault.starts_with(what)).count() >= 3, "{findings:#?}");
    }
}
