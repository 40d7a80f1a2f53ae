//! Lines below the root: alpha-beta with principal variations first.

use machine::RoleId;

use super::table::{Bound, Entry};
use super::{AlphaBeta, Found, Frame, INFINITE, SCALE, SLACK, SURE, WIN};
use crate::player::{Limit, StopReason};
use crate::position::Position;

impl<P: Position> AlphaBeta<P> {
    /// What the searching role's move at the root leads to: our team does its best at the same time, and the others their worst.
    pub(super) fn first_move(
        &mut self,
        legal: &[Vec<u32>],
        chosen: u32,
        depth: u32,
        alpha: i32,
        beta: i32,
        limit: &Limit,
    ) -> Found {
        let own = (self.role.0 as usize, chosen);
        let mut best = Found { score: -INFINITE, complete: true, reach: 0 };
        let (mut low, mut all_complete) = (alpha, true);
        let mut line = Vec::new();
        for given in self.team_moves(legal).iter().filter(|given| given.contains(&own)) {
            let found = self.answer_to(legal, given, depth, low, beta, 0, limit);
            if self.stopped.is_some() {
                return Found::NOTHING;
            }
            all_complete &= found.complete;
            best.reach = best.reach.max(found.reach);
            if found.score > best.score {
                (best.score, best.complete) = (found.score, found.complete);
                line = std::mem::take(&mut self.lines[0]);
            }
            low = low.max(found.score);
            if low >= beta {
                break;
            }
        }
        self.lines[0] = line;
        best.complete = if best.score >= beta { best.complete } else { all_complete };
        best
    }

    /// All that our team can do at the same time: a move for each of its roles.
    pub(super) fn team_moves(&self, legal: &[Vec<u32>]) -> Vec<Vec<(usize, u32)>> {
        let mut rows = vec![Vec::new()];
        for role in (0..legal.len()).filter(|&role| self.allied[role]) {
            let with = |row: &Vec<(usize, u32)>, chosen: u32| row.iter().copied().chain([(role, chosen)]).collect();
            rows = rows.iter().flat_map(|row| legal[role].iter().map(move |&chosen| with(row, chosen))).collect();
        }
        rows
    }

    /// What the moves of our team lead to, at the worst of what the others do at the same time.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn answer_to(
        &mut self,
        legal: &[Vec<u32>],
        given: &[(usize, u32)],
        depth: u32,
        alpha: i32,
        beta: i32,
        ply: usize,
        limit: &Limit,
    ) -> Found {
        let mut best = Found { score: INFINITE, complete: true, reach: 0 };
        let mut high = beta;
        let mut line = Vec::new();
        for_each_joint(legal, given, |joint| {
            self.position.make(joint);
            let found = self.visit(depth - 1, alpha, high, ply + 1, limit);
            self.position.unmake();
            if self.stopped.is_some() {
                return false;
            }
            best.reach = best.reach.max(found.reach + 1);
            if found.score < best.score {
                best.score = found.score;
                best.complete &= found.complete;
                high = high.min(found.score);
                line.clear();
                line.push(joint.to_vec());
                line.extend_from_slice(&self.lines[ply + 1]);
            } else {
                best.complete &= found.complete;
            }
            if best.score <= alpha {
                best.complete = found.complete;
                return false;
            }
            true
        });
        self.lines[ply] = line;
        best
    }

    /// The score of the current state.
    pub(super) fn visit(&mut self, depth: u32, alpha: i32, beta: i32, ply: usize, limit: &Limit) -> Found {
        self.lines[ply].clear();
        self.nodes += 1;
        if self.nodes >= limit.nodes {
            self.stopped = Some(StopReason::Nodes);
        } else if self.nodes.is_multiple_of(8) && (limit.stop)() {
            self.stopped = Some(StopReason::Stopped);
        }
        if self.stopped.is_some() {
            return Found::NOTHING;
        }
        if self.position.machine().terminal() {
            return self.end(ply);
        }
        self.estimates[ply] = None;
        let mut frame = std::mem::take(&mut self.frames[ply]);
        let found = self.expand(&mut frame, depth, alpha, beta, ply, limit);
        self.frames[ply] = frame;
        found
    }

    fn expand(&mut self, frame: &mut Frame, depth: u32, alpha: i32, beta: i32, ply: usize, limit: &Limit) -> Found {
        // Step 1. Who has a choice.
        let n_roles = self.nature.range.len();
        frame.legal.resize(n_roles, Vec::new());
        // How many roles have a choice, and how many joint moves they have: the others, and our team.
        let (mut others, mut product) = (0, 1usize);
        let (mut allies, mut ours) = (0, 1usize);
        for (role, moves) in frame.legal.iter_mut().enumerate() {
            moves.clear();
            self.position.machine().legal_moves(RoleId(role as u32), moves);
            moves.sort_unstable();
            if moves.is_empty() {
                return Found { score: SCALE / 2, complete: false, reach: 0 };
            }
            let (choosers, product) =
                if self.allied[role] { (&mut allies, &mut ours) } else { (&mut others, &mut product) };
            *choosers += usize::from(moves.len() > 1);
            *product = product.saturating_mul(moves.len());
        }
        if ours == 1 && others == 0 {
            frame.joint.clear();
            frame.joint.extend(frame.legal.iter().map(|moves| moves[0]));
            if ply as u32 >= self.hard_depth {
                return self.judge(ply);
            }
            self.opened += 1;
            self.position.make(&frame.joint);
            let found = self.visit(depth, alpha, beta, ply + 1, limit);
            self.position.unmake();
            self.extend_line(ply, &frame.joint);
            return Found { reach: found.reach + 1, ..found };
        }
        // Step 2. The end of the line.
        let mut depth = depth;
        if ply as u32 >= self.hard_depth {
            return self.judge(ply);
        }
        if depth == 0 {
            if !self.is_doubted(ply) {
                return self.judge(ply);
            }
            depth = 1;
        }
        if depth == 1 && self.settings.doubts {
            self.estimate(ply);
            self.own[ply] = ours > 1;
        }
        // Step 3. What is remembered.
        let key = self.key();
        let is_blind = |entry: &Entry| entry.reach < u8::MAX && ply as u32 + u32::from(entry.reach) <= self.clean;
        let entry = self.table.get(key).filter(|entry| !self.without_counters || is_blind(entry));
        if let Some(entry) = &entry
            && u32::from(entry.depth) >= depth
        {
            let score = from_table(entry.score, ply);
            let usable = match entry.bound {
                Bound::Exact => true,
                Bound::Lower => score >= beta,
                Bound::Upper => score <= alpha,
            };
            if usable {
                return Found { score, complete: entry.depth == Entry::COMPLETE, reach: entry.reach.into() };
            }
        }
        // Step 4. The moves, in a promising order.
        if others > 0 && self.is_matrix(&frame.legal, ply) {
            let Some((found, _)) = self.matrix(&frame.legal, depth, ply, limit) else {
                return Found::NOTHING;
            };
            self.remember(key, ply, depth, found, u32::MAX, Bound::Exact);
            return found;
        }
        self.opened += 1;
        let maximize = ours > 1;
        let n = if maximize { ours } else { product };
        let first = entry.map_or(u32::MAX, |entry| entry.best);
        let chooser = (0..n_roles).find(|&role| frame.legal[role].len() > 1 && self.allied[role] == maximize);
        let simple = self.settings.ordering && if maximize { allies == 1 } else { others == 1 };
        frame.order.clear();
        for place in 0..n as u32 {
            let mut rank = 0;
            if place == first {
                rank = u32::MAX;
            } else if simple {
                let chosen = frame.legal[chooser.expect("somebody has a choice")][place as usize];
                let killers = &self.killers[ply];
                rank = match chosen {
                    _ if chosen == killers[0] => u32::MAX - 1,
                    _ if chosen == killers[1] => u32::MAX - 2,
                    _ => self.history[chosen as usize],
                };
            }
            frame.order.push((rank, place));
        }
        frame.order.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        // Step 5. Search them.
        let sign = if maximize { 1 } else { -1 };
        // From here on, scores are the chooser's: to be maximised.
        let (mut low, high) = if maximize { (alpha, beta) } else { (-beta, -alpha) };
        let (from, mut best, mut best_place) = (low, -INFINITE, u32::MAX);
        let (mut all_complete, mut best_complete, mut reach) = (true, true, 0);
        let order = std::mem::take(&mut frame.order);
        for (at, &(_, place)) in order.iter().enumerate() {
            let mut found = Found::NOTHING;
            // Moves that come late are first searched less deep, and with the least window.
            let reduced = self.settings.reductions && at >= 4 && depth >= 3;
            let mut wanted = at == 0;
            if !wanted {
                let depth = if reduced { depth - 1 } else { depth };
                found = self.child(frame, maximize, others, place, depth, (low, low + 1), ply, limit);
                if reduced && self.stopped.is_none() && sign * found.score > low {
                    found = self.child(frame, maximize, others, place, depth + 1, (low, low + 1), ply, limit);
                }
                wanted = sign * found.score > low && high > low + 1;
            }
            if wanted && self.stopped.is_none() {
                found = self.child(frame, maximize, others, place, depth, (low, high), ply, limit);
            }
            if self.stopped.is_some() {
                break;
            }
            all_complete &= found.complete;
            reach = reach.max(found.reach);
            let score = sign * found.score;
            if score > best {
                (best, best_complete) = (score, found.complete);
                best_place = place;
                if score > low {
                    low = score;
                    let line = std::mem::take(&mut self.lines[ply + 1]);
                    self.lines[ply].clear();
                    self.lines[ply].push(frame.joint.clone());
                    self.lines[ply].extend_from_slice(&line);
                    self.lines[ply + 1] = line;
                }
            }
            if low >= high {
                if simple {
                    let chosen = frame.legal[chooser.expect("somebody has a choice")][place as usize];
                    let killers = &mut self.killers[ply];
                    if killers[0] != chosen {
                        *killers = [chosen, killers[0]];
                    }
                    let count = &mut self.history[chosen as usize];
                    *count = (*count + depth * depth).min(1 << 28);
                }
                break;
            }
        }
        frame.order = order;
        if self.stopped.is_some() {
            return Found::NOTHING;
        }
        // Step 6. Remember.
        let complete = if best >= high { best_complete } else { all_complete };
        let bound = match (best >= high, best <= from) {
            (true, _) => {
                if maximize {
                    Bound::Lower
                } else {
                    Bound::Upper
                }
            }
            (_, true) => {
                if maximize {
                    Bound::Upper
                } else {
                    Bound::Lower
                }
            }
            _ => Bound::Exact,
        };
        let found = Found { score: sign * best, complete, reach };
        self.remember(key, ply, depth, found, best_place, bound);
        found
    }

    fn remember(&mut self, key: u128, ply: usize, depth: u32, found: Found, best: u32, bound: Bound) {
        let reach = u8::try_from(found.reach).unwrap_or(u8::MAX);
        let depth = if found.complete { Entry::COMPLETE } else { depth as u8 };
        self.table.put(key, Entry { score: to_table(found.score, ply), best, depth, reach, bound });
    }

    /// Makes one of the moves of a state and gives its score. The window is the chooser's.
    #[allow(clippy::too_many_arguments)]
    fn child(
        &mut self,
        frame: &mut Frame,
        maximize: bool,
        others: usize,
        place: u32,
        depth: u32,
        window: (i32, i32),
        ply: usize,
        limit: &Limit,
    ) -> Found {
        let (alpha, beta) = if maximize { window } else { (-window.1, -window.0) };
        frame.joint.clear();
        let mut rest = place as usize;
        for (role, moves) in frame.legal.iter().enumerate() {
            if maximize == self.allied[role] && moves.len() > 1 {
                frame.joint.push(moves[rest % moves.len()]);
                rest /= moves.len();
            } else {
                frame.joint.push(moves[0]);
            }
        }
        if maximize && others > 0 {
            let allied = frame.joint.iter().copied().enumerate().filter(|&(role, _)| self.allied[role]);
            let given: Vec<(usize, u32)> = allied.collect();
            frame.joint.clear();
            // The reply is part of the line that is found; the best line so far is kept.
            let best = std::mem::take(&mut self.lines[ply]);
            let found = self.answer_to(&frame.legal, &given, depth, alpha, beta, ply, limit);
            let line = std::mem::replace(&mut self.lines[ply], best);
            if let Some((joint, rest)) = line.split_first() {
                frame.joint.extend_from_slice(joint);
                self.lines[ply + 1] = rest.to_vec();
            }
            return found;
        }
        self.position.make(&frame.joint);
        let found = self.visit(depth - 1, alpha, beta, ply + 1, limit);
        self.position.unmake();
        Found { reach: found.reach + 1, ..found }
    }

    fn extend_line(&mut self, ply: usize, joint: &[u32]) {
        let rest = std::mem::take(&mut self.lines[ply + 1]);
        self.lines[ply].clear();
        self.lines[ply].push(joint.to_vec());
        self.lines[ply].extend_from_slice(&rest);
        self.lines[ply + 1] = rest;
    }

    /// The match is over: the score of its result. One without a result is no proof of anything.
    fn end(&mut self, ply: usize) -> Found {
        let (least, most) = self.nature.range[self.role.0 as usize];
        let Some(goal) = self.position.goal(self.role) else {
            return Found { score: SCALE / 2, complete: false, reach: 0 };
        };
        let goal = goal as f32 / 100.0;
        let score = match goal {
            _ if goal >= most => WIN - ply as i32,
            _ if goal <= least => ply as i32 - WIN,
            _ => (goal * SCALE as f32).round() as i32,
        };
        Found { score, complete: true, reach: 0 }
    }

    /// The score of a state by its estimate.
    fn judge(&mut self, ply: usize) -> Found {
        Found { score: self.estimate(ply), complete: false, reach: 0 }
    }

    fn estimate(&mut self, ply: usize) -> i32 {
        if let Some(score) = self.estimates[ply] {
            return score;
        }
        self.judged += 1;
        let score = (self.position.estimate(self.role).clamp(0.0, 1.0) * SCALE as f32) as i32;
        self.estimates[ply] = Some(score);
        score
    }

    /// Whether the last move has changed the estimate so that it is not to be trusted.
    fn is_doubted(&mut self, ply: usize) -> bool {
        let room = ply as u32 + SLACK < self.hard_depth;
        if !self.settings.doubts || !room || ply < 2 {
            return false;
        }
        let Some(before) = self.estimates[ply - 1] else { return false };
        let change = self.estimate(ply) - before;
        self.doubt.is_due(if self.own[ply - 1] { change } else { -change })
    }

    fn key(&self) -> u128 {
        let machine = self.position.machine();
        // Scores are what one role gets; what the others get is remembered apart.
        let mut key = machine.hash() ^ u128::from(self.role.0).wrapping_mul(0xd6e8_feb8_6659_fd93_c2b2_ae3d_27d4_eb4f);
        if self.without_counters {
            let bits = machine.bits();
            for &fluent in &self.nature.counters.hidden {
                if bits[fluent as usize / 64] >> (fluent % 64) & 1 == 1 {
                    key ^= machine.compiled().key(fluent);
                }
            }
            key ^= 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834;
        }
        key
    }

    /// A score as a part of 100 points.
    pub(super) fn value(&self, score: i32) -> f32 {
        let (least, most) = self.nature.range[self.role.0 as usize];
        match score {
            _ if score >= SURE => most,
            _ if score <= -SURE => least,
            _ => score as f32 / SCALE as f32,
        }
    }
}

/// Scores of results count from the root; in the table they count from the state.
fn to_table(score: i32, ply: usize) -> i32 {
    match score {
        _ if score >= SURE => score + ply as i32,
        _ if score <= -SURE => score - ply as i32,
        _ => score,
    }
}

fn from_table(score: i32, ply: usize) -> i32 {
    match score {
        _ if score >= SURE => score - ply as i32,
        _ if score <= -SURE => score + ply as i32,
        _ => score,
    }
}

/// Calls `visit` with every way to choose one move of each list, the moves of some roles given, until it says `false`.
pub(super) fn for_each_joint(legal: &[Vec<u32>], given: &[(usize, u32)], mut visit: impl FnMut(&[u32]) -> bool) {
    let mut places = vec![0; legal.len()];
    let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
    let fixed = |role: usize| given.iter().any(|&(of, _)| of == role);
    given.iter().for_each(|&(role, chosen)| joint[role] = chosen);
    loop {
        if !visit(&joint) {
            return;
        }
        let Some(wheel) = (0..legal.len()).find(|&role| !fixed(role) && places[role] + 1 < legal[role].len()) else {
            return;
        };
        places[wheel] += 1;
        joint[wheel] = legal[wheel][places[wheel]];
        for role in (0..wheel).filter(|&role| !fixed(role)) {
            places[role] = 0;
            joint[role] = legal[role][0];
        }
    }
}
