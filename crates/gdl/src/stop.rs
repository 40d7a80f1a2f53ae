//! One token that ends work before its time.
//!
//! Whoever begins long work hands in a [`Stop`]; every loop that can last asks it now and then, and comes back with a reason or with
//! what it has. The token may look at a clock, a flag or the memory in use: what it looks at is the caller's affair.

use std::fmt;
use std::sync::Arc;

type Question = dyn Fn() -> bool + Send + Sync;

/// Says whether work is to end. Copies ask the same question.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<Question>>);

impl Stop {
    /// Never ends anything.
    pub const fn never() -> Stop {
        Stop(None)
    }

    /// Ends work from the moment on when the answer is yes. It is asked often, so it should be quick.
    pub fn when(question: impl Fn() -> bool + Send + Sync + 'static) -> Stop {
        Stop(Some(Arc::new(question)))
    }

    /// Ends work when either of the two does.
    pub fn or(&self, other: &Stop) -> Stop {
        match (&self.0, &other.0) {
            (Some(left), Some(right)) => {
                let (left, right) = (left.clone(), right.clone());
                Stop::when(move || left() || right())
            }
            (Some(_), None) => self.clone(),
            (None, _) => other.clone(),
        }
    }

    /// Whether work is to end.
    pub fn is_raised(&self) -> bool {
        self.0.as_ref().is_some_and(|question| question())
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Stop(..)" } else { "Stop::never()" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn either_of_two_ends_work() {
        let flags: [Arc<AtomicBool>; 2] = Default::default();
        let of = |flag: &Arc<AtomicBool>| {
            let flag = flag.clone();
            Stop::when(move || flag.load(Ordering::SeqCst))
        };
        let either = of(&flags[0]).or(&of(&flags[1]));
        assert!(!either.is_raised());
        for flag in &flags {
            flag.store(true, Ordering::SeqCst);
            assert!(
                either.is_raised() && either.or(&Stop::never()).is_raised() && Stop::never().or(&either).is_raised()
            );
            flag.store(false, Ordering::SeqCst);
        }
        assert!(!Stop::never().is_raised());
    }
}
