//! Exact results: what a role can be sure of, whatever the others do.
//!
//! The question for the value is split into questions with the answers yes and no: can the role be sure of at least so many
//! points? Each is a search of alternatives (where the role chooses) and of conjunctions (where another does), and has two
//! ways to be answered ([`Method`]): a depth-first search that learns which fluents are good to gain or to lose, and
//! depth-first proof-number search (Nagai 2002), which goes where an answer seems nearest. In both, all successors of a state
//! are looked at first: a move that ends the match as its maker wants is taken at once, and so is one to a state whose answer
//! is known (Plaat et al. 1996).
//!
//! For two roles with a constant sum, what one can be sure of is the value of the game. At most one role may have a choice in
//! each state; where two have, the search stops and says so.
//!
//! Matches that never end: states on the way to a state are known, and coming back to one of them counts as bad for the role
//! at first. If that ever happened while the table was filled, the search is repeated with repetitions counting as good; where
//! both agree, repetitions don't matter, and otherwise the value stays between two bounds. For a yes is never shown by a
//! repetition that counts as bad, nor a no by one that counts as good, whatever is remembered. In the depth-first search, an
//! answer that rests on a state further up is not remembered, since it holds on this way only.
//!
//! So what is exact: the value is what the role gets if it and the others do their best against each other, whatever a match
//! that never ends is taken to be worth, as long as that is between the role's least and greatest goal value. States are told
//! apart by keys of 128 bits, of which the table keeps at least 58 and those that make the place in it.

mod depth_first;
mod expand;
mod keys;
mod player;
mod proof_number;
mod table;
#[cfg(test)]
mod tests;

use machine::RoleId;
use machine::scalar::Scalar;
use rustc_hash::FxHashMap;

use crate::player::Limit;
use expand::Frame;
pub use keys::Keys;
pub use player::Exact;
use table::Table;

/// How questions are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Line after line, each to its end.
    DepthFirst,
    /// Where the least seems to be missing.
    ProofNumber,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How questions are answered.
    pub method: Method,
    /// Bytes of the table of states.
    pub bytes: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { method: Method::DepthFirst, bytes: 256 << 20 }
    }
}

/// Why there is no exact value, or no complete line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The bound on nodes was reached.
    Nodes,
    /// It was told to stop.
    Stopped,
    /// A match took more than [`MAX_PLY`] moves.
    Depth,
    /// Several roles have a choice at the same time.
    Simultaneous,
    /// A match ends without a goal value for the role, or a role can't move.
    NoGoal,
    /// Matches may go on for ever, and what they are worth decides. (By proof numbers: or might do so.)
    Repetition,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StopReason::Nodes => "the bound on nodes was reached",
            StopReason::Stopped => "it was told to stop",
            StopReason::Depth => "a match is too long",
            StopReason::Simultaneous => "several roles choose at the same time",
            StopReason::NoGoal => "a match ends without a goal value, or can't go on",
            StopReason::Repetition => "matches may go on for ever",
        })
    }
}

/// The longest line.
pub const MAX_PLY: usize = 1_000;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The role can be sure of so many points.
    pub lower: i64,
    /// The others can be sure that it gets no more.
    pub upper: i64,
    /// Joint moves of best play, if the value is exact and no line came back to a state: to the end of the match, or as far as
    /// the bound on nodes goes.
    pub line: Vec<Vec<u32>>,
    /// States looked at to find the value.
    pub nodes: u64,
    /// Why there is no exact value.
    pub stop: Option<StopReason>,
}

impl Solution {
    /// The exact value.
    pub fn value(&self) -> Option<i64> {
        (self.lower == self.upper).then_some(self.lower)
    }
}

/// Solves states of one game for one role.
pub struct Solver {
    machine: Scalar,
    keys: Keys,
    method: Method,
    table: Table,
    role: RoleId,
    /// The goal values of the role, in ascending order. Questions are asked by their places here.
    goals: Vec<i64>,
    /// Whether coming back to a state counts as good for the role.
    repetition: bool,
    /// Whether a line has come back to a state since the table was empty: what is remembered may rest on that.
    repeated: bool,
    /// States on the current line, with their plies.
    path: FxHashMap<u128, u32>,
    frames: Vec<Frame>,
    /// For each side (the role, the others) and fluent: how often moves that made it true or false turned out well.
    weights: [Vec<[i32; 2]>; 2],
    nodes: u64,
    max_nodes: u64,
    stopped: Option<StopReason>,
}

impl Solver {
    /// A solver for a role. States with the same key are taken to be worth the same.
    pub fn new(machine: Scalar, keys: Keys, role: RoleId, settings: &Settings) -> Solver {
        let network = machine.network();
        let mut goals: Vec<i64> = network.goals.iter().filter(|goal| goal.0 == role.0).map(|goal| goal.1).collect();
        goals.sort_unstable();
        goals.dedup();
        let weights = vec![[0; 2]; network.fluents.len()];
        Solver {
            keys,
            method: settings.method,
            table: Table::new(settings.bytes),
            role,
            goals,
            repetition: false,
            repeated: false,
            path: FxHashMap::default(),
            frames: Vec::new(),
            weights: [weights.clone(), weights],
            nodes: 0,
            max_nodes: 0,
            stopped: None,
            machine,
        }
    }

    /// Finds what the role can be sure of from a state.
    pub fn solve(&mut self, state: &[u64], limit: &Limit) -> Solution {
        (self.nodes, self.max_nodes, self.stopped) = (0, limit.nodes, None);
        if self.goals.is_empty() {
            return Solution { lower: 0, upper: 100, line: Vec::new(), nodes: 0, stop: Some(StopReason::NoGoal) };
        }
        let bounds = (0, self.goals.len() - 1);
        // Step 1. Repetitions count as bad; then what is shown to be within reach is so, whatever they count as.
        let (lower, mut upper) = self.narrow(state, bounds, limit);
        let repeated = self.repeated;
        if repeated {
            // Step 2. They count as good; then what is shown to be out of reach is so.
            upper = bounds.1;
            if self.stopped.is_none() && lower < upper {
                self.begin_again(true);
                upper = self.narrow(state, (lower, upper), limit).1;
                self.begin_again(false);
            }
        }
        let stop = (lower != upper).then(|| self.stopped.unwrap_or(StopReason::Repetition));
        let (nodes, is_free) = (self.nodes, !repeated && self.stopped.is_none());
        let line = if lower == upper && is_free { self.line(state, lower, limit) } else { Vec::new() };
        Solution { lower: self.goals[lower], upper: self.goals[upper], line, nodes, stop }
    }

    /// The joint moves in a state in which the role chooses after which it is still sure of so many points, as far as the limit goes.
    /// After [`Solver::solve`] most of them are known.
    fn keeping(&mut self, state: &[u64], value: i64, limit: &Limit) -> Vec<Vec<u32>> {
        let Some(goal) = self.goals.iter().position(|&goal| goal >= value) else { return Vec::new() };
        let (mut legal, mut joints) = (Vec::new(), Vec::new());
        self.machine.jump(state);
        if self.end().is_some() || self.list(&mut legal, &mut joints) != Some(true) {
            return Vec::new();
        }
        joints.retain(|joint| {
            self.machine.jump(state);
            self.machine.make(joint);
            let next = self.machine.bits().to_vec();
            self.at_least(&next, goal, limit) == Some(true)
        });
        joints
    }

    /// Forgets all that depends on what repetitions count as.
    fn begin_again(&mut self, repetition: bool) {
        (self.repetition, self.repeated) = (repetition, false);
        self.table.clear();
    }

    /// Asks questions until the value lies in the narrowest bounds; they are wider if the search is stopped.
    fn narrow(&mut self, state: &[u64], bounds: (usize, usize), limit: &Limit) -> (usize, usize) {
        let (mut lower, mut upper) = bounds;
        while lower < upper {
            let middle = (lower + upper).div_ceil(2);
            match self.at_least(state, middle, limit) {
                Some(true) => lower = middle,
                Some(false) => upper = middle - 1,
                None => break,
            }
        }
        (lower, upper)
    }

    /// Whether the role can be sure of at least this goal; `None` if the search was stopped.
    fn at_least(&mut self, state: &[u64], goal: usize, limit: &Limit) -> Option<bool> {
        self.machine.jump(state);
        self.path.clear();
        if let Some(end) = self.end() {
            return end.map(|reached| reached >= goal);
        }
        let key = self.keys.key(&self.machine);
        match self.method {
            Method::DepthFirst => self.decide(key, 0, goal, limit).map(|answer| answer.0),
            Method::ProofNumber => self.prove(key, goal, limit),
        }
    }

    /// Follows moves that keep an exact value, as long as no line comes back to a state.
    fn line(&mut self, state: &[u64], value: usize, limit: &Limit) -> Vec<Vec<u32>> {
        let mut line = Vec::new();
        let mut state = state.to_vec();
        let (mut legal, mut joints) = (Vec::new(), Vec::new());
        while line.len() < MAX_PLY {
            self.machine.jump(&state);
            if self.end().is_some() {
                break;
            }
            let Some(chooses) = self.list(&mut legal, &mut joints) else { break };
            let mut best = None;
            for joint in &joints {
                self.machine.jump(&state);
                self.machine.make(joint);
                let next = self.machine.bits().to_vec();
                // Goals past the greatest are out of reach, and the least is sure, but where there is no result.
                let keeps = match chooses {
                    _ if self.end() == Some(None) => false,
                    true => value == 0 || self.at_least(&next, value, limit) == Some(true),
                    false => value + 1 == self.goals.len() || self.at_least(&next, value + 1, limit) == Some(false),
                };
                if keeps {
                    best = Some((joint.clone(), next));
                    break;
                }
            }
            let Some((joint, next)) = best.filter(|_| !self.repeated) else { break };
            line.push(joint);
            state = next;
        }
        line
    }
}
