//! Games whose rules have relations that are far too large for a table, but are only ever asked for with some arguments
//! known. Each comes in any size: small ones for a slow prover, large ones as people write them.

use std::fmt::Write;

/// A sheet's name, its rules in a small and in its full size.
pub(crate) struct Sheet {
    pub(crate) name: &'static str,
    pub(crate) small: String,
    pub(crate) full: String,
}

pub(crate) fn all() -> Vec<Sheet> {
    let sheet = |name, make: fn(usize) -> String, small, full| Sheet { name, small: make(small), full: make(full) };
    vec![
        sheet("rows of candidates", rows_of_candidates, 2, 3),
        sheet("permutations", permutations, 3, 9),
        sheet("tuples", tuples, 3, 9),
        sheet("sums of tuples", sums, 3, 9),
        sheet("stones are counted", counted_stones, 2, 15),
        sheet("paths have lengths", path_lengths, 3, 11),
        sheet("chains of both players", chains, 3, 9),
        sheet("a large maze", maze, 4, 40),
        sheet("arithmetic from successors", arithmetic, 8, 900),
        sheet("bits", bits, 3, 12),
        sheet("lists", lists, 3, 40),
        sheet("a long countdown", countdown, 6, 5000),
        sheet("even and odd walks", walks, 3, 60),
        sheet("a race", race, 4, 100),
    ]
}

fn repeated(n: usize, between: &str, mut piece: impl FnMut(usize) -> String) -> String {
    (0..n).map(&mut piece).collect::<Vec<_>>().join(between)
}

fn successors(relation: &str, from: usize, to: usize) -> String {
    repeated(to - from, " ", |i| format!("({relation} {} {})", from + i, from + i + 1))
}

/// A board of `n` by `n` cells on which two roles put stones by turns; `rest` says when the game ends and who has won.
fn board(n: usize, rest: &str) -> String {
    let indices = repeated(n, " ", |i| format!("(index {})", i + 1));
    let next = successors("after", 1, n);
    format!(
        "(role red) (role blue) (init (control red)) {indices} {next}
         (<= (init (cell ?x ?y empty)) (index ?x) (index ?y))
         (<= (legal ?r (put ?x ?y)) (true (control ?r)) (true (cell ?x ?y empty)))
         (<= (legal ?r wait) (role ?r) (not (true (control ?r))))
         (<= (next (cell ?x ?y ?r)) (does ?r (put ?x ?y)))
         (<= (next (cell ?x ?y ?c)) (true (cell ?x ?y ?c)) (distinct ?c empty))
         (<= (next (cell ?x ?y empty)) (true (cell ?x ?y empty)) (not (filled ?x ?y)))
         (<= (filled ?x ?y) (does ?r (put ?x ?y)))
         (<= (next (control red)) (true (control blue))) (<= (next (control blue)) (true (control red)))
         (<= open (true (cell ?x ?y empty)))
         (<= terminal (not open)) {rest}"
    )
}

/// A Latin square is filled in, and a row is a tuple of everything that its cells could still hold.
fn rows_of_candidates(n: usize) -> String {
    let size = n * n;
    let digits = repeated(size, " ", |i| format!("(digit {})", i + 1));
    let vars = repeated(size, " ", |i| format!("?v{i}"));
    let cells = repeated(size, " ", |i| format!("(may ?r {} ?v{i})", i + 1));
    let mut apart = String::new();
    for i in 0..size {
        (0..i).for_each(|j| write!(apart, " (distinct ?v{j} ?v{i})").unwrap());
    }
    let marked = repeated(size, " ", |i| format!("(true (cell ?r {} ?v{i}))", i + 1));
    format!(
        "(role solver) (init (step 0)) {digits} {steps}
         (<= (legal solver (mark ?r ?c ?v)) (digit ?r) (digit ?c) (may ?r ?c ?v) (not (marked ?r ?c)))
         (<= (legal solver pass) (true (step ?n)))
         (<= (marked ?r ?c) (true (cell ?r ?c ?v)))
         (<= (may ?r ?c ?v) (digit ?r) (digit ?c) (digit ?v) (not (in-row ?r ?v)) (not (in-column ?c ?v)))
         (<= (may ?r ?c ?v) (true (cell ?r ?c ?v)))
         (<= (in-row ?r ?v) (true (cell ?r ?c ?v))) (<= (in-column ?c ?v) (true (cell ?r ?c ?v)))
         (<= (next (cell ?r ?c ?v)) (does solver (mark ?r ?c ?v)))
         (<= (next (cell ?r ?c ?v)) (true (cell ?r ?c ?v)))
         (<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
         (<= (row ?r {vars}) {cells} {apart})
         (<= (full-row ?r) {marked} (row ?r {vars}))
         (<= unfinished (digit ?r) (not (full-row ?r)))
         (<= terminal (true (step {last}))) (<= terminal (not unfinished))
         (<= (goal solver 100) (not unfinished))
         (<= (goal solver 50) unfinished (full-row ?r))
         (<= (goal solver 0) unfinished (not (full-row 1)))",
        steps = successors("after", 0, 2 * size),
        last = 2 * size,
    )
}

/// The values of a row must be a permutation, which is a relation of its own.
fn permutations(n: usize) -> String {
    let vars = repeated(n, " ", |i| format!("?v{i}"));
    let digits = repeated(n, " ", |i| format!("(digit ?v{i})"));
    let mut apart = String::new();
    for i in 0..n {
        (0..i).for_each(|j| write!(apart, " (distinct ?v{j} ?v{i})").unwrap());
    }
    let lines =
        ["row", "column", "diagonal"].map(|line| format!("(<= (all-{line} {vars}) {digits} {apart})")).join(" ");
    line_game(n, &lines, &format!("(all-row {vars}) (all-column {vars}) (all-diagonal {vars})"))
}

/// All tuples, of which one is asked for.
fn tuples(n: usize) -> String {
    let vars = repeated(n, " ", |i| format!("?v{i}"));
    let digits = repeated(n, " ", |i| format!("(digit ?v{i})"));
    line_game(n, &format!("(<= (tuple {vars}) {digits})"), &format!("(tuple {vars}) (tuple {vars})"))
}

/// A tuple with its sum, in one relation for all tuples.
fn sums(n: usize) -> String {
    let vars = repeated(n, " ", |i| format!("?v{i}"));
    let chain = repeated(n, " ", |i| format!("(digit ?v{i}) (plus ?s{i} ?v{i} ?s{})", i + 1));
    let rules = format!(
        "{} (<= (number ?x) (after ?x ?y)) (<= (number ?y) (after ?x ?y))
         (<= (plus ?x 0 ?x) (number ?x)) (<= (plus ?x ?y ?z) (after ?w ?y) (plus ?x ?w ?v) (after ?v ?z))
         (<= (sum {vars} ?s{n}) (plus 0 0 ?s0) {chain})
         (<= (smaller ?x ?y) (after ?x ?y)) (<= (smaller ?x ?z) (after ?x ?y) (smaller ?y ?z))",
        successors("after", 0, n * n + 1),
    );
    line_game(n, &rules, &format!("(sum {vars} ?s) (smaller {} ?s)", n * n / 2))
}

/// `n` cells get a digit each; a line is good if `test` holds of its values.
fn line_game(n: usize, rules: &str, test: &str) -> String {
    let digits = repeated(n, " ", |i| format!("(digit {})", i + 1));
    let cells = repeated(n, " ", |i| format!("(true (cell {} ?v{i}))", i + 1));
    format!(
        "(role solver) {digits} {rules}
         (<= (init (blank ?x)) (digit ?x))
         (<= (legal solver (mark ?x ?v)) (true (blank ?x)) (digit ?v))
         (<= (next (cell ?x ?v)) (does solver (mark ?x ?v)))
         (<= (next (cell ?x ?v)) (true (cell ?x ?v)))
         (<= (next (blank ?x)) (true (blank ?x)) (not (gone ?x)))
         (<= (gone ?x) (does solver (mark ?x ?v)))
         (<= open (true (blank ?x))) (<= terminal (not open))
         (<= good {cells} {test})
         (<= (goal solver 100) good) (<= (goal solver 0) (not good))"
    )
}

/// Stones are counted by a walk over the board that carries two numbers along.
pub(crate) fn counted_stones(n: usize) -> String {
    board(
        n,
        &format!(
            "{numbers} (number 0) (<= (number ?y) (plus-one ?x ?y))
             (<= (count ?a ?b) (walk 1 1 0 0 ?a ?b))
             (<= (walk {n} {n} ?a ?b ?c ?d) (one {n} {n} ?a ?b ?c ?d))
             (<= (walk ?x ?y ?a ?b ?e ?f) (one ?x ?y ?a ?b ?c ?d) (beside ?x ?y ?v ?w) (walk ?v ?w ?c ?d ?e ?f))
             (<= (beside ?x ?y ?x ?z) (index ?x) (after ?y ?z)) (<= (beside ?x {n} ?z 1) (after ?x ?z))
             (<= (one ?x ?y ?a ?b ?c ?b) (true (cell ?x ?y red)) (plus-one ?a ?c) (number ?b))
             (<= (one ?x ?y ?a ?b ?a ?d) (true (cell ?x ?y blue)) (plus-one ?b ?d) (number ?a))
             (<= (one ?x ?y ?a ?b ?a ?b) (true (cell ?x ?y empty)) (number ?a) (number ?b))
             (<= (more ?x ?y) (plus-one ?y ?x)) (<= (more ?x ?z) (plus-one ?y ?x) (more ?y ?z))
             (<= terminal (count ?a ?b) (more ?a 20))
             (<= (goal red 100) (count ?a ?b) (more ?a ?b)) (<= (goal blue 100) (count ?a ?b) (more ?b ?a))
             (<= (goal red 0) (count ?a ?b) (more ?b ?a)) (<= (goal blue 0) (count ?a ?b) (more ?a ?b))
             (<= (goal ?r 50) (role ?r) (count ?a ?a))",
            numbers = successors("plus-one", 0, n * n),
        ),
    )
}

const HEX: &str = "
    (<= (adjacent ?x ?y ?x ?z) (index ?x) (after ?y ?z)) (<= (adjacent ?x ?y ?x ?z) (index ?x) (after ?z ?y))
    (<= (adjacent ?x ?y ?z ?y) (index ?y) (after ?x ?z)) (<= (adjacent ?x ?y ?z ?y) (index ?y) (after ?z ?x))
    (<= (adjacent ?x ?y ?v ?w) (after ?x ?v) (after ?w ?y)) (<= (adjacent ?x ?y ?v ?w) (after ?v ?x) (after ?y ?w))";

/// Sides of the board are connected by a path of stones or empty cells; the rules also say how long it is.
fn path_lengths(n: usize) -> String {
    board(
        n,
        &format!(
            "{HEX} {numbers}
             (<= (passable ?r ?x ?y) (role ?r) (true (cell ?x ?y ?r)))
             (<= (passable ?r ?x ?y) (role ?r) (true (cell ?x ?y empty)))
             (<= (path ?r ?x ?y ?x ?y 1) (passable ?r ?x ?y))
             (<= (path ?r ?x1 ?y1 ?x2 ?y2 ?n)
                 (passable ?r ?x1 ?y1) (adjacent ?x1 ?y1 ?x ?y) (path ?r ?x ?y ?x2 ?y2 ?m) (plus-one ?m ?n))
             (<= (blocked ?r) (role ?r) (not (open-way ?r)))
             (<= (open-way red) (index ?y) (path red 1 1 {n} ?y ?n))
             (<= (open-way blue) (index ?x) (path blue 1 1 ?x {n} ?n))
             (<= terminal (blocked red)) (<= terminal (blocked blue))
             (<= (goal ?r 100) (role ?r) (not (blocked ?r))) (<= (goal ?r 0) (blocked ?r))",
            numbers = successors("plus-one", 1, 2 * n),
        ),
    )
}

/// The stones of a chain are connected; how many links there are between any two is counted for both players.
fn chains(n: usize) -> String {
    board(
        n,
        &format!(
            "{HEX} {numbers} (number 0) (<= (number ?y) (plus-one ?x ?y))
             (<= (linked ?r ?x ?y ?x ?y 0) (role ?r) (index ?x) (index ?y))
             (<= (linked ?r ?x ?y ?v ?w ?n)
                 (adjacent ?x ?y ?a ?b) (not (taken ?r ?a ?b))
                 (linked ?r ?a ?b ?v ?w ?m) (plus-one ?m ?n))
             (<= (taken red ?x ?y) (true (cell ?x ?y blue))) (<= (taken blue ?x ?y) (true (cell ?x ?y red)))
             (<= (near ?r ?n) (role ?r) (number ?n) (linked ?r 1 1 {n} {n} ?n))
             (<= (cut ?r) (role ?r) (not (some-link ?r))) (<= (some-link ?r) (linked ?r 1 1 {n} {n} ?n))
             (<= terminal (cut red) (cut blue))
             (<= (goal ?r 100) (near ?r {shortest})) (<= (goal ?r 0) (role ?r) (not (near ?r {shortest})))",
            numbers = successors("plus-one", 0, 3 * n),
            shortest = 2 * n - 2,
        ),
    )
}

/// A walker in a maze; the rules know how far any two cells are apart.
fn maze(n: usize) -> String {
    format!(
        "(role walker) (init (at 1 1)) (init (step 0)) {indices} {next} {steps}
         (<= (wall ?x ?y) (even ?x) (even ?y)) (even 2) (<= (even ?z) (even ?x) (after ?x ?y) (after ?y ?z))
         (<= (cell ?x ?y) (index ?x) (index ?y) (not (wall ?x ?y)))
         (<= (beside ?x ?y ?x ?z) (cell ?x ?y) (after ?y ?z) (cell ?x ?z))
         (<= (beside ?x ?y ?x ?z) (cell ?x ?y) (after ?z ?y) (cell ?x ?z))
         (<= (beside ?x ?y ?z ?y) (cell ?x ?y) (after ?x ?z) (cell ?z ?y))
         (<= (beside ?x ?y ?z ?y) (cell ?x ?y) (after ?z ?x) (cell ?z ?y))
         (<= (within ?x ?y ?x ?y ?k) (cell ?x ?y) (tick ?k ?l))
         (<= (within ?x ?y ?v ?w ?l) (tick ?k ?l) (beside ?x ?y ?a ?b) (within ?a ?b ?v ?w ?k))
         (<= (legal walker (go ?x ?y)) (true (at ?v ?w)) (beside ?v ?w ?x ?y))
         (<= (next (at ?x ?y)) (does walker (go ?x ?y)))
         (<= (next (step ?l)) (true (step ?k)) (tick ?k ?l))
         (<= terminal (true (step {last}))) (<= terminal (true (at ?x ?y)) (within ?x ?y 3 3 1))
         (<= (goal walker 100) (true (at ?x ?y)) (within ?x ?y 3 3 2))
         (<= (goal walker 0) (true (at ?x ?y)) (not (within ?x ?y 3 3 2)))",
        indices = repeated(n, " ", |i| format!("(index {})", i + 1)),
        next = successors("after", 1, n),
        steps = successors("tick", 0, n),
        last = n.min(20),
    )
}

/// Numbers are all that the rules have: addition, multiplication and order are derived from the successor.
fn arithmetic(n: usize) -> String {
    format!(
        "(role player) (init (value 1)) (init (step 0)) {next} {steps}
         (<= (number ?x) (after ?x ?y)) (<= (number ?y) (after ?x ?y))
         (<= (plus ?x 0 ?x) (number ?x))
         (<= (plus ?x ?y ?z) (after ?w ?y) (after ?x ?v) (plus ?v ?w ?z))
         (<= (times ?x 0 0) (number ?x))
         (<= (times ?x ?y ?z) (after ?w ?y) (times ?x ?w ?v) (plus ?v ?x ?z))
         (<= (smaller ?x ?y) (after ?x ?y)) (<= (smaller ?x ?z) (after ?x ?y) (smaller ?y ?z))
         (<= (legal player (add ?k)) (small ?k)) (<= (legal player (multiply ?k)) (small ?k)) (small 1) (small 2) (small 3)
         (<= (next (value ?z)) (does player (add ?k)) (true (value ?x)) (plus ?x ?k ?z))
         (<= (next (value ?z)) (does player (multiply ?k)) (true (value ?x)) (times ?x ?k ?z))
         (<= (next (step ?y)) (true (step ?x)) (tick ?x ?y))
         (<= terminal (true (step 5))) (<= terminal (true (value ?x)) (smaller {half} ?x))
         (<= (goal player 100) (true (value ?x)) (smaller {half} ?x))
         (<= (goal player 0) (true (value ?x)) (not (smaller {half} ?x)))",
        next = successors("after", 0, n),
        steps = successors("tick", 0, 5),
        half = n / 2,
    )
}

/// Two words of bits and their sum, in one relation over all bits.
fn bits(n: usize) -> String {
    let word = |letter: &str| repeated(n, " ", |i| format!("?{letter}{i}"));
    let adders = repeated(n, " ", |i| format!("(adder ?a{i} ?b{i} ?c{i} ?s{i} ?c{})", i + 1));
    let state = repeated(n, " ", |i| format!("(true (bit {i} ?a{i}))"));
    let step = repeated(n, " ", |i| format!("(<= (next (bit {i} ?s{i})) (result {}))", word("s")));
    let table = "(adder 0 0 0 0 0) (adder 0 0 1 1 0) (adder 0 1 0 1 0) (adder 0 1 1 0 1)
                 (adder 1 0 0 1 0) (adder 1 0 1 0 1) (adder 1 1 0 0 1) (adder 1 1 1 1 1)";
    let ones = repeated(n, " ", |_| "1".into());
    format!(
        "(role player) {table} {init} {moves}
         (<= (sum {a} {b} {s}) (zero ?c0) {adders}) (zero 0)
         (<= (result {s}) (does player (add {b})) {state} (sum {a} {b} {s}))
         {step}
         (<= (legal player (add {b})) (choice {b}))
         (<= (next (step ?y)) (true (step ?x)) (tick ?x ?y)) (init (step 0)) {ticks}
         (<= terminal (true (step 6)))
         (<= full {state} (sum {a} {zeros} {ones})) (<= (goal player 100) full) (<= (goal player 0) (not full))",
        init = repeated(n, " ", |i| format!("(init (bit {i} 0))")),
        moves = repeated(3, " ", |k| {
            format!("(choice {})", repeated(n, " ", |i| if (i + k) % 3 == 0 { "1".into() } else { "0".into() }))
        }),
        a = word("a"),
        b = word("b"),
        s = word("s"),
        zeros = repeated(n, " ", |_| "0".into()),
        ticks = successors("tick", 0, 6),
    )
}

/// A stack is a term; its length, its members and what it is with another one on top are derived.
fn lists(n: usize) -> String {
    format!(
        "(role player) (init (stack nil)) (init (step 0)) {ticks} (colour a) (colour b) (colour c)
         (<= (stack nil)) (<= (stack (on ?x ?s)) (colour ?x) (stack ?s) (height ?s ?n) (tick ?n ?m))
         (<= (height nil 0)) (<= (height (on ?x ?s) ?m) (colour ?x) (height ?s ?n) (tick ?n ?m))
         (<= (member ?x (on ?x ?s)) (stack (on ?x ?s)))
         (<= (member ?x (on ?y ?s)) (colour ?y) (member ?x ?s))
         (<= (legal player (push ?x)) (colour ?x))
         (<= (next (stack (on ?x ?s))) (does player (push ?x)) (true (stack ?s)))
         (<= (next (step ?m)) (true (step ?n)) (tick ?n ?m))
         (<= terminal (true (stack ?s)) (height ?s {last}))
         (<= all (true (stack ?s)) (member a ?s) (member b ?s) (member c ?s))
         (<= (goal player 100) all) (<= (goal player 0) (not all))",
        ticks = successors("tick", 0, n),
        last = n.min(12),
    )
}

/// Something is true of a number if it is true of the one below it, a long way down.
fn countdown(n: usize) -> String {
    format!(
        "(role player) (init (value {n})) {next}
         (<= (tick ?x ?y) (before ?y ?x)) (number 0) (<= (number ?y) (before ?x ?y))
         (<= (even 0)) (<= (even ?y) (before ?x ?y) (odd ?x)) (<= (odd ?y) (before ?x ?y) (even ?x))
         (<= (apart ?x ?x 0) (number ?x)) (<= (apart ?x ?z ?d) (before ?x ?y) (apart ?y ?z ?c) (before ?c ?d))
         (<= (legal player down) (true (value ?x)) (distinct ?x 0))
         (<= (legal player half) (true (value ?x)) (even ?x))
         (<= (next (value ?x)) (does player down) (true (value ?y)) (before ?x ?y))
         (<= (next (value ?x)) (does player half) (true (value ?y)) (before ?x ?y) (number ?x))
         (<= terminal (true (value ?x)) (apart ?x {n} 4))
         (<= (goal player 100) (true (value ?x)) (even ?x)) (<= (goal player 0) (true (value ?x)) (odd ?x))",
        next = successors("before", 0, n),
    )
}

/// Walks of even and of odd length between the nodes of a ring, each relation defined by the other.
fn walks(n: usize) -> String {
    format!(
        "(role walker) (init (at 0)) (init (step 0)) {ring} (edge {n} 0) {ticks}
         (<= (node ?x) (edge ?x ?y))
         (<= (even-walk ?x ?x ?k) (node ?x) (tick ?k ?l))
         (<= (even-walk ?x ?z ?l) (tick ?k ?l) (edge ?x ?y) (odd-walk ?y ?z ?k))
         (<= (odd-walk ?x ?z ?l) (tick ?k ?l) (edge ?x ?y) (even-walk ?y ?z ?k))
         (<= (odd-walk ?x ?z ?l) (tick ?k ?l) (odd-walk ?x ?z ?k))
         (<= (legal walker (go ?y)) (true (at ?x)) (edge ?x ?y)) (<= (legal walker stay) (true (at ?x)))
         (<= (next (at ?y)) (does walker (go ?y))) (<= (next (at ?x)) (true (at ?x)) (does walker stay))
         (<= (next (step ?y)) (true (step ?x)) (tick ?x ?y))
         (<= terminal (true (step 5)))
         (<= (goal walker 100) (true (at ?x)) (even-walk ?x 3 3)) (<= (goal walker 50) (true (at ?x)) (odd-walk ?x 3 3))
         (<= (goal walker 0) (true (at ?x)) (not (even-walk ?x 3 3)) (not (odd-walk ?x 3 3)))",
        ring = successors("edge", 0, n),
        ticks = successors("tick", 0, n + 3),
    )
}

/// Two cars with speeds on a track, whose course after some steps the rules can tell.
fn race(n: usize) -> String {
    format!(
        "(role one) (role two) {next} (<= (number ?x) (after ?x ?y)) (<= (number ?y) (after ?x ?y))
         (<= (init (place ?r 0)) (role ?r)) (<= (init (speed ?r 1)) (role ?r)) (init (step 0)) {ticks}
         (<= (plus ?x 0 ?x) (number ?x)) (<= (plus ?x ?y ?z) (after ?w ?y) (plus ?x ?w ?v) (after ?v ?z))
         (<= (near ?x ?x) (number ?x)) (<= (near ?x ?y) (after ?x ?y)) (<= (near ?x ?y) (after ?y ?x))
         (<= (course ?x ?v ?x ?v 0) (number ?x) (number ?v))
         (<= (course ?x ?v ?y ?w ?l) (tick ?k ?l) (near ?v ?u) (plus ?x ?u ?z) (course ?z ?u ?y ?w ?k))
         (<= (legal ?r (drive ?v)) (role ?r) (true (speed ?r ?u)) (near ?u ?v) (true (place ?r ?x)) (plus ?x ?v ?y))
         (<= (next (speed ?r ?v)) (does ?r (drive ?v)))
         (<= (next (place ?r ?y)) (does ?r (drive ?v)) (true (place ?r ?x)) (plus ?x ?v ?y))
         (<= (next (step ?y)) (true (step ?x)) (tick ?x ?y))
         (<= terminal (true (step 4)))
         (<= (hopes ?r) (true (place ?r ?x)) (true (speed ?r ?v)) (course ?x ?v {n} ?w 4))
         (<= (goal ?r 100) (hopes ?r)) (<= (goal ?r 0) (role ?r) (not (hopes ?r)))",
        next = successors("after", 0, n),
        ticks = successors("tick", 0, 4),
    )
}
