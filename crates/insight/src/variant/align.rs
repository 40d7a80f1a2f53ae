//! What two variants have in common, name by name.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use gdl::Relation;
use gdl::program::Term;
use gdl::symbol::SymbolId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::abstraction::{Chain, Reading};
use super::differences::Differences;
use super::side::Side;
use super::{Class, Transformation, Variant};
use crate::isomorphism;
use crate::mapping::Mapping;
use crate::skeleton::Name;
use crate::sorts::{GOAL_VALUE, ROLES, Slot, Sort};

/// The most rotations of a circle that are compared.
const MAX_ROTATIONS: usize = 64;

/// Two orders that correspond to each other.
pub(crate) struct Pair<'a> {
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

/// Compares two games with equal abstractions. `reading` says how the target's goals were read. If `roles` are given, the
/// first, of the source, should become the second.
pub(super) fn align(
    source: &Side,
    target: &Side,
    reading: Reading,
    roles: Option<(SymbolId, SymbolId)>,
) -> Option<Variant> {
    // Step 1. The mappings of what the abstractions share.
    let (from, to) = (&source.abstraction, &target.abstraction);
    let likeness = |name, image| source.likeness(name, target, image);
    let find = |fixed| isomorphism::find(&from.skeleton, &to.skeleton, fixed, likeness, isomorphism::BUDGET);
    let role =
        |side: &Side, role| side.abstraction.skeleton.number(Name::Object(role, side.abstraction.sorts.of(ROLES)));
    let fixed = roles.and_then(|(learned, assigned)| Some((role(source, learned)?, role(target, assigned)?)));
    let mut images = fixed.map(|fixed| find(Some(fixed))).unwrap_or_default();
    if images.is_empty() {
        images = find(None);
    }
    // Step 2. The one under which most of the particulars agree.
    let common = Common::new(source, target);
    let scored = images.into_iter().map(|image| {
        let mut alignment = Alignment::new(source, target, &image, reading);
        alignment.rotate(&common);
        (common.count(&alignment.mapping()) + alignment.n_in_place(), alignment)
    });
    let (_, alignment) = scored.rev().max_by_key(|(score, _)| *score)?;
    // Step 3. What differs.
    let mut mapping = alignment.mapping();
    name_initial_objects(&mut mapping, source, target);
    let mut transformations = Differences { source, target, pairs: &alignment.pairs, mapping: &mapping }.all(reading);
    if let Some((learned, assigned)) = roles.filter(|(learned, assigned)| mapping.role(*learned) != Some(*assigned)) {
        let details = vec![format!("`{}` instead of `{}`", target.word(assigned), source.word(learned))];
        transformations.push(Transformation { class: Class::SwitchedRole, details });
    }
    Some(Variant { transformations, mapping })
}

/// Finds images for the objects that only the initial states speak of: the heaps of Nim, say. Those of which the same is
/// said belong together; the others are taken as they come.
fn name_initial_objects(mapping: &mut Mapping, source: &Side, target: &Side) {
    let (Some(before), Some(after)) = (&source.initial, &target.initial) else { return };
    let sorts = &source.abstraction.sorts;
    // Objects in orders have their places.
    let is_ordered = |object: SymbolId, sort: Sort| {
        let mut chains = source.abstraction.chains.iter();
        chains.any(|chain| chain.sort == sort && chain.objects.contains(&object))
    };
    let slots = |fluent: &Term| {
        let functor = fluent.functor().expect("fluents are ground");
        (0..functor.arity).map(move |index| Slot::Function(functor, index))
    };
    // Step 1. The objects without an image, by sort, each with what is said of it.
    let mut open: BTreeMap<Sort, [Told; 2]> = BTreeMap::new();
    for fluent in before {
        for (index, slot) in slots(fluent).enumerate() {
            if let Some(&Term::Const(object)) = argument(fluent, index)
                && mapping.object(object, slot).is_none()
                && !is_ordered(object, sorts.of(slot))
            {
                let said = with_hole(fluent, index, |arg, slot| mapping.term(arg, slot));
                open.entry(sorts.of(slot)).or_default()[0].entry(object).or_default().push(said);
            }
        }
    }
    let functors: FxHashMap<Relation, Relation> = before
        .iter()
        .filter_map(Term::functor)
        .filter_map(|functor| Some((Relation { name: mapping.function(functor)?, ..functor }, functor)))
        .collect();
    let images = mapping.images();
    for fluent in after {
        let Some(&functor) = fluent.functor().and_then(|functor| functors.get(&functor)) else { continue };
        let is_open = |object: SymbolId, index: u32| {
            let sort = sorts.of(Slot::Function(functor, index));
            (!images.contains(&(sort, object))).then_some(sort).filter(|sort| open.contains_key(sort))
        };
        let mut said = Vec::new();
        for index in 0..functor.arity {
            if let Some(&Term::Const(object)) = argument(fluent, index as usize)
                && let Some(sort) = is_open(object, index)
            {
                let known = |arg: &Term, slot: Slot| match (arg, slot) {
                    (&Term::Const(object), Slot::Function(_, index)) if is_open(object, index).is_some() => None,
                    _ => Some(arg.clone()),
                };
                said.push((sort, object, with_hole(fluent, index as usize, known)));
            }
        }
        for (sort, object, said) in said {
            open.entry(sort).or_default()[1].entry(object).or_default().push(said);
        }
    }
    // Step 2. Pairs of which the same is said, then any.
    for (sort, [mut ours, mut theirs]) in open {
        ours.values_mut().chain(theirs.values_mut()).for_each(|said| said.sort_unstable());
        for same in [true, false] {
            let mut pairs = Vec::new();
            for (&object, said) in &ours {
                let free = theirs.iter().find(|(_, other)| !same || *other == said).map(|(&image, _)| image);
                if let Some(image) = free {
                    theirs.remove(&image);
                    pairs.push((object, image));
                }
            }
            for (object, image) in pairs {
                ours.remove(&object);
                mapping.add_object(object, sort, image);
            }
        }
    }
}

/// What is said of objects: for each, the hashes of the fluents in which it stands.
type Told = BTreeMap<SymbolId, Vec<u64>>;

fn argument(fluent: &Term, index: usize) -> Option<&Term> {
    if let Term::Func(_, args) = fluent { args.get(index) } else { None }
}

/// A hash of a fluent's arguments, with one of them left out and the others as the target knows them.
fn with_hole(fluent: &Term, hole: usize, known: impl Fn(&Term, Slot) -> Option<Term>) -> u64 {
    let (Term::Func(_, args), Some(functor)) = (fluent, fluent.functor()) else { return 0 };
    let mut hash = rustc_hash::FxHasher::default();
    hole.hash(&mut hash);
    for (index, arg) in args.iter().enumerate().filter(|(index, _)| *index != hole) {
        known(arg, Slot::Function(functor, index as u32)).hash(&mut hash);
    }
    hash.finish()
}

/// The mapping with these names, and with the objects of the orders that they relate.
pub(crate) fn along_orders(source: &Side, target: &Side, names: BTreeMap<Name, SymbolId>, reading: Reading) -> Mapping {
    let values = goal_values(source, target, reading);
    Alignment::along_orders(source, target, names, values).mapping()
}

/// What goal values become, rank by rank; the values themselves where the games have not as many.
fn goal_values(source: &Side, target: &Side, reading: Reading) -> Vec<(i64, i64)> {
    let (from, to) = (&source.abstraction.values, &target.abstraction.values);
    if from.len() != to.len() {
        return from.iter().filter(|value| to.contains(value)).map(|&value| (value, value)).collect();
    }
    from.iter().enumerate().map(|(rank, &value)| (value, to[reading.rank(rank, from.len())])).collect()
}

/// The names that correspond to each other.
struct Alignment<'a> {
    source: &'a Side<'a>,
    names: BTreeMap<Name, SymbolId>,
    values: Vec<(i64, i64)>,
    pairs: Vec<Pair<'a>>,
}

impl<'a> Alignment<'a> {
    fn new(source: &'a Side, target: &'a Side, image: &[u32], reading: Reading) -> Alignment<'a> {
        let (from, to) = (&source.abstraction, &target.abstraction);
        let mut names: BTreeMap<Name, SymbolId> = BTreeMap::new();
        for (name, &image) in from.skeleton.names.iter().zip(image) {
            if let (Name::Relation(_) | Name::Function(_) | Name::Object(..), Some(image)) =
                (name, to.skeleton.names[image as usize].symbol())
            {
                names.insert(*name, image);
            }
        }
        let values = goal_values(source, target, reading);
        // Values stand for themselves in facts, too.
        for (value, image) in &values {
            let word = |side: &Side, value: &i64| side.program.symbols.find(&value.to_string());
            if let (Some(value), Some(image)) = (word(source, value), word(target, image)) {
                names.entry(Name::Object(value, from.sorts.of(GOAL_VALUE))).or_insert(image);
            }
        }
        Alignment::along_orders(source, target, names, values)
    }

    /// Pairs the orders whose relations correspond to each other.
    fn along_orders(
        source: &'a Side,
        target: &'a Side,
        names: BTreeMap<Name, SymbolId>,
        values: Vec<(i64, i64)>,
    ) -> Alignment<'a> {
        let pair = |chain: &'a Chain| {
            let name = *names.get(&Name::Relation(chain.relation))?;
            let other = target.chain(Relation { name, ..chain.relation })?;
            let is_dimension = source.is_dimension(chain) || target.is_dimension(other);
            Some(Pair { source: chain, target: other, is_dimension, rotation: 0 })
        };
        let pairs = source.abstraction.chains.iter().filter_map(pair).collect();
        Alignment { source, names, values, pairs }
    }

    /// The names, with objects along the orders.
    fn mapping(&self) -> Mapping {
        let mut names = self.names.clone();
        let mut taken: FxHashSet<(u32, SymbolId)> = FxHashSet::default();
        for Pair { source, target, .. } in &self.pairs {
            let known = source.objects.iter().filter_map(|&object| names.get(&Name::Object(object, source.sort)));
            taken.extend(known.map(|&image| (target.class, image)));
        }
        for pair in &self.pairs {
            for (object, image) in pair.objects() {
                let name = Name::Object(object, pair.source.sort);
                if !names.contains_key(&name) && taken.insert((pair.target.class, image)) {
                    names.insert(name, image);
                }
            }
        }
        Mapping::new(names, self.values.clone(), self.source.abstraction.sorts.clone())
    }

    /// How many of the objects that rules name stand at the same place in their order, from either end.
    fn n_in_place(&self) -> usize {
        let in_place = |pair: &Pair| {
            let (n, m) = (pair.source.objects.len(), pair.target.objects.len());
            let is_in_place = |(place, object): (usize, &SymbolId)| {
                let image = self.names.get(&Name::Object(*object, pair.source.sort));
                let other = image.and_then(|image| pair.target.objects.iter().position(|other| other == image));
                other.is_some_and(|other| place == other || n - place == m - other)
            };
            pair.source.objects.iter().enumerate().filter(|&object| is_in_place(object)).count()
        };
        self.pairs.iter().map(in_place).sum()
    }

    /// Finds out where circles begin: where most of the particulars agree.
    fn rotate(&mut self, common: &Common) {
        // Twice, since what is best for one circle may depend on another.
        for index in (0..self.pairs.len()).chain(0..self.pairs.len()) {
            if !self.pairs[index].source.cyclic && !self.pairs[index].target.cyclic {
                continue;
            }
            let mut best = (0, 0);
            for rotation in 0..self.pairs[index].target.objects.len().min(MAX_ROTATIONS) {
                self.pairs[index].rotation = rotation;
                let n_common = common.count(&self.mapping());
                if n_common > best.0 {
                    best = (n_common, rotation);
                }
            }
            self.pairs[index].rotation = best.1;
        }
    }
}

/// What is listed in both games.
struct Common<'a> {
    source: &'a Side<'a>,
    initial: FxHashSet<&'a Term>,
    facts: FxHashSet<&'a (SymbolId, Vec<Term>)>,
}

impl<'a> Common<'a> {
    fn new(source: &'a Side, target: &'a Side) -> Common<'a> {
        Common { source, initial: target.initial.iter().flatten().collect(), facts: target.facts.iter().collect() }
    }

    /// How many initial fluents and facts a mapping takes to those of the target.
    fn count(&self, mapping: &Mapping) -> usize {
        let fluents = self.source.initial.iter().flatten().filter_map(|fluent| mapping.fluent(fluent));
        let fact = |(name, args): &(SymbolId, Vec<Term>)| {
            mapping.fact(Relation { name: *name, arity: args.len() as u32 }, args)
        };
        let facts = self.source.facts.iter().filter_map(fact);
        fluents.filter(|fluent| self.initial.contains(fluent)).count()
            + facts.filter(|fact| self.facts.contains(fact)).count()
    }
}
