//! Judging many states at once.

/// An opinion on many states at once.
pub trait Evaluate: Send {
    /// Appends what each role may expect at the end of the match, as a part of 100 points: from 0 to 1. For each state one number
    /// for each role, those of one state after those of another. The match goes on in these states.
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>);
}
