//! Line after line: the most promising successor first, and the others only if it fails.

use super::expand::{FREE, Looked};
use super::{Method, Solver};
use crate::player::Limit;

impl Solver {
    /// What is remembered of a state: `[0, _]` if the answer is yes, `[_, 0]` if it is no.
    pub(super) fn known(&self, key: u128, goal: usize) -> Option<[u32; 2]> {
        match self.method {
            Method::DepthFirst => {
                let [lower, upper] = self.table.get(key)?;
                Some([u32::from((lower as usize) < goal), u32::from(upper as usize >= goal)])
            }
            Method::ProofNumber => self.table.get(question(key, goal)),
        }
    }

    /// Whether the role can be sure of a goal in the current state, which is not terminal, and the ply of the earliest state
    /// on the line that the answer rests on. `None` if the search is stopped.
    pub(super) fn decide(&mut self, key: u128, ply: usize, goal: usize, limit: &Limit) -> Option<(bool, u32)> {
        let before = self.nodes;
        self.path.insert(key, ply as u32);
        let (mut answer, mut rests_on, n_open) = match self.expand(ply, goal, limit)? {
            Looked::Decided(answer, rests_on) => (answer, rests_on, 0),
            Looked::Open(rests_on) => (!self.frames[ply].chooses, rests_on, self.frames[ply].open.len()),
        };
        let chooses = self.frames[ply].chooses;
        self.frames[ply].open[..n_open].sort_by_key(|open| std::cmp::Reverse(open.score));
        for place in 0..n_open {
            let open = &mut self.frames[ply].open[place];
            let (joint, next) = (std::mem::take(&mut open.joint), open.key);
            self.machine.make(&joint);
            let found = self.decide(next, ply + 1, goal, limit);
            self.machine.unmake();
            self.frames[ply].open[place].joint = joint;
            let (found, upon) = found?;
            if found == chooses {
                (answer, rests_on) = (found, upon);
                self.learn(ply, place);
                break;
            }
            rests_on = rests_on.min(upon);
        }
        self.path.remove(&key);
        if rests_on as usize >= ply {
            rests_on = FREE;
        }
        self.remember(key, ply, goal, answer, rests_on, before);
        Some((answer, rests_on))
    }

    fn remember(&mut self, key: u128, ply: usize, goal: usize, answer: bool, rests_on: u32, before: u64) {
        if (rests_on as usize) < ply {
            return;
        }
        let [mut lower, mut upper] = self.table.get(key).unwrap_or([0, self.goals.len() as u32 - 1]);
        if answer {
            lower = lower.max(goal as u32);
        } else {
            upper = upper.min(goal as u32 - 1);
        }
        self.table.put(key, [lower, upper], self.nodes - before);
    }

    /// The move at a place turned out well; what it changes is good for who chose, and what earlier moves change is less so.
    fn learn(&mut self, ply: usize, place: usize) {
        let frame = &self.frames[ply];
        let weights = &mut self.weights[usize::from(!frame.chooses)];
        for (number, open) in frame.open[..=place].iter().enumerate() {
            let by = if number == place { place as i32 } else { -1 };
            for &flip in &open.flips {
                weights[flip as usize / 2][flip as usize % 2] += by;
            }
        }
    }
}

/// A key for a state together with a question.
pub(super) fn question(key: u128, goal: usize) -> u128 {
    key ^ (goal as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}
