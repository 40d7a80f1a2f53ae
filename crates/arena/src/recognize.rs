//! Is a game known? The same game under other names, a variant of one, or one that shares many rules?
//!
//! The same game is found by the fingerprint of its canonical form, its variants by keys that they share, and similar games
//! by comparing a sketch of the rules with those of all games. Whatever is found is then compared rule by rule, so that an
//! answer never rests on a hash alone.

use gdl::{Program, Source, Stop};
use insight::canonical::{BUDGET, Canonical, canonical, canonical_until, isomorphism};
use insight::mapping::Mapping;
use insight::similar::{self, Form, Similarity, Sketch};
use insight::variant::{self, Subject, Variant};

use crate::store::{Entry, Game, Index, Remembered, Store, StoreError, hash};

/// The version of fingerprints, keys and sketches. It must change when the code that makes them gives other numbers; stored
/// games then get new ones.
const VERSION: u32 = 1;

/// The most games with common keys that are compared.
const MAX_CANDIDATES: usize = 64;

/// The most games that are compared because their sketches are alike.
const MAX_NEAR: usize = 8;

/// Sketches that are less alike are not worth a comparison: games of the library that really share half of their rules are
/// above 0.17.
const MIN_LIKENESS: f64 = 0.12;

/// Games that share less are not similar.
const MIN_SCORE: f64 = 0.5;

/// A game that was met, with what recognition needs of it.
pub struct Met {
    /// The rules.
    pub program: Program,
    /// Their canonical form.
    pub canonical: Canonical,
    subject: Subject,
    sketch: Sketch,
}

/// What the memory knows about a game. Mappings lead from the known game to the new one.
pub enum Recognition {
    /// It is the same game, under other names.
    Exact(Box<Known>),
    /// It is a variant of these, those with the fewest differences first.
    Variants(Vec<Related>),
    /// It shares rules with these, those with the most first.
    Similar(Vec<Near>),
    /// There is nothing like it.
    Unknown,
}

/// The same game.
pub struct Known {
    /// The known game.
    pub of: Entry,
    /// Its rules.
    pub program: Program,
    /// What its names have become.
    pub mapping: Mapping,
}

/// A variant.
pub struct Related {
    /// The known game.
    pub of: Entry,
    /// Its rules.
    pub program: Program,
    /// How it becomes the new one.
    pub variant: Variant,
}

/// A similar game.
pub struct Near {
    /// The known game.
    pub of: Entry,
    /// Its rules.
    pub program: Program,
    /// What both have in common.
    pub similarity: Similarity,
}

/// Prepares a game for recognition.
pub fn meet(program: Program) -> Met {
    meet_until(program, &Stop::never()).expect("it is never stopped")
}

/// The same, unless it is stopped.
pub fn meet_until(program: Program, stop: &Stop) -> Option<Met> {
    let met = Met {
        canonical: canonical_until(&program, BUDGET, stop),
        subject: Subject::until(&program, stop)?,
        sketch: Sketch::until(&program, stop),
        program,
    };
    (!stop.is_raised()).then_some(met)
}

impl Met {
    /// The number that is equal for equal games.
    pub fn fingerprint(&self) -> u128 {
        self.canonical.fingerprint.0
    }

    /// The game as it is remembered. `met_at` is in seconds since 1970.
    pub fn to_game(&self, name: &str, rules: &str, met_at: i64) -> Game {
        Game {
            fingerprint: self.fingerprint(),
            name: name.to_owned(),
            rules: rules.to_owned(),
            canonical: self.canonical.text.clone(),
            met_at,
            structures: None,
            symmetries: None,
            index: Index { keys: self.subject.keys().own(), sketch: self.sketch.numbers().to_vec(), version: VERSION },
        }
    }
}

/// Says what the memory knows about a game.
pub fn recognize(store: &Store, met: &Met) -> Result<Recognition, StoreError> {
    if let Some(known) = same(store, met)? {
        return Ok(Recognition::Exact(Box::new(known)));
    }
    let variants = variants(store, met)?;
    if !variants.is_empty() {
        return Ok(Recognition::Variants(variants));
    }
    let near = near(store, met)?;
    Ok(if near.is_empty() { Recognition::Unknown } else { Recognition::Similar(near) })
}

fn same(store: &Store, met: &Met) -> Result<Option<Known>, StoreError> {
    let Some(game) = store.find(met.fingerprint())? else { return Ok(None) };
    let program = read(&game);
    let renaming = isomorphism(&canonical(&program, BUDGET), &met.canonical);
    let known =
        renaming.map(|renaming| Known { of: entry(&game), mapping: Mapping::of_equal(&program, &renaming), program });
    Ok(known)
}

/// The known games that a game is a variant of, those with the fewest differences first; the game itself may be one.
pub fn variants(store: &Store, met: &Met) -> Result<Vec<Related>, StoreError> {
    let mut found: Vec<Related> = Vec::new();
    for (of, shared) in store.candidates(&met.subject.keys().wanted())?.into_iter().take(MAX_CANDIDATES) {
        let Some(game) = store.find(of.fingerprint)? else { continue };
        let program = read(&game);
        let source = Subject::source(&program, &shared);
        let variant = variant::find(&source, &met.subject, None);
        found.extend(variant.map(|variant| Related { of, program, variant }));
    }
    // Candidates come sorted by name, and sorting keeps the order of equals.
    found.sort_by_key(|related| related.variant.transformations.len());
    Ok(found)
}

fn near(store: &Store, met: &Met) -> Result<Vec<Near>, StoreError> {
    let sketches = store.sketches()?;
    let mut alike: Vec<(f64, u128)> =
        sketches.iter().map(|(game, sketch)| (met.sketch.likeness(sketch), *game)).collect();
    alike.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
    alike.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut found = Vec::new();
    for (_, game) in alike.into_iter().take(MAX_NEAR) {
        let Some(game) = store.find(game)? else { continue };
        let program = read(&game);
        let form = canonical(&program, BUDGET);
        let theirs = Form { program: &program, canonical: &form };
        let ours = Form { program: &met.program, canonical: &met.canonical };
        let similarity = similar::compare(theirs, ours, similar::BUDGET);
        if similarity.score >= MIN_SCORE {
            found.push(Near { of: entry(&game), program, similarity });
        }
    }
    found.sort_by(|one, other| other.similarity.score.total_cmp(&one.similarity.score));
    Ok(found)
}

/// Remembers the games that come with the program, unless that was done before. Says how many of them are new.
pub fn seed<'a>(
    store: &mut Store,
    library: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    met_at: i64,
) -> Result<usize, StoreError> {
    let edition = edition(library.clone());
    if store.is_read_only() || store.note("library")?.as_deref() == Some(&edition) {
        return Ok(0);
    }
    let game = |(name, rules): (&str, &str)| meet(parse(name, rules)).to_game(name, rules, met_at);
    let games: Vec<Game> = library.map(game).collect();
    let n_new = store.remember_all(&games)?;
    store.set_note("library", &edition)?;
    Ok(n_new)
}

/// What tells one library from another: a hash of all names and texts.
fn edition<'a>(library: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let bytes: Vec<u8> = library.flat_map(|(name, rules)| [name, "\n", rules, "\n"]).flat_map(str::bytes).collect();
    format!("{VERSION} {:016x}", hash(&bytes))
}

/// Gives games that an earlier version has stored new fingerprints and keys, after a copy of the memory was kept. Says how many.
/// Those of a later version are left as they are.
pub fn refresh(store: &mut Store) -> Result<usize, StoreError> {
    refresh_to(store, VERSION, &|game| meet(read(game)).to_game(&game.name, &game.rules, game.met_at))
}

/// The same, for any version and any way to new fingerprints.
fn refresh_to(store: &mut Store, version: u32, renewed: &dyn Fn(&Game) -> Game) -> Result<usize, StoreError> {
    let outdated = store.outdated(version)?;
    if outdated.is_empty() || store.is_read_only() {
        return Ok(0);
    }
    store.keep_copy(&format!("recognition-{version}"))?;
    for &fingerprint in &outdated {
        if let Some(game) = store.find(fingerprint)? {
            store.replace(fingerprint, &renewed(&game))?;
        }
    }
    Ok(outdated.len())
}

/// Keeps a game that was met, under a name. `met_at` is in seconds since 1970.
pub fn remember(store: &mut Store, met: &Met, name: &str, rules: &str, met_at: i64) -> Result<Remembered, StoreError> {
    store.remember(&met.to_game(name, rules, met_at))
}

fn entry(game: &Game) -> Entry {
    Entry { fingerprint: game.fingerprint, name: game.name.clone(), met_at: game.met_at }
}

/// The rules of a stored game, which were checked before they were stored.
fn read(game: &Game) -> Program {
    parse(&game.name, &game.rules)
}

fn parse(name: &str, rules: &str) -> Program {
    let (tree, _) = gdl::parse(&Source::of_any_length(name, rules));
    gdl::resolve(&tree).0
}

#[cfg(test)]
mod tests;
