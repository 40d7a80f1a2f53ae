//! Play-lines as examples: each position once, with the class that the results of its matches give it.

use features::structural::fuzzy::Vocabulary;
use features::structural::fuzzy::compile::End;
use features::structural::squares::StateId;
use rustc_hash::FxHashMap;

/// How many classes there are.
pub const N_CLASSES: usize = 3;

/// The class with a number.
pub const CLASSES: [End; N_CLASSES] = [End::Won, End::Lost, End::Drawn];

/// A class as a number, for counting.
pub fn number(class: End) -> usize {
    CLASSES.iter().position(|&other| other == class).expect("all classes are listed")
}

/// A match, as those saw it who moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The positions that somebody moved into and in which the match went on: the role that moved, and the states of the
    /// squares as it saw them.
    pub seen: Vec<(u32, Vec<StateId>)>,
    /// Each role's result.
    pub ends: [End; 2],
}

/// How matches ended for the one who moved into a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Counts, by the numbers of the classes.
    pub counts: [u32; N_CLASSES],
}

impl Tally {
    /// The class: what happened most often. As many wins as losses are a draw; draws give way to either of them.
    pub fn class(self) -> End {
        let [won, lost, drawn] = self.counts;
        match won.cmp(&lost) {
            std::cmp::Ordering::Greater if won >= drawn => End::Won,
            std::cmp::Ordering::Less if lost >= drawn => End::Lost,
            _ => End::Drawn,
        }
    }
}

/// A position with its class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The states of the squares as the role sees them that moved into the position.
    pub states: Vec<StateId>,
    /// The phase of the match.
    pub phase: u32,
    /// What happened afterwards.
    pub tally: Tally,
}

/// Adds the positions of play-lines to examples: each once, in the order in which they were first seen.
pub fn add<'a>(vocabulary: &Vocabulary, lines: impl IntoIterator<Item = &'a Line>, to: Vec<Example>) -> Vec<Example> {
    let mut examples = to;
    let mut places: FxHashMap<Vec<StateId>, usize> =
        examples.iter().enumerate().map(|(place, example)| (example.states.clone(), place)).collect();
    for line in lines {
        for (role, states) in &line.seen {
            let place = places.get(states).copied().unwrap_or_else(|| {
                let phase = vocabulary.phase(states);
                examples.push(Example { states: states.clone(), phase, tally: Tally::default() });
                places.insert(states.clone(), examples.len() - 1);
                examples.len() - 1
            });
            examples[place].tally.counts[number(line.ends[*role as usize])] += 1;
        }
    }
    examples
}

/// The examples of each phase that has some, as places in the list, ascending. With an overlap, examples also belong to
/// as many phases before and after their own.
pub fn by_phase(examples: &[Example], n_phases: u32, overlap: u32) -> Vec<(u32, Vec<usize>)> {
    let near = |phase: u32| {
        (0..examples.len()).filter(|&place| examples[place].phase.abs_diff(phase) <= overlap).collect::<Vec<_>>()
    };
    (0..n_phases).map(|phase| (phase, near(phase))).filter(|(_, places)| !places.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_between_classes() {
        let class = |won, drawn, lost| Tally { counts: [won, lost, drawn] }.class();
        assert_eq!(class(24, 24, 23), End::Won);
        assert_eq!(class(3, 1, 3), End::Drawn);
        assert_eq!(class(1, 4, 4), End::Lost);
        assert_eq!(class(2, 2, 2), End::Drawn);
        assert_eq!(class(2, 3, 1), End::Drawn);
        assert_eq!(class(1, 0, 2), End::Lost);
        assert_eq!(class(5, 2, 1), End::Won);
    }

    #[test]
    fn examples_may_belong_to_phases_around_their_own() {
        let at = |phase| Example { states: Vec::new(), phase, tally: Tally::default() };
        let examples = [at(0), at(2), at(3), at(2)];
        assert_eq!(by_phase(&examples, 5, 0), [(0, vec![0]), (2, vec![1, 3]), (3, vec![2])]);
        assert_eq!(
            by_phase(&examples, 5, 1),
            [(0, vec![0]), (1, vec![0, 1, 3]), (2, vec![1, 2, 3]), (3, vec![1, 2, 3]), (4, vec![2])]
        );
    }
}
