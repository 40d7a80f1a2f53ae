//! Many matches at once, each role playing at a level of its own.

use rand::{Rng, RngExt};

use super::engine::{Engine, Seen};
use super::guide::Guide;
use super::{Positions, UNKNOWN};
use machine::lanes::LANES;

/// How a level plays: now and then by chance, else the move after which its guide expects most.
#[derive(Clone, Debug)]
pub(super) struct Player {
    pub(super) guide: Option<Guide>,
    /// How often a move is made by chance.
    pub(super) chance: f64,
}

/// A match to be played.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) number: u32,
    /// For each role, who plays it.
    pub(super) players: Vec<u8>,
    /// Where it starts, and how many joint moves were made before.
    pub(super) start: Vec<u64>,
    pub(super) ply: u16,
    /// The level that its positions are said to be of.
    pub(super) level: u8,
}

/// How a match ended.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) players: Vec<u8>,
    pub(super) results: Vec<u8>,
    /// Whether it was played to its end.
    pub(super) ended: bool,
}

/// What bounds the play.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Joint moves in a match.
    pub(super) plies: u16,
    /// Positions kept of a match, besides the last.
    pub(super) kept: usize,
    /// Moves compared by a player.
    pub(super) candidates: usize,
    /// Matches are begun while more gates than this are left.
    pub(super) begin_above: u64,
    /// They go on while more gates than this are left, and are given up then.
    pub(super) go_on_above: u64,
}

struct Match {
    plan: Plan,
    state: Vec<u64>,
    ply: u16,
    n_seen: usize,
    kept: Vec<(u16, Vec<u64>)>,
}

/// Plays the matches, and adds their positions. Gives the outcomes in the order in which the matches ended.
pub(super) fn play(
    engine: &mut Engine,
    players: &[Player],
    plans: Vec<Plan>,
    bounds: &Bounds,
    random: &mut impl Rng,
    positions: &mut Positions,
) -> Vec<Outcome> {
    let mut waiting = plans.into_iter();
    let mut tables: Vec<Match> = Vec::new();
    let mut outcomes = Vec::new();
    let mut legal: Vec<Vec<Vec<u32>>> = vec![Vec::new(); engine.n_roles()];
    loop {
        // Step 1. Begin matches while there is room.
        while tables.len() < LANES && engine.gates_left > bounds.begin_above {
            let Some(plan) = waiting.next() else { break };
            let (state, ply) = (plan.start.clone(), plan.ply);
            tables.push(Match { plan, state, ply, n_seen: 0, kept: Vec::new() });
        }
        if tables.is_empty() {
            return outcomes;
        }
        // Step 2. Look where they stand, and end those that are over.
        let mut seen = Seen::default();
        let views: Vec<&[u64]> = tables.iter().map(|table| table.state.as_slice()).collect();
        engine.visit(&views, &mut seen);
        let n_roles = engine.n_roles();
        (0..n_roles).for_each(|role| engine.legal(role, tables.len(), &mut legal[role]));
        let out_of_work = engine.gates_left <= bounds.go_on_above;
        let mut going = Vec::new();
        for (lane, mut table) in std::mem::take(&mut tables).into_iter().enumerate() {
            let stuck = (0..n_roles).any(|role| legal[role][lane].is_empty());
            if seen.terminal[lane] || stuck || table.ply - table.plan.ply >= bounds.plies || out_of_work {
                let results = &seen.results[lane * n_roles..(lane + 1) * n_roles];
                table.end(results, seen.terminal[lane], positions);
                outcomes.push(Outcome {
                    players: table.plan.players,
                    results: results.to_vec(),
                    ended: seen.terminal[lane],
                });
                continue;
            }
            table.keep(bounds.kept, random);
            going.push((lane, table));
        }
        if going.is_empty() {
            continue;
        }
        // Step 3. Choose.
        let joints = choose(engine, players, &going, &legal, bounds, random);
        // Step 4. Go on.
        let views: Vec<&[u64]> = going.iter().map(|(_, table)| table.state.as_slice()).collect();
        let joints: Vec<&[u32]> = joints.iter().map(Vec::as_slice).collect();
        let mut next = Vec::new();
        engine.step(&views, &joints, &mut next);
        let n_words = engine.n_words();
        for (index, (_, mut table)) in going.into_iter().enumerate() {
            table.state.copy_from_slice(&next[index * n_words..(index + 1) * n_words]);
            table.ply += 1;
            tables.push(table);
        }
    }
}

/// A joint move for each match.
fn choose(
    engine: &mut Engine,
    players: &[Player],
    going: &[(usize, Match)],
    legal: &[Vec<Vec<u32>>],
    bounds: &Bounds,
    random: &mut impl Rng,
) -> Vec<Vec<u32>> {
    // Step 1. Everybody draws a move. Who thinks also lists what to compare, the others' moves as drawn.
    let mut joints: Vec<Vec<u32>> = Vec::with_capacity(going.len());
    let mut questions: Vec<(usize, usize, Vec<u32>)> = Vec::new();
    for (index, (lane, table)) in going.iter().enumerate() {
        let drawn: Vec<u32> =
            legal.iter().map(|moves| moves[*lane][random.random_range(0..moves[*lane].len())]).collect();
        for (role, moves) in legal.iter().enumerate() {
            let player = &players[table.plan.players[role] as usize];
            let moves = &moves[*lane];
            if player.guide.is_none() || moves.len() == 1 || random.random::<f64>() < player.chance {
                continue;
            }
            let mut question = |chosen: u32| {
                let mut joint = drawn.clone();
                joint[role] = chosen;
                questions.push((index, role, joint));
            };
            if moves.len() <= bounds.candidates {
                moves.iter().for_each(|&chosen| question(chosen));
            } else {
                (0..bounds.candidates).for_each(|_| question(moves[random.random_range(0..moves.len())]));
            }
        }
        joints.push(drawn);
    }
    // Step 2. See what follows, and take the best.
    let (n_words, n_roles, n_extras) = (engine.n_words(), engine.n_roles(), engine.n_extras());
    let mut best: Vec<f32> = vec![f32::NEG_INFINITY; going.len() * n_roles];
    let mut seen = Seen::default();
    for batch in questions.chunks(LANES) {
        seen.clear();
        let views: Vec<&[u64]> = batch.iter().map(|(index, ..)| going[*index].1.state.as_slice()).collect();
        let moves: Vec<&[u32]> = batch.iter().map(|(.., joint)| joint.as_slice()).collect();
        engine.look(&views, &moves, &mut seen);
        for (place, (index, role, joint)) in batch.iter().enumerate() {
            let table = &going[*index].1;
            let player = &players[table.plan.players[*role] as usize];
            let result = seen.results[place * n_roles + role];
            let worth = match &player.guide {
                _ if result != UNKNOWN => f32::from(result),
                Some(guide) => guide.estimate(
                    *role,
                    &seen.states[place * n_words..(place + 1) * n_words],
                    &seen.extras[place * n_extras..(place + 1) * n_extras],
                ),
                None => 0.0,
            };
            // Chance decides between equals.
            let worth = worth + 1e-3 * random.random::<f32>();
            let at = index * n_roles + role;
            if worth > best[at] {
                best[at] = worth;
                joints[*index][*role] = joint[*role];
            }
        }
    }
    joints
}

impl Match {
    /// Keeps the current state, perhaps: of all states so far, each is as likely to be kept as any other.
    fn keep(&mut self, n: usize, random: &mut impl Rng) {
        self.n_seen += 1;
        if self.kept.len() < n {
            self.kept.push((self.ply, self.state.clone()));
        } else {
            let place = random.random_range(0..self.n_seen);
            if place < n {
                self.kept[place] = (self.ply, self.state.clone());
            }
        }
    }

    fn end(&mut self, results: &[u8], terminal: bool, positions: &mut Positions) {
        self.kept.sort_unstable();
        let mut add = |ply: u16, state: &[u64], terminal: bool| {
            positions.states.extend_from_slice(state);
            positions.results.extend_from_slice(results);
            positions.matches.push(self.plan.number);
            positions.plies.push(ply);
            positions.levels.push(self.plan.level);
            positions.terminal.push(terminal);
        };
        self.kept.iter().for_each(|(ply, state)| add(*ply, state, false));
        if terminal {
            add(self.ply, &self.state, true);
        }
    }
}
