//! Knowledge in symbols, found in play-lines: zero-knowledge learning (Duminy 2006).
//!
//! Positions of matches get classes ([`label`]); for each phase of the game a decision tree learns to tell them apart
//! ([`tree`]) by what can be seen of the squares in regions of the board ([`attribute`]); the paths of the trees become
//! terms of an evaluation function ([`deduce`]), whose weights come from the results of the matches ([`weigh`]) or from a swarm,
//! by matches among its particles ([`swarm`]). [`field`] plays the matches, and [`cycle`] goes round: play, discover, optimise, evaluate. For searches, [`judge`] judges
//! positions by a function one after another; [`hand_made`] has those that Duminy wrote himself. [`words`] says what a function
//! says, and why it likes a move.

pub mod attribute;
pub mod cycle;
pub mod deduce;
pub mod field;
pub mod hand_made;
pub mod judge;
pub mod label;
pub mod swarm;
pub mod tree;
pub mod weigh;
pub mod words;
