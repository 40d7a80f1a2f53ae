//! Names: interned, compared without regard to case, shown as their author first spelled them.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// A name of the rules, such as `cell` or `?x`; an index into [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(crate) u32);

impl SymbolId {
    /// Its place among the names of its rules; keywords come first.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// All names of one rule text. GDL ignores case, so `White` and `white` are one name; it keeps its first spelling.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// Lower-case form to first spelling.
    names: IndexMap<Box<str>, Box<str>, FxBuildHasher>,
}

/// Declares the keywords, in the order in which [`Symbols::new`] interns them.
macro_rules! keywords {
    ($($name:ident $text:literal),* $(,)?) => {
        /// The keywords of GDL. They are interned first, so each has a fixed id.
        #[allow(missing_docs, non_camel_case_types, clippy::upper_case_acronyms)]
        pub mod keyword {
            use super::SymbolId;
            #[repr(u32)]
            enum Index { $($name),* }
            $(#[doc = concat!("`", $text, "`")] pub const $name: SymbolId = SymbolId(Index::$name as u32);)*
            /// The spelling of every keyword, in the order of their ids.
            pub const ALL: &[&str] = &[$($text),*];
        }
    };
}

keywords! {
    ROLE "role", INIT "init", TRUE "true", NEXT "next", LEGAL "legal", DOES "does", GOAL "goal", TERMINAL "terminal",
    BASE "base", INPUT "input", DISTINCT "distinct", NOT "not", OR "or", AND "and", IMPLIED_BY "<=",
    SEES "sees", RANDOM "random",
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols::new()
    }
}

impl Symbols {
    /// A table with the keywords alone.
    pub fn new() -> Symbols {
        let mut symbols = Symbols { names: IndexMap::default() };
        for keyword in keyword::ALL {
            symbols.intern(keyword);
        }
        symbols
    }

    /// The id of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> SymbolId {
        let lower = name.to_ascii_lowercase();
        if let Some(index) = self.names.get_index_of(lower.as_str()) {
            return SymbolId(index as u32);
        }
        let (index, _) = self.names.insert_full(lower.into(), name.into());
        SymbolId(index as u32)
    }

    /// The id of `name`, if the rules use it.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.names.get_index_of(name.to_ascii_lowercase().as_str()).map(|index| SymbolId(index as u32))
    }

    /// The name as its author first spelled it.
    pub fn name(&self, symbol: SymbolId) -> &str {
        &self.names[symbol.0 as usize]
    }

    /// Changes how a name is shown. It is still found and compared under the name that it was interned with.
    pub fn respell(&mut self, symbol: SymbolId, spelling: &str) {
        self.names[symbol.0 as usize] = spelling.into();
    }

    /// The same names, shown as they are compared: what is written with them does not depend on how names are shown.
    pub fn unspelled(&self) -> Symbols {
        let mut plain = self.clone();
        self.ids().for_each(|symbol| plain.respell(symbol, self.lower(symbol)));
        plain
    }

    /// The name in lower case, under which it is compared.
    pub fn lower(&self, symbol: SymbolId) -> &str {
        self.names.get_index(symbol.0 as usize).expect("a symbol id comes from its own table").0
    }

    /// Whether the symbol is a keyword of GDL.
    pub fn is_keyword(symbol: SymbolId) -> bool {
        (symbol.0 as usize) < keyword::ALL.len()
    }

    /// All ids, keywords included.
    pub fn ids(&self) -> impl Iterator<Item = SymbolId> + use<> {
        (0..self.names.len() as u32).map(SymbolId)
    }

    /// How many names there are, keywords included.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no name: never, since the keywords are always there.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
