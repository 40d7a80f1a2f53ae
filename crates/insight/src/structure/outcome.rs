//! Results: who wins together, and what results add up to.

use std::collections::BTreeMap;

/// What the outcomes of matches have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Roles that always had equal results, grouped; every role is in one group.
    pub teams: Vec<Vec<u32>>,
    /// The sum of all results, if it was always the same.
    pub sum: Option<i64>,
    /// Matches that each role won: had the best result of all, alone.
    pub wins: Vec<u64>,
    /// Matches in which several roles had the best result.
    pub shared: u64,
}

/// Reads it off the outcomes.
pub(super) fn find(n_roles: usize, outcomes: &BTreeMap<Vec<Option<i64>>, u64>) -> Outcomes {
    let mut found = Outcomes { wins: vec![0; n_roles], ..Outcomes::default() };
    if outcomes.is_empty() {
        found.teams = (0..n_roles as u32).map(|role| vec![role]).collect();
        return found;
    }
    for role in 0..n_roles {
        let same = |team: &&mut Vec<u32>| outcomes.keys().all(|results| results[role] == results[team[0] as usize]);
        match found.teams.iter_mut().find(same) {
            Some(team) => team.push(role as u32),
            None => found.teams.push(vec![role as u32]),
        }
    }
    let sums: Option<Vec<i64>> = outcomes.keys().map(|results| results.iter().copied().sum()).collect();
    found.sum = sums.and_then(|sums| sums.iter().all(|sum| *sum == sums[0]).then_some(sums[0]));
    for (results, &count) in outcomes {
        let best = results.iter().flatten().max();
        let winners: Vec<usize> = (0..n_roles).filter(|&role| results[role].as_ref() == best).collect();
        match winners[..] {
            [winner] if best.is_some() => found.wins[winner] += count,
            _ => found.shared += count,
        }
    }
    found
}
