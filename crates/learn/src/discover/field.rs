//! Matches between evaluation functions in the feature language, many at a time.
//!
//! Players look one move ahead: they take the move into the position that their function likes best, any of several by
//! chance. Or they search: best-first, opening so many positions ([`Brain::searching`]). Up to 512 matches go on side by side,
//! and what their players look at is seen 512 positions at a time. Each match has a seed of its own, so that it does not matter
//! how many are played together.

use std::ops::Range;
use std::sync::Arc;

use features::game::Game;
use features::structural::effects;
use features::structural::fuzzy::compile::{Compiled, End, Position};
use features::structural::fuzzy::{Cardinalities, Function, Vocabulary};
use features::structural::squares::{self, Observer, Sight, Squares, StateId};
use insight::structure::turn::Kind;
use machine::lanes::{self, LANES, Lanes, Vector};
use machine::network::{Network, Wire};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::principal::{self, Met, Tree};

use super::judge::opinion;
use super::label::Line;
use super::swarm::{Outcome, Referee};

/// A game for two with a board that both see alike.
pub struct Field {
    /// The game.
    pub game: Arc<Game>,
    /// What can be seen of the squares.
    pub squares: Squares,
    /// What names mean.
    pub vocabulary: Vocabulary,
    pub(super) compiled: Arc<lanes::Compiled>,
    plies: u32,
    pub(super) threads: usize,
}

/// How a field is prepared.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Chance of the first matches.
    pub seed: u64,
    /// Random matches from which it is learned what can be counted at most.
    pub matches: usize,
    /// Joint moves in a match; longer ones are drawn.
    pub plies: u32,
    /// Threads; they change nothing in the results.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { seed: 1, matches: 4_096, plies: 400, threads: 1 }
    }
}

/// A function with weights of its own, ready to judge.
#[derive(Clone)]
pub struct Brain {
    compiled: Arc<Compiled>,
    /// For each phase with terms, its first weight, and how many there are.
    spans: Arc<Vec<(u32, usize, usize)>>,
    weights: Vec<f64>,
    /// How many positions it opens for a move; nothing if it looks one move ahead.
    span: Option<u64>,
}

impl Brain {
    /// Prepares a function; its weights are those it is written with.
    ///
    /// # Errors
    /// What the function says that means nothing.
    pub fn new(function: &Function, vocabulary: &Vocabulary) -> Result<Brain, String> {
        let (mut spans, mut weights) = (Vec::new(), Vec::new());
        for (phase, terms) in function.phases.iter().filter(|(_, terms)| !terms.is_empty()) {
            spans.push((*phase, weights.len(), terms.len()));
            weights.extend(terms.iter().map(|(weight, _)| weight));
        }
        let compiled = Arc::new(Compiled::new(function, vocabulary)?);
        Ok(Brain { compiled, spans: Arc::new(spans), weights, span: None })
    }

    /// The same with other weights.
    pub fn with_weights(&self, weights: &[f64]) -> Brain {
        assert_eq!(weights.len(), self.weights.len(), "a weight for each term");
        Brain { weights: weights.to_vec(), ..self.clone() }
    }

    /// The same, playing by best-first search that opens so many positions besides the first (Duminy's BFSS); or one move ahead.
    pub fn searching(self, span: Option<u64>) -> Brain {
        Brain { span, ..self }
    }

    /// How many terms there are.
    pub fn n_terms(&self) -> usize {
        self.weights.len()
    }

    /// What it expects where the squares are seen in these states, for the one who looks.
    pub fn think(&self, vocabulary: &Vocabulary, seen: &[StateId]) -> f64 {
        self.judge(&Position::new(vocabulary, seen), vocabulary.phase(seen))
    }

    /// What it expects in a position of a phase for the one who looks.
    pub fn judge(&self, position: &Position, phase: u32) -> f64 {
        let Some(terms) = self.terms_at(phase) else { return 0.5 };
        let weights = &self.weights[terms];
        let sum = |flipped: bool| -> f64 {
            let terms = self.compiled.terms(position, phase, flipped);
            terms.iter().zip(weights).map(|(value, weight)| value * weight).sum()
        };
        self.compiled.output().value(sum(false), sum(true))
    }

    /// The terms that count in a phase, as places among all; nothing if there are none.
    pub fn terms_at(&self, phase: u32) -> Option<Range<usize>> {
        let near = self.spans.iter().min_by_key(|(other, ..)| (other.abs_diff(phase), *other));
        near.map(|&(_, first, n)| first..first + n)
    }

    /// The values of the terms that count where the squares are seen in these states, for the one who looks and for the other
    /// side.
    pub fn terms(&self, vocabulary: &Vocabulary, seen: &[StateId]) -> [Vec<f64>; 2] {
        let (position, phase) = (Position::new(vocabulary, seen), vocabulary.phase(seen));
        [false, true].map(|flipped| self.compiled.terms(&position, phase, flipped))
    }
}

/// A match to be played.
#[derive(Clone, Copy)]
pub struct Fixture<'a> {
    /// Who plays each role; nobody plays by chance.
    pub players: [Option<&'a Brain>; 2],
    /// All other chance comes from this.
    pub seed: u64,
    /// What it begins with.
    pub opening: Opening,
    /// The part of the moves after that which players leave to chance.
    pub stray: f64,
}

/// Moves by chance at the beginning of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// How many.
    pub plies: u32,
    /// Which ones.
    pub seed: u64,
}

impl Field {
    /// Prepares a game.
    ///
    /// # Errors
    /// Why the game is not of the kind that can be learned here.
    pub fn new(game: Arc<Game>, settings: &Settings) -> Result<Field, String> {
        if game.universe.roles.len() != 2 || game.structure.turns.kind != Kind::TurnTaking {
            return Err("this needs a game in which two roles take turns".to_owned());
        }
        if game.structure.boards.is_empty() {
            return Err("this needs a game with a board".to_owned());
        }
        let mirror = squares::mirror(&game, 0, settings.seed).ok_or("the two roles do not see the board alike")?;
        let squares = squares::find(&game, 0, Some(mirror), &effects::Budget::default())?;
        let none = Cardinalities::none(&squares);
        let vocabulary = Vocabulary::new(&game, &squares, none);
        let compiled = lanes::Compiled::new(game.circuit.network.clone());
        let (plies, threads) = (settings.plies, settings.threads.max(1));
        let mut field = Field { game, squares, vocabulary, compiled, plies, threads };
        let by_chance: Vec<Fixture> =
            (0..settings.matches).map(|number| field.by_chance(settings.seed, number)).collect();
        let mut bounds = field.vocabulary.cardinalities.clone();
        for line in field.play(&by_chance, true) {
            for (_, states) in &line.seen {
                bounds.include(states);
                bounds.include(&field.vocabulary.flip_position(states));
            }
        }
        field.vocabulary.cardinalities = bounds;
        Ok(field)
    }

    /// A match by chance alone.
    pub fn by_chance(&self, seed: u64, number: usize) -> Fixture<'static> {
        Fixture { players: [None, None], seed: seed_of(seed, number), opening: Opening::default(), stray: 0.0 }
    }

    /// Plays matches. The positions that were seen are recorded if that is wanted.
    pub fn play(&self, fixtures: &[Fixture], record: bool) -> Vec<Line> {
        let per_thread = fixtures.len().div_ceil(self.threads).clamp(1, LANES);
        let chunks: Vec<&[Fixture]> = fixtures.chunks(per_thread).collect();
        let work = |first: usize| -> Vec<(usize, Vec<Line>)> {
            let mut table = Table::new(self);
            let own = (first..chunks.len()).step_by(self.threads);
            own.map(|chunk| (chunk, table.play(chunks[chunk], record))).collect()
        };
        let work = &work;
        let mut all: Vec<(usize, Vec<Line>)> = if self.threads == 1 {
            work(0)
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..self.threads).map(|first| scope.spawn(move || work(first))).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("matches do not panic")).collect()
            })
        };
        all.sort_by_key(|(chunk, _)| *chunk);
        all.into_iter().flat_map(|(_, lines)| lines).collect()
    }

    /// Plays matches of two games each between brains. Both games of a match begin with the same moves by chance, as many as
    /// are said.
    pub fn matches<'a>(&self, pairs: &[[&'a Brain; 2]], plies: u32, seed: u64) -> Vec<Outcome> {
        let fixture = |(number, &[one, other]): (usize, &[&'a Brain; 2])| {
            let players = [[Some(one), Some(other)], [Some(other), Some(one)]];
            let opening = Opening { plies, seed: seed_of(seed ^ 0x09e4, number) };
            let seeds = [0, 1].map(|game| seed_of(seed, 2 * number + game));
            [0, 1].map(|game| Fixture { players: players[game], seed: seeds[game], opening, stray: 0.0 })
        };
        let fixtures: Vec<Fixture> = pairs.iter().enumerate().flat_map(fixture).collect();
        let result = |line: &Line, role: usize| match line.ends[role] {
            End::Lost => -1,
            End::Drawn => 0,
            End::Won => 1,
        };
        self.play(&fixtures, false)
            .chunks(2)
            .map(|games| Outcome([result(&games[0], 0), result(&games[1], 1)]))
            .collect()
    }
}

/// A seed for one of many.
pub fn seed_of(seed: u64, number: usize) -> u64 {
    (seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd134_2543_de82_ef95).rotate_left(29)
}

/// Plays matches between particles of a swarm.
pub struct Arena<'a> {
    /// Where.
    pub field: &'a Field,
    /// The function whose weights are looked for.
    pub brain: &'a Brain,
    /// All chance comes from this; it moves on with every match.
    pub seed: u64,
}

impl Arena<'_> {
    fn outcomes(&mut self, matches: &[(&[f64], &[f64])], plies: u32) -> Vec<Outcome> {
        let brains: Vec<[Brain; 2]> =
            matches.iter().map(|(one, other)| [one, other].map(|weights| self.brain.with_weights(weights))).collect();
        let pairs: Vec<[&Brain; 2]> = brains.iter().map(|pair| pair.each_ref()).collect();
        self.seed = seed_of(self.seed, 1);
        self.field.matches(&pairs, plies, self.seed)
    }
}

impl Referee for Arena<'_> {
    fn play(&mut self, matches: &[(&[f64], &[f64])]) -> Vec<Outcome> {
        self.outcomes(matches, 0)
    }

    fn trial(&mut self, one: &[f64], other: &[f64], n: u32) -> Vec<Outcome> {
        self.outcomes(&vec![(one, other); n as usize], TRIAL_OPENING)
    }
}

/// How many moves by chance matches begin with that are to tell which of two brains is better: players hardly leave anything to
/// chance themselves, so that all matches would be the same.
pub const TRIAL_OPENING: u32 = 6;

/// A thread's working memory.
struct Table<'a> {
    field: &'a Field,
    /// Matches that go on.
    lanes: Lanes,
    /// Positions that players look at.
    ahead: Lanes,
    observer: Observer<'a>,
}

/// A match that goes on.
struct Seat<'a> {
    fixture: Fixture<'a>,
    random: Pcg64Mcg,
    /// Chance in the opening.
    opening: Pcg64Mcg,
    state: Box<[u64]>,
    /// Who made the last move.
    mover: usize,
    line: Line,
    is_over: bool,
}

/// A search that goes on.
struct Thought<'a> {
    seat: usize,
    role: usize,
    brain: &'a Brain,
    tree: Tree,
    /// The moves of both roles in each state that was met.
    legal: Vec<[Vec<u32>; 2]>,
}

/// What follows from a move.
struct Ahead {
    seat: usize,
    mover: usize,
    state: Box<[u64]>,
    joint: [u32; 2],
}

impl<'a> Table<'a> {
    fn new(field: &'a Field) -> Table<'a> {
        let lanes = || Lanes::new(field.compiled.clone());
        Table { field, lanes: lanes(), ahead: lanes(), observer: field.squares.observer() }
    }

    /// Plays up to 512 matches.
    fn play(&mut self, fixtures: &[Fixture<'a>], record: bool) -> Vec<Line> {
        self.lanes.reset(Vector::ONES);
        let initial = self.lanes.store(0);
        let seat = |fixture: &Fixture<'a>| Seat {
            fixture: *fixture,
            random: Pcg64Mcg::seed_from_u64(fixture.seed),
            opening: Pcg64Mcg::seed_from_u64(fixture.opening.seed),
            state: initial.clone(),
            mover: 0,
            line: Line { seen: Vec::new(), ends: [End::Drawn; 2] },
            is_over: false,
        };
        let mut seats: Vec<Seat> = fixtures.iter().map(seat).collect();
        for ply in 0..=self.field.plies {
            let going: Vec<usize> = (0..seats.len()).filter(|&seat| !seats[seat].is_over).collect();
            if going.is_empty() {
                break;
            }
            self.step(&mut seats, &going, ply);
            if record {
                self.record(&mut seats);
            }
        }
        seats.into_iter().map(|seat| seat.line).collect()
    }

    /// Goes one joint move on in every match.
    fn step(&mut self, seats: &mut [Seat<'a>], going: &[usize], ply: u32) {
        let is_last = ply == self.field.plies;
        // Step 1. Who has which moves, and which matches are over.
        let states: Vec<&[u64]> = going.iter().map(|&seat| &*seats[seat].state).collect();
        self.lanes.load_all(&states);
        self.lanes.evaluate();
        let ends = ends(&mut self.lanes);
        let mut legal = legal(&self.field.game.circuit.network, &mut self.lanes, going.len());
        // Step 2. Choices by chance, and those to be looked at.
        let mut ahead: Vec<Ahead> = Vec::new();
        let mut searches: Vec<Thought> = Vec::new();
        for (lane, &number) in going.iter().enumerate() {
            let seat = &mut seats[number];
            if let Some(ends) = ends[lane] {
                (seat.is_over, seat.line.ends) = (true, ends);
                continue;
            }
            if is_last || legal[lane].iter().any(Vec::is_empty) {
                seat.is_over = true;
                continue;
            }
            let idle = &self.field.game.structure.turns.idle;
            let is_busy = |role: usize| legal[lane][role].len() > 1 || !idle[role].contains(&legal[lane][role][0]);
            let mover = usize::from(!is_busy(0));
            let own = &legal[lane][mover];
            let other = legal[lane][1 - mover][0];
            let joint = |chosen: u32| if mover == 0 { [chosen, other] } else { [other, chosen] };
            let mut push = |chosen: u32| {
                ahead.push(Ahead { seat: number, mover, state: seat.state.clone(), joint: joint(chosen) });
            };
            match seat.fixture.players[mover] {
                _ if ply < seat.fixture.opening.plies => push(own[seat.opening.random_range(0..own.len())]),
                Some(_) if seat.fixture.stray > 0.0 && seat.random.random_bool(seat.fixture.stray) => {
                    push(own[seat.random.random_range(0..own.len())]);
                }
                Some(Brain { span: None, .. }) if own.len() > 1 => own.iter().for_each(|&chosen| push(chosen)),
                Some(brain @ Brain { span: Some(span), .. }) if own.len() > 1 => {
                    let root = Met {
                        state: seat.state.clone(),
                        joint: Vec::new(),
                        value: 0.5,
                        is_end: false,
                        maximises: true,
                    };
                    let mut tree = Tree::new(principal::Settings { span: *span, ..principal::Settings::default() });
                    tree.begin(root);
                    let legal = vec![std::mem::take(&mut legal[lane])];
                    searches.push(Thought { seat: number, role: mover, brain, tree, legal });
                }
                _ => push(own[seat.random.random_range(0..own.len())]),
            }
        }
        self.search(&mut searches);
        for search in searches {
            let line = search.tree.line();
            let joint = line.first().expect("a role with a choice has a move");
            let (seat, mover) = (search.seat, search.role);
            ahead.push(Ahead { seat, mover, state: seats[seat].state.clone(), joint: [joint[0], joint[1]] });
        }
        // Step 3. What follows, and what players think of it.
        let steps: Vec<(&[u64], &[u32])> = ahead.iter().map(|next| (&*next.state, &next.joint[..])).collect();
        let following = self.ahead.successors(&steps);
        ahead.iter_mut().zip(following).for_each(|(next, state)| next.state = state);
        let mut n_ahead = vec![0; seats.len()];
        ahead.iter().for_each(|next| n_ahead[next.seat] += 1);
        let mut best: Vec<(f64, u32)> = vec![(f64::NEG_INFINITY, 0); seats.len()];
        for batch in ahead.chunks(LANES) {
            let several = |next: &Ahead| n_ahead[next.seat] > 1;
            let worths = if batch.iter().any(several) { self.worths(seats, batch) } else { vec![0.0; batch.len()] };
            for (next, worth) in batch.iter().zip(worths) {
                let (most, n_equal) = &mut best[next.seat];
                if worth > *most {
                    (*most, *n_equal) = (worth, 0);
                }
                if worth == *most {
                    *n_equal += 1;
                    let seat = &mut seats[next.seat];
                    if *n_equal == 1 || seat.random.random_range(0..*n_equal) == 0 {
                        seat.state.clone_from(&next.state);
                        seat.mover = next.mover;
                    }
                }
            }
        }
    }

    /// Lets searches go on, side by side, until all are over.
    fn search(&mut self, searches: &mut [Thought]) {
        loop {
            // Step 1. What each of them opens next, and the joint moves from there.
            let mut wanted: Vec<(usize, u32, Vec<[u32; 2]>)> = Vec::new();
            for (number, search) in searches.iter().enumerate() {
                let Ok(leaf) = search.tree.next() else { continue };
                let [one, other] = &search.legal[leaf as usize];
                let joints = one.iter().flat_map(|&one| other.iter().map(move |&other| [one, other])).collect();
                wanted.push((number, leaf, joints));
            }
            if wanted.is_empty() {
                return;
            }
            // Step 2. What follows, and what it is worth.
            let steps: Vec<(&[u64], &[u32])> = wanted
                .iter()
                .flat_map(|(number, leaf, joints)| {
                    let state = searches[*number].tree.state(*leaf);
                    joints.iter().map(move |joint| (state, &joint[..]))
                })
                .collect();
            let following = self.ahead.successors(&steps);
            let of: Vec<usize> = wanted.iter().flat_map(|(number, _, joints)| vec![*number; joints.len()]).collect();
            let mut worths: Vec<(f32, bool, [Vec<u32>; 2])> = Vec::with_capacity(following.len());
            for (states, of) in following.chunks(LANES).zip(of.chunks(LANES)) {
                self.ahead.load_all(&states.iter().map(|state| &**state).collect::<Vec<_>>());
                self.ahead.evaluate();
                let ends = ends(&mut self.ahead);
                let legal = legal(&self.field.game.circuit.network, &mut self.ahead, states.len());
                let sight = look(self.field, &self.ahead, &mut self.observer);
                let mut seen: Vec<StateId> = Vec::new();
                for (lane, (&number, legal)) in of.iter().zip(legal).enumerate() {
                    let Thought { role, brain, .. } = searches[number];
                    let worth = match ends[lane] {
                        Some(ends) => ends[role].value() as f32,
                        None => {
                            seen.clear();
                            sight.states(lane, 0, &mut seen);
                            let first = opinion(brain, &self.field.vocabulary, &seen);
                            if role == 0 { first } else { 1.0 - first }
                        }
                    };
                    worths.push((worth, ends[lane].is_some(), legal));
                }
            }
            // Step 3. Each search hears of its own.
            let mut found = following.into_iter().zip(worths);
            for (number, leaf, joints) in wanted {
                let Thought { role, tree, legal, .. } = &mut searches[number];
                let mut following = Vec::with_capacity(joints.len());
                for (joint, (state, (value, is_end, moves))) in joints.iter().zip(found.by_ref()) {
                    let maximises = !is_end && moves[*role].len() > 1;
                    legal.push(moves);
                    following.push(Met { state, joint: joint.to_vec(), value, is_end, maximises });
                }
                tree.open(leaf, following);
            }
        }
    }

    /// What the movers' players think of positions.
    fn worths(&mut self, seats: &[Seat], batch: &[Ahead]) -> Vec<f64> {
        let states: Vec<&[u64]> = batch.iter().map(|next| &*next.state).collect();
        self.ahead.load_all(&states);
        self.ahead.evaluate();
        let ends = ends(&mut self.ahead);
        let sight = look(self.field, &self.ahead, &mut self.observer);
        let mut seen: Vec<StateId> = Vec::new();
        let mut worth = |(lane, next): (usize, &Ahead)| match (ends[lane], seats[next.seat].fixture.players[next.mover])
        {
            (_, None) => 0.0,
            (Some(ends), _) => ends[next.mover].value(),
            (None, Some(brain)) => {
                seen.clear();
                sight.states(lane, next.mover as u32, &mut seen);
                brain.think(&self.field.vocabulary, &seen)
            }
        };
        batch.iter().enumerate().map(&mut worth).collect()
    }

    /// Notes the positions that movers see, but for those in which the match is over.
    fn record(&mut self, seats: &mut [Seat]) {
        let going: Vec<usize> = (0..seats.len()).filter(|&seat| !seats[seat].is_over).collect();
        let states: Vec<&[u64]> = going.iter().map(|&seat| &*seats[seat].state).collect();
        self.ahead.load_all(&states);
        self.ahead.evaluate();
        let ends = ends(&mut self.ahead);
        let sight = look(self.field, &self.ahead, &mut self.observer);
        for (lane, &seat) in going.iter().enumerate().filter(|&(lane, _)| ends[lane].is_none()) {
            let seat = &mut seats[seat];
            let mut seen = Vec::new();
            sight.states(lane, seat.mover as u32, &mut seen);
            seat.line.seen.push((seat.mover as u32, seen));
        }
    }
}

/// The legal moves of both roles in the first lanes; after [`Lanes::evaluate`].
fn legal(network: &Network, lanes: &mut Lanes, n: usize) -> Vec<[Vec<u32>; 2]> {
    let mut legal: Vec<[Vec<u32>; 2]> = vec![Default::default(); n];
    for (role, moves) in network.moves_of.iter().enumerate() {
        for chosen in moves.clone() {
            let which = lanes.lanes_where(network.legal[chosen as usize]);
            which.lanes().take_while(|&lane| lane < n).for_each(|lane| legal[lane][role].push(chosen));
        }
    }
    legal
}

/// The results in each lane where the match is over; after [`Lanes::evaluate`].
fn ends(lanes: &mut Lanes) -> Vec<Option<[End; 2]>> {
    let terminal = lanes.lanes_where(lanes.network().terminal);
    let mut ends = vec![None; LANES];
    if terminal.is_zero() {
        return ends;
    }
    lanes.evaluate_goals();
    let mut goals = vec![[0i64; 2]; LANES];
    for &(role, value, wire) in &lanes.network().goals {
        for lane in (lanes.lanes_where(wire) & terminal).lanes() {
            goals[lane][role as usize] = value;
        }
    }
    for lane in terminal.lanes() {
        let [one, other] = goals[lane];
        ends[lane] = Some(match one.cmp(&other) {
            std::cmp::Ordering::Less => [End::Lost, End::Won],
            std::cmp::Ordering::Equal => [End::Drawn; 2],
            std::cmp::Ordering::Greater => [End::Won, End::Lost],
        });
    }
    ends
}

/// Looks at the boards in all lanes.
pub(super) fn look<'a>(field: &Field, lanes: &Lanes, observer: &mut Observer<'a>) -> Sight<'a> {
    let value = |wire: &Wire| {
        let value = if wire.gate() == 0 { Vector::ZERO } else { lanes.fluent(wire.gate() - 1) };
        if wire.is_inverted() { !value } else { value }
    };
    observer.look(&field.game.circuit.fluents.iter().map(value).collect::<Vec<_>>())
}
