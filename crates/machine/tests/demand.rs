//! Rules with relations that are too large for a table: what is asked of them with known arguments is derived alone.

#[path = "demand/prover.rs"]
mod prover;
#[path = "demand/sheets.rs"]
mod sheets;

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::{Program, keyword};
use machine::scalar::{self, Scalar};
use machine::{Limits, Machine, Reference, RoleId};
use prover::{Prover, Tree, atom, last_arg, show};

fn program(text: &str) -> Arc<Program> {
    let reading = gdl::read("sheet", text.as_bytes());
    let errors: Vec<String> =
        reading.diagnostics.iter().filter(|_| reading.has_errors()).map(|found| found.message.clone()).collect();
    assert!(errors.is_empty(), "{errors:?} in\n{text}");
    Arc::new(reading.program)
}

/// Everything that is said of a state.
type Position = (BTreeSet<String>, Vec<BTreeSet<String>>, bool, Vec<BTreeSet<String>>);

fn position<M: Machine>(machine: &mut M, state: &M::State) -> Position {
    let roles = 0..machine.roles().len() as u32;
    let mut legal = Vec::new();
    for role in roles.clone() {
        let mut moves = Vec::new();
        machine.legal(state, RoleId(role), &mut moves).expect("within the budgets");
        legal.push(moves.into_iter().map(|chosen| machine.move_name(chosen)).collect());
    }
    let goals = roles.map(|role| machine.goals(state, RoleId(role)).expect("within the budgets"));
    let goals = goals.map(|goals| goals.iter().map(i64::to_string).collect()).collect();
    let fluents = machine.fluents(state).into_iter().collect();
    (fluents, legal, machine.is_terminal(state).expect("within the budgets"), goals)
}

/// The same by the prover.
fn proved(program: &Program, fluents: &[Tree], roles: &[Tree]) -> Position {
    let given = fluents.iter().map(|fluent| atom(keyword::TRUE, vec![fluent.clone()])).collect();
    let mut prover = Prover::new(program, given);
    let mut of_role = |name, role: &Tree| -> BTreeSet<String> {
        let answers = prover.ask(&atom(name, vec![role.clone(), Tree::Var(0)]));
        answers.iter().map(|fact| last_arg(program, fact)).collect()
    };
    let legal = roles.iter().map(|role| of_role(keyword::LEGAL, role)).collect();
    let goals = roles.iter().map(|role| of_role(keyword::GOAL, role)).collect();
    let names = fluents.iter().map(|fluent| show(program, fluent)).collect();
    (names, legal, !prover.ask(&atom(keyword::TERMINAL, Vec::new())).is_empty(), goals)
}

/// The arguments of all answers to a question about one argument.
fn fluents_of(answers: BTreeSet<Tree>) -> Vec<Tree> {
    let argument =
        |fact| if let Tree::Node(_, mut args) = fact { args.remove(0) } else { unreachable!("it is ground") };
    answers.into_iter().map(argument).collect()
}

#[test]
fn small_sheets_mean_what_a_prover_says() {
    for sheets::Sheet { name, small, .. } in sheets::all() {
        let program = program(&small);
        let ways = [Limits::default(), Limits { table: 0, static_table: 0, ..Limits::default() }];
        for mut machine in ways.map(|limits| Reference::new(program.clone(), limits).expect("stratified")) {
            let mut prover = Prover::new(&program, Vec::new());
            let roles = fluents_of(prover.ask(&atom(keyword::ROLE, vec![Tree::Var(0)])));
            let roles_in_order: Vec<Tree> = machine
                .roles()
                .iter()
                .map(|name| roles.iter().find(|role| show(&program, role) == *name).expect("a role").clone())
                .collect();
            let mut state = machine.initial().expect("within the budgets");
            let mut fluents = fluents_of(prover.ask(&atom(keyword::INIT, vec![Tree::Var(0)])));
            for ply in 0..4 {
                let found = position(&mut machine, &state);
                assert_eq!(found, proved(&program, &fluents, &roles_in_order), "{name}, ply {ply}");
                if found.2 {
                    break;
                }
                // The moves in the order of their names, a different one each time.
                let nth = |moves: &BTreeSet<String>| moves.iter().nth(7 * ply % moves.len()).expect("a move").clone();
                let names: Vec<String> = found.1.iter().map(nth).collect();
                let mut given: Vec<Tree> =
                    fluents.iter().map(|fluent| atom(keyword::TRUE, vec![fluent.clone()])).collect();
                let mut prover = Prover::new(&program, given.clone());
                for (role, name) in roles_in_order.iter().zip(&names) {
                    let legal = prover.ask(&atom(keyword::LEGAL, vec![role.clone(), Tree::Var(0)]));
                    let chosen = legal.into_iter().find(|fact| last_arg(&program, fact) == *name).expect("legal");
                    let Tree::Node(_, args) = chosen else { unreachable!("it is ground") };
                    given.push(atom(keyword::DOES, args));
                }
                state = follow(&mut machine, &state, &names);
                fluents = fluents_of(Prover::new(&program, given).ask(&atom(keyword::NEXT, vec![Tree::Var(0)])));
            }
        }
    }
}

#[test]
fn sheets_are_grounded_on_demand() {
    for sheets::Sheet { name, small, .. } in sheets::all() {
        let program = program(&small);
        let mut reference = Reference::new(program.clone(), Limits::default()).expect("stratified");
        for whole in [usize::MAX, 0] {
            let budget = gdl::ground::Budget { whole, facts: 100_000, ..gdl::ground::Budget::default() };
            let ground = match gdl::ground::ground(&program, &budget) {
                Ok(ground) => ground,
                // A stack that may grow without end has no ground rules.
                Err(_) if name == "lists" => continue,
                Err(why) => panic!("{name}: {why}"),
            };
            let network = machine::network::build(ground, &gdl::Stop::never()).expect("there is a network");
            let mut scalar = Scalar::new(scalar::Compiled::new(network.into()));
            let (mut states, mut ply) = ((reference.initial().unwrap(), scalar.initial().unwrap()), 0);
            loop {
                let expected = position(&mut reference, &states.0);
                assert_eq!(position(&mut scalar, &states.1), expected, "{name}, ply {ply}");
                if expected.2 || ply == 6 {
                    break;
                }
                let nth = |moves: &BTreeSet<String>| moves.iter().nth(7 * ply % moves.len()).expect("a move").clone();
                let names: Vec<String> = expected.1.iter().map(nth).collect();
                states = (follow(&mut reference, &states.0, &names), follow(&mut scalar, &states.1, &names));
                ply += 1;
            }
        }
    }
}

/// The state after moves that are given by name.
fn follow<M: Machine>(machine: &mut M, state: &M::State, names: &[String]) -> M::State {
    let mut joint = Vec::new();
    for (role, name) in names.iter().enumerate() {
        let mut moves = Vec::new();
        machine.legal(state, RoleId(role as u32), &mut moves).expect("within the budgets");
        joint.push(moves.into_iter().find(|&chosen| machine.move_name(chosen) == *name).expect("legal"));
    }
    machine.next(state, &joint).expect("within the budgets")
}

#[test]
fn a_count_over_the_board_has_a_network() {
    // As a whole, the walk has a sum for every pair of numbers that it could begin with: millions of facts.
    let program = program(&sheets::counted_stones(5));
    let ground = gdl::ground::ground(&program, &gdl::ground::Budget::default()).expect("it grounds");
    let network = machine::network::build(ground, &gdl::Stop::never()).expect("there is a network");
    assert!(network.n_gates() < 100_000, "{} gates", network.n_gates());
}

#[test]
fn what_is_only_denied_is_not_derived() {
    let numbers: String = (0..60).map(|i| format!("(n {i}) ")).collect();
    let text = format!(
        "(role r) {numbers} (<= (init (on ?x)) (n ?x)) (<= (legal r (off ?x)) (true (on ?x)))
         (<= (next (on ?x)) (true (on ?x)) (not (does r (off ?x))))
         (<= (four ?a ?b ?c ?d) (true (on ?a)) (true (on ?b)) (true (on ?c)) (true (on ?d)))
         (<= terminal (not (four 1 2 3 4))) (<= (goal r 100) (true (on 5))) (<= (goal r 0) (not (true (on 5))))"
    );
    let ground = gdl::ground::ground(&program(&text), &gdl::ground::Budget::default());
    assert!(ground.expect("one fact of millions is enough").literals.len() < 1000);
}

/// The prover that people test their rules with needs some seconds for such a sheet. So may we, on a slow machine: a
/// million matches take about a tenth of a second.
const WORK: u64 = 50_000_000;

#[test]
fn full_sheets_are_played_within_a_budget() {
    for sheets::Sheet { name, full, .. } in sheets::all() {
        let limits = Limits { work: WORK, facts: 2_000_000, ..Limits::default() };
        let mut machine = Reference::new(program(&full), limits).expect("stratified");
        let mut state = machine.initial().expect("within the budgets");
        for ply in 0..10 {
            let fail = |why| -> ! { panic!("{name}, ply {ply}: {why}") };
            let mut joint = Vec::new();
            for role in 0..machine.roles().len() as u32 {
                let mut moves = Vec::new();
                machine.legal(&state, RoleId(role), &mut moves).unwrap_or_else(|why| fail(why));
                let goals = machine.goals(&state, RoleId(role)).unwrap_or_else(|why| fail(why));
                assert!(!goals.is_empty(), "{name}, ply {ply}");
                joint.extend(moves.get((13 * ply + 5) % moves.len().max(1)));
            }
            if machine.is_terminal(&state).unwrap_or_else(|why| fail(why)) {
                break;
            }
            state = machine.next(&state, &joint).unwrap_or_else(|why| fail(why));
        }
    }
}
