//! Senet: a general game player. Give it the rules of a game in GDL, and nothing else.

mod command;
mod contest;
mod contestants;
mod evidence;
mod guard;
mod kin;
mod library;
mod measure;
mod memory;
mod picture;
mod portfolio;
mod ranking;
mod rules;
mod screen;
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
    /// The memory that it may take, in GiB; work that needs more is ended with a reason
    #[arg(long, global = true, value_name = "GIB", default_value_t = 4.0, value_parser = gibibytes)]
    memory: f64,
    #[command(subcommand)]
    command: command::Command,
}

fn gibibytes(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number: &f64| number.is_finite() && number >= 0.05);
    number.ok_or_else(|| format!("`{text}` is no size; write GiB, such as 4, and at least 0.05"))
}

/// The cores of the machine.
fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    guard::begin((arguments.memory * f64::from(1u32 << 30)) as u64);
    match command::run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            // A reader that has seen enough (`senet trace … | head`) is no error.
            let pipe_closed =
                error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe);
            if pipe_closed {
                return std::process::ExitCode::SUCCESS;
            }
            screen::complain(format_args!("error: {error:#}"));
            if let Some(reason) = guard::reason() {
                screen::complain(format_args!("note: the work was ended before it was done: {reason}"));
            }
            std::process::ExitCode::from(if error.is::<rules::Rejected>() { 1 } else { 2 })
        }
    }
}
