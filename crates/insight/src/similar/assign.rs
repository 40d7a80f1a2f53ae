//! Assigning the names of one game to those of another so that many rules become equal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::weight;
use crate::rule_form::rule_form;
use crate::skeleton::{Colors, Name, Node, Shape, Skeleton, mix, node_color, rule_color};

/// How far around a rule its surroundings are compared, in steps of refinement.
const N_STEPS: usize = 4;

/// The most pairs of rules that look alike and are compared with each other at one time.
const MAX_PAIRS: usize = 400;

/// The most steps that matching the literals of two rules takes.
const MAX_MATCHING: u32 = 400;

/// An assignment of names.
pub(super) struct Assignment {
    /// For each name of the source what it becomes.
    pub(super) image: Vec<Option<u32>>,
    /// For each rule of the source the rule of the target that it becomes.
    pub(super) rules: Vec<Option<usize>>,
    /// Whether the budget was spent.
    pub(super) is_cut_short: bool,
}

/// Looks for a good assignment; `budget` limits the attempts to match two rules.
pub(super) fn assign(source: &Skeleton, target: &Skeleton, budget: u32) -> Assignment {
    let mut search = Search::new(source, target, budget);
    // The wider the surroundings that look alike, the surer the match.
    let steps = |skeleton: &Skeleton| {
        let first = Colors::new(skeleton, skeleton.kinds.clone());
        let mut steps = vec![first];
        for step in 0..N_STEPS {
            steps.push(steps[step].refined(skeleton));
        }
        steps
    };
    for (from, to) in steps(source).iter().zip(&steps(target)).rev() {
        search.match_rules(&from.rules, &to.rules);
    }
    search.improve();
    let rules = search.exact_matches();
    Assignment { image: search.image, rules, is_cut_short: search.budget == 0 }
}

struct Search<'a> {
    source: &'a Skeleton,
    target: &'a Skeleton,
    image: Vec<Option<u32>>,
    origin: Vec<Option<u32>>,
    /// The rules that were matched one by one.
    done: (Vec<bool>, Vec<bool>),
    /// The names in each rule, without those that are assigned from the start.
    names: (Vec<Vec<u32>>, Vec<Vec<u32>>),
    /// The colors of the target's rules when every name has a color of its own.
    exact: FxHashMap<u64, Vec<usize>>,
    budget: u32,
}

/// The color of a name of the target that stands for nothing but itself.
fn own_color(name: u32) -> u64 {
    mix(31, u64::from(name))
}

impl<'a> Search<'a> {
    fn new(source: &'a Skeleton, target: &'a Skeleton, budget: u32) -> Search<'a> {
        let mut image = vec![None; source.names.len()];
        let mut origin = vec![None; target.names.len()];
        // Keywords and goal values are the same in all games.
        let is_fixed = |name: &Name| matches!(name, Name::Keyword(_) | Name::Value(_));
        for (name, kind) in source.kinds.iter().enumerate().filter(|(name, _)| is_fixed(&source.names[*name])) {
            if let Some(same) = target.kinds.iter().position(|other| other == kind) {
                (image[name], origin[same]) = (Some(same as u32), Some(name as u32));
            }
        }
        let names = |skeleton: &Skeleton| {
            let of_rule = |rule: &Shape| {
                let mut names = Vec::new();
                [&rule.head].into_iter().chain(&rule.body).for_each(|node| collect_names(node, &mut names));
                names.retain(|&name| !is_fixed(&skeleton.names[name as usize]));
                names.sort_unstable();
                names.dedup();
                names
            };
            skeleton.rules.iter().map(of_rule).collect::<Vec<_>>()
        };
        let colors: Vec<u64> = (0..target.names.len() as u32).map(own_color).collect();
        let mut exact: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (number, rule) in target.rules.iter().enumerate() {
            exact.entry(rule_color(rule, &colors)).or_default().push(number);
        }
        let done = (vec![false; source.rules.len()], vec![false; target.rules.len()]);
        Search { source, target, image, origin, done, names: (names(source), names(target)), exact, budget }
    }

    /// Matches rules of equal colors: first those that have no rival, then those of which most is known.
    fn match_rules(&mut self, from: &[u64], to: &[u64]) {
        let mut classes: FxHashMap<u64, (Vec<usize>, Vec<usize>)> = FxHashMap::default();
        for (rule, &color) in from.iter().enumerate().filter(|(rule, _)| !self.done.0[*rule]) {
            classes.entry(color).or_default().0.push(rule);
        }
        for (rule, &color) in to.iter().enumerate().filter(|(rule, _)| !self.done.1[*rule]) {
            classes.entry(color).or_default().1.push(rule);
        }
        let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
        for (ones, others) in classes.values() {
            let n_pairs = ones.len() * others.len();
            // Of very many that are alike, those at the same place in canonical order come first.
            let by_distance = (0..ones.len().max(others.len())).flat_map(|distance| {
                let later = (0..ones.len()).map(move |at| (at, at + distance));
                later.chain((0..if distance == 0 { 0 } else { others.len() }).map(move |at| (at + distance, at)))
            });
            let pair = |(one, other): (usize, usize)| Some((n_pairs, *ones.get(one)?, *others.get(other)?));
            let n_kept = MAX_PAIRS.max(ones.len().min(others.len()));
            pairs.extend(by_distance.filter_map(pair).take(n_kept.min(n_pairs)));
        }
        // Hash order must not show.
        pairs.sort_unstable();
        // The best pair comes first. What is known of a pair only grows, and then it is entered again.
        let entry = |search: &Search, index: usize| {
            let (n_rivals, one, other) = pairs[index];
            let n_known = search.n_known(one, other)?;
            Some((n_known, Reverse(n_rivals), weight(&search.source.rules[one]), Reverse(index)))
        };
        let mut by_name: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (index, &(_, one, _)) in pairs.iter().enumerate() {
            self.names.0[one].iter().for_each(|&name| by_name.entry(name).or_default().push(index));
        }
        let mut heap: BinaryHeap<_> = (0..pairs.len()).filter_map(|index| entry(self, index)).collect();
        while let Some(best) = heap.pop().filter(|_| self.budget > 0) {
            let Reverse(index) = best.3;
            let (_, one, other) = pairs[index];
            if self.done.0[one] || self.done.1[other] || entry(self, index) != Some(best) {
                continue;
            }
            self.budget -= 1;
            let known = Known { image: &self.image, origin: &self.origin };
            let rules = (&self.source.rules[one], &self.target.rules[other]);
            let Some(new) = unify(rules.0, rules.1, self.source, self.target, &known) else { continue };
            (self.done.0[one], self.done.1[other]) = (true, true);
            for &(name, image) in &new {
                (self.image[name as usize], self.origin[image as usize]) = (Some(image), Some(name));
            }
            let touched = new.iter().filter_map(|(name, _)| by_name.get(name)).flatten();
            heap.extend(touched.filter_map(|&index| entry(self, index)));
        }
    }

    /// How many names of two rules are assigned to each other; `None` if one is assigned to something else.
    fn n_known(&self, one: usize, other: usize) -> Option<usize> {
        let (names, images) = (&self.names.0[one], &self.names.1[other]);
        let mut n_known = 0;
        for &name in names {
            match self.image[name as usize] {
                Some(image) if images.binary_search(&image).is_ok() => n_known += 1,
                Some(_) => return None,
                None => {}
            }
        }
        let is_taken =
            |&image: &u32| self.origin[image as usize].is_some_and(|name| names.binary_search(&name).is_err());
        (names.len() == images.len() && !images.iter().any(is_taken)).then_some(n_known)
    }

    /// The colors of the source's names under the assignment.
    fn colors(&self) -> Vec<u64> {
        self.image.iter().zip(0u64..).map(|(image, name)| image.map_or_else(|| mix(37, name), own_color)).collect()
    }

    /// The rules that are equal under the assignment.
    fn exact_matches(&self) -> Vec<Option<usize>> {
        let (ours, n_theirs) = (self.colors(), self.target.names.len() as u32);
        let theirs: Vec<u64> = (0..n_theirs).map(own_color).collect();
        let mut left: FxHashMap<Shape, Vec<usize>> = FxHashMap::default();
        for (number, rule) in self.target.rules.iter().enumerate().rev() {
            left.entry(rule_form(rule, &theirs, &|name| name)).or_default().push(number);
        }
        let image = |name: u32| self.image[name as usize].unwrap_or(n_theirs + name);
        let form = |rule: &Shape| rule_form(rule, &ours, &image);
        self.source.rules.iter().map(|rule| left.get_mut(&form(rule)).and_then(Vec::pop)).collect()
    }

    /// The rules that look equal under the assignment.
    fn matches(&self) -> Vec<Option<usize>> {
        let colors = self.colors();
        let mut left = self.exact.clone();
        left.values_mut().for_each(|rules| rules.reverse());
        let rules = self.source.rules.iter();
        rules.map(|rule| left.get_mut(&rule_color(rule, &colors)).and_then(Vec::pop)).collect()
    }

    fn score(&self) -> u32 {
        let matches = self.matches();
        let matched = self.source.rules.iter().zip(&matches).filter(|(_, image)| image.is_some());
        matched.map(|(rule, _)| weight(rule)).sum()
    }

    /// Tries to match rules that are left over at the cost of others, as long as the sum grows.
    fn improve(&mut self) {
        let kinds = |skeleton: &Skeleton| Colors::new(skeleton, skeleton.kinds.clone()).rules;
        let (from, to) = (kinds(self.source), kinds(self.target));
        let mut alike: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        to.iter().enumerate().for_each(|(rule, &color)| alike.entry(color).or_default().push(rule));
        let fixed = Search::new(self.source, self.target, 0);
        let nothing = Known { image: &fixed.image, origin: &fixed.origin };
        let taken = |matches: &[Option<usize>]| matches.iter().flatten().copied().collect::<FxHashSet<usize>>();
        let (mut matches, mut score) = (self.matches(), self.score());
        let mut is_taken = taken(&matches);
        for (one, color) in from.iter().enumerate() {
            for &other in alike.get(color).map_or(&[][..], Vec::as_slice) {
                if matches[one].is_some() || is_taken.contains(&other) {
                    continue;
                }
                // Each attempt costs as much as many comparisons, since all rules are matched anew.
                let Some(budget) = self.budget.checked_sub(50) else { return };
                self.budget = budget;
                let rules = (&self.source.rules[one], &self.target.rules[other]);
                let Some(wanted) = unify(rules.0, rules.1, self.source, self.target, &nothing) else { continue };
                let before = (self.image.clone(), self.origin.clone());
                wanted.into_iter().for_each(|(name, image)| self.exchange(name, image));
                let now = self.score();
                if now > score {
                    (score, matches) = (now, self.matches());
                    is_taken = taken(&matches);
                } else {
                    (self.image, self.origin) = before;
                }
            }
        }
    }

    /// Assigns a name. What had the image before gets what the name had, so that both stay assigned.
    fn exchange(&mut self, name: u32, image: u32) {
        let (old_image, old_name) = (self.image[name as usize], self.origin[image as usize]);
        if old_image == Some(image) {
            return;
        }
        if let Some(old_name) = old_name {
            self.image[old_name as usize] = old_image;
        }
        if let Some(old_image) = old_image {
            self.origin[old_image as usize] = old_name;
        }
        (self.image[name as usize], self.origin[image as usize]) = (Some(image), Some(name));
    }
}

fn collect_names(node: &Node, names: &mut Vec<u32>) {
    let (Node::Applied(_, parts) | Node::Joined(_, parts)) = node else { return };
    if let Node::Applied(name, _) = node {
        names.push(*name);
    }
    parts.iter().for_each(|part| collect_names(part, names));
}

/// What is assigned already.
struct Known<'a> {
    image: &'a [Option<u32>],
    origin: &'a [Option<u32>],
}

/// The names that must be assigned to make two rules equal, beside those that are; `None` if it can't be done.
fn unify(one: &Shape, other: &Shape, source: &Skeleton, target: &Skeleton, known: &Known) -> Option<Vec<(u32, u32)>> {
    if one.n_vars != other.n_vars || one.body.len() != other.body.len() {
        return None;
    }
    let mut unifier = Unifier { source, target, known, new: Vec::new(), vars: Vec::new(), n_left: MAX_MATCHING };
    let goals =
        vec![Goal::Sets(one.body.iter().collect(), other.body.iter().collect()), Goal::Nodes(&one.head, &other.head)];
    unifier.solve(goals).then_some(unifier.new)
}

/// Something that must be made equal.
#[derive(Clone)]
enum Goal<'a> {
    Nodes(&'a Node, &'a Node),
    /// In any order.
    Sets(Vec<&'a Node>, Vec<&'a Node>),
}

struct Unifier<'a> {
    source: &'a Skeleton,
    target: &'a Skeleton,
    known: &'a Known<'a>,
    /// What has been assigned on the way.
    new: Vec<(u32, u32)>,
    vars: Vec<(u32, u32)>,
    n_left: u32,
}

impl<'a> Unifier<'a> {
    /// Reaches all goals, the last one first, or leaves everything as it was.
    fn solve(&mut self, mut goals: Vec<Goal<'a>>) -> bool {
        let (n_new, n_vars) = (self.new.len(), self.vars.len());
        let is_solved = loop {
            let Some(goal) = goals.pop() else { break true };
            let Some(n_left) = self.n_left.checked_sub(1) else { break false };
            self.n_left = n_left;
            match goal {
                Goal::Nodes(Node::Var(one), Node::Var(other)) => {
                    if !assigned(&mut self.vars, *one, *other) {
                        break false;
                    }
                }
                Goal::Nodes(Node::Applied(one, parts), Node::Applied(other, others)) => {
                    if parts.len() != others.len() || !self.name(*one, *other) {
                        break false;
                    }
                    goals.extend(parts.iter().zip(others).map(|(one, other)| Goal::Nodes(one, other)));
                }
                Goal::Nodes(Node::Joined(one, parts), Node::Joined(other, others)) if one == other => {
                    goals.push(Goal::Sets(parts.iter().collect(), others.iter().collect()));
                }
                Goal::Nodes(..) => break false,
                Goal::Sets(ones, others) if ones.len() != others.len() => break false,
                Goal::Sets(ones, _) if ones.is_empty() => {}
                Goal::Sets(mut ones, others) => {
                    // The one with the fewest partners first.
                    let looks: Vec<u64> = others.iter().map(|node| self.look(node, false)).collect();
                    let partners = |node: &Node, unifier: &Self| {
                        let look = unifier.look(node, true);
                        (0..others.len()).filter(|&other| looks[other] == look).collect::<Vec<_>>()
                    };
                    let all: Vec<Vec<usize>> = ones.iter().map(|node| partners(node, self)).collect();
                    let at = (0..ones.len()).min_by_key(|&at| all[at].len()).expect("not empty");
                    let one = ones.remove(at);
                    break all[at].iter().any(|&partner| {
                        let mut rest = others.clone();
                        let other = rest.remove(partner);
                        let mut goals = goals.clone();
                        goals.push(Goal::Sets(ones.clone(), rest));
                        goals.push(Goal::Nodes(one, other));
                        self.solve(goals)
                    });
                }
            }
        };
        if !is_solved {
            self.new.truncate(n_new);
            self.vars.truncate(n_vars);
        }
        is_solved
    }

    fn name(&mut self, one: u32, other: u32) -> bool {
        if self.source.kinds[one as usize] != self.target.kinds[other as usize] {
            return false;
        }
        match (self.known.image[one as usize], self.known.origin[other as usize]) {
            (Some(image), _) => image == other,
            (None, Some(_)) => false,
            (None, None) => assigned(&mut self.new, one, other),
        }
    }

    /// What is known of a node, as a number: names that are assigned, and the kinds of the others.
    fn look(&self, node: &Node, of_source: bool) -> u64 {
        match node {
            Node::Var(_) => 41,
            Node::Applied(name, args) => {
                let name = *name as usize;
                let image =
                    if of_source { self.known.image[name] } else { self.known.origin[name].map(|_| name as u32) };
                let skeleton = if of_source { self.source } else { self.target };
                let start = image.map_or(skeleton.kinds[name], own_color);
                args.iter().fold(start, |look, arg| mix(look, self.look(arg, of_source)))
            }
            Node::Joined(join, parts) => {
                let sum = parts.iter().fold(0u64, |sum, part| sum.wrapping_add(self.look(part, of_source)));
                mix(43 + *join as u64, sum)
            }
        }
    }
}

/// Assigns two things to each other, unless one of them is assigned to something else.
fn assigned(pairs: &mut Vec<(u32, u32)>, one: u32, other: u32) -> bool {
    match pairs.iter().find(|pair| pair.0 == one || pair.1 == other) {
        Some(pair) => *pair == (one, other),
        None => {
            pairs.push((one, other));
            true
        }
    }
}

/// For each rule, what its literals look like under an assignment, variables aside; ascending.
pub(super) fn literal_looks(skeleton: &Skeleton, name: impl Fn(u32) -> Option<u32>) -> Vec<Vec<u64>> {
    let names = 0..skeleton.names.len() as u32;
    let names: Vec<u64> = names.map(|own| name(own).map_or_else(|| mix(37, u64::from(own)), own_color)).collect();
    let looks = |rule: &Shape| {
        let vars = vec![0; rule.n_vars as usize];
        let mut looks: Vec<u64> = rule.body.iter().map(|literal| node_color(literal, &names, &vars)).collect();
        looks.sort_unstable();
        looks
    };
    skeleton.rules.iter().map(looks).collect()
}
