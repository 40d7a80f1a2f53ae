//! Who meets whom, in which seats: the matches of a contest, each with a name that says what it is.

use super::score::{Standing, standings};
use arena::store::PlayedMatch;

/// How a contest goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// Everybody meets everybody
    RoundRobin,
    /// The first player meets everybody else
    Gauntlet,
    /// In rounds, those meet who have as many points
    Swiss,
    /// All sit at one table, and change their seats
    Table,
}

/// A match that is to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pairing {
    /// Different from those of all others of the contest.
    pub(crate) name: String,
    pub(crate) game: usize,
    /// The player of each role; in a game with one role, those who play it, each alone.
    pub(crate) lineup: Vec<usize>,
    /// The number of the opening.
    pub(crate) opening: usize,
}

impl Pairing {
    /// What the seatings of a pair with an opening have in common.
    pub(crate) fn turn(&self) -> &str {
        self.name.rsplit_once(", turn ").map_or(&*self.name, |(turn, _)| turn)
    }
}

/// What pairings depend on.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) format: Format,
    /// The names of the players.
    pub(crate) players: Vec<String>,
    /// For each game the number of its roles.
    pub(crate) n_roles: Vec<usize>,
    /// Matches of each pairing in each game; as many more as it takes for everybody to have every seat.
    pub(crate) matches: usize,
    /// The rounds of a Swiss contest.
    pub(crate) rounds: usize,
}

impl Plan {
    /// How many rounds there are.
    pub(crate) fn n_rounds(&self) -> usize {
        if self.format == Format::Swiss { self.rounds } else { 1 }
    }

    /// How many openings a game needs.
    pub(crate) fn n_openings(&self, game: usize) -> usize {
        let turn = match (self.format, self.n_roles[game]) {
            (_, 1) => 1,
            (Format::Table, n) => n,
            (_, 2) => 2,
            (_, n) => 2 * n,
        };
        self.matches.div_ceil(turn)
    }

    /// The matches of a round; those of later rounds depend on what was played in earlier ones.
    pub(crate) fn round(&self, round: usize, played: &[PlayedMatch]) -> Vec<Pairing> {
        let n = self.players.len();
        let groups: Vec<Vec<usize>> = match self.format {
            Format::Table => vec![(0..n).collect()],
            Format::Gauntlet => (1..n).map(|other| vec![0, other]).collect(),
            Format::RoundRobin => (0..n).flat_map(|one| (one + 1..n).map(move |other| vec![one, other])).collect(),
            Format::Swiss => self.neighbours(round, played),
        };
        let most = (0..self.n_roles.len()).map(|game| self.n_openings(game)).max().unwrap_or(0);
        // One opening after another, so that all pairs are about as far.
        let mut all = Vec::new();
        for opening in 0..most {
            for game in (0..self.n_roles.len()).filter(|&game| opening < self.n_openings(game)) {
                for group in &groups {
                    let names: Vec<String> = group.iter().map(usize::to_string).collect();
                    let seatings = seatings(group, self.n_roles[game]);
                    all.extend(seatings.into_iter().enumerate().map(|(turn, lineup)| Pairing {
                        name: format!(
                            "round {round}, game {game}, players {}, opening {opening}, turn {turn}",
                            names.join(" ")
                        ),
                        game,
                        lineup,
                        opening,
                    }));
                }
            }
        }
        all
    }

    /// Pairs for a round of a Swiss contest: from the top, each meets the next whom it has not met. If there are too many for
    /// pairs, the last who has not paused yet does.
    fn neighbours(&self, round: usize, played: &[PlayedMatch]) -> Vec<Vec<usize>> {
        let before: Vec<PlayedMatch> = played.iter().filter(|played| round_of(&played.name) < round).cloned().collect();
        let found = standings(&self.players, &before);
        let mut order: Vec<usize> = (0..self.players.len()).collect();
        let points = |standing: &Standing| 2 * standing.wins + standing.draws;
        order.sort_by_key(|&player| (std::cmp::Reverse(points(&found[player])), player));
        let met = |one: usize, other: usize| {
            before.iter().any(|played| {
                let sits = |player: usize| played.seats.iter().any(|seat| seat.player == self.players[player]);
                sits(one) && sits(other)
            })
        };
        if order.len() % 2 == 1 {
            // Who pauses has played in fewer rounds; of several, the one with the fewest points.
            let n_rounds = |player: usize| {
                let rounds =
                    before.iter().filter(|played| played.seats.iter().any(|seat| seat.player == self.players[player]));
                rounds.map(|played| round_of(&played.name)).collect::<std::collections::BTreeSet<_>>().len()
            };
            let most = order.iter().map(|&player| n_rounds(player)).max().unwrap_or(0);
            let place = order.iter().rposition(|&player| n_rounds(player) == most).unwrap_or(order.len() - 1);
            order.remove(place);
        }
        let mut pairs = Vec::new();
        while order.len() > 1 {
            let one = order.remove(0);
            let place = order.iter().position(|&other| !met(one, other)).unwrap_or(0);
            pairs.push(vec![one, order.remove(place)]);
        }
        pairs
    }
}

/// The round that a match is of.
fn round_of(name: &str) -> usize {
    name.strip_prefix("round ").and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or(0)
}

/// The ways in which a group can sit down, so that each has every seat as often.
fn seatings(group: &[usize], n_roles: usize) -> Vec<Vec<usize>> {
    match (group, n_roles) {
        (_, 1) => vec![group.to_vec()],
        (&[one, other], n) if n > 2 => {
            let alone = |own: usize, others: usize, seat: usize| {
                (0..n).map(|role| if role == seat { own } else { others }).collect::<Vec<_>>()
            };
            (0..n).flat_map(|seat| [alone(one, other, seat), alone(other, one, seat)]).collect()
        }
        (group, n) => (0..n).map(|turn| (0..n).map(|role| group[(role + turn) % group.len()]).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arena::store::PlayedSeat;

    use super::*;

    fn plan(format: Format, n_players: usize, n_roles: &[usize], matches: usize) -> Plan {
        let players = (0..n_players).map(|player| format!("p{player}")).collect();
        Plan { format, players, n_roles: n_roles.to_vec(), matches, rounds: 3 }
    }

    #[test]
    fn everybody_meets_everybody_in_both_seats() {
        let all = plan(Format::RoundRobin, 4, &[2, 2], 4).round(0, &[]);
        assert_eq!(all.len(), 6 * 2 * 4);
        let names: BTreeSet<&str> = all.iter().map(|pairing| pairing.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        for one in 0..4 {
            let firsts = all.iter().filter(|pairing| pairing.lineup[0] == one).count();
            let seconds = all.iter().filter(|pairing| pairing.lineup[1] == one).count();
            assert_eq!((firsts, seconds), (12, 12));
        }
        let gauntlet = plan(Format::Gauntlet, 4, &[2], 2).round(0, &[]);
        assert!(gauntlet.len() == 6 && gauntlet.iter().all(|pairing| pairing.lineup.contains(&0)));
    }

    #[test]
    fn seats_are_shared_out_for_any_number_of_roles() {
        assert_eq!(seatings(&[4, 7], 1), [[4, 7]]);
        assert_eq!(seatings(&[4, 7], 2), [[4, 7], [7, 4]]);
        let three = seatings(&[4, 7], 3);
        assert_eq!(three.len(), 6);
        for seat in 0..3 {
            assert_eq!(three.iter().filter(|lineup| lineup[seat] == 4).count(), 3);
        }
        assert_eq!(seatings(&[1, 2, 3], 3), [[1, 2, 3], [2, 3, 1], [3, 1, 2]]);
        assert_eq!(plan(Format::Table, 3, &[3], 7).round(0, &[]).len(), 9);
    }

    /// In a Swiss contest nobody meets the same player twice as long as there are others, the winners meet, and of an odd number
    /// each pauses at most once.
    #[test]
    fn winners_meet_in_a_swiss_contest() {
        for n in [8, 7] {
            let plan = plan(Format::Swiss, n, &[2], 2);
            let mut played: Vec<PlayedMatch> = Vec::new();
            let mut met = BTreeSet::new();
            let mut n_played = vec![0; n];
            for round in 0..3 {
                let pairings = plan.round(round, &played);
                assert_eq!(pairings.len(), n / 2 * 2);
                if (n, round) == (8, 1) {
                    // 0, 2, 4 and 6 have won.
                    assert!(
                        pairings.iter().all(|pairing| pairing.lineup[0] % 2 == pairing.lineup[1] % 2),
                        "{pairings:?}"
                    );
                }
                for pairing in pairings.iter().filter(|pairing| pairing.name.ends_with("turn 0")) {
                    let mut pair = pairing.lineup.clone();
                    pair.iter().for_each(|&player| n_played[player] += 1);
                    pair.sort_unstable();
                    assert!(met.insert(pair), "{pairing:?} again");
                }
                // The lower number always wins, and pairs stay the same when the round is asked for again.
                for pairing in &pairings {
                    let goal =
                        |seat: usize| Some(if pairing.lineup[seat] < pairing.lineup[1 - seat] { 100 } else { 0 });
                    let seat = |seat| PlayedSeat {
                        player: format!("p{}", pairing.lineup[seat]),
                        goal: goal(seat),
                        faults: 0,
                        failed: false,
                    };
                    let (name, game_name, moves) = (pairing.name.clone(), String::new(), String::new());
                    let seats = vec![seat(0), seat(1)];
                    played.push(PlayedMatch { name, game: 0, game_name, moves, played_at: 0, seats });
                }
                assert_eq!(plan.round(round, &played), pairings);
            }
            assert!(n_played.iter().all(|&rounds| rounds >= 2), "{n_played:?}");
        }
    }
}
