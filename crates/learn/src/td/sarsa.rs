//! Tabular Sarsa (Rummery and Niranjan 1994): what each move in each state is worth, in a table, learned while playing.
//!
//! Where all others have but one legal move, a move is known by the state that it leads to (an *afterstate*), so that moves to the
//! same state share their value; elsewhere by the state and the move. Values are goal values; there is no discount.
//!
//! ```text
//! Q(s, a) ← Q(s, a) + α (target - Q(s, a))       target: the result at the end, else Q(s', a') of the next move that was chosen
//! ```
//!
//! A learner that knows symmetries of its game does that for all images of a move at once (Kuhlmann 2010).

use features::game::Game;
use insight::symmetry::{Action, Symmetry, Translation};
use machine::RoleId;
use machine::scalar::Scalar;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;
use search::{Answer, Limit, Player, legal_moves};

use super::Actor;

/// How it learns.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// All chance comes from this.
    pub seed: u64,
    /// The step size α.
    pub alpha: f64,
    /// The share of moves that are made by chance: ε.
    pub epsilon: f64,
    /// What is expected of a move that nothing is known of: the middle of the goal values, say.
    pub default: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { seed: 1, alpha: 0.3, epsilon: 0.1, default: 50.0 }
    }
}

/// A move in a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The state after the move where that is certain, else the state in which it is made, as the game's network has it.
    pub state: Box<[u64]>,
    /// The move, where the state after it depends on others.
    pub chosen: Option<u32>,
}

/// What moves are worth, to begin with.
pub trait Prior {
    /// What a move is worth, if anything is known of it.
    fn value(&self, key: &Key) -> Option<f64>;
}

/// Nothing is known.
impl Prior for () {
    fn value(&self, _: &Key) -> Option<f64> {
        None
    }
}

/// A learner for one role.
#[derive(Clone)]
pub struct Sarsa<P = ()> {
    settings: Settings,
    role: RoleId,
    random: Pcg64Mcg,
    table: FxHashMap<Key, f64>,
    prior: P,
    /// Symmetries of the game, the identity not among them.
    symmetries: Vec<Action>,
    /// The last move that was made, unless it was forgotten.
    last: Option<Key>,
    /// Whether it learns and tries moves out.
    learns: bool,
    /// Fluents that make no difference, as bits of a state.
    ignored: Box<[u64]>,
    /// The keys that were asked for, each with whether the prior knew it.
    met: FxHashMap<Key, bool>,
    /// How often keys were asked for, and how often the prior knew them.
    looks: (u64, u64),
}

impl Sarsa {
    /// A learner that knows nothing.
    pub fn new(role: RoleId, settings: Settings) -> Sarsa {
        Sarsa::with(role, settings, ())
    }
}

impl<P: Prior> Sarsa<P> {
    /// A learner that begins with what is known from elsewhere.
    pub fn with(role: RoleId, settings: Settings, prior: P) -> Sarsa<P> {
        Sarsa {
            role,
            random: Pcg64Mcg::seed_from_u64(settings.seed),
            settings,
            table: FxHashMap::default(),
            prior,
            symmetries: Vec::new(),
            last: None,
            learns: true,
            ignored: Box::default(),
            met: FxHashMap::default(),
            looks: (0, 0),
        }
    }

    /// From now on, states that differ in these fluents alone (bits of a state) are the same: a step counter's, say.
    pub fn ignoring(self, fluents: Box<[u64]>) -> Sarsa<P> {
        Sarsa { ignored: fluents, ..self }
    }

    /// From now on, what is learned of a move is learned of all its images, too.
    pub fn symmetric(self, symmetries: Vec<Action>) -> Sarsa<P> {
        Sarsa { symmetries, ..self }
    }

    /// From now on it neither learns nor tries anything out; or does so again.
    pub fn freeze(&mut self, frozen: bool) {
        self.learns = !frozen;
    }

    /// All that was learned, in the order of keys.
    pub fn entries(&self) -> Vec<(&Key, f64)> {
        let mut entries: Vec<_> = self.table.iter().map(|(key, &value)| (key, value)).collect();
        entries.sort_unstable_by(|one, other| one.0.cmp(other.0));
        entries
    }

    /// What a move is worth.
    pub fn value(&self, key: &Key) -> f64 {
        let learned = self.table.get(key).copied();
        learned.or_else(|| self.prior.value(key)).unwrap_or(self.settings.default)
    }

    /// Of the different moves that were looked at so far, the part that something was known of in the beginning.
    pub fn hit_rate(&self) -> f64 {
        self.met.values().filter(|&&known| known).count() as f64 / self.met.len().max(1) as f64
    }

    /// The same of all moves that were looked at, each as often as it was.
    pub fn hit_rate_of_looks(&self) -> f64 {
        self.looks.1 as f64 / self.looks.0.max(1) as f64
    }

    /// The last move has turned out to be worth this much.
    fn learn(&mut self, target: f64) {
        let Some(key) = self.last.take().filter(|_| self.learns) else { return };
        let mut images: Vec<Key> = self.symmetries.iter().map(|symmetry| key.image(symmetry)).collect();
        images.push(key);
        // A move that is its own image is learned once.
        images.sort_unstable();
        images.dedup();
        for key in images {
            let value = self.value(&key);
            self.table.insert(key, value + self.settings.alpha * (target - value));
        }
    }

    fn look(&mut self, key: &Key) -> f64 {
        if self.learns {
            let known = match self.met.get(key) {
                Some(&known) => known,
                None => {
                    let known = self.prior.value(key).is_some();
                    self.met.insert(key.clone(), known);
                    known
                }
            };
            self.looks.0 += 1;
            self.looks.1 += u64::from(known);
        }
        self.value(key)
    }
}

impl Key {
    /// What a symmetry takes it to.
    pub fn image(&self, symmetry: &Action) -> Key {
        let chosen = self.chosen.map(|chosen| symmetry.moves[chosen as usize]);
        Key { state: symmetry.state(&self.state), chosen }
    }
}

/// The proved symmetries of a game that keep all roles, the identity not among them; none where they are more than `limit`, or not
/// to be found.
pub fn symmetries(game: &Game, limit: usize) -> Vec<Action> {
    let (Some(found), Some(ground)) = (game.symmetries(1), &game.circuit.ground) else { return Vec::new() };
    let elements = found.group.and_then(|group| group.elements(limit)).unwrap_or_default();
    let translation = Translation::new(ground, &game.circuit.network);
    let keeps_roles = |symmetry: &&Symmetry| symmetry.roles.iter().copied().eq(0..symmetry.roles.len() as u32);
    let keeping = elements.iter().skip(1).filter(keeps_roles);
    keeping.filter_map(|symmetry| translation.action(symmetry)).collect()
}

/// The keys of a role's moves in the current state.
pub fn keys(machine: &mut Scalar, role: RoleId) -> Vec<(u32, Key)> {
    let legal = legal_moves(machine);
    let own = role.0 as usize;
    let certain = (0..legal.len()).all(|other| other == own || legal[other].len() == 1);
    let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
    let mut key = |&chosen: &u32| {
        if !certain {
            return (chosen, Key { state: machine.bits().into(), chosen: Some(chosen) });
        }
        joint[own] = chosen;
        machine.make(&joint);
        let state = machine.bits().into();
        machine.unmake();
        (chosen, Key { state, chosen: None })
    };
    legal[own].iter().map(&mut key).collect()
}

impl<P: Prior> Actor for Sarsa<P> {
    fn begin(&mut self, _: &mut Scalar) {
        self.last = None;
    }

    fn choose(&mut self, machine: &mut Scalar, legal: &[u32]) -> u32 {
        // A move without a choice is no move of ours: its worth is that of the next.
        if let [only] = legal {
            return *only;
        }
        let mut keys = keys(machine, self.role);
        for (_, key) in &mut keys {
            key.state.iter_mut().zip(&self.ignored).for_each(|(word, ignored)| *word &= !ignored);
        }
        let by_chance = self.learns && self.random.random_bool(self.settings.epsilon);
        let place = if by_chance {
            self.random.random_range(0..keys.len())
        } else {
            let (mut best, mut n_best, mut found) = (f64::NEG_INFINITY, 0u32, 0);
            for (place, (_, key)) in keys.iter().enumerate() {
                let value = self.look(key);
                if value > best {
                    (best, n_best) = (value, 0);
                }
                if value == best {
                    n_best += 1;
                    if self.random.random_range(0..n_best) == 0 {
                        found = place;
                    }
                }
            }
            found
        };
        let (chosen, key) = keys.into_iter().nth(place).expect("it is one of them");
        let value = self.look(&key);
        self.learn(value);
        self.last = Some(key);
        chosen
    }

    fn after(&mut self, machine: &mut Scalar) {
        if machine.terminal() {
            match machine.goal(self.role) {
                Some(goal) => self.learn(goal as f64),
                None => self.last = None,
            }
        }
    }
}

/// A learner that plays by what it knows, and learns nothing any more.
pub struct Trained<P = ()> {
    sarsa: Sarsa<P>,
    machine: Scalar,
}

impl<P: Prior> Trained<P> {
    /// Makes a player of a learner, with a machine of the same game.
    pub fn new(mut sarsa: Sarsa<P>, machine: Scalar) -> Trained<P> {
        sarsa.freeze(true);
        Trained { sarsa, machine }
    }

    /// The learner, which learns again.
    pub fn into_learner(mut self) -> Sarsa<P> {
        self.sarsa.freeze(false);
        self.sarsa
    }
}

impl<P: Prior + Send> Player for Trained<P> {
    fn choose(&mut self, state: &[u64], role: RoleId, _: &Limit) -> Answer {
        assert_eq!(role, self.sarsa.role, "it knows what moves are worth to one role");
        self.machine.jump(state);
        let legal = legal_moves(&self.machine);
        let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
        let own = role.0 as usize;
        joint[own] = self.sarsa.choose(&mut self.machine, &legal[own]);
        Answer { joint, ..Answer::default() }
    }
}

#[cfg(test)]
mod tests {
    use machine::scalar;
    use rustc_hash::FxHashSet;
    use search::Random;

    use super::*;
    use crate::td::play;
    use crate::td::testing::{game, mean};

    /// Values by hand: with a step of a half, the last move gets half the result, and in the next match the move before it half
    /// of that.
    #[test]
    fn values_move_towards_what_comes_next() {
        let rules = b"(role me) (init (at 0)) (succ 0 1) (succ 1 2)
            (legal me go) (legal me leap)
            (<= (next (at ?m)) (true (at ?n)) (succ ?n ?m))
            (<= terminal (true (at 2))) (<= (goal me 80) (true (at 2))) (<= (goal me 0) (not (true (at 2))))";
        let game = features::game::Game::new(gdl::read("walk", rules).program, 1).expect("it has a network");
        let compiled = scalar::Compiled::new(game.circuit.network.clone());
        let mut machine = Scalar::new(compiled.clone());
        let settings = Settings { alpha: 0.5, epsilon: 0.0, default: 0.0, ..Settings::default() };
        let mut sarsa = Sarsa::new(RoleId(0), settings);
        let values = |sarsa: &Sarsa| {
            let mut values: Vec<f64> = sarsa.entries().iter().map(|entry| entry.1).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let mut go = |sarsa: &mut Sarsa| {
            play(&mut machine, RoleId(0), sarsa, &mut Random::new(compiled.clone(), 1), 10);
        };
        go(&mut sarsa);
        assert_eq!(values(&sarsa), [0.0, 40.0]);
        go(&mut sarsa);
        assert_eq!(values(&sarsa), [20.0, 60.0]);
        sarsa.freeze(true);
        go(&mut sarsa);
        assert_eq!(values(&sarsa), [20.0, 60.0]);
    }

    /// A match to the left is as good as one to the right, and both are learned from either; a move that is its own image is learned
    /// once.
    #[test]
    fn images_are_learned_together() {
        let rules = b"(role me) (init start) (<= (legal me left) (true start)) (<= (legal me right) (true start))
            (<= (legal me wait) (true start)) (<= (next (at west)) (does me left)) (<= (next (at east)) (does me right))
            (<= (next (at home)) (does me wait)) (<= terminal (not (true start)))
            (<= (goal me 80) (true (at west))) (<= (goal me 80) (true (at east))) (<= (goal me 60) (true (at home)))";
        let game = features::game::Game::new(gdl::read("walk", rules).program, 1).expect("it has a network");
        let images = symmetries(&game, 10);
        assert_eq!(images.len(), 1);
        let compiled = scalar::Compiled::new(game.circuit.network.clone());
        let mut machine = Scalar::new(compiled.clone());
        let values = |symmetries: &[Action], play_this: &str| {
            let mut machine = Scalar::new(compiled.clone());
            let settings = Settings { alpha: 0.5, epsilon: 0.0, default: 0.0, ..Settings::default() };
            let mut sarsa = Sarsa::new(RoleId(0), settings).symmetric(symmetries.to_vec());
            let network = machine.network();
            let is_this = |chosen: u32| network.name(network.moves[chosen as usize]) == play_this;
            let (chosen, key) = keys(&mut Scalar::new(compiled.clone()), RoleId(0))
                .into_iter()
                .find(|(chosen, _)| is_this(*chosen))
                .expect("the move is legal");
            sarsa.last = Some(key);
            machine.make(&[chosen]);
            sarsa.after(&mut machine);
            sarsa.entries().iter().map(|entry| entry.1).collect::<Vec<f64>>()
        };
        assert_eq!(values(&[], "left"), [40.0]);
        assert_eq!(values(&images, "left"), [40.0, 40.0]);
        assert_eq!(values(&images, "right"), [40.0, 40.0]);
        assert_eq!(values(&images, "wait"), [30.0]);
        let [west, east] = ["left", "right"].map(|wanted| {
            let all = keys(&mut machine, RoleId(0));
            let name = |chosen: u32| game.circuit.network.name(game.circuit.network.moves[chosen as usize]);
            all.into_iter().find(|(chosen, _)| name(*chosen) == wanted).expect("it is legal").1
        });
        assert_eq!((west.image(&images[0]), east.image(&images[0])), (east, west));
    }

    /// Whatever is learned with symmetries is the same for all images; without them it is not.
    #[test]
    fn all_images_have_the_same_value() {
        for (name, n_images) in [("connect-3-3x3", 1), ("capture-go-3x3", 7)] {
            let game = game(name);
            let images = symmetries(&game, 100);
            assert_eq!(images.len(), n_images, "{name}");
            let compiled = scalar::Compiled::new(game.circuit.network.clone());
            let mut machine = Scalar::new(compiled.clone());
            for is_symmetric in [true, false] {
                let known = if is_symmetric { images.clone() } else { Vec::new() };
                let mut sarsa = Sarsa::new(RoleId(0), Settings::default()).symmetric(known);
                let mut opponent = Random::new(compiled.clone(), 5);
                (0..100).for_each(|_| _ = play(&mut machine, RoleId(0), &mut sarsa, &mut opponent, 20));
                let entries = sarsa.entries();
                let is_even = |(key, value): &(&Key, f64)| {
                    images.iter().all(|image| (sarsa.value(&key.image(image)) - value).abs() < 1e-9)
                };
                assert_eq!(entries.iter().all(is_even), is_symmetric, "{name}");
            }
        }
    }

    /// Two learners that take turns at learning from each other get better at it.
    #[test]
    fn a_trained_player_plays_by_its_table() {
        let game = game("tic-tac-toe");
        let compiled = scalar::Compiled::new(game.circuit.network.clone());
        let mut machine = Scalar::new(compiled.clone());
        let mut learner = Sarsa::new(RoleId(1), Settings::default());
        let mut random = Random::new(compiled.clone(), 3);
        (0..5_000).for_each(|_| _ = play(&mut machine, RoleId(1), &mut learner, &mut random, 20));
        let n_entries = learner.entries().len();
        let mut trained = Trained::new(learner, Scalar::new(compiled.clone()));
        let mut fool = Sarsa::new(RoleId(0), Settings { epsilon: 1.0, ..Settings::default() });
        let mut one = |_| play(&mut machine, RoleId(0), &mut fool, &mut trained, 20)[0];
        let results: Vec<_> = (0..300).map(&mut one).collect();
        assert!(mean(&results) < 25.0, "one that moves by chance gets {}", mean(&results));
        assert_eq!(trained.into_learner().entries().len(), n_entries, "it learns nothing");
    }

    #[test]
    fn tic_tac_toe_is_won_against_chance() {
        let game = game("tic-tac-toe");
        let compiled = scalar::Compiled::new(game.circuit.network.clone());
        let mut machine = Scalar::new(compiled.clone());
        for (role, least) in [(RoleId(0), 90.0), (RoleId(1), 75.0)] {
            let mut opponent = Random::new(compiled.clone(), 5);
            let mut sarsa = Sarsa::new(role, Settings::default());
            for _ in 0..6_000 {
                play(&mut machine, role, &mut sarsa, &mut opponent, 20);
            }
            sarsa.freeze(true);
            let mut one = |_| play(&mut machine, role, &mut sarsa, &mut opponent, 20)[role.0 as usize];
            let results: Vec<_> = (0..400).map(&mut one).collect();
            assert!(mean(&results) >= least, "{role:?} gets {}", mean(&results));
        }
    }

    /// Where others move at the same time, moves are told apart by the state before them.
    #[test]
    fn keys_of_moves_at_the_same_time() {
        for (name, certain) in [("tic-tac-toe", true), ("tic-tic-toe", false)] {
            let mut machine = Scalar::new(scalar::Compiled::new(game(name).circuit.network.clone()));
            let keys = keys(&mut machine, RoleId(0));
            assert_eq!(keys.len(), 9);
            assert!(keys.iter().all(|(chosen, key)| key.chosen == (!certain).then_some(*chosen)));
            assert_eq!(keys.iter().map(|entry| &entry.1).collect::<FxHashSet<_>>().len(), 9);
        }
    }
}
