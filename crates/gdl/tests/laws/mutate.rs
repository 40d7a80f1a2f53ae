//! Small changes to rule texts, for tests that look at many of them.

/// A generator of pseudo-random numbers (xorshift64*, Vigna 2016): enough for tests, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n.max(1)
    }
}

const WORDS: &[&str] = &[
    "(",
    ")",
    "<=",
    "not",
    "or",
    "and",
    "distinct",
    "role",
    "init",
    "true",
    "next",
    "legal",
    "does",
    "goal",
    "terminal",
    "base",
    "input",
    "sees",
    "?x",
    "?y",
    "p",
    "(p ?x)",
    "(not (p ?x))",
    "(or p q)",
    "0",
    "100",
    ":-",
    "&",
    "|",
    "~",
    ",",
    ".",
    "'",
    "X",
    "_",
    "%",
    ";",
    "\n",
    "\u{feff}",
    "é",
];

/// Changes a text here and there: words are replaced, removed, repeated or exchanged, lists as a whole as well as single
/// words, and now and then single characters.
pub(crate) fn mutate(text: &str, random: &mut Random) -> String {
    let mut tokens = tokens(text);
    for _ in 0..1 + random.below(4) {
        let here = expression(&tokens, random.below(tokens.len()));
        let there = expression(&tokens, random.below(tokens.len()));
        let other: Vec<String> = tokens[there].to_vec();
        match random.below(8) {
            0 => drop(tokens.splice(here, [])),
            1 => drop(tokens.splice(here.end..here.end, tokens[here.clone()].to_vec())),
            2 => drop(tokens.splice(here, [WORDS[random.below(WORDS.len())].to_owned()])),
            3 => drop(tokens.splice(here.start..here.start, [WORDS[random.below(WORDS.len())].to_owned()])),
            4 => {
                // A name everywhere becomes another one.
                let (old, new) = (tokens[here.start.min(tokens.len() - 1)].clone(), WORDS[random.below(WORDS.len())]);
                tokens.iter_mut().filter(|token| **token == old).for_each(|token| new.clone_into(token));
            }
            _ => drop(tokens.splice(here, other)),
        }
        if tokens.is_empty() {
            tokens.push("(p)".to_owned());
        }
    }
    tokens.concat()
}

/// Words, parentheses and what is between them.
fn tokens(text: &str) -> Vec<String> {
    let class = |c: char| if matches!(c, '(' | ')') { 0 } else { 1 + usize::from(c.is_whitespace()) };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = 0;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if class(c) == last && last != 0 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = class(c);
    }
    tokens
}

/// The list that opens here, or the token.
fn expression(tokens: &[String], start: usize) -> std::ops::Range<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return start..index + 1;
        }
    }
    start..tokens.len()
}
