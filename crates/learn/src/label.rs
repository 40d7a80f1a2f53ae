//! Labels by search: what a position is worth if one looks further, and exactly where the end is near.
//!
//! Of the moves that a search looks at, most are bad. So in positions that searches meet, the role to move does better than it
//! should on average, and weights that are fitted to them learn that being to move is worth more than it is. The cure is Buro's
//! (1999): with each position, the one that the search expects next is learned, too, and is worth the same. Labels here are what each
//! role may expect, so none changes its sign; for the role to move it becomes what the other one leaves if the turn passes, and stays
//! what it was where a role has to pass.
//!
//! Stages are labelled from the last one on ([`teach_backwards`]): near the end labels are exact, and each search before it reaches into
//! stages whose weights have been fitted to such labels.

use std::sync::Arc;

use machine::RoleId;
use machine::scalar::{self, Scalar};
use search::match_play::on_threads;
use search::proof::{self, Keys, Solver};
use search::{BestFirst, Limit, best_first, legal_moves};

use crate::example::Examples;
use crate::fit::FitError;
use crate::model::{Model, Sum};
use crate::teach::{self, Losses, teach};

/// How positions are labelled.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// States that the search for a label judges.
    pub nodes: u64,
    /// States that are looked at to find a label exactly; with 0 that is not tried.
    pub exact: u64,
    /// Whether what is expected to follow is learned, too.
    pub successors: bool,
    /// The most positions of a stage that are labelled; the others keep the results of their matches.
    pub positions: usize,
    /// All chance comes from this.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { nodes: 1_000, exact: 2_000, successors: true, positions: 2_000, seed: 1 }
    }
}

/// What a position is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// What each role may expect, from 0 to 1.
    pub values: Vec<f32>,
    /// Whether that is proven; for two roles, if the model is right that they share what there is.
    pub is_exact: bool,
    /// The state that is expected next, of which the same is expected: `None` if the match is over there, or if several roles
    /// choose at once, so that nobody knows.
    pub next: Option<Vec<u64>>,
}

/// States that a labeller sees one after another; fixed, so that threads change nothing.
const TOGETHER: usize = 128;
/// Bytes of a labeller's tables.
const BYTES: usize = 8 << 20;

/// Labels states of the game's own network in which the match goes on; `None` where a role can't move.
pub fn label(model: &Arc<Model>, states: &[&[u64]], settings: &Settings, threads: usize) -> Vec<Option<Label>> {
    let scalar = scalar::Compiled::new(model.sight.game.circuit.network.clone());
    let parts = on_threads(
        0..states.len().div_ceil(TOGETHER) as u32,
        threads,
        || (),
        |(), part| {
            let mut labeller = Labeller::new(model, &scalar, settings);
            let first = part as usize * TOGETHER;
            let own = &states[first..states.len().min(first + TOGETHER)];
            Some(own.iter().map(|state| labeller.label(state)).collect::<Vec<_>>())
        },
    );
    parts.into_iter().flatten().collect()
}

struct Labeller<'a> {
    model: &'a Model,
    settings: &'a Settings,
    machine: Scalar,
    /// Where what one role can be sure of says what all may expect.
    solver: Option<Solver>,
    search: BestFirst,
}

impl Labeller<'_> {
    fn new<'a>(model: &'a Arc<Model>, scalar: &Arc<scalar::Compiled>, settings: &'a Settings) -> Labeller<'a> {
        let sight = &model.sight;
        let is_one = model.sum == Sum::Shared || sight.game.universe.roles.len() == 1;
        let solver = (is_one && settings.exact > 0).then(|| {
            let settings = proof::Settings { bytes: BYTES, ..proof::Settings::default() };
            Solver::new(Scalar::new(scalar.clone()), Keys::default(), RoleId(0), &settings)
        });
        let search = best_first::Settings { bytes: BYTES, ..best_first::Settings::default() };
        let search = BestFirst::new(sight.lanes.clone(), Box::new(model.opinion()), search, settings.seed);
        Labeller { model, settings, machine: Scalar::new(scalar.clone()), solver, search }
    }

    fn label(&mut self, state: &[u64]) -> Option<Label> {
        use search::Player;
        self.machine.jump(state);
        let legal = legal_moves(&self.machine);
        if self.machine.terminal() || legal.iter().any(Vec::is_empty) {
            return None;
        }
        if let Some(solver) = &mut self.solver {
            let solution = solver.solve(state, &Limit::nodes(self.settings.exact));
            if let Some(value) = solution.value() {
                let own = value as f32 / 100.0;
                let values = if legal.len() == 1 { vec![own] } else { vec![own, 1.0 - own] };
                let next = solution.line.first().and_then(|joint| self.next(state, joint));
                return Some(Label { values, is_exact: true, next });
            }
        }
        let sight = &self.model.sight;
        let mut choosers = (0..legal.len()).filter(|&role| legal[role].len() > 1);
        let (chooser, is_one) = (choosers.next().unwrap_or(0), choosers.next().is_none());
        self.search.begin();
        let limit = Limit::nodes(self.settings.nodes);
        let answer = self.search.search(&sight.views.state(state), RoleId(chooser as u32), &limit);
        let expected = answer.line.first().filter(|_| is_one);
        let moves = sight.views.moves();
        let joint: Option<Vec<u32>> = expected.map(|joint| joint.iter().map(|&own| moves[own as usize]).collect());
        let next = joint.and_then(|joint| self.next(state, &joint));
        Some(Label { values: answer.values, is_exact: answer.proven, next })
    }

    /// What follows, if the match goes on there.
    fn next(&mut self, state: &[u64], joint: &[u32]) -> Option<Vec<u64>> {
        self.machine.jump(state);
        self.machine.make(joint);
        (!self.machine.terminal()).then(|| self.machine.bits().to_vec())
    }
}

/// Examples whose labels come from search: those that have one with it instead of what they had, and with what is expected next right
/// after them. The second number says how many labels are exact.
pub fn labelled(examples: &Examples, labels: &[Option<Label>], successors: bool) -> (Examples, usize) {
    let mut all = Examples::new(examples.n_words, examples.n_roles);
    let mut n_exact = 0;
    for (example, label) in labels.iter().enumerate() {
        let (state, number) = (examples.state(example), examples.matches[example]);
        let Some(label) = label else {
            all.push(state, examples.targets_of(example), number);
            continue;
        };
        n_exact += usize::from(label.is_exact);
        all.push(state, &label.values, number);
        if let Some(next) = label.next.as_ref().filter(|_| successors) {
            all.push(next, &label.values, number);
        }
    }
    (all, n_exact)
}

/// What came of labelling a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// The stage.
    pub stage: usize,
    /// Positions that were labelled, or kept what they had where a role can't move.
    pub n: usize,
    /// Those whose labels are exact.
    pub n_exact: usize,
    /// Positions that are expected to follow them.
    pub n_next: usize,
}

/// Labels examples by the searches of a model that was fitted to them, stage by stage from the end of the match to its beginning, and
/// fits the model again after each. `progress` is told of every stage.
pub fn teach_backwards(
    first: Arc<Model>,
    examples: &Examples,
    settings: &Settings,
    teaching: &teach::Settings,
    progress: &mut dyn FnMut(Stage),
) -> Result<(Arc<Model>, Vec<Losses>), FitError> {
    let (sight, sum) = (first.sight.clone(), first.sum);
    let (stages, n_stages) = (&sight.game_stages, sight.game_stages.n_stages());
    let stage_of = |state: &[u64]| stages.set(state) % n_stages;
    // The number that tells the stage may fall while a match goes on.
    let initial = Scalar::new(scalar::Compiled::new(sight.game.circuit.network.clone()));
    let grows = 2 * stage_of(initial.bits()) < n_stages;
    let (mut model, mut losses) = (first, Vec::new());
    let mut rest = examples.clone();
    let mut done = Examples::new(examples.n_words, examples.n_roles);
    for at in 0..n_stages {
        let stage = if grows { n_stages - 1 - at } else { at };
        // Step 1. Labels for some of the stage's positions, evenly over all of them.
        let (own, before): (Vec<usize>, Vec<usize>) =
            (0..rest.len()).partition(|&example| stage_of(rest.state(example)) == stage);
        let step = own.len().div_ceil(settings.positions.max(1)).max(1);
        let (drawn, kept): (Vec<usize>, Vec<usize>) = (0..own.len()).partition(|at| at % step == 0);
        let drawn = rest.select(drawn.into_iter().map(|at| own[at]));
        let labels = label(&model, &drawn.views().collect::<Vec<_>>(), settings, teaching.threads);
        let (drawn, n_exact) = labelled(&drawn, &labels, settings.successors);
        progress(Stage { stage, n: labels.len(), n_exact, n_next: drawn.len() - labels.len() });
        let kept = rest.select(kept.into_iter().map(|at| own[at]));
        for more in [drawn, kept] {
            done.states.extend(more.states);
            done.targets.extend(more.targets);
            done.matches.extend(more.matches);
        }
        rest = rest.select(before);
        // Step 2. Weights for it; those of stages before it are as they were, as their examples are.
        let mut all = done.clone();
        all.states.extend_from_slice(&rest.states);
        all.targets.extend_from_slice(&rest.targets);
        all.matches.extend_from_slice(&rest.matches);
        let (taught, found) = teach(&sight, &all, sum, None, teaching)?;
        (model, losses) = (Arc::new(taught), found);
    }
    Ok((model, losses))
}
