//! Families: fluents, or moves, that differ in their arguments alone.
//!
//! Functions inside of arguments are looked through: `(at (square a 1) rook)` has the three arguments `a`, `1` and `rook`.

use gdl::TermId;
use gdl::symbol::SymbolId;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::universe::Universe;

/// The shape of a term: its functions, with holes for the constants that are arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An argument.
    Hole,
    /// A name, applied to shapes.
    Of(SymbolId, Vec<Shape>),
}

/// Terms of one shape.
#[derive(Clone, Debug)]
pub struct Family {
    /// Their shape.
    pub shape: Shape,
    /// Their numbers among all fluents or moves, ascending.
    pub members: Vec<u32>,
    /// The arguments of each member.
    pub arguments: Vec<Vec<TermId>>,
    /// What occurs in each argument, each once, in ascending order.
    pub domains: Vec<Vec<TermId>>,
}

impl Family {
    /// How many arguments there are.
    pub fn arity(&self) -> usize {
        self.domains.len()
    }

    /// The shape as text, with a `_` for each argument.
    pub fn display(&self, universe: &Universe) -> String {
        display(universe, &self.shape, &mut (0..self.arity()).map(|_| "_".to_owned()))
    }

    /// The shape as text with these arguments.
    pub fn with_arguments(&self, universe: &Universe, mut arguments: impl Iterator<Item = String>) -> String {
        display(universe, &self.shape, &mut arguments)
    }

    /// The members, grouped by their arguments at some positions; groups and members ascending.
    pub fn groups(&self, key: &[usize]) -> Vec<(Vec<TermId>, Vec<u32>)> {
        let mut groups: indexmap::IndexMap<Vec<TermId>, Vec<u32>, FxBuildHasher> = Default::default();
        for (&member, arguments) in self.members.iter().zip(&self.arguments) {
            let key = key.iter().map(|&position| arguments[position]).collect();
            groups.entry(key).or_default().push(member);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable();
        groups
    }
}

fn display(universe: &Universe, shape: &Shape, arguments: &mut dyn Iterator<Item = String>) -> String {
    match shape {
        Shape::Hole => arguments.next().unwrap_or_default(),
        Shape::Of(name, parts) if parts.is_empty() => universe.symbols.name(*name).to_owned(),
        Shape::Of(name, parts) => {
            let parts: Vec<String> = parts.iter().map(|part| display(universe, part, arguments)).collect();
            format!("({} {})", universe.symbols.name(*name), parts.join(" "))
        }
    }
}

/// Sorts terms into families, in the order of their first members. The name of a constant is a shape of its own only at the
/// top, where it is a fluent or move without arguments.
pub fn families(universe: &Universe, terms: impl Iterator<Item = TermId>) -> Vec<Family> {
    let mut by_shape: FxHashMap<Shape, usize> = FxHashMap::default();
    let mut families: Vec<Family> = Vec::new();
    for (index, term) in terms.enumerate() {
        let mut arguments = Vec::new();
        let shape = shape(universe, term, true, &mut arguments);
        let family = *by_shape.entry(shape.clone()).or_insert_with(|| {
            families.push(Family { shape, members: vec![], arguments: vec![], domains: vec![vec![]; arguments.len()] });
            families.len() - 1
        });
        families[family].members.push(index as u32);
        families[family].arguments.push(arguments);
    }
    for family in &mut families {
        for (position, domain) in family.domains.iter_mut().enumerate() {
            domain.extend(family.arguments.iter().map(|arguments| arguments[position]));
            domain.sort_unstable();
            domain.dedup();
        }
    }
    families
}

fn shape(universe: &Universe, term: TermId, top: bool, arguments: &mut Vec<TermId>) -> Shape {
    let args = universe.terms.args(term).to_vec();
    if args.is_empty() && !top {
        arguments.push(term);
        return Shape::Hole;
    }
    Shape::Of(universe.terms.name(term), args.iter().map(|&arg| shape(universe, arg, false, arguments)).collect())
}
