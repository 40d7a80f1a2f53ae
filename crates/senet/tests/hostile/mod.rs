//! The law over all rules, and what tries to break it: a command ends in its time plus two seconds and in its memory, with an answer or a
//! reason.

pub(crate) mod texts;

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a command may go over its time.
pub(crate) const OVER: Duration = Duration::from_secs(2);
/// What it may take of the memory, in bytes.
pub(crate) const MEMORY: u64 = 4 << 30;

/// The commands that take any rules. `FILE` stands for the rules, `STORE` for a memory, `TIME` for the time.
pub(crate) const COMMANDS: &[&str] = &[
    "check FILE --time 1",
    "analyze FILE --store STORE --time TIME",
    "features FILE --store STORE --time TIME",
    "bench FILE --seconds 0.3 --prepare TIME",
    "solve FILE --time TIME",
    "recognize FILE --store STORE --time TIME",
    "learn FILE --store STORE --time TIME",
];

/// How a command went.
pub(crate) struct Outcome {
    pub(crate) wall: Duration,
    /// The most memory that was seen in use.
    pub(crate) memory: u64,
    pub(crate) status: ExitStatus,
    pub(crate) errors: String,
}

/// How many engines `bench` prepares one after the other, each with its time.
fn n_times(command: &str) -> u32 {
    if command.starts_with("bench") { 3 } else { 1 }
}

impl Outcome {
    /// Whether a stage did not listen, so that the whole process was ended.
    #[allow(dead_code, reason = "the brief test does not ask")]
    pub(crate) fn was_ended(&self) -> bool {
        ["did not end in its time", "of memory; --memory"].iter().any(|reason| self.errors.contains(reason))
    }

    /// What is wrong with it.
    pub(crate) fn complaint(&self, command: &str, time: Duration) -> Option<String> {
        let most = time * n_times(command) + OVER;
        if !matches!(self.status.code(), Some(0..=2)) {
            let last: Vec<&str> = self.errors.lines().rev().take(3).collect();
            return Some(format!("{}: {}", self.status, last.join(" | ")));
        }
        if self.wall > most {
            return Some(format!("{:.1} s, more than {:.1}", self.wall.as_secs_f64(), most.as_secs_f64()));
        }
        if self.memory > MEMORY {
            return Some(format!("{} MiB", self.memory >> 20));
        }
        (self.status.code() == Some(2) && self.errors.trim().is_empty()).then(|| "no reason was given".to_owned())
    }
}

/// Runs a command on a text.
pub(crate) fn attack(senet: &Path, command: &str, text: &str, time: Duration) -> std::io::Result<Outcome> {
    let folder = std::env::temp_dir().join(format!("senet-hostile-{}-{}", std::process::id(), number()));
    std::fs::create_dir_all(&folder)?;
    let (file, store) = (folder.join("game.kif"), folder.join("memory.db"));
    std::fs::write(&file, text)?;
    let seconds = format!("{}ms", time.as_millis());
    let arguments = command.split(' ').map(|word| match word {
        "FILE" => file.as_os_str().to_owned(),
        "STORE" => store.as_os_str().to_owned(),
        "TIME" => seconds.clone().into(),
        other => other.into(),
    });
    let begun = Instant::now();
    let mut child = Command::new(senet)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stderr = child.stderr.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut memory = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        memory = memory.max(peak_memory(child.id()).unwrap_or(0));
        if begun.elapsed() > time * n_times(command) + Duration::from_secs(60) {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let wall = begun.elapsed();
    let errors = reader.join().unwrap_or_default();
    std::fs::remove_dir_all(&folder)?;
    Ok(Outcome { wall, memory, status, errors })
}

fn number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
