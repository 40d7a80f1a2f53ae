//! `senet check --explain`: what the codes of findings mean.
//!
//! The manual page `docs/diagnostics.md` is what `senet check --explain all` prints; a test keeps it so.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::anyhow;
use gdl::diagnostic::any_error;
use gdl::{Code, Diagnostic, Source};
use machine::verify::Settings;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::screen;

pub(super) fn run(code: &str) -> anyhow::Result<ExitCode> {
    if code.eq_ignore_ascii_case("all") {
        screen::print(&manual());
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = code.to_ascii_uppercase();
    let known = Code::ALL.iter().find(|known| known.id() == wanted);
    let known = known.ok_or_else(|| {
        anyhow!(
            "there is no code `{code}`; they go from {} to {}",
            Code::ALL[0].id(),
            Code::ALL[Code::ALL.len() - 1].id()
        )
    })?;
    screen::print(&page(*known));
    Ok(ExitCode::SUCCESS)
}

const INTRODUCTION: &str = "\
# Diagnostics

What `senet check` can say about the rules of a game. An *error* means that the game is rejected; with a *warning* it
can be played, but something in it is doubtful. A code never changes its meaning.

This page is the output of `senet check --explain all`.

";

/// The page of all codes.
fn manual() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("| code | severity | |\n|---|---|---|\n");
    for code in Code::ALL {
        let (id, severity, title) = (code.id(), code.severity().name(), code.title());
        let _ = writeln!(text, "| [{id}](#{}) | {severity} | {title} |", id.to_ascii_lowercase());
    }
    for code in Code::ALL {
        text.push('\n');
        text.push_str(&page(*code));
    }
    text
}

/// The explanation of a code, with its example and what is said about it.
fn page(code: Code) -> String {
    let mut text = format!("## {}\n\n{}: **{}**\n\n", code.id(), code.severity().name(), code.title());
    for line in wrapped(code.explanation(), 120) {
        text.push_str(&line);
        text.push('\n');
    }
    let (source, found) = example(code);
    if is_readable(&source) {
        let _ = write!(text, "\n```text\n{}```\n", source.text());
    }
    for found in found.iter().filter(|found| found.code == code) {
        let _ = write!(text, "\n```text\n{}\n```\n", found.render(&source, false));
    }
    text
}

/// The example of a code, with all that is found in it.
fn example(code: Code) -> (Source, Vec<Diagnostic>) {
    let bytes = match code {
        Code::TooLarge => code.example().repeat(gdl::source::MAX_SOURCE_BYTES / code.example().len() + 1),
        _ => code.example().to_vec(),
    };
    let gdl::Reading { source, program, mut diagnostics, .. } = gdl::read("example.kif", &bytes);
    if !any_error(&diagnostics) {
        let settings = Settings { n_matches: 200, ..Settings::default() };
        let played = machine::verify(&Arc::new(program), &settings, &mut Pcg64Mcg::seed_from_u64(1));
        diagnostics.extend(played.diagnostics);
    }
    (source, diagnostics)
}

/// Whether a text is fit to be printed in the manual.
fn is_readable(source: &Source) -> bool {
    let text = source.text();
    let is_short = text.lines().count() <= 15 && text.lines().all(|line| line.len() <= 100);
    is_short && !source.is_oversized() && !text.contains('\u{fffd}')
}

/// The lines of a text, each of at most so many bytes where words allow.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::manual;

    #[test]
    fn the_manual_page_says_what_the_program_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == manual(), "write it anew: senet check --explain all > docs/diagnostics.md");
    }
}
