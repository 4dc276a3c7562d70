//! Array functions that are compiled when a program is built, and carried by it: the program needs no compiler to run them.
//!
//! A `build.rs` names functions. They live in a file that the program has, too, or in a crate of their own:
//!
//! ```no_run
//! # mod kernels { use slyz::prelude::*; axis!(N); pub fn saxpy(a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> { x * a + y } }
//! // build.rs, with `#[path = "src/kernels.rs"] mod kernels;`
//! fn main() -> Result<(), slyz_build::Error> {
//!     slyz_build::Bundle::new().function("saxpy", kernels::saxpy).write()
//! }
//! ```
//!
//! and the program has them compiled, under these names:
//!
//! ```ignore
//! mod kernels;
//! let saxpy = slyz::bundle!("saxpy")?;
//! let z = saxpy.call(2.0, &x, &y)?;
//! ```
//!
//! What is in a bundle: native code for levels of x86-64 (`x86-64-v2`, `-v3`, `-v4`, of which the best that the processor has is run) or for
//! the architecture that the program is built for; CUBIN and PTX for GPUs of NVIDIA when asked for ([`Bundle::targets`]), and SPIR-V and WGSL for GPUs
//! behind Vulkan, Metal and DirectX ([`Bundle::also`]). The program writes shaders itself where there are none for the adapter.
//!
//! The program traces the function once more when it starts, which takes less than a millisecond for most, and finds the code by what it would
//! have compiled: a bundle that is older than the function cannot give wrong results, it is only not found. Then the compilers of the machine
//! are asked, as [`slyz::compile`] does, and the interpreter where there are none.
#![forbid(unsafe_code)]

mod error;

pub use error::Error;
pub use slyz_run::bundle::Target;

use slyz::__private::traced;
use slyz_run::ahead::{self, Source};
use slyz_run::bundle;
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Chooses the targets of all bundles, whatever `build.rs` says: names with commas between them.
const TARGETS: &str = "SLYZ_BUNDLE_TARGETS";

/// Functions that are compiled into a program.
#[derive(Default)]
#[must_use = "nothing is compiled before `write`"]
pub struct Bundle {
    targets: Option<Vec<Target>>,
    /// Besides them.
    more: Vec<Target>,
    entries: Vec<Entry>,
    /// The first thing that was wrong.
    wrong: Option<Error>,
}

struct Entry {
    name: String,
    what: What,
}

enum What {
    /// What calls of a function run, how the program calls it, and what that is to do with it.
    Function(Vec<Program>, String, &'static str),
    Kernel(Arc<Template>, Option<[u32; 3]>),
    /// A program in SIR.
    Program(Box<Program>),
}

impl Bundle {
    /// A bundle of nothing, for the usual targets of the architecture that the program is built for.
    pub fn new() -> Bundle {
        Bundle::default()
    }

    /// Adds a function, which `slyz::bundle!` of that name gives, compiled. It is a plain function, which the program has under the same path.
    #[track_caller]
    pub fn function<Sig: slyz::Signature, F: slyz::Function<Sig>>(self, name: &str, f: F) -> Bundle {
        let what = || {
            let path = path_of(std::any::type_name::<F>())?;
            Ok(What::Function(traced(f, false)?, path, "bundled"))
        };
        self.add(name, what())
    }

    /// Adds a function that views are passed to, too: with code that is told how its arrays lie, of any strides, and faster code for those
    /// whose elements are neighbours along the last axis. Views in tiles are compiled when they come.
    #[track_caller]
    pub fn function_of_views<Sig: slyz::Signature, F: slyz::Function<Sig>>(self, name: &str, f: F) -> Bundle {
        let what = || {
            let path = path_of(std::any::type_name::<F>())?;
            Ok(What::Function(traced(f, true)?, path, "bundled_of_views"))
        };
        self.add(name, what())
    }

    /// Adds the kernel of a launch: `.kernel("relu", &kernels::relu(&x, &mut y))`, with tensors of any size. Where its threads share memory,
    /// launches in other blocks than this one's are compiled when they come. `slyz::bundle!("relu")?` has launches of it find their code.
    pub fn kernel(self, name: &str, launch: &slyz::graph::Launch<'_>) -> Bundle {
        let what = || {
            let block =
                launch.chosen_block().map(|block| block.map(|threads| u32::try_from(threads).unwrap_or(u32::MAX)));
            Ok(What::Kernel(launch.kernel().template()?.clone(), block))
        };
        self.add(name, what())
    }

    /// Adds a program in SIR, as `slyz build --target rust --project` writes them. `slyz::bundle!` of the name has devices find its code; positions that are
    /// not plainly inside their arrays are tested.
    pub fn program(self, name: &str, text: &str) -> Bundle {
        let what = || {
            let program = slyz_sir::text::parse_program(text)?;
            // Before anything is made of it: passes count on what the verifier has seen.
            slyz_sir::verify::program(&program).map_err(slyz_run::Error::from)?;
            Ok(What::Program(Box::new(slyz_sir::pass::confine::program(program))))
        };
        self.add(name, what())
    }

    fn add(mut self, name: &str, what: Result<What, Error>) -> Bundle {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let entry = match what {
            _ if name.is_empty() || !name.chars().all(is_name) => Err(Error::Name(name.to_string())),
            _ if self.entries.iter().any(|entry| entry.name == name) => Err(Error::Twice(name.to_string())),
            what => what.map(|what| Entry { name: name.to_string(), what }),
        };
        match entry {
            Ok(entry) => self.entries.push(entry),
            Err(error) => self.wrong = self.wrong.or(Some(error)),
        }
        self
    }

    /// For these targets: `["x86-64-v3", "sm_90", "compute_80"]`. Code for GPUs needs NVRTC, and no GPU. The environment variable
    /// `SLYZ_BUNDLE_TARGETS` chooses others.
    pub fn targets<'t>(mut self, targets: impl IntoIterator<Item = &'t str>) -> Bundle {
        match targets.into_iter().map(str::parse).collect() {
            Ok(targets) => self.targets = Some(targets),
            Err(error) => self.wrong = self.wrong.or(Some(Error::Target(error))),
        }
        self
    }

    /// For these targets as well, besides the usual ones of the architecture, or those of [`Bundle::targets`]: `["spirv", "wgsl"]`.
    pub fn also<'t>(mut self, targets: impl IntoIterator<Item = &'t str>) -> Bundle {
        match targets.into_iter().map(str::parse::<Target>).collect::<Result<Vec<_>, _>>() {
            Ok(targets) => self.more.extend(targets),
            Err(error) => self.wrong = self.wrong.or(Some(Error::Target(error))),
        }
        self
    }

    /// Compiles all of it and writes it where `slyz::bundle!` looks.
    pub fn write(self) -> Result<(), Error> {
        let variable = |name: &'static str| std::env::var(name).map_err(|_| Error::NotInBuild(name));
        let folder = PathBuf::from(variable("OUT_DIR")?).join("slyz");
        let architecture = variable("CARGO_CFG_TARGET_ARCH")?;
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if variable("TARGET")? != variable("HOST")? && !is_set("SLYZ_CC") && !is_set("CC") {
            return Err(Error::Cross(variable("TARGET")?));
        }
        // Functions are part of the build script, which cargo builds and runs anew when they change.
        for variable in [TARGETS, "SLYZ_CC", "CC", "SLYZ_PRECISION"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        self.write_to(&folder, &architecture)
    }

    fn write_to(self, folder: &Path, architecture: &str) -> Result<(), Error> {
        let Bundle { targets, more, entries, wrong } = self;
        if let Some(error) = wrong {
            return Err(error);
        }
        let targets = match std::env::var(TARGETS) {
            Ok(names) if !names.is_empty() => {
                names.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>()?
            }
            _ => [targets.unwrap_or_else(|| Target::usual(architecture)), more].concat(),
        };
        let is_foreign = |target: &&Target| matches!(target, Target::X86_64(_)) && architecture != "x86_64";
        if let Some(target) = targets.iter().find(is_foreign) {
            return Err(Error::Foreign { target: target.to_string(), architecture: architecture.to_string() });
        }
        std::fs::create_dir_all(folder).map_err(|error| Error::write(folder, &error))?;
        for entry in &entries {
            entry.write(folder, &targets)?;
        }
        Ok(())
    }
}

impl Entry {
    fn write(&self, folder: &Path, targets: &[Target]) -> Result<(), Error> {
        let Entry { name, what } = self;
        let objects = match what {
            What::Function(programs, ..) => {
                let all = programs.iter().map(|program| ahead::compiled(Source::Program(program), targets));
                all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
            }
            What::Program(program) => ahead::compiled(Source::Program(program), targets)?,
            What::Kernel(template, block) => ahead::compiled(Source::Kernel(template, *block), targets)?,
        };
        let bytes = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/slyz/{name}.code\"))");
        let call = match what {
            What::Function(_, path, call) => format!("::slyz::__private::{call}({bytes}, {path})\n"),
            What::Kernel(..) | What::Program(_) => format!("::slyz::__private::carry({bytes})\n"),
        };
        let file = |ending: &str, bytes: &[u8]| {
            let path = folder.join(format!("{name}.{ending}"));
            std::fs::write(&path, bytes).map_err(|error| Error::write(&path, &error))
        };
        file("code", &bundle::written(&objects))?;
        file("rs", call.as_bytes())
    }
}

/// How the program calls a function that the build script knows under a name of its own.
fn path_of(name: &str) -> Result<String, Error> {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    match name.split_once("::") {
        Some((own, path)) if name.chars().all(is_plain) => match own {
            "build_script_build" | "build_script_main" => Ok(format!("crate::{path}")),
            _ => Ok(format!("::{own}::{path}")),
        },
        _ => Err(Error::Path(name.to_string())),
    }
}

#[cfg(test)]
mod tests;
