use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::*;

/// Rows with a few of many columns, and targets of a linear function with noise.
fn random_rows(n_rows: usize, n_columns: usize, n_active: usize, seed: u64) -> (Sparse, Vec<f32>) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let truth: Vec<f64> = (0..n_columns).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut design = Sparse::new(n_columns);
    let mut targets = Vec::new();
    for row in 0..n_rows {
        let entries: Vec<(u32, f32)> = (0..n_active)
            .map(|_| (rng.random_range(0..n_columns as u32), [1.0, 1.0, 2.0, -0.5][rng.random_range(0..4)]))
            .collect();
        design.push(entries);
        targets.push((design.dot(row, &truth) + rng.random_range(-0.5..0.5)) as f32);
    }
    (design, targets)
}

fn to_probabilities(targets: &[f32]) -> Vec<f32> {
    targets.iter().map(|&target| Link::Logistic.value(f64::from(target)) as f32).collect()
}

fn quiet(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Solves the normal equations by elimination.
fn dense_ridge(design: &impl Design, targets: &[f32], ridge: f64) -> Vec<f64> {
    let n = design.n_columns();
    let mut system = vec![vec![0.0; n + 1]; n];
    for (row, &target) in targets.iter().enumerate() {
        let mut numbers = vec![0.0; n];
        design.visit(row, |column, value| numbers[column as usize] += f64::from(value));
        for (at, line) in system.iter_mut().enumerate() {
            line[..n].iter_mut().zip(&numbers).for_each(|(sum, other)| *sum += numbers[at] * other);
            line[n] += numbers[at] * f64::from(target);
        }
    }
    (0..n).for_each(|at| system[at][at] += ridge);
    for at in 0..n {
        let pivot = (at..n).max_by(|&one, &other| system[one][at].abs().total_cmp(&system[other][at].abs()));
        system.swap(at, pivot.expect("a line"));
        let line = system[at].clone();
        for (_, rest) in system.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = rest[at] / line[at];
            rest.iter_mut().zip(&line).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    (0..n).map(|at| system[at][n] / system[at][at]).collect()
}

#[test]
fn conjugate_gradients_match_a_dense_solver() {
    let (design, targets) = random_rows(600, 40, 6, 1);
    let settings = Settings {
        objective: Objective::LEAST_SQUARES,
        ridge: Ridge::Same(2.5),
        tolerance: 1e-12,
        ..Settings::default()
    };
    let fit = fit(Rows::new(&design, &targets), &settings, &mut quiet).unwrap();
    assert_eq!(fit.stop, Stop::Converged);
    for (one, other) in fit.weights.iter().zip(dense_ridge(&design, &targets, 2.5)) {
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }
}

/// The derivatives of the training loss against those found by small changes of each weight.
fn check_gradient(design: &impl Design, targets: &[f32], objective: Objective) {
    let mut data = Data::new(Rows::new(design, targets), objective, 1).unwrap();
    let mut rng = Pcg64::seed_from_u64(5);
    let weights: Vec<f64> = (0..design.n_columns()).map(|_| rng.random_range(-0.5..0.5)).collect();
    let (_, gradient) = data.gradient(&weights);
    for at in 0..weights.len() {
        let mut moved = |by: f64| {
            let mut weights = weights.clone();
            weights[at] += by;
            data.gradient(&weights).0.training
        };
        let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((numeric - gradient[at]).abs() < 1e-5 * (1.0 + numeric.abs()), "{objective:?} {at}");
    }
}

const ALL: [Objective; 4] = [
    Objective::LEAST_SQUARES,
    Objective::LOGISTIC,
    Objective { link: Link::Logistic, loss: Loss::Squared },
    Objective { link: Link::Symmetric(0.5), loss: Loss::Squared },
];

#[test]
fn gradients_match_finite_differences() {
    let (design, targets) = random_rows(700, 30, 5, 2);
    let targets = to_probabilities(&targets);
    let stages = (0..700).map(|row| Stage::between(row as f32 / 200.0, 4)).collect();
    let numbers: Vec<i16> = (0..1400).map(|at| at % 7 - 3).collect();
    let joined = Join(Constant { n_rows: 700 }, Join(Dense::new(2, numbers).scaled(), &design));
    let staged = Staged::new(&joined, 4, stages);
    for objective in ALL {
        check_gradient(&design, &targets, objective);
        check_gradient(&joined, &targets, objective);
        check_gradient(&staged, &targets, objective);
    }
}

#[test]
fn methods_agree_where_the_problem_is_convex() {
    let (design, plain) = random_rows(2_000, 60, 6, 3);
    let targets = to_probabilities(&plain);
    for (objective, targets) in [(Objective::LEAST_SQUARES, &plain), (Objective::LOGISTIC, &targets)] {
        let with = |method| {
            let settings = Settings {
                objective,
                method,
                ridge: Ridge::Same(1.0),
                tolerance: 1e-9,
                iterations: 3_000,
                ..Settings::default()
            };
            fit(Rows::new(&design, targets), &settings, &mut quiet).unwrap()
        };
        let best = with(Method::Automatic);
        assert_eq!(best.stop, Stop::Converged);
        for method in [Method::Lbfgs { memory: 5 }, Method::Normalized { rate: None, momentum: 0.8 }] {
            let other = with(method);
            let apart = best.weights.iter().zip(&other.weights).map(|(one, other)| (one - other).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-6, "{objective:?} {method:?} {other:?}");
        }
    }
}

#[test]
fn steps_beyond_the_bound_are_refused() {
    // Patterns: each row has one slot of each of three tables.
    let mut rng = Pcg64::seed_from_u64(4);
    let mut design = Sparse::new(12);
    let mut targets = Vec::new();
    for _ in 0..2_000 {
        let slots: Vec<u32> = (0..3).map(|table| 4 * table + rng.random_range(0..4)).collect();
        targets.push(slots.iter().map(|&slot| slot as f32 * 0.1).sum::<f32>() + rng.random_range(-1.0..1.0));
        design.push_columns(slots);
    }
    let with = |objective, rate: f64, targets: &[f32]| {
        let settings = Settings {
            objective,
            method: Method::Normalized { rate: Some(rate), momentum: 0.0 },
            ridge: Ridge::Same(0.0),
            iterations: 400,
            ..Settings::default()
        };
        fit(Rows::new(&design, targets), &settings, &mut quiet)
    };
    let m = 3.0;
    let least = Settings { objective: Objective::LEAST_SQUARES, ridge: Ridge::Same(0.0), ..Settings::default() };
    let least = fit(Rows::new(&design, &targets), &least, &mut quiet).unwrap().at.training;
    let reached = with(Objective::LEAST_SQUARES, 0.95 / m, &targets).unwrap().at.training;
    assert!((reached - least) / least < 1e-6, "{reached} {least}");
    assert!(matches!(with(Objective::LEAST_SQUARES, 1.05 / m, &targets), Err(FitError::Rate { .. })));
    let squared = Objective { link: Link::Logistic, loss: Loss::Squared };
    let targets = to_probabilities(&targets);
    assert!(with(squared, 15.2 / m, &targets).is_ok());
    assert!(matches!(with(squared, 16.8 / m, &targets), Err(FitError::Rate { .. })));
    assert!(matches!(with(Objective::LOGISTIC, 8.4 / m, &targets), Err(FitError::Rate { .. })));
}

#[test]
fn threads_do_not_matter() {
    let (design, targets) = random_rows(9_000, 300, 8, 6);
    let held_out: Vec<bool> = (0..9_000).map(|row| row % 7 == 0).collect();
    let probabilities = to_probabilities(&targets);
    let methods = [
        (Method::ConjugateGradients, Objective::LEAST_SQUARES),
        (Method::Lbfgs { memory: 4 }, Objective::LOGISTIC),
        (Method::Normalized { rate: None, momentum: 0.5 }, Objective::LOGISTIC),
        (Method::Proximal, Objective::LOGISTIC),
        (Method::Online { rule: Rule::Adam, rate: 0.01, batch: 600, seed: 1 }, Objective::LOGISTIC),
        (Method::Online { rule: Rule::Ftrl, rate: 0.1, batch: 600, seed: 1 }, Objective::LOGISTIC),
    ];
    for (method, objective) in methods {
        let targets = if objective == Objective::LEAST_SQUARES { &targets } else { &probabilities };
        let with = |threads| {
            let settings = Settings { objective, method, iterations: 12, threads, ..Settings::default() };
            fit(Rows::new(&design, targets).holding_out(&held_out), &settings, &mut quiet).unwrap()
        };
        let one = with(1);
        assert!(one.at.held_out.is_some());
        assert_eq!(one, with(2));
        assert_eq!(one, with(7));
    }
}

#[test]
fn separable_targets_without_a_ridge_diverge() {
    let mut design = Sparse::new(3);
    let mut targets = Vec::new();
    for row in 0..300u32 {
        let is_won = row % 3 == 0;
        design.push_columns([u32::from(is_won), 2]);
        targets.push(f32::from(u8::from(is_won)));
    }
    let with = |targets: &[f32], ridge: Ridge, method| {
        let settings = Settings { method, ridge, iterations: 20_000, ..Settings::default() };
        fit(Rows::new(&design, targets), &settings, &mut quiet).unwrap().stop
    };
    let normalized = Method::Normalized { rate: None, momentum: 0.9 };
    for method in [Method::Automatic, normalized] {
        assert_eq!(with(&targets, Ridge::Same(0.0), method), Stop::Diverged);
        assert_ne!(with(&targets, Ridge::Same(0.1), method), Stop::Diverged);
        assert_ne!(with(&targets, Ridge::Each(vec![1.0, 1.0, 0.0]), method), Stop::Diverged);
        // Targets of 0.9 and 0.1 need no ridge.
        let squeezed: Vec<f32> = targets.iter().map(|target| 0.1 + 0.8 * target).collect();
        assert_ne!(with(&squeezed, Ridge::Same(0.0), method), Stop::Diverged);
    }
}

#[test]
fn rows_held_out_end_it_and_choose_the_weights() {
    // Far too many columns for the rows, and noise.
    let (design, targets) = random_rows(400, 300, 3, 7);
    let held_out: Vec<bool> = (0..400).map(|row| row % 2 == 0).collect();
    let settings = Settings {
        objective: Objective::LEAST_SQUARES,
        ridge: Ridge::Same(1e-6),
        tolerance: 1e-12,
        patience: 4,
        ..Settings::default()
    };
    let mut seen = Vec::new();
    let mut note = |progress: &Progress| {
        seen.push(*progress);
        ControlFlow::Continue(())
    };
    let fit_ = fit(Rows::new(&design, &targets).holding_out(&held_out), &settings, &mut note).unwrap();
    assert_eq!(fit_.stop, Stop::HeldOut);
    assert_eq!(fit_.iterations, fit_.at.iteration + 4);
    let best = seen.iter().min_by(|one, other| one.held_out.partial_cmp(&other.held_out).unwrap()).unwrap();
    assert_eq!(fit_.at, *best);
    // The weights are those of the iteration that is named.
    let loss = |row: usize| (design.dot(row, &fit_.weights) - f64::from(targets[row])).powi(2);
    let mean = (0..400).filter(|row| row % 2 == 0).map(loss).sum::<f64>() / 200.0;
    assert!((mean - best.held_out.unwrap()).abs() < 1e-9);
    // The caller may end it, too.
    let mut impatient =
        |progress: &Progress| if progress.iteration == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let ended = fit(Rows::new(&design, &targets), &settings, &mut impatient).unwrap();
    assert_eq!((ended.stop, ended.iterations), (Stop::Asked, 2));
}

#[test]
fn a_row_that_counts_twice_is_two_rows() {
    let (design, targets) = random_rows(300, 20, 4, 8);
    let weights: Vec<f32> = (0..300).map(|row| (row % 3) as f32).collect();
    let rows: Vec<u32> = (0..300).flat_map(|row| std::iter::repeat_n(row, row as usize % 3)).collect();
    let repeated: Vec<f32> = rows.iter().map(|&row| targets[row as usize]).collect();
    let picked = Picked { design: &design, rows };
    let settings = Settings { objective: Objective::LEAST_SQUARES, tolerance: 1e-11, ..Settings::default() };
    let one = fit(Rows { weights: &weights, ..Rows::new(&design, &targets) }, &settings, &mut quiet).unwrap();
    let other = fit(Rows::new(&picked, &repeated), &settings, &mut quiet).unwrap();
    assert!((one.at.training - other.at.training).abs() < 1e-9);
    assert!(one.weights.iter().zip(&other.weights).all(|(one, other)| (one - other).abs() < 1e-8));
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let (design, targets) = random_rows(50, 10, 2, 9);
    let error = |rows: Rows<Sparse>, settings: &Settings| fit(rows, settings, &mut quiet).unwrap_err();
    let settings = Settings::default();
    assert!(matches!(error(Rows::new(&design, &targets[1..]), &settings), FitError::Length { n: 49, .. }));
    assert!(matches!(error(Rows::new(&design, &[2.0; 50]), &settings), FitError::Target(2.0)));
    assert!(matches!(error(Rows::new(&design, &[0.5; 50]).holding_out(&[true; 50]), &settings), FitError::NoRows));
    let penalty = Settings { ridge: Ridge::Same(-1.0), ..Settings::default() };
    assert!(matches!(error(Rows::new(&design, &[0.5; 50]), &penalty), FitError::Penalty(-1.0)));
    let conjugate = Settings { method: Method::ConjugateGradients, ..Settings::default() };
    assert!(matches!(error(Rows::new(&design, &[0.5; 50]), &conjugate), FitError::Unsupported(_)));
}

#[test]
fn gradients_of_shared_weights_and_lines_match_finite_differences() {
    let (design, targets) = random_rows(800, 30, 3, 10);
    let targets = to_probabilities(&targets);
    let staged = Staged::new(&design, 6, (0..800).map(|row| Stage::at((row / 134) as u16)).collect());
    let counts = stages::count(&staged, &[]);
    let rules = stages::Rules { line: Some(25), ..stages::Rules::default() };
    let plan = stages::Plan::new(6, &counts, &rules);
    let merged = stages::Merged { design: &staged, plan: &plan };
    // Some stages share, and some have lines.
    assert!(plan.n_columns() < 6 * 30);
    assert!(plan.n_columns() > stages::Plan::new(6, &counts, &stages::Rules::default()).n_columns());
    for objective in ALL {
        check_gradient(&merged, &targets, objective);
    }
    // Weights of the plan, expanded, give the same scores.
    let weights: Vec<f64> = (0..plan.n_columns()).map(|at| (at as f64).sin()).collect();
    let expanded = plan.expand(&weights);
    for row in 0..800 {
        assert!((merged.dot(row, &weights) - staged.dot(row, &expanded)).abs() < 1e-5);
    }
}

#[test]
fn a_lasso_leaves_few_weights() {
    // Only the first three of 40 columns matter.
    let mut rng = Pcg64::seed_from_u64(11);
    let mut design = Sparse::new(40);
    let mut targets = Vec::new();
    for _ in 0..1_000 {
        let columns: Vec<u32> = (0..40).filter(|_| rng.random_range(0..4) == 0).collect();
        let sum: f32 = columns.iter().filter(|&&column| column < 3).map(|&column| 1.0 + column as f32).sum();
        targets.push(sum + rng.random_range(-0.3..0.3));
        design.push_columns(columns);
    }
    let with = |lasso, method| {
        let settings = Settings {
            objective: Objective::LEAST_SQUARES,
            method,
            ridge: Ridge::Same(0.5),
            lasso: Penalty::Same(lasso),
            tolerance: 1e-10,
            iterations: 5_000,
            ..Settings::default()
        };
        fit(Rows::new(&design, &targets), &settings, &mut quiet).unwrap()
    };
    let sparse = with(60.0, Method::Automatic);
    assert_eq!(sparse.stop, Stop::Converged);
    let kept: Vec<usize> = (0..40).filter(|&at| sparse.weights[at] != 0.0).collect();
    assert_eq!(kept, [0, 1, 2]);
    // The conditions of an optimum: the slope equals the penalty, against the weight's sign, or is smaller at zero.
    let mut data = Data::new(Rows::new(&design, &targets), Objective::LEAST_SQUARES, 1).unwrap();
    let (_, gradient) = data.gradient(&sparse.weights);
    for (slope, &weight) in gradient.iter().zip(&sparse.weights) {
        let slope = slope + 2.0 * 0.5 * weight;
        assert!(if weight == 0.0 { slope.abs() <= 60.0 } else { (slope + 60.0 * weight.signum()).abs() < 1e-4 });
    }
    // Batch by batch: the same columns, and nearly the same weights.
    let online = with(60.0, Method::Online { rule: Rule::Ftrl, rate: 1.0, batch: 50, seed: 1 });
    let kept: Vec<usize> = (0..40).filter(|&at| online.weights[at] != 0.0).collect();
    assert_eq!(kept, [0, 1, 2]);
    assert!(online.weights.iter().zip(&sparse.weights).all(|(one, other)| (one - other).abs() < 0.02), "{online:?}");
    // Without a lasso it is another way to the same weights.
    let (one, other) = (with(0.0, Method::Proximal), with(0.0, Method::ConjugateGradients));
    assert!(one.weights.iter().zip(&other.weights).all(|(one, other)| (one - other).abs() < 1e-6));
}

#[test]
fn batches_come_close() {
    let (design, targets) = random_rows(4_000, 50, 5, 12);
    let with = |method, iterations| {
        let settings = Settings { objective: Objective::LEAST_SQUARES, method, iterations, ..Settings::default() };
        fit(Rows::new(&design, &targets), &settings, &mut quiet).unwrap()
    };
    let best = with(Method::Automatic, 200);
    for (rule, rate) in [(Rule::Adam, 0.03), (Rule::Ftrl, 0.1)] {
        let online = with(Method::Online { rule, rate, batch: 64, seed: 1 }, 20);
        let worse = (online.at.training - best.at.training) / best.at.training;
        assert!(worse < 0.01, "{rule:?}: {:?} {:?}", online.at, best.at);
    }
}

/// A step by hand: the sum of slopes, less what the weight stood for, is divided by how steep slopes have been.
#[test]
fn a_step_of_ftrl_by_hand() {
    let mut design = Sparse::new(1);
    design.push(vec![(0, 1.0)]);
    let rows = Rows::new(&design, &[3.0]);
    let mut model = online::Online::new(Rule::Ftrl, vec![0.0], Objective::LEAST_SQUARES, 0.5);
    // The slope is 2 (0 - 3); a lasso of 1 for each occurrence takes one of it, and a ridge of 0.25 adds 2 * 0.25 below.
    assert_eq!(model.learn(&rows, &[0], |_| [0.25, 1.0], 1), 9.0);
    let first = (6.0 - 1.0) / ((1.0 + 6.0) / 0.5 + 0.5);
    assert!((model.weights[0] - first).abs() < 1e-12);
    // The next slope; now both penalties count twice.
    model.learn(&rows, &[0], |_| [0.25, 1.0], 1);
    let slope = 2.0 * (first - 3.0);
    let after = (36.0 + slope * slope).sqrt();
    let sum = -6.0 + slope - (after - 6.0) / 0.5 * first;
    assert!((model.weights[0] - (-sum - 2.0) / ((1.0 + after) / 0.5 + 1.0)).abs() < 1e-12);
}

#[test]
fn work_is_that_of_entries() {
    /// Counts how often entries are read.
    struct Counted(Sparse, std::sync::atomic::AtomicUsize);
    impl Design for Counted {
        fn n_rows(&self) -> usize {
            self.0.n_rows()
        }
        fn n_columns(&self) -> usize {
            self.0.n_columns()
        }
        fn visit(&self, row: usize, mut visit: impl FnMut(u32, f32)) {
            self.0.visit(row, |column, value| {
                self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                visit(column, value);
            });
        }
    }
    let read = |n_columns| {
        let (design, targets) = random_rows(500, n_columns, 7, 13);
        let design = Counted(design, Default::default());
        let settings = Settings {
            method: Method::Normalized { rate: None, momentum: 0.0 },
            iterations: 10,
            ..Settings::default()
        };
        let fitted = fit(Rows::new(&design, &to_probabilities(&targets)), &settings, &mut quiet).unwrap();
        assert_eq!((fitted.iterations, fitted.passes), (10, 11));
        design.1.into_inner()
    };
    // Three times to prepare, and twice in each of 11 passes.
    assert_eq!(read(1_000), 500 * 7 * (3 + 2 * 11));
    assert_eq!(read(1_000), read(2_000));
}

#[test]
fn sixteen_bits_are_enough() {
    let (design, targets) = random_rows(3_000, 100, 6, 14);
    let held_out: Vec<bool> = (0..3_000).map(|row| row % 5 == 0).collect();
    let rows = Rows::new(&design, &targets).holding_out(&held_out);
    let settings = Settings { objective: Objective::LEAST_SQUARES, ..Settings::default() };
    let fitted = fit(rows.clone(), &settings, &mut quiet).unwrap();
    let quantized = quantize::quantize(&rows, settings.objective, &fitted.weights, 12.0, 2).unwrap();
    assert!((quantized.losses.0 - fitted.at.held_out.unwrap()).abs() < 1e-9);
    assert!(quantized.change().abs() < 0.005 && quantized.losses.1 != quantized.losses.0);
    assert!(quantized.is_safe(12.0) && quantized.is_safe(65_000.0) && !quantized.is_safe(66_000.0));
    assert_eq!(quantized.weights.iter().map(|weight| weight.unsigned_abs()).max(), Some(32_767));
    // Long rows leave less room for each weight.
    let quantized = quantize::quantize(&rows, settings.objective, &fitted.weights, 1e6, 2).unwrap();
    assert!(quantized.is_safe(1e6));
}
