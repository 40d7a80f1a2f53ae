//! What is found in games whose structure is known, under their own names and scrambled.

use std::collections::BTreeSet;
use std::path::Path;

use gdl::program::Program;
use insight::analysis::{Analysis, BoardReport, Settings, analyze};
use insight::scramble::{RoleOrder, scramble};
use insight::structure::Evidence;
use rand_pcg::Pcg64Mcg;

fn text(game: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games").join(game).join("rules.kif");
    std::fs::read_to_string(path).expect("the game is in the library")
}

fn read(text: &str) -> Program {
    let reading = gdl::read("test.kif", text.as_bytes());
    assert!(!reading.has_errors());
    reading.program
}

/// The analysis of a game, after the same game scrambled was found to have the same, told in the game's own names.
fn analysis(text: &str) -> Analysis {
    let program = read(text);
    let own = analyze(&program, &Settings::default()).expect("it can be analysed");
    let other = scramble(&program, RoleOrder::Shuffled, &mut Pcg64Mcg::new(7));
    let scrambled = analyze(&other.program, &Settings::default()).expect("it can be analysed");
    assert_eq!(skeleton(&own), skeleton(&scrambled));
    own
}

/// What is left of an analysis without names.
fn skeleton(analysis: &Analysis) -> Vec<String> {
    let mut parts = vec![format!("{} {:?}", analysis.turns.kind, analysis.turns.evidence)];
    for order in &analysis.orders {
        parts.push(format!("order {} {}", order.objects.len(), order.cyclic));
    }
    for board in &analysis.boards {
        parts.push(board.shape.clone());
        parts.extend(board.markers.iter().map(|m| format!("{:?} {} {}", m.piece, m.blank, m.mean_count)));
    }
    parts.extend(analysis.counters.iter().map(|counter| format!("{} {}", counter.n_values, counter.cyclic)));
    parts.extend(analysis.quantities.iter().map(|quantity| format!("{}", quantity.count)));
    parts.push(format!("{:?}", analysis.numbers.length));
    parts.push(analysis.fingerprint.clone());
    parts
}

fn orders(analysis: &Analysis) -> BTreeSet<(String, usize, bool)> {
    let order = |order: &insight::analysis::OrderReport| (order.relation.clone(), order.objects.len(), order.cyclic);
    analysis.orders.iter().map(order).collect()
}

fn only_board(analysis: &Analysis) -> &BoardReport {
    let [board] = &analysis.boards[..] else { panic!("{} boards", analysis.boards.len()) };
    board
}

fn pieces(board: &BoardReport) -> BTreeSet<&str> {
    board.markers.iter().filter(|marker| marker.piece.is_some()).map(|marker| marker.name.as_str()).collect()
}

#[test]
fn minichess_is_read_as_the_thesis_reads_it() {
    let analysis = analysis(&text("minichess"));
    let expected = [("adjacent", 4, false), ("nextcolumn", 4, false), ("succ", 10, false)];
    assert_eq!(orders(&analysis), expected.map(|(name, n, cyclic)| (name.to_owned(), n, cyclic)).into());
    let counter = analysis.counters.iter().find(|counter| !counter.cyclic).expect("a step counter");
    assert_eq!((counter.fluent.as_str(), counter.n_values), ("(step _)", 10));
    assert_eq!(counter.limit, Some(("(step 10)".to_owned(), Evidence::Proved)));
    let board = only_board(&analysis);
    assert_eq!(board.layers[0].mode, "(cell + + -)");
    assert_eq!(board.layers[0].one_per_cell, Some(Evidence::Proved));
    let axes: Vec<Option<&str>> = board.axes.iter().map(|axis| axis.order.as_deref()).collect();
    assert_eq!(axes, [Some("nextcolumn"), Some("adjacent")]);
    assert_eq!(pieces(board), ["bk", "wk", "wr"].into());
    let blank = board.markers.iter().find(|marker| marker.blank).expect("a blank");
    assert_eq!((blank.name.as_str(), blank.piece), ("b", None));
    assert_eq!(analysis.outcome.teams.len(), 2);
    assert_eq!(analysis.outcome.constant_sum, Some((100, Evidence::Proved)));
    let owner = |name: &str| board.markers.iter().find(|marker| marker.name == name).and_then(|m| m.owner.clone());
    assert_eq!(owner("wr").as_deref(), Some("white"));
    assert_eq!(owner("bk").as_deref(), Some("black"));
    assert_eq!(owner("b"), None);
}

#[test]
fn an_order_closes_to_a_circle_or_breaks() {
    let minichess = text("minichess");
    let closed = read(&format!("{minichess} (nextcolumn d a)"));
    let find = |program: &Program| {
        let analysis = analyze(program, &Settings::default()).expect("it can be analysed");
        orders(&analysis).into_iter().find(|(name, ..)| name == "nextcolumn")
    };
    assert_eq!(find(&closed), Some(("nextcolumn".to_owned(), 4, true)));
    let broken = read(&format!("{minichess} (nextcolumn a c)"));
    assert_eq!(find(&broken), None);
}

#[test]
fn nim_has_a_heap_and_no_board() {
    let analysis = analysis(&text("nim-5"));
    assert_eq!(orders(&analysis), [("after".to_owned(), 6, false)].into());
    assert!(analysis.boards.is_empty());
    let steps: Vec<_> = analysis.counters.iter().filter(|counter| !counter.cyclic).collect();
    assert!(steps.is_empty(), "{steps:?}");
    let quantities: Vec<&str> = analysis.quantities.iter().map(|quantity| quantity.mode.as_str()).collect();
    assert_eq!(quantities, ["(heap -)"]);
    let control: BTreeSet<(&str, &str)> =
        analysis.turns.control.iter().map(|(role, fluents)| (role.as_str(), fluents[0].as_str())).collect();
    assert_eq!(control, [("left", "(turn left)"), ("right", "(turn right)")].into());
    assert!(analysis.turns.idle_moves.iter().all(|(_, moves)| *moves == ["wait"]));
}

#[test]
fn othello_has_markers_and_no_pieces() {
    for game in ["othello", "othello-6x6"] {
        let analysis = analysis(&text(game));
        let board = only_board(&analysis);
        assert_eq!(board.layers[0].mode, "(cell + + -)");
        assert!(board.axes.iter().all(|axis| axis.order.is_some()));
        assert_eq!(board.markers.len(), 3);
        assert!(pieces(board).is_empty());
        assert_eq!(board.markers.iter().filter(|marker| marker.owner.is_some()).count(), 2);
    }
}

#[test]
fn a_board_needs_no_orders() {
    let analysis = analysis(&text("tic-tac-toe"));
    let board = only_board(&analysis);
    assert_eq!(board.layers[0].mode, "(cell + + -)");
    assert!(board.axes.iter().all(|axis| axis.order.is_none()));
    assert_eq!(board.cells.len(), 9);
    assert!(analysis.orders.is_empty() && analysis.quantities.is_empty());
}

#[test]
fn teammates_are_found() {
    // Two guess against one: the guessers share what they get.
    let rules = "
        (role one) (role two) (role keeper) (init (phase open))
        (<= (legal ?r (say ?x)) (role ?r) (word ?x)) (word yes) (word no) (word maybe)
        (<= (next (phase closed)) (true (phase open)))
        (<= (next (said ?r ?x)) (does ?r (say ?x)))
        (<= terminal (true (phase closed)))
        (<= agreed (true (said one ?x)) (true (said two ?x)))
        (<= (goal one 100) agreed) (<= (goal two 100) agreed) (<= (goal keeper 0) agreed)
        (<= (goal one 0) (not agreed)) (<= (goal two 0) (not agreed)) (<= (goal keeper 100) (not agreed))";
    let analysis = analysis(rules);
    let teams: BTreeSet<BTreeSet<&str>> =
        analysis.outcome.teams.iter().map(|team| team.iter().map(String::as_str).collect()).collect();
    assert_eq!(teams, [["one", "two"].into(), ["keeper"].into()].into());
    assert_eq!(analysis.outcome.teams_evidence, Evidence::Proved);
    assert_eq!(analysis.turns.kind, "simultaneous");
    assert_eq!(analysis.outcome.constant_sum, None);
}

#[test]
fn few_states_suffice_for_the_hypotheses() {
    for game in ["minichess", "nim-5", "othello-6x6", "tic-tac-toe", "connect-four", "breakthrough-6x6", "hallway-8x8"]
    {
        let canonical = insight::canonical::canonical(&read(&text(game)), insight::canonical::BUDGET);
        let program = std::sync::Arc::new(canonical.program);
        let find = |states: usize| {
            let budget = insight::sample::Budget { states, ..Default::default() };
            let (universe, samples) =
                insight::sample::play_slowly(&program, &budget, 3, &Default::default()).expect("it can be played");
            let structure = insight::structure::find(&universe, None, &samples, &Default::default());
            let layers = structure.boards.iter().flat_map(|board| &board.layers);
            let boards: BTreeSet<_> = layers
                .map(|layer| {
                    (
                        structure.families[layer.family].display(&universe),
                        layer.coordinates.clone(),
                        layer.marker.clone(),
                    )
                })
                .collect();
            (boards, structure.turns.kind)
        };
        assert_eq!(find(50), find(400), "{game}");
    }
}

#[test]
fn pieces_may_be_located_and_cells_named() {
    let location = analysis(&text("mummy-maze"));
    let board = only_board(&location);
    assert_eq!(board.layers[0].mode, "(location - + +)");
    assert!(board.layers[0].one_cell_each.is_some());
    assert!(pieces(board).contains("mummy"));
    let merrills = analysis(&text("merrills"));
    let board = only_board(&merrills);
    assert_eq!((board.axes.len(), board.cells.len()), (1, 24));
    assert!(board.neighbours.is_some());
    let hex = analysis(&text("hex-5"));
    let board = only_board(&hex);
    assert!(board.shape.contains("hexagonal"), "{}", board.shape);
    assert_eq!(board.neighbours.as_ref().map(|neighbours| neighbours.max_degree), Some(6));
}

#[test]
fn numbers_are_recognised() {
    let analysis = analysis(&text("beatmania"));
    let meanings: Vec<(&str, &str)> =
        analysis.arithmetic.iter().map(|found| (found.relation.as_str(), found.meaning.as_str())).collect();
    assert_eq!(meanings, [("scoremap", "the second grows with the first")]);
    let water = self::analysis(&text("water-jugs"));
    let meanings: BTreeSet<(&str, &str)> =
        water.arithmetic.iter().map(|found| (found.relation.as_str(), found.meaning.as_str())).collect();
    let expected = [("at-most", "the first is at most the second"), ("sum", "the third is the sum of the others")];
    assert_eq!(meanings, expected.into());
}

/// Two roles that choose at the same time; white may have nothing to do after twelve rounds in which both chose `a`.
fn streak(white_rests: bool) -> String {
    let mut rules = String::from(
        "(role white) (role black) (init (streak 0)) (init (step 0)) (choice a) (choice b) (choice c)
        (<= (next (streak ?y)) (does white a) (does black a) (true (streak ?x)) (succ ?x ?y))
        (<= together (does white a) (does black a)) (<= (next (streak 0)) (not together))
        (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y)) (<= terminal (true (step 30)))
        (<= (goal ?r 50) (role ?r))
        (<= (legal black ?c) (choice ?c))\n",
    );
    (0..30).for_each(|number| rules.push_str(&format!("(succ {number} {})", number + 1)));
    rules.push_str(match white_rests {
        true => "(<= (legal white ?c) (choice ?c) (not (true (streak 12)))) (<= (legal white rest) (true (streak 12)))",
        false => "(<= (legal white ?c) (choice ?c))",
    });
    rules
}

#[test]
fn what_no_sample_shows_is_not_proved() {
    let turns = |rules: &str| analyze(&read(rules), &Settings::default()).expect("a small game").turns;
    let (always, mostly) = (turns(&streak(false)), turns(&streak(true)));
    assert_eq!((always.kind, always.evidence), ("simultaneous", Evidence::Proved));
    assert_eq!(mostly.kind, "simultaneous");
    assert!(matches!(mostly.evidence, Evidence::Seen(_)), "white may have to rest");
}
