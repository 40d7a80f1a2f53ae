//! Which constants may be goal values: the only ones whose spelling has a meaning.
//!
//! A place is an argument of a relation or a function, or a variable of a rule. Two places have the same *sort* if a value
//! may get from one to the other or be compared with what is there: if they share a variable, or stand on the two sides of
//! `distinct`, or are a fluent of `true`, `init` and `next`, and so on. The integers at places of the sort of goal values
//! keep their spelling in whatever is done to the rules. The same integer at a place of another sort never meets them, so it
//! is a name like any other.
//!
//! Sorts follow neither the direction of a rule nor the values that a place really takes, so that more integers may be
//! kept than become goals: if a game counts points along the order of its rows, then the numbers of the rows are kept.

use gdl::keyword;
use gdl::program::{Atom, Formula, Program, Rule, RuleId, Term, VarId};
use gdl::symbol::{SymbolId, Symbols};
use rustc_hash::FxHashMap;

/// The sort of goal values in one program.
#[derive(Clone, Debug)]
pub(crate) struct GoalValues {
    /// The place of each rule's first variable; the others follow.
    first_variable: Vec<u32>,
    arguments: FxHashMap<Argument, u32>,
    /// For each place whether a goal value may stand there.
    holds: Vec<bool>,
}

/// An argument of a relation or a function, whose names may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Argument {
    of_relation: bool,
    name: SymbolId,
    n_arguments: u32,
    index: u32,
}

impl GoalValues {
    pub(crate) fn new(program: &Program) -> GoalValues {
        let mut sorts = Sorts { parents: Vec::new(), arguments: FxHashMap::default() };
        let mut first_variable = Vec::new();
        for rule in &program.rules {
            first_variable.push(sorts.parents.len() as u32);
            rule.variables.iter().for_each(|_| _ = sorts.place());
        }
        // Keywords that speak of the same things.
        let alike: [(&[SymbolId], u32, u32); 4] = [
            (&[keyword::INIT, keyword::NEXT, keyword::TRUE, keyword::BASE], 1, 0),
            (&[keyword::LEGAL, keyword::DOES, keyword::INPUT], 2, 1),
            (&[keyword::LEGAL, keyword::DOES, keyword::INPUT, keyword::GOAL, keyword::SEES], 2, 0),
            (&[keyword::ROLE], 1, 0),
        ];
        let mut firsts = Vec::new();
        for (names, n_arguments, index) in alike {
            let mut places = names.iter().map(|&name| Argument { of_relation: true, name, n_arguments, index });
            let first = sorts.argument(places.next().expect("not empty"));
            for other in places {
                let other = sorts.argument(other);
                sorts.join(first, other);
            }
            firsts.push(first);
        }
        sorts.join(firsts[2], firsts[3]);
        for (rule, &first_variable) in program.rules.iter().zip(&first_variable) {
            sorts.rule(rule, first_variable);
        }
        let goal = Argument { of_relation: true, name: keyword::GOAL, n_arguments: 2, index: 1 };
        let goal = sorts.argument(goal);
        let goal = sorts.find(goal);
        let holds = (0..sorts.parents.len() as u32).map(|place| sorts.find(place) == goal).collect();
        GoalValues { first_variable, arguments: sorts.arguments, holds }
    }

    /// Whether a goal value may be an argument of a relation.
    pub(crate) fn in_atom(&self, atom: &Atom, index: usize) -> bool {
        self.argument(true, atom.name, atom.args.len(), index)
    }

    /// Whether a goal value may be an argument of a function.
    pub(crate) fn in_function(&self, name: SymbolId, n_arguments: usize, index: usize) -> bool {
        self.argument(false, name, n_arguments, index)
    }

    /// Whether `distinct` may compare goal values here.
    pub(crate) fn in_distinct(&self, rule: RuleId, left: &Term, right: &Term) -> bool {
        [left, right].iter().any(|side| matches!(side, Term::Var(var) if self.in_variable(rule, *var)))
    }

    fn in_variable(&self, RuleId(rule): RuleId, VarId(var): VarId) -> bool {
        self.holds[(self.first_variable[rule as usize] + var) as usize]
    }

    fn argument(&self, of_relation: bool, name: SymbolId, n_arguments: usize, index: usize) -> bool {
        let argument = Argument { of_relation, name, n_arguments: n_arguments as u32, index: index as u32 };
        self.arguments.get(&argument).is_some_and(|&place| self.holds[place as usize])
    }
}

/// Whether a name is an integer, as goal values must be.
pub(crate) fn is_integer(symbols: &Symbols, name: SymbolId) -> bool {
    symbols.name(name).parse::<i64>().is_ok()
}

/// The sorts while they are being joined: a forest whose roots stand for them.
struct Sorts {
    parents: Vec<u32>,
    arguments: FxHashMap<Argument, u32>,
}

impl Sorts {
    fn place(&mut self) -> u32 {
        self.parents.push(self.parents.len() as u32);
        self.parents.len() as u32 - 1
    }

    fn argument(&mut self, argument: Argument) -> u32 {
        if let Some(&place) = self.arguments.get(&argument) {
            return place;
        }
        let place = self.place();
        self.arguments.insert(argument, place);
        place
    }

    fn find(&mut self, mut place: u32) -> u32 {
        while self.parents[place as usize] != place {
            let parent = self.parents[place as usize];
            self.parents[place as usize] = self.parents[parent as usize];
            place = parent;
        }
        place
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one as usize] = other;
    }

    fn rule(&mut self, rule: &Rule, first_variable: u32) {
        self.atom(&rule.head, first_variable);
        rule.body.iter().for_each(|formula| self.formula(formula, first_variable));
    }

    fn formula(&mut self, formula: &Formula, first_variable: u32) {
        match formula {
            Formula::Atom(atom) => self.atom(atom, first_variable),
            Formula::Distinct(left, right, _) => {
                for side in [left, right] {
                    self.inside(side, first_variable);
                }
                if let (Term::Var(VarId(left)), Term::Var(VarId(right))) = (left, right) {
                    self.join(first_variable + left, first_variable + right);
                }
            }
            Formula::Not(inner, _) => self.formula(inner, first_variable),
            Formula::Or(parts, _) | Formula::And(parts, _) => {
                parts.iter().for_each(|part| self.formula(part, first_variable));
            }
        }
    }

    fn atom(&mut self, atom: &Atom, first_variable: u32) {
        self.arguments_of(true, atom.name, &atom.args, first_variable);
    }

    fn arguments_of(&mut self, of_relation: bool, name: SymbolId, args: &[Term], first_variable: u32) {
        for (index, arg) in args.iter().enumerate() {
            let argument = Argument { of_relation, name, n_arguments: args.len() as u32, index: index as u32 };
            let place = self.argument(argument);
            if let Term::Var(VarId(var)) = arg {
                self.join(place, first_variable + var);
            }
            self.inside(arg, first_variable);
        }
    }

    fn inside(&mut self, term: &Term, first_variable: u32) {
        if let Term::Func(name, args) = term {
            self.arguments_of(false, *name, args, first_variable);
        }
    }
}
