//! A state that can be moved in and judged.

use machine::RoleId;
use machine::scalar::Scalar;

/// A thread's place in a game, with an opinion on it.
pub trait Position: Send {
    /// The machine; its state is the current one.
    fn machine(&self) -> &Scalar;

    /// A role's goal value in the current state; `None` unless there is exactly one.
    fn goal(&mut self, role: RoleId) -> Option<i64>;

    /// Makes a joint move: one legal move for each role.
    fn make(&mut self, joint: &[u32]);

    /// Takes back the last joint move that was made.
    ///
    /// # Panics
    /// If no move has been made since the last jump to another state.
    fn unmake(&mut self);

    /// Goes to any state; moves made before can't be taken back.
    fn jump(&mut self, state: &[u64]);

    /// What a role may expect at the end of the match, as a part of 100 points: from 0 to 1. Asked for where the match goes
    /// on.
    fn estimate(&mut self, role: RoleId) -> f32;
}

/// Knows the rules and nothing else.
impl Position for Scalar {
    fn machine(&self) -> &Scalar {
        self
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        Scalar::goal(self, role)
    }

    fn make(&mut self, joint: &[u32]) {
        Scalar::make(self, joint);
    }

    fn unmake(&mut self) {
        Scalar::unmake(self);
    }

    fn jump(&mut self, state: &[u64]) {
        Scalar::jump(self, state);
    }

    fn estimate(&mut self, _: RoleId) -> f32 {
        0.5
    }
}
