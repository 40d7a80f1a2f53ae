//! Programs under other names.

use gdl::program::{Atom, Formula, Program, Rule, RuleId, Term, Variable};
use gdl::symbol::{SymbolId, Symbols};

use crate::goal_values::{GoalValues, is_integer};

/// The program with each name replaced, in the order of the text; `symbols` is the table of the new names. `name` gets a
/// name and whether it is an integer where a goal value may stand. Keywords are names, too.
pub(crate) fn renamed(program: &Program, mut symbols: Symbols, name: impl Fn(SymbolId, bool) -> SymbolId) -> Program {
    let values = GoalValues::new(program);
    let mut rules = Vec::with_capacity(program.rules.len());
    for (id, rule) in (0..).map(RuleId).zip(&program.rules) {
        let renaming = Renaming { program, values: &values, rule: id, name: &name };
        let variable = |variable: &Variable| Variable {
            name: symbols.intern(program.symbols.name(variable.name)),
            span: variable.span,
        };
        rules.push(Rule {
            variables: rule.variables.iter().map(variable).collect(),
            head: renaming.atom(&rule.head),
            body: rule.body.iter().map(|formula| renaming.formula(formula)).collect(),
            span: rule.span,
        });
    }
    Program { symbols, rules }
}

struct Renaming<'a, N> {
    program: &'a Program,
    values: &'a GoalValues,
    rule: RuleId,
    name: &'a N,
}

impl<N: Fn(SymbolId, bool) -> SymbolId> Renaming<'_, N> {
    fn formula(&self, formula: &Formula) -> Formula {
        let all = |parts: &[Formula]| parts.iter().map(|part| self.formula(part)).collect();
        match formula {
            Formula::Atom(atom) => Formula::Atom(self.atom(atom)),
            Formula::Not(inner, span) => Formula::Not(Box::new(self.formula(inner)), *span),
            Formula::Or(parts, span) => Formula::Or(all(parts), *span),
            Formula::And(parts, span) => Formula::And(all(parts), *span),
            Formula::Distinct(left, right, span) => {
                let of_values = self.values.in_distinct(self.rule, left, right);
                Formula::Distinct(self.term(left, of_values), self.term(right, of_values), *span)
            }
        }
    }

    fn atom(&self, atom: &Atom) -> Atom {
        let arg = |(index, arg)| self.term(arg, self.values.in_atom(atom, index));
        Atom {
            name: (self.name)(atom.name, false),
            args: atom.args.iter().enumerate().map(arg).collect(),
            span: atom.span,
        }
    }

    fn term(&self, term: &Term, may_be_value: bool) -> Term {
        match term {
            Term::Var(var) => Term::Var(*var),
            Term::Const(name) => {
                Term::Const((self.name)(*name, may_be_value && is_integer(&self.program.symbols, *name)))
            }
            Term::Func(name, args) => {
                let arg = |(index, arg)| self.term(arg, self.values.in_function(*name, args.len(), index));
                Term::Func((self.name)(*name, false), args.iter().enumerate().map(arg).collect())
            }
        }
    }
}
