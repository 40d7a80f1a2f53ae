//! What searchers claim to be exact is so: every claim equals enumeration, on games by chance. `examples/exact.rs` does the same for
//! as many games as one likes.

#[allow(dead_code)]
mod exact;

#[test]
fn claims_equal_enumeration() {
    let mut tally = exact::Tally::default();
    (0..250).for_each(|seed| tally.add(exact::check(seed).tally));
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    for (name, count) in &tally.counts {
        assert!(count.claimed > 10, "{name} claims too little to be tested: {count:?}");
    }
}
