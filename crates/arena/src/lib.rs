//! The outside world: what is kept between runs, and what it says about a game that comes in.

mod recognize;
pub mod store;

pub use recognize::{Known, Met, Near, Recognition, Related, meet, recognize, refresh, remember, seed, variants};
pub use store::{Store, StoreError};
