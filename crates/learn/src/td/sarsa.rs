//! Tabular Sarsa (Rummery and Niranjan 1994): what each move in each state is worth, in a table, learned while playing.
//!
//! Where all others have but one legal move, a move is known by the state that it leads to (an *afterstate*), so that moves to the
//! same state share their value; elsewhere by the state and the move. Values are goal values; there is no discount.
//!
//! ```text
//! Q(s, a) ← Q(s, a) + α (target - Q(s, a))       target: the result at the end, else Q(s', a') of the next move that was chosen
//! ```

use machine::RoleId;
use machine::scalar::Scalar;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::{FxHashMap, FxHashSet};
use search::legal_moves;

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
pub struct Sarsa<P = ()> {
    settings: Settings,
    role: RoleId,
    random: Pcg64Mcg,
    table: FxHashMap<Key, f64>,
    prior: P,
    /// The last move that was made, unless it was forgotten.
    last: Option<Key>,
    /// Whether it learns and tries moves out.
    learns: bool,
    /// The keys that were asked for, and those of them that the prior knew.
    met: FxHashSet<Key>,
    n_known: usize,
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
            last: None,
            learns: true,
            met: FxHashSet::default(),
            n_known: 0,
        }
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
        self.n_known as f64 / self.met.len().max(1) as f64
    }

    /// The last move has turned out to be worth this much.
    fn learn(&mut self, target: f64) {
        let Some(key) = self.last.take().filter(|_| self.learns) else { return };
        let value = self.value(&key);
        self.table.insert(key, value + self.settings.alpha * (target - value));
    }

    fn look(&mut self, key: &Key) -> f64 {
        if self.learns && !self.met.contains(key) {
            self.n_known += usize::from(self.prior.value(key).is_some());
            self.met.insert(key.clone());
        }
        self.value(key)
    }
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
        let keys = keys(machine, self.role);
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

#[cfg(test)]
mod tests {
    use machine::scalar;
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
