//! Following a match by the rules: what is legal, what follows, when it is over. Everything goes in and comes out as text.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gdl::datalog::Resource;
use gdl::{Stop, TermId};
use machine::{Limits, Machine, Reference, RoleId, Setup};

use crate::contestant::Rules;
use crate::term;

/// What following rules from anywhere may take of the memory.
const MAX_BYTES: usize = 512 << 20;

/// The state of a match, by the reference engine.
pub struct Judge {
    machine: Reference,
    /// Found when it is first needed.
    state: Option<<Reference as Machine>::State>,
    /// The legal moves of each role, if they have been asked for.
    legal: Option<Vec<Vec<(String, TermId)>>>,
    watch: Arc<Mutex<Watch>>,
}

/// What every evaluation looks at now and then.
#[derive(Default)]
struct Watch {
    deadline: Option<Instant>,
    stop: Stop,
}

impl Judge {
    /// At the beginning of a match. The error says what is wrong with the rules. Gives up every evaluation at the deadline.
    pub fn new(rules: &Rules, deadline: Option<Instant>) -> Result<Judge, String> {
        Judge::heeding(rules, deadline, Stop::never())
    }

    /// The same; gives up when it is told to stop, too.
    pub fn heeding(rules: &Rules, deadline: Option<Instant>, stop: Stop) -> Result<Judge, String> {
        let watch = Arc::new(Mutex::new(Watch { deadline, stop }));
        let asked = watch.clone();
        let stop = Stop::when(move || {
            let watch = lock(&asked);
            watch.stop.is_raised() || watch.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        });
        let limits = Limits { bytes: MAX_BYTES, stop, ..Limits::default() };
        let machine = match Reference::new(rules.program(), limits) {
            Ok(machine) => machine,
            Err(Setup::Unevaluable(_)) => return Err("the rules have no meaning; `senet check` says why".to_owned()),
            Err(Setup::Exceeded(exceeded)) => return Err(say(exceeded)),
        };
        if machine.roles().is_empty() {
            return Err("the rules name no role".to_owned());
        }
        Ok(Judge { machine, state: None, legal: None, watch })
    }

    /// Gives up every evaluation at this moment; never, if there is none.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        lock(&self.watch).deadline = deadline;
    }

    /// Gives up every evaluation when it is told to stop in this way, and no other.
    pub fn set_stop(&mut self, stop: Stop) {
        lock(&self.watch).stop = stop;
    }

    /// The roles, in the order of the rules.
    pub fn roles(&self) -> &[String] {
        self.machine.roles()
    }

    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<usize> {
        let name = term::canonical(name)?;
        self.roles().iter().position(|role| term::canonical(role).as_ref() == Some(&name))
    }

    /// The legal moves of a role as the rules write them, in an order that depends on the rules alone.
    pub fn legal(&mut self, role: usize) -> Result<Vec<String>, String> {
        self.find_legal()?;
        let moves = &self.legal.as_ref().expect("just found")[role];
        Ok(moves.iter().map(|&(_, chosen)| self.machine.move_name(chosen)).collect())
    }

    /// A move as the rules write it, if it is legal.
    pub fn spelled(&mut self, role: usize, chosen: &str) -> Result<Option<String>, String> {
        self.find_legal()?;
        Ok(self.find(role, chosen).map(|chosen| self.machine.move_name(chosen)))
    }

    /// Whether a joint move is legal.
    pub fn allows(&mut self, joint: &[String]) -> Result<bool, String> {
        self.find_legal()?;
        let legal = |(role, chosen): (usize, &String)| self.find(role, chosen).is_some();
        Ok(joint.len() == self.roles().len() && joint.iter().enumerate().all(legal))
    }

    /// Makes a joint move. The error names the first move that is not legal; the state is then as it was.
    pub fn make(&mut self, joint: &[String]) -> Result<(), String> {
        let roles = self.roles();
        if joint.len() != roles.len() {
            return Err(format!("{} moves for {} roles", joint.len(), roles.len()));
        }
        self.find_legal()?;
        let find = |(role, chosen): (usize, &String)| {
            let illegal = || format!("`{chosen}` is not legal for `{}`", self.roles()[role]);
            self.find(role, chosen).ok_or_else(illegal)
        };
        let moves: Vec<TermId> = joint.iter().enumerate().map(find).collect::<Result<_, _>>()?;
        let state = self.state()?;
        self.state = Some(self.machine.next(&state, &moves).map_err(say)?);
        self.legal = None;
        Ok(())
    }

    /// Whether the match is over.
    pub fn is_terminal(&mut self) -> Result<bool, String> {
        let state = self.state()?;
        self.machine.is_terminal(&state).map_err(say)
    }

    /// What each role gets here; `None` where the rules give no single value.
    pub fn goals(&mut self) -> Result<Vec<Option<i64>>, String> {
        let (n_roles, state) = (self.roles().len(), self.state()?);
        let one = |role| {
            let goals = self.machine.goals(&state, RoleId(role as u32)).map_err(say)?;
            Ok(if let [only] = goals[..] { Some(only) } else { None })
        };
        (0..n_roles).map(one).collect()
    }

    /// The fluents that hold, sorted.
    pub fn fluents(&mut self) -> Result<Vec<String>, String> {
        let state = self.state()?;
        Ok(self.machine.fluents(&state))
    }

    /// The engine and the state, to play on from here.
    pub(crate) fn parts(&mut self) -> Result<(&mut Reference, <Reference as Machine>::State), String> {
        let state = self.state()?;
        Ok((&mut self.machine, state))
    }

    fn state(&mut self) -> Result<<Reference as Machine>::State, String> {
        if self.state.is_none() {
            self.state = Some(self.machine.initial().map_err(say)?);
        }
        Ok(self.state.clone().expect("just found"))
    }

    fn find(&self, role: usize, chosen: &str) -> Option<TermId> {
        let form = term::canonical(chosen)?;
        let moves = &self.legal.as_ref()?[role];
        moves.iter().find(|(name, _)| *name == form).map(|&(_, chosen)| chosen)
    }

    fn find_legal(&mut self) -> Result<(), String> {
        if self.legal.is_some() {
            return Ok(());
        }
        let (mut all, state) = (Vec::new(), self.state()?);
        for role in 0..self.roles().len() {
            let mut moves = Vec::new();
            self.machine.legal(&state, RoleId(role as u32), &mut moves).map_err(say)?;
            let named = |chosen| (term::canonical(&self.machine.move_name(chosen)).unwrap_or_default(), chosen);
            all.push(moves.into_iter().map(named).collect());
        }
        self.legal = Some(all);
        Ok(())
    }
}

fn say(exceeded: machine::Exceeded) -> String {
    match exceeded.resource {
        Resource::Stopped => "there was no time for it".to_owned(),
        _ => exceeded.to_string(),
    }
}

/// A lock that a panic elsewhere does not take away.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: &str = "(role white) (role black) (init (control white)) (<= (legal ?r noop) (role ?r))
        (<= (legal white (Mark a)) (true (control white)))
        (<= (next done) (does white (mark a))) (<= (next (control white)) (not (does white (mark a))))
        (<= terminal (true done)) (<= (goal white 100) (true done)) (<= (goal black 0) (true done))";

    #[test]
    fn a_match_is_followed_by_text() {
        let rules = Rules::read("pass", PASS);
        let mut judge = Judge::new(&rules, None).expect("it has a meaning");
        assert_eq!(judge.role("BLACK"), Some(1));
        assert_eq!(judge.role("green"), None);
        assert_eq!(judge.legal(1).expect("small"), ["noop"]);
        let joint = |white: &str| vec![white.to_owned(), "NOOP".to_owned()];
        assert!(judge.make(&joint("(mark b)")).expect_err("illegal").contains("`(mark b)`"));
        assert!(judge.make(&joint("noop")[..1]).is_err());
        assert!(!judge.is_terminal().expect("small"));
        judge.make(&joint("( mark A )")).expect("legal");
        assert!(judge.is_terminal().expect("small"));
        assert_eq!(judge.goals().expect("small"), [Some(100), Some(0)]);
        assert_eq!(judge.fluents().expect("small"), ["done"]);
    }

    #[test]
    fn what_was_given_up_can_be_done_later() {
        // A long chain whose pairs are all derived in each state, a negation above them, and moves that need both.
        let chain: String = (0..150).map(|n| format!("(init (edge n{n} n{}))", n + 1)).collect();
        let text = format!(
            "(role a) (role b) {chain} (<= (reach ?x ?y) (true (edge ?x ?y)))
             (<= (reach ?x ?z) (true (edge ?x ?y)) (reach ?y ?z)) (<= (apart ?x) (true (edge ?x ?y)) (not (reach ?y n9)))
             (<= (legal ?r (cut ?x)) (role ?r) (apart ?x)) (<= (next (edge ?x ?y)) (true (edge ?x ?y)) (not (gone ?x)))
             (<= (gone ?y) (does ?r (cut ?x)) (reach ?x ?y)) (<= terminal (not (reach n0 n9)))"
        );
        let rules = Rules::read("chain", &text);
        let mut fresh = Judge::new(&rules, None).expect("it has a meaning");
        let mut judge = Judge::new(&rules, None).expect("it has a meaning");
        judge.set_deadline(Some(Instant::now()));
        assert!(judge.legal(0).expect_err("there is no time").contains("time"));
        judge.set_deadline(None);
        assert_eq!(judge.legal(0), fresh.legal(0));
        let joint: Vec<String> = (0..2).map(|_| "(cut n149)".to_owned()).collect();
        for judge in [&mut judge, &mut fresh] {
            judge.make(&joint).expect("it is legal");
        }
        assert_eq!(judge.fluents(), fresh.fluents());
        assert_eq!(judge.legal(1), fresh.legal(1));
    }

    #[test]
    fn rules_without_meaning_are_refused() {
        assert!(Judge::new(&Rules::read("none", ""), None).is_err());
        assert!(Judge::new(&Rules::read("loop", "(role a) (<= p (not p))"), None).is_err());
    }
}
