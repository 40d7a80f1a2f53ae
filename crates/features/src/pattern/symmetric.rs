//! Patterns up to symmetry.
//!
//! Where a game has symmetries, an evaluation should have them, too: all images of a pattern get the weight of the pattern, or
//! its opposite where the symmetry swaps who is better off. So an orbit of patterns is one column whose value is the number of
//! its patterns that match, each with its sign. A fit of such columns on some positions is the same as a fit of all patterns
//! on all images of the positions, at a fraction of the cost: for the sixteen symmetries of Othello, with a sixteenth of the
//! rows and a sixteenth of the columns.

use insight::symmetry::Action;

use super::frequency::{Incidence, Positions};
use super::set::{Literal, Patterns};

/// A symmetry as it acts on literals and on values.
#[derive(Clone, Debug)]
pub struct Image {
    /// The image of each literal.
    literals: Vec<Literal>,
    /// 1 if values stay, -1 if they become their opposites.
    pub sign: i8,
}

impl Image {
    /// What a symmetry does with the fluents of a network, and whether it makes values their opposites.
    pub fn new(action: &Action, n_fluents: usize, opposite: bool) -> Image {
        let image = |literal: Literal| {
            let (fluent, inverted) = action.fluent(literal.fact());
            Literal::of(fluent).negate_if(inverted != literal.is_negated())
        };
        let literals = (0..2 * n_fluents as u32).map(|literal| image(Literal(literal))).collect();
        Image { literals, sign: if opposite { -1 } else { 1 } }
    }

    /// The image of a pattern.
    pub fn apply(&self, pattern: &[Literal], into: &mut Vec<Literal>) {
        into.clear();
        into.extend(pattern.iter().map(|literal| self.literals[literal.0 as usize]));
        into.sort_unstable();
    }
}

/// The patterns of an orbit, each once with its sign, ascending; none if one of them is its own opposite.
pub type Orbit = Vec<(Box<[Literal]>, i8)>;

/// The orbit of a pattern.
pub fn orbit(pattern: &[Literal], group: &[Image]) -> Orbit {
    let mut image = Vec::new();
    let mut members = Orbit::new();
    for symmetry in group {
        symmetry.apply(pattern, &mut image);
        members.push((image.as_slice().into(), symmetry.sign));
    }
    members.sort_unstable();
    members.dedup();
    if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        members.clear();
    }
    members
}

/// The least pattern of each orbit that has a member among the patterns, in the order of these.
pub fn representatives(patterns: &Patterns, group: &[Image]) -> Patterns {
    let mut result = Patterns::default();
    let (mut image, mut least) = (Vec::new(), Vec::new());
    for pattern in patterns.iter() {
        least.clear();
        least.extend_from_slice(pattern);
        for symmetry in group {
            symmetry.apply(pattern, &mut image);
            if image < least {
                std::mem::swap(&mut image, &mut least);
            }
        }
        result.insert(&least);
    }
    result
}

/// The entries of an orbit's column: each position where the signs of the matching patterns don't cancel, with their sum.
pub fn entries(members: &[(Box<[Literal]>, i8)], positions: &Positions, entries: &mut Vec<(u32, i8)>) {
    let from = entries.len();
    let mut rows = Vec::new();
    for (pattern, sign) in members {
        rows.clear();
        positions.matching(pattern, &mut rows);
        entries.extend(rows.iter().map(|&row| (row, *sign)));
    }
    entries[from..].sort_unstable_by_key(|&(row, _)| row);
    let mut kept = from;
    let mut index = from;
    while index < entries.len() {
        let row = entries[index].0;
        let mut sum = 0;
        while index < entries.len() && entries[index].0 == row {
            sum += entries[index].1;
            index += 1;
        }
        if sum != 0 {
            entries[kept] = (row, sum);
            kept += 1;
        }
    }
    entries.truncate(kept);
}

/// The matrix of orbits.
pub fn incidence(orbits: &[Orbit], positions: &Positions, threads: usize) -> Incidence {
    Incidence::from_columns(positions.len(), orbits.len(), threads, |column, into| {
        entries(&orbits[column as usize], positions, into);
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::pattern::refit;

    /// Twelve fluents as two rows of six; one symmetry swaps the rows and is opposite, one reverses both rows.
    fn group() -> Vec<Image> {
        let image = |swap: bool, reverse: bool| {
            let fluent = |fluent: u32| {
                let (row, place) = ((fluent / 6) ^ u32::from(swap), fluent % 6);
                6 * row + if reverse { 5 - place } else { place }
            };
            let literal = |literal| Literal::of(fluent(Literal(literal).fact())).negate_if(literal & 1 == 1);
            Image { literals: (0..24).map(literal).collect(), sign: if swap { -1 } else { 1 } }
        };
        vec![image(false, false), image(true, false), image(false, true), image(true, true)]
    }

    fn state_image(symmetry: &Image, state: u64) -> u64 {
        let held = (0..12).filter(|fluent| state >> fluent & 1 == 1);
        held.fold(0, |image, fluent| image | 1 << symmetry.literals[2 * fluent as usize].fact())
    }

    #[test]
    fn orbits_have_their_members_and_signs() {
        let group = group();
        let pattern = |fluents: &[u32]| fluents.iter().map(|&fluent| Literal::of(fluent)).collect::<Vec<_>>();
        let members = orbit(&pattern(&[0, 1]), &group);
        let expected: [(&[u32], i8); 4] = [(&[0, 1], 1), (&[4, 5], 1), (&[6, 7], -1), (&[10, 11], -1)];
        assert_eq!(members, expected.map(|(fluents, sign)| (pattern(fluents).into(), sign)));
        assert_eq!(orbit(&pattern(&[0, 5]), &group).len(), 2);
        assert!(orbit(&pattern(&[2, 8]), &group).is_empty(), "it is its own opposite");
        let all: Patterns = [[4, 5], [10, 11], [1, 2]].iter().map(|fluents| pattern(fluents)).collect();
        assert_eq!(representatives(&all, &group).iter().collect::<Vec<_>>(), [pattern(&[0, 1]), pattern(&[1, 2])]);
    }

    #[test]
    fn fitting_orbits_is_fitting_all_images() {
        let group = group();
        let mut rng = Pcg64Mcg::seed_from_u64(9);
        let states: Vec<u64> = (0..200).map(|_| rng.random_range(0..1 << 12)).collect();
        let labels: Vec<f64> = states.iter().map(|_| f64::from(rng.random_range(-9..10))).collect();
        let mut seeds = Patterns::default();
        while seeds.len() < 20 {
            let mut pattern: Vec<Literal> = (0..3).map(|_| Literal(rng.random_range(0..24))).collect();
            pattern.sort_unstable();
            pattern.dedup_by_key(|literal| literal.fact());
            if orbit(&pattern, &group).len() == 4 {
                seeds.insert(&pattern);
            }
        }
        let seeds = representatives(&seeds, &group);
        let orbits: Vec<_> = seeds.iter().map(|pattern| orbit(pattern, &group)).collect();
        let settings =
            refit::Settings { tolerance: 1e-12, iterations: 1000, intercept: false, ..refit::Settings::default() };
        // Step 1. One column for each orbit.
        let positions = Positions::new(12, states.iter().map(std::slice::from_ref));
        let rows = incidence(&orbits, &positions, 1);
        let by_orbit = refit::ridge(&rows, &labels, &settings);
        // Step 2. Every pattern and every image of the positions.
        let images = || states.iter().flat_map(|&state| group.iter().map(move |image| state_image(image, state)));
        let images: Vec<u64> = images().collect();
        let signed = |&label: &f64| group.iter().map(move |image| f64::from(image.sign) * label).collect::<Vec<f64>>();
        let all_labels: Vec<f64> = labels.iter().flat_map(signed).collect();
        let positions = Positions::new(12, images.iter().map(std::slice::from_ref));
        let patterns: Patterns = orbits.iter().flatten().map(|(pattern, _)| pattern.clone()).collect();
        let chosen: Vec<u32> = (0..patterns.len() as u32).collect();
        let all_rows = Incidence::of(&patterns, &chosen, &positions, 1);
        let by_pattern = refit::ridge(&all_rows, &all_labels, &settings);
        for (row, image) in (0..states.len()).map(|row| (row, 4 * row)) {
            let (one, other) = (by_orbit.predict(&rows, row), by_pattern.predict(&all_rows, image));
            assert!((one - other).abs() < 1e-6, "{one} {other}");
        }
    }
}
