//! How far each role is from its goal, and how much lies open to it, in relaxed games ([`machine::relax`]).
//!
//! In the first relaxed game all roles make all their moves at once and nothing is ever lost. The layer in which a role's best goal
//! may hold is the number of steps to it at least: the length of a way round all walls, for example. If the goal has several
//! parts, their layers added up say more. If results are of many degrees, so does the layer in which a better one than the present one
//! may hold: the way to the next thing to collect, for example.
//!
//! In the second one, each role has the board for itself, but for what others could take away before: what held and a move of
//! another role may have changed in an earlier layer is not there any more. What a role can bring about then, is its land:
//! in games of movement the squares that it gets to before anybody else.
//!
//! Layers run on the lane machine for 512 states at once, so that they cost about as much as other features.

use std::collections::BTreeSet;
use std::sync::Arc;

use machine::lanes::{Adder, Compiled as Machine, LANES, Lanes, Vector};
use machine::network::{Network, Wire};
use machine::relax::{Builder, Twin, flip};

/// A number that relaxed games have for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Number {
    /// Layers until a role's best goal may hold.
    Steps(u32),
    /// The layers until each part of a role's best goal may hold, added up.
    Parts(u32),
    /// Fluents that a role can bring about before others interfere.
    Land(u32),
    /// Layers until a goal of a role may hold that is better than all that hold now.
    Gain(u32),
}

impl Number {
    /// What kind of number it is, whichever role's.
    pub fn kind(self) -> std::mem::Discriminant<Number> {
        std::mem::discriminant(&self)
    }

    /// Whose number it is.
    pub fn role(self) -> u32 {
        match self {
            Number::Steps(role) | Number::Parts(role) | Number::Land(role) | Number::Gain(role) => role,
        }
    }

    /// The same number of another role.
    #[must_use]
    pub fn of(self, role: u32) -> Number {
        match self {
            Number::Steps(_) => Number::Steps(role),
            Number::Parts(_) => Number::Parts(role),
            Number::Land(_) => Number::Land(role),
            Number::Gain(_) => Number::Gain(role),
        }
    }
}

/// Layers; what takes more counts as reached after the last one.
const MAX_LAYERS: u32 = 24;
/// Gates of a relaxed game. Beyond, a state would take longer to measure than many others to look at.
const MAX_GATES: usize = 60_000;
/// Parts of a goal.
const MAX_PARTS: usize = 64;

/// Relaxed games of one game, prepared; shared between threads.
pub struct Compiled {
    numbers: Vec<Number>,
    goals: Option<Goals>,
    lands: Option<Lands>,
}

/// The game in which nothing is ever lost.
struct Goals {
    relaxed: Relaxed,
    /// For each role that is asked for, that its goal may hold.
    steps: Vec<Wire>,
    /// For each role that is asked for, that the parts of its goal may hold.
    parts: Vec<Vec<Wire>>,
    /// For each role that is asked for, that a better goal than now may hold.
    gains: Vec<Wire>,
}

/// The game in which others interfere.
struct Lands {
    relaxed: Relaxed,
    /// For each role that is asked for, how many fluents it can bring about.
    adder: Adder,
    n: usize,
}

/// A relaxed game: its first fluents are those of a state, for good, and the others begin like one of them or its opposite.
struct Relaxed {
    machine: Arc<Machine>,
    n_start: usize,
    begin: Vec<Wire>,
}

impl Relaxed {
    fn new(network: Network, fluents: &[u32], n_start: usize) -> Relaxed {
        // The others come in blocks of the same size, by turns for what may hold and for what may not.
        let begin = |&fluent: &u32| {
            let (block, number) = (fluent as usize / n_start, fluent as usize % n_start);
            Wire::of(1 + number as u32).invert_if(block % 2 == 0)
        };
        Relaxed {
            begin: fluents[n_start..].iter().map(begin).collect(),
            machine: Machine::new(Arc::new(network)),
            n_start,
        }
    }

    fn load(&self, lanes: &mut Lanes, states: &[&[u64]]) {
        lanes.load_first(self.n_start, states);
        for (fluent, begin) in (self.n_start as u32..).zip(&self.begin) {
            let value = lanes.fluent(begin.gate() - 1);
            lanes.set_fluent(fluent, if begin.is_inverted() { !value } else { value });
        }
    }
}

/// All numbers that there may be for a game.
pub fn candidates(network: &Network) -> Vec<Number> {
    let roles = 0..network.roles.len() as u32;
    let kinds = [Number::Steps, Number::Parts, Number::Land, Number::Gain];
    kinds.iter().flat_map(|kind| roles.clone().map(kind)).collect()
}

impl Compiled {
    /// Prepares numbers, as many of those that are asked for as there are: a goal must have parts, results must be of several degrees,
    /// and a relaxed game must not be too large. Where no fluent ever changes there are none.
    pub fn new(network: &Network, numbers: &[Number]) -> Compiled {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        if network.n_gates() > MAX_GATES || network.fluents.is_empty() {
            return Compiled { numbers: Vec::new(), goals: None, lands: None };
        }
        let goals = Goals::new(network, &numbers);
        let lands = Lands::new(network, &numbers);
        let is_there = |number: &Number| match *number {
            Number::Steps(_) => goals.is_some(),
            Number::Parts(role) => goals.is_some() && best_goal_parts(network, role).is_some(),
            Number::Land(_) => lands.is_some(),
            Number::Gain(role) => goals.is_some() && has_degrees(network, role),
        };
        Compiled { numbers: numbers.into_iter().filter(is_there).collect(), goals, lands }
    }

    /// The numbers that there are.
    pub fn numbers(&self) -> &[Number] {
        &self.numbers
    }
}

/// The goals of the best value that a role can have.
fn best_goals(network: &Network, role: u32) -> Vec<Wire> {
    let own = || network.goals.iter().filter(|goal| goal.0 == role && goal.2 != Wire::FALSE);
    let best = own().map(|goal| goal.1).max();
    own().filter(|goal| Some(goal.1) == best).map(|goal| goal.2).collect()
}

/// The parts of the best goal that a role can have, if it is one and has several.
fn best_goal_parts(network: &Network, role: u32) -> Option<Vec<Wire>> {
    let [goal] = best_goals(network, role)[..] else { return None };
    let parts = network.parts(goal);
    (2..=MAX_PARTS).contains(&parts.len()).then_some(parts)
}

/// Whether a role may have so many results that there are several degrees between the worst and the best.
fn has_degrees(network: &Network, role: u32) -> bool {
    let own = network.goals.iter().filter(|goal| goal.0 == role && goal.2 != Wire::FALSE);
    own.map(|goal| goal.1).collect::<BTreeSet<_>>().len() > 3
}

/// The twins of all gates, where each of these moves may be made if it may be legal, and no other.
fn twins(builder: &mut Builder, network: &Network, fluents: &[Twin], is_made: impl Fn(u32) -> bool) -> Vec<Twin> {
    let fluent = |fluent: u32| fluents[fluent as usize];
    let still = builder.twins(network, fluent, |_| [Wire::FALSE, Wire::TRUE]);
    builder.twins(network, fluent, |chosen| {
        let legal = network.legal[chosen as usize];
        let may = if is_made(chosen) { flip(still[legal.gate() as usize], legal)[0] } else { Wire::FALSE };
        [may, Wire::TRUE]
    })
}

/// Each fluent may hold, or not, where it could before or could come to.
fn grow(builder: &mut Builder, network: &Network, twins: &[Twin], first: [usize; 2]) {
    for (fluent, &wire) in network.next.iter().enumerate() {
        let twin = flip(twins[wire.gate() as usize], wire);
        for (first, may) in first.into_iter().zip(twin) {
            let held = builder.fluent(first + fluent);
            let next = builder.any_of([held, may]);
            builder.set_next(first + fluent, next);
        }
    }
}

/// The fluents of a relaxed game that stand for those of a game: the places of the first ones that may hold and that may not.
fn block(builder: &Builder, network: &Network, first: [usize; 2]) -> Vec<Twin> {
    (0..network.fluents.len()).map(|fluent| first.map(|first| builder.fluent(first + fluent))).collect()
}

impl Goals {
    fn new(network: &Network, numbers: &[Number]) -> Option<Goals> {
        let n = network.fluents.len().next_multiple_of(64);
        let mut builder = Builder::new(network, 3 * n);
        let first = [n, 2 * n];
        (0..n).for_each(|fluent| builder.set_next(fluent, builder.fluent(fluent)));
        let fluents = block(&builder, network, first);
        let twins = twins(&mut builder, network, &fluents, |_| true);
        grow(&mut builder, network, &twins, first);
        let may = |wire: Wire| flip(twins[wire.gate() as usize], wire)[0];
        // What holds in the state itself.
        let state = |fluent: u32| Wire::of(1 + fluent);
        let now =
            builder.twins(network, |fluent| [state(fluent), state(fluent).inverted()], |_| [Wire::FALSE, Wire::TRUE]);
        let (mut formulas, mut counts) = (Vec::new(), Vec::new());
        for number in numbers {
            let own: Vec<Wire> = match *number {
                Number::Steps(role) => {
                    let goals = best_goals(network, role);
                    let any = builder.any_of(goals.into_iter().map(may));
                    vec![builder.all_of(vec![any, may(network.terminal)])]
                }
                Number::Parts(role) => match best_goal_parts(network, role) {
                    Some(parts) => parts.into_iter().map(may).collect(),
                    None => continue,
                },
                Number::Gain(role) if has_degrees(network, role) => {
                    let own = || network.goals.iter().filter(|goal| goal.0 == role);
                    let mut gains = Vec::new();
                    for goal in own() {
                        let better = own().filter(|other| other.1 >= goal.1);
                        let had = builder.any_of(better.map(|other| flip(now[other.2.gate() as usize], other.2)[0]));
                        gains.push(builder.all_of(vec![may(goal.2), had.inverted()]));
                    }
                    vec![builder.any_of(gains)]
                }
                Number::Land(_) | Number::Gain(_) => continue,
            };
            counts.push((*number, own.len()));
            formulas.extend(own);
        }
        if formulas.is_empty() || builder.n_gates() > MAX_GATES {
            return None;
        }
        let (network, fluents) = builder.finish(Wire::FALSE, formulas, n);
        let (mut steps, mut parts, mut gains) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = &network.formulas[..];
        for (number, count) in counts {
            let (own, others) = rest.split_at(count);
            match number {
                Number::Steps(_) => steps.extend_from_slice(own),
                Number::Gain(_) => gains.extend_from_slice(own),
                _ => parts.push(own.to_vec()),
            }
            rest = others;
        }
        Some(Goals { steps, parts, gains, relaxed: Relaxed::new(network, &fluents, n) })
    }

    /// How many numbers a state has here, and how many of them are not gains.
    fn n(&self) -> (usize, usize) {
        let others = self.steps.len() + self.parts.len();
        (others + self.gains.len(), others)
    }

    /// For each state, the steps of each role, then the parts of each role, and then the gains.
    fn measure(&self, lanes: &mut Lanes, states: &[&[u64]], numbers: &mut Vec<u32>) {
        let (n, others) = self.n();
        self.relaxed.load(lanes, states);
        let mut used = Vector::ZERO;
        (0..states.len()).for_each(|lane| used.set(lane, true));
        let goals: Vec<(usize, Wire)> = self.steps.iter().copied().enumerate().collect();
        let parts = self.parts.iter().enumerate();
        let parts = parts.flat_map(|(at, parts)| parts.iter().map(move |&part| (self.steps.len() + at, part)));
        let gains = self.gains.iter().enumerate().map(|(at, &gain)| (others + at, gain));
        let all: Vec<(usize, Wire)> = goals.into_iter().chain(parts).chain(gains).collect();
        let mut open = vec![used; all.len()];
        let first = numbers.len();
        numbers.resize(first + states.len() * n, 0);
        let numbers = &mut numbers[first..];
        for layer in 0..=MAX_LAYERS {
            lanes.evaluate();
            let mut is_open = Vector::ZERO;
            for (open, &(at, wire)) in open.iter_mut().zip(&all) {
                let reached = *open & lanes.lanes_where(wire);
                reached.lanes().for_each(|lane| numbers[lane * n + at] += layer);
                *open = *open & !reached;
                is_open = is_open | *open;
            }
            if is_open.is_zero() || (lanes.grow() & is_open).is_zero() {
                break;
            }
        }
        for (open, &(at, _)) in open.iter().zip(&all) {
            open.lanes().for_each(|lane| numbers[lane * n + at] += MAX_LAYERS + 1);
        }
    }
}

impl Lands {
    fn new(network: &Network, numbers: &[Number]) -> Option<Lands> {
        let roles: Vec<u32> = numbers
            .iter()
            .filter_map(|number| match number {
                Number::Land(role) => Some(*role),
                _ => None,
            })
            .collect();
        if roles.is_empty() {
            return None;
        }
        let n = network.fluents.len().next_multiple_of(64);
        let n_roles = network.roles.len();
        // Blocks of fluents: the state, what comes about by no moves, and what each role brings about.
        let first = |number: usize| [(2 * number + 1) * n, (2 * number + 2) * n];
        let mut builder = Builder::new(network, (2 * n_roles + 3) * n);
        (0..n).for_each(|fluent| builder.set_next(fluent, builder.fluent(fluent)));
        let alone = block(&builder, network, first(0));
        let blocks: Vec<Vec<Twin>> = (1..=n_roles).map(|number| block(&builder, network, first(number))).collect();
        let still = twins(&mut builder, network, &alone, |_| false);
        grow(&mut builder, network, &still, first(0));
        for role in 0..n_roles {
            let mut fluents = blocks[role].clone();
            for (fluent, twin) in fluents.iter_mut().enumerate() {
                let start = builder.fluent(fluent);
                for (sense, may) in twin.iter_mut().enumerate() {
                    // It was so in the beginning, it would stay so, and another role may have changed it.
                    let others: Vec<Wire> = (0..n_roles)
                        .filter(|&other| other != role)
                        .map(|other| blocks[other][fluent][1 - sense])
                        .collect();
                    let other = builder.any_of(others);
                    let taken =
                        builder.all_of(vec![start.invert_if(sense == 1), alone[fluent][1 - sense].inverted(), other]);
                    *may = builder.all_of(vec![*may, taken.inverted()]);
                }
            }
            let own = network.moves_of[role].clone();
            let twins = twins(&mut builder, network, &fluents, |chosen| own.contains(&chosen));
            grow(&mut builder, network, &twins, first(1 + role));
            if builder.n_gates() > MAX_GATES {
                return None;
            }
        }
        let mut formulas = Vec::new();
        for &role in &roles {
            for fluent in 0..network.fluents.len() {
                let all = vec![
                    blocks[role as usize][fluent][0],
                    alone[fluent][0].inverted(),
                    builder.fluent(fluent).inverted(),
                ];
                formulas.push(builder.all_of(all));
            }
        }
        let (relaxed, fluents) = builder.finish(Wire::FALSE, formulas, n);
        let sums: Vec<Vec<(Wire, u32)>> = relaxed
            .formulas
            .chunks(network.fluents.len())
            .map(|own| own.iter().filter(|&&wire| wire != Wire::FALSE).map(|&wire| (wire, 1)).collect())
            .collect();
        let relaxed = Relaxed::new(relaxed, &fluents, n);
        Some(Lands { adder: Adder::new(&relaxed.machine, &sums), n: sums.len(), relaxed })
    }

    /// For each state, how many fluents each role can bring about.
    fn measure(&self, lanes: &mut Lanes, states: &[&[u64]], numbers: &mut Vec<u32>) {
        self.relaxed.load(lanes, states);
        for _ in 0..MAX_LAYERS {
            lanes.evaluate();
            if lanes.grow().is_zero() {
                break;
            }
        }
        lanes.evaluate();
        lanes.add_up(&self.adder, states.len(), numbers);
    }
}

/// A thread's means to measure states.
pub struct Reach {
    compiled: Arc<Compiled>,
    goals: Option<Lanes>,
    lands: Option<Lanes>,
    measured: [Vec<u32>; 2],
}

impl Reach {
    /// Working memory for one thread.
    pub fn new(compiled: Arc<Compiled>) -> Reach {
        let lanes = |relaxed: &Relaxed| Lanes::new(relaxed.machine.clone());
        Reach {
            goals: compiled.goals.as_ref().map(|goals| lanes(&goals.relaxed)),
            lands: compiled.lands.as_ref().map(|lands| lanes(&lands.relaxed)),
            compiled,
            measured: Default::default(),
        }
    }

    /// Appends all numbers of each state, those of one state after those of another.
    pub fn measure(&mut self, states: &[&[u64]], numbers: &mut Vec<u32>) {
        let compiled = self.compiled.clone();
        let [goals, lands] = &mut self.measured;
        for batch in states.chunks(LANES) {
            goals.clear();
            lands.clear();
            if let (Some(compiled), Some(lanes)) = (&compiled.goals, &mut self.goals) {
                compiled.measure(lanes, batch, goals);
            }
            if let (Some(compiled), Some(lanes)) = (&compiled.lands, &mut self.lands) {
                compiled.measure(lanes, batch, lands);
            }
            let (n_goals, n_first) = compiled.goals.as_ref().map_or((0, 0), Goals::n);
            let n_lands = compiled.lands.as_ref().map_or(0, |lands| lands.n);
            for lane in 0..batch.len() {
                let (goals, lands) = (&goals[lane * n_goals..], &lands[lane * n_lands..]);
                numbers.extend_from_slice(&goals[..n_first]);
                numbers.extend_from_slice(&lands[..n_lands]);
                numbers.extend_from_slice(&goals[n_first..n_goals]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
