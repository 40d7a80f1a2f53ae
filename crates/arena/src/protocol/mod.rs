//! The protocol of general game playing, on both sides: a manager sends a message to a player in an HTTP request, and the player's
//! reply is the answer to that request.
//!
//! [`message`] reads and writes what is said, [`http`] what it travels in. [`Server`] is a player that any manager can talk to,
//! [`Door`] says who may, and [`Remote`] is any player as a contestant. What others send is taken as it comes as far as it can be understood; what is
//! accepted beyond the letter of the protocol stands in the documentation of [`message`] and [`http`].

mod door;
pub mod http;
pub mod message;
mod remote;
mod server;
mod session;

pub use door::Door;
pub use remote::{MatchName, Remote};
pub use server::{Handle, Log, Server, Settings};
