//! What a model is worth: matches against simple players, with intervals.

use std::sync::Arc;
use std::time::{Duration, Instant};

use features::game::Game;
use learn::model::Model;
use learn::player::{self, Search};
use machine::{lanes, scalar};
use search::{Fuzzy, Greedy, Limit, Player, Random, Uct, fuzzy, match_play, statistics};
use serde::Serialize;

/// How matches are played.
pub(crate) struct Contest {
    /// For a move, where both sides search.
    pub(crate) move_time: Duration,
    /// For all matches together.
    pub(crate) time: Duration,
    /// Matches that are played at once.
    pub(crate) threads: usize,
    pub(crate) seed: u64,
}

/// How a model did against another player.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Score {
    /// Who the other was, and how both thought.
    pub(crate) against: String,
    /// The mean result of the model's role, from 0 to 100, and its 95 % interval.
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) matches: usize,
}

/// Matches of one comparison.
const MATCHES: u32 = 200;
/// Joint moves in a match; longer ones are given up.
const PLIES: usize = 500;

type Maker<'a> = dyn Fn(u64) -> Box<dyn Player> + Sync + 'a;

/// Plays against random play and the goals' fuzzy truth one move ahead, and against tree search at equal time. Roles are taken by
/// turns. A comparison ends when its part of the time is up.
pub(crate) fn measure(
    game: &Arc<Game>,
    model: &Arc<Model>,
    contest: &Contest,
    stage: &mut dyn FnMut(&str),
) -> Vec<Score> {
    let network = &game.circuit.network;
    let scalar = scalar::Compiled::new(network.clone());
    let lanes = lanes::Compiled::new(network.clone());
    let one_ply = |seed: u64| player::one_ply(model, seed);
    let search = Search::fitting(network.roles.len())[0];
    let searching = |seed: u64| player::player(model, search, seed);
    let random = |seed: u64| -> Box<dyn Player> { Box::new(Random::new(scalar.clone(), seed)) };
    let uct =
        |seed: u64| -> Box<dyn Player> { Box::new(Uct::new(lanes.clone(), search::uct::Settings::default(), seed)) };
    let mut scores = Vec::new();
    let mut play = |against: String, own: &Maker, other: &Maker, part: f64| {
        stage(&format!("playing against {against}"));
        scores.extend(compare(game, &scalar, own, other, contest, contest.time.mul_f64(part), against));
    };
    if network.roles.len() > 1 {
        play("random play, one move ahead".to_owned(), &one_ply, &random, 0.1);
        if let Some(compiled) = fuzzy(game) {
            let fuzzy = |seed: u64| -> Box<dyn Player> {
                let position = Fuzzy::new(scalar.clone(), compiled.clone(), fuzzy::Settings::default());
                Box::new(Greedy::new(position, seed))
            };
            play("fuzzy goals, both one move ahead".to_owned(), &one_ply, &fuzzy, 0.2);
        }
        let each = contest.move_time.as_secs_f64();
        play(format!("tree search, both {each} s a move"), &searching, &uct, 0.7);
    } else {
        play("nobody, one move ahead".to_owned(), &one_ply, &random, 0.3);
        let each = contest.move_time.as_secs_f64();
        play(format!("nobody, searching {each} s a move"), &searching, &random, 0.7);
    }
    scores
}

fn fuzzy(game: &Game) -> Option<Arc<fuzzy::Compiled>> {
    let ground = game.circuit.ground.as_ref()?;
    Some(Arc::new(fuzzy::Compiled::new(ground, &game.universe, &game.circuit, Some(&game.structure))))
}

/// Matches of one player against another; nothing if none was played to its end.
fn compare(
    game: &Game,
    scalar: &Arc<scalar::Compiled>,
    own: &Maker,
    other: &Maker,
    contest: &Contest,
    time: Duration,
    against: String,
) -> Option<Score> {
    let n_roles = game.universe.roles.len();
    let start = Instant::now();
    let one = |machine: &mut scalar::Scalar, number: u32| {
        // At least one match for each role.
        if number as usize >= n_roles && start.elapsed() >= time {
            return None;
        }
        let seed = contest.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(number));
        let seat = number as usize % n_roles;
        let mut players: Vec<Box<dyn Player>> =
            (0..n_roles).map(|role| if role == seat { own(seed) } else { other(seed) }).collect();
        let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
        let played = match_play::play(machine, &mut seats, &[], PLIES, &mut |_, choose| {
            let end = Instant::now() + contest.move_time;
            choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
        });
        Some(played.goals[seat].map(|goal| goal as f64 / 100.0))
    };
    let machine = || scalar::Scalar::new(scalar.clone());
    let results: Vec<f64> =
        match_play::on_threads(0..MATCHES, contest.threads, machine, one).into_iter().flatten().collect();
    let points: f64 = results.iter().sum();
    let interval = statistics::wilson(points, results.len() as u64);
    let [mean, low, high] = [interval.mean, interval.low, interval.high].map(|part| 100.0 * part);
    (!results.is_empty()).then_some(Score { against, mean, low, high, matches: results.len() })
}
