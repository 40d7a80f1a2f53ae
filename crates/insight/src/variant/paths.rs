//! Rules that are written out for each length of a path.
//!
//! GDL has no numbers, so that "all squares between the rook and the king are empty" is often one rule for each distance:
//!
//! ```text
//! (<= (clear ?a ?c) (next ?a ?b) (next ?b ?c) (empty ?b))
//! (<= (clear ?a ?d) (next ?a ?b) (next ?b ?c) (next ?c ?d) (empty ?b) (empty ?c))
//! ```
//!
//! Here the steps within a path become one, if the rule says the same of each, and both rules come out as the first one.

use rustc_hash::FxHashSet;

use crate::skeleton::{Node, Shape};

/// The rule with the steps within its paths along these relations made one; `None` if there is nothing to contract.
pub(crate) fn contracted(rule: &Shape, orders: &FxHashSet<u32>) -> Option<Shape> {
    let mut body = rule.body.clone();
    let mut in_head = FxHashSet::default();
    variables(&rule.head, &mut in_head);
    let mut is_changed = false;
    while let Some(merged) = one_step(&body, orders, &in_head) {
        body = merged;
        is_changed = true;
    }
    is_changed.then(|| Shape::new(rule.head.clone(), body))
}

/// A step from one variable to another along an order.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Step {
    order: u32,
    from: u32,
    to: u32,
}

fn step(literal: &Node, orders: &FxHashSet<u32>) -> Option<Step> {
    match literal {
        Node::Applied(order, args) if orders.contains(order) => match args[..] {
            [Node::Var(from), Node::Var(to)] => Some(Step { order: *order, from, to }),
            _ => None,
        },
        _ => None,
    }
}

/// The body with two neighbouring places of a path made one.
fn one_step(body: &[Node], orders: &FxHashSet<u32>, in_head: &FxHashSet<u32>) -> Option<Vec<Node>> {
    let steps: Vec<Step> = body.iter().filter_map(|literal| step(literal, orders)).collect();
    let others: Vec<&Node> = body.iter().filter(|literal| step(literal, orders).is_none()).collect();
    // A place within a path has one step to it and one step from it, and no more.
    let is_within = |var: u32, order: u32| {
        let to = steps.iter().filter(|step| step.to == var).count();
        let from = steps.iter().filter(|step| step.from == var).count();
        let in_order = steps.iter().filter(|step| step.order == order && (step.from == var || step.to == var)).count();
        (to, from, in_order) == (1, 1, 2) && !in_head.contains(&var)
    };
    let inner: Vec<Step> = steps
        .iter()
        .copied()
        .filter(|step| is_within(step.from, step.order) && is_within(step.to, step.order))
        .collect();
    inner.iter().find_map(|&first| merge(body, &others, orders, &inner, first))
}

/// Makes the ends of a step one, and those of other steps that must go with it.
fn merge(body: &[Node], others: &[&Node], orders: &FxHashSet<u32>, inner: &[Step], first: Step) -> Option<Vec<Node>> {
    let mut pairs = vec![(first.from, first.to)];
    let mut at = 0;
    while let Some(&(kept, gone)) = pairs.get(at) {
        at += 1;
        if others.iter().any(|literal| mentions(literal, kept) && mentions(literal, gone)) {
            return None;
        }
        // Whatever the rule says of the one it must say of the other.
        for (this, that) in [(kept, gone), (gone, kept)] {
            for literal in others.iter().filter(|literal| mentions(literal, this)) {
                let twin = others.iter().filter(|other| mentions(other, that)).find_map(|other| {
                    let mut new = pairs.clone();
                    let (left, right) = if this == kept { (literal, other) } else { (other, literal) };
                    differ_in(left, right, inner, &mut new).then_some(new)
                })?;
                pairs = twin;
            }
        }
    }
    let renamed = |var: u32| pairs.iter().find(|(_, gone)| *gone == var).map_or(var, |(kept, _)| *kept);
    let mut merged: Vec<Node> = body.iter().map(|literal| with_variables(literal, &renamed)).collect();
    merged.retain(|literal| step(literal, orders).is_none_or(|step| step.from != step.to));
    merged.sort_unstable();
    merged.dedup();
    Some(merged)
}

/// Whether two literals are equal but for variables that are the ends of inner steps; those are added to the pairs, each
/// with what it will become.
fn differ_in(one: &Node, other: &Node, inner: &[Step], pairs: &mut Vec<(u32, u32)>) -> bool {
    match (one, other) {
        (Node::Var(one), Node::Var(other)) if one == other => true,
        (Node::Var(one), Node::Var(other)) => {
            let pair = (*one, *other);
            if pairs.contains(&pair) {
                return true;
            }
            let is_known = |var| pairs.iter().any(|(kept, gone)| *kept == var || *gone == var);
            let is_step = |step: &Step| (step.from, step.to) == pair || (step.to, step.from) == pair;
            if is_known(*one) || is_known(*other) || !inner.iter().any(is_step) {
                return false;
            }
            pairs.push(pair);
            true
        }
        (Node::Applied(one, args), Node::Applied(other, others)) if one == other && args.len() == others.len() => {
            args.iter().zip(others).all(|(one, other)| differ_in(one, other, inner, pairs))
        }
        (Node::Joined(one, parts), Node::Joined(other, others)) if one == other && parts.len() == others.len() => {
            parts.iter().zip(others).all(|(one, other)| differ_in(one, other, inner, pairs))
        }
        _ => false,
    }
}

fn mentions(node: &Node, var: u32) -> bool {
    match node {
        Node::Var(other) => *other == var,
        Node::Applied(_, parts) | Node::Joined(_, parts) => parts.iter().any(|part| mentions(part, var)),
    }
}

fn variables(node: &Node, found: &mut FxHashSet<u32>) {
    match node {
        Node::Var(var) => _ = found.insert(*var),
        Node::Applied(_, parts) | Node::Joined(_, parts) => parts.iter().for_each(|part| variables(part, found)),
    }
}

fn with_variables(node: &Node, renamed: &impl Fn(u32) -> u32) -> Node {
    match node {
        Node::Var(var) => Node::Var(renamed(*var)),
        Node::Applied(name, args) => {
            Node::Applied(*name, args.iter().map(|arg| with_variables(arg, renamed)).collect())
        }
        Node::Joined(join, parts) => {
            let mut parts: Vec<Node> = parts.iter().map(|part| with_variables(part, renamed)).collect();
            parts.sort_unstable();
            parts.dedup();
            Node::Joined(*join, parts)
        }
    }
}
