//! What can only be seen in play: a bounded random simulation that looks for states the rules should not allow.
//!
//! The sample proves that something *can* happen, never that it can't; findings about what did not happen say so. Each
//! finding carries the shortest evidence that was met: the ply of the state, and the moves that lead to it if they are
//! few.

use std::collections::BTreeSet;
use std::sync::Arc;

use gdl::datalog::{Resource, Unevaluable};
use gdl::program::{Rule, RuleId, Term};
use gdl::symbol::SymbolId;
use gdl::{Code, Diagnostic, Program, Relation, Span, keyword};
use rand::Rng;

use crate::playout::StopReason as PlayoutStop;
use crate::{Exceeded, Limits, Machine, Reference, RoleId, Setup, playout};

/// How much to play.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Random matches, unless they are stopped earlier. More of them see more of the game.
    pub n_matches: u32,
    /// The longest match, in joint moves. A game in which no match ends by then is reported.
    pub max_plies: u32,
    /// What one evaluation may cost; running over it is an error of the rules.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { n_matches: 1000, max_plies: 1000, limits: Limits::default() }
    }
}

/// Why the simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All matches were played.
    Complete,
    /// The limits' stop was raised.
    Stopped,
    /// The rules ran over a budget, or have no meaning; a finding says more.
    Failed,
}

/// What was played, and what was found.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The findings, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The roles, in order; empty if the rules failed before these were known.
    pub roles: Vec<String>,
    /// Matches that were begun.
    pub n_matches: u32,
    /// Those among them that reached a terminal state.
    pub n_finished: u32,
    /// States that were seen, repeats included.
    pub n_states: u64,
    /// Why it ended.
    pub ending: Ending,
}

/// The number of finished matches from which on it means something that a goal value was never reached: a value that
/// one match in thirty gives is then missed in one sample of thirty.
const ENOUGH_MATCHES: u32 = 100;
/// The longest way to a state that is spelled out.
const MAX_MOVES_SHOWN: usize = 5;
/// How many other rules a finding points at.
const MAX_PLACES_SHOWN: usize = 7;

/// Plays random matches with the reference engine and reports what is wrong with the states they meet. That it is stopped is no
/// finding, but leaves a smaller sample.
pub fn verify(program: &Arc<Program>, settings: &Settings, rng: &mut impl Rng) -> Verification {
    let mut verification = Verification {
        diagnostics: Vec::new(),
        roles: Vec::new(),
        n_matches: 0,
        n_finished: 0,
        n_states: 0,
        ending: Ending::Complete,
    };
    let outcome = Reference::new(program.clone(), settings.limits.clone()).and_then(|mut machine| {
        verification.roles = machine.roles().to_vec();
        let mut sample = Sample::new(machine.roles().len());
        let outcome = sample.play(&mut machine, settings, rng, &mut verification);
        sample.report(&machine, settings, &mut verification);
        outcome.map_err(Setup::Exceeded)
    });
    match outcome {
        Ok(()) => {}
        Err(Setup::Exceeded(Exceeded { resource: Resource::Stopped, .. })) => {
            verification.ending = Ending::Stopped;
        }
        Err(Setup::Exceeded(exceeded)) => {
            verification.ending = Ending::Failed;
            verification.diagnostics.push(over_budget(program, &exceeded, verification.n_states));
        }
        Err(Setup::Unevaluable(why)) => {
            verification.ending = Ending::Failed;
            verification.diagnostics.push(unevaluable(program, &why));
        }
    }
    verification.diagnostics.sort_by_key(|found| (found.primary.span, found.code));
    verification
}

/// How a state was reached: the ply, and the names of the joint moves if they are few.
#[derive(Clone)]
struct Evidence {
    ply: u32,
    moves: Option<Vec<Vec<String>>>,
}

impl Evidence {
    fn note(&self) -> String {
        match (&self.moves, self.ply) {
            (_, 0) => "this is so in the initial state".to_owned(),
            (Some(moves), ply) => {
                let moves: Vec<String> = moves.iter().map(|joint| format!("`{}`", joint.join(" | "))).collect();
                format!("seen after {}: {}", joint_moves(ply), moves.join(", "))
            }
            (None, ply) => format!("seen after {}", joint_moves(ply)),
        }
    }
}

fn joint_moves(count: u32) -> String {
    if count == 1 { "1 move".to_owned() } else { format!("{count} moves") }
}

/// Keeps the shorter evidence.
fn keep<T>(best: &mut Option<(Evidence, T)>, ply: u32, evidence: impl FnOnce() -> (Evidence, T)) {
    if best.as_ref().is_none_or(|(known, _)| ply < known.ply) {
        *best = Some(evidence());
    }
}

/// What the matches have shown so far; by role where there are lists.
struct Sample {
    stuck: Vec<Option<(Evidence, ())>>,
    /// The goal values of a terminal state with none, or several.
    not_unique: Vec<Option<(Evidence, Vec<String>)>>,
    bad_value: Vec<Option<(Evidence, String)>>,
    reached: Vec<BTreeSet<String>>,
    n_capped: u32,
}

impl Sample {
    fn new(n_roles: usize) -> Sample {
        Sample {
            stuck: vec![None; n_roles],
            not_unique: vec![None; n_roles],
            bad_value: vec![None; n_roles],
            reached: vec![BTreeSet::new(); n_roles],
            n_capped: 0,
        }
    }

    fn play(
        &mut self,
        machine: &mut Reference,
        settings: &Settings,
        rng: &mut impl Rng,
        verification: &mut Verification,
    ) -> Result<(), Exceeded> {
        for _ in 0..settings.n_matches {
            if settings.limits.stop.is_raised() {
                return Err(STOPPED);
            }
            verification.n_matches += 1;
            let mut path = Vec::new();
            let played = playout(machine, rng, settings.max_plies, |machine, step| {
                verification.n_states += 1;
                self.look(machine, step.state, step.terminal, &path)?;
                if let Some(joint) = step.joint {
                    path.push(joint.to_vec());
                }
                if settings.limits.stop.is_raised() { Err(STOPPED) } else { Ok(()) }
            })?;
            match played.stop {
                PlayoutStop::Terminal => verification.n_finished += 1,
                PlayoutStop::Cap => self.n_capped += 1,
                PlayoutStop::Stuck(role) => {
                    keep(&mut self.stuck[role.0 as usize], played.n_plies, || (evidence(machine, &path), ()));
                }
            }
            // Matches that don't end cost the most and tell the least.
            if self.n_capped >= 3 && verification.n_finished == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks at the goal values of a state.
    fn look(
        &mut self,
        machine: &mut Reference,
        state: &<Reference as Machine>::State,
        terminal: bool,
        path: &[Vec<<Reference as Machine>::Move>],
    ) -> Result<(), Exceeded> {
        let ply = path.len() as u32;
        for role in 0..self.reached.len() {
            let values = machine.goal_names(state, RoleId(role as u32))?;
            if terminal {
                if let Some(value) = values.iter().find(|value| !is_goal_value(value)) {
                    keep(&mut self.bad_value[role], ply, || (evidence(machine, path), value.clone()));
                }
                if values.len() != 1 {
                    keep(&mut self.not_unique[role], ply, || (evidence(machine, path), values.clone()));
                }
            }
            for value in values {
                self.reached[role].insert(value);
            }
        }
        Ok(())
    }

    fn report(&self, machine: &Reference, settings: &Settings, verification: &mut Verification) {
        let program = machine.program();
        let found = &mut verification.diagnostics;
        for (role, name) in machine.roles().iter().enumerate() {
            let place = role_span(program, name);
            if let Some((evidence, ())) = &self.stuck[role] {
                found.push(
                    Diagnostic::in_play(
                        Code::NoLegalMove,
                        place,
                        format!("role `{name}` can be left without a legal move"),
                    )
                    .label("must have a legal move until the game ends")
                    .note(evidence.note())
                    .help("add a rule for `legal`, such as a move `noop`, or make the state terminal"),
                );
            }
            if let Some((evidence, values)) = &self.not_unique[role] {
                found.push(not_unique(program, name, place, values).note(evidence.note()));
            }
            if let Some((evidence, value)) = &self.bad_value[role] {
                let rule = goal_rules(program, name).find(|rule| matches!(rule.head.args[1], Term::Var(_)));
                found.push(
                    Diagnostic::in_play(
                        Code::BadGoalValue,
                        rule.map_or(place, |rule| rule.head.span),
                        format!("role `{name}` can get the goal value `{value}`"),
                    )
                    .label("computes a value that is not an integer from 0 to 100")
                    .note(evidence.note())
                    .help("scale the values so that they lie between 0 and 100"),
                );
            }
        }
        if verification.n_finished >= ENOUGH_MATCHES {
            found.extend(self.never_reached(program, machine.roles(), verification.n_finished));
        }
        if verification.n_finished == 0 && self.n_capped > 0 {
            let terminal = Relation { name: keyword::TERMINAL, arity: 0 };
            let rule = program.rules.iter().find(|rule| rule.head.relation() == terminal);
            let place = rule.map_or_else(
                || machine.roles().first().map(|name| role_span(program, name)),
                |rule| Some(rule.head.span),
            );
            let matches = if self.n_capped == 1 {
                "1 random match".to_owned()
            } else {
                format!("{} random matches", self.n_capped)
            };
            found.push(
                Diagnostic::in_play(Code::NoTermination, place.unwrap_or_default(), "no sampled match came to an end")
                    .label(format!("never held in {matches} of {} moves", settings.max_plies))
                    .note("the game may be long, or may never end")
                    .help("add a step counter to the state and make `terminal` hold when it runs out"),
            );
        }
    }

    /// The goal values that the heads of rules promise and that no state gave.
    fn never_reached(&self, program: &Program, roles: &[String], n_finished: u32) -> Option<Diagnostic> {
        // The rules concerned, each with its value and the roles that never got it.
        let mut missed: Vec<(Span, &str, Vec<&str>)> = Vec::new();
        for (role, reached) in roles.iter().zip(&self.reached) {
            let mut values: BTreeSet<&str> = BTreeSet::new();
            for rule in goal_rules(program, role) {
                let Term::Const(value) = rule.head.args[1] else { continue };
                let value = program.symbols.name(value);
                if reached.contains(value) || !values.insert(value) {
                    continue;
                }
                match missed.iter_mut().find(|(span, ..)| *span == rule.head.span) {
                    Some((.., roles)) => roles.push(role),
                    None => missed.push((rule.head.span, value, vec![role])),
                }
            }
        }
        missed.sort_unstable_by_key(|(span, ..)| *span);
        let label = |(_, value, roles): &(Span, &str, Vec<&str>)| format!("{value} for `{}`", roles.join("`, `"));
        let first = missed.first()?;
        let message = match &missed[..] {
            [(_, value, _)] => format!("goal value {value} was never reached in the sample"),
            _ => format!("{} goal values were never reached in the sample", missed.len()),
        };
        let mut finding = Diagnostic::in_play(Code::GoalNeverReached, first.0, message)
            .label(format!("never {}", label(first)))
            .note(format!("{n_finished} random matches came to an end; good play may reach what random play does not"))
            .help("check that the conditions of the rule can hold together");
        for other in missed.iter().skip(1).take(MAX_PLACES_SHOWN) {
            finding = finding.also(other.0, format!("nor {}", label(other)));
        }
        Some(finding)
    }
}

const STOPPED: Exceeded = Exceeded { resource: Resource::Stopped, limit: 0, rule: RuleId(0) };

fn evidence(machine: &Reference, path: &[Vec<<Reference as Machine>::Move>]) -> Evidence {
    let names = |joint: &Vec<_>| joint.iter().map(|&chosen| machine.move_name(chosen)).collect();
    let moves = (path.len() <= MAX_MOVES_SHOWN).then(|| path.iter().map(names).collect());
    Evidence { ply: path.len() as u32, moves }
}

fn is_goal_value(name: &str) -> bool {
    matches!(name.parse::<i64>(), Ok(0..=100))
}

fn not_unique(program: &Program, name: &str, place: Span, values: &[String]) -> Diagnostic {
    let [first, second, ..] = values else {
        return Diagnostic::in_play(
            Code::GoalNotUnique,
            place,
            format!("role `{name}` has no goal value in a terminal state"),
        )
        .label("no rule for `goal` held for this role")
        .help("cover every terminal state, for example by a rule with `not` for the remaining cases");
    };
    let message = format!("role `{name}` has {} goal values in a terminal state", values.len());
    let rule_for = |value: &String| {
        goal_rules(program, name).find(|rule| match rule.head.args[1] {
            Term::Const(constant) => program.symbols.name(constant) == value,
            _ => false,
        })
    };
    let finding = match (rule_for(first), rule_for(second)) {
        (Some(one), Some(other)) => Diagnostic::in_play(Code::GoalNotUnique, other.head.span, message)
            .label(format!("gives {second}"))
            .also(one.head.span, format!("gives {first} in the same state")),
        (one, other) => {
            let computed = || goal_rules(program, name).find(|rule| matches!(rule.head.args[1], Term::Var(_)));
            let rule = computed().or(one).or(other);
            Diagnostic::in_play(Code::GoalNotUnique, rule.map_or(place, |rule| rule.head.span), message)
                .label("gives more than one value")
        }
    };
    finding
        .note(format!("the values are {}", values.join(", ")))
        .help("make the conditions of the rules for `goal` exclude each other")
}

/// The rules for `goal` that can be about a role.
fn goal_rules<'p>(program: &'p Program, role: &str) -> impl Iterator<Item = &'p Rule> {
    let goal = Relation { name: keyword::GOAL, arity: 2 };
    let role = program.symbols.find(role);
    let is_about = move |rule: &&Rule| match &rule.head.args[0] {
        Term::Var(_) => true,
        Term::Const(name) => Some(*name) == role,
        Term::Func(..) => false,
    };
    program.rules.iter().filter(move |rule| rule.head.relation() == goal).filter(is_about)
}

/// Where a role is introduced.
fn role_span(program: &Program, role: &str) -> Span {
    let relation = Relation { name: keyword::ROLE, arity: 1 };
    let name: Option<SymbolId> = program.symbols.find(role);
    let mut rules = program.rules.iter().filter(|rule| rule.head.relation() == relation);
    let exact = rules.clone().find(|rule| matches!(rule.head.args[0], Term::Const(constant) if Some(constant) == name));
    exact.or_else(|| rules.next()).map(|rule| rule.head.span).unwrap_or_default()
}

fn over_budget(program: &Program, exceeded: &Exceeded, n_states: u64) -> Diagnostic {
    let rule = &program.rules[exceeded.rule.0 as usize];
    let help = match exceeded.resource {
        Resource::TermDepth | Resource::TermSize => {
            "bound the recursion: let the terms it builds come from a fixed set"
        }
        _ => "let the rule match fewer combinations, or split it so that its parts share variables",
    };
    Diagnostic::in_play(Code::OverBudget, rule.head.span, exceeded.to_string())
        .label("when this rule was evaluated")
        .note(match n_states {
            0 => "no state could be completed".to_owned(),
            1 => "1 state was seen before".to_owned(),
            n => format!("{n} states were seen before"),
        })
        .help(help)
}

/// The static checks find these, too, and say more.
fn unevaluable(program: &Program, why: &Unevaluable) -> Diagnostic {
    let (code, rule, what) = match why {
        Unevaluable::UnsafeHead(rule) => (Code::UnsafeHead, rule, "a variable in the head is not bound by the body"),
        Unevaluable::TooComplex(rule) => {
            (Code::RuleTooLarge, rule, "the rule has too many combinations of disjunctions")
        }
        Unevaluable::Unstratified(rule) => (Code::Unstratified, rule, "a relation depends on its own negation"),
    };
    Diagnostic::in_play(code, program.rules[rule.0 as usize].head.span, what)
        .label("in this rule")
        .help("see the explanation of the code")
}
