//! Those who play, as the command line names them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use arena::process::{Launch, Process, Report};
use arena::protocol::http::Address;
use arena::protocol::{MatchName, Remote};
use arena::store::Quota;
use arena::{Contestant, Factory, Legal, Random, Scrambled, Store, Tree};
use clap::Args;
use gdl::Stop;

use crate::guard;
use crate::n_cores;
use crate::portfolio::study::Keep;
use crate::portfolio::{self, Portfolio};
use crate::screen;

/// The contestants on this machine.
pub(crate) const KINDS: [&str; 4] = ["portfolio", "uct", "random", "legal"];

/// What strangers' games may take of the disk.
const QUOTA: Quota = Quota { models: 64, bytes: 256 << 20 };

/// How a contestant on this machine plays.
#[derive(Args, Clone, Debug)]
pub(crate) struct Manner {
    /// Who plays: `portfolio`, `uct`, `random` or `legal`
    #[arg(long, default_value = "portfolio")]
    pub(crate) player: String,
    /// Chooses where chance decides
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Thinks while others do, if it can
    #[arg(long)]
    pub(crate) ponder: bool,
    /// The file with what is known
    #[arg(long)]
    pub(crate) known: Option<PathBuf>,
    /// Where what is learned is kept
    #[arg(long)]
    pub(crate) keep: Option<PathBuf>,
    /// Keeps no more than strangers' games may take
    #[arg(long)]
    pub(crate) bounded: bool,
}

impl Manner {
    /// One that knows the usual memory, and keeps there what it learns.
    pub(crate) fn new(player: &str, seed: u64) -> anyhow::Result<Manner> {
        if !KINDS.contains(&player) {
            bail!("`{player}` is no player; there are {}", KINDS.join(", "));
        }
        let known = Store::default_path().ok();
        let keep = known.clone();
        Ok(Manner { player: player.to_owned(), seed, ponder: false, known, keep, bounded: false })
    }

    /// The contestant, in this process.
    pub(crate) fn make(&self, report: Report, stop: Stop) -> anyhow::Result<Box<dyn Contestant>> {
        let seed = self.seed;
        Ok(match self.player.as_str() {
            "portfolio" => {
                let quota = self.bounded.then_some(QUOTA);
                let keep = self.keep.clone().map(|path| Keep { path, quota });
                let (threads, memory, ponder) = (n_cores(), self.known.clone(), self.ponder);
                let settings = portfolio::Settings { seed, threads, memory, learn: true, keep, stop, ponder, report };
                Box::new(Portfolio::new(settings))
            }
            "uct" => Box::new(Tree::new(seed).on_threads(n_cores())),
            "random" => Box::new(Random::new(seed)),
            "legal" => Box::new(Legal::new()),
            other => bail!("`{other}` is no player; there are {}", KINDS.join(", ")),
        })
    }

    /// The arguments of a process that plays so.
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            ["contestant", "--player", &self.player, "--seed", &self.seed.to_string()].map(OsString::from).to_vec();
        // Both processes together stay within what this one was given.
        let memory = 0.75 * guard::memory_limit() as f64 / f64::from(1u32 << 30);
        arguments.extend(["--memory".into(), memory.to_string().into()]);
        for (name, path) in [("--known", &self.known), ("--keep", &self.keep)] {
            if let Some(path) = path {
                arguments.extend([name.into(), path.into()]);
            }
        }
        arguments.extend(self.ponder.then(|| "--ponder".into()));
        arguments.extend(self.bounded.then(|| "--bounded".into()));
        arguments
    }

    /// Makes contestants that play so, each match in a process of its own. Should that die, one with less ambition goes on.
    pub(crate) fn apart(self, report: Report) -> anyhow::Result<Factory> {
        let program = std::env::current_exe().context("can't find the program itself")?;
        let n_made = AtomicU64::new(0);
        Ok(Arc::new(move || {
            let seed = self.seed.wrapping_add(n_made.fetch_add(1, Ordering::Relaxed) << 32);
            let as_kind = |player: &str| Manner { player: player.to_owned(), seed, ..self.clone() }.arguments();
            let less = ["uct", "random"].into_iter().filter(|&less| less != self.player);
            let attempts = std::iter::once(self.player.as_str()).chain(less).map(as_kind).collect();
            let (program, name, report) = (program.clone(), self.player.clone(), report.clone());
            Box::new(Process::new(Launch { program, attempts, name, report }))
        }))
    }
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
            let name = text.to_owned();
            let report: Report = Arc::new(move |line: &str| screen::complain(format_args!("{name}: {line}")));
            return Ok(Participant { name: text.to_owned(), factory: Manner::new(text, seed)?.apart(report)? });
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
