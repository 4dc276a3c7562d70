//! Kernels that people wrote for a device: their text as it is, and what a launch passes.

use crate::Error;
use slyz_sir::back::EmitError;
use slyz_sir::back::clike::Description;
use slyz_sir::kernel::Kernel;
use slyz_sir::raw::Language;

/// The text for a compiler, whose messages have the lines of the source; `None` where the kernel is ours.
pub(crate) fn text(kernel: &Kernel, language: Language) -> Result<Option<(String, Description)>, Error> {
    let Some(code) = &kernel.raw else { return Ok(None) };
    let source = &code.source;
    if source.language != language {
        return Err(Error::Shader(EmitError::Raw { kernel: kernel.name.clone(), language: language.name() }));
    }
    let text = format!("#line 1 \"{}.{}\"\n{}\n", source.entry, language.ending(), source.text);
    Ok(Some((text, Description::of_raw(kernel, code))))
}
