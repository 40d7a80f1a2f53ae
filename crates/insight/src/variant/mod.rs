//! Variants.
pub(crate) mod abstraction;
pub(crate) mod keys;
pub(crate) mod prune;

pub use keys::Keys;
