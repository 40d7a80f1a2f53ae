//! The subcommands.

mod bench;
mod check;
mod explain;
mod perft;
mod trace;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Check(check::Check),
    Trace(trace::Trace),
    Perft(perft::Perft),
    Bench(bench::Bench),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Check(arguments) => check::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
        Command::Perft(arguments) => perft::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}
