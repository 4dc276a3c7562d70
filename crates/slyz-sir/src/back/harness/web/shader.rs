//! A kernel as WGSL, with the one description of how a host binds and launches it.
//!
//! JavaScript is written from the description alone; what writes the WGSL fills it in.

use super::super::raw::{self, extent};
use super::super::{Options, ProjectError};
use crate::back::clike::UniformSource;
use crate::back::wgsl::{self, Wgsl};
use crate::kernel::Kernel;
use crate::size::Size;

/// What is bound at a number of group 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// The memory at that place among those that a launch passes.
    Storage { place: usize, written: bool },
    /// The words.
    Uniform,
}

/// 32 bits of the uniform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The value of a size.
    Size(Size),
    /// The scalar parameter of the kernel with that number.
    Scalar(usize),
    /// Nothing.
    Zero,
}

/// A kernel as WGSL.
#[derive(Clone, Debug)]
pub(super) struct Shader {
    /// The kernel's name; the file is called after it.
    pub name: String,
    /// The file.
    pub text: String,
    /// The function in the file.
    pub entry: String,
    /// By number.
    pub bindings: Vec<Binding>,
    /// What the uniform holds.
    pub words: Vec<Word>,
    /// Workgroups in x, y, z.
    pub groups: [Size; 3],
}

impl Shader {
    /// Writes a kernel. No array of its launches, and no size, is past [`wgsl::MACHINE`]'s `max_positions`.
    pub(super) fn new(kernel: &Kernel, options: &Options) -> Result<Shader, ProjectError> {
        let dialect = Wgsl { int64: false, float64: false, ..options.wgsl()? };
        let (text, description) = match &kernel.raw {
            Some(code) => raw::shader(kernel, code)?,
            None => wgsl::emit(kernel, &dialect)?,
        };
        let storage =
            |slot: &crate::back::clike::BufferSlot| Binding::Storage { place: slot.place, written: slot.written };
        let mut bindings: Vec<Binding> = description.buffers.iter().map(storage).collect();
        let word = |source: UniformSource| match source {
            UniformSource::Size(var) => Word::Size(Size::Var(var)),
            UniformSource::Scalar(k) => Word::Scalar(k),
            UniformSource::Extent(k) => Word::Size(extent(kernel, k)),
        };
        let mut words: Vec<Word> = description.uniforms.iter().map(|uniform| word(uniform.source)).collect();
        if !words.is_empty() {
            bindings.push(Binding::Uniform);
            words.resize(words.len().next_multiple_of(4), Word::Zero);
        }
        let entry = description.name.clone();
        Ok(Shader { name: kernel.name.clone(), text, entry, bindings, words, groups: kernel.grid.clone() })
    }

    /// The name of its file.
    pub(super) fn file(&self) -> String {
        format!("{}.wgsl", self.name)
    }
}
