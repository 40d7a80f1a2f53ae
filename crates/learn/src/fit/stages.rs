//! Weights that stages share, where a stage alone has too few rows to tell.
//!
//! Buro's rules (1998): a column that occurs often in a stage has a weight of its own there; one that hardly occurs has none;
//! in between, stages that follow each other are taken together until there is enough. Those have one weight, or where they
//! have enough rows a line: a weight that changes evenly from stage to stage.

use super::design::{Design, Stage, Staged};

/// When stages share weights.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Rules {
    /// A column that occurs more often than this in a stage has a weight of its own there.
    pub own: u32,
    /// A column that occurs no more often than this has no weight there.
    pub none: u32,
    /// Stages taken together have a line if the column occurs at least so often in them; `None` for one weight always.
    pub line: Option<u32>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { own: 20, none: 4, line: None }
    }
}

/// What a column's weight in a stage is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    /// A column of the plan, or [`NOTHING`].
    column: u32,
    /// How much of the column after that is added: the distance to the middle of a line. 0 without a line.
    along: f32,
}

const NOTHING: u32 = u32::MAX;

/// Which weights stages share: for each column of a staged design, the columns of a smaller one.
#[derive(Clone, Debug)]
pub struct Plan {
    cells: Vec<Cell>,
    n_columns: usize,
}

impl Plan {
    /// Plans for so many stages, given how often each column of the staged design occurs.
    ///
    /// # Panics
    /// If the number of counts is no multiple of the stages.
    pub fn new(n_stages: usize, counts: &[u32], rules: &Rules) -> Plan {
        assert!(n_stages > 0 && counts.len().is_multiple_of(n_stages), "each stage has its counts");
        let n = counts.len() / n_stages;
        let mut plan = Plan { cells: vec![Cell { column: NOTHING, along: 0.0 }; counts.len()], n_columns: 0 };
        for column in 0..n {
            for group in groups((0..n_stages).map(|stage| counts[stage * n + column]), rules) {
                plan.add(&group, n, column, counts, rules);
            }
        }
        plan
    }

    /// Gives the stages of a group a weight or a line.
    fn add(&mut self, group: &[usize], n: usize, column: usize, counts: &[u32], rules: &Rules) {
        let count = |stage: usize| f64::from(counts[stage * n + column]);
        let total: f64 = group.iter().map(|&stage| count(stage)).sum();
        let is_line = group.len() > 1 && rules.line.is_some_and(|least| total >= f64::from(least));
        let middle = group.iter().map(|&stage| count(stage) * stage as f64).sum::<f64>() / total;
        for &stage in group {
            let along = if is_line { (stage as f64 - middle) as f32 } else { 0.0 };
            self.cells[stage * n + column] = Cell { column: self.n_columns as u32, along };
        }
        self.n_columns += if is_line { 2 } else { 1 };
    }

    /// How many weights there are.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// From a number for each column and stage to one for each of the plan's weights: the greatest of those that share it.
    pub fn collapse(&self, each: &[f64]) -> Vec<f64> {
        let mut collapsed = vec![0.0f64; self.n_columns];
        for (cell, &number) in self.cells.iter().zip(each).filter(|(cell, _)| cell.column != NOTHING) {
            let last = cell.column as usize + usize::from(cell.along != 0.0);
            collapsed[cell.column as usize..=last].iter_mut().for_each(|own| *own = own.max(number));
        }
        collapsed
    }

    /// From the plan's weights to one for each column and stage.
    pub fn expand(&self, weights: &[f64]) -> Vec<f64> {
        let weight = |cell: &Cell| match *cell {
            Cell { column: NOTHING, .. } => 0.0,
            Cell { column, along: 0.0 } => weights[column as usize],
            Cell { column, along } => weights[column as usize] + f64::from(along) * weights[column as usize + 1],
        };
        self.cells.iter().map(weight).collect()
    }
}

/// The stages in which a column has a weight, those that share one together.
fn groups(counts: impl Iterator<Item = u32>, rules: &Rules) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // Whether the last group has enough, and how often its stages have the column.
    let (mut is_enough, mut total) = (true, 0);
    for (stage, count) in counts.enumerate().filter(|(_, count)| *count > rules.none) {
        if is_enough {
            groups.push(Vec::new());
            total = 0;
        }
        groups.last_mut().expect("there is one").push(stage);
        total += count;
        is_enough = total > rules.own;
    }
    if !is_enough && groups.len() > 1 {
        let rest = groups.pop().expect("there is one");
        groups.last_mut().expect("there is another").extend(rest);
    }
    groups
}

/// How often each column occurs in the rows that are not held out.
pub fn count(design: &impl Design, held_out: &[bool]) -> Vec<u32> {
    let mut counts = vec![0u32; design.n_columns()];
    for row in (0..design.n_rows()).filter(|&row| !held_out.get(row).is_some_and(|held_out| *held_out)) {
        design.visit(row, |column, value| {
            let count = &mut counts[column as usize];
            *count = count.saturating_add(u32::from(value != 0.0));
        });
    }
    counts
}

/// A staged design whose stages share weights by a plan.
#[derive(Clone, Debug)]
pub struct Merged<'a, D> {
    /// The design.
    pub design: &'a Staged<D>,
    /// Who shares what.
    pub plan: &'a Plan,
}

impl<D: Design> Design for Merged<'_, D> {
    fn n_rows(&self) -> usize {
        self.design.n_rows()
    }

    fn n_columns(&self) -> usize {
        self.plan.n_columns
    }

    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
        self.design.visit(row, |column, value| {
            let Cell { column, along } = self.plan.cells[column as usize];
            if column != NOTHING {
                visit(column, value);
                if along != 0.0 {
                    visit(column + 1, along * value);
                }
            }
        });
    }
}

/// Rows that count for the stages beside theirs, too, which smooths the weights from stage to stage.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    /// The row that each new one is, in the order of the stages; see [`super::Picked`].
    pub rows: Vec<u32>,
    /// Its stage.
    pub stages: Vec<Stage>,
    /// How much it counts.
    pub weights: Vec<f32>,
}

/// Lets rows count for the stages beside theirs, too, by this share. Give held-out rows only what they had: a row of another
/// stage says nothing about the model in play.
pub fn spread(stages: &[u16], n_stages: u16, share: f32) -> Spread {
    let mut spread = Spread::default();
    for stage in 0..n_stages {
        for (row, &own) in (0..).zip(stages) {
            if own.abs_diff(stage) <= 1 {
                spread.rows.push(row);
                spread.stages.push(Stage::at(stage));
                spread.weights.push(if own == stage { 1.0 } else { share });
            }
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_columns_share_weights() {
        let rules = Rules::default();
        let groups = |counts: &[u32]| super::groups(counts.iter().copied(), &rules);
        assert!(groups(&[4, 0, 4]).is_empty());
        assert_eq!(groups(&[21, 21]), [[0], [1]]);
        assert_eq!(groups(&[4, 5, 20, 21, 4]), [vec![1, 2], vec![3]]);
        assert_eq!(groups(&[10, 10, 10]), [[0, 1, 2]]);
        // Too few even together; too few at the end; across a stage that has none.
        assert_eq!(groups(&[5, 5]), [[0, 1]]);
        assert_eq!(groups(&[30, 15]), [[0, 1]]);
        assert_eq!(groups(&[12, 3, 12, 21]), [vec![0, 2], vec![3]]);
    }

    #[test]
    fn plans_expand_to_stages() {
        // Two columns, four stages.
        let counts = [10, 0, 20, 30, 10, 4, 4, 50];
        let rules = Rules { line: Some(40), ..Rules::default() };
        let plan = Plan::new(4, &counts, &rules);
        // The first column has a line over three stages, its middle at stage 1; the second two weights of its own.
        assert_eq!(plan.n_columns(), 4);
        let weights = plan.expand(&[5.0, 2.0, 7.0, 9.0]);
        assert_eq!(weights, [3.0, 0.0, 5.0, 7.0, 7.0, 0.0, 0.0, 9.0]);
        assert_eq!(plan.collapse(&[1.0, 8.0, 1.0, 3.0, 2.0, 8.0, 8.0, 4.0]), [2.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn neighbours_count_for_a_stage() {
        let spread = spread(&[0, 2, 1], 3, 0.5);
        assert_eq!(spread.rows, [0, 2, 0, 1, 2, 1, 2]);
        assert_eq!(spread.weights, [1.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.5]);
        assert_eq!(spread.stages[2], Stage::at(1));
    }
}
