//! Looking one move ahead.

use machine::RoleId;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::player::{Answer, Limit, MoveReport, Player};
use crate::position::Position;
use crate::random::legal_moves;

/// Takes the move after which its position promises most; any of the best, by chance. Where others move at the same time, what
/// counts is the mean over their replies (at most [`MAX_REPLIES`] of them, drawn by chance).
pub struct Greedy<P> {
    position: P,
    random: Pcg64Mcg,
}

/// How many joint replies to a move are looked at.
const MAX_REPLIES: usize = 64;

impl<P: Position> Greedy<P> {
    /// A player that judges by this position.
    pub fn new(position: P, seed: u64) -> Greedy<P> {
        Greedy { position, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    fn worth(&mut self, role: RoleId, joint: &[u32]) -> f32 {
        self.position.make(joint);
        let worth = worth(&mut self.position, role);
        self.position.unmake();
        worth
    }
}

/// What is promised, always less than the best result and more than the worst.
pub(crate) fn likely(promised: f32) -> f32 {
    promised.clamp(0.001, 0.999)
}

/// What a role has in the current state: its result where the match is over, else what the position promises.
pub(crate) fn worth<P: Position>(position: &mut P, role: RoleId) -> f32 {
    if position.machine().terminal() {
        return position.goal(role).map_or(0.5, |goal| goal as f32 / 100.0);
    }
    likely(position.estimate(role))
}

impl<P: Position> Player for Greedy<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.position.jump(state);
        let legal = legal_moves(self.position.machine());
        let own = role.0 as usize;
        let mut answer = Answer { joint: legal.iter().map(|moves| moves[0]).collect(), ..Answer::default() };
        if legal[own].len() == 1 {
            return answer;
        }
        let replies = replies(&legal, own, &mut self.random);
        let mut worths = Vec::new();
        for &chosen in &legal[own] {
            let mut sum = 0.0;
            for reply in &replies {
                let mut joint = reply.clone();
                joint[own] = chosen;
                sum += self.worth(role, &joint);
            }
            worths.push((chosen, sum / replies.len() as f32));
            if (limit.stop)() {
                break;
            }
        }
        settle(&mut answer, own, &worths, replies.len() as u64, &mut self.random);
        answer
    }
}

/// Answers with one of the best moves of a role, given what moves are worth after so many replies.
pub(crate) fn settle(answer: &mut Answer, own: usize, worths: &[(u32, f32)], n_replies: u64, random: &mut impl Rng) {
    let (mut best, mut n_best) = (f32::NEG_INFINITY, 0u32);
    for &(chosen, value) in worths {
        if value > best {
            (best, n_best) = (value, 0);
        }
        if value == best {
            n_best += 1;
            if random.random_range(0..n_best) == 0 {
                answer.joint[own] = chosen;
            }
        }
    }
    let report = |&(chosen, value): &(u32, f32)| MoveReport { chosen, visits: n_replies, value, proven: false };
    let mut reports: Vec<MoveReport> = worths.iter().map(report).collect();
    reports.sort_by(|one, other| other.value.total_cmp(&one.value));
    let n_roles = answer.joint.len();
    answer.nodes = n_replies * worths.len() as u64;
    answer.depth = 1;
    answer.values = vec![f32::NAN; n_roles];
    answer.values[own] = best;
    answer.line = vec![answer.joint.clone()];
    answer.moves = vec![Vec::new(); n_roles];
    answer.moves[own] = reports;
}

/// What the others may do, as joint moves whose own part is to be filled in: all of it, or as much as is looked at.
pub(crate) fn replies(legal: &[Vec<u32>], own: usize, random: &mut impl Rng) -> Vec<Vec<u32>> {
    let n_replies = (0..legal.len()).filter(|&role| role != own).map(|role| legal[role].len());
    let n_replies = n_replies.fold(1usize, usize::saturating_mul);
    let reply = |number: usize| -> Vec<u32> {
        let mut rest = number;
        let pick = |(role, moves): (usize, &Vec<u32>)| {
            if role == own {
                return moves[0];
            }
            let chosen = moves[rest % moves.len()];
            rest /= moves.len();
            chosen
        };
        legal.iter().enumerate().map(pick).collect()
    };
    if n_replies <= MAX_REPLIES {
        return (0..n_replies).map(reply).collect();
    }
    (0..MAX_REPLIES).map(|_| legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect()).collect()
}
