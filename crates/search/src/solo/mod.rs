//! Search for one role alone: to find a line of moves with the best result, and to play it.
//!
//! Nobody is in the way, so a line that was found once is played to its end, and the only question is how to find it. The search
//! is systematic ([`tree`]): nothing is looked at twice, and it ends when everything has been seen. What looks promising comes
//! first ([`guide`]), by several measures in turn, since none is good for every game.
//!
//! Where moves are counted ([`crate::nature::Counters`]), all states are different, but mostly a state that was reached sooner is
//! at least as good. One tree takes that for granted, and another, beside it, does not: whichever finds the best result first has
//! solved the game, and only the latter can say that there is none better.
//!
//! What is proven is the greatest goal value that a match can end with. One that never ends is worth nothing. Where a match can't go on,
//! or ends and the rules give no single goal value, nobody knows what it is worth, and only the greatest value of all is proven.

mod expand;
mod guide;
mod relax;
mod states;
mod tree;

use std::sync::Arc;

use machine::RoleId;
use machine::lanes;

use crate::evaluate::Evaluate;
use crate::nature::{Counters, ranges};
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};
use expand::{Children, Expander};
use guide::Guides;
use tree::{Tools, Tree};

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Moves in a line; no longer ones are looked for.
    pub depth: u32,
    /// Bytes that the states may take; then the search begins anew, with other chances.
    pub bytes: usize,
    /// The greatest number of states of one depth that are followed at once.
    pub width: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { depth: 400, bytes: 1 << 29, width: 512 }
    }
}

/// A player for games with one role.
pub struct Solo {
    expander: Expander,
    guides: Guides,
    evaluate: Option<Box<dyn Evaluate>>,
    /// The least and the greatest result.
    range: (f32, f32),
    /// The fluents that do not count moves, and all of them: what tells states apart in each tree.
    masks: Vec<Box<[u64]>>,
    settings: Settings,
    seed: u64,
    trees: Vec<Tree>,
    best: Option<Best>,
    /// A line that is known from elsewhere.
    known: Option<Best>,
}

/// The best line that was found.
#[derive(Clone, Debug)]
struct Best {
    value: f32,
    /// The moves from `state` on.
    line: Vec<u32>,
    state: Vec<u64>,
}

impl Solo {
    /// A player with a seed of its own.
    ///
    /// # Panics
    /// If the game has several roles.
    pub fn new(compiled: &Arc<lanes::Compiled>, settings: Settings, seed: u64) -> Solo {
        let lanes = lanes::Lanes::new(compiled.clone());
        let network = lanes.network();
        assert_eq!(network.roles.len(), 1, "the game has one role");
        let all = vec![!0u64; network.fluents.len().div_ceil(64)].into_boxed_slice();
        let mut lasting = all.clone();
        let counters = Counters::find(network);
        counters.fluents.iter().for_each(|&fluent| lasting[fluent as usize / 64] &= !(1 << (fluent % 64)));
        let best = network.goals.iter().map(|goal| goal.1).max().unwrap_or(100);
        Solo {
            expander: Expander::new(compiled, best),
            guides: Guides::new(network, best, &lasting),
            evaluate: None,
            range: ranges(network)[0],
            masks: if counters.fluents.is_empty() { vec![all] } else { vec![lasting, all] },
            settings,
            seed,
            trees: Vec::new(),
            best: None,
            known: None,
        }
    }

    /// The same player with an opinion on states, which is one of its guides.
    pub fn guided(self, evaluate: Box<dyn Evaluate>) -> Solo {
        Solo { evaluate: Some(evaluate), ..self }
    }

    /// The same player with a line of moves that is known from elsewhere, from a state to the end of the match. A line that can't be
    /// played is left aside.
    pub fn knowing(self, state: &[u64], line: &[u32]) -> Solo {
        let mut player = self;
        let (mut at, mut children, mut legal) = (state.to_vec(), Children::default(), Vec::new());
        for (place, &chosen) in line.iter().enumerate() {
            legal.clear();
            player.expander.legal(&[&at], &mut legal);
            if !legal.contains(&(0, chosen)) {
                break;
            }
            player.expander.children(&[(&at, chosen)], &mut children);
            at.clone_from(&children.states);
            if children.terminal[0] {
                let (value, line) = (children.goals[0], line[..=place].to_vec());
                player.known = (!value.is_nan()).then(|| Best { value, line, state: state.to_vec() });
                break;
            }
        }
        player
    }

    /// Searches from a state in which there is a move, and says what it found. What is known from earlier searches is used.
    pub fn search(&mut self, state: &[u64], limit: &Limit) -> Answer {
        self.go_to(state);
        let mut answer = Answer::default();
        let mut moves = Vec::new();
        self.expander.legal(&[state], &mut moves);
        answer.stop = if self.is_solved() { StopReason::Solved } else { self.run(state, limit, &mut answer) };
        answer.proven = answer.stop == StopReason::Solved;
        let promising = || self.trees.first().and_then(Tree::promising);
        let chosen = match &self.best {
            Some(best) if answer.proven || best.value > self.range.0 => best.line[0],
            best => promising().or(best.as_ref().map(|best| best.line[0])).unwrap_or(moves[0].1),
        };
        answer.joint = vec![chosen];
        let (value, line) = match &self.best {
            Some(best) if best.line[0] == chosen => (best.value, best.line.clone()),
            _ => (f32::NAN, vec![chosen]),
        };
        answer.values = vec![value];
        answer.depth = line.len() as u32;
        answer.line = line.into_iter().map(|chosen| vec![chosen]).collect();
        answer.moves = vec![vec![MoveReport { chosen, visits: answer.nodes, value, proven: answer.proven }]];
        answer
    }

    fn run(&mut self, state: &[u64], limit: &Limit, answer: &mut Answer) -> StopReason {
        loop {
            if self.is_solved() {
                return StopReason::Solved;
            }
            if let Some(sure) = self.is_exhausted() {
                return if sure && self.best.is_some() { StopReason::Solved } else { StopReason::NoResult };
            }
            if answer.nodes >= limit.nodes {
                return StopReason::Nodes;
            }
            if (limit.stop)() {
                return StopReason::Stopped;
            }
            // The tree that has seen less goes on.
            let (_, tree) = self
                .trees
                .iter_mut()
                .enumerate()
                .filter(|(_, tree)| !tree.finished)
                .min_by_key(|(number, tree)| (tree.n_states, *number))
                .expect("it is not exhausted");
            let mut tools = Tools {
                expander: &mut self.expander,
                guides: &mut self.guides,
                evaluate: self.evaluate.as_deref_mut(),
            };
            let least = self.best.as_ref().map_or(f32::NEG_INFINITY, |best| best.value);
            let max = usize::try_from(limit.nodes - answer.nodes).unwrap_or(usize::MAX);
            let found = tree.step(&mut tools, max, least);
            answer.nodes += found.n_states;
            answer.judged += found.n_judged;
            answer.opened += found.n_opened;
            if let Some((value, line)) = found.better {
                self.best = Some(Best { value, line, state: state.to_vec() });
            }
            let full = tree.bytes() > self.settings.bytes / self.masks.len();
            if full || tree.finished && !tree.complete {
                tree.restart();
                self.guides.begin(state);
            }
        }
    }

    fn is_solved(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.value >= self.range.1)
    }

    /// If everything has been seen, by the last tree, which takes nothing for granted: whether all of it has a result.
    fn is_exhausted(&self) -> Option<bool> {
        self.trees.last().filter(|tree| tree.finished && tree.complete).map(|tree| !tree.unsure)
    }

    /// Makes a state the one to search from.
    fn go_to(&mut self, state: &[u64]) {
        if let Some(best) = &mut self.best
            && best.state != state
        {
            let mut children = Children::default();
            self.expander.children(&[(&best.state, best.line[0])], &mut children);
            if children.states == state && best.line.len() > 1 {
                best.line.remove(0);
                best.state = children.states;
            } else {
                self.best = None;
            }
        }
        if self.best.is_none() {
            self.best = self.known.clone().filter(|known| known.state == state);
        }
        if self.trees.is_empty() {
            self.guides.begin(state);
            let Settings { depth, width, .. } = self.settings;
            let tree = |number: usize| {
                let hurried = number + 1 < self.masks.len();
                Tree::new(state, &self.masks[number], hurried, depth, width, self.seed)
            };
            self.trees = (0..self.masks.len()).map(tree).collect();
        }
        for tree in &mut self.trees {
            if !tree.go_to(state) {
                tree.restart_at(state);
                self.guides.begin(state);
            }
        }
    }
}

impl Player for Solo {
    fn choose(&mut self, state: &[u64], _: RoleId, limit: &Limit) -> Answer {
        self.search(state, limit)
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        self.best = None;
        self.trees.clear();
    }
}

#[cfg(test)]
mod tests;
