//! The rules after resolution: relations, terms and formulas instead of lists.
//!
//! A [`Program`] keeps the rules as their author wrote them, `or` and `not` included; nothing is expanded. Terms and
//! formulas are trees whose depth the reader has bounded, so code that walks them may recurse.

use rustc_hash::FxHashMap;

use crate::ast::{Kind, NodeId, Tree};
use crate::diagnostic::{self, Code, Diagnostic};
use crate::source::Span;
use crate::symbol::{SymbolId, Symbols, keyword};

/// A variable of a rule; an index into [`Rule::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub u32);

/// A rule of a program; an index into [`Program::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// A term, possibly with variables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// A variable of the rule.
    Var(VarId),
    /// A name.
    Const(SymbolId),
    /// A function with at least one argument.
    Func(SymbolId, Box<[Term]>),
}

/// A relation: a name and a number of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relation {
    /// The name.
    pub name: SymbolId,
    /// The number of arguments.
    pub arity: u32,
}

/// A relation applied to terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// The relation's name.
    pub name: SymbolId,
    /// Its arguments.
    pub args: Vec<Term>,
    /// Where it stands.
    pub span: Span,
}

impl Atom {
    /// The relation.
    pub fn relation(&self) -> Relation {
        Relation { name: self.name, arity: self.args.len() as u32 }
    }
}

/// What a body is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// A positive literal.
    Atom(Atom),
    /// Two terms differ.
    Distinct(Term, Term, Span),
    /// The formula does not hold.
    Not(Box<Formula>, Span),
    /// At least one holds.
    Or(Vec<Formula>, Span),
    /// All hold.
    And(Vec<Formula>, Span),
}

/// A variable as the author named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name, with the `?`.
    pub name: SymbolId,
    /// Where it first occurs in the rule.
    pub span: Span,
}

/// A rule, or a fact if the body is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What holds.
    pub head: Atom,
    /// If all of this holds.
    pub body: Vec<Formula>,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// Where it stands.
    pub span: Span,
}

/// The rules of a game.
#[derive(Clone, Debug)]
pub struct Program {
    /// All names.
    pub symbols: Symbols,
    /// The rules, in source order.
    pub rules: Vec<Rule>,
}

impl Term {
    /// Calls `visit` for each variable, left to right, repeats included.
    pub fn for_each_var(&self, visit: &mut impl FnMut(VarId)) {
        match self {
            Term::Var(var) => visit(*var),
            Term::Const(_) => {}
            Term::Func(_, args) => args.iter().for_each(|arg| arg.for_each_var(visit)),
        }
    }

    /// Whether there is no variable in it.
    pub fn is_ground(&self) -> bool {
        let mut ground = true;
        self.for_each_var(&mut |_| ground = false);
        ground
    }

    /// How many names and variables are in it.
    pub fn size(&self) -> usize {
        match self {
            Term::Var(_) | Term::Const(_) => 1,
            Term::Func(_, args) => 1 + args.iter().map(Term::size).sum::<usize>(),
        }
    }

    /// The name and arity at its top; `None` for a variable.
    pub fn functor(&self) -> Option<Relation> {
        match self {
            Term::Var(_) => None,
            Term::Const(name) => Some(Relation { name: *name, arity: 0 }),
            Term::Func(name, args) => Some(Relation { name: *name, arity: args.len() as u32 }),
        }
    }
}

impl Formula {
    /// Calls `visit` for each atom with whether it stands under an odd number of `not`s.
    pub fn for_each_atom<'a>(&'a self, visit: &mut impl FnMut(&'a Atom, bool)) {
        self.walk_atoms(false, visit);
    }

    fn walk_atoms<'a>(&'a self, negated: bool, visit: &mut impl FnMut(&'a Atom, bool)) {
        match self {
            Formula::Atom(atom) => visit(atom, negated),
            Formula::Distinct(..) => {}
            Formula::Not(inner, _) => inner.walk_atoms(!negated, visit),
            Formula::Or(parts, _) | Formula::And(parts, _) => {
                parts.iter().for_each(|part| part.walk_atoms(negated, visit));
            }
        }
    }

    /// Calls `visit` for each variable anywhere in the formula, repeats included.
    pub fn for_each_var(&self, visit: &mut impl FnMut(VarId)) {
        match self {
            Formula::Atom(atom) => atom.args.iter().for_each(|arg| arg.for_each_var(visit)),
            Formula::Distinct(left, right, _) => {
                left.for_each_var(visit);
                right.for_each_var(visit);
            }
            Formula::Not(inner, _) => inner.for_each_var(visit),
            Formula::Or(parts, _) | Formula::And(parts, _) => {
                parts.iter().for_each(|part| part.for_each_var(visit));
            }
        }
    }

    /// How many names and variables are in it, those of relations and connectives excluded.
    pub fn n_names(&self) -> usize {
        match self {
            Formula::Atom(atom) => atom.args.iter().map(Term::size).sum(),
            Formula::Distinct(left, right, _) => left.size() + right.size(),
            Formula::Not(inner, _) => inner.n_names(),
            Formula::Or(parts, _) | Formula::And(parts, _) => parts.iter().map(Formula::n_names).sum(),
        }
    }

    /// The variables that have a value whenever the formula holds: those of positive literals, and of every branch
    /// of a disjunction.
    pub fn binds(&self) -> std::collections::BTreeSet<VarId> {
        let mut bound = std::collections::BTreeSet::new();
        match self {
            Formula::Atom(_) => self.for_each_var(&mut |var| _ = bound.insert(var)),
            Formula::Distinct(..) | Formula::Not(..) => {}
            Formula::And(parts, _) => parts.iter().for_each(|part| bound.extend(part.binds())),
            Formula::Or(parts, _) => {
                let mut branches = parts.iter().map(Formula::binds);
                bound = branches.next().unwrap_or_default();
                for branch in branches {
                    bound.retain(|var| branch.contains(var));
                }
            }
        }
        bound
    }

    /// Where the formula stands.
    pub fn span(&self) -> Span {
        match self {
            Formula::Atom(atom) => atom.span,
            Formula::Distinct(.., span) | Formula::Not(_, span) | Formula::Or(_, span) | Formula::And(_, span) => *span,
        }
    }
}

impl Rule {
    /// Calls `visit` for each atom of the body with whether it stands under an odd number of `not`s.
    pub fn for_each_body_atom<'a>(&'a self, mut visit: impl FnMut(&'a Atom, bool)) {
        self.body.iter().for_each(|formula| formula.for_each_atom(&mut visit));
    }

    /// The variables that the body gives values to.
    pub fn bound_by_body(&self) -> std::collections::BTreeSet<VarId> {
        self.body.iter().flat_map(Formula::binds).collect()
    }

    /// The head's role variable, if this is a rule for `legal` or `goal` (or `input`) whose body leaves it unbound. It
    /// ranges over the roles: the one unsafe variable that is forgiven.
    pub fn implicit_role(&self) -> Option<VarId> {
        let (keyword::LEGAL | keyword::GOAL | keyword::INPUT, Some(Term::Var(var))) =
            (self.head.name, self.head.args.first())
        else {
            return None;
        };
        (!self.bound_by_body().contains(var)).then_some(*var)
    }
}

/// Turns a syntax tree into a program. What is malformed is reported and left out.
pub fn resolve(tree: &Tree) -> (Program, Vec<Diagnostic>) {
    let mut resolver = Resolver { tree, variables: Vec::new(), by_name: FxHashMap::default(), diagnostics: Vec::new() };
    let rules = tree.roots.iter().filter_map(|&root| resolver.rule(root)).collect();
    (Program { symbols: tree.symbols.clone(), rules }, resolver.diagnostics)
}

struct Resolver<'a> {
    tree: &'a Tree,
    variables: Vec<Variable>,
    by_name: FxHashMap<SymbolId, VarId>,
    diagnostics: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn rule(&mut self, root: NodeId) -> Option<Rule> {
        self.variables.clear();
        self.by_name.clear();
        let children = self.tree.children(root);
        let (head, body) = match self.tree.head(root) {
            Some(keyword::IMPLIED_BY) if self.tree.kind(root) == Kind::List => match children {
                [_, head, body @ ..] => (*head, body),
                _ => {
                    self.malformed(
                        root,
                        "a rule without a head",
                        "expected a head after `<=`",
                        "write `(<= head literal ...)`",
                    );
                    return None;
                }
            },
            _ => (root, &[][..]),
        };
        let head = self.head(head);
        // Every literal is looked at, so that all mistakes of a rule are reported at once.
        let body: Vec<_> = body.iter().map(|&node| self.formula(node)).collect();
        let body: Option<Vec<_>> = body.into_iter().collect();
        Some(Rule {
            head: head?,
            body: body?,
            variables: std::mem::take(&mut self.variables),
            span: self.tree.span(root),
        })
    }

    fn head(&mut self, node: NodeId) -> Option<Atom> {
        let name = self.tree.head(node);
        match name {
            Some(keyword::NOT | keyword::OR | keyword::AND | keyword::IMPLIED_BY) => {
                let connective = self.tree.symbols.name(name.expect("matched above")).to_owned();
                self.malformed(
                    node,
                    format!("`{connective}` can't be a head"),
                    "expected one positive sentence",
                    "write a rule for each sentence that holds; what does not hold needs no rule",
                );
                None
            }
            Some(keyword::TRUE | keyword::DOES | keyword::DISTINCT) => {
                let keyword = self.tree.symbols.lower(name.expect("matched above")).to_owned();
                let (given_by, help) = match keyword.as_str() {
                    "true" => ("the state", "use `init` for the first state and `next` for the following ones"),
                    "does" => ("the players", "say with `legal` what can be done; the players decide what is done"),
                    _ => ("the language", "use `distinct` in bodies only, or define a relation with another name"),
                };
                let message = format!("`{keyword}` can't be defined by a rule");
                self.report(
                    Diagnostic::new(Code::KeywordInHead, self.tree.span(node), message)
                        .label(format!("`{keyword}` is given by {given_by}"))
                        .help(help),
                );
                // What has no form at all is said, too.
                self.tree.children(node).iter().skip(1).for_each(|&arg| _ = self.term(arg));
                None
            }
            _ => self.sentence(node),
        }
    }

    fn formula(&mut self, node: NodeId) -> Option<Formula> {
        let span = self.tree.span(node);
        let is_list = self.tree.kind(node) == Kind::List;
        let args = self.tree.children(node).get(1..).unwrap_or(&[]);
        match self.tree.head(node) {
            Some(keyword::NOT) if is_list => match args {
                [inner] => Some(Formula::Not(Box::new(self.formula(*inner)?), span)),
                _ => {
                    let (count, help) = (args.len(), "write one `(not ...)` for each literal");
                    self.malformed(
                        node,
                        format!("`not` takes one literal, not {count}"),
                        "expected `(not literal)`",
                        help,
                    );
                    None
                }
            },
            Some(connective @ (keyword::OR | keyword::AND)) if is_list => {
                if args.is_empty() {
                    let name = self.tree.symbols.name(connective).to_owned();
                    let message = format!("`{name}` without arguments");
                    self.malformed(
                        node,
                        message,
                        "expected at least one literal",
                        "add the literals, or remove the list",
                    );
                    return None;
                }
                let parts: Vec<_> = args.iter().map(|&part| self.formula(part)).collect();
                let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
                Some(if connective == keyword::OR { Formula::Or(parts, span) } else { Formula::And(parts, span) })
            }
            Some(keyword::DISTINCT) => match args {
                [left, right] => Some(Formula::Distinct(self.term(*left)?, self.term(*right)?, span)),
                _ => {
                    let message = format!("`distinct` takes two terms, not {}", args.len());
                    self.malformed(
                        node,
                        message,
                        "expected `(distinct term term)`",
                        "compare two terms at a time: `(distinct ?x ?y)`",
                    );
                    None
                }
            },
            Some(keyword::IMPLIED_BY | keyword::NOT | keyword::OR | keyword::AND) => {
                let name = self.tree.symbols.name(self.tree.head(node).expect("matched above")).to_owned();
                let (message, help) =
                    (format!("`{name}` can't stand here"), "close the rule before the next one begins");
                self.malformed(node, message, "expected a literal", help);
                None
            }
            _ => self.sentence(node).map(Formula::Atom),
        }
    }

    fn sentence(&mut self, node: NodeId) -> Option<Atom> {
        let span = self.tree.span(node);
        let Some(name) = self.tree.head(node) else {
            let (what, help) = match self.tree.kind(node) {
                Kind::Variable(_) => {
                    ("a variable can't stand for a sentence", "write out the literal that it stands for")
                }
                _ if self.tree.children(node).is_empty() => {
                    ("an empty list is not a sentence", "remove it, or fill it")
                }
                _ => ("a sentence begins with the name of a relation", "begin the list with the name of a relation"),
            };
            let label = "expected `(relation argument ...)`";
            self.report(Diagnostic::new(Code::NotASentence, span, what).label(label).help(help));
            return None;
        };
        let args = self.tree.children(node).get(1..).unwrap_or(&[]);
        let args: Vec<_> = args.iter().map(|&arg| self.term(arg)).collect();
        let args = args.into_iter().collect::<Option<Vec<_>>>()?;
        if let Some(arity) = keyword_arity(name).filter(|&arity| arity != args.len()) {
            let keyword = self.tree.symbols.lower(name).to_owned();
            self.report(
                Diagnostic::new(
                    Code::KeywordArity,
                    span,
                    format!("`{keyword}` takes {}, not {}", arguments(arity), args.len()),
                )
                .label(format!("{} given", arguments(args.len())))
                .help(keyword_usage(name)),
            );
            return None;
        }
        Some(Atom { name, args, span })
    }

    fn term(&mut self, node: NodeId) -> Option<Term> {
        let span = self.tree.span(node);
        match self.tree.kind(node) {
            Kind::Variable(name) => {
                let next = VarId(self.variables.len() as u32);
                let var = *self.by_name.entry(name).or_insert(next);
                if var == next {
                    self.variables.push(Variable { name, span });
                }
                Some(Term::Var(var))
            }
            Kind::Name(keyword::IMPLIED_BY) => {
                self.malformed(
                    node,
                    "`<=` inside a term",
                    "expected a term",
                    "close the rule before the next one begins",
                );
                None
            }
            Kind::Name(name) => Some(Term::Const(name)),
            Kind::List => {
                let Some(name) = self.tree.head(node) else {
                    self.report(
                        Diagnostic::new(Code::NotASentence, span, "a term begins with the name of a function")
                            .label("expected a name after the parenthesis")
                            .help("write `(function argument ...)`"),
                    );
                    return None;
                };
                if matches!(name, keyword::IMPLIED_BY | keyword::NOT | keyword::OR | keyword::AND) {
                    let message = format!("`{}` inside a term", self.tree.symbols.name(name));
                    self.malformed(node, message, "expected a term", "close the literal before the connective begins");
                    return None;
                }
                let args: Vec<_> = self.tree.children(node)[1..].iter().map(|&arg| self.term(arg)).collect();
                let args = args.into_iter().collect::<Option<Vec<_>>>()?;
                Some(if args.is_empty() { Term::Const(name) } else { Term::Func(name, args.into()) })
            }
        }
    }

    fn report(&mut self, found: Diagnostic) {
        diagnostic::add(&mut self.diagnostics, found);
    }

    fn malformed(&mut self, node: NodeId, message: impl Into<String>, label: &str, help: &str) {
        let span = self.tree.span(node);
        self.report(Diagnostic::new(Code::MalformedConnective, span, message).label(label).help(help));
    }
}

fn keyword_arity(name: SymbolId) -> Option<usize> {
    match name {
        keyword::TERMINAL => Some(0),
        keyword::ROLE | keyword::INIT | keyword::TRUE | keyword::NEXT | keyword::BASE => Some(1),
        keyword::LEGAL | keyword::DOES | keyword::GOAL | keyword::INPUT | keyword::SEES => Some(2),
        _ => None,
    }
}

fn keyword_usage(name: SymbolId) -> &'static str {
    match name {
        keyword::TERMINAL => "write `terminal` without arguments",
        keyword::ROLE => "write `(role name)`",
        keyword::INIT => "write `(init fluent)`",
        keyword::TRUE => "write `(true fluent)`",
        keyword::NEXT => "write `(next fluent)`",
        keyword::BASE => "write `(base fluent)`",
        keyword::LEGAL => "write `(legal role move)`",
        keyword::DOES => "write `(does role move)`",
        keyword::GOAL => "write `(goal role value)`",
        keyword::INPUT => "write `(input role move)`",
        _ => "write `(sees role percept)`",
    }
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        _ => format!("{count} arguments"),
    }
}
