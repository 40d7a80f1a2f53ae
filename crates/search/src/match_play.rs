//! Playing matches between players.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use machine::RoleId;
use machine::scalar::Scalar;
use rand::{Rng, RngExt};

use crate::player::{Answer, Limit, Player};
use crate::random::legal_moves;

/// Plays numbered matches on several threads; the results stand in the order of the numbers. Each thread has what `start` gives
/// it; where `one` gives nothing, its thread begins no other match.
pub fn on_threads<S, T: Send>(
    numbers: Range<u32>,
    threads: usize,
    start: impl Fn() -> S + Sync,
    one: impl Fn(&mut S, u32) -> Option<T> + Sync,
) -> Vec<T> {
    let next = AtomicU32::new(numbers.start);
    let work = || {
        let mut own = start();
        let mut results = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            match (number < numbers.end).then(|| one(&mut own, number)).flatten() {
                Some(result) => results.push((number, result)),
                None => return results,
            }
        }
    };
    let mut all: Vec<(u32, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a match does not panic")).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Joint moves by chance from the start of the game, as many as are wanted unless the match would be over by then. The machine is
/// left where they lead to.
pub fn opening(machine: &mut Scalar, length: u32, random: &mut impl Rng) -> Vec<Vec<u32>> {
    let initial = machine.compiled().initial().to_vec();
    machine.jump(&initial);
    let mut moves = Vec::new();
    for _ in 0..length {
        let legal = legal_moves(machine);
        if machine.terminal() || legal.iter().any(Vec::is_empty) {
            break;
        }
        let joint: Vec<u32> = legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
        machine.make(&joint);
        if machine.terminal() {
            machine.unmake();
            break;
        }
        moves.push(joint);
    }
    moves
}

/// How a match went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Match {
    /// The joint moves, from the first state on.
    pub moves: Vec<Vec<u32>>,
    /// Each role's result; `None` where the rules give none, or the match was given up.
    pub goals: Vec<Option<i64>>,
    /// Whether it was played to its end.
    pub ended: bool,
    /// For each role, what its player did.
    pub work: Vec<Work>,
}

/// What a player did in a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Moves that it thought about.
    pub n_searches: u64,
    /// States visited.
    pub nodes: u64,
    /// States judged, where it counts them.
    pub judged: u64,
    /// States opened, where it counts them.
    pub opened: u64,
    /// Playouts.
    pub playouts: u64,
    /// The depths reached, added up.
    pub depths: u64,
}

impl Work {
    /// Adds one answer.
    pub fn add(&mut self, answer: &Answer) {
        if answer.nodes > 0 {
            self.n_searches += 1;
            self.nodes += answer.nodes;
            self.judged += answer.judged;
            self.opened += answer.opened;
            self.playouts += answer.playouts;
            self.depths += u64::from(answer.depth);
        }
    }
}

/// Gives a role time to choose: it is called with the role and with what lets the player choose under a limit.
pub type Think<'a> = dyn FnMut(RoleId, &mut dyn FnMut(&Limit) -> Answer) -> Answer + 'a;

/// Plays a match from the initial state, or on from the moves given, for at most `cap` joint moves in all. A player for each role.
/// `think` is called whenever a role has a choice; it is given the role and calls what else it is given with a limit, once: so clocks
/// are the caller's. An answer without a move gives the match up.
pub fn play(
    machine: &mut Scalar,
    players: &mut [&mut dyn Player],
    opening: &[Vec<u32>],
    cap: usize,
    think: &mut Think<'_>,
) -> Match {
    let initial = machine.compiled().initial().to_vec();
    machine.jump(&initial);
    play_on(machine, players, opening, cap, think)
}

/// The same from the machine's state on, whatever that is.
pub fn play_on(
    machine: &mut Scalar,
    players: &mut [&mut dyn Player],
    opening: &[Vec<u32>],
    cap: usize,
    think: &mut Think<'_>,
) -> Match {
    let n_roles = players.len();
    players.iter_mut().for_each(|player| player.begin());
    let mut record = Match { work: vec![Work::default(); n_roles], ..Match::default() };
    let mut legal = Vec::new();
    loop {
        if machine.terminal() {
            record.ended = true;
            break;
        }
        if record.moves.len() >= cap {
            break;
        }
        let mut joint: Vec<u32> = Vec::with_capacity(n_roles);
        let given = opening.get(record.moves.len());
        for role in 0..n_roles {
            let id = RoleId(role as u32);
            legal.clear();
            machine.legal_moves(id, &mut legal);
            let chosen = match (&legal[..], given) {
                ([], _) => break,
                (_, Some(given)) => given[role],
                (&[only], None) => only,
                _ => {
                    let answer = think(id, &mut |limit| players[role].choose(machine.bits(), id, limit));
                    record.work[role].add(&answer);
                    let Some(&chosen) = answer.joint.get(role) else { break };
                    chosen
                }
            };
            assert!(legal.contains(&chosen), "the player of role {role} chose an illegal move");
            joint.push(chosen);
        }
        if joint.len() < n_roles {
            break;
        }
        machine.make(&joint);
        record.moves.push(joint);
    }
    record.goals =
        (0..n_roles as u32).map(|role| if record.ended { machine.goal(RoleId(role)) } else { None }).collect();
    record
}
