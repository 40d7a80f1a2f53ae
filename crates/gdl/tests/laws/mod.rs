//! What holds for any bytes that are read as rules. Fuzzers and tests share this.

use gdl::{Code, Form, Severity, Source, detect, parse, print};

/// Reading and printing never fail, and are inverse to each other.
pub(crate) fn text(bytes: &[u8]) {
    let reading = gdl::read("text", bytes);
    for found in &reading.diagnostics {
        assert!(!found.render(&reading.source, false).is_empty());
    }
    // Step 1. Prefix notation can write down every tree.
    let kif = print(&reading.tree, Form::Kif);
    let (again, diagnostics) = parse(&Source::new("kif", &*kif));
    assert!(diagnostics.is_empty(), "{}\n{kif}", diagnostics[0].message);
    assert!(reading.tree.same_as(&again), "printed as\n{kif}");
    let infix = print(&reading.tree, Form::Infix);
    // Step 2. Infix notation can write down every tree that makes rules.
    let is_broken = |code: Code| code.severity() == Severity::Error && code.id() < "GDL0100";
    if reading.tree.roots.is_empty() || reading.diagnostics.iter().any(|found| is_broken(found.code)) {
        return;
    }
    for (form, text) in [(Form::Kif, kif), (Form::Infix, infix)] {
        assert_eq!(detect(&text), form, "{text}");
        let again = gdl::read("printed", text.as_bytes());
        assert!(reading.tree.same_as(&again.tree), "printed as\n{text}\nreads as\n{}", print(&again.tree, Form::Kif));
        assert_eq!(print(&again.tree, form), text, "printing twice");
        // Step 3. What the checks find does not depend on the notation.
        let codes = |reading: &gdl::Reading| {
            let mut codes: Vec<Code> = reading.diagnostics.iter().map(|found| found.code).collect();
            codes.sort();
            codes
        };
        assert_eq!(codes(&reading), codes(&again), "in\n{text}");
    }
}
