//! Rule text and places in it.

use std::fmt;

/// A half-open range of bytes in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`, in bytes.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a range of indices into the text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The longest rule text that is read, in bytes. The largest known game has under 100 kB.
pub const MAX_SOURCE_BYTES: usize = 4 << 20;

/// How much is kept of a text that is longer than [`MAX_SOURCE_BYTES`], in bytes: enough to show what it is.
const KEPT_BYTES: usize = 80;

/// A rule text with the name it is reported under.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<u32>,
    oversized: bool,
}

impl Source {
    /// A source with this name, usually a path, and text. Of a text longer than [`MAX_SOURCE_BYTES`] only the first
    /// few words are kept: it will be refused.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        let mut text = text.into();
        let oversized = text.len() > MAX_SOURCE_BYTES;
        if oversized {
            text.truncate(text.floor_char_boundary(KEPT_BYTES));
        }
        Source { oversized, ..Source::of_any_length(name, text) }
    }

    /// A source of our own making, which may be longer than what others send: a text of theirs under longer names, for
    /// example.
    pub fn of_any_length(name: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        let starts = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Source { name: name.into(), text, lines, oversized: false }
    }

    /// Whether the text was too long to be kept.
    pub fn is_oversized(&self) -> bool {
        self.oversized
    }

    /// The name that diagnostics show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    /// The line and column, from 1 and in characters, of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line(offset);
        let before = &self.text[self.lines[line] as usize..offset as usize];
        Position { line: 1 + line as u32, column: 1 + before.chars().count() as u32 }
    }

    /// The lines that a span touches: their text, where it begins, and the number of the first, from 1. A last line
    /// that goes on and on is cut.
    pub(crate) fn lines(&self, span: Span) -> (&str, u32, u32) {
        let first = self.line(span.start);
        let end = self.lines.get(self.line(span.end) + 1).map_or(self.text.len(), |&end| end as usize);
        let end = end.min(self.text.floor_char_boundary(span.end as usize + 1000));
        let start = self.lines[first];
        (&self.text[start as usize..end], start, 1 + first as u32)
    }

    /// The index of the line that a byte offset lies in.
    fn line(&self, offset: u32) -> usize {
        self.lines.partition_point(|&start| start <= offset) - 1
    }
}

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
