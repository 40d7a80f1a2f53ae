//! What the process may take: time and memory.
//!
//! Rules can be written so that any stage takes hours or all memory. Every stage therefore asks a [`Stop`] now and then, and comes
//! back with what it has. A thread of its own raises that stop when the time or the memory is used up; and should a stage not listen,
//! it ends the process a moment later, with a reason. So a command ends in time whatever the rules are.

use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gdl::Stop;

use crate::screen;

/// How long a command may go on after its time is over, at least, until the process is ended.
const GRACE: Duration = Duration::from_millis(1500);
/// How often the thread looks. A thread that only allocates takes some ten megabytes in this time.
const OFTEN: Duration = Duration::from_millis(20);
/// The part of the memory from which on work is told to end.
const SOFT: f64 = 0.75;

const NOTHING: u8 = 0;
const TIME: u8 = 1;
const MEMORY: u8 = 2;

static RAISED: AtomicU8 = AtomicU8::new(NOTHING);
static MEMORY_LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static DEADLINE: Mutex<Option<Deadline>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Deadline {
    end: Instant,
    /// When the process is ended, and how long after its beginning that is.
    last: Instant,
    whole: Duration,
}

/// Begins to watch, with so many bytes of memory. Once for each process.
pub(crate) fn begin(memory: u64) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    MEMORY_LIMIT.store(memory, Ordering::Relaxed);
    if !BEGUN.swap(true, Ordering::SeqCst) {
        // Without the thread there are no limits but those of each stage.
        let _ = std::thread::Builder::new().name("guard".to_owned()).spawn(watch);
    }
}

/// Lets large pieces of memory go back to the system as soon as they are free. For processes that live long and read what others send:
/// the allocator of the GNU C library keeps whatever size it has once seen freed, up to 32 MB, in the heap of each thread that asked for it.
pub(crate) fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: i32 = 256 << 10;
        // SAFETY: the call takes two numbers and changes nothing but how the allocator chooses.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// A command's time, until it is dropped.
pub(crate) struct Within {
    /// The part of the time by which it may be over.
    over: f64,
}

/// Gives a command so much time from now on.
pub(crate) fn within(time: Duration) -> Within {
    about(time, 0.0)
}

/// The same for one that needs a while to keep what it has when its time is over: as much as this part of the time, if that is more than
/// others have.
pub(crate) fn about(time: Duration, over: f64) -> Within {
    let within = Within { over };
    within.restart(time);
    within
}

impl Within {
    /// Gives it so much time from now on, whatever is left of the time before.
    pub(crate) fn restart(&self, time: Duration) {
        RAISED.store(NOTHING, Ordering::SeqCst);
        // A time beyond what clocks can say has no end.
        let whole = time.saturating_add(GRACE.max(time.mul_f64(self.over)));
        let now = Instant::now();
        let ends = now.checked_add(time).zip(now.checked_add(whole));
        *deadline() = ends.map(|(end, last)| Deadline { end, last, whole });
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        *deadline() = None;
    }
}

/// Is raised when time or memory is used up.
pub(crate) fn stop() -> Stop {
    Stop::when(|| RAISED.load(Ordering::Relaxed) != NOTHING)
}

/// Why work was stopped, if it was.
pub(crate) fn reason() -> Option<String> {
    match RAISED.load(Ordering::SeqCst) {
        TIME => Some("its time is over; --time gives it more".to_owned()),
        MEMORY => Some(format!("it took over {:.1} GiB; --memory gives it more", SOFT * gibibytes(memory_limit()))),
        _ => None,
    }
}

/// Limits for evaluating rules with the process's stop in them.
pub(crate) fn limits() -> machine::Limits {
    machine::Limits { stop: stop(), ..machine::Limits::default() }
}

/// A budget for grounding with the process's stop in it.
pub(crate) fn ground_budget() -> gdl::ground::Budget {
    gdl::ground::Budget { stop: stop(), ..gdl::ground::Budget::default() }
}

fn deadline() -> std::sync::MutexGuard<'static, Option<Deadline>> {
    DEADLINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The bytes of memory that the process may take.
pub(crate) fn memory_limit() -> u64 {
    MEMORY_LIMIT.load(Ordering::Relaxed)
}

fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1u32 << 30)
}

fn watch() {
    loop {
        std::thread::sleep(OFTEN);
        let now = Instant::now();
        if let Some(Deadline { end, last, whole }) = *deadline()
            && now >= end
        {
            let _ = RAISED.compare_exchange(NOTHING, TIME, Ordering::SeqCst, Ordering::SeqCst);
            if now >= last {
                give_up(&format!("stopped after {:.1} s: the work did not end in its time", whole.as_secs_f64()));
            }
        }
        let (used, limit) = (memory_used().unwrap_or(0), memory_limit());
        if used >= limit {
            give_up(&format!("stopped at {:.1} GiB of memory; --memory gives it more", gibibytes(used)));
        }
        if used as f64 >= SOFT * limit as f64 {
            let _ = RAISED.compare_exchange(NOTHING, MEMORY, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
}

/// Ends the process: what it keeps is complete at any moment.
fn give_up(why: &str) -> ! {
    // Nobody may be there to read it, and nobody waits for that.
    let why = why.to_owned();
    let _ = std::thread::Builder::new().spawn(move || screen::complain(format_args!("error: {why}")));
    std::thread::sleep(OFTEN);
    process::exit(2)
}

/// The bytes of memory that the process has in use, where the system tells.
fn memory_used() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_is_seen() {
        let before = memory_used().expect("the system tells");
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = memory_used().expect("the system tells");
        assert!(after >= before + (60 << 20), "{before} {after} {}", block.len());
    }

    #[test]
    fn time_that_is_over_raises_the_stop() {
        begin(u64::MAX);
        let time = within(Duration::from_millis(100));
        assert!(!stop().is_raised());
        let begun = Instant::now();
        while !stop().is_raised() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(time);
        assert!(begun.elapsed() >= Duration::from_millis(90) && reason().expect("it was raised").contains("time"));
    }
}
