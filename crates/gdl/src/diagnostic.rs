//! What is wrong with a rule text, where, and what to do about it.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::source::{Source, Span};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The game can't be played.
    Error,
    /// The game can be played, but something in it is doubtful or forgiven.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

macro_rules! codes {
    ($($name:ident $id:literal $severity:ident $title:literal, $explanation:literal;)*) => {
        /// The kind of a finding. Its number is stable: it never changes its meaning and is never used again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $title] $name,)* }

        impl Code {
            /// Every code, in ascending order.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The number, such as `GDL0201`.
            pub fn id(self) -> &'static str {
                match self { $(Code::$name => $id),* }
            }

            /// Whether a finding of this kind makes the game unplayable.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity),* }
            }

            /// A few words that name the mistake.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title),* }
            }

            /// A paragraph: what the mistake is and why it matters.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => $explanation),* }
            }
        }
    };
}

codes! {
    NotUtf8 "GDL0001" Error "text is not UTF-8",
        "Rule files are UTF-8 text. Names and layout of GDL need only ASCII; other characters are welcome in comments.";
    TooLarge "GDL0002" Error "text is too large",
        "A rule text may have 4 MiB. The largest games known have under 100 kB, so a file of this size is a mistake, or an attempt to exhaust a player.";
    UnclosedParenthesis "GDL0003" Error "parenthesis is never closed",
        "A list that is opened must be closed. The report points at the rule in which parentheses are missing; rules are taken to begin in the first column of a line.";
    StrayClose "GDL0004" Error "closing parenthesis without an open one",
        "There is one closing parenthesis too many before this point.";
    StrayToken "GDL0005" Error "name outside of any rule",
        "Each rule and fact is a list in parentheses. A bare word between them is usually a comment without its `;`, or what is left of a rule.";
    NestedTooDeep "GDL0006" Error "nested too deeply",
        "Lists may be nested 256 deep. Real games need about ten levels; the limit protects the reader from texts made to exhaust it.";
    InfixSyntax "GDL0007" Error "syntax error in infix notation",
        "In infix notation a rule reads `head :- literal & literal`, with `~` for not and `|` for or. Variables begin with a capital letter; names with other characters stand in single quotes.";
    NotASentence "GDL0008" Error "not a sentence",
        "A rule, a fact and each literal begin with the name of a relation: `(name argument ...)`. A variable, a number of lists or an empty list can't stand there.";
    MalformedConnective "GDL0009" Error "malformed connective",
        "`<=` takes a head and any number of literals; `not` takes one literal; `or` and `and` take at least one; `distinct` takes two terms. None of them can be a head or stand inside a term.";

    KeywordArity "GDL0101" Error "keyword with the wrong number of arguments",
        "The keywords of GDL have fixed arities: role 1, init 1, true 1, next 1, base 1, legal 2, does 2, goal 2, input 2, sees 2, terminal 0.";
    ArityClash "GDL0102" Warning "relation used with different arities",
        "GDL gives each relation one arity. Two arities are read as two different relations, which is rarely what was meant.";
    FunctionArityClash "GDL0103" Warning "function used with different arities",
        "GDL gives each function one arity. Terms with different numbers of arguments never match each other, so a literal may be waiting for a term that nobody makes.";
    KeywordInHead "GDL0104" Error "keyword can't be defined",
        "`true` and `does` are given by the state and by the players, and `distinct` is built in. Rules may use them, not define them.";
    NextInBody "GDL0105" Error "`next` or `init` in a body",
        "`init` and `next` describe states from outside. They may stand in heads only; inside a body use `true` for the current state.";
    StateInStatic "GDL0106" Error "`role`, `init`, `base` or `input` depends on the state",
        "Roles, the initial state and the declarations of fluents and moves hold before the game starts, so no rule for them may use `true` or `does`, directly or through other relations.";
    MoveInState "GDL0107" Error "`legal`, `goal` or `terminal` depends on `does`",
        "What is legal, what a state is worth and whether the game is over must be known before the players choose their moves, so rules for them may not use `does`, directly or through other relations.";
    RoleByRule "GDL0108" Warning "role defined by a rule",
        "Roles should be facts, so that every reader finds the same roles in the same order. Roles that rules derive are listed after the facts.";
    NoRole "GDL0109" Error "no role",
        "A game needs at least one fact `(role name)`.";
    NoLegal "GDL0110" Error "no legal move is ever defined",
        "Without a rule or fact for `legal` nobody can move.";
    NoTerminal "GDL0111" Warning "the game can't end",
        "Without a rule for `terminal` the game goes on for ever.";
    NoGoal "GDL0112" Warning "a role without a goal",
        "No rule gives this role a goal value, so it has nothing to play for.";
    NoInit "GDL0113" Warning "the initial state is empty",
        "No `init` fact is given, so the game starts in a state where nothing holds.";
    KeywordAsTerm "GDL0114" Warning "keyword used as an ordinary name",
        "This keyword of GDL stands where an object or function is expected. That works here, but not with every player.";

    UnsafeHead "GDL0201" Error "unbound variable in a head",
        "Every variable of a head must occur in a positive literal of the body; otherwise the rule would hold for infinitely many terms.";
    UnsafeNegation "GDL0202" Warning "unbound variable under `not`",
        "A variable that occurs only under `not` is read as \"there is no such\": the literal holds if no value makes the negated literal true. Most other players agree, some reject the game.";
    UnsafeDistinct "GDL0203" Warning "unbound variable in `distinct`",
        "A variable that no positive literal binds differs from everything but itself, so the literal always holds. It is almost certainly a mistake.";
    ImplicitRole "GDL0204" Warning "unbound role variable",
        "The variable stands for a role in the head of `legal` or `goal`, but no positive literal binds it. It is read as if `(role ?r)` were in the body, since players ask these relations for one role at a time.";

    Unstratified "GDL0301" Error "unstratified negation",
        "A relation depends on its own negation, so it has no well-defined meaning. Negation must never lie on a cycle of the dependency graph.";
    RecursionRestriction "GDL0302" Warning "recursion may not end",
        "GDL's recursion restriction: each argument of a recursive body literal is ground, or is an argument of the head, or is bound by a body literal outside the recursion. Rules that break it may build ever larger terms; evaluation then stops at a budget.";

    GoalValue "GDL0401" Error "goal value is not an integer from 0 to 100",
        "The second argument of `goal` is the value of a state for a role: an integer from 0 to 100.";

    UndefinedRelation "GDL0501" Warning "undefined relation",
        "No rule or fact defines this relation, so the literal never holds (and its negation always does).";
    UnreachableRule "GDL0502" Warning "rule is never used",
        "The relation that this rule defines is needed by no keyword relation, so the rule has no effect on the game.";
    FluentNeverHolds "GDL0503" Warning "fluent that can never hold",
        "No `init` or `next` rule makes a fluent of this name and arity, so the literal never holds.";
    MoveNeverLegal "GDL0504" Warning "move that can never be legal",
        "No `legal` rule makes a move of this name and arity, so the literal never holds.";
    DuplicateRule "GDL0505" Warning "rule is written twice",
        "The same rule stands elsewhere in the text, up to the names of its variables.";

    ImperfectInformation "GDL0601" Error "imperfect information is not supported yet",
        "The game uses `sees`, by which GDL-II describes what each role is told. Only games in which everybody sees everything can be played.";
    RandomRole "GDL0602" Warning "role `random` is played like any other",
        "GDL-II reserves the role `random` for chance. Without `sees` the game has perfect information, and `random` is treated as an ordinary role that chooses among its legal moves.";

    NoLegalMove "GDL0701" Error "a role has no legal move",
        "Random play reached a state that is not terminal and in which a role has no legal move. Every role must have one until the game ends.";
    GoalNotUnique "GDL0702" Warning "terminal state without exactly one goal value",
        "Random play reached a terminal state in which a role has no goal value, or several. The referee can't score such a state.";
    GoalNeverReached "GDL0703" Warning "a goal value was never reached",
        "No sampled match gave the role this value. It may be hard to reach by random play, or impossible.";
    NoTermination "GDL0704" Warning "the game did not end within the bound",
        "No sampled match ended within the bound of the simulation. The game may be long, or may never end.";
    OverBudget "GDL0705" Error "a budget was exceeded",
        "Evaluating the rules ran over a budget of facts, memory or work. The report names the budget and the rule that was being evaluated; the rules may generate terms without end.";
    BadGoalValue "GDL0706" Warning "computed goal value is not an integer from 0 to 100",
        "Random play reached a terminal state in which the rules compute a goal value that is not an integer from 0 to 100.";
}

/// A place in the text with a remark on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The remark; may be empty.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub code: Code,
    /// What is wrong, naming the thing; lower case, no final stop.
    pub message: String,
    /// The culprit.
    pub primary: Label,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// Further facts.
    pub notes: Vec<String>,
    /// What to do.
    pub help: String,
}

/// How many findings one stage reports. A text with more mistakes than that is no rule text.
const MAX_FINDINGS: usize = 1000;

/// Adds a finding, unless there are too many already.
pub(crate) fn add(findings: &mut Vec<Diagnostic>, found: Diagnostic) {
    if findings.len() < MAX_FINDINGS {
        findings.push(found);
    }
}

impl Diagnostic {
    pub(crate) fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: String::new(),
        }
    }

    /// A finding that is about the game as a whole, seen in play rather than in the text.
    pub fn in_play(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, span, message)
    }

    /// With a remark on the culprit.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// With another place that matters.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// With a further fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// With advice.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = text.into();
        self
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The finding as people see it, with the text underlined; `colored` adds terminal colours.
    pub fn render(&self, source: &Source, colored: bool) -> String {
        let level = match self.severity() {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut snippet = Snippet::source(source.text()).path(source.name()).annotation(annotation(
            AnnotationKind::Primary,
            &self.primary,
            source,
        ));
        for label in &self.secondary {
            snippet = snippet.annotation(annotation(AnnotationKind::Context, label, source));
        }
        let mut group = level.primary_title(self.message.as_str()).id(self.code.id()).element(snippet);
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(self.help.as_str()));
        }
        let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

fn annotation<'a>(kind: AnnotationKind, label: &'a Label, source: &Source) -> annotate_snippets::Annotation<'a> {
    // Spans come from the reader and lie in the text; the clamp is for texts that were too large to be read.
    let end = (label.span.end as usize).min(source.text().len());
    let start = (label.span.start as usize).min(end);
    let annotation = kind.span(start..end);
    if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
}

/// Whether any finding makes the game unplayable.
pub fn any_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity() == Severity::Error)
}
