//! `.vex` text to the surface tree.
//!
//! Recursive descent with operator precedence, by hand: lines end statements, and a mistake must cost one statement
//! rather than the rest of the file. A function that finds something wrong reports it and returns `Reported`; the
//! loop over statements catches that, goes to where the next statement begins, and carries on.
//!
//! **Lines.** A statement ends at a new line or `;`. A new line does not end it inside `(..)` and `[..]`, behind an
//! operator or comma, or in front of `.name`, `with`, `else` and binary operators other than `-`, which may begin
//! a statement.
//!
//! **Depth.** Everything that reads the tree recurses over it, dropping it included. So the parser bounds the depth of
//! its own recursion *and* the height of the tree: `a + a + a + ..` is read by a loop, but leans to the left as far as it
//! is long. Past the bound the parser reports that once and reads no further.

mod expr;
mod item;
mod stmt;
mod types;

use crate::diagnostic::Diagnostic;
use crate::lex::{Kind, Token, tokens};
use crate::span::Span;
use crate::syntax::{File, Item, Name};

/// The most expressions, types and blocks inside each other; brackets count twice, blocks of statements three times.
const MAX_DEPTH: u32 = 96;
/// The same for trees that lean to one side, as long sums do.
const MAX_HEIGHT: u32 = 256;
/// After so many errors nobody reads on.
const MAX_ERRORS: usize = 50;

/// Words that cannot be names.
const RESERVED: [&str; 16] = [
    "let", "fn", "if", "else", "for", "in", "while", "loop", "break", "continue", "return", "true", "false", "as",
    "launch", "extern",
];

/// Reads a file. The tree is usable where there are errors, too: what could not be read is `Wrong` in it.
///
/// ```
/// use slyz_lang::parse::parse;
///
/// let (file, diagnostics) = parse("graph fn double(x: Tensor<f32>!) {\n    x[thread.x] *= 2.0\n}");
/// assert!(diagnostics.is_empty());
/// assert_eq!(file.items.len(), 1);
///
/// let (_, diagnostics) = parse("let x = \nlet = 3");
/// assert_eq!(diagnostics.len(), 2);
/// ```
pub fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    let (tokens, diagnostics) = tokens(text);
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        begun: 0,
        unclosed_at: None,
        lines: true,
        depth: 0,
        height: 0,
        hopeless: false,
        nested: vec![],
        diagnostics,
    };
    let items = parser.items();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
    if diagnostics.len() > MAX_ERRORS {
        diagnostics.truncate(MAX_ERRORS);
        let end = diagnostics[MAX_ERRORS - 1].span;
        diagnostics
            .push(Diagnostic::error("too-many", end, "there are more errors than these").help("mend these first"));
    }
    (File { items }, diagnostics)
}

/// Something was wrong and has been reported.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    at: usize,
    /// Where the innermost statement began.
    begun: usize,
    /// The token at which a block was found not to be closed; the blocks around it are not, either.
    unclosed_at: Option<usize>,
    /// Do lines end statements here?
    lines: bool,
    depth: u32,
    /// Of the tallest tree since the innermost [`Parser::deeper`] began.
    height: u32,
    /// Nothing that follows is worth reporting.
    hopeless: bool,
    /// Functions inside functions, reported; in the file they are at least known.
    nested: Vec<Item>,
    diagnostics: Vec<Diagnostic>,
}

/// Tokens, in order.
impl<'t> Parser<'t> {
    fn token(&self) -> &Token<'t> {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> &Kind<'t> {
        &self.token().kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The token that many places on.
    fn ahead(&self, places: usize) -> &Token<'t> {
        &self.tokens[(self.at + places).min(self.tokens.len() - 1)]
    }

    fn at(&self, mark: &str) -> bool {
        matches!(self.kind(), Kind::Mark(found) if *found == mark)
    }

    fn at_word(&self, word: &str) -> bool {
        matches!(self.kind(), Kind::Word(found) if *found == word)
    }

    fn at_end(&self) -> bool {
        *self.kind() == Kind::End
    }

    /// Is the token on the line of the one before, or do lines not count here?
    fn same_line(&self) -> bool {
        !self.lines || !self.token().line_before
    }

    /// Goes past the token. The end stays.
    fn bump(&mut self) -> Span {
        let span = self.span();
        if !self.at_end() {
            self.at += 1;
        }
        span
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.at(mark);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// From a place to the last token that was read.
    fn since(&self, start: Span) -> Span {
        let last = self.at.checked_sub(1).map_or(start, |k| self.tokens[k].span);
        if last.end < start.end { start } else { start.to(last) }
    }

    fn expect(&mut self, mark: &'static str, behind: &str) -> Parsed<Span> {
        if self.at(mark) { Ok(self.bump()) } else { Err(self.expected(format!("`{mark}` {behind}"))) }
    }

    /// A name of the program's own.
    fn name(&mut self, of: &str) -> Parsed<Name> {
        match *self.kind() {
            Kind::Word(word) if RESERVED.contains(&word) => {
                let message = format!("`{word}` is a word of the language and cannot be the name of {of}");
                Err(self.error("reserved-word", message, "choose another name"))
            }
            Kind::Word(word) => Ok(Name { text: word.to_string(), span: self.bump() }),
            _ => Err(self.expected(format!("the name of {of}"))),
        }
    }
}

/// What goes wrong.
impl Parser<'_> {
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.hopeless {
            self.diagnostics.push(diagnostic);
        }
        if self.diagnostics.len() > MAX_ERRORS {
            self.give_up();
        }
        Reported
    }

    /// Where to point. What is missing at the end of a line is missing there, not at the start of the next one.
    fn place(&self) -> Span {
        let token = self.token();
        if (token.line_before || token.kind == Kind::End) && self.at > self.begun {
            let end = self.tokens[self.at - 1].span.end;
            return Span::new(end, end);
        }
        token.span
    }

    /// Was something reported here already, when the text was cut into tokens?
    fn is_known_to_be_wrong(&self) -> bool {
        let before = self.at.checked_sub(1).filter(|_| self.at > self.begun);
        *self.kind() == Kind::Wrong || before.is_some_and(|k| self.tokens[k].kind == Kind::Wrong)
    }

    /// An error at the token, unless there was one in it before.
    fn error(&mut self, rule: &'static str, message: impl Into<String>, help: impl Into<String>) -> Reported {
        if self.is_known_to_be_wrong() {
            return Reported;
        }
        let error = Diagnostic::error(rule, self.place(), message).help(help);
        self.report(error)
    }

    /// Something else should stand here.
    fn expected(&mut self, what: impl Into<String>) -> Reported {
        if self.is_known_to_be_wrong() {
            return Reported;
        }
        let what = what.into();
        let message = format!("expected {what}, found {}", self.kind().describe());
        let error = Diagnostic::error("syntax", self.place(), message).label(format!("expected {what}"));
        self.report(error)
    }
}

/// How deep, and how to go on.
impl Parser<'_> {
    /// Reads something inside something else; see **Depth** above.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outer = std::mem::take(&mut self.height);
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH { Err(self.too_deep()) } else { read(self) };
        self.depth -= 1;
        let grown = self.taller();
        self.height = self.height.max(outer);
        grown.and(result)
    }

    /// A node stands on top of what was read since [`Parser::deeper`] began.
    fn taller(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > MAX_HEIGHT { Err(self.too_deep()) } else { Ok(()) }
    }

    fn too_deep(&mut self) -> Reported {
        let message = "this nests too deep, or is too long a chain of operators";
        let reported = self.error("nesting", message, "give parts of it names with `let`, or make functions of them");
        self.give_up();
        reported
    }

    /// Reads no further.
    fn give_up(&mut self) {
        self.hopeless = true;
        self.at = self.tokens.len() - 1;
    }

    /// With lines that count, or not; whatever happens inside, it is as before afterwards.
    fn with_lines<T>(&mut self, lines: bool, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let before = std::mem::replace(&mut self.lines, lines);
        let result = read(self);
        self.lines = before;
        result
    }

    /// `(a, b, c)` or the like, from the opening mark on.
    fn list<T>(
        &mut self,
        close: &'static str,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let open = self.bump();
        self.deeper(|p| {
            p.with_lines(false, |p| {
                let mut items = vec![];
                while !p.at(close) {
                    items.push(item(p)?);
                    if !p.eat(",") && !p.at(close) {
                        return Err(p.unclosed(open, close, what));
                    }
                }
                p.bump();
                Ok(items)
            })
        })
    }

    /// A list goes on or ends here, and does neither.
    fn unclosed(&mut self, open: Span, close: &str, what: &str) -> Reported {
        if self.is_known_to_be_wrong() {
            return Reported;
        }
        let message = format!("expected `,` or `{close}` behind {what}, found {}", self.kind().describe());
        let error = Diagnostic::error("unclosed", self.place(), message).label(format!("expected `,` or `{close}`"));
        self.report(error.related(open, "what is opened here"))
    }

    /// Goes to where the next statement begins after one that began at token `start` went wrong: to a new line outside
    /// of all brackets, or to one that is indented no deeper than the statement, whatever brackets are open.
    fn synchronise(&mut self, start: usize) {
        let margin = self.indentation(start);
        let reached = self.at.max(start + 1);
        let mut open: Vec<&str> = vec![];
        self.at = start;
        while !self.at_end() {
            let token = self.token();
            if self.at >= reached && token.line_before {
                let closes = matches!(token.kind, Kind::Mark(")" | "]" | "}"));
                if open.is_empty() || (!closes && self.indentation(self.at) <= margin) {
                    return;
                }
            }
            match token.kind {
                Kind::Mark(mark @ ("(" | "[" | "{")) => open.push(mark),
                Kind::Mark("}") => match open.iter().rposition(|&mark| mark == "{") {
                    Some(place) => open.truncate(place),
                    // The end of the block around it; at the top of a file there is none.
                    None if self.depth > 0 && self.at > start => return,
                    None => {}
                },
                Kind::Mark(")" | "]") if open.last().is_some_and(|&mark| mark != "{") => drop(open.pop()),
                Kind::Mark(";") if open.is_empty() && self.at + 1 >= reached => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Bytes of blanks in front of the line of a token.
    fn indentation(&self, token: usize) -> usize {
        let before = &self.text[..self.tokens[token].span.start as usize];
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        line.len() - line.trim_start().len()
    }

    /// Is this the first token of an unindented line? There functions begin, whatever is not closed above.
    fn at_margin(&self) -> bool {
        let start = self.span().start as usize;
        start == 0 || self.text.as_bytes()[start - 1] == b'\n'
    }
}
