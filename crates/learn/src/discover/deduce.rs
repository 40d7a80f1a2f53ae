//! Trees as terms of an evaluation function.
//!
//! Each path from the root to a leaf is a conjunction: what the attribute of each edge says, negated on the side where it
//! does not hold. Paths to leaves of class *won* become terms, those to leaves of class *lost* become negated terms; leaves
//! of class *drawn* give none. Before that, leaves may be left out and paths may be cut short from above, each by one of two
//! rules, which makes nine strategies.

use std::str::FromStr;

use features::structural::fuzzy::Formula;
use features::structural::fuzzy::compile::End;

use super::tree::Tree;

/// Why a node is not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It always is.
    None,
    /// Its class is another than the leaf's.
    Spurious,
    /// It is right about less than half of the examples.
    Dubious,
}

/// How trees are simplified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Which leaves are left out: those that are dubious themselves, or whose node above is of another class.
    pub exclude: Doubt,
    /// Where paths are cut: at the first node above the leaf that is in doubt, with all above it. What the edge out of that
    /// node says stays.
    pub cut: Doubt,
}

impl Strategy {
    /// Dubious leaves left out and spurious nodes cut: small functions that play as well as larger ones.
    pub const DS: Strategy = Strategy { exclude: Doubt::Dubious, cut: Doubt::Spurious };

    /// All nine.
    pub fn all() -> Vec<Strategy> {
        const DOUBTS: [Doubt; 3] = [Doubt::None, Doubt::Spurious, Doubt::Dubious];
        DOUBTS.iter().flat_map(|&cut| DOUBTS.map(|exclude| Strategy { exclude, cut })).collect()
    }

    /// The granularity that suits it: clusters where paths are cut at spurious nodes, else leaves.
    pub fn granularity(self) -> Granularity {
        if self.cut == Doubt::Spurious { Granularity::Cluster } else { Granularity::Leaf }
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |doubt| match doubt {
            Doubt::None => 'N',
            Doubt::Spurious => 'S',
            Doubt::Dubious => 'D',
        };
        write!(out, "{}{}", letter(self.exclude), letter(self.cut))
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Strategy, String> {
        let found = Strategy::all().into_iter().find(|strategy| strategy.to_string() == name);
        found.ok_or_else(|| format!("`{name}` is no strategy; they have two letters of N, S and D each"))
    }
}

/// Which paths share a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Those of a class that leave the root in the same way.
    Minimal,
    /// None.
    Leaf,
    /// Those that end in the same connected set of nodes of one class.
    Cluster,
}

/// The terms of a tree with their weights. `literal` says what an attribute means where it holds and where not.
pub fn deduce(
    tree: &Tree,
    strategy: Strategy,
    granularity: Granularity,
    literal: &dyn Fn(usize, bool) -> Formula,
) -> Vec<(f64, Formula)> {
    let mut terms: Vec<(f64, Formula)> = Vec::new();
    for class in [End::Won, End::Lost] {
        for expression in expressions(tree, class, strategy, granularity, literal) {
            let formula = if class == End::Lost { Formula::Not(Box::new(expression)) } else { expression };
            match terms.iter_mut().find(|(_, other)| *other == formula) {
                Some((weight, _)) => *weight += 1.0,
                None => terms.push((1.0, formula)),
            }
        }
    }
    terms
}

/// What the paths to the leaves of a class say, in the order of the leaves.
fn expressions(
    tree: &Tree,
    class: End,
    strategy: Strategy,
    granularity: Granularity,
    literal: &dyn Fn(usize, bool) -> Formula,
) -> Vec<Formula> {
    let mut groups: Vec<(usize, Vec<Vec<usize>>)> = Vec::new();
    for leaf in tree.leaves().filter(|&leaf| tree.nodes[leaf].class == class) {
        let path = path(tree, leaf, strategy);
        if is_excluded(tree, leaf, strategy.exclude) || path.is_empty() {
            continue;
        }
        let key = key(tree, leaf, granularity);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, paths)) => paths.push(path),
            None => groups.push((key, vec![path])),
        }
    }
    let edge = |node: usize| {
        let (above, side) = tree.nodes[node].above.expect("the root is on no path");
        literal(tree.nodes[above].split.expect("a node above asks for something").attribute, side)
    };
    let expression = |paths: &Vec<Vec<usize>>| factor(&paths.iter().map(Vec::as_slice).collect::<Vec<_>>(), &edge);
    groups.iter().map(|(_, paths)| expression(paths)).collect()
}

fn is_excluded(tree: &Tree, leaf: usize, rule: Doubt) -> bool {
    let node = &tree.nodes[leaf];
    match rule {
        Doubt::None => false,
        Doubt::Dubious => node.certainty < 0.5,
        Doubt::Spurious => node.above.is_some_and(|(above, _)| tree.nodes[above].class != node.class),
    }
}

/// The nodes on the way down to a leaf whose edges count; never the root.
fn path(tree: &Tree, leaf: usize, strategy: Strategy) -> Vec<usize> {
    let mut path = Vec::new();
    let mut place = leaf;
    while let Some((above, _)) = tree.nodes[place].above {
        path.push(place);
        let node = &tree.nodes[above];
        let is_cut = match strategy.cut {
            Doubt::None => false,
            Doubt::Spurious => node.class != tree.nodes[leaf].class,
            Doubt::Dubious => node.certainty < 0.5,
        };
        if is_cut {
            break;
        }
        place = above;
    }
    path.reverse();
    path
}

/// The node that all paths have in common that share a leaf's term.
fn key(tree: &Tree, leaf: usize, granularity: Granularity) -> usize {
    let mut place = leaf;
    while let Some((above, _)) = tree.nodes[place].above {
        let goes_on = match granularity {
            Granularity::Leaf => false,
            Granularity::Minimal => above != 0,
            Granularity::Cluster => tree.nodes[above].class == tree.nodes[leaf].class,
        };
        if !goes_on {
            break;
        }
        place = above;
    }
    place
}

/// The disjunction of paths, each a conjunction, with what they have in common at their beginning written once.
fn factor(paths: &[&[usize]], edge: &impl Fn(usize) -> Formula) -> Formula {
    let mut firsts: Vec<usize> = Vec::new();
    for path in paths {
        if !firsts.contains(&path[0]) {
            firsts.push(path[0]);
        }
    }
    let branch = |&first: &usize| {
        let rests: Vec<&[usize]> = paths.iter().filter(|path| path[0] == first).map(|path| &path[1..]).collect();
        // What ends here holds whatever would follow.
        if rests.iter().any(|rest| rest.is_empty()) {
            return edge(first);
        }
        match factor(&rests, edge) {
            Formula::And(mut parts) => {
                parts.insert(0, edge(first));
                Formula::And(parts)
            }
            other => Formula::And(vec![edge(first), other]),
        }
    };
    let mut branches: Vec<Formula> = firsts.iter().map(branch).collect();
    if branches.len() == 1 { branches.remove(0) } else { Formula::Or(branches) }
}

#[cfg(test)]
mod tests;
