//! Random matches, and what is seen in them.
//!
//! On a network, 512 matches are played at once, round by round: a round ends when all of its matches are over, so that long
//! matches count as often as short ones. Some moments are kept as a whole ([`Batch`]) for the tests of hypotheses; what
//! needs every moment (lengths, numbers of moves, results) is counted on the way.
//!
//! Now and then a role's move is exchanged for another legal one, and the next state is compared with what it would have
//! been: this shows which role's doing a change was.

use gdl::datalog::Limits;
use gdl::{Database, Relation, Stop, TermId, keyword};
use machine::RoleId;
use machine::lanes::{self, LANES, Lanes, Random, Vector};
use machine::network::Wire;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::universe::{Circuit, Universe};
use gdl::program::Program;

/// How much is played.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Rounds of 512 matches.
    pub rounds: u32,
    /// Joint moves in a match; longer ones are given up.
    pub plies: u32,
    /// Gates evaluated, 512 lanes counting as one.
    pub gates: u64,
    /// Bytes of kept moments.
    pub bytes: usize,
    /// States visited where there is no network.
    pub states: usize,
    /// Ends play before its time; what was seen until then counts.
    pub stop: Stop,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { rounds: 8, plies: 500, gates: 150_000_000, bytes: 64 << 20, states: 1_000, stop: Stop::never() }
    }
}

/// Up to 512 moments of different matches, one bit each.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The lanes that hold a state of a match.
    pub live: Vector,
    /// Those in which the match is over.
    pub terminal: Vector,
    /// Where each fluent holds.
    pub fluents: Vec<Vector>,
    /// Where each move is legal; where the match is over, this says nothing.
    pub legal: Vec<Vector>,
    /// Where each move is made; where the match is over, this says nothing.
    pub made: Vec<Vector>,
    /// Where each fluent holds next; where the match is over, this says nothing.
    pub next: Vec<Vector>,
    /// Where each goal value holds; where the match goes on, this says nothing.
    pub goals: Vec<Vector>,
}

/// A mean with what is needed for its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    n: u64,
    sum: f64,
    squares: f64,
}

impl Mean {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.n += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds a value many times.
    pub fn add_many(&mut self, value: f64, times: u64) {
        self.n += times;
        self.sum += value * times as f64;
        self.squares += value * value * times as f64;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// The mean; 0 without values.
    pub fn value(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum / self.n as f64 }
    }

    /// Half the width of its 95 % confidence interval.
    pub fn margin(&self) -> f64 {
        if self.n < 2 {
            return f64::INFINITY;
        }
        let n = self.n as f64;
        let variance = ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0);
        1.96 * (variance / n).sqrt()
    }
}

/// What was seen in random matches.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Moments as a whole.
    pub batches: Vec<Batch>,
    /// States visited.
    pub n_states: u64,
    /// Matches played to their end.
    pub n_matches: u64,
    /// Matches given up: too long, or a role without a legal move.
    pub n_given_up: u64,
    /// Whether matches were cut short by the budget, so that the numbers below lean to short ones.
    pub cut_short: bool,
    /// The length of matches.
    pub length: Mean,
    /// The shortest and the longest match.
    pub lengths: Option<(u32, u32)>,
    /// The legal moves of a role that has a choice, averaged over a match.
    pub branching: Mean,
    /// The most legal moves that a role ever had.
    pub max_moves: u32,
    /// Each role's result.
    pub results: Vec<Mean>,
    /// For each role and fluent, how often the fluent came to hold, and would not have by another move of the role.
    pub caused: Vec<Vec<u64>>,
    /// For each role and fluent, how often the fluent ceased to hold, and would not have by another move of the role.
    pub ended: Vec<Vec<u64>>,
    /// For each fluent, in how many states it held.
    pub held: Vec<u64>,
    /// How often each move was made.
    pub made: Vec<u64>,
    /// How often each outcome was seen: a result for each role, `None` where the rules give none.
    pub outcomes: BTreeMap<Vec<Option<i64>>, u64>,
}

impl Samples {
    /// How many states are kept.
    pub fn n_kept(&self) -> u64 {
        self.batches.iter().map(|batch| u64::from(batch.live.count())).sum()
    }
}

/// Plays random matches on a network.
pub fn play(universe: &Universe, circuit: &Circuit, budget: &Budget, seed: u64) -> Samples {
    let mut player = Player::new(universe, circuit, budget, seed);
    let n_gates = circuit.network.n_edges() as u64 + 1;
    let mut gates_left = budget.gates;
    for round in 0..budget.rounds {
        let more = player.round(&mut gates_left, n_gates, round == 0);
        if !more || gates_left < n_gates * u64::from(player.longest) || budget.stop.is_raised() {
            break;
        }
    }
    player.samples
}

struct Player<'a> {
    universe: &'a Universe,
    circuit: &'a Circuit,
    budget: &'a Budget,
    lanes: Lanes,
    random: Random,
    /// For choosing which moments to keep.
    picks: u64,
    n_seen: u64,
    max_batches: usize,
    longest: u32,
    samples: Samples,
}

impl<'a> Player<'a> {
    fn new(universe: &'a Universe, circuit: &'a Circuit, budget: &'a Budget, seed: u64) -> Player<'a> {
        let lanes = Lanes::new(lanes::Compiled::new(circuit.network.clone()));
        let (n_roles, n_fluents, n_moves) = (universe.roles.len(), universe.fluents.len(), universe.moves.len());
        let vectors = 2 * n_fluents + 2 * n_moves + universe.goals.len() + 2;
        let max_batches = (budget.bytes / (vectors * size_of::<Vector>())).clamp(8, 128);
        let samples = Samples {
            results: vec![Mean::default(); n_roles],
            caused: vec![vec![0; n_fluents]; n_roles],
            ended: vec![vec![0; n_fluents]; n_roles],
            held: vec![0; n_fluents],
            made: vec![0; n_moves],
            ..Samples::default()
        };
        let random = lanes::random(seed);
        Player { universe, circuit, budget, lanes, random, picks: seed, n_seen: 0, max_batches, longest: 0, samples }
    }

    /// Plays a match in every lane. Whether another round makes sense.
    fn round(&mut self, gates_left: &mut u64, n_gates: u64, first: bool) -> bool {
        let n_roles = self.universe.roles.len();
        self.lanes.reset(Vector::ONES);
        let mut live = Vector::ONES;
        let mut moves_in_match = vec![(0u64, 0u64); LANES];
        for ply in 0..=self.budget.plies {
            if (*gates_left < n_gates || self.budget.stop.is_raised()) && ply > 0 {
                self.samples.cut_short = true;
                return false;
            }
            *gates_left = gates_left.saturating_sub(n_gates);
            self.lanes.evaluate();
            let over = self.lanes.lanes_where(self.circuit.network.terminal) & live;
            // Step 1. Score the matches that are over.
            if !over.is_zero() {
                self.lanes.evaluate_goals();
                self.score(over, ply, &moves_in_match);
            }
            let on = live & !over;
            self.samples.n_states += u64::from(live.count());
            self.count_moves(on, &mut moves_in_match);
            for (held, &wire) in self.samples.held.iter_mut().zip(&self.circuit.fluents) {
                *held += u64::from((fluent(&self.lanes, wire) & live).count());
            }
            // Step 2. Choose.
            let mut stuck = Vector::ZERO;
            for role in 0..n_roles as u32 {
                stuck = stuck | self.lanes.choose(&mut self.random, RoleId(role));
            }
            stuck = stuck & on;
            let on = on & !stuck;
            self.samples.n_given_up += u64::from(stuck.count());
            for (chosen, made) in self.samples.made.iter_mut().enumerate() {
                *made += u64::from((self.lanes.is_made(chosen as u32) & on).count());
            }
            // Step 3. Keep the moment, perhaps, and ask what other moves would have done.
            if self.wants() {
                *gates_left = gates_left.saturating_sub(n_gates * n_roles as u64);
                self.keep(live, over, on);
            }
            if on.is_zero() {
                self.longest = self.longest.max(ply);
                return true;
            }
            self.lanes.advance();
            live = on;
        }
        self.longest = self.budget.plies;
        self.samples.n_given_up += u64::from(live.count());
        // Matches without end: one round is enough.
        !first || live.count() < LANES as u32 / 2
    }

    fn score(&mut self, over: Vector, ply: u32, moves_in_match: &[(u64, u64)]) {
        let network = &self.circuit.network;
        let goals: Vec<Vector> = network.goals.iter().map(|&(_, _, wire)| self.lanes.lanes_where(wire)).collect();
        let n_roles = self.samples.results.len();
        for lane in (0..LANES).filter(|&lane| over.get(lane)) {
            let samples = &mut self.samples;
            samples.n_matches += 1;
            samples.length.add(f64::from(ply));
            let (shortest, longest) = samples.lengths.unwrap_or((ply, ply));
            samples.lengths = Some((shortest.min(ply), longest.max(ply)));
            let (sum, n) = moves_in_match[lane];
            if n > 0 {
                samples.branching.add(sum as f64 / n as f64);
            }
            let mut results: Vec<Option<i64>> = vec![None; n_roles];
            for (&(role, value, _), holds) in network.goals.iter().zip(&goals) {
                if holds.get(lane) {
                    results[role as usize] = Some(value);
                }
            }
            for (mean, value) in samples.results.iter_mut().zip(&results) {
                value.iter().for_each(|&value| mean.add(value as f64));
            }
            *samples.outcomes.entry(results).or_default() += 1;
        }
    }

    fn count_moves(&mut self, on: Vector, moves_in_match: &mut [(u64, u64)]) {
        let network = &self.circuit.network;
        for range in &network.moves_of {
            let mut counts = [0u32; LANES];
            for chosen in range.clone() {
                let legal = self.lanes.lanes_where(network.legal[chosen as usize]) & on;
                for (word, &bits) in legal.0.iter().enumerate() {
                    let mut bits = bits;
                    while bits != 0 {
                        counts[word * 64 + bits.trailing_zeros() as usize] += 1;
                        bits &= bits - 1;
                    }
                }
            }
            for (lane, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
                self.samples.max_moves = self.samples.max_moves.max(count);
                if count > 1 {
                    moves_in_match[lane].0 += u64::from(count);
                    moves_in_match[lane].1 += 1;
                }
            }
        }
    }

    /// Whether this moment is kept: a reservoir of moments, each as likely as any other.
    fn wants(&mut self) -> bool {
        self.n_seen += 1;
        self.samples.batches.len() < self.max_batches || self.pick(self.n_seen) < self.max_batches as u64
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.picks = self.picks.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.picks >> 33) % below
    }

    fn keep(&mut self, live: Vector, terminal: Vector, on: Vector) {
        let (n_moves, circuit) = (self.universe.moves.len() as u32, self.circuit);
        let network = &circuit.network;
        let fluents: Vec<Vector> = circuit.fluents.iter().map(|&wire| fluent(&self.lanes, wire)).collect();
        let legal: Vec<Vector> = network.legal.iter().map(|&wire| self.lanes.lanes_where(wire)).collect();
        let made: Vec<Vector> = (0..n_moves).map(|chosen| self.lanes.is_made(chosen)).collect();
        let goals = if terminal.is_zero() {
            vec![Vector::ZERO; network.goals.len()]
        } else {
            network.goals.iter().map(|&(_, _, wire)| self.lanes.lanes_where(wire)).collect()
        };
        let next = next(&mut self.lanes, circuit);
        for role in 0..network.moves_of.len() {
            if self.budget.stop.is_raised() {
                break;
            }
            let range = network.moves_of[role].clone();
            self.lanes.choose(&mut self.random, RoleId(role as u32));
            let other = self::next(&mut self.lanes, circuit);
            for (index, ((&before, &after), &instead)) in fluents.iter().zip(&next).zip(&other).enumerate() {
                let differs = (after ^ instead) & on;
                self.samples.caused[role][index] += u64::from((differs & after & !before).count());
                self.samples.ended[role][index] += u64::from((differs & !after & before).count());
            }
            range.for_each(|chosen| self.lanes.set_move(chosen, made[chosen as usize]));
        }
        let batch = Batch { live, terminal, fluents, legal, made, next, goals };
        if self.samples.batches.len() < self.max_batches {
            self.samples.batches.push(batch);
        } else {
            // The first one, the initial state, stays.
            let place = 1 + self.pick(self.max_batches as u64 - 1) as usize;
            self.samples.batches[place] = batch;
        }
    }
}

fn fluent(lanes: &Lanes, wire: Wire) -> Vector {
    let value = if wire.gate() == 0 { Vector::ZERO } else { lanes.fluent(wire.gate() - 1) };
    if wire.is_inverted() { !value } else { value }
}

/// Where each fluent of the universe holds next.
fn next(lanes: &mut Lanes, circuit: &Circuit) -> Vec<Vector> {
    let next = lanes.peek();
    let value = |&wire: &Wire| {
        let value = if wire.gate() == 0 { Vector::ZERO } else { next[wire.gate() as usize - 1] };
        if wire.is_inverted() { !value } else { value }
    };
    // A fluent is the same function of the network's fluents in every state.
    circuit.fluents.iter().map(value).collect()
}

const ROLE: Relation = Relation { name: keyword::ROLE, arity: 1 };
const INIT: Relation = Relation { name: keyword::INIT, arity: 1 };
const NEXT: Relation = Relation { name: keyword::NEXT, arity: 1 };
const LEGAL: Relation = Relation { name: keyword::LEGAL, arity: 2 };
const GOAL: Relation = Relation { name: keyword::GOAL, arity: 2 };
const TERMINAL: Relation = Relation { name: keyword::TERMINAL, arity: 0 };

/// A moment of a match, by the reference evaluation.
struct Moment {
    state: Vec<TermId>,
    terminal: bool,
    legal: Vec<(TermId, TermId)>,
    made: Vec<(TermId, TermId)>,
    next: Vec<TermId>,
    goals: Vec<(TermId, i64)>,
}

/// Plays random matches by evaluating the rules as they stand, and lists what was met.
pub fn play_slowly(
    program: &Arc<Program>,
    budget: &Budget,
    seed: u64,
    limits: &Limits,
) -> Result<(Universe, Samples), String> {
    let fails = |exceeded: gdl::datalog::Exceeded| exceeded.to_string();
    let mut database =
        Database::new(program.clone(), limits.clone()).map_err(|_| "the rules can't be evaluated".to_owned())?;
    let roles: Vec<TermId> = database.facts(ROLE).map_err(fails)?.iter().map(|row| row[0]).collect();
    let mut pick = seed | 1;
    let mut pick = |below: usize| {
        pick = pick.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (pick >> 33) as usize % below
    };
    let mut samples = Samples { results: vec![Mean::default(); roles.len()], ..Samples::default() };
    let initial: Vec<TermId> = database.facts(INIT).map_err(fails)?.iter().map(|row| row[0]).collect();
    // Step 1. Play, and remember each moment. A match may leave none, if a role has no move at the beginning; so matches are
    // counted, too. What a moment has takes a few words here, and later a vector for each kind of fluent and move.
    let mut moments: Vec<Moment> = Vec::new();
    let mut n_terms = 0;
    let max_terms = budget.bytes / (2 * size_of::<Vector>());
    let mut play = || -> Result<(), String> {
        for _ in 0..budget.states {
            if moments.len() >= budget.states || n_terms > max_terms || budget.stop.is_raised() {
                break;
            }
            let mut state = initial.clone();
            let (mut sum, mut n) = (0, 0);
            let mut ply = 0;
            loop {
                database.set_state(&state);
                let terminal = database.holds_any(TERMINAL).map_err(fails)?;
                n_terms += state.len();
                let mut moment =
                    Moment { state: state.clone(), terminal, legal: vec![], made: vec![], next: vec![], goals: vec![] };
                if terminal {
                    let rows = database.facts(GOAL).map_err(fails)?;
                    let value = |term| database.terms.display(&program.symbols, term).to_string().parse().ok();
                    moment.goals = rows.iter().filter_map(|row| Some((row[0], value(row[1])?))).collect();
                    samples.n_matches += 1;
                    samples.length.add(f64::from(ply));
                    let (shortest, longest) = samples.lengths.unwrap_or((ply, ply));
                    samples.lengths = Some((shortest.min(ply), longest.max(ply)));
                    if n > 0 {
                        samples.branching.add(f64::from(sum) / f64::from(n));
                    }
                    for (mean, role) in samples.results.iter_mut().zip(&roles) {
                        moment.goals.iter().filter(|goal| goal.0 == *role).for_each(|goal| mean.add(goal.1 as f64));
                    }
                    let result = |role: &TermId| moment.goals.iter().find(|goal| goal.0 == *role).map(|goal| goal.1);
                    *samples.outcomes.entry(roles.iter().map(result).collect()).or_default() += 1;
                    moments.push(moment);
                    break;
                }
                moment.legal = database.facts(LEGAL).map_err(fails)?.iter().map(|row| (row[0], row[1])).collect();
                let mut by_role: FxHashMap<TermId, Vec<(TermId, TermId)>> = FxHashMap::default();
                moment.legal.iter().for_each(|&chosen| by_role.entry(chosen.0).or_default().push(chosen));
                for role in &roles {
                    let own = by_role.remove(role).unwrap_or_default();
                    samples.max_moves = samples.max_moves.max(own.len() as u32);
                    if own.len() > 1 {
                        (sum, n) = (sum + own.len() as u32, n + 1);
                    }
                    if !own.is_empty() {
                        moment.made.push(own[pick(own.len())]);
                    }
                }
                n_terms += moment.legal.len();
                let is_enough = moments.len() >= budget.states || n_terms > max_terms || budget.stop.is_raised();
                if moment.made.len() < roles.len() || ply >= budget.plies || is_enough {
                    samples.n_given_up += 1;
                    break;
                }
                database.set_moves(&moment.made);
                moment.next = database.facts(NEXT).map_err(fails)?.iter().map(|row| row[0]).collect();
                state.clone_from(&moment.next);
                moments.push(moment);
                ply += 1;
            }
        }
        Ok(())
    };
    // What was seen before the rules became too hard counts.
    if let Err(reason) = play() {
        if moments.is_empty() {
            return Err(reason);
        }
        samples.cut_short = true;
    }
    samples.n_states = moments.len() as u64;
    // Step 2. List what was met.
    let mut universe = Universe {
        program: program.clone(),
        symbols: program.symbols.clone(),
        terms: database.terms.clone(),
        roles,
        fluents: Vec::new(),
        initial: Vec::new(),
        moves: Vec::new(),
        goals: Vec::new(),
        statics: Vec::new(),
        too_large: Vec::new(),
    };
    universe.list_statics(&mut database);
    let numbers: FxHashMap<TermId, u32> = universe.roles.iter().copied().zip(0..).collect();
    let role = |term: TermId| numbers.get(&term).copied().unwrap_or(0);
    let mut fluents: Vec<TermId> =
        moments.iter().flat_map(|moment| moment.state.iter().chain(&moment.next)).copied().collect();
    fluents.sort_unstable();
    fluents.dedup();
    let mut moves: Vec<(u32, TermId)> =
        moments.iter().flat_map(|moment| &moment.legal).map(|&(of, chosen)| (role(of), chosen)).collect();
    moves.sort_unstable();
    moves.dedup();
    let mut goals: Vec<(u32, i64)> =
        moments.iter().flat_map(|moment| &moment.goals).map(|&(of, value)| (role(of), value)).collect();
    goals.sort_unstable();
    goals.dedup();
    let fluent_index: FxHashMap<TermId, usize> = fluents.iter().copied().zip(0..).collect();
    let move_index: FxHashMap<(u32, TermId), usize> = moves.iter().copied().zip(0..).collect();
    let goal_index: FxHashMap<(u32, i64), usize> = goals.iter().copied().zip(0..).collect();
    // Step 3. Pack the moments.
    samples.held = vec![0; fluents.len()];
    samples.made = vec![0; moves.len()];
    for chunk in moments.chunks(LANES) {
        let mut batch = Batch {
            live: Vector::ZERO,
            terminal: Vector::ZERO,
            fluents: vec![Vector::ZERO; fluents.len()],
            legal: vec![Vector::ZERO; moves.len()],
            made: vec![Vector::ZERO; moves.len()],
            next: vec![Vector::ZERO; fluents.len()],
            goals: vec![Vector::ZERO; goals.len()],
        };
        for (lane, moment) in chunk.iter().enumerate() {
            batch.live.set(lane, true);
            batch.terminal.set(lane, moment.terminal);
            for fluent in &moment.state {
                samples.held[fluent_index[fluent]] += 1;
                batch.fluents[fluent_index[fluent]].set(lane, true);
            }
            moment.next.iter().for_each(|fluent| batch.next[fluent_index[fluent]].set(lane, true));
            moment.legal.iter().for_each(|&(of, chosen)| batch.legal[move_index[&(role(of), chosen)]].set(lane, true));
            for &(of, chosen) in &moment.made {
                samples.made[move_index[&(role(of), chosen)]] += 1;
                batch.made[move_index[&(role(of), chosen)]].set(lane, true);
            }
            for &(of, value) in &moment.goals {
                batch.goals[goal_index[&(role(of), value)]].set(lane, true);
            }
        }
        samples.batches.push(batch);
    }
    samples.caused = vec![vec![0; fluents.len()]; universe.roles.len()];
    samples.ended = samples.caused.clone();
    let initial: FxHashSet<TermId> = initial.into_iter().collect();
    universe.initial = fluents.iter().map(|fluent| initial.contains(fluent)).collect();
    (universe.fluents, universe.moves, universe.goals) = (fluents, moves, goals);
    Ok((universe, samples))
}
