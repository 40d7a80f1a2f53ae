//! Many simple heuristics, each with a search of its own (Kuhlmann 2010, "Automated domain analysis and transfer learning in general
//! game playing").
//!
//! What the rules show of boards, pieces and quantities makes a few dozen features, and each of them two heuristics: more of it is
//! better, or less. Alpha-beta search deepens with each. A search that has come to the end of the game is right; of the others the
//! deepest is believed, and of several as deep, any. He had a processor for each; here they take turns, with more states each time.

use std::sync::Arc;

use features::game::Game;
use features::positions::Positions;
use features::structural::thesis::{self, Heuristic};
use learn::model::{Judge, Model, Sum, Weights};
use learn::seat::Seat;
use learn::sight::Sight;
use learn::stage::Stages;
use machine::RoleId;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use search::{AlphaBeta, Answer, Limit, Player, StopReason, alpha_beta};

/// The most heuristics.
const MOST: usize = 24;
/// Bytes of each search's table.
const BYTES: usize = 4 << 20;
/// States of a search in the first turn; each further turn has four times as many.
const FIRST: u64 = 256;

/// A player by many heuristics.
pub(crate) struct Heuristics {
    searches: Vec<Seat<AlphaBeta<Judge>>>,
    random: Pcg64Mcg,
}

impl Heuristics {
    /// For a game of several roles. The error says that there are no heuristics.
    pub(crate) fn new(game: &Arc<Game>, seed: u64) -> Result<Heuristics, String> {
        let mut found = thesis::heuristics(&thesis::features(game));
        if found.is_empty() {
            return Err("the rules show neither boards nor quantities".to_owned());
        }
        // Of too many, some that stand apart.
        let step = found.len().div_ceil(MOST);
        found = found.into_iter().step_by(step).collect();
        let features = found.iter().map(|heuristic| heuristic.named.feature.clone()).collect();
        let stages = Stages::find(game, &Positions::new(&game.circuit.network), 1);
        let sight = Arc::new(Sight::new(game.clone(), features, None, &stages)?);
        let models = (0..found.len()).map(|place| model(&sight, &found, place)).collect::<Result<Vec<_>, _>>()?;
        let search = |(place, model): (usize, Model)| {
            let settings = alpha_beta::Settings { bytes: BYTES, ..alpha_beta::Settings::default() };
            let judge = Arc::new(model).judge();
            Seat::new(
                AlphaBeta::new(judge, sight.nature.clone(), settings, seed.wrapping_add(place as u64)),
                sight.clone(),
            )
        };
        let searches = models.into_iter().enumerate().map(search).collect();
        Ok(Heuristics { searches, random: Pcg64Mcg::seed_from_u64(seed) })
    }
}

/// One heuristic as a model: an expectation that grows with the feature, or falls. It is the first role's; the others want the
/// opposite.
fn model(sight: &Arc<Sight>, heuristics: &[Heuristic], place: usize) -> Result<Model, String> {
    /// How far the expectation goes from the middle.
    const RANGE: f32 = 4.0;
    let n_roles = sight.game.universe.roles.len();
    let sum = if n_roles == 2 { Sum::Shared } else { Sum::Free };
    let n_own = if sum == Sum::Shared { 1 } else { n_roles };
    let weights = |role: usize| {
        let slope = RANGE / heuristics[place].named.bound.max(1) as f32;
        let slope = if heuristics[place].maximize == (role == 0) { slope } else { -slope };
        let mut features = vec![0.0; heuristics.len()];
        features[place] = slope;
        let n_sets = sight.stages.n_sets();
        Weights {
            bias: vec![-slope.signum() * RANGE / 2.0; n_sets],
            features: vec![features; n_sets],
            slots: vec![Vec::new(); n_sets],
        }
    };
    Model::fitting(sight.clone(), (0..n_own).map(weights).collect(), sum)
}

/// Which of several searches is believed: one that came to the end of the game, however deep that is; else the deepest; and any of
/// equals, by chance.
fn believed(mut answers: Vec<Answer>, random: &mut impl Rng) -> Option<Answer> {
    let rank = |answer: &Answer| if answer.proven { u32::MAX } else { answer.depth };
    let best = answers.iter().map(rank).max()?;
    answers.retain(|answer| rank(answer) == best);
    Some(answers.swap_remove(random.random_range(0..answers.len())))
}

impl Player for Heuristics {
    fn choose(&mut self, state: &[u64], role: RoleId, limit: &Limit) -> Answer {
        let (mut nodes, mut each) = (0, FIRST);
        let mut best: Option<Answer> = None;
        loop {
            // Only whole turns are compared: who was asked last has not looked less deep for being last.
            let mut turn: Vec<Answer> = Vec::new();
            for search in &mut self.searches {
                let left = limit.nodes.saturating_sub(nodes);
                let mut answer = search.choose(state, role, &Limit { nodes: each.min(left), stop: limit.stop });
                nodes += answer.nodes;
                let is_sure = answer.proven || answer.stop == StopReason::Forced;
                let is_over = (limit.stop)() || nodes >= limit.nodes;
                if is_sure || (is_over && best.is_none()) {
                    answer.nodes = nodes;
                    return answer;
                }
                if is_over {
                    let mut answer = best.expect("it was looked at");
                    answer.nodes = nodes;
                    return answer;
                }
                turn.push(answer);
            }
            best = believed(turn, &mut self.random);
            each *= 4;
        }
    }

    fn begin(&mut self) {
        self.searches.iter_mut().for_each(Player::begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(name: &str) -> Arc<Game> {
        let text = std::fs::read(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        Arc::new(Game::new(gdl::read(name, &text).program, 1).expect("it has a network"))
    }

    /// Kuhlmann's rule: what was searched to the end, else the deepest, and of equals any, the same with the same seed.
    #[test]
    fn the_end_is_believed_and_then_the_deepest() {
        let answer = |number: u32, depth, proven| Answer { joint: vec![number], depth, proven, ..Answer::default() };
        let chosen = |answers: &[Answer], seed| {
            let believed = believed(answers.to_vec(), &mut Pcg64Mcg::seed_from_u64(seed));
            believed.map(|answer| answer.joint[0])
        };
        let all =
            |answers: &[Answer]| (0..50).map(|seed| chosen(answers, seed)).collect::<std::collections::BTreeSet<_>>();
        let unsure = [answer(0, 3, false), answer(1, 9, false), answer(2, 8, false), answer(3, 9, false)];
        assert_eq!(all(&unsure), [Some(1), Some(3)].into());
        assert_eq!(
            (0..9).map(|seed| chosen(&unsure, seed)).collect::<Vec<_>>(),
            (0..9).map(|seed| chosen(&unsure, seed)).collect::<Vec<_>>()
        );
        let mut sure = unsure.to_vec();
        sure.extend([answer(4, 2, true), answer(5, 4, true)]);
        assert_eq!(all(&sure), [Some(4), Some(5)].into());
        assert_eq!(all(&[]), [None].into());
    }

    /// A certain win is found by whichever search comes to the end, and a bound on states is kept.
    #[test]
    fn certain_wins_are_found() {
        let game = game("tic-tac-toe");
        let network = game.circuit.network.clone();
        let mut machine = machine::scalar::Scalar::new(machine::scalar::Compiled::new(network.clone()));
        let play = |machine: &mut machine::scalar::Scalar, own: &str, role: u32| {
            let legal = search::legal_moves(machine);
            let find = |moves: &Vec<u32>, name: &str| {
                moves.iter().copied().find(|&chosen| network.name(network.moves[chosen as usize]) == name)
            };
            let other = legal[1 - role as usize][0];
            let own = find(&legal[role as usize], own).expect("it is legal");
            machine.make(&if role == 0 { [own, other] } else { [other, own] });
        };
        for (role, own) in [(0, "(mark 1 1)"), (1, "(mark 2 1)"), (0, "(mark 1 2)"), (1, "(mark 2 2)")] {
            play(&mut machine, own, role);
        }
        let mut player = Heuristics::new(&game, 1).expect("there are markers to count");
        assert!(player.searches.len() >= 4);
        let answer = player.choose(machine.bits(), RoleId(0), &Limit::nodes(100_000));
        assert_eq!(network.name(network.moves[answer.joint[0] as usize]), "(mark 1 3)");
        assert!(answer.proven && answer.nodes <= 100_000);
        let initial = machine.compiled().initial().to_vec();
        let first = player.choose(&initial, RoleId(0), &Limit::nodes(3_000));
        assert!(first.nodes <= 3_000 + 24 && !first.joint.is_empty());
    }
}
