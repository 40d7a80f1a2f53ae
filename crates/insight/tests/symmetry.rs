//! Symmetries of the library's games: what they are, and that they do what they say.

use std::sync::Arc;

use gdl::ground::GroundProgram;
use insight::symmetry::{self, Symmetries, Translation};
use machine::network::{self, Network};
use machine::scalar::{self, Scalar};
use machine::{Machine, RoleId};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

fn rules(game: &str) -> String {
    let path = format!("{}/../../games/{game}/rules.kif", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

struct Game {
    ground: GroundProgram,
    network: Arc<Network>,
    symmetries: Symmetries,
}

fn game(text: &str) -> Game {
    let reading = gdl::read("test", text.as_bytes());
    assert!(!reading.has_errors(), "{text}");
    let ground = gdl::ground::ground(&reading.program, &gdl::ground::Budget::default()).expect("small");
    let network = Arc::new(network::build(ground.clone()).expect("small"));
    let symmetries = symmetry::find(&ground, Some(&network), &symmetry::Budget::default(), 1);
    Game { ground, network, symmetries }
}

fn order(game: &Game) -> u128 {
    game.symmetries.group.as_ref().and_then(symmetry::SymmetryGroup::order).expect("not too large")
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
    ];
    for (name, n_all, n_fixing) in expected {
        let game = game(&rules(name));
        assert_eq!(order(&game), n_all, "{name}");
        let group = game.symmetries.group.as_ref().expect("not too large");
        assert_eq!(group.order_fixing_initial(), Some(n_fixing), "{name}");
    }
}

/// The law: whatever is true of a state is true of its image, with the images of fluents, moves and roles.
fn check_commutes(name: &str, game: &Game, random: &mut Pcg64Mcg) {
    let translation = Translation::new(&game.ground, &game.network);
    let mut machine = Scalar::new(scalar::Compiled::new(game.network.clone()));
    let mut other = Scalar::new(scalar::Compiled::new(game.network.clone()));
    let n_roles = game.ground.roles.len() as u32;
    let actions: Vec<_> =
        game.symmetries.generators.iter().filter_map(|symmetry| translation.action(symmetry)).collect();
    let mut state = machine.initial().expect("networks have no budget");
    for _ in 0..40 {
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
fn symmetries_commute_with_play() {
    let path = format!("{}/../../games", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(path)
        .expect("the library is in the repository")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("plain names"))
        .collect();
    names.sort();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    // Large games take seconds each in a slow build.
    let large =
        ["pancakes", "chess", "skirmish", "lines-of-action", "amazons-10x10", "go-7x7", "othello", "snake-duel"];
    for name in names.iter().filter(|name| !large.contains(&name.as_str())) {
        check_commutes(name, &game(&rules(name)), &mut random);
    }
}
