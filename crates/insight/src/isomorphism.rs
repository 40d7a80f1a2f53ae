//! Finding the names of one game under those of another, where the rules are the same.

use rustc_hash::FxHashMap;

use crate::skeleton::{Colors, Skeleton, mix};

/// Enough for any game that we have met, in refinements.
pub(crate) const BUDGET: u32 = 2_000;

/// Rounds of refinement after which names that are still alike are taken to be so. Stable colors come much sooner unless a
/// game has very long chains.
const N_ROUNDS: usize = 1_000;

/// The most mappings that are returned.
const MAX_FOUND: usize = 16;

/// Mappings that make the rules equal: for each name of `source` the name of `target` that it becomes. None if there is none
/// or the budget is spent. If two names are `fixed`, the first becomes the second.
///
/// Where the games have symmetries, there is a choice. The first mapping prefers names with a high `likeness`; each of the
/// others decides differently at one point.
pub(crate) fn find(
    source: &Skeleton,
    target: &Skeleton,
    fixed: Option<(u32, u32)>,
    likeness: impl Fn(u32, u32) -> u32,
    budget: u32,
) -> Vec<Vec<u32>> {
    if source.names.len() != target.names.len() || source.rules.len() != target.rules.len() {
        return Vec::new();
    }
    let mut search = Search { source, target, likeness, budget };
    let (source_colors, target_colors) = match fixed {
        Some((name, image)) => {
            (individualized(source, &source.kinds, name), individualized(target, &target.kinds, image))
        }
        None => {
            let stable = |skeleton: &Skeleton| Colors::stable(skeleton, skeleton.kinds.clone(), N_ROUNDS).names;
            (stable(source), stable(target))
        }
    };
    let mut choices = Vec::new();
    let mut found: Vec<Vec<u32>> =
        search.extend(source_colors, target_colors, Some(&mut choices)).into_iter().collect();
    // Early decisions matter most; they were noted last.
    for Choice { source: colors, target: images, name, others } in choices.into_iter().rev() {
        for image in others {
            if found.len() == MAX_FOUND {
                return found;
            }
            search.budget = search.budget.saturating_sub(1);
            let (from, to) = (individualized(source, &colors, name), individualized(target, &images, image));
            found.extend(search.extend(from, to, None));
        }
    }
    found
}

/// The stable colors after one name was given a color of its own.
fn individualized(skeleton: &Skeleton, colors: &[u64], name: u32) -> Vec<u64> {
    let mut colors = colors.to_vec();
    colors[name as usize] = mix(colors[name as usize], 1);
    Colors::stable(skeleton, colors, N_ROUNDS).names
}

struct Search<'a, L> {
    source: &'a Skeleton,
    target: &'a Skeleton,
    likeness: L,
    budget: u32,
}

/// A name that could become several others.
struct Choice {
    /// The colors before the choice.
    source: Vec<u64>,
    target: Vec<u64>,
    name: u32,
    /// What it might have become instead.
    others: Vec<u32>,
}

impl<L: Fn(u32, u32) -> u32> Search<'_, L> {
    /// Looks for a mapping that keeps stable colors, and notes what it chose. The depth of the recursion is within the
    /// budget.
    fn extend(
        &mut self,
        source: Vec<u64>,
        target: Vec<u64>,
        mut choices: Option<&mut Vec<Choice>>,
    ) -> Option<Vec<u32>> {
        let mut classes: FxHashMap<u64, (Vec<u32>, Vec<u32>)> = FxHashMap::default();
        (0..).zip(&source).for_each(|(name, &color)| classes.entry(color).or_default().0.push(name));
        (0..).zip(&target).for_each(|(name, &color)| classes.entry(color).or_default().1.push(name));
        if classes.values().any(|(source, target)| source.len() != target.len()) {
            return None;
        }
        let open = classes.iter().filter(|(_, (class, _))| class.len() > 1);
        let Some((_, (from, to))) = open.min_by_key(|(color, (class, _))| (class.len(), **color)) else {
            let mut image = vec![0; source.len()];
            classes.values().for_each(|(from, to)| image[from[0] as usize] = to[0]);
            return self.is_right(&image).then_some(image);
        };
        // Any name of the class will do; the one with the clearest image leaves the least to chance.
        let clarity = |&name: &u32| to.iter().map(|&image| (self.likeness)(name, image)).max();
        let name = *from.iter().max_by_key(|name| (clarity(name), std::cmp::Reverse(**name)))?;
        let mut images = to.clone();
        images.sort_by_key(|&image| (std::cmp::Reverse((self.likeness)(name, image)), image));
        for (index, &image) in images.iter().enumerate() {
            self.budget = self.budget.checked_sub(1)?;
            let (one, other) =
                (individualized(self.source, &source, name), individualized(self.target, &target, image));
            if let Some(found) = self.extend(one, other, choices.as_deref_mut()) {
                let others = images.split_off(index + 1);
                if let Some(choices) = choices {
                    choices.push(Choice { source, target, name, others });
                }
                return Some(found);
            }
        }
        None
    }

    /// Whether the mapping makes the rules equal.
    fn is_right(&self, image: &[u32]) -> bool {
        let numbered = |skeleton: &Skeleton, name: &dyn Fn(usize) -> u64| {
            let names = (0..skeleton.names.len()).map(name).collect();
            let mut rules = Colors::new(skeleton, names).rules;
            rules.sort_unstable();
            rules
        };
        let source = numbered(self.source, &|name| mix(9, u64::from(image[name])));
        source == numbered(self.target, &|name| mix(9, name as u64))
    }
}
