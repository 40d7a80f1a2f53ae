//! Ground terms, each stored once, so that equal terms have equal ids.

use std::fmt;
use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::symbol::{SymbolId, Symbols};

/// A ground term; an index into the [`Terms`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(pub u32);

#[derive(Clone, Copy, Debug)]
struct Entry {
    name: SymbolId,
    first_arg: u32,
    n_args: u32,
}

/// A growing table of ground terms.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    entries: Vec<Entry>,
    args: Vec<TermId>,
    index: HashTable<u32>,
    depths: Vec<u32>,
    sizes: Vec<u32>,
}

impl Terms {
    /// The id of `name(args…)`, which is added if it is new.
    pub fn intern(&mut self, name: SymbolId, args: &[TermId]) -> TermId {
        let hash = hash_term(name, args);
        if let Some(found) = self.find_hashed(hash, name, args) {
            return found;
        }
        let id = self.entries.len() as u32;
        self.entries.push(Entry { name, first_arg: self.args.len() as u32, n_args: args.len() as u32 });
        self.depths.push(1 + args.iter().map(|arg| self.depths[arg.0 as usize]).max().unwrap_or(0));
        // Terms share their parts, so a few of them can have more names in them than could ever be printed.
        self.sizes.push(args.iter().fold(1, |sum: u32, arg| sum.saturating_add(self.sizes[arg.0 as usize])));
        self.args.extend_from_slice(args);
        let (entries, all_args) = (&self.entries, &self.args);
        self.index.insert_unique(hash, id, |&other| {
            let entry = entries[other as usize];
            hash_term(entry.name, &all_args[entry.first_arg as usize..][..entry.n_args as usize])
        });
        TermId(id)
    }

    /// The id of `name(args…)`, if it has been met.
    pub fn find(&self, name: SymbolId, args: &[TermId]) -> Option<TermId> {
        self.find_hashed(hash_term(name, args), name, args)
    }

    fn find_hashed(&self, hash: u64, name: SymbolId, args: &[TermId]) -> Option<TermId> {
        let same = |&id: &u32| self.name(TermId(id)) == name && self.args(TermId(id)) == args;
        self.index.find(hash, same).map(|&id| TermId(id))
    }

    /// The function name or constant at the top of a term.
    pub fn name(&self, term: TermId) -> SymbolId {
        self.entries[term.0 as usize].name
    }

    /// The arguments of a term; empty for a constant.
    pub fn args(&self, term: TermId) -> &[TermId] {
        let entry = self.entries[term.0 as usize];
        &self.args[entry.first_arg as usize..][..entry.n_args as usize]
    }

    /// How deep the term is nested; 1 for a constant.
    pub fn depth(&self, term: TermId) -> u32 {
        self.depths[term.0 as usize]
    }

    /// How many names are in the term, repeats included; at most `u32::MAX`.
    pub fn size(&self, term: TermId) -> u32 {
        self.sizes[term.0 as usize]
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how many bytes the table takes.
    pub fn bytes(&self) -> usize {
        self.entries.len() * (size_of::<Entry>() + 16) + self.args.len() * size_of::<TermId>()
    }

    /// The term in prefix notation, names as their author spelled them.
    pub fn display<'a>(&'a self, symbols: &'a Symbols, term: TermId) -> impl fmt::Display + 'a {
        DisplayTerm { terms: self, symbols, term }
    }
}

fn hash_term(name: SymbolId, args: &[TermId]) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    args.hash(&mut hasher);
    hasher.finish()
}

struct DisplayTerm<'a> {
    terms: &'a Terms,
    symbols: &'a Symbols,
    term: TermId,
}

impl fmt::Display for DisplayTerm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.symbols.name(self.terms.name(self.term));
        let args = self.terms.args(self.term);
        if args.is_empty() {
            return f.write_str(name);
        }
        write!(f, "({name}")?;
        for &arg in args {
            write!(f, " {}", DisplayTerm { term: arg, ..*self })?;
        }
        f.write_str(")")
    }
}
