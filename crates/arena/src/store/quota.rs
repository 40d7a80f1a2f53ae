//! A bound on what a memory takes, for one that strangers fill.

use std::collections::HashMap;

use super::{Store, StoreError};

/// How much may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The most models.
    pub models: usize,
    /// The most bytes, of the database and of its files.
    pub bytes: u64,
}

impl Store {
    /// Notes that what is known of a game was of use.
    pub fn set_used(&mut self, game: u128, at: i64) -> Result<(), StoreError> {
        self.set_note(&used(game), &at.to_string())
    }

    /// Forgets games until the rest is within the quota: those first that have been of no use for longest. The game `but` stays, and of
    /// its models the newest; and so do pinned models. How many games were forgotten.
    pub fn keep_within(&mut self, quota: Quota, but: u128) -> Result<usize, StoreError> {
        // Step 1. When each game was last of use.
        let mut last: HashMap<u128, i64> = HashMap::new();
        for game in self.games()? {
            let used = self.note(&used(game.fingerprint))?.and_then(|at| at.parse().ok()).unwrap_or(i64::MIN);
            last.insert(game.fingerprint, game.met_at.max(used));
        }
        for model in self.models()? {
            let at = last.entry(model.game).or_insert(model.made_at);
            *at = model.made_at.max(*at);
        }
        last.remove(&but);
        self.models()?.iter().filter(|model| model.is_pinned).for_each(|model| _ = last.remove(&model.game));
        let mut games: Vec<(i64, u128)> = last.into_iter().map(|(game, at)| (at, game)).collect();
        games.sort_unstable();
        // Step 2. Forget.
        let (n_games, mut games) = (games.len(), games.into_iter());
        while self.models()?.len() > quota.models || self.n_bytes()? > quota.bytes {
            let Some((_, game)) = games.next() else { break };
            self.forget(game)?;
            let transaction = self.write()?;
            transaction.execute("DELETE FROM notes WHERE name = ?1", [used(game)])?;
            transaction.commit()?;
        }
        let mut models: Vec<i64> =
            self.models()?.iter().filter(|model| model.game == but && !model.is_pinned).map(|model| model.id).collect();
        models.pop();
        for model in models {
            if self.models()?.len() <= quota.models && self.n_bytes()? <= quota.bytes {
                break;
            }
            self.forget_model(model)?;
        }
        Ok(n_games - games.len())
    }

    /// The bytes in use.
    fn n_bytes(&self) -> Result<u64, StoreError> {
        let number = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let pages = number("page_count")? - number("freelist_count")?;
        let database = u64::try_from(pages * number("page_size")?).unwrap_or(0);
        let files = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok());
        let files = files.into_iter().flatten().flatten().filter_map(|file| file.metadata().ok());
        Ok(database + files.map(|file| file.len()).sum::<u64>())
    }
}

/// The name under which it is noted when a game was of use.
fn used(game: u128) -> String {
    format!("used {game:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Game;

    #[test]
    fn what_was_of_no_use_for_longest_goes_first() {
        let folder = std::env::temp_dir().join(format!("senet-quota-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut store = Store::open(&folder.join("player.db")).expect("there is room");
        for game in 1..=6 {
            let rules = "(role a)".to_owned();
            let known = Game {
                fingerprint: game,
                name: format!("game {game}"),
                canonical: rules.clone(),
                rules,
                met_at: game as i64,
                structures: None,
                symmetries: None,
                index: Default::default(),
            };
            store.remember(&known).expect("there is room");
            store.keep_model(game, "{}", &vec![game as u8; 10_000], game as i64).expect("there is room");
        }
        store.set_used(1, 100).expect("there is room");
        let left =
            |store: &Store| store.models().expect("it can be read").iter().map(|model| model.game).collect::<Vec<_>>();
        assert_eq!(store.keep_within(Quota { models: 6, bytes: 1 << 30 }, 6).expect("it can be written"), 0);
        assert_eq!(store.keep_within(Quota { models: 3, bytes: 1 << 30 }, 2).expect("it can be written"), 3);
        assert_eq!(left(&store), [1, 2, 6]);
        // Too large: all others go, and of its own models all but the newest.
        store.keep_model(2, "{}", &[9; 20_000], 200).expect("there is room");
        let pinned = store.models().expect("it can be read")[0].id;
        store.pin_model(pinned, true).expect("there is room");
        store.keep_within(Quota { models: 100, bytes: 0 }, 2).expect("it can be written");
        assert_eq!(left(&store), [1, 2], "what is pinned stays");
        store.pin_model(pinned, false).expect("there is room");
        store.keep_within(Quota { models: 100, bytes: 0 }, 2).expect("it can be written");
        assert_eq!(left(&store), [2]);
        assert_eq!(store.models().expect("it can be read")[0].made_at, 200);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
