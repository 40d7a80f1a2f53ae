//! What an evaluation looks at: features, patterns, and the stage of the match.

use std::sync::Arc;

use features::compile::{Budget, compile};
use features::evaluate::{bulk, incremental};
use features::feature::Feature;
use features::game::{Game, Views};
use features::pattern::atoms::{self, AtomicFeature, Atoms, Literal, Value};
use features::pattern::orbit::{self, AtomSymmetry, Orbit};
use features::pattern::shapes;
use features::pattern::table::{Index, Indexer, Instance};
use features::reach::Number;
use machine::lanes;
use search::Nature;

use crate::stage::Stages;
use crate::ways::{Look, Ways};

/// What an evaluation looks at, prepared; shared between threads.
///
/// States and moves of a sight are those of its own network, which has more gates than the game's and may number fluents and
/// moves otherwise.
pub struct Sight {
    /// The game.
    pub game: Arc<Game>,
    /// The features.
    pub features: Vec<Feature>,
    /// The tables of patterns.
    pub patterns: Option<Patterns>,
    /// The tables over ways to goals; their slots come after those of the patterns.
    pub ways: Option<Ways>,
    /// Which set of weights counts where, for states of the own network.
    pub stages: Stages,
    /// The same for states of the game's.
    pub game_stages: Stages,
    /// The own network, with what its states are in the game's.
    pub views: Views,
    /// What kind of game searches have before them.
    pub nature: Arc<Nature>,
    pub(crate) compiled: Arc<incremental::Compiled>,
    pub(crate) bulk: Arc<bulk::Compiled>,
    /// The own network's machine for many states at once.
    pub lanes: Arc<lanes::Compiled>,
}

/// Tables of patterns over the own network.
pub struct Patterns {
    pub(crate) indexer: Indexer<u32>,
    /// The atoms that patterns are made of, over the own network.
    pub atoms: Vec<AtomicFeature>,
    /// Patterns with their images.
    pub orbits: Vec<Orbit>,
    /// For each instance, its orbit.
    pub(crate) orbit_of: Vec<u32>,
    /// For each orbit, the column of its first canonical slot; one more at the end.
    pub(crate) first: Vec<u32>,
}

impl Patterns {
    /// How many canonical slots there are.
    pub fn n_slots(&self) -> usize {
        *self.first.last().expect("one more than orbits") as usize
    }

    /// In how many places a canonical slot may be met.
    pub fn n_places(&self, slot: u32) -> usize {
        self.orbits[self.orbit(slot)].instances.len()
    }

    fn orbit(&self, slot: u32) -> usize {
        self.first.partition_point(|&first| first <= slot) - 1
    }

    /// The atoms and values of a canonical slot, as its first pattern has them.
    pub fn slot(&self, slot: u32) -> Vec<(u32, Value)> {
        let orbit = self.orbit(slot);
        let (number, orbit) = (slot - self.first[orbit], &self.orbits[orbit]);
        let index = orbit.canonical.iter().position(|&canonical| canonical == number).expect("each number has a slot");
        let instance = &orbit.instances[0];
        let (strides, _) = instance.strides(&self.atoms);
        let value = |(at, (&atom, stride)): (usize, (&u32, usize))| {
            let atomic = &self.atoms[atom as usize];
            let digit = index / stride % atomic.range();
            // A digit may stand for another value.
            let digits = instance.digits.get(at);
            let value = digits.map_or(digit, |digits| {
                digits
                    .iter()
                    .position(|&other| usize::from(other) == digit)
                    .expect("digits are values in another order")
            });
            (atom, atomic.values[value])
        };
        instance.atoms.iter().zip(strides).enumerate().map(value).collect()
    }

    /// How many indices a state has.
    pub fn n_instances(&self) -> usize {
        self.orbit_of.len()
    }
}

/// How patterns are proposed.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PatternSettings {
    /// Slots of a table.
    pub slots: usize,
    /// Instances of patterns that know their place, all together; those of the last orbits are left out, and so are all beyond a
    /// quarter of this where there are tied ones.
    pub instances: usize,
    /// Instances of patterns that are the same all over the board, all together. There are such ones only on boards too large for
    /// all of the others.
    pub tied: usize,
}

impl Default for PatternSettings {
    fn default() -> PatternSettings {
        PatternSettings { slots: 4_096, instances: 256, tied: 1_024 }
    }
}

impl PatternSettings {
    /// Whether what is proposed by them takes no more memory than patterns are worth.
    pub(crate) fn is_moderate(&self) -> bool {
        self.slots <= shapes::Settings::default().slots && self.instances.max(self.tied) <= 1 << 16
    }
}

impl Sight {
    /// Prepares features, patterns if they are wanted, and stages, which are given for the game's own states.
    pub fn new(
        game: Arc<Game>,
        features: Vec<Feature>,
        patterns: Option<&PatternSettings>,
        stages: &Stages,
    ) -> Result<Sight, String> {
        let compiled = compile(&game, &features, &Budget::default())?;
        let places = compiled.views.places();
        let lanes = lanes::Compiled::new(compiled.views.network.clone());
        Ok(Sight {
            patterns: patterns.and_then(|settings| propose(&game, &places, settings)),
            ways: None,
            stages: stages.moved(&places),
            game_stages: stages.clone(),
            nature: Arc::new(Nature::new(&lanes, 1)),
            lanes,
            compiled: incremental::Compiled::new(&compiled.sums),
            bulk: Arc::new(bulk::Compiled::new(&compiled.sums)),
            views: compiled.views,
            features,
            game,
        })
    }

    /// The same with tables over numbers of relaxed games, as far as there are such.
    #[must_use]
    pub fn with_ways(self, numbers: &[Number]) -> Sight {
        Sight { ways: Ways::new(&self.views.network, numbers), ..self }
    }

    /// How many slots there are, of patterns and of ways.
    pub fn n_slots(&self) -> usize {
        self.patterns.as_ref().map_or(0, Patterns::n_slots) + self.ways.as_ref().map_or(0, Ways::n_slots)
    }

    /// How many of them a state has.
    pub fn n_met(&self) -> usize {
        self.patterns.as_ref().map_or(0, Patterns::n_instances) + self.ways.as_ref().map_or(0, Ways::n_tables)
    }

    /// The weights of a measured state's slots of ways, added up.
    pub(crate) fn weigh_ways(&self, look: &Look, state: usize, slots: &[f32]) -> f32 {
        let Some(ways) = &self.ways else { return 0.0 };
        let slots = &slots[slots.len() - ways.n_slots()..];
        look.slots(ways, state).map(|slot| slots[slot as usize]).sum()
    }

    /// What is seen in many states of the game's own network.
    pub fn rows<'a>(&self, states: impl IntoIterator<Item = &'a [u64]>) -> Rows {
        let states: Vec<Vec<u64>> = states.into_iter().map(|state| self.views.state(state)).collect();
        self.own_rows(&states.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// What is seen in many states of the own network.
    pub fn own_rows(&self, states: &[&[u64]]) -> Rows {
        let mut values = Vec::new();
        bulk::Bulk::new(self.bulk.clone()).values(states, &mut values);
        let mut slots = Vec::with_capacity(states.len() * self.n_met());
        let mut at = self.patterns.as_ref().zip(states.first()).map(|(patterns, first)| patterns.indexer.start(first));
        let mut look = self.ways.as_ref().map(Ways::look);
        if let Some(look) = &mut look {
            look.measure(states);
        }
        let first_way = self.patterns.as_ref().map_or(0, Patterns::n_slots) as u32;
        for (number, state) in states.iter().enumerate() {
            if let (Some(patterns), Some(at)) = (&self.patterns, &mut at) {
                patterns.indexer.go(at, state);
                for (index, &orbit) in patterns.indexer.indices(at).iter().zip(&patterns.orbit_of) {
                    let canonical = &patterns.orbits[orbit as usize].canonical;
                    let slot = canonical.get(index.place()).map(|slot| patterns.first[orbit as usize] + slot);
                    slots.push(slot.unwrap_or(u32::MAX));
                }
            }
            if let (Some(ways), Some(look)) = (&self.ways, &look) {
                slots.extend(look.slots(ways, number).map(|slot| first_way + slot));
            }
        }
        let sets = states.iter().map(|state| self.stages.set(state) as u16).collect();
        Rows { values, slots, sets }
    }
}

/// What is seen in some states.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// For each state, the values of all features.
    pub values: Vec<i32>,
    /// For each state and instance of a pattern, the canonical slot, none if that is beyond the table; and then for each table over
    /// ways its slot.
    pub slots: Vec<u32>,
    /// For each state, the set of weights.
    pub sets: Vec<u16>,
}

impl Rows {
    /// Adds other rows of the same sight.
    pub fn append(&mut self, other: Rows) {
        self.values.extend(other.values);
        self.slots.extend(other.slots);
        self.sets.extend(other.sets);
    }
}

/// Keeps the first orbits, as long as they have at most so many instances together.
fn keep(orbits: &mut Vec<Orbit>, n_instances: usize) {
    let mut n = 0;
    orbits.retain(|orbit| {
        let kept = n + orbit.instances.len() <= n_instances;
        n += if kept { orbit.instances.len() } else { 0 };
        kept
    });
}

/// Patterns that are the same all over a board: lines, the longest that fit first, and blocks, the largest first.
fn tied(game: &Game, atoms: &Atoms, keeping: &[AtomSymmetry], settings: &PatternSettings) -> Vec<Orbit> {
    let mut proposed = Vec::new();
    for layer in &atoms.layers {
        let shapes = shapes::Settings {
            slots: settings.slots,
            min_line: usize::MAX,
            straight: vec![7, 6, 5, 4, 3],
            corners: Vec::new(),
            blocks: vec![(3, 3), (2, 4), (2, 3), (2, 2)],
            ..shapes::Settings::default()
        };
        proposed.extend(shapes::propose(&game.structure.boards[layer.board], layer, &shapes).shapes);
    }
    let budget = orbit::Budget { slots: settings.slots, instances: settings.tied };
    let mut orbits = orbit::tied(&atoms.features, &proposed, keeping, &budget);
    // The largest block and the longest lines say most.
    orbits.sort_by_key(|orbit| std::cmp::Reverse(orbit.canonical.len()));
    orbits
}

/// The patterns of a game's boards, over a network that has the game's fluents at these places.
fn propose(game: &Game, places: &[u32], settings: &PatternSettings) -> Option<Patterns> {
    let found = atoms::find(game, &atoms::Settings { counts: false, ..atoms::Settings::default() });
    let mut proposed = Vec::new();
    for layer in &found.layers {
        let shapes = shapes::Settings { slots: settings.slots, ..shapes::Settings::default() };
        proposed.extend(shapes::propose(&game.structure.boards[layer.board], layer, &shapes).shapes);
    }
    let symmetries = game.symmetries(1);
    let keeping = symmetries.map_or(Vec::new(), |symmetries| orbit::keeping_roles(game, &found.features, &symmetries));
    let budget = orbit::Budget { slots: settings.slots, ..orbit::Budget::default() };
    let (mut orbits, _) = orbit::orbits(&found.features, &proposed, &keeping, &budget);
    let n_instances: usize = orbits.iter().map(|orbit| orbit.instances.len()).sum();
    let mut tied = if n_instances > settings.instances { tied(game, &found, &keeping, settings) } else { Vec::new() };
    keep(&mut orbits, if tied.is_empty() { settings.instances } else { settings.instances / 4 });
    keep(&mut tied, settings.tied);
    orbits.extend(tied);
    (0..).zip(&mut orbits).for_each(|(number, orbit)| {
        orbit.instances.iter_mut().for_each(|instance| instance.table = number);
    });
    let mut features = found.features;
    let move_literal = |literal: &mut Literal| literal.fluent = places[literal.fluent as usize];
    for feature in &mut features {
        for value in &mut feature.values {
            if let Value::Is(literal) = value {
                move_literal(literal);
            }
        }
        feature.terms.iter_mut().for_each(|(literal, _)| move_literal(literal));
    }
    let instances: Vec<Instance> = orbits.iter().flat_map(|orbit| orbit.instances.iter().cloned()).collect();
    let indexer = Indexer::new(&features, &instances, places.len()).filter(|_| !instances.is_empty())?;
    let orbit_of = instances.iter().map(|instance| instance.table).collect();
    let first = std::iter::once(0).chain(orbits.iter().scan(0, |at, orbit| {
        *at += orbit.n_canonical as u32;
        Some(*at)
    }));
    Some(Patterns { first: first.collect(), atoms: features, indexer, orbit_of, orbits })
}
