//! The canonical form of a game: one text for all its scrambled forms.
//!
//! Rules, literals, variables and names come in the canonical order of the [rule graph](crate::rule_graph). What is found
//! out about the canonical program therefore holds for every game that is the same up to scrambling, and can be told in the
//! words of each.

use std::collections::{BTreeMap, VecDeque};

use gdl::program::{Program, RuleId};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Source, Stop, keyword};
use rustc_hash::FxHashMap;

use crate::goal_values::is_integer;
use crate::graph::{Fingerprint, TooHard, inverse};
use crate::normal::same_rules;
use crate::rename::renamed;
use crate::rule_graph::{Node, Options, RuleGraph, variable_names};

/// Steps enough for any game that we have met, and so few that they take seconds at worst; see [`RuleGraph::label`].
pub const BUDGET: u64 = 200_000_000;

/// A game in canonical form.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// A number that scrambled forms of the game share, and other games almost surely don't.
    pub fingerprint: Fingerprint,
    /// The rules: a line for each. Relations are called `r0`, `r1`, …, functions `f0`, …, and objects `c0`, …; goal values
    /// keep their numbers. Names and order are the same for all scrambled forms.
    pub text: String,
    /// What the text says.
    pub program: Program,
    /// For each rule of the program, the rule of the original that it was made from.
    pub rules: Vec<RuleId>,
    /// Why the form may not be canonical after all: another one may come out for a scrambled game, which may even take
    /// fewer steps and have its canonical form. It says the same as the original in any case.
    pub too_hard: Option<TooHard>,
    /// The original's symbol for each symbol of the canonical program that is no keyword.
    originals: FxHashMap<SymbolId, SymbolId>,
    /// Permutations of the original's names that give the same rules again; they generate all that do.
    symmetries: Vec<BTreeMap<SymbolId, SymbolId>>,
}

/// The canonical form of a game. Where the graph's automorphisms need more steps than `budget`, the form is only likely to
/// be canonical, and says so.
pub fn canonical(program: &Program, budget: u64) -> Canonical {
    canonical_until(program, budget, &Stop::never())
}

/// The same, unless it is stopped before: then the form is that of this text alone, and says so.
pub fn canonical_until(program: &Program, budget: u64, stop: &Stop) -> Canonical {
    let graph = RuleGraph::until(program, &Options::default(), stop);
    let (order, generators, too_hard) = match graph.label(budget, stop) {
        Ok(labelling) => (labelling.order, labelling.generators, None),
        Err(too_hard) => (graph.graph.rough_order(stop), Vec::new(), Some(too_hard)),
    };
    let place = inverse(&order);
    // Step 1. Name what has a name.
    let uses = uses(&graph);
    let mut n_named = BTreeMap::new();
    let mut names: FxHashMap<SymbolId, String> = FxHashMap::default();
    for &node in &order {
        if let Node::Name(name) = graph.nodes[node as usize] {
            let letter = uses[&name].letter();
            let number = n_named.entry(letter).and_modify(|number| *number += 1).or_insert(0);
            names.insert(name, format!("{letter}{number}"));
        }
    }
    // Step 2. Write the rules, relation by relation: keywords first, then the others in canonical order.
    let name_places: FxHashMap<SymbolId, usize> = order
        .iter()
        .enumerate()
        .filter_map(
            |(at, &node)| if let Node::Name(name) = graph.nodes[node as usize] { Some((name, at)) } else { None },
        )
        .collect();
    let mut rules = graph.rules.clone();
    rules.sort_by_cached_key(|&rule| {
        let (_, relation) = graph.head(rule);
        let keyword = Symbols::is_keyword(relation).then_some(relation);
        (keyword.is_none(), keyword, name_places.get(&relation), place[rule as usize])
    });
    let n_variables = program.rules.iter().map(|rule| rule.variables.len()).max().unwrap_or(0);
    let variables = variable_names(n_variables);
    let mut text = String::new();
    for &rule in &rules {
        text.push_str(&graph.rule_text(rule, &place, &variables, |name, is_value| match names.get(&name) {
            Some(given) if !is_value => given,
            _ => program.symbols.lower(name),
        }));
        text.push('\n');
    }
    // Step 3. Read them back.
    let (tree, _) = gdl::parse(&Source::of_any_length("canonical", &text));
    let (canonical, _) = gdl::resolve(&tree);
    assert_eq!(canonical.rules.len(), rules.len(), "what is written for a rule reads as a rule");
    let numbers = graph.nodes.iter().filter_map(|node| match node {
        Node::Number(_, name) => Some((program.symbols.lower(*name), *name)),
        _ => None,
    });
    let given = names.iter().map(|(&name, given)| (given.as_str(), name));
    let found = |(text, name): (&str, SymbolId)| (canonical.symbols.find(text).expect("it was written"), name);
    let originals = given.chain(numbers).map(found).collect();
    let symmetries = generators.iter().map(|generator| {
        let image = |&(node, image): &(u32, u32)| match (graph.nodes[node as usize], graph.nodes[image as usize]) {
            (Node::Name(name), Node::Name(image)) if name != image => Some((name, image)),
            _ => None,
        };
        generator.iter().filter_map(image).collect::<BTreeMap<_, _>>()
    });
    Canonical {
        fingerprint: graph.fingerprint(&order),
        text,
        rules: rules.iter().map(|&rule| graph.head(rule).0).collect(),
        too_hard,
        originals,
        symmetries: symmetries.filter(|symmetry| !symmetry.is_empty()).collect(),
        program: canonical,
    }
}

impl Canonical {
    /// The original's symbol for one of the canonical program.
    pub fn original(&self, symbol: SymbolId) -> SymbolId {
        self.originals.get(&symbol).copied().unwrap_or(symbol)
    }

    /// The canonical program, with names that are shown as the original has them.
    pub fn respelled(&self, original: &Program) -> Program {
        let mut program = self.program.clone();
        let symbols = &self.program.symbols;
        let is_name = |&symbol: &SymbolId| !Symbols::is_keyword(symbol) && !symbols.name(symbol).starts_with('?');
        for symbol in symbols.ids().filter(is_name) {
            program.symbols.respell(symbol, original.symbols.name(self.original(symbol)));
        }
        program
    }

    /// Permutations of the original's names that give the same rules again; they generate all that do. Names that stay as
    /// they are are not listed.
    pub fn symmetries(&self) -> &[BTreeMap<SymbolId, SymbolId>] {
        &self.symmetries
    }
}

/// What a name is used for, the most telling use first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Relation,
    Function,
    Object,
}

impl Use {
    fn letter(self) -> char {
        match self {
            Use::Relation => 'r',
            Use::Function => 'f',
            Use::Object => 'c',
        }
    }
}

fn uses(graph: &RuleGraph) -> FxHashMap<SymbolId, Use> {
    let mut is_atom = vec![false; graph.nodes.len()];
    graph.rules.iter().for_each(|&rule| is_atom[rule as usize] = true);
    for (node, what) in (0..).zip(&graph.nodes) {
        let of_formulas = match what {
            Node::Rule(_) => true,
            Node::Connective(_, name) => *name != keyword::DISTINCT,
            _ => false,
        };
        if of_formulas {
            graph.arguments(node).iter().for_each(|&argument| is_atom[argument as usize] = true);
        }
    }
    let mut uses = FxHashMap::default();
    for (node, what) in (0..).zip(&graph.nodes) {
        if let Node::Occurrence(_, name) = *what {
            let found = match graph.arguments(node) {
                _ if is_atom[node as usize] => Use::Relation,
                [] => Use::Object,
                _ => Use::Function,
            };
            uses.entry(name).and_modify(|known: &mut Use| *known = found.min(*known)).or_insert(found);
        }
    }
    uses
}

/// How one game becomes another under other names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    names: BTreeMap<SymbolId, SymbolId>,
    values: BTreeMap<SymbolId, SymbolId>,
}

/// The renaming that makes one game the other, if there is one that their canonical forms can tell.
pub fn isomorphism(from: &Canonical, to: &Canonical) -> Option<Mapping> {
    if from.fingerprint != to.fingerprint || from.text != to.text {
        return None;
    }
    let mut mapping = Mapping { names: BTreeMap::new(), values: BTreeMap::new() };
    // Equal texts have equal tables of symbols.
    for (symbol, &name) in &from.originals {
        let is_value = is_integer(&from.program.symbols, *symbol);
        let known = if is_value { &mut mapping.values } else { &mut mapping.names };
        known.insert(name, to.originals[symbol]);
    }
    Some(mapping)
}

/// A renaming that makes one game the other and takes one name to another one, say a role to a role.
pub fn isomorphism_with(from: &Canonical, to: &Canonical, name: SymbolId, image: SymbolId) -> Option<Mapping> {
    let mut mapping = isomorphism(from, to)?;
    // Breadth first through what the target's symmetries make of the name's image.
    let start = mapping.name(name)?;
    let mut before = BTreeMap::from([(start, None)]);
    let mut waiting = VecDeque::from([start]);
    while let Some(reached) = waiting.pop_front() {
        for symmetry in &to.symmetries {
            let next = symmetry.get(&reached).copied().unwrap_or(reached);
            before.entry(next).or_insert_with(|| {
                waiting.push_back(next);
                Some((reached, symmetry))
            });
        }
    }
    let mut path = Vec::new();
    let mut at = image;
    while let Some((previous, symmetry)) = before.get(&at)? {
        path.push(*symmetry);
        at = *previous;
    }
    for symmetry in path.into_iter().rev() {
        mapping.names.values_mut().for_each(|name| *name = symmetry.get(name).copied().unwrap_or(*name));
    }
    Some(mapping)
}

impl Mapping {
    /// What a name becomes. A number may be a name and a goal value; here it is taken for a name.
    pub fn name(&self, symbol: SymbolId) -> Option<SymbolId> {
        if Symbols::is_keyword(symbol) { Some(symbol) } else { self.names.get(&symbol).copied() }
    }

    /// What a goal value becomes: the same number in the other game's table of symbols.
    pub fn value(&self, symbol: SymbolId) -> Option<SymbolId> {
        self.values.get(&symbol).copied()
    }

    /// The names in the order of the first game's table, each with what it becomes.
    pub fn names(&self) -> impl Iterator<Item = (SymbolId, SymbolId)> {
        self.names.iter().map(|(&name, &image)| (name, image))
    }

    /// The rules of the first game under the names of the second.
    pub fn apply(&self, from: &Program, to: &Program) -> Program {
        renamed(from, to.symbols.clone(), |name, is_value| {
            if is_value { self.value(name) } else { self.name(name) }.expect("the mapping knows all names of its game")
        })
    }

    /// Whether the first game really becomes the second, rule by rule.
    pub fn holds(&self, from: &Program, to: &Program) -> bool {
        same_rules(&self.apply(from, to), to)
    }
}
