//! Alpha-beta search on any position: iterative deepening, principal variations first (Marsland and Campbell 1982), a
//! transposition table, killer moves and the history heuristic (Schaeffer 1989), aspiration windows.
//!
//! There is one measure for all: what the searching role gets. It maximises it; all others are taken to minimise it
//! (*paranoid*, Sturtevant and Korf 2000), which for two roles with opposite interests is minimax. Where interests are not
//! opposite, [`Opponents::MaxN`] lets each role maximise its own result instead (Luckhardt and Irani 1986), at the price of
//! hardly any pruning. Where several roles move at once, either the others are taken to see our move, and what is found is what
//! we can be sure of without playing by chance; or the matrix of all joint moves is solved exactly ([`Simultaneous`]).
//!
//! Exact results and estimates are kept apart: the best and the worst result that the rules know count beyond any estimate, a
//! win the more the sooner it comes and a loss the later; and a line that was searched to its end is marked as such, so that it
//! is not searched again and its value is said to be proven. Moves of roles without a choice cost no depth.
//!
//! Counters ([`crate::nature::Counters`]) are left out of the table's keys while nothing in reach of the search can see them;
//! estimates that look at a counter are then taken from states that differ in it.

mod max_n;
mod table;

use std::sync::Arc;

use machine::RoleId;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::equilibrium::{self, Equilibrium};
use crate::nature::Nature;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::position::Position;
use crate::random::legal_moves;
use table::{Bound, Entry, Table};

/// What the other roles are taken to want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opponents {
    /// As it fits the game: `MaxN` for two roles whose results do not have a constant sum, else `Paranoid`.
    Fitting,
    /// That we get little.
    Paranoid,
    /// That they get much.
    MaxN,
}

/// What is made of moves at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simultaneous {
    /// The others see our move.
    Seen,
    /// Where there are at most so many joint moves, all of them are searched and the matrix is solved: what we get in the mean if
    /// both sides play their best by chance. Elsewhere, as if the others saw our move.
    Matrix(usize),
    /// The same for the first move of each line alone; below, the others see our moves.
    Root(usize),
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The greatest depth.
    pub depth: u32,
    /// Bytes of the transposition table.
    pub bytes: usize,
    /// What the other roles are taken to want.
    pub opponents: Opponents,
    /// What is made of moves at the same time.
    pub simultaneous: Simultaneous,
    /// How much an estimate may change by the last move before a line is searched further, as a part of 100 points; at most
    /// [`MAX_EXTENSION`] moves. `None`: never further.
    pub unstable: Option<f32>,
    /// Whether moves that look bad are searched less deep at first.
    pub reductions: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            depth: 100,
            bytes: 32 << 20,
            opponents: Opponents::Fitting,
            simultaneous: Simultaneous::Root(64),
            unstable: None,
            reductions: false,
        }
    }
}

/// By how many moves a line is extended while the estimate is unstable.
pub const MAX_EXTENSION: u32 = 4;
/// How many forced joint moves a line may have beyond its depth.
const SLACK: u32 = 16;
/// The deepest line.
const MAX_PLY: usize = 250;

/// An estimate of 1.
const SCALE: i32 = 10_000;
/// The best result, now.
const WIN: i32 = 1_000_000;
/// From here on, a score means the best result.
const SURE: i32 = WIN - 10_000;
const INFINITE: i32 = 2 * WIN;

/// A player by alpha-beta search.
pub struct AlphaBeta<P> {
    position: P,
    nature: Arc<Nature>,
    settings: Settings,
    table: Table,
    random: Pcg64Mcg,
    /// The role that searches.
    role: RoleId,
    /// For each move, how often it was best, deep lines counting more.
    history: Vec<u32>,
    killers: Vec<[u32; 2]>,
    frames: Vec<Frame>,
    /// For each ply, the line that is expected from there.
    lines: Vec<Vec<Vec<u32>>>,
    /// Estimates along the current line.
    estimates: Vec<Option<i32>>,
    /// How many joint moves the current iteration looks ahead at most.
    hard_depth: u32,
    /// Whether keys are without counters, and up to which reach entries may be used at the root.
    without_counters: bool,
    clean: u32,
    nodes: u64,
    stopped: Option<StopReason>,
}

/// Working memory of one ply.
#[derive(Debug, Default)]
struct Frame {
    legal: Vec<Vec<u32>>,
    order: Vec<(u32, u32)>,
    joint: Vec<u32>,
}

/// The score of a state, and whether it comes from lines searched to their ends.
#[derive(Clone, Copy, Debug)]
struct Found {
    score: i32,
    complete: bool,
}

impl<P: Position> AlphaBeta<P> {
    /// A player that judges by this position. The seed decides between equal moves.
    pub fn new(position: P, nature: Arc<Nature>, settings: Settings, seed: u64) -> AlphaBeta<P> {
        let n_moves = position.machine().network().moves.len();
        AlphaBeta {
            nature,
            table: Table::new(settings.bytes),
            settings,
            random: Pcg64Mcg::seed_from_u64(seed),
            role: RoleId(0),
            history: vec![0; n_moves],
            killers: vec![[u32::MAX; 2]; MAX_PLY + 2],
            frames: (0..MAX_PLY + 2).map(|_| Frame::default()).collect(),
            lines: vec![Vec::new(); MAX_PLY + 3],
            estimates: vec![None; MAX_PLY + 2],
            hard_depth: 0,
            without_counters: false,
            clean: 0,
            nodes: 0,
            stopped: None,
            position,
        }
    }

    /// The position, to change what it thinks; what was remembered is then best forgotten ([`Player::begin`]).
    pub fn position(&mut self) -> &mut P {
        &mut self.position
    }

    fn is_max_n(&self) -> bool {
        match self.settings.opponents {
            Opponents::Paranoid => false,
            Opponents::MaxN => true,
            Opponents::Fitting => self.nature.range.len() == 2 && !self.nature.constant_sum,
        }
    }

    /// Searches for a role from a state.
    pub fn search(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.position.jump(state);
        let legal = legal_moves(self.position.machine());
        let mut answer = Answer { joint: legal.iter().map(|moves| moves[0]).collect(), ..Answer::default() };
        answer.values = vec![f32::NAN; legal.len()];
        answer.moves = vec![Vec::new(); legal.len()];
        if legal[role.0 as usize].len() == 1 {
            return answer;
        }
        if self.is_max_n() {
            return max_n::search(
                &mut self.position,
                &self.nature,
                &self.settings,
                role,
                legal,
                &mut self.random,
                limit,
            );
        }
        self.prepare(state, role);
        let mut moves: Vec<(u32, i32, u64)> = legal[role.0 as usize].iter().map(|&chosen| (chosen, 0, 0)).collect();
        moves.shuffle(&mut self.random);
        answer.stop = StopReason::Depth;
        let mut previous = Found { score: SCALE / 2, complete: false };
        let (mut strategy, mut root_score): (Option<Vec<f64>>, Option<i32>) = (None, None);
        for depth in 1..=self.settings.depth.min(MAX_PLY as u32 - SLACK - MAX_EXTENSION - 2) {
            self.hard_depth = depth + SLACK + if self.settings.unstable.is_some() { MAX_EXTENSION } else { 0 };
            self.without_counters = self.hard_depth <= self.clean;
            let found = if self.is_matrix(&legal, 0) {
                let found = self.matrix(&legal, depth, 0, limit);
                found.map(|(found, equilibrium, scores)| {
                    for (chosen, score, visits) in &mut moves {
                        let place = legal[role.0 as usize].iter().position(|other| other == chosen);
                        *score = scores[place.expect("it is a legal move")];
                        *visits += 1;
                    }
                    moves.sort_by_key(|&(_, score, _)| std::cmp::Reverse(score));
                    root_score = Some(found.score);
                    strategy = Some(equilibrium.rows);
                    found
                })
            } else {
                self.iterate(depth, previous.score, &mut moves, &legal, limit, &mut answer)
            };
            let Some(found) = found else {
                answer.stop = self.stopped.expect("it was stopped");
                break;
            };
            previous = found;
            answer.depth = depth;
            if found.complete || found.score.abs() >= SURE {
                answer.stop = StopReason::Solved;
                answer.proven = true;
                break;
            }
        }
        if let Some(strategy) = &strategy {
            // A move is drawn as the strategy says; it comes first.
            let mut left: f64 = self.random.random();
            let drawn = strategy.iter().position(|part| {
                left -= part;
                left < 0.0
            });
            let chosen = legal[role.0 as usize][drawn.unwrap_or(0)];
            let place = moves.iter().position(|entry| entry.0 == chosen).expect("it is a legal move");
            moves[..=place].rotate_right(1);
        }
        answer.nodes = self.nodes;
        let value = |score: i32| self.value(score);
        answer.values[role.0 as usize] = value(root_score.unwrap_or(moves[0].1));
        if let ([_, _], true) = (&answer.values[..], self.nature.constant_sum) {
            let sum = self.nature.range[0].0 + self.nature.range[1].1;
            answer.values[1 - role.0 as usize] = sum - answer.values[role.0 as usize];
        }
        let report = |&(chosen, score, visits): &(u32, i32, u64)| MoveReport {
            chosen,
            visits,
            value: value(score),
            proven: score.abs() >= SURE,
        };
        answer.moves[role.0 as usize] = moves.iter().map(report).collect();
        answer.joint[role.0 as usize] = moves[0].0;
        answer
    }

    fn prepare(&mut self, state: &[u64], role: RoleId) {
        self.role = role;
        self.table.grow_older();
        self.history.iter_mut().for_each(|count| *count /= 8);
        self.killers.fill([u32::MAX; 2]);
        self.estimates.fill(None);
        self.clean = self.nature.counters.clean(state);
        (self.nodes, self.stopped) = (0, None);
    }

    /// One iteration: the root's moves are put in order, best first. `None` if it was stopped; what it had found by then is
    /// in the order.
    fn iterate(
        &mut self,
        depth: u32,
        expected: i32,
        moves: &mut [(u32, i32, u64)],
        legal: &[Vec<u32>],
        limit: &Limit,
        answer: &mut Answer,
    ) -> Option<Found> {
        /// Half the width of the first window.
        const WINDOW: i32 = 400;
        let (mut alpha, mut beta) = (-INFINITE, INFINITE);
        if depth >= 3 && expected.abs() < SURE {
            (alpha, beta) = (expected - WINDOW, expected + WINDOW);
        }
        loop {
            let found = self.root(depth, alpha, beta, moves, legal, limit, answer)?;
            if found.score <= alpha && alpha > -INFINITE {
                alpha = -INFINITE;
            } else if found.score >= beta && beta < INFINITE {
                beta = INFINITE;
            } else {
                return Some(found);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn root(
        &mut self,
        depth: u32,
        alpha: i32,
        beta: i32,
        moves: &mut [(u32, i32, u64)],
        legal: &[Vec<u32>],
        limit: &Limit,
        answer: &mut Answer,
    ) -> Option<Found> {
        let own = self.role.0 as usize;
        let mut best = Found { score: -INFINITE, complete: true };
        let mut all_complete = true;
        let mut low = alpha;
        for at in 0..moves.len() {
            let (chosen, _, visits) = moves[at];
            let before = self.nodes;
            let mut found = Found { score: 0, complete: false };
            if at > 0 && low > -INFINITE {
                found = self.answer_to(legal, chosen, depth, low, low + 1, 0, limit);
            }
            if self.stopped.is_none() && (at == 0 || low == -INFINITE || found.score > low && beta > low + 1) {
                found = self.answer_to(legal, chosen, depth, low, beta, 0, limit);
            }
            if self.stopped.is_some() {
                return None;
            }
            moves[at] = (chosen, found.score, visits + self.nodes - before);
            all_complete &= found.complete;
            if found.score > best.score {
                best = found;
                // A move that fails low says nothing about the order.
                if found.score > low || at == 0 {
                    low = low.max(found.score);
                    moves[..=at].rotate_right(1);
                    if found.score > alpha {
                        answer.joint[own] = chosen;
                        answer.line = std::mem::take(&mut self.lines[0]);
                    }
                }
            }
            if low >= beta {
                break;
            }
        }
        let complete = if best.score >= SURE { best.complete } else { all_complete };
        Some(Found { score: best.score, complete })
    }

    /// Whether the moves made at the same time are few enough to be looked at together.
    fn is_matrix(&self, legal: &[Vec<u32>], ply: usize) -> bool {
        let most = match self.settings.simultaneous {
            Simultaneous::Matrix(most) => most,
            Simultaneous::Root(most) if ply == 0 => most,
            _ => return false,
        };
        let own = self.role.0 as usize;
        let product = legal.iter().map(Vec::len).fold(1, usize::saturating_mul);
        legal[own].len() > 1 && product > legal[own].len() && product <= most
    }

    /// Searches all joint moves and solves their matrix; the score, the solution, and the mean score of each of our moves
    /// against it. `None` if it was stopped.
    fn matrix(
        &mut self,
        legal: &[Vec<u32>],
        depth: u32,
        ply: usize,
        limit: &Limit,
    ) -> Option<(Found, Equilibrium, Vec<i32>)> {
        let own = self.role.0 as usize;
        // Step 1. The scores.
        let mut scores: Vec<Vec<i32>> = Vec::new();
        let mut complete = true;
        for &chosen in &legal[own] {
            let mut row = Vec::new();
            for_each_joint(legal, Some((own, chosen)), |joint| {
                self.position.make(joint);
                let found = self.visit(depth - 1, -INFINITE, INFINITE, ply + 1, limit);
                self.position.unmake();
                complete &= found.complete;
                row.push(found.score);
                self.stopped.is_none()
            });
            if self.stopped.is_some() {
                return None;
            }
            scores.push(row);
        }
        self.lines[ply].clear();
        // Step 2. The solution. Results count as what they are worth, a win a little more the sooner it comes.
        let (least, most) = self.nature.range[own];
        let worth = |score: i32| match score {
            _ if score >= SURE => f64::from(most) * f64::from(SCALE) + f64::from(score - WIN) / 100.0,
            _ if score <= -SURE => f64::from(least) * f64::from(SCALE) + f64::from(score + WIN) / 100.0,
            _ => f64::from(score),
        };
        let payoff: Vec<Vec<f64>> = scores.iter().map(|row| row.iter().map(|&score| worth(score)).collect()).collect();
        let equilibrium = equilibrium::solve(&payoff);
        // Step 3. Where one side has a move that is sure to win, so is the score.
        let sure = scores.iter().filter_map(|row| row.iter().min()).max().filter(|&&score| score >= SURE);
        let n_columns = scores[0].len();
        let worst = (0..n_columns).filter_map(|column| scores.iter().map(|row| row[column]).max()).min();
        let lost = worst.filter(|&score| score <= -SURE);
        let score = sure.copied().or(lost).unwrap_or(equilibrium.value.round() as i32);
        let means = payoff.iter().map(|row| {
            let mean: f64 = row.iter().zip(&equilibrium.columns).map(|(payoff, part)| payoff * part).sum();
            mean.round() as i32
        });
        let means = means.collect();
        Some((Found { score, complete }, equilibrium, means))
    }

    /// What a move of ours leads to, at the worst of what the others do at the same time.
    #[allow(clippy::too_many_arguments)]
    fn answer_to(
        &mut self,
        legal: &[Vec<u32>],
        chosen: u32,
        depth: u32,
        alpha: i32,
        beta: i32,
        ply: usize,
        limit: &Limit,
    ) -> Found {
        let own = self.role.0 as usize;
        let mut best = Found { score: INFINITE, complete: true };
        let mut high = beta;
        let mut line = Vec::new();
        for_each_joint(legal, Some((own, chosen)), |joint| {
            self.position.make(joint);
            let found = self.visit(depth - 1, alpha, high, ply + 1, limit);
            self.position.unmake();
            if self.stopped.is_some() {
                return false;
            }
            if found.score < best.score {
                let complete = best.complete;
                best = found;
                best.complete &= complete;
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
    fn visit(&mut self, depth: u32, alpha: i32, beta: i32, ply: usize, limit: &Limit) -> Found {
        self.lines[ply].clear();
        self.nodes += 1;
        if self.nodes >= limit.nodes {
            self.stopped = Some(StopReason::Nodes);
        } else if self.nodes.is_multiple_of(8) && (limit.stop)() {
            self.stopped = Some(StopReason::Stopped);
        }
        if self.stopped.is_some() {
            return Found { score: 0, complete: false };
        }
        if self.position.machine().terminal() {
            return Found { score: self.result(ply), complete: true };
        }
        self.estimates[ply] = None;
        let mut frame = std::mem::take(&mut self.frames[ply]);
        let found = self.expand(&mut frame, depth, alpha, beta, ply, limit);
        self.frames[ply] = frame;
        found
    }

    fn expand(&mut self, frame: &mut Frame, depth: u32, alpha: i32, beta: i32, ply: usize, limit: &Limit) -> Found {
        // Step 1. Who has a choice.
        let own = self.role.0 as usize;
        let n_roles = self.nature.range.len();
        frame.legal.resize(n_roles, Vec::new());
        let (mut others, mut product) = (0, 1usize);
        for (role, moves) in frame.legal.iter_mut().enumerate() {
            moves.clear();
            self.position.machine().legal_moves(RoleId(role as u32), moves);
            moves.sort_unstable();
            if moves.is_empty() {
                return Found { score: self.result(ply), complete: true };
            }
            if role != own && moves.len() > 1 {
                others += 1;
                product = product.saturating_mul(moves.len());
            }
        }
        let ours = frame.legal[own].len();
        if ours == 1 && others == 0 {
            frame.joint.clear();
            frame.joint.extend(frame.legal.iter().map(|moves| moves[0]));
            if ply as u32 >= self.hard_depth {
                return self.judge(ply);
            }
            self.position.make(&frame.joint);
            let found = self.visit(depth, alpha, beta, ply + 1, limit);
            self.position.unmake();
            self.extend_line(ply, &frame.joint);
            return found;
        }
        // Step 2. The end of the line.
        let mut depth = depth;
        if depth == 0 {
            if !self.is_unstable(ply) {
                return self.judge(ply);
            }
            depth = 1;
        }
        if depth == 1 && self.settings.unstable.is_some() {
            self.estimate(ply);
        }
        // Step 3. What is remembered.
        let key = self.key();
        let entry = self
            .table
            .get(key)
            .filter(|entry| !self.without_counters || ply as u32 + u32::from(entry.reach) <= self.clean);
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
                return Found { score, complete: entry.depth == Entry::COMPLETE };
            }
        }
        // Step 4. The moves, in a promising order.
        if others > 0 && self.is_matrix(&frame.legal, ply) {
            let Some((found, ..)) = self.matrix(&frame.legal, depth, ply, limit) else {
                return Found { score: 0, complete: false };
            };
            let reach = self.hard_depth.saturating_sub(ply as u32) as u16;
            let depth = if found.complete { Entry::COMPLETE } else { depth as u8 };
            self.table.put(key, to_table(found.score, ply), u32::MAX, depth, reach, Bound::Exact);
            return found;
        }
        let maximize = ours > 1;
        let n = if maximize { ours } else { product };
        let first = entry.map_or(u32::MAX, |entry| entry.best);
        let chooser = (0..n_roles).find(|&role| frame.legal[role].len() > 1 && (role == own) == maximize);
        let simple = maximize || others == 1;
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
        let (mut all_complete, mut best_complete) = (true, true);
        let order = std::mem::take(&mut frame.order);
        for (at, &(_, place)) in order.iter().enumerate() {
            let mut found = Found { score: 0, complete: false };
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
            return Found { score: 0, complete: false };
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
        let score = sign * best;
        let reach = self.hard_depth.saturating_sub(ply as u32) as u16;
        let depth = if complete { Entry::COMPLETE } else { depth as u8 };
        self.table.put(key, to_table(score, ply), best_place, depth, reach, bound);
        Found { score, complete }
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
        let own = self.role.0 as usize;
        let (alpha, beta) = if maximize { window } else { (-window.1, -window.0) };
        frame.joint.clear();
        if maximize && others > 0 {
            let chosen = frame.legal[own][place as usize];
            let found = self.answer_to(&frame.legal, chosen, depth, alpha, beta, ply, limit);
            // The reply is part of the line that was found.
            let line = std::mem::take(&mut self.lines[ply]);
            if let Some((joint, rest)) = line.split_first() {
                frame.joint.extend_from_slice(joint);
                self.lines[ply + 1] = rest.to_vec();
            }
            return found;
        }
        let mut rest = place as usize;
        for (role, moves) in frame.legal.iter().enumerate() {
            if maximize == (role == own) && moves.len() > 1 {
                frame.joint.push(moves[rest % moves.len()]);
                rest /= moves.len();
            } else {
                frame.joint.push(moves[0]);
            }
        }
        self.position.make(&frame.joint);
        let found = self.visit(depth - 1, alpha, beta, ply + 1, limit);
        self.position.unmake();
        found
    }

    fn extend_line(&mut self, ply: usize, joint: &[u32]) {
        let rest = std::mem::take(&mut self.lines[ply + 1]);
        self.lines[ply].clear();
        self.lines[ply].push(joint.to_vec());
        self.lines[ply].extend_from_slice(&rest);
        self.lines[ply + 1] = rest;
    }

    /// The score of a result.
    fn result(&mut self, ply: usize) -> i32 {
        let (least, most) = self.nature.range[self.role.0 as usize];
        let Some(goal) = self.position.goal(self.role) else { return SCALE / 2 };
        let goal = goal as f32 / 100.0;
        match goal {
            _ if goal >= most => WIN - ply as i32,
            _ if goal <= least => ply as i32 - WIN,
            _ => (goal * SCALE as f32) as i32,
        }
    }

    /// The score of a state by its estimate.
    fn judge(&mut self, ply: usize) -> Found {
        Found { score: self.estimate(ply), complete: false }
    }

    fn estimate(&mut self, ply: usize) -> i32 {
        if let Some(score) = self.estimates[ply] {
            return score;
        }
        let score = (self.position.estimate(self.role).clamp(0.0, 1.0) * SCALE as f32) as i32;
        self.estimates[ply] = Some(score);
        score
    }

    /// Whether the last move has changed the estimate by much.
    fn is_unstable(&mut self, ply: usize) -> bool {
        let Some(most) = self.settings.unstable else { return false };
        let room = ply as u32 + SLACK < self.hard_depth;
        if !room || ply < 2 {
            return false;
        }
        let Some(before) = self.estimates[ply - 1] else { return false };
        (self.estimate(ply) - before).abs() as f32 > most * SCALE as f32
    }

    fn key(&self) -> u128 {
        let machine = self.position.machine();
        // Scores are what one role gets; what the others get is remembered apart.
        let mut key = machine.hash() ^ u128::from(self.role.0).wrapping_mul(0xd6e8_feb8_6659_fd93_c2b2_ae3d_27d4_eb4f);
        if self.without_counters {
            let bits = machine.bits();
            for &fluent in &self.nature.counters.fluents {
                if bits[fluent as usize / 64] >> (fluent % 64) & 1 == 1 {
                    key ^= machine.compiled().key(fluent);
                }
            }
            key ^= 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834;
        }
        key
    }

    /// A score as a part of 100 points.
    fn value(&self, score: i32) -> f32 {
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

/// Calls `visit` with every way to choose one move of each list, one role's move given, until it says `false`.
fn for_each_joint(legal: &[Vec<u32>], given: Option<(usize, u32)>, mut visit: impl FnMut(&[u32]) -> bool) {
    let mut places = vec![0; legal.len()];
    let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
    let fixed = |role: usize| given.is_some_and(|(of, _)| of == role);
    if let Some((role, chosen)) = given {
        joint[role] = chosen;
    }
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

impl<P: Position> Player for AlphaBeta<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.search(state, role, limit)
    }

    fn begin(&mut self) {
        self.table.clear();
        self.history.fill(0);
    }
}

#[cfg(test)]
mod tests;
