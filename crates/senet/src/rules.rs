//! Finding and reading rules.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use gdl::datalog::Unevaluable;
use gdl::program::RuleId;
use gdl::{Code, Diagnostic, Program, Severity, Source};
use machine::{Limits, Reference, Setup};

use crate::guard;
use crate::library::{self, Game};
use crate::screen;

/// A rule text with all that reading it told us.
pub(crate) struct Rules {
    /// The library game, if it is one.
    pub(crate) game: Option<&'static Game>,
    pub(crate) source: Source,
    pub(crate) tree: gdl::ast::Tree,
    pub(crate) program: Arc<Program>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The rules were read and have errors: the answer is no, but the question could be asked.
#[derive(Debug)]
pub(crate) struct Rejected {
    name: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has errors; `senet check --explain CODE` says more about each", self.name)
    }
}

impl std::error::Error for Rejected {}

/// Reads and checks rules: those of a file, of a library game, or of standard input, which is called `-`. Only rules
/// that can't be found or opened are an error here.
pub(crate) fn read(rules: &str) -> anyhow::Result<Rules> {
    if rules == "-" {
        return Ok(check(None, "<stdin>", &read_all(std::io::stdin().lock()).context("can't read standard input")?));
    }
    match (File::open(Path::new(rules)), library::find(rules)) {
        (Ok(file), _) if !Path::new(rules).is_dir() => {
            Ok(check(None, rules, &read_all(file).with_context(|| format!("can't read `{rules}`"))?))
        }
        (_, Some(game)) => Ok(check(Some(game), game.name, game.rules.as_bytes())),
        (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => bail!(not_found(rules)),
        (Err(error), None) => Err(error).with_context(|| format!("can't read `{rules}`")),
        (Ok(_), None) => bail!("`{rules}` is a folder, not a rule file"),
    }
}

fn read_all(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte over the limit is enough to be refused; the rest may be without end.
    source.take(gdl::source::MAX_SOURCE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check(game: Option<&'static Game>, name: &str, bytes: &[u8]) -> Rules {
    let gdl::Reading { source, tree, program, diagnostics } = gdl::read(name, bytes);
    Rules { game, source, tree, program: Arc::new(program), diagnostics }
}

fn not_found(rules: &str) -> String {
    let similar: Vec<String> = library::similar(rules).iter().map(|name| format!("`{name}`")).collect();
    let hint = match &similar[..] {
        [] => "`senet games` lists the library".to_owned(),
        [only] => format!("did you mean {only}?"),
        [first @ .., last] => format!("did you mean {} or {last}?", first.join(", ")),
    };
    format!("can't read `{rules}`: there is no such file, and no library game of that name; {hint}")
}

/// Prints diagnostics to standard error.
pub(crate) fn report(source: &Source, diagnostics: &[Diagnostic]) {
    let [_, is_seen] = screen::is_seen();
    for found in diagnostics {
        screen::complain_in_colour(&format!("{}\n", found.render(source, is_seen)));
    }
}

/// Errors that make rules no good game, but leave them a meaning: the reference engine can follow them.
const FOLLOWED: [Code; 4] = [Code::StateInStatic, Code::MoveInState, Code::NoLegal, Code::GoalValue];

/// Reports errors, and refuses rules that have no meaning.
pub(crate) fn accept(rules: &Rules) -> anyhow::Result<()> {
    let errors = || rules.diagnostics.iter().filter(|found| found.severity() == Severity::Error);
    if errors().next().is_some() {
        report(&rules.source, &rules.diagnostics);
    }
    if errors().any(|found| !FOLLOWED.contains(&found.code)) {
        bail!(Rejected { name: rules.source.name().to_owned() });
    }
    Ok(())
}

/// The reference engine for rules without errors.
pub(crate) fn reference(rules: &Rules, limits: Limits) -> anyhow::Result<Reference> {
    accept(rules)?;
    match Reference::new(rules.program.clone(), limits) {
        Ok(machine) => Ok(machine),
        Err(Setup::Unevaluable(why)) => {
            let (RuleId(rule), what) = match why {
                Unevaluable::UnsafeHead(rule) => (rule, "has an unbound variable in its head"),
                Unevaluable::Unstratified(rule) => (rule, "makes a relation depend on its own negation"),
                Unevaluable::TooComplex(rule) => (rule, "is too large or has too many combinations of disjunctions"),
            };
            let place = rules.source.position(rules.program.rules[rule as usize].span.start);
            bail!("the rule at {}:{place} {what}; `senet check` says more", rules.source.name())
        }
        Err(Setup::Exceeded(exceeded)) => bail!(over_budget(rules, &exceeded)),
    }
}

/// Names the budget and the rule that ran over it.
pub(crate) fn over_budget(rules: &Rules, exceeded: &machine::Exceeded) -> String {
    let rule = &rules.program.rules[exceeded.rule.0 as usize];
    let place = rules.source.position(rule.span.start);
    format!("{exceeded} in the rule at {}:{place}", rules.source.name())
}

impl Rules {
    /// What to call the game: the name of its file without the extension, or of its folder.
    pub(crate) fn game_name(&self) -> String {
        if let Some(game) = self.game {
            return game.name.to_owned();
        }
        let path = Path::new(self.source.name());
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let parent = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        if stem == "rules" { parent.unwrap_or(stem) } else { stem }
    }
}

/// The network of the rules, or why there is none.
pub(crate) fn network(rules: &Rules) -> Result<Arc<machine::network::Network>, String> {
    if gdl::diagnostic::any_error(&rules.diagnostics) {
        return Err(format!("`{}` has errors", rules.source.name()));
    }
    let ground = gdl::ground::ground(&rules.program, &guard::ground_budget())
        .map_err(|failure| format!("`{}` can't be grounded: {failure}", rules.source.name()))?;
    let network = machine::network::build(ground, &guard::stop())
        .map_err(|failure| format!("`{}` makes no useful network: {failure}", rules.source.name()))?;
    Ok(Arc::new(network))
}
