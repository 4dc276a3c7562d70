//! Kernels that people wrote in the language of a device, called from programs.
//!
//! A raw kernel is opaque: it takes whole arrays and scalars, and gives arrays of shapes that are known before. Nothing is fused with it.
//! It may be written in several languages, and have a meaning, which is code of the program; a device that has no source for it runs that.
//!
//! A source is a function whose arguments are, in order: the arrays among the parameters, the results, the scalars among the parameters, and the
//! extents that were asked for. Where threads are a launch's (all but C) it is run by each of them, at least as many as were asked for;
//! in C it is called with a range of their numbers behind all else, and loops over it.

mod signature;

use crate::size::Size;
use std::fmt;

pub use signature::{Mismatch, Parameter, check};

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// For GPUs of NVIDIA.
    Cuda,
    /// For GPUs of AMD.
    Hip,
    /// For devices of OpenCL.
    OpenCl,
    /// For GPUs of Apple, in projects: no device here runs it.
    Metal,
    /// For `wgpu`.
    Wgsl,
    /// For the CPU.
    C,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 6] =
        [Language::Cuda, Language::Hip, Language::OpenCl, Language::Metal, Language::Wgsl, Language::C];

    /// Its name in texts of SIR.
    pub fn word(self) -> &'static str {
        match self {
            Language::Cuda => "cuda",
            Language::Hip => "hip",
            Language::OpenCl => "opencl",
            Language::Metal => "metal",
            Language::Wgsl => "wgsl",
            Language::C => "c",
        }
    }

    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Cuda => "CUDA",
            Language::Hip => "HIP",
            Language::OpenCl => "OpenCL C",
            Language::Metal => "Metal",
            Language::Wgsl => "WGSL",
            Language::C => "C",
        }
    }

    /// How files in it end.
    pub fn ending(self) -> &'static str {
        match self {
            Language::Cuda => "cu",
            Language::Hip => "hip",
            Language::OpenCl => "cl",
            Language::Metal => "metal",
            Language::Wgsl => "wgsl",
            Language::C => "c",
        }
    }

    /// Is it C++ on both sides of a launch, whose functions have other names than they are written with?
    fn mangles(self) -> bool {
        matches!(self, Language::Cuda | Language::Hip)
    }

    /// The language of that name.
    pub fn from_word(word: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.word() == word)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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

/// What stands in a kernel in place of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawCode {
    /// The source.
    pub source: Source,
    /// Extents that are passed behind the scalars.
    pub extents: Vec<Size>,
}
