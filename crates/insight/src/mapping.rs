//! What the names of one game are in another.

use std::collections::BTreeMap;

use gdl::ast::{Kind as NodeKind, NodeId, Tree};
use gdl::program::{Program, RuleId, Term, VarId};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Relation, Source};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::canonical::{self, Canonical};
use crate::skeleton::{Name, Plain, Skeleton};
use crate::sorts::{FLUENTS, GOAL_VALUE, MOVES, ROLES, Slot, Sort, Sorts, for_each_term};

/// Takes the names of one game to those of another. It may leave names out, where the other game has nothing like them.
#[derive(Clone, Debug)]
pub struct Mapping {
    names: BTreeMap<Name, SymbolId>,
    /// The goal values, each with what it becomes; ascending.
    values: Vec<(i64, i64)>,
    /// The sorts of the source.
    sorts: Sorts,
}

/// What kind of thing a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A relation.
    Relation,
    /// A function, of fluents or moves, say.
    Function,
    /// An object.
    Object,
}

impl Mapping {
    pub(crate) fn new(names: BTreeMap<Name, SymbolId>, values: Vec<(i64, i64)>, sorts: Sorts) -> Mapping {
        Mapping { names, values, sorts }
    }

    /// The objects of the target that have an origin, each with the origin's sort.
    pub(crate) fn images(&self) -> FxHashSet<(Sort, SymbolId)> {
        let image = |(name, image): (&Name, &SymbolId)| match name {
            Name::Object(_, sort) => Some((*sort, *image)),
            _ => None,
        };
        self.names.iter().filter_map(image).collect()
    }

    /// Adds an object.
    pub(crate) fn add_object(&mut self, object: SymbolId, sort: Sort, image: SymbolId) {
        self.names.insert(Name::Object(object, sort), image);
    }

    /// The mapping of a game to an equal one under other names.
    pub fn of_equal(source: &Program, renaming: &canonical::Mapping) -> Mapping {
        let rules = || (0..).map(RuleId).zip(&source.rules);
        let sorts = Sorts::new(rules());
        let goal_sort = sorts.of(GOAL_VALUE);
        let naming = Plain { symbols: &source.symbols, sorts: &sorts };
        let skeleton = Skeleton::new(source, rules().map(|(id, _)| id), &naming);
        let image = |name: &Name| {
            let symbol = name.symbol()?;
            let value = renaming.value(symbol).filter(|_| matches!(name, Name::Object(_, sort) if *sort == goal_sort));
            Some((*name, value.or_else(|| renaming.name(symbol))?))
        };
        let value = |name: &Name| if let Name::Value(value) = name { Some((*value, *value)) } else { None };
        let mut values: Vec<(i64, i64)> = skeleton.names.iter().filter_map(value).collect();
        values.sort_unstable();
        let is_own = |name: &&Name| !matches!(name, Name::Keyword(_));
        Mapping::new(skeleton.names.iter().filter(is_own).filter_map(image).collect(), values, sorts)
    }

    /// The same mapping between the games that canonical forms were made from. `form` is that of the source, and `sorts` are
    /// those of the source's own rules.
    pub(crate) fn between_originals(&self, form: &Canonical, sorts: Sorts, target: &Canonical) -> Mapping {
        let original = |relation: Relation| Relation { name: form.original(relation.name), ..relation };
        // A sort is known by any of its places.
        let mut images: FxHashMap<Sort, Sort> = FxHashMap::default();
        for (id, rule) in (0..).map(RuleId).zip(&form.program.rules) {
            for_each_term(id, rule, &mut |slot, _| {
                let own = match slot {
                    Slot::Relation(relation, index) => Slot::Relation(original(relation), index),
                    Slot::Function(function, index) => Slot::Function(original(function), index),
                    _ => return,
                };
                images.entry(self.sorts.of(slot)).or_insert_with(|| sorts.of(own));
            });
        }
        let own_name = |name: &Name| {
            Some(match *name {
                Name::Relation(relation) => Name::Relation(original(relation)),
                Name::Function(function) => Name::Function(original(function)),
                Name::Object(object, sort) => Name::Object(form.original(object), *images.get(&sort)?),
                other => other,
            })
        };
        let names = self.names.iter().filter_map(|(name, image)| Some((own_name(name)?, target.original(*image))));
        Mapping { names: names.collect(), values: self.values.clone(), sorts }
    }

    /// What a relation is called.
    pub fn relation(&self, relation: Relation) -> Option<SymbolId> {
        if Symbols::is_keyword(relation.name) {
            return Some(relation.name);
        }
        self.names.get(&Name::Relation(relation)).copied()
    }

    /// What a function is called.
    pub fn function(&self, function: Relation) -> Option<SymbolId> {
        self.names.get(&Name::Function(function)).copied()
    }

    /// What a role is called.
    pub fn role(&self, role: SymbolId) -> Option<SymbolId> {
        self.object(role, ROLES)
    }

    /// A fluent in the words of the other game.
    pub fn fluent(&self, fluent: &Term) -> Option<Term> {
        self.term(fluent, FLUENTS)
    }

    /// A move in the words of the other game.
    pub fn play(&self, play: &Term) -> Option<Term> {
        self.term(play, MOVES)
    }

    /// A move as it is written, in the words of the other game; `None` for what is no move of the first game, or has no
    /// counterpart.
    pub fn play_text(&self, source: &Program, target: &Program, text: &str) -> Option<String> {
        let play = self.play(&read_term(text, &source.symbols)?)?;
        let mut written = String::new();
        write_term(&play, &target.symbols, &mut written);
        Some(written)
    }

    /// A term in the words of the other game, if it may stand where an atom has this variable.
    pub fn beside(&self, relation: Relation, args: &[Term], var: VarId, term: &Term) -> Option<Term> {
        fn place(term: &Term, slot: Slot, var: VarId) -> Option<Slot> {
            match term {
                Term::Var(own) => (*own == var).then_some(slot),
                Term::Const(_) => None,
                Term::Func(name, args) => {
                    let function = Relation { name: *name, arity: args.len() as u32 };
                    (0..).zip(args).find_map(|(index, arg)| place(arg, Slot::Function(function, index), var))
                }
            }
        }
        let slot = (0..).zip(args).find_map(|(index, arg)| place(arg, Slot::Relation(relation, index), var))?;
        self.term(term, slot)
    }

    /// What a goal value becomes.
    pub fn value(&self, value: i64) -> Option<i64> {
        self.values.iter().find(|(from, _)| *from == value).map(|(_, to)| *to)
    }

    /// The goal values, each with what it becomes; ascending.
    pub fn values(&self) -> &[(i64, i64)] {
        &self.values
    }

    /// All names with what they become, sorted by kind and name, goal values aside. An object that is several things may come
    /// several times.
    pub fn table(&self, source: &Program, target: &Program) -> Vec<(Kind, String, String)> {
        let goal_sort = self.sorts.of(GOAL_VALUE);
        let row = |(name, image): (&Name, &SymbolId)| {
            let word = source.symbols.name(name.symbol()?);
            if matches!(name, Name::Object(_, sort) if *sort == goal_sort) && word.parse::<i64>().is_ok() {
                return None;
            }
            let kind = match name {
                Name::Relation(_) => Kind::Relation,
                Name::Function(_) => Kind::Function,
                _ => Kind::Object,
            };
            Some((kind, word.to_owned(), target.symbols.name(*image).to_owned()))
        };
        let mut rows: Vec<_> = self.names.iter().filter_map(row).collect();
        rows.sort_by(|a, b| {
            // Numbers in the order of their values.
            let number = |row: &(Kind, String, String)| row.1.parse::<i64>().unwrap_or(i64::MAX);
            (a.0, number(a), &a.1, &a.2).cmp(&(b.0, number(b), &b.1, &b.2))
        });
        rows.dedup();
        rows
    }

    pub(crate) fn object(&self, object: SymbolId, slot: Slot) -> Option<SymbolId> {
        self.names.get(&Name::Object(object, self.sorts.of(slot))).copied()
    }

    /// A term that stands at some place, in the words of the other game.
    pub(crate) fn term(&self, term: &Term, slot: Slot) -> Option<Term> {
        match term {
            Term::Var(var) => Some(Term::Var(*var)),
            Term::Const(name) if Symbols::is_keyword(*name) => Some(term.clone()),
            Term::Const(object) => self.object(*object, slot).map(Term::Const),
            Term::Func(name, args) => {
                let function = Relation { name: *name, arity: args.len() as u32 };
                let args = (0..).zip(args).map(|(index, arg)| self.term(arg, Slot::Function(function, index)));
                Some(Term::Func(self.function(function)?, args.collect::<Option<_>>()?))
            }
        }
    }

    /// An atom in the words of the other game; variables stay what they are.
    pub fn fact(&self, relation: Relation, args: &[Term]) -> Option<(SymbolId, Vec<Term>)> {
        let args = (0..).zip(args).map(|(index, arg)| self.term(arg, Slot::Relation(relation, index)));
        Some((self.relation(relation)?, args.collect::<Option<_>>()?))
    }
}

/// Reads a ground term, all of whose names must be known.
fn read_term(text: &str, symbols: &Symbols) -> Option<Term> {
    fn term(tree: &Tree, node: NodeId, symbols: &Symbols) -> Option<Term> {
        let name = symbols.find(tree.symbols.name(tree.head(node)?))?;
        match (tree.kind(node), tree.children(node)) {
            (NodeKind::Name(_), _) => Some(Term::Const(name)),
            (NodeKind::List, [_, args @ ..]) if !args.is_empty() => {
                Some(Term::Func(name, args.iter().map(|&arg| term(tree, arg, symbols)).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
    // A name alone is no text.
    let (tree, _) = gdl::parse(&Source::new("term", format!("(true {text})")));
    match tree.roots[..] {
        [root] => match tree.children(root) {
            [_, inner] => term(&tree, *inner, symbols),
            _ => None,
        },
        _ => None,
    }
}

fn write_term(term: &Term, symbols: &Symbols, text: &mut String) {
    match term {
        Term::Var(_) => text.push('?'),
        Term::Const(name) => text.push_str(symbols.name(*name)),
        Term::Func(name, args) => {
            text.push('(');
            text.push_str(symbols.name(*name));
            for arg in args {
                text.push(' ');
                write_term(arg, symbols, text);
            }
            text.push(')');
        }
    }
}
