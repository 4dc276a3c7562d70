//! The kernels of a file, from its text to templates of launches: what the command line, `vex!` and `Kernels::load` have in common.
//!
//! Says nothing about the host part of a file, which runs elsewhere.

#[cfg(feature = "text")]
use crate::check::{Dialect, check};
#[cfg(feature = "text")]
use crate::diagnostic::Diagnostic;
use crate::lower::{TooLarge, lower};
#[cfg(feature = "text")]
use crate::parse::parse;
#[cfg(feature = "text")]
use crate::span::Span;
#[cfg(feature = "text")]
use crate::syntax::File;
use crate::typed::{FunctionId, Param, Program};
use slyz_sir::launch::Template;
use std::sync::Arc;

/// A graph function that can be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its code.
    pub template: Arc<Template>,
    /// Nobody checks its accesses.
    pub unchecked: bool,
}

/// The kernels of a program.
pub fn kernels(program: &Program) -> Result<Vec<Kernel>, TooLarge> {
    let launched = program.functions.iter().enumerate().filter(|(_, function)| function.launches);
    let kernel = |(k, function): (usize, &crate::typed::Function)| {
        let template = Arc::new(lower(program, FunctionId(k as u32))?);
        let name = function.name.clone();
        let params = function.params.clone();
        Ok(Kernel { name, params, template, unchecked: function.unchecked })
    };
    launched.map(kernel).collect()
}

/// A file that was read, and what there is to say about it.
#[cfg(feature = "text")]
#[derive(Clone, Debug)]
pub struct Source {
    /// What was parsed.
    pub file: File,
    /// Its kernels; none where there are errors.
    pub kernels: Vec<Kernel>,
    /// Errors, warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses and checks the text of a `.vex` file.
///
/// ```
/// let source = slyz_lang::kernels::read("graph fn double(x: Tensor<f32>!) {\n    x[thread.x] *= 2.0\n}")?;
/// assert_eq!(source.kernels[0].name, "double");
/// # Ok::<(), slyz_lang::lower::TooLarge>(())
/// ```
#[cfg(feature = "text")]
pub fn read(text: &str) -> Result<Source, TooLarge> {
    let (file, mut diagnostics) = parse(text);
    let mut found = vec![];
    // What the parser could not read would only be misunderstood.
    if !diagnostics.iter().any(Diagnostic::is_error) {
        let checked = check(&file, Dialect::Vex);
        diagnostics.extend(checked.diagnostics);
        found = kernels(&checked.program)?;
    }
    Ok(Source { file, kernels: found, diagnostics })
}

/// The comment on the lines right above a place, without its slashes.
///
/// ```
/// use slyz_lang::{kernels::comment_above, span::Span};
/// let text = "// Of another one.\n\n// Doubles all\n// elements.\ngraph fn double() {}";
/// let start = text.find("graph").unwrap_or(0) as u32;
/// assert_eq!(comment_above(text, Span::new(start, start)), "Doubles all\nelements.");
/// ```
#[cfg(feature = "text")]
pub fn comment_above(text: &str, place: Span) -> String {
    let above = text.get(..place.start as usize).unwrap_or("");
    let above = above.rfind('\n').map_or("", |end| &above[..end]);
    let comment =
        |line: &'_ str| line.trim().strip_prefix("//").map(|said| said.trim_start_matches('/').trim().to_string());
    let mut lines: Vec<String> = above.lines().rev().map_while(comment).collect();
    lines.reverse();
    lines.join("\n")
}
