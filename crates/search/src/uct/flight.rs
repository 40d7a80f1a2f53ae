//! Playouts under way, one in each lane.

use machine::RoleId;
use machine::lanes::{LANES, Vector};

use super::tree::{End, NONE, Path};
use super::{Best, Found, Hand, Plan};
use crate::player::{Limit, StopReason};
use crate::together::Turns;

/// What threads share while they search.
type Shared<'a> = Turns<&'a mut Found>;

/// A search that is running, in one thread.
pub(super) struct Flight<'a> {
    hand: &'a mut Hand,
    plan: &'a Plan,
    /// How many threads there are.
    n_hands: usize,
    /// The lanes that a playout may be in.
    idle: Vec<usize>,
    /// The lanes that stand in the tree's last node and will leave the tree by a given joint move.
    leaving: Vector,
    /// The lanes that have just left the tree.
    fresh: Vector,
    /// The lanes that play by chance.
    playing: Vector,
    paths: Vec<Path>,
    /// The step at which each lane left the tree.
    left_at: Vec<u32>,
    step: u32,
    /// For each lane and role, a result.
    results: Vec<f32>,
    /// The lanes whose last results are no results of matches, but stand for them.
    without: Vector,
    /// What an evaluation says of some states.
    values: Vec<f32>,
    /// For each lane and role, what it said of the state that left the tree; NaN if nothing.
    judged: Vec<f32>,
    /// For one role alone: each step's moves.
    record: Option<Record>,
    /// For each move, the lanes whose playout has it; nothing if nobody asks.
    made: Vec<Vector>,
    /// States that have not been counted with those of all threads.
    n_states: u64,
}

impl<'a> Flight<'a> {
    pub(super) fn new(hand: &'a mut Hand, plan: &'a Plan, n_hands: usize) -> Flight<'a> {
        let n_roles = plan.rule.range.len();
        let n_moves = hand.lanes.network().moves.len();
        let is_alone = n_roles == 1 && hand.evaluation.is_none();
        Flight {
            plan,
            n_hands,
            idle: (0..LANES).rev().collect(),
            leaving: Vector::ZERO,
            fresh: Vector::ZERO,
            playing: Vector::ZERO,
            paths: vec![Path::default(); LANES],
            left_at: vec![0; LANES],
            step: 0,
            results: vec![0.0; LANES * n_roles],
            without: Vector::ZERO,
            values: Vec::new(),
            judged: vec![f32::NAN; LANES * n_roles],
            record: is_alone.then(|| Record::new(n_moves, plan.settings.cap as usize)),
            made: if plan.settings.rave.is_some() { vec![Vector::ZERO; n_moves] } else { Vec::new() },
            n_states: 0,
            hand,
        }
    }

    /// Plays until the limit is reached or the root is decided.
    pub(super) fn run(&mut self, shared: &Shared, limit: &Limit) -> StopReason {
        let reason = loop {
            let mut found = shared.take();
            let is_solved = found.best.as_ref().is_some_and(|best| best.value >= self.plan.rule.range[0].1);
            if is_solved || found.tree.nodes[0].exact != NONE {
                break StopReason::Solved;
            }
            if found.n_playouts >= limit.nodes {
                break StopReason::Nodes;
            }
            if (limit.stop)() {
                break StopReason::Stopped;
            }
            self.refill(&mut found, limit.nodes);
            drop(found);
            self.advance(shared);
        };
        let under_way = self.leaving | self.fresh | self.playing;
        let mut found = shared.take();
        found.n_states += self.n_states;
        under_way.lanes().for_each(|lane| found.tree.forget(&self.paths[lane]));
        reason
    }

    /// Sends idle lanes down the tree, if there are enough of them.
    fn refill(&mut self, found: &mut Found, n_playouts: u64) {
        let (least, most) = (self.plan.least_width, self.plan.settings.width.1.min(LANES));
        let share = self.plan.settings.share * self.n_hands;
        let width = (found.tree.nodes[0].n as usize / share).clamp(least, most);
        let busy = LANES - self.idle.len();
        // What is left to be played bounds the number under way, so that a small limit is not overrun.
        let left = (n_playouts - found.n_playouts).min((LANES * self.n_hands) as u64) as usize;
        let wanted = width.saturating_sub(busy).min(left.saturating_sub(found.n_under_way));
        if wanted == 0 || wanted < (width / 8).min(left) {
            return;
        }
        // Ways that end at an exact result need no lane; there may be many.
        let mut n_tries = 4 * wanted;
        let mut n_sent = 0;
        while n_sent < wanted && n_tries > 0 {
            n_tries -= 1;
            let lane = *self.idle.last().expect("a lane is idle");
            let path = &mut self.paths[lane];
            match found.tree.descend(&self.plan.rule, &mut found.turn, path) {
                End::Exact(node) => {
                    let results = found.tree.exact(node).expect("it is exact").to_vec();
                    found.tree.learn(path, &results);
                    found.n_playouts += 1;
                    if path.nodes.len() == 1 || found.n_playouts >= n_playouts {
                        break;
                    }
                }
                End::New => {
                    self.idle.pop();
                    self.leaving.set(lane, true);
                    n_sent += 1;
                }
            }
        }
        found.n_under_way += n_sent;
        let last = |lane: usize| *self.paths[lane].nodes.last().expect("a path begins at the root");
        let states: Vec<(usize, &[u64])> =
            self.leaving.lanes().map(|lane| (lane, found.tree.state(last(lane)))).collect();
        self.hand.lanes.load_some(&states);
    }

    /// One joint move in every lane.
    fn advance(&mut self, shared: &Shared) {
        if (self.leaving | self.fresh | self.playing).is_zero() {
            // The other threads have all that there is to do.
            std::thread::yield_now();
            return;
        }
        self.hand.lanes.evaluate();
        let terminal = self.hand.lanes.lanes_where(self.hand.lanes.network().terminal);
        let over = terminal & (self.playing | self.fresh);
        if !over.is_zero() {
            self.judge(over);
        }
        // Step 1. States that were just met become nodes, and playouts come back.
        let mut back = over;
        let met = (!self.fresh.is_zero()).then(|| self.meet(terminal));
        if met.is_some() && self.hand.evaluation.is_some() && self.plan.settings.playout == 0.0 {
            back = back | self.fresh;
        }
        if met.is_some() || !back.is_zero() {
            let found = &mut shared.take();
            if let Some(met) = met {
                self.expand(found, &met, terminal);
            }
            self.playing = self.playing | self.fresh;
            self.fresh = Vector::ZERO;
            self.come_back(found, back);
        }
        // Step 2. Moves by chance; given ones for lanes that leave the tree.
        let n_roles = self.plan.rule.range.len();
        let mut stuck = Vector::ZERO;
        for role in (0..n_roles as u32).filter(|_| !self.playing.is_zero()) {
            stuck = stuck | self.hand.lanes.choose(&mut self.hand.random, RoleId(role));
        }
        stuck = stuck & self.playing;
        if self.step % 64 == 63 {
            for lane in self.playing.lanes().collect::<Vec<_>>() {
                if self.step - self.left_at[lane] > self.plan.settings.cap {
                    stuck.set(lane, true);
                }
            }
        }
        if !stuck.is_zero() {
            self.judge(stuck);
            self.come_back(&mut shared.take(), stuck);
        }
        if let Some(record) = &mut self.record {
            record.note(self.step, |chosen| self.hand.lanes.is_made(chosen));
        }
        if !self.leaving.is_zero() {
            let paths = &self.paths;
            let moves =
                self.leaving.lanes().flat_map(|lane| paths[lane].joint.iter().map(move |&chosen| (lane, chosen)));
            self.hand.lanes.replace_moves(self.leaving, moves);
        }
        if !self.made.is_empty() {
            for (chosen, made) in (0u32..).zip(&mut self.made) {
                *made = *made & !self.leaving | self.hand.lanes.is_made(chosen);
            }
            for lane in self.leaving.lanes() {
                self.paths[lane].made.iter().for_each(|&chosen| self.made[chosen as usize].set(lane, true));
            }
        }
        self.hand.lanes.advance();
        self.n_states += u64::from((self.playing | self.leaving).count());
        self.fresh = self.leaving;
        self.leaving = Vector::ZERO;
        self.step += 1;
    }

    /// Looks at the states in fresh lanes, and judges them if there is an evaluation.
    fn meet(&mut self, terminal: Vector) -> Met {
        let n_fresh = self.fresh.count() as usize;
        let mut states = Vec::new();
        self.hand.lanes.store_some(self.fresh, &mut states);
        let n_words = states.len() / n_fresh;
        let mut legal: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n_fresh];
        let mut place = [0u16; LANES];
        self.fresh.lanes().zip(0..).for_each(|(lane, at)| place[lane] = at);
        let open = self.fresh & !terminal;
        let network = self.hand.lanes.network();
        for (role, moves) in (0u32..).zip(&network.moves_of) {
            for chosen in moves.clone() {
                let lanes = self.hand.lanes.lanes_where(network.legal[chosen as usize]) & open;
                if !lanes.is_zero() {
                    lanes.lanes().for_each(|lane| legal[usize::from(place[lane])].push((role, chosen)));
                }
            }
        }
        let n_roles = self.plan.rule.range.len();
        if let Some(evaluation) = &mut self.hand.evaluation {
            let of = |lane: usize| usize::from(place[lane]) * n_words..(usize::from(place[lane]) + 1) * n_words;
            let open_states: Vec<&[u64]> = open.lanes().map(|lane| &states[of(lane)]).collect();
            self.values.clear();
            evaluation.values(&open_states, &mut self.values);
            for (lane, values) in open.lanes().zip(self.values.chunks(n_roles)) {
                let own = lane * n_roles..(lane + 1) * n_roles;
                self.results[own.clone()].copy_from_slice(values);
                self.judged[own].copy_from_slice(values);
            }
            for lane in (self.fresh & terminal).lanes() {
                self.judged[lane * n_roles..(lane + 1) * n_roles].fill(f32::NAN);
            }
        }
        Met { states, legal }
    }

    /// Makes nodes of the states in fresh lanes, unless other lanes have come there before.
    fn expand(&mut self, found: &mut Found, met: &Met, terminal: Vector) {
        let n_roles = self.plan.rule.range.len();
        let full = found.tree.bytes() >= self.plan.settings.bytes;
        let tree = &mut found.tree;
        let n_words = met.states.len() / met.legal.len();
        for ((at, lane), legal) in self.fresh.lanes().enumerate().zip(&met.legal) {
            let path = &mut self.paths[lane];
            self.left_at[lane] = self.step;
            let mut child = tree.after(path);
            if child == NONE {
                if full && !terminal.get(lane) {
                    continue;
                }
                child = tree.add_node(&met.states[at * n_words..(at + 1) * n_words]);
                for &(role, chosen) in legal {
                    tree.add_arm(role as usize, chosen);
                }
                tree.link(path, child);
                let is_stuck = (0..n_roles).any(|role| tree.arms_of(child, role).is_empty());
                if is_stuck && !terminal.get(lane) {
                    self.results[lane * n_roles..(lane + 1) * n_roles].fill(0.5);
                }
                tree.unsure |= if terminal.get(lane) { self.without.get(lane) } else { is_stuck };
                if is_stuck || terminal.get(lane) {
                    tree.set_exact(child, &self.results[lane * n_roles..(lane + 1) * n_roles]);
                    tree.prove(path, child, &self.plan.rule);
                }
            }
            path.nodes.push(child);
            tree.nodes[child as usize].pending += 1;
        }
    }

    /// Finds the results of lanes in which nothing more is played.
    fn judge(&mut self, which: Vector) {
        let n_roles = self.plan.rule.range.len();
        which.lanes().for_each(|lane| self.results[lane * n_roles..(lane + 1) * n_roles].fill(f32::NAN));
        self.hand.lanes.evaluate_goals();
        let network = self.hand.lanes.network();
        for &(role, value, wire) in &network.goals {
            let lanes = self.hand.lanes.lanes_where(wire) & which;
            for lane in lanes.lanes() {
                let result = &mut self.results[lane * n_roles + role as usize];
                // Where the rules give several values, none counts.
                *result = if result.is_nan() { value as f32 / 100.0 } else { f32::INFINITY };
            }
        }
        self.without = self.without & !which | which & !self.hand.lanes.lanes_where(network.terminal);
        for lane in which.lanes() {
            for result in &mut self.results[lane * n_roles..(lane + 1) * n_roles] {
                if !result.is_finite() {
                    *result = 0.5;
                    self.without.set(lane, true);
                }
            }
        }
    }

    /// Takes the results of lanes into the tree.
    fn come_back(&mut self, found: &mut Found, which: Vector) {
        let n_roles = self.plan.rule.range.len();
        let part = self.plan.settings.playout;
        for lane in which.lanes() {
            let results = &mut self.results[lane * n_roles..(lane + 1) * n_roles];
            for (result, judged) in results.iter_mut().zip(&self.judged[lane * n_roles..]) {
                if !judged.is_nan() {
                    *result = part * *result + (1.0 - part) * judged;
                }
            }
            let path = &self.paths[lane];
            found.tree.learn(path, results);
            if !self.made.is_empty() {
                found.tree.learn_later(path, results, |chosen| self.made[chosen as usize].get(lane));
            }
            self.idle.push(lane);
            if let Some(record) = &self.record
                && !self.without.get(lane)
                && found.best.as_ref().is_none_or(|best| results[0] > best.value)
            {
                let mut line = found.tree.moves(path);
                line.extend((self.left_at[lane]..self.step).map(|step| record.get(step, lane)));
                let state = found.tree.state(0).into();
                found.best = Some(Best { value: results[0], line, state });
            }
        }
        self.playing = self.playing & !which;
        found.n_playouts += u64::from(which.count());
        found.n_under_way -= which.count() as usize;
        found.n_states += std::mem::take(&mut self.n_states);
    }
}

/// States that were just met, in the order of their lanes.
struct Met {
    states: Vec<u64>,
    /// The roles and moves that are legal; none where the match is over.
    legal: Vec<Vec<(u32, u32)>>,
}

/// The moves of one role in all lanes, for the last so many steps. Numbers are bit-sliced.
struct Record {
    n_moves: u32,
    n_planes: usize,
    planes: Vec<Vector>,
}

impl Record {
    fn new(n_moves: usize, cap: usize) -> Record {
        let n_planes = (usize::BITS - n_moves.leading_zeros()) as usize;
        // Playouts are looked at every 64 steps, so they may be that much longer.
        Record { n_moves: n_moves as u32, n_planes, planes: vec![Vector::ZERO; (cap + 66) * n_planes] }
    }

    fn at(&self, step: u32) -> usize {
        step as usize * self.n_planes % self.planes.len()
    }

    fn note(&mut self, step: u32, is_made: impl Fn(u32) -> Vector) {
        let at = self.at(step);
        let planes = &mut self.planes[at..at + self.n_planes];
        planes.fill(Vector::ZERO);
        for chosen in 0..self.n_moves {
            let lanes = is_made(chosen);
            if !lanes.is_zero() {
                for (_, plane) in planes.iter_mut().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1) {
                    *plane = *plane | lanes;
                }
            }
        }
    }

    fn get(&self, step: u32, lane: usize) -> u32 {
        let planes = &self.planes[self.at(step)..][..self.n_planes];
        planes.iter().enumerate().map(|(bit, plane)| u32::from(plane.get(lane)) << bit).sum()
    }
}
