//! The outside world: what is kept between runs and what it says about a game that comes in; those who play matches, and how they
//! meet.

pub mod contestant;
pub mod hostile;
mod judge;
pub mod process;
pub mod protocol;
pub mod rating;
mod recognize;
mod record;
pub mod referee;
mod scrambled;
mod seat;
mod simple;
pub mod soak;
pub mod store;
pub mod term;
mod tree;

pub use contestant::{Clocks, Contestant, Decision, Factory, Rules};
pub use judge::Judge;
pub use process::{Launch, Process};
pub use recognize::{
    Known, Met, Near, Recognition, Related, meet, meet_until, recognize, refresh, remember, seed, variants,
};
pub use record::Record;
pub use scrambled::Scrambled;
pub use seat::Seat;
pub use simple::{Legal, Random};
pub use store::{Store, StoreError};
pub use tree::Tree;
