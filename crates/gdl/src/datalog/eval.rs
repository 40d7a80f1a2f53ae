//! Running a plan.
//!
//! Most relations are complete tables by the time a rule reads them. Those that would be too large are procedures
//! instead: see [`tabling`](super::tabling).

use super::code::{Code, END, Op};
use super::plan::{Step, Value};
use super::table::{Pattern, Rows, Table, extract_row};
use super::tabling::{Agenda, Memo, Place, Procedure};
use super::terms::{TermId, Terms};
use super::{Limits, Resource};
use crate::program::RuleId;

/// Where a rule's conclusions go.
#[derive(Clone, Copy)]
pub(super) enum Sink<'a> {
    /// New facts of a table.
    Table { table: usize, head: &'a [Value] },
    /// Answers to a call.
    Call { at: Place, head: &'a [Value] },
}

/// Why an evaluation broke off.
#[derive(Clone, Copy, Debug)]
pub(super) enum Broken {
    /// A budget ran out in this rule.
    Exceeded(Resource, u64, RuleId),
    /// A table grew beyond the size, or took more than the work, at which it is better evaluated on demand.
    TooLarge { table: usize },
    /// Evaluation on demand takes so long that the author's order of literals may be the better one.
    TooSlow,
    /// Calls of this table's procedures are nested too deeply.
    TooDeep { table: usize },
}

/// What an evaluation has used up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Matches tried.
    pub(super) work: u64,
    /// Facts and answers held.
    pub(super) facts: usize,
    /// About how many bytes they take.
    pub(super) bytes: usize,
}

/// What an evaluation may use up, and what it means if it wants more.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) work: (u64, Broken),
    pub(super) facts: (usize, Broken),
}

/// About how many bytes a fact takes, with what finds it by its parts.
pub(super) fn fact_bytes(arity: usize) -> usize {
    24 + 12 * arity
}

/// One run of one rule.
pub(super) struct Evaluation<'a> {
    pub(super) tables: &'a [Table],
    pub(super) terms: &'a mut Terms,
    pub(super) procedures: &'a [Procedure],
    pub(super) memos: &'a mut [Memo],
    /// The newest rows of each table.
    pub(super) newest: &'a dyn Fn(usize) -> std::ops::Range<usize>,
    pub(super) rule: RuleId,
    pub(super) sink: Sink<'a>,
    /// The new facts for the sink's table.
    pub(super) fresh: &'a mut Rows,
    /// The size beyond which the sink's table is too large.
    pub(super) fresh_limit: usize,
    pub(super) bounds: Bounds,
    pub(super) limits: &'a Limits,
    pub(super) spent: &'a mut Spent,
    pub(super) frame: Frame,
    pub(super) agenda: Agenda,
    /// How many calls are under way.
    pub(super) depth: usize,
}

/// The working memory of rules that run.
#[derive(Default)]
pub(super) struct Frame {
    /// The values of the variables of all rules that run, the innermost last.
    pub(super) slots: Vec<TermId>,
    /// Where those of the current rule begin.
    pub(super) base: usize,
    /// Keys under construction.
    stack: Vec<TermId>,
    /// How many calls of [`Evaluation::solve`] are under way.
    pub(super) nesting: usize,
}

/// Whether to look for further solutions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Stop,
}

/// What a solution is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A new fact for the head.
    Derive,
    /// The answer yes.
    Test,
}

pub(super) type Outcome<T> = Result<T, Broken>;

impl Evaluation<'_> {
    /// Sends a fact to the sink for every solution of the code.
    pub(super) fn run(mut self, code: &Code, n_slots: usize) -> Outcome<()> {
        self.frame.slots.resize(n_slots, TermId(0));
        self.solve(code, code.start, Purpose::Derive).map(|_| ())
    }

    /// Appends the answers to a call to `rows` and returns their number.
    pub(super) fn answer(mut self, procedure: usize, key: &[TermId], rows: &mut Vec<TermId>) -> Outcome<usize> {
        let call = self.call(procedure, key)?;
        let answers = self.memos[procedure].answers(call);
        (0..answers.len()).for_each(|index| rows.extend_from_slice(answers.row(index)));
        Ok(answers.len())
    }

    /// Runs the code from a place on, once for each solution. Operations that bind variables call this again for what
    /// follows them, so it nests as deep as a rule has such operations.
    pub(super) fn solve(&mut self, code: &Code, mut place: u32, purpose: Purpose) -> Outcome<Flow> {
        loop {
            if place == END {
                return if purpose == Purpose::Test { Ok(Flow::Stop) } else { self.derive() };
            }
            let (op, next) = code.at(place);
            let holds = match op {
                Op::Step(Step::Scan { table, index, key, out }) => {
                    let index = self.tables[*table].index(*index);
                    let from = self.frame.stack.len();
                    let mut entry = if self.push_all(key) { index.first(&self.frame.stack[from..]) } else { None };
                    self.frame.stack.truncate(from);
                    while let Some(current) = entry {
                        self.count_work()?;
                        self.bind(out, index.out(current));
                        if self.deeper(code, next, purpose)? == Flow::Stop {
                            return Ok(Flow::Stop);
                        }
                        entry = index.following(current);
                    }
                    return Ok(Flow::Continue);
                }
                Op::Step(Step::ScanNewest { table, patterns, key, out }) => {
                    return self.scan_newest(*table, patterns, key, out, (code, next, purpose));
                }
                Op::Step(Step::Call { .. }) => return self.after_call(code, place, purpose),
                Op::Step(Step::Match { value, pattern, key, out }) => self.take_apart(value, pattern, key, out),
                Op::Or(branches) => {
                    for &branch in branches {
                        self.count_work()?;
                        if self.deeper(code, branch, purpose)? == Flow::Stop {
                            return Ok(Flow::Stop);
                        }
                    }
                    return Ok(Flow::Continue);
                }
                Op::Step(Step::Contains { table, args }) => {
                    let from = self.frame.stack.len();
                    let holds = self.push_all(args) && self.tables[*table].rows.contains(&self.frame.stack[from..]);
                    self.frame.stack.truncate(from);
                    self.count_work()?;
                    holds
                }
                Op::Step(Step::Distinct(left, right)) => !self.same(left, right),
                Op::Not(inner) => self.deeper(code, *inner, Purpose::Test)? == Flow::Continue,
                Op::Exists(inner) => self.deeper(code, *inner, Purpose::Test)? == Flow::Stop,
                Op::Step(Step::Fail) => false,
                Op::Step(Step::Not(_) | Step::Exists(_) | Step::Or(_)) => unreachable!("code is flat"),
            };
            if !holds {
                return Ok(Flow::Continue);
            }
            place = next;
        }
    }

    pub(super) fn deeper(&mut self, code: &Code, place: u32, purpose: Purpose) -> Outcome<Flow> {
        self.frame.nesting += 1;
        let flow = self.solve(code, place, purpose);
        self.frame.nesting -= 1;
        flow
    }

    fn scan_newest(
        &mut self,
        table: usize,
        patterns: &[Pattern],
        key: &[Value],
        out: &[u32],
        (code, next, purpose): (&Code, u32, Purpose),
    ) -> Outcome<Flow> {
        let Some(wanted) = self.known_values(key) else { return Ok(Flow::Continue) };
        let (mut found_key, mut found_out) = (Vec::new(), Vec::new());
        for row in (self.newest)(table) {
            self.count_work()?;
            found_key.clear();
            found_out.clear();
            let row = self.tables[table].rows.row(row);
            if !extract_row(patterns, self.terms, row, &mut found_key, &mut found_out) || found_key != wanted {
                continue;
            }
            self.bind(out, &found_out);
            if self.deeper(code, next, purpose)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn take_apart(&mut self, value: &Value, pattern: &Pattern, key: &[Value], out: &[u32]) -> bool {
        let Some(wanted) = self.known_values(key) else { return false };
        let (mut found_key, mut found_out) = (Vec::new(), Vec::new());
        let term = self.build(value);
        let pattern = std::slice::from_ref(pattern);
        let fits = extract_row(pattern, self.terms, &[term], &mut found_key, &mut found_out) && found_key == wanted;
        self.bind(out, &found_out);
        fits
    }

    pub(super) fn bind(&mut self, out: &[u32], values: &[TermId]) {
        for (&slot, &value) in out.iter().zip(values) {
            self.frame.slots[self.frame.base + slot as usize] = value;
        }
    }

    pub(super) fn known_values(&mut self, values: &[Value]) -> Option<Vec<TermId>> {
        let from = self.frame.stack.len();
        let known = self.push_all(values);
        let found = known.then(|| self.frame.stack[from..].to_vec());
        self.frame.stack.truncate(from);
        found
    }

    fn push_all(&mut self, values: &[Value]) -> bool {
        values.iter().all(|value| self.push_known(value))
    }

    /// Whether two values are the same term. Terms that nobody else needs are compared without being made.
    fn same(&self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Build(left_name, left_args), Value::Build(right_name, right_args)) => {
                left_name == right_name
                    && left_args.len() == right_args.len()
                    && left_args.iter().zip(right_args).all(|(left, right)| self.same(left, right))
            }
            (Value::Build(name, args), known) | (known, Value::Build(name, args)) => {
                let term = self.known_term(known);
                let parts = self.terms.args(term);
                self.terms.name(term) == *name
                    && parts.len() == args.len()
                    && args.iter().zip(parts).all(|(arg, &part)| self.same(arg, &Value::Term(part)))
            }
            (left, right) => self.known_term(left) == self.known_term(right),
        }
    }

    fn known_term(&self, value: &Value) -> TermId {
        match value {
            Value::Term(term) => *term,
            Value::Slot(slot) => self.frame.slots[self.frame.base + *slot as usize],
            Value::Build(..) => unreachable!("a term that is yet to be built"),
        }
    }

    /// Pushes the term on the stack; `false` if it was never met, so that no fact can hold it.
    fn push_known(&mut self, value: &Value) -> bool {
        let term = match value {
            Value::Term(term) => *term,
            Value::Slot(slot) => self.frame.slots[self.frame.base + *slot as usize],
            Value::Build(name, args) => {
                let from = self.frame.stack.len();
                let known = self.push_all(args);
                let found = if known { self.terms.find(*name, &self.frame.stack[from..]) } else { None };
                self.frame.stack.truncate(from);
                let Some(term) = found else { return false };
                term
            }
        };
        self.frame.stack.push(term);
        true
    }

    pub(super) fn build(&mut self, value: &Value) -> TermId {
        match value {
            Value::Term(term) => *term,
            Value::Slot(slot) => self.frame.slots[self.frame.base + *slot as usize],
            Value::Build(name, args) => {
                let from = self.frame.stack.len();
                for arg in args {
                    let arg = self.build(arg);
                    self.frame.stack.push(arg);
                }
                let term = self.terms.intern(*name, &self.frame.stack[from..]);
                self.frame.stack.truncate(from);
                term
            }
        }
    }

    /// Sends a fact to the sink. The flow stops where the sink needs no other.
    fn derive(&mut self) -> Outcome<Flow> {
        let from = self.frame.stack.len();
        let (Sink::Table { head, .. } | Sink::Call { head, .. }) = self.sink;
        for value in head {
            let term = self.build(value);
            self.frame.stack.push(term);
        }
        let row = &self.frame.stack[from..];
        let is_new = match self.sink {
            Sink::Table { table, .. } => !self.tables[table].rows.contains(row) && self.fresh.insert(row),
            Sink::Call { at, .. } => {
                let (procedure, call) = at.answers();
                self.memos[procedure].insert(call, row)
            }
        };
        let oversized = if is_new { self.oversized(&self.frame.stack[from..]) } else { None };
        let arity = self.frame.stack.len() - from;
        self.frame.stack.truncate(from);
        if is_new {
            self.spent.facts += 1;
            self.check_limits(oversized)?;
            self.spend_bytes(fact_bytes(arity))?;
            match self.sink {
                Sink::Table { table, .. } if self.tables[table].rows.len() + self.fresh.len() > self.fresh_limit => {
                    return Err(Broken::TooLarge { table });
                }
                Sink::Table { .. } => {}
                Sink::Call { at, .. } => {
                    let (procedure, call) = at.answers();
                    self.answered(procedure, call);
                }
            }
        }
        self.count_work()?;
        let settled = matches!(self.sink, Sink::Call { .. }) && arity == 0;
        Ok(if settled { Flow::Stop } else { Flow::Continue })
    }

    /// The limit that one of the terms is beyond.
    pub(super) fn oversized(&self, terms: &[TermId]) -> Option<(Resource, u64)> {
        let Limits { term_depth, term_size, .. } = *self.limits;
        if terms.iter().any(|&term| self.terms.depth(term) > term_depth) {
            Some((Resource::TermDepth, u64::from(term_depth)))
        } else if terms.iter().any(|&term| self.terms.size(term) > term_size) {
            Some((Resource::TermSize, u64::from(term_size)))
        } else {
            None
        }
    }

    fn check_limits(&self, oversized: Option<(Resource, u64)>) -> Outcome<()> {
        if self.spent.facts > self.bounds.facts.0 {
            return Err(self.beyond(self.bounds.facts.1));
        }
        oversized.map_or(Ok(()), |(resource, limit)| Err(Broken::Exceeded(resource, limit, self.rule)))
    }

    /// Counts bytes that are held until something is forgotten.
    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Outcome<()> {
        self.spent.bytes += bytes;
        let limit = self.limits.bytes;
        if self.terms.bytes() + self.spent.bytes > limit {
            return Err(Broken::Exceeded(Resource::Bytes, limit as u64, self.rule));
        }
        Ok(())
    }

    pub(super) fn count_work(&mut self) -> Outcome<()> {
        self.spent.work += 1;
        let work = self.spent.work;
        if work > self.bounds.work.0 {
            return Err(self.beyond(self.bounds.work.1));
        }
        if work.is_multiple_of(4096) && self.limits.stop.is_raised() {
            return Err(Broken::Exceeded(Resource::Stopped, 0, self.rule));
        }
        Ok(())
    }

    /// What broke, with the rule that it broke in.
    #[cold]
    fn beyond(&self, broken: Broken) -> Broken {
        match broken {
            Broken::Exceeded(resource, limit, _) => Broken::Exceeded(resource, limit, self.rule),
            other => other,
        }
    }
}
