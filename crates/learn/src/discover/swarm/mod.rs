//! Weights by a swarm whose particles play against each other: Tournament PSO (Duminy 2006).
//!
//! A particle is a vector of weights that moves through the space of weights, drawn to the best place that it has been at
//! itself and to the best such place of its neighbours. What is better is found out in matches: a particle's own best place
//! is replaced by one that wins both games of a match against it, and a [`tournament`] ranks the best places. Who plays the
//! matches is the caller's business ([`Referee`]).

pub mod tournament;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use tournament::{Contest, Exhausted};
pub use tournament::{Kind, Method, Ties};

/// The result of a match of two games with roles swapped, for the first of two players: 1 for a win, 0, or -1 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome(pub [i8; 2]);

impl Outcome {
    /// Points for the first player: 2 for a win, 1 for a draw.
    pub fn points(self) -> u32 {
        self.0.iter().map(|result| (result + 1) as u32).sum()
    }

    /// Whether the first player has won both games.
    pub fn is_clear(self) -> bool {
        self.0 == [1, 1]
    }
}

/// Plays matches between vectors of weights.
pub trait Referee {
    /// Plays some matches, which do not depend on each other.
    fn play(&mut self, matches: &[(&[f64], &[f64])]) -> Vec<Outcome>;

    /// Plays matches that are to tell which of two vectors is better. They should not all be the same.
    fn trial(&mut self, one: &[f64], other: &[f64], n: u32) -> Vec<Outcome> {
        self.play(&vec![(one, other); n as usize])
    }
}

impl<F: FnMut(&[f64], &[f64]) -> Outcome> Referee for F {
    fn play(&mut self, matches: &[(&[f64], &[f64])]) -> Vec<Outcome> {
        matches.iter().map(|(one, other)| self(one, other)).collect()
    }
}

/// Whose best places a particle knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Those of four others: the swarm is a grid whose edges are joined, as square as its size admits.
    VonNeumann,
    /// Those of as many on each side of a ring.
    Ring(usize),
    /// All.
    Global,
}

impl Topology {
    /// The neighbours of each of `n` particles, ascending.
    pub fn neighbors(self, n: usize, with_self: bool) -> Vec<Vec<usize>> {
        let of = |place: usize| {
            let mut near: Vec<usize> = match self {
                Topology::Global => (0..n).collect(),
                Topology::Ring(reach) => {
                    (1..=reach).flat_map(|step| [(place + step) % n, (place + n - step % n) % n]).collect()
                }
                Topology::VonNeumann => {
                    let rows = (1..=n).filter(|rows| n.is_multiple_of(*rows) && rows * rows <= n).max().unwrap_or(1);
                    let columns = n / rows;
                    let (row, column) = (place / columns, place % columns);
                    let at = |row: usize, column: usize| row % rows * columns + column % columns;
                    let (up, left) = (at(row + rows - 1, column), at(row, column + columns - 1));
                    vec![up, at(row + 1, column), left, at(row, column + 1)]
                }
            };
            near.retain(|&other| other != place);
            if with_self {
                near.push(place);
            }
            near.sort_unstable();
            near.dedup();
            near
        };
        (0..n).map(of).collect()
    }
}

/// How a swarm looks for weights.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from this. Where particles begin depends on nothing else.
    pub seed: u64,
    /// Particles.
    pub particles: usize,
    /// Whose best places a particle knows.
    pub topology: Topology,
    /// Whether its own is among them.
    pub with_self: bool,
    /// How best places are ranked.
    pub method: Method,
    /// Whether it is the older Competitive PSO: locations and best places all meet some others, which replaces and ranks best
    /// places, and chance decides ties; the method does not matter then.
    pub competitive: bool,
    /// How strongly a particle is drawn to its own best place and to that of its neighbours; more than 4 together.
    pub pull: [f64; 2],
    /// Whether chance is drawn for each weight, not for each particle.
    pub per_component: bool,
    /// The least and the greatest weight.
    pub range: [f64; 2],
    /// Matches in all, those of the guard included.
    pub matches: u64,
    /// How many opponents each has in tournaments of subsets, and in Competitive PSO.
    pub subset: usize,
    /// Weights that are known already, within the range; equal weights if there are none.
    pub start: Option<Vec<f64>>,
    /// Matches in which the winner has to beat the known weights; if it does not, the result is the known weights, where one of
    /// the particles begins then. With 0, the winner is the result whatever it is worth.
    pub guard: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            particles: 49,
            topology: Topology::VonNeumann,
            with_self: false,
            method: Method { kind: Kind::Double { seeded: true }, ties: Ties::Knockout },
            competitive: false,
            pull: [2.1, 2.1],
            per_component: true,
            range: [1.0, 99.0],
            matches: 10_000,
            subset: 5,
            start: None,
            guard: 100,
        }
    }
}

/// The factor that keeps a swarm from flying apart, for the sum of its pulls (Clerc and Kennedy 2002).
///
/// # Errors
/// If the sum is not greater than 4: there is none then.
pub fn constriction(sum: f64) -> Result<f64, String> {
    if sum > 4.0 {
        Ok(2.0 / (2.0 - sum - (sum * sum - 4.0 * sum).sqrt()).abs())
    } else {
        Err(format!("the pulls of a swarm must be more than 4 together, not {sum}"))
    }
}

/// What a swarm found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The weights.
    pub weights: Vec<f64>,
    /// Whether they are the weights that were known, because the winner was not better.
    pub is_start: bool,
    /// The winner's points in the guard's matches, of four each.
    pub points: u32,
    /// How many these were.
    pub n_guard: u32,
    /// Matches that were played.
    pub n_matches: u64,
    /// How often particles moved.
    pub n_epochs: u64,
    /// How often a particle's best place was replaced.
    pub n_replaced: u64,
}

/// Looks for `n` weights until another round of matches would be too many.
///
/// # Errors
/// What is wrong with the settings.
pub fn search(n: usize, settings: &Settings, referee: &mut dyn Referee) -> Result<Found, String> {
    let factor = constriction(settings.pull[0] + settings.pull[1])?;
    let [least, most] = settings.range;
    if settings.particles < 2 || least < 0.0 || least > most {
        return Err("a swarm has two particles or more, and weights are not negative".to_owned());
    }
    let known = settings.start.clone().unwrap_or_else(|| vec![(least + most) / 2.0; n]);
    if known.len() != n || known.iter().any(|weight| !(least..=most).contains(weight)) {
        return Err("a swarm needs a known weight within its range for each term, or none".to_owned());
    }
    let mut places = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut place = || (0..n).map(|_| places.random_range(least..=most)).collect::<Vec<f64>>();
    let mut locations: Vec<Vec<f64>> = (0..settings.particles).map(|_| place()).collect();
    if settings.guard > 0 {
        locations[0].clone_from(&known);
    }
    let mut velocities = vec![vec![0.0; n]; settings.particles];
    let neighbors = settings.topology.neighbors(settings.particles, settings.with_self);
    let budget = settings.matches.saturating_sub(u64::from(settings.guard));
    let mut contest = Contest::new(locations.clone(), settings.subset, budget, settings.seed, referee);
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed ^ 0x5eed);
    let (mut n_epochs, mut n_replaced) = (0, 0);
    let mut epoch = |contest: &mut Contest| -> Result<(), Exhausted> {
        let ties = if settings.competitive {
            n_replaced += contest.compete(&locations)?;
            Ties::Random
        } else {
            n_replaced += contest.challenge(&locations)?;
            contest.rank(settings.method)?;
            settings.method.ties
        };
        let bests = contest.best_of(&neighbors, ties)?;
        for particle in 0..locations.len() {
            let (own, near) = (&contest.bests[particle], &contest.bests[bests[particle]]);
            let mut drawn: [f64; 2] = random.random();
            for weight in 0..n {
                if settings.per_component && weight > 0 {
                    drawn = random.random();
                }
                let at = &mut locations[particle][weight];
                let pull = drawn[0] * settings.pull[0] * (own[weight] - *at)
                    + drawn[1] * settings.pull[1] * (near[weight] - *at);
                let velocity = &mut velocities[particle][weight];
                *velocity = factor * (*velocity + pull);
                *at = (*at + *velocity).clamp(least, most);
            }
        }
        n_epochs += 1;
        Ok(())
    };
    // Particles that have all come to rest play no more matches.
    let mut n_played = None;
    while n_played != Some(contest.n_played) && n > 0 {
        n_played = Some(contest.n_played);
        if epoch(&mut contest).is_err() {
            break;
        }
    }
    let winner = contest.bests[contest.winner()].clone();
    let n_matches = contest.n_played;
    let points: u32 = referee.trial(&winner, &known, settings.guard).into_iter().map(Outcome::points).sum();
    let is_start = settings.guard > 0 && points <= 2 * settings.guard;
    Ok(Found {
        weights: if is_start { known } else { winner },
        is_start,
        points,
        n_guard: settings.guard,
        n_matches: n_matches + u64::from(settings.guard),
        n_epochs,
        n_replaced,
    })
}

#[cfg(test)]
mod tests;
