//! The scalar machine: one state at a time, updated by propagating only what changes.
//!
//! Every conjunction counts its false inputs and is true while the count is zero. When a fluent or move flips, the gates
//! that read it adjust their counts, and those whose own value flips follow. Legal moves are kept as lists and the
//! fluents that are about to change as a set, so nothing is ever searched for. Going back costs the same as going
//! forward. After a warm-up, nothing is allocated.
//!
//! Gates that only goals depend on are left alone until somebody asks for a goal.
//!
//! Formulas ([`Network::formulas`]) are left alone altogether, unless the machine is asked to keep up with them
//! ([`Compiled::with_formulas`]): then it says which of them have become true or false ([`Scalar::take_flips`]).
//!
//! A wire that most legal moves of a role have in common, such as whose turn it is, is taken out of their gates: the
//! moves form a class whose list is kept up without it and counts while it is true. So passing the turn costs nothing
//! for each move.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand::{Rng, RngExt};
use rustc_hash::FxHashMap;

use crate::network::{Block, Gate, Network, Wire, cone};
use crate::{Exceeded, Machine, RoleId};

/// A network prepared for incremental evaluation; shared between threads.
pub struct Compiled {
    network: Arc<Network>,
    /// Which gates read a gate: twice the reader's number, plus one if it reads the opposite.
    readers: Lists,
    /// Which blocks read a gate.
    reading_blocks: Lists,
    /// The moves that a gate makes legal if their class is open, likewise with one added if its opposite does.
    legal_of: Lists,
    classes: Vec<Class>,
    class_of: Vec<u32>,
    /// The fluents that a gate makes hold next.
    next_of: Lists,
    /// The formulas that a gate makes true, if it is kept up with them.
    formulas_of: Lists,
    /// What else there is to do when a gate flips.
    watched: Vec<u8>,
    /// The gates, with some of its own behind those of the network.
    gates: Vec<Gate>,
    /// The gates that only goals depend on, in ascending order.
    for_goals: Vec<u32>,
    keys: Vec<u128>,
    initial: Box<[u64]>,
    /// Values and counts in the initial state, no move made.
    start: Values,
}

/// Moves of one role that are legal only while a wire is true.
#[derive(Clone, Copy, Debug)]
struct Class {
    role: u32,
    open: Wire,
}

const WATCH_LEGAL: u8 = 1;
const WATCH_NEXT: u8 = 2;
const WATCH_BLOCK: u8 = 4;
const IN_BLOCK: u8 = 8;
const WATCH_FORMULA: u8 = 16;

/// Lists of numbers, one after another.
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(n: usize, pairs: &[(u32, u32)]) -> Lists {
        let mut starts = vec![0u32; n + 1];
        pairs.iter().for_each(|&(list, _)| starts[list as usize + 1] += 1);
        (0..n).for_each(|index| starts[index + 1] += starts[index]);
        let mut fill = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(list, item) in pairs {
            items[fill[list as usize] as usize] = item;
            fill[list as usize] += 1;
        }
        Lists { starts, items }
    }

    #[inline]
    fn get(&self, list: u32) -> &[u32] {
        &self.items[self.starts[list as usize] as usize..self.starts[list as usize + 1] as usize]
    }
}

/// What changes from state to state.
#[derive(Clone)]
struct Values {
    /// Bit 0: the gate's value. Bit 1: the value that its readers have been told.
    gates: Vec<u8>,
    /// How many inputs of a conjunction are false.
    n_false: Vec<i32>,
    fluents: Box<[u64]>,
    /// Fluents whose next value differs from their current one.
    changing: Box<[u64]>,
    /// The moves of each class that are legal if the class is open.
    legal: Vec<Vec<u32>>,
    /// Where each move stands in its class's list; meaningless if it is not there.
    place: Vec<u32>,
    hash: u128,
}

/// A thread's position in a game.
pub struct Scalar {
    compiled: Arc<Compiled>,
    values: Values,
    queue: Queue,
    joint: Vec<u32>,
    /// The fluents that each made move has flipped, and how many there were before it.
    flipped: Vec<u32>,
    made: Vec<u32>,
    flips: Flips,
}

/// Formulas that have flipped and not been asked about.
#[derive(Default)]
struct Flips {
    /// Each formula that flipped, some of them twice or flipped back.
    list: Vec<u32>,
    /// One bit for each formula: whether it differs from what was last told.
    pending: Box<[u64]>,
}

/// What has yet to be passed on.
#[derive(Default)]
struct Queue {
    gates: Vec<u32>,
    blocks: Vec<u32>,
    scratch: Vec<u8>,
}

impl Compiled {
    /// Prepares a network. Its formulas are not evaluated.
    pub fn new(network: Arc<Network>) -> Arc<Compiled> {
        Compiled::with(network, false)
    }

    /// Prepares a network together with its formulas, whose truth is kept up to date: see [`Scalar::take_flips`].
    pub fn with_formulas(network: Arc<Network>) -> Arc<Compiled> {
        Compiled::with(network, true)
    }

    fn with(network: Arc<Network>, keep_up: bool) -> Arc<Compiled> {
        let formulas: &[Wire] = if keep_up { &network.formulas } else { &[] };
        let Classes { gates, legal, classes, class_of } = classify(&network);
        let n = gates.len();
        let opens = classes.iter().map(|class| class.open);
        let outputs = legal.iter().chain(&network.next).copied().chain(opens).chain([network.terminal]);
        let outputs = outputs.chain(formulas.iter().copied());
        let live = cone(&gates, &network.blocks, outputs);
        let for_goals = cone(&gates, &network.blocks, network.goals.iter().map(|&(_, _, wire)| wire));
        let for_goals = (0..n as u32).filter(|&gate| for_goals[gate as usize] && !live[gate as usize]).collect();
        let mut watched = vec![0u8; n];
        for block in &network.blocks {
            block.gates.clone().for_each(|gate| watched[gate as usize] |= IN_BLOCK);
        }
        let (mut readers, mut reading_blocks) = (Vec::new(), Vec::new());
        for (number, gate) in gates.iter().enumerate() {
            let Gate::And(inputs) = gate else { continue };
            if watched[number] & IN_BLOCK == 0 && live[number] {
                readers.extend(
                    inputs.iter().map(|wire| (wire.gate(), (number as u32) << 1 | u32::from(wire.is_inverted()))),
                );
            }
        }
        for (number, block) in network.blocks.iter().enumerate().filter(|(_, block)| live[block.gates.start as usize]) {
            let mut outside = Vec::new();
            for gate in block.gates.clone() {
                let Gate::And(inputs) = &network.gates[gate as usize] else { continue };
                outside.extend(inputs.iter().map(|wire| wire.gate()).filter(|gate| !block.gates.contains(gate)));
            }
            outside.extend(block.loops.iter().map(|(_, wire)| wire.gate()).filter(|gate| !block.gates.contains(gate)));
            outside.sort_unstable();
            outside.dedup();
            reading_blocks.extend(outside.into_iter().map(|gate| (gate, number as u32)));
        }
        let outputs = |wires: &[Wire]| -> Vec<(u32, u32)> {
            let output =
                |(index, wire): (usize, &Wire)| (wire.gate(), (index as u32) << 1 | u32::from(wire.is_inverted()));
            wires.iter().enumerate().map(output).collect()
        };
        let (legal_of, next_of, formulas_of) = (outputs(&legal), outputs(&network.next), outputs(formulas));
        legal_of.iter().for_each(|&(gate, _)| watched[gate as usize] |= WATCH_LEGAL);
        next_of.iter().for_each(|&(gate, _)| watched[gate as usize] |= WATCH_NEXT);
        reading_blocks.iter().for_each(|&(gate, _)| watched[gate as usize] |= WATCH_BLOCK);
        formulas_of.iter().for_each(|&(gate, _)| watched[gate as usize] |= WATCH_FORMULA);
        let n_words = network.fluents.len().div_ceil(64);
        let mut initial = vec![0u64; n_words].into_boxed_slice();
        for (fluent, _) in network.initial.iter().enumerate().filter(|(_, holds)| **holds) {
            initial[fluent / 64] |= 1 << (fluent % 64);
        }
        let mut seed = 0x5e3e_7000_0000_0001;
        let keys =
            network.fluents.iter().map(|_| u128::from(split_mix(&mut seed)) << 64 | u128::from(split_mix(&mut seed)));
        let mut compiled = Compiled {
            readers: Lists::new(n, &readers),
            reading_blocks: Lists::new(n, &reading_blocks),
            legal_of: Lists::new(n, &legal_of),
            next_of: Lists::new(n, &next_of),
            formulas_of: Lists::new(n, &formulas_of),
            watched,
            classes,
            class_of,
            gates,
            for_goals,
            keys: keys.collect(),
            start: Values {
                gates: vec![0; n],
                n_false: vec![0; n],
                fluents: vec![0; n_words].into(),
                changing: vec![0; n_words].into(),
                legal: Vec::new(),
                place: vec![0; network.moves.len()],
                hash: 0,
            },
            initial,
            network,
        };
        compiled.start = compiled.evaluate(&legal);
        Arc::new(compiled)
    }

    /// What a fluent that holds adds to [`Scalar::hash`], by exclusive or.
    pub fn key(&self, fluent: u32) -> u128 {
        self.keys[fluent as usize]
    }

    /// The initial state.
    pub fn initial(&self) -> &[u64] {
        &self.initial
    }

    /// Evaluates every gate in the initial state.
    fn evaluate(&self, legal: &[Wire]) -> Values {
        let network = &self.network;
        let mut values = self.start.clone();
        values.legal = vec![Vec::new(); self.classes.len()];
        let mut gates = vec![0u8; self.gates.len()];
        for (fluent, &holds) in network.initial.iter().enumerate() {
            gates[1 + fluent] = u8::from(holds);
            if holds {
                values.hash ^= self.keys[fluent];
            }
        }
        let mut number = 0;
        let mut blocks = network.blocks.iter().peekable();
        while number < self.gates.len() {
            if let Some(block) = blocks.next_if(|block| block.gates.start as usize == number) {
                settle(network, block, &mut gates);
                number = block.gates.end as usize;
                continue;
            }
            if let Gate::And(inputs) = &self.gates[number] {
                let n_false = inputs.iter().filter(|&&wire| !holds(&gates, wire)).count();
                values.n_false[number] = n_false as i32;
                gates[number] = u8::from(n_false == 0);
            }
            number += 1;
        }
        for (chosen, &wire) in legal.iter().enumerate() {
            if holds(&gates, wire) {
                let list = &mut values.legal[self.class_of[chosen] as usize];
                values.place[chosen] = list.len() as u32;
                list.push(chosen as u32);
            }
        }
        for (fluent, &wire) in network.next.iter().enumerate() {
            if holds(&gates, wire) != network.initial[fluent] {
                values.changing[fluent / 64] |= 1 << (fluent % 64);
            }
        }
        values.fluents.copy_from_slice(&self.initial);
        values.gates = gates.into_iter().map(|value| value | value << 1).collect();
        values
    }
}

/// The gates of a network with classes of moves made.
struct Classes {
    gates: Vec<Gate>,
    /// What makes each move legal while its class is open.
    legal: Vec<Wire>,
    classes: Vec<Class>,
    class_of: Vec<u32>,
}

/// Finds, for each role, fluents that many of its moves have in common.
fn classify(network: &Network) -> Classes {
    /// The least number of moves for which a class of their own pays. Not tuned.
    const MIN_CLASS: usize = 3;
    let mut result = Classes {
        gates: network.gates.clone(),
        legal: network.legal.clone(),
        classes: Vec::new(),
        class_of: vec![0; network.moves.len()],
    };
    let mut known: FxHashMap<Box<[Wire]>, Wire> = FxHashMap::default();
    for (role, moves) in network.moves_of.iter().enumerate() {
        let parts = |chosen: u32| -> &[Wire] {
            let wire = network.legal[chosen as usize];
            match &network.gates[wire.gate() as usize] {
                Gate::And(inputs) if !wire.is_inverted() => inputs,
                _ => &[],
            }
        };
        // The moves that each fluent is a part of, and how many of them have no class yet. The heap holds the number that
        // there was when an entry was made.
        let mut members_of: FxHashMap<Wire, Vec<u32>> = FxHashMap::default();
        for chosen in moves.clone() {
            for &wire in parts(chosen) {
                if matches!(network.gates[wire.gate() as usize], Gate::Fluent(_)) {
                    members_of.entry(wire).or_default().push(chosen);
                }
            }
        }
        let mut left: FxHashMap<Wire, usize> = members_of.iter().map(|(&wire, moves)| (wire, moves.len())).collect();
        let mut heap: BinaryHeap<_> = left.iter().map(|(&wire, &count)| (count, Reverse(wire))).collect();
        let mut has_class = vec![false; moves.len()];
        while let Some((count, Reverse(common))) = heap.pop() {
            if left[&common] != count {
                heap.push((left[&common], Reverse(common)));
                continue;
            }
            if count < MIN_CLASS {
                break;
            }
            let number = result.classes.len() as u32;
            result.classes.push(Class { role: role as u32, open: common });
            for &chosen in &members_of[&common] {
                if std::mem::replace(&mut has_class[(chosen - moves.start) as usize], true) {
                    continue;
                }
                parts(chosen).iter().for_each(|wire| _ = left.entry(*wire).and_modify(|count| *count -= 1));
                let rest: Vec<Wire> = parts(chosen).iter().copied().filter(|&wire| wire != common).collect();
                let wire = match rest[..] {
                    [wire] => wire,
                    _ => *known.entry(rest.clone().into()).or_insert_with(|| {
                        result.gates.push(Gate::And(rest.into()));
                        Wire::of(result.gates.len() as u32 - 1)
                    }),
                };
                result.legal[chosen as usize] = wire;
                result.class_of[chosen as usize] = number;
            }
        }
        // The others have a class that is always open.
        let number = result.classes.len() as u32;
        result.classes.push(Class { role: role as u32, open: Wire::TRUE });
        for (chosen, _) in moves.clone().zip(&has_class).filter(|(_, has_class)| !**has_class) {
            result.class_of[chosen as usize] = number;
        }
    }
    result
}

fn holds(gates: &[u8], wire: Wire) -> bool {
    (gates[wire.gate() as usize] & 1 == 1) != wire.is_inverted()
}

/// Evaluates a block from scratch: loops false at first, gates in order, until the loops agree with their wires. Only
/// bit 0 of a gate is looked at and written.
fn settle(network: &Network, block: &Block, gates: &mut [u8]) {
    block.loops.iter().for_each(|&(gate, _)| gates[gate as usize] = 0);
    loop {
        for gate in block.gates.clone() {
            if let Gate::And(inputs) = &network.gates[gate as usize] {
                gates[gate as usize] = u8::from(inputs.iter().all(|&wire| holds(gates, wire)));
            }
        }
        let mut changed = false;
        for &(gate, wire) in &block.loops {
            let value = u8::from(holds(gates, wire));
            changed |= gates[gate as usize] & 1 != value;
            gates[gate as usize] = value;
        }
        if !changed {
            return;
        }
    }
}

impl Scalar {
    /// A position at the start of the game.
    pub fn new(compiled: Arc<Compiled>) -> Scalar {
        Scalar {
            values: compiled.start.clone(),
            queue: Queue::default(),
            joint: Vec::new(),
            flipped: Vec::new(),
            made: Vec::new(),
            flips: Flips { list: Vec::new(), pending: vec![0; compiled.network.formulas.len().div_ceil(64)].into() },
            compiled,
        }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.compiled.network
    }

    /// What it shares with other positions of the game.
    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// Appends the legal moves of a role in the current state to `moves`, in no particular order.
    pub fn legal_moves(&self, role: RoleId, moves: &mut Vec<u32>) {
        self.open_lists(role).for_each(|list| moves.extend_from_slice(list));
    }

    fn open_lists(&self, role: RoleId) -> impl Iterator<Item = &[u32]> {
        let classes = self.compiled.classes.iter().zip(&self.values.legal);
        classes
            .filter(move |(class, _)| class.role == role.0 && holds(&self.values.gates, class.open))
            .map(|(_, list)| list.as_slice())
    }

    /// A uniformly random legal move of a role.
    fn random_move(&self, role: RoleId, rng: &mut impl Rng) -> Option<u32> {
        let n_moves: usize = self.open_lists(role).map(<[u32]>::len).sum();
        if n_moves == 0 {
            return None;
        }
        let mut index = if n_moves == 1 { 0 } else { rng.random_range(0..n_moves) };
        for list in self.open_lists(role) {
            if let Some(&chosen) = list.get(index) {
                return Some(chosen);
            }
            index -= list.len();
        }
        unreachable!("the index is below the number of moves")
    }

    /// Whether the current state is terminal.
    pub fn terminal(&self) -> bool {
        holds(&self.values.gates, self.compiled.network.terminal)
    }

    /// The goal value of a role in the current state; `None` unless there is exactly one.
    pub fn goal(&mut self, role: RoleId) -> Option<i64> {
        self.evaluate_goals();
        let mut values = self.goal_values(role);
        let value = values.next();
        if values.next().is_none() { value } else { None }
    }

    fn goal_values(&self, role: RoleId) -> impl Iterator<Item = i64> + '_ {
        let goals = self.compiled.network.goals.iter();
        goals.filter(move |goal| goal.0 == role.0 && holds(&self.values.gates, goal.2)).map(|goal| goal.1)
    }

    /// Evaluates the gates that only goals depend on.
    fn evaluate_goals(&mut self) {
        let compiled = &*self.compiled;
        let gates = &mut self.values.gates;
        let mut settled = 0;
        for &gate in &compiled.for_goals {
            if compiled.watched[gate as usize] & IN_BLOCK != 0 {
                if gate >= settled {
                    let blocks = &compiled.network.blocks;
                    let block =
                        blocks.iter().find(|block| block.gates.contains(&gate)).expect("the gate is in a block");
                    settle(&compiled.network, block, gates);
                    settled = block.gates.end;
                }
            } else if let Gate::And(inputs) = &compiled.gates[gate as usize] {
                gates[gate as usize] = u8::from(inputs.iter().all(|&wire| holds(gates, wire)));
            }
        }
    }

    /// Whether a formula of the network is true in the current state; only for [`Compiled::with_formulas`].
    pub fn formula(&self, formula: u32) -> bool {
        holds(&self.values.gates, self.compiled.network.formulas[formula as usize])
    }

    /// Tells each formula that has flipped since this was last asked, and whether it is true now, in no particular order.
    /// At first, none has flipped since the initial state. Only for [`Compiled::with_formulas`].
    pub fn take_flips(&mut self, mut tell: impl FnMut(u32, bool)) {
        let Flips { list, pending } = &mut self.flips;
        for formula in list.drain(..) {
            let (word, bit) = (&mut pending[formula as usize / 64], 1 << (formula % 64));
            if *word & bit != 0 {
                *word ^= bit;
                tell(formula, holds(&self.values.gates, self.compiled.network.formulas[formula as usize]));
            }
        }
    }

    /// A hash of the current state; equal states have equal hashes.
    pub fn hash(&self) -> u128 {
        self.values.hash
    }

    /// The fluents of the current state, one bit each.
    pub fn bits(&self) -> &[u64] {
        &self.values.fluents
    }

    /// Makes a joint move: one legal move for each role. [`Scalar::unmake`] takes it back.
    pub fn make(&mut self, joint: &[u32]) {
        self.made.push(self.flipped.len() as u32);
        self.advance(joint);
    }

    /// Takes back the last joint move that was made.
    ///
    /// # Panics
    /// If no move has been made since the last jump to another state.
    pub fn unmake(&mut self) {
        let from = self.made.pop().expect("a move has been made") as usize;
        for index in from..self.flipped.len() {
            self.flip_fluent(self.flipped[index]);
        }
        self.flipped.truncate(from);
        self.propagate();
    }

    /// Goes to any state, forgetting the moves made.
    pub fn jump(&mut self, bits: &[u64]) {
        self.made.clear();
        self.flipped.clear();
        for (word, &wanted) in bits.iter().enumerate() {
            let mut different = self.values.fluents[word] ^ wanted;
            while different != 0 {
                self.flip_fluent(64 * word as u32 + different.trailing_zeros());
                different &= different - 1;
            }
        }
        self.propagate();
    }

    fn advance(&mut self, joint: &[u32]) {
        let first_move = 1 + self.compiled.network.fluents.len() as u32;
        // Step 1. Tell the network the moves; it says which fluents will change.
        for &chosen in joint {
            self.flip(first_move + chosen);
        }
        self.propagate();
        // Step 2. Change them and take the moves away again.
        let from = self.flipped.len();
        for (word, &changing) in self.values.changing.iter().enumerate() {
            let mut changing = changing;
            while changing != 0 {
                self.flipped.push(64 * word as u32 + changing.trailing_zeros());
                changing &= changing - 1;
            }
        }
        for &chosen in joint {
            self.flip(first_move + chosen);
        }
        for index in from..self.flipped.len() {
            self.flip_fluent(self.flipped[index]);
        }
        self.propagate();
        if self.made.is_empty() {
            self.flipped.clear();
        }
    }

    fn flip_fluent(&mut self, fluent: u32) {
        self.values.fluents[fluent as usize / 64] ^= 1 << (fluent % 64);
        self.values.changing[fluent as usize / 64] ^= 1 << (fluent % 64);
        self.values.hash ^= self.compiled.keys[fluent as usize];
        self.flip(1 + fluent);
    }

    fn flip(&mut self, gate: u32) {
        flip(&mut self.values.gates, &mut self.queue.gates, gate);
    }

    fn propagate(&mut self) {
        propagate(&self.compiled, &mut self.values, &mut self.queue, &mut self.flips);
    }

    /// Plays from the initial state by uniformly random moves, for at most `cap` joint moves; returns how many were made
    /// and whether the game ended. The final state stays current.
    pub fn random_match(&mut self, rng: &mut impl Rng, cap: u32) -> (u32, bool) {
        let compiled = self.compiled.clone();
        self.jump(&compiled.initial);
        let mut joint = std::mem::take(&mut self.joint);
        let n_roles = compiled.network.roles.len() as u32;
        let mut n_plies = 0;
        let ended = loop {
            if self.terminal() {
                break true;
            }
            joint.clear();
            joint.extend((0..n_roles).map_while(|role| self.random_move(RoleId(role), rng)));
            if n_plies == cap || joint.len() < n_roles as usize {
                break false;
            }
            self.advance(&joint);
            n_plies += 1;
        };
        self.joint = joint;
        (n_plies, ended)
    }
}

/// Inverts a gate and notes that its readers have to be told.
#[inline(always)]
fn flip(gates: &mut [u8], queue: &mut Vec<u32>, gate: u32) {
    let state = &mut gates[gate as usize];
    // The gate waits in the queue while the two bits differ, so it is put there only when they begin to.
    if *state == 0 || *state == 3 {
        queue.push(gate);
    }
    *state ^= 1;
}

fn propagate(compiled: &Compiled, values: &mut Values, queue: &mut Queue, flips: &mut Flips) {
    loop {
        while let Some(gate) = queue.gates.pop() {
            let state = &mut values.gates[gate as usize];
            if *state == 0 || *state == 3 {
                continue;
            }
            let value = *state & 1;
            *state = value | value << 1;
            let watched = compiled.watched[gate as usize];
            if watched & !IN_BLOCK != 0 {
                report(compiled, values, queue, gate, value, watched);
                if watched & WATCH_FORMULA != 0 {
                    flips.note(compiled.formulas_of.get(gate));
                }
            }
            for &reader in compiled.readers.get(gate) {
                let target = reader >> 1;
                let n_false = &mut values.n_false[target as usize];
                let flips = if u32::from(value) != reader & 1 {
                    *n_false -= 1;
                    *n_false == 0
                } else {
                    *n_false += 1;
                    *n_false == 1
                };
                if flips {
                    flip(&mut values.gates, &mut queue.gates, target);
                }
            }
        }
        let Some(&lowest) = queue.blocks.iter().min() else { return };
        queue.blocks.retain(|&block| block != lowest);
        settle_block(compiled, values, queue, lowest);
    }
}

impl Flips {
    fn note(&mut self, formulas: &[u32]) {
        for &formula in formulas {
            let formula = formula >> 1;
            let (word, bit) = (&mut self.pending[formula as usize / 64], 1 << (formula % 64));
            *word ^= bit;
            if *word & bit != 0 {
                self.list.push(formula);
            }
        }
    }
}

/// Passes a gate's new value on to the lists of outputs.
fn report(compiled: &Compiled, values: &mut Values, queue: &mut Queue, gate: u32, value: u8, watched: u8) {
    if watched & WATCH_LEGAL != 0 {
        for &output in compiled.legal_of.get(gate) {
            let chosen = output >> 1;
            let list = &mut values.legal[compiled.class_of[chosen as usize] as usize];
            if u32::from(value) != output & 1 {
                values.place[chosen as usize] = list.len() as u32;
                list.push(chosen);
            } else {
                let place = values.place[chosen as usize];
                list.swap_remove(place as usize);
                if let Some(&moved) = list.get(place as usize) {
                    values.place[moved as usize] = place;
                }
            }
        }
    }
    if watched & WATCH_NEXT != 0 {
        for &output in compiled.next_of.get(gate) {
            let fluent = output >> 1;
            values.changing[fluent as usize / 64] ^= 1 << (fluent % 64);
        }
    }
    if watched & WATCH_BLOCK != 0 {
        for &block in compiled.reading_blocks.get(gate) {
            if !queue.blocks.contains(&block) {
                queue.blocks.push(block);
            }
        }
    }
}

fn settle_block(compiled: &Compiled, values: &mut Values, queue: &mut Queue, number: u32) {
    let block = &compiled.network.blocks[number as usize];
    let range = block.gates.start as usize..block.gates.end as usize;
    queue.scratch.clear();
    queue.scratch.extend_from_slice(&values.gates[range.clone()]);
    settle(&compiled.network, block, &mut values.gates);
    for (index, gate) in range.enumerate() {
        let (before, after) = (queue.scratch[index] & 1, values.gates[gate] & 1);
        // Both bits again, the second as the readers know it.
        values.gates[gate] = after | queue.scratch[index] & 2;
        if before != after {
            queue.gates.push(gate as u32);
        }
    }
}

impl Machine for Scalar {
    type State = Box<[u64]>;
    type Move = u32;

    fn roles(&self) -> &[String] {
        &self.compiled.network.roles
    }

    fn initial(&mut self) -> Result<Self::State, Exceeded> {
        Ok(self.compiled.initial.clone())
    }

    fn legal(&mut self, state: &Self::State, role: RoleId, moves: &mut Vec<u32>) -> Result<(), Exceeded> {
        self.jump(state);
        let from = moves.len();
        self.legal_moves(role, moves);
        moves[from..].sort_unstable();
        Ok(())
    }

    fn next(&mut self, state: &Self::State, joint: &[u32]) -> Result<Self::State, Exceeded> {
        self.jump(state);
        self.advance(joint);
        Ok(self.values.fluents.clone())
    }

    fn is_terminal(&mut self, state: &Self::State) -> Result<bool, Exceeded> {
        self.jump(state);
        Ok(self.terminal())
    }

    fn goals(&mut self, state: &Self::State, role: RoleId) -> Result<Vec<i64>, Exceeded> {
        self.jump(state);
        self.evaluate_goals();
        let mut values: Vec<i64> = self.goal_values(role).collect();
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    fn fluents(&self, state: &Self::State) -> Vec<String> {
        self.compiled.network.fluent_names(state)
    }

    fn move_name(&self, chosen: u32) -> String {
        self.compiled.network.name(self.compiled.network.moves[chosen as usize])
    }
}

/// The next number of Steele, Lea and Flood's SplitMix64.
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
