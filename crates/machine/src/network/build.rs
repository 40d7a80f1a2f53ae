//! From a ground program to a network.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gdl::Stop;
use gdl::ground::{GroundLiteral, GroundProgram, Signal};
use rustc_hash::FxHashMap;

use super::knowledge::{FluentLiteral, Knowledge, inputs};
use super::{Block, Gate, Network, Wire};

/// Why a ground program makes no useful network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// So many atoms depend on themselves that evaluating them until nothing changes would be slower than the rules.
    TooCyclic {
        /// The atoms that depend on themselves.
        n_atoms: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Making gates of it took more than this many looks at a wire.
    TooMuchWork {
        /// How many there may be.
        limit: u64,
    },
    /// The caller's [`Stop`] was raised.
    Stopped,
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::TooCyclic { n_atoms, limit } => {
                write!(f, "{n_atoms} atoms depend on themselves, more than the budget of {limit}")
            }
            BuildError::TooMuchWork { limit } => write!(f, "over the budget of {limit} wires looked at"),
            BuildError::Stopped => write!(f, "stopped before it was done"),
        }
    }
}

/// Builds the network of a ground program and simplifies it, unless it is stopped before.
pub fn build(ground: GroundProgram, stop: &Stop) -> Result<Network, BuildError> {
    let outline = Outline::new(&ground);
    // A cycle is evaluated at most as often as it has atoms.
    let cycles = outline.components.iter().map(Vec::len).filter(|&len| len > 1);
    let evaluated = cycles.clone().map(|len| len.saturating_mul(len)).fold(0, usize::saturating_add);
    if evaluated > MAX_CYCLIC_ATOMS * MAX_CYCLIC_ATOMS {
        return Err(BuildError::TooCyclic { n_atoms: cycles.sum(), limit: MAX_CYCLIC_ATOMS });
    }
    simplify(&ground, &outline, stop)
}

/// How many atoms may depend on each other in one cycle.
const MAX_CYCLIC_ATOMS: usize = 50_000;

fn simplify(ground: &GroundProgram, outline: &Outline, stop: &Stop) -> Result<Network, BuildError> {
    let mut known = Knowledge::none(ground);
    // Step 1. Constants.
    let mut circuit = Circuit::new(ground, outline, &known, stop)?;
    known.find_constants(ground, &circuit, stop).ok_or(BuildError::Stopped)?;
    circuit = Circuit::new(ground, outline, &known, stop)?;
    if ground.literals.len() > LARGE {
        return Ok(finish(ground, &circuit, &known));
    }
    // Step 2. Equal fluents, such as the turns of two roles.
    if circuit.most_evaluated() < MAX_EVALUATED && known.suppose_equalities(ground, finish(ground, &circuit, &known)) {
        for round in 0.. {
            circuit = Circuit::new(ground, outline, &known, stop)?;
            if known.keep_proved_equalities(ground, &circuit) {
                break;
            }
            // Each round may refute a single one that others were proved by.
            if round == MAX_ROUNDS {
                known.equals.fill(None);
            }
        }
    }
    // Step 3. What a legal move says about the state.
    known.find_guards(ground, &circuit);
    circuit = Circuit::new(ground, outline, &known, stop)?;
    Ok(finish(ground, &circuit, &known))
}

/// How many gates the worst state may take to evaluate if random play is to look for equal fluents.
const MAX_EVALUATED: usize = 100_000_000;
/// How often the proof of equalities is begun again before all of them are given up.
const MAX_ROUNDS: u32 = 30;
/// How often each literal may be looked at while gates are made, on average.
const WORK_PER_LITERAL: u64 = 300;

/// The number of ground literals beyond which only constants are looked for: each further step takes seconds there.
const LARGE: usize = 4_000_000;

/// The gates of a ground program, with the wire of each atom.
pub(super) struct Circuit {
    pub(super) gates: Vec<Gate>,
    pub(super) blocks: Vec<Block>,
    pub(super) atoms: Vec<Wire>,
    known: FxHashMap<Box<[Wire]>, u32>,
    /// The gates of the moves.
    moves: std::ops::Range<u32>,
    /// The role of each move, and the wires of the moves that each role may ever make.
    role_of: Vec<u32>,
    moves_of: Vec<Vec<Wire>>,
    /// The wire of each move: its own gate, or what forces it.
    move_wires: Vec<Wire>,
    /// What is true whenever a move is made.
    guards: Vec<Vec<Wire>>,
    /// The gates that say that none of some moves is made.
    none_of: FxHashMap<u32, Vec<u64>>,
    effort: Effort,
}

/// How much has been done to make gates, and whether that is enough.
struct Effort {
    work: u64,
    limit: u64,
    /// The work at which to ask `stop` again.
    ask_at: u64,
    stop: Stop,
    given_up: Option<BuildError>,
}

impl Effort {
    fn new(limit: u64, stop: &Stop) -> Effort {
        Effort { work: 0, limit, ask_at: 0, stop: stop.clone(), given_up: None }
    }

    /// Counts work; `false` if no more is to be done.
    fn spend(&mut self, work: usize) -> bool {
        self.work += 1 + work as u64;
        if self.work >= self.ask_at {
            self.ask_at = self.work + (1 << 18);
            if self.work > self.limit {
                self.given_up = Some(BuildError::TooMuchWork { limit: self.limit });
            } else if self.stop.is_raised() {
                self.given_up = Some(BuildError::Stopped);
            }
        }
        self.given_up.is_none()
    }
}

fn fluent_wire(knowledge: &Knowledge, literal: FluentLiteral) -> Wire {
    let FluentLiteral { fluent, inverted } = literal;
    let wire = match (knowledge.constants[fluent as usize], knowledge.equals[fluent as usize]) {
        (Some(true), _) => Wire::TRUE,
        (Some(false), _) => Wire::FALSE,
        (None, Some(other)) => Wire::of(1 + other.fluent).invert_if(other.inverted),
        (None, None) => Wire::of(1 + fluent),
    };
    wire.invert_if(inverted)
}

/// What is settled before any gate is made.
struct Outline {
    /// The atoms that always or never hold.
    values: Vec<Option<bool>>,
    /// The strongly connected components of the others, dependencies first.
    components: Vec<Vec<u32>>,
}

impl Outline {
    fn new(ground: &GroundProgram) -> Outline {
        let values = settled_atoms(ground);
        let open = |atom: u32| {
            let others =
                ground.instances(atom).filter(|instance| !instance.iter().any(|literal| is_false(literal, &values)));
            others.flatten().filter_map(|literal| match literal.signal {
                Signal::Atom(other) if values[other as usize].is_none() => Some(other as usize),
                _ => None,
            })
        };
        let successors: Vec<Vec<usize>> = (0..ground.atoms.len() as u32)
            .map(|atom| {
                let mut below: Vec<usize> = Vec::new();
                if values[atom as usize].is_none() {
                    below.extend(open(atom));
                }
                below.sort_unstable();
                below.dedup();
                below
            })
            .collect();
        let components = gdl::strongly_connected_components(&successors).into_iter();
        let components = components.map(|members| members.into_iter().map(|atom| atom as u32).collect::<Vec<u32>>());
        let components = components.filter(|members| values[members[0] as usize].is_none()).collect();
        Outline { values, components }
    }
}

fn is_false(literal: &GroundLiteral, values: &[Option<bool>]) -> bool {
    matches!(literal.signal, Signal::Atom(atom) if values[atom as usize] == Some(literal.negated))
}

/// The atoms that hold whatever the state, or never do: those with an instance without literals or without any instance,
/// and what follows from them. A cycle is often none without them.
fn settled_atoms(ground: &GroundProgram) -> Vec<Option<bool>> {
    // Step 1. Where each atom is read. Each instance counts its open literals, each atom its open instances.
    let mut reads: Vec<(u32, u32)> = Vec::new();
    let mut atom_of = vec![0u32; ground.instances.len()];
    for (atom, range) in ground.atoms.iter().enumerate() {
        atom_of[range.start as usize..range.end as usize].fill(atom as u32);
    }
    let literals = |instance: usize| {
        let range = &ground.instances[instance];
        &ground.literals[range.start as usize..range.end as usize]
    };
    let mut n_literals: Vec<u32> = Vec::with_capacity(ground.instances.len());
    for instance in 0..ground.instances.len() {
        n_literals.push(literals(instance).len() as u32);
        for literal in literals(instance) {
            if let Signal::Atom(atom) = literal.signal {
                reads.push((atom, (instance as u32) << 1 | u32::from(literal.negated)));
            }
        }
    }
    reads.sort_unstable();
    let mut n_instances: Vec<u32> = ground.atoms.iter().map(|range| range.end - range.start).collect();
    // Step 2. Begin with what is settled by itself, and pass it on.
    const DEAD: u32 = u32::MAX;
    let mut values: Vec<Option<bool>> = vec![None; ground.atoms.len()];
    let mut waiting: Vec<(u32, bool)> = Vec::new();
    waiting.extend((0..).zip(&n_instances).filter(|(_, n)| **n == 0).map(|(atom, _)| (atom, false)));
    waiting.extend(
        (0..).zip(&n_literals).filter(|(_, n)| **n == 0).map(|(instance, _): (usize, _)| (atom_of[instance], true)),
    );
    while let Some((atom, value)) = waiting.pop() {
        if values[atom as usize].is_some() {
            continue;
        }
        values[atom as usize] = Some(value);
        let from = reads.partition_point(|&(other, _)| other < atom);
        for &(_, read) in reads[from..].iter().take_while(|&&(other, _)| other == atom) {
            let (instance, negated) = ((read >> 1) as usize, read & 1 == 1);
            if n_literals[instance] == DEAD {
                continue;
            }
            let reader = atom_of[instance];
            if value != negated {
                n_literals[instance] -= 1;
                if n_literals[instance] == 0 {
                    waiting.push((reader, true));
                }
            } else {
                n_literals[instance] = DEAD;
                n_instances[reader as usize] -= 1;
                if n_instances[reader as usize] == 0 {
                    waiting.push((reader, false));
                }
            }
        }
    }
    values
}

impl Circuit {
    fn new(
        ground: &GroundProgram,
        outline: &Outline,
        knowledge: &Knowledge,
        stop: &Stop,
    ) -> Result<Circuit, BuildError> {
        let limit = WORK_PER_LITERAL * (1_000_000 + ground.literals.len() as u64);
        let mut gates = vec![Gate::False];
        gates.extend((0..ground.fluents.len() as u32).map(Gate::Fluent));
        gates.extend((0..ground.moves.len() as u32).map(Gate::Move));
        let atoms =
            outline.values.iter().map(|&value| if value == Some(true) { Wire::TRUE } else { Wire::FALSE }).collect();
        let first_move = 1 + ground.fluents.len() as u32;
        let move_wire = |chosen: usize| match (knowledge.dead_moves[chosen], knowledge.forced[chosen]) {
            (true, _) => Wire::FALSE,
            (false, Some(condition)) => fluent_wire(knowledge, condition),
            (false, None) => Wire::of(first_move + chosen as u32),
        };
        let move_wires: Vec<Wire> = (0..ground.moves.len()).map(move_wire).collect();
        let mut moves_of = vec![Vec::new(); ground.roles.len()];
        for (chosen, &(role, _)) in ground.moves.iter().enumerate().filter(|(chosen, _)| !knowledge.dead_moves[*chosen])
        {
            moves_of[role as usize].push(move_wires[chosen]);
        }
        let guard = |guards: &Vec<FluentLiteral>| guards.iter().map(|&guard| fluent_wire(knowledge, guard)).collect();
        let mut circuit = Circuit {
            gates,
            blocks: Vec::new(),
            atoms,
            known: FxHashMap::default(),
            moves: first_move..first_move + ground.moves.len() as u32,
            role_of: ground.moves.iter().map(|&(role, _)| role).collect(),
            moves_of,
            move_wires,
            guards: knowledge.guards.iter().map(guard).collect(),
            none_of: FxHashMap::default(),
            effort: Effort::new(limit, stop),
        };
        for component in &outline.components {
            circuit.component(ground, component, knowledge);
            if let Some(why) = circuit.effort.given_up {
                return Err(why);
            }
        }
        Ok(circuit)
    }

    /// How many gates an evaluation may take at most: a block is evaluated again as long as a loop changes.
    fn most_evaluated(&self) -> usize {
        let block = |block: &Block| block.gates.len().saturating_mul(block.loops.len());
        self.blocks.iter().map(block).fold(self.gates.len(), usize::saturating_add)
    }

    fn component(&mut self, ground: &GroundProgram, component: &[u32], knowledge: &Knowledge) {
        let depends =
            |atom: u32, on: u32| ground.instances(atom).flatten().any(|literal| literal.signal == Signal::Atom(on));
        if let &[atom] = component
            && !depends(atom, atom)
        {
            self.atoms[atom as usize] = self.atom(ground, atom, knowledge, None);
            return;
        }
        // Step 1. An order in which few atoms are needed before they are built: depth first.
        let order = depth_first(ground, component);
        let place: FxHashMap<u32, usize> = order.iter().enumerate().map(|(place, &atom)| (atom, place)).collect();
        // Step 2. A loop for each atom that an earlier or the same one needs.
        let first_gate = self.gates.len() as u32;
        let mut loops: FxHashMap<u32, u32> = FxHashMap::default();
        for (position, &atom) in order.iter().enumerate() {
            for literal in ground.instances(atom).flatten() {
                if let Signal::Atom(other) = literal.signal
                    && place.get(&other).is_some_and(|&other| other >= position)
                    && !loops.contains_key(&other)
                {
                    loops.insert(other, self.gates.len() as u32);
                    self.gates.push(Gate::Loop(other));
                }
            }
        }
        // Step 3. The gates. Gates of a block are not shared with others that look alike, since they are evaluated apart.
        let outer = std::mem::take(&mut self.known);
        for (position, &atom) in order.iter().enumerate() {
            let pending = |other: u32| place.get(&other).is_some_and(|&other| other >= position);
            let wire =
                self.atom(ground, atom, knowledge, Some(&|other| pending(other).then(|| Wire::of(loops[&other]))));
            self.atoms[atom as usize] = wire;
        }
        self.known = outer;
        let mut cut: Vec<(u32, Wire)> = loops.iter().map(|(&atom, &gate)| (gate, self.atoms[atom as usize])).collect();
        cut.sort_unstable();
        self.blocks.push(Block { gates: first_gate..self.gates.len() as u32, loops: cut });
    }

    /// The wire of an atom: the disjunction of its instances. `cut` gives a loop for atoms that are not built yet.
    fn atom(
        &mut self,
        ground: &GroundProgram,
        atom: u32,
        knowledge: &Knowledge,
        cut: Option<&dyn Fn(u32) -> Option<Wire>>,
    ) -> Wire {
        let mut alternatives = Vec::new();
        for instance in ground.instances(atom) {
            let mut inputs = Vec::with_capacity(instance.len());
            for literal in instance {
                let wire = match literal.signal {
                    Signal::Fluent(fluent) => fluent_wire(knowledge, FluentLiteral { fluent, inverted: false }),
                    Signal::Move(chosen) => self.move_wires[chosen as usize],
                    Signal::Atom(other) => cut.and_then(|cut| cut(other)).unwrap_or_else(|| self.atoms[other as usize]),
                };
                inputs.push(wire.invert_if(literal.negated));
            }
            if normalize(&mut inputs) {
                alternatives.push(inputs);
            }
        }
        self.any(alternatives)
    }

    /// Whether any alternative holds, each a conjunction of wires. What many alternatives have in common is taken out:
    /// `a and b or a and c` becomes `a and (b or c)`, the most frequent wire first.
    fn any(&mut self, mut alternatives: Vec<Vec<Wire>>) -> Wire {
        if alternatives.iter().any(Vec::is_empty) {
            return Wire::TRUE;
        }
        if !self.effort.spend(alternatives.iter().map(Vec::len).sum()) {
            return Wire::FALSE;
        }
        // Step 1. Where each wire occurs. The heap holds the number of alternatives that a wire had when it was put there.
        let mut places: FxHashMap<Wire, Vec<u32>> = FxHashMap::default();
        for (index, wires) in alternatives.iter().enumerate() {
            wires.iter().for_each(|&wire| places.entry(wire).or_default().push(index as u32));
        }
        places.retain(|_, places| places.len() > 1);
        let mut counts: FxHashMap<Wire, u32> =
            places.iter().map(|(&wire, places)| (wire, places.len() as u32)).collect();
        // The lowest of equally frequent wires goes first, so that the result does not depend on the order of the map.
        let mut heap: BinaryHeap<(u32, Reverse<Wire>)> =
            counts.iter().map(|(&wire, &count)| (count, Reverse(wire))).collect();
        // Step 2. Take the most frequent wire out of its alternatives, as long as one occurs twice.
        let mut terms = Vec::new();
        while let Some((count, Reverse(common))) = heap.pop() {
            let left = counts[&common];
            if left != count {
                if left > 1 {
                    heap.push((left, Reverse(common)));
                }
                continue;
            }
            let mut rest = Vec::with_capacity(count as usize);
            for &place in &places[&common] {
                let mut wires = std::mem::take(&mut alternatives[place as usize]);
                if wires.is_empty() {
                    continue;
                }
                for wire in &wires {
                    if let Some(count) = counts.get_mut(wire) {
                        *count -= 1;
                    }
                }
                wires.retain(|&wire| wire != common);
                rest.push(wires);
            }
            let rest = self.any(rest);
            terms.push(self.and(&[common, rest]).inverted());
        }
        // Step 3. A disjunction is a conjunction with everything inverted.
        let single = alternatives.iter().filter(|wires| !wires.is_empty());
        terms.extend(single.map(|wires| self.and(wires).inverted()));
        self.and(&terms).inverted()
    }

    /// The conjunction of the wires, simplified.
    fn and(&mut self, inputs: &[Wire]) -> Wire {
        let mut wires = inputs.to_vec();
        if !self.effort.spend(wires.len())
            || !normalize(&mut wires)
            || !self.use_guards(&mut wires)
            || !self.use_one_move_each(&mut wires)
        {
            return Wire::FALSE;
        }
        self.join_cases(&mut wires);
        self.absorb(&mut wires);
        match wires[..] {
            [] => Wire::TRUE,
            [Wire::FALSE, ..] => Wire::FALSE,
            [wire] => wire,
            _ => {
                let next = self.gates.len() as u32;
                let gate = *self.known.entry(wires.as_slice().into()).or_insert(next);
                if gate == next {
                    self.note_moves(gate, &wires);
                    self.gates.push(Gate::And(wires.into()));
                }
                Wire::of(gate)
            }
        }
    }

    /// Remembers a gate that says that none of some moves is made.
    fn note_moves(&mut self, gate: u32, wires: &[Wire]) {
        /// Words of all sets together: 128 MiB.
        const MAX_WORDS: usize = 16 << 20;
        let n_words = self.role_of.len().div_ceil(64);
        let excludes_move = |wire: &Wire| wire.is_inverted() && self.moves.contains(&wire.gate());
        if self.none_of.len() * n_words < MAX_WORDS && wires.iter().all(excludes_move) {
            let mut set = vec![0u64; n_words];
            for wire in wires {
                let chosen = wire.gate() - self.moves.start;
                set[chosen as usize / 64] |= 1 << (chosen % 64);
            }
            self.none_of.insert(gate, set);
        }
    }

    /// Replaces several gates that each exclude some moves by the moves that they exclude, where that is most moves of a
    /// role, so that [`Circuit::use_one_move_each`] can turn them round.
    fn spread_moves(&mut self, wires: &mut Vec<Wire>) {
        let none_of = &self.none_of;
        let is_set = |wire: &Wire| !wire.is_inverted() && none_of.contains_key(&wire.gate());
        let n_sets = wires.iter().filter(|wire| is_set(wire)).count();
        if n_sets < 2 || !self.effort.spend((n_sets + 64) * self.role_of.len().div_ceil(64)) {
            return;
        }
        let mut union = vec![0u64; self.role_of.len().div_ceil(64)];
        for wire in wires.iter().filter(|wire| is_set(wire)) {
            union.iter_mut().zip(&self.none_of[&wire.gate()]).for_each(|(word, more)| *word |= more);
        }
        let excluded: Vec<u32> = (0..self.role_of.len() as u32)
            .filter(|&chosen| union[chosen as usize / 64] >> (chosen % 64) & 1 == 1)
            .collect();
        // Moves are grouped by role.
        let most_of_a_role = excluded
            .chunk_by(|&left, &right| self.role_of[left as usize] == self.role_of[right as usize])
            .any(|of_role| 2 * of_role.len() > self.moves_of[self.role_of[of_role[0] as usize] as usize].len());
        if most_of_a_role {
            wires.retain(|wire| !is_set(wire));
            wires.extend(excluded.into_iter().map(|chosen| Wire::of(self.moves.start + chosen).inverted()));
            wires.sort_unstable();
            wires.dedup();
        }
    }

    /// Uses that each role makes exactly one move: one move excludes the others, and to make none of most moves is to make
    /// one of the rest. Returns `false` if the wires can't all be true.
    fn use_one_move_each(&mut self, wires: &mut Vec<Wire>) -> bool {
        let first_move = self.moves.start;
        self.spread_moves(wires);
        let moves = wires.iter().filter(|wire| self.moves.contains(&wire.gate()));
        let mut roles: Vec<usize> =
            moves.map(|wire| self.role_of[(wire.gate() - first_move) as usize] as usize).collect();
        roles.sort_unstable();
        roles.dedup();
        for role in roles {
            if !self.effort.spend(wires.len()) {
                return true;
            }
            let of_role = |wire: &Wire, circuit: &Circuit| {
                circuit.moves.contains(&wire.gate())
                    && circuit.role_of[(wire.gate() - first_move) as usize] == role as u32
            };
            let n_made = wires.iter().filter(|wire| !wire.is_inverted() && of_role(wire, self)).count();
            if n_made > 1 {
                return false;
            }
            let excluded: Vec<Wire> =
                wires.iter().copied().filter(|wire| wire.is_inverted() && of_role(wire, self)).collect();
            if n_made == 1 {
                wires.retain(|wire| excluded.binary_search(wire).is_err());
                continue;
            }
            let n_moves = self.moves_of[role].len();
            if 2 * excluded.len() > n_moves && self.effort.spend(n_moves) {
                let others = self.moves_of[role].iter().map(|wire| wire.inverted());
                let others: Vec<Wire> = others.filter(|wire| excluded.binary_search(wire).is_err()).collect();
                let one_of_the_rest = self.and(&others).inverted();
                wires.retain(|wire| excluded.binary_search(wire).is_err());
                wires.push(one_of_the_rest);
                if !normalize(wires) {
                    return false;
                }
            }
        }
        true
    }

    /// Uses that only legal moves are made: a move makes its guards superfluous. Returns `false` if the wires can't all be
    /// true.
    fn use_guards(&mut self, wires: &mut Vec<Wire>) -> bool {
        for index in 0..wires.len() {
            let Some(&wire) = wires.get(index) else { break };
            if !wire.is_inverted() && self.moves.contains(&wire.gate()) {
                let guards = &self.guards[(wire.gate() - self.moves.start) as usize];
                if !self.effort.spend(guards.len() * wires.len()) {
                    break;
                }
                if guards.iter().any(|guard| wires.contains(&guard.inverted())) {
                    return false;
                }
                wires.retain(|other| !guards.contains(other));
            }
        }
        true
    }

    /// Whether `wire` being true makes `conclusion` true, as far as a short look tells.
    fn implies(&self, wire: Wire, conclusion: Wire, depth: u32, looks_left: &Cell<u32>) -> bool {
        if wire == conclusion {
            return true;
        }
        let Some(left) = looks_left.get().checked_sub(1) else { return false };
        looks_left.set(left);
        match &self.gates[wire.gate() as usize] {
            Gate::Move(chosen) if !wire.is_inverted() => self.guards[*chosen as usize].contains(&conclusion),
            Gate::And(inputs) if depth > 0 && wire.is_inverted() => {
                inputs.iter().all(|input| self.implies(input.inverted(), conclusion, depth - 1, looks_left))
            }
            Gate::And(inputs) if depth > 0 => {
                inputs.iter().any(|&input| self.implies(input, conclusion, depth - 1, looks_left))
            }
            _ => false,
        }
    }

    /// Joins two cases that exclude each other: `(c implies a) and (not c implies b)` is `a or b`, if `a` implies `c` and
    /// `b` implies `not c`. Typical cases are whose turn it is.
    fn join_cases(&mut self, wires: &mut Vec<Wire>) {
        const MAX_INPUTS: usize = 16;
        const DEPTH: u32 = 3;
        /// How many wires a search for cases looks at.
        const LOOKS: u32 = 20_000;
        if wires.len() > MAX_INPUTS {
            return;
        }
        let looks_left = Cell::new(LOOKS);
        // A case is `not (c and not a1 and not a2 ...)` where each `a` implies `c`.
        let case = |circuit: &Circuit, wire: Wire| -> Option<(Wire, Vec<Wire>)> {
            let Gate::And(inputs) = &circuit.gates[wire.gate() as usize] else { return None };
            let condition = inputs.iter().copied().find(|&condition| {
                matches!(circuit.gates[condition.gate() as usize], Gate::Fluent(_))
                    && inputs.iter().all(|&input| {
                        input == condition || circuit.implies(input.inverted(), condition, DEPTH, &looks_left)
                    })
            })?;
            Some((condition, inputs.iter().copied().filter(|&input| input != condition).collect()))
        };
        let inverted: Vec<Wire> = wires.iter().copied().filter(|wire| wire.is_inverted()).collect();
        let cases: Vec<(Wire, Wire, Vec<Wire>)> = inverted
            .iter()
            .filter_map(|&wire| case(self, wire).map(|(condition, rest)| (wire, condition, rest)))
            .collect();
        self.effort.spend((LOOKS - looks_left.get()) as usize);
        for (index, (first, condition, rest)) in cases.iter().enumerate() {
            let opposite = cases[index + 1..].iter().find(|(_, other, _)| *other == condition.inverted());
            if let Some((second, _, other_rest)) = opposite {
                let none: Vec<Wire> = rest.iter().chain(other_rest).copied().collect();
                let joined = self.and(&none).inverted();
                wires.retain(|wire| wire != first && wire != second);
                wires.push(joined);
                if !normalize(wires) {
                    *wires = vec![Wire::FALSE];
                }
                return;
            }
        }
    }

    /// Drops what one input makes superfluous in another: `a and not (a and b)` is `a and not b`, and
    /// `a and not (b and not a)` is `a`.
    fn absorb(&mut self, wires: &mut Vec<Wire>) {
        const MAX_INPUTS: usize = 64;
        if wires.len() > MAX_INPUTS {
            return;
        }
        let mut index = 0;
        while index < wires.len() {
            let wire = wires[index];
            if !self.effort.spend(inputs(&self.gates[wire.gate() as usize]).len()) {
                return;
            }
            let Gate::And(parts) = &self.gates[wire.gate() as usize] else {
                index += 1;
                continue;
            };
            if !wire.is_inverted() || !parts.iter().any(|part| contains_gate(wires, part.gate())) {
                index += 1;
                continue;
            }
            if parts.iter().any(|part| wires.binary_search(&part.inverted()).is_ok()) {
                wires.remove(index);
                continue;
            }
            let rest: Vec<Wire> = parts.iter().copied().filter(|part| wires.binary_search(part).is_err()).collect();
            if rest.len() == parts.len() {
                index += 1;
                continue;
            }
            let shorter = self.and(&rest).inverted();
            wires.remove(index);
            if shorter == Wire::FALSE {
                *wires = vec![Wire::FALSE];
                return;
            }
            if shorter != Wire::TRUE {
                match wires.binary_search(&shorter) {
                    Ok(_) => {}
                    Err(at) => wires.insert(at, shorter),
                }
                if wires.binary_search(&shorter.inverted()).is_ok() {
                    *wires = vec![Wire::FALSE];
                    return;
                }
            }
            index = 0;
        }
    }
}

/// Sorts wires and drops repeated and true ones; `false` if they can't all be true.
pub(super) fn normalize(wires: &mut Vec<Wire>) -> bool {
    wires.retain(|&wire| wire != Wire::TRUE);
    wires.sort_unstable();
    wires.dedup();
    // Opposite wires of a gate are neighbours.
    wires.first() != Some(&Wire::FALSE) && !wires.windows(2).any(|pair| pair[0].gate() == pair[1].gate())
}

fn contains_gate(wires: &[Wire], gate: u32) -> bool {
    wires.binary_search(&Wire::of(gate)).is_ok() || wires.binary_search(&Wire::of(gate).inverted()).is_ok()
}

/// The atoms of a component in the order in which a depth-first walk leaves them.
fn depth_first(ground: &GroundProgram, component: &[u32]) -> Vec<u32> {
    let inside: rustc_hash::FxHashSet<u32> = component.iter().copied().collect();
    let below = |atom: u32| -> Vec<u32> {
        let atoms = ground.instances(atom).flatten().filter_map(|literal| match literal.signal {
            Signal::Atom(other) if inside.contains(&other) => Some(other),
            _ => None,
        });
        atoms.collect()
    };
    let mut seen = rustc_hash::FxHashSet::default();
    let mut order = Vec::new();
    for &root in component {
        if !seen.insert(root) {
            continue;
        }
        let mut stack = vec![(root, below(root), 0)];
        while let Some((atom, next, followed)) = stack.last_mut() {
            match next.get(*followed) {
                Some(&other) => {
                    *followed += 1;
                    if seen.insert(other) {
                        stack.push((other, below(other), 0));
                    }
                }
                None => {
                    order.push(*atom);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// Drops the gates that no output needs and renumbers the rest.
fn finish(ground: &GroundProgram, circuit: &Circuit, knowledge: &Knowledge) -> Network {
    let n_fluents = ground.fluents.len();
    let kept = |&fluent: &usize| knowledge.constants[fluent].is_none() && knowledge.equals[fluent].is_none();
    let kept_fluents: Vec<usize> = (0..n_fluents).filter(kept).collect();
    let kept_moves: Vec<usize> = (0..ground.moves.len()).filter(|&chosen| !knowledge.dead_moves[chosen]).collect();
    let atom = |atom: u32| circuit.atoms[atom as usize];
    let next: Vec<Wire> = kept_fluents.iter().map(|&fluent| ground.next[fluent].map_or(Wire::FALSE, atom)).collect();
    let legal: Vec<Wire> = kept_moves.iter().map(|&chosen| atom(ground.legal[chosen])).collect();
    let terminal = ground.terminal.map_or(Wire::FALSE, atom);
    let goal_value = |term| ground.terms.display(&ground.symbols, term).to_string().parse::<i64>().ok();
    let goals: Vec<(u32, i64, Wire)> = ground
        .goals
        .iter()
        .filter_map(|&(role, value, goal)| Some((role, goal_value(value)?, atom(goal))))
        .filter(|&(_, _, wire)| wire != Wire::FALSE)
        .collect();
    let formulas: Vec<Wire> = ground.views.iter().map(|&(_, _, view)| atom(view)).collect();
    // Step 1. Mark what the outputs need, from the highest gate down. A block is needed as a whole.
    let mut needed = vec![false; circuit.gates.len()];
    needed[0] = true;
    for &wire in
        next.iter().chain(&legal).chain(&formulas).chain([&terminal]).chain(goals.iter().map(|(_, _, wire)| wire))
    {
        needed[wire.gate() as usize] = true;
    }
    let mut block_of = vec![None; circuit.gates.len()];
    for (number, block) in circuit.blocks.iter().enumerate() {
        block.gates.clone().for_each(|gate| block_of[gate as usize] = Some(number));
    }
    let mut block_needed = vec![false; circuit.blocks.len()];
    for gate in (0..circuit.gates.len()).rev() {
        if !needed[gate] {
            continue;
        }
        if let Some(number) = block_of[gate]
            && !std::mem::replace(&mut block_needed[number], true)
        {
            // Loop targets may lie above this gate but inside the block: mark the block's closure now.
            mark_block(circuit, &circuit.blocks[number], &mut needed);
        }
        if let Gate::And(inputs) = &circuit.gates[gate] {
            inputs.iter().for_each(|wire| needed[wire.gate() as usize] = true);
        }
    }
    // Step 2. Renumber: false, fluents, moves, then the other gates in their order.
    let mut number = vec![u32::MAX; circuit.gates.len()];
    number[0] = 0;
    let mut gates = vec![Gate::False];
    for &fluent in &kept_fluents {
        number[1 + fluent] = gates.len() as u32;
        gates.push(Gate::Fluent(gates.len() as u32 - 1));
    }
    for (index, &chosen) in kept_moves.iter().enumerate() {
        number[1 + n_fluents + chosen] = gates.len() as u32;
        gates.push(Gate::Move(index as u32));
    }
    let first_inner = 1 + n_fluents + ground.moves.len();
    let mut block_start = vec![None; circuit.blocks.len()];
    let mut block_end = vec![0; circuit.blocks.len()];
    for gate in first_inner..circuit.gates.len() {
        if !needed[gate] {
            continue;
        }
        if let Some(block) = block_of[gate] {
            block_start[block].get_or_insert(gates.len() as u32);
            block_end[block] = gates.len() as u32 + 1;
        }
        number[gate] = gates.len() as u32;
        gates.push(match &circuit.gates[gate] {
            Gate::And(inputs) => Gate::And(inputs.iter().map(|&wire| renumber(wire, &number)).collect()),
            other => other.clone(),
        });
    }
    let blocks = circuit
        .blocks
        .iter()
        .zip(block_start.iter().zip(&block_end))
        .filter_map(|(block, (start, &end))| {
            let kept = block.loops.iter().filter(|(gate, _)| needed[*gate as usize]);
            let loops = kept.map(|&(gate, wire)| (number[gate as usize], renumber(wire, &number))).collect();
            Some(Block { gates: (*start)?..end, loops })
        })
        .collect();
    // Step 3. Names.
    let roles: Vec<String> =
        ground.roles.iter().map(|&role| ground.terms.display(&ground.symbols, role).to_string()).collect();
    let role_of: Vec<u32> = kept_moves.iter().map(|&chosen| ground.moves[chosen].0).collect();
    let moves_of = (0..roles.len() as u32)
        .map(|role| {
            role_of.partition_point(|&other| other < role) as u32
                ..role_of.partition_point(|&other| other <= role) as u32
        })
        .collect();
    let holds_initially: Vec<bool> = {
        let mut holds = vec![false; n_fluents];
        ground.initial.iter().for_each(|&fluent| holds[fluent as usize] = true);
        holds
    };
    let always = |&fluent: &usize| knowledge.constants[fluent] == Some(true);
    let equal = |fluent: usize| {
        let other = knowledge.equals[fluent]?;
        Some((ground.fluents[fluent], number[1 + other.fluent as usize] - 1, other.inverted))
    };
    let wires = |wires: &[Wire]| wires.iter().map(|&wire| renumber(wire, &number)).collect();
    Network {
        gates,
        blocks,
        constant_fluents: (0..n_fluents).filter(always).map(|fluent| ground.fluents[fluent]).collect(),
        equal_fluents: (0..n_fluents).filter_map(equal).collect(),
        fluents: kept_fluents.iter().map(|&fluent| ground.fluents[fluent]).collect(),
        initial: kept_fluents.iter().map(|&fluent| holds_initially[fluent]).collect(),
        next: wires(&next),
        roles,
        moves: kept_moves.iter().map(|&chosen| ground.moves[chosen].1).collect(),
        moves_of,
        legal: wires(&legal),
        goals: goals.iter().map(|&(role, value, wire)| (role, value, renumber(wire, &number))).collect(),
        terminal: renumber(terminal, &number),
        formulas: wires(&formulas),
        views: ground.views.iter().map(|(view, args, _)| (*view, args.clone())).collect(),
        symbols: ground.symbols.clone(),
        terms: ground.terms.clone(),
    }
}

/// Marks what the marked gates of a block need, loops followed.
fn mark_block(circuit: &Circuit, block: &Block, needed: &mut [bool]) {
    let targets: FxHashMap<u32, Wire> = block.loops.iter().copied().collect();
    let mut waiting: Vec<u32> = block.gates.clone().filter(|&gate| needed[gate as usize]).collect();
    while let Some(gate) = waiting.pop() {
        let below: &[Wire] = match &circuit.gates[gate as usize] {
            Gate::And(inputs) => inputs,
            _ => targets.get(&gate).map_or(&[], std::slice::from_ref),
        };
        for wire in below {
            let is_new = !std::mem::replace(&mut needed[wire.gate() as usize], true);
            if is_new && block.gates.contains(&wire.gate()) {
                waiting.push(wire.gate());
            }
        }
    }
}

fn renumber(wire: Wire, number: &[u32]) -> Wire {
    let gate = number[wire.gate() as usize];
    debug_assert_ne!(gate, u32::MAX, "a needed wire has a number");
    Wire::of(gate).invert_if(wire.is_inverted())
}
