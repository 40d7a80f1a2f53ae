//! Every state of a small game, found by the reference engine, and what the roles get from each: right by enumeration.

use std::collections::HashMap;
use std::sync::Arc;

use machine::network::Network;
use machine::scalar::{Compiled, Scalar};
use machine::{Limits, Machine, Reference, RoleId};
use search::equilibrium;

/// All states that can be reached, the first one first.
pub(crate) struct Graph {
    pub(crate) n_roles: usize,
    pub(crate) nodes: Vec<Node>,
    /// For each role, the goal values that its rules name, ascending.
    pub(crate) values: Vec<Vec<i64>>,
    of_bits: HashMap<Vec<u64>, usize>,
}

/// A state.
pub(crate) struct Node {
    /// The state as the network has it.
    pub(crate) bits: Vec<u64>,
    pub(crate) is_terminal: bool,
    /// For each role its goal value, where the rules give exactly one.
    pub(crate) goals: Vec<Option<i64>>,
    /// For each role its moves, as the network numbers them; none where the match is over.
    pub(crate) legal: Vec<Vec<u32>>,
    /// The states after each joint move, the first role's moves changing first; none where the match is over or can't go on.
    pub(crate) next: Vec<usize>,
}

impl Node {
    /// The roles that have a choice.
    pub(crate) fn choosers(&self) -> Vec<usize> {
        (0..self.legal.len()).filter(|&role| self.legal[role].len() > 1).collect()
    }

    /// The state after a joint move, given each role's place among its moves.
    fn after(&self, places: &[usize]) -> usize {
        let place = places.iter().zip(&self.legal).rev().fold(0, |place, (at, moves)| place * moves.len() + at);
        self.next[place]
    }
}

/// What a role may end with at least and at most, whatever matches without a result are worth.
pub(crate) type Bounds = Vec<(i64, i64)>;

impl Graph {
    /// All states of a game; `None` if there are more than `most`.
    pub(crate) fn new(program: &Arc<gdl::Program>, network: &Arc<Network>, most: usize) -> Option<Graph> {
        let mut reference = Reference::new(program.clone(), Limits::default()).unwrap_or_else(|why| panic!("{why:?}"));
        let mut scalar = Scalar::new(Compiled::new(network.clone()));
        let n_roles = network.roles.len();
        assert_eq!(reference.roles(), &network.roles[..]);
        let mut number: HashMap<(usize, String), u32> = HashMap::new();
        for (role, moves) in network.moves_of.iter().enumerate() {
            number.extend(moves.clone().map(|chosen| ((role, network.name(network.moves[chosen as usize])), chosen)));
        }
        let values = |role: usize| {
            let own = network.goals.iter().filter(|goal| goal.0 as usize == role).map(|goal| goal.1);
            let mut own: Vec<i64> = own.collect();
            own.sort_unstable();
            own.dedup();
            own
        };
        let mut graph =
            Graph { n_roles, nodes: Vec::new(), values: (0..n_roles).map(values).collect(), of_bits: HashMap::new() };
        let first = reference.initial().expect("the rules are small");
        let mut waiting = vec![(first.clone(), scalar.bits().to_vec())];
        let mut known = HashMap::from([(first, 0)]);
        let mut at = 0;
        while at < waiting.len() {
            let (state, bits) = waiting[at].clone();
            at += 1;
            scalar.jump(&bits);
            let is_terminal = reference.is_terminal(&state).expect("the rules are small");
            assert_eq!(is_terminal, scalar.terminal());
            let (mut goals, mut own, mut legal) = (Vec::new(), Vec::new(), Vec::new());
            for role in 0..n_roles {
                let id = RoleId(role as u32);
                let values = reference.goals(&state, id).expect("the rules are small");
                goals.push(if let [value] = values[..] { Some(value) } else { None });
                let mut moves = Vec::new();
                if !is_terminal {
                    reference.legal(&state, id, &mut moves).expect("the rules are small");
                }
                let numbers = moves.iter().map(|&chosen| number[&(role, reference.move_name(chosen))]);
                let mut pairs: Vec<_> = numbers.zip(moves.iter().copied()).collect();
                pairs.sort_by_key(|pair| pair.0);
                legal.push(pairs.iter().map(|pair| pair.0).collect::<Vec<u32>>());
                own.push(pairs);
            }
            let n_joint = own.iter().map(Vec::len).product::<usize>();
            let mut next = Vec::new();
            for joint in (0..n_joint).filter(|_| !is_terminal) {
                let mut rest = joint;
                let pairs: Vec<_> = own
                    .iter()
                    .map(|moves| {
                        let pair = moves[rest % moves.len()];
                        rest /= moves.len();
                        pair
                    })
                    .collect();
                let moves: Vec<_> = pairs.iter().map(|pair| pair.1).collect();
                let after = reference.next(&state, &moves).expect("the rules are small");
                next.push(*known.entry(after.clone()).or_insert_with(|| {
                    scalar.jump(&bits);
                    scalar.make(&pairs.iter().map(|pair| pair.0).collect::<Vec<u32>>());
                    waiting.push((after, scalar.bits().to_vec()));
                    waiting.len() - 1
                }));
                if waiting.len() > most {
                    return None;
                }
            }
            graph.of_bits.entry(bits.clone()).or_insert(at - 1);
            graph.nodes.push(Node { bits, is_terminal, goals, legal, next });
        }
        Some(graph)
    }

    /// The node after a joint move of the network.
    pub(crate) fn follow(&self, node: usize, joint: &[u32]) -> usize {
        let place = |(moves, chosen): (&Vec<u32>, &u32)| moves.iter().position(|other| other == chosen);
        let places: Option<Vec<usize>> = self.nodes[node].legal.iter().zip(joint).map(place).collect();
        self.nodes[node].after(&places.expect("the move is legal"))
    }

    /// All nodes, those that follow before those that they follow from; `None` if there are cycles.
    fn in_order(&self) -> Option<Vec<usize>> {
        let (mut order, mut mark) = (Vec::new(), vec![0u8; self.nodes.len()]);
        let mut stack = vec![(0, 0)];
        mark[0] = 1;
        while let Some((node, place)) = stack.pop() {
            match self.nodes[node].next.get(place) {
                None => {
                    mark[node] = 2;
                    order.push(node);
                }
                Some(&next) => {
                    stack.push((node, place + 1));
                    match mark[next] {
                        0 => {
                            mark[next] = 1;
                            stack.push((next, 0));
                        }
                        1 => return None,
                        _ => {}
                    }
                }
            }
        }
        Some(order)
    }

    /// For each state, the greatest goal value that the first role can end with if all do what it wants; `None` if there is none, or it
    /// depends on what a match is worth that can't go on or ends without a single goal value.
    pub(crate) fn alone(&self) -> Vec<Option<i64>> {
        // What nobody knows may be worth more than anything but the greatest value.
        const LESS: u8 = 0;
        const UNKNOWN: u8 = 1;
        const MOST: u8 = 2;
        let own = |node: &Node| match node.goals[0].filter(|_| node.is_terminal) {
            Some(goal) => Some((if self.values[0].last() == Some(&goal) { MOST } else { LESS }, goal)),
            None => node.next.is_empty().then_some((UNKNOWN, 0)),
        };
        let mut best: Vec<Option<(u8, i64)>> = self.nodes.iter().map(own).collect();
        self.until_nothing_changes(|at| {
            let found = self.nodes[at].next.iter().map(|&next| best[next]).max().flatten().max(best[at]);
            std::mem::replace(&mut best[at], found) != found
        });
        best.into_iter().map(|found| found.filter(|found| found.0 != UNKNOWN).map(|found| found.1)).collect()
    }

    /// What a role and its allies can be sure of if the others see their moves, and what the others can hold it to.
    pub(crate) fn sure(&self, role: usize, allied: &[bool]) -> Bounds {
        let values = &self.values[role];
        let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
            return vec![(0, 100); self.nodes.len()];
        };
        let mut bounds = vec![(least, least); self.nodes.len()];
        for &value in values {
            // What has no result counts as too little first, and then as enough.
            for counts in [false, true] {
                let holds = self.can_force(role, allied, value, counts);
                for (bounds, _) in bounds.iter_mut().zip(holds).filter(|(_, holds)| *holds) {
                    if counts { bounds.1 = value } else { bounds.0 = value }
                }
            }
        }
        assert!(bounds.iter().all(|&(lower, upper)| lower <= upper && upper <= most));
        bounds
    }

    /// The states from which a team can force that a role gets a value, if matches without a result count so.
    fn can_force(&self, role: usize, allied: &[bool], value: i64, counts: bool) -> Vec<bool> {
        let end = |node: &Node| match (node.is_terminal, node.goals[role]) {
            (true, Some(goal)) => goal >= value,
            _ => counts,
        };
        let mut holds: Vec<bool> = self.nodes.iter().map(end).collect();
        self.until_nothing_changes(|at| {
            let node = &self.nodes[at];
            if node.next.is_empty() {
                return false;
            }
            let found = matrix(node, allied).iter().any(|row| row.iter().all(|&next| holds[next]));
            std::mem::replace(&mut holds[at], found) != found
        });
        holds
    }

    /// What each role gets if each that chooses takes what is best for itself and ties are taken against the others; `None` where that
    /// does not come of lines that end. Several that choose at once take turns, the given role first; without one, they agree only
    /// if nothing depends on them.
    pub(crate) fn max_n(&self, first: Option<usize>) -> Vec<Option<Vec<i64>>> {
        let end = |node: &Node| node.goals.iter().copied().collect::<Option<Vec<i64>>>().filter(|_| node.is_terminal);
        let mut values: Vec<Option<Vec<i64>>> = self.nodes.iter().map(end).collect();
        self.until_nothing_changes(|at| {
            let node = &self.nodes[at];
            if values[at].is_some() || node.next.is_empty() {
                return false;
            }
            let mut order: Vec<usize> = node.choosers();
            order.sort_by_key(|&role| Some(role) != first);
            let found = if order.len() > 1 && first.is_none() {
                let one = &values[node.next[0]];
                one.clone().filter(|one| node.next.iter().all(|&next| values[next].as_ref() == Some(one)))
            } else {
                self.best(node, &order, &mut vec![0; self.n_roles], &values)
            };
            values[at] = found;
            values[at].is_some()
        });
        values
    }

    fn best(
        &self,
        node: &Node,
        order: &[usize],
        places: &mut Vec<usize>,
        values: &[Option<Vec<i64>>],
    ) -> Option<Vec<i64>> {
        let Some((&role, rest)) = order.split_first() else { return values[node.after(places)].clone() };
        let (mut best, mut all): (Option<Vec<i64>>, bool) = (None, true);
        for place in 0..node.legal[role].len() {
            places[role] = place;
            let found = self.best(node, rest, places, values);
            all &= found.is_some();
            best = match (best, found) {
                (Some(best), Some(found)) if best[role] == found[role] => {
                    Some(best.iter().zip(&found).map(|(one, other)| *one.min(other)).collect())
                }
                (Some(best), Some(found)) => Some(if best[role] > found[role] { best } else { found }),
                (best, found) => best.or(found),
            };
        }
        places[role] = 0;
        // What nothing can change: the best for the role, and the worst for all others.
        let limit = |other: usize| {
            let values = &self.values[other];
            if other == role { values.last() } else { values.first() }
        };
        best.filter(|best| all || (0..self.n_roles).all(|other| limit(other) == Some(&best[other])))
    }

    /// What a role gets if it plays its best and the others move by chance, as parts of 100 points; `None` if matches may go on for
    /// ever or have no result.
    pub(crate) fn against_random(&self, role: usize) -> Option<f64> {
        let mut means = vec![0.0; self.nodes.len()];
        for at in self.in_order()? {
            let node = &self.nodes[at];
            if node.next.is_empty() {
                means[at] = node.goals[role].filter(|_| node.is_terminal)? as f64 / 100.0;
                continue;
            }
            let own: Vec<bool> = (0..self.n_roles).map(|other| other == role).collect();
            let mean = |row: Vec<usize>| row.iter().map(|&next| means[next]).sum::<f64>() / row.len() as f64;
            means[at] = matrix(node, &own).into_iter().map(mean).fold(f64::NEG_INFINITY, f64::max);
        }
        Some(means[0])
    }

    /// What a team gets in the mean from each state if both sides mix their moves in the best way; `None` if matches may go on for ever
    /// or have no result.
    pub(crate) fn mixed(&self, role: usize, allied: &[bool]) -> Option<Vec<f64>> {
        let mut values = vec![0.0; self.nodes.len()];
        for at in self.in_order()? {
            let node = &self.nodes[at];
            values[at] = match node.next.is_empty() {
                true => node.goals[role].filter(|_| node.is_terminal)? as f64,
                false => mix(node, allied, |next| values[next]),
            };
        }
        Some(values)
    }

    /// Visits all states again and again until it says of none that it has changed.
    fn until_nothing_changes(&self, mut visit: impl FnMut(usize) -> bool) {
        // The first states come last: what changes mostly changes those before it.
        let mut any = true;
        while any {
            any = false;
            (0..self.nodes.len()).rev().for_each(|at| any |= visit(at));
        }
    }
}

/// What both sides get in the mean where they mix their moves, and the states that follow are worth so much to the team.
pub(crate) fn mix(node: &Node, allied: &[bool], worth: impl Fn(usize) -> f64) -> f64 {
    let worth = |row: &Vec<usize>| row.iter().map(|&next| worth(next)).collect();
    equilibrium::solve(&matrix(node, allied).iter().map(worth).collect::<Vec<Vec<f64>>>()).value
}

/// The states that follow: a row for each joint move of a team, a column for each of the others.
pub(crate) fn matrix(node: &Node, allied: &[bool]) -> Vec<Vec<usize>> {
    let mut rows: Vec<(usize, Vec<usize>)> = Vec::new();
    for (joint, &next) in node.next.iter().enumerate() {
        let (mut rest, mut row, mut factor) = (joint, 0, 1);
        for (moves, allied) in node.legal.iter().zip(allied) {
            if *allied {
                row += factor * (rest % moves.len());
                factor *= moves.len();
            }
            rest /= moves.len();
        }
        match rows.iter_mut().find(|(number, _)| *number == row) {
            Some((_, row)) => row.push(next),
            None => rows.push((row, vec![next])),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}
