//! An opponent that sees what is near.

use machine::RoleId;
use machine::scalar::Scalar;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use search::{Answer, Limit, Player, legal_moves};

/// Takes a move that wins at once, avoids those after which another may win at once, and moves by chance otherwise: the opponent of
/// Kuhlmann's experiments with symmetries (2010). It is for games in which roles take turns.
pub struct Wary {
    machine: Scalar,
    random: Pcg64Mcg,
}

impl Wary {
    /// A player with a seed of its own.
    pub fn new(machine: Scalar, seed: u64) -> Wary {
        Wary { machine, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// The role's result if the match is over, and what a match that goes on is worth otherwise.
    fn worth(&mut self, role: RoleId) -> i64 {
        if self.machine.terminal() { self.machine.goal(role).unwrap_or(OPEN) } else { OPEN }
    }

    /// What a role has after a joint move.
    fn after(&mut self, role: RoleId, joint: &[u32]) -> i64 {
        self.machine.make(joint);
        let worth = self.worth(role);
        self.machine.unmake();
        worth
    }

    /// The least that a role may have after a joint move and one reply to it.
    fn after_reply(&mut self, role: RoleId, joint: &[u32]) -> i64 {
        self.machine.make(joint);
        let mut least = self.worth(role);
        let legal = legal_moves(&self.machine);
        if !self.machine.terminal() && legal.iter().all(|moves| !moves.is_empty()) {
            let mut reply: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
            for other in (0..legal.len()).filter(|&other| other != role.0 as usize) {
                let first = reply[other];
                for &chosen in &legal[other] {
                    reply[other] = chosen;
                    least = least.min(self.after(role, &reply));
                }
                reply[other] = first;
            }
        }
        self.machine.unmake();
        least
    }
}

/// What a match that goes on is worth; or one whose result nobody knows.
const OPEN: i64 = 50;

impl Player for Wary {
    fn choose(&mut self, state: &[u64], role: RoleId, _: &Limit) -> Answer {
        self.machine.jump(state);
        let legal = legal_moves(&self.machine);
        let own = role.0 as usize;
        // In an order by chance, so that the first good move is any of them.
        let mut moves = legal[own].clone();
        moves.shuffle(&mut self.random);
        let joint = |chosen: u32| {
            let mut joint: Vec<u32> = legal.iter().map(|moves| moves[0]).collect();
            joint[own] = chosen;
            joint
        };
        let wins = moves.iter().map(|&chosen| joint(chosen)).find(|joint| self.after(role, joint) > OPEN);
        let mut best: Option<(i64, Vec<u32>)> = wins.map(|joint| (i64::MAX, joint));
        for joint in moves.iter().map(|&chosen| joint(chosen)) {
            if best.as_ref().is_some_and(|best| best.0 >= OPEN) {
                break;
            }
            let worth = self.after_reply(role, &joint);
            if best.as_ref().is_none_or(|best| worth > best.0) {
                best = Some((worth, joint));
            }
        }
        let joint = best.expect("a role has a legal move").1;
        Answer { joint, ..Answer::default() }
    }
}

#[cfg(test)]
mod tests {
    use machine::scalar::Compiled;
    use search::Greedy;

    use super::*;
    use crate::td::testing::game;

    /// Both win where they can at once. Only one of them sees that the other side would.
    #[test]
    fn near_wins_are_taken_and_near_losses_avoided() {
        let game = game("tic-tac-toe");
        let network = &game.circuit.network;
        let mut machine = Scalar::new(Compiled::new(network.clone()));
        let chosen = |machine: &Scalar, role: usize, name: &str| {
            let is_this = |&&chosen: &&u32| network.name(network.moves[chosen as usize]) == name;
            *legal_moves(machine)[role].iter().find(is_this).expect("the move is legal")
        };
        // How often each player makes a move, of 40.
        let mut count = |line: &[&str], wanted: &str| {
            let initial = machine.compiled().initial().to_vec();
            machine.jump(&initial);
            for (ply, name) in line.iter().enumerate() {
                let mut joint: Vec<u32> = legal_moves(&machine).iter().map(|moves| moves[0]).collect();
                joint[ply % 2] = chosen(&machine, ply % 2, name);
                machine.make(&joint);
            }
            let (role, limit) = (line.len() % 2, Limit::nodes(u64::MAX));
            let wanted = chosen(&machine, role, wanted);
            let mut counts = [0; 2];
            for seed in 0..40 {
                let own = || Scalar::new(machine.compiled().clone());
                let players: [Box<dyn Player>; 2] =
                    [Box::new(Wary::new(own(), seed)), Box::new(Greedy::new(own(), seed))];
                for (mut player, count) in players.into_iter().zip(&mut counts) {
                    let answer = player.choose(machine.bits(), RoleId(role as u32), &limit);
                    *count += u32::from(answer.joint[role] == wanted);
                }
            }
            counts
        };
        let wins = count(&["(mark 1 1)", "(mark 2 2)", "(mark 1 2)", "(mark 3 3)"], "(mark 1 3)");
        assert_eq!(wins, [40, 40]);
        let [wary, greedy] = count(&["(mark 1 1)", "(mark 2 2)", "(mark 1 2)"], "(mark 1 3)");
        assert!(wary == 40 && (1..20).contains(&greedy), "{wary} {greedy}");
        // A win comes before a threat.
        let line = ["(mark 1 1)", "(mark 2 1)", "(mark 1 2)", "(mark 2 2)", "(mark 3 3)"];
        assert_eq!(count(&line, "(mark 2 3)"), [40, 40]);
        // Where nothing is near, it moves by chance.
        let [wary, _] = count(&[], "(mark 1 1)");
        assert!((1..15).contains(&wary), "{wary}");
    }
}
