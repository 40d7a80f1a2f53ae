//! What two variants have in common, name by name.

use std::collections::BTreeMap;

use gdl::Relation;
use gdl::program::Term;
use gdl::symbol::SymbolId;
use rustc_hash::FxHashSet;

use super::abstraction::{Chain, GOAL_VALUE, Reading};
use super::differences::Differences;
use super::side::Side;
use super::{Class, Transformation, Variant};
use crate::isomorphism;
use crate::mapping::Mapping;
use crate::skeleton::Name;
use crate::sorts::ROLES;

/// The most rotations of a circle that are compared.
const MAX_ROTATIONS: usize = 64;

/// Two orders that correspond to each other.
pub(super) struct Pair<'a> {
    pub(super) source: &'a Chain,
    pub(super) target: &'a Chain,
    pub(super) is_dimension: bool,
    /// Where the target's order begins: more than 0 only in circles.
    rotation: usize,
}

impl Pair<'_> {
    /// Whether one of them is longer.
    pub(super) fn is_resized(&self) -> bool {
        self.source.objects.len() != self.target.objects.len()
    }

    /// The objects that correspond to each other. Places on a board are counted from the nearer end, others from the
    /// beginning.
    fn objects(&self) -> Vec<(SymbolId, SymbolId)> {
        let (n, m) = (self.source.objects.len(), self.target.objects.len());
        let target = |index: usize| self.target.objects[(index + self.rotation) % m];
        let shorter = n.min(m);
        (0..shorter)
            .map(|index| {
                if self.is_dimension && index >= shorter.div_ceil(2) {
                    (self.source.objects[n - shorter + index], target(m - shorter + index))
                } else {
                    (self.source.objects[index], target(index))
                }
            })
            .collect()
    }
}

/// Compares two games with equal abstractions. `values` says how the target's goal values were read.
/// If `roles` are given, the first, of the source, should become the second.
pub(super) fn align(
    source: &Side,
    target: &Side,
    values: Reading,
    roles: Option<(SymbolId, SymbolId)>,
) -> Option<Variant> {
    let likeness = |name, image| source.likeness(name, target, image);
    let (from, to) = (&source.abstraction, &target.abstraction);
    let find = |fixed| isomorphism::find(&from.skeleton, &to.skeleton, fixed, likeness, isomorphism::BUDGET);
    let role =
        |side: &Side, role| side.abstraction.skeleton.number(Name::Object(role, side.abstraction.sorts.of(ROLES)));
    let fixed = roles.and_then(|(learned, assigned)| Some((role(source, learned)?, role(target, assigned)?)));
    let image = fixed.and_then(|fixed| find(Some(fixed))).or_else(|| find(None))?;
    // Step 1. The names that the abstractions share.
    let mut names: BTreeMap<Name, SymbolId> = BTreeMap::new();
    for (name, &image) in from.skeleton.names.iter().zip(&image) {
        if let (Name::Relation(_) | Name::Function(_) | Name::Object(..), Some(image)) =
            (name, to.skeleton.names[image as usize].symbol())
        {
            names.insert(*name, image);
        }
    }
    let n_values = from.values.len();
    let goal_values: Vec<(i64, i64)> = (0..n_values)
        .filter_map(|rank| Some((from.values[rank], *to.values.get(values.rank(rank, n_values))?)))
        .collect();
    // Values stand for themselves in facts, too.
    for (from_value, to_value) in &goal_values {
        let word = |side: &Side, value: &i64| side.program.symbols.find(&value.to_string());
        if let (Some(value), Some(image)) = (word(source, from_value), word(target, to_value)) {
            names.entry(Name::Object(value, from.sorts.of(GOAL_VALUE))).or_insert(image);
        }
    }
    // Step 2. The objects along the orders.
    let relation_image = |relation: Relation| {
        let name = *names.get(&Name::Relation(relation))?;
        Some(Relation { name, ..relation })
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for chain in &from.chains {
        if let Some(other) = relation_image(chain.relation).and_then(|relation| target.chain(relation)) {
            let is_dimension = source.is_dimension(chain) || target.is_dimension(other);
            pairs.push(Pair { source: chain, target: other, is_dimension, rotation: 0 });
        }
    }
    let with_objects = |pairs: &[Pair]| {
        let mut all = names.clone();
        let mut taken: FxHashSet<(u32, SymbolId)> = FxHashSet::default();
        for pair in pairs {
            let known =
                pair.source.objects.iter().filter_map(|&object| names.get(&Name::Object(object, pair.source.sort)));
            taken.extend(known.map(|&image| (pair.target.class, image)));
        }
        for pair in pairs {
            for (object, image) in pair.objects() {
                let name = Name::Object(object, pair.source.sort);
                if !all.contains_key(&name) && taken.insert((pair.target.class, image)) {
                    all.insert(name, image);
                }
            }
        }
        Mapping::new(all, goal_values.clone(), from.sorts.clone())
    };
    let initial: FxHashSet<&Term> = target.initial.iter().flatten().collect();
    let facts: FxHashSet<&(SymbolId, Vec<Term>)> = target.facts.iter().collect();
    let n_common = |mapping: &Mapping| {
        let fluents = source.initial.iter().flatten().filter_map(|fluent| mapping.fluent(fluent));
        let n_fluents = fluents.filter(|fluent| initial.contains(fluent)).count();
        let listed = source
            .facts
            .iter()
            .filter_map(|(name, args)| mapping.fact(Relation { name: *name, arity: args.len() as u32 }, args));
        n_fluents + listed.filter(|fact| facts.contains(fact)).count()
    };
    for index in 0..pairs.len() {
        if !pairs[index].source.cyclic && !pairs[index].target.cyclic {
            continue;
        }
        let n_rotations = pairs[index].target.objects.len().min(MAX_ROTATIONS);
        let mut scored = Vec::new();
        for rotation in 0..n_rotations {
            pairs[index].rotation = rotation;
            scored.push((n_common(&with_objects(&pairs)), std::cmp::Reverse(rotation)));
        }
        pairs[index].rotation = scored.into_iter().max().map_or(0, |(_, rotation)| rotation.0);
    }
    let mapping = with_objects(&pairs);
    let mut transformations = Differences { source, target, pairs: &pairs, mapping: &mapping }.all(values);
    if let Some((learned, assigned)) = roles.filter(|(learned, assigned)| mapping.role(*learned) != Some(*assigned)) {
        let details = vec![format!("`{}` instead of `{}`", target.word(assigned), source.word(learned))];
        transformations.push(Transformation { class: Class::SwitchedRole, details });
    }
    Some(Variant { transformations, mapping })
}
