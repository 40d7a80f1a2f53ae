//! What may ever hold in a game, as a program of its own: the rules with all negated literals that depend on the state left
//! out, every fluent that may come next taken as true, and every move that may be legal taken as done.
//!
//! Such a program derives relations as a whole. Some are too large for that although few of their facts are ever asked for:
//! counting stones by a walk over the board gives a sum for every pair of numbers that it could begin with. For those
//! there is a second form, by magic sets (Beeri and Ramakrishnan 1991, "On the power of magic"): a relation is derived
//! for each choice of known arguments apart, and only for values that some rule asks for. The program has no negation
//! but of what does not depend on the state, so asking never gets in its own way.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use crate::normalize::{Literal, Normal, NormalRule, made_up};
use crate::program::{Atom, Formula, Program, Relation, Rule, Term, VarId, Variable};
use crate::source::Span;
use crate::symbol::{SymbolId, Symbols, keyword};

pub(crate) type Relations = HashSet<Relation, FxBuildHasher>;

const TRUE: Relation = Relation { name: keyword::TRUE, arity: 1 };
const DOES: Relation = Relation { name: keyword::DOES, arity: 2 };

/// A program that derives what may ever hold.
pub(crate) struct Approximation {
    pub(crate) program: Program,
    /// The fluents that may hold.
    pub(crate) holds: Relation,
    /// The moves that may be made.
    pub(crate) may: Relation,
    /// For each rule of a dynamic relation, a relation over the head's arguments and the other variables of its
    /// dynamic literals, with those variables. Others have an unused entry.
    pub(crate) instances: Vec<(Relation, Vec<VarId>)>,
    /// The relations that must be derived as a whole.
    pub(crate) whole: Vec<Relation>,
}

/// The approximation of a program. Relations of `on_demand` are derived as far as they are asked for: those that the rules
/// have themselves must not be among them, but [`TRUE`], `legal` and the like.
/// `None` if there are so many choices of known arguments that it has more than `max_literals`.
pub(crate) fn approximate(
    normal: &Normal,
    dynamic: &Relations,
    on_demand: &Relations,
    max_literals: usize,
) -> Option<Approximation> {
    let mut symbols = normal.symbols.clone();
    // No name of a rule text holds a space.
    let (holds, may) = (symbols.intern("may hold"), symbols.intern("may do"));
    let mut writer = Writer {
        given: normal.rules.iter().map(|rule| rule.head.relation()).collect(),
        dynamic,
        on_demand,
        holds,
        may,
        symbols,
        rules: Vec::new(),
        whole: BTreeSet::new(),
        n_literals: 0,
        forms: BTreeSet::new(),
        waiting: Vec::new(),
    };
    let mut rules_of: BTreeMap<Relation, Vec<usize>> = BTreeMap::new();
    let mut instances = Vec::new();
    for (index, rule) in normal.rules.iter().enumerate() {
        let (instance, open) = writer.instance(index, rule);
        instances.push((instance, open));
        let relation = rule.head.relation();
        if on_demand.contains(&relation) {
            rules_of.entry(relation).or_default().push(index);
        } else {
            let body = writer.body(rule, None, BTreeSet::new());
            writer.add_instance(rule, &instances[index], &body);
            writer.add(rule.head.clone(), body, rule.n_variables);
        }
        if writer.n_literals > max_literals {
            return None;
        }
    }
    while let Some((relation, known)) = writer.waiting.pop() {
        let all_known = known.iter().all(|known| *known);
        if !all_known {
            // Whatever is found is grounded, too.
            let args: Vec<Term> = (0..relation.arity).map(|index| Term::Var(VarId(index))).collect();
            let found = writer.form(relation, &known, args.clone());
            writer.ask(relation, &vec![true; known.len()], &args, vec![Formula::Atom(found)], relation.arity);
        }
        for &index in rules_of.get(&relation).map_or(&[][..], Vec::as_slice) {
            let rule = &normal.rules[index];
            let asked = writer.question(relation, &known, &rule.head.args);
            let mut bound = BTreeSet::new();
            asked.args.iter().for_each(|arg| arg.for_each_var(&mut |var| _ = bound.insert(var)));
            let body = writer.body(rule, Some(asked), bound);
            if all_known {
                writer.add_instance(rule, &instances[index], &body);
            }
            let head = writer.form(relation, &known, rule.head.args.clone());
            writer.add(head, body, rule.n_variables);
            if writer.n_literals > max_literals {
                return None;
            }
        }
    }
    let var = |index| Term::Var(VarId(index));
    for source in [keyword::INIT, keyword::NEXT] {
        let body = vec![Formula::Atom(made_up(source, vec![var(0)]))];
        writer.add(made_up(holds, vec![var(0)]), body, 1);
    }
    let body = vec![
        Formula::Atom(made_up(keyword::ROLE, vec![var(0)])),
        Formula::Atom(made_up(keyword::LEGAL, vec![var(0), var(1)])),
    ];
    writer.add(made_up(may, vec![var(0), var(1)]), body, 2);
    let (holds, may) = (Relation { name: holds, arity: 1 }, Relation { name: may, arity: 2 });
    let program = Program { symbols: writer.symbols, rules: writer.rules };
    Some(Approximation { program, holds, may, instances, whole: writer.whole.into_iter().collect() })
}

struct Writer<'a> {
    /// The relations of the rules; those that depend on the state; those that are derived on demand.
    given: Relations,
    dynamic: &'a Relations,
    on_demand: &'a Relations,
    holds: SymbolId,
    may: SymbolId,
    symbols: Symbols,
    rules: Vec<Rule>,
    whole: BTreeSet<Relation>,
    /// The literals of all rules.
    n_literals: usize,
    /// The relations that are derived on demand, with the arguments that are known then; and those yet to be written.
    forms: BTreeSet<(Relation, Vec<bool>)>,
    waiting: Vec<(Relation, Vec<bool>)>,
}

impl Writer<'_> {
    /// Keeps a rule of a relation that is derived as a whole.
    fn add(&mut self, head: Atom, body: Vec<Formula>, n_variables: u32) {
        let relation = head.relation();
        // What does not depend on the state is found on demand if it is large.
        if self.dynamic.contains(&relation) || !self.given.contains(&relation) {
            self.whole.insert(relation);
        }
        self.push(made_up_rule(head, body, n_variables));
    }

    fn push(&mut self, rule: Rule) {
        self.n_literals += 1 + rule.body.len();
        self.rules.push(rule);
    }

    /// The relation of a rule's instances, and the variables that it has besides those of the head.
    fn instance(&mut self, index: usize, rule: &NormalRule) -> (Relation, Vec<VarId>) {
        let mut open = Vec::new();
        let name = self.symbols.intern(&format!("instance {index}"));
        if self.dynamic.contains(&rule.head.relation()) {
            let mut seen: HashSet<VarId, FxBuildHasher> = HashSet::default();
            rule.head.args.iter().for_each(|arg| arg.for_each_var(&mut |var| _ = seen.insert(var)));
            for literal in &rule.body {
                let (Literal::Positive(atom) | Literal::Negative(atom)) = literal else { continue };
                if self.dynamic.contains(&atom.relation()) {
                    let mut visit = |var| {
                        if seen.insert(var) {
                            open.push(var);
                        }
                    };
                    atom.args.iter().for_each(|arg| arg.for_each_var(&mut visit));
                }
            }
        }
        (Relation { name, arity: (rule.head.args.len() + open.len()) as u32 }, open)
    }

    fn add_instance(&mut self, rule: &NormalRule, (relation, open): &(Relation, Vec<VarId>), body: &[Formula]) {
        if self.dynamic.contains(&rule.head.relation()) {
            let args = rule.head.args.iter().cloned().chain(open.iter().map(|&var| Term::Var(var))).collect();
            self.push(made_up_rule(made_up(relation.name, args), body.to_vec(), rule.n_variables));
        }
    }

    /// The body of a rule that begins with `asked`, given the variables that this binds. What relations on demand are to
    /// be derived for it is asked for on the way.
    fn body(&mut self, rule: &NormalRule, asked: Option<Atom>, mut bound: BTreeSet<VarId>) -> Vec<Formula> {
        let mut body: Vec<Formula> = asked.into_iter().map(Formula::Atom).collect();
        let mut left: Vec<&Literal> = rule.body.iter().collect();
        let demands = |literal: &&Literal| matches!(literal, Literal::Positive(atom) | Literal::Negative(atom) if self.on_demand.contains(&atom.relation()));
        let in_order = !left.iter().any(demands) && body.is_empty();
        while !left.is_empty() {
            let next = if in_order { 0 } else { self.next_literal(&left, &bound) };
            let literal = left.remove(next);
            match literal {
                Literal::Positive(atom) if self.on_demand.contains(&atom.relation()) => {
                    let known: Vec<bool> = atom.args.iter().map(|arg| is_bound(arg, &bound)).collect();
                    self.ask(atom.relation(), &known, &atom.args, body.clone(), rule.n_variables);
                    body.push(Formula::Atom(self.form(atom.relation(), &known, atom.args.clone())));
                }
                Literal::Positive(atom) => {
                    let name = match atom.relation() {
                        TRUE => self.holds,
                        DOES => self.may,
                        relation => relation.name,
                    };
                    body.push(Formula::Atom(Atom { name, ..atom.clone() }));
                }
                Literal::Negative(atom) if self.on_demand.contains(&atom.relation()) => {
                    self.ask(atom.relation(), &vec![true; atom.args.len()], &atom.args, body.clone(), rule.n_variables);
                }
                Literal::Negative(atom) if self.dynamic.contains(&atom.relation()) => {}
                Literal::Negative(atom) => {
                    body.push(Formula::Not(Box::new(Formula::Atom(atom.clone())), Span::default()));
                }
                Literal::Distinct(left, right) => {
                    body.push(Formula::Distinct(left.clone(), right.clone(), Span::default()));
                }
            }
            if let Literal::Positive(_) = literal {
                bound.extend(literal.variables());
            }
        }
        body
    }

    /// The literal to go on with: tests as soon as they can be made, then what shares a variable with what came before,
    /// whole relations first, so that those on demand are asked for little. Where nothing does, the author's order is
    /// the best guess.
    fn next_literal(&self, left: &[&Literal], bound: &BTreeSet<VarId>) -> usize {
        let rank = |literal: &Literal| match literal {
            Literal::Positive(atom) => {
                let n_open = atom.args.iter().filter(|arg| !touches(arg, bound)).count();
                match (n_open < atom.args.len() || atom.args.is_empty(), self.on_demand.contains(&atom.relation())) {
                    (true, false) => (1, 0),
                    (true, true) => (2, n_open),
                    (false, _) => (3, 0),
                }
            }
            // A relation on demand is asked for last under `not`, when all is known that could spare the question.
            Literal::Negative(atom) if self.on_demand.contains(&atom.relation()) => (4, 0),
            test => (if test.variables().is_subset(bound) { 0 } else { 5 }, 0),
        };
        (0..left.len()).min_by_key(|&index| rank(left[index])).expect("there is a literal")
    }

    /// The relation for one choice of known arguments.
    fn form(&mut self, relation: Relation, known: &[bool], args: Vec<Term>) -> Atom {
        made_up(self.name("found", relation, known), args)
    }

    /// The question about a relation for known arguments.
    fn question(&mut self, relation: Relation, known: &[bool], args: &[Term]) -> Atom {
        let args = args.iter().zip(known).filter(|(_, known)| **known).map(|(arg, _)| arg.clone()).collect();
        made_up(self.name("asked", relation, known), args)
    }

    fn name(&mut self, what: &str, relation: Relation, known: &[bool]) -> SymbolId {
        let known: String = known.iter().map(|&known| if known { '+' } else { '-' }).collect();
        let name = format!("{what} {} {known}", relation.name.0);
        self.symbols.intern(&name)
    }

    /// Asks for facts of a relation wherever the body holds.
    fn ask(&mut self, relation: Relation, known: &[bool], args: &[Term], body: Vec<Formula>, n_variables: u32) {
        let question = self.question(relation, known, args);
        self.whole.insert(question.relation());
        // A relation that asks itself the same question again learns nothing.
        if !body.contains(&Formula::Atom(question.clone())) {
            self.push(made_up_rule(question, body, n_variables));
        }
        let form = (relation, known.to_vec());
        if self.forms.insert(form.clone()) {
            self.waiting.push(form);
        }
    }
}

fn is_bound(term: &Term, bound: &BTreeSet<VarId>) -> bool {
    let mut all = true;
    term.for_each_var(&mut |var| all &= bound.contains(&var));
    all
}

fn touches(term: &Term, bound: &BTreeSet<VarId>) -> bool {
    let mut any = false;
    term.for_each_var(&mut |var| any |= bound.contains(&var));
    any
}

fn made_up_rule(head: Atom, body: Vec<Formula>, n_variables: u32) -> Rule {
    let variable = Variable { name: keyword::TRUE, span: Span::default() };
    Rule { head, body, variables: vec![variable; n_variables as usize], span: Span::default() }
}
