//! Rules with their names taken out: what is left when a game may be called anything.
//!
//! A [`Skeleton`] numbers the names of a program and keeps for each what no renaming changes. [`Colors`] tell names and
//! rules apart by where they stand, by refinement (B. Weisfeiler and A. Leman, 1968): a rule's color comes from the colors
//! of its names, a name's next color from the rules in which it stands, and at which places. Colors don't depend on the
//! order of rules and literals, nor on the names of anything, and can be compared between games.

use gdl::program::{Formula, Program, RuleId, Term};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Relation, Stop, keyword};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::rule_form::rule_form;
use crate::sorts::{Slot, Sort, Sorts, function_slot};

/// What a name is. The same word may be several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Name {
    /// A word of GDL.
    Keyword(SymbolId),
    /// A relation of the game.
    Relation(Relation),
    /// A function.
    Function(Relation),
    /// An object, as a thing of its sort.
    Object(SymbolId, Sort),
    /// A goal value, or what stands for it.
    Value(i64),
    /// All objects of a class; a number without meaning.
    Class(u32),
}

impl Name {
    /// The word.
    pub(crate) fn symbol(self) -> Option<SymbolId> {
        match self {
            Name::Keyword(symbol) | Name::Object(symbol, _) => Some(symbol),
            Name::Relation(relation) | Name::Function(relation) => Some(relation.name),
            Name::Value(_) | Name::Class(_) => None,
        }
    }
}

/// A formula or term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Node {
    /// A variable of the rule.
    Var(u32),
    /// A relation, function or object, by the number of its name, with its arguments.
    Applied(u32, Vec<Node>),
    /// A connective or `distinct`, whose arguments have no order.
    Joined(Join, Vec<Node>),
}

/// What joins formulas, or two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Join {
    Not,
    Or,
    And,
    Distinct,
}

/// A rule without names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) head: Node,
    /// Without order.
    pub(crate) body: Vec<Node>,
    pub(crate) n_vars: u32,
}

impl Shape {
    /// Makes a rule, and numbers its variables as they come.
    pub(crate) fn new(mut head: Node, mut body: Vec<Node>) -> Shape {
        fn number(node: &mut Node, known: &mut FxHashMap<u32, u32>) {
            match node {
                Node::Var(var) => {
                    let next = known.len() as u32;
                    *var = *known.entry(*var).or_insert(next);
                }
                Node::Applied(_, parts) | Node::Joined(_, parts) => {
                    parts.iter_mut().for_each(|part| number(part, known));
                }
            }
        }
        let mut known = FxHashMap::default();
        number(&mut head, &mut known);
        body.iter_mut().for_each(|literal| number(literal, &mut known));
        Shape { head, body, n_vars: known.len() as u32 }
    }
}

/// Rules with their names numbered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skeleton {
    /// The names.
    pub(crate) names: Vec<Name>,
    /// The color that each name has before any refinement.
    pub(crate) kinds: Vec<u64>,
    /// The rules.
    pub(crate) rules: Vec<Shape>,
    /// For each of them a rule of the program that it was made from.
    pub(crate) origins: Vec<RuleId>,
    numbers: FxHashMap<Name, u32>,
}

/// What a skeleton calls the objects and goal values of a program.
pub(crate) trait Naming {
    /// The name of an object where it stands in a rule.
    fn object(&self, symbol: SymbolId, slot: Slot) -> Name;

    /// The name of a constant goal value.
    fn value(&self, symbol: SymbolId, slot: Slot) -> Name;

    /// The name of a role that a rule gives a goal.
    fn goal_role(&self, symbol: SymbolId, slot: Slot) -> Name {
        self.object(symbol, slot)
    }
}

/// Objects are what they are called and their sort; goal values are themselves.
pub(crate) struct Plain<'a> {
    pub(crate) symbols: &'a Symbols,
    pub(crate) sorts: &'a Sorts,
}

impl Naming for Plain<'_> {
    fn object(&self, symbol: SymbolId, slot: Slot) -> Name {
        Name::Object(symbol, self.sorts.of(slot))
    }

    fn value(&self, symbol: SymbolId, slot: Slot) -> Name {
        self.symbols.name(symbol).parse().map_or_else(|_| self.object(symbol, slot), Name::Value)
    }
}

impl Skeleton {
    /// The skeleton of some rules of a program. Rules that come out equal are kept once.
    pub(crate) fn new(program: &Program, rules: impl IntoIterator<Item = RuleId>, naming: &impl Naming) -> Skeleton {
        let mut skeleton = Skeleton::default();
        let mut seen = FxHashSet::default();
        for id in rules {
            let rule = &program.rules[id.0 as usize];
            let mut builder = Builder { skeleton: &mut skeleton, symbols: &program.symbols, naming, rule: id };
            let head = builder.atom(&rule.head.name, &rule.head.args);
            let mut body: Vec<Node> = rule.body.iter().map(|formula| builder.formula(formula)).collect();
            body.sort_unstable();
            body.dedup();
            let shape = Shape::new(head, body);
            if seen.insert(shape.clone()) {
                skeleton.rules.push(shape);
                skeleton.origins.push(id);
            }
        }
        skeleton
    }

    /// Adds to each ground fact those that say the same of more general names, in all combinations.
    pub(crate) fn generalize_facts(&mut self, program: &Program, general: impl Fn(Name) -> Option<Name>) {
        let facts = self.rules.iter().zip(&self.origins).filter(|(rule, _)| rule.body.is_empty() && rule.n_vars == 0);
        let facts: Vec<(Shape, RuleId)> = facts.map(|(rule, &origin)| (rule.clone(), origin)).collect();
        let mut seen: FxHashSet<Shape> = facts.iter().map(|(fact, _)| fact.clone()).collect();
        let naming = &Plain { symbols: &program.symbols, sorts: &Sorts::default() };
        for (fact, origin) in facts {
            let mut builder = Builder { skeleton: self, symbols: &program.symbols, naming, rule: origin };
            let mut generalized =
                |name: u32| general(builder.skeleton.names[name as usize]).map(|name| builder.name(name));
            for head in generalizations(&fact.head, &mut generalized) {
                let shape = Shape::new(head, Vec::new());
                if seen.insert(shape.clone()) {
                    self.rules.push(shape);
                    self.origins.push(origin);
                }
            }
        }
    }

    /// Keeps one of each rule, whatever its variables are called.
    pub(crate) fn remove_repeats(&mut self) {
        let names: Vec<u64> = (0..self.names.len() as u64).map(|name| mix(10, name)).collect();
        let colors: Vec<u64> = self.rules.iter().map(|rule| rule_color(rule, &names)).collect();
        let mut n_alike: FxHashMap<u64, u32> = FxHashMap::default();
        colors.iter().for_each(|&color| *n_alike.entry(color).or_default() += 1);
        // Colors tell rules apart; that two are the same takes a closer look.
        let mut seen = FxHashSet::default();
        let is_new = self
            .rules
            .iter()
            .zip(&colors)
            .map(|(rule, color)| n_alike[color] == 1 || seen.insert(rule_form(rule, &names, &|name| name)));
        let is_new: Vec<bool> = is_new.collect();
        let mut is_kept = is_new.iter();
        self.rules.retain(|_| *is_kept.next().expect("one for each rule"));
        let mut is_kept = is_new.iter();
        self.origins.retain(|_| *is_kept.next().expect("one for each rule"));
    }

    /// The number of a name.
    pub(crate) fn number(&self, name: Name) -> Option<u32> {
        self.numbers.get(&name).copied()
    }

    /// Adds a fact about names without arguments of their own, for which a rule of the program stands.
    pub(crate) fn add_fact(&mut self, program: &Program, rule: RuleId, relation: Name, args: &[Name]) {
        let naming = &Plain { symbols: &program.symbols, sorts: &Sorts::default() };
        let mut builder = Builder { skeleton: self, symbols: &program.symbols, naming, rule };
        let relation = builder.name(relation);
        let args = args.iter().map(|&arg| Node::Applied(builder.name(arg), Vec::new())).collect();
        self.rules.push(Shape::new(Node::Applied(relation, args), Vec::new()));
        self.origins.push(rule);
    }
}

/// The most ways in which a fact is generalized.
const MAX_GENERALIZATIONS: usize = 64;

/// A ground term with names replaced by more general ones, in all combinations; the first is the term itself.
fn generalizations(node: &Node, general: &mut impl FnMut(u32) -> Option<u32>) -> Vec<Node> {
    let Node::Applied(name, args) = node else { return vec![node.clone()] };
    if args.is_empty() {
        let more = general(*name).map(|name| Node::Applied(name, Vec::new()));
        return [node.clone()].into_iter().chain(more).collect();
    }
    let mut all = vec![Vec::new()];
    for arg in args {
        let choices = generalizations(arg, general);
        let longer = |begun: &Vec<Node>| {
            choices.iter().map(|choice| [&begun[..], std::slice::from_ref(choice)].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).take(MAX_GENERALIZATIONS).collect();
    }
    all.into_iter().map(|args| Node::Applied(*name, args)).collect()
}

struct Builder<'a, N> {
    skeleton: &'a mut Skeleton,
    symbols: &'a Symbols,
    naming: &'a N,
    rule: RuleId,
}

impl<N: Naming> Builder<'_, N> {
    fn name(&mut self, name: Name) -> u32 {
        let next = self.skeleton.names.len() as u32;
        let number = *self.skeleton.numbers.entry(name).or_insert(next);
        if number == next {
            let kind = match name {
                Name::Keyword(word) => self.symbols.lower(word).bytes().fold(1, |hash, byte| mix(hash, byte.into())),
                Name::Relation(relation) => mix(2, relation.arity.into()),
                Name::Function(function) => mix(3, function.arity.into()),
                Name::Object(..) => 4,
                Name::Value(value) => mix(5, value.cast_unsigned()),
                Name::Class(_) => 6,
            };
            self.skeleton.names.push(name);
            self.skeleton.kinds.push(kind);
        }
        number
    }

    fn formula(&mut self, formula: &Formula) -> Node {
        let mut all = |parts: &[Formula]| {
            let mut parts: Vec<Node> = parts.iter().map(|part| self.formula(part)).collect();
            parts.sort_unstable();
            parts.dedup();
            parts
        };
        match formula {
            Formula::Atom(atom) => self.atom(&atom.name, &atom.args),
            Formula::Not(inner, _) => Node::Joined(Join::Not, vec![self.formula(inner)]),
            Formula::Or(parts, _) => Node::Joined(Join::Or, all(parts)),
            Formula::And(parts, _) => Node::Joined(Join::And, all(parts)),
            Formula::Distinct(left, right, _) => {
                let beside = |term: &Term| match term {
                    Term::Var(var) => Slot::Variable(self.rule, *var),
                    _ => Slot::Unknown,
                };
                let slots = (beside(right), beside(left));
                let mut sides = vec![self.term(left, slots.0), self.term(right, slots.1)];
                sides.sort_unstable();
                Node::Joined(Join::Distinct, sides)
            }
        }
    }

    fn atom(&mut self, name: &SymbolId, args: &[Term]) -> Node {
        let relation = Relation { name: *name, arity: args.len() as u32 };
        let number = if Symbols::is_keyword(*name) { Name::Keyword(*name) } else { Name::Relation(relation) };
        let number = self.name(number);
        let slot = |index: usize| Slot::Relation(relation, index as u32);
        if let (keyword::GOAL, [role, value]) = (*name, args) {
            let role = match role {
                Term::Const(role) => self.constant(self.naming.goal_role(*role, slot(0))),
                _ => self.term(role, slot(0)),
            };
            let value = match value {
                Term::Const(value) => self.constant(self.naming.value(*value, slot(1))),
                _ => self.term(value, slot(1)),
            };
            return Node::Applied(number, vec![role, value]);
        }
        let args = args.iter().enumerate().map(|(index, arg)| self.term(arg, slot(index)));
        Node::Applied(number, args.collect())
    }

    fn constant(&mut self, name: Name) -> Node {
        Node::Applied(self.name(name), Vec::new())
    }

    fn term(&mut self, term: &Term, slot: Slot) -> Node {
        match term {
            Term::Var(var) => Node::Var(var.0),
            Term::Const(symbol) => self.constant(self.naming.object(*symbol, slot)),
            Term::Func(name, args) => {
                let number = self.name(Name::Function(Relation { name: *name, arity: args.len() as u32 }));
                let slot = |index| function_slot(*name, args.len(), index);
                let args = args.iter().enumerate().map(|(index, arg)| self.term(arg, slot(index)));
                Node::Applied(number, args.collect())
            }
        }
    }
}

/// What tells names and rules apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Colors {
    /// A color for each name.
    pub(crate) names: Vec<u64>,
    /// A color for each rule, by the colors of the names.
    pub(crate) rules: Vec<u64>,
}

impl Colors {
    /// The colors of rules whose names have these colors.
    pub(crate) fn new(skeleton: &Skeleton, names: Vec<u64>) -> Colors {
        let rules = skeleton.rules.iter().map(|rule| rule_color(rule, &names)).collect();
        Colors { names, rules }
    }

    /// One step of refinement.
    pub(crate) fn refined(&self, skeleton: &Skeleton) -> Colors {
        let mut sums = vec![0u64; self.names.len()];
        for (rule, &color) in skeleton.rules.iter().zip(&self.rules) {
            let vars = variable_colors(rule, &self.names);
            let mut visit = |name: u32, context: u64| {
                let sum = &mut sums[name as usize];
                *sum = sum.wrapping_add(mix(color, context));
            };
            occurrences(&rule.head, mix(HEAD, color), &self.names, &vars, &mut visit);
            for literal in &rule.body {
                let whole = node_color(literal, &self.names, &vars);
                occurrences(literal, mix(BODY, whole), &self.names, &vars, &mut visit);
            }
        }
        let names = self.names.iter().zip(&sums).map(|(&color, &sum)| mix(color, sum)).collect();
        Colors::new(skeleton, names)
    }

    /// Refines until no more names are told apart. Each step costs as much of the budget as there are rules and names;
    /// `None` if it is spent.
    pub(crate) fn stable(skeleton: &Skeleton, names: Vec<u64>, budget: &mut u64) -> Option<Colors> {
        let mut colors = Colors::new(skeleton, names);
        loop {
            *budget = budget.checked_sub((skeleton.rules.len() + skeleton.names.len()) as u64)?;
            if !colors.refine(skeleton) {
                return Some(colors);
            }
        }
    }

    /// Refines until no more names are told apart, `n_rounds` times at most.
    pub(crate) fn almost_stable(skeleton: &Skeleton, n_rounds: usize, stop: &Stop) -> Colors {
        let mut colors = Colors::new(skeleton, skeleton.kinds.clone());
        for _ in 0..n_rounds {
            if stop.is_raised() || !colors.refine(skeleton) {
                break;
            }
        }
        colors
    }

    /// Makes one step of refinement, and says whether more names are told apart.
    fn refine(&mut self, skeleton: &Skeleton) -> bool {
        let before = count(&self.names);
        *self = self.refined(skeleton);
        count(&self.names) > before
    }

    /// A number for the whole.
    pub(crate) fn key(&self) -> u64 {
        let sum = |colors: &[u64]| colors.iter().fold(0u64, |sum, &color| sum.wrapping_add(mix(7, color)));
        mix(mix(sum(&self.rules), self.rules.len() as u64), sum(&self.names))
    }
}

fn count(colors: &[u64]) -> usize {
    let mut colors = colors.to_vec();
    colors.sort_unstable();
    colors.dedup();
    colors.len()
}

const HEAD: u64 = 11;
const BODY: u64 = 12;
const VARIABLE: u64 = 13;

/// A rule's color: equal for rules that are the same up to the order of literals and the names of variables, where names
/// of the same color count as the same.
pub(crate) fn rule_color(rule: &Shape, names: &[u64]) -> u64 {
    let vars = variable_colors(rule, names);
    let body =
        rule.body.iter().fold(0u64, |sum, literal| sum.wrapping_add(mix(BODY, node_color(literal, names, &vars))));
    mix(node_color(&rule.head, names, &vars), body)
}

/// The most rounds in which a rule's variables are told apart; paths through sixty variables need as many.
const MAX_VARIABLE_ROUNDS: usize = 32;

/// The colors of a rule's variables, refined until no more of them are told apart.
pub(crate) fn variable_colors(rule: &Shape, names: &[u64]) -> Vec<u64> {
    let mut vars = vec![VARIABLE; rule.n_vars as usize];
    let mut n_colors = 1;
    for _ in 0..MAX_VARIABLE_ROUNDS {
        if n_colors >= vars.len() {
            break;
        }
        let mut sums = vec![0u64; vars.len()];
        let mut visit = |var: u32, context: u64| sums[var as usize] = sums[var as usize].wrapping_add(context);
        contexts(&rule.head, mix(HEAD, node_color(&rule.head, names, &vars)), names, &vars, &mut visit);
        for literal in &rule.body {
            contexts(literal, mix(BODY, node_color(literal, names, &vars)), names, &vars, &mut visit);
        }
        vars.iter_mut().zip(&sums).for_each(|(var, &sum)| *var = mix(*var, sum));
        let n_now = count(&vars);
        if n_now == n_colors {
            break;
        }
        n_colors = n_now;
    }
    vars
}

/// The color of a formula or term, by those of its names and variables.
pub(crate) fn node_color(node: &Node, names: &[u64], vars: &[u64]) -> u64 {
    match node {
        Node::Var(var) => vars[*var as usize],
        Node::Applied(name, args) => {
            args.iter().fold(names[*name as usize], |color, arg| mix(color, node_color(arg, names, vars)))
        }
        Node::Joined(join, parts) => {
            let sum = parts.iter().fold(0u64, |sum, part| sum.wrapping_add(mix(8, node_color(part, names, vars))));
            mix(20 + *join as u64, sum)
        }
    }
}

/// Calls `visit` for each variable in a node with the color of its place.
fn contexts(node: &Node, context: u64, names: &[u64], vars: &[u64], visit: &mut impl FnMut(u32, u64)) {
    match node {
        Node::Var(var) => visit(*var, mix(context, VARIABLE)),
        Node::Applied(name, args) => {
            let context = mix(context, names[*name as usize]);
            let mut place = 0;
            args.iter().for_each(|arg| {
                place += 1;
                contexts(arg, mix(context, place), names, vars, visit);
            });
        }
        Node::Joined(join, parts) => parts.iter().for_each(|part| {
            let part_color = node_color(part, names, vars);
            contexts(part, mix(mix(context, 20 + *join as u64), part_color), names, vars, visit);
        }),
    }
}

/// Calls `visit` for each name in a node with the color of its place.
fn occurrences(node: &Node, context: u64, names: &[u64], vars: &[u64], visit: &mut impl FnMut(u32, u64)) {
    match node {
        Node::Var(_) => {}
        Node::Applied(name, args) => {
            visit(*name, context);
            let context = mix(context, names[*name as usize]);
            let mut place = 0;
            args.iter().for_each(|arg| {
                place += 1;
                occurrences(arg, mix(context, place), names, vars, visit);
            });
        }
        Node::Joined(join, parts) => parts.iter().for_each(|part| {
            let part_color = node_color(part, names, vars);
            occurrences(part, mix(mix(context, 20 + *join as u64), part_color), names, vars, visit);
        }),
    }
}

/// Mixes a number into a hash. Colors are stored, so this must stay as it is (or versions must change).
pub(crate) const fn mix(hash: u64, number: u64) -> u64 {
    let mut z = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_add(0x6a09_e667_f3bc_c909);
    z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    z = (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 32)
}
