//! Lists the games of the library, so that the program carries them with it.

use std::fmt::Write;
use std::path::Path;

fn main() {
    // Asked for when it runs: a checkout may have moved since it was compiled.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let games = Path::new(&package).join("../../games");
    println!("cargo::rerun-if-changed={}", games.display());
    let folders = std::fs::read_dir(&games).unwrap_or_else(|error| panic!("{}: {error}", games.display()));
    let mut names: Vec<String> = folders
        .filter_map(|folder| Some(folder.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| games.join(name).join("rules.kif").is_file())
        .collect();
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let file = |file: &str| {
            let path = games.join(&name).join(file);
            println!("cargo::rerun-if-changed={}", path.display());
            path
        };
        let (rules, view) = (file("rules.kif"), file("view.toml"));
        writeln!(table, "    Game {{ name: {name:?}, rules: include_str!({rules:?}), view: include_str!({view:?}) }},")
            .expect("writing to a string");
    }
    table.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("library.rs"), table).expect("OUT_DIR can be written to");
}
