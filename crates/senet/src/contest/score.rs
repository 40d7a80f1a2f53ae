//! What the matches of a contest come to: standings, cross tables and ratings.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use arena::rating::{Rating, Results};
use arena::store::PlayedMatch;
use search::statistics::{self, Sprt};
use serde::Serialize;

use super::pairing::Pairing;

/// Even matches that everybody is given, so that those who have won everything have a rating, too.
const PRIOR: f64 = 1.0;

/// How somebody did. Wins, draws and losses are counted against each of the others in a match.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Standing {
    pub(crate) player: String,
    pub(crate) matches: u32,
    pub(crate) wins: u32,
    pub(crate) draws: u32,
    pub(crate) losses: u32,
    /// The mean result.
    pub(crate) mean_result: Option<f64>,
    /// Moves that were late, not legal or missing.
    pub(crate) faults: u32,
    /// Points of rating, and how far the 95 % interval goes to either side; 0 is the mean.
    pub(crate) elo: f64,
    pub(crate) error: f64,
}

/// The part of the points of one player against another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Duel {
    pub(crate) points: f64,
    pub(crate) n: u64,
}

/// A player's mean result in a match, over its seats; nothing if it has none.
fn result(played: &PlayedMatch, player: &str) -> Option<f64> {
    // Matches that were given up are draws.
    let goals = played.seats.iter().filter(|seat| seat.player == player).map(|seat| seat.goal.unwrap_or(50) as f64);
    let goals: Vec<f64> = goals.collect();
    (!goals.is_empty()).then(|| goals.iter().sum::<f64>() / goals.len() as f64)
}

/// How often each player never answered.
pub(crate) fn failures(matches: &[PlayedMatch]) -> BTreeMap<&str, u32> {
    let mut found = BTreeMap::new();
    for played in matches {
        let failed: BTreeSet<&str> =
            played.seats.iter().filter(|seat| seat.failed).map(|seat| seat.player.as_str()).collect();
        failed.into_iter().for_each(|player| *found.entry(player).or_default() += 1);
    }
    found
}

/// The same in words, a line for each player.
pub(crate) fn failures_text(matches: &[PlayedMatch]) -> String {
    let line = |(player, n): (&str, u32)| format!("{player} never answered in {n} matches, which do not count\n");
    failures(matches).into_iter().map(line).collect()
}

/// The points of one against the other in all matches in which they met: a win is 1, a draw ½.
pub(crate) fn duel<'a>(matches: impl IntoIterator<Item = &'a PlayedMatch>, one: &str, other: &str) -> Duel {
    let mut duel = Duel::default();
    for (own, theirs) in matches.into_iter().filter_map(|played| Some((result(played, one)?, result(played, other)?))) {
        duel.points += if own > theirs {
            1.0
        } else if own < theirs {
            0.0
        } else {
            0.5
        };
        duel.n += 1;
    }
    duel
}

/// What a sequential test believes of two players, if it has seen enough. It looks at whole turns in the order in which they are
/// planned, up to the first that is not complete, so that it does not matter which matches end first; and what it has once
/// believed it believes, whatever comes of matches that were under way.
pub(crate) fn decided(
    test: &Sprt,
    planned: &[Pairing],
    (matches, failures): (&[PlayedMatch], &[PlayedMatch]),
    names: &[String],
    pair: [usize; 2],
) -> Option<bool> {
    /// Before this nothing is decided.
    const LEAST: u64 = 10;
    let by_name: HashMap<&str, &PlayedMatch> = matches.iter().map(|played| (&*played.name, played)).collect();
    let own: Vec<&Pairing> =
        planned.iter().filter(|pairing| pair.iter().all(|player| pairing.lineup.contains(player))).collect();
    let mut all = Duel::default();
    let failed: BTreeSet<&str> = failures.iter().map(|played| &*played.name).collect();
    for turn in own.chunk_by(|one, other| one.turn() == other.turn()) {
        // A turn in which somebody never answered tells nothing.
        if turn.iter().any(|pairing| failed.contains(&*pairing.name)) {
            continue;
        }
        let played: Option<Vec<&PlayedMatch>> =
            turn.iter().map(|pairing| by_name.get(&*pairing.name).copied()).collect();
        let duel = duel(played?, &names[pair[0]], &names[pair[1]]);
        all = Duel { points: all.points + duel.points, n: all.n + duel.n };
        let believed = (all.n >= LEAST).then(|| test.decide(all.points, all.n)).flatten();
        if believed.is_some() {
            return believed;
        }
    }
    None
}

/// How everybody did, in the order in which the players are named.
pub(crate) fn standings(players: &[String], matches: &[PlayedMatch]) -> Vec<Standing> {
    let mut results = Results::new(players.len());
    for played in matches {
        let place = |name: &str| players.iter().position(|player| player == name);
        let scores: Option<Vec<(usize, f64)>> =
            played.seats.iter().map(|seat| Some((place(&seat.player)?, seat.goal.unwrap_or(50) as f64))).collect();
        results.add(&scores.unwrap_or_default());
    }
    let one = |(player, rating): (&String, Rating)| {
        let own: Vec<f64> = matches.iter().filter_map(|played| result(played, player)).collect();
        let mut standing = Standing {
            player: player.clone(),
            matches: own.len() as u32,
            wins: 0,
            draws: 0,
            losses: 0,
            mean_result: (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64),
            faults: 0,
            elo: rounded(rating.elo),
            error: rounded(rating.error),
        };
        for played in matches {
            let Some(own) = result(played, player) else { continue };
            standing.faults += played.seats.iter().filter(|s| s.player == *player).map(|s| s.faults).sum::<u32>();
            for other in players.iter().filter(|other| *other != player) {
                match result(played, other).map(|theirs| own.total_cmp(&theirs)) {
                    Some(std::cmp::Ordering::Greater) => standing.wins += 1,
                    Some(std::cmp::Ordering::Equal) => standing.draws += 1,
                    Some(std::cmp::Ordering::Less) => standing.losses += 1,
                    None => {}
                }
            }
        }
        standing
    };
    players.iter().zip(results.rate(PRIOR)).map(one).collect()
}

/// To a hundredth of a point; what is beyond that depends on the order in which numbers are added.
fn rounded(points: f64) -> f64 {
    (100.0 * points).round() / 100.0
}

/// Standings and who did how against whom.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    /// The best first.
    pub(crate) standings: Vec<Standing>,
    /// For each pair of players, in the order of the standings: the first's part of the points in per cent, and its interval.
    pub(crate) cross: Vec<Vec<Option<Cell>>>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cell {
    pub(crate) score: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) matches: u64,
}

impl Table {
    pub(crate) fn new(players: &[String], matches: &[PlayedMatch]) -> Table {
        let mut standings = standings(players, matches);
        standings.sort_by(|one, other| other.elo.total_cmp(&one.elo));
        let cell = |one: &Standing, other: &Standing| {
            let duel =
                if one.player == other.player { Duel::default() } else { duel(matches, &one.player, &other.player) };
            let interval = statistics::wilson(duel.points, duel.n);
            let [score, low, high] = [interval.mean, interval.low, interval.high].map(|part| 100.0 * part);
            (duel.n > 0).then_some(Cell { score, low, high, matches: duel.n })
        };
        let cross = standings.iter().map(|one| standings.iter().map(|other| cell(one, other)).collect()).collect();
        Table { standings, cross }
    }

    /// For a terminal: the number of a row is that of the column against that player.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let name = self.standings.iter().map(|standing| standing.player.chars().count()).max().unwrap_or(0).max(6);
        _ = write!(
            text,
            "{:>3}  {:<name$} {:>6} {:>5} {:>7} {:>6} {:>5} {:>6} {:>6}",
            "", "PLAYER", "ELO", "±", "MATCHES", "WINS", "DRAWS", "LOSSES", "RESULT"
        );
        (1..=self.standings.len()).for_each(|column| _ = write!(text, " {column:>5}"));
        text.push('\n');
        for (place, (own, cells)) in self.standings.iter().zip(&self.cross).enumerate() {
            let mean = own.mean_result.map_or("-".to_owned(), |mean| format!("{mean:.1}"));
            _ = write!(
                text,
                "{:>3}  {:<name$} {:>+6.0} {:>5.0} {:>7} {:>6} {:>5} {:>6} {mean:>6}",
                place + 1,
                own.player,
                own.elo,
                own.error,
                own.matches,
                own.wins,
                own.draws,
                own.losses
            );
            for (column, cell) in cells.iter().enumerate() {
                let shown = match cell {
                    _ if column == place => "·".to_owned(),
                    None => "-".to_owned(),
                    Some(cell) => format!("{:.0}%", cell.score),
                };
                _ = write!(text, " {shown:>5}");
            }
            text.push('\n');
        }
        let faulty = self.standings.iter().filter(|standing| standing.faults > 0);
        for standing in faulty {
            _ = writeln!(text, "{}: {} moves were late, not legal or missing", standing.player, standing.faults);
        }
        text
    }

    /// As Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = "| | player | Elo | matches | wins | draws | losses | mean result |".to_owned();
        (1..=self.standings.len()).for_each(|column| _ = write!(text, " {column} |"));
        text.push_str("\n|---|---|---|---|---|---|---|---|");
        text.push_str(&"---|".repeat(self.standings.len()));
        text.push('\n');
        for (place, (own, cells)) in self.standings.iter().zip(&self.cross).enumerate() {
            let mean = own.mean_result.map_or("–".to_owned(), |mean| format!("{mean:.1}"));
            _ = write!(
                text,
                "| {} | {} | {:+.0} ± {:.0} | {} | {} | {} | {} | {mean} |",
                place + 1,
                own.player,
                own.elo,
                own.error,
                own.matches,
                own.wins,
                own.draws,
                own.losses
            );
            for cell in cells {
                match cell {
                    None => text.push_str(" |"),
                    Some(cell) => _ = write!(text, " {:.0} % ({:.0}–{:.0}) |", cell.score, cell.low, cell.high),
                }
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use arena::store::PlayedSeat;

    use super::*;

    fn played(seats: &[(&str, Option<i64>)]) -> PlayedMatch {
        let seat = |&(player, goal): &(&str, Option<i64>)| PlayedSeat {
            player: player.to_owned(),
            goal,
            faults: 0,
            failed: false,
        };
        let text = String::new;
        PlayedMatch {
            name: text(),
            game: 0,
            game_name: text(),
            moves: text(),
            played_at: 0,
            seats: seats.iter().map(seat).collect(),
        }
    }

    #[test]
    fn points_are_counted_between_players() {
        let matches = [
            played(&[("a", Some(100)), ("b", Some(0))]),
            played(&[("b", Some(100)), ("a", Some(0))]),
            played(&[("a", Some(60)), ("b", Some(40))]),
            played(&[("a", None), ("b", None)]),
            // In a game of three the mean of the seats counts.
            played(&[("a", Some(50)), ("b", Some(100)), ("b", Some(20))]),
            played(&[("c", Some(1)), ("a", Some(0))]),
        ];
        assert_eq!(duel(&matches, "a", "b"), Duel { points: 2.5, n: 5 });
        assert_eq!(duel(&matches, "b", "a"), Duel { points: 2.5, n: 5 });
        assert_eq!(duel(&matches, "b", "c"), Duel::default());
        let players = ["a", "b", "c"].map(str::to_owned);
        let standings = standings(&players, &matches);
        assert_eq!((standings[0].matches, standings[0].wins, standings[0].draws, standings[0].losses), (6, 2, 1, 3));
        let table = Table::new(&players, &matches);
        assert_eq!(table.standings[0].player, "c");
        assert!(table.text().contains("50%") && table.markdown().lines().count() == 5, "{}", table.text());
    }

    /// Matches in the order in which they are planned, each turn with both seatings; and their results.
    fn planned(results: &str) -> (Vec<Pairing>, Vec<PlayedMatch>) {
        let pairing = |number: usize| Pairing {
            name: format!("opening {}, turn {}", number / 2, number % 2),
            game: 0,
            lineup: if number.is_multiple_of(2) { vec![0, 1] } else { vec![1, 0] },
            opening: number / 2,
        };
        let planned: Vec<Pairing> = (0..results.len()).map(pairing).collect();
        let goals = results.chars().map(|result| if result == '+' { (100, 0) } else { (0, 100) });
        let matches = goals.zip(&planned).map(|((own, theirs), pairing)| PlayedMatch {
            name: pairing.name.clone(),
            ..played(&[("a", Some(own)), ("b", Some(theirs))])
        });
        (planned.clone(), matches.collect())
    }

    fn believed(test: &Sprt, planned: &[Pairing], matches: &[PlayedMatch]) -> Option<bool> {
        decided(test, planned, (matches, &[]), &["a", "b"].map(str::to_owned), [0, 1])
    }

    #[test]
    fn a_clear_duel_is_decided() {
        let test = Sprt::between_elo(0.0, 100.0);
        let decided = |results: &str| {
            let (planned, matches) = planned(results);
            believed(&test, &planned, &matches)
        };
        assert_eq!(decided(&"+".repeat(8)), None);
        assert_eq!(decided(&"+".repeat(20)), Some(true));
        assert_eq!(decided(&"-".repeat(20)), Some(false));
        // That stands, even if what comes later would not be enough for it.
        let first = (5..).map(|n| "+".repeat(2 * n)).find(|results| decided(results).is_some()).expect("it comes");
        let later = first + "----";
        let all = duel(&planned(&later).1, "a", "b");
        assert_eq!((test.decide(all.points, all.n), decided(&later)), (None, Some(true)));
    }

    /// Wins end soon and losses late: what is not there yet is waited for.
    #[test]
    fn quick_wins_decide_nothing_alone() {
        let test = Sprt::between_elo(0.0, 100.0);
        let (planned, matches) = planned(&"+--+".repeat(20));
        let (won, lost): (Vec<_>, Vec<_>) =
            matches.into_iter().partition(|played| played.seats[0].goal == Some(100) && played.seats[0].player == "a");
        assert!(test.decide(won.len() as f64, won.len() as u64) == Some(true));
        assert_eq!(believed(&test, &planned, &won), None);
        let all = [won, lost].concat();
        assert_ne!(believed(&test, &planned, &all), Some(true));
    }
}
