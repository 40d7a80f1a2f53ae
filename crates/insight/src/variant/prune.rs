//! Leaving parts of a game out.

use gdl::program::{Atom, Formula, Program, Relation, Rule, RuleId, Term};
use gdl::symbol::{SymbolId, Symbols};
use gdl::{Stop, keyword};
use rustc_hash::{FxHashMap, FxHashSet};

/// What says how a game is played, once it has begun.
const PLAYED: [SymbolId; 6] =
    [keyword::ROLE, keyword::NEXT, keyword::LEGAL, keyword::GOAL, keyword::TERMINAL, keyword::SEES];

/// The rules that a game is played by, in order: those of the keywords and of what they depend on, without `init`, `base` and
/// `input`, and without those that the initial state alone needs.
pub(crate) fn played(program: &Program) -> Vec<RuleId> {
    reached(program, |name| PLAYED.contains(&name))
}

/// The same, with those of the initial state.
pub(crate) fn played_with_initial(program: &Program) -> Vec<RuleId> {
    reached(program, |name| PLAYED.contains(&name) || name == keyword::INIT)
}

/// The rules that a game needs: those of the keywords and of what they depend on.
pub(crate) fn needed(program: &Program) -> Vec<RuleId> {
    reached(program, Symbols::is_keyword)
}

/// The rules of the relations with these names and of all that they depend on.
fn reached(program: &Program, is_root: impl Fn(SymbolId) -> bool) -> Vec<RuleId> {
    let mut by_head: FxHashMap<Relation, Vec<usize>> = FxHashMap::default();
    for (number, rule) in program.rules.iter().enumerate() {
        by_head.entry(rule.head.relation()).or_default().push(number);
    }
    let mut is_reached = vec![false; program.rules.len()];
    let mut seen: FxHashSet<Relation> = by_head.keys().copied().filter(|head| is_root(head.name)).collect();
    let mut open: Vec<Relation> = seen.iter().copied().collect();
    while let Some(relation) = open.pop() {
        for &rule in by_head.get(&relation).map_or(&[][..], Vec::as_slice) {
            is_reached[rule] = true;
            program.rules[rule].for_each_body_atom(|atom, _| {
                if seen.insert(atom.relation()) {
                    open.push(atom.relation());
                }
            });
        }
    }
    (0..).map(RuleId).zip(is_reached).filter_map(|(rule, is_reached)| is_reached.then_some(rule)).collect()
}

/// The functors of the fluents, in the order in which they come in the rules.
pub(crate) fn fluents(program: &Program) -> Vec<Relation> {
    let (mut found, mut known) = (Vec::new(), FxHashSet::default());
    for rule in &program.rules {
        let mut add = |atom: &Atom| {
            let functor = fluent(atom).and_then(Term::functor);
            found.extend(functor.filter(|functor| known.insert(*functor)));
        };
        add(&rule.head);
        rule.for_each_body_atom(|atom, _| add(atom));
    }
    found
}

fn fluent(atom: &Atom) -> Option<&Term> {
    let speaks = matches!(atom.name, keyword::TRUE | keyword::INIT | keyword::NEXT | keyword::BASE);
    if speaks { atom.args.first() } else { None }
}

/// What becomes of a rule that asks for a fluent which is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The rule goes.
    Rule,
    /// The literal goes.
    Literal,
}

/// The game without one kind of fluent. With it go the rules (or the literals) that use it, and the relations that are left
/// without a rule. `None` if nothing playable is left, or less than half of the rules; or if stopped.
pub(crate) fn without(program: &Program, functor: Relation, removal: Removal, stop: &Stop) -> Option<Program> {
    let mut gone = Gone { functor, relations: FxHashSet::default() };
    let mut rules = program.rules.clone();
    loop {
        if stop.is_raised() {
            return None;
        }
        let n_before = gone.relations.len();
        rules = rules.iter().filter_map(|rule| gone.left_of_rule(rule, removal)).collect();
        let defined: FxHashSet<Relation> = rules.iter().map(|rule| rule.head.relation()).collect();
        let heads = program.rules.iter().map(|rule| rule.head.relation());
        gone.relations = heads.filter(|head| !defined.contains(head)).collect();
        if gone.relations.len() == n_before {
            break;
        }
    }
    let has = |name| rules.iter().any(|rule| rule.head.name == name);
    let is_game = [keyword::ROLE, keyword::LEGAL, keyword::NEXT, keyword::GOAL, keyword::TERMINAL].into_iter().all(has);
    let reduced = Program { symbols: program.symbols.clone(), rules };
    let n_conditional = |program: &Program| played(program).iter().filter(|id| has_body(program, **id)).count();
    (is_game && 2 * n_conditional(&reduced) >= n_conditional(program)).then_some(reduced)
}

fn has_body(program: &Program, rule: RuleId) -> bool {
    !program.rules[rule.0 as usize].body.is_empty()
}

/// What is left out.
struct Gone {
    functor: Relation,
    relations: FxHashSet<Relation>,
}

/// What is left of a formula.
enum Rest {
    /// It asked for nothing that is gone.
    Whole(Formula),
    /// Part of it is gone.
    Part(Formula),
    /// It asked for what is gone: for the fluent itself (`true`), or a relation without rules that can't hold.
    Nothing,
}

impl Gone {
    fn left_of_rule(&self, rule: &Rule, removal: Removal) -> Option<Rule> {
        if fluent(&rule.head).and_then(Term::functor) == Some(self.functor) {
            return None;
        }
        let mut body = Vec::new();
        let mut is_changed = false;
        for formula in &rule.body {
            match self.left_of_formula(formula, removal) {
                Rest::Whole(formula) => body.push(formula),
                Rest::Part(formula) => {
                    is_changed = true;
                    body.push(formula);
                }
                // Without the relation its negation always holds.
                Rest::Nothing if removal == Removal::Rule && !self.is_negated_relation(formula) => return None,
                Rest::Nothing => is_changed = true,
            }
        }
        // A rule that asked for nothing else would now always hold.
        if is_changed && body.is_empty() {
            return None;
        }
        Some(Rule { body, ..rule.clone() })
    }

    fn is_negated_relation(&self, formula: &Formula) -> bool {
        let Formula::Not(inner, _) = formula else { return false };
        matches!(&**inner, Formula::Atom(atom) if self.relations.contains(&atom.relation()))
    }

    fn left_of_formula(&self, formula: &Formula, removal: Removal) -> Rest {
        match formula {
            Formula::Atom(atom) => {
                let asks = fluent(atom).and_then(Term::functor) == Some(self.functor);
                if asks || self.relations.contains(&atom.relation()) {
                    Rest::Nothing
                } else {
                    Rest::Whole(formula.clone())
                }
            }
            Formula::Distinct(..) => Rest::Whole(formula.clone()),
            Formula::Not(inner, span) => match self.left_of_formula(inner, removal) {
                Rest::Whole(_) => Rest::Whole(formula.clone()),
                Rest::Part(inner) => Rest::Part(Formula::Not(Box::new(inner), *span)),
                Rest::Nothing => Rest::Nothing,
            },
            Formula::Or(parts, span) | Formula::And(parts, span) => {
                let is_or = matches!(formula, Formula::Or(..));
                let mut kept = Vec::new();
                let mut is_changed = false;
                for part in parts {
                    match self.left_of_formula(part, removal) {
                        Rest::Whole(part) => kept.push(part),
                        Rest::Part(part) => {
                            is_changed = true;
                            kept.push(part);
                        }
                        Rest::Nothing if is_or || removal == Removal::Literal => is_changed = true,
                        Rest::Nothing => return Rest::Nothing,
                    }
                }
                match (is_changed, kept.len()) {
                    (false, _) => Rest::Whole(formula.clone()),
                    (true, 0) => Rest::Nothing,
                    (true, 1) => Rest::Part(kept.remove(0)),
                    (true, _) if is_or => Rest::Part(Formula::Or(kept, *span)),
                    (true, _) => Rest::Part(Formula::And(kept, *span)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: &str = "(role r) (init (step 1)) (init (on a)) (next-step 1 2) (next-step 2 3) (start a)
        (<= (init (on ?x)) (start ?x))
        (<= late (true (step 3)))
        (<= (legal r (push ?x)) (true (on ?x)) (not late))
        (<= (legal r wait) (true (on a)))
        (<= (next (on b)) (does r wait))
        (<= (next (step ?y)) (true (step ?x)) (next-step ?x ?y))
        (<= (next (on ?x)) (true (on ?x)) (or (does r wait) (and (true (step 2)) (does r (push ?x)))))
        (<= terminal late)
        (<= terminal (not (true (on a))))
        (<= (goal r 100) (true (on a)) (true (step 2)))
        (<= (goal r 0) (not (true (on a))))";

    fn texts(program: &Program, rules: impl IntoIterator<Item = RuleId>) -> Vec<String> {
        let head = |rule: &Rule| {
            let name = program.symbols.name(rule.head.name);
            let functor = rule.head.args.first().and_then(Term::functor);
            let functor = functor.map_or("", |functor| program.symbols.name(functor.name));
            format!("{name} {functor} {}", rule.body.len())
        };
        rules.into_iter().map(|id| head(&program.rules[id.0 as usize])).collect()
    }

    #[test]
    fn what_the_initial_state_alone_needs_is_not_played_by() {
        let program = gdl::read("test", GAME.as_bytes()).program;
        let played = texts(&program, played(&program));
        assert!(played.iter().all(|rule| !rule.starts_with("init") && !rule.starts_with("start")), "{played:?}");
        assert!(played.contains(&"next-step 1 0".to_owned()), "{played:?}");
        assert!(texts(&program, played_with_initial(&program)).contains(&"start a 0".to_owned()));
    }

    #[test]
    fn a_fluent_goes_with_the_rules_or_the_literals_that_use_it() {
        let program = gdl::read("test", GAME.as_bytes()).program;
        let step = Relation { name: program.symbols.find("step").expect("a name"), arity: 1 };
        let rest = |removal| {
            let rest = without(&program, step, removal, &Stop::never()).expect("enough is left");
            let played = played(&rest);
            texts(&rest, played)
        };
        let by_rule = rest(Removal::Rule);
        let both = ["role r 0", "legal r 1", "legal r 1", "next on 1", "next on 2", "terminal  1", "goal r 1"];
        assert_eq!(by_rule, both);
        let by_literal = rest(Removal::Literal);
        assert_eq!(by_literal, [&both[..], &["goal r 1"]].concat());
        let on = Relation { name: program.symbols.find("on").expect("a name"), arity: 1 };
        assert!(without(&program, on, Removal::Rule, &Stop::never()).is_none(), "no goal is left");
    }
}
