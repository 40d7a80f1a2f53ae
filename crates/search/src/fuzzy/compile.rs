//! The formulas of goals and of the end, ready to be judged.

use gdl::ground::{GroundProgram, Signal};
use insight::structure::Structure;
use insight::universe::{Circuit, Universe};
use machine::network::Wire;
use rustc_hash::FxHashMap;

/// What the goals and the end of a game say about a state: ground rules, in an order in which they can be judged.
#[derive(Debug)]
pub struct Compiled {
    pub(super) fluents: Vec<Fluent>,
    pub(super) n_atoms: usize,
    /// The instances of each atom, as a range of `instances`; the literals of each, as a range of `literals`.
    atoms: Vec<std::ops::Range<u32>>,
    instances: Vec<std::ops::Range<u32>>,
    literals: Vec<Literal>,
    pub(super) steps: Vec<Step>,
    /// The steps that read each atom.
    pub(super) readers: Vec<Vec<u32>>,
    /// Role, value, atom.
    pub(super) goals: Vec<(u32, i64, u32)>,
    pub(super) terminal: Option<u32>,
}

/// A fluent that formulas read, or that such a one is measured against.
#[derive(Debug)]
pub(super) struct Fluent {
    pub(super) wire: StateWire,
    /// Fluents of the same kind with how far they are from this one, as a part of what is possible.
    pub(super) near: Vec<(u32, f32)>,
    /// The steps that read it.
    pub(super) readers: Vec<u32>,
}

/// A wire that is a fluent of the network, its opposite, or constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateWire(Wire);

impl StateWire {
    pub(super) fn holds(self, bits: &[u64]) -> bool {
        let value = match self.0.gate() {
            0 => false,
            gate => bits[(gate as usize - 1) / 64] >> ((gate - 1) % 64) & 1 == 1,
        };
        value != self.0.is_inverted()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    pub(super) number: u32,
    pub(super) is_fluent: bool,
    pub(super) negated: bool,
}

/// What is judged together.
#[derive(Debug)]
pub(super) enum Step {
    Atom(u32),
    /// Atoms that depend on each other.
    Cycle(Vec<u32>),
}

impl Compiled {
    /// Takes what goals and the end depend on from the ground rules. With a structure, distances are known.
    pub fn new(
        ground: &GroundProgram,
        universe: &Universe,
        circuit: &Circuit,
        structure: Option<&Structure>,
    ) -> Compiled {
        // Step 1. The atoms that matter, and what they depend on.
        let mut place: FxHashMap<u32, u32> = FxHashMap::default();
        let mut atoms: Vec<u32> = Vec::new();
        let mut want = |atom: u32, atoms: &mut Vec<u32>| {
            *place.entry(atom).or_insert_with(|| {
                atoms.push(atom);
                atoms.len() as u32 - 1
            })
        };
        let number = |term| universe.number(term);
        let goals = ground.goals.iter().filter_map(|&(role, value, atom)| Some((role, number(value)?, atom)));
        let goals: Vec<(u32, i64, u32)> =
            goals.map(|(role, value, atom)| (role, value, want(atom, &mut atoms))).collect();
        let terminal = ground.terminal.map(|atom| want(atom, &mut atoms));
        let mut fluents = Fluents::new(universe, circuit);
        let (mut ranges, mut instances, mut literals) = (Vec::new(), Vec::new(), Vec::new());
        let mut successors: Vec<Vec<usize>> = Vec::new();
        let mut next = 0;
        while next < atoms.len() {
            let mut below = Vec::new();
            let from = instances.len() as u32;
            for instance in ground.instances(atoms[next]) {
                let start = literals.len() as u32;
                for literal in instance {
                    let (number, is_fluent) = match literal.signal {
                        Signal::Fluent(fluent) => (fluents.want(ground.fluents[fluent as usize]), true),
                        Signal::Atom(atom) => {
                            let number = want(atom, &mut atoms);
                            below.push(number as usize);
                            (number, false)
                        }
                        // Neither goals nor the end may depend on moves; rules that say otherwise are taken at their least.
                        Signal::Move(_) => (fluents.never(), true),
                    };
                    literals.push(Literal { number, is_fluent, negated: literal.negated });
                }
                instances.push(start..literals.len() as u32);
            }
            ranges.push(from..instances.len() as u32);
            below.sort_unstable();
            below.dedup();
            successors.push(below);
            next += 1;
        }
        // Step 2. Their order.
        let components = gdl::strongly_connected_components(&successors);
        let mut step_of = vec![0; atoms.len()];
        let mut steps = Vec::new();
        for component in components {
            component.iter().for_each(|&atom| step_of[atom] = steps.len() as u32);
            let cyclic = component.len() > 1 || successors[component[0]].contains(&component[0]);
            let members: Vec<u32> = component.iter().map(|&atom| atom as u32).collect();
            steps.push(if cyclic { Step::Cycle(members) } else { Step::Atom(members[0]) });
        }
        // Step 3. Who reads what.
        let n_read = fluents.list.len();
        if let Some(structure) = structure {
            fluents.measure(structure);
        }
        let mut readers = vec![Vec::new(); atoms.len()];
        let mut fluent_readers = vec![Vec::new(); fluents.list.len()];
        for (atom, range) in ranges.iter().enumerate() {
            for instance in &instances[range.start as usize..range.end as usize] {
                for literal in &literals[instance.start as usize..instance.end as usize] {
                    let list = if literal.is_fluent { &mut fluent_readers } else { &mut readers };
                    // Atoms of one cycle are judged together.
                    if literal.is_fluent || step_of[literal.number as usize] != step_of[atom] {
                        list[literal.number as usize].push(step_of[atom]);
                    }
                }
            }
        }
        debug_assert!(fluent_readers[n_read..].iter().all(Vec::is_empty));
        for list in readers.iter_mut().chain(&mut fluent_readers) {
            list.sort_unstable();
            list.dedup();
        }
        for (fluent, readers) in fluents.list.iter_mut().zip(fluent_readers) {
            fluent.readers = readers;
        }
        let n_atoms = atoms.len();
        let fluents = fluents.list;
        Compiled { fluents, n_atoms, atoms: ranges, instances, literals, steps, readers, goals, terminal }
    }

    /// The instances of an atom.
    pub(super) fn instances(
        &self,
        atom: u32,
    ) -> impl Iterator<Item = std::iter::Copied<std::slice::Iter<'_, Literal>>> {
        let range = self.atoms[atom as usize].clone();
        let instances = &self.instances[range.start as usize..range.end as usize];
        instances.iter().map(|range| self.literals[range.start as usize..range.end as usize].iter().copied())
    }

    /// How many literals the formulas have.
    pub fn n_literals(&self) -> usize {
        self.literals.len()
    }
}

/// The fluents that are met, each once.
struct Fluents<'a> {
    list: Vec<Fluent>,
    /// For each fluent of the universe, its place in the list.
    places: FxHashMap<u32, u32>,
    /// For each fluent as a term, its number in the universe.
    numbers: FxHashMap<gdl::TermId, u32>,
    circuit: &'a Circuit,
    never: Option<u32>,
}

impl<'a> Fluents<'a> {
    fn new(universe: &Universe, circuit: &'a Circuit) -> Fluents<'a> {
        let numbers = universe.fluents.iter().copied().zip(0..).collect();
        Fluents { list: Vec::new(), places: FxHashMap::default(), numbers, circuit, never: None }
    }

    /// The place of a fluent given as a term.
    fn want(&mut self, term: gdl::TermId) -> u32 {
        match self.numbers.get(&term) {
            Some(&number) => self.place(number),
            None => self.never(),
        }
    }

    /// The place of a fluent of the universe.
    fn place(&mut self, number: u32) -> u32 {
        *self.places.entry(number).or_insert_with(|| {
            let wire = StateWire(self.circuit.fluents[number as usize]);
            self.list.push(Fluent { wire, near: Vec::new(), readers: Vec::new() });
            self.list.len() as u32 - 1
        })
    }

    /// The place of a fluent that never holds.
    fn never(&mut self) -> u32 {
        *self.never.get_or_insert_with(|| {
            self.list.push(Fluent { wire: StateWire(Wire::FALSE), near: Vec::new(), readers: Vec::new() });
            self.list.len() as u32 - 1
        })
    }

    /// Finds what the fluents that are read are near to.
    fn measure(&mut self, structure: &Structure) {
        let mut read: Vec<u32> = self.places.keys().copied().collect();
        read.sort_unstable();
        let mut groups: Vec<Vec<(u32, Vec<usize>)>> = Vec::new();
        let mut lengths: Vec<usize> = Vec::new();
        // Step 1. Numbers: fluents that differ in the number alone.
        for quantity in &structure.quantities {
            let family = &structure.families[quantity.family];
            let order = &structure.orders[quantity.order];
            let others: Vec<usize> = (0..family.arity()).filter(|&position| position != quantity.value).collect();
            for (_, members) in family.groups(&others) {
                let index = |member: u32| {
                    let at = family.members.binary_search(&member).ok()?;
                    order.index(family.arguments[at][quantity.value])
                };
                groups.push(members.iter().filter_map(|&member| Some((member, vec![index(member)?]))).collect());
                lengths.push(order.objects.len());
            }
        }
        // Step 2. What stands on boards.
        for board in structure.boards.iter().filter(|board| board.is_ordered()) {
            let index = |cell: u32| -> Option<Vec<usize>> {
                let values = board.cells[cell as usize].iter().zip(&board.axes);
                values.map(|(value, axis)| axis.values.iter().position(|other| other == value)).collect()
            };
            for marker in &board.markers {
                groups.push(marker.fluents.iter().filter_map(|&(fluent, cell)| Some((fluent, index(cell)?))).collect());
                lengths.push(board.axes.iter().map(|axis| axis.values.len()).sum());
            }
        }
        for (group, length) in groups.iter().zip(lengths) {
            for (fluent, at) in group.iter().filter(|(fluent, _)| read.binary_search(fluent).is_ok()) {
                let mut near = Vec::new();
                for (other, there) in group.iter().filter(|(other, _)| other != fluent) {
                    let steps: usize = at.iter().zip(there).map(|(one, other)| one.abs_diff(*other)).sum();
                    near.push((self.place(*other), steps as f32 / length as f32));
                }
                let place = self.place(*fluent);
                if self.list[place as usize].near.is_empty() {
                    self.list[place as usize].near = near;
                }
            }
        }
    }
}
