//! Learns a game for a while and plays against baselines: what each part of learning is worth.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use features::construct::{self, construct};
use features::game::Game;
use features::positions::{self, collect};
use learn::example::Examples;
use learn::model::{Model, Sum};
use learn::seat::Seat;
use learn::self_play;
use learn::sight::{PatternSettings, Sight};
use learn::stage::Stages;
use learn::teach::{self, teach};
use machine::scalar::{Compiled, Scalar};
use search::{AlphaBeta, Limit, Player, Random, Uct, alpha_beta};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("a game");
    let number = |text: Option<String>, default: f64| text.and_then(|text| text.parse().ok()).unwrap_or(default);
    let generations = number(args.next(), 3.0) as u32;
    let seconds = number(args.next(), 0.02);
    let games = number(args.next(), 40.0) as u32;
    let start = Instant::now();
    let text = std::fs::read(format!("games/{name}/rules.kif")).expect("a game of the library");
    let game = Arc::new(Game::new(gdl::read(&name, &text).program, 1).expect("a network"));
    let positions = collect(&game, &positions::Settings::default(), &mut |_| true).positions;
    println!("{} positions {:.1}", positions.len(), start.elapsed().as_secs_f64());
    let settings = construct::Settings { threads: 2, ..construct::Settings::default() };
    let set = construct(&game, &positions, &settings, &mut |_| true).expect("features");
    println!("{} features {:.1}", set.features.len(), start.elapsed().as_secs_f64());
    let stages = Stages::find(&game, &positions, 4);
    let shared = game.structure.outcomes.sum == Some(100) && game.universe.roles.len() == 2;
    let sum = if shared { Sum::Shared } else { Sum::Free };
    println!("{} sets, {sum:?}", stages.n_sets());
    for (kind, n_features, patterns) in [("features", 150, false), ("both", 60, true), ("patterns", 0, true)] {
        let features = set.features.iter().take(n_features).map(|selected| selected.feature.clone()).collect();
        let patterns = patterns.then(PatternSettings::default);
        let sight = Arc::new(Sight::new(game.clone(), features, patterns.as_ref(), &stages).expect("a sight"));
        println!(
            "{kind}: {} features, {} slots, {} instances {:.1}",
            sight.features.len(),
            sight.patterns.as_ref().map_or(0, |patterns| patterns.n_slots()),
            sight.patterns.as_ref().map_or(0, |patterns| patterns.n_instances()),
            start.elapsed().as_secs_f64()
        );
        let mut examples = Examples::of(&positions);
        let mut model: Option<Arc<Model>> = None;
        for generation in 0..=generations {
            let settings = teach::Settings { threads: 2, ..teach::Settings::default() };
            let clock = Instant::now();
            let (taught, losses) =
                teach(&sight, &examples, sum, model.as_deref(), &settings).expect("it can be fitted");
            let taught = Arc::new(taught);
            let fitting = clock.elapsed().as_secs_f64();
            let scores: Vec<String> = versus(&game, &taught, seconds, games);
            println!("  {generation}: {} examples, {losses:?} {fitting:.1} s; {}", examples.len(), scores.join(", "));
            model = Some(taught.clone());
            let seed = u64::from(generation) + 1;
            let settings = self_play::Settings { seed, matches: 500, threads: 2, ..Default::default() };
            let clock = Instant::now();
            let played = self_play::play(&game, &settings, &|seed| player(&taught, 1 << 20, seed), &|| false);
            let seconds = clock.elapsed().as_secs_f64();
            println!("    {} matches, {} positions, {seconds:.1} s", played.n_ended, played.examples.len());
            examples.append(&played.examples);
        }
    }
}

fn player(model: &Arc<Model>, bytes: usize, seed: u64) -> Seat<AlphaBeta<learn::model::Judge>> {
    let settings = alpha_beta::Settings { bytes, ..Default::default() };
    Seat::new(AlphaBeta::new(model.judge(), model.sight.nature.clone(), settings, seed), model.sight.clone())
}

fn versus(game: &Arc<Game>, model: &Arc<Model>, seconds: f64, games: u32) -> Vec<String> {
    let compiled = Compiled::new(game.circuit.network.clone());
    let own = |seed| -> Box<dyn Player> { Box::new(player(model, 32 << 20, seed)) };
    let random = |seed| -> Box<dyn Player> { Box::new(Random::new(compiled.clone(), seed)) };
    let lanes = machine::lanes::Compiled::new(game.circuit.network.clone());
    let uct = |seed| -> Box<dyn Player> { Box::new(Uct::new(lanes.clone(), Default::default(), seed)) };
    let others: [(&str, &dyn Fn(u64) -> Box<dyn Player>); 2] = [("random", &random), ("uct", &uct)];
    let n_roles = game.universe.roles.len();
    others
        .iter()
        .map(|(name, other)| {
            let (mut sum, mut n, mut nodes, mut searches, mut depth) = (0.0, 0.0, [0.0; 2], [0.0; 2], 0.0);
            for number in 0..games {
                let seat = number as usize % n_roles;
                let mut players: Vec<Box<dyn Player>> = (0..n_roles)
                    .map(|role| if role == seat { own(u64::from(number)) } else { other(u64::from(number)) })
                    .collect();
                let mut seats: Vec<&mut dyn Player> = players.iter_mut().map(|player| &mut **player as _).collect();
                let mut machine = Scalar::new(compiled.clone());
                let played = search::match_play::play(&mut machine, &mut seats, &[], 300, &mut |_, choose| {
                    let end = Instant::now() + Duration::from_secs_f64(seconds);
                    choose(&Limit { nodes: u64::MAX, stop: &|| Instant::now() >= end })
                });
                for (role, work) in played.work.iter().enumerate() {
                    nodes[usize::from(role != seat)] += work.nodes as f64;
                    searches[usize::from(role != seat)] += work.n_searches as f64;
                    depth += if role == seat { work.depths as f64 } else { 0.0 };
                }
                if let Some(goal) = played.goals[seat] {
                    sum += goal as f64;
                    n += 1.0;
                }
            }
            format!(
                "{name} {:.1} ({n}; {:.0} against {:.0} nodes/s, depth {:.1})",
                sum / n,
                nodes[0] / searches[0] / seconds,
                nodes[1] / searches[1] / seconds,
                depth / searches[0]
            )
        })
        .collect()
}
