//! The syntax tree: S-expressions in one flat array, faithful to the text and shared by both notations.
//!
//! The tree is stored without pointers, so that a hostile text can't overflow the stack when it is built, walked or
//! dropped. Infix text is read into the same shape: `p(X) :- q(X) & ~r(X)` is `(<= (p ?X) (q ?X) (not (r ?X)))`.

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
