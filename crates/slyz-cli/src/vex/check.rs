//! `slyz check FILE.vex`: everything there is to say about a file, notes included.

use super::Source;
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::host::rehearse;
use std::io::Write;
use std::path::Path;

/// Checks a file; gives the number of errors.
pub fn check(path: &Path, out: &mut dyn Write) -> anyhow::Result<usize> {
    let mut source = Source::read(path)?;
    // The host part has no types but those of its values: it is run as far as that goes without kernels.
    if !source.diagnostics.iter().any(Diagnostic::is_error) {
        source.diagnostics.extend(rehearse(&source.file, &source.kernels));
    }
    write!(out, "{}", source.render(&source.diagnostics))?;
    let errors = source.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    if errors == 0 {
        let names: Vec<&str> = source.kernels.iter().map(|kernel| &kernel.name[..]).collect();
        let list = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        writeln!(out, "{}: right; kernels: {list}", path.display())?;
    }
    Ok(errors)
}
