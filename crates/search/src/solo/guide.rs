//! What makes a state look promising, without knowing anything but the rules.

use machine::network::{Gate, Network, Wire};

use super::expand::Children;
use super::relax::{Distance, Relaxed};

/// The ways to look at a state. Each puts the states in an order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guide {
    /// Few fluents must change until the best goal holds.
    Need,
    /// It has a fluent that was seldom seen where as much was needed (after Lipovetzky and Geffner 2017, *Best-First Width
    /// Search*).
    Novelty,
    /// The best goal is near in the relaxed game.
    Distance,
    /// The result would be high if the match were over.
    Goal,
    /// It is one of few on its way where there was a choice.
    Choice,
    /// There are many moves.
    Many,
    /// There are few moves.
    Few,
    /// A given opinion.
    Estimate,
}

/// All guides.
pub(super) const GUIDES: [Guide; 8] = [
    Guide::Distance,
    Guide::Novelty,
    Guide::Choice,
    Guide::Need,
    Guide::Goal,
    Guide::Many,
    Guide::Estimate,
    Guide::Few,
];

/// For each guide, how promising a state is.
pub(super) type Scores = [u16; GUIDES.len()];

/// Scores states.
pub(super) struct Guides {
    need: Option<Need>,
    relaxed: Option<Relaxed>,
    novelty: Novelty,
    /// Whether the relaxed game tells states apart, as far as is known.
    n_relaxed: u64,
    telling: bool,
}

impl Guides {
    /// For a network, with the fluents that do not count moves.
    pub(super) fn new(network: &Network, best: i64, lasting: &[u64]) -> Guides {
        Guides {
            need: Need::new(network, best),
            relaxed: Relaxed::new(network, best, lasting),
            novelty: Novelty::new(network.fluents.len(), lasting),
            n_relaxed: 0,
            telling: true,
        }
    }

    /// Forgets what was seen. Where the best goal can't be reached from the first state, how far away it is says nothing.
    pub(super) fn begin(&mut self, state: &[u64]) {
        self.novelty.counts.fill(0);
        self.n_relaxed = 0;
        self.telling = self.relaxed.as_mut().is_some_and(|relaxed| !relaxed.distances(&[state])[0].dead);
    }

    /// How far away the best goal is from each of at most 512 states; nothing where that tells nothing.
    pub(super) fn distances(&mut self, states: &[&[u64]]) -> Vec<Distance> {
        /// States after which the relaxed game is given up if they are all alike.
        const PATIENCE: u64 = 20_000;
        match &mut self.relaxed {
            Some(relaxed) if self.telling && !states.is_empty() => {
                let distances = relaxed.distances(states);
                if self.n_relaxed < PATIENCE {
                    let alike = distances.iter().all(|distance| *distance == distances[0]) && !distances[0].dead;
                    self.n_relaxed = if alike { self.n_relaxed + states.len() as u64 } else { u64::MAX };
                    self.telling = self.n_relaxed < PATIENCE || self.n_relaxed == u64::MAX;
                }
                distances
            }
            _ => vec![Distance::default(); states.len()],
        }
    }

    /// What each guide thinks of a child on whose way there were so many choices. What can't come to the best result any more is worth nothing.
    pub(super) fn scores(
        &mut self,
        children: &Children,
        place: usize,
        state: &[u64],
        distance: Distance,
        choices: u32,
        estimate: f32,
    ) -> Scores {
        if distance.dead {
            return Scores::default();
        }
        let need = self.need.as_mut().map_or(0, |need| need.cost(state));
        let count = self.novelty.rarest(state, need);
        let class = 15 - (32 - count.leading_zeros()).min(15) as u16;
        let n_legal = children.n_legal[place].min(u32::from(u16::MAX)) as u16;
        let goal = children.goals[place];
        GUIDES.map(|guide| match guide {
            Guide::Distance => u16::MAX - distance.sum.min(u32::from(u16::MAX)) as u16,
            Guide::Choice => u16::MAX - choices.min(u32::from(u16::MAX)) as u16,
            Guide::Need => u16::MAX - need,
            Guide::Novelty => class << 12 | (0xfff - need.min(0xfff)),
            Guide::Goal => {
                if goal.is_nan() {
                    0
                } else {
                    (goal.clamp(0.0, 1.0) * 1e4) as u16
                }
            }
            Guide::Many => n_legal,
            Guide::Few => u16::MAX - n_legal,
            Guide::Estimate => (estimate.clamp(0.0, 1.0) * 65_535.0) as u16,
        })
    }
}

/// How many fluents must change until the best goal holds and the match is over: a sum over what must all hold, the least over
/// what may hold instead. Nothing is said about how fluents change, and what is needed twice counts twice.
#[derive(Debug)]
struct Need {
    /// The gates that the goal depends on; inputs come first.
    parts: Vec<Part>,
    /// Places of inputs, and whether they are inverted.
    inputs: Vec<(u32, bool)>,
    /// The ways to the best result.
    goals: Vec<(u32, bool)>,
    terminal: (u32, bool),
    /// For each gate, what it takes to be false, and to be true.
    costs: Vec<[u16; 2]>,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    False,
    Fluent(u32),
    /// Nothing is known of it.
    Open,
    And(u32, u32),
}

impl Need {
    fn new(network: &Network, best: i64) -> Option<Need> {
        /// Inputs of all gates. A state costs about a nanosecond for each.
        const MAX_INPUTS: usize = 4_000;
        let goals: Vec<Wire> =
            network.goals.iter().filter(|goal| goal.0 == 0 && goal.1 == best).map(|goal| goal.2).collect();
        let mut needed = vec![false; network.gates.len()];
        let mut waiting: Vec<u32> = goals.iter().chain([&network.terminal]).map(|wire| wire.gate()).collect();
        while let Some(gate) = waiting.pop() {
            if !std::mem::replace(&mut needed[gate as usize], true)
                && let Gate::And(inputs) = &network.gates[gate as usize]
            {
                waiting.extend(inputs.iter().map(|wire| wire.gate()));
            }
        }
        let mut places = vec![u32::MAX; network.gates.len()];
        let (mut parts, mut inputs) = (Vec::new(), Vec::new());
        for gate in (0..network.gates.len()).filter(|&gate| needed[gate]) {
            places[gate] = parts.len() as u32;
            parts.push(match &network.gates[gate] {
                Gate::False => Part::False,
                Gate::Fluent(fluent) => Part::Fluent(*fluent),
                Gate::Move(_) | Gate::Loop(_) => Part::Open,
                Gate::And(of) => {
                    let first = inputs.len() as u32;
                    inputs.extend(of.iter().map(|wire| (places[wire.gate() as usize], wire.is_inverted())));
                    Part::And(first, inputs.len() as u32)
                }
            });
        }
        if goals.is_empty() || inputs.len() > MAX_INPUTS {
            return None;
        }
        let place = |wire: Wire| (places[wire.gate() as usize], wire.is_inverted());
        let goals = goals.into_iter().map(place).collect();
        Some(Need { costs: vec![[0; 2]; parts.len()], terminal: place(network.terminal), parts, inputs, goals })
    }

    fn cost(&mut self, state: &[u64]) -> u16 {
        /// More than any sum that says something.
        const NEVER: u16 = 0x3fff;
        for (place, part) in self.parts.iter().enumerate() {
            self.costs[place] = match *part {
                Part::False => [0, NEVER],
                Part::Fluent(fluent) if state[fluent as usize / 64] >> (fluent % 64) & 1 == 1 => [1, 0],
                Part::Fluent(_) => [0, 1],
                Part::Open => [0, 0],
                Part::And(first, end) => {
                    let (mut least, mut sum) = (NEVER, 0);
                    for &(input, inverted) in &self.inputs[first as usize..end as usize] {
                        let costs = self.costs[input as usize];
                        least = least.min(costs[usize::from(inverted)]);
                        sum = NEVER.min(sum + costs[usize::from(!inverted)]);
                    }
                    [least, sum]
                }
            };
        }
        let cost = |&(place, inverted): &(u32, bool)| self.costs[place as usize][usize::from(!inverted)];
        self.goals.iter().map(cost).min().unwrap_or(0) + cost(&self.terminal)
    }
}

/// How often each fluent was seen where so much was needed.
#[derive(Debug)]
struct Novelty {
    n_fluents: usize,
    n_needs: usize,
    lasting: Box<[u64]>,
    counts: Vec<u32>,
}

impl Novelty {
    fn new(n_fluents: usize, lasting: &[u64]) -> Novelty {
        let n_needs = ((1 << 20) / n_fluents.max(1)).clamp(1, 128);
        Novelty { n_fluents, n_needs, lasting: lasting.into(), counts: vec![0; n_needs * n_fluents] }
    }

    /// Counts a state, and says how often its rarest fluent was seen before.
    fn rarest(&mut self, state: &[u64], need: u16) -> u32 {
        let first = usize::from(need).min(self.n_needs - 1) * self.n_fluents;
        let mut rarest = u32::MAX;
        for (word, (&bits, &lasting)) in state.iter().zip(&self.lasting).enumerate() {
            let mut bits = bits & lasting;
            while bits != 0 {
                let count = &mut self.counts[first + 64 * word + bits.trailing_zeros() as usize];
                rarest = rarest.min(*count);
                *count = count.saturating_add(1);
                bits &= bits - 1;
            }
        }
        rarest
    }
}
