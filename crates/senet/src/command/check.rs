//! `senet check`: what is wrong with the rules of a game.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use gdl::diagnostic::{Label, any_error};
use gdl::{Diagnostic, Severity, Source, Stop};
use machine::Limits;
use machine::verify::{Ending, Settings, Verification};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::explain;
use crate::portfolio;
use crate::rules::{self, Rules};
use crate::screen;

/// Says what is wrong with rules: first by reading them, then by playing random matches
///
/// Examples:
///   senet check my-game.kif               everything that is wrong, and a line that sums up
///   senet check games/*/rules.kif         many games, a line for each
///   senet check my-game.kif --time 30     looks at more states
///   senet check my-game.kif --json        one line of JSON for each game
///   senet check --explain GDL0201         what a code means, with an example
///
/// Exit status: 0 if all games can be played (there may be warnings), 1 if one is rejected,
/// 2 if a file can't be read.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Check {
    /// Rule files, names of library games, or `-` for standard input
    #[arg(required_unless_present = "explain")]
    rules: Vec<String>,
    /// Prints JSON: an object for each file, on a line of its own
    #[arg(long)]
    json: bool,
    /// Only reads the rules, and plays no matches
    #[arg(long)]
    no_simulation: bool,
    /// Chooses the random matches
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to play random matches, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "S", value_parser = seconds)]
    time: f64,
    /// Explains a code such as GDL0201; `all` prints the manual page of all codes
    #[arg(long, value_name = "CODE", conflicts_with = "rules")]
    explain: Option<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0 to 1000000".to_owned()),
    }
}

pub(crate) fn run(arguments: Check) -> anyhow::Result<ExitCode> {
    if let Some(code) = &arguments.explain {
        return explain::run(code);
    }
    let (mut rejected, mut unreadable) = (false, false);
    for name in &arguments.rules {
        let rules = match rules::read(name) {
            Ok(rules) => rules,
            Err(error) => {
                screen::complain(format_args!("error: {error:#}"));
                unreadable = true;
                continue;
            }
        };
        let outcome = check(rules, &arguments);
        rejected |= !outcome.is_playable();
        if arguments.json {
            screen::say(format_args!("{}", outcome.json(&arguments)));
        } else {
            rules::report(&outcome.rules.source, &outcome.rules.diagnostics);
            screen::say(format_args!("{}", outcome.summary(&arguments)));
        }
    }
    Ok(ExitCode::from(if unreadable { 2 } else { u8::from(rejected) }))
}

/// Rules with all that reading and playing them told us.
struct Outcome {
    rules: Rules,
    simulation: Option<Verification>,
}

fn check(mut rules: Rules, arguments: &Check) -> Outcome {
    let mut simulation = None;
    if !arguments.no_simulation && !any_error(&rules.diagnostics) {
        let mut rng = Pcg64Mcg::seed_from_u64(arguments.seed);
        let deadline = Instant::now() + Duration::from_secs_f64(arguments.time);
        let limits = Limits { stop: Stop::when(move || Instant::now() >= deadline), ..Limits::default() };
        let settings = Settings { limits, ..Settings::default() };
        let mut verification = machine::verify(&rules.program, &settings, &mut rng);
        rules.diagnostics.append(&mut verification.diagnostics);
        simulation = Some(verification);
    }
    Outcome { rules, simulation }
}

impl Outcome {
    fn is_playable(&self) -> bool {
        !any_error(&self.rules.diagnostics)
    }

    fn count(&self, severity: Severity) -> usize {
        self.rules.diagnostics.iter().filter(|found| found.severity() == severity).count()
    }

    /// The roles that were played or, if nothing was, those of the rules; none if these have no meaning.
    fn roles(&self) -> Vec<String> {
        if let Some(simulation) = &self.simulation {
            return simulation.roles.clone();
        }
        let deadline = Instant::now() + Duration::from_secs(1);
        let stop = Stop::when(move || Instant::now() >= deadline);
        portfolio::roles(&self.rules.program, &stop).unwrap_or_default()
    }

    fn summary(&self, arguments: &Check) -> String {
        let mut parts = Vec::new();
        let roles = self.roles().len();
        parts.push(match self.is_playable() {
            true => format!("{}, playable", counted(roles as u64, "role")),
            false => "rejected".to_owned(),
        });
        if let Some(simulation) = &self.simulation {
            let (states, matches) = (simulation.n_states, u64::from(simulation.n_matches));
            parts.push(match simulation.ending {
                Ending::Stopped if states == 0 => format!("no state was complete after {} s", arguments.time),
                _ => format!("{} in {}", counted(states, "state"), counted_irregular(matches, "match", "matches")),
            });
        }
        let (errors, warnings) = (self.count(Severity::Error) as u64, self.count(Severity::Warning) as u64);
        parts.push(format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")));
        format!("{}: {}", self.rules.game_name(), parts.join("; "))
    }

    fn json(&self, arguments: &Check) -> serde_json::Value {
        let source = &self.rules.source;
        let findings: Vec<_> = self.rules.diagnostics.iter().map(|found| finding_json(source, found)).collect();
        let sample = self.simulation.as_ref().map(|simulation| {
            json!({
                "seed": arguments.seed,
                "matches": simulation.n_matches,
                "finished": simulation.n_finished,
                "states": simulation.n_states,
                "ending": match simulation.ending {
                    Ending::Complete => "complete",
                    Ending::Stopped => "time",
                    Ending::Failed => "failed",
                },
            })
        });
        json!({
            "file": source.name(),
            "game": self.rules.game_name(),
            "playable": self.is_playable(),
            "roles": self.roles(),
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
            "findings": findings,
            "sample": sample,
        })
    }
}

fn finding_json(source: &Source, found: &Diagnostic) -> serde_json::Value {
    let mut value = place_json(source, &found.primary);
    let labels: Vec<_> = found.secondary.iter().map(|label| place_json(source, label)).collect();
    let rest = json!({
        "code": found.code.id(),
        "severity": found.severity().name(),
        "message": found.message,
        "labels": labels,
        "notes": found.notes,
        "help": found.help,
    });
    if let (serde_json::Value::Object(all), serde_json::Value::Object(rest)) = (&mut value, rest) {
        all.extend(rest);
    }
    value
}

/// A place as people count: lines and columns from 1, the end exclusive.
fn place_json(source: &Source, label: &Label) -> serde_json::Value {
    let (start, end) = (source.position(label.span.start), source.position(label.span.end));
    json!({
        "line": start.line,
        "column": start.column,
        "end": {"line": end.line, "column": end.column},
        "label": label.text,
    })
}

fn counted(count: u64, what: &str) -> String {
    counted_irregular(count, what, &format!("{what}s"))
}

fn counted_irregular(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
