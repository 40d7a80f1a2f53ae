//! The page of a ladder: how it was measured, tables, and what has become of the goals.

use std::fmt::Write;

use serde::Serialize;

use super::super::explain::wrapped;
use super::{ALONE, Ladder, spoken, state};
use crate::measure::{Kind, Score, Tally};
use crate::memory;
use search::statistics::Interval;

/// What a ladder says.
#[derive(Serialize)]
pub(super) struct Report {
    version: &'static str,
    settings: Settings,
    games: Vec<Row>,
    goals: Vec<Goal>,
    /// What else there is to say, as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Settings {
    learning_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    generations: Option<usize>,
    move_time: f64,
    long_time: f64,
    matches: u32,
    search_matches: u32,
    threads: usize,
    seed: u64,
}

/// A game.
#[derive(Serialize)]
pub(super) struct Row {
    game: String,
    /// What is known of learning it; nothing if it has not been learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    learned: Option<state::Learned>,
    cells: Vec<Cell>,
    /// Whether there is one role only.
    #[serde(skip)]
    is_alone: bool,
}

/// A comparison.
#[derive(Serialize)]
struct Cell {
    #[serde(flatten)]
    score: Score,
    /// Whether all matches have been played.
    done: bool,
}

/// What has become of a goal.
#[derive(Serialize)]
struct Goal {
    goal: &'static str,
    verdict: Verdict,
    found: String,
}

/// What matches say about a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// Whole intervals are at the goal or beyond it.
    Reached,
    /// A whole interval is short of it.
    NotReached,
    /// Intervals span the goal, or matches are missing.
    Open,
}

impl Verdict {
    /// Whether an interval is at a goal or beyond it.
    fn at_least(goal: f64, low: f64, high: f64) -> Verdict {
        if low >= goal {
            Verdict::Reached
        } else if high < goal {
            Verdict::NotReached
        } else {
            Verdict::Open
        }
    }

    /// Something that matches have shown or not, beyond doubt.
    fn known(is_reached: bool) -> Verdict {
        if is_reached { Verdict::Reached } else { Verdict::NotReached }
    }

    fn name(self) -> &'static str {
        match self {
            Verdict::Reached => "reached",
            Verdict::NotReached => "not reached",
            Verdict::Open => "open",
        }
    }
}

impl Row {
    pub(super) fn new(
        game: &str,
        is_alone: bool,
        learned: Option<&state::Learned>,
        tallies: impl Fn(&state::Learned) -> Vec<Tally>,
    ) -> Row {
        let cell = |tally: &Tally| tally.score().map(|score| Cell { score, done: tally.is_done() });
        Row {
            game: game.to_owned(),
            is_alone,
            learned: learned.cloned(),
            cells: learned.map_or(Vec::new(), |learned| tallies(learned).iter().filter_map(cell).collect()),
        }
    }

    /// Nobody can have a better score than this against random play, if this is the game.
    pub(super) fn bound(&mut self, game: &str, score: f64) {
        if let Some(learned) = self.learned.as_mut().filter(|learned| learned.game == game) {
            learned.possible = Some(learned.possible.map_or(score, |known| known.min(score)));
        }
    }

    /// A comparison, with this time for a move where time matters.
    fn cell(&self, kind: Kind, seconds: f64) -> Option<&Cell> {
        let is_it = |cell: &&Cell| {
            cell.score.kind == kind && cell.score.move_time.is_none_or(|own| (own - seconds).abs() < 1e-9)
        };
        self.cells.iter().find(is_it)
    }

    fn learned_text(&self) -> String {
        self.learned.as_ref().map_or("-".to_owned(), |learned| {
            format!("{:.0} s, {} matches", learned.seconds, grouped(u64::from(learned.matches)))
        })
    }
}

impl Cell {
    fn text(&self) -> String {
        let Score { mean, low, high, matches, .. } = self.score;
        let mut text = format!("**{mean:.1}** ({low:.1} to {high:.1}), {matches}");
        // What the model got is another number than its part of the points.
        if self.score.others.is_some() && (self.score.result - mean).abs() >= 0.05 {
            _ = write!(text, "; result {:.1}", self.score.result);
        }
        match self.score.decided {
            Some(true) => text.push_str(" ▲"),
            Some(false) => text.push_str(" ▼"),
            None => {}
        }
        if self.score.given_up > 0 {
            _ = write!(text, "; {} given up", self.score.given_up);
        }
        if !self.done {
            text.push_str(" …");
        }
        text
    }
}

impl Report {
    pub(super) fn new(arguments: &Ladder, threads: usize, games: Vec<Row>, notes: Option<String>) -> Report {
        let settings = Settings {
            learning_seconds: arguments.time.as_secs_f64(),
            generations: arguments.generations,
            move_time: arguments.move_time,
            long_time: arguments.long_time,
            matches: arguments.matches,
            search_matches: arguments.search_matches,
            threads,
            seed: arguments.seed,
        };
        let goals = goals(&games, &settings, &arguments.long);
        Report { version: env!("CARGO_PKG_VERSION"), settings, games, goals, notes }
    }

    /// The page, as Markdown.
    pub(super) fn page(&self) -> String {
        let mut page = INTRODUCTION.to_owned();
        if self.games.iter().any(|row| !row.cells.is_empty()) {
            self.put_settings(&mut page);
            if let Some(notes) = &self.notes {
                _ = writeln!(page, "\n{}", notes.trim());
            }
            self.put_tables(&mut page);
            page.push_str("\n## The goals\n\n");
            for goal in &self.goals {
                _ = writeln!(page, "- **{}** ({}): {}", goal.goal, goal.verdict.name(), goal.found);
            }
        } else {
            page.push_str("\nNothing has been played yet.\n");
        }
        page
    }

    fn put_settings(&self, page: &mut String) {
        let settings = &self.settings;
        let time = std::time::Duration::from_secs_f64(settings.learning_seconds);
        let learned = match settings.generations {
            Some(n) => format!("{n} generations"),
            None => spoken(time),
        };
        let threads =
            if settings.threads == 1 { "one thread".to_owned() } else { format!("{} threads", settings.threads) };
        let text = format!(
            "Learned: {learned} for each game, on {threads}. Matches: {} one move ahead, {} against random play with {} s a move, \
             up to {} against tree search with {} s a move and, for some games, with {} s. In games for one: {} matches one move \
             ahead, {} searching with {} s a move. Seed {}.",
            settings.matches,
            settings.search_matches,
            settings.move_time / 5.0,
            settings.search_matches,
            settings.move_time,
            settings.long_time,
            ALONE.0.min(settings.search_matches),
            ALONE.1.min(settings.search_matches),
            settings.move_time,
            settings.seed,
        );
        page.push_str("\n## These figures\n\n");
        if settings.generations.is_some()
            || settings.learning_seconds < 300.0
            || settings.search_matches < 100
            || settings.matches < 200
        {
            page.push_str("**A short run, for a first look: less time or fewer matches than the goals ask for.**\n\n");
        }
        for line in wrapped(&text, 120) {
            page.push_str(&line);
            page.push('\n');
        }
        let days = self.games.iter().filter_map(|row| row.learned.as_ref()).map(|learned| learned.made_at);
        if let Some(last) = days.max() {
            _ = writeln!(page, "Last learned on {}, version {}.", memory::day(last), self.version);
        }
    }

    fn put_tables(&self, page: &mut String) {
        let settings = &self.settings;
        let (time, long) = (settings.move_time, settings.long_time);
        let cell = |row: &Row, kind, seconds| row.cell(kind, seconds).map_or("-".to_owned(), Cell::text);
        page.push_str("\n## Games for two and more\n\n");
        _ = writeln!(
            page,
            "| game | learned | random, one move ahead | F | fuzzy goals, one move ahead | random, {} s | tree search, {time} s | \
             tree search, {long} s | searches by |\n|---|---|---|---|---|---|---|---|---|",
            time / 5.0
        );
        for row in self.games.iter().filter(|row| !row.is_alone) {
            let f_measure = row.cell(Kind::OnePlyRandom, 0.0).map(|cell| format!("{:.1}", cell.score.f_measure().mean));
            _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.game,
                row.learned_text(),
                cell(row, Kind::OnePlyRandom, 0.0),
                f_measure.unwrap_or("-".to_owned()),
                cell(row, Kind::OnePlyFuzzy, 0.0),
                cell(row, Kind::SearchRandom, time / 5.0),
                cell(row, Kind::SearchUct, time),
                cell(row, Kind::SearchUct, long),
                row.learned.as_ref().map_or("-", |learned| &learned.search),
            );
        }
        if !self.games.iter().any(|row| row.is_alone) {
            return;
        }
        page.push_str("\n## Games for one\n\n");
        _ = writeln!(
            page,
            "| game | learned | one move ahead | best | searching, {time} s | best |\n|---|---|---|---|---|---|"
        );
        for row in self.games.iter().filter(|row| row.is_alone) {
            let best =
                |kind, seconds| row.cell(kind, seconds).map_or("-".to_owned(), |cell| cell.score.best.to_string());
            _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} |",
                row.game,
                row.learned_text(),
                cell(row, Kind::OnePlyAlone, 0.0),
                best(Kind::OnePlyAlone, 0.0),
                cell(row, Kind::SearchAlone, time),
                best(Kind::SearchAlone, time),
            );
        }
    }
}

/// What has become of the goals.
fn goals(games: &[Row], settings: &Settings, long: &[String]) -> Vec<Goal> {
    let many: Vec<&Row> = games.iter().filter(|row| !row.is_alone).collect();
    let alone: Vec<&Row> = games.iter().filter(|row| row.is_alone).collect();
    let mut goals = Vec::new();
    // Step 1. Random play and fuzzy goals, one move ahead.
    let possible = |row: &Row| row.learned.as_ref().and_then(|learned| learned.possible).filter(|&most| most < 98.0);
    let (less, others): (Vec<&Row>, Vec<&Row>) = many.iter().copied().partition(|row| possible(row).is_some());
    let scores = Scores::new(&others, Kind::OnePlyRandom, 0.0);
    let at_least = |goal: f64| move |score: &Score| Verdict::at_least(goal, score.low, score.high);
    let mut found = scores.told(
        &[
            ("at least 98, with the whole interval", &|score| score.low >= 98.0),
            ("at least 98", &|score| score.mean >= 98.0),
            ("less, but perhaps by chance", &|score| score.high >= 98.0),
            ("less", &|_| true),
        ],
        |score| score.mean,
    );
    for row in less {
        let score = row.cell(Kind::OnePlyRandom, 0.0).map_or(f64::NAN, |cell| cell.score.mean);
        let most = possible(row).unwrap_or(100.0);
        _ = write!(
            found,
            " Not possible in {}: even the best answer to random play has {most:.1} ({score:.1}).",
            row.game
        );
    }
    goals.push(Goal {
        goal: "At least 98 against random play, wherever that is possible; one move ahead",
        verdict: scores.all(at_least(98.0)),
        found,
    });
    let scores = Scores::new(&many, Kind::OnePlyFuzzy, 0.0);
    goals.push(Goal {
        goal: "Better than fuzzy goals in every game where there is something to gain; one move ahead",
        verdict: scores.all(|score| match score.low > 50.0 {
            true => Verdict::Reached,
            // Half of the points is not better.
            false if score.high <= 50.0 => Verdict::NotReached,
            false => Verdict::Open,
        }),
        found: scores.told(
            &[
                ("better, with the whole interval", &|score| score.low > 50.0),
                ("better", &|score| score.mean > 50.0),
                ("not better", &|_| true),
            ],
            |score| score.mean,
        ),
    });
    // Step 2. Tree search.
    let groups: [Group; 6] = [
        ("at least 60, with the whole interval", &|score| score.low >= 60.0),
        ("at least 60, and the test agrees", &|score| score.mean >= 60.0 && score.decided == Some(true)),
        ("at least 60", &|score| score.mean >= 60.0),
        ("from 47 to 60", &|score| score.mean >= 47.0),
        ("less than 47, but perhaps by chance", &|score| score.high >= 47.0),
        ("less than 47", &|_| true),
    ];
    let scores = Scores::new(&many, Kind::SearchUct, settings.move_time);
    goals.push(Goal {
        goal: "At least 60 against tree search in 12 games, and less than 47 in none",
        verdict: {
            let n = |verdict| scores.found.iter().filter(|(_, score)| at_least(60.0)(score) == verdict).count();
            let (n_high, n_open) = (n(Verdict::Reached), n(Verdict::Open) + scores.missing.len());
            match scores.all(at_least(47.0)) {
                Verdict::Reached if n_high >= 12 => Verdict::Reached,
                Verdict::NotReached => Verdict::NotReached,
                _ if n_high + n_open < 12 => Verdict::NotReached,
                _ => Verdict::Open,
            }
        },
        found: scores.told(&groups, |score| score.mean),
    });
    let longer: Vec<&Row> = many.iter().copied().filter(|row| long.contains(&row.game)).collect();
    let scores = Scores::new(&longer, Kind::SearchUct, settings.long_time);
    if !longer.is_empty() {
        goals.push(Goal {
            goal: "Less than 47 in none with more time",
            verdict: scores.all(at_least(47.0)),
            found: scores.told(&groups, |score| score.mean),
        });
    }
    // Step 3. Games for one.
    if !alone.is_empty() {
        let scores = Scores::new(&alone, Kind::SearchAlone, settings.move_time);
        goals.push(Goal {
            goal: "A solution of every game for one",
            verdict: scores.all(|score| Verdict::known(score.best == 100)),
            found: scores.told(
                &[
                    ("solved in each match", &|score| score.mean >= 100.0),
                    ("solved", &|score| score.best == 100),
                    ("not solved", &|_| true),
                ],
                |score| score.mean,
            ),
        });
    }
    // Step 4. The F-measures.
    for (goal, game, least) in [
        ("An F-measure of 97 in Checkers", "checkers", 97.0),
        ("An F-measure of 99 in race Checkers", "race-checkers", 99.0),
    ] {
        let Some(row) = many.iter().find(|row| row.game == game) else { continue };
        let told = |kind, seconds, how: &str| {
            row.cell(kind, seconds).map(|cell| {
                let Interval { mean, low, high } = cell.score.f_measure();
                format!("{mean:.1} ({low:.1} to {high:.1}) {how}")
            })
        };
        let found = [
            told(Kind::OnePlyRandom, 0.0, "one move ahead"),
            told(Kind::SearchRandom, settings.move_time / 5.0, "searching"),
        ];
        let one_ply = row.cell(Kind::OnePlyRandom, 0.0).filter(|cell| cell.done);
        goals.push(Goal {
            goal,
            verdict: one_ply.map_or(Verdict::Open, |cell| {
                let f_measure = cell.score.f_measure();
                Verdict::at_least(least, f_measure.low, f_measure.high)
            }),
            found: found.into_iter().flatten().collect::<Vec<_>>().join(", ") + ".",
        });
    }
    goals
}

/// A name for scores, and whether one belongs to it.
type Group<'a> = (&'a str, &'a dyn Fn(&Score) -> bool);

/// One column of the tables.
struct Scores<'a> {
    found: Vec<(&'a str, &'a Score)>,
    /// Games that have no score, or not all of its matches.
    missing: Vec<&'a str>,
}

impl<'a> Scores<'a> {
    fn new(rows: &[&'a Row], kind: Kind, seconds: f64) -> Scores<'a> {
        let mut scores = Scores { found: Vec::new(), missing: Vec::new() };
        for row in rows {
            match row.cell(kind, seconds) {
                Some(cell) if cell.done => scores.found.push((&row.game, &cell.score)),
                // A game whose goals have no fuzzy truth does without.
                None if kind == Kind::OnePlyFuzzy && row.learned.as_ref().is_some_and(|learned| !learned.fuzzy) => {}
                _ => scores.missing.push(&row.game),
            }
        }
        scores
    }

    /// What holds of all games: not reached where one is known not to reach it, open while some are missing.
    fn all(&self, verdict: impl Fn(&Score) -> Verdict) -> Verdict {
        let verdicts: Vec<Verdict> = self.found.iter().map(|(_, score)| verdict(score)).collect();
        if verdicts.contains(&Verdict::NotReached) {
            Verdict::NotReached
        } else if self.missing.is_empty() && !verdicts.contains(&Verdict::Open) {
            Verdict::Reached
        } else {
            Verdict::Open
        }
    }

    /// The games in groups, each in the first that it belongs to.
    fn told(&self, groups: &[Group], number: impl Fn(&Score) -> f64) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut left = self.found.clone();
        for (name, belongs) in groups {
            let (own, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, score)| belongs(score));
            left = others;
            if !own.is_empty() {
                let each: Vec<String> =
                    own.iter().map(|(game, score)| format!("{game} {:.1}", number(score))).collect();
                parts.push(format!("{name} in {}: {}", own.len(), each.join(", ")));
            }
        }
        if !self.missing.is_empty() {
            parts.push(format!("missing: {}", self.missing.join(", ")));
        }
        parts.join("; ") + "."
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

const INTRODUCTION: &str = "\
# Strength

How strong the players are that `senet learn` makes, game by game. This page is the output of `senet ladder`; the same command
goes on with a ladder that was interrupted, and prints the page again once all is done. How searches compare that judge by the same
function is another page: [search.md](search.md).

## How it was measured

Each game is learned as by `senet learn --no-measure`, from nothing but its rules. Then the learned player plays against others
that know nothing but the rules, too:

- **Random, one move ahead**: the learned player looks one move ahead, the other makes any legal move. *F* is the F-measure of
  the same matches, 100 (n + wins - losses) / 2n.
- **Fuzzy goals, one move ahead**: both look one move ahead, the other at how true the goals are by fuzzy logic.
- **Random, searching**: the learned player at full strength, in a fifth of the usual time for a move.
- **Tree search**: the learned player at full strength against UCT with playouts by chance on 512 lanes. Both have the same
  time for a move, and each match runs on one thread.

Roles are taken by turns: with n roles a player has one seat and the other the rest, and n matches make a turn. Matches that would
hardly vary begin with up to four joint moves by chance; a turn has one opening for all its seats, and turns have different ones.
Against random play a match begins at its beginning. A match of more than 1000 joint moves is given up and counts as a draw.

A cell has the **score**, its 95 % interval and the number of matches. The score is the learned player's part of the points in per
cent, so that 50 is even: what it got on average, beside what it and a player on the other side got together. Where two roles
share 100 points this is the mean result, and the interval is Wilson's. Elsewhere the mean result stands beside it, and the
interval is the wider one of Wilson's and the one that turns as a whole give. In games for one the score is the mean result.

Matches against tree search where two roles share 100 points end early if a sequential test decides, after 30 matches at the
earliest: Wald's test between a score of 47 and a score of 60, each believed wrongly in at most 5 % of the cases. It looks at whole
turns in their order, whichever of them ends first. ▲ says that it believes in 60, ▼ in 47. The interval beside such a score is
one that holds at whatever time one stops for what one sees (Robbins's), and wider than Wilson's; the score itself is a little too
far from the middle. Elsewhere all matches are played. Cells with … are not finished.

A goal is *reached* where the whole interval of each score is at it or beyond it, *not reached* where one whole interval is short of
it, and *open* where an interval spans it or matches are missing. A search was chosen by other matches than these.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn score(kind: Kind, mean: f64) -> Score {
        let n = 200;
        Score {
            kind,
            move_time: kind.is_timed().then_some(if kind == Kind::SearchRandom { 0.02 } else { 0.1 }),
            mean,
            low: mean - 5.0,
            high: (mean + 5.0).min(100.0),
            result: mean,
            others: (!matches!(kind, Kind::OnePlyAlone | Kind::SearchAlone)).then_some(100.0 - mean),
            best: 100,
            matches: n,
            wins: (2.0 * mean) as usize,
            losses: n - (2.0 * mean) as usize,
            given_up: 0,
            decided: (kind == Kind::SearchUct && mean >= 60.0).then_some(true),
        }
    }

    fn row(game: &str, roles: usize, scores: &[(Kind, f64)]) -> Row {
        let learned = state::Learned {
            key: String::new(),
            game: game.to_owned(),
            fingerprint: String::new(),
            model: 1,
            content: String::new(),
            roles,
            shared: true,
            possible: (game == "tic-tac-toe").then_some(97.64),
            fuzzy: true,
            seconds: 300.4,
            search: "best-first search".to_owned(),
            threads: 2,
            generations: 9,
            matches: 12_345,
            features: 50,
            slots: 1_000,
            made_at: 0,
        };
        let cell = |&(kind, mean): &(Kind, f64)| Cell { score: score(kind, mean), done: true };
        let cells = scores.iter().map(cell).collect();
        Row { game: game.to_owned(), is_alone: roles == 1, learned: Some(learned), cells }
    }

    fn report(games: Vec<Row>, learning_seconds: f64) -> Report {
        let settings = Settings {
            learning_seconds,
            generations: None,
            move_time: 0.1,
            long_time: 0.5,
            matches: 200,
            search_matches: 100,
            threads: 2,
            seed: 1,
        };
        let goals = goals(&games, &settings, &["tron".to_owned()]);
        Report { version: "1", settings, games, goals, notes: None }
    }

    #[test]
    fn a_page_has_its_tables_and_goals() {
        let all = |random, fuzzy, uct| {
            [
                (Kind::OnePlyRandom, random),
                (Kind::OnePlyFuzzy, fuzzy),
                (Kind::SearchRandom, 100.0),
                (Kind::SearchUct, uct),
            ]
        };
        let games = vec![
            row("checkers", 2, &all(97.5, 80.0, 65.0)),
            row("tron", 2, &all(99.0, 52.0, 44.0)),
            row("tic-tac-toe", 2, &all(96.0, 60.0, 50.0)),
            row("peg", 1, &[(Kind::OnePlyAlone, 40.0), (Kind::SearchAlone, 100.0)]),
        ];
        let mut report = report(games, 300.0);
        report.games[0].bound("checkers", 97.9);
        report.notes = Some("The machine was quiet.\n".to_owned());
        report.goals = goals(&report.games, &report.settings, &["tron".to_owned()]);
        let page = report.page();
        for expected in [
            "\nThe machine was quiet.\n\n## Games for two",
            "| checkers | 300 s, 12,345 matches | **97.5** (92.5 to 100.0), 200 | 97.5 | **80.0** (75.0 to 85.0), 200 |",
            "**65.0** (60.0 to 70.0), 200 ▲ | - |",
            "| peg | 300 s, 12,345 matches | **40.0** (35.0 to 45.0), 200 | 100 |",
            "one move ahead** (open): at least 98 in 1: tron 99.0. Not possible in checkers: even the best answer to \
             random play has 97.9 (97.5). Not possible in tic-tac-toe: even the best answer to random play has 97.6 (96.0).",
            "(open): better, with the whole interval in 2: checkers 80.0, tic-tac-toe 60.0; better in 1: tron 52.0.",
            "at least 60, with the whole interval in 1: checkers 65.0; from 47 to 60 in 1: tic-tac-toe 50.0; less than 47, but \
             perhaps by chance in 1: tron 44.0.",
            "with more time** (open): missing: tron.",
            "A solution of every game for one** (reached): solved in each match in 1: peg 100.0.",
            "An F-measure of 97 in Checkers** (open): 97.5 (94.3 to 98.9) one move ahead, 100.0 (98.1 to 100.0) searching.",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        assert!(!page.contains("race Checkers**") && !page.contains("A short run"), "{page}");
        assert!(page.lines().filter(|line| !line.starts_with(['|', '-'])).all(|line| line.chars().count() <= 132));
    }

    /// An interval that spans the goal says neither yes nor no.
    #[test]
    fn goals_have_three_verdicts() {
        let of = |score: f64, half: f64| Verdict::at_least(60.0, score - half, score + half);
        assert_eq!(
            [of(66.0, 5.0), of(61.0, 5.0), of(59.0, 5.0), of(50.0, 5.0)].map(Verdict::name),
            ["reached", "open", "open", "not reached"]
        );
        assert_eq!((of(65.0, 5.0), of(55.0, 5.0)), (Verdict::Reached, Verdict::Open));
        let verdict = |games: &[(&str, f64)]| {
            let rows: Vec<Row> = games.iter().map(|&(game, mean)| row(game, 2, &[(Kind::OnePlyFuzzy, mean)])).collect();
            report(rows, 300.0).goals[1].verdict
        };
        assert_eq!(verdict(&[("a", 56.0), ("b", 70.0)]), Verdict::Reached);
        assert_eq!(verdict(&[("a", 54.0), ("b", 70.0)]), Verdict::Open);
        assert_eq!(verdict(&[("a", 54.0), ("b", 45.0)]), Verdict::NotReached);
    }

    #[test]
    fn short_runs_and_empty_ones_say_so() {
        let page = report(vec![row("tron", 2, &[(Kind::OnePlyRandom, 99.0)])], 2.0).page();
        assert!(page.contains("A short run") && page.contains("2 s for each game, on 2 threads"), "{page}");
        assert!(page.contains("one move ahead** (open): at least 98 in 1: tron 99.0."), "{page}");
        assert!(page.contains("(open): missing: tron."), "{page}");
        let empty = |game, is_alone| Row::new(game, is_alone, None, |_| Vec::new());
        assert!(report(vec![empty("tron", false)], 300.0).page().ends_with("Nothing has been played yet.\n"));
        let begun = row("tron", 2, &[(Kind::OnePlyRandom, 99.0)]);
        let page = report(vec![empty("peg", true), begun], 300.0).page();
        let places = ["| tron |", "## Games for one", "| peg |"].map(|text| page.find(text).expect(text));
        assert!(places.is_sorted(), "{page}");
    }

    #[test]
    fn the_manual_says_how_it_is_measured() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/strength.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page.starts_with(INTRODUCTION), "write it anew: senet ladder --report-only --out docs/strength.md");
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
