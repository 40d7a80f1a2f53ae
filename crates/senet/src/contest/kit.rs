//! A game made ready for matches: what its players need, each part when it is first asked for.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anyhow::{anyhow, bail};
use features::game::Game;
use gdl::Stop;
use insight::canonical::{self, Canonical, canonical};
use learn::model::Model;
use learn::player::Search;
use machine::network::Network;
use machine::{lanes, scalar};
use search::fuzzy;

use crate::evidence;
use crate::memory;
use crate::portfolio;
use crate::rules::{self, Rules};

/// A game made ready for matches.
pub(crate) struct Kit {
    pub(crate) name: String,
    /// The rules, as contestants get them.
    pub(crate) rules: arena::Rules,
    /// What the game's scrambled forms have in common.
    pub(crate) fingerprint: u128,
    /// The roles in the order of the rules.
    pub(crate) roles: Vec<String>,
    /// The memory.
    pub(crate) memory: PathBuf,
    form: Canonical,
    plain: OnceLock<Result<Plain, String>>,
    game: OnceLock<Result<Arc<Game>, String>>,
    model: OnceLock<Result<Option<Known>, String>>,
    fuzzy: OnceLock<Option<Arc<fuzzy::Compiled>>>,
}

/// A game's engines.
#[derive(Clone)]
pub(crate) struct Plain {
    pub(crate) network: Arc<Network>,
    pub(crate) scalar: Arc<scalar::Compiled>,
    pub(crate) lanes: Arc<lanes::Compiled>,
}

impl Plain {
    fn new(network: Arc<Network>) -> Plain {
        let (scalar, lanes) = (scalar::Compiled::new(network.clone()), lanes::Compiled::new(network.clone()));
        Plain { network, scalar, lanes }
    }
}

/// A model that is known.
#[derive(Clone)]
pub(crate) struct Known {
    /// Its number in the memory.
    pub(crate) id: i64,
    pub(crate) model: Arc<Model>,
    /// The search that it plays best with.
    pub(crate) search: Search,
}

impl Kit {
    pub(crate) fn new(rules: &Rules, memory: PathBuf) -> anyhow::Result<Kit> {
        rules::accept(rules)?;
        let roles = portfolio::roles(&rules.program, &Stop::never()).map_err(|why| anyhow!(why))?;
        if roles.is_empty() {
            bail!("`{}` has no roles, so nobody can play it", rules.source.name());
        }
        let form = canonical(&rules.program, canonical::BUDGET);
        Ok(Kit {
            name: rules.game_name(),
            rules: arena::Rules::read(&rules.game_name(), rules.source.text()),
            fingerprint: form.fingerprint.0,
            roles,
            memory,
            form,
            plain: OnceLock::new(),
            game: OnceLock::new(),
            model: OnceLock::new(),
            fuzzy: OnceLock::new(),
        })
    }

    /// The engines; an error says why there are none.
    pub(crate) fn plain(&self) -> Result<&Plain, String> {
        let make = || {
            let ground = gdl::ground::ground(&self.rules.reading.program, &gdl::ground::Budget::default());
            let ground = ground.map_err(|why| format!("`{}` can't be grounded: {why}", self.name))?;
            let network = machine::network::build(ground, &gdl::Stop::never());
            let network = network.map_err(|why| format!("`{}` makes no useful network: {why}", self.name))?;
            Ok(Plain::new(Arc::new(network)))
        };
        self.plain.get_or_init(make).as_ref().map_err(String::clone)
    }

    /// The game as models know it.
    pub(crate) fn game(&self) -> Result<&Arc<Game>, String> {
        let make = || {
            let game = Game::new(self.form.respelled(&self.rules.reading.program), 1);
            game.map(Arc::new).map_err(|why| format!("`{}` can't be grounded: {why}", self.name))
        };
        self.game.get_or_init(make).as_ref().map_err(String::clone)
    }

    /// The engines of the game as models know it.
    pub(crate) fn engines(&self) -> Result<Plain, String> {
        Ok(Plain::new(self.game()?.circuit.network.clone()))
    }

    /// The model of the game that plays, whatever the names.
    pub(crate) fn known(&self) -> anyhow::Result<Option<&Known>> {
        let make = || {
            let look = || -> anyhow::Result<Option<Known>> {
                let store = memory::open(Some(self.memory.clone()))?;
                if !store.models()?.iter().any(|entry| entry.game == self.fingerprint) {
                    return Ok(None);
                }
                let game = self.game().map_err(|why| anyhow!(why))?;
                let known = evidence::best_model(&store, self.fingerprint, game, &evidence::warn)?;
                Ok(known.map(|known| Known { id: known.entry.id, model: known.model, search: known.stored.search }))
            };
            look().map_err(|error| format!("{error:#}"))
        };
        self.model.get_or_init(make).as_ref().map(Option::as_ref).map_err(|why| anyhow!(why.clone()))
    }

    /// The model, or an error that says how to get one.
    pub(crate) fn model(&self) -> anyhow::Result<&Known> {
        let missing = || anyhow!("there is no model of `{}` yet; `senet learn {}` makes one", self.name, self.name);
        self.known()?.ok_or_else(missing)
    }

    /// The goals' fuzzy truth.
    pub(crate) fn fuzzy(&self) -> anyhow::Result<Arc<fuzzy::Compiled>> {
        let game = self.game().map_err(|why| anyhow!(why))?;
        let make = || {
            let ground = game.circuit.ground.as_ref()?;
            Some(Arc::new(fuzzy::Compiled::new(ground, &game.universe, &game.circuit, Some(&game.structure))))
        };
        let compiled = self.fuzzy.get_or_init(make).clone();
        compiled.ok_or_else(|| anyhow!("`{}` is too large for fuzzy goals", self.name))
    }
}
