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
    /// Whether it thinks of what the next to move will do.
    pub(super) replies: bool,
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
    /// How many joint moves are made by chance first.
    pub(super) opening: u16,
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
    /// Of these, how many are compared by what follows them.
    pub(super) finalists: usize,
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

/// A move that a player thinks of.
struct Thought {
    /// The match and the role.
    table: usize,
    role: usize,
    joint: Vec<u32>,
    state: Vec<u64>,
    worth: f32,
    /// Whether it ends the match.
    ends: bool,
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
            let opening = table.ply - table.plan.ply < table.plan.opening;
            if player.guide.is_none() || moves.len() == 1 || opening || random.random::<f64>() < player.chance {
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
    // Step 2. See what follows.
    let player = |table: usize, role: usize| &players[going[table].1.plan.players[role] as usize];
    let mut thoughts: Vec<Thought> = Vec::with_capacity(questions.len());
    let mut seen = Seen::default();
    for batch in questions.chunks(LANES) {
        seen.clear();
        let views: Vec<&[u64]> = batch.iter().map(|(table, ..)| going[*table].1.state.as_slice()).collect();
        let moves: Vec<&[u32]> = batch.iter().map(|(.., joint)| joint.as_slice()).collect();
        engine.look(&views, &moves, &mut seen);
        for (place, (table, role, joint)) in batch.iter().enumerate() {
            let (table, role, joint) = (*table, *role, joint.clone());
            // Chance decides between equals.
            let worth = worth(engine, player(table, role), &seen, place, role) + 1e-3 * random.random::<f32>();
            let n_words = engine.n_words();
            let state = seen.states[place * n_words..(place + 1) * n_words].to_vec();
            thoughts.push(Thought { table, role, joint, state, worth, ends: seen.terminal[place] });
        }
    }
    // Step 3. Who thinks of replies looks at those to the best moves; the others' best are as they are.
    thoughts.sort_by(|a, b| (a.table, a.role).cmp(&(b.table, b.role)).then(b.worth.total_cmp(&a.worth)));
    let mut rank = 0;
    for place in 0..thoughts.len() {
        let new = place == 0
            || (thoughts[place - 1].table, thoughts[place - 1].role) != (thoughts[place].table, thoughts[place].role);
        rank = if new { 0 } else { rank + 1 };
        let wanted = if player(thoughts[place].table, thoughts[place].role).replies { bounds.finalists } else { 1 };
        if rank >= wanted {
            thoughts[place].worth = f32::NEG_INFINITY;
        }
    }
    thoughts.retain(|thought| thought.worth > f32::NEG_INFINITY);
    let open = |thought: &&mut Thought| !thought.ends && player(thought.table, thought.role).replies;
    let mut open: Vec<&mut Thought> = thoughts.iter_mut().filter(open).collect();
    for batch in open.chunks_mut(LANES) {
        think_on(engine, batch, &player, bounds, random);
    }
    // Step 4. Take the best.
    let mut best: Vec<f32> = vec![f32::NEG_INFINITY; going.len() * engine.n_roles()];
    for thought in &thoughts {
        let best = &mut best[thought.table * engine.n_roles() + thought.role];
        if thought.worth > *best {
            *best = thought.worth;
            joints[thought.table][thought.role] = thought.joint[thought.role];
        }
    }
    joints
}

/// Corrects what at most 512 thoughts are worth: the next to move makes the move that is best for him, by the thinker's own
/// guide. Where several roles choose at once, nothing changes.
fn think_on<'a>(
    engine: &mut Engine,
    thoughts: &mut [&mut Thought],
    player: &impl Fn(usize, usize) -> &'a Player,
    bounds: &Bounds,
    random: &mut impl Rng,
) {
    let views: Vec<&[u64]> = thoughts.iter().map(|thought| thought.state.as_slice()).collect();
    engine.visit(&views, &mut Seen::default());
    let mut legal: Vec<Vec<Vec<u32>>> = vec![Vec::new(); engine.n_roles()];
    legal.iter_mut().enumerate().for_each(|(role, moves)| engine.legal(role, thoughts.len(), moves));
    let mut replies: Vec<(usize, usize, Vec<u32>)> = Vec::new();
    for lane in 0..thoughts.len() {
        let choosing = |&role: &usize| legal[role][lane].len() > 1;
        let mut movers = (0..legal.len()).filter(choosing);
        let (mover, another) = (movers.next().unwrap_or(0), movers.next());
        if another.is_some() || legal.iter().any(|moves| moves[lane].is_empty()) {
            continue;
        }
        let forced: Vec<u32> = legal.iter().map(|moves| moves[lane][0]).collect();
        let moves = &legal[mover][lane];
        for reply in 0..moves.len().min(bounds.candidates) {
            let all = moves.len() <= bounds.candidates;
            let mut joint = forced.clone();
            joint[mover] = if all { moves[reply] } else { moves[random.random_range(0..moves.len())] };
            replies.push((lane, mover, joint));
        }
    }
    let mut best: Vec<Option<(f32, f32)>> = vec![None; thoughts.len()];
    let mut seen = Seen::default();
    for batch in replies.chunks(LANES) {
        seen.clear();
        let views: Vec<&[u64]> = batch.iter().map(|(lane, ..)| thoughts[*lane].state.as_slice()).collect();
        let moves: Vec<&[u32]> = batch.iter().map(|(.., joint)| joint.as_slice()).collect();
        engine.look(&views, &moves, &mut seen);
        for (place, &(lane, mover, _)) in batch.iter().enumerate() {
            let (table, role) = (thoughts[lane].table, thoughts[lane].role);
            let theirs = worth(engine, player(table, role), &seen, place, mover);
            let own = worth(engine, player(table, role), &seen, place, role);
            if best[lane].is_none_or(|(most, _)| theirs > most) {
                best[lane] = Some((theirs, own));
            }
        }
    }
    for (thought, best) in thoughts.iter_mut().zip(best) {
        if let Some((_, own)) = best {
            thought.worth = own + 1e-3 * random.random::<f32>();
        }
    }
}

/// What a state is worth to a role in the eyes of a player: its result if the match is over, else what is expected.
fn worth(engine: &Engine, player: &Player, seen: &Seen, place: usize, role: usize) -> f32 {
    let (n_words, n_extras) = (engine.n_words(), engine.n_extras());
    let result = seen.results[place * engine.n_roles() + role];
    match &player.guide {
        _ if result != UNKNOWN => f32::from(result),
        Some(guide) => guide.estimate(
            role,
            &seen.states[place * n_words..(place + 1) * n_words],
            &seen.extras[place * n_extras..(place + 1) * n_extras],
        ),
        None => 0.0,
    }
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
