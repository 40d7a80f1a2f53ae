//! Alpha-beta search on any position: iterative deepening, principal variations first (Marsland and Campbell 1982), a
//! transposition table, killer moves and the history heuristic (Schaeffer 1989), aspiration windows.
//!
//! There is one measure for all: what the searching role gets. It maximises it; all others are taken to minimise it
//! (*paranoid*, Sturtevant and Korf 2000), which for two roles with opposite interests is minimax; but those who always get what it
//! gets ([`crate::Nature::teams`]) maximise with it (Kuhlmann 2010). Where interests are not
//! opposite, [`Opponents::MaxN`] lets each role maximise its own result instead (Luckhardt and Irani 1986), at the price of
//! hardly any pruning. Where several roles move at once, either the others are taken to see our move, and what is found is what
//! we can be sure of without playing by chance; or the matrix of all joint moves is solved exactly, or the others are taken to move by
//! chance ([`Simultaneous`]).
//!
//! Exact results and estimates are kept apart (only the searching role's value is ever said to be proven; with [`Opponents::MaxN`],
//! all roles' values are, in the sense of [`max_n`]): the best and the worst result that the rules know count beyond any estimate, a
//! win the more the sooner it comes and a loss the later; and a line that was searched to its end is marked as such, so that it
//! is not searched again and its value is said to be proven. Moves of roles without a choice cost no depth.
//!
//! Counters ([`crate::nature::Counters`]) are left out of the table's keys while nothing in reach of the search can see them;
//! estimates that look at a counter are then taken from states that differ in it.
//!
//! Several threads can search at the same time ([`AlphaBeta::helped_by`]): each for itself, in another order, but with one table, so
//! that what one has found the others need not search.

mod doubt;
mod lines;
mod matrix;
mod max_n;
mod table;

use std::sync::Arc;

use machine::RoleId;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::nature::Nature;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::position::Position;
use crate::random::legal_moves;
use crate::together::together;
use doubt::Doubt;
use table::Table;

/// What the other roles are taken to want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opponents {
    /// As it fits the game: `MaxN` for two roles whose results do not have a constant sum, else `Paranoid`.
    Fitting,
    /// That we get little, but for our team.
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
    /// Where there are at most so many joint moves, our team makes the one that is best in the mean if the others choose by chance, all
    /// their joint moves alike (Kuhlmann 2010). Elsewhere, as if the others saw our move. What is called proven then rests on that.
    Uniform(usize),
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The greatest depth.
    pub depth: u32,
    /// Bytes of the transposition table; without any there is none.
    pub bytes: usize,
    /// What the other roles are taken to want.
    pub opponents: Opponents,
    /// What is made of moves at the same time.
    pub simultaneous: Simultaneous,
    /// Whether lines are searched further, by at most [`MAX_EXTENSION`] moves, where the last one has changed the estimate in a way after
    /// which estimates are mostly wrong, as the player learns by looking.
    pub doubts: bool,
    /// Whether moves that look bad are searched less deep at first.
    pub reductions: bool,
    /// Whether moves that were good elsewhere are searched first: killer moves and the history heuristic.
    pub ordering: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            depth: 100,
            bytes: 32 << 20,
            opponents: Opponents::Fitting,
            simultaneous: Simultaneous::Root(64),
            doubts: false,
            reductions: false,
            ordering: true,
        }
    }
}

/// By how many moves a line is extended while the estimate is doubted.
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
    /// Which roles are of its team.
    allied: Vec<bool>,
    /// For each move, how often it was best, deep lines counting more.
    history: Vec<u32>,
    killers: Vec<[u32; 2]>,
    frames: Vec<Frame>,
    /// For each ply, the line that is expected from there.
    lines: Vec<Vec<Vec<u32>>>,
    /// Estimates along the current line, and whether the searching role has a choice there.
    estimates: Vec<Option<i32>>,
    own: Vec<bool>,
    doubt: Doubt,
    /// How many joint moves the current iteration looks ahead at most.
    hard_depth: u32,
    /// Whether keys are without counters, and up to which reach entries may be used at the root.
    without_counters: bool,
    clean: u32,
    nodes: u64,
    judged: u64,
    opened: u64,
    stopped: Option<StopReason>,
    /// The depth of the first iteration.
    first_depth: u32,
    /// Those who search at the same time; they share the table.
    helpers: Vec<AlphaBeta<P>>,
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
    /// How many joint moves ahead was looked for it, now or when what is remembered was found.
    reach: u32,
}

impl Found {
    /// What is said when the search was stopped.
    const NOTHING: Found = Found { score: 0, complete: false, reach: 0 };
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
            allied: Vec::new(),
            history: vec![0; n_moves],
            killers: vec![[u32::MAX; 2]; MAX_PLY + 2],
            frames: (0..MAX_PLY + 2).map(|_| Frame::default()).collect(),
            lines: vec![Vec::new(); MAX_PLY + 3],
            estimates: vec![None; MAX_PLY + 2],
            own: vec![false; MAX_PLY + 2],
            doubt: Doubt::default(),
            hard_depth: 0,
            without_counters: false,
            clean: 0,
            nodes: 0,
            judged: 0,
            opened: 0,
            stopped: None,
            first_depth: 1,
            helpers: Vec::new(),
            position,
        }
    }

    /// The same player with one more thread, which needs a position of its own that judges alike. What is found then depends on how
    /// fast the threads are.
    pub fn helped_by(mut self, position: P) -> AlphaBeta<P> {
        let seed = self.random.random();
        let settings = Settings { bytes: 0, ..self.settings.clone() };
        let mut helper = AlphaBeta::new(position, self.nature.clone(), settings, seed);
        helper.table = self.table.clone();
        // Those who look ahead by one more are met by the others at the depth that they need next.
        helper.first_depth = 1 + (self.helpers.len() as u32 + 1) % 2;
        self.helpers.push(helper);
        self
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
        if self.helpers.is_empty() || self.is_max_n() {
            return self.search_alone(state, role, limit);
        }
        let mut helpers = std::mem::take(&mut self.helpers);
        let hands = std::iter::once(&mut *self).chain(&mut helpers);
        let mut hands: Vec<(&mut AlphaBeta<P>, Answer)> = hands.map(|hand| (hand, Answer::default())).collect();
        let stop = together(&mut hands, limit, |(hand, answer), limit| {
            *answer = hand.search_alone(state, role, limit);
            answer.stop
        });
        let answers: Vec<Answer> = hands.into_iter().map(|(_, answer)| answer).collect();
        self.helpers = helpers;
        let sum = |count: fn(&Answer) -> u64| answers.iter().map(count).sum();
        let counts = (sum(|answer| answer.nodes), sum(|answer| answer.judged), sum(|answer| answer.opened));
        let deepest = answers.into_iter().rev().max_by_key(|answer| (answer.proven, answer.depth));
        let mut answer = deepest.expect("there is a hand");
        (answer.nodes, answer.judged, answer.opened) = counts;
        answer.stop = stop;
        answer
    }

    fn search_alone(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
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
        if self.settings.doubts {
            self.learn_to_doubt(limit);
        }
        let mut moves: Vec<(u32, i32, u64)> = legal[role.0 as usize].iter().map(|&chosen| (chosen, 0, 0)).collect();
        moves.shuffle(&mut self.random);
        answer.stop = StopReason::Depth;
        let mut previous = Found { score: SCALE / 2, ..Found::NOTHING };
        let (mut strategy, mut root_score): (Option<Vec<(u32, f64)>>, Option<i32>) = (None, None);
        for depth in self.first_depth..=self.settings.depth.min(MAX_PLY as u32 - SLACK - MAX_EXTENSION - 2) {
            self.hard_depth = depth + SLACK + if self.settings.doubts { MAX_EXTENSION } else { 0 };
            self.without_counters = self.hard_depth <= self.clean;
            let found = if self.is_matrix(&legal, 0) {
                let found = self.matrix(&legal, depth, 0, limit);
                found.map(|(found, rows)| {
                    for (chosen, score, visits) in &mut moves {
                        let own = rows.iter().filter(|row| row.own(role) == *chosen);
                        *score = own.map(|row| row.mean).max().expect("it is a legal move");
                        *visits += 1;
                    }
                    moves.sort_by_key(|&(_, score, _)| std::cmp::Reverse(score));
                    root_score = Some(found.score);
                    strategy = Some(rows.iter().map(|row| (row.own(role), row.part)).collect());
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
            let drawn = strategy.iter().position(|(_, part)| {
                left -= part;
                left < 0.0
            });
            let chosen = strategy[drawn.unwrap_or(0)].0;
            let place = moves.iter().position(|entry| entry.0 == chosen).expect("it is a legal move");
            moves[..=place].rotate_right(1);
        }
        (answer.nodes, answer.judged, answer.opened) = (self.nodes, self.judged, self.opened);
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

    /// Forgets what was learned in a match, but for the table.
    fn forget(&mut self) {
        self.history.fill(0);
        self.doubt.clear();
    }

    fn prepare(&mut self, state: &[u64], role: RoleId) {
        self.role = role;
        let team = &self.nature.teams;
        self.allied = team.iter().map(|&of| of == team[role.0 as usize]).collect();
        self.table.grow_older();
        self.history.iter_mut().for_each(|count| *count /= 8);
        self.killers.fill([u32::MAX; 2]);
        self.estimates.fill(None);
        self.clean = self.nature.counters.clean(state);
        (self.nodes, self.judged, self.opened, self.stopped) = (0, 0, 0, None);
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
        let mut best = Found { score: -INFINITE, complete: true, reach: 0 };
        let mut all_complete = true;
        let mut low = alpha;
        for at in 0..moves.len() {
            let (chosen, _, visits) = moves[at];
            let before = self.nodes;
            let mut found = Found::NOTHING;
            if at > 0 && low > -INFINITE {
                found = self.first_move(legal, chosen, depth, low, low + 1, limit);
            }
            if self.stopped.is_none() && (at == 0 || low == -INFINITE || found.score > low && beta > low + 1) {
                found = self.first_move(legal, chosen, depth, low, beta, limit);
            }
            if self.stopped.is_some() {
                return None;
            }
            // A move that fails low is worth no more than its score; it is no win, however much that is.
            let score = if found.score <= low && found.score >= SURE { SCALE } else { found.score };
            moves[at] = (chosen, score, visits + self.nodes - before);
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
        Some(Found { complete, ..best })
    }
}

impl<P: Position> Player for AlphaBeta<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.search(state, role, limit)
    }

    // What was looked at is in the table.
    fn goes_on(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        self.table.clear();
        self.forget();
        self.helpers.iter_mut().for_each(AlphaBeta::forget);
    }
}

#[cfg(test)]
mod compared;
#[cfg(test)]
mod tests;
