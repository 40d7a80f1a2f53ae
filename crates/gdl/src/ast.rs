//! The syntax tree: S-expressions in one flat array, faithful to the text and shared by both notations.
//!
//! The tree is stored without pointers, so that a hostile text can't overflow the stack when it is built, walked or
//! dropped. Infix text is read into the same shape: `p(X) :- q(X) & ~r(X)` is `(<= (p ?X) (q ?X) (not (r ?X)))`.

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::symbol::{SymbolId, Symbols};

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A relation, function or object name, or a keyword.
    Name(SymbolId),
    /// A variable; its symbol's name begins with `?`.
    Variable(SymbolId),
    /// A parenthesised list; see [`Tree::children`].
    List,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    span: Span,
    first_child: u32,
    n_children: u32,
}

/// The S-expressions of one text, with their names.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The names in the text.
    pub symbols: Symbols,
    nodes: Vec<Node>,
    children: Vec<NodeId>,
    /// The top-level expressions, in source order.
    pub roots: Vec<NodeId>,
    /// Whether parts of the text could not be read and are missing here.
    pub damaged: bool,
}

impl Tree {
    /// Adds a name or variable.
    pub(crate) fn atom(&mut self, kind: Kind, span: Span) -> NodeId {
        self.push(Node { kind, span, first_child: 0, n_children: 0 })
    }

    /// Adds a list of nodes that are already in the tree.
    pub(crate) fn list(&mut self, children: &[NodeId], span: Span) -> NodeId {
        let first_child = self.children.len() as u32;
        self.children.extend_from_slice(children);
        self.push(Node { kind: Kind::List, span, first_child, n_children: children.len() as u32 })
    }

    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    /// What the node is.
    pub fn kind(&self, node: NodeId) -> Kind {
        self.nodes[node.0 as usize].kind
    }

    /// Where the node stands.
    pub fn span(&self, node: NodeId) -> Span {
        self.nodes[node.0 as usize].span
    }

    /// The elements of a list; empty for names and variables.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        let node = &self.nodes[node.0 as usize];
        &self.children[node.first_child as usize..][..node.n_children as usize]
    }

    /// How deep the lists of a node are nested; 0 for names and variables.
    pub fn depth(&self, node: NodeId) -> usize {
        let mut deepest = 0;
        let mut stack = vec![(node, 0)];
        while let Some((node, around)) = stack.pop() {
            let depth = around + usize::from(self.kind(node) == Kind::List);
            deepest = deepest.max(depth);
            stack.extend(self.children(node).iter().map(|&child| (child, depth)));
        }
        deepest
    }

    /// Whether the trees are equal up to the names of variables, which belong to their root, and up to a pair of
    /// parentheses around a root that is a name (prefix notation needs them, infix notation does not). Case does not
    /// matter, nor do spans.
    pub fn same_as(&self, other: &Tree) -> bool {
        let same_root = |(&left, &right): (&NodeId, &NodeId)| {
            // What a variable of one root is called in the other.
            let (mut to_right, mut to_left) = (FxHashMap::default(), FxHashMap::default());
            let mut stack = vec![(self.unwrapped(left), other.unwrapped(right))];
            while let Some((left, right)) = stack.pop() {
                let same = match (self.kind(left), other.kind(right)) {
                    (Kind::Name(left), Kind::Name(right)) => self.symbols.lower(left) == other.symbols.lower(right),
                    (Kind::Variable(left), Kind::Variable(right)) => {
                        *to_right.entry(left).or_insert(right) == right && *to_left.entry(right).or_insert(left) == left
                    }
                    (Kind::List, Kind::List) => {
                        let (left, right) = (self.children(left), other.children(right));
                        stack.extend(left.iter().copied().zip(right.iter().copied()));
                        left.len() == right.len()
                    }
                    _ => false,
                };
                if !same {
                    return false;
                }
            }
            true
        };
        self.roots.len() == other.roots.len() && self.roots.iter().zip(&other.roots).all(same_root)
    }

    /// A name in parentheses without them; any other node as it is.
    fn unwrapped(&self, node: NodeId) -> NodeId {
        match *self.children(node) {
            [only] if matches!(self.kind(only), Kind::Name(_)) => only,
            _ => node,
        }
    }

    /// The node that stands at exactly this span and is a rule, a literal or a term.
    pub fn find(&self, span: Span) -> Option<NodeId> {
        // What begins a list is its operator, which may stand anywhere in infix notation; the rest is in source order.
        let mut candidates = &self.roots[..];
        loop {
            let after = candidates.partition_point(|&node| self.span(node).start <= span.start);
            let node = candidates[..after].last().copied()?;
            if self.span(node) == span {
                return Some(node);
            }
            candidates = self.children(node).get(1..)?;
        }
    }

    /// The name that opens a list, or the name itself: what `f` is in `(f a b)` and in `f`.
    pub fn head(&self, node: NodeId) -> Option<SymbolId> {
        let head = match self.kind(node) {
            Kind::List => self.kind(*self.children(node).first()?),
            kind => kind,
        };
        match head {
            Kind::Name(symbol) => Some(symbol),
            _ => None,
        }
    }
}
