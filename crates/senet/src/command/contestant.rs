//! `senet contestant`: a match in a process of its own, on behalf of another command.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use arena::process;
use clap::Args;

use crate::contestants::Manner;
use crate::guard;

/// Plays a match for another command, which tells it what to do on standard input
#[derive(Args)]
pub(crate) struct Contestant {
    #[command(flatten)]
    manner: Manner,
    /// Only keeps a core busy, until its input ends
    #[arg(long)]
    spin: bool,
}

pub(crate) fn run(arguments: Contestant) -> anyhow::Result<ExitCode> {
    let Contestant { manner, spin } = arguments;
    #[expect(clippy::disallowed_methods, reason = "a program reads this, and JSON is escaped")]
    let mut output = std::io::stdout();
    if spin {
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(0);
        });
        writeln!(output, "busy")?;
        loop {
            std::hint::spin_loop();
        }
    }
    // Who can't play is told so before anything else.
    manner.make(Arc::new(|_| {}), guard::stop())?;
    process::serve(
        move |report| {
            let told = report.clone();
            // Nobody sees what a child prints.
            std::panic::set_hook(Box::new(move |panic| told(&panic.to_string())));
            manner.make(report, guard::stop()).expect("just made")
        },
        std::io::stdin(),
        output,
    )
}
