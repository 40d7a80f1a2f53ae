//! Depth-first proof-number search.
//!
//! The proof number of a state estimates how much is missing to show that the answer is yes, its disproof number likewise for
//! no. Below a state, the search stays with the successor whose number is least until it is clearly no longer so. Numbers of
//! several successors that must all be shown count as the greatest of them, plus one for each other (Ueda et al. 2008): states
//! that are reached in several ways are so not counted several times.

use super::Solver;
use super::depth_first::question;
use super::expand::Looked;
use crate::player::Limit;

/// What is shown.
const SURE: u32 = 0;
/// What can't be shown.
const NEVER: u32 = 1 << 30;

impl Solver {
    /// Whether the role can be sure of a goal in the current state. `None` if the search is stopped.
    pub(super) fn prove(&mut self, key: u128, goal: usize, limit: &Limit) -> Option<bool> {
        loop {
            match self.go_on(key, 0, goal, [NEVER, NEVER], limit)? {
                [SURE, _] => return Some(true),
                [_, SURE] => return Some(false),
                _ => {}
            }
        }
    }

    /// Searches below the current state until its proof number or its disproof number reaches a bound, and returns them.
    fn go_on(&mut self, key: u128, ply: usize, goal: usize, bounds: [u32; 2], limit: &Limit) -> Option<[u32; 2]> {
        let before = self.nodes;
        self.path.insert(key, ply as u32);
        if let Looked::Decided(answer, _) = self.expand(ply, goal, limit)? {
            let numbers = if answer { [SURE, NEVER] } else { [NEVER, SURE] };
            self.path.remove(&key);
            self.table.put(question(key, goal), numbers, self.nodes - before);
            return Some(numbers);
        }
        // Who chooses needs one successor, and the other side needs all of them.
        let one = usize::from(!self.frames[ply].chooses);
        let all = 1 - one;
        let numbers = loop {
            let (mut best, mut least, mut second) = (0, NEVER, NEVER);
            let (mut greatest, mut n_open) = (SURE, 0);
            for (place, open) in self.frames[ply].open.iter().enumerate() {
                let number = open.numbers[one];
                if number < least {
                    (best, second, least) = (place, least, number);
                } else {
                    second = second.min(number);
                }
                if open.numbers[all] != SURE {
                    greatest = greatest.max(open.numbers[all]);
                    n_open += 1;
                }
            }
            let mut numbers = [0; 2];
            numbers[one] = least;
            numbers[all] = if n_open == 0 { SURE } else { (greatest + n_open - 1).min(NEVER) };
            if numbers[one] == SURE {
                numbers[all] = NEVER;
            }
            if numbers[all] == SURE {
                numbers[one] = NEVER;
            }
            if numbers[0] >= bounds[0] || numbers[1] >= bounds[1] {
                break numbers;
            }
            let mut child = [0; 2];
            child[one] = bounds[one].min(second + second / 4 + 1);
            child[all] = (bounds[all] - (n_open - 1)).max(self.frames[ply].open[best].numbers[all] + 1).min(NEVER);
            let open = &mut self.frames[ply].open[best];
            let (joint, next) = (std::mem::take(&mut open.joint), open.key);
            self.machine.make(&joint);
            let found = self.go_on(next, ply + 1, goal, child, limit);
            self.machine.unmake();
            self.frames[ply].open[best].joint = joint;
            self.frames[ply].open[best].numbers = found?;
        };
        self.path.remove(&key);
        self.table.put(question(key, goal), numbers, self.nodes - before);
        Some(numbers)
    }
}
