//! Senet: a general game player. Give it the rules of a game in GDL, and nothing else.

mod command;
mod contest;
mod contestants;
mod evidence;
mod kin;
mod library;
mod measure;
mod memory;
mod picture;
mod portfolio;
mod rules;
mod view;

use clap::Parser;

#[derive(Parser)]
#[command(
    name = "senet",
    version,
    about = "A general game player: reads the rules of a game, and nothing else",
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

/// The cores of the machine.
fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    match command::run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            // A reader that has seen enough (`senet trace … | head`) is no error.
            let pipe_closed =
                error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe);
            if pipe_closed {
                return std::process::ExitCode::SUCCESS;
            }
            eprintln!("error: {error:#}");
            std::process::ExitCode::from(if error.is::<rules::Rejected>() { 1 } else { 2 })
        }
    }
}
