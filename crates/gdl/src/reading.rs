//! The whole way from bytes to a checked program.

use crate::ast::Tree;
use crate::diagnostic::{Diagnostic, any_error};
use crate::program::{Program, resolve};
use crate::source::Source;
use crate::{check, decode, parse};

/// A rule text with everything that reading it told us.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The text.
    pub source: Source,
    /// Its expressions.
    pub tree: Tree,
    /// Its rules, as far as they could be made out.
    pub program: Program,
    /// All that was found, in source order within each stage: reading, resolving, checking.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// Whether the game is rejected.
    pub fn has_errors(&self) -> bool {
        any_error(&self.diagnostics)
    }
}

/// Reads and checks a rule text; `name` is what diagnostics call it. Never fails: what is wrong is in the diagnostics.
pub fn read(name: &str, bytes: &[u8]) -> Reading {
    let (source, mut diagnostics) = decode(name, bytes);
    let (tree, found) = parse(&source);
    diagnostics.extend(found);
    let (program, found) = resolve(&tree);
    diagnostics.extend(found);
    diagnostics.extend(check(&tree, &program));
    Reading { source, tree, program, diagnostics }
}
