//! What managers and players say to each other.
//!
//! Accepted of a manager, besides the usual forms:
//! - any case of the words `START`, `PLAY` and so on, and any white space, comments included;
//! - match names that are quoted, and that contain anything but white space and parentheses where they are not;
//! - clocks with a decimal point, so that our own matches can be short, and further elements behind those we know;
//! - `NIL`, `()` or nothing at all where there are no last moves, and any other single word, as the usual players do;
//! - a missing last parenthesis.

use std::fmt;
use std::time::Duration;

use crate::term::{self, elements};

/// A clock may not be longer than this: a day.
pub const MAX_CLOCK: Duration = Duration::from_secs(86_400);

/// What a manager says to a player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who are you, and are you free?
    Info,
    /// A game that may come soon.
    Preview {
        /// The rules.
        rules: String,
        /// Time to look at them.
        clock: Duration,
    },
    /// A match begins.
    Start {
        /// The name of the match.
        id: String,
        /// The player's role.
        role: String,
        /// The rules.
        rules: String,
        /// Time to prepare.
        start: Duration,
        /// Time for a move.
        play: Duration,
    },
    /// Make a move.
    Play {
        /// The name of the match.
        id: String,
        /// What the roles did last.
        last: Option<Vec<String>>,
    },
    /// The match is over.
    Stop {
        /// The name of the match.
        id: String,
        /// What the roles did last.
        last: Option<Vec<String>>,
    },
    /// The match ends without a result.
    Abort {
        /// The name of the match.
        id: String,
    },
}

/// Why a message can't be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misunderstood {
    /// It is no list.
    NoList,
    /// Its first word is none that we know.
    Unknown(String),
    /// Something is missing or is not what it should be.
    Wrong {
        /// The kind of message.
        kind: &'static str,
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for Misunderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misunderstood::NoList => write!(f, "a message is a list such as (INFO)"),
            Misunderstood::Unknown(word) => {
                write!(f, "{word:?} is none of INFO, PREVIEW, START, PLAY, STOP and ABORT")
            }
            Misunderstood::Wrong { kind, expected } => write!(f, "{kind} needs {expected}"),
        }
    }
}

impl Message {
    /// Reads a message.
    pub fn read(text: &str) -> Result<Message, Misunderstood> {
        let text = text.trim_start_matches('\u{feff}');
        let parts = elements(text).ok_or(Misunderstood::NoList)?;
        let (head, rest) = parts.split_first().ok_or(Misunderstood::NoList)?;
        match head.to_ascii_lowercase().as_str() {
            "info" | "ping" => Ok(Message::Info),
            "preview" => {
                let wrong = Misunderstood::Wrong { kind: "PREVIEW", expected: "a list of rules and a clock" };
                let [rules, clock, ..] = rest else { return Err(wrong) };
                let read = || Some(Message::Preview { rules: inner(rules)?, clock: seconds(clock)? });
                read().ok_or(wrong)
            }
            "start" => {
                let expected = "a match name, a role, a list of rules, a start clock and a play clock in seconds";
                let wrong = Misunderstood::Wrong { kind: "START", expected };
                let [id, role, rules, start, play, ..] = rest else { return Err(wrong) };
                let read = || {
                    Some(Message::Start {
                        id: word(id)?,
                        role: term::canonical(role)?,
                        rules: inner(rules)?,
                        start: seconds(start)?,
                        play: seconds(play)?,
                    })
                };
                read().ok_or(wrong)
            }
            "play" => moves(rest, "PLAY").map(|(id, last)| Message::Play { id, last }),
            "stop" => moves(rest, "STOP").map(|(id, last)| Message::Stop { id, last }),
            "abort" => {
                let id = rest.first().and_then(|id| word(id));
                let wrong = Misunderstood::Wrong { kind: "ABORT", expected: "a match name" };
                Ok(Message::Abort { id: id.ok_or(wrong)? })
            }
            _ => Err(Misunderstood::Unknown(head.chars().take(40).collect())),
        }
    }
}

/// Writes a message as the usual managers do.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = |last: &Option<Vec<String>>| match last {
            None => "NIL".to_owned(),
            Some(moves) => {
                let moves: Vec<String> = moves.iter().map(|chosen| term::spaced(chosen)).collect();
                format!("({} )", moves.join(" "))
            }
        };
        // Rules may end in a comment, which ends with its line.
        let end = |rules: &str| if rules.contains(';') { '\n' } else { ' ' };
        match self {
            Message::Info => write!(f, "( INFO )"),
            Message::Preview { rules, clock } => {
                write!(f, "( PREVIEW ({rules}{}) {} )", end(rules), clock_text(*clock))
            }
            Message::Start { id, role, rules, start, play } => {
                let (end, start, play) = (end(rules), clock_text(*start), clock_text(*play));
                write!(f, "( START {id} {role} ({rules}{end}) {start} {play})")
            }
            Message::Play { id, last: made } => write!(f, "( PLAY {id} {} )", last(made)),
            Message::Stop { id, last: made } => write!(f, "( STOP {id} {} )", last(made)),
            Message::Abort { id } => write!(f, "( ABORT {id} )"),
        }
    }
}

/// A clock in seconds: a whole number if it is one, since other players read nothing else.
fn clock_text(clock: Duration) -> String {
    if clock.subsec_nanos() == 0 { clock.as_secs().to_string() } else { clock.as_secs_f64().to_string() }
}

/// What stands in a list.
fn inner(list: &str) -> Option<String> {
    Some(list.strip_prefix('(')?.strip_suffix(')')?.trim().to_owned())
}

/// A word; one whose quotation mark is not closed is none.
fn word(text: &str) -> Option<String> {
    let is_open = |quote: char| text.strip_prefix(quote).is_some_and(|rest| !rest.ends_with(quote));
    (!text.starts_with('(') && !is_open('"') && !is_open('|')).then(|| text.to_owned())
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim_matches('"').parse().ok()?;
    let bounded = if seconds > MAX_CLOCK.as_secs_f64() { MAX_CLOCK.as_secs_f64() } else { seconds };
    Duration::try_from_secs_f64(bounded).ok()
}

type Made = (String, Option<Vec<String>>);

fn moves(rest: &[&str], kind: &'static str) -> Result<Made, Misunderstood> {
    let wrong = Misunderstood::Wrong { kind, expected: "a match name and a list of moves, or NIL" };
    let (id, rest) = rest.split_first().ok_or(wrong.clone())?;
    let id = word(id).ok_or(wrong.clone())?;
    let Some(list) = rest.first().filter(|list| list.starts_with('(')) else { return Ok((id, None)) };
    let moves = elements(list).ok_or(wrong.clone())?;
    if moves.is_empty() {
        return Ok((id, None));
    }
    let moves = moves.into_iter().map(term::canonical).collect::<Option<Vec<String>>>();
    Ok((id, Some(moves.ok_or(wrong)?)))
}

/// What a player says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Its name.
    pub name: Option<String>,
    /// `available` or `busy`.
    pub status: Option<String>,
}

impl Info {
    /// Reads the reply to `INFO`: pairs in a list, or a status alone.
    pub fn read(text: &str) -> Info {
        let mut info = Info::default();
        let Some(pairs) = elements(text) else {
            let status = text.trim();
            info.status = (!status.is_empty()).then(|| status.to_ascii_lowercase());
            return info;
        };
        for pair in pairs {
            let words = elements(pair).unwrap_or_default();
            let Some((key, value)) = words.split_first() else { continue };
            let value = (!value.is_empty()).then(|| value.join(" "));
            match key.to_ascii_lowercase().as_str() {
                "name" => info.name = value,
                "status" => info.status = value.map(|status| status.to_ascii_lowercase()),
                _ => {}
            }
        }
        info
    }
}

/// Writes the reply to `INFO`. A name is one word, since that is what others read.
impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: String = self.name.as_deref().unwrap_or("Senet").chars().map(as_word).collect();
        let status = self.status.as_deref().unwrap_or("available");
        write!(f, "( ( name {name} ) ( status {status} ) ( species alien ) )")
    }
}

fn as_word(letter: char) -> char {
    if letter.is_ascii_alphanumeric() || "-_.+".contains(letter) { letter } else { '_' }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn play(id: &str, last: Option<&[&str]>) -> Message {
        let last = last.map(|moves| moves.iter().map(|&chosen| chosen.to_owned()).collect());
        Message::Play { id: id.to_owned(), last }
    }

    /// Messages in the forms in which the managers of the field send them.
    #[test]
    fn what_managers_send_is_understood() {
        // ggp-base: blanks inside parentheses, a blank behind each move, the clocks' parenthesis close.
        let start =
            "( START Base.tic.1 xplayer (( role xplayer ) ( role oplayer ) ( <= ( goal ?p 100 ) ( line ?p ) ) ) 30 15)";
        let Ok(Message::Start { id, role, rules, start, play: clock }) = Message::read(start) else { panic!() };
        assert_eq!((id.as_str(), role.as_str()), ("Base.tic.1", "xplayer"));
        assert_eq!(rules, "( role xplayer ) ( role oplayer ) ( <= ( goal ?p 100 ) ( line ?p ) )");
        assert_eq!((start.as_secs(), clock.as_secs()), (30, 15));
        assert_eq!(Message::read("( PLAY Base.tic.1 NIL )"), Ok(play("Base.tic.1", None)));
        let made = "( PLAY Base.tic.1 (( mark 1 1 ) noop ) )";
        assert_eq!(Message::read(made), Ok(play("Base.tic.1", Some(&["(mark 1 1)", "noop"]))));
        assert_eq!(Message::read("( INFO )"), Ok(Message::Info));
        assert_eq!(Message::read("( ABORT Base.tic.1 )"), Ok(Message::Abort { id: "Base.tic.1".to_owned() }));
        // The web managers: lower case, no blanks, several lines.
        assert_eq!(Message::read("(info)"), Ok(Message::Info));
        assert_eq!(Message::read("(play m23 nil)"), Ok(play("m23", None)));
        assert_eq!(
            Message::read("(PLAY\r\n m23\r\n ((MARK 1 1)\n NOOP))\r\n"),
            Ok(play("m23", Some(&["(mark 1 1)", "noop"])))
        );
        assert_eq!(Message::read("(PLAY m23 ())"), Ok(play("m23", None)));
        assert_eq!(Message::read("(PLAY m23)"), Ok(play("m23", None)));
        // Older managers: Dresden's names, a comment, a quoted name, a missing parenthesis.
        assert_eq!(
            Message::read("; hello\n(PLAY GAME-2007.01 (NOOP NOOP)"),
            Ok(play("GAME-2007.01", Some(&["noop", "noop"])))
        );
        assert_eq!(Message::read("(Play \"a match\" NIL)"), Ok(play("\"a match\"", None)));
        let stop = Message::Stop { id: "m".to_owned(), last: Some(vec!["(a b)".to_owned()]) };
        assert_eq!(Message::read("(stop m ((A  B)))"), Ok(stop));
        let preview = Message::Preview { rules: "(role a)".to_owned(), clock: Duration::from_secs(10) };
        assert_eq!(Message::read("( PREVIEW ((role a) ) 10 )"), Ok(preview));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_reason() {
        let no = |text: &str| Message::read(text).expect_err(text).to_string();
        assert!(no("").contains("(INFO)"));
        assert!(no("hello").contains("(INFO)"));
        assert!(no("()").contains("(INFO)"));
        assert!(no("(MOVE m)").contains("\"MOVE\""));
        assert!(no("(START m white (role white) soon 10)").contains("START needs"));
        assert!(no("(START m white ((role white)) -1 10)").contains("START needs"));
        assert!(no("(START m white ((role white)) NaN 10)").contains("START needs"));
        assert!(no("(PLAY)").contains("PLAY needs"));
        assert!(no("(PLAY (m) NIL)").contains("PLAY needs"));
    }

    #[test]
    fn clocks_are_bounded() {
        let Ok(Message::Start { start, play, .. }) = Message::read("(START m a ((role a)) 1e30 0.25)") else {
            panic!()
        };
        assert_eq!((start, play), (MAX_CLOCK, Duration::from_millis(250)));
    }

    #[test]
    fn players_tell_who_they_are() {
        let info = Info { name: Some("Senet (fast)".to_owned()), status: Some("busy".to_owned()) };
        assert_eq!(info.to_string(), "( ( name Senet__fast_ ) ( status busy ) ( species alien ) )");
        assert_eq!(Info::read("((NAME Sancho_1.61) (STATUS Available))").status.as_deref(), Some("available"));
        assert_eq!(Info::read("( ( name a ) ( status busy ) )").name.as_deref(), Some("a"));
        assert_eq!(Info::read("available"), Info { name: None, status: Some("available".to_owned()) });
        assert_eq!(Info::read("").status, None);
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_is_too_strange(text in "\\PC{0,60}") {
            let _ = Message::read(&text);
            Info::read(&text);
        }

        #[test]
        fn damaged_messages_do_no_harm(cut in 0usize..90, at in 0usize..90, byte: u8) {
            let mut text = b"( START Base.tic.1 xplayer (( role xplayer ) ( init ( cell 1 1 b ) ) ) 30 15)".to_vec();
            let at = at.min(text.len() - 1);
            text[at] = byte;
            text.truncate(cut);
            let _ = Message::read(&String::from_utf8_lossy(&text));
        }

        #[test]
        fn what_is_written_is_read(id in "[a-zA-Z0-9._-]{1,12}", moves in proptest::option::of(proptest::collection::vec("[a-z][a-z0-9]{0,5}|\\([a-z]{1,4} [0-9]\\)", 1..4)), start in 0u64..10_000) {
            let clock = Duration::from_millis(start * 50);
            for message in [
                Message::Play { id: id.clone(), last: moves.clone() },
                Message::Stop { id: id.clone(), last: moves.clone() },
                Message::Abort { id: id.clone() },
                Message::Info,
                Message::Preview { rules: "(role a)".to_owned(), clock },
                Message::Preview { rules: "(role a) ; the only one".to_owned(), clock },
                Message::Start { id: id.clone(), role: "a".to_owned(), rules: "(role a)".to_owned(), start: clock, play: clock },
            ] {
                prop_assert_eq!(Message::read(&message.to_string()), Ok(message));
            }
        }
    }
}
