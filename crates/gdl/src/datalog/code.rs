//! A plan as flat code: every operation names the one that follows it.
//!
//! So a place in a rule is a number, and a rule that waits for an answer is that number and the values of its variables.

use super::plan::Step;

/// Where a plan ends: all of it has succeeded.
pub(super) const END: u32 = u32::MAX;

/// The operations of a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    ops: Vec<(Op, u32)>,
    pub(super) start: u32,
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A step without others in it.
    Step(Step),
    /// Tests that what begins here has no solution.
    Not(u32),
    /// Tests that what begins here has a solution.
    Exists(u32),
    /// Runs what begins at each of these; all of them go on with what follows.
    Or(Vec<u32>),
}

impl Code {
    /// Flattens a plan. Calls for which `waits` is true leave their rule and come back to it, so they can't stand in a test:
    /// "there is a solution" around one is left out, and what follows runs for each solution.
    pub(super) fn new(steps: Vec<Step>, waits: &dyn Fn(usize) -> bool) -> Code {
        let mut code = Code::default();
        code.start = code.add(steps, END, waits);
        code
    }

    fn add(&mut self, steps: Vec<Step>, mut next: u32, waits: &dyn Fn(usize) -> bool) -> u32 {
        for step in steps.into_iter().rev() {
            let op = match step {
                Step::Exists(inner) if calls(&inner, waits) => {
                    next = self.add(inner, next, waits);
                    continue;
                }
                Step::Exists(inner) => Op::Exists(self.add(inner, END, waits)),
                Step::Not(inner) => Op::Not(self.add(inner, END, waits)),
                Step::Or(branches) => {
                    Op::Or(branches.into_iter().map(|branch| self.add(branch, next, waits)).collect())
                }
                step => Op::Step(step),
            };
            self.ops.push((op, next));
            next = self.ops.len() as u32 - 1;
        }
        next
    }

    /// The operation at a place, and the place of the next one.
    pub(super) fn at(&self, place: u32) -> (&Op, u32) {
        let (op, next) = &self.ops[place as usize];
        (op, *next)
    }

    /// Every step, in no particular order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.ops.iter().filter_map(|(op, _)| if let Op::Step(step) = op { Some(step) } else { None })
    }

    /// Whether a procedure is called anywhere.
    pub(super) fn calls(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::Call { .. }))
    }
}

fn calls(steps: &[Step], which: &dyn Fn(usize) -> bool) -> bool {
    steps.iter().any(|step| match step {
        Step::Call { procedure, .. } => which(*procedure),
        Step::Not(inner) | Step::Exists(inner) => calls(inner, which),
        Step::Or(branches) => branches.iter().any(|branch| calls(branch, which)),
        _ => false,
    })
}
