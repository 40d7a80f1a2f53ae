//! `senet recognize`: is a game known?

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use arena::store::{Entry, Remembered};
use arena::{Met, Near, Recognition, Related, meet_until, recognize, remember};
use clap::Args;
use gdl::Program;
use insight::mapping::{Kind, Mapping};
use serde_json::{Value, json};

use super::learn::read_duration;
use crate::guard;
use crate::memory;
use crate::rules::{self, Rules};
use crate::screen;

/// Says whether a game is known: the same under other names, a variant of a known game, or similar
///
/// Names mean nothing here: a game is known by its rules. Variants differ from a known game in the
/// initial state, the size or shape of the board, the step limit, the goals, or in one kind of fluent.
/// The table says what the names of the known game are in the new one. The games of the library are
/// known from the start, and every game that is asked for is remembered.
///
/// Examples:
///   senet recognize my-game.kif
///   senet scramble chess | senet recognize -         the library knows it
///   senet recognize my-game.kif --no-remember        asks, and leaves no trace
///   senet recognize my-game.kif --store my.db        another memory than the usual one
///   senet recognize my-game.kif --json               all of the mapping, for programs
///
/// The memory is the file $SENET_STORE, or else senet/memory.db in the user's data folder.
/// Exit status: 1 if nothing like it is known.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Recognize {
    /// A rule file, the name of a library game, or `-` for standard input
    rules: String,
    /// The memory, instead of the usual file
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// How long it may take, such as 90s, 5m or 2h; then it says how far it came
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = read_duration)]
    time: Duration,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// What to call the game, instead of the name of its file
    #[arg(long)]
    name: Option<String>,
    /// Does not remember the game
    #[arg(long)]
    no_remember: bool,
}

/// The most rows of a mapping that are printed.
const MAX_ROWS: usize = 40;

/// The most games of which all is printed; others are named.
const MAX_GAMES: usize = 1;

pub(crate) fn run(arguments: Recognize) -> anyhow::Result<ExitCode> {
    let _time = guard::within(arguments.time);
    let rules = rules::read(&arguments.rules)?;
    rules::accept(&rules)?;
    let mut store = memory::open(arguments.store)?;
    let met = meet_until((*rules.program).clone(), &guard::stop()).ok_or_else(|| {
        anyhow!("`{}` was not compared with other games: {}", rules.source.name(), guard::reason().unwrap_or_default())
    })?;
    let found = recognize(&store, &met)?;
    let name = arguments.name.unwrap_or_else(|| rules.game_name());
    let mut is_new = false;
    if !arguments.no_remember && !matches!(found, Recognition::Exact(_)) {
        is_new = remember(&mut store, &met, &name, rules.source.text(), memory::now())? == Remembered::New;
    }
    let mut out = screen::out();
    if arguments.json {
        writeln!(out, "{}", to_json(&name, &met, &found, &rules, is_new))?;
    } else {
        report(&mut out, &name, &met, &found, &rules)?;
        if is_new {
            writeln!(out, "\n`{name}` is remembered from now on.")?;
        }
    }
    out.flush()?;
    Ok(if matches!(found, Recognition::Unknown) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn report(out: &mut impl Write, name: &str, met: &Met, found: &Recognition, rules: &Rules) -> std::io::Result<()> {
    let rest = |n_found: usize| n_found.saturating_sub(MAX_GAMES);
    match found {
        Recognition::Exact(known) => {
            let day = memory::day(known.of.met_at);
            writeln!(out, "`{name}` is `{}`, known since {day}.", known.of.name)?;
            table(out, &known.of, name, &known.mapping, &known.program, &met.program)
        }
        Recognition::Variants(all) => {
            for related in all.iter().take(MAX_GAMES) {
                let classes: Vec<&str> =
                    related.variant.transformations.iter().map(|change| change.class.name()).collect();
                writeln!(out, "`{name}` is a variant of `{}`: {}.", related.of.name, classes.join(" + "))?;
                for change in &related.variant.transformations {
                    let what = change.class.name();
                    let details = change.details.iter().map(|detail| format!("  {what}: {detail}"));
                    details.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
                }
                table(out, &related.of, name, &related.variant.mapping, &related.program, &met.program)?;
            }
            let others = all[all.len() - rest(all.len())..].iter();
            list(out, "It is a variant of", others.map(|related| related.of.name.as_str()))
        }
        Recognition::Similar(all) => {
            for near in all.iter().take(MAX_GAMES) {
                let percent = 100.0 * near.similarity.score;
                writeln!(out, "`{name}` is like `{}`: they share {percent:.0} % of their rules.", near.of.name)?;
                differences(out, near, rules)?;
                table(out, &near.of, name, &near.similarity.mapping, &near.program, &met.program)?;
            }
            let others = all[all.len() - rest(all.len())..].iter();
            list(out, "It is like", others.map(|near| near.of.name.as_str()))
        }
        Recognition::Unknown => writeln!(out, "Nothing like `{name}` is known."),
    }
}

fn list<'a>(out: &mut impl Write, what: &str, names: impl Iterator<Item = &'a str>) -> std::io::Result<()> {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { Ok(()) } else { writeln!(out, "\n{what} {}, too.", names.join(", ")) }
}

/// The rules that similar games don't share, by their places.
fn differences(out: &mut impl Write, near: &Near, rules: &Rules) -> std::io::Result<()> {
    let found = &near.similarity;
    let line = |rule: gdl::program::RuleId| {
        let span = rules.program.rules[rule.0 as usize].span;
        rules.source.position(span.start).to_string()
    };
    let lines = |rules: &[gdl::program::RuleId]| {
        let shown: Vec<String> = rules.iter().take(8).map(|&rule| line(rule)).collect();
        shown.join(", ") + if rules.len() > 8 { ", ..." } else { "" }
    };
    let mut changed: Vec<_> = found.changed.iter().map(|(_, rule)| *rule).collect();
    changed.sort_unstable();
    if found.is_inverted {
        writeln!(out, "  goals are inverted")?;
    }
    writeln!(out, "  {} the same", counted(found.matched.len(), "rule"))?;
    if !changed.is_empty() {
        writeln!(out, "  {} changed, at {}", counted(changed.len(), "rule"), lines(&changed))?;
    }
    if !found.added.is_empty() {
        writeln!(out, "  {} new, at {}", counted(found.added.len(), "rule"), lines(&found.added))?;
    }
    if !found.missing.is_empty() {
        writeln!(out, "  {} missing", counted(found.missing.len(), "rule"))?;
    }
    Ok(())
}

/// `1 rule is`, `2 rules are`.
fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what} is") } else { format!("{number} {what}s are") }
}

/// The names that differ, in two columns.
fn table(
    out: &mut impl Write,
    of: &Entry,
    name: &str,
    mapping: &Mapping,
    source: &Program,
    target: &Program,
) -> std::io::Result<()> {
    let rows = mapping.table(source, target);
    let (same, changed): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, from, to)| from == to);
    if !same.is_empty() {
        writeln!(out, "  {} the same", counted(same.len(), "name"))?;
    }
    if changed.is_empty() {
        return Ok(());
    }
    let shown = || changed.iter().take(MAX_ROWS);
    let width = shown().map(|(_, from, _)| from.chars().count()).chain([of.name.chars().count()]).max().unwrap_or(0);
    writeln!(out, "\n  {:9}  {:width$}  {name}", "", of.name)?;
    let mut last = None;
    for (kind, from, to) in shown() {
        let word = match kind {
            _ if last == Some(*kind) => "",
            Kind::Relation => "relations",
            Kind::Function => "functions",
            Kind::Object => "objects",
        };
        last = Some(*kind);
        writeln!(out, "  {word:9}  {from:width$}  {to}")?;
    }
    match changed.len().saturating_sub(MAX_ROWS) {
        0 => Ok(()),
        n_more => writeln!(out, "  ... and {n_more} more, which --json shows"),
    }
}

fn to_json(name: &str, met: &Met, found: &Recognition, rules: &Rules, is_new: bool) -> Value {
    let mapping = |mapping: &Mapping, source: &Program| -> Vec<Value> {
        let kind = |kind: Kind| match kind {
            Kind::Relation => "relation",
            Kind::Function => "function",
            Kind::Object => "object",
        };
        let rows = mapping.table(source, &met.program).into_iter();
        rows.map(|(what, from, to)| json!({ "kind": kind(what), "from": from, "to": to })).collect()
    };
    let of = |entry: &Entry| json!({ "name": entry.name, "fingerprint": format!("{:032x}", entry.fingerprint) });
    let variant = |related: &Related| {
        let change = |change: &insight::variant::Transformation| json!({ "class": change.class.name(), "details": change.details });
        json!({
            "of": of(&related.of),
            "differences": related.variant.transformations.iter().map(change).collect::<Vec<_>>(),
            "mapping": mapping(&related.variant.mapping, &related.program),
        })
    };
    let line = |rule: &gdl::program::RuleId| {
        rules.source.position(rules.program.rules[rule.0 as usize].span.start).to_string()
    };
    let similar = |near: &Near| {
        let found = &near.similarity;
        json!({
            "of": of(&near.of),
            "score": found.score,
            "inverted": found.is_inverted,
            "same": found.matched.len(),
            "changed": found.changed.iter().map(|(_, rule)| line(rule)).collect::<Vec<_>>(),
            "new": found.added.iter().map(line).collect::<Vec<_>>(),
            "missing": found.missing.len(),
            "mapping": mapping(&found.mapping, &near.program),
        })
    };
    let (answer, matches) = match found {
        Recognition::Exact(known) => {
            ("same", vec![json!({ "of": of(&known.of), "mapping": mapping(&known.mapping, &known.program) })])
        }
        Recognition::Variants(all) => ("variant", all.iter().map(variant).collect()),
        Recognition::Similar(all) => ("similar", all.iter().map(similar).collect()),
        Recognition::Unknown => ("unknown", Vec::new()),
    };
    json!({
        "name": name,
        "fingerprint": met.canonical.fingerprint.to_string(),
        "answer": answer,
        "matches": matches,
        "remembered": is_new,
    })
}
