//! All that the program prints goes through here.
//!
//! Names of games, players, moves and files come from anywhere, so whatever a terminal would obey is escaped on its way out. And
//! a reader that is gone (`senet check … | true`) is never a reason to panic: what is printed by `?` ends the command without a
//! word, what is said or complained about is lost, and the exit status is what it would have been.

use std::fmt::{Arguments, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use gdl::printable;

/// A writer on which nothing is obeyed by a terminal.
pub(crate) struct Screen<W>(W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Formatted text comes in whole characters.
        self.0.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard output.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub(crate) fn out() -> Screen<io::StdoutLock<'static>> {
    Screen(io::stdout().lock())
}

/// Standard error.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
fn errors() -> Screen<io::StderrLock<'static>> {
    Screen(io::stderr().lock())
}

/// Whether people see what is printed, and what is complained about.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub(crate) fn is_seen() -> [bool; 2] {
    [io::stdout().is_terminal(), io::stderr().is_terminal()]
}

/// Prints a line to standard output, where the exit status is an answer even if nobody reads.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(out(), "{text}");
}

/// Prints text to standard output as it stands.
pub(crate) fn print(text: &str) {
    let _ = write!(out(), "{text}");
}

/// Prints a line to standard error.
pub(crate) fn complain(text: impl Display) {
    let _ = writeln!(errors(), "{text}");
}

/// Prints diagnostics to standard error; the colours are ours, and what they show has been made printable.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub(crate) fn complain_in_colour(text: &str) {
    let parts = text.split('\u{1b}').map(printable).collect::<Vec<_>>();
    let _ = writeln!(io::stderr().lock(), "{}", parts.join("\u{1b}"));
}

/// A log on standard error for programs that go on for days: whoever writes to it never waits and never fails. What nobody reads
/// is dropped, and counted.
#[derive(Clone)]
pub(crate) struct Log {
    lines: SyncSender<String>,
    n_waiting: Arc<AtomicU64>,
    n_dropped: Arc<AtomicU64>,
}

impl Log {
    /// Begins a log that prints each line by `print`.
    fn to(print: impl Fn(Arguments<'_>) + Send + 'static) -> Log {
        /// Lines that may wait to be printed.
        const ROOM: usize = 1_000;
        let (lines, printed) = sync_channel::<String>(ROOM);
        let [n_waiting, n_dropped]: [Arc<AtomicU64>; 2] = Default::default();
        let (n_left, n_missing) = (n_waiting.clone(), n_dropped.clone());
        // Ends with the last of those who write to it.
        std::thread::spawn(move || {
            for line in printed {
                match n_missing.swap(0, Ordering::Relaxed) {
                    0 => {}
                    n => print(format_args!("{n} lines were dropped, since nobody read them")),
                }
                print(format_args!("{line}"));
                n_left.fetch_sub(1, Ordering::SeqCst);
            }
        });
        Log { lines, n_waiting, n_dropped }
    }

    /// Begins a log on standard error.
    pub(crate) fn new() -> Log {
        Log::to(|line| complain(line))
    }

    /// Writes a line, and makes one of several.
    pub(crate) fn write(&self, line: String) {
        let line = if line.contains('\n') { line.replace('\n', " ") } else { line };
        self.n_waiting.fetch_add(1, Ordering::SeqCst);
        if let Err(TrySendError::Full(_)) = self.lines.try_send(line) {
            self.n_waiting.fetch_sub(1, Ordering::SeqCst);
            self.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all is printed, if that is soon.
    pub(crate) fn settle(&self) {
        let until = Instant::now() + Duration::from_millis(300);
        while self.n_waiting.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_is_printed_is_escaped() {
        let mut screen = Screen(Vec::new());
        let name = "\u{1b}[2Jb";
        write!(screen, "a {name} c").expect("memory");
        assert_eq!(screen.0, b"a \\u001b[2Jb c");
    }

    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up() {
        let (open, opened) = channel::<()>();
        let (send, printed) = channel();
        let log = Log::to(move |line| {
            let _ = opened.recv();
            let _ = send.send(line.to_string());
        });
        for number in 0..3_000 {
            log.write(format!("line {number}"));
        }
        drop((open, log));
        let lines: Vec<String> = printed.iter().collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("line")).count() + dropped(&lines), 3_000);
    }

    fn dropped(lines: &[String]) -> usize {
        let dropped = lines.iter().filter_map(|line| line.split_once(" lines were dropped"));
        dropped.map(|(n, _)| n.parse::<usize>().expect("a number")).sum()
    }
}
