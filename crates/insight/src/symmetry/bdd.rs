//! Reduced ordered binary decision diagrams (R. Bryant, "Graph-based algorithms for Boolean function manipulation", 1986):
//! equal functions have equal diagrams. Counts of fluents, the usual end of a game that is won by points, have small ones
//! whatever the order in which the rules count.

use rustc_hash::FxHashMap;

/// A function: twice the number of a node, plus one if it is the opposite of that node's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Diagram(u32);

impl Diagram {
    pub(super) const FALSE: Diagram = Diagram(1);
    pub(super) const TRUE: Diagram = Diagram(0);

    pub(super) fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    #[cfg(test)]
    fn inverted(self) -> Diagram {
        Diagram(self.0 ^ 1)
    }

    pub(super) fn invert_if(self, invert: bool) -> Diagram {
        Diagram(self.0 ^ u32::from(invert))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    variable: u32,
    /// The function where the variable is false; never inverted, so that a function has one form.
    low: Diagram,
    high: Diagram,
}

/// Diagrams that share their nodes. Variables with lower numbers are looked at first.
pub(super) struct Diagrams {
    nodes: Vec<Node>,
    known: FxHashMap<Node, u32>,
    ands: FxHashMap<(Diagram, Diagram), Diagram>,
    limit: usize,
    /// How large the collection may be for now.
    allowed: usize,
}

impl Diagrams {
    /// An empty collection that may grow to `limit` nodes and as many remembered results, four times.
    pub(super) fn new(limit: usize) -> Diagrams {
        // Node 0 is the constant.
        let constant = Node { variable: u32::MAX, low: Diagram::TRUE, high: Diagram::TRUE };
        Diagrams {
            nodes: vec![constant],
            known: FxHashMap::default(),
            ands: FxHashMap::default(),
            limit,
            allowed: limit,
        }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Lets the collection grow by so many nodes until the next call.
    pub(super) fn allow(&mut self, n_nodes: usize) {
        self.allowed = self.limit.min(self.len() + n_nodes);
    }

    /// The function that is one variable; `None` if the limit is reached.
    pub(super) fn variable(&mut self, variable: u32) -> Option<Diagram> {
        self.node(variable, Diagram::FALSE, Diagram::TRUE)
    }

    fn node(&mut self, variable: u32, low: Diagram, high: Diagram) -> Option<Diagram> {
        if low == high {
            return Some(low);
        }
        let invert = low.is_inverted();
        let node = Node { variable, low: low.invert_if(invert), high: high.invert_if(invert) };
        if let Some(&number) = self.known.get(&node) {
            return Some(Diagram(number << 1).invert_if(invert));
        }
        if self.len() >= self.allowed {
            return None;
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        self.known.insert(node, number);
        Some(Diagram(number << 1).invert_if(invert))
    }

    /// Both; `None` if the limit is reached. Recursion goes at most as deep as there are variables.
    pub(super) fn and(&mut self, a: Diagram, b: Diagram) -> Option<Diagram> {
        let (a, b) = (a.min(b), a.max(b));
        match (a, b) {
            (Diagram::FALSE, _) | (_, Diagram::FALSE) => return Some(Diagram::FALSE),
            (Diagram::TRUE, other) => return Some(other),
            _ if a == b => return Some(a),
            _ if a == b.invert_if(true) => return Some(Diagram::FALSE),
            _ => {}
        }
        if let Some(&known) = self.ands.get(&(a, b)) {
            return Some(known);
        }
        if self.ands.len() >= 4 * self.limit {
            return None;
        }
        let variable = self.top(a).min(self.top(b));
        let (low_a, high_a) = self.halves(a, variable);
        let (low_b, high_b) = self.halves(b, variable);
        let low = self.and(low_a, low_b)?;
        let high = self.and(high_a, high_b)?;
        let both = self.node(variable, low, high)?;
        self.ands.insert((a, b), both);
        Some(both)
    }

    fn top(&self, diagram: Diagram) -> u32 {
        self.nodes[diagram.0 as usize >> 1].variable
    }

    fn halves(&self, diagram: Diagram, variable: u32) -> (Diagram, Diagram) {
        let node = self.nodes[diagram.0 as usize >> 1];
        if node.variable != variable {
            return (diagram, diagram);
        }
        let invert = diagram.is_inverted();
        (node.low.invert_if(invert), node.high.invert_if(invert))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Evaluates a diagram.
    fn holds(diagrams: &Diagrams, mut diagram: Diagram, values: u32) -> bool {
        while diagram.0 >> 1 != 0 {
            let variable = diagrams.top(diagram);
            let (low, high) = diagrams.halves(diagram, variable);
            diagram = if values >> variable & 1 == 1 { high } else { low };
        }
        diagram == Diagram::TRUE
    }

    /// How many of the first `n` variables are true, in the given order: a diagram for each count.
    fn counts(diagrams: &mut Diagrams, order: &[u32]) -> Vec<Diagram> {
        let mut counts = vec![Diagram::TRUE];
        for &variable in order {
            let variable = diagrams.variable(variable).expect("small");
            let mut longer = vec![Diagram::FALSE; counts.len() + 1];
            for (count, &diagram) in counts.iter().enumerate() {
                for (to, with) in [(count, variable.inverted()), (count + 1, variable)] {
                    let both = diagrams.and(diagram, with).expect("small");
                    let neither = diagrams.and(longer[to].inverted(), both.inverted()).expect("small");
                    longer[to] = neither.inverted();
                }
            }
            counts = longer;
        }
        counts
    }

    #[test]
    fn counting_in_another_order_is_the_same() {
        let mut diagrams = Diagrams::new(100_000);
        let order: Vec<u32> = (0..40).collect();
        let mixed: Vec<u32> = (0..40).map(|variable| variable * 7 % 40).collect();
        assert_eq!(counts(&mut diagrams, &order), counts(&mut diagrams, &mixed));
    }

    #[test]
    fn the_limit_holds() {
        let mut diagrams = Diagrams::new(10);
        let made: Vec<_> = (0..20).map(|variable| diagrams.variable(variable)).collect();
        assert!(made[0].is_some() && made[19].is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn diagrams_mean_what_they_were_made_of(steps in prop::collection::vec((any::<u32>(), any::<u32>()), 1..20)) {
            let mut diagrams = Diagrams::new(10_000);
            // Each function beside its table of values for the 32 settings of five variables.
            let table = |of: &dyn Fn(u32) -> bool| (0..32).fold(0u32, |bits, at| bits | u32::from(of(at)) << at);
            let mut made: Vec<(Diagram, u32)> = (0..5)
                .map(|variable| (diagrams.variable(variable).expect("small"), table(&|at| at >> variable & 1 == 1)))
                .collect();
            for (a, b) in steps {
                let pick = |word: u32| {
                    let (diagram, bits) = made[word as usize / 2 % made.len()];
                    if word & 1 == 1 { (diagram.inverted(), !bits) } else { (diagram, bits) }
                };
                let (a, b) = (pick(a), pick(b));
                made.push((diagrams.and(a.0, b.0).expect("small"), a.1 & b.1));
            }
            for &(diagram, bits) in &made {
                prop_assert_eq!(table(&|at| holds(&diagrams, diagram, at)), bits);
                for &(other, other_bits) in &made {
                    prop_assert_eq!(diagram == other, bits == other_bits);
                }
            }
        }
    }
}
