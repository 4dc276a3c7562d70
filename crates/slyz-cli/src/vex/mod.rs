//! `.vex` files: graph functions, and the host part that launches them.

mod blocks;
pub mod build;
pub mod check;
pub mod dump;
pub mod explain;
pub mod machine;
pub mod run;
pub mod test;

pub use blocks::Blocks;

use anyhow::{Context, anyhow};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::kernels::{self, Kernel};
use slyz_lang::render::render;
use slyz_lang::span::Span;
use slyz_lang::syntax::File;
use std::fs;
use std::path::Path;

/// Is it such a file, by its name?
pub fn is_vex(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "vex")
}

/// A file that was read, and what there is to say about it.
pub struct Source {
    name: String,
    text: String,
    /// What was parsed.
    pub file: File,
    /// Its kernels; none where there are errors.
    pub kernels: Vec<Kernel>,
    /// Errors, warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

impl Source {
    /// The file as it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads, parses and checks a file.
    pub fn read(path: &Path) -> anyhow::Result<Source> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            anyhow!("{}: not text: the byte at {at} is not UTF-8", path.display())
        })?;
        let kernels::Source { file, kernels, diagnostics } = kernels::read(&text)?;
        Ok(Source { name: path.display().to_string(), text, file, kernels, diagnostics })
    }

    /// The same, or all that is wrong as one error. Warnings are told on the way.
    pub fn read_right(path: &Path) -> anyhow::Result<Source> {
        let source = Source::read(path)?;
        let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
            source.diagnostics.iter().cloned().partition(Diagnostic::is_error);
        if errors.is_empty() {
            let warnings: Vec<Diagnostic> = others.into_iter().filter(is_warning).collect();
            eprint!("{}", source.render(&warnings));
            return Ok(source);
        }
        Err(anyhow!("{}{}", source.render(&errors), counted(errors.len())))
    }

    /// The line of a place, from 1.
    pub fn line(&self, place: Span) -> Option<usize> {
        let before = self.text.get(..place.start as usize)?;
        Some(1 + before.matches('\n').count())
    }

    /// Diagnostics as text.
    pub fn render(&self, diagnostics: &[Diagnostic]) -> String {
        render(&self.name, &self.text, diagnostics)
    }
}

fn is_warning(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == slyz_lang::diagnostic::Severity::Warning
}

fn counted(errors: usize) -> String {
    format!("{errors} {}", if errors == 1 { "error" } else { "errors" })
}
