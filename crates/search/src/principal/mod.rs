//! Best-first minimax (Korf and Chickering 1996): always opens the principal leaf, the one whose value is the root's.
//!
//! Where knowledge is weak many leaves have the root's value, and it matters which of them is opened. Duminy (2006) takes the one
//! with the fewest moves from the root ([`Tie::Shallow`]), which degrades to breadth-first search and finds short wins first;
//! his control takes the one with the most ([`Tie::Deep`]). A search may open so many states besides the root: its *span*. The
//! form that needs memory for one line only is [`recursive`]; what all of them are compared with is [`plain`].
//!
//! A state is worth what its position promises the role that moved there, one minus that for the other role. The searching role
//! maximises where it has a choice, and others minimise. This is made for two roles that take turns: where several choose at
//! once, what the others do is taken to be our choice, too.

pub mod plain;
pub mod recursive;

use machine::RoleId;

use crate::greedy::worth;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use crate::position::Position;
use crate::random::legal_moves;

/// Which of several principal leaves is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tie {
    /// The one nearest to the root.
    #[default]
    Shallow,
    /// The one farthest from the root.
    Deep,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which of several principal leaves is opened.
    pub tie: Tie,
    /// How many states are opened besides the root.
    pub span: u64,
    /// Whether the search goes on where all principal leaves are ends that are not won: with the nearest leaf below the best move
    /// that still has one. The thesis says nothing of this case; it stops by default.
    pub beyond_ends: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { tie: Tie::Shallow, span: 20, beyond_ends: false }
    }
}

/// A player by best-first minimax.
pub struct Principal<P> {
    position: P,
    role: RoleId,
    tree: Tree,
    /// Whether all that was met is as the search takes it: roles in turn, all moves looked at, and a result wherever a match is over.
    is_sure: bool,
}

/// What a search has met. It says which state is to be opened next; the caller finds out what follows, in whatever way suits it:
/// one search at a time, or many side by side.
pub struct Tree {
    settings: Settings,
    nodes: Vec<Node>,
    /// States that were opened, the root included, in this order.
    opened: Vec<u32>,
}

/// A state to be put into a tree.
#[derive(Clone, Debug)]
pub struct Met {
    /// The state.
    pub state: Box<[u64]>,
    /// The joint move that leads here; empty at the root.
    pub joint: Vec<u32>,
    /// The searching role's result or expectation.
    pub value: f32,
    /// Whether the match is over.
    pub is_end: bool,
    /// Whether the searching role is the one to move here.
    pub maximises: bool,
}

/// A state that was met.
struct Node {
    state: Box<[u64]>,
    parent: u32,
    /// The joint move that leads here.
    joint: Vec<u32>,
    ply: u32,
    /// The searching role's result or expectation.
    value: f32,
    /// Whether the searching role is the one to move here.
    maximises: bool,
    is_end: bool,
    /// Children, if it was opened: the first and how many.
    children: Option<(u32, u32)>,
    /// Among the leaves below that have its value: whether one is an end, and the open one that comes first.
    end: bool,
    first: Option<Rank>,
    /// The open leaf below that is nearest, whatever its value.
    nearest: Option<Rank>,
}

/// The order of leaves: less comes first.
type Rank = (i64, u32);

impl Tree {
    /// An empty tree.
    pub fn new(settings: Settings) -> Tree {
        Tree { settings, nodes: Vec::new(), opened: Vec::new() }
    }

    /// Forgets everything and begins with a state.
    pub fn begin(&mut self, root: Met) {
        self.nodes.clear();
        self.opened.clear();
        self.add(0, 0, root);
    }

    /// The number of the state that is to be opened next, or why the search is over. States have numbers in the order in which
    /// they were met, from 0 for the root.
    pub fn next(&self) -> Result<u32, StopReason> {
        if self.opened.is_empty() {
            return Ok(0);
        }
        let root = &self.nodes[0];
        if root.end && root.value >= 1.0 {
            return Err(StopReason::Solved);
        }
        if self.opened.len() as u64 > self.settings.span {
            return Err(StopReason::Nodes);
        }
        let none = || if root.nearest.is_none() { StopReason::Solved } else { StopReason::Depth };
        root.first.or_else(|| self.beyond_ends()).map(|(_, next)| next).ok_or_else(none)
    }

    /// A state that was met.
    pub fn state(&self, number: u32) -> &[u64] {
        &self.nodes[number as usize].state
    }

    /// Opens a leaf: adds what may follow, and tells its ancestors.
    pub fn open(&mut self, leaf: u32, following: impl IntoIterator<Item = Met>) {
        self.opened.push(leaf);
        let (ply, first) = (self.nodes[leaf as usize].ply, self.nodes.len() as u32);
        following.into_iter().for_each(|met| self.add(leaf, ply + 1, met));
        let n = self.nodes.len() as u32 - first;
        self.nodes[leaf as usize].children = Some((first, n));
        let mut at = leaf;
        loop {
            self.back_up(at);
            if at == 0 {
                break;
            }
            at = self.nodes[at as usize].parent;
        }
    }

    /// The joint moves of the principal line: always the first state that has the value, an end before others.
    pub fn line(&self) -> Vec<&[u32]> {
        let (mut line, mut at) = (Vec::new(), 0u32);
        while let Some((first, n)) = self.nodes[at as usize].children.filter(|(_, n)| *n > 0) {
            let value = self.nodes[at as usize].value;
            let same: Vec<u32> =
                (first..first + n).filter(|&child| self.nodes[child as usize].value == value).collect();
            let won = |child: &&u32| self.nodes[**child as usize].end && value >= 1.0;
            at = *same.iter().find(won).unwrap_or(&same[0]);
            line.push(&self.nodes[at as usize].joint[..]);
        }
        line
    }

    /// The nearest leaf below the best move that has one.
    fn beyond_ends(&self) -> Option<Rank> {
        let (first, n) = self.nodes[0].children.filter(|_| self.settings.beyond_ends)?;
        let open = (first..first + n).map(|child| &self.nodes[child as usize]).filter(|child| child.nearest.is_some());
        let mut best: Option<&Node> = None;
        for child in open {
            best = best.filter(|best| best.value >= child.value).or(Some(child));
        }
        best.and_then(|best| best.nearest)
    }

    fn add(&mut self, parent: u32, ply: u32, met: Met) {
        let number = self.nodes.len() as u32;
        let order = match self.settings.tie {
            Tie::Shallow => i64::from(ply),
            Tie::Deep => -i64::from(ply),
        };
        let open = (!met.is_end).then_some(number);
        self.nodes.push(Node {
            state: met.state,
            parent,
            joint: met.joint,
            ply,
            value: met.value,
            maximises: met.maximises,
            is_end: met.is_end,
            children: None,
            end: met.is_end,
            first: open.map(|number| (order, number)),
            nearest: open.map(|number| (i64::from(ply), number)),
        });
    }

    fn back_up(&mut self, at: u32) {
        let node = &self.nodes[at as usize];
        let Some((first, n)) = node.children else { return };
        let children = &self.nodes[first as usize..(first + n) as usize];
        let better = |one: f32, other: f32| if node.maximises { one.max(other) } else { one.min(other) };
        let Some(value) = children.iter().map(|child| child.value).reduce(better) else {
            // It can't go on.
            let node = &mut self.nodes[at as usize];
            (node.end, node.first, node.nearest) = (true, None, None);
            return;
        };
        let same = || children.iter().filter(|child| child.value == value);
        let end = same().any(|child| child.end);
        let found =
            (same().filter_map(|child| child.first).min(), children.iter().filter_map(|child| child.nearest).min());
        let node = &mut self.nodes[at as usize];
        (node.value, node.end, node.first, node.nearest) = (value, end, found.0, found.1);
    }
}

impl<P: Position> Principal<P> {
    /// A player that judges by this position.
    pub fn new(position: P, settings: Settings) -> Principal<P> {
        Principal { position, role: RoleId(0), tree: Tree::new(settings), is_sure: true }
    }

    /// Searches from a state for a role.
    pub fn search(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        (self.role, self.is_sure) = (role, true);
        self.position.jump(state);
        let root = self.met(Vec::new(), 0.5);
        self.tree.begin(root);
        let stop = loop {
            let leaf = match self.tree.next() {
                Ok(leaf) => leaf,
                Err(stop) => break stop,
            };
            if !self.tree.opened.is_empty() && self.tree.nodes.len() as u64 >= limit.nodes {
                break StopReason::Nodes;
            }
            if !self.tree.opened.is_empty() && (limit.stop)() {
                break StopReason::Stopped;
            }
            self.open(leaf);
        };
        self.answer(if stop == StopReason::Solved && !self.is_sure { StopReason::NoResult } else { stop })
    }

    /// The position's current state.
    fn met(&self, joint: Vec<u32>, value: f32) -> Met {
        let machine = self.position.machine();
        let is_end = machine.terminal();
        let maximises = !is_end && legal_moves(machine)[self.role.0 as usize].len() > 1;
        Met { state: machine.bits().into(), joint, value, is_end, maximises }
    }

    fn open(&mut self, leaf: u32) {
        self.position.jump(self.tree.state(leaf));
        let legal = legal_moves(self.position.machine());
        let mover = mover(&legal, self.role);
        let mut following = Vec::new();
        let joints = all(&legal);
        let in_turn = legal.iter().filter(|moves| moves.len() > 1).count() <= 1;
        self.is_sure &=
            in_turn && !joints.is_empty() && joints.len() == legal.iter().map(Vec::len).fold(1, usize::saturating_mul);
        for joint in joints {
            self.position.make(&joint);
            let value = worth_after(&mut self.position, self.role, mover);
            self.is_sure &= !self.position.machine().terminal() || self.position.goal(self.role).is_some();
            following.push(self.met(joint, value));
            self.position.unmake();
        }
        self.tree.open(leaf, following);
    }

    fn answer(&self, stop: StopReason) -> Answer {
        let n_roles = self.position.machine().network().roles.len();
        let own = self.role.0 as usize;
        let Tree { nodes, opened, .. } = &self.tree;
        let mut answer = Answer { nodes: nodes.len() as u64 - 1, stop, ..Answer::default() };
        answer.judged = nodes.iter().skip(1).filter(|node| !node.is_end).count() as u64;
        answer.opened = opened.len() as u64 - 1;
        answer.proven = stop == StopReason::Solved;
        answer.depth = nodes.iter().map(|node| node.ply).max().unwrap_or(0);
        answer.values = vec![f32::NAN; n_roles];
        answer.values[own] = nodes[0].value;
        answer.line = self.tree.line().into_iter().map(<[u32]>::to_vec).collect();
        answer.joint = answer.line.first().cloned().unwrap_or_default();
        // What each of our moves is worth at least.
        let mut reports: Vec<MoveReport> = Vec::new();
        let (first, n) = nodes[0].children.unwrap_or((0, 0));
        for child in &nodes[first as usize..(first + n) as usize] {
            let proven = child.is_end && self.is_sure;
            match reports.iter_mut().find(|report| report.chosen == child.joint[own]) {
                Some(report) => {
                    report.visits += 1;
                    report.value = report.value.min(child.value);
                    report.proven &= proven;
                }
                None => reports.push(MoveReport { chosen: child.joint[own], visits: 1, value: child.value, proven }),
            }
        }
        reports.sort_by(|one, other| other.value.total_cmp(&one.value));
        answer.moves = vec![Vec::new(); n_roles];
        answer.moves[own] = reports;
        answer
    }
}

/// The role that moves: ours if it has a choice, else the first that has one.
fn mover(legal: &[Vec<u32>], own: RoleId) -> RoleId {
    let has_choice = |role: usize| legal[role].len() > 1;
    if has_choice(own.0 as usize) {
        return own;
    }
    (0..legal.len()).find(|&role| has_choice(role)).map_or(own, |role| RoleId(role as u32))
}

/// What the current state is worth for a role, as the one that moved here sees it.
fn worth_after<P: Position>(position: &mut P, role: RoleId, mover: RoleId) -> f32 {
    if mover == role || position.machine().terminal() { worth(position, role) } else { 1.0 - worth(position, mover) }
}

/// All joint moves, as long as there are not too many.
fn all(legal: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const MOST: usize = 10_000;
    let mut joints: Vec<Vec<u32>> = vec![Vec::new()];
    for moves in legal {
        let longer = |joint: &Vec<u32>| -> Vec<Vec<u32>> {
            moves.iter().map(|&chosen| joint.iter().copied().chain([chosen]).collect()).collect()
        };
        joints = joints.iter().flat_map(longer).take(MOST).collect();
    }
    joints
}

impl<P: Position> Player for Principal<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.search(state, role, limit)
    }
}

#[cfg(test)]
mod tests;
