//! Writes the first inputs of every target: the games of the library, in both notations.

#[allow(dead_code, reason = "only the kept bytes are written")]
#[path = "../../crates/learn/tests/laws/mod.rs"]
mod laws;

use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let corpus = |target: &str| -> std::io::Result<PathBuf> {
        let folder = root.join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let (text, game) = (corpus("text")?, corpus("game")?);
    let (generated, datalog) = (corpus("generated")?, corpus("datalog")?);
    let (analysis, features) = (corpus("analysis")?, corpus("features")?);
    let (arriving, kept) = (corpus("arriving")?, corpus("kept")?);
    let mut n_files = 0;
    let mut write = |folder: &Path, name: &str, bytes: &[u8]| {
        n_files += 1;
        std::fs::write(folder.join(name), bytes)
    };
    for folder in std::fs::read_dir(root.join("../games"))? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let Ok(rules) = std::fs::read_to_string(folder.path().join("rules.kif")) else { continue };
        let (tree, _) = gdl::parse(&gdl::Source::new(&*name, rules));
        let kif = gdl::print(&tree, gdl::Form::Kif);
        write(&text, &format!("{name}.kif"), kif.as_bytes())?;
        write(&text, &format!("{name}.infix"), gdl::print(&tree, gdl::Form::Infix).as_bytes())?;
        write(&game, &name, &[&[0, 1, 2, 3], kif.as_bytes()].concat())?;
        // Of large games a fuzzer can try few changes.
        if kif.len() < 4096 {
            write(&analysis, &name, &[b"a", kif.as_bytes()].concat())?;
            write(&features, &name, &[b"z", kif.as_bytes()].concat())?;
        }
    }
    // Small texts and games, where most of the work is done.
    let small = [
        "(role r)(init (at 1))(<= (legal r go) (true (at 1)))(<= (next (at 2)) (does r go))(<= terminal (true (at 2)))(goal r 100)",
        "(role a)(role b)(n 1 2)(n 2 3)(init (c 1))(<= (legal ?r (p ?x)) (role ?r) (or (true (c ?x)) (n ?x ?y)))
         (<= (q ?x ?y) (n ?x ?y))(<= (q ?x ?z) (n ?x ?y) (q ?y ?z))(<= (next (c ?y)) (does a (p ?x)) (q ?x ?y) (not (does b (p ?y))))
         (<= terminal (not (true (c 1))))(<= (goal ?r 50) (role ?r) (distinct ?r b))(<= (goal b 0) (not (goal b 50)))",
        "role(r)\ninit(f(g(x), 'Y z'))\nlegal(r, M) :- true(f(M, _)) & ~(a | b & c)\nterminal :- .\n",
    ];
    for (number, rules) in small.iter().enumerate() {
        write(&text, &format!("small-{number}"), rules.as_bytes())?;
        write(&game, &format!("small-{number}"), &[&[0, 1, 2, 3], rules.as_bytes()].concat())?;
        write(&analysis, &format!("small-{number}"), &[b"a", rules.as_bytes()].concat())?;
        write(&features, &format!("small-{number}"), &[b"z", rules.as_bytes()].concat())?;
        let start = format!("(START m.1 r ({rules}) 30 15)");
        let head = format!("POST / HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", start.len());
        write(&arriving, &format!("start-{number}"), (head + &start).as_bytes())?;
    }
    for (number, message) in
        ["(INFO)", "(PLAY m.1 ((mark 1 1) noop))", "(STOP m.1 NIL)", "(ABORT m.1)"].iter().enumerate()
    {
        write(&arriving, &format!("message-{number}"), message.as_bytes())?;
    }
    for (number, bytes) in laws::Kept::new().samples.iter().enumerate() {
        write(&kept, &format!("{number}"), bytes)?;
    }
    for seed in 0..20u8 {
        let bytes: Vec<u8> =
            (0..200u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed.wrapping_mul(37)).collect();
        write(&datalog, &format!("{seed}"), &bytes)?;
        write(&generated, &format!("{seed}"), &bytes)?;
    }
    println!("{n_files} files in {}", root.join("corpus").display());
    Ok(())
}
