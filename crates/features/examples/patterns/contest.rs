//! Labelled positions of a game for two in which each role has markers of its own and the difference is what counts.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use features::game::Game;
use features::pattern::frequency::{Incidence, Positions};
use features::pattern::refit;
use features::pattern::set::{Literal, Patterns};
use insight::symmetry::{self, Action, Translation, canonical_state};
use machine::scalar::{Compiled, Scalar};
use machine::{Machine, RoleId};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashSet;

/// A position and the final difference of markers under best play.
pub(crate) type Labelled = (Box<[u64]>, i32);

/// The game.
pub(crate) struct Contest {
    pub(crate) game: Game,
    pub(crate) compiled: Arc<Compiled>,
    /// For each role a mask of the fluents that are its markers.
    own: [Vec<u64>; 2],
    /// The most markers that there may be.
    pub(crate) n_cells: usize,
    /// The symmetries, with whether they swap the roles.
    pub(crate) actions: Vec<(Action, bool)>,
}

impl Contest {
    pub(crate) fn new(rules: &str, seed: u64) -> Contest {
        let bytes = std::fs::read(rules).unwrap_or_else(|problem| panic!("{rules}: {problem}"));
        let game = Game::new(gdl::read(rules, &bytes).program, seed).expect("the game has a network");
        let network = game.circuit.network.clone();
        assert_eq!(network.roles.len(), 2, "the example is for two roles");
        let n_words = network.fluents.len().div_ceil(64);
        let mut own = [vec![0u64; n_words], vec![0u64; n_words]];
        let mut n_cells = 0;
        for board in &game.structure.boards {
            n_cells += board.cells.len();
            for marker in &board.markers {
                let Some(role) = marker.owner else { continue };
                for &(fluent, _) in &marker.fluents {
                    let wire = game.circuit.fluents[fluent as usize];
                    assert!(!wire.is_inverted() && wire.gate() > 0, "markers come and go");
                    let fluent = wire.gate() as usize - 1;
                    own[role as usize][fluent / 64] |= 1 << (fluent % 64);
                }
            }
        }
        let ground = game.circuit.ground.clone().expect("the ground rules are kept");
        let symmetries = symmetry::find(&ground, Some(&network), &symmetry::Budget::default(), seed);
        let translation = Translation::new(&ground, &network);
        let elements = symmetries.group.and_then(|group| group.elements(64)).unwrap_or_default();
        let action = |symmetry: &symmetry::Symmetry| Some((translation.action(symmetry)?, symmetry.roles[0] != 0));
        let actions = elements.iter().filter_map(action).collect();
        Contest { game, compiled: Compiled::new(network), own, n_cells, actions }
    }

    fn count(&self, role: usize, bits: &[u64]) -> i32 {
        self.own[role].iter().zip(bits).map(|(mask, word)| (mask & word).count_ones() as i32).sum()
    }

    fn difference(&self, bits: &[u64]) -> i32 {
        self.count(0, bits) - self.count(1, bits)
    }

    pub(crate) fn markers(&self, bits: &[u64]) -> usize {
        (self.count(0, bits) + self.count(1, bits)) as usize
    }

    /// Every image of every position.
    pub(crate) fn images(&self, positions: &[Labelled]) -> Vec<Box<[u64]>> {
        let images =
            |(state, _): &Labelled| self.actions.iter().map(|(action, _)| action.state(state)).collect::<Vec<_>>();
        positions.iter().flat_map(images).collect()
    }
}

/// A position in play.
pub(crate) struct Player<'a> {
    contest: &'a Contest,
    pub(crate) scalar: Scalar,
    nodes: u64,
}

impl<'a> Player<'a> {
    pub(crate) fn new(contest: &'a Contest) -> Player<'a> {
        Player { contest, scalar: Scalar::new(contest.compiled.clone()), nodes: 0 }
    }

    fn restart(&mut self) {
        let initial = self.scalar.initial().expect("no limits");
        self.scalar.jump(&initial);
    }

    /// Appends the joint moves here; returns the role that has a choice.
    pub(crate) fn joints(&self, joints: &mut Vec<[u32; 2]>) -> usize {
        let mut moves = [Vec::new(), Vec::new()];
        (0..2).for_each(|role| self.scalar.legal_moves(RoleId(role as u32), &mut moves[role]));
        moves.iter_mut().for_each(|moves| moves.sort_unstable());
        for &one in &moves[0] {
            joints.extend(moves[1].iter().map(|&other| [one, other]));
        }
        usize::from(moves[1].len() > 1)
    }

    fn replies(&self, mover: usize) -> usize {
        let mut replies = Vec::new();
        self.scalar.legal_moves(RoleId(1 - mover as u32), &mut replies);
        replies.len()
    }

    /// The final difference of markers under best play.
    fn solve(&mut self, mut alpha: i32, mut beta: i32) -> i32 {
        self.nodes += 1;
        if self.scalar.terminal() {
            return self.contest.difference(self.scalar.bits());
        }
        let mut joints = Vec::new();
        let mover = self.joints(&mut joints);
        if joints.len() > 1 && self.contest.n_cells - self.contest.markers(self.scalar.bits()) > 4 {
            // What leaves the opponent few moves is tried first.
            let mut ordered: Vec<(usize, [u32; 2])> = Vec::new();
            for joint in joints {
                self.scalar.make(&joint);
                ordered.push((self.replies(mover), joint));
                self.scalar.unmake();
            }
            ordered.sort_unstable();
            joints = ordered.into_iter().map(|(_, joint)| joint).collect();
        }
        let mut best = if mover == 0 { i32::MIN } else { i32::MAX };
        for joint in joints {
            self.scalar.make(&joint);
            let value = self.solve(alpha, beta);
            self.scalar.unmake();
            if mover == 0 {
                best = best.max(value);
                alpha = alpha.max(best);
            } else {
                best = best.min(value);
                beta = beta.min(best);
            }
            if alpha >= beta {
                break;
            }
        }
        best
    }

    /// Plays one match of mixed strength and returns the state with so many markers, if it is met before the end.
    fn play(&mut self, values: &[f64], markers: usize, rng: &mut Pcg64Mcg) -> Option<Box<[u64]>> {
        self.restart();
        let skill = [(); 2].map(|()| [0.5, 0.8, 0.9, 1.0][rng.random_range(0..4)]);
        let opening = rng.random_range(2..16);
        let mut joints = Vec::new();
        let mut ply = 0;
        while !self.scalar.terminal() {
            if self.contest.markers(self.scalar.bits()) == markers {
                return Some(self.scalar.bits().into());
            }
            joints.clear();
            let mover = self.joints(&mut joints);
            let mut chosen = joints[rng.random_range(0..joints.len())];
            if joints.len() > 1 && ply >= opening && rng.random_bool(skill[mover]) {
                let mut best = f64::NEG_INFINITY;
                for &joint in &joints {
                    self.scalar.make(&joint);
                    let value = linear(values, self.scalar.bits());
                    let value = if mover == 0 { value } else { -value } - self.replies(mover) as f64;
                    self.scalar.unmake();
                    if value > best {
                        (best, chosen) = (value, joint);
                    }
                }
            }
            self.scalar.make(&chosen);
            ply += 1;
        }
        None
    }
}

fn linear(values: &[f64], bits: &[u64]) -> f64 {
    let mut sum = 0.0;
    for (index, &word) in bits.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            sum += values[index * 64 + word.trailing_zeros() as usize];
            word &= word - 1;
        }
    }
    sum
}

/// Runs `work` for each number below `n` on several threads; the results come in order.
pub(crate) fn in_parallel<T: Send>(
    contest: &Contest,
    n: usize,
    threads: usize,
    work: impl Fn(&mut Player<'_>, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let run = || {
            let mut player = Player::new(contest);
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= n {
                    return own;
                }
                own.push((index, work(&mut player, index)));
            }
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

pub(crate) fn generator(seed: u64, number: usize) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number as u64)
}

/// A linear function of the fluents that predicts the final difference of random matches, for players of some strength.
pub(crate) fn crude_values(contest: &Contest, seed: u64, threads: usize) -> Vec<f64> {
    let n_matches = 3_000;
    let matches = in_parallel(contest, n_matches, threads, |player, number| {
        let mut rng = generator(seed ^ 0xc0de, number);
        player.restart();
        let mut states = Vec::new();
        let mut joints = Vec::new();
        while !player.scalar.terminal() {
            joints.clear();
            player.joints(&mut joints);
            player.scalar.make(&joints[rng.random_range(0..joints.len())]);
            if rng.random_range(0..4) == 0 {
                states.push(player.scalar.bits().to_vec());
            }
        }
        (states, contest.difference(player.scalar.bits()))
    });
    let states: Vec<&[u64]> = matches.iter().flat_map(|(states, _)| states).map(|state| &state[..]).collect();
    let label = |(states, label): &(Vec<Vec<u64>>, i32)| vec![f64::from(*label); states.len()];
    let labels: Vec<f64> = matches.iter().flat_map(label).collect();
    let n_fluents = contest.game.circuit.network.fluents.len();
    let positions = Positions::new(n_fluents, states.iter().copied());
    let single: Patterns = (0..n_fluents as u32).map(|fluent| [Literal::of(fluent)]).collect();
    let chosen: Vec<u32> = (0..n_fluents as u32).collect();
    let rows = Incidence::of(&single, &chosen, &positions, threads);
    refit::ridge(&rows, &labels, &refit::Settings { threads, ..refit::Settings::default() }).weights
}

/// Different states with so many markers from matches of mixed strength, no two of them symmetric to each other.
pub(crate) fn states(
    contest: &Contest,
    values: &[f64],
    n: usize,
    markers: usize,
    seed: u64,
    threads: usize,
) -> Vec<Box<[u64]>> {
    let actions: Vec<Action> = contest.actions.iter().map(|(action, _)| action.clone()).collect();
    let (mut seen, mut states) = (FxHashSet::default(), Vec::new());
    let mut from = 0;
    while states.len() < n && from < 20 * n {
        let batch = (n - states.len()).max(1_000);
        let found = in_parallel(contest, batch, threads, |player, number| {
            player.play(values, markers, &mut generator(seed, from + number))
        });
        from += batch;
        for state in found.into_iter().flatten() {
            if states.len() < n && seen.insert(canonical_state(&actions, &state).0) {
                states.push(state);
            }
        }
    }
    states
}

/// Solves states; returns how many nodes that took, too.
pub(crate) fn label(contest: &Contest, states: Vec<Box<[u64]>>, threads: usize) -> (Vec<Labelled>, u64) {
    let labels = in_parallel(contest, states.len(), threads, |player, number| {
        player.scalar.jump(&states[number]);
        let before = player.nodes;
        let value = player.solve(i32::MIN, i32::MAX);
        (value, player.nodes - before)
    });
    let nodes = labels.iter().map(|(_, nodes)| nodes).sum();
    (states.into_iter().zip(labels).map(|(state, (value, _))| (state, value)).collect(), nodes)
}

/// Labelled positions from a file.
pub(crate) fn read(path: &str) -> Option<Vec<Labelled>> {
    let read = |line: &str| -> Option<Labelled> {
        let mut words = line.split_whitespace();
        let label = words.next()?.parse().ok()?;
        Some((words.map(|word| u64::from_str_radix(word, 16).ok()).collect::<Option<_>>()?, label))
    };
    std::fs::read_to_string(path).ok()?.lines().map(read).collect()
}

/// Labelled positions to a file: on each line the label and the words of the state.
pub(crate) fn write(path: &str, positions: &[Labelled]) -> std::io::Result<()> {
    let mut text = String::new();
    for (state, label) in positions {
        write!(text, "{label}").expect("writing to a string");
        state.iter().for_each(|word| write!(text, " {word:x}").expect("writing to a string"));
        text.push('\n');
    }
    std::fs::write(path, text)
}
