//! Finding the names of one game under those of another, where the rules are the same.

use rustc_hash::FxHashMap;

use crate::rule_form::rule_form;
use crate::skeleton::{Colors, Shape, Skeleton, mix};

/// Enough for any game that we have met, in rules and names that are colored.
pub(crate) const BUDGET: u64 = 4_000_000;

/// The most names of a class of which the one with the clearest image is chosen.
const MAX_COMPARED: usize = 32;

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
    budget: &mut u64,
) -> Vec<Vec<u32>> {
    if source.names.len() != target.names.len() || source.rules.len() != target.rules.len() {
        return Vec::new();
    }
    let mut search = Search { source, target, likeness, budget };
    let (names, images) = fixed.map_or((None, None), |(name, image)| (Some(name), Some(image)));
    let mut choices = Vec::new();
    let colors = search.colors(&source.kinds, names, &target.kinds, images);
    let mut found: Vec<Vec<u32>> =
        colors.and_then(|(from, to)| search.extend(from, to, Some(&mut choices))).into_iter().collect();
    // Early decisions matter most; they were noted last.
    for Choice { source: colors, target: images, name, others } in choices.into_iter().rev() {
        for image in others {
            if found.len() == MAX_FOUND {
                return found;
            }
            let refined = search.colors(&colors, Some(name), &images, Some(image));
            found.extend(refined.and_then(|(from, to)| search.extend(from, to, None)));
        }
    }
    found
}

struct Search<'a, L> {
    source: &'a Skeleton,
    target: &'a Skeleton,
    likeness: L,
    budget: &'a mut u64,
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
    /// Looks for a mapping that keeps stable colors, and notes what it chose. The depth of the recursion is at
    /// most the number of names.
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
        let candidates = &from[..from.len().min(MAX_COMPARED)];
        let name = *candidates.iter().max_by_key(|name| (clarity(name), std::cmp::Reverse(**name)))?;
        let mut images = to.clone();
        images.sort_by_key(|&image| (std::cmp::Reverse((self.likeness)(name, image)), image));
        for (index, &image) in images.iter().enumerate() {
            let (one, other) = self.colors(&source, Some(name), &target, Some(image))?;
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

    /// The stable colors of both games after a name of each was given a color of its own; `None` if the budget is spent.
    fn colors(
        &mut self,
        source: &[u64],
        name: Option<u32>,
        target: &[u64],
        image: Option<u32>,
    ) -> Option<(Vec<u64>, Vec<u64>)> {
        let mut stable = |skeleton: &Skeleton, colors: &[u64], name: Option<u32>| {
            let mut colors = colors.to_vec();
            if let Some(name) = name {
                colors[name as usize] = mix(colors[name as usize], 1);
            }
            Some(Colors::stable(skeleton, colors, self.budget)?.names)
        };
        Some((stable(self.source, source, name)?, stable(self.target, target, image)?))
    }

    /// Whether the mapping makes the rules equal, rule by rule.
    fn is_right(&self, image: &[u32]) -> bool {
        let forms = |skeleton: &Skeleton, name: &dyn Fn(u32) -> u32| {
            let colors: Vec<u64> = (0..skeleton.names.len() as u32).map(|own| mix(9, u64::from(name(own)))).collect();
            let form = |rule: &Shape| rule_form(rule, &colors, &name);
            let mut n_rules: FxHashMap<Shape, usize> = FxHashMap::default();
            skeleton.rules.iter().for_each(|rule| *n_rules.entry(form(rule)).or_default() += 1);
            n_rules
        };
        forms(self.source, &|name| image[name as usize]) == forms(self.target, &|name| name)
    }
}
