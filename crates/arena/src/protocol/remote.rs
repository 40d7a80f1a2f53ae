//! A player somewhere else as a contestant.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::contestant::{Clocks, Contestant, Decision, Rules};
use crate::judge::{Judge, lock};
use crate::protocol::http::{Address, Problem, exchange};
use crate::protocol::message::{Info, Message};
use crate::term;

/// The name of the match that is being played, known to all who take part.
pub type MatchName = Arc<Mutex<String>>;

/// Talks to a player over the network.
pub struct Remote {
    address: Address,
    /// How much longer than the clock a reply may take on its way.
    grace: Duration,
    shared_name: MatchName,
    name: Option<String>,
    /// The match that it was told to play.
    playing: Option<String>,
}

impl Remote {
    /// A player at an address. A reply that is up to `grace` late is waited for.
    pub fn new(address: Address, grace: Duration, match_name: MatchName) -> Remote {
        Remote { address, grace, shared_name: match_name, name: None, playing: None }
    }

    /// Asks who the player is and whether it is free.
    pub fn info(&self, patience: Duration) -> Result<Info, Problem> {
        Ok(Info::read(&self.say(&Message::Info, Instant::now() + patience)?))
    }

    fn say(&self, message: &Message, until: Instant) -> Result<String, Problem> {
        exchange(&self.address, self.name.as_deref().unwrap_or("player"), &message.to_string(), until)
    }
}

impl Contestant for Remote {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.address.to_string())
    }

    fn start(&mut self, rules: &Rules, role: usize, clocks: Clocks, deadline: Instant) -> Result<(), String> {
        self.playing = None;
        let judge = Judge::new(rules, Some(deadline))?;
        let role = judge.roles().get(role).ok_or("there is no such role")?.clone();
        let id = lock(&self.shared_name).clone();
        self.playing = Some(id.clone());
        let message = Message::Start { id, role, rules: rules.one_line(), start: clocks.start, play: clocks.play };
        let reply = self.say(&message, deadline + self.grace).map_err(|problem| problem.to_string())?;
        match reply.to_ascii_lowercase().as_str() {
            "busy" => Err("it is busy".to_owned()),
            _ => Ok(()),
        }
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let id = self.playing.clone().ok_or("no match has begun")?;
        let message = Message::Play { id, last: last.map(<[String]>::to_vec) };
        let reply = self.say(&message, deadline + self.grace).map_err(|problem| problem.to_string())?;
        // What is no term is passed on all the same: the referee says what is wrong with it.
        Ok(Decision { chosen: term::canonical(&reply).unwrap_or(reply), why: None })
    }

    fn stop(&mut self, last: Option<&[String]>) {
        let Some(id) = self.playing.take() else { return };
        let message = match last {
            Some(last) => Message::Stop { id, last: Some(last.to_vec()) },
            None => Message::Abort { id },
        };
        // Nothing depends on the reply.
        let _ = self.say(&message, Instant::now() + self.grace.max(Duration::from_millis(100)));
    }
}
