//! What a person types: a move by its number, its name or the beginning of it, or a command.

use arena::term;

/// What can be said besides moves, with what it means.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("moves", "lists your moves"),
    ("board", "shows the board again"),
    ("hint", "what the machine would do in your place"),
    ("why", "why the machine likes its last move, or its hint"),
    ("undo", "takes your last move back"),
    ("new", "begins a new match; `new ROLE` in another seat"),
    ("help", "this list"),
    ("quit", "ends it"),
];

/// A line that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The legal move with this place in the list.
    Move(usize),
    /// One of [`COMMANDS`], and what stands after it.
    Command(&'static str, String),
    /// Several moves begin like this.
    Several(Vec<usize>),
    /// What may follow was asked for, by a question mark or a tabulator: these moves.
    Completions(Vec<usize>),
    Nothing,
    Unknown,
}

/// Reads a line. Each move has two names: as the rules write it, and as it is shown. Case, parentheses and white space don't matter.
pub(super) fn read(line: &str, moves: &[(String, String)]) -> Said {
    let asks = line.trim_end().ends_with('?') && line.trim() != "?" || line.contains('\t');
    let text = line.replace('\t', "");
    let text = if asks { text.trim().trim_end_matches('?') } else { text.trim() };
    let wanted = flat(text);
    if asks {
        return Said::Completions(beginning_with(&wanted, moves));
    }
    if text.is_empty() {
        return Said::Nothing;
    }
    // Step 1. A move, by its whole name or by its number in the list. Where numbers are names, the name counts.
    let is_named = |(rule, shown): &(String, String)| flat(rule) == wanted || flat(shown) == wanted;
    let named: Vec<usize> = (0..moves.len()).filter(|&place| is_named(&moves[place])).collect();
    match named[..] {
        [only] => return Said::Move(only),
        [] => {}
        _ => return Said::Several(named),
    }
    if let Some(place) =
        text.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|&p| p < moves.len())
    {
        return Said::Move(place);
    }
    // Step 2. A command, by its beginning.
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let word = word.to_lowercase();
    let mut commands = COMMANDS.iter().filter(|(command, _)| command.starts_with(&word));
    if word == "?" {
        return Said::Command("help", String::new());
    }
    if let (Some((command, _)), None) = (commands.next(), commands.next())
        && (rest.is_empty() || *command == "new")
    {
        return Said::Command(command, rest.trim().to_owned());
    }
    // Step 3. The beginning of a move.
    let begun = beginning_with(&wanted, moves);
    match begun[..] {
        [] => Said::Unknown,
        [only] => Said::Move(only),
        _ => Said::Several(begun),
    }
}

fn beginning_with(wanted: &str, moves: &[(String, String)]) -> Vec<usize> {
    let begins = |(rule, shown): &(String, String)| flat(rule).starts_with(wanted) || flat(shown).starts_with(wanted);
    (0..moves.len()).filter(|&place| begins(&moves[place])).collect()
}

/// A name without parentheses, in lower case, with single spaces.
fn flat(text: &str) -> String {
    let form = term::canonical(text).unwrap_or_else(|| text.to_lowercase());
    form.replace(['(', ')'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves() -> Vec<(String, String)> {
        [("(move a 2 b 3)", "a2-b3"), ("(move a 2 a 3)", "a2-a3"), ("(move b 2 a 3)", "b2-a3"), ("noop", "pass")]
            .map(|(rule, shown)| (rule.to_owned(), shown.to_owned()))
            .to_vec()
    }

    #[test]
    fn moves_are_understood_by_number_name_and_beginning() {
        for (line, place) in [
            ("1", 0),
            (" 4 ", 3),
            ("a2-b3", 0),
            ("A2-B3", 0),
            ("(MOVE  a 2 a 3)", 1),
            ("move b 2 a 3", 2),
            ("move b", 2),
            ("b2", 2),
            ("pa", 3),
            ("noop", 3),
        ] {
            assert_eq!(read(line, &moves()), Said::Move(place), "{line}");
        }
        assert_eq!(read("a2", &moves()), Said::Several(vec![0, 1]));
        assert_eq!(read("mov", &moves()), Said::Command("moves", String::new()));
        assert_eq!(read("move a", &moves()), Said::Several(vec![0, 1]));
        for line in ["9", "0", "c4", "move c"] {
            assert_eq!(read(line, &moves()), Said::Unknown, "{line}");
        }
        assert_eq!(read("  ", &moves()), Said::Nothing);
    }

    #[test]
    fn commands_may_be_short_and_ask_for_completion() {
        for (line, command) in
            [("u", "undo"), ("HINT", "hint"), ("w", "why"), ("?", "help"), ("q", "quit"), ("b", "board")]
        {
            assert_eq!(read(line, &[]), Said::Command(command, String::new()), "{line}");
        }
        assert_eq!(read("new black", &moves()), Said::Command("new", "black".to_owned()));
        assert_eq!(read("a2?", &moves()), Said::Completions(vec![0, 1]));
        assert_eq!(read("move b\t", &moves()), Said::Completions(vec![2]));
        assert_eq!(read("\t", &moves()), Said::Completions(vec![0, 1, 2, 3]));
    }

    /// Where moves are numbers, a number is the move of that name.
    #[test]
    fn names_go_before_numbers() {
        let moves = [("3", "3"), ("1", "1")].map(|(rule, shown)| (rule.to_owned(), shown.to_owned()));
        assert_eq!(read("1", &moves), Said::Move(1));
        assert_eq!(read("2", &moves), Said::Move(1));
    }
}
