//! The structure of a game: what its fluents are, as far as rules and random matches tell.
//!
//! Findings are hypotheses that no sampled state refutes (Kuhlmann 2010); where the game has a network they are then proved
//! by induction, if they can be ([`crate::prove`]). Every finding says which of the two it is.

pub mod board;
pub mod counter;
pub mod exclusion;
pub mod outcome;
pub mod turn;

use batsat::Lit;
use gdl::Stop;
use machine::network::Wire;
use rustc_hash::FxHashSet;

use crate::family::{self, Family};
use crate::order::{self, Arithmetic, Order};
use crate::prove::{self, Group, Prover};
use crate::sample::Samples;
use crate::universe::{Circuit, Universe};
use board::Board;
use counter::Counter;
use exclusion::Exclusion;
use outcome::Outcomes;
use turn::{Kind, Turns};

/// Why something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// It holds in every state that can be reached.
    Proved,
    /// It held in so many sampled states.
    Seen(u64),
}

/// A number that a game keeps.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The family.
    pub family: usize,
    /// The arguments that say what it is the number of.
    pub key: Vec<usize>,
    /// The argument that is the number.
    pub value: usize,
    /// The order of the numbers.
    pub order: usize,
}

/// The structure of a game.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The families of fluents.
    pub families: Vec<Family>,
    /// The families of moves.
    pub move_families: Vec<Family>,
    /// The orders.
    pub orders: Vec<Order>,
    /// The relations that compute with them.
    pub arithmetic: Vec<Arithmetic>,
    /// Fluents that exclude each other, with why at most one holds and, if one always holds, why.
    pub exclusions: Vec<(Exclusion, Evidence, Option<Evidence>)>,
    /// Who moves when.
    pub turns: Turns,
    /// Why it is said that turns are taken so.
    pub turns_evidence: Evidence,
    /// Counters and cycles, with why they go on so, and why the game ends where it does.
    pub counters: Vec<(Counter, Evidence, Option<Evidence>)>,
    /// The boards.
    pub boards: Vec<Board>,
    /// For each board and each of its pieces, by its place among the markers, why it is one.
    pub pieces: Vec<Vec<(usize, Evidence)>>,
    /// The numbers.
    pub quantities: Vec<Quantity>,
    /// The families of which every member ceases to hold after one step, and why.
    pub changing: Vec<(usize, Evidence)>,
    /// What results have in common.
    pub outcomes: Outcomes,
    /// Why teams are teams, and why sums are constant.
    pub outcomes_evidence: (Evidence, Evidence),
    /// Why nothing was proved, where that is so.
    pub unproved: Option<String>,
}

/// Finds the structure of a game.
pub fn find(universe: &Universe, circuit: Option<&Circuit>, samples: &Samples, budget: &prove::Budget) -> Structure {
    let stop = &budget.stop;
    let seen = Evidence::Seen(samples.n_kept());
    // Step 1. Hypotheses.
    let families = family::families(universe, universe.fluents.iter().copied());
    let move_families = family::families(universe, universe.moves.iter().map(|&(_, chosen)| chosen));
    let orders = order::find_orders(universe, stop);
    let arithmetic = order::find_arithmetic(universe, &orders, stop);
    let exclusions = exclusion::find(&families, samples, stop);
    let turns = turn::find(universe, circuit, samples, stop);
    let counters = counter::find(&families, &exclusions, &universe.initial, circuit, samples, stop);
    let outcomes = outcome::find(universe.roles.len(), &samples.outcomes);
    let mut used = vec![false; families.len()];
    counters.iter().for_each(|counter| used[counter.family] = true);
    let control: FxHashSet<u32> = turns.control.iter().flatten().copied().collect();
    for (index, family) in families.iter().enumerate() {
        used[index] |= family.members.iter().all(|member| control.contains(member));
    }
    let boards = board::find(universe, &families, &exclusions, &orders, &turns, samples, &used, stop);
    boards.iter().flat_map(|board| &board.layers).for_each(|layer| used[layer.family] = true);
    let quantities = quantities(universe, &families, &exclusions, &orders, &used, stop);
    let changing: Vec<usize> = (0..families.len())
        .take_while(|_| !stop.is_raised())
        .filter(|&index| families[index].members.len() > 1 && always_changes(&families[index], samples))
        .collect();
    let mut structure = Structure {
        families,
        move_families,
        orders,
        arithmetic,
        exclusions: exclusions
            .into_iter()
            .map(|found| {
                let exactly = found.exactly.then_some(seen);
                (found, seen, exactly)
            })
            .collect(),
        turns,
        turns_evidence: seen,
        counters: counters
            .into_iter()
            .map(|counter| {
                let limit = counter.limit.map(|_| seen);
                (counter, seen, limit)
            })
            .collect(),
        pieces: boards
            .iter()
            .map(|board| {
                let pieces = board.markers.iter().enumerate().filter(|(_, marker)| marker.is_piece);
                pieces.map(|(index, _)| (index, seen)).collect()
            })
            .collect(),
        boards,
        quantities,
        changing: changing.into_iter().map(|index| (index, seen)).collect(),
        outcomes,
        outcomes_evidence: (Evidence::Seen(samples.n_matches), Evidence::Seen(samples.n_matches)),
        unproved: None,
    };
    // Step 2. Proofs.
    match circuit.map(|circuit| (circuit, Prover::new(circuit, budget))) {
        Some((circuit, Ok(prover))) => Proving { universe, circuit, prover }.prove(&mut structure),
        Some((_, Err(too_large))) => structure.unproved = Some(too_large.to_string()),
        None => structure.unproved = Some("there is no network to prove anything on".to_owned()),
    }
    if stop.is_raised() {
        structure.unproved = Some("the analysis was stopped".to_owned());
    }
    structure
}

fn quantities(
    universe: &Universe,
    families: &[Family],
    exclusions: &[Exclusion],
    orders: &[Order],
    used: &[bool],
    stop: &Stop,
) -> Vec<Quantity> {
    let mut found: Vec<Quantity> = Vec::new();
    let mut is_quantity = vec![false; families.len()];
    for exclusion in exclusions.iter().take_while(|_| !stop.is_raised()) {
        let [family] = exclusion.families[..] else { continue };
        if used[family] || exclusion.is_trivial() || is_quantity[family] {
            continue;
        }
        let varying = (0..families[family].arity()).filter(|&position| families[family].domains[position].len() > 1);
        let others: Vec<usize> = varying.filter(|position| !exclusion.key.contains(position)).collect();
        let [value] = others[..] else { continue };
        if exclusion.key.iter().any(|&position| board::are_alike(&families[family], position, value)) {
            continue;
        }
        let is_role = families[family].domains[value].iter().all(|value| universe.roles.contains(value));
        let order = board::best_order(universe, &families[family], value, orders);
        if let Some(order) = order.filter(|&order| !is_role && !orders[order].cyclic) {
            is_quantity[family] = true;
            found.push(Quantity { family, key: exclusion.key.clone(), value, order });
        }
    }
    found
}

fn always_changes(family: &Family, samples: &Samples) -> bool {
    let mut ever = false;
    let ends = samples.batches.iter().all(|batch| {
        let on = batch.live & !batch.terminal;
        family.members.iter().all(|&member| {
            let holds = batch.fluents[member as usize] & on;
            ever |= !holds.is_zero();
            (holds & batch.next[member as usize]).is_zero()
        })
    });
    ends && ever
}

struct Proving<'a> {
    universe: &'a Universe,
    circuit: &'a Circuit,
    prover: Prover<'a>,
}

impl Proving<'_> {
    fn prove(&mut self, structure: &mut Structure) {
        // Step 1. Exclusions and pieces, all at once, since each may need the others.
        let mut groups = Vec::new();
        let mut ask = |members: &[u32], exactly: bool| {
            let n_initial = members.iter().filter(|&&member| self.universe.initial[member as usize]).count();
            let holds = n_initial <= 1;
            if members.len() > 1 && holds {
                groups.push(Group { members: members.to_vec(), exactly: exactly && n_initial == 1 });
                Some(groups.len() - 1)
            } else {
                None
            }
        };
        let exclusions: Vec<Vec<Option<usize>>> = structure
            .exclusions
            .iter()
            .map(|(found, ..)| found.groups.iter().map(|group| ask(group, found.exactly)).collect())
            .collect();
        let pieces: Vec<Vec<Option<usize>>> = structure
            .pieces
            .iter()
            .zip(&structure.boards)
            .map(|(pieces, board)| {
                let members = |index: usize| board.markers[index].fluents.iter().map(|&(fluent, _)| fluent);
                pieces.iter().map(|&(index, _)| ask(&members(index).collect::<Vec<_>>(), false)).collect()
            })
            .collect();
        let proofs = self.prover.prove_groups(&groups);
        for ((found, at_most, at_least), groups) in structure.exclusions.iter_mut().zip(exclusions) {
            // A group of one holds at most one member by itself.
            let sizes = found.groups.iter().map(Vec::len);
            if groups
                .iter()
                .zip(sizes)
                .all(|(group, size)| size == 1 || group.is_some_and(|group| proofs[group].at_most))
            {
                *at_most = Evidence::Proved;
            }
            if groups.iter().all(|group| group.is_some_and(|group| proofs[group].at_least)) {
                at_least.iter_mut().for_each(|evidence| *evidence = Evidence::Proved);
            }
        }
        for (pieces, groups) in structure.pieces.iter_mut().zip(pieces) {
            for ((_, evidence), group) in pieces.iter_mut().zip(groups) {
                if group.is_some_and(|group| proofs[group].at_most) {
                    *evidence = Evidence::Proved;
                }
            }
        }
        self.turns(structure);
        self.counters(structure);
        for (family, evidence) in &mut structure.changing {
            let members = &structure.families[*family].members;
            let ends = |&member: &u32| {
                let (now, next) = (self.circuit.fluents[member as usize], self.circuit.next[member as usize]);
                self.prover.impossible(&[&[now], &[next]], true) == Some(true)
            };
            if members.iter().all(ends) {
                *evidence = Evidence::Proved;
            }
        }
        self.outcomes(structure);
    }

    fn turns(&mut self, structure: &mut Structure) {
        let legal = &self.circuit.network.legal;
        let ranges = turn::ranges(self.universe).into_iter();
        let proved = match structure.turns.kind {
            Kind::Single => true,
            // No two roles have something to do at once: a move that is not idle, or several idle ones.
            Kind::TurnTaking => {
                let busy: Vec<Lit> = ranges
                    .zip(&structure.turns.idle)
                    .map(|(range, idle)| {
                        let is_idle: FxHashSet<u32> = idle.iter().copied().collect();
                        let (idle, others): (Vec<usize>, Vec<usize>) =
                            range.partition(|&chosen| is_idle.contains(&(chosen as u32)));
                        let wires = |moves: Vec<usize>| moves.iter().map(|&chosen| legal[chosen]).collect::<Vec<_>>();
                        let choice = (idle.len() > 1).then(|| self.prover.several_of(&wires(idle)));
                        self.prover.any_of(&wires(others), choice.as_slice())
                    })
                    .collect();
                (0..busy.len()).all(|one| {
                    (one + 1..busy.len())
                        .all(|other| self.prover.excludes(&[busy[one], busy[other]], true) == Some(true))
                })
            }
            // Which moves are idle was only seen; but a role that has a choice has something to do, whatever they are.
            Kind::Simultaneous => ranges.into_iter().all(|range| {
                let several = self.prover.several_of(&legal[range]);
                self.prover.excludes(&[!several], true) == Some(true)
            }),
            Kind::Mixed => structure.turns.is_mixed,
        };
        if proved {
            structure.turns_evidence = Evidence::Proved;
        }
    }

    fn counters(&mut self, structure: &mut Structure) {
        let terminal = self.circuit.network.terminal;
        for (counter, evidence, limit) in &mut structure.counters {
            let (now, next) = (&self.circuit.fluents, &self.circuit.next);
            let pairs = counter.values.windows(2).map(|pair| (pair[0], pair[1]));
            let last = counter.cyclic.then(|| (*counter.values.last().expect("it has values"), counter.values[0]));
            let mut pairs = pairs.chain(last);
            let follows = pairs.all(|(one, other)| {
                let (before, after) = (now[one as usize], next[other as usize]);
                before == after || self.prover.impossible(&[&[before], &[after.inverted()]], true) == Some(true)
            });
            if follows {
                *evidence = Evidence::Proved;
            }
            if counter.cyclic {
                continue;
            }
            // A value that can't be without the end: the one that was seen to be, or a late one.
            let members = &structure.families[counter.family].members;
            let unseen = members.iter().filter(|member| !counter.values.contains(member)).take(16);
            let late = counter.values.iter().rev().take(4).rev();
            let candidates: Vec<u32> = match counter.limit {
                Some(limit) => vec![limit],
                None => late.chain(unseen).copied().collect(),
            };
            for value in candidates {
                let holds = self.circuit.fluents[value as usize];
                if self.prover.impossible(&[&[holds], &[terminal.inverted()]], false) == Some(true) {
                    (counter.limit, *limit) = (Some(value), Some(Evidence::Proved));
                    break;
                }
            }
        }
    }

    fn outcomes(&mut self, structure: &mut Structure) {
        let network = &self.circuit.network;
        let terminal = network.terminal;
        let goals_of = |role: u32| network.goals.iter().filter(move |goal| goal.0 == role);
        let mut impossible = |wires: &[Wire]| {
            let lists: Vec<&[Wire]> = wires.iter().map(std::slice::from_ref).collect();
            self.prover.impossible(&lists, false) == Some(true)
        };
        let teams = structure.outcomes.teams.iter().filter(|team| team.len() > 1).all(|team| {
            team[1..].iter().all(|&other| {
                goals_of(team[0]).all(|one| {
                    goals_of(other).filter(|two| two.1 != one.1).all(|two| impossible(&[terminal, one.2, two.2]))
                })
            })
        });
        // Whoever has a result at all: without one there is nothing to compare or to add up.
        let mut has_result = |role: u32| {
            let none = goals_of(role).map(|goal| goal.2.inverted());
            impossible(&std::iter::once(terminal).chain(none).collect::<Vec<_>>())
        };
        let in_teams = structure.outcomes.teams.iter().filter(|team| team.len() > 1).flatten();
        if teams && in_teams.copied().all(&mut has_result) {
            structure.outcomes_evidence.0 = Evidence::Proved;
        }
        let Some(sum) = structure.outcomes.sum else { return };
        // All combinations of goal values, if they are few.
        let values: Vec<Vec<(i64, Wire)>> = (0..network.moves_of.len() as u32)
            .map(|role| goals_of(role).map(|goal| (goal.1, goal.2)).collect())
            .collect();
        let n_combinations = values.iter().try_fold(1usize, |product, values| product.checked_mul(values.len()));
        if n_combinations.is_none_or(|n| n > 2_000) || !(0..values.len() as u32).all(has_result) {
            return;
        }
        let mut combinations: Vec<(i64, Vec<Wire>)> = vec![(0, vec![terminal])];
        for values in &values {
            combinations = combinations
                .iter()
                .flat_map(|(total, wires)| {
                    values.iter().map(move |&(value, wire)| {
                        let mut wires = wires.clone();
                        wires.push(wire);
                        (total + value, wires)
                    })
                })
                .collect();
        }
        if combinations.iter().all(|(total, wires)| *total == sum || impossible(wires)) {
            structure.outcomes_evidence.1 = Evidence::Proved;
        }
    }
}
