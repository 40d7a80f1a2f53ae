//! Looking one move ahead, at all that may follow at once.

use std::sync::Arc;

use machine::RoleId;
use machine::lanes::Compiled;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::evaluate::Evaluate;
use crate::fan::Fan;
use crate::greedy::{likely, replies, settle};
use crate::player::{Answer, Limit, Player};

/// Takes the move after which an opinion promises most; any of the best, by chance. Where others move at the same time, one half of
/// what counts is the mean over their replies, and the other half the reply of roles that each take what is best for them
/// if all others move by chance: neither a fool nor a thinker is to surprise it. Fools make more mistakes, so against them a
/// match that goes on is worth more than an opinion says, and a sure result is no better than it is: no reason to collide.
pub struct OnePly {
    fan: Fan,
    opinion: Box<dyn Evaluate>,
    random: Pcg64Mcg,
}

/// How many joint moves by chance tell what a move of another role is worth to it.
const SAMPLES: usize = 8;
/// Which part of what is missing to the best result a fool gives away later on.
const GIVEN_AWAY: f32 = 0.75;
/// States that are judged at once, about.
const TOGETHER: usize = 2_048;

impl OnePly {
    /// A player that judges by this opinion.
    pub fn new(compiled: Arc<Compiled>, opinion: Box<dyn Evaluate>, seed: u64) -> OnePly {
        OnePly { fan: Fan::new(compiled), opinion, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// What each role has after each joint move, and which of these don't end the match.
    fn values(&mut self, state: &[u64], joints: &[u32]) -> (Vec<f32>, Vec<usize>) {
        let (n_roles, n_words) = (self.fan.n_roles(), self.fan.n_words());
        let (mut next, mut values) = (Vec::new(), Vec::new());
        self.fan.follow(joints.chunks(n_roles).map(|joint| (state, joint)), &mut next, &mut values);
        let open: Vec<usize> = (0..joints.len() / n_roles).filter(|&at| values[at * n_roles].is_nan()).collect();
        let states: Vec<&[u64]> = open.iter().map(|&at| &next[at * n_words..(at + 1) * n_words]).collect();
        let mut judged = Vec::new();
        self.opinion.values(&states, &mut judged);
        for (&at, judged) in open.iter().zip(judged.chunks(n_roles)) {
            let own = values[at * n_roles..(at + 1) * n_roles].iter_mut();
            own.zip(judged).for_each(|(value, &judged)| *value = likely(judged));
        }
        (values, open)
    }

    /// For each role a move that is best for it if all others move by chance.
    fn sensible(&mut self, state: &[u64], legal: &[Vec<u32>], own: usize) -> Vec<u32> {
        let n_roles = legal.len();
        let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
        for role in (0..n_roles).filter(|&role| role != own && legal[role].len() > 1) {
            let mut joints = Vec::new();
            for &chosen in &legal[role] {
                for _ in 0..SAMPLES {
                    let first = joints.len();
                    joints.extend(legal.iter().map(|moves| moves[self.random.random_range(0..moves.len())]));
                    joints[first + role] = chosen;
                }
            }
            let (values, _) = self.values(state, &joints);
            let sums = values.chunks(SAMPLES * n_roles);
            let sums = sums.map(|values| values.iter().skip(role).step_by(n_roles).sum::<f32>());
            let best = sums.enumerate().max_by(|one, other| one.1.total_cmp(&other.1)).expect("it has moves").0;
            joint[role] = legal[role][best];
        }
        joint
    }
}

impl Player for OnePly {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        self.fan.look(&[state], &mut Vec::new());
        let legal = self.fan.legal(0).to_vec();
        let (own, n_roles) = (role.0 as usize, legal.len());
        let mut answer = Answer { joint: legal.iter().map(|moves| moves[0]).collect(), ..Answer::default() };
        if legal[own].len() == 1 {
            return answer;
        }
        let mut replies = replies(&legal, own, &mut self.random);
        let n_by_chance = replies.len() as f32;
        if replies.len() > 1 {
            replies.push(self.sensible(state, &legal, own));
        }
        // The replies to some moves are judged at once.
        let mut worths = Vec::new();
        for some in legal[own].chunks(TOGETHER.div_ceil(replies.len())) {
            let mut joints = Vec::new();
            for &chosen in some {
                let first = joints.len();
                joints.extend(replies.iter().flatten().copied());
                joints[first..].iter_mut().skip(own).step_by(n_roles).for_each(|own| *own = chosen);
            }
            let (mut values, open) = self.values(state, &joints);
            // The last of several replies is the sensible one.
            for at in open.into_iter().filter(|at| replies.len() > 1 && at % replies.len() + 1 < replies.len()) {
                let value = &mut values[at * n_roles + own];
                *value += GIVEN_AWAY * (1.0 - *value);
            }
            for (&chosen, values) in some.iter().zip(values.chunks(replies.len() * n_roles)) {
                let mut sum: f32 = values.iter().skip(own).step_by(n_roles).sum();
                if replies.len() > 1 {
                    let sensible = values[values.len() - n_roles + own];
                    sum = ((sum - sensible) / n_by_chance + sensible) / 2.0;
                }
                worths.push((chosen, sum));
            }
            if (limit.stop)() {
                break;
            }
        }
        settle(&mut answer, own, &worths, replies.len() as u64, &mut self.random);
        answer
    }
}

#[cfg(test)]
mod tests {
    use machine::lanes::Lanes;
    use machine::network::Network;
    use machine::scalar::{self, Scalar};

    use super::*;
    use crate::random::legal_moves;
    use crate::testing::{network, of_rules};

    /// Knows nothing.
    struct Even(usize);

    impl Evaluate for Even {
        fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
            values.resize(values.len() + states.len() * self.0, 0.5);
        }
    }

    fn one_ply(network: &Arc<Network>) -> OnePly {
        OnePly::new(Compiled::new(network.clone()), Box::new(Even(network.roles.len())), 1)
    }

    /// In every state of random matches with a move that wins at once, such a move is made; and any legal move else.
    #[test]
    fn what_wins_at_once_is_taken() {
        let network = network("tic-tac-toe");
        let mut player = one_ply(&network);
        let compiled = scalar::Compiled::new(network);
        let mut machine = Scalar::new(compiled.clone());
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut n_won = 0;
        for _ in 0..100 {
            machine.jump(compiled.initial());
            while !machine.terminal() {
                let legal = legal_moves(&machine);
                let role = RoleId((0..2).find(|&role| legal[role as usize].len() > 1).unwrap_or(0));
                let wins = |machine: &mut Scalar, joint: &[u32]| {
                    machine.make(joint);
                    let won = machine.terminal() && machine.goal(role) == Some(100);
                    machine.unmake();
                    won
                };
                let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
                let any_wins = legal[role.0 as usize].iter().any(|&chosen| {
                    joint[role.0 as usize] = chosen;
                    wins(&mut machine, &joint)
                });
                let answer = player.choose(machine.bits(), role, &Limit::nodes(u64::MAX));
                assert!(legal[role.0 as usize].contains(&answer.joint[role.0 as usize]));
                if any_wins {
                    assert!(wins(&mut machine, &answer.joint));
                    n_won += 1;
                }
                let joint: Vec<u32> = legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
                machine.make(&joint);
            }
        }
        assert!(n_won > 50, "{n_won}");
    }

    /// A risk pays on average, but not against the one reply that is best for the other.
    #[test]
    fn who_thinks_is_feared() {
        let network = of_rules(
            b"(role one) (role other) (init begin)
            (legal one safe) (legal one risk)
            (legal other good) (legal other b) (legal other c) (legal other d)
            (<= (next (done ?one ?other)) (does one ?one) (does other ?other))
            (<= over (true (done ?one ?other))) (<= terminal over)
            (<= (goal one 50) (true (done safe ?other)))
            (<= (goal one 0) (true (done risk good)))
            (<= (goal one 100) (true (done risk ?other)) (distinct ?other good))
            (<= (goal one 50) (not over))
            (<= (goal other 100) (true (done ?one good)))
            (<= (goal other 0) (not (true (done safe good))) (not (true (done risk good))))",
        );
        let mut player = one_ply(&network);
        let state = Lanes::new(Compiled::new(network.clone())).store(0);
        let answer = player.choose(&state, RoleId(0), &Limit::nodes(u64::MAX));
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "safe");
        let values: Vec<f32> = answer.moves[0].iter().map(|report| report.value).collect();
        assert_eq!(values, [0.5, 0.375]);
    }

    /// A sure draw is worth less than a match that goes on, even if nobody promises more of it.
    #[test]
    fn a_draw_by_chance_is_avoided() {
        let network = of_rules(
            b"(role one) (role other) (init begin)
            (legal one wait) (legal one meet) (legal other wait) (legal other meet)
            (<= (next met) (does one meet) (does other meet))
            (<= (next (waited ?role)) (does ?role wait))
            (<= terminal (true met)) (<= (goal ?role 50) (role ?role))",
        );
        let mut player = one_ply(&network);
        let state = Lanes::new(Compiled::new(network.clone())).store(0);
        let answer = player.choose(&state, RoleId(0), &Limit::nodes(u64::MAX));
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "wait");
        assert!(answer.moves[0][0].value > answer.moves[0][1].value);
    }
}
