//! Propositional networks: a game as a circuit.
//!
//! The state's fluents and the roles' moves are the inputs; legal moves, next fluents, goals and the end of the game are
//! the outputs. The only gate is the conjunction; edges may be inverted, so a disjunction is a conjunction with its
//! output and all its inputs inverted. Gates are hash-consed while the network is built, so that equal ones are one.
//!
//! Positive recursion over a cyclic graph (a path through a board, a chain of stones) makes gates depend on
//! themselves. Such a cycle is cut at [`Gate::Loop`] gates: they start at false, and the gates of their [`Block`] are
//! evaluated again until nothing changes, which gives the least solution.

mod build;
mod knowledge;

pub use build::{BuildError, build};

use gdl::TermId;
use gdl::datalog::Terms;
use gdl::symbol::Symbols;

/// An output of a gate, possibly inverted: twice the gate's number, plus one if inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire(pub u32);

impl Wire {
    /// Always false: gate 0.
    pub const FALSE: Wire = Wire(0);
    /// Always true.
    pub const TRUE: Wire = Wire(1);

    /// The output of a gate.
    pub fn of(gate: u32) -> Wire {
        Wire(gate << 1)
    }

    /// The gate.
    pub fn gate(self) -> u32 {
        self.0 >> 1
    }

    /// Whether the output is inverted.
    pub fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    /// The opposite.
    pub fn inverted(self) -> Wire {
        Wire(self.0 ^ 1)
    }

    /// The opposite, if `invert`.
    pub fn invert_if(self, invert: bool) -> Wire {
        Wire(self.0 ^ u32::from(invert))
    }
}

/// What a gate is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Always false.
    False,
    /// A fluent of the state.
    Fluent(u32),
    /// A move.
    Move(u32),
    /// Cuts a cycle; see [`Block`].
    Loop(u32),
    /// Whether all of these are true: at least two, ascending, none twice.
    And(Box<[Wire]>),
}

/// Gates that depend on themselves through their loops. All of them lie in one range of gate numbers.
#[derive(Clone, Debug)]
pub struct Block {
    /// The gates of the block, its loops included.
    pub gates: std::ops::Range<u32>,
    /// Each loop with the wire that it must come to equal.
    pub loops: Vec<(u32, Wire)>,
}

/// A game as a circuit. Gates are numbered so that the inputs of a gate have lower numbers than the gate.
#[derive(Clone, Debug)]
pub struct Network {
    /// The gates; gate 0 is [`Gate::False`].
    pub gates: Vec<Gate>,
    /// The cyclic parts, in ascending order.
    pub blocks: Vec<Block>,
    /// The fluents that can change, with their names; others are constant and left out.
    pub fluents: Vec<TermId>,
    /// The fluents that always hold.
    pub constant_fluents: Vec<TermId>,
    /// The fluents that always equal another, or its opposite if inverted.
    pub equal_fluents: Vec<(TermId, u32, bool)>,
    /// Which fluents hold initially.
    pub initial: Vec<bool>,
    /// What makes each fluent hold next.
    pub next: Vec<Wire>,
    /// The roles' names.
    pub roles: Vec<String>,
    /// The moves that may be legal, grouped by role.
    pub moves: Vec<TermId>,
    /// For each role, its moves as a range of `moves`.
    pub moves_of: Vec<std::ops::Range<u32>>,
    /// What makes each move legal.
    pub legal: Vec<Wire>,
    /// What makes each goal value hold: role, value, wire.
    pub goals: Vec<(u32, i64, Wire)>,
    /// What ends the game.
    pub terminal: Wire,
    /// Further wires of interest, which machines evaluate with the state: first those of `views`.
    pub formulas: Vec<Wire>,
    /// The atoms that were asked for when the rules were grounded ([`gdl::ground::ground_with`]): the relation's place in the
    /// question, and the arguments.
    pub views: Vec<(u32, Box<[TermId]>)>,
    /// Names, for printing.
    pub symbols: Symbols,
    /// Terms, for printing.
    pub terms: Terms,
}

impl Network {
    /// A term as text.
    pub fn name(&self, term: TermId) -> String {
        self.terms.display(&self.symbols, term).to_string()
    }

    /// The fluents of a state, given one bit each, as sorted text; constant ones included.
    pub fn fluent_names(&self, bits: &[u64]) -> Vec<String> {
        let holds = |fluent: &usize| bits[fluent / 64] >> (fluent % 64) & 1 == 1;
        let changing = (0..self.fluents.len()).filter(holds).map(|fluent| self.fluents[fluent]);
        let equal = self.equal_fluents.iter().filter(|(_, other, inverted)| holds(&(*other as usize)) != *inverted);
        let others = self.constant_fluents.iter().chain(equal.map(|(fluent, ..)| fluent)).copied();
        let mut names: Vec<String> = changing.chain(others).map(|fluent| self.name(fluent)).collect();
        names.sort_unstable();
        names
    }

    /// How many conjunctions there are.
    pub fn n_gates(&self) -> usize {
        self.gates.iter().filter(|gate| matches!(gate, Gate::And(_))).count()
    }

    /// How many inputs all conjunctions have together.
    pub fn n_edges(&self) -> usize {
        self.gates.iter().map(|gate| if let Gate::And(inputs) = gate { inputs.len() } else { 0 }).sum()
    }

    /// About how many bytes the network takes.
    pub fn bytes(&self) -> usize {
        self.gates.len() * size_of::<Gate>() + self.n_edges() * size_of::<Wire>() + self.terms.bytes()
    }

    /// Every output wire.
    pub fn outputs(&self) -> impl Iterator<Item = Wire> + '_ {
        let goals = self.goals.iter().map(|&(_, _, wire)| wire);
        self.legal.iter().chain(&self.next).chain(&self.formulas).copied().chain(goals).chain([self.terminal])
    }

    /// The wire of a fluent, given as the rules write it; `None` if it can never hold.
    pub fn fluent(&self, name: &str) -> Option<Wire> {
        let same = |&term: &TermId| self.name(term).eq_ignore_ascii_case(name);
        if let Some(index) = self.fluents.iter().position(same) {
            return Some(Wire::of(1 + index as u32));
        }
        if let Some(&(_, other, inverted)) = self.equal_fluents.iter().find(|(term, ..)| same(term)) {
            return Some(Wire::of(1 + other).invert_if(inverted));
        }
        self.constant_fluents.iter().any(same).then_some(Wire::TRUE)
    }

    /// What must hold together for a wire to be true, in ascending order.
    pub fn parts(&self, wire: Wire) -> Vec<Wire> {
        let (mut waiting, mut parts) = (vec![wire], Vec::new());
        while let Some(wire) = waiting.pop() {
            match &self.gates[wire.gate() as usize] {
                Gate::And(inputs) if !wire.is_inverted() => waiting.extend(inputs),
                _ => parts.push(wire),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// A new gate that is true where all of the wires are; for formulas over states.
    pub fn all_of(&mut self, wires: &[Wire]) -> Wire {
        let mut wires = wires.to_vec();
        if !build::normalize(&mut wires) {
            return Wire::FALSE;
        }
        match wires[..] {
            [] => Wire::TRUE,
            [wire] => wire,
            _ => {
                self.gates.push(Gate::And(wires.into()));
                Wire::of(self.gates.len() as u32 - 1)
            }
        }
    }

    /// A new gate that is true where any of the wires is.
    pub fn any_of(&mut self, wires: &[Wire]) -> Wire {
        let inverted: Vec<Wire> = wires.iter().map(|wire| wire.inverted()).collect();
        self.all_of(&inverted).inverted()
    }
}

/// Which gates the outputs depend on. A block is needed as a whole.
pub(crate) fn cone(gates: &[Gate], blocks: &[Block], outputs: impl Iterator<Item = Wire>) -> Vec<bool> {
    let mut needed = vec![false; gates.len()];
    outputs.for_each(|wire| needed[wire.gate() as usize] = true);
    let mut blocks = blocks.iter().rev().peekable();
    let mut gate = gates.len();
    while gate > 0 {
        gate -= 1;
        let inside = blocks.next_if(|block| block.gates.contains(&(gate as u32)));
        let range = inside.map_or(gate..gate + 1, |block| block.gates.start as usize..block.gates.end as usize);
        gate = range.start;
        if !range.clone().any(|gate| needed[gate]) {
            continue;
        }
        if let Some(block) = inside {
            block.loops.iter().for_each(|(_, wire)| needed[wire.gate() as usize] = true);
        }
        for gate in range {
            needed[gate] = true;
            if let Gate::And(inputs) = &gates[gate] {
                inputs.iter().for_each(|wire| needed[wire.gate() as usize] = true);
            }
        }
    }
    needed
}
