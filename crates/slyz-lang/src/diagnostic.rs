//! What there is to say about a program: errors, warnings, and notes that explain a rule.

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program means nothing, or does harm.
    Error,
    /// It runs, but hardly as meant.
    Warning,
    /// Good to know; a rule explained where it first applies.
    Note,
}

/// One thing to say, at a place, with the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A short name of the rule, as in `unknown-name`; documentation and tests go by it.
    pub rule: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The tokens at fault.
    pub span: Span,
    /// What to write under those tokens; may be empty.
    pub label: String,
    /// Other places that explain it, each with a remark.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(rule: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        let message = message.into();
        let label = String::new();
        Diagnostic { severity: Severity::Error, rule, message, span, label, related: vec![], help: None }
    }

    /// A warning at a place.
    pub fn warning(rule: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(rule, span, message) }
    }

    /// A note at a place.
    pub fn note(rule: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(rule, span, message) }
    }

    /// The same with a remark under the tokens.
    pub fn label(self, label: impl Into<String>) -> Diagnostic {
        Diagnostic { label: label.into(), ..self }
    }

    /// The same with another place that explains it.
    pub fn related(mut self, span: Span, remark: impl Into<String>) -> Diagnostic {
        self.related.push((span, remark.into()));
        self
    }

    /// The same with the cure.
    pub fn help(self, help: impl Into<String>) -> Diagnostic {
        Diagnostic { help: Some(help.into()), ..self }
    }

    /// Does it keep the program from running?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
