//! What the rules tell us: rule graphs and their canonical forms, structure, symmetry.
//!
//! A game can be recognised under other names:
//!
//! ```
//! use insight::canonical::{BUDGET, canonical, isomorphism};
//!
//! let read = |text: &str| gdl::read("example.kif", text.as_bytes()).program;
//! let nim = read("(role white) (init (heap 3)) (<= (next (heap ?x)) (does white (leave ?x)))");
//! let other = read("(<= (next (kat ?a)) (does mo (ruk ?a))) (init (kat lup)) (role mo)");
//! let (nim_form, other_form) = (canonical(&nim, BUDGET), canonical(&other, BUDGET));
//! assert_eq!(nim_form.fingerprint, other_form.fingerprint);
//! let mapping = isomorphism(&nim_form, &other_form).expect("they are the same");
//! let three = mapping.name(nim.symbols.find("3").expect("a name")).expect("it has an image");
//! assert_eq!(other.symbols.name(three), "lup");
//! ```

pub mod analysis;
pub mod canonical;
pub mod family;
mod goal_values;
pub mod graph;
mod isomorphism;
pub mod mapping;
mod normal;
pub mod order;
pub mod prove;
mod rename;
mod rule_form;
pub mod rule_graph;
pub mod sample;
pub mod scramble;
pub mod similar;
mod skeleton;
mod solver;
mod sorts;
pub mod structure;
pub mod symmetry;
pub mod universe;
pub mod variant;

pub use normal::same_rules;
