//! What kind of game a search has before it.

use std::sync::Arc;

use machine::RoleId;
use machine::lanes::{Compiled, LANES, Lanes, Random, Vector};
use machine::network::{Gate, Network, Wire};
use rustc_hash::FxHashMap;

/// What kind of game a network is.
#[derive(Clone, Debug)]
pub struct Nature {
    /// For each role, its least and greatest result, as parts of 100 points.
    pub range: Vec<(f32, f32)>,
    /// Whether the results of all roles added up to the same in all of the random matches.
    pub constant_sum: bool,
    /// For each role, the first role of its team: those that get the same under the same conditions, as the rules say.
    pub teams: Vec<u32>,
    /// Whether at most one role had a choice in all states of the random matches.
    pub turn_taking: bool,
    /// What only counts moves.
    pub counters: Counters,
}

impl Nature {
    /// Looks at a network and at 512 random matches.
    pub fn new(compiled: &Arc<Compiled>, seed: u64) -> Nature {
        let mut lanes = Lanes::new(compiled.clone());
        let network = lanes.network();
        let (range, teams, counters) = (ranges(network), teams(network), Counters::find(network));
        let (constant_sum, turn_taking) = sample(&mut lanes, &mut Random::new(seed));
        Nature { range, constant_sum, teams, turn_taking, counters }
    }
}

/// For each role, its least and greatest goal value, as parts of 100 points.
pub(crate) fn ranges(network: &Network) -> Vec<(f32, f32)> {
    let range = |role: u32| {
        let values = network.goals.iter().filter(|goal| goal.0 == role).map(|goal| goal.1 as f32 / 100.0);
        let range =
            values.fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        if range.0 <= range.1 { range } else { (0.0, 1.0) }
    };
    (0..network.roles.len() as u32).map(range).collect()
}

/// For each role, the first role whose goals are the same gates: in every state, reachable or not, both have the same result.
fn teams(network: &Network) -> Vec<u32> {
    let goals = |role: u32| {
        let own = network.goals.iter().filter(|goal| goal.0 == role);
        let mut own: Vec<(i64, Wire)> = own.map(|&(_, value, wire)| (value, wire)).collect();
        own.sort_unstable_by_key(|&(value, wire)| (value, wire.gate(), wire.is_inverted()));
        own
    };
    let of_role = |role: u32| (0..role).find(|&other| goals(other) == goals(role)).unwrap_or(role);
    (0..network.roles.len() as u32).map(of_role).collect()
}

/// Plays a match in each lane. Whether results have a constant sum, and whether turns are taken.
fn sample(lanes: &mut Lanes, random: &mut Random) -> (bool, bool) {
    /// Joint moves in a match.
    const MAX_PLIES: u32 = 300;
    let compiled = lanes.compiled().clone();
    let network = Lanes::new(compiled.clone()).network().clone();
    let n_roles = network.roles.len();
    let (mut sum, mut constant_sum, mut turn_taking) = (None, true, true);
    let mut live = Vector::ONES;
    for _ in 0..MAX_PLIES {
        lanes.evaluate();
        let over = lanes.lanes_where(network.terminal) & live;
        if !over.is_zero() {
            lanes.evaluate_goals();
            let mut sums = [0i64; LANES];
            for &(_, value, wire) in &network.goals {
                (lanes.lanes_where(wire) & over).lanes().for_each(|lane| sums[lane] += value);
            }
            for lane in over.lanes() {
                constant_sum &= *sum.get_or_insert(sums[lane]) == sums[lane];
            }
            live = live & !over;
        }
        let (mut choosers, mut several) = (Vector::ZERO, Vector::ZERO);
        let mut stuck = Vector::ZERO;
        for role in 0..n_roles {
            let (mut one, mut two) = (Vector::ZERO, Vector::ZERO);
            for chosen in network.moves_of[role].clone() {
                let legal = lanes.lanes_where(network.legal[chosen as usize]);
                two = two | one & legal;
                one = one | legal;
            }
            several = several | choosers & two;
            choosers = choosers | two;
            stuck = stuck | lanes.choose(random, RoleId(role as u32));
        }
        turn_taking &= (several & live).is_zero();
        live = live & !stuck;
        if live.is_zero() {
            break;
        }
        lanes.advance();
    }
    (constant_sum, turn_taking)
}

/// Fluents that count moves: what they will be depends on nothing but the number of moves made. States that differ in them
/// alone are the same as long as nothing else looks at what differs.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The counting fluents.
    pub fluents: Vec<u32>,
    /// Those of them that nothing else looks at directly. States that differ in no others are the same in the sense of
    /// [`Counters::clean`].
    pub hidden: Vec<u32>,
    /// For each number of moves made, until which number nothing else sees a difference.
    clean_until: Vec<u32>,
    /// The number of moves made, by the counting fluents that hold.
    time: FxHashMap<Box<[u32]>, u32>,
}

impl Counters {
    /// Finds the fluents of a network that count moves.
    pub fn find(network: &Network) -> Counters {
        /// Fluents that are looked at, and moves that are followed.
        const MAX_FLUENTS: usize = 4_000;
        const MAX_TIME: usize = 4_000;
        /// The longest cycle, such as that of the roles' turns, that is told apart from counting.
        const MAX_CYCLE: usize = 16;
        // Step 1. Fluents that depend on each other alone, and on no move.
        let mut free = vec![false; network.gates.len()];
        for (number, gate) in network.gates.iter().enumerate() {
            free[number] = match gate {
                Gate::False | Gate::Fluent(_) => true,
                Gate::Move(_) | Gate::Loop(_) => false,
                Gate::And(inputs) => inputs.iter().all(|wire| free[wire.gate() as usize]),
            };
        }
        let own = |fluent: usize| network.next[fluent] == Wire::of(1 + fluent as u32);
        let mut members: Vec<usize> = (0..network.fluents.len())
            .filter(|&fluent| free[network.next[fluent].gate() as usize] && !own(fluent))
            .collect();
        if members.len() > MAX_FLUENTS {
            return Counters::default();
        }
        let reads: Vec<(usize, Vec<usize>)> =
            members.iter().map(|&member| (member, support(network, network.next[member]))).collect();
        loop {
            let inside = |fluent: &usize| members.binary_search(fluent).is_ok();
            let kept = reads.iter().filter(|(member, reads)| inside(member) && reads.iter().all(&inside));
            let kept: Vec<usize> = kept.map(|&(member, _)| member).collect();
            if kept.len() == members.len() {
                break;
            }
            members = kept;
        }
        // Step 2. What becomes of them.
        let mut now: Vec<bool> = members.iter().map(|&member| network.initial[member]).collect();
        let mut history: Vec<Vec<bool>> = Vec::new();
        while history.len() < MAX_TIME && history.last() != Some(&now) {
            history.push(now.clone());
            let holds =
                |fluent: usize| members.binary_search(&fluent).is_ok_and(|place| history[history.len() - 1][place]);
            let mut known = FxHashMap::default();
            now = members.iter().map(|&member| evaluate(network, network.next[member], &holds, &mut known)).collect();
        }
        // Step 3. Leave out what goes in a small circle.
        let cycles = |place: usize| {
            (1..=MAX_CYCLE.min(history.len() / 3))
                .any(|period| history.iter().zip(&history[period..]).all(|(one, other)| one[place] == other[place]))
        };
        let counting: Vec<usize> = (0..members.len()).filter(|&place| !cycles(place)).collect();
        let fluents: Vec<u32> = counting.iter().map(|&place| members[place] as u32).collect();
        if fluents.is_empty() {
            return Counters::default();
        }
        // Step 4. When others see a difference.
        let other = |fluent: usize| fluents.binary_search(&(fluent as u32)).is_err();
        let next = (0..network.fluents.len()).filter(|&fluent| other(fluent)).map(|fluent| network.next[fluent]);
        let goals = network.goals.iter().map(|goal| goal.2);
        let outputs = network.legal.iter().copied().chain(goals).chain([network.terminal]).chain(next);
        let seen = reached(network, outputs);
        let visible: Vec<usize> = counting.iter().copied().filter(|&place| seen[1 + members[place]]).collect();
        let views: Vec<Vec<bool>> =
            history.iter().map(|holds| visible.iter().map(|&place| holds[place]).collect()).collect();
        let mut clean_until: Vec<u32> = (0..history.len() as u32).collect();
        for time in (0..history.len().saturating_sub(1)).rev() {
            if views[time] == views[time + 1] {
                clean_until[time] = clean_until[time + 1];
            }
        }
        let mut time = FxHashMap::default();
        for (number, holds) in history.iter().enumerate() {
            let holding = counting.iter().filter(|&&place| holds[place]).map(|&place| members[place] as u32);
            time.entry(holding.collect()).or_insert(number as u32);
        }
        let hidden = fluents.iter().copied().filter(|&fluent| !seen[1 + fluent as usize]).collect();
        Counters { fluents, hidden, clean_until, time }
    }

    /// How many moves can be made from a state before anything but the counters sees that they count.
    pub fn clean(&self, state: &[u64]) -> u32 {
        let holds = |&&fluent: &&u32| state[fluent as usize / 64] >> (fluent % 64) & 1 == 1;
        let holding: Box<[u32]> = self.fluents.iter().filter(holds).copied().collect();
        self.time.get(&holding).map_or(0, |&time| self.clean_until[time as usize] - time)
    }
}

/// Marks the gates that some wires depend on.
fn reached(network: &Network, outputs: impl Iterator<Item = Wire>) -> Vec<bool> {
    let mut seen = vec![false; network.gates.len()];
    let mut waiting: Vec<u32> = outputs.map(Wire::gate).collect();
    let loops: FxHashMap<u32, Wire> = network.blocks.iter().flat_map(|block| block.loops.iter().copied()).collect();
    while let Some(gate) = waiting.pop() {
        if std::mem::replace(&mut seen[gate as usize], true) {
            continue;
        }
        match &network.gates[gate as usize] {
            Gate::And(inputs) => waiting.extend(inputs.iter().map(|wire| wire.gate())),
            Gate::Loop(_) => waiting.extend(loops.get(&gate).map(|wire| wire.gate())),
            _ => {}
        }
    }
    seen
}

/// The fluents that a wire depends on.
fn support(network: &Network, wire: Wire) -> Vec<usize> {
    let mut seen = rustc_hash::FxHashSet::default();
    let (mut waiting, mut fluents) = (vec![wire.gate()], Vec::new());
    while let Some(gate) = waiting.pop() {
        if !seen.insert(gate) {
            continue;
        }
        match &network.gates[gate as usize] {
            Gate::Fluent(fluent) => fluents.push(*fluent as usize),
            Gate::And(inputs) => waiting.extend(inputs.iter().map(|wire| wire.gate())),
            _ => {}
        }
    }
    fluents
}

/// Whether a wire that depends on fluents alone is true. Gates that are known are in `known`.
fn evaluate(network: &Network, wire: Wire, holds: &dyn Fn(usize) -> bool, known: &mut FxHashMap<u32, bool>) -> bool {
    let gate = wire.gate();
    let value = match known.get(&gate) {
        Some(&value) => value,
        None => {
            let value = match &network.gates[gate as usize] {
                Gate::Fluent(fluent) => holds(*fluent as usize),
                Gate::And(inputs) => inputs.iter().all(|&wire| evaluate(network, wire, holds, known)),
                _ => false,
            };
            known.insert(gate, value);
            value
        }
    };
    value != wire.is_inverted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    fn nature(game: &str) -> (Nature, Vec<String>) {
        let network = network(game);
        let nature = Nature::new(&Compiled::new(network.clone()), 1);
        let names = nature.counters.fluents.iter().map(|&fluent| network.name(network.fluents[fluent as usize]));
        let names = names.collect();
        (nature, names)
    }

    #[test]
    fn kinds_of_games() {
        let kind = |game| {
            let nature = nature(game).0;
            (nature.constant_sum, nature.turn_taking)
        };
        assert_eq!(kind("tic-tac-toe"), (true, true));
        assert_eq!(kind("prisoners-dilemma"), (false, false));
        assert!(!kind("tron").1);
        assert_eq!(kind("breakthrough"), (true, true));
    }

    /// Those who get the same under the same conditions are a team.
    #[test]
    fn teams_are_found() {
        let rules =
            b"(role a) (role b) (role c) (init (at 0)) (<= (legal ?r left) (role ?r)) (<= (legal ?r right) (role ?r))
            (<= (next won) (does a left) (does c left)) (<= (next over) (does b left)) (<= (next over) (does b right))
            (<= terminal (true over)) (<= (goal a 100) (true won)) (<= (goal a 0) (not (true won)))
            (<= (goal b 0) (true won)) (<= (goal b 100) (not (true won)))
            (<= (goal c 100) (true won)) (<= (goal c 0) (not (true won)))";
        let allied = Nature::new(&Compiled::new(crate::testing::of_rules(rules)), 1);
        assert_eq!(allied.teams, [0, 1, 0]);
        // A ghost that catches nobody has nothing.
        assert_eq!(nature("pacman").0.teams, [0, 1, 2]);
        assert_eq!(nature("tic-tac-toe").0.teams, [0, 1]);
        assert_eq!(nature("three-player-tic-tac-toe").0.teams, [0, 1, 2]);
        assert_eq!(nature("prisoners-dilemma").0.teams, [0, 1]);
    }

    /// Turns go round; steps count, and only the last is looked at.
    #[test]
    fn counters_are_found() {
        assert!(nature("tic-tac-toe").1.is_empty());
        let (found, names) = nature("checkers-ggp");
        assert!(names.len() > 20, "{names:?}");
        let machine = machine::scalar::Scalar::new(machine::scalar::Compiled::new(network("checkers-ggp")));
        let clean = found.counters.clean(machine.bits());
        assert!(clean as usize + 3 >= names.len(), "{clean} of {}", names.len());
    }
}
