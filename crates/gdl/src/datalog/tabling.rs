//! Calls of procedures, and their answers.
//!
//! A call gives the values of some arguments and gets the facts that have them, which are remembered until the state
//! changes. Procedures of different groups of relations call each other like functions: by the time a call comes back,
//! its answers are complete, so `not` may ask for them.
//!
//! Inside of a recursive group no call waits on the stack. A rule that makes one is put by, as a place in its code and the
//! values of its variables, and goes on with each answer once it is found (tabling by suspension: Chen and Warren
//! 1996, "Tabled evaluation with delaying for general logic programs", without the delaying, since such a group has no
//! negation in it). Every answer meets every rule that waits for it exactly once, however deep the recursion.

use super::code::{Code, Op};
use super::eval::{Broken, Evaluation, Flow, Outcome, Purpose, Sink, fact_bytes};
use super::plan::{Step, Value};
use super::table::Rows;
use super::terms::TermId;
use crate::program::RuleId;

/// A rule as a procedure runs it.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) rule: RuleId,
    pub(super) n_slots: usize,
    pub(super) first_key_slot: usize,
    pub(super) code: Code,
    pub(super) head: Vec<Value>,
}

/// A relation that is evaluated on demand, for one choice of known arguments.
#[derive(Clone, Debug)]
pub(super) struct Procedure {
    pub(super) table: usize,
    pub(super) known: Vec<bool>,
    pub(super) clauses: Vec<Clause>,
    /// The group of its relation, if that is recursive.
    pub(super) recursion: Option<usize>,
}

/// What the calls of a procedure have found in the current state.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    keys: Rows,
    calls: Vec<Call>,
    n_open: usize,
    /// How many answers all calls have together, and about how many bytes they take.
    pub(super) n_answers: usize,
    pub(super) bytes: usize,
}

#[derive(Clone, Debug)]
struct Call {
    answers: Rows,
    /// Whether no more answers can come.
    complete: bool,
    /// Whether its clauses have been run.
    started: bool,
    /// Whether it is among the calls to look at.
    queued: bool,
    waiting: Vec<Waiting>,
}

/// A rule that waits for answers.
#[derive(Clone, Debug)]
struct Waiting {
    at: Place,
    slots: Box<[TermId]>,
    /// How many answers it has seen.
    seen: usize,
}

/// A call in the code of a clause, made on behalf of another call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    procedure: usize,
    clause: usize,
    op: u32,
    /// The call that the clause answers.
    call: usize,
}

impl Memo {
    pub(super) fn new(n_known: usize, n_open: usize) -> Memo {
        Memo { keys: Rows::new(n_known), n_open, ..Memo::default() }
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.calls.clear();
        (self.n_answers, self.bytes) = (0, 0);
    }

    /// Adds an answer; `false` if it is known.
    pub(super) fn insert(&mut self, call: usize, row: &[TermId]) -> bool {
        let is_new = self.calls[call].answers.insert(row);
        if is_new {
            self.n_answers += 1;
            self.bytes += fact_bytes(self.n_open);
        }
        is_new
    }

    pub(super) fn answers(&self, call: usize) -> &Rows {
        &self.calls[call].answers
    }

    /// Whether a call has the only answer that it can have.
    fn is_settled(&self, call: usize) -> bool {
        self.n_open == 0 && self.calls[call].answers.len() > 0
    }
}

/// How deep calls may be nested, and how deep the operations of all rules under way may be when a call is made: each takes
/// some stack. The rule that is run last may add [`MAX_LITERALS`](super::MAX_LITERALS) to that. Recursion does not nest,
/// so this is about chains of relations.
const MAX_CALL_DEPTH: usize = 200;
const MAX_CALL_NESTING: usize = 1000;

/// The calls of one recursive group that are under way.
#[derive(Default)]
pub(super) struct Agenda {
    /// The group.
    recursion: Option<usize>,
    /// Calls to run, or with answers that somebody has not seen; the newest last.
    queue: Vec<(usize, usize)>,
    /// All of its calls.
    calls: Vec<(usize, usize)>,
}

impl<'a> Evaluation<'a> {
    /// The number of a call, which is made if it is new.
    fn find_call(&mut self, procedure: usize, key: &[TermId]) -> Outcome<usize> {
        let memo = &mut self.memos[procedure];
        if let Some(number) = memo.keys.position(key) {
            return Ok(number);
        }
        memo.keys.insert(key);
        let answers = Rows::new(memo.n_open);
        memo.calls.push(Call { answers, complete: false, started: false, queued: false, waiting: Vec::new() });
        let (number, bytes) = (memo.calls.len() - 1, size_of::<Call>() + 16 + 8 * key.len());
        memo.bytes += bytes;
        self.spend_bytes(bytes)?;
        Ok(number)
    }

    /// Makes a call, finds all its answers and returns its number.
    pub(super) fn call(&mut self, procedure: usize, key: &[TermId]) -> Outcome<usize> {
        let number = self.find_call(procedure, key)?;
        if self.memos[procedure].calls[number].complete {
            return Ok(number);
        }
        if self.depth >= MAX_CALL_DEPTH || self.frame.nesting > MAX_CALL_NESTING {
            return Err(Broken::TooDeep { table: self.procedures[procedure].table });
        }
        self.depth += 1;
        let agenda = Agenda { recursion: self.procedures[procedure].recursion, ..Agenda::default() };
        let outer = std::mem::replace(&mut self.agenda, agenda);
        self.enqueue(procedure, number);
        self.agenda.calls.push((procedure, number));
        while let Some((procedure, number)) = self.agenda.queue.pop() {
            self.advance(procedure, number)?;
        }
        for (procedure, number) in std::mem::replace(&mut self.agenda, outer).calls {
            let call = &mut self.memos[procedure].calls[number];
            call.complete = true;
            let waiting = std::mem::take(&mut call.waiting);
            let bytes: usize = waiting.iter().map(Waiting::bytes).sum();
            self.memos[procedure].bytes -= bytes;
            self.spent.bytes -= bytes;
        }
        self.depth -= 1;
        Ok(number)
    }

    fn enqueue(&mut self, procedure: usize, number: usize) {
        let call = &mut self.memos[procedure].calls[number];
        if !std::mem::replace(&mut call.queued, true) {
            self.agenda.queue.push((procedure, number));
        }
    }

    /// Notes that a call has a new answer.
    pub(super) fn answered(&mut self, procedure: usize, number: usize) {
        if !self.memos[procedure].calls[number].waiting.is_empty() {
            self.enqueue(procedure, number);
        }
    }

    /// Runs the clauses of a call if that is still to be done, then shows its answers to the rules that wait for them.
    fn advance(&mut self, procedure: usize, number: usize) -> Outcome<()> {
        let call = &mut self.memos[procedure].calls[number];
        call.queued = false;
        if !std::mem::replace(&mut call.started, true) {
            self.run_clauses(procedure, number)?;
        }
        let mut index = 0;
        while let Some(waiting) = self.memos[procedure].calls[number].waiting.get(index) {
            let (at, seen) = (waiting.at, waiting.seen);
            if seen == self.memos[procedure].calls[number].answers.len() || self.memos[at.procedure].is_settled(at.call)
            {
                index += 1;
                continue;
            }
            self.memos[procedure].calls[number].waiting[index].seen += 1;
            self.go_on(at, (procedure, number), index, seen)?;
        }
        Ok(())
    }

    fn run_clauses(&mut self, procedure: usize, call: usize) -> Outcome<()> {
        let procedures = self.procedures;
        let key = self.memos[procedure].keys.row(call).to_vec();
        for (number, clause) in procedures[procedure].clauses.iter().enumerate() {
            if self.memos[procedure].is_settled(call) {
                break;
            }
            let place = Place { procedure, clause: number, op: 0, call };
            let from = self.frame.slots.len();
            self.frame.slots.resize(from + clause.n_slots, TermId(0));
            self.frame.slots[from + clause.first_key_slot..][..key.len()].copy_from_slice(&key);
            self.run_clause(place, from, |evaluation| {
                evaluation.solve(&clause.code, clause.code.start, Purpose::Derive)
            })?;
        }
        Ok(())
    }

    /// Goes on with a rule that has waited, with one more answer.
    fn go_on(&mut self, at: Place, call: (usize, usize), waiting: usize, answer: usize) -> Outcome<()> {
        let procedures = self.procedures;
        let code = &procedures[at.procedure].clauses[at.clause].code;
        let (Op::Step(Step::Call { patterns, parts, out, .. }), next) = code.at(at.op) else {
            unreachable!("rules wait at calls")
        };
        self.count_work()?;
        let from = self.frame.slots.len();
        self.frame.slots.extend_from_slice(&self.memos[call.0].calls[call.1].waiting[waiting].slots);
        self.run_clause(at, from, |evaluation| {
            if evaluation.take_answer(call, answer, patterns, parts, out) {
                evaluation.solve(code, next, Purpose::Derive)
            } else {
                Ok(Flow::Continue)
            }
        })
    }

    /// Runs (part of) a clause whose variables have the slots from `from` on.
    fn run_clause(&mut self, at: Place, from: usize, run: impl FnOnce(&mut Self) -> Outcome<Flow>) -> Outcome<()> {
        let clause = &self.procedures[at.procedure].clauses[at.clause];
        let sink = Sink::Call { at, head: &clause.head };
        let outer = (self.sink, self.rule, self.frame.base);
        (self.sink, self.rule, self.frame.base) = (sink, clause.rule, from);
        let outcome = run(self);
        (self.sink, self.rule, self.frame.base) = outer;
        self.frame.slots.truncate(from);
        outcome.map(|_| ())
    }

    /// Runs what follows a call, once for each answer: those that are there, and later, if the call belongs to the
    /// recursion that is under way, those that will be.
    pub(super) fn after_call(&mut self, code: &Code, op: u32, purpose: Purpose) -> Outcome<Flow> {
        let (Op::Step(Step::Call { procedure, key, patterns, parts, out }), next) = code.at(op) else {
            unreachable!("the operation is a call")
        };
        let key: Vec<TermId> = key.iter().map(|value| self.build(value)).collect();
        // A fact can't hold such a term, but asking for ever larger ones could go on for ever.
        if self.oversized(&key).is_some() {
            return Err(Broken::TooDeep { table: self.procedures[*procedure].table });
        }
        let recursion = self.procedures[*procedure].recursion;
        let waits = recursion.is_some() && recursion == self.agenda.recursion;
        let number = if waits { self.find_call(*procedure, &key)? } else { self.call(*procedure, &key)? };
        // Answers that come while the loop runs are seen, too.
        let mut seen = 0;
        while seen < self.memos[*procedure].calls[number].answers.len() {
            self.count_work()?;
            if self.take_answer((*procedure, number), seen, patterns, parts, out)
                && self.deeper(code, next, purpose)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
            seen += 1;
        }
        let memo = &mut self.memos[*procedure];
        if !waits || memo.calls[number].complete || memo.is_settled(number) {
            return Ok(Flow::Continue);
        }
        let Sink::Call { at, .. } = self.sink else { unreachable!("a recursion is under way") };
        let slots: Box<[TermId]> = self.frame.slots[self.frame.base..].into();
        let waiting = Waiting { at: Place { op, ..at }, slots, seen };
        let bytes = waiting.bytes();
        memo.bytes += bytes;
        memo.calls[number].waiting.push(waiting);
        if !memo.calls[number].started && !memo.calls[number].queued {
            self.agenda.calls.push((*procedure, number));
            self.enqueue(*procedure, number);
        }
        self.spend_bytes(bytes)?;
        Ok(Flow::Continue)
    }

    /// Binds variables to the parts of an answer; `false` if it does not fit.
    fn take_answer(
        &mut self,
        (procedure, call): (usize, usize),
        answer: usize,
        patterns: &[super::table::Pattern],
        parts: &[Value],
        out: &[u32],
    ) -> bool {
        if patterns.is_empty() {
            return true;
        }
        let Some(wanted) = self.known_values(parts) else { return false };
        let (mut key, mut found) = (Vec::new(), Vec::new());
        let row = self.memos[procedure].calls[call].answers.row(answer);
        if !super::table::extract_row(patterns, self.terms, row, &mut key, &mut found) || key != wanted {
            return false;
        }
        self.bind(out, &found);
        true
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        size_of::<Waiting>() + size_of_val(&*self.slots)
    }
}

impl Place {
    /// The procedure and the call that the clause answers.
    pub(super) fn answers(self) -> (usize, usize) {
        (self.procedure, self.call)
    }
}
