//! What follows from states, on the lane machine.

use std::sync::Arc;

use machine::lanes::{self, LANES, Lanes, Vector};
use machine::network::Wire;

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
    /// Among how many states with the same parent this is one of those that are needed; see [`Expander::children`].
    pub(super) n_choices: Vec<u32>,
}

impl Children {
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.terminal.clear();
        self.goals.clear();
        self.n_legal.clear();
        self.n_choices.clear();
    }
}

/// Finds legal moves and what follows from them.
pub(super) struct Expander {
    lanes: Lanes,
    /// What must hold together for the best goal.
    parts: Vec<Wire>,
}

impl Expander {
    pub(super) fn new(compiled: &Arc<lanes::Compiled>, best: i64) -> Expander {
        /// Parts of a goal that are looked at.
        const MAX_PARTS: usize = 512;
        let lanes = Lanes::new(compiled.clone());
        let network = lanes.network();
        let mut goals = network.goals.iter().filter(|goal| goal.0 == 0 && goal.1 == best);
        let mut parts = match (goals.next(), goals.next()) {
            (Some(goal), None) => network.parts(goal.2),
            _ => Vec::new(),
        };
        if parts.len() > MAX_PARTS {
            parts.clear();
        }
        Expander { lanes, parts }
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

    /// What follows from at most 512 states by a legal move each. Steps from one state stand together.
    ///
    /// Where a part of the best goal comes about by few of the moves from a state, one of these few is needed sooner or later, if
    /// no others come up: the states after them are counted as choices. Elsewhere all are.
    pub(super) fn children(&mut self, steps: &[(&[u64], u32)], children: &mut Children) {
        assert!(steps.len() <= LANES, "there are as many lanes as steps");
        children.clear();
        let (n, lanes) = (steps.len(), &mut self.lanes);
        let states: Vec<&[u64]> = steps.iter().map(|&(state, _)| state).collect();
        lanes.load_all(&states);
        lanes.evaluate();
        let held: Vec<Vector> = if self.parts.is_empty() {
            Vec::new()
        } else {
            lanes.evaluate_goals();
            self.parts.iter().map(|&part| lanes.lanes_where(part)).collect()
        };
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
        let come: Vec<Vector> =
            self.parts.iter().zip(held).map(|(&part, held)| lanes.lanes_where(part) & !held).collect();
        count_choices(&states, &come, &mut children.n_choices);
    }
}

/// For each of some states with the same parents, the number of choices; 0 where the choice is among others. `come` has the states
/// in which each part of the goal comes about.
fn count_choices(parents: &[&[u64]], come: &[Vector], n_choices: &mut Vec<u32>) {
    let n = parents.len();
    let same = |lane: usize| std::ptr::eq(parents[lane].as_ptr(), parents[lane - 1].as_ptr());
    let mut first: Vec<usize> = (0..n).filter(|&lane| lane == 0 || !same(lane)).collect();
    first.push(n);
    let mut family = vec![0; n];
    first.windows(2).enumerate().for_each(|(number, span)| family[span[0]..span[1]].fill(number));
    // Step 1. The part with the fewest ways to it; the first of them, so that their order does not multiply the ways.
    let mut scarce: Vec<Vec<usize>> = vec![Vec::new(); first.len()];
    for part in come {
        let lanes: Vec<usize> = part.lanes().take_while(|&lane| lane < n).collect();
        for ways in lanes.chunk_by(|&one, &other| family[one] == family[other]) {
            let scarce = &mut scarce[family[ways[0]]];
            if scarce.is_empty() || ways.len() < scarce.len() {
                *scarce = ways.to_vec();
            }
        }
    }
    // Step 2. Who is among them.
    n_choices.resize(n, 0);
    for ways in &scarce {
        ways.iter().for_each(|&lane| n_choices[lane] = ways.len() as u32);
    }
    for lane in (0..n).filter(|&lane| scarce[family[lane]].is_empty()) {
        n_choices[lane] = (first[family[lane] + 1] - first[family[lane]]) as u32;
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
