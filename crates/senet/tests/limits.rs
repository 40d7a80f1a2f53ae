//! The law over all rules, briefly: every family of hostile texts meets every command. `examples/hostile.rs` goes on for longer.

mod hostile;

use std::path::Path;
use std::time::Duration;

use hostile::{COMMANDS, attack, texts};

/// A busy machine may hold a process up; the point is minutes, gigabytes and panics.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn every_command_ends_in_time_on_hostile_rules() {
    let senet = Path::new(env!("CARGO_BIN_EXE_senet"));
    let time = Duration::from_secs(1);
    let mut broken = Vec::new();
    for (index, (name, make)) in texts::FAMILIES.iter().enumerate() {
        for (other, command) in COMMANDS.iter().enumerate() {
            // Sizes take turns, so that each command meets small and large texts.
            let size = [3, 60, 1200][(index + other) % 3];
            let outcome = attack(senet, command, &make(size, 1), time).expect("it can be run");
            if let Some(complaint) = outcome.complaint(command, time + PATIENCE) {
                broken.push(format!("{name} {size}: {command}: {complaint}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
