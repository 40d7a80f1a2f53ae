use std::collections::BTreeMap;

use super::*;
use crate::feature;

pub(crate) fn game(name: &str) -> Game {
    let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
    Game::new(gdl::read(name, &text).program, 1).expect("it has a network")
}

/// A state as the terms that hold in it.
pub(crate) fn initial(game: &Game) -> Vec<Term> {
    let held = game.universe.fluents.iter().zip(&game.universe.initial).filter(|(_, holds)| **holds);
    held.map(|(&fluent, _)| term(&game.universe, fluent)).collect()
}

/// The value of a feature whose atoms are all `true`, by trying every way to match.
pub(crate) fn value(feature: &Feature, state: &[Term]) -> i32 {
    fn unify(pattern: &Term, ground: &Term, binding: &mut BTreeMap<VarId, Term>) -> bool {
        match (pattern, ground) {
            (Term::Var(var), _) => binding.entry(*var).or_insert_with(|| ground.clone()) == ground,
            (Term::Func(name, args), Term::Func(other, others)) => {
                name == other
                    && args.len() == others.len()
                    && args.iter().zip(others).all(|(arg, other)| unify(arg, other, binding))
            }
            _ => pattern == ground,
        }
    }
    fn solve(formula: &Formula, state: &[Term], bindings: Vec<BTreeMap<VarId, Term>>) -> Vec<BTreeMap<VarId, Term>> {
        match formula {
            Formula::Atom(atom) => {
                assert_eq!(atom.name, keyword::TRUE, "this oracle knows fluents alone");
                let extend = |binding: BTreeMap<VarId, Term>| {
                    state.iter().filter_map(move |fact| {
                        let mut binding = binding.clone();
                        unify(&atom.args[0], fact, &mut binding).then_some(binding)
                    })
                };
                bindings.into_iter().flat_map(extend).collect()
            }
            Formula::And(parts) => parts.iter().fold(bindings, |bindings, part| solve(part, state, bindings)),
            Formula::Or(parts) => parts.iter().flat_map(|part| solve(part, state, bindings.clone())).collect(),
            Formula::Member(terms, rows) => {
                let extend = |binding: BTreeMap<VarId, Term>| {
                    rows.iter().filter_map(move |row| {
                        let mut binding = binding.clone();
                        let fits = terms.iter().zip(row).all(|(term, value)| unify(term, value, &mut binding));
                        fits.then_some(binding)
                    })
                };
                bindings.into_iter().flat_map(extend).collect()
            }
            other => unimplemented!("{other:?}"),
        }
    }
    let bindings = solve(&feature.formula, state, vec![BTreeMap::new()]);
    let listed = |binding: &BTreeMap<VarId, Term>| feature.list.iter().map(|var| binding[var].clone()).collect();
    let distinct: BTreeSet<Vec<Term>> = bindings.iter().map(listed).collect();
    distinct.iter().map(|values| feature.weight.of(&feature.list, values)).sum()
}

#[test]
fn minichess_has_the_nine_features_of_the_thesis() {
    let game = game("minichess");
    let found = thesis::features(&game);
    let state = initial(&game);
    let mut shown: Vec<String> =
        found.iter().map(|named| format!("{} = {}", named.sentence, value(&named.feature, &state))).collect();
    shown.sort();
    // The first position: bk a4, wk c1, wr d1.
    insta::assert_snapshot!(shown.join("\n"), @r"
    coordinate 1 of bk = 0
    coordinate 1 of wk = 2
    coordinate 1 of wr = 3
    coordinate 2 of bk = 3
    coordinate 2 of wk = 0
    coordinate 2 of wr = 0
    distance of bk and wk = 5
    distance of bk and wr = 6
    distance of wk and wr = 1
    ");
}

#[test]
fn othello_has_three_counts_and_six_heuristics() {
    for name in ["othello", "othello-6x6"] {
        let game = game(name);
        let found = thesis::features(&game);
        let values: BTreeSet<i32> = found.iter().map(|named| value(&named.feature, &initial(&game))).collect();
        let n_cells = game.structure.boards[0].cells.len() as i32;
        assert_eq!((found.len(), values), (3, BTreeSet::from([2, n_cells - 4])));
        let heuristics = thesis::heuristics(&found);
        assert_eq!(heuristics.len(), 6);
        // A third of the cells of a role, and all.
        assert_eq!(heuristics[0].estimate(n_cells, 0.0, 100.0), 99.0);
        assert_eq!(heuristics[1].estimate(n_cells, 0.0, 100.0), 1.0);
        assert_eq!([0, 1].map(|number| heuristics[number].estimate(n_cells / 2, 0.0, 100.0)), [50.0, 50.0]);
        assert_eq!([0, 1].map(|number| heuristics[number].estimate(0, 0.0, 100.0)), [1.0, 99.0]);
        // Whatever is counted, estimates stay a point inside of the results.
        for (heuristic, value) in heuristics.iter().flat_map(|one| (-2..n_cells + 9).map(move |value| (one, value))) {
            assert!((21.0..=79.0).contains(&heuristic.estimate(value, 20.0, 80.0)));
        }
    }
}

#[test]
fn without_orders_there_are_counts_alone() {
    let game = game("tic-tac-toe");
    let found = thesis::features(&game);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|named| named.feature.weight == Weight::One));
}

#[test]
fn nim_has_its_heap() {
    let game = game("nim-5");
    let found = thesis::features(&game);
    let state = initial(&game);
    assert_eq!(found.iter().map(|named| value(&named.feature, &state)).collect::<Vec<_>>(), [5]);
}

#[test]
fn proposals_read_back_and_stay_within_their_bounds() {
    for name in ["minichess", "checkers", "hallway", "merrills", "tic-tac-toe", "lights-out-5x5", "hex-5"] {
        let game = game(name);
        let proposals = propose(&game, &Budget::default());
        assert_eq!(proposals.left_out, 0, "{name}");
        let state = initial(&game);
        for named in &proposals.features {
            let text = named.feature.display(&game.program.symbols).to_string();
            assert_eq!(feature::read(&text, &game.program.symbols).as_ref(), Ok(&named.feature), "{text}");
            let mut fluents_only = true;
            named.feature.formula.for_each_atom(&mut |atom, _| fluents_only &= atom.name == keyword::TRUE);
            if fluents_only {
                assert!(value(&named.feature, &state).abs() <= named.bound, "{name}: {}", named.sentence);
            }
        }
        if name == "minichess" {
            let told = proposals.features.iter().map(|named| named.sentence.clone());
            let shown: Vec<String> =
                told.filter(|name| !name.contains("where") && !name.contains("diagonal")).collect();
            insta::assert_snapshot!(shown.join("\n"));
        }
    }
}

#[test]
fn a_king_is_as_many_steps_away_as_the_greater_coordinate_difference() {
    let game = game("minichess");
    let board = &game.structure.boards[0];
    let universe = &game.universe;
    let named = |marker: &&Marker| matches!(&marker.name, MarkerName::Terms(terms) if universe.name(terms[0]) == "bk");
    let king = board.markers.iter().find(named).expect("there is a king");
    let mut watched = vec![false; universe.fluents.len()];
    king.fluents.iter().for_each(|&(fluent, _)| watched[fluent as usize] = true);
    let effects = effects::find(&game, &watched, &effects::Budget::default()).expect("the game is small");
    let steps = region::steps(&game, board, king, Some(&effects));
    let place = |cell: usize, axis: usize| {
        let value = board.cells[cell][axis];
        board.axes[axis].values.iter().position(|&other| other == value).expect("it is on the axis")
    };
    for from in 0..board.cells.len() {
        for (to, distance) in region::walk(&steps, &[from as u32]).into_iter().enumerate() {
            let expected = (0..2).map(|axis| place(from, axis).abs_diff(place(to, axis))).max();
            assert_eq!(distance.map(|distance| distance as usize), expected, "{}", universe.name(board.cells[to][0]));
        }
    }
}
