//! Games under meaningless names and in another order, as competitions send them.

use gdl::program::Program;
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Form, Source, keyword};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::inverse;
use crate::rule_graph::{Node, Options, RuleGraph};

/// A scrambled game.
#[derive(Clone, Debug)]
pub struct Scrambled {
    /// The rules in prefix notation.
    pub text: String,
    /// What the text says.
    pub program: Program,
    /// Each name of the original that is no keyword, in the order of its table, with what it is called now.
    pub names: Vec<(SymbolId, String)>,
}

/// What happens to the facts for `role`. Their order is the order of the moves in a joint move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleOrder {
    /// They keep their order among each other.
    Kept,
    /// They are shuffled like all other rules.
    Shuffled,
}

/// Gives all names and variables new names, and shuffles rules, literals, the arguments of `and`, `or` and `distinct`.
/// Integers that may be goal values keep their names, wherever they stand, since they mean something.
pub fn scramble(program: &Program, roles: RoleOrder, rng: &mut impl Rng) -> Scrambled {
    // As it was published, the graph has all that the rules say.
    let graph = RuleGraph::new(program, &Options { compatible: true, without_init: false });
    let kept = RuleGraph::new(program, &Options::default()).goal_values();
    // Step 1. New names, which are not among the old ones.
    let mut taken: FxHashSet<String> = keyword::ALL.iter().map(|&name| name.to_owned()).collect();
    let used = graph.nodes.iter().filter_map(|node| if let Node::Name(name) = node { Some(*name) } else { None });
    let mut used: Vec<SymbolId> = used.filter(|&name| !Symbols::is_keyword(name)).collect();
    used.sort_unstable();
    taken.extend(used.iter().map(|&name| program.symbols.lower(name).to_owned()));
    let new_name = |name: SymbolId| {
        let text = if kept.contains(&name) { program.symbols.lower(name).to_owned() } else { word(&mut taken, rng) };
        (name, text)
    };
    let names: Vec<(SymbolId, String)> = used.iter().copied().map(new_name).collect();
    let new_names: FxHashMap<SymbolId, &str> = names.iter().map(|(name, text)| (*name, text.as_str())).collect();
    // Step 2. A new order.
    let mut order: Vec<u32> = (0..graph.nodes.len() as u32).collect();
    order.shuffle(rng);
    let place = inverse(&order);
    let mut rules = graph.rules.clone();
    rules.shuffle(rng);
    if roles == RoleOrder::Kept {
        let is_role = |rule: &u32| graph.head(*rule).1 == keyword::ROLE;
        let mut in_order = graph.rules.iter().copied().filter(is_role);
        for rule in rules.iter_mut().filter(|rule| is_role(rule)) {
            *rule = in_order.next().expect("as many as there are");
        }
    }
    // Step 3. Write it down.
    let mut text = String::new();
    let mut taken = FxHashSet::default();
    let n_variables = program.rules.iter().map(|rule| rule.variables.len()).max().unwrap_or(0);
    let mut variables: Vec<String> = (0..n_variables).map(|_| format!("?{}", word(&mut taken, rng))).collect();
    for &rule in &rules {
        variables.shuffle(rng);
        text.push_str(&graph.rule_text(rule, &place, &variables, |name, _| {
            new_names.get(&name).copied().unwrap_or_else(|| program.symbols.lower(name))
        }));
        text.push('\n');
    }
    let (tree, _) = gdl::parse(&Source::of_any_length("scrambled", &text));
    let (program, _) = gdl::resolve(&tree);
    assert_eq!(program.rules.len(), rules.len(), "what is written for a rule reads as a rule");
    Scrambled { text: gdl::print(&tree, Form::Kif), program, names }
}

/// A word that can be spoken, means nothing we know of, and is not taken yet.
fn word(taken: &mut FxHashSet<String>, rng: &mut impl Rng) -> String {
    const FIRST: &[&str] = &["b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z"];
    const LAST: &[&str] = &["", "", "", "k", "l", "m", "n", "r", "s", "t"];
    let mut word = String::new();
    for n_syllables in 1.. {
        word.push_str(FIRST.choose(rng).expect("not empty"));
        word.push_str(["a", "e", "i", "o", "u"].choose(rng).expect("not empty"));
        if n_syllables >= 2 && rng.random_ratio(3, 4) {
            word.push_str(LAST.choose(rng).expect("not empty"));
            if taken.insert(word.clone()) {
                break;
            }
        }
    }
    word
}
