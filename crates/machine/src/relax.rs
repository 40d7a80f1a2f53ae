//! Relaxed games: what could come about if nothing that once held, or once did not hold, were ever lost.
//!
//! Each wire of a game becomes two: that it may be true, and that it may be false. In a relaxed game both only grow, layer by
//! layer; this is the relaxation by which planners measure distances (Bonet and Geffner 2001, *Planning as Heuristic Search*),
//! with fluents that must not hold treated like those that must. It is a network like any other and runs on the lane machine.

use rustc_hash::FxHashMap;

use crate::network::{Gate, Network, Wire};

/// That something may be true, and that it may be false.
pub type Twin = [Wire; 2];

/// The twin of a wire, given that of its gate.
pub fn flip(twin: Twin, wire: Wire) -> Twin {
    if wire.is_inverted() { [twin[1], twin[0]] } else { twin }
}

/// A relaxed game as it grows.
pub struct Builder {
    network: Network,
    known: FxHashMap<Box<[Wire]>, Wire>,
}

impl Builder {
    /// A game without moves that has so many fluents, none of which ever holds.
    pub fn new(game: &Network, n_fluents: usize) -> Builder {
        let mut gates = vec![Gate::False];
        gates.extend((0..n_fluents as u32).map(Gate::Fluent));
        let name = game.fluents.first().copied();
        let network = Network {
            gates,
            blocks: Vec::new(),
            fluents: name.into_iter().cycle().take(n_fluents).collect(),
            constant_fluents: Vec::new(),
            equal_fluents: Vec::new(),
            initial: vec![false; n_fluents],
            next: vec![Wire::FALSE; n_fluents],
            roles: game.roles.clone(),
            moves: Vec::new(),
            moves_of: std::iter::once(0..0).collect(),
            legal: Vec::new(),
            goals: Vec::new(),
            terminal: Wire::FALSE,
            formulas: Vec::new(),
            views: Vec::new(),
            symbols: game.symbols.clone(),
            terms: game.terms.clone(),
        };
        Builder { network, known: FxHashMap::default() }
    }

    /// The wire of a fluent.
    pub fn fluent(&self, fluent: usize) -> Wire {
        Wire::of(1 + fluent as u32)
    }

    /// How many gates there are.
    pub fn n_gates(&self) -> usize {
        self.network.gates.len()
    }

    /// A gate that is true where all of the wires are, made once.
    pub fn all_of(&mut self, mut wires: Vec<Wire>) -> Wire {
        wires.sort_unstable();
        wires.dedup();
        if let Some(&known) = self.known.get(&wires[..]) {
            return known;
        }
        let wire = self.network.all_of(&wires);
        self.known.insert(wires.into(), wire);
        wire
    }

    /// A gate that is true where any of the wires is, made once.
    pub fn any_of(&mut self, wires: impl IntoIterator<Item = Wire>) -> Wire {
        self.all_of(wires.into_iter().map(Wire::inverted).collect()).inverted()
    }

    /// The twin of a conjunction.
    pub fn join(&mut self, twins: &[Twin]) -> Twin {
        [self.all_of(twins.iter().map(|twin| twin[0]).collect()), self.any_of(twins.iter().map(|twin| twin[1]))]
    }

    /// The twins of all gates of a game, given those of its fluents and moves. What depends on itself may be anything, by which
    /// nothing is lost but sharpness.
    pub fn twins(&mut self, game: &Network, fluent: impl Fn(u32) -> Twin, chosen: impl Fn(u32) -> Twin) -> Vec<Twin> {
        let mut twins: Vec<Twin> = Vec::with_capacity(game.gates.len());
        for gate in &game.gates {
            let twin = match gate {
                Gate::False => [Wire::FALSE, Wire::TRUE],
                &Gate::Fluent(number) => fluent(number),
                &Gate::Move(number) => chosen(number),
                Gate::Loop(_) => [Wire::TRUE; 2],
                Gate::And(inputs) => {
                    let inputs: Vec<Twin> =
                        inputs.iter().map(|&wire| flip(twins[wire.gate() as usize], wire)).collect();
                    self.join(&inputs)
                }
            };
            twins.push(twin);
        }
        twins
    }

    /// Says what makes a fluent hold next.
    pub fn set_next(&mut self, fluent: usize, wire: Wire) {
        self.network.next[fluent] = wire;
    }

    /// The network, which ends where `terminal` is true and evaluates the formulas. Of the fluents it has the first `n_kept` and those
    /// others that something depends on; which those are comes with it.
    pub fn finish(self, terminal: Wire, formulas: Vec<Wire>, n_kept: usize) -> (Network, Vec<u32>) {
        let Builder { mut network, .. } = self;
        // Step 1. What is needed, now or later.
        let mut needed = vec![false; network.gates.len()];
        let mut waiting: Vec<u32> = formulas.iter().chain([&terminal]).map(|wire| wire.gate()).collect();
        waiting.extend(0..=n_kept as u32);
        while let Some(gate) = waiting.pop() {
            if std::mem::replace(&mut needed[gate as usize], true) {
                continue;
            }
            match &network.gates[gate as usize] {
                Gate::And(inputs) => waiting.extend(inputs.iter().map(|wire| wire.gate())),
                &Gate::Fluent(fluent) => waiting.push(network.next[fluent as usize].gate()),
                _ => {}
            }
        }
        // Step 2. The rest goes.
        let mut places = vec![0; network.gates.len()];
        let kept = (0..network.gates.len()).filter(|&gate| needed[gate]);
        (0..).zip(kept).for_each(|(place, gate)| places[gate] = place);
        let moved = |wire: Wire| Wire::of(places[wire.gate() as usize]).invert_if(wire.is_inverted());
        let fluents: Vec<u32> =
            (0..network.fluents.len() as u32).filter(|&fluent| needed[1 + fluent as usize]).collect();
        network.next = fluents.iter().map(|&fluent| moved(network.next[fluent as usize])).collect();
        network.fluents.truncate(fluents.len());
        network.initial.truncate(fluents.len());
        let gates = std::mem::take(&mut network.gates).into_iter().zip(&needed).filter(|(_, needed)| **needed);
        network.gates = (0..)
            .zip(gates)
            .map(|(place, (gate, _))| match gate {
                Gate::And(inputs) => Gate::And(inputs.iter().map(|&wire| moved(wire)).collect()),
                Gate::Fluent(_) => Gate::Fluent(place - 1),
                other => other,
            })
            .collect();
        network.terminal = moved(terminal);
        network.formulas = formulas.into_iter().map(moved).collect();
        (network, fluents)
    }
}
