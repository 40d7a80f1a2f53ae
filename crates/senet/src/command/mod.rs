//! The subcommands.

mod perft;
mod trace;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Trace(trace::Trace),
    Perft(perft::Perft),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Trace(arguments) => trace::run(arguments),
        Command::Perft(arguments) => perft::run(arguments),
    }
}
