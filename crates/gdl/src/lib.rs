//! The Game Description Language: reading, checking, printing and evaluating the rules of games.
//!
//! Text becomes a syntax tree ([`parse`]), the tree a [`Program`] ([`resolve`]), and a program is checked and evaluated
//! ([`Database`]). Every stage returns what it could make *and* a list of [`Diagnostic`]s; none of them panics,
//! whatever the text.

pub mod ast;
pub mod datalog;
pub mod diagnostic;
mod graph;
pub mod ground;
pub mod normalize;
mod parse;
mod print;
pub mod program;
pub mod source;
pub mod symbol;

pub use datalog::{Database, TermId};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use graph::components as strongly_connected_components;
pub use parse::{Form, MAX_DEPTH, decode, detect, parse};
pub use print::print;
pub use program::{Program, Relation, resolve};
pub use source::{Source, Span};
pub use symbol::keyword;
