//! A backward-chaining prover that shares nothing with the engines: it proves literals from left to right as they are
//! written, by unification, and remembers what each question has been answered. Questions that ask themselves are
//! asked again until nothing new comes of it.

use std::collections::{BTreeMap, BTreeSet};

use gdl::Program;
use gdl::program::{Formula, Rule, Term, VarId};
use gdl::symbol::SymbolId;

/// A ground term, or one with numbered variables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tree {
    Var(u32),
    Node(SymbolId, Vec<Tree>),
}

type Binding = BTreeMap<u32, Tree>;
type Answers = BTreeMap<Tree, BTreeSet<Tree>>;

pub(crate) struct Prover<'a> {
    program: &'a Program,
    /// What is given besides the rules: `true` and `does`.
    given: Vec<Tree>,
    /// Questions whose answers are known for good.
    settled: Answers,
}

impl<'a> Prover<'a> {
    pub(crate) fn new(program: &'a Program, given: Vec<Tree>) -> Prover<'a> {
        Prover { program, given, settled: Answers::new() }
    }

    /// All instances of a question that hold.
    pub(crate) fn ask(&mut self, question: &Tree) -> BTreeSet<Tree> {
        let question = canonical(question);
        if let Some(answers) = self.settled.get(&question) {
            return answers.clone();
        }
        let mut open = Answers::from([(question.clone(), BTreeSet::new())]);
        loop {
            let before = open.clone();
            for asked in before.keys() {
                let answers = self.answer(asked, &mut open);
                open.get_mut(asked).expect("it is asked").extend(answers);
            }
            if open == before {
                break;
            }
        }
        self.settled.extend(open);
        self.settled[&question].clone()
    }

    fn answer(&mut self, question: &Tree, open: &mut Answers) -> Vec<Tree> {
        let mut found = Vec::new();
        for fact in &self.given {
            found.extend(unify(question, fact, &Binding::new()).map(|binding| resolve(question, &binding)));
        }
        let program = self.program;
        for rule in &program.rules {
            let first = 1_000_000;
            let head = tree(&Term::Func(rule.head.name, rule.head.args.clone().into()), first);
            let Some(binding) = unify(question, &head, &Binding::new()) else { continue };
            let mut body: Vec<(Formula, u32)> = ordered(rule).into_iter().map(|formula| (formula, first)).collect();
            body.reverse();
            self.prove(body, binding, open, &mut |binding| found.push(resolve(question, binding)));
        }
        found
    }

    /// Proves the goals, the last one first.
    fn prove(
        &mut self,
        mut goals: Vec<(Formula, u32)>,
        binding: Binding,
        open: &mut Answers,
        found: &mut dyn FnMut(&Binding),
    ) {
        let Some((goal, first)) = goals.pop() else { return found(&binding) };
        match goal {
            Formula::Atom(atom) => {
                let question = resolve(&tree(&Term::Func(atom.name, atom.args.clone().into()), first), &binding);
                let key = canonical(&question);
                let answers = match self.settled.get(&key) {
                    Some(answers) => answers.clone(),
                    None => open.entry(key).or_default().clone(),
                };
                for answer in answers {
                    if let Some(extended) = unify(&question, &answer, &binding) {
                        self.prove(goals.clone(), extended, open, found);
                    }
                }
            }
            Formula::Distinct(left, right, _) => {
                if resolve(&tree(&left, first), &binding) != resolve(&tree(&right, first), &binding) {
                    self.prove(goals, binding, open, found);
                }
            }
            Formula::Not(inner, _) => {
                let Formula::Atom(atom) = *inner else { unimplemented!("the sheets deny atoms only") };
                let question = resolve(&tree(&Term::Func(atom.name, atom.args.clone().into()), first), &binding);
                // The rules are stratified, so what is denied does not depend on what is being proved.
                if self.ask(&question).is_empty() {
                    self.prove(goals, binding, open, found);
                }
            }
            Formula::And(parts, _) => {
                goals.extend(parts.into_iter().rev().map(|part| (part, first)));
                self.prove(goals, binding, open, found);
            }
            Formula::Or(parts, _) => {
                for part in parts {
                    let goals = goals.iter().cloned().chain([(part, first)]).collect();
                    self.prove(goals, binding.clone(), open, found);
                }
            }
        }
    }
}

/// The body with each test after the literals that bind its variables.
fn ordered(rule: &Rule) -> Vec<Formula> {
    let mut waiting: Vec<Formula> = Vec::new();
    let mut bound: BTreeSet<VarId> = BTreeSet::new();
    let mut ordered = Vec::new();
    for formula in &rule.body {
        match formula {
            Formula::Distinct(..) | Formula::Not(..) => waiting.push(formula.clone()),
            _ => {
                formula.for_each_var(&mut |var| _ = bound.insert(var));
                ordered.push(formula.clone());
                waiting.retain(|test| {
                    let mut ready = true;
                    test.for_each_var(&mut |var| ready &= bound.contains(&var));
                    if ready {
                        ordered.push(test.clone());
                    }
                    !ready
                });
            }
        }
    }
    ordered.extend(waiting);
    ordered
}

pub(crate) fn atom(name: SymbolId, args: Vec<Tree>) -> Tree {
    Tree::Node(name, args)
}

/// A term whose variables are numbered from `first` on.
fn tree(term: &Term, first: u32) -> Tree {
    match term {
        Term::Var(var) => Tree::Var(first + var.0),
        Term::Const(name) => Tree::Node(*name, Vec::new()),
        Term::Func(name, args) => Tree::Node(*name, args.iter().map(|arg| tree(arg, first)).collect()),
    }
}

pub(crate) fn show(program: &Program, tree: &Tree) -> String {
    match tree {
        Tree::Var(var) => format!("?{var}"),
        Tree::Node(name, args) if args.is_empty() => program.symbols.name(*name).to_owned(),
        Tree::Node(name, args) => {
            let args: Vec<String> = args.iter().map(|arg| show(program, arg)).collect();
            format!("({} {})", program.symbols.name(*name), args.join(" "))
        }
    }
}

/// A question with its variables numbered in order.
fn canonical(question: &Tree) -> Tree {
    fn walk(tree: &Tree, names: &mut Vec<u32>) -> Tree {
        match tree {
            Tree::Var(var) => {
                let place = names.iter().position(|other| other == var).unwrap_or_else(|| {
                    names.push(*var);
                    names.len() - 1
                });
                Tree::Var(place as u32)
            }
            Tree::Node(name, args) => Tree::Node(*name, args.iter().map(|arg| walk(arg, names)).collect()),
        }
    }
    walk(question, &mut Vec::new())
}

fn resolve(tree: &Tree, binding: &Binding) -> Tree {
    match tree {
        Tree::Var(var) => binding.get(var).map_or_else(|| tree.clone(), |value| resolve(value, binding)),
        Tree::Node(name, args) => Tree::Node(*name, args.iter().map(|arg| resolve(arg, binding)).collect()),
    }
}

fn unify(left: &Tree, right: &Tree, binding: &Binding) -> Option<Binding> {
    let (left, right) = (resolve(left, binding), resolve(right, binding));
    match (&left, &right) {
        (Tree::Var(a), Tree::Var(b)) if a == b => Some(binding.clone()),
        (Tree::Var(var), other) | (other, Tree::Var(var)) => {
            let mut extended = binding.clone();
            extended.insert(*var, other.clone());
            Some(extended)
        }
        (Tree::Node(a, left), Tree::Node(b, right)) => {
            if a != b || left.len() != right.len() {
                return None;
            }
            left.iter().zip(right).try_fold(binding.clone(), |binding, (left, right)| unify(left, right, &binding))
        }
    }
}

/// The text of an atom's only argument, or of the last of two.
pub(crate) fn last_arg(program: &Program, fact: &Tree) -> String {
    match fact {
        Tree::Node(_, args) => show(program, args.last().expect("it has an argument")),
        Tree::Var(_) => unreachable!("facts are ground"),
    }
}
