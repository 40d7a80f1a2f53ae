//! One suite for all engines: every game of the library, the same answers from each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use machine::lanes::{self, Kernel, LANES, Lanes};
use machine::network::{Gate, Network, Wire};
use machine::scalar::{self, Scalar};
use machine::{Limits, Machine, Reference, RoleId};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for folder in library() {
        let name = folder.file_name().expect("a game has a folder").to_string_lossy().into_owned();
        let of = |test: &str| format!("{test}::{name}");
        let (agree, unmake, kernels, formulas) = (folder.clone(), folder.clone(), folder.clone(), folder.clone());
        trials.push(Trial::test(of("engines_agree"), move || engines_agree(&agree)));
        trials.push(Trial::test(of("unmake_restores"), move || unmake_restores(&unmake)));
        trials.push(Trial::test(of("kernels_agree"), move || kernels_agree(&kernels)));
        trials.push(Trial::test(of("formulas_are_kept_up"), move || formulas_are_kept_up(&formulas)));
    }
    for name in ["tic-tac-toe", "pacman", "peg", "go-5x5"] {
        let test = format!("batches_equal_single_states::{name}");
        trials.push(Trial::test(test, move || batches_equal_single_states(name)));
    }
    for name in
        ["tic-tac-toe", "tic-tic-toe", "connect-3-4x4", "three-player-tic-tac-toe", "peg", "rock-paper-scissors"]
    {
        trials.push(Trial::test(format!("playouts_are_unbiased::{name}"), move || playouts_are_unbiased(name)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn games() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../games")
}

fn library() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(games()).expect("the library is in the repository");
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("readable").path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn reference(folder: &Path) -> Reference {
    let text = std::fs::read_to_string(folder.join("rules.kif")).expect("every game has rules");
    let (tree, _) = gdl::parse(&gdl::Source::new("rules.kif", text));
    Reference::new(Arc::new(gdl::resolve(&tree).0), Limits::default()).expect("library rules have a meaning")
}

fn network(folder: &Path) -> Arc<Network> {
    let text = std::fs::read_to_string(folder.join("rules.kif")).expect("every game has rules");
    let (tree, _) = gdl::parse(&gdl::Source::new("rules.kif", text));
    let ground =
        gdl::ground::ground(&gdl::resolve(&tree).0, &gdl::ground::Budget::default()).expect("library games ground");
    Arc::new(machine::network::build(ground, &gdl::Stop::never()).expect("library games make networks"))
}

/// What one engine says about one state, as text.
fn facts<M: Machine>(machine: &mut M, state: &M::State) -> Result<String, Failed> {
    let mut text = format!("state {:?}\nterminal {}\n", machine.fluents(state), machine.is_terminal(state)?);
    for role in 0..machine.roles().len() as u32 {
        let mut moves = Vec::new();
        machine.legal(state, RoleId(role), &mut moves)?;
        let mut names: Vec<String> = moves.into_iter().map(|chosen| machine.move_name(chosen)).collect();
        names.sort();
        text += &format!("role {role} legal {names:?} goals {:?}\n", machine.goals(state, RoleId(role))?);
    }
    Ok(text)
}

fn joint<M: Machine>(machine: &mut M, state: &M::State, names: &[String]) -> Result<Vec<M::Move>, Failed> {
    let mut joint = Vec::new();
    for (role, name) in names.iter().enumerate() {
        let mut moves = Vec::new();
        machine.legal(state, RoleId(role as u32), &mut moves)?;
        joint
            .push(moves.into_iter().find(|&chosen| machine.move_name(chosen) == *name).expect("legal in every engine"));
    }
    Ok(joint)
}

/// Random matches, followed by all engines step by step. Slow games are followed for fewer steps: the reference engine
/// sets the pace.
fn engines_agree(folder: &Path) -> Result<(), Failed> {
    let mut slow = reference(folder);
    let network = network(folder);
    let mut scalar = Scalar::new(scalar::Compiled::new(network.clone()));
    let mut lanes = Lanes::new(lanes::Compiled::new(network));
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let start = std::time::Instant::now();
    for game in 0..3 {
        let mut state = (slow.initial()?, scalar.initial()?, lanes.initial()?);
        for ply in 0..200 {
            let expected = facts(&mut slow, &state.0)?;
            for (engine, found) in [("scalar", facts(&mut scalar, &state.1)?), ("lanes", facts(&mut lanes, &state.2)?)]
            {
                if found != expected {
                    return Err(
                        format!("{engine}, game {game}, ply {ply}: expected\n{expected}\nfound\n{found}").into()
                    );
                }
            }
            // At least one game is followed for some plies, however slow.
            if slow.is_terminal(&state.0)? || (ply > 20 && start.elapsed().as_secs() > 2) {
                break;
            }
            let mut names = Vec::new();
            for role in 0..slow.roles().len() as u32 {
                let mut moves = Vec::new();
                slow.legal(&state.0, RoleId(role), &mut moves)?;
                names.push(slow.move_name(moves[rng.random_range(0..moves.len())]));
            }
            let (a, b, c) = (
                joint(&mut slow, &state.0, &names)?,
                joint(&mut scalar, &state.1, &names)?,
                joint(&mut lanes, &state.2, &names)?,
            );
            state = (slow.next(&state.0, &a)?, scalar.next(&state.1, &b)?, lanes.next(&state.2, &c)?);
        }
        if start.elapsed().as_secs() > 2 {
            break;
        }
    }
    Ok(())
}

/// Walking down a random line and back up gives the same states, hashes and legal moves.
fn unmake_restores(folder: &Path) -> Result<(), Failed> {
    let mut machine = Scalar::new(scalar::Compiled::new(network(folder)));
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let n_roles = machine.roles().len() as u32;
    let legal = |machine: &Scalar| {
        let lists = (0..n_roles).map(|role| {
            let mut moves = Vec::new();
            machine.legal_moves(RoleId(role), &mut moves);
            moves.sort_unstable();
            moves
        });
        lists.collect::<Vec<_>>()
    };
    let mut trail = Vec::new();
    loop {
        let moves = legal(&machine);
        trail.push((machine.hash(), machine.bits().to_vec(), moves.clone()));
        if trail.len() == 100 || machine.terminal() || moves.iter().any(Vec::is_empty) {
            break;
        }
        let joint: Vec<u32> = moves.iter().map(|moves| moves[rng.random_range(0..moves.len())]).collect();
        machine.make(&joint);
    }
    while let Some((hash, bits, moves)) = trail.pop() {
        if machine.hash() != hash || machine.bits() != bits || legal(&machine) != moves {
            return Err(format!("{} plies from the start, the state is another one", trail.len()).into());
        }
        // The hash made step by step is the hash of the state however it was reached.
        let mut fresh = Scalar::new(machine.compiled().clone());
        fresh.jump(&bits);
        assert_eq!(fresh.hash(), hash);
        if !trail.is_empty() {
            machine.unmake();
        }
    }
    Ok(())
}

/// However a state is reached, what was told about formulas adds up to their truth in it, as the lanes find it. Sums of
/// formulas over the lanes are what counting gives.
fn formulas_are_kept_up(folder: &Path) -> Result<(), Failed> {
    // Step 1. Formulas: gates of all kinds that read no moves, goals among them, and conjunctions of some.
    let mut network = Arc::unwrap_or_clone(network(folder));
    let mut rng = Pcg64Mcg::seed_from_u64(17);
    let mut reads_moves: Vec<bool> = Vec::new();
    for gate in &network.gates {
        let reads = match gate {
            Gate::Move(_) => true,
            Gate::And(inputs) => inputs.iter().any(|wire| reads_moves[wire.gate() as usize]),
            _ => false,
        };
        reads_moves.push(reads);
    }
    for block in &network.blocks {
        if block.gates.clone().any(|gate| reads_moves[gate as usize]) {
            block.gates.clone().for_each(|gate| reads_moves[gate as usize] = true);
        }
    }
    let plain: Vec<u32> = (0..network.gates.len() as u32).filter(|&gate| !reads_moves[gate as usize]).collect();
    let mut any = || Wire::of(plain[rng.random_range(0..plain.len())]).invert_if(rng.random());
    let mut formulas: Vec<Wire> = (0..150).map(|_| any()).collect();
    formulas.extend(network.goals.iter().take(20).map(|&(_, _, wire)| wire));
    for _ in 0..50 {
        let wires = [any(), any(), any()];
        formulas.push(network.all_of(&wires));
    }
    network.formulas = formulas;
    let network = Arc::new(network);
    let mut machine = Scalar::new(scalar::Compiled::with_formulas(network.clone()));
    // Step 2. Walk about, and note what is told.
    let n = network.formulas.len() as u32;
    let mut told: Vec<bool> = (0..n).map(|formula| machine.formula(formula)).collect();
    let (mut states, mut truths) = (Vec::new(), Vec::new());
    let mut depth = 0;
    let start = std::time::Instant::now();
    while states.len() < 400 && start.elapsed().as_secs() < 2 {
        let moves: Vec<Vec<u32>> = (0..network.roles.len() as u32)
            .map(|role| {
                let mut moves = Vec::new();
                machine.legal_moves(RoleId(role), &mut moves);
                moves
            })
            .collect();
        let over = machine.terminal() || moves.iter().any(Vec::is_empty);
        match rng.random_range(0..10) {
            0 if !states.is_empty() => {
                let there: &Vec<u64> = &states[rng.random_range(0..states.len())];
                machine.jump(there);
                depth = 0;
            }
            1..4 if depth > 0 => {
                machine.unmake();
                depth -= 1;
            }
            _ if !over => {
                machine.make(&moves.iter().map(|moves| moves[rng.random_range(0..moves.len())]).collect::<Vec<_>>());
                depth += 1;
            }
            _ => {
                let initial = machine.initial()?;
                machine.jump(&initial);
                depth = 0;
            }
        }
        // Now and then several steps are told about at once.
        if rng.random_range(0..4) > 0 {
            machine.take_flips(|formula, now| {
                assert_ne!(told[formula as usize], now, "only flips are told");
                told[formula as usize] = now;
            });
            states.push(machine.bits().to_vec());
            truths.push(told.clone());
        }
    }
    // Step 3. Compare.
    let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
    let mut lanes = Lanes::new(lanes::Compiled::new(network.clone()));
    let columns = lanes.evaluate_formulas(&views);
    for (state, truth) in truths.iter().enumerate() {
        for (formula, column) in columns.iter().enumerate() {
            let expected = column[state / 64] >> (state % 64) & 1 == 1;
            if truth[formula] != expected {
                return Err(format!("state {state}: formula {formula} is {expected}").into());
            }
        }
    }
    // Step 4. Sums of formulas.
    let sums: Vec<Vec<(Wire, u32)>> = (0..30)
        .map(|index| {
            let term =
                |_| (network.formulas[rng.random_range(0..n as usize)], 1 << rng.random_range(0..1 + index / 10));
            (0..index * index / 3).map(term).collect()
        })
        .collect();
    let adder = lanes::Adder::new(lanes.compiled(), &sums);
    let mut found = Vec::new();
    for batch in views.chunks(LANES) {
        lanes.load_all(batch);
        lanes.evaluate();
        lanes.add_up(&adder, batch.len(), &mut found);
    }
    let place = |wire: &Wire| network.formulas.iter().position(|formula| formula == wire).expect("a formula");
    for (state, truth) in truths.iter().enumerate() {
        for (index, sum) in sums.iter().enumerate() {
            let expected: u32 = sum.iter().filter(|(wire, _)| truth[place(wire)]).map(|(_, weight)| weight).sum();
            assert_eq!(found[state * sums.len() + index], expected, "state {state}, sum {index}");
        }
    }
    Ok(())
}

/// Every kernel plays the same playouts.
fn kernels_agree(folder: &Path) -> Result<(), Failed> {
    let compiled = lanes::Compiled::new(network(folder));
    let tallies = Kernel::available().into_iter().map(|kernel| {
        let mut machine = Lanes::with_kernel(compiled.clone(), kernel);
        (kernel, machine.playouts(&mut lanes::random(3), &mut [0; LANES], 50, 4000))
    });
    let tallies: Vec<_> = tallies.collect();
    for (kernel, tally) in &tallies[1..] {
        if *tally != tallies[0].1 {
            return Err(format!("{} differs from {}", kernel.name(), tallies[0].0.name()).into());
        }
    }
    Ok(())
}

/// Successors and formulas of many states at once are those of each state alone.
fn batches_equal_single_states(name: &str) -> Result<(), Failed> {
    let mut network = Arc::unwrap_or_clone(network(&games().join(name)));
    // Formulas: some fluents, a conjunction with a negation, and a disjunction.
    let fluents: Vec<_> = network.fluents.iter().take(5).map(|&fluent| network.name(fluent)).collect();
    let wires: Vec<_> = fluents.iter().map(|name| network.fluent(name).expect("a fluent of the game")).collect();
    let both = network.all_of(&[wires[0], wires[1].inverted(), wires[2]]);
    let any = network.any_of(&wires);
    network.formulas = vec![wires[3], both, any];
    let network = Arc::new(network);
    let (mut scalar, mut lanes) =
        (Scalar::new(scalar::Compiled::new(network.clone())), Lanes::new(lanes::Compiled::new(network)));
    // More states than lanes, and no multiple of 64.
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let (mut states, mut joints, mut following) = (Vec::new(), Vec::new(), Vec::new());
    while states.len() < 700 {
        let mut state = scalar.initial()?;
        while !scalar.is_terminal(&state)? {
            let mut joint = Vec::new();
            for role in 0..scalar.roles().len() as u32 {
                let mut moves = Vec::new();
                scalar.legal(&state, RoleId(role), &mut moves)?;
                joint.push(moves[rng.random_range(0..moves.len())]);
            }
            let next = scalar.next(&state, &joint)?;
            states.push(std::mem::replace(&mut state, next.clone()));
            joints.push(joint);
            following.push(next);
        }
    }
    let steps: Vec<(&[u64], &[u32])> =
        states.iter().zip(&joints).map(|(state, joint)| (&**state, &joint[..])).collect();
    assert_eq!(lanes.successors(&steps), following);
    let columns = lanes.evaluate_formulas(&states.iter().map(|state| &**state).collect::<Vec<_>>());
    for (index, state) in states.iter().enumerate() {
        let names = scalar.fluents(state);
        let holds: Vec<bool> = fluents.iter().map(|name| names.contains(name)).collect();
        let expected = [holds[3], holds[0] && !holds[1] && holds[2], holds.contains(&true)];
        for (column, expected) in columns.iter().zip(expected) {
            assert_eq!(column[index / 64] >> (index % 64) & 1 == 1, expected, "state {index}: {names:?}");
        }
    }
    Ok(())
}

/// Lane playouts and reference playouts have the same distribution of lengths and of results, by a chi-squared test with
/// a fixed seed whose threshold a correct sampler passes with probability 0.9999 or so. The reference gives few
/// playouts and the lanes many, so the lanes' distribution is taken as the expectation.
fn playouts_are_unbiased(name: &str) -> Result<(), Failed> {
    const N_REFERENCE: u32 = 2000;
    let folder = games().join(name);
    let mut slow = reference(&folder);
    let compiled = lanes::Compiled::new(network(&folder));
    let mut machine = Lanes::new(compiled);
    let tally = machine.playouts(&mut lanes::random(5), &mut [0; LANES], 500, 5_000_000);
    let goals = machine.network().goals.clone();
    let mut lengths = vec![0u64; tally.lengths.len()];
    let mut reached = vec![0u64; goals.len()];
    let mut rng = Pcg64Mcg::seed_from_u64(13);
    for _ in 0..N_REFERENCE {
        let end = machine::playout(&mut slow, &mut rng, 500, |_, _| Ok(()))?;
        lengths[end.n_plies as usize] += 1;
        for (count, &(role, value, _)) in reached.iter_mut().zip(&goals) {
            *count += u64::from(slow.goals(&end.last, RoleId(role))?.contains(&value));
        }
    }
    check_fit("length", &lengths, &tally.lengths, N_REFERENCE, tally.n_playouts)?;
    // Goals of one role exclude each other; other roles' goals are not independent of them, so each role is tested alone.
    for role in 0..slow.roles().len() as u32 {
        let of_role = |counts: &[u64]| -> Vec<u64> {
            counts.iter().zip(&goals).filter(|(_, goal)| goal.0 == role).map(|(&count, _)| count).collect()
        };
        check_fit("goal", &of_role(&reached), &of_role(&tally.goals), N_REFERENCE, tally.n_playouts)?;
    }
    Ok(())
}

fn check_fit(what: &str, seen: &[u64], expected: &[u64], n_seen: u32, n_expected: u64) -> Result<(), Failed> {
    let (mut chi_squared, mut cells) = (0.0, 0);
    let (mut rest_seen, mut rest_expected) = (0.0, 0.0);
    for (&seen, &expected) in seen.iter().zip(expected) {
        let expected = expected as f64 * f64::from(n_seen) / n_expected as f64;
        // Cells with few expected cases are put together, as the test demands.
        if expected < 8.0 {
            rest_seen += seen as f64;
            rest_expected += expected;
        } else {
            chi_squared += (seen as f64 - expected).powi(2) / expected;
            cells += 1;
        }
    }
    if rest_expected >= 1.0 {
        chi_squared += (rest_seen - rest_expected).powi(2) / rest_expected;
        cells += 1;
    }
    let freedom = f64::from((cells - 1).max(1));
    // Wilson and Hilferty 1931: the cube root of chi-squared over its degrees of freedom is nearly normal.
    let z = ((chi_squared / freedom).cbrt() - (1.0 - 2.0 / (9.0 * freedom))) / (2.0 / (9.0 * freedom)).sqrt();
    if z > 3.7 {
        return Err(
            format!("{what}: z = {z:.2}, chi-squared {chi_squared:.1} with {freedom} degrees of freedom").into()
        );
    }
    Ok(())
}
