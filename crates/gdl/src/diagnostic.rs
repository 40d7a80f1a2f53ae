//! What is wrong with a rule text, where, and what to do about it.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::printable;
use crate::source::{Position, Source, Span};

/// How far apart two places on one line may be to be shown together, in bytes.
const FAR_BYTES: u32 = 500;

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

            /// A small rule text with this mistake and, as far as that is possible, no other. Bytes, since one of the
            /// mistakes is not to be UTF-8; the example of [`Code::TooLarge`] must be repeated to be large.
            pub fn example(self) -> &'static [u8] {
                match self { $(Code::$name => include_bytes!(concat!("diagnostic/", $id, ".kif"))),* }
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
        "A rule, a fact and each literal begin with the name of a relation: `(name argument ...)`. Neither a variable nor an empty list nor a list of lists can stand there.";
    MalformedConnective "GDL0009" Error "malformed connective",
        "`<=` takes a head and any number of literals; `not` takes one literal; `or` and `and` take at least one; `distinct` takes two terms. None of them can be a head or stand inside a term.";
    RuleTooLarge "GDL0010" Error "rule is too large",
        "A rule may have 500 literals and connectives and 10,000 names, and its disjunctions may have 500 combinations where a variable that only some of their branches bind is used elsewhere. The largest rules known have about 100 literals; a rule beyond the limits takes too long to plan, and was perhaps made to exhaust a player. Split it with helper relations.";

    KeywordArity "GDL0101" Error "keyword with the wrong number of arguments",
        "The keywords of GDL have fixed arities: role 1, init 1, true 1, next 1, base 1, legal 2, does 2, goal 2, input 2, sees 2, terminal 0.";
    ArityClash "GDL0102" Warning "relation used with different arities",
        "GDL gives each relation one arity. Two arities are read as two different relations, which is rarely what was meant.";
    FunctionArityClash "GDL0103" Warning "function used with different arities",
        "GDL gives each function one arity. Terms with different numbers of arguments never match each other, so a literal may be waiting for a term that nobody makes.";
    KeywordInHead "GDL0104" Error "keyword can't be defined",
        "`true` and `does` are given by the state and by the players, and `distinct` is built in. Rules may use them, not define them.";
    NextInBody "GDL0105" Warning "`next` or `init` in a body",
        "The specification lets `init` and `next` stand in heads only. A body that reads them is evaluated as if they were ordinary relations, but other players may reject the game. For the current state use `true`.";
    StateInStatic "GDL0106" Error "`role` or `init` depends on the state",
        "Roles and the initial state hold before the game starts, so no rule for them may use `true` or `does`, directly or through other relations.";
    MoveInState "GDL0107" Error "`legal`, `goal` or `terminal` depends on `does`",
        "What is legal, what a state is worth and whether the game is over must be known before the players choose their moves, so rules for them may not use `does`, directly or through other relations.";
    RoleByRule "GDL0108" Warning "role defined by a rule",
        "Roles should be facts, so that every reader finds the same roles in the same order. Roles that rules derive are listed after the facts.";
    NoRole "GDL0109" Error "no role",
        "A game needs at least one fact `(role name)`.";
    NoLegal "GDL0110" Error "a role without legal moves",
        "No rule or fact for `legal` can give this role a move, but in every state that is not terminal each role must have one.";
    NoTerminal "GDL0111" Warning "the game can't end",
        "Without a rule for `terminal` the game goes on for ever.";
    NoGoal "GDL0112" Warning "a role without a goal",
        "No rule gives this role a goal value, so it has nothing to play for.";
    NoInit "GDL0113" Warning "the initial state is empty",
        "No `init` fact is given, so the game starts in a state where nothing holds.";
    KeywordAsTerm "GDL0114" Warning "keyword used as an ordinary name",
        "This keyword of GDL stands where an object or function is expected. That works here, but not with every player.";
    StateInDeclaration "GDL0115" Warning "`base` or `input` depends on the state",
        "`base` and `input` declare the fluents and moves of all states, so rules for them should use neither `true` nor `does`, directly or through other relations. The declarations are ignored.";

    UnsafeHead "GDL0201" Error "unbound variable in a head",
        "Every variable of a head must occur in a positive literal of the body; otherwise the rule would hold for infinitely many terms. In a disjunction each branch must bind it.";
    UnsafeNegation "GDL0202" Warning "unbound variable under `not`",
        "A variable that occurs only under `not` is read as \"there is no such\": the literal holds if no value makes the negated literal true. Most other players agree, some reject the game.";
    UnsafeDistinct "GDL0203" Warning "unbound variable in `distinct`",
        "A variable that no positive literal binds differs from everything but itself, so the literal always holds. It is almost certainly a mistake.";
    ImplicitRole "GDL0204" Warning "unbound role variable",
        "The variable stands for a role in the head of `legal`, `goal` or `input`, but no positive literal binds it. It is read as if `(role ?r)` were in the body, since players ask these relations for one role at a time.";

    Unstratified "GDL0301" Error "unstratified negation",
        "A relation depends on its own negation, so it has no well-defined meaning. Negation must never lie on a cycle of dependencies.";
    RecursionRestriction "GDL0302" Warning "recursion may not end",
        "GDL's recursion restriction: each argument of a recursive body literal is ground, or is an argument of the head, or is an argument of a body literal outside the recursion. Rules that break it and build terms may build ever larger ones; evaluation then stops at a budget.";
    NegationByConstants "GDL0303" Warning "negation is stratified by constants alone",
        "A relation depends on its own negation, but the rules concerned have different constants in their heads, so none of them depends on itself. The rules have one meaning and are evaluated rule by rule, but the specification asks for relations that don't depend on their own negation, and other players may reject the game.";

    GoalValue "GDL0401" Error "goal value is not an integer from 0 to 100",
        "The second argument of `goal` is the value of a state for a role: an integer from 0 to 100.";

    UndefinedRelation "GDL0501" Warning "undefined relation",
        "No rule or fact defines this relation, so the literal never holds (and its negation always does).";
    UnreachableRule "GDL0502" Warning "rule is never used",
        "The relation that this rule defines is needed by no keyword relation, so the rule has no effect on the game.";
    FluentNeverHolds "GDL0503" Warning "fluent that can never hold",
        "No `init` or `next` rule makes a fluent of this name and arity, so the literal never holds (and its negation always does).";
    MoveNeverLegal "GDL0504" Warning "move that can never be legal",
        "No `legal` rule makes a move of this name and arity, so the literal never holds (and its negation always does).";
    DuplicateRule "GDL0505" Warning "rule is written twice",
        "The same rule stands elsewhere in the text, up to the names of its variables.";
    UnknownRole "GDL0506" Warning "not a role",
        "The first argument of `legal`, `does`, `goal` and `input` is a role. This name is none, so the literal never holds, or the rule is of no use.";
    NeverMatches "GDL0507" Warning "argument that can never match",
        "The rules never make a fact with this name in this place, so the literal never holds (and its negation always does).";

    ImperfectInformation "GDL0601" Error "imperfect information is not supported yet",
        "The game uses `sees`, by which GDL-II describes what each role is told. Only games in which everybody sees everything can be played.";
    RandomRole "GDL0602" Warning "role `random` is played like any other",
        "GDL-II reserves the role `random` for chance. Without `sees` the game has perfect information, and `random` is treated as an ordinary role that chooses among its legal moves.";

    NoLegalMove "GDL0701" Error "a role has no legal move",
        "Random play reached a state that is not terminal and in which a role has no legal move. Every role must have one until the game ends.";
    GoalNotUnique "GDL0702" Warning "terminal state without exactly one goal value",
        "Random play reached a terminal state in which a role has no goal value, or several. The referee can't score such a state.";
    GoalNeverReached "GDL0703" Warning "a goal value was never reached",
        "No sampled state gave the role this value. It may be hard to reach by random play, or impossible.";
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

/// How many findings one stage reports, or one check of a kind. A text with more mistakes than that is no rule text.
pub(crate) const MAX_FINDINGS: usize = 100;

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
        // Another place on the same line, but far away, would stretch the picture: it is mentioned instead.
        let line = |span: Span| source.position(span.start).line;
        let is_far = |label: &&Label| {
            label.span.start.abs_diff(self.primary.span.start) > FAR_BYTES
                && line(label.span) == line(self.primary.span)
        };
        let (far, near): (Vec<&Label>, Vec<&Label>) = self.secondary.iter().partition(is_far);
        // The renderer looks at all of the text it is given, so it is given no more than the lines that matter.
        let everything = near.iter().fold(self.primary.span, |all, label| all.to(label.span));
        let (lines, offset, first_line) = source.lines(everything);
        let annotation = |kind: AnnotationKind, label: &Label| {
            // Findings point at whole characters; a slip there must not keep the others from being shown.
            let start = lines.floor_char_boundary((label.span.start - offset) as usize);
            let end = lines.ceil_char_boundary((label.span.end - offset) as usize);
            let annotation = kind.span(start..end);
            if label.text.is_empty() { annotation } else { annotation.label(printable(&label.text).into_owned()) }
        };
        let mut snippet = Snippet::source(lines)
            .path(printable(source.name()))
            .line_start(first_line as usize)
            .annotation(annotation(AnnotationKind::Primary, &self.primary));
        for label in near {
            snippet = snippet.annotation(annotation(AnnotationKind::Context, label));
        }
        let mut group = level.primary_title(printable(&self.message)).id(self.code.id()).element(snippet);
        for label in far {
            let Position { line, column } = source.position(label.span.start);
            group = group
                .element(Level::NOTE.message(format!("at line {line}, column {column}: {}", printable(&label.text))));
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(printable(note)));
        }
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(printable(&self.help)));
        }
        let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// Whether any finding makes the game unplayable.
pub fn any_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity() == Severity::Error)
}
