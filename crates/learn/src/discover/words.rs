//! Functions in words, and why a function likes a move.
//!
//! Nothing here knows a game: pieces are *own*, *the other side's* or *nobody's*, kinds have numbers, and regions are parts of
//! a board, as the analysis of the rules gave them names ([`features::structural::squares`]).

use features::structural::fuzzy::{Formula, Function, Ground, Meaning, Scale, Vocabulary};
use features::structural::squares::StateId;

use super::field::Brain;

/// What can be captured, can move, can capture: the parts of a piece's digit.
pub(super) const PROPERTIES: [(u32, &str); 3] = [(4, "be captured"), (2, "move"), (1, "capture")];

/// The letters and the digit of a state's name.
pub(super) fn split(name: &str) -> (&str, u32) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (letters, name[letters.len()..].parse().unwrap_or(0))
}

/// Who can get to an empty square, the others and the own side: 1 without capturing, plus 2 by capturing.
pub(super) fn reach(letters: &str, digit: u32) -> (u32, u32) {
    match letters {
        "a" => (digit, 0),
        "p" => (0, digit),
        "b" => ((digit - 1) / 3 + 1, (digit - 1) % 3 + 1),
        _ => (0, 0),
    }
}

/// A formula in words.
///
/// # Errors
/// A name that means nothing.
pub fn sentence(formula: &Formula, vocabulary: &Vocabulary) -> Result<String, String> {
    Ok(said(&vocabulary.resolve(formula)?, vocabulary))
}

fn said(meaning: &Meaning, vocabulary: &Vocabulary) -> String {
    let several = |parts: &[Meaning], between: &str| {
        let part = |part: &Meaning| match part {
            Meaning::And(_) | Meaning::Or(_) => format!("({})", said(part, vocabulary)),
            _ => said(part, vocabulary),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(between)
    };
    match meaning {
        Meaning::Ground(ground) => ground_said(ground, true, vocabulary),
        Meaning::Not(inner) => match &**inner {
            Meaning::Ground(ground) => ground_said(ground, false, vocabulary),
            other => format!("not ({})", said(other, vocabulary)),
        },
        Meaning::And(parts) => several(parts, " and "),
        Meaning::Or(parts) => several(parts, " or "),
    }
}

fn ground_said(ground: &Ground, holds: bool, vocabulary: &Vocabulary) -> String {
    let (what, place) = (states(&ground.states, vocabulary), squares(&ground.squares, vocabulary));
    match &ground.scale {
        Scale::Part(_) => format!("{} {what} {place}", if holds { "many" } else { "few" }),
        Scale::AtLeast(least) => format!("{} {least} {what} {place}", if holds { "at least" } else { "fewer than" }),
        Scale::Ahead { least, .. } => {
            // Not so far ahead is behind, or ahead by less.
            let lead = match (holds, *least) {
                (true, 0) => "no fewer".to_owned(),
                (true, least) if least > 0 => format!("at least {least} more"),
                (true, least) => format!("at most {} fewer", -least),
                (false, 1) => "no more".to_owned(),
                (false, least) if least > 1 => format!("at most {} more", least - 1),
                (false, least) => format!("at least {} fewer", 1 - least),
            };
            format!("{lead} {what} {place} than the other side")
        }
    }
}

/// Squares in words: a region by its name, or a number of squares.
fn squares(squares: &[usize], vocabulary: &Vocabulary) -> String {
    let same = |(_, region): &&(String, Vec<usize>)| {
        let mut region = region.clone();
        region.sort_unstable();
        region == squares
    };
    let Some((name, _)) = vocabulary.regions.iter().find(same) else {
        return match squares {
            [only] => format!("on square {:?}", vocabulary.squares[*only]),
            _ => format!("on {} squares", squares.len()),
        };
    };
    let (letters, number) = split(name);
    match letters {
        "r" => format!("on rank {number}"),
        "f" => format!("on file {number}"),
        "bd" => format!("on falling diagonal {number}"),
        "fd" => format!("on rising diagonal {number}"),
        "cc" => format!("on ring {number} from the centre"),
        "all" => "on the board".to_owned(),
        _ => format!("on line {name}"),
    }
}

/// States in words: what all of them, and no others that occur, have in common; else one after the other.
fn states(states: &[StateId], vocabulary: &Vocabulary) -> String {
    let occurs = |state: &StateId| vocabulary.cardinalities.states[state.0 as usize] > 0;
    let all: Vec<StateId> = (0..vocabulary.states.len() as u16).map(StateId).filter(occurs).collect();
    let mut wanted: Vec<StateId> = states.iter().copied().filter(occurs).collect();
    wanted.sort_unstable();
    if let Some((words, _)) = common(vocabulary, &all).into_iter().find(|(_, group)| *group == wanted) {
        return words;
    }
    states.iter().map(|&state| single(&vocabulary.states[state.0 as usize])).collect::<Vec<_>>().join(" or ")
}

fn role(letters: &str) -> Option<&'static str> {
    match letters.chars().next()?.to_ascii_lowercase() {
        'o' => Some("own pieces"),
        'x' => Some("other's pieces"),
        'w' => Some("pieces of nobody"),
        _ => None,
    }
}

/// The number of a kind of pieces, from 1.
fn kind(letters: &str) -> u32 {
    match (letters.len(), letters.chars().next()) {
        (1, Some(first)) if first.is_ascii_lowercase() => 1,
        (1, _) => 2,
        _ => letters[1..].bytes().fold(0, |number, byte| 26 * number + u32::from(byte - b'a' + 1)),
    }
}

/// One state in words.
fn single(name: &str) -> String {
    let (letters, digit) = split(name);
    let Some(role) = role(letters) else {
        let (others, own) = reach(letters, digit);
        let way = |side: &str, way: u32| match way {
            0 => format!("{side} can't get to"),
            1 => format!("{side} can move to"),
            2 => format!("{side} can capture on"),
            _ => format!("{side} can move to and capture on"),
        };
        return format!("empty squares that {} and {}", way("the own side", own), way("the other side", others));
    };
    let properties = PROPERTIES.map(|(bit, what)| format!("{} {what}", if digit & bit > 0 { "can" } else { "can't" }));
    format!("{role} of kind {} that {}", kind(letters), properties.join(", "))
}

/// Groups of states that have something in common, each in words.
pub(super) fn common(vocabulary: &Vocabulary, all: &[StateId]) -> Vec<(String, Vec<StateId>)> {
    let name = |state: &StateId| split(&vocabulary.states[state.0 as usize]);
    let mut groups: Vec<(String, Vec<StateId>)> = Vec::new();
    let mut add = |words: String, wanted: &dyn Fn(&str, u32) -> bool| {
        let fits = |state: &&StateId| wanted(name(state).0, name(state).1);
        let group: Vec<StateId> = all.iter().filter(fits).copied().collect();
        if !group.is_empty() && groups.iter().all(|(_, other)| *other != group) {
            groups.push((words, group));
        }
    };
    let mut kinds: Vec<&str> = all.iter().map(|state| name(state).0).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // Empty squares: who can get there, and who can get there by capturing.
    for (way, how) in [(3, "get to"), (2, "capture on")] {
        add(format!("empty squares that the other side can {how}"), &|letters, digit| {
            reach(letters, digit).0 & way > 0
        });
        add(format!("empty squares that the own side can {how}"), &|letters, digit| reach(letters, digit).1 & way > 0);
    }
    // Pieces: of a role, and of a role and kind; all of them, and with each property and without it.
    for first in ["o", "x", "w"] {
        let of_role: Vec<&str> = kinds.iter().copied().filter(|kind| kind.to_lowercase().starts_with(first)).collect();
        let whole = (role(first).unwrap_or_default().to_owned(), of_role.clone());
        let each = of_role.iter().map(|&letters| (format!("{} of kind {}", whole.0, kind(letters)), vec![letters]));
        for (words, kinds) in std::iter::once(whole.clone()).chain(each) {
            let is = |letters: &str| kinds.contains(&letters);
            add(words.clone(), &|letters, _| is(letters));
            for (bit, what) in PROPERTIES {
                add(format!("{words} that can {what}"), &|letters, digit| is(letters) && digit & bit > 0);
                add(format!("{words} that can't {what}"), &|letters, digit| is(letters) && digit & bit == 0);
            }
        }
    }
    groups
}

/// Why a function likes a move, or does not: what a term contributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The term's phase, and its place there.
    pub term: (u32, usize),
    /// Its weight times its value for the one who moved less its value for the other side, in the position after the move.
    pub here: f64,
    /// The same, as a mean over the moves that were not made.
    pub elsewhere: f64,
}

impl Reason {
    /// How much it speaks for the move.
    pub fn pull(&self) -> f64 {
        self.here - self.elsewhere
    }
}

/// Which terms speak for a move and which against it, the strongest first: `chosen` and `others` are the positions that the move
/// and the other moves lead to, as the mover sees them. Terms that make no difference are left out.
///
/// # Errors
/// What the function says that means nothing.
pub fn reasons(
    function: &Function,
    vocabulary: &Vocabulary,
    chosen: &[StateId],
    others: &[Vec<StateId>],
) -> Result<Vec<Reason>, String> {
    let brain = Brain::new(function, vocabulary)?;
    let phases = function.phases.iter().filter(|(_, terms)| !terms.is_empty());
    let names = phases.clone().flat_map(|(phase, terms)| (0..terms.len()).map(|place| (*phase, place)));
    let weights: Vec<f64> = phases.flat_map(|(_, terms)| terms).map(|(weight, _)| *weight).collect();
    let contributions = |seen: &[StateId]| {
        let mut all = vec![0.0; weights.len()];
        let Some(terms) = brain.terms_at(vocabulary.phase(seen)) else { return all };
        let [own, others] = brain.terms(vocabulary, seen);
        for (place, (own, others)) in terms.zip(own.iter().zip(others)) {
            all[place] = weights[place] * (own - others);
        }
        all
    };
    let here = contributions(chosen);
    let mut elsewhere = vec![0.0; weights.len()];
    for other in others {
        let share = 1.0 / others.len() as f64;
        elsewhere.iter_mut().zip(contributions(other)).for_each(|(sum, part)| *sum += share * part);
    }
    let mut reasons: Vec<Reason> = names
        .zip(here.into_iter().zip(elsewhere))
        .map(|(term, (here, elsewhere))| Reason { term, here, elsewhere })
        .filter(|reason| reason.pull().abs() > 1e-12)
        .collect();
    reasons.sort_by(|one, other| other.pull().abs().total_cmp(&one.pull().abs()));
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use features::game::Game;
    use features::structural::fuzzy::{Pattern, Place, regions, text};

    use super::*;
    use crate::discover::cycle::{self, Run};
    use crate::discover::field::{self, Field};
    use crate::discover::tree;

    fn field(game: &str) -> Field {
        let text = std::fs::read(format!("../../games/{game}/rules.kif")).expect("a game of the library");
        let game = Arc::new(Game::new(gdl::read(game, &text).program, 1).expect("it has a network"));
        let settings = field::Settings { matches: 512, ..field::Settings::default() };
        Field::new(game, &settings).expect("a game for two with a board")
    }

    #[test]
    fn formulas_are_said() {
        let field = field("race-checkers");
        let said = |text: &str| {
            sentence(&text::formula(text).expect("it can be read"), &field.vocabulary).expect("it means something")
        };
        let own: Vec<&str> =
            field.vocabulary.states.iter().map(String::as_str).filter(|name| name.starts_with(['o', 'O'])).collect();
        let own = own.join(",");
        assert_eq!(said(&format!("({{{own}}}@r1>=2)")), "at least 2 own pieces on rank 1");
        assert_eq!(said(&format!("(~({{{own}}}@r1>=2))")), "fewer than 2 own pieces on rank 1");
        assert_eq!(
            said(&format!("({{{own}}}@all+>=1)")),
            "at least 1 more own pieces on the board than the other side"
        );
        assert_eq!(said(&format!("(~({{{own}}}@all+>=1))")), "no more own pieces on the board than the other side");
        assert_eq!(
            said(&format!("(({{{own}}}@cc1) & ((~({{{own}}}@f2)) | ({{n}}@fd3)))")),
            "many own pieces on ring 1 from the centre and (few own pieces on file 2 or many empty squares that the own side \
             can't get to and the other side can't get to on rising diagonal 3)"
        );
    }

    /// Whatever is learned speaks of states and regions that the analysis of the rules gave names to, and can be said.
    #[test]
    fn learned_symbols_come_from_the_rules() {
        for game in ["tic-tac-toe", "race-checkers"] {
            let field = field(game);
            let mut run = Run::default();
            let tree = tree::Settings { least: 8, ..tree::Settings::default() };
            let settings = cycle::Settings { lines: vec![100], guard: 2, tree, ..cycle::Settings::default() };
            run.cycle(&field, &settings).expect("sound settings");
            let function = &run.champions[0];
            let regions = regions(&field.game.structure.boards[field.squares.board]);
            let mut open: Vec<&Formula> =
                function.phases.iter().flat_map(|(_, terms)| terms).map(|(_, formula)| formula).collect();
            assert!(!open.is_empty());
            let mut n_ground = 0;
            while let Some(formula) = open.pop() {
                assert!(!sentence(formula, &field.vocabulary).expect("it can be said").is_empty());
                match formula {
                    Formula::Not(inner) => open.push(inner),
                    Formula::And(parts) | Formula::Or(parts) => open.extend(parts),
                    Formula::Count(patterns, Place::Region(name), _) => {
                        n_ground += 1;
                        assert!(regions.iter().any(|(region, _)| region == name), "{name}");
                        for pattern in patterns {
                            let Pattern::State(state) = pattern else { panic!("{pattern:?}") };
                            assert!(field.squares.state(state).is_some(), "{state}");
                        }
                    }
                    other => panic!("{other}"),
                }
            }
            assert!(n_ground > 0);
            assert_eq!(text::function(&function.to_string()).as_ref(), Ok(function));
        }
    }

    /// The reasons for a move add up to the difference that the function sees.
    #[test]
    fn reasons_add_up() {
        let field = field("tic-tac-toe");
        let vocabulary = &field.vocabulary;
        let text = "game g output logistic
            phase 1 { 2 * ({o*}@l1x2>=1) 1 * ({o*}@l2x1>=1) 0.5 * ({p1,b1,b2}@all) }
            phase 3 { 1 * ({o*}@all+>=1) }";
        let function = text::function(text).expect("it can be read");
        let examples = cycle::by_chance(&field, &[50], 2);
        let first: Vec<&[StateId]> =
            examples.iter().filter(|example| example.phase == 1).map(|example| &example.states[..]).collect();
        let others: Vec<Vec<StateId>> = first[1..].iter().map(|states| states.to_vec()).collect();
        assert!(others.len() > 3);
        let found = reasons(&function, vocabulary, first[0], &others).expect("it means something");
        assert!(!found.is_empty() && found.iter().all(|reason| reason.term.0 == 1));
        assert!(found.windows(2).all(|pair| pair[0].pull().abs() >= pair[1].pull().abs()));
        let brain = Brain::new(&function, vocabulary).expect("it means something");
        let score = |states: &[StateId]| {
            let share = (brain.think(vocabulary, states) - 0.01) / 0.98;
            (share / (1.0 - share)).ln()
        };
        let mean = others.iter().map(|states| score(states)).sum::<f64>() / others.len() as f64;
        let sum: f64 = found.iter().map(Reason::pull).sum();
        assert!((sum - (score(first[0]) - mean)).abs() < 1e-9, "{sum}");
    }
}
