//! A memory of one test's own, for tests of the program from outside.

// Each test file is a program of its own and uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that is tested.
pub(crate) fn program() -> String {
    std::env::var("SENET_PROGRAM").unwrap_or(env!("CARGO_BIN_EXE_senet").to_owned())
}

/// The folder of a memory, which goes when the test ends.
pub(crate) struct Memory(pub(crate) PathBuf);

impl Memory {
    /// A memory that is empty, for the test of this name.
    pub(crate) fn new(name: &str) -> Memory {
        let folder = format!("{}-{name}-{}", env!("CARGO_CRATE_NAME"), std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("made");
        Memory(folder)
    }

    /// A memory as the version before this one left it: two models, the second measured, two courses and a contest.
    pub(crate) fn of_an_earlier_version(name: &str) -> Memory {
        let memory = Memory::new(name);
        let from = Path::new("../arena/tests/stores/format-5");
        std::fs::create_dir_all(memory.0.join("memory.db-files")).expect("made");
        std::fs::copy(from.join("memory.db"), memory.0.join("memory.db")).expect("copied");
        for entry in std::fs::read_dir(from.join("memory.db-files")).expect("there").flatten() {
            std::fs::copy(entry.path(), memory.0.join("memory.db-files").join(entry.file_name())).expect("copied");
        }
        memory
    }

    /// The program with this memory, reading nothing. `$SENET_PROGRAM` may name another version of it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env("SENET_STORE", self.0.join("memory.db")).stdin(Stdio::null());
        command
    }

    /// What the program prints.
    pub(crate) fn senet(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("output is UTF-8")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
