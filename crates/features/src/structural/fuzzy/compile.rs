//! Fuzzy formulas as programs over bit masks.
//!
//! A position becomes one mask of squares for each state. A ground feature counts bits; everything above it is the least or
//! the greatest of values on a stack. The ground features of a phase are counted once for all its terms. Programs do not depend
//! on weights, so the values of all terms in a position can be kept and weighed in many ways. The other side's view is the same
//! program over ground features turned round.

use rustc_hash::FxHashMap;

use super::{Formula, Function, Ground, Meaning, Scale, StateId, Vocabulary};

/// How the evaluation keeps away from results that are certain.
pub const MARGIN: f64 = 0.01;

/// The result of a match that is over, for the one who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum End {
    Lost,
    Drawn,
    Won,
}

impl End {
    /// Its value.
    pub fn value(self) -> f64 {
        match self {
            End::Lost => 0.0,
            End::Drawn => 0.5,
            End::Won => 1.0,
        }
    }
}

/// How the weighted sums of both sides are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Output {
    /// The own part of both together, which does not depend on how large weights are: Duminy's.
    #[default]
    Share,
    /// The logistic function of the difference: the chance to win, if the weights were fitted to results. So opinions in phases
    /// with other terms can be compared.
    Logistic,
}

impl Output {
    /// What two sums promise the one who looks; never so sure of itself as an end is.
    pub fn value(self, own: f64, others: f64) -> f64 {
        let share = match self {
            Output::Share if own + others > 0.0 => own / (own + others),
            Output::Share => 0.5,
            Output::Logistic => 1.0 / (1.0 + (others - own).exp()),
        };
        MARGIN + (1.0 - 2.0 * MARGIN) * share
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// The value of a ground feature.
    Ground(u32),
    /// One less the value of a ground feature.
    NotGround(u32),
    /// The least of so many values.
    Least(u32),
    /// The greatest of so many values.
    Greatest(u32),
}

/// A ground feature as masks.
#[derive(Clone, Debug)]
struct Mask {
    own: Counted,
    scale: Measure,
}

/// States that are counted on squares.
#[derive(Clone, Debug)]
struct Counted {
    states: Vec<StateId>,
    squares: Vec<u64>,
}

/// What becomes of a count.
#[derive(Clone, Debug)]
enum Measure {
    /// It is multiplied, to at most 1.
    Factor(f64),
    AtLeast(i32),
    /// It is so much more than another one.
    Ahead(i32, Counted),
}

impl Counted {
    fn new(states: &[StateId], squares: &[usize], n_words: usize) -> Counted {
        let mut mask = vec![0; n_words];
        squares.iter().for_each(|square| mask[square / 64] |= 1 << (square % 64));
        Counted { states: states.to_vec(), squares: mask }
    }

    fn count(&self, position: &Position) -> u32 {
        // A square is in one state, so there is nothing to be counted twice.
        let held = |word: usize| {
            self.states.iter().fold(0, |held, state| held | position.masks[state.0 as usize * position.n_words + word])
        };
        self.squares.iter().enumerate().map(|(word, squares)| (held(word) & squares).count_ones()).sum()
    }
}

impl Mask {
    fn value(&self, position: &Position) -> f64 {
        let own = self.own.count(position);
        let truth = |holds: bool| f64::from(u8::from(holds));
        match &self.scale {
            Measure::Factor(factor) => (f64::from(own) * factor).min(1.0),
            Measure::AtLeast(least) => truth(own as i32 >= *least),
            Measure::Ahead(least, others) => truth(own as i32 - others.count(position) as i32 >= *least),
        }
    }
}

/// A position as one mask of squares for each state.
#[derive(Clone, Debug)]
pub struct Position {
    n_words: usize,
    masks: Vec<u64>,
}

impl Position {
    /// A position, given the state of each square.
    pub fn new(vocabulary: &Vocabulary, states: &[StateId]) -> Position {
        let n_words = states.len().div_ceil(64);
        let mut masks = vec![0; n_words * vocabulary.states.len()];
        for (square, state) in states.iter().enumerate() {
            masks[state.0 as usize * n_words + square / 64] |= 1 << (square % 64);
        }
        Position { n_words, masks }
    }
}

/// A function of phases, compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    phases: Vec<Phase>,
    output: Output,
}

/// The terms of a phase.
#[derive(Clone, Debug)]
struct Phase {
    number: u32,
    /// The ground features, as the one who looks sees them and as the other side does.
    grounds: [Vec<Mask>; 2],
    programs: Vec<Vec<Op>>,
    /// The terms' weights, which add up to 1 where only shares count.
    weights: Vec<f64>,
}

impl Compiled {
    /// Compiles a function.
    ///
    /// # Errors
    /// What a formula says that means nothing.
    pub fn new(function: &Function, vocabulary: &Vocabulary) -> Result<Compiled, String> {
        let phases = function.phases.iter().filter(|(_, terms)| !terms.is_empty());
        let phases = phases.map(|(number, terms)| Phase::new(*number, terms, function.output, vocabulary));
        Ok(Compiled { phases: phases.collect::<Result<_, _>>()?, output: function.output })
    }

    /// How sums are read.
    pub fn output(&self) -> Output {
        self.output
    }

    /// The phase whose terms are used in a phase: the nearest that has some, the lower one of two.
    fn nearest(&self, phase: u32) -> Option<&Phase> {
        self.phases.iter().min_by_key(|other| (other.number.abs_diff(phase), other.number))
    }

    /// The values of a phase's terms, or of their images as the other side sees them.
    pub fn terms(&self, position: &Position, phase: u32, flipped: bool) -> Vec<f64> {
        self.nearest(phase).map_or(Vec::new(), |phase| phase.terms(position, flipped))
    }

    /// The evaluation of a position for the one who looks; between 0 and 1, and never so sure of itself as an end is.
    pub fn evaluate(&self, position: &Position, phase: u32, end: Option<End>) -> f64 {
        if let Some(end) = end {
            return end.value();
        }
        let Some(phase) = self.nearest(phase) else { return 0.5 };
        let sum = |flipped: bool| {
            let values = phase.terms(position, flipped);
            phase.weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>()
        };
        self.output.value(sum(false), sum(true))
    }
}

impl Phase {
    fn new(number: u32, terms: &[(f64, Formula)], output: Output, vocabulary: &Vocabulary) -> Result<Phase, String> {
        let mut compiler = Compiler::default();
        let program = |(_, formula): &(f64, Formula)| {
            let mut ops = Vec::new();
            compiler.emit(&simplify(vocabulary.resolve(formula)?), &mut ops);
            Ok(ops)
        };
        let programs = terms.iter().map(program).collect::<Result<_, String>>()?;
        let n_words = vocabulary.squares.len().div_ceil(64);
        let mask = |ground: &Ground| Mask {
            own: Counted::new(&ground.states, &ground.squares, n_words),
            scale: match &ground.scale {
                Scale::Part(limit) => Measure::Factor(1.0 / f64::from(*limit)),
                Scale::AtLeast(least) => Measure::AtLeast(*least),
                Scale::Ahead { least, states, squares } => {
                    Measure::Ahead(*least, Counted::new(states, squares, n_words))
                }
            },
        };
        let flip = |ground: &Ground| match vocabulary.flip(&Meaning::Ground(ground.clone())) {
            Meaning::Ground(flipped) => mask(&flipped),
            _ => unreachable!("a ground feature turned round is a ground feature"),
        };
        let total: f64 = match output {
            Output::Share => terms.iter().map(|(weight, _)| weight).sum(),
            Output::Logistic => 1.0,
        };
        Ok(Phase {
            number,
            grounds: [compiler.grounds.iter().map(mask).collect(), compiler.grounds.iter().map(flip).collect()],
            programs,
            weights: terms.iter().map(|(weight, _)| if total > 0.0 { weight / total } else { 0.0 }).collect(),
        })
    }

    fn terms(&self, position: &Position, flipped: bool) -> Vec<f64> {
        let grounds: Vec<f64> =
            self.grounds[usize::from(flipped)].iter().map(|ground| ground.value(position)).collect();
        let mut stack = Vec::new();
        self.programs.iter().map(|program| run(program, &grounds, &mut stack)).collect()
    }
}

/// What a program comes to, given the values of ground features.
fn run(program: &[Op], grounds: &[f64], stack: &mut Vec<f64>) -> f64 {
    stack.clear();
    for &op in program {
        let (n, value) = match op {
            Op::Ground(number) => (0, grounds[number as usize]),
            Op::NotGround(number) => (0, 1.0 - grounds[number as usize]),
            Op::Least(n) => (n, last(stack, n).iter().copied().fold(1.0, f64::min)),
            Op::Greatest(n) => (n, last(stack, n).iter().copied().fold(0.0, f64::max)),
        };
        stack.truncate(stack.len() - n as usize);
        stack.push(value);
    }
    stack.pop().unwrap_or(0.0)
}

fn last(stack: &[f64], n: u32) -> &[f64] {
    &stack[stack.len() - n as usize..]
}

#[derive(Default)]
struct Compiler {
    numbers: FxHashMap<Ground, u32>,
    grounds: Vec<Ground>,
}

impl Compiler {
    fn number(&mut self, ground: &Ground) -> u32 {
        *self.numbers.entry(ground.clone()).or_insert_with(|| {
            self.grounds.push(ground.clone());
            self.grounds.len() as u32 - 1
        })
    }

    /// Writes a program; negations stand before ground features alone.
    fn emit(&mut self, meaning: &Meaning, ops: &mut Vec<Op>) {
        match meaning {
            Meaning::Ground(ground) => ops.push(Op::Ground(self.number(ground))),
            Meaning::Not(inner) => match &**inner {
                Meaning::Ground(ground) => ops.push(Op::NotGround(self.number(ground))),
                _ => unreachable!("negations were pushed down to ground features"),
            },
            Meaning::And(parts) | Meaning::Or(parts) => {
                parts.iter().for_each(|part| self.emit(part, ops));
                let n = parts.len() as u32;
                ops.push(if matches!(meaning, Meaning::And(_)) { Op::Least(n) } else { Op::Greatest(n) });
            }
        }
    }
}

/// The same values with negations before ground features alone, and without what the least or greatest of values does not
/// need: repetitions, and what is absorbed (`A and (A or B)` is `A`). `A or not A` stays: it need not be 1.
pub fn simplify(meaning: Meaning) -> Meaning {
    reduce(meaning, false)
}

fn reduce(meaning: Meaning, negated: bool) -> Meaning {
    let (parts, conjunction) = match meaning {
        Meaning::Ground(_) if negated => return Meaning::Not(Box::new(meaning)),
        Meaning::Ground(_) => return meaning,
        Meaning::Not(inner) => return reduce(*inner, !negated),
        Meaning::And(parts) => (parts, !negated),
        Meaning::Or(parts) => (parts, negated),
    };
    // Step 1. Flatten and sort.
    let mut flat = Vec::new();
    for part in parts {
        match (reduce(part, negated), conjunction) {
            (Meaning::And(inner), true) | (Meaning::Or(inner), false) => flat.extend(inner),
            (other, _) => flat.push(other),
        }
    }
    flat.sort();
    flat.dedup();
    // Step 2. Absorb: a part that is of the other kind and has one of the parts among its own.
    let absorbed = |part: &Meaning| match (part, conjunction) {
        (Meaning::Or(inner), true) | (Meaning::And(inner), false) => inner.iter().any(|inner| flat.contains(inner)),
        _ => false,
    };
    let kept: Vec<Meaning> = flat.iter().filter(|part| !absorbed(part)).cloned().collect();
    match <[Meaning; 1]>::try_from(kept) {
        Ok([only]) => only,
        Err(parts) if conjunction => Meaning::And(parts),
        Err(parts) => Meaning::Or(parts),
    }
}
