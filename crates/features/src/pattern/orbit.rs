//! Orbits: the images of a pattern under the symmetries of its game share one table.
//!
//! A symmetry takes atoms to atoms and values to values. From a pattern, the generators lead to all of its images; where two
//! ways lead to the same image, the pattern has a symmetry of its own, and slots of its table that this symmetry exchanges
//! must have the same weight: they get one canonical number (Schreier's lemma says that these ways give all such symmetries).
//!
//! On a large board there are too many places to learn a table for each. There, shapes of the same form can be [`tied`]: they
//! share one table with all of their images, as if the board had no edges. That is no symmetry of the game, so it is used beside
//! tables that know their place.

use std::collections::BTreeSet;

use insight::symmetry::{Symmetries, Symmetry, Translation};
use rustc_hash::FxHashMap;

use crate::game::Game;
use crate::pattern::atoms::{AtomicFeature, Literal, Origin, Value};
use crate::pattern::shapes::{Kind, Shape};
use crate::pattern::table::Instance;

/// What a symmetry does to atoms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomSymmetry {
    /// The image of each atom.
    pub atoms: Vec<u32>,
    /// For each atom and each of its values the value that the image has then.
    pub values: Vec<Vec<u16>>,
    /// The image of each role.
    pub roles: Vec<u32>,
}

/// Groups with more symmetries are taken by their generators alone.
const MAX_ELEMENTS: usize = 4_096;

/// Symmetries that leave every role what it is, as far as they take atoms to atoms; they generate all such ones if the group
/// has at most 4096 elements, and else at least those that some of its generators generate.
pub fn keeping_roles(game: &Game, features: &[AtomicFeature], symmetries: &Symmetries) -> Vec<AtomSymmetry> {
    let keeps = |symmetry: &AtomSymmetry| symmetry.roles.iter().enumerate().all(|(at, &to)| at as u32 == to);
    of_game(game, features, symmetries).into_iter().filter(keeps).collect()
}

/// The symmetries of a game as far as they take atoms to atoms: all elements of a group of at most 4096, else generators.
pub fn of_game(game: &Game, features: &[AtomicFeature], symmetries: &Symmetries) -> Vec<AtomSymmetry> {
    let Some(ground) = &game.circuit.ground else { return Vec::new() };
    let translation = Translation::new(ground, &game.circuit.network);
    let elements = symmetries.group.as_ref().and_then(|group| group.elements(MAX_ELEMENTS));
    let elements: Vec<Symmetry> = elements.unwrap_or_else(|| symmetries.generators.clone());
    let known = Known::new(features);
    let act = |symmetry: &Symmetry| {
        let action = translation.action(symmetry)?;
        known.symmetry(features, &|fluent| action.fluent(fluent), symmetry.roles.clone())
    };
    elements.iter().filter_map(act).collect()
}

/// Which atoms and values a literal stands for. Several atoms may read the same fluents: networks leave out fluents that equal
/// others, such as those of squares that hold the same at all times.
struct Known {
    values: FxHashMap<Literal, Vec<(u32, usize)>>,
    /// Bucketed atoms by their terms, sorted.
    sums: FxHashMap<Vec<(Literal, i32)>, Vec<u32>>,
}

impl Known {
    fn new(features: &[AtomicFeature]) -> Known {
        let mut known = Known { values: FxHashMap::default(), sums: FxHashMap::default() };
        for (atom, feature) in (0..).zip(features) {
            for (value, condition) in feature.values.iter().enumerate() {
                if let Value::Is(literal) = condition {
                    known.values.entry(*literal).or_default().push((atom, value));
                }
            }
            if feature.is_bucketed() {
                let mut terms = feature.terms.clone();
                terms.sort_unstable();
                known.sums.entry(terms).or_default().push(atom);
            }
        }
        known
    }

    /// What a permutation of literals does to atoms; `None` if it is no permutation of atoms.
    fn symmetry(
        &self,
        features: &[AtomicFeature],
        image: &dyn Fn(u32) -> (u32, bool),
        roles: Vec<u32>,
    ) -> Option<AtomSymmetry> {
        let literal = |literal: Literal| {
            let (fluent, inverted) = image(literal.fluent);
            Literal { fluent, holds: literal.holds != inverted }
        };
        let mut symmetry = AtomSymmetry { atoms: Vec::new(), values: Vec::new(), roles };
        // Atoms that read the same are the same in every state, so that any order among their images will do; but no two
        // atoms may have one image.
        let mut is_image = vec![false; features.len()];
        for feature in features {
            let (to, values) = if feature.is_bucketed() {
                let mut terms: Vec<(Literal, i32)> =
                    feature.terms.iter().map(|&(own, more)| (literal(own), more)).collect();
                terms.sort_unstable();
                let same = |&&to: &&u32| !is_image[to as usize] && features[to as usize].range() == feature.range();
                (*self.sums.get(&terms)?.iter().find(same)?, (0..feature.range() as u16).collect())
            } else {
                let literals = feature.values.iter().map(|value| match value {
                    Value::Is(own) => Some(literal(*own)),
                    _ => None,
                });
                let literals: Vec<Option<Literal>> = literals.collect();
                let first = literals.iter().flatten().next()?;
                let opposite = Literal { holds: !first.holds, ..*first };
                let known = |literal| self.values.get(literal).into_iter().flatten();
                let mut candidates = known(first).chain(known(&opposite)).map(|&(to, _)| to);
                candidates.find_map(|to| {
                    let values = images_of_values(&literals, &features[to as usize])?;
                    (!is_image[to as usize]).then_some((to, values))
                })?
            };
            is_image[to as usize] = true;
            symmetry.atoms.push(to);
            symmetry.values.push(values);
        }
        Some(symmetry)
    }
}

/// For each value of an atom, given the images of its literals, the value that another atom has then; `None` if the other
/// atom does not read the same.
fn images_of_values(literals: &[Option<Literal>], other: &AtomicFeature) -> Option<Vec<u16>> {
    let n_literals = other.values.iter().filter(|value| matches!(value, Value::Is(_))).count();
    // With two values, one literal says as much as two.
    let says_the_same = other.range() == 2 || literals.iter().flatten().count() == n_literals;
    if other.range() != literals.len() || other.is_bucketed() || !says_the_same {
        return None;
    }
    // Step 1. Literals. An atom of a fluent and its opposite may know the image by the other one.
    let mut values: Vec<Option<u16>> = vec![None; literals.len()];
    for (value, own) in literals.iter().enumerate() {
        let Some(own) = own else { continue };
        let place = |literal: Literal| other.values.iter().position(|value| *value == Value::Is(literal));
        let turned = || place(Literal { holds: !own.holds, ..*own }).filter(|_| other.range() == 2).map(|at| 1 - at);
        let image = place(*own).or_else(turned)? as u16;
        if values.contains(&Some(image)) {
            return None;
        }
        values[value] = Some(image);
    }
    // Step 2. What has no literal: what is left over there, in order.
    let free = (0..literals.len() as u16).filter(|value| !values.contains(&Some(*value)));
    let mut free = free.collect::<Vec<_>>().into_iter();
    values.into_iter().map(|value| value.or_else(|| free.next())).collect()
}

/// A pattern with its images, and which slots of their table are one.
#[derive(Clone, Debug)]
pub struct Orbit {
    /// What kind of shape it is.
    pub kind: Kind,
    /// The images, the pattern itself first.
    pub instances: Vec<Instance>,
    /// For each slot of the table its canonical number.
    pub canonical: Vec<u32>,
    /// How many canonical numbers there are.
    pub n_canonical: usize,
    /// Whether shapes share the table that no symmetry takes to each other.
    pub is_tied: bool,
}

impl Orbit {
    /// The flat table for canonical weights.
    pub fn expand<W: Copy>(&self, weights: &[W]) -> Vec<W> {
        self.canonical.iter().map(|&slot| weights[slot as usize]).collect()
    }
}

/// How large orbits may be.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Images of one pattern.
    pub instances: usize,
    /// Slots of one table.
    pub slots: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { instances: 1_024, slots: 1 << 16 }
    }
}

/// The orbits of shapes, each shape in one of them; orbit `i` has table `i`. Shapes whose table or orbit would be too large
/// are left out, and counted.
pub fn orbits(
    features: &[AtomicFeature],
    shapes: &[Shape],
    symmetries: &[AtomSymmetry],
    budget: &Budget,
) -> (Vec<Orbit>, usize) {
    let mut orbits: Vec<Orbit> = Vec::new();
    let mut known: BTreeSet<Vec<u32>> = BTreeSet::new();
    let mut n_left_out = 0;
    for shape in shapes {
        if known.contains(&sorted(&shape.atoms)) {
            continue;
        }
        match orbit(features, &[shape], symmetries, orbits.len() as u32, budget) {
            Some(orbit) => {
                known.extend(orbit.instances.iter().map(|instance| sorted(&instance.atoms)));
                orbits.push(orbit);
            }
            None => n_left_out += 1,
        }
    }
    (orbits, n_left_out)
}

/// One table for each form that occurs at several places; all of its shapes and their images share it. Forms whose table or
/// orbit would be too large are left out.
pub fn tied(features: &[AtomicFeature], shapes: &[Shape], symmetries: &[AtomSymmetry], budget: &Budget) -> Vec<Orbit> {
    // A form is that of one layer of a board: others may have other contents.
    let layer = |shape: &Shape| match features[shape.atoms[0] as usize].origin {
        Origin::Cell { board, layer, .. } => Some((board, layer)),
        _ => None,
    };
    let mut forms = Vec::new();
    let mut same: FxHashMap<_, Vec<&Shape>> = FxHashMap::default();
    for shape in shapes.iter().filter(|shape| !shape.form.is_empty()) {
        let form = (layer(shape), &shape.form[..]);
        let same = same.entry(form).or_default();
        if same.is_empty() {
            forms.push(form);
        }
        same.push(shape);
    }
    let mut orbits: Vec<Orbit> = Vec::new();
    let mut known: BTreeSet<Vec<u32>> = BTreeSet::new();
    for form in forms {
        let shapes = &same[&form];
        if shapes.len() < 2 || known.contains(&sorted(&shapes[0].atoms)) {
            continue;
        }
        if let Some(orbit) = orbit(features, shapes, symmetries, orbits.len() as u32, budget) {
            known.extend(orbit.instances.iter().map(|instance| sorted(&instance.atoms)));
            orbits.push(orbit);
        }
    }
    orbits
}

fn sorted(atoms: &[u32]) -> Vec<u32> {
    let mut sorted = atoms.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The orbit of shapes that share a table, digit by digit.
fn orbit(
    features: &[AtomicFeature],
    shapes: &[&Shape],
    symmetries: &[AtomSymmetry],
    table: u32,
    budget: &Budget,
) -> Option<Orbit> {
    let range = |atom: u32| features[atom as usize].range();
    let shape = shapes[0];
    let mut size = 1usize;
    for &atom in &shape.atoms {
        size = size.checked_mul(range(atom)).filter(|&size| size <= budget.slots)?;
    }
    let identity = |&atom: &u32| (0..range(atom) as u16).collect();
    let begin = |shape: &&Shape| Instance {
        table,
        atoms: shape.atoms.clone(),
        digits: shape.atoms.iter().map(identity).collect(),
    };
    let mut instances: Vec<Instance> = shapes.iter().map(begin).collect();
    if instances.len() > budget.instances {
        return None;
    }
    let mut places: FxHashMap<Vec<u32>, usize> =
        instances.iter().enumerate().map(|(at, instance)| (sorted(&instance.atoms), at)).collect();
    // What the pattern's own symmetries do: for each place the place that it goes to, and digits to digits.
    let mut own: BTreeSet<Vec<(usize, Vec<u16>)>> = BTreeSet::new();
    let mut at = 0;
    while at < instances.len() {
        for symmetry in symmetries {
            let image = image(&instances[at], symmetry);
            match places.get(&sorted(&image.atoms)) {
                Some(&place) => {
                    own.insert(difference(&instances[place], &image));
                }
                None if instances.len() == budget.instances => return None,
                None => {
                    places.insert(sorted(&image.atoms), instances.len());
                    instances.push(image);
                }
            }
        }
        at += 1;
    }
    // Slots that are exchanged become one.
    let ranges: Vec<usize> = shape.atoms.iter().map(|&atom| range(atom)).collect();
    let (strides, _) = instances[0].strides(features);
    let mut least: Vec<u32> = (0..size as u32).collect();
    for map in &own {
        for slot in 0..size {
            let image: usize = map
                .iter()
                .enumerate()
                .map(|(at, (to, digits))| usize::from(digits[slot / strides[at] % ranges[at]]) * strides[*to])
                .sum();
            let (one, other) = (root(&mut least, slot as u32), root(&mut least, image as u32));
            least[one.max(other) as usize] = one.min(other);
        }
    }
    let mut n_canonical = 0;
    let mut canonical = vec![0; size];
    for slot in 0..size as u32 {
        let root = root(&mut least, slot);
        canonical[slot as usize] = if root == slot {
            n_canonical += 1;
            n_canonical - 1
        } else {
            canonical[root as usize]
        };
    }
    // Digits that are the values need no saying.
    for instance in &mut instances {
        let plain = |digits: &Vec<u16>| digits.iter().enumerate().all(|(value, &digit)| value == usize::from(digit));
        if instance.digits.iter().all(plain) {
            instance.digits.clear();
        }
    }
    let is_tied = shapes.len() > 1;
    Some(Orbit { kind: shape.kind, instances, canonical, n_canonical: n_canonical as usize, is_tied })
}

/// What a symmetry does to the weights of an orbit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The orbit that the pattern is taken to.
    pub orbit: usize,
    /// For each canonical number the one there.
    pub slots: Vec<u32>,
}

/// What a symmetry that the orbits don't know, such as an exchange of the roles, does to each of them: the slot of a state
/// becomes the slot of its image. `None` if some pattern has no image among the orbits.
pub fn exchange(features: &[AtomicFeature], orbits: &[Orbit], symmetry: &AtomSymmetry) -> Option<Vec<Exchange>> {
    let mut places: FxHashMap<Vec<u32>, (usize, &Instance)> = FxHashMap::default();
    let key = |instance: &Instance| sorted(&instance.atoms);
    for (number, orbit) in orbits.iter().enumerate() {
        places.extend(orbit.instances.iter().map(|instance| (key(instance), (number, instance))));
    }
    let exchange = |orbit: &Orbit| {
        let image = image(&with_digits(features, &orbit.instances[0]), symmetry);
        let &(to, instance) = places.get(&key(&image))?;
        let map = difference(&with_digits(features, instance), &image);
        let ranges: Vec<usize> = instance.atoms.iter().map(|&atom| features[atom as usize].range()).collect();
        let (own, there) = (orbit.instances[0].strides(features).0, instance.strides(features).0);
        let mut slots = vec![0; orbit.n_canonical];
        for slot in 0..orbit.canonical.len() {
            // The slot of the image, and the slot that the pattern had.
            let digit = |at: usize| slot / there[at] % ranges[at];
            let before: usize =
                map.iter().enumerate().map(|(at, (from, digits))| usize::from(digits[digit(at)]) * own[*from]).sum();
            slots[orbit.canonical[before] as usize] = orbits[to].canonical[slot];
        }
        Some(Exchange { orbit: to, slots })
    };
    orbits.iter().map(exchange).collect()
}

/// The instance with its digits said.
fn with_digits(features: &[AtomicFeature], instance: &Instance) -> Instance {
    let mut instance = instance.clone();
    if instance.digits.is_empty() {
        let plain = |&atom: &u32| (0..features[atom as usize].range() as u16).collect();
        instance.digits = instance.atoms.iter().map(plain).collect();
    }
    instance
}

/// An instance under a symmetry: in the image of a state it has the index that the instance has in the state.
fn image(instance: &Instance, symmetry: &AtomSymmetry) -> Instance {
    let digits = |(&atom, digits): (&u32, &Vec<u16>)| {
        let mut image = vec![0; digits.len()];
        let values = &symmetry.values[atom as usize];
        values.iter().zip(digits).for_each(|(&to, &digit)| image[usize::from(to)] = digit);
        image
    };
    Instance {
        table: instance.table,
        atoms: instance.atoms.iter().map(|&atom| symmetry.atoms[atom as usize]).collect(),
        digits: instance.atoms.iter().zip(&instance.digits).map(digits).collect(),
    }
}

/// What takes the index of one instance to that of another with the same atoms.
fn difference(one: &Instance, other: &Instance) -> Vec<(usize, Vec<u16>)> {
    let place = |(at, atom): (usize, &u32)| {
        let to = other.atoms.iter().position(|known| known == atom).expect("the atoms are the same");
        let mut digits = vec![0; one.digits[at].len()];
        one.digits[at].iter().zip(&other.digits[to]).for_each(|(&from, &digit)| digits[usize::from(from)] = digit);
        (to, digits)
    };
    one.atoms.iter().enumerate().map(place).collect()
}

/// The least member of a slot's class that is known.
fn root(least: &mut [u32], mut slot: u32) -> u32 {
    while least[slot as usize] != slot {
        least[slot as usize] = least[least[slot as usize] as usize];
        slot = least[slot as usize];
    }
    slot
}
