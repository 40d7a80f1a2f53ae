//! Taking a table of values over to a variant of the game (Kuhlmann 2010).
//!
//! | mapping | what a state is worth to begin with | for |
//! |---|---|---|
//! | direct | what it is worth in the source | other step limits, markers, piece configurations |
//! | inverse | the best and the worst result together, less that | inverted goals, switched roles |
//! | average | the mean over all states of the source that it may be | other board sizes, missing fluents |
//!
//! A state of the target becomes one of the source by a [`Projection`] of its fluents. A larger board has several, one for each
//! corner that the smaller one fits into; all else must be blank. Fluents that the source alone has are left out of its states,
//! and states that become equal by that are averaged.

use features::game::Game;
use gdl::TermId;
use gdl::datalog::Terms;
use gdl::program::Term;
use insight::mapping::Mapping;
use insight::structure::board::Board;
use insight::universe::Circuit;
use insight::variant::{Class, Variant};
use machine::RoleId;
use machine::network::Wire;
use rustc_hash::FxHashMap;

use super::sarsa::{Key, Prior};

/// What a fluent of the target is in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// This fluent of the source's universe.
    Is(u32),
    /// Nothing that matters.
    Nothing,
    /// Something that the source has no place for: where it holds, the state is none of the source's.
    Foreign,
}

/// States and moves of the target, as states and moves of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// For each fluent of the target's universe, what it is.
    pub fluents: Vec<Image>,
    /// For each move of the target's network, that of the source's.
    pub moves: Vec<Option<u32>>,
}

impl Projection {
    /// By what names of the source are called in the target.
    pub fn by_names(source: &Game, target: &Game, names: &Mapping) -> Projection {
        let mut fluents = vec![Image::Nothing; target.universe.fluents.len()];
        let places: FxHashMap<TermId, usize> = target.universe.fluents.iter().copied().zip(0..).collect();
        for (fluent, &term) in (0..).zip(&source.universe.fluents) {
            let image = names.fluent(&as_term(&source.universe.terms, term));
            let image = image.and_then(|image| find(&target.universe.terms, &image));
            if let Some(&place) = image.and_then(|image| places.get(&image)) {
                fluents[place] = Image::Is(fluent);
            }
        }
        let mut moves = vec![None; target.universe.moves.len()];
        let places: FxHashMap<(u32, TermId), usize> = target.universe.moves.iter().copied().zip(0..).collect();
        let role = |role: u32| {
            let name = names.role(source.universe.terms.name(source.universe.roles[role as usize]))?;
            let is_image = |&other: &TermId| target.universe.terms.name(other) == name;
            target.universe.roles.iter().position(is_image)
        };
        for (chosen, &(owner, term)) in (0..).zip(&source.universe.moves) {
            let image = names.play(&as_term(&source.universe.terms, term));
            let image = image.and_then(|image| find(&target.universe.terms, &image));
            if let (Some(owner), Some(image)) = (role(owner), image)
                && let Some(&place) = places.get(&(owner as u32, image))
            {
                moves[place] = Some(chosen);
            }
        }
        Projection { fluents, moves }
    }

    /// The same for each corner of a larger board that the source's fits into. What is on the rest of the board must be blank.
    /// Moves are not mapped. Where there is no board, or no order on it, there is none.
    pub fn corners(&self, target: &Game) -> Vec<Projection> {
        let mut found = vec![Projection { fluents: self.fluents.clone(), moves: vec![None; self.moves.len()] }];
        for board in target.structure.boards.iter().filter(|board| board.is_ordered()) {
            found = found.iter().flat_map(|projection| projection.corners_of(board)).collect();
        }
        found
    }

    fn corners_of(&self, board: &Board) -> Vec<Projection> {
        let place = |axis: usize, value: TermId| board.axes[axis].values.iter().position(|&other| other == value);
        let cells: Vec<Vec<usize>> = (board.cells.iter())
            .map(|cell| (0..cell.len()).map(|axis| place(axis, cell[axis]).expect("axes have all values")).collect())
            .collect();
        let known: FxHashMap<&[usize], u32> = cells.iter().map(Vec::as_slice).zip(0..).collect();
        let placed = board.markers.iter().flat_map(|marker| &marker.fluents);
        let images = placed.filter(|(fluent, _)| matches!(self.fluents[*fluent as usize], Image::Is(_)));
        let used: Vec<&[usize]> = images.map(|&(_, cell)| cells[cell as usize].as_slice()).collect();
        // Step 1. Names may be spread over the larger board; what counts is the order in which they come. Along each axis, the
        // source's board fits to either end.
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        let mut offsets: Vec<Vec<usize>> = vec![Vec::new()];
        for (axis, n_values) in board.axes.iter().map(|axis| axis.values.len()).enumerate() {
            let is_used = |value: usize| used.iter().any(|cell| cell[axis] == value);
            let rank = |value: usize| (0..value).filter(|&other| is_used(other)).count();
            let mut ends = vec![0, n_values - rank(n_values)];
            ends.dedup();
            ranks.push((0..n_values).map(rank).collect());
            offsets = (offsets.iter())
                .flat_map(|offset| ends.iter().map(|&end| offset.iter().copied().chain([end]).collect()))
                .collect();
        }
        // Step 2. Each marker's fluents, moved.
        let moved = |offset: &Vec<usize>| {
            let mut projection = self.clone();
            for (number, marker) in board.markers.iter().enumerate() {
                let at: FxHashMap<u32, u32> = marker.fluents.iter().map(|&(fluent, cell)| (cell, fluent)).collect();
                let outside = if board.blank == Some(number) { Image::Nothing } else { Image::Foreign };
                for &(fluent, _) in &marker.fluents {
                    projection.fluents[fluent as usize] = outside;
                }
                for &(fluent, cell) in &marker.fluents {
                    let image = self.fluents[fluent as usize];
                    let there: Vec<usize> = (cells[cell as usize].iter().enumerate())
                        .map(|(axis, &place)| ranks[axis][place] + offset[axis])
                        .collect();
                    let there = known.get(there.as_slice()).and_then(|cell| at.get(cell));
                    if let (Image::Is(_), Some(&there)) = (image, there) {
                        projection.fluents[there as usize] = image;
                    }
                }
            }
            projection
        };
        offsets.iter().map(moved).collect()
    }
}

/// What is known of a variant, for the target's learner to begin with.
pub struct Transfer {
    projections: Vec<Projection>,
    /// For each fluent of the target's universe, its wire.
    wires: Vec<Wire>,
    n_words: usize,
    /// Values of the source, by those of its fluents that the target has.
    values: FxHashMap<(Vec<u64>, Option<u32>), f64>,
}

impl Transfer {
    /// Takes over what was learned of a role in the source. If `inverted`, what was good is bad.
    pub fn new(
        source: &Game,
        role: RoleId,
        entries: &[(&Key, f64)],
        target: &Game,
        projections: Vec<Projection>,
        inverted: bool,
    ) -> Transfer {
        let n_words = source.universe.fluents.len().div_ceil(64);
        let mut mask = vec![0u64; n_words];
        for image in projections.iter().flat_map(|projection| &projection.fluents) {
            if let Image::Is(fluent) = image {
                mask[*fluent as usize / 64] |= 1 << (fluent % 64);
            }
        }
        let goals = source.universe.goals.iter().filter(|goal| goal.0 == role.0).map(|goal| goal.1 as f64);
        let (low, high) =
            goals.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), goal| (low.min(goal), high.max(goal)));
        let mut sums: FxHashMap<(Vec<u64>, Option<u32>), (f64, u32)> = FxHashMap::default();
        // Entries come in the order of their keys, so that sums are the same each time.
        for (key, value) in entries {
            let state = full_state(&source.circuit, &key.state);
            let shared = state.iter().zip(&mask).map(|(word, mask)| word & mask).collect();
            let (sum, n) = sums.entry((shared, key.chosen)).or_default();
            *sum += if inverted { low + high - value } else { *value };
            *n += 1;
        }
        let values = sums.into_iter().map(|(key, (sum, n))| (key, sum / f64::from(n))).collect();
        Transfer { projections, wires: target.circuit.fluents.clone(), n_words, values }
    }

    /// The same as the differences between two variants ask for it. `None` where they are such that values mean nothing.
    pub fn of_variant(
        source: &Game,
        role: RoleId,
        entries: &[(&Key, f64)],
        target: &Game,
        variant: &Variant,
    ) -> Option<Transfer> {
        let has = |class: Class| variant.transformations.iter().any(|found| found.class == class);
        if has(Class::Cylinder) || has(Class::Torus) {
            return None;
        }
        let names = Projection::by_names(source, target, &variant.mapping);
        let projections = if has(Class::BoardSize) { names.corners(target) } else { vec![names] };
        // Two inversions are none.
        let inverted = has(Class::InvertedGoal) != has(Class::SwitchedRole);
        Some(Transfer::new(source, role, entries, target, projections, inverted))
    }

    /// How many values there are to be taken over.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is nothing to be taken over.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Prior for Transfer {
    fn value(&self, key: &Key) -> Option<f64> {
        let holds: Vec<usize> = (0..self.wires.len()).filter(|&fluent| holds(self.wires[fluent], &key.state)).collect();
        let (mut sum, mut n) = (0.0, 0u32);
        'projections: for projection in &self.projections {
            let mut state = vec![0u64; self.n_words];
            for &fluent in &holds {
                match projection.fluents[fluent] {
                    Image::Is(image) => state[image as usize / 64] |= 1 << (image % 64),
                    Image::Nothing => {}
                    Image::Foreign => continue 'projections,
                }
            }
            let chosen = match key.chosen.map(|chosen| projection.moves[chosen as usize]) {
                Some(None) => continue,
                chosen => chosen.flatten(),
            };
            if let Some(value) = self.values.get(&(state, chosen)) {
                sum += value;
                n += 1;
            }
        }
        (n > 0).then(|| sum / f64::from(n))
    }
}

/// Whether a fluent with this wire holds in a state of its network.
fn holds(wire: Wire, state: &[u64]) -> bool {
    let now = wire.gate() > 0 && state[(wire.gate() as usize - 1) / 64] >> ((wire.gate() - 1) % 64) & 1 == 1;
    now != wire.is_inverted()
}

/// A state of a network with all fluents of the universe.
fn full_state(circuit: &Circuit, state: &[u64]) -> Vec<u64> {
    let mut full = vec![0u64; circuit.fluents.len().div_ceil(64)];
    for (fluent, &wire) in circuit.fluents.iter().enumerate() {
        full[fluent / 64] |= u64::from(holds(wire, state)) << (fluent % 64);
    }
    full
}

fn as_term(terms: &Terms, term: TermId) -> Term {
    match terms.args(term) {
        [] => Term::Const(terms.name(term)),
        args => Term::Func(terms.name(term), args.iter().map(|&arg| as_term(terms, arg)).collect()),
    }
}

fn find(terms: &Terms, term: &Term) -> Option<TermId> {
    match term {
        Term::Var(_) => None,
        Term::Const(name) => terms.find(*name, &[]),
        Term::Func(name, args) => {
            let args: Vec<TermId> = args.iter().map(|arg| find(terms, arg)).collect::<Option<_>>()?;
            terms.find(*name, &args)
        }
    }
}

#[cfg(test)]
mod tests {
    use insight::variant::{self, Subject};
    use machine::scalar::{self, Scalar};
    use search::Greedy;

    use super::*;
    use crate::td::play;
    use crate::td::sarsa::{Sarsa, Settings};
    use crate::td::testing::{game, mean};

    fn variant_of(source: &Game, target: &Game) -> Variant {
        variant::find(&Subject::new(&source.program), &Subject::new(&target.program), None).expect("they are variants")
    }

    /// Plays matches against a player that sees one move ahead; the results.
    fn train<P: Prior>(game: &Game, sarsa: &mut Sarsa<P>, matches: u32, seed: u64) -> Vec<Option<i64>> {
        let mut machine = Scalar::new(scalar::Compiled::new(game.circuit.network.clone()));
        let mut opponent = Greedy::new(Scalar::new(machine.compiled().clone()), seed);
        (0..matches).map(|_| play(&mut machine, RoleId(0), sarsa, &mut opponent, 100)[0]).collect()
    }

    /// What was learned of Tic-Tac-Toe, turned round, helps from the first matches of the inverted game on; taken over as it is,
    /// it does harm.
    #[test]
    fn inverted_tic_tac_toe_is_learned_faster() {
        let (source, target) = (game("tic-tac-toe"), game("tic-tac-toe-inverted"));
        let mut teacher = Sarsa::new(RoleId(0), Settings::default());
        train(&source, &mut teacher, 10_000, 1);
        let entries = teacher.entries();
        let variant = variant_of(&source, &target);
        let names = Projection::by_names(&source, &target, &variant.mapping);
        assert!(names.fluents.iter().all(|image| matches!(image, Image::Is(_))));
        assert!(names.moves.iter().all(Option::is_some));
        let (mut with, mut without, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
        let mut hits = 0.0;
        for seed in 0..6 {
            let settings = Settings { seed, ..Settings::default() };
            let inverse = Transfer::of_variant(&source, RoleId(0), &entries, &target, &variant).expect("it means much");
            assert_eq!(inverse.len(), entries.len());
            let mut learner = Sarsa::with(RoleId(0), settings.clone(), inverse);
            with.extend(train(&target, &mut learner, 200, 100 + seed));
            hits += learner.hit_rate() / 6.0;
            let direct = Transfer::new(&source, RoleId(0), &entries, &target, vec![names.clone()], false);
            wrong.extend(train(&target, &mut Sarsa::with(RoleId(0), settings.clone(), direct), 200, 100 + seed));
            without.extend(train(&target, &mut Sarsa::new(RoleId(0), settings), 200, 100 + seed));
        }
        let [with, without, wrong] = [with, without, wrong].map(|results| mean(&results));
        assert!(with > without + 5.0, "{with} with transfer, {without} without; {hits} of the states known");
        assert!(hits > 0.3, "{hits} of the states known");
        assert!(wrong < with, "{wrong} with values as they are");
    }

    /// The smaller board of Minichess fits into four corners of the larger one. A state with all pieces in one of them is the
    /// source's there, and one with pieces far apart is no state of the source.
    #[test]
    fn boards_fit_into_corners() {
        let (source, target) = (game("minichess-3x3"), game("minichess"));
        let variant = variant_of(&source, &target);
        let names = Projection::by_names(&source, &target, &variant.mapping);
        let corners = names.corners(&target);
        assert_eq!(corners.len(), 4);
        for (number, corner) in corners.iter().enumerate() {
            let images = |projection: &Projection| {
                let mut images: Vec<u32> = (projection.fluents.iter())
                    .filter_map(|image| if let Image::Is(fluent) = image { Some(*fluent) } else { None })
                    .collect();
                images.sort_unstable();
                images
            };
            assert_eq!(images(corner), images(&names), "nothing is lost in corner {number}");
            assert!(corner.fluents.contains(&Image::Foreign));
            assert!(corners[..number].iter().all(|other| other.fluents != corner.fluents));
        }
    }

    /// Where the source has fluents that the target lacks, states that differ in nothing else are averaged.
    #[test]
    fn missing_fluents_are_averaged_over() {
        let rules = |more: &str| {
            format!(
                "(role me) (init (at 0)) (succ 0 1) (succ 1 2) (legal me go) (legal me stay) {more}
             (<= (next (at ?m)) (does me go) (true (at ?n)) (succ ?n ?m))
             (<= (next (at ?n)) (does me stay) (true (at ?n)))
             (<= terminal (true (at 2))) (<= (goal me 100) (true (at 2))) (<= (goal me 0) (not (true (at 2))))"
            )
        };
        let read = |text: &str| Game::new(gdl::read("walk", text.as_bytes()).program, 1).expect("it has a network");
        let source = read(&rules(
            "(init (lamp off)) (<= (next (lamp off)) (does me go)) (<= (next (lamp on)) (does me stay))
            (<= (goal me 50) (true (lamp on)) (true (at 7)))",
        ));
        let target = read(&rules(""));
        let fluents: Vec<String> = source.universe.fluents.iter().map(|&term| source.universe.name(term)).collect();
        let find = |name: String| fluents.iter().position(|other| *other == name);
        let image = |&term: &TermId| match find(target.universe.name(term)) {
            Some(fluent) => Image::Is(fluent as u32),
            None => Image::Nothing,
        };
        let projection = Projection { fluents: target.universe.fluents.iter().map(image).collect(), moves: Vec::new() };
        let mut machine = Scalar::new(scalar::Compiled::new(source.circuit.network.clone()));
        let mut stay = crate::td::sarsa::keys(&mut machine, RoleId(0));
        let here = Key { state: machine.bits().into(), chosen: None };
        stay.retain(|(chosen, _)| source.universe.name(source.circuit.network.moves[*chosen as usize]) == "stay");
        let entries = [(&here, 20.0), (&stay[0].1, 40.0)];
        let transfer = Transfer::new(&source, RoleId(0), &entries, &target, vec![projection.clone()], false);
        let start = Key {
            state: Scalar::new(scalar::Compiled::new(target.circuit.network.clone())).bits().into(),
            chosen: None,
        };
        assert_eq!((transfer.len(), transfer.value(&start)), (1, Some(30.0)));
        let inverse = Transfer::new(&source, RoleId(0), &entries, &target, vec![projection], true);
        assert_eq!(inverse.value(&start), Some(70.0));
    }
}
