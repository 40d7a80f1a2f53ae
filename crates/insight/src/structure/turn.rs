//! Whose turn it is: who has a choice when, and which moves mean that one has none.

use gdl::Stop;
use machine::lanes::Vector;
use machine::network::Gate;

use crate::sample::{Batch, Samples};
use crate::universe::{Circuit, Universe};

/// How turns are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is one role.
    Single,
    /// At most one role is to move at a time.
    TurnTaking,
    /// All roles are to move, always.
    Simultaneous,
    /// Sometimes several roles are to move, but not always all.
    Mixed,
}

/// Who moves when.
#[derive(Clone, Debug)]
pub struct Turns {
    /// How turns are taken, in the samples.
    pub kind: Kind,
    /// The moves of each role that mean that it has nothing to do, where they are its only ones.
    pub idle: Vec<Vec<u32>>,
    /// For each role, the fluents that hold exactly when it is to move.
    pub control: Vec<Vec<u32>>,
    /// The roles that are to move in the initial state.
    pub first: Vec<u32>,
    /// Moves that change nothing about the next state, by the network.
    pub without_effect: Vec<u32>,
    /// Whether some sampled states leave no doubt that turns are mixed, whichever moves are idle: several roles have a
    /// choice, and elsewhere a role has one move alone, which changes nothing.
    pub is_mixed: bool,
}

/// The lanes in which a role has something to do: a choice, or one move that is not idle.
pub(super) fn to_move(batch: &Batch, moves: std::ops::Range<usize>, idle: &[u32]) -> Vector {
    let several = several(batch, moves.clone());
    let busy = moves.filter(|&chosen| idle.binary_search(&(chosen as u32)).is_err());
    let busy = busy.fold(Vector::ZERO, |busy, chosen| busy | batch.legal[chosen]);
    (busy | several) & batch.live & !batch.terminal
}

/// The lanes in which at least two of these moves are legal.
fn several(batch: &Batch, moves: std::ops::Range<usize>) -> Vector {
    let (mut any, mut several) = (Vector::ZERO, Vector::ZERO);
    for chosen in moves {
        several = several | any & batch.legal[chosen];
        any = any | batch.legal[chosen];
    }
    several
}

/// The moves of each role, as ranges.
pub(super) fn ranges(universe: &Universe) -> Vec<std::ops::Range<usize>> {
    (0..universe.roles.len() as u32)
        .map(|role| {
            let start = universe.moves.partition_point(|&(of, _)| of < role);
            start..universe.moves.partition_point(|&(of, _)| of <= role)
        })
        .collect()
}

/// Finds out who moves when, by as many samples as there is time for.
pub(super) fn find(universe: &Universe, circuit: Option<&Circuit>, samples: &Samples, stop: &Stop) -> Turns {
    let ranges = ranges(universe);
    let without_effect = circuit.map(without_effect).unwrap_or_default();
    // Step 1. Idle moves: what a role does when it has nothing else, if that has no effect or another role often
    // has a choice then.
    let choices: Vec<Vec<Vector>> = samples
        .batches
        .iter()
        .map(|batch| ranges.iter().map(|range| several(batch, range.clone())).collect())
        .collect();
    // The lanes in which any role has a choice, and in which at least two have.
    let n_choosing: Vec<(Vector, Vector)> = choices
        .iter()
        .map(|choices| {
            let count = |(any, two): (Vector, Vector), &choice: &Vector| (any | choice, two | any & choice);
            choices.iter().fold((Vector::ZERO, Vector::ZERO), count)
        })
        .collect();
    let mut idle: Vec<Vec<u32>> = vec![Vec::new(); ranges.len()];
    let mut is_forced_to_nothing = false;
    for (role, range) in ranges.iter().enumerate().filter(|_| ranges.len() > 1) {
        // How often the role has one legal move alone.
        let n_forced: u32 = samples
            .batches
            .iter()
            .zip(&choices)
            .map(|(batch, choices)| (batch.live & !batch.terminal & !choices[role]).count())
            .sum();
        for chosen in range.clone() {
            if stop.is_raised() {
                break;
            }
            let nothing = without_effect.binary_search(&(chosen as u32)).is_ok();
            let (mut n_alone, mut n_elsewhere) = (0, 0);
            for ((batch, choices), &(any, two)) in samples.batches.iter().zip(&choices).zip(&n_choosing) {
                let alone = batch.legal[chosen] & !choices[role] & batch.live & !batch.terminal;
                let elsewhere = two | any & !choices[role];
                n_alone += alone.count();
                n_elsewhere += (alone & elsewhere).count();
            }
            is_forced_to_nothing |= nothing && n_alone > 0;
            // A move that is the only one now and then is forced; one that is so often is the way to wait.
            let often = u64::from(n_alone) * 100 >= samples.n_kept() * 15;
            if n_alone > 0 && n_alone * 10 >= n_forced * 3 && (nothing || often && n_elsewhere * 10 >= n_alone) {
                idle[role].push(chosen as u32);
            }
        }
    }
    // Step 2. Who is to move at each moment.
    let n_roles = ranges.len();
    let (mut ever_several, mut ever_fewer) = (false, false);
    let mut control: Vec<Vec<u32>> = vec![(0..universe.fluents.len() as u32).collect(); n_roles];
    for batch in samples.batches.iter().take_while(|_| !stop.is_raised()) {
        let movers: Vec<Vector> = (0..n_roles).map(|role| to_move(batch, ranges[role].clone(), &idle[role])).collect();
        let on = batch.live & !batch.terminal;
        let (mut any, mut several, mut all) = (Vector::ZERO, Vector::ZERO, on);
        for &mover in &movers {
            several = several | any & mover;
            any = any | mover;
            all = all & mover;
        }
        ever_several |= !several.is_zero();
        ever_fewer |= !(any & !all).is_zero();
        for (role, fluents) in control.iter_mut().enumerate() {
            fluents.retain(|&fluent| ((batch.fluents[fluent as usize] ^ movers[role]) & any).is_zero());
        }
    }
    if n_roles == 1 || ever_several && !ever_fewer {
        control.iter_mut().for_each(Vec::clear);
    }
    let kind = match (n_roles, ever_several, ever_fewer) {
        (1, ..) => Kind::Single,
        (_, false, _) => Kind::TurnTaking,
        (_, true, false) => Kind::Simultaneous,
        (_, true, true) => Kind::Mixed,
    };
    // Step 3. Who begins: by the samples' initial states.
    let initial = samples.batches.iter().find_map(|batch| {
        let same = (0..universe.fluents.len()).fold(batch.live & !batch.terminal, |same, fluent| {
            same & if universe.initial[fluent] { batch.fluents[fluent] } else { !batch.fluents[fluent] }
        });
        (!same.is_zero()).then_some((batch, same))
    });
    let first = initial.map_or(Vec::new(), |(batch, same)| {
        let moves = |role: &usize| !(to_move(batch, ranges[*role].clone(), &idle[*role]) & same).is_zero();
        (0..n_roles).filter(moves).map(|role| role as u32).collect()
    });
    let several_choose = samples
        .batches
        .iter()
        .zip(&n_choosing)
        .any(|(batch, (_, two))| !(*two & batch.live & !batch.terminal).is_zero());
    let is_mixed = several_choose && is_forced_to_nothing;
    Turns { kind, idle, control, first, without_effect, is_mixed }
}

/// The moves that no gate looks at.
fn without_effect(circuit: &Circuit) -> Vec<u32> {
    let network = &circuit.network;
    let mut used = vec![false; network.gates.len()];
    for gate in &network.gates {
        if let Gate::And(inputs) = gate {
            inputs.iter().for_each(|input| used[input.gate() as usize] = true);
        }
    }
    network.outputs().for_each(|wire| used[wire.gate() as usize] = true);
    let gates = network.gates.iter().enumerate();
    gates
        .filter_map(|(at, gate)| if let (Gate::Move(chosen), false) = (gate, used[at]) { Some(*chosen) } else { None })
        .collect()
}
