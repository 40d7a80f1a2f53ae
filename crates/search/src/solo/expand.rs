//! What follows from states, on the lane machine.

use std::sync::Arc;

use machine::lanes::{self, LANES, Lanes, Vector};

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
pub(super) struct Expander {
    lanes: Lanes,
}

impl Expander {
    pub(super) fn new(compiled: &Arc<lanes::Compiled>) -> Expander {
        Expander { lanes: Lanes::new(compiled.clone()) }
    }

    /// The legal moves of at most 512 states, as pairs of a state's place and a move; ascending.
    pub(super) fn legal(&mut self, states: &[&[u64]], moves: &mut Vec<(u32, u32)>) {
        let lanes = &mut self.lanes;
        lanes.load_all(states);
        lanes.evaluate();
        for chosen in lanes.network().moves_of[0].clone() {
            let legal = lanes.lanes_where(lanes.network().legal[chosen as usize]);
            moves.extend(legal.lanes().take_while(|&lane| lane < states.len()).map(|lane| (lane as u32, chosen)));
        }
        moves.sort_unstable();
    }

    /// What follows from at most 512 states by a legal move each.
    pub(super) fn children(&mut self, steps: &[(&[u64], u32)], children: &mut Children) {
        assert!(steps.len() <= LANES, "there are as many lanes as steps");
        children.clear();
        let (n, lanes) = (steps.len(), &mut self.lanes);
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
}

/// The results of the first `n` lanes if the match were over.
fn goals_of(lanes: &Lanes, n: usize, goals: &mut Vec<f32>) {
    let first = goals.len();
    goals.resize(first + n, f32::NAN);
    let (mut one, mut two) = (Vector::ZERO, Vector::ZERO);
    for &(role, value, wire) in &lanes.network().goals {
        if role == 0 {
            let holds = lanes.lanes_where(wire);
            two = two | one & holds;
            one = one | holds;
            let value = value as f32 / 100.0;
            holds.lanes().take_while(|&lane| lane < n).for_each(|lane| goals[first + lane] = value);
        }
    }
    two.lanes().take_while(|&lane| lane < n).for_each(|lane| goals[first + lane] = f32::NAN);
}
