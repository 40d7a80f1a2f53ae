//! Positions judged by a function of the feature language, for any search.
//!
//! A board is seen as fast as 512 of them, so siblings are looked at together: the first of them that is judged has all of them
//! judged. What was seen is remembered for a while.

use std::sync::Arc;

use features::structural::fuzzy::Vocabulary;
use features::structural::squares::{Observer, StateId};
use machine::RoleId;
use machine::lanes::{LANES, Lanes};
use machine::scalar::{self, Scalar};
use rustc_hash::FxHashMap;
use search::legal_moves;

use super::field::{Brain, Field, look};

/// A place in a game for two, and what a brain thinks of it.
pub struct Judge<'a> {
    field: &'a Field,
    brain: &'a Brain,
    machine: Scalar,
    lanes: Lanes,
    observer: Observer<'a>,
    /// The joint moves since the last jump.
    line: Vec<Vec<u32>>,
    /// States that were looked at, by their hashes, with what the first role may expect.
    known: FxHashMap<u128, f32>,
}

/// What a brain promises the first role, which sees these states. It is a multiple of a small number, so that one role's opinion
/// is exactly what the other's leaves of 1: searches compare them.
pub(super) fn opinion(brain: &Brain, vocabulary: &Vocabulary, seen: &[StateId]) -> f32 {
    const GRAIN: f64 = 1.0 / (1u32 << 20) as f64;
    ((brain.think(vocabulary, seen) / GRAIN).round() * GRAIN) as f32
}

/// How many states are remembered, about.
const MOST: usize = 20_000;

impl<'a> Judge<'a> {
    /// At the start of the game. The machine is for the field's network.
    pub fn new(field: &'a Field, machine: Arc<scalar::Compiled>, brain: &'a Brain) -> Judge<'a> {
        Judge {
            field,
            brain,
            machine: Scalar::new(machine),
            lanes: Lanes::new(field.compiled.clone()),
            observer: field.squares.observer(),
            line: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// Looks at the current state and its siblings.
    fn look(&mut self) {
        if self.known.len() > MOST {
            self.known.clear();
        }
        let mut states: Vec<(u128, Box<[u64]>)> = Vec::new();
        let mut note = |machine: &Scalar| states.push((machine.hash(), machine.bits().into()));
        match self.line.last() {
            None => note(&self.machine),
            Some(last) => {
                self.machine.unmake();
                let legal = legal_moves(&self.machine);
                for &one in &legal[0] {
                    for &other in &legal[1] {
                        self.machine.make(&[one, other]);
                        note(&self.machine);
                        self.machine.unmake();
                    }
                }
                self.machine.make(last);
            }
        }
        let mut seen: Vec<StateId> = Vec::new();
        for states in states.chunks(LANES) {
            self.lanes.load_all(&states.iter().map(|(_, state)| &**state).collect::<Vec<_>>());
            let sight = look(self.field, &self.lanes, &mut self.observer);
            for (lane, (hash, _)) in states.iter().enumerate() {
                seen.clear();
                sight.states(lane, 0, &mut seen);
                self.known.insert(*hash, opinion(self.brain, &self.field.vocabulary, &seen));
            }
        }
    }
}

impl search::Position for Judge<'_> {
    fn machine(&self) -> &Scalar {
        &self.machine
    }

    fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.machine.goal(role)
    }

    fn make(&mut self, joint: &[u32]) {
        self.machine.make(joint);
        self.line.push(joint.to_vec());
    }

    fn unmake(&mut self) {
        self.machine.unmake();
        self.line.pop();
    }

    fn jump(&mut self, state: &[u64]) {
        self.machine.jump(state);
        self.line.clear();
    }

    fn estimate(&mut self, role: RoleId) -> f32 {
        let hash = self.machine.hash();
        if !self.known.contains_key(&hash) {
            self.look();
        }
        let opinion = self.known[&hash];
        if role.0 == 0 { opinion } else { 1.0 - opinion }
    }
}

#[cfg(test)]
mod tests;
