//! Kernels that people wrote in the language of a device, called from programs.
//!
//! A raw kernel is opaque: it takes whole arrays and scalars, and gives arrays of shapes that are known before. Nothing is fused with it.
//! It may be written in several languages, and have a meaning, which is code of the program; a device that has no source for it runs that.
//!
//! A source is a function whose arguments are, in order: the arrays among the parameters, the results, the scalars among the parameters, and the
//! extents that were asked for. Where threads are a launch's (CUDA, OpenCL, WGSL) it is run by each of them, at least as many as were asked for;
//! in C it is called with a range of their numbers behind all else, and loops over it.

mod choose;
mod signature;

use crate::code::{Body, Id, Type};
use crate::size::Size;
use crate::types::Ty;
use std::fmt;
use std::sync::Arc;

#[cfg(feature = "compiler")]
pub(crate) use choose::has_raw;
pub use choose::{chosen, left, meant, runs_in, without_sources};
pub use signature::{Mismatch, Parameter, check};

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// For GPUs of NVIDIA.
    Cuda,
    /// For devices of OpenCL.
    OpenCl,
    /// For `wgpu`.
    Wgsl,
    /// For the CPU.
    C,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 4] = [Language::Cuda, Language::OpenCl, Language::Wgsl, Language::C];

    /// Its name in texts of SIR.
    pub fn word(self) -> &'static str {
        match self {
            Language::Cuda => "cuda",
            Language::OpenCl => "opencl",
            Language::Wgsl => "wgsl",
            Language::C => "c",
        }
    }

    /// The language of that name.
    pub fn from_word(word: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.word() == word)
    }
}

/// As people call it.
impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Cuda => "CUDA",
            Language::OpenCl => "OpenCL C",
            Language::Wgsl => "WGSL",
            Language::C => "C",
        })
    }
}

/// A kernel in one language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Which.
    pub language: Language,
    /// The function that is launched.
    pub entry: String,
    /// All of the file.
    pub text: String,
}

/// What is the same in all calls of a raw kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawKernel {
    /// An identifier.
    pub name: String,
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// At most one for each language.
    pub sources: Vec<Source>,
}

/// A call of a raw kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawCall {
    /// Which.
    pub kernel: Arc<RawKernel>,
    /// Arrays and scalars.
    pub args: Vec<Id>,
    /// How many threads there are in x, y, z, one to three numbers.
    pub threads: Vec<Size>,
    /// Extents that it is told, `i64` each (`u32` in WGSL).
    pub extents: Vec<Size>,
    /// The arrays that it gives.
    pub results: Vec<(Ty, Vec<Size>)>,
    /// What it computes, as code of the program: a parameter for each argument, a result for each array.
    pub meaning: Option<Body>,
}

impl RawCall {
    /// The same call of a kernel that nobody can look into.
    pub fn without_meaning(&self) -> RawCall {
        RawCall {
            kernel: self.kernel.clone(),
            args: self.args.clone(),
            threads: self.threads.clone(),
            extents: self.extents.clone(),
            results: self.results.clone(),
            meaning: None,
        }
    }

    /// What a source is passed, where arguments have these types.
    pub fn passed(&self, args: &[Type]) -> Vec<Parameter> {
        let is_array = |ty: &&Type| !ty.shape().is_empty();
        let arrays = args.iter().filter(is_array).map(|ty| Parameter::Array(ty.elem()));
        let results = self.results.iter().map(|(ty, _)| Parameter::Result(*ty));
        let scalars = args.iter().filter(|ty| !is_array(ty)).map(|ty| Parameter::Scalar(ty.elem()));
        let extents = self.extents.iter().map(|_| Parameter::Scalar(Ty::I64));
        arrays.chain(results).chain(scalars).chain(extents).collect()
    }

    /// The types of what it gives.
    pub fn result_types(&self) -> Vec<Type> {
        self.results.iter().map(|(ty, shape)| Type::Array(*ty, shape.clone())).collect()
    }

    /// Every size that the call is told.
    pub fn sizes(&self) -> Vec<&Size> {
        let shapes = self.results.iter().flat_map(|(_, shape)| shape);
        self.threads.iter().chain(&self.extents).chain(shapes).collect()
    }

    /// The same, to change.
    pub fn sizes_mut(&mut self) -> Vec<&mut Size> {
        let shapes = self.results.iter_mut().flat_map(|(_, shape)| shape);
        self.threads.iter_mut().chain(&mut self.extents).chain(shapes).collect()
    }
}

/// What stands in a kernel in place of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawCode {
    /// The source.
    pub source: Source,
    /// Extents that are passed behind the scalars.
    pub extents: Vec<Size>,
}
