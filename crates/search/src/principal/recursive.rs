//! Best-first minimax in little memory: RBFMS (Korf and Chickering 1996).
//!
//! A state is explored while its value stays between two bounds, which say when some other line becomes the principal one; then
//! it is left, and what was found below is forgotten but for its value. So states are opened again and again, and memory is needed
//! for one line and its side lines only. Without equal values it opens the same states for the first time, in the same order,
//! as [`super::Principal`].

use machine::RoleId;

use super::{all, mover, worth_after};
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::position::Position;
use crate::random::legal_moves;

/// A player by recursive best-first minimax.
pub struct Recursive<P> {
    position: P,
    /// How many states are opened besides the root, again and again included.
    span: u64,
    role: RoleId,
    n_opened: u64,
    n_nodes: u64,
    n_judged: u64,
    depth: u32,
    /// Joint moves from the root to each state that is opened, where somebody wants to know.
    #[cfg(test)]
    opened: Vec<Vec<Vec<u32>>>,
    path: Vec<Vec<u32>>,
}

/// The longest line.
const DEPTH: usize = 500;

struct Child {
    joint: Vec<u32>,
    value: f32,
    /// Whether nothing is to be gained by exploring it: its principal leaf is an end.
    closed: bool,
}

impl<P: Position> Recursive<P> {
    /// A player that judges by this position and opens so many states besides the root.
    pub fn new(position: P, span: u64) -> Recursive<P> {
        Recursive {
            position,
            span,
            role: RoleId(0),
            n_opened: 0,
            n_nodes: 0,
            n_judged: 0,
            depth: 0,
            #[cfg(test)]
            opened: Vec::new(),
            path: Vec::new(),
        }
    }

    fn is_over(&self, limit: &Limit) -> bool {
        self.n_opened > self.span || self.n_nodes >= limit.nodes || (limit.stop)()
    }

    /// Explores the current state while its value is within the bounds. Its children as they are then, the best first; none if
    /// somebody can't move.
    fn explore(&mut self, (low, high): (f32, f32), limit: &Limit) -> Vec<Child> {
        self.n_opened += 1;
        #[cfg(test)]
        self.opened.push(self.path.clone());
        // Step 1. The children.
        let legal = legal_moves(self.position.machine());
        let mover = mover(&legal, self.role);
        let sign = if mover == self.role { 1.0 } else { -1.0 };
        let mut children: Vec<Child> = Vec::new();
        for joint in all(&legal) {
            self.position.make(&joint);
            let value = worth_after(&mut self.position, self.role, mover);
            let is_end = self.position.machine().terminal();
            self.n_judged += u64::from(!is_end);
            let closed = is_end || self.path.len() >= DEPTH;
            children.push(Child { joint, value, closed });
            self.position.unmake();
        }
        self.n_nodes += children.len() as u64;
        self.depth = self.depth.max(self.path.len() as u32 + 1);
        if children.is_empty() {
            return children;
        }
        // Step 2. The best child, until the value is out of bounds. Of equal ones the first stays first.
        loop {
            children.sort_by(|one, other| (sign * other.value).total_cmp(&(sign * one.value)));
            let best = &children[0];
            if best.closed || best.value < low || best.value > high || self.is_over(limit) {
                return children;
            }
            let second = children.get(1).map(|child| child.value);
            let bounds = if sign > 0.0 {
                (second.map_or(low, |second| low.max(second)), high)
            } else {
                (low, second.map_or(high, |second| high.min(second)))
            };
            let joint = best.joint.clone();
            self.position.make(&joint);
            self.path.push(joint);
            let below = self.explore(bounds, limit);
            self.path.pop();
            self.position.unmake();
            match below.first() {
                Some(best) => (children[0].value, children[0].closed) = (best.value, best.closed),
                None => children[0].closed = true,
            }
        }
    }
}

impl<P: Position> Player for Recursive<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.role = role;
        (self.n_opened, self.n_nodes, self.n_judged, self.depth) = (0, 0, 0, 0);
        #[cfg(test)]
        self.opened.clear();
        self.position.jump(state);
        let children = self.explore((f32::NEG_INFINITY, f32::INFINITY), limit);
        let n_roles = self.position.machine().network().roles.len();
        let own = role.0 as usize;
        let mut answer = Answer { joint: children[0].joint.clone(), nodes: self.n_nodes, ..Answer::default() };
        (answer.judged, answer.opened, answer.depth) = (self.n_judged, self.n_opened - 1, self.depth);
        answer.stop = if children[0].closed { StopReason::Depth } else { StopReason::Nodes };
        answer.values = vec![f32::NAN; n_roles];
        answer.values[own] = children[0].value;
        answer.line = vec![answer.joint.clone()];
        let report =
            |child: &Child| MoveReport { chosen: child.joint[own], visits: 1, value: child.value, proven: false };
        answer.moves = vec![Vec::new(); n_roles];
        answer.moves[own] = children.iter().map(report).collect();
        answer
    }
}

#[cfg(test)]
impl<P> Recursive<P> {
    /// The states that were opened, each when it was opened first, as joint moves from the root.
    pub(super) fn first_opened(&self) -> Vec<Vec<Vec<u32>>> {
        let mut seen = std::collections::BTreeSet::new();
        self.opened.iter().filter(|path| seen.insert(*path)).cloned().collect()
    }
}
