//! Those who play matches: of any game, one match after another, against a clock.
//!
//! A contestant gets the rules as text and says its moves as text, in the words of those rules; so the same trait serves a search
//! on this machine, a player somewhere on the network and a person. Every call has a deadline. A contestant whose deadline has
//! passed already answers at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gdl::Program;
use serde::{Deserialize, Serialize};

use crate::term;

/// The clocks of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Time to prepare.
    pub start: Duration,
    /// Time for each move.
    pub play: Duration,
}

/// A game as a contestant gets it: its rules' text, and what reading them gave.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What to call the game; it means nothing.
    pub name: String,
    /// The rules.
    pub text: Arc<str>,
    /// What reading them gave.
    pub reading: Arc<gdl::Reading>,
}

impl Rules {
    /// Reads rules. What is wrong with them is in the reading.
    pub fn read(name: &str, text: &str) -> Rules {
        let reading = Arc::new(gdl::read(name, text.as_bytes()));
        Rules { name: name.to_owned(), text: text.into(), reading }
    }

    /// The rules, for an engine to own.
    pub fn program(&self) -> Arc<Program> {
        Arc::new(self.reading.program.clone())
    }

    /// The rules as one line of prefix notation without comments, as messages carry them.
    pub fn one_line(&self) -> String {
        term::one_line(&gdl::print(&self.reading.tree, gdl::Form::Kif))
    }
}

/// What a contestant answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The move as GDL text, in the rules' tokens.
    pub chosen: String,
    /// In words, for people.
    pub why: Option<String>,
}

/// One who plays matches of any game, one match after another.
pub trait Contestant: Send {
    /// What people call it.
    fn name(&self) -> String;

    /// A match of this game will begin later; there is time until `deadline` to prepare for any role in it.
    fn preview(&mut self, _rules: &Rules, _deadline: Instant) {}

    /// A match begins; answers before `deadline`, and uses the time to prepare. A match that was not stopped is forgotten.
    fn start(&mut self, rules: &Rules, role: usize, clocks: Clocks, deadline: Instant) -> Result<(), String>;

    /// The joint move made since the last call (None at the first), one GDL text per role in the order of the rules' roles. Should
    /// the first call have got lost, there is a joint move in what is then the first.
    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String>;

    /// The match is over (or aborted: None).
    fn stop(&mut self, last: Option<&[String]>);

    /// Gives the contestant a flag that is raised while nobody waits for its answer any more, as after an `ABORT`. One that looks at
    /// it while it thinks comes back early; one that does not is left behind when it takes too long.
    fn heed(&mut self, _given_up: Arc<AtomicBool>) {}
}

/// Makes contestants.
pub type Factory = Arc<dyn Fn() -> Box<dyn Contestant> + Send + Sync>;
