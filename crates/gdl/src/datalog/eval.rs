//! Running a plan.

use super::plan::{Step, Value};
use super::table::{Rows, Table, extract_row};
use super::terms::{TermId, Terms};
use super::{Limits, Resource};

/// Where a rule's conclusions go.
pub(super) struct Fresh<'a> {
    pub(super) table: usize,
    pub(super) head: &'a [Value],
    pub(super) rows: &'a mut Rows,
}

/// One run of one rule.
pub(super) struct Evaluation<'a> {
    pub(super) tables: &'a [Table],
    pub(super) terms: &'a mut Terms,
    /// The newest rows of each table.
    pub(super) newest: &'a dyn Fn(usize) -> std::ops::Range<usize>,
    /// The values of the rule's variables.
    pub(super) slots: Vec<TermId>,
    /// Keys under construction.
    pub(super) stack: Vec<TermId>,
    pub(super) fresh: Fresh<'a>,
    pub(super) limits: &'a Limits,
    pub(super) interrupt: Option<&'a (dyn Fn() -> bool + Send + Sync)>,
    pub(super) n_facts: usize,
    pub(super) work: &'a mut u64,
}

/// The steps to run after the current ones, innermost first.
struct Rest<'a> {
    steps: &'a [Step],
    rest: Option<&'a Rest<'a>>,
}

/// Whether to look for further solutions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

/// What a solution is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A new fact for the head.
    Derive,
    /// The answer yes.
    Test,
}

type Outcome<T> = Result<T, (Resource, u64)>;

impl Evaluation<'_> {
    /// Adds a fact to [`Fresh::rows`] for every solution of the steps.
    pub(super) fn run(mut self, steps: &[Step]) -> Outcome<()> {
        self.solve(steps, None, Purpose::Derive).map(|_| ())
    }

    fn solve(&mut self, steps: &[Step], rest: Option<&Rest<'_>>, purpose: Purpose) -> Outcome<Flow> {
        let Some((step, steps)) = steps.split_first() else {
            return match rest {
                Some(rest) => self.solve(rest.steps, rest.rest, purpose),
                None if purpose == Purpose::Test => Ok(Flow::Stop),
                None => self.derive().map(|()| Flow::Continue),
            };
        };
        let holds = match step {
            Step::Scan { table, index, key, out } => {
                let index = self.tables[*table].index(*index);
                let from = self.stack.len();
                let known = key.iter().all(|value| self.push_known(value));
                let mut entry = if known { index.first(&self.stack[from..]) } else { None };
                self.stack.truncate(from);
                while let Some(current) = entry {
                    self.count_work()?;
                    for (&slot, &value) in out.iter().zip(index.out(current)) {
                        self.slots[slot as usize] = value;
                    }
                    if self.solve(steps, rest, purpose)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                    entry = index.following(current);
                }
                return Ok(Flow::Continue);
            }
            Step::ScanNewest { table, patterns, key, out } => {
                let from = self.stack.len();
                let known = key.iter().all(|value| self.push_known(value));
                let wanted = self.stack[from..].to_vec();
                self.stack.truncate(from);
                let range = if known { (self.newest)(*table) } else { 0..0 };
                let (mut found_key, mut found_out) = (Vec::new(), Vec::new());
                for row in range {
                    self.count_work()?;
                    found_key.clear();
                    found_out.clear();
                    let row = self.tables[*table].rows.row(row);
                    if !extract_row(patterns, self.terms, row, &mut found_key, &mut found_out) || found_key != wanted {
                        continue;
                    }
                    for (&slot, &value) in out.iter().zip(&found_out) {
                        self.slots[slot as usize] = value;
                    }
                    if self.solve(steps, rest, purpose)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                return Ok(Flow::Continue);
            }
            Step::Or(branches) => {
                let rest = Rest { steps, rest };
                for branch in branches {
                    if self.solve(branch, Some(&rest), purpose)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                return Ok(Flow::Continue);
            }
            Step::Contains { table, args } => {
                let from = self.stack.len();
                let known = args.iter().all(|value| self.push_known(value));
                let holds = known && self.tables[*table].rows.contains(&self.stack[from..]);
                self.stack.truncate(from);
                self.count_work()?;
                holds
            }
            Step::Distinct(left, right) => {
                // A term that was never made equals no term that was.
                let from = self.stack.len();
                let known = self.push_known(left) && self.push_known(right);
                let holds = !known || self.stack[from] != self.stack[from + 1];
                self.stack.truncate(from);
                holds
            }
            Step::Not(inner) => self.solve(inner, None, Purpose::Test)? == Flow::Continue,
            Step::Exists(inner) => self.solve(inner, None, Purpose::Test)? == Flow::Stop,
            Step::Fail => false,
        };
        if holds { self.solve(steps, rest, purpose) } else { Ok(Flow::Continue) }
    }

    /// Pushes the term on the stack; `false` if it was never met, so that no fact can hold it.
    fn push_known(&mut self, value: &Value) -> bool {
        let term = match value {
            Value::Term(term) => *term,
            Value::Slot(slot) => self.slots[*slot as usize],
            Value::Build(name, args) => {
                let from = self.stack.len();
                let known = args.iter().all(|arg| self.push_known(arg));
                let found = if known { self.terms.find(*name, &self.stack[from..]) } else { None };
                self.stack.truncate(from);
                let Some(term) = found else { return false };
                term
            }
        };
        self.stack.push(term);
        true
    }

    fn build(&mut self, value: &Value) -> TermId {
        match value {
            Value::Term(term) => *term,
            Value::Slot(slot) => self.slots[*slot as usize],
            Value::Build(name, args) => {
                let from = self.stack.len();
                for arg in args {
                    let arg = self.build(arg);
                    self.stack.push(arg);
                }
                let term = self.terms.intern(*name, &self.stack[from..]);
                self.stack.truncate(from);
                term
            }
        }
    }

    fn derive(&mut self) -> Outcome<()> {
        let from = self.stack.len();
        let head = self.fresh.head;
        for value in head {
            let term = self.build(value);
            self.stack.push(term);
        }
        let row = &self.stack[from..];
        if !self.tables[self.fresh.table].rows.contains(row) && self.fresh.rows.insert(row) {
            let n_facts = self.n_facts + self.fresh.rows.len();
            if n_facts > self.limits.facts {
                return Err((Resource::Facts, self.limits.facts as u64));
            }
            if self.terms.max_depth() > self.limits.term_depth {
                return Err((Resource::TermDepth, u64::from(self.limits.term_depth)));
            }
            // About three words a term and six a fact, indices included.
            if self.terms.bytes() + n_facts * 48 > self.limits.bytes {
                return Err((Resource::Bytes, self.limits.bytes as u64));
            }
        }
        self.stack.truncate(from);
        self.count_work()
    }

    fn count_work(&mut self) -> Outcome<()> {
        *self.work += 1;
        if *self.work > self.limits.work {
            return Err((Resource::Work, self.limits.work));
        }
        if self.work.is_multiple_of(4096) && self.interrupt.is_some_and(|interrupt| interrupt()) {
            return Err((Resource::Interrupted, 0));
        }
        Ok(())
    }
}
