//! The law over all rules, briefly: every family of hostile texts meets every command. `examples/hostile.rs` goes on for longer.

mod hostile;

use std::path::Path;
use std::time::Duration;

use hostile::{COMMANDS, attack, texts};

/// A busy machine may hold a process up; the point is minutes, gigabytes and panics.
const PATIENCE: Duration = Duration::from_secs(20);

fn holds_for(command: &str) {
    let command = COMMANDS.iter().find(|other| other.starts_with(command)).expect("there is such a command");
    let (senet, time) = (Path::new(env!("CARGO_BIN_EXE_senet")), Duration::from_millis(500));
    let mut broken = Vec::new();
    for (index, (name, make)) in texts::FAMILIES.iter().enumerate() {
        // Sizes take turns, so that each command meets small and large texts.
        let size = [3, 60, 1200][(index + command.len()) % 3];
        let outcome = attack(senet, command, &make(size, 1), time).expect("it can be run");
        if let Some(complaint) = outcome.complaint(command, time + PATIENCE) {
            broken.push(format!("{name} {size}: {complaint}"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

macro_rules! laws {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                holds_for(stringify!($name));
            }
        )*
        #[test]
        fn no_command_is_left_out() {
            let tested = [$(stringify!($name)),*];
            assert!(COMMANDS.iter().all(|command| tested.iter().any(|name| command.starts_with(name))));
        }
    };
}

laws! { check analyze features bench solve recognize learn }
