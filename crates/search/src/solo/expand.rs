//! What follows from states: on the lane machine, or one after another where the network is wide.

use std::sync::Arc;

use machine::RoleId;
use machine::lanes::{self, LANES, Lanes, Vector};
use machine::scalar::{self, Scalar};

const ROLE: RoleId = RoleId(0);

/// States that follow from others, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// The states, one after another.
    pub(super) states: Vec<u64>,
    /// Whether the match is over there.
    pub(super) terminal: Vec<bool>,
    /// The result if it were over, as a part of 100 points; NaN where the rules give none.
    pub(super) goals: Vec<f32>,
    /// How many moves are legal.
    pub(super) n_legal: Vec<u32>,
}

impl Children {
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.terminal.clear();
        self.goals.clear();
        self.n_legal.clear();
    }
}

/// Finds legal moves and what follows from them.
pub(super) enum Expander {
    /// 512 states at once.
    Lanes(Box<Lanes>),
    /// One after another: only what changes is worked on.
    Scalar(Box<Scalar>),
}

impl Expander {
    /// The machine that fits the network: lanes work on all of it at each step, which is too much where most of it rests.
    pub(super) fn new(compiled: &Arc<lanes::Compiled>) -> Expander {
        /// Two-input gates. Not tuned.
        const MAX_OPS: usize = 150_000;
        let lanes = Lanes::new(compiled.clone());
        if compiled.n_ops().iter().sum::<usize>() + 16 * lanes.network().fluents.len() <= MAX_OPS {
            return Expander::Lanes(Box::new(lanes));
        }
        Expander::Scalar(Box::new(Scalar::new(scalar::Compiled::new(Arc::new(lanes.network().clone())))))
    }

    /// The legal moves of at most 512 states, as pairs of a state's place and a move; ascending.
    pub(super) fn legal(&mut self, states: &[&[u64]], moves: &mut Vec<(u32, u32)>) {
        match self {
            Expander::Lanes(lanes) => {
                lanes.load_all(states);
                lanes.evaluate();
                for chosen in lanes.network().moves_of[0].clone() {
                    let legal = lanes.lanes_where(lanes.network().legal[chosen as usize]);
                    moves.extend(legal.lanes().take_while(|&lane| lane < states.len()).map(|lane| (lane as u32, chosen)));
                }
            }
            Expander::Scalar(machine) => {
                let mut legal = Vec::new();
                for (place, state) in (0..).zip(states) {
                    machine.jump(state);
                    legal.clear();
                    machine.legal_moves(ROLE, &mut legal);
                    moves.extend(legal.iter().map(|&chosen| (place, chosen)));
                }
            }
        }
        moves.sort_unstable();
    }

    /// Whether the match is over in a state, and the result if so.
    pub(super) fn result(&mut self, state: &[u64]) -> Option<f32> {
        match self {
            Expander::Lanes(lanes) => {
                lanes.load_all(&[state]);
                lanes.evaluate();
                lanes.lanes_where(lanes.network().terminal).get(0).then(|| {
                    lanes.evaluate_goals();
                    let mut goals = Vec::new();
                    goals_of(lanes, 1, &mut goals);
                    goals[0]
                })
            }
            Expander::Scalar(machine) => {
                machine.jump(state);
                machine.terminal().then(|| part(machine.goal(ROLE)))
            }
        }
    }

    /// What follows from at most 512 states by a legal move each.
    pub(super) fn children(&mut self, steps: &[(&[u64], u32)], children: &mut Children) {
        children.clear();
        match self {
            Expander::Lanes(lanes) => on_lanes(lanes, steps, children),
            Expander::Scalar(machine) => {
                let (mut last, mut legal): (&[u64], Vec<u32>) = (&[], Vec::new());
                for &(state, chosen) in steps {
                    if state != last {
                        machine.jump(state);
                        last = state;
                    }
                    machine.make(&[chosen]);
                    children.states.extend_from_slice(machine.bits());
                    children.terminal.push(machine.terminal());
                    children.goals.push(part(machine.goal(ROLE)));
                    legal.clear();
                    machine.legal_moves(ROLE, &mut legal);
                    children.n_legal.push(legal.len() as u32);
                    machine.unmake();
                }
            }
        }
    }
}

fn part(goal: Option<i64>) -> f32 {
    goal.map_or(f32::NAN, |goal| goal as f32 / 100.0)
}

fn on_lanes(lanes: &mut Lanes, steps: &[(&[u64], u32)], children: &mut Children) {
    assert!(steps.len() <= LANES, "there are as many lanes as steps");
    let n = steps.len();
    let states: Vec<&[u64]> = steps.iter().map(|&(state, _)| state).collect();
    lanes.load_all(&states);
    lanes.evaluate();
    lanes.replace_moves(Vector::ONES, steps.iter().enumerate().map(|(lane, &(_, chosen))| (lane, chosen)));
    lanes.advance();
    lanes.evaluate();
    lanes.store_all(n, &mut children.states);
    let terminal = lanes.lanes_where(lanes.network().terminal);
    children.terminal.extend((0..n).map(|lane| terminal.get(lane)));
    children.n_legal.resize(n, 0);
    for chosen in lanes.network().moves_of[0].clone() {
        let legal = lanes.lanes_where(lanes.network().legal[chosen as usize]);
        legal.lanes().take_while(|&lane| lane < n).for_each(|lane| children.n_legal[lane] += 1);
    }
    lanes.evaluate_goals();
    goals_of(lanes, n, &mut children.goals);
}

/// The results of the first `n` lanes if the match were over.
fn goals_of(lanes: &Lanes, n: usize, goals: &mut Vec<f32>) {
    let first = goals.len();
    goals.resize(first + n, f32::NAN);
    let (mut one, mut two) = (Vector::ZERO, Vector::ZERO);
    for &(role, value, wire) in &lanes.network().goals {
        if role == ROLE.0 {
            let holds = lanes.lanes_where(wire);
            two = two | one & holds;
            one = one | holds;
            let value = value as f32 / 100.0;
            holds.lanes().take_while(|&lane| lane < n).for_each(|lane| goals[first + lane] = value);
        }
    }
    two.lanes().take_while(|&lane| lane < n).for_each(|lane| goals[first + lane] = f32::NAN);
}
