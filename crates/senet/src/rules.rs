//! Finding and reading rules.

use std::fmt;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use gdl::datalog::Unevaluable;
use gdl::program::RuleId;
use gdl::{Diagnostic, Program, Source};
use machine::{Limits, Reference, Setup};

/// A rule text with all that reading it told us.
pub(crate) struct Rules {
    pub(crate) source: Source,
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

/// Reads and checks a rule file; only a file that can't be opened is an error here.
pub(crate) fn read(rules: &str) -> anyhow::Result<Rules> {
    let mut bytes = Vec::new();
    let file = File::open(Path::new(rules)).with_context(|| format!("can't read `{rules}`"))?;
    // One byte over the limit is enough to be refused; the rest may be without end.
    let most = gdl::source::MAX_SOURCE_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).with_context(|| format!("can't read `{rules}`"))?;
    let gdl::Reading { source, program, diagnostics, .. } = gdl::read(rules, &bytes);
    Ok(Rules { source, program: Arc::new(program), diagnostics })
}

/// Prints diagnostics to standard error.
pub(crate) fn report(source: &Source, diagnostics: &[Diagnostic]) {
    let colored = std::io::stderr().is_terminal();
    for found in diagnostics {
        eprintln!("{}\n", found.render(source, colored));
    }
}

/// The reference engine for rules without errors.
pub(crate) fn reference(rules: &Rules, limits: Limits) -> anyhow::Result<Reference> {
    if gdl::diagnostic::any_error(&rules.diagnostics) {
        report(&rules.source, &rules.diagnostics);
        bail!(Rejected { name: rules.source.name().to_owned() });
    }
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
    let ground = gdl::ground::ground(&rules.program, &gdl::ground::Budget::default())
        .map_err(|failure| format!("`{}` can't be grounded: {failure}", rules.source.name()))?;
    let network = machine::network::build(ground)
        .map_err(|failure| format!("`{}` makes no useful network: {failure}", rules.source.name()))?;
    Ok(Arc::new(network))
}
