//! Tournaments among the best places of a swarm.
//!
//! What a match has shown is remembered until one of the two players is replaced. A match that ends even is decided by
//! chance, and so remembered.

use std::str::FromStr;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;

use super::Referee;

/// Who meets whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each meets some others, drawn anew each time.
    RandomSubset,
    /// Each meets some others, always the same.
    FixedSubset,
    /// Each meets each other.
    RoundRobin,
    /// Who loses leaves. With seeds, the first of the last ranks meets the last, and so on; else chance decides.
    #[allow(missing_docs)]
    Knockout { seeded: bool },
    /// Who loses twice leaves; in the end the only one without a loss meets the only one left with one, once.
    #[allow(missing_docs)]
    Double { seeded: bool },
}

/// What decides between neighbours of the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ties {
    Random,
    Knockout,
}

/// A kind of tournament with what decides between equals. It is named by letters: `RS`, `FS`, `RR`, or `K` or `D` with `R` or `S`
/// for pairs by chance or seeds; then `R` or `K` for the ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Method {
    pub kind: Kind,
    pub ties: Ties,
}

impl Method {
    /// All fourteen.
    pub fn all() -> Vec<Method> {
        let kinds = [Kind::RandomSubset, Kind::FixedSubset, Kind::RoundRobin].into_iter();
        let kinds = kinds.chain([false, true].map(|seeded| Kind::Knockout { seeded }));
        let kinds = kinds.chain([false, true].map(|seeded| Kind::Double { seeded }));
        kinds.flat_map(|kind| [Ties::Random, Ties::Knockout].map(|ties| Method { kind, ties })).collect()
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::RandomSubset => "RS",
            Kind::FixedSubset => "FS",
            Kind::RoundRobin => "RR",
            Kind::Knockout { seeded: false } => "KR",
            Kind::Knockout { seeded: true } => "KS",
            Kind::Double { seeded: false } => "DR",
            Kind::Double { seeded: true } => "DS",
        };
        write!(out, "{kind}{}", if self.ties == Ties::Random { 'R' } else { 'K' })
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Method, String> {
        let mut all = Method::all().into_iter();
        all.find(|method| method.to_string() == name).ok_or_else(|| format!("`{name}` is no tournament method"))
    }
}

/// The next matches would be more than may be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The best places of a swarm, and what is known of them.
pub struct Contest<'a> {
    /// The best places.
    pub bests: Vec<Vec<f64>>,
    /// For each, how many are better.
    pub ranks: Vec<usize>,
    /// Matches that were played.
    pub n_played: u64,
    /// Times that two met in tournaments, whether they had to play or not.
    pub n_meetings: u64,
    /// The winner of each pair that has played, the lower number first.
    cache: FxHashMap<(usize, usize), usize>,
    /// Whether a best place has changed since they were ranked.
    is_stale: bool,
    champion: usize,
    opponents: Vec<Vec<usize>>,
    subset: usize,
    budget: u64,
    random: Pcg64Mcg,
    referee: &'a mut dyn Referee,
}

type Winners = Result<Vec<usize>, Exhausted>;

impl<'a> Contest<'a> {
    /// Nothing is known yet; ranks are drawn.
    pub fn new(
        bests: Vec<Vec<f64>>,
        subset: usize,
        budget: u64,
        seed: u64,
        referee: &'a mut dyn Referee,
    ) -> Contest<'a> {
        let n = bests.len();
        let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0x70a7);
        let mut ranks: Vec<usize> = (0..n).collect();
        ranks.shuffle(&mut random);
        let champion = ranks.iter().position(|&rank| rank == 0).expect("a swarm has particles");
        let mut contest = Contest {
            bests,
            ranks,
            n_played: 0,
            n_meetings: 0,
            cache: FxHashMap::default(),
            is_stale: true,
            champion,
            opponents: Vec::new(),
            subset: subset.min(n - 1),
            budget,
            random,
            referee,
        };
        contest.opponents = contest.draw(n);
        contest
    }

    /// The older way (Messerschmidt and Engelbrecht 2004): each location and each best place meets some of all the others, drawn
    /// anew; a win is a point and a loss one less, for both who meet. Locations with more points than their best places replace
    /// them, and points are ranks. Nothing is remembered. Returns how many were replaced.
    pub fn compete(&mut self, locations: &[Vec<f64>]) -> Result<u64, Exhausted> {
        let n = self.bests.len();
        let drawn = self.draw(2 * n);
        let pairs = drawn.iter().enumerate().flat_map(|(own, others)| others.iter().map(move |&other| (own, other)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        self.n_played = affordable(self.n_played, pairs.len(), self.budget)?;
        let all: Vec<&[f64]> = locations.iter().chain(&self.bests).map(Vec::as_slice).collect();
        let matches: Vec<(&[f64], &[f64])> = pairs.iter().map(|&(one, other)| (all[one], all[other])).collect();
        let mut points = vec![0i64; 2 * n];
        for (&(one, other), outcome) in pairs.iter().zip(self.referee.play(&matches)) {
            let result = (i64::from(outcome.points()) - 2).signum();
            points[one] += result;
            points[other] -= result;
        }
        let bests = points.split_off(n);
        let better: Vec<usize> = (0..n).filter(|&own| points[own] > bests[own]).collect();
        better.iter().for_each(|&own| self.replace(own, locations[own].clone()));
        let points: Vec<i64> = points.into_iter().zip(bests).map(|(one, other)| one.max(other)).collect();
        self.ranks = ranks(&points);
        let first: Vec<usize> = (0..n).filter(|&own| self.ranks[own] == 0).collect();
        self.champion = first[self.random.random_range(0..first.len())];
        Ok(better.len() as u64)
    }

    /// Lets each particle's location play against its best place, and replaces those that lose both games. Returns how
    /// many.
    pub fn challenge(&mut self, locations: &[Vec<f64>]) -> Result<u64, Exhausted> {
        let away: Vec<usize> = (0..locations.len()).filter(|&own| locations[own] != self.bests[own]).collect();
        let matches: Vec<(&[f64], &[f64])> =
            away.iter().map(|&own| (locations[own].as_slice(), self.bests[own].as_slice())).collect();
        self.n_played = affordable(self.n_played, matches.len(), self.budget)?;
        let outcomes = self.referee.play(&matches);
        let replaced: Vec<usize> =
            away.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_clear()).map(|(&own, _)| own).collect();
        for &own in &replaced {
            self.replace(own, locations[own].clone());
        }
        Ok(replaced.len() as u64)
    }

    /// Puts another place in the place of a best one, which keeps its rank until the next tournament.
    pub fn replace(&mut self, own: usize, best: Vec<f64>) {
        self.bests[own] = best;
        self.cache.retain(|&(one, other), _| one != own && other != own);
        self.is_stale = true;
    }

    /// How many pairs need not play.
    pub fn n_known(&self) -> usize {
        self.cache.len()
    }

    /// The best of the last tournament.
    pub fn winner(&self) -> usize {
        self.champion
    }

    /// Ranks the best places by a tournament, if one of them has changed.
    pub fn rank(&mut self, method: Method) -> Result<(), Exhausted> {
        if !self.is_stale {
            return Ok(());
        }
        let n = self.bests.len();
        // What each has achieved: points, or how late it left.
        let mut merits = vec![0usize; n];
        match method.kind {
            Kind::RoundRobin => {
                let pairs: Vec<_> = (0..n).flat_map(|one| (one + 1..n).map(move |other| (one, other))).collect();
                self.meet(&pairs)?.into_iter().for_each(|winner| merits[winner] += 1);
            }
            Kind::RandomSubset | Kind::FixedSubset => {
                if method.kind == Kind::RandomSubset {
                    self.opponents = self.draw(n);
                }
                let of = |(own, others): (usize, &Vec<usize>)| others.iter().map(move |&other| (own, other)).collect();
                let pairs: Vec<Vec<(usize, usize)>> = self.opponents.iter().enumerate().map(of).collect();
                let pairs = pairs.concat();
                let winners = self.meet(&pairs)?;
                pairs.iter().zip(winners).for_each(|(&(own, _), winner)| merits[own] += usize::from(winner == own));
            }
            Kind::Knockout { seeded } => self.knockout(seeded, &mut merits)?,
            Kind::Double { seeded } => self.double(seeded, &mut merits)?,
        }
        // Of several that have most, one wins.
        let most = merits.iter().max().copied().unwrap_or(0);
        let first: Vec<usize> = (0..n).filter(|&own| merits[own] == most).collect();
        self.champion = self.knockouts(vec![first])?[0];
        merits[self.champion] += 1;
        self.ranks = ranks(&merits);
        self.is_stale = false;
        Ok(())
    }

    /// The best ranked of each group.
    pub fn best_of(&mut self, groups: &[Vec<usize>], ties: Ties) -> Winners {
        let first = |group: &Vec<usize>| -> Vec<usize> {
            let best = group.iter().map(|&own| self.ranks[own]).min();
            group.iter().copied().filter(|&own| Some(self.ranks[own]) == best).collect()
        };
        let equals: Vec<Vec<usize>> = groups.iter().map(first).collect();
        match ties {
            Ties::Knockout => self.knockouts(equals),
            Ties::Random => Ok(equals.iter().map(|all| all[self.random.random_range(0..all.len())]).collect()),
        }
    }

    /// Some others for each of `n`.
    fn draw(&mut self, n: usize) -> Vec<Vec<usize>> {
        let mut of = |own: usize| {
            let mut others: Vec<usize> = (0..n).filter(|&other| other != own).collect();
            others.shuffle(&mut self.random);
            others.truncate(self.subset);
            others
        };
        (0..n).map(&mut of).collect()
    }

    /// The winners of some pairs; those play that have not.
    fn meet(&mut self, pairs: &[(usize, usize)]) -> Winners {
        let key = |&(one, other): &(usize, usize)| (one.min(other), one.max(other));
        let mut new: Vec<(usize, usize)> =
            pairs.iter().map(key).filter(|pair| !self.cache.contains_key(pair)).collect();
        new.sort_unstable();
        new.dedup();
        self.n_played = affordable(self.n_played, new.len(), self.budget)?;
        self.n_meetings += pairs.len() as u64;
        let bests = &self.bests;
        let matches: Vec<(&[f64], &[f64])> =
            new.iter().map(|&(one, other)| (bests[one].as_slice(), bests[other].as_slice())).collect();
        for (&(one, other), outcome) in new.iter().zip(self.referee.play(&matches)) {
            let first_wins = match outcome.points() {
                2 => self.random.random(),
                points => points > 2,
            };
            self.cache.insert((one, other), if first_wins { one } else { other });
        }
        Ok(pairs.iter().map(|pair| self.cache[&key(pair)]).collect())
    }

    /// The order in which players are paired: by rank, or by chance.
    fn order(&mut self, players: &mut [usize], seeded: bool) {
        players.shuffle(&mut self.random);
        if seeded {
            players.sort_by_key(|&own| self.ranks[own]);
        }
    }

    /// Lets players meet in pairs, the first with the last; of an odd number, the first need not. Returns who stays and who
    /// has lost.
    fn round(&mut self, mut players: Vec<usize>, seeded: bool) -> Result<[Vec<usize>; 2], Exhausted> {
        self.order(&mut players, seeded);
        let free = players.len() % 2;
        let n_pairs = players.len() / 2;
        let pairs: Vec<_> = (0..n_pairs).map(|at| (players[free + at], players[players.len() - 1 - at])).collect();
        let winners = self.meet(&pairs)?;
        let lost = pairs.iter().zip(&winners).map(|(&(one, other), &winner)| one + other - winner).collect();
        players.truncate(free);
        Ok([players.into_iter().chain(winners).collect(), lost])
    }

    fn knockout(&mut self, seeded: bool, merits: &mut [usize]) -> Result<(), Exhausted> {
        let mut players: Vec<usize> = (0..self.bests.len()).collect();
        while players.len() > 1 {
            [players, _] = self.round(players, seeded)?;
            players.iter().for_each(|&own| merits[own] += 1);
        }
        Ok(())
    }

    fn double(&mut self, seeded: bool, merits: &mut [usize]) -> Result<(), Exhausted> {
        let stay = |all: &[&[usize]], merits: &mut [usize]| all.concat().iter().for_each(|&own| merits[own] += 1);
        let [mut winners, mut losers] = self.round((0..self.bests.len()).collect(), seeded)?;
        while winners.len() > 1 {
            // Those with one loss meet each other, and then those who have just lost for the first time.
            [losers, _] = self.round(losers, seeded)?;
            stay(&[&winners, &losers], merits);
            let mut new;
            [winners, new] = self.round(winners, seeded)?;
            self.order(&mut losers, seeded);
            self.order(&mut new, seeded);
            // The first of the longer side need not play.
            let n_pairs = losers.len().min(new.len());
            let (free_losers, free_new) = (losers.len() - n_pairs, new.len() - n_pairs);
            let pairs: Vec<_> =
                losers[free_losers..].iter().copied().zip(new[free_new..].iter().rev().copied()).collect();
            let met = self.meet(&pairs)?;
            losers.truncate(free_losers);
            losers.extend(new[..free_new].iter().copied().chain(met));
            stay(&[&winners, &losers], merits);
        }
        while losers.len() > 1 {
            [losers, _] = self.round(losers, seeded)?;
            stay(&[&winners, &losers], merits);
        }
        if let (&[one], &[other]) = (&winners[..], &losers[..]) {
            let winner = self.meet(&[(one, other)])?[0];
            merits[winner] += 1;
        }
        Ok(())
    }

    /// The winner of a knockout by chance in each of some groups, side by side.
    fn knockouts(&mut self, mut groups: Vec<Vec<usize>>) -> Winners {
        groups.iter_mut().for_each(|group| group.shuffle(&mut self.random));
        while groups.iter().any(|group| group.len() > 1) {
            let pairs: Vec<(usize, usize)> =
                groups.iter().flat_map(|group| group.chunks_exact(2).map(|pair| (pair[0], pair[1]))).collect();
            let mut winners = self.meet(&pairs)?.into_iter();
            for group in &mut groups {
                let free = (group.len() % 2 == 1).then(|| group[group.len() - 1]);
                let n_pairs = group.len() / 2;
                group.clear();
                group.extend(free.into_iter().chain(winners.by_ref().take(n_pairs)));
            }
        }
        Ok(groups.into_iter().map(|group| group[0]).collect())
    }
}

/// How many have more merits than each.
fn ranks<T: PartialOrd>(merits: &[T]) -> Vec<usize> {
    merits.iter().map(|merit| merits.iter().filter(|other| *other > merit).count()).collect()
}

/// The number of matches played after some more, if there may be so many.
fn affordable(n_played: u64, more: usize, budget: u64) -> Result<u64, Exhausted> {
    let after = n_played + more as u64;
    if after <= budget { Ok(after) } else { Err(Exhausted) }
}
