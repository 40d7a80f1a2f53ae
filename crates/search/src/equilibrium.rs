//! Moves at the same time, interests opposed: matrix games solved exactly.
//!
//! The mixed strategies of both sides are the solutions of a pair of linear programs (von Neumann; Dantzig 1951). Bland's rule
//! keeps the simplex method from going in circles.

/// The value of a matrix game, and how each side plays it.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// What the side that chooses rows can be sure to get in the mean.
    pub value: f64,
    /// How often each row is played.
    pub rows: Vec<f64>,
    /// How often each column is played.
    pub columns: Vec<f64>,
}

/// Solves a matrix game: `payoff[row][column]` is what the side that chooses rows gets, and the other side loses.
///
/// # Panics
/// If there is no row or no column.
pub fn solve(payoff: &[Vec<f64>]) -> Equilibrium {
    const SMALL: f64 = 1e-9;
    let (n_rows, n_columns) = (payoff.len(), payoff[0].len());
    let least = payoff.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    // With all payoffs positive, the columns' strategy is y / sum(y), where y is greatest in sum under payoff * y <= 1.
    // Each line of the tableau: the columns' variables, the rows' slacks, the right side. The last line: the objective.
    let width = n_columns + n_rows + 1;
    let mut table: Vec<Vec<f64>> = Vec::with_capacity(n_rows + 1);
    for (row, payoffs) in payoff.iter().enumerate() {
        let mut line = vec![0.0; width];
        line.iter_mut().zip(payoffs).for_each(|(entry, payoff)| *entry = payoff - least + 1.0);
        line[n_columns + row] = 1.0;
        line[width - 1] = 1.0;
        table.push(line);
    }
    let mut objective = vec![0.0; width];
    objective[..n_columns].fill(-1.0);
    table.push(objective);
    let mut basis: Vec<usize> = (n_columns..n_columns + n_rows).collect();
    while let Some(entering) = (0..width - 1).find(|&column| table[n_rows][column] < -SMALL) {
        let ratio = |row: usize| table[row][width - 1] / table[row][entering];
        let candidates = (0..n_rows).filter(|&row| table[row][entering] > SMALL);
        let leaving =
            candidates.min_by(|&one, &other| ratio(one).total_cmp(&ratio(other)).then(basis[one].cmp(&basis[other])));
        let Some(leaving) = leaving else { break };
        let pivot = table[leaving][entering];
        table[leaving].iter_mut().for_each(|entry| *entry /= pivot);
        let line = table[leaving].clone();
        for (_, other) in table.iter_mut().enumerate().filter(|(row, _)| *row != leaving) {
            let factor = other[entering];
            if factor != 0.0 {
                other.iter_mut().zip(&line).for_each(|(entry, pivot)| *entry -= factor * pivot);
            }
        }
        basis[leaving] = entering;
    }
    let sum = table[n_rows][width - 1];
    let mut columns = vec![0.0; n_columns];
    for (row, &variable) in basis.iter().enumerate().filter(|(_, variable)| **variable < n_columns) {
        columns[variable] = table[row][width - 1] / sum;
    }
    // The rows' strategy is the solution of the dual program: the objective's entries under the slacks.
    let rows = (0..n_rows).map(|row| table[n_rows][n_columns + row].max(0.0) / sum).collect();
    Equilibrium { value: 1.0 / sum + least - 1.0, rows, columns }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_games() {
        let pennies = solve(&[vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert!((pennies.value - 0.5).abs() < 1e-9 && (pennies.rows[0] - 0.5).abs() < 1e-9);
        let scissors = solve(&[vec![0.5, 0.0, 1.0], vec![1.0, 0.5, 0.0], vec![0.0, 1.0, 0.5]]);
        assert!((scissors.value - 0.5).abs() < 1e-9);
        assert!(scissors.rows.iter().chain(&scissors.columns).all(|part| (part - 1.0 / 3.0).abs() < 1e-9));
        // A saddle point: the second row and the first column.
        let saddle = solve(&[vec![1.0, 4.0], vec![3.0, 5.0]]);
        assert_eq!((saddle.value, saddle.rows, saddle.columns), (3.0, vec![0.0, 1.0], vec![1.0, 0.0]));
    }

    proptest! {
        /// No row gets more against the columns' strategy than the value, and no column less against the rows'.
        #[test]
        fn nobody_gains_by_deviating(payoff in (1usize..6, 1usize..6).prop_flat_map(|(rows, columns)| {
            prop::collection::vec(prop::collection::vec((0u32..5).prop_map(f64::from), columns), rows)
        })) {
            let found = solve(&payoff);
            for row in &payoff {
                let mean: f64 = row.iter().zip(&found.columns).map(|(payoff, part)| payoff * part).sum();
                prop_assert!(mean <= found.value + 1e-7);
            }
            for column in 0..payoff[0].len() {
                let mean: f64 = payoff.iter().zip(&found.rows).map(|(row, part)| row[column] * part).sum();
                prop_assert!(mean >= found.value - 1e-7);
            }
            prop_assert!((found.rows.iter().sum::<f64>() - 1.0).abs() < 1e-7);
            prop_assert!((found.columns.iter().sum::<f64>() - 1.0).abs() < 1e-7);
        }
    }
}
