//! What must not matter: the order of rules, the order of literals, and how things are called.

use std::collections::HashMap;
use std::sync::Arc;

use gdl::ast::{Kind, NodeId, Tree};
use gdl::symbol::Symbols;
use gdl::{Source, keyword};
use machine::{Limits, Machine, Reference, RoleId};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Small games that use `or`, `not`, `distinct`, nested functions and recursion in their own ways.
const INLINE: &[&str] = &[
    // A walk over nested terms; recursion over the stack; a goal that reads its own negation.
    "(role r) (init (stack (s (s (s nil))))) (init (at a))
     (succ a b) (succ b c) (succ c d) (succ d a)
     (<= (inside ?x ?x) (true (stack ?x)))
     (<= (inside ?x ?z) (inside (s ?x) ?z))
     (<= (legal r (pop ?x)) (true (stack (s ?x))))
     (<= (legal r (go ?y)) (true (at ?x)) (or (succ ?x ?y) (succ ?y ?x)))
     (<= (next (stack ?x)) (does r (pop ?x)))
     (<= (next (stack ?x)) (true (stack ?x)) (not (does r (pop ?y))))
     (<= (next (at ?y)) (does r (go ?y)))
     (<= (next (at ?x)) (true (at ?x)) (not (does r (go ?x))) (does r (pop ?z)))
     (<= terminal (inside ?x ?y) (not (true (stack (s ?z)))))
     (<= terminal (true (at c)) (not (inside (s (s nil)) ?x)))
     (<= (goal r 100) (true (at c)))
     (<= (goal r 50) (not (goal r 100)) (true (at d)))
     (<= (goal r 0) (not (goal r 100)) (not (goal r 50)))",
    // Two roles at once; `or` with branches that bind differently; reachability with mutual recursion.
    "(role left) (role right) (init (on 1 2)) (init (on 2 3)) (init (turn 0))
     (num 1) (num 2) (num 3) (num 4) (after 0 1) (after 1 2) (after 2 3) (after 3 4)
     (<= (even ?x ?x) (num ?x))
     (<= (odd ?x ?z) (even ?x ?y) (true (on ?y ?z)))
     (<= (even ?x ?z) (odd ?x ?y) (true (on ?y ?z)))
     (<= (legal left (add ?x ?y))
         (num ?x) (num ?y) (distinct ?x ?y) (not (even ?y ?x)) (not (true (on ?x ?y))))
     (<= (legal left pass) (true (turn ?t)))
     (<= (legal right (cut ?x ?y))
         (or (true (on ?x ?y)) (and (num ?x) (true (on ?x ?z)) (true (on ?z ?y)))))
     (<= (legal right pass) (not (true (on 1 ?y))))
     (<= (legal right wait))
     (<= (next (on ?x ?y)) (true (on ?x ?y)) (not (does right (cut ?x ?y))))
     (<= (next (on ?x ?y))
         (does left (add ?x ?y))
         (or (does right pass) (does right wait) (and (does right (cut ?a ?b)) (distinct ?a ?x))))
     (<= (next (turn ?u)) (true (turn ?t)) (after ?t ?u))
     (<= terminal (true (turn 4)))
     (<= (goal ?r 100)
         (or (and (role ?r) (distinct ?r right) (odd 1 4)) (and (even 1 4) (role ?r) (distinct ?r left))))
     (<= (goal ?r 0) (role ?r) (not (goal ?r 100)))",
];

const LIBRARY: &[&str] = &[
    "tic-tac-toe",
    "nim-4-heaps",
    "eight-puzzle",
    "hamilton",
    "buttons-and-lights",
    "connect-3-4x4",
    "sudoku-4x4",
    "matching-pennies",
];

fn game(index: usize) -> String {
    match index.checked_sub(INLINE.len()) {
        None => INLINE[index].to_owned(),
        Some(index) => {
            let path = format!("{}/../../games/{}/rules.kif", env!("CARGO_MANIFEST_DIR"), LIBRARY[index]);
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
        }
    }
}

fn read(text: &str) -> Tree {
    let source = Source::new("test", text);
    let (tree, diagnostics) = gdl::parse(&source);
    assert!(diagnostics.is_empty(), "{}", diagnostics[0].render(&source, false));
    tree
}

fn machine(text: &str, limits: Limits) -> Reference {
    let (program, diagnostics) = gdl::resolve(&read(text));
    assert!(diagnostics.is_empty(), "{}\n{text}", diagnostics[0].message);
    Reference::new(Arc::new(program), limits).unwrap_or_else(|why| panic!("{why:?} in\n{text}"))
}

/// Writes the rules down in another order and under other names.
struct Scribe<'a> {
    tree: &'a Tree,
    rng: Pcg64Mcg,
    /// New names by old ones; numbers and keywords keep theirs.
    names: HashMap<String, String>,
    /// The same for the variables of the current rule.
    variables: HashMap<String, String>,
}

impl<'a> Scribe<'a> {
    fn new(tree: &'a Tree, seed: u64) -> Scribe<'a> {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        // Names that sort differently and need care: they look like keywords, or differ only in their ends.
        let invent = |number: usize| format!("{}{number}", ["legal", "n", "n-"][number % 3]);
        let mut invented: Vec<String> = (0..tree.symbols.len()).map(invent).collect();
        invented.shuffle(&mut rng);
        let mut names = HashMap::new();
        let mut stack: Vec<NodeId> = tree.roots.clone();
        while let Some(node) = stack.pop() {
            stack.extend_from_slice(tree.children(node));
            let Kind::Name(name) = tree.kind(node) else { continue };
            let old = tree.symbols.lower(name);
            if !Symbols::is_keyword(name) && old.parse::<i64>().is_err() && !names.contains_key(old) {
                names.insert(old.to_owned(), invented.pop().expect("one for each symbol"));
            }
        }
        Scribe { tree, rng, names, variables: HashMap::new() }
    }

    fn text(&mut self) -> String {
        // Roles are listed in the order of the text, so their order stays.
        let is_role = |root: &&NodeId| self.tree.head(**root) == Some(keyword::ROLE);
        let (roles, mut others): (Vec<NodeId>, Vec<NodeId>) = self.tree.roots.iter().partition(is_role);
        others.shuffle(&mut self.rng);
        let mut text = String::new();
        for root in roles.into_iter().chain(others) {
            self.variables.clear();
            text.push_str(&self.formula(root));
            text.push('\n');
        }
        text
    }

    /// A rule or a literal: what follows a connective may come in any order.
    fn formula(&mut self, node: NodeId) -> String {
        let fixed = match self.tree.head(node) {
            Some(keyword::IMPLIED_BY) => 2,
            Some(keyword::AND | keyword::OR | keyword::NOT) => 1,
            _ => return self.term(node),
        };
        let (first, rest) = self.tree.children(node).split_at(fixed);
        let mut parts: Vec<String> = first.iter().map(|&part| self.term(part)).collect();
        let mut rest: Vec<String> = rest.iter().map(|&part| self.formula(part)).collect();
        rest.shuffle(&mut self.rng);
        parts.extend(rest);
        format!("({})", parts.join(" "))
    }

    fn term(&mut self, node: NodeId) -> String {
        match self.tree.kind(node) {
            Kind::Name(name) => self.rename(self.tree.symbols.lower(name)),
            Kind::Variable(name) => {
                let next = format!("?v{}", 1000 - self.variables.len());
                self.variables.entry(self.tree.symbols.lower(name).to_owned()).or_insert(next).clone()
            }
            Kind::List => {
                let parts: Vec<String> = self.tree.children(node).iter().map(|&part| self.term(part)).collect();
                format!("({})", parts.join(" "))
            }
        }
    }

    fn rename(&self, name: &str) -> String {
        let name = name.to_ascii_lowercase();
        self.names.get(&name).cloned().unwrap_or(name)
    }

    /// A ground term of the original game under its new names.
    fn translate(&self, term: &str) -> String {
        let (mut text, mut word) = (String::new(), String::new());
        for c in term.chars().chain([' ']) {
            if matches!(c, '(' | ')' | ' ') {
                text.push_str(&self.rename(&std::mem::take(&mut word)));
                text.push(c);
            } else {
                word.push(c);
            }
        }
        text.trim_end().to_owned()
    }
}

/// Everything the machine says about a state, sorted.
fn facts(
    machine: &mut Reference,
    state: &<Reference as Machine>::State,
    translate: impl Fn(&str) -> String,
) -> Vec<Vec<String>> {
    let sorted = |names: Vec<String>| {
        let mut names: Vec<String> = names.iter().map(|name| translate(name)).collect();
        names.sort();
        names
    };
    let terminal = machine.is_terminal(state).expect("within limits");
    let mut all = vec![sorted(machine.fluents(state)), vec![terminal.to_string()]];
    for role in (0..machine.roles().len() as u32).map(RoleId) {
        let mut moves = Vec::new();
        machine.legal(state, role, &mut moves).expect("within limits");
        all.push(sorted(moves.into_iter().map(|chosen| machine.move_name(chosen)).collect()));
        all.push(machine.goals(state, role).expect("within limits").iter().map(i64::to_string).collect());
    }
    all
}

/// The law: along a random match, both machines say the same.
fn check(game_index: usize, seed: u64) {
    let text = game(game_index);
    let tree = read(&text);
    let mut scribe = Scribe::new(&tree, seed);
    let other_text = scribe.text();
    let table = if seed.is_multiple_of(2) { Limits::default().table } else { 0 };
    let mut original = machine(&text, Limits::default());
    let mut other = machine(&other_text, Limits { table, static_table: table, ..Limits::default() });
    let mut state_of_other = other.initial().expect("within limits");
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let result = machine::playout(&mut original, &mut rng, 8, |original, step| {
        let expected = facts(original, step.state, |term| scribe.translate(term));
        let found = facts(&mut other, &state_of_other, str::to_owned);
        assert_eq!(found, expected, "after {} joint moves of\n{text}\nwritten as\n{other_text}", step.ply);
        let mut joint = Vec::new();
        for (role, &chosen) in step.joint.iter().copied().flatten().enumerate() {
            let wanted = scribe.translate(&original.move_name(chosen));
            let mut legal = Vec::new();
            other.legal(&state_of_other, RoleId(role as u32), &mut legal)?;
            let same = legal.into_iter().find(|&candidate| other.move_name(candidate) == wanted);
            joint.push(same.expect("the legal moves are the same"));
        }
        if step.joint.is_some() {
            state_of_other = other.next(&state_of_other, &joint)?;
        }
        Ok(())
    });
    result.expect("within limits");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    #[test]
    fn order_and_names_do_not_matter(game_index in 0..INLINE.len() + LIBRARY.len(), seed in any::<u64>()) {
        check(game_index, seed);
    }
}

#[test]
fn every_game_in_both_modes() {
    (0..INLINE.len() + LIBRARY.len()).for_each(|index| (1..=2).for_each(|seed| check(index, seed)));
}
