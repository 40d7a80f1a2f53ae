//! A game prepared for features: its rules, its network and its structure.

use std::sync::{Arc, OnceLock};

use gdl::datalog::Terms;
use gdl::ground;
use gdl::program::{Program, Relation};
use gdl::{Stop, keyword};
use insight::analysis;
use insight::sample::{self, Samples};
use insight::structure::{self, Structure};
use insight::symmetry::{self, Grid, Symmetries};
use insight::universe::{self, Circuit, Universe};
use machine::network::{self, Network, Wire};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::columns::own_term;
use crate::images::Images;

/// A game prepared for features.
pub struct Game {
    /// The rules.
    pub program: Arc<Program>,
    /// What it is made of.
    pub universe: Universe,
    /// Its network.
    pub circuit: Circuit,
    /// Random matches.
    pub samples: Samples,
    /// Boards, orders, pieces, quantities, turns.
    pub structure: Structure,
    /// Ends all work on the game before its time.
    pub stop: Stop,
    images: OnceLock<Images>,
}

impl Game {
    /// Grounds and analyses a game; without a network there is a reason instead.
    pub fn new(program: Program, seed: u64) -> Result<Game, String> {
        Game::until(program, seed, &Stop::never())
    }

    /// The same, with a token that ends it, and all further work on the game, before its time.
    pub fn until(program: Program, seed: u64, stop: &Stop) -> Result<Game, String> {
        let program = Arc::new(program);
        let settings = analysis::Settings::default().until(stop);
        let (universe, circuit) = universe::survey(&program, &settings.ground)?;
        let samples = sample::play(&universe, &circuit, &settings.sample, seed);
        let structure = structure::find(&universe, Some(&circuit), &samples, &settings.prove);
        Ok(Game { program, universe, circuit, samples, structure, stop: stop.clone(), images: OnceLock::new() })
    }

    /// What the proved symmetries do to states; they are looked for once.
    pub fn images(&self) -> &Images {
        self.images.get_or_init(|| Images::of(self))
    }

    /// The symmetries that are proved, those of boards among them; `None` if the ground rules were too many to be kept.
    pub fn symmetries(&self, seed: u64) -> Option<Symmetries> {
        let (ground, network) = (self.circuit.ground.as_ref()?, &self.circuit.network);
        let boards = self.structure.boards.iter();
        let grids: Vec<Grid> = boards.map(|board| Grid::of_board(board, &self.universe, ground, network)).collect();
        let budget = symmetry::Budget { stop: self.stop.clone(), ..symmetry::Budget::default() };
        Some(symmetry::find_on_boards(ground, Some(network), &grids, &budget, seed))
    }
}

/// A network that has a wire for every atom of every relation that depends on the state alone.
#[derive(Clone)]
pub struct Views {
    /// The network.
    pub network: Arc<Network>,
    /// The relations.
    pub relations: Vec<Relation>,
    /// For each fluent of the network, its place among those of the game's own network.
    fluents: Vec<u32>,
    /// The same for moves.
    moves: Vec<u32>,
}

impl Views {
    /// Grounds the atoms of a game. Where they are too many, those of `legal`, `goal` and `terminal` alone.
    pub fn new(game: &Game) -> Result<Views, String> {
        let dynamic = universe::dynamic_relations(&game.program);
        let keywords = [(keyword::LEGAL, 2), (keyword::GOAL, 2), (keyword::TERMINAL, 0)];
        let keywords = keywords.map(|(name, arity)| Relation { name, arity });
        let (mut all, mut known): (Vec<Relation>, FxHashSet<Relation>) = Default::default();
        for rule in &game.program.rules {
            let relation = rule.head.relation();
            let depends_on_state = dynamic.get(&relation) == Some(&false);
            let is_output = matches!(relation.name, keyword::NEXT | keyword::INIT);
            if depends_on_state && !is_output && known.insert(relation) {
                all.push(relation);
            }
        }
        let few = keywords.into_iter().filter(|relation| all.contains(relation)).collect();
        Views::of(game, all).or_else(|_| Views::of(game, few))
    }

    fn of(game: &Game, relations: Vec<Relation>) -> Result<Views, String> {
        let budget = ground::Budget { stop: game.stop.clone(), ..ground::Budget::default() };
        let ground = ground::ground_with(&game.program, &relations, &budget);
        let network = network::build(ground.map_err(|failure| failure.to_string())?, &game.stop);
        Views::on(game, network.map_err(|failure| failure.to_string())?, relations)
    }

    /// The same with further gates and views of the caller's.
    pub(crate) fn with_network(self, network: Arc<Network>) -> Views {
        Views { network, relations: Vec::new(), ..self }
    }

    /// A network of the game with further rules.
    fn on(game: &Game, network: Network, relations: Vec<Relation>) -> Result<Views, String> {
        let own = &game.circuit.network;
        let fluents = same_terms((&own.terms, &own.fluents), (&network.terms, &network.fluents));
        let mut moves = Vec::new();
        for (there, here) in own.moves_of.iter().zip(&network.moves_of) {
            let of = |network: &Network, range: &std::ops::Range<u32>| {
                network.moves[range.start as usize..range.end as usize].to_vec()
            };
            let places = same_terms((&own.terms, &of(own, there)), (&network.terms, &of(&network, here)));
            moves.extend(places.ok_or("its moves differ")?.into_iter().map(|place| place + there.start));
        }
        Ok(Views { fluents: fluents.ok_or("its fluents differ")?, moves, network: Arc::new(network), relations })
    }

    /// The game's own number of each move.
    pub fn moves(&self) -> &[u32] {
        &self.moves
    }

    /// The place in this network of each fluent of the game's own.
    pub fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.fluents.len()];
        (0u32..).zip(&self.fluents).for_each(|(own, &other)| places[other as usize] = own);
        places
    }

    /// Every fluent of the game with its wire in this network.
    pub(crate) fn fluents(&self, game: &Game) -> Vec<(gdl::TermId, Wire)> {
        let own = self.places();
        let wire = |wire: Wire| match wire.gate() {
            0 => wire,
            gate => Wire::of(1 + own[gate as usize - 1]).invert_if(wire.is_inverted()),
        };
        game.universe.fluents.iter().zip(&game.circuit.fluents).map(|(&fluent, &of)| (fluent, wire(of))).collect()
    }

    /// A state of the game's own network as one of this one.
    pub fn state(&self, state: &[u64]) -> Vec<u64> {
        let mut bits = vec![0; self.fluents.len().div_ceil(64)];
        for (own, &other) in self.fluents.iter().enumerate() {
            bits[own / 64] |= (state[other as usize / 64] >> (other % 64) & 1) << (own % 64);
        }
        bits
    }

    /// A state of this network as one of the game's own.
    pub fn game_state(&self, state: &[u64]) -> Vec<u64> {
        let mut bits = vec![0; self.fluents.len().div_ceil(64)];
        for (own, &other) in self.fluents.iter().enumerate() {
            bits[other as usize / 64] |= (state[own / 64] >> (own % 64) & 1) << (other % 64);
        }
        bits
    }
}

/// For each of the second terms, its place among the first; `None` unless they are the same.
fn same_terms(from: (&Terms, &[gdl::TermId]), to: (&Terms, &[gdl::TermId])) -> Option<Vec<u32>> {
    let mut own = Terms::default();
    let mut key = |(terms, list): (&Terms, &[gdl::TermId])| -> Vec<gdl::TermId> {
        let mut known = FxHashMap::default();
        list.iter().map(|&term| own_term(terms, &mut own, &mut known, term)).collect()
    };
    let place_of: FxHashMap<gdl::TermId, u32> = key(from).into_iter().zip(0u32..).collect();
    let places: Vec<u32> = key(to).iter().map(|term| place_of.get(term).copied()).collect::<Option<_>>()?;
    (places.len() == from.1.len()).then_some(places)
}
