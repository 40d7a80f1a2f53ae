//! A match between contestants, by the rules and by the clock.
//!
//! All roles are asked at the same time, each in a thread of its own. Who gives no answer in time, no answer at all or an illegal
//! move gets a legal move by chance, and the record says why; the match goes on. What arrives within the grace behind a clock
//! counts: it may have been under way.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::contestant::{Clocks, Rules};
use crate::judge::Judge;
use crate::record::Record;
use crate::seat::{Answer, Order, Seat};
use crate::term;

/// How a match is played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the match.
    pub id: String,
    /// The clocks.
    pub clocks: Clocks,
    /// How late an answer may be.
    pub grace: Duration,
    /// The most joint moves; a longer match is given up.
    pub cap: usize,
    /// Chooses the moves of those who don't.
    pub seed: u64,
    /// Who plays each role.
    pub names: Vec<String>,
    /// Whether contestants get the rules under other names; for the record only.
    pub scrambled: bool,
    /// Where the game's description is, for the record.
    pub meta_url: Option<String>,
}

/// Plays a match. `see` gets the record after every step, and is asked whether to go on. The error says why there can't be a match
/// at all.
pub fn referee(
    rules: &Rules,
    seats: &mut [Seat],
    settings: &Settings,
    see: &mut dyn FnMut(&Record) -> bool,
) -> Result<Record, String> {
    let mut judge = Judge::new(rules, None)?;
    let n_roles = judge.roles().len();
    if seats.len() != n_roles {
        return Err(format!("there are {} players for {n_roles} roles", seats.len()));
    }
    let mut record = begin(rules, settings, n_roles);
    let mut last = None;
    let played = play(rules, &mut judge, seats, settings, &mut record, &mut last, see);
    // Everybody hears of the end, and nobody is waited for long.
    let made = last.filter(|_| record.is_completed);
    let patience = Instant::now() + settings.grace.max(Duration::from_millis(100));
    ask(seats, |_| Order::Stop { last: made.clone() }, patience);
    played.map(|()| record)
}

fn play(
    rules: &Rules,
    judge: &mut Judge,
    seats: &mut [Seat],
    settings: &Settings,
    record: &mut Record,
    last: &mut Option<Vec<String>>,
    see: &mut dyn FnMut(&Record) -> bool,
) -> Result<(), String> {
    let n_roles = seats.len();
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
    record.states.push(state_text(&judge.fluents()?));
    record.state_times.push(now());
    // Step 1. Everybody prepares.
    let clocks = settings.clocks;
    let deadline = Instant::now() + clocks.start;
    let order = |role| Order::Start { rules: rules.clone(), role, clocks, deadline };
    let answers = ask(seats, order, deadline + settings.grace);
    record.errors.push(answers.iter().map(|answer| failure(answer, deadline + settings.grace)).collect());
    // Step 2. Moves, until the match is over.
    loop {
        if judge.is_terminal()? {
            record.goal_values = judge.goals()?.into_iter().map(|goal| goal.unwrap_or(0)).collect();
            record.is_completed = true;
            see(record);
            return Ok(());
        }
        let legal: Vec<Vec<String>> = (0..n_roles).map(|role| judge.legal(role)).collect::<Result<_, _>>()?;
        let stuck = legal.iter().any(Vec::is_empty);
        if !see(record) || record.moves.len() >= settings.cap || stuck {
            record.is_aborted = true;
            see(record);
            return Ok(());
        }
        let asked = Instant::now();
        let deadline = asked + clocks.play;
        let order = |_| Order::Play { last: last.clone(), deadline };
        let answers = ask(seats, order, deadline + settings.grace);
        let (mut joint, mut errors) = (Vec::new(), Vec::new());
        for (role, answer) in answers.into_iter().enumerate() {
            let at = answer.as_ref().map_or(deadline + settings.grace, |answer| answer.at);
            record.slowest[role] = record.slowest[role].max(at.saturating_duration_since(asked));
            let mut error = failure(&answer, deadline + settings.grace);
            let said = answer.and_then(|answer| answer.said.ok()).filter(|_| error.is_empty());
            let mut chosen = None;
            if let Some(decision) = said {
                chosen = judge.spelled(role, &decision.chosen)?;
                if chosen.is_none() {
                    error = format!("IL {}", tame(&decision.chosen));
                }
            }
            joint.push(chosen.unwrap_or_else(|| by_chance(&legal[role], &mut random)));
            errors.push(error);
        }
        judge.make(&joint)?;
        record.moves.push(joint.iter().map(|chosen| term::spaced(chosen)).collect());
        record.states.push(state_text(&judge.fluents()?));
        record.state_times.push(now());
        record.errors.push(errors);
        *last = Some(joint);
    }
}

fn begin(rules: &Rules, settings: &Settings, n_roles: usize) -> Record {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed ^ now().rotate_left(20));
    Record {
        match_id: settings.id.clone(),
        random_token: (0..32).map(|_| LETTERS[random.random_range(0..LETTERS.len())] as char).collect(),
        start_time: now(),
        game_meta_url: settings.meta_url.clone(),
        game_name_from_host: Some(rules.name.clone()),
        player_names_from_host: settings.names.clone(),
        is_player_human: vec![false; n_roles],
        preview_clock: -1.0,
        start_clock: settings.clocks.start.as_secs_f64(),
        play_clock: settings.clocks.play.as_secs_f64(),
        analysis_clock: -1.0,
        scrambled: settings.scrambled,
        slowest: vec![Duration::ZERO; n_roles],
        ..Record::default()
    }
}

/// Asks all seats at once.
fn ask(seats: &mut [Seat], order: impl Fn(usize) -> Order, until: Instant) -> Vec<Option<Answer>> {
    /// An answer that was given in time takes a moment to be heard.
    const MOMENT: Duration = Duration::from_millis(5);
    let numbers: Vec<u64> = seats.iter_mut().enumerate().map(|(role, seat)| seat.order(order(role))).collect();
    seats.iter_mut().zip(numbers).map(|(seat, number)| seat.wait(number, until + MOMENT)).collect()
}

/// What the record says of an answer that is none.
fn failure(answer: &Option<Answer>, until: Instant) -> String {
    match answer {
        Some(answer) if answer.at <= until && answer.said.is_ok() => String::new(),
        Some(answer) if answer.at <= until => "CE".to_owned(),
        _ => "TO".to_owned(),
    }
}

fn by_chance(legal: &[String], random: &mut impl Rng) -> String {
    legal[random.random_range(0..legal.len())].clone()
}

fn state_text(fluents: &[String]) -> String {
    let fluents: String = fluents.iter().map(|fluent| term::spaced(fluent) + " ").collect();
    format!("( {fluents})")
}

/// What somebody said instead of a move, fit for a record.
fn tame(text: &str) -> String {
    let text: String = text.chars().take(200).map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    term::spaced(&text)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
