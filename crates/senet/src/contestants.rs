//! Those who play, as the command line names them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{anyhow, bail};
use arena::protocol::http::Address;
use arena::protocol::{MatchName, Remote};
use arena::{Contestant, Factory, Legal, Random, Scrambled, Store, Tree};

use crate::n_cores;
use crate::portfolio::{self, Portfolio};
use crate::screen;

/// The contestants on this machine.
pub(crate) const KINDS: [&str; 4] = ["portfolio", "uct", "random", "legal"];

/// Makes contestants of a kind; each of them has a seed of its own. Those that can think on while others think do so if told to.
pub(crate) fn local(kind: &str, seed: u64, ponder: bool) -> anyhow::Result<Factory> {
    let make: fn(u64, bool) -> Box<dyn Contestant> = match kind {
        "portfolio" => |seed, ponder| {
            let report = Arc::new(|text: &str| screen::complain(format_args!("portfolio: {text}")));
            let (threads, memory) = (n_cores(), Store::default_path().ok());
            Box::new(Portfolio::new(portfolio::Settings {
                seed,
                threads,
                memory,
                learn: true,
                keep: true,
                ponder,
                report,
            }))
        },
        "uct" => |seed, _| Box::new(Tree::new(seed).on_threads(n_cores())),
        "random" => |seed, _| Box::new(Random::new(seed)),
        "legal" => |_, _| Box::new(Legal::new()),
        _ => bail!("`{kind}` is no player; there are {}", KINDS.join(", ")),
    };
    let n_made = AtomicU64::new(0);
    Ok(Arc::new(move || make(seed.wrapping_add(n_made.fetch_add(1, Ordering::Relaxed) << 32), ponder)))
}

/// Who takes part in a match: one of this machine, or the address of another.
pub(crate) struct Participant {
    pub(crate) name: String,
    pub(crate) factory: Factory,
}

impl Participant {
    /// Finds a participant; those elsewhere are asked for their names.
    pub(crate) fn find(text: &str, seed: u64, grace: Duration, match_name: &MatchName) -> anyhow::Result<Participant> {
        if KINDS.contains(&text) {
            return Ok(Participant { name: text.to_owned(), factory: local(text, seed, false)? });
        }
        if !text.contains([':', '/', '.']) && text != "localhost" {
            bail!(
                "`{text}` is no player: give one of {}, or an address such as http://127.0.0.1:9147",
                KINDS.join(", ")
            );
        }
        let address = Address::find(text).map_err(|problem| anyhow!(problem))?;
        let asked = Remote::new(address.clone(), grace, match_name.clone()).info(Duration::from_secs(2));
        let name = match asked {
            Ok(info) => info.name.unwrap_or_else(|| text.to_owned()),
            Err(problem) => {
                screen::complain(format_args!(
                    "warning: {text} does not say who it is ({problem}); its moves are made by chance until it answers"
                ));
                text.to_owned()
            }
        };
        let match_name = match_name.clone();
        let factory: Factory = Arc::new(move || Box::new(Remote::new(address.clone(), grace, match_name.clone())));
        Ok(Participant { name, factory })
    }

    /// The same, but it gets every game under meaningless names.
    pub(crate) fn scrambled(self, seed: u64) -> Participant {
        let inner = self.factory;
        Participant { name: self.name, factory: Arc::new(move || Box::new(Scrambled::new(inner(), seed))) }
    }
}
