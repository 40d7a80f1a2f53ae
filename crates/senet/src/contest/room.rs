//! One match: contestants make their moves by the clock, and somebody who knows the rules keeps the score.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use arena::{Clocks, Contestant, Judge, Rules};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Joint moves of a match; longer ones are given up.
const PLIES: usize = 1_000;
/// So much later than its deadline an answer may come; searches need a moment to end.
const GRACE: Duration = Duration::from_millis(250);

/// How a match went.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The joint moves, in the order of the rules' roles.
    pub(crate) moves: Vec<Vec<String>>,
    /// Each role's result; nothing if the match was given up, or the rules give none.
    pub(crate) goals: Vec<Option<i64>>,
    /// For each role, its moves that were late, not legal or missing.
    pub(crate) faults: Vec<u32>,
    /// For each role, whether it never gave an answer that counts; then the match says nothing about anybody.
    pub(crate) failed: Vec<bool>,
    /// What was wrong first, if anything was.
    pub(crate) complaint: Option<String>,
}

/// Plays a match. `contestants` stand in the order of the rules' roles. The first moves are given by the opening. A move that is
/// late, not legal or missing is made by chance instead. If somebody does not even begin, nothing is played.
pub(crate) fn play(
    rules: &Rules,
    contestants: &mut [Box<dyn Contestant>],
    clocks: Clocks,
    opening: &[Vec<String>],
    seed: u64,
) -> Result<Outcome, String> {
    let mut judge = Judge::new(rules, None)?;
    let n_roles = contestants.len();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut outcome = Outcome {
        goals: vec![None; n_roles],
        faults: vec![0; n_roles],
        failed: vec![false; n_roles],
        ..Outcome::default()
    };
    for (role, contestant) in contestants.iter_mut().enumerate() {
        if let Err(why) = contestant.start(rules, role, clocks, Instant::now() + clocks.start) {
            outcome.failed[role] = true;
            outcome.complaint.get_or_insert(format!("{}: {why}", contestant.name()));
        }
    }
    if outcome.failed.contains(&true) {
        contestants.iter_mut().for_each(|contestant| contestant.stop(None));
        return Ok(outcome);
    }
    let mut n_asked = vec![0; n_roles];
    while !judge.is_terminal()? && outcome.moves.len() < PLIES {
        let legal: Vec<Vec<String>> = (0..n_roles).map(|role| judge.legal(role)).collect::<Result<_, _>>()?;
        if legal.iter().any(Vec::is_empty) {
            break;
        }
        let given = opening.get(outcome.moves.len());
        let mut joint = Vec::new();
        for (role, contestant) in contestants.iter_mut().enumerate() {
            let last = outcome.moves.last().map(Vec::as_slice);
            if let Some(given) = given {
                // It only learns what was played.
                _ = contestant.play(last, Instant::now());
                joint.push(given[role].clone());
                continue;
            }
            n_asked[role] += 1;
            let deadline = Instant::now() + clocks.play;
            let answer = contestant.play(last, deadline);
            let late = Instant::now() > deadline + GRACE;
            let (chosen, wrong) = match answer {
                Err(why) => (None, Some(why)),
                Ok(_) if late => (None, Some("it was late".to_owned())),
                Ok(decision) => match judge.spelled(role, &decision.chosen)? {
                    Some(chosen) => (Some(chosen), None),
                    None => (None, Some(format!("`{}` is not legal", decision.chosen))),
                },
            };
            if let Some(wrong) = wrong {
                outcome.faults[role] += 1;
                outcome.complaint.get_or_insert(format!("{}: {wrong}", contestant.name()));
            }
            let by_chance = random.random_range(0..legal[role].len());
            joint.push(chosen.unwrap_or_else(|| legal[role][by_chance].clone()));
        }
        judge.make(&joint)?;
        outcome.moves.push(joint);
    }
    if judge.is_terminal()? {
        outcome.goals = judge.goals()?;
    }
    let never = |(&asked, &faults): (&u32, &u32)| asked > 0 && faults == asked;
    outcome.failed = n_asked.iter().zip(&outcome.faults).map(never).collect();
    let last = outcome.moves.last().map(Vec::as_slice);
    contestants.iter_mut().for_each(|contestant| contestant.stop(last));
    Ok(outcome)
}

/// So many openings of up to `plies` joint moves by chance, after which a match goes on. They lead to different states as far as a
/// few tries find such; the first is no opening at all.
pub(crate) fn openings(rules: &Rules, n: usize, plies: u32, seed: u64) -> Result<Vec<Vec<Vec<String>>>, String> {
    /// Tries for an opening that is new.
    const TRIES: usize = 30;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
    let mut found = Vec::new();
    for number in 0..n {
        let mut last = Vec::new();
        for _ in 0..TRIES {
            let length = if number == 0 { 0 } else { random.random_range(0..=plies) };
            let mut judge = Judge::new(rules, None)?;
            last = Vec::new();
            let mut is_over = false;
            for _ in 0..length {
                let roles = 0..judge.roles().len();
                let legal: Vec<Vec<String>> = roles.map(|role| judge.legal(role)).collect::<Result<_, _>>()?;
                if legal.iter().any(Vec::is_empty) {
                    is_over = true;
                    break;
                }
                let joint: Vec<String> =
                    legal.iter().map(|moves| moves[random.random_range(0..moves.len())].clone()).collect();
                judge.make(&joint)?;
                last.push(joint);
                is_over = is_over || judge.is_terminal()?;
            }
            if is_over {
                last = Vec::new();
            } else if seen.insert(judge.fluents()?) {
                break;
            }
        }
        found.push(last);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena::Decision;

    fn tic_tac_toe() -> Rules {
        let text = std::fs::read_to_string("../../games/tic-tac-toe/rules.kif").expect("a game of the library");
        Rules::read("tic-tac-toe", &text)
    }

    const CLOCKS: Clocks = Clocks { start: Duration::from_secs(1), play: Duration::from_millis(100) };

    /// Says what it was told to say, and remembers what it heard.
    struct Parrot(&'static str, Duration, usize);

    impl Contestant for Parrot {
        fn name(&self) -> String {
            "parrot".to_owned()
        }

        fn start(&mut self, _: &Rules, _: usize, _: Clocks, _: Instant) -> Result<(), String> {
            Ok(())
        }

        fn play(&mut self, last: Option<&[String]>, _: Instant) -> Result<Decision, String> {
            self.2 += usize::from(last.is_some());
            std::thread::sleep(self.1);
            match self.0 {
                "" => Err("it is silent".to_owned()),
                text => Ok(Decision { chosen: text.to_owned(), why: None }),
            }
        }

        fn stop(&mut self, _: Option<&[String]>) {}
    }

    #[test]
    fn openings_are_different_and_played() {
        let rules = tic_tac_toe();
        let openings = openings(&rules, 30, 4, 1).expect("it is small");
        let different: BTreeSet<&Vec<Vec<String>>> = openings.iter().collect();
        assert_eq!((openings[0].len(), different.len()), (0, 30));
        let longest = openings.iter().max_by_key(|opening| opening.len()).expect("there are some");
        let mut players: Vec<Box<dyn Contestant>> =
            vec![Box::new(arena::Random::new(1)), Box::new(arena::Random::new(2))];
        let outcome = play(&rules, &mut players, CLOCKS, longest, 1).expect("it can be played");
        assert_eq!(&outcome.moves[..longest.len()], &longest[..]);
        assert_eq!(outcome.goals.iter().flatten().sum::<i64>(), 100);
        assert_eq!((outcome.faults, outcome.complaint), (vec![0, 0], None));
    }

    /// Whoever says nothing, something wrong, or says it too late, has a move by chance and a fault for it.
    #[test]
    fn faults_are_counted_and_the_match_goes_on() {
        let rules = tic_tac_toe();
        for (text, sleep, complaint) in [
            ("", 0, "parrot: it is silent"),
            ("(mark 9 9)", 0, "parrot: `(mark 9 9)` is not legal"),
            ("noop", 400, "parrot: it was late"),
        ] {
            let parrot = Parrot(text, Duration::from_millis(sleep), 0);
            let mut players: Vec<Box<dyn Contestant>> = vec![Box::new(arena::Legal::new()), Box::new(parrot)];
            let outcome = play(&rules, &mut players, CLOCKS, &[], 1).expect("it can be played");
            assert!(outcome.faults[1] >= 2 && outcome.faults[0] == 0, "{outcome:?}");
            assert_eq!(outcome.failed, [false, true], "{outcome:?}");
            assert_eq!(outcome.complaint.as_deref(), Some(complaint));
            assert!(outcome.goals.iter().all(Option::is_some));
        }
    }
}
