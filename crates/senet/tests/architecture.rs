//! The crates depend on each other as `ARCHITECTURE.md` says, and on nothing that it forbids.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Crates, each with the names that are listed for it.
type List = Vec<(String, BTreeSet<String>)>;

#[test]
fn crates_depend_on_each_other_as_the_map_says() {
    let [mut listed, _] = lists();
    for (index, (name, uses)) in listed.iter().enumerate() {
        let before: BTreeSet<String> = listed[..index].iter().map(|(name, _)| name.clone()).collect();
        assert!(uses.is_subset(&before), "`{name}` uses crates that don't stand before it in ARCHITECTURE.md");
    }
    listed.sort();
    assert_eq!(manifests(), listed, "left: the manifests, right: ARCHITECTURE.md");
}

#[test]
fn forbidden_packages_come_in_by_no_path() {
    let [_, forbidden] = lists();
    for (name, forbidden) in forbidden {
        let tree = cargo(&["tree", "--package", &name, "--edges", "normal", "--prefix", "none"]);
        let reached: BTreeSet<String> =
            tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
        assert!(reached.contains(&name), "{tree}");
        let found: Vec<_> = forbidden.intersection(&reached).collect();
        assert!(found.is_empty(), "`{name}` must not depend on {found:?}");
    }
}

/// What is kept, or decides what is kept, is told apart by hashes that are written out in this repository: those of the standard library
/// may change with it, and a derived `Debug` with the names of types.
#[test]
fn no_hash_of_the_standard_library_decides_anything() {
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    let mut n_files = 0;
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path());
            waiting.extend(entries.filter(|entry| !entry.ends_with("target")));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("architecture.rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            assert!(!text.contains("DefaultHasher"), "{}", path.display());
            n_files += 1;
        }
    }
    assert!(n_files > 200, "{n_files}");
}

/// The lists in the section on crates: who uses whom, and what is forbidden.
fn lists() -> [List; 2] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).expect("the page is there");
    let section = text.split_once("## Crates").expect("a section on crates").1;
    let mut blocks = section.split("```");
    let mut list = || {
        let block = blocks.nth(1).expect("two lists");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let entry = |line: &str| line.split_once(':').map(|(name, others)| (name.trim().to_owned(), words(others)));
        block.lines().filter_map(entry).collect()
    };
    [list(), list()]
}

/// For each crate of the workspace, those that it depends on for building or running.
fn manifests() -> List {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let name = |package: &serde_json::Value| package["name"].as_str().expect("a name").to_owned();
    let names: BTreeSet<String> = packages.iter().map(name).collect();
    let uses = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().expect("a list").iter();
        all.filter(|dependency| dependency["kind"] != "dev").map(name).filter(|used| names.contains(used)).collect()
    };
    let mut list: List = packages.iter().map(|package| (name(package), uses(package))).collect();
    list.sort();
    list
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
