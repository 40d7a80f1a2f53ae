//! Several threads at one search.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::player::{Limit, StopReason};

/// Lets all hands work at the same time, each in a thread of its own, until the first comes back or one has solved what is asked; then
/// the others are told to stop. Each is given its own limit. Why the search came back.
pub(crate) fn together<H: Send>(
    hands: &mut [H],
    limit: &Limit,
    work: impl Fn(&mut H, &Limit) -> StopReason + Sync,
) -> StopReason {
    let (first, others) = hands.split_first_mut().expect("there is a hand");
    if others.is_empty() {
        return work(first, limit);
    }
    let (over, solved) = (AtomicBool::new(false), AtomicBool::new(false));
    let (nodes, is_over, work) = (limit.nodes, &|| over.load(Ordering::Relaxed), &work);
    let reason = std::thread::scope(|scope| {
        // The others stop whatever becomes of the first.
        let _told = OnDrop(&over);
        for hand in others {
            let (over, solved) = (&over, &solved);
            scope.spawn(move || {
                if work(hand, &Limit { nodes, stop: is_over }) == StopReason::Solved {
                    solved.store(true, Ordering::Relaxed);
                    over.store(true, Ordering::Relaxed);
                }
            });
        }
        work(first, &Limit { nodes, stop: &|| is_over() || (limit.stop)() })
    });
    if solved.into_inner() { StopReason::Solved } else { reason }
}

/// What hands share, for one of them at a time. Whoever waits is next: a hand that comes back at once waits behind it. Otherwise one
/// that has little else to do could keep the first from ever looking at the time.
pub(crate) struct Turns<T> {
    /// Held by the one who is next.
    next: Mutex<()>,
    shared: Mutex<T>,
}

impl<T> Turns<T> {
    pub(crate) fn new(shared: T) -> Turns<T> {
        Turns { next: Mutex::new(()), shared: Mutex::new(shared) }
    }

    /// What is shared, for this hand alone.
    pub(crate) fn take(&self) -> MutexGuard<'_, T> {
        let _next = lock(&self.next);
        lock(&self.shared)
    }
}

/// A hand that panicked takes the search down with it, so there is nothing to fear here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    /// It is soon free again: to sleep and to be woken takes longer.
    const TRIES: usize = 50_000;
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_work_until_the_first_comes_back() {
        let mut counts = [0u32; 3];
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 1_000
        };
        let reason = together(&mut counts, &Limit { nodes: u64::MAX, stop: &stop }, |count, limit| {
            loop {
                *count += 1;
                if (limit.stop)() {
                    return StopReason::Stopped;
                }
            }
        });
        assert_eq!((reason, counts[0]), (StopReason::Stopped, 1_001));
        assert!(counts[1] > 0 && counts[2] > 0, "{counts:?}");
    }

    /// Whoever has the answer ends the search for all.
    #[test]
    fn one_that_solves_it_is_enough() {
        let reason = together(&mut [false, true, false], &Limit::nodes(1), |solves, limit| {
            while !*solves && !(limit.stop)() {
                std::thread::yield_now();
            }
            if *solves { StopReason::Solved } else { StopReason::Stopped }
        });
        assert_eq!(reason, StopReason::Solved);
    }

    #[test]
    #[should_panic(expected = "a hand panicked")]
    fn a_panic_leaves_nobody_waiting() {
        together(&mut [true, false, false], &Limit::nodes(1), |is_first, limit| {
            assert!(!*is_first, "a hand panicked");
            while !(limit.stop)() {
                std::thread::yield_now();
            }
            StopReason::Stopped
        });
    }
}
