//! The Game Description Language: reading, checking, printing and evaluating the rules of games.
//!
//! Text becomes a syntax tree ([`parse`]), the tree a [`Program`] ([`resolve`]), and a program is checked ([`check`])
//! and evaluated ([`Database`]). Every stage returns what it could make *and* a list of [`Diagnostic`]s; none of them
//! panics, whatever the text. [`read`] goes the whole way:
//!
//! ```
//! let reading = gdl::read("example.kif", b"(role white) (<= (legal white ?x) (not (true ?x)))");
//! let found = &reading.diagnostics[0];
//! assert_eq!(found.code.id(), "GDL0201");
//! assert_eq!(found.message, "variable `?x` in the head is not bound by the body");
//! println!("{}", found.render(&reading.source, false));
//! ```

mod approximate;
pub mod ast;
mod check;
pub mod datalog;
pub mod diagnostic;
mod graph;
pub mod ground;
pub mod normalize;
mod parse;
mod print;
mod printable;
pub mod program;
mod reading;
pub mod source;
mod stop;
pub mod symbol;

pub use check::{Domains, check};
pub use datalog::{Database, TermId};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use graph::components as strongly_connected_components;
pub use parse::{Form, MAX_DEPTH, decode, detect, parse};
pub use print::print;
pub use printable::printable;
pub use program::{Program, Relation, resolve};
pub use reading::{Reading, read};
pub use source::{Source, Span};
pub use stop::Stop;
pub use symbol::keyword;
