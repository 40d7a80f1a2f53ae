//! Every way to evaluate a feature gives the same value: over columns, as wires of a network, and by the rules.

mod common;

use std::sync::Arc;

use features::columns::Columns;
use features::compile::{Budget, compile, with_rules};
use features::game::{Game, Views};
use gdl::Database;
use gdl::datalog::Limits;
use machine::lanes::{self, Lanes};

use common::{bodies, read, states};

const GAMES: [&str; 9] = [
    "tic-tac-toe",
    "connect-four",
    "breakthrough-6x6",
    "minichess",
    "othello-6x6",
    "hanoi",
    "pacman",
    "kalaha",
    "checkers-5x5-4",
];

#[test]
fn columns_networks_and_rules_agree() {
    for name in GAMES {
        let game = Game::new(read(name), 1).expect("it has a network");
        let views = Views::new(&game).expect("it has views");
        let states = states(&game, 150, 7);
        let states: Vec<&[u64]> = states.iter().map(|state| &state[..]).collect();
        let mut columns = Columns::new(&game, &views, &states);
        let features = bodies(&game.program);
        let compiled = compile(&game, &features, &Budget::default()).expect("it compiles");
        assert_eq!(compiled.left_out, [], "{name}");
        let mut lanes = Lanes::new(lanes::Compiled::new(compiled.views.network.clone()));
        let own: Vec<Vec<u64>> = states.iter().map(|state| compiled.views.state(state)).collect();
        let wires = lanes.evaluate_formulas(&own.iter().map(|state| &state[..]).collect::<Vec<_>>());
        let (program, relations) = with_rules(&game.program, &features);
        let mut database = Database::new(Arc::new(program), Limits::default()).expect("the rules can be evaluated");
        let network = &game.circuit.network;
        let mut n_values = 0;
        for (index, feature) in features.iter().enumerate() {
            let shown = feature.display(&game.program.symbols).to_string();
            let values = columns.values(feature).unwrap_or_else(|| panic!("{name}: {shown} has no values"));
            for (position, &value) in values.iter().enumerate() {
                let holds = |formula: u32| wires[formula as usize][position / 64] >> (position % 64) & 1 == 1;
                let sum: i32 =
                    compiled.sums.features[index].iter().filter(|term| holds(term.0)).map(|term| term.1).sum();
                assert_eq!(sum, value, "{name}: {shown} in position {position}");
                n_values += i32::from(value > 0);
                if position % 10 == 0 {
                    let fluents: Vec<_> = network.fluent_names(states[position]);
                    let fluents: Vec<_> = fluents.iter().map(|fluent| term(&mut database, fluent)).collect();
                    database.set_state(&fluents);
                    let facts = database.facts(relations[index]).expect("within the budget");
                    assert_eq!(facts.len() as i32, value, "{name}: {shown} by the rules");
                }
            }
        }
        assert!(n_values > 100, "{name}: only {n_values} values differ from 0");
    }
}

/// A ground term read from text.
fn term(database: &mut Database, text: &str) -> gdl::TermId {
    let names: Vec<String> =
        text.replace('(', " ( ").replace(')', " ) ").split_whitespace().map(str::to_owned).collect();
    let mut names = names.iter().map(String::as_str);
    fn build<'a>(database: &mut Database, first: &str, names: &mut impl Iterator<Item = &'a str>) -> gdl::TermId {
        let symbol = |database: &Database, name: &str| database.program().symbols.find(name).expect("a name");
        if first != "(" {
            let name = symbol(database, first);
            return database.terms.intern(name, &[]);
        }
        let name = names.next().expect("a function");
        let name = symbol(database, name);
        let mut args = Vec::new();
        loop {
            match names.next().expect("a parenthesis") {
                ")" => return database.terms.intern(name, &args),
                arg => args.push(build(database, arg, names)),
            }
        }
    }
    let first = names.next().expect("a term");
    build(database, first, &mut names)
}
