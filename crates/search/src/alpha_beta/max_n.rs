//! Each role for itself: max^n by iterative deepening.
//!
//! A role that has its best result in hand while the others have their worst looks no further; nothing else is cut. Where moves are
//! equal for the role that chooses, each other role is taken to get the least that one of them gives it. Where several roles move at
//! once, the searching role comes first and the others see what was chosen before them.

use machine::RoleId;
use rand::Rng;
use rand::seq::SliceRandom;

use super::{MAX_PLY, SLACK, Settings};
use crate::greedy::worth;
use crate::nature::Nature;
use crate::player::{Answer, Limit, MoveReport, StopReason};
use crate::position::Position;
use crate::random::legal_moves;

struct Search<'a, P> {
    position: &'a mut P,
    nature: &'a Nature,
    limit: &'a Limit<'a>,
    /// The roles in the order in which they choose.
    order: Vec<usize>,
    hard_depth: u32,
    nodes: u64,
    judged: u64,
    opened: u64,
    stopped: Option<StopReason>,
}

/// What each role gets, whether that is exact, and the joint moves that lead there.
struct Found {
    values: Vec<f32>,
    complete: bool,
    line: Vec<Vec<u32>>,
}

impl Found {
    /// What a role that chooses between two makes of them. Whether all of that is exact is for the caller to say.
    fn or(self, other: Found, role: usize) -> Found {
        if self.values[role] != other.values[role] {
            return if self.values[role] > other.values[role] { self } else { other };
        }
        let values = self.values.iter().zip(&other.values).map(|(one, other)| one.min(*other)).collect();
        Found { values, ..self }
    }

    /// Whether nothing that the role may choose instead can change it: it is the best for the role and the worst for the others.
    fn is_last(&self, role: usize, nature: &Nature) -> bool {
        let is_last = |(other, (&value, &(least, most))): (usize, (&f32, &(f32, f32)))| match other == role {
            true => value >= most,
            false => value <= least,
        };
        self.complete && self.values.iter().zip(&nature.range).enumerate().all(is_last)
    }
}

pub(super) fn search<P: Position>(
    position: &mut P,
    nature: &Nature,
    settings: &Settings,
    role: RoleId,
    legal: Vec<Vec<u32>>,
    random: &mut impl Rng,
    limit: &Limit,
) -> Answer {
    let own = role.0 as usize;
    let mut order: Vec<usize> = (0..legal.len()).collect();
    order.sort_by_key(|&of| of != own);
    let mut search =
        Search { position, nature, limit, order, hard_depth: 0, nodes: 0, judged: 0, opened: 0, stopped: None };
    let mut moves: Vec<MoveReport> =
        legal[own].iter().map(|&chosen| MoveReport { chosen, visits: 0, value: 0.0, proven: false }).collect();
    moves.shuffle(random);
    let mut answer = Answer { stop: StopReason::Depth, values: vec![f32::NAN; legal.len()], ..Answer::default() };
    answer.joint = legal.iter().map(|moves| moves[0]).collect();
    'deeper: for depth in 1..=settings.depth.min(MAX_PLY as u32 - SLACK) {
        search.hard_depth = depth + SLACK;
        let mut best: Option<Found> = None;
        let mut complete = true;
        for at in 0..moves.len() {
            let before = search.nodes;
            let mut joint: Vec<Option<u32>> = vec![None; legal.len()];
            joint[own] = Some(moves[at].chosen);
            let found = search.choose(&legal, &mut joint, depth, 0);
            if search.stopped.is_some() {
                break 'deeper;
            }
            complete &= found.complete;
            let report = &mut moves[at];
            (report.value, report.proven) = (found.values[own], found.complete);
            report.visits += search.nodes - before;
            if best.as_ref().is_none_or(|best| found.values[own] > best.values[own]) {
                moves[..=at].rotate_right(1);
                answer.line.clone_from(&found.line);
            }
            let is_last = found.is_last(own, nature);
            let found = match best {
                Some(best) if !is_last => best.or(found, own),
                _ => found,
            };
            answer.values.clone_from(&found.values);
            best = Some(found);
            if is_last {
                complete = true;
                break;
            }
        }
        answer.depth = depth;
        if complete {
            (answer.stop, answer.proven) = (StopReason::Solved, true);
            break;
        }
    }
    answer.stop = search.stopped.unwrap_or(answer.stop);
    (answer.nodes, answer.judged, answer.opened) = (search.nodes, search.judged, search.opened);
    answer.joint[own] = moves[0].chosen;
    answer.moves = vec![Vec::new(); legal.len()];
    answer.moves[own] = moves;
    answer
}

impl<P: Position> Search<'_, P> {
    fn visit(&mut self, depth: u32, ply: u32) -> Found {
        self.nodes += 1;
        if self.nodes >= self.limit.nodes {
            self.stopped = Some(StopReason::Nodes);
        } else if self.nodes.is_multiple_of(8) && (self.limit.stop)() {
            self.stopped = Some(StopReason::Stopped);
        }
        let terminal = self.position.machine().terminal();
        let legal = legal_moves(self.position.machine());
        let forced = legal.iter().all(|moves| moves.len() == 1);
        let over = terminal || legal.iter().any(Vec::is_empty);
        if over || self.stopped.is_some() || ply >= self.hard_depth || depth == 0 && !forced {
            self.judged += u64::from(!terminal);
            let roles = || (0..legal.len() as u32).map(RoleId);
            let values = roles().map(|role| worth(self.position, role)).collect();
            let complete = terminal && roles().all(|role| self.position.goal(role).is_some());
            return Found { values, complete, line: Vec::new() };
        }
        self.opened += 1;
        let mut joint = vec![None; legal.len()];
        self.choose(&legal, &mut joint, if forced { depth + 1 } else { depth }, ply)
    }

    /// Lets the roles that have not chosen choose, one after another.
    fn choose(&mut self, legal: &[Vec<u32>], joint: &mut Vec<Option<u32>>, depth: u32, ply: u32) -> Found {
        let Some(&role) = self.order.iter().find(|&&role| joint[role].is_none()) else {
            let joint: Vec<u32> = joint.iter().flatten().copied().collect();
            self.position.make(&joint);
            let mut found = self.visit(depth - 1, ply + 1);
            self.position.unmake();
            found.line.insert(0, joint);
            return found;
        };
        let mut best: Option<Found> = None;
        let mut complete = true;
        for &chosen in &legal[role] {
            joint[role] = Some(chosen);
            let found = self.choose(legal, joint, depth, ply);
            complete &= found.complete;
            let is_last = found.is_last(role, self.nature);
            best = Some(match best {
                Some(best) if !is_last => best.or(found, role),
                _ => found,
            });
            if is_last {
                complete = true;
                break;
            }
            if self.stopped.is_some() {
                break;
            }
        }
        joint[role] = None;
        let best = best.expect("the role has a legal move");
        Found { complete, ..best }
    }
}
