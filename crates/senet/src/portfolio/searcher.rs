//! A member that searches on a network of the game.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::RoleId;
use machine::network::Network;
use machine::scalar::{self, Scalar};
use search::{Answer, Limit, Player, StopReason};

use super::member::{Member, Opinion, Rank, plain};

/// The roles and moves of a network in the words of the rules.
pub(crate) struct Words {
    network: Arc<Network>,
    /// For each role of the rules, its number in the network.
    roles: Vec<usize>,
    /// For each role of the network, its moves by their names.
    moves: Vec<HashMap<String, u32>>,
}

impl Words {
    /// `roles` are the roles in the order of the rules; a network may have another.
    pub(crate) fn new(network: Arc<Network>, roles: &[String]) -> Result<Words, String> {
        let place = |role: &String| network.roles.iter().position(|own| plain(own) == plain(role));
        let places: Option<Vec<usize>> = roles.iter().map(place).collect();
        let places = places.filter(|places| places.len() == network.roles.len());
        let of = |range: &std::ops::Range<u32>| {
            range.clone().map(|chosen| (plain(&network.name(network.moves[chosen as usize])), chosen)).collect()
        };
        let moves = network.moves_of.iter().map(of).collect();
        Ok(Words { roles: places.ok_or("the roles have other names than in the rules")?, moves, network })
    }

    /// The number of a role.
    pub(crate) fn role(&self, role: usize) -> RoleId {
        RoleId(self.roles[role] as u32)
    }

    /// A joint move in the order of the network.
    pub(crate) fn joint(&self, names: &[String]) -> Result<Vec<u32>, String> {
        if names.len() != self.roles.len() {
            return Err(format!("there are {} moves for {} roles", names.len(), self.roles.len()));
        }
        let mut joint = vec![0; names.len()];
        for (name, &role) in names.iter().zip(&self.roles) {
            let chosen = self.moves[role].get(&plain(name));
            joint[role] = *chosen.ok_or_else(|| format!("`{name}` was played, and is no move of the game"))?;
        }
        Ok(joint)
    }

    /// A move as the rules write it.
    pub(crate) fn name(&self, chosen: u32) -> String {
        self.network.name(self.network.moves[chosen as usize])
    }
}

/// A search in a match.
pub(crate) struct Searcher {
    words: Words,
    machine: Scalar,
    /// The joint moves that the machine has made.
    followed: Vec<Vec<String>>,
    role: usize,
    player: Box<dyn Player>,
    rank: Rank,
    /// What it is called.
    what: String,
    /// The most states of a search.
    nodes: u64,
}

impl Searcher {
    pub(crate) fn new(
        compiled: Arc<scalar::Compiled>,
        words: Words,
        role: usize,
        player: Box<dyn Player>,
        rank: Rank,
        what: String,
    ) -> Searcher {
        let machine = Scalar::new(compiled);
        Searcher { words, machine, followed: Vec::new(), role, player, rank, what, nodes: u64::MAX }
    }

    /// The same with a bound on the states of a search.
    pub(crate) fn within(self, nodes: u64) -> Searcher {
        Searcher { nodes, ..self }
    }
}

impl Searcher {
    /// Goes to the position after some moves. The legal moves there, unless the match is over.
    fn follow(&mut self, history: &[Vec<String>]) -> Result<Option<Vec<Vec<u32>>>, String> {
        if !history.starts_with(&self.followed) {
            // Moves were taken back.
            let initial = self.machine.compiled().initial().to_vec();
            self.machine.jump(&initial);
            self.followed.clear();
        }
        while let Some(names) = history.get(self.followed.len()) {
            let joint = self.words.joint(names)?;
            let legal = search::legal_moves(&self.machine);
            if let Some(role) = (0..joint.len()).find(|&role| !legal[role].contains(&joint[role])) {
                return Err(format!("`{}` was played, and is not legal", self.words.name(joint[role])));
            }
            self.machine.make(&joint);
            self.followed.push(names.clone());
        }
        let legal = search::legal_moves(&self.machine);
        Ok((!self.machine.terminal() && legal.iter().all(|moves| !moves.is_empty())).then_some(legal))
    }

    /// What an answer means; nothing if it has no legal move.
    fn opinion(&mut self, answer: &Answer, legal: &[u32], own: usize) -> Option<Opinion> {
        let chosen = answer.joint.get(own).copied().filter(|chosen| legal.contains(chosen))?;
        let line = expected(&mut self.machine, &answer.line, &self.words);
        let name = |chosen: u32| self.words.name(chosen);
        let tried = answer.moves.get(own).map_or(&[][..], |moves| moves);
        Some(Opinion {
            rank: self.rank,
            chosen: name(chosen),
            value: answer.values.get(own).copied().filter(|value| value.is_finite()),
            proven: answer.proven,
            why: why(&self.what, answer, own),
            line,
            tried: tried.iter().map(|report| (name(report.chosen), report.visits, report.value)).collect(),
        })
    }
}

impl Member for Searcher {
    fn think(
        &mut self,
        history: &[Vec<String>],
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Opinion),
    ) -> Result<(), String> {
        /// After this long it says for the first time what it thinks, and then after so many times as long: one that is held up at
        /// the end has been heard.
        const FIRST: Duration = Duration::from_millis(25);
        const LONGER: u32 = 3;
        let own = self.words.role(self.role).0 as usize;
        let Some(mut legal) = self.follow(history)? else { return Ok(()) };
        let legal = legal.swap_remove(own);
        let name = |chosen: u32| self.words.name(chosen);
        let any = Opinion {
            rank: Rank::Legal,
            chosen: name(legal[0]),
            value: None,
            proven: false,
            why: "a legal move".to_owned(),
            line: Vec::new(),
            tried: legal.iter().map(|&chosen| (name(chosen), 0, 0.0)).collect(),
        };
        tell(any.clone());
        if legal.len() == 1 && self.rank.is_search() {
            tell(Opinion { rank: self.rank, why: format!("{}: nothing to think about", self.what), ..any });
            return Ok(());
        }
        // A bound on states is there for answers that are always the same.
        let goes_on = self.player.goes_on() && self.nodes == u64::MAX;
        let (begun, mut silence) = (Instant::now(), FIRST);
        let (mut nodes, mut playouts) = (0, 0);
        loop {
            let speaks = || stop() || (goes_on && begun.elapsed() >= silence);
            let limit = Limit { nodes: self.nodes, stop: &speaks };
            let mut answer = self.player.choose(self.machine.bits(), RoleId(own as u32), &limit);
            nodes += answer.nodes;
            playouts += answer.playouts;
            (answer.nodes, answer.playouts) = (nodes, playouts);
            // One that was stopped at once may have nothing to say.
            self.opinion(&answer, &legal, own).into_iter().for_each(&mut *tell);
            if answer.stop != StopReason::Stopped || stop() {
                return Ok(());
            }
            silence *= LONGER;
        }
    }

    fn ponder(&mut self, history: &[Vec<String>], stop: &dyn Fn() -> bool) -> Result<(), String> {
        if self.follow(history)?.is_some() {
            let own = self.words.role(self.role);
            self.player.ponder(self.machine.bits(), own, stop);
        }
        Ok(())
    }
}

/// The moves of a line as the rules write them; of those who have a choice.
fn expected(machine: &mut Scalar, line: &[Vec<u32>], words: &Words) -> Vec<String> {
    /// Joint moves that are looked at.
    const MOST: usize = 8;
    let (mut names, mut n_made) = (Vec::new(), 0);
    for joint in line.iter().take(MOST) {
        let legal = search::legal_moves(machine);
        if machine.terminal() || joint.iter().zip(&legal).any(|(chosen, legal)| !legal.contains(chosen)) {
            break;
        }
        let chosen = joint.iter().zip(&legal).filter(|(_, legal)| legal.len() > 1);
        names.extend(chosen.map(|(&chosen, _)| words.name(chosen)));
        machine.make(joint);
        n_made += 1;
    }
    (0..n_made).for_each(|_| machine.unmake());
    names
}

/// A search's answer in words.
fn why(what: &str, answer: &Answer, own: usize) -> String {
    let mut text = what.to_owned();
    if answer.nodes == 0 && answer.playouts == 0 {
        return if answer.stop == StopReason::Forced { format!("{text}: nothing to think about") } else { text };
    }
    if let Some(value) = answer.values.get(own).filter(|value| value.is_finite()) {
        let certain = if answer.proven { "certain" } else { "expected" };
        text += &format!(": {:.0} % {certain}", 100.0 * value);
    }
    match answer.playouts {
        0 => text += &format!(", {} states", answer.nodes),
        playouts => text += &format!(", {playouts} playouts"),
    }
    if answer.depth > 0 {
        text += &format!(", {} moves deep", answer.depth);
    }
    text
}
