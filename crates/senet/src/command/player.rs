//! `senet player`: a player that managers of general game playing talk to.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use arena::Store;
use arena::process::Report;
use arena::protocol::{Door, Log, Server, Settings};
use clap::Args;

use crate::contestants::Manner;
use crate::guard;
use crate::screen;

/// Waits for a game manager, and plays whatever it sends
///
/// Speaks the protocol of general game playing: a manager sends INFO, PREVIEW, START, PLAY, STOP
/// and ABORT by HTTP. Matches are played one after another, until you press Ctrl-C; while one is
/// played, others are told `busy`. There is one line on standard error for every event.
///
/// Only this machine can reach the player, unless `--bind` says otherwise: `--bind 0.0.0.0` opens
/// it to the whole network. It trusts nothing that it is sent: each match is thought about in a
/// process of its own, which ends with it and takes less than 4 GiB; what is learned from games
/// that it is sent goes to a file of its own, of at most 256 MiB; web pages are not let in.
///
/// Examples:
///   senet player                                  waits at http://127.0.0.1:9147
///   senet player --port 9148 --player random      an opponent to try things with
///   senet host tic-tac-toe --players http://127.0.0.1:9147 http://127.0.0.1:9148
///   senet player --bind 0.0.0.0 --margin 0.5      for a manager on another machine
///   senet player --allow-origin https://manager.example      for a manager that is a web page
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Player {
    /// Where to listen; 0 takes any free port
    #[arg(long, default_value_t = 9147)]
    port: u16,
    /// The address to listen at; 0.0.0.0 for all networks
    #[arg(long, default_value = "127.0.0.1")]
    bind: IpAddr,
    /// What it calls itself
    #[arg(long, default_value = "Senet")]
    name: String,
    /// Who plays: `portfolio` (remembers, learns and searches), `uct` (tree search), `random` or `legal` (the first legal move)
    #[arg(long, default_value = "portfolio", value_name = "PLAYER")]
    player: String,
    /// Does not think while others do
    #[arg(long)]
    no_ponder: bool,
    /// Seconds before the end of a clock at which it replies; by default a tenth of the clock, but 0.03 to 1
    #[arg(long, value_name = "SECONDS")]
    margin: Option<f64>,
    /// Seconds after which a match that nothing is heard of makes room for another, beyond its clocks
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    patience: f64,
    /// The longest clock, in seconds; longer ones are cut, since a match keeps others out
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    max_clock: f64,
    /// Lets in requests that call this machine by such a name, besides `localhost` and its addresses
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Lets in web pages of such an origin, as `https://manager.example`; none otherwise
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Where it keeps what it learns, without a bound; otherwise `player.db` beside the memory, of at most 256 MiB
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Chooses where chance decides
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: Player) -> anyhow::Result<ExitCode> {
    guard::give_back_memory();
    let seconds = |name, seconds| Duration::try_from_secs_f64(seconds).with_context(|| format!("--{name} {seconds}"));
    let settings = Settings {
        name: arguments.name,
        margin: arguments.margin.map(|margin| seconds("margin", margin)).transpose()?,
        patience: seconds("patience", arguments.patience)?,
        max_clock: seconds("max-clock", arguments.max_clock)?,
        door: Door { hosts: arguments.allow_host, origins: arguments.allow_origin },
        ..Settings::default()
    };
    let (begun, lines) = (Instant::now(), screen::Log::new());
    let written = lines.clone();
    let log: Log = Arc::new(move |line| written.write(format!("{:>9.3} {line}", begun.elapsed().as_secs_f64())));
    // What strangers send is kept apart from what the user has learned.
    let manner = Manner::new(&arguments.player, arguments.seed)?;
    let own = || Some(Store::default_path().ok()?.with_file_name("player.db"));
    let bounded = arguments.store.is_none();
    let manner = Manner { ponder: !arguments.no_ponder, keep: arguments.store.or_else(own), bounded, ..manner };
    let (name, told) = (arguments.player.clone(), log.clone());
    let report: Report = Arc::new(move |text: &str| told(&format!("{name}: {text}")));
    let factory = manner.apart(report)?;
    let server = Server::bind((arguments.bind, arguments.port), factory, settings, log)
        .with_context(|| format!("can't listen at {}:{}; --port takes another port", arguments.bind, arguments.port))?;
    let handle = server.handle()?;
    ctrlc::set_handler(move || handle.stop()).context("can't wait for Ctrl-C")?;
    lines.write(format!("{} plays at http://{} until you press Ctrl-C", arguments.player, server.address()?));
    server.run();
    lines.settle();
    Ok(ExitCode::SUCCESS)
}
