//! What each searcher claims to be exact, against enumeration.

use std::collections::BTreeMap;
use std::sync::Arc;

use gdl::ground::GroundProgram;
use machine::network::Network;
use machine::scalar::{self, Scalar};
use machine::{RoleId, lanes};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::alpha_beta::{self, AlphaBeta, Opponents, Simultaneous};
use search::best_first::{self, BestFirst};
use search::proof::{self, Exact, Keys, Method, Solver};
use search::{Answer, Evaluate, Limit, Nature, Player, Principal, Solo, Uct, exploit, principal, solo, uct};

use super::graph::{Bounds, Graph, mix};

/// How often each searcher was asked and claimed something, and where that was wrong.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counts: BTreeMap<&'static str, Count>,
    pub(crate) wrong: Vec<String>,
}

/// How often a searcher was asked, how often it claimed to know, and how often that was wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) asked: u64,
    pub(crate) claimed: u64,
    pub(crate) wrong: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        for (name, count) in other.counts {
            let own = self.counts.entry(name).or_default();
            own.asked += count.asked;
            own.claimed += count.claimed;
            own.wrong += count.wrong;
        }
        self.wrong.extend(other.wrong);
    }

    fn ask(&mut self, name: &'static str, claims: bool) {
        let count = self.counts.entry(name).or_default();
        count.asked += 1;
        count.claimed += u64::from(claims);
    }

    /// Notes a claim that is wrong.
    fn require(&mut self, name: &'static str, right: bool, what: impl FnOnce() -> String) {
        if !right {
            self.counts.entry(name).or_default().wrong += 1;
            self.wrong.push(format!("{name}: {}", what()));
        }
    }
}

/// A game with all that searchers are made of.
pub(crate) struct Board<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) ground: &'a GroundProgram,
    pub(crate) network: Arc<Network>,
    pub(crate) lanes: Arc<lanes::Compiled>,
    pub(crate) scalar: Arc<scalar::Compiled>,
    pub(crate) nature: Arc<Nature>,
    /// States on the way of a match by chance, in which somebody moves.
    pub(crate) walk: Vec<usize>,
    pub(crate) seed: u64,
}

/// Bounds on nodes under which each state is looked at, one after another: what was cut short must not be taken for the whole.
const LIMITS: [u64; 3] = [4, 60, 4_000];
/// The same for trees, which take long where a game has cycles, and for those that open what they promise most of one by one.
const TREES: [u64; 3] = [4, 60, 800];
const FEWER: [u64; 3] = [2, 30, 200];

impl<'a> Board<'a> {
    pub(crate) fn new(graph: &'a Graph, ground: &'a GroundProgram, network: &Arc<Network>, seed: u64) -> Board<'a> {
        let lanes = lanes::Compiled::new(network.clone());
        let nature = Arc::new(Nature::new(&lanes, seed));
        let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0x77);
        let (mut walk, mut at) = (Vec::new(), 0);
        while walk.len() < 6 && !graph.nodes[at].next.is_empty() {
            walk.push(at);
            let next = &graph.nodes[at].next;
            at = next[random.random_range(0..next.len())];
        }
        let scalar = scalar::Compiled::new(network.clone());
        Board { graph, ground, network: network.clone(), lanes, scalar, nature, walk, seed }
    }

    fn machine(&self) -> Scalar {
        Scalar::new(self.scalar.clone())
    }

    /// Every searcher.
    pub(crate) fn check(&self) -> Tally {
        let mut tally = Tally::default();
        if self.walk.is_empty() {
            return tally;
        }
        if self.graph.n_roles == 1 {
            self.solo(&mut tally);
        }
        self.solver(&mut tally);
        self.exact_player(&mut tally);
        self.alpha_beta(&mut tally);
        self.each_for_itself(&mut tally);
        self.principal(&mut tally);
        self.exploit(&mut tally);
        tally
    }

    /// Asks a player for each role in each state of the walk, and hands each answer on.
    fn ask(&self, player: &mut dyn Player, limits: [u64; 3], mut check: impl FnMut(usize, usize, &Answer)) {
        for &node in &self.walk {
            for role in 0..self.graph.n_roles {
                for nodes in limits {
                    let answer = player.choose(&self.graph.nodes[node].bits, RoleId(role as u32), &Limit::nodes(nodes));
                    check(node, role, &answer);
                }
            }
        }
    }

    /// The best line of one role alone, and that there is none better.
    fn solo(&self, tally: &mut Tally) {
        let best = self.graph.alone();
        let small = solo::Settings { depth: 12, bytes: 1 << 14, width: 8 };
        for (name, settings) in [("solo", solo::Settings::default()), ("solo, small", small)] {
            let mut player = Solo::new(&self.lanes, settings, self.seed);
            self.ask(&mut player, LIMITS, |node, _, answer| {
                tally.ask(name, answer.proven);
                if !answer.proven {
                    return;
                }
                let expected = best[node].map_or(f32::NAN, |best| best as f32 / 100.0);
                let end = answer.line.iter().fold(node, |at, joint| self.graph.follow(at, joint));
                let end = &self.graph.nodes[end];
                let result = end.goals[0].filter(|_| end.is_terminal).map_or(f32::NAN, |goal| goal as f32 / 100.0);
                tally.require(name, same(answer.values[0], expected) && same(result, expected), || {
                    format!("{} with a line to {result} in state {node}; it is {expected}", answer.values[0])
                });
            });
        }
    }

    /// Bounds on what a role can be sure of.
    fn solver(&self, tally: &mut Tally) {
        let symmetric = Keys::symmetric(self.ground, &self.network, &self.scalar, 1);
        for role in 0..self.graph.n_roles {
            let bounds = self.alone_against_all(role);
            for (name, method, keys) in [
                ("solver, depth first", Method::DepthFirst, Keys::default()),
                ("solver, depth first, symmetric", Method::DepthFirst, symmetric.clone()),
                ("solver, proof numbers", Method::ProofNumber, Keys::default()),
                ("solver, proof numbers, symmetric", Method::ProofNumber, symmetric.clone()),
            ] {
                if name.ends_with("symmetric") && keys.is_empty() {
                    continue;
                }
                for bytes in [1 << 10, 1 << 18] {
                    let settings = proof::Settings { method, bytes };
                    let mut solver = Solver::new(self.machine(), keys.clone(), RoleId(role as u32), &settings);
                    for &node in &self.walk {
                        for nodes in LIMITS {
                            let found = solver.solve(&self.graph.nodes[node].bits, &Limit::nodes(nodes));
                            let claim = (found.lower, found.upper, found.stop);
                            let (lower, upper) = bounds[node];
                            tally.ask(name, found.stop.is_none());
                            let within = found.lower <= lower && found.upper >= upper;
                            let exact = found.stop.is_some() || found.lower == found.upper;
                            tally.require(name, within && exact, || {
                                format!("{claim:?} for role {role} in state {node}; it is {lower} to {upper}")
                            });
                            // Whether matches without a result matter is found out for sure.
                            let decided = found.stop != Some(proof::StopReason::Repetition) || lower < upper;
                            tally.require(name, decided || method == Method::ProofNumber, || {
                                format!("role {role} in state {node} depends on repetitions; it is {lower} to {upper}")
                            });
                            let end = found.line.iter().fold(node, |at, joint| self.graph.follow(at, joint));
                            let end = &self.graph.nodes[end];
                            let kept = !end.is_terminal || end.goals[role] == Some(found.lower);
                            tally.require(name, kept, || format!("a line that ends with {:?}: {claim:?}", end.goals));
                        }
                    }
                }
            }
        }
    }

    fn alone_against_all(&self, role: usize) -> Bounds {
        self.graph.sure(role, &(0..self.graph.n_roles).map(|other| other == role).collect::<Vec<bool>>())
    }

    /// The member of the portfolio.
    fn exact_player(&self, tally: &mut Tally) {
        let name = "exact player";
        let settings = proof::Settings { bytes: 1 << 14, ..proof::Settings::default() };
        let bounds: Vec<Bounds> = (0..self.graph.n_roles).map(|role| self.alone_against_all(role)).collect();
        let Some(mut player) = Exact::new(self.scalar.clone(), self.nature.clone(), settings) else { return };
        self.ask(&mut player, LIMITS, |node, role, answer| {
            tally.ask(name, answer.proven);
            if answer.proven {
                self.require_bounds(tally, name, answer, &bounds[role], node, role);
            }
        });
    }

    /// The value of a role, and those of its moves where nobody else chooses, are claimed to be its bounds.
    fn require_bounds(
        &self,
        tally: &mut Tally,
        name: &'static str,
        answer: &Answer,
        bounds: &Bounds,
        node: usize,
        role: usize,
    ) {
        let is = |value: f32, (lower, upper): (i64, i64)| {
            same(value, lower as f32 / 100.0) && same(value, upper as f32 / 100.0)
        };
        if answer.proven {
            let value = answer.values[role];
            tally.require(name, is(value, bounds[node]), || {
                format!("{value} for role {role} in state {node}; it is {:?}", bounds[node])
            });
        }
        self.for_each_proven_move(answer, node, role, |next, value| {
            tally.require(name, is(value, bounds[next]), || {
                format!("{value} for role {role} in state {next} after {node}; it is {:?}", bounds[next])
            });
        });
    }

    /// The moves of a role whose values are claimed to be exact, where nobody else chooses.
    fn for_each_proven_move(&self, answer: &Answer, node: usize, role: usize, mut check: impl FnMut(usize, f32)) {
        let legal = &self.graph.nodes[node].legal;
        if self.graph.nodes[node].choosers().iter().any(|&chooser| chooser != role) {
            return;
        }
        for report in answer.moves.get(role).into_iter().flatten().filter(|report| report.proven) {
            let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
            joint[role] = report.chosen;
            check(self.graph.follow(node, &joint), report.value);
        }
    }

    /// Alpha-beta search in all its ways.
    fn alpha_beta(&self, tally: &mut Tally) {
        let n_roles = self.graph.n_roles;
        let plain = alpha_beta::Settings { bytes: 1 << 14, depth: 40, ..alpha_beta::Settings::default() };
        let paranoid = alpha_beta::Settings { opponents: Opponents::Paranoid, ..plain.clone() };
        let teams = &self.nature.teams;
        let allied = |role: usize| teams.iter().map(|&team| team == teams[role]).collect::<Vec<bool>>();
        let bounds: Vec<Bounds> = (0..n_roles).map(|role| self.graph.sure(role, &allied(role))).collect();
        let is_max_n = n_roles == 2 && !self.nature.constant_sum;
        for (name, settings) in [
            ("alpha-beta", plain.clone()),
            ("alpha-beta, seen", alpha_beta::Settings { simultaneous: Simultaneous::Seen, ..paranoid.clone() }),
            ("alpha-beta, in doubt", alpha_beta::Settings { doubts: true, reductions: true, ..paranoid.clone() }),
            ("alpha-beta, two hands", alpha_beta::Settings { simultaneous: Simultaneous::Seen, ..paranoid.clone() }),
            ("alpha-beta, matrix", alpha_beta::Settings { simultaneous: Simultaneous::Matrix(64), ..paranoid.clone() }),
        ] {
            if name == "alpha-beta" && is_max_n {
                continue;
            }
            let is_matrix = name == "alpha-beta, matrix";
            let mixed = |role: usize| self.graph.mixed(role, &allied(role)).filter(|_| is_matrix);
            let mixed: Vec<Option<Vec<f64>>> = (0..n_roles).map(mixed).collect();
            let simultaneous = settings.simultaneous;
            let mut player = AlphaBeta::new(self.machine(), self.nature.clone(), settings, self.seed);
            if name == "alpha-beta, two hands" {
                player = player.helped_by(self.machine());
            }
            self.ask(&mut player, LIMITS, |node, role, answer| {
                let is_mixed = simultaneous != Simultaneous::Seen && self.is_mixed(node, &allied(role));
                if is_matrix && self.graph.nodes.iter().any(|node| node.choosers().len() > 1) {
                    // Values of mixed moves are known where every match ends.
                    let Some(values) = &mixed[role] else { return };
                    tally.ask(name, answer.proven);
                    let value = values[node] as f32 / 100.0;
                    tally.require(name, !answer.proven || near(answer.values[role], value), || {
                        format!("{} for role {role} in state {node}; it is {value}", answer.values[role])
                    });
                } else if is_mixed {
                    tally.ask(name, answer.proven);
                    let at = &self.graph.nodes[node];
                    let lower = mix(at, &allied(role), |next| bounds[role][next].0 as f64) as f32 / 100.0;
                    let upper = mix(at, &allied(role), |next| bounds[role][next].1 as f64) as f32 / 100.0;
                    let value = answer.values[role];
                    tally.require(name, !answer.proven || near(value, lower) && near(value, upper), || {
                        format!("{value} for role {role} in state {node}; it is {lower} to {upper}")
                    });
                } else {
                    tally.ask(name, answer.proven);
                    self.require_bounds(tally, name, answer, &bounds[role], node, role);
                }
            });
        }
        let settings = alpha_beta::Settings { opponents: Opponents::MaxN, ..plain };
        let name = "alpha-beta, max^n";
        let values: Vec<_> = (0..n_roles).map(|role| self.graph.max_n(Some(role))).collect();
        let mut player = AlphaBeta::new(self.machine(), self.nature.clone(), settings, self.seed);
        self.ask(&mut player, LIMITS, |node, role, answer| {
            tally.ask(name, answer.proven);
            self.require_values(tally, name, answer, &values[role], node, role);
        });
    }

    /// Whether several choose in a state, so few that their moves are mixed.
    fn is_mixed(&self, node: usize, allied: &[bool]) -> bool {
        let legal = &self.graph.nodes[node].legal;
        let all: usize = legal.iter().map(Vec::len).product();
        let ours: usize =
            legal.iter().zip(allied).filter(|(_, allied)| **allied).map(|(moves, _)| moves.len()).product();
        ours > 1 && all > ours && all <= 64
    }

    /// The values of all roles, and those of the moves of one where nobody else chooses, are claimed to be what each gets for itself.
    fn require_values(
        &self,
        tally: &mut Tally,
        name: &'static str,
        answer: &Answer,
        values: &[Option<Vec<i64>>],
        node: usize,
        role: usize,
    ) {
        if answer.proven {
            let right = values[node].as_ref().is_some_and(|values| {
                answer.values.iter().zip(values).all(|(&value, &expected)| same(value, expected as f32 / 100.0))
            });
            tally.require(name, right, || {
                format!("{:?} for role {role} in state {node}; it is {:?}", answer.values, values[node])
            });
        }
        self.for_each_proven_move(answer, node, role, |next, value| {
            let right = values[next].as_ref().is_some_and(|values| same(value, values[role] as f32 / 100.0));
            tally.require(name, right, || {
                format!("{value} for role {role} in state {next} after {node}; it is {:?}", values[next])
            });
        });
    }

    /// Trees in which each role takes what is best for itself.
    fn each_for_itself(&self, tally: &mut Tally) {
        let n_roles = self.graph.n_roles;
        let values = self.graph.max_n(None);
        let best = self.graph.alone();
        let judged = |settings| Uct::new(self.lanes.clone(), settings, self.seed).judging_by(Box::new(Guess(n_roles)));
        let short = uct::Settings { cap: 3, ..uct::Settings::default() };
        let two = Uct::new(self.lanes.clone(), uct::Settings::default(), self.seed).on_threads(2);
        let players: [(&str, Box<dyn Player>); 7] = [
            ("uct", Box::new(Uct::new(self.lanes.clone(), uct::Settings::default(), self.seed))),
            ("uct, strongest", Box::new(Uct::new(self.lanes.clone(), uct::Settings::strongest(), self.seed))),
            ("uct, two hands", Box::new(two)),
            ("uct, short", Box::new(Uct::new(self.lanes.clone(), short, self.seed))),
            ("uct, judging", Box::new(judged(uct::Settings::default()))),
            ("best first", self.best_first(best_first::Settings::default())),
            ("best first, some", self.best_first(best_first::Settings { joint: 2, ..best_first::Settings::default() })),
        ];
        for (name, mut player) in players {
            self.ask(&mut *player, if name.starts_with("best") { FEWER } else { TREES }, |node, role, answer| {
                tally.ask(name, answer.proven);
                if n_roles > 1 {
                    return self.require_values(tally, name, answer, &values, node, role);
                }
                // Alone, a role may know its best result from a match that has it.
                let expected = best[node].map_or(f32::NAN, |best| best as f32 / 100.0);
                tally.require(name, !answer.proven || same(answer.values[0], expected), || {
                    format!("{} in state {node}; it is {expected}", answer.values[0])
                });
            });
        }
    }

    fn best_first(&self, settings: best_first::Settings) -> Box<dyn Player> {
        Box::new(BestFirst::new(self.lanes.clone(), Box::new(Guess(self.graph.n_roles)), settings, self.seed))
    }

    fn principal(&self, tally: &mut Tally) {
        let name = "principal";
        let bounds: Vec<Bounds> = (0..self.graph.n_roles).map(|role| self.alone_against_all(role)).collect();
        let settings = principal::Settings { span: 500, beyond_ends: true, ..principal::Settings::default() };
        self.ask(&mut Principal::new(self.machine(), settings), FEWER, |node, role, answer| {
            tally.ask(name, answer.proven);
            self.require_bounds(tally, name, answer, &bounds[role], node, role);
        });
    }

    fn exploit(&self, tally: &mut Tally) {
        let name = "best answer to chance";
        let found = exploit::against_random(&self.scalar, 50_000);
        tally.ask(name, found.is_some());
        for (role, found) in found.into_iter().flatten().enumerate() {
            let expected = self.graph.against_random(role);
            tally.require(name, expected.is_some_and(|expected| (found - expected).abs() < 1e-9), || {
                format!("{found} for role {role}; it is {expected:?}")
            });
        }
    }
}

/// Exact values differ by no more than rounding.
fn same(one: f32, other: f32) -> bool {
    (one - other).abs() < 1e-4
}

/// Values of mixed moves are rounded at every level.
fn near(one: f32, other: f32) -> bool {
    (one - other).abs() < 5e-3
}

/// Guesses at random, mostly with certainty.
struct Guess(usize);

impl Evaluate for Guess {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        for state in states {
            let mix =
                state.iter().fold(7u64, |mix, word| (mix ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23));
            values.extend((0..self.0).map(|role| [0.0, 1.0, 0.5, 1.0][(mix >> (2 * role)) as usize % 4]));
        }
    }
}
