//! Groups of permutations: their order, orbits and elements, from generators.
//!
//! Generators that move no point in common commute, so a group is first cut into factors that act on points of their own.
//! A factor that can swap any two of its points holds all their permutations; others get a chain of stabilizers, each
//! the part of the group that fixes one more point (C. Sims, "Computational methods in the study of permutation groups",
//! 1970), completed generator by generator.

use gdl::Stop;
use rustc_hash::FxHashSet;

use super::StopReason;

/// The most images of points in a list of permutations or sets: such lists take memory.
const MAX_IMAGES: usize = 128 << 20;

/// A permutation: the image of each point.
pub(super) type Permutation = Box<[u32]>;

/// A group of permutations of the points from 0 to `degree`.
#[derive(Clone, Debug)]
pub(super) struct Group {
    degree: usize,
    factors: Vec<Factor>,
}

/// A part of a group that alone moves its points.
#[derive(Clone, Debug)]
struct Factor {
    /// The points, ascending. Permutations of the factor are written with places in this list.
    points: Vec<u32>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// All permutations.
    Symmetric,
    /// What the chain describes.
    Chain(Chain),
}

impl Group {
    /// The group that permutations generate. `limit` is how many images of points may be computed; a group that needs more
    /// is given up.
    pub(super) fn new(degree: usize, generators: &[Permutation], limit: u64, stop: &Stop) -> Result<Group, StopReason> {
        let mut work = Work { left: limit, stop: stop.clone() };
        let mut factors = Vec::new();
        for (points, members) in independent(degree, generators) {
            let mut place = vec![0; degree];
            points.iter().enumerate().for_each(|(index, &point)| place[point as usize] = index as u32);
            let restrict = |&member: &usize| -> Permutation {
                points.iter().map(|&point| place[generators[member][point as usize] as usize]).collect()
            };
            let generators: Vec<Permutation> = members.iter().map(restrict).collect();
            let kind = if is_symmetric(points.len(), &generators) {
                Kind::Symmetric
            } else {
                let mut chain = Chain::default();
                for generator in generators {
                    chain
                        .add(generator, &mut work)
                        .ok_or_else(|| if stop.is_raised() { StopReason::Stopped } else { StopReason::Group(limit) })?;
                }
                Kind::Chain(chain)
            };
            factors.push(Factor { points, kind });
        }
        Ok(Group { degree, factors })
    }

    /// How many permutations there are; `None` if that is more than fits.
    pub(super) fn order(&self) -> Option<u128> {
        self.sizes().try_fold(1, |order: u128, size| order.checked_mul(size as u128))
    }

    /// The logarithm of the order, to the base 10.
    pub(super) fn log10_order(&self) -> f64 {
        self.sizes().map(|size| (size as f64).log10()).sum()
    }

    /// Numbers whose product is the order.
    fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.factors.iter().flat_map(|factor| -> Box<dyn Iterator<Item = usize>> {
            match &factor.kind {
                Kind::Symmetric => Box::new(2..=factor.points.len()),
                Kind::Chain(chain) => Box::new(chain.levels.iter().map(|level| level.orbit.len())),
            }
        })
    }

    /// How many points there are.
    pub(super) fn degree(&self) -> usize {
        self.degree
    }

    /// How many elements keep a set of points as a whole; points beyond the list are not in it. `None` if the set has
    /// more than `limit` images under a factor, or there are more elements than can be counted.
    pub(super) fn count_fixing(&self, set: &[bool], limit: usize) -> Option<u128> {
        let mut count: u128 = 1;
        for factor in &self.factors {
            let inside: Vec<bool> =
                factor.points.iter().map(|&point| set.get(point as usize).copied().unwrap_or(false)).collect();
            let n_inside = inside.iter().filter(|&&inside| inside).count();
            let here = match &factor.kind {
                Kind::Symmetric => {
                    let mut sizes = (2..=n_inside).chain(2..=inside.len() - n_inside);
                    sizes.try_fold(1u128, |count, size| count.checked_mul(size as u128))?
                }
                Kind::Chain(chain) => {
                    let order = chain.levels.iter().map(|level| level.orbit.len() as u128);
                    order.into_iter().try_fold(1, u128::checked_mul)? / chain.n_images(&inside, limit)?
                }
            };
            count = count.checked_mul(here)?;
        }
        Some(count)
    }

    /// The points of each factor, ascending, and whether it permutes them in every way.
    #[allow(dead_code)]
    pub(super) fn factors(&self) -> impl Iterator<Item = (&[u32], bool)> {
        self.factors.iter().map(|factor| (&factor.points[..], matches!(factor.kind, Kind::Symmetric)))
    }

    /// Whether a permutation is in the group.
    pub(super) fn contains(&self, permutation: &[u32]) -> bool {
        let mut moved: Vec<bool> = permutation.iter().enumerate().map(|(point, &to)| point != to as usize).collect();
        for factor in &self.factors {
            let mut restricted = Vec::with_capacity(factor.points.len());
            for &point in &factor.points {
                moved[point as usize] = false;
                match factor.points.binary_search(&permutation[point as usize]) {
                    Ok(place) => restricted.push(place as u32),
                    Err(_) => return false,
                }
            }
            if let Kind::Chain(chain) = &factor.kind
                && !chain.contains(&restricted)
            {
                return false;
            }
        }
        !moved.contains(&true)
    }

    /// All elements, the identity first; `None` if there are more than `limit`, or so many that they take too much memory.
    pub(super) fn elements(&self, limit: usize) -> Option<Vec<Permutation>> {
        let limit = limit.min(MAX_IMAGES / self.degree.max(1));
        if self.order().is_none_or(|order| order > limit as u128) {
            return None;
        }
        let mut elements: Vec<Permutation> = vec![(0..self.degree as u32).collect()];
        for factor in &self.factors {
            let parts = match &factor.kind {
                Kind::Symmetric => all_permutations(factor.points.len()),
                Kind::Chain(chain) => chain.elements(factor.points.len()),
            };
            let with = |element: &Permutation, part: &Permutation| {
                let mut element = element.clone();
                for (place, &to) in part.iter().enumerate() {
                    element[factor.points[place] as usize] = factor.points[to as usize];
                }
                element
            };
            elements = elements.iter().flat_map(|element| parts.iter().map(move |part| with(element, part))).collect();
        }
        Some(elements)
    }
}

/// For each point the least point that the permutations take it to.
pub(super) fn orbits<'a>(degree: usize, generators: impl IntoIterator<Item = &'a [u32]>) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..degree as u32).collect();
    for generator in generators {
        generator.iter().enumerate().for_each(|(point, &to)| _ = join(&mut parent, point as u32, to));
    }
    (0..degree as u32).map(|point| find(&mut parent, point)).collect()
}

/// Finds the least member of a class, and shortens the way there.
fn find(parent: &mut [u32], mut point: u32) -> u32 {
    while parent[point as usize] != point {
        parent[point as usize] = parent[parent[point as usize] as usize];
        point = parent[point as usize];
    }
    point
}

/// Joins two classes; whether they were two.
fn join(parent: &mut [u32], a: u32, b: u32) -> bool {
    let (a, b) = (find(parent, a), find(parent, b));
    parent[a.max(b) as usize] = a.min(b);
    a != b
}

/// Cuts generators into groups that move no point in common; for each the points, ascending, and the generators.
fn independent(degree: usize, generators: &[Permutation]) -> Vec<(Vec<u32>, Vec<usize>)> {
    let moved = |generator: &Permutation| -> Vec<u32> {
        (0..degree as u32).filter(|&point| generator[point as usize] != point).collect()
    };
    let moved: Vec<Vec<u32>> = generators.iter().map(moved).collect();
    let mut parent: Vec<u32> = (0..degree as u32).collect();
    for points in &moved {
        points.windows(2).for_each(|pair| _ = join(&mut parent, pair[0], pair[1]));
    }
    let mut factors: Vec<(Vec<u32>, Vec<usize>)> = Vec::new();
    let mut number = vec![usize::MAX; degree];
    for (index, points) in moved.iter().enumerate() {
        let Some(&point) = points.first() else { continue };
        let root = find(&mut parent, point) as usize;
        if number[root] == usize::MAX {
            number[root] = factors.len();
            factors.push((Vec::new(), Vec::new()));
        }
        factors[number[root]].1.push(index);
    }
    for point in 0..degree as u32 {
        let root = find(&mut parent, point) as usize;
        if number[root] != usize::MAX {
            factors[number[root]].0.push(point);
        }
    }
    factors
}

/// Whether the generators are seen to make all permutations: one of them swaps two points, and others carry that swap to
/// pairs that join all points.
fn is_symmetric(degree: usize, generators: &[Permutation]) -> bool {
    let moved = |generator: &Permutation| -> Vec<u32> {
        (0..degree as u32).filter(|&point| generator[point as usize] != point).collect()
    };
    let mut queue: Vec<(u32, u32)> = Vec::new();
    let mut parent: Vec<u32> = (0..degree as u32).collect();
    for generator in generators {
        if let [a, b] = moved(generator)[..]
            && join(&mut parent, a, b)
        {
            queue.push((a, b));
        }
    }
    // Points that swap with a common third swap with each other, and images of points that swap do so, too. So joins made
    // are enough to carry on.
    while let Some((a, b)) = queue.pop() {
        for generator in generators {
            let image = (generator[a as usize], generator[b as usize]);
            if join(&mut parent, image.0, image.1) {
                queue.push(image);
            }
        }
    }
    (0..degree as u32).all(|point| find(&mut parent, point) == 0)
}

fn all_permutations(degree: usize) -> Vec<Permutation> {
    let mut permutations: Vec<Vec<u32>> = vec![Vec::new()];
    for next in 0..degree as u32 {
        let insert = |permutation: &Vec<u32>, place: usize| {
            let mut longer = permutation.clone();
            longer.insert(place, next);
            longer
        };
        permutations =
            permutations.iter().flat_map(|old| (0..=old.len()).rev().map(move |place| insert(old, place))).collect();
    }
    permutations.into_iter().map(Vec::into).collect()
}

/// A chain of stabilizers: each level is the part of the one above that fixes the points above.
#[derive(Clone, Debug, Default)]
struct Chain {
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    point: u32,
    /// Where the point goes, itself first, with a permutation that takes it there, and the inverse.
    orbit: Vec<(u32, Permutation, Permutation)>,
    /// The place of each point in the orbit.
    place: Vec<u32>,
    generators: Vec<Permutation>,
}

const NOWHERE: u32 = u32::MAX;

/// First one permutation, then the other.
pub(super) fn then(first: &[u32], second: &[u32]) -> Permutation {
    first.iter().map(|&point| second[point as usize]).collect()
}

pub(super) fn inverse(permutation: &[u32]) -> Permutation {
    let mut inverse = vec![0; permutation.len()].into_boxed_slice();
    permutation.iter().enumerate().for_each(|(point, &to)| inverse[to as usize] = point as u32);
    inverse
}

fn first_moved(permutation: &[u32]) -> Option<u32> {
    (0..permutation.len() as u32).find(|&point| permutation[point as usize] != point)
}

/// What is to be done to a chain.
enum Task {
    /// Add a generator to the levels from `from` to below `above`, the lowest first.
    Extend { from: usize, above: usize, generator: Permutation },
    /// Close the orbit of a level, from a point of it and a generator on; the first `n_known` points are closed under all
    /// generators but the last.
    Close { level: usize, at: usize, next: usize, n_known: usize },
}

/// What may still be done.
struct Work {
    left: u64,
    stop: Stop,
}

impl Work {
    fn spend(&mut self, images: u64) -> Option<()> {
        self.left = self.left.checked_sub(images)?;
        (!self.stop.is_raised()).then_some(())
    }
}

impl Chain {
    /// Adds a generator; `None` if that takes more work than is left.
    fn add(&mut self, generator: Permutation, work: &mut Work) -> Option<()> {
        let (depth, residue) = self.sift(0, generator);
        if first_moved(&residue).is_some() {
            self.extend(depth, residue, work)?;
        }
        Some(())
    }

    /// Divides a permutation that fixes the points above `level` by elements of the chain as far as that goes: the level
    /// at which it ends, and what is left.
    fn sift(&self, mut level: usize, mut permutation: Permutation) -> (usize, Permutation) {
        while let Some(stage) = self.levels.get(level) {
            let place = stage.place[permutation[stage.point as usize] as usize];
            if place == NOWHERE {
                break;
            }
            permutation = then(&permutation, &stage.orbit[place as usize].2);
            level += 1;
        }
        (level, permutation)
    }

    fn contains(&self, permutation: &[u32]) -> bool {
        first_moved(&self.sift(0, permutation.into()).1).is_none()
    }

    /// Makes a permutation that fixes the points above `to` a generator of the levels between, the lowest first, and closes
    /// the orbit of each. That may need further generators of lower levels, which are dealt with first: by a stack of our
    /// own, since there may be thousands of levels.
    fn extend(&mut self, to: usize, generator: Permutation, work: &mut Work) -> Option<()> {
        let mut tasks = vec![self.extension(0, to, generator)];
        while let Some(task) = tasks.last_mut() {
            match task {
                Task::Extend { from, above, generator } => {
                    if above == from {
                        tasks.pop();
                        continue;
                    }
                    *above -= 1;
                    let (level, generator) = (*above, generator.clone());
                    let stage = &mut self.levels[level];
                    stage.generators.push(generator);
                    let (at, next, n_known) = (0, stage.generators.len() - 1, stage.orbit.len());
                    tasks.push(Task::Close { level, at, next, n_known });
                }
                Task::Close { level, at, next, n_known } => match self.close(*level, at, next, *n_known, work)? {
                    Some((depth, residue)) => {
                        let from = *level + 1;
                        tasks.push(self.extension(from, depth, residue));
                    }
                    None => _ = tasks.pop(),
                },
            }
        }
        Some(())
    }

    /// The task to add a generator to some levels; the last of them may be new.
    fn extension(&mut self, from: usize, to: usize, generator: Permutation) -> Task {
        if to == self.levels.len() {
            let point = first_moved(&generator).expect("only what moves a point is added");
            let identity: Permutation = (0..generator.len() as u32).collect();
            let mut place = vec![NOWHERE; generator.len()];
            place[point as usize] = 0;
            let orbit = vec![(point, identity.clone(), identity)];
            self.levels.push(Level { point, orbit, place, generators: vec![] });
        }
        Task::Extend { from, above: to + 1, generator }
    }

    /// Closes the orbit of a level under its generators, the last of which is new, from the point `at` and the generator
    /// `next` on. What takes a point of the orbit to another and back along the known ways fixes the level's point, and so
    /// belongs to the next level: the first such permutation that is new is returned, with the level at which it is.
    #[allow(clippy::type_complexity)]
    fn close(
        &mut self,
        level: usize,
        at: &mut usize,
        next: &mut usize,
        n_known: usize,
        work: &mut Work,
    ) -> Option<Option<(usize, Permutation)>> {
        let n_generators = self.levels[level].generators.len();
        while *at < self.levels[level].orbit.len() {
            while *next < n_generators {
                let stage = &mut self.levels[level];
                let (point, way, _) = &stage.orbit[*at];
                let generator = &stage.generators[*next];
                *next += 1;
                let image = generator[*point as usize];
                let longer = then(way, generator);
                let place = stage.place[image as usize];
                if place == NOWHERE {
                    // What is kept costs memory, too.
                    work.spend(longer.len() as u64 * 64)?;
                    stage.place[image as usize] = stage.orbit.len() as u32;
                    let back = inverse(&longer);
                    stage.orbit.push((image, longer, back));
                    continue;
                }
                let returning = then(&longer, &stage.orbit[place as usize].2);
                work.spend((returning.len() * (self.levels.len() - level)) as u64)?;
                let (depth, residue) = self.sift(level + 1, returning);
                if first_moved(&residue).is_some() {
                    return Some(Some((depth, residue)));
                }
            }
            *at += 1;
            *next = if *at < n_known { n_generators - 1 } else { 0 };
        }
        Some(None)
    }

    /// How many sets of places a set is taken to; `None` if there are more than `limit`.
    fn n_images(&self, set: &[bool], limit: usize) -> Option<u128> {
        let Some(level) = self.levels.first() else { return Some(1) };
        let mut seen: FxHashSet<Vec<bool>> = [set.to_vec()].into_iter().collect();
        let mut queue = vec![set.to_vec()];
        let limit = limit.min(MAX_IMAGES / set.len().max(1));
        while let Some(set) = queue.pop() {
            for generator in &level.generators {
                let mut image = vec![false; set.len()];
                set.iter().zip(generator).for_each(|(&inside, &to)| image[to as usize] = inside);
                if seen.insert(image.clone()) {
                    queue.push(image);
                }
            }
            if seen.len() > limit {
                return None;
            }
        }
        Some(seen.len() as u128)
    }

    /// All elements, the identity first.
    fn elements(&self, degree: usize) -> Vec<Permutation> {
        let mut elements: Vec<Permutation> = vec![(0..degree as u32).collect()];
        for level in self.levels.iter().rev() {
            let times = |element: &Permutation| level.orbit.iter().map(|(_, way, _)| then(element, way)).collect();
            elements = elements.iter().flat_map(|element| -> Vec<Permutation> { times(element) }).collect();
        }
        elements
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn group(degree: usize, generators: &[&[u32]]) -> Group {
        let generators: Vec<Permutation> = generators.iter().map(|&generator| generator.into()).collect();
        Group::new(degree, &generators, 1 << 30, &Stop::never()).expect("small")
    }

    #[test]
    fn orders_of_known_groups() {
        assert_eq!(group(3, &[]).order(), Some(1));
        // The square's corners: a quarter turn and a reflection.
        assert_eq!(group(4, &[&[1, 2, 3, 0], &[1, 0, 3, 2]]).order(), Some(8));
        // All permutations of five points, and the even ones.
        assert_eq!(group(5, &[&[1, 0, 2, 3, 4], &[1, 2, 3, 4, 0]]).order(), Some(120));
        assert_eq!(group(5, &[&[1, 2, 0, 3, 4], &[1, 2, 3, 4, 0]]).order(), Some(60));
        // Two swaps that have nothing to do with each other.
        assert_eq!(group(5, &[&[1, 0, 2, 3, 4], &[0, 1, 2, 4, 3]]).order(), Some(4));
        // The Mathieu group on twelve points.
        let third = [11, 10, 5, 7, 8, 2, 9, 3, 4, 6, 1, 0];
        let m12: [&[u32]; 3] =
            [&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 11], &[0, 1, 6, 9, 5, 3, 10, 2, 8, 4, 7, 11], &third];
        assert_eq!(group(12, &m12).order(), Some(95_040));
    }

    #[test]
    fn large_symmetric_groups_need_no_chain() {
        let n = 3000;
        let cycle: Permutation = (0..n).map(|point| (point + 1) % n).collect();
        let mut swap: Permutation = (0..n).collect();
        swap.swap(7, 8);
        let all =
            Group::new(n as usize, &[cycle.clone(), swap], 1_000_000, &Stop::never()).expect("seen to be symmetric");
        assert_eq!(all.order(), None);
        assert!((9130.0..9131.0).contains(&all.log10_order()));
        assert!(all.contains(&inverse(&cycle)));
    }

    #[test]
    fn work_is_limited() {
        let cycle: Permutation = (0..1000).map(|point| (point + 1) % 1000).collect();
        assert_eq!(Group::new(1000, &[cycle], 5000, &Stop::never()).err(), Some(StopReason::Group(5000)));
    }

    /// All elements by multiplying until nothing is new.
    fn closure(degree: usize, generators: &[Permutation]) -> BTreeSet<Permutation> {
        let mut all: BTreeSet<Permutation> = [(0..degree as u32).collect()].into();
        let mut queue: Vec<Permutation> = all.iter().cloned().collect();
        while let Some(element) = queue.pop() {
            for generator in generators {
                let product = then(&element, generator);
                if all.insert(product.clone()) {
                    queue.push(product);
                }
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn chains_agree_with_multiplying_out(
            generators in prop::collection::vec(Just((0..6u32).collect::<Vec<u32>>()).prop_shuffle(), 0..4),
            other in Just((0..6u32).collect::<Vec<u32>>()).prop_shuffle(),
        ) {
            let generators: Vec<Permutation> = generators.into_iter().map(Vec::into).collect();
            let expected = closure(6, &generators);
            let group = Group::new(6, &generators, 1 << 30, &Stop::never()).expect("small");
            prop_assert_eq!(group.order(), Some(expected.len() as u128));
            prop_assert_eq!(group.contains(&other), expected.contains(&other[..]));
            let elements = group.elements(1000).expect("small");
            prop_assert_eq!(elements.len(), expected.len());
            prop_assert_eq!(elements.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }
}
