//! Kernels that people wrote in the language of a target: which programs keep them, what launches pass, and the files that hold them.
//!
//! A source is a file of its own, as it was given, beside what is written here: neither sees the names of the other.

use super::{File, ProjectError, Target};
use crate::back::EmitError;
use crate::back::clike::Description;
use crate::kernel::Kernel;
use crate::meaning;
use crate::program::Program;
use crate::raw::{Language, RawCode, Source};
use crate::size::Size;
use std::borrow::Cow;

/// What sources of a target are written in; nothing where it has no place for them.
fn language(target: Target) -> Option<Language> {
    Some(match target {
        Target::Metal | Target::MetalSingleFile => Language::Metal,
        Target::C => Language::C,
        Target::Cuda => Language::Cuda,
        Target::Hip | Target::HipRdna => Language::Hip,
        Target::OpenCl => Language::OpenCl,
        Target::Wgsl | Target::Web => Language::Wgsl,
        #[cfg(feature = "naga")]
        Target::Spirv => Language::Wgsl,
        Target::Rust | Target::OpenVino | Target::CoreMl => return None,
    })
}

/// The program as a target has it: raw kernels that are written in its language stay, others are what they mean.
pub(super) fn chosen(program: &Program, target: Target) -> Cow<'_, Program> {
    match language(target) {
        Some(language) => meaning::chosen(program, language),
        None => meaning::meant(program),
    }
}

/// An error where a raw kernel has neither a source for the target nor a meaning.
pub(super) fn check(programs: &[Program], target: Target) -> Result<(), ProjectError> {
    for program in programs {
        let left = meaning::left(program);
        match (left, language(target)) {
            (Some(kernel), Some(language)) if !meaning::runs_in(program, language) => {
                return Err(EmitError::Raw { kernel, language: language.name() }.into());
            }
            (Some(kernel), None) => return Err(ProjectError::Raw { kernel, target: target.name() }),
            _ => {}
        }
    }
    Ok(())
}

/// The file of a source.
pub(super) fn file_name(source: &Source) -> String {
    format!("raw_{}.{}", source.entry, source.language.ending())
}

/// The sources of some kernels, each once. Functions that are launched by name have different ones.
pub(super) fn sources<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> Result<Vec<&'k Source>, ProjectError> {
    let (raw, ours): (Vec<&Kernel>, Vec<&Kernel>) = kernels.into_iter().partition(|kernel| kernel.raw.is_some());
    let mut found: Vec<&Source> = vec![];
    for source in raw.into_iter().filter_map(|kernel| kernel.raw.as_ref()).map(|code| &code.source) {
        if found.contains(&source) {
            continue;
        }
        let is_taken = found.iter().any(|other| other.entry == source.entry);
        if is_taken || ours.iter().any(|kernel| kernel.name == source.entry) {
            return Err(ProjectError::Twice(source.entry.clone()));
        }
        found.push(source);
    }
    Ok(found)
}

/// A source in WGSL, and what a launch needs to know of it. Where there is a reader of WGSL it has looked whether the source binds what it is passed.
pub(super) fn shader(kernel: &Kernel, code: &RawCode) -> Result<(String, Description), EmitError> {
    #[cfg(feature = "naga")]
    crate::back::naga::emit(kernel, &crate::back::naga::Target::default())?;
    Ok((code.source.text.clone(), Description::of_raw(kernel, code)))
}

/// Sources as files.
pub(super) fn files(sources: &[&Source]) -> Vec<File> {
    sources.iter().map(|source| File::text(file_name(source), source.text.clone())).collect()
}

/// The text of those kernels that are ours, and what a launch of each needs to know, in order.
pub(super) fn described(
    kernels: &[&Kernel],
    emit: impl FnOnce(&[&Kernel]) -> Result<(String, Vec<Description>), EmitError>,
) -> Result<(String, Vec<Description>), EmitError> {
    let ours: Vec<&Kernel> = kernels.iter().copied().filter(|kernel| kernel.raw.is_none()).collect();
    let (text, written) = emit(&ours)?;
    let mut written = written.into_iter();
    let described = |kernel: &&Kernel| match &kernel.raw {
        Some(code) => Some(Description::of_raw(kernel, code)),
        None => written.next(),
    };
    Ok((text, kernels.iter().filter_map(described).collect()))
}

/// The size behind an extent of a raw kernel.
pub(super) fn extent(kernel: &Kernel, number: usize) -> Size {
    let extents = kernel.raw.as_ref().map_or(&[][..], |code| &code.extents);
    extents.get(number).cloned().unwrap_or(Size::Const(0))
}
