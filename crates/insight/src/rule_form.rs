//! Rules in one form, whatever their variables are called and whichever literal comes first.
//!
//! Colors of variables ([`variable_colors`]) tell most of them apart, but not all: six variables in a circle look like six in
//! two circles of three. So where variables share a color, the rule is drawn as a graph, whose canonical order numbers them.
//! Two rules with equal forms are equal, since a form is its rule with its variables renamed; and equal rules have equal forms,
//! unless the graph is too hard to label.

use gdl::Stop;
use rustc_hash::FxHashMap;

use crate::graph::{Graph, inverse};
use crate::skeleton::{Join, Node, Shape, variable_colors};

/// Search nodes for the order of a rule's variables.
const BUDGET: u64 = 10_000;

/// The form of a rule in which each name is called by a number; `colors` are colors of the names that say as much.
pub(crate) fn rule_form(rule: &Shape, colors: &[u64], name: &impl Fn(u32) -> u32) -> Shape {
    let place = places(rule, &variable_colors(rule, colors), name);
    let mut body: Vec<Node> = rule.body.iter().map(|literal| renamed(literal, &place, name)).collect();
    body.sort_unstable();
    Shape { head: renamed(&rule.head, &place, name), body, n_vars: rule.n_vars }
}

fn renamed(node: &Node, place: &[u32], name: &impl Fn(u32) -> u32) -> Node {
    let all = |parts: &[Node]| parts.iter().map(|part| renamed(part, place, name)).collect::<Vec<_>>();
    match node {
        Node::Var(var) => Node::Var(place[*var as usize]),
        Node::Applied(own, args) => Node::Applied(name(*own), all(args)),
        Node::Joined(join, parts) => {
            let mut parts = all(parts);
            parts.sort_unstable();
            Node::Joined(*join, parts)
        }
    }
}

/// A number for each variable, the same for rules that are the same.
fn places(rule: &Shape, colors: &[u64], name: &impl Fn(u32) -> u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..rule.n_vars).collect();
    order.sort_by_key(|&var| colors[var as usize]);
    if order.windows(2).any(|pair| colors[pair[0] as usize] == colors[pair[1] as usize]) {
        // The nodes of variables come first in the graph.
        let graph = draw(rule, colors, name);
        let label = graph.label(BUDGET, &Stop::never());
        let whole = label.map_or_else(|_| graph.rough_order(&Stop::never()), |labelling| labelling.order);
        order = whole.into_iter().filter(|&node| node < rule.n_vars).collect();
    }
    inverse(&order)
}

/// What a node of the graph is; nodes of the same kind have one color.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Variable(u64),
    Occurrence,
    Applied(u32),
    Joined(Join),
    Head,
    Body,
}

/// Every occurrence of a name, a connective or a variable is a node with edges to its arguments; where their order matters,
/// there is an edge from each to the next. A variable has one more node with edges to its occurrences.
fn draw(rule: &Shape, colors: &[u64], name: &impl Fn(u32) -> u32) -> Graph {
    let mut kinds: Vec<Kind> = colors.iter().map(|&color| Kind::Variable(color)).collect();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (root, formula) in [(Kind::Head, &rule.head)].into_iter().chain(rule.body.iter().map(|node| (Kind::Body, node)))
    {
        kinds.push(root);
        let mut waiting = vec![(kinds.len() as u32 - 1, formula)];
        while let Some((parent, node)) = waiting.pop() {
            let own = kinds.len() as u32;
            edges.push((parent, own));
            let (kind, parts): (Kind, &[Node]) = match node {
                Node::Var(var) => {
                    edges.push((*var, own));
                    (Kind::Occurrence, &[])
                }
                Node::Applied(symbol, args) => (Kind::Applied(name(*symbol)), args),
                Node::Joined(join, parts) => (Kind::Joined(*join), parts),
            };
            kinds.push(kind);
            // A holder for each argument, so that the order of holders is that of arguments.
            let first = kinds.len() as u32;
            for (at, part) in (first..).zip(parts) {
                kinds.push(Kind::Occurrence);
                edges.push((own, at));
                if matches!(kind, Kind::Applied(_)) && at > first {
                    edges.push((at - 1, at));
                }
                waiting.push((at, part));
            }
        }
    }
    let mut all = kinds.clone();
    all.sort_unstable();
    all.dedup();
    let number: FxHashMap<Kind, u32> = all.into_iter().zip(0..).collect();
    Graph { colors: kinds.iter().map(|kind| number[kind]).collect(), edges }
}

#[cfg(test)]
mod tests {
    use gdl::program::RuleId;

    use super::*;
    use crate::skeleton::{Name, Skeleton};

    /// A rule about edges between variables.
    fn edges(pairs: &[(u32, u32)]) -> Shape {
        let edge = |&(from, to): &(u32, u32)| Node::Applied(1, vec![Node::Var(from), Node::Var(to)]);
        Shape::new(Node::Applied(0, Vec::new()), pairs.iter().map(edge).collect())
    }

    fn form(rule: &Shape) -> Shape {
        rule_form(rule, &[3, 4], &|name| name)
    }

    #[test]
    fn a_circle_of_six_is_not_two_circles_of_three() {
        let six = edges(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]);
        let again = edges(&[(3, 1), (0, 4), (1, 5), (5, 0), (2, 3), (4, 2)]);
        let two = edges(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]);
        assert_eq!(crate::skeleton::rule_color(&six, &[3, 4]), crate::skeleton::rule_color(&two, &[3, 4]));
        assert_eq!(form(&six), form(&again));
        assert_ne!(form(&six), form(&two));
    }

    /// Two rules that differ are no repeat of each other, though their colors are the same.
    #[test]
    fn only_repeats_are_removed() {
        let mut skeleton = Skeleton::default();
        skeleton.names = vec![Name::Class(0), Name::Class(1)];
        skeleton.rules = vec![
            edges(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]),
            edges(&[(3, 1), (0, 4), (1, 5), (5, 0), (2, 3), (4, 2)]),
            edges(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
        ];
        skeleton.origins = (0..3).map(RuleId).collect();
        skeleton.remove_repeats();
        assert_eq!(skeleton.origins, [RuleId(0), RuleId(2)]);
    }
}
