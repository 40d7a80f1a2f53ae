//! A member that follows the rules as they stand: it needs no preparation, and is there for any game.
//!
//! It says at once which moves are legal. If nobody has a better idea it plays on by chance from each of them, trying those more
//! often that did well (UCB1, Auer, Cesa-Bianchi and Fischer 2002).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gdl::{Program, Stop};
use machine::{Exceeded, Limits, Machine, Reference, RoleId};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::member::{Member, Opinion, Rank, plain};

/// Joint moves of a random match; longer ones count as draws.
const PLIES: usize = 300;

type State = <Reference as Machine>::State;
type Move = <Reference as Machine>::Move;

pub(crate) struct ByRules {
    machine: Reference,
    role: usize,
    initial: State,
    /// The state after these joint moves.
    at: (State, Vec<Vec<String>>),
    random: Pcg64Mcg,
    /// Whether to play on by chance.
    is_thorough: Arc<AtomicBool>,
}

impl ByRules {
    /// For a role of a game. As long as `is_thorough` holds it plays on from legal moves; all evaluation ends when it is told to stop.
    pub(crate) fn new(
        program: Arc<Program>,
        role: usize,
        seed: u64,
        is_thorough: Arc<AtomicBool>,
        stop: Stop,
    ) -> Result<ByRules, String> {
        let machine = Reference::new(program, Limits { stop, ..Limits::default() });
        let mut machine = machine.map_err(|why| format!("the rules can't be followed: {why:?}"))?;
        let initial = machine.initial().map_err(|why| why.to_string())?;
        let at = (initial.clone(), Vec::new());
        Ok(ByRules { machine, role, initial, at, random: Pcg64Mcg::seed_from_u64(seed), is_thorough })
    }

    fn legal(&mut self, state: &State, role: usize) -> Result<Vec<Move>, Exceeded> {
        let mut moves = Vec::new();
        self.machine.legal(state, RoleId(role as u32), &mut moves)?;
        Ok(moves)
    }

    fn follow(&mut self, history: &[Vec<String>]) -> Result<(), String> {
        if !history.starts_with(&self.at.1) {
            // Moves were taken back.
            self.at = (self.initial.clone(), Vec::new());
        }
        while let Some(joint) = history.get(self.at.1.len()) {
            let state = self.at.0.clone();
            let mut moves = Vec::new();
            for (role, name) in joint.iter().enumerate() {
                let legal = self.legal(&state, role).map_err(|why| why.to_string())?;
                let wanted = plain(name);
                let found = legal.into_iter().find(|&chosen| plain(&self.machine.move_name(chosen)) == wanted);
                moves.push(found.ok_or_else(|| format!("`{name}` was played, and is not legal"))?);
            }
            self.at.0 = self.machine.next(&state, &moves).map_err(|why| why.to_string())?;
            self.at.1.push(joint.clone());
        }
        Ok(())
    }

    /// The result of a random match after this move, as a part of 100 points.
    fn try_out(&mut self, state: &State, chosen: Move, stop: &dyn Fn() -> bool) -> Result<Option<f32>, Exceeded> {
        let (mut state, mut own) = (state.clone(), Some(chosen));
        for _ in 0..PLIES {
            if stop() {
                return Ok(None);
            }
            let mut joint = Vec::new();
            for role in 0..self.machine.roles().len() {
                let legal = self.legal(&state, role)?;
                if legal.is_empty() {
                    return Ok(Some(0.5));
                }
                let by_chance = legal[self.random.random_range(0..legal.len())];
                joint.push(if role == self.role { own.take().unwrap_or(by_chance) } else { by_chance });
            }
            state = self.machine.next(&state, &joint)?;
            if self.machine.is_terminal(&state)? {
                let goals = self.machine.goals(&state, RoleId(self.role as u32))?;
                return Ok(Some(goals.first().map_or(0.5, |&goal| goal as f32 / 100.0)));
            }
        }
        Ok(Some(0.5))
    }
}

impl Member for ByRules {
    fn think(
        &mut self,
        history: &[Vec<String>],
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Opinion),
    ) -> Result<(), String> {
        // Step 1. What is legal.
        self.follow(history)?;
        let state = self.at.0.clone();
        let legal = self.legal(&state, self.role).map_err(|why| why.to_string())?;
        if legal.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = legal.iter().map(|&chosen| self.machine.move_name(chosen)).collect();
        let mut tried = vec![(0u64, 0.0f32); legal.len()];
        let opinion = |rank: Rank, best: usize, tried: &[(u64, f32)], why: String| Opinion {
            rank,
            chosen: names[best].clone(),
            value: (tried[best].0 > 0).then(|| tried[best].1 / tried[best].0 as f32),
            proven: false,
            why,
            line: Vec::new(),
            tried: names.iter().zip(tried).map(|(name, &(n, sum))| (name.clone(), n, sum / n.max(1) as f32)).collect(),
        };
        let by_chance = self.random.random_range(0..legal.len());
        tell(opinion(Rank::Legal, by_chance, &tried, "a legal move by chance".to_owned()));
        // Step 2. What comes of it.
        let best = |tried: &[(u64, f32)], n_matches: u64| {
            let mean = |&(n, sum): &(u64, f32)| if n == 0 { f32::NEG_INFINITY } else { sum / n as f32 };
            let best = (0..tried.len()).max_by(|&a, &b| mean(&tried[a]).total_cmp(&mean(&tried[b])));
            let why = format!("best in {n_matches} random matches");
            opinion(Rank::Rules, best.expect("there are legal moves"), tried, why)
        };
        let mut n_matches = 0u64;
        while legal.len() > 1 && !stop() && self.is_thorough.load(Ordering::Relaxed) {
            let all = (n_matches.max(1) as f32).ln();
            let bound = |&(n, sum): &(u64, f32)| match n {
                0 => f32::INFINITY,
                n => sum / n as f32 + 0.4 * (all / n as f32).sqrt(),
            };
            let next = (0..legal.len()).max_by(|&a, &b| bound(&tried[a]).total_cmp(&bound(&tried[b])));
            let next = next.expect("there are legal moves");
            match self.try_out(&state, legal[next], stop) {
                Ok(Some(value)) => tried[next] = (tried[next].0 + 1, tried[next].1 + value),
                // Time is up, or a position is too large for the rules' budgets.
                Ok(None) | Err(_) => break,
            }
            n_matches += 1;
            if n_matches.is_power_of_two() {
                tell(best(&tried, n_matches));
            }
        }
        if n_matches > 0 {
            tell(best(&tried, n_matches));
        }
        Ok(())
    }
}
