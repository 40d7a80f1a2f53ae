//! The games that come with the program.

use crate::view::View;

/// A game of the library: its folder under `games/`.
pub(crate) struct Game {
    /// The name of the folder.
    pub(crate) name: &'static str,
    /// The text of `rules.kif`.
    pub(crate) rules: &'static str,
    /// The text of `view.toml`.
    view: &'static str,
}

/// All games, sorted by name.
pub(crate) const GAMES: &[Game] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

impl Game {
    /// How people want to see the game.
    pub(crate) fn view(&self) -> anyhow::Result<View> {
        toml::from_str(self.view).map_err(|error| anyhow::anyhow!("the view of `{}`: {error}", self.name))
    }
}

/// The game with this name; case does not matter.
pub(crate) fn find(name: &str) -> Option<&'static Game> {
    GAMES.iter().find(|game| game.name.eq_ignore_ascii_case(name))
}

/// The names that look most like `name`, the most similar first; none if none looks like it.
pub(crate) fn similar(name: &str) -> Vec<&'static str> {
    let wanted = pairs(name);
    let score = |game: &Game| {
        let found = pairs(game.name);
        let mut left = found.clone();
        for pair in &wanted {
            if let Some(index) = left.iter().position(|other| other == pair) {
                left.swap_remove(index);
            }
        }
        // Dice's coefficient, in per cent.
        200 * (found.len() - left.len()) / (wanted.len() + found.len()).max(1)
    };
    let mut scored: Vec<_> =
        GAMES.iter().map(|game| (score(game), game.name)).filter(|(score, _)| *score >= 40).collect();
    scored.sort_by_key(|&(score, name)| (std::cmp::Reverse(score), name));
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// The pairs of neighbouring letters and digits, the first letter with what comes before it.
fn pairs(name: &str) -> Vec<(char, char)> {
    let letters = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let letters: Vec<char> = [' '].into_iter().chain(letters).collect();
    letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::{find, similar};

    #[test]
    fn games_are_found_by_name() {
        assert!(find("tic-tac-toe").is_some_and(|game| game.rules.contains("(role ")));
        assert!(find("Tic-Tac-Toe").is_some());
        assert!(find("no such game").is_none());
    }

    #[test]
    fn misspelled_names_have_neighbours() {
        assert_eq!(similar("tictactoe")[0], "tic-tac-toe");
        assert_eq!(similar("brekthrough")[0], "breakthrough");
        assert!(similar("qqqq").is_empty());
    }
}
