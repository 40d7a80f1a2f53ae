//! Fitting: weights of a generalised linear model, from positions with known results.
//!
//! A model's score of a position is the sum of its weights times the position's numbers; a link makes a prediction of it.
//! Numbers come as a [`design::Design`]: dense features, sparse ones, pattern tables, and these side by side, for each stage of
//! the game. The weights minimise
//!
//! > Σ (weight of the row) · loss(link(score), target) + Σ ridge · w² + Σ lasso · |w|
//!
//! over the rows of the training set, so a ridge of 1 pulls a weight to zero as one position with that prediction would. Methods:
//! conjugate gradients, limited-memory BFGS, an accelerated proximal gradient for the lasso, Adam and FTRL-Proximal for streams,
//! and the normalised gradient of Buro (1998), *From Simple Features to Sophisticated Evaluation Functions*.
//!
//! Same rows and settings, same weights: the number of threads does not matter.

pub mod design;
pub mod objective;
pub mod online;
pub mod quantize;
pub mod stages;

mod conjugate;
mod descent;
mod lbfgs;
mod pass;
mod proximal;

use std::fmt;
use std::ops::ControlFlow;

pub use design::{Constant, Dense, Design, Join, Picked, Sparse, Stage, Staged, Tables};
pub use objective::{Link, Loss, Objective, target_of_goal};
pub use online::Rule;

use pass::{Data, Losses};

/// Positions with known results.
#[derive(Debug)]
pub struct Rows<'a, D> {
    /// The numbers of each position.
    pub design: &'a D,
    /// What is to be predicted.
    pub targets: &'a [f32],
    /// How much each row counts; empty if all count 1.
    pub weights: &'a [f32],
    /// Which rows are not for training, but show how well the model does elsewhere; empty if none. Divide by match: the
    /// positions of one match are alike.
    pub held_out: &'a [bool],
}

impl<D> Clone for Rows<'_, D> {
    fn clone(&self) -> Self {
        Rows { ..*self }
    }
}

impl<'a, D: Design> Rows<'a, D> {
    /// Rows that count the same and are all for training.
    pub fn new(design: &'a D, targets: &'a [f32]) -> Rows<'a, D> {
        Rows { design, targets, weights: &[], held_out: &[] }
    }

    /// The same with some rows held out.
    pub fn holding_out(self, held_out: &'a [bool]) -> Rows<'a, D> {
        Rows { held_out, ..self }
    }

    #[inline(always)]
    fn weight(&self, row: usize) -> f64 {
        if self.weights.is_empty() { 1.0 } else { f64::from(self.weights[row]) }
    }

    #[inline(always)]
    fn is_held_out(&self, row: usize) -> bool {
        !self.held_out.is_empty() && self.held_out[row]
    }

    fn check(&self, objective: Objective) -> Result<(), FitError> {
        let n_rows = self.design.n_rows();
        let lists =
            [("targets", self.targets.len()), ("weights", self.weights.len()), ("held-out marks", self.held_out.len())];
        for (what, n) in lists {
            if n != n_rows && (what == "targets" || n != 0) {
                return Err(FitError::Length { what, n, expected: n_rows });
            }
        }
        if let Some(&weight) = self.weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return Err(FitError::RowWeight(weight));
        }
        let within = objective.loss == Loss::CrossEntropy;
        let fits = |target: &f32| if within { (0.0..=1.0).contains(target) } else { target.is_finite() };
        match self.targets.iter().find(|target| !fits(target)) {
            Some(&target) => Err(FitError::Target(target)),
            None => Ok(()),
        }
    }
}

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Proximal steps if there is a lasso, else conjugate gradients for least squares of the score, and limited-memory BFGS
    /// for everything else.
    Automatic,
    /// Conjugate gradients with each column scaled; for the identity link.
    ConjugateGradients,
    /// Limited-memory BFGS with each column scaled, and the last so many steps remembered.
    Lbfgs {
        /// How many steps are remembered; each takes two numbers for each column.
        memory: usize,
    },
    /// Buro's: the gradient of each weight divided by how often its column occurs, with momentum.
    Normalized {
        /// What the gradient is multiplied with: less than 1/m for the identity link with m entries in a row, 16/m for the
        /// squared error of the logistic one. `None` takes 0.95 of the bound.
        rate: Option<f64>,
        /// How much of the last step is made again, from 0 to below 1.
        momentum: f64,
    },
    /// Accelerated proximal steps, for the lasso.
    Proximal,
    /// A rule for batches, over all rows in each iteration, in a random order. For positions that come in a stream see
    /// [`online::Online`].
    Online {
        /// How a batch changes weights.
        rule: Rule,
        /// How far a weight goes in a step at first, about.
        rate: f64,
        /// Rows for each step.
        batch: usize,
        /// For the order of rows.
        seed: u64,
    },
}

/// How much large weights cost.
#[derive(Clone, Debug, PartialEq)]
pub enum Penalty {
    /// The same for all columns.
    Same(f64),
    /// One number for each column.
    Each(Vec<f64>),
}

/// How much the squares of weights cost.
pub type Ridge = Penalty;

impl Penalty {
    #[inline(always)]
    fn of(&self, column: usize) -> f64 {
        match self {
            Penalty::Same(penalty) => *penalty,
            Penalty::Each(each) => each[column],
        }
    }

    fn check(&self, what: &'static str, n_columns: usize) -> Result<(), FitError> {
        let each = match self {
            Penalty::Same(penalty) => std::slice::from_ref(penalty),
            Penalty::Each(each) if each.len() == n_columns => each,
            Penalty::Each(each) => return Err(FitError::Length { what, n: each.len(), expected: n_columns }),
        };
        match each.iter().find(|&&penalty| !(penalty >= 0.0 && penalty.is_finite())) {
            Some(&penalty) => Err(FitError::Penalty(penalty)),
            None => Ok(()),
        }
    }

    fn is_any(&self) -> bool {
        match self {
            Penalty::Same(penalty) => *penalty > 0.0,
            Penalty::Each(each) => each.iter().any(|&penalty| penalty > 0.0),
        }
    }
}

/// How a model is fitted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// From scores to predictions, and what they cost.
    pub objective: Objective,
    /// How weights are found.
    pub method: Method,
    /// Times the square of each weight, added to the loss of all rows. More is smoother.
    pub ridge: Ridge,
    /// Times the size of each weight, added likewise; for [`Method::Proximal`] and [`Rule::Ftrl`]. More leaves fewer weights.
    pub lasso: Penalty,
    /// Weights to begin with, one for each column; empty for zeros.
    pub start: Vec<f64>,
    /// The most iterations.
    pub iterations: usize,
    /// Ends when the gradient, with columns scaled, has become smaller by this factor.
    pub tolerance: f64,
    /// Ends after so many iterations in which the loss of rows held out has not become smaller; 0 to go on.
    pub patience: usize,
    /// Threads; they don't change the result.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            objective: Objective::LOGISTIC,
            method: Method::Automatic,
            ridge: Ridge::Same(1.0),
            lasso: Penalty::Same(0.0),
            start: Vec::new(),
            iterations: 200,
            tolerance: 1e-6,
            patience: 5,
            threads: 1,
        }
    }
}

/// How far fitting has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Iterations made; 0 is the model at the start.
    pub iteration: usize,
    /// Passes over all rows.
    pub passes: usize,
    /// The mean loss of the training rows, without penalties.
    pub training: f64,
    /// The mean loss of the rows held out.
    pub held_out: Option<f64>,
}

/// Why fitting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The gradient is as small as was asked for.
    Converged,
    /// No step makes the loss smaller any more: the limit of the numbers' precision.
    NoStep,
    /// All iterations were made.
    Iterations,
    /// The rows held out were not predicted better for some time; the weights are those that did best.
    HeldOut,
    /// The caller asked for it.
    Asked,
    /// There is no end to it: weights grow without bound (a ridge, or targets within 0 and 1, would hold them back), or the
    /// loss grows.
    Diverged,
}

impl fmt::Display for Stop {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(match self {
            Stop::Converged => "converged",
            Stop::NoStep => "no step makes the loss smaller",
            Stop::Iterations => "all iterations were made",
            Stop::HeldOut => "rows held out were predicted no better",
            Stop::Asked => "was asked to",
            Stop::Diverged => "diverged: weights or losses grow without bound",
        })
    }
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// A weight for each column.
    pub weights: Vec<f64>,
    /// The losses of these weights, and when they were reached.
    pub at: Progress,
    /// Iterations made in all.
    pub iterations: usize,
    /// Passes over all rows in all.
    pub passes: usize,
    /// Why it ended.
    pub stop: Stop,
}

/// Why nothing can be fitted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FitError {
    /// There is no row to train on.
    NoRows,
    /// A list has the wrong length.
    Length {
        /// What it is a list of.
        what: &'static str,
        /// Its length.
        n: usize,
        /// The length that it should have.
        expected: usize,
    },
    /// A row's weight is negative or no number.
    RowWeight(f32),
    /// A target that cannot be.
    Target(f32),
    /// A penalty is negative or no number.
    Penalty(f64),
    /// Steps of this length could grow without end.
    Rate {
        /// The rate that was asked for.
        rate: f64,
        /// It must be below this.
        bound: f64,
    },
    /// Momentum is less than 0, or not less than 1.
    Momentum(f64),
    /// The method doesn't do this.
    Unsupported(&'static str),
}

impl fmt::Display for FitError {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            FitError::NoRows => write!(to, "there is no row to train on"),
            FitError::Length { what, n, expected } => write!(to, "{n} {what}, but {expected} are needed"),
            FitError::RowWeight(weight) => write!(to, "a row counts {weight}, which is less than nothing or no number"),
            FitError::Target(target) => {
                write!(to, "a target is {target}, which is no number, or not from 0 to 1 where it is a probability")
            }
            FitError::Penalty(penalty) => write!(to, "a penalty is {penalty}, which is less than nothing or no number"),
            FitError::Rate { rate, bound } => {
                write!(to, "with a rate of {rate} steps could grow without end; it must be below {bound}")
            }
            FitError::Momentum(momentum) => write!(to, "a momentum of {momentum} is not from 0 to below 1"),
            FitError::Unsupported(what) => to.write_str(what),
        }
    }
}

impl std::error::Error for FitError {}

/// Fits weights. `progress` is told of every iteration, and may end it.
pub fn fit<D: Design>(
    rows: Rows<D>,
    settings: &Settings,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Fit, FitError> {
    let n_columns = rows.design.n_columns();
    if settings.objective.loss == Loss::CrossEntropy && settings.objective.link != Link::Logistic {
        return Err(FitError::Unsupported("cross-entropy needs the logistic link"));
    }
    if !settings.start.is_empty() && settings.start.len() != n_columns {
        return Err(FitError::Length { what: "weights to begin with", n: settings.start.len(), expected: n_columns });
    }
    settings.ridge.check("ridges", n_columns)?;
    settings.lasso.check("lassos", n_columns)?;
    let is_proximal =
        matches!(settings.method, Method::Automatic | Method::Proximal | Method::Online { rule: Rule::Ftrl, .. });
    if settings.lasso.is_any() && !is_proximal {
        return Err(FitError::Unsupported("a lasso needs proximal steps"));
    }
    let mut data = Data::new(rows, settings.objective, settings.threads)?;
    let mut weights = settings.start.clone();
    weights.resize(n_columns, 0.0);
    let watch = Watch::new(settings, n_columns, progress);
    let is_linear = settings.objective == Objective::LEAST_SQUARES;
    match settings.method {
        Method::Automatic if settings.lasso.is_any() => Ok(proximal::run(&mut data, settings, weights, watch)),
        Method::Proximal => Ok(proximal::run(&mut data, settings, weights, watch)),
        Method::Online { rule, rate, batch, seed } => {
            Ok(online::run(&mut data, settings, rule, (rate, batch, seed), weights, watch))
        }
        Method::Automatic if is_linear => Ok(conjugate::run(&mut data, settings, weights, watch)),
        Method::ConjugateGradients if is_linear => Ok(conjugate::run(&mut data, settings, weights, watch)),
        Method::ConjugateGradients => Err(FitError::Unsupported("conjugate gradients need least squares of the score")),
        Method::Automatic => Ok(lbfgs::run(&mut data, settings, 8, weights, watch)),
        Method::Lbfgs { memory } => Ok(lbfgs::run(&mut data, settings, memory.max(1), weights, watch)),
        Method::Normalized { rate, momentum } => descent::run(&mut data, settings, rate, momentum, weights, watch),
    }
}

/// The mean loss of a model in training, and that of the rows held out.
pub fn evaluate<D: Design>(
    rows: &Rows<D>,
    objective: Objective,
    weights: &[f64],
    threads: usize,
) -> Result<(f64, Option<f64>), FitError> {
    let mut data = Data::open(rows.clone(), objective, threads)?;
    let losses = data.evaluate(weights);
    Ok(data.mean(&losses))
}

/// Keeps an eye on the losses: reports them, keeps the best weights, and says when to end.
struct Watch<'a> {
    settings: &'a Settings,
    progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    /// Whether nothing holds weights back.
    is_free: bool,
    best: Option<(Progress, Vec<f64>)>,
    first: f64,
}

impl<'a> Watch<'a> {
    fn new(
        settings: &'a Settings,
        n_columns: usize,
        progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Watch<'a> {
        // A constant alone may well have no ridge: the targets of all rows hold it back.
        let n_free =
            (0..n_columns).filter(|&column| settings.ridge.of(column) + settings.lasso.of(column) == 0.0).count();
        Watch { settings, progress, is_free: n_free > 1 || n_free == n_columns, best: None, first: f64::INFINITY }
    }

    /// Looks at the weights of an iteration.
    fn look<D: Design>(&mut self, data: &Data<D>, iteration: usize, losses: &Losses, weights: &[f64]) -> Option<Stop> {
        let (training, held_out) = data.mean(losses);
        let now = Progress { iteration, passes: data.passes, training, held_out };
        if iteration == 0 {
            self.first = training;
        }
        let asked = (self.progress)(&now).is_break();
        let patient = self.settings.patience > 0 && held_out.is_some();
        let is_best = |best: &(Progress, Vec<f64>)| patient && held_out >= best.0.held_out;
        if training.is_nan() || training > 10.0 * self.first.max(1e-300) {
            return Some(Stop::Diverged);
        }
        if patient && !self.best.as_ref().is_some_and(is_best) {
            self.best = Some((now, weights.to_vec()));
        } else if !patient {
            self.best = Some((now, Vec::new()));
        }
        let since = self.best.as_ref().map_or(0, |(best, _)| iteration - best.iteration);
        if asked {
            Some(Stop::Asked)
        } else if losses.saturated && self.is_free {
            Some(Stop::Diverged)
        } else if patient && since >= self.settings.patience {
            Some(Stop::HeldOut)
        } else if iteration >= self.settings.iterations {
            Some(Stop::Iterations)
        } else {
            None
        }
    }

    /// The result: the best weights by rows held out, else the last ones.
    fn end<D>(self, data: &Data<D>, iterations: usize, weights: Vec<f64>, stop: Stop) -> Fit {
        let nothing = Progress { iteration: 0, passes: 0, training: f64::NAN, held_out: None };
        let (at, best) = self.best.unwrap_or((nothing, Vec::new()));
        let weights = if best.is_empty() { weights } else { best };
        Fit { weights, at, iterations, passes: data.passes, stop }
    }
}

#[cfg(test)]
mod tests;
