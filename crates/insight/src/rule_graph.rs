//! The rules of a game as a coloured directed graph (G. Kuhlmann, "Automated domain analysis and transfer learning in
//! general game playing", 2010).
//!
//! Two games have isomorphic graphs exactly if one is the other in scrambled form: with other names, other variables, and
//! rules and literals in another order. Every occurrence of a name, variable or connective is a node, with edges to its
//! arguments. A name, and a variable of a rule, has one more node with edges to its occurrences. Where order matters there
//! is an edge from each argument to the next one, and from the head of a rule to the literals of its body.
//!
//! ```text
//! (<= (next (heap ?c)) (after ?c ?b) (not (true (heap ?b))))
//!
//!   colours of occurrences: rule, `not`, `or`, `and`, `distinct`, each keyword, other name, variable
//!   colours of names:       name, variable
//! ```
//!
//! With [`Options::compatible`] the graph is the published one, node by node. The default differs from it in these points:
//!
//! - A goal value is coloured by its number, and has no other name. In the published graph `0` and `100` are names like
//!   any other, so that a game and the game in which the loser wins are the same. Where values reach `goal` through
//!   variables, say from `(points 3 50)`, all constants that may do so are coloured.
//! - Connectives are simplified: an `and` in a body or within an `and`, an `or` within an `or`, and either of them with one
//!   argument, disappear. A literal is listed once, and so is a rule, whatever its variables are called.
//! - `base`, `input`, `sees` and `random` are keywords.
//!
//! In both, `distinct` has no order among its arguments, and no more has `or` or `and`; `p`, `(p)` and `(<= p)` are the
//! same; and all other numbers are names.

use std::collections::BTreeSet;

use gdl::program::{Atom, Formula, Program, Rule, RuleId, Term, VarId};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Stop, keyword};
use rustc_hash::FxHashMap;

use crate::goal_values::{GoalValues, is_integer};
use crate::graph::{Fingerprint, Graph, Labelling, TooHard};
use crate::normal;

/// What to leave out of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Builds the graph as it was published, in which a game and its inversion are isomorphic.
    pub compatible: bool,
    /// Leaves the rules for `init` out, so that games with other initial states are isomorphic.
    pub without_init: bool,
}

/// The graph of a program's rules.
#[derive(Clone, Debug)]
pub struct RuleGraph {
    /// The graph.
    pub graph: Graph,
    /// What each node of the graph is.
    pub nodes: Vec<Node>,
    /// For each rule of the graph, its node: that of `<=`, or of a fact's relation.
    pub rules: Vec<u32>,
    /// The arguments of each node that is an occurrence.
    arguments: Vec<Vec<u32>>,
    /// The spelling of each number that has a colour, in the order of the colours.
    numbers: Vec<String>,
}

/// What a node of a graph is. Rules are numbered as in the program that the graph was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The `<=` of a rule that is no fact.
    Rule(RuleId),
    /// A `not`, `or`, `and` or `distinct` in a rule.
    Connective(RuleId, SymbolId),
    /// A relation, a function or a constant where it stands in a rule.
    Occurrence(RuleId, SymbolId),
    /// A variable where it stands in a rule.
    VariableOccurrence(RuleId, VarId),
    /// A goal value where it stands in a rule.
    Number(RuleId, SymbolId),
    /// The one node of a relation, a function or a constant, all of which share their names.
    Name(SymbolId),
    /// The one node of a rule's variable.
    Variable(RuleId, VarId),
}

/// Colours that don't depend on a program; those of keywords and numbers follow.
mod color {
    pub(super) const RULE: u32 = 0;
    pub(super) const OCCURRENCE: u32 = 1;
    pub(super) const VARIABLE_OCCURRENCE: u32 = 2;
    pub(super) const NAME: u32 = 3;
    pub(super) const VARIABLE: u32 = 4;
    pub(super) const KEYWORDS: u32 = 5;
    pub(super) const NUMBERS: u32 = KEYWORDS + gdl::keyword::ALL.len() as u32;
}

impl RuleGraph {
    /// Builds the graph.
    pub fn new(program: &Program, options: &Options) -> RuleGraph {
        RuleGraph::until(program, options, &Stop::never())
    }

    /// Builds the graph; stopped, it may have rules twice that differ in their variables or the order of literals alone.
    pub fn until(program: &Program, options: &Options, stop: &Stop) -> RuleGraph {
        let in_graph = |rule: &Rule| !(options.without_init && rule.head.name == keyword::INIT);
        let numbered = (0..).map(RuleId).zip(&program.rules).filter(|(_, rule)| in_graph(rule));
        if options.compatible {
            let rules: Vec<(RuleId, Rule)> = numbered.map(|(id, rule)| (id, rule.clone())).collect();
            return Builder::build(&program.symbols, &rules, None);
        }
        let rules = normal::rules(&program.symbols, numbered, stop);
        // What may be a goal value does not depend on what is left out.
        let mut made = Builder::build(&program.symbols, &rules, Some(&GoalValues::new(program)));
        let number = |node: &Node| if let Node::Number(_, name) = node { Some(*name) } else { None };
        let value = |name: &SymbolId| program.symbols.name(*name).parse::<i64>().expect("only integers are numbers");
        let numbers = made.color_by(number, |name| (value(name), program.symbols.lower(*name)));
        made.numbers = numbers.into_iter().map(|name| program.symbols.lower(name).to_owned()).collect();
        made
    }

    /// The graph of one rule in which names stand for themselves: only the order of literals and the names of variables
    /// are open.
    pub(crate) fn of_rule(symbols: &Symbols, rule: &Rule) -> RuleGraph {
        let mut made = Builder::build(symbols, &[(RuleId(0), rule.clone())], None);
        made.color_by(|node| if let Node::Name(name) = node { Some(*name) } else { None }, |name| symbols.lower(*name));
        made
    }

    /// Colours the nodes that have a symbol by it, in the order of a key. Returns the symbols in that order.
    fn color_by<K: Ord>(
        &mut self,
        symbol: impl Fn(&Node) -> Option<SymbolId>,
        key: impl Fn(&SymbolId) -> K,
    ) -> Vec<SymbolId> {
        let mut symbols: Vec<SymbolId> = self.nodes.iter().filter_map(&symbol).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols.sort_by_key(|name| key(name));
        let colors: FxHashMap<SymbolId, u32> = symbols.iter().copied().zip(color::NUMBERS..).collect();
        for (node, color) in self.nodes.iter().zip(&mut self.graph.colors) {
            if let Some(name) = symbol(node) {
                *color = colors[&name];
            }
        }
        symbols
    }

    /// The canonical order of the graph and its automorphisms. The search takes no more than `budget` steps: a step is a
    /// node or an edge of the graph, for each node of the search tree.
    pub fn label(&self, budget: u64, stop: &Stop) -> Result<Labelling, TooHard> {
        let size = self.graph.colors.len() + self.graph.edges.len();
        self.graph.label(budget / (size as u64).max(1), stop)
    }

    /// A number that scrambled games share, given a canonical order of the graph.
    pub fn fingerprint(&self, order: &[u32]) -> Fingerprint {
        let numbers = self.numbers.iter();
        numbers
            .fold(self.graph.fingerprint(order), |fingerprint, number| fingerprint.with(number.as_bytes()).with(b" "))
    }

    /// The text of a rule, by its node. Literals, and arguments whose order does not matter, come in the order of their
    /// nodes' places, variables get the given names as they come, and `name` says what to call the rest; its second
    /// argument is whether it is a goal value.
    pub(crate) fn rule_text<'a>(
        &self,
        rule: u32,
        place: &[u32],
        variables: &[String],
        name: impl Fn(SymbolId, bool) -> &'a str,
    ) -> String {
        let mut text = String::new();
        Writer { graph: self, place, name, variables, met: FxHashMap::default() }.write(rule, &mut text);
        // A name alone is a rule only in parentheses.
        if text.starts_with('(') { text } else { format!("({text})") }
    }

    /// The rule of a rule's node, and the relation that it is about.
    pub(crate) fn head(&self, rule: u32) -> (RuleId, SymbolId) {
        let is_fact = !matches!(self.nodes[rule as usize], Node::Rule(_));
        let head = if is_fact { rule } else { self.arguments(rule)[0] };
        match self.nodes[head as usize] {
            Node::Occurrence(rule, relation) => (rule, relation),
            _ => unreachable!("a head is a relation with its arguments"),
        }
    }

    /// The integers that may be goal values; none in the published graph.
    pub fn goal_values(&self) -> BTreeSet<SymbolId> {
        let number = |node: &Node| if let Node::Number(_, name) = node { Some(*name) } else { None };
        self.nodes.iter().filter_map(number).collect()
    }

    /// What the node of an occurrence applies to, in source order.
    pub fn arguments(&self, node: u32) -> &[u32] {
        &self.arguments[node as usize]
    }
}

/// Names for the variables of a rule: `?v0`, `?v1`, ….
pub(crate) fn variable_names(n_variables: usize) -> Vec<String> {
    (0..n_variables).map(|number| format!("?v{number}")).collect()
}

/// Writes rules in prefix notation.
struct Writer<'a, N> {
    graph: &'a RuleGraph,
    place: &'a [u32],
    name: N,
    variables: &'a [String],
    /// The rule's variables so far, with their numbers.
    met: FxHashMap<VarId, usize>,
}

impl<'n, N: Fn(SymbolId, bool) -> &'n str> Writer<'_, N> {
    fn write(&mut self, node: u32, text: &mut String) {
        let mut arguments = self.graph.arguments(node).to_vec();
        let name = match self.graph.nodes[node as usize] {
            Node::Rule(_) => {
                arguments[1..].sort_unstable_by_key(|&argument| self.place[argument as usize]);
                "<="
            }
            Node::Connective(_, name) => {
                arguments.sort_unstable_by_key(|&argument| self.place[argument as usize]);
                (self.name)(name, false)
            }
            Node::Occurrence(_, name) | Node::Name(name) => (self.name)(name, false),
            Node::Number(_, name) => (self.name)(name, true),
            Node::VariableOccurrence(_, var) | Node::Variable(_, var) => {
                let next = self.met.len();
                let number = *self.met.entry(var).or_insert(next);
                return text.push_str(&self.variables[number]);
            }
        };
        if arguments.is_empty() {
            return text.push_str(name);
        }
        text.push('(');
        text.push_str(name);
        for argument in arguments {
            text.push(' ');
            self.write(argument, text);
        }
        text.push(')');
    }
}

struct Builder<'a> {
    symbols: &'a Symbols,
    values: Option<&'a GoalValues>,
    made: RuleGraph,
    keywords: FxHashMap<SymbolId, u32>,
    names: FxHashMap<SymbolId, u32>,
    /// The current rule and the nodes of its variables.
    rule: RuleId,
    variables: FxHashMap<VarId, u32>,
}

impl<'a> Builder<'a> {
    /// The graph of the rules; colours that the names themselves decide are still missing.
    fn build(symbols: &'a Symbols, rules: &[(RuleId, Rule)], values: Option<&'a GoalValues>) -> RuleGraph {
        let keywords = (color::KEYWORDS..).zip(keyword::ALL);
        let mut builder = Builder {
            symbols,
            values,
            made: RuleGraph {
                graph: Graph::default(),
                nodes: Vec::new(),
                rules: Vec::new(),
                arguments: Vec::new(),
                numbers: Vec::new(),
            },
            keywords: keywords.filter_map(|(color, name)| Some((symbols.find(name)?, color))).collect(),
            names: FxHashMap::default(),
            rule: RuleId(0),
            variables: FxHashMap::default(),
        };
        if values.is_none() {
            // The published graph knows the keywords of its time.
            for later in [keyword::BASE, keyword::INPUT, keyword::SEES, keyword::RANDOM] {
                builder.keywords.remove(&later);
            }
        }
        for (id, rule) in rules {
            builder.rule = *id;
            builder.variables.clear();
            let node = builder.rule(rule);
            builder.made.rules.push(node);
        }
        builder.made
    }

    fn rule(&mut self, rule: &Rule) -> u32 {
        if rule.body.is_empty() {
            return self.atom(&rule.head);
        }
        let node = self.node(Node::Rule(self.rule), color::RULE);
        let head = self.atom(&rule.head);
        self.argument(node, head);
        for formula in &rule.body {
            let literal = self.formula(formula);
            self.argument(node, literal);
            self.made.graph.edge(head, literal);
        }
        node
    }

    fn formula(&mut self, formula: &Formula) -> u32 {
        let connective = |builder: &mut Builder<'_>, name, parts: &[&Formula]| {
            let node = builder.connective(name);
            for part in parts {
                let part = builder.formula(part);
                builder.argument(node, part);
            }
            node
        };
        match formula {
            Formula::Atom(atom) => self.atom(atom),
            Formula::Not(inner, _) => connective(self, keyword::NOT, &[inner]),
            Formula::Or(parts, _) => connective(self, keyword::OR, &parts.iter().collect::<Vec<_>>()),
            Formula::And(parts, _) => connective(self, keyword::AND, &parts.iter().collect::<Vec<_>>()),
            Formula::Distinct(left, right, _) => {
                let node = self.connective(keyword::DISTINCT);
                let of_values = self.values.is_some_and(|values| values.in_distinct(self.rule, left, right));
                for side in [left, right] {
                    let side = self.term(side, of_values);
                    self.argument(node, side);
                }
                node
            }
        }
    }

    fn connective(&mut self, name: SymbolId) -> u32 {
        self.node(Node::Connective(self.rule, name), self.keywords[&name])
    }

    fn atom(&mut self, atom: &Atom) -> u32 {
        let values = self.values;
        self.application(atom.name, &atom.args, |index| values.is_some_and(|values| values.in_atom(atom, index)))
    }

    fn term(&mut self, term: &Term, may_be_value: bool) -> u32 {
        match term {
            Term::Var(var) => {
                let node = self.node(Node::VariableOccurrence(self.rule, *var), color::VARIABLE_OCCURRENCE);
                let variable = self.variable(*var);
                self.made.graph.edge(variable, node);
                node
            }
            Term::Const(name) if may_be_value && is_integer(self.symbols, *name) => {
                self.node(Node::Number(self.rule, *name), color::NUMBERS)
            }
            Term::Const(name) => self.application(*name, &[], |_| false),
            Term::Func(name, args) => {
                let values = self.values;
                self.application(*name, args, |index| {
                    values.is_some_and(|values| values.in_function(*name, args.len(), index))
                })
            }
        }
    }

    /// A relation or function with its arguments.
    fn application(&mut self, name: SymbolId, args: &[Term], may_be_value: impl Fn(usize) -> bool) -> u32 {
        let occurrence = Node::Occurrence(self.rule, name);
        let keyword = self.keywords.get(&name).copied();
        let node = self.node(occurrence, keyword.unwrap_or(color::OCCURRENCE));
        if keyword.is_none() {
            let name = self.name(name);
            self.made.graph.edge(name, node);
        }
        let mut before = None;
        for (index, arg) in args.iter().enumerate() {
            let arg = self.term(arg, may_be_value(index));
            self.argument(node, arg);
            if let Some(before) = before.replace(arg) {
                self.made.graph.edge(before, arg);
            }
        }
        node
    }

    /// The node of a name, which all its occurrences share.
    fn name(&mut self, name: SymbolId) -> u32 {
        if let Some(&node) = self.names.get(&name) {
            return node;
        }
        let node = self.node(Node::Name(name), color::NAME);
        self.names.insert(name, node);
        node
    }

    /// The node of a variable of the rule.
    fn variable(&mut self, var: VarId) -> u32 {
        if let Some(&node) = self.variables.get(&var) {
            return node;
        }
        let node = self.node(Node::Variable(self.rule, var), color::VARIABLE);
        self.variables.insert(var, node);
        node
    }

    fn node(&mut self, node: Node, color: u32) -> u32 {
        self.made.nodes.push(node);
        self.made.arguments.push(Vec::new());
        self.made.graph.node(color)
    }

    fn argument(&mut self, node: u32, argument: u32) {
        self.made.arguments[node as usize].push(argument);
        self.made.graph.edge(node, argument);
    }
}
