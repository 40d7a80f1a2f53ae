//! Symmetries of the library's games: what they are, what they are called, and that they do what they say.

use std::sync::Arc;

use gdl::ground::GroundProgram;
use gdl::program::Program;
use insight::scramble::{RoleOrder, scramble};
use insight::symmetry::{self, Evidence, Grid, Symmetries, SymmetryGroup, Translation, Turn, canonical_state};
use insight::{prove, sample, structure, universe};
use machine::network::Network;
use machine::scalar::{self, Scalar};
use machine::{Machine, RoleId};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

fn rules(game: &str) -> String {
    let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read(text: &str) -> Program {
    let reading = gdl::read("test", text.as_bytes());
    assert!(!reading.has_errors(), "{text}");
    reading.program
}

struct Game {
    ground: Arc<GroundProgram>,
    network: Arc<Network>,
    symmetries: Symmetries,
}

fn game(text: &str) -> Game {
    of_program(read(text))
}

fn of_program(program: Program) -> Game {
    of_ground(gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("small"))
}

fn of_ground(ground: GroundProgram) -> Game {
    let network = Arc::new(machine::network::build(ground.clone(), &gdl::Stop::never()).expect("small"));
    let symmetries = symmetry::find(&ground, Some(&network), &symmetry::Budget::default(), 1);
    Game { ground: Arc::new(ground), network, symmetries }
}

fn group(game: &Game) -> &SymmetryGroup {
    game.symmetries.group.as_ref().expect("not too large")
}

/// The game with its boards, in the order that its symmetries suggest where the rules give none.
fn with_boards(text: &str) -> (Game, Vec<Grid>) {
    let (universe, circuit) = universe::survey(&Arc::new(read(text)), &gdl::ground::Budget::default()).expect("small");
    let ground = circuit.ground.clone().expect("small");
    let samples = sample::play(&universe, &circuit, &sample::Budget { rounds: 1, ..sample::Budget::default() }, 1);
    let structure = structure::find(&universe, None, &samples, &prove::Budget::default());
    let grid = |board| Grid::of_board(board, &universe, &ground, &circuit.network);
    let mut grids: Vec<Grid> = structure.boards.iter().map(grid).collect();
    let symmetries = symmetry::find_on_boards(&ground, Some(&circuit.network), &grids, &symmetry::Budget::default(), 1);
    grids.iter_mut().for_each(|grid| grid.arrange(&symmetries.generators));
    (Game { ground, network: circuit.network, symmetries }, grids)
}

#[test]
fn well_known_games_have_their_symmetries() {
    // The order of the group, and how many symmetries fix the initial state.
    let expected = [
        // The square's eight, times swapping the players.
        ("tic-tac-toe", 16, 8),
        ("tic-tac-toe-3d", 96, 48),
        ("three-player-tic-tac-toe", 24, 8),
        ("gomoku-9", 16, 8),
        ("pentago", 16, 8),
        ("amazons-6x6", 16, 2),
        ("capture-go-3x3", 16, 8),
        // Left and right, times swapping the players.
        ("connect-3-3x3", 4, 2),
        ("connect-four", 4, 2),
        // The same, with the board turned over.
        ("breakthrough", 4, 2),
        ("checkers-5x5-4", 4, 2),
        // A black square's reflection is white: only turning is left.
        ("english-draughts", 2, 1),
        // Two rings of the mill board change places, too.
        ("merrills", 32, 16),
        // The board's 32, the pieces' 384, the players' 2.
        ("quarto", 24_576, 12_288),
        ("queens-8", 8, 8),
        ("peg", 8, 8),
        ("rock-paper-scissors", 6, 6),
        ("fox-and-hounds", 1, 1),
        // The way across the board can be written from either side.
        ("hex-5", 4, 2),
        ("blocker", 4, 4),
        // Stones are counted in some order.
        ("othello-6x6", 16, 4),
        ("go-5x5", 8, 8),
        ("lights-out-5x5", 8, 8),
        ("dots-and-boxes", 256, 128),
        ("chinese-checkers", 3, 1),
    ];
    for (name, n_all, n_fixing) in expected {
        let game = game(&rules(name));
        assert_eq!(group(&game).order(), Some(n_all), "{name}");
        assert_eq!(group(&game).order_fixing_initial(), Some(n_fixing), "{name}");
        assert!(game.symmetries.unproved.is_empty() && game.symmetries.stopped.is_empty(), "{name}");
    }
}

#[test]
fn what_is_counted_is_proved_by_meaning() {
    let evidence = |name: &str| -> Vec<Evidence> {
        game(&rules(name)).symmetries.generators.iter().map(|generator| generator.evidence).collect()
    };
    assert!(evidence("go-5x5").iter().all(|&evidence| evidence == Evidence::Meaning));
    assert!(evidence("capture-go-3x3").iter().all(|&evidence| evidence == Evidence::Graph));
}

/// The names of all symmetries but the identity, sorted.
fn names(name: &str) -> Vec<String> {
    let (game, grids) = with_boards(&rules(name));
    let elements = group(&game).elements(100).expect("few");
    let describe = |symmetry| symmetry::describe(&game.ground, &grids, symmetry).to_string();
    let mut names: Vec<String> = elements[1..].iter().map(describe).collect();
    names.sort();
    names
}

#[test]
fn symmetries_have_names() {
    assert_eq!(
        names("connect-3-3x3"),
        ["colour swap with role swap", "left-right reflection", "left-right reflection with colour swap and role swap",]
    );
    assert_eq!(
        names("breakthrough-6x6"),
        [
            "left-right reflection",
            "rotation by 180 degrees with colour swap and role swap",
            "top-bottom reflection with colour swap and role swap",
        ]
    );
    assert_eq!(
        names("hex-5"),
        [
            "reflection in the diagonal with colour swap and role swap",
            "reflection in the other diagonal with colour swap and role swap",
            "rotation by 180 degrees",
        ]
    );
    // The rules give no order of rows and columns here.
    let square = [
        "left-right reflection",
        "reflection in the diagonal",
        "reflection in the other diagonal",
        "rotation by 180 degrees",
        "rotation by 270 degrees",
        "rotation by 90 degrees",
        "top-bottom reflection",
    ];
    let tic_tac_toe = names("tic-tac-toe");
    assert_eq!(tic_tac_toe.len(), 15);
    assert!(square.iter().all(|name| tic_tac_toe.iter().any(|other| other == name)), "{tic_tac_toe:?}");
    // Walls are numbered otherwise than squares.
    assert!(names("hallway-8x8").contains(&"left-right reflection".to_owned()));
    assert_eq!(names("hanoi"), ["swap of pillar1 and pillar2"]);
    assert!(names("mummy-maze").iter().all(|name| name.ends_with("moves that do the same")));
}

#[test]
fn trying_every_state_finds_the_same() {
    for (name, n_holding, n_states) in [("connect-3-3x3", 1, 694), ("capture-go-3x3", 7, 5172)] {
        let (game, grids) = with_boards(&rules(name));
        let found = symmetry::enumerate(&game.ground, &game.network, &grids[0], 100_000);
        assert!(found.complete);
        assert_eq!((found.n_states, found.trials.len()), (n_states, 7), "{name}");
        assert_eq!(found.trials.iter().filter(|trial| trial.holds).count(), n_holding, "{name}");
        let proved: Vec<Turn> = group(&game)
            .elements(100)
            .expect("few")
            .iter()
            .map(|symmetry| symmetry::describe(&game.ground, &grids, symmetry))
            .filter(|description| description.roles.is_empty() && description.contents.is_empty())
            .map(|description| description.turns[0].clone())
            .collect();
        for trial in &found.trials {
            assert_eq!(trial.holds, proved.contains(&trial.turn), "{name}: {}", trial.turn);
        }
    }
    let (game, grids) = with_boards(&rules("connect-3-3x3"));
    let some = symmetry::enumerate(&game.ground, &game.network, &grids[0], 10);
    assert!(!some.complete && some.n_states == 10);
}

#[test]
fn states_have_one_least_image() {
    let game = game(&rules("tic-tac-toe"));
    let translation = Translation::new(&game.ground, &game.network);
    let elements = group(&game).elements(100).expect("few");
    let actions: Vec<_> = elements.iter().map(|symmetry| translation.action(symmetry).expect("it acts")).collect();
    let mut machine = Scalar::new(scalar::Compiled::new(game.network.clone()));
    let initial = machine.initial().expect("no budget");
    let mut moves = Vec::new();
    machine.legal(&initial, RoleId(0), &mut moves).expect("no budget");
    let mut wait = Vec::new();
    machine.legal(&initial, RoleId(1), &mut wait).expect("no budget");
    let mut least: Vec<Box<[u64]>> = Vec::new();
    for &chosen in &moves {
        let next = machine.next(&initial, &[chosen, wait[0]]).expect("no budget");
        let (canonical, _) = canonical_state(&actions, &next);
        assert!(actions.iter().all(|action| canonical_state(&actions, &action.state(&next)).0 == canonical));
        least.push(canonical);
    }
    least.sort();
    least.dedup();
    // Corner, edge, centre.
    assert_eq!((moves.len(), least.len()), (9, 3));
    // Symmetries can be put together and undone.
    let (a, b) = (&elements[3], &elements[7]);
    assert!(group(&game).contains(&a.then(b)));
    assert_eq!(a.then(&a.inverse()).fluents, elements[0].fluents);
}

#[test]
fn small_games_with_known_symmetries() {
    let order = |text: &str| group(&game(text)).order();
    let coin = "(init (coin heads)) (side heads) (side tails)
        (<= (next (coin ?s)) (does ?r (put ?s)))
        (<= terminal (true (coin tails)))
        (<= (goal ?r 100) (role ?r) (true (coin tails)))";
    // Two that do the same can be exchanged. Chance can't play for a player.
    let legal = "(<= (legal ?r (put ?s)) (role ?r) (side ?s))";
    assert_eq!(order(&format!("(role a) (role b) {coin} {legal}")), Some(2));
    assert_eq!(order(&format!("(role a) (role random) {coin} {legal}")), Some(1));
    assert_eq!(order(&format!("(role a) (role b) (role random) {coin} {legal}")), Some(2));
    // Four moves that do the same: 24 permutations.
    let waits = "(<= (legal ?r (wait ?n)) (role ?r) (number ?n)) (number 1) (number 2) (number 3) (number 4)";
    assert_eq!(order(&format!("(role a) {coin} {legal} {waits}")), Some(24));
    // A goal that favours one of two roles is no symmetry, even if random play never gets there.
    let rare = |goal: &str| {
        format!(
            "(role a) (role b) (init (at 0)) (<= (legal ?r (go ?n)) (role ?r) (number ?n))
             (number 0) (number 1) (number 2) (number 3) (number 4) (number 5) (number 6) (number 7)
             (<= (next (was ?r ?n)) (does ?r (go ?n))) (<= (next (was ?r ?n)) (true (was ?r ?n)))
             (<= (all ?r) (role ?r) (true (was ?r 0)) (true (was ?r 1)) (true (was ?r 2)) (true (was ?r 3))
                 (true (was ?r 4)) (true (was ?r 5)) (true (was ?r 6)) (true (was ?r 7)))
             (<= terminal (true (was a 1))) (<= terminal (true (was b 1)))
             (<= (goal ?r 100) (all ?r)) (<= (goal ?r 0) (role ?r) (not (all ?r))) {goal}"
        )
    };
    let fair = game(&rare(""));
    assert!(group(&fair).role_orbits() == [0, 0] && fair.symmetries.unproved.is_empty());
    let unfair = game(&rare("(<= (goal a 50) (all a) (all b))"));
    assert!(group(&unfair).role_orbits() == [0, 1] && unfair.symmetries.unproved.is_empty());
}

#[test]
fn budgets_stop_with_a_reason() {
    let program = read(&rules("tic-tac-toe"));
    let ground = gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("small");
    let least = symmetry::Budget { literals: 10, ..symmetry::Budget::default() };
    let found = symmetry::find(&ground, None, &least, 1);
    assert_eq!(found.stopped, [symmetry::StopReason::Literals { count: ground.literals.len(), limit: 10 }]);
    assert!(found.generators.is_empty());
    let least = symmetry::Budget { graph: 10, ..symmetry::Budget::default() };
    let found = symmetry::find(&ground, None, &least, 1);
    assert!(matches!(found.stopped[..], [symmetry::StopReason::Graph { .. }]), "{:?}", found.stopped);
    // Without a network the same is found here.
    let found = symmetry::find(&ground, None, &symmetry::Budget::default(), 1);
    assert_eq!(found.group.expect("small").order(), Some(16));
}

/// The games of the library that are quick to look at in a slow build.
fn small_games() -> Vec<(String, Program, GroundProgram)> {
    let path = format!("{}/../../games", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(path)
        .expect("the library is in the repository")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("plain names"))
        .collect();
    names.sort();
    let budget = gdl::ground::Budget { literals: 10_000, ..gdl::ground::Budget::default() };
    let small = |name: String| {
        let program = read(&rules(&name));
        let ground = gdl::ground::ground(&program, &budget).ok()?;
        Some((name, program, ground))
    };
    names.into_iter().filter_map(small).collect()
}

/// The law: whatever is true of a state is true of its image, with the images of fluents, moves and roles.
fn check_commutes(name: &str, game: &Game, random: &mut Pcg64Mcg) {
    let translation = Translation::new(&game.ground, &game.network);
    let mut machine = Scalar::new(scalar::Compiled::new(game.network.clone()));
    let mut other = Scalar::new(scalar::Compiled::new(game.network.clone()));
    let n_roles = game.ground.roles.len() as u32;
    let generators = game.symmetries.generators.iter();
    let actions: Vec<_> = generators.filter_map(|symmetry| translation.action(symmetry)).take(12).collect();
    let mut state = machine.initial().expect("networks have no budget");
    for _ in 0..30 {
        let terminal = machine.is_terminal(&state).expect("no budget");
        let legal: Vec<Vec<u32>> = (0..n_roles)
            .map(|role| {
                let mut moves = Vec::new();
                machine.legal(&state, RoleId(role), &mut moves).expect("no budget");
                moves
            })
            .collect();
        let joint: Option<Vec<u32>> = legal.iter().map(|moves| moves.choose(random).copied()).collect();
        let next = joint.as_ref().map(|joint| machine.next(&state, joint).expect("no budget"));
        for action in &actions {
            let image = action.state(&state);
            assert_eq!(other.is_terminal(&image).expect("no budget"), terminal, "{name}");
            for role in 0..n_roles {
                let to = RoleId(action.roles[role as usize]);
                let goals = machine.goals(&state, RoleId(role)).expect("no budget");
                assert_eq!(other.goals(&image, to).expect("no budget"), goals, "{name}");
                let mut images: Vec<u32> =
                    legal[role as usize].iter().map(|&chosen| action.moves[chosen as usize]).collect();
                images.sort_unstable();
                let mut moves = Vec::new();
                other.legal(&image, to, &mut moves).expect("no budget");
                moves.sort_unstable();
                assert_eq!(moves, images, "{name}");
            }
            if let (Some(joint), Some(next)) = (&joint, &next) {
                let there = other.next(&image, &action.joint(joint)).expect("no budget");
                assert_eq!(there, action.state(next), "{name}");
            }
        }
        match next {
            Some(next) if !terminal => state = next,
            _ => state = machine.initial().expect("no budget"),
        }
    }
}

#[test]
fn symmetries_commute_with_play_and_ignore_names() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for (number, (name, program, ground)) in small_games().into_iter().enumerate() {
        let game = of_ground(ground);
        check_commutes(&name, &game, &mut random);
        // The scrambled form of every third game, beginning elsewhere each time the library grows.
        if number % 3 == 0 {
            let scrambled = of_program(scramble(&program, RoleOrder::Shuffled, &mut random).program);
            assert_eq!(profile(&game), profile(&scrambled), "{name}");
        }
    }
}

/// What is the same for a game under other names: orders, and the sizes of orbits.
fn profile(game: &Game) -> (Option<u128>, Option<u128>, Vec<Vec<usize>>, usize) {
    let group = group(game);
    let sizes = |orbits: Vec<u32>| {
        let mut counts = vec![0; orbits.len()];
        orbits.iter().for_each(|&least| counts[least as usize] += 1);
        counts.retain(|&count| count > 0);
        counts.sort_unstable();
        counts
    };
    let orbits = [group.fluent_orbits(), group.move_orbits(), group.role_orbits()].map(sizes).into();
    (group.order(), group.order_fixing_initial(), orbits, game.symmetries.unproved.len())
}

/// Terms of one name may have different numbers of arguments, which then are no images of each other.
#[test]
fn a_name_may_have_any_number_of_arguments() {
    let notes = "(<= (next (note ?x ?y ?x)) (does xplayer (mark ?x ?y)))
        (<= (next (note ?x ?y)) (does oplayer (mark ?x ?y))) (<= (next (note ?x)) (does ?r (mark ?x ?y)))
        (<= (legal xplayer rest) (true (note ?x ?y ?z))) (<= (legal oplayer rest) (true (note ?x ?y)))
        (<= (legal ?r sleep) (role ?r) (true (note ?x)))";
    let (game, grids) = with_boards(&format!("{}\n{notes}", rules("tic-tac-toe")));
    assert_eq!(grids.len(), 1);
    // The roles may change places. Only rows are noted alone, so the board may be turned round but not on its side.
    assert_eq!(group(&game).order(), Some(2 * 4));
}
