//! What can be wrong with a text, with the place shown.

/// Why a text is not SIR, and where.
///
/// ```
/// let error = slyz_sir::text::parse_program("program f() -> f32 {\n  return %0\n}").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 10));
/// assert!(error.to_string().ends_with("2 |   return %0\n  |          ^"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}\n{excerpt}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// What could have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// The line with a caret under the character.
    pub excerpt: String,
}

/// At most this many characters of a line are shown before the caret, and as many after it.
const SHOWN: usize = 60;

impl ParseError {
    /// An error at a byte offset of the text, which must lie between characters.
    pub(super) fn new(text: &str, offset: usize, expected: impl Into<String>, found: impl Into<String>) -> ParseError {
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        let line = before.matches('\n').count() + 1;
        let left = before[start..].chars().count();
        let whole = text[start..].lines().next().unwrap_or("");
        let skipped = left.saturating_sub(SHOWN);
        // A tab or control character would move the caret away from its place.
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let shown: String = whole.chars().skip(skipped).take(2 * SHOWN).map(visible).collect();
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        let shown = shown.trim_end();
        let caret = " ".repeat(left - skipped);
        let excerpt = format!("{gutter} |\n{number} | {shown}\n{gutter} | {caret}^");
        ParseError { line, column: left + 1, expected: expected.into(), found: found.into(), excerpt }
    }
}
