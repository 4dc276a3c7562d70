//! Lines of a kernel's text.

use super::expr::Expr;

/// A line of the text.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) depth: usize,
    pub(super) text: String,
    /// A whole statement, which may also stand behind the head of a branch or loop.
    pub(super) whole: bool,
    /// The text is that of a branch without another side, or where that is not a whole statement, its head.
    pub(super) guard: Option<Guard>,
}

/// A branch without another side.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) condition: Expr,
    pub(super) lines: Vec<Line>,
}

impl Line {
    pub(super) fn new(depth: usize, text: impl Into<String>, whole: bool) -> Line {
        Line { depth, text: text.into(), whole, guard: None }
    }

    /// The same one level further out.
    pub(super) fn outdented(mut self) -> Line {
        self.depth -= 1;
        if let Some(guard) = &mut self.guard {
            guard.lines = std::mem::take(&mut guard.lines).into_iter().map(Line::outdented).collect();
        }
        self
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let indent = "    ".repeat(self.depth);
        write!(f, "{indent}{}", self.text)?;
        match &self.guard {
            Some(guard) if !self.whole => write!(f, "\n{}\n{indent}}}", joined(&guard.lines)),
            _ => Ok(()),
        }
    }
}

pub(super) fn joined(lines: &[Line]) -> String {
    lines.iter().map(Line::to_string).collect::<Vec<_>>().join("\n")
}
