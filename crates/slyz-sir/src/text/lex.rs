//! Text to tokens. Knows no keyword: a word means what the parser expects where it stands, so that sizes, memories
//! and functions may have any name.

use super::error::ParseError;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// A letter or `_`, then letters, digits and `_`.
    Word(&'t str),
    /// What follows a `%`.
    Name(&'t str),
    /// Starts with a digit; whether it is a number of some type is seen when the type is known.
    Number(&'t str),
    /// What stands between quotes.
    Text(&'t str),
    /// Punctuation.
    Mark(&'static str),
    /// After the last token.
    End,
}

/// A token and where it starts, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub kind: Kind<'t>,
    pub at: usize,
}

/// Longer marks before their prefixes.
const MARKS: [&str; 20] =
    ["->", "==", "<=", "(", ")", "[", "]", "{", "}", "<", ">", "|", ":", ",", ";", "=", "+", "*", "/", "."];

impl Kind<'_> {
    /// The token for a message.
    pub fn describe(self) -> String {
        match self {
            Kind::Word(word) | Kind::Number(word) => format!("`{}`", clipped(word)),
            Kind::Name(name) => format!("`%{}`", clipped(name)),
            Kind::Text(text) => format!("`\"{}\"`", clipped(text)),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::End => "the end of the text".to_string(),
        }
    }
}

/// Enough of a token to recognise it.
fn clipped(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// All tokens of the text; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += blank(&text[at..]);
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else {
            tokens.push(Token { kind: Kind::End, at });
            return Ok(tokens);
        };
        let (kind, length) =
            token(rest, first).map_err(|(expected, found)| ParseError::new(text, at, expected, found))?;
        tokens.push(Token { kind, at });
        at += length;
    }
}

/// Bytes of blanks and comments in front.
fn blank(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if !rest.starts_with("//") {
            return text.len() - rest.len();
        }
        rest = rest.find('\n').map_or("", |n| &rest[n..]);
    }
}

/// The token in front and its length, or what was expected and found.
fn token(rest: &str, first: char) -> Result<(Kind<'_>, usize), (&'static str, String)> {
    if first.is_ascii_digit() {
        let length = number(rest);
        return Ok((Kind::Number(&rest[..length]), length));
    }
    if first == '_' || first.is_alphabetic() {
        let length = word(rest);
        return Ok((Kind::Word(&rest[..length]), length));
    }
    if first == '%' {
        let length = word(&rest[1..]);
        let found = || format!("`{}`", rest.chars().take(2).collect::<String>().escape_debug());
        return if length > 0 {
            Ok((Kind::Name(&rest[1..1 + length]), 1 + length))
        } else {
            Err(("a name after `%`, such as `%0`", found()))
        };
    }
    if first == '"' {
        let inner = rest[1..].lines().next().unwrap_or("");
        let length =
            closing_quote(inner).ok_or(("a closing `\"` on the same line", "the end of the line".to_string()))?;
        return Ok((Kind::Text(&inner[..length]), length + 2));
    }
    if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
        return Ok((Kind::Mark(mark), mark.len()));
    }
    if first == '-' {
        return Ok((Kind::Mark("-"), 1));
    }
    Err(("a word, a name, a number or punctuation", format!("`{}`", first.escape_debug())))
}

/// Where the text ends; behind a `\\` stands what is part of it.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// Bytes of letters, digits and `_` in front.
fn word(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len())
}

/// Bytes of a number in front: `12`, `1.5`, `1e-7`, `0x7f`, and letters stuck to it, which the parser turns down.
fn number(text: &str) -> usize {
    let mut length = word(text);
    if text[length..].starts_with('.') && text[length + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        length += 1 + word(&text[length + 1..]);
    }
    let exponent = text[..length].ends_with(['e', 'E']) && !text.starts_with("0x");
    if exponent && text[length..].starts_with(['+', '-']) {
        length += 1 + word(&text[length + 1..]);
    }
    length
}
