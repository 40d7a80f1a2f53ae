//! Running a plan.
//!
//! Most relations are complete tables by the time a rule reads them. Those that would be too large are procedures
//! instead: a call gives the values of some arguments and gets the facts that have them, which are remembered until
//! the state changes. Procedures that call themselves are evaluated by linear tabling (Zhou, Shen, Yuan and You 2001,
//! "Implementation of a linear tabling mechanism"): a call that is already under way answers with what it has found
//! so far, and the outermost call that others depend on starts again until nothing new is found.

use super::plan::{Step, Value};
use super::table::{Pattern, Rows, Table, extract_row};
use super::terms::{TermId, Terms};
use super::{Limits, Resource};
use crate::program::RuleId;

/// Where a rule's conclusions go.
#[derive(Clone, Copy)]
pub(super) enum Sink<'a> {
    /// New facts of a table.
    Table { table: usize, head: &'a [Value] },
    /// Answers to a call.
    Call { procedure: usize, call: usize, head: &'a [Value] },
}

/// A rule as a procedure runs it.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) rule: RuleId,
    pub(super) n_slots: usize,
    pub(super) first_key_slot: usize,
    pub(super) steps: Vec<Step>,
    pub(super) head: Vec<Value>,
}

/// A relation that is evaluated on demand, for one choice of known arguments.
#[derive(Clone, Debug)]
pub(super) struct Procedure {
    pub(super) table: usize,
    pub(super) known: Vec<bool>,
    pub(super) clauses: Vec<Clause>,
}

/// What the calls of a procedure have found in the current state.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    keys: Rows,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Call {
    answers: Rows,
    status: Status,
    /// The shallowest call under way that this one depends on.
    depends_on: usize,
    /// The pass in which it was last evaluated.
    pass: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// To be evaluated; it may have answers from an evaluation that was not the last one.
    New,
    UnderWay {
        depth: usize,
    },
    /// Evaluated, but it depends on a call under way.
    Provisional,
    Complete,
}

impl Memo {
    pub(super) fn new(n_known: usize) -> Memo {
        Memo { keys: Rows::new(n_known), calls: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.calls.clear();
    }
}

/// Why an evaluation broke off.
#[derive(Clone, Copy, Debug)]
pub(super) enum Broken {
    /// A budget ran out in this rule.
    Exceeded(Resource, u64, RuleId),
    /// A table grew beyond the size at which it is better evaluated on demand.
    TooLarge { table: usize },
    /// Calls of this table's procedures are nested too deeply.
    TooDeep { table: usize },
}

/// How deep calls may be nested, and how deep the steps of all rules under way may be when a call is made: each takes
/// some stack. The rule that is run last may add [`MAX_LITERALS`](super::MAX_LITERALS) to that.
const MAX_CALL_DEPTH: usize = 200;
const MAX_CALL_NESTING: usize = 1000;

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
    pub(super) limits: &'a Limits,
    pub(super) n_facts: usize,
    pub(super) work: &'a mut u64,
    pub(super) frame: Frame,
    pub(super) tabling: &'a mut Tabling,
}

/// The working memory of rules that run.
#[derive(Default)]
pub(super) struct Frame {
    /// The values of the variables of all rules that run, the innermost last.
    slots: Vec<TermId>,
    /// Where those of the current rule begin.
    base: usize,
    /// Keys under construction.
    stack: Vec<TermId>,
    /// How many calls of [`Evaluation::solve`] are under way.
    nesting: usize,
}

/// The bookkeeping of calls under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Tabling {
    depth: usize,
    /// The shallowest call under way that the current call has been found to depend on.
    depends_on: usize,
    n_answers: usize,
    pass: u64,
    /// Provisional calls, by procedure and number.
    provisional: Vec<(usize, usize)>,
}

impl Tabling {
    /// How many answers calls have found so far.
    pub(super) fn n_answers(&self) -> usize {
        self.n_answers
    }
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

type Outcome<T> = Result<T, Broken>;

impl<'a> Evaluation<'a> {
    /// Sends a fact to the sink for every solution of the steps.
    pub(super) fn run(mut self, steps: &[Step], n_slots: usize) -> Outcome<()> {
        self.frame.slots.resize(n_slots, TermId(0));
        self.solve(steps, None, Purpose::Derive).map(|_| ())
    }

    /// Appends the answers to a call to `rows` and returns their number.
    pub(super) fn answer(mut self, procedure: usize, key: &[TermId], rows: &mut Vec<TermId>) -> Outcome<usize> {
        let call = self.call(procedure, key)?;
        let answers = &self.memos[procedure].calls[call].answers;
        (0..answers.len()).for_each(|index| rows.extend_from_slice(answers.row(index)));
        Ok(answers.len())
    }

    /// Runs the steps, then the rest, once for each solution. Steps that bind variables call this again for what follows
    /// them, so it nests as deep as a rule has such steps.
    fn solve<'r>(&mut self, mut steps: &'r [Step], mut rest: Option<&Rest<'r>>, purpose: Purpose) -> Outcome<Flow> {
        loop {
            let Some((step, following)) = steps.split_first() else {
                match rest {
                    Some(outer) => (steps, rest) = (outer.steps, outer.rest),
                    None if purpose == Purpose::Test => return Ok(Flow::Stop),
                    None => return self.derive().map(|()| Flow::Continue),
                }
                continue;
            };
            steps = following;
            let holds = match step {
                Step::Scan { table, index, key, out } => {
                    let index = self.tables[*table].index(*index);
                    let from = self.frame.stack.len();
                    let mut entry = if self.push_all(key) { index.first(&self.frame.stack[from..]) } else { None };
                    self.frame.stack.truncate(from);
                    while let Some(current) = entry {
                        self.count_work()?;
                        self.bind(out, index.out(current));
                        if self.deeper(steps, rest, purpose)? == Flow::Stop {
                            return Ok(Flow::Stop);
                        }
                        entry = index.following(current);
                    }
                    return Ok(Flow::Continue);
                }
                Step::ScanNewest { table, patterns, key, out } => {
                    return self.scan_newest(*table, patterns, key, out, (steps, rest, purpose));
                }
                Step::Call { procedure, key, patterns, parts, out } => {
                    let key: Vec<TermId> = key.iter().map(|value| self.build(value)).collect();
                    // A fact can't hold such a term, but asking for ever larger ones could go on for ever.
                    if self.oversized(&key).is_some() {
                        return Err(Broken::TooDeep { table: self.procedures[*procedure].table });
                    }
                    let call = self.call(*procedure, &key)?;
                    if !patterns.is_empty() {
                        return self.scan_answers((*procedure, call), patterns, parts, out, (steps, rest, purpose));
                    }
                    self.memos[*procedure].calls[call].answers.len() > 0
                }
                Step::Match { value, pattern, key, out } => self.take_apart(value, pattern, key, out),
                Step::Or(branches) => {
                    let rest = Rest { steps, rest };
                    for branch in branches {
                        self.count_work()?;
                        if self.deeper(branch, Some(&rest), purpose)? == Flow::Stop {
                            return Ok(Flow::Stop);
                        }
                    }
                    return Ok(Flow::Continue);
                }
                Step::Contains { table, args } => {
                    let from = self.frame.stack.len();
                    let holds = self.push_all(args) && self.tables[*table].rows.contains(&self.frame.stack[from..]);
                    self.frame.stack.truncate(from);
                    self.count_work()?;
                    holds
                }
                Step::Distinct(left, right) => !self.same(left, right),
                Step::Not(inner) => self.deeper(inner, None, Purpose::Test)? == Flow::Continue,
                Step::Exists(inner) => self.deeper(inner, None, Purpose::Test)? == Flow::Stop,
                Step::Fail => false,
            };
            if !holds {
                return Ok(Flow::Continue);
            }
        }
    }

    fn deeper(&mut self, steps: &[Step], rest: Option<&Rest<'_>>, purpose: Purpose) -> Outcome<Flow> {
        self.frame.nesting += 1;
        let flow = self.solve(steps, rest, purpose);
        self.frame.nesting -= 1;
        flow
    }

    fn scan_newest(
        &mut self,
        table: usize,
        patterns: &[Pattern],
        key: &[Value],
        out: &[u32],
        (steps, rest, purpose): (&[Step], Option<&Rest<'_>>, Purpose),
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
            if self.deeper(steps, rest, purpose)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn scan_answers(
        &mut self,
        (procedure, call): (usize, usize),
        patterns: &[Pattern],
        parts: &[Value],
        out: &[u32],
        (steps, rest, purpose): (&[Step], Option<&Rest<'_>>, Purpose),
    ) -> Outcome<Flow> {
        let Some(wanted) = self.known_values(parts) else { return Ok(Flow::Continue) };
        let (mut found_key, mut found_out) = (Vec::new(), Vec::new());
        // Answers that come while the loop runs are seen in the next pass.
        for index in 0..self.memos[procedure].calls[call].answers.len() {
            self.count_work()?;
            found_key.clear();
            found_out.clear();
            let row = self.memos[procedure].calls[call].answers.row(index);
            if !extract_row(patterns, self.terms, row, &mut found_key, &mut found_out) || found_key != wanted {
                continue;
            }
            self.bind(out, &found_out);
            if self.deeper(steps, rest, purpose)? == Flow::Stop {
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

    /// Finds the answers to a call and returns its number.
    fn call(&mut self, procedure: usize, key: &[TermId]) -> Outcome<usize> {
        // Step 1. Answer from memory if the call is complete, under way, or was evaluated in this pass.
        let memo = &mut self.memos[procedure];
        let known = memo.keys.position(key);
        let number = known.unwrap_or(memo.calls.len());
        if known.is_some() {
            let call = &memo.calls[number];
            match call.status {
                Status::Complete => return Ok(number),
                Status::UnderWay { depth } => {
                    self.tabling.depends_on = self.tabling.depends_on.min(depth);
                    return Ok(number);
                }
                Status::Provisional if call.pass == self.tabling.pass => {
                    self.tabling.depends_on = self.tabling.depends_on.min(call.depends_on);
                    return Ok(number);
                }
                Status::Provisional | Status::New => {}
            }
        } else {
            let n_open = self.procedures[procedure].known.iter().filter(|known| !**known).count();
            memo.keys.insert(key);
            memo.calls.push(Call { answers: Rows::new(n_open), status: Status::New, depends_on: usize::MAX, pass: 0 });
        }
        // Step 2. Run the rules, again and again while the call depends on itself and something new is found.
        let depth = self.tabling.depth + 1;
        if depth > MAX_CALL_DEPTH || self.frame.nesting > MAX_CALL_NESTING {
            return Err(Broken::TooDeep { table: self.procedures[procedure].table });
        }
        self.tabling.depth = depth;
        let outer_depends_on = std::mem::replace(&mut self.tabling.depends_on, usize::MAX);
        let provisional_from = self.tabling.provisional.len();
        self.memos[procedure].calls[number].status = Status::UnderWay { depth };
        let (depends_on, last_pass) = loop {
            let pass = self.tabling.pass;
            let before = self.tabling.n_answers;
            self.run_clauses(procedure, number, key)?;
            let depends_on = self.tabling.depends_on;
            if depends_on == depth && self.tabling.n_answers > before {
                self.tabling.pass += 1;
                self.tabling.depends_on = usize::MAX;
                continue;
            }
            break (depends_on, pass);
        };
        // Step 3. A call that depends on none further out is complete, and so are the calls that waited for it, if the last
        // pass came by them. (The first solution is often enough, so it need not.) The others must be made again.
        let call = &mut self.memos[procedure].calls[number];
        if depends_on >= depth {
            call.status = Status::Complete;
            for (procedure, number) in self.tabling.provisional.drain(provisional_from..) {
                let call = &mut self.memos[procedure].calls[number];
                call.status = if call.pass >= last_pass { Status::Complete } else { Status::New };
            }
            self.tabling.depends_on = outer_depends_on;
        } else {
            (call.status, call.depends_on, call.pass) = (Status::Provisional, depends_on, self.tabling.pass);
            self.tabling.provisional.push((procedure, number));
            self.tabling.depends_on = outer_depends_on.min(depends_on);
        }
        self.tabling.depth = depth - 1;
        Ok(number)
    }

    fn run_clauses(&mut self, procedure: usize, call: usize, key: &[TermId]) -> Outcome<()> {
        let procedures = self.procedures;
        for clause in &procedures[procedure].clauses {
            let outer_base = self.frame.base;
            let base = self.frame.slots.len();
            self.frame.slots.resize(base + clause.n_slots, TermId(0));
            self.frame.slots[base + clause.first_key_slot..][..key.len()].copy_from_slice(key);
            self.frame.base = base;
            let outer = (self.sink, self.rule);
            self.rule = clause.rule;
            self.sink = Sink::Call { procedure, call, head: &clause.head };
            let outcome = self.solve(&clause.steps, None, Purpose::Derive);
            (self.sink, self.rule) = outer;
            self.frame.base = outer_base;
            self.frame.slots.truncate(base);
            outcome?;
        }
        Ok(())
    }

    fn bind(&mut self, out: &[u32], values: &[TermId]) {
        for (&slot, &value) in out.iter().zip(values) {
            self.frame.slots[self.frame.base + slot as usize] = value;
        }
    }

    fn known_values(&mut self, values: &[Value]) -> Option<Vec<TermId>> {
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

    fn build(&mut self, value: &Value) -> TermId {
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

    fn derive(&mut self) -> Outcome<()> {
        let from = self.frame.stack.len();
        let (Sink::Table { head, .. } | Sink::Call { head, .. }) = self.sink;
        for value in head {
            let term = self.build(value);
            self.frame.stack.push(term);
        }
        let row = &self.frame.stack[from..];
        let is_new = match self.sink {
            Sink::Table { table, .. } => !self.tables[table].rows.contains(row) && self.fresh.insert(row),
            Sink::Call { procedure, call, .. } => self.memos[procedure].calls[call].answers.insert(row),
        };
        let oversized = if is_new { self.oversized(&self.frame.stack[from..]) } else { None };
        self.frame.stack.truncate(from);
        if is_new {
            self.n_facts += 1;
            self.check_limits(oversized)?;
            match self.sink {
                Sink::Table { table, .. } if self.tables[table].rows.len() + self.fresh.len() > self.fresh_limit => {
                    return Err(Broken::TooLarge { table });
                }
                Sink::Table { .. } => {}
                Sink::Call { .. } => self.tabling.n_answers += 1,
            }
        }
        self.count_work()
    }

    /// The limit that one of the terms is beyond.
    fn oversized(&self, terms: &[TermId]) -> Option<(Resource, u64)> {
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
        let limits = self.limits;
        // About three words a term and six a fact, indices included.
        let bytes = self.terms.bytes() + self.n_facts * 48;
        let broken = if self.n_facts > limits.facts {
            Some((Resource::Facts, limits.facts as u64))
        } else if bytes > limits.bytes {
            Some((Resource::Bytes, limits.bytes as u64))
        } else {
            oversized
        };
        broken.map_or(Ok(()), |(resource, limit)| Err(Broken::Exceeded(resource, limit, self.rule)))
    }

    fn count_work(&mut self) -> Outcome<()> {
        *self.work += 1;
        if *self.work > self.limits.work {
            return Err(Broken::Exceeded(Resource::Work, self.limits.work, self.rule));
        }
        if self.work.is_multiple_of(4096) && self.limits.stop.is_raised() {
            return Err(Broken::Exceeded(Resource::Stopped, 0, self.rule));
        }
        Ok(())
    }
}
