//! Finding the names of one game under those of another, where the rules are the same.

use rustc_hash::FxHashMap;

use crate::skeleton::{Colors, Skeleton, mix};

/// Enough for any game that we have met, in refinements.
pub(crate) const BUDGET: u32 = 2_000;

/// Rounds of refinement after which names that are still alike are taken to be so. Stable colors come much sooner unless a
/// game has very long chains.
const N_ROUNDS: usize = 1_000;

/// For each name of `source` the name of `target` that makes the rules equal, or `None` if there is none or the budget is
/// spent. If two names are `fixed`, the first becomes the second. Where there is a choice, names with a higher `likeness`
/// come first.
pub(crate) fn find(
    source: &Skeleton,
    target: &Skeleton,
    fixed: Option<(u32, u32)>,
    likeness: impl Fn(u32, u32) -> u32,
    budget: u32,
) -> Option<Vec<u32>> {
    if source.names.len() != target.names.len() || source.rules.len() != target.rules.len() {
        return None;
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
    search.extend(source_colors, target_colors)
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

impl<L: Fn(u32, u32) -> u32> Search<'_, L> {
    /// Looks for a mapping that keeps stable colors. The depth of the recursion is within the budget.
    fn extend(&mut self, source: Vec<u64>, target: Vec<u64>) -> Option<Vec<u32>> {
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
        for image in images {
            self.budget = self.budget.checked_sub(1)?;
            let source = individualized(self.source, &source, name);
            let target = individualized(self.target, &target, image);
            if let Some(found) = self.extend(source, target) {
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
        numbered(self.source, &|name| mix(9, u64::from(image[name])))
            == numbered(self.target, &|name| mix(9, name as u64))
    }
}
