//! Symmetries of a game, by proof.
//!
//! A symmetry permutes fluents, moves and roles so that the rules stay what they are: a move is legal in a state exactly
//! if its image is legal in the image of the state; images of moves lead from there to the image of the next state; the
//! game is over in both or in neither; and what one role scores in a state, its image scores in the image. Reflections and
//! rotations of a board are symmetries of many games, and so is swapping the colours together with the roles.
//!
//! The initial state need not be fixed; [`Symmetry::fixes_initial`] says whether it is.
//!
//! Symmetries are found as automorphisms of a graph, the ground logic in a form that hides how it was written
//! ([`logic`], [`automorphism`]).

mod action;
mod automorphism;
mod bdd;
mod enumerate;
mod grid;
mod group;
mod logic;
mod name;
mod path;
mod prove;
mod refine;
mod sample;
mod sat;
mod web;

pub use action::{Action, Translation, canonical_state};
pub use enumerate::{Enumeration, Trial, enumerate};
pub use grid::{Axis, Grid, Square};
pub use name::{Description, Turn, describe};

use std::sync::Arc;

use gdl::Stop;
use gdl::ground::GroundProgram;
use machine::network::Network;

use group::{Group, Permutation};
use logic::{Known, Logic, Outputs};
use prove::{Prover, Verdict};
use sample::Samples;

/// How much the search may do.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Literals of the ground program.
    pub literals: usize,
    /// Nodes and edges of the graph.
    pub graph: usize,
    /// Nodes of the search for automorphisms, times the size of the graph that is searched.
    pub search: u64,
    /// Images of points computed to find the order of the group.
    pub group: u64,
    /// Permutations that are tried on samples.
    pub candidates: usize,
    /// Batches of 512 sampled states.
    pub batches: u32,
    /// Nodes of the decision diagrams in all proofs.
    pub diagrams: usize,
    /// Conflicts of the satisfiability solver in one proof, times the number of gates that it deals with.
    pub conflicts: u64,
    /// Proofs that may come to nothing before no more are tried.
    pub failures: u32,
    /// Images of points that permutations which are kept have, all together.
    pub images: usize,
    /// Ends the search before its time; what was found until then is kept.
    pub stop: Stop,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            literals: 1_000_000,
            graph: 2_000_000,
            search: 1_000_000_000,
            group: 1_000_000_000,
            candidates: 512,
            batches: 8,
            diagrams: 2_500_000,
            conflicts: 20_000_000,
            failures: 4,
            images: 64 << 20,
            stop: Stop::never(),
        }
    }
}

/// Why a search came back without everything that it looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The ground program has more literals than the budget allows.
    Literals {
        /// How many it has.
        count: usize,
        /// The budget.
        limit: usize,
    },
    /// The graph has more nodes and edges than the budget allows.
    Graph {
        /// How many it has.
        size: usize,
        /// The budget.
        limit: usize,
    },
    /// The automorphisms of the graph need more search nodes.
    Search {
        /// The budget for a graph of this size.
        nodes: u64,
    },
    /// The order of the group needs more images of points than this.
    Group(u64),
    /// So many proofs came to nothing; nothing more was tried.
    Proofs(u32),
    /// Generators have more images of points than may be kept.
    Images {
        /// How many they have, at least.
        count: usize,
        /// The budget.
        limit: usize,
    },
    /// The caller stopped it.
    Stopped,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StopReason::Literals { count, limit } => {
                write!(f, "{count} ground literals, more than the budget of {limit}")
            }
            StopReason::Graph { size, limit } => write!(f, "a graph of size {size}, over the budget of {limit}"),
            StopReason::Search { nodes } => write!(f, "the graph's automorphisms need more than {nodes} search nodes"),
            StopReason::Group(limit) => write!(f, "the group's order needs more than {limit} images of points"),
            StopReason::Proofs(limit) => write!(f, "{limit} proofs came to nothing, and no more were tried"),
            StopReason::Images { count, limit } => {
                write!(f, "generators with {count} images of points, over the budget of {limit}")
            }
            StopReason::Stopped => write!(f, "the search was stopped"),
        }
    }
}

/// Why a symmetry is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Evidence {
    /// Proved: it is an automorphism of the ground logic.
    Graph,
    /// Proved: the logic with inputs and outputs permuted means the same, though it is written differently.
    Meaning,
    /// Not proved, and not refuted by any sampled state.
    Seen {
        /// How many states were looked at.
        states: u64,
    },
}

/// A symmetry: where it takes each fluent, move and role of a ground program. What never changes stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// The image of each fluent.
    pub fluents: Vec<u32>,
    /// The image of each move; a move of a role becomes a move of the role's image.
    pub moves: Vec<u32>,
    /// The image of each role.
    pub roles: Vec<u32>,
    /// Why it is believed.
    pub evidence: Evidence,
    /// Whether the initial state is its own image. If not, the symmetry takes matches to matches of the same game from
    /// another start.
    pub fixes_initial: bool,
}

/// The symmetries of a game.
#[derive(Clone, Debug)]
pub struct Symmetries {
    /// Symmetries that generate all that were found, the identity never among them.
    pub generators: Vec<Symmetry>,
    /// Permutations that were not refuted, and not proved either; the group does not have them.
    pub unproved: Vec<Symmetry>,
    /// The group that the generators generate; `None` if finding its order took too long.
    pub group: Option<SymmetryGroup>,
    /// Why there may be more.
    pub stopped: Vec<StopReason>,
}

/// A group of symmetries.
#[derive(Clone, Debug)]
pub struct SymmetryGroup {
    shape: Shape,
    generators: Vec<Permutation>,
    group: Group,
    /// The weakest among the generators.
    evidence: Evidence,
}

/// How fluents, moves and roles become the points of permutations: they are numbered in this order.
#[derive(Clone, Debug)]
struct Shape {
    n_fluents: usize,
    n_moves: usize,
    /// Which fluents hold initially.
    initial: Vec<bool>,
}

impl Shape {
    fn new(ground: &GroundProgram) -> Shape {
        let mut initial = vec![false; ground.fluents.len()];
        ground.initial.iter().for_each(|&fluent| initial[fluent as usize] = true);
        Shape { n_fluents: ground.fluents.len(), n_moves: ground.moves.len(), initial }
    }

    fn symmetry(&self, points: &[u32], evidence: Evidence) -> Symmetry {
        let first_role = self.n_fluents + self.n_moves;
        let part = |from: usize, to: usize| points[from..to].iter().map(|&point| point - from as u32).collect();
        Symmetry {
            fluents: part(0, self.n_fluents),
            moves: part(self.n_fluents, first_role),
            roles: part(first_role, points.len()),
            evidence,
            fixes_initial: self.fixes_initial(points),
        }
    }

    fn fixes_initial(&self, points: &[u32]) -> bool {
        (0..self.n_fluents).all(|fluent| self.initial[fluent] == self.initial[points[fluent] as usize])
    }

    fn points(&self, symmetry: &Symmetry) -> Permutation {
        let shifted = |part: &[u32], by: usize| part.iter().map(move |&point| point + by as u32).collect::<Vec<_>>();
        let moves = shifted(&symmetry.moves, self.n_fluents);
        let roles = shifted(&symmetry.roles, self.n_fluents + self.n_moves);
        symmetry.fluents.iter().copied().chain(moves).chain(roles).collect()
    }
}

impl SymmetryGroup {
    /// How many symmetries there are, the identity included; `None` if the number does not fit.
    pub fn order(&self) -> Option<u128> {
        self.group.order()
    }

    /// The logarithm of the order to the base 10, for orders that don't fit.
    pub fn log10_order(&self) -> f64 {
        self.group.log10_order()
    }

    /// How many symmetries fix the initial state; `None` if they are too many to count.
    pub fn order_fixing_initial(&self) -> Option<u128> {
        self.group.count_fixing(&self.shape.initial, 20_000)
    }

    /// All symmetries, the identity first; `None` if there are more than `limit`.
    pub fn elements(&self, limit: usize) -> Option<Vec<Symmetry>> {
        let elements = self.group.elements(limit)?;
        Some(elements.iter().map(|points| self.shape.symmetry(points, self.evidence)).collect())
    }

    /// Whether the group holds a symmetry.
    pub fn contains(&self, symmetry: &Symmetry) -> bool {
        self.group.contains(&self.shape.points(symmetry))
    }

    /// For each fluent the least one that a symmetry takes it to.
    pub fn fluent_orbits(&self) -> Vec<u32> {
        self.orbits()[..self.shape.n_fluents].to_vec()
    }

    /// For each move the least one that a symmetry takes it to.
    pub fn move_orbits(&self) -> Vec<u32> {
        let first = self.shape.n_fluents;
        self.orbits()[first..first + self.shape.n_moves].iter().map(|&point| point - first as u32).collect()
    }

    /// For each role the least one that a symmetry takes it to.
    pub fn role_orbits(&self) -> Vec<u32> {
        let first = self.shape.n_fluents + self.shape.n_moves;
        self.orbits()[first..].iter().map(|&point| point - first as u32).collect()
    }

    fn orbits(&self) -> Vec<u32> {
        group::orbits(self.group.degree(), self.generators.iter().map(|generator| &generator[..]))
    }
}

impl Symmetry {
    /// First this symmetry, then the other. It is as certain as the less certain of the two.
    pub fn then(&self, other: &Symmetry) -> Symmetry {
        let part = |first: &[u32], second: &[u32]| group::then(first, second).into_vec();
        Symmetry {
            fluents: part(&self.fluents, &other.fluents),
            moves: part(&self.moves, &other.moves),
            roles: part(&self.roles, &other.roles),
            evidence: self.evidence.max(other.evidence),
            fixes_initial: self.fixes_initial && other.fixes_initial,
        }
    }

    /// What undoes this symmetry.
    pub fn inverse(&self) -> Symmetry {
        let part = |part: &[u32]| group::inverse(part).into_vec();
        Symmetry { fluents: part(&self.fluents), moves: part(&self.moves), roles: part(&self.roles), ..*self }
    }
}

/// Finds the symmetries of a game. A network of the same program tells what never changes, and lets more be found: what
/// some of the rules allow is tried on sampled states, and then proved. The seed is that of the samples.
pub fn find(ground: &GroundProgram, network: Option<&Arc<Network>>, budget: &Budget, seed: u64) -> Symmetries {
    find_on_boards(ground, network, &[], budget, seed)
}

/// The same, given the boards of the game: their reflections and rotations are tried, too.
pub fn find_on_boards(
    ground: &GroundProgram,
    network: Option<&Arc<Network>>,
    grids: &[Grid],
    budget: &Budget,
    seed: u64,
) -> Symmetries {
    let mut search = Search {
        shape: Shape::new(ground),
        degree: ground.fluents.len() + ground.moves.len() + ground.roles.len(),
        generators: Vec::new(),
        group: None,
        unproved: Vec::new(),
        stopped: Vec::new(),
    };
    if ground.literals.len() > budget.literals {
        search.stopped.push(StopReason::Literals { count: ground.literals.len(), limit: budget.literals });
        return search.finish();
    }
    // Step 1. Automorphisms of the logic.
    let known = Known::new(ground, network.map(|network| &**network));
    let Some(mut logic) = Logic::new(ground, &known, &budget.stop) else {
        search.stopped.push(StopReason::Stopped);
        return search.finish();
    };
    path::find_paths(&mut logic, &budget.stop);
    match automorphism::generators(ground, &logic, &known, Outputs::ALL, budget) {
        Ok(generators) => search.generators.extend(generators.into_iter().map(|points| (points, Evidence::Graph))),
        Err(reason) => search.stopped.push(reason),
    }
    if let Err(reason) = search.regroup(budget) {
        search.stopped.push(reason);
        return search.finish();
    }
    // Step 2. What holds of the rules without their goals, and without their end, may hold of all; and so may what turns a
    // board.
    if let Some(network) = network {
        let mut candidates = candidates(ground, &logic, &known, &search, budget);
        candidates.extend(search.board_candidates(ground, grids, budget));
        candidates.retain_mut(|candidate| known.pin(&mut candidate.points));
        search.try_candidates(ground, network, &logic, candidates, budget, seed);
    }
    search.finish()
}

/// Symmetries of legal moves and next states that are not known to be symmetries of all.
fn candidates(
    ground: &GroundProgram,
    logic: &Logic,
    known: &Known,
    search: &Search,
    budget: &Budget,
) -> Vec<Candidate> {
    // Cells of a board that only the end of the game joins can be exchanged at will without it. Such large groups are no
    // help, and not worth the time.
    let less =
        Budget { graph: budget.graph / 8, search: budget.search / 10, group: budget.group / 50, ..budget.clone() };
    let mut candidates = Vec::new();
    let mut order = search.group.as_ref().and_then(Group::order);
    for terminal in [true, false] {
        if budget.stop.is_raised() {
            break;
        }
        let outputs = Outputs { terminal, goals: false };
        let Ok(generators) = automorphism::generators(ground, logic, known, outputs, &less) else { break };
        let group = Group::new(search.degree, &generators, less.group, &less.stop).ok();
        let found = group.as_ref().and_then(Group::order);
        if found.is_some() && found == order {
            continue;
        }
        order = found;
        // Among generators of a large group are many that nothing but a rare end refutes.
        let (permutations, is_likely) = match group.and_then(|group| group.elements(budget.candidates)) {
            Some(elements) => (elements, true),
            None => (generators, false),
        };
        candidates.extend(permutations.into_iter().map(|points| Candidate { points, is_likely }));
    }
    candidates
}

/// A permutation that may be a symmetry.
struct Candidate {
    points: Permutation,
    /// Whether it is worth telling if it is neither refuted nor proved.
    is_likely: bool,
}

/// What has been found so far.
struct Search {
    shape: Shape,
    degree: usize,
    generators: Vec<(Permutation, Evidence)>,
    group: Option<Group>,
    /// What was not refuted and not proved, with how many states were looked at.
    unproved: Vec<(Permutation, u64)>,
    stopped: Vec<StopReason>,
}

impl Search {
    fn regroup(&mut self, budget: &Budget) -> Result<(), StopReason> {
        let generators: Vec<Permutation> = self.generators.iter().map(|(points, _)| points.clone()).collect();
        self.group = Some(Group::new(self.degree, &generators, budget.group, &budget.stop)?);
        Ok(())
    }

    fn holds(&self, points: &[u32]) -> bool {
        self.group.as_ref().is_some_and(|group| group.contains(points))
    }

    /// Reflections and rotations of boards, alone and together with known symmetries that move roles.
    fn board_candidates(&self, ground: &GroundProgram, grids: &[Grid], budget: &Budget) -> Vec<Candidate> {
        let first_role = self.shape.n_fluents + self.shape.n_moves;
        let moves_roles =
            |points: &&Permutation| (first_role..self.degree).any(|point| points[point] as usize != point);
        let swaps: Vec<&Permutation> =
            self.generators.iter().map(|(points, _)| points).filter(moves_roles).take(2).collect();
        let mut candidates: Vec<Permutation> = Vec::new();
        for grid in grids {
            for map in grid.turns().iter().skip(1) {
                if budget.stop.is_raised() || (candidates.len() + 1) * self.degree > budget.images {
                    break;
                }
                let permutations = grid.permutations(ground, map, budget.candidates / 16);
                for points in permutations.into_iter().filter(|points| !self.holds(points)) {
                    candidates.extend(swaps.iter().map(|swap| group::then(&points, swap)));
                    candidates.push(points.into());
                }
            }
        }
        candidates.truncate(budget.candidates);
        candidates.into_iter().map(|points| Candidate { points, is_likely: true }).collect()
    }

    /// Tries permutations on samples, and then to prove them.
    fn try_candidates(
        &mut self,
        ground: &GroundProgram,
        network: &Arc<Network>,
        logic: &Logic,
        candidates: Vec<Candidate>,
        budget: &Budget,
        seed: u64,
    ) {
        let candidates: Vec<Candidate> =
            candidates.into_iter().filter(|candidate| !self.holds(&candidate.points)).collect();
        if candidates.is_empty() {
            return;
        }
        let translation = Translation::new(ground, network);
        if budget.stop.is_raised() {
            self.stopped.push(StopReason::Stopped);
            return;
        }
        let mut samples = Samples::new(network, budget.batches, seed, &budget.stop);
        let mut prover = Prover::new(ground, network, logic, budget);
        let (mut refuted, mut unproved): (Vec<Permutation>, Vec<Permutation>) = (Vec::new(), Vec::new());
        let mut n_failed = 0;
        for Candidate { points, is_likely } in candidates {
            if budget.stop.is_raised() {
                self.stopped.push(StopReason::Stopped);
                break;
            }
            if self.holds(&points) || self.is_among(&refuted, &points) || self.is_among(&unproved, &points) {
                continue;
            }
            let symmetry = self.shape.symmetry(&points, Evidence::Seen { states: samples.n_states() });
            let action = translation.action(&symmetry);
            if action.is_none_or(|action| samples.refute(network, &action)) {
                refuted.push(points);
                continue;
            }
            let evidence = match prover.prove(&points, budget) {
                Verdict::Structure => Evidence::Graph,
                Verdict::Meaning => Evidence::Meaning,
                Verdict::Refuted => {
                    refuted.push(points);
                    continue;
                }
                Verdict::Open => {
                    if is_likely {
                        unproved.push(points);
                    }
                    n_failed += 1;
                    if n_failed == budget.failures {
                        self.stopped.push(StopReason::Proofs(budget.failures));
                        break;
                    }
                    continue;
                }
            };
            self.generators.push((points, evidence));
            if let Err(reason) = self.regroup(budget) {
                self.stopped.push(reason);
                return;
            }
        }
        // What is a symmetry is one when it is done twice, too.
        let is_possible = |points: &Permutation| {
            let mut power = group::then(points, points);
            while !self.holds(&power) && power != *points {
                if budget.stop.is_raised() {
                    return true;
                }
                if self.is_among(&refuted, &power) {
                    return false;
                }
                power = group::then(&power, points);
            }
            !self.holds(points)
        };
        unproved.retain(is_possible);
        self.unproved = unproved.into_iter().map(|points| (points, samples.n_states())).collect();
    }

    /// Whether a permutation is one of those tried, up to known symmetries.
    fn is_among(&self, tried: &[Permutation], points: &Permutation) -> bool {
        tried.iter().any(|tried| self.holds(&group::then(&group::inverse(tried), points)))
    }

    fn finish(self) -> Symmetries {
        let shape = &self.shape;
        let generators = self.generators.iter().map(|(points, evidence)| shape.symmetry(points, *evidence)).collect();
        let seen = |(points, states): &(Permutation, u64)| shape.symmetry(points, Evidence::Seen { states: *states });
        let unproved = self.unproved.iter().map(seen).collect();
        let evidence = self.generators.iter().map(|&(_, evidence)| evidence).max().unwrap_or(Evidence::Graph);
        let points = self.generators.into_iter().map(|(points, _)| points).collect();
        let group =
            self.group.map(|group| SymmetryGroup { shape: self.shape.clone(), generators: points, group, evidence });
        Symmetries { generators, unproved, group, stopped: self.stopped }
    }
}
