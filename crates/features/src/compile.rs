//! From features to wires: the bindings of a formula are found by joins over all atoms that may ever hold, and each becomes a
//! gate of the game's network.
//!
//! Every binding of a feature's list that may ever count is one wire, and the feature's value is the sum of what its true
//! wires weigh. Atoms of the rules are wires already, so recursion and whatever the rules define is shared with the game;
//! conjunctions of fluents that exclude each other are left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::TermId;
use gdl::program::{self, Program, Relation, Rule, Term, VarId, Variable};
use gdl::source::Span;
use insight::structure::Evidence;
use machine::network::{Network, Wire};
use rustc_hash::FxHashMap;

use crate::columns::{Columns, Plan, Search, Step, own_term, term};
use crate::evaluate::Sums;
use crate::feature::Feature;
use crate::game::{Game, Views};

/// Features as sums of wires of one network.
pub struct Compiled {
    /// The network, with what its states are in that of the game. Its views are the bindings: the feature's place, and the values
    /// of its list.
    pub views: Views,
    /// The features, in their order; those that are left out are always 0.
    pub sums: Sums,
    /// The features that can't be compiled, with why.
    pub left_out: Vec<(usize, String)>,
}

/// How much features may take.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Conjunctions of one feature.
    pub conditions: usize,
    /// Conjunctions of all features.
    pub all_conditions: usize,
    /// Rows visited for one feature.
    pub work: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { conditions: 20_000, all_conditions: 1_000_000, work: 2_000_000 }
    }
}

/// Compiles features. Those that need too many conditions are left out.
pub fn compile(game: &Game, features: &[Feature], budget: &Budget) -> Result<Compiled, String> {
    let views = Views::new(game)?;
    let mut grounder = Grounder::new(game, &views);
    let mut gates = Gates { network: (*views.network).clone(), known: FxHashMap::default() };
    let (mut formulas, mut bindings) = (Vec::new(), Vec::new());
    let mut sums: Vec<Vec<(u32, i32)>> = vec![Vec::new(); features.len()];
    let mut left_out = Vec::new();
    let mut known = FxHashMap::default();
    let mut left = budget.all_conditions;
    for (index, feature) in features.iter().enumerate() {
        let own = Budget { conditions: budget.conditions.min(left), ..budget.clone() };
        let found = match grounder.ground(feature, &mut gates, &own) {
            Ok(found) => found,
            Err(why) => {
                left_out.push((index, why));
                continue;
            }
        };
        left -= found.n_conditions.min(left);
        let weight = |row: &[TermId]| {
            let values: Vec<Term> = row.iter().map(|&value| term(&grounder.columns.terms, value)).collect();
            feature.weight.of(&feature.list, &values)
        };
        let weights: Vec<i32> = found.bindings.iter().map(|(row, _)| weight(row)).collect();
        // All of them may count at once, and so may those of one sign.
        if weights.iter().map(|weight| i64::from(weight.abs_diff(0))).sum::<i64>() > i64::from(i32::MAX) {
            left_out.push((index, "its value may be too large".to_owned()));
            continue;
        }
        for ((row, wire), weight) in found.bindings.into_iter().zip(weights) {
            if weight != 0 && wire != Wire::FALSE {
                sums[index].push((formulas.len() as u32, weight));
                formulas.push(wire);
                let terms = &mut gates.network.terms;
                let row = row.iter().map(|&value| own_term(&grounder.columns.terms, terms, &mut known, value));
                bindings.push((index as u32, row.collect()));
            }
        }
    }
    let network = Arc::new(Network { formulas, views: bindings, ..gates.network });
    let views = views.with_network(network.clone());
    Ok(Compiled { sums: Sums { network, features: sums }, views, left_out })
}

/// Gates that are made on top of a network, each conjunction once.
struct Gates {
    network: Network,
    known: FxHashMap<Vec<Wire>, Wire>,
}

impl Gates {
    fn all(&mut self, mut wires: Vec<Wire>) -> Wire {
        wires.sort_unstable();
        wires.dedup();
        if let [wire] = wires[..] {
            return wire;
        }
        if let Some(&wire) = self.known.get(&wires) {
            return wire;
        }
        let wire = self.network.all_of(&wires);
        self.known.insert(wires, wire);
        wire
    }

    fn any(&mut self, wires: impl IntoIterator<Item = Wire>) -> Wire {
        self.all(wires.into_iter().map(Wire::inverted).collect()).inverted()
    }
}

/// The bindings of a feature's list that may count, each with when it does.
pub(crate) struct Ground {
    bindings: Vec<(Vec<TermId>, Wire)>,
    n_conditions: usize,
}

/// Finds the bindings of features.
pub(crate) struct Grounder {
    columns: Columns,
    /// For each gate that is a fluent, the groups of fluents that exclude each other in which it is.
    groups: Vec<Vec<u32>>,
}

impl Grounder {
    pub(crate) fn new(game: &Game, views: &Views) -> Grounder {
        let fluents = views.fluents(game);
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); 1 + views.network.fluents.len()];
        let proved = game.structure.exclusions.iter().filter(|(_, evidence, _)| *evidence == Evidence::Proved);
        for (number, group) in (0u32..).zip(proved.flat_map(|(exclusion, ..)| &exclusion.groups)) {
            for &member in group {
                let wire = fluents[member as usize].1;
                if wire.gate() > 0 && !wire.is_inverted() {
                    groups[wire.gate() as usize].push(number);
                }
            }
        }
        Grounder { columns: Columns::of_wires(game, views), groups }
    }

    /// How many conjunctions a feature needs; `None` if it is more than the budget allows.
    pub(crate) fn size(&mut self, feature: &Feature, budget: &Budget) -> Option<usize> {
        self.bindings(feature, budget, &mut |_, _| Wire::of(1)).ok().map(|found| found.n_conditions)
    }

    fn ground(&mut self, feature: &Feature, gates: &mut Gates, budget: &Budget) -> Result<Ground, String> {
        self.bindings(feature, budget, &mut |wires, any| if any { gates.any(wires) } else { gates.all(wires) })
    }

    /// Finds the bindings; `join` makes one wire of several, all or any of which must be true.
    fn bindings(
        &mut self,
        feature: &Feature,
        budget: &Budget,
        join: &mut dyn FnMut(Vec<Wire>, bool) -> Wire,
    ) -> Result<Ground, String> {
        let plans = self.columns.plans(feature.formula.conjuncts(), &feature.list, &BTreeSet::new());
        let plans = plans.ok_or("a variable is bound by nothing, or a relation has too many atoms")?;
        let mut walk = Walk {
            search: Search::new(&self.columns),
            groups: &self.groups,
            join,
            budget,
            list: &feature.list,
            found: indexmap::IndexMap::default(),
            n_conditions: 0,
        };
        for plan in &plans {
            walk.follow(plan, 0, &mut Vec::new(), &mut |walk, wires| walk.bind(wires))?;
        }
        let Walk { join, found, n_conditions, .. } = walk;
        let mut any = |(row, mut wires): (Vec<TermId>, Vec<Wire>)| {
            let wire = if wires.len() == 1 { wires.remove(0) } else { join(wires, true) };
            (row, wire)
        };
        Ok(Ground { bindings: found.into_iter().map(&mut any).collect(), n_conditions })
    }
}

/// A walk through the bindings of a plan.
struct Walk<'a> {
    search: Search<'a>,
    groups: &'a [Vec<u32>],
    join: &'a mut dyn FnMut(Vec<Wire>, bool) -> Wire,
    budget: &'a Budget,
    list: &'a [VarId],
    /// For each binding of the list, the conjunctions any of which makes it count.
    found: indexmap::IndexMap<Vec<TermId>, Vec<Wire>, rustc_hash::FxBuildHasher>,
    n_conditions: usize,
}

type Arrive<'e> = dyn FnMut(&mut Walk<'_>, &[Wire]) -> Result<(), String> + 'e;

impl Walk<'_> {
    fn bind(&mut self, wires: &[Wire]) -> Result<(), String> {
        self.count()?;
        let wire = (self.join)(wires.to_vec(), false);
        let row: Vec<TermId> = self.list.iter().map(|var| self.search.binding[var.0 as usize]).collect();
        self.found.entry(row).or_default().push(wire);
        Ok(())
    }

    fn count(&mut self) -> Result<(), String> {
        self.n_conditions += 1;
        if self.n_conditions > self.budget.conditions {
            return Err(format!("it needs more than {} conditions", self.budget.conditions));
        }
        Ok(())
    }

    /// Follows a plan from one of its steps on, with the wires that must be true.
    fn follow(&mut self, plan: &Plan, at: usize, wires: &mut Vec<Wire>, arrive: &mut Arrive<'_>) -> Result<(), String> {
        let Some(step) = plan.steps.get(at) else { return arrive(self, wires) };
        match step {
            Step::Compare { left, right, equal } => {
                if self.search.same(left, right) == *equal {
                    self.follow(plan, at + 1, wires, arrive)
                } else {
                    Ok(())
                }
            }
            Step::Set { var, value } => {
                self.search.bind(*var, self.search.known(*value));
                self.follow(plan, at + 1, wires, arrive)
            }
            Step::Not(plans) => {
                let mut any = Vec::new();
                for inner in plans {
                    self.follow(inner, 0, &mut Vec::new(), &mut |walk, wires| {
                        walk.count()?;
                        any.push((walk.join)(wires.to_vec(), false));
                        Ok(())
                    })?;
                }
                if any.contains(&Wire::TRUE) {
                    return Ok(());
                }
                let depth = wires.len();
                if !any.is_empty() {
                    wires.push((self.join)(any, true).inverted());
                }
                self.follow(plan, at + 1, wires, arrive)?;
                wires.truncate(depth);
                Ok(())
            }
            Step::Join { table, mask, key, bind, same } => {
                let table = &self.search.columns.tables[*table];
                let key: Box<[TermId]> = key.iter().map(|value| self.search.known(*value)).collect();
                let Some(rows) = table.indices[mask].get(&key) else { return Ok(()) };
                for &row in rows {
                    self.search.work += 1;
                    if self.search.work > self.budget.work {
                        return Err("it has too many bindings".to_owned());
                    }
                    let values = &table.rows[row as usize * table.arity..][..table.arity];
                    if same.iter().any(|&(first, other)| values[first] != values[other]) {
                        continue;
                    }
                    for &(column, var) in bind {
                        self.search.bind(var, values[column]);
                    }
                    let depth = wires.len();
                    if let Some(all) = &table.bits {
                        let wire = Wire((all[row as usize] - 1) as u32);
                        if wire != Wire::TRUE {
                            if wires.iter().any(|&other| self.exclude(wire, other)) {
                                continue;
                            }
                            wires.push(wire);
                        }
                    }
                    self.follow(plan, at + 1, wires, arrive)?;
                    wires.truncate(depth);
                }
                Ok(())
            }
        }
    }

    /// Whether two wires are never true together.
    fn exclude(&self, one: Wire, other: Wire) -> bool {
        if one.gate() == other.gate() {
            return one != other;
        }
        let groups = |wire: Wire| if wire.is_inverted() { None } else { self.groups.get(wire.gate() as usize) };
        let (Some(one), Some(other)) = (groups(one), groups(other)) else { return false };
        one.iter().any(|group| other.contains(group))
    }
}

/// The rules with a rule for each feature, whose head has the feature's list as arguments. This is what features mean.
pub fn with_rules<'a>(program: &Program, features: impl IntoIterator<Item = &'a Feature>) -> (Program, Vec<Relation>) {
    let mut program = program.clone();
    let Program { symbols, rules } = &mut program;
    let mut relations = Vec::new();
    let at = Span::default();
    for (number, feature) in features.into_iter().enumerate() {
        let mut facts: Vec<(program::Atom, Arc<Vec<Vec<Term>>>)> = Vec::new();
        let n_variables = feature.formula.variables().last().map_or(0, |var| var.0 + 1);
        // No name of a rule text holds a space.
        let body = feature.formula.to_rule(&mut |rows| {
            let name = symbols.intern(&format!("list {number} {}", facts.len()));
            facts.push((program::Atom { name, args: Vec::new(), span: at }, rows.clone()));
            name
        });
        let body = if let program::Formula::And(parts, _) = body { parts } else { vec![body] };
        let name = symbols.intern(&format!("feature {number}"));
        let args: Vec<Term> = feature.list.iter().map(|&var| Term::Var(var)).collect();
        relations.push(Relation { name, arity: args.len() as u32 });
        let variables =
            (0..n_variables).map(|var| Variable { name: symbols.intern(&format!("?{var}")), span: at }).collect();
        rules.push(Rule { head: program::Atom { name, args, span: at }, body, variables, span: at });
        for (head, rows) in facts {
            rules.extend(rows.iter().map(|row| Rule {
                head: program::Atom { args: row.clone(), ..head.clone() },
                body: Vec::new(),
                variables: Vec::new(),
                span: at,
            }));
        }
    }
    (program, relations)
}
