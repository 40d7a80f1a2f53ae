//! A game with its particulars taken out: what its variants have in common.
//!
//! - The initial state, and what it alone needs, is left out.
//! - An order that is listed fact by fact, such as the columns of a board, becomes an order of any length, whether it ends
//!   or runs in a circle. Its objects become one, but for those that rules with conditions name.
//! - Goal values become ranks, counted from the least or from the greatest.
//!
//! Variants that differ in nothing else have equal abstractions up to renaming.

use gdl::keyword;
use gdl::program::{Program, Rule, RuleId, Term};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Relation, Stop};
use rustc_hash::{FxHashMap, FxHashSet};

use super::paths::contracted;
use super::prune::{played, played_with_initial};
use crate::order::successor;
use crate::skeleton::{Colors, Name, Naming, Shape, Skeleton};
use crate::sorts::{GOAL_VALUE, ROLES, Slot, Sort, Sorts, for_each_term};

/// Rounds of refinement for keys. Abstractions have no long chains, so that more would tell hardly anything apart.
const N_ROUNDS: usize = 24;

/// The fewest objects of an order. Shorter ones are pairs: of opponents, say.
const MIN_LENGTH: usize = 3;

/// How goals are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Values are ranked from the least to the greatest.
    Same,
    /// Values are ranked from the greatest to the least.
    Reversed,
    /// The least and the greatest value change places.
    Swapped,
    /// Each of two roles has the goals of the other.
    Exchanged,
}

impl Reading {
    /// What becomes of a rank among so many values.
    pub(crate) fn rank(self, rank: usize, n_values: usize) -> usize {
        let is_extreme = rank == 0 || rank + 1 == n_values;
        match self {
            Reading::Reversed => n_values - 1 - rank,
            Reading::Swapped if is_extreme => n_values - 1 - rank,
            _ => rank,
        }
    }
}

/// A game with its particulars taken out.
pub(crate) struct Abstraction {
    /// What is left.
    pub(crate) skeleton: Skeleton,
    /// The orders that were contracted.
    pub(crate) chains: Vec<Chain>,
    /// The sorts of the program.
    pub(crate) sorts: Sorts,
    /// The goal values that rules give, ascending.
    pub(crate) values: Vec<i64>,
    /// The roles.
    pub(crate) roles: Vec<SymbolId>,
    /// The rules that it was made from.
    pub(crate) played: Vec<RuleId>,
}

/// An order that is listed fact by fact.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// The relation that lists it.
    pub(crate) relation: Relation,
    /// From first to last.
    pub(crate) objects: Vec<SymbolId>,
    /// Whether the last is followed by the first.
    pub(crate) cyclic: bool,
    /// Their sort.
    pub(crate) sort: Sort,
    /// The class that the objects are in. Orders that share objects share their class.
    pub(crate) class: u32,
}

impl Abstraction {
    /// Takes the particulars out of a game.
    pub(crate) fn new(program: &Program, reading: Reading) -> Abstraction {
        let mut made = Abstraction::of_rules(program, played(program), reading);
        made.generalize_facts(program);
        made
    }

    /// The same, but the initial state stays.
    pub(crate) fn with_initial(program: &Program, reading: Reading) -> Abstraction {
        Abstraction::of_rules(program, played_with_initial(program), reading)
    }

    fn of_rules(program: &Program, played: Vec<RuleId>, reading: Reading) -> Abstraction {
        let rules = || played.iter().map(|&id| (id, &program.rules[id.0 as usize]));
        // Step 1. Orders, and the sorts of their objects.
        let mut sorts = Sorts::new(rules());
        let listed = listed_orders(rules().map(|(_, rule)| rule));
        for (relation, ..) in &listed {
            sorts.join(Slot::Relation(*relation, 0), Slot::Relation(*relation, 1));
        }
        let mut chains: Vec<Chain> = Vec::new();
        for (relation, objects, cyclic) in listed {
            let sort = sorts.of(Slot::Relation(relation, 0));
            // An order of the roles says who is next; roles are no rows of a board.
            if sort != sorts.of(ROLES) {
                chains.push(Chain { relation, objects, cyclic, sort, class: 0 });
            }
        }
        // Step 2. Classes of objects: orders of one sort that share objects have one class.
        let mut classes: FxHashMap<(SymbolId, Sort), u32> = FxHashMap::default();
        for index in 0..chains.len() {
            let (sort, objects) = (chains[index].sort, chains[index].objects.clone());
            let class = index as u32;
            let met: FxHashSet<u32> =
                objects.iter().filter_map(|&object| classes.insert((object, sort), class)).collect();
            if !met.is_empty() {
                classes.values_mut().filter(|old| met.contains(old)).for_each(|old| *old = class);
                let met = chains[..index].iter_mut().filter(|chain| met.contains(&chain.class));
                met.for_each(|chain| chain.class = class);
            }
            chains[index].class = class;
        }
        // Step 3. Objects that rules with conditions name stay themselves.
        let mut named = FxHashSet::default();
        for (id, rule) in rules().filter(|(_, rule)| !is_fact(rule)) {
            for_each_term(id, rule, &mut |slot, term| {
                if let Term::Const(object) = term {
                    named.insert((*object, sorts.of(slot)));
                }
            });
        }
        // Step 4. Goal values by rank, wherever they stand.
        let goal_sort = sorts.of(GOAL_VALUE);
        let mut values: Vec<i64> = Vec::new();
        for (id, rule) in rules() {
            for_each_term(id, rule, &mut |slot, term| {
                if let Term::Const(value) = term
                    && sorts.of(slot) == goal_sort
                    && (slot == GOAL_VALUE || !classes.contains_key(&(*value, goal_sort)))
                {
                    values.extend(program.symbols.name(*value).parse::<i64>().ok());
                }
            });
        }
        values.sort_unstable();
        values.dedup();
        let roles: Vec<SymbolId> = rules().filter_map(|(_, rule)| role(rule)).collect();
        // Step 5. The skeleton, with one fact for each order.
        let naming = Contracted {
            program,
            sorts: &sorts,
            classes: &classes,
            named: &named,
            goal_sort,
            values: &values,
            roles: &roles,
            reading,
        };
        let contracted: FxHashSet<Relation> = chains.iter().map(|chain| chain.relation).collect();
        let in_skeleton = |id: &RuleId| !contracted.contains(&program.rules[id.0 as usize].head.relation());
        let mut skeleton = Skeleton::new(program, played.iter().copied().filter(in_skeleton), &naming);
        // Rules may have become equal when something was left out of them.
        skeleton.remove_repeats();
        for chain in &chains {
            let first = rules().find(|(_, rule)| rule.head.relation() == chain.relation);
            let (first, _) = first.expect("the order was found among these rules");
            skeleton.add_fact(program, first, Name::Relation(chain.relation), &[Name::Class(chain.class); 2]);
        }
        Abstraction { skeleton, chains, sorts, values, roles, played }
    }

    /// What is listed of the objects that rules name may hold for others, too, if there are any.
    fn generalize_facts(&mut self, program: &Program) {
        let mut classes: FxHashMap<(SymbolId, Sort), u32> = FxHashMap::default();
        for chain in &self.chains {
            classes.extend(chain.objects.iter().map(|&object| ((object, chain.sort), chain.class)));
        }
        self.skeleton.generalize_facts(program, |name| match name {
            Name::Object(object, sort) => classes.get(&(object, sort)).map(|&class| Name::Class(class)),
            _ => None,
        });
    }

    /// The other ways to read the goals that may make a difference.
    pub(crate) fn readings(&self, program: &Program) -> Vec<Reading> {
        let names_roles = |rule: &Rule| rule.head.name == keyword::GOAL && matches!(rule.head.args[0], Term::Const(_));
        let is_exchangeable = self.roles.len() == 2 && program.rules.iter().any(names_roles);
        let all = [
            (Reading::Reversed, self.values.len() >= 2),
            (Reading::Swapped, self.values.len() >= 4),
            (Reading::Exchanged, is_exchangeable),
        ];
        all.into_iter().filter_map(|(reading, applies)| applies.then_some(reading)).collect()
    }

    /// Takes the lengths of paths out of rules, too. Returns whether that made a difference.
    pub(crate) fn contract_paths(&mut self) -> bool {
        let skeleton = &mut self.skeleton;
        let orders = self.chains.iter().filter_map(|chain| skeleton.number(Name::Relation(chain.relation))).collect();
        let contracted: Vec<Option<Shape>> = skeleton.rules.iter().map(|rule| contracted(rule, &orders)).collect();
        if contracted.iter().all(Option::is_none) {
            return false;
        }
        for (rule, contracted) in skeleton.rules.iter_mut().zip(contracted) {
            *rule = contracted.unwrap_or_else(|| rule.clone());
        }
        skeleton.remove_repeats();
        true
    }

    /// A number that equal abstractions share; stopped, any number.
    pub(crate) fn key(&self, stop: &Stop) -> u64 {
        Colors::almost_stable(&self.skeleton, N_ROUNDS, stop).key()
    }
}

/// The role that a fact declares.
fn role(rule: &Rule) -> Option<SymbolId> {
    match (rule.head.name, &rule.head.args[..]) {
        (keyword::ROLE, [Term::Const(role)]) => Some(*role),
        _ => None,
    }
}

/// Whether a rule is a ground fact.
pub(crate) fn is_fact(rule: &Rule) -> bool {
    rule.body.is_empty() && rule.variables.is_empty()
}

/// The relations whose rules are all facts and put objects in an order, as they come in the rules.
fn listed_orders<'a>(rules: impl Iterator<Item = &'a Rule>) -> Vec<(Relation, Vec<SymbolId>, bool)> {
    let mut relations: Vec<Relation> = Vec::new();
    let mut pairs: FxHashMap<Relation, Vec<(SymbolId, SymbolId)>> = FxHashMap::default();
    let mut others: FxHashSet<Relation> = FxHashSet::default();
    for rule in rules.filter(|rule| !Symbols::is_keyword(rule.head.name)) {
        let relation = rule.head.relation();
        let [Term::Const(one), Term::Const(other)] = rule.head.args[..] else {
            others.insert(relation);
            continue;
        };
        if !is_fact(rule) {
            others.insert(relation);
        }
        let known = pairs.entry(relation).or_insert_with(|| {
            relations.push(relation);
            Vec::new()
        });
        known.push((one, other));
    }
    let order = |relation: Relation| {
        let (objects, cyclic) = successor(pairs[&relation].iter().copied())?;
        (objects.len() >= MIN_LENGTH).then_some((relation, objects, cyclic))
    };
    relations.into_iter().filter(|relation| !others.contains(relation)).filter_map(order).collect()
}

/// Names with orders contracted.
struct Contracted<'a> {
    program: &'a Program,
    sorts: &'a Sorts,
    classes: &'a FxHashMap<(SymbolId, Sort), u32>,
    named: &'a FxHashSet<(SymbolId, Sort)>,
    goal_sort: Sort,
    values: &'a [i64],
    roles: &'a [SymbolId],
    reading: Reading,
}

impl Naming for Contracted<'_> {
    fn object(&self, symbol: SymbolId, slot: Slot) -> Name {
        let sort = self.sorts.of(slot);
        match self.classes.get(&(symbol, sort)) {
            Some(&class) if !self.named.contains(&(symbol, sort)) => Name::Class(class),
            None if sort == self.goal_sort => self.value(symbol, slot),
            _ => Name::Object(symbol, sort),
        }
    }

    fn value(&self, symbol: SymbolId, slot: Slot) -> Name {
        let value = self.program.symbols.name(symbol).parse::<i64>().ok();
        match value.and_then(|value| self.values.iter().position(|&other| other == value)) {
            Some(rank) => Name::Value(self.reading.rank(rank, self.values.len()) as i64),
            None => Name::Object(symbol, self.sorts.of(slot)),
        }
    }

    fn goal_role(&self, symbol: SymbolId, slot: Slot) -> Name {
        let role = match (self.reading, self.roles) {
            (Reading::Exchanged, &[one, other]) if symbol == one => other,
            (Reading::Exchanged, &[one, other]) if symbol == other => one,
            _ => symbol,
        };
        self.object(role, slot)
    }
}
