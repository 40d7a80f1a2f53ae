//! What a player is asked and what it answers.

use machine::RoleId;

/// How long a search may take. There is no clock here: whoever has one asks it in `stop`.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    /// States visited; for Monte Carlo searches, playouts.
    pub nodes: u64,
    /// Whether to come back now; asked often enough that an answer follows within a millisecond or two on usual games.
    pub stop: &'a dyn Fn() -> bool,
}

impl Limit<'static> {
    /// A bound on work alone: the answer is always the same.
    pub fn nodes(nodes: u64) -> Limit<'static> {
        Limit { nodes, stop: &|| false }
    }
}

/// Why a search came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StopReason {
    /// There was nothing to think about: one legal move, or no search at all.
    #[default]
    Forced,
    /// The answer is exact.
    Solved,
    /// The bound on nodes or on memory was reached.
    Nodes,
    /// It was told to stop.
    Stopped,
    /// The greatest depth was reached.
    Depth,
    /// There is nothing more to look at, but matches without a result are in the way of an exact answer.
    NoResult,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StopReason::Forced => "there was nothing to think about",
            StopReason::Solved => "it is solved",
            StopReason::Nodes => "the bound on nodes was reached",
            StopReason::Stopped => "it was told to stop",
            StopReason::Depth => "the greatest depth was reached",
            StopReason::NoResult => "there are matches without a result",
        })
    }
}

/// What a search thinks of a move.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveReport {
    /// The move.
    pub chosen: u32,
    /// How often it was tried.
    pub visits: u64,
    /// What the role may expect of it, as a part of 100 points.
    pub value: f32,
    /// Whether the value is exact, as in [`Answer::proven`].
    pub proven: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A move for each role: its own choice as the search sees it.
    pub joint: Vec<u32>,
    /// What each role may expect, as a part of 100 points.
    pub values: Vec<f32>,
    /// States visited.
    pub nodes: u64,
    /// States judged by an estimate; 0 in searches that don't count them.
    pub judged: u64,
    /// States opened besides the first: those whose moves were made. 0 in searches that don't count them.
    pub opened: u64,
    /// Random matches played to their end.
    pub playouts: u64,
    /// How many joint moves ahead it looked.
    pub depth: u32,
    /// The joint moves that it expects.
    pub line: Vec<Vec<u32>>,
    /// For each role, what it thinks of the moves; best first.
    pub moves: Vec<Vec<MoveReport>>,
    /// Whether the values are exact: what comes of lines that were followed to their ends, all that matter, whatever a match without a
    /// result is worth (one that never ends, can't go on, or ends without a single goal value). Whose values, and how the others are
    /// taken to play, each search says.
    pub proven: bool,
    /// Why it came back.
    pub stop: StopReason,
}

/// Chooses moves in matches of one game.
pub trait Player {
    /// Chooses a move for a role in a state that is not terminal and in which each role has a legal move. States are given as
    /// the network's bits. The answer's move for `role` is legal.
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer;

    /// Whether it goes on where it was if it is asked about the same state again.
    fn goes_on(&self) -> bool {
        false
    }

    /// Looks at a state in which nobody waits for a move, until `stop` says so: what it finds may be of use later. A player that keeps
    /// nothing does nothing.
    fn ponder(&mut self, _state: &[u64], _role: RoleId, _stop: &dyn Fn() -> bool) {}

    /// A new match begins: what was kept from the last one is of no use.
    fn begin(&mut self) {}
}
