//! The crates depend on each other as ARCHITECTURE.md says.

use std::collections::BTreeSet;
use std::process::Command;

/// The pipeline: a crate may use those before it.
const CRATES: [&str; 3] = ["gdl", "machine", "senet"];
/// What a crate must do without, directly or indirectly.
const FORBIDDEN: [(&str, &[&str]); 2] = [
    ("gdl", &["rand", "serde", "serde_json", "clap", "anyhow"]),
    ("machine", &["serde", "serde_json", "clap", "anyhow"]),
];

/// The packages that a crate is built with, its own tests' excluded.
fn dependencies(name: &str) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["tree", "--package", name, "--edges", "normal", "--prefix", "none", "--format", "{p}", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_those_before_them() {
    for (place, name) in CRATES.iter().enumerate() {
        let used = dependencies(name);
        assert!(used.contains(*name), "{name} is a package");
        for later in &CRATES[place + 1..] {
            assert!(!used.contains(*later), "{name} must not use {later}");
        }
    }
}

#[test]
fn lower_crates_do_without_the_outside_world() {
    for (name, forbidden) in FORBIDDEN {
        let used = dependencies(name);
        for package in forbidden {
            assert!(!used.contains(*package), "{name} must do without {package}");
        }
    }
}

#[test]
fn the_list_of_crates_is_complete() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let entries = std::fs::read_dir(folder).expect("the crates are in the repository");
    let names: BTreeSet<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names, CRATES.iter().map(|name| (*name).to_owned()).collect());
}
