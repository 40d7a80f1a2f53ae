//! Players that search with what was learned.

use std::sync::Arc;

use machine::lanes;
use search::{AlphaBeta, BestFirst, Evaluate, OnePly, Player, Several, Uct, alpha_beta, best_first, uct};

use crate::alone;
use crate::model::Model;
use crate::seat::Seat;
use crate::sight::Sight;

/// How a player looks ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// Best-first search, states judged by the model.
    #[default]
    BestFirst,
    /// Alpha-beta search, leaves judged by the model.
    AlphaBeta,
    /// Tree search in which a new state is worth what the model says.
    Tree,
    /// Tree search in which a new state is worth half what the model says and half what a playout comes to.
    Playouts,
    /// Tree search with playouts alone; the model is not asked.
    Plain,
    /// Search for one role alone; the model is one of its guides.
    Solo,
}

impl Search {
    /// Those that a game can be played with, the one that mostly does best first. Ways are measured for many states at once, which
    /// is nothing for alpha-beta search.
    pub fn fitting(sight: &Sight) -> Vec<Search> {
        let mut all = match (sight.game.universe.roles.len(), sight.nature.turn_taking) {
            (1, _) => vec![Search::Solo],
            (_, true) => vec![Search::BestFirst, Search::AlphaBeta, Search::Tree, Search::Playouts, Search::Plain],
            (_, false) => vec![Search::Tree, Search::Playouts, Search::BestFirst, Search::AlphaBeta, Search::Plain],
        };
        if sight.ways.is_some() {
            all.retain(|&search| search != Search::AlphaBeta);
        }
        all
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Search::BestFirst => "best-first search",
            Search::AlphaBeta => "alpha-beta search",
            Search::Tree => "tree search with the model",
            Search::Playouts => "tree search with playouts and the model",
            Search::Plain => "tree search with playouts alone",
            Search::Solo => "search for one role alone",
        }
    }
}

/// Bytes of a player's table or tree.
const BYTES: usize = 64 << 20;

/// A player for matches of the model's game that uses so many threads, as far as its search can. Where states are judged many at once, the
/// threads change nothing in what is found in a number of nodes.
pub fn player(model: &Arc<Model>, search: Search, threads: usize, seed: u64) -> Box<dyn Player> {
    let sight = &model.sight;
    let opinion = || Box::new(model.opinion()) as Box<dyn Evaluate>;
    let opinions = || Several::of(opinion(), (1..threads).map(|_| opinion()));
    match search {
        Search::BestFirst => {
            let settings = best_first::Settings { bytes: 4 * BYTES, ..best_first::Settings::default() };
            let player = BestFirst::new(sight.lanes.clone(), opinions(), settings, seed);
            Box::new(Seat::new(player, sight.clone()))
        }
        Search::AlphaBeta => {
            let settings = alpha_beta::Settings { bytes: BYTES, ..alpha_beta::Settings::default() };
            let player = AlphaBeta::new(model.judge(), sight.nature.clone(), settings, seed);
            let player = (1..threads).fold(player, |player, _| player.helped_by(model.judge()));
            Box::new(Seat::new(player, sight.clone()))
        }
        Search::Tree | Search::Playouts => {
            let usual = uct::Settings { bytes: 4 * BYTES, ..uct::Settings::default() };
            let settings = match search {
                // Judging takes no longer for a few states, so there is no need to guess where many will be wanted.
                Search::Tree => uct::Settings { width: (8, 64), share: 8, ..usual },
                _ => uct::Settings { playout: 0.5, ..usual },
            };
            let player = Uct::new(sight.lanes.clone(), settings, seed).judging_by(opinions());
            Box::new(Seat::new(player, sight.clone()))
        }
        Search::Plain => {
            let compiled = lanes::Compiled::new(sight.game.circuit.network.clone());
            Box::new(Uct::new(compiled, uct::Settings::strongest(), seed).on_threads(threads))
        }
        Search::Solo => Box::new(alone::player(model, 4 * BYTES, seed)),
    }
}

/// A player that looks one move ahead.
pub fn one_ply(model: &Arc<Model>, seed: u64) -> Box<dyn Player> {
    let player = OnePly::new(model.sight.lanes.clone(), Box::new(model.opinion()), seed);
    Box::new(Seat::new(player, model.sight.clone()))
}
