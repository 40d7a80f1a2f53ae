//! Minimax to a fixed depth with alpha-beta pruning (Knuth and Moore 1975) and nothing else: no order of moves, no memory, no
//! search beyond the depth. What it does can be counted, so other searches are compared with it.

use machine::RoleId;

use super::all;
use crate::greedy::worth;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::position::Position;
use crate::random::legal_moves;

/// A player by plain alpha-beta search.
pub struct Plain<P> {
    position: P,
    /// How many joint moves it looks ahead.
    depth: u32,
    role: RoleId,
    nodes: u64,
    judged: u64,
    opened: u64,
}

impl<P: Position> Plain<P> {
    /// A player that judges by this position so many joint moves ahead, at least one.
    pub fn new(position: P, depth: u32) -> Plain<P> {
        Plain { position, depth: depth.max(1), role: RoleId(0), nodes: 0, judged: 0, opened: 0 }
    }

    /// What the current state is worth, as far as that lies between the bounds. `None` if it was stopped.
    fn visit(&mut self, depth: u32, (mut low, mut high): (f32, f32), limit: &Limit) -> Option<f32> {
        self.nodes += 1;
        if self.nodes > limit.nodes || (limit.stop)() {
            return None;
        }
        let is_end = self.position.machine().terminal();
        if is_end || depth == 0 {
            self.judged += u64::from(!is_end);
            return Some(worth(&mut self.position, self.role));
        }
        self.opened += 1;
        let legal = legal_moves(self.position.machine());
        let maximises = legal[self.role.0 as usize].len() > 1;
        for joint in all(&legal) {
            self.position.make(&joint);
            let value = self.visit(depth - 1, (low, high), limit);
            self.position.unmake();
            if maximises {
                low = low.max(value?);
            } else {
                high = high.min(value?);
            }
            if low >= high {
                break;
            }
        }
        Some(if maximises { low } else { high })
    }
}

impl<P: Position> Player for Plain<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        (self.role, self.nodes, self.judged, self.opened) = (role, 0, 0, 0);
        self.position.jump(state);
        let legal = legal_moves(self.position.machine());
        let own = role.0 as usize;
        let mut answer = Answer { depth: self.depth, stop: StopReason::Depth, ..Answer::default() };
        let (mut best, mut reports) = (f32::NEG_INFINITY, Vec::new());
        for joint in all(&legal) {
            self.position.make(&joint);
            let value = self.visit(self.depth - 1, (best, f32::INFINITY), limit);
            self.position.unmake();
            let Some(value) = value else {
                answer.stop = if self.nodes > limit.nodes { StopReason::Nodes } else { StopReason::Stopped };
                break;
            };
            reports.push(MoveReport { chosen: joint[own], visits: 1, value, proven: false });
            if value > best {
                best = value;
                answer.joint = joint;
            }
        }
        if answer.joint.is_empty() {
            answer.joint = legal.iter().map(|moves| moves[0]).collect();
        }
        (answer.nodes, answer.judged, answer.opened) = (self.nodes, self.judged, self.opened);
        answer.values = vec![f32::NAN; legal.len()];
        answer.values[own] = best;
        answer.line = vec![answer.joint.clone()];
        answer.moves = vec![Vec::new(); legal.len()];
        reports.sort_by(|one, other| other.value.total_cmp(&one.value));
        answer.moves[own] = reports;
        answer
    }
}
