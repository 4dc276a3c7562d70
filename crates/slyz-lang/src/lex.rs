//! Text to tokens.
//!
//! Blanks and comments fall away; a token only remembers whether a new line began in front of it, since lines end
//! statements. What is no token is reported here and becomes [`Kind::Wrong`], about which the parser says nothing more.

mod number;

use crate::diagnostic::Diagnostic;
use crate::span::Span;
use slyz_sir::types::Ty;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'t> {
    pub kind: Kind<'t>,
    pub span: Span,
    /// Does a new line begin between the token before and this one?
    pub line_before: bool,
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'t> {
    /// A name or a word of the language.
    Word(&'t str),
    /// `17`, `0xffu8`.
    Int(u128, Option<Ty>),
    /// The digits as Rust reads them: `1.5`, `1e-3`.
    Float(String, Option<Ty>),
    /// A text, its escapes resolved.
    Text(String),
    /// Punctuation.
    Mark(&'static str),
    /// Reported already.
    Wrong,
    /// The end of the file; always the last token.
    End,
}

/// Longer marks before their prefixes.
const MARKS: [&str; 48] = [
    "<<=", ">>=", "..=", "...", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "*+", "::", "..", "(", ")", "[", "]", "{", "}", "<", ">", "+", "-", "*", "/", "%", "&",
    "|", "^", "!", "=", ":", ",", ";", ".", "?",
];

/// What people paste, and what they mean.
const LOOKALIKES: [(char, &str); 14] = [
    ('“', "\""),
    ('”', "\""),
    ('„', "\""),
    ('−', "-"),
    ('–', "-"),
    ('—', "-"),
    ('×', "*"),
    ('·', "*"),
    ('÷', "/"),
    ('≤', "<="),
    ('≥', ">="),
    ('≠', "!="),
    ('→', "->"),
    ('…', ".."),
];

impl Kind<'_> {
    /// The token for a message.
    pub fn describe(&self) -> String {
        match self {
            Kind::Word(word) => format!("`{}`", clipped(word)),
            Kind::Int(..) | Kind::Float(..) => "a number".to_string(),
            Kind::Text(_) => "a text".to_string(),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::Wrong => "something else".to_string(),
            Kind::End => "the end of the file".to_string(),
        }
    }
}

/// Enough of a word to recognise it.
pub(crate) fn clipped(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// All tokens of a text, the last one being [`Kind::End`], and what is wrong with them.
pub(crate) fn tokens(text: &str) -> (Vec<Token<'_>>, Vec<Diagnostic>) {
    if u32::try_from(text.len()).is_err() {
        let error = Diagnostic::error("file-size", Span::default(), "a file of 4 GiB or more").help("split it");
        return (vec![Token { kind: Kind::End, span: Span::default(), line_before: true }], vec![error]);
    }
    // Editors of some systems put an invisible mark at the start.
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lexer = Lexer { text, at: start, tokens: vec![], diagnostics: vec![] };
    lexer.run();
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token<'t>>,
    diagnostics: Vec<Diagnostic>,
}

impl<'t> Lexer<'t> {
    fn run(&mut self) {
        loop {
            let line_before = self.blank() || self.tokens.is_empty();
            let start = self.at;
            let kind = self.token();
            let done = kind == Kind::End;
            self.tokens.push(Token { kind, span: self.since(start), line_before });
            if done {
                return;
            }
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn since(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }

    fn error(&mut self, start: usize, rule: &'static str, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(rule, self.since(start), message).help(help));
    }

    /// Goes past blanks and comments; is there a new line among them?
    fn blank(&mut self) -> bool {
        let start = self.at;
        loop {
            let rest = self.rest();
            let inked = rest.trim_start();
            self.at += rest.len() - inked.len();
            if inked.starts_with("//") {
                self.at += inked.find('\n').unwrap_or(inked.len());
            } else if inked.starts_with("/*") {
                self.comment();
            } else {
                return self.text[start..self.at].contains('\n');
            }
        }
    }

    /// `/* .. */`, with others inside.
    fn comment(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut open = 0usize;
        while let Some(pair) = bytes.get(self.at..self.at + 2) {
            match pair {
                b"/*" => open += 1,
                b"*/" => open -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if open == 0 {
                return;
            }
        }
        self.at = start + 2;
        self.error(start, "unclosed", "this comment is never closed", "write `*/` where it ends");
        self.at = self.text.len();
    }

    fn token(&mut self) -> Kind<'t> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Kind::End };
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '_' || first.is_alphabetic() {
            let length = word(rest);
            self.at += length;
            return Kind::Word(&rest[..length]);
        }
        if first == '"' {
            return self.string();
        }
        if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
            self.at += mark.len();
            return Kind::Mark(mark);
        }
        self.stranger(first)
    }

    /// `"text"`, on one line.
    fn string(&mut self) -> Kind<'t> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.rest().chars().next().filter(|&c| c != '\n') else {
                self.at -= usize::from(self.text[start..self.at].ends_with('\r'));
                self.error(start, "unclosed", "this text is never closed", "end it with `\"` on the same line");
                return Kind::Wrong;
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Kind::Text(text),
                '\\' => self.escape(&mut text),
                _ => text.push(c),
            }
        }
    }

    /// What stands behind a `\`.
    fn escape(&mut self, text: &mut String) {
        let start = self.at - 1;
        let Some(c) = self.rest().chars().next().filter(|&c| c != '\n') else { return };
        self.at += c.len_utf8();
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '0' => text.push('\0'),
            '\\' | '"' | '\'' => text.push(c),
            _ => {
                let message = format!("`\\{}` stands for nothing", c.escape_debug());
                self.error(start, "text", message, "known are `\\n`, `\\t`, `\\r`, `\\0`, `\\\"` and `\\\\`");
            }
        }
    }

    /// Characters that begin no token; neighbours and what stands in odd quotes are reported together.
    fn stranger(&mut self, first: char) -> Kind<'t> {
        let start = self.at;
        self.at += first.len_utf8();
        self.at += self.strange_length(first);
        let shown = clipped(&self.text[start..self.at]);
        let (message, help) = match first {
            '#' | '@' => (
                "attributes are not part of the language".to_string(),
                "write `threadgroup let!` or `constant let`; functions need none".to_string(),
            ),
            '\'' => ("there are no characters in quotes".to_string(), "use a number, or a text in `\"`".to_string()),
            _ => {
                let lookalike = LOOKALIKES.iter().find(|(c, _)| *c == first);
                let help = lookalike.map_or("remove it".to_string(), |(_, mark)| format!("write `{mark}`"));
                (format!("`{}` means nothing here", shown.escape_debug()), help)
            }
        };
        self.error(start, "character", message, help);
        Kind::Wrong
    }

    /// How many bytes behind the first character belong to it.
    fn strange_length(&self, first: char) -> usize {
        let rest = self.rest();
        let line = rest.lines().next().unwrap_or("");
        let closing = match first {
            '\'' => line.char_indices().take(4).find(|(_, c)| *c == '\''),
            '“' | '„' | '”' => line.char_indices().find(|(_, c)| matches!(c, '“' | '”')),
            _ => None,
        };
        if let Some((place, c)) = closing {
            return place + c.len_utf8();
        }
        let known = |c: char| c.is_whitespace() || c.is_alphanumeric() || c == '_' || c.is_ascii_punctuation();
        if known(first) { 0 } else { rest.find(known).unwrap_or(rest.len()) }
    }
}

/// Bytes of letters, digits and `_` in front.
fn word(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len())
}
