//! A game's analysis as a whole: everything this crate finds, in words and numbers that can be printed, stored and compared.
//!
//! The rules are brought into canonical form first ([`crate::canonical`]), so that the order of rules and the names in them
//! can't matter: a scrambled copy has the same canonical form, and so the same analysis, down to the random matches.

use std::sync::Arc;

use gdl::datalog::Limits;
use gdl::ground::GroundProgram;
use gdl::program::Program;
use gdl::symbol::Symbols;
use gdl::{Domains, Relation, Stop, TermId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::canonical::{self, Canonical, canonical_until};
use crate::order::{Operation, Order};
use crate::prove;
use crate::sample::{self, Mean, Samples};
use crate::structure::board::{Board, Marker, MarkerName};
use crate::structure::{self, Evidence, Structure, turn};
use crate::symmetry::{self, Grid, Symmetry, SymmetryGroup};
use crate::universe::{self, Circuit, Universe};

/// How much an analysis may do. All limits are counts, so that results don't depend on the machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed of the random matches.
    pub seed: u64,
    /// Nodes of the search for the canonical form.
    pub graph: u64,
    /// How much grounding may do.
    pub ground: gdl::ground::Budget,
    /// How much is played.
    pub sample: sample::Budget,
    /// How much is tried to prove.
    pub prove: prove::Budget,
    /// How much the search for symmetries may do.
    pub symmetry: symmetry::Budget,
    /// How much an evaluation of the rules may do, where there is no network.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            graph: canonical::BUDGET,
            ground: gdl::ground::Budget::default(),
            sample: sample::Budget::default(),
            prove: prove::Budget::default(),
            symmetry: symmetry::Budget::default(),
            limits: Limits { work: 2_000_000_000, ..Limits::default() },
        }
    }
}

impl Settings {
    /// The same with one token that ends every stage before its time.
    #[must_use]
    pub fn until(mut self, stop: &Stop) -> Settings {
        let stops = [&mut self.ground.stop, &mut self.sample.stop, &mut self.prove.stop];
        stops.into_iter().chain([&mut self.symmetry.stop, &mut self.limits.stop]).for_each(|own| *own = stop.clone());
        self
    }

    /// The token; all stages have the same one.
    fn stop(&self) -> &Stop {
        &self.sample.stop
    }
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; `None` below two values.
    pub margin: Option<f64>,
    /// The number of values.
    pub n: u64,
}

impl From<&Mean> for Estimate {
    fn from(mean: &Mean) -> Estimate {
        let margin = mean.margin();
        Estimate { mean: mean.value(), margin: margin.is_finite().then_some(margin), n: mean.count() }
    }
}

/// What a game is played on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Engine {
    /// The fluents that may hold; without a network, those that were met.
    pub fluents: usize,
    /// Those that held in a sampled state.
    pub fluents_seen: usize,
    /// The moves that may be legal; without a network, those that were met.
    pub moves: usize,
    /// The conjunctions of the network.
    pub gates: Option<usize>,
    /// Why there is no network.
    pub no_network: Option<String>,
    /// Why nothing was proved.
    pub no_proofs: Option<String>,
    /// The decimal logarithm of an upper bound on the number of states, by what excludes each other.
    pub log10_states: f64,
}

/// A relation of the rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelationReport {
    /// Its name.
    pub name: String,
    /// What may stand in each argument.
    pub arguments: Vec<Domain>,
    /// Whether it depends on nothing, the state, or the moves.
    pub depends_on: Dependence,
    /// How many rules define it.
    pub rules: usize,
    /// How many facts it has, if it never changes and they are few enough.
    pub facts: Option<usize>,
    /// If it is recursive: how many of its rules don't refer to the recursion.
    pub base_cases: Option<usize>,
}

/// What a relation depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dependence {
    /// Nothing: it never changes.
    Nothing,
    /// The state.
    State,
    /// The state and the moves.
    Moves,
}

/// The names that may stand in an argument.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Domain {
    /// How many.
    pub size: usize,
    /// The names; the first few, if there are many.
    pub values: Vec<String>,
}

/// A family of fluents or moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyReport {
    /// Its shape, with a `_` for each argument.
    pub shape: String,
    /// How many members it has.
    pub members: usize,
    /// How many values each argument has.
    pub domains: Vec<usize>,
    /// Whether every member ceases to hold after one step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_changes: Option<Evidence>,
}

/// An order of objects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderReport {
    /// The relation.
    pub relation: String,
    /// The value of the other argument, where the relation holds several orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The objects, from first to last.
    pub objects: Vec<String>,
    /// Whether the last is followed by the first.
    pub cyclic: bool,
    /// The relation of an earlier order of the same objects, and whether that runs the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<(String, bool)>,
}

/// A relation that computes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArithmeticReport {
    /// The relation.
    pub relation: String,
    /// What it says, in words.
    pub meaning: String,
    /// The relation of the order of each argument; `None` for numbers as such.
    pub orders: Vec<Option<String>>,
}

/// Fluents of which at most one holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExclusionReport {
    /// The families, with `+` for the arguments that are equal within a group, and `-` for the others.
    pub modes: Vec<String>,
    /// How many groups there are.
    pub groups: usize,
    /// How many fluents the largest group has.
    pub largest: usize,
    /// Why at most one holds.
    pub at_most_one: Evidence,
    /// If exactly one holds: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least_one: Option<Evidence>,
}

/// Who moves when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnReport {
    /// How turns are taken.
    pub kind: &'static str,
    /// Why that is said.
    pub evidence: Evidence,
    /// Who is to move first.
    pub first: Vec<String>,
    /// For each role, the moves that mean that it has nothing to do.
    pub idle_moves: Vec<(String, Vec<String>)>,
    /// For each role, the fluents that hold exactly when it is to move.
    pub control: Vec<(String, Vec<String>)>,
}

/// A variable of the state that changes by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterReport {
    /// The fluents.
    pub fluent: String,
    /// Whether its values come round again.
    pub cyclic: bool,
    /// Its first values, in order, and the last.
    pub values: Vec<String>,
    /// How many values there are.
    pub n_values: usize,
    /// Why it goes on so.
    pub evidence: Evidence,
    /// The value with which the game ends, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<(String, Evidence)>,
}

/// A coordinate of a board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisReport {
    /// Its values, in order if there is one.
    pub values: Vec<String>,
    /// The relation that orders them.
    pub order: Option<String>,
    /// Whether the order closes to a circle.
    pub cyclic: bool,
}

/// What may stand on a board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkerReport {
    /// Its name.
    pub name: String,
    /// If it is never in two cells at once: why that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece: Option<Evidence>,
    /// The role whose moves alone put it somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether it means that nothing is there.
    pub blank: bool,
    /// Whether it ever came to a cell or left one.
    pub changes: bool,
    /// The mean number of cells that hold it.
    pub mean_count: f64,
}

/// A board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoardReport {
    /// The families that it is made of: `+` for coordinates, `-` for what stands there.
    pub layers: Vec<LayerReport>,
    /// The coordinates.
    pub axes: Vec<AxisReport>,
    /// What the board looks like: a row, a grid, a hexagonal board, a graph.
    pub shape: String,
    /// The cells: the place of each coordinate's value.
    pub cells: Vec<Vec<usize>>,
    /// What stands on each cell initially: markers' numbers.
    pub initial: Vec<Vec<usize>>,
    /// The relation between neighbouring cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighboursReport>,
    /// What may stand on it.
    pub markers: Vec<MarkerReport>,
}

/// A family of fluents that is part of a board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// The family: `+` for coordinates, `-` for what stands there.
    pub mode: String,
    /// If a cell holds at most one marker: why that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_per_cell: Option<Evidence>,
    /// If a marker is in at most one cell: why that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_cell_each: Option<Evidence>,
}

/// A relation between neighbouring cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeighboursReport {
    /// The relation.
    pub relation: String,
    /// The pairs of cells, by their numbers.
    pub pairs: Vec<(u32, u32)>,
    /// Whether the relation holds both ways.
    pub symmetric: bool,
    /// The most neighbours that a cell has.
    pub max_degree: usize,
}

/// A number that the game keeps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantityReport {
    /// The family: `+` for what it is the number of, `-` for the number.
    pub mode: String,
    /// How many such numbers there are.
    pub count: usize,
    /// The relation that orders its values.
    pub order: String,
    /// The least and the greatest value.
    pub range: (String, String),
}

/// How matches end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeReport {
    /// Roles that always had equal results, grouped.
    pub teams: Vec<Vec<String>>,
    /// Why they are teams.
    pub teams_evidence: Evidence,
    /// The sum of all results, if it is constant, and why that is said.
    pub constant_sum: Option<(i64, Evidence)>,
    /// The goal values of each role.
    pub goal_values: Vec<(String, Vec<i64>)>,
}

/// What random matches are like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// States visited.
    pub states: u64,
    /// Matches played to their end.
    pub matches: u64,
    /// Matches given up: too long, or a role without a legal move.
    pub given_up: u64,
    /// Whether the budget cut matches short, so that the numbers lean to short ones.
    pub cut_short: bool,
    /// The legal moves of a role that has a choice, averaged over a match.
    pub branching: Estimate,
    /// The most legal moves that a role had.
    pub max_moves: u32,
    /// The joint moves of a match.
    pub length: Estimate,
    /// The shortest and the longest match.
    pub lengths: Option<(u32, u32)>,
    /// Each role's result.
    pub results: Vec<(String, Estimate)>,
    /// The share of matches that each role won: had the best result, alone.
    pub wins: Vec<(String, Estimate)>,
    /// The share of matches in which several roles had the best result.
    pub shared: Estimate,
    /// How much more the role to move first gets than the mean of the others.
    pub first_move_advantage: Option<Estimate>,
}

/// The permutations of fluents, moves and roles under which the game stays the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SymmetryReport {
    /// How many there are, the identity included; `None` if that was too much to find out.
    pub order: Option<u128>,
    /// The decimal logarithm of that number.
    pub log10_order: Option<f64>,
    /// How many of them fix the initial state.
    pub order_fixing_initial: Option<u128>,
    /// Some that generate all.
    pub generators: Vec<GeneratorReport>,
    /// Permutations that no sample refuted and nothing proved; they are not counted.
    pub unproved: Vec<GeneratorReport>,
    /// How many classes of fluents and of moves there are, up to symmetry.
    pub classes: Option<(usize, usize)>,
    /// Why there may be more.
    pub stopped: Vec<String>,
}

/// A symmetry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeneratorReport {
    /// What it does, in words.
    pub name: String,
    /// Why it is believed.
    pub evidence: Evidence,
    /// Whether the initial state is its own image.
    pub fixes_initial: bool,
    /// The names of the fluents that are moved, with their images; the first few, if they are many.
    pub fluents: Vec<(String, String)>,
    /// The roles that are moved, with their images.
    pub roles: Vec<(String, String)>,
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// What the game's scrambled forms have in common.
    pub fingerprint: String,
    /// Why the analysis of a scrambled copy may differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_canonical: Option<String>,
    /// Whether it was stopped before its time, so that there may be more to find.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The roles.
    pub roles: Vec<String>,
    /// Who moves when.
    pub turns: TurnReport,
    /// How matches end.
    pub outcome: OutcomeReport,
    /// The boards.
    pub boards: Vec<BoardReport>,
    /// The counters and cycles.
    pub counters: Vec<CounterReport>,
    /// The numbers that it keeps.
    pub quantities: Vec<QuantityReport>,
    /// The orders.
    pub orders: Vec<OrderReport>,
    /// The relations that compute with them.
    pub arithmetic: Vec<ArithmeticReport>,
    /// Fluents that exclude each other.
    pub exclusions: Vec<ExclusionReport>,
    /// The families of fluents.
    pub fluents: Vec<FamilyReport>,
    /// The families of moves.
    pub moves: Vec<FamilyReport>,
    /// Moves that have no effect on what comes next.
    pub moves_without_effect: Vec<String>,
    /// The relations.
    pub relations: Vec<RelationReport>,
    /// Its symmetries, where the game could be grounded.
    pub symmetries: Option<SymmetryReport>,
    /// What random matches are like.
    pub numbers: Numbers,
    /// What it is played on.
    pub engine: Engine,
}

/// Analyses a game. What is found does not depend on names and order, and is told in the names of the rules.
pub fn analyze(program: &Program, settings: &Settings) -> Result<Analysis, String> {
    let canonical = canonical_until(program, settings.graph, settings.stop());
    analyze_form(&canonical, &Arc::new(canonical.respelled(program)), settings)
}

/// Analyses a game in its canonical form, told in canonical names: equal for all scrambled forms of a game.
pub fn analyze_canonical(canonical: &Canonical, settings: &Settings) -> Result<Analysis, String> {
    analyze_form(canonical, &Arc::new(canonical.program.clone()), settings)
}

fn analyze_form(canonical: &Canonical, program: &Arc<Program>, settings: &Settings) -> Result<Analysis, String> {
    let (universe, circuit, samples, no_network) = match universe::survey(program, &settings.ground) {
        Ok((universe, circuit)) => {
            let samples = sample::play(&universe, &circuit, &settings.sample, settings.seed);
            (universe, Some(circuit), samples, None)
        }
        Err(reason) => {
            let (universe, samples) = sample::play_slowly(program, &settings.sample, settings.seed, &settings.limits)?;
            (universe, None, samples, Some(reason))
        }
    };
    let structure = structure::find(&universe, circuit.as_ref(), &samples, &settings.prove);
    let reporter =
        Reporter { universe: &universe, circuit: circuit.as_ref(), samples: &samples, structure: &structure };
    let symmetries = reporter.symmetries(settings);
    let mut analysis = reporter.report(canonical, no_network, symmetries, settings.stop());
    analysis.stopped = settings.stop().is_raised();
    Ok(analysis)
}

struct Reporter<'a> {
    universe: &'a Universe,
    circuit: Option<&'a Circuit>,
    samples: &'a Samples,
    structure: &'a Structure,
}

/// How many names of a domain are listed.
const MAX_VALUES: usize = 100;

impl Reporter<'_> {
    fn report(
        &self,
        canonical: &Canonical,
        no_network: Option<String>,
        symmetries: Option<SymmetryReport>,
        stop: &Stop,
    ) -> Analysis {
        let (universe, structure) = (self.universe, self.structure);
        Analysis {
            fingerprint: canonical.fingerprint.to_string(),
            not_canonical: canonical.too_hard.map(|too_hard| too_hard.to_string()),
            stopped: false,
            roles: universe.roles.iter().map(|&role| universe.name(role)).collect(),
            turns: self.turns(),
            outcome: self.outcome(),
            boards: structure.boards.iter().enumerate().map(|(index, board)| self.board(index, board)).collect(),
            counters: self.counters(),
            quantities: self.quantities(),
            orders: structure.orders.iter().map(|order| self.order(order)).collect(),
            arithmetic: self.arithmetic(),
            exclusions: self.exclusions(),
            fluents: self.fluents(),
            moves: self.moves(),
            moves_without_effect: structure.turns.without_effect.iter().map(|&chosen| self.move_name(chosen)).collect(),
            relations: self.relations(stop),
            symmetries,
            numbers: self.numbers(),
            engine: Engine {
                fluents: universe.fluents.len(),
                fluents_seen: self.samples.held.iter().filter(|&&held| held > 0).count(),
                moves: universe.moves.len(),
                gates: self.circuit.map(|circuit| circuit.network.n_gates()),
                no_network,
                no_proofs: structure.unproved.clone(),
                log10_states: self.log10_states(),
            },
        }
    }

    fn symmetries(&self, settings: &Settings) -> Option<SymmetryReport> {
        let circuit = self.circuit?;
        let Some(ground) = &circuit.ground else {
            let stopped = vec!["the ground rules are too many to be kept".to_owned()];
            return Some(SymmetryReport {
                order: None,
                log10_order: None,
                order_fixing_initial: None,
                generators: Vec::new(),
                unproved: Vec::new(),
                classes: None,
                stopped,
            });
        };
        let boards = self.structure.boards.iter();
        let mut grids: Vec<Grid> =
            boards.map(|board| Grid::of_board(board, self.universe, ground, &circuit.network)).collect();
        let (network, budget) = (Some(&circuit.network), &settings.symmetry);
        let found = symmetry::find_on_boards(ground, network, &grids, budget, settings.seed);
        if !budget.stop.is_raised() {
            grids.iter_mut().for_each(|grid| grid.arrange(&found.generators));
        }
        let report = |symmetry: &Symmetry| self.generator(ground, &grids, symmetry);
        let on = |_: &&Symmetry| !budget.stop.is_raised();
        let classes = |orbits: Vec<u32>| orbits.iter().enumerate().filter(|&(at, &least)| at as u32 == least).count();
        let group = found.group.as_ref();
        Some(SymmetryReport {
            order: group.and_then(SymmetryGroup::order),
            log10_order: group.map(SymmetryGroup::log10_order),
            order_fixing_initial: group.and_then(SymmetryGroup::order_fixing_initial),
            generators: found.generators.iter().take_while(on).map(report).collect(),
            unproved: found.unproved.iter().take_while(on).map(report).collect(),
            classes: group.map(|group| (classes(group.fluent_orbits()), classes(group.move_orbits()))),
            stopped: found.stopped.iter().map(ToString::to_string).collect(),
        })
    }

    fn generator(&self, ground: &GroundProgram, grids: &[Grid], symmetry: &Symmetry) -> GeneratorReport {
        let moved = |images: &[u32], name: &dyn Fn(usize) -> String, limit: usize| {
            let moved = images.iter().enumerate().filter(|&(at, &image)| at as u32 != image).take(limit);
            moved.map(|(at, &image)| (name(at), name(image as usize))).collect()
        };
        GeneratorReport {
            name: symmetry::describe(ground, grids, symmetry).to_string(),
            evidence: match symmetry.evidence {
                symmetry::Evidence::Seen { states } => Evidence::Seen(states),
                _ => Evidence::Proved,
            },
            fixes_initial: symmetry.fixes_initial,
            fluents: moved(&symmetry.fluents, &|fluent| self.name(ground.fluents[fluent]), MAX_VALUES),
            roles: moved(&symmetry.roles, &|role| self.role(role), usize::MAX),
        }
    }

    fn name(&self, term: TermId) -> String {
        self.universe.name(term)
    }

    fn relation(&self, relation: Relation) -> String {
        self.universe.symbols.name(relation.name).to_owned()
    }

    fn role(&self, role: usize) -> String {
        self.name(self.universe.roles[role])
    }

    fn fluent(&self, fluent: u32) -> String {
        self.name(self.universe.fluents[fluent as usize])
    }

    fn move_name(&self, chosen: u32) -> String {
        self.name(self.universe.moves[chosen as usize].1)
    }

    fn mode(&self, family: usize, key: &[usize]) -> String {
        let family = &self.structure.families[family];
        let signs = (0..family.arity()).map(|position| {
            if family.domains[position].len() == 1 {
                self.name(family.domains[position][0])
            } else {
                if key.contains(&position) { "+" } else { "-" }.to_owned()
            }
        });
        family.with_arguments(self.universe, signs)
    }

    fn turns(&self) -> TurnReport {
        let turns = &self.structure.turns;
        let with_roles = |lists: &[Vec<u32>], name: &dyn Fn(u32) -> String| {
            let lists = lists.iter().enumerate().filter(|(_, list)| !list.is_empty());
            lists.map(|(role, list)| (self.role(role), list.iter().map(|&item| name(item)).collect())).collect()
        };
        TurnReport {
            kind: match turns.kind {
                turn::Kind::Single => "single-player",
                turn::Kind::TurnTaking => "turn-taking",
                turn::Kind::Simultaneous => "simultaneous",
                turn::Kind::Mixed => "partly simultaneous",
            },
            evidence: self.structure.turns_evidence,
            first: turns.first.iter().map(|&role| self.role(role as usize)).collect(),
            idle_moves: with_roles(&turns.idle, &|chosen| self.move_name(chosen)),
            control: with_roles(&turns.control, &|fluent| self.fluent(fluent)),
        }
    }

    fn outcome(&self) -> OutcomeReport {
        let outcomes = &self.structure.outcomes;
        let (teams_evidence, sum_evidence) = self.structure.outcomes_evidence;
        let mut goal_values: Vec<(String, Vec<i64>)> =
            (0..self.universe.roles.len()).map(|role| (self.role(role), Vec::new())).collect();
        for &(role, value) in &self.universe.goals {
            goal_values[role as usize].1.push(value);
        }
        goal_values.iter_mut().for_each(|(_, values)| {
            values.sort_unstable();
            values.dedup();
        });
        OutcomeReport {
            teams: outcomes
                .teams
                .iter()
                .map(|team| team.iter().map(|&role| self.role(role as usize)).collect())
                .collect(),
            teams_evidence,
            constant_sum: outcomes.sum.map(|sum| (sum, sum_evidence)),
            goal_values,
        }
    }

    /// A marker's name, with that of its family where another layer has a marker of the same name.
    fn marker_name(&self, board: &Board, marker: &Marker, has_twin: bool) -> String {
        let family = || {
            let shape = &self.structure.families[board.layers[marker.layer].family].shape;
            let crate::family::Shape::Of(name, _) = shape else { unreachable!("a fluent has a name") };
            self.universe.symbols.name(*name).to_owned()
        };
        match &marker.name {
            MarkerName::Family(_) => family(),
            MarkerName::Terms(terms) => {
                let names: Vec<String> = terms.iter().map(|&term| self.name(term)).collect();
                let name = names.join(" ");
                if has_twin { format!("{} {name}", family()) } else { name }
            }
        }
    }

    fn board(&self, index: usize, board: &Board) -> BoardReport {
        let evidence_of = |family: usize, within: &[usize]| {
            let keys = self.structure.exclusions.iter().filter(|(found, ..)| found.families == [family]);
            let mut evidence: Vec<Evidence> = keys
                .filter(|(found, ..)| found.key.iter().all(|position| within.contains(position)))
                .map(|(_, at_most, _)| *at_most)
                .collect();
            evidence.sort_by_key(|evidence| *evidence != Evidence::Proved);
            evidence.first().copied()
        };
        let layers = board.layers.iter().map(|layer| LayerReport {
            mode: self.mode(layer.family, &layer.coordinates),
            one_per_cell: evidence_of(layer.family, &layer.coordinates).filter(|_| layer.one_per_cell),
            one_cell_each: evidence_of(layer.family, &layer.marker).filter(|_| layer.one_cell_each),
        });
        let axes = board.axes.iter().map(|axis| AxisReport {
            values: axis.values.iter().map(|&value| self.name(value)).collect(),
            order: axis.order.map(|order| self.relation(self.structure.orders[order].relation)),
            cyclic: axis.cyclic,
        });
        let places: Vec<FxHashMap<TermId, usize>> =
            board.axes.iter().map(|axis| axis.values.iter().copied().zip(0..).collect()).collect();
        let place = |axis: usize, value: TermId| places[axis][&value];
        let mut layers_of: FxHashMap<&MarkerName, FxHashSet<usize>> = FxHashMap::default();
        board.markers.iter().for_each(|marker| _ = layers_of.entry(&marker.name).or_default().insert(marker.layer));
        let mut initial = vec![Vec::new(); board.cells.len()];
        for (number, marker) in board.markers.iter().enumerate() {
            for &(fluent, cell) in &marker.fluents {
                if self.universe.initial[fluent as usize] {
                    initial[cell as usize].push(number);
                }
            }
        }
        let pieces: FxHashMap<usize, Evidence> = self.structure.pieces[index].iter().copied().collect();
        let markers = board.markers.iter().enumerate().map(|(number, marker)| MarkerReport {
            name: self.marker_name(board, marker, layers_of[&marker.name].len() > 1),
            piece: pieces.get(&number).copied(),
            owner: marker.owner.map(|role| self.role(role as usize)),
            blank: board.blank == Some(number),
            changes: marker.changes,
            mean_count: marker.mean_count,
        });
        BoardReport {
            layers: layers.collect(),
            axes: axes.collect(),
            shape: shape(board),
            cells: board
                .cells
                .iter()
                .map(|cell| cell.iter().enumerate().map(|(axis, &value)| place(axis, value)).collect())
                .collect(),
            initial,
            neighbours: board.neighbours.as_ref().map(|neighbours| NeighboursReport {
                relation: self.relation(neighbours.relation),
                pairs: neighbours.pairs.clone(),
                symmetric: neighbours.symmetric,
                max_degree: neighbours.max_degree,
            }),
            markers: markers.collect(),
        }
    }

    fn counters(&self) -> Vec<CounterReport> {
        let report = |(counter, evidence, limit): &(structure::counter::Counter, Evidence, Option<Evidence>)| {
            let all = &counter.values;
            let mut values: Vec<String> = all.iter().take(8).map(|&value| self.fluent(value)).collect();
            if all.len() > 8 {
                values.extend(all.last().map(|&value| self.fluent(value)));
            }
            CounterReport {
                fluent: self.structure.families[counter.family].display(self.universe),
                cyclic: counter.cyclic,
                values,
                n_values: all.len(),
                evidence: *evidence,
                limit: counter.limit.zip(*limit).map(|(value, evidence)| (self.fluent(value), evidence)),
            }
        };
        self.structure.counters.iter().map(report).collect()
    }

    fn quantities(&self) -> Vec<QuantityReport> {
        let structure = self.structure;
        let report = |quantity: &structure::Quantity| {
            let family = &structure.families[quantity.family];
            let order = &structure.orders[quantity.order];
            let places = || family.domains[quantity.value].iter().filter_map(|&value| order.index(value));
            let at = |place: Option<usize>| place.map(|place| self.name(order.objects[place])).unwrap_or_default();
            QuantityReport {
                mode: self.mode(quantity.family, &quantity.key),
                count: family.groups(&quantity.key).len(),
                order: self.relation(order.relation),
                range: (at(places().min()), at(places().max())),
            }
        };
        structure.quantities.iter().map(report).collect()
    }

    fn order(&self, order: &Order) -> OrderReport {
        OrderReport {
            relation: self.relation(order.relation),
            selector: order.selector.map(|(_, value)| self.name(value)),
            objects: order.objects.iter().map(|&object| self.name(object)).collect(),
            cyclic: order.cyclic,
            same_as: order
                .same_as
                .map(|(other, reversed)| (self.relation(self.structure.orders[other].relation), reversed)),
        }
    }

    fn arithmetic(&self) -> Vec<ArithmeticReport> {
        let position = |index: usize| ["first", "second", "third"][index];
        let report = |found: &crate::order::Arithmetic| ArithmeticReport {
            relation: self.relation(found.relation),
            meaning: match found.operation {
                Operation::Less => "the first is less than the second".to_owned(),
                Operation::LessOrEqual => "the first is at most the second".to_owned(),
                Operation::Greater => "the first is greater than the second".to_owned(),
                Operation::GreaterOrEqual => "the first is at least the second".to_owned(),
                Operation::Sum { sum } => format!("the {} is the sum of the others", position(sum)),
                Operation::Distance { distance } => format!("the {} is the distance of the others", position(distance)),
                Operation::Scale { increasing: true } => "the second grows with the first".to_owned(),
                Operation::Scale { increasing: false } => "the second falls as the first grows".to_owned(),
            },
            orders: found
                .orders
                .iter()
                .map(|order| order.map(|order| self.relation(self.structure.orders[order].relation)))
                .collect(),
        };
        self.structure.arithmetic.iter().map(report).collect()
    }

    fn exclusions(&self) -> Vec<ExclusionReport> {
        let told = self.structure.exclusions.iter().filter(|(found, ..)| !found.is_trivial());
        told.map(|(found, at_most, at_least)| ExclusionReport {
            modes: found.families.iter().map(|&family| self.mode(family, &found.key)).collect(),
            groups: found.groups.len(),
            largest: found.groups.iter().map(Vec::len).max().unwrap_or(0),
            at_most_one: *at_most,
            at_least_one: *at_least,
        })
        .collect()
    }

    fn fluents(&self) -> Vec<FamilyReport> {
        let changes: FxHashMap<usize, Evidence> = self.structure.changing.iter().copied().collect();
        let families = self.structure.families.iter().enumerate();
        families
            .map(|(index, family)| FamilyReport {
                shape: family.display(self.universe),
                members: family.members.len(),
                domains: family.domains.iter().map(Vec::len).collect(),
                always_changes: changes.get(&index).copied(),
            })
            .collect()
    }

    fn moves(&self) -> Vec<FamilyReport> {
        let report = |family: &crate::family::Family| FamilyReport {
            shape: family.display(self.universe),
            members: family.members.len(),
            domains: family.domains.iter().map(Vec::len).collect(),
            always_changes: None,
        };
        self.structure.move_families.iter().map(report).collect()
    }

    fn relations(&self, stop: &Stop) -> Vec<RelationReport> {
        let program = &self.universe.program;
        let dynamic = universe::dynamic_relations(program);
        let domains = Domains::new(program);
        // Step 1. Number the relations, and connect each with those that its rules read.
        let mut numbers: indexmap::IndexMap<Relation, usize, rustc_hash::FxBuildHasher> = Default::default();
        let mut number = |relation: Relation| {
            let next = numbers.len();
            *numbers.entry(relation).or_insert(next)
        };
        let mut reads: Vec<(usize, Vec<usize>)> = Vec::new();
        for rule in &program.rules {
            let head = number(rule.head.relation());
            let mut read = Vec::new();
            rule.for_each_body_atom(|atom, _| read.push(number(atom.relation())));
            reads.push((head, read));
        }
        let mut edges = vec![Vec::new(); numbers.len()];
        reads.iter().for_each(|(head, read)| edges[*head].extend(read.iter().copied()));
        let components = gdl::strongly_connected_components(&edges);
        let mut component_of = vec![0; numbers.len()];
        let mut recursive = vec![false; numbers.len()];
        for (index, component) in components.iter().enumerate() {
            for &at in component {
                component_of[at] = index;
                recursive[at] = component.len() > 1 || edges[at].contains(&at);
            }
        }
        let mut rules_of: Vec<Vec<&Vec<usize>>> = vec![Vec::new(); numbers.len()];
        reads.iter().for_each(|(head, read)| rules_of[*head].push(read));
        // Step 2. Report those that the rules define, keywords aside.
        let facts: FxHashMap<Relation, usize> =
            self.universe.statics.iter().map(|fixed| (fixed.relation, fixed.rows.len())).collect();
        let report = |(&relation, &index): (&Relation, &usize)| {
            let rules = &rules_of[index];
            if Symbols::is_keyword(relation.name) || rules.is_empty() {
                return None;
            }
            let outside = |read: &&&Vec<usize>| read.iter().all(|&other| component_of[other] != component_of[index]);
            let argument = |position: u32| {
                let members =
                    domains.as_ref().map(|domains| domains.of_relation(relation, position)).unwrap_or_default();
                let name = |member: &Relation| self.relation(*member);
                Domain { size: members.len(), values: members.iter().take(MAX_VALUES).map(name).collect() }
            };
            Some(RelationReport {
                name: self.relation(relation),
                arguments: (0..relation.arity).map(argument).collect(),
                depends_on: match dynamic.get(&relation) {
                    None => Dependence::Nothing,
                    Some(false) => Dependence::State,
                    Some(true) => Dependence::Moves,
                },
                rules: rules.len(),
                facts: facts.get(&relation).copied(),
                base_cases: recursive[index].then(|| rules.iter().filter(outside).count()),
            })
        };
        numbers.iter().take_while(|_| !stop.is_raised()).filter_map(report).collect()
    }

    fn numbers(&self) -> Numbers {
        let samples = self.samples;
        let outcomes = &self.structure.outcomes;
        let share = |count: u64| {
            let mut mean = Mean::default();
            let n = samples.n_matches;
            mean.add_many(1.0, count);
            mean.add_many(0.0, n - count.min(n));
            Estimate::from(&mean)
        };
        let n_roles = self.universe.roles.len();
        let first = match self.structure.turns.first[..] {
            [first] if n_roles > 1 => Some(first as usize),
            _ => None,
        };
        let advantage = first.map(|first| {
            let mut mean = Mean::default();
            for (results, &count) in &samples.outcomes {
                let others = (0..n_roles).filter(|&role| role != first).map(|role| results[role]);
                let others: Option<Vec<i64>> = others.collect();
                if let (Some(own), Some(others)) = (results[first], others) {
                    let others = others.iter().sum::<i64>() as f64 / others.len() as f64;
                    mean.add_many(own as f64 - others, count);
                }
            }
            Estimate::from(&mean)
        });
        Numbers {
            states: samples.n_states,
            matches: samples.n_matches,
            given_up: samples.n_given_up,
            cut_short: samples.cut_short,
            branching: Estimate::from(&samples.branching),
            max_moves: samples.max_moves,
            length: Estimate::from(&samples.length),
            lengths: samples.lengths,
            results: samples.results.iter().enumerate().map(|(role, mean)| (self.role(role), mean.into())).collect(),
            wins: outcomes.wins.iter().enumerate().map(|(role, &count)| (self.role(role), share(count))).collect(),
            shared: share(outcomes.shared),
            first_move_advantage: advantage,
        }
    }

    /// Groups that exclude each other have as many values as members, and one more where none may hold; every other
    /// fluent has two.
    fn log10_states(&self) -> f64 {
        let mut exclusions: Vec<_> =
            self.structure.exclusions.iter().filter(|(found, ..)| !found.is_trivial()).collect();
        exclusions.sort_by_key(|(found, ..)| std::cmp::Reverse(found.groups.iter().map(Vec::len).max()));
        let mut used = vec![false; self.universe.fluents.len()];
        let mut log10 = 0.0;
        for (found, _, at_least) in exclusions {
            for group in &found.groups {
                if group.iter().any(|&member| used[member as usize]) {
                    continue;
                }
                group.iter().for_each(|&member| used[member as usize] = true);
                log10 += ((group.len() + usize::from(at_least.is_none())) as f64).log10();
            }
        }
        let constant =
            |fluent: usize| self.circuit.is_some_and(|circuit| circuit.fluents[fluent] == machine::network::Wire::TRUE);
        let rest = (0..used.len()).filter(|&fluent| !used[fluent] && !constant(fluent)).count();
        log10 + rest as f64 * 2f64.log10()
    }
}

/// What a board looks like, in words.
fn shape(board: &Board) -> String {
    let sizes: Vec<String> = board.axes.iter().map(|axis| axis.values.len().to_string()).collect();
    let product = sizes.join(" x ");
    let cyclic = board.axes.iter().filter(|axis| axis.cyclic).count();
    let irregular = if board.is_irregular() { format!(", {} cells of it", board.cells.len()) } else { String::new() };
    let degree = board.neighbours.as_ref().map(|neighbours| neighbours.max_degree);
    match (board.axes.len(), board.is_ordered()) {
        (1, true) if cyclic == 1 => format!("a ring of {product} cells"),
        (1, true) => format!("a row of {product} cells"),
        (1, false) => match degree {
            Some(degree) => format!("a graph of {product} cells with up to {degree} neighbours"),
            None => format!("{product} cells without order"),
        },
        (n, true) => {
            let kind = match (n, cyclic, degree) {
                (2, 0, Some(6)) => "hexagonal board",
                (2, 0, _) => "grid",
                (2, 1, _) => "cylinder",
                (2, 2, _) => "torus",
                _ => "grid",
            };
            format!("a {kind} of {product}{irregular}")
        }
        (_, false) => {
            let degree = degree.map(|degree| format!(", with up to {degree} neighbours")).unwrap_or_default();
            format!("{product} cells{irregular}, not all coordinates ordered{degree}")
        }
    }
}
