//! Who plays, and how games went.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use features::structural::fuzzy::text;
use learn::discover::field::{Brain, Field, seed_of};
use learn::discover::hand_made;
use learn::discover::judge::Judge;
use machine::RoleId;
use machine::scalar::{Compiled, Scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::match_play::{self, Work};
use search::principal::plain::Plain;
use search::principal::recursive::Recursive;
use search::principal::{Principal, Settings, Tie};
use search::{Answer, Limit, Player, legal_moves};

/// How somebody chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Chance,
    AlphaBeta,
    Best(Tie),
    Recursive,
}

/// How much a search may do for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Moves ahead, or states opened.
    Span(u64),
    /// States met: all but ends are judged.
    States(u64),
}

/// A player by name: `bfss:20:a`, `bfds@100:b`, `alpha-beta:3:a`, `random`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) method: Method,
    pub(crate) effort: Effort,
    pub(crate) function: String,
}

impl Agent {
    pub(crate) fn new(method: Method, effort: Effort, function: &str) -> Agent {
        Agent { method, effort, function: function.to_owned() }
    }

    pub(crate) fn chance() -> Agent {
        Agent::new(Method::Chance, Effort::Span(0), "")
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.method {
            Method::Chance => return write!(out, "random"),
            Method::AlphaBeta => "alpha-beta",
            Method::Best(Tie::Shallow) => "bfss",
            Method::Best(Tie::Deep) => "bfds",
            Method::Recursive => "rbfms",
        };
        match self.effort {
            Effort::Span(span) => write!(out, "{name}:{span}:{}", self.function),
            Effort::States(n) => write!(out, "{name}@{n}:{}", self.function),
        }
    }
}

impl FromStr for Agent {
    type Err = String;

    fn from_str(text: &str) -> Result<Agent, String> {
        if text == "random" {
            return Ok(Agent::chance());
        }
        let problem =
            || format!("`{text}` is no player; write for example bfss:20:a, bfds@100:b, alpha-beta:3:a, random");
        let (front, function) = text.rsplit_once(':').ok_or_else(problem)?;
        let (name, number) = front.split_once([':', '@']).ok_or_else(problem)?;
        let number: u64 = number.parse().map_err(|_| problem())?;
        let method = match name {
            "alpha-beta" => Method::AlphaBeta,
            "bfss" => Method::Best(Tie::Shallow),
            "bfds" => Method::Best(Tie::Deep),
            "rbfms" => Method::Recursive,
            _ => return Err(problem()),
        };
        let effort = if front.contains('@') { Effort::States(number) } else { Effort::Span(number) };
        if method == Method::AlphaBeta && effort == Effort::States(number) {
            return Err("alpha-beta has a depth, no number of states".to_owned());
        }
        Ok(Agent::new(method, effort, function))
    }
}

/// A game to be played.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    /// The two sides.
    pub(crate) agents: [Agent; 2],
    /// Which of them has the role that moves first.
    pub(crate) first: usize,
    /// Moves by chance that it begins with; the number decides which.
    pub(crate) opening: (u32, u64),
    /// All other chance.
    pub(crate) seed: u64,
}

/// How a game went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Played {
    /// The first side's points: 2 for a win, 1 for a draw.
    pub(crate) points: u32,
    /// What each side did.
    pub(crate) work: [Work; 2],
}

/// Where games are played.
pub(crate) struct Ground {
    pub(crate) field: Field,
    machine: Arc<Compiled>,
    brains: BTreeMap<String, Brain>,
    /// The role that moves first.
    beginner: usize,
    threads: usize,
}

impl Ground {
    /// With further functions, by their names and the files that they are in.
    pub(crate) fn new(field: Field, threads: usize, files: &[(&str, &str)]) -> Result<Ground, String> {
        let machine = Compiled::new(field.game.circuit.network.clone());
        let other = |terms: &str| {
            let function = text::function(&format!("game checkers phase 0 {{ {terms} }}"))?;
            Brain::new(&function, &field.vocabulary)
        };
        let known = [
            ("a", hand_made::weighted(&field)?),
            ("b", hand_made::uniform(&field)?),
            ("count", other("1 * ({o*,O*}@all)")?),
            ("none", other("")?),
        ];
        let mut brains = BTreeMap::from(known.map(|(name, brain)| (name.to_owned(), brain)));
        for &(name, file) in files {
            let text = std::fs::read_to_string(file).map_err(|problem| format!("{file}: {problem}"))?;
            brains.insert(name.to_owned(), Brain::new(&text::function(&text)?, &field.vocabulary)?);
        }
        let legal = legal_moves(&Scalar::new(machine.clone()));
        let beginner = legal.iter().position(|moves| moves.len() > 1).ok_or("nobody has a choice at first")?;
        Ok(Ground { field, machine, brains, beginner, threads })
    }

    /// Plays games; which thread plays which changes nothing. `tell` hears how many are over.
    pub(crate) fn play(&self, fixtures: &[Fixture], tell: impl Fn(usize) + Sync) -> Result<Vec<Played>, String> {
        for agent in fixtures.iter().flat_map(|fixture| &fixture.agents) {
            if agent.method != Method::Chance && !self.brains.contains_key(&agent.function) {
                let known: Vec<&str> = self.brains.keys().map(String::as_str).collect();
                return Err(format!("there is no function `{}`; there are {}", agent.function, known.join(", ")));
            }
        }
        let n_over = AtomicUsize::new(0);
        let one = |machine: &mut Scalar, number: u32| {
            let played = self.game(machine, &fixtures[number as usize]);
            tell(n_over.fetch_add(1, Ordering::Relaxed) + 1);
            Some(played)
        };
        let start = || Scalar::new(self.machine.clone());
        Ok(match_play::on_threads(0..fixtures.len() as u32, self.threads, start, one))
    }

    fn game(&self, machine: &mut Scalar, fixture: &Fixture) -> Played {
        let (length, number) = fixture.opening;
        let opening = match_play::opening(machine, length, &mut Pcg64Mcg::seed_from_u64(number));
        // The side that plays each role.
        let side = |role: usize| if role == self.beginner { fixture.first } else { 1 - fixture.first };
        let mut players = [0, 1].map(|role| self.seat(&fixture.agents[side(role)], seed_of(fixture.seed, role)));
        let [one, other] = &mut players;
        let mut seats: [&mut dyn Player; 2] = [one, other];
        let played = match_play::play(machine, &mut seats, &opening, usize::MAX, &mut |_, choose| {
            choose(&Limit::nodes(u64::MAX))
        });
        let role = usize::from(side(0) != 0);
        let goal = |role: usize| played.goals[role].unwrap_or(0);
        let points = match goal(role).cmp(&goal(1 - role)) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 2,
        };
        Played { points, work: [played.work[role], played.work[1 - role]] }
    }

    fn seat<'a>(&'a self, agent: &Agent, seed: u64) -> Seat<'a> {
        let judge = || Judge::new(&self.field, self.machine.clone(), &self.brains[&agent.function]);
        let (span, nodes) = match agent.effort {
            Effort::Span(span) => (span, u64::MAX),
            Effort::States(n) => (u64::MAX - 1, n),
        };
        let search: Option<Box<dyn Player + 'a>> = match agent.method {
            Method::Chance => None,
            Method::AlphaBeta => Some(Box::new(Plain::new(judge(), span as u32))),
            Method::Best(tie) => Some(Box::new(Principal::new(judge(), Settings { tie, span, ..Settings::default() }))),
            Method::Recursive => Some(Box::new(Recursive::new(judge(), span))),
        };
        Seat { machine: Scalar::new(self.machine.clone()), search, nodes, random: Pcg64Mcg::seed_from_u64(seed) }
    }
}

/// A player who takes a win at once, and else searches or leaves it to chance.
struct Seat<'a> {
    machine: Scalar,
    search: Option<Box<dyn Player + 'a>>,
    nodes: u64,
    random: Pcg64Mcg,
}

impl Player for Seat<'_> {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.machine.jump(state);
        let legal = legal_moves(&self.machine);
        let own = role.0 as usize;
        let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
        for &chosen in &legal[own] {
            joint[own] = chosen;
            self.machine.make(&joint);
            let wins = self.machine.terminal() && self.machine.goal(role) == Some(100);
            self.machine.unmake();
            if wins {
                return Answer { joint, ..Answer::default() };
            }
        }
        match &mut self.search {
            Some(search) => search.choose(state, role, &Limit { nodes: self.nodes.min(limit.nodes), stop: limit.stop }),
            None => {
                joint[own] = legal[own][self.random.random_range(0..legal[own].len())];
                Answer { joint, ..Answer::default() }
            }
        }
    }
}
