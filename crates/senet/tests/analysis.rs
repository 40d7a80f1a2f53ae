//! The analysis of every library game is the one that was looked at and found right: `games/*/analysis.txt`. After a change
//! that is meant, `UPDATE_ANALYSES=1` writes them anew; read the difference.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games");
    let mut games: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the library is there").map(|entry| entry.expect("an entry").path()).collect();
    games.sort();
    let name = |game: &Path| game.file_name().expect("a name").to_string_lossy().into_owned();
    let trials = games.into_iter().map(|game| Trial::test(name(&game), move || as_recorded(&game))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn as_recorded(game: &Path) -> Result<(), Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_senet"))
        .args(["analyze", "--no-remember"])
        .arg(game.join("rules.kif"))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let found = String::from_utf8(output.stdout)?;
    let path = game.join("analysis.txt");
    if std::env::var_os("UPDATE_ANALYSES").is_some() {
        std::fs::write(&path, &found)?;
        return Ok(());
    }
    let recorded = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    for (number, (old, new)) in recorded.lines().zip(found.lines()).enumerate() {
        if old != new {
            return Err(format!("line {}:\n  recorded: {old}\n  found:    {new}", number + 1).into());
        }
    }
    if recorded == found { Ok(()) } else { Err("one is longer than the other".into()) }
}
