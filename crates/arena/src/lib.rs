//! The outside world: what is kept between runs.

pub mod store;

pub use store::Store;
