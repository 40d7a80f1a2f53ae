//! What canonical forms cost: nodes, edges and automorphisms of the rule graph, seconds for its canonical order, and
//! seconds for all, from the program to the canonical text.
//!
//! `cargo run --release -p insight --example canonical -- games/*/rules.kif`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use insight::canonical::{BUDGET, canonical};
use insight::rule_graph::{Options, RuleGraph};

fn main() -> std::io::Result<()> {
    println!(
        "{:<40} {:>6} {:>7} {:>7} {:>10} {:>9} {:>9}  fingerprint",
        "file", "rules", "nodes", "edges", "symmetries", "label s", "form s"
    );
    for file in std::env::args().skip(1) {
        let program = gdl::read(&file, &std::fs::read(&file)?).program;
        let graph = RuleGraph::new(&program, &Options::default());
        let start = Instant::now();
        let labelling = graph.label(BUDGET, &gdl::Stop::never());
        let labelled = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let form = canonical(&program, BUDGET);
        let formed = start.elapsed().as_secs_f64();
        let symmetries = match labelling {
            Ok(labelling) => format!("{}e{}", labelling.group_size.0, labelling.group_size.1),
            Err(_) => "too hard".to_owned(),
        };
        let (n_nodes, n_edges) = (graph.graph.colors.len(), graph.graph.edges.len());
        println!(
            "{file:<40} {:>6} {n_nodes:>7} {n_edges:>7} {symmetries:>10} {labelled:>9.4} {formed:>9.4}  {}",
            program.rules.len(),
            form.fingerprint
        );
    }
    Ok(())
}
