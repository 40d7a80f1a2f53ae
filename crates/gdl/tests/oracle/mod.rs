//! A second opinion on what rules mean, and programs to ask about.

pub(crate) mod generate;
pub(crate) mod law;
pub(crate) mod naive;
