//! Moves at the same time, for any number of roles and any interests.

use rand::{Rng, RngExt};

/// Appends joint moves of some legal moves, those of one after those of another: all, or where several roles choose and there
/// are more than `most`, about so many by chance with each move of each role among them. Whether these are all.
pub fn joint_moves(legal: &[Vec<u32>], most: usize, random: &mut impl Rng, joints: &mut Vec<u32>) -> bool {
    let product = legal.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
    if product <= most || legal.iter().filter(|moves| moves.len() > 1).count() <= 1 {
        for number in 0..product {
            let mut rest = number;
            for moves in legal {
                joints.push(moves[rest % moves.len()]);
                rest /= moves.len();
            }
        }
        return true;
    }
    let longest = legal.iter().map(Vec::len).max().unwrap_or(1);
    for _ in 0..(most / longest).max(2) {
        let offsets: Vec<usize> = legal.iter().map(|moves| random.random_range(0..moves.len())).collect();
        let strides: Vec<usize> = legal.iter().map(|_| random.random_range(0..longest)).collect();
        for turn in 0..longest {
            for ((moves, offset), stride) in legal.iter().zip(&offsets).zip(&strides) {
                joints.push(moves[(offset + turn + turn / moves.len() * stride) % moves.len()]);
            }
        }
    }
    false
}

/// How joint moves are mixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixed {
    /// How often each joint move is made; they add up to 1.
    pub parts: Vec<f32>,
    /// What each role gets in the mean.
    pub values: Vec<f32>,
}

/// Regret matching on a list of joint moves with what they are worth to each role: each role mixes its moves so that none would
/// have been much better. Joint moves that are not listed are not thought of.
pub fn mix(joints: &[u32], values: &[f32], n_roles: usize, rounds: usize) -> Mixed {
    let n = joints.len() / n_roles;
    // Step 1. For each role its moves, and for each joint move their places.
    let mut moves: Vec<Vec<u32>> = vec![Vec::new(); n_roles];
    let mut places = vec![0usize; joints.len()];
    for (place, (&chosen, at)) in places.iter_mut().zip(joints.iter().zip(0..)) {
        let own: &mut Vec<u32> = &mut moves[at % n_roles];
        *place = own.iter().position(|&other| other == chosen).unwrap_or_else(|| {
            own.push(chosen);
            own.len() - 1
        });
    }
    let mut regrets: Vec<Vec<f32>> = moves.iter().map(|own| vec![0.0; own.len()]).collect();
    let mut sums: Vec<Vec<f32>> = regrets.clone();
    let mut strategies: Vec<Vec<f32>> = regrets.iter().map(|own| vec![1.0 / own.len() as f32; own.len()]).collect();
    let (mut weights, mut worth) = (vec![0.0; n], Vec::new());
    for round in 0..rounds {
        for role in 0..n_roles {
            if moves[role].len() == 1 {
                continue;
            }
            // What each move gets against the others' mixture.
            worth.clear();
            worth.resize(moves[role].len(), (0.0f32, 0.0f32));
            for at in 0..n {
                let others = (0..n_roles).filter(|&other| other != role);
                let weight: f32 = others.map(|other| strategies[other][places[at * n_roles + other]]).product();
                let entry = &mut worth[places[at * n_roles + role]];
                entry.0 += weight * values[at * n_roles + role];
                entry.1 += weight;
            }
            let mean = |&(sum, weight): &(f32, f32)| if weight > 0.0 { sum / weight } else { 0.0 };
            let current: f32 = worth.iter().zip(&strategies[role]).map(|(worth, part)| mean(worth) * part).sum();
            for (regret, worth) in regrets[role].iter_mut().zip(&worth) {
                *regret = (*regret + mean(worth) - current).max(0.0);
            }
        }
        for role in 0..n_roles {
            let total: f32 = regrets[role].iter().sum();
            let own = &mut strategies[role];
            let even = 1.0 / own.len() as f32;
            for (part, regret) in own.iter_mut().zip(&regrets[role]) {
                *part = if total > 0.0 { regret / total } else { even };
            }
            // Later rounds count more.
            sums[role].iter_mut().zip(own.iter()).for_each(|(sum, part)| *sum += part * (round + 1) as f32);
        }
    }
    for (at, weight) in weights.iter_mut().enumerate() {
        *weight = (0..n_roles).map(|role| sums[role][places[at * n_roles + role]]).product();
    }
    let total: f32 = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    weights.iter_mut().for_each(|weight| *weight /= total);
    let value = |role: usize| weights.iter().enumerate().map(|(at, part)| part * values[at * n_roles + role]).sum();
    let values = (0..n_roles).map(value).collect();
    Mixed { parts: weights, values }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn matching_pennies_is_mixed_evenly() {
        let joints = [0, 2, 0, 3, 1, 2, 1, 3];
        let mixed = mix(&joints, &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0], 2, 400);
        assert!(mixed.parts.iter().all(|part| (part - 0.25).abs() < 0.03), "{mixed:?}");
        assert!(mixed.values.iter().all(|value| (value - 0.5).abs() < 0.03), "{mixed:?}");
    }

    #[test]
    fn a_better_move_is_found() {
        // The first role's second move is always better; the second role answers it by its own second.
        let mixed = mix(&[0, 2, 0, 3, 1, 2, 1, 3], &[0.2, 0.9, 0.1, 0.0, 0.9, 0.1, 0.6, 0.4], 2, 200);
        assert!(mixed.parts[3] > 0.95, "{mixed:?}");
    }

    #[test]
    fn every_move_is_looked_at() {
        let legal = vec![(0..30).collect::<Vec<u32>>(), (100..140).collect(), vec![7]];
        let mut joints = Vec::new();
        assert!(!joint_moves(&legal, 100, &mut rand_pcg::Pcg64Mcg::seed_from_u64(1), &mut joints));
        for (role, moves) in legal.iter().enumerate() {
            let met: std::collections::BTreeSet<u32> = joints.iter().skip(role).step_by(3).copied().collect();
            assert_eq!(met, moves.iter().copied().collect());
        }
        assert!(joints.len() / 3 <= 120);
        joints.clear();
        assert!(joint_moves(&[vec![1, 2], vec![3, 4, 5]], 6, &mut rand_pcg::Pcg64Mcg::seed_from_u64(1), &mut joints));
        assert_eq!(joints, [1, 3, 2, 3, 1, 4, 2, 4, 1, 5, 2, 5]);
    }
}
