//! Ends the satisfiability solver where it does not ask whether to go on.
//!
//! It asks whenever it decides something. But one conflict may follow upon another without a decision, for as long as there are
//! moves, and each clause that it learns makes the next one dearer: some kilobytes of rules keep it busy for minutes and more. All that it calls
//! then is what hears of the learnt clause, and that can only unwind.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use batsat::{Callbacks, Lit, Solver, SolverInterface, lbool};

/// What unwinds.
struct Ended;

/// Ends the solver, for use in a callback.
pub(crate) fn end() -> ! {
    resume_unwind(Box::new(Ended))
}

/// Asks the solver. `None` if it was ended: then it is in no state to be used again.
pub(crate) fn solve<C: Callbacks>(solver: &mut Solver<C>, assumptions: &[Lit]) -> Option<lbool> {
    match catch_unwind(AssertUnwindSafe(|| solver.solve_limited(assumptions))) {
        Ok(answer) => Some(answer),
        Err(ended) if ended.is::<Ended>() => None,
        Err(panic) => resume_unwind(panic),
    }
}
