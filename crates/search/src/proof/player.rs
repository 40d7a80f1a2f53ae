//! A player that moves only where it knows what a match comes to.

use std::sync::Arc;

use machine::RoleId;
use machine::scalar::{Compiled, Scalar};

use super::{Keys, Settings, Solver};
use crate::nature::Nature;
use crate::player::{Answer, Limit, MoveReport, Player, StopReason};

/// Solves the position that it is asked about. Where it can't be solved, or nothing is sure but the worst result, the answer has no
/// moves. Else it has all moves that keep the value, or one that wins. What it has proved is kept from one move to the next.
pub struct Exact {
    compiled: Arc<Compiled>,
    nature: Arc<Nature>,
    settings: Settings,
    solver: Option<(RoleId, Solver)>,
}

impl Exact {
    /// A player for games in which roles take turns; `None` where they don't.
    pub fn new(compiled: Arc<Compiled>, nature: Arc<Nature>, settings: Settings) -> Option<Exact> {
        nature.turn_taking.then(|| Exact { compiled, nature, settings, solver: None })
    }
}

impl Player for Exact {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        if self.solver.as_ref().is_none_or(|known| known.0 != role) {
            let machine = Scalar::new(self.compiled.clone());
            self.solver = Some((role, Solver::new(machine, Keys::default(), role, &self.settings)));
        }
        let (_, solver) = self.solver.as_mut().expect("there is one now");
        let solution = solver.solve(state, limit);
        let (least, most) = (solver.goals.first().copied(), solver.goals.last().copied());
        let nothing = Answer { nodes: solution.nodes, ..Answer::default() };
        let (Some(value), Some(joint)) = (solution.value(), solution.line.first().cloned()) else { return nothing };
        // Where what one gets another loses, what is sure is what there is to get.
        let is_strict = self.nature.constant_sum && joint.len() == 2;
        let is_to_play_for = Some(value) == most || (is_strict && Some(value) != least);
        if !is_to_play_for {
            return nothing;
        }
        let own = role.0 as usize;
        let worth = value as f32 / 100.0;
        let report = |chosen: u32| MoveReport { chosen, visits: 1, value: worth, proven: true };
        let mut reports = vec![report(joint[own])];
        if Some(value) != most {
            let others = solver.keeping(state, value, limit).into_iter().map(|other| other[own]);
            reports.extend(others.filter(|&other| other != joint[own]).map(report));
        }
        let (mut values, mut moves) = (vec![f32::NAN; joint.len()], vec![Vec::new(); joint.len()]);
        (values[own], moves[own]) = (worth, reports);
        Answer {
            joint,
            values,
            moves,
            nodes: solution.nodes,
            depth: solution.line.len() as u32,
            line: solution.line,
            proven: true,
            stop: StopReason::Solved,
            ..Answer::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::lanes;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::random::legal_moves;
    use crate::testing::network;

    /// Against random play in small games: whatever is certain stays certain to the end, and the moves that it names are those that keep
    /// it.
    #[test]
    fn what_is_certain_is_kept() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let mut n_draws = 0;
        for game in ["tic-tac-toe", "connect-3-4x4", "nim-5", "capture-go-3x3"] {
            let network = network(game);
            let nature = Arc::new(Nature::new(&lanes::Compiled::new(network.clone()), 1));
            let compiled = Compiled::new(network);
            let settings = Settings { bytes: 4 << 20, ..Settings::default() };
            let mut player = Exact::new(compiled.clone(), nature, settings.clone()).expect("turns are taken");
            let mut judge = Solver::new(Scalar::new(compiled.clone()), Keys::default(), RoleId(0), &settings);
            let mut machine = Scalar::new(compiled.clone());
            let unbound = Limit::nodes(u64::MAX);
            for _ in 0..20 {
                machine.jump(compiled.initial());
                let mut certain = None;
                while !machine.terminal() {
                    let legal = legal_moves(&machine);
                    let mut joint: Vec<u32> =
                        legal.iter().map(|moves| moves[random.random_range(0..moves.len())]).collect();
                    let answer = player.choose(machine.bits(), RoleId(0), &unbound);
                    assert!(answer.proven || certain.is_none(), "{game}: it was sure before");
                    if answer.proven {
                        let value = answer.values[0];
                        assert!(certain.is_none_or(|before| value >= before), "{game}: {certain:?} {value}");
                        certain = Some(value);
                        joint[0] = answer.joint[0];
                        let mut named: Vec<u32> = answer.moves[0].iter().map(|report| report.chosen).collect();
                        named.sort_unstable();
                        if legal[0].len() > 1 && value < 1.0 {
                            let keeps = |&chosen: &u32| {
                                let mut next = Scalar::new(compiled.clone());
                                next.jump(machine.bits());
                                next.make(&[chosen, joint[1]]);
                                judge.solve(next.bits(), &unbound).lower as f32 / 100.0 >= value
                            };
                            let keeping: Vec<u32> = legal[0].iter().copied().filter(keeps).collect();
                            assert_eq!(named, keeping, "{game}");
                            n_draws += 1;
                        }
                    }
                    machine.make(&joint);
                }
                let result = machine.goal(RoleId(0)).expect("it has a result") as f32 / 100.0;
                assert!(certain.is_none_or(|certain| result >= certain), "{game}: {result}");
            }
        }
        assert!(n_draws > 20, "{n_draws}");
    }

    /// One that must not look at much says nothing.
    #[test]
    fn what_is_not_known_is_not_said() {
        let network = network("connect-four");
        let nature = Arc::new(Nature::new(&lanes::Compiled::new(network.clone()), 1));
        let compiled = Compiled::new(network);
        let settings = Settings { bytes: 1 << 20, ..Settings::default() };
        let mut player = Exact::new(compiled.clone(), nature, settings).expect("turns are taken");
        let answer = player.choose(compiled.initial(), RoleId(0), &Limit::nodes(1_000));
        assert!(answer.joint.is_empty() && !answer.proven && answer.nodes >= 1_000, "{answer:?}");
    }
}
