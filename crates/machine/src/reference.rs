//! The reference engine: answers questions about a game by evaluating its rules as they stand.

use std::sync::Arc;

use gdl::datalog::{Exceeded, Limits, Unevaluable};
use gdl::{Database, Program, Relation, TermId, keyword};

use crate::{Machine, RoleId};

const ROLE: Relation = Relation { name: keyword::ROLE, arity: 1 };
const INIT: Relation = Relation { name: keyword::INIT, arity: 1 };
const NEXT: Relation = Relation { name: keyword::NEXT, arity: 1 };
const LEGAL: Relation = Relation { name: keyword::LEGAL, arity: 2 };
const GOAL: Relation = Relation { name: keyword::GOAL, arity: 2 };
const TERMINAL: Relation = Relation { name: keyword::TERMINAL, arity: 0 };

/// Why a game can't be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setup {
    /// The rules have no meaning: see [`Unevaluable`].
    Unevaluable(Unevaluable),
    /// Finding the roles ran over a budget.
    Exceeded(Exceeded),
}

/// A game played by evaluating its rules.
///
/// States and moves are made of terms of this machine: hand them only to the machine that made them, or to a clone
/// made afterwards.
#[derive(Clone)]
pub struct Reference {
    database: Database,
    roles: Vec<TermId>,
    role_names: Vec<String>,
    /// The state that the database holds, and no moves.
    loaded: Option<Box<[TermId]>>,
}

impl Reference {
    /// A machine for these rules. Every evaluation, that of the roles included, looks at the limits' stop.
    pub fn new(program: Arc<Program>, limits: Limits) -> Result<Reference, Setup> {
        let mut database = Database::new(program, limits).map_err(Setup::Unevaluable)?;
        let mut roles = Vec::new();
        database.for_each(ROLE, |row| roles.push(row[0])).map_err(Setup::Exceeded)?;
        let name = |&role| database.terms.display(&database.program().symbols, role).to_string();
        let role_names = roles.iter().map(name).collect();
        Ok(Reference { database, roles, role_names, loaded: None })
    }

    /// The rules.
    pub fn program(&self) -> &Program {
        self.database.program()
    }

    /// Every goal value of a role as the rules write it, whatever it is.
    pub fn goal_names(&mut self, state: &<Self as Machine>::State, role: RoleId) -> Result<Vec<String>, Exceeded> {
        self.load(state);
        let (mut terms, wanted) = (Vec::new(), self.roles[role.0 as usize]);
        self.database.for_each(GOAL, |row| {
            if row[0] == wanted {
                terms.push(row[1]);
            }
        })?;
        Ok(terms.into_iter().map(|term| self.name(term)).collect())
    }

    fn name(&self, term: TermId) -> String {
        self.database.terms.display(&self.database.program().symbols, term).to_string()
    }

    fn load(&mut self, state: &[TermId]) {
        if self.loaded.as_deref() != Some(state) {
            self.database.set_state(state);
            self.loaded = Some(state.into());
        }
    }

    fn collect_state(&mut self, relation: Relation) -> Result<Box<[TermId]>, Exceeded> {
        let mut fluents = Vec::new();
        self.database.for_each(relation, |row| fluents.push(row[0]))?;
        fluents.sort_unstable();
        Ok(fluents.into())
    }
}

impl Machine for Reference {
    type State = Box<[TermId]>;
    type Move = TermId;

    fn roles(&self) -> &[String] {
        &self.role_names
    }

    fn initial(&mut self) -> Result<Self::State, Exceeded> {
        self.load(&[]);
        self.collect_state(INIT)
    }

    fn legal(&mut self, state: &Self::State, role: RoleId, moves: &mut Vec<TermId>) -> Result<(), Exceeded> {
        self.load(state);
        let wanted = self.roles[role.0 as usize];
        self.database.for_each(LEGAL, |row| {
            if row[0] == wanted {
                moves.push(row[1]);
            }
        })
    }

    fn next(&mut self, state: &Self::State, joint: &[TermId]) -> Result<Self::State, Exceeded> {
        self.load(state);
        let moves: Vec<_> = self.roles.iter().copied().zip(joint.iter().copied()).collect();
        self.database.set_moves(&moves);
        let next = self.collect_state(NEXT);
        // Nothing that is asked of a state may meet the moves that were made in it.
        self.database.set_moves(&[]);
        next
    }

    fn is_terminal(&mut self, state: &Self::State) -> Result<bool, Exceeded> {
        self.load(state);
        self.database.holds_any(TERMINAL)
    }

    fn goals(&mut self, state: &Self::State, role: RoleId) -> Result<Vec<i64>, Exceeded> {
        let names = self.goal_names(state, role)?;
        let mut goals: Vec<i64> = names.iter().filter_map(|name| name.parse().ok()).collect();
        goals.sort_unstable();
        goals.dedup();
        Ok(goals)
    }

    fn fluents(&self, state: &Self::State) -> Vec<String> {
        let mut names: Vec<String> = state.iter().map(|&fluent| self.name(fluent)).collect();
        names.sort_unstable();
        names
    }

    fn move_name(&self, chosen: TermId) -> String {
        self.name(chosen)
    }
}
