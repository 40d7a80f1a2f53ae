//! A contestant that gets the rules under meaningless names.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use insight::scramble::{RoleOrder, scramble};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::contestant::{Clocks, Contestant, Decision, Rules};
use crate::term;

/// Stands between a referee and a contestant, and translates.
pub struct Scrambled {
    inner: Box<dyn Contestant>,
    random: Pcg64Mcg,
    there: HashMap<String, String>,
    back: HashMap<String, String>,
}

impl Scrambled {
    /// The contestant behind new names, other ones for each match.
    pub fn new(inner: Box<dyn Contestant>, seed: u64) -> Scrambled {
        Scrambled { inner, random: Pcg64Mcg::seed_from_u64(seed), there: HashMap::new(), back: HashMap::new() }
    }

    fn joint(&self, last: Option<&[String]>) -> Option<Vec<String>> {
        let translate = |text: &String| term::renamed(text, |word| self.there.get(&word.to_lowercase()).cloned());
        last.map(|joint| joint.iter().map(translate).collect())
    }
}

impl Contestant for Scrambled {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn start(&mut self, rules: &Rules, role: usize, clocks: Clocks, deadline: Instant) -> Result<(), String> {
        let program = &rules.reading.program;
        let scrambled = scramble(program, RoleOrder::Kept, &mut self.random);
        self.there.clear();
        self.back.clear();
        for (old, new) in &scrambled.names {
            self.there.insert(program.symbols.lower(*old).to_owned(), new.to_lowercase());
            self.back.insert(new.to_lowercase(), program.symbols.name(*old).to_owned());
        }
        self.inner.start(&Rules::read("scrambled", &scrambled.text), role, clocks, deadline)
    }

    fn play(&mut self, last: Option<&[String]>, deadline: Instant) -> Result<Decision, String> {
        let last = self.joint(last);
        let decision = self.inner.play(last.as_deref(), deadline)?;
        let back = |text: &str| term::renamed(text, |word| self.back.get(&word.to_lowercase()).cloned());
        Ok(Decision { chosen: back(&decision.chosen), why: decision.why.as_deref().map(back) })
    }

    fn stop(&mut self, last: Option<&[String]>) {
        let last = self.joint(last);
        self.inner.stop(last.as_deref());
    }

    fn heed(&mut self, given_up: Arc<AtomicBool>) {
        self.inner.heed(given_up);
    }
}
