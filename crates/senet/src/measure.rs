//! What a model is worth: matches against simple players, with intervals.
//!
//! Every comparison is a numbered list of matches. The number says which seat the model has, how the match is opened and what
//! both players' chances are; so matches can be kept one by one, and a comparison that was interrupted goes on. The seats of an
//! opening are taken in turn, and a comparison ends only after whole turns. Openings are some moves by chance, all of them
//! different as far as there are so many; against random play, and alone, a match begins at its beginning.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use features::game::Game;
use learn::course::Course;
use learn::model::Model;
use learn::player::{self, Search};
use machine::{lanes, scalar};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::statistics::{Interval, Sprt};
use search::{Answer, Fuzzy, Greedy, Limit, Player, Random, Uct, exploit, fuzzy, match_play, statistics, uct};
use serde::{Deserialize, Serialize};

/// Raised when players or matches change, so that kept matches are not mixed with others.
pub(crate) const VERSION: u32 = 4;
/// The test that ends matches against tree search early: whether the model gets 60 % of the points, or 47 %. Each is believed
/// wrongly in at most 5 % of the cases. Up to 100 matches, 60 % is believed only of a score of at least 59.
pub(crate) const TEST: Sprt = Sprt { p0: 0.47, p1: 0.60, alpha: 0.05, beta: 0.05 };

/// Matches before a test may decide.
const LEAST: usize = 30;
/// Joint moves in a match; longer ones are given up, and count as draws.
const PLIES: usize = 1_000;
/// The most joint moves of an opening.
const OPENING: u32 = 4;

/// Whom a model is compared with, and how it thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// One move ahead, against random play.
    OnePlyRandom,
    /// One move ahead, against the goals' fuzzy truth one move ahead.
    OnePlyFuzzy,
    /// Searching, against random play.
    SearchRandom,
    /// Searching, against tree search with playouts, with the same time for a move.
    SearchUct,
    /// Searching, against the strongest search without knowledge, with the same time for a move.
    SearchStrongest,
    /// One move ahead, in a game for one.
    OnePlyAlone,
    /// Searching, in a game for one.
    SearchAlone,
}

impl Kind {
    /// Whether time for a move matters.
    pub(crate) fn is_timed(self) -> bool {
        !matches!(self, Kind::OnePlyRandom | Kind::OnePlyFuzzy | Kind::OnePlyAlone)
    }

    /// Who the other is, and how both think, with so many seconds for a move.
    pub(crate) fn against(self, seconds: f64) -> String {
        match self {
            Kind::OnePlyRandom => "random play, one move ahead".to_owned(),
            Kind::OnePlyFuzzy => "fuzzy goals, both one move ahead".to_owned(),
            Kind::SearchRandom => format!("random play, searching {seconds} s a move"),
            Kind::SearchUct => format!("tree search, both {seconds} s a move"),
            Kind::SearchStrongest => format!("tree search with hints, both {seconds} s a move"),
            Kind::OnePlyAlone => "nobody, one move ahead".to_owned(),
            Kind::SearchAlone => format!("nobody, searching {seconds} s a move"),
        }
    }

    /// Whether matches would hardly vary if they all began in the same way.
    fn needs_openings(self) -> bool {
        matches!(self, Kind::OnePlyFuzzy | Kind::SearchUct | Kind::SearchStrongest)
    }
}

/// Some matches of a model against another player.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) kind: Kind,
    /// For a move, where a side searches.
    pub(crate) move_time: Duration,
    /// How many matches there are; as many more as it takes for each role to have its turn.
    pub(crate) matches: u32,
    /// Whether it ends as soon as [`TEST`] has decided. Where the results of two roles don't add up to 100, it does not.
    pub(crate) sequential: bool,
}

/// One match of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) number: u32,
    /// Each role's result; none if the match was given up.
    pub(crate) goals: Option<Vec<i64>>,
}

/// How a model did against another player.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score {
    pub(crate) kind: Kind,
    /// Seconds for a move, where a side searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) move_time: Option<f64>,
    /// The model's part of the points in per cent, and its 95 % interval, which holds at any time where a test may end the matches: 50
    /// is even. Where two roles share 100 points, this is
    /// the mean result; and so it is in a game for one.
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The mean result of the model, and of a player on the other side.
    pub(crate) result: f64,
    pub(crate) others: Option<f64>,
    /// The best result of the model.
    pub(crate) best: i64,
    pub(crate) matches: usize,
    /// Matches in which the model's result was better than the mean of the others, and worse.
    pub(crate) wins: usize,
    pub(crate) losses: usize,
    /// Matches that took too long.
    pub(crate) given_up: usize,
    /// What the sequential test believes: whether it is 60 % sooner than 47 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decided: Option<bool>,
}

impl Score {
    /// Who the other was, and how both thought.
    pub(crate) fn against(&self) -> String {
        self.kind.against(self.move_time.unwrap_or(0.0))
    }

    /// The F-measure of wins and losses, 100 (n + wins - losses) / 2n, with its 95 % interval.
    pub(crate) fn f_measure(&self) -> Interval {
        let points = (self.matches as f64 + self.wins as f64 - self.losses as f64) / 2.0;
        let Interval { mean, low, high } = statistics::wilson(points, self.matches as u64);
        Interval { mean: 100.0 * mean, low: 100.0 * low, high: 100.0 * high }
    }
}

/// All that take part in a model's comparisons.
pub(crate) struct Players {
    model: Arc<Model>,
    /// How the model looks ahead.
    search: Search,
    scalar: Arc<scalar::Compiled>,
    lanes: Arc<lanes::Compiled>,
    fuzzy: Option<Arc<fuzzy::Compiled>>,
    n_roles: usize,
    /// Whether two roles share 100 points.
    shared: bool,
}

impl Players {
    pub(crate) fn new(game: &Game, model: Arc<Model>, search: Search) -> Players {
        let network = &game.circuit.network;
        let compile = |ground| fuzzy::Compiled::new(ground, &game.universe, &game.circuit, Some(&game.structure));
        Players {
            model,
            search,
            scalar: scalar::Compiled::new(network.clone()),
            lanes: lanes::Compiled::new(network.clone()),
            fuzzy: game.circuit.ground.as_ref().map(|ground| Arc::new(compile(ground))),
            n_roles: network.roles.len(),
            shared: is_shared(game),
        }
    }

    fn own(&self, kind: Kind, seed: u64) -> Box<dyn Player> {
        match kind.is_timed() {
            true => player::player(&self.model, self.search, 1, seed),
            false => player::one_ply(&self.model, seed),
        }
    }

    fn other(&self, kind: Kind, seed: u64) -> Box<dyn Player> {
        match (kind, &self.fuzzy) {
            (Kind::OnePlyFuzzy, Some(compiled)) => {
                let position = Fuzzy::new(self.scalar.clone(), compiled.clone(), fuzzy::Settings::default());
                Box::new(Greedy::new(position, seed))
            }
            (Kind::SearchUct, _) => Box::new(Uct::new(self.lanes.clone(), uct::Settings::default(), seed)),
            (Kind::SearchStrongest, _) => Box::new(Uct::new(self.lanes.clone(), uct::Settings::strongest(), seed)),
            _ => Box::new(Random::new(self.scalar.clone(), seed)),
        }
    }
}

/// Whether two roles share 100 points.
pub(crate) fn is_shared(game: &Game) -> bool {
    game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2
}

/// The best score against random play that there can be, in per cent, both seats taken by turns; known where two roles share 100
/// points and the game is small.
pub(crate) fn possible_against_random(game: &Game) -> Option<f64> {
    /// Joint moves to look at.
    const STEPS: usize = 500_000;
    let compiled = scalar::Compiled::new(game.circuit.network.clone());
    let best = is_shared(game).then(|| exploit::against_random(&compiled, STEPS))??;
    Some(100.0 * best.iter().sum::<f64>() / best.len() as f64)
}

/// Whether a comparison makes sense in a game.
pub(crate) fn is_possible(kind: Kind, game: &Game) -> bool {
    let alone = matches!(kind, Kind::OnePlyAlone | Kind::SearchAlone);
    alone == (game.universe.roles.len() == 1) && (kind != Kind::OnePlyFuzzy || game.circuit.ground.is_some())
}

/// The matches of a comparison that have been played.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    comparison: Comparison,
    n_roles: usize,
    shared: bool,
    results: BTreeMap<u32, Option<Vec<i64>>>,
}

impl Tally {
    /// No matches yet, of a game with so many roles; `shared` says whether two roles share 100 points.
    pub(crate) fn new(comparison: Comparison, n_roles: usize, shared: bool) -> Tally {
        Tally { comparison, n_roles, shared, results: BTreeMap::new() }
    }

    pub(crate) fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// Adds a match, unless one with its number is there.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        let sound = outcome.goals.as_ref().is_none_or(|goals| goals.len() == self.n_roles);
        if sound && outcome.number < self.most() {
            self.results.entry(outcome.number).or_insert(outcome.goals);
        }
    }

    /// How many matches there are.
    pub(crate) fn len(&self) -> usize {
        self.results.len()
    }

    /// How many matches there may be: whole turns of the seats.
    pub(crate) fn most(&self) -> u32 {
        self.whole_turns(self.comparison.matches)
    }

    /// How many matches there are in the end, as far as that is known.
    fn end(&self) -> u32 {
        self.decision().map_or_else(|| self.most(), |(_, n)| n)
    }

    /// How many matches were begun, where they are begun in order.
    fn n_begun(&self) -> u32 {
        self.results.last_key_value().map_or(0, |(last, _)| last + 1)
    }

    /// Whether no match is missing.
    pub(crate) fn is_done(&self) -> bool {
        let end = self.end();
        self.results.range(..end).count() >= end as usize
    }

    /// Leaves out all that was played after the first turn that was not finished, however much that is: those that take long would be
    /// missing more often.
    fn leave_out_unfinished(&mut self) {
        let n = self.results.keys().zip(0..).take_while(|(number, place)| *number == place).count() as u32;
        let whole = n - n % self.n_roles as u32;
        self.results.retain(|&number, _| number < whole);
    }

    fn whole_turns(&self, n: u32) -> u32 {
        n.next_multiple_of(self.n_roles as u32)
    }

    /// Whether one looks at the results as they come in, to end early.
    fn is_watched(&self) -> bool {
        self.comparison.sequential && self.shared
    }

    /// What the test believes, and after how many matches. It looks at whole turns in the order of their numbers, so that it does not
    /// matter which matches end first; and what it has once believed it believes, whatever comes of later ones.
    fn decision(&self) -> Option<(bool, u32)> {
        if !self.is_watched() {
            return None;
        }
        let (mut points, mut n) = (0.0, 0);
        for (number, (own, _)) in self.results.keys().zip(self.points()) {
            if *number != n {
                return None;
            }
            (points, n) = (points + own, n + 1);
            if n as usize >= LEAST && n.is_multiple_of(self.n_roles as u32) {
                let believed = TEST.decide(points, u64::from(n));
                if let Some(believed) = believed {
                    return Some((believed, n));
                }
            }
        }
        None
    }

    /// For each match, what the model got and what the others got on average, as parts of 100 points.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.results.iter().map(|(number, goals)| {
            let Some(goals) = goals else { return (0.5, 0.5) };
            let own = goals[*number as usize % self.n_roles];
            let others = (goals.iter().sum::<i64>() - own) as f64 / (self.n_roles.max(2) - 1) as f64;
            (own as f64 / 100.0, others / 100.0)
        })
    }

    /// What the matches say; nothing if there are none. Those after the test has decided don't count.
    pub(crate) fn score(&self) -> Option<Score> {
        let points: Vec<(f64, f64)> = self.points().take(self.results.range(..self.end()).count()).collect();
        let n = points.len();
        let (own, others) = points.iter().fold((0.0, 0.0), |sum, match_| (sum.0 + match_.0, sum.1 + match_.1));
        let alone = self.n_roles == 1;
        let of_mean = if self.is_watched() { statistics::anytime } else { statistics::wilson };
        let mut interval = of_mean(own, n as u64);
        if !alone && !self.shared {
            // Matches of one opening hang together. Where they hardly vary, Wilson's interval is the cautious one.
            let turns = |turn: &[(f64, f64)]| turn.iter().fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
            let trials: Vec<(f64, f64)> = points.chunks(self.n_roles).map(turns).collect();
            let share = statistics::share(&trials);
            let wilson = statistics::wilson(share.mean * n as f64, n as u64);
            interval = Interval { mean: share.mean, low: share.low.min(wilson.low), high: share.high.max(wilson.high) };
        }
        let [mean, low, high] = [interval.mean, interval.low, interval.high].map(|part| 100.0 * part);
        (n > 0).then(|| Score {
            kind: self.comparison.kind,
            move_time: self.comparison.kind.is_timed().then_some(self.comparison.move_time.as_secs_f64()),
            mean,
            low,
            high,
            result: 100.0 * own / n as f64,
            others: (!alone).then_some(100.0 * others / n as f64),
            best: points.iter().map(|(own, _)| (100.0 * own) as i64).max().unwrap_or(0),
            matches: n,
            wins: points.iter().filter(|(own, others)| own > others).count(),
            losses: points.iter().filter(|(own, others)| own < others).count(),
            given_up: self.results.values().take(n).filter(|goals| goals.is_none()).count(),
            decided: self.decision().map(|(believed, _)| believed),
        })
    }
}

/// How matches are played.
pub(crate) struct Pace {
    /// Matches that are played at once, each on a thread of its own.
    pub(crate) threads: usize,
    pub(crate) seed: u64,
    /// After this, no turn of the seats is begun, but for the first.
    pub(crate) until: Option<Instant>,
    /// By then it is over: matches under way are given up and don't count.
    pub(crate) end: Option<Instant>,
}

impl Pace {
    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// Plays the matches that are missing. Each is given to `keep` as soon as it is over, which may end the comparison by saying no.
pub(crate) fn play(
    players: &Players,
    tally: Tally,
    pace: &Pace,
    keep: &(dyn Fn(&Outcome, &Tally) -> bool + Sync),
) -> Tally {
    let (comparison, n_roles) = (tally.comparison, players.n_roles);
    let n_openings = if comparison.kind.needs_openings() { tally.most() as usize / n_roles } else { 0 };
    let openings = openings(&players.scalar, n_openings, pace.seed);
    let mut table = Table { begun: tally.n_begun(), end: tally.end(), ended: false, tally };
    while !table.ended && !table.tally.is_done() {
        let (tally, end) = (&table.tally, table.tally.end());
        let missing: Vec<u32> = (0..end).filter(|number| !tally.results.contains_key(number)).collect();
        table.end = end;
        let shared = Mutex::new(table);
        let one = |machine: &mut scalar::Scalar, place: u32| {
            let number = missing[place as usize];
            if !locked(&shared).may_begin(number, pace) {
                return None;
            }
            let opening = openings.get(number as usize / n_roles).map_or(&[][..], |opening| opening);
            let goals = match_of(players, &comparison, machine, number, opening, pace);
            if pace.is_over() {
                return None;
            }
            locked(&shared).add(Outcome { number, goals }, keep);
            Some(())
        };
        let machine = || scalar::Scalar::new(players.scalar.clone());
        match_play::on_threads(0..missing.len() as u32, pace.threads, machine, one);
        table = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        if pace.is_over() {
            table.ended = true;
            table.tally.leave_out_unfinished();
        }
    }
    table.tally
}

/// What the threads of a comparison have in common.
struct Table {
    tally: Tally,
    /// Every match before this one was begun.
    begun: u32,
    /// No match from this one on is begun.
    end: u32,
    /// Whether time is up, or nobody wants more.
    ended: bool,
}

impl Table {
    fn may_begin(&mut self, number: u32, pace: &Pace) -> bool {
        if self.begun > 0 && pace.until.is_some_and(|until| Instant::now() >= until) {
            self.ended = true;
            self.finish_turn();
        }
        if pace.is_over() {
            (self.ended, self.end) = (true, 0);
        }
        let may = number < self.end;
        if may {
            self.begun = self.begun.max(number + 1);
        }
        may
    }

    fn add(&mut self, outcome: Outcome, keep: &(dyn Fn(&Outcome, &Tally) -> bool + Sync)) {
        self.tally.add(outcome.clone());
        if self.tally.decision().is_some() {
            self.end = 0;
        }
        if !keep(&outcome, &self.tally) {
            (self.ended, self.end) = (true, 0);
        }
    }

    /// Ends play with the turn of seats that is under way.
    fn finish_turn(&mut self) {
        self.end = self.end.min(self.tally.whole_turns(self.begun));
    }
}

fn locked(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Plays one match: the results, or nothing if it takes too long.
fn match_of(
    players: &Players,
    comparison: &Comparison,
    machine: &mut scalar::Scalar,
    number: u32,
    opening: &[Vec<u32>],
    pace: &Pace,
) -> Option<Vec<i64>> {
    let n_roles = players.n_roles;
    let seat = number as usize % n_roles;
    let mut random = Pcg64Mcg::seed_from_u64(mixed(pace.seed, u64::from(number) + 1));
    let mut seated: Vec<Box<dyn Player>> = (0..n_roles)
        .map(|role| {
            let seed = random.random();
            if role == seat { players.own(comparison.kind, seed) } else { players.other(comparison.kind, seed) }
        })
        .collect();
    let mut seats: Vec<&mut dyn Player> = seated.iter_mut().map(|player| &mut **player as _).collect();
    let played = match_play::play(machine, &mut seats, opening, PLIES, &mut |_, choose| {
        if pace.is_over() {
            return Answer::default();
        }
        if !comparison.kind.is_timed() {
            return choose(&Limit::nodes(u64::MAX));
        }
        let end = Instant::now() + comparison.move_time;
        let end = pace.end.map_or(end, |last| end.min(last));
        choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
    });
    played.goals.into_iter().collect()
}

/// So many openings of up to [`OPENING`] joint moves by chance, after which a match goes on. They lead to different states as far
/// as a few tries find such.
fn openings(compiled: &Arc<scalar::Compiled>, n: usize, seed: u64) -> Vec<Vec<Vec<u32>>> {
    let mut machine = scalar::Scalar::new(compiled.clone());
    let mut random = Pcg64Mcg::seed_from_u64(mixed(seed, 0));
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let mut attempt = || {
        let length = random.random_range(0..=OPENING);
        let opening = match_play::opening(&mut machine, length, &mut random);
        (opening.len() == length as usize).then(|| (opening, machine.bits().to_vec()))
    };
    let mut one = || {
        let mut last = Vec::new();
        for (opening, state) in (0..50).filter_map(|_| attempt()) {
            if seen.insert(state) {
                return opening;
            }
            last = opening;
        }
        last
    };
    (0..n).map(|_| one()).collect()
}

/// A seed for each purpose, by the finalizer of SplitMix64.
fn mixed(seed: u64, purpose: u64) -> u64 {
    let mut mixed = seed.wrapping_add(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How a model is measured right after it was learned.
pub(crate) struct Contest {
    /// For a move, where both sides search.
    pub(crate) move_time: Duration,
    /// For all matches together.
    pub(crate) time: Duration,
    pub(crate) threads: usize,
    pub(crate) seed: u64,
}

impl Contest {
    fn pace(&self) -> Pace {
        Pace { threads: self.threads, seed: self.seed, until: None, end: None }
    }
}

/// The time for a move that leaves time for enough matches to choose a search by: short where matches are long. `None` if it would be
/// too short to tell anything.
pub(crate) fn quick_move(course: &Course, time: Duration, threads: usize) -> Option<Duration> {
    /// Matches in all.
    const MATCHES: f64 = 36.0;
    const LEAST: Duration = Duration::from_millis(3);
    const MOST: Duration = Duration::from_millis(30);
    let last = course.history().last().expect("a course has a beginning");
    let length = (last.n_new as f64 / f64::from(last.n_ended.max(1))).max(1.0);
    let nature = &course.model().sight.nature;
    let n_thinking = if nature.turn_taking { 1 } else { nature.range.len() };
    let move_time = time.mul_f64(threads as f64 / (MATCHES * length * n_thinking as f64)).min(MOST);
    (move_time >= LEAST).then_some(move_time)
}

/// Which search a model plays best with, and how that did against tree search without knowledge, which plays where the model is not
/// shown to be better: where the lower end of that score's interval is not above 50. The first part of the time tells which of the
/// model's searches is tried: the worst is left out after each round, and the rounds get longer. The score is of other matches.
pub(crate) fn choose(
    game: &Game,
    model: &Arc<Model>,
    contest: &Contest,
    stage: &mut dyn FnMut(&str),
) -> (Search, Option<Score>) {
    /// Matches of each search after each round.
    const ROUNDS: [u32; 3] = [10, 24, 40];
    /// The part of the time for them.
    const ROUNDS_PART: f64 = 0.4;
    /// The score of the first search and of others in most games, and as how many matches that counts.
    const USUAL: (f64, f64) = (60.0, 45.0);
    const USUAL_MATCHES: f64 = 8.0;
    /// A search is clearly the one to try with this score.
    const CLEAR: f64 = 75.0;
    /// Matches in which it is tried, at most.
    const MATCHES: u32 = 200;
    let kind = Kind::SearchStrongest;
    let fitting = Search::fitting(&model.sight);
    if !is_possible(kind, game) {
        return (fitting[0], None);
    }
    let begun = Instant::now();
    let (chosen_by, end) = (begun + contest.time.mul_f64(ROUNDS_PART), begun + contest.time);
    let comparison = Comparison { kind, move_time: contest.move_time, matches: 0, sequential: false };
    let mut field: Vec<(Search, Players, Tally)> = fitting
        .iter()
        .filter(|&&search| search != Search::Plain)
        .map(|&search| {
            let players = Players::new(game, model.clone(), search);
            let tally = Tally::new(comparison, players.n_roles, players.shared);
            (search, players, tally)
        })
        .collect();
    // A few matches say little: what is usual counts as much as some more.
    let mean = |search: Search, tally: &Tally| {
        let usual = if search == fitting[0] { USUAL.0 } else { USUAL.1 };
        let (sum, n) =
            tally.score().map_or((0.0, 0.0), |score| (score.mean * score.matches as f64, score.matches as f64));
        (sum + USUAL_MATCHES * usual) / (n + USUAL_MATCHES)
    };
    // Step 1. Which to try.
    for (round, matches) in ROUNDS.into_iter().enumerate() {
        if field.len() == 1 || Instant::now() >= chosen_by {
            break;
        }
        let n_left: usize = (round..ROUNDS.len()).map(|later| field.len().saturating_sub(later - round).max(1)).sum();
        let share = chosen_by.saturating_duration_since(Instant::now()) / n_left as u32;
        for (search, players, tally) in &mut field {
            stage(&format!("trying {}", search.name()));
            tally.comparison.matches = matches;
            let until = Some(Instant::now() + share);
            let pace = Pace { seed: contest.seed ^ 0x5eed, until, end: Some(chosen_by), ..contest.pace() };
            *tally = play(players, tally.clone(), &pace, &|_, _| true);
        }
        field.sort_by(|one, other| mean(other.0, &other.2).total_cmp(&mean(one.0, &one.2)));
        if mean(field[0].0, &field[0].2) >= CLEAR {
            break;
        }
        field.truncate((field.len() - 1).max(1));
    }
    // Step 2. Whether it is better, in matches that had no part in that.
    let (search, players, _) = &field[0];
    stage(&format!("trying {} against tree search without knowledge", search.name()));
    let tally = Tally::new(Comparison { matches: MATCHES, ..comparison }, players.n_roles, players.shared);
    let pace = Pace { seed: contest.seed ^ 0x7e57, end: Some(end), ..contest.pace() };
    let score = play(players, tally, &pace, &|_, _| true).score();
    (believed(*search, score.as_ref()), score)
}

/// How a model's game is played where nothing says that the model is better than tree search without knowledge.
pub(crate) fn untested(model: &Model) -> Search {
    let fitting = Search::fitting(&model.sight);
    if fitting.contains(&Search::Plain) { Search::Plain } else { fitting[0] }
}

/// The search if its score says that it is better than tree search without knowledge, else that.
fn believed(search: Search, score: Option<&Score>) -> Search {
    if score.is_some_and(|score| score.low > 50.0) { search } else { Search::Plain }
}

/// Plays against random play and the goals' fuzzy truth one move ahead, and against tree search at equal time; or alone. A
/// comparison ends when its part of the time is up; there is nothing where there was no time for a turn of the seats.
pub(crate) fn measure(
    game: &Game,
    model: &Arc<Model>,
    search: Search,
    contest: &Contest,
    stage: &mut dyn FnMut(&str),
) -> Vec<Score> {
    let end = Instant::now() + contest.time;
    let players = Players::new(game, model.clone(), search);
    let parts = [
        (Kind::OnePlyRandom, 0.1),
        (Kind::OnePlyFuzzy, 0.2),
        (Kind::SearchUct, 0.7),
        (Kind::OnePlyAlone, 0.3),
        (Kind::SearchAlone, 0.7),
    ];
    let mut scores = Vec::new();
    for (kind, part) in parts.into_iter().filter(|(kind, _)| is_possible(*kind, game)) {
        stage(&format!("playing against {}", kind.against(contest.move_time.as_secs_f64())));
        let comparison = Comparison { kind, move_time: contest.move_time, matches: 200, sequential: false };
        let until = Some(Instant::now() + contest.time.mul_f64(part));
        let pace = Pace { until, end: Some(end), ..contest.pace() };
        let tally = Tally::new(comparison, players.n_roles, players.shared);
        scores.extend(play(&players, tally, &pace, &|_, _| true).score());
    }
    scores
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn comparison(matches: u32, sequential: bool) -> Comparison {
        Comparison { kind: Kind::SearchUct, move_time: Duration::from_millis(100), matches, sequential }
    }

    fn tally(comparison: Comparison, n_roles: usize, shared: bool, goals: impl Iterator<Item = Vec<i64>>) -> Tally {
        let mut tally = Tally::new(comparison, n_roles, shared);
        for (number, goals) in (0..).zip(goals) {
            tally.add(Outcome { number, goals: Some(goals) });
        }
        tally
    }

    /// The model wins every match; it has each seat in turn.
    #[test]
    fn a_clear_result_ends_a_sequential_comparison() {
        let wins = |n: u32| (0..n).map(|number| if number % 2 == 0 { vec![100, 0] } else { vec![0, 100] });
        assert!(!tally(comparison(100, true), 2, true, wins(29)).is_done());
        let done = tally(comparison(100, true), 2, true, wins(30));
        assert!(done.is_done());
        let score = done.score().expect("matches");
        assert_eq!((score.mean, score.wins, score.losses, score.decided), (100.0, 30, 0, Some(true)));
        assert_eq!(score.f_measure().mean, 100.0);
        // Nothing that comes later changes this.
        let later = wins(30).chain((30..34).map(|number| if number % 2 == 0 { vec![0, 100] } else { vec![100, 0] }));
        assert_eq!(tally(comparison(100, true), 2, true, later).score(), Some(score));
        assert!(!tally(comparison(100, false), 2, true, wins(30)).is_done());
        assert!(tally(comparison(100, false), 2, true, wins(100)).is_done());
    }

    /// 32 matches are played at once, and those that the model loses take ten times as long: 60 % is believed where 47 % is true as
    /// seldom as the test says, and its intervals hold that, too.
    #[test]
    fn who_ends_first_does_not_decide() {
        const RUNS: u32 = 400;
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let (mut n_believed, mut n_outside) = (0, 0);
        for _ in 0..RUNS {
            let mut tally = Tally::new(comparison(100, true), 2, true);
            // When each match ends, and whether the model wins it.
            let mut under_way: BTreeSet<(u64, u32, bool)> = BTreeSet::new();
            let (mut now, mut begun) = (0, 0);
            while !tally.is_done() {
                while under_way.len() < 32 && begun < tally.most() {
                    let wins = random.random_bool(0.47);
                    let takes = random.random_range(10..20) * if wins { 1 } else { 10 };
                    under_way.insert((now + takes, begun, wins));
                    begun += 1;
                }
                let (end, number, wins) = under_way.pop_first().expect("some are missing");
                now = end;
                let goals = if wins == (number % 2 == 0) { vec![100, 0] } else { vec![0, 100] };
                tally.add(Outcome { number, goals: Some(goals) });
            }
            let score = tally.score().expect("matches");
            n_believed += u32::from(score.decided == Some(true));
            n_outside += u32::from(score.low > 47.0 || score.high < 47.0);
        }
        assert!(n_believed <= RUNS / 20, "60 % was believed in {n_believed} of {RUNS}");
        assert!(n_outside <= RUNS / 20, "47 % was outside of {n_outside} of {RUNS} intervals");
    }

    /// Quick wins decide nothing while matches before them are under way.
    #[test]
    fn matches_under_way_are_waited_for() {
        let mut tally = Tally::new(comparison(100, true), 2, true);
        let result = |number: u32| if number.is_multiple_of(2) { vec![100, 0] } else { vec![0, 100] };
        (4..60).for_each(|number| tally.add(Outcome { number, goals: Some(result(number)) }));
        let decided = |tally: &Tally| tally.score().and_then(|score| score.decided);
        assert_eq!((decided(&tally), tally.is_done()), (None, false));
        (0..4).for_each(|number| tally.add(Outcome { number, goals: Some(result(number)) }));
        assert_eq!((decided(&tally), tally.is_done()), (Some(true), true));
    }

    /// Three roles, the winner has 100 and the last 0: who is as good as the others has half.
    #[test]
    fn even_is_half_whatever_results_add_up_to() {
        let even = (0..30).map(|number| match number / 3 % 3 {
            0 => vec![100, 50, 0],
            1 => vec![0, 100, 50],
            _ => vec![50, 0, 100],
        });
        let tally = tally(comparison(28, true), 3, false, even);
        assert_eq!(tally.most(), 30);
        let score = tally.score().expect("matches");
        assert!((score.mean - 50.0).abs() < 1e-9 && score.low < 40.0 && score.high > 60.0, "{score:?}");
        assert_eq!((score.wins, score.losses, score.decided), (10, 10, None));
        assert!((score.result - 50.0).abs() < 1e-9 && (score.others.expect("there are") - 50.0).abs() < 1e-9);
    }

    /// A model is believed if the whole interval says that it is better, and never for what is usual.
    #[test]
    fn a_model_is_not_believed_against_better_knowledge() {
        let score = |n_won: u32, n: u32| {
            let result =
                |number: u32| if (number < n_won) == number.is_multiple_of(2) { vec![100, 0] } else { vec![0, 100] };
            tally(comparison(n, false), 2, true, (0..n).map(result)).score().expect("matches")
        };
        let chosen = |n_won, n| believed(Search::BestFirst, Some(&score(n_won, n)));
        assert_eq!(chosen(4, 14), Search::Plain, "28.6 %");
        assert_eq!(chosen(6, 10), Search::Plain, "60 %, but it may be chance");
        assert_eq!(chosen(9, 10), Search::BestFirst);
        assert_eq!(chosen(60, 100), Search::BestFirst);
        assert_eq!(chosen(55, 100), Search::Plain);
        assert_eq!(believed(Search::Tree, None), Search::Plain);
    }

    /// An even result decides nothing, and 60 % is never believed of much less.
    #[test]
    fn the_test_keeps_what_the_table_says() {
        for n in LEAST as u64..=100 {
            for wins in 0..=n {
                match TEST.decide(wins as f64, n) {
                    Some(true) => assert!(wins * 100 >= 59 * n, "{wins} of {n}"),
                    Some(false) => assert!(wins * 100 <= 48 * n, "{wins} of {n}"),
                    None => {}
                }
            }
            assert_eq!(TEST.decide(n as f64 / 2.0, n), None);
        }
    }

    #[test]
    fn openings_are_different_and_matches_go_on() {
        let text = std::fs::read("../../games/tic-tac-toe/rules.kif").expect("a game of the library");
        let game = Game::new(gdl::read("tic-tac-toe", &text).program, 1).expect("it has a network");
        let compiled = scalar::Compiled::new(game.circuit.network.clone());
        let openings = openings(&compiled, 100, 1);
        let mut machine = scalar::Scalar::new(compiled.clone());
        let states: HashSet<Vec<u64>> = openings
            .iter()
            .map(|opening| {
                machine.jump(compiled.initial());
                opening.iter().for_each(|joint| machine.make(joint));
                assert!(!machine.terminal() && opening.len() <= OPENING as usize);
                machine.bits().to_vec()
            })
            .collect();
        assert_eq!(states.len(), 100);
        assert_eq!(openings, super::openings(&compiled, 100, 1));
        assert_ne!(openings, super::openings(&compiled, 100, 2));
    }
}
