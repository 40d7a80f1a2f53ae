//! Tries to make the program break its law: any rules, any command, an answer or a reason in time and memory.
//!
//! ```sh
//! cargo build --release && cargo run --release -p senet --example hostile -- target/release/senet
//! ```
//! After the program come, all optional: the time of a command in seconds, sizes of texts, and what the names of families or
//! commands must contain. It names the runs that broke the law, and those in which a stage did not listen and the process was ended,
//! which is in time, but without a result. The exit status is 1 if the law was broken.

#[path = "../tests/hostile/mod.rs"]
mod hostile;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use hostile::{COMMANDS, attack, texts};

#[allow(clippy::print_stdout, reason = "a program for the terminal")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(senet) = arguments.next().map(PathBuf::from) else {
        println!("usage: hostile SENET [SECONDS] [SIZES,…] [NAME]");
        return ExitCode::from(2);
    };
    let time = Duration::from_secs_f64(arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5.0));
    let sizes = arguments.next().unwrap_or_else(|| "10,100,1000,9000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').filter_map(|size| size.parse().ok()).collect();
    let wanted = arguments.next().unwrap_or_default();
    let (mut n, mut answered, mut ended, mut broken) = (0, 0, 0, 0);
    for (name, make) in texts::FAMILIES {
        for &size in &sizes {
            let text = make(size, size as u64);
            for command in COMMANDS.iter().filter(|command| name.contains(&wanted) || command.contains(&wanted)) {
                n += 1;
                let outcome = attack(&senet, command, &text, time);
                let complaint = match &outcome {
                    Ok(outcome) => outcome.complaint(command, time),
                    Err(error) => Some(error.to_string()),
                };
                let run = format!("{name} {size} ({} bytes): {command}", text.len());
                if let Some(complaint) = complaint {
                    broken += 1;
                    println!("{run}: BROKEN: {complaint}");
                } else if let Ok(outcome) = outcome {
                    answered += usize::from(outcome.status.success());
                    if outcome.was_ended() {
                        ended += 1;
                        println!("{run}: ended after {:.1} s", outcome.wall.as_secs_f64());
                    }
                }
            }
        }
    }
    let reasons = n - answered - ended - broken;
    println!("{n} runs: {answered} answers, {reasons} reasons, {ended} ended from outside; {broken} broke the law");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
