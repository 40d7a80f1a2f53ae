//! Games with one role: a line with the best result is looked for while learning, and played.

use std::sync::Arc;

use features::game::Game;
use machine::lanes;
use search::{Evaluate, Limit, Solo, solo};

use crate::model::{Model, Opinion};
use crate::sight::Sight;

/// A player for a game with one role, on the game's own network: the model is one of the guides of its search, and the line
/// that it knows is played.
///
/// # Panics
/// If the game has several roles.
pub fn player(model: &Arc<Model>, bytes: usize, seed: u64) -> Solo {
    let settings = solo::Settings { bytes, ..solo::Settings::default() };
    let opinion = Abroad { opinion: model.opinion(), sight: model.sight.clone() };
    let (compiled, initial) = start(&model.sight.game);
    Solo::new(&compiled, settings, seed).guided(Box::new(opinion)).knowing(&initial, &model.line)
}

/// In some of the generations of a game with one role, looks for a better line than the one that a model knows, each time twice as
/// long: the model with the best line that is known then, and whether none is better. Nothing where it is not looked for.
pub(crate) fn look(
    model: &Arc<Model>,
    generation: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Option<(Arc<Model>, bool)> {
    /// States looked at in the first generation.
    const NODES: u64 = 2_000_000;
    let Model { sight, weights, sum, line, .. } = &**model;
    if sight.game.universe.roles.len() > 1 || !generation.is_power_of_two() {
        return None;
    }
    let (better, solved) = solve(&sight.game, line, NODES * generation, seed, stop);
    let same = better == *line;
    let with = |line| Arc::new(Model::new(sight.clone(), weights.clone(), *sum).knowing(line));
    Some((if same { model.clone() } else { with(better) }, solved))
}

/// Looks for a line with the best result in a game with one role: the line, if there is one that ends, and whether none is better.
fn solve(game: &Game, known: &[u32], nodes: u64, seed: u64, stop: &dyn Fn() -> bool) -> (Vec<u32>, bool) {
    let (compiled, initial) = start(game);
    let mut solver = Solo::new(&compiled, solo::Settings::default(), seed).knowing(&initial, known);
    let answer = solver.search(&initial, &Limit { nodes, stop });
    if answer.values[0].is_finite() { (answer.line.concat(), answer.proven) } else { (Vec::new(), answer.proven) }
}

fn start(game: &Game) -> (Arc<lanes::Compiled>, Box<[u64]>) {
    let compiled = lanes::Compiled::new(game.circuit.network.clone());
    let initial = lanes::Lanes::new(compiled.clone()).store(0);
    (compiled, initial)
}

/// A model's opinion on states of the game's own network.
struct Abroad {
    opinion: Opinion,
    sight: Arc<Sight>,
}

impl Evaluate for Abroad {
    fn values(&mut self, states: &[&[u64]], values: &mut Vec<f32>) {
        let states: Vec<Vec<u64>> = states.iter().map(|state| self.sight.views.state(state)).collect();
        let views: Vec<&[u64]> = states.iter().map(Vec::as_slice).collect();
        self.opinion.values(&views, values);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use machine::RoleId;
    use machine::scalar::{self, Scalar};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// A walk by chance from place to place, in circles, too, on which a key may be found that changes what places are worth; some
    /// end after a number of steps, and in some no end can be reached.
    fn walk(random: &mut Pcg64Mcg) -> String {
        let n = random.random_range(3..9);
        let mut rules = String::from(
            "(role robot) (init (at 0)) (<= (legal robot (go ?way)) (true (at ?x)) (leads ?x ?way ?y))
            (<= (next (at ?y)) (true (at ?x)) (does robot (go ?way)) (leads ?x ?way ?y))
            (<= (next key) (true key)) (<= (next key) (true (at ?x)) (hides ?x))
            (<= terminal (true (at ?x)) (end ?x))
            (<= (goal robot ?v) (true (at ?x)) (not (true key)) (worth ?x ?v))
            (<= (goal robot ?v) (true (at ?x)) (true key) (opened ?x ?v))",
        );
        for place in 0..n {
            for way in 0..random.random_range(1..4) {
                rules += &format!("(leads {place} {way} {})", random.random_range(0..n));
            }
            let worth = [0; 2].map(|_: i32| 10 * random.random_range(0..=10));
            rules += &format!("(worth {place} {}) (opened {place} {})", worth[0], worth[1]);
        }
        rules += &format!("(hides {})", random.random_range(0..n));
        rules += &format!("(end {})", random.random_range(1..n));
        if random.random() {
            let limit = random.random_range(2..12);
            rules += &format!("(init (step 0)) (<= terminal (true (step {limit})))");
            rules += "(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))";
            (0..limit).for_each(|step| rules += &format!("(succ {step} {})", step + 1));
        }
        rules
    }

    fn moves(machine: &Scalar) -> Vec<u32> {
        let mut moves = Vec::new();
        machine.legal_moves(RoleId(0), &mut moves);
        moves
    }

    /// The best result of all ends that can be reached, by looking at every state.
    fn best(machine: &mut Scalar) -> Option<i64> {
        let mut seen = BTreeSet::from([machine.bits().to_vec()]);
        let (mut waiting, mut best) = (vec![machine.bits().to_vec()], None);
        while let Some(state) = waiting.pop() {
            machine.jump(&state);
            if machine.terminal() {
                best = best.max(machine.goal(RoleId(0)));
                continue;
            }
            for chosen in moves(machine) {
                machine.jump(&state);
                machine.make(&[chosen]);
                if seen.insert(machine.bits().to_vec()) {
                    waiting.push(machine.bits().to_vec());
                }
            }
        }
        best
    }

    /// A line that is said to be the best is the best of all, whatever was known before and however long it was looked for.
    #[test]
    fn no_line_is_better_than_what_is_called_the_best() {
        let mut n_solved = [0; 4];
        for seed in 0..60 {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let rules = walk(&mut random);
            let game = Game::new(gdl::read("walk", rules.as_bytes()).program, 1).expect("it has a network");
            let mut machine = Scalar::new(scalar::Compiled::new(game.circuit.network.clone()));
            let initial = machine.bits().to_vec();
            let best = best(&mut machine);
            // A line by chance, if it comes to an end.
            machine.jump(&initial);
            let mut known = Vec::new();
            while !machine.terminal() && known.len() < 30 {
                let moves = moves(&machine);
                known.push(moves[random.random_range(0..moves.len())]);
                machine.make(&known[known.len() - 1..]);
            }
            if !machine.terminal() {
                known.clear();
            }
            for (nodes, n_solved) in [1, 8, 64, 100_000].into_iter().zip(&mut n_solved) {
                let (line, is_best) = solve(&game, &known, nodes, seed, &|| false);
                machine.jump(&initial);
                line.iter().for_each(|&chosen| machine.make(&[chosen]));
                assert!(line.is_empty() || machine.terminal(), "{seed}: {line:?}\n{rules}");
                let found = if line.is_empty() { None } else { machine.goal(RoleId(0)) };
                assert!(
                    found <= best && (!is_best || found == best),
                    "{seed}: {found:?} of {best:?}, {nodes}\n{rules}"
                );
                *n_solved += u32::from(is_best && best.is_some());
            }
        }
        assert!(n_solved[2] > 10 && n_solved[3] > 30, "{n_solved:?}");
    }
}
