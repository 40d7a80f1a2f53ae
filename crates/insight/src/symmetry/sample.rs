//! Sampled states, to refute what is no symmetry before anybody tries to prove it.

use std::sync::Arc;

use gdl::Stop;
use machine::lanes::{self, LANES, Lanes, Vector};
use machine::network::{Network, Wire};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;

use super::Action;

/// States of random play, 512 at a time, with all that the network says about them.
pub(super) struct Samples {
    lanes: Lanes,
    batches: Vec<Batch>,
}

struct Batch {
    fluents: Vec<Vector>,
    legal: Vec<Vector>,
    terminal: Vector,
    goals: Vec<Vector>,
    made: Vec<Vector>,
    /// Where every role makes a legal move; elsewhere there is no next state.
    goes_on: Vector,
    next: Vec<Vector>,
}

impl Samples {
    /// Plays random matches and keeps `n_batches` batches of states, with twice as many moves between two of them as
    /// before: many early states and some late ones. As many batches more are mixed, fluent by fluent, from two of those:
    /// few of their states can be reached, but a symmetry of the rules must hold in them, too.
    /// Stopped, there are fewer.
    pub(super) fn new(network: &Arc<Network>, n_batches: u32, seed: u64, stop: &Stop) -> Samples {
        let compiled = lanes::Compiled::new(network.clone());
        let mut player = Lanes::new(compiled.clone());
        let mut lanes = Lanes::new(compiled);
        let (mut random, mut plies) = (lanes::random(seed), [0; LANES]);
        let mut batches: Vec<Batch> = Vec::with_capacity(2 * n_batches as usize);
        for number in 0..n_batches {
            // In slices of one joint move for each lane, so that it can be stopped.
            let mut n_left = (LANES as u64) << number.min(10);
            while n_left > 0 && !stop.is_raised() {
                let tally = player.playouts(&mut random, &mut plies, 1000, n_left.min(LANES as u64));
                n_left = if tally.n_states == 0 { 0 } else { n_left.saturating_sub(tally.n_states) };
            }
            if stop.is_raised() {
                break;
            }
            let fluents = (0..network.fluents.len() as u32).map(|fluent| player.fluent(fluent)).collect();
            let made = choose(&mut player, &mut random, &mut plies);
            batches.push(Batch::new(&mut lanes, network, fluents, made));
        }
        let mut noise = Pcg64Mcg::seed_from_u64(seed);
        let n_batches = batches.len();
        for number in 0..n_batches {
            let (first, second) = (&batches[number].fluents, &batches[(number + 1) % n_batches].fluents);
            let mix = |(&a, &b): (&Vector, &Vector)| a.blend(Vector([(); 8].map(|()| noise.next_u64())), b);
            let fluents: Vec<Vector> = first.iter().zip(second).map(mix).collect();
            fluents.iter().enumerate().for_each(|(fluent, &which)| player.set_fluent(fluent as u32, which));
            let made = choose(&mut player, &mut random, &mut plies);
            batches.push(Batch::new(&mut lanes, network, fluents, made));
        }
        Samples { lanes, batches }
    }

    /// How many states of play there are.
    pub(super) fn n_states(&self) -> u64 {
        (self.batches.len() / 2 * LANES) as u64
    }

    /// Whether some sampled state shows that this is no symmetry.
    pub(super) fn refute(&mut self, network: &Network, action: &Action) -> bool {
        let lanes = &mut self.lanes;
        let there = |fluent: u32| action.fluent(fluent);
        let goal_places: FxHashMap<(u32, i64), usize> =
            network.goals.iter().enumerate().rev().map(|(at, goal)| ((goal.0, goal.1), at)).collect();
        self.batches.iter().any(|batch| {
            // Step 1. The image of the batch.
            let mut fluents = vec![Vector::ZERO; batch.fluents.len()];
            let mut next = fluents.clone();
            for fluent in 0..batch.fluents.len() {
                let (to, flipped) = there(fluent as u32);
                let flip = |value: Vector| if flipped { !value } else { value };
                fluents[to as usize] = flip(batch.fluents[fluent]);
                next[to as usize] = flip(batch.next[fluent]);
            }
            let mut made = vec![Vector::ZERO; batch.made.len()];
            let mut legal = made.clone();
            for (chosen, &to) in action.moves.iter().enumerate() {
                made[to as usize] = batch.made[chosen];
                legal[to as usize] = batch.legal[chosen];
            }
            // Step 2. What the network says about it.
            let image = Batch::new(lanes, network, fluents, made);
            let goals = network.goals.iter().zip(&batch.goals).all(|(&(role, value, _), &here)| {
                let to = action.roles[role as usize];
                goal_places.get(&(to, value)).map_or(Vector::ZERO, |&there| image.goals[there]) == here
            });
            let next_differs = || {
                let differs = |(a, b): (&Vector, &Vector)| !((*a ^ *b) & batch.goes_on).is_zero();
                image.next.iter().zip(&next).any(differs)
            };
            image.terminal != batch.terminal
                || image.legal != legal
                || !goals
                || image.goes_on != batch.goes_on
                || next_differs()
        })
    }
}

/// Random legal moves for the states of all lanes, which go on.
fn choose(player: &mut Lanes, random: &mut lanes::Random, plies: &mut [u32; LANES]) -> Vec<Vector> {
    let (first_move, n_moves) = (1 + player.network().fluents.len() as u32, player.network().moves.len() as u32);
    // The moves that were made stay set.
    player.playouts(random, plies, 1000, 1);
    (0..n_moves).map(|chosen| player.lanes_where(Wire::of(first_move + chosen))).collect()
}

impl Batch {
    fn new(lanes: &mut Lanes, network: &Network, fluents: Vec<Vector>, made: Vec<Vector>) -> Batch {
        fluents.iter().enumerate().for_each(|(fluent, &which)| lanes.set_fluent(fluent as u32, which));
        made.iter().enumerate().for_each(|(chosen, &which)| lanes.set_move(chosen as u32, which));
        lanes.evaluate();
        lanes.evaluate_goals();
        let legal: Vec<Vector> = network.legal.iter().map(|&wire| lanes.lanes_where(wire)).collect();
        let terminal = lanes.lanes_where(network.terminal);
        let goals = network.goals.iter().map(|&(_, _, wire)| lanes.lanes_where(wire)).collect();
        let mut goes_on = Vector::ONES;
        for range in &network.moves_of {
            let any =
                range.clone().fold(Vector::ZERO, |any, chosen| any | (made[chosen as usize] & legal[chosen as usize]));
            goes_on = goes_on & any;
        }
        lanes.advance();
        let next = (0..network.fluents.len() as u32).map(|fluent| lanes.fluent(fluent)).collect();
        Batch { fluents, legal, terminal, goals, made, goes_on, next }
    }
}
