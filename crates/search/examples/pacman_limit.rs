//! How much against random play is possible in Pacman at most: `cargo run --release -p search --example pacman_limit`.
//!
//! A ghost that is after a Pacman who moves by chance can't keep him from eating on the way, and what he eats counts against it. So the
//! score of `docs/strength.md`, own points as a part of own points and the mean of the others', can't come near 100. A score of `s` is
//! possible only if some play has at least 0 of `(1 - s) * own - s * others` on average over the three seats. Here the most that it can be
//! is computed for a ghost, by dynamic programming over the places of Pacman and the ghost and over which of the pellets near Pacman's
//! start are eaten. All else is taken to be better for us than it is: other pellets count nothing, the other ghost never catches him
//! (if it did, the others would get 50 points, more than he can eat), after the last move that is looked at he is caught, and as
//! Pacman all 100 points are ours.

#![allow(clippy::print_stdout)]

/// Pellets near the start that are kept account of.
const PELLETS: usize = 13;
/// Joint moves that are looked at.
const MOVES: usize = 30;

fn main() {
    let path = format!("{}/../../games/pacman/rules.kif", env!("CARGO_MANIFEST_DIR"));
    let rules = std::fs::read_to_string(path).expect("the library has the game");
    let maze = Maze::read(&rules);
    let (mut possible, mut impossible) = (0.95, 1.0);
    for _ in 0..7 {
        let score = (possible + impossible) / 2.0;
        let total = (2.0 * maze.most_for_ghost(score) + (1.0 - score) * 100.0) / 3.0;
        println!("a score of {:.2}: at most {total:+.3} points", 100.0 * score);
        if total < 0.0 { impossible = score } else { possible = score }
    }
    println!("no player has a score of {:.2} or more on average", 100.0 * impossible);
}

struct Maze {
    /// For each cell, where one can be next.
    near: Vec<Vec<usize>>,
    pacman: usize,
    ghost: usize,
    /// For each cell, the bit of the pellet there, if account is kept of it.
    pellet: Vec<usize>,
    /// What Pacman gets for so many pellets.
    points: Vec<f32>,
}

impl Maze {
    fn read(rules: &str) -> Maze {
        let pairs = |name: &str| -> Vec<(usize, usize)> {
            let facts = rules.split('(').filter_map(|part| part.split_once(')')).map(|(fact, _)| fact);
            let words = facts.map(|fact| fact.split_whitespace().collect::<Vec<_>>());
            let numbers = |text: &str| text.parse().ok();
            words
                .filter(|words| words.len() == 3 && words[0] == name)
                .filter_map(|words| Some((numbers(words[1])?, numbers(words[2])?)))
                .collect()
        };
        let cells = pairs("floor");
        let starts = pairs("starting-cell");
        let place = |cell: (usize, usize)| cells.iter().position(|&other| other == cell);
        let near: Vec<Vec<usize>> = cells
            .iter()
            .map(|&(x, y)| {
                [(x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)].into_iter().filter_map(place).collect()
            })
            .collect();
        let [pacman, ghost, _] = starts[..] else { panic!("three begin somewhere") };
        let (pacman, ghost) = (place(pacman).expect("a cell"), place(ghost).expect("a cell"));
        // The cells in order of their distance from Pacman.
        let mut order = vec![pacman];
        let mut at = 0;
        while at < order.len() {
            for &next in &near[order[at]] {
                if !order.contains(&next) {
                    order.push(next);
                }
            }
            at += 1;
        }
        let mut pellet = vec![0; cells.len()];
        let with_pellet = order.into_iter().filter(|&cell| !starts.contains(&cells[cell]));
        with_pellet.take(PELLETS).enumerate().for_each(|(number, cell)| pellet[cell] = 1 << number);
        let mut points = vec![0.0; cells.len()];
        pairs("scoremap").into_iter().for_each(|(n, worth)| points[n] = worth as f32);
        Maze { near, pacman, ghost, pellet, points }
    }

    /// The most that `(1 - score) * own - score * others` may be for a ghost.
    fn most_for_ghost(&self, score: f32) -> f32 {
        let n = self.near.len();
        let n_eaten = 1 << PELLETS;
        let caught: Vec<f32> = (0..n_eaten)
            .map(|eaten: usize| (1.0 - score) * 100.0 - score * self.points[eaten.count_ones() as usize] / 2.0)
            .collect();
        // By what is eaten, where Pacman is and where the ghost is.
        let mut most: Vec<f32> = caught.iter().flat_map(|&caught| std::iter::repeat_n(caught, n * n)).collect();
        let mut next = most.clone();
        for _ in 0..MOVES {
            for (eaten, &caught) in caught.iter().enumerate() {
                (0..n).for_each(|cell| most[eaten * n * n + cell * n + cell] = caught);
            }
            for eaten in 0..n_eaten {
                for pacman in 0..n {
                    // What is to be expected for each place that the ghost goes to.
                    let mut expected = vec![0.0; n];
                    for &to in &self.near[pacman] {
                        let row = (eaten | self.pellet[to]) * n * n + to * n;
                        expected.iter_mut().zip(&most[row..row + n]).for_each(|(sum, &value)| *sum += value);
                    }
                    for (ghost, near) in self.near.iter().enumerate() {
                        let best = near.iter().map(|&to| expected[to]).fold(f32::MIN, f32::max);
                        next[eaten * n * n + pacman * n + ghost] = best / self.near[pacman].len() as f32;
                    }
                }
            }
            std::mem::swap(&mut most, &mut next);
        }
        most[self.pacman * n + self.ghost]
    }
}
