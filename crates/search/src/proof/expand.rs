//! Looking at all successors of a state.

use machine::RoleId;

use super::{MAX_PLY, Solver, StopReason};
use crate::player::Limit;

/// Working memory of one ply.
#[derive(Debug, Default)]
pub(super) struct Frame {
    legal: Vec<Vec<u32>>,
    joints: Vec<Vec<u32>>,
    /// The state.
    bits: Vec<u64>,
    /// Successors about which nothing is known.
    pub(super) open: Vec<Successor>,
    /// The joint move that last decided a state of this ply at once.
    killer: Vec<u32>,
    /// Whether the role has the choice.
    pub(super) chooses: bool,
}

/// A successor that has to be searched.
#[derive(Clone, Debug, Default)]
pub(super) struct Successor {
    pub(super) joint: Vec<u32>,
    pub(super) key: u128,
    /// The fluents that change: twice the number, plus one if it becomes true.
    pub(super) flips: Vec<u32>,
    /// What the weights of these promise.
    pub(super) score: i64,
    /// Its proof number and its disproof number.
    pub(super) numbers: [u32; 2],
}

/// What is known of a state once its successors were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// The answer, and the ply of the earliest state on the line that it rests on.
    Decided(bool, u32),
    /// Nothing: there are open successors. All others are bad for who chooses; this rests on a state of the line, too.
    Open(u32),
}

/// An answer that rests on no state of the line.
pub(super) const FREE: u32 = u32::MAX;

impl Solver {
    /// If the match is over, the place of the role's goal; `Some(None)` if it has none, and then the search stops.
    pub(super) fn end(&mut self) -> Option<Option<usize>> {
        if !self.machine.terminal() {
            return None;
        }
        let goal = self.machine.goal(self.role);
        let place = goal.and_then(|goal| self.goals.iter().position(|&other| other == goal));
        if place.is_none() {
            self.stopped = Some(StopReason::NoGoal);
        }
        Some(place)
    }

    /// Lists the joint moves of the current state, in a fixed order, and says whether the role chooses among them. `None` if
    /// several roles choose, or one can't move at all; then the search stops. `legal` is working memory.
    pub(super) fn list(&mut self, legal: &mut Vec<Vec<u32>>, joints: &mut Vec<Vec<u32>>) -> Option<bool> {
        let n_roles = self.machine.network().roles.len();
        legal.resize_with(n_roles, Vec::new);
        let mut chooser = None;
        for (role, moves) in legal.iter_mut().enumerate() {
            moves.clear();
            self.machine.legal_moves(RoleId(role as u32), moves);
            moves.sort_unstable();
            let is_alone = chooser.is_none() || moves.len() < 2;
            if moves.is_empty() || !is_alone {
                let reason = if moves.is_empty() { StopReason::NoGoal } else { StopReason::Simultaneous };
                self.stopped = Some(reason);
                return None;
            }
            if moves.len() > 1 {
                chooser = Some(role);
            }
        }
        let varied = chooser.unwrap_or(0);
        let n = legal[varied].len();
        joints.resize_with(n, Vec::new);
        for (joint, &chosen) in joints.iter_mut().zip(&legal[varied]) {
            joint.clear();
            joint.extend(legal.iter().map(|moves| moves[0]));
            joint[varied] = chosen;
        }
        Some(chooser == Some(self.role.0 as usize))
    }

    /// Looks at all successors of the current state, which is not terminal. `None` if the search is stopped.
    pub(super) fn expand(&mut self, ply: usize, goal: usize, limit: &Limit) -> Option<Looked> {
        if self.frames.len() <= ply {
            self.frames.resize_with(ply + 1, Frame::default);
        }
        if ply >= MAX_PLY {
            self.stopped = Some(StopReason::Depth);
            return None;
        }
        let mut frame = std::mem::take(&mut self.frames[ply]);
        let mut joints = std::mem::take(&mut frame.joints);
        let looked = self.list(&mut frame.legal, &mut joints).and_then(|chooses| {
            frame.chooses = chooses;
            frame.bits.clear();
            frame.bits.extend_from_slice(self.machine.bits());
            if let Some(place) = joints.iter().position(|joint| *joint == frame.killer) {
                joints[..=place].rotate_right(1);
            }
            self.look(&mut frame, &joints, goal, limit)
        });
        frame.joints = joints;
        self.frames[ply] = frame;
        looked
    }

    fn look(&mut self, frame: &mut Frame, joints: &[Vec<u32>], goal: usize, limit: &Limit) -> Option<Looked> {
        /// After so many nodes, whoever has a clock is asked.
        const INTERVAL: u64 = 256;
        let mut rests_on = FREE;
        let mut n_open = 0;
        for joint in joints {
            self.nodes += 1;
            if self.nodes > self.max_nodes {
                self.stopped = Some(StopReason::Nodes);
                return None;
            }
            if self.nodes.is_multiple_of(INTERVAL) && (limit.stop)() {
                self.stopped = Some(StopReason::Stopped);
                return None;
            }
            self.machine.make(joint);
            let (mut key, mut upon, mut numbers) = (0, FREE, [1, 1]);
            let answer = match self.end() {
                Some(end) => Some(end.map(|reached| reached >= goal)),
                None => {
                    key = self.keys.key(&self.machine);
                    if let Some(&earlier) = self.path.get(&key) {
                        upon = earlier;
                        self.repeated = true;
                        Some(Some(self.repetition))
                    } else {
                        let known = self.known(key, goal);
                        numbers = known.unwrap_or(numbers);
                        match known {
                            Some([0, _]) => Some(Some(true)),
                            Some([_, 0]) => Some(Some(false)),
                            _ => None,
                        }
                    }
                }
            };
            if answer.is_none() {
                if frame.open.len() == n_open {
                    frame.open.push(Successor::default());
                }
                let open = &mut frame.open[n_open];
                n_open += 1;
                open.joint.clone_from(joint);
                (open.key, open.numbers) = (key, numbers);
                flips(&frame.bits, self.machine.bits(), &mut open.flips);
                let weights = &self.weights[usize::from(!frame.chooses)];
                let weight = |&flip: &u32| i64::from(weights[flip as usize / 2][flip as usize % 2]);
                open.score = open.flips.iter().map(weight).sum();
            }
            self.machine.unmake();
            match answer {
                Some(None) => return None,
                Some(Some(answer)) if answer == frame.chooses => {
                    frame.killer.clone_from(joint);
                    return Some(Looked::Decided(answer, upon));
                }
                Some(Some(_)) => rests_on = rests_on.min(upon),
                None => {}
            }
        }
        frame.open.truncate(n_open);
        Some(if n_open == 0 { Looked::Decided(!frame.chooses, rests_on) } else { Looked::Open(rests_on) })
    }
}

fn flips(before: &[u64], after: &[u64], flips: &mut Vec<u32>) {
    flips.clear();
    for (word, (&before, &after)) in before.iter().zip(after).enumerate() {
        let mut changed = before ^ after;
        while changed != 0 {
            let bit = changed.trailing_zeros();
            flips.push(2 * (64 * word as u32 + bit) + (after >> bit & 1) as u32);
            changed &= changed - 1;
        }
    }
}
