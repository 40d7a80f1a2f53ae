//! Matches of a model with itself, to learn from: many at once, looking one move ahead.
//!
//! All successors of the current states of some hundred matches are judged together on the lane machine, so that a position costs
//! microseconds. A role takes the move that promises it most; where several roles choose at once, each plays by regret
//! matching on what their joint moves promise. Some moves are left to chance.

use std::ops::Range;
use std::sync::Arc;

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::match_play::on_threads;
use search::simultaneous::{joint_moves, mix};
use search::{Evaluate, Fan};

use crate::model::{Model, Opinion};
use crate::record::Record as Recorded;
use crate::sight::{Rows, Sight};

/// How matches are played.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Settings {
    /// All chance comes from this.
    #[serde(skip)]
    pub seed: u64,
    /// Matches.
    #[serde(skip)]
    pub matches: u32,
    /// The most joint moves of an opening by chance; its length is drawn for each match.
    pub opening: u32,
    /// States of the game's own network in which matches begin, one drawn for each; if there are none, all begin as the rules say.
    #[serde(skip)]
    pub starts: Arc<[Box<[u64]>]>,
    /// How often a move is left to chance later on.
    pub chance: f64,
    /// Joint moves in a match; longer ones are given up.
    pub plies: u32,
    /// How much of what is to be learned of a position comes from the next one rather than from what its best move promised.
    pub lambda: f32,
    /// Threads; they change nothing in the result.
    #[serde(skip)]
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            matches: 200,
            opening: 8,
            starts: Arc::new([]),
            chance: 0.1,
            plies: 400,
            lambda: 0.95,
            threads: 1,
        }
    }
}

/// What came of matches.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// What is seen in the positions after the openings.
    pub rows: Rows,
    /// For each of them and each role what is to be predicted, from 0 to 1.
    pub targets: Vec<f32>,
    /// Where each of them was met.
    pub met: Vec<Met>,
    /// Matches played to their end.
    pub n_ended: u32,
    /// States judged.
    pub n_judged: u64,
}

/// Where a position was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// The state of the sight's network.
    pub state: Vec<u64>,
    /// The match, counted from 0 in each call of [`play`].
    pub number: u32,
    /// How many joint moves were made before.
    pub step: u32,
    /// The one role that had a choice.
    pub mover: Option<u8>,
}

impl Played {
    /// The positions as records, of the game's own network; numbers of matches begin with this one.
    pub fn records<'a>(&'a self, sight: &'a Sight, first: u32) -> impl Iterator<Item = Recorded> + 'a {
        let targets = self.targets.chunks((self.targets.len() / self.met.len().max(1)).max(1));
        self.met.iter().zip(targets).map(move |(met, targets)| Recorded {
            state: sight.views.game_state(&met.state),
            mover: met.mover,
            targets: targets.iter().map(|&target| Some(target)).collect(),
            number: first + met.number,
            step: met.step,
        })
    }
}

/// Matches that are played together, at least and at most; if there are enough, there are eight parts for threads.
const TOGETHER: (u32, u32) = (16, 128);
const PARTS: u32 = 8;
/// Where several roles choose, so many joint moves are looked at, about.
const JOINT: usize = 64;
/// Rounds of regret matching.
const ROUNDS: usize = 40;

/// Plays matches. `stop` ends all early, and then matches are missing.
pub fn play(model: &Arc<Model>, settings: &Settings, stop: &(dyn Fn() -> bool + Sync)) -> Played {
    let units = in_parts(settings, |matches| (!stop()).then(|| Together::new(model, settings, matches).play(stop)));
    let mut played = Played::default();
    for unit in units {
        played.rows.append(unit.rows);
        played.targets.extend(unit.targets);
        played.met.extend(unit.met);
        played.n_ended += unit.n_ended;
        played.n_judged += unit.n_judged;
    }
    played
}

/// The part of the points that a model gets against another one with the same sight, both one move ahead and with some moves by
/// chance; roles are taken by turns. `None` if no match ended, or if `stop` said so before all did.
pub fn contest(
    one: &Arc<Model>,
    other: &Arc<Model>,
    settings: &Settings,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<f32> {
    let units = in_parts(settings, |matches| {
        let mut together = Together::new(one, settings, matches);
        together.opinions.push(other.opinion());
        together.run(stop);
        Some(together.points())
    });
    if stop() {
        return None;
    }
    let (own, all) = units.iter().fold((0.0, 0.0), |sum, unit| (sum.0 + unit.0, sum.1 + unit.1));
    (all > 0.0).then_some(own / all)
}

/// Does something with all matches, some of them at once; what came of it is in order.
fn in_parts<T: Send>(settings: &Settings, one: impl Fn(Range<u32>) -> Option<T> + Sync) -> Vec<T> {
    let together = settings.matches.div_ceil(PARTS).clamp(TOGETHER.0, TOGETHER.1);
    let part = |(): &mut (), number: u32| one(number * together..settings.matches.min((number + 1) * together));
    on_threads(0..settings.matches.div_ceil(together), settings.threads, || (), part)
}

/// How a match went.
#[derive(Default)]
struct Record {
    /// The role of the first model, where there are two.
    seat: usize,
    /// What was met after the opening.
    steps: Vec<Step>,
    /// The results, if it was played to its end.
    results: Option<Vec<f32>>,
}

struct Step {
    /// A state of the sight's network, and where it was met.
    met: Met,
    /// What each role could expect, if somebody had a choice.
    expected: Option<Vec<f32>>,
    /// Whether the move made was not the one that promised most.
    by_chance: bool,
}

/// A match under way.
struct Slot {
    number: usize,
    /// The role of the first model, where there are two.
    seat: usize,
    random: Pcg64Mcg,
    opening: u32,
    ply: u32,
    state: Vec<u64>,
}

impl Slot {
    /// Which model plays a role.
    fn side(&self, role: usize, n_sides: usize) -> usize {
        usize::from(n_sides > 1 && role != self.seat)
    }
}

/// Matches that are played together.
struct Together<'a> {
    settings: &'a Settings,
    fan: Fan,
    /// What is thought of positions: by the one model that plays all roles, or by two that play against each other.
    opinions: Vec<Opinion>,
    sight: Arc<Sight>,
    /// The number of the first match.
    first: u32,
    slots: Vec<Slot>,
    records: Vec<Record>,
    n_judged: u64,
}

/// What is looked at in one state.
struct Choice {
    /// The first of its joint moves among all, and how many there are.
    first: usize,
    n: usize,
    /// How many roles choose, and one of them.
    n_choosers: usize,
    chooser: usize,
}

/// A joint move that is made.
#[derive(Default)]
struct Made {
    /// Its place among those whose successors are known.
    at: usize,
    /// The move itself, if its successor is not known yet.
    joint: Option<Vec<u32>>,
    /// What each role could expect, if somebody had a choice.
    expected: Option<Vec<f32>>,
    by_chance: bool,
}

impl<'a> Together<'a> {
    fn new(model: &'a Arc<Model>, settings: &'a Settings, matches: Range<u32>) -> Together<'a> {
        let compiled = &model.sight.lanes;
        let n_roles = model.sight.game.universe.roles.len();
        let initial = machine::lanes::Lanes::new(compiled.clone()).store(0);
        let slot = |(place, number): (usize, u32)| {
            let seed = settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(number));
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let opening = random.random_range(0..=settings.opening);
            let seat = number as usize % n_roles;
            let state = match settings.starts.len() {
                0 => initial.to_vec(),
                n => model.sight.views.state(&settings.starts[random.random_range(0..n)]),
            };
            Slot { number: place, seat, random, opening, ply: 0, state }
        };
        let first = matches.start;
        let slots: Vec<Slot> = matches.enumerate().map(slot).collect();
        let records = slots.iter().map(|slot| Record { seat: slot.seat, ..Record::default() }).collect();
        Together {
            settings,
            fan: Fan::new(compiled.clone()),
            opinions: vec![model.opinion()],
            sight: model.sight.clone(),
            first,
            slots,
            records,
            n_judged: 0,
        }
    }

    fn run(&mut self, stop: &dyn Fn() -> bool) {
        while !self.slots.is_empty() && !stop() {
            self.step();
        }
    }

    /// The points of the first model, and those of it and of one of the others.
    fn points(&self) -> (f32, f32) {
        let n_roles = self.fan.n_roles();
        let mut points = (0.0, 0.0);
        for (seat, results) in self.records.iter().filter_map(|record| Some((record.seat, record.results.as_ref()?))) {
            let own = results[seat];
            let others = (results.iter().sum::<f32>() - own) / (n_roles.max(2) - 1) as f32;
            points = (points.0 + own, points.1 + own + others);
        }
        points
    }

    fn play(mut self, stop: &dyn Fn() -> bool) -> Played {
        self.run(stop);
        let (mut met, mut targets, mut n_ended) = (Vec::new(), Vec::new(), 0);
        for record in std::mem::take(&mut self.records) {
            n_ended += u32::from(record.results.is_some());
            // From the last position to the first: what was to be expected there. A match that was given up counts for what its
            // last position promised.
            let last = || record.steps.last().and_then(|step| step.expected.as_ref());
            let Some(mut target) = record.results.as_ref().or_else(last).cloned() else { continue };
            for step in record.steps.into_iter().rev() {
                if let Some(expected) = &step.expected {
                    let rest = if step.by_chance { 0.0 } else { self.settings.lambda };
                    target.iter_mut().zip(expected).for_each(|(next, own)| *next = rest * *next + (1.0 - rest) * own);
                }
                met.push(step.met);
                targets.extend_from_slice(&target);
            }
        }
        let states: Vec<&[u64]> = met.iter().map(|met| &met.state[..]).collect();
        Played { rows: self.sight.own_rows(&states), targets, met, n_ended, n_judged: self.n_judged }
    }

    /// One joint move in every match.
    fn step(&mut self) {
        let n_roles = self.fan.n_roles();
        // Step 1. Matches that are over, and what may be done in the others.
        let mut results = Vec::new();
        let states: Vec<&[u64]> = self.slots.iter().map(|slot| &slot.state[..]).collect();
        self.fan.look(&states, &mut results);
        let mut joints: Vec<u32> = Vec::new();
        let mut parents: Vec<usize> = Vec::new();
        let mut choices: Vec<Option<Choice>> = Vec::new();
        for (place, slot) in self.slots.iter_mut().enumerate() {
            let results = &results[place * n_roles..(place + 1) * n_roles];
            let legal = self.fan.legal(place);
            let record = &mut self.records[slot.number];
            if !results[0].is_nan() {
                record.results = Some(results.to_vec());
                choices.push(None);
                continue;
            }
            if slot.ply >= self.settings.plies || legal.iter().any(Vec::is_empty) {
                choices.push(None);
                continue;
            }
            let first = parents.len();
            let n_choosers = legal.iter().filter(|moves| moves.len() > 1).count();
            let chooser = legal.iter().position(|moves| moves.len() > 1).unwrap_or(0);
            if slot.ply < slot.opening {
                joints.extend(legal.iter().map(|moves| moves[slot.random.random_range(0..moves.len())]));
                parents.push(place);
                choices.push(Some(Choice { first, n: 1, n_choosers: 0, chooser }));
                continue;
            }
            joint_moves(legal, JOINT, &mut slot.random, &mut joints);
            parents.resize(joints.len() / n_roles, place);
            choices.push(Some(Choice { first, n: parents.len() - first, n_choosers, chooser }));
        }
        // Step 2. What follows, and what it is worth.
        let (mut next, mut values) = (Vec::new(), Vec::new());
        let steps =
            parents.iter().zip(joints.chunks(n_roles)).map(|(&place, joint)| (&self.slots[place].state[..], joint));
        self.fan.follow(steps, &mut next, &mut values);
        let n_words = self.fan.n_words();
        let mut values_of: Vec<Vec<f32>> = Vec::new();
        let n_sides = self.opinions.len();
        for (side, opinion) in self.opinions.iter_mut().enumerate() {
            // Who chooses alone need not know what the other thinks.
            let is_asked = |at: usize| match &choices[parents[at]] {
                Some(Choice { n_choosers: 1, chooser, .. }) => self.slots[parents[at]].side(*chooser, n_sides) == side,
                Some(choice) => choice.n_choosers > 1,
                None => false,
            };
            let open: Vec<usize> =
                (0..parents.len()).filter(|&at| values[at * n_roles].is_nan() && is_asked(at)).collect();
            let states: Vec<&[u64]> = open.iter().map(|&at| &next[at * n_words..(at + 1) * n_words]).collect();
            self.n_judged += states.len() as u64;
            let mut judged = Vec::new();
            opinion.values(&states, &mut judged);
            let mut own = values.clone();
            for (&at, judged) in open.iter().zip(judged.chunks(n_roles)) {
                own[at * n_roles..(at + 1) * n_roles].copy_from_slice(judged);
            }
            values_of.push(own);
        }
        // Step 3. The choices.
        let mut made: Vec<Made> = Vec::with_capacity(self.slots.len());
        for (slot, choice) in self.slots.iter_mut().zip(&choices) {
            let Some(choice) = choice else {
                made.push(Made::default());
                continue;
            };
            let own = choice.first * n_roles..(choice.first + choice.n) * n_roles;
            let (joints, seat) = (&joints[own.clone()], slot.seat);
            let (chance, side) = (self.settings.chance, slot.side(choice.chooser, n_sides));
            let mut decide =
                |side: usize| decide(joints, &values_of[side][own.clone()], n_roles, choice, chance, &mut slot.random);
            let (chosen, expected, by_chance) = match choice.n_choosers {
                0 => (0, None, false),
                1 => decide(side),
                _ if n_sides == 1 => decide(0),
                _ => {
                    // Each role makes its part of the joint move that its side decides on.
                    let (one, other) = (decide(0), decide(1));
                    let part = |role: usize| if seat == role { one.0 } else { other.0 };
                    let wanted: Vec<u32> = (0..n_roles).map(|role| joints[part(role) * n_roles + role]).collect();
                    match joints.chunks(n_roles).position(|joint| joint == wanted) {
                        Some(chosen) => (chosen, one.1, one.2),
                        None => {
                            made.push(Made {
                                joint: Some(wanted),
                                expected: one.1,
                                by_chance: one.2,
                                ..Made::default()
                            });
                            continue;
                        }
                    }
                }
            };
            made.push(Made { at: choice.first + chosen, joint: None, expected, by_chance });
        }
        // Step 4. Joint moves that nobody has looked at, since only some were: what follows them.
        let new =
            self.slots.iter().zip(&made).filter_map(|(slot, made)| Some((&slot.state[..], made.joint.as_deref()?)));
        self.fan.follow(new, &mut next, &mut values);
        for (at, made) in (parents.len()..).zip(made.iter_mut().filter(|made| made.joint.is_some())) {
            made.at = at;
        }
        // Step 5. They are made.
        for ((slot, choice), made) in self.slots.iter_mut().zip(&choices).zip(made) {
            let Some(choice) = choice else { continue };
            if slot.ply >= slot.opening {
                let mover = (choice.n_choosers == 1).then_some(choice.chooser as u8);
                let number = self.first + slot.number as u32;
                let met = Met { state: slot.state.clone(), number, step: slot.ply, mover };
                let step = Step { met, expected: made.expected, by_chance: made.by_chance };
                self.records[slot.number].steps.push(step);
            }
            slot.state.copy_from_slice(&next[made.at * n_words..(made.at + 1) * n_words]);
            slot.ply += 1;
        }
        let mut choices = choices.iter();
        self.slots.retain(|_| choices.next().expect("each has one").is_some());
    }
}

/// The number of the joint move that is made, what each role may expect, and whether chance decided.
fn decide(
    joints: &[u32],
    values: &[f32],
    n_roles: usize,
    choice: &Choice,
    chance: f64,
    random: &mut impl Rng,
) -> (usize, Option<Vec<f32>>, bool) {
    let n = joints.len() / n_roles;
    let of = |at: usize| &values[at * n_roles..(at + 1) * n_roles];
    if choice.n_choosers == 1 {
        let chooser = choice.chooser;
        let first = random.random_range(0..n);
        let order = (first..n).chain(0..first);
        let best = order.reduce(|best, at| if of(at)[chooser] > of(best)[chooser] { at } else { best });
        let best = best.expect("there is a move");
        let by_chance = random.random::<f64>() < chance;
        let made = if by_chance { random.random_range(0..n) } else { best };
        return (made, Some(of(best).to_vec()), by_chance && made != best);
    }
    let mixed = mix(joints, values, n_roles, ROUNDS);
    let by_chance = random.random::<f64>() < chance;
    if by_chance {
        return (random.random_range(0..n), Some(mixed.values), true);
    }
    let mut left: f32 = random.random::<f32>() * mixed.parts.iter().sum::<f32>();
    let drawn = mixed.parts.iter().position(|part| {
        left -= part;
        left < 0.0
    });
    (drawn.unwrap_or(0), Some(mixed.values), false)
}

#[cfg(test)]
mod tests {
    use features::feature;
    use features::game::Game;

    use super::*;
    use crate::model::{Sum, Weights};
    use crate::stage::Stages;

    /// Two roles name one of 20 numbers at the same time. One model likes the last number, the other one avoids it. Of 400 joint moves only
    /// some are looked at; still each model moves for its own role, though the pair that they want is mostly not among those.
    #[test]
    fn two_models_move_for_themselves() {
        let numbers: String = (1..=20).map(|number| format!("(number n{number})")).collect();
        let text = format!(
            "(role left) (role right) {numbers} (init (step s0))
             (<= (legal ?r (name ?n)) (role ?r) (number ?n) (true (step s0)))
             (<= (legal ?r wait) (role ?r) (true (step s1)))
             (<= (next (step s1)) (true (step s0)))
             (<= (next (step s2)) (true (step s1)))
             (<= (next (named ?r ?n)) (does ?r (name ?n)))
             (<= (next (named ?r ?n)) (true (named ?r ?n)))
             (<= terminal (true (step s2)))
             (<= (goal left 100) (true (named left n20))) (<= (goal left 0) (not (true (named left n20))))
             (<= (goal right 0) (true (named left n20))) (<= (goal right 100) (not (true (named left n20))))"
        );
        let game = Arc::new(Game::new(gdl::read("numbers", text.as_bytes()).program, 1).expect("it has a network"));
        let model = |weight: f32| {
            let features = ["(count () (true (named left n20)))", "(count () (true (named right n20)))"];
            let list = features.map(|text| feature::read(text, &game.program.symbols).expect("a feature")).to_vec();
            let sight = Sight::new(game.clone(), list, None, &Stages::default()).expect("it compiles");
            let features = vec![vec![weight, -weight]];
            let weights = Weights { bias: vec![0.0], features, slots: vec![Vec::new()] };
            Arc::new(Model::new(Arc::new(sight), vec![weights], Sum::Shared))
        };
        let (likes, avoids) = (model(5.0), model(-5.0));
        let settings = Settings { opening: 0, chance: 0.0, ..Settings::default() };
        let mut together = Together::new(&likes, &settings, 0..200);
        together.opinions.push(avoids.opinion());
        together.step();
        let network = &likes.sight.views.network;
        // How often each of the two named the last number.
        let mut n_named = [0; 2];
        for slot in &together.slots {
            for (role, name) in ["left", "right"].into_iter().enumerate() {
                let is_it = |fluent: &gdl::TermId| {
                    let text = network.name(*fluent);
                    text.contains("named") && text.contains(name) && text.contains("n20")
                };
                let fluent = network.fluents.iter().position(is_it).expect("a fluent");
                if slot.state[fluent / 64] >> (fluent % 64) & 1 == 1 {
                    n_named[slot.side(role, 2)] += 1;
                }
            }
        }
        assert!(n_named[0] >= 20 && n_named[1] <= 4, "{n_named:?} of 200");
    }
}
