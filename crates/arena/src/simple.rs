//! Contestants that don't think: by chance, and the first legal move.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::contestant::{Clocks, Contestant, Decision, Rules};
use crate::judge::Judge;
use crate::tree::raised;

/// Chooses uniformly among the legal moves.
pub struct Random(Follower<Pcg64Mcg>);

/// Makes the first legal move, in the order of the rules.
#[derive(Default)]
pub struct Legal(Follower<()>);

impl Random {
    /// A contestant with a seed of its own.
    pub fn new(seed: u64) -> Random {
        Random(Follower { chance: Pcg64Mcg::seed_from_u64(seed), seat: None, given_up: Arc::default() })
    }
}

impl Legal {
    /// A contestant.
    pub fn new() -> Legal {
        Legal::default()
    }
}

/// Follows a match and chooses by a number.
#[derive(Default)]
struct Follower<C> {
    chance: C,
    seat: Option<(Judge, usize)>,
    given_up: Arc<AtomicBool>,
}

impl<C> Follower<C> {
    fn start(&mut self, rules: &Rules, role: usize, deadline: Instant) -> Result<(), String> {
        self.seat = None;
        let mut judge = Judge::heeding(rules, Some(deadline), raised(&self.given_up))?;
        // What the first move needs; kept if there is time for it now.
        let _ = judge.legal(role);
        self.seat = Some((judge, role));
        Ok(())
    }

    fn play(
        &mut self,
        last: Option<&[String]>,
        deadline: Instant,
        choose: impl FnOnce(&mut C, usize) -> usize,
    ) -> Result<Decision, String> {
        let (judge, role) = self.seat.as_mut().ok_or("no match has begun")?;
        // A deadline that has passed leaves a little time: so the match is followed even if others took all of ours.
        judge.set_deadline(Some(deadline.max(Instant::now() + LEAST)));
        if let Some(last) = last {
            judge.make(last)?;
        }
        let mut legal = judge.legal(*role)?;
        if legal.is_empty() {
            return Err("there is no legal move".to_owned());
        }
        let chosen = legal.swap_remove(choose(&mut self.chance, legal.len()));
        Ok(Decision { chosen, why: None })
    }
}

/// What following the rules may take where the deadline has passed.
const LEAST: std::time::Duration = std::time::Duration::from_millis(50);

impl Contestant for Random {
    fn name(&self) -> String {
        "random".to_owned()
    }

    fn start(&mut self, rules: &Rules, role: usize, _: Clocks, deadline: Instant) -> Result<(), String> {
        self.0.start(rules, role, deadline)
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        self.0.play(last, deadline, |random, n| random.random_range(0..n))
    }

    fn stop(&mut self, _: Option<&[String]>) {
        self.0.seat = None;
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.0.given_up = given_up;
    }
}

impl Contestant for Legal {
    fn name(&self) -> String {
        "legal".to_owned()
    }

    fn start(&mut self, rules: &Rules, role: usize, _: Clocks, deadline: Instant) -> Result<(), String> {
        self.0.start(rules, role, deadline)
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        self.0.play(last, deadline, |_, _| 0)
    }

    fn stop(&mut self, _: Option<&[String]>) {
        self.0.seat = None;
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.0.given_up = given_up;
    }
}
