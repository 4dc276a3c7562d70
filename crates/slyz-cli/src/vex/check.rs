//! `slyz check FILE.vex`: everything there is to say about a file, notes included.

use super::Source;
use std::io::Write;
use std::path::Path;

/// Checks a file; gives the number of errors.
pub fn check(path: &Path, out: &mut dyn Write) -> anyhow::Result<usize> {
    let source = Source::read(path)?;
    write!(out, "{}", source.render(&source.diagnostics))?;
    let errors = source.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    if errors == 0 {
        let names: Vec<&str> = source.kernels.iter().map(|kernel| &kernel.name[..]).collect();
        let list = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        writeln!(out, "{}: right; kernels: {list}", path.display())?;
    }
    Ok(errors)
}
