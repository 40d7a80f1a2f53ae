//! Unfolding: from ground rules to conjunctions of fluents (after Kaneko, Yamaguchi and Kawai).
//!
//! An atom holds if one of its rule instances does. Resolving away the atoms in the bodies gives the atom as a disjunction of
//! conjunctions over fluents (and moves, where it depends on them). Atoms that depend on themselves mean the least
//! solution, so their minimal conjunctions are the least fixpoint; a proof that goes through its own goal is never
//! minimal. A conjunction that needs two fluents of which at most one holds is dropped, and so is one that implies another.
//!
//! A negated atom is expanded if the result is small; otherwise it stays as a fact of its own. Everything has a budget: what
//! runs over it keeps its shortest conjunctions and is marked as incomplete. An incomplete disjunction is true only where the
//! atom is, never the other way round.

use gdl::ground::{GroundLiteral, GroundProgram, Signal};
use gdl::strongly_connected_components;
use insight::structure::{Evidence, Structure};
use insight::universe::Circuit;
use machine::network::Network;
use rustc_hash::FxHashMap;

use super::set::{Literal, is_subset};

/// How much unfolding may do.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Conjunctions of one atom.
    pub conjunctions: usize,
    /// Literals of one conjunction.
    pub literals: usize,
    /// Conjunctions that the negation of an atom may be expanded to.
    pub negation: usize,
    /// Times that atoms which depend on each other are looked at.
    pub rounds: usize,
    /// Conjunctions made or compared, in all.
    pub work: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { conjunctions: 2_000, literals: 24, negation: 64, rounds: 64, work: 200_000_000 }
    }
}

/// A disjunction of conjunctions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dnf {
    /// The conjunctions, shorter ones first, none of which implies another.
    pub conjunctions: Vec<Box<[Literal]>>,
    /// Whether these are all: the atom holds exactly where one of them does.
    pub complete: bool,
}

/// Facts of which at most one holds in any state.
#[derive(Clone, Debug)]
pub struct Group {
    /// The facts.
    pub facts: Vec<u32>,
    /// Whether one of them always holds.
    pub exactly: bool,
}

/// Unfolds the atoms of a ground program.
///
/// Facts are numbered so: the fluents of the network, then the moves, then the atoms.
pub struct Unfolder<'a> {
    ground: &'a GroundProgram,
    budget: Budget,
    work: u64,
    n_fluents: u32,
    /// For each fluent of the ground program what it is in the network.
    fluents: Vec<Meaning>,
    /// For each literal over the network's fluents a fluent of the ground program that means it.
    meant: FxHashMap<Literal, u32>,
    groups: Vec<Group>,
    /// For each fluent and move its groups.
    groups_of: Vec<Vec<u32>>,
    dnfs: Vec<Option<Dnf>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Literal(Literal),
    Always(bool),
}

/// The groups of a game's fluents of which at most one holds, as far as that is proved.
pub fn proved_groups(structure: &Structure, circuit: &Circuit) -> Vec<Group> {
    let mut groups = Vec::new();
    for (exclusion, at_most, at_least) in &structure.exclusions {
        if *at_most != Evidence::Proved {
            continue;
        }
        for group in &exclusion.groups {
            let wires = || group.iter().map(|&fluent| circuit.fluents[fluent as usize]);
            // A fluent that is another's opposite needs no group.
            if group.len() > 1 && wires().all(|wire| wire.gate() != 0 && !wire.is_inverted()) {
                let facts = wires().map(|wire| wire.gate() - 1).collect();
                groups.push(Group { facts, exactly: *at_least == Some(Evidence::Proved) });
            }
        }
    }
    groups
}

impl<'a> Unfolder<'a> {
    /// An unfolder for a ground program, the network that was made from it, and groups of the network's fluents.
    pub fn new(ground: &'a GroundProgram, network: &Network, mut groups: Vec<Group>, budget: Budget) -> Unfolder<'a> {
        let n_fluents = network.fluents.len() as u32;
        let mut meanings = FxHashMap::default();
        for (index, &fluent) in network.fluents.iter().enumerate() {
            meanings.insert(fluent, Meaning::Literal(Literal::of(index as u32)));
        }
        for &(fluent, other, inverted) in &network.equal_fluents {
            meanings.insert(fluent, Meaning::Literal(Literal::of(other).negate_if(inverted)));
        }
        network.constant_fluents.iter().for_each(|&fluent| _ = meanings.insert(fluent, Meaning::Always(true)));
        let meaning = |fluent| meanings.get(fluent).copied().unwrap_or(Meaning::Always(false));
        let fluents: Vec<Meaning> = ground.fluents.iter().map(meaning).collect();
        let mut meant = FxHashMap::default();
        for (fluent, meaning) in fluents.iter().enumerate() {
            if let Meaning::Literal(literal) = *meaning {
                meant.entry(literal).or_insert(fluent as u32);
            }
        }
        for role in 0..ground.roles.len() as u32 {
            let moves = ground.moves.iter().zip(n_fluents..).filter(|((of, _), _)| *of == role);
            groups.push(Group { facts: moves.map(|(_, fact)| fact).collect(), exactly: true });
        }
        let mut groups_of = vec![Vec::new(); n_fluents as usize + ground.moves.len()];
        for (number, group) in groups.iter().enumerate() {
            group.facts.iter().for_each(|&fact| groups_of[fact as usize].push(number as u32));
        }
        let dnfs = vec![None; ground.atoms.len()];
        Unfolder { ground, budget, work: 0, n_fluents, fluents, meant, groups, groups_of, dnfs }
    }

    /// The disjunction of an atom; it is found with those of all atoms that it depends on.
    pub fn unfold(&mut self, atom: u32) -> &Dnf {
        if self.dnfs[atom as usize].is_none() {
            self.unfold_below(atom);
        }
        self.dnfs[atom as usize].as_ref().expect("it was just found")
    }

    /// Every atom that was unfolded so far, with its disjunction.
    pub fn unfolded(&self) -> impl Iterator<Item = (u32, &Dnf)> {
        (0..).zip(&self.dnfs).filter_map(|(atom, dnf)| Some((atom, dnf.as_ref()?)))
    }

    /// How much of the budget of work is spent.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Whether a fact is a fluent of the network, so that it can be looked up in a state.
    pub fn is_fluent(&self, fact: u32) -> bool {
        fact < self.n_fluents
    }

    /// Whether a conjunction is over fluents alone.
    pub fn is_pattern(&self, conjunction: &[Literal]) -> bool {
        conjunction.iter().all(|literal| self.is_fluent(literal.fact()))
    }

    fn move_of(&self, fact: u32) -> Option<u32> {
        let index = fact.checked_sub(self.n_fluents)?;
        (index < self.ground.moves.len() as u32).then_some(index)
    }

    fn atom_of(&self, fact: u32) -> Option<u32> {
        fact.checked_sub(self.n_fluents + self.ground.moves.len() as u32)
    }

    fn atom_fact(&self, atom: u32) -> u32 {
        self.n_fluents + self.ground.moves.len() as u32 + atom
    }

    /// Whether an unfolded atom that depends on no move holds in a state; `None` if its disjunction is incomplete or it
    /// depends on a move.
    pub fn holds(&self, atom: u32, bits: &[u64]) -> Option<bool> {
        let dnf = self.dnfs[atom as usize].as_ref()?;
        let mut unknown = !dnf.complete;
        for conjunction in &dnf.conjunctions {
            let mut all = Some(true);
            for literal in conjunction {
                let value = if self.is_fluent(literal.fact()) {
                    Some(literal.holds(bits))
                } else {
                    let atom = self.atom_of(literal.fact())?;
                    self.holds(atom, bits).map(|holds| holds != literal.is_negated())
                };
                match value {
                    Some(true) => {}
                    Some(false) => {
                        all = Some(false);
                        break;
                    }
                    None => all = None,
                }
            }
            match all {
                Some(true) => return Some(true),
                Some(false) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(false)
    }

    fn unfold_below(&mut self, atom: u32) {
        // Step 1. The atoms that it depends on and that are new.
        let mut number: FxHashMap<u32, usize> = FxHashMap::default();
        let mut atoms = vec![atom];
        number.insert(atom, 0);
        let mut successors: Vec<Vec<usize>> = Vec::new();
        while let Some(&atom) = atoms.get(successors.len()) {
            let mut own = Vec::new();
            for literal in self.ground.instances(atom).flatten() {
                if let Signal::Atom(other) = literal.signal
                    && self.dnfs[other as usize].is_none()
                {
                    own.push(*number.entry(other).or_insert_with(|| {
                        atoms.push(other);
                        atoms.len() - 1
                    }));
                }
            }
            own.sort_unstable();
            own.dedup();
            successors.push(own);
        }
        // Step 2. From the bottom up, each group of atoms that depend on each other to its fixpoint.
        for component in strongly_connected_components(&successors) {
            let members: Vec<u32> = component.iter().map(|&index| atoms[index]).collect();
            let cyclic = members.len() > 1 || successors[component[0]].contains(&component[0]);
            members.iter().for_each(|&member| self.dnfs[member as usize] = Some(Dnf::default()));
            let mut settled = false;
            for _ in 0..if cyclic { self.budget.rounds } else { 1 } {
                let mut changed = false;
                for &member in &members {
                    let dnf = self.derive(member, &members);
                    if self.dnfs[member as usize].as_ref() != Some(&dnf) {
                        self.dnfs[member as usize] = Some(dnf);
                        changed = true;
                    }
                }
                if !changed || !cyclic {
                    settled = true;
                    break;
                }
            }
            // While the fixpoint is being found, members count as incomplete only for what ran over the budget.
            let all = |unfolder: &Unfolder<'_>| {
                members.iter().all(|&member| unfolder.dnfs[member as usize].as_ref().is_some_and(|dnf| dnf.complete))
            };
            if cyclic && !(settled && all(self)) {
                members.iter().for_each(|&member| {
                    self.dnfs[member as usize].iter_mut().for_each(|dnf| dnf.complete = false);
                });
            }
        }
    }

    /// The disjunction of an atom, given those of the atoms in its bodies. Those of `members` may still grow.
    fn derive(&mut self, atom: u32, members: &[u32]) -> Dnf {
        let ground = self.ground;
        let mut result = Vec::new();
        let mut complete = true;
        for body in ground.instances(atom) {
            let mut product = vec![Box::default()];
            // Short disjunctions first: they may be contradictory.
            let mut parts: Vec<Dnf> = Vec::new();
            for literal in body {
                parts.push(self.meaning(*literal, members));
            }
            parts.sort_by_key(|part| part.conjunctions.len());
            for part in &parts {
                complete &= part.complete || product.is_empty();
                product = self.product(&product, &part.conjunctions, &mut complete);
                if product.is_empty() {
                    break;
                }
            }
            result.append(&mut product);
            if result.len() > 4 * self.budget.conjunctions {
                complete &= self.reduce(&mut result);
            }
        }
        complete &= self.reduce(&mut result);
        Dnf { conjunctions: result, complete }
    }

    /// A literal of a body as a disjunction.
    fn meaning(&mut self, literal: GroundLiteral, members: &[u32]) -> Dnf {
        let one = |literal: Literal| Dnf { conjunctions: vec![[literal].into()], complete: true };
        let constant = |value: bool| Dnf { conjunctions: vec![Box::default(); usize::from(value)], complete: true };
        match literal.signal {
            Signal::Fluent(fluent) => match self.fluents[fluent as usize] {
                Meaning::Literal(meaning) => one(meaning.negate_if(literal.negated)),
                Meaning::Always(value) => constant(value != literal.negated),
            },
            Signal::Move(chosen) => one(Literal::of(self.n_fluents + chosen).negate_if(literal.negated)),
            Signal::Atom(atom) => {
                let growing = members.contains(&atom);
                let dnf = self.dnfs[atom as usize].clone().unwrap_or_default();
                if !literal.negated {
                    return Dnf { complete: dnf.complete || growing, ..dnf };
                }
                let expanded = if dnf.complete && !growing { self.complement(&dnf) } else { None };
                expanded.unwrap_or_else(|| one(Literal::of(self.atom_fact(atom)).negated()))
            }
        }
    }

    /// What holds where a complete disjunction does not, if it is small.
    fn complement(&mut self, dnf: &Dnf) -> Option<Dnf> {
        let mut result: Vec<Box<[Literal]>> = vec![Box::default()];
        let mut complete = true;
        for conjunction in &dnf.conjunctions {
            let opposites: Vec<Box<[Literal]>> = conjunction.iter().map(|literal| [literal.negated()].into()).collect();
            result = self.product(&result, &opposites, &mut complete);
            complete &= self.reduce(&mut result);
            if result.len() > self.budget.negation || !complete {
                return None;
            }
        }
        Some(Dnf { conjunctions: result, complete: true })
    }

    /// Every conjunction of one from each side. What is over the budget is left out, longer ones first.
    fn product(
        &mut self,
        left: &[Box<[Literal]>],
        right: &[Box<[Literal]>],
        complete: &mut bool,
    ) -> Vec<Box<[Literal]>> {
        let mut result = Vec::new();
        let limit = 4 * self.budget.conjunctions;
        for one in left {
            for other in right {
                self.work += 1;
                if self.work > self.budget.work {
                    *complete = false;
                    return result;
                }
                let mut joined: Vec<Literal> = one.iter().chain(other).copied().collect();
                if !self.settle(&mut joined) {
                    continue;
                }
                if joined.len() > self.budget.literals {
                    *complete = false;
                    continue;
                }
                result.push(joined.into());
            }
            if result.len() > limit {
                *complete &= self.reduce(&mut result);
            }
        }
        result
    }

    /// Brings a conjunction into its simplest form: ascending, nothing twice, nothing that the groups imply. Returns
    /// false if it can't hold.
    pub fn settle(&self, conjunction: &mut Vec<Literal>) -> bool {
        conjunction.sort_unstable();
        conjunction.dedup();
        if conjunction.windows(2).any(|pair| pair[0].fact() == pair[1].fact()) {
            return false;
        }
        let groups = |literal: Literal| self.groups_of.get(literal.fact() as usize).map_or(&[][..], |groups| groups);
        // Step 1. At most one of a group.
        let mut taken: Vec<u32> = Vec::new();
        for literal in conjunction.iter().filter(|literal| !literal.is_negated()) {
            for &group in groups(*literal) {
                if taken.contains(&group) {
                    return false;
                }
                taken.push(group);
            }
        }
        conjunction
            .retain(|&literal| !literal.is_negated() || !groups(literal).iter().any(|group| taken.contains(group)));
        // Step 2. If all of a group but one are excluded, it is that one.
        let mut excluded: Vec<u32> = Vec::new();
        for &literal in conjunction.iter().filter(|literal| literal.is_negated()) {
            excluded.extend(groups(literal).iter().filter(|&&group| self.groups[group as usize].exactly));
        }
        excluded.sort_unstable();
        for same in excluded.chunk_by(|one, other| one == other) {
            let group = &self.groups[same[0] as usize];
            if same.len() == group.facts.len() {
                return false;
            }
            if same.len() + 1 == group.facts.len() {
                let left = group.facts.iter().map(|&fact| Literal::of(fact));
                let mut left = left.filter(|literal| conjunction.binary_search(&literal.negated()).is_err());
                let last = left.next().expect("one of them is not excluded");
                conjunction.push(last);
                return self.settle(conjunction);
            }
        }
        true
    }

    /// Leaves out conjunctions that imply another, and the longest if there are too many; says whether none was.
    fn reduce(&mut self, conjunctions: &mut Vec<Box<[Literal]>>) -> bool {
        let key = |conjunction: &[Literal]| conjunction.iter().fold(0u64, |key, literal| key | 1 << (literal.0 % 61));
        conjunctions.sort_unstable_by(|one, other| one.len().cmp(&other.len()).then_with(|| one.cmp(other)));
        conjunctions.dedup();
        let mut kept: Vec<(u64, Box<[Literal]>)> = Vec::new();
        let mut complete = true;
        for conjunction in conjunctions.drain(..) {
            if kept.len() == self.budget.conjunctions {
                complete = false;
                break;
            }
            let own = key(&conjunction);
            self.work += kept.len() as u64 / 16;
            if !kept.iter().any(|(other, shorter)| other & !own == 0 && is_subset(shorter, &conjunction)) {
                kept.push((own, conjunction));
            }
        }
        conjunctions.extend(kept.into_iter().map(|(_, conjunction)| conjunction));
        complete
    }

    /// What may hold before a move so that a pattern holds after it: in place of each fluent the conjunctions that make it
    /// hold next, in place of a move what makes it legal. At most `limit` conjunctions come back, shorter ones first; the
    /// pattern itself is among them where its fluents may persist.
    ///
    /// Conditions on moves that are *not* made are left out, and so are negated literals of the pattern that no fluent of the
    /// rules means: a result is a likely cause, not an equivalent.
    pub fn regress(&mut self, pattern: &[Literal], limit: usize) -> Vec<Box<[Literal]>> {
        let wide = self.budget.conjunctions;
        self.budget.conjunctions = limit;
        let mut complete = true;
        let mut result: Vec<Box<[Literal]>> = vec![Box::default()];
        for literal in pattern {
            let Some(&fluent) = self.meant.get(literal) else { continue };
            let Some(next) = self.ground.next[fluent as usize] else { return Vec::new() };
            let causes = self.causes(next, wide);
            result = self.product(&result, &causes, &mut complete);
            self.reduce(&mut result);
        }
        let mut resolved = Vec::new();
        for conjunction in result {
            let (moves, facts): (Vec<Literal>, Vec<Literal>) =
                conjunction.iter().partition(|literal| self.move_of(literal.fact()).is_some());
            let mut product: Vec<Box<[Literal]>> = vec![facts.into()];
            for chosen in moves {
                let legal = self.ground.legal[self.move_of(chosen.fact()).expect("it is a move") as usize];
                self.budget.conjunctions = wide;
                let dnf = self.unfold(legal).conjunctions.clone();
                self.budget.conjunctions = limit;
                let patterns: Vec<Box<[Literal]>> = dnf.into_iter().filter(|part| self.is_pattern(part)).collect();
                product = self.product(&product, &patterns, &mut complete);
                self.reduce(&mut product);
            }
            resolved.append(&mut product);
        }
        self.reduce(&mut resolved);
        self.budget.conjunctions = wide;
        resolved
    }

    /// The conjunctions of an atom without what they say about moves that are not made, or about what these bring about.
    fn causes(&mut self, atom: u32, conjunctions: usize) -> Vec<Box<[Literal]>> {
        let limit = std::mem::replace(&mut self.budget.conjunctions, conjunctions);
        let dnf = self.unfold(atom).conjunctions.clone();
        let keeps = |literal: &Literal| {
            self.is_fluent(literal.fact()) || self.move_of(literal.fact()).is_some() && !literal.is_negated()
        };
        let mut causes: Vec<Box<[Literal]>> =
            dnf.iter().map(|conjunction| conjunction.iter().copied().filter(keeps).collect()).collect();
        self.reduce(&mut causes);
        self.budget.conjunctions = limit;
        causes
    }
}

/// Every ascending list that lacks one literal of the pattern.
pub fn without_one(pattern: &[Literal]) -> impl Iterator<Item = Box<[Literal]>> + '_ {
    (0..pattern.len()).map(|left_out| {
        pattern.iter().enumerate().filter(|&(index, _)| index != left_out).map(|(_, &literal)| literal).collect()
    })
}

#[cfg(test)]
mod tests {
    use machine::scalar::{Compiled, Scalar};
    use machine::{Limits, Machine, Reference, RoleId};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::game::Game;
    use crate::pattern::testing::game;

    fn unfolder(game: &Game) -> Unfolder<'_> {
        let ground = game.circuit.ground.as_ref().expect("it is kept");
        let groups = proved_groups(&game.structure, &game.circuit);
        Unfolder::new(ground, &game.circuit.network, groups, Budget::default())
    }

    /// A conjunction as sorted text.
    fn text(game: &Game, conjunction: &[Literal]) -> Vec<String> {
        let network = &game.circuit.network;
        let name = |literal: &Literal| {
            let name = network.name(network.fluents[literal.fact() as usize]);
            if literal.is_negated() { format!("not {name}") } else { name }
        };
        let mut names: Vec<String> = conjunction.iter().map(name).collect();
        names.sort_unstable();
        names
    }

    fn goal(game: &Game, role: &str, value: &str) -> u32 {
        let ground = game.circuit.ground.as_ref().expect("it is kept");
        let name = |term| ground.terms.display(&ground.symbols, term).to_string();
        let is = |goal: &&(u32, gdl::TermId, u32)| name(ground.roles[goal.0 as usize]) == role && name(goal.1) == value;
        ground.goals.iter().find(is).expect("there is such a goal").2
    }

    #[test]
    fn winning_tic_tac_toe_is_eight_lines() {
        let game = game("tic-tac-toe");
        let mut unfolder = unfolder(&game);
        let dnf = unfolder.unfold(goal(&game, "xplayer", "100")).clone();
        assert!(dnf.complete);
        let lines: Vec<Vec<String>> = dnf.conjunctions.iter().map(|line| text(&game, line)).collect();
        assert_eq!(lines.len(), 8, "{lines:?}");
        assert!(lines.iter().all(|line| line.len() == 3 && line.iter().all(|cell| cell.ends_with(" x)"))), "{lines:?}");
    }

    #[test]
    fn a_corner_move_of_othello_needs_one_of_three_lines() {
        let game = game("othello");
        let ground = game.circuit.ground.as_ref().expect("it is kept");
        let name = |term| ground.terms.display(&ground.symbols, term).to_string();
        let corner = (0..ground.moves.len())
            .find(|&index| ground.moves[index].0 == 0 && name(ground.moves[index].1) == "(place a 1)");
        let mut unfolder = unfolder(&game);
        let dnf = unfolder.unfold(ground.legal[corner.expect("there is such a move")]).clone();
        assert!(dnf.complete);
        // Six lengths in each of three directions.
        assert_eq!(dnf.conjunctions.len(), 18);
        let lines: Vec<Vec<String>> = dnf.conjunctions.iter().map(|line| text(&game, line)).collect();
        for (next, end) in [("a 2", "a 3"), ("b 1", "c 1"), ("b 2", "c 3")] {
            let mut line =
                vec!["(cell a 1 empty)".to_owned(), format!("(cell {next} white)"), format!("(cell {end} black)")];
            line.push("(control black)".to_owned());
            line.sort_unstable();
            let white =
                line.iter().map(|name| name.replace("(control black)", "not (control white)")).collect::<Vec<_>>();
            assert!(lines.iter().any(|other| *other == line || *other == white), "{line:?} of {lines:?}");
        }
    }

    /// Compares disjunctions with an engine in the states of random matches; returns how many answers were compared.
    fn compare(name: &str, n_states: usize, n_reference: usize) -> (usize, usize) {
        let game = game(name);
        let ground = game.circuit.ground.as_ref().expect("it is kept");
        let mut unfolder = unfolder(&game);
        let atoms = ground.legal.iter().chain(ground.goals.iter().map(|goal| &goal.2)).chain(&ground.terminal);
        let atoms: Vec<u32> = atoms.copied().collect();
        atoms.iter().for_each(|&atom| _ = unfolder.unfold(atom));
        let program = game.program.clone();
        let mut reference = Reference::new(program, Limits::default()).expect("the rules have a meaning");
        let mut scalar = Scalar::new(Compiled::new(game.circuit.network.clone()));
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let (mut compared, mut unknown) = (0, 0);
        let mut check = |answers: &[(u32, bool)], bits: &[u64]| {
            for &(atom, expected) in answers {
                match unfolder.holds(atom, bits) {
                    Some(holds) => {
                        assert_eq!(holds, expected, "{name}: atom {atom}");
                        compared += 1;
                    }
                    None => unknown += 1,
                }
            }
        };
        // Step 1. The scalar machine, which is fast.
        let mut state = scalar.initial().expect("no limits");
        for _ in 0..n_states {
            scalar.jump(&state);
            let mut answers = Vec::new();
            let mut joint = Vec::new();
            for role in 0..ground.roles.len() as u32 {
                let mut moves = Vec::new();
                scalar.legal_moves(RoleId(role), &mut moves);
                let all = ground.moves.iter().enumerate().filter(|(_, (of, _))| *of == role);
                answers.extend(all.map(|(index, _)| (ground.legal[index], moves.contains(&(index as u32)))));
                joint.extend((!moves.is_empty()).then(|| moves[rng.random_range(0..moves.len())]));
            }
            let terminal = scalar.terminal();
            answers.extend(ground.terminal.map(|atom| (atom, terminal)));
            for role in 0..ground.roles.len() as u32 {
                let values = scalar.goals(&state, RoleId(role)).expect("no limits");
                let own = ground.goals.iter().filter(|goal| goal.0 == role);
                let value = |term| ground.terms.display(&ground.symbols, term).to_string().parse::<i64>();
                answers.extend(own.map(|goal| (goal.2, value(goal.1).is_ok_and(|value| values.contains(&value)))));
            }
            check(&answers, &state);
            state = if terminal || joint.len() < ground.roles.len() {
                scalar.initial().expect("no limits")
            } else {
                scalar.next(&state, &joint).expect("no limits")
            };
        }
        // Step 2. The rules as they stand.
        let network = &game.circuit.network;
        let place: FxHashMap<String, usize> =
            network.fluents.iter().enumerate().map(|(index, &fluent)| (network.name(fluent), index)).collect();
        let mut state = reference.initial().expect("within limits");
        for _ in 0..n_reference {
            let mut bits = vec![0u64; network.fluents.len().div_ceil(64)];
            for fluent in reference.fluents(&state) {
                place.get(&fluent).into_iter().for_each(|index| bits[index / 64] |= 1 << (index % 64));
            }
            let (mut answers, mut joint) = (Vec::new(), Vec::new());
            for role in 0..ground.roles.len() as u32 {
                let mut moves = Vec::new();
                reference.legal(&state, RoleId(role), &mut moves).expect("within limits");
                let names: Vec<String> = moves.iter().map(|&chosen| reference.move_name(chosen)).collect();
                let all = ground.moves.iter().enumerate().filter(|(_, (of, _))| *of == role);
                let name = |term| ground.terms.display(&ground.symbols, term).to_string();
                answers.extend(all.map(|(index, (_, term))| (ground.legal[index], names.contains(&name(*term)))));
                joint.extend((!moves.is_empty()).then(|| moves[rng.random_range(0..moves.len())]));
            }
            let terminal = reference.is_terminal(&state).expect("within limits");
            answers.extend(ground.terminal.map(|atom| (atom, terminal)));
            check(&answers, &bits);
            state = if terminal || joint.len() < ground.roles.len() {
                reference.initial().expect("within limits")
            } else {
                reference.next(&state, &joint).expect("within limits")
            };
        }
        (compared, unknown)
    }

    #[test]
    fn disjunctions_agree_with_the_engines() {
        for name in ["tic-tac-toe", "connect-four", "breakthrough-6x6", "checkers-5x5-4", "pentago", "eight-puzzle"] {
            let (compared, unknown) = compare(name, 10_000, 300);
            assert!(compared > 10 * unknown, "{name}: {compared} known, {unknown} not");
        }
    }

    #[test]
    fn recursion_ends() {
        let game = game("hex-5");
        let mut unfolder = unfolder(&game);
        let dnf = unfolder.unfold(goal(&game, "red", "100")).clone();
        assert!(!dnf.conjunctions.is_empty());
        assert!(dnf.conjunctions.iter().all(|path| path.len() >= 5));
        let (compared, _) = compare("othello-6x6", 10_000, 20);
        assert!(compared > 10_000, "{compared}");
    }
}
