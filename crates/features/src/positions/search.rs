//! Matches with results that chance does not come upon, found by search.
//!
//! A beam of states goes forward joint move by joint move, all roles pulling together: what is kept of each layer is led by
//! how far a role's goals are met, by fluents that were seldom met before, and by chance. A state that was met earlier,
//! counters of moves aside, is not met again.
//!
//! After an opening by chance, a search may go on from several states at once. Each of them has its part of every layer, so
//! that the matches which are found differ from early on.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rustc_hash::{FxHashMap, FxHashSet};

use super::engine::{Engine, Seen};
use machine::lanes::LANES;

/// What leads a search, and what bounds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// The role whose goals are wanted.
    pub(super) role: usize,
    /// How much meeting goals, new fluents, and chance count.
    pub(super) weights: [f32; 3],
    /// States kept of a layer.
    pub(super) width: usize,
    /// From how many states the search goes on after the opening, and how many joint moves that has.
    pub(super) islands: usize,
    pub(super) opening: u16,
    /// Layers.
    pub(super) plies: u16,
    /// The search ends when no more gates than this are left.
    pub(super) go_on_above: u64,
    /// Matches wanted of each outcome.
    pub(super) lines: usize,
}

impl Aim {
    /// A search for a role's goals, not yet bounded.
    pub(super) fn new(role: usize) -> Aim {
        Aim {
            role,
            weights: [1.0, 0.0, 0.0],
            width: 512,
            islands: 1,
            opening: 0,
            plies: 400,
            go_on_above: 0,
            lines: 40,
        }
    }
}

/// A match from the first state to its end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) states: Vec<Vec<u64>>,
    pub(super) results: Vec<u8>,
}

/// Joint moves tried in a state; of more, some are drawn.
const MAX_JOINTS: usize = 16;

/// A state that was kept: the place of the one before it, and the joint move between them.
struct Step {
    before: u32,
    joint: Box<[u32]>,
    island: u32,
}

/// The joint moves of a match, and its results.
type Moves = (Vec<u8>, Vec<Box<[u32]>>);

/// Searches from the initial state. `counts` masks the fluents that only count moves.
pub(super) fn search(engine: &mut Engine, aim: &Aim, counts: &[u64], random: &mut impl Rng) -> Vec<Line> {
    let (n_words, n_roles, n_extras) = (engine.n_words(), engine.n_roles(), engine.n_extras());
    let mut steps: Vec<Step> = vec![Step { before: 0, joint: [].into(), island: 0 }];
    let mut met: FxHashSet<u64> = FxHashSet::default();
    let mut held = vec![0u32; engine.network.fluents.len()];
    let mut ends: FxHashMap<Vec<u8>, (usize, Vec<Step>)> = FxHashMap::default();
    let mut layer: Vec<u64> = engine.initial();
    let mut first = 0;
    for ply in 0..aim.plies {
        let opening = ply < aim.opening;
        // Step 1. Try every joint move of every state.
        let views: Vec<&[u64]> = layer.chunks(n_words.max(1)).collect();
        let mut candidates: Vec<(f32, Step)> = Vec::new();
        for (number, batch) in views.chunks(LANES).enumerate() {
            let tries = tries(engine, batch, random);
            for tries in tries.chunks(LANES) {
                if engine.gates_left <= aim.go_on_above {
                    break;
                }
                let states: Vec<&[u64]> = tries.iter().map(|(lane, _)| batch[*lane]).collect();
                let joints: Vec<&[u32]> = tries.iter().map(|(_, joint)| &**joint).collect();
                let mut seen = Seen::default();
                engine.look(&states, &joints, &mut seen);
                for (place, (lane, joint)) in tries.iter().enumerate() {
                    let before = first + number * LANES + lane;
                    let island = steps[before].island;
                    let step = Step { before: before as u32, joint: joint.clone(), island };
                    if seen.terminal[place] {
                        // Of each outcome some are kept, any of them as likely as the others.
                        let results = seen.results[place * n_roles..(place + 1) * n_roles].to_vec();
                        let (n, kept) = ends.entry(results).or_default();
                        *n += 1;
                        if kept.len() < aim.lines {
                            kept.push(step);
                        } else if random.random_range(0..*n) < aim.lines {
                            let instead = random.random_range(0..aim.lines);
                            kept[instead] = step;
                        }
                        continue;
                    }
                    let state = &seen.states[place * n_words..(place + 1) * n_words];
                    if !met.insert(hash(state, counts) ^ u64::from(island) << 48) {
                        continue;
                    }
                    let (mut novelty, mut n) = (0.0, 0.0f32);
                    for_each_fluent(state, |fluent| {
                        novelty += 1.0 / (1.0 + held[fluent] as f32);
                        n += 1.0;
                    });
                    let grade = seen.extras[place * n_extras + n_roles + aim.role];
                    let [by_grade, by_novelty, by_chance] = aim.weights;
                    let chance = random.random::<f32>();
                    let score = by_grade * grade + by_novelty * novelty / n.max(1.0) + by_chance * chance;
                    candidates.push((if opening { chance } else { score }, step));
                }
            }
        }
        // Step 2. Keep the best, and go there.
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        if ply + 1 == aim.opening {
            candidates.truncate(aim.islands);
            (0..).zip(&mut candidates).for_each(|(island, (_, step))| step.island = island);
        } else if !opening && aim.islands > 1 {
            let mut room = vec![aim.width.div_ceil(aim.islands); aim.islands];
            candidates.retain(|(_, step)| {
                let room = &mut room[step.island as usize];
                let kept = *room > 0;
                *room -= usize::from(kept);
                kept
            });
        }
        candidates.truncate(aim.width);
        if candidates.is_empty() || engine.gates_left <= aim.go_on_above {
            break;
        }
        let mut next = Vec::with_capacity(candidates.len() * n_words);
        for batch in candidates.chunks(LANES) {
            let states: Vec<&[u64]> = batch.iter().map(|(_, step)| views[step.before as usize - first]).collect();
            let joints: Vec<&[u32]> = batch.iter().map(|(_, step)| &*step.joint).collect();
            engine.step(&states, &joints, &mut next);
        }
        first = steps.len();
        steps.extend(candidates.into_iter().map(|(_, step)| step));
        layer = next;
        layer.chunks(n_words.max(1)).for_each(|state| for_each_fluent(state, |fluent| held[fluent] += 1));
    }
    // Step 3. Replay what was found.
    let mut ends: Vec<(Vec<u8>, Vec<Step>)> = ends.into_iter().map(|(results, (_, steps))| (results, steps)).collect();
    ends.sort_by(|a, b| a.0.cmp(&b.0));
    let mut wanted: Vec<Moves> = Vec::new();
    for (results, ends) in ends {
        for end in ends {
            let mut joints = vec![end.joint];
            let mut at = end.before as usize;
            while at > 0 {
                joints.push(steps[at].joint.clone());
                at = steps[at].before as usize;
            }
            joints.reverse();
            wanted.push((results.clone(), joints));
        }
    }
    wanted.chunks(LANES).flat_map(|lines| replay(engine, lines)).collect()
}

/// The joint moves of each state, with the state's place: all of them, or some.
fn tries(engine: &mut Engine, states: &[&[u64]], random: &mut impl Rng) -> Vec<(usize, Box<[u32]>)> {
    engine.visit(states, &mut Seen::default());
    let mut legal = vec![Vec::new(); engine.n_roles()];
    legal.iter_mut().enumerate().for_each(|(role, moves)| engine.legal(role, states.len(), moves));
    let mut tries = Vec::new();
    for lane in 0..states.len() {
        let n_joints = legal.iter().map(|moves| moves[lane].len()).try_fold(1usize, |n, more| n.checked_mul(more));
        let joint = |number: usize| -> Box<[u32]> {
            let mut number = number;
            let mut digit = |moves: &Vec<Vec<u32>>| {
                let chosen = moves[lane][number % moves[lane].len()];
                number /= moves[lane].len();
                chosen
            };
            legal.iter().map(&mut digit).collect()
        };
        match n_joints {
            Some(n) if n <= MAX_JOINTS => tries.extend((0..n).map(|number| (lane, joint(number)))),
            Some(n) => tries.extend((0..MAX_JOINTS).map(|_| (lane, joint(random.random_range(0..n))))),
            None => {}
        }
    }
    // Which of two equal states comes first is left to chance.
    tries.shuffle(random);
    tries
}

/// The states of at most 512 matches, given their joint moves.
fn replay(engine: &mut Engine, lines: &[Moves]) -> Vec<Line> {
    let n_words = engine.n_words();
    let start = engine.initial();
    let mut found: Vec<Line> =
        lines.iter().map(|(results, _)| Line { states: vec![start.clone()], results: results.clone() }).collect();
    for ply in 0.. {
        let going: Vec<usize> = (0..lines.len()).filter(|&line| lines[line].1.len() > ply).collect();
        if going.is_empty() {
            break;
        }
        let states: Vec<&[u64]> = going.iter().map(|&line| found[line].states[ply].as_slice()).collect();
        let joints: Vec<&[u32]> = going.iter().map(|&line| &*lines[line].1[ply]).collect();
        let mut next = Vec::new();
        engine.step(&states, &joints, &mut next);
        for (place, line) in going.into_iter().enumerate() {
            found[line].states.push(next[place * n_words..(place + 1) * n_words].to_vec());
        }
    }
    found
}

fn for_each_fluent(state: &[u64], mut tell: impl FnMut(usize)) {
    for (word, &bits) in state.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            tell(word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

fn hash(state: &[u64], counts: &[u64]) -> u64 {
    state.iter().zip(counts).fold(0x9e37_79b9_7f4a_7c15, |hash: u64, (&word, &mask)| {
        let mixed = (hash.rotate_left(29) ^ (word & !mask)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 31
    })
}
