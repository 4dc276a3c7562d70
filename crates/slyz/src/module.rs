//! Modules: kernels as source files for other programs, rather than compiled and called here.

use crate::compile::{Function, Signature};
use crate::error::Error;
use crate::trace::{self, Loc};
use slyz_sir::back::harness::{self, ProjectError, Target, is_name};
use slyz_sir::program::Program;
use std::panic::Location;
use std::path::Path;

/// Kernels that are written out together.
///
/// ```
/// use slyz::prelude::*;
/// let mut program = Module::new();
/// program.kernel("vec_map", |x: Arr<f32, Vector<8>>| x.map(|x| x * 2.0 + 1.0))?;
/// program.kernel("mat_sqrt", |x: Arr<f32, Matrix<4, 4>>| x.map(|x| x.sqrt()))?;
/// let emitted = program.emit(Target::Metal)?;
/// assert!(emitted.file("kernels.metal").unwrap().contains("output[idx] = input[tid] * 2.0f + 1.0f;"));
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Module {
    programs: Vec<Program>,
}

impl Module {
    /// A module without kernels.
    ///
    /// ```
    /// assert!(slyz::Module::new().programs().is_empty());
    /// ```
    pub fn new() -> Module {
        Module::default()
    }

    /// Traces a function and adds it as a kernel. Names are those of C: letters, digits and `_`, a letter in front.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let mut program = Module::new();
    /// program.kernel("total", |x: Arr<f32, N>| x.sum())?;
    /// assert!(program.kernel("total", |x: Arr<f32, N>| x.max()).is_err()); // there is one of that name
    /// assert!(program.kernel("2nd", |x: Arr<f32, N>| x.max()).is_err()); // no name
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn kernel<Sig: Signature, F: Function<Sig>>(&mut self, name: &str, f: F) -> Result<(), Error> {
        let at: Loc = Location::caller();
        self.add(at, name, &mut || Sig::outs(f.run(Sig::params(at))).outs)
    }

    fn add(&mut self, at: Loc, name: &str, f: &mut dyn FnMut() -> Vec<trace::Out>) -> Result<(), Error> {
        if !is_name(name) {
            return Err(ProjectError::Name(name.to_string()).into());
        }
        if self.programs.iter().any(|program| program.name == name) {
            return Err(ProjectError::Twice(name.to_string()).into());
        }
        self.programs.push(trace::run(at, name, f).map_err(Error::Trace)?.program);
        Ok(())
    }

    /// The kernels as they were traced.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let mut program = Module::new();
    /// program.kernel("one", || fill::<f32, Vector<8>>(1.0))?;
    /// assert_eq!(program.programs()[0].name, "one");
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Writes the kernels as source files, in memory.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let mut program = Module::new();
    /// program.kernel("precise", |x: Arr<f64, N>| x.sum())?;
    /// let error = program.emit(Target::Metal).unwrap_err();
    /// assert!(error.to_string().contains("Metal has no f64; use f32"));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn emit(&self, target: Target) -> Result<Emitted, Error> {
        Ok(Emitted(harness::emit(&self.programs, target)?))
    }

    /// Writes a whole project into a folder: kernels, a host program in the platform's language that validates and measures them,
    /// expected values, a build file and a README. C and C++ get a header with a plain function for each kernel.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let mut program = Module::new();
    /// program.kernel("double", |x: Arr<f32, N>| x.map(|x| x * 2.0))?;
    /// let folder = std::env::temp_dir().join(format!("slyz-project-{}", std::process::id()));
    /// let emitted = program.write_project(Target::C, &folder)?; // `make && ./validate` builds and validates it there
    /// assert!(emitted.file("slyz_double.h").unwrap().contains("int slyz_double(const float *input, float *output, int64_t N);"));
    /// assert!(program.write_project(Target::Wgsl, &folder).is_err()); // it has no host program
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn write_project(&self, target: Target, folder: impl AsRef<Path>) -> Result<Emitted, Error> {
        let emitted = Emitted(harness::project(&self.programs, target, &harness::Options::default())?);
        emitted.write_to(folder)?;
        Ok(emitted)
    }
}

/// The source files of a [`Module`].
///
/// ```
/// use slyz::prelude::*;
/// let mut program = Module::new();
/// program.kernel("one", || fill::<f32, Vector<8>>(1.0))?;
/// let emitted = program.emit(Target::Metal)?;
/// let folder = std::env::temp_dir().join(format!("slyz-emitted-{}", std::process::id()));
/// emitted.write_to(&folder)?; // kernels.metal and harness.swift
/// println!("cd {} && {}", folder.display(), emitted.build());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted(harness::Emitted);

impl Emitted {
    /// The files.
    pub fn files(&self) -> &[harness::File] {
        &self.0.files
    }

    /// The text of a file; `None` for a file that is not there, and for SPIR-V, whose bytes are in [`Emitted::files`].
    pub fn file(&self, name: &str) -> Option<&str> {
        self.0.files.iter().find(|file| file.name == name).and_then(harness::File::as_text)
    }

    /// The command that builds and runs them, in their folder.
    pub fn build(&self) -> &str {
        &self.0.build
    }

    /// Writes all files into a folder, which is made where there is none; or, where that fails, none of them.
    pub fn write_to(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        let files: Vec<(&str, &[u8])> = self.0.files.iter().map(|file| (&file.name[..], file.bytes())).collect();
        Ok(slyz_run::write_files(folder.as_ref(), &files)?)
    }
}
