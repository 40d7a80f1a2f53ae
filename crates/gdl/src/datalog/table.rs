//! The facts of one relation, with the indices that joins look them up by.

use hashbrown::HashTable;

use super::terms::{TermId, Terms};
use crate::symbol::SymbolId;

/// What a join knows of one argument, or of one part of an argument, before it looks facts up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pattern {
    /// Its value: part of the key.
    Key,
    /// Nothing, and wants its value: part of the output.
    Out,
    /// That it equals the output with this number.
    Same(u32),
    /// Nothing, and does not care.
    Any,
    /// Its function, and something of the function's arguments.
    Shape(SymbolId, Box<[Pattern]>),
}

impl Pattern {
    /// Whether `term` fits; appends its parts to `key` and `out`.
    fn extract(
        &self,
        terms: &Terms,
        term: TermId,
        key: &mut Vec<TermId>,
        out: &mut Vec<TermId>,
        out_from: usize,
    ) -> bool {
        match self {
            Pattern::Key => key.push(term),
            Pattern::Out => out.push(term),
            Pattern::Same(earlier) => return out[out_from + *earlier as usize] == term,
            Pattern::Any => {}
            Pattern::Shape(name, parts) => {
                let args = terms.args(term);
                return terms.name(term) == *name
                    && args.len() == parts.len()
                    && args.iter().zip(parts).all(|(&arg, part)| part.extract(terms, arg, key, out, out_from));
            }
        }
        true
    }

    /// Counts the parts that are known before the lookup and those that are not.
    pub(super) fn count(&self, known: &mut f64, open: &mut f64) {
        match self {
            Pattern::Key => *known += 1.0,
            Pattern::Out | Pattern::Any => *open += 1.0,
            Pattern::Same(_) => {}
            Pattern::Shape(_, parts) => {
                *known += 0.5;
                parts.iter().for_each(|part| part.count(known, open));
            }
        }
    }

    fn has_any(&self) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Shape(_, parts) => parts.iter().any(Pattern::has_any),
            _ => false,
        }
    }
}

/// Whether a row fits the patterns of its arguments; appends its parts to `key` and `out`.
pub(super) fn extract_row(
    patterns: &[Pattern],
    terms: &Terms,
    row: &[TermId],
    key: &mut Vec<TermId>,
    out: &mut Vec<TermId>,
) -> bool {
    let out_from = out.len();
    row.iter().zip(patterns).all(|(&arg, pattern)| pattern.extract(terms, arg, key, out, out_from))
}

/// A set of rows of equal length, kept in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) arity: usize,
    values: Vec<TermId>,
    len: usize,
    set: HashTable<u32>,
}

impl Rows {
    pub(super) fn new(arity: usize) -> Rows {
        Rows { arity, ..Rows::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// About how many bytes the rows take, with what finds them by their parts.
    pub(super) fn bytes(&self) -> usize {
        self.len * super::eval::fact_bytes(self.arity)
    }

    pub(super) fn row(&self, index: usize) -> &[TermId] {
        &self.values[index * self.arity..][..self.arity]
    }

    pub(super) fn contains(&self, row: &[TermId]) -> bool {
        self.position(row).is_some()
    }

    /// The number of a row.
    pub(super) fn position(&self, row: &[TermId]) -> Option<usize> {
        self.set.find(hash_ids(row), |&other| self.row(other as usize) == row).map(|&index| index as usize)
    }

    /// Adds a row; `false` if it is there already.
    pub(super) fn insert(&mut self, row: &[TermId]) -> bool {
        let hash = hash_ids(row);
        let (values, arity) = (&self.values, self.arity);
        let at = |index: u32| &values[index as usize * arity..][..arity];
        if self.set.find(hash, |&other| at(other) == row).is_some() {
            return false;
        }
        self.set.insert_unique(hash, self.len as u32, |&other| hash_ids(at(other)));
        self.values.extend_from_slice(row);
        self.len += 1;
        true
    }

    pub(super) fn clear(&mut self) {
        if self.len > 0 {
            self.values.clear();
            self.set.clear();
            self.len = 0;
        }
    }

    /// Takes all rows of `other`, which is left empty.
    pub(super) fn absorb(&mut self, other: &mut Rows) {
        for index in 0..other.len {
            self.insert(other.row(index));
        }
        other.clear();
    }
}

/// An index of a table by the parts that a pattern calls its key.
#[derive(Clone, Debug)]
pub(super) struct Index {
    patterns: Box<[Pattern]>,
    n_key: usize,
    n_out: usize,
    /// Whether different rows may give the same key and output, of which one is enough.
    projects: bool,
    /// How many rows of the table have been indexed.
    upto: usize,
    keys: Vec<TermId>,
    groups: Vec<Group>,
    by_key: HashTable<u32>,
    outs: Vec<TermId>,
    /// For each output, the next one with the same key.
    next: Vec<u32>,
    seen: HashTable<u32>,
    /// For each output, its group.
    group_of: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;

impl Index {
    fn new(patterns: &[Pattern]) -> Index {
        let count = |wanted: &Pattern| {
            fn walk(pattern: &Pattern, wanted: &Pattern) -> usize {
                match pattern {
                    Pattern::Shape(_, parts) => parts.iter().map(|part| walk(part, wanted)).sum(),
                    pattern => usize::from(pattern == wanted),
                }
            }
            patterns.iter().map(|pattern| walk(pattern, wanted)).sum()
        };
        Index {
            n_key: count(&Pattern::Key),
            n_out: count(&Pattern::Out),
            projects: patterns.iter().any(Pattern::has_any),
            patterns: patterns.into(),
            upto: 0,
            keys: Vec::new(),
            groups: Vec::new(),
            by_key: HashTable::new(),
            outs: Vec::new(),
            next: Vec::new(),
            seen: HashTable::new(),
            group_of: Vec::new(),
        }
    }

    fn key(&self, group: u32) -> &[TermId] {
        &self.keys[group as usize * self.n_key..][..self.n_key]
    }

    /// The output with this number.
    pub(super) fn out(&self, entry: u32) -> &[TermId] {
        &self.outs[entry as usize * self.n_out..][..self.n_out]
    }

    /// The first output under a key.
    pub(super) fn first(&self, key: &[TermId]) -> Option<u32> {
        let group = *self.by_key.find(hash_ids(key), |&group| self.key(group) == key)?;
        Some(self.groups[group as usize].first)
    }

    /// The output after this one under the same key.
    pub(super) fn following(&self, entry: u32) -> Option<u32> {
        Some(self.next[entry as usize]).filter(|&next| next != NONE)
    }

    /// Brings the index up to date with its table's rows.
    fn catch_up(&mut self, rows: &Rows, terms: &Terms) {
        let (mut key, mut out) = (Vec::new(), Vec::new());
        for index in self.upto..rows.len() {
            key.clear();
            out.clear();
            if extract_row(&self.patterns, terms, rows.row(index), &mut key, &mut out) {
                self.add(&key, &out);
            }
        }
        self.upto = rows.len();
    }

    fn add(&mut self, key: &[TermId], out: &[TermId]) {
        let hash = hash_ids(key);
        let known = self.by_key.find(hash, |&group| self.key(group) == key).copied();
        let entry = self.next.len() as u32;
        let group = known.unwrap_or(self.groups.len() as u32);
        if self.projects {
            let pair = hash_pair(group, out);
            let same = |&other: &u32| self.group_of[other as usize] == group && self.out(other) == out;
            if self.seen.find(pair, same).is_some() {
                return;
            }
            let (outs, n_out, group_of) = (&self.outs, self.n_out, &self.group_of);
            self.seen.insert_unique(pair, entry, |&other| {
                hash_pair(group_of[other as usize], &outs[other as usize * n_out..][..n_out])
            });
        }
        self.outs.extend_from_slice(out);
        self.next.push(NONE);
        self.group_of.push(group);
        if known.is_some() {
            let last = std::mem::replace(&mut self.groups[group as usize].last, entry);
            self.next[last as usize] = entry;
        } else {
            self.keys.extend_from_slice(key);
            self.groups.push(Group { first: entry, last: entry });
            let (keys, n_key) = (&self.keys, self.n_key);
            self.by_key.insert_unique(hash, group, |&other| hash_ids(&keys[other as usize * n_key..][..n_key]));
        }
    }

    fn clear(&mut self) {
        if self.upto > 0 {
            self.upto = 0;
            self.keys.clear();
            self.groups.clear();
            self.by_key.clear();
            self.outs.clear();
            self.next.clear();
            self.seen.clear();
            self.group_of.clear();
        }
    }
}

/// The facts of one relation.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Rows,
    indices: Vec<Index>,
}

impl Table {
    pub(super) fn new(arity: usize) -> Table {
        Table { rows: Rows::new(arity), indices: Vec::new() }
    }

    /// The number of the index with these patterns, which is made if it is new.
    pub(super) fn index_for(&mut self, patterns: &[Pattern]) -> usize {
        self.indices.iter().position(|index| *index.patterns == *patterns).unwrap_or_else(|| {
            self.indices.push(Index::new(patterns));
            self.indices.len() - 1
        })
    }

    pub(super) fn index(&self, number: usize) -> &Index {
        &self.indices[number]
    }

    pub(super) fn catch_up(&mut self, number: usize, terms: &Terms) {
        self.indices[number].catch_up(&self.rows, terms);
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.indices.iter_mut().for_each(Index::clear);
    }

    /// How many outputs a lookup with these patterns gives on average, judged by at most a thousand rows.
    pub(super) fn fan_out(&self, patterns: &[Pattern], terms: &Terms) -> Option<f64> {
        if self.rows.len() == 0 {
            return None;
        }
        let mut sample = Index::new(patterns);
        let stride = self.rows.len().div_ceil(1000);
        let (mut key, mut out) = (Vec::new(), Vec::new());
        for index in (0..self.rows.len()).step_by(stride) {
            key.clear();
            out.clear();
            if extract_row(patterns, terms, self.rows.row(index), &mut key, &mut out) {
                sample.add(&key, &out);
            }
        }
        let scale = if sample.n_key == 0 { stride as f64 } else { 1.0 };
        Some(sample.next.len() as f64 * scale / sample.groups.len().max(1) as f64)
    }
}

/// A hash of a row. Rows are short and their ids small and regular, which plain multiplication does not spread well.
fn hash_ids(ids: &[TermId]) -> u64 {
    ids.iter().fold(0x5bd1_e995, |hash, id| mix(hash, u64::from(id.0)))
}

fn hash_pair(group: u32, out: &[TermId]) -> u64 {
    mix(hash_ids(out), u64::from(group))
}

#[inline]
fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}
