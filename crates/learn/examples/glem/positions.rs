//! Positions of matches of mixed quality, 512 matches at a time.
//!
//! A player looks at a few moves drawn at random and makes the one whose successor is worst for the opponent; the more it
//! looks at, the stronger it is. The two sides of a match are of different strength, so mistakes are made and punished.

use std::sync::Mutex;

use features::game::Game;
use features::pattern::atoms::{self, Atoms, Value};
use features::pattern::orbit::{self, AtomSymmetry, Orbit};
use features::pattern::shapes::{self, Kind};
use features::pattern::table::{Indexer, Instance, Tables};
use insight::symmetry::{Action, Translation};
use machine::RoleId;
use machine::lanes::{Compiled, LANES, Lanes, Vector, random};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A game on one board, two roles that can change places, and the patterns of Buro (1998).
pub(crate) struct Patterns {
    pub(crate) game: Game,
    pub(crate) atoms: Atoms,
    keeping: Vec<AtomSymmetry>,
    pub(crate) orbits: Vec<Orbit>,
    pub(crate) indexer: Indexer<u16>,
    pub(crate) instances: Vec<Instance>,
    /// Takes the side of one role for that of the other.
    swap: Action,
    /// The bit that says that the first role is to move, and whether it says so when it is not set.
    control: (usize, bool),
    /// For each kind of piece the bits that say that one stands somewhere, and those that say so when they are not set.
    pieces: Vec<(Vec<u64>, Vec<u64>)>,
    /// Whether the first kind of piece is the second role's.
    inverted: bool,
}

/// Positions with the first role to move, in the order in which they were played.
#[derive(Default)]
pub(crate) struct Positions {
    pub(crate) words: usize,
    pub(crate) states: Vec<u64>,
    /// The difference of pieces at the end of the match, as the role to move sees it.
    pub(crate) results: Vec<i8>,
    /// How many pieces there are.
    pub(crate) pieces: Vec<u8>,
    /// The match.
    pub(crate) matches: Vec<u32>,
    pub(crate) n_matches: u32,
}

impl Positions {
    pub(crate) fn len(&self) -> usize {
        self.results.len()
    }

    pub(crate) fn state(&self, position: usize) -> &[u64] {
        &self.states[position * self.words..(position + 1) * self.words]
    }

    pub(crate) fn append(&mut self, other: Positions) {
        self.words = other.words;
        self.states.extend(other.states);
        self.results.extend(other.results);
        self.pieces.extend(other.pieces);
        self.matches.extend(other.matches.iter().map(|number| number + self.n_matches));
        self.n_matches += other.n_matches;
    }

    fn truncate(&mut self, n: usize) {
        self.states.truncate(n * self.words);
        self.results.truncate(n);
        self.pieces.truncate(n);
        self.matches.truncate(n);
    }
}

/// Weights by number of pieces: the stage of each number, and tables for each stage.
pub(crate) struct Model {
    pub stages: Vec<u16>,
    pub(crate) tables: Vec<Tables<f32>>,
}

impl Patterns {
    /// Finds everything in the rules.
    pub(crate) fn new(path: &str) -> Result<Patterns, String> {
        let text = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        let game = Game::new(gdl::read(path, &text).program, 1)?;
        let network = &game.circuit.network;
        let ground = game.circuit.ground.as_ref().ok_or("the rules are too large")?;
        let atoms = atoms::find(&game, &atoms::Settings::default());
        let [layer] = &atoms.layers[..] else { return Err("it has not one board".into()) };
        let board = &game.structure.boards[layer.board];
        let found = game.symmetries(1).ok_or("the rules are too large")?;
        let keeping = orbit::keeping_roles(&game, &atoms.features, &found);
        let mut proposal = shapes::propose(board, layer, &shapes::Settings::buro());
        proposal.shapes.retain(|shape| shape.kind != Kind::Edge);
        let (orbits, _) = orbit::orbits(&atoms.features, &proposal.shapes, &keeping, &orbit::Budget::default());
        let instances: Vec<Instance> = orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
        let indexer = Indexer::new(&atoms.features, &instances, network.fluents.len()).ok_or("tables are too large")?;
        let elements = found.group.as_ref().and_then(|group| group.elements(4_096)).ok_or("too many symmetries")?;
        let translation = Translation::new(ground, network);
        let swap = elements.iter().find(|symmetry| symmetry.roles == [1, 0]);
        let swap = swap.and_then(|swap| translation.action(swap)).ok_or("its roles cannot change places")?;
        let control = game.structure.turns.control.first().and_then(|fluents| fluents.first());
        let control = game.circuit.fluents[*control.ok_or("roles don't take turns")? as usize];
        let control = (control.gate() as usize - 1, control.is_inverted());
        let pieces = pieces(&atoms, network.fluents.len().div_ceil(64));
        let mut patterns =
            Patterns { orbits, indexer, instances, swap, control, pieces, inverted: false, game, atoms, keeping };
        patterns.inverted = patterns.is_inverted();
        Ok(patterns)
    }

    /// Whether those who have more of the first kind of piece at the end are beaten.
    fn is_inverted(&self) -> bool {
        let mut random = random(1);
        let mut lanes = Lanes::new(Compiled::new(self.game.circuit.network.clone()));
        let mut with = 0;
        for _ in 0..200 {
            lanes.evaluate();
            let over = lanes.lanes_where(lanes.network().terminal);
            if !over.is_zero() {
                lanes.evaluate_goals();
                for lane in (0..LANES).filter(|&lane| over.get(lane)) {
                    let goals = self.game.circuit.network.goals.iter();
                    let own = goals.filter(|&&(role, _, wire)| role == 0 && lanes.lanes_where(wire).get(lane));
                    let own: i64 = own.map(|&(_, value, _)| value).sum();
                    with += (own - 50).signum() * i64::from(self.difference(&lanes.store(lane))).signum();
                }
                lanes.reset(over);
                continue;
            }
            for role in 0..2 {
                let _ = lanes.choose(&mut random, RoleId(role));
            }
            lanes.advance();
        }
        with < 0
    }

    fn count(&self, kind: usize, state: &[u64]) -> i32 {
        let (set, clear) = &self.pieces[kind];
        let bits =
            |(word, (set, clear)): (&u64, (&u64, &u64))| (word & set).count_ones() + (!word & clear).count_ones();
        state.iter().zip(set.iter().zip(clear)).map(bits).sum::<u32>() as i32
    }

    /// The first role's pieces less those of the second one.
    pub(crate) fn difference(&self, state: &[u64]) -> i32 {
        let difference = self.count(0, state) - self.count(1, state);
        if self.inverted { -difference } else { difference }
    }

    /// How many pieces there are.
    pub(crate) fn n_pieces(&self, state: &[u64]) -> usize {
        (self.count(0, state) + self.count(1, state)) as usize
    }

    pub(crate) fn n_fluents(&self) -> usize {
        self.game.circuit.network.fluents.len()
    }

    /// For each side of the board the atoms of its outer and of its second row; a symmetry takes one side to the other, and those of
    /// a row are in such an order.
    pub(crate) fn sides(&self) -> Result<Vec<[Vec<u32>; 2]>, String> {
        let orbit = self.orbits.iter().find(|orbit| orbit.kind == Kind::EdgeWithInner).ok_or("it has no edges")?;
        let edge = &orbit.instances[0].atoms;
        let (inner, outer) = ([edge[0], edge[edge.len() - 1]], &edge[1..edge.len() - 1]);
        let is_second = |atoms: &&Vec<u32>| atoms.len() == outer.len() && inner.iter().all(|atom| atoms.contains(atom));
        let mut lines = self.instances.iter().map(|instance| &instance.atoms);
        let mut second = lines.find(is_second).ok_or("it has no second row")?.clone();
        if second[1] != inner[0] {
            second.reverse();
        }
        let mut sides: Vec<[Vec<u32>; 2]> = Vec::new();
        for symmetry in &self.keeping {
            let image = |atoms: &[u32]| -> Vec<u32> {
                let turned =
                    |atom: &u32| symmetry.values[*atom as usize].iter().enumerate().any(|(at, &to)| at != to.into());
                assert!(!atoms.iter().any(turned), "symmetries leave pieces what they are");
                atoms.iter().map(|&atom| symmetry.atoms[atom as usize]).collect()
            };
            let side = [image(outer), image(&second)];
            if !sides.iter().any(|[other, _]| other.iter().all(|atom| side[0].contains(atom))) {
                sides.push(side);
            }
        }
        Ok(sides)
    }

    pub(crate) fn first_moves(&self, state: &[u64]) -> bool {
        (state[self.control.0 / 64] >> (self.control.0 % 64) & 1 == 1) != self.control.1
    }

    /// The position as the role to move sees it, which is then the first one; and whether it was not.
    pub(crate) fn normalized(&self, state: &[u64]) -> (Box<[u64]>, bool) {
        if self.first_moves(state) { (state.into(), false) } else { (self.swap.state(state), true) }
    }

    /// Plays until there are so many positions, in parts that threads take one after another. Without a model all moves are
    /// random.
    pub(crate) fn play(&self, model: Option<&Model>, n: usize, seed: u64, threads: usize) -> Positions {
        let n_parts = (n / 100_000).clamp(1, 64);
        let waiting = Mutex::new((0..n_parts).rev().collect::<Vec<usize>>());
        let done: Mutex<Vec<Option<Positions>>> = Mutex::new((0..n_parts).map(|_| None).collect());
        let compiled = Compiled::new(self.game.circuit.network.clone());
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    let next = || waiting.lock().expect("no thread panics").pop();
                    while let Some(part) = next() {
                        let size = n * (part + 1) / n_parts - n * part / n_parts;
                        let lanes = Lanes::new(compiled.clone());
                        let played =
                            Player { patterns: self, model, lanes, seed: seed ^ (part as u64) << 32 }.run(size);
                        done.lock().expect("no thread panics")[part] = Some(played);
                    }
                });
            }
        });
        let mut all = Positions::default();
        for part in done.into_inner().expect("no thread panics") {
            all.append(part.expect("each part was played"));
        }
        all
    }
}

/// How many moves players of each strength look at.
const LOOKS: [usize; 4] = [1, 2, 5, 10];
/// How many moves at the start are random, at most.
const OPENING: u32 = 12;
/// One move in so many is random.
const SLIP: u32 = 20;

struct Player<'a> {
    patterns: &'a Patterns,
    model: Option<&'a Model>,
    lanes: Lanes,
    seed: u64,
}

impl Player<'_> {
    fn run(mut self, n: usize) -> Positions {
        let patterns = self.patterns;
        let network = patterns.game.circuit.network.clone();
        let words = network.fluents.len().div_ceil(64);
        let mut random = random(self.seed);
        let mut rng = Pcg64::seed_from_u64(self.seed);
        let mut found = Positions { words, ..Positions::default() };
        let mut histories: Vec<Vec<(Box<[u64]>, bool)>> = vec![Vec::new(); LANES];
        // For each match: what the two sides look at, and how long moves are random.
        let fresh = |rng: &mut Pcg64| {
            let mut looks = || LOOKS[rng.random_range(0..LOOKS.len())];
            ([looks(), looks()], rng.random_range(0..OPENING) as usize)
        };
        let mut styles: Vec<([usize; 2], usize)> = (0..LANES).map(|_| fresh(&mut rng)).collect();
        let mut scratch = Lanes::new(self.lanes.compiled().clone());
        let mut indices = patterns.indexer.start(&vec![0; words]);
        let (mut states, mut successors) = (Vec::new(), Vec::new());
        while found.len() < n {
            // Step 1. Keep the positions of matches that are over; others go on.
            self.lanes.evaluate();
            let over = self.lanes.lanes_where(network.terminal);
            states.clear();
            self.lanes.store_all(LANES, &mut states);
            for (lane, state) in states.chunks(words).enumerate() {
                if !over.get(lane) {
                    histories[lane].push(patterns.normalized(state));
                    continue;
                }
                let difference = patterns.difference(state);
                for (state, was_swapped) in histories[lane].drain(..) {
                    found.pieces.push(patterns.n_pieces(&state) as u8);
                    found.states.extend_from_slice(&state);
                    found.results.push(if was_swapped { -difference } else { difference } as i8);
                    found.matches.push(found.n_matches);
                }
                found.n_matches += 1;
                styles[lane] = fresh(&mut rng);
            }
            // Step 2. Look at moves.
            let looks: Vec<usize> = (0..LANES)
                .map(|lane| match histories[lane].last() {
                    _ if self.model.is_none() || rng.random_range(0..SLIP) == 0 => 1,
                    Some((_, is_second)) if histories[lane].len() > styles[lane].1 => {
                        styles[lane].0[usize::from(*is_second)]
                    }
                    _ => 1,
                })
                .collect();
            let mut best = vec![f32::INFINITY; LANES];
            let mut chosen: Vec<Vector> = Vec::new();
            for look in 0..looks.iter().copied().max().unwrap_or(1) {
                for role in 0..2 {
                    let _ = self.lanes.choose(&mut random, RoleId(role));
                }
                let next = self.lanes.peek().to_vec();
                if look == 0 {
                    chosen = next.clone();
                }
                let Some(model) = self.model else { break };
                (0u32..).zip(&next).for_each(|(fluent, &which)| scratch.set_fluent(fluent, which));
                successors.clear();
                scratch.store_all(LANES, &mut successors);
                let mut better = Vector::ZERO;
                for (lane, state) in successors.chunks(words).enumerate() {
                    if look < looks[lane] && looks[lane] > 1 {
                        let (state, _) = patterns.normalized(state);
                        patterns.indexer.go(&mut indices, &state);
                        let stage = model.stages[patterns.n_pieces(&state)];
                        let value = model.tables[usize::from(stage)].sum(patterns.indexer.indices(&indices));
                        if value < best[lane] {
                            best[lane] = value;
                            better.set(lane, true);
                        }
                    }
                }
                chosen.iter_mut().zip(&next).for_each(|(chosen, &next)| *chosen = chosen.blend(better, next));
            }
            // Step 3. Go on.
            (0u32..).zip(&chosen).for_each(|(fluent, &which)| self.lanes.set_fluent(fluent, which));
            if !over.is_zero() {
                self.lanes.reset(over);
            }
        }
        found.truncate(n);
        found
    }
}

/// The bits that say where pieces of each kind stand.
fn pieces(atoms: &Atoms, words: usize) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut pieces = vec![(vec![0; words], vec![0; words]); 2];
    for atom in atoms.layers[0].cells.iter().flatten() {
        for (kind, value) in atoms.features[*atom as usize].values.iter().skip(1).take(2).enumerate() {
            if let Value::Is(literal) = value {
                let (set, clear) = &mut pieces[kind];
                let which = if literal.holds { set } else { clear };
                which[literal.fluent as usize / 64] |= 1 << (literal.fluent % 64);
            }
        }
    }
    pieces
}
